"""Mutation testing of the mathematical modules: small wrong changes that a test, and a verdict,
must notice.

    python tools/mutants.py [--sample 60] [--seed 0] [--only separation.exact]
                            [--verdicts | --rows | --proofs | --statements] [--jobs 2] [--out
                            FOLDER]

A mutant changes one place of a function, of its defaults or of a module's constants: an operator, a
comparison, a number, a truth value, a sign, min or max, the sign of a factor of ``@``, or it takes
eigenvectors from rows. It is drawn from ``attention_theory`` and ``attention_checks``, and from
``theorybook`` with ``--only theorybook``. The packages are copied with it, and the unit tests that
reach the changed line run, the fastest first, until one fails; those that together take more than a
minute with the right library are left out. A default or a constant is computed when its module is
imported, before any test: there the tests run that reach the function, or what uses the constant.
Which tests reach which line is noted once, under ``_build/mutants``, and again when library or
tests have changed. With ``--verdicts`` the verdicts of the ledger rows whose ``code`` is the
changed function run too; one speaks of a change if its checks compare other numbers with it, or
fail. ``--sample 0`` takes all mutants: hours. Survivors are printed with their place.

``--rows`` changes what the ledger's rows name as their code or proof and what that calls, printed
formulas among it, as many places of each part as the sample allows; it asks the verdicts of the
rows that come to the place, and the unit tests where none of them notices. ``--proofs`` does the
same with the modules of proofs alone.

``--statements`` changes what is *claimed*, at one place for each row drawn, and asks the verdict of
that row alone, whether it fails, holds on other numbers, or compares the same numbers as before:

- *formula*: a place as above in a formula that the row's verdict names in ``printed``, or for an
  own row in the function that ``code`` names;
- *bar*: a factor 2 or 1/2 at the number that a check asks for, where it bounds on both sides
  (``within``, ``contains``), and 1/2 more or less at an exponent;
- *hypothesis*: one condition less on the cases that the record goes through.

These are other claims that a verdict can tell from the true one. Not drawn, since nothing could be
learned: a bar on one side (looser, it cannot fail; tighter, it may be true as well), the right-hand
side of an equality (another one always fails), and of a corrected or false row what only the
refuted form uses (another wrong form is refuted as well).
"""

import argparse
import ast
import contextlib
import copy
import functools
import itertools
import json
import multiprocessing
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from theorybook.tools.recorded import write

ROOT = Path(__file__).resolve().parents[1]
LIB = ROOT / "lib"
sys.path.append(str(ROOT / "tests"))
#: Those that are changed, and all that are copied.
PACKAGES, ALL = (
    ("attention_theory", "attention_checks"),
    ("attention_theory", "attention_checks", "theorybook"),
)
PARTS = ("sensitivity", "separation", "tangent", "patches", "exponential", "trained")
#: Not mathematics: pictures, pages, printed formulas (right or wrong), and what is asked elsewhere
#: (proofs: ``--rows``).
LEFT_OUT = (
    "figures",
    "interactive_plot",
    "ledger",
    "formula",
    "printed",
    "proofs",
    "__init__",
    "validation",
    "sweep",
    "book",
)
#: Seconds of tests that are tried, as the right library takes them; a changed one that takes ten
#: times as long hangs.
BUDGET, SECONDS = 60.0, 600
#: Rows whose verdicts are asked about one change with ``--rows``.
ASKED = 8
#: The test that compares every record with the code that made it.
SETTINGS = "test_settings_and_points_of_a_record_are_those_of_its_recording"
NOTES = ROOT / "_build" / "mutants"
#: Tests that speak about files, pages or processes, and those of the verdicts, which are asked by
#: themselves.
OTHER_TESTS = {
    "verdicts_bite", "notebooks", "repository", "workflow", "new_chapter", "bookpages", "ledger",
    "checks", "devices", "scale", "release", "lab", "speed",
}  # fmt: skip
SWAPS: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
NAMES = {
    "min": "max",
    "max": "min",
    "sum": "prod",
    "any": "all",
    "all": "any",
    "cos": "sin",
    "sin": "cos",
}


