"""Conditions between arguments: refused with what was given and what is allowed."""

import math
from fractions import Fraction

import pytest
from attention_theory import exponential
from attention_theory.exponential import power, relu_power, sharp, space, truncated, windows, words
from attention_theory.tangent import unit_points
from attention_theory.tokens import contexts

X, POINTS = contexts("iid", 1, 6, 8, seed=0)[0], unit_points(4, 3, seed=0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: exponential.separation_probability(sharp(math.inf), "cross", 20, 4, 0, 1.2, n=190), "hard maximum open"),
        (lambda: exponential.separation_probability(sharp(1), "cross", 20, 4, 0.1, 1.2), "give exactly one of the two"),
        (lambda: exponential.least_sharpness("cross", 1, 1.2), "n must be finite and > 1"),
        (lambda: exponential.least_degree("self-ones", 100, 0.01, 0.02, 0.8), "no degree is enough"),
        (lambda: windows.DataSet("self-ones", 5.0, 1.2, 0.2, 0.8).fires_at_most(sharp(1), 3), "d = None is not allowed"),
        (lambda: words.vanishing_move(2, X), "degree = 2 is not allowed"),
        (lambda: exponential.limit_kernel(power(3), POINTS), "mean of an odd power vanishes"),
        (lambda: exponential.limit_kernel(truncated(2), 2 * POINTS), "give rows of length 1"),
        (lambda: exponential.limit_kernel(sharp(1), POINTS, sigma=0), "sigma = 0 is not allowed"),
        (lambda: exponential.limit_kernel(sharp(math.inf), POINTS), "has no slope"),
        (lambda: exponential.rank(0, 3), "degree = 0, d = 3 are not allowed"),
        (lambda: space.population_descent(power(1), 4, 2, 0.25, start=-1.0, beta=3.0), "weights of a row sum to 0"),
        (lambda: space.population_descent(relu_power(1), 6, 4, 0.25), "do not fall into groups"),
        (lambda: space.push_difference(1j, 4, 2, Fraction(1, 2)), "ratio must be a number or a flint.arb, got 1j"),
    ],
)
def test_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
