"""The measuring functions of Part II."""

import itertools
import math

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from attention_checks.separation import panels, printed
from attention_checks.separation.runs import thresholds
from attention_theory.separation import regression, success_probability
from theorybook import rate_interval
from theorybook.figures import COLORS, GREY


def test_averages_on_the_worst_data():
    found = thresholds.averages(0, "softmax", lambda n, d: 0.4, (10, 20), (0.1,))
    assert found.worst == [regression.worst_high(10), regression.worst_high(20)]
    assert found.exact[0] == pytest.approx(200 * regression.alarm_probability(10, 0, "softmax", 0.4, found.worst[0]))
    assert all(exact <= bound for exact, bound in zip(found.exact, found.hoeffding))


def test_where_a_bound_begins_to_say_something():
    assert thresholds.first_nontrivial(lambda n, d: 100 / n) == 101


def test_first_separable_is_the_first():
    first = thresholds.first_separable(regression.worst_high)
    for n, there in ((first, True), (first - 1, False)):
        low, top = regression.threshold_range(n, thresholds.readouts(n, 0.01), 0.01 / n, regression.worst_high(n))
        assert (low < top) == there


def test_figure_3_follows_its_panel(monkeypatch):
    right = panels.panel

    def short(name, **options):
        grid = right(name, **options)
        keep = slice(0, 3) if name == "3a" else slice(0, 4)
        return panels.Panel(grid.name, grid.model, grid.parameter, grid.values[keep], grid.points[keep], 200)

    monkeypatch.setattr(panels, "panel", short)
    for name in ("3a", "3b"):
        run = thresholds.figure_3(name, tau=0.3, seed=1)
        assert run.misses() == 0 and len(run.rates) == len(run.exact) == len(run.grid.values)


@pytest.mark.parametrize("name", panels.NAMES)
def test_panels_have_the_printed_settings(name):
    as_printed = {"3": printed.figure_3, "4": printed.figure_4, "5": printed.figure_4, "7": printed.figure_7}[name[0]](name[1])
    filled = {"4f": ["a0"], "5f": ["a0"], "7d": ["d"], "7e": ["d", "a1"]}.get(name, [])
    grid = panels.panel(name)
    assert all(check.holds for check in panels.as_printed(grid, as_printed, filled))
    for key in set(as_printed) - {"models", grid.parameter, *filled}:
        assert not all(check.holds for check in panels.as_printed(grid, as_printed | {key: 7.5}, filled)), key


# Failures with many sign vectors -------------------------------------------------------------------------------------


def f_of(n, dataset, weights, high):
    """f of the data with two levels, from Definitions 3.2, 3.3 and 3.8."""
    scores = [1.0] * (n - high) + [1.4] * high
    if dataset:
        scores[0] = 4.0
    scores = torch.tensor(scores, dtype=torch.float64) * math.log(n)
    one = torch.ones(1, dtype=torch.float64)
    return (printed.definition_3_3 if weights == "softmax" else printed.definition_3_2)(scores[:, None], one)


def fires(n, dataset, weights, tau, high):
    """Share of the 2^n sign vectors with <f, sigma> > tau; equal up to rounding is not larger."""
    f, values = f_of(n, dataset, weights, high).numpy(), np.zeros(1)
    for weight in f:
        values = np.concatenate([values + weight, values - weight])
    # the library counts up to 1e-9 of a sign of a low entry as rounding
    return float((values > tau + 2e-9 * f.min()).mean())


def failing(n, dataset, weights, tau, high, delta):
    """Chances, times n/delta, that ceil(log2(n/delta)) sign vectors raise an alarm, and that all are silent."""
    m = next(m for m in range(100) if 2.0**-m <= delta / n)
    silent = (1 - fires(n, dataset, weights, tau, high)) ** m
    return (1 - silent) * n / delta, silent * n / delta


