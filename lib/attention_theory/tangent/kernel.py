"""The tangent kernel H(W) of cao2024 (Definition 3.6) at finite width, and its limit in closed
form.

With P[(l, i), r] = sqrt(m) S_ir (a_lr - <a_l, S_i>), the kernel is H = (P P^T) * (x x^T), the
second factor repeated over the blocks: one matrix product. Paired weights have <a_l, S_i> = 0 and
equal halves, so that half of the neurons carry the whole kernel.
"""

import functools
import warnings
from collections.abc import Callable
from typing import Literal, get_args

import torch
from jaxtyping import Float, Float64
from theorybook.validation import Count, NonNegative, Positive, Size
from torch import Tensor

from attention_theory.tangent.network import SoftmaxNetwork

#: Number of neurons processed at a time: large enough for full speed, small enough for the factor
#: to stay in the cache.
BLOCK = 1024
#: Number of rows of x x^T computed at a time.
ROWS = 256


def tangent_kernel(
    net: SoftmaxNetwork, x: Float[Tensor, "n d"], x2: Float[Tensor, "n2 d"] | None = None
) -> Float[Tensor, "rows columns"]:
    """H(W) between the inputs ``x`` and ``x2`` (cao2024, Definition 3.6).

    Block (l1, l2) of size (n, n2) holds (1/m) x_i.x_j sum_r <v_l1r, S_i> m S_ir <v_l2r, S_j> m S_jr
    with v_lr = a_lr 1 - a_l. The Gram matrix of the Jacobian of F is m times this. Weights in exact
    pairs are recognised and take a faster path to the same numbers. Equal inputs give equal rows,
    an input 0 a row of zeros.

    Args:
        net: the network. Subclasses of :class:`SoftmaxNetwork` with weights of their own are
            handled in one product.
        x: (n, d).
        x2: (n2, d), ``x`` when left out; the result is then exactly symmetric.

    Returns:
        (n outputs, n2 outputs). A :class:`SoftmaxNetwork` needs about (n outputs, 1024) numbers of
        working memory besides, at any width.

    Raises:
        ValueError: inputs that do not fit the network.

    >>> from attention_theory.tangent import SoftmaxNetwork, tangent_kernel, unit_points
    >>> x, net = unit_points(4, 3, seed=1), SoftmaxNetwork.paired(3, 1000, seed=0, outputs=2)
    >>> H = tangent_kernel(net, x)
    >>> H.shape, bool((H == H.T).all())
    (torch.Size([8, 8]), True)
    """
    net.check(x)
    if x2 is not None:
        net.check(x2, "x2")
    if type(net) is SoftmaxNetwork:
        half = slice(
            None, None, 2 if net.is_paired else 1
        )  # one neuron of each pair, and no mean to subtract: the same sums
        out = _product(net.W[:, half], net.a[:, half], x, x2, net.is_paired)
    else:  # other weights: the whole factor P at once
        P, P2 = (net.slopes(side).flatten(0, 1) for side in (x, x if x2 is None else x2))
        out = (P @ P2.T).unflatten(0, (net.outputs, -1)).unflatten(2, (net.outputs, -1))
    x2 = x if x2 is None else x2
    for top in range(0, len(x), ROWS):
        out[:, top : top + ROWS].mul_((x[top : top + ROWS] @ x2.T)[:, None])
    return out.flatten(2).flatten(0, 1)


def _weights(W: Tensor, x: Tensor, blocks: list[slice]) -> Callable[[slice], Tensor]:
    """The softmax weights S of a block of neurons, (n, block); computed only once if there is a
    single block.
    """
    if len(blocks) == 1:
        S = torch.softmax(x @ W, dim=1)
        return lambda block: S
    logs = (torch.logsumexp(x @ W[:, block], dim=1, keepdim=True) for block in blocks)
    normaliser = functools.reduce(torch.logaddexp, logs)
    return lambda block: (x @ W[:, block]).sub_(normaliser).exp_()


