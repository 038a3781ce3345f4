"""Gaussian mixtures under the forward process, against automatic differentiation, quadrature."""

import math

import pytest
import torch
from attention_checks.tangent import reverse_process
from attention_checks.tangent.runs import score
from attention_theory import tangent
from attention_theory.device import generator, normal

MIXTURE = reverse_process.GaussianMixture(
    torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64),
    torch.tensor([[0.6, 0.0], [-0.4, 0.5], [0.0, -0.7]], dtype=torch.float64),
    torch.tensor([[[0.02, 0.01], [0.01, 0.03]], [[0.01, 0.0], [0.0, 0.05]], [[0.02, 0.0], [0.0, 0.02]]], dtype=torch.float64),
)
POINTS = normal(7, 2, generator=generator(0))


def literal_density(t, x):
    """p_t at one point, one Gaussian at a time."""
    alpha, h = math.exp(-t / 2), 1 - math.exp(-t)
    total = 0.0
    for weight, mean, covariance in zip(MIXTURE.weights, MIXTURE.means, MIXTURE.covariances):
        C = alpha**2 * covariance + h * torch.eye(2, dtype=torch.float64)
        gap = x - alpha * mean
        total += weight * torch.exp(-gap @ torch.linalg.inv(C) @ gap / 2) / (2 * math.pi * torch.sqrt(torch.linalg.det(C)))
    return total


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_drawn_points_have_the_covariance_in_any_direction(rank):
    factor = torch.tensor([[1.5, 0.2, 0.4], [-0.3, 1.0, 0.7], [-2.2, 0.6, 0.1]], dtype=torch.float64)[:, :rank]
    C = factor @ factor.T
    assert rank > 1 or torch.linalg.eigvalsh(C).min() < 0  # by rounding
    mixture = reverse_process.GaussianMixture(torch.ones(1).double(), torch.zeros(1, 3).double(), C[None])
    n, t = 200_000, 0.7
    noised, clean = mixture.pairs(torch.full((n,), t, dtype=torch.float64), seed=0)
    for x, expected in ((clean, C), (noised, math.exp(-t) * C + (1 - math.exp(-t)) * torch.eye(3))):
        error = ((expected.square() + torch.outer(expected.diagonal(), expected.diagonal())) / n).sqrt()
        assert ((x.T @ x / n - expected).abs() < 4 * error + 1e-12).all()


def one_gaussian(C):
    """A mixture of one Gaussian."""
    return reverse_process.GaussianMixture(torch.ones(1).to(C), torch.zeros(1, len(C)).to(C), C[None])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weights_and_covariances_may_be_off_by_rounding(dtype):
    """What was refused though right: float32 with ten equal weights, pixels, a covariance that was computed."""
    source = generator(0)
    ten = torch.full((10,), 0.1, dtype=dtype)
    mixture = reverse_process.GaussianMixture(ten, torch.zeros(10, 1).to(dtype), torch.ones(10, 1, 1).to(dtype))
    assert float(mixture.weights.double().sum()) == pytest.approx(1, abs=10 * torch.finfo(dtype).eps)
    pixels = (255 * torch.rand(30, 64, generator=source, dtype=torch.float64)).to(dtype)
    C = torch.cov(pixels.T) * 100  # of rank 29 and size 10^6: eigenvalues of -2e-10 in float64
    assert torch.linalg.eigvalsh(C)[0] < -1e-12
    assert torch.isfinite(one_gaussian(C).score(2.0, pixels[:3])).all()  # float32 cannot hold a small t beside 10^6
    off = C * (1 + 4 * torch.finfo(dtype).eps * (torch.rand(64, 64, generator=source) - 0.5).to(dtype))
    assert not torch.equal(off, off.mT)
    kept = one_gaussian(off).covariances[0]
    assert torch.equal(kept, kept.mT) and torch.allclose(kept, C)
    assert torch.equal(one_gaussian(kept).covariances[0], kept)


def test_a_mixture_takes_what_it_holds_after_a_change_of_any_last_place():
    """As another machine rounds: every number one unit up or down, at random."""
    source = generator(1)
    moved = lambda x: torch.nextafter(x, torch.where(torch.rand(x.shape, generator=source) < 0.5, -torch.inf, torch.inf).to(x))
    for mixture in (MIXTURE, MIXTURE.to(torch.float32)):
        for _ in range(20):
            fields = mixture.weights, mixture.means, mixture.covariances
            again = reverse_process.GaussianMixture(*map(moved, fields))
            assert torch.allclose(
                again.score(0.3, POINTS.to(again.means)), mixture.score(0.3, POINTS.to(again.means)), rtol=1e-4
            )


def test_the_last_place_does_not_choose_the_axes_of_a_round_cluster():
    """A covariance that is a multiple of the identity, but for rounding: the same draws."""
    off = 0.07**2 * torch.tensor([[[1 + 2.0**-52, 1e-15], [1e-15, 1.0]]]).double()
    one, origin = torch.ones(1).double(), torch.zeros(1, 2).double()
    for spread in (off, off.flip(1, 2)):
        drawn = reverse_process.GaussianMixture(one, origin, spread).sample(50, seed=0)
        exact = reverse_process.GaussianMixture(one, origin, 0.07**2 * torch.eye(2).double()[None]).sample(50, seed=0)
        torch.testing.assert_close(drawn, exact)


