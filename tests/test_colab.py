"""What a reader does on Colab: a chapter alone in an empty folder, run, restarted, run again (``make colab``: of each part)."""

import shutil

import colab
import nbformat
import pytest
from conftest import ROOT, commit

#: Takes the library from the folder that pip installs into alone, as where nothing of the book is installed.
ELSEWHERE = """import os, pathlib, sys
sys.path[:] = [p for p in sys.path if p == os.environ["PIP_TARGET"] or not pathlib.Path(p, "attention_theory").exists()]
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in getattr(finder, "__module__", "")]
"""


@pytest.fixture
def clone(tmp_path):
    """A repository with what a chapter needs, as it stands here."""
    folder = tmp_path / "repository"
    for name in ("lib", "book/ledger", "book/data"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build"))
    commit(folder)
    return folder.as_uri()


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """Kernels that find no library until the first cell has installed it, which it does without a network."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(ELSEWHERE)
    for name, value in {"TARGET": str(tmp_path / "site"), "NO_DEPS": "1", "NO_BUILD_ISOLATION": "0", "NO_INDEX": "1"}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))


@pytest.mark.usefixtures("bare")
def test_records_and_ledger_are_found_after_a_restart_too(clone, tmp_path):
    name = "patches/record/gaussian-patches"
    cells = nbformat.read(ROOT / "book" / f"{name}.ipynb", as_version=4).cells
    first = next(i for i, cell in enumerate(cells) if "verdict(" in cell.source)  # it judges a recorded run
    assert colab.run(name, tmp_path / "empty", clone, "python3", cells=first + 1) == []
