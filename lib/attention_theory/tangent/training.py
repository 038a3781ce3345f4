"""Gradient descent on softmax networks, and their kernel regression (cao2024).

:func:`train` follows one :class:`SoftmaxNetwork` and records how far its weights and its kernel
move.
"""

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from theorybook.validation import Count, Positive, Steps
from torch import Tensor

from attention_theory.tangent.kernel import eigenvalues, symmetric, tangent_kernel
from attention_theory.tangent.network import SoftmaxNetwork

# One softmax network
# -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The course of gradient descent, at the recorded ``steps``.

    ``losses`` are those of cao2024, Definition 3.2 (half the squared error); ``movement`` is max_r
    |w_r - w_r(0)|; ``kernel_change`` is |H - H(0)|_F; ``path`` holds the networks at the recorded
    steps, ``net`` is the trained one.
    """

    steps: list[int]
    losses: list[float]
    movement: list[float]
    kernel_change: list[float]
    path: list[SoftmaxNetwork]
    net: SoftmaxNetwork


def largest_rate(kernel: Float[Tensor, "k k"], m: Count) -> float:
    """2 / (m lambda_max): at larger rates gradient descent on the linearised network diverges.

    Args:
        kernel: H, as from :func:`tangent_kernel`.
        m: number of neurons.

    Raises:
        ValueError: as in :func:`attention_theory.tangent.kernel.eigenvalues`, or no eigenvalue is
            positive.

    >>> import torch
    >>> from attention_theory.tangent import largest_rate
    >>> largest_rate(torch.eye(2).double(), m=100)
    0.02
    """
    top = float(eigenvalues(kernel)[-1])
    if not top > 0:
        raise ValueError(f"the largest eigenvalue must be positive, got {top:.3g}")
    return 2 / (m * top)


def _recorded(steps: int, at: Iterable[int] | None) -> list[int]:
    """The steps to record, in order; ValueError unless all lie between 0 and ``steps``."""
    chosen = {0, steps} if at is None else set(at)
    if not chosen or min(chosen) < 0 or max(chosen) > steps:
        raise ValueError(
            f"steps to record must lie between 0 and steps = {steps}, got {sorted(chosen)[:5]}"
        )
    return sorted(chosen)


def train(
    net: SoftmaxNetwork,
    x: Float[Tensor, "n d"],
    y: Float[Tensor, "n outputs"],
    steps: Steps,
    rate: Positive,
    at: Iterable[int] | None = None,
    kernel: bool = True,
) -> Trajectory:
    """Gradient descent W(tau + 1) = W(tau) - rate * gradient (cao2024, Definition 3.5).

    Args:
        net: the network at step 0; it is not changed.
        x: (n, d) inputs.
        y: (n, outputs) labels.
        steps: number of steps.
        rate: eta. Beyond 2 / (m lambda_max(H)), where the linearised network diverges, there is a
            warning.
        at: steps to record, 0 <= step <= steps; the first and the last when left out.
        kernel: whether to record the kernel's change (and check the rate); if not, the kernel of
            size n outputs is never formed, and ``kernel_change`` is empty.

    Raises:
        ValueError: shapes or steps that do not fit; the run diverged to non-finite numbers.

    >>> from attention_theory.tangent import SoftmaxNetwork, unit_points
    >>> from attention_theory.tangent import largest_rate, tangent_kernel, train
    >>> x, net = unit_points(3, 3, seed=1), SoftmaxNetwork.paired(3, 1000, seed=0, outputs=1)
    >>> rate = 0.5 * largest_rate(tangent_kernel(net, x), m=1000)
    >>> path = train(net, x, x[:, :1], steps=100, rate=rate, at=[0, 10, 100])
    >>> path.losses[0] > path.losses[1] > path.losses[2]
    True
    """
    at = _recorded(steps, at)
    net.gradient(x, y)  # refuses wrong shapes before the first step
    if kernel:
        start = tangent_kernel(net, x)
        bound = largest_rate(start, net.m)
        if rate > bound:
            warnings.warn(
                f"rate {rate:.3g} is beyond 2 / (m lambda_max) = {bound:.3g}: the linearised "
                "network diverges",
                stacklevel=2,
            )
    found = Trajectory(at, [], [], [], [], net)
    now = net
    for step in range(steps + 1):
        if step in at:
            loss = float((now(x) - y).square().sum() / 2)
            if not math.isfinite(loss):
                raise ValueError(
                    f"the loss is no longer finite at step {step}: rate {rate:.3g} is too large"
                )
            found.losses.append(loss)
            found.movement.append(float((now.W - net.W).square().sum(dim=0).max().sqrt()))
            if kernel:
                found.kernel_change.append(float((tangent_kernel(now, x) - start).norm()))
            found.path.append(now)
        if step < steps:
            now = replace(now, W=now.W - rate * now.gradient(x, y))
    return replace(found, net=now)


def ntk_regression(
    kernel: Float[Tensor, "k k"],
    y: Float[Tensor, "n outputs"],
    steps: Steps,
    rate: Positive,
    m: Count,
    at: Iterable[int] | None = None,
) -> tuple[list[int], list[Tensor]]:
    """Coefficients gamma(tau) of the update gamma - rate (m H gamma - vec Y) from 0 (cao2024, eq.
    24).

    The predictor is m K gamma (eq. 22), with K = ``tangent_kernel(net, test, x)``; vec Y stacks the
    outputs in the order of the kernel, ``y.T.flatten()``. The update is solved exactly in the
    eigenvectors of H, at any step, whatever the signs of its eigenvalues. It follows a network
    whose outputs are 0 at the start, as those of paired weights are. For any other network pass y -
    F(W(0), x) as labels, and add F(W(0), test) to the predictor.

    Args:
        kernel: H at the start, (n outputs, n outputs).
        y: (n, outputs) labels, minus the network's outputs at the start.
        steps: the last step.
        rate: eta.
        m: number of neurons.
        at: steps to return; the first and the last when left out.

    Returns:
        the steps in order, and one (n outputs,) vector gamma for each.

    Raises:
        ValueError: the kernel is not symmetric or does not have the labels' size, or a step is out
            of range.

    >>> import torch
    >>> from attention_theory.tangent import ntk_regression
    >>> kernel, y = torch.eye(2).double(), torch.tensor([[1.0], [2.0]]).double()
    >>> steps, coefficients = ntk_regression(kernel, y, 1000, rate=0.01, m=1, at=[1000])
    >>> coefficients[0].round(decimals=3).tolist()  # H^-1 y
    [1.0, 2.0]
    """
    if kernel.shape != (y.numel(), y.numel()):
        raise ValueError(
            f"the kernel must be ({y.numel()}, {y.numel()}) for these labels, got "
            f"{tuple(kernel.shape)}"
        )
    at = _recorded(steps, at)
    values, vectors = torch.linalg.eigh(symmetric(kernel))
    labels = vectors.T @ y.T.flatten()
    return at, [vectors @ (rate * learned(rate * m * values, tau) * labels) for tau in at]


def learned(decay: Float[Tensor, " k"], steps: Steps) -> Float[Tensor, " k"]:
    """The progress of ``steps`` steps along each eigenvector, relative to the first step: the sum
    of (1 - decay)^s over s < steps.

    ``decay`` is the rate times the eigenvalue; small values lose no digits. For a decay from 0 to 2
    no power grows.
    """
    left = torch.where(
        decay < 0.5,
        -torch.expm1(steps * torch.log1p(-decay.clamp(max=0.5))),
        1 - (1 - decay) ** steps,
    )
    return torch.where(decay != 0, left / torch.where(decay != 0, decay, 1), steps)
