"""Diffusion with everything known: Gaussian mixtures, their exact score and posterior mean, and the
reverse process.

The forward process is that of :mod:`attention_theory.tangent.diffusion` (cao2024, eq. 3 and 4).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from attention_theory.device import generator, normal
from attention_theory.tangent.diffusion import signal_and_noise
from jaxtyping import Float
from theorybook.devices import Where
from theorybook.validation import Count, NonNegative, Positive, Seed, Size, Steps, recheck_callback
from torch import Tensor


@dataclass(frozen=True, eq=False)
class GaussianMixture:
    """A Gaussian mixture p_0 and what the forward process makes of it.

    Computed parameters have rounding errors: weights and covariances are accepted that are off by
    less than half the digits of their precision, each covariance measured by its own largest entry.
    The weights are divided by their sum, and each covariance is replaced by the mean of itself and
    its transpose.

    Args:
        weights: (k,), positive, sum 1.
        means: (k, d).
        covariances: (k, d, d), symmetric positive semidefinite; zero matrices are point masses,
            which have a density for t > 0.

    Raises:
        ValueError: the weights or the covariances are not valid.

    >>> import torch
    >>> from attention_checks.tangent.reverse_process import GaussianMixture
    >>> weights, means = torch.tensor([0.5, 0.5]).double(), torch.tensor([[-2.0], [2.0]]).double()
    >>> mixture = GaussianMixture(weights, means, torch.eye(1).double().repeat(2, 1, 1))
    >>> mixture.score(0.0, torch.tensor([[9.0]]).double()).round(decimals=3).item()  # to the mean 2
    -7.0
    """

    weights: Float[Tensor, " k"]
    means: Float[Tensor, "k d"]
    covariances: Float[Tensor, "k d d"]

    def __post_init__(self):
        rounding = math.sqrt(torch.finfo(self.weights.dtype).eps)
        total = self.weights.sum()
        if not bool((self.weights > 0).all()) or abs(float(total) - 1) > rounding:
            raise ValueError(
                f"the weights must be positive and sum to 1, got {self.weights.tolist()}"
            )
        object.__setattr__(
            self, "weights", self.weights / total
        )  # the way to set a field of a frozen dataclass
        C, slack = self.covariances, rounding * self.covariances.abs().amax((1, 2))
        symmetric = (C + C.mT) / 2
        skewed = (C - C.mT).abs().amax((1, 2)) > slack
        for k in (
            torch.nonzero(skewed | (torch.linalg.eigvalsh(symmetric)[:, 0] < -slack))
            .flatten()
            .tolist()
        ):
            raise ValueError(
                f"every covariance must be symmetric and positive semidefinite, number {k} is not"
            )
        object.__setattr__(self, "covariances", symmetric)

    def to(self, target: Where) -> "GaussianMixture":
        """The same mixture on another device or in another precision."""
        return replace(
            self,
            weights=self.weights.to(target),
            means=self.means.to(target),
            covariances=self.covariances.to(target),
        )

    def _components(self, t: float | Tensor, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """For every x and component: log weight + log density at time t; alpha; and C_k^{-1} (x -
        alpha mu_k).
        """
        alpha, h = signal_and_noise(t, x)
        d = x.shape[1]
        eye = torch.eye(d, dtype=x.dtype, device=x.device)
        C = (
            alpha[..., None, None] ** 2 * self.covariances + h[..., None, None] * eye
        )  # (n or 1, k, d, d)
        gap = x[:, None] - alpha[..., None] * self.means  # (n, k, d)
        factor = torch.linalg.cholesky(C)
        white = torch.linalg.solve_triangular(factor, gap[..., None], upper=False)
        solved = torch.linalg.solve_triangular(factor.mT, white, upper=True)[..., 0]
        logdet = 2 * factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        logs = self.weights.log() - 0.5 * (
            white[..., 0].square().sum(-1) + logdet + d * math.log(2 * math.pi)
        )
        return logs, alpha, solved

    def log_density(self, t: NonNegative | Tensor, x: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
        """The log-density log p_t(x), with t one time or one per row."""
        return torch.logsumexp(self._components(t, x)[0], dim=1)

    def score(self, t: NonNegative | Tensor, x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """The gradient of log p_t at x."""
        logs, _, solved = self._components(t, x)
        return -(torch.softmax(logs, dim=1)[..., None] * solved).sum(1)

    def posterior_mean(
        self, t: NonNegative | Tensor, x: Float[Tensor, "n d"]
    ) -> Float[Tensor, "n d"]:
        """F_*(t, x) = E[x(0) | x(t) = x], the target function of cao2024, section 6."""
        logs, alpha, solved = self._components(t, x)
        means = self.means + alpha[..., None] * (self.covariances @ solved[..., None])[..., 0]
        return (torch.softmax(logs, dim=1)[..., None] * means).sum(1)

    def sample(self, n: Count, seed: Seed, t: NonNegative = 0.0) -> Float[Tensor, "n d"]:
        """Draw n independent points from p_t."""
        return self.pairs(self.means.new_full((n,), float(t)), seed)[0]

    def pairs(
        self, t: Float[Tensor, " n"], seed: Seed
    ) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n d"]]:
        """Noised points x(t_i) and the points x(0)_i they came from, independent over i."""
        random = generator(seed)
        n, d = len(t), self.means.shape[1]
        component = torch.multinomial(self.weights.cpu(), n, replacement=True, generator=random)
        C = self.covariances.cpu().double()
        scale = C.abs().amax((1, 2), keepdim=True).clamp(min=torch.finfo(C.dtype).tiny)
        # rounded, so that the last place does not choose the axes of a round cluster
        values, vectors = torch.linalg.eigh((C / scale).round(decimals=12))
        # unlike a Cholesky factor, this root exists for point masses
        roots = (vectors * (values.clamp(min=0)[:, None] * scale).sqrt()).to(self.means)
        first = normal(n, d, 1, generator=random).to(self.means)
        clean = self.means[component] + (roots[component] @ first)[..., 0]
        alpha, h = signal_and_noise(t, clean)
        return alpha * clean + h.sqrt() * normal(n, d, generator=random).to(self.means), clean


def reverse_times(horizon: Positive, stop: Positive, steps: Steps) -> Float[Tensor, " times"]:
    """Times from ``horizon`` down to ``stop``, in steps proportional to the square root of the time
    that is left.

    >>> from attention_checks.tangent.reverse_process import reverse_times
    >>> reverse_times(1.0, 0.04, steps=4).round(decimals=2).tolist()
    [1.0, 0.64, 0.36, 0.16, 0.04]
    """
    if not 0 < stop < horizon or steps < 1:
        raise ValueError(
            f"need 0 < stop < horizon and a step, got stop = {stop}, horizon = {horizon}, steps = "
            f"{steps}"
        )
    times = torch.linspace(
        math.sqrt(horizon), math.sqrt(stop), steps + 1, dtype=torch.float64
    ).square()
    times[0], times[-1] = horizon, stop  # exactly
    return times


def reverse_sde(
    score: Callable[[float, Tensor], Tensor],
    start: Float[Tensor, "n d"],
    times: Float[Tensor, " times"],
    seed: Seed,
) -> Float[Tensor, "n d"]:
    """Euler-Maruyama for dy = (y/2 + score) ds + dB, the forward process run backwards (cao2024,
    eq. 4).

    Args:
        score: the function (t, x) -> (n, d), exact or learned.
        start: points at ``times[0]``: of p_T, or standard normal in its place.
        times: decreasing, for example :func:`reverse_times`; the last one is where it stops.
        seed: of the noise.

    Raises:
        ValueError: the times do not decrease, or the score returns something other than a vector
            for each point.

    >>> import torch
    >>> from attention_checks.tangent.reverse_process import reverse_sde, reverse_times
    >>> start = torch.randn(2000, 1, generator=torch.Generator().manual_seed(0)).double()
    >>> end = reverse_sde(lambda t, x: -x, start, reverse_times(3.0, 0.01, 50), seed=0)
    >>> round(end.std().item(), 1)  # the score of the normal distribution keeps it
    1.0
    """
    if not bool((times.diff() < 0).all()):
        raise ValueError("the times of the reverse process must decrease")
    random, score = generator(seed), recheck_callback(score)
    y = start
    for t, step in zip(times[:-1].tolist(), (-times.diff()).tolist()):
        slope = score(t, y)
        if getattr(slope, "shape", None) != y.shape:
            given = f"shape {tuple(slope.shape)}" if hasattr(slope, "shape") else repr(slope)
            raise ValueError(
                f"the score must have the shape of its points, {tuple(y.shape)}, got {given} at t "
                f"= {t:g}"
            )
        y = y + (y / 2 + slope) * step + math.sqrt(step) * normal(*y.shape, generator=random).to(y)
    return y


def sliced_wasserstein(
    x: Float[Tensor, "n d"], y: Float[Tensor, "k d"], projections: Size = 50, seed: Seed = 0
) -> float:
    """Mean over random directions of the Wasserstein-1 distance between the projected samples.

    >>> import torch
    >>> from attention_checks.tangent.reverse_process import sliced_wasserstein
    >>> x = torch.tensor([[0.0], [1.0]]).double()
    >>> round(sliced_wasserstein(x, x + 3), 6)
    3.0
    """
    from scipy import stats

    directions = normal(x.shape[1], projections, generator=generator(seed))
    directions = (directions / directions.norm(dim=0)).numpy()
    left, right = x.detach().cpu().numpy() @ directions, y.detach().cpu().numpy() @ directions
    return float(
        np.mean([stats.wasserstein_distance(left[:, k], right[:, k]) for k in range(projections)])
    )
