"""Claims of bombari2024 for all sizes, by :mod:`..evidence.prove`: Gaussian tails, identities of updates and of re-training.

A function gives one :class:`Proof` for each part, tied to weights, features and solutions of the library, and to the printed
formulas, which come as arguments.
"""

import functools
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import torch

from attention_theory.attention import attention_weights
from attention_theory.evidence.prove import Proof, nonnegative, positive, same
from attention_theory.sensitivity.infinite_width import arc_cosine
from attention_theory.sensitivity.new_label import feature_alignment


def _constant(text: str) -> Any:
    import flint

    return flint.arb(str(Decimal(text)))


def _tail(x: Any) -> Any:
    """P(g > x) of a standard Gaussian, times e^(x^2/2); falls with x, so that the ends of a ball enclose it."""
    import flint

    def at(end: Any) -> Any:
        return (end / flint.arb(2).sqrt()).erfc() * (end * end / 2).exp() / 2

    x = flint.arb(x)
    return at(x.lower()).union(at(x.upper()))


@functools.cache
def maximum(c: str = "0.397") -> dict[str, Proof]:
    """Appendix A, corrected: the maximum of n >= 2 standard Gaussians exceeds log n with probability at most exp(-c log^2 n).

    By the union bound n P(g > log n), with x = log n. ``near``: in ball arithmetic, for all real n. ``far``: Mills' bound
    P(g > x) < exp(-x^2/2)/(x sqrt(2 pi)) leaves (1/2 - c) x^2 - x + log(x sqrt(2 pi)) > 0. c = .397 is sharp to three digits:
    at n = 40 the union bound has the constant .39702, the probability itself .39719 (least .39717, at n = 42).
    """
    from scipy.stats import norm

    def near(x: Any) -> tuple[Any, Any]:
        # both sides over exp(x - x^2/2), with n = e^x
        return _tail(x), ((_constant("0.5") - _constant(c)) * x * x - x).exp()

    sizes, large = [2, 40, 10**5], [10**6, 10**12]
    unit = [math.exp(math.log(n) - math.log(n) ** 2 / 2) for n in sizes]
    logs = [math.log(n) for n in large]
    return {
        "near": positive(rf"$n P(g > \log n) < \exp(-{c} \log^2 n)$", near, where={"x": "log(n)"}, x=(0.69, 12)).tied(
            [{"n": n} for n in sizes],
            [n * norm.sf(math.log(n)) / u for n, u in zip(sizes, unit)],
            [math.exp(-float(c) * math.log(n) ** 2) / u for n, u in zip(sizes, unit)],
        ),
        "far": nonnegative(
            r"$\log n \le (1/2 - c) \log^2 n$, by Mills' bound",
            lambda x: (x, (Fraction(1, 2) - Fraction(c)) * x**2),
            where={"x": "log(n)"},
            x=(12, None),
        ).tied(
            [{"n": n} for n in large], logs, [-math.log(norm.pdf(x) * math.sqrt(2 * math.pi)) - float(c) * x**2 for x in logs]
        ),
    }


@functools.cache
def small_balls() -> dict[str, Proof]:
    """P(rho_r^2 <= 3) >= .75 for every r (D.15), P(g^2 <= .03) < .14, Var(rho_r^2) = 2/r, in the proof of Lemma D.1.

    rho_r^2 is the mean of r squares of standard Gaussians; g^2 has the variance E g^4 - 1 = 2 (``variance``: the moments are
    derivatives of the generating function), so the mean has 2/r. Chebyshev: P(|rho^2 - 1| > 2) <= (2/r)/4 <= 1/4 for r >= 2
    (``chebyshev``); at r = 1 the probability is erf(sqrt(3/2)) = .917 (``one``). ``density``: erf(sqrt(.015)) = .1375.

    Lemma D.1, and D.2: ``density`` bounds P(rho_r^2 eps_1^2 <= .03) >= P(eps_1^2 <= .01) P(rho_r^2 <= 3), so that a draw misses
    a token with probability below .14/.75 < .19, and some draw misses at most that share of the tokens.
    """
    import sympy

    s = sympy.symbols("s")
    moments: Any = [sympy.diff(sympy.exp(s**2 / 2), s, k).subs(s, 0) for k in (2, 4)]
    from scipy.stats import chi2

    ranks = [{"r": r} for r in (2, 3, 10)]
    below = lambda t: (t / 2).sqrt().erf()  # P(g^2 <= t)
    return {
        "variance": same("$E g^4 - (E g^2)^2 = 2$", moments[1] - moments[0] ** 2, sympy.Integer(2)).tied([{}], [chi2(1).var()]),
        "chebyshev": nonnegative(r"$(2/r)/2^2 \le 1 - 0.75$", lambda r: (2 / r / 4, Fraction(1, 4)), r=(2, None)).tied(
            ranks, [chi2(x["r"], scale=1 / x["r"]).var() / (3 - 1) ** 2 for x in ranks], [1 - 0.75] * 3
        ),
        "one": positive(
            r"$0.75 < \operatorname{erf}(\sqrt{3/2}), r = 1$", lambda t: (_constant("0.75"), below(t)), t=(3, 3)
        ).tied([{"t": 3}], [0.75], [chi2(1).cdf(3)]),
        "density": positive(
            r"$\operatorname{erf}(\sqrt{0.015}) < 0.14$", lambda t: (below(t), _constant("0.14")), t=(0.03, 0.03)
        ).tied([{"t": 0.03}], [chi2(1).cdf(0.03)], [0.14]),
    }


