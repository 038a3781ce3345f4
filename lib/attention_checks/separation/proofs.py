"""Lemmas of deng2023 for all sizes at once: weights, features and probabilities in (n, d, a, b, c),
by :mod:`theorybook.prove`.

Every row of weights has at most three values, so that a bound is an inequality between rational
functions of the sizes and of powers of n. These are variables of their own, as ``where`` says (r =
n^a ...), so that nothing is lost at large n, and where a logarithm grows without end its inverse z
in (0, z0] takes its place, so that no tail is left over. Features are in units of sqrt(log n)
(cross-attention: 1); k is the number of block columns, t of identity blocks, n = k t.

A function gives one :class:`Proof` for each part, by the name of the part, ``d.2-3a``, tied to
layers of the network at drawn sizes; the printed formulas come as arguments: ``tau`` a threshold,
``hoeffding`` the bound of Lemma 3.1.
"""

import functools
import itertools
import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import torch
from attention_theory.separation import regression as model
from attention_theory.separation.data import Model
from theorybook.prove import (
    Proof,
    ball,
    conjunction,
    entropy,
    letters,
    monotone,
    power,
    prove_by_cases,
    prove_identity,
    prove_le,
    prove_less,
)
from theorybook.validation import Arithmetic, Positive

from attention_checks.separation.parts import Layer, Part, layer, layers

HALF, TENTH = Fraction(1, 2), Fraction(1, 10)
#: Sizes: k block columns, t identity blocks, n = k t.
SIZES: dict[str, Any] = {"k": (1, None), "t": (1, None)}
SELF, CROSS = {"k": "d - 2", "t": "t"}, {"k": "d - 1", "t": "t"}
#: Upper bound on the excess of two columns of a quiet row over their average, for n >= 1000 (1 +
#: a1)^2 (:func:`quiet`).
EXCESS = Fraction(22, 10000)
#: Layers that proofs are tied to: (k, t), the ends of the range among them.
DRAWN = [(1, 2), (2, 1), (3, 2), (5, 4)]
Hoeffding = Callable[[float, torch.Tensor, torch.Tensor], float]


def _drawn(
    kind: Model,
    weights: str,
    a: Sequence[float],
    b: Sequence[float] = (0.1, 0.6),
    unit: bool = False,
) -> list[Layer]:
    if kind == "cross":
        return layers(kind, weights, [(k * t, k + 1, 0, 0) for k, t in DRAWN], a)
    sizes = [
        (k * t, k + 2, x, math.sqrt(1 - x * x) if unit else 1 - x)
        for (k, t), x in itertools.product(DRAWN, b)
    ]
    return layers(kind, weights, sizes, a)


