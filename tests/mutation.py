"""Does a verdict bite? A record's own verdict cell, run against a library in which one thing is wrong.

A mutant is a replacement in the source of a library function. The package is copied, changed and imported afresh; then the
verdict runs, after just those earlier statements of its record that it takes names from.
"""

import ast
import builtins
import contextlib
import functools
import importlib
import io
import itertools
import math
import os
import re
import shutil
import symtable
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import nbformat
import numpy as np
from conftest import BOOK, ROOT
from theorybook import MIME, load_ledger, record_of

PACKAGES = ("theorybook", "attention_theory", "attention_checks")


def path_of(module: str, lib: Path = ROOT / "lib") -> Path:
    """The file of a module named below its package: ``separation.printed``."""
    paths = [lib / package / (module.replace(".", "/") + ".py") for package in PACKAGES]
    found = [path for path in paths if path.is_file()]
    assert len(found) == 1, f"{len(found)} modules are called {module}"
    return found[0]


def names_set_in(target: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(target) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def root(node: ast.AST) -> str:
    """The name that an expression as ``rows[0].weight`` begins with."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def filled(tree: ast.AST) -> set[str]:
    """The names whose content a statement changes: ``table["x"] = ...``, ``model.a = ...``, ``rows.append(...)``."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            found.add(root(node))
        # a call whose result nobody takes is there for what it does to its object
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and not isinstance(node.value.func, ast.Name):
            found.add(root(node.value))
    return found


class Flow(NamedTuple):
    """How names flow through a statement.

    ``binds``: those that it binds or fills, and if it fills a loop's variable, those that the loop goes through; ``sets``:
    of these, those that it sets anew; ``takes``: those that it reads from earlier statements; ``later``: those that a
    function in it reads when it is called.
    """

    binds: set[str]
    sets: set[str]
    takes: set[str]
    later: set[str]


@functools.cache
def flow(statement: ast.stmt) -> Flow:
    top = symtable.symtable(ast.unparse(statement), "<cell>", "exec")
    binds = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported() or s.is_namespace()}
    takes, later = {s.get_name() for s in top.get_symbols() if s.is_referenced()}, set()
    scopes = [(scope, False) for scope in top.get_children()]
    while scopes:
        scope, waits = scopes.pop()
        waits = waits or scope.get_name() not in ("listcomp", "setcomp", "dictcomp", "genexpr")
        scopes += [(inner, waits) for inner in scope.get_children()]
        found = {s.get_name() for s in scope.get_symbols() if s.is_referenced() and s.is_global()}
        takes |= found
        later |= found if waits else set()
    fills, sets = filled(statement), set()
    if isinstance(statement, ast.Assign):
        sets = set().union(*map(names_set_in, statement.targets))
    elif isinstance(statement, ast.AugAssign):
        takes |= names_set_in(statement.target)
    elif isinstance(statement, ast.Import | ast.ImportFrom | ast.FunctionDef):
        sets = binds
    elif isinstance(statement, ast.For):
        head, sets = flow(ast.Expr(statement.iter)).takes, names_set_in(statement.target)
        if sets & fills:
            fills |= head
        known, takes = set(sets), set(head)
        for one in map(flow, statement.body + statement.orelse):
            takes |= one.takes - known
            known |= one.sets
    return Flow(binds | fills, sets, takes, later)


def gives(statement: ast.stmt, claim: str) -> bool:
    """Whether it is ``verdict("<claim>", ...)``."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    named = isinstance(call, ast.Call) and root(call) == "verdict" and call.args and isinstance(call.args[0], ast.Constant)
    return named and call.args[0].value == claim


@functools.cache
def cells_of(chapter: str) -> list[tuple[list[ast.stmt], set[str]]]:
    """Each cell's statements, and the claims that it gave a verdict on when it was executed."""
    assert (BOOK / f"{chapter}.ipynb").is_file(), f"there is no book/{chapter}.ipynb"
    return [
        (
            ast.parse(re.sub(r"^\s*[%!].*$", "pass", cell.source, flags=re.M)).body,
            {out["data"][MIME]["claim"] for out in cell.outputs if MIME in out.get("data", {})},
        )
        for cell in nbformat.read(BOOK / f"{chapter}.ipynb", as_version=4).cells
        if cell.cell_type == "code" and "pip install" not in cell.source
    ]


def statements_behind(chapter: str, claim: str) -> list[ast.stmt]:
    """What the verdict on ``claim`` needs, in order: itself and, before it, what it reads from.

    Where a cell builds its claims' names, for families of parts, all of the cell is needed.
    """
    earlier: list[ast.stmt] = []
    for body, claims in cells_of(chapter):
        if claim in claims:
            goal = next(([statement] for statement in body if gives(statement, claim)), body)
            return needed_by(goal, earlier + body[: body.index(goal[-1]) + 1])
        earlier = earlier + body
    raise AssertionError(f"{chapter} has no cell with a verdict on {claim}")


