"""Chances of a row to fire: against the sign vectors one by one."""

import itertools
import math

import pytest
import torch
from attention_checks.separation import chances, parts
from attention_theory.separation import network

SCALES = {"cross": (None, None), "self-ones": (0.2, 0.8), "self-identity": (0.3, 0.7)}


@pytest.mark.parametrize("d", [1, 2, 5])
def test_sign_vectors_are_all_there_once(d):
    found = network.sign_vectors(d)
    assert found.dtype == torch.float64 and len(found) == 2**d
    assert {tuple(row) for row in found.tolist()} == set(itertools.product((-1.0, 1.0), repeat=d))


def one_by_one(single, other, others, taus):
    """Share of the sign vectors with <row, sigma> > tau, for each tau."""
    row = [*single] + [other] * others
    values = [sum(s * x for s, x in zip(signs, row)) for signs in itertools.product((1, -1), repeat=len(row))]
    return [sum(value > tau for value in values) / len(values) for tau in taus]


@pytest.mark.parametrize(
    ("single", "other", "others"),
    [([0.5, 0.25], 0.25, 5), ([1.0, -0.5, 0.25], 0.125, 6), ([2.0], 1.0, 1), ([0.5], 0.0, 3), ([0.5, 0.125, 2.0], 0.25, 0)],
)
def test_row_alarm_counts_sign_vectors(single, other, others):
    # halves and eighths: all sums are exact, and many equal tau; those do not fire
    taus = [eighths / 8 for eighths in range(-24, 25)]
    found = [chances.row_alarm(single, other, others, tau) for tau in taus]
    assert found == pytest.approx(one_by_one(single, other, others, taus), abs=1e-12)
    # a tie up to rounding is one, and 1e-7 is not rounding
    reached = sum(map(abs, single)) + other * others
    assert chances.row_alarm(single, other, others, reached - 1e-14) == 0
    assert chances.row_alarm(single, other, others, reached - 1e-7) > 0


def literal_shares(model, weights, n, d, a, tau=None):
    """For every row of the literal layer the share of the 2^d sign vectors that fire; tau in units of the data's scale."""
    b, c = SCALES[model]
    s = parts.layer(model, weights, n, d, a, b, c)
    scale = 1 if model == "cross" else math.sqrt(math.log(n))
    tau = (0.9 if model == "cross" else c + 0.1) if tau is None else tau
    vectors = torch.tensor(list(itertools.product((-1.0, 1.0), repeat=d)), dtype=torch.float64)
    return ((s.features / scale) @ vectors.T > tau + 1e-12).double().mean(1).tolist()


def test_a_value_that_equals_the_threshold_does_not_fire():
    # a row of weights 1/10 each: 1/10 in the first column, 1/5 in five blocks, so that -1/10 + 1 = 0.9 is a tie
    s = parts.layer("cross", "linear", 10, 6, 0.01)
    assert chances.enumerated_alarm(s, 3) == 1  # all plus signs, 1.1
    assert chances.layer_alarm(s, 3) == 1 / 2**6


@pytest.mark.parametrize(("model", "n", "d"), [("cross", 12, 7), ("self-ones", 12, 6), ("self-identity", 15, 5)])
@pytest.mark.parametrize("a", [0.4, 1.2, 2.0])
def test_detection_is_the_weight_of_the_special_key_and_the_share_that_fires(model, n, d, a):
    weight, share = chances.special_row(model, n, d, a, *SCALES[model])
    s = parts.layer(model, "softmax", n, d, a, *SCALES[model])
    assert weight == pytest.approx(float(s.f[0, 0]), rel=1e-12)
    assert share == pytest.approx(literal_shares(model, "softmax", n, d, a)[0], abs=1e-12)


def test_detection_where_no_network_can_be_built():
    # n = 10^100, a > 1: the special key takes everything, so the row is a in the first column, b in one block, c in the last
    weight, share = chances.special_row("self-ones", 10**100, 10, 1.5, 0.2, 0.8)
    assert weight == pytest.approx(1, abs=1e-12)
    assert share == pytest.approx(one_by_one([1.5, 0.2, 0.8], 0, 0, [0.9])[0])


def test_the_bound_for_small_blocks_is_its_formula():
    n, d, a0, b = 2560, 12, 0.01, 0.8
    D = ((10 * b - 1) * (n ** (b * b) - 1) - 10 - 10 * a0 / (n / 10)) / (10 * b)
    expected = (math.exp(-(D**2) / 20) + 2.0**-9) / 2
    assert chances.small_block_bound(math.log(n), d, a0, b) == pytest.approx(expected)
    assert chances.small_block_bound(math.log(256), 66, 0.01, 0.2) == 1  # far above the line
    assert chances.small_block_bound(1e6, 12, 0.01, 0.8) == 2.0**-10
    # it bounds the share that detects, by brute force
    counts = network.enumerated_counts("self-identity", 24, 6, 0.01, 1.2, 0.6, 0.9)
    h = chances.small_block_bound(math.log(24), 6, 0.01, 0.6)
    assert (counts.ok - counts.ok_and_quiet) / counts.total <= h < 1
