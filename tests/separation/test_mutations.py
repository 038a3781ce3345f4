"""The chapters' verdicts fail when the library is wrong: their own cells, run against a mutated library."""

import jupytext
import matplotlib.pyplot as plt
import pytest
import torch
from conftest import BOOK

from attention_theory import attention, evidence, separation
from attention_theory.separation import data, network, regression

FOLDER = BOOK / "separation"


class Done(Exception):
    """All expected verdicts have failed."""


def failing_verdicts(chapter, expected, monkeypatch):
    """The claims whose verdicts raise when the chapter's cells run, up to its sampling; stops when ``expected`` are among them."""
    failed = set()
    verdict = evidence.verdict

    def record(claim, **checks):
        try:
            verdict(claim, **checks)
        except evidence.VerdictError:
            failed.add(claim.removeprefix("deng2023/"))
            if expected <= failed:
                raise Done from None

    monkeypatch.setattr(evidence, "verdict", record)
    monkeypatch.chdir(FOLDER)
    monkeypatch.setattr(plt, "show", lambda: plt.close("all"))
    names = {}
    try:
        for cell in jupytext.read(FOLDER / f"{chapter}.md").cells:
            if "sampled_rates" in cell.source or "trials = " in cell.source:
                break
            if cell.cell_type == "code" and "remove-cell" not in cell.metadata.get("tags", []):
                try:
                    exec(cell.source, names)
                except (ValueError, StopIteration):
                    pass  # with a wrong library a search can come out empty: no verdict
    except Done:
        pass
    return failed


def softmax_becomes_linear(monkeypatch):
    original = attention.attention_weights
    for module in (attention, network, regression):
        monkeypatch.setattr(module, "attention_weights", lambda scores, kind="softmax": original(scores, "linear"))


def tau_grows_by_one_percent(monkeypatch):
    tau = data.threshold
    for module in (data, separation):
        monkeypatch.setattr(module, "threshold", lambda model, scale, c=None: tau(model, scale, c) * type(scale)("1.01"))
    plus_signs = regression._plus_signs
    monkeypatch.setattr(regression, "_plus_signs", lambda levels, tau, n, high: plus_signs(levels, 1.01 * tau, n, high))


@pytest.mark.parametrize(
    ("chapter", "expected"),
    [
        ("01-threshold", {"definition-3.3", "definition-3.5", "lemma-4.2-2"}),
        ("02-self-attention-ones", {"definition-c.4", "lemma-d.2-3a", "lemma-d.3-1"}),
        ("03-self-attention-identity", {"lemma-e.1-3a", "lemma-e.2-1"}),
        ("04-cross-attention", {"lemma-f.2-3a", "lemma-f.3-1"}),
        ("05-exact-probability", {"own-exact-probability"}),
    ],
)
def test_linear_weights_in_place_of_softmax(chapter, expected, monkeypatch):
    softmax_becomes_linear(monkeypatch)
    assert expected <= failing_verdicts(chapter, expected, monkeypatch)


@pytest.mark.parametrize(
    ("chapter", "expected"),
    [
        ("01-threshold", {"definition-3.5"}),
        ("02-self-attention-ones", {"lemma-d.4-1"}),
        ("03-self-attention-identity", {"theorem-e.4"}),
        ("05-exact-probability", {"own-exact-probability"}),
    ],
)
def test_a_threshold_that_is_off_by_one_percent(chapter, expected, monkeypatch):
    tau_grows_by_one_percent(monkeypatch)
    assert expected <= failing_verdicts(chapter, expected, monkeypatch)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda features, y, tau: torch.relu(features @ y).sum().item(),  # no shift
        lambda features, y, tau: (torch.relu(features @ y) - tau).sum().item(),  # shifted after the ReLU
        lambda features, y, tau: torch.relu(features @ y + tau).sum().item(),  # shifted to the wrong side
        lambda features, y, tau: torch.nn.functional.leaky_relu(features @ y - tau).sum().item(),
    ],
)
def test_a_wrong_shifted_relu(wrong, monkeypatch):
    monkeypatch.setattr(separation, "readout", wrong)
    assert failing_verdicts("01-threshold", {"definition-3.4"}, monkeypatch) >= {"definition-3.4"}


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        # the signs added up before the ReLU: n nodes in place of n m
        ("readout", lambda features, y, tau: torch.relu(features @ y.sum(1) - tau).sum().item()),
        # normalised over the queries: a query reaches the blocks of all tokens
        ("attention_features", lambda A1, A2, A3, QK, kind: torch.softmax(A1 @ QK @ A2.T, dim=0) @ A3),
    ],
)
def test_a_wrong_network_in_figure_2(name, wrong, monkeypatch):
    monkeypatch.setattr(separation, name, wrong)
    assert failing_verdicts("02-self-attention-ones", {"figure-2"}, monkeypatch) >= {"figure-2"}
