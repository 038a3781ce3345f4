"""Proofs by computation of Part V's inequalities (:mod:`theorybook.prove`), tied to its rows and
networks.
"""

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any, NamedTuple

import torch
from attention_theory.attention import Weights, attention_weights
from attention_theory.exponential.families import power, relu_power, sharp, truncated
from attention_theory.exponential.kernels import exact_rank, kernel_coefficients, limit_kernel_with
from attention_theory.exponential.space import crowd_images, first_push, margin, push_difference
from attention_theory.exponential.windows import DataSet
from theorybook.prove import (
    Number,
    Proof,
    ball,
    conjunction,
    prove_by_cases,
    prove_identity,
    prove_le,
    prove_less,
)
from theorybook.validation import Count, Limits, Size

from attention_checks.separation.parts import layer

#: The paper's sizes as exact numbers (deng2023): b, c, a0, a1.
B, C, A0, A1 = Fraction(1, 5), Fraction(4, 5), Fraction(1, 100), Fraction(6, 5)
MARGIN = Fraction(1, 10)


@functools.cache
def share_rule() -> Proof:
    """The rule share - s = ((1 - s) r - s A) / (r + A): a key has at least the share s against A
    rivals iff r >= A s / (1 - s).
    """
    import sympy

    r, rivals, s = sympy.symbols("r A s", positive=True)
    scores = torch.log(
        torch.tensor([[5.0, 1.0, 1.0, 1.0], [0.5, 1.0, 1.0, 1.0]], dtype=torch.float64)
    )
    shares = attention_weights(scores, sharp(1))[:, 0]
    at = [{"r": r, "A": 3, "s": 0.3} for r in (5.0, 0.5)]
    return prove_identity(
        "share $- s$", r / (r + rivals) - s, ((1 - s) * r - s * rivals) / (r + rivals)
    ).crosschecked(at, list(shares - 0.3))


def _taylor(degree: int, z):
    total = z * 0 + 1
    for k in range(degree, 0, -1):
        total = 1 + z * total / k
    return total


@functools.cache
def truncation_order(most: Size = 12) -> Proof:
    """T_p(lz)/T_p(z) grows with p and stays below l^p, for all z > 0 and l > 1, degree by degree up
    to ``most``.
    """

    def grows(p: int, z: Any, l: Any) -> tuple[Any, Any]:
        rate = z * (l - 1)  # both sides are equal where it is 0
        return _taylor(p, l * z) * _taylor(p + 1, z) / rate, _taylor(p + 1, l * z) * _taylor(
            p, z
        ) / rate

    def below(p: int, z: Any, l: Any) -> tuple[Any, Any]:
        return _taylor(p, l * z), l**p * _taylor(p, z)

    ranges: dict[str, Any] = {"z": (0, None), "l": (1, None)}
    at, parts = [{"z": 0.3, "l": 2.0}, {"z": 4.0, "l": 1.5}], []
    for p in range(1, most + 1):
        T, after = _partial(p), _partial(p + 1)  # the library's weights of two keys
        less = f"$T_{{{p}}}(lz)/T_{{{p}}}(z) < T_{{{p + 1}}}(lz)/T_{{{p + 1}}}(z)$"
        more = prove_le(less, functools.partial(grows, p), opened=("z", "l"), strict=True, **ranges)
        power_bound = prove_le(
            rf"$T_{{{p}}}(lz)/T_{{{p}}}(z) \le l^{{{p}}}$", functools.partial(below, p), **ranges
        )
        parts += [
            more.crosschecked(
                at,
                *(
                    lambda z, l, u=u, v=v: u(l * z) * v(z) / (z * (l - 1))
                    for u, v in ((T, after), (after, T))
                ),
            ),
            power_bound.crosschecked(at, lambda z, l: T(l * z), lambda z, l: l**p * T(z)),
        ]
    return conjunction(
        rf"$T_p(lz)/T_p(z)$ grows with $p$ and is at most $l^p$, $p = 1, \dots, {most}$", *parts
    )


