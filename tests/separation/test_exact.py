"""The exact route against enumeration of all sign vectors, Monte Carlo, and itself at large sizes."""

import math
from fractions import Fraction

import pytest
from attention_checks.separation import panels
from attention_theory import separation
from attention_theory.attention import Weights
from attention_theory.separation import exact, network
from hypothesis import assume, given, settings
from hypothesis import strategies as st


def integers(counts):
    return counts.ok, counts.ok_and_quiet, counts.total, counts.quiet


@st.composite
def settings_of_a_model(draw):
    model = draw(st.sampled_from(separation.MODELS))
    d = draw(st.integers(2 if model == "cross" else 3, 9))
    block = d - 1 if model == "cross" else d - 2
    n = block * draw(st.integers(1 if block > 1 else 2, 7))
    size = st.floats(0, 3, allow_nan=False)
    scales = (None, None) if model == "cross" else (draw(st.floats(0, 1)), draw(st.floats(0.01, 1)))
    return model, n, d, draw(size), draw(size), *scales


@given(settings_of_a_model())
@settings(max_examples=150, deadline=None)
def test_counts_equal_enumeration(arguments):
    brute = separation.enumerated_counts(*arguments)
    assume(not 1e-14 < brute.margin < 1e-11)  # neither a tie nor clear of one
    counts = separation.success_counts(*arguments)
    assert integers(counts) == integers(brute)
    # the margin of the exact route leaves out values that decide nothing
    assert counts.margin >= brute.margin * (1 - 1e-6) - 1e-15


def test_a_value_equal_to_tau_does_not_fire():
    # cross-attention with n = 10: a row of equal weights and signs (-, +, ..., +) gives 1 - 1/10 = tau exactly
    counts = separation.success_counts("cross", 10, 6, 0.01, 0.01)
    assert counts.quiet[1] == 2**6 - 1  # only all plus signs fire, 1 + 1/10
    assert counts.margin < 1e-18


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(
    "model, n, d, m, sizes",
    [
        ("self-identity", 200, 12, 15, (0.01, 1.2, 0.2, 0.8)),
        ("self-ones", 40, 6, 3, (0.1, 1.2, 0.3, 0.6)),
        ("cross", 60, 4, 2, (0.01, 1.1)),
    ],
)
def test_probability_is_the_formula_and_monte_carlo_agrees(model, n, d, m, sizes, shared):
    counts = separation.success_counts(model, n, d, *sizes)
    if shared:
        formula = Fraction(counts.ok, counts.total) ** m - Fraction(counts.ok_and_quiet, counts.total) ** m
    else:
        quiet = [Fraction(k, counts.total) ** m for k in counts.quiet]
        formula = (1 - quiet[0]) * quiet[1] * quiet[2] * quiet[3]
    value = separation.success_probability(model, d, m, *sizes, n=n, shared_signs=shared)
    assert value == pytest.approx(float(formula), rel=1e-12)
    rate = separation.success_rate(model, n, d, m, *sizes, trials=2000, seed=4, shared_signs=shared)
    assert rate.trials == 2000 and rate.interval[0] <= value <= rate.interval[1]


def test_chunks_do_not_change_the_batched_trials(monkeypatch):
    arguments = dict(model="cross", n=60, d=4, m=2, a0=0.01, a1=1.1, trials=500, seed=1)
    whole = separation.success_rate(**arguments)
    monkeypatch.setattr(network, "BATCH", 60 * 2 * 7)
    pieces = separation.success_rate(**arguments)
    assert pieces.trials == 500 and abs(pieces.successes - whole.successes) < 60  # other draws, the same law
    monkeypatch.setattr(network, "BATCH", 50)
    assert integers(separation.enumerated_counts("cross", 12, 4, 0.1, 1.1)) == integers(
        separation.success_counts("cross", 12, 4, 0.1, 1.1)
    )


@pytest.mark.parametrize(
    "model, sizes",
    [("self-identity", (0.01, 1.2, 0.2, 0.8)), ("self-ones", (0.01, 1.2, 0.2, 0.8)), ("cross", (0.01, 3))],
)
def test_log_n_continues_n(model, sizes):
    for n in (200, 1000, 10**6):
        by_n = separation.success_probability(model, 12 if model != "cross" else 11, 15, *sizes, n=n)
        by_log = separation.success_probability(model, 12 if model != "cross" else 11, 15, *sizes, log_n=math.log(n))
        assert by_n == pytest.approx(by_log, abs=1e-12)


