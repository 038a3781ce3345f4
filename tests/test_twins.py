"""The printed formulas and the library's fast code agree at random inputs, for every formula that has a fast twin."""

import itertools
import math
from functools import partial

import pytest
import torch
from attention_checks.patches import printed as IV
from attention_checks.patches.runs import expectation, transfer
from attention_checks.sensitivity import printed as I
from attention_checks.separation import chances
from attention_checks.separation import printed as II
from attention_checks.tangent import printed as III
from attention_checks.tangent import reverse_process
from attention_checks.tangent.runs import descent, estimates
from attention_theory import patches, sensitivity, separation, tangent
from attention_theory.attention import Weights, attention, attention_weights
from attention_theory.device import generator, normal, signs
from attention_theory.patches import hidden
from attention_theory.patches.gaussian import convolution_label
from attention_theory.patches.population import initial_growth
from attention_theory.separation import regression
from attention_theory.tangent import bounds
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
    X, k, phi = context(seed, n, d), 7, (torch.relu, torch.tanh)[seed % 2]
    rf = sensitivity.RandomFeatures.sample(n, d, k, seed, phi.__name__)
    deep = sensitivity.DeepRandomFeatures.sample(n, d, k, 1 + seed % 4, seed)
    families = [("sharp", 0), ("sharp", 0.4), ("sharp", 3), ("sharp", math.inf), ("truncated", 4), ("power", 2)]
    every = ("softmax", "relu", *(Weights(*family) for family in families))
    raf, relu, *others = (sensitivity.RandomAttentionFeatures.sample(d, seed, weights) for weights in every)
    W_Q, W_K, W_V = drawn(seed + 1, 4, d), drawn(seed + 2, 4, d), drawn(seed + 3, 3, d)
    yield I.equation_3_1(X, rf.V, phi), rf(X)
    yield I.equation_4_2(X, deep.V), deep(X)
    yield I.equation_3_3(X, raf.W), raf(X)
    yield I.relu_raf(X, relu.W), relu(X)
    yield I.equation_3_2(X, W_Q, W_K, W_V), attention(X @ W_Q.T @ (X @ W_K.T).T / 2, X @ W_V.T)
    for map in (rf, deep, raf, relu, *others):
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
    yield I.equation_6_3(Phi, labels, theta_0), sensitivity.min_norm_interpolator(Phi, labels, theta_0)
    yield I.equation_6_14(Phi, phi, moved), sensitivity.feature_alignment(Phi, phi, moved)
    yield I.equation_6_9(phi, moved), sensitivity.feature_alignment(Phi[:0], phi, moved)
    for map in (raf, sensitivity.RandomFeatures.sample(p, 3, p, seed)):
        one, deltas = map.one_token(X, 0), context(seed + 5, 2, 3) / 2
        phi = map(X).flatten()
        Phi = drawn(seed, n, len(phi))
        moved = torch.stack([map(I.moved(X, 0, delta)).flatten() for delta in deltas])
        found = sensitivity.solutions(Phi, labels, phi, y).measure(one, deltas)
        theta = I.equation_6_3(Phi, labels)
        yield I.equation_6_4(theta, phi, moved), found["shift"].abs()
        yield I.equation_6_14(Phi, phi, moved), found["alignment-again"]
        yield I.equation_6_9(phi, moved), found["alignment-fine"]
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
            yield II.equation_1(A1, A2, X, torch.eye(d).double(), transform), fast
            yield II.definition_c_6(c, y, tau), separation.readout(fast, y, tau)


@twins
def successes(seed, t, d):
    d = d + 2
    for model, columns in zip(separation.MODELS, (d - 2, d - 2, d - 1)):
        n, sizes = 2 * t * columns, (0.01, 1.2) if model == "cross" else (0.01, 1.2, 0.3, 0.7)
        parameters, tau = sizes[2:], separation.threshold(model, math.sqrt(math.log(n)), *sizes[3:])
        data = [separation.inputs(model, n, d, a, *parameters) for a in (sizes[1], sizes[0])]
        c = [f(A1, A2, A2, X)[2] for A1, A2, X in data for f in (II.definition_c_4, II.definition_c_1)]
        event = lambda y, c=c, tau=tau: II.section_7_success(c, y, tau + 1e-12)
        printed = event(signs(d, 4, generator=generator(seed)))
        yield printed, chances.literal_success(model, n, d, 4, *sizes, seed=seed)
        yield printed, separation.success_rate(model, n, d, 4, *sizes, trials=1, seed=seed).successes
        if n * d <= 60:
            every, counts = separation.sign_vectors(d), separation.success_counts(model, n, d, *sizes)
            yield sum(event(y[:, None]) for y in every), counts.ok - counts.ok_and_quiet


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
def one_step_of_descent(seed, n, d):
    net = tangent.SoftmaxNetwork.unpaired(d, 4, seed, outputs=2)
    x, y = torch.nn.functional.normalize(drawn(seed, n, d), dim=1), drawn(seed + 1, n, 2)
    yield III.lemma_e_1(net.W, net.a, x, y, 0.05), torch.tensor(descent.loss_terms(net, x, y, 0.05))


