"""How much a layer of attention mixes its tokens, and how positions change that (chapter "Depth and
position").
"""

import math

import torch
from jaxtyping import Float
from theorybook.validation import NonNegative, Positive
from torch import Tensor


def largest_variation(weights: Float[Tensor, "*heads queries keys"]) -> Float[Tensor, "*heads"]:
    """The largest total variation between two rows of weights: a layer keeps at most this fraction
    of the diameter of its values.
    """
    return torch.cdist(weights, weights, p=1).amax((-2, -1)) / 2


def diameter(points: Float[Tensor, "*heads n d"]) -> Float[Tensor, "*heads"]:
    """The largest distance between two of the points."""
    return torch.cdist(points, points).amax((-2, -1))


def range_bound(spread: NonNegative) -> float:
    """The largest total variation between two softmax rows whose score differences lie in a range
    of this length.
    """
    return math.tanh(spread / 4)


def nearest_share(slope: Positive, width: NonNegative = 0.0) -> float:
    """The share that the nearest key keeps at any length, when each step away costs ``slope`` and
    contents differ by at most ``width``.
    """
    return 1 / (1 + math.exp(width) / math.expm1(slope))


def sloped_scores(
    contents: Float[Tensor, "*rows n"], slope: NonNegative
) -> Float[Tensor, "*rows n"]:
    """Scores under ALiBi: a key's content minus slope times its distance; the nearest key comes
    first, at distance 0.
    """
    return contents - slope * torch.arange(contents.shape[-1]).to(contents)
