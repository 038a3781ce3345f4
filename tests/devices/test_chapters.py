"""Chapters compute on the pretended device (see pretended.py) and print and show what their notebooks store.

A chapter's ``best_device()`` is the pretended one. Its draws, exact counts and formulas of numbers stay on the CPU.
"""

import os
import re

import attention_theory.device
import pretended
import pytest
from chapters import cells, shell, stored
from pretended import DEVICE, Elsewhere

CHAPTERS = {  # with half of the operations that ran there when this was written: fewer say that its data stayed behind
    "sensitivity/record/random-features": 9_000,
    "separation/record/exact-probability": 25_000,
    "tangent/record/network-and-kernel": 9_000,
    "patches/record/learning-from-samples": 12_000,
    "exponential/record/one-knob": 500,
}
#: Chapters that take more than 15 seconds there: with ``DEVICES=all`` alone, which ``make devices`` sets.
LONGER = {
    "sensitivity/record/attention-is-sensitive": 50_000,
    "sensitivity/record/new-label": 200_000,
    "sensitivity/record/paper-sizes": 85_000,
    "sensitivity/record/depth": 38_000,
    "tangent/record/closed-form": 220_000,
    "tangent/record/kernel-barely-moves": 99_000,
    "tangent/record/kernel-regression": 620_000,
    "patches/record/transfer": 320_000,
    "exponential/record/together": 220_000,
    "exponential/record/words": 270_000,
    "tangent/record/score": 90_000,
}


@pytest.fixture(autouse=True)
def there(monkeypatch):
    monkeypatch.setattr(attention_theory.device, "best_device", lambda: DEVICE)


def disagreement(path, change=str, only=None):
    """What the first cell says that fails, or that prints or shows something else than is stored; none if all agree."""
    with shell(path.parent) as run:
        for i, cell in enumerate(cells(path)):
            if only is not None and i not in only:
                continue
            try:
                found = run(change(cell.source))
            except Exception as error:  # whatever a cell may raise
                return f"cell {i}: {type(error).__name__}: {error}"
            if "nbval-ignore-output" not in cell.metadata.get("tags", []) and found != stored(cell):
                return f"cell {i} gives\n{found}\nstored is\n{stored(cell)}"
    return None


with_all = pytest.mark.skipif(os.environ.get("DEVICES") != "all", reason="takes long: run with DEVICES=all (make devices)")


@pytest.mark.parametrize("chapter", [*CHAPTERS, *(pytest.param(chapter, marks=with_all) for chapter in LONGER)])
def test_the_same_digits_elsewhere(chapter, book):
    before = Elsewhere.operations
    assert disagreement(book / f"{chapter}.ipynb") is None
    assert Elsewhere.operations - before >= (CHAPTERS | LONGER)[chapter]


def test_what_is_left_behind_is_noticed(book):
    moved = "generator(1)).to(device)"
    forgetful = lambda source: source.replace(moved, "generator(1))")
    path = book / "exponential/record/one-knob.ipynb"
    families = (0, next(i for i, cell in enumerate(cells(path)) if moved in cell.source))
    assert disagreement(path, only=families) is None
    assert "expected all tensors to be on the same device" in disagreement(path, forgetful, families)


def test_another_digit_is_noticed(book, monkeypatch):
    def rough(func, args, kwargs, right=pretended.compute):
        out = right(func, args, kwargs)
        return Elsewhere(out.inner * 1.1) if func._schema.name == "aten::mm" else out

    path, kernels = book / "tangent/network-and-kernel.ipynb", (0, 1, 2)
    assert disagreement(path, only=kernels) is None
    monkeypatch.setattr(pretended, "compute", rough)
    assert re.match(r"cell [12] gives\n", disagreement(path, only=kernels))
