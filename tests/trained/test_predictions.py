"""What was predicted stands as it was committed, and before the runs that ask it."""

import subprocess
from dataclasses import replace

import pytest
from conftest import BOOK, ROOT
from theorybook import load_ledger, load_predictions
from theorybook.records import read_record

FILES = ("book/trained/predictions.yml", "book/patches/predictions.yml")
TRAINED, PATCHES = (load_predictions(ROOT / file) for file in FILES)
COMMITS = {(file, each.commit) for file, found in zip(FILES, (TRAINED, PATCHES)) for each in found.values()}


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize(("file", "commit"), sorted(COMMITS))
def test_predictions_stand_as_they_were_committed(file, commit, tmp_path):
    shown = git("show", f"{commit}:{file}")
    if shown.returncode:
        pytest.skip("the commit is not here: git fetch --unshallow")
    (tmp_path / "predictions.yml").write_text(shown.stdout)
    then = load_predictions(tmp_path / "predictions.yml")
    for id, now in load_predictions(ROOT / file).items():
        if now.commit == commit:
            assert replace(now, commit="") == then[id], id


def test_every_row_by_measurement_is_a_prediction():
    rows = [row for row in load_ledger(BOOK / "ledger" / "trained.yml").values() if row.method == "measured"]
    assert {row.id.removeprefix("trained/own-") for row in rows} <= set(TRAINED)


def test_records_are_not_older_than_their_predictions():
    for names, predictions in (("trained-*.json", TRAINED), ("cifar10*.json", PATCHES)):
        for path in (BOOK / "data").glob(names):
            date = read_record(path.stem, BOOK / "data").provenance["date"]
            assert date >= min(each.date for each in predictions.values())


def test_the_records_of_part_vi_are_small():
    assert sum(path.stat().st_size for path in (BOOK / "data").glob("trained-*.json")) <= 200 * 1024


def test_running_says_how_long_the_records_of_part_vi_took():
    said, hours, least = (BOOK / "running.md").read_text(), 0.0, 0.0
    for path in (BOOK / "data").glob("trained-*.json"):
        record = read_record(path.stem, BOOK / "data")
        for n in {point.get("n") for point in record.points if record.seconds}:
            seconds = [took for point, took in zip(record.points, record.seconds) if point.get("n") == n]
            hours, least = hours + sum(seconds) / 3600, least + len(seconds) * min(seconds) / 3600
    words = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight")
    assert f"about {words[round(hours)]} hours. If each" in said.replace("\n", " ")
    assert f"about {words[round(least)]} hours on one core" in said.replace("\n", " ")
