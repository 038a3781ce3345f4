"""Build the pages in ``_build/html``; files that git tracks are read and never written.

    python -m theorybook.tools.build [--execute] [--jobs N]

The sources are copied to ``_build/source`` and the pages are built there, from the stored outputs.
With ``--execute`` every chapter is run in that copy first, the pages show its fresh outputs, and
those that nbval would find to differ from the stored ones are named. The exit code is 1 without
pages, and 3 if there are pages and outputs differ.
"""

import argparse
import filecmp
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat

from theorybook import book
from theorybook.tools.execute import chapters, differences, execute, positive, side_by_side


def gather(root: Path, copy: Path) -> None:
    """Update the copy of the book; a file that has not changed keeps its time, so that its page is
    not built again.
    """
    files = [root / "_config.yml", root / "_toc.yml", *(root / "book").rglob("*")]
    wanted = {
        file.relative_to(root): file
        for file in files
        if file.is_file()
        and not any(part.startswith((".", "__")) for part in file.relative_to(root).parts)
    }
    for name, file in wanted.items():
        target = copy / name
        if not target.is_file() or not filecmp.cmp(file, target, shallow=False):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
    for file in (copy / "book").rglob("*"):
        if file.is_file() and file.relative_to(copy) not in wanted:
            file.unlink()
    for name in ("lib", "proofs"):  # the version, and links to their lines
        if (root / name).is_dir() and not (copy / name).is_symlink():
            (copy / name).symlink_to(root / name)


def changed(root: Path, copy: Path) -> list[str]:
    """The cells of the copy whose outputs differ from the stored ones."""
    found = []
    for source in chapters(root):
        name = source.relative_to(root).with_suffix(".ipynb")
        if not (root / name).is_file():
            found.append(f"{name} is not stored")
            continue
        stored, fresh = (nbformat.read(folder / name, as_version=4) for folder in (root, copy))
        found += [f"{name}, {place}" for place in differences(stored, fresh)]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--execute", action="store_true", help="from fresh outputs")
    parser.add_argument("--jobs", type=positive, default=2, help="chapters at a time")
    given = parser.parse_args()
    root = book.root()
    copy = root / "_build" / "source"
    gather(root, copy)
    differing = []
    if given.execute:
        runs = side_by_side(execute, chapters(copy), given.jobs, "executing chapters")
        failures = [failure for failure in runs if failure]
        if failures:
            print("\n".join(failures), file=sys.stderr)
            return 1
        differing = changed(root, copy)
    builder = [Path(sys.executable).with_name("jupyter-book"), "build", copy, "--path-output", root]
    if subprocess.run([*builder, "-W", "-n", "--keep-going", "-q"], cwd=root).returncode:
        return 1
    print(f"The book: {root / '_build' / 'html' / 'index.html'}")
    if differing:
        print(
            f"Its pages show fresh outputs, of which {len(differing)} differ from those that git "
            "holds:",
            file=sys.stderr,
        )
        print(*differing, sep="\n", file=sys.stderr)
        print(
            "On a fresh clone this is a fault of the book; after a change, make execute stores "
            "them.",
            file=sys.stderr,
        )
    return 3 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
