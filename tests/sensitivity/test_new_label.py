"""Both solutions on a new label, against gradient descent and literal pseudo-inverses."""

import math

import numpy as np
import pytest
import torch
from attention_checks.sensitivity import printed
from attention_checks.sensitivity.runs import laws, worst
from attention_checks.sensitivity.runs import new_label as new_label_runs
from attention_theory import sensitivity, tokens
from attention_theory.device import generator, normal, signs
from attention_theory.sensitivity import new_label
from scipy.stats import binom
from theorybook import identity, rate_interval
from theorybook.records import Table

n, d, N, k = 5, 12, 9, 80


def problem(seed=0, p=30, rows=N):
    draw = generator(seed)
    Phi, phi, moved = normal(rows, p, generator=draw), normal(p, generator=draw), normal(3, p, generator=draw)
    return Phi, signs(rows, generator=draw), phi, 1.0, moved


def maps(seed=1):
    contexts = tokens.contexts("iid", N + 1, n, d, seed=0)
    for map in (
        sensitivity.RandomFeatures.sample(n, d, k, seed),
        sensitivity.RandomAttentionFeatures.sample(d, seed),
        sensitivity.RandomAttentionFeatures.sample(d, seed, weights="relu"),
    ):
        yield map, contexts, torch.stack([map(X).flatten() for X in contexts])


def test_retraining_is_one_step_also_from_old_labels_that_are_not_fitted():
    """Two sentences with equal features and opposite labels: both errors stay, and the step is that of own-new-label-error."""
    Phi, labels, phi = (
        torch.tensor([[1.0, 0], [1, 0]]).double(),
        torch.tensor([1.0, -1]).double(),
        torch.tensor([1.0, 2]).double(),
    )
    old = sensitivity.min_norm_interpolator(Phi, labels)
    assert (labels - Phi @ old).abs().min() > 0.9
    off_span = torch.tensor([0.0, 2]).double()
    step = old + (1 - phi @ old) * off_span / off_span.square().sum()
    new = sensitivity.min_norm_interpolator(torch.vstack([Phi, phi]), torch.tensor([1.0, -1, 1]).double())
    torch.testing.assert_close(new, step)


def test_readout_equals_the_features_read_out():
    for map, contexts, features in maps():
        one = map.one_token(contexts[0], n - 1)
        deltas, directions = normal(3, d, generator=generator(0)), normal(2, features.shape[1], generator=generator(1))
        assert torch.allclose(one.readout(deltas, directions), one.features(deltas).flatten(1) @ directions.T)


def test_a_near_duplicate_is_trained_through_the_features():
    Phi, labels, phi, label, moved = problem(p=200)
    Phi[1] = Phi[0] + 1e-7 * Phi[1]
    labels[1] = labels[0]
    theta, again = sensitivity.min_norm_interpolator(Phi, labels), printed.equation_6_6(Phi, labels, phi, label)
    change = sensitivity.feature_alignment(Phi, phi, moved) * (label - phi @ theta)
    assert identity("(6.13)", moved @ (again - theta), change, 1e-6).holds
    with pytest.raises(ValueError, match="lost to rounding; use min_norm_interpolator and feature_alignment"):
        sensitivity.solutions(Phi, labels, phi, label)


def test_best_moves_lower_each_loss_and_stay_in_the_ball():
    map, contexts, features = list(maps())[1]
    labels = signs(N + 1, generator=generator(2))
    model = sensitivity.solutions(features[:-1], labels[:-1], features[-1], float(labels[-1]))
    one = map.one_token(contexts[-1], 0)
    losses = [(name, p) for name in new_label.LOSSES for p in (0.0, 1.0)]
    deltas = sensitivity.best_moves(model, one, losses, starts=3, steps=60)
    assert deltas.norm(dim=1).max() <= d**0.5 * (1 + 1e-12)
    found, still = (model.measure(one, x) for x in (deltas, torch.zeros_like(deltas)))
    for j, (name, p) in enumerate(losses):
        if name.startswith("target"):
            r = model.residual * model.label
            loss = [(2 + (q["alignment" + name[6:]] - 1) * r).square() for q in (found, still)]
        elif name.startswith("alignment"):
            loss = [(q[name] + 1).square() for q in (found, still)]
        else:
            loss = [q[name] for q in (found, still)]
        assert loss[0][j] + p * found["shift"][j] ** 2 < loss[1][j]


