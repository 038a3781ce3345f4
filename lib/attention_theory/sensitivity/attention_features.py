"""Random attention features and their one-token update (bombari2024, Sections 3 and 5)."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from theorybook.devices import Where
from theorybook.validation import Count, Natural, Seed, Steps
from torch import Tensor

from attention_theory.attention import Weights, as_weights, attend, attention_weights, blocks
from attention_theory.device import least_squares, normal
from attention_theory.sensitivity.context import FeatureMap, check_token, weights_generator
from attention_theory.tokens import require_on_sphere

#: Weights that are never negative.
Kind = Literal["softmax", "relu"] | Weights


@dataclass(frozen=True, eq=False)
class RandomAttentionFeatures(FeatureMap):
    """phi(X) = weights(X W X^T / sqrt d) X, with random W: RAF for softmax weights, ReLU-RAF for
    relu weights.

    A row of ReLU scores without a positive entry attends to nothing: its features are zero.

    bombari2024, (3.3); ReLU-RAF: caption of Figure 3.

    >>> from attention_theory.sensitivity import RandomAttentionFeatures
    >>> from attention_theory.tokens import contexts
    >>> X = contexts("iid", 1, 5, 8, seed=0)[0]
    >>> map = RandomAttentionFeatures.sample(8, seed=0)
    >>> map(X).shape
    torch.Size([5, 8])
    >>> map.attention(X).sum(1).round(decimals=6).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """

    W: Float[Tensor, "d d"]
    weights: Kind = "softmax"

    @classmethod
    def sample(cls, d: Count, seed: Seed, weights: Kind = "softmax") -> "RandomAttentionFeatures":
        """Draw W with independent entries N(0, 1/d).

        Args:
            d: token dimension.
            seed: of the CPU generator.
            weights: ``softmax``, ``relu`` for ReLU-RAF, or Weights that are never negative.
        """
        return cls(normal(d, d, generator=weights_generator(seed)) / math.sqrt(d), weights)

    def to(self, where: Where) -> "RandomAttentionFeatures":
        """The same map on another device or in another precision."""
        return type(self)(self.W.to(where), self.weights)

    def scores(self, X: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n n"]:
        """S(X) = X W X^T / sqrt d: row j holds the scores of token j on all tokens."""
        return X @ self.W @ X.mT / math.sqrt(X.shape[-1])

    def attention(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n n"]:
        """The attention matrix: row j holds the weights of token j on all tokens."""
        return attention_weights(self.scores(X), self.weights)

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """phi(X), as the definition reads."""
        return attend(X @ self.W / math.sqrt(X.shape[1]), X, X, self.weights)

    def one_token(self, X: Float[Tensor, "n d"], token: Natural) -> "OneTokenAttention":
        """The map as a function of one token; everything that does not depend on that token is
        computed once.

        Raises:
            ValueError: tokens that are not of norm sqrt(d), or X has no such token.
        """
        require_on_sphere(X)
        return OneTokenAttention(self.weights, self.W, X, token)


def level_move(rows: Float[Tensor, "others d"]) -> Float[Tensor, "d"] | None:
    """The move of length sqrt(d) that raises the inner products with all rows by the same amount.

    delta is proportional to R^T (R R^T)^(-1) 1, the shortest solution of R delta = 1 (computed with
    the pseudo-inverse, so with more rows than dimensions it is the least-squares solution). None
    where every move raises some inner products as much as it lowers others.
    """
    delta = least_squares(rows, torch.ones_like(rows[:, 0]))
    rise = torch.linalg.vector_norm(rows @ delta) / math.sqrt(len(rows))  # at most 1
    if not float(rise) > 1e3 * torch.finfo(rows.dtype).eps:
        return None
    return delta * (math.sqrt(len(delta)) / torch.linalg.vector_norm(delta))


class OneTokenAttention:
    """phi(X) = weights(X W X^T / sqrt d) X as a function of the move of one token, at O(nd + d^2)
    operations per move.

    Moving token i changes only row i and column i of the scores. For weights u(score) / row sum, u
    >= 0, row j != i is (1 - p_j) M_j + p_j x' with p_j = u(s_j) / (Z_j + u(s_j)), where M_j and Z_j
    are the attention average and the normaliser of row j without token i, and s_j = K_j x' its
    score on the moved token, K = X W / sqrt d. For softmax p_j = sigmoid(s_j - log Z_j).

    Args:
        weights: ``softmax``, ``relu``, or Weights that are never negative.
        W: (d, d) with entries N(0, 1/d).
        X: (n, d) tokens of norm sqrt(d).
        token: the row that moves.

    Raises:
        ValueError: an odd power, which is negative at negative scores; or X has no such token.

    >>> from attention_theory.sensitivity import RandomAttentionFeatures
    >>> from attention_theory.tokens import contexts
    >>> X = contexts("iid", 1, 5, 8, seed=0)[0]
    >>> map, other = RandomAttentionFeatures.sample(8, seed=0), X.clone()
    >>> other[0] = -X[0]
    >>> literal, fast = (map(other) - map(X)).norm() ** 2, map.one_token(X, 0).change(-2 * X[:1])
    >>> abs(fast.item() / literal.item() - 1) < 1e-9
    True
    """

    def __init__(
        self, weights: Kind, W: Float[Tensor, "d d"], X: Float[Tensor, "n d"], token: Natural = 0
    ):
        if len(W) != X.shape[1]:
            raise ValueError(
                f"a map of tokens in R^{len(W)} does not take a context of shape {tuple(X.shape)}"
            )
        check_token(token, len(X))
        self.weights, self.W, self.x, self.token = as_weights(weights), W, X[token], token
        family, knob = self.weights.family, self.weights.knob
        if family == "power" and knob % 2:
            raise ValueError(
                f"{self.weights} is negative at negative scores, and random scores have both "
                "signs: take an even degree"
            )
        self._keys = torch.cat([X[:token], X[token + 1 :], self.x[None]])
        self.others = self._keys[:-1]
        self.K = self.others @ W / math.sqrt(X.shape[1])
        self.M, self.Z = torch.empty_like(self.others), torch.empty_like(self.others[:, 0])
        for rows in blocks(self.others, self.others):
            scores = self.K[rows] @ self.others.T
            self.M[rows] = self.weights.normalised(scores)[0] @ self.others
            if family != "sharp":
                self.Z[rows] = self.weights(scores).sum(dim=1)
            else:  # log Z, or for the hard maximum the score to beat
                self.Z[rows] = (
                    scores.amax(dim=1)
                    if knob == math.inf
                    else torch.logsumexp(knob * scores, dim=1)
                )
        # what change() needs of the unmoved context
        self.scores = self.K @ self.x
        self.unmoved_weight = self.weight_at(self.scores)
        self.unmoved_own = self.own_row(self.x[None])[0]
        if family == "sharp" and knob < math.inf:
            self._unmoved_rest = torch.sigmoid(self.Z - knob * self.scores)
        self._gap = self.x - self.M
        self._gap_square = self._gap.square().sum(dim=1)
        rows = self.M + self.unmoved_weight[:, None] * self._gap
        self.norm = torch.sqrt(rows.square().sum() + self.unmoved_own.square().sum())
        self._query = self.x @ W / math.sqrt(len(self.x))
        self._own_scores = self._keys @ self._query
        self._own_weights, _ = self.weights.normalised(self._own_scores)

    def weight(self, moved: Float[Tensor, "batch d"]) -> Float[Tensor, "batch others"]:
        """The weight of the moved token in each of the other rows."""
        return self.weight_at(moved @ self.K.T)

    def weight_at(self, scores: Float[Tensor, "*batch others"]) -> Float[Tensor, "*batch others"]:
        """The weight of the token in the other rows when these are their scores on it."""
        if self.weights.family == "sharp":
            if self.weights.knob == math.inf:
                return (scores > self.Z).to(scores)
            return torch.sigmoid(self.weights.knob * scores - self.Z)
        raised = self.weights(scores)
        total = raised + self.Z
        return raised / torch.where(total == 0, 1, total)

    def own_row(self, moved: Float[Tensor, "batch d"]) -> Float[Tensor, "batch d"]:
        """The features of the moved token itself (zero if all its weights are zero)."""
        weights, _ = self.weights.normalised(self._scores_of(moved))
        return weights[:, :-1] @ self.others + weights[:, -1:] * moved

    def features(self, deltas: Float[Tensor, "batch d"]) -> Float[Tensor, "batch n d"]:
        """phi(X^i(delta)), the features with the token moved by each delta."""
        moved = self.x + deltas
        p = self.weight(moved)[:, :, None]
        rows = (1 - p) * self.M + p * moved[:, None]
        return torch.cat(
            [rows[:, : self.token], self.own_row(moved)[:, None], rows[:, self.token :]], dim=1
        )

    def readout(
        self, deltas: Float[Tensor, "batch d"], directions: Float[Tensor, "m nd"]
    ) -> Float[Tensor, "batch m"]:
        """Inner products of flat phi(X^i(delta)) with each direction, without forming the (n, d)
        features of each move.

        Raises:
            ValueError: directions of another length than n d.
        """
        if directions.shape[1] != self._keys.numel():
            n, d = self._keys.shape
            raise ValueError(
                f"directions of {directions.shape[1]} numbers are not those of {n} tokens in R^{d}"
            )
        moved = self.x + deltas
        rows = directions.unflatten(1, (-1, len(self.x)))
        others = torch.cat([rows[:, : self.token], rows[:, self.token + 1 :]], dim=1)
        p = self.weight(moved)[:, None]
        parts = (1 - p) * (others * self.M).sum(dim=2) + p * torch.einsum(
            "bd,mjd->bmj", moved, others
        )
        return parts.sum(dim=2) + self.own_row(moved) @ rows[:, self.token].T

    def change(self, deltas: Float[Tensor, "batch d"]) -> Float[Tensor, "batch"]:
        """|phi(X^i(delta)) - phi(X)|^2, without an (n, d) array per move and without cancellation
        for small moves.

        Row j != i changes by p_j delta + (p_j - a_j)(x - M_j), with a_j and p_j the weights before
        and after the move. The differences of the weights are computed from those of the scores.
        """
        p, rise = self.moved_weight(deltas @ self.K.T)
        square, along = deltas.square().sum(dim=1), deltas @ self._gap.T
        rows = (
            p.square().sum(dim=1) * square
            + 2 * (p * rise * along).sum(dim=1)
            + rise.square() @ self._gap_square
        )
        return (rows + self.own_change(deltas).square().sum(dim=1)).clamp(min=0)

    def moved_weight(
        self, added: Float[Tensor, "batch others"]
    ) -> tuple[Float[Tensor, "batch others"], Float[Tensor, "batch others"]]:
        """The other rows' weights on the token when their scores on it grow by ``added``, and the
        increase of these weights.
        """
        after, knob = self.scores + added, self.weights.knob
        p, a = self.weight_at(after), self.unmoved_weight
        if knob == math.inf:
            return p, p - a
        if self.weights.family == "sharp":
            q, b = torch.sigmoid(self.Z - knob * after), self._unmoved_rest  # 1 - p, 1 - a
            return p, torch.tanh(knob / 2 * added) * (p * b + a * q)
        Z = torch.where(self.Z > 0, self.Z, 1)
        small = (
            self._rise(self.scores, added)
            * Z
            / ((self.weights(after) + Z) * (self.weights(self.scores) + Z))
        )
        return p, torch.where(self.Z > 0, small, p - a)

    def own_change(self, deltas: Float[Tensor, "batch d"]) -> Float[Tensor, "batch d"]:
        """The change of the features of the moved token itself.

        Where the scores move little, the differences of weights are computed from those of the
        scores.
        """
        before, a, step = (
            self._own_scores,
            self._own_weights,
            deltas @ self.W / math.sqrt(len(self.x)),
        )
        own = (step * (self.x + deltas)).sum(dim=1) + deltas @ self._query
        added = torch.cat([step @ self.others.T, own[:, None]], dim=1)
        rise = self.weights.normalised(self._own_scores_after(deltas, before + added))[0] - a
        if self.weights.family == "sharp":
            usable = (self.weights.knob * added.detach()).abs().amax(dim=1, keepdim=True) < 1
            if bool(usable.any()):
                near = (self.weights.knob * added).clamp(-1, 1)
                near = a * torch.expm1(
                    near - torch.log1p((a * torch.expm1(near)).sum(dim=1, keepdim=True))
                )
                rise = torch.where(usable, near, rise)
        else:
            grown = self._rise(before, added)
            usable = grown.abs().sum(dim=1, keepdim=True) < self.weights(before).sum() / 2
            if bool(usable.any()):
                new = torch.where(
                    usable, self.weights(before).sum() + grown.sum(dim=1, keepdim=True), 1
                )
                rise = torch.where(usable, (grown - a * grown.sum(dim=1, keepdim=True)) / new, rise)
        return rise @ self._keys + (a[-1] + rise[:, -1:]) * deltas

    def _own_scores_after(self, deltas: Tensor, sums: Tensor) -> Tensor:
        """The moved token's scores: the sums of old and added scores, except where only their
        rounding errors are left.

        The move to 0 does that. The weights of powers do not depend on the scale of a row, so they
        would turn the errors into weights.
        """
        if self.weights.family in ("sharp", "truncated"):
            return sums
        noise = 1e3 * torch.finfo(sums.dtype).eps * self._own_scores.abs().amax()
        lost = sums.detach().abs().amax(dim=1, keepdim=True) <= noise
        return (
            torch.where(lost, self._scores_of(self.x + deltas), sums) if bool(lost.any()) else sums
        )

    def _scores_of(self, moved: Tensor) -> Tensor:
        """The scores of the moved token on the others and on itself."""
        query = moved @ self.W / math.sqrt(len(self.x))
        return torch.cat([query @ self.others.T, (query * moved).sum(dim=1, keepdim=True)], dim=1)

    def _rise(self, before: Tensor, added: Tensor) -> Tensor:
        """u(before + added) - u(before); for ReLU weights free of cancellation where both scores
        are positive.
        """
        after = before + added
        grown = self.weights(after) - self.weights(before)
        linear = self.weights == as_weights("relu")
        return torch.where((before > 0) & (after > 0), added, grown) if linear else grown

    def starts(self) -> Float[Tensor, "starts d"]:
        """Constructive moves to start an ascent from: :meth:`even_move` and :meth:`averting_move`,
        or the token itself if neither exists.
        """
        even, averting = (
            level_move(rows) if len(rows) else None for rows in (self.K, -self._images)
        )
        found = [move for move in (even, averting) if move is not None]
        return torch.stack(found or [self.x])

    def aimed_moves(self, count: Steps) -> Float[Tensor, "aimed d"]:
        """For each of the other rows that these moves give the largest weights, the move of length
        sqrt(d) that raises its score most.

        At most ``count`` moves; rows whose score no move changes have none.
        """
        reach = torch.linalg.vector_norm(self.K, dim=1)
        weight = self.weight_at(self.scores + math.sqrt(len(self.x)) * reach)
        rows = torch.where(reach > 0, weight, -1).argsort(descending=True)[
            : min(count, int((reach > 0).sum()))
        ]
        return self.K[rows] * (math.sqrt(len(self.x)) / reach[rows, None])

    def even_move(self) -> Float[Tensor, "d"]:
        """The move of length sqrt(d) that raises the scores on the token by the same amount in all
        other rows.

        Raises:
            ValueError: there is no such move, as with W = 0 or a single token.
        """
        return self._existing(
            self.K, "raises the scores on the token by the same amount in all other rows"
        )

    def averting_move(self) -> Float[Tensor, "d"]:
        """The move of length sqrt(d) that lowers the token's own scores on all others by the same
        amount.

        With ReLU weights the token then attends to itself alone.

        Raises:
            ValueError: there is no such move, as with W = 0 or a single token.
        """
        return -self._existing(
            self._images, "lowers the token's scores on all others by the same amount"
        )

    @property
    def _images(self) -> Float[Tensor, "others d"]:
        """(n - 1, d): the inner product of row j with a move is what the move adds to the token's
        score on token j.
        """
        return self.others @ self.W.T / math.sqrt(len(self.x))

    def _existing(self, rows: Tensor, what: str) -> Tensor:
        move = level_move(rows) if len(rows) else None
        if move is None:
            raise ValueError(f"no move {what}")
        return move
