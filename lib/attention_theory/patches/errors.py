"""Exact 0-1 errors on Assumption 1, by convolution: the linear score, attention inside groups, the label noise.

A tie counts half everywhere, as for a classifier that then tosses a coin.
"""

import math
from typing import cast

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtri
from theorybook.validation import Chance, Count, Extended, Natural, NonNegative, Steps

from attention_theory.patches.population import check_population, group_kinds


def convolution_power(chance: np.ndarray, n: Steps) -> np.ndarray:
    """Distribution of the sum of n independent variables on 0 ... len(chance) - 1."""
    power = np.ones(1)
    while n:
        if n % 2:
            power = np.convolve(power, chance)
        chance, n = np.convolve(chance, chance) if n > 1 else chance, n // 2
    return power


def stray_law(n: Natural, q: Chance) -> tuple[np.ndarray, np.ndarray]:
    """Values -n ... n of the sum of n strays (+1 and -1 with probability q / 2 each), and their probabilities."""
    return np.arange(-n, n + 1), convolution_power(np.array([q / 2, 1 - q, q / 2]), n)


def linear_error(D: Count, C: Count, q: Chance) -> float:
    """Least error of any function of the equal-weight score sum_j <w*, X_j>: the Bayes error of that number.

    Given the label y the score is y C plus the sum of D - C values in {-1, 0, 1}.

    Raises:
        ValueError: C does not divide D, or q outside [0, 1].
    """
    check_population(D, C, q)
    noise = stray_law(D - C, q)[1]
    plus, minus = np.pad(noise, (2 * C, 0)), np.pad(noise, (0, 2 * C))
    return float(np.minimum(plus, minus).sum() / 2)


#: Limit, for large groups, of q (D - C) / C^2 where the least linear error passes 1/8: 1 / quantile(7/8)^2 = 0.7557.
LINEAR_LIMIT = float(ndtri(7 / 8) ** -2)


def critical_q(D: Count, C: Count, error: Chance = 1 / 8) -> Extended:
    """The q at which :func:`linear_error` passes ``error``; NaN where no q <= 1 reaches it."""
    if linear_error(D, C, 1.0) < error:
        return math.nan
    return cast(float, brentq(lambda q: linear_error(D, C, q) - error, 0, 1, xtol=1e-12))


def _power_of_group(D: int, C: int, q: float, p: int) -> tuple[list[int], np.ndarray]:
    """The p-th power of the sum of a group, for everything that a random group can carry, and the chances."""
    check_population(D, C, q)
    if p < 1 or p % 2 == 0:
        raise ValueError(f"p = {p}; the sign of the score needs an odd power")
    kinds, chance = group_kinds(C, q)
    return [(a - b) ** p for a, b in kinds.tolist()], chance.numpy()


