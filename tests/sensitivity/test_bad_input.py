"""Conditions between arguments: refused with what was given and what is allowed."""

import pytest
import torch
from attention_checks.sensitivity import aligned
from attention_theory import sensitivity
from attention_theory.attention import Weights
from attention_theory.device import generator

X = torch.ones(3, 4).double()
CUBIC, SOFTMAX = (sensitivity.RandomAttentionFeatures.sample(4, 0, w) for w in (Weights("power", 3), "softmax"))
MODEL = sensitivity.solutions(torch.eye(2, 12).double(), X[0, :2], X.flatten(), 1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sensitivity.RandomFeatures.sample(5, 4, 3, 0)(X), r"tokens \(5, 4\), got shape \(3, 4\)"),
        (lambda: sensitivity.DeferredGaussian(5, 4, 1.0, generator(0)).times(X[:, :3]), "vectors of 3 entries; .* takes 4"),
        (lambda: sensitivity.DeferredGaussian(5, 4, 1.0, generator(0)).transpose_times(X), "vectors of 4 entries; .* takes 5"),
        (lambda: sensitivity.solutions(X[:2] + torch.eye(2, 4), X[0, :2], 0 * X[0], 1.0), "lost to rounding"),
        (lambda: SOFTMAX.perturbed(X, 3, 0 * X[:1]), "token 3 is not in the context, whose tokens are 0 to 2"),
        (lambda: SOFTMAX.perturbed(3 * X, 0, 0 * X[:1]), r"one has 6; .*on_sphere"),
        (lambda: SOFTMAX.perturbed(X, 0, 2 * X[:1]), "a move has length 4, and .* at most sqrt.d. = 2"),
        (lambda: sensitivity.DeepRandomFeatures.sample(3, 4, 3, 2, 0).one_token(X, 0).certificate(), "of one layer"),
        (lambda: sensitivity.DeepRandomFeatures.sample(5, 4, 3, 2, 0, "tanh"), "tanh stays below 1"),
        (lambda: aligned.two_directions(2 * torch.eye(4).double(), X[0]), "the 4 tokens span R.4"),
        (lambda: sensitivity.infinite_width_change(5, 0.3, 2.0), r"the length, .*, in \[0, 1\]"),
        (lambda: sensitivity.solutions(X[:2] + torch.eye(2, 4), X[0, :2], X[0], 2.0), "must be -1 or 1.*got 2"),
        (lambda: sensitivity.feature_alignment(X[:1], X[0], X), "0/0"),
        (lambda: sensitivity.word_sensitivity(CUBIC, X), "negative at negative scores"),
        (lambda: sensitivity.word_sensitivity(SOFTMAX, X, token=3), "token 3 is not"),
        (lambda: sensitivity.word_sensitivity(SOFTMAX, X[:, :3]), r"R\^4 does not take .*\(3, 3\)"),
        (lambda: SOFTMAX.one_token(X, 0).readout(X[:1], torch.ones(1, 8).double()), "directions of 8 .* 3 tokens in R.4"),
    ],
)
def test_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
