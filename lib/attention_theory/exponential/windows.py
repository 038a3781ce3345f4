"""Separation with any weights: the window of the knob in which F_u separates D1 from D0 (chapter
"Separation").

Everything depends on two numbers of a data set: ``own``, the weight that the special row gives to
its own key (the special query to the special key), and ``block``, the weight that a plain row gives
to its own block (X = I only).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from theorybook.validation import (
    AtLeastOne,
    Chance,
    Count,
    Extended,
    NonNegative,
    OpenChance,
    Positive,
)

from attention_theory.attention import Weights
from attention_theory.exponential.competition import log_ratio, share, solve_knob
from attention_theory.exponential.families import power
from attention_theory.separation import data
from attention_theory.separation.exact import separation_probability

#: Sizes of the data: those of deng2023 for self-attention, and for cross-attention, where b = c =
#: None.
SIZES: dict[str, Any] = dict(a0=0.01, a1=1.2, b=0.2, c=0.8)
MODELS = {"self-ones": SIZES, "self-identity": SIZES, "cross": dict(a0=0.1, a1=1.2, b=None, c=None)}


@dataclass(frozen=True)
class Shares:
    """The two decisive weights: that of the special key in the special row, and that of a plain
    row's own block.
    """

    own: float
    block: float


@dataclass(frozen=True)
class DataSet:
    """One data set of deng2023.

    Attributes:
        model, a, b, c: as in :func:`attention_theory.separation.data.inputs`.
        log_n: ln n.
        d: columns; matters for ``self-identity``, where None stands for infinitely many blocks.
        key: as in :func:`attention_theory.separation.exact.separation_probability`.

    Raises:
        ValueError: parameters that do not fit the model.
    """

    model: data.Model
    log_n: Positive
    a: NonNegative
    b: data.Scale = None
    c: data.Scale = None
    d: Count | None = None
    key: NonNegative = 0.0

    def __post_init__(self):
        data.check_scales(self.model, self.b, self.c)
        if self.key and self.model != "self-ones":
            raise ValueError(
                f"key = {self.key} is not allowed: it belongs to the model self-ones, got "
                f"{self.model}"
            )

    @property
    def row(self) -> tuple[float, float, float]:
        """The sizes a and b of a row's value, and the kappa by which it must exceed c, in units of
        sqrt(log n).
        """
        return (1.0, 1.0, 0.9) if self.b is None else (self.a, self.b, 0.1)

    @property
    def scores(self) -> tuple[float, float, float]:
        """Scores of the special row on its own key, on the rest of its block, and on all other
        keys.
        """
        if self.b is None or self.c is None:
            found = (1 + self.a, 1.0, 1.0)
        elif self.model == "self-ones":
            plain = self.b + self.c
            found = (
                (self.a + plain) ** 2 + self.key * self.a**2,
                (self.a + plain) * plain,
                (self.a + plain) * plain,
            )
        else:
            found = (self.a**2 + self.b**2 + self.c**2, self.b**2 + self.c**2, self.c**2)
        special, near, far = (score * self.log_n for score in found)
        return special, near, far

    def shares(self, weights: Weights) -> Shares:
        """The two weights, computed in logarithms for any n."""
        special, near, far = self.scores
        log_n = self.log_n
        if self.model != "self-identity" or self.d is None:
            log_rivals = log_n + math.log1p(-math.exp(-log_n))  # ln(n - 1)
            return Shares(share(log_ratio(weights, special, far), log_rivals), 0.0)
        blocks = self.d - 2
        log_t = log_n - math.log(blocks)
        log_near = log_t + math.log1p(-math.exp(-log_t)) if log_t > 1e-12 else -math.inf
        log_far = log_n + math.log1p(-1 / blocks) if blocks > 1 else -math.inf
        to_near, to_far = log_ratio(weights, special, near), log_ratio(weights, special, far)
        own = 1 / (
            1 + math.exp(min(log_near - to_near, 700)) + math.exp(min(log_far - to_far, 700))
        )
        block = share(log_ratio(weights, near, far), math.log(blocks - 1)) if blocks > 1 else 1.0
        return Shares(own, block)

    def fires_at_least(self, weights: Weights, m: Count) -> float:
        """The theorem's lower bound on the probability that one of m sign vectors makes a row
        exceed tau.
        """
        (a, b, kappa), found = self.row, self.shares(weights)
        pattern = (
            1 / 4 if self.model == "cross" else 1 / 8
        )  # that the two or three signs which matter are +1
        if (a + 2 * b) * found.own > kappa + b or 2 * b * found.block > kappa + b:
            return 1 - (1 - pattern) ** m
        if max((a + b) * found.own, b * found.block) > kappa:
            return 1 - (1 - pattern / 2) ** m
        return 0.0

    def fires_at_most(self, weights: Weights, m: Count) -> float:
        """The theorem's upper bound: m exp(-N h^2 / 2), N block columns, h = (kappa - (a + b) own -
        b block) / b.

        Raises:
            ValueError: data without d.
        """
        (a, b, kappa), found = self.row, self.shares(weights)
        room = kappa - (a + b) * found.own - b * found.block
        if self.d is None:
            raise ValueError("d = None is not allowed: the bound depends on the number of columns")
        if room < 0 or b == 0:
            return float(room < 0)
        columns = self.d - (1 if self.model == "cross" else 2)
        return min(1.0, m * math.exp(-columns * (room / b) ** 2 / 2))


def _least(family: Callable[[float], Weights]) -> float:
    """Start of a search for a knob: close to averaging, or degree 1."""
    return 1e-9 if family(1).family == "sharp" else 1.0


def lower_edge(family: Callable[[float], Weights], found: DataSet) -> Extended:
    """The knob at which (a + b) own = kappa: the special key brings the special row to tau if y_1 =
    y_* = y_d = 1.

    Args:
        family: :func:`sharp` or :func:`power`.
        found: D1; with b = c = None cross-attention, where the own weight is then 0.45.

    Returns:
        the knob; ``inf`` where no knob is large enough.
    """
    a, b, kappa = found.row
    special, _, far = found.scores
    if not (a + b > kappa and special > far):
        return math.inf
    return solve_knob(lambda knob: (a + b) * found.shares(family(knob)).own - kappa, _least(family))


def upper_edge(family: Callable[[float], Weights], found: DataSet) -> Extended:
    """The knob at which max((a + b) own, b block) = kappa: the special key alone, or (X = I) a
    block alone, reaches tau on D0.

    Args and Returns: as in :func:`lower_edge`; ``inf`` where D0 never fires.
    """
    a, b, kappa = found.row
    if not a + b > kappa or (found.a == 0 and not (found.model == "self-identity" and b > kappa)):
        return math.inf

    def above(knob: float) -> float:
        shares = found.shares(family(knob))
        return max((a + b) * shares.own, b * shares.block) - kappa

    return solve_knob(above, _least(family))


def least_degree(
    model: data.Model,
    n: AtLeastOne,
    a1: NonNegative,
    b: data.Scale = None,
    c: data.Scale = None,
    d: Count | None = None,
) -> int:
    """The least degree p of u(z) = z^p from which F_u fires on D1: the special key gets the share
    0.1 / (a1 + b), for cross-attention 0.45.

    With X all ones it is the least integer p >= log((n - 1) share / (1 - share)) / log((a1 + b + c)
    / (b + c)).

    Raises:
        ValueError: parameters that do not fit, n <= 1; or no degree is enough.

    >>> from attention_theory.exponential import least_degree
    >>> least_degree("cross", 200, a1=1.2)
    7
    """
    found = lower_edge(power, DataSet(model, math.log(n), a1, b, c, d))
    if found == math.inf:
        raise ValueError(
            f"no degree is enough: with a1 = {a1}, b = {b} a row stays below tau, or its own key "
            "scores no higher"
        )
    return math.ceil(found - 1e-9)


def paper_sizes(log_n: Positive, delta: OpenChance = 0.01) -> dict[str, int]:
    """Columns d = 10 log(n / delta) and signs m = 9 log(n / delta), rounded up: sizes of the order
    that deng2023 requires.
    """
    size = log_n - math.log(delta)
    return dict(d=math.ceil(10 * size), m=math.ceil(9 * size))


def paper_probability(weights: str | Weights, model: data.Model, log_n: Positive) -> float:
    """The exact probability of separation with the sizes of :data:`MODELS` and
    :func:`paper_sizes`.
    """
    return separation_probability(
        weights, model, **paper_sizes(log_n), **MODELS[model], log_n=log_n
    )


def paper_data(model: data.Model, log_n: Positive) -> tuple[DataSet, DataSet]:
    """D1 and D0 with the sizes of :data:`MODELS` and :func:`paper_sizes`."""
    sizes, d = MODELS[model], paper_sizes(log_n)["d"]
    D1, D0 = (DataSet(model, log_n, sizes[a], sizes["b"], sizes["c"], d) for a in ("a1", "a0"))
    return D1, D0


@dataclass(frozen=True)
class Edge:
    """An edge of the window: the knob of the formula, the knob that the theorem's noise term
    allows, and the exact crossing.
    """

    formula: float
    bound: float
    crossing: float


def edge(
    family: Callable[[float], Weights], model: data.Model, log_n: Positive, upper: bool = False
) -> Edge:
    """The knob at which the exact probability crosses half of its limit 1 - (3/4)^m at the paper's
    sizes, and the theorem's values for it.

    At the formula's knob the theorem's median bound applies. Below its ``bound`` the noise of m
    sign vectors is too small: the upper bound on D1's firing is below that level, or (``upper``)
    the one on D0's firing still allows it.

    Raises:
        ArithmeticError: the probability does not cross that level near the theorem's values.
    """
    m = paper_sizes(log_n)["m"]
    level = (1 - 0.75**m) / 2
    found = paper_data(model, log_n)[upper]
    formula = (upper_edge if upper else lower_edge)(family, found)
    start = _least(family)
    spare = 1 - (15 / 16) ** m - level if upper else level
    bound = solve_knob(lambda knob: found.fires_at_most(family(knob), m) - spare, start)
    low, high = max(start, 0.9 * bound), 1.2 * formula

    def beyond(knob: float) -> bool:
        return (paper_probability(family(knob), model, log_n) < level) == upper

    if beyond(low) or not beyond(high):
        raise ArithmeticError(
            f"the probability does not cross {level:.3g} between {low} and {high}"
        )
    while high > 1.0001 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return Edge(formula, bound, high)


@dataclass(frozen=True)
class Window:
    """The sharpnesses between two edges; empty if the edges have crossed."""

    lower: float
    upper: Extended

    @property
    def open(self) -> bool:
        """Whether there is a sharpness between the edges."""
        return self.lower < self.upper


def limit_window(
    model: data.Model,
    a0: NonNegative,
    a1: Positive,
    b: data.Scale = None,
    c: data.Scale = None,
    growth: Chance = 0.0,
) -> Window:
    """Sharpnesses for which P[F_u positive on D1, 0 on D0] tends to 1; beyond its edges it tends to
    0.

    Args:
        model, a0, a1, b, c: as in :func:`separation_probability`.
        growth: for ``self-identity`` the eps of d - 2 = n^eps.
    """
    D1, D0 = (contest(model, a, b, c, growth) for a in (a1, a0))
    crowd = growth / b**2 if model == "self-identity" and b else math.inf
    return Window(D1, min(D0, crowd))


def contest(
    model: data.Model,
    a: NonNegative,
    b: data.Scale = None,
    c: data.Scale = None,
    growth: Chance = 0.0,
) -> Extended:
    """The sharpness at which the special key matches the crowd for large n: the log of the number
    of rivals over the gap of the scores.

    Args:
        model, a, b, c, growth: as in :func:`limit_window`.
    """
    if a == 0:
        return math.inf
    if b is None or c is None:
        return 1 / a
    if model == "self-ones":
        return 1 / (a * (a + b + c))
    return max(
        (1 - growth) / a**2, 1 / (a**2 + b**2)
    )  # its own block has n^(1 - growth) rivals, all blocks n


def largest_block(log_ratio: NonNegative, blocks: Count) -> float:
    """Upper bound on the weight of a block of columns when the largest u of a row is at most
    exp(log_ratio) times the smallest.
    """
    return share(log_ratio, math.log(blocks - 1)) if blocks > 1 else 1.0


def fires_at_most_for_any_scores(log_ratio: NonNegative, found: DataSet, m: Count) -> float:
    """Upper bound on P[one of m sign vectors makes a row exceed tau], whatever the scores are.

    m n exp(-h^2 / (2 g)) with h = (kappa - a s) / b, where every weight is at most s and every
    block's weight at most g.

    Args:
        log_ratio: in each row the largest u is at most exp(log_ratio) times the smallest.
        found: the data, of which n, a, b, kappa and d are used, not the scores.
        m: sign vectors.

    Raises:
        ValueError: data without b (cross-attention) or without d.
    """
    if found.b is None or found.d is None:
        raise ValueError(
            f"b = {found.b}, d = {found.d} are not allowed: the bound is about self-attention "
            "with d columns"
        )
    a, b, kappa = found.row
    room = kappa - a * share(log_ratio, found.log_n + math.log1p(-math.exp(-found.log_n)))
    if room < 0 or b == 0:
        return float(room < 0)
    exponent = (
        math.log(m) + found.log_n - (room / b) ** 2 / (2 * largest_block(log_ratio, found.d - 2))
    )
    return min(1.0, math.exp(min(exponent, 0.0)))


def needed_log_ratio_for_any_scores(found: DataSet, m: Count, chance: OpenChance = 0.5) -> float:
    """The log ratio of the largest to the smallest u in a row below which no scores let D1 fire
    with the given chance.
    """
    return solve_knob(lambda x: fires_at_most_for_any_scores(x, found, m) - chance, 1e-9)
