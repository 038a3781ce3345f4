"""Both solutions on a new label, against gradient descent and literal pseudo-inverses; and what breaks them."""

import math

import numpy as np
import pytest
import torch
from attention_theory import sensitivity, tokens
from attention_theory.device import generator, normal, signs
from attention_theory.evidence import identity, rate_interval
from attention_theory.sensitivity import attention_features, new_label, paper
from attention_theory.sensitivity.random_features import one_token_in_law
from attention_theory.sensitivity.runs import laws, worst
from attention_theory.sensitivity.runs import new_label as new_label_runs
from hypothesis import given, settings
from hypothesis import strategies as st

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


def fine_tuned_error(Phi, labels, phi, label, moved):
    return paper.equation_6_7(paper.equation_6_5(paper.equation_6_3(Phi, labels), phi, label), moved, label)


def retrained_error(Phi, labels, phi, label, moved):
    return paper.equation_6_7(paper.equation_6_6(Phi, labels, phi, label), moved, label)


def test_solutions_are_where_gradient_descent_ends():
    Phi, labels, phi, label, _moved = problem()
    start = normal(30, generator=generator(5))
    theta = sensitivity.trained(Phi, labels, start)
    assert torch.allclose(theta, new_label.gradient_descent(Phi, labels, start), atol=1e-9)
    fine = new_label.gradient_descent(phi[None], labels.new_tensor([label]), theta)
    assert torch.allclose(paper.equation_6_5(theta, phi, label), fine)
    joint = torch.cat([Phi, phi[None]]), torch.cat([labels, labels.new_tensor([label])])
    assert torch.allclose(
        paper.equation_6_6(Phi, labels, phi, label, start), new_label.gradient_descent(*joint, start), atol=1e-8
    )


def test_errors_are_those_of_pseudo_inverses():
    Phi, labels, phi, label, moved = problem()
    theta = np.linalg.pinv(Phi.numpy()) @ labels.numpy()
    fine = theta + phi.numpy() * (label - phi.numpy() @ theta) / (phi.numpy() @ phi.numpy())
    joint = np.linalg.pinv(np.vstack([Phi, phi])) @ np.append(labels, label)
    for error, parameters in ((fine_tuned_error, fine), (retrained_error, joint)):
        assert np.allclose(error(Phi, labels, phi, label, moved), (moved.numpy() @ parameters + label) ** 2)
    off = np.eye(30) - np.linalg.pinv(Phi.numpy()) @ Phi.numpy()
    expected = moved.numpy() @ off @ phi.numpy() / (phi.numpy() @ off @ phi.numpy())
    assert np.allclose(sensitivity.feature_alignment(Phi, phi, moved), expected)


def test_alignment_without_training_samples_is_the_one_of_fine_tuning():
    Phi, _, phi, _, moved = problem()
    assert torch.allclose(sensitivity.feature_alignment(Phi[:0], phi, moved), moved @ phi / phi.square().sum())


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.booleans())
def test_identity_6_13_for_any_start(seed, rows, positive):
    Phi, labels, phi, _, moved = problem(seed, rows=rows)
    label = 1.0 if positive else -1.0
    start = normal(30, generator=generator(seed + 1))
    theta, again = sensitivity.trained(Phi, labels, start), paper.equation_6_6(Phi, labels, phi, label, start)
    change = sensitivity.feature_alignment(Phi, phi, moved) * (label - phi @ theta)
    assert identity("(6.13)", moved @ (again - theta), change, 1e-8).holds


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_the_bound_with_its_slack_holds_for_any_features(seed):
    Phi, labels, phi, label, moved = problem(seed)
    theta = sensitivity.trained(Phi, labels)
    gamma = paper.equation_6_4(theta, phi, moved)
    for error, Psi in ((fine_tuned_error, Phi[:0]), (retrained_error, Phi)):
        slack = (sensitivity.feature_alignment(Psi, phi, moved) - 1).abs() * (label - phi @ theta).abs()
        assert (error(Phi, labels, phi, label, moved) >= (2 - gamma - slack).clamp(min=0).square() - 1e-9).all()


