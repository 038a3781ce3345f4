"""Mutation testing of the mathematical modules: small wrong changes that a test, and a verdict, must notice.

    python tools/mutants.py [--sample 60] [--seed 0] [--only separation.exact] [--verdicts] [--jobs 2] [--out book/data]

A mutant changes one place of a function's body: an operator, a comparison, a constant, a sign, min or max. The package is
copied with it, and the unit tests of its part run until one fails (the file named after the module first). With
``--verdicts`` the verdicts of the ledger rows whose ``code`` is the changed function run too. ``--sample 0`` takes all
mutants: hours. Survivors are printed with their place and change.
"""

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from joblib import Parallel, delayed

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "lib" / "attention_theory"
PARTS = ("sensitivity", "separation", "tangent", "patches", "exponential")
#: Not mathematics: pictures, pages, printed formulas (right or wrong), and what has tests of another kind.
LEFT_OUT = ("figures", "movable", "ledger", "formula", "paper", "proofs", "__init__", "domain", "sweep")
SECONDS = 600
SWAPS: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
NAMES = {"min": "max", "max": "min", "sum": "prod", "any": "all", "all": "any", "cos": "sin", "sin": "cos"}


class Mutant(NamedTuple):
    """One change: where, in which function, and what becomes what."""

    module: str
    function: str
    line: int
    old: str
    new: str
    text: str


def _sites(tree: ast.Module) -> Iterator[tuple[str, ast.AST, str, Any]]:
    """Function, node, field and new value of every possible change. Docstrings, annotations and messages are left alone."""

    def inside(node: ast.AST, function: str) -> Iterator[tuple[str, ast.AST, str, Any]]:
        for child in ast.iter_child_nodes(node):
            name = function
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                name = f"{function}.{child.name}".strip(".")
                for statement in child.body:
                    yield from inside(ast.Module([statement], []), name)
                continue
            if isinstance(child, ast.Raise | ast.arguments | ast.AnnAssign | ast.Import | ast.ImportFrom | ast.JoinedStr):
                continue
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                continue
            if function:
                yield from changes(child, name)
            yield from inside(child, name)

    def changes(node: ast.AST, name: str) -> Iterator[tuple[str, ast.AST, str, Any]]:
        if isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in SWAPS:
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


