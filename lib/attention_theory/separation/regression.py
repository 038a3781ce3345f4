"""The softmax regression model (deng2023, sections 3 to 5): one attention row, random signs, a
threshold tau.

Only the scores s = Ax enter the model. Definition 3.8 allows every score vector in a box; the score
vectors here have at most three values (one special entry, ``high`` entries at the top of the range,
the others at its bottom). Among them are the worst ones (:func:`worst_high`), and their
probabilities are sums of binomial terms, so nothing is sampled.
"""

import math
from collections.abc import Callable, Sequence
from typing import Annotated

import numpy as np
import torch
from jaxtyping import Bool, Float
from theorybook.validation import (
    FILLED,
    Bit,
    Count,
    Natural,
    NonNegative,
    OpenChance,
    Positive,
    Seed,
)
from torch import Tensor

from attention_theory.attention import attention_weights
from attention_theory.device import generator, normal
from attention_theory.separation.network import NETWORKS, ROUNDING

#: Definition 3.8 in units of log n: the bottom and the top of the range, and the special score of
#: D1.
LOW, HIGH, SPECIAL = 1.0, 1.4, 4.0
Networks = Annotated[Sequence[tuple[str, int]], FILLED]


def _check(n: int, high: int) -> None:
    if n < 2:
        raise ValueError(
            f"n = {n} is not allowed: scores scale with log n, so n must be an integer >= 2"
        )
    if high >= n:
        raise ValueError(
            f"high = {high} is not allowed: one entry is special, so 0 to n - 1 = {n - 1} entries "
            "can be high"
        )


def regression_scores(n: Count, dataset: Bit, high: Natural = 0) -> Float[Tensor, " n"]:
    """Scores Ax of Definition 3.8: 1.4 log n on the last ``high`` entries, on D1 4 log n on the
    first entry, and log n on all others.

    Args:
        n: number of scores, >= 2.
        dataset: 0 or 1.
        high: number of entries at the top of the allowed range, 0 to n - 1.

    Raises:
        ValueError: ``dataset`` is not 0 or 1, or n or ``high`` is out of range.
    """
    _check(n, high)
    scores = torch.full((n,), LOW, dtype=torch.float64)
    scores[n - high :] = HIGH
    if dataset == 1:
        scores[0] = SPECIAL
    return scores * math.log(n)


def regression_data(
    n: Count, dataset: Bit, high: Natural = 0, d: Count = 6, seed: Seed = 0
) -> tuple[Tensor, Tensor]:
    """A (n, d) and x (d,) with the scores Ax = s of :func:`regression_scores`: A = s x^T / |x|^2 at
    a random x.
    """
    x = normal(d, generator=generator(seed))
    return torch.outer(regression_scores(n, dataset, high), x) / (x @ x), x


def regression_weights(
    n: Count, dataset: Bit, weights: str, high: Natural = 0
) -> Float[Tensor, " n"]:
    """f_exp (``weights`` softmax) or f_lin (linear) of :func:`regression_scores` (deng2023,
    Definitions 3.2 and 3.3).
    """
    return attention_weights(regression_scores(n, dataset, high)[None], weights)[0]


def worst_high(n: Count, dataset: Bit = 0, weights: str = "softmax") -> int:
    """The number of high entries that makes the norm |f| largest; no data of Definition 3.8 have a
    larger norm.

    |u| / <u, 1> is quasiconvex in the images u of the scores, so over a box it is largest at a
    corner, that is, at two-level data. On D0 the number is about n / (1 + n^0.4) for softmax and n
    / 2.4 for linear weights.
    """
    _check(n, 0)
    low, top, special = (
        n**level if weights == "softmax" else level for level in (LOW, HIGH, SPECIAL)
    )
    rest = n - dataset
    high = np.arange(rest + (dataset == 1))  # at least one entry of D0 stays low
    squares = high * top**2 + (rest - high) * low**2 + dataset * special**2
    return int(np.argmax(squares / (high * top + (rest - high) * low + dataset * special) ** 2))


