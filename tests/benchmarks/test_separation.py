"""Cost of the routes to the probability of success, in one run: ratios with the margins of the issue, times for the record.

pytest tests/benchmarks/test_separation.py --benchmark-only
"""

import time

import pytest
from attention_theory import separation

pytestmark = pytest.mark.benchmark(group="separation")
TRIALS = 100


def best_of(function: object, repeats: int) -> float:
    """Shortest time of a few runs in seconds: the one least disturbed by other work on the machine."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def point_costs(point: dict, kronecker: bool) -> dict[str, float | None]:
    """Seconds for one point with 100 trials by each route; the literal ones extrapolated from one trial.

    Without ``kronecker`` its route is left out: it holds n^2 d^2 numbers.
    """
    return {
        "kronecker": TRIALS * best_of(lambda: separation.literal_success(**point, seed=0, kronecker=True), 2)
        if kronecker
        else None,
        "literal": TRIALS * best_of(lambda: separation.literal_success(**point, seed=0), 5),
        "batched": best_of(lambda: separation.success_rate(**point, trials=TRIALS, seed=0), 10),
        "exact": best_of(lambda: separation.success_probability(**point), 50),
    }


def measure() -> dict:
    """Times of the routes at the smallest and largest n of Figure 4a and over its sweep, and of all exact curves together."""
    points = separation.panel("4a").points
    best_of(lambda: separation.success_rate(**points[0], trials=TRIALS, seed=0), 3)  # warm up
    sweep = [point_costs(point, kronecker=False) for point in points[::8]]
    panels = [separation.panel(name) for name in separation.panels.NAMES[2:]]
    return {
        "points": {str(point["n"]): point_costs(point, kronecker=point["n"] <= 200) for point in (points[0], points[-1])},
        "sweep": {route: sum(costs[route] for costs in sweep) for route in ("literal", "batched", "exact")},
        "panels": best_of(lambda: [separation.exact_curve(grid) for grid in panels], 3),
    }


@pytest.fixture(autouse=True)
def timed(benchmark):
    if benchmark.disabled:
        pytest.skip("measures time")


def test_exact_curves_of_all_panels(benchmark):
    panels = [separation.panel(name) for name in separation.panels.NAMES[2:]]
    curves = benchmark.pedantic(lambda: [separation.exact_curve(grid) for grid in panels], rounds=3, warmup_rounds=1)
    assert sum(map(len, curves)) == 1160
    assert benchmark.stats.stats.min < 10  # about a second; ten leaves room for a slow machine


def test_ratios_on_figure_4a(benchmark):
    """Literal against batched against exact on the Fig 4a sweep."""
    seconds = measure()["sweep"]
    benchmark.extra_info.update(seconds)
    points = separation.panel("4a").points
    benchmark.pedantic(lambda: [separation.success_probability(**point) for point in points], rounds=3)
    assert seconds["literal"] >= 50 * seconds["batched"]
    assert seconds["batched"] >= 10 * seconds["exact"]


def test_kronecker_form(benchmark):
    """One trial through the n^2 x d^2 product costs many times one trial through n x n attention."""
    costs = point_costs(separation.panel("4a").points[0] | {"n": 100}, kronecker=True)
    benchmark.extra_info.update(costs)
    benchmark.pedantic(lambda: separation.literal_success(**separation.panel("4a").points[0], seed=0), rounds=3)
    assert costs["kronecker"] >= 5 * costs["literal"]
