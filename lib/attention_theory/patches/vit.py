"""One layer of positional attention with a polynomial head (jelassi2022, model (T)), its gradients
and its patch association.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from theorybook.validation import Count, NonNegative, Positive
from torch import Tensor

from attention_theory.attention import attention_weights
from attention_theory.patches.distribution import check_groups


class PositionalViT:
    """F(X) = sum_i sigma(D sum_j S_ij <v, X_j>), S = softmax(A / temperature), sigma(x) = x^p + nu
    x.

    The scores A depend on positions only (jelassi2022, Definition 3.2 under Simplification 3.1).
    The paper divides them by sqrt(d), the default here; ``temperature=1`` takes them as they are.

    Args:
        A: (D, D) scores between positions.
        v: (d,) value vector.
        p: odd degree of the activation, at least 3.
        nu: weight of its linear part.
        temperature: divisor of the scores; default sqrt(d).

    Raises:
        ValueError: p even or below 3, A not square, or values that are not finite.

    >>> import torch
    >>> from attention_theory.patches import PositionalViT
    >>> vit = PositionalViT(torch.zeros(2, 2).double(), torch.ones(1).double(), nu=0)
    >>> vit(torch.tensor([[[1.0], [0.0]]]).double()).tolist()  # each patch sees 1
    [2.0]
    """

    def __init__(
        self,
        A: Float[Tensor, "D D"],
        v: Float[Tensor, "d"],
        p: Count = 3,
        nu: NonNegative = 1e-3,
        temperature: Positive | None = None,
    ):
        if p < 3 or p % 2 == 0:
            raise ValueError(
                f"p = {p}; the activation needs an odd degree p >= 3, so that it keeps the sign "
                "of its input"
            )
        self.A, self.v, self.p, self.nu = A, v, p, nu
        self.temperature = math.sqrt(len(v)) if temperature is None else temperature

    @property
    def weights(self) -> Float[Tensor, "D D"]:
        """Attention weights S: every row sums to 1."""
        return attention_weights(self.A / self.temperature)

    def preactivations(self, X: Float[Tensor, "N D d"]) -> Float[Tensor, "N D"]:
        """z_i = D sum_j S_ij <v, X_j>."""
        return len(self.A) * (X @ self.v) @ self.weights.T

    def activation(self, z: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
        """sigma(z) = z^p + nu z."""
        return z**self.p + self.nu * z

    def activation_slope(self, z: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
        """sigma'(z) = p z^(p - 1) + nu."""
        return self.p * z ** (self.p - 1) + self.nu

    def __call__(self, X: Float[Tensor, "N D d"]) -> Float[Tensor, "N"]:
        """F(X) for each data point."""
        return self.activation(self.preactivations(X)).sum(1)

    def loss(self, X: Float[Tensor, "N D d"], y: Float[Tensor, "N"]) -> Float[Tensor, ""]:
        """Mean logistic loss log(1 + exp(-y F(X))), natural logarithm."""
        return torch.nn.functional.softplus(-y * self(X)).mean()

    def gradients(
        self,
        X: Float[Tensor, "N D d"],
        y: Float[Tensor, "N"],
        weight: Float[Tensor, "N"] | None = None,
    ) -> tuple[Float[Tensor, "D D"], Float[Tensor, "d"]]:
        """Gradients (dA, dv) of :meth:`loss` (jelassi2022, Lemmas H.1 and H.2, corrected).

        With m_ni = y_n S(-y_n F(X_n)) sigma'(z_ni), S the sigmoid and u_nj = <v, X_nj>, the mean
        over n (or the sum with these weights, such as the probabilities of all points of a
        population) of

            dv    = - D sum_i m_ni sum_r S_ir X_nr
            dA_ij = - (D / temperature) m_ni S_ij (u_nj - sum_r S_ir u_nr).

        Both carry the minus sign of the loss, dA the factor 1 / temperature, and sigma' its linear
        part; the printed lemmas lack them. The diagonal of dA is included; descent that keeps the
        diagonal fixed sets it to zero.
        """
        D, N = len(self.A), len(X)
        S, u = self.weights, X @ self.v
        z = D * u @ S.T
        margin = y * self.activation(z).sum(1)
        weight = torch.full_like(y, 1 / N) if weight is None else weight
        m = (weight * y * torch.sigmoid(-margin))[:, None] * self.activation_slope(z)
        dv = -D * torch.einsum("nr,nrd->d", m @ S, X)
        dA = -D / self.temperature * S * (m.T @ u - ((z / D) * m).sum(0)[:, None])
        return dA, dv


def association(A: Float[Tensor, "D D"], groups: Sequence[int] | Int[Tensor, "D"]) -> float:
    """Fraction of the rows i whose C largest scores are those of i's own group (jelassi2022,
    Definition 2.2).

    A row counts only if each score inside its group exceeds each one outside, so that Top_C is
    unambiguous; with one group every row counts.

    Args:
        A: (D, D) scores, or the Gram matrix of the positional encodings.
        groups: (D,) integer labels, all used equally often.

    Raises:
        ValueError: labels of another length, groups of different sizes, scores that are not finite.

    >>> import torch
    >>> from attention_theory.patches import association
    >>> association(torch.eye(4).double(), [0, 1, 2, 3])
    1.0
    """
    groups = check_groups(groups, len(A)).to(A.device)
    same = groups[:, None] == groups
    inside = torch.where(same, A, torch.inf).amin(1)
    outside = torch.where(same, -torch.inf, A).amax(1)
    return float((inside > outside).double().mean())
