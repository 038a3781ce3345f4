"""Feature maps against their literal definitions, the ascent and its certificate, and wrong implementations that fail."""

import dataclasses
import math

import mpmath
import numpy as np
import pytest
import torch
from attention_checks.sensitivity import aligned, printed
from attention_checks.sensitivity.printed import moved
from attention_checks.sensitivity.runs import searches, theorem_3, token_kinds, word
from attention_checks.sensitivity.runs.deferred import power_iterations
from attention_theory import attention, sensitivity, tokens
from attention_theory.device import generator, normal
from attention_theory.sensitivity import word as word_module
from attention_theory.sensitivity.deferred import Apply
from attention_theory.trained import wheels
from attention_theory.trained.models import minilm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from theorybook.records import read_record


def context(n, d, seed=0, kind="iid"):
    return tokens.contexts(kind, 1, n, d, seed)[0]


def moves(count, d, seed=0, length=1.0):
    return length * tokens.on_sphere(normal(count, d, generator=generator(100 + seed)))


def literal_raf(X, W, weights="softmax"):
    return {"softmax": printed.equation_3_3, "relu": printed.relu_raf}[weights](X, W)


def test_scores_have_unit_variance():
    squares = [sensitivity.RandomAttentionFeatures.sample(8, seed).scores(context(5, 8)).square().mean() for seed in range(400)]
    assert float(torch.stack(squares).mean()) == pytest.approx(1, abs=0.05)


def test_relu_row_without_positive_score_attends_to_nothing():
    X = tokens.on_sphere(torch.tensor([[1.0, 0.0], [1.0, 1e-3], [1.0, -1e-3]], dtype=torch.float64))
    raf = sensitivity.RandomAttentionFeatures(-torch.eye(2, dtype=torch.float64), "relu")
    assert torch.equal(raf(X), torch.zeros(3, 2, dtype=torch.float64))
    back = -1.4 * X[:1] / X[0].norm()  # afterwards the token is on the other side of 0, and everyone attends to it
    torch.testing.assert_close(raf.perturbed(X, 0, back)[0], literal_raf(moved(X, 0, back[0]), raf.W, "relu"))
    with pytest.raises(ValueError, match="the features vanish at X"):
        sensitivity.word_sensitivity(raf, X)


def test_a_context_of_one_token():
    X, raf = context(1, 4), sensitivity.RandomAttentionFeatures.sample(4, 0)
    found = sensitivity.word_sensitivity(raf, X, steps=5)
    assert found.value == pytest.approx(1)  # the features are the token itself
    assert sensitivity.sensitivity_bound(raf.one_token(X, 0)) >= 1


def test_even_and_averting_move():
    X, raf = context(7, 30), sensitivity.RandomAttentionFeatures.sample(30, 3)
    view = raf.one_token(X, 4)
    even, averting = view.even_move(), view.averting_move()
    assert torch.allclose(torch.stack([even, averting]).norm(dim=1), torch.tensor(30.0, dtype=torch.float64).sqrt())
    added = raf.scores(moved(X, 4, even)) - raf.scores(X)
    others = [j for j in range(7) if j != 4]
    torch.testing.assert_close(added[others, 4], added[0, 4].expand(6))
    lowered = raf.scores(moved(X, 4, averting))[4, others] - raf.scores(X)[4, others]
    torch.testing.assert_close(lowered, lowered[:1].expand(6))
    assert float(added[0, 4]) > 0 > float(lowered[0])


def test_same_seed_for_tokens_and_weights_gives_independent_ones():
    X = normal(3, 8, generator=generator(5))
    W = sensitivity.RandomAttentionFeatures.sample(8, 5).W * math.sqrt(8)
    assert not torch.equal(W[:3], X)


def test_deep_in_law_agrees_with_matrices_that_are_drawn():
    X, delta = context(4, 3), moves(1, 3)
    drawn, deferred = [], []
    for seed in range(300):
        deep = sensitivity.DeepRandomFeatures.sample(4, 3, 8, 3, seed).one_token(X, 0)
        law = word.deep_one_token_in_law(X, 0, 8, 3, 1000 + seed)
        drawn.append(float(deep.change(delta)))
        deferred.append(float(law.change(delta)))
    assert stats.ks_2samp(drawn, deferred).pvalue > 1e-3


