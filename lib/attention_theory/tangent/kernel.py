"""The tangent kernel H(W) of cao2024 (Definition 3.6) at finite width, and its limit in closed form.

Written with P[(l, i), r] = sqrt(m) S_ir (a_lr - <a_l, S_i>), the kernel is H = (P P^T) * (x x^T), the second factor
repeated over the blocks: one matrix product. Paired weights have <a_l, S_i> = 0 and equal halves, so that half of the
neurons, a_l1 a_l2 for l1 < l2 and S_i S_j for i <= j carry all of it.
"""

import warnings

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from attention_theory.tangent.network import Scale, SoftmaxNetwork

#: Neurons at a time in the plain product: enough for its full speed, few enough for the factor to stay in the cache.
BLOCK = 1024
#: Rows of x x^T at a time.
ROWS = 256
#: Outputs from which products over pairs of outputs and pairs of inputs beat the plain product (measured on CPUs).
PAIRWISE_OUTPUTS = 7


def tangent_kernel(
    net: SoftmaxNetwork, x: Float[Tensor, "n d"], x2: Float[Tensor, "n2 d"] | None = None, memory: int | None = None
) -> Float[Tensor, "rows columns"]:
    """H(W) between the inputs ``x`` and ``x2`` (cao2024, Definition 3.6).

    Block (l1, l2) of size (n, n2) holds (1/m) x_i.x_j sum_r <v_l1r, S_i> m S_ir <v_l2r, S_j> m S_jr with
    v_lr = a_lr 1 - a_l. The Gram matrix of the Jacobian of F is m times this. Weights in exact pairs are recognised and
    take a faster path to the same numbers. Equal inputs give equal rows, an input 0 a row of zeros.

    Args:
        net: the network.
        x: (n, d).
        x2: (n2, d), ``x`` when left out; the result is then exactly symmetric.
        memory: bytes that may be used next to the result and the arguments. The neurons are summed in blocks that fit;
            when left out, in blocks of a good size, that never need more than about (n outputs, m) numbers.

    Returns:
        (n outputs, n2 outputs).

    Raises:
        ValueError: inputs that do not fit the network or are not finite; a budget below that of a single neuron.
    """
    net.check(x)
    if x2 is not None:
        net.check(x2, "x2")
    W, a, centred = net.W, net.a, False
    if net.is_paired:  # half of the neurons, which need no mean subtracted, give the same sums
        W, a, centred = W[:, ::2], a[:, ::2], True
    if centred and x2 is None and net.outputs >= PAIRWISE_OUTPUTS:
        out = _pairwise(W, a, x, memory)
    else:
        out = _product(W, a, x, x2, centred, memory)
    x2 = x if x2 is None else x2
    for top in range(0, len(x), ROWS):
        out[:, top : top + ROWS] *= (x[top : top + ROWS] @ x2.T)[:, None]
    return out.flatten(2).flatten(0, 1)


