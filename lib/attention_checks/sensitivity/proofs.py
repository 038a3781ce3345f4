"""Claims of bombari2024 for all sizes, by :mod:`theorybook.prove`: Gaussian tails, identities of
updates and of re-training.

A function gives one :class:`Proof` for each part, tied to weights, features and solutions of the
library, and to the printed formulas, which come as arguments.
"""

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import torch
from attention_theory.attention import attention_weights
from attention_theory.sensitivity.infinite_width import arc_cosine
from attention_theory.sensitivity.new_label import feature_alignment
from theorybook.prove import Proof, ball, letters, monotone, prove_identity, prove_le, prove_less


def _tail(x: Any) -> Any:
    """P(g > x) of a standard Gaussian, times e^(x^2/2); falls with x."""
    return monotone(lambda end: (end / ball(2).sqrt()).erfc() * (end * end / 2).exp() / 2, x)


def _tensor(*numbers: Any) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


@functools.cache
def maximum(c: str = "0.397") -> dict[str, Proof]:
    """Appendix A, corrected: the maximum of n >= 2 standard Gaussians exceeds log n with
    probability at most exp(-c log^2 n).

    By the union bound n P(g > log n), with x = log n. ``near``: in ball arithmetic, for all real n.
    ``far``: Mills' bound P(g > x) < exp(-x^2/2)/(x sqrt(2 pi)) leaves (1/2 - c) x^2 - x + log(x
    sqrt(2 pi)) > 0. c = 0.397 is sharp to three digits: at n = 40 the union bound has the constant
    0.39702, the probability itself 0.39719 (least 0.39717, at n = 42).
    """
    from scipy.stats import norm

    def near(x: Any) -> tuple[Any, Any]:
        # both sides over exp(x - x^2/2), with n = e^x
        return _tail(x), (ball(Fraction(1, 2) - Fraction(c)) * x * x - x).exp()

    def far(x: Any) -> tuple[Any, Any]:
        return x, (Fraction(1, 2) - Fraction(c)) * x**2

    unit = lambda n: math.exp(math.log(n) - math.log(n) ** 2 / 2)
    mills = lambda x: -math.log(norm.pdf(x) * math.sqrt(2 * math.pi)) - float(c) * x**2
    at, at_far, where = (
        [{"n": n} for n in (math.exp(0.69), 40, math.exp(12))],
        [{"n": n} for n in (10**6, 10**12)],
        {"x": "log(n)"},
    )
    union = prove_less(rf"$n P(g > \log n) < \exp(-{c} \log^2 n)$", near, where=where, x=(0.69, 12))
    tail = prove_le(
        r"$\log n \le (1/2 - c) \log^2 n$, by Mills' bound", far, where=where, x=(12, None)
    )
    return {
        "near": union.crosschecked(
            at,
            lambda n: n * norm.sf(math.log(n)) / unit(n),
            lambda n: math.exp(-float(c) * math.log(n) ** 2) / unit(n),
        ),
        "far": tail.crosschecked(at_far, lambda n: math.log(n), lambda n: mills(math.log(n))),
    }


