"""Descent on samples: against a literal loop, its symmetries, the semi-idealised process, transfer."""

import torch
from attention_checks.patches.runs import sample_sizes, samples
from attention_theory import patches
from attention_theory.patches import training
from theorybook.records import read_record

DESCENT = {"rate_A": 10.0, "rate_v": 5e-3}
WORLD = patches.PatchDistribution(8, 4, 6, 0.25, 0.4)


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
    gamma, rho = samples.semi_idealised(patches.Population(8, 4, 0.25), path.alpha, 10.0)
    assert torch.allclose(gamma, path.gamma, rtol=1e-12) and torch.allclose(rho, path.rho, rtol=1e-12)


def test_the_sweep_writes_its_file(tmp_path):
    record = sample_sizes.RECORDING.record(tmp_path, [{"N": 20, "seed": 0}], jobs=1, steps=10)
    (row,) = read_record("sample-sizes", tmp_path).rows
    assert record.settings["steps"] == 10 and row["N"] == 20
    assert [len(row[key]) for key in ("error", "association", "alignment")] == [2, 2, 2]