class Mutant(NamedTuple):
    """One change: where, in which function, and what becomes what; in a record ``module`` is its
    page, ``function`` a claim.
    """

    module: str
    function: str
    line: int
    old: str
    new: str
    site: int


def _bound(node: ast.AST) -> list[str]:
    """The names that an assignment, a function or a class binds; none of an assignment to a part of
    something.
    """
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = (
        node.targets
        if isinstance(node, ast.Assign)
        else [node.target]
        if isinstance(node, ast.AnnAssign)
        else []
    )
    names = [
        name
        for target in targets
        for name in (target.elts if isinstance(target, ast.Tuple) else [target])
    ]
    return [name.id for name in names if isinstance(name, ast.Name)]


def _sites(tree: ast.Module) -> Iterator[tuple[str, ast.AST, str, Any]]:
    """Function, node, field and new value of every possible change; docstrings, annotations,
    refusals, messages stay.
    """

    def inside(node: ast.AST, function: str) -> Iterator[tuple[str, ast.AST, str, Any]]:
        for child in ast.iter_child_nodes(node):
            name = function
            if isinstance(child, ast.Assign | ast.AnnAssign) and (function or _bound(child)):
                if child.value is not None:
                    yield from inside(ast.Return(child.value), function or _bound(child)[0])
                continue
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                name = f"{function}.{child.name}".strip(".")
                if isinstance(child, ast.FunctionDef):
                    for default in filter(None, [*child.args.defaults, *child.args.kw_defaults]):
                        yield from inside(ast.Return(default), name)
                for statement in child.body:
                    yield from inside(ast.Module([statement], []), name)
                continue
            if isinstance(
                child, ast.Raise | ast.arguments | ast.Import | ast.ImportFrom | ast.JoinedStr
            ):
                continue
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                continue
            if isinstance(child, ast.If) and isinstance(
                child.body[0], ast.Raise
            ):  # what is refused: bad-input tests ask that
                continue
            if function:
                yield from changes(child, name)
            yield from inside(child, name)

    def changes(node: ast.AST, name: str) -> Iterator[tuple[str, ast.AST, str, Any]]:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            yield name, node, "right", ast.UnaryOp(ast.USub(), node.right)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("linalg.eigh"):
            in_rows = (
                "(lambda *given: (lambda found: (found[0], "
                f"found[1].mT))({ast.unparse(node.func)}(*given)))"
            )
            yield name, node, "func", ast.parse(in_rows, mode="eval").body
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield name, node, "value", not node.value
        elif isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in SWAPS:
            yield name, node, "op", SWAPS[type(node.op)]()
        elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
            yield name, node, "ops", [SWAPS[type(node.ops[0])](), *node.ops[1:]]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            yield name, node, "op", ast.UAdd()
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            yield name, node, "value", node.value + 1
        elif isinstance(node, ast.Attribute) and node.attr in NAMES:
            yield name, node, "attr", NAMES[node.attr]
        elif isinstance(node, ast.Name) and node.id in ("min", "max", "any", "all"):
            yield name, node, "id", NAMES[node.id]

    yield from inside(tree, "")


def name_of(path: Path) -> str:
    """A file's module."""
    return ".".join(path.relative_to(LIB).with_suffix("").parts)


def files(*packages: str) -> list[Path]:
    return [path for package in packages for path in sorted((LIB / package).rglob("*.py"))]


def mutants(path: Path) -> list[Mutant]:
    """All mutants of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    module, found = name_of(path), []
    for site, (name, node, field, new) in enumerate(_sites(tree)):
        before, old = ast.unparse(node), getattr(node, field)
        setattr(node, field, new)
        if isinstance(node, ast.expr | ast.AugAssign):
            found.append(Mutant(module, name, node.lineno, before, ast.unparse(node), site))
        setattr(node, field, copy.copy(old))
    return found


def mutated(path: Path, site: int) -> str:
    """The module's source with one change."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    _, node, field, new = next(itertools.islice(_sites(tree), site, None))
    setattr(node, field, new)
    return ast.unparse(tree)


