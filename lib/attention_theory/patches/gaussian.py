"""Gaussian patches labelled by a convolution (jelassi2022, Figure 2)."""

from jaxtyping import Float
from theorybook.validation import Count
from torch import Tensor


def convolution_label(X: Float[Tensor, "N D d"], C: Count) -> Float[Tensor, "N"]:
    """sign(sum over groups of (sum over the group of <w*, X_j>)^3), with w* the first unit vector
    and groups of C consecutive patches.

    Raises:
        ValueError: C does not divide D.
    """
    N, D, _ = X.shape
    if D % C:
        raise ValueError(
            f"D = {D} patches do not fall into groups of C = {C}: C must be a positive divisor of D"
        )
    return (X[..., 0].reshape(N, D // C, C).sum(2) ** 3).sum(1).sign()
