"""The softmax regression model: failure probabilities of its lemmas, and the samples of Figure 3 of
deng2023.
"""

import bisect
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Annotated, NamedTuple

import torch
from attention_theory.device import generator, signs
from attention_theory.separation import regression
from attention_theory.separation.network import Rate
from theorybook import rate_interval
from theorybook.validation import Bit, Count, Limits, Natural, OpenChance, Seed, Signed

from attention_checks.separation import panels


def readouts(n: Count, delta: OpenChance) -> int:
    """The least m at which missing the spike, 2^-m, is at most delta/n."""
    return math.ceil(math.log2(n / delta))


def alarm(
    n: Count, dataset: Bit, weights: str, tau: Signed, high: Natural, delta: OpenChance
) -> float:
    """Probability that one of :func:`readouts` sign vectors makes the network positive, times
    n/delta.
    """
    one = regression.alarm_probability(n, dataset, weights, tau, high)
    return -math.expm1(readouts(n, delta) * math.log1p(-one)) * n / delta


class Averages(NamedTuple):
    """Failure probabilities of a bound on |<f, sigma>|, times n/delta, over all (n, delta) of a
    grid.

    Attributes:
        exact: on the data of largest norm, by binomial sums.
        hoeffding: Hoeffding's bound over all data of Definition 3.8.
        worst: how many entries of the data of largest norm are high.
    """

    exact: list[float]
    hoeffding: list[float]
    worst: list[int]


def averages(
    dataset: Bit,
    weights: str,
    bound: Callable[[int, float], float],
    sizes: Sequence[int],
    deltas: Sequence[float],
) -> Averages:
    """How often |<f, sigma>| exceeds ``bound(n, delta)`` (deng2023, Lemmas 4.1 and 4.2 Part 1)."""
    exact, hoeffding, worst = [], [], []
    for n, delta in itertools.product(sizes, deltas):
        tau, high = bound(n, delta), regression.worst_high(n, dataset, weights)
        norm = float(regression.regression_weights(n, dataset, weights, high).norm())
        exact.append(2 * regression.alarm_probability(n, dataset, weights, tau, high) * n / delta)
        hoeffding.append(2 * math.exp(-(tau**2) / (2 * norm**2)) * n / delta)
        worst.append(high)
    return Averages(exact, hoeffding, worst)


def first_nontrivial(bound: Callable[[int, float], float], delta: OpenChance = 0.1) -> int:
    """The smallest n at which a decreasing bound on |<f, sigma>| is below 1, where it begins to say
    something.
    """
    return bisect.bisect_left(range(10**18), True, lo=2, key=lambda n: bound(n, delta) < 1)


def first_separable(high: Callable[[int], int], delta: OpenChance = 0.01) -> int:
    """The smallest n whose interval of thresholds is not empty."""
    for n in range(2, 1000):
        low, top = regression.threshold_range(n, readouts(n, delta), delta / n, high(n))
        if low < top:
            return n
    raise ValueError("no n below 1000 has a threshold")


class Ends(NamedTuple):
    """The interval of thresholds for the data of largest norm, with probabilities times n/delta
    just around its ends.

    Attributes:
        low, high: the interval.
        alarm, alarm_left: the largest of the three false alarms at ``low``, and 1e-6 to its left.
        miss, miss_right: of F_exp(D1) > 0, 1e-9 to the left and to the right of ``high``.
    """

    low: float
    high: float
    alarm: float
    alarm_left: float
    miss: float
    miss_right: float


def miss(n: Count, tau: Signed, high: Natural, delta: OpenChance) -> float:
    """Probability that :func:`readouts` sign vectors all miss F_exp(D1) > 0, times n/delta."""
    one = regression.alarm_probability(n, 1, "softmax", tau, high)
    return (1 - one) ** readouts(n, delta) * n / delta


