"""Lemmas of jelassi2022 for all parameters, by :mod:`..evidence.prove`: thresholds, sigmoids, softmax, gradients.

A function gives one :class:`Proof` for each part. x stands for a^p or for the margin yF, u for e^(-x), S for the sigmoid.
"""

from typing import Any

from attention_theory.evidence.prove import Proof, every, joined, nonnegative, positive, same

#: Where Lemma K.5 begins and ends to hold, to twelve digits: (a bit below, a bit above) the two roots.
LOWER = ("0.134669810850", "0.134669810852")
UPPER = ("10.000226944703", "10.000226944705")


def _log_ratio(u: Any) -> Any:
    """log(1 + u)/u of a ball in [0, 1]: 2F1(1, 1; 2; -u), decreasing, so that its ends enclose it."""
    import flint

    u = flint.arb(u)
    return (-u.lower()).hypgeom_2f1(1, 1, 2).union((-u.upper()).hypgeom_2f1(1, 1, 2))


def sigmoid() -> dict[str, Proof]:
    """0.1 log(1 + e^-x) <= S(-x) <= 10 log(1 + e^-x) for x >= 0 (Lemma K.6), the first also for x >= -9 (Lemma D.10 corrected).

    With u = e^-x in (0, 1] both sides divided by u are 1/(1 + u) and log(1 + u)/u, so no tail in x is left. ``lower-nine`` and
    ``upper-nine`` reach the x below 0. ``zero-one``: 1 <= log(1 + e^-x)/log 2 for x <= 0, since 1 + e^-x >= 2 (equation 49
    corrected; without 1/log 2 it fails at x = 0, as log 2 < 1).
    """
    return {
        "lower": positive("S(-x) > 0.1 log(1 + e^-x)", lambda u: 10 / (1 + u) - _log_ratio(u), u=(0, 1), shown="x >= 0"),
        "upper": positive("S(-x) < 10 log(1 + e^-x)", lambda u: 10 * _log_ratio(u) - 1 / (1 + u), u=(0, 1), shown="x >= 0"),
        "lower-nine": positive(
            "S(-x) > 0.1 log(1 + e^-x)", lambda x: 10 / (1 + x.exp()) - (1 + (-x).exp()).log(), x=(-9, 0), shown="x in [-9, 0]"
        ),
        "zero-one": nonnegative("(1 + e^-x)/2 >= 1", lambda u: (1 + u) / 2 - 1, u=(1, None), shown="x <= 0"),
    }


def thresholds() -> dict[str, Proof]:
    """Lemma K.5, corrected: where its two sides hold, with the sharp ends, and its form with a^p put back, for all a.

    The upper side, at its worst for C_- -> a, reads x S(-x) <= 10 log(1 + e^-x) with x = a^p: after division by u = e^-x it is
    10 (1 + u) log(1 + u)/u - x >= 0. From x = 20 on it is below 11 - 20 < 0, as log(1 + u) <= u. The lower side, at its worst
    for C_+ -> a, is x/(1 + u) - 0.1 log(1 + u)/u >= 0; from x = 1 on it is above 1/2 - 0.1 > 0. Put back, both are Lemma K.6.
    """

    def upper(x: Any) -> Any:
        u = (-x).exp()
        return 10 * (1 + u) * _log_ratio(u) - x

    def lower(x: Any) -> Any:
        u = (-x).exp()
        return 10 * x / (1 + u) - _log_ratio(u)

    return {
        "upper": positive("x S(-x) < 10 log(1 + e^-x)", upper, x=(0, UPPER[0]), shown=f"x in [0, {UPPER[0]}]"),
        "upper-sharp": positive("x S(-x) > 10 log(1 + e^-x)", lambda x: -upper(x), x=(UPPER[1], 20), shown=f"x >= {UPPER[1]}"),
        "lower": positive("x S(-x) > 0.1 log(1 + e^-x)", lower, x=(LOWER[1], 1), shown=f"x >= {LOWER[1]}"),
        "lower-sharp": positive("x S(-x) < 0.1 log(1 + e^-x)", lambda x: -lower(x), x=(0, LOWER[0]), shown=f"x <= {LOWER[0]}"),
    }


def logarithms() -> dict[str, Proof]:
    """log(1 + x y) <= (1 + y) log(1 + x) for all x, y >= 0 (Lemma K.7, which asks for y <= x).

    At x = 0 both sides are 0; the difference has the derivative (1 + y)/(1 + x) - y/(1 + x y) >= 0 in x.
    """
    return {
        "derivative": nonnegative(
            "d/dx of the difference >= 0", lambda x, y: (1 + y) / (1 + x) - y / (1 + x * y), x=(0, None), y=(0, None)
        )
    }


