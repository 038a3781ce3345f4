"""Measurements on whole populations and on samples of Assumption 1: which functions can tell the
label.
"""

from typing import Annotated, NamedTuple

import torch
from attention_theory.device import generator, normal
from attention_theory.patches.distribution import PatchDistribution
from attention_theory.patches.population import every_point
from attention_theory.patches.vit import PositionalViT
from jaxtyping import Float, Float64, Int
from theorybook.validation import Chance, Count, Limits, Seed, Size
from torch import Tensor


def top_c(A: Float[Tensor, "D D"], C: Count) -> Int[Tensor, "D C"]:
    """Indices of the C largest scores of each row, largest first; among equal scores the smaller
    index comes first.

    >>> import torch
    >>> from attention_checks.patches.runs.worlds import top_c
    >>> top_c(torch.tensor([[0.1, 0.9], [0.8, 0.2]]).double(), 1).tolist()
    [[1], [0]]
    """
    if A.shape[1] < C:
        raise ValueError(f"C = {C} of the scores of a row; A has shape {tuple(A.shape)}")
    return torch.sort(A, dim=1, descending=True, stable=True).indices[:, :C]


class Clauses(NamedTuple):
    """What a sample says about Assumption 1; pairs are (successes, trials)."""

    full: int  # least number of groups that are filled with the label
    last: tuple[int, int]  # the signal group is the last one
    towards: tuple[int, int]  # a stray of a random group carries the label's sign
    away: tuple[int, int]  # it carries the other sign
    noise: Float[Tensor, "N"]  # mean square of the noise in the directions across the feature


def clauses(
    images: PatchDistribution, X: Float64[Tensor, "N D d"], y: Float64[Tensor, "N"]
) -> Clauses:
    """Count each clause of the definition; images with two full groups are left out where the
    signal group must be known.
    """
    if X.shape[1:] != (images.D, images.d):
        raise ValueError(
            f"X must hold images of {images.D} patches of {images.d} numbers, got shape "
            f"{tuple(X.shape)}"
        )
    feature = (
        X @ images.w
    ).round()  # -1, 0 or 1, which a feature other than a unit vector gives up to rounding
    carried = feature[:, images.groups.argsort(stable=True)].reshape(len(X), images.L, images.C)
    full = (carried == y[:, None, None]).all(2)
    alone = full.sum(1) == 1
    others, sign = carried[alone][~full[alone]], y[alone].repeat_interleave(images.L - 1)[:, None]
    across = X - (X @ images.w)[..., None] * images.w
    noise = across.square().sum((1, 2)) / (images.D * (images.d - 1))
    n = others.numel()
    return Clauses(
        int(full.sum(1).min()),
        (int(full[alone][:, -1].sum()), int(alone.sum())),
        (int((others == sign).sum()), n),
        (int((others == -sign).sum()), n),
        noise,
    )


def population_error(model: PositionalViT, D: Count, C: Count, q: Chance) -> tuple[float, float]:
    """Error of sign F against the label and against f*, over every data point; a tie counts half,
    f* = 0 not at all.
    """
    X, y, chance = every_point(D, C, q)
    X, y, f, chance = (
        part.to(model.v) for part in (X, y, PatchDistribution(D, C, 1, q, 0.0).label(X), chance)
    )
    F = model(X)
    F = torch.where(F.abs() < 1e-9 * F.abs().max(), 0.0, F).sign()
    wrong = [
        torch.where(F == 0, 0.5, (target * F < 0).double()) * (target != 0) for target in (y, f)
    ]
    return float(chance @ wrong[0]), float(chance @ wrong[1])


def labelling_error(D: Count, C: Count, q: Chance) -> float:
    """Error of f* against the label over every data point; f* = 0 counts half."""
    X, y, chance = every_point(D, C, q)
    f = PatchDistribution(D, C, 1, q, 0.0).label(X)
    return float(chance @ torch.where(f == 0, 0.5, (f * y < 0).double()))


class TotalScore(NamedTuple):
    """The best that a function of the sum of all <w*, X_j> can do, over every data point."""

    error: float  # least error against the label
    disagreement: float  # least P[f* g < 0]
    missed: float  # P[f* y <= 0]