def block_score(D: Count, C: Count, q: Chance, p: Count = 3) -> tuple[np.ndarray, np.ndarray]:
    """Values of the sum over groups of the p-th power of the group sum, given the label +1, and their probabilities.

    At p = 1 it is the sum of all patches. The values come in one step, and include some that no image has.

    Raises:
        ValueError: as :func:`block_error`.
    """
    powers, chance = _power_of_group(D, C, q, p)
    scale = math.gcd(*powers) or 1
    group = np.zeros(2 * C**p // scale + 1)
    np.add.at(group, [(x + C**p) // scale for x in powers], chance)
    total = convolution_power(group, D // C - 1)
    return C**p + scale * (np.arange(len(total)) - len(total) // 2), total


def block_error(D: Count, C: Count, q: Chance, p: Count = 3) -> float:
    """Error of sign(sum over groups of the p-th power of the group sum).

    That is model (T) with nu = 0 where each row attends evenly to its own group, or each to another group (Theorem 3.2).

    Raises:
        ValueError: C does not divide D, q outside [0, 1], or p not a positive odd number.
    """
    values, chance = block_score(D, C, q, p)
    return float(chance[values < 0].sum() + chance[values == 0].sum() / 2)


def block_error_by_fourier(D: Count, C: Count, q: Chance, p: Count = 3, size: Count = 2**14) -> float:
    """:func:`block_error` for very many patches, from the law of the sum of powers modulo ``size``.

    Good to 1e-12 in absolute terms where the powers of the other groups hardly ever add up to ``size`` / 2.

    Raises:
        ValueError: as :func:`block_error`, or ``size`` below 4 C^p, so that a whole group would not fit in.
    """
    powers, chance = _power_of_group(D, C, q, p)
    if size < 4 * C**p:
        raise ValueError(f"size = {size} is too small: a group of C = {C} has the power {C**p}, choose at least {4 * C**p}")
    law = np.zeros(size)
    np.add.at(law, [x % size for x in powers], chance)
    others = np.fft.ifft(np.fft.fft(law) ** (D // C - 1)).real
    values = C**p + np.fft.fftfreq(size, 1 / size).round()
    return float(others[values < 0].sum() + others[values == 0].sum() / 2)


def block_disagreement(D: Count, C: Count, q: Chance, p: Count = 3, ties: bool = False) -> float:
    """P[f* F < 0] for the classifier of :func:`block_error`: it is held against the labelling function, not the label.

    With ``ties`` it is P[f* F <= 0], which Theorem 3.2 is about: F = 0 and f* = 0 count as well. f* counts the groups that are
    full of +1, less those full of -1. Given these counts the other groups are independent, and their sum has a symmetric law.

    Raises:
        ValueError: C does not divide D, q outside [0, 1], or p not a positive odd number.
    """
    powers, chance = _power_of_group(D, C, q, p)
    full, n, size = (q / 2) ** C, D // C - 1, C**p
    part = np.zeros(2 * size + 1)
    np.add.at(part, [x + size for x in powers], chance)
    part[[0, -1]] = 0  # full groups
    wrong, others = 0.0, np.ones(1)
    for rest in range(n + 1):  # groups that are not full
        cumulated = others.cumsum()
        for plus in range(n - rest + 1):
            minus = n - rest - plus
            ways = math.comb(n, rest) * math.comb(n - rest, plus) * full ** (n - rest)
            lead = 1 + plus - minus  # sign of f*; the score is lead C^p plus the others' sum
            edge = (rest - abs(lead)) * size  # where the others' sum cancels it
            if lead == 0:
                wrong += ties * ways * cumulated[-1]
            elif edge + ties > 0:
                wrong += ways * cumulated[edge - 1 + ties]
        others = np.convolve(others, part) if rest < n else others
    return float(wrong)


def stray_power(C: Count, a: NonNegative, p: Count = 3) -> float:
    """The x in Phi(-C^(p - a/2)) = D^(-x) at D = 2^C: the error of the cubes (p-th powers) against C^a lone strays, C large.

    Among so many patches the strays lie one to a group, so that their powers +1 and -1 add up to a normal number of variance
    C^a, against C^p. The power x grows with C if 2p - a > 1, and vanishes if 2p - a < 1 (Theorem 3.2).
    """
    return -float(log_ndtr(-(C ** (p - a / 2)))) / (C * math.log(2))


def label_noise_floor(D: Count, C: Count, q: Chance) -> tuple[float, float]:
    """Least 0-1 error and least expected log-loss of any classifier, even one that knows the groups.

    A random group is full of +1, or full of -1, with probability (q / 2)^C each. Given the patches the label is +1 with
    odds (groups full of +1) : (groups full of -1); the floor is the mean of the smaller share, and of the entropy.
    """
    check_population(D, C, q)
    kinds, chance = (part.numpy() for part in group_kinds(D // C - 1, 2 * (q / 2) ** C))
    plus, minus = kinds.T  # full groups
    share = minus / (1 + plus + minus)
    error = np.where(share == 0.5, 0.5, share > 0.5)
    return float(chance @ error), -float(chance @ np.log1p(-share))