def test_gradient_through_a_deferred_matrix():
    A = sensitivity.DeferredGaussian(5, 4, 1.0, generator(0))
    v = normal(2, 4, generator=generator(1)).requires_grad_(True)
    weights = normal(2, 5, generator=generator(2))
    (gradient,) = torch.autograd.grad((Apply.apply(v, A) * weights).sum(), v)
    torch.testing.assert_close(gradient, A.transpose_times(weights))


@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_a_deferred_matrix_answers_consistently(sides):
    A, draw = sensitivity.DeferredGaussian(5, 4, 2.0, generator(7)), generator(8)
    asked = {True: [], False: []}
    for right in sides:
        v = normal(1, 4 if right else 5, generator=draw)
        asked[right].append((v, A.times(v) if right else A.transpose_times(v)))
    for v, image in asked[True]:
        torch.testing.assert_close(A.times(v), image)
        for u, other in asked[False]:
            torch.testing.assert_close(u @ image.T, other @ v.T)


@pytest.mark.parametrize("cosine", [1 - 1e-15, 1 - 1e-6, 0.5, -0.9, -1 + 1e-6, -1 + 1e-12])
def test_the_arc_cosine_keeps_its_digits_at_both_ends(cosine):
    with mpmath.workdps(60):
        c = mpmath.mpf(cosine)
        exact = float((mpmath.sqrt(1 - c**2) + (mpmath.pi - mpmath.acos(c)) * c) / mpmath.pi)
    assert float(sensitivity.arc_cosine(cosine)) == pytest.approx(exact, rel=1e-14, abs=0)


@given(st.integers(1, 1000), st.integers(1, 12))
def test_infinite_width_sensitivity_is_the_largest_change(n, depth):
    value, t, length = sensitivity.infinite_width_sensitivity(n, depth), np.linspace(-1, 1, 57)[:, None], np.linspace(0, 1, 23)
    assert value >= sensitivity.infinite_width_change(n, t, length, depth).max() - 1e-9
    assert (value < sensitivity.infinite_width_sensitivity(n, depth - 1)) == (n > 1) if depth > 1 else value > 0
    assert value <= 1 / math.sqrt(n) + 1e-12


# The ascent and the certificate --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", tokens.KINDS)
def test_word_sensitivity_is_a_literal_change_and_below_the_certificate(kind):
    X = context(12, 20, 4, kind)
    for feature_map in (
        sensitivity.RandomAttentionFeatures.sample(20, 1),
        sensitivity.RandomAttentionFeatures.sample(20, 1, "relu"),
        sensitivity.RandomFeatures.sample(12, 20, 100, 2),
        sensitivity.DeepRandomFeatures.sample(12, 20, 50, 2, 3),
    ):
        found = sensitivity.word_sensitivity(feature_map, X, token=3, starts=4, steps=30)
        before, after = feature_map(X), feature_map(moved(X, 3, found.delta))
        assert found.value == pytest.approx(float((after - before).norm() / before.norm()))
        assert float(found.delta.norm()) <= math.sqrt(20) * (1 + 1e-9)
        assert found.history.shape == (31, 4) and bool((found.history.diff(dim=0) >= 0).all())
        if isinstance(feature_map, sensitivity.RandomAttentionFeatures):
            view = feature_map.one_token(X, 3)
            assert found.value <= min(sensitivity.sensitivity_bound(view), sensitivity.crowd_bound(view))


def test_the_crowd_bound_is_for_weights_that_never_fall():
    X, raf = context(12, 20, 4), sensitivity.RandomAttentionFeatures.sample(20, 1, attention.Weights("power", 2))
    with pytest.raises(ValueError, match="falls at negative scores"):
        sensitivity.crowd_bound(raf.one_token(X, 0))


def test_the_ascent_finds_the_supremum_in_the_plane():
    angles = torch.linspace(0, 2 * math.pi, 721)[:-1]
    circle = math.sqrt(2) * torch.stack([angles.cos(), angles.sin()], dim=1).double()
    for seed in range(6):
        view = sensitivity.RandomAttentionFeatures.sample(2, seed).one_token(context(4, 2, seed), 1)
        best = float(view.change(torch.cat([circle, 0.5 * circle])).max().sqrt() / view.norm)
        assert sensitivity.projected_ascent(view, starts=6, steps=80).value >= best * (1 - 1e-4)
        assert sensitivity.sensitivity_bound(view) >= best


