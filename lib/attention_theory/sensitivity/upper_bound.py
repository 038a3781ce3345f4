"""An upper bound on the word sensitivity of attention features, to set beside what the ascent finds."""

import math
from typing import Any

import torch
from scipy.optimize import minimize_scalar

from attention_theory.sensitivity.attention_features import OneTokenAttention

#: Cells of the grid of scores, and its ends: beyond them the weights are taken as 0 and 1.
CELLS, LAST_SCORE = 2000, 60.0


def sensitivity_bound(moved: OneTokenAttention) -> float:
    """No move of length at most sqrt(d) changes the features by more than this, relative to |phi(X)|.

    It is the root of :func:`rows_bound` plus the square of :func:`own_bound`, over |phi(X)|.

    Args:
        moved: attention features as a function of one token.
    """
    return math.sqrt(rows_bound(moved) + own_bound(moved) ** 2) / float(moved.norm)


def rows_bound(moved: OneTokenAttention) -> float:
    """Bound on the squared change of all other rows together.

    Row j != i changes by p delta + (p - a_j)(x - M_j), where a_j and p are the weights of the token before and after:
    by at most h_j(s) = (p sqrt(d) + |p - a_j| |x - M_j|)^2 when the move adds s to the score. The scores that a move
    adds obey sum_j s_j^2 <= sigma_max(K)^2 d = R^2. So for each multiplier m >= 0 the squared changes of these rows sum
    to at most m R^2 + sum_j max_s (h_j(s) - m s^2), and the least over m is taken. h is convex in p, and p grows with s:
    the maximum over a cell of a grid is at most its larger end minus m times its smallest s^2.
    """
    d = len(moved.x)
    radius = math.sqrt(d)
    if not len(moved.K):
        return 0.0
    budget = float(torch.linalg.matrix_norm(moved.K, ord=2)) ** 2 * d
    edges = torch.linspace(-LAST_SCORE, LAST_SCORE, CELLS + 1, dtype=moved.x.dtype).to(moved.x)
    p = moved.weight_at(moved.K @ moved.x + edges[:, None])
    p = torch.cat([torch.zeros_like(p[:1]), p, torch.ones_like(p[:1])])  # scores of minus and plus infinity
    gap = (moved.x - moved.M).norm(dim=1)
    h = (p * radius + (p - moved.unmoved_weight).abs() * gap).square()
    cell_h = torch.maximum(h[:-1], h[1:])
    nearest = torch.minimum(edges[:-1].square(), edges[1:].square())
    nearest = torch.cat([edges[:1].square(), nearest, edges[-1:].square()])

    def bound(log_multiplier: float) -> float:
        multiplier = math.exp(log_multiplier)
        return multiplier * budget + float((cell_h - multiplier * nearest[:, None]).amax(dim=0).sum())

    scale = math.log(d)
    best: Any = minimize_scalar(bound, bounds=(scale - 12, scale + 6), method="bounded")
    return float(best.fun)


def own_bound(moved: OneTokenAttention) -> float:
    """Bound on the change of row i itself: the largest distance from phi_i to a token, the moved one included."""
    own, radius = moved.unmoved_own, math.sqrt(len(moved.x))
    distances = [(moved.others - own).norm(dim=1), (moved.x - own).norm()[None] + radius, own.norm()[None]]
    return float(torch.cat(distances).max())
