"""The formulas of jelassi2022 as it prints them, right or wrong, one function a statement; loops
where the paper has sums.

Patches stand as rows here (the paper has them as columns), except in Definitions 3.1 and 3.2.
Bounds that the paper gives up to constants have the constant 1. The library never imports this
module.
"""

import math
from collections.abc import Callable, Sequence
from itertools import combinations, product

import torch
from jaxtyping import Float, Int
from theorybook.validation import (
    AtLeastOne,
    Chance,
    Count,
    Integer,
    Natural,
    NonNegative,
    Positive,
    Signed,
    Steps,
)
from torch import Tensor

# The data
# --------------------------------------------------------------------------------------------------


def assumption_1(
    groups: Int[Tensor, "D"],
    w: Float[Tensor, "d"],
    q: Chance,
    sigma: NonNegative,
    source: torch.Generator,
):
    """One data point, patch by patch: (D, d) patches and the label."""
    y = 1.0 if torch.rand(1, generator=source) < 0.5 else -1.0
    signal = torch.randint(0, int(groups.max()) + 1, (1,), generator=source)
    patches = []
    for group in groups:
        u = torch.rand(1, generator=source, dtype=torch.float64)
        delta = 1.0 if u < q / 2 else -1.0 if u < q else 0.0
        noise = sigma * torch.randn(len(w), generator=source, dtype=torch.float64)
        patches.append((y if group == signal else delta) * w + (noise - (noise @ w) * w))
    return torch.stack(patches), y


def assumption_1_labelling(sums: Sequence[float], C: Count, threshold: NonNegative = 0.9) -> float:
    """f*(X), the sum over groups of Threshold of <w*, X_j> summed over the group."""
    return sum(z if abs(z) > threshold * C else 0.0 for z in sums)


def definition_2_2(P: Float[Tensor, "D d"], groups: Int[Tensor, "D"]) -> float:
    """Share of the rows i for which the C largest of <p_i, p_j> are i's group; a tie at the edge
    does not count as association.
    """
    C, hits = int((groups == groups[0]).sum()), 0
    for i, p in enumerate(P):
        row = [float(p @ other) for other in P]
        ranked = sorted(range(len(row)), key=lambda j: -row[j])
        clear = len(row) == C or row[ranked[C - 1]] > row[ranked[C]]
        hits += clear and {int(groups[j]) for j in ranked[:C]} == {int(groups[i])}
    return hits / len(P)


def assumption_2(D: Count, C: Count, d: Count, degree: NonNegative) -> dict[str, float]:
    """The quantities that Assumption 2 compares, with C^degree for poly(C)."""
    q = C**degree / D
    return {
        "C / D": C / D,
        "q": q,
        "noise over feature": (d - 1) / d,
        "strays over signal": q * (D - C) / C,
    }


def theorem_3_2(D: Count, C: Count, B: Signed) -> Float[Tensor, "D D"]:
    """Scores of its transformer: B inside a group, 2 B from each group to the next one, else 0."""
    A = torch.zeros(D, D, dtype=torch.float64)
    for i, j in product(range(D), repeat=2):
        if j // C == i // C:
            A[i, j] = B
        elif j // C == (i // C + 1) % (D // C):
            A[i, j] = 2 * B
    return A


def section_2_label(X: Float[Tensor, "D d"], C: Count) -> float:
    """Label of Gaussian patches: sign of a one-hidden layer convolution with cubic activation; its
    filter is our choice.
    """
    total = 0.0
    for start in range(0, len(X), C):
        total += sum(float(X[j, 0]) for j in range(start, start + C)) ** 3
    return 1.0 if total > 0 else -1.0


# The model
# --------------------------------------------------------------------------------------------------


def attention(
    scores: Float[Tensor, "D D"], V: Float[Tensor, "D *k"], d: Count
) -> Float[Tensor, "D *k"]:
    """S V with S_ij = exp(A_ij / sqrt(d)) / sum over r of exp(A_ir / sqrt(d))."""
    rows = []
    for A_i in scores:
        raised = [torch.exp(a / math.sqrt(d)) for a in A_i]
        rows.append(sum(raised[j] / sum(raised) * V[j] for j in range(len(V))))
    return torch.stack(rows)


def definition_3_1(X, P, W_Q, W_K, W_V):
    """Self-attention of the columns of X: scores from X + P, values from X."""
    Q, K = (X + P).T @ W_Q, (X + P).T @ W_K
    return attention(Q @ K.T, X.T @ W_V, len(X))


