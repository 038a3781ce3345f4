"""Conditions that no annotation says, in the shared modules: refused with what was given and what is allowed."""

import numpy as np
import pytest
import sympy
import theorybook
import torch
from attention_theory import tokens
from attention_theory.attention import Weights, attention_weights
from theorybook import figures
from theorybook.interactive_plot import interactive_plot
from theorybook.prove import prove_identity


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tokens.on_sphere(torch.zeros(3, 4)), "3 of 3 tokens are zero"),
        (lambda: tokens.require_on_sphere(torch.full((2, 4), 3.0)), r"norm sqrt\(d\) = 2 .*one has 6.*on_sphere"),
        (lambda: tokens.contexts("iod", 1, 2, 3, 0), "'iod'"),
        (lambda: tokens.contexts("real", 1, 2, 769, 0), "between 1 and 768, got 769"),
        (lambda: tokens.contexts("real", 1, 10**6, 5, 0), "1000000 words"),
        (lambda: tokens.embed(["list", "zyzzyva"], 8), "'zyzzyva'"),
        (lambda: attention_weights(torch.ones(2, 2), "cosine"), "'cosine' are unknown; choose one of softmax, linear, relu"),
        (lambda: attention_weights(torch.tensor([[1.0, -1.0]]), "linear"), "a row sums to 0"),
        (lambda: attention_weights(torch.tensor([[-1.0, 1.0]]), Weights("power", 1)), "a row of weights sums to 0"),
        (lambda: Weights("cosine", 1), "family 'cosine' is unknown"),
        (lambda: Weights("sharp", float("nan")), "not a number"),
        (lambda: Weights("sharp", -0.1), "beta = -0.1 is not allowed"),
        (lambda: Weights("relu_power", 0), "degree 0 of relu_power"),
        (lambda: Weights("truncated", 3), "only even degrees"),
        (lambda: theorybook.compare("x", 1, "~", 2), "relation '~'"),
        (lambda: theorybook.compare("x", 1, "==", 1, method="vote"), "method 'vote'"),
        (lambda: theorybook.compare("x", [], "<=", 1), "nothing was measured"),
        (lambda: theorybook.compare("x", float("nan"), "<=", 1), "not a number"),
        (lambda: theorybook.compare("x", ["a", "b"], "<=", 1), "not made of numbers"),
        (lambda: theorybook.compare("x", 1j, "<=", 1), "complex numbers have no order"),
        (lambda: theorybook.compare("x", [], "==", []), "nothing was measured"),
        (lambda: theorybook.compare("x", [[1], [1, 2]], "==", 1), "x: .* rows of different lengths"),
        (lambda: theorybook.compare("x", sympy.Symbol("n"), "<=", 1), "x: n is not made of numbers"),
        (lambda: theorybook.compare("x", np.ma.array([1, 9], mask=[0, 1]), "<=", 1), "masked entries"),
        (lambda: theorybook.compare("x", 1, "within", (2, 1)), "exceeds the upper"),
        (lambda: theorybook.compare("x", 1, "within", 3), "takes a pair"),
        (lambda: theorybook.compare("x", torch.ones(2, 3), "<=", torch.ones(3, 2)), r"\(2, 3\) and \(3, 2\) do not fit"),
        (lambda: theorybook.identity("x", [1, 2], [1, 2, 3]), "do not fit"),
        (lambda: theorybook.identity("x", 1, 1, tolerance=2), "tolerance = 2"),
        (lambda: theorybook.interval("x", theorybook.Interval(0, 1), "==", 0.5), "relation '=='"),
        (lambda: theorybook.judge("p/x", printed=[]), "needs a check"),
        (lambda: theorybook.rate_interval(3, 2), "not possible"),
        (lambda: theorybook.power_law([1, 2], [1, 2]), "at least 3 points"),
        (lambda: theorybook.power_law([1, 2, 3], [1, 2, 3, 4]), "fitted to pairs, got 3 and 4"),
        (lambda: theorybook.power_law([1, 2, 3], [1, -2, 3]), "positive numbers only"),
        (lambda: prove_identity("x", sympy.zeros(2, 1), 1), r"sizes \(2, 1\) and \(1, 1\)"),
        (lambda: figures.table({"a": [1], "b": [1, 2]}), "differ in length"),
        (lambda: theorybook.rate_interval(-(10**5000), 1), "a number of more than 4300 digits"),
    ],
)
def test_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"x": [1]}, "needs two of each"),
        ({"parameter": ("p", [1])}, "needs two of each"),
        ({"curves": {"a": [[1, 2], [3, 4], [5, 6]]}}, r"a has shape \(3, 2\); p and x need \(2, 2\)"),
        ({"curves": {}}, "no curve"),
        ({"curves": {"a": [1, float("inf")]}}, "finite"),
        ({"curves": {"a": [float("nan")] * 2}}, "not all of them nan"),
        ({"log": "z"}, "log = 'z'"),
        ({"log": "y", "curves": {"a": [0, 1]}}, "smallest y is 0"),
        ({"log": "y", "ylim": (0, 1)}, "smallest y is 0"),
        ({"points": ["b"]}, "not curves; there are"),
        ({"captions": ["one"]}, "1 sentences for 2 values of p"),
        ({"start": 7}, "start = 7 is not a value of p; there are 1, 2"),
        ({"alt": ""}, "alt text"),
        ({"x": [1700000001, 1700000002]}, "the same number to six digits"),
        ({"parameter": ("p", [1000001, 1000002])}, r"two values of p read 10⁶"),
        ({"curves": {"10^2": [1, 2], "10²": [3, 4]}}, "two curves are called 10²"),
        ({"curves": {"a": [1e300, 1]}}, "draw their logarithms"),
        ({"ylim": (2, 1)}, "upside down"),
        ({"curves": {"a": [1j, 2]}}, "complex"),
        ({"curves": {"a": np.ma.array([1, 9], mask=[0, 1])}}, "masked entries"),
    ],
)
def test_movable(changed, message):
    good = {"x": [1, 2], "curves": {"a": [[1, 2], [3, 4]]}, "parameter": ("p", [1, 2]), "alt": "a"}
    interactive_plot(**good)
    with pytest.raises(ValueError, match=message):
        interactive_plot(**good | changed)
