"""A key that is attended to for nothing: the effects of silencing it and of forbidding it (chapter
"The sink").
"""

from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Bool, Float
from theorybook.validation import Natural
from torch import Tensor

from attention_theory.trained.models import softmax


@dataclass(frozen=True)
class TwoWays:
    """How far a row's output moves when a key's value is set to 0 and when the key is excluded."""

    silenced: Float[Tensor, "*heads queries"]
    forbidden: Float[Tensor, "*heads queries"]


def two_ways(
    weights: Float[Tensor, "*heads queries keys"],
    values: Float[Tensor, "*heads keys d"],
    key: Natural,
) -> TwoWays:
    """How far each row moves, w |v| and w |m - v|, with w the key's weight, v its value and m the
    average of the other values.

    Args:
        weights: rows that sum to 1.
        values: of the keys.
        key: index of the key.

    Raises:
        ValueError: there is no such key, or it has the whole weight of a row, so that nothing is
            left without it.
    """
    if key >= weights.shape[-1]:
        raise ValueError(f"key {key} is not among {weights.shape[-1]}")
    w, v = weights[..., key, None], values[..., None, key, :]
    if bool((w >= 1).any()):
        raise ValueError(
            f"key {key} has the whole weight of a row: without it the row has nothing to read"
        )
    others = (weights @ values - w * v) / (1 - w)
    return TwoWays(w[..., 0] * v.norm(dim=-1), w[..., 0] * (others - v).norm(dim=-1))


def silencing(key: Natural, first_row: Natural = 0) -> Callable[[Tensor, Tensor, int], Tensor]:
    """Softmax whose weights on a key are set to 0 afterwards, from row ``first_row`` on: the key
    keeps its share and contributes nothing.
    """

    def weigh(scores: Tensor, mask: Tensor, layer: int) -> Tensor:
        weights = softmax(scores, mask)
        weights[:, first_row:, key] = 0
        return weights

    return weigh


def forbidding(
    mask: Bool[Tensor, "queries keys"], key: Natural, first_row: Natural = 0
) -> Bool[Tensor, "queries keys"]:
    """The mask with a key excluded from row ``first_row`` on."""
    found = mask.clone()
    found[first_row:, key] = False
    return found
