"""Sweeps: one function over a list of points, in parallel, with a progress bar; and recordings, sweeps that are kept.

A module of ``<part>/runs/`` whose result is a file in ``book/data/`` ends with::

    RECORDING = Recording("patch-sample-sizes", run, points, settings=DESCENT)

    if __name__ == "__main__":
        RECORDING.main()

which makes ``python -m <package>.<part>.runs.<topic> --out book/data --jobs 2`` its command line.
"""

import argparse
import contextlib
import errno
import functools
import importlib
import inspect
import itertools
import json
import os
import platform
import shlex
import shutil
import sys
import tempfile
import threading
import time
import uuid
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Any, cast

import numpy
import scipy
import torch
from filelock import BaseFileLock, FileLock, SoftFileLock, Timeout
from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError
from joblib.parallel import get_active_backend
from tqdm import tqdm

from theorybook.devices import Device
from theorybook.records import DIGITS, TOLERANCE, Record, decoded, encoded, write_record
from theorybook.validation import ANY, NonNegative, Size, finite, outside

#: After so many deaths, the last of them alone with its worker, a point is given up.
DEATHS = 3
#: What file systems without locks say: cluster file systems, NFS without its daemon.
LOCKLESS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
#: What a full disk and a folder that is not ours to write, or no folder, say.
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST)


class _Died(Exception):
    """Workers died over points that a cluster has given up."""


def sweep(
    function: Callable,
    points: Iterable[dict[str, Any]],
    jobs: Annotated[int | None, ANY] = None,
    title: str = "",
    finished: Callable[[int, Any], None] | None = None,
    devices: Sequence[str] = (),
) -> Annotated[list, ANY]:
    """``[function(**point) for point in points]``, in order.

    Runs on joblib: ``jobs`` processes, or whatever backend is active, so that the same call runs on a cluster inside
    ``with joblib.parallel_config(backend="dask")``. A worker that dies costs the points it worked on, which are
    started again after all others, and alone after a second death. Randomness belongs into the points, as seeds. A
    result that is infinite or NaN is returned as it is, and a warning names its point. The bar shows on a terminal and
    in a notebook that somebody looks at; a notebook that a program executes stays without.

    Args:
        function: of a point's arguments.
        points: the arguments, by name.
        jobs: processes, -1 for all cores; one for each of the devices if there are some, else the active backend's
            choice (1 without one) if not given.
        title: of the bar.
        finished: called here, in this process, with the number and the result of each point as soon as it is there.
        devices: each worker takes one of them, which no other takes while there are as many, and keeps it: the argument
            ``device`` of all its points. On a cluster: the devices of each machine.

    Raises:
        RuntimeError: workers die again and again; the points that are left are named.
        Exception: whatever a point raises, with a note that names the point; it cancels the others.

    >>> from theorybook.sweep import sweep
    >>> sweep(pow, [{"base": 2, "exp": 3}, {"base": 3, "exp": 2}])
    [8, 9]
    """
    if jobs == 0:
        raise ValueError("sweep: jobs = 0 is not allowed: at least 1, or -1 for all cores")
    points, run = list(points), f"sweep-{uuid.uuid4().hex}"
    results: dict[int, Any] = {}
    blame: Counter[int] = Counter()  # of how many deaths each point may be guilty
    fruitless, death = 0, None
    with _bar(len(points), title) as bar, _claims(run):
        while fruitless < 2 * DEATHS and (left := [i for i in range(len(points)) if i not in results and blame[i] < DEATHS]):
            left = sorted((i for i in left if blame[i] < 2), key=blame.__getitem__) or left[:1]  # twice blamed: alone
            before, begun = len(results), set()
            tasks = (begun.add(i) or (i, function, points[i], devices, run) for i in left)
            try:
                for i, result in _as_they_finish(tasks, jobs or len(devices) or None):
                    results[i] = result
                    bar.update()
                    if finished is not None:
                        finished(i, result)
            except (TerminatedWorkerError, _Died) as error:
                death, fruitless = error, fruitless + 1 if len(results) == before else 0
                blame.update(dict.fromkeys(begun - results.keys(), 2 if isinstance(error, _Died) else 1))
    if len(results) < len(points):
        undone = [points[i] for i in range(len(points)) if i not in results]
        raise RuntimeError(
            f"workers died again and again (out of memory?); {len(undone)} points are left, first {undone[:4]}; try fewer jobs"
        ) from death
    odd = [points[i] for i in range(len(points)) if not finite(results[i])]
    if odd:
        warnings.warn(f"{len(odd)} of {len(points)} results are infinite or NaN, first those of {odd[:4]}", stacklevel=3)
    return [results[i] for i in range(len(points))]


