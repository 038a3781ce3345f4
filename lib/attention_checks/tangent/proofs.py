"""Claims of cao2024 for all values of their parameters, by :mod:`theorybook.prove`: series,
perturbation, kernel, steps.

A function gives one :class:`Proof` for each part, tied to the network, its kernel and the printed
formulas (``paper``, their module) at drawn points. Inputs have norm at most 1, readouts |a| <= 1,
and R < 0.01 bounds the distance that a neuron moves, hence the change of a score; scores at the
start lie in [-B, B], B >= 1. A logarithm of a number is a variable in a short range.
"""

import functools
import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
from attention_theory.attention import attention_weights
from attention_theory.tangent.bounds import change_factor, step_bound
from attention_theory.tangent.kernel import limit_kernel, tangent_kernel
from attention_theory.tangent.network import SoftmaxNetwork
from attention_theory.tangent.training import ntk_regression
from theorybook.prove import (
    Proof,
    ball,
    exprel,
    exprel2,
    letters,
    prove_identity,
    prove_le,
    prove_less,
)

from attention_checks.tangent.runs.coupling import coupling_bound
from attention_checks.tangent.runs.descent import loss_terms
from attention_checks.tangent.runs.estimates import sharp_estimates

#: (B, R, m) of the basic estimates.
DRAWN = [{"B": B, "R": R, "m": m} for B, R, m in ((1, 0.01, 2), (1.5, 0.004, 3), (4, 0.001, 5))]
#: The constants of Theorem 4.2 are tied at (n, d, lambda).
SIZES = [(3, 2, 0.3), (10, 5, 1.2)]


def _exponents(
    what: str, sides: Any, number: float | str, ends: tuple, B: float = 1, **R: Any
) -> Proof:
    """An inequality that is linear in B, R and h, the logarithm of a number, which lies between
    these ends.
    """
    return prove_le(what, sides, where={"h": f"log({number})"}, B=(B, None), **R, h=ends)


def _vector(*numbers: float) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def _network(*columns: list[float], seed: int = 0) -> SoftmaxNetwork:
    """Three neurons on the line with these values."""
    W = torch.sin(torch.arange(3, dtype=torch.float64) + seed)[None]
    return SoftmaxNetwork(W, torch.tensor(columns, dtype=torch.float64))


@functools.cache
def series(paper: ModuleType) -> dict[str, Proof]:
    """Facts A.3 and A.5 to A.8.

    A.5: both sides are >= 0, so their squares decide. A.6: (e^x - 1)/x lies between 0 and 2. A.7:
    the N-th partial sum is (1 - x^N)/(1 - x). A.8: (e^x - 1 - x)/x^2 is within 1% of 1/2.
    """
    import sympy

    u, v = sympy.Matrix(sympy.symbols("u1:4")), sympy.Matrix(sympy.symbols("v1:4"))
    pairs = [torch.sin(torch.arange(6, dtype=torch.float64) + k).reshape(2, 3) for k in range(3)]
    at, near = (
        [{"x": x} for x in values] for values in ((-0.1, -0.03, 0.02, 0.1), (-0.01, 0.003, 0.01))
    )
    sums = [{"x": x, "N": N} for x in (0.0, 0.03, 0.1) for N in (0, 1, 5)]
    half = lambda x: (exprel2(x) - ball("0.5")) ** 2
    geometric = lambda x, p: ((1 - p) / (1 - x), 1 / (1 - x))
    a_3 = prove_identity(
        "$|u - v|^2 = |u|^2 - 2 u v + |v|^2$",
        (u - v).dot(u - v),
        u.dot(u) - 2 * u.dot(v) + v.dot(v),
    )
    a_5 = prove_le(r"$1 - x \le (1 - x/2)^2$", lambda x: (1 - x, (1 - x / 2) ** 2), x=(-0.1, 0.1))
    a_6 = prove_less("$((e^x - 1)/x)^2 < 2^2$", lambda x: (exprel(x) ** 2, 4), x=(-0.1, 0.1))
    a_7 = prove_le(
        r"1 + x + ... $+ x^{N-1} \le 1/(1 - x)$",
        geometric,
        where={"p": "x**N"},
        x=(0, 0.1),
        p=(0, 1),
    )
    a_8 = prove_less(
        "$|(e^x - 1 - x)/x^2 - 1/2| < 0.005$",
        lambda x: (half(x), Fraction(1, 200) ** 2),
        x=(-0.01, 0.01),
    )
    return {
        "a.3": a_3.crosschecked(
            [letters(u=a, v=b) for a, b in pairs],
            [(a - b).square().sum() for a, b in pairs],
            [paper.fact_a_3(a, b) for a, b in pairs],
        ),
        "a.5": a_5.crosschecked(
            at, lambda x: math.sqrt(1 - x) ** 2, lambda x: paper.fact_a_5(x) ** 2
        ),
        "a.6": a_6.crosschecked(
            at, lambda x: (math.expm1(x) / x) ** 2, lambda x: (paper.fact_a_6(x) / x) ** 2
        ),
        "a.7": a_7.crosschecked(
            sums,
            lambda x, N: sum(x**i for i in range(N)),
            lambda x, N: paper.fact_a_7(x),
        ),
        "a.8": a_8.crosschecked(
            near,
            lambda x: ((math.expm1(x) - x) / x**2 - 0.5) ** 2,
            lambda x: (paper.fact_a_8(1, 0.505) - paper.fact_a_8(1, 0.5)) ** 2,
        ),
    }


