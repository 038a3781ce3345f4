"""Why a hypothesis is there: in each test one hypothesis of an own statement is dropped, the others stay, and the claim fails.

The rows of the ledger name these tests in ``reasons``. Where two lines of arithmetic show it, no library is needed.
"""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import torch
from attention_checks.exponential import exact_kernels
from attention_checks.exponential.runs import together
from attention_checks.exponential.runs.circle import outputs_while_training
from attention_checks.exponential.sensitivity_bounds import expected_sensitivity, random_law
from attention_checks.sensitivity.runs.word import rf_point
from attention_checks.separation import chances
from attention_checks.tangent.reverse_process import GaussianMixture
from attention_checks.tangent.runs import score
from attention_theory.attention import attention_weights
from attention_theory.exponential import (
    limit_kernel_with,
    population_descent_with,
    power,
    relu_power,
    seen_dimension,
    sharp,
    truncated,
)
from attention_theory.exponential.kernels import WeightedNetwork, circle_eigenvalues, start_network
from attention_theory.exponential.space import averaging_error, group_error
from attention_theory.exponential.windows import DataSet, lower_edge, upper_edge
from attention_theory.exponential.words import averaging_sensitivity
from attention_theory.patches import every_point
from attention_theory.separation.exact import separation_probability, success_counts
from attention_theory.tangent import tangent_kernel, unit_points
from scipy.special import log_ndtr
from theorybook.records import read_record

ROOT_2 = math.sqrt(2)


def softmax(scores):
    return np.exp(scores - np.max(scores, axis=-1, keepdims=True)) / np.exp(
        scores - np.max(scores, axis=-1, keepdims=True)
    ).sum(-1, keepdims=True)


def attend(X, W, beta=1.0):
    """Every row of softmax attention with the scores X W X' / sqrt(d), at sharpness beta."""
    return softmax(beta * X @ W @ X.T / math.sqrt(X.shape[1])) @ X


# Part I


def test_closed_form_needs_independent_rows():
    rows = np.array([[1.0, 0.0], [-1.0, 0.0]])  # opposite: no move raises both scores by one
    assert np.linalg.matrix_rank(rows) < np.linalg.matrix_rank(np.column_stack([rows, np.ones(2)]))


def test_random_features_need_tokens_of_one_length():
    n, d = 3, 4
    variance = {length: (n - 1) * length**2 / (n * d) for length in (2, 4)}  # of what the unmoved tokens give; 2 is sqrt(d)
    assert variance[2] == (n - 1) / n != variance[4]


def test_explicit_needs_gaussian_entries():
    """Independent entries of variance 1/(nd), each 0 but in one case of 10^9: nearly surely all are, and all ReLU features."""
    n, d, k, epsilon = 2, 2, 1000, 0.9
    vanish = (1 - 1e-9) ** (k * n * d)
    assert vanish > 0.99 and n * math.exp(-(epsilon**2) * k / 2) + math.exp(-(epsilon**2) * k / 12) < 0.01


def test_explicit_needs_a_context_that_does_not_look():
    """40 features of two tokens in 41 dimensions: tokens that V does not see, which the bound allows in one case of 14."""
    k, d, epsilon = 40, 41, 0.9
    V = np.random.default_rng(37).normal(size=(2, k, d)) / math.sqrt(2 * d)  # a block for each token
    unseen = [math.sqrt(d) * np.linalg.svd(block)[2][-1] for block in V]
    assert np.linalg.norm(unseen, axis=1) == pytest.approx(math.sqrt(d))
    assert abs(sum(block @ token for block, token in zip(V, unseen))).max() < 1e-12
    assert 2 * math.exp(-(epsilon**2) * k / 2) + math.exp(-(epsilon**2) * k / 12) < 1 / 14


def test_block_needs_gaussian_entries():
    """n = 2, d = 1, entries of random sign: g is that sign over root 2, whose fourth moment is 1/4 and not 3/4."""
    g = [sign / ROOT_2 for sign in (1, -1)]
    assert np.mean(np.square(g)) == pytest.approx(1 / 2) and np.mean(np.power(g, 4)) == pytest.approx(1 / 4)


def test_universal_needs_gaussian_entries():
    """A linear feature of two tokens, entries of random sign: 0 in half of the cases for equal ones, never if one is turned."""
    signs = np.array(list(np.ndindex(2, 2, 2, 2))) * 2 - 1
    equal, turned = np.array([ROOT_2, 0, ROOT_2, 0]), np.array([ROOT_2, 0, ROOT_2 * 0.6, ROOT_2 * 0.8])
    assert [np.mean(abs(signs @ tokens) < 1e-9) for tokens in (equal, turned)] == [0.5, 0]


def test_universal_needs_tokens_that_do_not_look():
    V = np.random.default_rng(37).normal(size=(50, 2))
    blind, looking = V[:, 0] * ROOT_2, np.array([v @ (ROOT_2 * v / np.linalg.norm(v)) for v in V])
    assert blind.min() < 0 < looking.min()


def test_deferred_needs_gaussian_entries():
    """Two random signs whose sum was answered as 2: their difference is 0; that of fresh ones is not, in half of the cases."""
    pairs = [(a, b) for a in (1, -1) for b in (1, -1)]
    assert {a - b for a, b in pairs if a + b == 2} == {0} != {a - b for a, b in pairs}


def test_deferred_needs_questions_that_have_not_seen_the_matrix():
    A = np.random.default_rng(37).normal(size=(1, 2))
    v = A[0] / np.linalg.norm(A)  # its own singular vector: nothing is left beside it
    assert abs(A @ (np.eye(2) - np.outer(v, v))).max() < 1e-12


def test_drf_blind_needs_a_move_that_does_not_look():
    """Two tokens 1 and -1, one ReLU feature: a move in its weight's direction changes it by more than 1/2 in mean square."""
    V = np.random.default_rng(37).normal(size=(200_000, 2))
    before = V[:, 0] - V[:, 1]
    blind, looking = (np.maximum(before + move, 0) - np.maximum(before, 0) for move in (V[:, 0], abs(V[:, 0])))
    assert np.mean(blind**2) <= 1 / 2 < np.mean(looking**2) - 0.05


def test_drf_blind_needs_relu():
    """Every feature of tanh is below 1 in size, so that the mean square of k of them is below k."""
    assert abs(np.tanh(np.linspace(-10, 10, 101))).max() < 1


def relu_gap(scale, alignment):
    """E (relu(z') - relu(z))^2 over E relu(z)^2 for standard normal z and z'/scale with this correlation."""
    angle = math.acos(alignment)
    return 1 + scale**2 - 2 * scale * (math.sin(angle) + (math.pi - angle) * alignment) / math.pi


def test_infinite_width_needs_relu():
    """Two tokens, one doubled: linear features change by 1/n in mean square at every depth, ReLU features by less."""
    scale = math.sqrt(1 + 3 / 2)
    assert scale**2 + 1 - 2 * scale * (3 / 2 / scale) == pytest.approx(1 / 2)
    assert relu_gap(scale, 3 / 2 / scale) < 1 / 2 - 0.01


def test_infinite_width_needs_gaussian_entries():
    """Two tokens 1, the first doubled, entries of random sign: all four cases."""
    signs = np.array(list(np.ndindex(2, 2))) * 2 - 1
    before, after = (np.maximum(signs @ tokens, 0) for tokens in ([1, 1], [2, 1]))
    changed = np.mean((after - before) ** 2) / np.mean(before**2)
    assert changed == 1 / 2 > relu_gap(math.sqrt(5 / 2), 3 / math.sqrt(10)) + 0.01


def test_infinite_width_needs_tokens_of_one_length():
    """A token of length sqrt(n d) beside zeros: doubling it doubles every feature, S = 1 and n S^2 = n."""
    assert 2 * relu_gap(2.0, 1.0) > 2 - 1e-9


def test_infinite_width_needs_many_features():
    """One token and one feature that hardly sees it: a move across changes it ten times; at infinite width S is 1."""
    v, x, move = np.array([0.1, 1.0]), np.array([ROOT_2, 0.0]), np.array([0.0, ROOT_2])
    assert abs(v @ (x + move) - v @ x) / (v @ x) == pytest.approx(10) and relu_gap(2.0, 1.0) == pytest.approx(1)


def test_finite_width_needs_relu():
    """Linear features: S sqrt(n) is a singular value, near 1 + sqrt(d/k), 19% below the law of ReLU at k = nd/4."""
    draw, n, d = np.random.default_rng(37), 10, 192
    k, X = n * d // 4, draw.normal(size=(n, d))
    X *= math.sqrt(d) / np.linalg.norm(X, axis=1)[:, None]
    V = draw.normal(size=(k, n * d)) / math.sqrt(n * d)
    found = math.sqrt(n * d) * np.linalg.norm(V[:, :d], 2) / np.linalg.norm(V @ X.ravel())
    assert found < 0.93 * (1 + math.sqrt(2 * d / k))


def test_finite_width_needs_enough_features():
    """k = d/8 at n = 10: the mean of the two trials that the record would have is more than 7% off the law, 5."""
    found = [rf_point(10, 192, 24 / 1920, trial)["S"] * math.sqrt(10) for trial in (0, 1)]
    assert abs(np.mean(found) / (1 + math.sqrt(2 * 8)) - 1) > 0.07


def test_finite_width_needs_independent_entries():
    """n = 10 and one row of weights for all features: a move along it changes them by far more, whatever their number."""
    n, d, draw = 10, 192, np.random.default_rng(37)
    X, row = draw.normal(size=(n, d)), draw.normal(size=n * d) / math.sqrt(n * d)
    X *= math.sqrt(d) / np.linalg.norm(X, axis=1)[:, None]
    on = row @ X.ravel()
    assert on > 0 and math.sqrt(n * d) * np.linalg.norm(row[:d]) / on > 5 * (1 + math.sqrt(2 * 4 / n))


def test_finite_width_needs_more_than_one_word():
    """n = 1 and k = d/4: the mean of the two trials that the record would have is more than 7% above the law, 1 + sqrt 8."""
    assert np.mean([rf_point(1, 192, 1 / 4, trial)["S"] for trial in (0, 1)]) > 1.07 * (1 + math.sqrt(8))


def slack(n, d, k):
    """The law of the worst alignment."""
    return math.sqrt(1 / n**2 + 2 * d / (n * k))


def test_slack_needs_relu():
    """ReLU + 10: no move takes the alignment as far from 1 as 0.7 of the law, since none changes the features as much."""
    n, d, draw = 10, 64, np.random.default_rng(37)
    V, X = draw.normal(size=(n * d, n * d)) / math.sqrt(n * d), draw.normal(size=(n, d))
    X *= math.sqrt(d) / np.linalg.norm(X, axis=1)[:, None]
    phi = np.maximum(V @ X.ravel(), 0) + 10
    assert math.sqrt(d) * np.linalg.norm(V[:, :d], 2) / np.linalg.norm(phi) < 0.7 * slack(n, d, n * d)


def test_slack_needs_its_dimension():
    """d = 1, n = k = 10, two draws of signs for tokens: both are far off the law (all moves; the gap is convex in the move)."""
    for seed in (0, 1):
        draw = np.random.default_rng(seed)
        V, X = draw.normal(size=(10, 10)) / math.sqrt(10), np.sign(draw.normal(size=10))
        before = np.maximum(V @ X, 0)
        after = (np.maximum(V @ X + move * V[:, 0], 0) for move in (1, -1))
        found = max(abs(phi @ before / (before @ before) - 1) for phi in after)
        assert not 0.7 < found / slack(10, 1, 10) < 1.3


def test_slack_needs_enough_features():
    """One feature, n = 10: an alignment of 0, or what a move along its weights adds, is half of the law in this draw."""
    n, d, draw = 10, 64, np.random.default_rng(4)
    v, X = draw.normal(size=n * d) / math.sqrt(n * d), draw.normal(size=(n, d))
    X *= math.sqrt(d) / np.linalg.norm(X, axis=1)[:, None]
    assert v @ X.ravel() > 0
    assert max(1, math.sqrt(d) * np.linalg.norm(v[:d]) / (v @ X.ravel())) < 0.6 * slack(n, d, 1)


