"""Worst cases of the basic estimates of cao2024 (Lemma B.1) and of its two concentration
inequalities.
"""

import itertools
import math
from typing import Annotated

import numpy as np
import torch
from jaxtyping import Float
from theorybook.validation import Chance, Count, Limits, NonNegative, Positive
from torch import Tensor


def sharp_estimates(B: NonNegative, R: NonNegative, m: Count) -> dict[int, float]:
    """The best right sides of Parts 2 to 13 of Lemma B.1 (cao2024) for scores in [-B, B] that move
    by at most R.

    Parts 2 to 11 and 13 are attained (13 by two neurons that swap the scores -R/2 and R/2), 12 by
    the same pair at m = 2; it is |S - S~| <= (e^(2R) - 1) S with the largest S, nearly attained
    when m is much larger than e^(2B).

    >>> from attention_checks.tangent.runs.estimates import sharp_estimates
    >>> bounds = sharp_estimates(B=1, R=0.01, m=100)
    >>> sorted(bounds)[0], sorted(bounds)[-1]
    (2, 13)
    """
    largest = lambda spread: (
        1 / (1 + (m - 1) * math.exp(-2 * spread))
    )  # one neuron at spread, the others at -spread
    return {
        2: B + R,
        3: 2 * R,
        4: math.exp(B),
        5: math.exp(B + R),
        6: math.expm1(2 * R),
        7: math.exp(B) * math.expm1(R),
        8: m * math.exp(B) * math.expm1(R),
        9: math.exp(B) * math.expm1(R) / m,
        10: largest(B),
        11: largest(B + R),
        12: min(math.tanh(R / 2), math.expm1(2 * R) * largest(B)),
        13: 2 * math.tanh(R / 2),
    }


def worst_estimates(
    B: NonNegative, R: NonNegative, m: Annotated[int, Limits(1, 7)]
) -> dict[int, float]:
    """The largest left side of each of Parts 2 to 13, over patterns of scores and of their changes.

    For one input only the scores s_r = <w_r, x> and their changes matter. Every neuron takes one of
    the scores -B, -R/2, R/2, B and one of the changes -R, 0, R; all multisets of m neurons are
    tried. Parts 4 and 5 give max(e, 1/e).
    """
    levels = torch.tensor(
        [(s, u) for s in (-B, -R / 2, R / 2, B) for u in (-R, 0.0, R)], dtype=torch.float64
    )
    others = itertools.combinations_with_replacement(range(len(levels)), m - 1)
    cases = levels[torch.tensor([(k, *rest) for rest in others for k in range(len(levels))])]
    s, change = cases[..., 0], cases[..., 1]
    t = s + change
    e, f = s.exp(), t.exp()
    alpha, beta = e.sum(1), f.sum(1)
    S, T = e / alpha[:, None], f / beta[:, None]
    u = change[:, :1] + change  # <v - w, x_i + x_j>: two inputs see any two changes
    left = {
        2: t.abs(),
        3: u.abs(),
        4: torch.maximum(e, 1 / e),
        5: torch.maximum(f, 1 / f),
        6: u.expm1().abs(),
        7: (e - f).abs(),
        8: (alpha - beta).abs(),
        9: (1 / alpha - 1 / beta).abs(),
        10: S,
        11: T,
        12: (S - T).abs(),
        13: (S - T).abs().sum(1),  # the best z are the signs
    }
    return {part: float(values.max()) for part, values in left.items()}


def spike_change(B: NonNegative, R: Positive, m: Count) -> float:
    """The value of m |S - S~| / R for one neuron at score B that moves up by R and m - 1 neurons at
    -B that move down.
    """
    before, after = (1 / (1 + (m - 1) * math.exp(-2 * B - 2 * r)) for r in (0, R))
    return (after - before) * m / R


def binomial_tails(n: Count, chance: Chance) -> tuple[np.ndarray, np.ndarray]:
    """All deviations t of a sum of n variables that are 1 with this chance, and the exact Pr[|sum -
    n chance| >= t].
    """
    from scipy import stats

    k = np.arange(n + 1)
    t = np.unique(np.abs(k - n * chance).round(9))
    t = t[t > 0]
    return t, np.array(
        [stats.binom.pmf(k, n, chance)[np.abs(k - n * chance) >= s - 1e-8].sum() for s in t]
    )


def quadratic_tails(A: Float[Tensor, "n n"]) -> tuple[Tensor, Tensor]:
    """All deviations t of x^T A x over fair signs x, and the exact Pr[|x^T A x - mean| >= t]; n up
    to 16.
    """
    if len(A) > 16:
        raise ValueError(f"all 2^n sign vectors are tried; n = {len(A)} is too large (at most 16)")
    x = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0]).to(A)] * len(A))
    form = ((x @ A) * x).sum(1) - A.trace()
    size = form.abs().round(decimals=9)
    t = size.unique()
    t = t[t > 0]
    return t, (size[None] >= t[:, None]).to(A.dtype).mean(1)
