"""The effect of one changed token on the rows that read it (chapter "Words in a trained model")."""

from jaxtyping import Float
from torch import Tensor


def row_move(
    weights: Float[Tensor, "*rows"],
    new_weights: Float[Tensor, "*rows"],
    value: Float[Tensor, "d"],
    new_value: Float[Tensor, "d"],
    others: Float[Tensor, "*rows d"],
) -> Float[Tensor, "*rows d"]:
    """The move of each row when one key changes: w'(v' - m) - w(v - m), with m the mean value of
    the other keys.

    Args:
        weights: of the key in each row, before.
        new_weights: after.
        value: of the key, before.
        new_value: after.
        others: the mean value of the other keys in each row, unaffected by the change.
    """
    return new_weights[..., None] * (new_value - others) - weights[..., None] * (value - others)