def mutants(path: Path) -> list[Mutant]:
    """All mutants of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    found = []
    for name, node, field, new in _sites(tree):
        before, old = ast.unparse(node), getattr(node, field)
        setattr(node, field, new)
        if isinstance(node, ast.expr | ast.AugAssign):
            found.append(Mutant(module, name, node.lineno, before, ast.unparse(node), ast.unparse(tree)))
        setattr(node, field, copy.copy(old))
    return found


def modules() -> list[Path]:
    """The mathematical modules."""
    found = [PACKAGE / "attention.py", PACKAGE / "tokens.py", PACKAGE / "device.py"]
    for part in (*PARTS, "evidence"):
        found += sorted((PACKAGE / part).rglob("*.py"))
    return [path for path in found if path.exists() and path.stem not in LEFT_OUT]


def _tests(module: str) -> list[str]:
    """The unit tests that may notice, the likeliest first."""
    part = module.split(".")[0]
    files = sorted((ROOT / "tests" / part).glob("test_*.py")) if part in PARTS else sorted((ROOT / "tests").glob("test_*.py"))
    slow = ("bite", "mutation", "notebooks", "repository", "library", "workflow", "new_chapter", "records", "pages", "ledger")
    files = [path for path in files if not any(word in path.name for word in slow)]
    stem = module.split(".")[-1]
    return [str(path) for path in sorted(files, key=lambda path: (stem not in path.stem, path.name))]


def _environment(folder: str) -> dict[str, str]:
    paths = [folder, str(ROOT / "tests"), str(ROOT / "tools")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}


def judged(mutant: Mutant, claims: list[str]) -> tuple[str, list[str]]:
    """``killed``, ``timeout`` or ``survived`` by the unit tests, and what the verdicts say: claims that hold all the same."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(PACKAGE, Path(folder, "attention_theory"), ignore=shutil.ignore_patterns("__pycache__"))
        Path(folder, "attention_theory", *mutant.module.split(".")).with_suffix(".py").write_text(mutant.text, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        try:
            run = subprocess.run(
                [*command, *_tests(mutant.module)], cwd=ROOT, env=_environment(folder), capture_output=True, timeout=SECONDS
            )
            fate = "killed" if run.returncode else "survived"
        except subprocess.TimeoutExpired:
            fate = "killed"
        unnoticed = []
        for claim in claims:
            code = f"from mutation import verdict_of; import sys; sys.exit(verdict_of({claim!r}) == 'holds')"
            try:
                run = subprocess.run(
                    [sys.executable, "-c", code], env=_environment(folder), capture_output=True, timeout=SECONDS
                )
                unnoticed += [claim] * (run.returncode == 1 and b"Error" not in run.stderr)
            except subprocess.TimeoutExpired:
                continue
        return fate, unnoticed


def claims_by_code() -> dict[str, list[str]]:
    """Function -> ids of the ledger rows that name it."""
    from attention_theory.evidence import COMPUTED, load_ledger

    found = defaultdict(list)
    for path in sorted((ROOT / "book" / "ledger").glob("*.yml")):
        for row in load_ledger(path).values():
            if row.code and row.outcome in COMPUTED:
                found[row.code].append(row.id)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=60, help="how many, 0 for all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="modules whose name begins so")
    parser.add_argument("--verdicts", action="store_true", help="run the verdicts of the changed function too")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", help="folder for mutants.json, the record")
    given = parser.parse_args()
    sources = [path for path in modules() if ".".join(path.relative_to(PACKAGE).parts).startswith(given.only)]
    every = [mutant for path in sources for mutant in mutants(path)]
    if given.sample < 0 or given.jobs < 1 or not every:
        parser.error("--sample is at least 0, --jobs at least 1, and --only must name a module")
    chosen = random.Random(given.seed).sample(every, min(given.sample or len(every), len(every)))
    claims = claims_by_code() if given.verdicts else {}
    print(f"{len(every)} possible changes, {len(chosen)} drawn", flush=True)
    table: dict[str, Counter] = defaultdict(Counter)
    tasks = [delayed(judged)(m, claims.get(f"{m.module}.{m.function}", [])) for m in chosen]
    for mutant, (fate, unnoticed) in zip(chosen, Parallel(n_jobs=given.jobs, return_as="generator")(tasks)):
        table[mutant.module][fate] += 1
        spoken = claims.get(f"{mutant.module}.{mutant.function}", [])
        table[mutant.module]["spoken of"] += bool(spoken)
        table[mutant.module]["noticed"] += len(unnoticed) < len(spoken)
        if fate == "survived":
            place = f"{mutant.module}:{mutant.line} {mutant.function}"
            print(f"survived: {place}: {mutant.old[:80]}  ->  {mutant.new[:80]}", flush=True)
    kinds = ("killed", "survived", "spoken of", "noticed")
    print("| module |", " | ".join(kinds), "|\n|---|" + "---|" * len(kinds))
    for module, counts in sorted(table.items()):
        print(f"| {module} |", " | ".join(str(counts[kind]) for kind in kinds), "|")
    total = sum(table.values(), Counter())
    print("| all |", " | ".join(str(total[kind]) for kind in kinds), "|")
    if given.out:
        from attention_theory.evidence.records import Record, write_record
        from attention_theory.sweep import provenance

        points = [{"module": module} for module in sorted(table)]
        results = [{kind: table[module][kind] for kind in kinds} for module in sorted(table)]
        origin = {"command": f"python tools/mutants.py --sample {given.sample} --seed {given.seed}"} | provenance()
        settings = {"possible": len(every), "drawn": len(chosen), "verdicts": given.verdicts}
        write_record(Record("mutants", origin, settings, points, results), given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
