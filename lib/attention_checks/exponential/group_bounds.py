"""Groups of patches with any weights: the range of weights that they need, and a bound on how soon
descent can reach it.
"""

import math

from attention_theory.exponential.space import least_range
from theorybook.validation import AtLeastOne, Count, NonNegative, Positive


def least_ratio(D: Count, C: Count, against: Count) -> float:
    """The range that rows of three weights need: ((L - 1) k + t ((L - 2) k - C)) / (C - t k) with L
    = D/C groups, k = ``against``, t = (L - 1)^(1/3).

    It holds where strangers have the smallest weight of a row. With a smaller range, one of the
    images of :func:`attention_theory.exponential.space.crowd_images` is misread, and all of them if
    every row has the same three weights; with more weight on the whole own group they are read
    (ours; chapter "Space", "The range that groups need"). The layer answers with the sign of a sum
    of cubes.

    Raises:
        ValueError: C does not divide D, a vote reads the image right, or perfect groups misread it.
    """
    least, root = least_range(D, C, against), (D // C - 1) ** (1 / 3)
    if least <= 1 or root * against >= C:
        raise ValueError(
            f"D = {D}, C = {C}, against = {against}: (L - 1) k must exceed C, and (L - 1)^(1/3) k "
            "be below it, "
            "or equal weights, or no weights, read the image"
        )
    return (C * least + root * ((D // C - 2) * against - C)) / (C - root * against)


def score_gradient_bound(
    D: Count, alpha: NonNegative, p: Count = 3, nu: NonNegative = 1e-3
) -> float:
    """G = 2 D alpha (p (D alpha)^(p-1) + nu): |dF/dA_ij| <= G beta S_ij for softmax of sharpness
    beta and patches in [-1, 1].

    Args:
        D, alpha, p, nu: as in :func:`attention_theory.exponential.space.population_descent_with`.
    """
    return 2 * D * alpha * (p * (D * alpha) ** (p - 1) + nu)


def escape_steps(
    beta: Positive,
    ratio: AtLeastOne,
    D: Count,
    alpha: Positive,
    rate: Positive = 10.0,
    p: Count = 3,
    nu: NonNegative = 1e-3,
) -> float:
    """A number of steps before which no two off-diagonal weights of a row differ by this ratio, for
    any data in [-1, 1].

    (1 - ratio^(-1/2)) e^beta / (rate beta^2 G), for scores that start at 0, with the diagonal fixed
    at 1.

    Args:
        beta: sharpness.
        ratio: of two weights.
        D, p, nu: as in :func:`attention_theory.exponential.space.population_descent_with`.
        alpha: a bound on |alpha| during these steps; the value vector may point either way.
        rate: of descent on the scores.
    """
    return (
        (1 - ratio**-0.5)
        * math.exp(beta)
        / (rate * beta**2 * score_gradient_bound(D, alpha, p, nu))
    )
