"""Every part's functions on a pretended device (see pretended.py) give the CPU's numbers, and leave no tensor behind.

Run apart from the other tests (``make test`` does): the pretended backend stays in its process. The calls listed here are of
each part's central functions; with examples at hand (``make examples``) all of them are sent there.
"""

import inspect
import math
import types

import fuzz
import pytest
import torch
from attention_checks.exponential.exact_kernels import forbidden_labels
from attention_checks.tangent.runs import descent
from attention_theory import exponential, patches, sensitivity, separation, tangent
from attention_theory.attention import Weights, attention, attention_weights
from attention_theory.device import generator, normal
from pretended import DEVICE, devices_of, sent

import examples


def drawn(*shape, seed=0):
    return normal(*shape, generator=generator(seed))


X = math.sqrt(6) * torch.nn.functional.normalize(drawn(5, 6), dim=1)
RAF = sensitivity.RandomAttentionFeatures.sample(6, seed=0)
POINTS = torch.nn.functional.normalize(drawn(6, 4, seed=1), dim=1)
NET = tangent.SoftmaxNetwork.paired(4, 64, seed=0)
GROUPS = torch.tensor([0, 1, 2, 0, 1, 2])
VIT = patches.PositionalViT(drawn(8, 8, seed=2), drawn(5, seed=3))
IMAGES, SIGNS = drawn(10, 8, 5, seed=4), drawn(10, seed=5).sign()
A1, A2, Q = separation.inputs("self-identity", 12, 6, 0.7, b=0.2, c=0.8)

CALLS = {
    "softmax": (attention, (X @ X.T, X)),
    "ReLU weights": (attention_weights, (X @ X.T, "relu")),
    "truncated weights": (attention_weights, (X @ X.T, Weights("truncated", 4))),
    "attention features": (RAF, (X,)),
    "one token": (lambda raf, X, d: raf.one_token(X, 0).change(d), (RAF, X, drawn(3, 6, seed=6))),
    "word sensitivity": (lambda raf, X: sensitivity.word_sensitivity(raf, X), (RAF, X)),
    "trained": (sensitivity.min_norm_interpolator, (drawn(4, 30), drawn(4, seed=1).sign())),
    "alignment": (sensitivity.feature_alignment, (drawn(4, 30), drawn(30, seed=1), drawn(3, 30, seed=2))),
    "literal features": (separation.attention_features, (A1, A2, A2, Q, "softmax")),
    "tangent kernel": (tangent.tangent_kernel, (NET, POINTS)),
    "limit kernel": (tangent.limit_kernel, (POINTS,)),
    "loss terms": (descent.loss_terms, (NET, POINTS, drawn(6, 4, seed=7), 0.01)),
    "smallest eigenvalue": (tangent.smallest_eigenvalue, (POINTS @ POINTS.T + torch.eye(6).double(),)),
    "PositionalViT": (VIT, (IMAGES,)),
    "patches drawn": (lambda groups: patches.PatchDistribution(6, 2, 4, 0.3, 0.5, groups).sample(5, seed=0), (GROUPS,)),
    "forbidden labels": (forbidden_labels, (2, drawn(7, 2, seed=8))),
    "reachable": (exponential.kernels.reachable_labellings, (drawn(5, 3, seed=9),)),
    "PositionalViT gradients": (lambda vit, X, y: vit.gradients(X, y), (VIT, IMAGES, SIGNS)),
}


def numbers_of(value):
    return [x for x in fuzz.numbers(value) if x == x]


def check(function, arguments, keywords=()):
    right = function(*arguments, **dict(keywords))
    there = function(*sent(list(arguments), DEVICE), **sent(dict(keywords), DEVICE))
    left_behind, back = devices_of(there), sent(there, torch.device("cpu"))
    if devices_of(right):
        assert "cpu" not in left_behind, "a result is on the CPU"
    found, expected = numbers_of(back), numbers_of(right)
    scale = max((abs(x) for x in expected if math.isfinite(x)), default=0.0)
    assert len(found) == len(expected)
    assert all(x == y or abs(x - y) <= 1e-6 * scale + 1e-12 for x, y in zip(found, expected))


@pytest.mark.parametrize("name", CALLS)
def test_the_same_numbers_elsewhere(name):
    function, arguments = CALLS[name]
    if isinstance(function, sensitivity.RandomAttentionFeatures | patches.PositionalViT):
        check(lambda map, x: map(x), (function, *arguments))
    else:
        check(function, arguments)


def test_the_pretended_device_is_one():
    far = X.to(DEVICE)
    assert far.device.type == "pretended" and float(far.sum()) == float(X.sum())
    for wrong in (
        lambda: far + X,
        lambda: far.numpy(),
        lambda: torch.linalg.lstsq(far.T, far.T, driver="gelsd"),
        lambda: torch.randn(2, device=DEVICE, generator=generator(0)),
    ):
        with pytest.raises((RuntimeError, TypeError), match=r"same device|numpy|driver|generator"):
            wrong()
    assert (far + torch.tensor(1.0, device=far.device)).device == far.device
    assert torch.equal(far[[2, 0]].cpu(), X[[2, 0]]) and torch.arange(3, device=DEVICE).tolist() == [0, 1, 2]
    leaf = far.clone().requires_grad_()
    leaf.square().sum().backward()
    assert torch.equal(leaf.grad.cpu(), 2 * X)


FOUND = [e for e in examples.load() if devices_of(list(e.arguments)) or devices_of(dict(e.keywords))]


@pytest.mark.parametrize("example", FOUND, ids=lambda e: f"{e.module[17:]}.{e.name}")
def test_every_noted_call_elsewhere(example):
    function, arguments = example.call
    given = (*arguments, *dict(example.keywords).values())
    if example.name.endswith(".__init__") or "tokens" in example.module or example.name == "world":
        pytest.skip("an object alone computes nothing")
    if example.name.endswith(".to") or "device" in inspect.signature(function).parameters:
        pytest.skip("it is told where to compute")
    if any(isinstance(value, types.FunctionType | types.MethodType) for value in given):
        pytest.skip("a caller's function holds tensors of its own")
    if example.module.endswith("train_images"):
        pytest.skip("torch's modules do not take the pretended tensors")
    if example.name == "assumption_1":
        pytest.skip("the printed data set, drawn one number at a time")
    if example.name == "fits_in_time":
        pytest.skip("many small steps: not through after minutes")
    check(function, arguments, example.keywords)
