"""Small measurements behind the appendix lemmas in expectation: sequences, stray sums, and what
drives the scores.
"""

from typing import Annotated, NamedTuple

import numpy as np
import torch
from attention_theory.device import generator
from attention_theory.patches.errors import stray_law
from attention_theory.patches.population import every_point, three_values
from attention_theory.patches.vit import PositionalViT
from theorybook.validation import (
    AtLeastOne,
    Chance,
    Count,
    Integer,
    Limits,
    Natural,
    NonNegative,
    Positive,
    Seed,
    Size,
)

from attention_checks.patches.runs.expectation import Descent


def power_sequence(
    z: Positive, k: Size, m: Positive, M: Positive, target: Positive, seed: Seed = 0
) -> np.ndarray:
    """A sequence from z_0 = z with increments drawn between m z^k and M z^k, up to the first value
    that reaches the target.
    """
    source, path = generator(seed), [z]
    while path[-1] < target:
        if len(path) > 10**5:
            raise ValueError(
                f"from z = {z:g} the target {target:g} is a hundred thousand steps away or more: "
                "take a larger z"
            )
        rate = m + (M - m) * float(torch.rand(1, generator=source))
        path.append(path[-1] + rate * path[-1] ** k)
    return np.array(path)


def power_product(
    z: Positive, k: Count, target: Positive, A: NonNegative, kappa: Integer
) -> tuple[float, float]:
    """Logarithm of the product of 1 + A z_t^(k-1+kappa) before the target is reached, m = M = 1;
    and A z_T^kappa / kappa.
    """
    path = power_sequence(z, k, 1.0, 1.0, target)
    return float(np.log1p(A * path[:-1] ** (k - 1 + kappa)).sum()), float(
        A / kappa * path[-1] ** kappa
    )


def stray_moment(
    D: Annotated[int, Limits(1, 10**5)], C: Annotated[int, Limits(1, 10**5)], q: Chance, b: Natural
) -> float:
    """E[(C + N)^b], N the sum of D - C strays."""
    values, chance = stray_law(D - C, q)
    return float(chance @ (C + values) ** b)


def outweighed(run: Descent, step: Natural, share: Chance = 0.5) -> float:
    """P[Xi |N| <= share (Lambda + (C - 1) Gamma)] at a step: how likely the row's own group
    outweighs all strays.
    """
    values, chance = stray_law(run.world.D - run.world.C, run.world.q)
    own, inside, outside = run.world.weights(run.vit(step)).tolist()
    return float(
        chance[outside * np.abs(values) <= share * (own + (run.world.C - 1) * inside)].sum()
    )


def other_rows(D: Count, C: Count, q: Chance) -> float:
    """Mean of the other rows' sum of y <w*, O_i>^3 (with O_i = D sum_j S_ij X_j) at gamma = rho =
    0, beta = 1.
    """
    X, y, chance = every_point(D, C, q)
    S = torch.softmax(three_values(D, C, 1.0, 0.0, 0.0), 1)
    seen = (y[:, None] * D * X[..., 0] @ S.T) ** 3
    # every_point lists the points by label, then by signal group
    signal = (torch.arange(len(X)) // (len(X) // (2 * (D // C)))) % (D // C)
    outside = signal[:, None] != torch.arange(D) // C
    return float(chance @ (seen * outside).sum(1))


class Events(NamedTuple):
    """Values by the kind of the first group: the signal group, a random empty one, a random
    non-empty one.
    """

    chance: list[float]
    growth: list[
        float
    ]  # contribution to the growth of the score between patches 1 and 2, a step of rate 1


def growth_by_event(D: Count, C: Count, q: Chance, alpha: NonNegative) -> Events:
    """Split the first growth of gamma by what the group of its two patches carries (gamma = rho =
    0, beta = 1).
    """
    X, _, chance = (part[: len(part) // 2] for part in every_point(D, C, q))  # label 1
    A, v = three_values(D, C, 1.0, 0.0, 0.0), torch.tensor([alpha], dtype=torch.float64)
    model = PositionalViT(A, v, temperature=1.0)
    z, u = model.preactivations(X)[:, 0], X[..., 0]
    pull = (
        2
        * chance
        * torch.sigmoid(-model(X))
        * model.activation_slope(z)
        * alpha
        * (u[:, 1] - u @ model.weights[0])
    )
    first = torch.arange(len(X)) < len(X) // (D // C)
    empty = ~first & (u[:, :C] == 0).all(1)
    events = (first, empty, ~first & ~empty)
    unit = D * float(model.weights[0, 1])
    return Events(
        [float(2 * chance[event].sum()) for event in events],
        [unit * float(pull[event].sum()) for event in events],
    )


def crowding(C: Size, q: Chance, d: AtLeastOne) -> int:
    """Least k with P[at least k strays in a group of C] <= 1 / d."""
    from scipy.stats import binom

    return next(k for k in range(C + 2) if binom.sf(k - 1, C, q) <= 1 / d)