@functools.cache
def small_balls() -> dict[str, Proof]:
    """P(rho_r^2 <= 3) >= 0.75 for every r (D.15), P(g^2 <= 0.03) < 0.14, Var(rho_r^2) = 2/r, in the
    proof of Lemma D.1.

    rho_r^2 is the mean of r squares of standard Gaussians; g^2 has the variance E g^4 - 1 = 2
    (``variance``: the moments are derivatives of the generating function), so the mean has 2/r.
    Chebyshev: P(|rho^2 - 1| > 2) <= (2/r)/4 <= 1/4 for r >= 2 (``chebyshev``); at r = 1 the
    probability is erf(sqrt(3/2)) = 0.917 (``one``). ``density``: erf(sqrt(0.015)) = 0.1375.

    Lemma D.1, and D.2: ``density`` bounds P(rho_r^2 eps_1^2 <= 0.03) >= P(eps_1^2 <= 0.01)
    P(rho_r^2 <= 3), so that a draw misses a token with probability below 0.14/0.75 < 0.19, and some
    draw misses at most that share of the tokens.
    """
    import sympy

    s = sympy.symbols("s")
    moments: Any = [sympy.diff(sympy.exp(s**2 / 2), s, k).subs(s, 0) for k in (2, 4)]
    from scipy.stats import chi2

    variance = prove_identity(
        "$E g^4 - (E g^2)^2 = 2$", moments[1] - moments[0] ** 2, sympy.Integer(2)
    )
    chebyshev = prove_le(
        r"$(2/r)/2^2 \le 1 - 0.75$", lambda r: (2 / r / 4, Fraction(1, 4)), r=(2, None)
    )
    below = lambda t: (t / 2).sqrt().erf()  # P(g^2 <= t)
    one = prove_less(
        r"$0.75 < \operatorname{erf}(\sqrt{3/2}), r = 1$",
        lambda t: (Fraction(3, 4), below(t)),
        t=(3, 3),
    )
    density = prove_less(
        r"$\operatorname{erf}(\sqrt{0.015}) < 0.14$",
        lambda t: (below(t), Fraction(14, 100)),
        t=(0.03, 0.03),
    )
    return {
        "variance": variance.crosschecked([{}], chi2(1).var()),
        "chebyshev": chebyshev.crosschecked(
            [{"r": r} for r in (2, 3, 10)],
            lambda r: chi2(r, scale=1 / r).var() / (3 - 1) ** 2,
            1 - 0.75,
        ),
        "one": one.crosschecked([{"t": 3}], 0.75, chi2(1).cdf(3)),
        "density": density.crosschecked([{"t": 0.03}], chi2(1).cdf(0.03), 0.14),
    }


