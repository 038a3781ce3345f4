"""Exact population descent and exact errors against every point of small populations."""

import math
import signal
import time
from fractions import Fraction

import pytest
import torch
from attention_theory import patches
from attention_theory.patches import errors
from attention_theory.patches.population import group_kinds

SIZES = [(4, 2, 0.3), (6, 2, 0.5), (6, 3, 1.0), (3, 1, 0.4), (8, 4, 0.2), (4, 4, 0.3), (6, 2, 0.0)]


def reduced_gap(D, C, q, alpha=0.2, gamma=0.4, rho=-0.3, beta=0.7, p=3, temperature=1.3):
    """Relative difference between the reduced gradients and those in matrix form over all points."""
    X, y, chance = patches.every_point(D, C, q)
    A, v = patches.three_values(D, C, beta, gamma, rho), torch.tensor([alpha], dtype=torch.float64)
    dA, dv = patches.PositionalViT(A, v, p, 1e-3, temperature).gradients(X, y, chance)
    vit = patches.ReducedViT(alpha, gamma, rho, beta, p, 1e-3, temperature)
    d_alpha, d_gamma, d_rho, _ = patches.Population(D, C, q).gradients(vit)
    pairs = [(d_alpha, float(dv[0]))]
    pairs += [(d_gamma, float(dA[0, 1]))] * (C > 1) + [(d_rho, float(dA[0, -1]))] * (D > C)
    return max(abs(a - b) for a, b in pairs) / max(abs(b) for _, b in pairs)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("p", [3, 5])
def test_reduced_gradients_are_those_of_the_matrix(size, p):
    assert reduced_gap(*size, p=p) < 1e-9


@pytest.mark.parametrize("size", SIZES)
def test_probabilities_and_errors(size):
    world = patches.Population(*size)
    assert float(world.probability.sum()) == pytest.approx(1, abs=1e-12)
    X, y, chance = patches.every_point(*size)
    assert float(chance.sum()) == pytest.approx(1, abs=1e-12)
    A, v = patches.three_values(size[0], size[1], 1.0, 0.5, -0.2), torch.tensor([0.3], dtype=torch.float64)
    margin = y * patches.PositionalViT(A, v, temperature=1.0)(X)
    tie = margin.abs() < 1e-12
    expected = float((chance * torch.where(tie, 0.5, (margin < 0).double())).sum())
    margins = world.margins(patches.ReducedViT(0.3, 0.5, -0.2))
    assert world.error(margins) == pytest.approx(expected, abs=1e-12)
    assert world.loss(margins) == pytest.approx(float((chance * torch.nn.functional.softplus(-margin)).sum()), rel=1e-12)