def _partial(degree: int) -> Callable[[float], float]:
    """T_p from the library, which takes even degrees; for odd ones the last term is added here."""

    def value(z: float) -> float:
        even = degree - degree % 2
        total = float(truncated(even)(z)) if even else 1.0
        return total + (z**degree / math.factorial(degree) if degree % 2 else 0.0)

    return value


@functools.cache
def shift_invariant(most: Size = 12) -> Proof:
    """Only exp(beta z) ignores shifts on the grid 0, h, ..., K h; and so only z^p ignores factors
    on a geometric grid.

    With g_k = log u(k h) the rows (k, l) and (k + 1, l + 1) have the same weights iff g_k - g_l =
    g_(k+1) - g_(l+1). These equations leave two dimensions, and g_k = 1 and g_k = k satisfy them.
    """

    def equations(size: int) -> list[list[Fraction]]:
        pairs = [(k, l) for k in range(size) for l in range(size)]
        return [
            [Fraction((i == k) - (i == l) - (i == k + 1) + (i == l + 1)) for i in range(size + 1)]
            for k, l in pairs
        ]

    def change(weights: Weights) -> torch.Tensor:
        """The change of log(weight of k/weight of l) under a shift by one step of the grid 0, 1, 2,
        3, for all pairs k, l.
        """
        logs = torch.log(
            torch.stack(
                [
                    attention_weights(torch.arange(4.0).double()[None] + 1 + h, weights)[0, :3]
                    for h in (0, 1)
                ]
            )
        )
        gaps = logs[:, :, None] - logs[:, None, :]
        return (gaps[0] - gaps[1]).flatten()

    def holds(size: int) -> bool:
        rows = equations(size)
        line = all(sum(a * (1 + 3 * i) for i, a in enumerate(row)) == 0 for row in rows)
        return exact_rank(rows) == size - 1 and line

    proof = prove_by_cases(
        r"$\log u(kh) = g_0 + k(g_1 - g_0)$, $K + 1$ scores, all $u > 0$",
        holds,
        range(2, most + 1),
        name="K",
    )
    families = (sharp(0.7), power(2), truncated(4))
    logs = [[math.log(float(u(1.0 + k))) for k in range(4)] for u in families]
    ours = [
        [sum(float(a) * g for a, g in zip(row, values)) for row in equations(3)] for values in logs
    ]
    return proof.crosschecked_values(
        "what a shift changes",
        [[1 + x for x in row] for row in ours],
        [1 + change(u) for u in families],
    )


def _own(log_ratio, log_n):
    """The share ``own`` of a key against n - 1 rivals, from balls: 1 / (1 + (n - 1) / ratio)."""
    odds = (log_n - log_ratio).exp() - (-log_ratio).exp()  # (n - 1) / ratio
    return 1 / (1 + odds)


class Condition(NamedTuple):
    """The condition that D1 fires, (a + 2b) own > 0.1 + b, or that a data set is silent, (a + b)
    own < 0.05; own is the share of j3 in its own row.
    """

    fires: bool
    a: Fraction

    @property
    def what(self) -> str:
        """The inequality."""
        if self.fires:
            return r"$D_1$ fires for sure: $(a_1 + 2b)\,\mathrm{own} > 0.1 + b$"
        return r"$D_{0}$ is silent: $(a_{0} + b)\,\mathrm{{own}} < 0.05$".format(int(self.a == A1))

    @property
    def factor(self) -> Fraction:
        """The factor of own."""
        return self.a + 2 * B if self.fires else self.a + B

    def sides(self, value: Any) -> tuple[Any, Any]:
        """Both sides of the inequality, where ``value`` is the factor times own."""
        return (MARGIN + B, value) if self.fires else (value, MARGIN / 2)

    def crosschecked(
        self,
        proof: Proof,
        at: list[dict],
        family: Callable[..., Weights],
        key: Callable = lambda n: 0.0,
    ) -> Proof:
        """The proof, crosschecked on the paper's data with X = 1, the ``family`` at the knobs of
        each point, and the ``key`` of :class:`DataSet`.
        """

        def value(n: float, **knob: float) -> float:
            data = DataSet("self-ones", math.log(n), float(self.a), float(B), float(C), 12, key(n))
            own = data.shares(family(**knob)).own
            with_it = (float(self.a) + float(B)) * own
            # the lowest output on D1: all other keys against j3's
            return with_it - float(B) * (1 - own) + float(B) if self.fires else with_it

        left, right = (None, value) if self.fires else (value, None)
        return proof.crosschecked(at, left, right)