def tensor_power() -> dict[str, Proof]:
    """Lemmas K.1 and K.2: z grows by between m z^k and M z^k a step.

    K.1: let T_n be the first step with z >= 2^n z_0. Between T_n and T_(n+1) z gains at least m (2^n z_0)^k a step, and at most
    2^n z_0 + 2^k M (2^n z_0)^k in all, so that T_(n+1) - T_n <= 1/(m (2^n z_0)^(k-1)) + 2^k M/m. The first parts add up to
    1/(1 - 2^(1-k)) <= 2 (``geometric``, k >= 2) times 1/(m z_0^(k-1)): even 2 in place of the printed 3. At k = 1 each is 1/m.

    K.2 corrected, product <= exp(A z_T^kappa/(m kappa)): log(1 + A z^(k-1+kappa)) <= A z^(k-1+kappa) <= (A/m) z^(kappa-1)
    (z' - z), and z^(kappa-1)(z' - z) <= (z'^kappa - z^kappa)/kappa, which telescopes (``telescope``, kappa = 2; equal at 1).
    """
    return {
        "geometric": nonnegative(
            "1 + s + s^2 + ... = 1/(1 - s) <= 2", lambda s: 2 - 1 / (1 - s), s=(0, 0.5), shown="k >= 2, s = 2^(1 - k)"
        ),
        "telescope": nonnegative(
            "z (z' - z) <= (z'^2 - z^2)/2",
            lambda z, e: (2 * z * e + e * e) / 2 - z * e,
            z=(0, None),
            e=(0, None),
            shown="z' >= z >= 0",
        ),
    }


def activation() -> dict[str, Proof]:
    """sigma'(z) = p z^(p-1) + nu is Theta(z^(p-1)) where |z|^(p-1) >= nu, and Theta(nu) where it is not (D.7, E.8 corrected).

    For all odd p and nu > 0, with w = z^(p-1): between p w and (p + 1) w, and between nu and (p + 1) nu.
    """
    p, rest = {"p": (1, None)}, {"e": (0, None)}
    large: dict[str, Any] = {"nu": (0, None)} | rest | p
    small: dict[str, Any] = {"w": (0, None)} | rest | p
    return {
        "large": joined(
            "p w <= sigma' <= (p + 1) w",
            "w = z^(p-1) >= nu >= 0, p >= 1",
            nonnegative("", lambda p, nu, e: p * (nu + e) + nu - p * (nu + e), **large),
            nonnegative("", lambda p, nu, e: (p + 1) * (nu + e) - p * (nu + e) - nu, **large),
        ),
        "small": joined(
            "nu <= sigma' <= (p + 1) nu",
            "nu >= w = z^(p-1) >= 0, p >= 1",
            nonnegative("", lambda p, w, e: p * w + (w + e) - (w + e), **small),
            nonnegative("", lambda p, w, e: (p + 1) * (w + e) - p * w - (w + e), **small),
        ),
    }


def softmax() -> dict[str, Proof]:
    """Softmax under a move of its scores by at most M: Lemmas E.16 (corrected) and E.17, for any number of entries.

    The entry i is multiplied by rho_i = e^(b_i - a_i)/sum_k softmax(a)_k e^(b_k - a_k), which lies in [1/E, E], E = e^(2M). So
    |rho_i - 1| <= E - 1, as 1 - 1/E <= E - 1 (``ratio``): E.17. For E.16, with A = sum softmax(a)_m <v, X_m>, B the same for b
    and A' that of |<v, X_m>|: |A - B| <= A' (E - 1), |A| <= A', |B| <= A' E, so that |A^q - B^q| <= |A - B| sum_j |A|^j
    |B|^(q-1-j) <= A'^q (E - 1)(1 + E + ... + E^(q-1)) = A'^q (E^q - 1) (``power``, q = p - 1).
    """
    import sympy

    E = sympy.symbols("E", positive=True)
    powers = range(1, 9)
    return {
        "ratio": nonnegative(
            "1 - 1/E <= E - 1", lambda E: E - 1 - (1 - 1 / E), E=(1, None), shown="E = e^(2M) >= 1, any number of entries"
        ),
        "power": same(
            "(E - 1)(1 + E + ... + E^(q-1)) = E^q - 1",
            sympy.Matrix([(E - 1) * sum(E**j for j in range(q)) for q in powers]),
            sympy.Matrix([E**q - 1 for q in powers]),
            "q = p - 1 <= 8 (and every q: the sum telescopes)",
        ),
    }


