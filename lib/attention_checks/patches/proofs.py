"""Lemmas of jelassi2022 for all parameters, by :mod:`theorybook.prove`: thresholds, sigmoids,
softmax, gradients.

A function gives one :class:`Proof` for each part, tied to the transformer and the printed formulas,
which come as arguments. x stands for a^p or for the margin yF, u for e^(-x), S for the sigmoid.
"""

import functools
import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import torch
from attention_theory.patches.errors import stray_law
from attention_theory.patches.population import initial_growth, three_values
from attention_theory.patches.vit import PositionalViT
from theorybook.prove import (
    Proof,
    ball,
    conjunction,
    entropy,
    letters,
    monotone,
    prove_by_cases,
    prove_identity,
    prove_le,
    prove_less,
)
from torch import Tensor

from attention_checks.patches.runs.expectation import initial_growth_enumerated
from attention_checks.patches.runs.lemmas import power_sequence

#: The ends of the range where Lemma K.5 holds, to twelve digits: bounds (slightly below, slightly
#: above) on each of the two roots.
LOWER = ("0.134669810850", "0.134669810852")
UPPER = ("10.000226944703", "10.000226944705")


def _log_ratio(u: Any) -> Any:
    """log(1 + u)/u of a ball in [0, 1]: 2F1(1, 1; 2; -u), decreasing."""
    return monotone(lambda end: (-end).hypgeom_2f1(1, 1, 2), u)


def _decay(y: Any) -> Any:
    """e^(-1/y) of a ball y >= 0, which may contain 0: increasing."""
    return monotone(lambda end: (-1 / end).exp() if end > 0 else ball(0), y)


def _row(*numbers: float) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


@functools.cache
def sigmoid(lemma_k_6: Callable) -> dict[str, Proof]:
    """0.1 log(1 + e^-x) <= S(-x) <= 10 log(1 + e^-x) for x >= 0 (Lemma K.6), the first also for x
    >= -9 (Lemma D.10 corrected).

    With u = e^-x in (0, 1] both sides divided by u are 1/(1 + u) and log(1 + u)/u, so no tail in x
    is left. ``lower-nine`` and ``upper-nine`` reach the x below 0. ``zero-one``: 1 <= log(1 +
    e^-x)/log 2 for x <= 0, since 1 + e^-x >= 2 (equation 49 corrected; without 1/log 2 it fails at
    x = 0, as log 2 < 1).
    """
    at, below, above = (
        [{"x": x} for x in values]
        for values in ((0.0, 0.3, 21.0), (-9.0, -1.0, 0.0), (-5.0, -0.1, 0.0))
    )

    def part(i: int, factor: float = 1) -> Callable[[float], float]:
        """The lower bound, the sigmoid and the upper bound as printed."""
        return lambda x: factor * float(lemma_k_6(_row(x))[i])

    def over_u(i: int, factor: float = 1) -> Callable[[float], float]:
        return lambda x: part(i, factor)(x) / math.exp(-x)

    low, high, u = (
        r"$0.1\log(1 + e^{-x}) < S(-x)$",
        r"$S(-x) < 10\log(1 + e^{-x})$",
        {"u": "exp(-x)"},
    )
    lower = prove_less(low, lambda u: (_log_ratio(u), 10 / (1 + u)), where=u, u=(0, 1))
    upper = prove_less(high, lambda u: (1 / (1 + u), 10 * _log_ratio(u)), where=u, u=(0, 1))
    nine = prove_less(low, lambda x: ((1 + (-x).exp()).log(), 10 / (1 + x.exp())), x=(-9, 0))
    half = prove_le(r"$1 \le (1 + e^{-x})/2$", lambda u: (1, (1 + u) / 2), where=u, u=(1, None))
    return {
        "lower": lower.crosschecked(at, over_u(0, 10), over_u(1, 10)),
        "upper": upper.crosschecked(at, over_u(1), over_u(2)),
        "lower-nine": nine.crosschecked(below, part(0, 10), part(1, 10)),
        "zero-one": half.crosschecked(above, 1.0, lambda x: math.exp(part(0, 10)(x)) / 2),
    }


