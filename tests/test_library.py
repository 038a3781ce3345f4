"""The library's own rules: what may import what, what a docstring says, what loads with it."""

import ast
import code
import contextlib
import doctest
import importlib
import inspect
import io
import re
import subprocess
import sys
import textwrap

import pytest
import yaml
from conftest import ROOT

LIB = ROOT / "lib"
#: Each imports those before it alone.
PACKAGES = ("theorybook", "attention_theory", "attention_checks")
PARTS = ("sensitivity", "separation", "tangent", "patches", "exponential", "trained")
MODULES = sorted(path for package in PACKAGES for path in (LIB / package).rglob("*.py"))
#: Those that readers call: the extension and the tools are called by Sphinx and make.
PUBLIC = [path for path in MODULES if path.relative_to(LIB).parts[1] not in ("sphinx", "tools")]


def name(path):
    return ".".join(path.relative_to(LIB).with_suffix("").parts).removesuffix(".__init__")


def imported(path):
    """The modules of ours that a file imports, as full names."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module or ""}
    return {module for module in found if module.split(".")[0] in PACKAGES}


def test_imports_run_one_way():
    """The toolkit knows no attention, and the mathematics nothing of its checks."""
    for path in MODULES:
        package = name(path).partition(".")[0]
        later = PACKAGES[PACKAGES.index(package) + 1 :]
        assert not [m for m in imported(path) if m.partition(".")[0] in later], path


def test_formulas_as_printed_and_mathematics_stay_independent():
    for path in MODULES:
        if path.name == "printed.py":
            assert {m.partition(".")[0] for m in imported(path)} <= {"theorybook", "attention_checks"}, path
        else:
            assert not [m for m in imported(path) if "printed" in m.split(".")], path


@pytest.mark.parametrize("part", PARTS[:4])
def test_a_part_imports_no_other_part(part):
    for path in (path for package in PACKAGES for path in (LIB / package / part).rglob("*.py")):
        others = [m for m in imported(path) if m.count(".") and m.split(".")[1] in PARTS and m.split(".")[1] != part]
        assert not others, (path, others)


def test_importing_the_parts_stays_light():
    heavy = {"IPython", "yaml", "matplotlib", "sklearn", "flint"}
    code = f"""import sys
for part in {PARTS}:
    __import__("attention_theory." + part)
    print(part, {heavy} & set(sys.modules))"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"{part} set()" for part in PARTS]


def test_every_public_object_has_a_docstring():
    missing = []
    for path in PUBLIC:
        module = importlib.import_module(name(path))
        if not module.__doc__:
            missing.append(module.__name__)
        for key, thing in vars(module).items():
            if (
                not key.startswith("_")
                and getattr(thing, "__module__", None) == module.__name__
                and (inspect.isfunction(thing) or inspect.isclass(thing))
            ):
                missing += [f"{module.__name__}.{key}"] * (not inspect.getdoc(thing) and key != "main")
    assert not missing


def test_chapters_that_a_docstring_names_exist():
    """By their title, or by what stands before its colon."""
    pages = (path.read_text(encoding="utf-8") for path in (ROOT / "book").rglob("*.md"))
    titles = {title[1] for page in pages if (title := re.search(r"^# (.*)$", page, re.M))}
    known = titles | {title.partition(":")[0] for title in titles}
    named = [
        (path.name, " ".join(chapter.split()))
        for path in sorted((ROOT / "lib").rglob("*.py"))
        for chapter in re.findall(r'chapter\s+"([^"]+)"', path.read_text(encoding="utf-8"))
    ]
    assert len(named) > 20 and not [each for each in named if each[1] not in known]


def test_no_default_dtype_is_set_anywhere():
    for path in [*MODULES, *(ROOT / "book").rglob("*.md")]:
        if path.name != "test_library.py":
            assert "set_default_dtype" not in path.read_text(encoding="utf-8"), path


def examples():
    """Every example of a docstring, from its first prompt to the blank line that ends it: where it stands, and its lines."""
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                for text in re.findall(r"^ *>>> (?:.+\n?)+", inspect.cleandoc(ast.get_docstring(node) or ""), re.M):
                    yield pytest.param(textwrap.dedent(text), id=f"{name(path)}.{getattr(node, 'name', '')}")


def copied(text):
    """What the copy button gives of an example: the lines with a prompt, without it."""
    prompt = yaml.safe_load((ROOT / "_config.yml").read_text())["sphinx"]["config"]["copybutton_prompt_text"]
    return [found[2] for line in text.splitlines() if (found := re.match(f"({prompt})(.*)", line))]


@pytest.mark.parametrize("text", list(examples()))
def test_an_example_runs_as_it_is_pasted(text, monkeypatch):
    monkeypatch.delattr(sys, "ps1", raising=False)
    session, said = code.InteractiveConsole({"__name__": "__main__"}), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        unfinished = [session.push(line) for line in copied(text)][-1]
    assert not unfinished, "a blank line ends a block"
    wanted = "".join(example.want for example in doctest.DocTestParser().get_examples(text))
    if "Traceback" in wanted:
        assert said.getvalue().splitlines()[-1] == wanted.splitlines()[-1]
    else:
        assert said.getvalue() == wanted


def exported():
    """The functions and classes that a reader imports from a package: full name -> object."""
    for package in ("theorybook", *(f"attention_theory.{part}" for part in PARTS)):
        module = importlib.import_module(package)
        for node in ast.parse(inspect.getsource(module)).body:
            for alias in node.names if isinstance(node, ast.ImportFrom) else ():
                thing = getattr(module, alias.asname or alias.name)
                if alias.name != "install" and (inspect.isfunction(thing) or inspect.isclass(thing)):
                    yield f"{package}.{alias.name}", thing


def test_every_exported_name_has_an_example():
    assert not [name for name, thing in exported() if ">>>" not in (inspect.getdoc(thing) or "")]
