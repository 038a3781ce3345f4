"""Contexts and what may be moved in them: checks at the boundary (bombari2024, Section 3)."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.device import generator
from attention_theory.domain import Count, Natural, Seed


def weights_generator(seed: Seed) -> torch.Generator:
    """Generator of random weights: another stream than that of tokens drawn with the same seed."""
    return generator(2**31 + seed)


def starts_generator(seed: Seed) -> torch.Generator:
    """Generator of the random starts of an ascent: another stream than those of tokens and weights."""
    return generator(2**30 + seed)


def check_context(X: Float[Tensor, "n d"], n: Count | None = None, d: Count | None = None) -> None:
    """A token matrix of the size that a feature map takes, with finite entries.

    Raises:
        ValueError: not a matrix, of another size, or with entries that are not finite.
    """
    if X.ndim != 2 or (n is not None and X.shape[0] != n) or (d is not None and X.shape[1] != d):
        wanted = f"({'n' if n is None else n}, {'d' if d is None else d})"
        raise ValueError(f"a context is a matrix of tokens {wanted}, got shape {tuple(X.shape)}")


def check_token(token: Natural, n: Count) -> None:
    """The index of a token of a context.

    Raises:
        ValueError: it is not one of 0, ..., n - 1.
    """
    if not 0 <= token < n:
        raise ValueError(f"token {token} is not in the context, whose tokens are 0 to {n - 1}")


def check_deltas(deltas: Float[Tensor, "batch d"], d: Count) -> None:
    """Moves of a token: rows of length at most sqrt(d), up to rounding.

    Raises:
        ValueError: not rows of d numbers, not finite, or too long for definition (3.4).
    """
    norms = torch.linalg.vector_norm(deltas.detach(), dim=1)
    longest = float(norms.max()) if len(norms) else 0.0
    if longest > math.sqrt(d) * (1 + max(1e-9, 16 * torch.finfo(norms.dtype).eps)):
        raise ValueError(f"a move has length {longest:.6g}, and (3.4) allows at most sqrt(d) = {math.sqrt(d):.6g}")


def check_norm(norm: Float[Tensor, ""]) -> None:
    """The length of the features, by which a change is divided.

    Raises:
        ValueError: it is 0.
    """
    if not float(norm) > 0:
        raise ValueError("the features vanish at X, so their relative change is not defined")