@functools.cache
def thresholds(lemma_k_5: Callable) -> dict[str, Proof]:
    """Lemma K.5, corrected: the ranges where its two sides hold, with sharp ends, and its form with
    a^p put back, for all a.

    The upper side, at its worst for C_- -> a, reads x S(-x) <= 10 log(1 + e^-x) with x = a^p: after
    division by u = e^-x it is x <= 10 (1 + u) log(1 + u)/u. The lower side, at its worst for C_+ ->
    a, is log(1 + u)/u <= 10 x/(1 + u). Both are proved in y = 1/x where x has no upper end. With
    a^p put back, both are Lemma K.6.
    """

    def upper(x: Any) -> tuple[Any, Any]:
        u = (-x).exp()
        return x, 10 * (1 + u) * _log_ratio(u)

    def upper_far(y: Any) -> tuple[Any, Any]:
        u = _decay(y)
        return 10 * y * (1 + u) * _log_ratio(u), 1

    def lower_far(y: Any) -> tuple[Any, Any]:
        u = _decay(y)
        return y * _log_ratio(u), 10 / (1 + u)

    def lower(x: Any) -> tuple[Any, Any]:
        u = (-x).exp()
        return 10 * x / (1 + u), _log_ratio(u)

    def term(i: int, factor: Callable[[float, float], float]) -> Callable[[float], float]:
        """A part of the lemma at C = a, times a/u and this function of x and u = e^-x."""

        def value(x: float) -> float:
            a, u = _row(x) ** (1 / 3), math.exp(-x)
            return float(lemma_k_5(a, a, a)[i] * a) / u * factor(x, u)

        return value

    near, far, most, least = (
        [{"x": x} for x in values]
        for values in (
            (1e-10, 3.0, float(UPPER[0])),
            (float(UPPER[1]), 15.0),
            (float(LOWER[1]), 0.5, 12.0),
            (1e-10, float(LOWER[0])),
        )
    )
    times, over, tenfold = (lambda x, u: 1 + u), (lambda x, u: (1 + u) / x), (lambda x, u: 10 / x)
    y, ten, limit = {"y": "1/x"}, lambda x, u: 10, {"y = 0": "x = oo"}
    above, above_sharp = r"$x\,S(-x) < 10\log(1 + e^{-x})$", r"$x\,S(-x) > 10\log(1 + e^{-x})$"
    below, below_sharp = r"$x\,S(-x) > 0.1\log(1 + e^{-x})$", r"$x\,S(-x) < 0.1\log(1 + e^{-x})$"
    high, low = (0, UPPER[0]), (0, LOWER[0])
    high_far, low_far = (0, 1 / Fraction(UPPER[1])), (0, 1 / Fraction(LOWER[1]))
    return {
        "upper": prove_less(above, upper, x=high).crosschecked(
            near, term(1, times), term(2, times)
        ),
        "upper-sharp": prove_less(above_sharp, upper_far, where=y, y=high_far).crosschecked(
            far, term(2, over), term(1, over), inside=limit
        ),
        "lower": prove_less(below, lower_far, where=y, y=low_far).crosschecked(
            most, term(0, tenfold), term(1, tenfold), inside=limit
        ),
        "lower-sharp": prove_less(below_sharp, lower, x=low).crosschecked(
            least, term(1, ten), term(0, ten)
        ),
    }


@functools.cache
def logarithms(lemma_k_7: Callable) -> dict[str, Proof]:
    """log(1 + x y) <= (1 + y) log(1 + x) for all x, y >= 0 (Lemma K.7, which asks for y <= x).

    At x = 0 both sides are 0; the difference has the derivative (1 + y)/(1 + x) - y/(1 + x y) >= 0
    in x.
    """
    at = [{"x": x, "y": y} for x in (0.0, 0.5, 7.0) for y in (0.0, 0.3, 20.0)]
    x, y = (_row(*(point[name] for point in at)) for name in "xy")
    x.requires_grad_()
    slopes = [torch.autograd.grad(side.sum(), x)[0] for side in lemma_k_7(x, y)]
    sides = lambda x, y: (y / (1 + x * y), (1 + y) / (1 + x))
    return {
        "derivative": prove_le("d/dx of both sides", sides, x=(0, None), y=(0, None)).crosschecked(
            at, *slopes
        )
    }


@functools.cache
def tensor_power(lemma_k_1: Callable) -> dict[str, Proof]:
    """Lemmas K.1 and K.2: z grows by between m z^k and M z^k a step.

    K.1: let T_n be the first step with z >= 2^n z_0. Between T_n and T_(n+1) z gains at least m
    (2^n z_0)^k a step, and at most 2^n z_0 + 2^k M (2^n z_0)^k in all, so that T_(n+1) - T_n <=
    1/(m (2^n z_0)^(k-1)) + 2^k M/m. The first parts add up to 1/(1 - 2^(1-k)) <= 2 times 1/(m
    z_0^(k-1)), below the printed 3 (``geometric``, k >= 2). At k = 1 each is 1/m.

    K.2 corrected, product <= exp(A z_T^kappa/(m kappa)): log(1 + A z^(k-1+kappa)) <= A
    z^(k-1+kappa) <= (A/m) z^(kappa-1) (z' - z), and z^(kappa-1)(z' - z) <= (z'^kappa -
    z^kappa)/kappa, which telescopes (``telescope``, kappa = 2; equal at 1).
    """
    path = power_sequence(0.1, 2, 1.0, 2.0, 0.3)
    steps = [{"z": float(z), "next": float(after)} for z, after in itertools.pairwise(path)]
    ranges: dict[str, Any] = {"z": (0, None), "e": (0, None)}
    geometric = prove_le(
        r"$1 + s + s^2 + \dots = 1/(1 - s) \le 3$",
        lambda s: (1 / (1 - s), 3),
        where={"s": "2**(1 - k)"},
        s=(0, 0.5),
    )
    telescope = prove_le(
        r"$z(z' - z) \le (z'^2 - z^2)/2$",
        lambda z, e: (z * e, (2 * z * e + e * e) / 2),
        where={"e": "next - z"},
        **ranges,
    )
    return {
        "geometric": geometric.crosschecked(
            [{"k": k} for k in (2, 3, 32)],
            lambda k: sum(2.0 ** (n * (1 - k)) for n in range(64)),
            lambda k: lemma_k_1(0.1, k, 0.5, 1.0, 0.1) * 0.5 * 0.1 ** (k - 1),
        ),
        "telescope": telescope.crosschecked(
            steps, path[:-1] * (path[1:] - path[:-1]), (path[1:] ** 2 - path[:-1] ** 2) / 2
        ),
    }