@functools.cache
def one_token(printed: Callable, after: Callable) -> dict[str, Proof]:
    """own-one-token-update, with symbols: moving token i changes phi_j to (1 - p_j) M_j + p_j x', for j != i.

    ``printed`` is (D.42), ``after`` the moved context of the paper.

    The scores of row j stay but for the one on token i, and so do all values but x_i. With e_k the exponentials of the scores
    that stay (two of them stand for n - 1: they enter through Z = sum e_k and Z M = sum e_k x_k only) and e' the moved one, the
    row is (Z M + e' x')/(Z + e'), p = e'/(Z + e') = sigmoid(log e' - log Z). ``scores``: (D.42) corrected, the moved matrix of
    scores, at n = 2, d = 2 (a bilinear form, entry by entry).
    """
    import sympy

    e = sympy.symbols("e1:4", positive=True)
    x = sympy.symbols("x1:4")
    Z = e[0] + e[1]
    M = (e[0] * x[0] + e[1] * x[1]) / Z
    p = e[2] / (Z + e[2])
    row = sum(w * v for w, v in zip(e, x)) / sum(e)
    n = d = 2
    X, W = sympy.Matrix(n, d, sympy.symbols("a1:5")), sympy.Matrix(d, d, sympy.symbols("w1:5"))
    delta, unit = sympy.Matrix(sympy.symbols("t1:3")), sympy.Matrix([1, 0])
    moved = X + unit * delta.T
    scores, values = (
        torch.tensor([[0.3, -1.0, 0.8], [2.0, 0.1, -0.5]], dtype=torch.float64),
        torch.tensor([1.0, -2.0, 0.4], dtype=torch.float64),
    )
    rows = attention_weights(scores, "softmax")
    at = [_letters(e=row.exp(), x=values) for row in scores]
    tokens, weights = (
        torch.tensor([[0.5, -1.0], [2.0, 0.3]], dtype=torch.float64),
        torch.tensor([[0.2, 1.0], [-0.7, 0.4]], dtype=torch.float64),
    )
    move = torch.tensor([0.6, -0.1], dtype=torch.float64)
    new = after(tokens, 0, move)
    # (D.42) has W X where W X^T is meant
    mended = printed(tokens, weights, 0, move) + torch.outer(torch.eye(2).double()[0], move @ weights @ (tokens.T - tokens))
    token = [_letters(a=tokens.flatten(), w=weights.flatten(), t=move)]
    return {
        "row": same("softmax row = (1 - p) M + p x'", row, (1 - p) * M + p * x[2], sizes="two tokens that stay").tied(
            at, list(rows @ values)
        ),
        "sigmoid": same("p = 1/(1 + Z/e')", p, 1 / (1 + Z / e[2]), sizes="two tokens that stay").tied(
            at, list(rows[:, 2]), list(torch.sigmoid(scores[:, 2] - scores[:, :2].logsumexp(1)))
        ),
        "scores": same(
            "moved scores",
            moved * W * moved.T,
            X * W * X.T + X * W * delta * unit.T + unit * delta.T * W * X.T + unit * delta.T * W * delta * unit.T,
            sizes="n = d = 2; entry by entry",
        ).tied(token, [new @ weights @ new.T], [mended]),
    }