def test_best_moves_reach_the_alignment_that_they_aim_at():
    map, contexts, features = list(maps())[1]
    labels = 5 * signs(N + 1, generator=generator(2))  # a large residual, so that 1 - 2 y / residual is in reach
    model = sensitivity.solutions(features[:-1], labels[:-1], features[-1], 1.0)
    one = map.one_token(contexts[-1], 0)
    deltas = sensitivity.best_moves(model, one, [("target-fine", 0.0), ("target-again", 0.0)], starts=3, steps=60)
    found = model.measure(one, deltas)
    for j, solution in enumerate(("fine", "again")):
        assert float(found["alignment-" + solution][j]) == pytest.approx(1 - 2 / model.residual, abs=1e-3)


def test_descent_finds_the_minimum_of_a_quadratic_inside_and_at_the_rim():
    inside, outside = torch.tensor([0.5, -0.3]).double(), torch.tensor([30.0, 40.0]).double()
    start = torch.tensor([[1.0, 1.0]]).double()
    for goal, expected in ((inside, inside), (outside, outside / 50 * 2**0.5)):
        found, value = sensitivity.descend(lambda x: (x - goal).square().sum(1), start, 300)
        assert torch.allclose(found[0], expected, atol=1e-3)
        assert value[0] == pytest.approx(float((found[0] - goal).square().sum()))


def test_recorded_run_evaluates_the_parameters_it_trained():
    for map in ("RF", "RAF", "ReLU-RAF"):
        losses = {6: new_label_runs.PLAIN, 8: new_label_runs.PENALISED}
        found = new_label_runs.run(map, "iid", 4, 10, losses, 0, starts=2, steps=5)
        assert len(found["N"]) == 2 * (len(new_label_runs.PLAIN) + len(new_label_runs.PENALISED))
        slack = np.abs(found["alignment"] - 1) * found["residual"]
        assert (found["error"] >= np.clip(2 - found["gamma"] - slack, 0, None) ** 2 - 1e-9).all()
        assert (np.abs(found["alignment"] - 1) <= found["ceiling"] + 1e-9).all()
        fine = np.array(found["solution"]) == "fine"
        slope = 2**0.5 * (1 + 4**-0.5) / 4**0.5  # of ReLU features with k = nd = 4 d, for many of them
        assert (
            (found["ceiling"][fine] <= found["sensitivity"][fine]).all() and (found["sensitivity"] < 1.5 * slope).all()
            if map == "RF"
            else np.isnan(found["sensitivity"]).all()
        )


def test_the_record_has_the_losses_of_the_grid(book, monkeypatch):
    monkeypatch.chdir(book / "sensitivity")
    record = new_label_runs.load()
    for map, n, losses in new_label_runs.GRID:
        for N, wanted in losses.items():
            runs = record.where(map=map, n=n, N=N, trial=0, kind="iid", solution="fine")
            assert list(zip(runs["loss"], runs["penalty"])) == wanted
    assert {p for _, p in new_label_runs.PENALISED} == {0.0, *printed.FIGURE_5["p"]}


def test_single_draws_leave_the_law_of_the_worst_alignment_at_few_features():
    """own-slack-decay: at k = d a plain ascent finds |a_f - 1| more than 30% above the law in some draws."""
    n, d, over = 10, 64, []
    for seed in range(40):
        one = sensitivity.one_token_in_law(tokens.contexts("iid", 1, n, d, seed), 0, d, seed)[0]
        phi = one.unmoved
        worst_found = 0.0
        for sign in (1, -1):
            delta = sign * (one.block.T @ phi)
            for _ in range(25):
                delta = delta * math.sqrt(d) / delta.norm()
                sums = one.rest + one.block @ (one.x + delta)
                worst_found = max(worst_found, abs(float(sums.relu() @ phi / (phi @ phi)) - 1))
                uphill = sign * (one.block.T @ (phi * (sums > 0)))
                delta = delta / math.sqrt(d) + uphill / uphill.norm().clamp(min=1e-12)
        over.append(worst_found / worst.slack_law(n, d, d))
    assert max(over) > 1.5 and sum(ratio > 1.3 for ratio in over) >= 2


