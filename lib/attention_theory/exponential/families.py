"""Families of attention weights with one knob (chapter "Contrast against the crowd")."""

from theorybook.validation import Extended, Natural, NonNegative

from attention_theory.attention import Weights


def sharp(beta: Extended) -> Weights:
    """u(z) = exp(beta z): 0 averages, 1 is softmax, ``math.inf`` the hard maximum.

    Raises:
        ValueError: beta < 0.

    >>> from attention_theory.exponential import sharp
    >>> sharp(2)(0.0)
    1.0
    """
    return Weights("sharp", beta)


def truncated(degree: Natural) -> Weights:
    """u(z) = sum_(k <= degree) z^k / k!, the exponential's Taylor sum.

    Raises:
        ValueError: an odd degree, which has no positive minimum; degree < 1.

    >>> from attention_theory.exponential import truncated
    >>> truncated(2)(2.0)  # 1 + 2 + 2
    5.0
    """
    return Weights("truncated", degree)


def power(degree: NonNegative) -> Weights:
    """u(z) = z^degree: 1 is linear attention. Odd degrees are negative at negative scores.

    Raises:
        ValueError: degree < 1.

    >>> from attention_theory.exponential import power
    >>> power(3)(2.0)
    8.0
    """
    return Weights("power", degree)


def relu_power(degree: NonNegative) -> Weights:
    """u(z) = max(z, 0)^degree: 1 is ReLU attention.

    Raises:
        ValueError: degree < 1.

    >>> from attention_theory.exponential import relu_power
    >>> relu_power(2)(-3.0), relu_power(2)(3.0)
    (0.0, 9.0)
    """
    return Weights("relu_power", degree)
