"""Proofs by computation of Part V's inequalities (:mod:`attention_theory.evidence.prove`), tied to its rows and networks."""

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated

import torch

from attention_theory.attention import Weights, attention_weights
from attention_theory.domain import Count, Limits, Size
from attention_theory.evidence.prove import Number, Proof, every, joined, nonnegative, positive, same
from attention_theory.exponential.families import power, relu_power, sharp, truncated
from attention_theory.exponential.kernels import exact_rank, kernel_coefficients, limit_kernel
from attention_theory.exponential.space import first_push, margin, push_difference
from attention_theory.exponential.windows import DataSet
from attention_theory.separation.parts import layer

#: The paper's sizes as exact numbers (deng2023): b, c, a0, a1.
B, C, A0, A1 = Fraction(1, 5), Fraction(4, 5), Fraction(1, 100), Fraction(6, 5)
MARGIN = Fraction(1, 10)


@functools.cache
def share_rule() -> Proof:
    """The rule share - s = ((1 - s) r - s A) / (r + A): a key has the share s against A rivals iff r >= A s / (1 - s)."""
    import sympy

    r, rivals, s = sympy.symbols("r A s", positive=True)
    scores = torch.log(torch.tensor([[5.0, 1.0, 1.0, 1.0], [0.5, 1.0, 1.0, 1.0]], dtype=torch.float64))
    shares = attention_weights(scores, sharp(1))[:, 0]
    at = [{"r": r, "A": 3, "s": 0.3} for r in (5.0, 0.5)]
    return same("share $- s$", r / (r + rivals) - s, ((1 - s) * r - s * rivals) / (r + rivals)).tied(at, list(shares - 0.3))


def _taylor(degree: int, z):
    total = z * 0 + 1
    for k in range(degree, 0, -1):
        total = 1 + z * total / k
    return total


@functools.cache
def truncation_order(most: Size = 12) -> Proof:
    """T_p(lz)/T_p(z) grows with p and stays below l^p, for all z > 0 and l > 1, degree by degree up to ``most``."""

    def grows(p):
        def sides(z, l):
            rate = z * (l - 1)  # both sides are equal where it is 0
            return _taylor(p, l * z) * _taylor(p + 1, z) / rate, _taylor(p + 1, l * z) * _taylor(p, z) / rate

        return sides

    def below(p):
        return lambda z, l: (_taylor(p, l * z), l**p * _taylor(p, z))

    ranges, opened = {"z": (0, None), "l": (1, None)}, ("z", "l")
    at, parts = [{"z": z, "l": l} for z, l in ((0.3, 2.0), (4.0, 1.5))], []
    for p in range(1, most + 1):
        # the library's weights of two keys
        (low, high), (low_next, high_next) = (
            [[float(u(x["z"] * factor(x))) for x in at] for factor in (lambda x: 1, lambda x: x["l"])]
            for u in (_partial(p), _partial(p + 1))
        )
        rates = [x["z"] * (x["l"] - 1) for x in at]
        before, after = (
            [up * down / rate for up, down, rate in zip(*pair, rates)] for pair in ((high, low_next), (high_next, low))
        )
        above = nonnegative(
            f"$T_{{{p}}}(lz)/T_{{{p}}}(z) < T_{{{p + 1}}}(lz)/T_{{{p + 1}}}(z)$", grows(p), opened=opened, strict=True, **ranges
        )
        power_bound = nonnegative(rf"$T_{{{p}}}(lz)/T_{{{p}}}(z) \le l^{{{p}}}$", below(p), **ranges)
        parts += [
            above.tied(at, before, after),
            power_bound.tied(at, high, [x["l"] ** p * value for x, value in zip(at, low)]),
        ]
    return joined(rf"$T_p(lz)/T_p(z)$ grows with $p$ and is at most $l^p$, $p = 1, \dots, {most}$", *parts)


def _partial(degree: int) -> Callable[[float], float]:
    """T_p of the library, which takes even degrees; the odd ones between them by their last term."""

    def value(z: float) -> float:
        even = degree - degree % 2
        total = truncated(even)(z) if even else 1.0
        return total + (z**degree / math.factorial(degree) if degree % 2 else 0.0)

    return value


