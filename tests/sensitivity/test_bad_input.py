"""Wrongly shaped input is refused with what was given and what fits."""

import pytest
import torch
from attention_theory import sensitivity


def test_sizes_of_a_training_problem_must_fit():
    Phi, labels, phi, moved = (torch.ones(size).double() for size in ((4, 6), 4, 6, (2, 6)))
    with pytest.raises(ValueError, match=r"labels = a float64 tensor of shape \(3,\) is not allowed: .*\(N\), where N = 4"):
        sensitivity.trained(Phi, labels[:3])
    with pytest.raises(ValueError, match=r"phi = a float64 tensor of shape \(5,\) is not allowed: .*\(p\), where p = 6"):
        sensitivity.solutions(Phi, labels, phi[:5], 1.0)
    with pytest.raises(ValueError, match=r"moved = a float64 tensor of shape \(2, 5\) is not allowed: .*, where p = 6"):
        sensitivity.feature_alignment(Phi, phi, moved[:, :5])


def test_contexts_and_moves_of_the_wrong_shape():
    X = torch.ones(5, 4).double()
    raf, rf = sensitivity.RandomAttentionFeatures.sample(4, 0), sensitivity.RandomFeatures.sample(5, 4, 3, 0)
    with pytest.raises(ValueError, match=r"X = .* \(5, 3\) is not allowed: .*, where d = 4"):
        raf(X[:, :3])
    with pytest.raises(ValueError, match=r"tokens \(5, 4\), got shape \(4, 4\)"):
        rf(X[:4])
    with pytest.raises(ValueError, match=r"X = a float64 tensor of shape \(2, 5, 4\) is not allowed: .*\(n, d\)"):
        rf(torch.stack([X, X]))
    with pytest.raises(ValueError, match=r"deltas = a float64 tensor of shape \(4,\) is not allowed: .*, where d = 4"):
        raf.perturbed(2 * X / 2, 0, X[0])
    with pytest.raises(ValueError, match=r"deltas = a float64 tensor of shape \(1, 3\) is not allowed: .*, where d = 4"):
        rf.perturbed(X, 0, X[:1, :3])
