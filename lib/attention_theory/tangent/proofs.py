"""Claims of cao2024 for all values of their parameters, by :mod:`..evidence.prove`: series, perturbation, kernel, steps.

A function gives one :class:`Proof` for each part. Inputs have norm at most 1, readouts |a| <= 1, and R < 0.01 bounds the
distance that a neuron moves, hence the change of a score; scores at the start lie in [-B, B], B >= 1.
"""

from typing import Any

from attention_theory.evidence.prove import Proof, exprel, exprel2, nonnegative, positive, same


def _hundredths(x: int) -> Any:
    import flint

    return flint.arb(x) / 100


def series() -> dict[str, Proof]:
    """Facts A.3 and A.5 to A.8.

    A.5: both sides are >= 0, so their squares decide. A.6: (e^x - 1)/x lies between 0 and 2. A.7: the N-th partial sum is
    (1 - x^N)/(1 - x). A.8: (e^x - 1 - x)/x^2 is within 1% of 1/2.
    """
    import sympy

    u, v = sympy.Matrix(sympy.symbols("u1:4")), sympy.Matrix(sympy.symbols("v1:4"))
    return {
        "a.3": same(
            "|u - v|^2 = |u|^2 - 2 u v + |v|^2",
            (u - v).dot(u - v),
            u.dot(u) - 2 * u.dot(v) + v.dot(v),
            "all u, v (a sum over entries)",
        ),
        "a.5": nonnegative("1 - x <= (1 - x/2)^2", lambda x: (1 - x / 2) ** 2 - (1 - x), x=(-0.1, 0.1)),
        "a.6": positive("|(e^x - 1)/x| < 2", lambda x: 4 - exprel(x) ** 2, x=(-0.1, 0.1)),
        "a.7": nonnegative(
            "(1 - p)/(1 - x) <= 1/(1 - x)",
            lambda x, p: 1 / (1 - x) - (1 - p) / (1 - x),
            x=(0, 0.1),
            p=(0, 1),
            shown="x in [0, 0.1], p = x^N",
        ),
        "a.8": positive(
            "|(e^x - 1 - x)/x^2 - 1/2| < 0.005",
            lambda x: _hundredths(1) ** 2 / 4 - (exprel2(x) - _hundredths(50)) ** 2,
            x=(-0.01, 0.01),
        ),
    }


def perturbation() -> dict[str, Proof]:
    """Lemma B.1, Parts 6 to 13: scores in [-B, B] that move by at most R. Deterministic; only Part 1 has a chance in it.

    6: <w_r - v_r, x_i + x_j> is some z with |z| <= 2R, and |e^z - 1| <= 2|z|. 7: |e^s - e^(s + h)| <= e^B (e^R - 1) for |h|
    <= R, and e^R - 1 <= R e^R, as e^(-R) >= 1 - R (``7``: the square term is positive). 8: a sum of m such terms. 9: |1/p -
    1/q| = |p - q|/(p q) with p >= m e^(-B), q >= m e^(-B-R): the exponents add up. 10, 11: e^(B+R)/(m e^(-B-R)). 12: the
    ratio of the two weights lies in [e^(-2R), e^(2R)], so |S - S'| <= (e^(2B)/m)(e^(2R) - 1) <= (R/m) 2 e^(2B+2R), and that
    is at most (R/m) e^(4B+3R) exactly if 2B + R >= log 2: for B >= 0.347 (the paper's own proof drops a term). 13: 2
    tanh(R/2) <= R, see :func:`covariance`.
    """
    import sympy

    B, R, m = sympy.symbols("B R m", positive=True)
    exp = sympy.exp
    return {
        "6": positive("2 R (e^z - 1)/z < 4 R", lambda z: 4 - exprel(z) ** 2, z=(-0.02, 0.02), shown="R <= 0.01"),
        "7": positive("e^(-R) >= 1 - R", lambda R: exprel2(-R), R=(0, 1)),
        "9": same(
            "m R e^(B+R)/(m e^(-B) m e^(-B-R)) = (R/m) e^(3B+2R)",
            m * R * exp(B + R) / (m * exp(-B) * m * exp(-B - R)),
            R / m * exp(3 * B + 2 * R),
            "all m, R, B",
        ),
        "11": same(
            "e^(B+R)/(m e^(-B-R)) = e^(2B+2R)/m", exp(B + R) / (m * exp(-B - R)), exp(2 * B + 2 * R) / m, "all m, R >= 0, B"
        ),
        "12": positive(
            "2 e^(2B+2R) < e^(4B+3R)",
            lambda x: x - _hundredths(200).log(),
            x=(0.694, 1000),
            shown="B >= 0.347 (the gap grows with B), R >= 0",
        ),
    }


