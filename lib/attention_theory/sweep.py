"""Sweeps: one function over a list of points, in parallel, with a progress bar; and where their records come from."""

import platform
from collections.abc import Callable, Iterable
from datetime import date
from typing import Any

import numpy
import scipy
import torch
from joblib import Parallel, delayed
from tqdm import tqdm


def sweep(function: Callable, points: Iterable[dict[str, Any]], jobs: int | None = None, title: str = "") -> list:
    """``[function(**point) for point in points]``, in order.

    Runs on joblib: ``jobs`` processes, or whatever backend is active, so that the same call runs on a cluster inside
    ``with joblib.parallel_config(backend="dask")`` (or ``"ray"``). The bar shows on a terminal only. Randomness
    belongs into the points, as seeds. An exception in one point cancels the rest and is raised here.

    >>> sweep(pow, [{"base": 2, "exp": 3}, {"base": 3, "exp": 2}])
    [8, 9]
    """
    points = list(points)
    results = Parallel(n_jobs=jobs, return_as="generator")(delayed(function)(**point) for point in points)
    return list(tqdm(results, total=len(points), desc=title, disable=None))


def provenance(device: torch.device | str = "cpu") -> dict[str, Any]:
    """Where, with what and when a record was computed; its command and seeds are for the record to add."""
    device = torch.device(device)
    libraries = {module.__name__: module.__version__ for module in (torch, numpy, scipy)}
    return {
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else f"CPU, {platform.machine()}",
        "versions": {"python": platform.python_version()} | libraries,
        "date": date.today().isoformat(),
    }
