"""Patches with any weights: exact population descent, and what averaging and hard groups can do (chapter "Space")."""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, product

import torch
from jaxtyping import Float
from torch import Tensor

from ..attention import Weights
from ..patches.population import Population, check_population


class WeightedPopulation(Population):
    """The population of jelassi2022, Assumption 1, seen through attention weights u(score) / row sum.

    The enumeration of group contents does not know u; only the three weights of a row do.

    Args:
        weights: the family.
        D, C, q: as in :class:`attention_theory.patches.population.Population`.

    Raises:
        ValueError: as :class:`Population`; infinite sharpness, which has no slope.
    """

    def __init__(self, weights: Weights, D: int, C: int, q: float):
        if weights.knob == math.inf:
            raise ValueError("the hard maximum has no slope: descent does not move its scores")
        super().__init__(D, C, q)
        self.family = weights

    def _raised(self, gamma, rho, beta: float, temperature: float) -> tuple[Tensor, Tensor, Tensor]:
        """The three scores over the temperature, u of them, and the row sum of u.

        Raises:
            ValueError: the weights of a row sum to zero.
        """
        numbers = torch.stack([torch.as_tensor(x, dtype=torch.float64) for x in (beta, gamma, rho)]) / temperature
        numbers = numbers.detach().requires_grad_()
        raised = self.family(numbers)
        total = raised[0] + (self.C - 1) * raised[1] + (self.D - self.C) * raised[2]
        if not abs(float(total.detach())) > 1e-12:
            raise ValueError(f"{self.family}: the weights of a row sum to 0 at scores {numbers.tolist()}")
        return numbers, raised, total

    def weights(self, gamma, rho, beta: float = 1.0, temperature: float = 1.0) -> Float[Tensor, "3"]:
        """Attention of a row on itself, on another patch of its group, on a patch elsewhere.

        Raises:
            ValueError: the weights of a row sum to zero.
        """
        _, raised, total = self._raised(gamma, rho, beta, temperature)
        return (raised / total).detach()

    def rises(self, gamma, rho, beta: float = 1.0, temperature: float = 1.0) -> Float[Tensor, "3"]:
        """u'(score) over the row sum of u, for the three scores."""
        numbers, raised, total = self._raised(gamma, rho, beta, temperature)
        if not raised.requires_grad:  # averaging does not look at the scores
            return torch.zeros(3, dtype=torch.float64)
        return torch.autograd.grad(raised.sum(), numbers)[0] / total.detach()


@dataclass(frozen=True, eq=False)
class Descent:
    """Population descent, one entry for each step: length of v, the scores, what a row gives to its group, loss and error."""

    alpha: Float[Tensor, "T"]
    gamma: Float[Tensor, "T"]
    rho: Float[Tensor, "T"]
    group: Float[Tensor, "T"]
    loss: Float[Tensor, "T"]
    error: Float[Tensor, "T"]

    def reaches(self, share: float = 0.8) -> int | None:
        """The first step at which a row gives this share to its group; none if it never does."""
        found = torch.nonzero(self.group >= share)
        return int(found[0, 0]) if len(found) else None


def population_descent(
    weights: Weights,
    D: int,
    C: int,
    q: float,
    p: int = 3,
    nu: float = 1e-3,
    steps: int = 600,
    eta_v: float = 1e-3,
    eta_A: float = 10.0,
    beta: float = 1.0,
    alpha: float | None = None,
    temperature: float = 1.0,
    start: float = 0.0,
) -> Descent:
    """Gradient descent on the population risk from gamma = rho = start, exactly, with weights u(score) / row sum.

    The idealised case of jelassi2022, Parametrization 3.1: scores of three values, beta fixed on the diagonal.

    Args:
        weights: the family.
        start: first value of all scores off the diagonal; the paper's 0 leaves powers of the score no slope.
        D, C, q, p, nu, steps, eta_v, eta_A, beta, alpha, temperature: as in
            :func:`attention_theory.patches.population.population_descent`.

    Raises:
        ValueError: sizes, p or numbers that are not allowed; infinite sharpness; weights of a row that sum to zero.
    """
    if p < 3 or p % 2 == 0:
        raise ValueError(f"p = {p}; the activation needs an odd degree p >= 3, so that it keeps the sign of its input")
    if steps < 0:
        raise ValueError(f"steps = {steps}; choose a number >= 0")
    length = nu ** (1 / (p - 1)) if alpha is None else alpha
    for name, value in dict(
        nu=nu, eta_v=eta_v, eta_A=eta_A, beta=beta, alpha=length, temperature=temperature, start=start
    ).items():
        if not math.isfinite(value):
            raise ValueError(f"{name} = {value} is not finite")
    population = WeightedPopulation(weights, D, C, q)
    gamma = rho = float(start)
    rows = []
    for _step in range(steps + 1):
        d_alpha, d_gamma, d_rho, margins = population.gradients(length, gamma, rho, beta, p, nu, temperature)
        own, inside, _ = population.weights(gamma, rho, beta, temperature).tolist()
        group = own + (C - 1) * inside
        rows.append((length, gamma, rho, group, population.loss(margins), population.error(margins)))
        length, gamma, rho = length - eta_v * d_alpha, gamma - eta_A * d_gamma, rho - eta_A * d_rho
    return Descent(*torch.tensor(rows, dtype=torch.float64).T)


