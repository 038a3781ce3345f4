import pytest
import torch
from attention_theory.tangent import (
    GaussianMixture,
    SoftmaxNetwork,
    draw_problems,
    fit,
    fit_guarantee,
    kernel_change_bound,
    largest_rate,
    limit_kernel,
    ntk_regression,
    reverse_sde,
    reverse_times,
    smallest_eigenvalue,
    tangent_kernel,
    train,
)

NET = SoftmaxNetwork.paired(3, 8, seed=0, outputs=2)
X = torch.ones(4, 3, dtype=torch.float64)


def test_odd_width_for_pairs():
    with pytest.raises(ValueError, match="m = 7"):
        SoftmaxNetwork.paired(3, 7, seed=0)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"d": 0}, "d = 0 is not allowed: at least 1"),
        ({"m": 0}, "m = 0 is not allowed: at least 1"),
        ({"outputs": 0}, "outputs = 0 is not allowed: at least 1"),
        ({"sigma": 0.0}, "sigma = 0.0 is not allowed: above 0"),
        ({"sigma": float("nan")}, "sigma = nan is not allowed: finite"),
    ],
)
def test_sizes_and_sigma(arguments, message):
    with pytest.raises(ValueError, match=message):
        SoftmaxNetwork.unpaired(**{"d": 3, "m": 4, "seed": 0} | arguments)


def test_layers_of_different_width():
    with pytest.raises(ValueError, match=r"a = a float64 tensor of shape \(2, 6\) is not allowed: .*, where m = 8"):
        SoftmaxNetwork(NET.W, NET.a[:, :6])


@pytest.mark.parametrize(
    "x, message",
    [(X[:, :2], r"x = .* \(4, 2\) .*, where d = 3"), (X[0], r"x = .* \(3,\) .*\(n, d\), where d = 3")],
)
def test_wrong_input_shape(x, message):
    with pytest.raises(ValueError, match=message):
        NET(x)


def test_single_precision_inputs():
    with pytest.raises(ValueError, match="x = float32, but self.W is float64 is not allowed: all tensors .* one precision"):
        NET(X.float())


def test_wrong_label_shape():
    with pytest.raises(ValueError, match=r"y = .* \(4, 3\) is not allowed: .*, where n = 4, outputs = 2"):
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
    with pytest.raises(ValueError, match=r"x2 = a float64 tensor of shape \(4, 2\) is not allowed: .*, where d = 3"):
        tangent_kernel(NET, X, X[:, :2])
    with pytest.raises(ValueError, match="x = .* with NaN or infinity is not allowed: finite"):
        tangent_kernel(NET, X * float("inf"))
    with pytest.raises(ValueError, match="memory = 100 bytes"):
        tangent_kernel(NET, X, memory=100)


def test_limit_kernel_inputs():
    with pytest.raises(ValueError, match=r"x2 = a float64 tensor of shape \(4, 2\) is not allowed: .*, where d = 3"):
        limit_kernel(X, X[:, :2])
    with pytest.raises(ValueError, match="sigma = -1.0 is not allowed: above 0"):
        limit_kernel(X, sigma=-1.0)
    with pytest.raises(ValueError, match="x = .* with NaN or infinity is not allowed: finite"):
        limit_kernel(X * float("nan"))


@pytest.mark.parametrize(
    "matrix, message",
    [
        (X, r"kernel = .* \(4, 3\) is not allowed: .*\(n, n\)"),
        (torch.tensor([[1.0, 2.0], [0.0, 1.0]]), "symmetric, this one is not"),
        (torch.full((2, 2), float("nan")), "kernel = .* with NaN or infinity"),
    ],
)
def test_smallest_eigenvalue_of_what_is_no_kernel(matrix, message):
    with pytest.raises(ValueError, match=message):
        smallest_eigenvalue(matrix)


Y = torch.zeros(4, 2, dtype=torch.float64)


@pytest.mark.parametrize("at", [[], [-1], [6]])
def test_steps_to_record_out_of_range(at):
    with pytest.raises(ValueError, match="steps"):
        train(NET, X, Y, 5, 0.1, at=at)
    with pytest.raises(ValueError, match="steps"):
        ntk_regression(torch.eye(8, dtype=torch.float64), Y, 5, 0.1, 8, at=at)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("inf"), float("nan")])
def test_rates_that_are_none(rate):
    with pytest.raises(ValueError, match="rate"):
        train(NET, X, Y, 5, rate)


def test_labels_that_do_not_fit_the_network_or_the_kernel():
    with pytest.raises(ValueError, match=r"y must be \(4, 2\) like F\(W, x\), got \(4, 1\)"):
        train(NET, X, Y[:, :1], 5, 0.1)
    with pytest.raises(ValueError, match=r"the kernel must be \(8, 8\) for these labels, got \(4, 4\)"):
        ntk_regression(torch.eye(4, dtype=torch.float64), Y, 5, 0.1, 8)


def test_problems_of_odd_size_and_unknown_activations():
    with pytest.raises(ValueError, match="m = 5"):
        draw_problems(4, 3, 5, [0])
    with pytest.raises(ValueError, match="n = 5"):
        draw_problems(5, 3, 4, [0], closeness=0.1)
    with pytest.raises(ValueError, match="tanh"):
        fit("tanh", draw_problems(4, 3, 4, [0]))


MIXTURE = GaussianMixture(
    torch.tensor([0.5, 0.5], dtype=torch.float64),
    torch.eye(2, dtype=torch.float64),
    torch.zeros(2, 2, 2, dtype=torch.float64),
)


