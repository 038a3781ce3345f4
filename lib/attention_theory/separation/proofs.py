"""Lemmas of deng2023 for all sizes at once: weights, features and probabilities in (n, d, a, b, c), by :mod:`..evidence.prove`.

Every row of weights has at most three values, so that a bound is an inequality between rational functions of the sizes and of
powers of n. These are variables of their own: p = n^a, P = n^(a(1 + a)), q = n^(a^2) and B = n^(b^2), all >= 1. So nothing is
lost at large n, and no tail is left over. Columns: k = d - 2 (cross-attention: d - 1), n = k t; features are in units of
sqrt(log n) (cross-attention: 1). A function gives one :class:`Proof` for each part, by the name of the part: ``d.2-3a``.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

from attention_theory.domain import Arithmetic
from attention_theory.evidence.prove import Proof, every, joined, least, nonnegative, positive, same

HALF, TENTH = Fraction(1, 2), Fraction(1, 10)
#: Sizes: k block columns, t identity blocks, n = k t.
SIZES: dict[str, Any] = {"k": (1, None), "t": (1, None)}
#: What two columns of a quiet row exceed their average by, at most, for n >= 1000 (1 + a1)^2 (:func:`quiet`).
EXCESS = Fraction(22, 10000)


class Bound(NamedTuple):
    """``value`` <= or >= ``bound`` on ``ranges``; ``shown`` says the ranges in the paper's letters."""

    what: str
    value: Callable[..., Any]
    relation: str
    bound: Callable[..., Any]
    ranges: dict[str, Any]
    shown: str

    def proof(self, factor: Fraction | int = 1) -> Proof:
        """Prove it, with the bound times ``factor``; raises NotProved."""
        sign = {"<=": 1, ">=": -1}[self.relation]
        return nonnegative(
            self.what, lambda **x: sign * (factor * self.bound(**x) - self.value(**x)), shown=self.shown, **self.ranges
        )


# Weights of a row ----------------------------------------------------------------------------------------------------
# A row in which the special key scores r times as high as each of the other n - 1 (after u): self-attention with X = 1, where
# r = P = n^(a(1 + a)) in the special row and p = n^a in the others (softmax), 1 + a in all (linear); cross-attention, row j2,
# where r = n^a (softmax) and 1 + a (linear).


def special(r: Arithmetic, n: Arithmetic) -> Any:
    """Weight of the special key."""
    return r / (r + n - 1)


def ordinary(r: Arithmetic, n: Arithmetic) -> Any:
    """Weight of any other key."""
    return 1 / (r + n - 1)


def star(r: Arithmetic, k: Arithmetic, t: Arithmetic) -> Any:
    """Weight of the special key's block column, as a sum over its t keys."""
    return special(r, k * t) + (t - 1) * ordinary(r, k * t)


def block(r: Arithmetic, k: Arithmetic, t: Arithmetic) -> Any:
    """Weight of another block column."""
    return t * ordinary(r, k * t)


def two_level_bounds() -> dict[str, Bound]:
    """Lemmas D.2, D.3, D.6, D.7, D.10, D.11, D.14, D.15 (X = 1) and F.2, F.3, F.6, F.7, F.10, F.11, F.14, F.15 (cross).

    Where a hypothesis on a becomes one on a power of n: a1 >= .7 gives a1 (1 + a1) > 1, hence P > n (:func:`exponents`), as
    does the condition (1 + a1)^2 > 2 + a1 of Lemma D.2; a0 in [0, 1] gives P <= n^(2 a0); a1 >= 1 gives p >= n. The bounds
    with t hold for all k, t >= 1. The features c(., 1), c(., i) are a and b times weights; a and b cancel.
    """
    sizes, one, more = "n = k t", {"r": (1, None)}, {"x": (1, None)}
    n = {"n": (2, None)}
    high, low = "n >= 2, a1 >= 0.7", "n >= 2, a0 in [0, 1]"
    half = Bound("weight of j3 >= 1/2", lambda n, x: special(n * x, n), ">=", lambda n, x: HALF, n | more, high)
    square = Bound(
        "weight of j3 <= n^(2 a0 - 1)", lambda n, r, x: special(r, n), "<=", lambda n, r, x: r * x / n, n | one | more, low
    )
    block_half = Bound(
        "j3's column >= 1/2",
        lambda k, t, x: star(k * t * x, k, t),
        ">=",
        lambda k, t, x: HALF,
        SIZES | more,
        f"{high}, {sizes}",
    )
    third = Bound(
        "another column <= 1/3",
        lambda k, t, x: block(k * t * x, k, t),
        "<=",
        lambda k, t, x: Fraction(1, 3),
        SIZES | more | {"k": (2, None)},
        f"{high}, {sizes}, k >= 2",
    )
    all_square = Bound(
        "every column <= t n^(2 a0 - 1)",
        lambda k, t, r, x: star(r, k, t),
        "<=",
        lambda k, t, r, x: r * x / k,
        SIZES | one | more,
        f"{low}, {sizes}",
    )
    column_square = Bound(
        "j3's column <= n^(2 a0 - 1) + (t - 1)/n",
        lambda k, t, r, x: star(r, k, t),
        "<=",
        lambda k, t, r, x: (r * x + t - 1) / (k * t),
        SIZES | one | more,
        f"{low}, {sizes}",
    )

    def family(ratio: str, a: str) -> tuple[Bound, ...]:
        """Upper bounds for all r >= 1, with r/n in the paper's letters."""
        every = f"n >= 2, {a} >= 0"
        return (
            Bound(f"weight of j3 <= {ratio}", lambda n, r: special(r, n), "<=", lambda n, r: r / n, n | one, every),
            Bound("another weight <= 1/n", lambda n, r: ordinary(r, n), "<=", lambda n, r: 1 / n, n | one, every),
            Bound(
                f"every column <= {ratio} t",
                lambda k, t, r: star(r, k, t),
                "<=",
                lambda k, t, r: r / k,
                SIZES | one,
                f"{every}, {sizes}",
            ),
            Bound(
                f"j3's column <= {ratio} + (t - 1)/n",
                lambda k, t, r: star(r, k, t),
                "<=",
                lambda k, t, r: (r + t - 1) / (k * t),
                SIZES | one,
                f"{every}, {sizes}",
            ),
            Bound(
                "another column <= t/n",
                lambda k, t, r: block(r, k, t),
                "<=",
                lambda k, t, r: 1 / k,
                SIZES | one,
                f"{every}, {sizes}",
            ),
        )

    bounds = {"d.2-3a": half, "d.3-1": half, "d.3-2a": block_half, "d.3-2a-one": third}
    bounds |= {"d.6-3a": square, "d.7-1": square, "d.7-2": all_square, "d.7-2a": column_square}
    for part, bound in {"3-2a": block_half, "3-2a-one": third, "2-3a": half, "3-1": half}.items():
        bounds["f." + part] = bound._replace(shown=bound.shown.replace("0.7", "1"))
    soft, linear = "n^({0} - 1)", "(1 + {0})/n"
    for a, ratio, lemmas in (
        ("a1", soft, "d.2 d.3 f.2 f.3"),
        ("a0", soft, "d.6 d.7 f.6 f.7"),
        ("a1", linear, "d.10 d.11 f.10 f.11"),
        ("a0", linear, "d.14 d.15 f.14 f.15"),
    ):
        weights, features, cross, cross_features = lemmas.split()
        key, other, every, column, rest = family(ratio.format(a), a)
        bounds |= {f"{weights}-3b": other, f"{weights}-4a": key, f"{weights}-4b": other}
        bounds |= {f"{features}-4": key, f"{features}-5": every}
        if ratio == soft:
            bounds |= {f"{features}-2b": rest, f"{features}-5a": column, f"{features}-5b": rest}
            bounds |= {f"{cross}-3b": other, f"{cross_features}-2b": rest}
        else:
            bounds |= {f"{weights}-3a": key, f"{features}-1": key, f"{features}-2": every}
            bounds |= {f"{cross}-3": key, f"{cross}-4": other}
        if cross != "f.2":
            bounds |= {f"{cross_features}-1": key, f"{cross_features}-2": every}
    bounds["f.6-3a"] = bounds["d.6-4a"]
    # D.3 Part 5 as corrected: j3's column has the bound of D.7 Part 5
    bounds["d.3-5"] = bounds.pop("d.3-5a")
    del bounds["d.3-5b"], bounds["f.7-2b"]
    return bounds


