"""The command that a record prints runs: it is read from the record, and started up to where it would compute."""

import argparse
import os
import runpy
import shlex
import subprocess
import sys

import pytest
from conftest import BOOK, ROOT
from theorybook import book
from theorybook.records import differences, read_record
from theorybook.sweep import Recording
from theorybook.tools.records_check import recordings

DATA = BOOK / "data"
TABLES = book.settings()["tables"]
#: Found by people: no program can repeat it.
BY_HAND = ("attacks", "hostile-reading")
NAMES = [path.stem for path in sorted(DATA.glob("*.json")) if path.stem not in BY_HAND]


class Parsed(Exception):
    """A command line was accepted."""


@pytest.mark.filterwarnings("ignore:.*found in sys.modules")
@pytest.mark.parametrize("name", [name for name in NAMES if name not in TABLES])
def test_the_command_of_a_record_computes_its_points(name, tmp_path, monkeypatch):
    record, asked = read_record(name, DATA), {}

    def noted(recording, folder, points, *rest, **more):
        asked[recording.name] = (os.fspath(folder), points)
        return record

    python, m, module, *words = shlex.split(record.provenance["command"])
    assert (python, m) == ("python", "-m")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [module, *words])
    monkeypatch.setattr(Recording, "record", noted)
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    folder, points = asked[name]
    assert folder == "book/data" and sorted(map(str, points)) == sorted(map(str, record.points))


@pytest.mark.parametrize("name", [name for name in NAMES if name in TABLES])
def test_the_command_of_a_table_is_one_of_its_tool(name, tmp_path, monkeypatch):
    def accepted(self, *given, parse=argparse.ArgumentParser.parse_args):
        parse(self, *given)
        raise Parsed

    python, tool, *words = shlex.split(read_record(name, DATA).provenance["command"])
    assert python == "python"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [tool, *words])
    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", accepted)
    with pytest.raises(Parsed):
        runpy.run_path(str(ROOT / tool), run_name="__main__")


def test_a_point_made_anew_by_its_records_command_is_the_recorded_one(tmp_path):
    """The cheapest point of a record; ``make records-check`` asks more, without the command line."""
    name = "word-sides"
    record, recording = read_record(name, DATA), recordings()[name]
    i = min(range(len(record.points)), key=record.seconds.__getitem__)
    where = [f"{key}={value}" for key, value in record.points[i].items()]
    _, *words = shlex.split(record.provenance["command"])
    subprocess.run([sys.executable, *words, "--jobs", "1", "--where", *where], cwd=tmp_path, check=True)
    again = read_record(name, tmp_path / "book" / "data")
    assert again.points == [record.points[i]]
    assert not [*differences(record.results[i], again.results[0], recording.tolerance)]