def needed_by(goal: list[ast.stmt], statements: list[ast.stmt]) -> list[ast.stmt]:
    """Those of the statements that are the goal or that it reads from, directly or through others."""
    flows = [flow(statement) for statement in statements]
    # a loop does not change modules and functions that it goes through: zip, np
    lasting = set(dir(builtins)).union(
        *(one.sets for one, s in zip(flows, statements) if isinstance(s, ast.Import | ast.ImportFrom))
    )
    later: set[str] = set()  # names that chosen functions read when they are called: all that binds them is needed
    while True:
        found, needed = [], set(later)
        for statement, one in zip(reversed(statements), reversed(flows)):
            binds = one.binds - lasting if isinstance(statement, ast.For) else one.binds
            if statement in goal or binds & needed:
                found.insert(0, (statement, one))
                needed = needed - (one.sets - later) | one.takes
        calls = set().union(*(one.later for _, one in found))
        if calls <= later:
            return [statement for statement, _ in found]
        later |= calls


@contextlib.contextmanager
def fresh_package(*first: str) -> Iterator[None]:
    """Import the packages afresh, from the folders ``first`` if any; what was imported before returns at the end."""
    ours = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] in PACKAGES}
    sys.path[:0] = first
    importlib.invalidate_caches()
    finders = list(sys.meta_path)
    # the tests' type hook would remember these classes by their names, and take the right library's for wrong ones
    sys.meta_path[:] = [finder for finder in finders if not type(finder).__module__.startswith("jaxtyping")]
    try:
        with importlib.import_module("theorybook.validation").unchecked():  # beartype takes classes of equal name for one
            yield
    finally:
        sys.meta_path[:] = finders
        for folder in first:
            sys.path.remove(folder)
        for name in [name for name in sys.modules if name.split(".")[0] in PACKAGES]:
            del sys.modules[name]
        sys.modules.update(ours)


def places_of(code: str, text: str) -> Iterator[re.Match[str]]:
    """Where a piece of code stands in a file, however its lines are broken."""
    pattern = ""
    for before, token in itertools.pairwise(["", *re.findall(r"\w+|[^\w\s]", code)]):
        between = r"\s+" if re.match(r"\w", before) and re.match(r"\w", token) else r"\s*"
        closes = before not in ("", ",", "(", "[", "{") and token in ")]}"
        pattern += (between if before else "") + (r",?\s*" if closes else "") + re.escape(token)
    return re.finditer(pattern, text)


@contextlib.contextmanager
def mutated_library(folder: Path, module: str, old: str, new: str) -> Iterator[None]:
    """Import the packages from a copy in which ``old`` stands as ``new`` in one module; the right ones return at the end."""
    shutil.copytree(ROOT / "lib", folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    path = path_of(module, folder)
    text = path.read_text(encoding="utf-8")
    places = list(places_of(old, text))
    assert len(places) == 1, f"{module} has {len(places)} places {old!r}, not one"
    (place,) = places
    path.write_text(text[: place.start()] + new.strip() + text[place.end() :], encoding="utf-8")
    with fresh_package(str(folder)):
        yield


@contextlib.contextmanager
def numbers_compared() -> Iterator[list[str]]:
    """What the checks of the package as imported get to compare, to nine digits of each array's largest number."""
    checks, found = importlib.import_module("theorybook.checks"), []
    array, interval, proved = checks._array, checks._interval, checks.proved

    def note(values: object) -> None:
        values = np.asarray(values)
        if values.dtype.kind in "fc" and values.size:
            finite = np.abs(values[np.isfinite(values)])
            size = math.floor(math.log10(finite.max())) if finite.size and finite.max() else 0
            values = np.round(values / 10.0**size, 9) + 0.0
            found.append(f"e{size}")
        found.append(str(values.tolist()))

    def noted_array(what: str, values: object) -> np.ndarray:
        result = array(what, values)
        note(result)
        return result

    def noted_interval(method: str, what: str, estimate: tuple, relation: str, predicted: float, digits: int) -> object:
        note([*estimate, predicted])
        return interval(method, what, estimate, relation, predicted, digits)

    def noted_proofs(what: str, *proofs: object) -> object:
        found.extend(map(str, proofs))
        return proved(what, *proofs)

    checks._array, checks._interval = noted_array, noted_interval
    places = [module for name, module in sys.modules.items() if name.split(".")[0] in PACKAGES and hasattr(module, "proved")]
    try:
        for module in places:
            module.proved = noted_proofs
        yield found
    finally:
        checks._array, checks._interval = array, interval
        for module in places:
            module.proved = proved


ledger = functools.cache(load_ledger)


def chapter_of(claim: str) -> str:
    """The notebook with the claim's verdict: the record of the chapter that its row names."""
    return record_of(ledger(BOOK / "ledger" / f"{claim.split('/')[0]}.yml")[claim].chapter, BOOK)


def verdict_of(claim: str, source: str | None = None) -> str:
    """``holds`` if this verdict stands with the package as imported, else the claim that fails there.

    ``source`` is run in place of what the verdict needs of its record.
    """
    chapter = chapter_of(claim)
    statements = source or ast.Module(statements_behind(chapter, claim), [])
    here, namespace = Path.cwd(), {"__name__": "__chapter__"}
    os.chdir((BOOK / chapter).parent)
    show, plt.show = plt.show, lambda: plt.close("all")
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(statements, f"<{chapter}>", "exec"), namespace)
    except (AssertionError, ArithmeticError) as error:  # of the mutated package: other classes than ours
        if type(error).__name__ == "NotProved":  # a proof that the verdict states
            return claim
        if type(error).__name__ != "VerdictError":
            raise
        return str(error).split(":")[0]
    finally:
        os.chdir(here)
        plt.show = show
        plt.close("all")
    return "holds"
