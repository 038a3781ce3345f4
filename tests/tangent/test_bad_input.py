import pytest
import torch

from attention_theory.tangent import (
    SoftmaxNetwork,
    fit_guarantee,
    kernel_change_bound,
    limit_kernel,
    smallest_eigenvalue,
    tangent_kernel,
)

NET = SoftmaxNetwork.paired(3, 8, seed=0, outputs=2)
X = torch.ones(4, 3, dtype=torch.float64)


def test_odd_width_for_pairs():
    with pytest.raises(ValueError, match="m = 7"):
        SoftmaxNetwork.paired(3, 7, seed=0)


@pytest.mark.parametrize("arguments", [{"d": 0}, {"m": 0}, {"outputs": 0}, {"sigma": 0.0}, {"sigma": float("nan")}])
def test_sizes_and_sigma(arguments):
    with pytest.raises(ValueError, match="positive"):
        SoftmaxNetwork.unpaired(**{"d": 3, "m": 4, "seed": 0} | arguments)


def test_layers_of_different_width():
    with pytest.raises(ValueError, match=r"\(3, 8\) and \(2, 6\)"):
        SoftmaxNetwork(NET.W, NET.a[:, :6])


@pytest.mark.parametrize("x", [X[:, :2], X[0]])
def test_wrong_input_shape(x):
    with pytest.raises(ValueError, match=r"\(n, 3\)"):
        NET(x)


def test_single_precision_inputs():
    with pytest.raises(ValueError, match="x is torch.float32 on cpu, the network torch.float64"):
        NET(X.float())


def test_wrong_label_shape():
    with pytest.raises(ValueError, match=r"\(4, 2\)"):
        NET.gradient(X, torch.zeros(4, 3, dtype=torch.float64))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite(value):
    bad = X.clone()
    bad[1, 1] = value
    with pytest.raises(ValueError, match="finite"):
        NET(bad)
    with pytest.raises(ValueError, match="finite"):
        NET.gradient(X, torch.full((4, 2), value, dtype=torch.float64))
    with pytest.raises(ValueError, match="finite"):
        SoftmaxNetwork(NET.W * value, NET.a)


def test_kernel_inputs():
    with pytest.raises(ValueError, match=r"x2 must be \(n, 3\)"):
        tangent_kernel(NET, X, X[:, :2])
    with pytest.raises(ValueError, match="finite"):
        tangent_kernel(NET, X * float("inf"))
    with pytest.raises(ValueError, match="memory = 100 bytes"):
        tangent_kernel(NET, X, memory=100)


def test_limit_kernel_inputs():
    with pytest.raises(ValueError, match=r"\(4, 3\) and \(4, 2\)"):
        limit_kernel(X, X[:, :2])
    with pytest.raises(ValueError, match="sigma must be positive, got -1"):
        limit_kernel(X, sigma=-1.0)
    with pytest.raises(ValueError, match="finite"):
        limit_kernel(X * float("nan"))


@pytest.mark.parametrize("matrix", [X, torch.tensor([[1.0, 2.0], [0.0, 1.0]]), torch.full((2, 2), float("nan"))])
def test_smallest_eigenvalue_of_what_is_no_kernel(matrix):
    with pytest.raises(ValueError, match="kernel matrix"):
        smallest_eigenvalue(matrix)


def test_bounds_inputs():
    with pytest.raises(ValueError, match="negative, got -0.1"):
        kernel_change_bound(NET, X, -0.1)
    y = torch.zeros(4, 2, dtype=torch.float64)
    with pytest.raises(ValueError, match="norm at most 1"):
        fit_guarantee(NET, X, y)
    with pytest.raises(ValueError, match=r"y must be \(4, 2\)"):
        fit_guarantee(NET, X / 2, y[:, :1])
    with pytest.raises(ValueError, match="paired"):
        fit_guarantee(SoftmaxNetwork.unpaired(3, 8, seed=0, outputs=2), X / 2, y)
