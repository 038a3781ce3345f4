"""Descents that chapters 4 and 6 of Part III follow: to the limit, in the promised time, along
gradient flow, one step.
"""

import math
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import torch
from attention_theory.device import gradients
from attention_theory.tangent.kernel import limit_kernel, tangent_kernel
from attention_theory.tangent.network import SoftmaxNetwork, unit_points
from attention_theory.tangent.training import largest_rate, train
from jaxtyping import Float, Float64
from theorybook.validation import (
    FILLED,
    Count,
    Extended,
    Limits,
    NonNegative,
    Positive,
    Seed,
    Signed,
    Size,
)
from torch import Tensor


class LossTerms(NamedTuple):
    """The parts of |F(tau + 1) - Y|^2 - |F(tau) - Y|^2 in cao2024, Lemma E.1, for one step of
    gradient descent.
    """

    C0: float
    C1: float
    C2: float
    C3: float


def loss_terms(
    net: SoftmaxNetwork, x: Float[Tensor, "n d"], y: Float[Tensor, "n outputs"], rate: NonNegative
) -> LossTerms:
    """C0 (denominators), C1 and C2 (first and higher order of the exponentials), C3 (cao2024, Lemma
    E.1).

    All four keep their relative accuracy however small the step is: nothing is subtracted that
    nearly cancels.

    >>> from attention_checks.tangent.runs.descent import loss_terms
    >>> from attention_theory.tangent import SoftmaxNetwork, unit_points
    >>> x, net = unit_points(3, 3, seed=1), SoftmaxNetwork.paired(3, 100, seed=0, outputs=1)
    >>> y, rate = x[:, :1], 1e-4
    >>> after = SoftmaxNetwork(net.W - rate * net.gradient(x, y), net.a)
    >>> change = (after(x) - y).square().sum() - (net(x) - y).square().sum()
    >>> terms = loss_terms(net, x, y, rate)
    >>> abs(change.item() / (terms.C0 + terms.C1 + terms.C2 + terms.C3) - 1) < 1e-9
    True
    """
    z = -rate * (x @ net.gradient(x, y))  # (n, m): the change of the exponents
    error, S = net(x) - y, net.weights(x)
    growth = (S * z.expm1()).sum(1, keepdim=True)  # alpha(tau + 1) / alpha(tau) - 1
    after = net.m * (S * z.exp()) @ net.a.T / (1 + growth)  # F(tau + 1)
    v0 = -growth * after
    v1 = net.m * (S * z) @ net.a.T
    series = z.square() * (1 / 2 + z * (1 / 6 + z * (1 / 24 + z * (1 / 120 + z / 720))))
    v2 = net.m * (S * torch.where(z.abs() < 0.01, series, z.expm1() - z)) @ net.a.T
    change = net.m * (S * (z.expm1() - growth) / (1 + growth)) @ net.a.T
    C0, C1, C2 = (2 * float((error * v).sum()) for v in (v0, v1, v2))
    return LossTerms(C0, C1, C2, float(change.square().sum()))


def smallest(kernel: Float[Tensor, "k k"]) -> float:
    """The smallest eigenvalue as computed, rounding noise and all."""
    return float(torch.linalg.eigvalsh(kernel)[0])


def _log_left(rates: Tensor) -> Tensor:
    """Logarithm of |1 - m eta lambda|, the factor of a component in one step: accurate for small
    rates, finite (-34.5) at 1.
    """
    return torch.log1p(-torch.where(rates > 1, 2 - rates, rates).clamp(max=1 - 1e-15))


def limit_loss(
    kernel: Float[Tensor, "n n"], y: Float[Tensor, "n outputs"], m_eta: NonNegative, steps: Extended
) -> float:
    """|F - Y|^2 after this many steps at infinite width, where the kernel is constant and the
    outputs do not interact.
    """
    values, vectors = torch.linalg.eigh(kernel)
    decay = torch.exp(2 * steps * _log_left(m_eta * values))
    return float((decay[:, None] * (vectors.T @ y).square()).sum())


