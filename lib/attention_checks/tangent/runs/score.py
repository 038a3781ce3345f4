"""Learning the score of a mixture in the plane: data, finite and infinite width, sampling (cao2024,
section 6).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, cast

import flint
import numpy as np
import torch
from attention_theory.device import generator, normal
from attention_theory.tangent.kernel import limit_kernel
from attention_theory.tangent.network import SoftmaxNetwork
from attention_theory.tangent.training import learned, train
from jaxtyping import Float, Float64
from theorybook.devices import Device
from theorybook.validation import FILLED, Count, NonNegative, Positive, Seed, Size, Steps
from torch import Tensor
from torch.autograd.functional import hessian, jacobian

from attention_checks.tangent.reverse_process import (
    GaussianMixture,
    reverse_sde,
    reverse_times,
    sliced_wasserstein,
)


def plane_mixture() -> GaussianMixture:
    """Three elongated clusters inside the unit disc."""

    def ellipse(angle, long, short):
        turn = torch.tensor(
            [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]],
            dtype=torch.float64,
        )
        covariance = (
            turn @ torch.diag(torch.tensor([long**2, short**2], dtype=torch.float64)) @ turn.T
        )
        return (covariance + covariance.T) / 2

    places = torch.tensor([0.5, 2.4, 4.1], dtype=torch.float64)
    return GaussianMixture(
        torch.tensor([0.40, 0.35, 0.25], dtype=torch.float64),
        0.55 * torch.stack((places.cos(), places.sin()), 1),
        torch.stack([ellipse(2.0, 0.12, 0.05), ellipse(0.0, 0.07, 0.07), ellipse(0.2, 0.12, 0.04)]),
    )


@dataclass(frozen=True, eq=False)
class ScoreProblem:
    """Times t_i uniform on (0, horizon), noised points x(t_i) and the clean points x(0)_i, the
    labels.
    """

    mixture: GaussianMixture
    t: Float[Tensor, " n"]
    noisy: Float[Tensor, "n d"]
    clean: Float[Tensor, "n d"]
    horizon: Positive
    radius: Positive

    def inputs(
        self, t: NonNegative | Float[Tensor, ""] | Float[Tensor, "k"], x: Float[Tensor, "k d"]
    ) -> Float[Tensor, "k d_1"]:
        """(t / horizon, x / radius) / sqrt 2, of norm at most 1 for |x| <= radius."""
        t = torch.as_tensor(t, dtype=x.dtype, device=x.device).expand(len(x))[:, None]
        return torch.cat((t / self.horizon, x / self.radius), 1) / math.sqrt(2)

    @property
    def X(self) -> Float[Tensor, "n d_1"]:
        """The inputs of the regression."""
        return self.inputs(self.t, self.noisy)

    @property
    def truth(self) -> Float[Tensor, "n d"]:
        """The posterior mean F_*, around which the labels scatter."""
        return self.mixture.posterior_mean(self.t, self.noisy)


def draw_score_problem(
    mixture: GaussianMixture,
    n: Count,
    seed: Seed,
    horizon: Positive = 2.0,
    radius: Positive | None = None,
) -> ScoreProblem:
    """Draw n independent (t, x(t), x(0)); the radius is the largest |x(t)| unless it is given."""
    t = horizon * torch.rand(n, generator=generator(seed), dtype=torch.float64).to(mixture.means)
    noisy, clean = mixture.pairs(t, seed + 1)
    return ScoreProblem(
        mixture,
        t,
        noisy,
        clean,
        horizon,
        float(noisy.norm(dim=1).max()) if radius is None else radius,
    )


def regression_path(
    X: Float[Tensor, "n d"],
    labels: Float[Tensor, "n k"],
    test: Float[Tensor, "t d"],
    steps: list[int],
    sigma: Positive = 1.0,
) -> list[Float[Tensor, "t k"]]:
    """Kernel regression at infinite width, rate m eta lambda_max = 1: the predictions after each
    number of steps.
    """
    values, vectors = torch.linalg.eigh(limit_kernel(X, sigma=sigma))
    ratio = values.clamp(min=0) / values[-1]
    kernel, coefficients = limit_kernel(test, X, sigma), vectors.T @ labels
    return [
        kernel @ (vectors @ ((learned(ratio, tau) / values[-1])[:, None] * coefficients))
        for tau in steps
    ]


def error(prediction: Float[Tensor, "n k"], truth: Float[Tensor, "n k"]) -> float:
    """Mean over the rows of the squared distance."""
    return float((prediction - truth).square().sum(1).mean())


def train_on(problem: ScoreProblem, m: Count, steps: Steps, seed: Seed = 0) -> SoftmaxNetwork:
    """The network after gradient descent at rate 1 / (m lambda_max) on all pairs."""
    net = SoftmaxNetwork.paired(problem.X.shape[1], m, seed, outputs=problem.clean.shape[1]).to(
        problem.X
    )
    top = float(torch.linalg.eigvalsh(limit_kernel(problem.X))[-1])
    return train(net, problem.X, problem.clean, steps, 1 / (m * top), kernel=False).net


def error_by_time(
    problem: ScoreProblem,
    predict: Callable[[Tensor], Tensor],
    times: Annotated[list[float], FILLED],
) -> tuple[Float[Tensor, " times"], Float[Tensor, " times"]]:
    """E|F - F_*|^2 and E|F_*|^2 at each time, over 1000 points each."""
    rows = []
    for k, t in enumerate(times):
        x = problem.mixture.sample(1000, seed=500 + k, t=t)
        exact = problem.mixture.posterior_mean(t, x)
        rows.append((error(predict(problem.inputs(t, x)), exact), error(exact, 0 * exact)))
    errors, energies = problem.t.new_tensor(rows).T
    return errors, energies


def pivots(points: Float[Tensor, "n d"], digits: Size = 120) -> list[flint.arb]:
    """Pivots of Gauss elimination on the limit kernel (sigma = 1), in balls: all positive if it is
    definite.

    The smallest pivot is an upper bound for the smallest eigenvalue, far below the rounding of
    floating point.
    """
    with flint.ctx.workdps(digits):
        x = np.vectorize(flint.arb, otypes=[object])(points.cpu())
        gram, found = x @ x.T, []
        rest = gram * np.exp(gram)
        while len(rest):
            found.append(rest[0, 0])
            rest = rest[1:, 1:] - np.outer(rest[1:, 0], rest[0, 1:] / rest[0, 0])
        return found


def steepest(mixture: GaussianMixture, t: Positive, points: Float[Tensor, "n d"]) -> float:
    """Largest norm of the derivative of the posterior mean over the points."""
    slopes = jacobian(lambda x: mixture.posterior_mean(t, x).sum(0), points)  # (d, n, d)
    return float(torch.linalg.matrix_norm(slopes.movedim(1, 0), 2).max())


def centred_pair(
    covariances: Annotated[list[list[float]], FILLED], apart: NonNegative
) -> GaussianMixture:
    """Two equally likely clusters of the plane: diagonal covariances, means -apart and apart on the
    first axis.
    """
    half = torch.full((2,), 0.5, dtype=torch.float64)
    means = torch.tensor([[-apart, 0.0], [apart, 0.0]], dtype=torch.float64)
    return GaussianMixture(
        half, means, torch.diag_embed(torch.tensor(covariances, dtype=torch.float64))
    )


def reverse_sample(
    score: Callable[[float, Tensor], Tensor],
    stop: Positive,
    seed: Seed,
    count: Size = 1000,
    device: Device = "cpu",
) -> Tensor:
    """Points of the reverse process in the plane, from a standard normal sample at time 2 down to
    ``stop``, 60 steps.
    """
    start = normal(count, 2, generator=generator(seed)).to(device)
    return reverse_sde(score, start, reverse_times(2.0, stop, 60).to(start), seed + 1)


def distances(
    mixture: GaussianMixture, make: Callable[[int], Tensor], seeds: range = range(2000, 2060, 10)
) -> list[float]:
    """Sliced Wasserstein distance of ``make(seed)`` to a fresh sample of the mixture, for each
    seed.
    """
    return [sliced_wasserstein(make(seed), mixture.sample(1000, seed=seed + 5)) for seed in seeds]


def fokker_planck(
    log_q: Callable[[Tensor, Tensor], Tensor],
    drift: Callable[[Tensor, Tensor], Tensor],
    g: Callable[[Tensor], Tensor],
    times: Float64[Tensor, " p"],
    points: Float64[Tensor, "p d"],
) -> tuple[Float[Tensor, " p"], Float[Tensor, " p"]]:
    """Both sides of d_t u = -div b - b.grad u + g/2 (laplace u + |grad u|^2) for u = log q, by
    automatic differentiation.

    The density q of dx = b dt + sqrt(g) dB obeys it at every time and point.

    Args:
        log_q: (t, (1, d)) -> (1,), the log density.
        drift: (t, (d,)) -> (d,).
        g: t -> squared noise.
        times: one for each point.
        points: (p, d).
    """
    u = lambda t, x: log_q(t, x[None])[0]
    left, right = [], []
    for t, x in zip(times, points):
        rise, slope = jacobian(u, (t, x))
        laplacian = torch.trace(cast(Tensor, hessian(lambda x: u(t, x), x)))
        b, divergence = drift(t, x), torch.trace(jacobian(lambda x: drift(t, x), x))
        left.append(rise)
        right.append(-divergence - b @ slope + g(t) / 2 * (laplacian + slope @ slope))
    return torch.stack(left), torch.stack(right)