@functools.cache
def shift_invariant(most: Size = 12) -> Proof:
    """Only exp(beta z) ignores shifts on the grid 0, h, ..., K h; and so only z^p ignores factors on a geometric grid.

    With g_k = log u(k h) the rows (k, l) and (k + 1, l + 1) have the same weights iff g_k - g_l = g_(k+1) - g_(l+1). These
    equations leave two dimensions, and g_k = 1 and g_k = k satisfy them.
    """

    def equations(size: int) -> list[list[Fraction]]:
        pairs = [(k, l) for k in range(size) for l in range(size)]
        return [[Fraction((i == k) - (i == l) - (i == k + 1) + (i == l + 1)) for i in range(size + 1)] for k, l in pairs]

    def change(weights: Weights) -> torch.Tensor:
        """Of log(weight of k/weight of l) under a shift by one step of the grid 0, 1, 2, 3."""
        logs = torch.log(
            torch.stack([attention_weights(torch.arange(4.0).double()[None] + 1 + h, weights)[0, :3] for h in (0, 1)])
        )
        gaps = logs[:, :, None] - logs[:, None, :]
        return (gaps[0] - gaps[1]).flatten()

    def holds(size: int) -> bool:
        rows = equations(size)
        line = all(sum(a * (1 + 3 * i) for i, a in enumerate(row)) == 0 for row in rows)
        return exact_rank(rows) == size - 1 and line

    proof = every(r"$\log u(kh) = g_0 + k(g_1 - g_0)$, $K + 1$ scores, all $u > 0$", holds, range(2, most + 1), name="K")
    families = (sharp(0.7), power(2), truncated(4))
    logs = [[math.log(float(u(1.0 + k))) for k in range(4)] for u in families]
    ours = [[sum(float(a) * g for a, g in zip(row, values)) for row in equations(3)] for values in logs]
    return proof.beside("what a shift changes", [[1 + x for x in row] for row in ours], [1 + change(u) for u in families])


def _own(log_ratio, log_n):
    """1 - own and own of a key against n - 1 rivals, from balls: 1 / (1 + (n - 1) / ratio)."""
    odds = (log_n - log_ratio).exp() - (-log_ratio).exp()  # (n - 1) / ratio
    return 1 / (1 + odds)


def _ball(x: Fraction):
    import flint

    return flint.arb(flint.fmpq(x.numerator, x.denominator))


def _windows(
    proof: Callable[..., Proof],
    family: Callable[[float, float], Weights],
    a: Fraction,
    factor: Fraction,
    digits: tuple[int, ...],
    knobs: tuple[float, ...],
    name: str,
) -> Proof:
    """``proof`` tied to ``factor`` times the share of j3 in its own row, at n = 10^digits and these knobs."""
    at, found = [], []
    for k, knob in [(k, knob) for k in digits for knob in knobs]:
        log_n = k * math.log(10)
        own = DataSet("self-ones", log_n, float(a), float(B), float(C), 12).shares(family(knob, log_n)).own
        at.append({"n": 10.0**k, name: knob})
        found.append(float(factor) * own)
    done = proof()
    return done.tied(at, right=found) if done.what == FIRES else done.tied(at, left=found)


def _data(what: str, fires: bool, a: Fraction, ratio: Callable, ranges: dict, where: dict[str, str]) -> Proof:
    """(a + 2b) own > 0.1 + b, or (a + b) own < 0.05, with own from the logarithm ``ratio`` of the special key's u."""

    def sides(x, **knob):
        size = x * _ball(Fraction(10)).log()
        own = _own(ratio(size, **knob), size)
        return (_ball(MARGIN + B), _ball(a + 2 * B) * own) if fires else (_ball(a + B) * own, _ball(MARGIN / 2))

    return positive(what, sides, where=where | {"x": "log(n)/log(10)"}, **ranges)


FIRES = r"$D_1$ fires for sure: $(a_1 + 2b)\,\mathrm{own} > 0.1 + b$"
SILENT = r"$D_{0}$ is silent: $(a_{0} + b)\,\mathrm{{own}} < 0.05$"
BOTH = r"$(a_1 + 2b)\,\mathrm{own} > 0.1 + b$ and $(a_0 + b)\,\mathrm{own} < 0.05$"


@functools.cache
def sharp_window(low: Number = "0.5", high: Number = 50, n: tuple[int, int] = (3, 100)) -> Proof:
    """X = 1, the paper's sizes: for these sharpnesses and 10^3 <= n <= 10^100, D1 fires for sure and D0 stays silent.

    "For sure" and "silent" are the two conditions of the theorem: (a1 + 2b) own > 0.1 + b and (a0 + b) own <= 0.05.
    """
    ranges, family = {"x": n, "beta": (low, high)}, lambda beta, log_n: sharp(beta)
    drawn = (n[0], 12), (float(low), 1.0), "beta"

    def half(what: str, fires: bool, a: Fraction, factor: Fraction) -> Proof:
        gap = (a + B + C) * a  # of the scores, over log n
        prove = lambda: _data(what, fires, a, lambda size, beta: beta * _ball(gap) * size, ranges, {})
        return _windows(prove, family, a, factor, *drawn)

    parts = half(FIRES, True, A1, A1 + 2 * B), half(SILENT.format(0), False, A0, A0 + B)
    return joined(BOTH, *parts)


