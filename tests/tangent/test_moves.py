"""How far the kernel moves, against Definition 3.6 of cao2024 term by term and automatic differentiation."""

import math
from dataclasses import replace

import pytest
import torch
from attention_checks.tangent import printed
from attention_checks.tangent.runs import moves
from attention_theory.device import generator, normal
from attention_theory.tangent import SoftmaxNetwork, kernel_change_bound, unit_points
from scipy.integrate import quad
from scipy.stats import norm


def example(paired=False):
    net = (SoftmaxNetwork.paired if paired else SoftmaxNetwork.unpaired)(2, 6, 1, 0.8, outputs=2)
    return net, unit_points(3, 2, 2), unit_points(3, 2, 3)


def kernel(net, x, step=0.0, R=1.0):
    """H with the neurons moved along ``step``, the farthest by R."""
    longest = max(float(column.norm()) for column in step.T) if isinstance(step, torch.Tensor) else 1.0
    return printed.definition_3_6(net.W + R / longest * step, net.a, x)


def exp_outputs(W, a, x):
    return torch.exp(x @ W) @ a.T


def exp_kernel(net, W, x):
    """Gram matrix of the Jacobian of the exp network over m."""
    J = torch.func.jacrev(lambda V: exp_outputs(V, net.a, x).T)(W).flatten(2).flatten(0, 1)
    return J @ J.T / W.shape[1]


def exp_gradient(net, x, y):
    return torch.func.grad(lambda W: ((exp_outputs(W, net.a, x) - y) ** 2).sum() / 2)(net.W)


def test_directions_neuron_by_neuron():
    net, x, y = example()
    net = replace(net, a=net.a * torch.linspace(0.5, 2, 6, dtype=torch.float64))
    found = moves.directions(net, x, y, 4)
    assert tuple(found) == moves.DIRECTIONS
    torch.testing.assert_close(found["gradient"], printed.claim_3_4(net.W, net.a, x, y))
    draw = normal(2, 6, generator=generator(1004))
    for r in range(6):
        assert torch.equal(found["random"][:, r], draw[:, r] / draw[:, r].norm())
        up = x[0] if x[0] @ net.W[:, r] > 0 else -x[0]  # away from the score 0
        assert torch.equal(found["sharpen"][:, r], up) and torch.equal(found["flatten"][:, r], -up)
        assert torch.equal(found["along a"][:, r], x[0] if net.a[0, r] > 0 else -x[0])


def test_kernel_changes_are_those_of_definition_3_6():
    (net, x, y), R = example(), 0.3
    bound = kernel_change_bound(net, x, R)
    found, steps = moves.kernel_changes(net, x, y, R, 0), moves.directions(net, x, y, 0)
    assert list(found) == list(steps)
    for name, step in steps.items():
        D = (kernel(net, x, step, R) - kernel(net, x)).abs()
        shares = [float(D[l * 3 + i, k * 3 + j] / bound[i, j]) for l, k in [(0, 0), (0, 1), (1, 0), (1, 1)]
                  for i in range(3) for j in range(3)]  # fmt: skip
        assert found[name].entry == pytest.approx(float(D.max()), rel=1e-9)
        assert found[name].norm == pytest.approx(math.sqrt(float((D**2).sum())), rel=1e-9)
        assert found[name].over_bound == pytest.approx(max(shares), rel=1e-9) and max(shares) < 1


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize(("R", "copies"), [(0.2, 8), (0.5, 27)])
def test_heavy_neurons_are_two_among_many_light_ones(paired, R, copies):
    """At one input H = m sum_r S_r^2 (a_r - <a, S>)^2, neuron by neuron: two heavy ones move up, the light ones down."""
    count, weight = 2 * copies, copies ** (-1 / 3)
    heavy, light = ([1, -1], [1, -1] * copies) if paired else ([1, 1], [-1] * count)

    def entry(push):
        powers = [(a, weight * count * math.exp(push)) for a in heavy] + [(a, math.exp(-push)) for a in light]
        total = math.fsum(e for _, e in powers)
        mean = math.fsum(a * e for a, e in powers) / total
        return math.fsum((e / total * (a - mean)) ** 2 for a, e in powers)

    squares = (2 * (weight * count) ** 2 + count) / (2 * weight * count + count) ** 2
    assert moves.heavy_neurons(R, paired, copies) == pytest.approx(abs(entry(R) - entry(0)) / (R * squares), rel=1e-9)