@functools.cache
def perturbation(lemma_b_1: Callable) -> dict[str, Proof]:
    """Lemma B.1, Parts 6 to 13: scores in [-B, B] that move by at most R. All deterministic; only
    Part 1 is about probability.

    6: <w_r - v_r, x_i + x_j> is some z with |z| <= 2R, and |e^z - 1| <= 2|z|. 7: |e^s - e^(s + h)|
    <= e^B (e^R - 1) for |h| <= R, and e^R - 1 <= R e^R: their difference over R^2 e^R is (e^(-R) -
    1 + R)/R^2 > 0. 8: a sum of m such terms. 9: |1/p - 1/q| = |p - q|/(p q) with p >= m e^(-B), q
    >= m e^(-B-R): the exponents add up. 10, 11: e^(B+R)/(m e^(-B-R)). 12: the ratio of the two
    weights lies in [e^(-2R), e^(2R)], so |S - S'| <= (e^(2B)/m)(e^(2R) - 1) <= (R/m) 2 e^(2B+2R),
    and that is at most (R/m) e^(4B+3R) exactly if 2B + R >= log 2: for B >= 0.347 (the paper's own
    proof drops a term). 13: 2 tanh(R/2) <= R, see :func:`covariance`.
    """
    import sympy

    B, R, m = sympy.symbols("B R m", positive=True)
    exp = sympy.exp
    ours, printed = (
        (lambda part, **x: sharp_estimates(**x)[part]),
        (lambda part, **x: lemma_b_1(**x)[part]),
    )
    moves = [x | {"z": z} for x, z in zip((DRAWN[0], *DRAWN[::2]), (-0.02, 0.02, 0.002))]
    six = prove_less(
        r"$((e^z - 1)/z)^2 < 2^2, |z| \le 2 R$", lambda z: (exprel(z) ** 2, 4), z=(-0.02, 0.02)
    )
    seven = prove_less("$(e^{-R} - 1 + R)/R^2 > 0$", lambda R: exprel2(-R), R=(0, 1))
    nine = prove_identity(
        "$m R e^{B+R}/(m e^{-B} m e^{-B-R}) = (R/m) e^{3B+2R}$",
        m * R * exp(B + R) / (m * exp(-B) * m * exp(-B - R)),
        R / m * exp(3 * B + 2 * R),
    )
    eleven = prove_identity(
        "$e^{B+R}/(m e^{-B-R}) = e^{2B+2R}/m$",
        exp(B + R) / (m * exp(-B - R)),
        exp(2 * B + 2 * R) / m,
    )
    twelve = prove_le(
        r"$2 e^{2B+2R} \le e^{4B+3R}$",
        lambda h, x: (h, x),
        where={"h": "log(2)", "x": "2*B + R"},
        h=(0.693, "0.6932"),
        x=(0.694, None),
    )
    return {
        "6": six.crosschecked(
            moves,
            lambda z, **x: ((ours(6, **x) if z > 0 else math.expm1(z)) / z) ** 2,
            lambda z, **x: (printed(6, **x) / z) ** 2,
        ),
        "7": seven.crosschecked(
            [*DRAWN[:2], {"B": 1, "R": 1.0, "m": 2}],
            right=lambda B, R, m: (
                (printed(7, B=B, R=R, m=m) - ours(7, B=B, R=R, m=m)) / (R**2 * math.exp(B + R))
            ),
            inside={"R = 0": "0/0"},
        ),
        "9": nine.crosschecked(
            DRAWN,
            lambda B, R, m: printed(8, B=B, R=R, m=m) / (m * math.exp(-B) * m * math.exp(-B - R)),
            functools.partial(printed, 9),
        ),
        "11": eleven.crosschecked(
            DRAWN, lambda m, **x: ours(5, m=m, **x) ** 2 / m, functools.partial(printed, 11)
        ),
        "12": twelve.crosschecked(
            DRAWN,
            math.log(2),
            lambda B, R, m: math.log(printed(12, B=B, R=R, m=m) / R * m) - 2 * B - 2 * R,
            rounded=("h",),
        ),
    }


@functools.cache
def covariance() -> dict[str, Proof]:
    """|<z, S - S'>| <= 2 tanh(R/2) <= R for |z|_inf <= 1, if scores move by at most R
    (own-covariance; Lemma B.1 Part 13).

    A linear function of z is largest at z = +-1. Let p be the weight of {z = 1}: with q = e^R it
    becomes at most p q/(p q + (1 - p)/q). The change 2 (that - p) is 2 (q - 1)/(q + 1) minus a
    square (``square``), and 2 (q - 1)/(q + 1) = 2 tanh(R/2). R - 2 tanh(R/2) is 0 at R = 0 and has
    the derivative tanh(R/2)^2 (``tanh``). Two neurons with p = 1/(1 + q) attain it (``attained``).
    In u = p/(1 - p), so that all that is divided by is positive.
    """
    import sympy

    u, q, R = sympy.symbols("u q R", positive=True)
    p, after = u / (1 + u), u * q / (u * q + 1 / q)
    rest = 2 * (q - 1) * (u * q - 1) ** 2 / ((q + 1) * (u * q**2 + 1) * (1 + u))
    half = (sympy.exp(R) - 1) / (sympy.exp(R) + 1)  # tanh(R/2)
    drawn = [{"s": s, "R": R} for s in (-1.0, 0.2, 2.0) for R in (0.001, 0.3, 1.0)]
    lengths = [{"R": R} for R in (0.001, 0.3, 1.0)]
    sharp = lambda R: sharp_estimates(1, R, 2)[13]

    def change(s: float, R: float) -> float:
        """Change of <z, S> for two neurons with z = 1, -1 whose scores differ by s at first."""
        scores = torch.tensor([[s, 0.0], [s + R, -R]], dtype=torch.float64)
        before, now = attention_weights(scores, "softmax") @ _vector(1.0, -1.0)
        return float(now - before)

    square = prove_identity(
        "2 (p' - p) = 2 (q - 1)/(q + 1) - a square",
        2 * (after - p),
        2 * (q - 1) / (q + 1) - rest,
        where={"q": "exp(R)", "u": "exp(s)"},
    )
    attained = prove_identity(
        "the change at p = 1/(1 + q) is 2 (q - 1)/(q + 1)",
        2 * (after - p).subs(u, 1 / q),
        2 * (q - 1) / (q + 1),
        where={"q": "exp(R)"},
    )
    tanh = prove_identity(
        r"$d/dR (R - 2 \tanh(R/2)) = \tanh(R/2)^2$", sympy.diff(R - 2 * half, R), half**2
    )
    return {
        "square": square.crosschecked(drawn, change),
        "tanh": tanh.crosschecked(lengths, right=lambda R: (sharp(R) / 2) ** 2),
        "attained": attained.crosschecked(lengths, lambda R: change(-R, R), sharp),
    }