def averaging_error(D: int, C: int, q: Fraction) -> Fraction:
    """Error of averaging, in fractions: the sum of D - C patches, each -1, 0, 1, outweighs the signal C; a tie counts half.

    With equal weights all rows see the same, F = D sigma(alpha * sum of all patches), so that sign F is the majority.

    Raises:
        ValueError: sizes and probability that are not allowed.
    """
    check_population(D, C, float(q))
    sums = {0: Fraction(1)}
    for _ in range(D - C):
        step: dict[int, Fraction] = {}
        for (value, chance), (move, part) in product(sums.items(), ((0, 1 - q), (1, q / 2), (-1, q / 2))):
            step[value + move] = step.get(value + move, Fraction(0)) + chance * part
        sums = step
    return sum((chance * (1 if value < -C else Fraction(1, 2) * (value == -C)) for value, chance in sums.items()), Fraction(0))


def group_error(D: int, C: int, q: Fraction) -> Fraction:
    """Error of hard groups, in fractions: each row averages its own group.

    F is C times the sum over groups of sigma(D alpha * group sum / C); with sigma(z) = z^3 its sign is that of the sum of
    the cubes of the group sums.

    Raises:
        ValueError: sizes and probability that are not allowed.
    """
    check_population(D, C, float(q))
    kinds: dict[int, Fraction] = {0: Fraction(1)}
    for _ in range(C):
        grown: dict[int, Fraction] = {}
        for (value, chance), (move, part) in product(kinds.items(), ((0, 1 - q), (1, q / 2), (-1, q / 2))):
            grown[value + move] = grown.get(value + move, Fraction(0)) + chance * part
        kinds = grown
    cubes = {C**3: Fraction(1)}
    for _ in range(D // C - 1):
        step = {}
        for (value, chance), (kind, part) in product(cubes.items(), kinds.items()):
            step[value + kind**3] = step.get(value + kind**3, Fraction(0)) + chance * part
        cubes = step
    return sum((chance * (1 if value < 0 else Fraction(1, 2) * (value == 0)) for value, chance in cubes.items()), Fraction(0))


def first_push(
    weights: Weights, D: int, C: int, q: float, beta: float = 1.0, start: float = 0.0, p: int = 3, nu: float = 1e-3
) -> tuple[float, float]:
    """-d(risk)/d(score) at gamma = rho = start for one score inside a group and one between groups."""
    population = WeightedPopulation(weights, D, C, q)
    _, d_gamma, d_rho, _ = population.gradients(nu ** (1 / (p - 1)), start, start, beta, p, nu)
    return -d_gamma, -d_rho


def push_difference(ratio, D: int, C: int, q: Fraction, alpha: Fraction, p: int = 3, nu: Fraction = Fraction(1, 1000)):
    """First push inside a group minus that between groups, over u'/u at the start, in ball arithmetic.

    It depends on u only through ``ratio`` = u(diagonal score) / u(start), which may be a ball; the sum runs over all
    contents of the groups with exact probabilities.

    Args:
        ratio: a number or a ``flint.arb``.
        D, C, q, p, nu: as in :func:`population_descent`, fractions where they are not integers.
        alpha: length of v.
    """
    import flint

    def ball(x):
        x = Fraction(x)
        return flint.arb(flint.fmpq(x.numerator, x.denominator))

    check_population(D, C, float(q))
    ratio = flint.arb(ratio)
    plain = 1 / (ratio + D - 1)  # the weight of another patch
    scale = D * ball(alpha)
    kinds = [(a, b) for a in range(C + 1) for b in range(C + 1 - a)]
    chances = [math.comb(C, a) * math.comb(C - a, b) * (q / 2) ** (a + b) * (1 - q) ** (C - a - b) for a, b in kinds]
    inside = outside = flint.arb(0)
    for drawn in combinations_with_replacement(range(len(kinds)), D // C - 1):
        orders = math.factorial(len(drawn))
        for k in set(drawn):
            orders //= math.factorial(drawn.count(k))
        chance = orders * math.prod(chances[k] for k in drawn)
        groups = [(C, 0)] + [kinds[k] for k in drawn]
        total = sum(a - b for a, b in groups)
        margin, push_in, push_out = flint.arb(0), flint.arb(0), flint.arb(0)
        for a, b in groups:
            for value, number in ((1, a), (-1, b), (0, C - a - b)):
                if number:
                    seen = ((ratio - 1) * value + total) * plain
                    z = scale * seen
                    margin += number * (z**p + ball(nu) * z)
                    slope = number * (p * z ** (p - 1) + ball(nu)) * scale * plain
                    push_in += slope * (a - b - value - (C - 1) * seen)
                    push_out += slope * (total - (a - b) - (D - C) * seen)
        fails = ball(chance) / (1 + margin.exp())
        inside += fails * push_in
        outside += fails * push_out
    return inside / (D * (C - 1)) - outside / (D * (D - C))
