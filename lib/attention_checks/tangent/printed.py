"""The formulas of cao2024 as printed, right or wrong, term by term. The library never imports this
module.

Weights are ``W`` (d, m) and ``a`` (outputs, m), inputs the rows of ``x``; the kernel stacks the
outputs: row l n + i.
"""

import itertools
import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from theorybook.validation import AtLeastOne, Count, NonNegative, Positive, Signed, Steps
from torch import Tensor

LN10 = math.log(10)


# A softmax network and its tangent kernel
# -----------------------------------------------------------------------------


def softmax(W: Float[Tensor, "d m"], x: Float[Tensor, " d"]) -> Float[Tensor, " m"]:
    """S = exp(W^T x) / <exp(W^T x), 1>."""
    e = torch.exp(W.T @ x)
    return e / e.sum()


def equation_1(
    W: Float[Tensor, "d m"], a: Float[Tensor, "outputs m"], x: Float[Tensor, "n d"]
) -> Float[Tensor, "n outputs"]:
    """F(W, x_i, a)_l = m <a_l, exp(W^T x_i)> / <exp(W^T x_i), 1>."""
    m = W.shape[1]
    exps = [torch.exp(W.T @ xi) for xi in x]
    return torch.stack([torch.stack([m * (al @ e) / e.sum() for al in a]) for e in exps])


def definition_3_1(
    W: Float[Tensor, "d m"], a: Float[Tensor, "outputs m"], x: Float[Tensor, "n d"]
) -> Float[Tensor, "n outputs"]:
    """F_li = m <a_l, S_i>."""
    return torch.stack([torch.stack([W.shape[1] * (al @ softmax(W, xi)) for al in a]) for xi in x])


def equation_2(
    W: Float[Tensor, "d m"], a: Float[Tensor, "outputs m"], x: Float[Tensor, " d"]
) -> Float[Tensor, "outputs d m"]:
    """dF_l / dw_r = m <a_l o e_r, S> x - m <a_l, S> S_r x, at one input."""
    m, S, e = W.shape[1], softmax(W, x), torch.eye(W.shape[1]).to(W)
    return torch.stack(
        [
            torch.stack(
                [m * ((al * e[r]) @ S) * x - m * (al @ S) * S[r] * x for r in range(m)], dim=1
            )
            for al in a
        ]
    )


def definition_3_2(
    W: Float[Tensor, "d m"],
    a: Float[Tensor, "outputs m"],
    x: Float[Tensor, "n d"],
    y: Float[Tensor, "n outputs"],
) -> Float[Tensor, ""]:
    """L(W) = 1/2 sum_i sum_l (F_li - y_li)^2."""
    F = equation_1(W, a, x)
    return torch.stack(
        [(F[i, l] - y[i, l]) ** 2 / 2 for i in range(len(x)) for l in range(len(a))]
    ).sum()


def definition_3_3(
    W: Float[Tensor, "d m"],
    a: Float[Tensor, "outputs m"],
    x: Float[Tensor, "n d"],
    y: Float[Tensor, "n outputs"],
) -> Float[Tensor, "d m"]:
    """Delta w_r = m sum_i sum_l (F_li - y_li) (<a_l o e_r, S_i> - <a_l, S_i> S_ir) x_i."""
    F, derivatives = equation_1(W, a, x), [equation_2(W, a, xi) for xi in x]
    terms = [(F[i, l] - y[i, l]) * derivatives[i][l] for i in range(len(x)) for l in range(len(a))]
    return torch.stack(terms).sum(0)


def claim_3_4(
    W: Float[Tensor, "d m"],
    a: Float[Tensor, "outputs m"],
    x: Float[Tensor, "n d"],
    y: Float[Tensor, "n outputs"],
) -> Float[Tensor, "d m"]:
    """Delta w_r = m sum_i sum_l (F_li - y_li) <a_lr 1 - a_l, S_i> S_ir x_i."""
    m, F, S = W.shape[1], equation_1(W, a, x), [softmax(W, xi) for xi in x]
    columns = [torch.zeros_like(W[:, 0]) for _ in range(m)]
    for r in range(m):
        for i in range(len(x)):
            for l in range(len(a)):
                columns[r] = (
                    columns[r]
                    + m * (F[i, l] - y[i, l]) * ((a[l, r] - a[l]) @ S[i]) * S[i][r] * x[i]
                )
    return torch.stack(columns, dim=1)


