"""Records, sweeps and recordings: round trips, damage, resumption, dead workers, the command line."""

import errno
import json
import math
import multiprocessing
import os
import subprocess
import sys
import time
import warnings
from collections import namedtuple
from dataclasses import dataclass
from unittest import mock

import joblib
import numpy as np
import pytest
import torch
from conftest import ROOT
from joblib.externals.loky.backend import context
from joblib.parallel import ThreadingBackend
from recorded_example import RECORDING, deadly, float_of, math_log, mortal, run, slow, unloadable
from theorybook.records import Record, decoded, differences, encoded, read_record, write_record
from theorybook.sweep import Recording, command_line, sweep
from theorybook.tools.records_check import recomputed, recordings, untied

fcntl = pytest.importorskip("fcntl")
pytestmark = pytest.mark.filterwarnings("ignore:`fork` start method")


@pytest.fixture(autouse=True)
def forked_workers():
    """Workers forked off this process: those that import torch first would take most of the time."""
    context.set_start_method("fork", force=True)
    yield
    context.set_start_method(None, force=True)


@dataclass(frozen=True)
class Found:
    rate: float
    kernel: torch.Tensor


Pair = namedtuple("Pair", "low high")


@pytest.mark.parametrize(
    ("value", "back"),
    [
        (Found(1 / 3, torch.tensor(2.0)), {"rate": 0.333333, "kernel": 2.0}),
        (Pair(1, math.inf), {"low": 1, "high": math.inf}),
        ((True, None, "x", np.int64(3)), [True, None, "x", 3]),
        ([{"a": 1, "b": 0.1234567}, {"a": 2, "b": -math.inf}], [{"a": 1, "b": 0.123457}, {"a": 2, "b": -math.inf}]),
        ([[{"a": 1}, {"a": 2}], []], [[{"a": 1}, {"a": 2}], []]),
        ([{"a": 1}, {"b": 2}], [{"a": 1}, {"b": 2}]),
        (range(3), [0, 1, 2]),
        (torch.ones(1, 1, dtype=torch.bfloat16)[0, 0], 1.0),
    ],
)
def test_values_survive(value, back):
    text = json.dumps(encoded(value), allow_nan=False)
    assert decoded(json.loads(text)) == back
    assert encoded(decoded(encoded(value))) == encoded(value)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int32", "bool", "complex64", ">f8"])
@pytest.mark.parametrize("shape", [(3,), (300,), (4, 5), (0, 2)])
def test_arrays_survive_with_shape_and_type(dtype, shape):
    array = (np.arange(math.prod(shape)).reshape(shape) / 7).astype(dtype)
    back = decoded(json.loads(json.dumps(encoded(array))))
    assert back.shape == shape and back.dtype == array.dtype
    np.testing.assert_allclose(back, array, rtol=1e-5)


@pytest.mark.parametrize(("dtype", "stored"), [(np.longdouble, "float64"), (np.clongdouble, "complex128")])
def test_no_array_is_stored_in_a_type_that_other_machines_lack(dtype, stored):
    assert all(encoded(np.ones(shape, dtype))["array"] == stored for shape in [(3,), (2, 2)])


@pytest.mark.parametrize("value", [object(), np.array(["a"]), {"array": 1}, print, {1: 2, "1": 3}, [10**5000]])
def test_what_a_record_cannot_hold_is_refused(value):
    with pytest.raises(TypeError, match="a record (cannot hold|holds)"):
        encoded(value)


def test_a_record_is_text_one_point_to_a_line(tmp_path):
    record = Record("x", {"command": "c"}, {"d": 2}, [{"n": 1}, {"n": 2}], [{"a": 0.5}, {"a": math.nan}], (1.234, 2.0))
    path = write_record(record, tmp_path)
    assert len(path.read_text().splitlines()) == 8 and '{"point":{"n":1},"seconds":1.2,"result":{"a":0.5}},' in path.read_text()
    back = read_record("x", tmp_path)
    assert (back.settings, back.points, back.seconds) == ({"d": 2}, [{"n": 1}, {"n": 2}], (1.2, 2.0))
    assert back.column("a", n=1).tolist() == [0.5] and math.isnan(back.rows[1]["a"])
    assert not list(tmp_path.glob("*.tmp"))
    (tmp_path / "linked.json").symlink_to(tmp_path / "x.json")
    odd = {"command": "--out caf\udce9", "seed": np.int64(3)}  # bytes of a path that are no text
    assert write_record(Record("linked", odd, {}, [{"n": 1}], [1]), tmp_path).is_symlink()
    path.write_text("\ufeff" + path.read_text())  # as Windows' editors do
    assert read_record("x", tmp_path).provenance == odd
    with pytest.raises(TypeError):
        write_record(Record("y", {}, {}, [{"n": 1}], [print]), tmp_path)
    assert not list(tmp_path.glob("y*"))


