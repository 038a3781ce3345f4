"""Wrongly shaped input is refused with what was given and what fits."""

import pytest
import torch
from attention_theory import sensitivity


def test_sizes_of_a_training_problem_must_fit():
    Phi, labels, phi, moved = (torch.ones(size).double() for size in ((4, 6), 4, 6, (2, 6)))
    with pytest.raises(ValueError, match=r"labels has 3 columns and Phi \(4, 6\) asks for 4|is not allowed"):
        sensitivity.trained(Phi, labels[:3])
    with pytest.raises(ValueError, match=r"phi has 5 columns and Phi \(4, 6\) asks for 6|is not allowed"):
        sensitivity.solutions(Phi, labels, phi[:5], 1.0)
    with pytest.raises(ValueError, match=r"moved has 5 columns and Phi \(4, 6\) asks for 6|is not allowed"):
        sensitivity.feature_alignment(Phi, phi, moved[:, :5])


def test_contexts_and_moves_of_the_wrong_shape():
    X = torch.ones(5, 4).double()
    raf, rf = sensitivity.RandomAttentionFeatures.sample(4, 0), sensitivity.RandomFeatures.sample(5, 4, 3, 0)
    with pytest.raises(ValueError, match=r"tokens \(n, 4\), got shape \(5, 3\)|is not allowed"):
        raf(X[:, :3])
    with pytest.raises(ValueError, match=r"tokens \(5, 4\), got shape \(4, 4\)|is not allowed"):
        rf(X[:4])
    with pytest.raises(ValueError, match=r"got shape \(2, 5, 4\)|is not allowed"):
        rf(torch.stack([X, X]))
    with pytest.raises(ValueError, match=r"matrix \(batch, 4\), got shape \(4,\)|is not allowed"):
        raf.perturbed(2 * X / 2, 0, X[0])
    with pytest.raises(ValueError, match=r"matrix \(batch, 4\), got shape \(1, 3\)|is not allowed"):
        rf.perturbed(X, 0, X[:1, :3])