@functools.cache
def kernel(lemma_5_1: Callable, theorem_4_2: Callable) -> dict[str, Proof]:
    """Lemma 5.1 with and without B (own-kernel-bound), for |a| <= 1, |x| <= 1.

    An entry is x_i.x_j m sum_r c_i c_j S_i S_j with c = a - <a, S>. Along a line of scores, at
    speed R, S_i S_j grows at most like e^(4Rt); with p, q = |<a, S>| at the two inputs |c| <= 1 +
    p, |dc/dt| <= R (1 - p^2). So a summand moves at 16 R S_i S_j at most (``speed``), in all 4
    (e^(4R) - 1) (``free``). From a paired start c = a, and <a, S> moves by some delta, |delta| <= R
    (:func:`covariance`), S_i S_j by a factor 1 + rho, |rho| <= e^(4R) - 1. ``terms``: the change of
    a summand; in the sum over each pair delta_i c_j and delta_j c_i without rho add up to 0; the
    others add up to the paired factor (``paired``). ``linear``: e^z - 1 <= z e^z, so that 4 (e^(4R)
    - 1) <= 16 R e^(4R). With weights <= e^(2B)/m the sum M is at most e^(2B): 16 e^(4R + 2B) <
    e^(10B) (``B``), and nd x nd entries give the Frobenius norm. ``half``: with R = lambda/(2 nd
    e^(10B)) the norm is lambda/2, which lambda_min can lose (Claim E.5, second part).
    """
    import sympy

    lam, n, d, B, R, t = sympy.symbols("lambda n d B R t", positive=True)
    ci, cj, di, dj, rho = sympy.symbols("c_i c_j delta_i delta_j rho")
    R0, growth = lam / (2 * n * d * sympy.exp(10 * B)), sympy.exp(4 * R)
    left = ci * cj * rho - (di * cj + dj * ci) * rho + di * dj * (1 + rho)
    moves = [{"R": R} for R in (0.001, 0.01, 0.5)]
    free, paired = (functools.partial(change_factor, paired=paired) for paired in (False, True))
    # two groups of neurons: the mean of their values +-1 and its variance, which is how fast that
    # mean moves
    scores = torch.tensor([[0.0, 0.0], [1.5, 0.3], [40, 0]], dtype=torch.float64)
    weights = attention_weights(scores, "softmax")
    means = list(zip((weights @ _vector(1.0, -1.0)).abs().tolist(), (4 * weights.prod(1)).tolist()))
    two = list(itertools.product(means, repeat=2))
    # a paired start with four neurons, two inputs, and what a move changes
    net, x = (
        SoftmaxNetwork.paired(2, 4, 3, outputs=1),
        torch.tensor([[0.6, 0.8], [1.0, 0.0]], dtype=torch.float64),
    )
    moved = net.moved(torch.cos(torch.arange(8.0, dtype=torch.float64)).reshape(2, 4), 0.3)
    S, after, slopes = net.weights(x), moved.weights(x), moved.slopes(x)[0] / math.sqrt(net.m)
    a, product, (d_i, d_j) = net.a[0], S[0] * S[1], (after @ net.a.T)[:, 0].tolist()
    summands = slopes[0] * slopes[1] / product - a**2
    terms = [
        {"c_i": c, "c_j": c, "delta_i": d_i, "delta_j": d_j, "rho": r}
        for c, r in zip(a.tolist(), (after[0] * after[1] / product - 1).tolist())
    ]
    sizes = [{"n": n, "d": d, "lambda": lam, "B": theorem_4_2(n, d, lam).B} for n, d, lam in SIZES]
    speed = prove_le(
        r"$(1 - p^2)(1 + q) + (1 + p)(1 - q^2) + 4 (1 + p)(1 + q) \le 16$",
        lambda p, q: ((1 - p**2) * (1 + q) + (1 + p) * (1 - q**2) + 4 * (1 + p) * (1 + q), 16),
        p=(0, 1),
        q=(0, 1),
    )
    integral = prove_identity(
        "the integral of $16 R e^{4Rt}$ is $4 (e^{4R} - 1)$",
        sympy.integrate(16 * R * sympy.exp(4 * R * t), (t, 0, 1)),
        4 * (growth - 1),
    )
    change = prove_identity(
        "change of a summand", (ci - di) * (cj - dj) * (1 + rho) - ci * cj, left - di * cj - dj * ci
    )
    largest = prove_identity(
        "the terms at their largest are $(1 + 2R)(e^{4R} - 1) + R^2 e^{4R}$",
        left.subs({ci: -1, cj: -1, di: R, dj: R, rho: growth - 1}),  # where all terms are positive
        (1 + 2 * R) * (growth - 1) + R**2 * growth,
    )
    linear = prove_less(
        "$(e^{-z} - 1 + z)/z^2 > 0$", lambda z: exprel2(-z), where={"z": "4*R"}, z=(0, 4)
    )
    sixteen = _exponents(
        r"$16 e^{4R + 2B} \le e^{10B}$",
        lambda B, R, h: (h + 4 * R, 8 * B),
        16,
        (2.77, 2.773),
        R=(0, 0.01),
    )
    half = prove_identity(r"$R nd e^{10B} = \lambda/2$", R0 * n * d * sympy.exp(10 * B), lam / 2)
    return {
        "speed": speed.crosschecked(
            [{"p": p, "q": q} for (p, _), (q, _) in two],
            [v * (1 + q) + (1 + p) * w + 4 * (1 + p) * (1 + q) for (p, v), (q, w) in two],
            16 * 0.25 * change_factor(0.3, False) / math.expm1(1.2),
        ),
        "free": integral.crosschecked(moves, free, free),
        "terms": change.crosschecked(terms, summands, summands),
        "paired": largest.crosschecked(moves, paired, paired),
        "linear": linear.crosschecked(
            [*moves[:2], {"R": 1.0}],
            right=lambda R: (16 * R * math.exp(4 * R) - free(R)) / (64 * R**2 * math.exp(4 * R)),
            inside={"z = 0": "0/0"},
        ),
        "B": sixteen.crosschecked(
            [*DRAWN[:2], {"B": 1, "R": 1e-10, "m": 2}],  # both sides are divided by R
            lambda R, **_: math.log(16 * math.exp(4 * R)),
            lambda B, R, m: math.log(lemma_5_1(R, B) / R) - 2 * B,
            rounded=("h",),
        ),
        "half": half.crosschecked(
            sizes,
            lambda B, **x: 10 ** theorem_4_2(*x.values()).R * x["n"] * x["d"] * math.exp(10 * B),
        ),
    }


