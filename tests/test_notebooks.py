"""The form of every notebook, which nbval does not look at."""

import re

import jupytext
import nbformat
import pytest
import yaml
from conftest import BOOK, ROOT

NOTEBOOKS = sorted(path for path in BOOK.rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text())
# The records and the ledger come with the clone, so that a notebook opened alone has them too.
INSTALL = f"""try:
    import attention_theory
except ImportError:
    !git clone -q --depth 1 {CONFIG["repository"]["url"]} attention-theory
    %pip install -q ./attention-theory/lib
    %cd -q attention-theory/book/ledger"""

pytestmark = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.relative_to(BOOK).as_posix())


def code_cells(path):
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def tags(cell):
    return cell.metadata.get("tags", [])


def types(cell):
    return {mime for output in cell.outputs for mime in output.get("data", {})} | {o.name for o in cell.outputs if "name" in o}


def test_source_and_notebook_agree(path):
    source = jupytext.read(path.with_suffix(".md"))
    notebook = nbformat.read(path, as_version=4)
    content = [[(cell.cell_type, cell.source, tags(cell)) for cell in nb.cells] for nb in (source, notebook)]
    assert content[0] == content[1], "run tools/execute.py on it"


def test_every_cell_was_executed_in_order_without_error(path):
    cells = code_cells(path)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert not [output for cell in cells for output in cell.outputs if output.output_type == "error"]
    assert not [output.text for cell in cells for output in cell.outputs if output.get("name") == "stderr"]


def test_every_figure_is_described_and_followed_by_its_numbers(path):
    cells = code_cells(path)
    for cell, following in zip(cells, [*cells[1:], None]):
        if types(cell) & {"image/png", "image/jpeg", "image/svg+xml"}:
            assert "nbval-ignore-output" in tags(cell)
            assert cell.metadata.get("mystnb", {}).get("image", {}).get("alt"), "a figure needs an alt text"
            assert cell.metadata["mystnb"].get("figure", {}).get("caption"), "a figure needs a caption"
            assert following is not None, "a figure needs a table of its numbers after it"
            assert "nbval-ignore-output" not in tags(following)
            assert "text/html" in types(following), "the cell after a figure shows its numbers"


def test_what_is_not_compared_decides_nothing(path):
    for cell in code_cells(path):
        if {"nbval-ignore-output", "nbval-skip"} & set(tags(cell)):
            assert "verdict(" not in cell.source and "raises-exception" not in tags(cell)


def test_no_checked_cell_reads_the_clock(path):
    for cell in code_cells(path):
        if "nbval-ignore-output" not in tags(cell):
            assert not re.search(r"perf_counter|\btime\.|timeit|%%?time|datetime", cell.source), cell.source


def test_one_hidden_install_cell(path):
    first, *others = code_cells(path)
    assert first.source == INSTALL and tags(first) == ["remove-cell"]
    assert not any("pip install" in cell.source for cell in others)


def test_no_path_of_a_machine(path):
    for text in (path.read_text(encoding="utf-8"), path.with_suffix(".md").read_text(encoding="utf-8")):
        assert not re.search(r"(?<![\w.:/])/(home|root|work|tmp|usr|opt|Users)/|[A-Z]:\\\\", text)


def test_it_is_in_the_table_of_contents(path):
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    files = [chapter["file"] for part in toc["parts"] for chapter in part["chapters"]]
    assert path.relative_to(ROOT).as_posix() in files
