"""Word sensitivity: the largest relative change of a feature map when one token moves (bombari2024,
(3.4)).
"""

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
    """The largest relative change found, the move that gives it, and the progress of each start of
    the search.

    >>> from attention_theory.sensitivity import RandomAttentionFeatures, word_sensitivity
    >>> from attention_theory.tokens import contexts
    >>> X = contexts("iid", 1, 5, 32, seed=0)[0]
    >>> found = word_sensitivity(RandomAttentionFeatures.sample(32, seed=0), X, starts=3, steps=10)
    >>> found.history.shape, found.delta.shape
    (torch.Size([11, 3]), torch.Size([32]))
    """

    value: float
    delta: Float[Tensor, "d"]
    #: (steps + 1, starts): the largest relative change that each start has found up to each step.
    history: Float[Tensor, "steps starts"]


def word_sensitivity(
    map: FeatureMap,
    X: Float[Tensor, "n d"],
    token: Natural = 0,
    starts: Size = 24,
    steps: Steps = 200,
    seed: Seed = 0,
) -> WordSensitivity:
    """A lower bound on S(X) = sup |phi(X^i(delta)) - phi(X)| / |phi(X)| over |delta| <= sqrt(d):
    the largest value that :func:`search` finds.

    ReLU weights jump where the last positive score of a row vanishes, and there the supremum need
    not be attained: ``value`` is then the change by moves arbitrarily close to ``delta``, and at
    ``delta`` itself the row may be zero.

    Args:
        map: a feature map with ``one_token``, for example :class:`RandomAttentionFeatures`.
        X: context (n, d), tokens of norm sqrt(d).
        token: the row that moves.
        starts: number of starts of the search: the map's constructive ones first, then random
            directions.
        steps: steps of the search.
        seed: of the random starts.

    Raises:
        ValueError: starts < 1, steps < 0, bad X or token, or features that vanish at X.

    bombari2024, (3.4) for one token, as in its figures (which fix the first).

    >>> from attention_theory.sensitivity import RandomAttentionFeatures, RandomFeatures
    >>> from attention_theory.sensitivity import word_sensitivity
    >>> from attention_theory.tokens import contexts
    >>> X = contexts("iid", 1, 20, 96, seed=0)[0]
    >>> attention = RandomAttentionFeatures.sample(96, seed=0)
    >>> plain = RandomFeatures.sample(20, 96, 500, seed=0)
    >>> a, b = (word_sensitivity(map, X, starts=2, steps=20).value for map in (attention, plain))
    >>> a > 2 * b
    True
    """
    return search(map.one_token(X, token), starts, steps, seed)


