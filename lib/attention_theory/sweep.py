"""Sweeps: one function over a list of points, in parallel, with a progress bar; and recordings, sweeps that are kept.

A module of ``<part>/runs/`` whose result is a file in ``book/data/`` ends with::

    RECORDING = Recording("patch-sample-sizes", run, points, settings=DESCENT)

    if __name__ == "__main__":
        RECORDING.main()

which makes ``python -m attention_theory.<part>.runs.<topic> --out book/data --jobs 2`` its command line.
"""

import argparse
import contextlib
import errno
import importlib
import inspect
import json
import os
import platform
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Any, cast

import numpy
import scipy
import torch
from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError
from joblib.parallel import get_active_backend
from tqdm import tqdm

from attention_theory.domain import ANY, NonNegative, Size, outside
from attention_theory.evidence.records import DIGITS, TOLERANCE, Record, decoded, encoded, write_record

#: How often a sweep starts anew after a worker has died without any point finished in between.
DEATHS = 3
#: What a full disk and a folder that is not ours to write, or no folder, say.
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST)


def sweep(
    function: Callable,
    points: Iterable[dict[str, Any]],
    jobs: Annotated[int | None, ANY] = None,
    title: str = "",
    finished: Callable[[int, Any], None] | None = None,
) -> list:
    """``[function(**point) for point in points]``, in order.

    Runs on joblib: ``jobs`` processes, or whatever backend is active, so that the same call runs on a cluster inside
    ``with joblib.parallel_config(backend="dask")``. A worker that dies costs the points it worked on, which are
    started again. Randomness belongs into the points, as seeds. The bar shows on a terminal and in a notebook that
    somebody looks at; a notebook that a program executes stays without.

    Args:
        function: of a point's arguments.
        points: the arguments, by name.
        jobs: processes; the active backend's choice (1 without one) if not given.
        title: of the bar.
        finished: called here, in this process, with the number and the result of each point as soon as it is there.

    Raises:
        RuntimeError: workers die again and again; the points that are left are named.
        Exception: whatever a point raises; it cancels the others.

    >>> sweep(pow, [{"base": 2, "exp": 3}, {"base": 3, "exp": 2}])
    [8, 9]
    """
    points = list(points)
    results: dict[int, Any] = {}
    deaths = 0
    with _bar(len(points), title) as bar:
        while len(results) < len(points):
            left = [i for i in range(len(points)) if i not in results]
            before = len(results)
            try:
                for i, result in _as_they_finish(function, points, left, jobs):
                    results[i] = result
                    bar.update()
                    if finished is not None:
                        finished(i, result)
            except TerminatedWorkerError as error:
                deaths = 1 if len(results) > before else deaths + 1
                if deaths == DEATHS:
                    undone = [points[i] for i in left if i not in results]
                    raise RuntimeError(
                        f"a worker died {DEATHS} times in a row (out of memory?); {len(undone)} points are left, "
                        f"first {undone[:4]}; try fewer jobs"
                    ) from error
    return [results[i] for i in range(len(points))]


def _numbered(i: int, function: Callable, point: dict[str, Any]) -> tuple[int, Any]:
    return i, outside(function)(**point)


def _as_they_finish(function: Callable, points: list, left: list[int], jobs: int | None) -> Iterator[tuple[int, Any]]:
    """Arithmetic and result of each point that is left, as it finishes; on backends that answer at the end only, in batches."""
    backend, active = cast(tuple[Any, Any], get_active_backend())
    tasks = [delayed(_numbered)(i, function, points[i]) for i in left]
    if backend.supports_return_generator:
        yield from cast(Iterator, Parallel(n_jobs=jobs, return_as="generator_unordered")(tasks))
        return
    batch = 4 * max(1, backend.effective_n_jobs(jobs or active or 1))
    for start in range(0, len(tasks), batch):
        yield from cast(list, Parallel(n_jobs=jobs)(tasks[start : start + batch]))


