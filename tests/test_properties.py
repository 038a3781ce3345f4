"""What must hold for any input: weights, exact probabilities, kernels, one-token updates, Top_C."""

import torch
from attention_checks.patches.runs import worlds
from attention_theory import patches, separation, tangent
from attention_theory.attention import Weights, attention_weights
from attention_theory.device import generator, normal
from hypothesis import given, settings
from hypothesis import strategies as st

SEEDS = st.integers(0, 10**6)
KINDS = st.sampled_from(
    ["softmax", "relu", Weights("sharp", 0.5), Weights("sharp", 3), Weights("truncated", 4), Weights("power", 2)]
)


def drawn(seed, *shape):
    return normal(*shape, generator=generator(seed))


@given(SEEDS, KINDS, st.integers(1, 6), st.integers(1, 7))
def test_weights_sum_to_one_and_follow_a_permutation_of_keys(seed, kind, n, m):
    scores = drawn(seed, n, m)
    order = torch.randperm(m, generator=generator(seed))
    weights = attention_weights(scores, kind)
    total = weights.sum(-1)
    alive = torch.ones(n, dtype=torch.bool) if kind != "relu" else (scores > 0).any(-1)
    torch.testing.assert_close(total, alive.double())
    assert (weights >= 0).all()
    torch.testing.assert_close(attention_weights(scores[:, order], kind), weights[:, order])


@given(SEEDS, st.floats(-50, 50), st.integers(1, 6))
def test_softmax_does_not_see_a_shift_of_a_row_and_powers_do_not_see_a_scale(seed, shift, m):
    scores = drawn(seed, 3, m)
    torch.testing.assert_close(attention_weights(scores + shift), attention_weights(scores))
    positive = scores.abs() + 0.1
    torch.testing.assert_close(attention_weights(7 * positive, "linear"), attention_weights(positive, "linear"))


MODELS = st.sampled_from(separation.MODELS)


@given(MODELS, st.integers(3, 40), st.integers(2, 50), st.floats(0, 3))
@settings(max_examples=40)
def test_counts_are_ordered(model, d, t, a1):
    n = t * (d - 1 if model == "cross" else d - 2)
    counts = separation.success_counts(model, n, d, 0.01, a1, *((None, None) if model == "cross" else (0.2, 0.8)))
    assert 0 <= counts.ok_and_quiet <= counts.ok <= min(counts.quiet[1:]) <= counts.total and counts.margin >= 0


@given(SEEDS, st.integers(1, 7), st.integers(1, 5), st.integers(1, 12))
@settings(max_examples=40)
def test_tangent_kernels_are_kernels(seed, n, d, half):
    net = tangent.SoftmaxNetwork.paired(d, 2 * half, seed=seed)
    x = torch.nn.functional.normalize(drawn(seed, n, d), dim=1)
    for kernel in (tangent.tangent_kernel(net, x), tangent.limit_kernel(x)):
        torch.testing.assert_close(kernel, kernel.mT)
        assert torch.linalg.eigvalsh(kernel).min() >= -1e-9 * kernel.abs().max()


@given(SEEDS, st.integers(2, 8), st.floats(-5, 5))
def test_top_c_does_not_see_a_shift_of_a_row(seed, D, shift):
    scores = drawn(seed, D, D)
    assert torch.equal(worlds.top_c(scores, 2), worlds.top_c(scores + shift * drawn(seed + 1, D, 1), 2))


@given(SEEDS, st.integers(1, 6), st.integers(1, 4))
def test_positional_attention_is_equivariant(seed, D, d):
    A, v, X = drawn(seed, D, D), drawn(seed + 1, d), drawn(seed + 2, 3, D, d)
    order = torch.randperm(D, generator=generator(seed))
    values = patches.PositionalViT(A, v)(X)
    torch.testing.assert_close(patches.PositionalViT(A[order][:, order], v)(X[:, order]), values)
