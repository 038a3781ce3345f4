"""The positional ViT where the printed formulas of ``tests/test_twins.py`` do not look: v = 0, ties, names of groups."""

import torch
from attention_checks.patches.runs import worlds
from attention_theory import patches
from attention_theory.device import generator, normal


def test_v_zero_is_silent():
    model = patches.PositionalViT(normal(6, 6, generator=generator(0)), torch.zeros(4, dtype=torch.float64))
    X, y = patches.PatchDistribution(6, 2, 4, 0.5, 0.4).sample(5, 0)
    assert not model(X).any() and not model.gradients(X, y)[0].any()
    assert model.gradients(X, y)[1].norm() > 0  # through the linear part


def test_top_c_and_association():
    groups = torch.tensor([0, 1, 0, 1])
    same = (groups[:, None] == groups).to(torch.float64)
    assert patches.association(same, groups) == 1
    assert patches.association(-same, groups) == 0
    assert patches.association(0 * same, groups) == 0  # ties associate nothing
    assert patches.association(same, groups.flip(0)) == 1  # names of the groups do not matter
    assert worlds.top_c(same, 2).tolist() == [[0, 2], [1, 3], [0, 2], [1, 3]]
    assert worlds.top_c(0 * same, 2).tolist() == [[0, 1]] * 4
    half = same.clone()
    half[:2] = 1 - half[:2]
    assert patches.association(half, groups) == 0.5
    assert patches.association(same, torch.zeros(4, dtype=torch.int64)) == 1  # one group of all