# Appendix D ----------------------------------------------------------------------------------------------------------


@given(st.integers(1, 12), st.integers(0, 20))
def test_lemmas_d1_and_d2_are_constructive(n, seed):
    X = context(n, 16, seed)
    if n > 2:
        X[1] = X[0]  # repeated tokens do not matter
    delta, draws = aligned.aligned_direction(X, seed)
    assert float(delta.norm()) <= 4 * (1 + 1e-9) and draws < 50
    assert 2 * aligned.aligned_count(X, delta) >= n
    first, second = aligned.two_directions(X, delta, seed)
    assert float((first - second).norm()) == pytest.approx(4)
    torch.testing.assert_close(X @ first, X @ second, atol=1e-9, rtol=0)
    assert 4 * int((X @ first >= 0.05 * 16 / math.sqrt(n)).sum()) >= n


def test_the_factor_of_a_small_head_depends_on_the_draw():
    """own-head speaks of two draws: in others c leaves its band, and it may grow from 16 to 64 words."""
    c = np.empty((2, 10))
    for seed in range(10):
        head = sensitivity.RandomAttentionFeatures.sample(64, seed)
        for row, n in enumerate((16, 64)):
            one = head.one_token(tokens.contexts("iid", 1, n, 64, seed)[0], 0)
            c[row, seed] = sensitivity.projected_ascent(one, starts=6, steps=60).value / math.sqrt(64 / (math.e * 64 + n))
    assert c.max() > 4.5 and (c[1] > c[0]).any()


# What the chapters measure --------------------------------------------------------------------------------------------


def test_moves_compared_are_literal_changes():
    found = theorem_3.moves_compared(5, 40, seed=3)
    X, raf = context(5, 40, 3), sensitivity.RandomAttentionFeatures.sample(40, 4)
    even = raf.one_token(X, 0).even_move()
    assert found["even"][0] == pytest.approx(printed.equation_3_4(raf, X, 0, even))
    assert 0 < found["proof"][0] <= found["ascent"] and found["even"][0] <= found["ascent"]
    halves = theorem_3.moves_compared(5, 40, 3, shares=(0.5, 1.0))
    assert halves["even"] == pytest.approx([printed.equation_3_4(raf, X, 0, even / 2), found["even"][0]])


def test_deep_layers_and_the_recorded_search():
    rows = word.deep_layers(4, 6, 4, 0, "iid")
    assert [row["layer"] for row in rows] == [1, 2, 4]
    assert all(row["change"] <= math.sqrt(6) * row["C1"] ** row["layer"] for row in rows)
    before = sensitivity.DeepRandomFeatures.sample(4, 6, 24, 4, 0).layers(context(4, 6))
    norms = [float(before[row["layer"] - 1].norm()) for row in rows]
    assert [row["S"] for row in rows] == pytest.approx([row["change"] / norm for row, norm in zip(rows, norms)])
    assert 0.6 < word.drf_search_share(4, 6, 2, 0) <= 1.05  # the two values' product is 0.49


def test_certificates_of_random_features():
    view = sensitivity.RandomFeatures.sample(4, 6, 3, 1, "identity").one_token(context(4, 6), 1)  # fewer features than d
    best = math.sqrt(6) * torch.linalg.svd(view.block).Vh[:1]
    assert float(view.change(best).sqrt()) == pytest.approx(view.certificate())
    row = word.rf_certified(10, 6, 60, 1)
    assert row["S"] <= row["U"]


@pytest.mark.parametrize("kind", ["iid", "anisotropic"])
@pytest.mark.parametrize(("n", "d", "ratio"), [(3, 20, 0.5), (6, 12, 2)])
def test_points_of_random_features_are_what_a_longer_search_finds(kind, n, d, ratio):
    X = tokens.contexts(kind, 1, n, d, seed=4)
    view = sensitivity.random_features.one_token_in_law(X, 0, int(ratio * n * d), seed=4)[0]
    assert word.rf_point(n, d, ratio, 4, kind)["S"] == pytest.approx(sensitivity.projected_ascent(view, 6, 80).value, rel=3e-3)


