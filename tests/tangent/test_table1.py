"""The recorded sweep of Table 1 is what its module computes, and its statistics are what its docstring says."""

import json
from pathlib import Path

import pytest
import torch

from attention_theory.tangent import draw_problems, limit_kernel, table1
from attention_theory.tangent.training import respond

RECORDED = Path(__file__).parents[2] / "book" / "data" / "tangent_table1.json"


@pytest.mark.parametrize(("n", "d"), table1.SIZES)
def test_widths_are_even_and_reach_from_below_the_parameter_count_to_8n(n, d):
    widths, enough = table1.widths(n, d), table1.enough_parameters(n, d)
    assert all(m % 2 == 0 and m > 0 for m in widths) and widths == sorted(set(widths))
    assert d * (enough - 1) >= n > d * (enough - 3)
    assert widths[0] == max(enough - 2, 2) and enough in widths and widths[-1] == 8 * n


def test_the_record_holds_every_point_with_its_provenance():
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    assert {"command", "device", "versions", "date", "seeds"} <= recorded["provenance"].keys()
    assert recorded["provenance"]["steps"] == table1.STEPS
    assert recorded["provenance"]["seeds"] == f"{table1.SEEDS[0]} to {table1.SEEDS[-1]}"
    for name, points in table1.points().items():
        keys = ("kind", "n", "d", "m", "closeness", "speed")
        defaults = {"closeness": None, "speed": 1.0}
        assert [[row[key] for key in keys] for row in recorded[name]] == [[(defaults | point)[key] for key in keys] for point in points]
        assert all(len(row["steps"]) == len(table1.SEEDS) for row in recorded[name])


@pytest.mark.parametrize("kind", ["softmax", "exp", "relu"])
def test_a_recorded_point_is_recomputed(kind):
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    row = next(r for r in recorded["width"] if (r["kind"], r["n"], r["d"], r["m"]) == (kind, 32, 8, 256))
    found = table1.point(kind, 32, 8, 256, steps=300)
    assert found["steps"] == pytest.approx(row["steps"], abs=1)
    assert found["condition"] == pytest.approx(row["condition"], rel=1e-3)


def test_needed_and_typical_width_ask_for_every_wider_one():
    rows = [{"m": 8, "steps": [5, 7, -1, 3]}, {"m": 2, "steps": [9, -1, -1, 4]}, {"m": 4, "steps": [-1, 20, -1, 4]}]
    assert table1.needed_widths(rows) == [8, 4, 16, 2]
    assert table1.needed_widths(rows, steps=10) == [8, 8, 16, 2]
    assert table1.typical_width(rows) == 2
    assert table1.typical_width([{"m": 8, "steps": [-1, 3, -1]}, {"m": 4, "steps": [3, 3, 3]}]) == 16


@pytest.mark.parametrize("kind", ["softmax", "exp", "relu"])
def test_infinite_width_is_the_limit_of_the_gram_matrix(kind):
    problems = draw_problems(6, 4, 200_000, [1])
    slopes = respond(kind, problems.x @ problems.W, problems.a)[1]
    gram = (slopes @ slopes.mT) * (problems.x @ problems.x.mT) / 200_000
    assert (gram - table1.infinite_width(kind, problems.x)).norm() < 0.1 * gram.norm()
    if kind == "softmax":
        torch.testing.assert_close(table1.infinite_width(kind, problems.x)[0], limit_kernel(problems.x[0]))


def test_an_unknown_activation_has_no_limit():
    with pytest.raises(ValueError, match="tanh"):
        table1.infinite_width("tanh", torch.eye(2)[None])
