"""Descents of cao2024 against its formulas term by term: every step, every derivative and every constant."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from attention_checks.tangent import printed
from attention_checks.tangent.runs import descent
from attention_theory.device import generator, normal
from attention_theory.tangent import SoftmaxNetwork, unit_points
from literal import descend, limit


def example(n=3, m=6, outputs=2):
    return SoftmaxNetwork.unpaired(2, m, 1, 0.8, outputs=outputs), unit_points(n, 2, 2), unit_points(n, outputs, 3)


def eigenvalues(net, x, W=None):
    return np.linalg.eigvalsh(printed.definition_3_6(net.W if W is None else W, net.a, x).numpy())


def loss(net, x, y, W):
    return float(2 * printed.definition_3_2(W, net.a, x, y))


@pytest.mark.parametrize("share", [0.3, 1.0, 1.7, 2.1])
def test_losses_and_steps_at_infinite_width_follow_the_residual(share):
    """Also where a component changes its sign at every step, and where it diverges."""
    K, Y = limit(unit_points(3, 2, 5)), unit_points(3, 2, 6)
    rate, residual, losses = share / float(np.linalg.eigvalsh(K)[-1]), Y, []
    for _ in range(40):
        losses.append(float((residual**2).sum()))
        residual = residual - rate * K @ residual
    for steps in (0, 1, 2, 7, 39):
        assert descent.limit_loss(K, Y, rate, steps) == pytest.approx(losses[steps], rel=1e-9)
    y, residual, tolerance, steps = Y[:, 0], Y[:, 0], 0.02, 0
    while share < 2 and float((residual**2).sum()) > tolerance * float((y**2).sum()):
        residual, steps = residual - rate * K @ residual, steps + 1
    if share < 2:
        found = descent.limit_steps(K, y, torch.tensor(rate, dtype=torch.float64), tolerance)
        assert float(found) == steps and steps > 2


def test_steps_and_losses_of_single_components():
    """(1 - rate)^(2 t) by its logarithm; a component that one step removes counts in full before it."""
    K, y = torch.ones(2, 1, 1, 1, dtype=torch.float64), torch.ones(2, 1, 1, dtype=torch.float64)
    rates = torch.tensor([[1e-12], [0.9]], dtype=torch.float64)
    expected = [math.ceil(math.log(0.2) / (2 * math.log1p(-rate))) for rate in (1e-12, 0.9)]
    assert descent.limit_steps(K, y, rates, 0.2).flatten().tolist() == pytest.approx(expected, rel=1e-12)
    y = torch.tensor([[3.0], [2.0]], dtype=torch.float64)
    kernel = torch.diag(torch.tensor([1.0, 0.5], dtype=torch.float64))
    assert [descent.limit_loss(kernel, y, 1.0, t) for t in (0, 1, 2)] == pytest.approx([13, 1, 0.25], rel=1e-12)


def test_limit_curve_is_descent_with_the_limit_kernel():
    x, y = unit_points(3, 2, 5), unit_points(3, 2, 6)
    K, residual, losses = limit(x), y, []
    values = np.linalg.eigvalsh(K)
    for _ in range(8):
        losses.append(float((residual**2).sum() / (y**2).sum()))
        residual = residual - K @ residual / values[-1]
    found, condition = descent.limit_curve(x, 2 * y, [0, 3, 7])
    assert found.tolist() == pytest.approx([losses[0], losses[3], losses[7]])
    assert condition == pytest.approx(values[-1] / values[0])


def test_descent_curve_is_descent_by_claim_3_4():
    net, x, y = example()
    values = eigenvalues(net, x)
    path = descend(net, x, y, 4, 1 / (6 * values[-1]))
    found, condition = descent.descent_curve(net, x, y, [0, 1, 4])
    assert found.tolist() == pytest.approx([loss(net, x, y, path[k]) / float((y**2).sum()) for k in (0, 1, 4)])
    assert condition == pytest.approx(values[-1] / values[0])


@pytest.mark.parametrize("m", [6, 10])
def test_gradient_flow_by_short_steps(m):
    net, x, y = example(m=m)
    lam = 0.3
    path = descend(net, x, y, 4, 0.1 / (m * lam))
    found = descent.gradient_flow(net, x, y, lam, until=0.4, points=3, step=0.1)
    assert found.time.tolist() == pytest.approx([0, 0.2, 0.4])
    assert found.loss.tolist() == pytest.approx([loss(net, x, y, path[k]) for k in (0, 2, 4)])
    moved = [max(float((path[k] - net.W)[:, r].norm()) for r in range(m)) for k in (0, 2, 4)]
    assert found.moved.tolist() == pytest.approx(moved)
    assert found.smallest.tolist() == pytest.approx([eigenvalues(net, x, path[k])[0] for k in (0, 2, 4)])


def test_fits_in_time_takes_the_promised_steps(monkeypatch):
    net, x, y = example()
    values, calls = eigenvalues(net, x), []

    def train(net, x, y, steps, rate, kernel):
        calls.append((steps, rate))
        return SimpleNamespace(losses=[9.0, 9.0, last])

    monkeypatch.setattr(descent, "train", train)
    last = 0.05  # half of |F - Y|^2
    assert descent.fits_in_time(net, x, y) and descent.fits_in_time(net, x, y, 0.2)
    last = 0.05 * (1 + 1e-9)
    assert not descent.fits_in_time(net, x, y)
    for (steps, rate), epsilon in zip(calls, (0.1, 0.2, 0.1)):
        assert steps == math.ceil(values[-1] / values[0] * math.log(6 / epsilon))
        assert rate == pytest.approx(1 / (6 * values[-1]))


def test_labels_for_a_residual_in_the_kernels_order():
    net, x, _ = example()
    f = normal(6, generator=generator(4))
    y = descent.aim(net, x, f)
    for l in range(2):
        for i in range(3):
            assert float(printed.equation_1(net.W, net.a, x)[i, l] - y[i, l]) == pytest.approx(float(f[l * 3 + i]))


def test_one_step_is_lemma_e_1_over_the_first_loss():
    net, x, y = example()
    f = (printed.equation_1(net.W, net.a, x) - y).T.flatten()
    as_printed = printed.lemma_e_1(net.W, net.a, x, y, 1e-3) / float((f**2).sum())
    torch.testing.assert_close(descent.one_step(net, x, f, 1e-3), as_printed, rtol=1e-7, atol=0)


def test_smallest_eigenvalue_as_computed():
    net, x, _ = example()
    H = printed.definition_3_6(net.W, net.a, x)
    assert descent.smallest(H) == pytest.approx(eigenvalues(net, x)[0])
    assert descent.smallest(torch.diag(torch.tensor([3.0, -2.0, 1.0]))) == pytest.approx(-2)


@pytest.mark.parametrize("m", [4, 6])
def test_worst_gradient_is_a_singular_value_of_the_jacobian(m):
    net, x, _ = example(m=m)
    J = [printed.equation_2(net.W, net.a, point) for point in x]  # each (outputs, d, m)
    worst = max(np.linalg.norm(np.stack([J[i][l, :, r] for i in range(3) for l in range(2)]), 2) for r in range(m))
    assert descent.worst_gradient(net, x) == pytest.approx(worst)


def test_longest_step_meets_the_gradient_property():
    net, x, y = example()
    lengths = [descent.longest_step(net, x, y) * float(column.norm()) for column in printed.claim_3_4(net.W, net.a, x, y).T]
    assert max(lengths) == pytest.approx(0.01)


def test_worst_push_lowers_the_smallest_eigenvalue_fastest():
    """Against central differences of it, at the point that the docstring calls near."""
    net, x = SoftmaxNetwork.paired(2, 12, 1, 0.8, outputs=2), unit_points(2, 2, 2)
    waves = [[math.sin(12 * k + r) for r in range(12)] for k in range(2)]
    near = net.W + 1e-3 * torch.tensor(waves, dtype=torch.float64)
    slope = torch.zeros_like(near)
    for k in range(2):
        for r in range(12):
            step = torch.zeros_like(near)
            step[k, r] = 1e-5
            slope[k, r] = float(np.subtract(*(eigenvalues(net, x, near + sign * step)[0] for sign in (1, -1)))) / 2e-5
    torch.testing.assert_close(descent.worst_push(net, x), -slope / slope.norm(dim=0), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("m", "sigma"), [(20, 0.1), (20, 1.5), (30, 1.5)])
def test_draw_induction_has_the_constants_of_theorem_4_2(m, sigma):
    n, d, seed = 3, 2, 4
    found = descent.draw_induction(n, d, m, seed, sigma)
    assert torch.equal(found.x, unit_points(n, d, seed)) and torch.equal(found.y, unit_points(n, d, 50 + seed))
    assert found.start.is_paired and found.start.m == m and found.start.outputs == d
    largest = max(abs(float(point @ column)) for point in found.x for column in found.start.W.T)
    assert max(1.0, largest) == found.B and (largest > 1) == (sigma > 1)
    assert found.lam == pytest.approx(eigenvalues(found.start, found.x)[0])
    C = found.B / (0.1 * math.sqrt(math.log(n * d / 0.1)))  # that makes the printed B ours
    as_printed = printed.theorem_4_2(n, d, found.lam, 0.1, C)
    assert (as_printed.B, found.eta * m, found.R) == pytest.approx(
        (found.B, 10**as_printed.m_eta, 10**as_printed.R), rel=1e-9, abs=0
    )


@pytest.mark.parametrize(("s", "k"), [(0.7, 1), (0.2, 3)])
def test_moved_pair_has_the_weights_s_and_1_minus_s(s, k):
    moved, start = descent.moved_pair(s, k)
    one = torch.ones(1, 1, dtype=torch.float64)
    assert moved.weights(one)[0].tolist() == pytest.approx([s / k, (1 - s) / k] * k)
    assert start.weights(one)[0].tolist() == pytest.approx([0.5 / k] * 2 * k) and start.is_paired
    assert float(moved(one)) == pytest.approx(2 * k * (2 * s - 1)) and float(start(one)) == 0
