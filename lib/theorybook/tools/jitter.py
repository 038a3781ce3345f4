"""Execute chapters with the last place of every inexact result at random, and name the compared
outputs that change.

    python -m theorybook.tools.jitter [--seeds 0,1,2] [--jobs N] [chapter.md ...]

Without chapters: all of ``_toc.yml``. The stored notebooks are read and never written;
``last_place`` says what is perturbed. An output that changes here will differ on some other
machine. The exit code is 1 if anything changed.
"""

import functools
import sys
from pathlib import Path

import nbformat

from theorybook.tools.execute import (
    Failed,
    arguments_for,
    chapters,
    differences,
    named,
    read,
    run,
    side_by_side,
)

#: Runs before the chapter's first cell.
START = "from theorybook.tools import last_place; last_place.perturb({seed})"


def changed_outputs(source: Path, seed: int) -> tuple[str, list[str]]:
    """Name of a chapter and seed, and the stored outputs that change when the chapter runs
    perturbed.
    """
    name = f"{named(source)}, seed {seed}"
    try:
        notebook = read(source)
        start = nbformat.v4.new_code_cell(START.format(seed=seed))
        notebook.cells.insert(0, start)
        run(notebook, source, allow_errors=True)
        if start.outputs:
            return name, [f"could not be perturbed: {start.outputs[0]}"]
        del notebook.cells[0]
        return name, differences(
            nbformat.read(source.with_suffix(".ipynb"), as_version=4), notebook
        )
    except (Failed, OSError) as error:
        return name, [str(error)]


def main() -> int:
    parser = arguments_for(__doc__)
    parser.add_argument(
        "--seeds",
        default="0",
        type=lambda text: [int(seed) for seed in text.split(",")],
        help="such as 0,1,2",
    )
    given = parser.parse_args()
    found = False
    for seed in given.seeds:
        work = functools.partial(changed_outputs, seed=seed)
        for name, places in side_by_side(
            work, given.chapters or chapters(), given.jobs, f"perturbing, seed {seed}"
        ):
            if places:
                found = True
                print(f"{name}: {len(places)} cells move", *places, sep="\n    ", flush=True)
    print("some outputs depend on rounding" if found else "nothing moves")
    return int(found)


if __name__ == "__main__":
    sys.exit(main())