@functools.cache
def activation() -> dict[str, Proof]:
    """sigma'(z) = p z^(p-1) + nu is Theta(z^(p-1)) where |z|^(p-1) >= nu, and Theta(nu) where it is
    not (D.7, E.8 corrected).

    For all odd p and nu > 0, with w = z^(p-1): between p w and (p + 1) w, and between nu and (p +
    1) nu.
    """
    points = [
        {"p": p, "nu": nu, "z": z} for p in (3, 5) for nu in (0.001, 0.2) for z in (0.01, 0.5, 1.7)
    ]

    def slope(p: int, nu: float, z: float) -> float:
        return float(
            PositionalViT(torch.zeros(2, 2).double(), _row(0.0), p, nu).activation_slope(_row(z))
        )

    def both(
        what: str,
        large: bool,
        unit: Callable,
        least: Callable,
        sides: Callable,
        where: dict,
        **ranges: Any,
    ) -> Proof:
        """``sides``: the unit, the slope and p + 1 units, in nu or w = z^(p-1) and the distance e
        between them.
        """
        at = [x for x in points if (x["z"] ** (x["p"] - 1) >= x["nu"]) == large]
        more: dict[str, Any] = {"p": (1, None), "e": (0, None)} | ranges
        below = prove_le("below", lambda **x: sides(**x)[:2], where=where, **more)
        above = prove_le("above", lambda **x: sides(**x)[1:], where=where, **more)
        return conjunction(
            what,
            below.crosschecked(at, least, slope),
            above.crosschecked(at, slope, lambda p, **x: (p + 1) * unit(p=p, **x)),
        )

    def of_large(p: Any, nu: Any, e: Any) -> tuple[Any, ...]:
        w = nu + e
        return p * w, p * w + nu, (p + 1) * w

    def of_small(p: Any, w: Any, e: Any) -> tuple[Any, ...]:
        nu = w + e
        return nu, p * w + nu, (p + 1) * nu

    w, nu = (lambda p, nu, z: z ** (p - 1)), (lambda p, nu, z: nu)
    above, below = {"e": "z**(p - 1) - nu"}, {"w": "z**(p - 1)", "e": "nu - z**(p - 1)"}
    p_w = lambda p, nu, z: p * z ** (p - 1)
    return {
        "large": both(
            r"$pw \le \sigma' \le (p + 1)w$", True, w, p_w, of_large, above, nu=(0, None)
        ),
        "small": both(
            r"$\nu \le \sigma' \le (p + 1)\nu$", False, nu, nu, of_small, below, w=(0, None)
        ),
    }


