"""The exact probability of E_success, without sampling and without attention matrices.

Given the data only the signs are random. The rows of an attention layer fall into at most three
classes, and the value of a row of each class is linear in a few sums of signs:

    <c_j, y> = first y_1 + star y_* + last y_d + other K + best M

with y_1, y_*, y_d the signs of the first column, of the block column that the special key belongs
to and of the last column (none for cross-attention), K the sum of the N other block signs and M
their maximum. All coefficients of K and M are >= 0, so for each of the 8 (or 4) patterns of (y_1,
y_*, y_d) a network fires from some number of plus signs on, and its probability is a binomial tail.

Coefficients are balls (Arb, through python-flint): each ball encloses its number, so that a
comparison is either decided, and thereby proved, or open. Precision is raised only while one is
open, so that n = 10^10000 costs milliseconds.
"""

import math
from collections.abc import Iterable
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy import special
from theorybook.prove import ball
from theorybook.validation import Count, NonNegative, Positive

from attention_theory.attention import Weights, as_weights
from attention_theory.separation import data
from attention_theory.separation.data import Model, Scale
from attention_theory.separation.network import NETWORKS, SuccessCounts

#: Binomial tails with at most this many signs are summed in integers.
INTEGER_SIGNS = 2000


#: Bits at which a comparison is tried first, and at which it is given up: numbers that still agree
#: there count as equal.
FEWEST_BITS, MOST_BITS = 64, 2**16
#: The most bits for weights sharper than softmax, whose smallest need not be distinguished from 0.
SHARP_BITS = 2**12


class RowClass(NamedTuple):
    """Coefficients of y_1, y_*, y_d, K and M in the value of a row."""

    first: Any
    star: Any
    last: Any
    other: Any
    best: Any


def row_classes(
    model: Model,
    weights: str | Weights,
    d: Count,
    log_n: Any,
    n: Any,
    a: Any,
    b: Any | None,
    c: Any | None,
    key: Any | None = None,
) -> list[RowClass]:
    """The classes of rows of one attention layer: the special row, the other rows of its block, and
    the remaining rows.

    Two classes with equal scores are given once. Classes without a row are left out.

    Args:
        model: as in :func:`data.inputs`.
        weights: as in :func:`attention_theory.attention.attention_weights`.
        d: columns of the data.
        log_n, n, a, b, c: ln n, n and the sizes of the data, as numbers of one type that has
            ``sqrt`` and ``exp``: Decimals, or balls (``flint.arb``). n may be any real number >= d
            - 2 (d - 1 for cross).
        key: as in :func:`separation_probability`, of the same type; None for 0.

    Raises:
        ValueError: numbers of different or other types; or the hard maximum with a size of 0.

    >>> from decimal import Decimal
    >>> from attention_theory.separation import row_classes
    >>> n, a = Decimal(8), Decimal(2)
    >>> len(row_classes("cross", "linear", 5, n.ln(), n, a, None, None))  # the special row, the others
    2
    """
    number = type(log_n)
    given = [log_n, n, a] if model == "cross" else [log_n, n, a, b, c]
    if not hasattr(log_n, "sqrt") or any(type(x) is not number for x in given):
        kinds = ", ".join(type(x).__name__ for x in given)
        raise ValueError(f"log_n, n, a, b and c must all be Decimals or all be balls, got {kinds}")
    columns = d - 1 if model == "cross" else d - 2
    t = n / columns
    # Four groups of keys: the special one, the rest of its block, one other block, all others. With
    # a single block column the last two are empty. For each class of rows, ``rows`` has the index of
    # each group's score in ``values``.
    counts = (
        (number(1), t - 1, t, n - 2 * t)
        if columns > 1
        else (number(1), t - 1, number(0), number(0))
    )
    if model == "cross":
        # queries score every key with ln n, but the special query scores the special key with (1 +
        # a) ln n
        values, rows = [(1 + a) * log_n, log_n], [(0, 1, 1, 1), (1, 1, 1, 1)]
        size, block, last = number(1), number(1), number(0)
    else:
        scale = log_n.sqrt()
        size, block, last = a * scale, b * scale, c * scale
        if model == "self-ones":
            # the product of the row sums
            special, usual = size + block + last, block + last
            values, rows = (
                [special * special, special * usual, usual * usual],
                [(0, 1, 1, 1), (1, 2, 2, 2)],
            )
            if key is not None:  # the first column once more, which only the special row has
                values[0] += key * size * size
        else:
            # the inner product: c^2 for all, plus b^2 in the same block, plus a^2 for the special row
            # with itself
            far, near = last**2, block**2 + last**2
            values, rows = [size**2 + near, near, far], [(0, 1, 2, 2)]
            rows += [(1, 1, 2, 2)] if t > 1 else []
            rows += [(2, 2, 1, 2)] if columns > 1 else []
    family = as_weights(weights)
    hard = family.knob == math.inf
    if hard and (a == 0 or b == 0):
        raise ValueError(
            f"a = {a}, b = {b}: equal scores leave the hard maximum open; give sizes > 0"
        )
    raw = [] if hard else [family(value) for value in values]
    classes = []
    for row in rows:
        if hard:  # the values decrease
            raw = [number(int(i == min(row))) for i in range(len(values))]
        total = sum((count * raw[i] for count, i in zip(counts, row)), number(0))
        special, rest_of_block, one_block, others = (raw[i] / total for i in row)
        classes.append(
            RowClass(
                first=size * special,
                star=block * (special + (t - 1) * rest_of_block),
                last=last,
                other=block * t * others,
                best=block * t * (one_block - others),
            )
        )
    return classes


