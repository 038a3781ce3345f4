"""What is counted over whole populations and over all strays, against literal loops over every data point."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
import torch
from attention_checks.patches import printed
from attention_checks.patches.runs import expectation, lemmas, worlds
from attention_checks.patches.runs.expectation import Descent
from attention_theory import patches
from attention_theory.device import generator, normal
from attention_theory.patches import errors, hidden
from attention_theory.patches.population import Trajectory
from scipy.stats import skellam

SIZES = [(6, 2, 0.5), (6, 3, 0.8), (4, 1, 0.3)]


def every(D, C, q):
    """Patches, label, signal group and probability of each data point."""
    for y, signal in itertools.product((1, -1), range(D // C)):
        for rest in itertools.product((-1, 0, 1), repeat=D - C):
            strays = sum(map(abs, rest))
            yield (
                [*rest[: signal * C], *[y] * C, *rest[signal * C :]],
                y,
                signal,
                (q / 2) ** strays * (1 - q) ** (D - C - strays) / (2 * (D // C)),
            )


def labelling(x, C):
    """Groups full of +1, less those full of -1."""
    sums = [sum(x[i : i + C]) for i in range(0, len(x), C)]
    return sums.count(C) - sums.count(-C)


def scores(D, C, beta, gamma, rho):
    return [[beta if i == j else gamma if i // C == j // C else rho for j in range(D)] for i in range(D)]


def margin(x, y, S, alpha, nu=1e-3):
    """Y F at p = 3."""
    rows = [len(x) * alpha * sum(s * value for s, value in zip(row, x)) for row in S]
    return y * sum(z**3 + nu * z for z in rows)


def softmax(D, C, beta, gamma, rho):
    return torch.softmax(torch.tensor(scores(D, C, beta, gamma, rho), dtype=torch.float64), 1).tolist()


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


@pytest.mark.parametrize("size", SIZES)
def test_errors_of_scores_of_sums(size):
    D, C, q = size
    a = np.random.default_rng(1).integers(-2, 3, (4, D)) / 2
    wrong, none, best = np.zeros(4), 0.0, [Counter(), Counter()]
    missed = 0.0
    for x, y, _, chance in every(D, C, q):
        value, f = y * a @ x, labelling(x, C)
        wrong += chance * np.where(value == 0, 0.5, value < 0)
        none += chance * (f == 0)
        missed += chance * (f * y <= 0)
        for table, sign in zip(best, (y, np.sign(f))):
            table[sum(x), sign] += chance
    found = worlds.threshold_errors(torch.tensor(a, dtype=torch.float64), D, C, q)
    assert found.tolist() == pytest.approx(wrong.tolist(), abs=1e-13)
    assert none > 0 or C == 1
    assert worlds.decoder_error(D, C, q) == pytest.approx(none, abs=1e-13)
    least = [sum(min(table[t, 1], table[t, -1]) for t in range(-D, D + 1)) for table in best]
    assert worlds.best_of_total(D, C, q) == pytest.approx((*least, missed), abs=1e-13)


def own_largest(row, C):
    return sorted(range(len(row)), key=lambda j: (-row[j], j))[:C]


def test_rows_that_look_elsewhere():
    groups = torch.tensor([4, 9, 9, 4, 1, 1])
    for seed in range(5):
        A = torch.randn(6, 6, generator=generator(seed), dtype=torch.float64)
        away = sum(all(groups[j] != groups[i] for j in own_largest(A[i].tolist(), 2)) for i in range(6))
        assert worlds.disjoint_rows(A, groups) == away
    assert worlds.disjoint_rows(1.0 * (groups[:, None] != groups), groups) == 6


@pytest.mark.parametrize("side", [3, 4])
def test_touching_pairs_are_counted(side):
    groups = torch.randint(0, 2, (12,), generator=generator(side))
    pairs = 0
    for i, j in itertools.combinations(range(12), 2):
        near = abs(i // side - j // side) + abs(i % side - j % side) == 1
        pairs += near and bool(groups[i] == groups[j])
    assert worlds.touching_pairs(groups, side) == pairs > 3


def test_gram_matrices_of_every_rank():
    groups, source = torch.tensor([0, 1, 0, 1, 2, 2]), generator(7)
    disjoint, longest = [], 0
    for rank in range(1, 7):
        for _ in range(8):
            P = normal(rank, 6, generator=source)
            A = [[float(P[:, i] @ P[:, j]) for j in range(6)] for i in range(6)]
            disjoint.append(sum(all(groups[j] != groups[i] for j in own_largest(A[i], 2)) for i in range(6)))
            first = max(range(6), key=lambda i: A[i][i])
            longest += first in own_largest(A[first], 2)
    assert worlds.gram_search(groups, 8, 7) == (48, max(disjoint), longest)


def test_score_of_zero_against_a_label():
    """F = 0 where f* is not 0: it stands in P[f* F <= 0], and in no bound by the label noise."""
    D, C, q = 66, 6, 1 / 11
    below, tie = patches.block_disagreement(D, C, q), 2 * patches.label_noise_floor(D, C, q)[0]
    assert patches.block_disagreement(D, C, q, ties=True) - (below + tie) == pytest.approx(1.06e-11, rel=0.01)


def test_power_of_lone_strays_is_that_of_two_poisson_numbers():
    for C, a in ((8, 5.5), (16, 5.5), (8, 5)):
        exact = skellam.logcdf(-(C**3), C**a / 2, C**a / 2) / (-C * math.log(2))
        assert errors.stray_power(C, a) == pytest.approx(exact, rel=0.02)


def test_critical_stray_rate_of_the_linear_score():
    for size, error in (((6, 2), 1 / 8), ((16, 4), 1 / 8), ((32, 4), 0.2)):
        q = errors.critical_q(*size, error)
        assert patches.linear_error(*size, q) == pytest.approx(error, abs=1e-11)
    assert math.isnan(errors.critical_q(8, 4))
    assert errors.critical_q(4, 2) == 1  # where the error is exactly 1/8


def test_hidden_groups_at_their_ends():
    assert hidden.hidden_error(3, 3, 0.4) == 0 == printed.hidden_group_error(3, 3, 0.4)
    for N in (1, 2, 5):  # every sequence of the images' groups, of 4; an unseen one counts among those that are left
        left = [4 - len(set(groups)) for groups in itertools.product(range(4), repeat=N)]
        errors_left = [k / 4 * hidden.hidden_error(2 * k, 2, 0.3) if k else 0 for k in left]
        assert hidden.lower_bound(8, 2, 0.3, N) == pytest.approx(sum(errors_left) / len(left), rel=1e-12)
    curve = [hidden.lower_bound(24, 4, 0.9, N) for N in range(1, 16)]
    for error in (0.2, 0.12, 0.07, 0.05, 0.04, 0.03, 0.5):
        assert hidden.needed_samples(24, 4, 0.9, error) == 1 + sum(value > error for value in curve) <= 15


# Descents in expectation ---------------------------------------------------------------------------------------------


def fixed(loss=(1.0,), alpha=(0.3,), gamma=(1.0,), rho=(1.0,), world=(4, 2, 0.6), **settings):
    """A descent that is not run: what is read off it is known."""
    columns = [torch.tensor(x, dtype=torch.float64).expand(len(loss)) for x in (alpha, gamma, rho, loss, loss, loss)]
    settings = {"rate_A": 4.0, "temperature": 1.0, "nu": 1e-3} | settings
    return Descent(patches.Population(*world), Trajectory(*columns), **settings)


def test_what_is_read_off_a_descent():
    loss = (0.7, 0.4, 0.35, 0.34, 0.3)
    run = fixed(loss, alpha=(0.1, 0.3, 0.5, 0.4, 0.45), gamma=(0.0, 1.0, 3.0, 2.0, 2.5), rho=(0.0, -1.0, 0.0, 2.0, 8.0))
    assert run.early == 3 and expectation.loss_at_turn(run) == 0.35
    assert math.isnan(expectation.loss_at_turn(fixed(loss, alpha=(0.1, 0.3, 0.5, 0.55, 0.6))))
    assert expectation.loss_at_turn(fixed(loss, alpha=(0.1, 0.3, 0.5, 0.6, 0.55))) == 0.34
    assert run.moved("gamma").tolist() == [0.25, 0.5, -0.25, 0.125] and run.moved("rho").tolist() == [-0.25, 0.25, 0.5, 1.5]
    real = expectation.descent(4, 2, 0.6, steps=4)
    own = [sum(softmax(4, 2, 1.0, g, r)[0][:2]) for g, r in zip(real.path.gamma.tolist(), real.path.rho.tolist())]
    assert real.G.tolist() == pytest.approx([4 * x for x in own], rel=1e-12)
    share = Trajectory(*torch.tensor([[0.1, 0.5, 0.75, 0.9]], dtype=torch.float64).expand(6, 4))
    assert [share.reaches(x) for x in (0.05, 0.5, 0.6, 0.75, 0.8, 0.95)] == [0, 1, 2, 2, 3, None]


def test_a_tie_outweighs():
    """Equal weights: abs(N) <= 1 against 2 shared by half."""
    assert lemmas.outweighed(fixed(), 0) == pytest.approx(1 - 2 * 0.3**2, abs=1e-14)


def test_the_law_of_the_population():
    for order in (None, [2, 0, 3, 1]):
        law = Counter()
        for x, y, _, chance in every(4, 2, 0.3):
            law[(*(x[i] for i in order or range(4)), y)] += chance
        found = expectation.population_law(4, 2, 0.3, order)
        assert found == pytest.approx(law, abs=1e-15) and max(law.values()) > 0.1


@pytest.mark.parametrize("size", SIZES)
def test_the_plateau_ends_where_the_mean_sigmoid_has_halved(size):
    def mean(alpha, gamma, rho):
        S = softmax(*size[:2], 1.0, gamma, rho)
        return sum(chance * sigmoid(-margin(x, y, S, alpha)) for x, y, _, chance in every(*size))

    world = patches.Population(*size)
    assert expectation.mean_sigmoid(world, patches.ReducedViT(0.2, 0.5, -0.3)) == pytest.approx(mean(0.2, 0.5, -0.3), rel=1e-12)
    assert mean(expectation.plateau_end(*size), 0.0, 0.0) == pytest.approx(1 / 4, abs=1e-9)
