"""How far the kernel moves when the neurons do: directions that should be bad, one step, the limit
of wide networks.
"""

import math
from dataclasses import dataclass, replace
from typing import Annotated

import torch
from attention_theory.device import generator, normal
from attention_theory.tangent.bounds import kernel_change_bound
from attention_theory.tangent.kernel import tangent_kernel
from attention_theory.tangent.network import SoftmaxNetwork
from jaxtyping import Float, Float64
from scipy.special import log_ndtr
from theorybook.validation import Limits, NonNegative, Positive, Seed
from torch import Tensor

DIRECTIONS = ("gradient", "random", "sharpen", "flatten", "along a")


def exp_kernel(net: SoftmaxNetwork, x: Float[Tensor, "n d"]) -> Float[Tensor, "rows rows"]:
    """The kernel of sum_r a_r exp(<w_r, x>), Gram matrix of its Jacobian over m: no denominator, no
    mean to subtract.

    >>> from attention_checks.tangent.runs.moves import exp_kernel
    >>> from attention_theory.tangent import SoftmaxNetwork, limit_kernel, unit_points
    >>> x = unit_points(3, 3, seed=1)
    >>> net = SoftmaxNetwork.paired(3, 200_000, seed=0, sigma=0.3, outputs=1)
    >>> ratio = exp_kernel(net, x) / limit_kernel(x, sigma=0.3, kind="exp")
    >>> (ratio - 1).abs().max().item() < 0.01
    True
    """
    net.check(x)
    P = (net.a[:, None] * torch.exp(x @ net.W)).flatten(0, 1)
    return P @ P.T / net.m * (x @ x.T).repeat(net.outputs, net.outputs)


def directions(
    net: SoftmaxNetwork, x: Float[Tensor, "n d"], y: Float[Tensor, "n outputs"], seed: Seed
) -> dict[str, Float[Tensor, "d m"]]:
    """Directions by name: the gradient; random; sharper or flatter weights of the first input;
    along the values a_1.
    """
    net.check(x)
    random = normal(*net.W.shape, generator=generator(1000 + seed)).to(
        net.W
    )  # not the weights' seed
    sharpen = x[0][:, None] * torch.sign(x[0] @ net.W)
    along = x[0][:, None] * net.a[0].sign()
    moves = (net.gradient(x, y), random / random.norm(dim=0), sharpen, -sharpen, along)
    return dict(zip(DIRECTIONS, moves))


@dataclass(frozen=True)
class Change:
    """The change of the kernel under one move: its largest entry, its norm, the largest entry over
    its bound.
    """

    entry: float
    norm: float
    over_bound: float


def kernel_changes(
    net: SoftmaxNetwork,
    x: Float[Tensor, "n d"],
    y: Float[Tensor, "n outputs"],
    R: Positive,
    seed: Seed,
) -> dict[str, Change]:
    """What a move of length R does to the kernel, by direction."""
    H = tangent_kernel(net, x)
    bound = kernel_change_bound(net, x, R).repeat(net.outputs, net.outputs)
    found = {}
    for name, direction in directions(net, x, y, seed).items():
        D = (tangent_kernel(net.moved(direction, R), x) - H).abs()
        found[name] = Change(float(D.max()), float(D.norm()), float((D / bound).max()))
    return found


def heavy_neurons(
    R: Positive, paired: bool, copies: Annotated[int, Limits(1, 10**8)] = 200_000
) -> float:
    """Change of the kernel at one input, over R m sum_r S_r^2, in the case that comes nearest to
    the bound.

    Few heavy neurons carry sum_r S_r^2, many light ones the total weight; the heavy ones move up,
    the light ones down. Without pairing the values of the heavy ones are 1 and those of the light
    ones -1.
    """
    weight = copies ** (-1 / 3)  # of a heavy neuron, against a light one's 1/copies
    logits = torch.zeros(2 * copies + 2, dtype=torch.float64)
    logits[:2] = math.log(weight * 2 * copies)
    push = torch.full_like(logits, -1.0)
    push[:2] = 1.0
    a = torch.ones_like(logits)
    a[1::2] = -1.0
    if not paired:
        a[:2], a[2:] = 1.0, -1.0
    x = torch.ones(1, 1, dtype=torch.float64)
    net = SoftmaxNetwork(logits[None], a[None])
    change = tangent_kernel(net.moved(push[None], R), x) - tangent_kernel(net, x)
    return float(change.abs() / (R * net.m * net.weights(x).square().sum()))


