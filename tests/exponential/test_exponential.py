"""Families of weights in the four worlds, against literal computations."""

import math
from fractions import Fraction

import pytest
import torch
from attention_theory import exponential, tokens
from attention_theory.attention import attention_weights
from attention_theory.exponential import competition, kernels, power, relu_power, sharp, space, truncated, windows, words
from attention_theory.sensitivity import RandomAttentionFeatures
from attention_theory.separation import network

SIZES = dict(a0=0.01, a1=1.2, b=0.2, c=0.8)


@pytest.mark.parametrize("weights", [sharp(0.7), sharp(math.inf), truncated(4), power(3), relu_power(2)], ids=str)
@pytest.mark.parametrize("model", ["self-ones", "self-identity", "cross"])
def test_separation_is_that_of_enumerated_signs(weights, model):
    n, d, m = 24, 7 if model == "cross" else 8, 3
    sizes = dict(a0=0.3, a1=1.1) | ({} if model == "cross" else dict(b=0.3, c=0.6))
    bits = torch.arange(2**d)
    y = ((bits >> torch.arange(d)[:, None]) & 1).double() * 2 - 1
    fires = []
    for a in (sizes["a1"], sizes["a0"]):
        A1, A2, X = network.data.inputs(model, n, d, a, sizes.get("b"), sizes.get("c"))
        rows = network.attention_features(A1, A2, A2, X, weights)
        tau = network.data.threshold(model, math.sqrt(math.log(n)), sizes.get("c"))
        fires.append((rows @ y).amax(0) > tau + 1e-12)
    quiet = float((~fires[1]).double().mean())
    both = float((~fires[1] & ~fires[0]).double().mean())
    ours = exponential.separation_probability(weights, model, d, m, n=n, **sizes)
    assert ours == pytest.approx(quiet**m - both**m, abs=1e-12)


def test_least_knobs_agree_with_the_exact_probability():
    for model in ("self-ones", "self-identity"):
        size = 12 * math.log(10)
        found = windows.paper_sizes(size) | SIZES
        p = exponential.least_degree(model, 10**12, 1.2, 0.2, 0.8)
        assert exponential.separation_probability(power(p + 1), model, **found, log_n=size) > 0.5
        assert exponential.separation_probability(power(p - 2), model, **found, log_n=size) < 0.5
        beta = exponential.least_sharpness(model, 10**12, 1.2, 0.2, 0.8)
        assert exponential.separation_probability(sharp(1.05 * beta), model, **found, log_n=size) > 0.5
        assert exponential.separation_probability(sharp(0.9 * beta), model, **found, log_n=size) < 0.5


def test_truncations_approach_softmax_and_zero_sharpness_averages():
    scores = torch.randn(5, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert torch.allclose(attention_weights(scores, truncated(40)), torch.softmax(scores, 1))
    assert torch.allclose(attention_weights(scores, sharp(0)), torch.full((5, 6), 1 / 6, dtype=torch.float64))
    hard = attention_weights(scores, sharp(math.inf))
    assert torch.equal(hard.argmax(1), scores.argmax(1)) and torch.equal(hard.sum(1), torch.ones(5, dtype=torch.float64))


def test_part_one_takes_weights():
    X = tokens.contexts("iid", 1, 12, 24, seed=0)[0]
    deltas = torch.randn(4, 24, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * 0.5
    for name, u in (("softmax", sharp(1)), ("relu", relu_power(1))):
        theirs, ours = (RandomAttentionFeatures.sample(24, 0, w).one_token(X, 3) for w in (name, u))
        assert torch.allclose(ours.change(deltas), theirs.change(deltas), rtol=1e-9)
        assert torch.allclose(ours.features(deltas), theirs.features(deltas), rtol=1e-9)
    features = RandomAttentionFeatures.sample(24, 0, truncated(4))
    moved = features.one_token(X, 3)
    assert float(moved.norm) == pytest.approx(float(features(X).norm()), rel=1e-10)


@pytest.mark.parametrize(("degree", "d", "expected"), [(2, 3, 9), (4, 3, 25), (8, 3, 81), (2, 5, 20), (4, 5, 105), (1, 4, 4)])
def test_rank(degree, d, expected):
    assert exponential.rank(degree, d) == expected


def test_slopes():
    z = torch.linspace(0.3, 2, 7, dtype=torch.float64).requires_grad_()
    for u in (sharp(0.4), truncated(6), power(3), relu_power(2)):
        (gradient,) = torch.autograd.grad(u(z).sum(), z)
        assert torch.allclose(u.slope(z), gradient)


def test_errors_of_patches_by_enumeration():
    from attention_theory import patches

    X, y, chance = patches.every_point(6, 2, 0.25)
    total = X[..., 0].sum(1) * y
    assert float(space.averaging_error(6, 2, Fraction(1, 4))) == pytest.approx(
        float((chance * ((total < 0).double() + 0.5 * (total == 0).double())).sum())
    )


def test_log_u_is_the_logarithm_of_u():
    for u in (sharp(0.0), sharp(0.4), truncated(6), power(3), power(2.5), relu_power(2)):
        for score in (0.0, 0.5, 1.0, 7.0):
            value = float(u(torch.tensor(score, dtype=torch.float64)))
            expected = math.log(value) if value else -math.inf
            assert competition.log_u(u, score) == pytest.approx(expected, rel=1e-12, abs=1e-12), (u, score)


def test_least_truncation_is_least():
    p = competition.least_truncation(20, 10, 1000)
    needed = math.log(1000)
    assert competition.log_ratio(truncated(p), 20, 10) >= needed > competition.log_ratio(truncated(p - 2), 20, 10)


def test_the_hard_maximum_comes_near_three():
    moved, delta = words.nearly_three(50)
    X = torch.cat([moved.x[None], moved.others])
    phi = [attention_weights(x @ moved.W @ x.T, sharp(math.inf)) @ x for x in (X, torch.cat([X[:1] + delta, X[1:]]))]
    assert float((phi[1] - phi[0]).norm() / phi[0].norm()) == pytest.approx(math.sqrt(9 - 5 / 50), abs=1e-6)


def test_a_row_of_odd_powers_vanishes_where_it_is_said():
    X = tokens.contexts("iid", 1, 12, 24, seed=0)[0]
    for degree in (1, 3):
        X_moved = X.clone()
        X_moved[0] += words.vanishing_move(degree, X)
        sums = RandomAttentionFeatures.sample(24, 0).scores(X_moved).pow(degree).sum(1)[1:]
        assert float(sums.abs().min()) < 1e-9 < float(sums.abs().max())


def test_forbidden_labels_are_orthogonal_to_the_degree():
    x = kernels.unit_points(12, 3, seed=0)
    y = kernels.forbidden_labels(2, x)
    assert set(y.tolist()) <= {-1.0, 1.0} and kernels.descend(sharp(1), x, y, 200, 0, 1000).right == 12