def test_directions_equal_the_literal_solutions():
    for map, contexts, features in maps():
        labels = signs(N + 1, generator=generator(2))
        Phi, phi, label, X = features[:-1], features[-1], float(labels[-1]), contexts[-1]
        model = sensitivity.solutions(Phi, labels[:-1], phi, label)
        deltas = normal(4, d, generator=generator(3))
        deltas = deltas / deltas.norm(dim=1, keepdim=True) * d**0.5
        moved = torch.stack([map(torch.cat([X[:2], X[2:3] + delta, X[3:]])).flatten() for delta in deltas])
        found = model.measure(map.one_token(X, 2), deltas)
        theta = sensitivity.trained(Phi, labels[:-1])
        assert torch.allclose(found["shift"].abs(), paper.equation_6_4(theta, phi, moved))
        assert torch.allclose(found["alignment-again"], sensitivity.feature_alignment(Phi, phi, moved))
        assert torch.allclose(found["alignment-fine"], sensitivity.feature_alignment(Phi[:0], phi, moved))
        assert torch.allclose(found["error-fine"], fine_tuned_error(Phi, labels[:-1], phi, label, moved))
        assert torch.allclose(found["error-again"], retrained_error(Phi, labels[:-1], phi, label, moved))
        gram = features @ features.T
        assert model.smallest == pytest.approx(float(torch.linalg.eigvalsh(gram)[0]))
        assert float((1 / model.again.square().sum()) * torch.linalg.inv(gram)[-1, -1]) == pytest.approx(1)
        assert sensitivity.solutions(Phi, labels[:-1], phi, label, gram).condition == pytest.approx(model.condition)


def test_readout_equals_the_features_read_out():
    for map, contexts, features in maps():
        one = map.one_token(contexts[0], n - 1)
        deltas, directions = normal(3, d, generator=generator(0)), normal(2, features.shape[1], generator=generator(1))
        assert torch.allclose(one.readout(deltas, directions), one.features(deltas).flatten(1) @ directions.T)


def test_a_near_duplicate_is_trained_through_the_features():
    Phi, labels, phi, label, moved = problem(p=200)
    Phi[1] = Phi[0] + 1e-7 * Phi[1]
    labels[1] = labels[0]
    theta, again = sensitivity.trained(Phi, labels), paper.equation_6_6(Phi, labels, phi, label)
    change = sensitivity.feature_alignment(Phi, phi, moved) * (label - phi @ theta)
    assert identity("(6.13)", moved @ (again - theta), change, 1e-6).holds
    with pytest.raises(ValueError, match="lost to rounding; use trained and feature_alignment"):
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


def test_target_loss_is_the_error_at_shift_zero():
    map, contexts, features = list(maps())[1]
    labels = signs(N + 1, generator=generator(2))
    model = sensitivity.solutions(features[:-1], labels[:-1], features[-1], float(labels[-1]))
    deltas = normal(5, d, generator=generator(0))
    found = model.measure(map.one_token(contexts[-1], 0), deltas)
    for solution in ("fine", "again"):
        centred = 2 + model.label * found["shift"] + (found["alignment-" + solution] - 1) * model.residual * model.label
        assert torch.allclose(centred.square(), found["error-" + solution])


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


def test_a_part_of_a_recorded_run_can_be_repeated():
    losses = new_label_runs.PLAIN[:2]
    whole = new_label_runs.run("RAF", "iid", 4, 10, {6: losses, 8: losses}, 0, starts=2, steps=5)
    part = new_label_runs.run("RAF", "iid", 4, 10, {6: losses}, 0, pool=8, starts=2, steps=5)
    assert part["error"] == pytest.approx(whole["error"][np.array(whole["N"]) == 6])


