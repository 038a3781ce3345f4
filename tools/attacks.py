"""What hostile referees found, in one record: ``python tools/attacks.py --out book/data FILE...``.

A referee's file is a JSON list with, for each row that was attacked, ``row`` (its id), ``reading``
(sound, weak or wrong), ``tried`` (what the code did), ``kind`` and ``fault`` (empty if sound), and
``mended``, which somebody else adds: what changed, or why nothing did. The name of the file is the
batch. CONTRIBUTING, "Attack a row", is the brief.
"""

import argparse
import datetime
import json
import platform
from pathlib import Path

from theorybook import load_ledger
from theorybook.records import Record, write_record

READINGS = ("sound", "weak", "wrong")
SAID = ("reading", "tried", "kind", "fault", "mended")


def gathered(files: list[Path], book: Path) -> Record:
    """The record of all files; ValueError names the file and the row that is not in the ledger or
    has another reading.
    """
    known = {row for path in (book / "ledger").glob("*.yml") for row in load_ledger(path)}
    points, results = [], []
    for path in files:
        for found in json.loads(path.read_text(encoding="utf-8")):
            row = found.get("row")
            if row not in known:
                raise ValueError(f"{path.name}: {row!r} is no row of the ledger")
            if found.get("reading") not in READINGS:
                raise ValueError(
                    f"{path.name}: {row}: the reading is one of {', '.join(READINGS)}, not "
                    f"{found.get('reading')!r}"
                )
            points.append({"row": row, "batch": path.stem})
            results.append({key: found.get(key) or "" for key in SAID})
    origin = {
        "command": (
            "hostile referees, by the brief in CONTRIBUTING; python tools/attacks.py --out "
            "book/data FILE..."
        ),
        "device": f"CPU, {platform.machine()}",
        "versions": {"python": platform.python_version()},
        "date": datetime.date.today().isoformat(),
    }
    return Record(
        "attacks", origin, {"batches": sorted({path.stem for path in files})}, points, results
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    print(write_record(gathered(sorted(asked.files), asked.out.parent), asked.out))
