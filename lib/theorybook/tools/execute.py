"""Execute chapters: each MyST ``.md`` is run in a fresh kernel and written beside itself as
``.ipynb``.

    python -m theorybook.tools.execute [--jobs N] [chapter.md ...]

Without arguments: every chapter of ``_toc.yml``; those in ``book/ledger`` last, since they read the
others. A run that changes nothing writes nothing; a failing or interrupted one leaves the notebook
as it was.
"""

import argparse
import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import jupytext
import nbformat
import yaml
from joblib import Parallel, delayed
from jupyter_client.kernelspec import NoSuchKernel
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from tqdm import tqdm

from theorybook import book
from theorybook.tools import forked_kernels


class Failed(Exception):
    """A chapter was not executed or not stored: the reason, in one sentence with a remedy."""


def chapters(root: Path | None = None) -> list[Path]:
    """The sources of all notebooks in the table of contents, in its order."""
    root, found = root or book.root(), []
    for file in book.files(root):
        source = root / file.with_suffix(".md")
        if file.suffix == ".ipynb":
            found.append(source)
        elif source.is_file() and re.match(
            r"---\n(.*\n)*?jupytext:", source.read_text(encoding="utf-8-sig")
        ):
            raise SystemExit(
                f"_toc.yml: {file} has cells to run; write {file.with_suffix('.ipynb')}"
            )
    return found


def named(path: Path) -> Path:
    """A path as messages show it."""
    return path.relative_to(book.root()) if path.is_relative_to(book.root()) else path


def read(source: Path) -> NotebookNode:
    """The notebook of a source, without outputs."""
    name = named(source)
    try:
        notebook = jupytext.read(source)
    except OSError as error:
        raise Failed(
            f"{name} cannot be read ({error.strerror}); name a chapter as book/<part>/<slug>.md"
        ) from None
    except (ValueError, KeyError, yaml.YAMLError) as error:
        reason = str(error).splitlines()[0]
        raise Failed(
            f"{name} is damaged ({reason}); restore it with git checkout -- {name}"
        ) from None
    if not any(cell.cell_type == "code" for cell in notebook.cells):
        raise Failed(f"{name} has no cell to run; restore it with git checkout -- {name}")
    for index, cell in enumerate(notebook.cells):
        cell.id = f"cell-{index:03d}"  # jupytext draws random ids
    return notebook


def run(notebook: NotebookNode, source: Path, allow_errors: bool = False) -> None:
    """Run a notebook in a fresh kernel, in the folder of its source; its outputs are then in its
    cells.
    """
    name = named(source)
    client = NotebookClient(
        notebook,
        timeout=900,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,  # where a printed text is cut depends on timing
        allow_errors=allow_errors,
        resources={"metadata": {"path": source.parent}},
        extra_arguments=["--log-level=ERROR"],
    )
    try:
        client.execute()
    except CellExecutionError as error:
        raise Failed(f"{name}:\n{error}") from None
    except NoSuchKernel:
        remedy = "run make book, or pip install ipykernel into this environment"
        raise Failed(f"{name}: Jupyter finds no Python kernel; {remedy}") from None
    except (CellTimeoutError, DeadKernelError) as error:
        reason = str(error).splitlines()[0]
        raise Failed(
            f"{name}: the kernel gave up ({reason}); with too little memory, try --jobs 1"
        ) from None
    except OSError as error:
        remedy = "make room on the disk, or set TMPDIR to a folder with room"
        raise Failed(f"{name}: no kernel could be started ({error.strerror}); {remedy}") from None
    # a figure that cannot be drawn leaves an error after its cell has succeeded
    for cell in notebook.cells:
        for output in (
            ()
            if allow_errors or "raises-exception" in cell.metadata.get("tags", ())
            else cell.get("outputs", ())
        ):
            if output.output_type == "error":
                raise Failed(f"{name}:\n{cell.source}\n\n{output.ename}: {output.evalue}")
    notebook.metadata["language_info"] = {"name": "python"}  # the rest names the machine's Python


