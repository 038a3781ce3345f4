"""The paper's experiments: the grid of every panel of Figures 3, 4, 5 and 7, and what to do with
one.

The images are not needed: section 7 and appendix F.6 of deng2023 print the sweeps. Panels go by the
letters of that text; the captions of Figures 4d/4f and 5d/5f have a1 and c exchanged. What the text
leaves open is an argument here.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from attention_theory.separation.exact import success_probability
from attention_theory.separation.network import Rate, success_rate
from theorybook import Check, compare
from theorybook.validation import FILLED, NonNegative, Seed, Signed, Size

NAMES = (
    "3a",
    "3b",
    *("4" + x for x in "abcdef"),
    *("5" + x for x in "abcdef"),
    *("7" + x for x in "abcde"),
)
ROUNDINGS: dict[str, Callable[[float], int]] = {
    "floor": math.floor,
    "nearest": round,
    "ceil": math.ceil,
}
DELTA = 0.01


@dataclass(frozen=True)
class Panel:
    """One panel: ``points`` are keyword arguments of :func:`success_probability` and, with trials
    and a seed, of
    :func:`success_rate` (for Figure 3: n and m of the regression model); ``values`` are those of
    the swept ``parameter``.
    """

    name: str
    model: str
    parameter: str
    values: tuple[float, ...]
    points: tuple[dict[str, Any], ...]
    trials: Size


def _grid(start: NonNegative, stop: NonNegative, step: NonNegative) -> list[float]:
    """start, start + step, ..., up to stop, as the decimal numbers that are written."""
    return [round(start + i * step, 6) for i in range(math.floor((stop - start) / step + 1e-9) + 1)]


def panel(
    name: str,
    rounding: Literal["floor", "nearest", "ceil"] = "floor",
    keep: Literal["n", "d"] = "n",
) -> Panel:
    """The grid of one panel of Figures 3 (a-b), 4 (a-f), 5 (a-f) or 7 (a-e).

    Args:
        name: for example ``4a``.
        rounding: how m = ln n (Figure 3a) and m = ln(n/delta) (Figure 7) become integers: ``floor``
            as Python's ``int``, ``nearest`` or ``ceil``. In Figures 4 and 5 m = max(ln(n/delta),
            15) is 15 throughout.
        keep: Figures 7d and 7e print n = 200 with d = 12, which violates n = (d-1) t. ``n`` keeps
            200 and takes d = 11 as in Figure 7a; ``d`` keeps 12 and takes n = 198.

    Settings that the text omits: a0 = 0.01 in Figures 4f and 5f, a1 = 3 in Figure 7e (it prints a0
    twice).

    Raises:
        ValueError: unknown panel.
    """
    if name not in NAMES:
        raise ValueError(f"panel {name!r} is unknown; choose one of {', '.join(NAMES)}")
    figure, letter = name
    whole = ROUNDINGS[rounding]

    if figure == "3":
        if letter == "a":
            parameter, values = "n", list(range(100, 2001, 10))
            points = [{"n": n, "m": whole(math.log(n))} for n in values]
        else:
            parameter, values = "m", list(range(1, 101))
            points = [{"n": 1000, "m": m} for m in values]
        return Panel(name, "regression", parameter, tuple(values), tuple(points), trials=1000)

    sizes = list(range(200, 1001, 10))
    if figure == "7":
        model = "cross"
        fixed: dict[str, Any] = {"n": 200, "d": 11, "a0": 0.01, "a1": 3}
        if letter in "de" and keep == "d":
            fixed |= {"n": 198, "d": 12}
        sweeps = {
            "a": ("n", sizes),
            "b": ("d", [2, 3, 5, 6, 9, 11, 21, 26, 41, 51]),
            "c": ("m", list(range(1, 81))),
            "d": ("a1", _grid(0.1, 3, 0.036)),
            "e": ("a0", _grid(0.01, 0.9, 0.01)),
        }
    else:
        model = "self-identity" if figure == "4" else "self-ones"
        fixed = {"n": 200, "d": 22, "a0": 0.01, "a1": 1.2, "b": 0.2, "c": 0.8}
        fixed |= {"a": {"d": 12}, "b": {"n": 256}}.get(letter, {})
        sweeps = {
            "a": ("n", sizes),
            "b": ("d", [4, 6, 10, 18, 34, 66]),
            "c": ("m", list(range(1, 81))),
            "d": ("a1", _grid(0.1, 3, 0.036)),
            "e": ("a0", _grid(0.01, 0.8, 0.01)),
            "f": ("c", _grid(0.5, 0.9, 0.005)),
        }
    parameter, values = sweeps[letter]
    points = []
    for value in values:
        point: dict[str, Any] = {"model": model} | fixed | {parameter: value}
        width = math.log(point["n"] / DELTA)
        points.append({"m": whole(width if figure == "7" else max(width, 15))} | point)
    return Panel(name, model, parameter, tuple(values), tuple(points), trials=100)


def as_printed(grid: Panel, printed: dict[str, Any], unprinted: Sequence[str] = ()) -> list[Check]:
    """Checks that a grid has the settings that the paper prints.

    Args:
        grid: from :func:`panel`.
        printed: the swept values as a list, the other settings as numbers, ``models`` for the
            trials; an m that is given in words, ``log n`` or ``log(n/delta)``, is allowed any
            rounding.
        unprinted: settings that the paper does not give, or gives wrongly, which the grid fills.
    """
    if not {grid.parameter, "models"} <= set(printed):
        raise ValueError(
            f"printed settings {', '.join(printed)}: {grid.parameter} and models are needed"
        )
    same = {
        "swept values": list(grid.values) == printed[grid.parameter],
        "trials": grid.trials == printed["models"],
    }
    for key in set(printed) - {grid.parameter, "models", *unprinted}:
        if key == "m" and isinstance(printed[key], str):
            delta = DELTA if "delta" in printed[key] else 1
            same["m"] = all(
                abs(point["m"] - math.log(point["n"] / delta)) < 1 for point in grid.points
            )
        else:
            same[key] = all(point[key] == printed[key] for point in grid.points)
    names = ", ".join(sorted(same))
    return [compare(f"settings as printed: {names}", sum(same.values()), "==", len(same))]


def exact_curve(grid: Panel, shared_signs: bool = True) -> list[float]:
    """The exact probability of success at every point of a panel of Figures 4, 5 or 7."""
    return [success_probability(**point, shared_signs=shared_signs) for point in grid.points]


def sampled_rates(grid: Panel, seed: Seed = 0, shared_signs: bool = True) -> list[Rate]:
    """Monte Carlo at every point of a panel of Figures 4, 5 or 7, with the paper's number of
    trials.
    """
    return [
        success_rate(**point, trials=grid.trials, seed=1000 * seed + i, shared_signs=shared_signs)
        for i, point in enumerate(grid.points)
    ]


@dataclass(frozen=True)
class Curve:
    """A panel as computed: the exact probability and the paper's trials at every point."""

    grid: Panel
    exact: list[float]
    rates: list[Rate]

    def at(self, value: Signed) -> float:
        """The exact probability at a value of the swept parameter."""
        if value not in self.grid.values:
            raise ValueError(
                f"value = {value} is not on the grid: {', '.join(map(str, self.grid.values))}"
            )
        return self.exact[self.grid.values.index(value)]

    def best(self) -> list[float]:
        """All values at which the exact probability is largest: equal counts are equal numbers."""
        return [value for value, p in zip(self.grid.values, self.exact) if p == max(self.exact)]

    def likely(self) -> list[float]:
        """The values with success more likely than not."""
        return [value for value, p in zip(self.grid.values, self.exact) if p > 0.5]

    def turns(self) -> int:
        """How often the exact probability changes from rising to falling or back."""
        steps = [
            later > earlier
            for earlier, later in itertools.pairwise(self.exact)
            if abs(later - earlier) > 1e-9
        ]
        return sum(now != before for before, now in itertools.pairwise(steps))

    def misses(self) -> int:
        """How many of the 99.9% intervals do not contain the exact value."""
        return sum(
            not rate.interval[0] <= p <= rate.interval[1] for p, rate in zip(self.exact, self.rates)
        )

    def intervals(self) -> Check:
        """A check that at most one of the 99.9% intervals does not contain the exact value."""
        return compare(
            "99.9% intervals that miss the exact curve", self.misses(), "<=", 1, method="interval"
        )


