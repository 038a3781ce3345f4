"""Weights in place of softmax: against their definitions, and sparsemax against the theorem and a projection by descent."""

import itertools
import math
from fractions import Fraction

import pytest
import torch
from attention_checks.trained.exact import sparsemax_by_supports
from attention_checks.trained.runs.replacing import undivided
from attention_theory.exponential import power, sharp, truncated
from attention_theory.trained import replacing
from attention_theory.trained.models import softmax

SCORES = 2 * torch.randn(2, 5, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
MASK = torch.ones(5, 6, dtype=torch.bool).tril(1)
ALL = {
    "hard": replacing.hard,
    "sparsemax": replacing.sparsemax,
    "entmax": replacing.entmax(1.5),
    "average": replacing.sharper(0),
    "T4, mean": replacing.family(truncated(4), "mean"),
    "T4": replacing.family(truncated(4)),
    "power of the maximum": replacing.power_of_the_maximum(4),
}


@pytest.mark.parametrize("name", ALL)
def test_rows_are_weights_on_allowed_keys(name):
    weights = ALL[name](SCORES, MASK, 0)
    assert float(weights.min()) >= 0 and float((weights * ~MASK).abs().max()) == 0
    assert torch.allclose(weights.sum(-1), torch.ones(2, 5, dtype=torch.float64))


@pytest.mark.parametrize("name", [name for name in ALL if name != "T4"])
def test_what_is_added_to_a_row_is_not_seen(name):
    added = torch.randn(2, 5, 1, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert torch.allclose(ALL[name](SCORES, MASK, 0), ALL[name](SCORES + added, MASK, 0))
    assert not torch.allclose(ALL["T4"](SCORES, MASK, 0), ALL["T4"](SCORES + added, MASK, 0))


def test_families_become_softmax():
    plain = softmax(SCORES, MASK)
    for weigh in (replacing.sharper(1), replacing.family(sharp(1)), replacing.family(truncated(60), "mean")):
        assert torch.allclose(weigh(SCORES, MASK, 0), plain)
    near = [float((replacing.power_of_the_maximum(p)(SCORES, MASK, 0) - plain).abs().max()) for p in (16, 256, 4096)]
    assert near[0] > 4 * near[1] > 16 * near[2]
    assert torch.allclose(replacing.sharper(1e5)(SCORES, MASK, 0), replacing.hard(SCORES, MASK))


def test_an_empty_row_of_a_power_reads_nothing():
    assert float(replacing.family(power(3))(torch.zeros(1, 1, 4), torch.ones(1, 4, dtype=torch.bool), 0).sum()) == 0


@pytest.mark.parametrize("rivals", [1, 2, 7, 1000])
def test_a_gap_beats_any_crowd_under_sparsemax(rivals):
    for gap in (0.0, 0.1, 0.5, 0.99, 1.0, 3.0):
        scores = torch.zeros(1, 1, rivals + 1, dtype=torch.float64)
        scores[..., 0] = gap
        share = float(replacing.sparsemax(scores, torch.ones(1, rivals + 1, dtype=torch.bool))[0, 0, 0])
        assert math.isclose(share, replacing.sparsemax_share(gap, rivals), abs_tol=1e-12) and share >= min(gap, 1)
    for wanted in (0.3, 0.5, 0.9):
        gap = replacing.needed_gap(wanted, rivals)
        assert replacing.sparsemax_share(gap, rivals) >= wanted - 1e-12 and gap <= wanted


@pytest.mark.parametrize("tied", [1, 2, 3, 8])
@pytest.mark.parametrize("rivals", [1, 20, 1000])
def test_keys_that_tie_above_a_crowd_keep_the_lead_each_up_to_equal_parts(tied, rivals):
    """Two keys 0.4 above a thousand rivals keep 401/1002 each: they do not share what one alone would have (401/1001)."""
    for gap in (0.05, 0.1, 0.4, 0.7, 2.0):
        scores = torch.zeros(1, 1, tied + rivals, dtype=torch.float64)
        scores[..., :tied] = gap
        shares = replacing.sparsemax(scores, torch.ones(1, tied + rivals, dtype=torch.bool))[0, 0, :tied]
        assert float(shares.min()) >= min(1 / tied, gap) - 1e-12 and float(shares.max()) <= 1 / tied + 1e-12
        if (tied, rivals, gap) == (2, 1000, 0.4):
            assert math.isclose(float(shares[0]), 401 / 1002, abs_tol=1e-12)


def sorted_entmax(scores, mask):
    """Alpha = 3/2 by sorting (Peters, Niculae, Martins 2019, algorithm 2), row by row: no threshold is searched."""
    found = torch.zeros_like(scores)
    for head, query in itertools.product(*map(range, scores.shape[:2])):
        z = scores[head, query][mask[query]] / 2
        ordered = z.sort(descending=True).values
        k = torch.arange(1, len(z) + 1)
        mean, square = ordered.cumsum(0) / k, ordered.square().cumsum(0) / k
        tau = mean - ((1 - k * (square - mean**2)) / k).clamp(min=0).sqrt()
        found[head, query, mask[query]] = (z - tau[int((tau <= ordered).sum()) - 1]).clamp(min=0) ** 2
    return found


def test_entmax_is_sparsemax_at_two_the_sorted_one_at_three_halves_and_softmax_near_one():
    assert torch.allclose(replacing.entmax(2.0)(SCORES, MASK, 0), replacing.sparsemax(SCORES, MASK), atol=1e-12)
    assert torch.allclose(replacing.entmax(1.5)(SCORES, MASK, 0), sorted_entmax(SCORES, MASK), atol=1e-12)
    assert torch.allclose(replacing.entmax(1.0001)(SCORES, MASK, 0), softmax(SCORES, MASK), atol=1e-3)


@pytest.mark.parametrize("alpha", [1.1, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("rivals", [1, 2, 7, 1000])
def test_a_gap_beats_any_crowd_under_entmax(alpha, rivals):
    everyone = torch.ones(1, rivals + 1, dtype=torch.bool)
    for gap in (0.0, 0.1, 0.5, 0.99, 1.0, 3.0, 12.0):
        scores = torch.zeros(1, 1, rivals + 1, dtype=torch.float64)
        scores[..., 0] = gap
        share = float(replacing.entmax(alpha)(scores, everyone, 0)[0, 0, 0])
        assert math.isclose(share, replacing.entmax_share(alpha, gap, rivals), abs_tol=1e-9)
        assert share >= replacing.entmax_floor(alpha, gap) - 1e-12
        lower = scores - torch.rand(rivals + 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        lower[..., 0] = gap  # rivals that are not equal, each at least as far below
        assert float(replacing.entmax(alpha)(lower, everyone, 0)[0, 0, 0]) >= share - 1e-12


def test_the_floor_of_entmax_is_reached_by_a_large_crowd_and_vanishes_toward_softmax():
    for alpha, gap in ((1.5, 0.8), (2.0, 0.3), (3.0, 0.2)):
        floor = replacing.entmax_floor(alpha, gap)
        assert floor - 1e-12 <= replacing.entmax_share(alpha, gap, 10**9) <= floor + 1e-3
    assert replacing.entmax_floor(1.01, 5.0) < 1e-100


def test_what_a_taylor_sum_keeps_of_the_exponential():
    for degree, z in itertools.product((2, 4, 8, 16), (0.0, 0.7, 3.0, 9.0)):
        assert math.isclose(replacing.kept_part(degree, z), truncated(degree)(z) / math.exp(z), rel_tol=1e-9)


def test_undivided_rows_sum_to_what_they_sum_to():
    constants = torch.logsumexp(SCORES, -1).mean(1)[None]
    weights = undivided(constants)(SCORES, torch.ones(5, 6, dtype=torch.bool), 0)
    assert torch.allclose(weights.sum(-1).log().mean(1), torch.zeros(2, dtype=torch.float64))


def test_sparsemax_in_fractions_and_its_least_share():
    for rivals in itertools.product(range(5), repeat=3):
        scores = [Fraction(4, 3), *(Fraction(k, 3) for k in rivals)]
        exact = sparsemax_by_supports(scores)
        row = torch.tensor([[[float(score) for score in scores]]], dtype=torch.float64)
        assert sum(exact) == 1 and torch.allclose(
            replacing.sparsemax(row, torch.ones(1, 4, dtype=torch.bool))[0, 0], torch.tensor([float(w) for w in exact]).double()
        )
        gap = scores[0] - max(scores[1:])
        least = min(Fraction(1), (1 + 3 * gap) / 4)
        assert exact[0] >= least >= min(1, gap)
        assert (exact[0] == least) == (len(set(rivals)) == 1 or exact[0] == least == 1)
