"""The measuring functions of Part II."""

import pytest
from attention_theory.separation import panels, paper, regression
from attention_theory.separation.runs import thresholds


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
        assert run.misses() == 0 and len(run.successes) == len(run.exact) == len(run.grid.values)


@pytest.mark.parametrize("name", panels.NAMES)
def test_panels_have_the_printed_settings(name):
    printed = {"3": paper.figure_3, "4": paper.figure_4, "5": paper.figure_4, "7": paper.figure_7}[name[0]](name[1])
    filled = {"4f": ["a0"], "5f": ["a0"], "7d": ["d"], "7e": ["d", "a1"]}.get(name, [])
    grid = panels.panel(name)
    assert all(check.holds for check in panels.as_printed(grid, printed, filled))
    for key in set(printed) - {"models", grid.parameter, *filled}:
        assert not all(check.holds for check in panels.as_printed(grid, printed | {key: 7.5}, filled)), key
