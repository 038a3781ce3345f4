"""Rows against their crowd: the exact means against every row of small laws, and statistics against their definitions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from attention_checks.trained.runs import crowd as runs
from attention_checks.trained.runs.crowd import law, row_statistics
from attention_theory.trained import crowd
from attention_theory.trained.models import MiniLM


def laws():
    """Every law on two or three of the values 1, 2, 5, 40 with chances in quarters."""
    for size in (2, 3):
        for u in itertools.combinations((1, 2, 5, 40), size):
            for parts in itertools.product(range(1, 4), repeat=size):
                if sum(parts) == 4:
                    yield u, [Fraction(part, 4) for part in parts]


@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_means_are_those_over_every_row(n):
    for u, chances in laws():
        best, squares = crowd.enumerated_row(u, chances, n)
        found = crowd.expected_row(u, [float(chance) for chance in chances], n)
        assert math.isclose(found.best, best, rel_tol=1e-11) and math.isclose(found.squares, squares, rel_tol=1e-11)


def test_the_order_of_the_law_and_a_common_factor_do_not_matter():
    plain, turned = (crowd.expected_row(u, [0.5, 0.3, 0.2], 7) for u in ([1, 3, 9], [1e-6, 3e-6, 9e-6]))
    other = crowd.expected_row([9, 1, 3], [0.2, 0.5, 0.3], 7)
    assert np.allclose([plain.best, plain.squares], [turned.best, turned.squares], rtol=1e-10)
    assert np.allclose([plain.best, plain.squares], [other.best, other.squares], rtol=1e-12)


def test_without_independence_the_claim_fails():
    """Keys that are all equal within a row: each has the share 1/n, whatever the law."""
    assert crowd.expected_row([1, 9], [0.5, 0.5], 4).best > 0.4 > 1 / 4


def test_a_law_of_scores_gives_what_its_scores_give():
    scores = torch.randn(40_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = crowd.expected_row(*law(1.5 * scores), 64)
    rows = torch.softmax(1.5 * scores[: 64 * 625].view(625, 64), 1)
    error = float(rows.amax(1).std()) / 25
    assert abs(found.best - float(rows.amax(1).mean())) < 4 * error
    assert abs(found.best - crowd.gaussian_row(1.5, 64).best) < 0.005


def test_statistics_of_a_row_are_their_definitions():
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(2, 3, 5, generator=generator, dtype=torch.float64)
    mask = torch.tensor([[1, 1, 0, 0, 0], [1, 1, 1, 1, 0], [1, 1, 1, 1, 1]], dtype=torch.bool)
    found = row_statistics(scores, mask)
    for head, query in itertools.product(range(2), range(3)):
        row = scores[head, query][mask[query]]
        u = row.exp()
        share = float(u.max() / u.sum())
        rivals = (float(u.sum()) - float(u.max())) / (len(u) - 1)
        w = u / u.sum()
        expected = [
            share,
            math.log(float(u.max()) / rivals),
            float(row.std(unbiased=False)),
            float((-(w * w.log()).sum()).exp()),
        ]
        got = [float(part[head, query]) for part in (found.share, found.contrast, found.spread, found.rivals)]
        assert np.allclose(got, expected)
    g, n = found.contrast, mask.sum(1)
    assert torch.allclose(found.share, g.exp() / (g.exp() + n - 1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("gap", [12.0, 40.0])
def test_the_contrast_of_a_share_near_one_is_the_gap_of_the_scores(gap, dtype):
    scores = torch.tensor([[[gap, 0, 0, 0, 0]]], dtype=dtype)
    assert float(row_statistics(scores, torch.ones(1, 5, dtype=torch.bool)).contrast) == pytest.approx(gap, rel=1e-6)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: crowd.expected_row([1, 0], [0.5, 0.5], 3), "as many positive chances as positive values"),
        (lambda: crowd.expected_row([1, 2], [1.0], 3), "got 1 and 2"),
        (lambda: law(torch.zeros(100)), "100 scores cannot stand for"),
        (lambda: row_statistics(torch.zeros(1, 1, 2), torch.tensor([[True, False]])), "fewer than two allowed keys"),
    ],
)
def test_what_has_no_meaning_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_what_a_run_keeps_of_each_head(monkeypatch):
    """Scores that are all 0 expect the best share 1/n: the statistics of the rows are set to multiples of it."""
    lengths = (16, 128, 510)

    def rows(network, text, lengths):
        for n in lengths:
            yield torch.tensor([[3 / n, 2 * math.log(n), 0.0, n, 6 / n, 0.0]]), torch.zeros(1, 600)

    monkeypatch.setattr(runs, "LENGTHS", {"MiniLM": lengths})
    monkeypatch.setattr(runs, "minilm", lambda: MiniLM({}, None))
    monkeypatch.setattr(runs, "_minilm_rows", lambda *given: list(rows(*given)))
    monkeypatch.setattr(runs.corpora, "drawn", lambda kind, network, longest, draw, count: [[]] * count)
    kept = runs.run("MiniLM", *runs.corpora.PICTURED, 2)
    expected = {"contrast": 2 * math.log(510), "independent": 3, "carried": 3, "fall": 16 / 510, "slope": 2}
    for name, value in expected.items():
        assert kept[name] == pytest.approx([value, value], rel=1e-4), name
    shown = [[[3 / n, 2 * math.log(n), 1 / n, 6 / n]] for n in lengths]
    assert kept["heads"] == pytest.approx(np.array(shown), rel=1e-3)
