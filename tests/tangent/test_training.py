"""Gradient descent, kernel regression and the loss terms of cao2024 against literal computations."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from attention_checks.tangent import fits
from attention_checks.tangent.fits import draw_problems, fit
from attention_checks.tangent.runs import descent
from attention_theory import tangent
from attention_theory.device import generator, normal
from attention_theory.tangent import kernel
from theorybook.validation import unchecked


def test_gradient_descent_is_definition_3_5():
    x, y = tangent.unit_points(5, 3, 0), tangent.unit_points(5, 2, 1)
    net = tangent.SoftmaxNetwork.paired(3, 20, seed=0, outputs=2)
    run = tangent.train(net, x, y, 3, 0.001, at=[0, 1, 3])
    W = net.W
    for _ in range(3):
        W = W - 0.001 * replace(net, W=W).gradient(x, y)
    assert torch.equal(run.net.W, W)
    assert run.steps == [0, 1, 3]
    assert run.losses[0] == pytest.approx(float(y.square().sum()) / 2)
    assert run.losses == sorted(run.losses, reverse=True)
    assert run.movement[0] == run.kernel_change[0] == 0
    assert run.movement[-1] == pytest.approx(float((W - net.W).norm(dim=0).max()))
    change = (tangent.tangent_kernel(run.net, x) - tangent.tangent_kernel(net, x)).norm()
    assert run.kernel_change[-1] == pytest.approx(float(change))
    assert torch.equal(run.path[-1].W, run.net.W) and torch.equal(run.path[0].W, net.W)


def test_a_rate_beyond_stability_warns_with_the_bound():
    x, y = tangent.unit_points(4, 3, 0), tangent.unit_points(4, 1, 1)
    net = tangent.SoftmaxNetwork.paired(3, 400, seed=0, outputs=1)
    bound = tangent.largest_rate(tangent.tangent_kernel(net, x), net.m)
    with pytest.warns(UserWarning, match=f"{bound:.3g}"):
        tangent.train(net, x, y, 1, 1.01 * bound)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tangent.train(net, x, y, 1, 0.99 * bound)


def test_a_diverging_run_is_refused():
    x, y = tangent.unit_points(4, 3, 0), tangent.unit_points(4, 1, 1)
    with pytest.raises(ValueError, match="no longer finite"), unchecked():  # numbers that are allowed do not get there
        net = replace(
            tangent.SoftmaxNetwork.paired(3, 20, seed=0, outputs=1), a=torch.full((1, 20), 1e200, dtype=torch.float64)
        )
        tangent.train(net, x, y, 3, 1.0, kernel=False)


def test_kernel_regression_learns_slowly_where_the_kernel_is_small():
    H, y = torch.diag(torch.tensor([1.0, 1e-20])).double(), torch.ones(2, 1).double()
    gamma = tangent.ntk_regression(H, y, 7, 0.1, 3)[1][-1]
    assert gamma.tolist() == pytest.approx([(1 - 0.7**7) / 3, 0.7], rel=1e-12)  # 0.7 = steps times rate


def test_loss_terms_stay_accurate_for_tiny_steps():
    x, y = tangent.unit_points(4, 3, 0), tangent.unit_points(4, 2, 1)
    net = tangent.SoftmaxNetwork.unpaired(3, 15, seed=2, outputs=2)
    one, two = (descent.loss_terms(net, x, y, rate) for rate in (1e-30, 2e-30))
    assert pytest.approx(2) == two.C0 / one.C0 and pytest.approx(2) == two.C1 / one.C1
    assert pytest.approx(4) == two.C2 / one.C2 and pytest.approx(4) == two.C3 / one.C3


@pytest.mark.parametrize("kind", kernel.ACTIVATIONS)
def test_activations_and_their_derivatives(kind):
    scores = normal(2, 4, 10, generator=generator(0))
    a = torch.where(normal(2, 1, 10, generator=generator(1)) > 0, 1.0, -1.0).double()
    outputs, derivatives = fits.respond(kind, scores, a)
    total = lambda s: fits.respond(kind, s, a)[0].sum()
    torch.testing.assert_close(derivatives, torch.func.grad(total)(scores))
    assert outputs.shape == (2, 4)


def test_the_softmax_harness_is_the_softmax_network():
    problems = draw_problems(6, 3, 20, [4])
    net = tangent.SoftmaxNetwork(problems.W[0], problems.a[0])
    outputs, derivatives = fits.respond("softmax", problems.x @ problems.W, problems.a)
    torch.testing.assert_close(outputs[0], net(problems.x[0])[:, 0], atol=1e-12, rtol=0)
    gram = (derivatives[0] @ derivatives[0].T) * (problems.x[0] @ problems.x[0].T)
    torch.testing.assert_close(gram, net.m * tangent.tangent_kernel(net, problems.x[0]))


def test_fit_counts_steps_and_gives_up():
    easy = fit("softmax", draw_problems(6, 6, 40, range(3)), steps=2000)
    assert (easy.steps > 0).all() and (easy.steps % 10 == 0).all() and (easy.condition > 1).all() and (easy.peak <= 1).all()
    impossible = fit("softmax", draw_problems(16, 4, 4, range(3)), steps=200)
    assert (impossible.steps == -1).all() and impossible.condition.isinf().all()


def test_close_points_worsen_the_kernel():
    near, far = (fit("softmax", draw_problems(8, 6, 200, [0], c), steps=0).condition for c in (0.1, 1.0))
    assert (near > 10 * far).all()
    problems = draw_problems(8, 6, 20, [0], closeness=0.1)
    torch.testing.assert_close(problems.x.norm(dim=-1), torch.ones(1, 8, dtype=torch.float64))


@pytest.mark.parametrize("kind", ["softmax", "exp", "relu"])
def test_a_run_does_not_depend_on_the_others_in_its_batch(kind):
    together = fit(kind, draw_problems(12, 6, 6, range(6)), steps=400, every=1)
    alone = [fit(kind, draw_problems(12, 6, 6, [seed]), steps=400, every=1) for seed in range(6)]
    assert len({int(steps) for steps in together.steps}) > 1  # they finish at different times
    for name, slack in (("steps", 1), ("peak", 1e-6)):
        expected = torch.cat([getattr(one, name) for one in alone])
        torch.testing.assert_close(getattr(together, name), expected, rtol=1e-6, atol=slack)


def test_kernel_regression_follows_its_update_whatever_the_signs():
    kernel, y = torch.diag(torch.tensor([-0.239, 0, 1, 2])).double(), torch.ones(4, 1).double()
    gamma = torch.zeros(4).double()
    for _ in range(50):
        gamma = gamma - 0.1 * (2 * kernel @ gamma - y[:, 0])
    steps, found = tangent.ntk_regression(kernel, y, 50, 0.1, 2, at=np.array([50]))
    assert steps == [50] and float(found[0][0]) == pytest.approx(19.51, abs=5e-3)
    torch.testing.assert_close(found[0], gamma)