def test_head_needs_its_dimension():
    """d = 768, n = 16: the even move alone has c above 6, and 4.5 is the most that the observation allows."""
    n, d, draw = 16, 768, np.random.default_rng(37)
    X, W = draw.normal(size=(n, d)), draw.normal(size=(d, d)) / math.sqrt(d)
    X *= math.sqrt(d) / np.linalg.norm(X, axis=1)[:, None]
    K = X[1:] @ W / math.sqrt(d)
    even = K.T @ np.linalg.solve(K @ K.T, np.ones(n - 1))
    before, after = attend(X, W), X.copy()
    after[0] += even * math.sqrt(d) / np.linalg.norm(even)
    change = np.linalg.norm(attend(after, W) - before) / np.linalg.norm(before)
    assert change / math.sqrt(d / (math.e * d + n)) > 6


def test_head_needs_more_than_one_word():
    """n = 1: the features are the token, a move of its length changes them by 1, and c is below 2.5."""
    assert 1 / math.sqrt(64 / (math.e * 64 + 1)) < 2.5


def test_attention_observations_need_independent_tokens():
    """n equal tokens: the length is sqrt(n d), and a row becomes x + p Delta with p in [0, 1], so that no change is above 1.

    Tokens that are one fixed vector are independent, too, and not uniform on the sphere.
    """
    for n, d in ((320, 768), (16, 64)):
        x, *W = np.random.default_rng(37).normal(size=(d + 1, d)) / math.sqrt(d)
        X, W = np.tile(x * math.sqrt(d) / np.linalg.norm(x), (n, 1)), np.array(W)
        moved = X.copy()
        moved[0] += W.T @ X[0] * math.sqrt(d) / np.linalg.norm(W.T @ X[0])
        before, after = attend(X, W), attend(moved, W)
        assert np.linalg.norm(before) > 2 * math.sqrt(math.e * d + n)
        assert np.linalg.norm(after - before) / np.linalg.norm(before) < 1 < 2.5 * math.sqrt(d / (math.e * d + n))


def test_attention_observations_need_scores_and_softmax():
    """Equal weights (W = 0, or a constant u): the length is near sqrt d, and S near 1/sqrt n."""
    for n, d in ((320, 768), (16, 64)):
        X = np.random.default_rng(37).normal(size=(n, d))
        X *= math.sqrt(d) / np.linalg.norm(X, axis=1)[:, None]
        length = math.sqrt(n) * np.linalg.norm(X.mean(0))
        assert length < 0.7 * math.sqrt(math.e * d + n)
        assert math.sqrt(d / n) / length < 2.5 * math.sqrt(d / (math.e * d + n))


def test_crowd_needs_shares_that_rise():
    """u(s) = s^2 falls before it rises: the token has a large share in nine equal rows, and a move that takes it away costs
    more than the bound, whose moves all raise the score.
    """
    W, X = np.array([[0.05, 1.0], [0.1, 0.0]]), np.array([[0, -ROOT_2]] + [[ROOT_2, 0]] * 9)

    def shares(X):
        squares = (X @ W @ X.T / ROOT_2) ** 2
        return squares / squares.sum(1, keepdims=True)

    features, K = shares(X) @ X, X @ W / ROOT_2
    aimed = [np.vstack([X[0] + ROOT_2 * K[j] / np.linalg.norm(K[j]), X[1:]]) for j in range(1, 10)]
    q = np.array([shares(moved)[j, 0] for j, moved in enumerate(aimed, 1)])
    bound = 3 * ROOT_2 * math.sqrt(1 + (q**2).sum()) / np.linalg.norm(features)
    nearly_erased = np.vstack([0.01 * X[0], X[1:]])  # a move of length 0.99 sqrt 2
    change = shares(nearly_erased) @ nearly_erased - features
    assert np.linalg.norm(change) / np.linalg.norm(features) > 1.1 > bound


# Part II


def test_eighth_needs_sizes_that_sum_to_one():
    share = [chances.special_row("self-ones", 10**100, 22, 0.7, size, size)[1] for size in (0.5, 0.05)]
    assert share[0] >= 1 / 8 > share[1]


def test_a_single_row_is_zero():
    scale = math.sqrt(math.log(1))  # every entry of the data, and the threshold, is a multiple of it
    assert scale == 0 and not 1.2 * scale > 0.9 * scale  # no sign vector is above


def test_layers_need_two_rows():
    """All scores of a single row are multiples of log 1 = 0: linear weights are 0/0. In cross-attention softmax still fires."""
    special = np.array([1.2, 0.2, 0.8])
    row, key = math.sqrt(math.log(1)) * special, np.array([1.0, 1.0])  # cross-attention, d = 2
    assert row @ np.ones((3, 3)) @ row == row @ row == math.log(1) * np.array([1.2, 1.0]) @ key == 0
    assert 1.0 * key.sum() > 0.9  # a softmax row is the key itself


def test_linear_separates_needs_a_larger_entry():
    """Cross-attention with y = 1: the largest row value is w + 1, w = (1 + a)/(n + a). Equal entries give equal values."""
    value = {a: Fraction(1 + a, 20 + a) + 1 for a in (0, 1)}
    assert value[1] > value[0]
    for a0, a1 in ((1, 1), (1, 0)):
        assert not value[a1] > value[a0]


def test_threshold_range_needs_enough_sign_vectors():
    n, delta = 100, Fraction(1, 100)
    m = math.ceil(math.log2(n / delta))
    assert Fraction(1, 2) ** m <= delta / n < Fraction(1, 2) ** (m - 1)  # of a miss: no vector has the spike's sign


def test_threshold_range_needs_independent_sign_vectors():
    n, delta = 100, Fraction(1, 100)
    assert Fraction(1, 2) > delta / n  # of a miss, if all m vectors are one


def norm_exponent_bound(n, delta):
    return 2 * math.sqrt(math.log(n / delta)) * n**-0.3


def test_norm_exponent_needs_two_rows():
    chance = 0.0  # one row has the weight 1, and 1 is never below the bound at delta = 9/10
    assert norm_exponent_bound(1, 0.9) < 1 and chance < 1 - 0.9 / 1


def test_norm_exponent_needs_data_without_a_spike():
    n = 10
    assert 1 / (1 + (n - 1) * n**-2.6) > (1 + n**-0.4) * n**-0.3 / 2


def test_norm_exponent_needs_a_delta_of_at_most_one():
    n, delta, equal = 3, 2.9, 1 / 3  # three equal weights: their signed sum is at least 1/3
    assert norm_exponent_bound(n, delta) < equal and 1 - delta / n > 0


def test_classes_need_a_rising_u():
    """mu = b t (p_k - p) at X = I, where p_k belongs to the higher score b^2 + c^2: below 0 if u falls."""
    b, c = 0.2, 0.8
    assert math.exp(-(b**2 + c**2)) - math.exp(-(c**2)) < 0


def test_classes_need_sizes_that_are_not_negative():
    """Linear weights of an ordinary row of two, X = 1: (b + c)(a + b + c) for the special key and (b + c)^2 for its own."""
    for a, b, c in ((-2.0, 0.25, 0.25), (2.0, 0.1, -0.6), (2.0, -0.6, 0.1)):
        scores = np.array([(b + c) * (a + b + c), (b + c) ** 2])
        assert scores[1] / scores.sum() < 0  # kappa = b t p changes its sign with p
    b = c = 0.0
    assert [(b + c) * (2.0 + b + c), (b + c) ** 2] == [0, 0]  # no weights


def fires(y, a, u, special=0, b=1.0, c=0.2):
    """Two rows in two blocks, X = 1: is a row's signed sum above the threshold?"""
    A = np.array([[a * (special == row), b * (row == 0), b * (row == 1), c] for row in (0, 1)]) * math.sqrt(math.log(2))
    scores = u(A @ np.ones((4, 4)) @ A.T)
    return (scores / scores.sum(1, keepdims=True) @ A @ y).max() > (c + 0.1) * math.sqrt(math.log(2))


def quiet(special, a=1.2):
    """N_ok of a_0 = a_1 = a, by all sign vectors; the special row of D_0 may be another one."""
    networks = ((0, np.positive), (special, np.exp), (special, np.positive))
    signs = np.array(list(np.ndindex(2, 2, 2, 2))) * 2 - 1
    return sum(not any(fires(y, a, u, row) for row, u in networks) for y in signs)


def test_exact_probability_needs_one_block_for_both_special_keys():
    """a_0 = a_1, so that the numbers r_i and the sum over the patterns are those of one block."""
    assert quiet(0) != quiet(1)


def test_exact_probability_needs_shared_sign_vectors():
    """a_0 = a_1 = 0: one network four times, which fires at some vectors; with one vector each P is not the difference, 0."""
    signs = np.array(list(np.ndindex(2, 2, 2, 2))) * 2 - 1
    still = Fraction(sum(not fires(y, 0.0, np.exp) for y in signs), 16)
    assert all(fires(y, 0.0, np.exp) == fires(y, 0.0, np.positive) for y in signs)
    assert still**3 * (1 - still) > 0 == still - still


def detects(value, tau):
    """The share of signs y_1, y_* and y_d for which a row's signed sum is above the threshold."""
    return Fraction(sum(value(*y) > tau for y in np.array(list(np.ndindex(2, 2, 2))) * 2 - 1), 8)


def self_row(w, a=1.2, c=0.8, b=0.2):
    """Self-attention, weight w on the special key: at least b of the block if the signs are its own."""
    return lambda first, block, last: a * w * first + b * block + c * last


def cross_row(w):
    return lambda first, block, other: w * (first + block) + (1 - w) * other


def test_quiet_networks_need_few_sign_vectors():
    """If all signs are +, a row is an average of keys that sum to b + c (X = I) or 1 (cross), and fires: so does 1 of 2^d."""
    b, c, d, n, delta = 0.28, 0.96, 1002, 10**4, 0.01
    assert c + b > c + 0.1 and 1 > 0.9
    m = 10 * 2**d
    silent = math.exp(-float(Fraction(m, 2**d)))  # at least (1 - 2^-d)^m
    assert 1 - silent > delta / n


def test_quiet_identity_needs_rows_of_one_length():
    """b = c = 0.1 on D1, linear: with both signs + the marked row fires whatever the others are."""
    a, b, c, n, t = 3, 0.1, 0.1, 10**4, 50
    weights = np.array([a * a + b * b + c * c, (t - 1) * (b * b + c * c), (n - t) * c * c])
    assert n ** (1 - b * b) > 100 and n / t - 2 > max(800 * b * b * math.log(n), 40 * n ** (b * b))
    assert a * weights[0] / weights.sum() + c - b > c + 0.1  # the houses' part is an average of b and -b


def test_quiet_identity_needs_a_power_of_n():
    """a_0^2 + b^2 = 1 on D0, softmax, t = 2: three signs + and others that add up to 0 or more make the marked row fire."""
    a, b, c, log_n = 0.1, math.sqrt(0.99), 0.1, 200 * math.log(10)
    assert log_n - math.log(2) > max(math.log(800 * b * b * log_n), math.log(40) + b * b * log_n)
    logs = torch.tensor([1 + a * a, 1, 1 + c * c]).double() * log_n  # itself, its house, about n strangers
    special, house, _ = torch.softmax(logs, 0).tolist()
    assert a * special + b * (special + house) + c > c + 0.1


def test_higher_threshold_needs_few_weights_in_quiet_rows():
    assert detects(self_row(1.0), 0.8 + 0.5) == detects(cross_row(1.0), 1.5) == Fraction(1, 4) > 0  # a false alarm


def test_higher_threshold_needs_a_large_weight_in_the_special_row():
    assert detects(self_row(0.0), 0.8 + 0.5) == detects(cross_row(0.0), 1.5) == 0 < Fraction(1, 4)


def test_higher_threshold_needs_a_constant_entry():
    """c = 0, against a_1 + b <= 2 c + epsilon: the last sign does not matter, and half of the vectors detect."""
    assert detects(self_row(1.0), 0.8 + 0.5) == Fraction(1, 4)
    assert detects(self_row(1.0, c=0.0), 0.5) == Fraction(1, 2)


def test_higher_threshold_needs_independent_sign_vectors():
    assert Fraction(1, 4) != 1 - Fraction(3, 4) ** 2  # two vectors that are one


def test_higher_threshold_needs_block_entries_that_are_not_negative():
    """b = -1, c = 2, epsilon = 0.5: a row without weight on the special key fires, as c - b > c + epsilon."""
    assert detects(self_row(0.0, c=2.0, b=-1.0), 2.0 + 0.5) > 0  # a false alarm


