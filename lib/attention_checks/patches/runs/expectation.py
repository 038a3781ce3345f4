"""Population descents and what is read off them: attention, pulls on the value vector, one learning
rate as a flow.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Annotated, Any, Literal, NamedTuple, cast

import numpy as np
import torch
from attention_theory.patches.errors import label_noise_floor
from attention_theory.patches.population import (
    Population,
    ReducedViT,
    Trajectory,
    every_point,
    population_descent,
    three_values,
)
from attention_theory.patches.vit import PositionalViT, association
from jaxtyping import Float
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import binom
from theorybook.validation import (
    FILLED,
    Chance,
    Count,
    Extended,
    Natural,
    NonNegative,
    Positive,
    Signed,
    Size,
    Steps,
)
from torch import Tensor

#: (D, C, q) of the four descents that the chapters follow.
FOUR = ((12, 4, 0.1), (16, 4, 0.1), (16, 4, 0.25), (16, 4, 0.4))


@dataclass(frozen=True, eq=False)
class Descent:
    """A population descent with the population and the attention along it."""

    world: Population
    path: Trajectory
    rate_A: NonNegative
    temperature: Positive
    nu: float
    beta: Signed = 1.0

    @cached_property
    def weights(self) -> Float[Tensor, "3 T"]:
        """Lambda, Gamma, Xi at each step."""
        return torch.stack(
            [self.world.weights(self.vit(t)) for t in range(len(self.path.alpha))], 1
        )

    @property
    def G(self) -> Float[Tensor, "T"]:
        """D (Lambda + (C - 1) Gamma)."""
        return self.world.D * self.path.group

    def moved(self, score: Literal["gamma", "rho"]) -> Float[Tensor, "S"]:
        """Change of ``gamma`` or ``rho`` in each step, per unit of its rate."""
        return getattr(self.path, score).diff() / self.rate_A

    @property
    def floor(self) -> tuple[float, float]:
        """Least error and least loss of any classifier."""
        return label_noise_floor(self.world.D, self.world.C, self.world.q)

    @property
    def early(self) -> int:
        """First step with a loss below 0.35, half of that at the start: before it the sigmoid is of
        order 1.
        """
        return int((self.path.loss < 0.35).nonzero()[0])

    def at(self, step: Natural) -> tuple[float, float, float]:
        """(alpha, gamma, rho) at a step."""
        if not 0 <= step < len(self.path.alpha):
            raise ValueError(
                f"step = {step} is not allowed: the run has the steps 0 to "
                f"{len(self.path.alpha) - 1}"
            )
        return (
            float(self.path.alpha[step]),
            float(self.path.gamma[step]),
            float(self.path.rho[step]),
        )

    def vit(self, step: Natural) -> ReducedViT:
        """The model at a step."""
        return ReducedViT(*self.at(step), beta=self.beta, nu=self.nu, temperature=self.temperature)

    def association(self, step: Natural) -> float:
        """Share of the rows that find their group at a step."""
        scores = three_values(self.world.D, self.world.C, self.beta, *self.at(step)[1:])
        return association(scores, torch.arange(self.world.D) // self.world.C)

    def margins(self, step: Natural) -> Float[Tensor, "M"]:
        """The margins y F of all multisets at a step."""
        return self.world.margins(self.vit(step))

    @cached_property
    def pulls(self) -> Float[Tensor, "2 T"]:
        """Parts of the growth of alpha at each step, per unit of its rate: rows of the signal
        group, all other rows.
        """
        pulls = [self.world.feature_pull(self.vit(t)) for t in range(len(self.path.alpha))]
        return torch.tensor(pulls, dtype=torch.float64).T


@cache
def descent(
    D: Count,
    C: Count,
    q: Chance,
    steps: Steps = 600,
    rate: NonNegative | None = None,
    nu: NonNegative = 1e-3,
    beta: Signed = 1.0,
) -> Descent:
    """Exact population descent: two rates and temperature 1, or one ``rate`` for v and A and
    temperature sqrt(D); the diagonal scores are fixed at ``beta``.
    """
    temperature = 1.0 if rate is None else D**0.5
    rate_v, rate_A = (1e-3, 10.0) if rate is None else (rate, rate)
    rates: dict[str, Any] = {"rate_v": rate_v, "rate_A": rate_A}
    path = population_descent(
        D, C, q, steps=steps, nu=nu, temperature=temperature, beta=beta, **rates
    )
    return Descent(Population(D, C, q), path, rate_A, temperature, nu, beta)


def four_descents(steps: Steps = 600) -> list[Descent]:
    """The descents at the sizes of :data:`FOUR`."""
    return [descent(*size, steps=steps) for size in FOUR]


def matrix_descent(
    A: Float[Tensor, "D D"],
    v: Float[Tensor, "d"],
    X: Float[Tensor, "N D d"],
    y: Float[Tensor, "N"],
    chance: Float[Tensor, "N"],
    steps: Steps,
    rate_v: NonNegative = 1e-3,
    rate_A: NonNegative = 10.0,
    train_diagonal: bool = False,
) -> tuple[Float[Tensor, "T D D"], Float[Tensor, "T d"]]:
    """Descent on weighted data points in matrix form, temperature 1, without using the symmetry."""
    As, vs = [A], [v]
    for _ in range(steps):
        dA, dv = PositionalViT(A, v, temperature=1.0).gradients(X, y, chance)
        A, v = A - rate_A * (dA if train_diagonal else dA - dA.diagonal().diag()), v - rate_v * dv
        As.append(A)
        vs.append(v)
    return torch.stack(As), torch.stack(vs)


def population_law(
    D: Count, C: Count, q: Chance, order: Annotated[Sequence[int] | None, FILLED] = None
) -> Counter:
    """Probability of each data point, its label last, after the patches are put in this order."""
    X, y, chance = every_point(D, C, q)
    table: Counter = Counter()
    points = torch.cat(
        [X[:, torch.arange(D) if order is None else torch.tensor(order), 0], y[:, None]], 1
    )
    for point, weight in zip(points.int().tolist(), chance.tolist()):
        table[tuple(point)] += weight
    return table


class FlowPoint(NamedTuple):
    """A state of the flow of one rate; ``time`` is rate times steps."""

    time: float
    alpha: float
    gamma: float
    rho: float
    growth_gamma: float  # per unit of time
    growth_rho: float
    curvature: float  # second derivative of the loss along v
    loss: float
    error: float
    inside: float  # attention on partners, (C - 1) Gamma
    outside: float  # attention on strangers, (D - C) Xi


@cache
def one_rate_flow(
    D: Count, C: Count, q: Chance, points: Size = 60, size: Positive = 0.2
) -> list[FlowPoint]:
    """Gradient flow with one learning rate and d = D, for the scores alone: alpha always takes its
    best value for them.

    An estimate, good where the scores are slow (as they are at a stable rate). Each point moves the
    faster score by ``size``; time by the trapezoidal rule.
    """
    world, T = Population(D, C, q), D**0.5
    gamma = rho = time = last = 0.0
    low, high, flow = 0.05, 3.0, []

    def slope(a):
        return world.gradients(ReducedViT(a, gamma, rho, temperature=T))[0]

    for _ in range(points):
        alpha = cast(float, brentq(slope, low, high, xtol=1e-7))
        low, high = 0.8 * alpha, 1.2 * alpha
        curvature = (slope(1.001 * alpha) - slope(0.999 * alpha)) / (0.002 * alpha)
        vit = ReducedViT(alpha, gamma, rho, temperature=T)
        _, *slopes, margins = world.gradients(vit)
        step = size / max(abs(s) for s in slopes)
        time += (last + step) / 2 if last else 0.0
        _, inside, outside = world.weights(vit).tolist()
        attention = (C - 1) * inside, (D - C) * outside
        growth = -slopes[0], -slopes[1]
        risk = world.loss(margins), world.error(margins)
        flow.append(FlowPoint(time, alpha, gamma, rho, *growth, curvature, *risk, *attention))
        gamma, rho, last = gamma + step * growth[0], rho + step * growth[1], step
    return flow


def steps_to(
    flow: Annotated[list[FlowPoint], FILLED], reached: Callable[[FlowPoint], bool]
) -> float:
    """Steps to the first point that meets the condition, at the largest stable rate 2/curvature."""
    end = next(i for i, point in enumerate(flow) if reached(point))
    return flow[end].time * max(point.curvature for point in flow[: end + 1]) / 2


def initial_growth_enumerated(
    D: Count, C: Count, q: Chance, beta: Signed, alpha: Positive = 1e-4
) -> tuple[float, float]:
    """Growth of the scores at the start, by enumerating the data points.

    In the units of :func:`attention_theory.patches.population.initial_growth`.
    """
    world = Population(D, C, q)
    vit = ReducedViT(alpha, 0.0, 0.0, beta, nu=0.0)
    _, d_gamma, d_rho, _ = world.gradients(vit)
    unit = 1.5 * (D * alpha * float(world.weights(vit)[2])) ** 3
    return -d_gamma / unit, -d_rho / unit


def mean_sigmoid(world: Population, vit: ReducedViT) -> float:
    """Mean of the sigmoid of -y F over the population."""
    return float(world.probability @ torch.sigmoid(-world.margins(vit)))


def plateau_end(D: Count, C: Count, q: Chance) -> float:
    """The alpha at which the mean sigmoid has fallen to 1/4, half of its start, at gamma = rho =
    0.
    """
    world = Population(D, C, q)
    return cast(
        float, brentq(lambda a: mean_sigmoid(world, ReducedViT(a, 0.0, 0.0)) - 0.25, 1e-3, 2.0)
    )


def pull_at_equal_scores(alpha: Positive, D: Count, C: Count, q: Chance, p: Count = 3) -> float:
    """Growth of alpha per unit of its rate at gamma = rho = 0, beta = 1, without a linear part, for
    any D.

    With T the sum of all patches, a row whose patch carries x has z = alpha D (T + (e - 1) x) / (D
    + e - 1). So the output depends on how many strays are +1 and how many -1 alone: a short sum
    where strays are few.
    """
    most = int(binom.isf(1e-15, D - C, q))  # strays; more are too unlikely to count
    strays, plus = np.tril_indices(most + 1)
    chance = binom.pmf(strays, D - C, q) * binom.pmf(plus, strays, 0.5)
    minus, plus = strays - plus, C + plus
    counts = {1: plus, -1: minus, 0: D - plus - minus}
    margin = sum(
        n * (D * (plus - minus + (np.e - 1) * x) / (D + np.e - 1)) ** p for x, n in counts.items()
    )
    return float(chance @ (p * alpha ** (p - 1) * margin * expit(-(alpha**p) * margin)))


def best_at_equal_scores(D: Count, C: Count, q: Chance, p: Count = 3) -> float:
    """The alpha at which :func:`pull_at_equal_scores` vanishes: the best length of the value vector
    before scores move.
    """
    pull = lambda alpha: pull_at_equal_scores(alpha, D, C, q, p)
    return cast(float, brentq(pull, 0.1 / (C * D ** (1 / p)), 20 / (C * D ** (1 / p))))


def loss_at_turn(run: Descent) -> Extended:
    """Loss where alpha is largest; NaN if it still grows at the end."""
    peak = int(run.path.alpha.argmax())
    return float(run.path.loss[peak]) if peak < len(run.path.alpha) - 1 else float("nan")