def modules(only: str) -> list[Path]:
    """The mathematical modules whose name begins so, in full or below its package; those of the
    toolkit if it is named.
    """
    found = [
        path for path in files(*ALL) if path.stem not in LEFT_OUT and "sphinx" not in path.parts
    ]
    names = {path: name_of(path) for path in found}
    if only.split(".")[0] not in ALL:
        names = {
            path: name.partition(".")[2]
            for path, name in names.items()
            if not name.startswith("theorybook")
        }
    return [path for path, name in names.items() if name.startswith(only)]


class Noting:
    """A pytest plugin that notes which test reaches which line of the library, and how long each
    takes.
    """

    def __init__(self):
        import coverage

        NOTES.mkdir(parents=True, exist_ok=True)
        self.lines = coverage.Coverage(
            str(NOTES / "lines"), data_suffix=True, include=[f"{LIB}/*"], config_file=False
        )
        self.seconds: dict[str, float] = {}
        self.lines.start()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.lines.switch_context(nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" and report.passed:
            self.seconds[report.nodeid] = report.duration

    def pytest_sessionfinish(self) -> None:
        self.lines.stop()
        self.lines.save()
        (NOTES / f"seconds-{os.getpid()}.json").write_text(json.dumps(self.seconds))


def pytest_configure(config: Any) -> None:
    """Loaded with ``-p mutants``: note in every process that runs tests."""
    if os.environ.get("PYTEST_XDIST_WORKER"):
        config.pluginmanager.register(Noting())


def reached_by(jobs: int) -> tuple[dict[str, dict[str, list[str]]], dict[str, float]]:
    """Module -> line -> the unit tests that reach it; and the seconds of each test."""
    stored = NOTES / "reached.json"
    sources = [*files(*ALL), *(ROOT / "tests").rglob("*.py")]
    if not stored.exists() or stored.stat().st_mtime < max(
        path.stat().st_mtime for path in sources
    ):
        import coverage

        shutil.rmtree(NOTES, ignore_errors=True)
        found = (ROOT / "tests").rglob("test_*.py")
        tests = [
            path
            for path in found
            if path.stem[5:] not in OTHER_TESTS
            and path.parent.name not in ("pages", "devices", "proofs")
        ]
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "mutants",
            "-n",
            str(jobs),
        ]
        subprocess.run(
            [*command, *map(str, tests)], cwd=ROOT, env=_environment(str(LIB)), check=True
        )
        lines = coverage.Coverage(str(NOTES / "lines"), config_file=False)
        lines.combine()
        seconds = {}
        for path in NOTES.glob("seconds-*.json"):
            seconds |= json.loads(path.read_text())
        reached: dict[str, dict[int, list[str]]] = {}
        for file in lines.get_data().measured_files():
            contexts = lines.get_data().contexts_by_lineno(file)
            reached[name_of(Path(file))] = {
                n: [t for t in tests if t in seconds] for n, tests in contexts.items()
            }
        stored.write_text(json.dumps({"lines": reached, "seconds": seconds}))
    notes = json.loads(stored.read_text())
    return notes["lines"], notes["seconds"]


def tests_of(
    mutant: Mutant, lines: dict[str, dict[str, list[str]]], seconds: dict[str, float]
) -> list[str]:
    """The unit tests that reach a change, the fastest first, as many as the budget allows.

    What is computed when the module is imported is reached through its function, or through the
    nearest that use it.
    """
    found: set[str] = set()
    if _in_a_call(mutant):
        found = set(lines.get(mutant.module, {}).get(str(mutant.line), ()))
    else:
        name = top(mutant)
        direct = {user for user, used in uses().items() if name in used}
        every = {user for user, used in reached_from().items() if name in used}
        for users in ({name}, direct, every):
            found = found or {test for user in users for test in _tests_inside(user, lines)}
    ordered = sorted(found & seconds.keys(), key=seconds.__getitem__)
    total = itertools.accumulate(map(seconds.__getitem__, ordered))
    return [
        test for i, (test, spent) in enumerate(zip(ordered, total)) if i == 0 or spent <= BUDGET
    ]


def _in_a_call(mutant: Mutant) -> bool:
    """Whether the change is inside the body of a function."""
    functions = (
        node for node in ast.walk(_tree(mutant.module)) if isinstance(node, ast.FunctionDef)
    )
    return any(node.body[0].lineno <= mutant.line <= node.end_lineno for node in functions)