#: Scores at which a tenth, and a fortieth, of the keys make the kernel as large as it can be.
LEVELS = (math.log(9) / 2, math.log(39) / 2)


def _two_levels(B: float) -> SoftmaxNetwork:
    """Paired keys on the line, one in 1 + e^(2B) of them at B and the others at -B."""
    m = 2 * round(1 + math.exp(2 * B))
    scores = torch.full((1, m), -B, dtype=torch.float64)
    scores[0, :2] = B
    return SoftmaxNetwork(scores, torch.tensor([[1.0, -1.0] * (m // 2)], dtype=torch.float64))


@functools.cache
def descent(paper: ModuleType) -> dict[str, Proof]:
    """Constants of the gradient descent, for B >= 1, scores at the start in [-B, B], weights within
    R of a paired start.

    ``d.1``: |Delta w_r| <= m sum |f| 2 S <= 2 e^(2B + 2R) sqrt(nd) |f| <= e^(3B) sqrt(nd) |f| for R
    <= 0.01. ``d.2``: a diagonal entry at a paired start is m sum S^2 <= e^(2B), so lambda <=
    e^(2B); |F| <= m in each entry, so |f| <= (m + 1) sqrt(nd) <= 2m sqrt(nd), and eta |Delta w_r|
    <= 0.1 lambda e^(3B) nd 2m/(m n^2 d^2 e^(16B)) <= 0.2 e^(-11B). ``one-step``: the second
    derivative of |f|^2 along a step, integrated (own-one-step). ``e.2``: the changes of scores are
    at most zeta <= eta e^(3B) sqrt(nd) |f| (D.1) and zeta <= 0.01 (D.2), so p <= 1.02 zeta, h <=
    1.02 m sqrt(nd) zeta, and |f| <= 2m sqrt(nd): h^2 + 2 p h (|f| + h/3) is at most 1.02^2 (1 + 4 +
    0.01) < 5.4 times m^2 eta^2 n^2 d^2 e^(6B) |f|^2, which is 0.54 e^(-10B) m eta lambda |f|^2,
    against m eta lambda |f|^2 from the first order (f'Hf >= lambda |f|^2/2). ``e.3``: |C_0| <= 2 m
    sqrt(nd) |f| (R + zeta) (e^zeta - 1), e^zeta - 1 <= 1.01 zeta for zeta <= 0.01, and |f| <=
    sqrt(nd) gives zeta <= 0.2 R e^(-3B) <= 0.01 R: together 1.01 x 1.01 < 1.03 times m eta lambda
    e^(-7B) |f|^2. ``e.4``: the first order of C_0 is at most 2 m sqrt(nd) |f| R zeta = m eta lambda
    e^(-7B) |f|^2 <= 2 e^(-7B) m eta f'Hf, and C_1 is -2 m eta f'Hf less that. ``c.2``: the steps
    add up to D, as sqrt(1 - q/2) <= 1 - q/4 (Fact A.5), q = m eta lambda. ``e.1``: the square of a
    sum (r the residual, v0 to v2 the three parts of F(tau + 1) - F(tau)). ``e.2-rate``: at eta =
    0.1 lambda/(m n^2 d^2 e^(16B)) the two sides of the rate are equal. ``e.2-width``: at m = n^2
    d^2 e^(18B) L^2/lambda^2, L = log(nd/delta) > log 10 > 1, and |F(0) - Y| = sqrt(nd), D/R is 8
    e^(-5B)/L^2, below 1; a larger m makes D smaller. ``e.6``: |v2| <= m 0.505 z^2 in each entry
    (Fact A.8), |z| <= eta e^(3B) sqrt(nd) |f|, and |f|_1 <= sqrt(nd) |f| <= nd, so C_2 <= 1.01 m
    eta^2 n^2 d^2 e^(6B) |f|^2. ``e.7``: |F' - F| in one entry is at most m eta |Delta w| <= m eta
    e^(3B) sqrt(nd) |f| by
    :func:`covariance`, so C_3 <= eta^2 m^2 n^2 d^2 e^(6B) |f|^2. ``g.1``: a sum of squares; the
    factor 4 is the corrected one. ``f.2-features``: the printed map is zero, as the covariances
    with S add up to 0. ``width``: lambda is at most the kernel of an input with itself, m sum
    S_r^2, which is at most cosh(B)^2 if all scores lie in [-B, B] (the mean square of numbers
    between e^-B and e^B over the square of their mean); e^(18B)/cosh(B)^4 is least at B = 1. Tied
    where a tenth and a fortieth of the keys have the score B and the others -B.
    """
    import sympy

    lam, n, d, B, m, f, eta, L = sympy.symbols("lambda n d B m f eta L", positive=True)
    r, v0, v1, v2 = sympy.symbols("r v0 v1 v2", real=True)
    h, p, s = sympy.symbols("h p s", positive=True)
    width = n**2 * d**2 * sympy.exp(18 * B) * L**2 / lam**2
    printed = lam / (10 * m * n**2 * d**2 * sympy.exp(16 * B))
    z = sympy.symbols("z1:5", real=True)
    gaps = sum((z[i] - z[j]) ** 2 for i in range(4) for j in range(i))
    a, e = sympy.symbols("a1:4"), sympy.symbols("e1:4", positive=True)
    S = [x / sum(e) for x in e]
    mean = sum(x * s for x, s in zip(a, S))
    length = sympy.exp(3 * B) * sympy.sqrt(n * d) * f  # bound on a gradient, f at the start
    # constants of Theorem 4.2: what they say of exponents of B
    sizes = []
    for (n_, d_, lam_), R in zip(SIZES, (0.0, 0.01), strict=True):
        found = paper.theorem_4_2(n_, d_, lam_)
        more = {
            "lambda": lam_,
            "R": R,
            "m": 40.0,
            "f": 1.5,
            "eta": 0.01,
            "L": math.log(n_ * d_ / 0.1),
        }
        sizes.append(
            SimpleNamespace(
                found=found,
                n=n_,
                d=d_,
                nd=n_ * d_,
                lam=lam_,
                B=found.B,
                rate=10**found.m_eta,
                **more,
            )
        )
    path = lambda x: paper.definition_a_2(40, x.lam, x.B, x.nd, 1.5)
    share = lambda x: 10 ** (x.found.D + math.log10(math.sqrt(x.d)) - x.found.R)
    thrice = lambda x: math.log(path(x) * 40 * x.lam / (4 * math.sqrt(x.nd) * 1.5))
    seven = lambda x: math.log(x.lam / (2 * x.nd)) - x.found.R * math.log(10) - thrice(x)
    eleven = lambda x: math.log(2 * 40 * paper.lemma_b_1(x.B, x.R, 40)[11]) - 2 * x.B
    sixteen = lambda x: -math.log(x.rate * x.nd**2 / (0.1 * x.lam))
    rate_of = lambda side: lambda x: -paper.equation_11(x.rate, x.lam, x.B, x.nd)[side]
    net, one = _network([1.0, -1.0, 0.5]), torch.tensor([[0.9]], dtype=torch.float64)
    label, step = torch.tensor([[0.2]], dtype=torch.float64), 0.05
    terms, residual = loss_terms(net, one, label, step), float(net(one) - label)
    slope = net.gradient(one, label)
    after = SoftmaxNetwork(net.W - step * slope, net.a)
    change = step * 0.9 * slope[0]  # of the three scores
    p_1 = math.exp(float(change.abs().max())) * float(
        (net.weights(one)[0] * change**2).sum().sqrt()
    )
    changed = {"p": p_1, "h": 3 * p_1, "f": abs(residual)}
    gap = [math.cos(k) for k in range(4)]
    asked, logs = (
        [paper.theorem_4_2(2, 1, 1.0, x / (10 * math.sqrt(math.log(20)))) for x in (1, *LEVELS)],
        math.log(10),
    )
    more = [
        math.exp((c.m - asked[0].m) * logs - 4 * (c.B - 1)) * (1 + math.exp(-2)) ** 4
        for c in asked[1:]
    ]
    kernel_at = lambda B: float(
        tangent_kernel(_two_levels(B), torch.ones(1, 1, dtype=torch.float64))
    )
    widest = prove_le(
        r"$(e^{18B}/\cosh^4 B)/(e^{18}/\cosh^4 1) \ge 1$",
        lambda y, c: ((1 + c / y) ** 4, y**7 * (1 + c) ** 4),
        where={"y": "exp(2*(B - 1))", "c": "exp(-2)"},
        y=(1, None),
        c=(0, 1),
    )
    step_2 = prove_identity(
        "the integral of $(1 - s) (2 h^2 + 4 p h (f + s h))$ over s in [0, 1]",
        sympy.integrate((1 - s) * (2 * h**2 + 4 * p * h * (f + s * h)), (s, 0, 1)),
        h**2 + 2 * p * h * (f + h / 3),
    )
    reached = prove_identity(
        r"$\eta e^{3B} \sqrt{nd} |f(0)| / (1 - (1 - m \eta \lambda/4)) = D$",
        eta * length / (1 - (1 - m * eta * lam / 4)),
        4 / (m * lam) * length,
    )
    parts = prove_identity(
        "$|r + v0 + v1 + v2|^2 = |r|^2 + C0 + C1 + C2 + C3$",
        (r + v0 + v1 + v2) ** 2,
        r**2 + 2 * r * v0 + 2 * r * v1 + 2 * r * v2 + (v0 + v1 + v2) ** 2,
        sizes="one entry; the others add up",
    )
    speed = prove_identity(
        r"$0.7 m \eta \lambda - 2 \eta^2 m^2 n^2 d^2 e^{16B} = 0.5 m \eta \lambda$",
        sympy.Rational(7, 10) * m * printed * lam
        - 2 * printed**2 * m**2 * n**2 * d**2 * sympy.exp(16 * B),
        m * printed * lam / 2,
    )
    moved = prove_identity(
        "$D/R = 8 e^{-5B}/L^2$",
        4 / (width * lam) * sympy.exp(3 * B) * n * d / (lam / (2 * n * d * sympy.exp(10 * B))),
        8 * sympy.exp(-5 * B) / L**2,
    )
    squares = prove_identity(
        r"$4(z_1^2 + \dots + z_4^2) - (z_1 + \dots + z_4)^2$ = a sum of squares",
        4 * sum(x**2 for x in z) - sum(z) ** 2,
        gaps,
    )
    features = prove_identity(
        r"$\sum_r a_r S_r = \sum_r \langle a, S\rangle S_r$",
        sum(x * s for x, s in zip(a, S)),
        sum(mean * s for s in S),
        sizes="m = 3; all neurons alike",
    )
    twice = _exponents(
        r"$2 e^{2R} \le e^B$", lambda B, R, h: (h + 2 * R, B), 2, (0.693, 0.694), R=(0, 0.01)
    )
    fifth = _exponents(
        r"$0.2 e^{-11B} \le 0.01$", lambda B, R, h: (h, 11 * B), 20, (2.995, 2.996), R=(0, 0.01)
    )
    eight = _exponents(
        r"$8 e^{-5B} \le 1$", lambda B, R, h: (h, 5 * B), 8, (2.079, 2.08), R=(0, 0.01)
    )
    second = _exponents(r"$0.54 e^{-10B} \le 1/2$", lambda B, h: (h, 10 * B), 1.08, (0, 1))
    third = _exponents(r"$1.03 e^{-7B} \le 0.1$", lambda B, h: (h, 7 * B), 10.3, (0, 3))
    fourth = _exponents(r"$2 e^{-7B} \le 0.4$", lambda B, h: (h, 7 * B), 5, (0, 3))
    sixth = _exponents(r"$1.01 e^{6B} \le 2 e^{9B}$", lambda B, h: (h, 3 * B), "1.01/2", (-1, 0))
    seventh = prove_le(r"$e^{6B} \le e^{16B}$", lambda B: (6 * B, 16 * B), B=(1, None))
    # in a range that is wider than it need be, the exact logarithm is no end
    enclosed = lambda *ends: {f"h = {end}": "wider than the logarithm" for end in ends}
    return {
        "width": widest.crosschecked(
            [{"B": B} for B in LEVELS],
            lambda B: (4 * kernel_at(B) * math.exp(-2 * B)) ** 2,
            more,
            inside={"c = 0": "any c will do", "c = 1": "any c will do"},
        ),
        "d.1": twice.crosschecked(sizes, eleven, lambda x: thrice(x) - 2 * x.B, rounded=("h",)),
        "d.2": fifth.crosschecked(
            sizes,
            math.log(0.1 * 2 / 0.01),
            lambda x: sixteen(x) - thrice(x) - 2 * x.B,
            rounded=("h",),
        ),
        "one-step": step_2.crosschecked(
            [changed],
            right=[
                step_bound(net, one, label, step)
                - residual**2
                + 2 * step * float(slope.square().sum())
            ],
        ),
        "e.2": second.crosschecked(
            sizes,
            math.log(0.1 * 5.4 / 0.5),
            lambda x: sixteen(x) - 2 * thrice(x),
            inside=enclosed(0, 1),
        ),
        "e.3": third.crosschecked(sizes, math.log(1.03 / 0.1), seven, inside=enclosed(0, 3)),
        "e.4": fourth.crosschecked(sizes, math.log(2 / (2 - 1.6)), seven, inside=enclosed(0, 3)),
        "c.2": reached.crosschecked(sizes, path, path),
        "e.1": parts.crosschecked(
            [{"r": residual} | {f"v{k}": C / (2 * residual) for k, C in enumerate(terms[:3])}],
            [(after(one) - label) ** 2],
            [residual**2 + paper.lemma_e_1(net.W, net.a, one, label, step).sum()],
        ),
        "e.2-rate": speed.crosschecked(sizes, rate_of(0), rate_of(1)),
        "e.2-width": moved.crosschecked(sizes, share, share),
        "e.2-width-below": eight.crosschecked(
            sizes,
            lambda x: math.log(share(x) * x.L**2) + 5 * x.B,
            lambda x: 5 * x.B,
            rounded=("h",),
        ),
        "e.6": sixth.crosschecked(
            sizes,
            math.log(paper.fact_a_8(1, 0.505) - paper.fact_a_8(1, 0)),
            thrice,
            inside=enclosed(-1, 0),
        ),
        "e.7": seventh.crosschecked(sizes, lambda x: 2 * thrice(x), sixteen),
        "g.1": squares.crosschecked(
            [letters(z=gap)], [4 * paper.claim_g_1([x**2 for x in gap]) - sum(gap) ** 2]
        ),
        "f.2-features": features.crosschecked(
            [letters(a=net.a[0], e=torch.exp(x * net.W[0])) for x in (0.9, -2.0)],
            [net(torch.tensor([[x]], dtype=torch.float64)) / 3 for x in (0.9, -2.0)],
        ),
    }


@functools.cache
def coupling() -> dict[str, Proof]:
    """The bound |Y| (eps_test + sqrt(k/lambda) eps_H)/(lambda - eps_H) of own-coupling: what its
    proof sums, and sharpness.

    ``steps``: with g = m eta H* in an eigenvector (0 <= g <= 1) and e <- (1 - g) e - c_s from e =
    0, e + sum c_s = sum (1 - (1 - g)^later) c_s, later the number of steps that follow: the weights
    lie in [0, 1], and each is what kernel regression has learned of the label 1 after so many
    steps. Five steps stand for all. ``attained``: one point, H = lambda - eps_H and K = K* +
    eps_test from the first step on, K*^2 = k lambda; the sums of f and g over all steps are
    Y/(lambda - eps_H) and Y/lambda.
    """
    import sympy

    K, lam, h, eps, g = sympy.symbols("K lambda eps_H eps_test g", positive=True)
    c, e = sympy.symbols("c1:6"), sympy.Integer(0)
    for step in c:
        e = (1 - g) * e - step
    weights = [1 - (1 - g) ** (len(c) - 1 - s) for s in range(len(c))]
    steps, slow, learned, one = (
        [0.3, -1.0, 0.2, 0.7, 0.1],
        [],
        [],
        torch.ones(1, 1, dtype=torch.float64),
    )
    for rate in (0.1, 0.9):
        error = 0.0
        for step in steps:
            error = (1 - rate) * error - step
        slow.append(error + sum(steps))
        gammas = ntk_regression(one, one, len(steps) - 1, rate, 1, at=range(len(steps)))[1]
        learned.append(
            sum(step * float(gamma.sum()) for step, gamma in zip(reversed(steps), gammas))
        )

    def predicted(K: float, H: float) -> float:
        """What gradient descent predicts at the test input, from 0, for the label 1 at the one
        training point.
        """
        prediction, error = 0.0, -1.0
        for _ in range(1000):
            prediction, error = prediction - 0.5 * K * error, error - 0.5 * H * error
        return prediction

    points = [
        SimpleNamespace(k=k, K=math.sqrt(k * l), l=l, **{"lambda": l}, eps_H=h, eps_test=t)
        for k, l, h, t in ((2.0, 1.5, 0.5, 0.3), (0.5, 0.2, 0.1, 0.02))
    ]
    sums = prove_identity(
        r"$e + \sum c_s$",
        e + sum(c),
        sum(w * step for w, step in zip(weights, c)),
        sizes="five steps",
    )
    attained = prove_identity(
        r"$(K^* + \epsilon_{\mathrm{test}})/(\lambda - \epsilon_H) - K^*/\lambda$",
        (K + eps) / (lam - h) - K / lam,
        (eps + K / lam * h) / (lam - h),
        nonzero=[lam - h],
    )
    return {
        "steps": sums.crosschecked(
            [letters(c=steps) | {"g": rate} for rate in (0.1, 0.9)], slow, learned
        ),
        "attained": attained.crosschecked(
            points,
            lambda x: predicted(x.K + x.eps_test, x.l - x.eps_H) - predicted(x.K, x.l),
            lambda x: coupling_bound(1.0, x.l, _vector(x.eps_test)[0], x.eps_H, _vector(x.k)[0]),
        ),
    }


@functools.cache
def network(equation_2: Callable) -> dict[str, Proof]:
    """Identities of the network and its kernel, symbolically at m = 3 neurons: in a sum over
    neurons all terms are alike.

    ``equation-2``: dF/ds_r = m S_r (a_r - <a, S>), s the scores; times x it is the derivative with
    respect to w_r (equation 2, Claim 3.4). ``a.4``: the weights add up to 1. ``shift``: adding c to
    every score changes neither S nor F (own-shift; H is a function of S and x). ``jacobian``: m H =
    J J^T, entry by entry (own-jacobian). ``psd``: hence f H f >= 0 (Definition 3.6), and m f H f =
    |Delta W|^2 for the gradient Delta W = J^T f, so that a step of descent changes |f|^2 by -2 eta
    |Delta W|^2 = -2 m eta f H f to first order in eta: all of C_0 + C_1 (own-cancellation).
    ``zero``: F = 0 at paired weights (Definition 3.7). ``even``: along a direction with g_2r =
    -g_(2r-1) the kernel is even (own-zero-derivative), at two pairs and two inputs.
    """
    import sympy

    m = 3
    a, b, s = (sympy.symbols(f"{name}1:{m + 1}", real=True) for name in "abs")
    c, x, y, M = sympy.symbols("c x y m", positive=True)

    def weights(scores: Any) -> list[Any]:
        e = [sympy.exp(value) for value in scores]
        return [value / sum(e) for value in e]

    def slope(readout: Any, S: Any) -> list[Any]:
        mean = sum(z * w for z, w in zip(readout, S))
        return [w * (z - mean) for z, w in zip(readout, S)]

    def entry(first: Any, second: Any, readout: Any) -> Any:
        """An entry of the kernel, up to x.x' m, from the exponentials of the scores of two
        inputs.
        """
        S, T = ([value / sum(e) for value in e] for e in (first, second))
        return sum(p * q for p, q in zip(slope(readout, S), slope(readout, T)))

    # two pairs of neurons, two inputs: the exponentials of the scores of a pair that has moved by
    # +t g and -t g
    u, v, U, V = (sympy.symbols(f"{name}1:3", positive=True) for name in ("u", "v", "U", "V"))
    pairs = [a[0], -a[0], a[1], -a[1]]
    forth, back = [[p[0], q[0], p[1], q[1]] for p, q in ((u, v), (v, u))]
    Forth, Back = [[p[0], q[0], p[1], q[1]] for p, q in ((U, V), (V, U))]
    f = sympy.symbols("f1:3")
    S, T = sympy.symbols(f"S1:{m + 1}"), sympy.symbols(f"T1:{m + 1}")
    F = sum(z * w for z, w in zip(a, weights(s)))
    J = [M * z * x for z in slope(a, S)], [M * z * y for z in slope(b, T)]
    H = x * y / M * sum(p * M * q * M for p, q in zip(slope(a, S), slope(b, T)))
    rows = range(2)
    form = sum(f[i] * f[j] * sum(p * q for p, q in zip(J[i], J[j])) for i in rows for j in rows)
    three: Any = functools.partial(prove_identity, sizes="m = 3; all neurons alike")
    four: Any = functools.partial(prove_identity, sizes="m = 4")
    slopes = sympy.Matrix([sympy.diff(F, z) for z in s]), sympy.Matrix(slope(a, weights(s)))
    shifted = sympy.Matrix(weights([z + c for z in s])), sympy.Matrix(weights(s))
    # on the line, with inputs x and y: two outputs with values a and b
    first, second, residual = [1.0, -1.0, 0.5], [-0.3, 1.0, 1.0], _vector(0.3, -2.0)
    inputs, at = _vector(0.9, 0.4)[:, None], []
    for net in (_network(first, second, seed=seed) for seed in (0, 2)):
        W = net.weights(inputs)
        point = letters(a=first, b=second, s=net.W[0] * 0.9, S=W[0], T=W[1], f=residual)
        J_net = [
            equation_2(net.W, net.a, inputs[k])[k] for k in rows
        ]  # rows (1, x) and (2, y) of J
        K_net = tangent_kernel(net, inputs)[[0, 3]][:, [0, 3]]  # (output 1, x) and (output 2, y)
        at.append(SimpleNamespace(**point, x=0.9, y=0.4, m=3.0, c=1.7, net=net, J=J_net, K=K_net))
    speed = lambda z: z.J[0][0] / (3 * 0.9)
    now = lambda z: z.net.weights(inputs)[0]
    moved = lambda z: SoftmaxNetwork(z.net.W + 1.7 / 0.9, z.net.a).weights(inputs)[0]
    # two pairs of neurons in the plane
    keys = torch.sin(torch.arange(8, dtype=torch.float64)).reshape(2, 4)
    plane = torch.tensor([[0.6, 0.8], [1.0, 0.0]], dtype=torch.float64)
    couple = SoftmaxNetwork(keys, _vector(1.0, -1.0, 0.5, -0.5)[None])
    swapped = SoftmaxNetwork(keys[:, [1, 0, 3, 2]], couple.a)
    e1, e2 = torch.exp(plane @ keys)
    even = [letters(a=[1.0, 0.5, 0.0], u=e1[[0, 2]], v=e1[[1, 3]], U=e2[[0, 2]], V=e2[[1, 3]])]
    kernels = [[tangent_kernel(one, plane)[0, 1] / (4 * 0.6)] for one in (couple, swapped)]
    paired = SoftmaxNetwork(keys[:, [0, 0, 1, 1]], couple.a)
    pair = [letters(a=[1.0, 0.5, 0.0], u=row[[0, 2]]) for row in torch.exp(plane @ paired.W)]
    nought = sum(z * e for z, e in zip(pairs, (u[0], u[0], u[1], u[1])))
    return {
        "equation-2": three(r"$dF/ds_r = m S_r (a_r - \langle a, S\rangle)$", *slopes).crosschecked(
            at, speed, speed
        ),
        "a.4": three("<1, S> = 1", sum(weights(s)), sympy.Integer(1)).crosschecked(
            at, lambda z: now(z).sum()
        ),
        "shift": three("S(s + c) = S(s)", *shifted).crosschecked(at, moved, now),
        "jacobian": three(
            "$(J J^T)_{ij} = m H_{ij}$", sum(p * q for p, q in zip(*J)), M * H
        ).crosschecked(at, lambda z: (z.J[0] * z.J[1]).sum(), lambda z: 3 * z.K[0, 1]),
        "psd": three(
            "$m f H f = |J^T f|^2$", form, sum((f[0] * p + f[1] * q) ** 2 for p, q in zip(*J))
        ).crosschecked(
            at,
            lambda z: 3 * residual @ z.K @ residual,
            lambda z: (residual[0] * z.J[0] + residual[1] * z.J[1]).square().sum(),
        ),
        "zero": four("1 + F = 1", 1 + nought, sympy.Integer(1)).crosschecked(
            pair, 1 + paired(plane)
        ),
        "even": four(
            "H(W + t G) = H(W - t G)", entry(forth, Forth, pairs), entry(back, Back, pairs)
        ).crosschecked(even, *kernels),
    }


@functools.cache
def limits() -> dict[str, Proof]:
    """Means over Gaussian w, for which w (x_i + x_j) is Gaussian with variance sigma^2 |x_i +
    x_j|^2.

    ``limit``: exp(w x - sigma^2 |x|^2/2) at two inputs has mean exp(sigma^2 x_i x_j) (own-limit).
    ``exp-kernel``: without the denominators the mean is e^(sigma^2) times as much for |x_i| = |x_j|
    = 1 (own-exp-kernel).
    """
    import sympy

    x, y, k, sigma = sympy.symbols("x y k sigma", positive=True)
    mean = sigma**2 * (x**2 + 2 * k + y**2) / 2  # the exponent, with k = x_i . x_j
    plane = torch.tensor([[0.6, 0.8], [1.0, 0.0]], dtype=torch.float64)
    close = torch.tensor([[0.6, 0.8], [0.5, 0.0]], dtype=torch.float64)
    points = [
        {"x": 1.0, "y": length, "k": 0.6 * length, "sigma": sigma}
        for length in (0.5, 1.0)
        for sigma in (0.7, 1.2)
    ]
    closed = [
        torch.log(limit_kernel(p, sigma=s)[0, 1] / (p[0] @ p[1]))
        for p in (close, plane)
        for s in (0.7, 1.2)
    ]
    sphere = [torch.log(limit_kernel(plane, sigma=s, kind="exp")[0, 1] / 0.6) for s in (0.7, 1.2)]
    return {
        "limit": prove_identity(
            "mean of the exponents", mean - sigma**2 * (x**2 + y**2) / 2, sigma**2 * k
        ).crosschecked(points, closed, closed),
        "exp-kernel": prove_identity(
            "on the sphere", mean.subs({x: 1, y: 1}), sigma**2 + sigma**2 * k
        ).crosschecked(points[2:], sphere, sphere),
    }
