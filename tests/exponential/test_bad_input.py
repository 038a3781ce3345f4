"""Conditions between arguments: refused with what was given and what is allowed."""

import math
from fractions import Fraction

import pytest
import torch
from attention_checks.exponential import group_bounds, knobs, sensitivity_bounds, without_division
from attention_theory import exponential
from attention_theory.exponential import competition, kernels, power, relu_power, sharp, space, truncated, windows, words
from attention_theory.sensitivity.attention_features import OneTokenAttention
from attention_theory.tangent import unit_points
from attention_theory.tokens import contexts

ONES = windows.DataSet("self-ones", 5.0, 1.2, 0.2, 0.8)
LINE = OneTokenAttention(sharp(1), torch.ones(1, 1).double(), torch.ones(3, 1).double())
X, POINTS = contexts("iid", 1, 6, 8, seed=0)[0], unit_points(4, 3, seed=0)
MOVED = OneTokenAttention(sharp(1), torch.eye(8).double(), X)
ACROSS = sensitivity_bounds.raising_move(MOVED, torch.arange(1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: exponential.separation_probability(sharp(math.inf), "cross", 20, 4, 0, 1.2, n=190), "hard maximum open"),
        (lambda: exponential.separation_probability(sharp(1), "cross", 20, 4, 0.1, 1.2), "give exactly one of the two"),
        (lambda: knobs.least_sharpness("cross", 1, 1.2), "log_n = 0.0 is not allowed: above 0"),
        (lambda: exponential.least_degree("self-ones", 100, 0.01, 0.02, 0.8), "no degree is enough"),
        (lambda: ONES.fires_at_most(sharp(1), 3), "d = None is not allowed"),
        (lambda: windows.DataSet("self-identity", 5.0, 1.1, 0.3, 0.6, d=8, key=5.0), "belongs to the model self-ones"),
        (lambda: exponential.separation_probability(power(1), "cross", 8, 3, 0.1, 1.2, n=14, key=2.0), "belongs to the model"),
        (lambda: windows.fires_at_most_for_any_scores(1.0, ONES, 3), "columns"),
        (lambda: competition.log_u(sharp(math.inf), 1.0), "hard maximum"),
        (lambda: competition.log_u(power(2), -1.0), "finite scores >= 0"),
        (lambda: competition.least_knob(sharp, 1.0, 1.0, 100), "must score higher than its rivals"),
        (lambda: competition.least_knob(power, 1.0, 0.0, 100), "no closed form, or a score that is not positive"),
        (lambda: competition.least_knob(lambda knob: truncated(2), 2.0, 1.0, 100), "closed form"),
        (lambda: words.averaging_sensitivity(torch.stack([X[0], -X[0]])), "sum to zero"),
        (lambda: without_division.retrieval_probability(lambda s: 4 ** (s + 16), 16, 3), "at most 2.20"),
        (lambda: kernels.least_fitting_degree(1, 1), "d = 1 is not allowed: at least 2"),
        (lambda: space.least_range(9, 2, 1), "C must divide D"),
        (lambda: group_bounds.least_ratio(9, 3, 1), "must exceed C"),  # a vote reads this image
        (lambda: group_bounds.least_ratio(24, 3, 2), "below it"),  # perfect groups do not
        (lambda: sensitivity_bounds.gathered(MOVED, 0.9 * ACROSS), "they must be 1, and >= 0"),
        (lambda: sensitivity_bounds.gathered(MOVED, -X[0]), "delta . x / d = -1 are not allowed"),
        (lambda: sensitivity_bounds.raising_move(LINE, torch.arange(1)), "d = 1 is not allowed"),
        (lambda: sensitivity_bounds.from_below(LINE), "d = 1 is not allowed"),
        (lambda: sensitivity_bounds.random_law(1.0, 1, 8), "n = 1 is not allowed"),
        (lambda: sensitivity_bounds.random_law(1.0, 5, 1), "d = 1 is not allowed"),
        (lambda: words.vanishing_move(2, X), "degree = 2 is not allowed"),
        (lambda: exponential.limit_kernel_with(power(3), POINTS), "mean of an odd power vanishes"),
        (lambda: exponential.limit_kernel_with(truncated(2), 1.1 * POINTS), "give rows of length 1"),
        (lambda: exponential.limit_kernel_with(sharp(1), POINTS, sigma=0), "sigma = 0 is not allowed"),
        (lambda: exponential.limit_kernel_with(sharp(math.inf), POINTS), "has no slope"),
        (lambda: exponential.seen_dimension(0, 3), "degree = 0 is not allowed: at least 1"),
        (lambda: space.population_descent_with(power(1), 4, 2, 0.25, start=-1.0, beta=3.0), "weights of a row sum to 0"),
        (lambda: space.population_descent_with(relu_power(1), 6, 4, 0.25), "do not fall into groups"),
        (lambda: space.push_difference(1j, 4, 2, Fraction(1, 2)), "ratio must be a number or a flint.arb, got 1j"),
        (lambda: space.push_difference(None, 4, 2, Fraction(1, 2)), "ratio must be a number or a flint.arb, got None"),
    ],
)
def test_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
