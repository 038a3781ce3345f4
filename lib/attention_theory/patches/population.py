"""Exact descent on the population risk of Assumption 1, a finite sum over the contents of the
groups (jelassi2022, Section 4.1).

With v = alpha w* and scores A of three values (beta on the diagonal, gamma inside a group, rho
elsewhere; Lemmas 4.1 and 4.2) the margin y F(X) depends only on how many groups carry which numbers
of +1 and -1. The population is the list of these multisets with their probabilities: 680 of them
for D = 16, C = 4, and 116 280 for D = 32.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement, product

import numpy as np
import torch
from jaxtyping import Float, Int
from theorybook.validation import Chance, Count, NonNegative, Positive, Signed, Steps
from torch import Tensor

#: A population of more multisets, or with a larger table of counts, is refused.
MOST_MULTISETS, MOST_COUNTS = 2_000_000, 100_000_000


@dataclass(frozen=True)
class ReducedViT:
    """The positional ViT of Lemmas 4.1 and 4.2: the three numbers that descent trains (alpha,
    gamma, rho), and its constants.

    v = alpha w*; scores beta on the diagonal, gamma inside a group, rho elsewhere, all divided by
    the temperature; activation z^p + nu z.

    >>> from attention_theory.patches import Population, ReducedViT
    >>> world = Population(8, 2, 0.25)
    >>> blind, sees = ReducedViT(alpha=1, gamma=0, rho=0), ReducedViT(alpha=1, gamma=4, rho=0)
    >>> [round(world.error(world.margins(model)), 3) for model in (blind, sees)]
    [0.061, 0.029]
    """

    alpha: Signed
    gamma: Signed
    rho: Signed
    beta: Signed = 1.0
    p: Count = 3
    nu: NonNegative = 1e-3
    temperature: Positive = 1.0


def group_kinds(C: Count, q: Chance) -> tuple[Int[Tensor, "K 2"], Float[Tensor, "K"]]:
    """The possible contents of a random group, as (number of +1, number of -1), and the probability
    of each.
    """
    kinds = torch.tensor([(a, b) for a in range(C + 1) for b in range(C + 1 - a)])
    # by logarithms: the counts of arrangements have hundreds of digits for large C
    ways = torch.tensor(
        [math.log(math.comb(C, a) * math.comb(C - a, b)) for a, b in kinds.tolist()],
        dtype=torch.float64,
    )
    moved = kinds.sum(1).to(torch.float64)
    return kinds, torch.exp(ways + torch.xlogy(moved, q / 2) + torch.xlogy(C - moved, 1 - q))


def every_point(
    D: Count, C: Count, q: Chance
) -> tuple[Float[Tensor, "N D 1"], Float[Tensor, "N"], Float[Tensor, "N"]]:
    """The whole population without noise: patches (N, D, 1), labels and probabilities of all N = 2
    L 3^(D - C) points.

    Raises:
        ValueError: C does not divide D, q outside [0, 1], or more than two million points.

    >>> from attention_theory.patches import every_point
    >>> X, y, chance = every_point(4, 2, 0.25)
    >>> len(X)  # 2 groups, 2 labels, 3^2 contents
    36
    >>> round(float(chance.sum()), 6)
    1.0
    """
    check_population(D, C, q)
    if 2 * (D // C) * 3 ** min(D - C, 20) > 2_000_000:
        raise ValueError(
            f"D = {D}, C = {C} gives {2 * (D // C)} * 3^{D - C} data points; choose at most two "
            "million"
        )
    rest = torch.tensor(list(product((0.0, 1.0, -1.0), repeat=D - C)), dtype=torch.float64)
    moved = rest.abs()
    chance = (moved * q / 2 + (1 - moved) * (1 - q)).prod(1) / (2 * (D // C))
    points, labels = [], []
    for y in (1.0, -1.0):
        for start in range(0, D, C):
            signal = torch.full((len(rest), C), y, dtype=torch.float64)
            points.append(torch.cat([rest[:, :start], signal, rest[:, start:]], 1))
            labels.append(torch.full((len(rest),), y, dtype=torch.float64))
    return torch.cat(points)[..., None], torch.cat(labels), chance.repeat(len(points))


def critical_stray_rate(C: Count, beta: Signed) -> float:
    """q* = (2 C + a) / (6 + 3 a), a = e^beta - 1: the score inside a group grows at the start if
    and only if q < q* (p = 3).
    """
    a = math.expm1(beta)
    return (2 * C + a) / (6 + 3 * a)


def initial_growth(D: Count, C: Count, q: Chance, beta: Signed) -> tuple[float, float]:
    """Initial growth (g_gamma, g_rho) of the scores in closed form, for p = 3, small alpha and no
    linear part, in a common unit.

    The unit is 3/2 times the cube of D alpha / (D - 1 + e^beta), for a step of rate 1 at
    temperature 1.
    """
    check_population(D, C, q)
    a = math.expm1(beta)
    inside = a * C * (D - C) / (D * (D + a)) * (2 * C + a - 3 * q * (2 + a))
    return inside, inside - a * C / D * (2 * C - 4 * q + a * (1 - q))


def three_values(
    D: Count, C: Count, beta: Signed, gamma: Signed, rho: Signed
) -> Float[Tensor, "D D"]:
    """Scores A: beta on the diagonal, gamma inside a group of C consecutive patches, rho elsewhere
    (Lemma 4.1).

    >>> from attention_theory.patches import three_values
    >>> three_values(4, 2, beta=1, gamma=0.5, rho=0).tolist()[0]
    [1.0, 0.5, 0.0, 0.0]
    """
    check_population(D, C, 0.0)
    group = torch.arange(D) // C
    same = (group[:, None] == group).to(torch.float64)
    return (gamma * same + rho * (1 - same)).fill_diagonal_(beta)


class Population:
    """All multisets of group contents for label +1, with their probabilities; label -1 is the
    mirror image.

    Args:
        D: number of patches.
        C: size of a group, a divisor of D.
        q: probability that a patch outside the signal group carries the feature.

    >>> from attention_theory.patches import Population, ReducedViT
    >>> world = Population(8, 2, 0.0)
    >>> world.error(world.margins(ReducedViT(alpha=1.0, gamma=5.0, rho=0.0)))
    0.0
    """

    counts: Float[Tensor, "M kinds"]
    probability: Float[Tensor, "M"]

    def __init__(self, D: Count, C: Count, q: Chance):
        check_population(D, C, q)
        self.D, self.C, self.q, self.L = D, C, q, D // C
        K, n = math.comb(C + 2, 2), self.L - 1
        size = math.comb(n + K - 1, n)
        if size > MOST_MULTISETS or size * K > MOST_COUNTS:
            raise ValueError(
                f"D = {D}, C = {C} gives {size} multisets of {K} kinds of groups; choose sizes "
                f"with at most {MOST_MULTISETS} "
                f"multisets, and at most {MOST_COUNTS} counts in all"
            )
        self.kinds, chance = group_kinds(C, q)
        drawn = np.fromiter(
            (k for m in combinations_with_replacement(range(K), n) for k in m), np.int64, size * n
        )
        counts = np.zeros((size, K))
        np.add.at(counts, (np.repeat(np.arange(size), n), drawn), 1)
        counts = torch.from_numpy(counts)
        orders = math.lgamma(n + 1) - torch.lgamma(counts + 1).sum(1)
        probability = torch.exp(orders + torch.xlogy(counts, chance).sum(1))
        sums = self.kinds[:, 0] - self.kinds[:, 1]
        total = C + (counts @ sums.to(torch.float64)).long()  # sum of <w*, X_j> over all patches
        self.signal = self.kinds.tolist().index([C, 0])
        counts[:, self.signal] += 1
        # sorted by total: multisets of one total share a column of the tables below
        order = torch.argsort(total, stable=True)
        self.counts, self.probability = counts[order], probability[order]
        self.totals, self.column, self.sizes = total[order].unique_consecutive(
            return_inverse=True, return_counts=True
        )
        # number of rows of a group of each kind that carry +1, -1, 0: (3, kinds, 1)
        plus, minus = self.kinds.T.to(torch.float64)
        self._rows = torch.stack([plus, minus, C - plus - minus])[..., None]
        self._sums, self._own = (
            (plus - minus)[:, None],
            torch.tensor([1.0, -1.0, 0.0], dtype=torch.float64)[:, None, None],
        )

    def weights(self, vit: ReducedViT) -> Float[Tensor, "3"]:
        """Attention weights Lambda, Gamma, Xi of a row: on itself, on another patch of its group,
        on a patch elsewhere.

        They satisfy Lambda + (C - 1) Gamma + (D - C) Xi = 1.
        """
        raised = (
            self.probability.new_tensor([vit.beta, vit.gamma, vit.rho]) / vit.temperature
        ).exp()
        return raised / (raised[0] + (self.C - 1) * raised[1] + (self.D - self.C) * raised[2])

    def score_derivative(self, vit: ReducedViT) -> Float[Tensor, "3"]:
        """The derivatives u'(score) over the row sum of u, for the three scores; for u = exp these
        are the weights.
        """
        return self.weights(vit)

    def _seen(self, vit):
        """The pre-activation z_i of a row that carries +1, -1 or 0, in a group of each kind, for
        each total: (3, kinds, totals).
        """
        own, inside, outside = self.weights(vit)
        return (
            self.D
            * vit.alpha
            * ((own - inside) * self._own + (inside - outside) * self._sums + outside * self.totals)
        )

    def _table(self, function, vit):
        """Sum of function(z_i) over the rows of a group of each kind, for each total: (kinds,
        totals).
        """
        return (self._rows * function(self._seen(vit))).sum(0)

    def _margins(self, table):
        return torch.einsum("mk,mk->m", self.counts, table.T[self.column])

    def margins(self, vit: ReducedViT) -> Float[Tensor, "M"]:
        """The margin y F(X) of each multiset."""
        return self._margins(self._table(lambda z: z**vit.p + vit.nu * z, vit))

    def feature_pull(self, vit: ReducedViT) -> tuple[float, float]:
        """The step of alpha per unit of learning rate, split by rows: those of the signal group,
        and all others (update GD-a).
        """
        sigmoid = self.probability * torch.sigmoid(-self.margins(vit))
        table = self._table(lambda z: (vit.p * z**vit.p + vit.nu * z) / vit.alpha, vit)
        signal = table[self.signal, self.column]
        return float(sigmoid @ signal), float(sigmoid @ (self._margins(table) - signal))

    def error(self, margins: Float[Tensor, "M"]) -> float:
        """Probability of the wrong sign; a tie counts half. A margin below 1e-12 of the largest
        counts as a tie.
        """
        tie = margins.abs() <= 1e-12 * margins.abs().max()
        return float((self.probability * torch.where(tie, 0.5, (margins < 0).double())).sum())

    def labelling(self) -> Float[Tensor, "M"]:
        """The value y f*(X) / C of each multiset: the number of groups full of the label's sign,
        minus that of groups full of the other (Assumption 1).
        """
        return self.counts[:, self.signal] - self.counts[:, self.kinds.tolist().index([0, self.C])]

    def disagreement(self, margins: Float[Tensor, "M"], ties: bool = True) -> float:
        """P[f* F <= 0], or P[f* F < 0] without ties, for the :meth:`labelling` function f*."""
        full = self.labelling()
        F = torch.where(margins.abs() <= 1e-12 * margins.abs().max(), 0.0, margins)
        return float(self.probability @ (full * F <= 0 if ties else full * F < 0).double())

    def loss(self, margins: Float[Tensor, "M"]) -> float:
        """Population risk, E log(1 + exp(-y F))."""
        return float((self.probability * torch.nn.functional.softplus(-margins)).sum())

    def gradients(self, vit: ReducedViT) -> tuple[float, float, float, Float[Tensor, "M"]]:
        """Derivatives of the risk along w*, with respect to one score inside and to one outside a
        group; and the margins.

        These are <w*, dv>, dA_ij for i != j of one group, and dA_ij for different groups (Lemmas
        H.1 and H.2).
        """
        z = self._seen(vit)
        margins = self._margins((self._rows * (z**vit.p + vit.nu * z)).sum(0))
        slope = -self.probability * torch.sigmoid(-margins)
        pull = torch.segment_reduce(
            slope[:, None] * self.counts, "sum", lengths=self.sizes, axis=0
        ).T
        force = pull * self._rows * (vit.p * z ** (vit.p - 1) + vit.nu)
        # z is linear in what the row carries, what its group carries, and the total
        own, group, all_rows = (
            float((force * carried).sum()) for carried in (self._own, self._sums, self.totals)
        )
        weights, (_, inside, outside) = (
            self.weights(vit).tolist(),
            self.score_derivative(vit).tolist(),
        )

        def along(a, b, c):
            return self.D * ((a - b) * own + (b - c) * group + c * all_rows)

        # raising one score of a row raises its weight and lowers all others; this is the mean over
        # the equal scores of the row
        up_inside = (-weights[0], (self.C > 1) / max(self.C - 1, 1) - weights[1], -weights[2])
        up_outside = (
            -weights[0],
            -weights[1],
            (self.D > self.C) / max(self.D - self.C, 1) - weights[2],
        )
        d_gamma = vit.alpha / vit.temperature * inside * along(*up_inside) / self.D
        d_rho = vit.alpha / vit.temperature * outside * along(*up_outside) / self.D
        return along(*weights), d_gamma, d_rho, margins


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Course of population descent: one entry per step, the initial point first; ``group`` is the
    weight of a row on its own group.

    >>> from attention_theory.patches import population_descent
    >>> path = population_descent(8, 2, 0.25, steps=3)
    >>> path.reaches(0.99) is None  # three steps are not enough
    True
    """

    alpha: Float[Tensor, "T"]
    gamma: Float[Tensor, "T"]
    rho: Float[Tensor, "T"]
    group: Float[Tensor, "T"]
    loss: Float[Tensor, "T"]
    error: Float[Tensor, "T"]

    def reaches(self, share: Chance = 0.8) -> int | None:
        """The first step at which a row gives this share to its group; None if there is none."""
        found = torch.nonzero(self.group >= share)
        return int(found[0, 0]) if len(found) else None


