"""Similarities of learned positional encodings, compared with the grid of positions and with the
pixels.

Positions lie on a square grid in reading order. A similarity is a Gram matrix of encodings, P P^T.
"""

from typing import Any, NamedTuple, cast

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, UInt8
from theorybook.validation import Count, Size, to_numpy
from torch import Tensor

from attention_theory.patches.images import patches_of


def places(D: Count) -> Int[Tensor, "D 2"]:
    """Row and column of each of D positions.

    Raises:
        ValueError: D is not a square number.
    """
    side = round(D**0.5)
    if side * side != D:
        raise ValueError(f"D = {D} positions do not form a square grid")
    return torch.cartesian_prod(torch.arange(side), torch.arange(side)).reshape(D, 2)


def adjacency(D: Count) -> tuple[Bool[Tensor, "D D"], Bool[Tensor, "D D"]]:
    """Masks of the pairs of D positions, on a square grid in reading order, that share an edge, and
    of the other pairs.
    """
    place = places(D)
    steps = (place[:, None] - place).abs().sum(2)
    return steps == 1, steps > 1


def cosines(similarity: Float[Tensor, "D D"]) -> Float[Tensor, "D D"]:
    """Inner products of centred positional encodings, divided by their norms."""
    D = len(similarity)
    centre = torch.eye(D).to(similarity) - 1 / D
    gram = centre @ similarity @ centre
    norms = gram.diagonal().sqrt()
    return gram / torch.outer(norms, norms)


def locality_of(c: Float[Tensor, "*batch D D"]) -> Float[Tensor, "*batch"]:
    """:func:`locality` of each matrix of cosines in a batch."""
    adjacent, apart = adjacency(c.shape[-1])
    return c[..., adjacent].mean(-1) - c[..., apart].mean(-1)


def locality(similarity: Float[Tensor, "D D"]) -> float:
    """Mean cosine of encodings of adjacent positions (an edge in common) minus the mean of all
    other pairs.

    Zero on average for encodings that ignore the grid.
    """
    return float(locality_of(cosines(similarity)))


class Pairs(NamedTuple):
    """All pairs of positions i < j: similarity, distance, correlation of the pixels over images,
    and whether both are blank.

    Attributes:
        cosine: of the two encodings.
        distance: in steps of the grid, Euclidean.
        likeness: correlation of the two pixels over the images; 0 where a pixel is constant.
        blank: whether both pixels are inked in under 2% of the images.
    """

    cosine: np.ndarray
    distance: np.ndarray
    likeness: np.ndarray
    blank: np.ndarray


def pairs(similarity: Float[Tensor, "D D"], images: UInt8[Tensor, "N 1 side side"]) -> Pairs:
    """The pairs of pixels of ``images`` with the similarities of their encodings (patches of one
    pixel).
    """
    rare = (images.flatten(1) > 0).double().mean(0) < 0.02
    return pairs_alike(cosines(similarity.detach()), likeness(images, 1), rare.cpu())


def pairs_alike(
    cosine: Float[Tensor, "D D"],
    likeness: Float[Tensor, "D D"],
    blank: Bool[Tensor, "D"] | None = None,
) -> Pairs:
    """The pairs of positions with these cosines and likenesses; no pair is blank unless ``blank``
    names the blank positions.
    """
    i, j = np.triu_indices(len(cosine), 1)
    place = places(len(cosine)).double()
    apart = torch.cdist(place, place).numpy()
    rare = np.zeros(len(cosine), bool) if blank is None else to_numpy(blank)
    return Pairs(to_numpy(cosine)[i, j], apart[i, j], to_numpy(likeness)[i, j], rare[i] & rare[j])


def likeness(images: UInt8[Tensor, "N channels side side"], patch: Size) -> Float[Tensor, "D D"]:
    """Correlation of the mean brightness of two patches over the images; 0 where a patch is
    constant.
    """
    brightness = patches_of(images.double(), patch).mean(2)
    return torch.corrcoef(brightness.T).nan_to_num()


class Likeness(NamedTuple):
    """How closely the similarities of one run follow the grid and the pixels.

    Attributes:
        nearness: rank correlation with minus the distance.
        likeness: rank correlation with the correlation of the pixels.
        locality: mean cosine of adjacent pairs minus that of the others.
        at_equal_likeness: the same inside bins of likeness of width 0.1, weighted by adjacent
            pairs.
    """

    nearness: float
    likeness: float
    locality: float
    at_equal_likeness: float


def what_is_followed(p: Pairs) -> Likeness:
    """The measures of :class:`Likeness`."""
    from scipy import stats

    adjacent, bins = p.distance == 1, np.digitize(p.likeness, np.linspace(-0.4, 1, 15))
    counts, gaps = [], []
    for b in np.unique(bins):
        inside, outside = adjacent & (bins == b), ~adjacent & (bins == b)
        if min(inside.sum(), outside.sum()) >= 3:
            counts.append(inside.sum())
            gaps.append(p.cosine[inside].mean() - p.cosine[outside].mean())
    return Likeness(
        cast(Any, stats.spearmanr(p.cosine, -p.distance)).statistic,
        cast(Any, stats.spearmanr(p.cosine, p.likeness)).statistic,
        p.cosine[adjacent].mean() - p.cosine[~adjacent].mean(),
        np.average(gaps, weights=counts),
    )
