"""The formulas of deng2023 as the paper prints them, right or wrong (version 2, 13 March 2026).

One function a statement, named after it. Nothing in the library imports this module: it is what the
library is compared with. Lemmas that list bounds are dictionaries of
:class:`~attention_checks.separation.parts.Part`, with the printed rows and columns. Rows and
columns are counted from 0 here.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from theorybook.validation import (
    AtLeastOne,
    Bit,
    Count,
    Natural,
    NonNegative,
    OpenChance,
    Positive,
    Signed,
)
from torch import Tensor

from attention_checks.separation.parts import Layer, Part

# Sections 3 to 5: softmax regression
# ---------------------------------------------------------------------------------


def definition_3_2(A: Float[Tensor, "n d"], x: Float[Tensor, " d"]) -> Float[Tensor, " n"]:
    """f_lin (deng2023, Definition 3.2)."""
    u = A @ x
    return u / u.sum()


def definition_3_3(A: Float[Tensor, "n d"], x: Float[Tensor, " d"]) -> Float[Tensor, " n"]:
    """f_exp (deng2023, Definition 3.3)."""
    u = torch.exp(A @ x)
    return u / u.sum()


def definition_3_4(z: Signed, tau: Signed = 0.0) -> float:
    """phi_tau, the shifted ReLU (deng2023, Definition 3.4)."""
    return max(z - tau, 0.0)


def definition_3_5(f: Float[Tensor, " n"], y: Float[Tensor, "n m"], tau: Signed) -> float:
    """F_exp, or with f_lin in place of f_exp F_lin (deng2023, Definitions 3.5 and 3.6)."""
    return definition_3_4(sum(definition_3_4(float(f @ y[:, j]), tau) for j in range(y.shape[1])))


def definition_3_7(n: Count, delta: OpenChance, C: AtLeastOne) -> int:
    """The number of readouts m, rounded up (deng2023, Definition 3.7: some constant C > 1)."""
    return math.ceil(C * math.log(n / delta))


def definition_3_8(Ax: Float[Tensor, " n"], dataset: Bit) -> bool:
    """Whether scores belong to the data set (deng2023, Definition 3.8); ranges up to rounding."""
    log_n = math.log(len(Ax))
    ordinary = [s for s in Ax if log_n - 1e-9 <= s <= 1.4 * log_n + 1e-9]
    special = [s for s in Ax if abs(s - 4 * log_n) < 1e-9]
    return len(ordinary) == len(Ax) - dataset and len(special) == dataset


def lemma_3_1(t: NonNegative, a: Float[Tensor, " n"], b: Float[Tensor, " n"]) -> float:
    """Hoeffding's bound on Pr[|X - EX| >= t] for X_i in [a_i, b_i] (deng2023, Lemma 3.1)."""
    return 2 * math.exp(-2 * t**2 / float(((b - a) ** 2).sum()))


def lemma_4_1(n: Count, delta: OpenChance, C: Positive, part: Natural) -> float:
    """Bound on |<f, sigma>| on D0: Part 1 linear, Part 2 softmax (deng2023, Lemma 4.1)."""
    return C * math.sqrt(math.log(n / delta)) / (math.sqrt(n) if part == 1 else n**0.1)


def lemma_4_2(n: Count, delta: OpenChance, C: Positive) -> float:
    """Bound on |<f_lin, sigma>| on D1 (deng2023, Lemma 4.2 Part 1)."""
    return C * math.sqrt(math.log(n / delta) / n)


# Section 1 and appendix C: attention
# ---------------------------------------------------------------------------------


def equation_1(
    A1: Tensor, A2: Tensor, X: Tensor, Y: Tensor, transform: Callable[[Tensor], Tensor]
) -> Float[Tensor, "n d"]:
    """D(X)^-1 exp(A1 X A2^T) A2 Y with D(X) = diag(exp(A1 X A2^T) 1) (deng2023, Equation 1; it
    prints D(X) as d x d).
    """
    u = transform(A1 @ X @ A2.T)
    D = torch.diag(u @ torch.ones(len(A2)).to(u))
    return torch.linalg.inv(D) @ u @ A2 @ Y


def definition_c_1(
    A1: Float[Tensor, "n d"],
    A2: Float[Tensor, "n d"],
    A3: Float[Tensor, "n d"],
    QK: Float[Tensor, "d d"],
) -> tuple[Tensor, Tensor, Tensor]:
    """u_lin, f_lin and c_lin through A1 kron A2, with V = I (deng2023, Definition C.1)."""
    n, d = A1.shape
    blocks = torch.kron(A1, A2).reshape(n, n, d * d)
    u = blocks @ QK.reshape(-1)  # vec stacks rows
    f = u / u.sum(1, keepdim=True)
    return u, f, f @ A3


