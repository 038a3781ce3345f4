"""Sweeps: one function over a list of points, in parallel, with a progress bar; and recordings,
sweeps whose results are kept.

A module of ``<part>/runs/`` whose result is a file in ``book/data/`` ends with::

    RECORDING = Recording("patch-sample-sizes", run, points, settings=DESCENT)

    if __name__ == "__main__":
        RECORDING.main()

which makes ``python -m <package>.<part>.runs.<topic> --out book/data --jobs 2`` its command line.
"""

import argparse
import contextlib
import copy
import errno
import functools
import importlib
import inspect
import itertools
import json
import multiprocessing
import os
import platform
import re
import shlex
import sys
import tempfile
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
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
from theorybook.validation import ANY, Count, NonNegative, Size, finite, recheck_callback

#: A point is given up after this many worker deaths, the last of them while the point ran alone.
DEATHS = 3
#: Number of points that a Dask scheduler holds ahead of its workers, or four per worker if that is
#: more.
AHEAD = 1000
#: Errors of file systems without locks: cluster file systems, NFS without its daemon.
LOCKLESS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
#: Errors of a full disk, and of a folder that is missing or cannot be written.
UNWRITABLE = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOTDIR,
    errno.EEXIST,
)


class _Died(Exception):
    """Workers died on points that a cluster has given up."""


def sweep(
    function: Callable,
    points: Iterable[dict[str, Any]],
    jobs: Annotated[int | None, ANY] = None,
    title: str = "",
    finished: Callable[[int, Any], None] | None = None,
) -> Annotated[list, ANY]:
    """``[function(**point) for point in points]``, in order.

    Runs on joblib: ``jobs`` processes, or whatever backend is active, so that the same call runs on
    a cluster inside ``with joblib.parallel_config(backend="dask")``. The points that a dying worker
    was computing are started again after all others, and alone after a second death. Randomness
    belongs in the points, as seeds. A result that is infinite or NaN is returned unchanged, and a
    warning names its point. The progress bar shows on a terminal and in an interactive notebook,
    not in a notebook that a program executes.

    Args:
        function: called with each point's arguments.
        points: the arguments, by name.
        jobs: number of processes, -1 for all cores; by default the ``n_jobs`` of the active backend,
            otherwise all workers of a cluster, and one process where no backend is active.
        title: title of the bar.
        finished: called in this process with the number and the result of each point as soon as it
            is available.

    Raises:
        RuntimeError: workers die again and again; the points that are left are named.
        Exception: whatever a point raises, with a note that names the point; it cancels the others.

    >>> from theorybook.sweep import sweep
    >>> sweep(pow, [{"base": 2, "exp": 3}, {"base": 3, "exp": 2}])
    [8, 9]
    """
    if jobs == 0:
        raise ValueError("sweep: jobs = 0 is not allowed: at least 1, or -1 for all cores")
    points = list(points)
    results: dict[int, Any] = {}
    blame: Counter[int] = Counter()  # how many deaths each point may have caused
    fruitless, death = 0, None
    with _bar(len(points), title) as bar:
        while fruitless < 2 * DEATHS and (
            left := [i for i in range(len(points)) if i not in results and blame[i] < DEATHS]
        ):
            left = (
                sorted((i for i in left if blame[i] < 2), key=blame.__getitem__) or left[:1]
            )  # a point blamed twice runs alone
            before, begun = len(results), set()
            tasks = (begun.add(i) or (i, function, points[i]) for i in left)
            try:
                for i, result in _as_they_finish(tasks, jobs):
                    results[i] = result
                    bar.update()
                    if finished is not None:
                        finished(i, result)
            except (TerminatedWorkerError, _Died) as error:
                death, fruitless = error, fruitless + 1 if len(results) == before else 0
                blame.update(
                    dict.fromkeys(begun - results.keys(), 2 if isinstance(error, _Died) else 1)
                )
    if len(results) < len(points):
        undone = [points[i] for i in range(len(points)) if i not in results]
        raise RuntimeError(
            f"workers died again and again (out of memory?); {len(undone)} points are left, first "
            f"{undone[:4]}; try fewer jobs"
        ) from death
    odd = [points[i] for i in range(len(points)) if not finite(results[i])]
    if odd:
        warnings.warn(
            f"{len(odd)} of {len(points)} results are infinite or NaN, first those of {odd[:4]}",
            stacklevel=3,
        )
    return [results[i] for i in range(len(points))]