def test_a_missing_record_names_the_remedy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"nothing\.json is not in .*git checkout -- book/data/nothing\.json"):
        read_record("nothing")
    with pytest.raises(ValueError, match="not a plain file name"):
        read_record("../x")


@pytest.mark.parametrize("damage", [lambda text: text[:-9], lambda text: "", lambda text: text.replace("points", "dots"),
                                    lambda text: text.replace("eN", "??"), lambda text: "[]", lambda text: "[" * 10**5,
                                    lambda text: text.replace('{"n":1}', "7")])  # fmt: skip
def test_a_damaged_record_is_named(tmp_path, damage):
    path = write_record(Record("x", {}, {}, [{"n": 1}], [np.ones((3, 3))]), tmp_path)
    path.write_text(damage(path.read_text()))
    with pytest.raises(ValueError, match=r"x\.json: not a readable record; restore it with git checkout"):
        read_record("x", tmp_path)


def test_rows_of_a_record_are_found_or_refused():
    record = Record("x", {}, {}, [{"n": 1}, {"n": 2}], [[{"a": 1}, {"a": 2}], [{"a": 3}]])
    assert record.rows.rows == [{"n": 1, "a": 1}, {"n": 1, "a": 2}, {"n": 2, "a": 3}]
    assert record.column("a", n=1).tolist() == [1, 2] and len(record.where(n=(1, 2), a=(2, 3))) == 2
    with pytest.raises(ValueError, match="no row has {'n': 3}"):
        record.where(n=3)
    with pytest.raises(ValueError, match="no column is called 'b'; there are n, a"):
        record.rows["b"]
    path = Record("x", {}, {}, [{"n": 1}, {"n": 2}], [{"path": np.arange(3)}, {"path": np.ones(3)}])
    assert path.where(path=np.arange(3))[0]["n"] == 1
    with pytest.raises(ValueError, match=r"no row has {'path': 1} \(a tuple allows several values\)"):
        path.where(path=1)


def test_a_page_that_is_newer_than_its_record_says_so():
    record = Record("old", {}, {}, [{"n": 2}], [{"a": 1.0}])
    for row in (record.where(n=2)[0], record.rows[0], next(iter(record.rows))):
        assert row["a"] == 1 and row == {"n": 2, "a": 1.0}
        with pytest.raises(ValueError, match="'heads'; there are n, a: is the record older than this page"):
            row["heads"]


def test_results_that_are_columns_become_rows():
    points = [{"n": 1, "sizes": [5, 6, 7]}, {"n": 2, "sizes": [5]}]
    record = Record("x", {}, {}, points, [{"a": np.ones(2), "b": ["u", "v"]}] * 2)
    assert record.long.rows == [{"n": n, "a": 1.0, "b": b} for n in (1, 2) for b in "uv"]


@pytest.mark.parametrize(
    ("left", "right", "tolerance", "found"),
    [
        ({"a": 1.0}, {"a": 1.0 + 1e-7}, 1e-5, ""),
        ({"a": 1.0}, {"a": 1.1}, 1e-5, "a: 1.0 recorded, 1.1 computed"),
        ({"a": 3}, {"a": 4}, 0.5, "a: 3 recorded"),
        ({"a": 3}, {"a": 4}, {"a": 0.5}, ""),
        ({"a": [1.0, 2.0]}, {"a": [1.0, 2.1]}, {"a": 0.1, "": 0}, ""),
        ({"t": 1.0}, {"t": 9.0}, {"t": math.inf}, ""),
        (np.ones(3), np.ones(4), 1, "shape"),
        (np.array([1.0, np.nan]), np.array([1.0, np.nan]), 0, ""),
        (np.array([1.0, np.nan]), np.array([1.0, 2.0]), 1, "nan recorded"),
        (np.array([1e-9, 1.0]), np.array([2e-9, 1.0]), 1e-5, ""),
        ([1], [1, 2], 1, "recorded"),
        ({"a": 1}, {"b": 1}, 1, "recorded"),
        (math.inf, math.inf, 0, ""),
        (math.inf, 1.0, 1, "inf recorded"),
        (True, False, 1, "True recorded"),
        (None, 1.0, 1, "None recorded"),
        ({"a": 2**53 + 1}, {"a": 2**53}, 1, "a: 9007199254740993 recorded"),
        (10**400, 10**400, 0, ""),
    ],
)
def test_differences_are_told(left, right, tolerance, found):
    told = list(differences(left, right, tolerance))
    assert bool(told) == bool(found) and found in "".join(told)


