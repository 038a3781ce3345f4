"""The record of a tool's own run, with the command that was given."""

import shlex
import sys
from pathlib import Path
from typing import Any


def write(name: str, settings: dict[str, Any], points: list[dict], results: list[dict], folder: str, **options: Any) -> None:
    """Write ``name`` into a folder; ``options`` as of ``write_record``, and ``versions`` of more packages."""
    from theorybook.records import Record, write_record
    from theorybook.sweep import provenance

    tool, *words = sys.argv
    words = ["OUT" if word == folder else word for word in words]
    origin = {"command": shlex.join(["python", f"tools/{Path(tool).name}", *words])} | provenance()
    origin["versions"] |= options.pop("versions", {})
    Path(folder).mkdir(parents=True, exist_ok=True)
    write_record(Record(name, origin, settings, points, results), folder, **options)