def two_level() -> dict[str, Proof]:
    """All of :func:`two_level_bounds`, each part of a lemma with its proof."""
    return _prove(two_level_bounds()) | {"exponents": exponents()}


def _prove(bounds: dict[str, Bound]) -> dict[str, Proof]:
    return {part: bound.proof() for part, bound in bounds.items()}


def exponents() -> Proof:
    """A (1 + a) >= 1 for a >= .619: then P = n^(a (1 + a)) >= n. Serves Lemmas D.2 to D.4 on D1."""
    return nonnegative("a (1 + a) >= 1", lambda a: a * (1 + a) - 1, a=(0.619, None))


# X = I ---------------------------------------------------------------------------------------------------------------


def identity_weights(q: Arithmetic, B: Arithmetic, k: Arithmetic, t: Arithmetic) -> tuple[Any, Any, Any]:
    """Row j3 with X = I: weights of j3, of the rest of its block, of all others; the scores are q B : B : 1."""
    total = q * B + (t - 1) * B + (k - 1) * t
    return q * B / total, B / total, 1 / total


def identity_others(B: Arithmetic, k: Arithmetic, t: Arithmetic) -> tuple[Any, Any]:
    """Another row: weights of the t keys of its own block (j3 is one of them, or is not), and of the others."""
    total = t * B + (k - 1) * t
    return B / total, 1 / total


def identity_bounds() -> dict[str, Bound]:
    """Lemmas E.1 and E.2 with X = I and b^2 + c^2 = 1, on D1.

    a1 >= 1 gives q = n^(a1^2) >= n. (Lemma E.1 asks for a1 > 1.)
    """
    above = "n = k t >= 2, a1 >= 1, b^2 + c^2 = 1"
    any_a = "n = k t >= 2, a1 >= 0, b^2 + c^2 = 1"
    base = SIZES | {"B": (1, None)}
    large = base | {"x": (1, None)}  # q = n x
    every_q = base | {"q": (1, None)}

    def row(i: int) -> Callable[..., Any]:
        return lambda k, t, B, q: identity_weights(q, B, k, t)[i]

    per_key, uniform = (lambda k, t, B, **_: B / (k * t)), (lambda k, t, B, **_: 1 / (k * t))
    half = lambda **_: HALF
    own = lambda k, t, B: identity_others(B, k, t)[0]
    j3 = Bound("weight of j3 >= 1/2", lambda k, t, B, x: identity_weights(k * t * x, B, k, t)[0], ">=", half, large, above)
    column = Bound(
        "j3's column >= 1/2",
        lambda k, t, B, x: identity_weights(k * t * x, B, k, t)[0] + (t - 1) * identity_weights(k * t * x, B, k, t)[1],
        ">=",
        half,
        large,
        above,
    )
    one = Bound(
        "another column <= 1/3",
        lambda k, t, B, x: t * identity_weights(k * t * x, B, k, t)[2],
        "<=",
        lambda **_: Fraction(1, 3),
        large | {"k": (2, None)},
        above,
    )
    return {
        "e.1-3a": j3,
        "e.1-3b-near": Bound("other weights of the block <= n^(b^2 - 1)", row(1), "<=", per_key, every_q, any_a),
        "e.1-3b": Bound("weights off the block <= n^(b^2 - 1)", row(2), "<=", per_key, every_q, any_a),
        "e.1-4a": Bound("t weights <= n^(b^2 - 1)", own, "<=", per_key, base, any_a),
        "e.1-4b": Bound("n - t weights <= 1/n", lambda k, t, B: identity_others(B, k, t)[1], "<=", uniform, base, any_a),
        "e.2-1": j3,
        "e.2-2a": column,
        "e.2-2a-one": one,
        "e.2-2b": Bound(
            "another column <= t n^(b^2 - 1)",
            lambda k, t, B, q: t * row(2)(k, t, B, q),
            "<=",
            lambda k, t, B, q: B / k,
            every_q,
            any_a,
        ),
        "e.2-4": Bound("weight of j3 in another row <= n^(b^2 - 1)", lambda k, t, B: own(k, t, B), "<=", per_key, base, any_a),
        "e.2-5": Bound(
            "every column of another row <= t n^(b^2 - 1)",
            lambda k, t, B: t * own(k, t, B),
            "<=",
            lambda k, t, B: B / k,
            base,
            any_a,
        ),
    }