def definition_3_6(
    W: Float[Tensor, "d m"], a: Float[Tensor, "outputs m"], x: Float[Tensor, "n d"]
) -> Float[Tensor, "rows rows"]:
    """[H_l1l2]_ij = 1/m x_i.x_j sum_r <v_l1r, S_i> m S_ir <v_l2r, S_j> m S_jr, with v_lr = a_lr 1 -
    a_l.
    """
    m, n, S = W.shape[1], len(x), [softmax(W, xi) for xi in x]
    H = x.new_zeros(len(a) * n, len(a) * n)
    for l1, i, l2, j in itertools.product(range(len(a)), range(n), range(len(a)), range(n)):
        for r in range(m):
            left, right = ((a[l, r] - a[l]) @ S[k] * m * S[k][r] for l, k in ((l1, i), (l2, j)))
            H[l1 * n + i, l2 * n + j] += x[i] @ x[j] * left * right / m
    return H


# The basic estimates
# --------------------------------------------------------------------------------------------------


def definition_4_1(
    n: Count, d: Count, sigma: NonNegative, delta: Positive = 0.1, C: AtLeastOne = 10
) -> float:
    """B = max{C sigma sqrt(log(nd / delta)), 1}."""
    return max(C * sigma * math.sqrt(math.log(n * d / delta)), 1)


def lemma_b_1(B: NonNegative, R: NonNegative, m: Count) -> dict[int, float]:
    """Right sides of Parts 2 to 13; Part 4 and 5 for max(e, 1/e)."""
    return {
        2: B + R,
        3: 2 * R,
        4: math.exp(B),
        5: math.exp(B + R),
        6: 4 * R,
        7: R * math.exp(B + R),
        8: m * R * math.exp(B + R),
        9: R / m * math.exp(3 * B + 2 * R),
        10: math.exp(2 * B) / m,
        11: math.exp(2 * B + 2 * R) / m,
        12: R / m * math.exp(4 * B + 3 * R),
        13: R * math.exp(4 * B + 3 * R),
    }


def fact_a_3(u: Float[Tensor, " d"], v: Float[Tensor, " d"]) -> Float[Tensor, ""]:
    """|u - v|^2 = |u|^2 - 2 u.v + |v|^2."""
    return u @ u - 2 * (u @ v) + v @ v


def fact_a_5(x):
    """(1 - x)^(1/2) <= 1 - x/2 for |x| <= 0.1."""
    return 1 - x / 2


def fact_a_6(x):
    """|exp(x) - 1| <= 2 |x| for |x| <= 0.1."""
    return 2 * abs(x)


def fact_a_7(x):
    """sum_i x^i <= 1 / (1 - x) for 0 < x < 0.1."""
    return 1 / (1 - x)


def fact_a_8(x, theta: Signed):
    """exp(x) = 1 + x + Theta(1) x^2 for |x| <= 0.01."""
    return 1 + x + theta * x**2


def lemma_a_9(t: NonNegative, widths: list[float]) -> float:
    """Hoeffding: Pr[|sum - mean| >= t] <= 2 exp(-2 t^2 / sum of the squared widths of the
    ranges).
    """
    return 2 * math.exp(-2 * t**2 / sum(w**2 for w in widths))


def lemma_a_10(t: NonNegative, A: Float[Tensor, "n n"], c: NonNegative, K: Positive = 1.0) -> float:
    """Hanson-Wright: Pr[|x^T A x - mean| > t] <= 2 exp(-c min{t^2 / (K^4 |A|_F^2), t / (K^2 |A|)})
    for |x_i| <= K.
    """
    gauss, tail = (
        t**2 / (K**4 * float(A.norm()) ** 2),
        t / (K**2 * float(torch.linalg.matrix_norm(A, 2))),
    )
    return 2 * math.exp(-c * min(gauss, tail))


