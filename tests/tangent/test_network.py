import torch
from attention_checks.tangent import printed
from attention_theory.device import generator, normal
from attention_theory.tangent import SoftmaxNetwork


def data(n, d, outputs, seed=0):
    random = generator(seed)
    return normal(n, d, generator=random), normal(n, outputs, generator=random)


def test_paired_form():
    net = SoftmaxNetwork.paired(3, 8, seed=1, sigma=0.5)
    assert net.W.shape == (3, 8) and net.a.shape == (3, 8)
    assert torch.equal(net.W[:, 0::2], net.W[:, 1::2]) and torch.equal(net.a[:, 0::2], -net.a[:, 1::2])
    assert net.is_paired and not SoftmaxNetwork.unpaired(3, 8, seed=1).is_paired
    x, _ = data(5, 3, 3)
    assert net(x).abs().max() < 1e-14


def test_training_ends_the_pairing():
    net = SoftmaxNetwork.paired(3, 8, seed=1)
    x, y = data(5, 3, 3)
    assert not SoftmaxNetwork(net.W - 0.01 * net.gradient(x, y), net.a).is_paired


def test_zero_input_sees_the_sum_of_a():
    net = SoftmaxNetwork.unpaired(2, 5, seed=0)
    torch.testing.assert_close(net(torch.zeros(1, 2, dtype=torch.float64))[0], net.a.sum(1))


def test_slopes_are_the_derivatives_by_the_neurons():
    net, (x, _) = SoftmaxNetwork.unpaired(2, 5, seed=0, outputs=3), data(4, 2, 3)
    P = net.slopes(x)
    for i, point in enumerate(x):
        derivatives = printed.equation_2(net.W, net.a, point)  # (outputs, d, m)
        torch.testing.assert_close(5**0.5 * P[:, i, None] * point[:, None], derivatives)