def identity_rows() -> dict[str, Proof]:
    """All of :func:`identity_bounds`."""
    return _prove(identity_bounds())


# From the definitions to scores and features -------------------------------------------------------------------------


def _tokens(k: int, t: int, *columns: Any) -> Any:
    """Rows (first, identity block, last) with symbols: columns = (a, b, c), or (a, b) without a last column."""
    import sympy

    first = sympy.Matrix(k * t, 1, lambda i, _: columns[0] if i == 0 else 0)
    blocks = sympy.Matrix(k * t, k, lambda i, j: columns[1] if i % k == j else 0)
    last = [sympy.Matrix(k * t, 1, lambda i, _: columns[2])] if len(columns) > 2 else []
    return sympy.Matrix.hstack(first, blocks, *last)


def scores() -> dict[str, Proof]:
    """A X A^T of the definitions is what the weights of this module take, in units of log n.

    Serves the parts on u in Lemmas D.2, D.6, D.10, D.14 (``ones``), E.1 (``identity``), F.2, F.6, F.10, F.14 (``cross``; there
    all rows but j2 are uniform). Symbols a, b, c at k = 3, t = 2: a score depends on two rows of A only, and every pair of
    rows, at any size, has the form of a pair that occurs there: with or without j3, in one block or in two.
    """
    import sympy

    a, b, c = sympy.symbols("a b c", positive=True)
    k, t = 3, 2
    A = _tokens(k, t, a, b, c)
    shown = "all n, d, a, b, c"

    def table(entry: Callable[[int, int], Any]) -> Any:
        return sympy.Matrix(k * t, k * t, entry)

    ones = table(lambda i, j: (1 + a) ** ((i == 0) + (j == 0)))
    identity = table(lambda i, j: c**2 + (b**2 if i % k == j % k else 0) + (a**2 if i == j == 0 else 0))
    queries = sympy.Matrix(k * t, k + 1, lambda i, j: (a if i == 0 else 0) if j == 0 else 1)
    cross = table(lambda i, j: 1 + (a if i == j == 0 else 0))
    return {
        "ones": same(
            "scores (1 + a)^2, 1 + a, 1", (A * sympy.ones(k + 2) * A.T).subs(c, 1 - b), ones, f"{shown} with b + c = 1"
        ),
        "identity": same("scores a^2 + b^2 + c^2, b^2 + c^2, c^2", A * A.T, identity, shown),
        "cross": same("scores 1 + a at (j2, j3), else 1", queries * _tokens(k, t, 1, 1).T, cross, "all n, d, a"),
    }


def features() -> dict[str, Proof]:
    """A row of weights w, of sum 1, has the features a w_3, b times the sums over the blocks, c (cross: w_3 and those sums).

    Serves Lemmas D.3, D.7, D.11, D.15 Parts 3 and 6, E.2 Parts 3 and 6 (``last``), and the uniform rows of F.3, F.7, F.11,
    F.15 (``uniform``: 1/n, t/n, and (t + 1)/n only for j3's own column, whose key j3 counts in the first column too).
    """
    import sympy

    a, b, c = sympy.symbols("a b c", positive=True)
    k, t = 3, 2
    w: Any = sympy.Matrix(sympy.symbols(f"w1:{k * t + 1}", positive=True))
    w = w / sum(w[i] for i in range(k * t))
    found = _tokens(k, t, a, b, c).T * w
    uniform = _tokens(k, t, 1, 1).T * sympy.ones(k * t, 1) / (k * t)
    blocks = [b * sum(w[i] for i in range(k * t) if i % k == j) for j in range(k)]
    return {
        "all": same(
            "features a w_3, b (sum over a block), c", found, sympy.Matrix([a * w[0], *blocks, c]), "all weights of sum 1"
        ),
        "last": same("c(j, d) = c", found[k + 1], c, "all weights of sum 1"),
        "uniform": same(
            "a uniform row has 1/n and t/n",
            uniform,
            sympy.Matrix([sympy.Rational(1, k * t)] + [sympy.Rational(1, k)] * k),
            "all n, d",
        ),
    }


def _tenths(x: int) -> Any:
    import flint

    return flint.arb(x) / 10


def tensor_trick() -> Proof:
    """Fact A.1 with the row-major vec, and with it Claims C.3 and C.5: A1 X A2^T = (A1 kron A2) vec(X), entry by entry.

    n = d = 2 with symbols; an entry is a bilinear form in a row of A1 and a row of A2, at every size. exp acts on entries.
    """
    import sympy

    A1, A2, X = (sympy.Matrix(2, 2, sympy.symbols(f"{name}1:5")) for name in "abx")
    # Matrix.vec stacks columns; the row-major vec of M is that of M^T
    long = sympy.kronecker_product(A1, A2) * X.T.vec()
    return same("(A1 kron A2) vec(X) = vec(A1 X A2^T)", long, (A1 * X * A2.T).T.vec(), "all n, d, row-major vec")


def no_such_data() -> Proof:
    """The hypothesis of Lemma E.1: b + c = 1 and b^2 + c^2 = 1 exclude each other for b, c >= .1.

    1 - (b^2 + c^2) = (b + c)^2 - (b^2 + c^2) = 2 b c > 0.
    """
    return nonnegative(
        "(b + c)^2 - (b^2 + c^2) > 0", lambda b, c: (b + c) ** 2 - b**2 - c**2, strict=True, b=(0.1, None), c=(0.1, None)
    )


# Detection -----------------------------------------------------------------------------------------------------------