def _tests_inside(definition: str, lines: dict[str, dict[str, list[str]]]) -> Iterator[str]:
    """The tests that reach a line of a function's body, or of a method's of a class."""
    module, _, name = definition.rpartition(".")
    for node in _tree(module).body:
        if name in _bound(node):
            for function in (part for part in ast.walk(node) if isinstance(part, ast.FunctionDef)):
                for line in range(function.body[0].lineno, function.end_lineno + 1):
                    yield from lines.get(module, {}).get(str(line), ())


def _environment(folder: str) -> dict[str, str]:
    paths = [folder, str(ROOT / "tests"), str(ROOT / "tools")]
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "OMP_NUM_THREADS": "1",
        "MPLBACKEND": "agg",
    }


def survives(folder: str, tests: list[str]) -> bool:
    """Whether the tests pass, and in time, with the packages in ``folder``."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=_environment(folder), timeout=SECONDS, capture_output=True
        )
    except subprocess.TimeoutExpired:
        return False
    return not done.returncode


def _verdict(folder: str, claim: str, numbers: str, source: str | None) -> None:
    """Write what the checks of a claim's verdict compare, with the packages in ``folder``; exit
    with 1 unless it holds.
    """
    from mutation import fresh_package, numbers_compared, verdict_of

    holds = False
    with contextlib.suppress(Exception), fresh_package(folder), numbers_compared() as found:
        holds = verdict_of(claim, source) == "holds"
        Path(numbers).write_text("\n".join(found))
    sys.exit(not holds)


@functools.cache
def _forks() -> Any:
    """Where processes come from that have what all verdicts import."""
    os.environ.update(_environment(str(LIB)))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["mutation", "torch", "scipy.stats", "joblib", "sympy", "flint"])
    return context


def verdict_holds(
    claim: str, folder: str, numbers: str = os.devnull, source: str | None = None
) -> bool:
    """Whether the claim's verdict holds, and in time, with the packages in ``folder`` and, if
    given, other statements.
    """
    process = _forks().Process(target=_verdict, args=(folder, claim, numbers, source))
    process.start()
    process.join(SECONDS)
    process.kill()
    process.join()
    return process.exitcode == 0


@functools.cache
def compared(claim: str) -> str:
    """What the claim's checks compare with the right library."""
    with tempfile.NamedTemporaryFile("r") as numbers:
        if not verdict_holds(claim, str(LIB), numbers.name):
            raise RuntimeError(f"{claim}: its verdict does not hold with the right library")
        return numbers.read()


def verdict_on(claim: str, folder: str, source: str | None = None) -> str:
    """``fails``, ``holds`` on other numbers, or ``same numbers``, with the packages in ``folder``,
    and other cells if given.
    """
    with tempfile.NamedTemporaryFile("r") as numbers:
        if not verdict_holds(claim, folder, numbers.name, source):
            return "fails"
        return "same numbers" if numbers.read() == compared(claim) else "holds"


@contextlib.contextmanager
def library_with(mutant: Mutant) -> Iterator[str]:
    """A folder with the packages, one place of them changed."""
    with tempfile.TemporaryDirectory() as folder:
        for package in ALL:
            shutil.copytree(
                LIB / package, Path(folder, package), ignore=shutil.ignore_patterns("__pycache__")
            )
        path = _file(mutant.module)
        Path(folder, path.relative_to(LIB)).write_text(mutated(path, mutant.site), encoding="utf-8")
        yield folder


def judged(mutant: Mutant, tests: list[str], claims: list[str]) -> dict[str, Any]:
    """Its fate in the unit tests, and whether its claims' verdicts speak of it and notice it."""
    with library_with(mutant) as folder:
        fate = "not reached"
        if tests:
            fate = "survived" if survives(folder, tests) else "killed"
        verdicts = {verdict_on(claim, folder) for claim in claims}
    return {
        "fate": fate,
        "spoken of": bool(verdicts - {"same numbers"}),
        "noticed": "fails" in verdicts,
    }