def exp_gradient(
    net: SoftmaxNetwork, x: Float[Tensor, "n d"], y: Float[Tensor, "n outputs"]
) -> Float[Tensor, "d m"]:
    """Gradient in W of half the squared error of sum_r a_r exp(<w_r, x>)."""
    E = torch.exp(x @ net.W)
    return x.T @ (((E @ net.a.T - y) @ net.a) * E)


def relative_changes(
    net: SoftmaxNetwork,
    x: Float[Tensor, "n d"],
    y: Float[Tensor, "n outputs"],
    R: Positive,
    seed: Seed,
) -> dict[str, tuple[float, float]]:
    """|change| / |kernel| of the softmax and of the exp network with the same weights, by direction
    of a move of length R.

    Each network follows its own gradient.
    """
    moves = directions(net, x, y, seed)
    found = {}
    for name, direction in moves.items():
        own = exp_gradient(net, x, y) if name == "gradient" else direction
        pair = []
        for kernel, move in ((tangent_kernel, direction), (exp_kernel, own)):
            start = kernel(net, x)
            pair.append(float((kernel(net.moved(move, R), x) - start).norm() / start.norm()))
        found[name] = (pair[0], pair[1])
    return found


def order_in_radius(
    net: SoftmaxNetwork, x: Float64[Tensor, "n d"], y: Float[Tensor, "n outputs"], R: Positive
) -> float:
    """The order in R of the kernel's change: log2 of the change after a gradient step of length 2R
    over that of length R.
    """
    H, G = tangent_kernel(net, x), net.gradient(x, y)
    one, two = ((tangent_kernel(net.moved(G, r), x) - H).norm() for r in (R, 2 * R))
    return float(torch.log2(two / one))


def sharpened_limit(sigma: Positive, R: Positive) -> float:
    """Log of the change of H_11 over R for wide networks, in the limit: each score s = <w, x_1>,
    |x_1| = 1, moves by R sign(s).

    H_11 tends to E[e^(2s)] / E[e^s]^2 with s from N(0, sigma^2): e^(sigma^2) before, and after the
    move (1 - v)/(1 - u)^2 times as much, u = (1 - e^(-2R)) Phi(-sigma), v = (1 - e^(-4R)) Phi(-2
    sigma). Small R: 4 e^(sigma^2) (Phi(2 sigma) - Phi(sigma)).
    """
    log_u, log_v = (math.log(-math.expm1(-2 * k * R)) + float(log_ndtr(-k * sigma)) for k in (1, 2))
    gain = math.log(2 - math.exp(log_u) - math.exp(log_v - log_u))  # of (1 - v) - (1 - u)^2, over u
    return sigma**2 + log_u + gain - 2 * math.log1p(-math.exp(log_u)) - math.log(R)


def worst_difference(R: NonNegative, m: Annotated[int, Limits(1, 10)]) -> float:
    """Largest |<z, S - S~>| over |z|_inf <= 1, scores from a grid, changes -R, 0, R, and all
    multisets of m neurons.
    """
    levels = [(s, u) for s in (-R / 2, 0.0, R / 2, 1.0, -3.0) for u in (-R, 0.0, R)]
    cases = torch.tensor(levels, dtype=torch.float64)[
        torch.combinations(torch.arange(len(levels)), m, with_replacement=True)
    ]
    before, after = torch.softmax(cases[..., 0], 1), torch.softmax(cases.sum(-1), 1)
    return float((before - after).abs().sum(1).max())


def nearby(net: SoftmaxNetwork, R: NonNegative, seed: Seed) -> SoftmaxNetwork:
    """Every neuron moved by exactly R in a random direction."""
    push = normal(*net.W.shape, generator=generator(seed)).to(net.W)
    return replace(net, W=net.W + R * push / push.norm(dim=0))
