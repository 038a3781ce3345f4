"""The page "Checks": it shows every record that there is of what was thrown at library and tests, and none has a gap."""

from collections import Counter

import nbformat
import pytest
from attention_theory.evidence.records import read_record
from conftest import BOOK

RECORDS = [name for name in ("fuzz", "mutants", "matrix") if (BOOK / "data" / f"{name}.json").exists()]


@pytest.mark.parametrize("name", RECORDS)
def test_every_record_is_shown_with_its_sums(name):
    outputs = [out for cell in nbformat.read(BOOK / "checks.ipynb", as_version=4).cells for out in cell.get("outputs", [])]
    shown = {tuple(line.split()) for out in outputs for line in out.get("data", {}).get("text/plain", "").splitlines()}
    rows = read_record(name, BOOK / "data").rows
    if name == "mutants":  # summed by part, the missed ones one by one
        fates = Counter(row["fate"] for row in rows)
        assert any(line[:4] == ("all", *(str(fates[fate]) for fate in ("killed", "survived", "not reached"))) for line in shown)
        places = Counter(line[0] for line in shown)
        missed = [row for row in rows if row["fate"] != "killed" or row["spoken of"] > row["noticed"]]
        for place in {f"{row['module']}:{row['line']}" for row in missed}:
            assert places[place], place
        return
    for row in rows:
        assert tuple(" ".join(map(str, row.values())).split()) in shown, row


def test_odd_inputs_are_refused_or_answered():
    record = read_record("fuzz", BOOK / "data")
    bad = ("not finite", "wrong", "error inside", "hang", "memory")
    found = {kind: sum(row[kind] for row in record.rows) for kind in bad}
    assert found["wrong"] == found["hang"] == found["memory"] == found["not finite"] == 0
    assert sum(row["refused"] + row["answered"] for row in record.rows) + sum(found.values()) == record.settings["cases"]
