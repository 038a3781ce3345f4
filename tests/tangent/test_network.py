import torch
from attention_theory.device import generator, normal
from attention_theory.tangent import SoftmaxNetwork, paper
from hypothesis import given, settings
from hypothesis import strategies as st


def data(n, d, outputs, seed=0):
    random = generator(seed)
    return normal(n, d, generator=random), normal(n, outputs, generator=random)


@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 3), st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_equation_1(d, m, outputs, seed):
    net = SoftmaxNetwork.unpaired(d, m, seed, outputs=outputs)
    x, _ = data(3, d, outputs, seed)
    torch.testing.assert_close(net(x), paper.equation_1(net.W, net.a, x))


@given(st.integers(1, 4), st.integers(1, 6), st.integers(1, 3), st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_gradient_is_that_of_the_loss(d, m, outputs, seed):
    net = SoftmaxNetwork.unpaired(d, m, seed, outputs=outputs)
    x, y = data(4, d, outputs, seed)
    W = net.W.clone().requires_grad_()
    loss = ((SoftmaxNetwork(W, net.a)(x) - y) ** 2).sum() / 2
    torch.testing.assert_close(net.gradient(x, y), torch.autograd.grad(loss, W)[0])


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


def test_same_seed_same_network():
    first, second = (SoftmaxNetwork.paired(2, 4, seed=3) for _ in range(2))
    assert torch.equal(first.W, second.W) and torch.equal(first.a, second.a)


def test_zero_input_sees_the_sum_of_a():
    net = SoftmaxNetwork.unpaired(2, 5, seed=0)
    torch.testing.assert_close(net(torch.zeros(1, 2, dtype=torch.float64))[0], net.a.sum(1))


def test_slopes_are_the_derivatives_by_the_neurons():
    net, (x, _) = SoftmaxNetwork.unpaired(2, 5, seed=0, outputs=3), data(4, 2, 3)
    P = net.slopes(x)
    for i, point in enumerate(x):
        derivatives = paper.equation_2(net.W, net.a, point)  # (outputs, d, m)
        torch.testing.assert_close(5**0.5 * P[:, i, None] * point[:, None], derivatives)