def definition_3_2(X, P, W_Q, W_K, W_V):
    """Positional attention: scores from P alone."""
    Q, K = P.T @ W_Q, P.T @ W_K
    return attention(Q @ K.T, X.T @ W_V, len(X))


def model_T(
    X: Float[Tensor, "D d"], A, v, p: Count = 3, nu: NonNegative = 1e-3
) -> Float[Tensor, ""]:
    """F(X) = sum_i sigma(D sum_j S_ij <v, X_j>) for one data point, sigma(x) = x^p + nu x."""
    D, d = X.shape
    z = D * attention(A, X @ v, d)
    return sum(x**p + nu * x for x in z)


def lemma_h_1(X, y, A, v, p: Count = 3, nu: NonNegative = 1e-3) -> Float[Tensor, "d"]:
    """D y S(-y F) sum_i sigma'(D sum_r S_ir <v, X_r>) sum_r S_ir X_r, as printed, without the minus
    sign.
    """
    D, d = X.shape
    O = attention(A, X, d)
    outer = D * y * torch.sigmoid(-y * model_T(X, A, v, p, nu))
    return outer * sum((p * (D * O[i] @ v) ** (p - 1) + nu) * O[i] for i in range(D))


def lemma_h_2(X, y, A, v, p: Count = 3, nu: NonNegative = 1e-3) -> Float[Tensor, "D D"]:
    """As printed: p D y S(-y F) (D sum_r S_ir <v, X_r>)^(p-1) S_ij sum over r != j of S_ir <v, X_j
    - X_r>.
    """
    D, d = X.shape
    S, u = attention(A, torch.eye(D).to(X), d), X @ v
    outer = p * D * y * torch.sigmoid(-y * model_T(X, A, v, p, nu))
    dA = torch.zeros_like(A)
    for i, j in product(range(D), repeat=2):
        pull = sum(S[i, r] * (u[j] - u[r]) for r in range(D) if r != j)
        dA[i, j] = outer * (D * S[i] @ u) ** (p - 1) * S[i, j] * pull
    return dA


def mean(f: Callable, X, y, A, v) -> Tensor:
    """Mean of f over data points."""
    return sum(f(x, label, A, v) for x, label in zip(X, y)) / len(X)


def loss(f: Callable, X, y, A, v) -> Float[Tensor, ""]:
    """Problem (E): mean of log(1 + exp(-y F)) for the model f."""
    return sum(torch.log(1 + torch.exp(-label * f(x, A, v))) for x, label in zip(X, y)) / len(X)


def loss_gradients(f: Callable, X, y, A, v) -> tuple[Float[Tensor, "D D"], Float[Tensor, "d"]]:
    """Gradients (dA, dv) of the loss by automatic differentiation."""
    A, v = A.detach().requires_grad_(), v.detach().requires_grad_()
    return torch.autograd.grad(loss(f, X, y, A, v), (A, v))


def theorem_4_2(
    X,
    y,
    A,
    v,
    rate_A: NonNegative,
    rate_v: NonNegative,
    steps: Steps,
    p: Count = 3,
    nu: NonNegative = 1e-3,
    axis: Natural = 1,
):
    """Gradient descent (GD) on problem (E), gradients by autograd, diagonal of A fixed; two rates,
    scores undivided.
    """
    D = len(A)
    for _ in range(steps):
        A, v = A.detach().requires_grad_(), v.detach().requires_grad_()
        z = D * torch.einsum("ij,njk,k->ni", torch.softmax(A, axis), X, v)
        F = (z**p + nu * z).sum(1)
        dA, dv = torch.autograd.grad(torch.log(1 + torch.exp(-y * F)).mean(), (A, v))
        A, v = A - rate_A * (dA - dA.diag().diag()), v - rate_v * dv
    return A.detach(), v.detach()


# Learning in expectation
# ---------------------------------------------------------------------------------------------


def parametrization_3_1(nu: NonNegative, p: Count = 3) -> float:
    """The alpha at the start: nu^(1/(p-1))."""
    return nu ** (1 / (p - 1))


def lambda_0(D: AtLeastOne) -> float:
    """lambda_0 = D^0.1, which the appendix lets stand for a small power of D."""
    return D**0.1


def equation_lambda(Lambda, Gamma, Xi):
    """Lambda + Gamma + Xi, which two steps in the proofs of G.1 and G.2 set to 1."""
    return Lambda + Gamma + Xi


