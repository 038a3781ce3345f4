"""The printed formulas and the library's fast code agree at random inputs, for every formula that has a fast twin."""

import itertools
import math

import pytest
import torch
from attention_theory import patches, sensitivity, separation, tangent
from attention_theory.attention import attention, attention_weights
from attention_theory.device import generator, normal, signs
from attention_theory.patches import hidden
from attention_theory.patches import paper as IV
from attention_theory.patches.gaussian import convolution_label
from attention_theory.patches.runs import transfer
from attention_theory.sensitivity import paper as I
from attention_theory.separation import paper as II
from attention_theory.separation import regression
from attention_theory.tangent import paper as III
from hypothesis import given, settings
from hypothesis import strategies as st

TWINS = {}


def twins(function):
    """A function of a seed and two small sizes that gives pairs: what is printed, and what the library computes."""
    TWINS[function.__name__] = function
    return function


def drawn(seed, *shape):
    return normal(*shape, generator=generator(seed))


def context(seed, n, d):
    return math.sqrt(d) * torch.nn.functional.normalize(drawn(seed, n, d), dim=1)


def length(features):
    return float(features.norm())


# Part I --------------------------------------------------------------------------------------------------------------


@twins
def feature_maps(seed, n, d):
    X, k = context(seed, n, d), 7
    rf = sensitivity.RandomFeatures.sample(n, d, k, seed)
    deep = sensitivity.DeepRandomFeatures.sample(n, d, k, 3, seed)
    raf, relu = (sensitivity.RandomAttentionFeatures.sample(d, seed, weights) for weights in ("softmax", "relu"))
    W_Q, W_K, W_V = drawn(seed + 1, 4, d), drawn(seed + 2, 4, d), drawn(seed + 3, 3, d)
    yield I.equation_3_1(X, rf.V), rf(X)
    yield I.equation_4_2(X, deep.V), deep(X)
    yield I.equation_3_3(X, raf.W), raf(X)
    yield I.relu_raf(X, relu.W), relu(X)
    yield I.equation_3_2(X, W_Q, W_K, W_V), attention(X @ W_Q.T @ (X @ W_K.T).T / 2, X @ W_V.T)
    for map in (rf, deep, raf, relu):
        delta, i = context(seed + 4, 1, d)[0] * 0.7, seed % n
        one = map.one_token(X, i)
        if float(one.norm) > 0:
            yield I.equation_3_4(map, X, i, delta), math.sqrt(float(one.change(delta[None])[0])) / float(one.norm)
        yield map(I.moved(X, i, delta)), map.perturbed(X, i, delta[None])[0]


@twins
def a_new_label(seed, n, d):
    p, y = n + d + 4, 1.0 - 2 * (seed % 2)
    Phi, labels = drawn(seed, n, p), signs(n, generator=generator(seed))
    X, raf = context(seed + 1, p, 3), sensitivity.RandomAttentionFeatures.sample(3, seed)
    phi, theta_0 = drawn(seed + 2, p), drawn(seed + 3, p)
    moved = drawn(seed + 4, 2, p)
    yield I.equation_6_3(Phi, labels, theta_0), sensitivity.trained(Phi, labels, theta_0)
    yield I.equation_6_14(Phi, phi, moved), sensitivity.feature_alignment(Phi, phi, moved)
    yield I.equation_6_9(phi, moved), sensitivity.feature_alignment(Phi[:0], phi, moved)
    one, deltas = raf.one_token(X, 0), context(seed + 5, 2, 3) / 2
    Phi, phi = drawn(seed, n, 3 * p), raf(X).flatten()
    moved = torch.stack([raf(I.moved(X, 0, delta)).flatten() for delta in deltas])
    model = sensitivity.solutions(Phi, labels, phi, y)
    found = model.measure(one, deltas)
    theta = I.equation_6_3(Phi, labels)
    yield I.equation_6_4(theta, phi, moved), found["shift"].abs()
    yield I.equation_6_7(I.equation_6_5(theta, phi, y), moved, y), found["error-fine"]
    yield I.equation_6_7(I.equation_6_6(Phi, labels, phi, y), moved, y), found["error-again"]


# Part II -------------------------------------------------------------------------------------------------------------


@twins
def separated_networks(seed, t, d):
    d, m, tau = d + 2, 3, 0.5
    for model, columns in zip(separation.MODELS, (d - 2, d - 2, d - 1)):
        n, scales = t * columns + (t == columns == 1), {} if model == "cross" else {"b": 0.3, "c": 0.8}
        if n % columns:
            continue
        a = 0.1 + seed % 5 / 2
        A1, A2, X = separation.inputs(model, n, d, a, **scales)
        if model == "cross":
            yield torch.cat(II.definition_f_1(n, d, a, 0, 0)), torch.cat([A1, A2])
        else:
            yield II.definition_d_1(n, d, a, **scales), A1
            yield II.theorem_6_2(n, scales["c"]), separation.threshold(model, math.sqrt(math.log(n)), scales["c"])
        y = signs(d, m, generator=generator(seed))
        for weights, definition, transform in (
            ("linear", II.definition_c_1, lambda u: u),
            ("softmax", II.definition_c_4, torch.exp),
        ):
            c = definition(A1, A2, A2, X)[2]
            fast = separation.attention_features(A1, A2, A2, X, weights)
            yield c, fast
            yield c, separation.kronecker_features(A1, A2, A2, X, weights)
            yield II.equation_1(A1, A2, X, torch.eye(d).double(), transform), fast
            yield II.definition_c_6(c, y, tau), separation.readout(fast, y, tau)