def test_the_record_has_the_losses_of_the_grid(book, monkeypatch):
    monkeypatch.chdir(book / "sensitivity")
    record = new_label_runs.load()
    for map, n, losses in new_label_runs.GRID:
        for N, wanted in losses.items():
            runs = record.where(map=map, n=n, N=N, trial=0, kind="iid", solution="fine")
            assert list(zip(runs["loss"], runs["penalty"])) == wanted
    assert {p for _, p in new_label_runs.PENALISED} == {0.0, *paper.FIGURE_5["p"]}


def test_a_point_of_the_figures_takes_losses_and_search_of_its_map(monkeypatch):
    def asked(map, kind, n, d, losses, trial, pool=None, device="cpu", **search):
        return {"asked": [map, kind, n, d, losses, trial, pool, device, search]}

    monkeypatch.setattr(new_label_runs, "run", asked)
    for map, n, losses in new_label_runs.GRID:
        sizes = list(losses)[:2]
        search = {"starts": 2, "steps": 50} if map == "RF" else {"starts": 4, "steps": 150}
        found = new_label_runs.figures_4_to_7(map, "real", n, sizes, 3, d=20, pool=30, device="meta")["asked"]
        assert found == [map, "real", n, 20, {N: losses[N] for N in sizes}, 3, 30, "meta", search]


def test_lines_and_turns():
    runs = new_label_runs.Table([{"gamma": g, "error": e} for g, e in ((0.05, 0.9), (0.5, 2.1), (3.0, 0.0))])
    assert np.allclose(new_label_runs.line(runs), [1.95**2, 2.25, 0])
    assert new_label_runs.below(runs).tolist() == [True, True, False]
    assert new_label_runs.turned_at_once(runs).tolist() == [True, False, False]


def test_worst_moves_are_bounded_as_the_proof_says():
    for k in (None, 40):
        found = worst.worst_moves("iid", 5, 8, 6, 0, k)
        assert found.fine <= found.S and found.again <= found.S * found.ratio
        assert found.excess_fine >= -4 * found.S * found.residual
        assert found.excess_again >= -4 * found.S * found.ratio * found.residual
    assert worst.slack_law(10, 64, 640) == pytest.approx(3**0.5 / 10)


def test_laws_of_what_is_drawn():
    values = laws.lipschitz_values(500, 4, 8)
    assert {len(v) for v in values.values()} == {500} and abs(values["a direction"].mean()) < 0.2
    for found, at in laws.gram_in_law(4, 20_000).values():
        assert found == pytest.approx(at * np.ones(4), abs=0.05)


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
    expected = [sensitivity.trained(Phi, labels), sensitivity.feature_alignment(Phi, phi, moved)]
    single = [tensor.float() for tensor in (Phi, labels, phi, moved)]
    calls = [lambda P, y, f, m: sensitivity.trained(P, y), lambda P, y, f, m: sensitivity.feature_alignment(P, f, m)]
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
    assert torch.allclose(sensitivity.trained(Phi, labels), sensitivity.trained(Phi[keep], labels[keep]))
    assert torch.allclose(sensitivity.feature_alignment(Phi, phi, moved), sensitivity.feature_alignment(Phi[keep], phi, moved))


def test_condition_is_that_of_the_gram_matrix():
    Phi, labels, phi, label, _ = problem()
    joint = torch.cat([Phi, phi[None]])
    assert sensitivity.solutions(Phi, labels, phi, label).condition == pytest.approx(float(torch.linalg.cond(joint @ joint.T)))


# Bad input


@pytest.mark.parametrize("label", [0.0, 2.0, float("nan")])
def test_a_label_must_be_a_sign(label):
    Phi, labels, phi, _, _ = problem()
    with pytest.raises(ValueError, match=f"must be -1 or 1.*got {label}|label = nan is not allowed: finite"):
        sensitivity.solutions(Phi, labels, phi, label)


