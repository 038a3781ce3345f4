"""Verdicts of Part I fail when the library is wrong: the chapters' own cells, run against a mutated library."""

import jupytext
import pytest
import torch
from conftest import BOOK

from attention_theory import attention, evidence, sensitivity
from attention_theory.evidence import VerdictError

FOLDER = BOOK / "sensitivity"


def moved(X, i, delta):
    X = X.clone()
    X[i] += delta
    return X


def choice(monkeypatch):
    """The verdict on the choice between two moves in the proof of Lemma D.5, run at dimensions up to 60,000."""
    least = sensitivity.least_dimension
    monkeypatch.setattr(sensitivity, "least_dimension", lambda n: min(least(n), 60_000))
    monkeypatch.chdir(FOLDER)
    cells = [cell.source for cell in jupytext.read(FOLDER / "03-attention-is-sensitive.md").cells if cell.cell_type == "code"]
    names = {"moved": moved}
    for start in ("import math", "def proof(", "# rows that attend"):
        source = next(source for source in cells if start in source)
        exec(source[source.index(start) :], names)


def test_the_choice_between_two_moves(monkeypatch):
    choice(monkeypatch)


@pytest.mark.parametrize("wrong", ["linear", "uniform"])
def test_the_choice_needs_attention_that_concentrates(wrong, monkeypatch):
    weights = {
        "linear": lambda scores, kind="softmax": scores / scores.sum(dim=-1, keepdim=True),
        "uniform": lambda scores, kind="softmax": torch.full_like(scores, 1 / scores.shape[-1]),
    }
    monkeypatch.setattr(attention, "attention_weights", weights[wrong])
    with pytest.raises((VerdictError, ValueError)):
        choice(monkeypatch)


def test_the_choice_needs_moves_that_raise_the_scores(monkeypatch):
    pair = sensitivity.two_directions
    monkeypatch.setattr(sensitivity, "two_directions", lambda *arguments: [-delta for delta in pair(*arguments)])
    with pytest.raises((VerdictError, ValueError)):
        choice(monkeypatch)


def failing_on_record(break_record, monkeypatch):
    """The claims on Figure 4 whose verdicts fail when the record is changed."""
    monkeypatch.chdir(FOLDER)
    failed, verdict = set(), evidence.verdict

    def note(claim, **checks):
        try:
            verdict(claim, **checks)
        except VerdictError:
            failed.add(claim.removeprefix("bombari2024/"))

    monkeypatch.setattr(evidence, "verdict", note)
    cells = [cell.source for cell in jupytext.read(FOLDER / "04b-paper-sizes.md").cells if cell.cell_type == "code"]
    names = {}
    for start in ("import json", "record = {}", "def pick(", "SHAPES = {", "rf = pick(", "def answers_turned", "def share_below"):
        exec(next(source for source in cells if start in source), names)
        if start == "record = {}":
            break_record(names["record"])
    return failed


def test_the_verdicts_on_figure_4(monkeypatch):
    assert failing_on_record(lambda record: None, monkeypatch) == set()


def test_figure_4_with_the_two_attention_maps_exchanged(monkeypatch):
    def exchange(record):
        long = record["n"] == 120
        relu, softmax = long & (record["map"] == "ReLU-RAF"), long & (record["map"] == "RAF")
        record["map"][relu], record["map"][softmax] = "RAF", "ReLU-RAF"

    assert "figure-4-relu-raf" in failing_on_record(exchange, monkeypatch)


def test_figure_4_with_attention_that_cannot_turn_its_alignment(monkeypatch):
    def stiff(record):  # as random features: alignment 1, errors on the line
        softmax = record["map"] == "RAF"
        record["alignment"][softmax] = 1.0
        record["error"][softmax] = (2.01 - record["gamma"][softmax]).clip(min=0) ** 2 - 0.01

    assert {"figure-4-raf", "figure-4-relu-raf", "claim-6.2"} <= failing_on_record(stiff, monkeypatch)


def test_figure_4_with_the_alignment_of_random_features_off(monkeypatch):
    def off(record):
        rf = record["map"] == "RF"
        record["alignment"][rf] = 1 + 3 * (record["alignment"][rf] - 1)

    assert failing_on_record(off, monkeypatch) == {"figure-4-rf"}