def largest_norm(n: Count, networks: Networks = NETWORKS[1:]) -> float:
    """The largest |f| over all data of Definition 3.8, among ``networks``; by default those that
    must stay at 0.
    """
    worst = (
        regression_weights(n, k, weights, worst_high(n, k, weights)) for weights, k in networks
    )
    return max(float(f.norm()) for f in worst)


def norm_bound(ratio: Positive, n: Count) -> float:
    """Largest Euclidean norm of n positive weights with sum 1 and largest/smallest <= ``ratio``.

    (1 + r) / (2 sqrt(r n)), from Kantorovich's inequality; attained when a share 1 / (1 + r) of the
    weights is high.
    """
    return (1 + ratio) / (2 * math.sqrt(ratio * n))


def sure_margin(n: Count) -> float:
    """Smallest |<f_exp, sigma>| over all sign vectors and all data of D1: 2 f_j - 1 with every
    other score at the top of its range.
    """
    return 2 * float(regression_weights(n, 1, "softmax", n - 1)[0]) - 1


# Exact probabilities
# -------------------------------------------------------------------------------------------------


def _levels(n: int, dataset: int, weights: str, high: int) -> tuple[float, float, float]:
    """Weights of the first entry, of the low entries and of the high entries."""
    f = regression_weights(n, dataset, weights, high)
    return float(f[0]), float(f[n - high - 1]), float(f[-1])


def _plus_signs(levels: tuple[float, float, float], tau: float, n: int, high: int) -> np.ndarray:
    """For either sign of the first entry and every sum of the high signs: the most plus signs among
    the low entries that keep <f, s> <= tau.
    """
    first, low, top = levels
    sums = np.array([1.0, -1.0])[:, None] * first + (2 * np.arange(high + 1) - high) * top
    others = n - 1 - high
    # <f, s> <= tau with a tie counted as quiet; 1e-9 of a sign absorbs rounding
    return np.floor(((tau - sums) / low + others) / 2 + 1e-9)


def alarm_probability(
    n: Count, dataset: Bit, weights: str, tau: NonNegative, high: Natural = 0
) -> float:
    """Pr[<f, sigma> > tau] for one random sign vector, exactly (binomial sums).

    Args:
        n, dataset, high: the scores, as in :func:`regression_scores`.
        weights: ``softmax`` or ``linear``.
        tau: threshold of the ReLU.
    """
    return _alarm(n, dataset, weights, high)(tau)


def _alarm(n: int, dataset: int, weights: str, high: int) -> Callable[[float], float]:
    """:func:`alarm_probability` as a function of tau, with what does not depend on it computed
    once.
    """
    from scipy import stats

    levels, share = (
        _levels(n, dataset, weights, high),
        stats.binom.pmf(np.arange(high + 1), high, 0.5),
    )
    return lambda tau: float(
        share @ stats.binom.sf(_plus_signs(levels, tau, n, high), n - 1 - high, 0.5).mean(axis=0)
    )


def regression_success(
    n: Count, m: Count, tau: Positive, high: Natural = 0, shared_signs: bool = True
) -> float:
    """P[E_success] with m sign vectors, exactly (deng2023, section 7.1).

    With signs shared by the four networks: P[no false alarm]^m - P[no false alarm and F_exp(D1)
    quiet]^m per sign vector.

    Args:
        n, high: the data, as in :func:`regression_scores`; D0 and D1 have the same high entries.
        m: number of sign vectors, >= 1.
        tau: threshold, > 0.
        shared_signs: whether the four networks read out with the same signs.
    """
    _check(n, high)
    if not shared_signs:
        quiet = [
            (1 - alarm_probability(n, dataset, weights, tau, high)) ** m
            for weights, dataset in NETWORKS
        ]
        return (1 - quiet[0]) * math.prod(quiet[1:])
    from scipy import stats

    bounds = [
        _plus_signs(_levels(n, dataset, weights, high), tau, n, high)
        for weights, dataset in NETWORKS
    ]
    ok = np.minimum.reduce(bounds[1:])
    share = stats.binom.pmf(np.arange(high + 1), high, 0.5)
    no_alarm, silent = (
        min(1.0, float(share @ stats.binom.cdf(bound, n - 1 - high, 0.5).mean(axis=0)))
        for bound in (ok, np.minimum(ok, bounds[0]))
    )
    return no_alarm**m - silent**m