def test_tails_agree_where_their_routes_meet(monkeypatch):
    for plus in (0, 1, 900, 1000, 1100, 1500, 2000, 2001):
        integer = exact._tail(plus, 2000)
        monkeypatch.setattr(exact, "INTEGER_SIGNS", 0)
        assert exact._tail(plus, 2000) == pytest.approx(integer, rel=1e-11)
        monkeypatch.undo()
    at, beyond = 2**52 - 2, 2**52 + 2
    for z in (-2, 0, 1, 4):
        steps = int(z * 2**25)
        assert exact._tail(at // 2 + steps, at) == pytest.approx(exact._tail(beyond // 2 + steps, beyond), rel=1e-6)


def test_sizes_beyond_floats():
    point = dict(m=400, a0=0.01, a1=1.2, b=0.2, c=0.8)
    assert separation.success_probability("self-ones", 10**50, **point, log_n=math.log(10) * 100) == pytest.approx(1, abs=1e-12)
    # d = n^0.02 is far too small for X = I at any size: the weight of a row stays in its own block
    assert separation.success_probability("self-identity", 100, **point, log_n=math.log(10) * 100) == 0


def test_near_ties_are_decided_by_terms_below_the_precision_of_floats():
    # b (K + y_*) / (d-2) = 0.1 exactly for 4 block signs with sum 2: the sign of a0 y_1 / n decides, at n = 10^60 too
    fractions = []
    for log_n in (math.log(10) * 3, math.log(10) * 60):
        signs, patterns, margin = exact._patterns("self-ones", 6, exact._event(0.01, 0.01), 0.2, 0.8, None, log_n)
        assert signs == 3
        fractions.append(sum(exact._upper(3)[fewest[3]] for fewest in patterns) / 64)
    assert fractions[0] == fractions[1]
    assert 0 < margin < 1e-55


def test_turns_of_a_curve():
    for exact_values, turns in (([0.1, 0.2, 0.2, 0.3], 0), ([0.1, 0.3, 0.3, 0.2], 1), ([0.3, 0.1, 0.2, 0.1], 2), ([0.3], 0)):
        assert panels.Curve(panels.panel("5a"), exact_values, []).turns() == turns


def test_every_maximiser_of_a_curve_is_named():
    grid = panels.panel("4d")
    assert panels.Curve(grid, [0.1, 0.3, 0.3, 0.2, 0.3], []).best() == [grid.values[i] for i in (1, 2, 4)]
    at = lambda a1: exact.success_counts("self-identity", 200, 22, 0.01, a1, 0.2, 0.8)  # of 2^22 sign vectors
    plateau = [at(x) for x in grid.values if 0.928 <= x <= 1.144]
    assert {(counts.ok, counts.ok_and_quiet) for counts in plateau} == {(4150904, 3124028)}
    assert at(0.892).ok_and_quiet > 3124028 and at(1.18).ok < 4150904


def bits(weights, top, log_n):
    """Of cross-attention, whose scores are at most (1 + a) ln n."""
    return exact._bits([(weights, top - 1)], None, None, log_n, 0.0)


@pytest.mark.parametrize(("knob", "top", "log_n"), [(3.0, 1.5, 40.0), (1.5, 4.0, 200.0), (0.5, 2.0, 100.0), (1.0, 2.0, 100.0)])
def test_bits_tell_the_smallest_weight_from_nothing(knob, top, log_n):
    # the least weight is at least n^-(1 + sharpness top); sharpness below 1 asks for no less than softmax
    needed = 64 + (1 + max(knob, 1) * top) * log_n / math.log(2)
    found = bits(Weights("sharp", knob), top, log_n)
    assert needed <= found <= 64 + 1.05 * (needed - 64)
    assert bits("softmax", top, log_n) == bits(Weights("sharp", 0.5), top, log_n)


def test_bits_are_limited():
    assert bits("softmax", 3.0, 1e9) == exact.MOST_BITS
    # very sharp weights need not be told from nothing, but softmax's bits are kept
    assert bits(Weights("sharp", 50.0), 2.0, 100.0) == exact.SHARP_BITS
    assert bits(Weights("sharp", 2.0), 20.0, 200.0) == bits("softmax", 20.0, 200.0) > exact.SHARP_BITS
    # the hard maximum has no weights to be told
    assert bits(Weights("sharp", math.inf), 2.0, 100.0) == bits("softmax", 2.0, 100.0)