def test_points_of_deep_features_have_the_law_of_matrices_that_are_drawn():
    n, d, trials = 12, 16, 8
    deferred = [word.drf_point(n, d, 2, trial)["S"] for trial in range(trials)]
    drawn = []
    for seed in range(trials):
        deep = sensitivity.DeepRandomFeatures.sample(n, d, n * d, 2, seed)
        drawn.append(sensitivity.projected_ascent(deep.one_token(context(n, d, 50 + seed), 0), 2, 30).value)
    error = math.sqrt((np.var(deferred) + np.var(drawn)) / (trials - 1))
    assert abs(np.mean(deferred) - np.mean(drawn)) < 4 * error < 0.3 * np.mean(drawn)


def proof_run(n=5, d=7, seed=0):
    """A run with numbers at random, to be put together by hand."""
    draw = generator(seed)
    some = lambda *shape: normal(*shape, generator=draw)
    start = {"X": some(n, d), "kind": "", "draws": 1, "delta": some(d), "pair": some(2, d)}
    measured = {"gap": 1.5 * some(2, n - 1).abs(), "rows": some(2, n).abs(), "landed": some(2, n).abs()}
    measured |= {"norm": 0.9, "asked": some(n, d), "answers": some(n, d)}
    return theorem_3.ProofRun(**start, scale=0.45, moves=some(2, d), scores=some(2, n), **measured)


def largest_nonlinearity(run):
    n, d = run.X.shape
    linear = [[0.45 * float(run.X[j] @ run.pair[k]) / math.sqrt(d) for j in range(n)] for k in range(2)]
    return max(abs(float(run.scores[k, j]) - linear[k][j]) for k in range(2) for j in range(n)) / max(map(max, linear))


@pytest.mark.parametrize(("n", "d"), [(4, 9), (5, 7), (9, 12), (13, 20)])
def test_what_is_read_off_a_proof_run(n, d):
    for seed in range(4):
        run = proof_run(n, d, seed)
        assert (run.n, run.d) == (n, d)
        products = [[float(run.X[j] @ run.pair[k]) / d for j in range(n)] for k in range(2)]
        torch.testing.assert_close(run.products, torch.tensor(products, dtype=torch.float64))
        assert run.nonlinearity == pytest.approx(largest_nonlinearity(run))
        # at least a quarter of all rows is at most that far
        for k in range(2):
            last = float(run.nearest_quarter[k])
            assert (run.gap[k] <= last).sum() >= n / 4 > (run.gap[k] < last).sum()
        errors = [
            abs(float(run.rows[k, j] - run.landed[k, j]))
            for j in range(1, n)
            for k in range(2)
            if float(run.gap[0, j - 1]) <= 1 and float(run.gap[1, j - 1]) <= 1
        ]
        assert run.landing_error == pytest.approx(max(errors, default=0.0))
    far = dataclasses.replace(run, gap=run.gap + 1.1)  # nobody attends
    assert far.landing_error == 0 and not far.attending.any()
    near = dataclasses.replace(run, gap=torch.ones_like(run.gap))  # within 1/sqrt d of e_i, the end included
    assert near.attending.all() and near.landing_error == pytest.approx(float((run.rows - run.landed)[:, 1:].abs().max()))


def test_power_iterations_agree_in_law():
    assert stats.ks_2samp(*power_iterations(300)).pvalue > 1e-3


# Small moves, devices, odd sizes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", ["softmax", "relu"])
def test_small_moves_do_not_cancel(weights):
    raf = sensitivity.RandomAttentionFeatures.sample(10, 1, weights)
    X, delta = context(6, 10, 1), moves(1, 10, 5)
    slope = float(raf.one_token(X, 2).change(1e-4 * delta)) / 1e-8
    for size in (1e-6, 1e-8, 1e-11):
        assert float(raf.one_token(X, 2).change(size * delta)) / size**2 == pytest.approx(slope, rel=1e-3)
    single = raf.to(torch.float32).one_token(X.float(), 2)
    for size in (1e-3, 1e-6):
        assert float(single.change((size * delta).float())) / size**2 == pytest.approx(slope, rel=1e-2)