def test_higher_threshold_needs_a_small_entry_that_is_not_negative():
    """a_0 = -3, X = 1: s(a_0) = 6, so the marked row looks at itself alone, and fires with the sign - of the first column."""
    assert -3.0 * 1.0 <= 0.5 - 0.2 and detects(self_row(1.0, a=-3.0), 0.8 + 0.5) > 0  # a false alarm


def test_quarter_needs_block_entries_that_are_not_negative():
    """d = 3, so one block column, a_1 = 1: b + c = 1 at n = 2 (weight 4/5), b^2 + c^2 = 1 and b <= 0.4 at n = 10^6."""
    n = 10**6
    for w, b, c in ((4 / 5, -0.8, 1.8), (n / (2 * n - 1), -0.5, math.sqrt(0.75))):
        assert detects(self_row(w, a=1.0, c=c, b=b), c + 0.1) == Fraction(1, 8)


def test_cap_needs_block_entries_that_are_not_negative():
    """X = 1, d = 4, b = -1, c = 2, so a_1 + b <= 2 c + 0.1, but a row without a false alarm exceeds this with b y_* = 1."""
    a, b, c, n = 5.0, -1.0, 2.0, 1000
    assert b + c == 1 and a + b <= 2 * c + 0.1

    def fires(y, a, w):
        near, far = (w + (1 - w) * (n / 2 - 1) / (n - 1)), (1 - w) * n / 2 / (n - 1)
        return a * w * y[0] + b * (near * y[1] + far * y[2]) + c * y[3] > c + 0.1

    softmax_share, linear_share = n**a / (n**a + n - 1), (1 + a) / (n + a)
    quiet = [
        y for y in np.array(list(np.ndindex(2, 2, 2, 2))) * 2 - 1 if not fires(y, a, linear_share) and not fires(y, 0, 1 / n)
    ]
    assert Fraction(sum(fires(y, a, softmax_share) for y in quiet), 16) > Fraction(1, 4)


def test_identity_block_needs_a_small_dimension():
    """b = 0.2, n = 1000 and 100 block columns, far above the line: D is negative, and h as the formula has it would be tiny."""
    n, k, a_0, b = 1000, 100, 0.01, 0.2
    D = ((10 * b - 1) * (n ** (b * b) - 1) - k - 10 * a_0 * k / n) / (10 * b)
    counts = success_counts("self-identity", n, k + 2, a_0, 1.2, b, 0.8)
    assert D < 0 and (counts.ok - counts.ok_and_quiet) / counts.total > (math.exp(-(D**2) / 2 / k) + 2.0 ** (1 - k)) / 2


def test_identity_block_needs_a_large_entry_that_is_not_negative():
    """a_1 = -5, n = 300, d = 5, all sign vectors: with the signs - of the first and the last column the marked row fires."""
    n, k, a_0, a_1, b, c = 300, 3, 0.01, -5.0, 0.6, 0.8
    signs = np.array(list(np.ndindex(2, 2, 2, 2, 2))) * 2 - 1

    def fires(a, u):
        A = np.zeros((n, k + 2))
        A[range(n), 1 + np.arange(n) % k], A[:, -1], A[0, 0] = b, c, a
        scores = u(math.log(n) * A @ A.T)
        return (scores / scores.sum(1, keepdims=True) @ A @ signs.T).max(0) > c + 0.1 + 1e-9

    share = np.mean(fires(a_1, np.exp) & ~(fires(a_1, np.positive) | fires(a_0, np.exp) | fires(a_0, np.positive)))
    D = ((10 * b - 1) * (n ** (b * b) - 1) - k - 10 * a_0 * k / n) / (10 * b)
    assert a_1 + b <= 2 * c + 0.1 and D > 0 and share > (math.exp(-(D**2) / 2 / k) + 2.0 ** (1 - k)) / 2


def alarms(model, n, d, b, c):
    """The share of sign vectors with a false alarm, a_0 = 0.01 and a_1 = 1.2, and d above 1.1 C log(n/delta), C = 7.64."""
    assert d > 1.1 * 7.64 * math.log(100 * n)
    counts = success_counts(model, n, d, 0.01, 1.2, b, c)
    return 1 - Fraction(counts.ok, counts.total)


def test_logarithmic_dimension_needs_small_block_entries():
    n = 10**6
    assert alarms("self-ones", n, 202, 0.2, 0.8) * math.ceil(math.log(100 * n)) <= Fraction(1, 100 * n)
    assert alarms("self-ones", n, 202, 0.5, 0.5) > Fraction(1, 100 * n)


def test_logarithmic_dimension_needs_one_of_these_layers():
    """X = I, where a row prefers its own block by n^(b^2) = 10^4."""
    n = 10**100
    assert alarms("self-identity", n, 2502, 0.2, 0.8) > Fraction(1, 100 * n)


def test_logarithmic_dimension_needs_few_sign_vectors():
    n = 10**20
    share = alarms("self-ones", n, 502, 0.2, 0.8)
    assert math.ceil(math.log(100 * n)) * share <= Fraction(1, 100 * n) < n * share  # the union bound over n vectors


def test_cross_dimension_needs_a_delta_of_at_most_one():
    """a_0 = 0, two columns: a row is (1/n, 1) and fires at a plus sign of its block, so with chance 1 - 2^-m."""
    n, d, m, delta = 200, 2, 3, 200 / 1.35
    assert d >= 6 * math.log(n / delta) and m <= 7.5 * math.log(n / delta) + 1 and 1 - 1 / n > 0.9 > 1 / n - 1
    assert 1 - 2**-m > delta / n


# Part III


def shift_of_shares(R):
    """The change of the shares of two neurons that exchange the scores -R/2 and R/2, added up."""
    shares = softmax(np.array([-R / 2, R / 2]))
    return abs(shares - shares[::-1]).sum()


def test_covariance_needs_moves_of_that_size():
    assert shift_of_shares(1.0) == pytest.approx(2 * math.tanh(0.5))
    assert shift_of_shares(1.1) > 2 * math.tanh(0.5)


def test_zero_derivative_needs_opposite_directions():
    """Two pairs, of which one moves as a whole: the kernel differs at the moves t and -t."""
    keys, values = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), np.array([1.0, -1.0, 1.0, -1.0])
    for direction, even in ((np.array([1.0, 0.5]), False), (np.array([0.0, 0.0]), True)):
        moves = [t * np.outer([1, 1, 0, 0], direction) for t in (0.01, -0.01)]
        forward, back = (kernel_of(keys + move, values, np.exp, np.exp, X, Y) for move in moves)
        assert (abs(forward - back) < 1e-9) == even


def test_zero_derivative_needs_pairs():
    """Two neurons that move by t g and -t g: the kernel is the same at t and -t if their keys are equal, and differs if not."""
    values, move = np.array([1.0, -1.0]), 0.01 * np.array([[1.0, 0.5], [-1.0, -0.5]])
    for second, even in (([1.0, 0.0], True), ([0.0, 0.5], False)):
        keys = np.array([[1.0, 0.0], second])
        forward, back = (kernel_of(keys + t * move, values, np.exp, np.exp, X, Y) for t in (1, -1))
        assert (abs(forward - back) < 1e-9) == even


def test_rank_needs_pairs():
    """Four neurons, one dimension, three inputs: rank 2 for two pairs, 3 for four keys of their own."""
    draw, values, inputs = np.random.default_rng(37), np.array([1.0, -1.0, 1.0, -1.0]), np.array([[0.2], [0.6], [1.0]])
    for keys, rank in ((np.repeat(draw.normal(size=(2, 1)), 2, axis=0), 2), (draw.normal(size=(4, 1)), 3)):
        gram = [[kernel_of(keys, values, np.exp, np.exp, x, y) for x in inputs] for y in inputs]
        assert np.linalg.matrix_rank(gram, tol=1e-9) == rank


def test_rank_needs_values_of_one_size():
    """Two pairs of values (1, 1) and (1, 2), one class of signs, one input in one dimension: the bound is 1, the rank 2."""
    keys, values = np.array([0.3, 0.3, -0.2, -0.2]), np.array([[1.0, -1.0, 1.0, -1.0], [1.0, -1.0, 2.0, -2.0]])
    share = np.exp(keys) / np.exp(keys).sum()
    gradients = share * (values - (values @ share)[:, None])  # of the two outputs with respect to the four keys, at x = 1
    assert np.linalg.matrix_rank(gradients) == 2 and np.linalg.matrix_rank(np.sign(values) * share) == 1


def test_limit_definite_needs_random_keys():
    points = np.array([[1.0], [2.0], [3.0]])  # with keys 0 the kernel is the Gram matrix
    assert np.linalg.matrix_rank(points @ points.T) == 1 < 3


def test_shift_needs_every_key():
    assert not np.allclose(softmax(np.array([0.0, 0.0])), softmax(np.array([1.0, 0.0])))


