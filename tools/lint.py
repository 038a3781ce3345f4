"""Lint the chapters' cells: ruff's format at 92 columns for each cell, ruff's rules for each
chapter as one script.

    python tools/lint.py [--fix] [chapter.md ...]

With ``--fix`` the cells of the ``.md`` are formatted in place (execute the chapter afterwards).
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import jupytext
from theorybook.tools.execute import chapters

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = 92
#: What a cell may do and a module may not: no docstrings, imports in any cell, a last line that
#: shows its value.
IGNORED = "RUF017,D,E402,B018,E501,RUF059,PT018,SIM"


def ruff(*arguments: str) -> str:
    """What ruff prints, with the rules of pyproject.toml."""
    command = [sys.executable, "-m", "ruff", *arguments, "--config", str(ROOT / "pyproject.toml")]
    return subprocess.run(command, capture_output=True, text=True).stdout


def lint(sources: list[Path], fix: bool) -> list[str]:
    """The faults of the chapters; none when they are mended instead."""
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        cells: dict[Path, tuple[Path, str]] = {}
        for source in sources:
            found = [
                cell.source for cell in jupytext.read(source).cells if cell.cell_type == "code"
            ]
            ours = [cell for cell in found if not re.search(r"^\s*[%!]", cell, flags=re.M)]
            name = "/".join(
                source.with_suffix("").parts[-3 if source.parent.name == "record" else -2 :]
            )
            script = Path(folder, "chapters", f"{name}.py")
            script.parent.mkdir(parents=True, exist_ok=True)
            script.write_text("\n\n\n".join(ours) + "\n", encoding="utf-8")
            for i, cell in enumerate(ours):
                path = Path(folder, "cells", name, f"cell_{i}.py")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(cell + "\n", encoding="utf-8")
                cells[path] = (source, cell)
        # a temporary folder does not show which packages are ours
        ours = 'lint.isort.known-first-party=["theorybook", "attention_theory", "attention_checks"]'
        options = ("--line-length", str(COLUMNS), "--config", ours)
        if fix:
            ruff("check", "-q", "--fix", "--select", "I", *options, f"{folder}/cells")
        ruff("format", "-q", "--line-length", str(COLUMNS), f"{folder}/cells")
        for path, (source, cell) in cells.items():
            formatted = path.read_text(encoding="utf-8").rstrip("\n")
            if formatted == cell:
                continue
            faults.append(
                f"{source}: not formatted: {cell.splitlines()[0] if cell else 'an empty cell'}"
            )
            text = source.read_text(encoding="utf-8")
            if fix and cell and text.count(cell) == 1:
                source.write_text(text.replace(cell, formatted), encoding="utf-8")
        if fix:
            return []
        found = ruff(
            "check",
            *options,
            "--extend-ignore",
            IGNORED,
            "--output-format",
            "concise",
            "-q",
            f"{folder}/chapters",
        )
    return faults + [
        line.split("chapters/")[-1] for line in found.splitlines() if re.match(r".+:\d+:\d+:", line)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "chapters", nargs="*", type=lambda name: Path(name).resolve().with_suffix(".md")
    )
    parser.add_argument("--fix", action="store_true", help="format the cells in place")
    arguments = parser.parse_args()
    faults = lint(arguments.chapters or chapters(), arguments.fix)
    print("\n".join(faults))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
