"""Patches with any weights: exact population descent, and the errors of averaging and of hard
groups (chapter "Space").
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import chain, combinations, combinations_with_replacement, product
from typing import Annotated, Any

import torch
from jaxtyping import Float
from theorybook.prove import as_ball, ball
from theorybook.validation import (
    FILLED,
    Arithmetic,
    Chance,
    Count,
    Natural,
    NonNegative,
    Signed,
    Size,
    recheck_callback,
)
from torch import Tensor

from attention_theory.attention import Weights
from attention_theory.patches import population
from attention_theory.patches.population import Population, ReducedViT, Trajectory, check_population


class WeightedPopulation(Population):
    """The population of jelassi2022, Assumption 1, seen through attention weights u(score) / row
    sum.

    The enumeration of group contents does not depend on u; only the three weights of a row do.

    Args:
        weights: the family.
        D, C, q: as in :class:`attention_theory.patches.population.Population`.

    Raises:
        ValueError: as :class:`Population`.
    """

    def __init__(self, weights: Weights, D: Count, C: Count, q: Chance):
        super().__init__(D, C, q)
        self.family = weights

    def _over_sum(self, vit: ReducedViT) -> tuple[Tensor, Tensor]:
        """The values u and u' at the three scores of a row, over the row sum of u. The hard maximum
        has slope 0.

        Raises:
            ValueError: the weights of a row sum to zero.
        """
        scores = self.probability.new_tensor([vit.beta, vit.gamma, vit.rho]) / vit.temperature
        hard = self.family.knob == math.inf
        raised = (scores == scores.max()).to(scores) if hard else self.family(scores)
        total = raised[0] + (self.C - 1) * raised[1] + (self.D - self.C) * raised[2]
        if not abs(float(total)) > 1e-12:
            raise ValueError(
                f"{self.family}: the weights of a row sum to 0 at scores {scores.tolist()}"
            )
        return raised / total, (0 * scores if hard else self.family.slope(scores)) / total

    def weights(self, vit: ReducedViT) -> Float[Tensor, "3"]:
        """Attention weights of a row: on itself, on another patch of its group, on a patch
        elsewhere.

        Raises:
            ValueError: the weights of a row sum to zero.
        """
        return self._over_sum(vit)[0]

    def score_derivative(self, vit: ReducedViT) -> Float[Tensor, "3"]:
        """u'(score) over the row sum of u, for the three scores."""
        return self._over_sum(vit)[1]


def population_descent_with(
    weights: Weights, D: Count, C: Count, q: Chance, **options: Any
) -> Trajectory:
    """Gradient descent on the population risk, exactly, with weights u(score) / row sum.

    The idealised case of jelassi2022, Parametrization 3.1: scores of three values, beta fixed on
    the diagonal.

    Args:
        weights: the family. The hard maximum has no slope: descent does not move its scores.
        D, C, q, options: as in :func:`attention_theory.patches.population.population_descent`. At
            its ``start`` = 0 powers of the score have no slope.

    Raises:
        ValueError: sizes, p or numbers that are not allowed; weights of a row that sum to zero.

    >>> from attention_theory.exponential import population_descent_with, sharp
    >>> path = population_descent_with(sharp(1), 8, 2, 0.25, steps=3)
    >>> len(path.group)  # the start and three steps
    4
    """
    return recheck_callback(population.population_descent)(
        D, C, q, kind=partial(WeightedPopulation, weights), **options
    )


def _law_of_sum(step: dict[int, Fraction], times: int, start: int) -> dict[int, Fraction]:
    """Values and probabilities of ``start`` plus ``times`` independent draws of a step: a power of
    its generating polynomial.
    """
    import flint

    least, scale = min(step), math.lcm(*(chance.denominator for chance in step.values()))
    ring = flint.fmpz_mpoly_ctx.get(("z",), "lex")
    counts = (
        ring.from_dict({(value - least,): int(chance * scale) for value, chance in step.items()})
        ** times
    )
    total = scale**times
    return {
        start + times * least + int(k): Fraction(int(count), total)
        for (k,), count in counts.to_dict().items()
    }


