"""Claims of cao2024 for all values of their parameters, by :mod:`..evidence.prove`: series, perturbation, kernel, steps.

A function gives one :class:`Proof` for each part, tied to the network, its kernel and the printed formulas (``paper``, their
module) at drawn points. Inputs have norm at most 1, readouts |a| <= 1, and R < 0.01 bounds the distance that a neuron moves,
hence the change of a score; scores at the start lie in [-B, B], B >= 1. A logarithm of a number is a variable in a short range.
"""

import functools
import math
from typing import Any

import torch

from attention_theory.attention import attention_weights
from attention_theory.evidence.prove import Proof, exprel, exprel2, nonnegative, positive, same
from attention_theory.tangent.bounds import change_factor, sharp_estimates, step_bound
from attention_theory.tangent.kernel import limit_kernel, tangent_kernel
from attention_theory.tangent.network import SoftmaxNetwork
from attention_theory.tangent.runs.coupling import coupling_bound
from attention_theory.tangent.training import loss_terms, ntk_regression

#: (B, R, m) of the basic estimates.
DRAWN = [{"B": B, "R": R, "m": m} for B, R, m in ((1, 0.01, 2), (1.5, 0.004, 3), (4, 0.001, 5))]
#: The constants of Theorem 4.2 are tied at (n, d, lambda).
SIZES = [(3, 2, 0.3), (10, 5, 1.2)]


def _hundredths(x: int) -> Any:
    import flint

    return flint.arb(x) / 100


def _log(what: str, low: float, high: float, number: int, left: Any, right: Any, B: float = 1) -> Proof:
    """An inequality that is linear in B, R and the logarithm of a number."""
    sides = lambda B, R, h: (left(B, R, h), right(B, R, h))
    return nonnegative(what, sides, where={"h": f"log({number})"}, B=(B, None), R=(0, 0.01), h=(low, high))


def _network(*columns: list[float], seed: int = 0) -> SoftmaxNetwork:
    """Three neurons on the line with these values."""
    W = torch.sin(torch.arange(3, dtype=torch.float64) + seed)[None]
    return SoftmaxNetwork(W, torch.tensor(columns, dtype=torch.float64))


def _letters(**vectors: Any) -> dict[str, float]:
    """``S=[.1, .9]`` as S1 and S2."""
    return {f"{name}{i + 1}": float(x) for name, values in vectors.items() for i, x in enumerate(values)}


@functools.cache
def series(paper: Any) -> dict[str, Proof]:
    """Facts A.3 and A.5 to A.8.

    A.5: both sides are >= 0, so their squares decide. A.6: (e^x - 1)/x lies between 0 and 2. A.7: the N-th partial sum is
    (1 - x^N)/(1 - x). A.8: (e^x - 1 - x)/x^2 is within 1% of 1/2.
    """
    import sympy

    u, v = sympy.Matrix(sympy.symbols("u1:4")), sympy.Matrix(sympy.symbols("v1:4"))
    drawn = [torch.sin(torch.arange(6, dtype=torch.float64) + k).reshape(2, 3) for k in range(3)]
    x, small = [-0.1, -0.03, 0.02, 0.1], [-0.01, 0.003, 0.01]
    at, tiny = [{"x": value} for value in x], [{"x": value} for value in small]
    sums = [{"x": value, "N": N} for value in (0.0, 0.03, 0.1) for N in (1, 2, 5)]
    half = [((math.expm1(z) - z) / z**2 - 0.5) ** 2 for z in small]
    return {
        "a.3": same("$|u - v|^2 = |u|^2 - 2 u v + |v|^2$", (u - v).dot(u - v), u.dot(u) - 2 * u.dot(v) + v.dot(v)).tied(
            [_letters(u=a, v=b) for a, b in drawn],
            [(a - b).square().sum() for a, b in drawn],
            [paper.fact_a_3(a, b) for a, b in drawn],
        ),
        "a.5": nonnegative(r"$1 - x \le (1 - x/2)^2$", lambda x: (1 - x, (1 - x / 2) ** 2), x=(-0.1, 0.1)).tied(
            at, [math.sqrt(1 - z) ** 2 for z in x], [paper.fact_a_5(z) ** 2 for z in x]
        ),
        "a.6": positive("$((e^x - 1)/x)^2 < 2^2$", lambda x: (exprel(x) ** 2, 4), x=(-0.1, 0.1)).tied(
            at, [(math.expm1(z) / z) ** 2 for z in x], [(paper.fact_a_6(z) / z) ** 2 for z in x]
        ),
        "a.7": nonnegative(
            r"1 + x + ... $+ x^{N-1} \le 1/(1 - x)$",
            lambda x, p: ((1 - p) / (1 - x), 1 / (1 - x)),
            where={"p": "x**N"},
            x=(0, 0.1),
            p=(0, 1),
        ).tied(sums, [sum(z["x"] ** i for i in range(z["N"])) for z in sums], [paper.fact_a_7(z["x"]) for z in sums]),
        "a.8": positive(
            "$|(e^x - 1 - x)/x^2 - 1/2| < 0.005$",
            lambda x: ((exprel2(x) - _hundredths(50)) ** 2, (_hundredths(1) / 2) ** 2),
            x=(-0.01, 0.01),
        ).tied(tiny, half, [(paper.fact_a_8(1, 0.505) - paper.fact_a_8(1, 0.5)) ** 2] * 3),
    }