def covariance() -> dict[str, Proof]:
    """|<z, S - S'>| <= 2 tanh(R/2) <= R for |z|_inf <= 1, if scores move by at most R (own-covariance; Lemma B.1 Part 13).

    A linear function of z is largest at z = +-1. Let p be the weight of {z = 1}: with q = e^R it becomes at most
    p q/(p q + (1 - p)/q). The change 2 (that - p) is 2 (q - 1)/(q + 1) minus a square (``square``), and 2 (q - 1)/(q + 1) =
    2 tanh(R/2). R - 2 tanh(R/2) is 0 at R = 0 and has the derivative tanh(R/2)^2 (``tanh``). Two neurons with p = 1/(1 + q)
    attain it (``attained``).
    """
    import sympy

    p, q, R = sympy.symbols("p q R", positive=True)
    after = p * q / (p * q + (1 - p) / q)
    rest = 2 * (q - 1) * (p * (q + 1) - 1) ** 2 / ((q + 1) * (p * q**2 + 1 - p))
    half = (sympy.exp(R) - 1) / (sympy.exp(R) + 1)  # tanh(R/2)
    return {
        "square": same(
            "2 (p' - p) = 2 (q - 1)/(q + 1) - a square",
            2 * (after - p),
            2 * (q - 1) / (q + 1) - rest,
            "0 <= p <= 1, q = e^R >= 1",
        ),
        "tanh": same("d/dR (R - 2 tanh(R/2)) = tanh(R/2)^2", sympy.diff(R - 2 * half, R), half**2, "all R"),
        "attained": same("p = 1/(1 + q)", rest.subs(p, 1 / (1 + q)), sympy.Integer(0), "all R, two neurons"),
    }


def kernel() -> dict[str, Proof]:
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
    return {
        "speed": nonnegative(
            "(1 - p^2)(1 + q) + (1 + p)(1 - q^2) + 4 (1 + p)(1 + q) <= 16",
            lambda p, q: 16 - (1 - p**2) * (1 + q) - (1 + p) * (1 - q**2) - 4 * (1 + p) * (1 + q),
            p=(0, 1),
            q=(0, 1),
        ),
        "free": same(
            "the integral of 16 R e^(4Rt) is 4 (e^(4R) - 1)",
            sympy.integrate(16 * R * sympy.exp(4 * R * t), (t, 0, 1)),
            4 * (growth - 1),
            "all R",
        ),
        "terms": same(
            "change of a summand",
            (ci - di) * (cj - dj) * (1 + rho) - ci * cj,
            left - di * cj - dj * ci,
            "all c, delta, rho",
        ),
        "paired": same(
            "(1 + 2R)(e^(4R) - 1) + R^2 e^(4R)",
            left.subs({ci: -1, cj: -1, di: R, dj: R, rho: growth - 1}),  # where all terms are positive
            (1 + 2 * R) * (growth - 1) + R**2 * growth,
            "all R",
        ),
        "linear": positive("e^z - 1 < z e^z", lambda z: exprel2(-z), z=(0, 4), shown="z = 4R in [0, 4]"),
        "B": positive(
            "16 e^(4R + 2B) < e^(10B)",
            lambda B, R: 8 * B - 4 * R - _hundredths(1600).log(),
            B=(1, 1000),
            R=(0, 0.01),
            shown="B >= 1 (the gap grows with B), R <= 0.01",
        ),
        "half": same("R nd e^(10B) = lambda/2", R0 * n * d * sympy.exp(10 * B), lam / 2, "all n, d, B, lambda"),
    }