class _OpenError(ArithmeticError):
    """A comparison that more bits may decide."""


def _positive(x: Any, give_up: bool) -> bool:
    """Whether a ball is positive. If it contains 0, raise :class:`_OpenError`, or answer no when
    ``give_up`` is set.
    """
    if x > 0:
        return True
    if not (x <= 0 or give_up):
        raise _OpenError
    return False


def _size(x: Any) -> float:
    """A lower bound on a ball's distance from 0."""
    return float(x.abs_lower())


def _firing(
    rows: list[RowClass], signs: int, pattern: tuple[int, int, int], tau: Any, give_up: bool
) -> tuple[int, float]:
    """The fewest plus signs among ``signs`` at which one of the rows exceeds tau (``signs`` + 1:
    never), and the margin.
    """
    fewest, margins = signs + 1, []
    for first, star, last, other, best in rows:
        base = pattern[0] * first + pattern[1] * star + pattern[2] * last - tau - other * signs
        # the excess over tau: ``none`` without a plus sign, some + 2 * other * plus with plus > 0 of
        # them
        none, some = base - best, base + best
        if signs == 0 or _positive(none, give_up):
            needed, near = (0 if _positive(none, give_up) else 1), _size(none)
        elif _positive(some + 2 * other, give_up):
            needed, near = 1, min(_size(some + 2 * other), _size(none))
        elif not _positive(some + 2 * other * signs, give_up):
            needed, near = signs + 1, _size(some + 2 * other * signs)
        else:
            reach = -some / (2 * other)
            whole = reach.floor().unique_fmpz()
            if whole is None:
                if not give_up:
                    raise _OpenError
                whole = (
                    (reach + 0.5).mid().floor().unique_fmpz()
                )  # a tie with tau, which does not exceed it
            needed = int(whole) + 1
            near = min(_size(some + 2 * other * needed), _size(some + 2 * other * (needed - 1)))
        fewest = min(fewest, needed)
        margins.append(near)
    return fewest, min(margins)


def _bits(
    networks: list[tuple[str | Weights, float]], b: Scale, c: Scale, log_n: float, key: float
) -> int:
    """A precision in bits that distinguishes the smallest weight, and n of them together, from 0,
    with 64 bits to spare.
    """
    needed = 0.0
    for weights, a in networks:
        # scores are at most top ln n
        top, family = (
            1 + a if b is None or c is None else (a + b + c) ** 2 + key * a**2,
            as_weights(weights),
        )
        needed = max(needed, 64 + 1.5 * (1 + top) * log_n)
        if family.family == "sharp" and 1 < family.knob < math.inf:
            needed = max(needed, min(SHARP_BITS, 64 + 1.5 * (1 + family.knob * top) * log_n))
    return int(min(MOST_BITS, needed))


