"""Word sensitivity with any weights: one-token update, ascent, certificate, and the two ends of the knob (chapter "Words")."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from ..attention import Weights
from ..device import normal
from ..sensitivity.attention_features import OneTokenAttention
from ..sensitivity.context import weights_generator
from ..sensitivity.upper_bound import sensitivity_bound
from ..sensitivity.word import climb


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """A lower estimate of S(X) by ascent, an upper bound where there is one (else inf), and |phi(X)| / sqrt(n d)."""

    value: float
    bound: float
    size: float


def word_sensitivity(
    weights: Weights,
    X: Float[Tensor, "n d"],
    token: int = 0,
    seed: int = 0,
    starts: int = 4,
    steps: int = 60,
    certificate: bool = False,
) -> Sensitivity:
    """S(X) = max |phi(X^i(delta)) - phi(X)| / |phi(X)| over |delta| <= sqrt(d), climbed from several starts.

    Args:
        weights: as in :class:`OneTokenAttention`. The hard maximum has no slope: its starts are compared, not climbed.
        X: (n, d) tokens of norm sqrt(d).
        token: the row that moves.
        seed: of W, the same as in ``RandomAttentionFeatures.sample``; and of the random starts.
        starts, steps: of the ascent.
        certificate: also compute :func:`sensitivity_bound`.

    Raises:
        ValueError: as :class:`OneTokenAttention`.
    """
    d = X.shape[1]
    W = (normal(d, d, generator=weights_generator(seed)) / math.sqrt(d)).to(X)
    moved = OneTokenAttention(weights, W, X, token)
    found = climb(moved, starts, steps, seed)
    bound = sensitivity_bound(moved) if certificate else math.inf
    return Sensitivity(found.value, bound, float(moved.norm) / math.sqrt(X.numel()))


def averaging_sensitivity(X: Float[Tensor, "n d"]) -> float:
    """S(X) of averaging, exactly: every row is the mean token, so S = sqrt(d) / |sum of the tokens|, for any moved token.

    Raises:
        ValueError: the tokens sum to zero.
    """
    total = float(torch.linalg.vector_norm(X.sum(dim=0)))
    if not total > 0:
        raise ValueError("the tokens sum to zero: averaging maps the context to zero, and the relative change is not defined")
    return math.sqrt(X.shape[1]) / total


def crude_bound(moved: OneTokenAttention) -> float:
    """3 sqrt(n d) / |phi(X)|, for any weights >= 0: a row is an average of tokens before and after the move.

    Row j != i changes by p delta + (p - a)(x - M_j): by at most sqrt(d) + 2 sqrt(d). The moved row is of length at most sqrt(d)
    before and 2 sqrt(d) after. For the hard maximum |phi(X)| = sqrt(n d), so that S <= 3.
    """
    n, d = len(moved.others) + 1, len(moved.x)
    return 3 * math.sqrt(n * d) / float(moved.norm)


def mean_sensitivity(weights: Weights, X: Float[Tensor, "c n d"], starts: int = 4, steps: int = 40) -> float:
    """The mean of S(X) over several contexts, each with its own W (seed 0, 1, ...)."""
    return sum(word_sensitivity(weights, x, 0, seed, starts, steps).value for seed, x in enumerate(X)) / len(X)
