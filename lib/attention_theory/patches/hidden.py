"""The value of knowing the groups: exact errors of a classifier that does not know the signal group
(jelassi2022, Theorem 5.2).
"""

import math
from bisect import bisect_left
from functools import cache

import numpy as np
from scipy.special import gammaln
from theorybook.validation import Chance, Count, Size, Steps

from attention_theory.patches.population import check_population


def log_choose(n, k):
    """Logarithm of the binomial coefficient."""
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)


@cache
def hidden_error(m: Count, C: Count, q: Chance) -> float:
    """e(m): least error in the label when the signal group is unknown among m patches, given the
    numbers of both signs.

    It is the least error of the equal-weight linear score on m patches.
    """
    _check(m, C, q)
    if m == C:
        return 0.0
    mean, width = m * q / 2, 12 * math.sqrt(m * q / 2) + 12 + C
    k = np.arange(C, min(m, int(mean + width)) + 1)
    a, b = k[:, None], k[None, :]
    fits = a + b <= m
    rest = np.where(fits, m - a - b, 0)
    empty = rest * math.log1p(-q) if q < 1 else np.where(rest > 0, -np.inf, 0.0)
    log_chance = (
        gammaln(m + 1)
        - gammaln(a + 1)
        - gammaln(b + 1)
        - gammaln(rest + 1)
        + (a + b) * math.log(q / 2)
        + empty
    )
    least = log_choose(np.minimum(a, b), C) - log_choose(m, C) - C * math.log(q / 2)
    return float(np.where(fits, np.exp(log_chance + least), 0).sum() / 2)


def groups_seen(L: Size, N: Steps) -> np.ndarray:
    """Distribution of the number of different groups, out of L, among the signal groups of N
    images.
    """
    seen = np.eye(1, L + 1)[0]
    for _ in range(N):
        seen = seen * np.arange(L + 1) / L + np.append(0, seen[:-1] * (1 - np.arange(L) / L))
    return seen


def lower_bound(D: Count, C: Count, q: Chance, N: Size) -> float:
    """Lower bound on the error after N images, averaged over a uniformly random partition into
    groups.

    The sum over u of P(u groups seen) (1 - u / L) e(D - u C): the least error of a classifier that
    is told the feature and each training image's group.
    """
    check_population(D, C, q)
    L = D // C
    chance = groups_seen(L, N)
    return sum(
        p * (1 - u / L) * hidden_error(D - u * C, C, q)
        for u, p in enumerate(chance)
        if p > 1e-12 and u < L
    )


def needed_samples(D: Count, C: Count, q: Chance, error: Chance) -> int:
    """The least N at which :func:`lower_bound`, which falls with N, is at most ``error``."""
    enough, most = (lambda N: lower_bound(D, C, q, N) <= error), 1
    while not enough(most):
        most *= 2
    return bisect_left(range(most), True, lo=most // 2 + 1, key=enough)


def _check(m: int, C: int, q: float) -> None:
    if not (0 < q <= 1 and 1 <= C <= m):
        raise ValueError(f"m = {m}, C = {C}, q = {q}: choose 1 <= C <= m and 0 < q <= 1")
