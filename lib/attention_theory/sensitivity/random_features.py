"""Random features, shallow and deep, and their dependence on one token (bombari2024, Section 4)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from jaxtyping import Float
from theorybook.devices import Where
from theorybook.validation import Count, Natural, Seed, Size
from torch import Tensor

from attention_theory.device import gradients, normal
from attention_theory.sensitivity.context import (
    FeatureMap,
    check_token,
    starts_generator,
    weights_generator,
)
from attention_theory.tokens import require_on_sphere

Activation = Literal["relu", "tanh", "identity"]
#: All of them have Lipschitz constant 1.
ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "identity": lambda x: x,
}


@dataclass(frozen=True, eq=False)
class RandomFeatures(FeatureMap):
    """phi(X) = activation(V flat X), with independent entries N(0, 1/(nd)) of V.

    bombari2024, (3.1).

    >>> from attention_theory.sensitivity import RandomFeatures
    >>> from attention_theory.tokens import contexts
    >>> X = contexts("iid", 1, 5, 8, seed=0)[0]
    >>> map = RandomFeatures.sample(5, 8, k=16, seed=0)
    >>> map(X).shape, map(X).min().item() >= 0
    (torch.Size([16]), True)
    """

    V: Float[Tensor, "k D"]
    n: Count
    activation: Activation = "relu"

    @classmethod
    def sample(
        cls, n: Count, d: Count, k: Count, seed: Seed, activation: Activation = "relu"
    ) -> "RandomFeatures":
        """Draw V of size k x nd.

        Args:
            n: number of tokens.
            d: token dimension.
            k: number of features.
            seed: of the CPU generator.
            activation: one of ``relu``, ``tanh``, ``identity``.
        """
        return cls(
            normal(k, n * d, generator=weights_generator(seed)) / math.sqrt(n * d), n, activation
        )

    def to(self, where: Where) -> "RandomFeatures":
        """The same map on another device or in another precision."""
        return type(self)(self.V.to(where), self.n, self.activation)

    @property
    def d(self) -> int:
        return self.V.shape[1] // self.n

    def block(self, token: Natural) -> Float[Tensor, "k d"]:
        """V_i: the columns of V that act on this token."""
        return self.V[:, token * self.d : (token + 1) * self.d]

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "k"]:
        """phi(X), as the definition reads.

        Raises:
            ValueError: X is not an (n, d) matrix.
        """
        return ACTIVATIONS[self.activation](self.preactivations(X))

    def preactivations(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "k"]:
        """V flat X.

        Raises:
            ValueError: X is not an (n, d) matrix.
        """
        if X.shape != (self.n, self.d):
            raise ValueError(
                f"a context is a matrix of tokens ({self.n}, {self.d}), got shape {tuple(X.shape)}"
            )
        return self.V @ X.reshape(-1)

    def one_token(self, X: Float[Tensor, "n d"], token: Natural) -> "OneTokenFeatures":
        """The map as a function of one token: V flat(X) = rest + V_i x_i, and only V_i sees the
        move.

        Raises:
            ValueError: X is not an (n, d) matrix of tokens of norm sqrt(d), or has no such token.
        """
        require_on_sphere(X)
        check_token(token, self.n)
        block = self.block(token)
        return OneTokenFeatures(
            self.preactivations(X) - block @ X[token], block, X[token], self.activation
        )


class OneTokenFeatures:
    """Random features as a function of the move delta of one token: activation(rest + V_i (x_i +
    delta)).

    Deep features pass through further ``layers``, each a linear map followed by the activation.

    >>> from attention_theory.sensitivity import RandomFeatures
    >>> from attention_theory.tokens import contexts
    >>> X = contexts("iid", 1, 5, 8, seed=0)[0]
    >>> one = RandomFeatures.sample(5, 8, k=200, seed=0).one_token(X, token=0)
    >>> one.change(-X[:1]).sqrt().item() <= one.certificate()
    True
    """

    x: Float[Tensor, "d"]

    def __init__(
        self,
        rest: Float[Tensor, "k"],
        block: Float[Tensor, "k d"],
        x: Float[Tensor, "d"],
        activation: Activation,
        layers: Sequence[Callable[[Tensor], Tensor]] = (),
    ):
        self.rest, self.block, self.x, self.layers = rest, block, x, layers
        self.activation = ACTIVATIONS[activation]

    @cached_property
    def unmoved(self) -> Float[Tensor, "k"]:
        """phi(X), the features of the context itself."""
        return self.features(torch.zeros_like(self.x)[None])[0]

    @cached_property
    def norm(self) -> Float[Tensor, ""]:
        """|phi(X)|."""
        return torch.linalg.vector_norm(self.unmoved)

    def features(self, deltas: Float[Tensor, "batch d"]) -> Float[Tensor, "batch k"]:
        """phi(X^i(delta)), the features with the token moved by each delta."""
        features = self.activation(self.rest + (self.x + deltas) @ self.block.T)
        for layer in self.layers:
            features = self.activation(layer(features))
        return features

    def readout(
        self, deltas: Float[Tensor, "batch d"], directions: Float[Tensor, "m k"]
    ) -> Float[Tensor, "batch m"]:
        """Inner products of phi(X^i(delta)) with each direction."""
        return self.features(deltas) @ directions.T

    def change(self, deltas: Float[Tensor, "batch d"]) -> Float[Tensor, "batch"]:
        """|phi(X^i(delta)) - phi(X)|^2."""
        return (self.unmoved - self.features(deltas)).square().sum(dim=1)

    def certificate(self) -> float:
        """sigma_max(V_i) sqrt(d): no move of length at most sqrt(d) changes the features by more
        than this.

        All activations here have Lipschitz constant 1.

        Raises:
            ValueError: deep features, whose later layers may amplify the change.
        """
        if self.layers:
            raise ValueError("the certificate is for features of one layer")
        gram = (
            self.block.T @ self.block
            if len(self.block) > len(self.x)
            else self.block @ self.block.T
        )
        return float(torch.linalg.eigvalsh(gram)[-1].clamp(min=0).sqrt()) * math.sqrt(len(self.x))

    def starts(self) -> Float[Tensor, "starts d"]:
        """Constructive moves to start an ascent from: the direction of largest change in the first
        layer, and its opposite.
        """
        top = self.steepest()
        return torch.stack([top, -top])

    def steepest(self, width: Size = 8, rounds: Size = 6) -> Float[Tensor, "d"]:
        """The unit direction along which the first layer changes fastest at X, by block power
        iteration.
        """
        with gradients():
            pre = (self.rest + self.block @ self.x).detach().requires_grad_(True)
            (slope,) = torch.autograd.grad(self.activation(pre).sum(), pre)
        guess = normal(width, len(self.x), generator=starts_generator(0)).to(self.x)
        for _ in range(rounds):
            basis = torch.linalg.qr(guess.T).Q
            images = slope[:, None] * (self.block @ basis)
            guess = (images * slope[:, None]).T @ self.block
        return basis @ torch.linalg.eigh(images.T @ images).eigenvectors[:, -1]


def one_token_in_law(
    contexts: Float[Tensor, "N n d"],
    token: Natural,
    k: Count,
    seed: Seed,
    activation: Activation = "relu",
) -> list[OneTokenFeatures]:
    """Random features of N contexts as functions of one token, equal in law to a drawn V, from only
    k (N + d) random numbers.

    V_i (k x d) is drawn. The contribution of the other tokens to the pre-activations is Gaussian,
    independent of V_i and independent from row to row; its covariance is the Gram matrix of the
    contexts without token i, divided by nd. For one context that is N(0, (n-1)/n) (Assumption 1).

    Args:
        contexts: (N, n, d), tokens of norm sqrt(d).
        token: the row that moves, the same in all contexts.
        k: number of features.
        seed: of the CPU generator.
        activation: one of ``relu``, ``tanh``, ``identity``.

    Raises:
        ValueError: tokens off the sphere, or no such token.

    >>> from attention_theory.sensitivity import one_token_in_law
    >>> from attention_theory.tokens import contexts
    >>> two = contexts("iid", 2, 100, 64, seed=0)
    >>> first, second = one_token_in_law(two, token=0, k=10_000, seed=0)
    >>> first.features(-first.x[None]).shape  # without the 10,000 x 6,400 matrix
    torch.Size([1, 10000])
    """
    N, n, d = contexts.shape
    require_on_sphere(contexts)
    check_token(token, n)
    others = torch.cat([contexts[:, :token], contexts[:, token + 1 :]], dim=1).reshape(N, -1)
    gram = others @ others.T / (n * d)
    # a symmetric root: it exists for repeated contexts too, where Cholesky's factorisation fails
    values, vectors = torch.linalg.eigh(gram)
    root = vectors * values.clamp(min=0).sqrt() @ vectors.T
    draw = weights_generator(seed)
    block = (normal(k, d, generator=draw) / math.sqrt(n * d)).to(contexts)
    rest = normal(k, N, generator=draw).to(contexts) @ root
    return [OneTokenFeatures(rest[:, a], block, contexts[a, token], activation) for a in range(N)]


# Deep random features
# ------------------------------------------------------------------------------------------------


def he_variance(activation: Activation = "relu") -> float:
    """The variance beta with E activation(g)^2 = 1 for g ~ N(0, beta): 2 for ReLU.

    Raises:
        ValueError: no beta exists, as for tanh, whose square stays below 1.

    bombari2024, (4.3).

    >>> from attention_theory.sensitivity import he_variance
    >>> round(he_variance("relu"), 6)
    2.0
    """
    if activation == "tanh":
        raise ValueError(
            "no beta gives E tanh(g)^2 = 1: tanh stays below 1, and (4.3) has no solution"
        )
    return {"relu": 2.0, "identity": 1.0}[activation]


@dataclass(frozen=True, eq=False)
class DeepRandomFeatures(FeatureMap):
    """L layers of activation(V_l .), with entries N(0, beta/(nd)) of V_1 (k x nd) and N(0, beta/k)
    of the later V_l (k x k).

    bombari2024, (4.2), (4.3).

    >>> from attention_theory.sensitivity import DeepRandomFeatures
    >>> from attention_theory.tokens import contexts
    >>> X = contexts("iid", 1, 5, 8, seed=0)[0]
    >>> map = DeepRandomFeatures.sample(5, 8, k=16, depth=3, seed=0)
    >>> map(X).shape, len(map.layers(X))
    (torch.Size([16]), 3)
    """

    V: tuple[Float[Tensor, "k _"], ...]
    n: Count
    activation: Activation = "relu"

    @classmethod
    def sample(
        cls, n: Count, d: Count, k: Count, depth: Size, seed: Seed, activation: Activation = "relu"
    ) -> "DeepRandomFeatures":
        """Draw the matrices of all layers.

        Args:
            n: number of tokens.
            d: token dimension.
            k: number of features in every layer.
            depth: number of layers L.
            seed: of the CPU generator.
            activation: ``relu`` or ``identity``.

        Raises:
            ValueError: an activation for which no beta exists.
        """
        beta, draw = he_variance(activation), weights_generator(seed)
        widths = [n * d] + [k] * (depth - 1)
        return cls(
            tuple(normal(k, w, generator=draw) * math.sqrt(beta / w) for w in widths), n, activation
        )

    def to(self, where: Where) -> "DeepRandomFeatures":
        """The same map on another device or in another precision."""
        return type(self)(tuple(V.to(where) for V in self.V), self.n, self.activation)

    @property
    def first(self) -> RandomFeatures:
        """The first layer, a shallow map."""
        return RandomFeatures(self.V[0], self.n, self.activation)

    def layers(self, X: Float[Tensor, "n d"]) -> list[Float[Tensor, "k"]]:
        """The features of every layer, from the first to the last."""
        features = [self.first(X)]
        for V in self.V[1:]:
            features.append(ACTIVATIONS[self.activation](V @ features[-1]))
        return features

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "k"]:
        """phi(X), as the definition reads.

        Raises:
            ValueError: X is not an (n, d) matrix.
        """
        return self.layers(X)[-1]

    def one_token(self, X: Float[Tensor, "n d"], token: Natural) -> OneTokenFeatures:
        """The map as a function of one token: only the block V_i of the first layer sees the move.

        Raises:
            ValueError: X is not an (n, d) matrix of tokens of norm sqrt(d), or has no such token.
        """
        first = self.first.one_token(X, token)
        later = [lambda h, V=V: h @ V.T for V in self.V[1:]]
        return OneTokenFeatures(first.rest, first.block, first.x, self.activation, later)