@twins
def bounds_without_B(seed, n, d):
    B, R, m = 1 + n / 2, 0.002 * d, 2 + seed % 20
    printed, sharp = III.lemma_b_1(B, R, m), estimates.sharp_estimates(B, R, m)
    yield [printed[part] for part in (2, 3, 4, 5)], [sharp[part] for part in (2, 3, 4, 5)]
    yield 1.0, max(1.0, *(sharp[part] / printed[part] for part in printed))  # the rest are smaller
    net = tangent.SoftmaxNetwork.paired(d, 6, seed, outputs=2)
    x, y = tangent.unit_points(n, d, seed), drawn(seed + 1, n, 2)
    S = torch.stack([III.softmax(net.W, xi) for xi in x])
    H = III.definition_3_6(net.W, net.a, x)
    growth = math.exp(4 * R) - 1
    factor = (1 + 2 * R) * growth + R**2 * math.exp(4 * R)
    entry = torch.stack([factor * abs(x[i] @ x[j]) * 6 * sum(S[i] * S[j]) for i in range(n) for j in range(n)])
    bound = bounds.kernel_change_bound(net, x, R)
    yield entry.view(n, n), bound
    moved = net.moved(drawn(seed + 2, d, 6), R)
    changed = (III.definition_3_6(moved.W, moved.a, x) - H).abs().unflatten(1, (2, n)).unflatten(0, (2, n)).amax((0, 2))
    yield torch.zeros(n, n), (changed - bound).clamp(min=0)
    found, least = bounds.fit_guarantee(net, x, y), float(torch.linalg.eigvalsh(H)[0])
    if found.lam > 0:
        yield 1.0, found.lam / least
        yield least / 2, 2 * bounds.kernel_change_bound(net, x, found.radius).norm()  # its frames of 2 x 2 equal blocks
        longest = max(math.sqrt(sum(float(6 * S[i, r]) ** 2 for i in range(n))) for r in range(6))
        length = 2 * (1 + found.radius) * math.exp(2 * found.radius) * math.sqrt(2) * longest * float(y.norm())
        yield 1.0, found.movement / (length / (6 * least))


@twins
def scores(seed, n, d):
    t = 0.1 + n / 3
    x, mean, start = (drawn(seed + i, n, d) for i in range(3))
    mixture = reverse_process.GaussianMixture(torch.ones(1).double(), start[:1], torch.zeros(1, d, d).double())
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
    groups, (p, nu) = torch.arange(D) // C, ((3, 1e-3), (5, 0.0))[seed % 2]
    vit = patches.PositionalViT(A, v, p, nu)
    model_T, lemma_h_1 = partial(IV.model_T, p=p, nu=nu), partial(IV.lemma_h_1, p=p, nu=nu)
    yield IV.attention(A, X[0], d), attention(A / math.sqrt(d), X[0])
    yield torch.stack([model_T(x, A, v) for x in X]), vit(X)
    yield IV.loss(model_T, X, y, A, v), vit.loss(X, y)
    yield -IV.mean(lemma_h_1, X, y, A, v), vit.gradients(X, y)[1]
    yield from zip(IV.loss_gradients(model_T, X, y, A, v), vit.gradients(X, y))
    yield IV.definition_2_2(A, groups), patches.association(A @ A.T, groups)
    yield IV.theorem_5_1_step(A, X, y), transfer.one_step(A, X, y).v
    yield torch.tensor([IV.section_2_label(x, C) for x in X]), convolution_label(X, C)
    world = patches.PatchDistribution(D, C, d, 0.4, 0.3)
    images, _ = world.sample(4, seed=seed)
    sums = world.group_sums(images)
    yield torch.tensor([IV.assumption_1_labelling(row.tolist(), C) for row in sums]).sign(), world.label(images)


@twins
def descent_on_samples(seed, L, d):
    world = patches.PatchDistribution(2 * L, 2, d + 1, 0.3, 0.2)
    run = patches.train_vit(world, 4, 3, seed=seed, rate_A=1.0, rate_v=0.1, omega=0.3, every=1, tests=1)
    A, v = IV.theorem_4_2(*world.sample(4, seed=seed), run.A[0], run.v[0], 1.0, 0.1, 3)
    yield A, run.A[-1]
    yield v, run.v[-1]


@twins
def descent_on_the_population(seed, L, d):
    D, C, q = 2 * min(L, 2), 2, 0.1 + 0.1 * (seed % 8)
    X, y, chance = patches.every_point(D, C, q)
    run = expectation.descent(D, C, q, steps=2)
    risk = lambda A, v: sum(c * torch.log(1 + torch.exp(-s * IV.model_T(x, A, v))) for x, s, c in zip(X, y, chance))
    A, v = patches.three_values(D, C, 1.0, 0.0, 0.0), run.path.alpha[:1].clone()
    for step in range(3):
        A, v = A.detach(), v.detach()
        yield v[0], run.path.alpha[step]
        yield A[0, 1], run.path.gamma[step]
        yield A[0, D - 1], run.path.rho[step] if D > C else A[0, D - 1]
        yield IV.attention(A, torch.eye(D).double(), 1)[0, [0, 1]], run.weights[:2, step]
        A, v = A.requires_grad_(), v.requires_grad_()
        value = risk(A, v)
        yield value.detach(), run.path.loss[step]
        dA, dv = torch.autograd.grad(value, (A, v))
        yield -dv[0], run.pulls[:, step].sum()
        A, v = (A - 10.0 * (dA - dA.diag().diag())).detach(), (v - 1e-3 * dv).detach()
    As, vs = expectation.matrix_descent(patches.three_values(D, C, 1.0, 0.0, 0.0), run.path.alpha[:1], X, y, chance, 3)
    yield A, As[-1]
    yield v, vs[-1]
    if D > C:
        yield torch.tensor(expectation.initial_growth_enumerated(D, C, q, 0.5)), torch.tensor(initial_growth(D, C, q, 0.5))


@twins
def hidden_groups(seed, m, C):
    m, C, q = min(m, 4) + 1, min(C, 2), 0.2 + 0.1 * (seed % 7)
    yield IV.hidden_group_error(m, C, q), hidden.hidden_error(m, C, q)
    yield IV.theorem_5_2_distance(m, C, q), transfer.planted_distance(m, C, q)


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
