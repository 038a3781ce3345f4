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

PACKAGE = ROOT / "lib" / "attention_theory"
PARTS = ("sensitivity", "separation", "tangent", "patches", "exponential", "trained")
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))


def name(path):
    return ".".join(("attention_theory", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


def imported(path):
    """The modules of ours that a file imports, as full names."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module or ""}
    return {module for module in found if module.split(".")[0] == "attention_theory"}


def test_evidence_imports_nothing_else_of_ours_but_the_ranges():
    for path in (PACKAGE / "evidence").glob("*.py"):
        ours = tuple(f"attention_theory.{module}" for module in ("evidence", "domain"))
        assert all(module.startswith(ours) for module in imported(path)), path.name


def test_the_library_does_not_import_the_printed_formulas():
    for path in MODULES:
        if path.name != "paper.py":
            assert not [m for m in imported(path) if "paper" in m.split(".")], path


@pytest.mark.parametrize("part", PARTS[:4])
def test_a_part_imports_no_other_part(part):
    for path in (PACKAGE / part).rglob("*.py"):
        others = [m for m in imported(path) for other in PARTS if other != part and m.startswith(f"attention_theory.{other}")]
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
    for path in MODULES:
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