@functools.cache
def retraining(equation_6_5: Callable, equation_6_6: Callable) -> dict[str, Proof]:
    """(B.22) and its identity, (6.13) (Lemma 4.1 of [12]), (6.5), (6.9), (6.10), with symbols.

    ``schur``: |P_perp phi|^2 = phi.phi - k^T K^-1 k is 1/[K_r^-1]_last, K_r = [[K, k], [k^T, phi.phi]], at N = 2 with
    symbols; for all N it is the last step of elimination in K_r. Hence (B.22): [K_r^-1]_last = e^T K_r^-1 e <= 1/lambda_min
    (``rayleigh``: a mean of numbers 1/lambda >= ... is at most the largest). ``retrained``: theta* + r P_perp phi/|P_perp
    phi|^2 fits the N old samples (P_perp phi is orthogonal to them) and the new one, and differs from theta* in the row
    space, so it is the solution nearest to theta_0: at N = 1, in inner products. ``fine-tuned``: (6.5) and (6.9): theta* + r
    phi/|phi|^2 answers y at phi, and phi'.phi/|phi|^2 r is the change at phi'. ``fine-gap``: alignment - 1 = (phi' -
    phi).phi/|phi|^2, so at most |phi' - phi|/|phi| by Cauchy-Schwarz, whose sum of squares is ``cauchy`` (6.10).
    ``again-gap``: the same with P_perp phi, so at most |phi' - phi|/|P_perp phi| <= S |phi|/sqrt(lambda_min) (6.15).
    """
    import sympy

    K = sympy.Matrix(2, 2, sympy.symbols("p q q r"))
    k, s = sympy.Matrix(sympy.symbols("k1:3")), sympy.symbols("s")
    whole = sympy.Matrix(sympy.BlockMatrix([[K, k], [k.T, sympy.Matrix([[s]])]]))
    # inner products: of the old sample o, of phi = f and of the moved phi' = g, among themselves and with theta*
    of, og, fg, to, tf, tg, y = sympy.symbols("of og fg to tf tg y", real=True)
    oo, ff = sympy.symbols("oo ff", positive=True)
    rest_o, rest_f, rest_g = of - of, ff - of**2 / oo, fg - of * og / oo  # of P_perp phi = phi - (of/oo) o
    r = (y - tf) / rest_f
    x: Any = sympy.Matrix(sympy.symbols("x1:4", real=True))
    z: Any = sympy.Matrix(sympy.symbols("z1:4", real=True))
    cross = sum((x[i] * z[j] - x[j] * z[i]) ** 2 for i in range(3) for j in range(i))
    # features: an old sample, the new one, the moved one; a second old one for the Schur complement
    old, new, shifted, other = torch.sin(torch.arange(16.0).double() ** 2).reshape(4, 4)
    start, label, known = torch.cos(torch.arange(4.0).double()), 1.5, torch.tensor([-0.4], dtype=torch.float64)
    theta = start + old * (known - old @ start) / (old @ old)
    fine, again = equation_6_5(theta, new, label), equation_6_6(old[None], known, new, label, start)
    alone = feature_alignment(old[None, :][:0], new, shifted[None])[0]
    aligned = feature_alignment(old[None], new, shifted[None])[0]
    products = {"oo": old @ old, "of": old @ new, "og": old @ shifted, "ff": new @ new, "fg": new @ shifted}
    products |= {"to": theta @ old, "tf": theta @ new, "tg": theta @ shifted}
    at = [{name: float(x) for name, x in products.items()} | {"y": label}]
    two = torch.stack([old, other])
    rest = new - torch.linalg.pinv(two) @ (two @ new)
    gram = torch.cat([two, new[None]]) @ torch.cat([two, new[None]]).T
    blocks = {"p": gram[0, 0], "q": gram[0, 1], "r": gram[1, 1], "k1": gram[0, 2], "k2": gram[1, 2], "s": gram[2, 2]}
    turn = torch.tensor([[0.8, 0.6], [-0.6, 0.8]], dtype=torch.float64)
    matrix = turn.T @ torch.diag(torch.tensor([1.5, 4.0], dtype=torch.float64)) @ turn
    pair = [_letters(x=old[:3], z=new[:3])]
    squares = (old[:3] @ old[:3]) * (new[:3] @ new[:3]) - (old[:3] @ new[:3]) ** 2
    one = "N = 1"
    return {
        "schur": same(
            r"$(\phi\cdot\phi - k K^{-1} k)\,[K_r^{-1}]_{\mathrm{last}} = 1$",
            (s - (k.T * K.inv() * k)[0]) * whole.inv()[2, 2],
            sympy.Integer(1),
            nonzero=[K.det(), whole.det(), K[0, 0]],
            sizes="N = 2; for every N the last step of elimination",
        ).tied([{name: float(x) for name, x in blocks.items()}], [rest @ rest * torch.linalg.inv(gram)[-1, -1]]),
        "rayleigh": nonnegative(
            r"w/x + (1 - w)/(x + e) <= 1/x, in units of $\lambda_{\min}$",
            lambda w, x, e: (w / x + (1 - w) / (x + e), 1 / x),
            w=(0, 1),
            x=(1, None),
            e=(0, None),
        ).tied([{"w": 0.64, "x": 1.5, "e": 2.5}], [torch.linalg.inv(matrix)[0, 0]], [1 / torch.linalg.eigvalsh(matrix).min()]),
        "retrained": same(
            r"$\theta_r$ fits old and new samples",
            sympy.Matrix([to + r * rest_o, tf + r * rest_f]),
            sympy.Matrix([to, y]),
            nonzero=[rest_f],
            sizes=one,
        ).tied(at, [torch.stack([again @ old, again @ new])]),
        "alignment": same(
            "change = alignment times residual", tg + r * rest_g - tg, rest_g / rest_f * (y - tf), nonzero=[rest_f], sizes=one
        ).tied(at, [(again - theta) @ shifted], [aligned * (label - theta @ new)]),
        "fine-tuned": same(
            "(6.5) and (6.9)",
            sympy.Matrix([tf + (y - tf) / ff * ff, tg + (y - tf) / ff * fg - tg]),
            sympy.Matrix([y, fg / ff * (y - tf)]),
        ).tied(at, [torch.stack([fine @ new, (fine - theta) @ shifted])]),
        "fine-gap": same(r"alignment $- 1 = (\phi' - \phi) \phi/|\phi|^2$", fg / ff - 1, (fg - ff) / ff).tied(at, [alone - 1]),
        "again-gap": same(
            r"alignment $- 1 = (\phi' - \phi) P_{\perp} \phi/|P_{\perp} \phi|^2$",
            rest_g / rest_f - 1,
            (rest_g - rest_f) / rest_f,
            nonzero=[rest_f],
            sizes=one,
        ).tied(at, [aligned - 1]),
        "cauchy": same(
            "$|u|^2 |v|^2 - (u v)^2$ is a sum of squares",
            x.dot(x) * z.dot(z) - x.dot(z) ** 2,
            cross,
            sizes="three entries; a sum over pairs of entries",
        ).tied(pair, [squares]),
    }