def limit_steps(
    kernel: Float64[Tensor, "*b n n"],
    y: Float64[Tensor, "*b n"],
    rate: Float64[Tensor, "*b"],
    tolerance: NonNegative = 0.01,
) -> Float64[Tensor, "*b"]:
    """The first step at which |F - Y|^2 <= tolerance |Y|^2 at infinite width, exactly, for each
    kernel of a batch.

    Args:
        kernel: (..., n, n).
        y: (..., n) labels.
        rate: (...), m eta of each.
        tolerance: relative squared error.
    """
    values, vectors = torch.linalg.eigh(kernel)
    shares = (vectors.mT @ y[..., None])[..., 0].square()
    shares = shares / shares.sum(-1, keepdim=True)
    decay = 2 * _log_left(rate[..., None] * values)
    low, high = torch.zeros_like(rate), torch.full_like(rate, 2.0**60)
    while bool((high - low > 1).any()):  # bisection: what is left falls
        middle = torch.floor((low + high) / 2)
        done = (shares * torch.exp(middle[..., None] * decay)).sum(-1) <= tolerance
        high, low = torch.where(done, middle, high), torch.where(done, low, middle)
    return high


def fits_in_time(
    net: SoftmaxNetwork,
    x: Float[Tensor, "n d"],
    y: Float[Tensor, "n outputs"],
    epsilon: Positive = 0.1,
) -> bool:
    """Whether |F - Y|^2 <= epsilon after log(n outputs / epsilon) / (m eta lambda) steps at m eta
    lambda_max = 1.
    """
    values = torch.linalg.eigvalsh(tangent_kernel(net, x))
    if not values[0] > 0:
        raise ValueError(
            "the kernel at the start is singular to rounding: no number of steps is enough"
        )
    steps = math.ceil(float(values[-1] / values[0]) * math.log(y.numel() / epsilon))
    run = train(net, x, y, steps, rate=1 / (net.m * float(values[-1])), kernel=False)
    return 2 * run.losses[-1] <= epsilon


def aim(
    net: SoftmaxNetwork, x: Float[Tensor, "n d"], f: Float[Tensor, " rows"]
) -> Float[Tensor, "n outputs"]:
    """Labels for which F - Y is f, given in the kernel's order."""
    if len(f) != len(x) * net.outputs:
        raise ValueError(f"f has {len(f)} entries for {len(x)} inputs and {net.outputs} outputs")
    return net(x) - f.view(net.outputs, len(x)).T


def descent(net: SoftmaxNetwork, x: Float[Tensor, "n d"], y: Float[Tensor, "n outputs"]) -> float:
    """2 m f'Hf: how fast gradient flow lowers |F - Y|^2, with f = F - Y."""
    if y.shape[1] != net.outputs:
        raise ValueError(f"y has {y.shape[1]} outputs, the network {net.outputs}")
    f = (net(x) - y).T.flatten()
    return 2 * net.m * float(f @ tangent_kernel(net, x) @ f)


def first_order(
    net: SoftmaxNetwork, x: Float[Tensor, "n d"], y: Float[Tensor, "n outputs"]
) -> tuple[float, float]:
    """Derivatives of C0 and C1 (cao2024, Lemma E.1) with respect to eta at eta = 0, in units of m
    f'Hf.
    """
    S, f = net.weights(x), net(x) - y
    z = -(x @ net.gradient(x, y))  # change of the scores per unit of eta
    mean, common = S @ net.a.T, (S * z).sum(1, keepdim=True)
    c0 = -2 * net.m * float((f * mean * common).sum())
    c1 = 2 * net.m * float((f * ((S * z) @ net.a.T)).sum())
    unit = descent(net, x, y) / 2
    return c0 / unit, c1 / unit


def worst_gradient(net: SoftmaxNetwork, x: Float[Tensor, "n d"]) -> float:
    """Largest |gradient of neuron r| / |F - Y| over all residuals and neurons: a singular value,
    nothing sampled.
    """
    net.check(x)
    maps = torch.einsum("lir,id->rdli", math.sqrt(net.m) * net.slopes(x), x).flatten(
        2
    )  # gradient of neuron r = maps[r] @ f
    return float(torch.linalg.matrix_norm(maps, 2).max())


def longest_step(
    net: SoftmaxNetwork, x: Float[Tensor, "n d"], y: Float[Tensor, "n outputs"]
) -> float:
    """The rate at which the gradient property of cao2024, eta |gradient of every neuron| <= 0.01,
    is just met.
    """
    return 0.01 / float(net.gradient(x, y).norm(dim=0).max())


@gradients()
def worst_push(net: SoftmaxNetwork, x: Float[Tensor, "n d"]) -> Float[Tensor, "d m"]:
    """Unit move of every neuron that lowers lambda_min fastest, near the paired point."""
    net.check(x)
    W = (
        net.W + 1e-3 * torch.sin(torch.arange(net.W.numel()).to(net.W)).view_as(net.W)
    ).requires_grad_()
    P = replace(net, W=W).slopes(x).flatten(0, 1)
    least = torch.linalg.eigvalsh((P @ P.T) * (x @ x.T).repeat(net.outputs, net.outputs))[0]
    (slope,) = torch.autograd.grad(least, W)
    return -slope / slope.norm(dim=0)


