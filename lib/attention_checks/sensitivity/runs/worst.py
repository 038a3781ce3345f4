"""The worst word: how far one moved token takes a trained model on random features (bombari2024,
Section 6.1).
"""

import math
from dataclasses import dataclass

import torch
from attention_theory import tokens
from attention_theory.device import generator, normal, signs
from attention_theory.sensitivity.new_label import Loss, Solutions, best_moves, descend, solutions
from attention_theory.sensitivity.random_features import OneTokenFeatures
from attention_theory.sensitivity.word import OneToken
from jaxtyping import Float
from theorybook.devices import Device
from theorybook.validation import AtLeastOne, Chance, Count, Positive, Seed
from torch import Generator, Tensor

from attention_checks.sensitivity.runs.new_label import Map, mapped


@dataclass(frozen=True)
class Worst:
    """The largest values over the moves that the descent finds, and their bounds."""

    n: Count
    N: Count
    fine: float  #: |alignment - 1|, fine-tuned
    again: float  #: |alignment - 1|, re-trained
    shift: float  #: gamma
    shift_again: float  #: |f(X^i(delta), theta_r) - f(X, theta_r)|
    excess_fine: float  #: error minus (2 - gamma)^2, the lowest over all moves found
    excess_again: float
    residual: float  #: |y - f(X, theta*)|
    S: float  #: certified bound on S_RF
    ratio: Positive  #: |phi(X)| / sqrt(lambda_min)
    smallest: float  #: lambda_min(K_r) / k


def learned(
    contexts: Float[Tensor, "N n d"],
    labels: Float[Tensor, "N"],
    map: Map,
    seed: Seed,
    k: Count | None = None,
) -> tuple[Solutions, OneToken]:
    """Both solutions of a model on random weights, and its feature map as a function of one token.

    Args:
        contexts: all but the last are the training samples, the last is X; its first token moves.
        labels: of the contexts.
        map, seed, k: as in :func:`mapped`.
    """
    features, one = mapped(contexts, map, seed, k)
    return solutions(features[:-1], labels[:-1], features[-1], float(labels[-1])), one


def problem(
    map: Map,
    kind: str,
    n: Count,
    d: Count,
    N: Count,
    trial: Seed,
    k: Count | None = None,
    device: Device = "cpu",
) -> tuple[Solutions, OneToken]:
    """:func:`learned` on N + 1 contexts of this kind with fair signs as labels."""
    contexts = tokens.contexts(kind, N + 1, n, d, seed=trial).to(device)
    labels = signs(N + 1, generator=generator(10_000 + trial)).to(device)
    return learned(contexts, labels, map, trial, k)


def worst_moves(
    kind: str,
    n: Count,
    d: Count,
    N: Count,
    trial: Seed,
    k: Count | None = None,
    device: Device = "cpu",
) -> Worst:
    """Moves of the first token that make each quantity of :class:`Worst` extreme, by descent, in
    one trial.
    """
    model, one = problem("RF", kind, n, d, N, trial, k, device)
    assert isinstance(one, OneTokenFeatures)
    goals = ("fine", "again", "shift", "shift_again")
    which = torch.arange(len(goals)).repeat_interleave(2)[None].to(one.x.device)

    def objective(moves):  # all goals in one descent, each from x and -x
        m = model.measure(one, moves)
        far = [m["alignment-fine"] - 1, m["alignment-again"] - 1, m["shift"], m["shift-again"]]
        return -torch.stack(far).gather(0, which)[0].square()

    moves, lowest = descend(objective, torch.stack([one.x, -one.x]).repeat(len(goals), 1), 30)
    found = {name: math.sqrt(-float(value.min())) for name, value in zip(goals, lowest.split(2))}
    losses: list[tuple[Loss, float]] = [
        ("error-fine", 0.0),
        ("error-again", 0.0),
        ("error-fine", 1.0),
    ]
    measured = model.measure(
        one, torch.cat([moves, best_moves(model, one, losses, starts=2, steps=30)])
    )
    floor = (2 - measured["shift"].abs()).clamp(min=0).square()
    return Worst(
        n,
        N,
        **found,
        excess_fine=float((measured["error-fine"] - floor).min()),
        excess_again=float((measured["error-again"] - floor).min()),
        residual=abs(model.residual),
        S=one.certificate() / float(one.norm),
        ratio=float(one.norm) / math.sqrt(model.smallest),
        smallest=model.smallest / len(one.rest),
    )


def slack_law(n: AtLeastOne, d: AtLeastOne, k: AtLeastOne) -> float:
    """Where the worst |alignment - 1| of fine-tuned ReLU features lies, to first order in the move:
    sqrt(1/n^2 + 2d/(nk)).

    It is sqrt(d) |V_i^T phi| / |phi|^2. V_i^T phi has the mean k x_i / (2nd) and, across x_i,
    Gaussian coordinates of variance k / (2nd).
    """
    return math.sqrt(1 / n**2 + 2 * d / (n * k))


def leaning(share: Chance, N: Count, n: Count, d: Count, draw: Generator) -> Float[Tensor, "N n d"]:
    """Contexts whose tokens have this share of their squared norm in a common mean, in expectation
    for large d.
    """
    return tokens.on_sphere((1 - share) ** 0.5 * normal(N, n, d, generator=draw) + share**0.5)


def turned(
    share: Chance, trial: Seed, n: Count = 30, d: Count = 192, N: Count = 60, device: Device = "cpu"
) -> dict[str, float]:
    """Errors of the best moves, and gamma, for attention features of tokens with this share of
    their squared norm in a common mean.

    The moves make the error small at gamma near 0 (losses ``target-fine`` and ``target-again`` with
    penalty 1).
    """
    draw = generator(trial)
    contexts, labels = (
        leaning(share, N + 1, n, d, draw).to(device),
        signs(N + 1, generator=draw).to(device),
    )
    model, one = learned(contexts, labels, "RAF", trial)
    found = model.measure(
        one, best_moves(model, one, [("target-fine", 1.0), ("target-again", 1.0)])
    )
    gamma = float(found["shift"].abs().max())
    return {
        "gamma": gamma,
        "fine": float(found["error-fine"][0]),
        "again": float(found["error-again"][1]),
    }