FIRES, SILENT = Condition(True, A1), Condition(False, A0)
BOTH = r"$(a_1 + 2b)\,\mathrm{own} > 0.1 + b$ and $(a_0 + b)\,\mathrm{own} < 0.05$"


def _window(
    condition: Condition,
    log_ratio: Callable,
    family: Callable,
    at: list,
    where: dict,
    **ranges: Any,
) -> Proof:
    """The condition in x = log n/log 10 and a knob, from the logarithm of the special key's u at
    log n.
    """

    def sides(x: Any, **knob: Any) -> tuple[Any, Any]:
        log_n = x * ball(10).log()
        return condition.sides(ball(condition.factor) * _own(log_ratio(log_n, **knob), log_n))

    proof = prove_less(condition.what, sides, where=where | {"x": "log(n)/log(10)"}, **ranges)
    return condition.crosschecked(proof, at, family)


def _sharp(condition: Condition, n: tuple[int, int], beta: tuple[Number, Number]) -> Proof:
    gap = (condition.a + B + C) * condition.a  # of the scores, over log n
    at = [{"n": 10.0**k, "beta": float(knob)} for k in n for knob in beta]
    return _window(
        condition,
        lambda log_n, beta: beta * ball(gap) * log_n,
        lambda beta: sharp(beta),
        at,
        {},
        x=n,
        beta=beta,
    )


@functools.cache
def sharp_window(low: Number = "0.5", high: Number = 50, n: tuple[int, int] = (3, 100)) -> Proof:
    """X = 1, the paper's sizes: for these sharpnesses and 10^3 <= n <= 10^100, D1 fires for sure
    and D0 stays silent.

    "For sure" and "silent" are the two conditions of the theorem: (a1 + 2b) own > 0.1 + b and (a0 +
    b) own <= 0.05.
    """
    return conjunction(
        BOTH,
        *(_sharp(condition, n, (low, high)) for condition in (FIRES, SILENT)),
    )


@functools.cache
def sharp_below(high: Number = "0.14", n: tuple[int, int] = (3, 100)) -> Proof:
    """X = 1, the paper's sizes: up to this sharpness D1 is silent, (a1 + b) own < 0.05, for 10^3 <=
    n <= 10^100.
    """
    return _sharp(Condition(False, A1), n, (0, high))


@functools.cache
def degree_window(low: Number = "1.3", high: Number = 60, n: tuple[int, int] = (3, 100)) -> Proof:
    """X = 1: for degrees p = c log n with c in this range, D1 fires for sure and D0 stays
    silent.
    """
    at = [{"n": 10.0**k, "p": float(c) * math.log(10.0**k)} for k in n for c in (low, high)]

    def half(condition: Condition) -> Proof:
        log_ratio = lambda log_n, c: c * log_n * ball((condition.a + B + C) / (B + C)).log()
        return _window(
            condition, log_ratio, lambda p: power(p), at, {"c": "p/log(n)"}, x=n, c=(low, high)
        )

    return conjunction(BOTH, half(FIRES), half(SILENT))


