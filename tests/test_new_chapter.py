"""``make chapter`` writes a page that passes every form test."""

import inspect
import shutil

import lint
import new_chapter
import pytest
import test_notebooks
from conftest import BOOK, ROOT
from theorybook.tools import execute


@pytest.fixture
def root(tmp_path):
    (tmp_path / "book" / "separation").mkdir(parents=True)
    shutil.copytree(BOOK / "ledger", tmp_path / "book" / "ledger", ignore=shutil.ignore_patterns("*.ipynb", "*.md"))
    shutil.copytree(ROOT / "lib", tmp_path / "lib")
    for name in ("_toc.yml", "_config.yml"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def test_a_new_chapter_passes_every_form_test(root, monkeypatch):
    monkeypatch.delenv("MPLBACKEND", raising=False)
    page = new_chapter.begin("separation/a-toy-chapter", root)
    assert execute.execute(page) == "" and lint.lint([page], fix=False) == []
    monkeypatch.setattr(test_notebooks, "BOOK", root / "book")
    monkeypatch.setattr(test_notebooks, "ROOT", root)
    monkeypatch.setattr(test_notebooks, "NOTEBOOKS", [page.with_suffix(".ipynb")])
    ran = 0
    for name, test in vars(test_notebooks).items():
        if name.startswith("test_") and list(inspect.signature(test).parameters) == ["path"]:
            test(page.with_suffix(".ipynb"))
            ran += 1
    assert ran >= 12


@pytest.mark.parametrize("name", ["separation", "separation/Bad Name", "nowhere/page", "../x", "separation/a-b"])
def test_other_names_are_refused(root, name):
    (root / "book" / "separation" / "a-b.md").touch()
    with pytest.raises(ValueError, match=r"not allowed|no part|already"):
        new_chapter.begin(name, root)


def test_a_line_left_in_the_contents_is_used_again(root):
    new_chapter.begin("separation/a-b", root).unlink()
    before = (root / "_toc.yml").read_text()
    new_chapter.begin("separation/a-b", root)
    assert (root / "_toc.yml").read_text() == before and before.count("separation/a-b.ipynb") == 1