def test_lipschitz_concentration_fails_for_words_of_one_number():
    """Tokens of one number are +-1. The distance to the half of the cube with sum <= 0, exactly: no c of (A.1) serves all n."""
    scatter = []
    for n in (10**2, 10**4, 10**6):
        up = np.arange(n + 1)
        law = binom.pmf(up, n, 0.5)
        turned = np.ceil(np.maximum(2 * up - n, 0) / 2)  # so many of the +1 must turn
        distance = 2 * np.sqrt(turned)
        mean = law @ distance
        scatter.append(math.sqrt(law @ (distance - mean) ** 2))
        if n == 10**4:
            assert law[abs(distance - mean) > 4].sum() > 0.8 > 2 * math.exp(-0.4 * 4**2)
    assert scatter[1] == pytest.approx(6.8, abs=0.1)
    assert np.divide(scatter[1:], scatter[:-1]) == pytest.approx(100**0.25, rel=0.02)


def test_random_signs_have_the_covariance_and_not_the_fourth_moment():
    """What "Gaussian" is for: the sum of eight numbers with random signs, all 256 of them, in the setting of gram_in_law."""
    contexts, c = tokens.contexts("anisotropic", 4, 3, 4, seed=5), torch.tensor([1.0, -1.0, 0.5, 2.0]).double()
    row = c @ contexts[:, 1:].flatten(1)
    signs = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0]).double()] * 8)
    square = (signs @ row).square() / row.square().sum()
    assert float(square.mean()) == pytest.approx(1) and float(square.square().mean()) / 3 < 0.95


def test_a_search_of_the_worst_gamma_is_a_lower_bound():
    """Two starts against eighty, n = 10: more starts find more, and k = d features pass gamma = 2."""
    for k, least in ((None, 0), (64, 2)):
        model, one = worst.problem("RF", "iid", 10, 64, 50, 0, k)
        many = 8 * torch.nn.functional.normalize(normal(80, 64, generator=generator(0)))
        few = torch.stack([one.x, -one.x])

        def reached(starts, model=model, one=one):
            lowest = new_label.descend(lambda moves: -model.measure(one, moves)["shift"].square(), starts, 30)[1]
            return math.sqrt(-float(lowest.min()))

        assert reached(many) > 1.02 * reached(few) > least
        assert reached(many) <= one.certificate() / math.sqrt(model.smallest) * math.sqrt(51)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_leaning_tokens_have_their_share_in_a_common_mean(share):
    X = worst.leaning(share, 4, 500, 200, generator(0))
    assert X.square().sum(-1) == pytest.approx(200 * np.ones((4, 500)))
    assert X.mean(1).square().sum(-1) / 200 == pytest.approx(share * np.ones(4), abs=0.02)


def test_a_turned_answer_is_the_literal_one():
    found = worst.turned(0.4, 0, n=4, d=12, N=5)
    assert found["gamma"] < 1 and 0 <= found["again"] < 4


def test_alignment_in_single_precision():
    Phi, _, phi, _, moved = problem()
    single = sensitivity.feature_alignment(Phi.float(), phi.float(), moved.float())
    torch.testing.assert_close(single.double(), sensitivity.feature_alignment(Phi, phi, moved), rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match="0/0"):
        sensitivity.feature_alignment(Phi.float(), Phi[:4].sum(dim=0).float(), moved.float())


@pytest.mark.parametrize("distance", [1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-6])
def test_single_precision_agrees_or_is_refused(distance):
    Phi, labels, phi, label, moved = problem(p=60)
    Phi[1] = Phi[0] + distance * Phi[1]
    expected = [sensitivity.min_norm_interpolator(Phi, labels), sensitivity.feature_alignment(Phi, phi, moved)]
    single = [tensor.float() for tensor in (Phi, labels, phi, moved)]
    calls = [
        lambda P, y, f, m: sensitivity.min_norm_interpolator(P, y),
        lambda P, y, f, m: sensitivity.feature_alignment(P, f, m),
    ]
    if distance > 1e-3:  # (13) needs the inverse of the Gram matrix, whose condition number is the square
        expected.append(sensitivity.solutions(Phi, labels, phi, label).theta)
        calls.append(lambda P, y, f, m: sensitivity.solutions(P, y, f, label).theta)
    for call, right in zip(calls, expected):
        if distance <= 1e-4:
            with pytest.raises(ValueError, match="loses the answer"):
                call(*single)
        elif distance == 1e-2 and call is calls[-1]:
            with pytest.raises(ValueError, match="lost to rounding"):
                call(*single)
        else:
            assert float((call(*single).double() - right).norm()) <= 2e-3 * float(right.norm())


