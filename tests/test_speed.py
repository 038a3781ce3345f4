"""The page "Speed": at the smallest size of each topic all routes agree, and the record is of the routes that there are."""

import json
from types import SimpleNamespace

import pytest
import speed
from conftest import BOOK
from theorybook.records import read_record

RECORD = read_record("speed", BOOK / "data")


@pytest.mark.parametrize("topic", speed.TOPICS)
def test_routes_agree_and_are_those_of_the_record(topic):
    make, sizes = speed.TOPICS[topic]
    bench = make(sizes[0])  # raises where two routes differ
    assert bench.topic == topic
    recorded = {row["route"] for row in RECORD.where(topic=topic)}
    assert recorded <= set(bench.routes) | set(speed.ROUTES)
    assert len({row["n"] for row in RECORD.where(topic=topic)}) == len(sizes)


def test_what_is_slower_than_its_bar_ends_the_run(monkeypatch, capsys):
    def late():
        return sum(range(20_000))

    case = speed.Bench("word", 1, {"library": late, "other": int}, bars={"other": 2})
    monkeypatch.setattr(speed, "TOPICS", {"word": (lambda n: case, (1,))})
    monkeypatch.setattr(speed.sys, "argv", ["speed.py", "--runs", "2", "--rounds", "3"])
    monkeypatch.setattr(speed.subprocess, "run", in_this_process)
    assert speed.main() == 1 and "other takes only" in capsys.readouterr().err


def in_this_process(command, **options):
    rounds = int(command[command.index("--rounds") + 1])
    return SimpleNamespace(stdout=json.dumps(speed.once(rounds)))


def test_runs_are_summed_up_by_medians_least_and_most():
    rows = [{"seconds": s, "ratio": r, "limit": 0.5} for s, r in ((1.0, 3.0), (4.0, 0.5), (2.0, 1.0))]
    assert speed.over_runs(rows) == {"seconds": 2.0, "ratio": 1.0, "limit": 0.5, "low": 0.5, "high": 3.0}


def test_the_record_names_its_processor_and_has_the_case_that_is_lost():
    assert RECORD.settings["processor"] and RECORD.settings["runs"] > 1
    for topic in ("small", "small, paired"):
        assert RECORD.where(topic=topic, route="torch, one product", n=4)