def noticed_by(mutant: Mutant, claims: list[str]) -> dict[str, str]:
    """The first of the claims whose verdict fails with the mutant, or else whether a unit test of
    its part does, or that records have the settings of the code that made them.
    """
    with library_with(mutant) as folder:
        for claim in claims:
            if not verdict_holds(claim, folder):
                compared(claim)  # raises if it fails with the right library too
                return {"noticed by": claim}
        tests = sorted((ROOT / "tests" / mutant.module.split(".")[1]).glob("test_*.py"))
        asked = [str(path) for path in tests if path.name != "test_bad_input.py"]
        if ".runs." in mutant.module:
            asked.insert(0, f"{ROOT}/tests/test_records.py::{SETTINGS}")
        survived = survives(folder, asked)
        return {"noticed by": "nothing" if survived else "unit tests"}


def statement_noticed(mutant: Mutant, claim: str) -> dict[str, Any]:
    """What the verdict of the claim does whose statement is changed; if it compares the same, whose
    verdict notices it.
    """
    compared(claim)  # raises if it fails with the right statement too
    if "/" in mutant.module:
        found = verdict_on(claim, str(LIB), changed_cells(claim, mutant.site))
        return {
            "row": claim,
            "verdict": found,
            "noticed by": claim if found == "fails" else "nothing",
        }
    with library_with(mutant) as folder:
        found = verdict_on(claim, folder)
        others = neighbours(claim, top(mutant)) if found == "same numbers" else []
        noticed = (
            claim
            if found == "fails"
            else next((one for one in others if not verdict_holds(one, folder)), "nothing")
        )
        return {"row": claim, "verdict": found, "noticed by": noticed}


def _file(module: str) -> Path:
    path = LIB.joinpath(*module.split("."))
    return path.with_suffix(".py") if path.with_suffix(".py").is_file() else path / "__init__.py"


@functools.cache
def _tree(module: str) -> ast.Module:
    return ast.parse(_file(module).read_text(encoding="utf-8"))


@functools.cache
def _names(module: str) -> dict[str, str]:
    """What the names at the top of a module stand for: definitions of the packages as
    ``module.name``, and modules.
    """
    found = {}
    for node in _tree(module).body:
        found |= {name: f"{module}.{name}" for name in _bound(node)}
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ALL:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found[alias.asname or alias.name] = (
                    inner if _file(inner).is_file() else _names(node.module).get(alias.name, inner)
                )
    return found


def _uses(node: ast.AST, module: str) -> set[str]:
    """The definitions of the packages that a definition names."""
    names, found = _names(module), set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id in names:
            found.add(names[part.id])
        elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
            held = names.get(part.value.id, "")
            if held and _file(held).is_file():
                found.add(_names(held).get(part.attr, ""))
    return found


@functools.cache
def uses() -> dict[str, set[str]]:
    """Definition of the packages, as ``module.name`` -> those that it names."""
    found = {}
    for module in map(name_of, files(*ALL)):
        for node in _tree(module).body:
            found |= {f"{module}.{name}": _uses(node, module) for name in _bound(node)}
    return found


@functools.cache
def reached_from() -> dict[str, set[str]]:
    """Definition -> those that it comes to, itself among them."""
    reached = {name: {name} | found for name, found in uses().items()}
    while True:
        wider = {
            name: found.union(*(reached.get(other, set()) for other in found))
            for name, found in reached.items()
        }
        if wider == reached:
            return reached
        reached = wider


def judged_rows() -> Iterator[Any]:
    """The rows of the ledger that have a verdict."""
    from theorybook import COMPUTED, load_ledger

    for path in sorted((ROOT / "book" / "ledger").glob("*.yml")):
        yield from (row for row in load_ledger(path).values() if row.outcome in COMPUTED)


def claims_by_proof() -> dict[str, list[str]]:
    """Definition that a proof comes to -> claims whose verdicts come to it, one for each run of
    statements.
    """
    from mutation import chapter_of, statements_behind

    found: dict[str, dict[str, str]] = defaultdict(dict)
    for row in judged_rows():
        part = (row.chapter or "").split("/")[0]
        if part in PARTS:
            text = ast.unparse(ast.Module(statements_behind(chapter_of(row.id), row.id), []))
            home = f"attention_checks.{part}."
            called = {
                name
                for name in reached_from()
                if name.startswith(f"{home}proofs.") and name.removeprefix(home) in text
            }
            for name in set().union(*(reached_from()[name] for name in called)):
                found[name].setdefault(text, row.id)
    return {function: list(claims.values()) for function, claims in found.items()}