@dataclass(frozen=True, eq=False)
class Induction:
    """What the lemmas of the induction (cao2024, Appendices C to E) are about: data, paired start,
    and their constants.

    ``B`` is as small as the paper allows, ``eta`` and ``R`` are those of Theorem 4.2 and Lemma E.2.
    """

    x: Float[Tensor, "n d"]
    y: Float[Tensor, "n outputs"]
    start: SoftmaxNetwork
    B: float
    lam: float
    eta: float
    R: float


def draw_induction(n: Count, d: Count, m: Count, seed: Seed, sigma: NonNegative = 0.3) -> Induction:
    """Random points and labels on the sphere, d outputs."""
    x, y, start = (
        unit_points(n, d, seed),
        unit_points(n, d, 50 + seed),
        SoftmaxNetwork.paired(d, m, 100 + seed, sigma),
    )
    B, lam, nd = (
        max(1.0, float((x @ start.W).abs().max())),
        smallest(tangent_kernel(start, x)),
        n * d,
    )
    return Induction(
        x,
        y,
        start,
        B,
        lam,
        0.1 * lam / (m * nd**2 * math.exp(16 * B)),
        lam / (2 * nd * math.exp(10 * B)),
    )


@dataclass(frozen=True, eq=False)
class Flow:
    """Gradient flow at the times ``time``, in units of 1 / (m lambda): |F - Y|^2, distance moved,
    smallest eigenvalue.
    """

    time: Tensor
    loss: Tensor
    moved: Tensor
    smallest: Tensor


def gradient_flow(
    net: SoftmaxNetwork,
    x: Float[Tensor, "n d"],
    y: Float[Tensor, "n outputs"],
    lam: Positive,
    until: Positive = 7.0,
    points: Size = 15,
    step: Positive = 0.01,
) -> Flow:
    """Gradient flow by short steps of gradient descent, ``step`` of the time 1 / (m lambda)
    each.
    """
    count = round(until / step)
    at = torch.linspace(0, count, points).round().int().tolist()
    run = train(net, x, y, count, step / (net.m * lam), at=at, kernel=False)
    columns = (
        [step * k for k in at],
        [2 * loss for loss in run.losses],
        run.movement,
        [smallest(tangent_kernel(now, x)) for now in run.path],
    )
    return Flow(*map(x.new_tensor, columns))


def one_step(
    net: SoftmaxNetwork, x: Float[Tensor, "n d"], f: Float[Tensor, " rows"], rate: NonNegative
) -> Float[Tensor, "4"]:
    """C0, C1, C2, C3 (cao2024, Lemma E.1) over |f|^2, for a step at the residual f = F - Y."""
    return x.new_tensor(loss_terms(net, x, aim(net, x, f), rate)) / float(f @ f)


def descent_curve(
    net: SoftmaxNetwork,
    x: Float[Tensor, "n d"],
    y: Float[Tensor, "n outputs"],
    steps: Annotated[list[int], FILLED],
) -> tuple[Float[Tensor, " steps"], float]:
    """|F - Y|^2 / |Y|^2 at these steps of descent at m eta lambda_max = 1, and the condition number
    at the start.
    """
    kernel = tangent_kernel(net, x)
    values = torch.linalg.eigvalsh(kernel)
    run = train(net, x, y, max(steps), largest_rate(kernel, net.m) / 2, at=steps, kernel=False)
    loss = 2 * x.new_tensor(run.losses) / float(y.square().sum())
    return loss, float(values[-1] / values[0])


def limit_curve(
    x: Float[Tensor, "n d"], y: Float[Tensor, "n outputs"], steps: list[int]
) -> tuple[Tensor, float]:
    """As :func:`descent_curve`, at infinite width."""
    kernel = limit_kernel(x)
    values = torch.linalg.eigvalsh(kernel)
    losses = [limit_loss(kernel, y, 1 / float(values[-1]), step) for step in steps]
    return x.new_tensor(losses) / float(y.square().sum()), float(values[-1] / values[0])


def moved_pair(
    s: Signed, k: Annotated[int, Limits(1, 10**6)]
) -> tuple[SoftmaxNetwork, SoftmaxNetwork]:
    """One pair of neurons in one dimension, k times: with weights s and 1 - s at x = 1, and at its
    paired start.
    """
    half, a = 0.5 * math.log(s / (1 - s)), torch.tensor([[1.0, -1.0] * k], dtype=torch.float64)
    return SoftmaxNetwork(half * a, a), SoftmaxNetwork(0 * a, a)
