"""What the four routes to the probability of success cost, measured in one run.

    python -m attention_theory.separation.cost book/data/separation-cost.json

The file records the times and where they come from; the chapter shows their ratios.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from ..sweep import provenance
from .exact import success_probability
from .network import literal_success, success_rate
from .panels import NAMES, exact_curve, panel

TRIALS = 100


def best_of(function: Callable[[], Any], repeats: int) -> float:
    """Shortest time of a few runs in seconds: the one least disturbed by other work on the machine."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def point_costs(point: dict[str, Any], kronecker: bool) -> dict[str, float | None]:
    """Seconds for one point with 100 trials by each route; the literal ones extrapolated from one trial.

    Without ``kronecker`` its route is left out: it holds n^2 d^2 numbers.
    """
    return {
        "kronecker": TRIALS * best_of(lambda: literal_success(**point, seed=0, kronecker=True), 2) if kronecker else None,
        "literal": TRIALS * best_of(lambda: literal_success(**point, seed=0), 5),
        "batched": best_of(lambda: success_rate(**point, trials=TRIALS, seed=0), 10),
        "exact": best_of(lambda: success_probability(**point), 50),
    }


def measure() -> dict[str, Any]:
    """Times of the routes at the smallest and largest n of Figure 4a and over its sweep, and of all exact curves together."""
    points = panel("4a").points
    best_of(lambda: success_rate(**points[0], trials=TRIALS, seed=0), 3)  # warm up
    sweep = [point_costs(point, kronecker=False) for point in points[::8]]
    panels = [panel(name) for name in NAMES[2:]]
    return {
        "points": {str(point["n"]): point_costs(point, kronecker=point["n"] <= 200) for point in (points[0], points[-1])},
        "sweep": {route: sum(costs[route] for costs in sweep) for route in ("literal", "batched", "exact")},
        "panels": best_of(lambda: [exact_curve(grid) for grid in panels], 3),
    }


def origin() -> dict[str, Any]:
    """What made the file, on what, and when."""
    return {
        "command": "python -m attention_theory.separation.cost book/data/separation-cost.json",
        **provenance(),
        "threads": torch.get_num_threads(),
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps({"provenance": origin(), "seconds": measure()}, indent=1) + "\n", encoding="utf-8")
