"""The page "Running at scale": its listings run, and a real cluster loses no point when a worker dies."""

import ast
import os
import re
import subprocess
import sys
import time

import joblib
import pytest
from conftest import BOOK, ROOT
from recorded_example import deadly, float_of, math_log, mortal
from theorybook.sweep import sweep

dask = pytest.importorskip("dask")


@pytest.fixture(scope="module")
def listings(tmp_path_factory):
    """A folder with the page's listings, each under the name of its caption, with fewer points."""
    folder = tmp_path_factory.mktemp("scale")
    page = (BOOK / "scale.md").read_text(encoding="utf-8")
    for name, code in re.findall(r"```\{code-block\} python\n:caption: (\S+)\n\n(.*?)```", page, re.S):
        for far, near in {"(256, 1024, 4096)": "(16, 64)", "range(8)": "range(2)", **HERE}.items():
            code = code.replace(far, near)
        (folder / name).write_text(code)
    return folder


#: Names that stand for a cluster, and what has its interface on one machine.
HERE = {
    "from dask_jobqueue import SLURMCluster": "from dask_jobqueue.local import LocalCluster as SLURMCluster",
    'walltime="01:00:00"': "silence_logs=50",
    "jobs=16": "jobs=2",
    "SHARES = 16": "SHARES = 2",
}


def printed(folder, name):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "lib"), str(folder)]), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, name], cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return ast.literal_eval(done.stdout.strip().splitlines()[-1])


def test_cores_cluster_and_device_give_the_same_numbers_in_the_same_order(listings):
    cores = printed(listings, "cores.py")
    assert len(cores) == 4 and cores == pytest.approx(printed(listings, "gpu.py"), rel=1e-9)
    assert cores == printed(listings, "cluster.py")


@pytest.mark.parametrize(
    ("listing", "package"), [("on_slurm.py", "dask_jobqueue"), ("job_array.py", "submitit"), ("on_ray.py", "ray.util.joblib")]
)
def test_a_listing_for_other_packages_gives_the_same_numbers(listing, package, listings):
    """Where they are installed: they are no part of the book's environment."""
    pytest.importorskip(package)
    assert printed(listings, listing) == pytest.approx(printed(listings, "gpu.py"), rel=1e-5)  # records keep six digits


@pytest.fixture(scope="module")
def cluster():
    """Two workers, forked off a process that has the library: those that import torch first would take most of the time."""
    distributed = pytest.importorskip("distributed")
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        distributed.utils.get_mp_context().set_forkserver_preload(["distributed", "theorybook.sweep"])
        two = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50)
        with two, distributed.Client(two) as client, joblib.parallel_config(backend="dask"):
            yield client


def test_no_point_is_lost_or_doubled_when_one_of_two_workers_is_killed(tmp_path, cluster):
    log, arrived = tmp_path / "log", []
    points = [{"n": n, "log": str(log)} for n in range(12)]
    pids = lambda: {info["pid"] for info in cluster.run(lambda dask_worker: {"pid": os.getpid()}).values()}
    before = pids()
    assert sweep(mortal, points, finished=lambda i, value: arrived.append(i)) == [n * n for n in range(12)]
    assert sorted(arrived) == list(range(12))
    assert log.read_text().split().count("2") == 2 and before - pids()  # one worker died over it, and it was run again


def test_on_a_cluster_too_a_point_that_always_kills_is_named_and_one_that_fails(cluster):
    seen, start = [], time.monotonic()
    with pytest.raises(RuntimeError, match=r"workers died again and again.*; 1 points are left, first \[{'n': 1}\]"):
        sweep(deadly, [{"n": n} for n in range(10)], finished=lambda i, value: seen.append(value))
    assert sorted(seen) == [0, *range(2, 10)] and time.monotonic() - start < 60
    with pytest.raises(ValueError, match="math domain error") as error:
        sweep(math_log, [{"value": value} for value in (1, 0)])
    assert error.value.__notes__ == ["at the point {'value': 0}"]


def test_a_scheduler_holds_a_bounded_number_of_points(cluster, monkeypatch):
    """Four workers' worth, eight for two workers of one thread: another one goes there when one comes back."""
    monkeypatch.setattr("theorybook.sweep.AHEAD", 1)
    submit, given, held = cluster.submit, [], []

    def counted(*arguments, **options):
        given.append(submit(*arguments, **options))
        return given[-1]

    monkeypatch.setattr(cluster, "submit", counted)
    points = [{"value": value} for value in range(40)]
    assert sweep(float_of, points, finished=lambda i, value: held.append(len(given) - len(held))) == list(range(40))
    assert len(given) == 40 and max(held) <= 8 + 1