@functools.cache
def perturbation(lemma_b_1: Any) -> dict[str, Proof]:
    """Lemma B.1, Parts 6 to 13: scores in [-B, B] that move by at most R. Deterministic; only Part 1 has a chance in it.

    6: <w_r - v_r, x_i + x_j> is some z with |z| <= 2R, and |e^z - 1| <= 2|z|. 7: |e^s - e^(s + h)| <= e^B (e^R - 1) for |h|
    <= R, and e^R - 1 <= R e^R: their difference over R^2 e^R is (e^(-R) - 1 + R)/R^2 > 0. 8: a sum of m such terms. 9: |1/p -
    1/q| = |p - q|/(p q) with p >= m e^(-B), q >= m e^(-B-R): the exponents add up. 10, 11: e^(B+R)/(m e^(-B-R)). 12: the
    ratio of the two weights lies in [e^(-2R), e^(2R)], so |S - S'| <= (e^(2B)/m)(e^(2R) - 1) <= (R/m) 2 e^(2B+2R), and that
    is at most (R/m) e^(4B+3R) exactly if 2B + R >= log 2: for B >= 0.347 (the paper's own proof drops a term). 13: 2
    tanh(R/2) <= R, see :func:`covariance`.
    """
    import sympy

    B, R, m = sympy.symbols("B R m", positive=True)
    exp = sympy.exp
    sharp, printed = ([f(**x) for x in DRAWN] for f in (sharp_estimates, lemma_b_1))
    R_, B_, m_ = ([x[name] for x in DRAWN] for name in "RBm")
    moves = [{"z": 2 * r} for r in R_]
    return {
        "6": positive(r"$((e^z - 1)/z)^2 < 2^2, |z| \le 2 R$", lambda z: (exprel(z) ** 2, 4), z=(-0.02, 0.02)).tied(
            moves, [(s[6] / (2 * r)) ** 2 for s, r in zip(sharp, R_)], [(p[6] / (2 * r)) ** 2 for p, r in zip(printed, R_)]
        ),
        "7": positive("$(e^{-R} - 1 + R)/R^2 > 0$", lambda R: exprel2(-R), R=(0, 1)).tied(
            DRAWN, right=[(p[7] - s[7]) / (r**2 * math.exp(b + r)) for p, s, r, b in zip(printed, sharp, R_, B_)]
        ),
        "9": same(
            "$m R e^{B+R}/(m e^{-B} m e^{-B-R}) = (R/m) e^{3B+2R}$",
            m * R * exp(B + R) / (m * exp(-B) * m * exp(-B - R)),
            R / m * exp(3 * B + 2 * R),
        ).tied(
            DRAWN,
            [p[8] / (k * math.exp(-b) * k * math.exp(-b - r)) for p, k, b, r in zip(printed, m_, B_, R_)],
            [p[9] for p in printed],
        ),
        "11": same("$e^{B+R}/(m e^{-B-R}) = e^{2B+2R}/m$", exp(B + R) / (m * exp(-B - R)), exp(2 * B + 2 * R) / m).tied(
            DRAWN, [s[5] ** 2 / k for s, k in zip(sharp, m_)], [p[11] for p in printed]
        ),
        "12": nonnegative(
            r"$2 e^{2B+2R} \le e^{4B+3R}$",
            lambda h, x: (h, x),
            where={"h": "log(2)", "x": "2*B + R"},
            h=(0.693, "0.6932"),
            x=(0.694, None),
        ).tied(
            DRAWN,
            [math.log(2)] * len(DRAWN),
            [math.log(p[12] / r * k) - 2 * b - 2 * r for p, r, k, b in zip(printed, R_, m_, B_)],
        ),
    }


@functools.cache
def covariance() -> dict[str, Proof]:
    """|<z, S - S'>| <= 2 tanh(R/2) <= R for |z|_inf <= 1, if scores move by at most R (own-covariance; Lemma B.1 Part 13).

    A linear function of z is largest at z = +-1. Let p be the weight of {z = 1}: with q = e^R it becomes at most
    p q/(p q + (1 - p)/q). The change 2 (that - p) is 2 (q - 1)/(q + 1) minus a square (``square``), and 2 (q - 1)/(q + 1) =
    2 tanh(R/2). R - 2 tanh(R/2) is 0 at R = 0 and has the derivative tanh(R/2)^2 (``tanh``). Two neurons with p = 1/(1 + q)
    attain it (``attained``). In u = p/(1 - p), so that all that is divided by is positive.
    """
    import sympy

    u, q, R = sympy.symbols("u q R", positive=True)
    p, after = u / (1 + u), u * q / (u * q + 1 / q)
    rest = 2 * (q - 1) * (u * q - 1) ** 2 / ((q + 1) * (u * q**2 + 1) * (1 + u))
    half = (sympy.exp(R) - 1) / (sympy.exp(R) + 1)  # tanh(R/2)
    where = {"q": "exp(R)", "u": "exp(s)"}
    drawn = [{"s": s, "R": R} for s in (-1.0, 0.2, 2.0) for R in (0.001, 0.3, 1.0)]

    def change(s: float, R: float) -> float:
        """Of <z, S> for two neurons with z = 1, -1, whose scores differ by s at first."""
        scores = torch.tensor([[s, 0.0], [s + R, -R]], dtype=torch.float64)
        before, now = attention_weights(scores, "softmax") @ torch.tensor([1.0, -1.0], dtype=torch.float64)
        return float(now - before)

    lengths = [{"R": R} for R in (0.001, 0.3, 1.0)]
    sharp = [sharp_estimates(1, x["R"], 2)[13] for x in lengths]
    return {
        "square": same(
            "2 (p' - p) = 2 (q - 1)/(q + 1) - a square", 2 * (after - p), 2 * (q - 1) / (q + 1) - rest, where=where
        ).tied(drawn, [change(**x) for x in drawn]),
        "tanh": same(r"$d/dR (R - 2 \tanh(R/2)) = \tanh(R/2)^2$", sympy.diff(R - 2 * half, R), half**2).tied(
            lengths, right=[(x / 2) ** 2 for x in sharp]
        ),
        "attained": same(
            "the change at p = 1/(1 + q) is 2 (q - 1)/(q + 1)",
            2 * (after - p).subs(u, 1 / q),
            2 * (q - 1) / (q + 1),
            where={"q": "exp(R)"},
        ).tied(lengths, [change(-x["R"], x["R"]) for x in lengths], sharp),
    }