def population_descent(
    D: Count,
    C: Count,
    q: Chance,
    p: Count = 3,
    nu: NonNegative = 1e-3,
    steps: Steps = 600,
    rate_v: NonNegative = 1e-3,
    rate_A: NonNegative = 10.0,
    beta: Signed = 1.0,
    alpha: NonNegative | None = None,
    temperature: Positive = 1.0,
    start: Signed = 0.0,
    kind: Callable[[int, int, float], Population] = Population,
) -> Trajectory:
    """Gradient descent on the population risk from gamma = rho = start (jelassi2022,
    Parametrization 3.1, idealised case).

    The paper uses one rate for both and temperature sqrt(d); see the chapter on learning in
    expectation for the number of steps that takes. The defaults work within hundreds of steps at D
    = 16 and D = 32.

    Args:
        D, C, q: sizes and probability, as in :class:`Population`.
        p, nu: activation z^p + nu z.
        steps: number of steps.
        rate_v, rate_A: learning rates of v and of the scores.
        beta: fixed diagonal score. With beta = 0 all scores start equal, and they never move: by
            symmetry their gradient is 0.
        alpha: initial length of v; default nu^(1 / (p - 1)).
        temperature: divisor of the scores in the softmax.
        start: initial value of all scores off the diagonal.
        kind: makes the population from (D, C, q), with softmax weights or with others.

    Raises:
        ValueError: C does not divide D, or p is even or below 3.

    >>> from attention_theory.patches import population_descent
    >>> path = population_descent(8, 2, 0.25, steps=3)
    >>> len(path.loss)  # the start and three steps
    4
    """
    if p < 3 or p % 2 == 0:
        raise ValueError(
            f"p = {p}; the activation needs an odd degree p >= 3, so that it keeps the sign of "
            "its input"
        )
    length = nu ** (1 / (p - 1)) if alpha is None else alpha
    population = kind(D, C, q)
    gamma = rho = float(start)
    rows = []
    for _step in range(steps + 1):
        vit = ReducedViT(length, gamma, rho, beta, p, nu, temperature)
        d_alpha, d_gamma, d_rho, margins = population.gradients(vit)
        own, inside, _ = population.weights(vit).tolist()
        rows.append(
            (
                length,
                gamma,
                rho,
                own + (C - 1) * inside,
                population.loss(margins),
                population.error(margins),
            )
        )
        length, gamma, rho = (
            length - rate_v * d_alpha,
            gamma - rate_A * d_gamma,
            rho - rate_A * d_rho,
        )
    return Trajectory(*torch.tensor(rows, dtype=torch.float64).T)


def check_groups_fit(D: Count, C: Count) -> None:
    """Raise ValueError where C does not divide D."""
    if D % C:
        raise ValueError(
            f"D = {D} patches do not fall into groups of C = {C}: C must be a positive divisor of D"
        )


def check_population(D: Count, C: Count, q: Chance) -> None:
    """Raise ValueError where C does not divide D, or D is too large for exact sums."""
    check_groups_fit(D, C)
    if D > 100_000:
        raise ValueError(f"D = {D} patches; the exact sums are for at most 100 000")
