"""A chapter's cells in this process: what they print and show, in the form in which the notebook stores it."""

import os
from contextlib import contextmanager
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display
from IPython.utils.capture import capture_output


def cells(path: Path):
    """The code cells of a notebook, without the one that installs the library on Colab."""
    found = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    return [cell for cell in found if "pip install" not in cell.source]


def stored(cell):
    """What a cell printed, and the texts and tables that it showed."""
    shown = [out.data for out in cell.outputs if out.output_type in ("display_data", "execute_result")]
    return "".join(out.text for out in cell.outputs if out.output_type == "stream"), texts(shown)


def texts(shown):
    """What nbval compares of what was shown: no pictures."""
    pictures = [any(kind.startswith("image/") for kind in data) for data in shown]
    return [{k: text for k, text in data.items() if k.startswith("text/")} for data, p in zip(shown, pictures) if not p]


@contextmanager
def shell(folder: Path):
    """An IPython of its own in a chapter's folder: a function that runs a cell's source and says what came out."""
    InteractiveShell.clear_instance()
    ipython, before = InteractiveShell.instance(), Path.cwd()
    ipython.display_trap.hook = lambda value: None if value is None else display(value)
    plt.switch_backend("agg")

    def run(source: str):
        with capture_output() as captured:
            result = ipython.run_cell(source, store_history=False)
        result.raise_error()
        return captured.stdout, texts([out.data for out in captured.outputs])

    os.chdir(folder)
    try:
        yield run
    finally:
        os.chdir(before)
        plt.close("all")
        InteractiveShell.clear_instance()
