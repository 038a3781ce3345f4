"""JupyterLab for the book (``make lab``): chapters open as notebooks, and saving writes their
``.md`` too.

Saving a chapter that was not changed changes no file: the notebook keeps the metadata that the book
stores, and the source is written only when a cell differs, in the form that it has.
"""

from pathlib import Path

import jupytext
import jupytext.myst
import nbformat


class _Dumper(jupytext.myst.CompactDumper):
    """Long lines stay lines, and text of several lines stands as it is."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options | {"width": 10**6})


_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
    ),
)


def source(notebook: nbformat.NotebookNode, header: str) -> str:
    """The MyST source of a notebook, below the header that its file has."""
    dumper = jupytext.myst.CompactDumper
    jupytext.myst.CompactDumper = _Dumper
    try:
        text = jupytext.writes(notebook, fmt="md:myst")
    finally:
        jupytext.myst.CompactDumper = dumper
    return header + text.split("\n---\n", 1)[1]


def cells(notebook: nbformat.NotebookNode) -> list:
    """What a source says: kind, text and metadata of the cells."""
    return [(cell.cell_type, cell.source, dict(cell.metadata)) for cell in notebook.cells]


def before_saving(model, **_) -> None:
    """The notebook as ``theorybook.tools.execute`` stores it: nothing in it names the machine or
    the time.
    """
    if model["type"] != "notebook" or model["content"]["nbformat"] != 4:
        return
    notebook = model["content"]
    notebook["metadata"]["language_info"] = {"name": "python"}
    notebook["metadata"]["kernelspec"] = {
        "display_name": "Python 3",
        "language": "python",
        "name": "python3",
    }
    for cell in notebook["cells"]:
        for key in ("execution", "trusted", "collapsed", "jupyter"):
            cell["metadata"].pop(key, None)


def after_saving(model, os_path: str, **_) -> None:
    """Write the ``.md`` beside a saved notebook, if there is one and a cell differs."""
    path = Path(os_path).with_suffix(".md")
    if model["type"] != "notebook" or not path.is_file():
        return
    notebook, old = nbformat.read(os_path, as_version=4), path.read_text(encoding="utf-8")
    if cells(notebook) != cells(jupytext.reads(old, fmt="md:myst")):
        path.write_text(source(notebook, old[: old.index("\n---\n") + 5]), encoding="utf-8")


def configure(c) -> None:
    """Settings of the server."""
    # jupytext's extension, by the name that it registers: its own way of writing the source would
    # rewrite every file
    c.ServerApp.jpserver_extensions = {"jupyterlab_jupytext": False}
    c.ServerApp.contents_manager_class = (
        "jupyter_server.services.contents.largefilemanager.AsyncLargeFileManager"
    )
    c.FileContentsManager.pre_save_hook = before_saving
    c.FileContentsManager.post_save_hook = after_saving
    c.ContentsManager.allow_hidden = False
    c.LabApp.news_url = None  # and the version is pinned: nothing is asked for outside
    c.LabApp.check_for_updates_class = "jupyterlab.NeverCheckForUpdate"


if "get_config" in globals():  # read by Jupyter, not by a test
    configure(get_config())  # noqa: F821  # type: ignore[name-defined]