def test_a_recording_writes_what_its_function_gives(tmp_path):
    record = RECORDING.record(tmp_path, jobs=2)
    back = read_record("example", tmp_path)
    assert back.points == RECORDING.grid() and back.settings == RECORDING.settings and len(back.seconds) == 4
    assert back.results == [
        run(**point, scale=2.0) | {"value": pytest.approx(2 * point["n"] / 3, 1e-5)} for point in back.points
    ]
    assert not [*differences(back.results, [RECORDING.compute(point) for point in back.points])]
    assert back.provenance["function"] == "recorded_example.run" and {"device", "date", "versions"} <= set(back.provenance)
    assert os.listdir(tmp_path) == ["example.json"] and record.results == back.results


def interrupted(folder, points, **settings):
    """A partial file of the recording with these points."""

    def stops(n, seed, **more):
        if {"n": n, "seed": seed} not in points:
            raise KeyboardInterrupt
        return run(n, seed, **more)

    stops.__module__, stops.__qualname__ = run.__module__, run.__qualname__
    with pytest.raises(KeyboardInterrupt):
        Recording("example", stops, RECORDING.points, settings=settings).record(folder)
    return folder / "example.json.partial"


def test_an_interrupted_recording_continues(tmp_path):
    log = tmp_path / "log"
    partial = interrupted(tmp_path, RECORDING.points[:2], log=str(log))
    assert len(partial.read_text().splitlines()) == 3
    Recording("example", run, RECORDING.points, settings={"log": str(log)}).record(tmp_path)
    assert log.read_text().split("\n")[:-1] == ["1 0", "1 1", "2 0", "2 1"] and not partial.exists()


def test_what_an_interrupted_run_left_must_fit(tmp_path):
    partial = interrupted(tmp_path, RECORDING.points[:3], scale=3.0)
    before = partial.read_bytes()
    with pytest.raises(ValueError, match=r"example\.json\.partial cannot be continued: it belongs to other settings"):
        RECORDING.record(tmp_path)
    damaged = before.replace(b"function", b"funktion", 1)  # the head, which then says nothing
    partial.write_bytes(damaged)
    with pytest.raises(ValueError, match="cannot be continued"):
        RECORDING.record(tmp_path)
    assert partial.read_bytes() == damaged


@pytest.mark.parametrize(
    ("damage", "lost", "told"),
    [
        (lambda lines: [lines[0], lines[1].replace("0.333333", "0.333433"), *lines[2:]], {(1, 0)}, 1),
        (lambda lines: [*lines[:2], "\x00" * len(lines[2]), lines[3]], {(1, 1)}, 1),
        (lambda lines: [*lines[:3], lines[3][:-12]], {(2, 0)}, 1),
        (lambda lines: ["{" + lines[0], *lines[1:]], set(), 0),
        (lambda lines: [*lines[:3], lines[1]], {(2, 0)}, 0),
    ],
    ids=["a changed digit", "zeros", "cut short", "the head", "a line twice"],
)
def test_a_damaged_line_costs_its_point(damage, lost, told, tmp_path):
    log = tmp_path / "log"
    partial = interrupted(tmp_path, RECORDING.points[:3], log=str(log))
    partial.write_text("\n".join(damage(partial.read_text().splitlines())))
    log.unlink()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        record = Recording("example", run, RECORDING.points, settings={"log": str(log)}).record(tmp_path)
    assert {tuple(map(int, line.split())) for line in log.read_text().splitlines()} == lost | {(2, 1)}
    assert [row["value"] for row in record.rows] == pytest.approx([1 / 3, 1 / 3, 2 / 3, 2 / 3], 1e-5)
    assert len(found) == told and not partial.exists()


