"""Conditions between arguments: refused with what was given and what is allowed."""

import pytest
import torch
from attention_theory import sensitivity
from attention_theory.attention import Weights
from attention_theory.device import generator

X = torch.ones(3, 4).double()
CUBIC, SOFTMAX = (sensitivity.RandomAttentionFeatures.sample(4, 0, w) for w in (Weights("power", 3), "softmax"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sensitivity.RandomFeatures.sample(5, 4, 3, 0)(X), r"tokens \(5, 4\), got shape \(3, 4\)"),
        (lambda: sensitivity.DeferredGaussian(5, 4, 1.0, generator(0)).times(X[:, :3]), "vectors of 3 entries; .* takes 4"),
        (lambda: sensitivity.DeferredGaussian(5, 4, 1.0, generator(0)).transpose_times(X), "vectors of 4 entries; .* takes 5"),
        (lambda: sensitivity.solutions(X[:2] + torch.eye(2, 4), X[0, :2], 0 * X[0], 1.0), "lost to rounding"),
        (lambda: sensitivity.word_sensitivity(CUBIC, X), "negative at negative scores"),
        (lambda: sensitivity.word_sensitivity(SOFTMAX, X, token=3), "token 3 is not"),
    ],
)
def test_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