@functools.cache
def sharp_below(high: Number = "0.14", n: tuple[int, int] = (3, 100)) -> Proof:
    """X = 1, the paper's sizes: up to this sharpness D1 is silent, (a1 + b) own < 0.05, for 10^3 <= n <= 10^100."""
    gap, ranges = (A1 + B + C) * A1, {"x": n, "beta": (0, high)}
    prove = lambda: _data(SILENT.format(1), False, A1, lambda size, beta: beta * _ball(gap) * size, ranges, {})
    return _windows(prove, lambda beta, log_n: sharp(beta), A1, A1 + B, (n[0], 12), (0.05, float(high)), "beta")


@functools.cache
def degree_window(low: Number = "1.3", high: Number = 60, n: tuple[int, int] = (3, 100)) -> Proof:
    """X = 1: for degrees p = c log n with c in this range, D1 fires for sure and D0 stays silent."""
    ranges, family = {"x": n, "c": (low, high)}, lambda degree, log_n: power(degree)
    drawn = (n[0], 12), (40, 60), "p"

    def half(what: str, fires: bool, a: Fraction, factor: Fraction) -> Proof:
        step = lambda: _ball((a + B + C) / (B + C)).log()
        prove = lambda: _data(what, fires, a, lambda size, c: c * size * step(), ranges, {"c": "p/log(n)"})
        return _windows(prove, family, a, factor, *drawn)

    parts = half(FIRES, True, A1, A1 + 2 * B), half(SILENT.format(0), False, A0, A0 + B)
    return joined(BOTH, *parts)


def fixed_degree_fails(degree: Annotated[int, Limits(1, 1_000)]) -> tuple[int, Proof]:
    """X = 1: from which n on z^degree leaves D1 silent, (a1 + b) own <= 0.05, and the proof for all those n."""
    ratio = ((A1 + B + C) / (B + C)) ** degree
    bar = 2 * (A1 + B) / MARGIN - 1  # silent iff (n - 1) / ratio >= bar
    first = math.ceil(ratio * bar) + 1
    proof = nonnegative(
        rf"$(a_1 + b)\,\mathrm{{own}} \le 0.05$ for $z^{{{degree}}}$",
        lambda n: ((A1 + B) / (1 + (n - 1) / ratio), MARGIN / 2),
        n=(first, None),
    )
    sizes = [float(first), 1000.0 * first]
    own = [DataSet("self-ones", math.log(n), float(A1), float(B), float(C), 12).shares(power(degree)).own for n in sizes]
    return first, proof.tied([{"n": n} for n in sizes], [float(A1 + B) * x for x in own])


@functools.cache
def linear_reads(least: Count = 10) -> Proof:
    """Linear attention at X = 11' + n e1 e1', the paper's sizes: D1 fires for sure and D0 stays silent, for all n >= least."""
    sizes, parts = [float(least), 1e6, 1e30], []
    for what, fires, a, factor in ((FIRES, True, A1, A1 + 2 * B), (SILENT.format(0), False, A0, A0 + B)):
        total = a + B + C

        def sides(n, a=a, total=total, fires=fires, factor=factor):
            own = factor * (total**2 + n * a**2) / (total**2 + n * a**2 + (n - 1) * total * (B + C))
            return (MARGIN + B, own) if fires else (own, MARGIN / 2)

        found = [
            float(factor) * DataSet("self-ones", math.log(n), float(a), float(B), float(C), key=n).shares(power(1)).own
            for n in sizes
        ]
        proof = nonnegative(what, sides, strict=True, n=(least, None))
        parts.append(proof.tied([{"n": n} for n in sizes], **{"right" if fires else "left": found}))
    return joined(BOTH, *parts)


@functools.cache
def row_below() -> Proof:
    """The half of the theorem that says fires: if all other signs are -1, a row still has (a + 2b) own - b.

    With v = (1 - own)/(n - 1): a own + b (own + (t - 1) v - (n - t) v) - ((a + 2b) own - b) = 2 b (t - 1) v >= 0, where
    t counts the keys of the special block.
    """
    import sympy

    a, b, own, n, t = sympy.symbols("a b own n t", positive=True)
    v = (1 - own) / (n - 1)
    row = a * own + b * (own + (t - 1) * v - (n - t) * v)
    # the row itself, of a layer with n = 6 keys in t = 2 identity blocks
    special = layer("self-ones", "softmax", 6, 5, 1.2, 0.2, 0.8)
    scale, share = math.sqrt(math.log(6)), float(special.f[0, 0])
    columns = special.features[0].double() / scale
    value = float(columns[0] + columns[1] - columns[2:4].sum()) - ((1.2 + 0.4) * share - 0.2)
    return same(
        r"$\mathrm{row} - ((a + 2b)\,\mathrm{own} - b) = 2b(t - 1)v$",
        row - ((a + 2 * b) * own - b),
        2 * b * (t - 1) * v,
        nonzero=[n - 1],
    ).tied([{"a": 1.2, "b": 0.2, "own": share, "n": 6, "t": 2}], [value])