def detection() -> dict[str, Proof]:
    """F_exp(D1) > 0 with a share of the sign vectors, at every size.

    ``ones``, ``identity``: with y = +1 on the first, on j3's and on the last column row j3 exceeds c by at least 0.1 (in fact
    by a/2), whatever the other signs: a share of 1/8 (Lemmas D.4 Part 1, E.3 Part 1; own-detection-eighth, -identity). That
    takes P >= n only, a1 (1 + a1) >= 1 (:func:`exponents`); ``ones-others``: the other rows have p = n^a1 in the place of P,
    and p >= n for a1 >= 1 (Lemma D.4 Part 2 as printed is false at every size). ``m``: then (7/8)^m <= delta/n for m >= 7.5
    log(n/delta) >= log(n/delta)/log(8/7) (Theorems D.5, E.4). Cross-attention: :func:`share_cross`.

    ``weight``: for a1 >= 1 P >= n^2, so the weight w of j3 is at least 4/5, equal at n = 2, a1 = 1. ``quarter``: then y_1 = y_d
    = 1 is enough if b <= .7 (at b = .7, a1 = 1, n = 2, d = 3 it can be tau itself); ``quarter-high``: y_1 = y_* = 1 is enough
    if b >= .5, as the row is then at least a1 w + b w - b (1 - w) - c with c = 1 - b. ``quarter-below``: for .7 <= a1 < 1 the
    weight is least at n = s/(s - 1), s = a1 (1 + a1), where (n - 1) n^(-s) = (s - 1)^(s - 1)/s^s, and b <= .33 + 1.2 (a1 -
    .7) or b >= .74 - .78 (a1 - .7) is enough (the two rows fall and grow with b). ``quarter-identity``: for X = I the weight is
    at least 1/2, and b <= .4 is enough (Theorem E.4 has b < .2).
    """
    sizes: dict[str, Any] = SIZES | {"x": (1, None)}
    b: dict[str, Any] = {"b": (0, None)}
    eighth = "n = k t >= 2, {}, b >= 0: a share of 1/8 of the signs"

    def ones(k: Any, t: Any, x: Any, a: Any, b: Any) -> Any:
        r = k * t * x
        return a * special(r, k * t) + b * (star(r, k, t) - (k - 1) * block(r, k, t)) - TENTH

    def high(a: Any, w: Any, b: Any) -> Any:
        return a * w + b * (2 * w - 1) - 2 * (1 - b)

    def below(a: Any) -> Any:
        s, above = a * (1 + a), (a - _tenths(7)) / 100
        w = 1 / (1 + ((s - 1) * (s - 1).log() - s * s.log()).exp())  # at the largest (n - 1) n^(-s)
        low = a * w - (_tenths(33) / 10 + 120 * above)
        return least(low - _tenths(1), high(a, w, _tenths(74) / 10 - 78 * above) - _tenths(1))

    def identity(k: Any, t: Any, x: Any, a: Any, b: Any, B: Any) -> Any:
        special, near, far = identity_weights(k * t * x, B, k, t)
        return a * special + b * (special + (t - 1) * near - (k - 1) * t * far) - TENTH

    def identity_two(k: Any, t: Any, x: Any, a: Any, b: Any, B: Any) -> Any:
        return a * identity_weights(k * t * x, B, k, t)[0] - b - TENTH

    unit: dict[str, Any] = {"a": (1, None), "B": (1, None)} | sizes
    return {
        "ones": nonnegative("c(j3) y - c >= 0.1", ones, a=(0.619, None), **b, **sizes, shown=eighth.format("a1 >= 0.619")),
        "ones-others": nonnegative(
            "c(j) y - c >= 0.1", ones, a=(1, None), **b, **sizes, shown=eighth.format("a1 >= 1, j != j3")
        ),
        "identity": nonnegative("c(j3) y - c >= 0.1", identity, **b, **unit, shown=eighth.format("a1 >= 1, b^2 + c^2 = 1")),
        "quarter-identity": nonnegative(
            "a1 w - b >= 0.1", identity_two, b=(0, 0.4), **unit, shown="n = k t >= 2, a1 >= 1, b <= 0.4: a share of 1/4"
        ),
        "m": positive("C log(8/7) > 1", lambda C: C * (_tenths(80) / 7).log() - 1, C=(7.5, 7.5)),
        "weight": nonnegative(
            "weight of j3 >= 4/5",
            lambda n, x: special(n * n * x, n) - Fraction(4, 5),
            n=(2, None),
            x=(1, None),
            shown="n >= 2, a1 >= 1",
        ),
        "quarter": nonnegative(
            "a1 w - b >= 0.1",
            lambda n, x, a, b: a * special(n * n * x, n) - b - TENTH,
            n=(2, None),
            x=(1, None),
            a=(1, None),
            b=(0, 0.7),
            shown="n >= 2, a1 >= 1, b <= 0.7: a share of 1/4 of the signs",
        ),
        "quarter-high": nonnegative(
            "a1 w + b (2 w - 1) - c >= c + 0.1",
            lambda n, x, a, b: high(a, special(n * n * x, n), b) - TENTH,
            n=(2, None),
            x=(1, None),
            a=(1, None),
            b=(0.5, 1),
            shown="n >= 2, a1 >= 1, b >= 0.5, b + c = 1: a share of 1/4 of the signs",
        ),
        "quarter-below": positive(
            "a1 w - b > 0.1, a1 w + b (2 w - 1) - c > c + 0.1",
            below,
            a=(0.7, 1),
            shown="n >= 2, a1 in [0.7, 1], b <= 0.33 + 1.2 (a1 - 0.7), b >= 0.74 - 0.78 (a1 - 0.7): a share of 1/4",
        ),
    }


# Quiet networks ------------------------------------------------------------------------------------------------------


