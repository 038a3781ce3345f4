"""Records, sweeps and recordings: round trips, damage, resumption, dead workers, the command line."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections import namedtuple
from dataclasses import dataclass
from fractions import Fraction

import joblib
import numpy as np
import pytest
import recorded_example
import torch
from attention_theory.evidence.records import Record, decoded, differences, encoded, read_record, write_record
from attention_theory.sweep import Recording, command_line, sweep
from conftest import ROOT
from joblib.parallel import ThreadingBackend
from recorded_example import RECORDING, mortal, run
from records_check import recomputed, recordings, untied


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
        ((True, None, "x", Fraction(1, 3), np.int64(3)), [True, None, "x", Fraction(1, 3), 3]),
        ([{"a": 1, "b": 0.1234567}, {"a": 2, "b": -math.inf}], [{"a": 1, "b": 0.123457}, {"a": 2, "b": -math.inf}]),
        ([[{"a": 1}, {"a": 2}], []], [[{"a": 1}, {"a": 2}], []]),
        ([{"a": 1}, {"b": 2}], [{"a": 1}, {"b": 2}]),
        (range(3), [0, 1, 2]),
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


@pytest.mark.parametrize("value", [object(), np.array(["a"]), {"array": 1}, print])
def test_what_a_record_cannot_hold_is_refused(value):
    with pytest.raises(TypeError, match="a record (cannot hold|holds)"):
        encoded(value)


def test_a_record_is_text_one_point_to_a_line(tmp_path):
    record = Record("x", {"command": "c"}, {"d": 2}, [{"n": 1}, {"n": 2}], [{"a": 0.5}, {"a": math.nan}], (1.234, 2.0))
    path = write_record(record, tmp_path)
    assert (
        len(path.read_text().splitlines()) == 8
        and '{"point": {"n": 1}, "seconds": 1.2, "result": {"a": 0.5}},' in path.read_text()
    )
    back = read_record("x", tmp_path)
    assert (back.settings, back.points, back.seconds) == ({"d": 2}, [{"n": 1}, {"n": 2}], (1.2, 2.0))
    assert back.column("a", n=1).tolist() == [0.5] and math.isnan(back.rows[1]["a"])
    assert not list(tmp_path.glob("*.tmp"))


def test_a_missing_record_names_the_remedy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"nothing\.json is not in .*git checkout -- book/data/nothing\.json"):
        read_record("nothing")
    with pytest.raises(ValueError, match="no plain file name"):
        read_record("../x")


@pytest.mark.parametrize("damage", [lambda text: text[:-9], lambda text: "", lambda text: text.replace("points", "dots"),
                                    lambda text: text.replace("eN", "??"), lambda text: "[]"])  # fmt: skip
def test_a_damaged_record_is_named(tmp_path, damage):
    path = write_record(Record("x", {}, {}, [{"n": 1}], [np.ones((3, 3))]), tmp_path)
    path.write_text(damage(path.read_text()))
    with pytest.raises(ValueError, match=r"x\.json: not a readable record; restore it with git checkout"):
        read_record("x", tmp_path)


def test_rows_of_a_record_are_found_or_refused():
    record = Record("x", {}, {}, [{"n": 1}, {"n": 2}], [[{"a": 1}, {"a": 2}], [{"a": 3}]])
    assert record.rows == [{"n": 1, "a": 1}, {"n": 1, "a": 2}, {"n": 2, "a": 3}] and record.column("a", n=1).tolist() == [1, 2]
    with pytest.raises(ValueError, match="has no row with {'n': 3}"):
        record.where(n=3)


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


def test_an_interrupted_recording_continues(tmp_path):
    log = tmp_path / "log"
    whole = Recording("example", run, RECORDING.points, settings={"log": str(log)})

    class Stop(Exception):
        pass

    def broken(n, seed, log):
        if n == 2:
            raise Stop
        return run(n, seed, log=log)

    broken.__module__, broken.__qualname__ = run.__module__, run.__qualname__
    with pytest.raises(Stop):
        Recording("example", broken, RECORDING.points, settings={"log": str(log)}).record(tmp_path)
    partial = tmp_path / "example.json.partial"
    assert len(partial.read_text().splitlines()) == 3
    partial.write_text(partial.read_text() + '{"point": {"n": 2,')  # a line cut short
    whole.record(tmp_path)
    assert log.read_text().split("\n")[:-1] == ["1 0", "1 1", "2 0", "2 1"] and not partial.exists()


def test_what_an_interrupted_run_left_must_fit(tmp_path):
    (tmp_path / "example.json.partial").write_text('{"function": "other"}\n')
    with pytest.raises(ValueError, match=r"example\.json\.partial cannot be continued: .*; remove it"):
        RECORDING.record(tmp_path)


@pytest.mark.parametrize("points", [[{"n": 1}], [{"n": 1, "seed": 0, "color": 2}], [{"n": 1, "seed": 0}] * 2])
def test_points_must_fit_their_function(points, tmp_path):
    with pytest.raises(ValueError, match="does not fit|comes twice"):
        Recording("x", run, points).record(tmp_path)


def test_a_dead_worker_costs_one_point(tmp_path):
    log = tmp_path / "log"
    assert sweep(mortal, [{"n": n, "log": str(log)} for n in range(8)], jobs=2) == [n * n for n in range(8)]
    assert log.read_text().split().count("0") == 1


def test_a_point_that_always_kills_is_named():
    with pytest.raises(RuntimeError, match="died 3 times in a row"):
        sweep(dies, [{"n": 1}, {"n": 2}], jobs=2)


def dies(n):
    os.kill(os.getpid(), signal.SIGKILL)


class Grudging(ThreadingBackend):
    """A backend that answers at the end only, as joblib's one for Ray."""

    supports_return_generator = False


