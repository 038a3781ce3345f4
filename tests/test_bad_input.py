import pytest
import torch

from attention_theory import evidence, figures
from attention_theory.attention import attention_weights


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
        (lambda: evidence.identity("x", [1, 2], [1]), "2 values against 1"),
        (lambda: evidence.identity("x", [], []), "nothing was measured"),
        (lambda: evidence.interval("x", (0, 1), "==", 0.5), "relation '=='"),
        (lambda: evidence.power_law([1, 2], [1, 2]), "at least 3 points"),
        (lambda: evidence.judge("p/x", printed=[]), "needs a check"),
        (lambda: figures.table({"a": [1], "b": [1, 2]}), "differ in length"),
    ],
)
def test_evidence_and_tables(call, message):
    with pytest.raises(ValueError, match=message):
        call()
