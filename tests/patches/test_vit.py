"""The positional ViT: formulas against loops, gradients against automatic differentiation, association."""

import pytest
import torch
from attention_theory import patches
from attention_theory.device import generator, normal
from hypothesis import given
from hypothesis import strategies as st


def example(D=6, d=4, N=5, seed=0, scale=0.3):
    source = generator(seed)
    A, v = normal(D, D, generator=source), scale * normal(d, generator=source)
    X, y = patches.PatchDistribution(D, 2, d, 0.5, 0.4).sample(N, seed)
    return A, v, X, y


def literal(X, A, v, p, nu, temperature):
    total = 0
    for i in range(len(A)):
        raised = [torch.exp(a / temperature) for a in A[i]]
        z = len(A) * sum(r / sum(raised) * (v @ x) for r, x in zip(raised, X))
        total = total + z**p + nu * z
    return total


def gradient_gap(A, v, X, y, **options):
    """Largest relative difference between the library's gradients and automatic differentiation of its loss."""
    leaves = A.clone().requires_grad_(), v.clone().requires_grad_()
    auto = torch.autograd.grad(patches.PositionalViT(*leaves, **options).loss(X, y), leaves)
    ours = patches.PositionalViT(A, v, **options).gradients(X, y)
    return max(float((a - b).norm() / b.norm()) for a, b in zip(ours, auto))


@pytest.mark.parametrize(("p", "nu", "temperature"), [(3, 1e-3, None), (5, 0.0, 1.0)])
def test_model_is_the_formula(p, nu, temperature):
    A, v, X, _y = example()
    model = patches.PositionalViT(A, v, p, nu, temperature)
    expected = torch.stack([literal(x, A, v, p, nu, temperature or len(v) ** 0.5) for x in X])
    torch.testing.assert_close(model(X), expected, rtol=1e-12, atol=0)
    torch.testing.assert_close(model.weights.sum(1), torch.ones(6, dtype=torch.float64))


@given(st.integers(0, 20), st.sampled_from([3, 5]), st.sampled_from([None, 1.0, 3.0]))
def test_gradients(seed, p, temperature):
    assert gradient_gap(*example(seed=seed), p=p, temperature=temperature) < 1e-8  # torch's softplus is linear from 20 on


def test_weighted_gradients():
    A, v, X, y = example(N=3)
    model = patches.PositionalViT(A, v)
    twice = model.gradients(torch.cat([X, X[:1]]), torch.cat([y, y[:1]]))
    weighted = model.gradients(X, y, torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64))
    for a, b in zip(twice, weighted):
        torch.testing.assert_close(a, b)


def test_model_is_odd_and_sees_positions_only():
    A, v, X, _ = example()
    model = patches.PositionalViT(A, v)
    torch.testing.assert_close(model(-X), -model(X))
    order = torch.tensor([3, 1, 5, 0, 2, 4])
    torch.testing.assert_close(patches.PositionalViT(A[order][:, order], v)(X[:, order]), model(X))


def test_v_zero_is_silent():
    A, v, X, y = example()
    model = patches.PositionalViT(A, 0 * v)
    assert not model(X).any() and not model.gradients(X, y)[0].any()
    assert model.gradients(X, y)[1].norm() > 0  # through the linear part


def test_top_c_and_association():
    groups = torch.tensor([0, 1, 0, 1])
    same = (groups[:, None] == groups).to(torch.float64)
    assert patches.association(same, groups) == 1
    assert patches.association(-same, groups) == 0
    assert patches.association(0 * same, groups) == 0  # ties associate nothing
    assert patches.association(same, groups.flip(0)) == 1  # names of the groups do not matter
    assert patches.top_c(same, 2).tolist() == [[0, 2], [1, 3], [0, 2], [1, 3]]
    assert patches.top_c(0 * same, 2).tolist() == [[0, 1]] * 4
    half = same.clone()
    half[:2] = 1 - half[:2]
    assert patches.association(half, groups) == 0.5
    assert patches.association(same, torch.zeros(4, dtype=torch.int64)) == 1  # one group of all
