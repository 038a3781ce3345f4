"""ReLU random features of infinite width, whose word sensitivity has a closed form (arc-cosine
kernel).

>>> from attention_theory.sensitivity.infinite_width import infinite_width_sensitivity
>>> round(infinite_width_sensitivity(100), 3)
0.099
"""

import math

import numpy as np
from scipy import special
from theorybook.validation import AtLeastOne, Cosine, NonNegative, Signed, Size


def arc_cosine(c: np.ndarray | np.floating | Signed) -> np.ndarray | np.floating:
    """Cosine between ReLU features of infinite width, from the cosine between their inputs.

    2 E relu(a) relu(b) for standard Gaussians a, b of correlation c: (sqrt(1 - c^2) + (pi - arccos
    c) c) / pi. With b = pi - arccos c this is (sin b - b cos b) / pi, computed without a difference
    of numbers that nearly cancel.

    Args:
        c: cosines in [-1, 1]; values beyond by rounding are clipped.

    >>> from attention_theory.sensitivity import arc_cosine
    >>> round(float(arc_cosine(1.0)), 6), round(float(arc_cosine(0.0)), 3)
    (1.0, 0.318)
    """
    c = np.clip(c, -1.0, 1.0)
    b = np.arctan2(np.sqrt((1 - c) * (1 + c)), -c)
    return b**2 * special.spherical_jn(1, b) / np.pi


def infinite_width_change(
    n: AtLeastOne,
    cosine: np.ndarray | Cosine,
    length: np.ndarray | NonNegative = 1.0,
    depth: Size = 1,
) -> np.ndarray | np.floating:
    """|phi(X^i(delta)) - phi(X)| / |phi(X)| for ReLU features of infinite width.

    With |delta| = length sqrt(d) and the given cosine between delta and the token it moves,
    |X^i(delta)| = q |X| with q^2 = 1 + (length^2 + 2 length cosine) / n, and the cosine between X
    and X^i(delta) is (1 + length cosine / n) / q. Each layer keeps q and maps the cosine by
    :func:`arc_cosine`; the squared relative change is 1 + q^2 - 2 q (cosine) = (1 - q)^2 + 4 q
    sin^2(angle / 2).

    The computation uses angles, for which :func:`arc_cosine` reads sin^2(t'/2) = sin^2(t/2) - (sin
    t - t cos t) / (2 pi), and never subtracts numbers that nearly cancel: small moves and long
    contexts keep all their digits.

    Args:
        n: number of tokens. For m moved tokens put n / m.
        cosine: between delta and the token, in [-1, 1].
        length: |delta| / sqrt(d), in [0, 1].
        depth: number of layers.

    Raises:
        ValueError: a value outside its range.

    >>> from attention_theory.sensitivity import infinite_width_change
    >>> round(float(infinite_width_change(100, cosine=1.0)), 3)
    0.099
    """
    if not (
        np.all(np.abs(cosine) <= 1)
        and np.all((np.asarray(length) >= 0) & (np.asarray(length) <= 1))
    ):
        raise ValueError(
            "the cosine lies in [-1, 1] and the length, in units of sqrt(d), in [0, 1]"
        )
    longer = (np.square(length) + 2 * length * cosine) / n  # q^2 - 1
    q = np.sqrt(np.maximum(1 + longer, 0.0))
    sine_of_move = np.sqrt(
        (1 - cosine) * (1 + cosine) + np.square(cosine) * ((n - 1) / n)
    )  # sine of the angle between the move and the whole of X
    angle = np.arctan2(length * sine_of_move / math.sqrt(n), 1 + length * cosine / n)
    for _ in range(depth):
        square = np.sin(angle / 2) ** 2 - angle**2 * special.spherical_jn(1, angle) / (2 * math.pi)
        angle = 2 * np.arcsin(np.sqrt(np.maximum(square, 0.0)))
    return np.hypot(longer / (1 + q), 2 * np.sqrt(q) * np.sin(angle / 2))


def infinite_width_sensitivity(n: AtLeastOne, depth: Size = 1) -> float:
    """Word sensitivity of ReLU random features of infinite width: the best move doubles its token.

    Of all moves with |delta| <= sqrt(d), delta = x_i changes the features most, at every depth
    (proof: chapter on depth).

    Args:
        n: number of tokens, at least 1. For m moved tokens put n / m.
        depth: number of layers, at least 1.

    Raises:
        ValueError: n or depth below 1.

    >>> from attention_theory.sensitivity import infinite_width_sensitivity
    >>> round(infinite_width_sensitivity(100), 3)
    0.099
    """
    return float(infinite_width_change(n, 1.0, depth=depth))
