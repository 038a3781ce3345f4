"""Descent on samples: against a literal loop, its symmetries, the semi-idealised process, transfer; mutations."""

import pytest
import torch
from attention_theory import patches
from attention_theory.device import generator
from attention_theory.evidence import identity
from attention_theory.evidence.records import read_record
from attention_theory.patches import training, vit
from attention_theory.patches.gaussian import convolution_label, train_gaussian
from attention_theory.patches.runs import sample_sizes

DESCENT = {"rate_A": 10.0, "rate_v": 5e-3}
WORLD = patches.PatchDistribution(8, 4, 6, 0.25, 0.4)


def literal(X, y, A, v, steps, rate_A, rate_v, p=3, nu=1e-3):
    D = len(A)
    off = 1 - torch.eye(D, dtype=torch.float64)
    for _ in range(steps):
        A, v = A.detach().requires_grad_(), v.detach().requires_grad_()
        z = D * torch.einsum("ij,njk,k->ni", torch.softmax(A, 1), X, v)
        loss = torch.log(1 + torch.exp(-y * (z**p + nu * z).sum(1))).mean()
        dA, dv = torch.autograd.grad(loss, (A, v))
        A, v = A - rate_A * off * dA, v - rate_v * dv
    return A.detach(), v.detach()


def same_path(steps=15):
    path = patches.train_vit(WORLD, 60, steps, seed=2, every=steps, tests=1, omega=0.05, **DESCENT)
    A, v = literal(*WORLD.sample(60, 2), path.A[0], path.v[0], steps, **DESCENT)
    return identity("A", path.A[-1], A, 1e-9), identity("v", path.v[-1], v, 1e-9)


def test_training_is_the_literal_loop():
    assert all(check.holds for check in same_path())


@pytest.mark.parametrize("mutation", ["sign", "axis", "linear"])
def test_the_loop_notices_a_wrong_model(monkeypatch, mutation):
    if mutation == "sign":
        right = vit.PositionalViT.gradients
        monkeypatch.setattr(vit.PositionalViT, "gradients", lambda self, X, y: tuple(-g for g in right(self, X, y)))
    else:
        wrong = {"axis": lambda s: torch.softmax(s, 0), "linear": lambda s: (1 + s) / (1 + s).sum(1, keepdim=True)}[mutation]
        monkeypatch.setattr(vit, "attention_weights", wrong)
    assert not all(check.holds for check in same_path(steps=3))  # ascent diverges later


def test_no_training_point_is_a_test_point(monkeypatch):
    drawn, sample = [], patches.PatchDistribution.sample

    def kept(self, N, seed):
        drawn.append(sample(self, N, seed))
        return drawn[-1]

    monkeypatch.setattr(patches.PatchDistribution, "sample", kept)
    model = patches.train_vit(WORLD, 40, 1, seed=3, tests=40, **DESCENT).model
    training.error_rate(model, WORLD, 40, 3)
    train, *tests = (X.flatten(1) for X, y in drawn)
    assert len(tests) == 2 and all(torch.cdist(train, test).min() > 0.1 for test in tests)


def learned(groups=None):
    world = patches.PatchDistribution(8, 4, 6, 0.25, 0.4, groups=groups)
    return world, patches.train_vit(world, 800, 120, seed=0, every=20, tests=2000, **DESCENT)


def test_the_groups_are_found_wherever_they_are():
    for groups in (None, torch.arange(8) % 2):
        _world, path = learned(groups)
        assert path.association[0] < 1 and path.association[-1] == 1
        assert path.alignment[-1] > 0.95 and path.error[-1] < 0.02 < path.error[0]
        assert path.orthogonal[-1] < 0.3 * path.alpha[-1]


def test_shuffled_labels_of_groups_are_noticed():
    world, path = learned()
    shuffled = world.groups[torch.randperm(8, generator=generator(1))]
    assert not torch.equal(shuffled, world.groups)
    assert patches.association(path.A[-1], shuffled) < 1


def test_the_diagonal_stays_and_rate_zero_keeps_the_scores():
    path = patches.train_vit(WORLD, 40, 30, seed=1, every=30, tests=1, beta=0.7, **DESCENT)
    assert torch.equal(path.A[-1].diagonal(), torch.full((8,), 0.7, dtype=torch.float64))
    kept = patches.train_vit(WORLD, 40, 30, seed=1, every=30, tests=1, rate_A=0.0, A=path.A[-1])
    assert torch.equal(kept.A[-1], path.A[-1]) and not torch.equal(kept.v[-1], kept.v[0])


