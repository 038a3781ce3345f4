"""Confidence intervals: of a rate, of a mean, of a fitted exponent. Each carries its confidence."""

from typing import Any

import numpy as np
from scipy import special

from theorybook.validation import Natural, Numbers, OpenChance, Seed, Size, to_numpy

#: Confidence of every interval in the book, unless it says otherwise.
CONFIDENCE = 0.999


class Interval(tuple):
    """A confidence interval: the pair (low, high), with its ``confidence``.

    >>> from theorybook import rate_interval
    >>> low, high = rate_interval(5, 10)
    >>> low < 0.5 < high
    True
    >>> rate_interval(5, 10).confidence
    0.999
    """

    confidence: float

    def __new__(cls, low: float, high: float, confidence: float = CONFIDENCE) -> "Interval":
        """Raise ValueError for a confidence outside (0, 1), or ends in the wrong order."""
        if not 0 < confidence < 1:
            raise ValueError(
                f"confidence = {confidence} is not allowed: it lies strictly between 0 and 1"
            )
        if low > high:
            raise ValueError(f"the interval [{low}, {high}] is not possible")
        interval = super().__new__(cls, (float(low), float(high)))
        interval.confidence = confidence
        return interval

    def __getnewargs__(self) -> tuple[float, float, float]:
        return (*self, self.confidence)

    @property
    def low(self) -> float:
        return self[0]

    @property
    def high(self) -> float:
        return self[1]


def _sample(values: Any, least: int) -> np.ndarray:
    """Values as a flat float array of at least ``least`` finite numbers."""
    flat = np.asarray(to_numpy(values), dtype=float).ravel()
    if flat.size < least:
        raise ValueError(f"needs at least {least} points, got {flat.size}")
    return flat


def rate_interval(
    successes: Natural, trials: Size, confidence: OpenChance = CONFIDENCE
) -> Interval:
    """Clopper-Pearson interval of a success probability.

    Raises:
        ValueError: numbers of successes and trials that are not possible, or a confidence outside
            (0, 1).

    >>> from theorybook import rate_interval
    >>> [round(end, 2) for end in rate_interval(50, 100)]
    [0.34, 0.66]
    >>> rate_interval(0, 100)[0]
    0.0
    """
    # stats.binomtest would compute a p-value first, hundreds of times slower than the interval
    successes, failures = int(successes), int(trials) - int(successes)
    if min(successes, failures) < 0 or successes + failures == 0:
        raise ValueError(f"{successes} successes in {trials} trials are not possible")
    tail = (1 - confidence) / 2
    low = special.betaincinv(successes, failures + 1, tail) if successes else 0.0
    high = special.betainccinv(successes + 1, failures, tail) if failures else 1.0
    return Interval(float(low), float(high), confidence)


def mean_interval(
    samples: Numbers, confidence: OpenChance = CONFIDENCE, seed: Seed = 0, resamples: Size = 9_999
) -> Interval:
    """Bootstrap (BCa) interval of a mean; a single point where all samples are equal.

    Args:
        samples: at least two finite numbers.
        confidence: of the interval.
        seed: of the resampling.
        resamples: number of resamples; of 9,999 about five lie beyond each end of a 99.9% interval,
            so the ends depend on the seed.

    Raises:
        ValueError: fewer than two samples, one that is not finite, or a confidence outside (0, 1).

    >>> from theorybook import mean_interval
    >>> low, high = mean_interval(range(100))
    >>> low < 49.5 < high
    True
    >>> mean_interval([3, 3, 3])
    (3.0, 3.0)
    """
    values = _sample(samples, 2)
    if (values == values[0]).all():
        return Interval(float(values[0]), float(values[0]), confidence)
    from scipy import stats  # here, since it takes a second that few callers need to spend

    scale = -int(np.frexp(np.abs(values).max())[1])  # third powers of 1e-110 underflow
    values = np.ldexp(values, scale)
    # batches fit into the processor's cache: the same numbers three times as fast
    rng = np.random.default_rng(seed)
    found = stats.bootstrap(
        (values,), np.mean, confidence_level=confidence, n_resamples=resamples, batch=500, rng=rng
    )
    ci = found.confidence_interval
    low, high = np.ldexp([ci.low, ci.high], -scale).tolist()
    return Interval(low, high, confidence)


def power_law(
    x: Numbers, y: Numbers, confidence: OpenChance = CONFIDENCE
) -> tuple[float, Interval]:
    """The exponent of ``y ~ x^exponent`` by least squares on logarithms, and its interval by
    Student's t, widened by the rounding of the logarithms; (0, 0) where all y are equal.

    Raises:
        ValueError: fewer than three points, values that are not positive and finite, or a
            confidence outside (0, 1).

    >>> from theorybook import power_law
    >>> slope, (low, high) = power_law([1, 2, 4, 8], [1, 4, 16, 65])
    >>> round(slope, 1)
    2.0
    >>> low < slope < high
    True
    """
    xs, ys = (_sample(values, 3) for values in (x, y))
    if xs.size != ys.size:
        raise ValueError(f"a power law is fitted to pairs, got {xs.size} and {ys.size} numbers")
    if min(xs.min(), ys.min()) <= 0:
        raise ValueError("a power law is fitted to positive numbers only")
    if xs.min() == xs.max():
        raise ValueError(f"a power law needs different x, got {xs.min():g} only")
    if ys.min() == ys.max():
        return 0.0, Interval(0.0, 0.0, confidence)
    from scipy import stats

    log_x, log_y = np.log(xs), np.log(ys)
    fit: Any = stats.linregress(log_x, log_y)
    size = np.abs(log_y).max() + abs(fit.slope) * np.abs(log_x).max()
    rounding = 4 * np.finfo(float).eps * size / np.ptp(log_x)  # what is left where the fit is exact
    half = stats.t.ppf((1 + confidence) / 2, xs.size - 2) * fit.stderr + rounding
    return float(fit.slope), Interval(float(fit.slope - half), float(fit.slope + half), confidence)