def quiet() -> dict[str, Proof]:
    """No row of the three quiet networks fires but with probability delta/n, by Hoeffding's inequality (Lemma 3.1).

    X = 1, k = d - 2 >= 400 b^2 Lambda, Lambda = log(n/delta), n >= 1000 (1 + a1)^2. In units of sqrt(log n) a row is at most
    c + e + (b/k) |sum of k signs|, as a column has at most t/n = 1/k (:func:`two_level`), with e = (a + b) w, w the weight of
    j3. On D0 a + b <= 1 and w <= n^(-0.89) (softmax: a0 + a0^2 < 0.11) or 1.1/n; on D1 (linear) (1 + a1) (1 + a1)/n <=
    1/1000: always e <= .0022 (``e``, :data:`EXCESS`). So firing takes a mean of signs above (.1 - e)/b, of probability at
    most 2 exp(-200 Lambda (.1 - e)^2) <= delta/n (``row``, in z = 1/Lambda): Lemmas D.8, D.12, D.16. Two kinds of rows and
    m <= 7.5 Lambda + 1 sign vectors need the factor 2 (7.5 Lambda + 1), beside which Lambda wins (``network``, on a box of
    Lambda; log(15 Lambda + 2)/Lambda falls from there on): Theorems D.9, D.13, D.17, and D.5's companion events in 6.2.
    ``other-rows``: on D1 (softmax, a1 < 1), e <= (a1 + b) n^(a1 - 1) <= 1/35 is enough for one side (Lemma D.4 Part 2).

    X = I (``identity``, Lemma E.3 Part 2 corrected): b < .2, a1 <= 3, n >= 10^4, k >= 400 b^2 Lambda, k >= 4 n^(b^2). With
    r = (B - 1)/k <= 1/4 a row is c + e + (b r + (b/k) (sum of signs))/(1 + r), e <= 3 n^(b^2 - 1) <= .0005: exponent
    200 ((1 + r)(.1 - e) - b r)^2 >= 1. The sum of signs is the same for all rows, so they are one event.

    ``identity-network`` (own-identity-quiet): all b, c >= .1 with b^2 + c^2 = 1, and max(800 b^2 Lambda, 40 n^(b^2)) <= k <= n,
    so that r <= 1/40. On D0 (softmax) w <= n^(a0^2 + b^2 - 1) <= 1/100; linear rows have 1/c^2 in the place of B, and w <=
    10/(n c^2) for a <= 3: ``identity-linear``, with s = b^2 and n >= max(10^4, 100 * 10^(4 s)). Always e <= .011.
    """
    return {
        "e": positive("0.0022 > n^(-0.89), 1.1/n", _largest_e, n=(1000, 1000), shown="n >= 1000 (both fall with n)"),
        "row": positive(
            "200 (0.1 - e)^2 > 1 + log(2)/Lambda",
            lambda e, z: 200 * (_tenths(1) - e) ** 2 - 1 - z * _tenths(20).log(),
            e=(0, EXCESS),
            z=(0, 0.145),
            shown="d - 2 >= 400 b^2 log(n/delta), n >= 1000 (1 + a1)^2, delta <= 1",
        ),
        "network": positive(
            "200 (0.1 - e)^2 > 1 + log(15 Lambda + 2)/Lambda",
            lambda e, L: 200 * (_tenths(1) - e) ** 2 - 1 - (15 * L + 2).log() / L,
            e=(0, EXCESS),
            L=(6.9, 100),
            shown="d - 2 >= 400 b^2 log(n/delta), n >= 1000 (1 + a1)^2, m <= 7.5 log(n/delta) + 1",
        ),
        "other-rows": positive(
            "200 (0.1 - e)^2 > 1",
            lambda e: 200 * (_tenths(1) - e) ** 2 - 1,
            e=(0, "1/35"),
            shown="d - 2 >= 400 b^2 log(n/delta), n^(1 - a1) >= 35 (a1 + b)",
        ),
        "identity-network": positive(
            "400 ((1 + r)(0.1 - e) - b r)^2 > 1 + log(15 Lambda + 2)/Lambda",
            lambda r, b, e, L: 400 * ((1 + r) * (_tenths(1) - e) - b * r) ** 2 - 1 - (15 * L + 2).log() / L,
            r=(0, "1/40"),
            b=(0, 1),
            e=(0, 0.011),
            L=(9.2, 100),
            shown="a1 <= 3, n >= 10^4, n^(1 - a0^2 - b^2) >= 100, d - 2 >= max(800 b^2 log(n/delta), 40 n^(b^2))",
        ),
        "identity-linear": joined(
            "b^2/(1 - b^2) < n^(b^2) and 10/(n (1 - b^2)) < 0.00275",
            "n >= 10^4, n >= 100 n^(b^2), c >= 0.1",
            positive("", lambda s: _ten_to_4(s) * (1 - s) - s, s=(0, 0.99)),
            positive("", lambda s: 10000 * (1 - s) - 3640, s=(0, 0.6)),
            positive("", lambda s: 100 * _ten_to_4(s) * (1 - s) - 3640, s=(0.6, 0.99)),
        ),
        "identity": positive(
            "200 ((1 + r)(0.1 - e) - b r)^2 > 1",
            lambda r, b, e: 200 * ((1 + r) * (_tenths(1) - e) - b * r) ** 2 - 1,
            r=(0, 0.25),
            b=(0, 0.2),
            e=(0, 0.0005),
            shown="b <= 0.2, a1 <= 3, n >= 10^4, d - 2 >= 400 b^2 log(n/delta), d - 2 >= 4 n^(b^2)",
        ),
    }


def _ten_to_4(s: Any) -> Any:
    """n^s at n = 10^4."""
    return (4 * _tenths(100).log() * s).exp()


def _largest_e(n: Any) -> Any:
    bound = _tenths(10) * EXCESS.numerator / EXCESS.denominator
    return least(bound - (-89 * n.log() / 100).exp(), bound - 11 / (10 * n))


