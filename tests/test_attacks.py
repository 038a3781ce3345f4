"""Referees' files become one record; a slip in a file is named."""

import json

import attacks
import pytest
from conftest import BOOK

ROW = {"row": "deng2023/lemma-3.1", "reading": "weak", "tried": "n = 2", "kind": "scope", "fault": "n = 1", "mended": "scope"}


def batch(folder, **change):
    path = folder / "deng2023-1.json"
    path.write_text(json.dumps([ROW | change]), encoding="utf-8")
    return path


def test_a_file_becomes_points(tmp_path):
    record = attacks.gathered([batch(tmp_path)], BOOK)
    assert list(record.rows) == [ROW | {"batch": "deng2023-1"}]


@pytest.mark.parametrize(
    "change, problem",
    [({"row": "deng2023/lemma-99"}, "no row of the ledger"), ({"reading": "good"}, "sound, weak, wrong")],
)
def test_a_slip_is_named(tmp_path, change, problem):
    with pytest.raises(ValueError, match=problem):
        attacks.gathered([batch(tmp_path, **change)], BOOK)
