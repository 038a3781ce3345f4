"""Gaussian matrices too large to store, drawn only in the directions that are queried (deferred
decisions).
"""

import math

import torch
from jaxtyping import Float
from theorybook.validation import NonNegative, Size
from torch import Tensor

from attention_theory.device import normal


class DeferredGaussian:
    """A matrix A with independent entries N(0, deviation^2), known only through the products
    computed so far.

    Write L for the span of the left queries so far and R for that of the right ones. L A and A R
    are known, and the rest, (1 - P_L) A (1 - P_R), is independent of them and still Gaussian. So
    for a new unit vector u orthogonal to R, A u is P_L A u plus fresh Gaussian noise orthogonal to
    L. The answers are equal in law to those of a matrix drawn beforehand, even when a query depends
    on earlier answers. q queries cost O(q (rows + columns)) numbers.

    All queries and answers have the same precision: directions that are orthogonal in float32 are
    not orthogonal in float64.

    >>> import torch
    >>> from attention_theory.device import generator
    >>> from attention_theory.sensitivity import DeferredGaussian
    >>> A = DeferredGaussian(10**5, 10**5, deviation=1e-5**0.5, generator=generator(0))
    >>> x = torch.ones(1, 10**5).double()
    >>> round((A.times(x).norm() / x.norm()).item(), 1)  # of a matrix with 10^10 entries
    1.0
    """

    def __init__(
        self, rows: Size, columns: Size, deviation: NonNegative, generator: torch.Generator
    ):
        self.rows, self.columns, self.deviation, self.generator = (
            rows,
            columns,
            deviation,
            generator,
        )
        self.right, self.right_image, self.left, self.left_image = (
            torch.zeros(0, size, dtype=torch.float64) for size in (columns, rows, rows, columns)
        )

    def times(self, vectors: Float[Tensor, "batch columns"]) -> Float[Tensor, "batch rows"]:
        """A v for each row v."""
        self._take(vectors, self.columns)
        new = self._new_directions(vectors, self.right)
        self.right_image = torch.cat(
            [self.right_image, self._images(new, self.left, self.left_image).to(new)]
        )
        self.right = torch.cat([self.right, new])
        return (vectors @ self.right.T) @ self.right_image

    def transpose_times(
        self, vectors: Float[Tensor, "batch rows"]
    ) -> Float[Tensor, "batch columns"]:
        """A^T v for each row v."""
        self._take(vectors, self.rows)
        new = self._new_directions(vectors, self.left)
        self.left_image = torch.cat(
            [self.left_image, self._images(new, self.right, self.right_image).to(new)]
        )
        self.left = torch.cat([self.left, new])
        return (vectors @ self.left.T) @ self.left_image

    def _take(self, vectors: Tensor, size: int) -> None:
        """Check a query, and move the stored images to its device."""
        if vectors.shape[1] != size:
            raise ValueError(
                f"vectors of {vectors.shape[1]} entries; this side of the matrix takes {size}"
            )
        if len(self.right) + len(self.left) and self.right.dtype != vectors.dtype:
            known, given = (
                str(dtype).removeprefix("torch.") for dtype in (self.right.dtype, vectors.dtype)
            )
            raise ValueError(
                f"vectors in {given}; this matrix has been queried in {known}, which it keeps"
            )
        for name in ("right", "right_image", "left", "left_image"):
            setattr(self, name, getattr(self, name).to(vectors))

    @staticmethod
    def _new_directions(vectors: Tensor, basis: Tensor) -> Tensor:
        """Orthonormal rows that extend the basis to the span of the vectors."""
        added = basis[:0]
        for vector in vectors:
            # scaled by a power of two, exactly: squares of small numbers underflow in float32
            exponent = math.frexp(max(float(vector.abs().max()), torch.finfo(vector.dtype).tiny))[1]
            rest = vector * 2.0**-exponent
            size = float(rest.norm())
            for known in (basis, added) * 2:  # twice is enough for orthogonality to rounding
                rest = rest - (rest @ known.T) @ known
            if float(rest.norm()) > 1e4 * torch.finfo(rest.dtype).eps * size:
                added = torch.cat([added, rest[None] / rest.norm()])
        return added

    def _images(self, new: Tensor, other: Tensor, other_image: Tensor) -> Tensor:
        """Images of new directions: the part that queries from the other side determine, plus fresh
        noise orthogonal to them.
        """
        noise = self.deviation * normal(len(new), other.shape[1], generator=self.generator).to(new)
        return (new @ other_image.T) @ other + noise - (noise @ other.T) @ other


class Apply(torch.autograd.Function):
    """``matrix.times`` with a gradient, so that an ascent can differentiate through a deferred
    matrix.
    """

    @staticmethod
    def forward(context, vectors, matrix):
        context.matrix = matrix
        return matrix.times(vectors)

    @staticmethod
    def backward(context, gradient):
        return context.matrix.transpose_times(gradient), None