def _wrong_sign(law: dict[Any, Fraction]) -> Fraction:
    """P[value < 0] + P[value = 0] / 2."""
    return sum(
        (chance * (1 if value < 0 else Fraction(value == 0, 2)) for value, chance in law.items()),
        Fraction(0),
    )


def averaging_error(D: Count, C: Count, q: Fraction) -> Fraction:
    """Exact error of averaging: the sum of D - C patches, each -1, 0 or 1, outweighs the signal C;
    a tie counts half.

    With equal weights all rows have the same pre-activation: F = D sigma(alpha * sum of all
    patches), so that sign F is the majority.

    Raises:
        ValueError: sizes and probability that are not allowed.
    """
    check_population(D, C, float(q))
    return _wrong_sign(_law_of_sum({0: 1 - q, 1: q / 2, -1: q / 2}, D - C, start=C))


def group_error(D: Count, C: Count, q: Fraction) -> Fraction:
    """Exact error of hard groups, where each row averages its own group.

    F is C times the sum over groups of sigma(D alpha * group sum / C); with sigma(z) = z^3 its sign
    is that of the sum of the cubes of the group sums.

    Raises:
        ValueError: sizes and probability that are not allowed.
    """
    check_population(D, C, float(q))
    group = _law_of_sum({0: 1 - q, 1: q / 2, -1: q / 2}, C, start=0)
    return _wrong_sign(
        _law_of_sum({value**3: chance for value, chance in group.items()}, D // C - 1, start=C**3)
    )


def least_range(D: Count, C: Count, against: Count) -> float:
    """(L - 1) k / C with L = D/C: rows whose largest weight is less than this many times the
    smallest misclassify one kind of image.

    Such an image has one group full of the label's sign, k = ``against`` patches of the other sign
    in each other group, and zeros elsewhere (chapter "Space", "The range at any size"). A value
    below 1 concerns no row.

    Raises:
        ValueError: C does not divide D, or more patches against the label than a group has without
            being full.
    """
    if D % C or not against < C:
        raise ValueError(
            f"D = {D}, C = {C}, against = {against}; C must divide D, and less than a whole group "
            "be against"
        )
    return (D // C - 1) * against / C


def crowd_images(D: Count, C: Count, against: Count) -> Float[Tensor, "images D"]:
    """All images with one group full of +1, ``against`` patches -1 in each other group, and zeros
    elsewhere.

    There are L binom(C, k)^(L - 1) of them: each group may be the full one, and each other group
    chooses its patches.

    Raises:
        ValueError: as :func:`least_range`.
    """
    least_range(D, C, against)
    crowds = [
        [-1.0 if i in chosen else 0.0 for i in range(C)]
        for chosen in combinations(range(C), against)
    ]
    full = [1.0] * C
    images = [
        [*chain(*others[:at], full, *others[at:])]
        for at in range(D // C)
        for others in product(crowds, repeat=D // C - 1)
    ]
    return torch.tensor(images, dtype=torch.float64)


def margin(
    groups: Annotated[list[tuple[Natural, Natural]], FILLED],
    C: Count,
    own: Arithmetic,
    group: Arithmetic,
    other: Arithmetic = 1,
) -> Any:
    """The sum over all patches of the cube of the patch's weighted sum, with these weights on
    itself, its group and the others.

    Its sign is the answer F of the layer (p = 3, nu = 0) on contents with the label +1.

    Args:
        groups: for each group, how many of its C patches are +1 and -1.
        own, group, other: any numbers with arithmetic, tensors and balls too; a common factor
            enters the result cubed.
    """
    total, found = sum(a - b for a, b in groups), 0
    for a, b in groups:
        for value, count in ((1, a), (-1, b), (0, C - a - b)):
            found = (
                found
                + count * (own * value + group * (a - b - value) + other * (total - (a - b))) ** 3
            )
    return found


def _contents(D: int, C: int, q: Fraction) -> Iterator[tuple[list[tuple[int, int]], Fraction]]:
    """All contents of the groups with their probabilities, given the label +1 in the first group:
    (pluses, minuses) of each, up to the order of the others.
    """
    kinds = [(a, b) for a in range(C + 1) for b in range(C + 1 - a)]
    chances = {
        (a, b): math.comb(C, a) * math.comb(C - a, b) * (q / 2) ** (a + b) * (1 - q) ** (C - a - b)
        for a, b in kinds
    }
    for drawn in combinations_with_replacement(kinds, D // C - 1):
        orders = math.factorial(len(drawn))
        for kind in set(drawn):
            orders //= math.factorial(drawn.count(kind))
        yield (
            [(C, 0), *drawn],
            orders * math.prod((chances[kind] for kind in drawn), start=Fraction(1)),
        )


def reading_error(
    own: Arithmetic, group: Arithmetic, other: Arithmetic, D: Count, C: Count, q: Fraction
) -> Fraction:
    """Exact error when every row gives these weights to the patch itself, to its group and to the
    others; a tie counts half.

    Raises:
        ValueError: sizes and probability that are not allowed.
    """
    check_population(D, C, float(q))
    law: dict[Any, Fraction] = {}
    for groups, chance in _contents(D, C, q):
        value = margin(groups, C, own, group, other)
        law[value] = law.get(value, Fraction(0)) + chance
    return _wrong_sign(law)


def first_push(
    weights: Weights,
    D: Count,
    C: Count,
    q: Chance,
    beta: Signed = 1.0,
    start: Signed = 0.0,
    p: Count = 3,
    nu: NonNegative = 1e-3,
) -> tuple[float, float]:
    """-d(risk)/d(score) at gamma = rho = start for one score inside a group and one between
    groups.
    """
    seen = WeightedPopulation(weights, D, C, q)
    _, d_gamma, d_rho, _ = seen.gradients(
        ReducedViT(nu ** (1 / (p - 1)), start, start, beta, p, nu)
    )
    return -d_gamma, -d_rho


def push_difference(
    ratio, D: Count, C: Count, q: Fraction, p: Size = 3, nu: Fraction = Fraction(1, 1000)
):
    """First push inside a group minus that between groups, over u'/u at the start, in ball
    arithmetic; alpha = nu^(1/(p-1)).

    It depends on u only through ``ratio`` = u(diagonal score) / u(start), which may be a ball; the
    sum runs over all contents of the groups with exact probabilities.

    Args:
        ratio: a number or a ``flint.arb``.
        D, C, q, p, nu: as in :func:`population_descent_with`, fractions where they are not
            integers.

    Raises:
        ValueError: sizes and probability that are not allowed, or a ratio that is neither a number
            nor a ball.
    """
    import flint

    check_population(D, C, float(q))
    try:
        ratio = as_ball(ratio)
    except TypeError:
        raise ValueError(f"ratio must be a number or a flint.arb, got {ratio!r}") from None
    plain = 1 / (ratio + D - 1)  # the weight of another patch
    scale = D * ball(nu).root(p - 1)
    inside = outside = flint.arb(0)
    for groups, chance in _contents(D, C, q):
        total = sum(a - b for a, b in groups)
        answer, push_in, push_out = flint.arb(0), flint.arb(0), flint.arb(0)
        for a, b in groups:
            for value, number in ((1, a), (-1, b), (0, C - a - b)):
                if number:
                    seen = ((ratio - 1) * value + total) * plain
                    z = scale * seen
                    answer += number * (z**p + ball(nu) * z)
                    slope = number * (p * z ** (p - 1) + ball(nu)) * scale * plain
                    push_in += slope * (a - b - value - (C - 1) * seen)
                    push_out += slope * (total - (a - b) - (D - C) * seen)
        fails = ball(chance) / (1 + answer.exp())
        inside += fails * push_in
        outside += fails * push_out
    return inside / (D * (C - 1)) - outside / (D * (D - C))
