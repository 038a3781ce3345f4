"""Does a verdict bite? A chapter's own verdict cell, run against a library in which one thing is wrong.

A mutant is a replacement in the source of a library function. The package is copied, changed and imported afresh; then the
cell with the verdict runs, after just those earlier cells that it takes names from.
"""

import ast
import contextlib
import importlib
import io
import os
import re
import shutil
import symtable
import sys
from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
from attention_theory.evidence import MIME, load_ledger
from conftest import BOOK, ROOT

PACKAGE = "attention_theory"


def bound_and_used(source: str) -> tuple[set[str], set[str]]:
    """The names that a cell binds or fills, and those that it takes from earlier cells."""
    source = re.sub(r"^\s*[%!].*$", "pass", source, flags=re.M)
    tree = ast.parse(source)
    top = symtable.symtable(source, "<cell>", "exec")
    bound = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported() or s.is_namespace()}
    used, scopes = set(), [top]
    while scopes:
        scope = scopes.pop()
        scopes += scope.get_children()
        used |= {s.get_name() for s in scope.get_symbols() if s.is_referenced() and (scope is top or s.is_global())}
    filled = set()  # names that a cell fills: table["x"] = ..., rows.append(...)
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            filled.add(node.value.id)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            filled |= {node.func.value.id} if node.func.attr in ("append", "extend", "update") else set()
    return bound | (filled & used), used - bound


def cells_behind(chapter: str, claim: str) -> list[str]:
    """The sources that the verdict on ``claim`` needs, in order: the cell that names it and, before it, what it reads from."""
    assert (BOOK / f"{chapter}.ipynb").is_file(), f"there is no book/{chapter}.ipynb"
    found = [
        cell
        for cell in nbformat.read(BOOK / f"{chapter}.ipynb", as_version=4).cells
        if cell.cell_type == "code" and "pip install" not in cell.source
    ]
    cells = [cell.source for cell in found]
    # the stored outputs say which cell gave the verdict: families of parts build their claims' names
    shown = [{out["data"][MIME]["claim"] for out in cell.outputs if MIME in out.get("data", {})} for cell in found]
    target = next((i for i, claims in enumerate(shown) if claim in claims), None)
    assert target is not None, f"{chapter} has no cell with a verdict on {claim}"
    chosen, needed = [cells[target]], bound_and_used(cells[target])[1]
    for source in reversed(cells[:target]):
        bound, used = bound_and_used(source)
        if bound & needed:
            chosen.insert(0, source)
            needed |= used
    return chosen


@contextlib.contextmanager
def fresh_package(*first: str) -> Iterator[None]:
    """Import the package afresh, from the folders ``first`` if any; what was imported before returns at the end."""
    ours = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == PACKAGE}
    sys.path[:0] = first
    importlib.invalidate_caches()
    try:
        with importlib.import_module(f"{PACKAGE}.domain").unchecked():  # beartype takes classes of equal name for one
            yield
    finally:
        for folder in first:
            sys.path.remove(folder)
        for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
            del sys.modules[name]
        sys.modules.update(ours)


@contextlib.contextmanager
def mutated_library(folder: Path, module: str, old: str, new: str) -> Iterator[None]:
    """Import the package from a copy in which ``old`` stands as ``new`` in one module; the right one returns at the end."""
    copy = folder / PACKAGE
    shutil.copytree(ROOT / "lib" / PACKAGE, copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    path = copy / (module.replace(".", "/") + ".py")
    assert path.is_file(), f"there is no module {PACKAGE}.{module}"
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{module} has {text.count(old)} places {old!r}, not one"
    path.write_text(text.replace(old, new), encoding="utf-8")
    with fresh_package(str(folder)):
        yield


def chapter_of(claim: str) -> str:
    """The chapter that the claim's row names."""
    return load_ledger(BOOK / "ledger" / f"{claim.split('/')[0]}.yml")[claim].chapter


def verdict_of(claim: str) -> str:
    """``holds`` if the cell with this verdict runs through with the package as imported, else the claim that fails there."""
    chapter = chapter_of(claim)
    cells = cells_behind(chapter, claim)
    here, namespace = Path.cwd(), {"__name__": "__chapter__"}
    os.chdir((BOOK / chapter).parent)
    show, plt.show = plt.show, lambda: plt.close("all")
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            for source in cells:
                exec(compile(source, f"<{chapter}>", "exec"), namespace)
    except (AssertionError, ArithmeticError) as error:  # of the mutated package: other classes than ours
        if type(error).__name__ == "NotProved":  # a proof that the verdict states
            return claim
        if type(error).__name__ != "VerdictError":
            raise
        return str(error).split(":")[0]
    finally:
        os.chdir(here)
        plt.show = show
    return "holds"
