"""Attacks on our own statements: random cases and searches that climb towards a violation, each with its number of cases."""

import itertools
import math
import random

import numpy as np
import pytest
import torch
from attention_checks.tangent.runs import coupling, descent, limit
from attention_theory.device import generator, normal
from attention_theory.tangent import SoftmaxNetwork, change_factor, rank, rank_bound, tangent_kernel, unit_points
from attention_theory.tangent.kernel import error_constant


def climb(ratio, *start, steps=150):
    """The largest ratio that gradient ascent from each of the starts meets, and the number of cases seen."""
    free = [part.requires_grad_() for part in start]
    optimiser, worst, cases = torch.optim.Adam(free, lr=0.1), 0.0, 0
    for _ in range(steps):
        found = ratio(*free)
        worst, cases = max(worst, float(found.detach().max())), cases + len(found)
        (-found.clamp(min=1e-30).log().sum()).backward()
        optimiser.step()
        optimiser.zero_grad()
    return worst, cases


def entry_change(s, u, a):
    """Change of an entry of H over |x.x'| M, from the scores (2, m) of two inputs, their moves and the values they meet."""

    def entry(t):
        S = torch.softmax(t, -1)
        return ((a - (a * S).sum(-1, keepdim=True)) * S).prod(-2).sum(-1)

    return (entry(s + u) - entry(s)).abs() / torch.softmax(s, -1).prod(-2).sum(-1)