def quiet_cross() -> dict[str, Proof]:
    """Cross-attention: a row is at most 2 p + |S|/k, S the sum of k = d - 1 signs, p <= r/n the weight of j3 in it (``shift``).

    Hoeffding: Pr[|S| >= s k] <= 2 exp(-s^2 k/2), half of it on one side. ``row`` (Lemmas F.4 Part 2, F.8, F.12, F.16):
    s = .5 - 2 p and k >= 12 Lambda - 1, Lambda = log(n/delta), leave delta/n for both sides if p <= 1/40. ``network``
    (Theorems F.9, F.13, F.17; own-cross-dimension): s = .9 - 2 p and k >= 6 Lambda - 1 leave delta/n for m <= 7.5 Lambda + 1
    sign vectors if p <= 1/20, as log m <= .75 Lambda (``m``; on a box, beside which Lambda wins); all rows of a network
    exceed .9 only if the same S/k exceeds s.
    """
    base: dict[str, Any] = SIZES | {"r": (1, None)}
    large: dict[str, Any] = {"L": (5.29, None)}
    log2 = Fraction(6932, 10000)  # above log 2

    def shift(k: Any, t: Any, r: Any) -> Any:
        return special(r, k * t) - star(r, k, t) + block(r, k, t)

    return {
        "shift": joined(
            "a row is at most 2 p + |S|/k",
            "all n = k t, all r >= 1",
            nonnegative("j3's column - another <= p", shift, **base),
            nonnegative("another column <= 1/k", lambda k, t, r: 1 / k - block(r, k, t), **base),
        ),
        "row": nonnegative(
            "Pr[|<c, s>| >= 0.5] <= delta/n",
            lambda L, p: (12 * L - 1) * (HALF - 2 * p) ** 2 / 2 - L - log2,
            **large,
            p=(0, "1/40"),
            shown="d >= 12 log(n/delta), n >= max(200, 40 r), r = n^a0 or 1 + a",
        ),
        "network": nonnegative(
            "m Pr[<c, s> > 0.9] <= delta/n",
            lambda L, p: (6 * L - 1) * (9 * TENTH - 2 * p) ** 2 / 2 - L - 3 * L / 4,
            **large,
            p=(0, "1/20"),
            shown="d >= 6 log(n/delta), n >= max(200, 20 r), r = n^a0 or 1 + a",
        ),
        "m": positive("log(7.5 Lambda + 1) < 0.75 Lambda", lambda L: 3 * L / 4 - (15 * L / 2 + 1).log(), L=(5.29, 100)),
    }


def share_cross() -> dict[str, Proof]:
    """Cross-attention, a1 >= 1: row j2 of softmax on D1 exceeds .9 for at least 11/64 of the sign vectors, at all n and d.

    ``fires``: with y_1 = y_* = 1 (a quarter) it does if the sum K of the other k - 1 signs is above -.2 k - .9, as r = n^a1 >=
    n. ``share``: so K is for at least 11/16 of their 2^(k - 1) vectors: counted for k < 48 (equal at k = 5), and beyond by
    Hoeffding, exp(-(.2 k + .9)^2/(2 (k - 1))) <= 5/16 (Lemma F.4 Part 1). ``m``: then (53/64)^m <= delta/n (Theorem F.5).
    """

    def excess(k: Any, t: Any, x: Any, e: Any) -> Any:
        r, n, K = k * t * x, k * t, e - k / 5 - Fraction(9, 10)
        return special(r, n) + star(r, k, t) + K * block(r, k, t) - Fraction(9, 10) - e * block(r, k, t)

    def counted(k: int) -> bool:
        enough = sum(math.comb(k - 1, plus) for plus in range(k) if 10 * (2 * plus - k + 1) > -2 * k - 9)
        return 16 * enough >= 11 * 2 ** (k - 1)

    ranges: dict[str, Any] = SIZES | {"x": (1, None), "e": (0, None)}
    return {
        "fires": nonnegative("c(j2) y > 0.9 if K > -0.2 k - 0.9", excess, **ranges, shown="n = k t >= 2, a1 >= 1"),
        "share": joined(
            "11/16 of such K",
            "k >= 1",
            every("11/16 of such K", counted, range(1, 48), "k < 48"),
            nonnegative("Hoeffding", lambda k: (k / 5 + Fraction(9, 10)) ** 2 - 2 * (k - 1) * Fraction("1.1632"), k=(48, None)),
        ),
        "m": positive("C log(64/53) > 1", lambda C: C * (_tenths(640) / 53).log() - 1, C=(5.31, 5.31)),
    }


# The regression model of sections 3 to 5 -----------------------------------------------------------------------------


def regression() -> dict[str, Proof]:
    """Lemmas 4.1 and 4.2, the exponent .3, and the interval of thresholds, for all n.

    ``kantorovich``: weights w in [m, r m] of sum 1 have (w - m)(w - r m) <= 0, hence |w|^2 <= (1 + r) m - n r m^2, which is
    (1 + r)^2/(4 r n) minus a square; with r = n^0.4, |f_exp|^2 <= ((1 + n^-0.4) n^-0.3/2)^2 (own-norm-exponent). ``linear-0``
    and ``linear-1``: |f_lin|^2 <= 1.0286/n on D0 (r = 1.4) and 1.6/n on D1 (one score 4, the others of sum S in [n - 1, 1.4
    (n - 1)] and of squares at most 2.4 S - 1.4 (n - 1), again (s - 1)(s - 1.4) <= 0). ``hoeffding``: C = 2 makes C^2/(2 *
    1.6) Lambda >= Lambda + log 2 for Lambda = log(n/delta) >= log 20, which is Lemma 4.1 Part 1 and 4.2 Part 1 with poly(n) =
    n, n >= 2, delta <= .1; the same with n^0.3 for softmax, whose norm is smaller. ``norm-0.1``: |f_exp|^2 <= 1.6/n^0.2 too
    (4.1 Part 2); ``empty``: its bound exceeds 1 below 10^10 (C = 2, delta <= 0.1). ``spike``: the weight of the spike is at
    least 1/(1 + (n - 1) n^-2.6), least at n = 2, so |<f, sigma>| >= 2 f_j - 1 > .71 for every sign vector (4.2 Parts 2 and 3:
    the sign is that of the spike). In v = n^-0.2.

    ``interval``: |f|_max sqrt(2 log(m n/delta)) < .99 < 2 f_j - 1 for n >= 35 at delta = .01, m <= log2(n/delta) + 1, with
    the norms of ``exponent`` and ``linear-35`` and the spike of ``spike-35``: every threshold between gives the conclusions
    of Lemmas 5.1 to 5.4 (Hoeffding and m sign vectors: m exp(-log(m n/delta)) = delta/n). Beyond log n = 100 the left side
    falls: e^(-0.3 x) by 0.3, the root by at most 1/x.
    """
    import sympy

    def spread(bound: str) -> Callable[..., Any]:
        return lambda n, s: Fraction(bound) - n * (16 + (n - 1) * (24 * s - 14) / 10) / (4 + (n - 1) * s) ** 2

    def margin(bound: str) -> Callable[..., Any]:
        return lambda v: 1 - (1 - v**5) * v**8 - Fraction(bound) * (1 + (1 - v**5) * v**8)

    m, r, n = sympy.symbols("m r n", positive=True)
    square = n * r * (m - (1 + r) / (2 * n * r)) ** 2
    v = sympy.symbols("v", positive=True)  # n^-0.2
    return {
        "kantorovich": same(
            "(1 + r) m - n r m^2 = (1 + r)^2/(4 r n) - a square",
            (1 + r) * m - n * r * m**2,
            (1 + r) ** 2 / (4 * r * n) - square,
            "all n, m, r > 0",
        ),
        "exponent": same(
            "(1 + r)^2/(4 r n) = ((1 + n^-0.4) n^-0.3/2)^2, r = n^0.4",
            (1 + v**-2) ** 2 / (4 * v**-2 * v**-5),
            (1 + v**2) ** 2 * v**3 / 4,
            "all n",
        ),
        "linear-0": nonnegative(
            "(1 + r)^2/(4 r) <= 1.0286",
            lambda r: Fraction("1.0286") - (1 + r) ** 2 / (4 * r),
            r=(1, 1.4),
            shown="all n, data of D0",
        ),
        "linear-1": nonnegative("n |f_lin|^2 <= 1.6", spread("1.6"), n=(2, None), s=(1, 1.4), shown="n >= 2, data of D1"),
        "hoeffding": nonnegative(
            "4/(2 * 1.6) Lambda >= Lambda + log 2",
            lambda L: L * 4 / Fraction(32, 10) - L - Fraction(6932, 10000),
            L=(2.99, None),
            shown="n >= 2, delta <= 0.1, C = 2",
        ),
        "norm-0.1": nonnegative(
            "n^0.2 |f_exp|^2 <= 1",
            lambda v: 1 - (1 + v**2) ** 2 * v**2 / 4,
            v=(0, 1),
            shown="n >= 1, data of D0",
        ),
        "empty": positive(
            "2 sqrt(log(n/delta)) > n^0.1",
            lambda x: 4 * (x + _tenths(100).log()) - (x / 5).exp(),
            x=(0.69, 23.03),
            shown="n in [2, 10^10], delta <= 0.1, C = 2",
        ),
        "spike": nonnegative("2 f_j - 1 > 0.71", margin("0.71"), strict=True, v=(0, 0.871), shown="n >= 2, data of D1"),
        "linear-35": nonnegative("n |f_lin|^2 <= 1.25", spread("1.25"), n=(35, None), s=(1, 1.4), shown="n >= 35, data of D1"),
        "spike-35": nonnegative("2 f_j - 1 > 0.99", margin("0.99"), strict=True, v=(0, 0.4912), shown="n >= 35, data of D1"),
        "interval": positive("|f|_max sqrt(2 log(m n/delta)) < 0.99", _interval, x=(3.555, 100), shown="n >= 35, delta = 0.01"),
    }


