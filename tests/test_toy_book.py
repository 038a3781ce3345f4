"""A foreign book with the toolkit alone: executed, compared, built; a wrong statement stops it."""

import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT
from theorybook.tools.execute import execute

CLAIMS = ("lemma-1", "lemma-2", "lemma-3", "theorem-4")


@pytest.fixture
def toy(tmp_path):
    shutil.copytree(ROOT / "examples" / "toy-book", tmp_path / "toy", ignore=shutil.ignore_patterns("_build", "__pycache__"))
    return tmp_path / "toy"


def test_the_toy_book_compares_and_builds_with_cards_and_rows(toy):
    nbval = ["pytest", "-q", "-p", "no:cacheprovider", "--nbval", "--nbval-current-env", "book"]
    output = {"cwd": toy, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    runs = [subprocess.Popen([sys.executable, "-m", *command], **output) for command in (nbval, ["theorybook.tools.build"])]
    for run in runs:  # side by side, since each has ends in which a core waits
        said, _ = run.communicate(timeout=300)
        assert run.returncode == 0, said
    chapter, ledger, errata = (
        (toy / "_build" / "html" / "book" / f"{page}.html").read_text() for page in ("sums", "ledger/ledger", "ledger/errata")
    )
    cards = re.findall(r'class="verdict shown verdict-([\w-]+)" id="verdict-doe2026-([\w-]+)"', chapter)
    assert cards == list(zip(("holds", "holds", "corrected", "holds"), CLAIMS))
    assert re.findall(r'class="ledger-row" id="doe2026-([\w-]+)"', ledger) == list(CLAIMS)
    assert re.findall(r'id="erratum-([\w-]+)"', errata) == ["doe2026-lemma-3"]
    assert (toy / "_build" / "html" / "_static" / "book.css").is_file() and "_static/book.js" in chapter


def test_a_wrong_formula_stops_the_toy_book_and_is_named(toy):
    formulas = toy / "book" / "means.py"
    formulas.write_text(formulas.read_text().replace("(2 * n + 1) / 6", "(2 * n + 1) / 5"))
    assert "doe2026/lemma-2: the ledger declares 'holds', the checks give 'false'" in execute(toy / "book" / "sums.md")


def test_the_toolkit_knows_no_attention():
    words = re.compile(r"attention|bombari|deng\d|cao2024|jelassi", re.IGNORECASE)
    files = [path for path in (ROOT / "lib" / "theorybook").rglob("*") if path.suffix in (".py", ".html", ".css", ".js")]
    found = [
        f"{path.relative_to(ROOT)}: {line}" for path in files for line in path.read_text().splitlines() if words.search(line)
    ]
    assert not found
