"""The page "Running at scale": its listings run, and a real cluster loses no point when a worker dies."""

import ast
import os
import re
import subprocess
import sys

import joblib
import pytest
from attention_theory.sweep import sweep
from conftest import BOOK, ROOT


@pytest.fixture(scope="module")
def listings(tmp_path_factory):
    """A folder with the page's listings, each under the name of its caption, with fewer points."""
    folder = tmp_path_factory.mktemp("scale")
    page = (BOOK / "scale.md").read_text(encoding="utf-8")
    for name, code in re.findall(r"```\{code-block\} python\n:caption: (\S+)\n\n(.*?)```", page, re.S):
        (folder / name).write_text(code.replace("(256, 1024, 4096)", "(16, 64)").replace("range(8)", "range(2)"))
    return folder


def printed(folder, name):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "lib"), str(folder)]), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, name], cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return ast.literal_eval(done.stdout.strip().splitlines()[-1])


def test_cores_cluster_and_device_give_the_same_numbers_in_the_same_order(listings):
    pytest.importorskip("distributed")
    cores = printed(listings, "cores.py")
    assert len(cores) == 4 and cores == pytest.approx(printed(listings, "gpu.py"), rel=1e-9)
    assert cores == printed(listings, "cluster.py")


def test_no_point_is_lost_or_doubled_when_one_of_two_workers_is_killed(tmp_path):
    distributed = pytest.importorskip("distributed")
    from recorded_example import mortal

    log, arrived = tmp_path / "log", []
    points = [{"n": n, "log": str(log)} for n in range(12)]
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    )
    with cluster, distributed.Client(cluster) as client, joblib.parallel_config(backend="dask"):
        before = {info["pid"] for info in client.run(lambda dask_worker: {"pid": os.getpid()}).values()}
        found = sweep(mortal, points, finished=lambda i, value: arrived.append(i))
        after = {info["pid"] for info in client.run(lambda dask_worker: {"pid": os.getpid()}).values()}
    assert found == [n * n for n in range(12)]
    assert sorted(arrived) == list(range(12))
    assert log.read_text().split().count("2") == 2 and before - after  # one worker died over it, and it was run again
