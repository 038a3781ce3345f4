"""Steps of proofs on the pages that are inequalities, computed from their definitions with none of the library."""

import math

import numpy as np
import pytest


@pytest.mark.parametrize("beta", [0.3, 1.0, 4.0, -2.0])
def test_long_contexts_step_1_no_row_is_too_long(beta):
    """exponential/own-long: Jensen and Gibbs together, for weights that are proportional to exp(beta k.x)."""
    rng = np.random.default_rng(0)
    nearest = []
    for n, d, stretch in ((2, 1, 1.0), (5, 3, 1.0), (50, 8, 3.0), (50, 2, 0.2)):
        x, k = rng.standard_normal((n, d)), stretch * rng.standard_normal(d)
        scores = beta * x @ k
        w = np.exp(scores - scores.max())
        phi = (w / w.sum()) @ x
        constant = 4 * math.log(np.exp((x**2).sum(1) / 4).mean())
        nearest.append(phi @ phi / (4 * beta * k @ (phi - x.mean(0)) + constant))
    assert max(nearest) <= 1 and min(nearest) > 0


def test_long_contexts_step_2_no_key_takes_more_than_its_share():
    """exponential/own-long: the sum of the other terms is at least n - 1 times that of their mean, by Jensen's inequality."""
    rng = np.random.default_rng(1)
    for n, d in ((2, 1), (10, 3), (100, 8)):
        x, k = rng.standard_normal((n, d)), rng.standard_normal(d)
        assert np.exp(x[1:] @ k).sum() >= (n - 1) * math.exp(-np.linalg.norm(k) * np.linalg.norm(x[1:].mean(0))) * (1 - 1e-12)


@pytest.mark.parametrize("h", [1e-3, 0.01, 0.2])
def test_escape_step_3_the_recursion_stays_below_its_bound(h):
    """exponential/own-escape: b -> b + h e^b stays at most -log(1 - t h); one step of it from 0 is equality up to h^2."""
    b = 0.0
    for t in range(1, math.ceil(1 / h)):
        b += h * math.exp(b)
        assert b <= -math.log(1 - t * h) * (1 + 1e-12)
    assert -math.log(1 - h) - h <= h * h


def test_below_step_1_the_spread_of_the_height():
    """exponential/own-below: (d - m)/m - r_m^2 is at most 1 - 1/(2m), in integers over a common denominator."""
    for d in range(3, 60):
        for m in range(2, d - 1):
            spread = 2 * (d - m) * (d - 2) - (d - m - 1) * (2 * (d - m) - 1)  # over 2 m (d - 2)
            assert spread <= (2 * m - 1) * (d - 2)


def test_gathered_step_2_the_least_over_the_fall():
    """exponential/own-gathered: the least of sqrt(1 + r^2) - r mu, r up to 1, and its bound from below."""
    r = np.linspace(0, 1, 100_001)
    for mu in np.linspace(0, 1, 21):
        least = math.sqrt(1 - mu**2) if mu**2 <= 0.5 else math.sqrt(2) - mu
        assert abs((np.sqrt(1 + r**2) - r * mu).min() - least) < 1e-9
        assert least >= (1 + math.sqrt(2)) ** (-(mu**2)) * (1 - 1e-12)