@functools.cache
def softmax(
    lemma_e_16: Callable, lemma_e_16_bound: Callable, lemma_e_17: Callable
) -> dict[str, Proof]:
    """Softmax under a move of its scores by at most M: Lemmas E.16 (corrected) and E.17, for any
    number of entries.

    The entry i is multiplied by rho_i = e^(b_i - a_i)/sum_k softmax(a)_k e^(b_k - a_k), which lies
    in [1/E, E], E = e^(2M). So |rho_i - 1| <= E - 1, as 1 - 1/E <= E - 1 (``ratio``): E.17. For
    E.16, with A = sum softmax(a)_m <v, X_m>, B the same for b and A' that of |<v, X_m>|: |A - B| <=
    A' (E - 1), |A| <= A', |B| <= A' E, so that |A^q - B^q| <= |A - B| sum_j |A|^j |B|^(q-1-j) <=
    A'^q (E - 1)(1 + E + ... + E^(q-1)) = A'^q (E^q - 1) (``power``, q = p - 1).
    """
    import sympy

    E = sympy.symbols("E", positive=True)
    powers, at, where = range(1, 9), [{"M": M} for M in (0.0, 0.5, 10.0)], {"E": "exp(2*M)"}
    x, u = _row(0.3, -1.0, 0.2), _row(0.5, 0.1, 0.4)

    def fall(M: float) -> float:
        """The largest fall: an entry of weight e^-40 loses M and the other gains it."""
        before = _row(-40.0, 0.0)
        return float((lemma_e_17(before, _row(-40.0 - M, M))[0] / torch.softmax(before, 0))[0])

    def rise(M: float) -> float:
        """The bound on the rise of any entry."""
        return float(lemma_e_17(x, x + M * _row(1.0, 0.0, -1.0))[1][0] / torch.softmax(x, 0)[0])

    def bounds(M: float) -> list[float]:
        return [
            float(lemma_e_16_bound(x, x + M, u, q + 1) / lemma_e_16(x, u, q + 1)) for q in powers
        ]

    telescope = prove_identity(
        r"$(E - 1)(1 + E + \dots + E^{q-1}) = E^q - 1$",
        sympy.Matrix([(E - 1) * sum(E**j for j in range(q)) for q in powers]),
        sympy.Matrix([E**q - 1 for q in powers]),
        where=where,
        sizes="q = p - 1 <= 8; for every q the sum telescopes",
    )
    ratio = prove_le(r"$1 - 1/E \le E - 1$", lambda E: (1 - 1 / E, E - 1), where=where, E=(1, None))
    return {
        "ratio": ratio.crosschecked(at, fall, rise),
        "power": telescope.crosschecked(at, right=bounds),
    }


@functools.cache
def lipschitz(lemma_e_12: Callable) -> Proof:
    """psi(x) = S(-sum x_m^p) is p-Lipschitz where every x_m^p >= -1/D (Lemma E.12), for every odd p
    >= 3 and D.

    |grad psi| = p S'(z) |(x_m^(p-1))|_2 with z = sum x_m^p. Let t be the sum over the positive x_m:
    the negative ones add at least -1 to z and have sum |x_m|^p <= 1, so |.|_2^2 <= t^(2 - 2/p) + 1
    <= max(1, t^2) + 1 (p-norms fall with p). For t <= 1 S' <= 1/4 and p sqrt(2)/4 < p; for t >= 1
    S'(z) <= S'(t - 1) = 1/(4 cosh((t - 1)/2)^2), and (t^2 + 1)/16 stays below cosh^4, that is (t^2
    + 1) v^4 < (1 + v^2)^4 in v = e^((1 - t)/2), t = 1 - 2 log v.
    """

    def near(v: Any) -> tuple[Any, Any]:
        return ((1 - 2 * v.log()) ** 2 + 1) * v**4, (1 + v**2) ** 4

    def far(v: Any) -> tuple[Any, Any]:
        return (v**2 + 2 * v * entropy(v)) ** 2 + v**4, (1 + v**2) ** 4

    def over_p(t: float) -> float:
        """v^4 over the square of S'(z), with one positive entry, x^p = t, and a negative one that
        takes off all of 1: z = t - 1.
        """
        s = float(lemma_e_12(_row(t ** (1 / 3), -1.0), 3))
        return math.exp((1 - t) / 2) ** 4 / (s * (1 - s)) ** 2

    def crosschecked(proof: Proof, *sums: float) -> Proof:
        return proof.crosschecked(
            [{"t": t} for t in sums],
            lambda t: math.exp((1 - t) / 2) ** 4 * (max(1, t**2) + 1),
            over_p,
        )

    what, where = r"$(|\nabla\psi|/p)^2 < 1$", {"v": "exp((1 - t)/2)"}
    border = 1 - 2 * math.log(0.3)  # v = 0.3; at t = 43 it is 0
    return conjunction(
        r"$|\nabla\psi|/p < 1$, $t$ = the sum of the positive $x_m^p$",
        crosschecked(prove_less(what, near, where=where, v=("0.3", 1)), 1.0, 1.5, border),
        crosschecked(prove_less(what, far, where=where, v=(0, "0.3")), border, 43.0),
    )