def definition_c_4(
    A1: Float[Tensor, "n d"],
    A2: Float[Tensor, "n d"],
    A3: Float[Tensor, "n d"],
    QK: Float[Tensor, "d d"],
) -> tuple[Tensor, Tensor, Tensor]:
    """u_exp, f_exp and c_exp through A1 kron A2, with V = I (deng2023, Definition C.4)."""
    n, d = A1.shape
    blocks = torch.kron(A1, A2).reshape(n, n, d * d)
    u = torch.exp(blocks @ QK.reshape(-1))
    f = u / u.sum(1, keepdim=True)
    return u, f, f @ A3


def definition_c_6(c: Float[Tensor, "n d"], y: Float[Tensor, "d m"], tau: Signed) -> float:
    """F of the features c (deng2023, Definitions C.2 and C.6; C.6 prints y as n x m)."""
    n, m = len(c), y.shape[1]
    return definition_3_4(
        sum(definition_3_4(float(c[j] @ y[:, l]), tau) for j in range(n) for l in range(m))
    )


def section_7_success(c: list[Float[Tensor, "n d"]], y: Float[Tensor, "d m"], tau: Signed) -> bool:
    """E_success: F_exp(D1) > 0, F_lin(D1) = F_exp(D0) = F_lin(D0) = 0, features in this order
    (deng2023, section 7).
    """
    F = [definition_c_6(features, y, tau) for features in c]
    return F[0] > 0 and F[1] == F[2] == F[3] == 0


# Appendix D: self-attention, QK^T = all ones
# -------------------------------------------------------------------------


def definition_d_1(
    n: Count, d: Count, a: NonNegative, b: NonNegative, c: NonNegative, j3: Natural = 0
) -> Float[Tensor, "n d"]:
    """The self-attention data (deng2023, Definitions 6.1 and D.1): D0 with a = a0, D1 with a =
    a1.
    """
    A = torch.zeros(n, d, dtype=torch.float64)
    A[j3, 0] = a
    for row in range(n):
        A[row, 1 + row % (d - 2)] = b
    A[:, d - 1] = c
    return A * math.sqrt(math.log(n))


def theorem_6_2(n: AtLeastOne, c: NonNegative) -> float:
    """The threshold tau (deng2023, Theorems 6.2, D.5 to D.17 and E.4)."""
    return (c + 0.1) * math.sqrt(math.log(n))


def theorem_d_5(n: Count, delta: OpenChance) -> float:
    """How likely F_exp(D1) = 0 may be: delta/poly(n), with poly(n) = n (deng2023, Theorem D.5; so
    D.9, D.13, D.17 and E.4).
    """
    return delta / n


def lemma_d_2(s: Layer) -> dict[str, Part]:
    """Scores u_exp and weights f_exp on D1 (deng2023, Lemma D.2)."""
    return {
        "1a": Part("u", "j3", "j3", "==", s.n ** ((1 + s.a) ** 2)),
        "1b": Part("u", "j3", "not j3", "==", s.n ** (1 + s.a)),
        "2a": Part("u", "not j3", "j3", "==", s.n ** (1 + s.a)),
        "2b": Part("u", "not j3", "not j3", "==", s.n),
        "3a": Part("f", "j3", "j3", ">=", 1 / 2),
        "3b": Part("f", "j3", "not j3", "<=", 1 / s.n),
        "4a": Part("f", "not j3", "j3", "<=", 1 / s.n ** (1 - s.a)),
        "4b": Part("f", "not j3", "any", "<=", 1 / s.n),  # repeats the condition j0 != j3
    }


def lemma_d_3(s: Layer) -> dict[str, Part]:
    """Features c_exp on D1 (deng2023, Lemma D.3)."""
    L = math.sqrt(math.log(s.n))
    return {
        "1": Part("c", "j3", "first", ">=", s.a * L / 2),
        "2a": Part("c", "j3", "blocks", "==", 1, counting=s.b * L / 2),  # only one is this large
        "2b": Part("c", "j3", "other blocks", "<=", s.t / s.n * s.b * L),
        "3": Part("c", "j3", "last", "==", s.c * L),
        "4": Part("c", "not j3", "first", "<=", s.a * L / s.n ** (1 - s.a)),
        "5": Part("c", "not j3", "blocks", "<=", s.t / s.n * s.b * L),
        "6": Part("c", "not j3", "last", "==", s.c * L),
    }


