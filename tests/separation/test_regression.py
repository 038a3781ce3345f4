"""The regression model of chapter 1 against its literal definition."""

import itertools

import pytest
import torch
from attention_theory.separation import regression
from hypothesis import given
from hypothesis import strategies as st

KINDS = ("softmax", "linear")


def literal_weights(scores, kind):
    u = torch.exp(scores) if kind == "softmax" else scores
    return u / u.sum()


def all_signs(n):
    return torch.tensor(list(itertools.product((-1.0, 1.0), repeat=n)), dtype=torch.float64)


@st.composite
def sizes(draw):
    n = draw(st.integers(2, 9))
    return n, draw(st.integers(0, n - 1))


@given(sizes(), st.floats(0.013, 0.987), st.sampled_from(KINDS), st.sampled_from((0, 1)))
def test_alarm_probability_counts_sign_vectors(size, tau, kind, dataset):
    n, high = size
    weights = literal_weights(regression.regression_scores(n, dataset, high), kind)
    values = all_signs(n) @ weights
    if float((values - tau).abs().min()) < 1e-8:
        return  # a tie, decided by rounding in the literal sum
    expected = int((values > tau).sum())
    assert round(2**n * regression.alarm_probability(n, dataset, kind, tau, high), 6) == expected


@given(sizes(), st.integers(1, 3), st.floats(0.013, 0.987))
def test_success_probability_of_shared_signs(size, m, tau):
    n, high = size
    sums = regression.group_sums(all_signs(n)[:, None, :], high)
    counts = regression.regression_successes(sums, n, tau, high)
    # a value that equals tau up to rounding is quiet
    quiet = [
        all_signs(n) @ regression.regression_weights(n, dataset, kind, high) <= tau + 1e-12
        for kind, dataset in regression.NETWORKS
    ]
    ok = quiet[1] & quiet[2] & quiet[3]
    expected = (int(ok.sum()) / 2**n) ** m - (int((ok & quiet[0]).sum()) / 2**n) ** m
    assert regression.regression_success(n, m, tau, high) == pytest.approx(expected, abs=1e-9)
    assert counts == [int((ok & ~quiet[0]).sum())]


def test_an_exact_tie_is_quiet_on_both_routes():
    # linear weights 1/5: two signs of five decide <f, y> = 0.6, 0.2, ...; at tau = 0.6 and 0.2 rounding would decide
    for n, tau in ((5, 0.6), (5, 0.2), (10, 0.4), (5, 0.5)):
        sums = regression.group_sums(all_signs(n)[:, None, :])
        share = regression.regression_successes(sums, n, tau)[0] / 2**n
        assert regression.regression_success(n, 1, tau) == pytest.approx(share, abs=1e-12)
    assert regression.regression_success(5, 1, 0.5) == 0.34375


@given(st.integers(2, 400), st.floats(1, 1000))
def test_norm_bound_is_never_exceeded(n, ratio):
    for high in {1, n // 2, round(n / (1 + ratio)), n - 1}:
        if 0 < high < n:
            weights = torch.ones(n, dtype=torch.float64)
            weights[:high] = ratio
            assert float((weights / weights.sum()).norm()) <= regression.norm_bound(ratio, n) * (1 + 1e-12)


@pytest.mark.parametrize("dataset, weights", [(0, "softmax"), (0, "linear"), (1, "linear")])
@pytest.mark.parametrize("n", [2, 3, 8, 50])
def test_no_data_have_a_larger_norm_than_worst_high(n, dataset, weights):
    norms = [float(regression.regression_weights(n, dataset, weights, high).norm()) for high in range(n)]
    worst = float(regression.regression_weights(n, dataset, weights, regression.worst_high(n, dataset, weights)).norm())
    assert worst == pytest.approx(max(norms), rel=1e-12) and regression.largest_norm(n) >= worst


@pytest.mark.parametrize(("kind", "dataset"), regression.NETWORKS[1:])
def test_quiet_edge_counts_sign_vectors_of_data_without_high_scores(kind, dataset):
    n, risk = 8, 0.1
    sums = all_signs(n) @ literal_weights(regression.regression_scores(n, dataset, high=0), kind)
    edge = sums.sort(descending=True).values[int(risk * 2**n)]  # as many sums may lie above it
    assert regression.quiet_edge(n, 1, risk, dataset, kind) == pytest.approx(float(edge), abs=1e-8)


@pytest.mark.parametrize("high", [0, 14])
def test_threshold_range_is_sharp(high):
    n, m, risk = 100, 14, 1e-4
    low, top = regression.threshold_range(n, m, risk, high)

    def worst(tau):
        return max(1 - (1 - regression.alarm_probability(n, k, kind, tau, high)) ** m for kind, k in regression.NETWORKS[1:])

    assert worst(low) <= risk < worst(low - 1e-6)
    detected = [1 - (1 - regression.alarm_probability(n, 1, "softmax", t, high)) ** m for t in (top - 1e-9, top + 1e-9)]
    assert detected[0] >= 1 - risk > detected[1] and top >= regression.sure_margin(n)
    assert low <= regression.certified_edge(n, m, risk)


def test_a_miss_as_likely_as_allowed_is_allowed():
    # delta = 1/2, n = 4: m = 3, and 2^-3 is delta/n
    assert regression.detection_edge(4, 3, 1 / 8) >= regression.sure_margin(4) - 1e-9


def test_fresh_signs_multiply():
    n, m, tau, high = 50, 5, 0.3, 9
    quiet = [(1 - regression.alarm_probability(n, k, kind, tau, high)) ** m for kind, k in regression.NETWORKS]
    expected = (1 - quiet[0]) * quiet[1] * quiet[2] * quiet[3]
    assert regression.regression_success(n, m, tau, high, shared_signs=False) == pytest.approx(expected)
