"""Saving in JupyterLab: an unchanged chapter changes no file, a changed one its cell and nothing else."""

import asyncio
import difflib
import shutil

import jupytext
import lab_config
import nbformat
import pytest
from conftest import BOOK, ROOT
from traitlets.config import Config

CHAPTERS = sorted(path for path in BOOK.rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.relative_to(BOOK).as_posix())
def test_the_source_is_written_as_it_stands(chapter):
    old = chapter.with_suffix(".md").read_text(encoding="utf-8")
    new = lab_config.source(jupytext.reads(old, fmt="md:myst"), old[: old.index("\n---\n") + 5])
    changed = [line for line in difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="") if line[0] in "+-"]
    assert len(changed) <= 6, changed  # hand-broken lines of a caption; written only when a cell has changed


def save(folder, name, change=lambda notebook: None):
    """Open and save a notebook through the server's own contents manager, configured as for ``make lab``."""
    pytest.importorskip("jupyter_server")
    from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

    config = Config()
    lab_config.configure(config)

    async def run():
        manager = AsyncLargeFileManager(config=config, root_dir=str(folder))
        model = await manager.get(name)
        notebook = nbformat.from_dict(model["content"])
        # what a frontend adds once a kernel has started
        notebook.metadata["language_info"] = {"name": "python", "version": "3.11.9", "codemirror_mode": {"name": "ipython"}}
        for cell in notebook.cells:
            cell.metadata["execution"] = {"iopub.status.busy": "now"}
        change(notebook)
        await manager.save({"type": "notebook", "format": "json", "content": notebook}, name)

    asyncio.run(run())


@pytest.fixture
def chapter(tmp_path):
    for suffix in (".md", ".ipynb"):
        shutil.copy((BOOK / "separation" / "threshold").with_suffix(suffix), tmp_path)
    return tmp_path / "threshold.ipynb"


def test_saving_an_unchanged_chapter_changes_no_file(chapter):
    before = [path.read_bytes() for path in (chapter, chapter.with_suffix(".md"))]
    save(chapter.parent, chapter.name)
    assert [path.read_bytes() for path in (chapter, chapter.with_suffix(".md"))] == before


def test_saving_a_changed_cell_changes_its_line(chapter):
    source = chapter.with_suffix(".md")

    def change(notebook):
        cell = next(
            cell for cell in notebook.cells if "n, delta = 500, 0.01" in cell.source or "figures.use_style()" in cell.source
        )
        cell.source += "\nchanged = True"

    old = source.read_text().splitlines()
    save(chapter.parent, chapter.name, change)
    new = source.read_text().splitlines()
    assert "changed = True" in new and len([line for line in difflib.ndiff(old, new) if line[0] in "+-"]) == 1


def test_make_lab_uses_this():
    assert "tools/lab_config.py" in (ROOT / "Makefile").read_text()