@pytest.mark.parametrize("kind", tokens.KINDS)
def test_word_sensitivity_in_single_precision(kind):
    X = context(12, 16, 3, kind)
    families = ["softmax", "relu", *(attention.Weights(*family) for family in (("sharp", 8), ("power", 10), ("truncated", 6)))]
    maps = [sensitivity.RandomAttentionFeatures.sample(16, 1, weights) for weights in families]
    maps += [sensitivity.RandomFeatures.sample(12, 16, 100, 1), sensitivity.DeepRandomFeatures.sample(12, 16, 60, 3, 1)]
    for map in maps:
        single = sensitivity.word_sensitivity(map.to(torch.float32), X.float(), starts=3, steps=40)
        assert printed.equation_3_4(map, X, 0, single.delta.double()) == pytest.approx(single.value, rel=1e-4)
        # an ascent that never falls ends at the same place in both precisions; one that roams need not
        double = sensitivity.projected_ascent(map.one_token(X, 0), starts=3, steps=40).value
        single = sensitivity.projected_ascent(map.to(torch.float32).one_token(X.float(), 0), starts=3, steps=40)
        assert single.value == pytest.approx(double, rel=1e-2)


def test_a_change_is_never_negative():
    for seed in range(40):  # x moves onto y, and every row attends to y alone, before and after: the change is 0
        X = context(2, 6, seed)
        X[0] = tokens.on_sphere((X[1] + 0.3 * X[0])[None])[0]
        W = torch.outer(X.sum(dim=0), X[1] - X[0]) * (3 + seed)
        view = sensitivity.RandomAttentionFeatures(W).one_token(X, 0)
        assert float(view.change((X[1] - X[0])[None])) >= 0


def test_maps_move_to_another_precision_and_never_compare_by_value():
    X = context(5, 4)
    for map in (sensitivity.RandomFeatures.sample(5, 4, 9, 0), sensitivity.DeepRandomFeatures.sample(5, 4, 9, 2, 0)):
        assert map == map and map != type(map)(map.V, map.n)
        torch.testing.assert_close(map.to(torch.float32)(X.float()).double(), map(X), rtol=1e-5, atol=1e-6)
    long = 2 * tokens.on_sphere(moves(50, 4).float()) / 2
    sensitivity.RandomFeatures.sample(5, 4, 9, 0).to(torch.float32).perturbed(X.float(), 0, long)


def test_a_deferred_matrix_follows_its_questions():
    A = sensitivity.DeferredGaussian(5, 4, 1.0, generator(0))
    v = normal(2, 4, generator=generator(1)).float()
    image = A.times(v)
    assert image.dtype == torch.float32
    torch.testing.assert_close(A.times(v), image)
    small = 1e-25 * normal(3, 5, generator=generator(2)).float()  # their squares are 0 in float32
    assert A.transpose_times(small).dtype == torch.float32 and len(A.left) == 3
    torch.testing.assert_close(A.left @ A.left.T, torch.eye(3))
    with pytest.raises(ValueError, match="vectors in float64; this matrix has been queried in float32"):
        A.transpose_times(small.double())


def test_an_ascent_stops_inside_the_ball():
    class Bowl(sensitivity.OneTokenFeatures):  # largest at a point inside
        peak = torch.tensor([0.3, -0.2, 0.1]).double()

        def __init__(self):
            self.x, self.norm = torch.zeros(3).double(), torch.tensor(1.0).double()

        def change(self, deltas):
            return 4 - (deltas - self.peak).square().sum(dim=1)

        def starts(self):
            return torch.eye(3).double()

    found = sensitivity.projected_ascent(Bowl(), starts=3, steps=80)
    torch.testing.assert_close(found.delta, Bowl.peak, atol=1e-4, rtol=0)


