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
    """The largest relative change found, the move that gives it, and how each start of the ascent climbed.

    >>> from attention_theory.sensitivity import RandomAttentionFeatures, word_sensitivity
    >>> from attention_theory.tokens import contexts
    >>> X = contexts("iid", 1, 5, 32, seed=0)[0]
    >>> found = word_sensitivity(RandomAttentionFeatures.sample(32, seed=0), X, starts=3, steps=10)
    >>> found.history.shape, found.delta.shape
    (torch.Size([11, 3]), torch.Size([32]))
    """

    value: float
    delta: Float[Tensor, "d"]
    #: (steps + 1, starts): relative change of every start after every step.
    history: Float[Tensor, "steps starts"]


def word_sensitivity(
    map: FeatureMap, X: Float[Tensor, "n d"], token: Natural = 0, starts: Size = 6, steps: Steps = 100, seed: Seed = 0
) -> WordSensitivity:
    """A lower estimate of S(X): |phi(X^i(delta)) - phi(X)| / |phi(X)|, climbed over |delta| <= sqrt(d).

    S(X) is a supremum. ReLU weights jump where the last positive score of a row vanishes, and there it need not be attained:
    ``value`` is then the change by moves as near to ``delta`` as one likes, and at ``delta`` itself the row may be zero.
    :func:`search` finds more where :func:`projected_ascent` stops at a kink.

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

    >>> from attention_theory.sensitivity import RandomAttentionFeatures, RandomFeatures, word_sensitivity
    >>> from attention_theory.tokens import contexts
    >>> X = contexts("iid", 1, 20, 96, seed=0)[0]
    >>> attention, plain = RandomAttentionFeatures.sample(96, seed=0), RandomFeatures.sample(20, 96, 500, seed=0)
    >>> a, b = (word_sensitivity(map, X, starts=2, steps=20).value for map in (attention, plain))
    >>> a > 2 * b
    True
    """
    return projected_ascent(map.one_token(X, token), starts, steps, seed)


def projected_ascent(moved: OneToken, starts: Size = 6, steps: Steps = 100, seed: Seed = 0) -> WordSensitivity:
    """Projected gradient ascent of ``moved.change`` over the ball of radius sqrt(d), from several starts at once.

    Each start has its own step length: it grows after a step that climbs, and a step that does not climb is undone
    and tried shorter. So no start ever falls.

    Args and Raises: as in :func:`word_sensitivity`.

    >>> from attention_theory.sensitivity import RandomAttentionFeatures, projected_ascent
    >>> from attention_theory.tokens import contexts
    >>> X = contexts("iid", 1, 5, 32, seed=0)[0]
    >>> one = RandomAttentionFeatures.sample(32, seed=0).one_token(X, 0)
    >>> (projected_ascent(one, starts=3, steps=10).history.diff(dim=0) >= 0).all().item()  # no start ever falls
    True
    """
    check_norm(moved.norm)
    delta = _first_moves(moved, moved.starts(), starts, seed)
    value, gradient = _value_and_gradient(moved, delta)
    history, delta, value = _ascend(moved, delta, value, gradient, 1.0, steps)
    return _best(moved, delta, value, history)


