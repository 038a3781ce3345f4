"""What the phase diagrams measure, at sizes where it can be counted."""

import math
from itertools import product

import pytest
from attention_checks.separation.runs import phases
from attention_theory import separation
from scipy import optimize, stats


def test_success_is_the_exact_probability_at_the_papers_parameters():
    assert phases.paper_readouts(3) == 15 and phases.paper_readouts(20) == math.ceil(math.log(10**22))
    found = phases.success("self-ones", 3, 22)
    assert found == pytest.approx(separation.success_probability("self-ones", 22, 15, 0.01, 1.2, 0.2, 0.8, n=1000), abs=1e-9)
    assert math.isnan(phases.success("cross", 1, 22))


def test_least_dimension_is_where_the_union_bound_falls_below_delta_over_n():
    d = phases.least_dimension("self-ones", 5)
    counts = separation.success_counts("self-ones", (d - 2) * -(-(10**5) // (d - 2)), d, 0.01, 1.2, 0.2, 0.8)
    assert 17 * (counts.total - counts.ok) / counts.total * 10**5 <= 0.0101


def test_reliable_from_is_a_turning_point():
    start = phases.reliable_from("cross", 0.5)
    assert phases.success("cross", start, round(10 ** (start / 2))) >= 0.99
    assert phases.success("cross", start - 0.5, round(10 ** ((start - 0.5) / 2))) < 0.99
    assert phases.reliable_from("self-identity", 0.02) is None


def test_linear_attention_with_another_readout():
    for model, (n, d) in product(separation.MODELS, ((60, 6), (600, 6))):
        n = n if model != "cross" else n // 5 * 5
        found = phases.linear_gap(model, n, d)
        assert found.on_D0 == 0 < found.on_D1
        assert n * found.gap == pytest.approx(phases.linear_weights_gap(model, n, d), rel=0.1)


def test_level_moves_the_threshold():
    usual = separation.enumerated_counts("self-ones", 24, 5, 0.01, 1.2, 0.2, 0.8)
    assert separation.enumerated_counts("self-ones", 24, 5, 0.01, 1.2, 0.2, 0.8, level=0.1) == usual
    assert separation.enumerated_counts("self-ones", 24, 5, 0.01, 1.2, 0.2, 0.8, level=0.5).ok == 32


def test_no_growth_begins_where_all_conditions_hold():
    # cross-attention at a0 = 0.01, a1 = 3, tau = 1.5: 3 n^-2 < 0.5, n^-0.99 <= 0.5 and 4 <= 0.5 n, the last from n = 8 on
    assert phases.no_growth_from("cross", 1.5) == 8
    assert not phases.needs_no_growth("cross", 7, 1.5)
    # epsilon between b = 0.2 and a1 - b = 1
    for model in ("self-ones", "self-identity"):
        assert phases.needs_no_growth(model, 10**6, 0.5)
        assert not any(phases.needs_no_growth(model, 10**6, level) for level in (0.2, 1.0))


@pytest.mark.parametrize("share", [0.6, 0.75, 0.9])
def test_the_dimension_constant_is_cramers_rate(share):
    # the rate of Pr[mean of N signs >= x] is the largest t x - ln cosh t, with x = 2 share - 1
    x = 2 * share - 1
    rate = -optimize.minimize_scalar(lambda t: math.log(math.cosh(t)) - t * x, bounds=(0, 20), method="bounded").fun
    assert phases.dimension_constant(share) == pytest.approx(1 / rate, rel=1e-6)
    assert phases.entropy(share) == pytest.approx(stats.entropy([share, 1 - share]), rel=1e-12)
