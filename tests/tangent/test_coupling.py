"""Network and kernel regression side by side, against Claim 3.4, Definition 3.6 and equation 24 of cao2024 step by step."""

import math

import numpy as np
import pytest
import torch
from attention_checks.tangent import printed
from attention_checks.tangent.runs import coupling
from attention_theory.tangent import SoftmaxNetwork, unit_points
from literal import descend


def kernels(W, a, x, test):
    """H of x, K of test with x, and k(x, x) of test, rows and columns in the order (output, input)."""
    n, k = len(x), len(a)
    both = printed.definition_3_6(W, a, torch.cat((x, test))).view(k, n + len(test), k, n + len(test))
    H, K = both[:, :n, :, :n].reshape(k * n, -1), both[:, n:, :, :n].reshape(-1, k * n)
    return H, K, both[:, n:, :, n:].reshape(len(K), len(K)).diagonal()


def seen(monkeypatch):
    """The arguments of every call of :func:`coupling.couple`, which goes on."""
    calls, couple = [], coupling.couple
    monkeypatch.setattr(coupling, "couple", lambda *arguments: calls.append(arguments) or couple(*arguments))
    return calls


def test_the_hypothesis_of_the_coupling_is_strict():
    rows = torch.ones(1, dtype=torch.float64)
    applies = [coupling.Coupling(rows, rows, eps_H, rows, rows, 0.5).applies for eps_H in (0.4, 0.5, 0.6)]
    assert applies == [True, False, False]


@pytest.mark.parametrize(("kind", "sizes"), [("paired", (3, 4, 0.9, 5, 2)), ("unpaired", (8, 2, 1.0, 4, 1))])
def test_draw_coupling_runs_six_condition_numbers(monkeypatch, kind, sizes):
    n, d, sigma, tests, outputs = sizes
    calls, m, seed = seen(monkeypatch), 40, 3
    coupling.draw_coupling(kind, m, seed, n, d, sigma, tests, outputs)
    ((net, x, y, test, rate, at, subtracted),) = calls
    assert subtracted
    expected = getattr(SoftmaxNetwork, kind)(d, m, 2000 + seed, sigma, outputs=outputs)
    assert torch.equal(net.W, expected.W) and torch.equal(net.a, expected.a)
    for points, size, dimension, number in ((x, n, d, seed), (y, n, outputs, 500 + seed), (test, tests, d, 1000 + seed)):
        assert torch.equal(points, unit_points(size, dimension, number))
    values = np.linalg.eigvalsh(printed.definition_3_6(net.W, net.a, x).numpy())
    steps = math.floor(6 * values[-1] / values[0])
    assert rate == pytest.approx(0.5 / (m * values[-1])) and (steps > 1500) == (n == 8)
    assert at[0] == 0 and at[-1] == min(steps, 1500) and len(at) == 16
    assert max(abs(step - k * at[-1] / 15) for k, step in enumerate(at)) <= 1


def test_labels_as_they_are():
    x, y, test, at = unit_points(2, 2, 1), unit_points(2, 1, 2), unit_points(3, 2, 3), [0, 4]
    found = {}
    for kind in ("paired", "unpaired"):
        net = getattr(SoftmaxNetwork, kind)(2, 6, 1, outputs=1)
        found[kind] = [coupling.couple(net, x, y, test, 0.001, at, subtracted).gap for subtracted in (True, False)]
    torch.testing.assert_close(*found["paired"], rtol=1e-9, atol=1e-12)
    _, K, _ = kernels(net.W, net.a, x, test)
    now = descend(net, x, y, 4, 0.001)[-1]
    gamma = printed.equation_24(kernels(net.W, net.a, x, test)[0], y.T.flatten(), 0.001, 6, 4)[-1]
    last = (printed.equation_1(now, net.a, test).T.flatten() - printed.definition_f_1(K, gamma, 6)).abs()
    first = printed.equation_1(net.W, net.a, test).T.flatten().abs()
    torch.testing.assert_close(found["unpaired"][1], torch.maximum(first, last).double(), rtol=1e-8, atol=1e-12)


def test_points_of_the_circle_by_their_angles():
    angles = torch.tensor([0.0, 0.5, -2.0], dtype=torch.float64)
    expected = [[math.cos(angle), math.sin(angle)] for angle in angles.tolist()]
    torch.testing.assert_close(coupling.on_circle(angles), torch.tensor(expected, dtype=torch.float64))


def test_one_point_compares_where_the_kernel_comes_back(monkeypatch):
    calls, m, steps, speed = seen(monkeypatch), 100, 20, 0.5
    coupling.one_point(m, steps, speed, 1)
    ((net, x, y, test, rate, at),) = calls
    assert x.tolist() == [[1, 0]] and y.tolist() == [[1]] and at == list(range(21))
    assert torch.equal(net.W, SoftmaxNetwork.paired(2, m, 1, outputs=1).W) and net.outputs == 1
    H, K, _ = kernels(net.W, net.a, x, test)
    assert rate == pytest.approx(speed / (m * float(H)))
    trained = descend(net, x, y, steps, rate)[-1]
    assert float(test.norm()) == pytest.approx(1) and math.cos(1.4) < float(test[0, 0]) < 1  # in front of the training point
    near = [torch.cat((test, coupling.on_circle(torch.atan2(test[:, 1], test[:, 0]) + 0.05)))[k : k + 1] for k in (0, 1)]
    back, beside = (float(kernels(trained, net.a, x, point)[1] - kernels(net.W, net.a, x, point)[1]) for point in near)
    assert abs(back) < 1e-10 * float(K) and abs(beside) > 1e-6 * float(K)


def test_linearised_is_kernel_regression_in_the_weights():
    x, y, test = unit_points(2, 2, 1), unit_points(2, 2, 2), unit_points(3, 2, 3)
    net = SoftmaxNetwork.unpaired(2, 6, 4, 0.8, outputs=2)
    H, K, _ = kernels(net.W, net.a, x, test)
    found = coupling.linearised(net, x, y, test, 4, 0.02)
    gammas = printed.equation_24(H, y.T.flatten(), 0.02, 6, 4)
    assert len(found) == 5
    for gamma, (seen_points, unseen) in zip(gammas, found):
        torch.testing.assert_close(seen_points, 6 * H @ gamma)
        torch.testing.assert_close(unseen, 6 * K @ gamma)
