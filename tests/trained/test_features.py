"""Shares of different keys against the number of features: every small table of weights, and layers made of features."""

import itertools
import math

import numpy as np
import pytest
import torch
from attention_checks.trained.runs.features import random_features, short_factors
from attention_theory.trained import features


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def rank(table):
    return int(torch.linalg.matrix_rank(table, rtol=1e-9))


@pytest.mark.parametrize(("n", "largest"), [(2, 6), (3, 2)])
def test_no_small_table_has_a_total_share_above_its_rank(n, largest):
    """All tables of whole numbers up to the largest, each row over its sum."""
    tables = np.array(list(itertools.product(range(largest + 1), repeat=n * n)), float).reshape(-1, n, n)
    tables = torch.tensor(tables[(tables.sum(2) > 0).all(1)])
    weights = tables / tables.sum(2, keepdim=True)
    ranks = torch.linalg.matrix_rank(weights, rtol=1e-9)
    assert bool((features.total_share(weights) <= ranks + 1e-12).all())
    majorities = features.majority_keys(weights)
    assert bool((majorities <= ranks).all()) and int(majorities.max()) == n


def test_layers_made_of_features_obey_the_bounds():
    for seed, D in itertools.product(range(20), (1, 2, 5)):
        weights = features.feature_weights(drawn(3, 12, D, seed=seed).exp(), drawn(3, 15, D, seed=seed + 99).exp() ** 3)
        assert float(features.total_share(weights).max()) <= D + 1e-9
        assert int(features.majority_keys(weights).max()) <= D


def test_the_bounds_are_attained():
    """D groups of k queries and k keys; a feature for each group."""
    for D, k in ((1, 2), (3, 1), (2, 4)):
        member = torch.eye(D, dtype=torch.float64).repeat_interleave(k, 0)
        weights = features.feature_weights(member, member)[None]
        view = torch.complex(weights, -weights).conj().imag  # which NumPy does not read
        assert math.isclose(float(features.total_share(view)[0]), D)


def test_exactly_half_is_not_enough():
    one = torch.ones(2, 1, dtype=torch.float64)
    weights = features.feature_weights(one, one)
    assert weights.tolist() == [[0.5, 0.5], [0.5, 0.5]] and rank(weights) == 1


def test_a_shared_key_or_negative_weights_are_not_enough():
    shared = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    assert rank(shared) == 1 and int(features.majority_keys(shared[None])[0]) == 1
    signed = features.feature_weights(torch.ones(2, 1).double(), torch.tensor([[0.6], [0.6], [-0.2]]).double())
    assert rank(signed) == 1 and int(features.majority_keys(signed[None])[0]) == 2


def test_few_features_are_as_far_from_attention_as_the_theorem_says():
    """The identity of n tokens from D features: rows miss (n - D)/n on average."""
    n, D = 12, 3
    weights = features.feature_weights(drawn(n, D).exp(), drawn(n, D, seed=1).exp())
    far = features.total_variation(torch.eye(n, dtype=torch.float64), weights)
    assert float(far.mean()) >= (n - D) / n


def test_random_features_have_the_exponential_as_their_mean():
    q, k = 0.3 * drawn(3, 4), 0.3 * drawn(5, 4, seed=1)
    few = features.feature_weights(*(random_features(x, 200_000, 0) for x in (q, k)))
    assert torch.allclose(few, torch.softmax(q @ k.T, -1), atol=0.01)


def test_factors_have_the_scores_as_products_and_are_short():
    q, k = drawn(2, 9, 3), drawn(2, 8, 3, seed=1)
    a, b = short_factors(q @ k.mT, 3)
    assert torch.allclose(a @ b.mT, q @ k.mT)
    assert float(a.square().sum() + b.square().sum()) <= float(q.square().sum() + k.square().sum())


def test_scores_of_a_higher_rank_are_refused():
    with pytest.raises(ValueError, match="no products of 2 coordinates"):
        short_factors(drawn(1, 5, 5), 2)