def definition(code: str) -> str:
    """The definition, as ``module.name``, in which the function of a row's ``code`` or ``proof``
    stands.
    """
    names = code.split(".")
    return next(
        ".".join(names[: k + 1])
        for k in range(len(names) - 1, 0, -1)
        if _file(".".join(names[:k])).is_file()
    )


def claims_by_reach() -> dict[str, list[str]]:
    """Definition -> ids of the rows that come to it: one of each chapter first, and those that come
    to least.
    """
    found = defaultdict(list)
    for row in judged_rows():
        reach = set().union(
            *(reached_from()[definition(name)] for name in (row.code, row.proof) if name)
        )
        for name in reach:
            found[name].append((len(reach), row.id, row.chapter))
    ordered = {}
    for name, reaching in found.items():
        before, ranked = Counter(), []
        for reach, claim, chapter in sorted(reaching):
            ranked.append((before[chapter], reach, claim))
            before[chapter] += 1
        ordered[name] = [claim for *_, claim in sorted(ranked)]
    return ordered


def top(mutant: Mutant) -> str:
    """The definition in which the change stands."""
    return f"{mutant.module}.{mutant.function.split('.')[0]}"


def drawn_from_rows(
    sample: int, seed: int, proofs: bool = False
) -> tuple[dict[str, int], list[Mutant]]:
    """How many places rows come to in each part, and those drawn from the parts in turn; all if
    ``sample`` is 0.
    """
    reached, draw = claims_by_proof() if proofs else claims_by_reach(), random.Random(seed)
    places = {part: [] for part in PARTS}
    for path in files(*(f"{package}/{part}" for part in PARTS for package in PACKAGES)):
        if path.stem == "proofs" or not proofs:
            places[path.relative_to(LIB).parts[1]] += [
                mutant for mutant in mutants(path) if top(mutant) in reached
            ]
    shuffled = [
        draw.sample(places[part], len(places[part])) for part in draw.sample(PARTS, len(PARTS))
    ]
    in_turn = [
        mutant for turn in itertools.zip_longest(*shuffled) for mutant in turn if mutant is not None
    ]
    return {part: len(found) for part, found in places.items()}, in_turn[: sample or None]


def claimed(row: Any) -> list[ast.stmt]:
    """What the row's verdict needs of its record, but for what only a refuted form of the statement
    uses.
    """
    from mutation import chapter_of, needed_by, statements_behind

    *earlier, last = statements_behind(chapter_of(row.id), row.id)
    call = last.value if isinstance(last, ast.Expr) else None
    if row.outcome not in ("corrected", "false") or not isinstance(call, ast.Call):
        return [*earlier, last]
    kept = ast.Call(
        call.func, call.args, [given for given in call.keywords if given.arg != "printed"]
    )
    goal = ast.copy_location(ast.Expr(kept), last)
    return needed_by([goal], [*earlier, goal])


class CellSite(NamedTuple):
    """A change in a record: its kind, where, what becomes what, and the same in words."""

    kind: str
    node: ast.AST
    field: str
    value: Any
    line: int
    old: str
    new: str


def _cell_sites(statements: list[ast.stmt]) -> Iterator[CellSite]:
    """Every change of a bar on both sides, of an exponent, or of a condition on the cases."""
    for node in (part for statement in statements for part in ast.walk(statement)):
        if isinstance(node, ast.comprehension) and node.ifs:
            yield CellSite(
                "hypothesis",
                node,
                "ifs",
                [],
                node.iter.lineno,
                ast.unparse(node).strip(),
                "no condition",
            )
        if not isinstance(node, ast.Call) or ast.unparse(node.func) not in (
            "compare",
            "interval",
            "exponent",
        ):
            continue
        holder, field = node, "args"
        if node.args and isinstance(
            node.args[-1], ast.Starred
        ):  # compare(what, *(found, "within", bars))
            holder, field = node.args[-1].value, "elts"
        match getattr(holder, field, None):
            case [*first, ast.Constant(value=relation), bar]:
                for new in _other_bars(node.func.id, relation, bar):
                    value = [*first, ast.Constant(relation), ast.parse(new, mode="eval").body]
                    yield CellSite(
                        "bar",
                        holder,
                        field,
                        value,
                        node.lineno,
                        f"{relation} {ast.unparse(bar)}",
                        new,
                    )


