"""Exact 0-1 errors under Assumption 1, by convolution: of the linear score, of attention inside
groups, and from label noise.

A tie counts half everywhere, as for a classifier that then tosses a coin.
"""

import math
from typing import Annotated, cast

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtri
from scipy.stats import binom
from theorybook.validation import Chance, Count, Extended, Integer, Limits, Natural, NonNegative

from attention_theory.patches.population import check_groups_fit

#: Numbers of patches for which sums are accurate to ten digits.
Patches = Annotated[int, Limits(1, 10**7)]
#: The most multiplications that one exact law may cost: about half a minute.
MOST_PRODUCTS = 10**10
#: The most numbers that one Fourier transform may have: 1 GB.
MOST_NUMBERS = 2**26


def stray_law(n: Natural, q: Chance) -> tuple[np.ndarray, np.ndarray]:
    """Values -n ... n of the sum of n strays (+1 and -1 with probability q / 2 each), and their
    probabilities.

    With f = q/2 (x + 1/x) + 1 - q, f (f^n)' = n f' f^n gives the ratios of neighbouring
    probabilities from -n up to 0 by sums of positive numbers only. So each probability, however
    small, is accurate to rounding after n steps.
    """
    values = np.arange(-n, n + 1)
    if q == 0:
        return values, (values == 0).astype(float)
    side, still, ratios = q / 2, 1 - q, []
    if q == 1:  # every other probability is 0
        parity = n % 2
        k = np.arange(0, n - parity, 2)
        ratios = (2 * n - k) / (k + 2)
    else:
        rise = n * still / side  # P(1 - n) / P(-n)
        for k in range(1, n + 1):
            ratios.append(rise)
            rise = ((n - k) * still + (2 * n - k + 1) * side / rise) / (side * (k + 1))
    step = 2 if q == 1 else 1
    half = np.zeros(n + 1)  # P(0), P(1), ..., P(n) over the largest of them
    half[n % step :: step] = np.cumprod([1.0, *(1 / np.asarray(ratios, dtype=float))[::-1]])
    law = np.concatenate([half[:0:-1], half])
    return values, law / law.sum()


def linear_error(D: Patches, C: Count, q: Chance) -> float:
    """Least error of any function of the equal-weight score sum_j <w*, X_j>: the Bayes error given
    that score.

    Given the label y the score is y C plus the sum of D - C values in {-1, 0, 1}.

    Raises:
        ValueError: C does not divide D, or q outside [0, 1].

    >>> from attention_theory.patches import linear_error
    >>> linear_error(16, 4, 0.0)  # no patch outside the group carries a sign
    0.0
    """
    check_groups_fit(D, C)
    noise = stray_law(D - C, q)[1]
    plus, minus = np.pad(noise, (2 * C, 0)), np.pad(noise, (0, 2 * C))
    return float(np.minimum(plus, minus).sum() / 2)


#: Limit for large groups of the q (D - C) / C^2 at which the least linear error passes 1/8: 1 /
#: quantile(7/8)^2 = 0.7557.
LINEAR_LIMIT = float(ndtri(7 / 8) ** -2)


def critical_q(D: Count, C: Count, error: Chance = 1 / 8) -> Extended:
    """The q at which :func:`linear_error` passes ``error``; NaN where no q <= 1 reaches it."""
    if linear_error(D, C, 1.0) < error:
        return math.nan
    return cast(float, brentq(lambda q: linear_error(D, C, q) - error, 0, 1, xtol=1e-12))


def _power_of_group(D: int, C: int, q: float, p: int) -> tuple[list[int], np.ndarray]:
    """The p-th powers of the possible sums of a random group, and their probabilities, where these
    are not 0.
    """
    check_groups_fit(D, C)
    if p < 1 or p % 2 == 0:
        raise ValueError(f"p = {p}; the sign of the score needs an odd power")
    sums, chance = stray_law(C, q)
    return [int(total) ** p for total in sums[chance > 0]], chance[chance > 0]


def _one_more(law: np.ndarray, powers: list[int], chance: np.ndarray) -> np.ndarray:
    """The law of a sum on -m ... m after adding one more group, whose power has at most 2 C + 1
    values.
    """
    largest = max(map(abs, powers), default=0)
    found = np.zeros(len(law) + 2 * largest)
    for power, probability in zip(powers, chance):
        found[largest + power : largest + power + len(law)] += probability * law
    return found


def _check_products(D: int, C: int, p: int, pairs: int = 0) -> None:
    groups = D // C - 1
    products = groups**2 * C**p * (2 * C + 1) + 1000 * pairs
    if products > MOST_PRODUCTS:
        raise ValueError(
            f"D = {D}, C = {C}, p = {p}: the exact law of the sum takes {products:.1g} products, "
            "more than "
            f"{MOST_PRODUCTS:.0g}; choose smaller sizes"
        )


