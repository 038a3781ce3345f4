"""The proof of Theorem 3, run at sizes where its hypothesis holds (bombari2024, Appendix D)."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory import tokens
from attention_theory.attention import attention, attention_weights
from attention_theory.sensitivity.attention_features import RandomAttentionFeatures
from attention_theory.sensitivity.constructive import aligned_count, aligned_direction, least_dimension, two_directions
from attention_theory.sensitivity.context import weights_generator
from attention_theory.sensitivity.deferred import DeferredGaussian
from attention_theory.sensitivity.word import climb


@dataclass(frozen=True, eq=False)
class ProofRun:
    """What Lemmas D.1 to D.5 claim, measured on one context; entries of two are for the moves Delta_1 and Delta_2."""

    X: Float[Tensor, "n d"]
    kind: str
    draws: int  #: until delta of Lemma D.1 was found
    delta: Float[Tensor, "d"]
    pair: Float[Tensor, "2 d"]  #: delta_1 and delta_2 of Lemma D.2
    moves: Float[Tensor, "2 d"]  #: Delta_1 and Delta_2 of Lemma D.3
    scores: Float[Tensor, "2 n"]  #: X W Delta_k / sqrt d
    gap: Float[Tensor, "2 others"]  #: sqrt d times the distance of the other rows of the attention to e_i
    rows: Float[Tensor, "2 n"]  #: changes of the rows of the features, over sqrt d
    norm: float  #: |phi(X)| / sqrt(nd)
    before: Float[Tensor, "n n"]  #: the scores of the context itself

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
    def change(self) -> float:
        """The larger change of the features by the two moves, over sqrt(nd) (Lemma D.5)."""
        return float(self.rows.norm(dim=1).max()) / math.sqrt(self.n)

    @property
    def attending(self) -> Tensor:
        """Which other rows put nearly all attention on the token, within 1/sqrt d of e_i, after both moves (D.50)."""
        return (self.gap <= 1).all(dim=0)

    @property
    def served(self) -> list[int]:
        """How many of these rows each move changes by 0.2 sqrt d, the better move first."""
        counts = (self.rows[:, 1:][:, self.attending] >= 0.2).sum(dim=1)
        return sorted((int(count) for count in counts), reverse=True)


def prove_on(X: Float[Tensor, "n d"], seed: int, scale: float = 0.45, kind: str = "") -> ProofRun:
    """Run the proof on token 0.

    W is looked at through W^T times a few vectors only, so it is drawn through :class:`DeferredGaussian`.

    Args:
        X: context (n, d), tokens of norm sqrt(d), n < d.
        seed: of all draws.
        scale: the C of Delta_k = C W^T delta_k.
        kind: a name for the context.

    Raises:
        ValueError: tokens off the sphere, or spanning R^d.
    """
    n, d = X.shape
    delta, draws = aligned_direction(X, seed)
    pair = torch.stack(two_directions(X, delta, seed))
    W = DeferredGaussian(d, d, 1 / math.sqrt(d), weights_generator(seed))
    XW = W.transpose_times(X)
    before = XW @ X.T / math.sqrt(d)
    features = attention(before, X)
    moves = scale * torch.cat([W.transpose_times(half[None]) for half in pair])
    gaps, rows = [], []
    for move in moves:
        after = torch.cat([X[:1] + move, X[1:]])
        weights = attention_weights(W.transpose_times(after) @ after.T / math.sqrt(d))
        e_0 = torch.zeros_like(weights[0]).index_fill(0, torch.tensor([0]).to(X.device), 1)
        gaps.append((weights[1:] - e_0).norm(dim=1) * math.sqrt(d))
        rows.append((weights @ after - features).norm(dim=1) / math.sqrt(d))
    norm = float(features.norm()) / math.sqrt(n * d)
    scores, gaps, rows = moves @ XW.T / math.sqrt(d), torch.stack(gaps), torch.stack(rows)
    return ProofRun(X, kind, draws, delta, pair, moves, scores, gaps, rows, norm, before)


def landing_error(run: ProofRun) -> float:
    """How far the changes of the attending rows are from |x_i + Delta_k - phi_j| (largest, over sqrt d)."""
    weights = torch.softmax(run.before, dim=1)
    features = weights @ run.X
    worst = 0.0
    for move, rows in zip(run.moves, run.rows):
        expected = (run.X[0] + move - features).norm(dim=1)[1:] / math.sqrt(run.d)
        if bool(run.attending.any()):
            worst = max(worst, float((rows[1:] - expected)[run.attending].abs().max()))
    return worst


def moves_compared(n: int, d: int, seed: int) -> dict[str, float]:
    """Relative changes that the proof's move at full length, the even move and ascent reach, independent tokens."""
    X = tokens.contexts("iid", 1, n, d, seed=seed)[0]
    raf = RandomAttentionFeatures.sample(d, seed=seed + 1)
    view = raf.one_token(X, 0)
    moves = torch.stack(two_directions(X, aligned_direction(X)[0])) @ raf.W
    moves = torch.cat([moves * (math.sqrt(d) / moves.norm(dim=1, keepdim=True)), view.even_move()[None]])
    found = (view.change(moves).sqrt() / view.norm).tolist()
    return {"n": n, "proof": max(found[:2]), "even": found[2], "ascent": climb(view, starts=6, steps=50).value}


def same_token(n: int, d: int, seed: int) -> Float[Tensor, "n d"]:
    """A context of n copies of one token."""
    return tokens.contexts("iid", 1, 1, d, seed)[0].expand(n, d).clone()


def proofs(sizes: tuple[int, ...] = (2, 4), kinds: tuple[str, ...] = ("iid", "anisotropic", "equal")) -> list[ProofRun]:
    """The proof on contexts of n tokens at the smallest d with d / log(d)^4 >= n."""
    found = []
    for n in sizes:
        d = least_dimension(n)
        for kind in kinds:
            X = same_token(n, d, n) if kind == "equal" else tokens.contexts(kind, 1, n, d, n)[0]
            found.append(prove_on(X, n, kind=kind))
    return found
