"""Recompute a random sample of the points of every record in ``book/data`` and compare.

    python -m theorybook.tools.records_check [--points 3] [--seconds 60] [--seed N] [--jobs 2] [name
    ...]

Each record must have a recording (``theorybook.sweep.Recording``) in some ``<part>/runs/`` module,
with the same settings and points. The sample is drawn from the points that took at most
``--seconds`` when they were recorded.
"""

import argparse
import importlib
import pkgutil
import random
import sys

from theorybook import book
from theorybook.records import Record, decoded, differences, encoded, read_record
from theorybook.sweep import Recording, sweep


def recordings() -> dict[str, Recording]:
    """All recordings in the packages that ``_config.yml`` names, by the name of their record."""
    found = {}
    for package in map(importlib.import_module, book.settings().get("recordings", [])):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if ".runs." in module.name:
                for thing in vars(importlib.import_module(module.name)).values():
                    for recording in thing if isinstance(thing, list | tuple) else [thing]:
                        if isinstance(recording, Recording):
                            found[recording.name] = recording
    return dict(sorted(found.items()))


def untied(recording: Recording, record: Record) -> list[str]:
    """Where the settings and points of a record differ from those of its recording."""
    settings = decoded(encoded(recording.settings, 17))
    faults = [f"settings: {fault}" for fault in differences(record.settings, settings, 0)]
    points = [decoded(encoded(point, 17)) for point in recording.grid()]
    missing = [point for point in points if point not in record.points]
    foreign = [point for point in record.points if point not in points]
    faults += [f"{len(missing)} points are not recorded, first {missing[0]}"] if missing else []
    faults += (
        [f"{len(foreign)} recorded points do not belong to it, first {foreign[0]}"]
        if foreign
        else []
    )
    return faults


def recomputed(recording: Recording, record: Record, index: int) -> list[str]:
    """Where the recomputed result of one point of a record differs."""
    point = record.points[index]
    found = differences(record.results[index], recording.compute(point), recording.tolerance)
    return [f"{recording.name}, {point}: {fault}" for fault in found]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="records (default: all)")
    parser.add_argument("--points", type=int, default=3, help="points of each record (default 3)")
    parser.add_argument(
        "--seconds", type=float, default=60, help="leave out points that took longer (default 60)"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=random.randrange(10**6),
        help="of the sample (default: another each time)",
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    given = parser.parse_args(arguments)
    known, data = recordings(), book.root() / "book" / "data"
    unknown = [name for name in given.names if name not in known]
    if unknown or min(given.points, given.jobs) < 1:
        parser.error(
            f"no recording is called {unknown[0]}; there are {', '.join(known)}"
            if unknown
            else "--points and --jobs are at least 1"
        )
    names = given.names or [name for name, recording in known.items() if recording.shipped]
    files = sorted(path.stem for path in data.glob("*") if path.suffix in (".json", ".npz", ".csv"))
    files = [name for name in files if name not in book.settings().get("tables", [])]
    faults = [
        f"{name}: a file of book/data without a recording"
        for name in files
        if name not in known and not given.names
    ]
    draw, tasks = random.Random(given.seed), []
    for name in names:
        try:
            record = read_record(name, data)
        except (FileNotFoundError, ValueError) as error:
            faults.append(str(error))
            continue
        faults += [f"{name}: {fault}" for fault in untied(known[name], record)]
        took = record.seconds or [0.0] * len(record.points)
        repeating = [i for i, point in enumerate(record.points) if known[name].repeats(point)]
        quick = [i for i in repeating if took[i] <= given.seconds]
        chosen = sorted(draw.sample(quick, min(given.points, len(quick))))
        tasks += [{"recording": known[name], "record": record, "index": i} for i in chosen]
        print(
            f"{name}: {len(chosen)} of {len(record.points)} points "
            f"({len(repeating) - len(quick)} took too long, {len(record.points) - len(repeating)} "
            "follow rounding)"
        )
    faults += [
        fault for found in sweep(recomputed, tasks, given.jobs, "records") for fault in found
    ]
    print("\n".join(faults), file=sys.stderr)
    print(f"{len(tasks)} points recomputed with --seed {given.seed}, {len(faults)} differences")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