def test_a_backend_without_generators_works(tmp_path):
    joblib.register_parallel_backend("grudging", Grudging)
    seen = []
    with joblib.parallel_config(backend="grudging", n_jobs=2):
        points = [{"base": b, "exp": 2} for b in range(20)]
        assert sweep(pow, points, finished=lambda i, value: seen.append(i)) == [b * b for b in range(20)]
    assert sorted(seen) == list(range(20))


def test_dask_works():
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(n_workers=2, processes=False, dashboard_address=None, silence_logs=50)
    with cluster, distributed.Client(cluster), joblib.parallel_config(backend="dask"):
        assert sweep(pow, [{"base": b, "exp": 2} for b in range(10)]) == [b * b for b in range(10)]


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
    assert command("--out", ".", "--where", "seed=1", "n=1,2", folder=tmp_path).returncode == 0
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


def test_a_full_disk_is_one_sentence(tmp_path):
    resource = pytest.importorskip("resource")
    done = command("--out", ".", folder=tmp_path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300)))
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "cannot be written (File too large); make room or choose another --out" in done.stderr
    assert command("--out", ".", folder=tmp_path).returncode == 0 and len(read_record("example", tmp_path).points) == 4


def test_two_runs_at_once_are_refused(tmp_path):
    fcntl = pytest.importorskip("fcntl")
    with (tmp_path / "example.json.partial").open("a") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(ValueError, match="being written by another run"):
            RECORDING.record(tmp_path)


def test_a_killed_recording_continues_from_what_it_had(tmp_path):
    code = (
        "from recorded_example import slow; from attention_theory.sweep import Recording; "
        "Recording('slow', slow, [{'n': n} for n in range(20)]).record('.')"
    )
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'lib'}{os.pathsep}{ROOT / 'tests'}"}
    process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, env=environment)
    partial = tmp_path / "slow.json.partial"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (partial.exists() and partial.read_text().count("\n") > 3):
        time.sleep(0.02)
    process.kill()
    process.wait()
    had = partial.read_text().count("\n") - 1
    assert 3 <= had < 20 and not (tmp_path / "slow.json").exists()
    calls = []
    original = recorded_example.slow

    def counted(n):
        calls.append(n)
        return n

    counted.__module__, counted.__qualname__ = original.__module__, original.__qualname__
    Recording("slow", counted, [{"n": n} for n in range(20)]).record(tmp_path)
    assert calls == list(range(had, 20)) and read_record("slow", tmp_path).results == list(range(20))


@pytest.mark.parametrize("name", [name for name, recording in recordings().items() if recording.shipped])
def test_settings_and_points_of_a_record_are_those_of_its_recording(name):
    record = read_record(name, ROOT / "book" / "data")
    assert not untied(recordings()[name], record)


def test_a_changed_setting_is_noticed(tmp_path):
    record = RECORDING.record(tmp_path)
    assert not untied(RECORDING, record)
    other = Recording("example", run, RECORDING.points, settings={"scale": 2.5})
    assert untied(other, record) == ["settings: scale: 2.0 recorded, 2.5 computed (relative difference allowed: 0)"]
    fewer = Recording("example", run, RECORDING.points[1:], settings={"scale": 2.0})
    assert untied(fewer, record) == ["1 recorded points are no points of it, first {'n': 1, 'seed': 0}"]
    assert not recomputed(RECORDING, record, 3) and len(recomputed(other, record, 3)) == 1