def _numbered(i: int, function: Callable, point: dict[str, Any]) -> tuple[int, Any]:
    try:
        return i, recheck_callback(function)(**point)
    except Exception as error:
        error.add_note(f"at the point {str(point)[:200]}")
        if multiprocessing.current_process().name == "MainProcess" or _comes_back(error):
            raise
        raise RuntimeError(f"{type(error).__name__}: {error} ({error.__notes__[-1]})") from None


def _comes_back(error: Exception) -> bool:
    """Whether an error can be unpickled when a worker sends it; one whose constructor needs more
    than its text breaks the pool and hides its point.
    """
    try:
        copy.copy(error)  # as pickle makes it anew
    except Exception:
        return False
    return True


def _as_they_finish(tasks: Iterable[tuple], jobs: int | None) -> Iterator[tuple[int, Any]]:
    """Number and result of each point as it finishes; in batches on backends that only answer at
    the end.
    """
    backend, active = cast(tuple[Any, Any], get_active_backend())
    if type(backend).__module__ == "joblib._dask":
        yield from _on_dask(backend, tasks)
        return
    if not type(backend).__module__.startswith("joblib."):
        jobs = jobs or active or -1  # Ray's would run everything in this process
    calls = (delayed(_numbered)(*task) for task in tasks)
    if backend.supports_return_generator:
        yield from cast(Iterator, Parallel(n_jobs=jobs, return_as="generator_unordered")(calls))
        return
    size = 4 * max(1, backend.effective_n_jobs(jobs or active or 1))
    while batch := list(itertools.islice(calls, size)):
        yield from cast(list, Parallel(n_jobs=jobs)(batch))


def _on_dask(backend: Any, tasks: Iterable[tuple]) -> Iterator[tuple[int, Any]]:
    """:func:`_as_they_finish` without joblib, whose Dask backend waits forever for a point that
    kills its workers.

    The scheduler holds a bounded number of points: whenever one comes back, another one is sent.
    """
    from distributed import KilledWorker, as_completed

    client, tasks, killed = backend.client, iter(tasks), None
    submit = functools.partial(client.submit, _numbered, pure=False, **backend.submit_kwargs)
    unfinished = {
        submit(*task)
        for task in itertools.islice(tasks, max(AHEAD, 4 * sum(client.nthreads().values())))
    }
    finishing = as_completed(unfinished)
    try:
        with backend.retrieval_context():
            for future in finishing:
                unfinished.remove(future)
                for task in itertools.islice(tasks, 1):
                    unfinished.add(following := submit(*task))
                    finishing.add(following)
                error = future.exception()
                if isinstance(error, KilledWorker):
                    killed = error
                else:
                    yield future.result()
    finally:
        client.cancel(list(unfinished))
    if killed is not None:
        raise _Died from killed