def ends(n: Count, delta: OpenChance) -> Ends:
    """The ends of the interval of thresholds, with the probabilities that show them to be ends."""
    worst = regression.worst_high(n)
    low, high = regression.threshold_range(n, readouts(n, delta), delta / n, worst)

    def false(tau: float) -> float:
        return max(
            alarm(n, k, weights, tau, worst, delta) for weights, k in regression.NETWORKS[1:]
        )

    misses = [miss(n, high + step, worst, delta) for step in (-1e-9, 1e-9)]
    return Ends(low, high, false(low), false(low - 1e-6), *misses)


class FalseAlarms(NamedTuple):
    """False alarms of one network, times n/delta, at four kinds of thresholds.

    Attributes:
        quarter: at 1/4 for n = 2.
        small: at 1/n, for each n.
        certified: at the network's own :func:`regression.certified_edge`, for each n and four kinds
            of data.
        own: at the network's own :func:`regression.quiet_edge`.
    """

    quarter: float
    small: list[float]
    certified: list[float]
    own: list[float]


def false_alarms(
    weights: str, dataset: Bit, sizes: Sequence[int], delta: OpenChance
) -> FalseAlarms:
    """False alarms of one network (deng2023, Lemmas 5.1, 5.3, 5.4)."""

    def at(n: int, tau: float, high: int = 0) -> float:
        return alarm(n, dataset, weights, tau, high, delta)

    certified, own = [], []
    for n in sizes:
        m, risk = readouts(n, delta), delta / n
        edge = regression.certified_edge(n, m, risk, [(weights, dataset)])
        certified += [at(n, edge, high) for high in (0, regression.worst_high(n), n // 2, n - 1)]
        own.append(at(n, regression.quiet_edge(n, m, risk, dataset, weights)))
    return FalseAlarms(at(2, 0.25), [at(n, 1 / n) for n in sizes], certified, own)


def union_bound(
    n: Annotated[int, Limits(1, 10_000)],
    tau: Signed,
    delta: OpenChance,
    networks: regression.Networks = regression.NETWORKS[1:],
) -> float:
    """The union bound m exp(-tau^2 / 2|f|^2) n/delta with the largest |f| over all two-level data,
    tried one by one.
    """
    data = itertools.product(networks, range(n))
    norm = max(
        float(regression.regression_weights(n, k, weights, high).norm())
        for (weights, k), high in data
    )
    return readouts(n, delta) * math.exp(-(tau**2) / (2 * norm**2)) * n / delta


def figure_3(name: str, tau: Signed, seed: Seed) -> panels.Curve:
    """One panel of Figure 3 by sampled networks with shared signs, on the data of largest norm, m
    rounded.

    ``3a``: each n reads its signs from a window of one pool, shifted by one a point, so that each
    has its own sign of the spike. ``3b``: the first m of 100 sign vectors are used, so neighbouring
    points move together.

    Args:
        name: 3a or 3b.
        tau: threshold, which the paper does not give.
        seed: of the signs.
    """
    grid, gen = panels.panel(name, rounding="nearest"), generator(seed)
    sizes, ms = (tuple(point[key] for point in grid.points) for key in ("n", "m"))
    worst = {n: regression.worst_high(n) for n in set(sizes)}
    successes = torch.zeros(len(ms), dtype=torch.int64)
    if name == "3a":
        pool = signs(grid.trials, max(ms), max(sizes) + len(sizes), generator=gen)
        sums = torch.nn.functional.pad(
            pool.cumsum(-1), (1, 0)
        )  # sums[..., k]: of the first k signs
        for i, (n, m) in enumerate(zip(sizes, ms)):
            ends = sums[:, :m, [i, i + 1, i + n - worst[n], i + n]]
            successes[i] = regression.regression_successes(ends.diff(dim=-1), n, tau, worst[n])[-1]
    else:
        n = sizes[0]
        for _ in range(20):
            y = signs(grid.trials // 20, max(ms), n, generator=gen)
            sums = regression.group_sums(y, worst[n])
            successes += torch.tensor(regression.regression_successes(sums, n, tau, worst[n]))
    exact = [regression.regression_success(n, m, tau, worst[n]) for n, m in zip(sizes, ms)]
    return panels.Curve(
        grid,
        exact,
        [Rate(k, grid.trials, rate_interval(k, grid.trials)) for k in successes.tolist()],
    )