def lipschitz() -> Proof:
    """psi(x) = S(-sum x_m^p) is p-Lipschitz where every x_m^p >= -1/D (Lemma E.12), for every odd p >= 3 and D.

    |grad psi| = p S'(z) |(x_m^(p-1))|_2 with z = sum x_m^p. Let t be the sum over the positive x_m: the negative ones add at
    least -1 to z and have sum |x_m|^p <= 1, so |.|_2^2 <= t^(2 - 2/p) + 1 <= max(1, t^2) + 1 (p-norms fall with p). For t <=
    1 S' <= 1/4 and p sqrt(2)/4 < p; for t >= 1 S'(z) <= S'(t - 1) = 1/(4 cosh((t - 1)/2)^2), and (t^2 + 1)/16 stays below
    cosh^4, in ball arithmetic up to t = 20 and because cosh(x)^4 >= e^(4x)/16 beyond.
    """
    return positive(
        "|grad psi|/p < 1",
        lambda t: ((t - 1) / 2).cosh() ** 4 - (t**2 + 1) / 16,
        t=(1, 20),
        shown="x_m^p >= -1/D, all D, odd p >= 3",
    )


def symmetry() -> dict[str, Proof]:
    """F = sum_i sigma(z_i) under permutations, with symbols: own-row-exchange (``rows``), Lemmas I.1 and 4.1 (the others).

    ``rows``: permuting the rows of A permutes the z_i, which are summed. ``groups``: permutations within groups and of groups
    keep A of three values, A_{pi(i) pi(j)} = A_ij, so they permute the z_i too: all eight at D = 4, C = 2, and at every size,
    as only "same patch, same group, other group" enters. ``orbits``: they carry any pair of patches to any other of its kind.
    They keep the law of the images (the signal group is uniform, all other patches are alike), hence the risk and, where A has
    three values, its gradient, which is then equal on each kind of pairs: descent keeps the three values (Lemma 4.1).
    """
    import itertools

    import sympy

    D, C = 4, 2
    X = sympy.symbols(f"x1:{D + 1}")
    free = sympy.Matrix(D, D, sympy.symbols(f"s1:{D * D + 1}"))
    beta, gamma, rho = sympy.symbols("beta gamma rho")
    three = sympy.Matrix(D, D, lambda i, j: beta if i == j else gamma if i // C == j // C else rho)

    def rows(S: Any, x: Any) -> list[Any]:
        return sorted((sum(S[i, j] * x[j] for j in range(D)) for i in range(D)), key=sympy.default_sort_key)

    def keeps(order: tuple[int, ...]) -> bool:
        return len({order[i] // C for i in range(C)}) == 1 and len({order[i] // C for i in range(C, D)}) == 1

    orders = list(itertools.permutations(range(D)))
    keeping = [order for order in orders if keeps(order)]
    pairs = [
        pair for pair in itertools.permutations(itertools.permutations(range(D), 2), 2) if three[pair[0]] == three[pair[1]]
    ]
    return {
        "rows": every(
            "the z_i of permuted rows are the z_i permuted",
            lambda *order: rows(sympy.Matrix([free.row(i) for i in order]), X) == rows(free, X),
            orders,
            "all D, A, X",
        ),
        "groups": every(
            "the z_i of permuted patches are the z_i permuted",
            lambda *order: rows(three, [X[i] for i in order]) == rows(three, X),
            keeping,
            "all D, C, beta, gamma, rho, X",
        ),
        "orbits": every(
            "pairs of one kind are carried to each other",
            lambda one, other: any(tuple(order[i] for i in one) == other for order in keeping),
            pairs,
            "all D, C",
        ),
    }


def strays() -> dict[str, Proof]:
    """Lemmas K.3 and K.4: N strays with m = q(D - C) >= 1 on average, and those in one group of C.

    K.3: Chernoff's bound P[N >= a] <= exp(-a log(a/m) + a - m) at a = c m L, L = log d, c L >= 1, is at most 1/d for all m >= 1
    where cL (log(cL) - 1) + 1 - L >= 0: for c = 3 and d >= 3 (``three``; from L = e^2/3 on it is above 3L + 1 - L), and for c =
    1 and d >= 548 (``one``; from L = e^2 on it is above L + 1 - L).

    K.4: P[at least k] <= binom(C, k) q^k, the union over the sets of k patches; binom(C, k) is below 2^C and C^k. ``group``
    divides by q^k and shows it exactly for C <= 8.
    """
    from math import comb

    def left(C: int, k: int, q: Any) -> Any:
        return comb(C, k) - sum(comb(C, j) * q ** (j - k) * (1 - q) ** (C - j) for j in range(k, C + 1))

    def chernoff(c: int) -> Any:
        return lambda L: c * L * ((c * L).log() - 1) + 1 - L

    sizes = [(C, k) for C in range(1, 9) for k in range(1, C + 1)]
    tails = [nonnegative(f"C = {C}, k = {k}", lambda q, C=C, k=k: left(C, k, q), q=(0, 1)) for C, k in sizes]
    return {
        "three": positive("P[N >= 3 m log d] <= 1/d", chernoff(3), L=("1.098", "2.47"), shown="m >= 1, d >= 3"),
        "one": positive("P[N >= m log d] <= 1/d", chernoff(1), L=("6.306", "7.39"), shown="m >= 1, d >= 548"),
        "group": joined("P[at least k] <= binom(C, k) q^k", "k <= C <= 8, q in [0, 1] (and every C: union bound)", *tails),
    }


def row_sums() -> dict[str, Proof]:
    """Lambda + (C - 1) Gamma + (D - C) Xi = 1 (equation-lambda corrected), hence Lemma G.4 with bound 1, always.

    A row of softmax of three values: beta once, gamma C - 1 times, rho D - C times. G.4: a sum of D - C numbers |delta| <= 1
    in the place of D - C.
    """
    import sympy

    x, y, z, C, D = sympy.symbols("x y z C D", positive=True)  # e^beta, e^gamma, e^rho
    total = x + (C - 1) * y + (D - C) * z
    return {
        "sum": same(
            "Lambda + (C - 1) Gamma + (D - C) Xi = 1", (x + (C - 1) * y + (D - C) * z) / total, 1, "all beta, gamma, rho, C, D"
        ),
        "g.4": nonnegative(
            "Lambda + (C - 1) Gamma + Xi s <= 1",
            lambda x, y, z, C, s, e: 1 - (x + (C - 1) * y + s * z) / (x + (C - 1) * y + (s + e) * z),
            x=(1, None),
            y=(0, None),
            z=(0, None),
            C=(1, None),
            s=(0, None),
            e=(0, None),
            shown="all C, D, scores; s = sum of |delta| <= D - C",
        ),
    }


def gradients() -> dict[str, Proof]:
    """Lemmas H.1 and H.2, corrected: the gradients of log(1 + e^(-yF)) with respect to v and A.

    F = sum_i sigma(z_i), z_i = D sum_r S_ir <v, X_r>, S = softmax(A/sqrt(d)). By the chain rule each is the slope of the loss
    (``loss``: -y S(-yF), with the sign that the paper leaves out) times sum_i sigma'(z_i) times the derivative of z_i
    (``h.1``, ``h.2``, the latter with the 1/sqrt(d)). D = 3 and d = 2 with symbols stand for all sizes: an entry of A meets
    its own row only, in which it is one term and the other D - 1 enter alike, and v meets each coordinate alike.
    """
    import sympy

    D, d = 3, 2
    y, F = sympy.symbols("y F", real=True)
    v, e, u = sympy.symbols(f"v1:{d + 1}"), sympy.symbols(f"e1:{D + 1}", positive=True), sympy.symbols(f"u1:{D + 1}")
    X: Any = sympy.Matrix(D, d, sympy.symbols(f"x1:{D * d + 1}"))
    S = [term / sum(e) for term in e]  # e_r = e^(A_ir/sqrt(d)), so d/dA_ir = e_r/sqrt(d) d/de_r
    z: Any = D * sum(S[r] * u[r] for r in range(D))
    seen = z.subs(dict(zip(u, X * sympy.Matrix(v))))
    root = sympy.sqrt(d)
    return {
        "loss": same(
            "d/dF log(1 + e^(-yF)) = -y S(-yF)",
            sympy.diff(sympy.log(1 + sympy.exp(-y * F)), F),
            -y / (1 + sympy.exp(y * F)),
            "all y, F",
        ),
        "h.1": same(
            "dz_i/dv = D sum_r S_ir X_r",
            sympy.Matrix([sympy.diff(seen, x) for x in v]),
            sympy.Matrix([D * sum(S[r] * X[r, c] for r in range(D)) for c in range(d)]),
            "all D, d, p",
        ),
        "h.2": same(
            "dz_i/dA_ij = D/sqrt(d) S_ij sum_r S_ir <v, X_j - X_r>",
            sympy.Matrix([e[j] / root * sympy.diff(z, e[j]) for j in range(D)]),
            sympy.Matrix([D / root * S[j] * sum(S[r] * (u[j] - u[r]) for r in range(D) if r != j) for j in range(D)]),
            "all D, d, p",
        ),
    }


def everything() -> dict[str, Proof]:
    """Every proof of this module, under ``family/part``."""
    families = (sigmoid, thresholds, logarithms, tensor_power, activation, softmax, symmetry, strays, row_sums, gradients)
    found = {f"{family.__name__}/{part}": proof for family in families for part, proof in family().items()}
    return found | {"lipschitz": lipschitz()}