def lemma_5_1(R: NonNegative, B: NonNegative) -> float:
    """An entry of the kernel changes by at most R exp(10 B)."""
    return R * math.exp(10 * B)


def lemma_5_1_proof(R: NonNegative, B: NonNegative) -> float:
    """What the five terms of the proof of Lemma 5.1 add up to, at first order in R."""
    return R * (8 * math.exp(5 * B) + 16 * math.exp(9 * B) + 8 * math.exp(7 * B))


# The main theorem
# --------------------------------------------------------------------------------------------------


class Constants(NamedTuple):
    """B, and logarithms to base 10 of width, step size, m eta, number of steps, R and D, every
    Omega read as 1.
    """

    B: float
    m: float
    eta: float
    m_eta: float
    steps: float
    R: float
    D: float


def theorem_4_2(
    n: Count,
    d: Count,
    lam: Positive,
    sigma: NonNegative = 1.0,
    C: AtLeastOne = 10,
    delta: Positive = 0.1,
    epsilon: Positive = 0.1,
) -> Constants:
    """Theorem 4.2 with Definition A.2 (|F(0) - Y| = sqrt(n)) and the R of Lemma E.2; d = 1 is
    Corollary 4.3.
    """
    B, log = definition_4_1(n, d, sigma, delta, C), math.log(n * d / delta)
    m = (-2 * math.log(lam) + 2 * math.log(n * d) + 18 * B + 2 * math.log(log)) / LN10
    m_eta = (math.log(0.1 * lam) - 2 * math.log(n * d) - 16 * B) / LN10
    steps = math.log10(math.log(n * d / epsilon)) - m_eta - math.log10(lam)
    R = (math.log(lam / (2 * n * d)) - 10 * B) / LN10
    D = math.log10(4 / lam * math.sqrt(n * d) * math.sqrt(n)) + 3 * B / LN10 - m
    return Constants(B, m, m_eta - m, m_eta, steps, R, D)


def definition_a_2(
    m: AtLeastOne, lam: Positive, B: NonNegative, nd: Count, start: NonNegative
) -> float:
    """D = 4 m^-1 lambda^-1 exp(3B) sqrt(nd) |F(0) - Y|_F."""
    return 4 / (m * lam) * math.exp(3 * B) * math.sqrt(nd) * start


def equation_11(m_eta: Positive, lam: Positive, B: NonNegative, nd: Count) -> tuple[float, float]:
    """1 - 0.7 m eta lambda + 2 eta^2 m^2 n^2 d^2 exp(16 B) <= 1 - m eta lambda / 2, both sides
    without the 1.
    """
    return -0.7 * m_eta * lam + 2 * m_eta * (m_eta * nd**2 * math.exp(16 * B)), -m_eta * lam / 2


def lemma_e_1(
    W: Float[Tensor, "d m"],
    a: Float[Tensor, "outputs m"],
    x: Float[Tensor, "n d"],
    y: Float[Tensor, "n outputs"],
    eta: Tensor | NonNegative,
) -> Float[Tensor, "4"]:
    """C_0 to C_3 for one step of size eta, with Theta(1) z^2 = exp(z) - 1 - z."""
    m, F, gradient = W.shape[1], equation_1(W, a, x), claim_3_4(W, a, x, y)
    C = []
    for i in range(len(x)):
        before, z = torch.exp(W.T @ x[i]), -eta * (gradient.T @ x[i])
        after = torch.exp((W - eta * gradient).T @ x[i])
        v0 = m * a @ ((1 / after.sum() - 1 / before.sum()) * after)
        v1 = m * a @ (before / before.sum() * z)
        v2 = m * a @ (before / before.sum() * (torch.exp(z) - 1 - z))
        change = m * a @ (after / after.sum() - before / before.sum())
        C.append(torch.stack([*(2 * (F[i] - y[i]) @ v for v in (v0, v1, v2)), change @ change]))
    return torch.stack(C).sum(0)


def table_1(kind: str, n: Count, lam: Positive, epsilon: Positive) -> tuple[float, float]:
    """Width and steps of Table 1, every Omega read as 1 and n^o(1) too."""
    log = math.log(n) if kind == "relu" else math.log(n) ** 2
    return n**2 * log / lam**2, n**2 * math.log(n / epsilon) / lam**2


