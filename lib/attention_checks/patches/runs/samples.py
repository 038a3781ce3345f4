"""Measurements on descents from samples: their distance from the population descent, and its
dependence on the sample size.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from attention_theory.device import generator
from attention_theory.patches.distribution import PatchDistribution
from attention_theory.patches.population import Population, ReducedViT, every_point, three_values
from attention_theory.patches.training import (
    TEST_SEED,
    SampleTrajectory,
    missed,
    train_vit,
)
from attention_theory.patches.vit import PositionalViT
from jaxtyping import Bool, Float
from theorybook.validation import (
    Chance,
    Count,
    Natural,
    NonNegative,
    Positive,
    Seed,
    Signed,
    Size,
    Steps,
)
from torch import Tensor
from torch.nn.functional import softplus

#: Sixteen patches in four groups that are scattered over the positions.
SCATTERED = (torch.arange(16) // 4)[torch.randperm(16, generator=generator(5))]
EASY = PatchDistribution(16, 4, 16, 0.25, 16**-0.5, groups=SCATTERED)
#: Rates of the scores and of v.
RATES: dict[str, Any] = {"rate_A": 10.0, "rate_v": 3e-3}


def misfit(model: PositionalViT, images: PatchDistribution, tests: Size, seed: Seed) -> float:
    """Fraction of fresh points on which f* F > 0 fails, f* the labelling function."""
    X, _ = images.sample(tests, seed + TEST_SEED)
    return missed(images.label(X), model(X.to(model.v)))


def semi_idealised(
    population: Population,
    alpha: Float[Tensor, "T"],
    rate_A: NonNegative,
    beta: Signed = 1.0,
    p: Count = 3,
    nu: NonNegative = 1e-3,
) -> tuple[Float[Tensor, "T"], Float[Tensor, "T"]]:
    """Scores (gamma, rho) of the semi-idealised process (jelassi2022, Appendix E.2.1), exactly.

    Its value vector is alpha_t w with the lengths alpha of a realistic run; only its scores are
    trained, on the population risk, from 0.

    >>> import torch
    >>> from attention_checks.patches.runs.samples import semi_idealised
    >>> from attention_theory.patches import Population
    >>> gamma, rho = semi_idealised(Population(8, 2, 0.25), torch.ones(3).double(), rate_A=1.0)
    >>> gamma.round(decimals=3).tolist()
    [0.0, 0.019, 0.036]
    """
    gamma = rho = 0.0
    rows = []
    for length in alpha.tolist():
        rows.append((gamma, rho))
        _, d_gamma, d_rho, _ = population.gradients(ReducedViT(length, gamma, rho, beta, p, nu))
        gamma, rho = gamma - rate_A * d_gamma, rho - rate_A * d_rho
    gammas, rhos = alpha.new_tensor(rows).T
    return gammas, rhos


@cache
def replicated(
    seeds: range, N: Count, steps: Steps, beta: Signed = 1.0
) -> tuple[SampleTrajectory, ...]:
    """Descents on :data:`EASY`, each with its own samples and start."""
    common = {"beta": beta, "every": steps, "tests": 5000, **RATES}
    return tuple(train_vit(EASY, N, steps, seed=seed, **common) for seed in seeds)


def sampling_terms(
    N: Count, seed: Seed, state: tuple[float, float, float] = (0.12, 0.2, -0.1)
) -> tuple[float, float, float, float]:
    """Gradients on N samples against the exact ones, D = 12, C = 4, d = 8, q = 1/4.

    Length of dv across w at the start (v = 0, equal scores); then at ``state`` (alpha, gamma, rho):
    length of dv across w, error of dv along w, largest error of a derivative in an off-diagonal
    score.
    """
    images, (alpha, gamma, rho) = COUPLED, state
    X, y = images.sample(N, seed=1000 + seed)
    D, d = images.D, images.d
    zero = torch.zeros(D, D, dtype=torch.float64), torch.zeros(d, dtype=torch.float64)
    first = PositionalViT(*zero, temperature=1.0).gradients(X, y)[1]
    dA, dv = PositionalViT(
        three_values(D, 4, 1.0, gamma, rho), alpha * images.w, temperature=1.0
    ).gradients(X, y)
    exact_v, inside, outside, _ = Population(D, 4, images.q).gradients(ReducedViT(*state))
    exact_A = three_values(D, 4, 0.0, inside, outside)
    off = ~torch.eye(D, dtype=torch.bool)
    return (
        float(first[1:].norm()),
        float(dv[1:].norm()),
        abs(float(dv[0]) - exact_v),
        float((dA - exact_A)[off].abs().max()),
    )


@dataclass(frozen=True)
class Displaced:
    """Largest change of the derivatives in the scores, and change of the derivative along w, for
    each length of the move.
    """

    scores: list[float]
    along: list[float]


def displaced(
    moves: np.ndarray, seed: Seed = 0, D: Count = 6, alpha: Positive = 0.12, nu: NonNegative = 1e-3
) -> tuple[Displaced, Displaced]:
    """How the exact gradients change when v moves across w, and when one score moves, by each of
    these lengths.

    Over all points of C = 2, q = 0.4 with noise of both signs in one direction across w, at a state
    of Event I.
    """
    C = 2
    X, y, chance = every_point(D, C, 0.4)
    noise = 0.5 * torch.randn(X.shape, generator=generator(seed), dtype=torch.float64)
    points = torch.cat([torch.cat([X, s * noise], 2) for s in (1, -1)])
    y, chance = torch.cat([y, y]), torch.cat([chance, chance]) / 2
    A, v = three_values(D, C, 1.0, 0.2, -0.1), torch.tensor([alpha, 0.0], dtype=torch.float64)

    def gradients(A, v):
        return PositionalViT(A, v, nu=nu, temperature=1.0).gradients(points, y, chance)

    dA, dv = gradients(A, v)
    answers = []
    for unit_A, unit_v in (
        (0.0, torch.tensor([0.0, 1.0])),
        (torch.eye(D).roll(1, 1)[:1].T * torch.eye(1, D), 0.0),
    ):
        there = [gradients(A + unit_A * float(h), v + unit_v * float(h)) for h in moves]
        scores = [float((a - dA).abs().max()) for a, _ in there]
        answers.append(Displaced(scores, [abs(float((b - dv)[0])) for _, b in there]))
    return answers[0], answers[1]


#: The world of the coupling, and its descent.
COUPLED = PatchDistribution(12, 4, 8, 0.25, 8**-0.5)
COUPLED_DESCENT = {"rate_A": 10.0, "rate_v": 5e-3, "omega": 1e-5, "every": 1, "tests": 1}
EDGE = 1e-3**0.5  # nu^(1/(p-1)): the initial steps end where alpha passes it


@dataclass(frozen=True)
class Coupled:
    """A run on N samples and the semi-idealised process from the step at which alpha passes
    EDGE.
    """

    N: Count
    first: float  # length of v across w when alpha passes EDGE
    across: float  # its largest value up to the end
    gaps: tuple[float, ...]  # largest distance of a score, at each step from there on
    outputs: NonNegative  # largest distance of the outputs over 2000 points at step 20, relative
    misfit: float  # share of fresh points with f* F <= 0 at step 20


def coupled(N: Count, seed: Seed, horizon: Natural = 20, steps: Steps = 75) -> Coupled:
    """Train on N samples and run the scores of the semi-idealised process alongside.

    Raises:
        ValueError: the steps end before alpha has passed EDGE and ``horizon`` steps more.
    """
    images, off = COUPLED, ~torch.eye(12, dtype=torch.bool)
    run = train_vit(images, N, steps, seed=seed, **COUPLED_DESCENT)
    begin = next(iter((run.alpha >= EDGE).nonzero().flatten().tolist()), steps + 1)
    if begin + horizon > steps:
        raise ValueError(
            f"steps = {steps} end before alpha has passed {EDGE:.3g} and horizon = {horizon} "
            "steps more"
        )
    gammas, rhos = semi_idealised(
        Population(12, 4, images.q), run.alpha[begin : begin + horizon + 1], 10.0
    )
    ideal = [three_values(12, 4, 1.0, float(g), float(r)) for g, r in zip(gammas, rhos)]
    gaps = tuple(float((run.A[begin + k] - A)[off].abs().max()) for k, A in enumerate(ideal))
    at = min(20, horizon)
    real = PositionalViT(run.A[begin + at], run.v[begin + at], temperature=1.0)
    proxy = PositionalViT(ideal[at], run.alpha[begin + at] * images.w, temperature=1.0)
    X, _ = images.sample(2000, seed=77)
    F, G = real(X), proxy(X)
    outputs = float((F - G).abs().max() / G.abs().max())
    across = run.orthogonal[: begin + horizon + 1]
    return Coupled(
        N,
        float(run.orthogonal[begin]),
        float(across.max()),
        gaps,
        outputs,
        misfit(real, images, 5000, seed),
    )


def first_gradient(
    D: Count, C: Count, q: Chance, nu: NonNegative = 1e-3
) -> tuple[float, float, float]:
    """Growth of alpha under a linear activation, over every data point: signal rows, other rows;
    and G (beta = 1).
    """
    X, y, chance = every_point(D, C, q)
    S = torch.softmax(three_values(D, C, 1.0, 0.0, 0.0), 1)
    seen = y[:, None] * X[..., 0] @ S.T
    full = (X[..., 0].reshape(len(X), D // C, C) == y[:, None, None]).all(2).double()
    signal = (full / full.sum(1, keepdim=True))[
        :, torch.arange(D) // C
    ]  # a group filled by chance: equally likely
    parts = [
        float(D * nu / 2 * (chance * (seen * rows).sum(1)).sum()) for rows in (signal, 1 - signal)
    ]
    return parts[0], parts[1], D * float(S[0, :C].sum())


def power_moment(D: Count, C: Count, q: Chance, p: Count = 3) -> float:
    """M_p = E[y sum_i (D <w*, O_i>)^p] over every data point, gamma = rho = 0, beta = 1."""
    X, y, chance = every_point(D, C, q)
    S = torch.softmax(three_values(D, C, 1.0, 0.0, 0.0), 1)
    return float((chance * y * ((D * X[..., 0] @ S.T) ** p).sum(1)).sum())


def growth_across(
    D: Count, C: Count, q: Chance, d: Count, alpha: NonNegative, nu: NonNegative, p: Count = 3
) -> float:
    """Growth rate of the part of v across w*, on the population, as it goes to 0 (gamma = rho = 0,
    beta = 1).

    (D^2 / d) E[S y sum_i sigma''(z_i) sum_r S_ir^2 - S (1 - S) sum_r (sum_i sigma'(z_i) S_ir)^2],
    noise variance 1 / d.
    """
    X, y, chance = every_point(D, C, q)
    X, chance = X[y > 0, :, 0], 2 * chance[y > 0]
    S = torch.softmax(three_values(D, C, 1.0, 0.0, 0.0), 1)
    z = D * alpha * X @ S.T
    sigmoid = torch.sigmoid(-(z**p + nu * z).sum(1))
    slope, bend = p * z ** (p - 1) + nu, p * (p - 1) * z ** (p - 2)
    drives = sigmoid * (bend * S.square().sum(1)).sum(1)
    damps = sigmoid * (1 - sigmoid) * (slope @ S).square().sum(1)
    return D**2 / d * float(chance @ (drives - damps))


def sampled_growth(N: Count, seed: Seed, alpha: Positive = 0.02, step: Positive = 1e-3) -> float:
    """The growth rate of :func:`growth_across`, from samples at D = 8, C = 4, d = 4, q = 1/4, nu =
    1e-3: central difference of the gradient across w*.
    """
    X, y = PatchDistribution(8, 4, 4, 0.25, 0.5).sample(N, seed)
    A, pulls = three_values(8, 4, 1.0, 0.0, 0.0), []
    for sign in (1, -1):
        v = torch.tensor([alpha, sign * step, 0.0, 0.0], dtype=torch.float64)
        pulls.append(-PositionalViT(A, v, temperature=1.0).gradients(X, y)[1][1])
    return float(pulls[0] - pulls[1]) / (2 * step)


def negative_share(
    D: Count, C: Count, q: Chance, point: tuple[float, float, float], p: Count = 3
) -> float:
    """Probability that a data point has a row with x^p < -1/D, x = y D sum_r S_ir <v, X_r>, at
    (alpha, gamma, rho).
    """
    X, y, chance = every_point(D, C, q)
    alpha, gamma, rho = point
    S = torch.softmax(three_values(D, C, 1.0, gamma, rho), 1)
    z = D * alpha * y[:, None] * X[..., 0] @ S.T
    return float(chance[(z**p < -1 / D).any(1)].sum())


def medians(runs: list[Coupled], step: Natural) -> dict[int, float]:
    """Median over seeds of the distance of the scores at a step, by N."""
    if any(step >= len(run.gaps) for run in runs):
        raise ValueError(f"step = {step} is not allowed: a run has fewer steps")
    return {
        N: float(np.median([r.gaps[step] for r in runs if r.N == N]))
        for N in sorted({r.N for r in runs})
    }


def association_edge(A: Float[Tensor, "D D"], groups: Tensor) -> Float[Tensor, "D"]:
    """For each row: the least score inside its group, without the diagonal, minus the largest
    outside.
    """
    same, diagonal = groups[:, None] == groups, torch.eye(len(A), dtype=torch.bool, device=A.device)
    return A.where(same & ~diagonal, torch.inf).amin(1) - A.where(~same, -torch.inf).amax(1)


@dataclass(frozen=True)
class NearTwin:
    """Largest distance of a score from the twin's, and whether a sample contains a tie, by size and seed."""

    early: Float[np.ndarray, "sizes seeds"]  # after 10 steps
    distance: Float[np.ndarray, "sizes seeds"]  # after the last step
    with_tie: Bool[np.ndarray, "sizes seeds"]


def near_twin(
    sizes: tuple[Count, ...], seeds: range, corrected: tuple[Natural, ...] = (), steps: Steps = 300
) -> NearTwin:
    """Train on samples without noise, D = 8, C = 4, q = 1/4, beside the twin on all images.

    The activation is the cube; rates 10 for the scores and 0.003 for the length, which starts at
    0.03 and which the twin copies. An image and its negative have the same loss, so that one of
    each pair stands for both.

    Args:
        sizes: of the samples.
        seeds: of the draws, one sample of each size for each.
        corrected: the images whose patches add up to one of these numbers, or to minus one, get
            their true probabilities in every sample; in a tie they add up to 0.
        steps: of training, at least 10.

    Raises:
        ValueError: fewer than 10 steps.
    """
    if steps < 10:
        raise ValueError(f"steps = {steps} is not allowed: the early distance is that after 10")
    X, y, chance = every_point(8, 4, 0.25)
    X, chance = X[y > 0, :, 0], 2 * chance[y > 0]
    off = 1 - torch.eye(8, dtype=torch.float64)
    drawn = [
        torch.multinomial(chance, N, True, generator=generator(seed)).bincount(minlength=len(X)) / N
        for N in sizes
        for seed in seeds
    ]
    freq = torch.stack(drawn).double()
    with_tie = (freq[:, X.sum(1) == 0].sum(1) > 0).numpy()
    if corrected:
        part = torch.isin(X.sum(1).abs(), torch.tensor(corrected, dtype=torch.float64))
        rest = (1 - chance[part].sum()) / freq[:, ~part].sum(1, keepdim=True)
        freq = torch.where(part, chance, freq * rest)

    def risk(alpha: Tensor, A: Tensor, weights: Tensor) -> Tensor:
        z = 8 * alpha[:, None, None] * X @ torch.softmax(A, 2).mT
        return (weights * softplus(-(z**3).sum(2))).sum()

    alpha = torch.full((len(freq),), 0.03, dtype=torch.float64)
    A = twin = torch.eye(8, dtype=torch.float64).repeat(len(freq), 1, 1)
    early = A
    for t in range(1, steps + 1):
        alpha, A, twin = (x.detach().requires_grad_() for x in (alpha, A, twin))
        d_alpha, d_A = torch.autograd.grad(risk(alpha, A, freq), (alpha, A))
        (d_twin,) = torch.autograd.grad(risk(alpha.detach(), twin, chance), twin)
        alpha, A, twin = alpha - 0.003 * d_alpha, A - 10 * d_A * off, twin - 10 * d_twin * off
        early = A - twin if t <= 10 else early
    shape = len(sizes), len(seeds)
    at_ten, last = (
        x.detach().abs().amax(dim=(1, 2)).numpy().reshape(shape) for x in (early, A - twin)
    )
    return NearTwin(at_ten, last, with_tie.reshape(shape))