def _bar(total: int, title: str) -> Any:
    """A bar where somebody looks: on a terminal, or in a notebook whose front end can be asked for input."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    kernel = getattr(shell, "kernel", None)
    if getattr(kernel, "_allow_stdin", False):
        with contextlib.suppress(ImportError):
            from tqdm.notebook import tqdm as notebook_tqdm

            return notebook_tqdm(total=total, desc=title)
    return tqdm(total=total, desc=title, disable=None if kernel is None else True)


def provenance(device: torch.device | str = "cpu") -> dict[str, Any]:
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
    """A sweep whose result is kept as a record (:mod:`attention_theory.evidence.records`), and its command line.

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
        jobs: Size | None = None,
        command: str = "",
        **extra: Any,
    ) -> Record:
        """Compute the points (all if none are given) and write the record.

        Every finished point is kept in ``<name>.json.partial``; the same call continues from there.

        Raises:
            ValueError: what is there belongs to other settings or another version.
            OSError: the folder cannot be written.
        """
        points = self.grid() if points is None else list(points)
        settings = {**self.settings, **extra}
        function, folder = self._here(), Path(folder)
        origin = {"command": command, "function": f"{function.__module__}.{function.__qualname__}"}
        origin |= provenance(extra.get("device", "cpu"))
        partial = folder / f"{self.name}.json.partial"
        head = {"function": origin["function"], "settings": encoded(settings, 17), "versions": origin["versions"]}
        done = _resumed(partial, head)
        left = [point for point in points if _key(point) not in done]
        folder.mkdir(parents=True, exist_ok=True)
        with partial.open("a", encoding="utf-8") as file:
            _lock(file)
            if not partial.stat().st_size:
                print(json.dumps(head), file=file, flush=True)

            def keep(i: int, timed: tuple[float, Any]) -> None:
                done[_key(left[i])] = timed
                line = {"point": encoded(left[i], 17), "seconds": timed[0], "result": timed[1]}
                print(json.dumps(line, allow_nan=False), file=file, flush=True)

            tasks = [{"function": function, "arguments": {**settings, **point}, "digits": self.digits} for point in left]
            sweep(_timed, tasks, jobs, self.name, keep)
        found = [done[_key(point)] for point in points]
        record = Record(
            self.name, origin, settings, points, [decoded(result) for _, result in found], tuple(s for s, _ in found)
        )
        write_record(record, folder, self.digits)
        partial.unlink()
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


def _lock(file: Any) -> None:
    """Refuse a second run of the same recording in the same folder; where the system has no such locks, trust."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ValueError(f"{file.name} is being written by another run; wait for it or choose another folder") from None


def _timed(function: Callable, arguments: dict[str, Any], digits: int) -> tuple[float, Any]:
    start = time.perf_counter()
    result = encoded(function(**arguments), digits)
    return time.perf_counter() - start, result


def _key(point: Mapping[str, Any]) -> str:
    return json.dumps(encoded(point, 17), sort_keys=True)


def _resumed(partial: Path, head: dict[str, Any]) -> dict[str, tuple[float, Any]]:
    """Seconds and results of the points that an interrupted run has finished. A line cut short at the end is left out."""
    if not partial.exists():
        return {}
    text = partial.read_text(encoding="utf-8", errors="replace")
    whole = text[: text.rfind("\n") + 1]
    lines = whole.splitlines()
    try:
        rows = [json.loads(line) for line in lines]
        if rows and rows[0] != head:
            raise ValueError("it belongs to other settings, another function or other versions")
        done = {_key(row["point"]): (row["seconds"], row["result"]) for row in rows[1:]}
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{partial} cannot be continued: {error}; remove it to start anew") from None
    if whole != text:
        with partial.open("rb+") as file:
            file.truncate(len(whole.encode("utf-8")))
    return done


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
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--points", type=int, help="only the first so many points")
    parser.add_argument(
        "--where", nargs="+", default=[], metavar="KEY=VALUE[,VALUE]", help="only points with these values, as seed=0,1"
    )
    names = [recording.name for recording in recordings]
    if len(recordings) > 1:
        parser.add_argument("--only", nargs="+", choices=names, default=names, help="only these records")
    if any("device" in inspect.signature(recording.function).parameters for recording in recordings):
        parser.add_argument("--device", default="cpu", help="cpu (default) or cuda")
    words = list(sys.argv[1:] if arguments is None else arguments)
    given = parser.parse_args(words)
    if given.jobs < 1 or (given.points is not None and given.points < 1):
        parser.error("--jobs and --points are at least 1")
    wanted = _conditions(given.where, parser)
    chosen = []
    for recording in recordings:
        if recording.name in getattr(given, "only", names):
            points = [p for p in recording.grid() if all(str(p.get(key)) in values for key, values in wanted.items())]
            if not points:
                parser.error(f"no point of {recording.name} has {' '.join(given.where)}; one point is {recording.grid()[0]}")
            chosen.append((recording, points[: given.points]))
    extra = {}
    if getattr(given, "device", "cpu") != "cpu":
        try:
            torch.zeros(1, device=given.device)
        except (RuntimeError, AssertionError) as error:
            parser.error(f"--device {given.device} is not there: {str(error).splitlines()[0]}")
        extra = {"device": given.device}
    try:
        given.out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=given.out).close()
        command = shlex.join(["python", "-m", module, *words])
        for recording, points in chosen:
            extra_here = extra if "device" in inspect.signature(recording.function).parameters else {}
            recording.record(given.out, points, given.jobs, command, **extra_here)
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