def _letters(**vectors: Any) -> dict[str, float]:
    """``S=[.1, .9]`` as S1 and S2."""
    return {f"{name}{i + 1}": float(x) for name, values in vectors.items() for i, x in enumerate(values)}


@functools.cache
def lengths(equation_4_3: Callable) -> dict[str, Proof]:
    """|phi_RAF(X)| <= sqrt(nd) ((D.60)) and the normalisation E ReLU(rho)^2 = 1 at beta = 2 ((4.3)).

    A row is a mean of tokens of length sqrt(d), and |w u + (1 - w) v|^2 = w |u|^2 + (1 - w)|v|^2 - w (1 - w)|u - v|^2
    (``mean``: two tokens, then by induction). By symmetry E ReLU(rho)^2 = E rho^2/2 = beta/2 (``relu``).
    """
    import sympy

    w, u, v, beta, t = sympy.symbols("w u v beta t", positive=True)
    half = sympy.integrate(t**2 * sympy.exp(-(t**2) / 2), (t, 0, sympy.oo)) / sympy.sqrt(2 * sympy.pi)
    weights = attention_weights(torch.tensor([[0.7, -0.2]], dtype=torch.float64), "softmax")[0]
    tokens = torch.tensor([1.3, 0.4], dtype=torch.float64)
    at, betas = [{"w": float(weights[0]), "u": 1.3, "v": 0.4}], [0.5, 2.0]
    return {
        "mean": same(
            "$|w u + (1 - w) v|^2 = w |u|^2 + (1 - w)|v|^2 - w (1 - w)|u - v|^2$",
            (w * u + (1 - w) * v) ** 2,
            w * u**2 + (1 - w) * v**2 - w * (1 - w) * (u - v) ** 2,
            sizes="two tokens, entry by entry; then by induction",
        ).tied(at, [(weights @ tokens) ** 2]),
        "relu": same(r"$E \operatorname{ReLU}(\rho)^2 = \beta/2$, rho ~ N(0, beta)", beta * half, beta / 2).tied(
            [{"beta": b} for b in betas], [equation_4_3(lambda x: max(x, 0.0), b) for b in betas]
        ),
    }