def _bar(total: int, title: str) -> Any:
    """A progress bar, shown only on a terminal, or in a notebook whose front end accepts input."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    kernel = getattr(shell, "kernel", None)
    if getattr(kernel, "_allow_stdin", False):
        with contextlib.suppress(ImportError):
            from tqdm.notebook import tqdm as notebook_tqdm

            return notebook_tqdm(total=total, desc=title)
    return tqdm(total=total, desc=title, disable=None if kernel is None else True)


def provenance(device: Device = "cpu") -> dict[str, Any]:
    """Device, versions and date of a computation; a record adds its command and seeds."""
    device = torch.device(device)
    libraries = {module.__name__: str(module.__version__) for module in (torch, numpy, scipy)}
    return {
        "device": torch.cuda.get_device_name(device)
        if device.type == "cuda"
        else f"CPU, {platform.machine()}",
        "versions": {"python": platform.python_version()} | libraries,
        "date": date.today().isoformat(),
    }


@dataclass(frozen=True, eq=False)
class Recording:
    """A sweep whose result is kept as a record (:mod:`theorybook.records`), and its command line.

    Attributes:
        name: name of the record ``book/data/<name>.json``.
        function: a module-level function, called as ``function(**settings, **point)``; its result
            goes into the record.
        points: the arguments of each point, or a function without arguments that gives them.
        settings: arguments that all points share; stored in the record, and a test compares them
            with it.
        tolerance: relative difference beyond which a recomputed number counts as different; by field
            name if a mapping (``""`` for all others, ``math.inf`` for what cannot be repeated, such
            as seconds).
        digits: significant digits of the numbers in the record.
        chaotic: argument values of the points whose results amplify rounding, so that another
            processor gets other numbers; these points are not compared.
        shipped: False for a record that is not part of the book (for example of data that must be
            downloaded).

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
        """The points, after checking that each fits the function and none occurs twice.

        Raises:
            ValueError: a point does not fit, or occurs twice.
        """
        points = [
            dict(point) for point in (self.points() if callable(self.points) else self.points)
        ]
        signature = inspect.signature(self.function)
        for point in points:
            try:
                signature.bind(**{**self.settings, **point})
            except TypeError as error:
                raise ValueError(
                    f"recording {self.name}: point {point} does not fit its function: {error}"
                ) from None
        if len({_key(point) for point in points}) < len(points):
            raise ValueError(f"recording {self.name}: a point comes twice")
        return points

    def repeats(self, point: Mapping[str, Any]) -> bool:
        """Whether another processor gets the same numbers at this point."""
        return not self.chaotic or any(point[name] != value for name, value in self.chaotic.items())

    def compute(self, point: Mapping[str, Any], **extra: Any) -> Any:
        """The result of one point, as it would be read from a record."""
        return decoded(encoded(self._here()(**{**self.settings, **extra, **point}), self.digits))

    def record(
        self,
        folder: str | Path,
        points: Sequence[dict[str, Any]] | None = None,
        jobs: Annotated[int | None, ANY] = None,
        command: str = "",
        device: str = "",
        share: tuple[Count, Count] | None = None,
        take_over: bool = False,
        **extra: Any,
    ) -> Record:
        """Compute the points (all if none are given) and write the record.

        Every finished point is a line of ``<name>.json.partial`` with a checksum; the same call
        continues from there, and a damaged line costs its point.

        Args:
            folder: where to write.
            points: the points to compute.
            jobs: as in :func:`sweep`.
            command: the command for the provenance.
            device: given to the function as its argument ``device``, if not empty.
            share: (3, 16) computes every sixteenth point from the third on and leaves them in
                ``<name>.3of16.json.partial``. Runs of all shares, on any machines, may write to one
                folder at a time; a call without ``share`` afterwards computes what they did not
                finish, writes the record and removes their files.
            take_over: continue the file of a dead run on another machine that is still named as its
                writer. Only a file system without locks leaves such a name behind.
            extra: settings that replace the recording's.

        Raises:
            ValueError: another run writes there, or the file there belongs to other settings or
                versions.
            OSError: the folder cannot be written.
        """
        points = self.grid() if points is None else list(points)
        settings = {**self.settings, **extra}
        given = settings | ({"device": device} if device else {})
        for point in points:
            if both := ", ".join(given.keys() & point.keys()):
                raise ValueError(
                    f"recording {self.name}: {both} is a setting of all points, and {point} has "
                    "its own"
                )
        function, folder = self._here(), Path(folder)
        origin = {"command": command, "function": f"{function.__module__}.{function.__qualname__}"}
        origin |= provenance(device or "cpu")
        head = json.dumps(
            {"settings": encoded(settings, 17)}
            | {key: origin[key] for key in ("function", "device", "versions")}
        )
        folder.mkdir(parents=True, exist_ok=True)
        if share is None:
            paths = [folder / f"{self.name}.json.partial", *self._shares(folder)]
        else:
            paths = [folder / f"{self.name}.{share[0]}of{share[1]}.json.partial"]
            points = points[share[0] - 1 :: share[1]]
        with contextlib.ExitStack() as writing:
            for path in paths:
                writing.enter_context(_writing(path, take_over))
            done = {key: timed for path in paths for key, timed in _resumed(path, head).items()}
            left = [point for point in points if _key(point) not in done]
            with paths[0].open("a", encoding="utf-8") as file:

                def keep(i: int, timed: tuple[float, Any]) -> None:
                    done[_key(left[i])] = timed
                    line = json.dumps(
                        {"point": encoded(left[i], 17), "seconds": timed[0], "result": timed[1]},
                        allow_nan=False,
                    )
                    print(_summed(line, head), file=file, flush=True)

                sweep(
                    functools.partial(_timed, function, self.digits, given),
                    left,
                    jobs,
                    self.name,
                    keep,
                )
            found = [done.pop(_key(point)) for point in points]
            record = Record(
                self.name,
                origin,
                settings,
                points,
                [decoded(result) for _, result in found],
                tuple(s for s, _ in found),
            )
            if share is None:
                write_record(record, folder, self.digits)
                if not done:  # else they hold points that this call did not ask for
                    for path in paths:
                        path.unlink()
        return record

    def _shares(self, folder: Path) -> list[Path]:
        """The files that runs of shares have left in a folder."""
        pattern = re.compile(re.escape(self.name) + r"\.\d+of\d+\.json\.partial")
        return sorted(path for path in folder.iterdir() if pattern.fullmatch(path.name))

    def main(self, arguments: Sequence[str] | None = None) -> None:
        """Run the command line, which ``--help`` describes."""
        command_line([self], arguments)

    def _here(self) -> Callable:
        """The function under its module's real name: ``python -m`` calls that module ``__main__``,
        where other processes cannot find it.
        """
        spec = getattr(sys.modules["__main__"], "__spec__", None)
        if self.function.__module__ != "__main__" or spec is None:
            return self.function
        return getattr(importlib.import_module(spec.name), self.function.__name__)


