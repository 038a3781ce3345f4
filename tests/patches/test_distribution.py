"""The data: clauses of Assumption 1, on samples with fixed seeds."""

import pytest
import torch
from attention_theory import patches
from hypothesis import given
from hypothesis import strategies as st
from theorybook import rate_interval


@given(st.sampled_from([(4, 2), (6, 3), (8, 2), (5, 1), (4, 4)]), st.floats(0, 1), st.integers(0, 5))
def test_clauses_that_are_exact(size, q, seed):
    D, C = size
    world = patches.PatchDistribution(D, C, 3, q, 0.7)
    X, y = world.sample(20, seed)
    carried = X @ world.w
    assert set(carried.unique().tolist()) <= {-1.0, 0.0, 1.0}  # the noise is orthogonal to the feature
    assert set(y.tolist()) <= {-1.0, 1.0}
    assert ((carried == y[:, None]).reshape(20, D // C, C).all(2).any(1)).all()
    again, labels = world.sample(20, seed)
    assert torch.equal(X, again) and torch.equal(y, labels)
    feature, labels = world.coefficients(20, seed)
    assert torch.equal(feature, carried) and torch.equal(y, labels)


def test_rates():
    world = patches.PatchDistribution(8, 2, 2, 0.3, 0.5)
    X, y = world.sample(5000, 0)
    low, high = rate_interval(int((y > 0).sum()), 5000)
    assert low < 0.5 < high
    plus = int((X[:, :, 0] == -y[:, None]).sum())  # never in the signal group, 0.15 in 6 of 8 patches
    low, high = rate_interval(plus, 5000 * 8)
    assert low < 0.15 * 6 / 8 < high
    assert float(X[..., 1].std()) == pytest.approx(0.5, rel=0.02)


def test_another_feature_and_other_groups():
    w = torch.tensor([0.6, 0.8, 0.0], dtype=torch.float64)
    groups = torch.tensor([7, 3, 3, 7])
    world = patches.PatchDistribution(4, 2, 3, 0.0, 0.2, groups=groups, w=w)
    X, y = world.sample(50, 1)
    assert torch.equal(world.label(X), y)
    sums = world.group_sums(X)
    assert ((sums * y[:, None]).round(decimals=9).sort(1).values == torch.tensor([0.0, 2.0])).all()


def test_labels():
    world = patches.PatchDistribution(4, 2, 1, 0.5, 0.0)
    X = torch.tensor([[1.0, 1, 0, -1], [-1, -1, 1, 0], [1, 1, -1, -1], [1, 0, -1, 0]], dtype=torch.float64)[..., None]
    assert world.label(X).tolist() == [1, -1, 0, 0]  # the third image could have either label, the fourth none
    assert world.label(X, threshold=1.0).tolist() == [0, 0, 0, 0]  # as printed: strict, so a pure group does not pass
    assert world.label(X, threshold=0.0).tolist() == [1, -1, 0, 0]


def test_a_sum_on_the_threshold_does_not_pass_by_rounding():
    task = patches.PatchDistribution(8, 4, 2, 0.0, 0.5)
    X, _ = task.sample(20, seed=0)
    for off in (-1e-15, 0.0, 1e-15):
        assert task.label(X * (1 + off), threshold=1.0).tolist() == [0.0] * 20
