"""Learning the score of a mixture: data, regression, sampling and errors, one point and one step at a time."""

import itertools
import math

import mpmath
import numpy as np
import pytest
import torch
from attention_checks.tangent import printed
from attention_checks.tangent.reverse_process import sliced_wasserstein
from attention_checks.tangent.runs import score
from attention_theory.device import generator, normal
from attention_theory.tangent import SoftmaxNetwork
from literal import limit

MIXTURE = score.centred_pair([[0.01, 0.04], [0.03, 0.02]], 0.4)


def test_clusters_of_the_plane_by_their_axes():
    mixture = score.plane_mixture()
    assert mixture.weights.tolist() == [0.40, 0.35, 0.25]
    clusters = [(0.5, 2.0, 0.12, 0.05), (2.4, 0.0, 0.07, 0.07), (4.1, 0.2, 0.12, 0.04)]  # place, direction, deviations
    for mean, covariance, (place, angle, long, short) in zip(mixture.means, mixture.covariances, clusters):
        assert mean.tolist() == pytest.approx([0.55 * math.cos(place), 0.55 * math.sin(place)])
        along, across = ((math.cos(angle), math.sin(angle)), (-math.sin(angle), math.cos(angle)))
        for axis, deviation in ((along, long), (across, short)):
            image = covariance @ torch.tensor(axis, dtype=torch.float64)
            assert image.tolist() == pytest.approx([deviation**2 * part for part in axis], abs=1e-12)


@pytest.mark.parametrize(("horizon", "radius"), [(2.0, None), (3.0, 5.0)])
def test_a_score_problem_and_its_inputs(horizon, radius):
    problem = score.draw_score_problem(MIXTURE, 6, 4, horizon, radius)
    assert torch.equal(problem.t, horizon * torch.rand(6, generator=generator(4), dtype=torch.float64))
    noisy, clean = MIXTURE.pairs(problem.t, 5)
    assert torch.equal(problem.noisy, noisy) and torch.equal(problem.clean, clean) and problem.horizon == horizon
    length = max(math.hypot(*point) for point in noisy.tolist())
    assert problem.radius == pytest.approx(radius or length)
    for found, t, point in zip(problem.X, problem.t.tolist(), noisy.tolist()):
        expected = [t / horizon, point[0] / (radius or length), point[1] / (radius or length)]
        assert found.tolist() == pytest.approx([part / math.sqrt(2) for part in expected])
    torch.testing.assert_close(problem.inputs(0.5, noisy)[:, 0], torch.full((6,), 0.5 / horizon / 2**0.5).double())


def test_regression_path_is_equation_24_with_the_limit_kernel():
    """One input is repeated, so that one eigenvalue is 0."""
    X, labels, test = (normal(*shape, generator=generator(k)) for k, shape in enumerate([(4, 3), (4, 2), (5, 3)]))
    X[3] = X[0]
    H, K = limit(X, X), limit(test, X)
    rate = 1 / float(np.linalg.eigvalsh(H.numpy())[-1])
    found = score.regression_path(X, labels, test, [0, 1, 2, 60])
    for column in (0, 1):
        gammas = printed.equation_24(H, labels[:, column], rate, 1, 60)
        for steps, prediction in zip((0, 1, 2, 60), found):
            torch.testing.assert_close(prediction[:, column], printed.definition_f_1(K, gammas[steps], 1), rtol=1e-7, atol=1e-9)


def test_error_is_the_mean_squared_distance():
    prediction, truth = torch.tensor([[1.0, 2.0], [0.0, 0.0]]), torch.tensor([[0.0, 4.0], [3.0, 0.0]])
    assert score.error(prediction, truth) == (1 + 4 + 9) / 2


def test_train_on_descends_at_the_rate_of_the_limit():
    problem = score.draw_score_problem(MIXTURE, 3, 4)
    net = SoftmaxNetwork.paired(3, 6, 5, outputs=2)
    rate, W = 1 / (6 * float(np.linalg.eigvalsh(limit(problem.X, problem.X).numpy())[-1])), net.W
    for _ in range(3):
        W = W - rate * printed.claim_3_4(W, net.a, problem.X, problem.clean)
    torch.testing.assert_close(score.train_on(problem, 6, 3, 5).W, W)


