"""The record of Table 1 is what its module computes, and its statistics are what its docstring says."""

import pytest
import torch
from attention_theory.evidence.records import read_record
from attention_theory.tangent import draw_problems, limit_kernel
from attention_theory.tangent.runs import table1
from conftest import BOOK


@pytest.mark.parametrize(("n", "d"), table1.SIZES)
def test_widths_are_even_and_reach_from_below_the_parameter_count_to_8n(n, d):
    widths, enough = table1.widths(n, d), table1.enough_parameters(n, d)
    assert all(m % 2 == 0 and m > 0 for m in widths) and widths == sorted(set(widths))
    assert d * (enough - 1) >= n > d * (enough - 3)
    assert widths[0] == max(enough - 2, 2) and enough in widths and widths[-1] == 8 * n


def test_the_record_holds_every_point_with_its_provenance():
    record = read_record("cao2024-table-1", BOOK / "data")
    assert {"command", "device", "versions", "date"} <= record.provenance.keys()
    assert record.settings == {"seeds": list(range(16, 48)), "tolerance": 0.01}
    assert record.points == table1.RECORDING.grid()
    assert all(len(row["steps"]) == len(row["peak"]) == 32 for row in record.rows)


@pytest.mark.parametrize("kind", ["softmax", "exp", "relu"])
def test_a_recorded_point_is_recomputed(kind):
    row = read_record("cao2024-table-1", BOOK / "data").where(kind=kind, n=32, d=8, m=256)[0]
    found = table1.run(kind, 32, 8, 256, limit=300)
    assert found["steps"] == pytest.approx(row["steps"], abs=1)
    assert found["condition"] == pytest.approx(row["condition"], rel=1e-3)


def test_needed_and_typical_width_ask_for_every_wider_one():
    rows = [{"m": 8, "steps": [5, 7, -1, 3]}, {"m": 2, "steps": [9, -1, -1, 4]}, {"m": 4, "steps": [-1, 20, -1, 4]}]
    assert table1.needed_widths(rows) == [8, 4, 16, 2]
    assert table1.needed_widths(rows, steps=10) == [8, 8, 16, 2]
    assert table1.typical_width(rows) == 2
    assert table1.typical_width([{"m": 8, "steps": [-1, 3, -1]}, {"m": 4, "steps": [3, 3, 3]}]) == 16


@pytest.mark.parametrize("kind", ["softmax", "exp", "relu"])
def test_limit_kernel_is_the_limit_of_the_gram_matrix(kind):
    problems = draw_problems(6, 4, 200_000, [1])
    gram, limit = table1.gram(kind, problems) / 200_000, limit_kernel(problems.x, kind=kind)
    assert (gram - limit).norm() < 0.1 * limit.norm()
    torch.testing.assert_close(limit[0], limit_kernel(problems.x[0], kind=kind))


def test_steps_at_infinite_width_are_the_first_that_reach_the_tolerance():
    steps = table1.enough_steps("softmax", 16, 8)
    problems = draw_problems(16, 8, 2, table1.SEEDS)
    values, vectors = torch.linalg.eigh(limit_kernel(problems.x)[0])
    share = (vectors.T @ problems.y[0]).square() / 16
    left = lambda t: float((share * (1 - values / values[-1]) ** (2 * t)).sum())
    assert left(float(steps[0])) <= 0.01 < left(float(steps[0]) - 1)


def test_an_unknown_activation_has_no_limit():
    with pytest.raises(ValueError, match="tanh"):
        limit_kernel(torch.eye(2), kind="tanh")