def test_points_that_a_smaller_call_does_not_want_stay(tmp_path):
    partial = interrupted(tmp_path, RECORDING.points[:3], **RECORDING.settings)
    assert len(RECORDING.record(tmp_path, RECORDING.points[2:]).points) == 2
    assert len(partial.read_text().splitlines()) == 5


@pytest.mark.parametrize("points", [[{"n": 1}], [{"n": 1, "seed": 0, "color": 2}], [{"n": 1, "seed": 0}] * 2])
def test_points_must_fit_their_function(points, tmp_path):
    with pytest.raises(ValueError, match="does not fit|comes twice"):
        Recording("x", run, points).record(tmp_path)
    with pytest.raises(ValueError, match=r"n is a setting of all points, and {'n': 1, 'seed': 0} has its own"):
        Recording("x", run, [{"n": 1, "seed": 0}], settings={"n": 2}).record(tmp_path)


def test_a_dead_worker_costs_one_point(tmp_path):
    log = tmp_path / "log"
    assert sweep(mortal, [{"n": n, "log": str(log)} for n in range(8)], jobs=2) == [n * n for n in range(8)]
    assert log.read_text().split().count("0") == 1


def test_a_point_that_always_kills_is_named_and_the_others_finish():
    seen = []
    with pytest.raises(RuntimeError, match=r"workers died again and again.*; 1 points are left, first \[{'n': 1}\]"):
        sweep(deadly, [{"n": n} for n in range(40)], jobs=2, finished=lambda i, value: seen.append(value))
    assert sorted(seen) == [0, *range(2, 40)]
    with pytest.raises(RuntimeError, match="40 points are left"):
        sweep(deadly, [{"n": 1}] * 40, jobs=2)


@pytest.mark.parametrize("jobs", [1, 2])
def test_infinite_results_are_kept_and_named(jobs):
    points = [{"value": value} for value in (1.0, math.inf, math.nan, 2.0)]
    with pytest.warns(
        UserWarning, match=r"2 of 4 results are infinite or NaN, first those of \[{'value': inf}, {'value': nan}\]"
    ):
        assert str(sweep(float_of, points, jobs)) == "[1.0, inf, nan, 2.0]"


def test_a_point_that_fails_is_named():
    with pytest.raises(ValueError, match="math domain error") as error:
        sweep(math_log, [{"value": value} for value in (1, 0)], jobs=2)
    assert error.value.__notes__ == ["at the point {'value': 0}"]
    # as a RuntimeError with its text, or as itself in a worker that has imported Dask, which teaches pickle such errors
    with pytest.raises(Exception, match="1 is not 2") as lost:
        sweep(unloadable, [{"n": n} for n in range(2)], jobs=2)
    assert "at the point {'n': 1}" in " ".join([str(lost.value), *getattr(lost.value, "__notes__", [])])
    with pytest.raises(ValueError, match="jobs = 0 is not allowed"):
        sweep(float_of, [{"value": 1}], jobs=0)


class Grudging(ThreadingBackend):
    """A backend that answers at the end only, as joblib's one for Ray."""

    supports_return_generator = False
    asked: set[int] = set()

    def effective_n_jobs(self, n_jobs):
        self.asked.add(n_jobs)
        return 2


@pytest.mark.parametrize(("given", "asked"), [({}, -1), ({"n_jobs": 3}, 3)], ids=["all of it", "three workers"])
def test_a_backend_without_generators_works_and_all_of_it_if_nothing_is_said(given, asked):
    joblib.register_parallel_backend("grudging", Grudging)
    Grudging.asked, seen = set(), []
    with joblib.parallel_config(backend="grudging", **given):
        points = [{"base": b, "exp": 2} for b in range(20)]
        assert sweep(pow, points, finished=lambda i, value: seen.append(i)) == [b * b for b in range(20)]
    assert sorted(seen) == list(range(20)) and Grudging.asked == {asked}


def command(*words, folder, **more):
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'lib'}{os.pathsep}{ROOT / 'tests'}"}
    return subprocess.run(
        [sys.executable, "-m", "recorded_example", *words], cwd=folder, env=environment, capture_output=True, text=True, **more
    )


