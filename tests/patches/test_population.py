"""Exact population descent and exact errors against every point of small populations."""

import numpy as np
import pytest
import torch
from attention_theory import patches
from attention_theory.patches import errors
from hypothesis import given
from hypothesis import strategies as st

SIZES = [(4, 2, 0.3), (6, 2, 0.5), (6, 3, 1.0), (3, 1, 0.4), (8, 4, 0.2), (4, 4, 0.3), (6, 2, 0.0)]


def reduced_gap(D, C, q, alpha=0.2, gamma=0.4, rho=-0.3, beta=0.7, p=3, temperature=1.3):
    """Relative difference between the reduced gradients and those in matrix form over all points."""
    X, y, chance = patches.every_point(D, C, q)
    A, v = patches.three_values(D, C, beta, gamma, rho), torch.tensor([alpha], dtype=torch.float64)
    dA, dv = patches.PositionalViT(A, v, p, 1e-3, temperature).gradients(X, y, chance)
    vit = patches.ReducedViT(alpha, gamma, rho, beta, p, 1e-3, temperature)
    d_alpha, d_gamma, d_rho, _ = patches.Population(D, C, q).gradients(vit)
    pairs = [(d_alpha, float(dv[0]))]
    pairs += [(d_gamma, float(dA[0, 1]))] * (C > 1) + [(d_rho, float(dA[0, -1]))] * (D > C)
    return max(abs(a - b) for a, b in pairs) / max(abs(b) for _, b in pairs)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("p", [3, 5])
def test_reduced_gradients_are_those_of_the_matrix(size, p):
    assert reduced_gap(*size, p=p) < 1e-9


@pytest.mark.parametrize("size", SIZES)
def test_probabilities_and_errors(size):
    world = patches.Population(*size)
    assert float(world.probability.sum()) == pytest.approx(1, abs=1e-12)
    X, y, chance = patches.every_point(*size)
    assert float(chance.sum()) == pytest.approx(1, abs=1e-12)
    A, v = patches.three_values(size[0], size[1], 1.0, 0.5, -0.2), torch.tensor([0.3], dtype=torch.float64)
    margin = y * patches.PositionalViT(A, v, temperature=1.0)(X)
    tie = margin.abs() < 1e-12
    expected = float((chance * torch.where(tie, 0.5, (margin < 0).double())).sum())
    margins = world.margins(patches.ReducedViT(0.3, 0.5, -0.2))
    assert world.error(margins) == pytest.approx(expected, abs=1e-12)
    assert world.loss(margins) == pytest.approx(float((chance * torch.nn.functional.softplus(-margin)).sum()), rel=1e-12)


@pytest.mark.parametrize("size", [s for s in SIZES if s[0] > s[1]])
def test_exact_errors_against_every_point(size):
    D, C, q = size
    X, y, chance = (part[patches.every_point(D, C, q)[2] > 0] for part in patches.every_point(D, C, q))
    sums = X[..., 0].reshape(len(X), D // C, C).sum(2)
    total = sums.sum(1).long() + D
    mass = torch.zeros(2, 2 * D + 1, dtype=torch.float64).index_put(((y > 0).long(), total), chance, accumulate=True)
    assert patches.linear_error(D, C, q) == pytest.approx(float(mass.amin(0).sum()), abs=1e-12)
    for p in (1, 3):
        margin = y * (sums**p).sum(1)
        expected = float((chance * ((margin < 0).double() + 0.5 * (margin == 0))).sum())
        assert patches.block_error(D, C, q, p) == pytest.approx(expected, abs=1e-12)
        assert errors.block_error_by_fourier(D, C, q, p) == pytest.approx(expected, abs=1e-12)
        values, found = errors.block_score(D, C, q, p)
        score = (y[:, None] * sums) ** p
        wanted = [float(chance[score.sum(1) == value].sum()) for value in values]
        assert found.tolist() == pytest.approx(wanted, abs=1e-13) and sum(wanted) == pytest.approx(1)
    _, index = X[..., 0].unique(dim=0, return_inverse=True)
    posterior = torch.zeros(int(index.max()) + 1, 2, dtype=torch.float64).index_put(
        (index, (y > 0).long()), chance, accumulate=True
    )
    share = posterior / posterior.sum(1, keepdim=True)
    floor, loss = patches.label_noise_floor(D, C, q)
    assert floor == pytest.approx(float(posterior.amin(1).sum()), abs=1e-12)
    assert loss == pytest.approx(float(-torch.xlogy(posterior, share).sum()), abs=1e-12)


@given(st.sampled_from([(8, 2), (12, 4), (16, 4), (64, 4)]), st.floats(0, 1))
def test_errors_are_ordered(size, q):
    D, C = size
    floor = patches.label_noise_floor(D, C, q)[0]
    assert -1e-12 <= floor <= patches.linear_error(D, C, q) + 1e-12 <= 0.5 + 2e-12
    assert floor <= patches.block_error(D, C, q) + 1e-12


def test_degenerate_populations():
    assert patches.linear_error(4, 4, 0.5) == 0  # one group: no stray patch
    assert patches.label_noise_floor(8, 2, 0.0) == (0.0, 0.0)
    assert patches.linear_error(8, 2, 0.0) == 0
    assert patches.Population(4, 4, 0.5).margins(patches.ReducedViT(0.1, 0.0, 0.0)).tolist() == pytest.approx(
        [4 * (0.4**3 + 0.4e-3)]
    )
    assert len(patches.population_descent(4, 2, 0.5, steps=0).alpha) == 1
    still = patches.population_descent(8, 2, 0.3, steps=30, beta=0.0)
    assert float(still.gamma.abs().max()) < 1e-10 and float(still.rho.abs().max()) < 1e-10


def test_convolution_power():
    assert errors.convolution_power(np.array([0.5, 0.5]), 3).tolist() == [1 / 8, 3 / 8, 3 / 8, 1 / 8]
    assert errors.convolution_power(np.array([0.5, 0.5]), 0).tolist() == [1.0]