@pytest.mark.parametrize(("n", "d"), [(3, 3), (20, 192)])
def test_the_move_to_zero_leaves_nothing_of_rounding_errors(n, d):
    for seed in range(9, 14):
        X, raf = context(n, d, seed), sensitivity.RandomAttentionFeatures.sample(d, seed, "relu")
        before, after = (literal_raf(x, raf.W, "relu") for x in (X, moved(X, 0, -X[0])))
        expected = (after - before).square().sum()
        for count in (1, 2, 3):  # batches of other sizes add up in other orders
            found = raf.one_token(X, 0).change(-X[:1].repeat(count, 1))
            torch.testing.assert_close(found, expected.expand(count), rtol=1e-9, atol=1e-9)


def test_word_sensitivity_where_no_move_is_even():
    X, zero = context(5, 4), sensitivity.RandomAttentionFeatures(torch.zeros(4, 4).double())
    assert sensitivity.word_sensitivity(zero, X).value == pytest.approx(2 / (5 * float(X.mean(dim=0).norm())))
    root = math.sqrt(2)
    X = torch.tensor([[1.0, 1.0], [root, 0.0], [-root, 0.0]]).double()
    raf = sensitivity.RandomAttentionFeatures(torch.tensor([[0.0, 1.0], [-1.0, 0.0]]).double())
    view = raf.one_token(X, 0)  # what raises one row's score lowers the other's
    best = word.supremum_in_the_plane(view)
    assert sensitivity.word_sensitivity(raf, X).value == pytest.approx(best, rel=1e-3)
    for move in (view.even_move, raf.one_token(X[:1], 0).averting_move):
        with pytest.raises(ValueError, match="^no move"):
            move()


def test_relu_jumps_where_the_last_positive_score_vanishes():
    X, raf = context(2, 3, 1), sensitivity.RandomAttentionFeatures.sample(3, 1, "relu")
    found = sensitivity.projected_ascent(raf.one_token(X, 0))  # it ends at such a place
    at = lambda share: printed.equation_3_4(raf, X, 0, share * found.delta)
    assert at(1) < 0.7 * found.value  # there the row of weights is 0/0, and zero by convention
    assert at(1 - 1e-7) == pytest.approx(found.value, rel=1e-5) or at(1 + 1e-7) == pytest.approx(found.value, rel=1e-5)


def test_gradients_are_computed_under_no_grad():
    X = context(4, 6)
    for map in (sensitivity.RandomAttentionFeatures.sample(6, 1), sensitivity.RandomFeatures.sample(4, 6, 20, 1)):
        expected = sensitivity.word_sensitivity(map, X, steps=5)
        with torch.no_grad():
            found = sensitivity.word_sensitivity(map, X, steps=5)
        assert found.value == expected.value and torch.equal(found.delta, expected.delta)
        with torch.inference_mode(), pytest.raises(ValueError, match=r"take torch.no_grad\(\)"):
            sensitivity.word_sensitivity(map, X, steps=5)
    features = sensitivity.RandomFeatures.sample(4, 6, 20, 1).one_token(X, 0)
    expected = features.steepest()
    with torch.no_grad():
        assert torch.equal(features.steepest(), expected)


@given(st.floats(1, 1e15), st.floats(-1, 1), st.floats(-12, 0), st.integers(1, 9))
def test_infinite_width_keeps_its_digits(n, cosine, power, depth):
    import mpmath

    length = 10**power
    with mpmath.workdps(60):
        m, c, l = map(mpmath.mpf, (n, cosine, length))
        q = mpmath.sqrt(max(0, 1 + (l * l + 2 * l * c) / m))
        angle = (1 + l * c / m) / (q or 1)
        for _ in range(depth):
            angle = (mpmath.sqrt(1 - min(1, angle**2)) + (mpmath.pi - mpmath.acos(min(1, angle))) * angle) / mpmath.pi
        expected = float(mpmath.sqrt(1 + q * q - 2 * q * angle))
    assert float(sensitivity.infinite_width_change(n, cosine, length, depth)) == pytest.approx(expected, rel=1e-12, abs=1e-25)


