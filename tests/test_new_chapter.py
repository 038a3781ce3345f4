"""``make chapter`` writes a chapter and its record, which pass every form test."""

import contextlib
import inspect
import shutil

import lint
import new_chapter
import pytest
import test_letters
import test_notebooks
from conftest import BOOK, ROOT
from theorybook.tools import execute


@pytest.fixture
def root(tmp_path):
    (tmp_path / "book" / "separation").mkdir(parents=True)
    shutil.copytree(BOOK / "ledger", tmp_path / "book" / "ledger", ignore=shutil.ignore_patterns("*.ipynb", "*.md"))
    shutil.copytree(ROOT / "lib", tmp_path / "lib")
    for name in ("_toc.yml", "_config.yml", "book/notation.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_a_new_chapter_passes_every_form_test(root, monkeypatch):
    monkeypatch.delenv("MPLBACKEND", raising=False)
    sources = new_chapter.begin("separation/a-toy-chapter", root)
    assert [execute.execute(source) for source in sources] == ["", ""] and lint.lint(list(sources), fix=False) == []
    notebooks = [source.with_suffix(".ipynb") for source in sources]
    monkeypatch.setattr(test_notebooks, "BOOK", root / "book")
    monkeypatch.setattr(test_notebooks, "ROOT", root)
    monkeypatch.setattr(test_notebooks, "NOTEBOOKS", notebooks)
    ran = 0
    for name, test in vars(test_notebooks).items():
        if name.startswith("test_") and list(inspect.signature(test).parameters) == ["path"]:
            for notebook in notebooks:
                with contextlib.suppress(pytest.skip.Exception):
                    test(notebook)
                    ran += 1
    assert ran >= 40
    monkeypatch.setattr(test_letters, "ROOT", root)
    for name, test in vars(test_letters).items():
        if name.startswith("test_") and list(inspect.signature(test).parameters) == ["page"]:
            test("separation/a-toy-chapter")
            ran += 1
    assert ran >= 42


@pytest.mark.parametrize("name", ["separation", "separation/Bad Name", "nowhere/page", "../x", "separation/a-b"])
def test_other_names_are_refused(root, name):
    (root / "book" / "separation" / "a-b.md").touch()
    with pytest.raises(ValueError, match=r"not allowed|no part|already"):
        new_chapter.begin(name, root)


def test_a_line_left_in_the_contents_is_used_again(root):
    for source in new_chapter.begin("separation/a-b", root):
        source.unlink()
    written = [root / "_toc.yml", root / "book" / "notation.md"]
    before, letters = (path.read_text() for path in written)
    new_chapter.begin("separation/a-b", root)
    assert [path.read_text() for path in written] == [before, letters] and letters.count("(separation-a-b-letters)=") == 1
    assert [before.count(f"separation/{name}.ipynb") for name in ("a-b", "record/a-b")] == [1, 1]