def search(
    view: OneToken, starts: Size = 24, steps: Steps = 200, seed: Seed = 0
) -> WordSensitivity:
    """Gradient ascent of ``view.change`` over the ball of radius sqrt(d), from many starts whose
    number is halved four times.

    There are five rounds. Each has twice as many steps as the one before, and half as many starts:
    the best ones so far. So all rounds cost about the same, together 36 evaluations per start for
    200 steps (:func:`evaluations`). For attention features a third of the starts are aimed at
    single rows, which is where long contexts are sensitive. Smooth features are climbed as in
    :func:`projected_ascent`. ReLU weights have kinks, where an ascent that only accepts
    improvements gets stuck. So there every step is accepted, except in the last tenth, and only its
    length, half the radius at first, depends on whether it improves.

    Args and Raises: as in :func:`word_sensitivity`.

    >>> from attention_theory.sensitivity import RandomAttentionFeatures, search
    >>> from attention_theory.tokens import contexts
    >>> X = contexts("iid", 1, 5, 32, seed=0)[0]
    >>> one = RandomAttentionFeatures.sample(32, seed=0, weights="relu").one_token(X, 0)
    >>> search(one, steps=20).value >= search(one, steps=0).value
    True
    """
    check_norm(view.norm)
    first, kinks = view.starts(), False
    if isinstance(view, OneTokenAttention):
        first = torch.cat([first, view.aimed_moves(starts // 3)])
        kinks = view.weights.family == "relu_power"
    ascent = _Ascent(view, _first_moves(view, first, starts, seed), 0.5 if kinks else 1)
    history, kept = [ascent.value], torch.arange(starts, device=first.device)
    for step in range(steps):
        if len(kept) > (wanted := _survivors(starts, step, steps)):
            best = ascent.value.topk(wanted).indices
            ascent.keep(best)
            kept = kept[best]
        ascent.roam(steps) if kinks and step < 0.9 * steps else ascent.climb()
        history.append(history[-1].index_copy(0, kept, ascent.value))
    return _best(view, ascent.place, ascent.value, history)


def evaluations(starts: Size, steps: Steps = 200) -> int:
    """Number of changes, each with its gradient, that :func:`search` computes.

    >>> from attention_theory.sensitivity import evaluations
    >>> evaluations(starts=24, steps=200)
    863
    """
    return starts + sum(_survivors(starts, step, steps) for step in range(steps))


def _survivors(starts: int, step: int, steps: int) -> int:
    """Number of starts that take this step: the rounds have 1, 2, 4, 8 and 16 of 31 parts of the
    steps, and each has half the starts of the one before.
    """
    return -(-starts // 2 ** int(math.log2(1 + 31 * step / steps)))


def projected_ascent(
    view: OneToken, starts: Size = 6, steps: Steps = 100, seed: Seed = 0
) -> WordSensitivity:
    """Projected gradient ascent of ``view.change`` over the ball of radius sqrt(d), with all starts
    kept to the end.

    Each start has its own step length: it grows after a step that improves, and a step that does
    not improve is undone and tried again with a shorter length. So no start ever gets worse. For
    random features, which respond smoothly to a move, a few starts are enough.

    Args and Raises: as in :func:`word_sensitivity`.

    >>> from attention_theory.sensitivity import RandomAttentionFeatures, projected_ascent
    >>> from attention_theory.tokens import contexts
    >>> X = contexts("iid", 1, 5, 32, seed=0)[0]
    >>> one = RandomAttentionFeatures.sample(32, seed=0).one_token(X, 0)
    >>> steps = projected_ascent(one, starts=3, steps=10).history.diff(dim=0)
    >>> (steps >= 0).all().item()  # no start ever gets worse
    True
    """
    check_norm(view.norm)
    ascent = _Ascent(view, _first_moves(view, view.starts(), starts, seed))
    history = [ascent.value]
    for _ in range(steps):
        ascent.climb()
        history.append(ascent.value)
    return _best(view, ascent.place, ascent.value, history)


def _first_moves(view: OneToken, first: Tensor, starts: int, seed: int) -> Tensor:
    """``starts`` moves of length sqrt(d): the given ``first`` ones, then random directions."""
    d = len(view.x)
    random = normal(starts, d, generator=starts_generator(seed)).to(view.x)
    delta = torch.cat([first, random])[:starts]
    return delta * (math.sqrt(d) / torch.linalg.vector_norm(delta, dim=1, keepdim=True))


class _Ascent:
    """Several starts of an ascent: the current position ``delta`` of each, and the best ``place``
    it has found.
    """

    def __init__(self, view: OneToken, delta: Tensor, share: float = 1):
        self.view, self.radius = view, math.sqrt(delta.shape[1])
        self.delta = self.place = delta
        self.value, self.uphill = _value_and_gradient(view, delta)
        self.gradient = self.uphill
        self.length = torch.full_like(delta[:, :1], share * self.radius)

    def climb(self) -> None:
        """Step from the best place; if that finds a better one, the next step is longer, otherwise
        much shorter.
        """
        self._step(self.place, self.uphill, longer=1.5, shorter=0.4)

    def roam(self, steps: int) -> None:
        """Step from the current position; if that finds a better place, the next step is longer,
        otherwise a little shorter.

        Without any improvement the length falls to a ten-thousandth within ``steps`` steps.
        """
        self._step(self.delta, self.gradient, longer=1.1, shorter=1e-4 ** (1 / steps))

    def keep(self, starts: Tensor) -> None:
        """Continue with these starts only."""
        for name in ("delta", "gradient", "place", "uphill", "value", "length"):
            setattr(self, name, getattr(self, name)[starts])

    def _step(self, start: Tensor, gradient: Tensor, longer: float, shorter: float) -> None:
        size = torch.linalg.vector_norm(gradient, dim=1, keepdim=True)
        delta = start + self.length * gradient / torch.where(size == 0, 1, size)
        self.delta = delta * (
            self.radius / torch.linalg.vector_norm(delta, dim=1, keepdim=True)
        ).clamp(max=1)
        value, self.gradient = _value_and_gradient(self.view, self.delta)
        better = (value > self.value)[:, None]
        self.place = torch.where(better, self.delta, self.place)
        self.uphill = torch.where(better, self.gradient, self.uphill)
        self.length = torch.where(better, longer, shorter) * self.length
        self.value = torch.maximum(self.value, value)


def _best(view: OneToken, delta: Tensor, value: Tensor, history: list[Tensor]) -> WordSensitivity:
    """The best of all starts; among starts that are equal up to rounding the first, so that every
    precision picks the same one.
    """
    best = int((value >= (1 - 16 * torch.finfo(value.dtype).eps) * value.max()).nonzero()[0])
    return WordSensitivity(
        float(value[best].sqrt() / view.norm), delta[best], torch.stack(history).sqrt() / view.norm
    )


def _value_and_gradient(view: OneToken, delta: Tensor) -> tuple[Tensor, Tensor]:
    with gradients():
        delta = delta.detach().requires_grad_(True)
        value = view.change(delta)
        (gradient,) = torch.autograd.grad(value.sum(), delta)
    return value.detach(), gradient
