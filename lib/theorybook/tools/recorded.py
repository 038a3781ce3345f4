"""Records of a tool's own run, with the command that was given."""

import os
import shlex
import sys
from pathlib import Path
from typing import Any

from theorybook import book
from theorybook.records import Record, write_record
from theorybook.sweep import provenance


def write(
    name: str,
    settings: dict[str, Any],
    points: list[dict],
    results: list[dict],
    folder: str,
    **options: Any,
) -> None:
    """Write the record ``name`` into a folder; ``options`` are those of ``write_record``, and
    ``versions`` of further packages.
    """
    tool, *words = sys.argv
    words = ["OUT" if word == folder else word for word in words]
    origin = {
        "command": shlex.join(["python", os.path.relpath(tool, book.root()), *words])
    } | provenance()
    origin["versions"] |= options.pop("versions", {})
    Path(folder).mkdir(parents=True, exist_ok=True)
    write_record(Record(name, origin, settings, points, results), folder, **options)