def _other_bars(check: str, relation: Any, bar: ast.expr) -> list[str]:
    """What a check may ask for instead, so that it can be told from what is true."""
    text = ast.unparse(bar)
    if check == "exponent":
        return [
            f"({text}) {sign} 0.5" for sign in {">=": "+", "<=": "-", "contains": "+-"}[relation]
        ]
    form = {"within": "tuple({} * np.asarray(end) for end in {})", "contains": "{} * ({})"}.get(
        relation
    )
    with contextlib.suppress(ValueError):  # numbers stand there: a factor means nothing about 0
        ends = np.asarray(ast.literal_eval(bar), dtype=float)
        if ends.min() <= 0 <= ends.max():
            return []
    return [form.format(factor, text) for factor in (2, 0.5)] if form else []


def changed_cells(claim: str, site: int) -> str:
    """The source of what the claim's verdict needs, with one change."""
    from mutation import chapter_of, statements_behind

    row = next(row for row in judged_rows() if row.id == claim)
    place = next(itertools.islice(_cell_sites(claimed(row)), site, None))
    before = getattr(place.node, place.field)
    setattr(place.node, place.field, place.value)
    source = "import numpy as np\n" + ast.unparse(
        ast.Module(statements_behind(chapter_of(claim), claim), [])
    )
    setattr(place.node, place.field, before)
    return source


def formulas_of(row: Any, statements: list[ast.stmt]) -> set[str]:
    """The definitions that hold a row's formulas, seen from what its verdict needs of the
    record.
    """
    home = f"attention_checks.{row.chapter.split('/')[0]}.printed."
    attributes = (
        part for part in ast.walk(ast.Module(statements, [])) if isinstance(part, ast.Attribute)
    )
    named = {home + part.attr for part in attributes if ast.unparse(part.value) == "printed"}
    formulas = {
        name for first in named for name in reached_from().get(first, ()) if name.startswith(home)
    }
    own = row.printed == "ours" and row.code and ".runs." not in row.code
    return formulas | {row.code} if own else formulas


def neighbours(claim: str, formula: str) -> list[str]:
    """Other rows that come to a formula, those of the same chapter first: cells that judge several
    rows share formulas.
    """
    chapter = next(row.chapter for row in judged_rows() if row.id == claim)
    beside = [
        row.id
        for row in judged_rows()
        if row.chapter == chapter and formula in formulas_of(row, claimed(row))
    ]
    return [
        other
        for other in dict.fromkeys([*beside, *claims_by_reach().get(formula, ())])
        if other != claim
    ][:ASKED]


def places_of(row: Any) -> dict[str, list[Mutant]]:
    """Kind of change -> the places of a row's statement."""
    from mutation import chapter_of

    statements, places = claimed(row), defaultdict(list)
    for site, place in enumerate(_cell_sites(statements)):
        places[place.kind].append(
            Mutant(chapter_of(row.id), row.id, place.line, place.old, place.new, site)
        )
    for name in sorted(formulas_of(row, statements)):
        found = mutants(_file(definition(name).rpartition(".")[0]))
        places["formula"] += [
            m for m in found if f"{m.module}.{m.function}.".startswith(f"{name}.")
        ]
    return {kind: found for kind, found in places.items() if found}


def drawn_from_statements(
    sample: int, seed: int
) -> tuple[dict[str, int], list[tuple[str, Mutant]]]:
    """How many rows were looked at, and one change of each that has a place, from the parts in
    turn; all if ``sample`` is 0.
    """
    draw, rows, chosen = random.Random(seed), defaultdict(list), []
    for row in judged_rows():
        if (part := row.chapter.split("/")[0]) in PARTS:
            rows[part].append(row)
    shuffled = [draw.sample(rows[part], len(rows[part])) for part in draw.sample(PARTS, len(PARTS))]
    looked = 0
    for row in filter(None, itertools.chain(*itertools.zip_longest(*shuffled))):
        if places := places_of(row):
            chosen.append((row.id, draw.choice(places[draw.choice(sorted(places))])))
        looked += 1
        if len(chosen) == sample:
            break
    return {"rows looked at": looked}, chosen