@contextlib.contextmanager
def _writing(partial: Path, take_over: bool) -> Iterator[None]:
    """Hold the exclusive right to write a file, by a lock that ends with its process or, on a file
    system without locks, a file with the holder's name.

    Raises:
        ValueError: another run writes it.
    """
    locked, holder = partial.with_suffix(".lock"), partial.with_suffix(".holder")
    busy = f"{partial} is being written by another run"
    try:
        lock = _acquired(FileLock(locked, timeout=0, thread_local=False))
    except OSError as error:
        if error.errno not in LOCKLESS:
            raise
        lock = SoftFileLock(holder, timeout=0, thread_local=False)
        if take_over and _elsewhere(holder):
            holder.unlink(missing_ok=True)
        lock = _acquired(lock)
        if lock is None and (whose := _elsewhere(holder)):
            raise ValueError(
                f"{busy}, {whose}, says {holder}; wait for it or choose another folder, or if it "
                "is dead add --take-over"
            ) from None
    if lock is None:
        raise ValueError(f"{busy}; wait for it or choose another folder")
    try:
        yield
    finally:
        locked.unlink(missing_ok=True)
        lock.release()


def _acquired(lock: BaseFileLock) -> BaseFileLock | None:
    """The lock; None if another holds it."""
    try:
        lock.acquire()
    except Timeout:
        return None
    return lock


def _elsewhere(holder: Path) -> str:
    """The process on another machine that a holder's file names, and since when; empty if there is
    none.

    A process on this machine is alive: filelock itself removes the files of dead ones.
    """
    with tempfile.TemporaryDirectory() as folder, SoftFileLock(Path(folder, "holder")) as ours:
        _, here, *_ = Path(ours.lock_file).read_text(encoding="utf-8").split()
    try:
        pid, machine, *_ = holder.read_text(encoding="utf-8", errors="replace").split()
        since = datetime.fromtimestamp(holder.stat().st_mtime).isoformat(" ", "minutes")
    except (FileNotFoundError, ValueError):
        return ""
    return "" if machine == here else f"process {pid} of {machine} since {since}"


def _timed(
    function: Callable, digits: int, settings: dict[str, Any], /, **point: Any
) -> tuple[float, Any]:
    start = time.perf_counter()
    result = encoded(function(**settings, **point), digits)
    return time.perf_counter() - start, result


def _key(point: Mapping[str, Any]) -> str:
    return json.dumps(encoded(point, 17), sort_keys=True)


def _summed(line: str, head: str = "") -> str:
    """A line with its checksum, which depends on the head of its file too."""
    return f"{line} {zlib.crc32((head + line).encode()):08x}"


