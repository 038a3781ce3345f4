"""One key against n: its statistics against their definitions, and the losses of calibrated scores over every row."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from attention_checks.trained.runs.copying import key_statistics, lowest
from attention_theory.trained import copying
from attention_theory.trained.copying import Evidence


def laws():
    """Sights with two and three values."""
    yield Evidence((Fraction(9, 10), Fraction(1, 10)), (Fraction(1, 9), Fraction(9)))
    yield Evidence((Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)), (Fraction(1, 4), Fraction(1), Fraction(13, 4)))


def test_statistics_of_a_key_are_their_definitions():
    scores = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    mask, keys = torch.ones(3, 5, dtype=torch.bool).tril(2), torch.tensor([2, 0, 4])
    found = key_statistics(scores, mask, keys)
    for head in range(2):
        for query in range(3):
            u = scores[head, query][mask[query]].exp()
            own = float(u[keys[query]])
            rivals = (float(u.sum()) - own) / (len(u) - 1)
            assert math.isclose(float(found.share[head, query]), own / float(u.sum()))
            assert math.isclose(float(found.contrast[head, query]), math.log(own / rivals))
            assert math.isclose(copying.share_at(math.log(own / rivals), len(u)), own / float(u.sum()))


@pytest.mark.parametrize("n", [2, 3, 5])
def test_calibrated_scores_have_no_slope_at_sharpness_one(n):
    for evidence in laws():
        assert sum(chance for chance, _ in evidence.rows(n)) == 1
        assert all(weight == chance for weight, chance in copying.calibration(evidence, n))
        least = copying.mean_loss(evidence, n, 1)
        assert all(copying.mean_loss(evidence, n, beta) > least for beta in (0.0, 0.5, 0.95, 1.05, 2.0))
        step = 1e-4
        slope = (copying.mean_loss(evidence, n, 1 + step) - copying.mean_loss(evidence, n, 1 - step)) / (2 * step)
        assert abs(slope) < 1e-7


def test_matches_are_the_case_of_two_sights():
    evidence = Evidence((Fraction(9, 10), Fraction(1, 10)), (Fraction(1, 9), Fraction(9)))
    for n in (2, 4, 7):
        for beta in (0.0, 0.7, 1.0, 2.5):
            assert math.isclose(copying.match_loss(0.9, n, beta), copying.mean_loss(evidence, n, beta), rel_tol=1e-10)


def test_many_keys_are_no_trouble():
    assert math.isclose(copying.match_loss(0.9, 50_000, 0.0), math.log(50_000), rel_tol=1e-9)
    losses = [copying.match_loss(0.99, 10_000, beta) for beta in (0.9, 1.0, 1.1)]
    assert losses[1] < min(losses[0], losses[2])


def test_the_lowest_point_of_a_parabola_in_log_beta():
    betas = (0.7, 0.85, 1.0, 1.15)
    for best in (0.75, 0.97, 1.1):
        curve = [2 + 3 * (math.log(beta) - math.log(best)) ** 2 for beta in betas]
        assert math.isclose(lowest(betas, curve), best, rel_tol=1e-9)
    assert lowest(betas, [4, 3, 2, 1]) == betas[-1] and math.isclose(lowest(betas, [1, 2, 4, 8]), betas[0])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Evidence((Fraction(1, 2), Fraction(1, 2)), (Fraction(1), Fraction(2))), "mean over them is one"),
        (lambda: lowest((0.9, 1.0), [1, 2]), "at least three sharpnesses"),
        (
            lambda: key_statistics(torch.zeros(1, 1, 2), torch.tensor([[True, False]]), torch.tensor([1])),
            "each row needs its key",
        ),
    ],
)
def test_what_has_no_meaning_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_text_is_compared_with_its_own_middle_and_the_others():
    from attention_checks.trained.runs.copying import own_margins

    near = torch.tensor([[1.0, 0.0, 0.5], [0.0, 1.0, 0.0], [0.2, 0.4, 0.9]])
    assert torch.allclose(own_margins(near), torch.tensor([0.75, 1.0, 0.6]))


def test_betas_and_bands_of_the_run():
    from attention_checks.trained.runs import copying as run

    assert 1.0 in run.BETAS and list(run.BETAS) == sorted(run.BETAS) and run.REPLACED in run.HALVES
    assert np.all(np.diff(run.BANDS) > 0)
    assert run.SHARPNESSES.index(1.0) and math.isclose(run.SHARPNESSES[-2], math.log(run.SPANS[-1]) / math.log(128))