def test_the_wider_search_is_a_literal_change_and_leaves_the_kinks_of_relu():
    X, raf = context(20, 192, 1), sensitivity.RandomAttentionFeatures.sample(192, 1, "relu")
    view = raf.one_token(X, 0)
    found = sensitivity.search(view)
    assert found.value == pytest.approx(printed.equation_3_4(raf, X, 0, found.delta), rel=1e-9)
    assert found.value > 1.02 * sensitivity.projected_ascent(view).value
    assert found.history.shape == (201, 24) and bool((found.history.diff(dim=0) >= 0).all())
    aimed = view.aimed_moves(3)
    assert aimed.shape == (3, 192) and torch.allclose(aimed.norm(dim=1), torch.tensor(192.0).double().sqrt())
    assert sensitivity.search(sensitivity.RandomFeatures.sample(4, 6, 20, 1).one_token(context(4, 6), 0), 1, 1).value > 0


def test_the_number_of_evaluations_is_counted(monkeypatch):
    calls, literal = [], word_module._value_and_gradient
    monkeypatch.setattr(word_module, "_value_and_gradient", lambda m, delta: calls.append(len(delta)) or literal(m, delta))
    for weights in ("softmax", "relu"):
        view = sensitivity.RandomAttentionFeatures.sample(6, 1, weights).one_token(context(4, 6), 0)
        calls.clear()
        sensitivity.search(view, starts=5, steps=30)
        assert sum(calls) == sensitivity.evaluations(5, 30) and len(calls) == 31


@pytest.mark.parametrize("weights", ["softmax", "relu"])
def test_the_authors_search_follows_the_gradient_and_stays_in_the_ball(weights):
    X = context(12, 20, 4)
    raf = sensitivity.RandomAttentionFeatures.sample(20, 1, weights)
    view = raf.one_token(X, 0)
    delta = normal(20, generator=generator(5)).requires_grad_(True)
    change = view.change(delta[None])[0]
    (expected,) = torch.autograd.grad(change, delta)
    square, gradient = searches.Change(view)(delta.detach().numpy())
    assert square == pytest.approx(float(change.detach()), rel=1e-12)
    torch.testing.assert_close(torch.from_numpy(gradient), expected, rtol=1e-7, atol=1e-9)
    assert searches.authors_search(view, 0, 1) < searches.authors_search(view, 300, 1) <= sensitivity.sensitivity_bound(view)


def test_the_recorded_search_finds_less_than_the_authors_in_one_context_of_132():
    record = read_record("word-searches").rows
    ratio = record["ours"] / np.maximum(record["theirs"], 1e-9)
    assert len(record) == 132 and bool((record["equal"] <= record["cost"]).all())
    assert (ratio < 1).sum() == 1 and ratio.min() > 1 - 1e-4
    assert np.median(ratio[record["weights"] == "relu"]) > 1.1


@pytest.mark.parametrize(("kind", "weights", "n"), [("iid", "relu", 10), ("anisotropic", "softmax", 10), ("real", "relu", 20)])
def test_the_search_finds_what_the_authors_finds_at_equal_cost(kind, weights, n):
    row = searches.run(kind, weights, n, 48, 7)
    assert row["equal"] <= row["cost"] and row["ours"] >= (1 - 1e-4) * row["theirs"] > 0


def test_statistics_of_tokens_by_hand(monkeypatch):
    X = 2 * torch.eye(4).double()[[0, 1, 1, 0, 0, 0]].reshape(2, 3, 4)  # two contexts: e_1 e_2 e_2 and e_1 e_1 e_1
    monkeypatch.setattr(token_kinds, "contexts", lambda kind, *sizes: X if kind == "layer-0" else -X)
    found = token_kinds.run("layer-0", 2, 3, 4, 0)
    expected = {"mean": 5 / 9, "cosine": 2 / 3, "directions": 1.0, "same": 2 / 3, "first": 1.0, "row": -1.0}
    assert found == pytest.approx(expected)
    assert token_kinds.run("iid", 2, 3, 4, 0)["row"] == pytest.approx(1.0)


@pytest.mark.skipif(not wheels.installed(), reason="needs the models: make models")
def test_bare_rows_are_those_of_the_word_embedding(monkeypatch):
    monkeypatch.setattr("attention_theory.trained.texts.reviews", lambda: [("A fine film.", 1)])
    model, ids = minilm(), [101, *minilm().tokens("A fine film."), 102][:5]
    rows = tokens.on_sphere(model.w["embeddings.word_embeddings.weight"][ids].double())
    torch.testing.assert_close(token_kinds.contexts("rows", 1, 5, 384, 0)[0], rows)
