"""The exact probability of E_success, without sampling and without attention matrices.

Given the data only the signs are random. The rows of an attention layer fall into at most three classes, and the value of
a row of each class is linear in a few sums of signs:

    <c_j, y> = first y_1 + star y_* + last y_d + other K + best M

with y_1, y_*, y_d the signs of the first column, of the block column that the special key belongs to and of the last column
(none for cross-attention), K the sum of the N other block signs and M their maximum. All coefficients of K and M are >= 0, so
for each of the 8 (or 4) patterns of (y_1, y_*, y_d) a network fires from some number of plus signs on: binomial tails count.

Coefficients are Decimals with as many digits as n needs, then integers, so that near ties are decided right at n = 10^100 too.
"""

import math
from collections.abc import Iterable
from decimal import Decimal, getcontext, localcontext
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy import special

from . import data
from .data import Real
from .network import NETWORKS, SuccessCounts, check_counts

#: Binomial tails with at most this many signs are summed in integers.
INTEGER_SIGNS = 2000


@lru_cache(maxsize=64)
def _ln10(digits: int) -> Decimal:
    with localcontext() as context:
        context.prec = digits
        return Decimal(10).ln()


def exponential(x: Decimal) -> Decimal:
    """exp(x) to the digits of the context, by a Taylor sum in integers: Decimal.exp takes 50 times as long at 600 digits."""
    digits = getcontext().prec
    power = int(x / _ln10(digits + 10))
    with localcontext() as context:
        context.prec = digits + len(str(abs(power))) + 10
        rest = x - power * _ln10(context.prec)  # |rest| < 2.4, and exp(x) = 10^power exp(rest)
        halvings = math.isqrt(digits) + 4
        bits = int(3.33 * digits) + 2 * halvings + 20
        step = int(rest * 2**bits) >> halvings
        total = term = 1 << bits
        for k in range(1, digits):
            term = (term * step >> bits) // k
            if term in (0, -1):
                break
            total += term
        for _ in range(halvings):
            total = total * total >> bits
        return +(Decimal(total) / 2**bits).scaleb(power)


class RowClass(NamedTuple):
    """Coefficients of y_1, y_*, y_d, K and M in the value of a row."""

    first: Decimal
    star: Decimal
    last: Decimal
    other: Decimal
    best: Decimal


def row_classes(
    model: str, weights: str, d: int, log_n: Decimal, n: Decimal, a: Decimal, b: Decimal | None, c: Decimal | None
) -> list[RowClass]:
    """The classes of rows of one attention layer: the special row, the other rows of its block, the rest.

    Where two classes have equal scores they are given once. Classes without a row are left out.

    Args:
        model, weights: as in :func:`data.inputs` and :func:`network.attention_features`.
        d, log_n, n: sizes; n may be any real number >= d - 2 (d - 1 for cross).
        a, b, c: the sizes of the data.
    """
    columns = d - 1 if model == "cross" else d - 2
    t = n / columns
    # Scores of four groups of keys: the special one, the rest of its block, one other block, all others. With a single block
    # column the last two are empty.
    counts = (Decimal(1), t - 1, t, n - 2 * t) if columns > 1 else (Decimal(1), t - 1, Decimal(0), Decimal(0))
    if model == "cross":
        # queries score every key with ln n, but the special query scores the special key with (1 + a) ln n
        scores = [((1 + a) * log_n, log_n, log_n, log_n), (log_n,) * 4]
        size, block, last = Decimal(1), Decimal(1), Decimal(0)
    else:
        scale = log_n.sqrt()
        size, block, last = a * scale, b * scale, c * scale
        if model == "self-ones":
            # the product of the row sums
            sums = (size + block + last, block + last, block + last, block + last)
            scores = [tuple(r * s for s in sums) for r in sums[:2]]
        else:
            # the inner product: c^2 for all, b^2 more in the same block, a^2 more for the special row with itself
            far, near, itself = last**2, block**2 + last**2, size**2 + block**2 + last**2
            scores = [(itself, near, far, far)]
            scores += [(near, near, far, far)] if t > 1 else []
            scores += [(far, far, near, far)] if columns > 1 else []
    raw = {score: exponential(score) if weights == "softmax" else score for score in set().union(*scores)}
    classes = []
    for row in scores:
        total = sum(count * raw[score] for count, score in zip(counts, row))
        special, rest_of_block, one_block, others = (raw[score] / total for score in row)
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


def _firing(rows: list[tuple[int, ...]], signs: int, pattern: tuple[int, int, int], tau: int) -> tuple[int, int]:
    """The fewest plus signs among ``signs`` with which one of the rows exceeds tau (``signs`` + 1: never), and the margin."""
    fewest, margins = signs + 1, []
    for first, star, last, other, best in rows:
        base = pattern[0] * first + pattern[1] * star + pattern[2] * last - tau - other * signs
        # the excess over tau is none without a plus sign, and some + 2 other plus with plus > 0 of them
        none, some = base - best, base + best
        if none > 0 or signs == 0:
            needed, near = (0 if none > 0 else 1), abs(none)
        elif other == 0:
            needed, near = (1 if some > 0 else signs + 1), abs(some)
        else:
            needed = -some // (2 * other) + 1
            if needed <= 1:
                needed, near = 1, min(some + 2 * other, -none)
            elif needed > signs:
                needed, near = signs + 1, -(some + 2 * other * signs)
            else:
                over = some + 2 * other * needed
                near = min(over, 2 * other - over)
        fewest = min(fewest, needed)
        margins.append(near)
    return fewest, min(margins)


