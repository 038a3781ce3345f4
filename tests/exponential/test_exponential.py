"""Families of weights in the four worlds, against literal computations."""

import math
from fractions import Fraction

import pytest
import torch
from attention_checks.exponential import exact_kernels, knobs, sensitivity_bounds
from attention_checks.exponential.runs import sides, together
from attention_theory import exponential, tangent, tokens
from attention_theory.attention import attention_weights
from attention_theory.device import generator, normal
from attention_theory.exponential import competition, kernels, power, relu_power, sharp, space, truncated, windows, words
from attention_theory.sensitivity import RandomAttentionFeatures, search
from attention_theory.sensitivity.attention_features import OneTokenAttention
from attention_theory.separation import network
from attention_theory.separation.exact import separation_probability

SIZES = dict(a0=0.01, a1=1.2, b=0.2, c=0.8)


@pytest.mark.parametrize("weights", [sharp(0.7), sharp(math.inf), truncated(4), power(3), relu_power(2)], ids=str)
@pytest.mark.parametrize("model", ["self-ones", "self-identity", "cross"])
def test_separation_is_that_of_enumerated_signs(weights, model):
    n, d, m = 24, 7 if model == "cross" else 8, 3
    sizes = dict(a0=0.3, a1=1.1) | ({} if model == "cross" else dict(b=0.3, c=0.6))
    bits = torch.arange(2**d)
    y = ((bits >> torch.arange(d)[:, None]) & 1).double() * 2 - 1
    fires = []
    for a in (sizes["a1"], sizes["a0"]):
        A1, A2, X = network.data.inputs(model, n, d, a, sizes.get("b"), sizes.get("c"))
        rows = network.attention_features(A1, A2, A2, X, weights)
        tau = network.data.threshold(model, math.sqrt(math.log(n)), sizes.get("c"))
        fires.append((rows @ y).amax(0) > tau + 1e-12)
    quiet = float((~fires[1]).double().mean())
    both = float((~fires[1] & ~fires[0]).double().mean())
    ours = exponential.separation_probability(weights, model, d, m, n=n, **sizes)
    assert ours == pytest.approx(quiet**m - both**m, abs=1e-12)


def test_least_knobs_agree_with_the_exact_probability():
    for model in ("self-ones", "self-identity"):
        size = 12 * math.log(10)
        found = windows.paper_sizes(size) | SIZES
        p = exponential.least_degree(model, 10**12, 1.2, 0.2, 0.8)
        assert exponential.separation_probability(power(p + 1), model, **found, log_n=size) > 0.5
        assert exponential.separation_probability(power(p - 2), model, **found, log_n=size) < 0.5
        beta = knobs.least_sharpness(model, 10**12, 1.2, 0.2, 0.8)
        assert exponential.separation_probability(sharp(1.05 * beta), model, **found, log_n=size) > 0.5
        assert exponential.separation_probability(sharp(0.9 * beta), model, **found, log_n=size) < 0.5


