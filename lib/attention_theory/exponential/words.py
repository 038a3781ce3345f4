"""Word sensitivity with any weights: one-token update, ascent, certificate, and the two ends of the knob (chapter "Words")."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from scipy.optimize import brentq, minimize_scalar
from torch import Tensor

from ..attention import Weights
from ..device import normal
from ..sensitivity.any_weights import OneToken
from ..sensitivity.context import weights_generator
from ..sensitivity.word import climb

#: The grid of added scores of the certificate.
CELLS, LAST_SCORE = 1000, 40.0


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
        weights: as in :class:`OneToken`. The hard maximum has no slope: its starts are compared, not climbed.
        X: (n, d) tokens of norm sqrt(d).
        token: the row that moves.
        seed: of W, the same as in ``RandomAttentionFeatures.sample``; and of the random starts.
        starts, steps: of the ascent.
        certificate: also compute :func:`sensitivity_bound`.

    Raises:
        ValueError: as :class:`OneToken`.
    """
    d = X.shape[1]
    W = (normal(d, d, generator=weights_generator(seed)) / math.sqrt(d)).to(X)
    moved = OneToken(weights, W, X, token)
    found = climb(moved, starts, steps, seed)  # type: ignore[arg-type]
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


def crude_bound(moved: OneToken) -> float:
    """3 sqrt(n d) / |phi(X)|, for any weights >= 0: a row is an average of tokens before and after the move.

    Row j != i changes by p delta + (p - a)(x - M_j): by at most sqrt(d) + 2 sqrt(d). The moved row is of length at most sqrt(d)
    before and 2 sqrt(d) after. For the hard maximum |phi(X)| = sqrt(n d), so that S <= 3.
    """
    n, d = len(moved.others) + 1, len(moved.x)
    return 3 * math.sqrt(n * d) / float(moved.norm)


def sensitivity_bound(moved: OneToken) -> float:
    """No move of length at most sqrt(d) changes the features by more than this: the certificate of Part I for any u.

    The argument is that of ``sensitivity.upper_bound.sensitivity_bound``. It needs u to be monotone on each cell of a grid
    of scores; where u falls and then grows (even degrees), the least weight is looked at in every cell too.
    """
    family, d = moved.weights, len(moved.x)
    radius = math.sqrt(d)
    gap = (moved.x - moved.M).norm(dim=1)
    budget = float(torch.linalg.matrix_norm(moved.K, ord=2)) ** 2 * d
    edges = torch.linspace(-LAST_SCORE, LAST_SCORE, CELLS + 1, dtype=moved.x.dtype).to(moved.x)
    p = moved.weight_at(moved.scores + edges[:, None])
    flat = family.family == "sharp" and family.knob == 0  # averaging: the weight is 1/n at any score
    even = family.family in ("truncated", "power")
    first = p[:1] if flat else torch.full_like(p[:1], float(even))
    last = p[:1] if flat else torch.ones_like(p[:1])
    p = torch.cat([first, p, last])  # scores of minus and plus infinity

    def h(p: Tensor) -> Tensor:
        return (p * radius + (p - moved.unmoved_weight).abs() * gap).square()

    cell_h = torch.maximum(h(p[:-1]), h(p[1:]))
    if even:
        cell_h = torch.maximum(cell_h, h(moved.weight_at(torch.full_like(moved.scores, lowest_score(family)))))
    nearest = torch.minimum(edges[:-1].square(), edges[1:].square())
    nearest = torch.cat([edges[:1].square(), nearest, edges[-1:].square()])

    def bound(log_multiplier: float) -> float:
        multiplier = math.exp(log_multiplier)
        return multiplier * budget + float((cell_h - multiplier * nearest[:, None]).amax(dim=0).sum())

    scale = math.log(d)
    rows = float(minimize_scalar(bound, bounds=(scale - 12, scale + 6), method="bounded").fun)  # type: ignore[attr-defined]
    own = moved.unmoved_own
    distances = [(moved.others - own).norm(dim=1), (moved.x - own).norm()[None] + radius, own.norm()[None]]
    return math.sqrt(rows + float(torch.cat(distances).max()) ** 2) / float(moved.norm)


def lowest_score(family: Weights) -> float:
    """Where u of an even degree p is least: 0 for a power, the root of T_(p-1) for the truncated exponential."""
    if family.family == "power":
        return 0.0
    degree = int(family.knob)

    def slope(z: float) -> float:
        return sum(z**k / math.factorial(k) for k in range(degree))

    return float(brentq(slope, -float(degree), 0.0))  # type: ignore[arg-type]


def mean_sensitivity(weights: Weights, X: Float[Tensor, "c n d"], starts: int = 4, steps: int = 40) -> float:
    """The mean of S(X) over several contexts, each with its own W (seed 0, 1, ...)."""
    return sum(word_sensitivity(weights, x, 0, seed, starts, steps).value for seed, x in enumerate(X)) / len(X)
