"""One row against its crowd: contrast, share, and their values for independent scores (chapter "The
crowd in real heads").
"""

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from theorybook.validation import Limits, Numbers, Positive, Size
from torch import Tensor


def centred_rows(
    scores: Float[Tensor, "heads queries keys"], mask: Bool[Tensor, "queries keys"]
) -> Float[Tensor, "heads queries keys"]:
    """Scores minus the mean of their row; 0 at keys that the mask excludes."""
    mean = scores.masked_fill(~mask, 0).sum(-1, keepdim=True) / mask.sum(-1)[:, None]
    return (scores - mean).masked_fill(~mask, 0)


@dataclass(frozen=True)
class ExpectedRow:
    """For n independent weights over their sum: the mean of the largest share, and of the sum of
    squared shares.
    """

    best: float
    squares: float


@functools.cache
def _legendre(points: int) -> tuple[NDArray, NDArray]:
    return np.polynomial.legendre.leggauss(points)


def expected_row(
    u: Numbers, chances: Numbers, n: Annotated[int, Limits(2)], points: Size = 400
) -> ExpectedRow:
    r"""The two means for n independent values of u, exact for a law with finitely many values.

    .. math::

       E\,\frac{\max_i u_i}{\sum_i u_i} = \sum_k v_k \int_0^\infty \varphi_k^n -
       \varphi_{k-1}^n\,dt, \quad \varphi_k(t) = E\,[e^{-tu}; u \le v_k]

    .. math::

       E \sum_i \Big(\frac{u_i}{\sum_j u_j}\Big)^2 = n \int_0^\infty t\, E[u^2 e^{-tu}]\,
       (E\, e^{-tu})^{n-1}\, dt

    Args:
        u: the values, all positive.
        chances: of each value; they are divided by their sum.
        n: how many are drawn.
        points: of the quadrature in log t.

    Raises:
        ValueError: a value that is not positive, or different numbers of values and chances.
    """
    v, p = (np.asarray(x, dtype=float).ravel() for x in (u, chances))
    if len(v) != len(p) or min(v.min(), p.min()) <= 0:
        raise ValueError(
            f"needs as many positive chances as positive values, got {len(p)} and {len(v)}"
        )
    order = np.argsort(v)
    v, p = v[order] / v.max(), p[order] / p.sum()  # shares do not depend on a common factor
    low, high = (
        math.log(1e-14 / n),
        math.log(800 / (n * v[0])),
    )  # outside these limits the integrands are negligible
    x, weight = _legendre(points)
    t, dt = np.exp((high - low) / 2 * x + (high + low) / 2), (high - low) / 2 * weight
    dt = dt * t  # the quadrature is in log t
    terms = p * np.exp(-t[:, None] * v)
    phi = np.cumsum(terms, 1)
    best = (np.diff(phi**n, axis=1, prepend=0) @ v) @ dt
    squares = n * ((terms @ v**2) * phi[:, -1] ** (n - 1)) @ (t * dt)
    return ExpectedRow(float(best), float(squares))


def enumerated_row(
    u: Sequence[int], chances: Sequence[Fraction], n: Annotated[int, Limits(2, 8)]
) -> tuple[Fraction, Fraction]:
    """The two means of :func:`expected_row` as fractions, by enumerating every row: for a few
    integer values u.
    """
    best, squares = Fraction(0), Fraction(0)
    for row in itertools.product(range(len(u)), repeat=n):
        chance, total = (
            math.prod((chances[i] for i in row), start=Fraction(1)),
            sum(u[i] for i in row),
        )
        best += chance * Fraction(max(u[i] for i in row), total)
        squares += chance * Fraction(sum(u[i] ** 2 for i in row), total**2)
    return best, squares


def gaussian_row(
    spread: Positive, n: Annotated[int, Limits(2)], values: Size = 1024
) -> ExpectedRow:
    """:func:`expected_row` for u = exp(s z), z standard Gaussian, on equally spaced points z from
    -9 to 9.
    """
    z = np.linspace(-9, 9, values)
    return expected_row(np.exp(spread * z), np.exp(-(z**2) / 2), n)
