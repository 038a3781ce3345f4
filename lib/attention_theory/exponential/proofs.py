"""Proofs by computation of Part V's inequalities (see :mod:`attention_theory.evidence.prove`)."""

import math
from fractions import Fraction
from typing import Annotated

from attention_theory.attention import Weights
from attention_theory.domain import Count, Limits, Size
from attention_theory.evidence.prove import Number, Proof, every, joined, nonnegative, positive, same
from attention_theory.exponential.kernels import exact_rank, kernel_coefficients
from attention_theory.exponential.space import push_difference

#: The paper's sizes as exact numbers (deng2023): b, c, a0, a1.
B, C, A0, A1 = Fraction(1, 5), Fraction(4, 5), Fraction(1, 100), Fraction(6, 5)
MARGIN = Fraction(1, 10)


def share_rule() -> Proof:
    """The rule share - s = ((1 - s) r - s A) / (r + A): a key has the share s against A rivals iff r >= A s / (1 - s)."""
    import sympy

    r, rivals, s = sympy.symbols("r A s", positive=True)
    return same("share - s", r / (r + rivals) - s, ((1 - s) * r - s * rivals) / (r + rivals), "all r, A > 0 and 0 < s < 1")


def _taylor(degree: int, z):
    total = z * 0 + 1
    for k in range(degree, 0, -1):
        total = 1 + z * total / k
    return total


def truncation_order(most: Size = 12) -> Proof:
    """T_p(lz)/T_p(z) grows with p and stays below l^p, for all z > 0 and l > 1, degree by degree up to ``most``."""

    def grows(p):
        return lambda z, l: (_taylor(p + 1, l * z) * _taylor(p, z) - _taylor(p, l * z) * _taylor(p + 1, z)) / (z * (l - 1))

    def below(p):
        return lambda z, l: l**p * _taylor(p, z) - _taylor(p, l * z)

    parts = []
    for p in range(1, most + 1):
        parts.append(nonnegative(f"T_{p + 1} above T_{p}", grows(p), z=(0, None), l=(1, None)))
        parts.append(nonnegative(f"T_{p} below the power", below(p), z=(0, None), l=(1, None)))
    return joined("T_p(lz)/T_p(z) grows with p and is at most l^p", f"z > 0, l > 1, p = 1, ..., {most}", *parts)


def shift_invariant(most: Size = 12) -> Proof:
    """Only exp(beta z) ignores shifts on the grid 0, h, ..., K h; and so only z^p ignores factors on a geometric grid.

    With g_k = log u(k h) the rows (k, l) and (k + 1, l + 1) have the same weights iff g_k - g_l = g_(k+1) - g_(l+1). These
    equations leave two dimensions, and g_k = 1 and g_k = k satisfy them.
    """

    def holds(size: int) -> bool:
        pairs = [(k, l) for k in range(size) for l in range(size)]
        rows = [[Fraction((i == k) - (i == l) - (i == k + 1) + (i == l + 1)) for i in range(size + 1)] for k, l in pairs]
        line = all(sum(a * (1 + 3 * i) for i, a in enumerate(row)) == 0 for row in rows)
        return exact_rank(rows) == size - 1 and line

    return every("log u(kh) = g_0 + k (g_1 - g_0)", holds, range(2, most + 1), f"all u > 0 on grids of 3 to {most + 1} scores")


def _own(log_ratio, log_n):
    """1 - own and own of a key against n - 1 rivals, from balls: 1 / (1 + (n - 1) / ratio)."""
    odds = (log_n - log_ratio).exp() - (-log_ratio).exp()  # (n - 1) / ratio
    return 1 / (1 + odds)


def _ball(x: Fraction):
    import flint

    return flint.arb(flint.fmpq(x.numerator, x.denominator))


def sharp_window(low: Number = "0.5", high: Number = 50, n: tuple[int, int] = (3, 100)) -> Proof:
    """X = 1, the paper's sizes: for these sharpnesses and 10^3 <= n <= 10^100, D1 fires for sure and D0 stays silent.

    "For sure" and "silent" are the two conditions of the theorem: (a1 + 2b) own > 0.1 + b and (a0 + b) own <= 0.05.
    """
    gap1, gap0 = (A1 + B + C) * A1, (A0 + B + C) * A0  # gaps of the scores over log n
    ranges = {"log10_n": n, "beta": (low, high)}

    def log_n(digits):
        return digits * _ball(Fraction(10)).log()

    def fires(log10_n, beta):
        return _ball(A1 + 2 * B) * _own(beta * _ball(gap1) * log_n(log10_n), log_n(log10_n)) - _ball(MARGIN + B)

    def silent(log10_n, beta):
        return _ball(MARGIN / 2) - _ball(A0 + B) * _own(beta * _ball(gap0) * log_n(log10_n), log_n(log10_n))

    shown = f"beta in [{low}, {high}], n in [10^{n[0]}, 10^{n[1]}]"
    parts = [positive("D1 fires", fires, **ranges), positive("D0 is silent", silent, **ranges)]
    return joined("(a1 + 2b) own > 0.1 + b and (a0 + b) own < 0.05", shown, *parts)