def figure(number: str, letters: str, seeds: Iterable[int]) -> dict[str, Curve]:
    """The panels of a figure, by letter, with one seed for each."""
    grids = {x: panel(number + x) for x in letters}
    return {
        x: Curve(g, exact_curve(g), sampled_rates(g, seed))
        for (x, g), seed in zip(grids.items(), seeds)
    }


def summary(curves: dict[str, Curve], **more: Sequence) -> dict[str, Sequence]:
    """The columns of a table of the numbers behind :func:`plot_figure`."""
    exact = [curve.exact for curve in curves.values()]
    return {
        "panel": [f"{curve.grid.name}: {curve.grid.parameter}" for curve in curves.values()],
        "first": [p[0] for p in exact],
        "middle": [p[len(p) // 2] for p in exact],
        "last": [p[-1] for p in exact],
        "largest": [max(p) for p in exact],
    } | more


def plot_figure(curves: Annotated[dict[str, Curve], FILLED]) -> None:
    """Panels in rows of three: trials with their 99.9% intervals (grey) over the exact curve."""
    import matplotlib.pyplot as plt  # here, so that the mathematics imports without matplotlib
    from theorybook.figures import COLORS, GREY

    rows = -(-len(curves) // 3)
    _, axes = plt.subplots(rows, 3, figsize=(7.4, 2.5 * rows), sharey=True, squeeze=False)
    for ax in axes.flat[len(curves) :]:
        ax.set_axis_off()
    for ax, curve in zip(axes.flat, curves.values()):
        grid, share = curve.grid, [rate.successes / rate.trials for rate in curve.rates]
        bars = [
            [abs(s - rate.interval[side]) for s, rate in zip(share, curve.rates)] for side in (0, 1)
        ]
        sparse = grid.parameter == "d"  # few values, growing geometrically
        ax.errorbar(grid.values, share, bars, fmt="o", ms=2, lw=0.5, color=GREY)
        ax.plot(grid.values, curve.exact, "o-" if sparse else "-", ms=4, color=COLORS[0], zorder=3)
        if sparse:
            ax.set_xscale("log", base=2)
        ax.set(xlabel=grid.parameter, ylim=(-0.04, 1.04), title=f"Figure {grid.name}")
    for ax in axes[:, 0]:
        ax.set_ylabel("P[success]")
    plt.show()
