"""How many operations a forward pass takes, with vanilla and with positional attention."""

from attention_theory.patches.images import tiles_along
from theorybook.validation import Size


def forward_flops(
    side: Size,
    channels: Size,
    classes: Size,
    patch: Size,
    layers: Size,
    heads: Size,
    dim: Size,
    hidden: Size,
    attention: str = "vanilla",
) -> int:
    """Multiplications and additions of one image's forward pass (matrix products only).

    Raises:
        ValueError: the patch size does not divide the side.
    """
    D = tiles_along(side, patch) ** 2
    scores = 2 * D * dim * dim * 2 + 2 * D * D * dim  # queries, keys, their products
    values = 2 * D * dim * dim * 2 + 2 * D * D * dim  # values, output, weighted sums
    if attention == "positional":
        scores = 0  # once for a whole batch
    return (
        2 * D * channels * patch**2 * dim
        + layers * (scores + values + 4 * D * dim * hidden)
        + 2 * dim * classes
    )
