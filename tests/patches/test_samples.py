"""What is measured on descents from samples and on transfer, against literal loops, autograd and every data point."""

import math

import numpy as np
import pytest
import torch
from attention_checks.patches import printed
from attention_checks.patches.gaussian_training import train_gaussian
from attention_checks.patches.runs import gaussian_patches, samples, transfer
from attention_theory import patches
from attention_theory.device import generator, normal
from attention_theory.patches import association
from attention_theory.patches.gaussian import convolution_label
from attention_theory.patches.training import START_SEED, TEST_SEED

ROW = torch.float64


def attention(D, C, beta=1.0, gamma=0.0, rho=0.0):
    scores = [[beta if i == j else gamma if i // C == j // C else rho for j in range(D)] for i in range(D)]
    return torch.tensor(scores, dtype=ROW)


def output(X, A, v, p=3, nu=1e-3):
    """Model (T): sum over the rows i of sigma(D sum_j S_ij <v, X_j>)."""
    z = len(A) * torch.einsum("ij,njk,k->ni", torch.exp(A) / torch.exp(A).sum(1, keepdim=True), X, v)
    return (z**p + nu * z).sum(1)


def slopes(X, y, A, v, chance=None):
    """Gradient of the risk in A and v, by autograd."""
    A, v = A.clone().requires_grad_(), v.clone().requires_grad_()
    losses = torch.log1p(torch.exp(-y * output(X, A, v)))
    return torch.autograd.grad(losses.mean() if chance is None else chance @ losses, (A, v))


def off_diagonal(A):
    return A * (1 - torch.eye(len(A)))


def failing(F, X, C):
    """Share of the points on which f* F > 0 fails, w* the first unit vector."""
    f = [sum(abs(s) > 0.9 * C and round(s) for s in x[:, 0].reshape(-1, C).sum(1).tolist()) for x in X]
    return sum(a * b <= 0 for a, b in zip(f, F.tolist())) / len(f)


def test_misfit_counts_points_without_a_label():
    images = patches.PatchDistribution(6, 2, 3, 0.9, 0.4)
    model = patches.PositionalViT(attention(6, 2, 1.0, -0.5, 0.8), torch.tensor([0.4, 0.3, 0.1], dtype=ROW), temperature=1.0)
    X, _ = images.sample(300, 4 + TEST_SEED)
    expected = failing(output(X, model.A, model.v), X, 2)
    assert 0.1 < expected < 0.9 and samples.misfit(model, images, 300, 4) == pytest.approx(expected, abs=1e-14)
    still = patches.PositionalViT(model.A, torch.zeros(3, dtype=ROW))
    assert samples.misfit(still, images, 50, 0) == 1


@pytest.mark.parametrize(("horizon", "steps"), [(67, 66), (0, 3)])
def test_a_run_that_ends_before_the_horizon_is_refused(horizon, steps):
    with pytest.raises(ValueError, match=f"steps = {steps} end before"):
        samples.coupled(40, 2, horizon, steps)


@pytest.mark.parametrize(("D", "C", "q", "p"), [(4, 2, 0.4, 3), (6, 2, 0.7, 3), (6, 3, 0.3, 5)])
def test_moments_and_negative_rows(D, C, q, p):
    X, y, chance = patches.every_point(D, C, q)
    S, T = (torch.softmax(attention(D, C, 1.0, *scores), 1) for scores in ((0.0, 0.0), (0.4, -0.2)))
    moment = share = 0.0
    for x, label, part in zip(X[..., 0], y.tolist(), chance.tolist()):
        moment += part * label * sum(float(D * (S[i] @ x)) ** p for i in range(D))
        share += part * any(float(0.6 * label * D * (T[i] @ x)) ** p < -1 / D for i in range(D))
    assert samples.power_moment(D, C, q, p) == pytest.approx(moment, rel=1e-12)
    assert 0 < share < 1 and samples.negative_share(D, C, q, (0.6, 0.4, -0.2), p) == pytest.approx(share, abs=1e-14)


@pytest.mark.parametrize(("D", "C", "q", "d", "alpha", "nu", "p"), [(4, 2, 0.4, 3, 0.2, 0.05, 3), (3, 1, 0.7, 5, 0.3, 0.0, 5)])
def test_growth_across_is_a_second_derivative(D, C, q, d, alpha, nu, p):
    """With v = alpha w* + eps u a patch shows alpha x + eps xi, xi of variance 1/d: -tr Hessian / d of the risk in these."""
    X, y, chance = patches.every_point(D, C, q)
    S = torch.softmax(attention(D, C), 1)

    def risk(seen, label):
        z = D * S @ seen
        return torch.nn.functional.softplus(-label * (z**p + nu * z).sum())

    bends = [torch.autograd.functional.hessian(lambda u, s=s: risk(u, s), alpha * x[:, 0]).trace() for x, s in zip(X, y)]
    found = samples.growth_across(D, C, q, d, alpha, nu, p)
    assert found == pytest.approx(-float(chance @ torch.stack(bends)) / d, rel=1e-10)


def test_sampled_growth_is_a_difference_of_slopes():
    X, y = patches.PatchDistribution(8, 4, 4, 0.25, 0.5).sample(40, 6)
    up, down = (slopes(X, y, attention(8, 4), torch.tensor([0.15, s, 0.0, 0.0], dtype=ROW))[1][1] for s in (0.04, -0.04))
    assert samples.sampled_growth(40, 6, 0.15, 0.04) == pytest.approx(float(down - up) / 0.08, rel=1e-9)


def test_medians_by_size():
    runs = [samples.Coupled(N, 0.0, 0.0, (9.0, gap), 0.0, 0.0) for N, gap in ((50, 3.0), (20, 1.0), (50, 5.0), (50, 4.5))]
    assert samples.medians(runs, 1) == {20: 1.0, 50: 4.5}
    with pytest.raises(ValueError):
        samples.Coupled(20, 0.0, 0.0, (9.0,), -0.1, 0.0)


def test_a_sample_beside_its_twin_is_the_literal_loop():
    """On all images, each as often as its negative; with all of them corrected it is the twin."""
    X, y, chance = patches.every_point(8, 4, 0.25)
    half = y > 0
    drawn = torch.multinomial(2 * chance[half], 50, True, generator=generator(3)).bincount(minlength=int(half.sum())) / 50
    points, labels = torch.cat([X[half], -X[half]]), torch.cat([y[half], -y[half]])
    weights = [torch.cat([part, part]).double() / 2 for part in (drawn, 2 * chance[half])]
    off, scores, alpha = 1 - torch.eye(8, dtype=ROW), [torch.eye(8, dtype=ROW)] * 2, torch.tensor([0.03], dtype=ROW)
    for _ in range(12):
        found = [
            patches.PositionalViT(A, alpha, nu=0.0, temperature=1.0).gradients(points, labels, w)
            for A, w in zip(scores, weights, strict=True)
        ]
        scores = [A - 10 * dA * off for A, (dA, _) in zip(scores, found, strict=True)]
        alpha = alpha - 0.003 * found[0][1]
    near = samples.near_twin((50,), range(3, 4), steps=12)
    assert float(near.distance[0, 0]) == pytest.approx(float((scores[0] - scores[1]).abs().max()), rel=1e-9)
    assert near.early[0, 0] < near.distance[0, 0] and not near.with_tie[0, 0]
    assert samples.near_twin((50,), range(2), tuple(range(9)), steps=10).distance.max() == 0
    with pytest.raises(ValueError):
        samples.near_twin((50,), range(2), steps=9)


def test_the_edge_leaves_the_diagonal_out():
    groups = torch.tensor([3, 1, 3, 1, 1, 3])
    A = torch.randn(6, 6, generator=generator(2), dtype=ROW) - 3 * torch.eye(6)
    expected = []
    for i in range(6):
        inside = [float(A[i, j]) for j in range(6) if groups[j] == groups[i] and j != i]
        expected.append(min(inside) - max(float(A[i, j]) for j in range(6) if groups[j] != groups[i]))
    assert samples.association_edge(A, groups).tolist() == pytest.approx(expected, rel=1e-12)


# Transfer ------------------------------------------------------------------------------------------------------------


def test_three_ways_to_learn_another_feature(monkeypatch):
    """Scores of a stand-in for the pretrained model; each way by its literal loop."""
    A = attention(16, 4, 1.0, 0.8, -0.3)
    monkeypatch.setattr(transfer, "pretrained", lambda device: (patches.PositionalViT(A, torch.zeros(16, dtype=ROW)), 0.0))
    task = patches.PatchDistribution(16, 4, 16, 0.25, 0.25, w=torch.eye(16, dtype=ROW)[1])
    found = transfer.comparison((2, 5, 6), 2, 100, 3)
    assert found.sizes == (2, 5, 6) and found.misfits.shape == (2, 2)
    for i, N in enumerate(found.sizes):
        for j, seed in enumerate((50, 51)):
            X, y = task.sample(N, seed)
            direction = printed.theorem_5_1_step(A, X, y)
            start = 1e-3 * normal(16, 16, generator=(source := generator(seed + START_SEED)))
            v = 1e-3 * normal(16, generator=source)
            kept, B, u = v, start.fill_diagonal_(1.0), v
            for _ in range(3):
                kept = kept - 3e-3 * slopes(X, y, A, kept)[1]
                dB, du = slopes(X, y, B, u)
                B, u = B - 10.0 * off_diagonal(dB), u - 3e-3 * du
            assert torch.allclose(transfer.fine_tuned(task, A, N, seed, 3).v, kept, rtol=1e-10)
            fresh, label = task.sample(100, seed + TEST_SEED)
            outputs = output(fresh, A, direction, nu=0.0), output(fresh, A, kept), output(fresh, B, u)
            errors = [float((label * F <= 0).double().mean()) for F in outputs]
            assert [way[i, j] for way in (found.one_step, found.kept, found.scratch)] == pytest.approx(errors, abs=1e-14)
            if N == 5:
                misfits = [failing(F, fresh[..., [1]], 4) for F in outputs[1:]]
                assert found.misfits[:, j].tolist() == pytest.approx(misfits, abs=1e-14)


def test_failures_after_one_step():
    for size, share, N in ((16, 0.05, 1), (36, 0.1, 2)):
        A = transfer.learned_form(size, share)
        task, failed = patches.PatchDistribution(size, 4, size, 4 / size, size**-0.5), 0
        for seed in range(40):
            X, y = task.sample(N + 1, seed)
            F = output(X[N:], A, printed.theorem_5_1_step(A, X[:N], y[:N]), nu=0.0)
            failed += failing(F, X[N:], 4)
        assert 1 < failed == transfer.failed_draws(size, share, 40, N)


# Gaussian patches ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["A", "fixed", "P", "PQK"])
def test_gaussian_training_is_the_literal_loop(kind):
    """Start, scores and Adam by hand; the rows of the record with them."""
    D, C, d, N, tests, rate = 6, 3, 2, 30, 40, 0.02
    source = generator(5)
    X = normal(N + tests, D, d, generator=source)
    y = convolution_label(X, C)
    parts = [0.1 * normal(d, generator=source)]
    if kind in ("A", "fixed"):
        parts.append(0.1 * normal(D, D, generator=source))
    else:
        parts += [normal(D, D, generator=source) / math.sqrt(D) for _ in range(1 if kind == "P" else 3)]

    def scores(P, Q=None, K=None):
        eye = torch.eye(D, dtype=torch.float64)
        gram = {"A": P, "fixed": P * (1 - eye) + eye}.get(kind, P @ P.T)
        return gram, gram if Q is None else P @ Q @ K.T @ P.T

    rows, means, squares = [], [0.0] * len(parts), [0.0] * len(parts)
    for step in range(6):
        parts = [part.detach().requires_grad_() for part in parts]
        gram, A = scores(*parts[1:])
        if step in (0, 2, 4, 5):
            wrong = float((y[N:] * output(X[N:], A, parts[0]) <= 0).double().mean())
            rows.append((step, wrong, *(association(M.detach(), torch.arange(D) // C) for M in (A, gram))))
        if step == 5:
            break
        loss = torch.log1p(torch.exp(-y[:N] * output(X[:N], A, parts[0]))).mean()
        for i, slope in enumerate(torch.autograd.grad(loss, parts)):
            means[i], squares[i] = 0.9 * means[i] + 0.1 * slope, 0.999 * squares[i] + 1e-3 * slope**2
            move = means[i] / (1 - 0.9 ** (step + 1)) / ((squares[i] / (1 - 0.999 ** (step + 1))).sqrt() + 1e-8)
            parts[i] = parts[i] - rate * move
    run = train_gaussian(kind, 5, D=D, C=C, d=d, N=N, steps=5, rate=rate, every=2, tests=tests)
    assert list(zip(run.steps, run.error, run.association_A, run.association_gram)) == rows
    for found, expected in ((run.A, A), (run.gram, gram), (run.v, parts[0])):
        assert torch.allclose(found, expected, rtol=1e-7, atol=1e-12)


def test_a_recorded_run_of_gaussian_patches():
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        result = gaussian_patches.run("PQK", 3, 0.02, 1, 2, 20, 10)
        assert torch.get_num_threads() == 1  # the sweep runs one process on each core
    finally:
        torch.set_num_threads(threads)
    run = train_gaussian("PQK", 1, d=3, rate=0.02, steps=2, N=20, tests=10)
    assert result["steps"] == run.steps == [0, 2] and result["error"] == run.error
    assert np.array_equal(result["A"], run.A.float().numpy()) and np.array_equal(result["gram"], run.gram.float().numpy())
