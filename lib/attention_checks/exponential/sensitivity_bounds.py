"""Upper and lower bounds on word sensitivity with any weights, for one context and in the mean."""

import math
from dataclasses import dataclass

import torch
from attention_theory.attention import Weights
from attention_theory.sensitivity.attention_features import OneTokenAttention, level_move
from attention_theory.sensitivity.upper_bound import lowest_score, own_bound
from jaxtyping import Float, Int
from theorybook.validation import AtLeastOne, Count, Positive, Size
from torch import Tensor


def nearly_three(n: Count, tilt: Positive = 1e-4) -> tuple[OneTokenAttention, Float[Tensor, "1 2"]]:
    """Hard maximum, d = 2: a context and a move with |change| / |phi(X)| = sqrt(9 - 5/n) up to
    O(tilt).

    Token 0 is sqrt(2) e_1, all others lie near its opposite, and W makes all of those attend to one
    of them; the move doubles token 0 and turns it by 4 tilt, so that their rows attend to it
    instead. Row 0 turns from itself to the opposite.

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
    """What bounds S(X): how far the other rows and the moved row can change, and the length of the
    features.
    """

    others: float
    own: float
    length: float

    @property
    def bound(self) -> float:
        """S(X) is at most sqrt(others^2 + own^2) / length."""
        return math.hypot(self.others, self.own) / self.length


def largest_weight(view: OneTokenAttention) -> Float[Tensor, "n"]:
    """The largest weight that each other row can give to the moved token, over all moves of length
    sqrt(d) at most.

    The score moves by |K_j| sqrt(d) at most, and u is largest at an end of that range: every u of
    the families grows, or falls and then grows.
    """
    reach = view.K.norm(dim=1) * math.sqrt(len(view.x))
    return torch.maximum(view.weight_at(view.scores + reach), view.weight_at(view.scores - reach))


def three_parts(view: OneTokenAttention) -> Parts:
    """The three parts of the bound on S(X) that holds for every context and every u >= 0 of the
    families.

    A row j changes by p_j delta + (p_j - a_j)(x_i - M_j), at most by its largest weight times
    sqrt(d) + |x_i - M_j|. The moved row is an average of tokens, before and after.

    Raises:
        ValueError: the features are 0.
    """
    if not float(view.norm) > 0:
        raise ValueError("the features of the context are 0: their relative change is not defined")
    d = len(view.x)
    gap = (view.x - view.M).norm(dim=1)
    others = float((largest_weight(view) * (math.sqrt(d) + gap)).norm())
    return Parts(others, own_bound(view), float(view.norm))


@dataclass(frozen=True)
class Sides:
    """Bounds on |phi(X) - phi(X')|, the change that one move makes."""

    lower: float
    upper: float


def gathered(view: OneTokenAttention, delta: Float[Tensor, "d"]) -> Sides:
    """Lower and upper bounds on the change that one move makes, by the attention that it gathers,
    times sqrt(d). (Source: ours.)

    Lower: sqrt(d) times the root of the sum of (gamma_j p_j)^2 over the other rows whose weight of
    the token does not fall, p_j after the move, gamma_j = (1 + sqrt 2)^(-|M_j|^2 / d) >= sqrt(2) -
    1. Upper: 3 sqrt(d (1 + sum max(a_j, p_j)^2)).

    Args:
        view: attention features as a function of one token; tokens of norm sqrt(d); for the hard
            maximum no ties.
        delta: (d,) of length sqrt(d), not against the token: delta . x >= 0.

    Raises:
        ValueError: delta has another length or points against the token (both up to rounding).
    """
    d, slack = len(view.x), 1e-6
    length, along = float(delta.norm()) / math.sqrt(d), float(delta @ view.x) / d
    if abs(length - 1) > slack or along < -slack:
        raise ValueError(
            f"|delta| / sqrt(d) = {length:g}, delta . x / d = {along:g} are not allowed: they "
            "must be 1, and >= 0"
        )
    p, a = view.weight_at(view.scores + view.K @ delta), view.unmoved_weight
    gamma = (1 + math.sqrt(2)) ** (-view.M.square().sum(dim=1) / d)
    lower = math.sqrt(d) * float((gamma * p * (p >= a)).norm())
    return Sides(lower, 3 * math.sqrt(d * (1 + float(torch.maximum(p, a).square().sum()))))


def raising_move(view: OneTokenAttention, rows: Int[Tensor, "m"]) -> Float[Tensor, "d"]:
    """The move of length sqrt(d), orthogonal to the token, that raises the scores of these other
    rows by the same amount.

    Args:
        view: attention features as a function of one token, d >= 2.
        rows: (m,) indices among the other rows; for m > d - 1 the scores rise equally in the sense
            of least squares.

    Raises:
        ValueError: d = 1, where no move is orthogonal to the token; or no such move raises all
            these scores alike.
    """
    if len(view.x) == 1:
        raise ValueError("d = 1 is not allowed: no move is orthogonal to the token")
    unit = view.x / view.x.norm()
    K = view.K[rows]
    move = level_move(K - (K @ unit)[:, None] * unit)
    if move is None:
        raise ValueError(
            f"rows = {rows.tolist()} are not allowed: no move raises all their scores by the same "
            "amount"
        )
    return move


def from_below(view: OneTokenAttention) -> float:
    """A lower bound on S(X): the best of a few explicit moves, each by :func:`gathered`, and of
    moving the token to 0.

    The moves are :func:`raising_move` of the 1, 2, 4, ... rows that can give the token the largest
    weights. Moved to 0, where u(0) > 0, the token averages: its row changes by phi_i minus the sum
    of the others over n. (Source: ours.)

    Raises:
        ValueError: d = 1, or features that are 0.
    """
    if not float(view.norm) > 0:
        raise ValueError("the features of the context are 0: their relative change is not defined")
    n, d = len(view.others) + 1, len(view.x)
    order = view.weight_at(view.scores + view.K.norm(dim=1) * math.sqrt(d)).argsort(descending=True)
    sizes = {min(2**k, n - 1, max(1, d - 2)) for k in range(d.bit_length())}
    best = max(gathered(view, raising_move(view, order[:m])).lower for m in sizes)
    if view.weights.family == "truncated" or (
        view.weights.family == "sharp" and view.weights.knob < math.inf
    ):
        best = max(best, float((view.unmoved_own - view.others.sum(dim=0) / n).norm()))
    return best / float(view.norm)


def from_above(view: OneTokenAttention, cells: Size = 200) -> float:
    """An upper bound on S(X): the certificate of Part I in which no row's score moves by more than
    the move can reach.

    The scores t_j that a move adds obey |t_j| <= |K_j| sqrt(d) and sum_j t_j^2 <= sigma_max(K)^2 d
    = R^2. For each m >= 0 the squared changes of the other rows sum to at most m R^2 + sum_j max
    (h_j - m t^2), h_j as in
    :func:`attention_theory.sensitivity.upper_bound.rows_bound`, over cells of each row's own range.
    At m = 0 this is no more than :func:`three_parts`. (Source: ours.)

    Args:
        view: attention features as a function of one token.
        cells: of half the range of a row.

    Raises:
        ValueError: features that are 0.
    """
    if not float(view.norm) > 0:
        raise ValueError("the features of the context are 0: their relative change is not defined")
    d, gap = len(view.x), (view.x - view.M).norm(dim=1)
    budget = float(torch.linalg.matrix_norm(view.K, ord=2)) ** 2 * d
    steps = torch.linspace(-1, 1, 2 * cells + 1, dtype=view.x.dtype).to(view.x)
    edges = steps[:, None] * view.K.norm(dim=1) * math.sqrt(d)

    def change(scores: Tensor) -> Tensor:
        p = view.weight_at(scores)
        return (p * math.sqrt(d) + (p - view.unmoved_weight).abs() * gap).square()

    at = change(view.scores + edges)
    highest = torch.maximum(at[:-1], at[1:])
    if view.weights.family in ("truncated", "power"):  # u falls and then grows
        highest = torch.maximum(
            highest, change(torch.full_like(view.scores, lowest_score(view.weights)))
        )
    nearest = torch.minimum(edges[:-1].square(), edges[1:].square())
    multipliers = [0.0, *(d * 10 ** (k / 10) for k in range(-60, 21))]
    others = min(m * budget + float((highest - m * nearest).amax(dim=0).sum()) for m in multipliers)
    return math.sqrt(others + own_bound(view) ** 2) / float(view.norm)


@dataclass(frozen=True)
class Law:
    """The parts of a lower bound in n, d and the sharpness: the change of the other rows, the
    change of the moved row, and the length of a row.
    """

    rows: float
    own: float
    length: float
    n: float

    @property
    def bound(self) -> float:
        """The mean of S(X) is at least max(rows, own) / (sqrt(n) length)."""
        return max(self.rows, self.own) / (math.sqrt(self.n) * self.length)


def mean_row(beta: Positive, n: AtLeastOne, d: Count) -> float:
    """An upper bound on the root of E |phi_j|^2, for n independent tokens on the sphere, u =
    exp(beta z), W random, d >= 2.

    (c beta + sqrt(c^2 beta^2 + 4 d Q)) / 2, c = d / (d - 1), Q = (1 - 4 beta^2 (1 - 1/n) /
    d)^(-d/2) / n, at most sqrt(d). (Source: ours.)
    """
    if d < 2:
        raise ValueError(f"d = {d} is not allowed: on a line no token can turn")
    lean, room = d / (d - 1) * beta, 1 - 4 * beta**2 * (1 - 1 / n) / d
    Q = math.exp(min(0.0, -d / 2 * math.log(room) - math.log(n))) if room > 0 else 1.0
    return min(math.sqrt(d), (lean + math.sqrt(lean**2 + 4 * d * Q)) / 2)


def random_law(beta: Positive, n: AtLeastOne, d: Count) -> Law:
    """A lower bound on the mean of S(X) over independent tokens on the sphere and random W, u =
    exp(beta z), in n, d and beta.

    The formulas and their proof are on the page "Words". (Source: ours.)

    Args:
        beta: sharpness.
        n: tokens, at least 2.
        d: dimension, at least 2.

    Raises:
        ValueError: n < 2 or d < 2.
    """
    if n < 2:
        raise ValueError(f"n = {n} is not allowed: a word needs another one that may hear it")
    length, c, room = mean_row(beta, n, d), d / (d - 1), 1 - 4 * beta**2 * (1 - 1 / n) / d
    rows = max(_raised(beta, n, d, m) for m in range(1, int(min(n - 1, max(1, d - 2))) + 1))
    shrunk = math.sqrt(2 / d) * math.exp(math.lgamma((d + 1) / 2) - math.lgamma(d / 2))  # E |k|
    heard = math.exp(min(0.0, -(d + 1) / 2 * math.log(room) - math.log(n))) if room > 0 else 1.0
    lean = c * beta * shrunk * max(0.0, 1 - heard - 2 * c / d - c**2 * beta**2 * (d + 1) / d**2)
    return Law(rows, lean**3 / (length + math.sqrt(d / n)) ** 2, length, n)


def _rise(d: int, m: int) -> float:
    """A lower bound on the mean of the largest amount by which one move, orthogonal to its token,
    raises m scores alike.
    """
    return math.sqrt((d - m - 1) * (d - m - 0.5) / (m * (d - 2))) if m > 1 else math.sqrt(d - 1.5)


def _raised(beta: float, n: float, d: int, m: int) -> float:
    """A lower bound on the geometric mean of the change of m rows, all raised by the same move."""
    y = math.log(n - 1) + beta**2 / 2 - beta * _rise(d, m)
    spread = beta**2 * (1 + (math.sqrt(1 - 1 / (2 * m)) + beta / math.sqrt(2 * d)) ** 2)
    p = 1 / (1 + math.exp(y)) if y < 700 else 0.0
    gamma = (1 + math.sqrt(2)) ** (-(mean_row(beta, n - 1, d) ** 2) / d)
    return math.sqrt(m * d) * p * math.exp(-spread / 8) * gamma


def long_context_limit(W: Float[Tensor, "d d"]) -> float:
    """The limit of sqrt(n) S(X) for n standard normal tokens, W and the sharpness fixed: sqrt(d)
    |W|_2 / |W|_F.
    """
    return math.sqrt(len(W)) * float(torch.linalg.matrix_norm(W, 2) / W.norm())


def expected_sensitivity(beta: Positive, n: AtLeastOne, d: Count) -> float:
    """A heuristic for S at independent tokens, u = exp(beta z) and random W, with no fitted
    constant and no proof.

    (2 d rows min(1, crowd/n)^2 + own^2) over the squared length d min(n, exp(beta^2)) + n beta^2. A
    move raises about d beta^2 / (log n + beta^2/2)^2 rows, crowd = exp(beta sqrt(d) - beta^2/2) is
    the contrast that one row can reach, and own = max(2 beta, sqrt(2 d) min(1, exp(sqrt(2 d) beta -
    beta^2)/n)) is what the moved row changes.
    """
    crowd, of_its_own = beta * math.sqrt(d) - beta**2 / 2, beta * math.sqrt(2 * d) - beta**2
    share, own_share = (math.exp(min(0.0, x - math.log(n))) for x in (crowd, of_its_own))
    rows = min(n, max(1.0, d * beta**2 / (math.log(n) + beta**2 / 2) ** 2))
    own = max(2 * beta, math.sqrt(2 * d) * own_share)
    return math.sqrt(
        (2 * d * rows * share**2 + own**2) / (d * min(n, math.exp(beta**2)) + n * beta**2)
    )