def each(
    task: Callable[..., dict], chosen: list[Mutant], arguments: Iterable[tuple], jobs: int
) -> list[dict[str, Any]]:
    """What becomes of each mutant, printed as it comes unless it is killed."""
    tasks = [delayed(task)(mutant, *given) for mutant, given in zip(chosen, arguments)]
    results = []
    for mutant, result in zip(
        chosen, Parallel(n_jobs=jobs, backend="threading", return_as="generator")(tasks)
    ):
        place = (
            f"{mutant.module}:{mutant.line} {mutant.function}: {mutant.old[:80]}  ->  "
            f"{mutant.new[:80]}"
        )
        if result.get("fate") != "killed" or result["spoken of"] > result["noticed"]:
            print(
                f"{', '.join(f'{name}: {value}' for name, value in result.items())}: {place}",
                flush=True,
            )
        results.append(result)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=60, help="how many, 0 for all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--only",
        default="",
        help="modules whose name begins so, as separation.exact or theorybook.prove",
    )
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument(
        "--verdicts", action="store_true", help="run the verdicts of the changed function too"
    )
    kinds.add_argument(
        "--rows", action="store_true", help="change what rows come to, and ask their verdicts first"
    )
    kinds.add_argument(
        "--proofs", action="store_true", help="as --rows, of the modules of proofs alone"
    )
    kinds.add_argument(
        "--statements",
        action="store_true",
        help="change what rows claim, and ask their own verdicts",
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", help="folder for the record")
    given = parser.parse_args()
    if given.sample < 0 or given.jobs < 1:
        parser.error("--sample is at least 0, --jobs at least 1")
    of_rows = given.rows or given.proofs
    if of_rows:
        places, chosen = drawn_from_rows(given.sample, given.seed, given.proofs)
        claims, stating = claims_by_reach(), claims_by_proof()
        asked = [
            list(dict.fromkeys([*stating.get(name, []), *claims.get(name, [])]))[:ASKED]
            for name in map(top, chosen)
        ]
        results = each(noticed_by, chosen, zip(asked), given.jobs)
        count = Counter(
            "a verdict" if "/" in row["noticed by"] else row["noticed by"] for row in results
        )
        settings = {f"places in {part}": n for part, n in places.items()}
    elif given.statements:
        settings, drawn = drawn_from_statements(given.sample, given.seed)
        chosen = [mutant for _, mutant in drawn]
        results = each(statement_noticed, chosen, ((claim,) for claim, _ in drawn), given.jobs)
        names = [
            {row["row"]: "its own verdict", "nothing": "nothing"}.get(row["noticed by"], "another")
            for row in results
        ]
        count = Counter(names)
    else:
        every = [mutant for path in modules(given.only) for mutant in mutants(path)]
        if not every:
            parser.error(f"no module begins with {given.only}")
        chosen = random.Random(given.seed).sample(
            every, min(given.sample or len(every), len(every))
        )
        claims = defaultdict(list)
        for row in judged_rows() if given.verdicts else ():
            claims[row.code].append(row.id)
        notes = reached_by(given.jobs)
        asked = [(tests_of(m, *notes), claims[f"{m.module}.{m.function}"]) for m in chosen]
        results = each(judged, chosen, asked, given.jobs)
        count = Counter(
            name
            for row in results
            for name in (row["fate"], *(k for k in ("spoken of", "noticed") if row[k]))
        )
        settings = {"possible": len(every), "drawn": len(chosen)}
    print(settings, dict(count))
    if given.out:
        points = [
            mutant._asdict() | {"module": re.sub(r"^\w+\.", "", mutant.module)} for mutant in chosen
        ]
        for point in points:
            del point["site"]
        kind = next(
            (kind for kind in ("row", "proof", "statement") if getattr(given, f"{kind}s")), None
        )
        name = f"{kind}-mutants" if kind else "mutants"
        write(name, settings, points, results, given.out)
    return int(of_rows and count["nothing"] > 0)


if __name__ == "__main__":
    sys.exit(main())