def _columns(L: Layer, row: int) -> tuple[float, float, float]:
    """The entries of a row of features in the first column and in j3's block column, and their sum
    over the other block columns.
    """
    first, star, *others = L.row(row)[: 1 + L.n // L.t]
    return first, star, sum(others)


def _row(L: Layer, row: int, first: float, star: float, others: float, last: float = 1) -> float:
    """<c, s> - c for a row and these signs of the first column, j3's block column, all other block
    columns and the last column.
    """
    return sum(x * s for x, s in zip(_columns(L, row), (first, star, others))) + (last - 1) * (
        L.c or 0
    )


# Weights of a row
# --------------------------------------------------------------------------------------------------


def special(r: Arithmetic, n: Arithmetic) -> Any:
    """Weight of the special key, which scores r times as high as each of the other n - 1."""
    return r / (r + n - 1)


class Shares(NamedTuple):
    """The weights that a row gives to j3, to another key of its block, to a key elsewhere; in all
    to j3's block column and to another one.
    """

    key: Any
    near: Any
    far: Any
    star: Any
    block: Any


def shares(r: Arithmetic, k: Arithmetic, t: Arithmetic, B: Arithmetic = 1) -> Shares:
    """A row in which j3, the rest of its block and all other keys score r B : B : 1 (after u).

    X = 1: r is n^(a(1 + a)) in the special row and n^a in the others (softmax), 1 + a in all
    (linear). Cross-attention, row j2: n^a (softmax), 1 + a (linear). Both have B = 1. X = I, B =
    n^(b^2): r is n^(a^2) in the special row, and 1 in the others, where the block is the row's own,
    with j3 or without.
    """
    total = r * B + (t - 1) * B + (k - 1) * t
    key, near, far = r * B / total, B / total, 1 / total
    return Shares(key, near, far, key + (t - 1) * near, t * far)


def linear_identity(
    k: Arithmetic, t: Arithmetic, a: Arithmetic, b: Arithmetic, c: Arithmetic
) -> Any:
    """Linear weight of j3 in its own row, X = I."""
    return (a**2 + b**2 + c**2) / (a**2 + t * b**2 + k * t * c**2)


class Bound(NamedTuple):
    """``value`` <=, >= or < ``bound``, for these entries of a layer (matrix, rows and columns of a
    :class:`Part`).

    Called with layers and the printed lines for each, it gives the proof, tied to the entries and
    to the printed bounds.
    """

    entries: tuple[str, str, str]
    what: str
    value: Callable[..., Any]
    relation: str
    bound: Callable[..., Any]
    ranges: dict[str, Any]
    where: dict[str, str]
    least_t: int = 1

    def proof(self, factor: Fraction | int = 1) -> Proof:
        """Prove it, with the bound times ``factor``; raises NotProved."""

        def sides(**x: Any) -> tuple[Any, Any]:
            pair = self.value(**x), factor * self.bound(**x)
            return pair[::-1] if self.relation == ">=" else pair

        return prove_le(
            self.what, sides, strict=self.relation == "<", where=self.where, **self.ranges
        )

    def __call__(self, on: Sequence[Layer], lines: Callable[[Layer], Sequence[Part]]) -> Proof:
        here, upper = Part(*self.entries, self.relation, 0.0), self.relation != ">="

        def unit(L: Layer) -> float:
            return (
                1.0
                if here.matrix == "f" or L.model == "cross"
                else (L.a if here.columns == "first" else L.b) * L.scale
            )

        def extreme(L: Layer) -> float:
            return float(L.entries(here).max() if upper else L.entries(here).min()) / unit(L)

        def printed(L: Layer) -> float:
            line = next((x for x in lines(L) if x.columns == here.columns), lines(L)[0])
            return (line.counting or line.value) / unit(L)

        there = [L for L in on if len(L.entries(here)) and L.t >= self.least_t]
        return self.proof().crosschecked(
            there, *((extreme, printed) if upper else (printed, extreme))
        )


#: For each kind of entries: matrix, columns, name, share of the row, and in X = 1 and
#: cross-attention its upper bound for all r >= 1.
KINDS: dict[str, tuple[str, str, str, str, str, Callable[..., Any]]] = {
    "key": ("f", "j3", "weight of j3", "key", "({})/n", lambda k, t, r: r / (k * t)),
    "other": ("f", "not j3", "another weight", "far", "1/n", lambda k, t, r: 1 / (k * t)),
    "first": ("c", "first", "first column / a", "key", "({})/n", lambda k, t, r: r / (k * t)),
    "every": ("c", "blocks", "every block column / b", "star", "({}) t/n", lambda k, t, r: r / k),
    "column": (
        "c",
        "block of j3",
        "j3's column / b",
        "star",
        "({} + t - 1)/n",
        lambda k, t, r: (r + t - 1) / (k * t),
    ),
    "rest": ("c", "other blocks", "another column / b", "block", "t/n", lambda k, t, r: 1 / k),
}


def _half(kind: str, rows: str, x: str, where: dict[str, str]) -> Bound:
    """The bound 1/2 for all r = n x, x >= 1: a lower bound, or for a column other than j3's a
    strict upper bound.
    """
    matrix, columns, what, share, *_ = KINDS[kind]
    relation, least_k = ("<", 2) if kind == "rest" else (">=", 1)
    ranges = (
        {"k": (least_k, None), "t": (1, None)}
        | ({"B": (1, None)} if "B" in where else {})
        | {"x": (1, None)}
    )
    value = lambda k, t, x, B=1: getattr(shares(k * t * x, k, t, B), share)
    said = f"{what} {relation} 1/2"
    return Bound(
        (matrix, rows, columns), said, value, relation, lambda **_: HALF, ranges, where | {"x": x}
    )


def two_level_bounds() -> dict[str, Bound]:
    """Lemmas D.2, D.3, D.6, D.7, D.10, D.11, D.14, D.15 (X = 1) and F.2, F.3, F.6, F.7, F.10, F.11,
    F.14, F.15 (cross).

    What the lemmas ask of a is what the powers of n need: a1 >= 0.7 gives a1 (1 + a1) > 1 (so does
    (1 + a1)^2 > 2 + a1 of Lemma D.2), a0 in [0, 1] gives n^(a0 (1 - a0)) >= 1. The features c(.,
    1), c(., i) are a and b times weights; a and b cancel.
    """
    one: dict[str, Any] = SIZES | {"r": (1, None)}

    def bound(kind: str, rows: str, r: str, where: dict[str, str]) -> Bound:
        """An upper bound for all r >= 1."""
        matrix, columns, what, share, text, above = KINDS[kind]
        power = re.sub(r"\*\*\(?([^()]*)\)?", r"^{\1}", r).replace("*", " ")
        said = rf"{what} $\le {text.replace('{}', power)}$"
        value = lambda k, t, r: getattr(shares(r, k, t), share)
        return Bound((matrix, rows, columns), said, value, "<=", above, one, where | {"r": r})

    def square(kind: str) -> Bound:
        """With n^(2 a) in the place of n^(a (1 + a)), on D0."""
        wide = bound(kind, "j3", "n**(2*a)", SELF)
        both = {"r": "n**(a*(1 + a))", "x": "n**(a*(1 - a))"}
        return wide._replace(
            value=lambda k, t, r, x: wide.value(k, t, r),
            bound=lambda k, t, r, x: wide.bound(k, t, r * x),
            ranges=one | {"x": (1, None)},
            where=SELF | both,
        )

    J, O, linear = "n**(a*(1 + a))", "n**a", "1 + a"
    special_row, query = ("j3", "n**(a*(1 + a) - 1)", SELF), ("j2", "n**(a - 1)", CROSS)
    found = {
        "d.6-3a": square("key"),
        "d.7-1": square("first"),
        "d.7-2": square("every"),
        "d.7-2a": square("column"),
    }
    for row, f, c in ((special_row, "d.2", "d.3"), (query, "f.2", "f.3")):
        found |= {f"{f}-3a": _half("key", *row), f"{c}-1": _half("first", *row)}
        found |= {f"{c}-2a": _half("column", *row), f"{c}-2a-one": _half("rest", *row)}
    table = {
        J: "d.2-3b other j3, d.6-3b other j3, d.3-2b rest j3, d.7-2b rest j3",
        O: "d.2-4a key, d.6-4a key, d.2-4b other, d.6-4b other, d.3-4 first, d.7-4 first, d.3-5-own column, d.3-5-other rest, "
        "d.7-5 every, d.7-5a column, d.7-5b rest, f.2-3b other j2, f.6-3b other j2, f.6-3a key j2, f.3-2b rest j2, "
        "f.7-1 first j2, f.7-2 every j2",
        linear: "d.10-3a key j3, d.14-3a key j3, d.10-3b other j3, d.14-3b other j3, d.10-4a key, d.14-4a key, d.10-4b other, "
        "d.14-4b other, d.11-1 first j3, d.15-1 first j3, d.11-2 every j3, d.15-2 every j3, d.11-4 first, d.15-4 first, "
        "d.11-5 every, d.15-5 every, f.10-3 key j2, f.14-3 key j2, f.10-4 other j2, f.14-4 other j2, f.11-1 first j2, "
        "f.15-1 first j2, f.11-2 every j2, f.15-2 every j2",
    }
    for r, lines in table.items():
        for part, kind, *rows in (line.split() for line in lines.split(", ")):
            found[part] = bound(
                kind, rows[0] if rows else "not j3", r, CROSS if part.startswith("f") else SELF
            )
    return found


def identity_bounds() -> dict[str, Bound]:
    """Lemmas E.1 and E.2 with X = I and b^2 + c^2 = 1, on D1; a1 >= 1 gives n^(a1^2) >= n. (Lemma
    E.1 asks for a1 > 1.)
    """
    where, base = SELF | {"B": "n**(b**2)"}, SIZES | {"B": (1, None)}
    per_key, uniform, column = (
        lambda k, t, B: B / (k * t),
        lambda k, t, B: 1 / (k * t),
        lambda k, t, B: B / k,
    )
    # entries, statement, share of the row, its upper bound for all q >= 1 (in another row q = 1)
    table = {
        "e.1-3b-near": (
            "f",
            "j3",
            "own block",
            r"other weights of the block $\le n^{b^2 - 1}$",
            "near",
            per_key,
        ),
        "e.1-3b": (
            "f",
            "j3",
            "not own block",
            r"weights off the block $\le n^{b^2 - 1}$",
            "far",
            per_key,
        ),
        "e.1-4a": ("f", "not j3", "own block", r"t weights $\le n^{b^2 - 1}$", "near", per_key),
        "e.1-4b": ("f", "not j3", "not own block", "n - t weights <= 1/n", "far", uniform),
        "e.2-2b": (
            "c",
            "j3",
            "other blocks",
            r"another column $/ b \le t n^{b^2 - 1}$",
            "block",
            column,
        ),
        "e.2-4": ("c", "not j3", "first", r"first column $/ a \le n^{b^2 - 1}$", "near", per_key),
        "e.2-5": ("c", "not j3", "blocks", r"every column $/ b \le t n^{b^2 - 1}$", "star", column),
    }

    def low(
        matrix: str, rows: str, columns: str, what: str, share: str, above: Callable[..., Any]
    ) -> Bound:
        value, bound = (
            lambda k, t, B, q=1: getattr(shares(q, k, t, B), share),
            lambda k, t, B, q=1: above(k, t, B),
        )
        ranges, at = (
            (base | {"q": (1, None)}, where | {"q": "n**(a**2)"}) if rows == "j3" else (base, where)
        )
        return Bound((matrix, rows, columns), what, value, "<=", bound, ranges, at)

    found = {part: low(*line) for part, line in table.items()}
    found["e.2-4"] = found["e.2-4"]._replace(least_t=2)  # j3 in the block of another row
    for part, kind in {
        "e.1-3a": "key",
        "e.2-1": "first",
        "e.2-2a": "column",
        "e.2-2a-one": "rest",
    }.items():
        found[part] = _half(kind, "j3", "n**(a**2 - 1)", where)
    return found


# From the definitions to scores and features
# -------------------------------------------------------------------------


#: The size of the layer at which the proof is symbolic, and why it is enough.
SMALL = "k = 3, t = 2; every pair of rows of any size has the form of one that occurs there"
#: The same for features, which are sums over all rows.
COLUMNS = (
    "k = 3, t = 2; at any size a column has one value in one row, t rows or all and else 0, and "
    "the weights sum to 1"
)


@functools.cache
def _symbolic(kind: Model) -> tuple[Proof, Proof]:
    """Symbolic scores and features of the definitions."""
    import sympy

    a, b, c = sympy.symbols("a b c", positive=True)
    k, t, cross = 3, 2, kind == "cross"
    rows, (first, block, *last) = range(k * t), (1, 1) if cross else (a, b, c)
    tokens = sympy.Matrix(
        [[first * int(i == 0), *(block * int(i % k == j) for j in range(k)), *last] for i in rows]
    )
    queries = sympy.Matrix([[a * int(i == 0)] + [1] * k for i in rows]) if cross else tokens
    scores = (
        queries * (sympy.ones(k + 2) if kind == "self-ones" else sympy.eye(tokens.cols)) * tokens.T
    )
    what, entry = {
        "cross": ("1 + a at (j2, j3), else 1", lambda i, j: 1 + a * int(i == j == 0)),
        "self-ones": (
            "$(1 + a)^2$, 1 + a, 1 where b + c = 1",
            lambda i, j: (1 + a) ** ((i == 0) + (j == 0)),
        ),
        "self-identity": (
            "$a^2 + b^2 + c^2$, $b^2 + c^2$, $c^2$",
            lambda i, j: c**2 + b**2 * int(i % k == j % k) + a**2 * int(i == j == 0),
        ),
    }[kind]
    scores = scores.subs(c, 1 - b) if kind == "self-ones" else scores
    w = sympy.Matrix(sympy.symbols(f"w1:{k * t + 1}", positive=True))
    w /= sum(w.flat())
    sums = [first * w[0], *(block * sum(w[j::k]) for j in range(k)), *last]
    said = (
        "features $w_3$, sums over the blocks"
        if cross
        else "features $a w_3$, b (sum over a block), c"
    )
    return (
        prove_identity(f"scores {what}", scores, sympy.Matrix(k * t, k * t, entry), sizes=SMALL),
        prove_identity(said, tokens.T * w, sympy.Matrix(sums), sizes=COLUMNS),
    )


def _small(on: Sequence[Layer]) -> list[Layer]:
    """The layers of three block columns and two identity blocks whose special rows are the
    first.
    """
    return [L for L in on if (L.n, L.t, L.query, L.key) == (6, 2, 0, 0)] or [
        layer(on[0].model, on[0].weights, 6, 4 if on[0].model == "cross" else 5, L.a, L.b, L.c)
        for L in on[:3]
    ]


def scores(on: Sequence[Layer], _: object = None) -> Proof:
    """The scores A X A^T of the definitions, in units of log n, are those that the weights of this
    module take, compared with such layers.

    Serves the parts on u in Lemmas D.2, D.6, D.10, D.14, E.1, F.2, F.6, F.10, F.14 (there all rows
    but j2 are uniform). A score depends on two rows of A only: with or without j3, in one block or
    in two.
    """
    drawn = _small(on)
    found = [(L.u.log() if L.weights == "softmax" else L.u) / math.log(L.n) for L in drawn]
    return _symbolic(drawn[0].model)[0].crosschecked(drawn, found, found)


def _row_as_printed(L: Layer, row: int, lines: Sequence[Part]) -> list[float]:
    """A row of features with what the lines print there: a value, or the bound that a row of equal
    weights reaches.
    """
    values = L.features.double().clone()
    equal = bool((L.n * L.f[row] - 1).abs().max() < 1e-9)
    for line in lines:
        rows, columns = L.places(line)
        if rows[row] and (equal or line.relation == "=="):
            values[row, columns[row]] = line.value
    return (values[row] / L.scale).tolist()


def features(on: Sequence[Layer], lines: Callable[[Layer], Sequence[Part]]) -> Proof:
    """A row of weights w, of sum 1, has the features a w_3, b times the sums over the blocks, c
    (cross: w_3 and those sums).

    Serves Lemmas D.3, D.7, D.11, D.15 and E.2 Parts 3 and 6, and the uniform rows of F.3, F.7,
    F.11, F.15: 1/n, t/n. A feature sums a column of A over all rows; at every size it has one value
    in j3's row, in the t rows of its block, or in all rows.
    """
    drawn = [(L, row) for L in _small(on) for row in (0, 1)]
    at = [vars(L) | letters(w=L.f[row]) for L, row in drawn]
    found = [L.row(row) for L, row in drawn]
    printed = [_row_as_printed(L, row, lines(L)) for L, row in drawn]
    return _symbolic(drawn[0][0].model)[1].crosschecked(at, found, printed)


def tensor_trick() -> Proof:
    """Fact A.1 with the row-major vec, and with it Claims C.3 and C.5: A1 X A2^T = (A1 kron A2)
    vec(X), entry by entry.

    n = 2, d = 3 symbolically. At every size entry (i, j) of both sides has the coefficient (A1)_ik
    (A2)_jl at X_kl: row (i, j) of the Kronecker product holds these products, and so does the
    double sum of A1 X A2^T. exp acts on entries.
    """
    import sympy

    n, d = 2, 3
    shapes = {"a": (n, d), "b": (n, d), "x": (d, d)}
    A1, A2, X = (
        sympy.Matrix(*shape, sympy.symbols(f"{name}1:{math.prod(shape) + 1}"))
        for name, shape in shapes.items()
    )
    # Matrix.vec stacks columns; the row-major vec of M is that of M^T
    long = sympy.kronecker_product(A1, A2) * X.T.vec()
    proof = prove_identity(
        r"$(A1 \otimes A2) \operatorname{vec}(X) = \operatorname{vec}(A1 X A2^T)$",
        long,
        (A1 * X * A2.T).T.vec(),
        sizes="n = 2, d = 3; at any size both sides have the coefficient $a_{ik} b_{jl}$ at $x_{kl}$",
    )
    drawn = torch.sin(7 * torch.arange(3.0)[:, None] + torch.arange(2 * n * d + d * d)).double()
    mats = [
        [
            part.reshape(shape)
            for part, shape in zip(row.split([n * d, n * d, d * d]), shapes.values())
        ]
        for row in drawn
    ]
    at = [letters(a=A.flatten(), b=B.flatten(), x=Q.flatten()) for A, B, Q in mats]
    return proof.crosschecked(
        at, [torch.kron(A, B) @ Q.flatten() for A, B, Q in mats], [A @ Q @ B.T for A, B, Q in mats]
    )


def no_such_data() -> Proof:
    """The hypothesis of Lemma E.1: b + c = 1 and b^2 + c^2 = 1 exclude each other for b, c >= 0.1:
    (b + c)^2 > b^2 + c^2.
    """
    sides = lambda b, c: (b**2 + c**2, (b + c) ** 2)
    proof = prove_le("$b^2 + c^2 < (b + c)^2$", sides, strict=True, b=(0.1, None), c=(0.1, None))
    drawn = [layer("self-identity", "linear", 6, 5, 0.0, b, 1 - b) for b in (0.1, 0.5, 0.9)]
    return proof.crosschecked(drawn, lambda L: float(L.u[1, 1]) / math.log(L.n), 1.0)


# Detection
# --------------------------------------------------------------------------------------------------


@functools.cache
def detection(tau: Callable[[float, float], float]) -> dict[str, Proof]:
    """F_exp(D1) > 0 with a share of the sign vectors, at every size; ``tau(n, c)`` is the
    threshold.

    Strictly above it, as F > 0 needs. ``ones``, ``identity``: with y = +1 on the first, on j3's and
    on the last column row j3 exceeds c by more than 0.1 (in fact by a/2), whatever the other signs:
    a share of 1/8 (Lemmas D.4 Part 1, E.3 Part 1; own-detection-eighth, -identity). That takes
    n^(a1 (1 + a1)) >= n only; ``ones-others``: the other rows have n^a1 there, at least n for a1 >=
    1 (Lemma D.4 Part 2 as printed is false at every size). ``m``: then (7/8)^m <= delta/n for m >=
    7.5 log(n/delta) (Theorems D.5, E.4).

    ``weight``: for a1 >= 1 that power is at least n^2, so the weight w of j3 is at least 4/5, equal
    at n = 2, a1 = 1. ``quarter``: then y_1 = y_d = 1 is enough if b <= 0.65 (at b = 0.7, a1 = 1, n
    = 2, d = 3 the value can be tau itself); ``quarter-high``: y_1 = y_* = 1 is enough if b >= 0.6.
    ``quarter-below-low``, ``-high``: for 0.7 <= a1 < 1 it is enough that b <= 0.33 + 1.2 (a1 - 0.7)
    or b >= 0.74 - 0.78 (a1 - 0.7); there w = 1/(1 + (1 - y) y^(s - 1)), y = 1/n, s = a1 (1 + a1).
    ``quarter-identity``: for X = I the weight is at least 1/2, and b <= 0.4 is enough (Theorem E.4
    has b < 0.2).
    """

    def value(signs: Sequence[int], r: Callable[[Any, Any], Any]) -> Callable[..., Any]:
        """A row in which j3 scores r(n, x) times as high as others, with these signs, less c."""
        first, star, others, last = signs

        def less_c(k: Any, t: Any, x: Any, a: Any, b: Any, B: Any = 1) -> Any:
            w = shares(r(k * t, x), k, t, B)
            return (
                first * a * w.key
                + b * (star * w.star + others * (k - 1) * w.block)
                + (last - 1) * (1 - b)
            )

        return less_c

    def first_and_last(n: Any, x: Any, a: Any, b: Any) -> Any:
        return a * special(n * n * x, n) - b

    def weight(a: Any, y: Any) -> Any:
        return 1 / (1 + (1 - y) * power(y, a * (1 + a) - 1))

    def below_low(a: Any, y: Any, v: Any) -> Any:
        return a * weight(a, y) - (ball("0.33") + (a - ball("0.7")) * ball("1.2") - v)

    def below_high(a: Any, y: Any, v: Any) -> Any:
        b, w = ball("0.74") - (a - ball("0.7")) * ball("0.78") + v, weight(a, y)
        return a * w + b * (2 * w - 1) - 2 * (1 - b)

    def fires(
        signs: Sequence[int],
        found: Callable,
        on: list[Layer],
        prove: Callable,
        row: int = 0,
        inside: dict[str, str] | None = None,
        **ranges: Any,
    ) -> Proof:
        """``found`` is a row of ``on`` with these signs (the first, j3's, all other block columns,
        the last), less c.
        """
        said = (
            f"c({'j' if row else 'j3'}) y - c > 0.1"
            if signs[-1] > 0
            else "c(j3) y + c > 2 c + 0.1, c = 1 - b"
        )
        proof = prove(said, lambda **x: (TENTH, found(**x)), **ranges)
        return proof.crosschecked(
            on,
            lambda L: tau(L.n, L.c) / L.scale - L.c,
            lambda L: _row(L, row, *signs),
            inside=inside,
        )

    strictly = functools.partial(prove_le, strict=True)
    eighth, first_last, first_star = (1, 1, -1, 1), (1, -1, -1, 1), (1, 1, -1, -1)
    by_n, by_n_squared = lambda n, x: n * x, lambda n, x: n * n * x
    on, unit = (
        _drawn("self-ones", "softmax", (1.0, 1.5)),
        _drawn("self-identity", "softmax", (1.0, 1.5), (0.0, 0.4), unit=True),
    )
    faint, few, high = (
        _drawn("self-ones", "softmax", (0.619, 1.0)),
        _drawn("self-ones", "softmax", (1.0, 1.5), (0.0, 0.65)),
        _drawn("self-ones", "softmax", (1.0, 1.5), (0.6, 1.0)),
    )
    # b on the line, and at a1 = 1 at the end of its own range
    low, top = (
        [
            L
            for a, b in ((0.7, line(0.7)), (0.8, line(0.8)), (1.0, end))
            for L in layers("self-ones", "softmax", [(k, k + 2, b, 1 - b) for k in (2, 3, 5)], [a])
        ]
        for line, end in (
            (lambda a: 0.33 + 1.2 * (a - 0.7), 0.0),
            (lambda a: 0.74 - 0.78 * (a - 0.7), 1.0),
        )
    )
    x: dict[str, Any] = {"x": (1, None)}
    a_b: dict[str, Any] = SIZES | x | {"a": (0.619, None), "b": (0, None)}
    eye: dict[str, Any] = SIZES | {"a": (1, None), "B": (1, None)} | x
    own, other, square, to_eye = (
        SELF | {"x": power_of_n}
        for power_of_n in (
            "n**(a*(1 + a) - 1)",
            "n**(a - 1)",
            "n**(a*(1 + a) - 2)",
            "n**(a**2 - 1)",
        )
    )
    to_eye |= {"B": "n**(b**2)"}
    low_line, high_line = (
        {"y": "1/n", "v": "0.33 + 1.2*(a - 0.7) - b"},
        {"y": "1/n", "v": "b - 0.74 + 0.78*(a - 0.7)"},
    )
    below: dict[str, Any] = {"a": (0.7, 1), "y": (0, 0.5)}
    limit = {"y = 0": "n = oo"}
    four_fifths = prove_le(
        "weight of j3 >= 4/5",
        lambda n, x: (Fraction(4, 5), special(n * n * x, n)),
        where=square,
        n=(2, None),
        **x,
    )
    return {
        "ones": fires(eighth, value(eighth, by_n), faint, strictly, where=own, **a_b),
        "ones-others": fires(eighth, value(eighth, by_n), on, strictly, row=1, where=other, **a_b),
        "identity": fires(
            eighth, value(eighth, by_n), unit, strictly, where=to_eye, b=(0, None), **eye
        ),
        "quarter-identity": fires(
            first_last, value(first_last, by_n), unit, strictly, where=to_eye, b=(0, 0.4), **eye
        ),
        "m": _enough("7.5", Fraction(7, 8)),
        "weight": four_fifths.crosschecked(on, right=lambda L: L.f[0, 0]),
        "quarter": fires(
            first_last,
            first_and_last,
            few,
            strictly,
            where=square,
            n=(2, None),
            a=(1, None),
            b=(0, 0.65),
            **x,
        ),
        "quarter-high": fires(
            first_star,
            value(first_star, by_n_squared),
            high,
            strictly,
            where=square,
            a=(1, None),
            b=(0.6, 1),
            **SIZES,
            **x,
        ),
        "quarter-below-low": fires(
            *(first_last, below_low, low, prove_less),
            where=low_line,
            inside=limit | {"v = 0.7": "b < 0"},
            v=(0, 0.7),
            **below,
        ),
        "quarter-below-high": fires(
            *(first_star, below_high, top, prove_less),
            where=high_line,
            inside=limit | {"v = 0.5": "b > 1"},
            v=(0, 0.5),
            **below,
        ),
    }


def _enough(C: str, share: Fraction) -> Proof:
    """``share``^m <= delta/n for m >= C log(n/delta): C log(1/share) > 1."""
    sides = lambda C: (1, C * ball(1 / share).log())
    proof = prove_less(rf"$({share})^m < \delta/n$", sides, where={"C": "m/log(n/delta)"}, C=(C, C))
    m = 2 * float(C)  # at n/delta = e^2
    return proof.crosschecked(
        [{"m": m, "n": math.exp(2), "delta": 1.0}], right=-math.log(float(share) ** m) / 2
    )


# Quiet networks
# --------------------------------------------------------------------------------------------------


def _exponent(hoeffding: Hoeffding, deviation: float, f: torch.Tensor) -> float:
    """The exponent x for which Hoeffding's bound on Pr[|<f, sigma>| > ``deviation``] is 2 e^-x."""
    return math.log(2) - math.log(hoeffding(deviation, -f, f))


def _silent(
    hoeffding: Hoeffding,
    what: str,
    events: tuple[int, bool],
    exponent: Callable,
    at: list[dict],
    where: dict[str, str],
    inside: dict[str, str],
    **ranges,
) -> Proof:
    """The probability that any of these events happens is at most delta/n, by Hoeffding's
    inequality; each event is that a sum of k signs exceeds S.

    Args:
        events: their number, and whether it counts for each of at most 7.5 Lambda + 1 sign vectors,
            Lambda = log(n/delta).
        exponent: that of one event times y/Lambda, from the letters of the ranges but y, and z =
            1/Lambda.
        at: points, with S and ``unit``, the factor y/Lambda.
        inside: as in :meth:`Proof.crosschecked`, but for those of y and z.
    """
    each, readouts = events

    def sides(y: Any, z: Any = 0, **x: Any) -> tuple[Any, Any]:
        log_count = (
            z * (each * (ball("7.5") + z)).log() + entropy(z) if readouts else z * ball(each).log()
        )
        return y * (1 + log_count), exponent(z=z, **x)

    def left(n: int, delta: float, unit: float, **_: Any) -> float:
        count = each * (7.5 * math.log(n / delta) + 1 if readouts else 1)
        return unit * math.log(count * n / delta)

    def right(k: int, S: float, unit: float, **_: Any) -> float:
        return unit * _exponent(hoeffding, S, torch.ones(k, dtype=torch.float64))

    limits = {"y = 0": "k = oo", "z = 0": "n = oo"} if "z" in ranges else {"y = 0": "k = oo"}
    return prove_less(what, sides, where=where, **ranges).crosschecked(
        at, left, right, rounded=("z",), inside=limits | inside
    )


def _shift(kind: Model, where: dict[str, str], r: str, *on: Layer) -> tuple[Proof, Proof]:
    """j3's column exceeds another by at most the weight of j3, and that one is at most 1/k."""
    ranges: dict[str, Any] = SIZES | {"r": (1, None)}
    where = where | {"r": r}

    def other(L: Layer) -> float:
        return _columns(L, 0)[2] / (L.b or 1) / (L.n // L.t - 1)

    def sides(k: Any, t: Any, r: Any) -> tuple[Any, Any]:
        w = shares(r, k, t)
        return w.star - w.block, w.key

    apart = prove_le("j3's column - another <= w", sides, where=where, **ranges)
    flat = prove_le(
        "another column <= 1/k",
        lambda k, t, r: (shares(r, k, t).block, 1 / k),
        where=where,
        **ranges,
    )
    return (
        apart.crosschecked(
            on, lambda L: _columns(L, 0)[1] / (L.b or 1) - other(L), lambda L: L.f[0, 0]
        ),
        flat.crosschecked(on, other, lambda L: L.t / L.n),
    )


def _excess() -> tuple[Proof, Proof]:
    """(a + b) w <= 0.0022: softmax on D0, where a + b <= 1 and a (1 + a) <= 0.11, in v = n^-0.01;
    linear, b <= 1.
    """

    def soft(v: Any, u: Any, s: Any) -> tuple[Any, Any]:
        part = u * v**89  # r/n
        return s * part / (part + 1 - v**100), EXCESS

    def linear(x: Any, a: Any, b: Any) -> tuple[Any, Any]:
        return (a + b) * special(1 + a, 1000 * (1 + a) ** 2 * x), EXCESS

    where = {
        "v": "n**-0.01",
        "u": "n**(a*(1 + a) - 0.11)",
        "s": "a + b",
        "x": "n/(1000*(1 + a)**2)",
    }
    softmax = prove_less(
        "(a + b) w < 0.0022, softmax", soft, where=where, v=(0, "0.9333"), u=(0, 1), s=(0, 1)
    )
    other = prove_le(
        "(a + b) w <= 0.0022, linear", linear, where=where, x=(1, None), a=(0, None), b=(0, 1)
    )
    on, on_linear = (
        [layer("self-ones", weights, n, 22, a, b, 1 - b) for n, a, b in sizes]
        for weights, sizes in (
            ("softmax", ((1000, 0.0, 0.0), (1000, 0.1, 0.9))),
            ("linear", ((1000, 0.0, 0.0), (4000, 1.0, 1.0))),
        )
    )
    excess = lambda L: (L.a + L.b) * float(L.f[0, 0])
    return (
        softmax.crosschecked(
            on, excess, rounded=("v",), inside={"v = 0": "n = oo", "u = 0": "n = oo"}
        ),
        other.crosschecked(on_linear, excess),
    )


@functools.cache
def quiet(hoeffding: Hoeffding) -> dict[str, Proof]:
    """A row of the three quiet networks fires with probability at most delta/n, by Hoeffding's
    inequality (Lemma 3.1).

    X = 1, k = d - 2 >= 400 b^2 Lambda, Lambda = log(n/delta), n >= 1000 (1 + a1)^2. In units of
    sqrt(log n) a row is at most c + e + (b/k) |sum of k signs| (``shift``), with e = (a + b) w, w
    the weight of j3: always e <= 0.0022 (``e``, :data:`EXCESS`). So firing takes a mean of signs
    above (0.1 - e)/b (``row``, in z = 1/Lambda and y = 400 b^2 Lambda/k): Lemmas D.8, D.12, D.16.
    Two kinds of rows and m <= 7.5 Lambda + 1 sign vectors need the factor 2 m (``network``):
    Theorems D.9, D.13, D.17, and D.5's companion events in 6.2. ``other-rows``: on D1 (softmax, a1
    < 1), e <= (a1 + b) n^(a1 - 1) <= 1/35 is enough for one side (Lemma D.4 Part 2).

    X = I (``identity``, Lemma E.3 Part 2 corrected): b < 0.2, a1 <= 3, n >= 10^4, k >= 400 b^2
    Lambda, k >= 4 n^(b^2). With r = (n^(b^2) - 1)/k <= 1/4 a row is c + e + (b r + (b/k) (sum of
    signs))/(1 + r), e <= 3 n^(b^2 - 1) <= 0.0005. The sum of signs is the same for all rows, so
    they are one event.

    ``identity-network`` (own-identity-quiet): all b, c >= 0.1 with b^2 + c^2 = 1, and max(800 b^2
    Lambda, 40 n^(b^2)) <= k <= n, so that r <= 1/40. On D0 (softmax) w <= n^(a0^2 + b^2 - 1) <=
    1/100; linear rows have 1/c^2 in the place of n^(b^2), and w <= 10/(n c^2) for a <= 3:
    ``identity-linear``, in s = b^2, q = c^2 and z = 1/log n: 1/c^2 <= 1 + n^(b^2) and w <= 0.00275
    (for s <= 0.6 as n >= 10^4, else as n^(1 - s) >= 100). Always e <= 0.011.
    """

    def letters_of(factor: int) -> dict[str, str]:
        return {
            "y": f"{factor}*b**2*log(n/delta)/(d - 2)",
            "z": "1/log(n/delta)",
            "r": "(n**(b**2) - 1)/(d - 2)",
        }

    def flat(
        what: str,
        events: tuple[int, bool],
        at: list[dict],
        e: Any,
        where: dict[str, str] | None = None,
        inside: dict[str, str] | None = None,
        **z: Any,
    ) -> Proof:
        """Rows of X = 1, each of which fires where the mean of signs exceeds (0.1 - e)/b."""
        at = [
            x | {"S": (0.1 - x["e"]) * x["k"] / x["b"], "unit": 400 * x["b"] ** 2 / x["k"]}
            for x in at
        ]
        exponent = lambda e, z: 200 * (ball("0.1") - e) ** 2
        return _silent(
            hoeffding,
            what,
            events,
            exponent,
            at,
            letters_of(400) | (where or {}),
            inside or {},
            e=(0, e),
            y=(0, 1),
            **z,
        )

    def apart(
        what: str,
        events: tuple[int, bool],
        factor: int,
        scale: float,
        logs: tuple[float, float],
        inside: dict[str, str],
        **ranges: Any,
    ) -> Proof:
        """X = I: S makes a row of a layer, with this b, exceed its own block's part; ``logs`` are
        those of n/delta.
        """
        at = []
        for n, e, log in zip((200, 300), map(float, ranges["e"]), logs):
            L = layer("self-identity", "softmax", n, 102, 0.05, scale, math.sqrt(1 - scale**2))
            mine, other = L.row(1)[2:4]
            S = (0.1 - e - (mine - other)) / other
            at.append(
                vars(L)
                | {"k": 100, "e": e, "delta": n * math.exp(-log), "S": S}
                | {"unit": factor * scale**2 / 100}
            )
        exponent = lambda r, b, e, z: factor / 2 * ((1 + r) * (ball("0.1") - e) - b * r) ** 2
        where = letters_of(factor)
        return _silent(hoeffding, what, events, exponent, at, where, inside, **ranges)

    # delta = 1, the largest z; and k = 400 b^2 log(n/delta), the largest y
    at = [
        dict(n=1000, delta=delta, b=0.2, d=k + 2, k=k, e=e)
        for delta, k, e in ((1.0, 120, 0.0), (1000 * math.exp(-150 / 16), 150, 0.0022))
    ]
    faint = [
        at[1] | {"a": 0.2, "e": 0.4 / 1000**0.8},
        dict(n=1000, delta=1.0, a=0.5, b=1000**0.5 / 35 - 0.5, d=502, k=500, e=1 / 35),
    ]
    ones = [
        L for w in ("softmax", "linear") for L in _drawn("self-ones", w, (0.05, 2.0)) if L.n > L.t
    ]
    side = r"$\exp(-k ((0.1 - e)/b)^2/2) < \delta/n$"
    row, network = side.replace("$", "$2 ", 1), rf"$2 m {side[1:-1]}, m = 7.5 \log(n/\delta) + 1$"
    sum_fires = r"\exp(-S^2/(2 k)) < \delta/n$ at the sum S that fires"
    shifts = [
        _shift("self-ones", SELF, r, *(L for L in ones if L.weights == w))
        for w, r in (("softmax", "n**(a*(1 + a))"), ("linear", "1 + a"))
    ]
    # one layer would need all these keys
    network_ends = {
        "r = 0": "n = 1",
        "r = 0.025": "n > 8,000, as y <= 1",
        "b = 0": "no sign enters",
        "b = 1": "n > 7,000, as y <= 1",
    }
    rows_ends = {"r = 0": "n = 1", "r = 0.25": "n = 5^25 at k = 16", "b = 0": "no sign enters"}
    return {
        "shift": conjunction("a row is at most c + (a + b) w + (b/k) |S|", *shifts[0], *shifts[1]),
        "e": conjunction("e = (a + b) w <= 0.0022", *_excess()),
        "row": flat(row, (2, False), at, EXCESS, z=(0, 0.145)),
        "network": flat(network, (2, True), at, EXCESS, z=(0, 0.145)),
        "other-rows": flat(
            side,
            (1, False),
            faint,
            "1/35",
            where={"e": "(a + b)/n**(1 - a)"},
            inside={"e = 0": "n = oo"},
        ),
        "identity-network": apart(
            f"$2 m {sum_fires}, m = 7.5 log(n/delta) + 1",
            *((2, True), 800, 0.1, (1 / 0.1087, 12.5)),
            inside=network_ends,
            **dict(r=(0, "1/40"), b=(0, 1), e=(0, 0.011), z=(0, "0.1087"), y=(0, 1)),
        ),
        "identity-linear": _large_last_column(),
        "identity": apart(
            f"${sum_fires}",
            (1, False),
            400,
            0.2,
            (4.6, 6.25),
            inside=rows_ends,
            r=(0, 0.25),
            b=(0, 0.2),
            e=(0, 0.0005),
            y=(0, 1),
        ),
    }


def _large_last_column() -> Proof:
    """``identity-linear`` of :func:`quiet`, in s = b^2, q = c^2 and z = 1/log n."""
    where, sure = {"s": "b**2", "z": "1/log(n)", "q": "c**2"}, ball(10) / ball("0.00275")
    below, above, wide, narrow = (
        [
            layer("self-identity", "linear", 12, 5, 2.0, math.sqrt(s), math.sqrt(1 - s))
            for s in squares
        ]
        for squares in ((0, 0.25, 0.5), (0.64, 0.81, 0.99), (0, 0.25, 0.6), (0.6, 0.81, 0.99))
    )
    large = [vars(L) | {"n": 10**4} for L in above]
    return conjunction(
        "$b^2/c^2 < n^{b^2}$ and $10/(n c^2) < 0.00275$",
        prove_le("b^2/c^2 <= 1", lambda s: (s / (1 - s), 1), where=where, s=(0, 0.5)).crosschecked(
            below, lambda L: L.b**2 / L.c**2, 1.0
        ),
        prove_less(
            "log(b^2/c^2)/log n < b^2",
            lambda s, z: (z * (s / (1 - s)).log(), s),
            where=where,
            s=(0.5, 0.99),
            z=(0, 0.1086),
        ).crosschecked(
            large,
            [math.log(L.b**2 / L.c**2) / math.log(10**4) for L in above],
            [L.b**2 for L in above],
            rounded=("z",),
            inside={"z = 0": "n = oo", "s = 0.5": "log 1 = 0, but for rounding"},
        ),
        prove_less(
            "10/(0.00275 c^2) < 10^4", lambda q: (sure / q, 10**4), where=where, q=(0.4, 1)
        ).crosschecked(wide, lambda L: 10 / (0.00275 * L.c**2), 1e4),
        prove_less(
            "c^2 log(10/(0.00275 c^2)) < log 100 <= log n^(1 - b^2)",
            lambda q: (q * (sure / q).log(), ball(100).log()),
            where=where,
            q=(0.01, 0.4),
        ).crosschecked(
            narrow,
            lambda L: L.c**2 * math.log(10 / 0.00275 / L.c**2),
            math.log(100),
        ),
    )


@functools.cache
def quiet_cross(hoeffding: Hoeffding) -> dict[str, Proof]:
    """Cross-attention: a row is at most 2 p + |S|/k, S the sum of k = d - 1 signs, p <= r/n the
    weight of j3 in it (``shift``).

    Hoeffding: Pr[|S| >= s k] <= 2 exp(-s^2 k/2), half of it on one side. ``row`` (Lemmas F.4 Part
    2, F.8, F.12, F.16): s = 0.5 - 2 p and k >= 12 Lambda - 1, Lambda = log(n/delta), leave delta/n
    for both sides if p <= 1/40. ``network`` (Theorems F.9, F.13, F.17; own-cross-dimension): s =
    0.9 - 2 p and k >= 6 Lambda - 1 leave delta/n for m <= 7.5 Lambda + 1 sign vectors if p <= 1/20;
    all rows of a network exceed 0.9 only if the same S/k exceeds s. In z = 1/Lambda.
    """
    on, linear = (_drawn("cross", weights, (0.05, 2.0))[2:] for weights in ("softmax", "linear"))

    def silent(
        what: str, events: tuple[int, bool], level: Fraction, columns: int, most: str
    ) -> Proof:
        # delta = 1, the largest z; and 120 = k = columns log(n/delta) - 1
        at: list[dict[str, Any]] = [
            dict(n=200, delta=delta, d=121, k=120, p=float(Fraction(p)))
            for delta, p in ((1.0, 0), (200 * math.exp(-121 / columns), most))
        ]
        for x in at:
            x |= {
                "S": (float(level) - 2 * x["p"]) * x["k"],
                "unit": (columns - 1 / math.log(x["n"] / x["delta"])) / x["k"],
            }
        where = {"y": f"({columns}*log(n/delta) - 1)/(d - 1)", "z": "1/log(n/delta)"}
        exponent = lambda z, p: (columns - z) * (ball(level) - 2 * p) ** 2 / 2
        said = f"{what} < delta/n at S = k ({float(level)} - 2 p)"
        return _silent(
            hoeffding, said, events, exponent, at, where, {}, y=(0, 1), z=(0, 0.189), p=(0, most)
        )

    shifts = *_shift("cross", CROSS, "n**a", *on), *_shift("cross", CROSS, "1 + a", *linear)
    return {
        "shift": conjunction("a row is at most 2 p + |S|/k", *shifts),
        "row": silent(r"$2 \exp(-S^2/(2 k))$", (2, False), HALF, 12, "1/40"),
        "network": silent(r"$m \exp(-S^2/(2 k))$", (1, True), 9 * TENTH, 6, "1/20"),
    }


def _enough_signs(k: int) -> int:
    """Number of the 2^(k - 1) vectors of k - 1 signs whose sum is above -0.2 k - 0.9."""
    return sum(math.comb(k - 1, plus) for plus in range(k) if 10 * (2 * plus - k + 1) > -2 * k - 9)


@functools.cache
def share_cross(level: Positive, hoeffding: Hoeffding) -> dict[str, Proof]:
    """Cross-attention, a1 >= 1: row j2 of softmax on D1 exceeds 0.9 for at least 11/64 of the sign
    vectors, at all n and d.

    ``fires``: with y_1 = y_* = 1 (a quarter) it does if the sum K of the other k - 1 signs is above
    -0.2 k - 0.9, as r = n^a1 >= n. ``share``: so K is for at least 11/16 of their 2^(k - 1)
    vectors: counted for k < 48 (equal at k = 5), and beyond by Hoeffding, exp(-(0.2 k + 0.9)^2/(2
    (k - 1))) <= 5/16 (Lemma F.4 Part 1). ``m``: then (53/64)^m <= delta/n (Theorem F.5).
    """
    bar = 9 * TENTH

    def fires(k: Any, t: Any, x: Any, e: Any) -> tuple[Any, Any]:
        w, K = shares(k * t * x, k, t), e - k / 5 - bar
        return bar + e * w.block, w.key + w.star + K * w.block

    def other(L: Layer) -> float:
        return _columns(L, 0)[2] / (L.d - 2) if L.d > 2 else float(L.t * L.f[0, 0] / L.n**L.a)

    on, where = (
        _drawn("cross", "softmax", (1.0, 1.5)),
        CROSS | {"x": "n**(a - 1)", "e": "K + 0.2*(d - 1) + 0.9"},
    )
    drawn = [(L, K) for L in on for K in range(2 - L.d, L.d, 2) if -2 * (L.d - 1) - 9 < 10 * K]
    small = range(2, 9)
    one_by_one = [
        sum(10 * sum(s) > -2 * k - 9 for s in itertools.product((1, -1), repeat=k - 1))
        for k in small
    ]

    counted = prove_by_cases(
        "11/16 of such K",
        lambda k: 16 * _enough_signs(k) >= 11 * 2 ** (k - 1),
        range(1, 48),
        name="k",
    )
    beyond = prove_le(
        "exp(-(0.2 k + 0.9)^2/(2 (k - 1))) <= 5/16",
        lambda k, h: (h, (k / 5 + bar) ** 2 / (2 * (k - 1))),
        where={"h": "log(3.2)"},
        k=(48, None),
        h=(1.163, "1.1632"),
    )
    ranges: dict[str, Any] = SIZES | {"x": (1, None), "e": (0, None)}
    return {
        "fires": prove_le(
            "c(j2) y > 0.9 if K > -0.2 k - 0.9", fires, where=where, **ranges
        ).crosschecked(
            [vars(L) | {"K": K} for L, K in drawn],
            [level + (K + 0.2 * (L.d - 1) + 0.9) * other(L) for L, K in drawn],
            [sum(_columns(L, 0)[:2]) + K * other(L) for L, K in drawn],
        ),
        "share": conjunction(
            "11/16 of such K",
            counted.crosschecked_values("counts", map(_enough_signs, small), one_by_one),
            beyond.crosschecked(
                [{"k": k} for k in (49, 60)],
                -math.log(1 - 11 / 16),
                lambda k: _exponent(
                    hoeffding, 0.2 * k + 0.9, torch.ones(k - 1, dtype=torch.float64)
                ),
                rounded=("h",),
            ),
        ),
        "m": _enough("5.31", Fraction(53, 64)),
    }


# The regression model of sections 3 to 5
# -----------------------------------------------------------------------------


@functools.cache
def regression(hoeffding: Hoeffding, lemma_4_1: Callable[..., float]) -> dict[str, Proof]:
    """Lemmas 4.1 and 4.2, the exponent 0.3, and the interval of thresholds, for all n.

    ``kantorovich``: weights w in [m, r m] of sum 1 have (w - m)(w - r m) <= 0, hence |w|^2 <= (1 +
    r) m - n r m^2, which is (1 + r)^2/(4 r n) minus a square; with r = n^0.4, |f_exp|^2 <= ((1 +
    n^-0.4) n^-0.3/2)^2 (own-norm-exponent). ``linear-0`` and ``linear-1``: |f_lin|^2 <= 1.0286/n on
    D0 (r = 1.4) and 1.6/n on D1 (one score 4, the others of sum S in [n - 1, 1.4 (n - 1)] and of
    squares at most 2.4 S - 1.4 (n - 1), again (s - 1)(s - 1.4) <= 0). ``hoeffding``: C = 2 makes
    C^2/(2 * 1.6) Lambda >= Lambda + log 2 for Lambda = log(n/delta) >= log 20, which is Lemma 4.1
    Part 1 and 4.2 Part 1 with poly(n) = n, n >= 2, delta <= 0.1; the same with n^0.3 for softmax,
    whose norm is smaller. ``norm-0.1``: |f_exp|^2 <= 1.6/n^0.2 too (4.1 Part 2); ``empty``: its
    bound exceeds 1 below 10^10 (C = 2, delta <= 0.1). ``spike``: the weight of the spike is at
    least 1/(1 + (n - 1) n^-2.6), least at n = 2, so |<f, sigma>| >= 2 f_j - 1 > 0.71 for every sign
    vector (4.2 Parts 2 and 3: the sign is that of the spike). In v = n^-0.2.

    ``interval``: |f|_max sqrt(2 log(m n/delta)) < 0.99 < 2 f_j - 1 for n >= 35 at delta = 0.01, m
    <= log2(n/delta) + 1, with the norms of ``exponent`` and ``linear-35`` and the spike of
    ``spike-35``: every threshold between gives the conclusions of Lemmas 5.1 to 5.4 (Hoeffding and
    m sign vectors: m exp(-log(m n/delta)) = delta/n). In z = 1/log n.
    """
    import sympy

    m, r, n, v = sympy.symbols("m r n v", positive=True)
    square = n * r * (m - (1 + r) / (2 * n * r)) ** 2
    in_v, drawn = {"v": "n**-0.2"}, [{"n": n} for n in (2, 3, 10, 35, 200)]
    deltas = [dict(n=n, delta=delta) for n in (2, 50) for delta in (0.1, 0.01)]
    soft = lambda n: model.norm_bound(n**0.4, n) ** 2

    def linear_0(r: Any) -> tuple[Any, Any]:
        return (1 + r) ** 2 / (4 * r), Fraction("1.0286")

    def linear_1(bound: str, low: int) -> Proof:
        """Data of D1 with ``high`` of the other scores at 1.4."""

        def spread(n: Any, s: Any) -> tuple[Any, Any]:
            return n * (16 + (n - 1) * (24 * s - 14) / 10) / (4 + (n - 1) * s) ** 2, Fraction(bound)

        def norm(n: int, high: int) -> float:
            return n * float(model.regression_weights(n, 1, "linear", high).square().sum())

        cases = [
            (n, high) for n in (x["n"] for x in drawn) if n >= low for high in (0, n // 2, n - 1)
        ]
        proof = prove_le(
            rf"$n |f_{{\mathrm{{lin}}}}|^2 \le {bound}$, data of D1",
            spread,
            n=(low, None),
            s=(1, 1.4),
        )
        return proof.crosschecked(
            [{"n": n, "s": 1 + 0.4 * high / (n - 1)} for n, high in cases],
            [norm(*case) for case in cases],
        )

    def spike(bound: str, top: str, low: int) -> Proof:
        above = lambda v: (Fraction(bound), 2 / (1 + (1 - v**5) * v**8) - 1)
        proof = prove_le(
            f"$2 f_j - 1 > {bound}$, data of D1", above, strict=True, where=in_v, v=(0, top)
        )
        return proof.crosschecked(
            [x for x in drawn if x["n"] >= low],
            right=model.sure_margin,
            rounded=("v",),
            inside={"v = 0": "n = oo"},
        )

    def exponent(n: int, delta: float) -> float:
        """The exponent of exp(-s^2/(2 |f|^2)), s = 2 sqrt(Lambda/n), for n |f|^2 = 1.6: 1.25
        Lambda.
        """
        f = torch.full((n,), math.sqrt(1.6) / n, dtype=torch.float64)
        return _exponent(hoeffding, 2 * math.sqrt(math.log(n / delta) / n), f)

    fourth = prove_le(r"$n |f_{\mathrm{lin}}|^2 \le 1.0286$, data of D0", linear_0, r=(1, 1.4))
    kantorovich = prove_identity(
        "$(1 + r) m - n r m^2 = (1 + r)^2/(4 r n)$ minus a square",
        (1 + r) * m - n * r * m**2,
        (1 + r) ** 2 / (4 * r * n) - square,
    )
    exponent_3 = prove_identity(
        "$(1 + r)^2/(4 r n) = ((1 + n^{-0.4}) n^{-0.3}/2)^2$, $r = n^{0.4}$",
        (1 + v**-2) ** 2 / (4 * v**-2 * v**-5),
        (1 + v**2) ** 2 * v**3 / 4,
        where=in_v,
    )
    two = prove_le(
        r"$2 \exp(-C^2 \log(n/\delta)/(2 \cdot 1.6)) \le \delta/n$, C = 2",
        lambda L, h: (L + h, L * 4 / Fraction(32, 10)),
        where={"L": "log(n/delta)", "h": "log(2)"},
        L=(2.99, None),
        h=(0.693, "0.6932"),
    )
    tenth = prove_le(
        r"$n^{0.2} |f_{\exp}|^2 \le 1$, data of D0",
        lambda v: ((1 + v**2) ** 2 * v**2 / 4, 1),
        where=in_v,
        v=(0, 1),
    )
    empty = prove_less(
        r"$1 < C \sqrt{\log(n/\delta)}/n^{0.1}, C = 2$",
        lambda x, e: (1, 2 * (x + e).sqrt() * (-x / 10).exp()),
        where={"x": "log(n)", "e": "log(1/delta)"},
        x=(0.693, 23.03),
        e=(2.3, 20),
    )
    least = [
        x | {"r": x["n"] ** 0.4, "m": (1 + x["n"] ** 0.4) / (2 * x["n"] ** 1.4)} for x in drawn
    ]
    return {
        "kantorovich": kantorovich.crosschecked(least, right=lambda n, **_: soft(n)),
        "exponent": exponent_3.crosschecked(
            drawn, soft, lambda n: ((1 + n**-0.4) * n**-0.3 / 2) ** 2
        ),
        "linear-0": fourth.crosschecked(
            [x | {"r": r} for x in drawn for r in (1.0, 1.4)],
            lambda n, r: n * float(model.norm_bound(r, n)) ** 2,
            1.0286,
        ),
        "linear-1": linear_1("1.6", 2),
        "hoeffding": two.crosschecked(
            deltas, lambda n, delta: math.log(2 * n / delta), exponent, rounded=("h",)
        ),
        "norm-0.1": tenth.crosschecked(
            [{"n": 1}, *drawn], lambda n: n**0.2 * soft(n), 1.0, inside={"v = 0": "n = oo"}
        ),
        "empty": empty.crosschecked(
            [*deltas, {"n": 10**10, "delta": math.exp(-20)}],
            right=lambda n, delta: lemma_4_1(n, delta, 2, 2),
            rounded=("e", "x"),
        ),
        "spike": spike("0.71", "0.871", 2),
        "linear-35": linear_1("1.25", 35),
        "spike-35": spike("0.99", "0.4912", 35),
        "interval": _interval(),
    }


def _interval() -> Proof:
    """|f|^2 2 log(m n/delta) < 0.99^2 with both norms, in z = 1/log n."""

    def fading(z: Any, c: int) -> Any:
        """e^(-c/(10 z))/z, increasing in z < c/10."""
        return monotone(lambda x: (-ball(c) / 10 / x).exp() / x if x > 0 else ball(0), z)

    def root(z: Any) -> Any:
        """e^(-0.4/z)"""
        return monotone(lambda x: (-ball("0.4") / x).exp() if x > 0 else ball(0), z)

    def twice_log(z: Any) -> Any:
        """2 z log(m n/delta), m = log2(n/delta) + 1."""
        hundred, two = ball(100).log(), ball(2).log()
        return 2 * (1 + z * hundred + z * ((1 + z * hundred) / two + z).log() + entropy(z))

    def proof(norm: str, square: Callable, tied_norm: Callable) -> Proof:
        sides = lambda z: (square(z) * twice_log(z), bound)
        found = prove_less(
            f"|{norm}|^2 2 log(m n/delta) < 0.99^2", sides, where={"z": "1/log(n)"}, z=(0, "0.2813")
        )
        left = lambda n: tied_norm(n) * 2 * math.log((math.log2(n / 0.01) + 1) * n / 0.01)
        at, limit = [{"n": n} for n in (35, 100, 1000)], {"z = 0": "n = oo"}
        return found.crosschecked(at, left, 0.99**2, rounded=("z",), inside=limit)

    bound = Fraction(99, 100) ** 2
    return conjunction(
        r"$|f|_{\max} \sqrt{2 \log(m n/\delta)} < 0.99, \delta = 0.01$",
        proof(
            "f_exp",
            lambda z: (1 + root(z)) ** 2 * fading(z, 6) / 4,
            lambda n: model.norm_bound(n**0.4, n) ** 2,
        ),
        proof("f_lin", lambda z: ball("1.25") * fading(z, 10), lambda n: 1.25 / n),
    )


# Own statements
# --------------------------------------------------------------------------------------------------


@functools.cache
def cap(tau: Callable[[float, float], float], level: Positive) -> dict[str, Proof]:
    """At most a quarter of the sign vectors detects without a false alarm: P[success] <= 1 -
    (3/4)^m, at every size.

    ``tau(n, c)`` is the threshold of self-attention, ``level`` that of cross-attention. The signs
    are shared: what a false alarm excludes is a sign vector that fires on D1.

    Cross-attention (all n, d, a1 >= 0): let y_1, y_* not both be +1 and row j2 of D1 exceed 0.9,
    that is p y_1 + (p + (t - 1) o) y_* + t o K > 0.9. Then the uniform row, y_1/n + (t/n)(y_* + K),
    which stands on D0 as well, exceeds 0.9: solved for K, it is at least 0.9 in each of the three
    cases (``cross``). The other rows of D1 are that row.

    Self-attention, in units of sqrt(log n), a1 + b <= 2 c + 0.1 (the paper has a1 = 1.2, b = 0.2, c
    = 0.8, a0 = 0.01). y_d = -1: no row of D1 reaches tau, as -c + a1 + b <= c + 0.1. y_d = 1, y_1 =
    -1: a row of D1 in which j3 has the weight w fires only if b times the rest of its blocks
    exceeds 0.1 + (a1 - b y_*) w; then row j3 of D0 fires too, in which the other weights are larger
    by the same factor. X = 1 (``ones``): linear row j3, for n^a1 >= 1 + a0 and a1 >= a0 + 2 b. X =
    I (``identity``): softmax row j3, a1 >= a0 + b; the other rows of X = I have the same weights on
    both sets, and -a1 w < -a0 w. So y_1 = y_d = 1. Each is tied to a row of D1 at the threshold and
    to the row of D0 that the same signs make.
    """
    more: dict[str, Any] = SIZES | {"r": (1, None)}

    def bar(L: Layer) -> float:
        """The threshold, less what the last column gives."""
        return level if L.model == "cross" else tau(L.n, L.c) / L.scale - L.c

    def others(L: Layer, row: int, first: int, star: int) -> float:
        """The mean sign of the other block columns with which this row reaches the threshold."""
        return (bar(L) - _row(L, row, first, star, 0)) / _columns(L, row)[2]

    def cross(y1: int, star_sign: int) -> Proof:
        def sides(k: Any, t: Any, r: Any) -> tuple[Any, Any]:
            w, level = shares(r, k, t), 9 * TENTH
            K = (level - y1 * w.key - star_sign * w.star) / w.block
            return level, y1 / (k * t) + (star_sign + K) / k

        what = f"the uniform row fires too, y_1 = {y1}, y_* = {star_sign}"
        proof = prove_le(what, sides, where=CROSS | {"r": "n**a"}, **more)
        on = _drawn("cross", "softmax", (0.0, 1.2, 3.0))[3:]
        return proof.crosschecked(
            on, bar, lambda L: _row(L, 1, y1, star_sign, others(L, 0, y1, star_sign))
        )

    def self_attention(
        kind: Model,
        weights: str,
        row: int,
        c: float,
        multiple: int,
        sign: int,
        where: dict[str, str],
        **ranges: Any,
    ) -> Proof:
        """Row j3 on D0, of these weights, with the signs that make ``row`` on D1 reach the
        threshold; a1 >= a0 + multiple b.
        """

        def sides(
            k: Any, t: Any, r: Any, a0: Any, b: Any, e: Any, q: Any = None, B: Any = 1
        ) -> tuple[Any, Any]:
            low = 1 + a0 if q is None else q
            D0, D1 = shares(low, k, t, B), shares(low * r, k, t, B)
            a1 = a0 + multiple * b + e
            return TENTH, D0.far / D1.far * (TENTH + (a1 - sign * b) * D1.key) - (
                a0 - sign * b
            ) * D0.key

        what = f"row j3 of {weights} on D0 fires too, y_1 = -1, y_* = {sign}, y_d = 1"
        scales: dict[str, Any] = more | {"a0": (0, None), "b": (0, None), "e": (0, None)}
        proof = prove_le(what, sides, where=SELF | where, **scales | ranges)
        pairs = [  # a0 at both ends
            (layer(kind, weights, n, d, a0, 0.2, c), layer(kind, "softmax", n, d, a1, 0.2, c))
            for n, d, a0, a1 in ((6, 5, 0.0, 1.2), (20, 7, 1.0, 1.45))
        ]
        at = [vars(low) | {"a0": low.a, "a1": high.a} for low, high in pairs]
        fires = [_row(low, 0, -1, sign, others(high, row, -1, sign)) for low, high in pairs]
        return proof.crosschecked(at, [bar(low) for low, _ in pairs], fires)

    ones = functools.partial(
        self_attention,
        "self-ones",
        "linear",
        1,
        0.8,
        2,
        where={"r": "n**a1/(1 + a0)", "e": "a1 - a0 - 2*b"},
        a0=(0, 1),
    )
    letters = {"q": "n**(a0**2)", "r": "n**(a1**2 - a0**2)", "B": "n**(b**2)", "e": "a1 - a0 - b"}
    identity = functools.partial(
        self_attention,
        "self-identity",
        "softmax",
        0,
        math.sqrt(0.96),
        1,
        where=letters,
        q=(1, None),
        B=(1, None),
    )
    needs = r"$F_{\exp}(D1) > 0$ without false alarm needs $y_1 =$ "
    return {
        "cross": conjunction(needs + "y_* = 1", cross(1, -1), cross(-1, 1), cross(-1, -1)),
        "ones": conjunction(needs + "$y_d = 1$, X = 1", ones(1), ones(-1)),
        "identity": conjunction(needs + "$y_d = 1$, X = I", identity(1), identity(-1)),
    }


def identity_block(tau: Callable[[float, float], float]) -> Proof:
    """X = I: a row of D0 in a block with sign +1 fires, y_d = 1, if the sum S of all k block signs
    exceeds -D.

    D = ((10 b - 1)(n^(b^2) - 1) - k - 10 a0/t)/(10 b), y_1 whatever it is. Detection needs y_d = 1
    (:func:`cap`), so what detects without a false alarm has S <= -D or no + off j3's block: a share
    of (exp(-D^2/(2 k)) + 2^(1 - k))/2 at most, by Hoeffding (own-identity-block,
    ``chances.small_block_bound``). The signs are shared. Softmax; the row of another block than
    j3's, in which j3 has the weight of any key. ``tau(n, c)`` is the threshold.
    """

    def sides(k: Any, t: Any, B: Any, b: Any, a: Any, x: Any) -> tuple[Any, Any]:
        w = shares(1, k, t, B)
        D = ((10 * b - 1) * (B - 1) - k - 10 * a / t) / (10 * b)
        return TENTH, b * (w.star + w.block * (x - D - 1)) - a * w.far

    ranges: dict[str, Any] = SIZES | {
        "B": (1, None),
        "b": (TENTH, None),
        "a": (0, None),
        "x": (0, None),
    }
    where = SELF | {
        "B": "n**(b**2)",
        "x": "S + ((10*b - 1)*(n**(b**2) - 1) - (d - 2) - 10*a/t)/(10*b)",
    }
    drawn = [
        layer("self-identity", "softmax", 3 * t, 5, a, b, 0.8)
        for t, a, b in ((1, 0.0, 0.5), (2, 0.05, 0.9), (4, 0.05, 0.7))
    ]
    # the row of the second block column, whose sign is +1, as is S
    at = [vars(L) | {"S": 3} for L in drawn]
    proof = prove_le("b (block signs) - a0 w >= 0.1 where S >= -D", sides, where=where, **ranges)
    return proof.crosschecked(
        at, [tau(L.n, L.c) / L.scale - L.c for L in drawn], [_row(L, 1, -1, 1, 1) for L in drawn]
    )


@functools.cache
def higher() -> dict[str, Proof]:
    """Explicit bounds where softmax concentrates, w >= 1 - n/r, and where all else is nearly
    uniform, w <= r/n (own-higher-threshold).

    ``ones`` (cross-attention too): r times the score of another key. ``identity``: q = n^(a^2); in
    the row of j3 w <= q B/n, in other rows w <= B/n, B = n^(b^2); linear weights: w <= (a^2 + b^2 +
    c^2)/(n c^2).
    """
    two: dict[str, Any] = {"n": (1, None), "r": (1, None)}
    B: dict[str, Any] = SIZES | {"B": (1, None)}
    q: dict[str, Any] = B | {"q": (1, None)}
    eye = SELF | {"q": "n**(a**2)", "B": "n**(b**2)"}
    weight = lambda L: L.f[0, 0]

    def linear(k: Any, t: Any, a: Any, b: Any, c: Any) -> tuple[Any, Any]:
        return linear_identity(k, t, a, b, c), (a**2 + b**2 + c**2) / (k * t * c**2)

    def both(kind: Model, weights: str, r: str) -> tuple[Proof, Proof]:
        """``r`` is the score of the special key over that of another one."""
        on = _drawn(kind, weights, (0.05, 2.0))
        on += (
            []
            if kind == "cross"
            else [layer(kind, weights, 12, 5, a, 0.3, 0.4) for a in (0.05, 2.0)]
        )
        low = prove_le(
            "1 - n/r <= w", lambda n, r: (1 - n / r, special(r, n)), where={"r": r}, **two
        )
        high = prove_le("w <= r/n", lambda n, r: (special(r, n), r / n), where={"r": r}, **two)
        ratio = lambda L: L.u[0, 0] / L.u[0, 1]
        return low.crosschecked(on, lambda L: 1 - L.n / ratio(L), weight), high.crosschecked(
            on, weight, lambda L: ratio(L) / L.n
        )

    on, flat = (
        _drawn("self-identity", weights, (0.05, 1.5), unit=True)
        for weights in ("softmax", "linear")
    )
    q_low = prove_le(
        "1 - n/q <= w", lambda k, t, B, q: (1 - k * t / q, shares(q, k, t, B).key), where=eye, **q
    )
    q_high = prove_le(
        "w <= q B/n", lambda k, t, B, q: (shares(q, k, t, B).key, q * B / (k * t)), where=eye, **q
    )
    rest = prove_le(
        "other rows: w <= B/n",
        lambda k, t, B: (shares(1, k, t, B).near, B / (k * t)),
        where=eye,
        **B,
    )
    line = prove_le(
        "linear: w <= |row|^2/(n c^2)",
        linear,
        where=SELF,
        **SIZES,
        a=(0, None),
        b=(0, None),
        c=(0.001, None),
    )
    return {
        "ones": conjunction(
            "1 - n/r <= w <= r/n",
            *both("self-ones", "softmax", "n**(a*(a + b + c))"),
            *both("self-ones", "linear", "(a + b + c)/(b + c)"),
            *both("cross", "softmax", "n**a"),
        ),
        "identity": conjunction(
            r"1 - n/q <= w <= q B/n; other rows w <= B/n; linear $w \le (a^2 + b^2 + c^2)/(n c^2)$",
            q_low.crosschecked(on, lambda L: 1 - L.n ** (1 - L.a**2), weight),
            q_high.crosschecked(on, weight, lambda L: L.n ** (L.a**2 + L.b**2 - 1)),
            rest.crosschecked(on, lambda L: L.f[-1, -1], lambda L: L.n ** (L.b**2 - 1)),
            line.crosschecked(flat, weight, lambda L: (L.a**2 + L.b**2 + L.c**2) / (L.n * L.c**2)),
        ),
    }


@functools.cache
def linear_separates() -> dict[str, Proof]:
    """With y = 1 the largest value of linear attention is larger on D1 than on D0, so that a
    threshold between separates.

    With y = 1 a row has the value a w + b + c (cross: w + 1), w the weight of j3; in its first part
    that of the special row is larger on D1, where a1 = a0 + e. So it is for all others, where a w
    is a times a constant (X = I) or the same function (X = 1), or they stay; hence so is the
    maximum. (own-linear-separates.)
    """

    def grows(
        kind: Model, value: Callable[..., Any], where: dict[str, str], ranges: dict[str, Any]
    ) -> Proof:
        more: dict[str, Any] = ranges | {"a": (0, None), "e": (0, None)}
        proof = prove_le(
            f"value on D0 < value on D1, {kind}",
            lambda a, e, **x: (value(a=a, **x), value(a=a + e, **x)),
            strict=True,
            opened=("e",),
            where=where | {"a": "a0", "e": "a1 - a0"},
            **more,
        )
        low, high = (_drawn(kind, "linear", (a,))[1:] for a in (0.01, 1.2))
        drawn = [
            (L, H)
            for L, H in zip(low, high)
            if all(x <= vars(L)[v] for v, (x, _) in ranges.items() if v in vars(L))
        ]
        drawn = [(L, H) for L, H in drawn if L.n // L.t >= ranges["k"][0]]
        at = [vars(L) | {"a0": L.a, "a1": H.a} for L, H in drawn]
        return proof.crosschecked(
            at, *([float(L.features[0, 0]) / L.scale for L in side] for side in zip(*drawn))
        )

    cross, few, many = (
        (lambda k, t, a: special(1 + a, k * t)),
        SIZES | {"t": (2, None)},
        SIZES | {"k": (2, None)},
    )
    return {
        "ones": grows("self-ones", lambda k, t, a: a * special(1 + a, k * t), SELF, SIZES),
        "identity": grows(
            "self-identity",
            lambda k, t, a, b, c: a * linear_identity(k, t, a, b, c),
            SELF,
            SIZES | {"b": (0, None), "c": (0.1, None)},
        ),
        "cross": conjunction(
            "value on D0 < value on D1, n >= 2",
            *(grows("cross", cross, CROSS, x) for x in (few, many)),
        ),
    }