@pytest.mark.parametrize(
    ("weights", "covariances", "message"),
    [
        ([0.5, 0.5 + 1e-6], [1.0, 1.0], "sum to 1"),
        ([1.0, 0.0], [1.0, 1.0], "positive"),
        ([0.5, 0.5], [1e6, -1e-2], "positive semidefinite, number 1 is not"),  # measured by its own size
        ([0.5, 0.5], [-1e-12, 1.0], "positive semidefinite, number 0 is not"),
    ],
)
def test_what_is_off_by_more_than_rounding_is_refused(weights, covariances, message):
    C = torch.tensor(covariances, dtype=torch.float64)[:, None, None]
    with pytest.raises(ValueError, match=message):
        reverse_process.GaussianMixture(torch.tensor(weights, dtype=torch.float64), torch.zeros_like(C[..., 0]), C)


@pytest.mark.parametrize(
    ("shape", "given"),
    [
        (lambda y: y[None], r"shape \(1, 7, 2\)"),
        (lambda y: y[:, :1], r"shape \(7, 1\)"),
        (lambda y: y[0], r"shape \(2,\)"),
        (lambda y: y.sum(), r"shape \(\)"),
        (lambda y: -1.0, "-1.0"),
        (lambda y: None, "None"),
    ],
)
def test_a_score_of_another_shape_is_refused(shape, given):
    with pytest.raises(ValueError, match=rf"shape of its points, \(7, 2\), got {given} at t = 1"):
        reverse_process.reverse_sde(lambda t, y: shape(MIXTURE.score(t, y)), POINTS, torch.tensor([1.0, 0.5]).double(), seed=0)


@pytest.mark.parametrize("t", [0.01, 0.3, 2.0])
def test_density_and_score(t):
    expected = torch.stack([literal_density(t, x) for x in POINTS]).log()
    torch.testing.assert_close(MIXTURE.log_density(t, POINTS), expected)
    slope = torch.func.grad(lambda x: MIXTURE.log_density(t, x).sum())(POINTS)
    torch.testing.assert_close(MIXTURE.score(t, POINTS), slope)


def test_score_and_posterior_mean_belong_together():
    t = torch.linspace(0.01, 2, 7, dtype=torch.float64)
    estimate = tangent.score_from_mean(t, POINTS, MIXTURE.posterior_mean(t, POINTS))
    torch.testing.assert_close(estimate, MIXTURE.score(t, POINTS))
    wrong = tangent.score_from_mean(t, POINTS, -MIXTURE.posterior_mean(t, POINTS))
    assert not torch.allclose(wrong, MIXTURE.score(t, POINTS))


def test_one_time_per_row_is_that_time_for_each_row():
    t = torch.linspace(0.01, 2, 7, dtype=torch.float64)
    single = torch.cat([MIXTURE.score(float(s), x[None]) for s, x in zip(t, POINTS)])
    torch.testing.assert_close(MIXTURE.score(t, POINTS), single)


def test_samples_have_the_moments_of_p_t():
    x = MIXTURE.sample(40_000, seed=1, t=0.3)
    alpha, h = math.exp(-0.15), 1 - math.exp(-0.3)
    mean = MIXTURE.weights @ MIXTURE.means
    second = torch.einsum(
        "k,kij->ij", MIXTURE.weights, MIXTURE.covariances + torch.einsum("ki,kj->kij", MIXTURE.means, MIXTURE.means)
    )
    torch.testing.assert_close(x.mean(0), alpha * mean, atol=0.02, rtol=0)
    torch.testing.assert_close(x.T @ x / len(x), alpha**2 * second + h * torch.eye(2, dtype=torch.float64), atol=0.02, rtol=0)


def test_pairs_at_time_zero_are_not_noised():
    noisy, clean = MIXTURE.pairs(torch.zeros(5, dtype=torch.float64), seed=0)
    assert torch.equal(noisy, clean)


def test_sliced_wasserstein_of_a_shift():
    x = normal(500, 2, generator=generator(5))
    shift = torch.tensor([3.0, 4.0], dtype=torch.float64)
    assert reverse_process.sliced_wasserstein(x, x) == 0
    # the mean of |<direction, shift>| over the circle is |shift| 2 / pi
    assert reverse_process.sliced_wasserstein(x, x + shift, projections=2000) == pytest.approx(5 * 2 / math.pi, rel=0.05)


def test_steepest_is_the_largest_slope_by_differences():
    pair = score.centred_pair([[0.01, 0.04], [0.04, 0.01]], 0.3)
    mean = lambda x: pair.posterior_mean(0.2, x)
    step = 1e-5 * torch.eye(2, dtype=torch.float64)
    slopes = torch.stack([(mean(POINTS + s) - mean(POINTS - s)) / 2e-5 for s in step], -1)
    assert score.steepest(pair, 0.2, POINTS) == pytest.approx(float(torch.linalg.matrix_norm(slopes, 2).max()), rel=1e-6)
