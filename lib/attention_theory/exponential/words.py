"""Word sensitivity with any weights: one-token update, ascent, certificate, and the two ends of the knob (chapter "Words")."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.attention import Weights
from attention_theory.domain import AtLeastOne, Count, Extended, Natural, Positive, Seed, Size, Steps
from attention_theory.sensitivity.attention_features import OneTokenAttention, RandomAttentionFeatures
from attention_theory.sensitivity.upper_bound import own_bound
from attention_theory.sensitivity.word import climb


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """A lower estimate of S(X) by ascent, and |phi(X)| / sqrt(n d)."""

    value: float
    size: float


def word_sensitivity(
    weights: Weights,
    X: Float[Tensor, "n d"],
    token: Natural = 0,
    seed: Seed = 0,
    starts: Size = 4,
    steps: Steps = 60,
) -> Sensitivity:
    """S(X) = max |phi(X^i(delta)) - phi(X)| / |phi(X)| over |delta| <= sqrt(d), climbed from several starts.

    Args:
        weights: as in :class:`OneTokenAttention`. The hard maximum has no slope: its starts are compared, not climbed.
        X: (n, d) tokens of norm sqrt(d).
        token: the row that moves.
        seed: of W, the same as in ``RandomAttentionFeatures.sample``; and of the random starts.
        starts, steps: of the ascent.

    Raises:
        ValueError: as :class:`OneTokenAttention`.
    """
    W = RandomAttentionFeatures.sample(X.shape[1], seed).to(X).W
    moved = OneTokenAttention(weights, W, X, token)
    return Sensitivity(climb(moved, starts, steps, seed).value, float(moved.norm) / math.sqrt(X.numel()))


def averaging_sensitivity(X: Float[Tensor, "n d"]) -> float:
    """S(X) of averaging, exactly: every row is the mean token, so S = sqrt(d) / |sum of the tokens|, for any moved token.

    Raises:
        ValueError: the tokens sum to zero.
    """
    total = float(torch.linalg.vector_norm(X.sum(dim=0)))
    if not total > 0:
        raise ValueError("the tokens sum to zero: averaging maps the context to zero, and the relative change is not defined")
    return math.sqrt(X.shape[1]) / total


def vanishing_move(degree: Count, X: Float[Tensor, "n d"], token: Natural = 0, seed: Seed = 0) -> Float[Tensor, "d"]:
    """The shortest move of a token at which z^degree, of odd degree, sums to zero in the row of another token.

    Row j vanishes where its score on the moved token is -sign(Z) |Z|^(1/degree), Z the sum of the row without it. Near there
    the row is as long as one likes: if the move is shorter than sqrt(d), S(X) is infinite.

    Args:
        degree: of the power, odd.
        X, token, seed: as in :func:`word_sensitivity`.

    Raises:
        ValueError: an even degree, whose row sums do not vanish.
    """
    if degree % 2 == 0:
        raise ValueError(f"degree = {degree} is not allowed: even powers are positive, and their row sums do not vanish")
    W = RandomAttentionFeatures.sample(X.shape[1], seed).to(X).W
    others = torch.cat([X[:token], X[token + 1 :]])
    K = others @ W / math.sqrt(X.shape[1])
    Z = (K @ others.T).pow(degree).sum(dim=1)
    missing = -Z.sign() * Z.abs().pow(1 / degree) - K @ X[token]
    moves = K * (missing / K.square().sum(dim=1))[:, None]
    return moves[moves.norm(dim=1).argmin()]


def mean_sensitivity(weights: Weights, X: Float[Tensor, "c n d"], starts: Size = 4, steps: Steps = 40) -> Extended:
    """The mean of S(X) over several contexts, each with its own W (seed 0, 1, ...); infinite for odd powers that may vanish."""
    if weights.family == "power" and weights.knob % 2 == 1:
        lengths = [float(vanishing_move(int(weights.knob), x, 0, seed).norm()) for seed, x in enumerate(X)]
        if min(lengths) < math.sqrt(X.shape[2]):
            return math.inf
    return sum(word_sensitivity(weights, x, 0, seed, starts, steps).value for seed, x in enumerate(X)) / len(X)


def nearly_three(n: Count, tilt: Positive = 1e-4) -> tuple[OneTokenAttention, Float[Tensor, "1 2"]]:
    """Hard maximum, d = 2: a context and a move with |change| / |phi(X)| = sqrt(9 - 5/n) up to O(tilt).

    Token 0 is sqrt(2) e_1, all others lie near its opposite, and W makes all of those attend to one of them; the move doubles
    token 0 and turns it by 4 tilt, which wins their rows. Row 0 goes from itself to the opposite.

    Args:
        n: tokens, at least 3.
        tilt: the small angle.
    """
    angle = torch.cat([torch.zeros(1), math.pi + tilt * torch.arange(n - 1) / n]).double()
    X = math.sqrt(2) * torch.stack([angle.cos(), angle.sin()], dim=1)
    W = torch.tensor([[tilt, -1.0], [0.0, 0.0]], dtype=torch.float64)
    turn = torch.tensor([[math.cos(4 * tilt), math.sin(4 * tilt)]], dtype=torch.float64)
    return OneTokenAttention(Weights("sharp", math.inf), W, X, 0), math.sqrt(2) * turn


@dataclass(frozen=True)
class Parts:
    """What bounds S(X): how far the other rows and the moved row can change, and the length of the features."""

    others: float
    own: float
    length: float

    @property
    def bound(self) -> float:
        """S(X) is at most sqrt(others^2 + own^2) / length."""
        return math.hypot(self.others, self.own) / self.length


def largest_weight(moved: OneTokenAttention) -> Float[Tensor, "n"]:
    """The largest weight that each other row can give to the moved token, over all moves of length sqrt(d) at most.

    The score moves by |K_j| sqrt(d) at most, and u is largest at an end of that range: every u of the families grows, or falls
    and then grows.
    """
    reach = moved.K.norm(dim=1) * math.sqrt(len(moved.x))
    return torch.maximum(moved.weight_at(moved.scores + reach), moved.weight_at(moved.scores - reach))


def three_parts(moved: OneTokenAttention) -> Parts:
    """The three parts of the bound on S(X) that holds for every context and every u >= 0 of the families.

    A row j changes by p_j delta + (p_j - a_j)(x_i - M_j), at most by its largest weight times sqrt(d) + |x_i - M_j|. The moved
    row is an average of tokens, before and after.

    Raises:
        ValueError: the features are 0.
    """
    if not float(moved.norm) > 0:
        raise ValueError("the features of the context are 0: their relative change is not defined")
    d = len(moved.x)
    gap = (moved.x - moved.M).norm(dim=1)
    others = float((largest_weight(moved) * (math.sqrt(d) + gap)).norm())
    return Parts(others, own_bound(moved), float(moved.norm))


def long_context_limit(W: Float[Tensor, "d d"]) -> float:
    """The limit of sqrt(n) S(X) for n standard normal tokens, W and the sharpness fixed: sqrt(d) |W|_2 / |W|_F."""
    return math.sqrt(len(W)) * float(torch.linalg.matrix_norm(W, 2) / W.norm())


def expected_sensitivity(beta: Positive, n: AtLeastOne, d: Count) -> float:
    """A guess for S at independent tokens, u = exp(beta z) and random W, with no constant fitted and no proof.

    (2 d rows min(1, crowd/n)^2 + own^2) over the squared length d min(n, exp(beta^2)) + n beta^2. A move raises about
    d beta^2 / (log n + beta^2/2)^2 rows, crowd = exp(beta sqrt(d) - beta^2/2) is the contrast that one row can reach, and
    own = max(2 beta, sqrt(2 d) min(1, exp(sqrt(2 d) beta - beta^2)/n)) is what the moved row changes.
    """
    crowd, of_its_own = beta * math.sqrt(d) - beta**2 / 2, beta * math.sqrt(2 * d) - beta**2
    share, own_share = (math.exp(min(0.0, x - math.log(n))) for x in (crowd, of_its_own))
    rows = min(n, max(1.0, d * beta**2 / (math.log(n) + beta**2 / 2) ** 2))
    own = max(2 * beta, math.sqrt(2 * d) * own_share)
    return math.sqrt((2 * d * rows * share**2 + own**2) / (d * min(n, math.exp(beta**2)) + n * beta**2))