@functools.cache
def positive_coefficients(most: Size = 60) -> Proof:
    """alpha_1, ..., alpha_p > 0 for the truncated exponentials of even degree up to ``most``, in fractions (sigma = 1)."""

    def holds(degree: int) -> bool:
        found = kernel_coefficients(Weights("truncated", degree))
        return len(found) == degree and min(found) > 0

    proof = every(r"$\alpha_1, \dots, \alpha_p > 0$, $p$ even", holds, range(2, most + 1, 2), name="p")
    points = [limit_kernel(truncated(p), torch.tensor([[0.6, 0.8], [1.0, 0.0]], dtype=torch.float64))[0, 1] for p in (2, 4)]
    series = [sum(float(c) * 0.6**k for k, c in enumerate(kernel_coefficients(truncated(p)), start=1)) for p in (2, 4)]
    return proof.beside("kernel", [[x] for x in series], [[x] for x in points])


@functools.cache
def relu_parity(most: Size = 8) -> Proof:
    """max(z, 0)^p + (-1)^p max(-z, 0)^p = z^p, for z > 0 and z < 0: one parity of a ReLU power is a polynomial."""
    import sympy

    z = sympy.symbols("z", positive=True)
    parts = []
    for p in range(1, most + 1):
        for value in (z, -z):
            above, below = sympy.Max(value, 0) ** p, sympy.Max(-value, 0) ** p
            sign, at = (1 if value == z else -1), [{"z": x} for x in (0.3, 2.0)]
            ours = [float(relu_power(p)(sign * x["z"])) + (-1) ** p * float(relu_power(p)(-sign * x["z"])) for x in at]
            parts.append(same(f"degree {p}", above + (-1) ** p * below, value**p).tied(at, ours, ours))
    return joined(rf"$\max(z, 0)^p + (-1)^p \max(-z, 0)^p = z^p$, $z > 0$ and $z < 0$, $p = 1, \dots, {most}$", *parts)


#: Contents that a vote reads wrong and the groups read right: the label's whole group, and two strays against it in each other.
AGAINST = [(3, 0), (0, 2), (0, 2)]


@functools.cache
def range_needed(high: Number = "5.7") -> Proof:
    """D = 9, C = 3: rows whose weights differ by this factor at most read :data:`AGAINST` wrong, sum of the cubes < 0.

    The weights of a patch on itself and on its group are l and g, that on the others is 1; l and g lie in [1/high, high].
    """
    image = torch.tensor([1.0, 1, 1, -1, -1, 0, -1, -1, 0], dtype=torch.float64)
    same = torch.arange(9) // 3 == (torch.arange(9) // 3)[:, None]
    at, found = [{"l": l, "g": g} for l, g in ((1.0, 1.2), (5.0, 3.0), (0.3, 0.2))], []
    for x in at:
        own, group = (
            math.log(x[name]) * part.double() for name, part in (("l", torch.eye(9)), ("g", same & ~torch.eye(9).bool()))
        )
        read = attention_weights(own + group, sharp(1)) @ image * (x["l"] + 2 * x["g"] + 6)
        found.append(float((read**3).sum()))
    return positive(
        "the answer to the contents (+++)(--0)(--0) is below 0",
        lambda l, g: (margin(AGAINST, 3, l, g), 0 * l),
        l=(1 / Fraction(high), Fraction(high)),
        g=(1 / Fraction(high), Fraction(high)),
    ).tied(at, left=found)


@functools.cache
def push_inside(
    D: Count = 9, C: Count = 3, q: Fraction = Fraction(1, 4), ratios: tuple[Number, Number] = ("1.01", 100)
) -> Proof:
    """The first step raises scores inside a group above those between groups if r = u(diagonal)/u(start) > 1, else below."""
    rates = [math.log(float(x)) for x in ("1.5", 20) if float(ratios[0]) <= float(x) <= float(ratios[1])] or [-0.5, -2.0]
    found = []
    for rate in rates:  # u = e^(rate z) has u'/u = rate and this ratio at a diagonal score of 1
        inside, between = first_push(
            Weights("sharp", abs(rate)), D=D, C=C, q=float(q), beta=math.copysign(1.0, rate), start=0.0
        )
        found.append((inside - between) / abs(rate) / (math.exp(rate) - 1))
    return positive(
        f"(push inside - push between groups)$/(r - 1) > 0$, $D = {D}$, $C = {C}$, $q = {q}$",
        lambda ratio: push_difference(ratio, D, C, q) / (ratio - 1),
        where={"ratio": "r"},
        ratio=ratios,
    ).tied([{"r": math.exp(rate)} for rate in rates], right=found)
