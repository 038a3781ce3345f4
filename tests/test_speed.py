"""The page "Speed": at the smallest size of each topic all routes agree, and the record is of the routes that there are."""

import pytest
import speed
from conftest import BOOK
from theorybook.records import read_record

RECORD = read_record("speed", BOOK / "data")


@pytest.mark.parametrize("topic", speed.TOPICS)
def test_routes_agree_and_are_those_of_the_record(topic):
    make, sizes = speed.TOPICS[topic]
    bench = make(sizes[0])  # raises where two routes differ
    recorded = {row["route"] for row in RECORD.where(topic=topic)}
    assert recorded <= set(bench.routes) | set(speed.ROUTES)
    assert len({row["n"] for row in RECORD.where(topic=topic)}) == len(sizes)


def test_what_is_slower_than_its_bar_ends_the_run(monkeypatch, capsys):
    def late():
        return sum(range(20_000))

    case = speed.Bench("word", 1, {"library": late, "other": int}, bars={"other": 2})
    monkeypatch.setattr(speed, "TOPICS", {"word": (lambda n: case, (1,))})
    monkeypatch.setattr(speed.sys, "argv", ["speed.py", "--rounds", "3"])
    assert speed.main() == 1 and "other takes only" in capsys.readouterr().err
