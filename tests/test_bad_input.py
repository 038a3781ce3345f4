import pytest
import torch
from attention_theory import evidence, figures
from attention_theory.attention import attention_weights
from attention_theory.movable import movable


def test_attention_weights():
    with pytest.raises(ValueError, match="'cosine' are unknown; choose one of softmax, linear, relu"):
        attention_weights(torch.ones(2, 2), "cosine")
    with pytest.raises(ValueError, match="a row sums to 0"):
        attention_weights(torch.tensor([[1.0, -1.0]]), "linear")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: evidence.compare("x", 1, "~", 2), "relation '~'"),
        (lambda: evidence.compare("x", 1, "==", 1, method="vote"), "method 'vote'"),
        (lambda: evidence.compare("x", [], "<=", 1), "nothing was measured"),
        (lambda: evidence.compare("x", float("nan"), "<=", 1), "not a number"),
        (lambda: evidence.identity("x", [1, 2], [1, 2, 3]), "do not fit"),
        (lambda: evidence.identity("x", [[1, 1, 1]] * 2, [[1, 1]] * 3), "do not fit"),
        (lambda: evidence.identity("x", 1, 1, tolerance=2), "tolerance = 2"),
        (lambda: evidence.compare("x", 1, "within", (2, 1)), "exceeds the upper"),
        (lambda: evidence.compare("x", 1, "within", 3), "takes a pair"),
        (lambda: evidence.identity("x", [], []), "nothing was measured"),
        (lambda: evidence.interval("x", evidence.Interval(0, 1), "==", 0.5), "relation '=='"),
        (lambda: evidence.interval("x", (0, 1), "contains", 0.5), r"estimate = \(0, 1\) is not allowed: Interval"),
        (lambda: evidence.power_law([1, 2], [1, 2]), "at least 3 points"),
        (lambda: evidence.judge("p/x", printed=[]), "needs a check"),
        (lambda: evidence.judge("p/x", printed=["yes"]), "printed = .* is not allowed: Check"),
        (lambda: evidence.compare("x", ["a", "b"], "<=", 1), "not made of numbers"),
        (lambda: evidence.compare("x", None, "<=", 1), "not made of numbers"),
        (lambda: evidence.rate_interval(3, 2), "not possible"),
        (lambda: evidence.rate_interval(1, 2, confidence=1.5), "confidence = 1.5"),
        (lambda: evidence.mean_interval([1.0]), "at least 2 points"),
        (lambda: evidence.mean_interval([1.0, float("nan")]), "samples = .* is not allowed: finite"),
        (lambda: evidence.power_law([1, 2, 3], [1, -2, 3]), "positive numbers only"),
        (lambda: figures.table({"a": [1], "b": [1, 2]}), "differ in length"),
    ],
)
def test_evidence_and_tables(call, message):
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
        ({"points": ["b"]}, "no curves; there are"),
        ({"says": ["one"]}, "1 sentences for 2 values of p"),
        ({"start": 7}, "start = 7 is no value of p; there are 1, 2"),
        ({"alt": ""}, "alt text"),
    ],
)
def test_movable(changed, message):
    good = {"x": [1, 2], "curves": {"a": [[1, 2], [3, 4]]}, "parameter": ("p", [1, 2]), "alt": "a"}
    movable(**good)
    with pytest.raises(ValueError, match=message):
        movable(**good | changed)