def fixed_degree_fails(degree: Annotated[int, Limits(1, 1_000)]) -> tuple[int, Proof]:
    """X = 1: the n from which on z^degree leaves D1 silent, (a1 + b) own <= 0.05, and the proof for
    all n from there on.
    """
    ratio = ((A1 + B + C) / (B + C)) ** degree
    bar = 2 * (A1 + B) / MARGIN - 1  # silent iff (n - 1) / ratio >= bar
    first, silent = math.ceil(ratio * bar) + 1, Condition(False, A1)
    proof = prove_le(
        rf"$(a_1 + b)\,\mathrm{{own}} \le 0.05$ for $z^{{{degree}}}$",
        lambda n: silent.sides(silent.factor / (1 + (n - 1) / ratio)),
        n=(first, None),
    )
    return first, silent.crosschecked(
        proof, [{"n": float(first)}, {"n": 1000.0 * first}], lambda: power(degree)
    )


@functools.cache
def linear_reads(least: Count = 10) -> Proof:
    """Linear attention at X = 11' + n e1 e1', the paper's sizes: D1 fires for sure and D0 stays
    silent, for all n >= least.
    """
    at = [{"n": n} for n in (float(least), 1e6, 1e30)]

    def half(condition: Condition) -> Proof:
        a, total = condition.a, condition.a + B + C

        def sides(n: Any) -> tuple[Any, Any]:
            own = (total**2 + n * a**2) / (total**2 + n * a**2 + (n - 1) * total * (B + C))
            return condition.sides(condition.factor * own)

        proof = prove_le(condition.what, sides, strict=True, n=(least, None))
        return condition.crosschecked(proof, at, lambda: power(1), key=lambda n: n)

    return conjunction(BOTH, half(FIRES), half(SILENT))


