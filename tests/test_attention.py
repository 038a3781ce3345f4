"""Attention weights where a formula taken literally loses its digits."""

import math
from fractions import Fraction

import pytest
import torch
from attention_theory.attention import Weights, attention_weights
from attention_theory.exponential.kernels import limit_kernel_with
from attention_theory.sensitivity.upper_bound import lowest_score


def taylor(z, degree):
    return float(sum((Fraction(z) ** k / math.factorial(k) for k in range(degree + 1)), Fraction(0)))


@pytest.mark.parametrize("degree", [2, 8, 10, 12, 22, 60, 100, 300])
def test_truncated_exponentials_keep_their_digits_at_every_score(degree):
    u, places = Weights("truncated", degree), [k / 4 for k in range(-400, 41, 3)]
    values, slopes = (torch.tensor([taylor(z, p) for z in places], dtype=torch.float64) for p in (degree, degree - 1))
    z = torch.tensor(places, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(u(z), values, rtol=1e-13, atol=0)
    (derivative,) = torch.autograd.grad(u(z).sum(), z)
    for found in (u.slope(z), derivative):  # near its zero the slope is a difference
        torch.testing.assert_close(found, slopes, rtol=1e-12, atol=1e-15)
    assert [u(place) for place in places[:5]] == pytest.approx(values[:5].tolist(), rel=1e-13)
    near = z.detach() > -60  # in float32 the values further out are too small
    torch.testing.assert_close(u(z.detach()[near].float()), values[near].float(), rtol=2e-5, atol=0)


@pytest.mark.parametrize("degree", [12, 22, 32])
def test_single_precision_loses_no_digit(degree):
    """Of the weights that trained models are given."""
    places = [-k / 8 for k in range(400)]
    found = Weights("truncated", degree)(torch.tensor(places))
    torch.testing.assert_close(found, torch.tensor([taylor(z, degree) for z in places]), rtol=1.3e-7, atol=0)


def test_weights_of_high_degrees_at_negative_scores():
    single = attention_weights(torch.tensor([[-15.0, 0.0]]), Weights("truncated", 60))
    assert float(single[0, 0]) == pytest.approx(math.exp(-15), rel=1e-4)
    double = attention_weights(torch.tensor([[-30.0, 0.0]]).double(), Weights("truncated", 100))
    assert float(double[0, 0]) == pytest.approx(taylor(-30, 100), rel=1e-12)
    assert float(Weights("truncated", 22).slope(torch.ones(1).double())) == pytest.approx(math.e)
    lowest = lowest_score(Weights("truncated", 100))
    assert taylor(lowest - 1e-3, 99) < 0 < taylor(lowest + 1e-3, 99)


def test_kernels_of_relu_powers_keep_their_digits_on_a_line():
    x = torch.tensor([[0.6, 0.8]]).double() * torch.tensor([1.0, 1, -1, 1]).double()[:, None]
    turn = torch.tensor([[1.0, 1e-9], [-1e-9, 1.0]]).double()
    values = torch.linalg.eigvalsh(limit_kernel_with(Weights("relu_power", 1), torch.cat([x, x @ turn])))
    assert float(values[5]) < 1e-8 < float(values[6])  # two directions, turned by 1e-9