def corollary_g_1(alpha, Gamma, G, C: Count, p: Count = 3):
    """Growth of gamma in one step, over eta: C alpha^p Gamma G^(p-1) (Lemma G.1; Lemma 4.3, first
    display).
    """
    return C * alpha**p * Gamma * G ** (p - 1)


def corollary_g_2(alpha, Gamma, G, D: Count, polylog: Positive, p: Count = 3):
    """Bound on the change of rho in one step, over eta (Lemma 4.3, second display)."""
    return polylog * alpha**p * (1 / D + Gamma * G ** (p - 1) / D)


def lemma_g_2(alpha, Xi, G, D: Count, C: Count, q: Chance, p: Count = 3):
    """Bound on the change of rho in one step, over eta, with d = D."""
    strays = q * D * math.log(D)
    return (
        alpha * (alpha * G) ** (p - 1) * Xi * C**2 / D
        + alpha * (D * alpha * strays * Xi) ** (p - 1) * Xi * strays
    )


def lemma_d_1(D: AtLeastOne, C: Count) -> float:
    """The alpha at which the sigmoid stops being constant: 1 / (C^2 lambda_0)."""
    return 1 / (C**2 * lambda_0(D))


def lemma_d_2(alpha, G, C: Count, p: Count = 3):
    """Growth of alpha in one step of Event I, over eta: C G^p alpha^(p-1)."""
    return C * G**p * alpha ** (p - 1)


def lemma_d_3(alpha: NonNegative, D: AtLeastOne, C: Count, p: Count = 3) -> float:
    """Bound on y F(X) for every X: (C^(1 + 1/p) alpha lambda_0)^p."""
    return (C ** (1 + 1 / p) * alpha * lambda_0(D)) ** p


def lemma_d_16(
    eta: Positive, C: Count, alpha_0: Positive, D: Count, beta: Signed, p: Count = 3
) -> float:
    """Bound on the sum of alpha^p over all steps, e^beta for e^polyloglog(d)."""
    raised = math.exp(beta)
    return 1 / (eta * C * alpha_0 ** (p - 1) * lambda_0(D) ** p * raised) + D / (C * eta * raised)


# Learning from samples
# -----------------------------------------------------------------------------------------------


def lemma_e_1(nu: NonNegative, C: Count, G: Signed) -> float:
    """Step of alpha below nu^(1/(p-1)), over eta: that of the rows of the signal group alone, nu C
    G / 2.
    """
    return nu * C * G / 2


def lemma_e_12(x: Float[Tensor, "D"], p: Count) -> Float[Tensor, ""]:
    """psi(x) = S(-sum_m x_m^p)."""
    return torch.sigmoid(-sum(x_m**p for x_m in x))


def lemma_e_16(x: Float[Tensor, "D"], u: Float[Tensor, "D"], p: Count) -> Float[Tensor, ""]:
    """psi(x) = (D sum_m softmax(x)_m <v, X_m>)^(p-1) with u_m = <v, X_m>."""
    raised = [torch.exp(x_m) for x_m in x]
    return (len(x) * sum(e / sum(raised) * u_m for e, u_m in zip(raised, u))) ** (p - 1)


def lemma_e_16_bound(x, y, u, p: Count) -> Float[Tensor, ""]:
    """psi(x) (exp(2 (p-1) max |x_c - y_c|) - 1)."""
    return lemma_e_16(x, u, p) * torch.expm1(2 * (p - 1) * (x - y).abs().max())


def lemma_e_17(a: Float[Tensor, "D"], b: Float[Tensor, "D"]) -> tuple[Tensor, Tensor]:
    """|softmax(a)_i - softmax(b)_i| and its bound softmax(a)_i (exp(2 max |b_k - a_k|) - 1)."""
    s, t = torch.exp(a) / torch.exp(a).sum(), torch.exp(b) / torch.exp(b).sum()
    return (s - t).abs(), s * torch.expm1(2 * (b - a).abs().max())


# Transfer
# --------------------------------------------------------------------------------------------------


def theorem_5_1_step(
    A: Float[Tensor, "D D"], X: Float[Tensor, "N D d"], y: Float[Tensor, "N"]
) -> Float[Tensor, "d"]:
    """Direction of the proof's one step from v = 0: sum over n and j of y_n c_j X_nj, c_j the
    column sums of S.
    """
    S = torch.exp(A) / torch.exp(A).sum(1, keepdim=True)
    v = sum(y_n * S[:, j].sum() * X_n[j] for X_n, y_n in zip(X, y) for j in range(len(S)))
    return v / v.norm()


def stray_chance(z: Sequence[int], q: Chance) -> float:
    """Probability of independent strays: +1 and -1 with q/2 each."""
    return math.prod(q / 2 if x else 1 - q for x in z)