@functools.cache
def row_below() -> Proof:
    """The firing half of the theorem: even if all other signs are -1, a row still has at least (a +
    2b) own - b.

    With v = (1 - own)/(n - 1): a own + b (own + (t - 1) v - (n - t) v) - ((a + 2b) own - b) = 2 b
    (t - 1) v >= 0, where t counts the keys of the special block.
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
    return prove_identity(
        r"$\mathrm{row} - ((a + 2b)\,\mathrm{own} - b) = 2b(t - 1)v$",
        row - ((a + 2 * b) * own - b),
        2 * b * (t - 1) * v,
        nonzero=[n - 1],
    ).crosschecked([{"a": 1.2, "b": 0.2, "own": share, "n": 6, "t": 2}], [value])


@functools.cache
def positive_coefficients(most: Size = 60) -> Proof:
    """alpha_1, ..., alpha_p > 0 for the truncated exponentials of even degree up to ``most``, in
    fractions (sigma = 1).
    """

    def holds(degree: int) -> bool:
        found = kernel_coefficients(Weights("truncated", degree))
        return len(found) == degree and min(found) > 0

    proof = prove_by_cases(
        r"$\alpha_1, \dots, \alpha_p > 0$, $p$ even", holds, range(2, most + 1, 2), name="p"
    )
    tokens = torch.tensor([[0.6, 0.8], [1.0, 0.0]], dtype=torch.float64)
    points = [[limit_kernel_with(truncated(p), tokens)[0, 1]] for p in (2, 4)]
    series = [
        [sum(float(c) * 0.6**k for k, c in enumerate(kernel_coefficients(truncated(p)), start=1))]
        for p in (2, 4)
    ]
    return proof.crosschecked_values("kernel", series, points)


@functools.cache
def relu_parity(most: Size = 8) -> Proof:
    """max(z, 0)^p + (-1)^p max(-z, 0)^p = z^p, for z > 0 and z < 0: one parity of a ReLU power is a
    polynomial.
    """
    import sympy

    z = sympy.symbols("z", positive=True)
    parts = []
    for p in range(1, most + 1):
        for value in (z, -z):
            above, below = sympy.Max(value, 0) ** p, sympy.Max(-value, 0) ** p
            sign, at = (1 if value == z else -1), [{"z": x} for x in (0.3, 2.0)]
            ours = [
                float(relu_power(p)(sign * x["z"]))
                + (-1) ** p * float(relu_power(p)(-sign * x["z"]))
                for x in at
            ]
            parts.append(
                prove_identity(f"degree {p}", above + (-1) ** p * below, value**p).crosschecked(
                    at, ours, ours
                )
            )
    return conjunction(
        r"$\max(z, 0)^p + (-1)^p \max(-z, 0)^p = z^p$, $z > 0$ and $z < 0$, $p = 1, \dots, "
        rf"{most}$",
        *parts,
    )


#: Contents that a vote misreads and the groups read correctly: the label's whole group, and two
#: strays against it in each other group.
AGAINST = [(3, 0), (0, 2), (0, 2)]


@functools.cache
def range_needed(high: Number = "5.7") -> Proof:
    """D = 9, C = 3: rows whose weights differ at most by this factor misread :data:`AGAINST`: the
    sum of the cubes is negative.

    The weights of a patch on itself and on its group are l and g, that on the others is 1; l and g
    lie in [1/high, high]. The same polynomial, times 3, is what one row adds to the answers of all
    27 images of :func:`crowd_images`: so rows with three weights each of their own misread one of
    them.
    """
    image = torch.tensor([1.0, 1, 1, -1, -1, 0, -1, -1, 0], dtype=torch.float64)
    same = torch.arange(9) // 3 == (torch.arange(9) // 3)[:, None]

    def cubes(l: float, g: float) -> float:
        group = math.log(g) * (same & ~torch.eye(9).bool()).double()
        read = (
            attention_weights(math.log(l) * torch.eye(9).double() + group, sharp(1))
            @ image
            * (l + 2 * g + 6)
        )
        return float((read**3).sum())

    def of_one_row(l: float, g: float) -> float:
        row = torch.tensor([l, g, g, 1.0, 1, 1, 1, 1, 1], dtype=torch.float64)
        return float(((crowd_images(9, 3, 2) @ row) ** 3).sum()) / 3

    ends = 1 / Fraction(high), Fraction(high)
    least, most = map(float, ends)
    # one of them below 1 whatever the ends are, so that a range that begins at 1 is noticed
    points = (1.0, 1.2), (0.3, 0.2), (most, least), (least, most)
    at = [{"l": l, "g": g} for l, g in points]
    return (
        prove_less(
            "the answer to the contents (+++)(--0)(--0) is below 0",
            lambda l, g: (margin(AGAINST, 3, l, g), 0 * l),
            l=ends,
            g=ends,
        )
        .crosschecked(at, left=cubes)
        .crosschecked(at, left=of_one_row)
    )


@functools.cache
def push_inside(
    D: Count = 9,
    C: Count = 3,
    q: Fraction = Fraction(1, 4),
    ratios: tuple[Number, Number] = ("1.01", 100),
) -> Proof:
    """The first step moves the scores inside a group above those between groups if r =
    u(diagonal)/u(start) > 1, and below them if r < 1.
    """

    def push(r: float) -> float:
        """The difference of the pushes at the ratio r, from the layer: e^(rate z) has u'/u = rate,
        and this ratio at a diagonal score of 1.
        """
        rate = math.log(r)
        family, sign = Weights("sharp", abs(rate)), math.copysign(1.0, rate)
        inside, between = first_push(family, D=D, C=C, q=float(q), beta=sign, start=0.0)
        return (inside - between) / abs(rate) / (r - 1)

    return prove_less(
        f"(push inside - push between groups)$/(r - 1) > 0$, $D = {D}$, $C = {C}$, $q = {q}$",
        lambda ratio: push_difference(ratio, D, C, q) / (ratio - 1),
        where={"ratio": "r"},
        ratio=ratios,
    ).crosschecked([{"r": float(ratio)} for ratio in ratios], right=push)