def test_exp_gradient_and_relative_changes():
    (net, x, y), R = example(), 0.2
    torch.testing.assert_close(moves.exp_gradient(net, x, y), exp_gradient(net, x, y))
    found = moves.relative_changes(net, x, y, R, 5)
    assert tuple(found) == moves.DIRECTIONS
    for name, step in moves.directions(net, x, y, 5).items():
        softmax = (kernel(net, x, step, R) - kernel(net, x)).norm() / kernel(net, x).norm()
        own = exp_gradient(net, x, y) if name == "gradient" else step
        start, moved = exp_kernel(net, net.W, x), exp_kernel(net, net.W + R / own.norm(dim=0).max() * own, x)
        assert found[name] == pytest.approx((float(softmax), float((moved - start).norm() / start.norm())), rel=1e-9)


@pytest.mark.parametrize("paired", [True, False])
def test_doubling_compares_two_steps_along_the_gradient(paired):
    net, x, y = example(paired)
    step = printed.claim_3_4(net.W, net.a, x, y)
    one, two = (float((kernel(net, x, step, R) - kernel(net, x)).norm()) for R in (0.1, 0.2))
    assert moves.order_in_radius(net, x, y, 0.1) == pytest.approx(math.log(two / one, 2), rel=1e-9)
    assert moves.order_in_radius(net, x, y, 1e-4) == pytest.approx(
        2 if paired else 1, abs=0.01
    )  # an odd move and a general one


@pytest.mark.parametrize(("sigma", "R"), [(0.5, 0.01), (1.3, 0.4)])
def test_sharpened_limit_is_that_of_the_means(sigma, R):
    """E[e^(2s)] / E[e^s]^2 before and after s + R sign(s), by numerical integration."""
    mean = lambda f: quad(lambda s: f(s) * norm.pdf(s, scale=sigma), 0, 20)[0] + quad(
        lambda s: f(s) * norm.pdf(s, scale=sigma), -20, 0)[0]  # fmt: skip
    at = lambda R: (
        mean(lambda s: math.exp(2 * s + 2 * math.copysign(R, s))) / mean(lambda s: math.exp(s + math.copysign(R, s))) ** 2
    )
    assert math.exp(moves.sharpened_limit(sigma, R)) == pytest.approx((at(R) - at(0)) / R, rel=1e-6)


def test_sharpened_limit_of_small_moves():
    small = 4 * math.exp(0.25) * (norm.cdf(1) - norm.cdf(0.5))
    assert math.exp(moves.sharpened_limit(0.5, 1e-7)) == pytest.approx(small, rel=1e-5)


def test_nearby_moves_every_neuron_by_r():
    net = SoftmaxNetwork.unpaired(3, 5, 0)
    step, draw = moves.nearby(net, 0.4, 7).W - net.W, normal(3, 5, generator=generator(7))
    for r in range(5):
        torch.testing.assert_close(step[:, r], 0.4 * draw[:, r] / draw[:, r].norm())


def test_undivided_kernels_change_more_from_paired_starts_too():
    """Of own-stability the part about unpaired starts: the mean ratio of each move is above 1 from paired ones, too."""
    x, y = (unit_points(6, 3, seed) for seed in (0, 1))
    for sigma in (0.5, 1.0):
        runs = [moves.relative_changes(SoftmaxNetwork.paired(3, 1000, seed, sigma), x, y, 0.5, seed) for seed in range(20)]
        for name in moves.DIRECTIONS:
            assert sum(exp / softmax for softmax, exp in (run[name] for run in runs)) / 20 > 1