def test_limit_rate_needs_pairs():
    """One input 1, one output: a pair is one Gaussian key, so independent keys, twice as many, err by 1/sqrt 2 as much."""
    draw, sigma, m, trials = np.random.default_rng(37), 0.5, 4096, 400
    power = [math.exp(sigma**2 * (j * j - j) / 2) for j in range(5)]  # E e^j
    V = power[4] - 4 * power[2] * power[3] + 4 * power[2] ** 3 - power[2] ** 2
    c = math.sqrt(2 * V) / power[2]
    for keys, factor in ((m // 2, 1), (m, 1 / ROOT_2)):
        e, values = np.exp(sigma * draw.normal(size=(trials, keys))), draw.choice([1, -1], size=(trials, keys))
        outputs = (e * values).sum(1, keepdims=True) / e.sum(1, keepdims=True) if keys == m else 0
        kernel = (e**2 * (values - outputs) ** 2).mean(1) / e.mean(1) ** 2
        assert math.sqrt(m * np.mean((kernel / power[2] - 1) ** 2)) == pytest.approx(factor * c, rel=0.12)


def test_exp_kernel_needs_gaussian_keys():
    """In one dimension with keys +-1, at inputs 1 and 1: the mean of e^{w (x + y)} is cosh 2."""
    assert math.cosh(2) < math.exp(2) - 3


def test_width_needs_pairs():
    """Two keys 0 with the values 1 and 1/2, input 1, label -1/10000: all hypotheses hold, and at t = 0 the error is above."""
    values, label, k, m, L = np.array([1.0, 0.5]), -1e-4, 1, 2, 1.0
    output = values.mean()
    smallest = m * (0.25 * (values - output) ** 2).sum()
    room = 0.007
    assert k * ((1 + 2 * room) * math.expm1(4 * room) + room**2 * math.exp(4 * room)) * 1.0 < smallest / 2
    assert 2 * (1 + room) * math.exp(2 * room) * L * abs(label) / (m * smallest) < room
    assert abs(output - label) > abs(label)


def test_width_needs_room():
    """Values +-1 and the label 2: no error is below 1, and the promise falls below it."""
    assert math.exp(-2) * 2**2 < (2 - 1) ** 2  # at m lambda t = 2


def test_cancellation_needs_the_gradient():
    """Two keys 0, values +-1, input and label 1; no step: both accounts are 0, -2 m eta f'Hf is not."""
    shares, values, error = np.array([0.5, 0.5]), np.array([1.0, -1.0]), -1.0
    assert 2 * 2 * error**2 * (shares**2 * values**2).sum() == 2 != 0


def test_bias_needs_distinct_points():
    """Two equal points: two rows of every kernel and of the limit agree, and both smallest eigenvalues are 0."""
    draw, values, point = np.random.default_rng(37), np.array([1.0, -1.0, 1.0, -1.0]), np.array([0.6, 0.8])
    entry = kernel_of(np.repeat(draw.normal(size=(2, 2)), 2, axis=0), values, np.exp, np.exp, point, point)
    assert np.linalg.matrix_rank(np.full((2, 2), entry)) == 1 == np.linalg.matrix_rank(np.full((2, 2), math.e))


def test_bias_needs_a_spread():
    """With keys 0 every diagonal block is the Gram matrix, of rank 3 for six points in three dimensions, as is the limit."""
    draw = np.random.default_rng(37)
    points, values = draw.normal(size=(6, 3)), draw.choice([1.0, -1.0], size=(2, 32))
    gram = points @ points.T
    assert (
        np.linalg.matrix_rank(np.kron(values @ values.T / 32, gram))
        == 6
        == np.linalg.matrix_rank(np.kron(np.eye(2), gram))
        < 12
    )


def digits_too_many(sigma, log_constant=0.0, C=10.1, n=10, d=5, delta=0.0999):
    """Theorem 4.2's width over the one from which a score probably exceeds B, for ten random directions; in digits."""
    points = np.random.default_rng(37).normal(size=(n, d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    gram, log = points @ points.T, math.log(n * d / delta)
    smallest, B = np.linalg.eigvalsh(gram * np.exp(sigma**2 * gram))[0], max(C * sigma * math.sqrt(log), 1)
    width = log_constant + 2 * math.log(n * d / smallest) + 18 * B + 2 * math.log(log)
    return (width + math.log(2) + log_ndtr(-B / sigma) - math.log(2 * math.log(2))) / math.log(10)


def test_contradiction_needs_a_large_spread():
    assert digits_too_many(0.3) < 0 < digits_too_many(1.0)


def test_contradiction_needs_the_constant():
    """The paper does not name it; 10^-100 in place of 1 and the same problem, and the conflict is gone."""
    assert digits_too_many(1.0, -100 * math.log(10)) < 0 < digits_too_many(1.0)


def test_counting_and_step_need_labels():
    """Labels 0: the answers of the paired start fit at two neurons, fewer than the count, and no loss rises at any rate."""
    shares, values = softmax(np.array([0.3, 0.3])), np.array([1.0, -1.0])
    assert (shares * values).sum() == 0 and min(m for m in range(2, 20, 2) if 8 * (m - 1) >= 16) == 4 > len(values)


def test_counting_needs_steps():
    """Before the first step the answers of a paired start are 0: the error is the labels' own, at every width."""
    labels = np.array([1.0, -1.0])
    assert ((0 - labels) ** 2).sum() > 0.01 * (labels**2).sum()


def test_counting_needs_a_spread():
    """With sigma = 0 all keys of one value stay equal: the answers are m tanh(u x / 2), at m = 128 linear in u to 10^-4 where
    they fit, and 16 fair signs in 8 dimensions are no linear function of the points: the least error is far above 1%.
    """
    draw = np.random.default_rng(37)
    for _ in range(32):
        points, signs = draw.normal(size=(16, 8)), draw.choice([1.0, -1.0], size=16)
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        best = points @ np.linalg.lstsq(points, signs, rcond=None)[0]
        assert ((best - signs) ** 2).sum() > 0.05 * 16


def test_step_needs_enough_parameters():
    """Two neurons on the line: the answers are odd, so at the points 1 and -1 the labels 1 and 1 are never fitted at all.
    Of two fair points and labels half are of this kind, or one point with two labels.
    """
    for key in np.linspace(-3, 3, 13):
        answers = [2 * softmax(np.array([key, -0.2]) * x) @ np.array([1.0, -1.0]) for x in (1, -1)]
        assert sum((answer - 1) ** 2 for answer in answers) > 1.99
    kinds = [(x, y, p, q) for x in (1, -1) for y in (1, -1) for p in (1, -1) for q in (1, -1)]
    assert sum(x * y != p * q for x, y, p, q in kinds) / len(kinds) == 1 / 2 < 30 / 32


def test_energy_needs_training():
    """Before the first step the guess is 0, and the share of the energy that it has learnt is 0."""
    mean = np.array([0.5, -0.3])
    assert 1 - ((0 - mean) ** 2).sum() / (mean**2).sum() == 0 < 0.7


def test_energy_needs_that_mixture():
    """Of normal data in the plane the infinitely wide network learns above nine tenths after as many steps."""
    one = torch.ones(1, dtype=torch.float64)
    normal = GaussianMixture(one, torch.zeros(1, 2).double(), torch.eye(2).double()[None])
    problem = score.draw_score_problem(normal, 1000, seed=10)
    asked = score.draw_score_problem(normal, 500, 20, radius=problem.radius)
    (found,) = score.regression_path(problem.X, problem.clean, asked.X, [600])
    assert score.error(found, asked.truth) < 0.05 * score.error(asked.truth, 0 * asked.truth)


def test_energy_needs_that_spread_at_the_start():
    """At sigma = 4 the kernel sees only near pairs: after as many steps less than a fifth of the energy is learnt."""
    problem = score.draw_score_problem(score.plane_mixture(), 1000, seed=10)
    asked = score.draw_score_problem(score.plane_mixture(), 500, 20, radius=problem.radius)
    for sigma, low, high in [(1.0, 0.7, 0.9), (4.0, 0.0, 0.2)]:
        (found,) = score.regression_path(problem.X, problem.clean, asked.X, [600], sigma)
        assert low < 1 - score.error(found, asked.truth) / score.error(asked.truth, 0 * asked.truth) < high


# Part IV


def risk(margins, length, p=3):
    return np.log1p(np.exp(-np.array(margins) * length**p)).mean()


def test_best_length_needs_an_image_read_wrongly():
    assert all(risk([1.0, 2.0], k + 1) < risk([1.0, 2.0], k) for k in range(3))


def test_best_length_needs_a_positive_mean():
    assert all(risk([1.0, -2.0], 0) < risk([1.0, -2.0], length) for length in (0.1, 0.5, 1, 3))


def test_best_length_needs_no_linear_part():
    """Rows that see 2, -1, -1, -1, one label of ten wrong: with z^3 + z in place of z^3 the risk rises before it falls."""
    seen, labels = np.array([2.0, -1.0, -1.0, -1.0]), np.array([1.0] * 9 + [-1.0])
    rises_first = [np.log1p(np.exp(-labels * ((a * seen) ** 3 + a * seen).sum())).mean() for a in (0.0, 0.1, 1.0)]
    assert rises_first[2] < rises_first[0] < rises_first[1]


def test_vote_needs_a_model_that_does_not_see_the_groups():
    """A reader of groups errs only if another one is full too: less than 1/8 and 1/16 where a vote must err more."""
    C, q = 8, 0.5

    def another_full(D):
        return (D // C - 1) * 2 * (q / 2) ** C

    crowd, doubled = 9 * C**2 / q + C, 2 * (9 * C**2 / q + C)  # D with q (D - C) = 9 C^2, and with q (D/2 - C) = 9 C^2
    assert another_full(crowd) < 1 / 8 and another_full(doubled) < 1 / 16


def test_vote_needs_independent_strays():
    """A hundred of them in opposite pairs, C = q = 1: q (D - C) >= 9 C^2, and the vote is never wrong."""
    C, strays = 1, [1, -1] * 50
    assert len(strays) >= 9 * C**2 and C + sum(strays) > 0


def first_growth(start=(0.0, 0.0), D=4, C=2, diagonal=1.0, u=torch.exp, p=3, alpha=1e-3, q=0.25):
    """Minus the slopes of the mean loss in the score of a partner and of a stranger, over all images."""
    X, y, chance = every_point(D, C, q)
    same = torch.arange(D)[:, None] // C == torch.arange(D) // C
    A = torch.where(same, *start).double().fill_diagonal_(diagonal).requires_grad_()
    seen = D * alpha * X[..., 0] @ (u(A) / u(A).sum(1, keepdim=True)).T
    (slope,) = torch.autograd.grad(chance @ torch.log1p(torch.exp(-y * (seen**p + 1e-3 * seen).sum(1))), A)
    return -float(slope[0, 1]), -float(slope[0, C])


def test_first_step_needs_the_cube_that_start_and_a_small_alpha():
    a, C, D, q = math.e - 1, 2, 4, 0.25
    partner, gain = (D - C) / (D + a) * (2 * C + a - 3 * q * (2 + a)), 2 * C - 4 * q + a * (1 - q)

    def as_said(**changed):
        inside, between = first_growth(**changed)
        return inside / (inside - between) == pytest.approx(partner / gain, rel=1e-2)

    assert as_said() and not as_said(p=5) and not as_said(start=(0.5, 0.0)) and not as_said(alpha=1.0)


def test_first_step_needs_a_diagonal_that_leads():
    inside, between = first_growth(diagonal=-1.0)
    assert inside < between


def test_row_exchange_needs_a_sum_over_rows():
    seen, weights = np.array([1.0, 2.0]), np.array([1, 2])
    assert weights @ seen**3 != weights @ seen[::-1] ** 3


def test_row_exchange_needs_free_scores():
    assert np.linalg.eigvalsh(np.eye(2)[::-1])[0] < 0  # the identity is some P'P, with its rows exchanged it is none


def averaged(image, encodings, head=lambda rows: rows.mean(0), patch=1):
    """Attention of patches with encodings, whose tokens are averaged."""
    tokens = image.reshape(-1, patch) + encodings
    return head(softmax(3 * tokens @ tokens.T) @ tokens)


def test_scrambling_needs_each_of_its_hypotheses():
    draw, order = np.random.default_rng(37), np.array([2, 0, 3, 1])
    image, encodings = draw.normal(size=4), draw.normal(size=(4, 1))

    def same(plain, scrambled):
        return np.allclose(plain, scrambled)

    plain = averaged(image, encodings)
    assert same(plain, averaged(image[order], encodings[order]))
    assert not same(plain, averaged(image[order], encodings))  # encodings that stay, as fixed ones would
    first = averaged(image, encodings, head=lambda rows: rows[0])  # tokens that are not averaged
    assert not same(first, averaged(image[order], encodings[order], head=lambda rows: rows[0]))
    rates = np.array([[1.0], [2.0], [3.0], [4.0]])  # of the encodings: these are no permuted copies after a step
    assert not same((encodings - rates)[order], encodings[order] - rates)
    assert not same(averaged(np.roll(image, 1)[order], encodings[order]), averaged(np.roll(image[order], 1), encodings[order]))
    wide = draw.normal(size=(2, 1))  # patches of two pixels: single pixels are permuted, and the patches torn
    assert not any(same(averaged(image, wide, patch=2), averaged(image[order], e, patch=2)) for e in (wide, wide[::-1]))


def settled(A, C):
    """How many rows settle on their own group of C patches, and how many on any."""
    groups = [list(range(k, k + C)) for k in range(0, len(A), C)]
    wins = [[row[g].min() > np.delete(row, g).max() for g in groups] for row in A]
    return sum(row[i // C] for i, row in enumerate(wins)), sum(map(any, wins))


def test_free_diagonal_needs_a_trained_diagonal():
    """All scores start at 0 and one step moves them by (x_j - mean) of one image; a diagonal that stays at 0 marks the row."""
    from attention_checks.patches.runs.expectation import matrix_descent

    A, v, y = torch.zeros(4, 4).double(), torch.ones(1).double(), torch.ones(1).double()
    X = torch.tensor([[[3.0], [-0.5], [-1.0], [-1.5]]]).double()
    trained, kept = (matrix_descent(A, v, X, y, y, 1, train_diagonal=free)[0][1] for free in (True, False))
    assert settled(trained.numpy(), 2) == (2, 4)  # C/D of the four
    assert settled(kept.numpy(), 2) == (2, 2)  # more than half of the two


def test_free_diagonal_needs_independent_scores_of_one_law():
    """D = 3, C = 1, before any step. Every score of a fair choice of two starts is 0 or 1 with the same chance."""
    marked = np.eye(3)
    assert settled(marked, 1) == (3, 3)  # independent constants without a common law
    assert settled(1 - marked, 1) == (0, 0)  # with the first, on average 1.5 of 1.5


def test_free_diagonal_needs_one_rate_for_all_scores():
    """D = 2, C = 1, scores 0 or 1 by coins, one step on an image whose first patch alone carries the feature."""

    def counts(*rates):  # own and any, added up over the 16 equally likely starts
        found = []
        for start in product((0.0, 1.0), repeat=4):
            A = torch.tensor(start).double().reshape(2, 2).requires_grad_()
            seen = 2 * torch.softmax(A, dim=1)[:, 0]
            (slope,) = torch.autograd.grad(torch.log1p(torch.exp(-(seen**3).sum())), A)
            found.append(settled((A - torch.tensor(rates)[:, None] * slope).detach().numpy(), 1))
        return tuple(np.sum(found, axis=0))

    assert counts(1e6, 1e6) == (16, 32)  # C/D of any
    assert counts(1e6, 0.0) == (20, 24)  # the second row stays


def test_lost_association_needs_its_steps():
    """After 60 of the 300 steps not every seed has had all rows associated, and no seed has lost one."""
    rows = np.stack(read_record("sample-sizes").column("association", N=1000))[:, :7]
    found = rows.max(1) == 1
    assert not found.all() and (rows[found, -1] == 1).all()


# Part V, One knob


def share(own, rivals):
    return own / (own + sum(rivals))


def test_families_need_sums_that_do_not_vanish():
    assert sum([1, -1]) == 0  # u = z at the scores 1 and -1: no weights


def test_share_needs_positive_weights():
    r, A, w = Fraction(1, -Fraction(1, 2)), 1, Fraction(1, 2)
    assert share(Fraction(1), [-Fraction(1, 2)]) >= w and not r >= A * w / (1 - w)


def test_share_needs_a_part_below_one():
    r, A, w = Fraction(3), 1, Fraction(2)
    assert r >= A * w / (1 - w) and not share(r, [1] * A) >= w


def test_share_needs_rivals_of_one_score():
    rivals = [1.0, math.e]
    assert abs(share(math.e, rivals) - math.e / (math.e + 2)) > 0.1


def test_least_knob_needs_a_score_above_the_rivals():
    high, low, A, w, beta = 0.0, 1.0, 1, 0.75, 0.0
    assert beta >= math.log(A * w / (1 - w)) / (high - low) and share(1.0, [1.0]) < w


def test_invariance_needs_continuity():
    """On the scores a + b sqrt 2 with integers a and b, u = 2^b turns sums into products and is no exponential of the score."""

    def log_u(score):
        return score[1]

    for step in ((3, -2), (0, 5)):
        pair = (1, 4), (-2, 1)
        moved = [(a + step[0], b + step[1]) for a, b in pair]
        assert log_u(moved[0]) - log_u(moved[1]) == log_u(pair[0]) - log_u(pair[1])  # ratios of u, so weights, do not change
    slopes = [log_u(score) / (score[0] + ROOT_2 * score[1]) for score in ((1, 1), (1, 2))]
    assert abs(slopes[0] - slopes[1]) > 0.1


def test_dispersion_needs_positive_weights():
    low, middle, high = -0.5, 0.6, 1.0  # values of an increasing u
    assert share(middle, [low]) > share(high, [low])


def test_dispersion_needs_all_scores_in_the_range():
    assert share(math.exp(5), [1]) > share(math.exp(1), [1])  # the range is said to be [0, 1]


# Part V, Separation


def test_window_needs_blocks_of_one_size():
    """Without a large entry all weights are 1/n; one block with 801 of 1000 rows, 199 blocks of one row; + for it and for c."""
    n, blocks, b, kappa = 1000, 200, 0.2, 0.1
    assert b * (801 - 199) / n > kappa  # it fires, with probability 1/4, whatever the signs of the others are
    h = (kappa - b / n) / b  # a = 0, s = 1/n, and g = 0 with X = 1
    assert math.exp(-blocks * h**2 / 2) < 1e-10


def test_window_needs_a_shared_entry_that_is_not_negative():
    """c = -1, a = 0, b = 0.02: with the sign - of the last column every row exceeds the threshold c + kappa; h is above 3."""
    b, c, kappa, d = 0.02, -1.0, 0.1, 12
    assert -c - b > c + kappa  # so it fires in half of the cases, whatever the other signs are
    h = (kappa - b * (1 + 1)) / b  # s and g are at most 1
    assert h > 2.9 and math.exp(-(d - 2) * h**2 / 2) < 1 / 2


def test_window_needs_ratios_that_do_not_fall():
    """u rises a millionfold from 1 to 2 and hardly from there to 4: every ordinary row looks at the special key, a = 1."""
    a, b, kappa, n, d = 1.0, 0.02, 0.1, 100, 12
    s, looked_at = share(1.001, [1.0] * (n - 1)), share(1.0, [1e-6] * (n - 1))
    assert a * looked_at - b > kappa  # it fires if two signs are +: in a quarter of the cases
    h = (kappa - (a + b) * s) / b
    assert h > 4 and math.exp(-(d - 2) * h**2 / 2) < 1e-40


def contrast_bound(h, R, n, N):
    return n * math.exp(-(h**2) / (2 * R / (R + N - 1)))


def test_contrast_needs_the_ratio():
    """A row that looks at itself alone is above the threshold when two signs are +; the bound is that for equal weights."""
    n = N = 200
    a, b, c, kappa = 0.0, 0.2, 0.8, 0.1
    assert b + c > c + kappa and contrast_bound((kappa - a / n) / b, 1, n, N) < 1e-8


def test_contrast_needs_sizes_that_are_not_negative():
    """Equal weights. c = -1: with the last sign - all rows are above c + kappa; a = -4 n: with the first sign -."""
    n = N = 200
    a, b, c, kappa = 4.0 * n, 0.02, -1.0, 0.1
    assert -c - b > c + kappa and contrast_bound((kappa - 0 / n) / b, 1, n, N) < 1e-8
    assert a / n - b > kappa + 2 * b and contrast_bound((kappa + a / n) / b, 1, n, N) < 1e-8


def test_contrast_needs_a_positive_height():
    """With an entry a as large as 4 n every row fires whose sign is +: half of the sign vectors, or more."""
    n = N = 200
    a, b, kappa = 4.0 * n, 0.2, 0.1
    assert a / n - b > kappa + 2 * b and contrast_bound((kappa - a / n) / b, 1, n, N) < 1e-8


def separates(beta, model="self-identity", m=100, a0=0.01, a1=1.2, b=0.2, c=0.8):
    """The exact chance of separation with n = e^230 rows and n^(1/10) blocks."""
    sizes = dict(a0=a0, a1=a1, b=b, c=c)
    return separation_probability(sharp(beta), model, d=round(math.exp(23)) + 2, m=m, log_n=230.0, **sizes)


UPPER = 0.1 / 0.2**2  # epsilon / b^2; the lower bound is 1 / (1.2^2 + 0.2^2) = 0.68


def test_contests_need_a_fixed_sharpness():
    """One that comes near the upper bound as fast as it likes, from within the window."""
    assert separates(1.0) > 0.999 and separates((1 - 1e-9) * UPPER) < 0.001


def test_contests_need_the_exponential():
    """z^1 in place of e^z, within the window."""
    sizes = dict(a0=0.01, a1=1.2, b=0.2, c=0.8, d=round(math.exp(23)) + 2, m=100, log_n=230.0)
    assert separates(1.0) > 0.999 and separation_probability(power(1), "self-identity", **sizes) < 0.001


def test_contests_need_a_larger_second_size():
    """a_0 = a_1, and a growth of 1/2, far above b^2/(a_1^2 + b^2): the bounds coincide and leave no window."""
    lower = max((1 - 0.5) / 1.2**2, 1 / (1.2**2 + 0.2**2))
    assert 0.5 > 0.2**2 / (1.2**2 + 0.2**2) and lower == min(0.5 / 0.2**2, lower)


def test_contests_need_blocks_above_the_threshold():
    assert separates(2 * 0.1 / 0.08**2, b=0.08) > 0.999  # twice the upper bound


def test_contests_need_a_constant_that_is_not_negative():
    """c = -0.8: a last sign of - puts every row 0.8 above, and the threshold is below 0."""
    kappa, c, a0, b = 0.1, -0.8, 0.01, 0.2
    assert -c - a0 - b > c + kappa  # on D_0, with probability 1/2


def test_contests_need_this_matrix():
    assert separates(0.5, "self-ones") > 0.999 and separates(0.5) < 0.001  # below the lower bound


def test_contests_need_many_sign_vectors():
    assert separates(1.0, m=1) < 1 / 2


def test_contests_need_few_sign_vectors():
    """More than all of them, d 2^d: the one of plus signs is drawn almost surely, and an ordinary row of D_0 is at b + c."""
    kappa, b, d = 0.1, 0.2, 50
    assert b > kappa and (1 - 2.0**-d) ** (d * 2**d) < 1e-20


def test_reading_needs_a_special_key_that_is_not_negative():
    """k = -3: the special row's own score is its smallest, and the quotient another one."""
    own, other = 2.2**2 - 3 * 1.2**2, 2.2 * 1.0
    assert own < other and max(own, other) / min(own, other) != pytest.approx(own / other)


def test_reading_needs_powers():
    scores = np.array([2.0, 1.0])
    assert softmax(scores)[0] != pytest.approx(2 / (2 + 2 - 1))  # K = 2, p = 1, n = 2


def test_reading_needs_these_sizes():
    shares = [Fraction(1, 10) / (a + Fraction(1, 5)) for a in (Fraction(6, 5), Fraction(12, 5))]
    assert [(1 - s) / s for s in shares] == [13, 25]


def test_reading_needs_many_sign_vectors():
    """One sign vector in place of the paper's m, at the K^p that is said to be enough; n = 10^6, p = 1."""
    K = (10**6 - 1) / 13
    sizes = dict(log_n=6 * math.log(10), key=(2.2 * K - 4.84) / 1.44, a0=0.01, a1=1.2, b=0.2, c=0.8)
    assert separation_probability(power(1), "self-ones", d=185, m=1, **sizes) < 0.1


def test_sharpness_needs_a_large_entry():
    """Without it the weight is 1/n at every sharpness; with a_1 + b at most kappa the weight s would have to be 1."""
    assert {share(math.exp(beta * 0), [1] * 9) for beta in (0, 1, 50)} == {1 / 10} != {0.1 / 0.2}
    assert 0.1 / (0.05 + 0.05) == 1 > share(math.exp(30), [1] * 9)


def test_degree_needs_this_matrix():
    """With X = I the special score is 2.12/0.64 times the others, blocks of one row; n = 1000."""
    p = math.log(999 / 13) / math.log(2.2)
    assert share(2.2**p, [1] * 999) == pytest.approx(1 / 14) and share((2.12 / 0.64) ** p, [1] * 999) > 2 / 14


def test_degree_needs_powers():
    """T_2 in place of z^2, at the n where z^2 has the weight 1/14: scores 2.2 log n and log n."""
    rivals = 13 * 2.2**2
    low = math.log(rivals + 1)
    quotient = (1 + 2.2 * low + (2.2 * low) ** 2 / 2) / (1 + low + low**2 / 2)
    assert quotient / (quotient + rivals) < 1 / 14


def test_degree_needs_these_sizes():
    """a_1 = 12: at n = 61 linear attention has (a_1 + b) s above kappa, so that h is negative."""
    assert (12 + 0.2) * share(13, [1] * 60) > 0.1 > (1.2 + 0.2) * share(2.2, [1] * 60)


def test_ceiling_needs_positive_entries():
    """a_0 = 0: the weight is 1/n at every sharpness. c = 0: the other blocks' scores are 0, and g = 1 at every degree."""
    assert {share(math.exp(beta * 0), [1] * 9) for beta in (0, 1, 50)} == {1 / 10}
    assert share(0.2**2, [0.0] * 9) == 1


def test_ceiling_needs_blocks_above_the_threshold():
    assert 0.05 * share(math.exp(30), [1] * 9) < 0.1  # b g is below kappa at every knob


def test_blunter_needs_this_matrix_and_these_sizes():
    """With X = 1 softmax separates at n = 10^7, and with X = I and b = 0.2 at n = 10^20."""
    sizes = dict(a0=0.01, a1=1.2, c=0.8)
    assert separation_probability(sharp(1), "self-ones", d=208, m=187, log_n=7 * math.log(10), b=0.5, **sizes) > 0.8
    assert separation_probability(sharp(1), "self-identity", d=507, m=456, log_n=20 * math.log(10), b=0.2, **sizes) > 0.99


def test_blunter_needs_these_entries_rows_and_columns():
    """Chances that are not 0.63: equal entries, a large one in both data sets, other numbers of columns and rows."""
    place = dict(d=208, m=187, log_n=7 * math.log(10), a0=0.01, a1=1.2, b=0.5, c=0.8)
    others = (
        dict(a1=0.01),
        dict(a0=1.2),
        dict(d=20),
        dict(d=2000),
        dict(log_n=3 * math.log(10)),
        dict(log_n=12 * math.log(10)),
    )
    chances = [separation_probability(sharp(0.5), "self-identity", **place | other) for other in others]
    assert all(abs(chance - 0.63) > 0.1 for chance in chances)


def test_blunter_needs_many_sign_vectors():
    sizes = dict(d=208, log_n=7 * math.log(10), a0=0.01, a1=1.2, b=0.5, c=0.8)
    assert separation_probability(sharp(0.5), "self-identity", m=1, **sizes) < 0.2 < 0.63


def test_closing_needs_these_sizes():
    """At 10^129.6 the edges of the sharpness meet; with twice the columns, b = 1/4 or X = 1 they are apart."""
    log_n = 129.6 * math.log(10)
    d = math.ceil(10 * (log_n + math.log(100)))

    def gap(model="self-identity", b=0.2, d=d):
        return upper_edge(sharp, DataSet(model, log_n, 0.01, b, 0.8, d)) - lower_edge(
            sharp, DataSet(model, log_n, 1.2, b, 0.8, d)
        )

    assert abs(gap()) < 0.001 and gap(d=2 * d) > 0.05 and gap(b=0.25) < -0.2 and gap("self-ones") > 90


def test_closing_needs_many_sign_vectors():
    """At 0.95 of the place where they meet, one sign vector: the best knob of the grid separates in a quarter of the cases."""
    log_n = 0.95 * 129.6 * math.log(10)
    d, sizes = math.ceil(10 * (log_n + math.log(100))), dict(a0=0.01, a1=1.2, b=0.2, c=0.8)
    least = lower_edge(sharp, DataSet("self-identity", log_n, 1.2, 0.2, 0.8, d))
    grid = [least * (0.85 + 0.01 * i) for i in range(40)]
    assert max(separation_probability(sharp(x), "self-identity", d=d, m=1, log_n=log_n, **sizes) for x in grid) < 0.26


# Part V, Training


def kernel_of(keys, values, u, slope, x, y, trained="keys"):
    """The tangent kernel of sum a u(w x) / sum u(w x) at two inputs, times the number of neurons."""

    def gradient(z):
        weights = u(keys @ z) / u(keys @ z).sum()
        output = (weights * values).sum()
        by_keys = ((values - output) * slope(keys @ z) / u(keys @ z).sum())[:, None] * z
        return by_keys if trained == "keys" else np.column_stack([by_keys, weights])

    return len(keys) * float((gradient(x) * gradient(y)).sum())


@pytest.fixture(scope="module")
def paired():
    keys = np.random.default_rng(37).normal(size=(50_000, 2))
    return np.concatenate([keys, keys]), np.repeat([1.0, -1.0], len(keys))


X, Y = np.array([1.0, 0.0]), np.array([0.6, 0.8])
LIMIT = 0.6 * math.exp(0.6)


def test_limit_kernel_needs_opposite_values(paired):
    keys, values = paired
    assert kernel_of(keys, values, np.exp, np.exp, X, Y) == pytest.approx(LIMIT, rel=0.05)
    assert kernel_of(keys, abs(values), np.exp, np.exp, X, Y) == pytest.approx(0, abs=1e-9)


def test_limit_kernel_needs_gaussian_keys():
    """Keys +-1 in one dimension, u = e^z, both inputs 1: E e^(2w) over (E e^w)^2 is not e; undivided E e^(2w) is not e^2."""
    assert math.cosh(2) / math.cosh(1) ** 2 < math.e - 1 and math.cosh(2) < math.exp(2) - 3


def test_definite_needs_random_keys():
    """Keys 0: the kernel of e^z is the Gram matrix, of rank 2 at three points of the circle."""
    points = circle(np.arange(3) * 2.0)
    assert np.linalg.matrix_rank(points @ points.T) == 2 < 3


def test_limit_kernel_needs_inputs_of_length_one(paired):
    keys, values = paired
    square, slope = np.square, lambda z: 2 * z
    assert kernel_of(keys, values, square, slope, X, Y) == pytest.approx(4 * 0.6**2, rel=0.1)
    assert kernel_of(keys, values, square, slope, 2 * X, Y) == pytest.approx(4 * 1.2**2 / 2**2, rel=0.1)  # not 4 * 1.2^2


def test_limit_kernel_needs_fixed_values(paired):
    keys, values = paired
    assert kernel_of(keys, values, np.exp, np.exp, X, Y, "keys and values") > 2 * LIMIT


def test_definite_needs_a_function_without_jumps(paired):
    """Neither part of 3 + [z > 1] is a polynomial, and its slope is 0 almost everywhere: so is the kernel."""
    keys, values = paired
    assert kernel_of(keys, values, lambda z: 3 + (z > 1), np.zeros_like, X, X) == 0


def test_definite_needs_fixed_values(paired):
    """u = 1 + z has the even part 1: the rank at a pair of opposite points is said to be 1. Trained values see the 1, too."""
    least = [
        np.linalg.eigvalsh(
            [[kernel_of(*paired, lambda z: 1 + z, np.ones_like, x, y, trained) for x in (X, -X)] for y in (X, -X)]
        )[0]
        for trained in ("keys", "keys and values")
    ]
    assert abs(least[0]) < 1e-9 and least[1] > 1.9


def test_definite_needs_the_sphere():
    """One input, 0: no score depends on a key, so that the kernel is 0, for e^z too."""
    x = np.zeros(2)
    assert (x @ x) * math.exp(x @ x) == 0


def circle(angles):
    return np.column_stack([np.cos(angles), np.sin(angles)])


def test_rank_needs_a_polynomial():
    gram = circle(np.arange(7) * 0.9) @ circle(np.arange(7) * 0.9).T
    assert np.linalg.matrix_rank(gram * np.exp(gram)) == 7 > 5  # R(2, 2)


def test_rank_needs_one_output():
    """Degree 2 on the circle, sixty keys: R = 5 for one row of signs; two rows have a rank of 10."""
    draw = np.random.default_rng(41)
    keys, points = draw.normal(size=(60, 2)), draw.normal(size=(12, 2))
    points /= np.linalg.norm(points, axis=1)[:, None]
    slope = 1 + keys @ points.T  # of T_2; each key stands for a pair of signs a and -a
    features = np.concatenate([slope * points[:, 0], slope * points[:, 1]])
    signs = np.tile(draw.choice([-1, 1], size=(2, 60)), 2)
    both = np.concatenate([features * a[:, None] for a in signs], axis=1)
    assert np.linalg.matrix_rank(features) == 5 and np.linalg.matrix_rank(both) == 10


def test_rank_needs_the_sphere():
    """Degree 3 in the plane: on the circle at most R = 7, off it one for each monomial of degree 1, 2 and 3."""
    draw = np.random.default_rng(37)
    keys, points = draw.normal(size=(40, 2)), draw.normal(size=(20, 2))

    def rank(points):
        slope = 1 + keys @ points.T + (keys @ points.T) ** 2 / 2  # of T_3; the positive sums do not change the rank
        features = np.concatenate([slope * points[:, 0], slope * points[:, 1]])
        return np.linalg.matrix_rank(features)

    assert rank(points) == 9 and rank(points / np.linalg.norm(points, axis=1)[:, None]) == 7


def test_eigenvalue_needs_many_points():
    assert 1 * math.e > 1 * sum(1 / math.factorial(k - 1) for k in range(15, 60))  # one point, p = 14: K(x, x) = e


def test_eigenvalue_needs_the_exponential():
    """ReLU at 31 points of the circle, more than R(14, 2) = 29; 31 t_14 is 4e-10 at b = 1."""
    tail = sum(1 / math.factorial(k - 1) for k in range(15, 60))
    kernel = limit_kernel_with(relu_power(1), torch.from_numpy(circle(np.arange(31) * 2 * math.pi / 31)))
    assert torch.linalg.eigvalsh(kernel)[0] > 1000 * 31 * tail


def test_eigenvalue_needs_the_sphere():
    """Two orthogonal points of length 2, b = 1, p = 0 with R(0, 2) = 1: both eigenvalues are 4 e^4, the bound is 2 e."""
    gram = 4 * np.eye(2)
    tail = sum(1 / math.factorial(k - 1) for k in range(1, 40))
    assert np.linalg.eigvalsh(gram * np.exp(gram))[0] > 2 * tail == pytest.approx(2 * math.e)


def test_alternating_needs_equal_spaces():
    labels = np.array([1, -1, 1, -1])
    for angles, is_eigenvector in ((np.arange(4) * math.pi / 2, True), (np.array([0, 0.3, math.pi, 4]), False)):
        gram = circle(angles) @ circle(angles).T
        ratio = (gram * np.exp(gram)) @ labels * labels
        assert np.allclose(ratio, ratio[0]) == is_eigenvector


def test_alternating_needs_the_exponential():
    """1 + z has the kernel rho, which does not see alternating labels of four points; lambda_2 is said to be positive."""
    points, labels = circle(np.arange(4) * math.pi / 2), np.array([1, -1, 1, -1])
    assert np.allclose(points.T @ labels, 0) and circle_eigenvalues(4, 1)[-1] > 0.1


def test_times_and_arrivals_need_that_start():
    """A longer value vector, nu = 1/100: the error of perfect groups long before step 57, 0.8 of the weight at another step."""
    run, longer = (population_descent_with(sharp(1), 9, 3, 0.25, steps=95, nu=nu) for nu in (1e-3, 1e-2))
    assert float(longer.error[40]) == pytest.approx(511 / 262144, rel=1e-9)
    assert float(run.error[40]) > 600 / 262144
    assert run.reaches(0.8) == 90 != longer.reaches(0.8)


def test_steps_need_many_neurons():
    """Two neurons: the output has the sign of the difference of their scores, wrong at two of six points: error 1/3 or more."""
    labels = np.array([1, -1] * 3)
    directions = circle(np.arange(0.001, 2 * math.pi, 0.01))
    wrong = (np.sign(directions @ circle(np.arange(6) * math.pi / 3).T) != labels).sum(1)
    assert wrong.min() == 2 and 2 / 6 > 1 / 4


def steps_over_law(net, speed=1.0):
    """Steps of descent on half the sum of squares, as in circle.steps_to_fit, over the law, at six points."""
    x, y = circle(np.arange(6) * math.pi / 3), torch.tensor([1.0, -1.0] * 3).double()
    x, waves = torch.from_numpy(x), circle_eigenvalues(6, 1)
    net = net.to(x)
    rate, steps = speed / (net.m * float(torch.linalg.eigvalsh(tangent_kernel(net, x))[-1])), 0
    while (net(x)[:, 0] - y).square().mean() > 1 / 4:
        net, steps = replace(net, W=net.W - rate * net.gradient(x, y[:, None])), steps + 1
    return steps / (math.log(2) * float(waves.max() / waves[-1]))


def test_steps_need_pairs_and_half_the_sum_of_squares():
    """With the mean squared error the gradient is 2/n times as long; without pairs the output is not 0 at the start."""
    paired = start_network(sharp(1), 2, 4000, 20)
    unpaired = replace(WeightedNetwork.unpaired(2, 4000, 20, outputs=1), family=sharp(1))
    assert 0.8 < steps_over_law(paired) < 2 < steps_over_law(paired, speed=2 / 6)
    assert steps_over_law(unpaired) > 2


def test_steps_need_alternating_labels():
    """The labels cos sqrt 2 at six points: one step is enough, and 0.8 ln 2 lambda_max / lambda_3 is 2.8."""
    x = torch.from_numpy(circle(np.arange(6) * math.pi / 3))
    y = ROOT_2 * x[:, 0]
    (after,) = outputs_while_training(sharp(1), x, y, x, 4000, 20, [1])
    waves = circle_eigenvalues(6, 1)
    assert (after - y).square().mean() < 1 / 4 and 0.8 * math.log(2) * waves.max() / waves[-1] > 2


def test_floor_needs_labels_outside_the_range_and_steps():
    """Labels that are a column of the kernel: nothing lies outside its range, no error is below 0. No step: the error is 1."""
    x, y = unit_points(12, 3, seed=1), torch.tensor([1.0, -1.0] * 6).double()
    column = tangent_kernel(start_network(truncated(2), 3, 400, 1), x)[:, 0]
    inside, resting = (exact_kernels.descend(truncated(2), x, labels, m=400, seed=1, steps=0) for labels in (column, y))
    assert inside.floor < 1e-12
    assert resting.loss == [1.0] and resting.floor < 1 - 1 / 400


def test_labels_need_positive_weights():
    """u = z, keys e1 and e2 with the values 1 and -1: the alternating labels of four points of the circle."""
    points = [(1, 0), (0, 1), (-1, 0), (0, -1)]
    assert [Fraction(x - y, x + y) for x, y in points] == [1, -1, 1, -1]  # R(1, 2) = 3


def test_labels_need_more_points_than_the_rank():
    weights = softmax(np.array([0.3, -1.0, 2.0]))  # one point, three keys whose values are its label
    assert [np.sign(weights @ np.full(3, label)) for label in (1, -1)] == [1, -1]


# Part V, Words


def test_update_needs_another_row():
    """The moved token changes the query of its own row: the formula for the others gives another output there."""
    X, W, delta = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([0.5, -1.0])
    after = X.copy()
    after[0] += delta
    scores = np.exp(X @ W @ after.T / ROOT_2)  # the old query of every row, the new token as a key
    by_formula = scores / scores.sum(1, keepdims=True) @ after
    right = attend(after, W)
    assert np.allclose(by_formula[1:], right[1:]) and not np.allclose(by_formula[0], right[0], atol=0.01)


def far_tokens():
    """Two rows that look along the first coordinate, a token far away on the second, and one that a short move brings first."""
    X = np.array([[0.1, 100.0], [0.05, 0.0], [0.0, -100.0]])
    return X, np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([ROOT_2, 0.0])


def change(X, W, delta, beta):
    before, after = attend(X, W, beta), X.copy()
    after[2] += delta
    return np.linalg.norm(attend(after, W, beta) - before), np.linalg.norm(before)


def test_gathered_and_hard_need_tokens_of_one_length():
    """Both bounds are at most 3 sqrt d sqrt(1 + n), times the size if relative; these rows move by 200."""
    moved, _ = change(*far_tokens(), beta=1e5)
    assert moved > 3 * ROOT_2 * math.sqrt(1 + 3)


def test_gathered_needs_a_short_move():
    tokens, delta = np.array([1.0, -1.0, 1.0, -1.0]), 100.0
    moved = np.full(4, delta / 4)  # averaging: every row moves by delta/n
    weights = np.full(3, 1 / 4)
    assert np.linalg.norm(moved) > 3 * math.sqrt(1 + (weights**2).sum()) and set(abs(tokens)) == {1.0}


def test_gathered_needs_a_move():
    """No move, two tokens, averaging: nothing changes, and the lower bound is at least (sqrt 2 - 1) sqrt d / 2."""
    changed, share = 0.0, 1 / 2
    assert changed < (ROOT_2 - 1) * share


def shrunk_row():
    """u = z, two equal tokens of length sqrt 2, a short move of the first: the second row's weight on it, and its change."""
    token, key, delta = np.array([ROOT_2, 0.0]), np.array([0.1, 1.0]), np.array([0.0, -0.2814])
    scores = np.array([key @ (token + delta), key @ token])
    weights = scores / scores.sum()  # the sum is nearly 0; before the move both weights are 1/2
    assert np.linalg.norm(delta) <= ROOT_2
    return max(1 / 2, weights[0]), np.linalg.norm(weights[0] * (token + delta) + weights[1] * token - token)


def test_gathered_needs_weights_that_are_not_negative():
    weight, changed = shrunk_row()
    assert changed > 3 * ROOT_2 * math.sqrt(1 + weight**2)


def test_gathered_needs_a_move_that_does_not_turn_back():
    """The move -x_0. Rows 1 and 2 could not see token 0, and then give it a third, but it is 0 and they are nearly so."""
    side, height = math.sqrt(0.99), 0.1
    X = math.sqrt(3) * np.array([[1.0, 0, 0], [0, side, height], [0, -side, height]])
    W = np.zeros((3, 3))
    W[2, 0] = -400.0
    Y = X.copy()
    Y[0] = 0
    others = X[1:].mean(0)
    lower = math.sqrt(3) * math.sqrt(2) * (1 + ROOT_2) ** -(others @ others / 3) / 3
    assert attend(X, W)[1] == pytest.approx(others) and np.linalg.norm(attend(Y, W) - attend(X, W)) < 0.8 * lower


def test_hard_needs_weights_that_are_not_negative():
    assert shrunk_row()[1] > 3 * math.sqrt(2 * 2)


def test_long_needs_a_sharpness():
    """At sharpness 0 every row is the mean of all tokens, whose length differs from context to context."""
    means = np.random.default_rng(37).normal(size=(2, 10_000, 2)).sum(1)
    scaled = math.sqrt(2 * 10_000) / np.linalg.norm(means, axis=1)  # sqrt(n) S; the limit is said to be 1 for W = 1
    assert abs(scaled - 1).max() > 0.2


def test_long_needs_independent_tokens():
    """n tokens 1 in one dimension, W = 1, sharpness 1: no row gives the moved token more than e^2/n; sqrt(n) S tends to 0."""
    n, moves = 10_000, np.linspace(-1, 1, 201)
    for query in (1, 1 + moves):  # of the other rows, and of the moved one
        moved, other = np.exp(query * (1 + moves)), np.exp(query * 1.0)
        assert (moved / (moved + (n - 1) * other)).max() < math.exp(2) / n
    assert math.sqrt(n) * math.exp(2) / n < 0.1  # S is at most the largest weight; the limit is said to be 1


def test_guess_needs_random_scores():
    """W = 0, or u = 1, so that all rows are the mean token: below F/3 at most sizes of 64 and 128 dimensions."""
    draw, below = np.random.default_rng(37), 0
    for n, d in ((8, 64), (32, 64), (128, 64), (512, 64), (16, 128), (64, 128), (256, 128)):
        X = draw.normal(size=(n, d))
        X *= math.sqrt(d) / np.linalg.norm(X, axis=1)[:, None]
        below += math.sqrt(d) / np.linalg.norm(X.sum(0)) < expected_sensitivity(1, n, d) / 3
    assert below == 7


def test_guess_needs_these_sizes():
    """A single token is its own output, so that S = 1: not above 3 F at sharpness 2."""
    assert all(3 * expected_sensitivity(2, 1, d) > 1 for d in (32, 64, 128))


def test_word_observations_need_scores_and_several_tokens():
    """One token, or W = 0: the output is the same at every sharpness, and no function is more sensitive than another."""
    one, several = np.array([[1.0, 2.0]]), np.eye(2)
    for X, W in ((one, np.array([[1.0, 2.0], [0.0, 1.0]])), (several, np.zeros((2, 2)))):
        assert all(np.allclose(attend(X, W, beta), X.mean(0)) for beta in (0.1, 0.25, 1, 4))
    for u in (power(1), power(4), truncated(2), truncated(8)):
        assert attention_weights(torch.tensor([[1.5]]).double(), u) == 1


def test_averaging_needs_equal_weights():
    X = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert not np.allclose(attend(X, np.eye(2)), X.mean(0))


def test_below_needs_independent_tokens_random_scores_and_softmax():
    """The bound exceeds 1 at n = 10, d = 256, where equal tokens allow no more, and equal weights of independent ones 1/3."""
    law = random_law(0.5, 10, 256)
    assert law.rows / (math.sqrt(10) * law.length) > 1
    X = np.random.default_rng(37).normal(size=(10, 256))
    X *= 16 / np.linalg.norm(X, axis=1)[:, None]
    assert (16 / math.sqrt(10)) / (math.sqrt(10) * np.linalg.norm(X.mean(0))) < 0.4


def test_certificate_needs_weights_that_are_not_negative():
    """p = -1, a = 0, one dimension: the row's change is p delta + (p - a)(x - M), with x - M = delta = 1."""
    p, a = -1.0, 0.0
    assert (p * 1 + (p - a) * 1) ** 2 == 4 > (p + abs(p - a) * 1) ** 2


# Part V, Space


def test_escape_needs_patches_of_bounded_size():
    """Patches of size 300 with alpha = -0.01 are patches of size 1 with alpha = -3, and leave before the time of 0.01."""
    from attention_checks.exponential import group_bounds

    D, beta, alpha, rate = 3, 2.0, -0.01, 0.01
    X, y = 300 * torch.tensor([[1.0, -1.0, 1.0]]).double(), torch.tensor([1.0]).double()
    A = torch.eye(D, dtype=torch.float64).requires_grad_()
    seen = D * alpha * (torch.softmax(beta * A, dim=1) @ X.T)
    torch.log1p(torch.exp(-y * (seen**3).sum(0))).mean().backward()
    scores = beta * (A - rate * A.grad).detach()
    spread = max(
        abs(float(scores[i, j] - scores[i, k])) for i in range(D) for j in range(D) for k in range(D) if i not in (j, k)
    )
    assert group_bounds.escape_steps(beta, math.exp(spread), D, 0.01, rate, nu=0) > 1


def first_gradient(u, alpha=0.01, diagonal=1.0):
    """Of the loss in the scores, all 0 off the diagonal: three patches 1, -1, 1 with the label 1."""
    A = (diagonal * torch.eye(3, dtype=torch.float64)).requires_grad_()
    seen = 3 * alpha * (u(A) / u(A).sum(1, keepdim=True)) @ torch.tensor([1.0, -1.0, 1.0]).double()
    torch.log1p(torch.exp(-(seen**3).sum())).backward()
    return A.grad


def test_escape_needs_the_exponential():
    """u climbs from 0.1 to 1.9 near 0: after one step two weights of a row have the ratio 19."""
    from attention_checks.exponential import group_bounds

    def steep(z):
        return 1 + 0.9 * torch.tanh(1e6 * z)

    _, second, third = steep(torch.eye(3).double() - first_gradient(steep))[0].tolist()
    assert third / second > 18.9 and group_bounds.escape_steps(1.0, 18.9, 3, 0.01, rate=1.0, nu=0) > 10_000


def test_escape_needs_plain_descent():
    """Adam's first step moves each score by the rate: two weights then have the ratio e^(2 rate), whatever the gradient is."""
    from attention_checks.exponential import group_bounds

    sign = first_gradient(torch.exp).sign()
    assert sign[0, 1] == -sign[0, 2] != 0
    assert group_bounds.escape_steps(1.0, math.exp(2 * 0.1), 3, 0.01, rate=0.1, nu=0) > 10_000


def test_escape_needs_a_diagonal_that_stays_at_one():
    """Sharpness 20 and a diagonal of 0: all weights are equal, and one step at the rate 1000 parts them."""
    from attention_checks.exponential import group_bounds

    def sharply(z):
        return torch.exp(20 * z)

    moves = -1000 * first_gradient(sharply, diagonal=0.0)
    ratio = math.exp(20 * float(moves[0, 2] - moves[0, 1]))
    assert ratio > 1.1 and group_bounds.escape_steps(20.0, 1.1, 3, 0.01, rate=1000.0, nu=0) > 1


def test_range_any_needs_the_sign_of_the_feature():
    """Equal weights, nine patches in groups of three, k = 2: the crowd outvotes the label; the opposite sign reads it right."""
    seen = Fraction(3 - 2 * 2, 9)
    assert seen < 0 < -seen


def test_push_needs_one_start():
    """Strangers that start one above: the score inside a group falls, and that between groups rises."""
    assert np.subtract(*first_growth(D=9, C=3, alpha=1e-3**0.5)) > 0
    assert np.subtract(*first_growth((0.0, 1.0), D=9, C=3, alpha=1e-3**0.5)) < 0


def test_push_needs_a_rising_u():
    assert np.subtract(*first_growth(D=9, C=3, alpha=1e-3**0.5, diagonal=-1.0, u=lambda z: torch.exp(-z))) < 0


def test_push_needs_that_start_and_that_world():
    """Minus the value vector; equal weights; and a world without empty patches."""
    assert np.subtract(*first_growth(D=9, C=3, alpha=-(1e-3**0.5))) < 0
    assert abs(np.subtract(*first_growth(D=9, C=3, alpha=1e-3**0.5, diagonal=0.0))) < 1e-12
    assert np.subtract(*first_growth(D=6, C=2, alpha=1e-3**0.5, q=1.0)) < -1e-8


def test_population_needs_scores_of_three_values():
    row, images = np.array([2, 1]), np.array([[1, 0], [0, 1]])  # a group of two with one content
    assert len(set(images @ row)) == 2


def test_dead_needs_a_flat_start():
    assert first_growth(D=9, C=3)[0] > 0 == first_growth(D=9, C=3, u=lambda z: z**2)[0]


def test_times_need_that_world_and_these_rates():
    """The step at which softmax first gives 0.8 to a group, 90: another one with six patches, and at ten times the rate."""
    six = population_descent_with(sharp(1), 6, 3, 0.25, steps=80)
    faster = population_descent_with(sharp(1), 9, 3, 0.25, steps=40, rate_A=100.0)
    assert six.reaches(0.8) == 69 and faster.reaches(0.8) == 26


def test_arrivals_need_that_world_and_these_rates():
    """Two groups of three: a vote errs as rarely as perfect groups, at once. Nine patches, ten times the rates: step 7."""
    assert averaging_error(6, 3, Fraction(1, 4)) == group_error(6, 3, Fraction(1, 4)) == Fraction(1, 1024)
    start = population_descent_with(sharp(1), 6, 3, 0.25, steps=0)
    assert float(start.error[0]) == pytest.approx(1 / 1024)
    faster = population_descent_with(sharp(1), 9, 3, 0.25, steps=7, rate_A=100.0, rate_v=0.01)
    assert float(faster.error[7]) == pytest.approx(511 / 262144, rel=1e-9)


def test_undivided_groups_need_that_sharpness():
    run = population_descent_with(sharp(2), 9, 3, 0.25, steps=26)
    assert float(run.error[26]) == pytest.approx(511 / 262144, rel=1e-9)  # 31 steps before e^z


def test_errors_need_cubes():
    """(+++)(--0)(--0) with perfect groups: the sum of the group sums is that of a vote, below 0, that of their cubes above."""
    groups = [3, -2, -2]
    assert sum(groups) < 0 < sum(group**3 for group in groups)


def test_range_needs_a_linear_part_that_is_not_negative():
    seen = Fraction(3 - 2 * 2, 9)  # equal weights, nine patches in groups of three, k = 2
    assert seen**3 - seen > 0


def test_range_needs_perfect_groups_that_read_right():
    """28 groups of two, k = 1: tau k = 3 > C, the ratio is negative, and equal weights read the images wrong."""
    L, C, k, tau = 28, 2, 1, 3
    assert ((L - 1) * k + tau * ((L - 2) * k - C)) / (C - tau * k) < 0 and C - (L - 1) * k < 0


def test_range_needs_rows_of_three_values():
    """All rows look at the group of the label: 1.5 to it and 1 to all others reads this image right, far below 5.7."""
    assert 3 * Fraction(3, 2) - 2 * 2 > 0


def test_range_needs_cubes_for_its_last_sentence():
    """Perfect groups' rows at the ratio 6, nine patches, k = 2: the cubes read right, and with nu = 1 the vote decides."""
    seen = [Fraction(6 * 3 - 4, 24)] * 3 + [Fraction(-6 * 2 + 3 - 2, 24)] * 6
    assert sum(f**3 for f in seen) > 0 > sum(f**3 + f for f in seen)


# Part V, Dividing


def test_sink_needs_a_sink_of_value_zero():
    """A sink whose value is that of the others: the output keeps the length |v| however high its score is."""
    weights = softmax(np.array([0.0, 0.0, 50.0]))
    assert weights @ np.ones(3) == pytest.approx(1)


def test_sink_needs_values_that_do_not_cancel():
    """Mean value 0: the output has length 0 at every score of the sink."""
    weights = softmax(np.array([0.0, 0.0, -5.0]))
    assert weights @ np.array([1.0, -1.0, 0.0]) == pytest.approx(0)


def test_sink_needs_softmax():
    """u = z, one key with the score 1, a tenth to be left: the sink's score log 9 above it leaves more."""
    assert share(1.0, [1 + math.log(9)]) > 0.2


def test_memory_needs_weights_that_are_not_negative():
    """n = 2 patterns of one sign, u(1) = 1, u(-1) = -0.99: n* = 200, and yet both are equal in half of the cases."""
    mean, share = Fraction(1 - Fraction(99, 100), 2), {1: Fraction(1, 2), -1: 1 / (1 - Fraction(99, 100))}
    found = Fraction(sum(share[other] > Fraction(1, 2) for other in (1, -1)), 2)
    assert 1 / mean == 200 and found == Fraction(1, 2) < 1 - Fraction(1, 200)


def test_memory_needs_independent_patterns():
    """All patterns are the first one: it never has more than half of the weight; n = 2, z^2 at d = 16 promises 15/16."""
    n, d = 2, 16
    capacity = Fraction(d**2, d)  # E S^2 = d
    assert 1 - Fraction(n - 1, 1) / capacity == Fraction(15, 16) and not Fraction(1, n) > Fraction(1, 2)


def undivided(n, d, a, beta, X=None):
    """The largest signed sum of a row, in units of sqrt(log n), for each sign vector."""
    A = np.zeros((n, d))
    A[0, 0], A[np.arange(n), 1 + np.arange(n) % (d - 2)], A[:, -1] = a, 0.2, 0.8
    scores = math.log(n) * A @ (np.ones((d, d)) if X is None else X) @ A.T
    return (np.exp(beta * scores) @ A @ (np.array(list(np.ndindex(*[2] * d))) * 2 - 1).T).max(0)


def test_undivided_needs_these_sizes():
    n, d = 12, 8
    assert undivided(n, d, 1.2, 1).max() > 1.01 * n**2.0201 > undivided(n, d, 0.01, 1).max()  # a large entry in D_0
    assert undivided(n, d, 0.01, 1).max() < 2.2 * n**4.84 <= undivided(n, d, 1.2, 1).max()  # and a small one in D_1


def test_undivided_needs_this_matrix():
    n, d = 12, 8
    assert undivided(n, d, 0.01, 1, np.eye(d)).max() < 0.6 * n**2


def test_undivided_needs_the_exponential():
    """u = z at n = 12, sharpness 1: no sum on D_0 is above n 1.01^3 log n, and 0.6 n^2 is said to be reached."""
    n = 12
    assert n * 1.01**3 * math.log(n) < 0.6 * n**2


def test_undivided_needs_more_than_two_rows():
    """Just below the largest sum on D_1, sharpness 5 fires on D_0 at one sign vector of sixteen only."""
    largest = undivided(2, 4, 1.2, 1).max()
    assert np.mean(undivided(2, 4, 0.01, 5) >= largest) < 1 / 8


def test_undivided_needs_a_sharpness_that_is_not_negative():
    """Sharpness -1, n = 12, the small entry: a plain row with all signs + sums to more than 1.01 n^(1 - 1.0201)."""
    n = 12
    assert (n - 1) / n + 1.01 * n**-1.01 > 1.01 * n ** (1 - 1.0201)


def test_undivided_needs_sums_that_are_not_divided():
    """Divided, one threshold serves the sharpnesses 1 and 5, at n = 10^20 with the paper's d and m."""
    for beta in (1, 5):
        small, large = (DataSet("self-ones", 20 * math.log(10), a, 0.2, 0.8, 507) for a in (0.01, 1.2))
        assert small.fires_at_most(sharp(beta), 456) < 1e-9 and large.fires_at_least(sharp(beta), 456) > 1 - 1e-9


# Part V, Together


def test_places_need_that_house():
    """(b) with b = 0.2 in place of 0.5: softmax separates."""
    chance = [
        separation_probability(sharp(1), "self-identity", d=208, m=187, log_n=7 * math.log(10), a0=0.01, a1=1.2, b=b, c=0.8)
        for b in (0.5, 0.2)
    ]
    assert chance[0] < 1e-25 and chance[1] > 0.999


def test_places_need_alternating_labels():
    """(c) with the labels cos: among the fastest patterns at sharpness 1, so that a sharper layer has nothing to gain."""

    def slowness(labels, beta):
        cosines = np.cos(np.arange(12)[:, None] * math.pi / 6 - np.arange(12) * math.pi / 6)
        kernel = cosines * np.exp(beta**2 * cosines)
        return np.linalg.eigvalsh(kernel)[-1] * (labels @ labels) / (labels @ kernel @ labels)

    alternating, smooth = np.array([1, -1] * 6), np.cos(np.arange(12) * math.pi / 6)
    assert slowness(alternating, 3) < slowness(alternating, 1) and slowness(smooth, 3) >= slowness(smooth, 1)


def test_abilities_need_these_sizes():
    """One token, a hundred words to separate, ten points, two neurons, six patches."""
    few, many = (together.separates(truncated(4), digits) for digits in (2, 12))
    assert few > 0.9 and many < 0.5
    assert averaging_sensitivity(torch.ones(1, 2).double()) == pytest.approx(1)
    assert min(10, seen_dimension(4, 3)) == 10 < 25
    points = unit_points(30, 3, seed=1)
    assert np.linalg.matrix_rank(tangent_kernel(start_network(sharp(1), 3, 2, 1), points)) == 3 < 30
    assert np.linalg.matrix_rank(tangent_kernel(start_network(relu_power(1), 3, 20, 1), points)) < 30
    assert averaging_error(6, 3, Fraction(1, 4)) != Fraction(2833, 262144)


@pytest.mark.parametrize("u", [power(1), relu_power(1)], ids=str)
def test_linear_and_relu_abilities_need_these_sizes(u):
    """Twenty rows, d = 22, m = 69 are told apart more often than not. Six patches: another error."""
    assert separation_probability(u, "self-ones", 22, 69, 0.01, 1.2, 0.2, 0.8, n=20) > 0.6
    assert together.separates(u, 12) < 0.5
    six = population_descent_with(u, 6, 3, 0.25, steps=120, start=1, beta=2)
    assert float(six.error[-1]) == pytest.approx(1 / 1024) != 511 / 262144


def test_hard_abilities_need_these_sizes():
    """Six patches, each seen by itself alone: another error."""
    six = population_descent_with(sharp(math.inf), 6, 3, 0.25, steps=0)
    assert float(six.error[0]) == pytest.approx(1 / 1024) != 2833 / 262144


# Part VI


def test_two_ways_need_weights_that_sum_to_one():
    assert 0.1 * 5 < 1  # one key of value 5, beyond the plane at r = 1, with weight 0.1


def test_two_ways_need_a_division_when_a_key_is_forbidden():
    w, v, m = 0.5, 2.0, 3.0
    before, removed = w * v + (1 - w) * m, (1 - w) * m  # without division the rest stays as it was
    assert abs(removed - before) == w * v != w * abs(m - v)


def test_one_key_needs_weights_of_one_sign():
    """Part (ii): the others have u = 3 and -1, and the key goes from 1 to 2; no sum is 0, and its weight stays below 1."""
    before, after = [[Fraction(u, key + 2) for u in (key, 3, -1)] for key in (1, 2)]
    moved = [abs(new - old) for old, new in zip(before, after)]
    assert sum(moved) / 2 == Fraction(1, 4) != Fraction(1, 6) == moved[0]


def test_sparsemax_needs_a_lead_over_every_rival():
    """Scores 1, 1, 0: the first leads the last by 1 and ties with the second; sparsemax gives each half."""
    tau = Fraction(1, 2)
    weights = [max(s - tau, 0) for s in (1, 1, 0)]
    assert sum(weights) == 1 and weights[0] < min(1, Fraction(1 + 2 * 1, 1 + 2))


def test_the_two_outputs_differ_within_the_bound_only_below_the_eigenvalue():
    """A kernel that never changes (it and |Y| are 1): the outputs agree, and at epsilon_H = 2 the bound is negative."""
    smallest, epsilon_H, epsilon_test = 1, 2, 0
    bound = (epsilon_test + math.sqrt(1 / smallest) * epsilon_H) / (smallest - epsilon_H)
    assert bound < 0


def test_entmax_needs_a_lead_that_is_not_negative():
    """Entmax with alpha = 3/2, a key at 0 and four rivals at 1 (g = -1): the key gets nothing, (ii) would give 1/4."""
    tau = 0
    key, *rivals = [max(Fraction(s, 2) - tau, 0) ** 2 for s in (0, 1, 1, 1, 1)]
    assert key + sum(rivals) == 1 and key < min(1, Fraction(-1, 2)) ** 2


def test_calibrated_needs_equal_chances_before():
    """Two keys with the same observation: softmax gives each half; the chance of the first is what it was before, 9/10."""
    before = [Fraction(9, 10), Fraction(1, 10)]
    seen = Fraction(1, 4)
    assert [p * seen / sum(q * seen for q in before) for p in before] != [Fraction(1, 2)] * 2


def test_nearest_key_needs_contents_near_its_own():
    """Equal contents are promised (omega = 0), and the second key's content is 10 above."""
    weights = softmax(np.array([0.0, 10.0 - 1]))
    assert weights[0] < 1 / (1 + 1 / math.expm1(1))
