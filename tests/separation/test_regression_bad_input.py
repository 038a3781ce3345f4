"""What the regression model refuses."""

import pytest
import torch
from attention_theory.separation import regression


@pytest.mark.parametrize(
    "n, rule",
    [(1, "scores scale with log n"), (0, "at least 1"), (-3, "at least 1"), (2.5, "int")],
)
def test_n(n, rule):
    with pytest.raises(ValueError, match=f"n = {n} is not allowed: {rule}"):
        regression.regression_scores(n, 0)


@pytest.mark.parametrize("high", [-1, 5, 1.5])
def test_high(high):
    with pytest.raises(ValueError, match=f"high = {high}"):
        regression.regression_scores(5, 0, high)


def test_dataset():
    with pytest.raises(ValueError, match="dataset = 2"):
        regression.regression_scores(5, 2)


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["m", "tau"])
def test_success(name, bad):
    with pytest.raises(ValueError, match=f"{name} = {bad}"):
        regression.regression_success(**({"n": 10, "m": 3, "tau": 0.5} | {name: bad}))


@pytest.mark.parametrize("risk", [0, -0.1, float("nan")])
def test_risk(risk):
    with pytest.raises(ValueError, match="risk"):
        regression.certified_edge(10, 3, risk)


def test_threshold_of_the_sampled_network():
    with pytest.raises(ValueError, match="tau = -1"):
        regression.regression_successes(torch.ones(1, 1, 3, dtype=torch.float64), 4, -1)
