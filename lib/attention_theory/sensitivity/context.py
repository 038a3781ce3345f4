"""Contexts, the moves allowed in them, and feature maps of contexts (bombari2024, Section 3)."""

import math
from typing import Any

import torch
from jaxtyping import Float
from theorybook.validation import Count, Natural, Seed
from torch import Tensor

from attention_theory.device import generator


def weights_generator(seed: Seed) -> torch.Generator:
    """Generator of random weights, with a stream different from that of tokens drawn with the same
    seed.
    """
    return generator(2**31 + seed)


def starts_generator(seed: Seed) -> torch.Generator:
    """Generator of the random starts of an ascent, with a stream different from those of tokens and
    weights.
    """
    return generator(2**30 + seed)


def check_token(token: Natural, n: Count) -> None:
    """Check the index of a token in a context.

    Raises:
        ValueError: it is not one of 0, ..., n - 1.
    """
    if not 0 <= token < n:
        raise ValueError(f"token {token} is not in the context, whose tokens are 0 to {n - 1}")


def check_norm(norm: Float[Tensor, ""]) -> None:
    """Check the norm of the features, by which a change is divided.

    Raises:
        ValueError: it is 0.
    """
    if not float(norm) > 0:
        raise ValueError("the features vanish at X, so their relative change is not defined")


class FeatureMap:
    """A map from contexts to features; :meth:`one_token` gives it as a function of the move of one
    token.
    """

    def one_token(self, X: Float[Tensor, "n d"], token: Natural) -> Any:
        """The map at X as a function of the move of this token."""
        raise NotImplementedError

    def perturbed(
        self, X: Float[Tensor, "n d"], token: Natural, deltas: Float[Tensor, "batch d"]
    ) -> Float[Tensor, "batch *features"]:
        """phi(X^i(delta)): the features of X with row ``token`` moved by each delta, through
        :meth:`one_token`.

        Args:
            X: context (n, d), tokens of norm sqrt(d).
            token: the row that moves.
            deltas: moves (batch, d), each of length at most sqrt(d).

        Raises:
            ValueError: as in :meth:`one_token`; a move is too long.
        """
        view, radius = self.one_token(X, token), math.sqrt(X.shape[1])
        longest = float(torch.linalg.vector_norm(deltas.detach(), dim=1).max())
        if longest > radius * (1 + max(1e-9, 16 * torch.finfo(deltas.dtype).eps)):
            raise ValueError(
                f"a move has length {longest:.6g}, and (3.4) allows at most sqrt(d) = {radius:.6g}"
            )
        return view.features(deltas)
