"""What was predicted stands as it was committed, and before the runs that ask it."""

import subprocess
from dataclasses import replace

import pytest
from conftest import BOOK, ROOT
from theorybook import load_ledger, load_predictions
from theorybook.records import read_record
from theorybook.tools.records_check import recordings, untied

FILE = "book/trained/predictions.yml"
PREDICTIONS = load_predictions(ROOT / FILE)


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize("commit", sorted({each.commit for each in PREDICTIONS.values()}))
def test_predictions_stand_as_they_were_committed(commit, tmp_path):
    shown = git("show", f"{commit}:{FILE}")
    if shown.returncode:
        pytest.skip("the commit is not here: git fetch --unshallow")
    (tmp_path / "predictions.yml").write_text(shown.stdout)
    then = load_predictions(tmp_path / "predictions.yml")
    for id, now in PREDICTIONS.items():
        if now.commit == commit:
            assert replace(now, commit="") == then[id], id


def test_every_row_by_measurement_is_a_prediction():
    rows = [row for row in load_ledger(BOOK / "ledger" / "trained.yml").values() if row.method == "measured"]
    assert {row.id.removeprefix("trained/own-") for row in rows} <= set(PREDICTIONS)


def test_records_are_not_older_than_their_predictions():
    for path in (BOOK / "data").glob("trained-*.json"):
        date = read_record(path.stem, BOOK / "data").provenance["date"]
        assert date >= min(each.date for each in PREDICTIONS.values())


@pytest.mark.parametrize("name", sorted(path.stem for path in (BOOK / "data").glob("trained-*-*.json")))
def test_a_record_has_the_settings_and_points_of_its_recording(name):
    assert not untied(recordings()[name], read_record(name, BOOK / "data"))


def test_the_records_of_part_vi_are_small():
    assert sum(path.stat().st_size for path in (BOOK / "data").glob("trained-*.json")) <= 200_000
