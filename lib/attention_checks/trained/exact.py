"""Weights in fractions, by going through all cases: what the library's formulas are compared
with.
"""

import itertools
from collections.abc import Sequence
from fractions import Fraction


def sparsemax_by_supports(scores: Sequence[Fraction]) -> list[Fraction]:
    """Sparsemax of one row: of all sets of keys the one whose threshold leaves just these keys
    above it.
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