def lemma_d_6(s: Layer) -> dict[str, Part]:
    """Scores u_exp and weights f_exp on D0, of which it says D1: those of Lemma D.2 but for Part 3a
    (deng2023, Lemma D.6).
    """
    return lemma_d_2(s) | {"3a": Part("f", "j3", "j3", "<=", 1 / s.n ** (1 - 2 * s.a))}


def lemma_d_7(s: Layer) -> dict[str, Part]:
    """Features c_exp on D0 (deng2023, Lemma D.7)."""
    L = math.sqrt(math.log(s.n))
    return {
        "1": Part("c", "j3", "first", "<=", s.a * L / s.n ** (1 - 2 * s.a)),
        "2": Part("c", "j3", "blocks", "<=", s.t * s.b * L / s.n ** (1 - 2 * s.a)),
        "2a": Part(
            "c", "j3", "block of j3", "<=", (1 / s.n ** (1 - 2 * s.a) + (s.t - 1) / s.n) * s.b * L
        ),
        "2b": Part("c", "j3", "other blocks", "<=", s.t / s.n * s.b * L),
        "3": Part("c", "j3", "last", "==", s.c * L),
        "4": Part("c", "not j3", "first", "<=", s.a * L / s.n ** (1 - s.a)),
        "5": Part("c", "not j3", "blocks", "<=", s.t * s.b * L / s.n ** (1 - s.a)),
        "5a": Part(
            "c", "not j3", "block of j3", "<=", (1 / s.n ** (1 - s.a) + (s.t - 1) / s.n) * s.b * L
        ),
        "5b": Part("c", "not j3", "other blocks", "<=", s.t / s.n * s.b * L),
        "6": Part("c", "not j3", "last", "==", s.c * L),
    }


def lemma_d_10(s: Layer) -> dict[str, Part]:
    """Scores u_lin and weights f_lin on D1; Lemma D.14 prints the same on D0, with QK^T = I
    (deng2023, Lemmas D.10, D.14).
    """
    log_n = math.log(s.n)
    return {
        "1a": Part("u", "j3", "j3", "==", (1 + s.a) ** 2 * log_n),
        "1b": Part("u", "j3", "not j3", "==", (1 + s.a) * log_n),
        "2a": Part("u", "not j3", "j3", "==", (1 + s.a) * log_n),
        "2b": Part("u", "not j3", "not j3", "==", log_n),
        "3a": Part("f", "j3", "j3", "<=", (1 + s.a) / s.n),
        "3b": Part("f", "j3", "not j3", "<=", 1 / s.n),
        "4a": Part("f", "not j3", "j3", "<=", (1 + s.a) / s.n),
        "4b": Part("f", "not j3", "any", "<=", 1 / s.n),  # repeats the condition j0 != j3
    }


def lemma_d_11(s: Layer) -> dict[str, Part]:
    """Features c_lin on D1; Lemma D.15 prints the same on D0 (deng2023, Lemmas D.11 and D.15)."""
    L = math.sqrt(math.log(s.n))
    return {
        "1": Part("c", "j3", "first", "<=", (1 + s.a) / s.n * s.a * L),
        "2": Part("c", "j3", "blocks", "<=", (1 + s.a) / s.n * s.t * s.b * L),
        "3": Part("c", "j3", "last", "==", s.c * L),
        "4": Part("c", "not j3", "first", "<=", (1 + s.a) / s.n * s.a * L),
        "5": Part("c", "not j3", "blocks", "<=", (1 + s.a) / s.n * s.t * s.b * L),
        "6": Part("c", "not j3", "last", "==", s.c * L),
    }


# Appendix E: self-attention, QK^T = I
# --------------------------------------------------------------------------------


def lemma_e_1(s: Layer) -> dict[str, list[Part]]:
    """Scores u_exp and weights f_exp on D1, for b^2 + c^2 = 1 (deng2023, Lemma E.1)."""
    near, far = s.n ** (s.b**2 + s.c**2), s.n ** (s.c**2)
    return {
        "1a": [Part("u", "j3", "j3", "==", s.n ** ((1 + s.a) ** 2))],
        "1b": [
            Part("u", "j3", "not j3", "==", s.t - 1, counting=near),
            Part("u", "j3", "own block", "==", near),
            Part("u", "j3", "not own block", "==", far),
        ],
        "2": [
            Part("u", "not j3", "any", "==", s.t - 1, counting=near),
            Part("u", "not j3", "not own block", "==", far),
        ],
        "3a": [Part("f", "j3", "j3", ">=", 1 / 2)],
        "3b": [Part("f", "j3", "not j3", "<=", 1 / s.n ** (1 - s.b**2))],
        "4a": [Part("u", "not j3", "own block", "<=", 1 / s.n ** (1 - s.b**2))],  # prints u for f
        "4b": [Part("u", "not j3", "not own block", "<=", 1 / s.n)],  # prints u for f
    }


