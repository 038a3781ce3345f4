"""ReLU random features of infinite width, where word sensitivity has a closed form (arc-cosine kernel).

>>> from attention_theory.sensitivity.infinite_width import infinite_width_sensitivity
>>> round(infinite_width_sensitivity(100), 3)
0.099
"""

import numpy as np
from theorybook.validation import AtLeastOne, Cosine, NonNegative, Signed, Size


def arc_cosine(c: np.ndarray | np.floating | Signed) -> np.ndarray | np.floating:
    """Cosine between ReLU features of infinite width, from the cosine between their inputs.

    2 E relu(a) relu(b) for standard Gaussians a, b of correlation c: (sqrt(1 - c^2) + (pi - arccos c) c) / pi.

    Args:
        c: cosines in [-1, 1]; rounding beyond is cut off.
    """
    c = np.clip(c, -1.0, 1.0)
    return (np.sqrt(1 - c**2) + (np.pi - np.arccos(c)) * c) / np.pi


def infinite_width_change(
    n: AtLeastOne, cosine: np.ndarray | Cosine, length: np.ndarray | NonNegative = 1.0, depth: Size = 1
) -> np.ndarray | np.floating:
    """|phi(X^i(delta)) - phi(X)| / |phi(X)| for ReLU features of infinite width.

    With |delta| = length sqrt(d) and the given cosine between delta and the token it moves,
    |X^i(delta)| = q |X| with q^2 = 1 + (length^2 + 2 length cosine) / n, and the cosine between X and X^i(delta) is
    (1 + length cosine / n) / q. Each layer keeps q and maps the cosine by :func:`arc_cosine`; the squared relative
    change is 1 + q^2 - 2 q (cosine).

    Args:
        n: number of tokens. For m moved tokens put n / m.
        cosine: between delta and the token, in [-1, 1].
        length: |delta| / sqrt(d), in [0, 1].
        depth: number of layers.

    Raises:
        ValueError: a value outside its range.
    """
    if not (np.all(np.abs(cosine) <= 1) and np.all((np.asarray(length) >= 0) & (np.asarray(length) <= 1))):
        raise ValueError("the cosine lies in [-1, 1] and the length, in units of sqrt(d), in [0, 1]")
    q = np.sqrt(np.maximum(1 + (np.square(length) + 2 * length * cosine) / n, 0.0))
    angle = (1 + length * cosine / n) / np.where(q == 0, 1, q)
    for _ in range(depth):
        angle = arc_cosine(angle)
    return np.sqrt(np.maximum(1 + q**2 - 2 * q * angle, 0.0))


def infinite_width_sensitivity(n: AtLeastOne, depth: Size = 1) -> float:
    """Word sensitivity of ReLU random features of infinite width: the best move doubles its token.

    Of all moves with |delta| <= sqrt(d), delta = x_i changes the features most, at every depth (proof: chapter on depth).

    Args:
        n: number of tokens, at least 1. For m moved tokens put n / m.
        depth: number of layers, at least 1.

    Raises:
        ValueError: n or depth below 1.
    """
    return float(infinite_width_change(n, 1.0, depth=depth))
