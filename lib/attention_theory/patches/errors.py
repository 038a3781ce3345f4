"""Exact 0-1 errors on Assumption 1, by convolution: the linear score, attention inside groups, and the label noise.

A tie counts half everywhere, as for a classifier that then tosses a coin.
"""

import math

import numpy as np

from attention_theory.patches.population import check_population, group_kinds


def convolution_power(chance: np.ndarray, n: int) -> np.ndarray:
    """Distribution of the sum of n independent variables on 0 ... len(chance) - 1."""
    power = np.ones(1)
    while n:
        if n % 2:
            power = np.convolve(power, chance)
        chance, n = np.convolve(chance, chance) if n > 1 else chance, n // 2
    return power


def linear_error(D: int, C: int, q: float) -> float:
    """Least error of any function of the equal-weight score sum_j <w*, X_j>: the Bayes error of that number.

    Given the label y the score is y C plus the sum of D - C values in {-1, 0, 1}.

    Raises:
        ValueError: C does not divide D, or q outside [0, 1].
    """
    check_population(D, C, q)
    noise = convolution_power(np.array([q / 2, 1 - q, q / 2]), D - C)
    plus, minus = np.pad(noise, (2 * C, 0)), np.pad(noise, (0, 2 * C))
    return float(np.minimum(plus, minus).sum() / 2)


def block_error(D: int, C: int, q: float, p: int = 3) -> float:
    """Error of sign(sum over groups of the p-th power of the group sum).

    That is model (T) with nu = 0 where each row attends evenly to its own group, or each to another group (Theorem 3.2).

    Raises:
        ValueError: C does not divide D, q outside [0, 1], or p not a positive odd number.
    """
    check_population(D, C, q)
    if p < 1 or p % 2 == 0:
        raise ValueError(f"p = {p}; the sign of the score needs an odd power")
    kinds, chance = group_kinds(C, q)
    powers = [int(a - b) ** p for a, b in kinds.tolist()]
    scale = math.gcd(*(abs(x) for x in powers)) or 1
    group = np.zeros(2 * C**p // scale + 1)
    np.add.at(group, [(x + C**p) // scale for x in powers], chance.numpy())
    total = convolution_power(group, D // C - 1)
    middle = len(total) // 2 - C**p // scale  # where the random groups cancel the signal group
    return float(total[:max(middle, 0)].sum() + (total[middle] / 2 if middle >= 0 else 0))


def label_noise_floor(D: int, C: int, q: float) -> tuple[float, float]:
    """Least 0-1 error and least expected log-loss of any classifier, even one that knows the groups.

    A random group is full of +1, or full of -1, with probability (q / 2)^C each. Given the patches the label is +1 with
    odds (groups full of +1) : (groups full of -1); the floor is the mean of the smaller share, and of the entropy.
    """
    check_population(D, C, q)
    full, n = (q / 2) ** C, D // C - 1
    error = loss = 0.0
    for a in range(n + 1):
        for b in range(n + 1 - a):
            chance = math.comb(n, a) * math.comb(n - a, b) * full ** (a + b) * (1 - 2 * full) ** (n - a - b)
            share = b / (1 + a + b)
            error += chance * (0.5 if share == 0.5 else share > 0.5)
            loss -= chance * math.log1p(-share)
    return error, loss
