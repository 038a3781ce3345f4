"""The data sets satisfy every printed clause, and the literal network is the formula."""

import math

import pytest
import torch
from attention_checks.separation import panels
from attention_theory import separation

L = lambda n: math.sqrt(math.log(n))


@pytest.mark.parametrize("model", separation.MODELS)
def test_inputs_and_threshold(model):
    scales = () if model == "cross" else (0.2, 0.8)
    A1, A2, X = separation.inputs(model, 60, 5, 1.2, *scales)
    assert torch.equal(X, torch.ones(5, 5) if model == "self-ones" else torch.eye(5))
    assert torch.equal(A1, A2) == (model != "cross")
    tau = separation.threshold(model, L(60), None if model == "cross" else 0.8)
    assert tau == (0.9 if model == "cross" else pytest.approx(0.9 * L(60)))


def test_panels_round_and_keep_sizes_as_they_are_asked():
    assert {point["m"] for point in panels.panel("7a").points} == {9, 10, 11}
    assert {point["m"] for point in panels.panel("7a", rounding="ceil").points} == {10, 11, 12}
    assert (panels.panel("7d").points[0]["n"], panels.panel("7d", keep="d").points[0]["n"]) == (200, 198)
    for name in panels.NAMES[2:]:
        for keep in ("n", "d"):
            for point in panels.panel(name, keep=keep).points:
                separation.data.check_sizes(point["model"], point["n"], point["d"])
