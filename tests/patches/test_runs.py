"""What the chapters of Part IV measure, at small sizes, against independent computations."""

import itertools
import math

import numpy as np
import pytest
import torch
from attention_checks.patches.runs import expectation, lemmas, samples, transfer, worlds
from attention_theory import patches
from attention_theory.patches.population import critical_stray_rate, initial_growth, population_descent


def test_disagreement_with_the_labelling_function():
    world = patches.Population(16, 4, 0.4)
    margins = world.margins(patches.ReducedViT(1.0, 60.0, 0.0, 60.0, nu=0.0))
    assert world.disagreement(margins, ties=False) == pytest.approx(patches.block_disagreement(16, 4, 0.4), rel=1e-9)
    zero = torch.full_like(margins, 1.0)
    never = world.disagreement(world.labelling())  # P[f* = 0]: a group of the other sign for the signal group, at least
    assert never == pytest.approx(float(world.probability[world.labelling() == 0].sum())) and never > 0.2**4
    no_label = world.disagreement(zero) - world.disagreement(zero, ties=False)
    assert world.disagreement(margins) == pytest.approx(world.disagreement(margins, ties=False) + no_label, rel=1e-6)


@pytest.mark.parametrize("size", [(6, 2, 0.5), (4, 2, 0.3)])
def test_the_label_noise_is_bayes_risk(size):
    assert worlds.bayes_risk(*size) == pytest.approx(patches.label_noise_floor(*size), abs=1e-12)
    assert worlds.labelling_error(*size) == pytest.approx(patches.label_noise_floor(*size)[0], abs=1e-12)


@pytest.mark.parametrize("case", [(8, 2, 0.6, 1.0), (9, 3, 0.3, 0.5)])
def test_opening(case):
    assert expectation.initial_growth_enumerated(*case) == pytest.approx(initial_growth(*case), rel=1e-5)
    q = critical_stray_rate(case[1], case[3])
    if q < 1:
        assert initial_growth(case[0], case[1], q, case[3])[0] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("rate", [None, 0.5])
def test_scores_move_per_unit_of_the_rate_that_was_run(rate):
    rate_v, rate_A = (1e-3, 10.0) if rate is None else (rate, rate)
    temperature = 1.0 if rate is None else 6**0.5
    path = population_descent(6, 2, 0.25, steps=3, rate_v=rate_v, rate_A=rate_A, temperature=temperature)
    run = expectation.descent(6, 2, 0.25, steps=3, rate=rate)
    torch.testing.assert_close(run.path.gamma, path.gamma)
    torch.testing.assert_close(run.moved("gamma"), path.gamma.diff() / rate_A)


def test_flow_moves_by_its_step():
    flow = expectation.one_rate_flow(6, 2, 0.3, points=3, size=0.05)
    assert flow[1].gamma == pytest.approx(0.05) and flow[2].time > flow[1].time > 0
    own = math.exp(1 / 6**0.5)  # at the start a patch's own score is 1, all others are 0
    assert (flow[0].inside, flow[0].outside) == pytest.approx((1 / (own + 5), 4 / (own + 5)))
    for here, after in itertools.pairwise(flow):  # both scores go up their growth, the steeper one by the size
        step = 0.05 / max(abs(here.growth_gamma), abs(here.growth_rho))
        assert after.gamma == pytest.approx(here.gamma + step * here.growth_gamma)
        assert after.rho == pytest.approx(here.rho + step * here.growth_rho) != here.rho
    assert expectation.steps_to(flow, lambda p: p.gamma > 0.04) > 0


def test_the_scores_of_partners_stay_equal_only_if_the_diagonal_is_equal():
    """Lemma 4.1, Part 2: an untrained diagonal with two values moves the scores of two pairs of partners apart."""
    X, y, chance = patches.every_point(4, 2, 0.25)
    for diagonal, apart in (([1.0, 1, 1, 1], False), ([1.0, 2, 1, 1], True)):
        A, v = torch.tensor(diagonal).double().diag(), torch.tensor([0.1]).double()
        last = expectation.matrix_descent(A, v, X, y, chance, steps=3)[0][-1]
        assert bool(abs(last[0, 1] - last[1, 0]) > 1e-3) == apart


@pytest.mark.parametrize("size", [(8, 2, 0.5), (12, 4, 0.1), (9, 3, 1.0)])
def test_pull_at_equal_scores(size):
    slope = lambda alpha: patches.Population(*size).gradients(patches.ReducedViT(alpha, 0.0, 0.0, nu=0.0))[0]
    assert expectation.pull_at_equal_scores(0.2, *size) == pytest.approx(-slope(0.2))
    best = expectation.best_at_equal_scores(*size)
    assert slope(0.99 * best) < 0 < slope(1.01 * best)


def test_best_length_at_equal_scores_follows_its_limit():
    """At q = C / D the law of the strays has a limit and all D rows see the sum: alpha D^(1/3) has one, too."""
    scaled = [expectation.best_at_equal_scores(D, 4, 4 / D) * D ** (1 / 3) for D in (10**4, 10**5, 10**6)]
    assert scaled[1:] == pytest.approx(scaled[:1] * 2, rel=2e-3)


def test_power_sequences():
    path = lemmas.power_sequence(0.1, 2, 1.0, 1.0, 0.5)
    assert np.allclose(np.diff(path), path[:-1] ** 2) and path[-2] < 0.5 <= path[-1]
    log, bound = lemmas.power_product(0.1, 2, 0.5, 0.3, 1)
    assert 0 < log <= bound


def test_strays():
    assert lemmas.stray_moment(8, 4, 0.5, 2) == pytest.approx(16 + 4 * 0.5)
    assert lemmas.crowding(4, 0.5, 10) == 4  # P[4 strays] = 1/16 <= 1/10 < P[3 or more] = 5/16


def test_other_rows_are_the_pull_of_the_population():
    pull = patches.Population(6, 2, 0.3).feature_pull(patches.ReducedViT(1e-3, 0.0, 0.0, nu=0.0))[1]
    assert lemmas.other_rows(6, 2, 0.3) == pytest.approx(2 * pull / 3e-6, rel=1e-4)


def test_first_gradient_does_not_depend_on_the_scores():
    signal, other, G = samples.first_gradient(6, 2, 0.4)
    assert signal == pytest.approx(1e-3 * G) and signal + other == pytest.approx(1e-3 * 6)


def test_gradients_answer_in_proportion():
    by_v, by_A = samples.displaced(np.array([1e-4, 1e-3]))
    assert by_v.scores[1] / by_v.scores[0] == pytest.approx(100, rel=0.01)
    assert by_A.along[1] / by_A.along[0] == pytest.approx(10, rel=0.01)


def test_the_learned_form_has_its_share():
    assert transfer.group_share(transfer.learned_form(16, 0.7)) == pytest.approx(0.7)