def _patterns(
    model: Model,
    d: int,
    networks: list[tuple[str | Weights, float]],
    b: Scale,
    c: Scale,
    n: int | None,
    log_n: float | None = None,
    key: float = 0.0,
) -> tuple[int, list[list[int]], float]:
    """The number N of block signs; for each pattern of the other signs the fewest plus signs at
    which each network fires; the smallest margin.

    Args:
        networks: (weights, a) of each.

    Raises:
        ValueError: sizes and parameters that are not allowed.
    """
    from flint import ctx

    _check_probability(model, d, b, c, n, log_n)
    given: Any = n if log_n is None else log_n
    most = _bits(networks, b, c, math.log(given) if log_n is None else given, key)

    def at_hand(give_up: bool) -> tuple[int, list[list[int]], float]:
        """The result at the current precision; :class:`_OpenError` if that leaves a comparison
        open.
        """
        size = ball(given) if log_n is None else ball(given).exp()
        ln = size.log() if log_n is None else ball(given)
        b_ball, c_ball, extra = (None if x is None else ball(x) for x in (b, c, key or None))
        signs, tau = d - 2 if model == "cross" else d - 3, data.threshold(model, ln.sqrt(), c_ball)
        rows = [
            row_classes(model, weights, d, ln, size, ball(a), b_ball, c_ball, extra)
            for weights, a in networks
        ]
        patterns, margins = [], []
        for pattern in product((1, -1), (1, -1), (0,) if model == "cross" else (1, -1)):
            answers = [_firing(classes, signs, pattern, tau, give_up) for classes in rows]
            patterns.append([fewest for fewest, _ in answers])
            margins.append(min(margin for _, margin in answers))
        return signs, patterns, min(margins)

    bits = FEWEST_BITS
    while True:
        with ctx.workprec(min(bits, most)):
            try:
                return at_hand(give_up=bits >= most)
            except _OpenError:
                bits *= 4


def _event(a0: NonNegative, a1: NonNegative) -> list[tuple[str | Weights, float]]:
    """The four networks of E_success, each with the size a of its data."""
    return [(weights, (a0, a1)[which]) for weights, which in NETWORKS]


@lru_cache(maxsize=256)
def _upper(signs: int) -> list[int]:
    """The number of the 2^signs vectors with at least k plus signs, for k = 0, ..., signs + 1."""
    sums = [0]
    binomial = 1
    for k in range(signs + 1):  # from k = signs down: C(N, N-k) = C(N, k)
        sums.append(sums[-1] + binomial)
        binomial = binomial * (signs - k) // (k + 1)
    return sums[::-1]