# Kernel regression
# --------------------------------------------------------------------------------------------------


def definition_f_1(
    K: Float[Tensor, "t rows"], gamma: Float[Tensor, " rows"], m: Count
) -> Float[Tensor, " t"]:
    """F_ntk(gamma, x_te) = m K*_te gamma."""
    return m * (K @ gamma)


def equation_23(
    H: Float[Tensor, "k k"], gamma: Float[Tensor, " k"], y: Float[Tensor, " k"], m: Count
) -> Float[Tensor, ""]:
    """L_ntk(gamma) = 1/2 sum_i |F_ntk(gamma, x_i) - y_i|^2."""
    return ((definition_f_1(H, gamma, m) - y) ** 2).sum() / 2


def equation_24(
    H: Float[Tensor, "k k"], y: Float[Tensor, " k"], rate: NonNegative, m: Count, steps: Steps
) -> list[Float[Tensor, " k"]]:
    """gamma(tau + 1) = gamma(tau) - eta (m H* gamma(tau) - vec Y) from 0; all iterates."""
    gammas = [torch.zeros_like(y)]
    for _ in range(steps):
        gammas.append(gammas[-1] - rate * (m * (H @ gammas[-1]) - y))
    return gammas


def theorem_f_2(
    nd: Count, lam: Positive, m: Count, eps_test: NonNegative, eps_H: Positive
) -> float:
    """sqrt(nd) / lambda eps_test + sqrt(nd) / lambda^2 log^2(nd / (eps_H m lambda)) eps_H."""
    log = math.log(nd / (eps_H * m * lam))
    return math.sqrt(nd) / lam * eps_test + math.sqrt(nd) / lam**2 * log**2 * eps_H


def theorem_f_2_summands(
    W: Float[Tensor, "d m"], a: Float[Tensor, "outputs m"], x: Float[Tensor, "n d"]
) -> Float[Tensor, "rows m d"]:
    """m^(-1/2) x <v_lr, S(0)> m S_r(0), neuron by neuron."""
    m, S = W.shape[1], [softmax(W, xi) for xi in x]
    one = lambda l, i, r: m**-0.5 * x[i] * ((a[l, r] - a[l]) @ S[i]) * m * S[i][r]
    rows = [[one(l, i, r) for r in range(m)] for l in range(len(a)) for i in range(len(x))]
    return torch.stack([torch.stack(row) for row in rows])


def theorem_f_2_features(
    W: Float[Tensor, "d m"], a: Float[Tensor, "outputs m"], x: Float[Tensor, "n d"]
) -> Float[Tensor, "rows d"]:
    """phi(x)_l = m^(-1/2) x sum_r <v_lr, S(0)> m S_r(0)."""
    return theorem_f_2_summands(W, a, x).sum(dim=1)


# Diffusion
# --------------------------------------------------------------------------------------------------


def equation_4(y: Tensor, score: Tensor, g: NonNegative, ds: NonNegative, noise: Tensor) -> Tensor:
    """One step of dy = (g/2 y + g score) ds + sqrt(g) dB, the score being that at time T - s."""
    return y + (g / 2 * y + g * score) * ds + math.sqrt(g * ds) * noise


def equation_5(estimate: Tensor, score: Tensor) -> Tensor:
    """|s_theta(x(t), t) - grad log p_t(x(t))|^2."""
    return (estimate - score).square().sum(-1)


def equation_6(estimate: Tensor, x: Tensor, start: Tensor, t: Positive) -> Tensor:
    """|s_theta(x(t), t) - grad log p_t|0(x(t) | x(0))|^2 with x(t) | x(0) normal, mean alpha x(0),
    variance 1 - alpha^2.
    """
    alpha = math.exp(-t / 2)
    return (estimate + (x - alpha * start) / (1 - alpha**2)).square().sum(-1)


def claim_g_1(gaps: list[float]) -> float:
    """Z_1 + Z_2 + Z_3 + Z_4."""
    return sum(gaps)