@pytest.mark.parametrize("size", [s for s in SIZES if s[0] > s[1]])
def test_exact_errors_against_every_point(size):
    D, C, q = size
    X, y, chance = (part[patches.every_point(D, C, q)[2] > 0] for part in patches.every_point(D, C, q))
    sums = X[..., 0].reshape(len(X), D // C, C).sum(2)
    total = sums.sum(1).long() + D
    mass = torch.zeros(2, 2 * D + 1, dtype=torch.float64).index_put(((y > 0).long(), total), chance, accumulate=True)
    assert patches.linear_error(D, C, q) == pytest.approx(float(mass.amin(0).sum()), abs=1e-12)
    for p in (1, 3):
        margin = y * (sums**p).sum(1)
        expected = float((chance * ((margin < 0).double() + 0.5 * (margin == 0))).sum())
        assert patches.block_error(D, C, q, p) == pytest.approx(expected, abs=1e-12)
        values, found = errors.block_score(D, C, q, p)
        score = (y[:, None] * sums) ** p
        wanted = [float(chance[score.sum(1) == value].sum()) for value in values]
        assert found.tolist() == pytest.approx(wanted, abs=1e-13) and sum(wanted) == pytest.approx(1)
    _, index = X[..., 0].unique(dim=0, return_inverse=True)
    posterior = torch.zeros(int(index.max()) + 1, 2, dtype=torch.float64).index_put(
        (index, (y > 0).long()), chance, accumulate=True
    )
    share = posterior / posterior.sum(1, keepdim=True)
    floor, loss = patches.label_noise_floor(D, C, q)
    assert floor == pytest.approx(float(posterior.amin(1).sum()), abs=1e-12)
    assert loss == pytest.approx(float(-torch.xlogy(posterior, share).sum()), abs=1e-12)


def test_kinds_of_large_groups_have_their_probabilities():
    """The number of empty patches is binomial, also where counts of arrangements exceed all floats and q^C is below them."""
    C, q = 700, Fraction(3, 10)
    kinds, chance = group_kinds(C, float(q))
    for empty in (300, 490, 600):
        exact = math.comb(C, empty) * (1 - q) ** empty * q ** (C - empty)
        found = chance[kinds.sum(1) == C - empty].sum().item()
        assert found == pytest.approx(float(exact), rel=1e-11, abs=0)


def test_degenerate_populations():
    assert patches.linear_error(4, 4, 0.5) == 0  # one group: no stray patch
    assert patches.label_noise_floor(8, 2, 0.0) == (0.0, 0.0)
    assert patches.linear_error(8, 2, 0.0) == 0
    assert patches.Population(4, 4, 0.5).margins(patches.ReducedViT(0.1, 0.0, 0.0)).tolist() == pytest.approx(
        [4 * (0.4**3 + 0.4e-3)]
    )
    assert len(patches.population_descent(4, 2, 0.5, steps=0).alpha) == 1
    still = patches.population_descent(8, 2, 0.3, steps=30, beta=0.0)
    assert float(still.gamma.abs().max()) < 1e-10 and float(still.rho.abs().max()) < 1e-10


def direct(chance, n):
    """The law of a sum of n independent numbers 0 ... len(chance) - 1, in fractions."""
    law = [Fraction(1)]
    for _ in range(n):
        law = [
            sum(law[j] * chance[i - j] for j in range(len(law)) if 0 <= i - j < len(chance))
            for i in range(len(law) + len(chance) - 1)
        ]
    return law


@pytest.mark.parametrize("size", [(12, 3, Fraction(1, 64)), (32, 4, Fraction(1, 1024)), (24, 2, Fraction(1, 2)), (12, 4, 1)])
@pytest.mark.parametrize("p", [1, 3])
def test_block_errors_are_right_however_rare(size, p):
    """An error of 10^-34 too, where a Fourier transform alone gives rounding of either sign."""
    D, C, q = size
    group = direct([Fraction(q) / 2, 1 - Fraction(q), Fraction(q) / 2], C)
    powers = [Fraction(0)] * (2 * C**p + 1)
    for value, chance in zip(range(-C, C + 1), group):
        powers[value**p + C**p] += chance
    n, expected = D // C - 1, Fraction(0)
    for i, chance in enumerate(direct(powers, n)):
        score = C**p + i - n * C**p
        expected += chance * (Fraction(1, 2) if score == 0 else score < 0)
    assert patches.block_error(D, C, float(q), p) == pytest.approx(float(expected), rel=1e-11, abs=0)


@pytest.mark.parametrize(
    ("call", "seconds"),
    [  # where it took long or failed, and at about a hundred times that
        (lambda: patches.block_error(512, 16, 1 / 64), 5),
        (lambda: patches.block_error(51_200, 16, 1 / 64), 5),
        (lambda: patches.block_error(100_000, 100, 0.001), 20),
        (lambda: patches.block_error(1400, 700, 0.1, p=1), 5),
        (lambda: patches.block_error(140_000, 700, 0.1, p=1), 5),
        (lambda: errors.block_score(512, 16, 1 / 64)[1].sum(), 10),
        (lambda: patches.linear_error(10**5, 10, 1e-4), 5),
        (lambda: patches.linear_error(10**7, 10, 1e-4), 60),
        (lambda: patches.label_noise_floor(2800, 4, 0.1)[0], 5),
        (lambda: patches.label_noise_floor(280_000, 4, 0.1)[0], 5),
    ],
)
def test_large_sizes_end_in_time(call, seconds):
    start = time.process_time()
    assert 0 <= call() <= 1.0000001
    assert time.process_time() - start < seconds


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: errors.block_score(100_000, 100, 0.001), "products, more than"),
        (lambda: patches.block_disagreement(100_000, 100, 0.5), "products, more than"),
        (lambda: patches.block_error(20_000, 400, 0.9, p=5), "places, at most"),
        (lambda: patches.label_noise_floor(10**7, 1, 0.5), "too many for the exact sum"),
        (lambda: patches.block_error(10**9, 10, 0.5), "at most 1e"),
    ],
)
def test_larger_sizes_are_refused_at_once(call, message):
    start = time.process_time()
    with pytest.raises(ValueError, match=message):
        call()
    assert time.process_time() - start < 5


def test_an_alarm_ends_a_long_sum():
    """As KeyboardInterrupt does: the loops are in Python, with short steps."""

    class Late(Exception):
        pass

    def late(*_):
        raise Late

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    start = time.monotonic()
    try:
        with pytest.raises(Late):
            patches.linear_error(10**7, 10, 1e-4)
        assert time.monotonic() - start < 10
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