def test_truncations_approach_softmax_and_zero_sharpness_averages():
    scores = torch.randn(5, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert torch.allclose(attention_weights(scores, truncated(40)), torch.softmax(scores, 1))
    assert torch.allclose(attention_weights(scores, sharp(0)), torch.full((5, 6), 1 / 6, dtype=torch.float64))
    hard = attention_weights(scores, sharp(math.inf))
    assert torch.equal(hard.argmax(1), scores.argmax(1)) and torch.equal(hard.sum(1), torch.ones(5, dtype=torch.float64))


@pytest.mark.parametrize(("degree", "d", "expected"), [(2, 3, 9), (4, 3, 25), (8, 3, 81), (2, 5, 20), (4, 5, 105), (1, 4, 4)])
def test_rank(degree, d, expected):
    assert exponential.seen_dimension(degree, d) == expected


def test_least_truncation_is_least():
    p = knobs.least_truncation(20, 10, 1000)
    needed = math.log(1000)
    assert competition.log_ratio(truncated(p), 20, 10) >= needed > competition.log_ratio(truncated(p - 2), 20, 10)


def test_the_hard_maximum_comes_near_three():
    view, delta = sensitivity_bounds.nearly_three(50)
    X = torch.cat([view.x[None], view.others])
    phi = [attention_weights(x @ view.W @ x.T, sharp(math.inf)) @ x for x in (X, torch.cat([X[:1] + delta, X[1:]]))]
    assert float((phi[1] - phi[0]).norm() / phi[0].norm()) == pytest.approx(math.sqrt(9 - 5 / 50), abs=1e-6)


def test_a_row_of_odd_powers_vanishes_where_it_is_said():
    X = tokens.contexts("iid", 1, 12, 24, seed=0)[0]
    for degree in (1, 3):
        X_moved = X.clone()
        X_moved[0] += words.vanishing_move(degree, X)
        sums = RandomAttentionFeatures.sample(24, 0).scores(X_moved).pow(degree).sum(1)[1:]
        assert float(sums.abs().min()) < 1e-9 < float(sums.abs().max())


def test_forbidden_labels_are_orthogonal_to_the_degree():
    x = tangent.unit_points(12, 3, seed=0)
    y = exact_kernels.forbidden_labels(2, x)
    assert set(y.tolist()) <= {-1.0, 1.0} and exact_kernels.descend(sharp(1), x, y, 200, 0, 1000).right == 12


@pytest.mark.parametrize(("degree", "d", "n"), [(1, 2, 4), (1, 3, 5), (2, 2, 6), (3, 3, 17)])
def test_no_polynomial_of_the_degree_has_the_forbidden_labels(degree, d, n):
    x = tangent.unit_points(n, d, seed=1)
    assert not kernels.reachable(kernels.monomials(degree, x), exact_kernels.forbidden_labels(degree, x))
    with pytest.raises(ValueError, match="no labels are forbidden"):
        exact_kernels.forbidden_labels(degree, x[1:])


@pytest.mark.parametrize("family", [sharp, power, relu_power])
@pytest.mark.parametrize(("high", "low", "rivals", "wanted"), [(3.0, 2.0, 50, 0.5), (1.7, 0.4, 1000, 0.9), (9.0, 8.0, 7, 0.6)])
def test_the_least_knob_gives_the_share(family, high, low, rivals, wanted):
    u = family(competition.least_knob(family, high, low, rivals, wanted))
    assert u(high) / (u(high) + rivals * u(low)) == pytest.approx(wanted, rel=1e-10)
    assert competition.least_knob(family, high, low, rivals) == competition.least_knob(family, high, low, rivals, 0.5)


def test_the_least_sharpness_of_scores_of_both_signs():
    assert competition.least_knob(sharp, 1.0, -1.0, 100) == pytest.approx(math.log(100) / 2)


@pytest.mark.parametrize("u", [sharp(0.7), truncated(4), power(3)], ids=str)
def test_the_largest_share_is_that_of_one_high_score_among_low_ones(u):
    scores = torch.tensor([2.5, *6 * [0.8]], dtype=torch.float64)
    assert competition.largest_share(u, 0.8, 2.5, 7) == pytest.approx(float(attention_weights(scores, u)[0]), rel=1e-12)


def test_averaging_sensitivity_is_the_change_by_any_longest_move():
    X = tokens.contexts("iid", 1, 5, 8, seed=0)[0]
    delta = torch.randn(8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    moved = X.clone()
    moved[3] += math.sqrt(8) * delta / delta.norm()
    phi, after = (attention_weights(x @ x.T, sharp(0)) @ x for x in (X, moved))
    assert words.averaging_sensitivity(X) == pytest.approx(float((after - phi).norm() / phi.norm()), rel=1e-12)
    tiny = 0.01 * X  # a sum below 1 is no zero
    assert words.averaging_sensitivity(tiny) == pytest.approx(100 * words.averaging_sensitivity(X))


def test_word_sensitivity_is_that_of_part_one_and_averages_over_contexts():
    X = tokens.contexts("iid", 3, 5, 8, seed=0)
    each = []
    for seed, x in enumerate(X):
        features = RandomAttentionFeatures.sample(8, seed, truncated(2))
        found = words.word_sensitivity_with(truncated(2), x, 1, seed, 3, 5)
        assert found.size == pytest.approx(float(features(x).norm()) / math.sqrt(5 * 8), rel=1e-10)
        assert found.value == pytest.approx(search(features.one_token(x, 1), 3, 5, seed).value, rel=1e-12)
        each.append(search(features.one_token(x, 0), 3, 5, seed).value)
    assert words.mean_sensitivity(truncated(2), X, 3, 5) == pytest.approx(sum(each) / 3, rel=1e-12)


def test_mean_sensitivity_of_odd_powers(monkeypatch):
    X = tokens.contexts("iid", 2, 5, 9, seed=0)
    monkeypatch.setattr(words, "word_sensitivity_with", lambda *given: words.Sensitivity(2.0, 1.0, torch.zeros(9)))
    moves = {}
    monkeypatch.setattr(words, "vanishing_move", lambda degree, x, token, seed: moves[degree, token, seed] * x[0] / x[0].norm())
    for first, second, expected in ((2.9, 5, math.inf), (5, 2.9, math.inf), (3.1, 5, 2.0)):  # sqrt(d) = 3
        moves |= {(3, 0, 0): first, (3, 0, 1): second}
        assert words.mean_sensitivity(power(3), X) == expected
    assert words.mean_sensitivity(power(2), X) == words.mean_sensitivity(relu_power(1), X) == 2.0


@pytest.mark.parametrize("u", [sharp(1.5), truncated(2), power(2), relu_power(2), sharp(math.inf)], ids=str)
def test_abilities_are_what_the_four_worlds_say(monkeypatch, u):
    monkeypatch.setattr(together, "mean_sensitivity", lambda weights, X: (weights == u) * 1.25)
    asked = []
    path = space.population_descent_with

    def descent(weights, **options):
        asked.append(options)
        return path(weights, **options | dict(steps=2))

    monkeypatch.setattr(together, "population_descent_with", descent)
    points = tangent.unit_points(7, 2, seed=0)
    found = together.abilities(u, torch.ones(1, 2, 2, dtype=torch.float64), points, digits=3, width=40)
    # the rank of the Jacobian of the network
    net = kernels.start_network(u, 2, 40, 0)
    J = torch.autograd.functional.jacobian(lambda W: 40 * attention_weights(points @ W, u) @ net.a[0], net.W).flatten(1)
    raised = u.family in ("power", "relu_power")
    assert found.rank == int(torch.linalg.matrix_rank(J, rtol=1e-6)) and found.points == 7
    assert asked == [dict(D=9, C=3, q=0.25, steps=120, start=float(raised), beta=1.0 + raised)]
    assert found.error == float(path(u, 9, 3, 0.25, steps=2, start=float(raised), beta=1.0 + raised).error[2])
    log_n = 3 * math.log(10)
    size = log_n - math.log(0.01)
    expected = separation_probability(u, "self-ones", math.ceil(10 * size), math.ceil(9 * size), **SIZES, log_n=log_n)
    assert found.probability == together.separates(u, 3) == expected and found.sensitivity == 1.25


def test_answers_of_abilities():
    groups = float(space.group_error(9, 3, Fraction(1, 4)))
    yes = together.Abilities(1.0, 0.51, 5, groups + 5e-10, 5)
    no = together.Abilities(0.99, 0.5, 4, groups + 2e-9, 5)
    assert (yes.notices, yes.separates, yes.fits, yes.finds) == (True, True, True, True)
    assert (no.notices, no.separates, no.fits, no.finds) == (False, False, False, False)
    assert not together.Abilities(2.0, 1.0, 5, groups - 2e-9, 5).finds


@pytest.mark.parametrize("u", [sharp(0.5), sharp(math.inf), truncated(2), power(2), relu_power(1)], ids=str)
def test_the_bound_from_below_is_not_above_a_search(u):
    X = tokens.contexts("iid", 1, 9, 6, seed=5)[0]
    view = OneTokenAttention(u, RandomAttentionFeatures.sample(6, 4).W, X, 3)
    deltas = tokens.on_sphere(normal(200, 6, generator=generator(0)))
    raised = sensitivity_bounds.raising_move(view, torch.arange(1))
    best = float(view.change(torch.cat([deltas, -0.999999 * X[3:4], raised[None]])).max().sqrt())
    assert 0 < sensitivity_bounds.from_below(view) <= 1.3 * best / float(view.norm)


@pytest.mark.parametrize("m", [1, 2, 4, 7])
def test_a_rise_of_several_rows_is_what_its_proof_says(m):
    """Step 1 of the proof: the mean length of a normal vector, over the root of a mean that is simulated here."""
    d, draws, k = 12, 20_000, 12 - m
    x = tokens.on_sphere(normal(draws, m, d, generator=generator(m))) / d**0.5
    inverse = float((x @ x.mT).inverse().sum((1, 2)).mean())
    length = math.sqrt(2) * math.exp(math.lgamma((k + 1) / 2) - math.lgamma(k / 2))
    assert sensitivity_bounds._rise(d, m) == pytest.approx(length / inverse**0.5, rel=0.02)


def test_the_token_moved_to_zero_is_a_bound_from_below():
    X = tokens.contexts("iid", 1, 300, 4, seed=5)[0]
    W = RandomAttentionFeatures.sample(4, 4).W
    view, gone = OneTokenAttention(sharp(0.1), W, X, 0), X.clone()
    gone[0] = 0
    rows = [torch.softmax(0.1 * x[0] @ W @ x.T / 2, dim=0) @ x for x in (X, gone)]
    assert sensitivity_bounds.from_below(view) >= float((rows[1] - rows[0]).norm() / view.norm) * (1 - 1e-9)


def test_the_limit_of_long_contexts_is_between_one_and_the_root_of_the_dimension():
    assert sensitivity_bounds.long_context_limit(torch.eye(4, dtype=torch.float64)) == pytest.approx(1)
    assert sensitivity_bounds.long_context_limit(torch.diag(torch.tensor([3.0, 0, 0, 0]).double())) == pytest.approx(2)


def test_the_guess_where_it_can_be_done_by_hand():
    # one token: one row is raised, the moved row changes by sqrt(2 d), the features are as long as a token
    assert sensitivity_bounds.expected_sensitivity(1.0, 1, 100) == pytest.approx(math.sqrt(400 / 101))
    # many tokens: 2 beta over beta sqrt(n)
    assert sensitivity_bounds.expected_sensitivity(0.5, 1e14, 64) == pytest.approx(2e-7, rel=1e-3)


def test_a_recorded_pair_of_sides():
    both, X = sides.run("sharp", 1, 9, 6, 0, steps=5, starts=2), tokens.contexts("iid", 1, 9, 6, seed=100)[0]
    view = OneTokenAttention(sharp(1), RandomAttentionFeatures.sample(6, 0).W, X)
    assert (both["below"], both["bound"]) == (sensitivity_bounds.from_below(view), sensitivity_bounds.three_parts(view).bound)
    assert both["found"] == words.word_sensitivity_with(sharp(1), X, 0, 0, 2, 5).value <= both["bound"]
    assert {(p["n"], p["steps"]) for p in sides.points()} >= {(4096, 0), (2048, 50)}


@pytest.mark.parametrize("u", [sharp(1), power(1), relu_power(1), sharp(math.inf)], ids=str)
def test_a_row_at_three_sizes(monkeypatch, u):
    monkeypatch.setattr(together, "LENGTHS", (4,))
    monkeypatch.setattr(together, "WORLDS", ((6, 2),))
    row = together.at_three_sizes(u, steps=2)
    X = tokens.contexts("iid", 1, 4, 64, seed=1)
    assert row.words == (words.mean_sensitivity(u, X, steps=0 if u.knob == math.inf else 50),)
    assert row.separation == tuple(together.separates(u, k) for k in (6, 12, 100))
    assert row.few_blocks == separation_probability(u, "self-identity", **together.FEW_BLOCKS)
    raised = float(u.family in ("power", "relu_power"))
    run = space.population_descent_with(u, 6, 2, 0.25, steps=2, start=raised, beta=1 + raised)
    assert row.error == (float(run.error[2]) / float(space.group_error(6, 2, Fraction(1, 4))),)
    flat = u in (power(1), sharp(math.inf))
    kernel = None if flat else exponential.limit_kernel_with(u, tangent.unit_points(30, 3, seed=2))
    least = [0.0 if flat else max(0.0, float(torch.linalg.eigvalsh(kernel[:n, :n])[0] / kernel[0, 0])) for n in (5, 10, 30)]
    assert row.eigenvalue == pytest.approx(least, abs=1e-12)


def test_the_curves_of_the_four_worlds_at_a_small_size():
    points, betas = tangent.unit_points(12, 3, seed=0), [0.05, 1.0, 2.5]
    curves = together.four_curves(betas, tokens.contexts("iid", 2, 4, 6, seed=0), steps=3)
    assert max(curves["notices a word"]) == 1
    for beta, fits, groups in zip(betas, curves["fits labels"], curves["finds groups"]):
        kernel = exponential.limit_kernel_with(sharp(beta), points)
        values = torch.linalg.eigvalsh(kernel / kernel[0, 0])  # a kernel with diagonal 1
        assert fits == pytest.approx(max(float(values[0]), 0), abs=1e-13)
        assert groups == float(space.population_descent_with(sharp(beta), 9, 3, 0.25, steps=3).group[3])
