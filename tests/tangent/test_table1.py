"""The recorded sweep of Table 1 is what its module computes."""

import json
from pathlib import Path

import pytest

from attention_theory.tangent import table1

RECORDED = Path(__file__).parents[2] / "book" / "data" / "tangent_table1.json"


def test_widths_are_even_and_reach_from_the_parameter_count_to_far_above():
    for n, d in ((16, 8), (128, 16)):
        widths = table1.widths(n, d)
        assert all(m % 2 == 0 for m in widths) and widths == sorted(widths)
        assert widths[0] <= n / d < 2 * n / d < widths[-1] == 8 * n


def test_the_record_holds_every_point_with_its_provenance():
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    assert {"command", "device", "versions", "date", "seeds"} <= recorded["provenance"].keys()
    for name, points in table1.points().items():
        rows = [{key: row[key] for key in ("kind", "n", "d", "m")} for row in recorded[name]]
        assert rows == [{key: point[key] for key in ("kind", "n", "d", "m")} for point in points]


@pytest.mark.parametrize("kind", ["softmax", "exp", "relu"])
def test_a_recorded_point_is_recomputed(kind):
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    row = next(r for r in recorded["width"] if (r["kind"], r["n"], r["d"], r["m"]) == (kind, 32, 8, 256))
    found = table1.point(kind, 32, 8, 256, steps=300)
    assert found["steps"] == row["steps"]
    assert found["condition"] == pytest.approx(row["condition"], rel=1e-3)