def search(moved: OneToken, starts: Size = 9, steps: Steps = 100, seed: Seed = 0) -> WordSensitivity:
    """A wider search than :func:`projected_ascent`, nine starts at the cost of six there: it finds more for ReLU attention.

    Half of the steps roam: their length falls from half the radius to 0 whether they climb or not, so that the kinks and jumps
    of ReLU weights do not hold them. The best points seen by a third of the starts are then climbed from. Of attention features
    a third of the starts are aimed at single rows, which is where long contexts are sensitive. It remains a lower estimate.

    Args and Raises: as in :func:`word_sensitivity`.

    >>> from attention_theory.sensitivity import RandomAttentionFeatures, search
    >>> from attention_theory.tokens import contexts
    >>> X = contexts("iid", 1, 5, 32, seed=0)[0]
    >>> one = RandomAttentionFeatures.sample(32, seed=0, weights="relu").one_token(X, 0)
    >>> search(one, steps=20).value >= search(one, steps=0).value
    True
    """
    check_norm(moved.norm)
    first = moved.starts()
    if isinstance(moved, OneTokenAttention):
        first = torch.cat([first, moved.aimed_moves(starts // 3)])
    delta = _first_moves(moved, first, starts, seed)
    radius, roaming = math.sqrt(len(moved.x)), steps // 2
    value, gradient = _value_and_gradient(moved, delta)
    best, place, uphill, history = value, delta, gradient, [value]
    for step in range(roaming):
        delta = _step(delta, gradient, 0.5 * radius * (1 - step / roaming))
        value, gradient = _value_and_gradient(moved, delta)
        better = (value > best)[:, None]
        place, uphill = torch.where(better, delta, place), torch.where(better, gradient, uphill)
        best = torch.maximum(best, value)
        history.append(best)
    kept = best.topk(-(-starts // 3)).indices
    climbed, delta, value = _ascend(moved, place[kept], best[kept], uphill[kept], 1 / max(1, roaming), steps - roaming)
    history += [best.index_copy(0, kept, found) for found in climbed[1:]]
    return _best(moved, place.index_copy(0, kept, delta), best.index_copy(0, kept, value), history)


def _first_moves(moved: OneToken, first: Tensor, starts: int, seed: int) -> Tensor:
    """So many moves of length sqrt(d): the first ones as they are given, then random directions."""
    d = len(moved.x)
    random = normal(starts, d, generator=starts_generator(seed)).to(moved.x)
    delta = torch.cat([first, random])[:starts]
    return delta * (math.sqrt(d) / torch.linalg.vector_norm(delta, dim=1, keepdim=True))


def _step(delta: Tensor, gradient: Tensor, length: float | Tensor) -> Tensor:
    """A step of this length along the gradient, and back into the ball of radius sqrt(d)."""
    size = torch.linalg.vector_norm(gradient, dim=1, keepdim=True)
    delta = delta + length * gradient / torch.where(size == 0, 1, size)
    return delta * (math.sqrt(delta.shape[1]) / torch.linalg.vector_norm(delta, dim=1, keepdim=True)).clamp(max=1)


def _ascend(
    moved: OneToken, delta: Tensor, value: Tensor, gradient: Tensor, share: float, steps: int
) -> tuple[list[Tensor], Tensor, Tensor]:
    """Climb without a fall, with steps of this share of the radius at first: the values after every step, moves, values."""
    length = torch.full_like(delta[:, :1], share * math.sqrt(len(moved.x)))
    history = [value]
    for _ in range(steps):
        trial = _step(delta, gradient, length)
        trial_value, trial_gradient = _value_and_gradient(moved, trial)
        better = (trial_value > value)[:, None]
        delta, gradient = torch.where(better, trial, delta), torch.where(better, trial_gradient, gradient)
        length = torch.where(better, 1.5 * length, 0.4 * length)
        value = torch.maximum(value, trial_value)
        history.append(value)
    return history, delta, value


def _best(moved: OneToken, delta: Tensor, value: Tensor, history: list[Tensor]) -> WordSensitivity:
    """The best of all starts; of those that are equal to rounding the first, in every precision."""
    best = int((value >= (1 - 16 * torch.finfo(value.dtype).eps) * value.max()).nonzero()[0])
    relative = torch.stack(history).sqrt() / moved.norm
    return WordSensitivity(float(relative[-1, best]), delta[best], relative)


def _value_and_gradient(moved: OneToken, delta: Tensor) -> tuple[Tensor, Tensor]:
    with gradients():
        delta = delta.detach().requires_grad_(True)
        value = moved.change(delta)
        (gradient,) = torch.autograd.grad(value.sum(), delta)
    return value.detach(), gradient
