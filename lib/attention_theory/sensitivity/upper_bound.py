"""Upper bounds on the word sensitivity of attention features, to compare with what the ascent
finds.
"""

import math
from typing import Any

import torch
from scipy.optimize import brentq, minimize_scalar
from torch import Tensor

from attention_theory.attention import Weights
from attention_theory.sensitivity.attention_features import OneTokenAttention
from attention_theory.sensitivity.context import check_norm

#: Number of cells of the grid of scores, and its end points, beyond which the weights are taken
#: as 0 and 1.
CELLS, LAST_SCORE = 2000, 60.0


def sensitivity_bound(view: OneTokenAttention) -> float:
    """An upper bound on S(X): no move of length at most sqrt(d) changes the features by more than
    this times |phi(X)|.

    The bound is sqrt(a + b^2) / |phi(X)| with a from :func:`rows_bound` and b from
    :func:`own_bound`. It bounds the supremum, which ReLU weights need not attain
    (:func:`attention_theory.sensitivity.word.word_sensitivity`).

    Args:
        view: attention features as a function of one token.

    Raises:
        ValueError: the features vanish at X.

    >>> from attention_theory.sensitivity import RandomAttentionFeatures
    >>> from attention_theory.sensitivity import projected_ascent, sensitivity_bound
    >>> from attention_theory.tokens import contexts
    >>> X = contexts("iid", 1, 20, 192, seed=0)[0]
    >>> one = RandomAttentionFeatures.sample(192, seed=0).one_token(X, 0)
    >>> projected_ascent(one, starts=2, steps=20).value <= sensitivity_bound(one)
    True
    """
    check_norm(view.norm)
    return math.sqrt(rows_bound(view) + own_bound(view) ** 2) / float(view.norm)


def rows_bound(view: OneTokenAttention) -> float:
    """Upper bound on the squared change of all other rows together.

    Row j != i changes by p delta + (p - a_j)(x - M_j), where a_j and p are the weights of the token
    before and after: by at most h_j(s) = (p sqrt(d) + |p - a_j| |x - M_j|)^2 when the move adds s
    to the score. The scores that a move adds satisfy sum_j s_j^2 <= sigma_max(K)^2 d = R^2. So for
    each multiplier m >= 0 the squared changes of these rows sum to at most m R^2 + sum_j max_s
    (h_j(s) - m s^2), and the bound is the smallest of these over m. h is convex in p, and p grows
    with u(s). So over a cell of a grid the maximum is at most the largest h, at either end or,
    where u falls and then grows (even degrees), at the minimum of u, minus m times the smallest s^2
    of the cell.
    """
    weights, d = view.weights, len(view.x)
    if not len(view.K):
        return 0.0
    budget = float(torch.linalg.matrix_norm(view.K, ord=2)) ** 2 * d
    edges = torch.linspace(-LAST_SCORE, LAST_SCORE, CELLS + 1, dtype=view.x.dtype).to(view.x)
    p = view.weight_at(view.scores + edges[:, None])
    even, flat = weights.family in ("truncated", "power"), weights == Weights("sharp", 0)
    ends = [p[:1], p[:1]] if flat else [torch.full_like(p[:1], float(even)), torch.ones_like(p[:1])]
    gap = (view.x - view.M).norm(dim=1)

    def h(p: Tensor) -> Tensor:
        return (p * math.sqrt(d) + (p - view.unmoved_weight).abs() * gap).square()

    at = h(torch.cat([ends[0], p, ends[1]]))  # first and last: scores of minus and plus infinity
    cell_h = torch.maximum(at[:-1], at[1:])
    if even:
        cell_h = torch.maximum(
            cell_h, h(view.weight_at(torch.full_like(view.scores, lowest_score(weights))))
        )
    nearest = torch.minimum(edges[:-1].square(), edges[1:].square())
    nearest = torch.cat([edges[:1].square(), nearest, edges[-1:].square()])

    def bound(log_multiplier: float) -> float:
        multiplier = math.exp(log_multiplier)
        return multiplier * budget + float(
            (cell_h - multiplier * nearest[:, None]).amax(dim=0).sum()
        )

    scale = math.log(d)
    best: Any = minimize_scalar(bound, bounds=(scale - 12, scale + 6), method="bounded")
    return float(best.fun)


def crowd_bound(view: OneTokenAttention) -> float:
    """S(X) <= 3 sqrt(d (1 + sum_j q_j^2)) / |phi(X)|, where q_j is the share that row j gives to
    the token if the whole move is aimed at that row.

    Any move adds at most |K_j| sqrt(d) to the score of row j, so the share of the token in that row
    stays at most q_j and the row's features change by at most q_j sqrt(d) + q_j 2 sqrt(d). The
    moved row goes from at most sqrt(d) to at most 2 sqrt(d).

    Args:
        view: attention features as a function of one token, with a non-decreasing u.

    Raises:
        ValueError: an even degree, whose u falls at negative scores; or features that vanish at X.

    >>> from attention_theory.sensitivity import RandomAttentionFeatures
    >>> from attention_theory.sensitivity import crowd_bound, sensitivity_bound
    >>> from attention_theory.tokens import contexts
    >>> X = contexts("iid", 1, 20, 192, seed=0)[0]
    >>> one = RandomAttentionFeatures.sample(192, seed=0).one_token(X, 0)
    >>> sensitivity_bound(one) <= crowd_bound(one)  # the shorter formula is a little larger
    True
    """
    check_norm(view.norm)
    if view.weights.family not in ("sharp", "relu_power"):
        raise ValueError(
            f"{view.weights} falls at negative scores, so that a higher score need not give a "
            "larger share"
        )
    d = len(view.x)
    aimed = view.weight_at(view.scores + math.sqrt(d) * view.K.norm(dim=1))
    return 3 * math.sqrt(d * (1 + float(aimed.square().sum()))) / float(view.norm)


def lowest_score(weights: Weights) -> float:
    """The score at which u of even degree p is least: 0 for a power, the root of T_(p-1) for the
    truncated exponential.
    """
    if weights.family == "power":
        return 0.0

    def slope(z: float) -> float:
        return float(weights.slope(torch.tensor(z, dtype=torch.float64)))

    root: Any = brentq(slope, -float(weights.knob), 0.0)
    return float(root)


def own_bound(view: OneTokenAttention) -> float:
    """Upper bound on the change of row i itself: the largest distance from phi_i to a token, the
    moved one included.
    """
    own, radius = view.unmoved_own, math.sqrt(len(view.x))
    distances = [
        (view.others - own).norm(dim=1),
        (view.x - own).norm()[None] + radius,
        own.norm()[None],
    ]
    return float(torch.cat(distances).max())