@twins
def softmax_regression(seed, n, high):
    n, high = n + 2, min(high, n)
    for dataset, (weights, definition) in itertools.product(
        (0, 1), {"linear": II.definition_3_2, "softmax": II.definition_3_3}.items()
    ):
        A, x = regression.regression_data(n, dataset, high, d=4, seed=seed)
        yield definition(A, x), regression.regression_weights(n, dataset, weights, high)
        yield float(II.definition_3_8(A @ x, dataset)), 1.0


# Part III ------------------------------------------------------------------------------------------------------------


@twins
def the_network(seed, n, d):
    net = tangent.SoftmaxNetwork.unpaired(d, 4, seed, outputs=2)
    pairs = tangent.SoftmaxNetwork.paired(d, 4, seed, outputs=2)
    x, y = torch.nn.functional.normalize(drawn(seed, n, d), dim=1), drawn(seed + 1, n, 2)
    for some in (net, pairs):
        yield III.equation_1(some.W, some.a, x), some(x)
        yield III.definition_3_1(some.W, some.a, x), some(x)
        yield III.definition_3_3(some.W, some.a, x, y), some.gradient(x, y)
        yield III.claim_3_4(some.W, some.a, x, y), some.gradient(x, y)
        yield III.definition_3_6(some.W, some.a, x), tangent.tangent_kernel(some, x)
    path = tangent.train(net, x, y, 2, 1e-3, at=[0, 2], kernel=False)
    yield III.definition_3_2(net.W, net.a, x, y), path.losses[0]
    yield III.definition_3_2(path.net.W, path.net.a, x, y), path.losses[1]
    kernel = tangent.limit_kernel(x)
    labels, rate = y[:, :1], 0.4 / float(torch.linalg.eigvalsh(kernel)[-1])
    _, gammas = tangent.ntk_regression(kernel, labels, 5, rate / 4, 4, at=range(6))
    yield torch.stack(III.equation_24(kernel, labels[:, 0], rate / 4, 4, 5)), torch.stack(gammas)


@twins
def scores(seed, n, d):
    t = 0.1 + n / 3
    x, mean, start = (drawn(seed + i, n, d) for i in range(3))
    mixture = tangent.GaussianMixture(torch.ones(1).double(), start[:1], torch.zeros(1, d, d).double())
    # a point mass: its score is the conditional one, so that (6) vanishes
    yield III.equation_6(mixture.score(t, x), x, start[:1], t), torch.zeros(n)
    alpha, h = math.exp(-t / 2), -math.expm1(-t)
    yield III.equation_6(tangent.score_from_mean(t, x, mean), x, mean, t), torch.zeros(n)
    yield III.equation_5(mixture.score(t, x), (alpha * start[:1] - x) / h), torch.zeros(n)


# Part IV -------------------------------------------------------------------------------------------------------------


@twins
def the_positional_layer(seed, L, d):
    C, D, N, d = 2, 2 * L, 2, d + 1
    A, v, X, y = drawn(seed, D, D), drawn(seed + 1, d) / 9, drawn(seed + 2, N, D, d), signs(N, generator=generator(seed))
    vit, groups = patches.PositionalViT(A, v), torch.arange(D) // C
    yield IV.attention(A, X[0], d), attention(A / math.sqrt(d), X[0])
    yield torch.stack([IV.model_T(x, A, v) for x in X]), vit(X)
    yield IV.loss(IV.model_T, X, y, A, v), vit.loss(X, y)
    yield -IV.mean(IV.lemma_h_1, X, y, A, v), vit.gradients(X, y)[1]
    yield from zip(IV.loss_gradients(IV.model_T, X, y, A, v), vit.gradients(X, y))
    yield IV.definition_2_2(A, groups), patches.association(A @ A.T, groups)
    yield IV.theorem_5_1_step(A, X, y), transfer.one_step(A, X, y).v
    yield torch.tensor([IV.section_2_label(x, C) for x in X]), convolution_label(X, C)
    world = patches.PatchDistribution(D, C, d, 0.4, 0.3)
    images, _ = world.sample(4, seed=seed)
    sums = world.group_sums(images)
    yield torch.tensor([IV.assumption_1_labelling(row.tolist(), C) for row in sums]).sign(), world.label(images)


@twins
def hidden_groups(seed, m, C):
    m, C, q = min(m, 4) + 1, min(C, 2), 0.2 + 0.1 * (seed % 7)
    yield IV.hidden_group_error(m, C, q), hidden.hidden_error(m, C, q)


@twins
def softmax_weights(seed, n, d):
    a, b = drawn(seed, n + 1), drawn(seed + 1, n + 1)
    u, p = drawn(seed + 2, n + 1), 3
    s, t = attention_weights(a[None])[0], attention_weights(b[None])[0]
    yield IV.lemma_e_17(a, b)[0], (s - t).abs()
    yield IV.lemma_e_16(a, u, p), ((n + 1) * (s @ u)) ** (p - 1)
    yield IV.lemma_e_12(a, p), torch.sigmoid(-(a**p).sum())


@pytest.mark.parametrize("name", TWINS)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 5))
@settings(max_examples=6)
def test_printed_and_fast_agree(name, seed, n, d):
    for i, (printed, fast) in enumerate(TWINS[name](seed, n, d)):
        printed, fast = (torch.as_tensor(x).double() for x in (printed, fast))
        torch.testing.assert_close(fast, printed, rtol=1e-7, atol=1e-9, msg=lambda text, i=i: f"{name}, pair {i}: {text}")
