"""Refusals of Part V say what was given and what is allowed."""

import math

import pytest
import torch
from attention_theory import exponential, tokens
from attention_theory.attention import attention_weights
from attention_theory.exponential import power, relu_power, sharp, truncated, windows, words
from attention_theory.tangent import unit_points

X = tokens.contexts("iid", 1, 6, 8, seed=0)[0]
POINTS = unit_points(4, 3, seed=0)
POINT = dict(d=20, m=4, a0=0.1, a1=1.2)


@pytest.mark.parametrize(
    "call",
    [
        lambda: truncated(3),
        lambda: truncated(0),
        lambda: sharp(-0.1),
        lambda: sharp(math.nan),
        lambda: power(0.5),
        lambda: relu_power(0),
        lambda: power(math.inf),
        lambda: exponential.Weights("cosine", 1),
        lambda: attention_weights(torch.tensor([[-1.0, -2.0]]), relu_power(2)),
        lambda: attention_weights(torch.tensor([[-1.0, 1.0]]), power(1)),
        lambda: attention_weights(torch.ones(1, 2), "cubic"),
        lambda: exponential.separation_probability(sharp(math.inf), "cross", **POINT | dict(a0=0), n=190),
        lambda: words.vanishing_move(2, X),
        lambda: windows.DataSet("self-ones", 5.0, 1.2, 0.2, 0.8).fires_at_most(sharp(1), 3),
        lambda: exponential.separation_probability(sharp(1), "cross", **POINT),
        lambda: exponential.separation_probability(sharp(1), "crossed", **POINT, n=190),
        lambda: exponential.least_sharpness("cross", 1, 1.2),
        lambda: exponential.least_degree("self-ones", 100, 0.01, 0.02, 0.8),
        lambda: exponential.limit_kernel(power(3), POINTS),
        lambda: exponential.limit_kernel(truncated(2), 2 * POINTS),
        lambda: exponential.limit_kernel(sharp(1), POINTS, sigma=0),
        lambda: exponential.limit_kernel(sharp(math.inf), POINTS),
        lambda: exponential.rank(0, 3),
        lambda: exponential.word_sensitivity(power(3), X),
        lambda: exponential.word_sensitivity(sharp(1), X, token=6),
        lambda: exponential.population_descent(sharp(1), 6, 2, 0.25, start=math.nan),
        lambda: exponential.population_descent(power(1), 4, 2, 0.25, start=-1.0, beta=3.0),
        lambda: exponential.population_descent(sharp(1), 6, 4, 0.25),
        lambda: exponential.population_descent(relu_power(1), 6, 2, 0.25, beta=0.0),
    ],
)
def test_refused(call):
    with pytest.raises(ValueError):
        call()