def _interval(x: Any) -> Any:
    level = x + _tenths(1000).log()  # log(n/delta)
    m = level / _tenths(20).log() + 1
    factor = 2 * (level + m.log())
    soft = (1 + (-2 * x / 5).exp()) ** 2 * (-3 * x / 5).exp() / 4
    linear = 125 * (-x).exp() / 100
    bound = _tenths(99) ** 2 / 100
    return least(bound - soft * factor, bound - linear * factor)


# Own statements ------------------------------------------------------------------------------------------------------


def cap() -> dict[str, Proof]:
    """At most a quarter of the sign vectors detects without a false alarm: P[success] <= 1 - (3/4)^m, at every size.

    Cross-attention (all n, d, a1 >= 0): let y_1, y_* not both be +1 and row j2 of D1 exceed .9, that is p y_1 + (p + (t - 1) o)
    y_* + t o K > .9. Then the uniform row, y_1/n + (t/n)(y_* + K), which stands on D0 as well, exceeds .9: solved for K, the
    difference of the two sides is >= 0 in each of the three cases (``cross``). The other rows of D1 are that row.

    Self-attention, in units of sqrt(log n), a1 + b <= 2 c + .1 (the paper has a1 = 1.2, b = .2, c = .8, a0 = .01). y_d = -1: no
    row of D1 reaches tau, as -c + a1 + b <= c + .1. y_d = 1, y_1 = -1: a row of D1 in which j3 has the weight w fires only
    if b times the rest of its blocks exceeds .1 + (a1 - b y_*) w; then row j3 of D0 fires too, in which the other weights are
    larger by the same factor. X = 1 (``ones``): linear row j3, for n^a1 >= 1 + a0 and a1 >= a0 + 2 b, y_* = 1 or not. X = I
    (``identity``): softmax row j3, a1 >= a0 + b; the other rows of X = I have the same weights on both sets, and -a1 w < -a0 w.
    So y_1 = y_d = 1.
    """
    base: dict[str, Any] = SIZES | {"r": (1, None)}
    scales: dict[str, Any] = {"a0": (0, None), "b": (0, None), "e": (0, None)}
    unit: dict[str, Any] = scales | {"a0": (0, 1)}

    def cross(y1: int, star_sign: int) -> Proof:
        def gap(k: Any, t: Any, r: Any) -> Any:
            n = k * t
            p, o = special(r, n), ordinary(r, n)
            K = (Fraction(9, 10) - y1 * p - star_sign * (p + (t - 1) * o)) / (t * o)
            return y1 / n + (star_sign + K) / k - Fraction(9, 10)

        return nonnegative("the uniform row fires too", gap, **base, shown=f"all n, d, a1 >= 0, y_1 = {y1}, y_* = {star_sign}")

    def ones(k: Any, t: Any, r: Any, a0: Any, b: Any, e: Any) -> Any:
        n, s = k * t, 1 + a0
        w, o, w0, o0 = special(r * s, n), ordinary(r * s, n), special(s, n), ordinary(s, n)
        return o0 / o * (TENTH + (a0 + b + e) * w) - b * (w0 - o0) - a0 * w0 - TENTH

    def identity(sign: int) -> Proof:
        def gap(k: Any, t: Any, r: Any, q: Any, B: Any, a0: Any, b: Any, e: Any) -> Any:
            (w, _, far), (w0, _, far0) = identity_weights(q * r, B, k, t), identity_weights(q, B, k, t)
            return far0 / far * (TENTH + (a0 + b + e - sign * b) * w) - (a0 - sign * b) * w0 - TENTH

        ranges: dict[str, Any] = base | scales | {"q": (1, None), "B": (1, None)}
        return nonnegative("row j3 of softmax on D0 fires too", gap, **ranges, shown=f"y_1 = -1, y_d = 1, y_* = {sign}")

    return {
        "cross": joined(
            "F_exp(D1) > 0 without false alarm needs y_1 = y_* = 1",
            "all n, d, a1 >= 0",
            cross(1, -1),
            cross(-1, 1),
            cross(-1, -1),
        ),
        "ones": nonnegative(
            "row j3 of linear attention on D0 fires too",
            ones,
            **base,
            **unit,
            shown="all n, d, a1 >= a0 + 2 b, y_1 = -1, y_d = 1",
        ),
        "identity": joined(
            "F_exp(D1) > 0 without false alarm needs y_1 = y_d = 1",
            "X = I, all n, d, a1 >= a0 + b, a1 + b <= 2 c + 0.1",
            identity(1),
            identity(-1),
        ),
    }