def store(notebook: NotebookNode, target: Path) -> None:
    """Write a notebook unless the file already has this content."""
    text = nbformat.writes(notebook, version=nbformat.NO_CONVERT).rstrip("\n") + "\n"
    target = target.resolve()  # so that a link remains a link
    partial = target.with_suffix(f".ipynb.{os.getpid()}.partial")
    try:
        if not target.exists() or target.read_text(encoding="utf-8", errors="replace") != text:
            partial.write_text(text, encoding="utf-8")
            partial.replace(target)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        remedy = "make room, or make its folder writable, and run it again"
        raise Failed(f"{named(target)} cannot be written ({error.strerror}); {remedy}") from None


def execute(source: Path) -> str:
    """Run one chapter and store its notebook beside it. Returns what went wrong, or an empty
    string.
    """
    try:
        notebook = read(source)
        run(notebook, source)
        store(notebook, source.with_suffix(".ipynb"))
    except Failed as failure:
        return str(failure)
    return ""


#: A hash of a picture's data, which follow it; a report shows the data instead.
PICTURE_ID = re.compile(r"\bmovable-[0-9a-f]{8}\b")


def compared(cell: NotebookNode) -> list[str]:
    """What nbval compares of a cell: all its texts, joined where only timing split them, and no
    images.
    """
    texts: dict[str, list[str]] = {}
    if cell.cell_type == "code" and "nbval-ignore-output" not in cell.metadata.get("tags", ()):
        for output in cell.outputs:
            if output.output_type == "stream":
                texts[output.name] = ["".join([*texts.get(output.name, ()), output.text])]
            elif output.output_type == "error":
                texts.setdefault("error", []).append(f"{output.ename}: {output.evalue}")
            for kind, data in output.get("data", {}).items():
                if kind not in ("image/png", "image/jpeg"):
                    texts.setdefault(kind, []).append(
                        data if isinstance(data, str) else json.dumps(data, sort_keys=True)
                    )
    return [PICTURE_ID.sub("movable", text) for kind in sorted(texts) for text in texts[kind]]


def excerpt(text: str, other: str) -> str:
    """The part of a text around the first difference from another one."""
    first = next(
        (i for i, (a, b) in enumerate(zip(text, other)) if a != b), min(len(text), len(other))
    )
    return repr(text[max(0, first - 60) : first + 40])


def differences(stored: NotebookNode, fresh: NotebookNode) -> list[str]:
    """For each cell whose compared outputs differ from the stored ones, where the difference
    begins.
    """
    found = []
    for number, (old, new) in enumerate(zip(stored.cells, fresh.cells), start=1):
        before, after = compared(old), compared(new)
        if before != after:
            pairs = [(a, b) for a, b in zip(before, after) if a != b]
            pair = pairs[0] if pairs else ("\n".join(before), "\n".join(after))
            found.append(f"cell {number}: {excerpt(*pair)} -> {excerpt(*pair[::-1])}")
    if len(stored.cells) != len(fresh.cells):
        found.append(f"{len(stored.cells)} cells are stored, its source has {len(fresh.cells)}")
    return found


def side_by_side(work: Callable, sources: list[Path], jobs: int, doing: str) -> Iterator:
    """Results of ``work`` for each chapter, ``jobs`` at a time; the ledger's pages last, since they
    read the others.
    """
    os.environ.pop("MPLBACKEND", None)  # a backend without a screen would store no picture
    forked_kernels.use()
    ledger = [source for source in sources if source.parent.name == "ledger"]
    with tqdm(total=len(sources), desc=doing, unit="chapter") as bar:
        for batch in ([source for source in sources if source not in ledger], ledger):
            # threads: each chapter has a kernel process of its own
            runs = Parallel(n_jobs=jobs, backend="threading", return_as="generator_unordered")
            for result in runs(delayed(work)(source) for source in batch):
                bar.update()
                yield result


def arguments_for(text: str | None) -> argparse.ArgumentParser:
    """A command line that takes chapters and the number of them to run at a time."""
    parser = argparse.ArgumentParser(description=(text or "").partition("\n")[0])
    parser.add_argument(
        "chapters", nargs="*", type=lambda name: Path(name).resolve().with_suffix(".md")
    )
    parser.add_argument("--jobs", type=positive, default=2, help="chapters at a time")
    return parser


def positive(text: str) -> int:
    """An integer that is at least 1."""
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{number} is not allowed: it is at least 1")
    return number


def main() -> int:
    given = arguments_for(__doc__).parse_args()
    runs = side_by_side(execute, given.chapters or chapters(), given.jobs, "executing chapters")
    failures = [failure for failure in runs if failure]
    print("\n".join(failures), file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