def test_records_and_test_points():
    path = patches.train_vit(WORLD, 20, 25, seed=4, every=10, tests=300)
    assert path.steps == [0, 10, 20, 25] and path.A.shape == (4, 8, 8) and path.loss.shape == (4,)
    assert path.error[-1] == patches.error_rate(path.model, WORLD, 300, 4)


def test_semi_idealised_process_follows_the_population():
    """With the lengths of the idealised process it is the idealised process."""
    path = patches.population_descent(8, 4, 0.25, steps=30, rate_v=5e-3, rate_A=10.0)
    gamma, rho = patches.semi_idealised(patches.Population(8, 4, 0.25), path.alpha, 10.0)
    assert torch.allclose(gamma, path.gamma, rtol=1e-12) and torch.allclose(rho, path.rho, rtol=1e-12)


def test_sampled_gradients_approach_the_population():
    exact = patches.Population(8, 4, 0.25).gradients(patches.ReducedViT(0.1, 0.2, -0.1))
    A = patches.three_values(8, 4, 1.0, 0.2, -0.1)
    X, y = WORLD.sample(60_000, 0)
    dA, dv = patches.PositionalViT(A, 0.1 * WORLD.w, temperature=1.0).gradients(X, y)
    assert float(dv @ WORLD.w) == pytest.approx(exact[0], rel=0.05)
    assert float(dA[0, 1:4].mean()) == pytest.approx(exact[1], rel=0.1)


def growth_across(alpha=0.01, step=0.001, runs=6):
    """What a unit of rate adds to the part of v across the feature, over that part."""
    world = patches.PatchDistribution(8, 4, 4, 0.25, 0.5)
    A = patches.three_values(8, 4, 1.0, 0.0, 0.0)
    total = 0.0
    for seed in range(runs):
        X, y = world.sample(10_000, seed)
        for sign in (1, -1):
            v = torch.tensor([alpha, sign * step, 0.0, 0.0], dtype=torch.float64)
            total -= sign * float(patches.PositionalViT(A, v, temperature=1.0).gradients(X, y)[1][1])
    return total / (2 * step * runs)


def test_the_change_of_the_slope_drives_the_part_across_the_feature(monkeypatch):
    """Lemmas E.2 and E.10: of order alpha^(p-2); with the linear activation of their proof there is no growth."""
    seen = torch.softmax(patches.three_values(8, 4, 1.0, 0.0, 0.0), 1)[0].square().sum()
    assert growth_across() == pytest.approx(3 * 4 * 8**3 * float(seen) / 4 * 0.01, rel=0.1)
    monkeypatch.setattr(vit.PositionalViT, "activation", lambda self, z: self.nu * z)
    monkeypatch.setattr(vit.PositionalViT, "activation_slope", lambda self, z: torch.full_like(z, self.nu))
    assert abs(growth_across()) < 0.05


def test_label_of_the_convolution():
    X = torch.zeros(2, 4, 2, dtype=torch.float64)
    X[0, :, 0] = torch.tensor([1.0, 1.0, -3.0, 0.0])  # 8 - 27
    X[1, :, 0] = torch.tensor([3.0, 0.0, -1.0, -1.0])
    assert convolution_label(X, 2).tolist() == [-1.0, 1.0]


@pytest.mark.parametrize("kind", ["A", "P", "PQK"])
def test_gaussian_training_lowers_the_error(kind):
    run = train_gaussian(kind, 0, D=4, C=2, d=2, N=300, steps=60, every=60, tests=300)
    assert run.error[-1] < run.error[0] and run.A.shape == (4, 4)
    if kind != "A":
        assert torch.allclose(run.gram, run.gram.T)


def test_the_sweep_writes_its_file(tmp_path):
    record = sample_sizes.RECORDING.record(tmp_path, [{"N": 20, "seed": 0}], jobs=1, steps=10)
    (row,) = read_record("sample-sizes", tmp_path).rows
    assert record.settings["steps"] == 10 and row["N"] == 20
    assert [len(row[key]) for key in ("error", "association", "alignment")] == [2, 2, 2]


def test_the_stored_sweep_has_the_settings_of_its_module(book):
    record = read_record("sample-sizes", book / "data")
    assert record.settings == dict(sample_sizes.RECORDING.settings) and record.points == sample_sizes.RECORDING.grid()