def identity_block() -> Proof:
    """X = I: a row of D0 in a block with sign +1 fires, y_d = 1, if the sum S of all k block signs exceeds -D.

    D = ((10 b - 1)(n^(b^2) - 1) - k - 10 a0/t)/(10 b), y_1 whatever it is. Detection needs y_d = 1 (:func:`cap`), so what
    detects without a false alarm has S <= -D or no + off j3's block: a share of (exp(-D^2/(2 k)) + 2^(1 - k))/2 at most, by
    Hoeffding (own-identity-block). Softmax; the row of another block than j3's, in which j3 has the weight of any key.
    """

    def excess(k: Any, t: Any, B: Any, b: Any, a0: Any, x: Any) -> Any:
        own, other = identity_others(B, k, t)
        D = ((10 * b - 1) * (B - 1) - k - 10 * a0 / t) / (10 * b)
        return b * t * (own + other * (x - D - 1)) - a0 * other - TENTH

    ranges: dict[str, Any] = SIZES | {"B": (1, None), "b": (TENTH, None), "a0": (0, None), "x": (0, None)}
    return nonnegative("b (block signs) - a0 w >= 0.1 where S >= -D", excess, **ranges, shown="X = I, all n, d, b >= 0.1")


def higher() -> dict[str, Proof]:
    """Where softmax concentrates and all else is nearly uniform, with numbers: w >= 1 - n/r, w <= r/n (own-higher-threshold).

    ``ones`` (cross-attention too): r times the score of another key. ``identity``: r = n^(a^2); in the row of j3 w <= r B/n, in
    other rows w <= B/n, B = n^(b^2); linear weights: w <= (a^2 + b^2 + c^2)/(n c^2).
    """
    two: dict[str, Any] = {"n": (1, None), "r": (1, None)}
    block_sizes: dict[str, Any] = SIZES | {"B": (1, None)}
    q: dict[str, Any] = block_sizes | {"q": (1, None)}

    def linear(k: Any, t: Any, a: Any, b: Any, c: Any) -> Any:
        return (a**2 + b**2 + c**2) * (1 / (k * t * c**2) - 1 / (a**2 + t * b**2 + k * t * c**2))

    return {
        "ones": joined(
            "1 - n/r <= w <= r/n",
            "all n, r >= 1",
            nonnegative("w >= 1 - n/r", lambda n, r: special(r, n) - 1 + n / r, **two),
            nonnegative("w <= r/n", lambda n, r: r / n - special(r, n), **two),
        ),
        "identity": joined(
            "1 - n/q <= w <= q B/n; other rows w <= B/n; linear w <= (a^2 + b^2 + c^2)/(n c^2)",
            "X = I, all n, d, a, b, c > 0",
            nonnegative("w >= 1 - n/q", lambda k, t, B, q: identity_weights(q, B, k, t)[0] - 1 + k * t / q, **q),
            nonnegative("w <= q B/n", lambda k, t, B, q: q * B / (k * t) - identity_weights(q, B, k, t)[0], **q),
            nonnegative("w <= B/n", lambda k, t, B: B / (k * t) - identity_others(B, k, t)[0], **block_sizes),
            nonnegative("linear", linear, **SIZES, a=(0, None), b=(0, None), c=(0.001, None)),
        ),
    }


def linear_separates() -> dict[str, Proof]:
    """With y = 1 the largest value of linear attention is larger on D1 than on D0, so that a threshold between separates.

    With y = 1 a row has the value a w + b + c (cross: w + 1), w the weight of j3. It grows with a: its difference quotient
    between a0 and a1 = a0 + e is positive. So for the special row, and for all others, where a w is a times a constant (X =
    I) or the same function (X = 1); hence so does the maximum. (own-linear-separates.)
    """
    ranges: dict[str, Any] = SIZES | {"a": (0, None), "e": (0, None)}

    def grows(value: Callable[..., Any], shown: str, **more: Any) -> Proof:
        return nonnegative(
            "(value on D1 - value on D0)/(a1 - a0) > 0",
            lambda k, t, a, e, **x: (value(k, t, a + e, **x) - value(k, t, a, **x)) / e,
            strict=True,
            shown=shown,
            **ranges | more,
        )

    return {
        "ones": grows(lambda k, t, a: a * special(1 + a, k * t), "X = 1: all n, d, a1 > a0 >= 0"),
        "identity": grows(
            lambda k, t, a, b, c: a * (a**2 + b**2 + c**2) / (a**2 + t * b**2 + k * t * c**2),
            "X = I: all n, d, b >= 0, c >= 0.1, a1 > a0 >= 0",
            b=(0, None),
            c=(0.1, None),
        ),
        "cross": grows(lambda k, t, a: special(1 + a, k * t), "cross-attention: n >= 2, a1 > a0 >= 0", k=(2, None)),
    }


def everything() -> dict[str, Proof]:
    """Every proof of this module, under ``family/part``."""
    families = (
        two_level,
        identity_rows,
        scores,
        features,
        detection,
        quiet,
        quiet_cross,
        share_cross,
        regression,
        cap,
        linear_separates,
        higher,
    )
    found = {f"{family.__name__}/{part}": proof for family in families for part, proof in family().items()}
    single = (tensor_trick, no_such_data, identity_block)
    return found | {proof.__name__: proof() for proof in single}
