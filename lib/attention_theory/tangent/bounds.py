"""Bounds without the parameter B of cao2024: how far the kernel moves, and a width that is enough to fit."""

import math
from dataclasses import dataclass

from jaxtyping import Float
from scipy.optimize import brentq
from torch import Tensor

from attention_theory.tangent.kernel import smallest_eigenvalue, tangent_kernel
from attention_theory.tangent.network import SoftmaxNetwork


def _factor(R: float, paired: bool) -> float:
    """Bound on the change of c_i c_j S_i S_j, in units of S_i S_j, when all scores move by at most R."""
    ratio = math.expm1(4 * R)  # of S_i S_j
    if paired:  # c = +-1 at the start, and moves by at most R
        return (2 * R + R**2) * (1 + ratio) + ratio
    return 4 * ratio + 4 * R * (1 + ratio)  # |c| <= 2


def kernel_change_bound(net: SoftmaxNetwork, x: Float[Tensor, "n d"], R: float) -> Float[Tensor, "n n"]:
    """How much any entry of H can change when no neuron moves by more than R; the same for all blocks (l1, l2).

    f(R) |x_i.x_j| m sum_r S_ir S_jr with f(R) <= 20 R e^(4R), and f(R) = 6R + O(R^2) at paired weights. Holds for every
    move, without chance (chapter "The kernel barely moves"; it replaces Lemma 5.1 of cao2024).

    Args:
        net: the network at the starting point.
        x: (n, d).
        R: largest distance that a column of W moves.

    Raises:
        ValueError: R is negative, or x does not fit the network.
    """
    net.check(x)
    if not R >= 0:
        raise ValueError(f"R is a distance and cannot be negative, got {R}")
    S = net.weights(x)
    scores = R * float(x.norm(dim=1).max())
    return _factor(scores, net.is_paired) * (x @ x.T).abs() * (net.m * S @ S.T)


@dataclass(frozen=True)
class FitGuarantee:
    """What :func:`fit_guarantee` found: it applies if ``movement < radius``."""

    lam: float
    radius: float
    movement: float

    @property
    def holds(self) -> bool:
        """Whether gradient flow is certain to fit."""
        return self.movement < self.radius


def fit_guarantee(net: SoftmaxNetwork, x: Float[Tensor, "n d"], y: Float[Tensor, "n outputs"]) -> FitGuarantee:
    """Whether gradient flow from paired weights is certain to fit, with constants read off the network.

    ``radius`` is the R up to which lambda_min(H) >= lambda / 2 by :func:`kernel_change_bound`. ``movement`` is
    the bound D = 2 (1 + R) e^(2R) sqrt(outputs) max_r (sum_i (m S_ir)^2)^(1/2) |y| / (m lambda) on every neuron's path.
    If D < R, then |F - y|^2 <= |y|^2 e^(-m lambda t) for all t (chapter "What the constants say").

    Args:
        net: paired weights.
        x: (n, d), of norm at most 1.
        y: (n, outputs).

    Raises:
        ValueError: the weights are not paired, an input is longer than 1, or y does not fit.
    """
    if not net.is_paired:
        raise ValueError("the guarantee starts from paired weights, where F = 0")
    if x.norm(dim=1).max() > 1 + 1e-12:
        raise ValueError(f"inputs have norm at most 1 here, got {x.norm(dim=1).max():.3g}")
    if y.shape != (len(x), net.outputs):
        raise ValueError(f"y must be ({len(x)}, {net.outputs}), got {tuple(y.shape)}")
    lam = smallest_eigenvalue(tangent_kernel(net, x))
    if lam == 0:
        return FitGuarantee(0.0, 0.0, math.inf)
    S = net.weights(x)
    spread = net.outputs * float((x @ x.T * (net.m * S @ S.T)).norm())
    radius = brentq(lambda R: _factor(R, True) * spread - lam / 2, 0, 10)
    longest = float((net.m * S).norm(dim=0).max())
    speed = (1 + radius) * math.exp(2 * radius) * math.sqrt(net.outputs) * longest  # of a neuron, over |F - y|
    movement = 2 * speed * float(y.norm()) / (net.m * lam)
    return FitGuarantee(lam, radius, movement)