def test_samples_that_repeat_exactly_are_fine():
    Phi, labels, phi, _, moved = problem()
    Phi[1], labels[1] = Phi[0], labels[0]
    keep = [0, *range(2, N)]
    assert torch.allclose(
        sensitivity.min_norm_interpolator(Phi, labels), sensitivity.min_norm_interpolator(Phi[keep], labels[keep])
    )
    assert torch.allclose(sensitivity.feature_alignment(Phi, phi, moved), sensitivity.feature_alignment(Phi[keep], phi, moved))


def test_condition_is_that_of_the_gram_matrix():
    Phi, labels, phi, label, _ = problem()
    joint = torch.cat([Phi, phi[None]])
    for given in ((), (joint @ joint.T,)):
        model = sensitivity.solutions(Phi, labels, phi, label, *given)
        assert model.condition == pytest.approx(float(torch.linalg.cond(joint @ joint.T)))
        assert model.smallest == pytest.approx(float(torch.linalg.eigvalsh(joint @ joint.T)[0]))


def test_the_exact_probability_of_a_small_norm():
    draws = normal(200_000, 6, generator=generator(3)).clamp(min=0).square().sum(dim=1)
    for epsilon in (0.3, 0.6, 0.9):
        seen = rate_interval(int((draws <= (1 - epsilon) * 3).sum()), 200_000)
        assert seen.low <= math.exp(-laws.small_norm_exponent(6, epsilon) * epsilon**2 * 6) <= seen.high


def test_film_reviews_bring_their_sentiment_and_other_tokens_fair_signs(monkeypatch):
    films = [("a bb ccc dddd", 1), ("eeeee ff g", -1), ("hh iii jjjj", -1)]
    encoder = tokens.Encoder("Words", lambda text: [len(word) for word in text.split()], lambda ids: torch.eye(300)[ids] + 0.5)
    monkeypatch.setitem(tokens.ENCODERS, "layer-0", lambda: encoder)
    monkeypatch.setattr("attention_theory.trained.texts.reviews", lambda: films)
    X, labels = new_label_runs.labelled_contexts("layer-0", 3, 4, 8, 1)
    order = torch.randperm(3, generator=generator(1)).tolist()
    assert labels.tolist() == [films[i][1] for i in order]
    assert torch.equal(X, tokens.contexts("layer-0", 3, 4, 8, 1))
    X, labels = new_label_runs.labelled_contexts("iid", 50, 2, 8, 1)
    assert torch.equal(X, tokens.contexts("iid", 50, 2, 8, 1)) and set(labels.tolist()) == {1, -1}


def test_features_of_figures_4_to_7_count_what_the_text_says():
    def rows(map, n, N, loss, penalty, gamma, error):
        return [
            {"map": map, "n": n, "N": N, "kind": "iid", "trial": 0, "solution": s, "loss": f"{loss}-{t}", "penalty": penalty}
            | {"gamma": gamma, "error": error + 0.5 * (s != t), "sensitivity": 0.5, "residual": -2.0, "smallest": 0.25}
            for s in ("fine", "again")
            for t in ("fine", "again")
        ]

    found = rows("RF", 40, 100, "alignment", 0.0, 1.0, 0.8)  # the line is 1
    found += rows("RAF", 40, 100, "alignment", 0.0, 1.0, 0.97) + rows("RAF", 40, 100, "target", 1.0, 0.0, 3.0)
    found += rows("RAF", 40, 700, "alignment", 0.0, 1.0, 0.9) + rows("RAF", 40, 1300, "alignment", 0.0, 1.0, 0.97)
    for map, error in (("RAF", 0.0), ("ReLU-RAF", 0.75)):
        found += rows(map, 120, 400, "alignment", 0.0, 1.0, error) + rows(map, 120, 400, "alignment", 1.0, 0.25, 2.0)
        found += [row for p in (0.0, 0.01, 0.1) for row in rows(map, 120, 400, "error", p, 0.1, 0.1)]
        found += rows(map, 120, 400, "error", 1.0, 0.0, 3.99)
    expected = (0.2, 0.2 / 4, 0.0, 1.0, 0.5, 0.25, -1.0, 1.0, 0.25, 1.0)
    assert list(new_label_runs.features(Table(found)).values()) == pytest.approx(expected)
    assert list(new_label_runs.features(Table(found))) == list(new_label_runs.EXPECTED)
