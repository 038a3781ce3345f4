"""The formulas of bombari2024 as it prints them, right or wrong, term by term; and the settings of
its figures.

The library never imports this module, so what it computes faster is an independent computation of
the same thing. Labels are those of the paper: ``equation_3_3`` is (3.3). Indices count from 0.
"""

import math
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from theorybook.validation import AtLeastOne, Count, Natural, NonNegative, Positive, Signed
from torch import Tensor

Map = Callable[[Tensor], Tensor]


def moved(X: Float[Tensor, "n d"], i: Natural | slice, delta: Tensor) -> Float[Tensor, "n d"]:
    """X^i(Delta): token i moved by Delta (Section 3)."""
    X = X.clone()
    X[i] += delta
    return X


def equation_3_1(
    X: Float[Tensor, "n d"], V: Float[Tensor, "k D"], phi: Map = torch.relu
) -> Float[Tensor, "k"]:
    """(3.1): random features."""
    return phi(V @ X.flatten())


def equation_3_2(
    X: Float[Tensor, "n d"],
    W_Q: Float[Tensor, "e d"],
    W_K: Float[Tensor, "e d"],
    W_V: Float[Tensor, "f d"],
) -> Float[Tensor, "n f"]:
    """(3.2): the attention layer with queries, keys and values."""
    return torch.softmax(X @ W_Q.T @ W_K @ X.T / math.sqrt(len(W_Q)), dim=1) @ X @ W_V.T


def equation_3_3(X: Float[Tensor, "n d"], W: Float[Tensor, "d d"]) -> Float[Tensor, "n d"]:
    """(3.3): random attention features."""
    return torch.softmax(X @ W @ X.T / math.sqrt(X.shape[1]), dim=1) @ X


def relu_raf(X: Float[Tensor, "n d"], W: Float[Tensor, "d d"]) -> Float[Tensor, "n d"]:
    """ReLU-RAF (caption of Figure 3), row by row; a row without a positive score, 0/0 in the paper,
    is zero here.
    """
    rows = []
    for scores in torch.relu(X @ W @ X.T / math.sqrt(X.shape[1])):
        rows.append(scores / scores.sum() @ X if scores.any() else 0 * X[0])
    return torch.stack(rows)


def equation_3_4(phi: Map, X: Float[Tensor, "n d"], i: Natural | slice, delta: Tensor) -> float:
    """What (3.4) takes the supremum of: the relative change of phi at one move of one token."""
    return float((phi(moved(X, i, delta)) - phi(X)).norm() / phi(X).norm())


def equation_4_2(X: Float[Tensor, "n d"], V: Sequence[Float[Tensor, "k _"]]) -> Float[Tensor, "k"]:
    """(4.2): deep random features, here with ReLU."""
    features = X.flatten()
    for V_l in V:
        features = torch.relu(V_l @ features)
    return features


def equation_4_3(phi: Callable[[float], float], beta: Positive) -> float:
    """(4.3): E phi(rho)^2 for rho ~ N(0, beta), which beta makes 1 (midpoint rule over 12
    deviations).
    """
    total, steps = 0.0, 20_000
    for step in range(steps):
        g = 24 * (step + 0.5) / steps - 12
        total += phi(math.sqrt(beta) * g) ** 2 * math.exp(-(g**2) / 2)
    return total * 24 / steps / math.sqrt(2 * math.pi)


def equation_c_1(n: Count, d: Count) -> tuple[int, int]:
    """The shape that (C.1) gives every V_l."""
    return n * d, n * d


def lemma_c_1(M: Positive, C_1: NonNegative, l: Natural, D: Count) -> float:
    """Lemma C.1 with its proof's constant e^C = M C_1 + 1: how far |phi_l(X)| may be from sqrt
    k.
    """
    return (M * C_1 + 1) ** l * math.log(D)


def lemma_c_2(M: Positive, C_1: NonNegative, l: Natural, d: Count) -> float:
    """Lemma C.2 with its proof's constant e^C = M C_1: how far one moved token may move the
    features of layer l.
    """
    return math.sqrt(d) * (M * C_1) ** l


def appendix_a(n: Count, c: Positive) -> float:
    """Appendix A: the probability that the maximum of n standard Gaussians stays below log n, as
    printed.
    """
    return 1 - math.exp(c * math.log(n) ** 2)


def hypothesis_of_theorem_3(d: AtLeastOne) -> float:
    """Theorem 3 takes contexts of n = O(d / log^4 d) tokens: this many, with constant 1."""
    return d / math.log(d) ** 4


def lemma_d_1(X: Float[Tensor, "n d"], delta: Float[Tensor, "d"]) -> float:
    """Lemma D.1: the share of the tokens with (x_i . delta)^2 >= 0.01 d^2 / n."""
    n, d = X.shape
    return sum(float(x @ delta) ** 2 >= 0.01 * d**2 / n for x in X) / n


