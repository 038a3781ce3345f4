"""Wrongly shaped input is refused with what was given and what fits."""

import pytest
import torch

from attention_theory import sensitivity


def test_sizes_of_a_training_problem_must_fit():
    Phi, labels, phi, moved = (torch.ones(size).double() for size in ((4, 6), 4, 6, (2, 6)))
    with pytest.raises(ValueError, match=r"labels has 3 columns and Phi \(4, 6\) asks for 4"):
        sensitivity.trained(Phi, labels[:3])
    with pytest.raises(ValueError, match=r"phi has 5 columns and Phi \(4, 6\) asks for 6"):
        sensitivity.fine_tuned_error(Phi, labels, phi[:5], 1.0, moved)
    with pytest.raises(ValueError, match=r"moved has 5 columns and Phi \(4, 6\) asks for 6"):
        sensitivity.feature_alignment(Phi, phi, moved[:, :5])
