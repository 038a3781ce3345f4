"""Where separation succeeds: the exact probability over n, d and the sizes of the data, and what it
needs (deng2023).

Sizes go in as decades, n = 10^decades. Everything is exact; nothing is drawn.
"""

import bisect
import math
from fractions import Fraction
from typing import Annotated, Any, NamedTuple

import torch
from attention_theory.separation import data
from attention_theory.separation.data import Model
from attention_theory.separation.exact import success_counts, success_probability
from attention_theory.separation.network import attention_features, readout
from theorybook.validation import (
    Chance,
    Count,
    Extended,
    Limits,
    NonNegative,
    OpenChance,
    Positive,
    Signed,
    Size,
)

from attention_checks.separation.chances import class_values

#: Parameters of Figures 4 and 5 (self-attention) and of Figure 7 (cross-attention).
PARAMETERS: dict[str, dict[str, Any]] = {
    "self-ones": {"a0": 0.01, "a1": 1.2, "b": 0.2, "c": 0.8},
    "self-identity": {"a0": 0.01, "a1": 1.2, "b": 0.2, "c": 0.8},
    "cross": {"a0": 0.01, "a1": 3.0},
}
DELTA = 0.01


def paper_readouts(decades: Positive, delta: OpenChance = DELTA) -> int:
    """The paper's number of sign vectors, rounded up: m = max{ceil(log(n/delta)), 15}."""
    return max(math.ceil(decades * math.log(10) - math.log(delta)), 15)


def success(model: Model, decades: Positive, d: Count, **changes: NonNegative) -> Extended:
    """P[E_success] at n = 10^decades with :func:`paper_readouts` sign vectors; nan where d blocks
    do not fit into n rows.

    Args:
        model: one of ``data.MODELS``.
        decades: log10 n.
        d: columns of the data.
        changes: of ``PARAMETERS``.
    """
    log_n = decades * math.log(10)
    if math.log(d) > log_n:
        return math.nan
    sizes: dict[str, Any] = PARAMETERS[model] | changes
    return success_probability(model, int(d), paper_readouts(decades), **sizes, log_n=log_n)


#: Thresholds above the paper's: epsilon (cross-attention: tau) near both ends of its range and in
#: the middle.
LEVELS = {"self-ones": (0.3, 0.5, 0.8), "self-identity": (0.3, 0.5, 0.8), "cross": (1.2, 1.5, 1.9)}


def needs_no_growth(model: Model, n: Count, level: Signed) -> bool:
    """Whether n and tau = (c + level) sqrt(log n), or tau = level, satisfy own-higher-threshold at
    ``PARAMETERS``.
    """
    a0, a1, *scales = PARAMETERS[model].values()
    if model == "cross":
        room = level - 1
        return 3 * n ** (1 - a1) < 2 - level and n ** (a0 - 1) <= room and 1 + a1 <= n * room
    b, c = scales
    own, room = n ** (b * b), level - b
    if model == "self-ones":
        power, weight, linear = (lambda a: a * (a + b + c)), 1.0, (a1 + b + c) / (b + c)
    else:
        power, weight, linear = (lambda a: a * a), own, max((a1**2 + b**2 + c**2) / c**2, own)
    noisy = a0 * n ** (power(a0) - 1) * weight > room or a1 * linear / n > room
    detected = a1 * n ** (1 - power(a1)) < a1 - b - level and a1 + b <= 2 * c + level
    return room > 0 and detected and not noisy


def no_growth_from(model: Model, level: Signed) -> int:
    """The least n from which on, up to 1000, :func:`needs_no_growth` is true."""
    return 1 + max(n for n in range(2, 1001) if not needs_no_growth(model, n, level))


def reliable_from(
    model: Model, exponent: Positive, target: OpenChance = 0.99, most: Size = 100
) -> float | None:
    """log10 of the n from which on P >= target with d = n^exponent, to half a decade; None if it
    fails at n = 10^most.
    """

    def reached(half: int) -> bool:
        return success(model, half / 2, max(round(10 ** (exponent * half / 2)), 4)) >= target

    coarse = [half for half in range(2, 2 * most + 1, 6) if not reached(half)]  # n = 10, 10^4, ...
    if coarse[-1] + 6 > 2 * most:
        return None
    return next(half for half in range(coarse[-1] + 6, coarse[-1], -1) if not reached(half - 1)) / 2


def least_dimension(
    model: Model, decades: Annotated[int, Limits(1, 1000)], delta: OpenChance = DELTA
) -> int:
    """d* from which on a false alarm has probability at most delta/n, by the union over
    :func:`paper_readouts` sign vectors.

    One more than the largest d that fails, in a window around the place that bisection finds
    (parity makes small steps).
    """

    def fails(d: int) -> bool:
        block = d - 1 if model == "cross" else d - 2
        n = block * -(
            -(10**decades) // block
        )  # the first multiple of the block size from 10^decades on
        counts = success_counts(model, n, d, **PARAMETERS[model])
        alarm = Fraction(counts.total - counts.ok, counts.total)
        return math.ceil(decades * math.log(10) - math.log(delta)) * alarm * n > Fraction(delta)

    low, high = 3, 4
    while fails(high):
        low, high = high, 2 * high
    low = bisect.bisect_left(range(high), True, lo=low + 1, key=lambda d: not fails(d)) - 1
    return 1 + max(d for d in range(low, low + 9) if fails(d))


def entropy(q: Chance) -> float:
    """Entropy of a coin, in nats."""
    return -q * math.log(q) - (1 - q) * math.log(1 - q)


def dimension_constant(share: Chance) -> float:
    """C with Pr[at least that share of N fair signs is +1] = exp(-(1 + o(1)) N / C), for a share
    above 1/2 (Cramer).
    """
    return 1 / (math.log(2) - entropy(share))


class LinearGap(NamedTuple):
    """Linear attention read out with y = 1, one sign vector, and tau midway between its largest
    values on D0 and D1.

    Attributes:
        on_D0, on_D1: the outputs F_lin.
        gap: (largest value on D1) / (largest value on D0) - 1.
    """

    on_D0: float
    on_D1: float
    gap: float


def linear_gap(model: Model, n: Count, d: Count) -> LinearGap:
    """The outputs of the literal network, at ``PARAMETERS``."""
    a0, a1, *scales = PARAMETERS[model].values()
    y, features = torch.ones(d, 1, dtype=torch.float64), []
    for a in (a0, a1):
        A1, A2, X = data.inputs(model, n, d, a, *scales)
        features.append(attention_features(A1, A2, A2, X, "linear"))
    tops = [float((rows @ y).max()) for rows in features]
    tau = sum(tops) / 2
    low, high = (readout(rows, y, tau) for rows in features)
    return LinearGap(low, high, tops[1] / tops[0] - 1)


def linear_weights_gap(model: Model, n: Count, d: Count) -> float:
    """The difference of the largest values on D1 and D0, over the one on D0 and times n, from the
    classes of rows, for any n.

    Only the first column's coefficient differs visibly at large n, so that the difference is taken
    there.
    """
    a0, a1, *scales = PARAMETERS[model].values()
    special = [class_values(model, "linear", n, d, a, *scales)[0] for a in (a0, a1)]
    others = (d - 2 if model == "cross" else d - 3) * special[0].other + special[0].best
    top = special[0].first + special[0].star + special[0].last + others
    return float(n * (special[1].first - special[0].first) / top)