@functools.cache
def symmetry() -> dict[str, Proof]:
    """F = sum_i sigma(z_i) under permutations, with symbols: own-row-exchange (``rows``), Lemmas
    I.1 and 4.1 (the others).

    ``rows``: permuting the rows of A permutes the z_i, which are summed. ``groups``: permutations
    within groups and of groups keep A of three values, A_{pi(i) pi(j)} = A_ij, so they permute the
    z_i too: all eight at D = 4, C = 2, and at every size, as only "same patch, same group, other
    group" enters. ``orbits``: they carry any pair of patches to any other of its kind. They keep
    the law of the images (the signal group is uniform, all other patches are alike), hence the risk
    and, where A has three values, its gradient, which is then equal on each kind of pairs: descent
    keeps the three values (Lemma 4.1).
    """
    import sympy

    D, C = 4, 2
    X = sympy.symbols(f"x1:{D + 1}")
    free: Any = sympy.Matrix(D, D, sympy.symbols(f"s1:{D * D + 1}"))
    beta, gamma, rho = sympy.symbols("beta gamma rho")
    three = sympy.Matrix(D, D, lambda i, j: beta if i == j else gamma if i // C == j // C else rho)

    def rows(S: Any, x: Any) -> list[Any]:
        return sorted(
            (sum(S[i, j] * x[j] for j in range(D)) for i in range(D)), key=sympy.default_sort_key
        )

    def keeps(order: tuple[int, ...]) -> bool:
        return (
            len({order[i] // C for i in range(C)}) == 1
            and len({order[i] // C for i in range(C, D)}) == 1
        )

    orders = list(itertools.permutations(range(D)))
    keeping = [order for order in orders if keeps(order)]
    pairs = [
        pair
        for pair in itertools.permutations(itertools.permutations(range(D), 2), 2)
        if three[pair[0]] == three[pair[1]]
    ]
    # the same sums, of the transformer at weights S = softmax(A)
    scores, inputs = (
        torch.sin(torch.arange(16, dtype=torch.float64)).reshape(D, D),
        _row(0.4, -1.0, 2.0, 0.3),
    )
    values = dict(zip(X, inputs.tolist()))

    def crosschecked_values(proof: Proof, S: Any, A: torch.Tensor, free: dict[Any, float]) -> Proof:
        vit = PositionalViT(A, _row(1.0))
        ours = sorted(float(z.subs(values | free)) for z in rows(S, X))
        return proof.crosschecked_values(
            "z", [ours], [sorted((vit.preactivations(inputs[None, :, None])[0] / D).tolist())]
        )

    weights = PositionalViT(scores, _row(1.0)).weights.flatten().tolist()
    of_three = PositionalViT(three_values(D, C, 1.0, 0.5, -0.3), _row(1.0)).weights
    levels = {beta: float(of_three[0, 0]), gamma: float(of_three[0, 1]), rho: float(of_three[0, 2])}
    kinds = [int(x) for x in three.subs({beta: 3, gamma: 2, rho: 1})]
    argued = f"every D and C, from D = {D}, C = {C}"
    permuted = prove_by_cases(
        "the $z_i$ of permuted rows are the $z_i$ permuted",
        lambda *order: rows(sympy.Matrix([free.row(i) for i in order]), X) == rows(free, X),
        orders,
        name="order",
        argued=argued,
    )
    within = prove_by_cases(
        "the $z_i$ of permuted patches are the $z_i$ permuted",
        lambda *order: rows(three, [X[i] for i in order]) == rows(three, X),
        keeping,
        name="order",
        argued=argued + ": only same patch, same group, other group enters",
    )
    carried = prove_by_cases(
        "pairs of one kind are carried to each other",
        lambda one, other: any(tuple(order[i] for i in one) == other for order in keeping),
        pairs,
        name="pairs",
        argued=argued,
    )
    return {
        "rows": crosschecked_values(permuted, free, scores, dict(zip(free, weights))),
        "groups": crosschecked_values(within, three, three_values(D, C, 1.0, 0.5, -0.3), levels),
        "orbits": carried.crosschecked_values(
            "kinds of pairs", [kinds], [three_values(D, C, 3.0, 2.0, 1.0)]
        ),
    }


@functools.cache
def crowd() -> Proof:
    """P[|N| > C] >= 1/4 where s = q n >= 9 C^2, N the sum of n >= 1 strays: the inequality of Paley
    and Zygmund.

    It says P[N^2 > C^2] >= (1 - C^2/E N^2)^2 (E N^2)^2/E N^4, with E N^2 = s and E N^4 = s + 3 s^2
    (1 - 1/n). Over s^2, in x = s/C^2 >= 9, e = 1/s <= 1/9 (as C >= 1) and m = 1/n, for all three.
    """
    cases = [(1, 9, 1.0), (1, 40, 0.5), (2, 60, 0.7), (4, 192, 0.9), (3, 1000, 0.25)]
    at = [{"C": C, "n": n, "q": q, "s": n * q} for C, n, q in cases]

    def of_law(C: int, n: int, q: float, s: float) -> float:
        values, chance = stray_law(n, q)
        second, fourth = (float(chance @ values.astype(float) ** k) for k in (2, 4))
        return (second - C**2) ** 2 / fourth

    proof = prove_le(
        r"$1/4 \le (1 - C^2/s)^2\,s^2/E[N^4]$",
        lambda x, e, m: (Fraction(1, 4), (1 - 1 / x) ** 2 / (3 * (1 - m) + e)),
        where={"x": "s/C**2", "e": "1/s", "m": "1/n"},
        x=(9, None),
        e=(0, Fraction(1, 9)),
        m=(0, 1),
        opened=("e",),
    )
    return proof.crosschecked(at, 0.25, of_law, inside={"m = 0": "n = oo", "m = 1": "n >= s >= 9"})


@functools.cache
def strays() -> dict[str, Proof]:
    """Lemmas K.3 and K.4: N strays with m = q(D - C) >= 1 on average, and those in one group of C.

    K.3: Chernoff's bound P[N >= a] <= exp(-a log(a/m) + a - m) at a = c m L, L = log d, c L >= 1,
    is at most 1/d for all m >= 1 where cL (log(cL) - 1) + 1 >= L: for c = 3 and d >= 3 (``three``),
    and for c = 1 and d >= 548 (``one``); from L = 100 on divided by L, in g = log(L/100).

    K.4: P[at least k] <= binom(C, k) q^k, the union over the sets of k patches; binom(C, k) is
    below 2^C and C^k. ``group`` divides by q^k and shows it exactly for C <= 8.
    """
    from scipy.stats import binom

    def group(C: int, k: int, q: Any) -> tuple[Any, Any]:
        return sum(
            math.comb(C, j) * q ** (j - k) * (1 - q) ** (C - j) for j in range(k, C + 1)
        ), math.comb(C, k)

    def chernoff(c: int, start: str, hundred: tuple[float, str]) -> Proof:
        def exponent(L: float) -> float:
            """The exponent, from the mean of e^(sN) for mean 1, at s = log(cL)."""
            s = math.log(c * L)
            return s * c * L - (math.exp(s) - 1)

        what = rf"$L \le {c} L (\log({c} L) - 1) + 1$, $L = \log d$"
        near = prove_less(
            what,
            lambda L: (L, c * L * ((c * L).log() - 1) + 1),
            where={"L": "log(d)"},
            L=(start, 100),
        )
        far = prove_le(
            what + ", divided by L",
            lambda g, h, w: (1, c * (h + g - 1) + w),
            where={"g": "log(log(d)/100)", "h": f"log(100*{c})", "w": "1/log(d)"},
            g=(0, None),
            h=hundred,
            w=(0, 0.01),
        )
        at, at_far = (
            [{"d": math.exp(L)} for L in logs]
            for logs in ((float(start), 10.0, 100.0), (100.0, 600.0))
        )
        return conjunction(
            rf"$P[N \ge {c} m \log d] \le 1/d$ for $m \ge 1$".replace("1 m", "m"),
            near.crosschecked(at, lambda d: math.log(d), lambda d: exponent(math.log(d))),
            far.crosschecked(
                at_far,
                1.0,
                lambda d: exponent(math.log(d)) / math.log(d),
                rounded=("h",),
                inside={"w = 0": "d = oo"},
            ),
        )

    tails = []
    for C, k in itertools.product(range(1, 9), repeat=2):
        if k <= C:
            subsets = len(list(itertools.combinations(range(C), k)))
            proof = prove_le(f"C = {C}, k = {k}", functools.partial(group, C, k), q=(0, 1))
            tails.append(
                proof.crosschecked(
                    [{"q": q} for q in (1e-10, 0.7)],
                    lambda q: binom.sf(k - 1, C, q) / q**k,
                    subsets,
                    inside={"q = 1": "the sum is its last term, 1"},
                )
            )
    return {
        "three": chernoff(3, "1.098", (5.703, "5.704")),
        "one": chernoff(1, "6.306", (4.605, "4.606")),
        "group": conjunction(
            r"$P$[at least $k$ of $C$] $\le \binom{C}{k} q^k$, $k \le C \le 8$ (every $C$: union "
            r"bound)",
            *tails,
        ),
    }


@functools.cache
def row_sums() -> dict[str, Proof]:
    """Lambda + (C - 1) Gamma + (D - C) Xi = 1 (equation-lambda corrected), hence Lemma G.4 with
    bound 1, always.

    A row of softmax of three values: beta once, gamma C - 1 times, rho D - C times. G.4: a sum of D
    - C numbers |delta| <= 1 in the place of D - C. Its weights are divided by that of the row's own
    patch, so that y = e^(gamma - beta) and z = e^(rho - beta) stand for all real scores.
    """
    import sympy

    x, y, z, C, D = sympy.symbols("x y z C D", positive=True)  # e^beta, e^gamma, e^rho
    total = x + (C - 1) * y + (D - C) * z
    cases = [(6, 2, 1.0, -0.5, -0.3), (12, 4, 0.2, 2.0, 0.1), (3, 3, 0.0, 0.7, 0.0)]
    at = [
        SimpleNamespace(
            **dict(D=D, C=C, x=math.exp(b), y=math.exp(g), z=math.exp(r), s=0.4 * (D - C)),
            row=PositionalViT(three_values(D, C, b, g, r), _row(1.0)).weights[0],
        )
        for D, C, b, g, r in cases
    ]
    adds_up = prove_identity(
        r"$\Lambda + (C - 1)\Gamma + (D - C)\Xi = 1$",
        (x + (C - 1) * y + (D - C) * z) / total,
        1,
        nonzero=[total],
    )
    part = prove_le(
        r"$\Lambda + (C - 1)\Gamma + \Xi s \le 1$, $s$ = the sum of $|\delta|$, "
        r"$y = e^{\gamma - \beta}$, $z = e^{\rho - \beta}$",
        lambda y, z, C, s, e: ((1 + (C - 1) * y + s * z) / (1 + (C - 1) * y + (s + e) * z), 1),
        where={"e": "D - C - s"},
        y=(0, None),
        z=(0, None),
        C=(1, None),
        s=(0, None),
        e=(0, None),
    )
    return {
        "sum": adds_up.crosschecked(at, lambda p: p.row.sum()),
        "g.4": part.crosschecked(
            [SimpleNamespace(**vars(p) | {"y": p.y / p.x, "z": p.z / p.x}) for p in at],
            lambda p: float(p.row[: p.C].sum() + (0.4 * p.row[p.C :]).sum()),
            1.0,
        ),
    }


@functools.cache
def gradients(lemma_h_1: Callable, lemma_h_2: Callable) -> dict[str, Proof]:
    """Lemmas H.1 and H.2, corrected: the gradients of log(1 + e^(-yF)) with respect to v and A.

    F = sum_i sigma(z_i), z_i = D sum_r S_ir <v, X_r>, S = softmax(A/sqrt(d)). By the chain rule
    each is the slope of the loss (``loss``: -y S(-yF), with the sign that the paper leaves out)
    times sum_i sigma'(z_i) times the derivative of z_i (``h.1``, ``h.2``, the latter with the
    1/sqrt(d)). D = 3 and d = 2 with symbols stand for all sizes: an entry of A meets its own row
    only, in which it is one term and the other D - 1 enter alike, and v meets each coordinate
    alike.
    """
    import sympy

    D, d = 3, 2
    y, F = sympy.symbols("y F", real=True)
    v, e, u = (
        sympy.symbols(f"v1:{d + 1}"),
        sympy.symbols(f"e1:{D + 1}", positive=True),
        sympy.symbols(f"u1:{D + 1}"),
    )
    X: Any = sympy.Matrix(D, d, sympy.symbols(f"x1:{D * d + 1}"))
    S = [term / sum(e) for term in e]  # e_r = e^(A_ir/sqrt(d)), so d/dA_ir = e_r/sqrt(d) d/de_r
    z: Any = D * sum(S[r] * u[r] for r in range(D))
    seen = z.subs(dict(zip(u, X * sympy.Matrix(v))))
    root = sympy.sqrt(d)
    tokens, scores = (
        torch.sin(torch.arange(6.0).double()).reshape(D, d),
        torch.cos(torch.arange(9.0).double()).reshape(D, D),
    )
    value, label = _row(0.5, -0.2), 1.0
    scores, value = scores.requires_grad_(), value.requires_grad_()
    vit = PositionalViT(scores, value, nu=0.0)
    carried, exponentials = tokens @ value.detach(), torch.exp(scores.detach() / math.sqrt(d))
    at = [letters(e=exponentials[i], x=tokens.flatten(), u=carried) for i in range(D)]
    seen_by = vit.preactivations(tokens[None])[0]
    of_v = [torch.autograd.grad(z, value, retain_graph=True)[0] for z in seen_by]
    of_A = [torch.autograd.grad(z, scores, retain_graph=True)[0][i] for i, z in enumerate(seen_by)]
    outer = (
        label * torch.sigmoid(-label * vit(tokens[None])) * vit.activation_slope(seen_by)
    ).tolist()
    margins = [{"y": label, "F": F} for label in (-1.0, 1.0) for F in (-2.0, 0.3)]
    fixed = scores.detach(), value.detach()

    def slope(y: float, F: float) -> Tensor:
        at = torch.tensor(F, dtype=torch.float64, requires_grad=True)
        return torch.autograd.grad(torch.log1p(torch.exp(-y * at)), at)[0]

    def in_all(proof: Proof, printed: Any) -> Proof:
        """The printed gradient is made of these rows."""
        rows = [[w * float(x) for x in proof.at(point)[1].flat] for w, point in zip(outer, at)]
        return proof.crosschecked_values(
            "printed gradient",
            [rows if printed.ndim > 1 else [sum(c) for c in zip(*rows)]],
            [printed],
        )

    h_1 = prove_identity(
        r"$dz_i/dv = D \sum_r S_{ir} X_r$",
        sympy.Matrix([sympy.diff(seen, x) for x in v]),
        sympy.Matrix([D * sum(S[r] * X[r, c] for r in range(D)) for c in range(d)]),
        sizes=f"D = {D}, d = {d}; all entries alike",
    ).crosschecked(at, of_v, of_v)
    h_2 = prove_identity(
        r"$dz_i/dA_{ij} = D/\sqrt{d} S_{ij} \sum_r S_{ir} \langle v, X_j - X_r\rangle$",
        sympy.Matrix([e[j] / root * sympy.diff(z, e[j]) for j in range(D)]),
        sympy.Matrix(
            [
                D / root * S[j] * sum(S[r] * (u[j] - u[r]) for r in range(D) if r != j)
                for j in range(D)
            ]
        ),
        sizes=f"D = {D}, d = {d}; all entries alike",
    ).crosschecked(at, of_A, of_A)
    return {
        "loss": prove_identity(
            "d/dF log(1 + e^(-yF)) = -y S(-yF)",
            sympy.diff(sympy.log(1 + sympy.exp(-y * F)), F),
            -y / (1 + sympy.exp(y * F)),
        ).crosschecked(margins, slope),
        "h.1": in_all(h_1, lemma_h_1(tokens, label, *fixed, nu=0.0)),
        "h.2": in_all(h_2, lemma_h_2(tokens, label, *fixed, nu=0.0) / math.sqrt(d)),
    }


@functools.cache
def first_step() -> dict[str, Proof]:
    """Growth of the scores at gamma = rho = 0, p = 3, small alpha, no linear part, for all sizes:
    it is :func:`attention_theory.patches.population.initial_growth`.

    With T the sum of what all patches carry, row i sees T + a x_i, a = e^beta - 1, times Xi = 1/(D
    + a) (and D alpha), so that score ij grows like E (T + a x_i)^2 (x_j - Xi (T + a x_i)), label 1.
    Row i is in the signal group with chance C/D: then T + a x_i = C + a + N, N the strays, of
    variance q (D - C), third moment 0 and E N x_j = q. Else it is C + N + a x_i with the variance
    V, and a stranger j is in the signal group with chance C/(D - C). r = D - C below. ``lead``: the
    bracket of g_gamma - g_rho is not negative.
    """
    import sympy

    C, r = sympy.symbols("C r", positive=True)
    a, q = sympy.symbols("a q", real=True)
    D = C + r
    V = q * (r - 1) + q * (1 + a) ** 2
    own = ((C + a) ** 3 + 3 * (C + a) * q * r) / (D + a)
    other = (C**3 + 3 * C * V) / (D + a)
    partner = C / D * ((C + a) ** 2 + q * r - own) + r / D * (2 * C * q - other)
    stranger = (
        C / D * (2 * (C + a) * q - own)
        + C / D * (C**2 + V)
        + (r - C) / D * 2 * C * q
        - r / D * other
    )
    g_gamma = a * C * r / (D * (D + a)) * (2 * C + a - 3 * q * (2 + a))
    bracket = a * C / D * (2 * C - 4 * q + a * (1 - q))
    at = [
        {"D": D, "C": C, "q": q, "beta": beta}
        for D, C, q, beta in (
            (6, 2, 0.3, 0.5),
            (9, 3, 0.7, 1.0),
            (8, 4, 0.1, 2.0),
            (12, 4, 0.6, 1.0),
            (8, 2, 1.0, -0.5),
        )
    ]
    sure = [{"D": 9, "C": 3, "q": q, "beta": 0.5} for q in (0.0, 1.0)]
    counted = functools.cache(functools.partial(initial_growth_enumerated, alpha=1e-5))
    growth = lambda side, found: lambda **x: found(*x.values())[side]
    where = {"r": "D - C", "a": "exp(beta) - 1"}

    def lead(D: int, C: int, q: float, beta: float) -> float:
        inside, outside = counted(D, C, q, beta)
        return (inside - outside) * D / (math.expm1(beta) * C)

    return {
        "inside": prove_identity(
            r"$g_\gamma$", partner, g_gamma, nonzero=(D + a,), where=where
        ).crosschecked(at, growth(0, counted), growth(0, initial_growth)),
        "outside": prove_identity(
            r"$g_\rho$", stranger, g_gamma - bracket, nonzero=(D + a,), where=where
        ).crosschecked(at, growth(1, counted), growth(1, initial_growth)),
        "lead": prove_le(
            r"$0 \le 2C - 4q + a(1 - q)$",
            lambda C, q, a: (0, 2 * C - 4 * q + a * (1 - q)),
            where={"a": "exp(beta) - 1"},
            C=(2, None),
            q=(0, 1),
            a=(0, None),
        ).crosschecked([*at[:2], *sure], 0.0, lead),
    }
