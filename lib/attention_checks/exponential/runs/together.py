"""The four worlds on one axis, and what each kind of weights can do in them (chapter
"Together").
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import torch
from attention_theory.attention import Weights
from attention_theory.exponential.families import sharp
from attention_theory.exponential.kernels import limit_kernel_with, start_network
from attention_theory.exponential.space import group_error, population_descent_with
from attention_theory.exponential.windows import paper_probability
from attention_theory.exponential.words import mean_sensitivity
from attention_theory.separation.exact import separation_probability
from attention_theory.tangent.kernel import rank, tangent_kernel
from attention_theory.tangent.network import unit_points
from attention_theory.tokens import contexts
from jaxtyping import Float, Float64
from theorybook.validation import ANY, AtLeastOne, Extended, Natural, Size, Steps
from torch import Tensor

#: The world of patches.
WORLD: dict[str, Any] = dict(D=9, C=3, q=0.25)


def separates(weights: Weights, digits: AtLeastOne) -> float:
    """The exact probability of separation at n = 10^digits with X = 1, the paper's data, and d and
    m of order log n.
    """
    return paper_probability(weights, "self-ones", digits * math.log(10))


def four_curves(
    betas: Sequence[float], X: Float[Tensor, "c n d"], steps: Steps
) -> dict[str, list[float]]:
    """Three of the four worlds against sharpness, each as a share of its best: words, training,
    space.

    Args:
        betas: finite sharpnesses.
        X: contexts, for the word sensitivity.
        steps: of the descent on patches.
    """
    points = unit_points(12, 3, seed=0)
    gram = points @ points.T
    words = [mean_sensitivity(sharp(beta), X) for beta in betas]
    # the limit kernel over its diagonal entry beta^2 exp(beta^2), which overflows long before the
    # ratio does
    fits = [
        float(torch.linalg.eigvalsh(gram * torch.exp(beta**2 * (gram - 1)))[0].clamp(min=0))
        for beta in betas
    ]
    groups = [
        float(population_descent_with(sharp(beta), **WORLD, steps=steps).group[-1])
        for beta in betas
    ]
    return {
        "notices a word": [value / max(words) for value in words],
        "fits labels": fits,
        "finds groups": groups,
    }


@dataclass(frozen=True)
class Abilities:
    """What one kind of weights does in the four worlds: the numbers, and the answers drawn from
    them.
    """

    sensitivity: Extended
    probability: float
    rank: Natural
    error: float
    points: Size

    @property
    def notices(self) -> bool:
        """Whether the sensitivity is at least 1: one word changes the features by at least their
        length.
        """
        return self.sensitivity >= 1

    @property
    def separates(self) -> bool:
        """Whether the probability of separation is above one half."""
        return self.probability > 0.5

    @property
    def fits(self) -> bool:
        """Whether the tangent kernel has full rank."""
        return self.rank == self.points

    @property
    def finds(self) -> bool:
        """Whether the error is that of perfect groups."""
        return (
            abs(self.error - float(group_error(WORLD["D"], WORLD["C"], Fraction(WORLD["q"]))))
            < 1e-9
        )


def abilities(
    weights: Weights,
    X: Float64[Tensor, "c n d"],
    points: Float64[Tensor, "p k"],
    digits: AtLeastOne = 12,
    width: Size = 1000,
) -> Abilities:
    """One row of the table: word sensitivity, separation at n = 10^digits, rank of the tangent
    kernel, error on patches.

    Nothing is assigned: averaging and the hard maximum run too, with a slope of 0.

    Args:
        weights: the family.
        X: contexts.
        points: on the unit sphere, where the kernel of a paired network of this ``width`` is taken
            at its start.
        digits: log10 n.
        width: neurons. Patches start at score 0 with the diagonal at 1; powers, which have no slope
            there, one higher.
    """
    net = start_network(weights, points.shape[1], width, seed=0).to(points)
    raised = float(weights.family in ("power", "relu_power"))
    error = float(
        population_descent_with(weights, **WORLD, steps=120, start=raised, beta=1 + raised).error[
            -1
        ]
    )
    fitted = rank(tangent_kernel(net, points), 1e-11)
    return Abilities(
        mean_sensitivity(weights, X), separates(weights, digits), fitted, error, len(points)
    )


#: Three sizes of each world: tokens at d = 64; log10 n at X = 1; points of the sphere; (D, C) at q
#: = 1/4.
LENGTHS, DIGITS, POINTS, WORLDS = (
    (20, 100, 400),
    (6, 12, 100),
    (5, 10, 30),
    ((6, 2), (9, 3), (12, 3)),
)
#: X = I, with few blocks of rows so similar that softmax gives a row's own block too much weight.
FEW_BLOCKS: dict[str, Any] = dict(
    d=208, m=187, a0=0.01, a1=1.2, b=0.5, c=0.8, log_n=7 * math.log(10)
)


@dataclass(frozen=True)
class Row:
    """One kind of weights at three sizes of each world.

    Attributes:
        words: sensitivity found at :data:`LENGTHS`.
        separation: the exact probability at 10^:data:`DIGITS`.
        few_blocks: that at :data:`FEW_BLOCKS`.
        eigenvalue: least eigenvalue of the limit kernel at :data:`POINTS`, over its first entry; 0
            without a slope.
        error: after 300 steps of descent in :data:`WORLDS`, over that of perfect groups.
    """

    words: Annotated[tuple[float, ...], ANY]
    separation: tuple[float, ...]
    few_blocks: float
    eigenvalue: tuple[float, ...]
    error: tuple[float, ...]


def at_three_sizes(weights: Weights, steps: Steps = 300) -> Row:
    """The row of the table for these weights; odd powers, whose sums may vanish, have infinite
    sensitivity and rank d.

    Args:
        weights: the family. Powers start at scores of 1, where they have a slope.
        steps: of the descents on patches.
    """
    raised, steps_up = (
        float(weights.family in ("power", "relu_power")),
        50 if weights.knob < math.inf else 0,
    )
    words = tuple(
        mean_sensitivity(weights, contexts("iid", 1, n, 64, seed=1), steps=steps_up)
        for n in LENGTHS
    )
    flat = weights.knob in (0, math.inf) or (weights.family == "power" and weights.knob % 2 == 1)
    kernel = None if flat else limit_kernel_with(weights, unit_points(max(POINTS), 3, seed=2))
    least = [
        0.0 if kernel is None else float(torch.linalg.eigvalsh(kernel[:n, :n])[0] / kernel[0, 0])
        for n in POINTS
    ]
    errors = []
    for D, C in WORLDS:
        run = population_descent_with(
            weights, D=D, C=C, q=0.25, steps=steps, start=raised, beta=1 + raised
        )
        errors.append(float(run.error[-1]) / float(group_error(D, C, Fraction(1, 4))))
    return Row(
        words,
        tuple(separates(weights, k) for k in DIGITS),
        separation_probability(weights, "self-identity", **FEW_BLOCKS),
        tuple(max(value, 0.0) for value in least),
        tuple(errors),
    )
