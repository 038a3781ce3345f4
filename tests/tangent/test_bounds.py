import math
from dataclasses import replace

import pytest
import torch
from attention_theory.tangent import (
    SoftmaxNetwork,
    bounds,
    fit_guarantee,
    kernel_change_bound,
    train,
    unit_points,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm


@given(st.integers(0, 999), st.floats(1e-6, 3.0), st.booleans(), st.sampled_from([0.3, 1.0, 3.0]), st.floats(0.3, 2))
def test_no_step_leaves_more_than_its_bound(seed, rate, paired, sigma, length):
    net = (SoftmaxNetwork.paired if paired else SoftmaxNetwork.unpaired)(2, 6, seed, sigma, outputs=2)
    net, x, y = replace(net, a=length * net.a), length * unit_points(3, 2, seed + 1), unit_points(3, 2, seed + 2)
    after = 2 * train(net, x, y, 1, rate, kernel=False).losses[-1]
    assert after <= bounds.step_bound(net, x, y, rate) * (1 + 1e-9)
    assert bounds.step_bound(net, x, y, 0.0) == pytest.approx(float((net(x) - y).square().sum()))


def test_guarantee_is_refused_for_duplicates_and_narrow_networks():
    x, y = unit_points(3, 2, 0), torch.ones(3, 2, dtype=torch.float64)
    assert not fit_guarantee(SoftmaxNetwork.paired(2, 100, 0), x, y).holds
    with pytest.warns(RuntimeWarning):
        assert not fit_guarantee(SoftmaxNetwork.paired(2, 100, 0), x[[0, 0, 1]], y).holds


def test_values_beyond_one_scale_the_bound():
    net = SoftmaxNetwork.unpaired(2, 6, 0)
    big, x = SoftmaxNetwork(net.W, 10 * net.a), unit_points(3, 2, 0)
    torch.testing.assert_close(kernel_change_bound(big, x, 0.1), 100 * kernel_change_bound(net, x, 0.1))


def test_the_path_grows_with_the_root_of_the_outputs():
    """At one input the initial speed sqrt(k) m S_r |Y| is attained by labels along the values of a neuron."""
    net, x = SoftmaxNetwork.paired(2, 400, 3, 0.5, outputs=3), unit_points(1, 2, 0)
    r = int(net.weights(x)[0].argmax())
    found = fit_guarantee(net, x, net.a[:, r][None] / math.sqrt(3))
    speed = float(net.gradient(x, net.a[:, r][None] / math.sqrt(3))[:, r].norm())
    path = 2 * (1 + found.radius) * math.exp(2 * found.radius) * speed / (net.m * found.lam)
    assert found.movement == pytest.approx(path)


@given(st.floats(0, 3), st.booleans())
def test_the_factor_is_monotone_and_below_its_simple_form(R, paired):
    assert 0 <= bounds.change_factor(R, paired) <= 16 * R * math.exp(4 * R) * (1 + 1e-9)


def test_a_sufficient_width_is_one():
    x, y = unit_points(3, 3, 1), torch.tensor([[1.0], [-1.0], [1.0]], dtype=torch.float64)
    m = 2 * round(10 ** bounds.sufficient_width(x, 1, 0.5))
    assert fit_guarantee(SoftmaxNetwork.paired(3, m, 0, 0.5, outputs=1), x, y).holds


def test_a_sufficient_width_is_where_the_path_is_as_long_as_the_radius():
    """At one point of the sphere lambda is the kernel's only entry, e^(sigma^2), and the radius is where k f(R) = 1/2."""
    sigma, k, delta = 0.7, 2, 0.05
    m = 10 ** bounds.sufficient_width(unit_points(1, 3, 0), k, sigma, delta)
    R = brentq(lambda R: k * bounds.change_factor(R, True) - 0.5, 0, 1)
    largest = math.exp(sigma * norm.isf(delta / m) - sigma**2 / 2)
    assert m * R == pytest.approx(2 * (1 + R) * math.exp(2 * R) * math.sqrt(k) * largest / math.exp(sigma**2), rel=1e-9)


def test_single_precision_is_enough_for_the_guarantee():
    net = SoftmaxNetwork.paired(3, 8, seed=0, outputs=1).to(torch.float32)
    assert fit_guarantee(net, unit_points(1, 3, 0).float(), torch.ones(1, 1)).lam > 0