def _edge(holds: Callable[[float], bool], inside: float, outside: float) -> float:
    """The last tau, to 1e-12, at which ``holds`` is true on the way from ``inside``, where it is,
    to ``outside``.
    """
    while abs(outside - inside) > 1e-12:
        tau = (inside + outside) / 2
        inside, outside = (tau, outside) if holds(tau) else (inside, tau)
    return inside


def quiet_edge(
    n: Count, m: Count, risk: OpenChance, dataset: Bit, weights: str, high: Natural = 0
) -> float:
    """Smallest tau at which m sign vectors raise an alarm with probability <= ``risk``, to 2e-9
    (ties), for these data.
    """
    _check(n, high)
    fires = _alarm(n, dataset, weights, high)
    # <f, sigma> never exceeds 1
    return _edge(lambda tau: -math.expm1(m * math.log1p(-fires(tau))) <= risk, 1.0, 0.0)


def detection_edge(n: Count, m: Count, risk: OpenChance, high: Natural = 0) -> float:
    """The tau below which m sign vectors miss F_exp(D1) > 0 with probability <= ``risk``, to 2e-9
    (ties), for these data.

    Below :func:`sure_margin` a miss has probability 2^-m; beyond it still <= ``risk`` if 2^-m
    leaves room.
    """
    _check(n, high)
    fires = _alarm(n, 1, "softmax", high)
    allowed = risk * (1 + 1e-12)  # 2^-m may be the risk itself
    return _edge(lambda tau: math.exp(m * math.log1p(-fires(tau))) <= allowed, 0.0, 1.0)


def threshold_range(n: Count, m: Count, risk: OpenChance, high: Natural = 0) -> tuple[float, float]:
    """All thresholds [low, high) at which Lemmas 5.1 to 5.4 hold for these data, each with
    probability >= 1 - ``risk``.

    Empty when the first number is not below the second. Both ends are sharp: every probability is
    monotone in tau.
    """
    edges = [quiet_edge(n, m, risk, dataset, weights, high) for weights, dataset in NETWORKS[1:]]
    return max(edges), detection_edge(n, m, risk, high)


def certified_edge(
    n: Count, m: Count, risk: OpenChance, networks: Networks = NETWORKS[1:]
) -> float:
    """A threshold at which no data of Definition 3.8 make one of ``networks`` fire with probability
    above ``risk``.

    Hoeffding's one-sided bound m exp(-tau^2 / 2|f|^2) at :func:`largest_norm`.
    """
    _check(n, 0)
    return largest_norm(n, networks) * math.sqrt(2 * math.log(m / risk))


# Sampling
# --------------------------------------------------------------------------------------------------


def group_sums(signs: Float[Tensor, "*trials n"], high: Natural = 0) -> Float[Tensor, "*trials 3"]:
    """The sign of the special entry and the sums of the low and of the high signs: all that <f, y>
    depends on.
    """
    n = signs.shape[-1]
    groups = (signs[..., :1], signs[..., 1 : n - high], signs[..., n - high :])
    return torch.stack([group.sum(-1) for group in groups], dim=-1)


def regression_successes(
    sums: Float[Tensor, "trials m 3"], n: Count, tau: Positive, high: Natural = 0
) -> list[int]:
    """Number of trials in which E_success happens when only the first 1, ..., m sign vectors of
    each are used.

    Args:
        sums: the sign vectors y of all trials, as :func:`group_sums`.
        n, high: the data, as in :func:`regression_scores`.
        tau: threshold, > 0.
    """
    _check(n, high)
    levels = torch.tensor(
        [_levels(n, k, weights, high) for weights, k in NETWORKS], dtype=torch.float64
    ).to(sums)
    # a value this close to tau equals it and does not fire, as in the exact probability
    fired: Bool[Tensor, "trials m 4"] = (sums @ levels.T > tau + ROUNDING).cumsum(dim=1) > 0
    success = fired[..., 0] & ~fired[..., 1:].any(dim=-1)
    return success.sum(dim=0).tolist()