def test_the_command_line_records(tmp_path):
    done = command("--out", "new/folder", "--jobs", "2", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    record = read_record("example", tmp_path / "new" / "folder")
    assert len(record.points) == 4 and record.provenance["command"] == "python -m recorded_example --out new/folder --jobs 2"
    assert record.provenance["function"] == "recorded_example.run"
    RECORDING.main(["--out", str(tmp_path), "--where", "seed=1", "n=1,2"])
    assert read_record("example", tmp_path).points == [{"n": 1, "seed": 1}, {"n": 2, "seed": 1}]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--help"], "show this help"),
        ([], "--out"),
        (["--out", ".", "--jobs", "0"], "at least 1"),
        (["--out", ".", "--points", "0"], "at least 1"),
        (["--out", ".", "--where", "seed=7"], "no point of example has seed=7; one point is"),
        (["--out", ".", "--where", "seed"], "write KEY=VALUE"),
        (["--out", "file/x"], "cannot be written"),
        (["--out", "file"], "cannot be written"),
    ],
)
def test_the_command_line_checks_before_it_computes(words, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    calls = []
    recording = Recording("example", lambda n, seed: calls.append(n), [{"n": n, "seed": s} for n in (1, 2) for s in (0, 1)])
    with pytest.raises(SystemExit):
        command_line([recording], words)
    captured = capsys.readouterr()
    assert message in captured.out + captured.err and not calls and os.listdir(tmp_path) == ["file"]


def process(function, *arguments):
    """A process of its own, forked: one that is started anew imports torch first."""
    child = multiprocessing.get_context("fork").Process(target=function, args=arguments)
    child.start()
    return child


def test_a_full_disk_is_one_sentence(tmp_path, capfd):
    resource = pytest.importorskip("resource")

    def main():
        resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))
        RECORDING.main(["--out", str(tmp_path)])

    child = process(main)
    child.join()
    told = capfd.readouterr().err
    assert child.exitcode == 1 and "Traceback" not in told
    assert "cannot be written (File too large); make room or choose another --out" in told
    with pytest.warns(UserWarning, match="1 damaged lines"):
        RECORDING.main(["--out", str(tmp_path)])
    assert len(read_record("example", tmp_path).points) == 4


SLOW = Recording("slow", slow, [{"n": n} for n in range(20)])


def slowly(folder, problem):
    """Record where ``flock`` has this problem."""
    if problem:
        fcntl.flock = mock.Mock(side_effect=OSError(problem, os.strerror(problem)))
    SLOW.record(folder)


def some_lines(partial, child):
    while child.is_alive() and not (partial.exists() and partial.read_text().count("\n") > 3):
        time.sleep(0.01)
    return partial.read_text()


@pytest.mark.filterwarnings("ignore:flock not supported", "ignore:.*damaged lines")
@pytest.mark.parametrize("problem", [0, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS], ids=errno.errorcode.get)
def test_a_live_file_is_let_alone_and_a_killed_one_continued(problem, tmp_path, monkeypatch):
    child, partial = process(slowly, tmp_path, problem), tmp_path / "slow.json.partial"
    had = some_lines(partial, child)
    if problem:
        monkeypatch.setattr(fcntl, "flock", mock.Mock(side_effect=OSError(problem, os.strerror(problem))))
    for settings, take_over in (({}, False), ({"wait": 0.0}, False), ({}, True)):
        with pytest.raises(ValueError, match="is being written by another run; wait for it or choose another folder$"):
            Recording("slow", slow, SLOW.points, settings=settings).record(tmp_path, take_over=take_over)
    assert partial.read_text().startswith(had)
    child.kill()
    child.join()
    had = partial.read_text().count("\n") - 1
    assert 3 <= had < 20 and not (tmp_path / "slow.json").exists()
    calls = []

    def counted(n):
        calls.append(n)
        return n

    counted.__module__, counted.__qualname__ = slow.__module__, slow.__qualname__
    Recording("slow", counted, SLOW.points).record(tmp_path)
    assert calls == list(range(had, 20)) and read_record("slow", tmp_path).results == list(range(20))
    assert os.listdir(tmp_path) == ["slow.json"]


@pytest.fixture
def lockless(monkeypatch):
    """A file system without locks."""
    monkeypatch.setattr(fcntl, "flock", mock.Mock(side_effect=OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))))