def _block_size(most: int, fixed: int, per_neuron: int, memory: int | None, bytes_each: int) -> int:
    """How many neurons to take at a time, when that costs ``fixed + size * per_neuron`` numbers; at most ``most``."""
    if memory is None:
        return most
    size = (memory // bytes_each - fixed) // per_neuron
    if size < 1:
        least = (fixed + per_neuron) * bytes_each
        raise ValueError(f"memory = {memory} bytes is too little: one neuron at a time needs {least} bytes here")
    return min(size, most)


def _normaliser(W: Tensor, x: Tensor, size: int) -> Tensor:
    """Log sum_r exp(w_r.x_i) for every i, (n, 1). In blocks small enough not to count next to the factor P."""
    total = torch.full((len(x), 1), -torch.inf, dtype=W.dtype, device=W.device)
    for block in W.split(min(size, -(-W.shape[1] // 64)), dim=1):
        total = torch.logaddexp(total, torch.logsumexp(x @ block, dim=1, keepdim=True))
    return total


def _product(W: Tensor, a: Tensor, x: Tensor, x2: Tensor | None, centred: bool, memory: int | None) -> Tensor:
    """P P2^T as (outputs, n, outputs, n2), summed over blocks of neurons; strips right of the diagonal if P2 is P."""
    outputs, m = a.shape
    sides = [x] if x2 is None else [x, x2]
    n, n2 = len(x), len(sides[-1])
    height = min(outputs * n, max(128, min(1024, outputs * n // 8)))
    inputs = sum(map(len, sides))
    fixed = (outputs + 4) * inputs + (3 * height**2 if x2 is None else 0) + ROWS * n2
    size = _block_size(BLOCK, fixed, (outputs + 3) * inputs + len(W) + outputs, memory, W.element_size())

    def weights(side, normaliser, W):
        return (side @ W).sub_(normaliser).exp_()

    terms = []
    for side in sides:
        normaliser = _normaliser(W, side, size)
        mean = torch.zeros(outputs, len(side), dtype=W.dtype, device=W.device)
        if not centred:
            for block, values in zip(W.split(size, dim=1), a.split(size, dim=1)):
                mean += values @ weights(side, normaliser, block).T
        terms.append((side, normaliser, mean))

    out = torch.zeros(outputs * n, outputs * n2, dtype=W.dtype, device=W.device)
    strips = [slice(top, min(top + height, outputs * n)) for top in range(0, outputs * n, height)]
    for block, values in zip(W.split(size, dim=1), a.split(size, dim=1)):
        factors = [
            (values[:, None] - mean[..., None]).mul_(weights(side, normaliser, block)).flatten(0, 1)
            for side, normaliser, mean in terms
        ]
        for strip in strips:
            left = strip.start if x2 is None else 0
            out[strip, left:].addmm_(factors[0][strip], factors[-1][left:].T, alpha=m)
        del factors  # before the next ones are made
    if x2 is None:
        for strip in strips:
            square = out[strip, strip]
            square.copy_(square.triu() + square.triu(1).T)
            out[strip.stop :, strip] = out[strip, strip.stop :].T
    return out.view(outputs, n, outputs, n2)


def _pairwise(W: Tensor, a: Tensor, x: Tensor, memory: int | None) -> Tensor:
    """M sum_r (a_l1r a_l2r) (S_ir S_jr) as (outputs, n, outputs, n), computed for l1 < l2 and i <= j only.

    All diagonal blocks are equal, since the values of a are -1 or 1.
    """
    (outputs, m), n = a.shape, len(x)
    first, second = torch.triu_indices(outputs, outputs, 1, device=x.device)
    pairs = len(first) + 1
    size = _block_size(m, (4 * pairs + ROWS) * n, 2 * pairs + 3 * n + len(W) + outputs, memory, W.element_size())
    normaliser = _normaliser(W, x, size)
    out = torch.zeros(outputs, n, outputs, n, dtype=W.dtype, device=W.device)
    for block, values in zip(W.split(size, dim=1), a.split(size, dim=1)):
        S = (x @ block).sub_(normaliser).exp_()
        products = [values[l] * values[l + 1 :] for l in range(outputs - 1)]
        products = torch.cat([torch.ones_like(values[:1]), *products])
        for i in range(n):
            sums = m * (products @ (S[i] * S[i:]).T)
            out[0, i, 0, i:] += sums[0]
            out[first, i, second, i:] += sums[1:]
        del products, S, sums  # before the next ones are made
    for i in range(n):  # j < i
        out[:, i + 1 :, :, i] = out[:, i, :, i + 1 :].transpose(1, 2)
    for l in range(1, outputs):  # l1 >= l2
        out[l, :, l] = out[0, :, 0]
        out[l, :, :l] = out[:l, :, l].transpose(0, 1)
    return out


def exp_kernel(net: SoftmaxNetwork, x: Float[Tensor, "n d"]) -> Float[Tensor, "rows rows"]:
    """The kernel of sum_r a_r exp(<w_r, x>), Gram matrix of its Jacobian over m: no denominator, no mean to subtract."""
    net.check(x)
    P = (net.a[:, None] * torch.exp(x @ net.W)).flatten(0, 1)
    return P @ P.T / net.m * (x @ x.T).repeat(net.outputs, net.outputs)


#: Activations whose limit kernel is known.
ACTIVATIONS = ("softmax", "exp", "relu")


def limit_kernel(
    x: Float[Tensor, "*batch n d"], x2: Float[Tensor, "*batch n2 d"] | None = None, sigma: Scale = 1.0, kind: str = "softmax"
) -> Float[Tensor, "*batch n n2"]:
    """x_i.x_j exp(sigma^2 x_i.x_j): every diagonal block of H(W(0)) as m grows; the other blocks vanish.

    For paired weights (chapter "The kernel in closed form"). Positive definite exactly if the inputs are distinct and
    none is zero. For networks sum_r a_r b(<w_r, x>) with b = exp or ReLU the limit is x_i.x_j times the mean of
    b'(<w, x_i>) b'(<w, x_j>): exp(sigma^2 |x_i + x_j|^2 / 2), and (pi - angle) / (2 pi) for points other than 0.

    Args:
        x: (..., n, d).
        x2: (..., n2, d), ``x`` when left out.
        sigma: standard deviation of the first layer.
        kind: one of ``softmax``, ``exp``, ``relu``.

    Raises:
        ValueError: unknown ``kind``.
    """
    x2 = x if x2 is None else x2
    gram = x @ x2.mT
    if kind == "softmax":
        return gram * torch.exp(sigma**2 * gram)
    squares = x.square().sum(-1)[..., :, None], x2.square().sum(-1)[..., None, :]
    if kind == "exp":
        return gram * torch.exp(sigma**2 / 2 * (squares[0] + squares[1] + 2 * gram))
    if kind == "relu":
        cosine = gram / (squares[0] * squares[1]).sqrt()
        return gram * (torch.pi - cosine.clamp(-1, 1).arccos()) / (2 * torch.pi)
    raise ValueError(f"activation {kind!r} is unknown; choose one of {', '.join(ACTIVATIONS)}")


def error_constant(x: Float[Tensor, "n d"], sigma: float, outputs: int) -> float:
    """c(sigma) with E|H* - limit|_F^2 ~ c^2 |limit|_F^2 / m at paired weights, by the delta method.

    The entries of H* are ratios of means of log-normal variables, whose moments are all known.
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


def rank_bound(net: SoftmaxNetwork, n: int) -> int:
    """min(n k, sum_c min(n, d p_c)), p_c the pairs with signs +-c: at least the rank of H* at n inputs, paired weights.

    Raises:
        ValueError: the weights are not paired.
    """
    if not net.is_paired:
        raise ValueError("the bound is for paired weights")
    signs = net.a[:, ::2]
    pairs = (signs * signs[:1]).T.unique(dim=0, return_counts=True)[1]
    return min(n * net.outputs, sum(min(n, net.W.shape[0] * int(p)) for p in pairs))


def rank(kernel: Float64[Tensor, "k k"], tolerance: float = 1e-11) -> int:
    """Number of eigenvalues above ``tolerance`` times the largest."""
    values = torch.linalg.eigvalsh(kernel)
    return int((values > tolerance * values[-1]).sum())


def smallest_eigenvalue(kernel: Float[Tensor, "n n"]) -> float:
    """lambda, the smallest eigenvalue of a kernel matrix; 0 with a warning when it cannot be told from rounding.

    It vanishes when an input repeats or is zero, or when there are too few neurons (below 2 n outputs / d in pairs).

    Raises:
        ValueError: the matrix is not symmetric.
    """
    scale = kernel.abs().max().item()
    if not torch.allclose(kernel, kernel.T, rtol=0, atol=1e-10 * scale):
        raise ValueError("a kernel matrix of inputs with themselves is symmetric, this one is not")
    values = torch.linalg.eigvalsh(kernel)
    if values[0] > len(kernel) * torch.finfo(kernel.dtype).eps * values[-1].abs():
        return values[0].item()
    warnings.warn(
        "the smallest eigenvalue is 0 to rounding: an input repeats or is zero, or there are too few neurons",
        RuntimeWarning,
        stacklevel=2,
    )
    return 0.0
