"""What the change of one token does to the rows that read it, and to all states (chapter "Words in
a trained model").
"""

from jaxtyping import Float
from torch import Tensor


def row_move(
    weights: Float[Tensor, "*rows"],
    new_weights: Float[Tensor, "*rows"],
    value: Float[Tensor, "d"],
    new_value: Float[Tensor, "d"],
    others: Float[Tensor, "*rows d"],
) -> Float[Tensor, "*rows d"]:
    """By how much rows move when one key changes: w'(v' - m) - w(v - m), m what the other keys
    give.

    Args:
        weights: of the key in each row, before.
        new_weights: after.
        value: of the key, before.
        new_value: after.
        others: the mean value of the other keys in each row, which the change leaves.
    """
    return new_weights[..., None] * (new_value - others) - weights[..., None] * (value - others)
