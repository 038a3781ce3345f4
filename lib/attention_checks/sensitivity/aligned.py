"""The vectors whose existence the proof of Theorem 3 shows, constructed (bombari2024, Appendix
D).
"""

import math

import torch
from attention_theory.device import least_squares, normal
from attention_theory.sensitivity.context import starts_generator
from attention_theory.tokens import require_on_sphere
from jaxtyping import Float
from theorybook.validation import Seed
from torch import Tensor

#: The proof's constant: (x_j . delta)^2 >= 0.01 d^2 / n counts as aligned.
ALIGNED = 0.01


def aligned_count(X: Float[Tensor, "n d"], delta: Float[Tensor, "d"]) -> int:
    """How many tokens have (x_j . delta)^2 >= 0.01 d^2 / n.

    >>> import torch
    >>> from attention_checks.sensitivity.aligned import aligned_count
    >>> aligned_count(2 * torch.eye(4).double(), torch.tensor([1.0, 0.0, 0.0, 0.0]).double())
    1
    """
    n, d = X.shape
    return int(((X @ delta).square() >= ALIGNED * d**2 / n).sum())


def aligned_direction(X: Float[Tensor, "n d"], seed: Seed = 0) -> tuple[Float[Tensor, "d"], int]:
    """Lemma D.1: delta with |delta| <= sqrt(d) that is aligned with at least half of the tokens,
    and the draws it took.

    delta = sqrt(d/n) U eps, where U is an orthonormal basis of the span of the tokens and eps is
    uniform on the sphere of radius sqrt(rank). One draw fails with probability below 1, so drawing
    until it works ends.

    Args:
        X: context (n, d), tokens of norm sqrt(d).
        seed: of the draws.

    Raises:
        ValueError: tokens that are not of norm sqrt(d).

    bombari2024, Lemma D.1.

    >>> from attention_checks.sensitivity.aligned import aligned_count, aligned_direction
    >>> from attention_theory.tokens import contexts
    >>> X = contexts("iid", 1, 10, 64, seed=0)[0]
    >>> delta, draws = aligned_direction(X)
    >>> aligned_count(X, delta) >= 5, (delta.norm() <= 8).item()
    (True, True)
    """
    require_on_sphere(X)
    n, d = X.shape
    # X^T eigenvectors / sqrt(eigenvalues) is U; the Gram matrix is small when d is huge
    values, vectors = torch.linalg.eigh(X @ X.T)
    keep = values > 1e4 * torch.finfo(values.dtype).eps * values[-1]
    coefficients = vectors[:, keep] / values[keep].sqrt()
    draw, draws = starts_generator(seed), 0
    while True:
        draws += 1
        eps = normal(int(keep.sum()), generator=draw).to(X)
        eps = eps * (math.sqrt(len(eps)) / torch.linalg.vector_norm(eps))
        delta = math.sqrt(d / n) * (coefficients @ eps) @ X
        if 2 * aligned_count(X, delta) >= n:
            return delta, draws


def two_directions(
    X: Float[Tensor, "n d"], delta: Float[Tensor, "d"], seed: Seed = 0
) -> tuple[Float[Tensor, "d"], Float[Tensor, "d"]]:
    """Lemma D.2: (delta + v)/2 and (delta - v)/2 with v orthogonal to all tokens, |v| = sqrt(d).

    delta is turned to the side on which more tokens are aligned with it.

    Raises:
        ValueError: the tokens span R^d, so that there is no such v.

    bombari2024, Lemma D.2.

    >>> from attention_checks.sensitivity.aligned import aligned_direction, two_directions
    >>> from attention_theory.tokens import contexts
    >>> X = contexts("iid", 1, 10, 64, seed=0)[0]
    >>> first, second = two_directions(X, aligned_direction(X)[0])
    >>> (X @ (first - second)).abs().max().item() < 1e-9
    True
    """
    n, d = X.shape
    positive = int((X @ delta >= math.sqrt(ALIGNED / n) * d).sum())
    if 2 * positive < aligned_count(X, delta):
        delta = -delta
    v = normal(d, generator=starts_generator(seed + 1)).to(X)
    before = float(v.norm())
    for _ in range(2):
        v = v - least_squares(X @ X.T, X @ v) @ X
    if float(v.norm()) < 1e6 * torch.finfo(v.dtype).eps ** 1.2 * before:
        raise ValueError(
            f"the {n} tokens span R^{d}: nothing is orthogonal to all of them (the lemma needs n "
            "< d)"
        )
    v = v * (math.sqrt(d) / v.norm())
    return (delta + v) / 2, (delta - v) / 2
