"""What else the similarities of positional encodings show of the grid: each position's neighbours,
displacements, and what encodings that ignore the grid would reach.
"""

from typing import Literal

import torch
from attention_theory.device import generator
from attention_theory.patches.similarity import Pairs, adjacency, cosines, locality_of, places
from jaxtyping import Float
from theorybook.validation import Seed, Size
from torch import Tensor

Statistic = Literal["locality", "local_share"]


def _local_share(c: Float[Tensor, "*batch D D"]) -> Float[Tensor, "*batch"]:
    adjacent, apart = adjacency(c.shape[-1])
    near, far = (
        (c * mask).sum(-1) / mask.sum(-1) for mask in (adjacent.to(c.device), apart.to(c.device))
    )
    return (near > far).double().mean(-1)


def local_share(similarity: Float[Tensor, "D D"]) -> float:
    """Fraction of the positions whose encodings are, on average, more similar to the adjacent ones
    than to all others.

    One half on average for encodings that ignore the grid.
    """
    return float(_local_share(cosines(similarity)))


def touching_share(similarity: Float[Tensor, "D D"]) -> float:
    """Fraction of the positions whose most similar other one touches them, corners included."""
    place = places(len(similarity))
    nearest = cosines(similarity).fill_diagonal_(-1).argmax(1).to(place.device)
    return float(((place[nearest] - place).abs().amax(1) == 1).double().mean())


def by_displacement(
    similarity: Float[Tensor, "D D"], reach: Size = 4
) -> Float[Tensor, "rows columns"]:
    """Mean cosine of two encodings for each displacement of at most ``reach`` rows and columns
    between their positions.
    """
    place, c, steps = places(len(similarity)), cosines(similarity), range(-reach, reach + 1)
    if reach > int(place.max()):
        raise ValueError(
            f"reach = {reach} is not allowed: the grid has displacements of at most "
            f"{int(place.max())}"
        )
    moved = place - place[:, None]
    cells = [[c[(moved == torch.tensor([y, x])).all(2)].mean() for x in steps] for y in steps]
    return torch.stack([torch.stack(row) for row in cells])


def chance_level(
    similarity: Float[Tensor, "D D"],
    statistic: Statistic = "locality",
    draws: Size = 999,
    seed: Seed = 0,
) -> float:
    """Largest absolute value of ``locality`` or ``local_share`` under random relabellings of the
    positions.

    Encodings that ignore the grid exceed it with probability 1 / (draws + 1).
    """
    measure, source = (
        {"locality": locality_of, "local_share": _local_share}[statistic],
        generator(seed),
    )
    order = torch.stack([torch.randperm(len(similarity), generator=source) for _ in range(draws)])
    relabelled = cosines(similarity)[order[:, :, None], order[:, None, :]]
    return float(measure(relabelled).abs().max())


def far_pairs(p: Pairs) -> tuple[float, float]:
    """Mean cosine over the pairs of positions more than 6.5 apart: those that are both blank, and
    the others.
    """
    far = p.distance > 6.5
    return float(p.cosine[far & p.blank].mean()), float(p.cosine[far & ~p.blank].mean())