@pytest.mark.parametrize("paired", [False, True])
def test_kernel_bound_withstands_a_search_over_scores_moves_and_values(paired):
    worst, cases = 0.0, 0
    for R, m in itertools.product((1e-3, 0.5, 1.5), (4, 60)):
        draw = lambda k, m=m: normal(60, 2, m, generator=generator(m + k))
        signs = draw(0)[..., : m // 2].sign()

        def ratio(s, u, a, R=R, m=m, signs=signs):
            if paired:
                s, a = s[..., : m // 2].repeat_interleave(2, -1), torch.stack((signs, -signs), -1).flatten(-2)
            return entry_change(s, R * u.tanh(), a if paired else a.tanh()) / change_factor(R, paired)

        spread = torch.linspace(0.1, 6, 60, dtype=torch.float64)[:, None, None]
        found = climb(ratio, draw(1) * spread, draw(2), 2 * draw(3))
        worst, cases = max(worst, found[0]), cases + found[1]
    assert cases == 54_000 and 0.99 < worst <= 1 + 1e-9


def test_covariance_bound_withstands_a_search_and_is_reached():
    worst, cases = 0.0, 0
    for R, m in itertools.product((1e-3, 0.1, 1.0, 4.0), (2, 3, 60)):

        def ratio(s, u, R=R):
            moved = torch.softmax(s + R * u.tanh(), -1) - torch.softmax(s, -1)
            return moved.abs().sum(-1) / (2 * math.tanh(R / 2))

        found = climb(ratio, *(normal(50, m, generator=generator(m + k)) for k in (0, 1)))
        worst, cases = max(worst, found[0]), cases + found[1]
    assert cases == 90_000 and 0.999 < worst <= 1 + 1e-9


def gap_over_bound(n, share, seed, steps=300):
    """Descent with kernels that move by eps_H = share lambda and eps_test in random directions, against the coupling bound."""
    random = generator(seed)
    A, phi, Y = normal(n, n + 3, generator=random), normal(n + 3, generator=random), normal(n, generator=random)
    H, K, k = A @ A.T, A @ phi, phi @ phi
    values = torch.linalg.eigvalsh(H)
    eps, eps_test, rate = share * float(values[0]), float(torch.rand(1, generator=random)), 0.2 / float(values[-1])
    f = g = -Y
    learnt, regressed, gap = 0.0, 0.0, 0.0
    for step in range(steps):
        if step % 50 == 0:
            D, row = normal(n, n, generator=random), normal(n, generator=random)
        if seed % 2:  # the slowest decay, and a row that follows the residual
            D, row = -torch.outer(f, f), -f
        moved, moved_row = H + eps * D / D.norm(), K + eps_test * row / row.norm()
        learnt, regressed = learnt - rate * moved_row @ f, regressed - rate * K @ g
        f, g = f - rate * moved @ f, g - rate * H @ g
        gap = max(gap, abs(float(learnt - regressed)))
    bound = coupling.coupling_bound(float(Y.norm()), float(values[0]), torch.tensor([eps_test]).double(), eps, k[None])
    return gap / float(bound)


def test_coupling_bound_withstands_kernels_that_move_and_is_nearly_reached():
    found = [gap_over_bound(n, s, seed) for n in (1, 2, 4) for s in (0.01, 0.5, 0.9) for seed in range(10)]
    assert len(found) == 90 and 0.97 < max(found) <= 1


@pytest.mark.parametrize("k", [1, 3])
def test_guarantee_withstands_a_search_over_moves_and_residuals(k):
    """Within R of a paired start: |H - H*|_F and the speed of every neuron, over what the proof of own-width allows."""
    worst, cases, m = [0.0, 0.0], 0, 8
    for R, n in itertools.product((1e-3, 0.3, 1.5), (1, 2, 3)):
        x, net = unit_points(n, 3, n), SoftmaxNetwork.paired(3, m, n, 0.3 * n, k)
        gram, S, H = (x @ x.T).repeat(k, k), net.weights(x), tangent_kernel(net, x)
        change = k * change_factor(R, True) * (x @ x.T * (m * S @ S.T)).norm()
        speed = (1 + R) * math.exp(2 * R) * math.sqrt(k) * (m * S).norm(dim=0).max()

        def ratios(move, f, x=x, net=net, R=R, gram=gram, H=H, change=change, speed=speed):
            length = move.norm(dim=1, keepdim=True)
            S = torch.softmax(x @ (net.W + R * move / length * length.tanh()), -1)  # no neuron moves by more than R
            P = m * S[:, None] * (net.a[:, None] - (net.a @ S.mT)[..., None])  # (cases, outputs, inputs, neurons)
            moved = P.flatten(1, 2) @ P.flatten(1, 2).mT * gram / m - H
            pull = torch.einsum("cli,clir,id->cdr", f / f.flatten(1).norm(dim=1)[:, None, None], P, x)
            return torch.stack((moved.flatten(1).norm(dim=1) / change, pull.norm(dim=1).amax(1) / speed))

        start = [normal(10, *shape, generator=generator(n)) for shape in ((3, m), (k, n))]
        for part in (0, 1):
            found = climb(lambda *free, part=part, ratios=ratios: ratios(*free)[part], *(z.clone() for z in start), steps=60)
            worst[part], cases = max(worst[part], found[0]), cases + found[1]
    assert cases == 10_800 and worst[0] <= 1 and 0.95 < worst[1] <= 1 + 1e-9


def test_error_constant_at_other_sizes_and_inputs_inside_the_ball():
    for n, d, k, sigma in ((1, 1, 1, 0.3), (2, 2, 2, 0.5), (3, 3, 1, 0.8), (4, 1, 3, 0.5)):
        x = unit_points(n, d, n) * torch.linspace(1, 0.3, n)[:, None]
        errors = limit.draw_kernels(x, 4096, sigma, k, range(100)).error ** 2 * 4096 / error_constant(x, sigma, k) ** 2
        assert abs(errors.mean() - 1) < 4 * np.std(errors) / 10


def test_a_coupling_without_its_hypothesis_has_no_bound():
    assert coupling.coupling_bound(1.0, 1.0, torch.ones(1).double(), 1.5, torch.ones(1).double()) == math.inf


def test_rank_even_steps_and_cancellation_at_random_networks():
    for seed in range(60):  # all pairs of n, the kind of points and the length of the move
        n, d, k, m = 1 + seed % 6, 2 + seed % 3, 1 + seed % 3, 2 * (1 + 7 * seed % 9)
        x, y, sigma = unit_points(n, d, seed), unit_points(n, k, seed + 1), 0.2 + 0.025 * seed
        if seed % 5 == 0 and n > 1:
            x[0] = -x[1]
        net, free = SoftmaxNetwork.paired(d, m, seed, sigma, k), SoftmaxNetwork.unpaired(d, m + 4, seed, sigma, k)
        assert rank(tangent_kernel(net, x)) <= rank_bound(net, n)
        half = normal(d, m // 2, generator=generator(seed))
        odd = torch.stack((half, -half), -1).flatten(1)
        forth, back = (tangent_kernel(net.moved(sign * odd, 10.0 ** (seed % 4 - 3)), x) for sign in (1, -1))
        torch.testing.assert_close(forth, back, rtol=1e-9, atol=1e-12)
        C0, C1 = descent.first_order(free, x, y)
        assert abs(C0 + C1 + 2) < 1e-9 * (1 + abs(C0))


def test_limit_is_definite_exactly_at_distinct_points_that_are_not_zero():
    draw = random.Random(0)
    for _ in range(300):
        points = [draw.randint(-5, 5) for _ in range(draw.randint(1, 6))]
        assert (limit.exact_determinant(points) > 0) == (len(set(points)) == len(points) and 0 not in points)