SIZES = [(5, 0.3), (7, 0.01)]
NETWORK = [("softmax", 1), ("linear", 1), ("softmax", 0), ("linear", 0)]


@pytest.mark.parametrize(("n", "delta"), SIZES)
@pytest.mark.parametrize("tau", [0.11, 0.47, 0.9])
def test_failures_of_many_sign_vectors_from_those_of_one(n, delta, tau):
    for (weights, k), high in itertools.product(NETWORK, (0, 2)):
        alarm, _ = failing(n, k, weights, tau, high, delta)
        assert thresholds.alarm(n, k, weights, tau, high, delta) == pytest.approx(alarm, rel=1e-9, abs=1e-12)
    for high in (0, 3):
        assert thresholds.miss(n, tau, high, delta) == pytest.approx(failing(n, 1, "softmax", tau, high, delta)[1], rel=1e-9)


@pytest.mark.parametrize(("n", "delta"), [*SIZES, (11, 0.5), (14, 0.9)])  # few signs: all networks end at 1
def test_the_interval_of_thresholds_ends_where_failures_begin(n, delta):
    found, worst = thresholds.ends(n, delta), regression.worst_high(n)

    def false(tau):
        return max(failing(n, k, weights, tau, worst, delta)[0] for weights, k in NETWORK[1:])

    assert (found.low, found.high) == regression.threshold_range(n, thresholds.readouts(n, delta), delta / n, worst)
    assert found.alarm == pytest.approx(false(found.low + 1e-8), rel=1e-9)
    assert found.alarm_left == pytest.approx(false(found.low - 1e-6), rel=1e-9)
    assert found.alarm <= 1 < found.alarm_left
    sides = [failing(n, 1, "softmax", found.high + step, worst, delta)[1] for step in (-1e-9, 1e-9)]
    assert [found.miss, found.miss_right] == pytest.approx(sides, rel=1e-9)
    assert found.miss <= 1 + 1e-9 and found.miss_right > 1


