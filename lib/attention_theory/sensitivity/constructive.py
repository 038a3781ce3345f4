"""The smallest dimension that the hypothesis of Theorem 3 allows (bombari2024)."""

import math
from bisect import bisect_left

from theorybook.validation import AtLeastOne


def least_dimension(n: AtLeastOne) -> int:
    """The smallest d from which on d / log(d)^4 >= n, the hypothesis of Theorem 3 with constant 1.

    >>> from attention_theory.sensitivity import least_dimension
    >>> d = least_dimension(10)
    >>> least_dimension(20) > d
    True
    """
    served, high = (lambda d: d / math.log(d) ** 4), 110
    while served(high) < n:
        high *= 2
    return bisect_left(range(high), n, lo=55, key=served)  # the ratio grows from e^4 = 54.6 on