@functools.cache
def one_token(printed: Callable, after: Callable) -> dict[str, Proof]:
    """own-one-token-update, symbolically: moving token i changes phi_j to (1 - p_j) M_j + p_j x',
    for j != i.

    ``printed`` is (D.42), ``after`` the moved context of the paper.

    The scores of row j stay but for the one on token i, and so do all values but x_i. With e_k the
    exponentials of the scores that stay (two of them stand for n - 1: they enter through Z = sum
    e_k and Z M = sum e_k x_k only) and e' the moved one, the row is (Z M + e' x')/(Z + e'), p =
    e'/(Z + e') = sigmoid(log e' - log Z). ``scores``: (D.42) corrected, the moved matrix of scores,
    at n = 2, d = 2 (a bilinear form, entry by entry).
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
    expanded = (
        X * W * X.T
        + X * W * delta * unit.T
        + unit * delta.T * W * X.T
        + unit * delta.T * W * delta * unit.T
    )
    three: Any = functools.partial(prove_identity, sizes="two tokens that stay")
    scores, values = _tensor([0.3, -1.0, 0.8], [2.0, 0.1, -0.5]), _tensor(1.0, -2.0, 0.4)
    rows = attention_weights(scores, "softmax")
    at = [letters(e=row.exp(), x=values) for row in scores]
    tokens, weights, move = (
        _tensor([0.5, -1.0], [2.0, 0.3]),
        _tensor([0.2, 1.0], [-0.7, 0.4]),
        _tensor(0.6, -0.1),
    )
    new = after(tokens, 0, move)
    # (D.42) has W X where W X^T is meant
    mended = printed(tokens, weights, 0, move) + torch.outer(
        _tensor(1.0, 0.0), move @ weights @ (tokens.T - tokens)
    )
    whole = prove_identity(
        "moved scores", moved * W * moved.T, expanded, sizes="n = d = 2; entry by entry"
    )
    return {
        "row": three("softmax row = (1 - p) M + p x'", row, (1 - p) * M + p * x[2]).crosschecked(
            at, rows @ values
        ),
        "sigmoid": three("p = 1/(1 + Z/e')", p, 1 / (1 + Z / e[2])).crosschecked(
            at, rows[:, 2], torch.sigmoid(scores[:, 2] - scores[:, :2].logsumexp(1))
        ),
        "scores": whole.crosschecked(
            [letters(a=tokens.flatten(), w=weights.flatten(), t=move)],
            [new @ weights @ new.T],
            [mended],
        ),
    }


@functools.cache
def retraining(equation_6_5: Callable, equation_6_6: Callable) -> dict[str, Proof]:
    """(B.22) and its identity, (6.13) (Lemma 4.1 of [12]), (6.5), (6.9), (6.10), symbolically.

    ``schur``: |P_perp phi|^2 = phi.phi - k^T K^-1 k is 1/[K_r^-1]_last, K_r = [[K, k], [k^T,
    phi.phi]], at N = 2 symbolically; for all N it is the last step of elimination in K_r. Hence
    (B.22): [K_r^-1]_last = e^T K_r^-1 e <= 1/lambda_min (``rayleigh``: a mean of numbers 1/lambda
    >= ... is at most the largest). ``retrained``: theta* + r P_perp phi/|P_perp phi|^2 fits the N
    old samples (P_perp phi is orthogonal to them) and the new one, and differs from theta* in the
    row space, so it is the solution nearest to theta_0: at N = 1, in inner products.
    ``fine-tuned``: (6.5) and (6.9): theta* + r phi/|phi|^2 answers y at phi, and phi'.phi/|phi|^2 r
    is the change at phi'. ``fine-gap``: alignment - 1 = (phi' - phi).phi/|phi|^2, so at most |phi'
    - phi|/|phi| by Cauchy-Schwarz, whose sum of squares is ``cauchy`` (6.10). ``again-gap``: the
    same with P_perp phi, so at most |phi' - phi|/|P_perp phi| <= S |phi|/sqrt(lambda_min) (6.15).
    """
    import sympy

    K = sympy.Matrix(2, 2, sympy.symbols("p q q r"))
    k, s = sympy.Matrix(sympy.symbols("k1:3")), sympy.symbols("s")
    whole = sympy.Matrix(sympy.BlockMatrix([[K, k], [k.T, sympy.Matrix([[s]])]]))
    # inner products: of the old sample o, of phi = f and of the moved phi' = g, among themselves
    # and with theta*
    of, og, fg, to, tf, tg, y = sympy.symbols("of og fg to tf tg y", real=True)
    oo, ff = sympy.symbols("oo ff", positive=True)
    rest_o, rest_f, rest_g = (
        of - of,
        ff - of**2 / oo,
        fg - of * og / oo,
    )  # of P_perp phi = phi - (of/oo) o
    r = (y - tf) / rest_f
    x: Any = sympy.Matrix(sympy.symbols("x1:4", real=True))
    z: Any = sympy.Matrix(sympy.symbols("z1:4", real=True))
    cross = sum((x[i] * z[j] - x[j] * z[i]) ** 2 for i in range(3) for j in range(i))
    # features: an old sample, the new one, the moved one; a second old one for the Schur complement
    old, new, shifted, other = torch.sin(torch.arange(16.0).double() ** 2).reshape(4, 4)
    start, label, known = torch.cos(torch.arange(4.0).double()), 1.5, _tensor(-0.4)
    theta = start + old * (known - old @ start) / (old @ old)
    fine, again = equation_6_5(theta, new, label), equation_6_6(old[None], known, new, label, start)
    alone = feature_alignment(old[None, :][:0], new, shifted[None])[0]
    aligned = feature_alignment(old[None], new, shifted[None])[0]
    products = {
        "oo": old @ old,
        "of": old @ new,
        "og": old @ shifted,
        "ff": new @ new,
        "fg": new @ shifted,
    }
    products |= {"to": theta @ old, "tf": theta @ new, "tg": theta @ shifted}
    at = [{name: float(x) for name, x in products.items()} | {"y": label}]
    two, three = torch.stack([old, other]), torch.stack([old, other, new])
    left, gram = new - torch.linalg.pinv(two) @ (two @ new), three @ three.T
    entries = [gram[0, 0], gram[0, 1], gram[1, 1], gram[0, 2], gram[1, 2], gram[2, 2]]
    blocks = {name: float(x) for name, x in zip(("p", "q", "r", "k1", "k2", "s"), entries)}
    # a symmetric matrix with these eigenvalues, whose first one has the share w of the first axis
    turns = {
        w: _tensor([w**0.5, (1 - w) ** 0.5], [-((1 - w) ** 0.5), w**0.5]) for w in (0, 0.64, 1)
    }
    matrices = [turn.T @ torch.diag(_tensor(1.5, 4.0)) @ turn for turn in turns.values()]
    u, v = old[:3], new[:3]
    one: Any = functools.partial(prove_identity, nonzero=[rest_f], sizes="N = 1")
    schur = prove_identity(
        r"$(\phi\cdot\phi - k K^{-1} k)\,[K_r^{-1}]_{\mathrm{last}} = 1$",
        (s - (k.T * K.inv() * k)[0]) * whole.inv()[2, 2],
        sympy.Integer(1),
        nonzero=[K.det(), whole.det(), K[0, 0]],
        sizes="N = 2; for every N the last step of elimination",
    )
    rayleigh = prove_le(
        r"w/x + (1 - w)/(x + e) <= 1/x, in units of $\lambda_{\min}$",
        lambda w, x, e: (w / x + (1 - w) / (x + e), 1 / x),
        w=(0, 1),
        x=(1, None),
        e=(0, None),
    )
    fits = sympy.Matrix([to + r * rest_o, tf + r * rest_f]), sympy.Matrix([to, y])
    answers = (
        sympy.Matrix([tf + (y - tf) / ff * ff, tg + (y - tf) / ff * fg - tg]),
        sympy.Matrix([y, fg / ff * (y - tf)]),
    )
    gap, gap_again = fg / ff - 1, rest_g / rest_f - 1
    squares = x.dot(x) * z.dot(z) - x.dot(z) ** 2
    return {
        "schur": schur.crosschecked([blocks], [left @ left * torch.linalg.inv(gram)[-1, -1]]),
        "rayleigh": rayleigh.crosschecked(
            [{"w": w, "x": 1.5, "e": 2.5} for w in turns],
            [torch.linalg.inv(matrix)[0, 0] for matrix in matrices],
            [1 / torch.linalg.eigvalsh(matrix).min() for matrix in matrices],
        ),
        "retrained": one(r"$\theta_r$ fits old and new samples", *fits).crosschecked(
            at, [torch.stack([again @ old, again @ new])]
        ),
        "alignment": one(
            "change = alignment times residual", tg + r * rest_g - tg, rest_g / rest_f * (y - tf)
        ).crosschecked(at, [(again - theta) @ shifted], [aligned * (label - theta @ new)]),
        "fine-tuned": prove_identity("(6.5) and (6.9)", *answers).crosschecked(
            at, [torch.stack([fine @ new, (fine - theta) @ shifted])]
        ),
        "fine-gap": prove_identity(
            r"alignment $- 1 = (\phi' - \phi) \phi/|\phi|^2$", gap, (fg - ff) / ff
        ).crosschecked(at, [alone - 1]),
        "again-gap": one(
            r"alignment $- 1 = (\phi' - \phi) P_{\perp} \phi/|P_{\perp} \phi|^2$",
            gap_again,
            (rest_g - rest_f) / rest_f,
        ).crosschecked(at, [aligned - 1]),
        "cauchy": prove_identity(
            "$|u|^2 |v|^2 - (u v)^2$ is a sum of squares",
            squares,
            cross,
            sizes="three entries; a sum over pairs of entries",
        ).crosschecked([letters(x=u, z=v)], [(u @ u) * (v @ v) - (u @ v) ** 2]),
    }


@functools.cache
def lengths(equation_4_3: Callable) -> dict[str, Proof]:
    """|phi_RAF(X)| <= sqrt(nd) ((D.60)) and the normalisation E ReLU(rho)^2 = 1 at beta = 2
    ((4.3)).

    A row is a mean of tokens of length sqrt(d), and |w u + (1 - w) v|^2 = w |u|^2 + (1 - w)|v|^2 -
    w (1 - w)|u - v|^2 (``mean``: two tokens, then by induction). By symmetry E ReLU(rho)^2 = E
    rho^2/2 = beta/2 (``relu``).
    """
    import sympy

    w, u, v, beta, t = sympy.symbols("w u v beta t", positive=True)
    half = sympy.integrate(t**2 * sympy.exp(-(t**2) / 2), (t, 0, sympy.oo)) / sympy.sqrt(
        2 * sympy.pi
    )
    weights, tokens = attention_weights(_tensor([0.7, -0.2]), "softmax")[0], _tensor(1.3, 0.4)
    mean = prove_identity(
        "$|w u + (1 - w) v|^2 = w |u|^2 + (1 - w)|v|^2 - w (1 - w)|u - v|^2$",
        (w * u + (1 - w) * v) ** 2,
        w * u**2 + (1 - w) * v**2 - w * (1 - w) * (u - v) ** 2,
        sizes="two tokens, entry by entry; then by induction",
    )
    relu = prove_identity(
        r"$E \operatorname{ReLU}(\rho)^2 = \beta/2$, rho ~ N(0, beta)", beta * half, beta / 2
    )
    return {
        "mean": mean.crosschecked(
            [{"w": float(weights[0]), "u": 1.3, "v": 0.4}], [(weights @ tokens) ** 2]
        ),
        "relu": relu.crosschecked(
            [{"beta": 0.5}, {"beta": 2.0}], lambda beta: equation_4_3(lambda x: max(x, 0.0), beta)
        ),
    }


@functools.cache
def infinite_width() -> dict[str, Proof]:
    """Of all moves, the one that doubles its token changes infinitely wide ReLU features most, at
    every depth.

    Lengths over |X|: the moved context is at distance q sin(a) from the line of X and at q cos(a)
    along it, 0 <= a <= pi/2. One layer maps the cosine c = cos(a) by kappa, kappa'(c) = 1 - a/pi
    (``slope``): increasing and convex, so all iterates kappa_L are, and kappa_L(1) = 1. (1) kappa_L
    >= c, as kappa - c = (sin a - a cos a)/pi (``above``), whose derivative in a is a sin(a)/pi
    (``rising``). (2) c kappa_L' <= kappa_L, from kappa - c kappa' = sin(a)/pi (``ray``) by
    induction over layers. (3) kappa_L' (1 - c) <= 1 - kappa_L by convexity, so c kappa_L + kappa_L'
    (1 - c^2) <= 1 (``chord``). S^2 is maximal where G = q (kappa_L - c) is minimal, at given length
    of the move: G grows with the distance from the line (by (2)) and falls with the part along it
    (by (3)), and the move along the token has the least of the one and the most of the other. There
    q >= 1 >= kappa_L >= c, so that lengthening it raises 1 + q^2 - 2 q kappa_L: the derivative is
    twice (q
    - kappa_L)(q - c) + kappa_L' (1 - c^2) >= 0.
    """
    import sympy

    a, k, c, slack = sympy.symbols("a kappa c slack", real=True)
    kappa = (sympy.sin(a) + (sympy.pi - a) * sympy.cos(a)) / sympy.pi
    slope = sympy.simplify(sympy.diff(kappa, a) / sympy.diff(sympy.cos(a), a))
    above = sympy.sin(a) - a * sympy.cos(a)
    gap, turned = above / sympy.pi, a * sympy.sin(a) / sympy.pi
    at = [{"a": x} for x in (0.2, 1.0, 1.5)]

    def layer(a: float) -> tuple[float, float, float]:
        """The cosine, what the library maps it to, and its slope there."""
        return math.cos(a), float(arc_cosine(math.cos(a))), _derivative(arc_cosine, math.cos(a))

    def crosschecked(proof: Proof, value: Callable[[float, float, float], float]) -> Proof:
        return proof.crosschecked(at, *[lambda a: value(*layer(a))] * 2)

    chord = prove_identity(
        r"$1 - c \kappa - \kappa' (1 - c^2) = (\kappa - c) + \epsilon (1 + c)$, $\kappa' (1 - c) "
        r"= 1 - \kappa - \epsilon$",
        1 - c * k - (1 - k - slack) / (1 - c) * (1 - c**2),
        (k - c) + slack * (1 + c),
        nonzero=[1 - c],
    )
    layers = [layer(**x) for x in at]
    bent = [{"c": c, "kappa": k, "slack": 1 - k - rise * (1 - c)} for c, k, rise in layers]
    chords = [1 - c * k - rise * (1 - c**2) for c, k, rise in layers]
    return {
        "slope": crosschecked(
            prove_identity("kappa' = 1 - a/pi", slope, 1 - a / sympy.pi, nonzero=[sympy.sin(a)]),
            lambda c, k, rise: rise,
        ),
        "above": crosschecked(
            prove_identity("kappa - c = (sin a - a cos a)/pi", kappa - sympy.cos(a), gap),
            lambda c, k, rise: k - c,
        ),
        "rising": crosschecked(
            prove_identity("its derivative is a sin(a)/pi", sympy.diff(gap, a), turned),
            lambda c, k, rise: (1 - rise) * math.sqrt(1 - c**2),  # of the gaps, in a
        ),
        "ray": crosschecked(
            prove_identity(
                "kappa - c kappa' = sin(a)/pi",
                kappa - sympy.cos(a) * slope,
                sympy.sin(a) / sympy.pi,
            ),
            lambda c, k, rise: k - c * rise,
        ),
        "chord": chord.crosschecked(bent, chords, chords),
    }


def _derivative(f: Callable, x: float, h: float = 1e-4) -> float:
    """Derivative by four differences, up to h^4."""
    return float(8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h)
