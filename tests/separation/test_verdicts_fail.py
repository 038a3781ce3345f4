"""A wrong library makes the chapters' verdicts fail: their cells are run here until one does."""

import re

import jupytext
import matplotlib
import pytest
from attention_theory import separation
from attention_theory.evidence import VerdictError
from attention_theory.separation import data, exact, network
from conftest import BOOK


def run_until_a_verdict_fails(chapter, monkeypatch):
    matplotlib.use("Agg")
    monkeypatch.chdir(BOOK / "separation")
    space = {}
    for cell in jupytext.read(f"{chapter}.md").cells[1:]:
        if cell.cell_type == "code" and "%pip" not in cell.source and "remove-cell" not in cell.metadata.get("tags", []):
            try:
                exec(cell.source, space)
            except VerdictError as error:
                return str(error)
    return ""


def linear_for_softmax(monkeypatch):
    right = network.attention
    monkeypatch.setattr(network, "attention", lambda scores, values, kind="softmax": right(scores, values, "linear"))


def threshold_off_by_one_percent(monkeypatch):
    right = data.threshold
    for module in (data, separation):
        monkeypatch.setattr(module, "threshold", lambda *arguments: right(*arguments) * 101 / 100)


def a_sign_flipped(monkeypatch):
    right = exact.row_classes

    def wrong(model, weights, *arguments):
        # in one kind of network only: flipped in all four it is a change of names of the signs
        return [row._replace(first=-row.first if weights == "linear" else row.first) for row in right(model, weights, *arguments)]

    monkeypatch.setattr(exact, "row_classes", wrong)


def a_factor_dropped(monkeypatch):
    right = exact.row_classes
    without = lambda row: row._replace(best=row.best * 0)  # noqa: E731
    monkeypatch.setattr(exact, "row_classes", lambda *arguments: [without(row) for row in right(*arguments)])


@pytest.mark.parametrize(
    "chapter, mutation, claim",
    [
        ("04-cross-attention", linear_for_softmax, "deng2023/lemma-f.3-1"),
        ("04-cross-attention", threshold_off_by_one_percent, "deng2023/theorem-f.5"),
        ("05-exact-probability", linear_for_softmax, "deng2023/own-exact-probability"),
        ("05-exact-probability", threshold_off_by_one_percent, "deng2023/own-exact-probability"),
        ("05-exact-probability", a_sign_flipped, "deng2023/own-exact-probability"),
        ("05-exact-probability", a_factor_dropped, "deng2023/own-exact-probability"),
    ],
)
def test_a_wrong_library_fails(chapter, mutation, claim, monkeypatch, capsys):
    mutation(monkeypatch)
    assert re.match(re.escape(claim) + r"\b", run_until_a_verdict_fails(chapter, monkeypatch))