def test_error_by_time_has_a_sample_for_each_time():
    problem = score.draw_score_problem(MIXTURE, 3, 4)
    errors, energies = score.error_by_time(problem, lambda X: 2 * X[:, 1:], [0.1, 1.5])
    for k, t in enumerate((0.1, 1.5)):
        x = MIXTURE.sample(1000, seed=500 + k, t=t)
        exact = MIXTURE.posterior_mean(t, x)
        squares = [
            (2 * p / problem.radius / math.sqrt(2) - q) ** 2 for p, q in zip(x.flatten().tolist(), exact.flatten().tolist())
        ]
        assert float(errors[k]) == pytest.approx(math.fsum(squares) / 1000)
        assert float(energies[k]) == pytest.approx(float(exact.norm()) ** 2 / 1000)


@pytest.mark.parametrize("n", [1, 3, 4])
def test_pivots_are_ratios_of_leading_minors(n):
    points = normal(n, 2, generator=generator(3))
    with mpmath.workdps(80):
        rows = [[mpmath.mpf(v) for v in point] for point in points.tolist()]
        inner = [[sum(p * q for p, q in zip(left, right)) for right in rows] for left in rows]
        minors = [mpmath.mpf(1)]
        for k in range(1, n + 1):
            minors.append(mpmath.det(mpmath.matrix([[v * mpmath.exp(v) for v in row[:k]] for row in inner[:k]])))
        for k, pivot in enumerate(score.pivots(points, 60)):
            assert abs(mpmath.mpf(pivot.mid().str(60, radius=False)) * minors[k] / minors[k + 1] - 1) < mpmath.mpf(10) ** -50


def test_reverse_sample_is_sixty_steps_of_equation_4():
    found = score.reverse_sample(lambda t, x: -x * (1 + t), 0.01, 7, 5)
    y, random = normal(5, 2, generator=generator(7)), generator(8)
    times = [(math.sqrt(2) + (math.sqrt(0.01) - math.sqrt(2)) * k / 60) ** 2 for k in range(61)]
    for t, after in itertools.pairwise(times):
        y = printed.equation_4(y, -y * (1 + t), 1.0, t - after, normal(5, 2, generator=random))
    torch.testing.assert_close(found, y)


def test_distances_are_to_fresh_samples():
    seeds = []
    make = lambda seed: seeds.append(seed) or normal(20, 2, generator=generator(seed))
    found = score.distances(MIXTURE, make, range(3, 8, 2))
    assert seeds == [3, 5, 7]
    fresh = [sliced_wasserstein(normal(20, 2, generator=generator(s)), MIXTURE.sample(1000, seed=s + 5)) for s in (3, 5, 7)]
    assert found == fresh


def test_both_sides_of_the_fokker_planck_equation_by_hand():
    """For u = t^2 x + t x y^2 + sin x, drift (x y + t, y^2) and g = 1 + 3 t."""
    log_q = lambda t, x: t**2 * x[:, 0] + t * x[:, 0] * x[:, 1] ** 2 + torch.sin(x[:, 0])
    drift = lambda t, x: torch.stack((x[0] * x[1] + t, x[1] ** 2))
    times, points = torch.tensor([0.4, 1.3], dtype=torch.float64), normal(2, 2, generator=generator(0))
    left, right = score.fokker_planck(log_q, drift, lambda t: 1 + 3 * t, times, points)
    for k, (t, (x, y)) in enumerate(zip(times.tolist(), points.tolist())):
        slope = (t**2 + t * y**2 + math.cos(x), 2 * t * x * y)
        laplacian = -math.sin(x) + 2 * t * x
        flow = (x * y + t) * slope[0] + y**2 * slope[1]
        expected = -(y + 2 * y) - flow + (1 + 3 * t) / 2 * (laplacian + slope[0] ** 2 + slope[1] ** 2)
        assert (float(left[k]), float(right[k])) == pytest.approx((2 * t * x + x * y**2, expected))