def block_score(D: Patches, C: Count, q: Chance, p: Count = 3) -> tuple[np.ndarray, np.ndarray]:
    """Values of the sum over groups of the p-th power of the group sum, given the label +1, and
    their probabilities.

    At p = 1 it is the sum of all patches. The values are consecutive integers, including some that
    no image has.

    Raises:
        ValueError: as :func:`block_error`, or sizes for which the whole law takes too long.
    """
    powers, chance = _power_of_group(D, C, q, p)
    _check_products(D, C, p)
    total = np.ones(1)
    for _ in range(D // C - 1):
        total = _one_more(total, powers, chance)
    return C**p + np.arange(len(total)) - len(total) // 2, total


def below(values: list[int], chance: np.ndarray, n: Natural, edge: Integer) -> tuple[float, float]:
    """P[S < edge] and P[S = edge] for the sum S of n independent integers with this law, by one
    Fourier transform.

    Each value is first weighted by e^(theta value), with the theta <= 0 that moves the mean of S to
    the edge, so that rare sums become common and rounding errors are small compared with the
    result. Sums are taken modulo the width of a window outside of which, by Chernoff's bound, less
    than 1e-18 of the weighted law lies.

    Raises:
        ValueError: a window of more than :data:`MOST_NUMBERS` integers.
    """
    v = np.array(values, dtype=float)
    low, high = int(min(values)), int(max(values))
    if edge <= n * low or low == high:
        return float(edge > n * low), float(chance @ (v == low)) ** n if edge == n * low else 0.0

    def tilted(theta: float) -> tuple[float, np.ndarray]:
        """The logarithm of E e^(theta (value - low)), and the law with these weights."""
        logs = np.log(chance) + theta * (v - low)
        top = logs.max()
        weights = np.exp(logs - top)
        return float(top + math.log(weights.sum())), weights / weights.sum()

    def excess(theta: float) -> float:
        return float(tilted(theta)[1] @ v) - edge / n

    theta, end = 0.0, -1.0 / max(abs(low), abs(high))
    if excess(0.0) > 0:
        while excess(end) > 0:
            end *= 2
        theta = float(cast(float, brentq(excess, end, 0.0)))
    log_scale, law = tilted(theta)
    log_factor = n * log_scale - theta * (
        edge - n * low
    )  # of the probability over the weighted one, at the edge
    if log_factor < -750:
        return 0.0, 0.0  # below the smallest float, by Chernoff's bound

    def reach(sign: int) -> int:
        """The distance from the edge beyond which, on one side, less than 1e-18 of the weighted law
        lies.
        """
        far = math.inf
        for eta in np.geomspace(1e-3, 700, 60) / max(abs(low), abs(high)):
            rise = tilted(theta + sign * eta)[0] - log_scale  # of value - low
            far = min(far, (n * (rise + sign * eta * low) - sign * eta * edge + 42) / eta)
        return min(math.ceil(far), n * high - edge if sign > 0 else edge - n * low) + 1

    down, up = reach(-1), reach(1)
    size = cast(int, next_fast_len(down + up, real=True))
    if size > MOST_NUMBERS:
        raise ValueError(
            f"the sum of {n} numbers from {low} to {high} needs {size} places, at most "
            f"{MOST_NUMBERS} are allowed"
        )
    places = np.zeros(size)
    np.add.at(places, [x % size for x in values], law)
    total = irfft(cast(np.ndarray, rfft(places)) ** n, size)
    steps = np.arange(down)  # how far below the edge
    terms = total[(edge - steps) % size] * np.exp(theta * steps + log_factor)
    return max(float(terms[1:].sum()), 0.0), max(float(terms[0]), 0.0)


def block_error(D: Patches, C: Count, q: Chance, p: Count = 3) -> float:
    """Error of sign(sum over groups of the p-th power of the group sum), accurate to ten digits
    however small it is.

    This is model (T) with nu = 0 when each row attends evenly to its own group, or each group to a
    different one (Theorem 3.2).

    Raises:
        ValueError: C does not divide D, q outside [0, 1], p not a positive odd number, or sizes
            that :func:`below` refuses.

    >>> from attention_theory.patches import block_error, linear_error
    >>> block_error(16, 4, 0.0)
    0.0
    >>> block_error(16, 4, 0.25) < linear_error(16, 4, 0.25)
    True
    """
    powers, chance = _power_of_group(D, C, q, p)
    less, tie = below(powers, chance, D // C - 1, -(C**p))
    return less + tie / 2


def block_disagreement(D: Patches, C: Count, q: Chance, p: Count = 3, ties: bool = False) -> float:
    """P[f* F < 0] for the classifier of :func:`block_error`, which is compared here with the
    labelling function, not the label.

    With ``ties`` it is P[f* F <= 0], the quantity of Theorem 3.2: F = 0 and f* = 0 count as well.
    f* counts the groups that are full of +1, minus those full of -1. Given these counts the other
    groups are independent, and their sum has a symmetric law.

    Raises:
        ValueError: C does not divide D, q outside [0, 1], p not a positive odd number, or sizes
            that take too long.

    >>> from attention_theory.patches import block_disagreement
    >>> block_disagreement(16, 4, 0.0)
    0.0
    """
    powers, chance = _power_of_group(D, C, q, p)
    log_full, n, size = C * math.log(q / 2) if q else -math.inf, D // C - 1, C**p
    _check_products(D, C, p, pairs=n**2)
    part = [(power, x) for power, x in zip(powers, chance) if abs(power) < size]
    wrong, others = 0.0, np.ones(1)
    for rest in range(n + 1):  # groups that are not full
        cumulated, reach = others.cumsum(), len(others) // 2
        for plus in range(n - rest + 1):
            minus = n - rest - plus
            if rest < n and not q:
                break  # no group is full
            several = (
                math.lgamma(n + 1)
                - math.lgamma(rest + 1)
                - math.lgamma(plus + 1)
                - math.lgamma(minus + 1)
            )
            ways = math.exp(several + (log_full * (n - rest) if rest < n else 0.0))
            lead = 1 + plus - minus  # sign of f*; the score is lead C^p plus the others' sum
            edge = (
                reach - abs(lead) * size
            )  # where the others' sum cancels it; its law is symmetric
            if lead == 0:
                wrong += ties * ways * cumulated[-1]
            elif edge + ties > 0:
                wrong += ways * cumulated[edge - 1 + ties]
        if rest < n:
            others = _one_more(others, [power for power, _ in part], np.array([x for _, x in part]))
    return float(wrong)


def stray_power(C: Count, a: NonNegative, p: Count = 3) -> float:
    """The x with Phi(-C^(p - a/2)) = D^(-x) at D = 2^C, for the error of p-th powers against C^a
    lone strays at large C.

    Among so many patches no two strays share a group, so that their powers +1 and -1 add up to a
    normal variable of variance C^a, against C^p. The exponent x grows with C if 2p - a > 1, and
    vanishes if 2p - a < 1 (Theorem 3.2).
    """
    return -float(log_ndtr(-(C ** (p - a / 2)))) / (C * math.log(2))


def label_noise_floor(D: Patches, C: Count, q: Chance) -> tuple[float, float]:
    """Least 0-1 error and least expected log-loss of any classifier, even one that knows the
    groups.

    A random group is full of +1, or full of -1, with probability (q / 2)^C each. Given the patches
    the label is +1 with odds (groups full of +1) : (groups full of -1); the floor is the mean of
    the smaller share, and of the entropy. So it is a mean over the number m of full groups besides
    the label's own, each of which has either sign with probability 1/2.

    Raises:
        ValueError: C does not divide D, or so many full groups that the sum takes too long.

    >>> from attention_theory.patches import label_noise_floor
    >>> label_noise_floor(16, 4, 0.0)
    (0.0, 0.0)
    """
    check_groups_fit(D, C)
    n, full = D // C - 1, 2 * (q / 2) ** C
    error = loss = 0.0
    totals = _likely(n, full)
    if len(totals) * (1 + math.isqrt(int(totals[-1]))) * 12 > MOST_PRODUCTS // 50:
        raise ValueError(
            f"D = {D}, C = {C}, q = {q}: up to {totals[-1]} full groups, too many for the exact sum"
        )
    for m, weight in zip(totals.tolist(), binom.pmf(totals, n, full)):
        minus = _likely(m, 0.5)
        chance, share = binom.pmf(minus, m, 0.5), minus / (1 + m)
        error += weight * float(chance @ np.where(2 * minus == 1 + m, 0.5, 2 * minus > 1 + m))
        loss -= weight * float(chance @ np.log1p(-share))
    return float(error), float(loss)


def _likely(n: int, chance: float) -> np.ndarray:
    """The numbers of successes in n trials, without the two tails, which have less than 1e-20 of
    the probability.
    """
    mean, width = n * chance, 12 * math.sqrt(n * chance * (1 - chance)) + 40
    return np.arange(max(0, math.floor(mean - width)), min(n, math.ceil(mean + width)) + 1)
