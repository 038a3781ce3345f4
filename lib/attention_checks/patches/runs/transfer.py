"""Transfer to another feature with the scores kept: one step, descent on the value vector, or
everything from scratch.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Annotated

import numpy as np
import torch
from attention_theory.patches.distribution import PatchDistribution
from attention_theory.patches.hidden import log_choose
from attention_theory.patches.population import three_values
from attention_theory.patches.training import TEST_SEED, missed, train_vit
from attention_theory.patches.vit import PositionalViT
from jaxtyping import Float, Float64
from scipy.stats import binom
from theorybook.devices import Device
from theorybook.validation import Chance, Count, Limits, Seed, Size, Steps
from torch import Tensor

from attention_checks.patches.runs.samples import RATES

D, C, d, q = 16, 4, 16, 0.25
#: The feature of the new task: orthogonal to the one that the scores were learned with, the first
#: unit vector.
OTHER = torch.eye(d, dtype=torch.float64)[1]


def world(
    stray: Chance = q, w: Tensor | None = None, groups: Tensor | None = None
) -> PatchDistribution:
    """A task of D = 16 patches in groups of 4, d = 16."""
    return PatchDistribution(D, C, d, stray, d**-0.5, groups=groups, w=w)


@cache
def pretrained(
    steps: Steps = 120, stray: Chance = q, device: Device = "cpu", seed: Seed = 0
) -> tuple[PositionalViT, float]:
    """A model trained (on the device) on 1000 samples of the first feature, and its error there."""
    run = train_vit(
        world(stray), 1000, steps, seed=seed, every=steps, tests=20_000, device=device, **RATES
    )
    return run.model, float(run.error[-1])


def one_step(
    A: Float[Tensor, "D D"], X: Float[Tensor, "N D d"], y: Float[Tensor, "N"]
) -> PositionalViT:
    """The model after one normalised step of v from 0, where the activation is linear."""
    zero = PositionalViT(A, torch.zeros(X.shape[2]).to(A), temperature=1.0)
    _, dv = zero.gradients(X, y)
    return PositionalViT(A, -dv / dv.norm(), nu=0.0, temperature=1.0)


def fine_tuned(
    task: PatchDistribution,
    A: Float64[Tensor, "D D"],
    N: Count,
    seed: Seed,
    steps: Steps = 150,
    device: Device = "cpu",
) -> PositionalViT:
    """Descent on v alone (on the device) from N samples of the task."""
    return train_vit(
        task, N, steps, seed=seed, rate_A=0.0, rate_v=3e-3, A=A, every=steps, tests=1, device=device
    ).model


@dataclass(frozen=True, eq=False)
class Comparison:
    """Test errors (sizes, draws) of the three ways, and P[f* F <= 0] with five samples: scores
    kept, from scratch.
    """

    sizes: tuple[int, ...]
    one_step: np.ndarray
    kept: np.ndarray
    scratch: np.ndarray
    misfits: np.ndarray


@cache
def comparison(
    sizes: tuple[int, ...] = (2, 5, 20, 50, 200),
    draws: Size = 6,
    fresh: Size = 4000,
    steps: Steps = 150,
    device: Device = "cpu",
) -> Comparison:
    """Learn the new task from the same few samples in three ways, each from several draws; the
    descents on the device.
    """
    A, task = pretrained(device=device)[0].A, world(w=OTHER)
    errors, misfits = np.zeros((3, len(sizes), draws)), np.zeros((2, draws))
    for j, seed in enumerate(range(50, 50 + draws)):
        X, y = task.sample(fresh, seed + TEST_SEED)
        for i, N in enumerate(sizes):
            scratch = train_vit(
                task, N, steps, seed=seed, every=steps, tests=1, device=device, **RATES
            ).model
            models = (
                one_step(A, *task.sample(N, seed=seed)),
                fine_tuned(task, A, N, seed, steps, device),
                scratch,
            )
            outputs = [model(X) for model in models]
            errors[:, i, j] = [missed(y, F) for F in outputs]
            if N == 5:
                misfits[:, j] = [missed(task.label(X), F) for F in outputs[1:]]
    one, kept, scratch = errors
    return Comparison(sizes, one, kept, scratch, misfits)


def learned_form(size: Size, share: Chance) -> Float[Tensor, "size size"]:
    """Scores beta = gamma = 1 with the rho that leaves the own group this share of the
    attention.
    """
    rho = math.log(C * math.e * (1 - share) / share / (size - C))
    return three_values(size, C, 1.0, 1.0, rho)


def group_share(A: Float[Tensor, "D D"]) -> float:
    """Mean share of the attention of a row that its own group gets, groups of C neighbours."""
    group = torch.arange(len(A), device=A.device) // C
    return float((torch.softmax(A, 1) * (group[:, None] == group)).sum(1).mean())


def large_task(size: Size) -> PatchDistribution:
    """A task with D = d = ``size``, four strays on average (q D = 4), and noise in each patch as
    long as the feature.
    """
    return PatchDistribution(size, C, size, 4 / size, size**-0.5)


def failed_draws(size: Size, share: Chance, draws: Size, N: Count = 5) -> int:
    """Number of draws of N samples and one fresh point in which f* F > 0 fails at that point after
    one step on :func:`large_task`.
    """
    task, A, failed = large_task(size), learned_form(size, share), 0
    for seed in range(draws):
        X, y = task.sample(N + 1, seed=seed)
        F = one_step(A, X[:N], y[:N])(X[N:])
        failed += int(task.label(X[N:]) * F <= 0)
    return failed


def planted_distance(m: Annotated[int, Limits(1, 10**10)], C: Count, q: Chance) -> float:
    """Total variation between m strays and m patches with a random set of C ones planted, by the
    number k of ones.

    The likelihood ratio is binom(k, C) over its mean. q in (0, 1], 1 <= C <= m.
    """
    if not (0 < q <= 1 and m >= C):
        raise ValueError(f"m = {m}, C = {C}, q = {q}: choose 1 <= C <= m and 0 < q <= 1")
    mean, width = m * q / 2, 40 * math.sqrt(m * q / 2) + 40 + C
    k = np.arange(max(0, int(mean - width)), min(m, int(mean + width)) + 1)
    ratio = np.where(k >= C, np.exp(log_choose(k, C) - log_choose(m, C) - C * math.log(q / 2)), 0)
    return float((binom.pmf(k, m, q / 2) * np.abs(ratio - 1)).sum() / 2)