def descent() -> dict[str, Proof]:
    """Constants of the gradient descent, for B >= 1; |f| <= sqrt(nd) where the induction says so.

    ``d.1``: |Delta w_r| <= m sum |f| 2 S <= 2 e^(2B + 2R) sqrt(nd) |f| <= e^(3B) sqrt(nd) |f| for R <= 0.01. ``d.2``: a
    diagonal entry at a paired start is m sum S^2 <= e^(2B), so lambda <= e^(2B) and eta |Delta w_r| <= 0.1 lambda e^(3B) nd/(m
    n^2 d^2 e^(16B)) <= 0.1 e^(-11B). ``c.2``: the steps add up to D, as sqrt(1 - q/2) <= 1 - q/4 (Fact A.5), q = m eta lambda.
    ``e.1``: the square of a sum (f the residual, v0 to v2 the three parts of F(tau + 1) - F(tau)). ``e.2-rate``: at eta = 0.1
    lambda/(m n^2 d^2 e^(16B)) the two sides of the rate are equal. ``e.2-width``: at m = n^2 d^2 e^(18B) L^2/lambda^2, L =
    log(nd/delta) > log 10 > 1, and |F(0) - Y| = sqrt(nd), D/R is 8 e^(-5B)/L^2, below 1; a larger m makes D smaller. ``e.6``:
    |v2| <= m 0.505 z^2 in each entry (Fact A.8), |z| <= eta e^(3B) sqrt(nd) |f|, and |f|_1 <= sqrt(nd) |f| <= nd, so C_2 <=
    1.01 m eta^2 n^2 d^2 e^(6B) |f|^2. ``e.7``: |F' - F| in one entry is at most m eta |Delta w| <= m eta e^(3B) sqrt(nd) |f| by
    :func:`covariance`, so C_3 <= eta^2 m^2 n^2 d^2 e^(6B) |f|^2. ``g.1``: a sum of squares; the factor 4 is the corrected one.
    ``f.2-features``: the printed map is zero, as the covariances with S add up to 0.
    """
    import sympy

    lam, n, d, B, m, f, v0, v1, v2, eta, L = sympy.symbols("lambda n d B m f v0 v1 v2 eta L", positive=True)
    width = n**2 * d**2 * sympy.exp(18 * B) * L**2 / lam**2
    printed = lam / (10 * m * n**2 * d**2 * sympy.exp(16 * B))
    z = sympy.symbols("z1:5")
    gaps = sum((z[i] - z[j]) ** 2 for i in range(4) for j in range(i))
    a, e = sympy.symbols("a1:4"), sympy.symbols("e1:4", positive=True)
    S = [x / sum(e) for x in e]
    mean = sum(x * s for x, s in zip(a, S))
    length = sympy.exp(3 * B) * sympy.sqrt(n * d) * f  # bound on a gradient, f at the start
    above = lambda what, gap: positive(what, gap, B=(1, 1000), shown="B >= 1 (the gap grows with B)")
    return {
        "d.1": positive(
            "2 e^(2R) < e^B",
            lambda B, R: B - 2 * R - _hundredths(200).log(),
            B=(1, 1000),
            R=(0, 0.01),
            shown="B >= 1 (the gap grows with B), R <= 0.01",
        ),
        "d.2": above("0.1 e^(-11B) < 0.01", lambda B: 11 * B - _hundredths(1000).log()),
        "c.2": same(
            "eta e^(3B) sqrt(nd) |f(0)| / (1 - (1 - m eta lambda/4)) = D",
            eta * length / (1 - (1 - m * eta * lam / 4)),
            4 / (m * lam) * length,
            "all m, eta, lambda, B, nd",
        ),
        "e.1": same(
            "|f + v0 + v1 + v2|^2 = |f|^2 + C0 + C1 + C2 + C3",
            (f + v0 + v1 + v2) ** 2,
            f**2 + 2 * f * v0 + 2 * f * v1 + 2 * f * v2 + (v0 + v1 + v2) ** 2,
            "all vectors, entry by entry",
        ),
        "e.2-rate": same(
            "1 - 0.7 m eta lambda + 2 eta^2 m^2 n^2 d^2 e^(16B) = 1 - 0.5 m eta lambda",
            1 - sympy.Rational(7, 10) * m * printed * lam + 2 * printed**2 * m**2 * n**2 * d**2 * sympy.exp(16 * B),
            1 - m * printed * lam / 2,
            "all n, d, m, B, lambda",
        ),
        "e.2-width": same(
            "D/R = 8 e^(-5B)/L^2",
            4 / (width * lam) * sympy.exp(3 * B) * n * d / (lam / (2 * n * d * sympy.exp(10 * B))),
            8 * sympy.exp(-5 * B) / L**2,
            "all n, d, B, lambda, L",
        ),
        "e.2-width-below": above("8 e^(-5B) < 1", lambda B: 5 * B - _hundredths(800).log()),
        "e.6": above("1.01 e^(6B) < 2 e^(9B)", lambda B: 3 * B - (_hundredths(101) / 2).log()),
        "e.7": above("e^(6B) < e^(16B)", lambda B: 10 * B),
        "g.1": same(
            "4 (z1^2 + ... + z4^2) - (z1 + ... + z4)^2 = a sum of squares",
            4 * sum(x**2 for x in z) - sum(z) ** 2,
            gaps,
            "all gaps",
        ),
        "f.2-features": same(
            "sum_r <v_r, S> S_r = 0",
            sum((x - mean) * s for x, s in zip(a, S)),
            sympy.Integer(0),
            "all a, W (three neurons stand for m)",
        ),
    }


