"""One key against its rivals: the ratio u(score) / u(rival's score) against the number of rivals
(chapter "Contrast against the crowd").

Everything is computed in logarithms, so that 10^100 rivals are no harder than ten.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln
from theorybook.validation import AtLeastOne, Extended, OpenChance, Positive, Signed

from attention_theory.attention import Weights


def log_u(weights: Weights, score: Signed) -> Extended:
    """The logarithm of u(score), for a score >= 0; minus infinity where u = 0.

    Raises:
        ValueError: a negative score (powers change sign there), or infinite sharpness.
    """
    if not 0 <= score < math.inf:
        raise ValueError(f"score = {score} is not allowed: log u is taken at finite scores >= 0")
    if weights.family == "sharp":
        if weights.knob == math.inf:
            raise ValueError("the hard maximum has no u: its weights depend on the whole row")
        return weights.knob * score
    if score == 0:
        return 0.0 if weights.family == "truncated" else -math.inf
    if weights.family == "truncated":
        k = np.arange(int(weights.knob) + 1)
        return float(np.logaddexp.reduce(k * math.log(score) - gammaln(k + 1)))
    return weights.knob * math.log(score)


def log_ratio(weights: Weights, high: Signed, low: Signed) -> float:
    """The logarithm of u(high) / u(low): what decides whether a key at ``high`` stands out among
    keys at ``low``.
    """
    return log_u(weights, high) - log_u(weights, low)


def share(log_ratio: Signed, log_rivals: Signed) -> float:
    """Weight of one key against rivals of equal score: 1 / (1 + rivals / ratio)."""
    excess = log_rivals - log_ratio
    return math.exp(-excess) / (1 + math.exp(-excess)) if excess > 0 else 1 / (1 + math.exp(excess))


def needed_log_ratio(wanted: OpenChance, log_rivals: Signed) -> float:
    """The log ratio at which the key has the wanted share: log rivals + log(share / (1 - share)).

    Raises:
        ValueError: the share is not strictly between 0 and 1.
    """
    if not 0 < wanted < 1:
        raise ValueError(f"a share of {wanted} is not allowed: it lies strictly between 0 and 1")
    return log_rivals + math.log(wanted / (1 - wanted))


def least_knob(
    family: Callable[[float], Weights],
    high: Signed,
    low: Signed,
    rivals: Positive,
    wanted: OpenChance = 0.5,
) -> float:
    """The least sharpness, or least real degree of a power, at which a key at ``high`` has the
    wanted share against rivals at ``low``.

    ``sharp``: needed_log_ratio / (high - low). ``power``: needed_log_ratio / log(high / low).

    Args:
        family: :func:`sharp` or :func:`power` (also ``relu_power``).
        high, low: scores, high > low > 0 (sharp: any with high > low).
        rivals: number of rivals.
        wanted: the share.

    Raises:
        ValueError: scores in another order, or a family without a closed form.
    """
    if not high > low:
        raise ValueError(
            f"high = {high}, low = {low} are not allowed: the key must score higher than its rivals"
        )
    needed = needed_log_ratio(wanted, math.log(rivals))
    kind = family(1).family
    if kind == "sharp":
        return needed / (high - low)
    if kind == "truncated" or low <= 0:
        raise ValueError(f"{kind}: no closed form, or a score that is not positive")
    return needed / math.log(high / low)


def solve_knob(
    excess: Callable[[float], float], low: Positive = 1e-9, high: Positive = 1e9
) -> Extended:
    """The knob at which an increasing function crosses 0; ``inf`` if it stays below 0, ``low`` if
    it starts above.
    """
    if excess(low) >= 0:
        return low
    while low < high and excess(2 * low) < 0:
        low *= 2
    return brentq(excess, low, 2 * low, xtol=1e-12, rtol=1e-12) if low < high else math.inf  # type: ignore[return-value]


def largest_share(weights: Weights, low: Signed, high: Signed, n: AtLeastOne) -> float:
    """Upper bound u(high) / (u(high) + (n - 1) u(low)) on the share of any key, when all n scores
    lie in [low, high] and u grows on it.
    """
    return share(log_ratio(weights, high, low), math.log(n - 1))