def _patterns(
    model: str, d: int, a0: Real, a1: Real, b: Real | None, c: Real | None, n: int | None, log_n: Real | None
) -> tuple[int, list[list[int]], float]:
    """N; for each sign pattern the fewest plus signs with which each of the four networks fires; the smallest margin."""
    # a parameter means the decimal number that is written: 0.1 is 1/10
    a0, a1, b, c = (None if x is None else Decimal(repr(float(x))) for x in (a0, a1, b, c))
    a = max(a0, a1)
    rough = math.log(n) if log_n is None else float(log_n)
    # the smallest weights are about n^-top, and up to n of them are added: 20 digits beyond both
    top = 1 + a if model == "cross" else (a + b + c) ** 2
    digits = 20 + math.ceil((1 + top) * Decimal(rough) / Decimal(math.log(10)))
    with localcontext() as context:
        context.prec = digits + 5
        size = exponential(Decimal(repr(rough))) if n is None else Decimal(n)
        log_n = Decimal(repr(rough)) if n is None else size.ln()
        signs = d - 2 if model == "cross" else d - 3

        def whole(x: Decimal) -> int:
            return int(x.scaleb(digits))

        # a value that equals tau to all digits carried does not exceed it
        tau = whole(data.threshold(model, log_n.sqrt(), c)) + 100 * (signs + 1)
        networks = []
        for weights, which in NETWORKS:
            classes = row_classes(model, weights, d, log_n, size, (a0, a1)[which], b, c)
            networks.append(list(dict.fromkeys(tuple(map(whole, row)) for row in classes)))
    patterns, margins = [], []
    for pattern in product((1, -1), repeat=2 if model == "cross" else 3):
        answers = [_firing(rows, signs, (*pattern, 0)[:3], tau) for rows in networks]
        patterns.append([fewest for fewest, _ in answers])
        margins.append(min(margin for _, margin in answers))
    return signs, patterns, min(margins) / 10**digits


@lru_cache(maxsize=256)
def _upper(signs: int) -> list[int]:
    """How many of the 2^signs vectors have at least k plus signs, for k = 0, ..., signs + 1."""
    sums = [0]
    binomial = 1
    for k in range(signs + 1):  # from k = signs down: C(N, N-k) = C(N, k)
        sums.append(sums[-1] + binomial)
        binomial = binomial * (signs - k) // (k + 1)
    return sums[::-1]


def success_counts(
    model: str, n: int, d: int, a0: Real, a1: Real, b: Real | None = None, c: Real | None = None
) -> SuccessCounts:
    """Exact numbers of sign vectors without a false alarm, and without any alarm, in O(d) work.

    The special rows of D0 and D1 lie in the same residue class (the same block column). Validated against
    :func:`network.enumerated_counts`.

    Args:
        model: one of ``data.MODELS``.
        n, d: rows and columns of the data.
        a0, a1, b, c: sizes of the data; no b and c for ``cross``.

    Raises:
        ValueError: sizes that do not fit, or parameters that are negative or not finite.
    """
    data.check_sizes(model, n, d)
    data.check_parameters(a0=a0, a1=a1)
    data.check_scales(model, b, c)
    signs, patterns, margin = _patterns(model, int(d), a0, a1, b, c, int(n), None)
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


def success_probability(
    model: str,
    d: int,
    m: int,
    a0: Real,
    a1: Real,
    b: Real | None = None,
    c: Real | None = None,
    n: int | None = None,
    log_n: Real | None = None,
    shared_signs: bool = True,
) -> float:
    """P[E_success] exactly: (N_ok / 2^d)^m - (N_ok_and_quiet / 2^d)^m, up to the rounding of one float.

    With ``shared_signs=False`` each network has its own y, and the probability is a product of four.

    Args:
        model: one of ``data.MODELS``.
        d, m: columns of the data; number of sign vectors.
        a0, a1, b, c: sizes of the data; no b and c for ``cross``.
        n: rows of the data, n = (d-2) t or (d-1) t; or instead
        log_n: ln n, for sizes beyond floats; then t = n / (d-2) is any real number >= 1.

    Raises:
        ValueError: both or neither of n and log_n; sizes that do not fit; bad parameters; m < 1.
    """
    columns = data.check_columns(model, d)
    data.check_parameters(a0=a0, a1=a1)
    data.check_scales(model, b, c)
    check_counts(m=m)
    if (n is None) == (log_n is None):
        raise ValueError(f"n = {n}, log_n = {log_n} are not allowed: give exactly one of the two")
    if n is not None:
        data.check_sizes(model, n, d)
        n = int(n)
    elif not math.isfinite(log_n) or log_n <= 0 or log_n < math.log(columns) * (1 - 1e-12):
        raise ValueError(f"log_n = {log_n} is not allowed: n must be > 1 and hold one identity block of size {columns}")
    signs, patterns, _ = _patterns(model, int(d), a0, a1, b, c, n, log_n)

    def mean(counted: Iterable[float]) -> float:
        return math.fsum(counted) / len(patterns)

    if shared_signs:
        alarm = mean(_tail(min(fewest[1:]), signs) for fewest in patterns)
        # no false alarm, and F_exp(D1) fires
        hit = mean(_tail(min(fewest), signs) - _tail(min(fewest[1:]), signs) for fewest in patterns)
        if hit == 0:
            return 0.0
        with np.errstate(divide="ignore"):
            return float(np.exp(m * np.log1p(-alarm)) * -np.expm1(m * np.log1p(-min(1.0, hit / (1 - alarm)))))
    fires = [mean(_tail(fewest[i], signs) for fewest in patterns) for i in range(4)]
    with np.errstate(divide="ignore"):
        logs = m * np.log1p(-np.array(fires))
    return float(-np.expm1(logs[0]) * np.exp(logs[1:].sum()))