def coupling() -> dict[str, Proof]:
    """The bound |Y| (eps_test + sqrt(k/lambda) eps_H)/(lambda - eps_H) of own-coupling: what its proof sums, and sharpness.

    ``steps``: with g = m eta H* in an eigenvector (0 <= g <= 1) and e <- (1 - g) e - c_s from e = 0, e + sum c_s = sum (1 -
    (1 - g)^later) c_s, later the number of steps that follow: the weights lie in [0, 1]. Five steps stand for all.
    ``attained``: one point, H = lambda - eps_H and K = K* + eps_test from the first step on, K*^2 = k lambda; the sums of f and
    g over all steps are Y/(lambda - eps_H) and Y/lambda.
    """
    import sympy

    K, lam, h, eps, g = sympy.symbols("K lambda eps_H eps_test g", positive=True)
    c, e = sympy.symbols("c1:6"), sympy.Integer(0)
    for step in c:
        e = (1 - g) * e - step
    weights = [1 - (1 - g) ** (len(c) - 1 - s) for s in range(len(c))]
    return {
        "steps": same("e + sum c_s", e + sum(c), sum(w * step for w, step in zip(weights, c)), "all g, c"),
        "attained": same(
            "(K* + eps_test)/(lambda - eps_H) - K*/lambda",
            (K + eps) / (lam - h) - K / lam,
            (eps + K / lam * h) / (lam - h),
            "all lambda > eps_H, eps_test, K* = sqrt(k lambda)",
        ),
    }


def network() -> dict[str, Proof]:
    """Identities of the network and its kernel, with symbols at m = 3 neurons: in a sum over neurons all terms are alike.

    ``equation-2``: dF/ds_r = m S_r (a_r - <a, S>), s the scores; times x it is the derivative with respect to w_r (equation
    2, Claim 3.4). ``a.4``: the weights add up to 1. ``shift``: adding c to every score changes neither S nor F (own-shift; H
    is a function of S and x). ``jacobian``: m H = J J^T, entry by entry (own-jacobian). ``psd``: hence f H f >= 0 (Definition
    3.6), and m f H f = |Delta W|^2 for the gradient Delta W = J^T f, so that a step of descent changes |f|^2 by -2 eta |Delta
    W|^2 = -2 m eta f H f to first order in eta: all of C_0 + C_1 (own-cancellation). ``zero``: F = 0 at paired weights
    (Definition 3.7). ``even``: along a direction with g_2r = -g_(2r-1) the kernel is even (own-zero-derivative), at two pairs
    and two inputs. ``limit``: exp(w x - sigma^2 |x|^2/2) at two inputs has mean exp(sigma^2 x_i x_j), as w (x_i + x_j) is
    Gaussian (own-limit). ``exp-kernel``: without the denominators the mean is exp(sigma^2 |x_i + x_j|^2/2), e^(sigma^2) times
    as much for |x_i| = |x_j| = 1 (own-exp-kernel).
    """
    import sympy

    m = 3
    a, b, s = (sympy.symbols(f"{name}1:{m + 1}", real=True) for name in "abs")
    c, x, y, k, M, sigma = sympy.symbols("c x y k m sigma", positive=True)

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
    mean = sigma**2 * (x**2 + 2 * k + y**2) / 2  # of w (x_i + x_j), with k = x_i . x_j
    return {
        "equation-2": same(
            "dF/ds_r = m S_r (a_r - <a, S>)",
            sympy.Matrix([sympy.diff(F, z) for z in s]),
            sympy.Matrix(slope(a, weights(s))),
            "all W, a, x, m",
        ),
        "a.4": same("<1, S> = 1", sum(weights(s)), sympy.Integer(1), "all W, x, m"),
        "shift": same("S(s + c) = S(s)", sympy.Matrix(weights([z + c for z in s])), sympy.Matrix(weights(s)), "all W, x, c, m"),
        "jacobian": same("(J J^T)_ij = m H_ij", sum(p * q for p, q in zip(*J)), M * H, "all W, a, x, m, n, d"),
        "psd": same(
            "m f H f = |J^T f|^2",
            sum(f[i] * f[j] * sum(p * q for p, q in zip(J[i], J[j])) for i in range(2) for j in range(2)),
            sum((f[0] * p + f[1] * q) ** 2 for p, q in zip(*J)),
            "all W, a, x, m, n, d",
        ),
        "zero": same(
            "F = 0", sum(z * e for z, e in zip(pairs, (u[0], u[0], u[1], u[1]))), sympy.Integer(0), "all W, x, paired"
        ),
        "even": same("H(W + t G) = H(W - t G)", entry(forth, Forth, pairs), entry(back, Back, pairs), "paired W, all t, n, d"),
        "limit": same("mean of the exponents", mean - sigma**2 * (x**2 + y**2) / 2, sigma**2 * k, "all x_i, x_j, sigma"),
        "exp-kernel": same("on the sphere", mean.subs({x: 1, y: 1}), sigma**2 + sigma**2 * k, "|x_i| = |x_j| = 1, all sigma"),
    }


def everything() -> dict[str, Proof]:
    """Every proof of this module, under ``family/part``."""
    families = (series, perturbation, covariance, kernel, descent, coupling, network)
    return {f"{family.__name__}/{part}": proof for family in families for part, proof in family().items()}