def planted(z: Sequence[int], C: Count, q: Chance, y: Integer) -> float:
    """Probability of z when a uniformly random set of C patches carries y and the others are
    strays.
    """
    sets = list(combinations(range(len(z)), C))
    fits = [S for S in sets if all(z[j] == y for j in S)]
    return sum(stray_chance([x for j, x in enumerate(z) if j not in S], q) for S in fits) / len(
        sets
    )


def theorem_5_2_distance(m: Count, C: Count, q: Chance) -> float:
    """Total variation between m strays and m patches with a planted group of ones, over all 3^m
    outcomes.
    """
    outcomes = product((0, 1, -1), repeat=m)
    return sum(abs(stray_chance(z, q) - planted(z, C, q, 1)) for z in outcomes) / 2


def hidden_group_error(m: Count, C: Count, q: Chance) -> float:
    """Least error of telling a planted group of ones from one of minus ones, over all 3^m outcomes
    (ours, next to Theorem 5.2).
    """
    return (
        sum(min(planted(z, C, q, 1), planted(z, C, q, -1)) for z in product((0, 1, -1), repeat=m))
        / 2
    )


# Technical lemmas
# --------------------------------------------------------------------------------------------------


def lemma_k_1(z, k, m, M, target) -> float:
    """T = 3 / (m z^(k-1)) + (2^k M / m) ceil(log2(target / z))."""
    return 3 / (m * z ** (k - 1)) + 2**k * M / m * math.ceil(math.log2(target / z))


def lemma_k_2(z, k, m, M, target, A, kappa) -> float:
    """Logarithm of the bound on the product of 1 + A z_t^(k-1+kappa), in our reading of its
    exponent.
    """
    power = 2 ** (kappa + 1) * M * A * target**kappa * math.log(target / z) / m
    return power * math.log1p(target ** (k - 1))


def lemma_k_4(C: Count, q: Chance, k: Count) -> float:
    """Bound of its proof on the chance of at least k strays in a group: 2^C q^k."""
    return 2**C * q**k


def lemma_k_5(
    a: Tensor, C_low: Tensor, C_high: Tensor, p: Count = 3
) -> tuple[Tensor, Tensor, Tensor]:
    """(0.1 / C_+) log(1 + exp(-a^p)), a^(p-1) / (1 + exp(a^p)), (10 / C_-) log(1 + exp(-a^p))."""
    log = torch.log1p(torch.exp(-(a**p)))
    return 0.1 / C_high * log, a ** (p - 1) / (1 + torch.exp(a**p)), 10 / C_low * log


def lemma_k_6(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """0.1 log(1 + exp(-x)), S(-x), 10 log(1 + exp(-x))."""
    log = torch.log1p(torch.exp(-x))
    return 0.1 * log, 1 / (1 + torch.exp(x)), 10 * log


def lemma_k_7(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """log(1 + x y) and (1 + y) log(1 + x)."""
    return torch.log1p(x * y), (1 + y) * torch.log1p(x)


# Figures: the settings that the paper prints
# --------------------------------------------------------------------------


def figure_1b() -> dict:
    """Figure 1b: 16 patches, groups of 4; the first partition, patches counted from 1 (the second
    is only drawn).
    """
    local = [{1, 2, 5, 6}, {3, 4, 7, 8}, {9, 10, 13, 14}, {11, 12, 15, 16}]
    return {"D": 16, "C": 4, "local": local}


def figure_3() -> dict:
    """Figure 3: the drawn data point has 16 patches, more -1 than +1, and the label +1."""
    return {"D": 16, "C": 4, "label": 1}


def figure_5() -> dict:
    """Figure 5: CIFAR-100, patch size 2, grid sizes, and what is trained."""
    return {
        "data": "cifar100",
        "patch": 2,
        "shuffles": (2, 4, 8, 16, 32),
        "shown": (2, 4, 8),
        "attention": "vanilla",
    }


def figure_7() -> dict:
    """Figure 7: patch size 4, average of 10 seeds, both attentions, three data sets."""
    return {"data": ("cifar10", "cifar100", "svhn"), "patch": 4, "seeds": 10}


def appendix_a_1() -> dict:
    """Appendix A.1: the small-scale training."""
    return {
        "layers": 7,
        "heads": 12,
        "dim": 384,
        "hidden": 384,
        "smoothing": 0.1,
        "batch": 128,
        "warmup": 5,
        "epochs": 200,
    }
