"""The probability that one row of an attention layer fires, at any size: a binomial tail for each
pattern of its single signs.
"""

import itertools
import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from typing import Annotated

import numpy as np
from attention_theory.device import generator, signs
from attention_theory.separation import data
from attention_theory.separation.data import Model, Scale
from attention_theory.separation.exact import RowClass, row_classes
from attention_theory.separation.network import (
    NETWORKS,
    ROUNDING,
    attention_features,
    readout,
    sign_vectors,
)
from theorybook.validation import (
    Count,
    Integer,
    Limits,
    Natural,
    NonNegative,
    Positive,
    Seed,
    Signed,
    Size,
    Steps,
)

from attention_checks.separation.parts import Layer


def row_alarm(single: Sequence[float], other: NonNegative, others: Steps, tau: Signed) -> float:
    """Pr[<row, sigma> > tau] for a row with these single entries and ``others`` entries that all
    are ``other`` >= 0.
    """
    from scipy import stats

    gaps = tau - np.array(list(itertools.product((1, -1), repeat=len(single)))) @ single
    if others == 0 or other == 0:
        return float((gaps < -1e-12).mean())
    # a value this close to tau equals it and does not fire
    return float(stats.binom.sf(np.floor((gaps / other + others) / 2 + 1e-9), others, 0.5).mean())


def class_values(
    model: Model, weights: str, n: Count, d: Count, a: NonNegative, b: Scale = None, c: Scale = None
):
    """:func:`attention_theory.separation.exact.row_classes` as floats, in units of sqrt(ln n) for
    self-attention.

    n may have hundreds of digits.
    """
    with localcontext() as context:
        context.prec = 120 + 2 * len(str(n))  # all terms are positive: no cancellation
        sizes = [None if x is None else Decimal(repr(float(x))) for x in (a, b, c)]
        log_n = Decimal(n).ln()
        scale = Decimal(1) if model == "cross" else log_n.sqrt()
        classes = row_classes(model, weights, d, log_n, Decimal(n), *sizes)
        return [RowClass(*(float(x / scale) for x in row)) for row in classes]


def class_alarms(
    model: Model,
    weights: str,
    n: Count,
    d: Size,
    a: NonNegative,
    b: Scale = None,
    c: Scale = None,
    tau: Signed | None = None,
) -> list[float]:
    """Pr[<c_j, sigma> > tau] for each class of rows: the special row first, the last one the rows
    of other blocks.

    Args:
        model, weights, n, d, a, b, c: as in :func:`attention_theory.separation.exact.row_classes`.
        tau: threshold in units of sqrt(ln n) (cross: of 1); the paper's if not given.
    """
    bar = data.threshold(model, 1.0, c) if tau is None else tau
    found = []
    for row in class_values(model, weights, n, d, a, b, c):
        others = d - 2 if model == "cross" else d - 3
        single = [row.first, row.star, row.last] + [row.other + row.best] * (row.best > 0)
        found.append(row_alarm(single, row.other, others - (row.best > 0), bar))
    return found


def layer_alarm(layer: Layer, row: Integer) -> float:
    """Pr[<c_j, sigma> > tau] for one row of a layer, from its features."""
    if not -layer.n <= row < layer.n:
        raise ValueError(f"row = {row} is not allowed: the layer has {layer.n} rows")
    features = [round(x, 12) for x in layer.row(row)]
    values, counts = np.unique(features, return_counts=True)
    most = int(np.argmax(counts))
    single = [v for i, (v, k) in enumerate(zip(values, counts)) for _ in range(k) if i != most]
    return row_alarm(
        single, values[most], int(counts[most]), data.threshold(layer.model, 1.0, layer.c)
    )


def special_row(
    model: Model, n: Count, d: Size, a: NonNegative, b: Scale = None, c: Scale = None
) -> tuple[float, float]:
    """The weight of j3 in the special row of softmax attention on D1, and the share of sign vectors
    for which the row fires.
    """
    first = class_values(model, "softmax", n, d, a, b, c)[0]
    return first.first / (1 if model == "cross" else a), class_alarms(
        model, "softmax", n, d, a, b, c
    )[0]


def enumerated_alarm(layer: Layer, row: Integer) -> int:
    """How many of the 2^d sign vectors, tried one by one, make a row of a layer fire; row -1 is the
    last.
    """
    if not -layer.n <= row < layer.n:
        raise ValueError(f"row = {row} is not allowed: rows are {-layer.n} to {layer.n - 1}")
    tau = data.threshold(layer.model, math.sqrt(math.log(layer.n)), layer.c)
    return int(
        (sign_vectors(layer.d).to(layer.features) @ layer.features[row] > tau + ROUNDING).sum()
    )


def fitting(n: Count, need: Positive, single: Natural = 2) -> int:
    """The least d with at least ``need`` block columns that data of n rows can have, n a power of
    10.

    Args:
        n, need: rows, and block columns, which divide n.
        single: the other columns: 2, and 1 for cross-attention.
    """
    k = len(str(n))
    powers = (2**i * 5**j for i, j in itertools.product(range(k), repeat=2))
    fits = [p for p in powers if n % p == 0 and p >= need]
    if not fits:
        raise ValueError(f"no divisor of n = {n} is as large as {need}")
    return single + min(fits)


def small_block_bound(
    log_n: Positive, d: Count, a0: NonNegative, b: Annotated[float, Limits(0.1, 10)]
) -> float:
    """A bound h on the share of sign vectors that detect without a false alarm, X = I at the
    paper's threshold, shared signs.

    h = (exp(-D^2/(2 k)) + 2^(1 - k))/2 with k = d - 2, t = n/k and D = ((10 b - 1)(n^(b^2) - 1) - k
    - 10 a0/t)/(10 b); 1 where D <= 0 (own-identity-block; for a1 + b <= 2 c + 0.1).
    """
    k = data.check_columns("self-identity", d)
    more = math.expm1(min(b * b * log_n, 700.0))  # e^700 is as good as more
    D = ((10 * b - 1) * more - k - 10 * a0 * k * math.exp(-log_n)) / (10 * b)
    return (math.exp(-D * D / (2 * k)) + 2.0 ** (1 - k)) / 2 if D > 0 else 1.0


def literal_success(
    model: Model,
    n: Count,
    d: Count,
    m: Count,
    a0: NonNegative,
    a1: NonNegative,
    b: Scale = None,
    c: Scale = None,
    *,
    seed: Seed,
) -> bool:
    """One trial of E_success as the definitions say it: four attention layers, four readouts. The
    slow reference of :func:`attention_theory.separation.success_rate`.

    >>> from attention_checks.separation.chances import literal_success
    >>> sizes = dict(model="cross", n=12, d=4, m=4, a0=0.01, a1=1.2)
    >>> sum(literal_success(**sizes, seed=seed) for seed in range(20))  # successes among 20 trials
    7
    """
    y = signs(d, m, generator=generator(seed))
    tau = data.threshold(model, math.sqrt(math.log(n)), c)
    inputs = [data.inputs(model, n, d, a, b, c) for a in (a0, a1)]
    outputs = []
    for weights, which in NETWORKS:
        A1, A2, X = inputs[which]
        outputs.append(readout(attention_features(A1, A2, A2, X, weights), y, tau))
    return outputs[0] > 0 and outputs[1:] == [0, 0, 0]