def lemma_d_1_variance(r: Count) -> float:
    """The variance of rho_r^2 = |rho|^2 / r in the proof of Lemma D.1."""
    return 1 / r


def equation_d_42(
    X: Float[Tensor, "n d"], W: Float[Tensor, "d d"], i: Natural, delta: Float[Tensor, "d"]
) -> Tensor:
    """(D.42): sqrt d S(X^i(Delta)). Its third term has W X, so it can be formed for n = d only."""
    e_i = torch.eye(len(X)).to(X)[i]
    return (
        X @ W @ X.T
        + torch.outer(X @ W @ delta, e_i)
        + torch.outer(e_i, delta @ W @ X)
        + torch.outer(e_i, e_i) * (delta @ W @ delta)
    )


def equation_6_3(
    Phi: Float[Tensor, "N p"], Y: Float[Tensor, "N"], theta_0: Float[Tensor, "p"] | Signed = 0.0
) -> Tensor:
    """(6.3): theta*, where gradient descent on the quadratic loss ends."""
    theta_0 = theta_0 + torch.zeros_like(Phi[0])
    return theta_0 + torch.linalg.pinv(Phi) @ (Y - Phi @ theta_0)


def equation_6_4(
    theta: Float[Tensor, "p"], phi: Float[Tensor, "p"], phi_moved: Float[Tensor, "batch p"]
) -> Tensor:
    """(6.4): the smallest gamma of Assumption 2."""
    return (phi_moved @ theta - phi @ theta).abs()


def equation_6_5(
    theta: Float[Tensor, "p"], phi: Float[Tensor, "p"], y: Signed
) -> Float[Tensor, "p"]:
    """(6.5): theta*_f, fine-tuned on (X, y) alone."""
    return theta + phi * (y - phi @ theta) / phi.square().sum()


def equation_6_6(
    Phi: Float[Tensor, "N p"],
    Y: Float[Tensor, "N"],
    phi: Float[Tensor, "p"],
    y: Signed,
    theta_0: Tensor | Signed = 0.0,
) -> Float[Tensor, "p"]:
    """(6.6): theta*_r, trained again on all N + 1 samples."""
    return equation_6_3(torch.cat([Phi, phi[None]]), torch.cat([Y, Y.new_tensor([y])]), theta_0)


def equation_6_7(
    theta: Float[Tensor, "p"], phi_moved: Float[Tensor, "batch p"], y: Signed
) -> Float[Tensor, "batch"]:
    """(6.7): the error on the label y_Delta = -y."""
    return (phi_moved @ theta - (-y)).square()


def equation_6_9(
    phi: Float[Tensor, "p"], phi_moved: Float[Tensor, "batch p"]
) -> Float[Tensor, "batch"]:
    """(6.9): the alignment of fine-tuning."""
    return phi_moved @ phi / phi.square().sum()


def equation_6_14(
    Phi: Float[Tensor, "N p"], phi: Float[Tensor, "p"], phi_moved: Float[Tensor, "batch p"]
) -> Float[Tensor, "batch"]:
    """(6.14): the feature alignment."""
    P_perp = torch.eye(len(phi)).to(phi) - torch.linalg.pinv(Phi) @ Phi
    return phi_moved @ P_perp @ phi / (P_perp @ phi).square().sum()


def equation_6_16(alignment: Float[Tensor, "batch"]) -> Float[Tensor, "batch"]:
    """(6.16): the loss by which Figure 4 chooses its circles."""
    return (alignment + 1).square()


#: The n of Figures 2 and 3 in the authors' scripts (simone-bombari/attention-sensitivity,
#: sensitivity.py): ReLU, k = nd (for DRF in each layer) and the first token moved: the paper prints
#: an axis only.
AUTHORS_N = {
    "RF": range(90, 151, 10),
    "DRF": range(50, 81, 10),
    "RAF": (10, 20, 50, 100, 150, 200, 250),
}
#: What captions and Section 6.2 print (it has the n of all panels of Figure 4). Of Figures 2 and 3
#: n is an axis; no k.
FIGURE_2_LEFT = {"d": (192, 384, 768)}
FIGURE_2_RIGHT = {"d": (768,), "depth": (2, 4, 8)}
FIGURE_3 = {"d": (192, 384, 768), "weights": ("relu", "softmax")}
FIGURE_4 = {"d": 768, "n": (40, 120), "N": (100, 700, 1300)}
FIGURE_5 = {"d": 768, "n": (40, 120), "N": (400,), "p": (0.01, 0.1, 1.0)}
FIGURE_6 = FIGURE_5
FIGURE_7 = {"d": 768, "n": (120,), "N": (400,)}
