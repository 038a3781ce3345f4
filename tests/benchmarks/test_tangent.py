"""What the tangent kernel costs, as ratios of times measured in turn in one run (n = 64, d = 16, m = 8192)."""

import time

import pytest
import torch
from attention_theory.device import generator, normal
from attention_theory.tangent import SoftmaxNetwork, limit_kernel, tangent_kernel

N, D, M = 64, 16, 8192
X = normal(N, D, generator=generator(0)) / D**0.5
UNPAIRED, PAIRED = SoftmaxNetwork.unpaired(D, M, 0), SoftmaxNetwork.paired(D, M, 0)
FACTOR = normal(N * D, M, generator=generator(1))


def gemm():
    return FACTOR @ FACTOR.T


def formula(net=PAIRED):
    """Definition 3.6 as one product, blind to pairs and symmetry."""
    S = net.weights(X)
    P = ((net.a[:, None] - (S @ net.a.T).T[..., None]) * net.m * S).flatten(0, 1)
    return P @ P.T / net.m * (X @ X.T).repeat(D, D)


def empirical(net=UNPAIRED, rows=2):
    """The Gram matrix of the Jacobian through torch.func, only the first ``rows`` inputs against all."""

    def jacobian(x):
        function = torch.func.jacrev(lambda W, x: net.m * torch.softmax(x @ W, 0) @ net.a.T)
        return torch.func.vmap(function, (None, 0))(net.W, x).flatten(2)

    left = jacobian(X[:rows])
    return torch.cat([torch.einsum("ilp,jkp->ilkj", left, jacobian(part)) for part in X.split(8)], dim=-1)


def ratio(numerator, denominator, repeats=5):
    """Shortest time of one over that of the other, taken in turn so that a busy machine slows both."""
    best = [float("inf")] * 2
    for _ in range(repeats):
        for k, function in enumerate((numerator, denominator)):
            start = time.perf_counter()
            function()
            best[k] = min(best[k], time.perf_counter() - start)
    return best[0] / best[1]


@pytest.mark.benchmark(group="tangent kernel")
@pytest.mark.parametrize("function", [gemm, formula], ids=["one GEMM", "formula"])
def test_yardsticks(benchmark, function):
    benchmark.pedantic(function, rounds=3, warmup_rounds=1)


@pytest.mark.benchmark(group="tangent kernel")
def test_unpaired_costs_a_gemm(benchmark):
    benchmark.pedantic(tangent_kernel, (UNPAIRED, X), rounds=3, warmup_rounds=1)
    assert ratio(lambda: tangent_kernel(UNPAIRED, X), gemm) <= 1.5


@pytest.mark.benchmark(group="tangent kernel")
def test_pairs_pay(benchmark):
    torch.testing.assert_close(tangent_kernel(PAIRED, X), formula())
    benchmark.pedantic(tangent_kernel, (PAIRED, X), rounds=3, warmup_rounds=1)
    assert ratio(formula, lambda: tangent_kernel(PAIRED, X)) >= 3


@pytest.mark.benchmark(group="tangent kernel")
def test_automatic_differentiation(benchmark):
    """More than 5 times slower than ours already for 2 of its 64 rows of inputs."""
    block = benchmark.pedantic(empirical, rounds=1)  # (2 inputs, outputs, outputs, n)
    ours = tangent_kernel(UNPAIRED, X).view(D, N, D, N)[:, :2].transpose(0, 1)
    torch.testing.assert_close(block / M, ours)
    assert ratio(empirical, lambda: tangent_kernel(UNPAIRED, X), repeats=1) >= 5


@pytest.mark.benchmark(group="tangent kernel")
def test_limit(benchmark):
    benchmark.pedantic(limit_kernel, (X,), rounds=20, warmup_rounds=1)
    assert ratio(lambda: tangent_kernel(PAIRED, X), lambda: limit_kernel(X)) >= 100