def lemma_e_2(s: Layer) -> dict[str, Part]:
    """Features c_exp on D1; prints QK^T = all ones (deng2023, Lemma E.2)."""
    L = math.sqrt(math.log(s.n))
    return {
        "1": Part("c", "j3", "first", ">=", s.a * L / 2),
        "2a": Part("c", "j3", "blocks", "==", 1, counting=s.b * L / 2),
        "2b": Part("c", "j3", "other blocks", "<=", s.t / s.n ** (1 - s.b**2) * s.b * L),
        "3": Part("c", "j3", "last", "==", s.c * L),
        "4": Part("c", "not j3", "first", "<=", s.a * L / s.n ** (1 - s.b**2)),
        "5": Part("c", "not j3", "blocks", "<=", s.t / s.n ** (1 - s.b**2) * s.b * L),
        "6": Part("c", "not j3", "last", "==", s.c * L),
    }


# Appendix F: cross-attention, QK^T = I
# -------------------------------------------------------------------------------


def definition_f_1(
    n: Count, d: Count, a: NonNegative, j2: Natural, j3: Natural
) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n d"]]:
    """The cross-attention data A1 and A2 = A3 (deng2023, Definition F.1), with columns 2 to d where
    it prints 2 to d - 1.
    """
    A1, A2 = torch.zeros(n, d, dtype=torch.float64), torch.zeros(n, d, dtype=torch.float64)
    A1[j2, 0] = a * math.log(n)
    A2[j3, 0] = 1
    for row in range(n):
        A1[row, 1:] = math.log(n)
        A2[row, 1 + row % (d - 1)] = 1
    return A1, A2


#: The threshold tau (deng2023, Theorems F.5 to F.17).
THEOREM_F_5 = 0.9


def lemma_f_2(s: Layer) -> dict[str, Part]:
    """Scores u_exp and weights f_exp on D1 (deng2023, Lemma F.2)."""
    return {
        "1a": Part("u", "j2", "j3", "==", s.n ** (1 + s.a)),
        "1b": Part("u", "j2", "not j3", "==", s.n),
        "2a": Part("u", "not j2", "j3", "==", s.n),
        "2b": Part("u", "not j2", "not j3", "==", s.n),
        "3a": Part("f", "j2", "j3", ">=", 1 / 2),
        "3b": Part("f", "j2", "not j3", "<=", 1 / s.n),
        "4a": Part("f", "j2", "any", "==", 1 / s.n),  # "For j0 = j2"
        "4b": Part("f", "not j2", "any", "==", 1 / s.n),
    }


def lemma_f_3(s: Layer) -> dict[str, Part]:
    """Features c_exp on D1 (deng2023, Lemma F.3)."""
    return {
        "1": Part("c", "j2", "first", ">=", 1 / 2),
        "2a": Part("c", "j2", "blocks", "==", 1, counting=1 / 2),
        "2b": Part("c", "j2", "other blocks", "<=", s.t / s.n),
        "3": Part("c", "not j2", "first", "<=", 1 / s.n),
        "4": Part("c", "not j2", "blocks", "<=", s.t / s.n),
    }


def lemma_f_6(s: Layer) -> dict[str, Part]:
    """Scores u_exp and weights f_exp on D0, of which it says D1: those of Lemma F.2 but for Part 3a
    (deng2023, Lemma F.6).
    """
    return lemma_f_2(s) | {"3a": Part("f", "j2", "j3", "<=", 1 / s.n ** (1 - s.a))}


def lemma_f_7(s: Layer) -> dict[str, Part]:
    """Features c_exp on D0; prints j3 where j2 is meant (deng2023, Lemma F.7)."""
    return {
        "1": Part("c", "j3", "first", "<=", 1 / s.n ** (1 - s.a)),
        "2": Part("c", "j3", "blocks", "<=", s.t / s.n ** (1 - s.a)),
        "4": Part("c", "not j3", "first", "<=", 1 / s.n),
        "5": Part("c", "not j3", "blocks", "<=", s.t / s.n),
    }