def _product(W: Tensor, a: Tensor, x: Tensor, x2: Tensor | None, centred: bool) -> Tensor:
    """P P2^T as (outputs, n, outputs, n2), summed over blocks of neurons; if P2 is P, only the
    strips right of the diagonal are computed.
    """
    outputs, m = a.shape
    sides = [x] if x2 is None else [x, x2]
    n, n2 = len(x), len(sides[-1])
    height = max(64, min(1024, outputs * n // 4))
    blocks = [slice(start, start + BLOCK) for start in range(0, m, BLOCK)]
    weights = [_weights(W, side, blocks) for side in sides]
    means = [a.new_zeros(outputs, len(side), 1) for side in sides]
    if not centred:
        means = [sum(a[:, block] @ S(block).T for block in blocks)[..., None] for S in weights]  # type: ignore[index]

    out = torch.zeros(outputs * n, outputs * n2, dtype=W.dtype, device=W.device)
    strips = [slice(top, min(top + height, outputs * n)) for top in range(0, outputs * n, height)]
    for block in blocks:
        P = [
            (a[:, None, block] - mean).mul_(S(block)).flatten(0, 1)
            for S, mean in zip(weights, means)
        ]
        for strip in strips:
            left = strip.start if x2 is None else 0
            out[strip, left:].addmm_(P[0][strip], P[-1][left:].T, alpha=m)
        del P  # before the next ones are made
    if x2 is None:
        for strip in strips:
            square = out[strip, strip]
            square.copy_((square + square.T) / 2)
            out[strip.stop :, strip] = out[strip, strip.stop :].T
    return out.view(outputs, n, outputs, n2)


#: Activations whose limit kernel is known.
Activation = Literal["softmax", "exp", "relu"]
ACTIVATIONS: tuple[Activation, ...] = get_args(Activation)


def limit_kernel(
    x: Float[Tensor, "*batch n d"],
    x2: Float[Tensor, "*batch n2 d"] | None = None,
    sigma: Positive = 1.0,
    kind: Activation = "softmax",
) -> Float[Tensor, "*batch n n2"]:
    """x_i.x_j exp(sigma^2 x_i.x_j), the limit of every diagonal block of H(W(0)) as m grows; the
    other blocks vanish.

    For paired weights (chapter "The tangent kernel in closed form"). Positive definite if and only
    if the inputs are distinct and none is zero. For networks sum_r a_r b(<w_r, x>) with b = exp or
    ReLU the limit is x_i.x_j times the mean of b'(<w, x_i>) b'(<w, x_j>): exp(sigma^2 |x_i + x_j|^2
    / 2), and (pi - angle) / (2 pi) for points other than 0.

    Args:
        x: (..., n, d).
        x2: (..., n2, d), ``x`` when left out.
        sigma: standard deviation of the first layer.
        kind: one of ``softmax``, ``exp``, ``relu``.

    Raises:
        ValueError: a row of zeros with ``relu``.

    >>> import torch
    >>> from attention_theory.tangent import limit_kernel
    >>> limit_kernel(torch.eye(2).double()).round(decimals=3).tolist()  # x.x' e^(x.x')
    [[2.718, 0.0], [0.0, 2.718]]
    """
    u = unit_rows(x, "x") if kind == "relu" else x
    u2 = u if x2 is None else unit_rows(x2, "x2") if kind == "relu" else x2
    x2 = x if x2 is None else x2
    gram = x @ x2.mT
    if kind == "softmax":
        return gram * torch.exp(sigma**2 * gram)
    if kind == "exp":
        squares = x.square().sum(-1)[..., :, None] + x2.square().sum(-1)[..., None, :]
        return gram * torch.exp(sigma**2 / 2 * (squares + 2 * gram))
    return gram * (torch.pi - angles(u, u2)) / (2 * torch.pi)


def unit_rows(x: Float[Tensor, "*batch n d"], name: str = "x") -> Float[Tensor, "*batch n d"]:
    """The rows divided by their norms, at any scale.

    Raises:
        ValueError: a row of zeros, which has no direction.
    """
    largest = x.detach().abs().amax(dim=-1, keepdim=True)  # a scale that lengths do not depend on
    if bool((largest == 0).any()):
        row = (largest[..., 0] == 0).nonzero()[0].tolist()
        raise ValueError(
            f"row {', '.join(map(str, row))} of {name} is zero and has no direction: leave it out"
        )
    scaled = x / largest
    return scaled / torch.linalg.vector_norm(scaled, dim=-1, keepdim=True)


def angles(
    u: Float[Tensor, "*batch n d"], u2: Float[Tensor, "*batch n2 d"]
) -> Float[Tensor, "*batch n n2"]:
    """Angles between unit rows, 2 atan2(|u - u2|, |u + u2|): accurate even for nearly equal rows,
    where arccos loses half the digits.

    Their gradient is 0 at equal rows, and at opposite ones.
    """
    apart, together = (
        torch.cdist(u, v, compute_mode="donot_use_mm_for_euclid_dist") for v in (u2, -u2)
    )
    return 2 * torch.atan2(apart, together)


def error_constant(x: Float[Tensor, "n d"], sigma: Positive, outputs: Size) -> float:
    """c(sigma) with E|H* - limit|_F^2 ~ c^2 |limit|_F^2 / m for paired weights, by the delta
    method.

    The entries of H* are ratios of means of log-normal variables, whose moments are all known.

    >>> from attention_theory.tangent import error_constant, unit_points
    >>> x = unit_points(4, 3, seed=1)
    >>> error_constant(x, sigma=0.5, outputs=1) < error_constant(x, sigma=1.0, outputs=1)
    True
    """

    def moment(p, q):  # E of e_i^p e_j^q for all i, j; e_i = exp(<w, x_i>) over its mean
        square = p * (p - 1) * norms[:, None] + q * (q - 1) * norms[None] + 2 * p * q * gram
        return torch.exp(sigma**2 / 2 * square)

    gram = x @ x.T
    norms, k = gram.diagonal(), torch.exp(sigma**2 * gram)
    product = moment(2, 2)  # of e_i e_j, squared
    linear = moment(2, 0) + moment(0, 2) + 2 * moment(1, 1)
    cross = moment(2, 1) + moment(1, 2)
    same = product + k**2 * linear - 2 * k * cross - k**2  # variance of a diagonal block's entry
    total = gram**2 * (outputs * same + outputs * (outputs - 1) * product)
    return float((2 * total.sum() / (outputs * limit_kernel(x, sigma=sigma).square().sum())).sqrt())


def rank_bound(net: SoftmaxNetwork, n: Count) -> int:
    """min(n k, sum_c min(n, d p_c)), with p_c the number of pairs with signs +-c: an upper bound on
    the rank of H* at n inputs, for paired weights.

    Raises:
        ValueError: the weights are not paired.

    >>> from attention_theory.tangent import SoftmaxNetwork, unit_points
    >>> from attention_theory.tangent import rank, rank_bound, tangent_kernel
    >>> x, net = unit_points(9, 3, seed=1), SoftmaxNetwork.paired(3, 4, seed=0, outputs=1)
    >>> rank(tangent_kernel(net, x)), rank_bound(net, 9)  # two pairs in three dimensions
    (6, 6)
    """
    if not net.is_paired:
        raise ValueError("the bound is for paired weights")
    signs = net.a[:, ::2]
    pairs = (signs * signs[:1]).T.unique(dim=0, return_counts=True)[1]
    return min(n * net.outputs, sum(min(n, net.W.shape[0] * int(p)) for p in pairs))


def rank(kernel: Float64[Tensor, "k k"], tolerance: NonNegative = 1e-11) -> int:
    """Number of eigenvalues above ``tolerance`` times the largest.

    Raises:
        ValueError: as in :func:`eigenvalues`.

    >>> import torch
    >>> from attention_theory.tangent import rank
    >>> rank(torch.ones(3, 3).double())
    1
    """
    values = eigenvalues(kernel)
    return int((values > tolerance * values[-1]).sum())


def symmetric(kernel: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
    """The kernel unchanged; ValueError unless it is symmetric up to rounding."""
    slack = 1e3 * torch.finfo(kernel.dtype).eps * float(kernel.abs().max())
    if not torch.allclose(kernel, kernel.T, rtol=0, atol=slack):
        raise ValueError("a kernel of inputs with themselves is symmetric, this one is not")
    return kernel


def eigenvalues(kernel: Float[Tensor, "n n"]) -> Float[Tensor, "n"]:
    """The eigenvalues of a kernel matrix in increasing order, including those that are negative by
    rounding.

    Raises:
        ValueError: the matrix is not symmetric, or has an eigenvalue that is negative beyond
            rounding, so that it is not a kernel.
    """
    values = torch.linalg.eigvalsh(symmetric(kernel))
    if values[0] < -1e3 * torch.finfo(kernel.dtype).eps * values.abs().max():
        raise ValueError(
            f"a kernel has no negative eigenvalue, this matrix has {values[0]:.3g} (the largest "
            f"is {values[-1]:.3g}), which is "
            f"more than the rounding of {str(kernel.dtype).removeprefix('torch.')}"
        )
    return values


def smallest_eigenvalue(kernel: Float[Tensor, "n n"]) -> float:
    """The smallest eigenvalue lambda of a kernel matrix; 0, with a warning, when it cannot be
    distinguished from rounding.

    It vanishes when an input repeats or is zero, or when there are too few neurons (below 2 n
    outputs / d in pairs).

    Raises:
        ValueError: as in :func:`eigenvalues`.

    >>> import torch
    >>> from attention_theory.tangent import smallest_eigenvalue
    >>> round(smallest_eigenvalue(torch.tensor([[2.0, 1.0], [1.0, 2.0]]).double()), 6)
    1.0
    """
    values = eigenvalues(kernel)
    if values[0] > len(kernel) * torch.finfo(kernel.dtype).eps * values[-1].abs():
        return values[0].item()
    warnings.warn(
        "the smallest eigenvalue is 0 to rounding: an input repeats or is zero, or there are too "
        "few neurons",
        RuntimeWarning,
        stacklevel=2,
    )
    return 0.0
