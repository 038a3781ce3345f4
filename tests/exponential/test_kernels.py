"""Limit kernels, their ranks and what they can fit, against quadrature, Wick's formula in fractions and enumeration."""

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest
import torch
from attention_checks.exponential import exact_kernels
from attention_checks.exponential.runs.circle import steps_to_fit
from attention_theory import tangent
from attention_theory.exponential import kernels, power, relu_power, sharp, truncated

POLYNOMIALS = [truncated(2), truncated(4), truncated(6), power(2), power(4), power(6)]


def moment(power):
    """E g^power of a standard normal number."""
    return math.prod(range(1, power, 2)) if power % 2 == 0 else 0


def coefficients(u):
    """Of the polynomial u(z), from z^0 on."""
    degree = int(u.knob)
    return [Fraction(1, math.factorial(k)) if u.family == "truncated" else Fraction(k == degree) for k in range(degree + 1)]


def derivative(polynomial):
    return [k * c for k, c in enumerate(polynomial)][1:]


def product_mean(left, right, variance, rho):
    """E left(sigma g) right(sigma g') of polynomials in standard normal numbers with correlation rho, by Wick's formula."""
    total = Fraction(0)
    for (i, a), (j, b) in product(enumerate(left), enumerate(right)):
        if (i + j) % 2 == 0:
            joint = sum(
                math.factorial(k) * math.comb(i, k) * math.comb(j, k) * moment(i - k) * moment(j - k) * rho**k
                for k in range(min(i, j) + 1)
            )
            total += a * b * variance ** ((i + j) // 2) * joint
    return total


def wick_kernel(u, variance, rho):
    """rho E[u'(w.x) u'(w.x')] / E[u(w.x)]^2 for x.x' = rho."""
    slope = derivative(coefficients(u))
    return rho * product_mean(slope, slope, variance, rho) / product_mean(coefficients(u), [Fraction(1)], variance, rho) ** 2


@pytest.mark.parametrize("variance", [Fraction(1), Fraction(4, 9), Fraction(2)])
@pytest.mark.parametrize("u", POLYNOMIALS, ids=str)
def test_kernel_coefficients_are_those_of_wicks_formula(u, variance):
    alphas = kernels.kernel_coefficients(u, variance)
    assert len(alphas) == u.knob and all(isinstance(alpha, Fraction) for alpha in alphas)
    for rho in (Fraction(1, 3), Fraction(-2, 5), Fraction(1)):
        assert sum(alpha * rho ** (k + 1) for k, alpha in enumerate(alphas)) == wick_kernel(u, variance, rho)
    if variance == 1:
        assert kernels.kernel_coefficients(u) == alphas


@pytest.mark.parametrize("degree", [0, 1, 2, 5, 8])
def test_taylor_mean(degree):
    taylor = [Fraction(1, math.factorial(k)) for k in range(degree + 1)]
    for variance in (Fraction(1), Fraction(9, 4)):
        expected = product_mean(taylor, [Fraction(1)], variance, Fraction(0))
        assert kernels.taylor_mean(degree, variance) == expected
        assert kernels.taylor_mean(degree, float(variance)) == pytest.approx(float(expected), rel=1e-14)


def test_taylor_mean_of_a_high_degree():
    variance = Fraction(9, 4)
    assert kernels.taylor_mean(10_000, variance) - kernels.taylor_mean(9_999, variance) == (
        variance / 2
    ) ** 5000 / math.factorial(5000)
    assert kernels.taylor_mean(10_000, 2.25) == pytest.approx(math.exp(2.25 / 2), rel=1e-14)


@pytest.mark.parametrize("sigma", [0.6, 1.0])
def test_hermite_coefficients_of_an_exponential(sigma):
    # E exp(s g) He_k(g) = s^k exp(s^2 / 2); up to 150 of them, for which 80 nodes do not do
    beta = 1.3
    s = beta * sigma
    expected = torch.tensor([s**k * math.exp(s**2 / 2) / math.sqrt(math.factorial(k)) for k in range(150)], dtype=torch.float64)
    found = kernels.hermite_coefficients(sharp(beta), 150, sigma)
    assert torch.allclose(found, beta * expected, rtol=0, atol=1e-9)
    assert torch.allclose(kernels.hermite_coefficients(sharp(beta), 3, sigma, slope=False), expected[:3], rtol=1e-12)
    if sigma == 1:
        assert torch.equal(kernels.hermite_coefficients(sharp(beta), 150), found)


def test_limit_kernel_of_sharp_weights_on_any_points():
    x = torch.tensor([[0.5, 0.2], [-0.3, 1.4]], dtype=torch.float64)
    beta, sigma = 0.7, 1.2
    w = sigma * torch.randn(400_000, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    raised = sharp(beta)(w @ x.T)
    expected = beta**2 * (x @ x.T) * (raised.T @ raised / len(w)) / torch.outer(raised.mean(0), raised.mean(0))
    assert torch.allclose(kernels.limit_kernel_with(sharp(beta), x, sigma), expected, rtol=0.03)


def test_least_fitting_degree_counts_monomials():
    for d in (2, 3, 4):
        for n in range(1, 60):
            degree = 2
            while sum(len(list(combinations_with_replacement(range(d), k))) for k in (degree - 1, degree)) < n:
                degree += 2
            assert kernels.least_fitting_degree(n, d) == degree


@pytest.mark.parametrize(("n", "k"), [(3, 3), (4, 1), (4, 2), (5, 3)])
def test_reachable_labellings_are_those_that_random_vectors_have(n, k):
    random = torch.Generator().manual_seed(n + k)
    features = torch.randn(n, k, generator=random, dtype=torch.float64)
    signs = torch.sign(features @ torch.randn(k, 20_000, generator=random, dtype=torch.float64))
    seen = set(map(tuple, signs.T.tolist()))
    for y in product((1.0, -1.0), repeat=n):
        assert kernels.reachable(features, torch.tensor(y, dtype=torch.float64)) == (y in seen)
    assert kernels.reachable_labellings(features) == len(seen)
    assert exact_kernels.fittable_share(n, k) == Fraction(len(seen), 2**n)


def test_smallest_is_the_least_eigenvalue_or_nothing():
    axes = torch.linalg.qr(torch.randn(3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)).Q
    for values in ([3.0, 0.5, 7.0], [2.0, 1e-6, 1e3]):
        kernel = axes * torch.tensor(values, dtype=torch.float64) @ axes.T
        assert exact_kernels.smallest(kernel) == pytest.approx(min(values), rel=1e-6)
    for least, largest, told in ((2e-8, 1e3, True), (5e-9, 1e3, False), (2e-14, 1e-3, True), (5e-15, 1e-3, False)):
        found = exact_kernels.smallest(torch.diag(torch.tensor([least, largest / 2, largest], dtype=torch.float64)))
        assert found == pytest.approx(least) if told else math.isnan(found)


@pytest.mark.parametrize("u", [sharp(0.8), truncated(4), power(2)], ids=str)
def test_kernel_of_a_smooth_u_by_its_series(u):
    x = tangent.unit_points(5, 3, seed=1)
    torch.testing.assert_close(kernels.smooth_limit_kernel(lambda z: 3 * u(z), x), kernels.limit_kernel_with(u, x))


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize(
    "u, even, odd", [(truncated(4), 4, 3), (power(2), 2, 0), (relu_power(2), 2, math.inf), (relu_power(1), math.inf, 1)]
)
def test_rank_at_opposite_pairs(u, even, odd, d):
    for pairs in (2, 5, 12 if d == 3 else 6):
        half = tangent.unit_points(pairs, d, seed=pairs)
        values = torch.linalg.eigvalsh(kernels.limit_kernel_with(u, torch.cat([half, -half])))
        assert int((values > 1e-10 * values[-1]).sum()) == kernels.pair_rank(even, odd, pairs, d)


@pytest.mark.parametrize("b", [0.3, 1.0, 9.0])
@pytest.mark.parametrize("degree", [0, 1, 2, 7])
def test_weight_of_what_a_polynomial_does_not_see(b, degree):
    expected = math.fsum(b**k / math.factorial(k - 1) for k in range(degree + 1, 120))
    assert exact_kernels.unseen_weight(degree, math.sqrt(b)) == pytest.approx(expected, rel=1e-12)


def test_steps_to_fit_alternating_labels():
    assert steps_to_fit(sharp(1), 6, 400, 1) == steps_to_fit(sharp(1), 6, 400, 1, most=20) <= 20
    with pytest.raises(ValueError, match=r"truncated\(2\) does not fit 6 alternating labels within 50 steps"):
        steps_to_fit(truncated(2), 6, 400, 1, most=50)


def test_rational_points_are_images_of_a_whole_grid():
    points = exact_kernels.rational_points(400, 3, seed=0)
    assert len(points) == 400 and all(sum(value**2 for value in p) == 1 for p in points)
    grid = [[17 * value / (1 - p[-1]) for value in p[:-1]] for p in points]  # the stereographic projection
    assert all(len(row) == 2 and value.denominator == 1 for row in grid for value in row)
    assert {int(value) for row in grid for value in row} == set(range(-40, 41))


def test_descent_in_float32_is_that_in_float64():
    points, y = tangent.unit_points(3, 4, seed=1), torch.tensor([1.0, -1.0, 1.0]).double()
    single, double = (
        exact_kernels.descend(truncated(4), points.to(t), y.to(t), 20, 0, 30) for t in (torch.float32, torch.float64)
    )
    assert single.loss == pytest.approx(double.loss, rel=1e-3)
