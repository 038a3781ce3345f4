"""How large a knob must be: the least degree of a Taylor sum, and where the window of X = I
closes.
"""

import math
from collections.abc import Callable

import numpy as np
from attention_theory.attention import Weights
from attention_theory.exponential.competition import needed_log_ratio
from attention_theory.exponential.families import sharp
from attention_theory.exponential.windows import DataSet, lower_edge, paper_data, upper_edge
from attention_theory.separation import data
from scipy.special import gammaln
from theorybook.validation import (
    AtLeastOne,
    Count,
    Extended,
    NonNegative,
    OpenChance,
    Positive,
    Size,
)


def closing(family: Callable[[float], Weights], low: Positive = 1.0, high: Positive = 1e4) -> float:
    """log10 of the n at which the lower and the upper edge of the window meet, so that no knob is
    left, for X = I and the paper's sizes.

    Args:
        family: :func:`attention_theory.exponential.sharp` or ``power``.
        low, high: where to look, in log10 n.
    """
    for _ in range(60):
        middle = math.sqrt(low * high)
        D1, D0 = paper_data("self-identity", middle * math.log(10))
        closed = lower_edge(family, D1) > upper_edge(family, D0)
        low, high = (low, middle) if closed else (middle, high)
    return high


def least_sharpness(
    model: data.Model,
    n: AtLeastOne,
    a1: NonNegative,
    b: data.Scale = None,
    c: data.Scale = None,
    d: Count | None = None,
) -> Extended:
    """The sharpness from which F_u fires on D1: the special key gets the share 0.1 / (a1 + b), for
    cross-attention 0.45.

    With X = 1 and for cross-attention it is log((n - 1) share / (1 - share)) over the gap of the
    scores.

    Args:
        model: one of ``separation.MODELS``.
        n: rows, > 1.
        a1, b, c: sizes of D1.
        d: columns; matters for ``self-identity``, where None stands for infinitely many blocks.

    Returns:
        beta; ``inf`` where no sharpness is enough.

    Raises:
        ValueError: parameters that do not fit, n <= 1.

    >>> from attention_checks.exponential.knobs import least_sharpness
    >>> round(least_sharpness("cross", 200, a1=1.2), 2)
    0.8
    """
    return lower_edge(sharp, DataSet(model, math.log(n), a1, b, c, d))


def least_truncation(
    high: Positive, low: Positive, rivals: Positive, wanted: OpenChance = 0.5, most: Size = 100_000
) -> int | None:
    """The least even degree at which the truncated exponential gives the share ``wanted``; None if
    exp itself falls short.

    Raises:
        ValueError: scores that are not 0 < low < high; more than ``most`` terms are needed.
    """
    if not 0 < low < high:
        raise ValueError(f"high = {high}, low = {low} are not allowed: take 0 < low < high")
    needed = needed_log_ratio(wanted, math.log(rivals))
    if high - low <= needed:
        return None
    k = np.arange(most + 1)
    above, below = (np.logaddexp.accumulate(k * math.log(z) - gammaln(k + 1)) for z in (high, low))
    enough = np.flatnonzero(above[2::2] - below[2::2] >= needed)
    if not len(enough):
        raise ValueError(f"more than {most} terms are needed for scores {high} and {low}")
    return 2 * int(enough[0]) + 2
