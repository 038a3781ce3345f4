"""Attention that does not divide by the sum: a changed word, groups, memories, and what a sink must
score.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from attention_theory.attention import Weights
from attention_theory.device import gradients
from attention_theory.exponential.dividing import Over, divided
from attention_theory.patches.population import every_point
from jaxtyping import Float
from scipy.signal import fftconvolve
from theorybook.validation import (
    Chance,
    Count,
    Limits,
    Natural,
    OpenChance,
    Positive,
    Signed,
    Steps,
)
from torch import Tensor


def aligned_change(
    weights: Weights,
    over: Over,
    X: Float[Tensor, "n d"],
    W: Float[Tensor, "d d"],
    token: Natural = 0,
) -> Float[Tensor, "others"]:
    """|phi(X^i(delta)) - phi(X)| / |phi(X)| for the longest moves in the direction that each other
    row prefers: delta = sqrt(d) k_j / |k_j|.

    Args:
        weights, over: u, and what the rows of u(X W X^T / sqrt d) are divided by.
        X, W, token: context, parameter, and the row that moves.
    """

    def features(x):
        return divided(weights(x @ W @ x.mT / math.sqrt(x.shape[-1])), over) @ x

    keys = torch.cat([X[:token], X[token + 1 :]]) @ W
    moved = X.repeat(len(keys), 1, 1)
    moved[:, token] += math.sqrt(X.shape[1]) * keys / keys.norm(dim=1, keepdim=True)
    before = features(X)
    return (features(moved) - before).flatten(1).norm(dim=1) / before.norm()


def sink_gap(rivals: Count, left: OpenChance) -> float:
    """The margin by which a key with value 0 must outscore its equal rivals for softmax to leave
    this part of their mean value.
    """
    return math.log(rivals) + math.log((1 - left) / left)


def crowd_number(u: Callable[[int], float], d: Annotated[int, Limits(1, 1000)]) -> float:
    """u(d) over the mean of u at the scores of random patterns of d signs: about so many of them
    together weigh as much as the right one.
    """
    return u(d) / sum(math.comb(d, k) / 2**d * u(2 * k - d) for k in range(d + 1))


def retrieval_probability(
    u: Callable[[int], int], d: Annotated[int, Limits(1, 16)], n: Count
) -> Chance:
    """P[the right pattern has more than half of the weight] among n patterns of d random signs,
    when the query is that pattern.

    Its score is d, those of the others are independent sums of d signs: the law of the sum of their
    u is a power of a polynomial, of which only the coefficients below u(d) matter.

    Args:
        u: with values in the natural numbers, u(d) at most 2^20.
        d: signs of a pattern.
        n: stored patterns.

    Raises:
        ValueError: u(d) is too large.
    """
    top = u(d)
    if not 0 < top <= 2**20:
        raise ValueError(
            f"u({d}) = {top} is not allowed: coefficients up to u(d) are held, at most 2^20"
        )
    step, total = np.zeros(top), np.ones(1)
    for k in range(d + 1):
        if u(2 * k - d) < top:
            step[u(2 * k - d)] += math.comb(d, k) / 2**d
    left = n - 1
    while left:  # powers by squaring, cut below u(d)
        if left & 1:
            total = fftconvolve(total, step)[:top].clip(min=0)
        left >>= 1
        if left:
            step = fftconvolve(step, step)[:top].clip(min=0)
    return min(1.0, float(total.sum()))


@dataclass(frozen=True)
class GroupsRun:
    """The weight on a partner over the weight on a stranger, the error and the loss, at each step."""

    ratio: list[float]
    error: list[float]
    loss: list[float]


@gradients()
def groups_descent(
    weights: Weights,
    over: Over,
    D: Count,
    C: Count,
    q: Chance,
    steps: Steps = 120,
    rate: Positive = 10.0,
    diagonal: Signed = 1.0,
    nu: Positive = 1e-3,
) -> GroupsRun:
    """Descent on all images of the world of patches, with the weights divided by one of four
    things; three scores, of which the one on the diagonal is fixed.

    As :func:`attention_theory.exponential.space.population_descent_with` with p = 3, which is the
    case ``over="sum"``.

    Args:
        weights: the family.
        over: what a row is divided by.
        D, C, q: patches, size of a group, chance of a stray.
        steps, rate: of descent on the scores; the value vector has a rate 10^4 times smaller.
        diagonal: the fixed score of a patch with itself.
        nu: linear part of the activation.
    """
    points, y, chance = every_point(D, C, q)
    x = points[..., 0]
    group = x.reshape(len(x), D // C, C).sum(2).repeat_interleave(C, 1)
    rest = x.sum(1, keepdim=True) - group
    held = torch.tensor(
        [math.sqrt(nu), 0.0, 0.0], dtype=torch.float64
    )  # alpha, score of a partner, of a stranger
    rates = torch.tensor(
        [1e-4 * rate, rate / (D * (C - 1)), rate / (D * (D - C))], dtype=torch.float64
    )
    counts = torch.tensor([1, C - 1, D - C])
    run = GroupsRun([], [], [])
    for _ in range(steps + 1):
        held = held.detach().requires_grad_()
        raw = weights(torch.cat([held.new_tensor([diagonal]), held[1:]]))
        w = divided(raw.repeat_interleave(counts), over)[[0, 1, C]]
        z = D * held[0] * (w[0] * x + w[1] * (group - x) + w[2] * rest)
        margin = y * (z**3 + nu * z).sum(1)
        risk = (chance * torch.nn.functional.softplus(-margin)).sum()
        wrong = (margin < -1e-9 * margin.abs().max()).double() + 0.5 * (
            margin.abs() <= 1e-9 * margin.abs().max()
        ).double()
        run.ratio.append(float((w[1] / w[2]).detach()))
        run.error.append(float((chance * wrong).sum()))
        run.loss.append(float(risk.detach()))
        held = held - rates * torch.autograd.grad(risk, held)[0]
    return run