def _numbered(i: int, function: Callable, point: dict[str, Any], devices: Sequence[str], run: str) -> tuple[int, Any]:
    try:
        return i, outside(function)(**({"device": _device(devices, run)} if devices else {}), **point)
    except Exception as error:
        error.add_note(f"at the point {str(point)[:200]}")
        raise


#: The device that this worker has taken: the run it is for, its lock, and its name.
_taken = threading.local()


def _device(devices: Sequence[str], run: str) -> str:
    """The device of this worker: the lowest place that no living worker of this machine holds says which."""
    if getattr(_taken, "run", None) != run:
        folder = Path(tempfile.gettempdir()) / run
        folder.mkdir(exist_ok=True)
        _taken.place, _taken.lock = next(
            (place, lock) for place in itertools.count() if (lock := _lock(folder / str(place))) is not None
        )
        _taken.run = run
    return devices[_taken.place % len(devices)]


@contextlib.contextmanager
def _claims(run: str) -> Iterator[None]:
    """No claims of devices are left behind."""
    try:
        yield
    finally:
        shutil.rmtree(Path(tempfile.gettempdir()) / run, ignore_errors=True)


def _lock(path: Path) -> BaseFileLock | None:
    """A lock that ends with its process, None if another holds it; where the file system has no such locks, a file."""
    for kind, place in ((FileLock, path), (SoftFileLock, path.with_suffix(".holder"))):
        lock = kind(place, timeout=0, thread_local=False)
        try:
            lock.acquire()
            return lock
        except Timeout:
            return None
        except OSError as error:
            if kind is SoftFileLock or error.errno not in LOCKLESS:
                raise
    return None


def _as_they_finish(tasks: Iterable[tuple], jobs: int | None) -> Iterator[tuple[int, Any]]:
    """Number and result of each point, as it finishes; on backends that answer at the end only, in batches."""
    backend, active = cast(tuple[Any, Any], get_active_backend())
    if type(backend).__module__ == "joblib._dask":
        yield from _on_dask(backend, tasks)
        return
    calls = (delayed(_numbered)(*task) for task in tasks)
    if backend.supports_return_generator:
        yield from cast(Iterator, Parallel(n_jobs=jobs, return_as="generator_unordered")(calls))
        return
    size = 4 * max(1, backend.effective_n_jobs(jobs or active or 1))
    while batch := list(itertools.islice(calls, size)):
        yield from cast(list, Parallel(n_jobs=jobs)(batch))


def _on_dask(backend: Any, tasks: Iterable[tuple]) -> Iterator[tuple[int, Any]]:
    """The same without joblib, whose Dask backend waits for ever for a point that kills its workers."""
    from distributed import KilledWorker, as_completed

    futures, killed = [backend.client.submit(_numbered, *task, pure=False, **backend.submit_kwargs) for task in tasks], None
    try:
        with backend.retrieval_context():
            for future in as_completed(futures):
                error = future.exception()
                if isinstance(error, KilledWorker):
                    killed = error
                else:
                    yield future.result()
                    future.release()
    finally:
        backend.client.cancel(futures)
    if killed is not None:
        raise _Died from killed