@pytest.mark.parametrize(("weights", "k"), [("linear", 1), ("softmax", 0), ("linear", 0)])
def test_false_alarms_at_four_kinds_of_thresholds(weights, k):
    delta, sizes = 0.9, (4, 16)  # at n = 4 no sign vector passes the certified edge
    found = thresholds.false_alarms(weights, k, sizes, delta)

    def at(n, tau, high=0):
        return failing(n, k, weights, tau, high, delta)[0]

    assert found.quarter == pytest.approx(at(2, 1 / 4), rel=1e-9)
    assert found.small == pytest.approx([at(n, 1 / n) for n in sizes], rel=1e-9)
    certified, own = [], []
    for n in sizes:
        m = thresholds.readouts(n, delta)
        norm = max(float(f_of(n, k, weights, high).norm()) for high in range(n))
        edge = norm * math.sqrt(2 * math.log(m * n / delta))
        certified += [at(n, edge, high) for high in (0, regression.worst_high(n), n // 2, n - 1)]
        own.append(at(n, regression.quiet_edge(n, m, delta / n, k, weights, high=0) + 1e-8))
    assert found.certified == pytest.approx(certified, rel=1e-9, abs=1e-12)
    assert found.own == pytest.approx(own, rel=1e-9)


@pytest.mark.parametrize(("n", "delta"), SIZES)
@pytest.mark.parametrize("tau", [0.4, 1.3])
def test_the_union_bound_takes_the_largest_norm(n, delta, tau):
    norm = max(float(f_of(n, k, weights, high).norm()) for weights, k in NETWORK[1:] for high in range(n))
    m = math.ceil(math.log2(n / delta))
    expected = m * math.exp(-(tau * tau) / 2 / norm**2) * n / delta
    assert thresholds.union_bound(n, tau, delta) == pytest.approx(expected, rel=1e-12)
    own = max(float(f_of(n, 1, "linear", high).norm()) for high in range(n))
    expected = m * math.exp(-(tau * tau) / 2 / own**2) * n / delta
    assert thresholds.union_bound(n, tau, delta, [("linear", 1)]) == pytest.approx(expected, rel=1e-12)


# Curves of the panels ------------------------------------------------------------------------------------------------


def few(name, points, trials=60):
    """A panel with some of its points."""
    grid = panels.panel(name)
    return panels.Panel(
        *(grid.name, grid.model, grid.parameter),
        tuple(grid.values[i] for i in points),
        tuple(grid.points[i] for i in points),
        trials,
    )


def curve_of(exact, shares=None, name="4d", trials=1000):
    rates = [panels.Rate(round(trials * p), trials, rate_interval(round(trials * p), trials)) for p in shares or exact]
    return panels.Curve(few(name, range(len(exact)), trials), exact, rates)


def test_one_interval_in_a_figure_may_miss():
    exact = [0.3, 0.5, 0.6, 0.9]
    for shares, misses in (
        (exact, 0),
        ([0.31, 0.5, 0.6, 0.7], 1),
        ([0.4, 0.5, 0.7, 0.9], 2),
        ([0.2, 0.4, 0.5, 0.8], 4),
    ):
        check = curve_of(exact, shares).intervals()
        assert check.method == "interval" and check.holds == (misses <= 1)
        assert f"curve: {misses} " in check.text
    # an end belongs to its interval
    low, high = rate_interval(500, 1000)
    for p in (low, high):
        assert "curve: 0 " in curve_of([p], [0.5]).intervals().text


def test_the_plot_shows_trials_with_their_intervals_over_the_exact_curve(monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: None)
    curves = {x: curve_of([0.1, 0.3, 0.8, 0.9], [0.2, 0.3, 0.7, 0.9], "4" + x) for x in "abcd"}
    plt.close("all")
    panels.plot_figure(curves)
    figure = plt.gcf()
    assert len(figure.axes) == 6 and [ax.axison for ax in figure.axes] == [True] * 4 + [False] * 2  # rows of three
    assert figure.get_size_inches() == pytest.approx([7.4, 5])
    assert [ax.get_ylabel() for ax in figure.axes] == ["P[success]", "", "", "P[success]", "", ""]
    for ax, (letter, curve) in zip(figure.axes, curves.items()):
        assert ax.get_xlabel() == curve.grid.parameter and ax.get_title() == f"Figure 4{letter}"
        assert ax.get_ylim() == (-0.04, 1.04)
        (marks, _, (bars,)), exact = ax.containers[0], ax.lines[-1]
        assert np.allclose(marks.get_xydata(), list(zip(curve.grid.values, [0.2, 0.3, 0.7, 0.9])))
        ends = [[(x, end) for end in rate.interval] for x, rate in zip(curve.grid.values, curve.rates)]
        assert np.allclose(bars.get_segments(), ends)
        assert np.allclose(exact.get_xydata(), list(zip(curve.grid.values, curve.exact)))
        assert exact.get_zorder() > marks.get_zorder() and (exact.get_color(), marks.get_color()) == (COLORS[0], GREY)
        sparse = letter == "b"  # d grows geometrically
        assert (ax.get_xscale(), exact.get_marker()) == (("log", "o") if sparse else ("linear", "None"))
        if sparse:
            assert ax.xaxis.get_transform().base == 2
    plt.close("all")
    panels.plot_figure(dict(list(curves.items())[:3]))  # one row
    assert [ax.axison for ax in plt.gcf().axes] == [True] * 3
    plt.close("all")


def test_exact_curves_know_whether_signs_are_shared():
    grid = panels.panel("7a")
    shared, fresh = panels.exact_curve(grid), panels.exact_curve(grid, shared_signs=False)
    assert max(abs(x - y) for x, y in zip(shared, fresh)) > 0.01
    assert fresh[0] == success_probability(**grid.points[0], shared_signs=False)
