"""Patches with any weights, against sums over all points and autograd."""

import math
from fractions import Fraction
from itertools import product

import pytest
import torch
from attention_theory.attention import attention_weights
from attention_theory.exponential import power, relu_power, sharp, space, truncated
from attention_theory.patches.population import ReducedViT
from torch.nn.functional import softplus


def points(D, C, q):
    """Patches of label +1 with the signal in the first group, all 3^(D - C) of them, and their chances."""
    rest = list(product((0, 1, -1), repeat=D - C))
    chance = [math.prod(q / 2 if value else 1 - q for value in row) for row in rest]
    return [(1,) * C + row for row in rest], chance


def pushes(u, D, C, q, beta, start, p, nu):
    """-d(risk)/d(score), averaged over the scores inside a group and over those between groups, by autograd."""
    X, chance = (torch.tensor(part, dtype=torch.float64) for part in points(D, C, float(q)))
    scores = torch.full((D, D), start, dtype=torch.float64).fill_diagonal_(beta).requires_grad_()
    raised = u(scores)
    z = D * nu ** (1 / (p - 1)) * X @ (raised / raised.sum(dim=1, keepdim=True)).T
    (gradient,) = torch.autograd.grad(chance @ softplus(-(z**p + nu * z).sum(dim=1)), scores)
    group = torch.arange(D) // C
    same = group[:, None] == group
    return -float(gradient[same & ~torch.eye(D, dtype=torch.bool)].mean()), -float(gradient[~same].mean())


@pytest.mark.parametrize(
    ("u", "D", "C", "q", "beta", "start", "p", "nu"),
    [
        (sharp(1), 6, 2, Fraction(1, 3), 1.0, 0.0, 3, Fraction(1, 1000)),
        (power(2), 6, 3, Fraction(2, 5), 2.0, 1.0, 3, Fraction(1, 10)),
        (truncated(2), 8, 2, Fraction(1, 4), 1.5, 0.5, 5, Fraction(1, 3)),
        (sharp(2), 6, 2, Fraction(1), 0.7, 0.2, 3, Fraction(1, 20)),
        (relu_power(3), 4, 2, Fraction(3, 4), 0.8, 1.1, 3, Fraction(1, 2)),
    ],
    ids=lambda value: str(value),
)
def test_first_push_is_the_gradient_over_all_points(u, D, C, q, beta, start, p, nu):
    inside, between = pushes(u, D, C, q, beta, start, p, float(nu))
    found = space.first_push(u, D, C, float(q), beta, start, p, float(nu))
    assert found == pytest.approx((inside, between), rel=1e-9, abs=1e-15)
    z = torch.tensor([beta, start], dtype=torch.float64)
    diagonal, other = u(z).tolist()
    difference = (inside - between) / (float(u.slope(z)[1]) / other)
    assert abs(difference) > 1e-6
    assert float(space.push_difference(diagonal / other, D, C, q, p, nu)) == pytest.approx(difference, rel=1e-8)


def test_first_push_starts_at_the_defaults_of_the_chapter():
    expected = pushes(sharp(1), 6, 3, 0.25, 1.0, 0.0, 3, 1e-3)
    assert space.first_push(sharp(1), 6, 3, 0.25) == pytest.approx(expected, rel=1e-9)
    inside, between = expected  # exp: u' / u = 1
    found = space.push_difference(math.e, 6, 3, Fraction(1, 4))
    assert float(found) == pytest.approx(inside - between, rel=1e-8)


def test_error_of_averaging_over_a_thousand_patches():
    # a sum of 992 patches beside the normal law with a correction for integers
    found, size = float(space.averaging_error(1024, 32, Fraction(1, 4))), math.sqrt(992 / 4)
    assert found == pytest.approx(math.erfc(32 / size / math.sqrt(2)) / 2, rel=0.01)


@pytest.mark.parametrize("u", [sharp(0.7), sharp(math.inf), truncated(4), power(3), relu_power(2)], ids=str)
@pytest.mark.parametrize("high", ["beta", "gamma", "rho"])
def test_weights_and_rises_are_those_of_a_whole_row(u, high):
    D, C, temperature = 6, 2, 0.4
    vit = ReducedViT(0.5, **dict(beta=0.3, gamma=0.2, rho=0.1) | {high: 0.5}, temperature=temperature)
    row = torch.tensor([vit.beta, vit.gamma, *4 * [vit.rho]], dtype=torch.float64) / temperature
    seen = space.WeightedPopulation(u, D, C, 0.25)
    assert torch.allclose(seen.weights(vit), attention_weights(row, u)[:3], rtol=1e-12)
    if u.knob == math.inf:
        assert torch.equal(seen.score_derivative(vit), torch.zeros(3, dtype=torch.float64))
        return
    z = row.clone().requires_grad_()
    (slope,) = torch.autograd.grad(u(z).sum(), z)
    assert torch.allclose(seen.score_derivative(vit), slope[:3] / u(row).sum(), rtol=1e-12)


@pytest.mark.parametrize("D, C", [(6, 2), (9, 3), (8, 2)])
def test_reading_errors_at_both_ends(D, C):
    q = Fraction(1, 3)
    assert space.reading_error(1, 1, 1, D, C, q) == space.averaging_error(D, C, q)
    assert space.reading_error(Fraction(1), Fraction(1), Fraction(0), D, C, q) == space.group_error(D, C, q)
