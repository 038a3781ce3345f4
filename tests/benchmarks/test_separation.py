"""Cost of the routes to the probability of success, in one run: ratios with the margins of the issue, times for the record.

    pytest tests/benchmarks/test_separation.py --benchmark-only
"""

import pytest
from attention_theory import separation
from attention_theory.separation import cost

pytestmark = pytest.mark.benchmark(group="separation")


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
    seconds = cost.measure()["sweep"]
    benchmark.extra_info.update(seconds)
    points = separation.panel("4a").points
    benchmark.pedantic(lambda: [separation.success_probability(**point) for point in points], rounds=3)
    assert seconds["literal"] >= 50 * seconds["batched"]
    assert seconds["batched"] >= 10 * seconds["exact"]


def test_kronecker_form(benchmark):
    """One trial through the n^2 x d^2 product costs many times one trial through n x n attention."""
    costs = cost.point_costs(separation.panel("4a").points[0] | {"n": 100}, kronecker=True)
    benchmark.extra_info.update(costs)
    benchmark.pedantic(lambda: separation.literal_success(**separation.panel("4a").points[0], seed=0), rounds=3)
    assert costs["kronecker"] >= 5 * costs["literal"]
