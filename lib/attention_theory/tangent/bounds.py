"""Bounds without the parameter B of cao2024: basic estimates, one step of descent, the change of
the kernel, a sufficient width.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtri
from theorybook.validation import Extended, NonNegative, OpenChance, Positive, Size
from torch import Tensor

from attention_theory.tangent.kernel import limit_kernel, smallest_eigenvalue, tangent_kernel
from attention_theory.tangent.network import SoftmaxNetwork


def change_factor(R: NonNegative, paired: bool) -> float:
    """f(R): upper bound on the change of an entry of H, in units of |x_i.x_j| m sum_r S_ir S_jr,
    when scores move by at most R.

    4 (e^(4R) - 1) for any start, (1 + 2R)(e^(4R) - 1) + R^2 e^(4R) for a paired one, with values a
    in [-1, 1]. The leading orders 16 R and 4 R cannot be improved
    (:func:`attention_checks.tangent.runs.moves.heavy_neurons`).

    >>> from attention_theory.tangent import change_factor
    >>> change_factor(0, paired=True), change_factor(0, paired=False)
    (0.0, 0.0)
    >>> change_factor(0.01, paired=True) < change_factor(0.01, paired=False)
    True
    """
    growth = math.expm1(4 * R)  # of S_i S_j
    return (1 + 2 * R) * growth + R**2 * (1 + growth) if paired else 4 * growth


def kernel_change_bound(
    net: SoftmaxNetwork, x: Float[Tensor, "n d"], R: NonNegative
) -> Float[Tensor, "n n"]:
    """Upper bound on the change of each entry of H when no neuron moves by more than R; the same
    for all blocks (l1, l2).

    f(R) |x_i.x_j| m sum_r S_ir S_jr times max |a|^2, with f of :func:`change_factor`, where R is
    first multiplied by the largest |x_i|. Holds for every move, with certainty (chapter "The
    tangent kernel barely moves"; it replaces Lemma 5.1 of cao2024).

    Args:
        net: the network at the starting point.
        x: (n, d).
        R: largest distance that a column of W moves.

    >>> from attention_theory.tangent import SoftmaxNetwork, unit_points
    >>> from attention_theory.tangent import kernel_change_bound, tangent_kernel
    >>> x, net = unit_points(3, 3, seed=1), SoftmaxNetwork.paired(3, 100, seed=0, outputs=1)
    >>> change = tangent_kernel(net.moved(net.W, 0.01), x) - tangent_kernel(net, x)
    >>> (change.abs() <= kernel_change_bound(net, x, 0.01)).all().item()
    True
    """
    net.check(x)
    S = net.weights(x)
    factor = (
        change_factor(R * float(x.norm(dim=1).max()), net.is_paired) * float(net.a.abs().max()) ** 2
    )
    return factor * (x @ x.T).abs() * (net.m * S @ S.T)


def step_bound(
    net: SoftmaxNetwork, x: Float[Tensor, "n d"], y: Float[Tensor, "n outputs"], rate: NonNegative
) -> Extended:
    """Upper bound on |F - Y|^2 after one step of gradient descent, at any weights and rate (chapter
    gradient-descent).

    |f|^2 - 2 rate |gradient|^2 + h^2 + 2 p h (|f| + h / 3) with f = F - Y, and |gradient|^2 = m
    f'Hf. The scores of input i change by z_ir, with root mean square q_i under its weights; with e
    = exp(max |z|), p is e max q_i and h is e m max |a| |q| sqrt(outputs). Infinite where a score
    changes by more than about 700.
    """
    f, gradient = net(x) - y, net.gradient(x, y)
    z = rate * (x @ gradient)
    q = (net.weights(x) * z.square()).sum(1).sqrt()
    growth, error = float(z.abs().max().exp()), float(f.norm())
    p = growth * float(q.max())
    h = growth * net.m * float(net.a.abs().max()) * math.sqrt(net.outputs) * float(q.norm())
    return error**2 - 2 * rate * float(gradient.square().sum()) + h * (h + 2 * p * (error + h / 3))


@dataclass(frozen=True)
class FitGuarantee:
    """The result of :func:`fit_guarantee`: the guarantee applies if ``movement < radius``."""

    lam: float
    radius: NonNegative
    movement: Extended

    @property
    def holds(self) -> bool:
        """Whether gradient flow is certain to fit."""
        return self.movement < self.radius


def _radius(spread: float, lam: float) -> float:
    """The R at which the bound on the kernel's change reaches lambda / 2."""
    return brentq(lambda R: change_factor(R, True) * spread - lam / 2, 0, 10)  # pyright: ignore[reportReturnType]


def _path(R: float, outputs: int, longest: float, labels: float, lam: float) -> float:
    """The bound m D: m times the largest length of a neuron's path."""
    return 2 * (1 + R) * math.exp(2 * R) * math.sqrt(outputs) * longest * labels / lam


def fit_guarantee(
    net: SoftmaxNetwork, x: Float[Tensor, "n d"], y: Float[Tensor, "n outputs"]
) -> FitGuarantee:
    """Whether gradient flow from paired weights is certain to fit the labels, with constants read
    off the network.

    ``radius`` is the R up to which :func:`kernel_change_bound` ensures lambda_min(H) >= lambda / 2.
    ``movement`` is the bound D = 2 (1 + R) e^(2R) sqrt(outputs) max_r (sum_i (m S_ir)^2)^(1/2) |y|
    / (m lambda) on every neuron's path. If D < R, then |F - y|^2 <= |y|^2 e^(-m lambda t) for all t
    (chapter "The constants of the convergence theorem").

    Args:
        net: paired weights.
        x: (n, d), of norm at most 1.
        y: (n, outputs).

    Raises:
        ValueError: the weights are not paired, an input is longer than 1, or y does not fit.

    >>> from attention_theory.tangent import SoftmaxNetwork, fit_guarantee, unit_points
    >>> x = unit_points(4, 3, seed=1)
    >>> net = SoftmaxNetwork.paired(3, 60_000, seed=0, sigma=0.5, outputs=1)
    >>> promise = fit_guarantee(net, x, x[:, :1].sign())
    >>> promise.movement < promise.radius
    True
    """
    net.check(x)
    if not net.is_paired:
        raise ValueError("the guarantee starts from paired weights, where F = 0")
    if x.norm(dim=1).max() > 1 + 8 * torch.finfo(x.dtype).eps:
        raise ValueError(f"inputs have norm at most 1 here, got {x.norm(dim=1).max():.3g}")
    if y.shape != (len(x), net.outputs):
        raise ValueError(f"y must be ({len(x)}, {net.outputs}), got {tuple(y.shape)}")
    lam = smallest_eigenvalue(tangent_kernel(net, x))
    if lam == 0:
        return FitGuarantee(0.0, 0.0, math.inf)
    S = net.weights(x)
    radius = _radius(net.outputs * float((x @ x.T * (net.m * S @ S.T)).norm()), lam)
    longest = float((net.m * S).norm(dim=0).max())
    return FitGuarantee(
        lam, radius, _path(radius, net.outputs, longest, float(y.norm()), lam) / net.m
    )


def sufficient_width(
    x: Float[Tensor, "n d"], outputs: Size, sigma: Positive, delta: OpenChance = 0.1
) -> float:
    """Log10 of the width from which :func:`fit_guarantee` applies with probability about 1 - delta,
    for labels y_i of norm 1 each.

    An estimate for widths too large to draw: the kernel and m S S^T are replaced by their limits,
    and the largest m S_ir by e^(sigma z - sigma^2 / 2), with z the Gaussian quantile below which
    all m n / 2 scores stay with probability 1 - delta.

    Args:
        x: (n, d), of norm at most 1, distinct and not 0.
        outputs: number of outputs.
        sigma: standard deviation of the first layer.
        delta: probability of failure.

    >>> from attention_theory.tangent import sufficient_width, unit_points
    >>> x = unit_points(4, 3, seed=1)
    >>> round(sufficient_width(x, outputs=1, sigma=0.5), 1)  # 10 to this power
    4.1
    """
    kernel, n = limit_kernel(x, sigma=sigma), len(x)
    lam = smallest_eigenvalue(kernel)
    radius = _radius(outputs * float(kernel.norm()), lam)

    def needed(log10_m):
        z = -ndtri(delta / (n * 10**log10_m))
        longest = math.sqrt(n) * math.exp(sigma * z - sigma**2 / 2)
        return math.log10(_path(radius, outputs, longest, math.sqrt(n), lam) / radius)

    return brentq(lambda log10_m: needed(log10_m) - log10_m, 0, 200)  # pyright: ignore[reportReturnType]


def safe_width(B: NonNegative, sigma: NonNegative, expected: Positive) -> float:
    """Log10 of the m at which m Pr[|N(0, sigma^2)| > B], the expected number of draws beyond B,
    reaches ``expected``.
    """
    return float(math.log(expected / 2) - log_ndtr(-B / sigma)) / math.log(10)