def lemma_f_10(s: Layer) -> dict[str, Part | list[Part]]:
    """Scores u_lin and weights f_lin on D1 (deng2023, Lemma F.10)."""
    return {
        "1": Part("u", "j2", "j3", "==", (1 + s.a) * math.log(s.n)),
        "2": [
            Part("u", "not j2", "any", "==", math.log(s.n)),
            Part("u", "any", "not j3", "==", math.log(s.n)),
        ],
        "3": Part("f", "j2", "j3", "<=", (1 + s.a) / s.n),
        "4": Part("f", "j2", "not j3", "<=", 1 / s.n),
        "5": Part("f", "not j2", "any", "==", 1 / s.n),
    }


def lemma_f_11(s: Layer) -> dict[str, Part]:
    """Features c_lin on D1, of which it says D0; prints j3 where j2 is meant (deng2023, Lemma
    F.11).
    """
    return {
        "1": Part("c", "j3", "first", "<=", (1 + s.a) / s.n),
        "2": Part("c", "j3", "blocks", "<=", (1 + s.a) * s.t / s.n),
        "3": Part("c", "not j3", "first", "<=", 1 / s.n),
        "4": Part("c", "not j3", "blocks", "<=", s.t / s.n),
    }


def lemma_f_14(s: Layer) -> dict[str, Part]:
    """Scores u_lin and weights f_lin on D0, of which it says D1; prints j3 where j2 is meant
    (deng2023, Lemma F.14).
    """
    return {
        "1": Part("u", "j3", "j3", "==", (1 + s.a) * math.log(s.n)),
        "2": Part("u", "not j3", "not j3", "==", math.log(s.n)),
        "3": Part("f", "j3", "j3", "<=", (1 + s.a) / s.n),
        "4": Part("f", "j3", "not j3", "<=", 1 / s.n),
        "5": Part("f", "not j3", "any", "==", 1 / s.n),
    }


def lemma_f_15(s: Layer) -> dict[str, Part]:
    """Features c_lin on D0 (deng2023, Lemma F.15; it prints n = t (d - 2))."""
    return {
        "1": Part("c", "j2", "first", "<=", (1 + s.a) / s.n),
        "2": Part("c", "j2", "blocks", "<=", (1 + s.a) * s.t / s.n),
        "3": Part("c", "not j2", "first", "<=", 1 / s.n),
        "4": Part("c", "not j2", "blocks", "<=", s.t / s.n),
    }


# The experiments: settings as printed
# --------------------------------------------------------------------------------


def figure_3(panel: str) -> dict:
    """Settings of Figure 3 (deng2023, section 7.1): 1000 models a point; the text gives no tau and
    no data.
    """
    if panel == "a":
        return {"models": 1000, "n": list(range(100, 2001, 10)), "m": "log n"}
    return {"models": 1000, "n": 1000, "m": list(range(1, 101))}


def figure_4(panel: str) -> dict:
    """Settings of Figure 4 and, with X = 1, of Figure 5 (deng2023, section 7.2), panels by the
    letters of the text.

    100 models a point, delta = 0.01, m = max{log(n/delta), 15}. Panel f prints no a0.
    """
    settings = {
        "models": 100,
        "n": 200,
        "d": 22,
        "m": 15,
        "a0": 0.01,
        "a1": 1.2,
        "b": 0.2,
        "c": 0.8,
    }
    return settings | {
        "a": {"n": list(range(200, 1001, 10)), "d": 12},
        "b": {"n": 256, "d": [4, 6, 10, 18, 34, 66]},
        "c": {"m": list(range(1, 81))},
        "d": {"a1": [round(0.1 + 0.036 * i, 3) for i in range(81)]},
        "e": {"a0": [round(0.01 * i, 2) for i in range(1, 81)]},
        "f": {"c": [round(0.5 + 0.005 * i, 3) for i in range(81)]},
    }[panel]  # fmt: skip


def figure_7(panel: str) -> dict:
    """Settings of Figure 7 (deng2023, appendix F.6): 100 models a point, delta = 0.01, m =
    log(n/delta).

    Panels d and e print d = 12, which does not fit n = 200. Panel e prints a0 twice and no a1.
    """
    settings = {"models": 100, "n": 200, "d": 11, "m": "log(n/delta)", "a0": 0.01, "a1": 3}
    return settings | {
        "a": {"n": list(range(200, 1001, 10))},
        "b": {"d": [2, 3, 5, 6, 9, 11, 21, 26, 41, 51]},
        "c": {"m": list(range(1, 81))},
        "d": {"d": 12, "a1": [round(0.1 + 0.036 * i, 3) for i in range(81)]},
        "e": {"d": 12, "a0": [round(0.01 * i, 2) for i in range(1, 91)]},
    }[panel]  # fmt: skip