@pytest.mark.filterwarnings("ignore:flock not supported")
def test_a_dead_holder_on_another_machine_is_named_and_taken_over(tmp_path, lockless, capsys):
    partial = interrupted(tmp_path, RECORDING.points[:3], **RECORDING.settings)
    holder = tmp_path / "example.json.holder"
    holder.write_text("4711\nnode7\n")
    whose = (
        rf"{partial.name} is being written by another run, process 4711 of node7 since 20\d\d-.*, says .*{holder.name}; wait"
    )
    with pytest.raises(ValueError, match=rf"{whose} .* if it is dead add --take-over$"):
        RECORDING.record(tmp_path)
    with pytest.raises(SystemExit):
        RECORDING.main(["--out", str(tmp_path)])
    assert "process 4711 of node7" in capsys.readouterr().err and holder.exists()
    RECORDING.main(["--out", str(tmp_path), "--take-over"])
    assert len(read_record("example", tmp_path).points) == 4 and os.listdir(tmp_path) == ["example.json"]


def test_shares_of_one_grid_become_one_record(tmp_path, capsys):
    """Runs of a Slurm array, two of them at a time: what one of them left undone the last call computes."""
    log = tmp_path / "log"
    recording = Recording("example", run, RECORDING.points, settings={"log": str(log)})
    children = [process(recording.main, ["--out", str(tmp_path / "out"), "--share", f"{i}/3"]) for i in (1, 2)]
    for child in children:
        child.join()
        assert child.exitcode == 0
    assert sorted(os.listdir(tmp_path / "out")) == ["example.1of3.json.partial", "example.2of3.json.partial"]
    assert sorted(log.read_text().splitlines()) == ["1 0", "1 1", "2 1"]
    recording.main(["--out", str(tmp_path / "out")])
    assert sorted(log.read_text().splitlines()) == ["1 0", "1 1", "2 0", "2 1"]  # each point once
    assert read_record("example", tmp_path / "out").points == RECORDING.points and os.listdir(tmp_path / "out") == [
        "example.json"
    ]
    for wrong in ("0/3", "4/3", "3", "a/b"):
        with pytest.raises(SystemExit):
            recording.main(["--out", str(tmp_path), "--share", wrong])
        assert f"--share {wrong}: write I/N with I from 1 to N" in capsys.readouterr().err


def test_shares_that_do_not_belong_together_or_still_run_are_not_merged(tmp_path):
    Recording("slow", slow, SLOW.points, settings={"wait": 0.0}).record(tmp_path, share=(1, 4))
    with pytest.raises(ValueError, match=r"slow\.1of4\.json\.partial cannot be continued: it belongs to other settings"):
        SLOW.record(tmp_path)
    (tmp_path / "slow.1of4.json.partial").unlink()
    child, partial = process(lambda: SLOW.record(tmp_path, share=(2, 2))), tmp_path / "slow.2of2.json.partial"
    some_lines(partial, child)
    with pytest.raises(ValueError, match=r"slow\.2of2\.json\.partial is being written by another run"):
        SLOW.record(tmp_path)
    child.join()
    assert child.exitcode == 0 and SLOW.record(tmp_path).results == list(range(20))


# those too that are not recomputed, for want of a model or of images: their verdicts read the numbers only
@pytest.mark.parametrize("name", [name for name in recordings() if (ROOT / "book" / "data" / f"{name}.json").is_file()])
def test_settings_and_points_of_a_record_are_those_of_its_recording(name):
    record = read_record(name, ROOT / "book" / "data")
    assert not untied(recordings()[name], record)


def test_a_changed_setting_is_noticed(tmp_path):
    record = RECORDING.record(tmp_path)
    assert not untied(RECORDING, record)
    other = Recording("example", run, RECORDING.points, settings={"scale": 2.5})
    assert untied(other, record) == ["settings: scale: 2.0 recorded, 2.5 computed (relative difference allowed: 0)"]
    fewer = Recording("example", run, RECORDING.points[1:], settings={"scale": 2.0})
    assert untied(fewer, record) == ["1 recorded points do not belong to it, first {'n': 1, 'seed': 0}"]
    assert not recomputed(RECORDING, record, 3) and len(recomputed(other, record, 3)) == 1