def best_of_total(D: Count, C: Count, q: Chance) -> TotalScore:
    """Enumerate the population and give each value of the sum the better sign."""
    X, y, chance = every_point(D, C, q)
    f = PatchDistribution(D, C, 1, q, 0.0).label(X)
    total = X.sum((1, 2)).long() + D
    mass = torch.zeros(2, 3, 2 * D + 1, dtype=torch.float64)
    for table, sign in zip(mass, (y, f)):
        table.index_put_((sign.long() + 1, total), chance, accumulate=True)
    least = mass[:, [0, 2]].amin(1).sum(1)
    return TotalScore(float(least[0]), float(least[1]), float(chance[f * y <= 0].sum()))


def decoder_error(D: Count, C: Count, q: Chance) -> float:
    """P[f* g <= 0] of the generalised linear model g = f*(digits of sum_j 3^(j-1) <w*, X_j>), by
    enumeration.
    """
    f = PatchDistribution(D, C, 1, q, 0.0)
    X, _, chance = every_point(D, C, q)
    scores, powers = (
        (X[..., 0] @ 3.0 ** torch.arange(D, dtype=torch.float64)).long(),
        3 ** torch.arange(D),
    )
    digits = (
        scores[:, None] + powers.sum()
    ) // powers % 3 - 1  # shifted by one, they are those of base three
    g = f.label(digits.double()[..., None])
    return float(chance[g * f.label(X) <= 0].sum())


def threshold_errors(
    a: Float64[Tensor, "m D"], D: Count, C: Count, q: Chance
) -> Float64[Tensor, "m"]:
    """Error against the label of sign sum_j a_j <w*, X_j> for each row a, over every data point; a
    tie counts half.
    """
    if a.shape[1] != D:
        raise ValueError(f"a has {a.shape[1]} columns, one for each of D = {D} patches is needed")
    X, y, chance = (part.to(a) for part in every_point(D, C, q))
    margin = y[:, None] * (X[..., 0] @ a.T)
    return chance @ torch.where(margin.abs() < 1e-9, 0.5, (margin < 0).double())


def disjoint_rows(A: Float[Tensor, "D D"], groups: Int[Tensor, "D"]) -> int:
    """Number of rows whose C largest scores all lie outside their own group."""
    top = top_c(A, int((groups == groups[0]).sum()))
    return int((groups[top] != groups[:, None]).all(1).sum())


def touching_pairs(groups: Int[Tensor, "D"], side: Size) -> int:
    """Number of pairs of patches with a common edge that lie in the same group; the patches stand
    in rows of ``side``.
    """
    grid = groups.reshape(-1, side)
    return int((grid[1:] == grid[:-1]).sum() + (grid[:, 1:] == grid[:, :-1]).sum())


class GramSearch(NamedTuple):
    """What :func:`gram_search` counts over random Gram matrices of every rank."""

    tried: int
    disjoint: int  # most rows disjoint from their group in one of them
    longest: int  # matrices in which the longest encoding is in its own Top_C


def gram_search(
    groups: Int[Tensor, "D"], per_rank: Annotated[int, Limits(1, 10_000)] = 50, seed: Seed = 4
) -> GramSearch:
    """Draw P of each rank and look at Top_C of P^T P."""
    D, C, source = len(groups), int((groups == groups[0]).sum()), generator(seed)
    drawn = (
        normal(rank, D, generator=source).to(groups.device)
        for rank in range(1, D + 1)
        for _ in range(per_rank)
    )
    grams = [P.T @ P for P in drawn]
    longest = [int(A.diagonal().argmax()) for A in grams]
    own = sum(i in top_c(A, C)[i].tolist() for A, i in zip(grams, longest))
    return GramSearch(len(grams), max(disjoint_rows(A, groups) for A in grams), own)


def bayes_risk(D: Count, C: Count, q: Chance) -> tuple[float, float]:
    """Least 0-1 error and least log-loss of any classifier, by the label's chance given each data
    point.
    """
    X, y, chance = every_point(D, C, q)
    pattern = ((X[..., 0] + 1) @ 3.0 ** torch.arange(D, dtype=torch.float64)).long()
    mass = torch.zeros(2, 3**D, dtype=torch.float64).index_put_(
        ((y > 0).long(), pattern), chance, accumulate=True
    )
    share = mass[:, mass.sum(0) > 0] / mass.sum(0)[mass.sum(0) > 0]
    entropy = -torch.xlogy(share, share).sum(0)
    return float(mass.amin(0).sum()), float(mass.sum(0)[mass.sum(0) > 0] @ entropy)