def success_counts(
    model: Model,
    n: Count,
    d: Count,
    a0: NonNegative,
    a1: NonNegative,
    b: Scale = None,
    c: Scale = None,
) -> SuccessCounts:
    """Exact numbers of sign vectors without a false alarm, and without any alarm, in O(d) work.

    The special rows of D0 and D1 lie in the same residue class (the same block column). Validated
    against :func:`network.enumerated_counts`.

    Args:
        model: one of ``data.MODELS``.
        n, d: rows and columns of the data.
        a0, a1, b, c: sizes of the data; no b and c for ``cross``.

    Raises:
        ValueError: sizes that do not fit, or parameters that are negative or not finite.

    >>> from attention_theory.separation import success_counts
    >>> counts = success_counts("cross", 12, 4, a0=0.01, a1=1.2)
    >>> counts.total
    16
    >>> counts.ok - counts.ok_and_quiet  # softmax detects, and nothing else fires
    3
    """
    signs, patterns, margin = _patterns(model, d, _event(a0, a1), b, c, n)
    upper = _upper(signs)
    total = len(patterns) << signs
    calm = [total // len(patterns) - upper[min(fewest[1:])] for fewest in patterns]
    silent = [total // len(patterns) - upper[min(fewest)] for fewest in patterns]
    quiet = tuple(total - sum(upper[fewest[i]] for fewest in patterns) for i in range(4))
    return SuccessCounts(sum(calm), sum(silent), total, quiet, margin)


def _tail(plus: int, signs: int) -> float:
    """P[at least ``plus`` of ``signs`` fair signs are +1]."""
    if signs <= INTEGER_SIGNS:
        return _upper(signs)[plus] / 2**signs
    if plus == 0 or plus > signs:
        return float(plus == 0)
    if signs < 2**52:
        return float(special.betainc(plus, signs - plus + 1, 0.5))
    # beyond the integers of a float; the normal tail is then exact to about 1e-8 of itself
    return float(special.erfc((2 * plus - 1 - signs) / math.sqrt(2 * signs)) / 2)


def _mean(counted: Iterable[float]) -> float:
    counted = list(counted)
    return math.fsum(counted) / len(counted)


def _only_first(signs: int, patterns: list[list[int]], m: int) -> float:
    """P[the first network fires at one of m shared sign vectors, the others at none]."""
    alarm = _mean(_tail(min(fewest[1:]), signs) for fewest in patterns)
    # no false alarm, and the first fires
    hit = _mean(_tail(min(fewest), signs) - _tail(min(fewest[1:]), signs) for fewest in patterns)
    if hit == 0:
        return 0.0
    with np.errstate(divide="ignore"):
        return float(
            np.exp(m * np.log1p(-alarm)) * -np.expm1(m * np.log1p(-min(1.0, hit / (1 - alarm))))
        )


def _check_probability(
    model: Model, d: int, b: Scale, c: Scale, n: int | None, log_n: float | None
) -> None:
    """Raise ValueError unless sizes and parameters are allowed."""
    columns = data.check_columns(model, d)
    data.check_scales(model, b, c)
    if n is not None and log_n is None:
        data.check_sizes(model, n, d)
    elif log_n is None or n is not None:
        raise ValueError(f"n = {n}, log_n = {log_n} are not allowed: give exactly one of the two")
    elif log_n < math.log(columns) * (1 - 1e-12):
        raise ValueError(
            f"log_n = {log_n} is not allowed: n must hold one identity block of size {columns}"
        )


def separation_probability(
    weights: str | Weights,
    model: Model,
    d: Count,
    m: Count,
    a0: NonNegative,
    a1: NonNegative,
    b: Scale = None,
    c: Scale = None,
    n: Count | None = None,
    log_n: Positive | None = None,
    key: NonNegative = 0.0,
) -> float:
    """P[F_u positive on D1 and 0 on D0] exactly, for one network with attention weights u and
    shared signs.

    Args:
        weights: the family of weights.
        model, d, m, a0, a1, b, c, n, log_n: as in :func:`success_probability`.
        key: for ``self-ones`` the factor of e1 e1' that is added to the ones: X = 11' + key e1 e1'.

    Raises:
        ValueError: as :func:`success_probability`; weights that are unknown; the hard maximum with
            a size of 0; a key for another model.

    >>> from attention_theory.exponential import separation_probability, sharp
    >>> setting = dict(model="cross", d=11, m=20, a0=0.01, a1=1.2, n=200)
    >>> [round(separation_probability(sharp(beta), **setting), 2) for beta in (0.2, 1)]
    [0.0, 0.98]
    """
    if key and model != "self-ones":
        raise ValueError(
            f"key = {key} is not allowed: it belongs to the model self-ones, got {model}"
        )
    signs, patterns, _ = _patterns(model, d, [(weights, a1), (weights, a0)], b, c, n, log_n, key)
    return _only_first(signs, patterns, m)


def success_probability(
    model: Model,
    d: Count,
    m: Count,
    a0: NonNegative,
    a1: NonNegative,
    b: Scale = None,
    c: Scale = None,
    n: Count | None = None,
    log_n: Positive | None = None,
    shared_signs: bool = True,
) -> float:
    """P[E_success] exactly: (N_ok / 2^d)^m - (N_ok_and_quiet / 2^d)^m, up to the rounding of one
    float.

    With ``shared_signs=False`` each network has its own y, and the probability is a product of
    four.

    Args:
        model: one of ``data.MODELS``.
        d, m: columns of the data; number of sign vectors.
        a0, a1, b, c: sizes of the data; no b and c for ``cross``.
        n: rows of the data, n = (d-2) t or (d-1) t; or instead
        log_n: ln n, for sizes beyond floats; then t = n / (d-2) is any real number >= 1.

    Raises:
        ValueError: both or neither of n and log_n; sizes that do not fit; bad parameters; m < 1.

    >>> from attention_theory.separation import success_probability
    >>> p = success_probability("self-ones", 22, 15, a0=0.01, a1=1.2, b=0.2, c=0.8, n=200)
    >>> round(p, 2)
    0.89
    """
    signs, patterns, _ = _patterns(model, d, _event(a0, a1), b, c, n, log_n)
    if shared_signs:
        return _only_first(signs, patterns, m)
    missed, *alarms = _failures(signs, patterns, m)
    return (1 - missed) * math.prod(1 - p for p in alarms)


def _failures(signs: int, patterns: list[list[int]], m: int) -> list[float]:
    """P[the first network fires at none of m sign vectors], and of each other network P[it fires at
    one].
    """
    fires = [_mean(_tail(fewest[i], signs) for fewest in patterns) for i in range(4)]
    return [
        (1 - fires[0]) ** m,
        *(-math.expm1(m * math.log1p(-p)) if p < 1 else 1.0 for p in fires[1:]),
    ]


def failures(
    model: Model,
    n: Count,
    d: Count,
    m: Count,
    a0: NonNegative,
    a1: NonNegative,
    b: Scale = None,
    c: Scale = None,
) -> list[float]:
    """For each of the four networks the exact probability that it is wrong with m sign vectors.

    Args:
        model, n, d, m, a0, a1, b, c: as in :func:`success_probability`.

    >>> from attention_theory.separation import failures
    >>> wrong = failures("self-ones", 200, 22, 15, a0=0.01, a1=1.2, b=0.2, c=0.8)
    >>> [round(p, 2) for p in wrong]
    [0.01, 0.1, 0.08, 0.1]
    """
    signs, patterns, _ = _patterns(model, d, _event(a0, a1), b, c, n)
    return _failures(signs, patterns, m)