@functools.cache
def infinite_width() -> dict[str, Proof]:
    """Of all moves the one that doubles its token changes infinitely wide ReLU features most, at every depth.

    Lengths over |X|: the moved context is at distance q sin(a) from the line of X and at q cos(a) along it, 0 <= a <= pi/2.
    One layer maps the cosine c = cos(a) by kappa, kappa'(c) = 1 - a/pi (``slope``): increasing and convex, so all iterates
    kappa_L are, and kappa_L(1) = 1. (1) kappa_L >= c, as kappa - c = (sin a - a cos a)/pi (``above``), whose derivative in
    a is a sin(a)/pi (``rising``). (2) c kappa_L' <= kappa_L, from kappa - c kappa' = sin(a)/pi (``ray``) by induction over
    layers. (3) kappa_L' (1 - c) <= 1 - kappa_L by convexity, so c kappa_L + kappa_L' (1 - c^2) <= 1 (``chord``). S^2 is
    maximal where G = q (kappa_L - c) is minimal, at given length of the move: G grows with the distance from the line (by
    (2)) and falls with the part along it (by (3)), and the move along the token has the least of the one and the most of
    the other. There q >= 1 >= kappa_L >= c, so that lengthening it raises 1 + q^2 - 2 q kappa_L: the derivative is twice (q
    - kappa_L)(q - c) + kappa_L' (1 - c^2) >= 0.
    """
    import sympy

    a, k, c, slack = sympy.symbols("a kappa c slack", real=True)
    kappa = (sympy.sin(a) + (sympy.pi - a) * sympy.cos(a)) / sympy.pi
    slope = sympy.simplify(sympy.diff(kappa, a) / sympy.diff(sympy.cos(a), a))
    above = sympy.sin(a) - a * sympy.cos(a)
    angles = [0.2, 1.0, 1.5]
    at, cosines = [{"a": x} for x in angles], [math.cos(x) for x in angles]
    mapped, slopes = [float(arc_cosine(x)) for x in cosines], [_derivative(arc_cosine, x) for x in cosines]
    gaps = [m - x for m, x in zip(mapped, cosines)]
    growth = [(1 - slope) * math.sin(x) for slope, x in zip(slopes, angles)]  # of the gaps, in a
    rays = [m - x * slope for m, x, slope in zip(mapped, cosines, slopes)]
    chords = [1 - x * m - slope * (1 - x**2) for m, x, slope in zip(mapped, cosines, slopes)]
    bent = [{"c": x, "kappa": m, "slack": 1 - m - slope * (1 - x)} for m, x, slope in zip(mapped, cosines, slopes)]
    gap, turned = above / sympy.pi, a * sympy.sin(a) / sympy.pi
    return {
        "slope": same("kappa' = 1 - a/pi", slope, 1 - a / sympy.pi, nonzero=[sympy.sin(a)]).tied(at, slopes, slopes),
        "above": same("kappa - c = (sin a - a cos a)/pi", kappa - sympy.cos(a), gap).tied(at, gaps, gaps),
        "rising": same("its derivative is a sin(a)/pi", sympy.diff(gap, a), turned).tied(at, growth, growth),
        "ray": same("kappa - c kappa' = sin(a)/pi", kappa - sympy.cos(a) * slope, sympy.sin(a) / sympy.pi).tied(at, rays, rays),
        "chord": same(
            r"$1 - c \kappa - \kappa' (1 - c^2) = (\kappa - c) + \epsilon (1 + c)$, $\kappa' (1 - c) = 1 - \kappa - \epsilon$",
            1 - c * k - (1 - k - slack) / (1 - c) * (1 - c**2),
            (k - c) + slack * (1 + c),
            nonzero=[1 - c],
        ).tied(bent, chords, chords),
    }


def _derivative(f: Callable, x: float, h: float = 1e-4) -> float:
    """By four differences, up to h^4."""
    return float(8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h)


def everything(paper: Any) -> dict[str, Proof]:
    """Every proof of this module, under ``family/part``; ``paper`` is the module of printed formulas."""
    families = {
        "maximum": maximum(),
        "small_balls": small_balls(),
        "one_token": one_token(paper.equation_d_42, paper.moved),
        "retraining": retraining(paper.equation_6_5, paper.equation_6_6),
        "lengths": lengths(paper.equation_4_3),
        "infinite_width": infinite_width(),
    }
    return {f"{family}/{part}": proof for family, parts in families.items() for part, proof in parts.items()}
