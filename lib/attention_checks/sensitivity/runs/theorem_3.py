"""The proof of Theorem 3, run at sizes where its hypothesis holds (bombari2024, Appendix D)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from attention_theory import tokens
from attention_theory.attention import attention, attention_weights
from attention_theory.sensitivity.attention_features import RandomAttentionFeatures
from attention_theory.sensitivity.constructive import least_dimension
from attention_theory.sensitivity.context import weights_generator
from attention_theory.sensitivity.deferred import DeferredGaussian
from attention_theory.sensitivity.word import search
from jaxtyping import Float, Float64
from scipy.optimize import nnls
from theorybook.validation import Count, Positive, Seed, Size
from torch import Tensor

from attention_checks.sensitivity.aligned import aligned_count, aligned_direction, two_directions


@dataclass(frozen=True, eq=False)
class Directions:
    """What Lemmas D.1 and D.2 claim, on one context."""

    X: Float[Tensor, "n d"]
    kind: str
    draws: Size  #: until delta of Lemma D.1 was found
    delta: Float[Tensor, "d"]
    pair: Float[Tensor, "2 d"]  #: delta_1 and delta_2 of Lemma D.2

    @property
    def n(self) -> int:
        return self.X.shape[0]

    @property
    def d(self) -> int:
        return self.X.shape[1]

    @property
    def aligned(self) -> float:
        """Share of the tokens that are aligned with delta (Lemma D.1)."""
        return aligned_count(self.X, self.delta) / self.n

    @property
    def products(self) -> Float[Tensor, "2 n"]:
        """The products x_j . delta_k / d."""
        return self.pair @ self.X.T / self.d


@dataclass(frozen=True, eq=False)
class ProofRun(Directions):
    """What Lemmas D.3 to D.5 claim, too; entries of two are for the moves Delta_1 and Delta_2."""

    scale: float  #: the C of Delta_k = C W^T delta_k
    moves: Float[Tensor, "2 d"]  #: Delta_1 and Delta_2 of Lemma D.3
    scores: Float[Tensor, "2 n"]  #: X W Delta_k / sqrt d
    gap: Float[
        Tensor, "2 others"
    ]  #: sqrt d times the distance of the other rows of the attention to e_i
    rows: Float[Tensor, "2 n"]  #: changes of the rows of the features, over sqrt d
    landed: Float[
        Tensor, "2 n"
    ]  #: |x_i + Delta_k - phi_j| / sqrt d, by which a row changes that ends at x_i + Delta_k
    norm: float  #: |phi(X)| / sqrt(nd)
    asked: Float[Tensor, "questions d"]  #: the vectors that the run multiplied with W^T
    answers: Float[Tensor, "questions d"]  #: and what came out

    def matrix(self) -> Float[Tensor, "d d"]:
        """The smallest W that gives the same answers, for comparing the printed formulas with the
        run. For small d.
        """
        return torch.linalg.pinv(self.asked) @ self.answers

    @property
    def nonlinearity(self) -> float:
        """How far the scores are from C x_j delta_k / sqrt d, as if W W^T were 1, over the largest
        of these.
        """
        linear = self.scale * self.products * math.sqrt(self.d)
        return float((self.scores - linear).abs().max() / linear.max())

    @property
    def nearest_quarter(self) -> Float[Tensor, "2"]:
        """The largest ``gap`` in the quarter of the rows where it is smallest (Lemma D.4)."""
        return self.gap.sort(dim=1).values[:, math.ceil(self.n / 4) - 1]

    @property
    def change(self) -> float:
        """The larger change of the features by the two moves, over sqrt(nd) (Lemma D.5)."""
        return float(self.rows.norm(dim=1).max()) / math.sqrt(self.n)

    @property
    def attending(self) -> Tensor:
        """Which other rows put nearly all attention on the token, within 1/sqrt d of e_i, after
        both moves (D.50).
        """
        return (self.gap <= 1).all(dim=0)

    @property
    def landing_error(self) -> float:
        """The largest distance of the changes of the attending rows from ``landed``."""
        errors = (self.rows - self.landed)[:, 1:][:, self.attending].abs()
        return float(errors.max()) if errors.numel() else 0.0

    @property
    def served(self) -> list[int]:
        """How many of the attending rows each move changes by at least 0.2 sqrt d, the better move
        first.
        """
        counts = (self.rows[:, 1:][:, self.attending] >= 0.2).sum(dim=1)
        return sorted((int(count) for count in counts), reverse=True)


def directions(X: Float[Tensor, "n d"], seed: Seed = 0, kind: str = "") -> Directions:
    """Lemmas D.1 and D.2: delta by drawing until it is aligned, then the pair.

    Args:
        X: context (n, d), tokens of norm sqrt(d), n < d.
        seed: of the draws.
        kind: a name for the context.

    Raises:
        ValueError: tokens off the sphere, or spanning R^d.
    """
    delta, draws = aligned_direction(X, seed)
    return Directions(X, kind, draws, delta, torch.stack(two_directions(X, delta, seed)))


def prove_on(
    X: Float64[Tensor, "n d"],
    seed: Seed,
    scale: Positive = 0.45,
    kind: str = "",
    product: bool = False,
) -> ProofRun:
    """Run the proof on token 0.

    W is looked at through W^T times a few vectors only, so it is drawn through
    :class:`DeferredGaussian`.

    Args:
        X: context (n, d), tokens of norm sqrt(d), n < d.
        seed: of all draws.
        scale: the C of Delta_k = C W^T delta_k.
        kind: a name for the context.
        product: W = W_Q^T W_K, with independent entries N(0, 1/d) in both (Remark 5.1).

    Raises:
        ValueError: as :func:`directions`.
    """
    n, d = X.shape
    start = directions(X, seed, kind)
    W, W_Q = (
        DeferredGaussian(d, d, 1 / math.sqrt(d), weights_generator(seed + shift))
        for shift in (0, 2**20)
    )

    asked, answers = [], []

    def transpose_times(vectors: Tensor) -> Tensor:
        asked.append(vectors)
        answers.append(W.transpose_times(W_Q.times(vectors) if product else vectors))
        return answers[-1]

    XW = transpose_times(X)
    features = attention(XW @ X.T / math.sqrt(d), X)
    moves = scale * torch.cat([transpose_times(half[None]) for half in start.pair])
    gaps, rows = [], []
    for move in moves:
        after = torch.cat([X[:1] + move, X[1:]])
        weights = attention_weights(transpose_times(after) @ after.T / math.sqrt(d))
        e_0 = torch.zeros_like(weights[0]).index_fill(0, torch.tensor([0]).to(X.device), 1)
        gaps.append((weights[1:] - e_0).norm(dim=1) * math.sqrt(d))
        rows.append((weights @ after - features).norm(dim=1) / math.sqrt(d))
    landed = (X[0] + moves[:, None] - features).norm(dim=2) / math.sqrt(d)
    measured = moves @ XW.T / math.sqrt(d), torch.stack(gaps), torch.stack(rows), landed
    norm = float(features.norm()) / math.sqrt(n * d)
    found = (scale, moves, *measured, norm, torch.cat(asked), torch.cat(answers))
    return ProofRun(*vars(start).values(), *found)  # type: ignore


def moves_compared(
    n: Count, d: Count, seed: Seed, shares: Sequence[float] = (1.0,)
) -> dict[str, Any]:
    """Relative changes that the proof's move, the even move and a search reach on independent
    tokens.

    ``proof`` (the better of the pair) and ``even`` are rows: the moves at these shares of the full
    length sqrt(d).
    """
    X = tokens.contexts("iid", 1, n, d, seed=seed)[0]
    raf = RandomAttentionFeatures.sample(d, seed=seed + 1)
    view = raf.one_token(X, 0)
    moves = torch.cat([directions(X).pair @ raf.W, view.even_move()[None]])
    moves = moves * (math.sqrt(d) / moves.norm(dim=1, keepdim=True))
    lengths = torch.tensor(shares).to(moves)[:, None, None]
    found = (view.change((lengths * moves).flatten(0, 1)).sqrt() / view.norm).unflatten(0, (-1, 3))
    proof, even = found[:, :2].amax(dim=1).tolist(), found[:, 2].tolist()
    return {"n": n, "proof": proof, "even": even, "ascent": search(view).value}


def best_level(K: Float[Tensor, "others d"]) -> float:
    """The largest value that the smallest increase of the scores K delta can have for moves of
    length sqrt(d); 0 if no move raises all.

    The shortest u with K u >= 1, by non-negative least squares (Lawson and Hanson's least distance
    programming).
    """
    rows = K.detach().cpu().double().numpy()
    E = np.vstack([rows.T, np.ones(len(rows))])
    f = np.eye(len(E))[-1]
    rest = f - E @ nnls(E, f, maxiter=100 * len(rows))[0]
    u = rest[:-1] / rest[-1] if rest[-1] > 1e-12 else np.full(rows.shape[1], np.inf)
    return math.sqrt(rows.shape[1]) / float(np.linalg.norm(u))


def same_token(n: Count, d: Count, seed: Seed) -> Float[Tensor, "n d"]:
    """A context of n copies of one token."""
    return tokens.contexts("iid", 1, 1, d, seed)[0].expand(n, d).clone()


def proof_runs(
    sizes: tuple[int, ...] = (2, 4),
    kinds: tuple[str, ...] = ("iid", "anisotropic", "equal"),
    product: bool = False,
) -> list[ProofRun]:
    """The proof on contexts of n tokens at the smallest d with d / log(d)^4 >= n."""
    found = []
    for n in sizes:
        d = least_dimension(n)
        for kind in kinds:
            X = same_token(n, d, n) if kind == "equal" else tokens.contexts(kind, 1, n, d, n)[0]
            found.append(prove_on(X, n, kind=kind, product=product))
    return found