def sharp_below(high: Number = "0.14", n: tuple[int, int] = (3, 100)) -> Proof:
    """X = 1, the paper's sizes: up to this sharpness D1 is silent, (a1 + b) own < 0.05, for 10^3 <= n <= 10^100."""
    gap = (A1 + B + C) * A1

    def silent(log10_n, beta):
        size = log10_n * _ball(Fraction(10)).log()
        return _ball(MARGIN / 2) - _ball(A1 + B) * _own(beta * _ball(gap) * size, size)

    shown = f"beta in [0, {high}], n in [10^{n[0]}, 10^{n[1]}]"
    return joined("(a1 + b) own < 0.05", shown, positive("D1 is silent", silent, log10_n=n, beta=(0, high)))


def degree_window(low: Number = "1.3", high: Number = 60, n: tuple[int, int] = (3, 100)) -> Proof:
    """X = 1: for degrees p = x log n with x in this range, D1 fires for sure and D0 stays silent."""
    ratio1, ratio0 = (A1 + B + C) / (B + C), (A0 + B + C) / (B + C)
    ranges = {"log10_n": n, "x": (low, high)}

    def own(ratio, log10_n, x):
        size = log10_n * _ball(Fraction(10)).log()
        return _own(x * size * _ball(ratio).log(), size)

    parts = [
        positive("D1 fires", lambda log10_n, x: _ball(A1 + 2 * B) * own(ratio1, log10_n, x) - _ball(MARGIN + B), **ranges),
        positive("D0 is silent", lambda log10_n, x: _ball(MARGIN / 2) - _ball(A0 + B) * own(ratio0, log10_n, x), **ranges),
    ]
    shown = f"p = x log n, x in [{low}, {high}], n in [10^{n[0]}, 10^{n[1]}]"
    return joined("(a1 + 2b) own > 0.1 + b and (a0 + b) own < 0.05", shown, *parts)


def fixed_degree_fails(degree: Annotated[int, Limits(1, 1_000)]) -> tuple[int, Proof]:
    """X = 1: from which n on z^degree leaves D1 silent, (a1 + b) own <= 0.05, and the proof for all those n."""
    ratio = ((A1 + B + C) / (B + C)) ** degree
    bar = 2 * (A1 + B) / MARGIN - 1  # silent iff (n - 1) / ratio >= bar
    first = math.ceil(ratio * bar) + 1
    proof = nonnegative(
        f"(a1 + b) own <= 0.05 for z^{degree}",
        lambda n: (n - 1) - (n * 0 + bar.numerator * ratio.numerator) / (bar.denominator * ratio.denominator),
        n=(first, None),
    )
    return first, proof


def row_below() -> Proof:
    """The half of the theorem that says fires: if all other signs are -1, a row still has (a + 2b) own - b.

    With v = (1 - own)/(n - 1): a own + b (own + (t - 1) v - (n - t) v) - ((a + 2b) own - b) = 2 b (t - 1) v >= 0, where
    t counts the keys of the special block.
    """
    import sympy

    a, b, own, n, t = sympy.symbols("a b own n t", positive=True)
    v = (1 - own) / (n - 1)
    row = a * own + b * (own + (t - 1) * v - (n - t) * v)
    return same(
        "row - ((a + 2b) own - b) = 2b (t - 1) v", row - ((a + 2 * b) * own - b), 2 * b * (t - 1) * v, "all a, b, own, n, t"
    )


def positive_coefficients(most: Size = 60) -> Proof:
    """alpha_1, ..., alpha_p > 0 for the truncated exponentials of even degree up to ``most``, in fractions (sigma = 1)."""

    def holds(degree: int) -> bool:
        found = kernel_coefficients(Weights("truncated", degree))
        return len(found) == degree and min(found) > 0

    return every("alpha_1, ..., alpha_p > 0", holds, range(2, most + 1, 2), f"p = 2, 4, ..., {most}")


def relu_parity(most: Size = 8) -> Proof:
    """max(z, 0)^p + (-1)^p max(-z, 0)^p = z^p, for z > 0 and z < 0: one parity of a ReLU power is a polynomial."""
    import sympy

    z = sympy.symbols("z", positive=True)
    parts = []
    for p in range(1, most + 1):
        for value in (z, -z):
            above, below = sympy.Max(value, 0) ** p, sympy.Max(-value, 0) ** p
            parts.append(same(f"degree {p}", above + (-1) ** p * below, value**p, "all z"))
    return joined("relu(z)^p + (-1)^p relu(-z)^p = z^p", f"all z, p = 1, ..., {most}", *parts)


def push_inside(
    D: Count = 9, C: Count = 3, q: Fraction = Fraction(1, 4), ratios: tuple[Number, Number] = ("1.01", 100)
) -> Proof:
    """The first step raises scores inside a group above those between groups if r = u(diagonal)/u(start) > 1, else below."""
    return positive(
        "(push inside - push between groups)/(r - 1) > 0",
        lambda ratio: push_difference(ratio, D, C, q) / (ratio - 1),
        ratio=ratios,
        shown=f"r in [{ratios[0]}, {ratios[1]}], D = {D}, C = {C}, q = {q}",
    )
