"""Cost of the routes to the probability of success, in one run: ratios with a wide margin, and the times for the record.

    pytest tests/benchmarks/test_separation.py --benchmark-only
"""

import time

import pytest
from attention_theory import separation

pytestmark = pytest.mark.benchmark(group="separation")


@pytest.fixture(autouse=True)
def timed(benchmark):
    if benchmark.disabled:
        pytest.skip("measures time")


def best_of(function, repeats):
    """Shortest time of a few runs: the one least disturbed by others on the machine."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def test_exact_curves_of_all_panels(benchmark):
    panels = [separation.panel(name) for name in separation.panels.NAMES[2:]]
    curves = benchmark.pedantic(lambda: [separation.exact_curve(grid) for grid in panels], rounds=3, warmup_rounds=1)
    assert sum(map(len, curves)) == 1160
    assert benchmark.stats.stats.min < 10  # about a second; ten leaves room for a slow machine


def test_ratios_on_figure_4a(benchmark):
    """Literal against batched against exact on every tenth n of the Fig 4a sweep, 100 trials each."""
    points = separation.panel("4a").points[::10]

    def exact():
        return [separation.success_probability(**point) for point in points]

    def batched():
        return [separation.success_rate(**point, trials=100, seed=0) for point in points]

    def literal(trials=2):
        return [separation.literal_success(**point, seed=seed) for point in points for seed in range(trials)]

    batched()  # warm up
    one, many, single = best_of(exact, 7), best_of(batched, 5), best_of(literal, 3)
    ratios = {"literal / batched, per trial": (single / 2) / (many / 100), "batched / exact": many / one}
    benchmark.extra_info.update(ratios)
    benchmark.pedantic(exact, rounds=5)
    print(ratios)
    assert ratios["literal / batched, per trial"] >= 50
    assert ratios["batched / exact"] >= 10


def test_kronecker_form(benchmark):
    """One trial through the n^2 x d^2 product costs many times one trial through n x n attention."""
    point = separation.panel("4a").points[0] | {"n": 100, "d": 12}
    kronecker = best_of(lambda: separation.literal_success(**point, seed=0, kronecker=True), 3)
    rows = best_of(lambda: separation.literal_success(**point, seed=0), 5)
    benchmark.extra_info["kronecker / rows"] = kronecker / rows
    benchmark.pedantic(lambda: separation.literal_success(**point, seed=0), rounds=3)
    print("kronecker / rows", kronecker / rows)
    assert kronecker >= 5 * rows
