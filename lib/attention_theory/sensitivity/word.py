"""Word sensitivity: the largest relative change of a feature map when one token moves (bombari2024, (3.4))."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from theorybook.validation import Natural, Seed, Size, Steps
from torch import Tensor

from attention_theory.device import gradients, normal
from attention_theory.sensitivity.attention_features import OneTokenAttention
from attention_theory.sensitivity.context import FeatureMap, check_norm, starts_generator
from attention_theory.sensitivity.random_features import OneTokenFeatures

#: A feature map as a function of the move of one token.
OneToken = OneTokenAttention | OneTokenFeatures


@dataclass(frozen=True, eq=False)
class WordSensitivity:
    """The largest relative change found, the move that gives it, and how each start of the ascent climbed."""

    value: float
    delta: Float[Tensor, "d"]
    #: (steps + 1, starts): relative change of every start after every step.
    history: Float[Tensor, "steps starts"]


def word_sensitivity(
    map: FeatureMap, X: Float[Tensor, "n d"], token: Natural = 0, starts: Size = 6, steps: Steps = 100, seed: Seed = 0
) -> WordSensitivity:
    """A lower estimate of S(X): |phi(X^i(delta)) - phi(X)| / |phi(X)|, climbed over |delta| <= sqrt(d).

    Args:
        map: a feature map with ``one_token``, for example :class:`RandomAttentionFeatures`.
        X: context (n, d), tokens of norm sqrt(d).
        token: the row that moves.
        starts: number of starts of the ascent: the map's constructive ones first, then random directions.
        steps: steps of the ascent.
        seed: of the random starts.

    Raises:
        ValueError: starts < 1, steps < 0, bad X or token, or features that vanish at X.

    bombari2024, (3.4) for one token, as in its figures (which fix the first).
    """
    return climb(map.one_token(X, token), starts, steps, seed)


def climb(moved: OneToken, starts: Size = 6, steps: Steps = 100, seed: Seed = 0) -> WordSensitivity:
    """Projected gradient ascent of ``moved.change`` over the ball of radius sqrt(d), from several starts at once.

    Each start has its own step length: it grows after a step that climbs, and a step that does not climb is undone
    and tried shorter. So no start ever falls.

    Args and Raises: as in :func:`word_sensitivity`.
    """
    check_norm(moved.norm)
    d = len(moved.x)
    radius = math.sqrt(d)
    random = normal(starts, d, generator=starts_generator(seed)).to(moved.x)
    delta = torch.cat([moved.starts(), random])[:starts]
    delta = delta * (radius / torch.linalg.vector_norm(delta, dim=1, keepdim=True))
    length = torch.full_like(delta[:, :1], radius)
    value, gradient = _value_and_gradient(moved, delta)
    history = [value]
    for _ in range(steps):
        size = torch.linalg.vector_norm(gradient, dim=1, keepdim=True)
        trial = delta + length * gradient / torch.where(size == 0, 1, size)
        trial = trial * (radius / torch.linalg.vector_norm(trial, dim=1, keepdim=True)).clamp(max=1)
        trial_value, trial_gradient = _value_and_gradient(moved, trial)
        better = (trial_value > value)[:, None]
        delta, gradient = torch.where(better, trial, delta), torch.where(better, trial_gradient, gradient)
        length = torch.where(better, 1.5 * length, 0.4 * length)
        value = torch.maximum(value, trial_value)
        history.append(value)
    # of starts that are equal to rounding the first, in every precision
    best = int((value >= (1 - 16 * torch.finfo(value.dtype).eps) * value.max()).nonzero()[0])
    relative = torch.stack(history).sqrt() / moved.norm
    return WordSensitivity(float(relative[-1, best]), delta[best], relative)


def _value_and_gradient(moved: OneToken, delta: Tensor) -> tuple[Tensor, Tensor]:
    with gradients():
        delta = delta.detach().requires_grad_(True)
        value = moved.change(delta)
        (gradient,) = torch.autograd.grad(value.sum(), delta)
    return value.detach(), gradient
