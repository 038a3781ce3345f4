"""The four worlds on one axis, and what each kind of weights can do in them (chapter "Together")."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from ..attention import Weights
from ..separation.exact import separation_probability
from .families import sharp
from .kernels import limit_kernel, unit_points
from .space import group_error, population_descent
from .windows import paper_sizes
from .words import mean_sensitivity

#: The world of patches, and the sizes of the data sets of deng2023.
WORLD: dict[str, Any] = dict(D=9, C=3, q=0.25)
SIZES: dict[str, Any] = dict(a0=0.01, a1=1.2, b=0.2, c=0.8)
#: Stands for the hard maximum where u must be a function: beyond the ceiling of every window here.
HARD = 200.0


def separates(weights: Weights, digits: float) -> float:
    """The exact probability of separation at n = 10^digits with X = 1, the paper's data, and d and m of order log n."""
    log_n = digits * math.log(10)
    if weights.knob == math.inf:
        weights = sharp(HARD)
    sizes: dict[str, Any] = paper_sizes(log_n) | SIZES
    return separation_probability(weights, "self-ones", **sizes, log_n=log_n)


def started(weights: Weights) -> tuple[Weights, dict[str, float]]:
    """Where descent on patches starts: at 0 with the diagonal at 1, for powers one higher, so that they have a slope."""
    if weights.family in ("power", "relu_power"):
        return weights, dict(start=1.0, beta=2.0)
    return weights, dict(start=0.0, beta=1.0)


def four_curves(betas: Sequence[float], X: Float[Tensor, "c n d"], steps: int) -> dict[str, list[float]]:
    """Three of the four worlds against sharpness, each as a share of its best: words, training, space.

    Args:
        betas: finite sharpnesses.
        X: contexts, for the word sensitivity.
        steps: of the descent on patches.
    """
    points = unit_points(12, 3, seed=0)
    gram = points @ points.T
    words = [mean_sensitivity(sharp(beta), X) for beta in betas]
    # the limit kernel over its diagonal entry beta^2 exp(beta^2), which overflows long before the ratio does
    fits = [float(torch.linalg.eigvalsh(gram * torch.exp(beta**2 * (gram - 1)))[0].clamp(min=0)) for beta in betas]
    groups = [float(population_descent(sharp(beta), **WORLD, steps=steps).group[-1]) for beta in betas]
    return {
        "notices a word": [value / max(words) for value in words],
        "fits labels": fits,
        "finds groups": groups,
    }


@dataclass(frozen=True)
class Abilities:
    """What one kind of weights does in the four worlds: the numbers, and the answers drawn from them."""

    sensitivity: float
    probability: float
    rank: int
    error: float
    points: int

    @property
    def notices(self) -> bool:
        """Sensitivity at least 1: one word changes the features by as much as they are long."""
        return self.sensitivity >= 1

    @property
    def separates(self) -> bool:
        """Probability of separation above one half."""
        return self.probability > 0.5

    @property
    def fits(self) -> bool:
        """The limit kernel has full rank."""
        return self.rank == self.points

    @property
    def finds(self) -> bool:
        """The error of perfect groups."""
        return abs(self.error - float(group_error(WORLD["D"], WORLD["C"], Fraction(WORLD["q"])))) < 1e-9


def abilities(weights: Weights, X: Float[Tensor, "c n d"], points: Float[Tensor, "p k"], digits: float = 12) -> Abilities:
    """One row of the table: word sensitivity, separation at n = 10^digits, rank of the limit kernel, error on patches.

    Without a slope (averaging, the hard maximum) the kernel is 0, and descent leaves all scores equal, or every patch to
    itself: both err like the majority. Odd powers have no kernel and no sensitivity (nan): their row sums may vanish.
    """
    odd = weights.family == "power" and weights.knob % 2 == 1
    sensitivity = math.nan if odd else mean_sensitivity(weights, X)
    flat = weights.family == "sharp" and weights.knob in (0, math.inf)
    rank = 0
    if not (odd or flat):
        values = torch.linalg.eigvalsh(limit_kernel(weights, points))
        rank = int((values > 1e-11 * values[-1]).sum())
    member, start = started(sharp(0) if flat else weights)
    error = float(population_descent(member, **WORLD, steps=120, **start).error[-1])  # type: ignore[arg-type]
    return Abilities(sensitivity, separates(weights, digits), rank, error, len(points))
