import itertools
import warnings

import pytest
import torch
from attention_checks.exponential import exact_kernels
from attention_checks.tangent.runs import moves
from attention_checks.tangent.runs.limit import error_constant_by_quadrature, limit_by_quadrature
from attention_theory.device import generator, normal
from attention_theory.tangent import (
    SoftmaxNetwork,
    largest_rate,
    limit_kernel,
    smallest_eigenvalue,
    tangent_kernel,
    unit_points,
)
from attention_theory.tangent.kernel import error_constant, rank
from torch.profiler import ProfilerActivity, profile


def inputs(n, d, seed=0):
    return normal(n, d, generator=generator(seed)) / d**0.5


def direct(net, x):
    """Definition 3.6 as one matrix product."""
    S = net.weights(x)
    P = ((net.a[:, None] - (S @ net.a.T).T[..., None]) * net.m * S).flatten(0, 1)
    return P @ P.T / net.m * (x @ x.T).repeat(net.outputs, net.outputs)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("outputs", [2, 9])
def test_blocks_of_neurons_and_strips_add_up(paired, outputs):
    net = (SoftmaxNetwork.paired if paired else SoftmaxNetwork.unpaired)(3, 3000, 0, outputs=outputs)
    x = inputs(150 if outputs == 2 else 40, 3)
    H = tangent_kernel(net, x)
    torch.testing.assert_close(H, direct(net, x), atol=1e-12, rtol=1e-10)
    torch.testing.assert_close(
        tangent_kernel(net, x, x[:30]), H.view(outputs, len(x), outputs, -1)[..., :30].flatten(2).flatten(0, 1)
    )


def peak_memory(function):
    """Bytes that torch holds at most while ``function`` runs, its result not counted. (The process counts BLAS's pages too.)"""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as trace:
        result = function()
    changes = [event.nbytes() for event in trace.profiler.kineto_results.events() if event.name() == "[memory]"]
    return max(itertools.accumulate(changes)) - result.nbytes


@pytest.mark.parametrize("outputs, n, m", [(64, 2, 4096), (2, 100, 4096), (8, 64, 1024)])
def test_memory(outputs, n, m):
    """As the docstring says, also with many outputs."""
    for net in (SoftmaxNetwork.paired(8, m, 0, outputs=outputs), SoftmaxNetwork.unpaired(8, m, 0, outputs=outputs)):
        assert peak_memory(lambda: tangent_kernel(net, inputs(n, 8))) < 1.5 * n * outputs * m * 8


@pytest.mark.parametrize("sigma", [0.7, 1.3])
def test_limit_by_quadrature_is_the_closed_form(sigma):
    x = inputs(4, 3)
    torch.testing.assert_close(limit_by_quadrature(x, sigma), limit_kernel(x, sigma=sigma), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("sigma", "outputs"), [(0.4, 1), (1.2, 3)])
def test_the_error_constant_is_the_delta_methods_by_quadrature(sigma, outputs):
    x = inputs(4, 2)
    assert error_constant(x, sigma, outputs) == pytest.approx(error_constant_by_quadrature(x, sigma, outputs), rel=1e-9)


def test_exp_kernel_is_the_gram_matrix_of_its_jacobian():
    net, x = SoftmaxNetwork.unpaired(3, 5, 0, outputs=2), inputs(4, 3)
    net = SoftmaxNetwork(net.W, net.a * torch.linspace(0.5, 2, 5, dtype=torch.float64))
    J = torch.func.jacrev(lambda W: (torch.exp(x @ W) @ net.a.T).T)(net.W).flatten(2).flatten(0, 1)
    torch.testing.assert_close(moves.exp_kernel(net, x), J @ J.T / 5)


def test_duplicate_and_zero_inputs_are_said_not_crashed():
    x = inputs(4, 3)
    net = SoftmaxNetwork.paired(3, 200, 0, outputs=2)
    for degenerate in (torch.cat([x, x[:1]]), torch.cat([x, 0 * x[:1]])):
        for K in (limit_kernel(degenerate), tangent_kernel(net, degenerate)):
            with pytest.warns(RuntimeWarning, match="repeats or is zero"):
                assert smallest_eigenvalue(K) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert smallest_eigenvalue(limit_kernel(torch.cat([x, -x]))) > 0  # antipodes are distinct


def test_relu_limit_kernel_grows_with_the_lengths_of_its_points():
    x = unit_points(5, 3, seed=0)
    assert torch.allclose(limit_kernel(2 * x, 3 * x, kind="relu"), 6 * limit_kernel(x, kind="relu"))


def test_the_relu_kernel_keeps_its_digits_on_a_line():
    x = torch.linspace(-3, 3, 100).double()[:, None] * torch.tensor([[0.3, 0.7, -0.2]]).double()
    assert rank(limit_kernel(x, kind="relu"), 1e-13) == 2  # x.x' where the signs agree


def test_the_relu_kernel_has_a_gradient_at_equal_points_and_no_scale():
    x = torch.tensor([[1.0, 0.0], [0.6, 0.8]]).double().requires_grad_()
    (slope,) = torch.autograd.grad(limit_kernel(x, kind="relu").sum(), x)
    expected = torch.tensor([[1.4229, 0.7549], [1.4576, 0.6854]]).double()
    torch.testing.assert_close(slope, expected, atol=1e-4, rtol=0)
    both = torch.cat([x, -x]).detach().requires_grad_()
    assert torch.autograd.grad(limit_kernel(both, kind="relu").sum(), both)[0].isfinite().all()
    kernel = limit_kernel(x.detach(), kind="relu")
    for scale, dtype in ((1e10, torch.float32), (1e-10, torch.float32), (1e78, torch.float64), (1e-78, torch.float64)):
        found = limit_kernel((scale * x.detach()).to(dtype), kind="relu").double() / scale**2
        torch.testing.assert_close(found, kernel, rtol=1e-5, atol=0)


def test_what_is_negative_beyond_rounding_is_no_kernel():
    indefinite = torch.diag(torch.tensor([-0.239, 0.5, 1, 3])).double()
    for function in (smallest_eigenvalue, rank, lambda kernel: largest_rate(kernel, 2), exact_kernels.smallest):
        with pytest.raises(ValueError, match="negative eigenvalue, this matrix has -0.239"):
            function(indefinite)
    for dtype in (torch.float32, torch.float64):
        noise = torch.diag(torch.tensor([-50 * torch.finfo(dtype).eps, 1, 2], dtype=dtype))
        with pytest.warns(RuntimeWarning, match="0 to rounding"):
            assert smallest_eigenvalue(noise) == 0
