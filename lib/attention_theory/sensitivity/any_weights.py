"""The one-token update of attention features for any weights u(score) / row sum (Part V, chapter "Words")."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.attention import Weights
from attention_theory.sensitivity.context import check_context, check_token


class OneToken:
    """phi(X) = weights(X W X^T / sqrt d) X as a function of the move of one token, for any u >= 0.

    Row j != i is (1 - p_j) M_j + p_j x' with p_j = u(s_j) / (Z_j + u(s_j)), where M_j and Z_j are the attention average and the
    normaliser of row j without token i, and s_j its score on the moved token: O(nd + d^2) operations a move, as for softmax
    (:class:`attention_theory.sensitivity.attention_features.OneTokenAttention`).

    Args:
        weights: ``sharp`` of any sharpness, ``truncated``, ``power`` of even degree, ``relu_power``.
        W: (d, d) with entries N(0, 1/d).
        X: (n, d) tokens of norm sqrt(d).
        token: the row that moves.

    Raises:
        ValueError: an odd power, which is negative at negative scores; bad X, W or token.
    """

    def __init__(self, weights: Weights, W: Float[Tensor, "d d"], X: Float[Tensor, "n d"], token: int = 0):
        check_context(X, d=len(W))
        check_token(token, len(X))
        if weights.family == "power" and weights.knob % 2:
            raise ValueError(
                f"{weights} is negative at negative scores, and random scores have both signs: take an even degree"
            )
        self.weights, self.W, self.x, self.token = weights, W, X[token], token
        self.others = torch.cat([X[:token], X[token + 1 :]])
        self.K = self.others @ W / math.sqrt(X.shape[1])
        scores = self.K @ self.others.T
        self.M = weights.normalised(scores)[0] @ self.others
        if weights.family == "sharp":  # log Z, or for the hard maximum the score to beat
            self.Z = scores.amax(dim=1) if weights.knob == math.inf else torch.logsumexp(weights.knob * scores, dim=1)
        else:
            self.Z = weights(scores).sum(dim=1)
        self.scores = self.K @ self.x
        self.unmoved_weight = self.weight_at(self.scores)
        self.unmoved_own = self.own_row(self.x[None])[0]
        rows = self.M + self.unmoved_weight[:, None] * (self.x - self.M)
        self.norm = torch.sqrt(rows.square().sum() + self.unmoved_own.square().sum())
        self.gap_x, self.gap_square = (self.x - self.M) @ self.x, (self.x - self.M).square().sum(dim=1)

    def weight_at(self, scores: Float[Tensor, "*batch others"]) -> Float[Tensor, "*batch others"]:
        """The weight of a token on which the other rows have these scores."""
        if self.weights.family == "sharp":
            if self.weights.knob == math.inf:
                return (scores > self.Z).to(scores)
            return torch.sigmoid(self.weights.knob * scores - self.Z)
        raised = self.weights(scores)
        total = raised + self.Z
        return raised / torch.where(total == 0, 1, total)

    def own_row(self, moved: Float[Tensor, "batch d"]) -> Float[Tensor, "batch d"]:
        """The features of the moved token itself (zero if it finds nothing to attend to)."""
        query = moved @ self.W / math.sqrt(len(self.x))
        scores = torch.cat([query @ self.others.T, (query * moved).sum(dim=1, keepdim=True)], dim=1)
        weights, _ = self.weights.normalised(scores)
        return weights[:, :-1] @ self.others + weights[:, -1:] * moved

    def features(self, deltas: Float[Tensor, "batch d"]) -> Float[Tensor, "batch n d"]:
        """Phi of the context with the token moved by each delta."""
        moved = self.x + deltas
        p = self.weight_at(self.scores + deltas @ self.K.T)[:, :, None]
        rows = (1 - p) * self.M + p * moved[:, None]
        return torch.cat([rows[:, : self.token], self.own_row(moved)[:, None], rows[:, self.token :]], dim=1)

    def change(self, deltas: Float[Tensor, "batch d"]) -> Float[Tensor, "batch"]:
        """|phi(X^i(delta)) - phi(X)|^2: row j != i changes by p delta + (p - a)(x - M_j), a the weight before, p after."""
        p = self.weight_at(self.scores + deltas @ self.K.T)
        rise = p - self.unmoved_weight
        along = (deltas @ self.x)[:, None] - deltas @ self.M.T
        rows = p.square() * deltas.square().sum(dim=1, keepdim=True) + 2 * p * rise * along + rise.square() * self.gap_square
        own = (self.own_row(self.x + deltas) - self.unmoved_own).square().sum(dim=1)
        return (rows.sum(dim=1) + own).clamp(min=0)

    def starts(self) -> Float[Tensor, "starts d"]:
        """The move that raises the score on the token by the same amount in all other rows, and its opposite."""
        even = torch.linalg.pinv(self.K).sum(dim=1)
        even = even * (math.sqrt(len(even)) / torch.linalg.vector_norm(even))
        return torch.stack([even, -even])