@functools.cache
def kernel(lemma_5_1: Any, theorem_4_2: Any) -> dict[str, Proof]:
    """Lemma 5.1 with and without B (own-kernel-bound), for |a| <= 1, |x| <= 1.

    An entry is x_i.x_j m sum_r c_i c_j S_i S_j with c = a - <a, S>. Along a line of scores, at speed R, S_i S_j grows at most
    like e^(4Rt); with p, q = |<a, S>| at the two inputs |c| <= 1 + p, |dc/dt| <= R (1 - p^2). So a summand moves at 16 R S_i
    S_j at most (``speed``), in all 4 (e^(4R) - 1) (``free``). From a paired start c = a, and <a, S> moves by some delta,
    |delta| <= R (:func:`covariance`), S_i S_j by a factor 1 + rho, |rho| <= e^(4R) - 1. ``terms``: the change of a summand;
    in the sum over each pair delta_i c_j and delta_j c_i without rho add up to 0; the others add up to the paired factor
    (``paired``). ``linear``: e^z - 1 <= z e^z, so that 4 (e^(4R) - 1) <= 16 R e^(4R). With weights <= e^(2B)/m the sum M is
    at most e^(2B): 16 e^(4R + 2B) < e^(10B) (``B``), and nd x nd entries give the Frobenius norm. ``half``: with R =
    lambda/(2 nd e^(10B)) the norm is lambda/2, which lambda_min can lose (Claim E.5, second part).
    """
    import sympy

    lam, n, d, B, R, t = sympy.symbols("lambda n d B R t", positive=True)
    ci, cj, di, dj, rho = sympy.symbols("c_i c_j delta_i delta_j rho")
    R0, growth = lam / (2 * n * d * sympy.exp(10 * B)), sympy.exp(4 * R)
    left = ci * cj * rho - (di * cj + dj * ci) * rho + di * dj * (1 + rho)
    moves = [{"R": R} for R in (0.001, 0.01, 0.5)]
    free, paired = ([change_factor(x["R"], kind) for x in moves] for kind in (False, True))
    # two groups of neurons: the mean of their values +-1 and its variance, which is how fast that mean moves
    scores = torch.tensor([[0.0, 0.0], [1.5, 0.3], [0.2, -0.8]], dtype=torch.float64)
    weights = attention_weights(scores, "softmax")
    mean, variance = weights @ torch.tensor([1.0, -1.0], dtype=torch.float64), 4 * weights.prod(1)
    mean, variance = mean.abs().tolist(), variance.tolist()
    means = [(i, j) for i in range(3) for j in range(3)]
    net = SoftmaxNetwork.paired(2, 4, 3, outputs=1)
    x = torch.tensor([[0.6, 0.8], [1.0, 0.0]], dtype=torch.float64)
    moved = net.moved(torch.cos(torch.arange(8.0, dtype=torch.float64)).reshape(2, 4), 0.3)
    S, after, slopes = net.weights(x), moved.weights(x), moved.slopes(x)[0] / math.sqrt(net.m)
    start, product = net.a[0] ** 2, S[0] * S[1]
    summands = slopes[0] * slopes[1] / product - start
    terms = [
        {"c_i": a, "c_j": a, "delta_i": m0, "delta_j": m1, "rho": r}
        for a, m0, m1, r in zip(
            net.a[0].tolist(),
            (after @ net.a.T)[[0] * 4, 0].tolist(),
            (after @ net.a.T)[[1] * 4, 0].tolist(),
            (after[0] * after[1] / product - 1).tolist(),
        )
    ]
    sizes = [{"n": n, "d": d, "lambda": lam, "B": theorem_4_2(n, d, lam).B} for n, d, lam in SIZES]
    return {
        "speed": nonnegative(
            r"$(1 - p^2)(1 + q) + (1 + p)(1 - q^2) + 4 (1 + p)(1 + q) \le 16$",
            lambda p, q: ((1 - p**2) * (1 + q) + (1 + p) * (1 - q**2) + 4 * (1 + p) * (1 + q), 16),
            p=(0, 1),
            q=(0, 1),
        ).tied(
            [{"p": mean[i], "q": mean[j]} for i, j in means],
            [variance[i] * (1 + mean[j]) + (1 + mean[i]) * variance[j] + 4 * (1 + mean[i]) * (1 + mean[j]) for i, j in means],
            [16 * 0.25 * change_factor(0.3, False) / math.expm1(1.2)] * len(means),
        ),
        "free": same(
            "the integral of $16 R e^{4Rt}$ is $4 (e^{4R} - 1)$",
            sympy.integrate(16 * R * sympy.exp(4 * R * t), (t, 0, 1)),
            4 * (growth - 1),
        ).tied(moves, free, free),
        "terms": same("change of a summand", (ci - di) * (cj - dj) * (1 + rho) - ci * cj, left - di * cj - dj * ci).tied(
            terms, summands, summands
        ),
        "paired": same(
            "the terms at their largest are $(1 + 2R)(e^{4R} - 1) + R^2 e^{4R}$",
            left.subs({ci: -1, cj: -1, di: R, dj: R, rho: growth - 1}),  # where all terms are positive
            (1 + 2 * R) * (growth - 1) + R**2 * growth,
        ).tied(moves, paired, paired),
        "linear": positive("$(e^{-z} - 1 + z)/z^2 > 0$", lambda z: exprel2(-z), where={"z": "4*R"}, z=(0, 4)).tied(
            moves,
            right=[
                (16 * x["R"] * math.exp(4 * x["R"]) - f) / (64 * x["R"] ** 2 * math.exp(4 * x["R"]))
                for x, f in zip(moves, free)
            ],
        ),
        "B": _log(r"$16 e^{4R + 2B} \le e^{10B}$", 2.77, 2.773, 16, lambda B, R, h: h + 4 * R, lambda B, R, h: 8 * B).tied(
            DRAWN,
            [math.log(16 * math.exp(4 * x["R"])) for x in DRAWN],
            [math.log(lemma_5_1(x["R"], x["B"]) / x["R"]) - 2 * x["B"] for x in DRAWN],
        ),
        "half": same(r"$R nd e^{10B} = \lambda/2$", R0 * n * d * sympy.exp(10 * B), lam / 2).tied(
            sizes, [10 ** theorem_4_2(n, d, lam).R * n * d * math.exp(10 * x["B"]) for x, (n, d, lam) in zip(sizes, SIZES)]
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
def descent(paper: Any) -> dict[str, Proof]:
    """Constants of the gradient descent, for B >= 1, scores at the start in [-B, B], weights within R of a paired start.

    ``d.1``: |Delta w_r| <= m sum |f| 2 S <= 2 e^(2B + 2R) sqrt(nd) |f| <= e^(3B) sqrt(nd) |f| for R <= 0.01. ``d.2``: a
    diagonal entry at a paired start is m sum S^2 <= e^(2B), so lambda <= e^(2B); |F| <= m in each entry, so |f| <= (m + 1)
    sqrt(nd) <= 2m sqrt(nd), and eta |Delta w_r| <= 0.1 lambda e^(3B) nd 2m/(m n^2 d^2 e^(16B)) <= 0.2 e^(-11B). ``one-step``:
    the second derivative of |f|^2 along a step, integrated (own-one-step). ``e.2``: the changes of scores are at most
    zeta <= eta e^(3B) sqrt(nd) |f| (D.1) and zeta <= 0.01 (D.2), so p <= 1.02 zeta, h <= 1.02 m sqrt(nd) zeta, and |f| <= 2m
    sqrt(nd): h^2 + 2 p h (|f| + h/3) is at most 1.02^2 (1 + 4 + 0.01) < 5.4 times m^2 eta^2 n^2 d^2 e^(6B) |f|^2, which is 0.54
    e^(-10B) m eta lambda |f|^2, against m eta lambda |f|^2 from the first order (f'Hf >= lambda |f|^2/2). ``e.3``: |C_0| <= 2 m
    sqrt(nd) |f| (R + zeta) (e^zeta - 1), e^zeta - 1 <= 1.01 zeta for zeta <= 0.01, and |f| <= sqrt(nd) gives zeta <= 0.2 R
    e^(-3B) <= 0.01 R: together 1.01 x 1.01 < 1.03 times m eta lambda e^(-7B) |f|^2. ``e.4``: the first order of C_0 is at most
    2 m sqrt(nd) |f| R zeta = m eta lambda e^(-7B) |f|^2 <= 2 e^(-7B) m eta f'Hf, and C_1 is -2 m eta f'Hf less that.
    ``c.2``: the steps add up to D, as sqrt(1 - q/2) <= 1 - q/4 (Fact A.5), q = m eta lambda.
    ``e.1``: the square of a sum (r the residual, v0 to v2 the three parts of F(tau + 1) - F(tau)). ``e.2-rate``: at eta = 0.1
    lambda/(m n^2 d^2 e^(16B)) the two sides of the rate are equal. ``e.2-width``: at m = n^2 d^2 e^(18B) L^2/lambda^2, L =
    log(nd/delta) > log 10 > 1, and |F(0) - Y| = sqrt(nd), D/R is 8 e^(-5B)/L^2, below 1; a larger m makes D smaller. ``e.6``:
    |v2| <= m 0.505 z^2 in each entry (Fact A.8), |z| <= eta e^(3B) sqrt(nd) |f|, and |f|_1 <= sqrt(nd) |f| <= nd, so C_2 <=
    1.01 m eta^2 n^2 d^2 e^(6B) |f|^2. ``e.7``: |F' - F| in one entry is at most m eta |Delta w| <= m eta e^(3B) sqrt(nd) |f| by
    :func:`covariance`, so C_3 <= eta^2 m^2 n^2 d^2 e^(6B) |f|^2. ``g.1``: a sum of squares; the factor 4 is the corrected one.
    ``f.2-features``: the printed map is zero, as the covariances with S add up to 0. ``width``: lambda is at most the kernel of
    an input with itself, m sum S_r^2, which is at most cosh(B)^2 if all scores lie in [-B, B] (the mean square of numbers
    between e^-B and e^B over the square of their mean); e^(18B)/cosh(B)^4 is least at B = 1. Tied where a tenth and a fortieth
    of the keys have the score B and the others -B.
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
    given = [(n, d, lam, paper.theorem_4_2(n, d, lam)) for n, d, lam in SIZES]
    sizes = [
        {"n": n, "d": d, "lambda": lam, "B": c.B, "R": 0.01, "m": 40.0, "f": 1.5, "eta": 0.01, "L": math.log(n * d / 0.1)}
        for n, d, lam, c in given
    ]
    rates = [10**c.m_eta for *_, c in given]
    paths = [paper.definition_a_2(40, lam, c.B, n * d, 1.5) for n, d, lam, c in given]
    thrice = [math.log(path * 40 * lam / (4 * math.sqrt(n * d) * 1.5)) for path, (n, d, lam, _) in zip(paths, given)]
    sixteen = [-math.log(rate * (n * d) ** 2 / (0.1 * lam)) for rate, (n, d, lam, _) in zip(rates, given)]
    shares = [10 ** (c.D + math.log10(math.sqrt(d)) - c.R) for _, d, _, c in given]
    seven = [math.log(lam / (2 * n * d)) - c.R * math.log(10) - x for (n, d, lam, c), x in zip(given, thrice)]
    eleven = [math.log(2 * 40 * paper.lemma_b_1(x["B"], x["R"], 40)[11]) - 2 * x["B"] for x in sizes]
    net, one = _network([1.0, -1.0, 0.5]), torch.tensor([[0.9]], dtype=torch.float64)
    label, step = torch.tensor([[0.2]], dtype=torch.float64), 0.05
    terms, residual = loss_terms(net, one, label, step), float(net(one) - label)
    slope = net.gradient(one, label)
    after = SoftmaxNetwork(net.W - step * slope, net.a)
    change = step * 0.9 * slope[0]  # of the three scores
    p_1 = math.exp(float(change.abs().max())) * float((net.weights(one)[0] * change**2).sum().sqrt())
    changed = {"p": p_1, "h": 3 * p_1, "f": abs(residual)}
    weights = [(net, x) for x in (0.9, -2.0)]
    gap = [math.cos(k) for k in range(4)]
    asked, logs = [paper.theorem_4_2(2, 1, 1.0, x / (10 * math.sqrt(math.log(20)))) for x in (1, *LEVELS)], math.log(10)
    more = [math.exp((c.m - asked[0].m) * logs - 4 * (c.B - 1)) * (1 + math.exp(-2)) ** 4 for c in asked[1:]]
    largest = [float(tangent_kernel(_two_levels(B), torch.ones(1, 1, dtype=torch.float64))) for B in LEVELS]
    return {
        "width": nonnegative(
            r"$(e^{18B}/\cosh^4 B)/(e^{18}/\cosh^4 1) \ge 1$",
            lambda y, c: ((1 + c / y) ** 4, y**7 * (1 + c) ** 4),
            where={"y": "exp(2*(B - 1))", "c": "exp(-2)"},
            y=(1, None),
            c=(0, 1),
        ).tied([{"B": B} for B in LEVELS], [(4 * x * math.exp(-2 * B)) ** 2 for x, B in zip(largest, LEVELS)], more),
        "d.1": _log(r"$2 e^{2R} \le e^B$", 0.693, 0.694, 2, lambda B, R, h: h + 2 * R, lambda B, R, h: B).tied(
            sizes, eleven, [x - 2 * size["B"] for x, size in zip(thrice, sizes)]
        ),
        "d.2": _log(r"$0.2 e^{-11B} \le 0.01$", 2.995, 2.996, 20, lambda B, R, h: h, lambda B, R, h: 11 * B).tied(
            sizes, [math.log(0.1 * 2 / 0.01)] * 2, [x - y - 2 * size["B"] for x, y, size in zip(sixteen, thrice, sizes)]
        ),
        "one-step": same(
            "the integral of $(1 - s) (2 h^2 + 4 p h (f + s h))$ over s in [0, 1]",
            sympy.integrate((1 - s) * (2 * h**2 + 4 * p * h * (f + s * h)), (s, 0, 1)),
            h**2 + 2 * p * h * (f + h / 3),
        ).tied([changed], right=[step_bound(net, one, label, step) - residual**2 + 2 * step * float(slope.square().sum())]),
        "e.2": nonnegative(
            r"$0.54 e^{-10B} \le 1/2$", lambda B, h: (h, 10 * B), where={"h": "log(1.08)"}, B=(1, None), h=(0, 1)
        ).tied(sizes, [math.log(0.1 * 5.4 / 0.5)] * 2, [x - 2 * y for x, y in zip(sixteen, thrice)]),
        "e.3": nonnegative(
            r"$1.03 e^{-7B} \le 0.1$", lambda B, h: (h, 7 * B), where={"h": "log(10.3)"}, B=(1, None), h=(0, 3)
        ).tied(sizes, [math.log(1.03 / 0.1)] * 2, seven),
        "e.4": nonnegative(r"$2 e^{-7B} \le 0.4$", lambda B, h: (h, 7 * B), where={"h": "log(5)"}, B=(1, None), h=(0, 3)).tied(
            sizes, [math.log(2 / (2 - 1.6))] * 2, seven
        ),
        "c.2": same(
            r"$\eta e^{3B} \sqrt{nd} |f(0)| / (1 - (1 - m \eta \lambda/4)) = D$",
            eta * length / (1 - (1 - m * eta * lam / 4)),
            4 / (m * lam) * length,
        ).tied(sizes, paths, paths),
        "e.1": same(
            "$|r + v0 + v1 + v2|^2 = |r|^2 + C0 + C1 + C2 + C3$",
            (r + v0 + v1 + v2) ** 2,
            r**2 + 2 * r * v0 + 2 * r * v1 + 2 * r * v2 + (v0 + v1 + v2) ** 2,
            sizes="one entry; the others add up",
        ).tied(
            [{"r": residual} | {f"v{k}": C / (2 * residual) for k, C in enumerate(terms[:3])}],
            [(after(one) - label) ** 2],
            [residual**2 + paper.lemma_e_1(net.W, net.a, one, label, step).sum()],
        ),
        "e.2-rate": same(
            r"$0.7 m \eta \lambda - 2 \eta^2 m^2 n^2 d^2 e^{16B} = 0.5 m \eta \lambda$",
            sympy.Rational(7, 10) * m * printed * lam - 2 * printed**2 * m**2 * n**2 * d**2 * sympy.exp(16 * B),
            m * printed * lam / 2,
        ).tied(
            sizes,
            [-paper.equation_11(rate, x["lambda"], x["B"], x["n"] * x["d"])[0] for rate, x in zip(rates, sizes)],
            [-paper.equation_11(rate, x["lambda"], x["B"], x["n"] * x["d"])[1] for rate, x in zip(rates, sizes)],
        ),
        "e.2-width": same(
            "$D/R = 8 e^{-5B}/L^2$",
            4 / (width * lam) * sympy.exp(3 * B) * n * d / (lam / (2 * n * d * sympy.exp(10 * B))),
            8 * sympy.exp(-5 * B) / L**2,
        ).tied(sizes, shares, shares),
        "e.2-width-below": _log(r"$8 e^{-5B} \le 1$", 2.079, 2.08, 8, lambda B, R, h: h, lambda B, R, h: 5 * B).tied(
            sizes, [math.log(s * x["L"] ** 2) + 5 * x["B"] for s, x in zip(shares, sizes)], [5 * x["B"] for x in sizes]
        ),
        "e.6": nonnegative(
            r"$1.01 e^{6B} \le 2 e^{9B}$", lambda B, h: (h, 3 * B), where={"h": "log(1.01/2)"}, B=(1, None), h=(-1, 0)
        ).tied(sizes, [math.log(paper.fact_a_8(1, 0.505) - paper.fact_a_8(1, 0))] * 2, thrice),
        "e.7": nonnegative(r"$e^{6B} \le e^{16B}$", lambda B: (6 * B, 16 * B), B=(1, None)).tied(
            sizes, [2 * x for x in thrice], sixteen
        ),
        "g.1": same(
            r"$4(z_1^2 + \dots + z_4^2) - (z_1 + \dots + z_4)^2$ = a sum of squares",
            4 * sum(x**2 for x in z) - sum(z) ** 2,
            gaps,
        ).tied([_letters(z=gap)], [4 * paper.claim_g_1([x**2 for x in gap]) - sum(gap) ** 2]),
        "f.2-features": same(
            r"$\sum_r a_r S_r = \sum_r \langle a, S\rangle S_r$",
            sum(x * s for x, s in zip(a, S)),
            sum(mean * s for s in S),
            sizes="m = 3; all neurons alike",
        ).tied(
            [_letters(a=net.a[0], e=torch.exp(x * net.W[0])) for net, x in weights],
            [net(torch.tensor([[x]], dtype=torch.float64)) / 3 for net, x in weights],
        ),
    }


@functools.cache
def coupling() -> dict[str, Proof]:
    """The bound |Y| (eps_test + sqrt(k/lambda) eps_H)/(lambda - eps_H) of own-coupling: what its proof sums, and sharpness.

    ``steps``: with g = m eta H* in an eigenvector (0 <= g <= 1) and e <- (1 - g) e - c_s from e = 0, e + sum c_s = sum (1 -
    (1 - g)^later) c_s, later the number of steps that follow: the weights lie in [0, 1], and each is what kernel regression has
    learned of the label 1 after so many steps. Five steps stand for all.
    ``attained``: one point, H = lambda - eps_H and K = K* + eps_test from the first step on, K*^2 = k lambda; the sums of f and
    g over all steps are Y/(lambda - eps_H) and Y/lambda.
    """
    import sympy

    K, lam, h, eps, g = sympy.symbols("K lambda eps_H eps_test g", positive=True)
    c, e = sympy.symbols("c1:6"), sympy.Integer(0)
    for step in c:
        e = (1 - g) * e - step
    weights = [1 - (1 - g) ** (len(c) - 1 - s) for s in range(len(c))]
    steps, slow, learned, one = [0.3, -1.0, 0.2, 0.7, 0.1], [], [], torch.ones(1, 1, dtype=torch.float64)
    for rate in (0.1, 0.9):
        error = 0.0
        for step in steps:
            error = (1 - rate) * error - step
        slow.append(error + sum(steps))
        gammas = ntk_regression(one, one, len(steps) - 1, rate, 1, at=range(len(steps)))[1]
        learned.append(sum(step * float(gamma.sum()) for step, gamma in zip(reversed(steps), gammas)))
    points = [(k, l, h, t) for k, l, h, t in ((2.0, 1.5, 0.5, 0.3), (0.5, 0.2, 0.1, 0.02))]
    bounds = [
        coupling_bound(1.0, l, torch.tensor(t, dtype=torch.float64), h, torch.tensor(k, dtype=torch.float64))
        for k, l, h, t in points
    ]

    def predicted(K: float, H: float) -> float:
        """What gradient descent predicts at the test input, from 0, for the label 1 at the one training point."""
        prediction, error = 0.0, -1.0
        for _ in range(1000):
            prediction, error = prediction - 0.5 * K * error, error - 0.5 * H * error
        return prediction

    return {
        "steps": same(r"$e + \sum c_s$", e + sum(c), sum(w * step for w, step in zip(weights, c)), sizes="five steps").tied(
            [_letters(c=steps) | {"g": rate} for rate in (0.1, 0.9)], slow, learned
        ),
        "attained": same(
            r"$(K^* + \epsilon_{\mathrm{test}})/(\lambda - \epsilon_H) - K^*/\lambda$",
            (K + eps) / (lam - h) - K / lam,
            (eps + K / lam * h) / (lam - h),
            nonzero=[lam - h],
        ).tied(
            [{"K": math.sqrt(k * l), "lambda": l, "eps_H": h, "eps_test": t} for k, l, h, t in points],
            [predicted(math.sqrt(k * l) + t, l - h) - predicted(math.sqrt(k * l), l) for k, l, h, t in points],
            bounds,
        ),
    }


@functools.cache
def network(equation_2: Any) -> dict[str, Proof]:
    """Identities of the network and its kernel, with symbols at m = 3 neurons: in a sum over neurons all terms are alike.

    ``equation-2``: dF/ds_r = m S_r (a_r - <a, S>), s the scores; times x it is the derivative with respect to w_r (equation
    2, Claim 3.4). ``a.4``: the weights add up to 1. ``shift``: adding c to every score changes neither S nor F (own-shift; H
    is a function of S and x). ``jacobian``: m H = J J^T, entry by entry (own-jacobian). ``psd``: hence f H f >= 0 (Definition
    3.6), and m f H f = |Delta W|^2 for the gradient Delta W = J^T f, so that a step of descent changes |f|^2 by -2 eta |Delta
    W|^2 = -2 m eta f H f to first order in eta: all of C_0 + C_1 (own-cancellation). ``zero``: F = 0 at paired weights
    (Definition 3.7). ``even``: along a direction with g_2r = -g_(2r-1) the kernel is even (own-zero-derivative), at two pairs
    and two inputs.
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
        """An entry of the kernel, up to x.x' m, from the exponentials of the scores of two inputs."""
        S, T = ([value / sum(e) for value in e] for e in (first, second))
        return sum(p * q for p, q in zip(slope(readout, S), slope(readout, T)))

    # two pairs of neurons, two inputs: the exponentials of the scores of a pair that has moved by +t g and -t g
    u, v, U, V = (sympy.symbols(f"{name}1:3", positive=True) for name in ("u", "v", "U", "V"))
    pairs = [a[0], -a[0], a[1], -a[1]]
    forth, back = [[p[0], q[0], p[1], q[1]] for p, q in ((u, v), (v, u))]
    Forth, Back = [[p[0], q[0], p[1], q[1]] for p, q in ((U, V), (V, U))]
    f = sympy.symbols("f1:3")
    S, T = sympy.symbols(f"S1:{m + 1}"), sympy.symbols(f"T1:{m + 1}")
    F = sum(z * w for z, w in zip(a, weights(s)))
    J = [M * z * x for z in slope(a, S)], [M * z * y for z in slope(b, T)]
    H = x * y / M * sum(p * M * q * M for p, q in zip(slope(a, S), slope(b, T)))
    three = "m = 3; all neurons alike"
    # on the line, with inputs x and y: two outputs with values a and b
    first, second = [1.0, -1.0, 0.5], [-0.3, 1.0, 1.0]
    nets = [_network(first, second, seed=seed) for seed in (0, 2)]
    inputs = torch.tensor([[0.9], [0.4]], dtype=torch.float64)
    at = [
        _letters(a=first, b=second, s=net.W[0] * 0.9, S=net.weights(inputs)[0], T=net.weights(inputs)[1], f=[0.3, -2.0])
        | {"x": 0.9, "y": 0.4, "m": 3.0, "c": 1.7}
        for net in nets
    ]
    ntk = [tangent_kernel(net, inputs)[[0, 3]][:, [0, 3]] for net in nets]  # (output 1, x) and (output 2, y)
    residual = torch.tensor([0.3, -2.0], dtype=torch.float64)
    rows = [equation_2(net.W, net.a, inputs[0])[0, 0] / (3 * 0.9) for net in nets]
    gradients = [[equation_2(net.W, net.a, inputs[k])[k] for k in range(2)] for net in nets]  # rows (1, x) and (2, y) of J
    moved = [SoftmaxNetwork(net.W + 1.7 / 0.9, net.a).weights(inputs)[0] for net in nets]
    # two pairs of neurons in the plane
    keys = torch.sin(torch.arange(8, dtype=torch.float64)).reshape(2, 4)
    plane = torch.tensor([[0.6, 0.8], [1.0, 0.0]], dtype=torch.float64)
    couple = SoftmaxNetwork(keys, torch.tensor([[1.0, -1.0, 0.5, -0.5]], dtype=torch.float64))
    swapped = SoftmaxNetwork(keys[:, [1, 0, 3, 2]], couple.a)
    e1, e2 = torch.exp(plane @ keys)
    even = [_letters(a=[1.0, 0.5, 0.0], u=e1[[0, 2]], v=e1[[1, 3]], U=e2[[0, 2]], V=e2[[1, 3]])]
    kernels = [[tangent_kernel(one, plane)[0, 1] / (4 * 0.6)] for one in (couple, swapped)]
    paired = SoftmaxNetwork(keys[:, [0, 0, 1, 1]], couple.a)
    equal = torch.exp(plane @ paired.W)
    pair = [_letters(a=[1.0, 0.5, 0.0], u=row[[0, 2]]) for row in equal]
    return {
        "equation-2": same(
            r"$dF/ds_r = m S_r (a_r - \langle a, S\rangle)$",
            sympy.Matrix([sympy.diff(F, z) for z in s]),
            sympy.Matrix(slope(a, weights(s))),
            sizes=three,
        ).tied(at, rows, rows),
        "a.4": same("<1, S> = 1", sum(weights(s)), sympy.Integer(1), sizes=three).tied(
            at, [net.weights(inputs)[0].sum() for net in nets]
        ),
        "shift": same("S(s + c) = S(s)", sympy.Matrix(weights([z + c for z in s])), sympy.Matrix(weights(s)), sizes=three).tied(
            at, moved, [net.weights(inputs)[0] for net in nets]
        ),
        "jacobian": same("$(J J^T)_{ij} = m H_{ij}$", sum(p * q for p, q in zip(*J)), M * H, sizes=three).tied(
            at, [(p * q).sum() for p, q in gradients], [3 * K[0, 1] for K in ntk]
        ),
        "psd": same(
            "$m f H f = |J^T f|^2$",
            sum(f[i] * f[j] * sum(p * q for p, q in zip(J[i], J[j])) for i in range(2) for j in range(2)),
            sum((f[0] * p + f[1] * q) ** 2 for p, q in zip(*J)),
            sizes=three,
        ).tied(
            at,
            [3 * residual @ K @ residual for K in ntk],
            [(residual[0] * p + residual[1] * q).square().sum() for p, q in gradients],
        ),
        "zero": same(
            "1 + F = 1", 1 + sum(z * e for z, e in zip(pairs, (u[0], u[0], u[1], u[1]))), sympy.Integer(1), sizes="m = 4"
        ).tied(pair, 1 + paired(plane)),
        "even": same("H(W + t G) = H(W - t G)", entry(forth, Forth, pairs), entry(back, Back, pairs), sizes="m = 4").tied(
            even, *kernels
        ),
    }


@functools.cache
def limits() -> dict[str, Proof]:
    """Means over w, Gaussian, as w (x_i + x_j) is, of variance sigma^2 |x_i + x_j|^2.

    ``limit``: exp(w x - sigma^2 |x|^2/2) at two inputs has mean exp(sigma^2 x_i x_j) (own-limit). ``exp-kernel``: without the
    denominators the mean is e^(sigma^2) times as much for |x_i| = |x_j| = 1 (own-exp-kernel).
    """
    import sympy

    x, y, k, sigma = sympy.symbols("x y k sigma", positive=True)
    mean = sigma**2 * (x**2 + 2 * k + y**2) / 2  # the exponent, with k = x_i . x_j
    plane = torch.tensor([[0.6, 0.8], [1.0, 0.0]], dtype=torch.float64)
    close = torch.tensor([[0.6, 0.8], [0.5, 0.0]], dtype=torch.float64)
    points = [{"x": 1.0, "y": length, "k": 0.6 * length, "sigma": sigma} for length in (0.5, 1.0) for sigma in (0.7, 1.2)]
    closed = [torch.log(limit_kernel(p, sigma=s)[0, 1] / (p[0] @ p[1])) for p in (close, plane) for s in (0.7, 1.2)]
    sphere = [torch.log(limit_kernel(plane, sigma=s, kind="exp")[0, 1] / 0.6) for s in (0.7, 1.2)]
    return {
        "limit": same("mean of the exponents", mean - sigma**2 * (x**2 + y**2) / 2, sigma**2 * k).tied(points, closed, closed),
        "exp-kernel": same("on the sphere", mean.subs({x: 1, y: 1}), sigma**2 + sigma**2 * k).tied(points[2:], sphere, sphere),
    }


def everything(paper: Any) -> dict[str, Proof]:
    """Every proof of this module, under ``family/part``; ``paper`` is the module of printed formulas."""
    families = {
        "series": series(paper),
        "perturbation": perturbation(paper.lemma_b_1),
        "covariance": covariance(),
        "kernel": kernel(paper.lemma_5_1, paper.theorem_4_2),
        "descent": descent(paper),
        "coupling": coupling(),
        "network": network(paper.equation_2),
        "limits": limits(),
    }
    return {f"{family}/{part}": proof for family, parts in families.items() for part, proof in parts.items()}
