"""The basic estimates of cao2024 (Lemma B.1), their best constants and its concentration inequalities, one case at a time."""

import itertools
import math
from fractions import Fraction

import mpmath
import pytest
import torch
from attention_checks.tangent.runs import estimates
from attention_theory.device import generator, normal
from attention_theory.tangent import bounds


@pytest.mark.parametrize(("B", "R", "m"), [(1.3, 0.4, 2), (2.0, 1.5, 2), (1.1, 0.3, 3)])
def test_sharp_estimates_are_attained(B, R, m):
    sharp, worst = estimates.sharp_estimates(B, R, m), estimates.worst_estimates(B, R, m)
    attained = range(2, 14) if m == 2 else range(2, 12)
    assert {part: sharp[part] for part in attained} == pytest.approx({part: worst[part] for part in attained}, rel=1e-12)
    assert list(sharp) == list(worst) and all(worst[part] <= sharp[part] * (1 + 1e-12) for part in sharp)


@pytest.mark.parametrize(("B", "R", "m"), [(1.3, 0.4, 2), (0.5, 1.2, 7), (2.0, 0.01, 40)])
def test_spike_change_is_that_of_its_softmax(B, R, m):
    scores, push = torch.full((m,), -B, dtype=torch.float64), torch.full((m,), -R, dtype=torch.float64)
    scores[0], push[0] = B, R
    change = torch.softmax(scores + push, 0) - torch.softmax(scores, 0)
    assert estimates.spike_change(B, R, m) == pytest.approx(m * float(change.abs().max()) / R, rel=1e-10)


@pytest.mark.parametrize(("B", "R"), [(0.3, 0.5), (1.0, 1.5)])
def test_a_spike_among_many_neurons_nearly_attains_part_12(B, R):
    share = estimates.spike_change(B, R, 10**7) * R / 10**7 / estimates.sharp_estimates(B, R, 10**7)[12]
    assert 1 - 1e-4 < share <= 1


@pytest.mark.parametrize(("B", "sigma", "expected"), [(2.0, 0.7, 0.1), (30.0, 1.5, 3.0), (1.0, 1.0, 1.0)])
def test_safe_width_leaves_the_expected_number_outside(B, sigma, expected):
    m = mpmath.mpf(10) ** bounds.safe_width(B, sigma, expected)
    assert float(m * mpmath.erfc(mpmath.mpf(B) / sigma / mpmath.sqrt(2))) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(("n", "chance"), [(1, Fraction(1, 4)), (5, Fraction(3, 10)), (6, Fraction(1, 2))])
def test_binomial_tails_by_all_outcomes(n, chance):
    outcomes = {}
    for values in itertools.product((0, 1), repeat=n):
        size = abs(sum(values) - n * chance)
        outcomes[size] = outcomes.get(size, 0) + math.prod(chance if v else 1 - chance for v in values)
    sizes = sorted(size for size in outcomes if size > 0)
    t, tails = estimates.binomial_tails(n, float(chance))
    assert t == pytest.approx([float(size) for size in sizes])
    assert tails == pytest.approx([float(sum(p for u, p in outcomes.items() if u >= size)) for size in sizes], rel=1e-12)


@pytest.mark.parametrize("integers", [True, False])
def test_quadratic_tails_by_all_signs(integers):
    A = normal(4, 4, generator=generator(1))
    A = (3 * A).round() if integers else A
    values = []
    for signs in itertools.product((-1, 1), repeat=4):  # the mean is the trace
        values.append(abs(sum(float(A[i, j]) * signs[i] * signs[j] for i in range(4) for j in range(4) if i != j)))
    sizes = sorted({round(v, 8) for v in values} - {0.0})
    t, tails = estimates.quadratic_tails(A)
    assert t.tolist() == pytest.approx(sizes, abs=1e-8)
    assert tails.tolist() == [sum(v >= size - 1e-7 for v in values) / 16 for size in sizes]


def test_quadratic_tails_try_sixteen_signs_and_no_more():
    assert estimates.quadratic_tails(torch.diag(torch.arange(16.0)))[0].numel() == 0  # a diagonal form is constant
    with pytest.raises(ValueError, match="at most 16"):
        estimates.quadratic_tails(torch.eye(17))