def _resumed(partial: Path, head: str) -> dict[str, tuple[float, Any]]:
    """Seconds and results of the points that an interrupted run has finished, from the complete
    lines with a correct checksum.

    Afterwards the file can be appended to; nothing in it is overwritten.
    """
    text = partial.read_text(encoding="utf-8", errors="replace") if partial.exists() else ""
    first, *lines = text.splitlines() or [""]
    whole = [line[:-9] for line in lines if line == _summed(line[:-9], head)]
    if first != _summed(head) and (first == _summed(first[:-9]) or len(lines) > len(whole) == 0):
        raise ValueError(
            f"{partial} cannot be continued: it belongs to other settings, another function, "
            "device or versions; "
            "choose another folder, or finish it with the command that began it"
        )
    if len(whole) < len(lines):
        message = (
            f"{partial}: {len(lines) - len(whole)} damaged lines are left out, their points "
            "computed again"
        )
        warnings.warn(message, stacklevel=2)
    if not text.endswith("\n"):
        with partial.open("a", encoding="utf-8") as file:
            file.write("\n" if text else _summed(head) + "\n")
    rows = map(json.loads, whole)
    return {_key(row["point"]): (row["seconds"], row["result"]) for row in rows}


def command_line(recordings: Sequence[Recording], arguments: Sequence[str] | None = None) -> None:
    """The command line of a module's recordings:
    ``--out FOLDER [--jobs N] [--only NAME] [--where KEY=VALUE] [--points N]``.

    Everything is checked before anything is computed: the values, the points that are chosen, and
    that the folder can be written. An interrupted run continues with the same command.
    """
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    module = spec.name if spec is not None else Path(sys.argv[0]).name
    doc = (inspect.getdoc(main) or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=doc)
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        help="folder to write, for the book's own records book/data",
    )
    parser.add_argument("--jobs", type=int, help="processes (default 1)")
    parser.add_argument("--points", type=int, help="only the first so many points")
    parser.add_argument(
        "--where",
        nargs="+",
        default=[],
        metavar="KEY=VALUE[,VALUE]",
        help="only points with these values, as seed=0,1",
    )
    parser.add_argument(
        "--share",
        metavar="I/N",
        help="only every N-th point from the I-th on, for one of N runs (the tasks of a Slurm array) "
        "with the same --out; the same command without --share then writes the record",
    )
    parser.add_argument(
        "--take-over",
        action="store_true",
        help="continue what a dead run on another machine still claims to write",
    )
    names = [recording.name for recording in recordings]
    if len(recordings) > 1:
        parser.add_argument(
            "--only", nargs="+", choices=names, default=names, help="only these records"
        )
    if any(
        "device" in inspect.signature(recording.function).parameters for recording in recordings
    ):
        parser.add_argument("--device", default="", help="cpu (default), cuda or cuda:1")
    words = list(sys.argv[1:] if arguments is None else arguments)
    given = parser.parse_args(words)
    if min(given.jobs or 1, given.points or 1) < 1 or 0 in (given.jobs, given.points):
        parser.error("--jobs and --points are at least 1")
    share = _share(given.share, parser)
    wanted = _conditions(given.where, parser)
    chosen = []
    for recording in recordings:
        if recording.name in getattr(given, "only", names):
            points = [
                p
                for p in recording.grid()
                if all(str(p.get(key)) in values for key, values in wanted.items())
            ]
            if not points:
                parser.error(
                    f"no point of {recording.name} has {' '.join(given.where)}; one point is "
                    f"{recording.grid()[0]}"
                )
            chosen.append((recording, points[: given.points]))
    device = getattr(given, "device", "")
    try:
        torch.zeros(1, device=device or "cpu")
    except (RuntimeError, AssertionError) as error:
        parser.error(f"--device {device} is not there: {str(error).splitlines()[0]}")
    try:
        given.out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=given.out).close()
        command = shlex.join(["python", "-m", module, *words])
        for recording, points in chosen:
            movable = "device" in inspect.signature(recording.function).parameters
            there = device if movable else ""
            record = recording.record(
                given.out, points, given.jobs, command, there, share, given.take_over
            )
            of = f"share {given.share} of " if share else ""
            print(f"{of}{given.out / recording.name}.json: {len(record.points)} points")
    except OSError as error:
        if error.errno is None:  # a loader's message about a missing file
            parser.exit(1, f"{parser.prog}: {error}\n")
        if error.errno not in UNWRITABLE:
            raise
        what = f"{error.filename or given.out} cannot be written ({os.strerror(error.errno)})"
        remedy = (
            "make room or choose another --out; finished points are kept and the same command "
            "continues"
        )
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


def _share(word: str | None, parser: argparse.ArgumentParser) -> tuple[int, int] | None:
    if word is None:
        return None
    found = re.fullmatch(r"(\d+)/(\d+)", word)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        parser.error(f"--share {word}: write I/N with I from 1 to N, as 3/16")
    return int(found[1]), int(found[2])