def test_entries_must_be_finite():
    Phi, _, phi, _, moved = problem()
    moved[1, 2] = torch.inf
    with pytest.raises(ValueError, match="moved = .* with NaN or infinity is not allowed: finite"):
        sensitivity.feature_alignment(Phi, phi, moved)


def test_alignment_inside_the_span_is_refused():
    Phi, _, _phi, _, moved = problem()
    with pytest.raises(ValueError, match="0/0"):
        sensitivity.feature_alignment(Phi, Phi[:4].sum(dim=0), moved)


def test_unknown_losses_are_named():
    map, contexts, features = next(iter(maps()))
    model = sensitivity.solutions(features[:-1], torch.ones(N).double(), features[-1], 1.0)
    with pytest.raises(ValueError, match="'error'"):
        sensitivity.best_moves(model, map.one_token(contexts[-1], 0), [("error", 0.0)])


# Wrong implementations fail the checks of the chapter


def check_6_13(Phi, labels, phi, label, moved):
    theta, again = sensitivity.trained(Phi, labels), paper.equation_6_6(Phi, labels, phi, label)
    change = sensitivity.feature_alignment(Phi, phi, moved) * (label - phi @ theta)
    return identity("(6.13)", moved @ (again - theta), change, 1e-8)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda A, b: A.T @ b,  # the transpose for the pseudo-inverse
        lambda A, b: -torch.linalg.pinv(A) @ b,
        lambda A, b: 0.9 * torch.linalg.pinv(A) @ b,
    ],
)
def test_a_wrong_pseudo_inverse_fails(monkeypatch, wrong):
    assert check_6_13(*problem()).holds
    monkeypatch.setattr(new_label, "least_squares", wrong)
    assert not check_6_13(*problem()).holds


def literal(raf, X, deltas):
    return torch.stack([raf(torch.cat([X[:1] + delta, X[1:]])).flatten() for delta in deltas])


def check_readout():
    X = tokens.contexts("iid", 1, n, d, seed=0)[0]
    raf = sensitivity.RandomAttentionFeatures.sample(d, 1)
    deltas, directions = normal(2, d, generator=generator(0)), normal(2, n * d, generator=generator(1))
    return identity("update", raf.one_token(X, 0).readout(deltas, directions), literal(raf, X, deltas) @ directions.T)


def test_a_broken_softmax_fails(monkeypatch):
    assert check_readout().holds
    weight = sensitivity.OneTokenAttention.weight
    monkeypatch.setattr(sensitivity.OneTokenAttention, "weight", lambda self, moved: weight(self, moved / 2))
    assert not check_readout().holds


def test_a_wrong_row_in_the_readout_fails(monkeypatch):
    one_token = attention_features.OneTokenAttention
    own_row = one_token.own_row
    monkeypatch.setattr(one_token, "own_row", lambda self, moved: own_row(self, moved - self.x))
    assert not check_readout().holds


def test_a_dropped_block_in_the_joint_law_fails():
    contexts = tokens.contexts("iid", 4, n, d, seed=0)
    ones = one_token_in_law(contexts, 0, 40_000, seed=0)
    literal = contexts[:, 1:].flatten(1) @ contexts[:, 1:].flatten(1).T / (n * d)
    rest = torch.stack([one.rest for one in ones])
    assert torch.allclose(rest @ rest.T / 40_000, literal, atol=0.03)
    whole = contexts.flatten(1) @ contexts.flatten(1).T / (n * d)  # as if the moved token were in it
    assert not torch.allclose(rest @ rest.T / 40_000, whole, atol=0.03)


def test_the_exact_probability_of_a_small_norm():
    draws = normal(200_000, 6, generator=generator(3)).clamp(min=0).square().sum(dim=1)
    for epsilon in (0.3, 0.6, 0.9):
        seen = rate_interval(int((draws <= (1 - epsilon) * 3).sum()), 200_000)
        assert seen.low <= math.exp(-laws.small_norm_exponent(6, epsilon) * epsilon**2 * 6) <= seen.high
