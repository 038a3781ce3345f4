"""The page "Checks": no odd input got past the library. That it shows what was recorded, nbval says."""

from conftest import BOOK
from theorybook.records import read_record


def test_odd_inputs_are_refused_or_answered():
    record = read_record("fuzz", BOOK / "data")
    bad = ("not finite", "wrong", "error inside", "hang", "memory")
    found = {kind: sum(row[kind] for row in record.rows) for kind in bad}
    assert found["wrong"] == found["hang"] == found["memory"] == found["not finite"] == 0
    assert sum(row["refused"] + row["answered"] for row in record.rows) + sum(found.values()) == record.settings["cases"]
