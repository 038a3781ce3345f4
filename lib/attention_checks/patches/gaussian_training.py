"""Training on Gaussian patches labelled by a convolution (jelassi2022, Figure 2), with three ways
to parametrise the scores.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from attention_theory.device import generator, normal
from attention_theory.patches.gaussian import convolution_label
from attention_theory.patches.vit import PositionalViT, association
from jaxtyping import Float
from theorybook.validation import Count, NonNegative, Seed, Size, Steps
from torch import Tensor

Kind = Literal["A", "fixed", "P", "PQK"]


@dataclass(frozen=True, eq=False)
class GaussianRun:
    """The course of one training run; ``gram`` is P^T P in the paper's notation, or A itself where
    A is trained.
    """

    steps: list[int]
    error: list[float]
    association_A: list[float]
    association_gram: list[float]
    A: Float[Tensor, "D D"]
    gram: Float[Tensor, "D D"]
    v: Float[Tensor, "d"]


def train_gaussian(
    kind: Kind,
    seed: Seed,
    D: Count = 16,
    C: Count = 4,
    d: Count = 4,
    N: Count = 4000,
    steps: Steps = 300,
    rate: NonNegative = 0.05,
    every: Size = 50,
    tests: Size = 4000,
) -> GaussianRun:
    """Train a one-layer positional transformer on Gaussian patches with Adam, p = 3, nu = 1e-3,
    undivided scores.

    Args:
        kind: ``A`` trains the scores themselves, ``fixed`` those off the diagonal, which stays 1
            (Simplification 3.1), ``P`` trains A = P^T P, ``PQK`` trains A = P^T W_Q W_K^T P with
            its factors.
        seed: of the data and the start.
        D, C, d: patches, size of a group, dimension of a patch; the encodings have dimension D.
        N, tests: training and test points.
        steps, rate, every: of Adam; record each so many steps.

    Raises:
        ValueError: C does not divide D.
    """
    source = generator(seed)
    X = normal(N + tests, D, d, generator=source)
    y = convolution_label(X, C)
    v = 0.1 * normal(d, generator=source)
    of_scores, diagonal = kind in ("A", "fixed"), torch.eye(D, dtype=torch.bool)
    parts = [
        (0.1 if of_scores else D**-0.5) * normal(D, D, generator=source)
        for _ in range(3 if kind == "PQK" else 1)
    ]
    trained = [v, *parts]
    for tensor in trained:
        tensor.requires_grad_()

    def gram():
        if kind == "fixed":
            return parts[0].masked_fill(diagonal, 1.0)
        return parts[0] if kind == "A" else parts[0] @ parts[0].T

    def scores():
        return (parts[0] @ parts[1]) @ (parts[0] @ parts[2]).T if kind == "PQK" else gram()

    groups = torch.arange(D) // C
    optimizer = torch.optim.Adam(trained, lr=rate)
    rows = []
    for step in range(steps + 1):
        if step % every == 0 or step == steps:
            with torch.no_grad():
                wrong = y[N:] * PositionalViT(scores(), v, temperature=1.0)(X[N:]) <= 0
                rows.append(
                    (
                        step,
                        float(wrong.double().mean()),
                        association(scores(), groups),
                        association(gram(), groups),
                    )
                )
        if step < steps:
            loss = PositionalViT(scores(), v, temperature=1.0).loss(X[:N], y[:N])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    steps_at, error, by_scores, by_gram = map(list, zip(*rows))
    return GaussianRun(
        steps_at, error, by_scores, by_gram, scores().detach(), gram().detach(), v.detach()
    )
