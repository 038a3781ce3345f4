"""Word sensitivity with any weights: the ascent, and the two ends of the knob (chapter "Words")."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from theorybook.validation import Count, Extended, Natural, Seed, Size, Steps
from torch import Tensor

from attention_theory.attention import Weights
from attention_theory.sensitivity.attention_features import (
    OneTokenAttention,
    RandomAttentionFeatures,
)
from attention_theory.sensitivity.word import search


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """A lower bound on S(X) by search, |phi(X)| / sqrt(n d), and the move found."""

    value: float
    size: float
    delta: Float[Tensor, "d"]


def word_sensitivity_with(
    weights: Weights,
    X: Float[Tensor, "n d"],
    token: Natural = 0,
    seed: Seed = 0,
    starts: Size = 24,
    steps: Steps = 50,
) -> Sensitivity:
    """A lower bound on S(X) = sup |phi(X^i(delta)) - phi(X)| / |phi(X)| over |delta| <= sqrt(d), by
    search.

    (ReLU powers jump where a row's last positive score vanishes, and need not attain the supremum.)

    Args:
        weights: as in :class:`OneTokenAttention`. The hard maximum has no slope: its starts are
            compared, not climbed.
        X: (n, d) tokens of norm sqrt(d).
        token: the row that moves.
        seed: of W, the same as in ``RandomAttentionFeatures.sample``; and of the random starts.
        starts, steps: of :func:`attention_theory.sensitivity.word.search`.

    Raises:
        ValueError: as :class:`OneTokenAttention`.

    >>> import torch
    >>> from attention_theory.exponential import sharp, word_sensitivity_with
    >>> X = 2 * torch.eye(4).double()
    >>> word_sensitivity_with(sharp(0), X, starts=1, steps=5).value > 0.1
    True
    """
    W = RandomAttentionFeatures.sample(X.shape[1], seed).to(X).W
    view = OneTokenAttention(weights, W, X, token)
    found = search(view, starts, steps, seed)
    return Sensitivity(found.value, float(view.norm) / math.sqrt(X.numel()), found.delta)


def averaging_sensitivity(X: Float[Tensor, "n d"]) -> float:
    """S(X) of averaging, exactly: every row is the mean token, so S = sqrt(d) / |sum of the
    tokens|, whichever token moves.

    Raises:
        ValueError: the tokens sum to zero.
    """
    total = float(torch.linalg.vector_norm(X.sum(dim=0)))
    if not total > 0:
        raise ValueError(
            "the tokens sum to zero: averaging maps the context to zero, and the relative change "
            "is not defined"
        )
    return math.sqrt(X.shape[1]) / total


def vanishing_move(
    degree: Count, X: Float[Tensor, "n d"], token: Natural = 0, seed: Seed = 0
) -> Float[Tensor, "d"]:
    """The shortest move of a token that makes the row sum of another token zero, for u(z) =
    z^degree of odd degree.

    The sum of row j is zero where its score on the moved token is -sign(Z) |Z|^(1/degree), with Z
    the sum of the row without that token. Near there the output of the row is arbitrarily long: if
    the move is shorter than sqrt(d), S(X) is infinite.

    Args:
        degree: of the power, odd.
        X, token, seed: as in :func:`word_sensitivity_with`.

    Raises:
        ValueError: an even degree, whose row sums do not vanish.
    """
    if degree % 2 == 0:
        raise ValueError(
            f"degree = {degree} is not allowed: even powers are positive, and their row sums do "
            "not vanish"
        )
    W = RandomAttentionFeatures.sample(X.shape[1], seed).to(X).W
    others = torch.cat([X[:token], X[token + 1 :]])
    K = others @ W / math.sqrt(X.shape[1])
    Z = (K @ others.T).pow(degree).sum(dim=1)
    missing = -Z.sign() * Z.abs().pow(1 / degree) - K @ X[token]
    moves = K * (missing / K.square().sum(dim=1))[:, None]
    return moves[moves.norm(dim=1).argmin()]


def mean_sensitivity(
    weights: Weights, X: Float[Tensor, "c n d"], starts: Size = 24, steps: Steps = 50
) -> Extended:
    """The mean of S(X) over several contexts, each with its own W (seed 0, 1, ...); infinite for
    odd powers whose row sums may vanish.
    """
    if weights.family == "power" and weights.knob % 2 == 1:
        lengths = [
            float(vanishing_move(int(weights.knob), x, 0, seed).norm()) for seed, x in enumerate(X)
        ]
        if min(lengths) < math.sqrt(X.shape[2]):
            return math.inf
    return sum(
        word_sensitivity_with(weights, x, 0, seed, starts, steps).value for seed, x in enumerate(X)
    ) / len(X)