@pytest.mark.parametrize("weights", [[0.5, 0.6], [1.0, 0.0], [1.5, -0.5]])
def test_weights_that_are_no_distribution(weights):
    with pytest.raises(ValueError, match="sum to 1"):
        GaussianMixture(torch.tensor(weights, dtype=torch.float64), MIXTURE.means, MIXTURE.covariances)


def test_covariances_that_are_none():
    skew, negative = torch.tensor([[[1.0, 0.5], [0.0, 1.0]]]).double(), -torch.eye(2, dtype=torch.float64)[None]
    for bad in (skew, negative):
        with pytest.raises(ValueError, match="symmetric and positive"):
            GaussianMixture(torch.ones(1, dtype=torch.float64), MIXTURE.means[:1], bad)
    with pytest.raises(ValueError, match=r"covariances = .* \(1, 2, 2\) is not allowed: .*, where k = 2, d = 2"):
        GaussianMixture(MIXTURE.weights, MIXTURE.means, MIXTURE.covariances[:1])


def test_times_and_points_of_the_mixture():
    x = torch.zeros(3, 2, dtype=torch.float64)
    with pytest.raises(ValueError, match="t = -1.0 is not allowed: at least 0"):
        MIXTURE.score(-1.0, x)
    with pytest.raises(ValueError, match="2 times for 3 rows"):
        MIXTURE.posterior_mean(torch.ones(2, dtype=torch.float64), x)
    with pytest.raises(ValueError, match=r"x = .* \(3, 1\) is not allowed: .*, where d = 2"):
        MIXTURE.score(1.0, x[:, :1])


def test_times_of_the_reverse_process():
    with pytest.raises(ValueError, match="stop = 2"):
        reverse_times(1.0, 2.0, 10)
    with pytest.raises(ValueError, match="times of the reverse process must decrease"):
        reverse_sde(MIXTURE.score, torch.zeros(3, 2).double(), torch.ones(2).double(), seed=0)


def test_what_the_readers_score_calls_is_checked():
    times = torch.tensor([1.0, 0.5], dtype=torch.float64)
    with pytest.raises(ValueError, match="sigma = -1 is not allowed"):
        reverse_sde(lambda t, x: limit_kernel(x, sigma=-1) @ x, torch.zeros(3, 2).double(), times, seed=0)


def test_bounds_inputs():
    with pytest.raises(ValueError, match="R = -0.1 is not allowed: at least 0"):
        kernel_change_bound(NET, X, -0.1)
    y = torch.zeros(4, 2, dtype=torch.float64)
    with pytest.raises(ValueError, match="norm at most 1"):
        fit_guarantee(NET, X, y)
    with pytest.raises(ValueError, match=r"y must be \(4, 2\), got \(4, 1\)"):
        fit_guarantee(NET, X / 2, y[:, :1])
    with pytest.raises(ValueError, match="paired"):
        fit_guarantee(SoftmaxNetwork.unpaired(3, 8, seed=0, outputs=2), X / 2, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rate": -1.0}, "rate = -1.0 is not allowed: at least 0"),
        ({"rate": 0.0}, "rate must be positive"),
        ({"rate": float("inf")}, "rate = inf is not allowed: finite"),
        ({"steps": 2.5}, "steps = 2.5 is not allowed: int"),
        ({"at": [0.5]}, r"at = \[0.5\] is not allowed: Iterable.int. or None"),
        ({"m": 0}, "m = 0 is not allowed: at least 1"),
        ({"kernel": torch.tensor([[1.0, 2.0], [0.0, 1.0]], dtype=torch.float64)}, "symmetric"),
        ({"kernel": torch.full((2, 2), -float("inf"), dtype=torch.float64)}, "kernel = .* with NaN or infinity"),
    ],
)
def test_kernel_regression_arguments(change, message):
    fine = {"kernel": torch.eye(2, dtype=torch.float64), "y": torch.ones(2, 1, dtype=torch.float64)}
    with pytest.raises(ValueError, match=message):
        ntk_regression(**fine | {"steps": 3, "rate": 0.1, "m": 4} | change)


@pytest.mark.parametrize(
    "kernel, message",
    [
        (torch.zeros(2, 2), "largest eigenvalue must be positive, got m = 4 and 0"),
        (-torch.eye(2), "largest eigenvalue must be positive, got m = 4 and -1"),
        (torch.ones(2, 3), r"kernel = .* \(2, 3\) is not allowed: .*\(k, k\)"),
        (torch.full((2, 2), torch.nan), "kernel = .* with NaN or infinity"),
    ],
)
def test_largest_rate_of_what_is_no_kernel(kernel, message):
    with pytest.raises(ValueError, match=message):
        largest_rate(kernel, 4)
    with pytest.raises(ValueError, match="m = -1 is not allowed: at least 1"):
        largest_rate(torch.eye(2), -1)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"every": -2}, "every = -2 is not allowed: at least 1"),
        ({"every": 0}, "every = 0 is not allowed: at least 1"),
        ({"tolerance": 0.0}, "tolerance = 0.0 is not allowed: above 0"),
        ({"speed": 0.0}, "speed = 0.0 is not allowed: above 0"),
        ({"steps": -1}, "steps = -1 is not allowed: at least 0"),
    ],
)
def test_fit_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        fit("softmax", draw_problems(4, 3, 4, [0]), **change)


def test_single_precision_is_enough_for_the_guarantee():
    x = torch.nn.functional.normalize(torch.ones(1, 3), dim=1)
    net = SoftmaxNetwork.paired(3, 8, seed=0, outputs=1).to(torch.float32)
    assert fit_guarantee(net, x, torch.ones(1, 1)).lam > 0
