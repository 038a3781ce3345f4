"""The sources that JupyterLab writes, of every chapter; ``tests/pages/test_lab.py`` opens, runs and saves one in a browser."""

import difflib

import jupytext
import lab_config
import pytest
from conftest import BOOK

CHAPTERS = sorted(path for path in BOOK.rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.relative_to(BOOK).as_posix())
def test_the_source_is_written_as_it_stands(chapter):
    old = chapter.with_suffix(".md").read_text(encoding="utf-8")
    new = lab_config.source(jupytext.reads(old, fmt="md:myst"), old[: old.index("\n---\n") + 5])
    changed = [line for line in difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="") if line[0] in "+-"]
    assert len(changed) <= 6, changed  # hand-broken lines of a caption; written only when a cell has changed