def _bar(total: int, title: str) -> Any:
    """A bar where somebody looks: on a terminal, or in a notebook whose front end can be asked for input."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    kernel = getattr(shell, "kernel", None)
    if getattr(kernel, "_allow_stdin", False):
        with contextlib.suppress(ImportError):
            from tqdm.notebook import tqdm as notebook_tqdm

            return notebook_tqdm(total=total, desc=title)
    return tqdm(total=total, desc=title, disable=None if kernel is None else True)


def provenance(device: Device = "cpu") -> dict[str, Any]:
    """Where, with what and when a record was computed; its command and seeds are for the record to add."""
    device = torch.device(device)
    libraries = {module.__name__: str(module.__version__) for module in (torch, numpy, scipy)}
    return {
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else f"CPU, {platform.machine()}",
        "versions": {"python": platform.python_version()} | libraries,
        "date": date.today().isoformat(),
    }


@dataclass(frozen=True, eq=False)
class Recording:
    """A sweep whose result is kept as a record (:mod:`theorybook.records`), and its command line.

    Attributes:
        name: the record's: ``book/data/<name>.json``.
        function: of a module, called as ``function(**settings, **point)``; what it returns goes into the record.
        points: the arguments of each point, or a function without arguments that gives them.
        settings: arguments that all points share; stored in the record, and a test compares them with it.
        tolerance: relative difference at which a recomputed number counts as another one; by field name if a mapping
            (``""`` for all others, ``math.inf`` for what cannot be repeated, as seconds).
        digits: significant digits of the numbers in the record.
        chaotic: values of the points that follow rounding, so that another processor comes to other numbers: they are
            not compared.
        shipped: False for a record that is not part of the book (for example of data that must be downloaded).

    >>> import tempfile
    >>> from theorybook.sweep import Recording
    >>> squares = Recording("squares", pow, [{"base": b} for b in range(4)], settings={"exp": 2})
    >>> folder = tempfile.mkdtemp()
    >>> record = squares.record(folder)  # also python -m <its module> --out <folder>
    >>> record.points[3], record.results[3]
    ({'base': 3}, 9)
    >>> squares.compute(record.points[3]) == record.results[3]
    True
    """

    name: str
    function: Callable
    points: Sequence[dict[str, Any]] | Callable[[], Sequence[dict[str, Any]]]
    settings: Mapping[str, Any] = field(default_factory=dict)
    tolerance: NonNegative | Mapping[str, float] = TOLERANCE
    digits: Size = DIGITS
    chaotic: Mapping[str, Any] = field(default_factory=dict)
    shipped: bool = True

    def grid(self) -> list[dict[str, Any]]:
        """The points, checked: each fits the function, and none comes twice.

        Raises:
            ValueError: they do not.
        """
        points = [dict(point) for point in (self.points() if callable(self.points) else self.points)]
        signature = inspect.signature(self.function)
        for point in points:
            try:
                signature.bind(**{**self.settings, **point})
            except TypeError as error:
                raise ValueError(f"recording {self.name}: point {point} does not fit its function: {error}") from None
        if len({_key(point) for point in points}) < len(points):
            raise ValueError(f"recording {self.name}: a point comes twice")
        return points

    def repeats(self, point: Mapping[str, Any]) -> bool:
        """Whether another processor comes to the same numbers."""
        return not self.chaotic or any(point[name] != value for name, value in self.chaotic.items())

    def compute(self, point: Mapping[str, Any], **extra: Any) -> Any:
        """The result of one point, as it comes back from a record."""
        return decoded(encoded(self._here()(**{**self.settings, **extra, **point}), self.digits))

    def record(
        self,
        folder: str | Path,
        points: Sequence[dict[str, Any]] | None = None,
        jobs: Annotated[int | None, ANY] = None,
        command: str = "",
        devices: Sequence[str] = (),
        **extra: Any,
    ) -> Record:
        """Compute the points (all if none are given) and write the record.

        Every finished point is a line of ``<name>.json.partial`` with a checksum; the same call continues from there, and
        a damaged line costs its point.

        Raises:
            ValueError: another run writes there, or what is there belongs to other settings or another version.
            OSError: the folder cannot be written.
        """
        points = self.grid() if points is None else list(points)
        settings = {**self.settings, **extra}
        function, folder = self._here(), Path(folder)
        origin = {"command": command, "function": f"{function.__module__}.{function.__qualname__}"}
        origin |= provenance(next(iter(devices), "cpu"))
        head = {"settings": encoded(settings, 17)} | {key: origin[key] for key in ("function", "device", "versions")}
        partial, locked = folder / f"{self.name}.json.partial", folder / f"{self.name}.json.lock"
        folder.mkdir(parents=True, exist_ok=True)
        lock = _lock(locked)
        if lock is None:
            raise ValueError(f"{partial} is being written by another run; wait for it or choose another folder")
        try:
            done = _resumed(partial, json.dumps(head))
            left = [point for point in points if _key(point) not in done]
            with partial.open("a", encoding="utf-8") as file:

                def keep(i: int, timed: tuple[float, Any]) -> None:
                    done[_key(left[i])] = timed
                    line = json.dumps({"point": encoded(left[i], 17), "seconds": timed[0], "result": timed[1]}, allow_nan=False)
                    print(_summed(line, json.dumps(head)), file=file, flush=True)

                call = functools.partial(_timed, function, self.digits, settings)
                sweep(call, left, jobs, self.name, keep, devices)
            found = [done.pop(_key(point)) for point in points]
            record = Record(
                self.name, origin, settings, points, [decoded(result) for _, result in found], tuple(s for s, _ in found)
            )
            write_record(record, folder, self.digits)
            if not done:  # else it holds points that this call did not ask for
                partial.unlink()
        finally:
            locked.unlink(missing_ok=True)
            lock.release()
        return record

    def main(self, arguments: Sequence[str] | None = None) -> None:
        """The command line; ``--help`` says it all and computes nothing."""
        command_line([self], arguments)

    def _here(self) -> Callable:
        """The function as a module has it: ``python -m`` calls that module ``__main__``, where no process would find it."""
        spec = getattr(sys.modules["__main__"], "__spec__", None)
        if self.function.__module__ != "__main__" or spec is None:
            return self.function
        return getattr(importlib.import_module(spec.name), self.function.__name__)


def _timed(function: Callable, digits: int, settings: dict[str, Any], /, **point: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    result = encoded(function(**settings, **point), digits)
    return time.perf_counter() - start, result


def _key(point: Mapping[str, Any]) -> str:
    return json.dumps(encoded(point, 17), sort_keys=True)


def _summed(line: str, head: str = "") -> str:
    """A line with its checksum, which depends on the head of its file too."""
    return f"{line} {zlib.crc32((head + line).encode()):08x}"


def _resumed(partial: Path, head: str) -> dict[str, tuple[float, Any]]:
    """Seconds and results of the points that an interrupted run has finished: of the whole lines whose checksum is right.

    Afterwards the file can be written on; nothing in it is overwritten.
    """
    text = partial.read_text(encoding="utf-8", errors="replace") if partial.exists() else ""
    first, *lines = text.splitlines() or [""]
    whole = [line[:-9] for line in lines if line == _summed(line[:-9], head)]
    if first != _summed(head) and (first == _summed(first[:-9]) or len(lines) > len(whole) == 0):
        raise ValueError(
            f"{partial} cannot be continued: it belongs to other settings, another function, device or versions; "
            "choose another folder, or finish it with the command that began it"
        )
    if len(whole) < len(lines):
        message = f"{partial}: {len(lines) - len(whole)} damaged lines are left out, their points computed again"
        warnings.warn(message, stacklevel=2)
    if not text.endswith("\n"):
        with partial.open("a", encoding="utf-8") as file:
            file.write("\n" if text else _summed(head) + "\n")
    rows = map(json.loads, whole)
    return {_key(row["point"]): (row["seconds"], row["result"]) for row in rows}


def command_line(recordings: Sequence[Recording], arguments: Sequence[str] | None = None) -> None:
    """The command line of a module's recordings: ``--out FOLDER [--jobs N] [--only NAME] [--where KEY=VALUE] [--points N]``.

    Everything is checked before anything is computed: the values, the points that are chosen, and that the folder can
    be written. An interrupted run continues with the same command.
    """
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    module = spec.name if spec is not None else Path(sys.argv[0]).name
    doc = (inspect.getdoc(main) or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=doc)
    parser.add_argument("--out", type=Path, required=True, help="folder to write, for the book's own records book/data")
    parser.add_argument("--jobs", type=int, help="processes (default 1, or one for each device)")
    parser.add_argument("--points", type=int, help="only the first so many points")
    parser.add_argument(
        "--where", nargs="+", default=[], metavar="KEY=VALUE[,VALUE]", help="only points with these values, as seed=0,1"
    )
    names = [recording.name for recording in recordings]
    if len(recordings) > 1:
        parser.add_argument("--only", nargs="+", choices=names, default=names, help="only these records")
    if any("device" in inspect.signature(recording.function).parameters for recording in recordings):
        parser.add_argument("--device", nargs="+", default=[], help="cpu (default), cuda, or cuda:0 cuda:1, one for each job")
    words = list(sys.argv[1:] if arguments is None else arguments)
    given = parser.parse_args(words)
    if min(given.jobs or 1, given.points or 1) < 1 or 0 in (given.jobs, given.points):
        parser.error("--jobs and --points are at least 1")
    wanted = _conditions(given.where, parser)
    chosen = []
    for recording in recordings:
        if recording.name in getattr(given, "only", names):
            points = [p for p in recording.grid() if all(str(p.get(key)) in values for key, values in wanted.items())]
            if not points:
                parser.error(f"no point of {recording.name} has {' '.join(given.where)}; one point is {recording.grid()[0]}")
            chosen.append((recording, points[: given.points]))
    devices = getattr(given, "device", [])
    for device in devices:
        try:
            torch.zeros(1, device=device)
        except (RuntimeError, AssertionError) as error:
            parser.error(f"--device {device} is not there: {str(error).splitlines()[0]}")
    try:
        given.out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=given.out).close()
        command = shlex.join(["python", "-m", module, *words])
        for recording, points in chosen:
            interactive_plot = "device" in inspect.signature(recording.function).parameters
            recording.record(given.out, points, given.jobs, command, devices if interactive_plot else ())
            print(f"{given.out / recording.name}.json: {len(points)} points")
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        what = f"{error.filename or given.out} cannot be written ({os.strerror(error.errno)})"
        remedy = "make room or choose another --out; finished points are kept and the same command continues"
        parser.exit(1, f"{parser.prog}: {what}; {remedy}\n")
    except ValueError as error:
        parser.exit(1, f"{parser.prog}: {error}\n")


def _conditions(words: list[str], parser: argparse.ArgumentParser) -> dict[str, list[str]]:
    wanted = {}
    for word in words:
        key, equals, values = word.partition("=")
        if not equals or not values:
            parser.error(f"--where {word}: write KEY=VALUE or KEY=VALUE,VALUE")
        wanted[key] = values.split(",")
    return wanted
