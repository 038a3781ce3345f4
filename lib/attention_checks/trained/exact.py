"""Weights of one row from their definitions, and in fractions by going through all cases: what the
library's formulas are compared with.
"""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import brentq
from theorybook.validation import AtLeastOne, Size
from torch import Tensor


def sparsemax_by_supports(scores: Sequence[Fraction]) -> list[Fraction]:
    """Sparsemax of one row, by trying all sets of keys for the one whose threshold leaves just
    these keys above it.
    """
    keys = range(len(scores))
    for size in range(1, len(scores) + 1):
        for support in itertools.combinations(keys, size):
            tau = (sum((scores[i] for i in support), Fraction(0)) - 1) / size
            if all((scores[i] > tau) == (i in support) for i in keys):
                return [max(score - tau, Fraction(0)) for score in scores]
    raise ArithmeticError(
        "every row has such a set: the weights are the nearest point of the simplex"
    )


def defined_weights(name: str, scores: Float[Tensor, "keys"]) -> Float[Tensor, "keys"]:
    """One row of the weights that :data:`attention_checks.trained.runs.replacing.WEIGHTS` has under
    this name; sparsemax and entmax by the root of their threshold.

    Raises:
        ValueError: another name.
    """
    s = scores.numpy()
    kind, *rest = name.split()
    if kind[0] == "T":
        z = s - s.mean() if rest == ["mean"] else s
        u = np.sum([z**k / math.factorial(k) for k in range(int(kind[1:]) + 1)], 0)
    elif kind == "power":
        p = int(rest[0])
        u = np.maximum(1 + (s - s.max()) / p, 0) ** p
    elif kind in ("sparsemax", "entmax"):
        alpha = 2.0 if kind == "sparsemax" else 1.5
        z = (alpha - 1) * s
        cut = lambda tau: np.maximum(z - tau, 0) ** (1 / (alpha - 1))
        u = cut(brentq(lambda tau: cut(tau).sum() - 1, z.max() - 2, z.max(), xtol=1e-15))
    elif kind in ("relu", "hard", "average"):
        u = {"relu": np.maximum(s, 0), "hard": s == s.max(), "average": np.ones(len(s))}[kind]
    else:
        raise ValueError(f"there are no weights called {name}")
    return torch.tensor(u / (u.sum() or 1), dtype=torch.float64)


def ratio_bound(r: AtLeastOne, n: Size) -> float:
    """The largest total variation between two rows of n weights each of which is at most r times
    any other of its row.

    One row has the large weights on one half of the keys, the other on the other half; (r - 1)/(r +
    1) for even n.
    """
    a, b = n // 2, n - n // 2
    return a * r / (a * r + b) - a / (a + b * r)
