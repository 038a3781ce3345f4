"""The kernel at the start, over many draws, against its limit."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import flint
import numpy as np
import torch
from attention_theory.tangent.kernel import limit_kernel, tangent_kernel
from attention_theory.tangent.network import SoftmaxNetwork
from jaxtyping import Float
from scipy import special
from theorybook.validation import FILLED, Count, NonNegative, Size
from torch import Tensor


@dataclass(frozen=True, eq=False)
class KernelDraws:
    """For each draw: |H* - limit|_F / |limit|_F, and the smallest eigenvalue over that of the
    limit.
    """

    error: np.ndarray
    smallest: np.ndarray


def draw_kernels(
    x: Float[Tensor, "n d"],
    m: Count,
    sigma: NonNegative,
    outputs: Size,
    seeds: Annotated[Iterable[int], FILLED],
) -> KernelDraws:
    """H* of paired networks of width m, one for each seed, against the limit."""
    limit = torch.block_diag(*[limit_kernel(x, sigma=sigma)] * outputs)
    least = torch.linalg.eigvalsh(limit)[0]
    nets = (SoftmaxNetwork.paired(x.shape[1], m, seed, sigma, outputs).to(x) for seed in seeds)
    found = [
        (float((H - limit).norm() / limit.norm()), float(torch.linalg.eigvalsh(H)[0] / least))
        for H in (tangent_kernel(net, x) for net in nets)
    ]
    error, smallest = np.array(found).T
    return KernelDraws(error, smallest)


def limit_by_quadrature(x: Float[Tensor, "n d"], sigma: NonNegative) -> Float[Tensor, "n n"]:
    """x_i.x_j E[e^<w, x_i + x_j>] / (E[e^<w, x_i>] E[e^<w, x_j>]) for normal w, the means by Gauss
    quadrature.
    """
    nodes, weights = (torch.from_numpy(part).to(x) for part in special.roots_hermitenorm(80))

    def mean_exp(z):  # <w, z> is normal with standard deviation sigma |z|
        return (weights * torch.exp(sigma * z.norm(dim=-1, keepdim=True) * nodes)).sum(
            -1
        ) / weights.sum()

    single = mean_exp(x)
    return (x @ x.T) * mean_exp(x[:, None] + x[None]) / torch.outer(single, single)


def error_constant_by_quadrature(
    x: Float[Tensor, "n 2"], sigma: NonNegative, outputs: Size
) -> float:
    """The constant of :func:`~attention_theory.tangent.kernel.error_constant` at inputs in the
    plane, all means by quadrature.

    With e_i = exp(<w, x_i>) over its mean, an entry of a diagonal block is x_i.x_j times the
    neurons' mean of e_i e_j over those of e_i and of e_j. Its error is to first order that of the
    mean of e_i e_j - k (e_i + e_j), k = E[e_i e_j].
    """
    nodes, weights = (torch.from_numpy(part).to(x) for part in special.roots_hermitenorm(80))
    chances = torch.outer(weights, weights).flatten() / weights.sum() ** 2
    mean = lambda values: (chances * values).sum(-1, keepdim=True)
    e = torch.exp(sigma * x @ torch.cartesian_prod(nodes, nodes).T)
    e = e / mean(e)
    product = e[:, None] * e
    k = mean(product)
    error = product - k * (e[:, None] + e)
    variances = outputs * mean((error - mean(error)).square()) + outputs * (outputs - 1) * mean(
        product.square()
    )
    gram = (x @ x.T)[..., None]
    return float(
        (2 * (gram.square() * variances).sum() / (outputs * (gram * k).square().sum())).sqrt()
    )


def exact_determinant(points: Sequence[int]) -> Fraction:
    """Determinant of the matrix x_i x_j 2^(x_i x_j) of integers: the limit kernel on a line at
    sigma^2 = log 2, exactly.
    """
    M = flint.fmpq_mat(
        [[flint.fmpq(a * b) * flint.fmpq(2) ** (a * b) for b in points] for a in points]
    )
    return Fraction(str(M.det()))
