"""One key against n: its share and contrast, and the sharpness of least loss (chapter "One key
against n").
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np
from theorybook.validation import Arithmetic, Limits, NonNegative, Size


def share_at(contrast: Arithmetic, n: Size) -> float:
    """The share of a key with this log contrast among n keys, e^g / (e^g + n - 1)."""
    return 1 / (1 + (n - 1) * math.exp(-contrast))


@dataclass(frozen=True)
class Evidence:
    """The probability of each possible observation at a wrong key, and how many times likelier it
    is at the right key.

    Raises:
        ValueError: chances that are not positive or do not sum to one, or ratios whose mean over
            them is not one.
    """

    chances: tuple[Fraction, ...]
    ratios: tuple[Fraction, ...]

    def __post_init__(self):
        p, r = self.chances, self.ratios
        if (
            len(p) != len(r)
            or min(p) <= 0
            or min(r) <= 0
            or sum(p) != 1
            or sum(map(math.prod, zip(p, r))) != 1
        ):
            raise ValueError(
                "needs positive chances that sum to one, and positive ratios whose mean over them "
                "is one"
            )

    def rows(self, n: Annotated[int, Limits(2, 8)]) -> "list[tuple[Fraction, tuple[int, ...]]]":
        """Every row of n observations whose right key is the first, with its chance."""
        found = []
        for row in itertools.product(range(len(self.ratios)), repeat=n):
            found.append(
                (math.prod((self.chances[k] for k in row), start=self.ratios[row[0]]), row)
            )
        return found


def mean_loss(evidence: Evidence, n: Annotated[int, Limits(2, 8)], beta: NonNegative) -> float:
    """Mean of -log of the right key's weight under softmax of beta times the scores log(ratio),
    over every row of n keys.
    """
    total = 0.0
    for chance, row in evidence.rows(n):
        weights = [float(evidence.ratios[k]) ** beta for k in row]
        total -= float(chance) * math.log(weights[0] / sum(weights))
    return total


def calibration(
    evidence: Evidence, n: Annotated[int, Limits(2, 8)]
) -> list[tuple[Fraction, Fraction]]:
    """For each observation: the mean weight, at sharpness 1, of all keys that show it, and the
    probability that the right key shows it.

    Exact, over every row. Their equality says that the slope of the mean loss at sharpness 1 is
    zero, whatever the scores' logarithms are.
    """
    given = [Fraction(0)] * len(evidence.ratios)
    for chance, row in evidence.rows(n):
        total = sum(evidence.ratios[k] for k in row)
        for k in row:
            given[k] += chance * evidence.ratios[k] / total
    return [(weight, p * r) for weight, p, r in zip(given, evidence.chances, evidence.ratios)]


def match_loss(
    match: Annotated[float, Limits(0.5, 1, "both")],
    n: Annotated[int, Limits(2, 100_000)],
    beta: NonNegative,
) -> float:
    """:func:`mean_loss` of keys that match or do not: the right one matches with this chance, a
    wrong one with 1 - match.

    The score is log(match / (1 - match)) or minus that; the number of wrong keys that match is
    binomial, so n may be large.
    """
    score, k = beta * math.log(match / (1 - match)), np.arange(n)
    steps = np.log(np.arange(1, n)) - np.log(np.arange(n - 1, 0, -1))
    log_chance = (
        -np.concatenate([[0], np.cumsum(steps)])
        + k * math.log(1 - match)
        + (n - 1 - k) * math.log(match)
    )
    others = np.logaddexp(
        np.log(np.maximum(k, 1e-300)) + score, np.log(np.maximum(n - 1 - k, 1e-300)) - score
    )
    right = match * np.logaddexp(0, others - score) + (1 - match) * np.logaddexp(0, others + score)
    return float(np.exp(log_chance) @ right)
