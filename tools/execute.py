"""Execute chapters: each MyST ``.md`` is run in a fresh kernel and written beside itself as ``.ipynb``.

    python tools/execute.py [--jobs N] [chapter.md ...]

Without arguments: every chapter of ``_toc.yml``; those in ``book/ledger`` last, since they read the others. A run that
changes nothing writes nothing; a failing or interrupted one leaves the notebook as it was.
"""

import argparse
import contextlib
import os
import sys
from pathlib import Path

import forked_kernels
import jupytext
import nbformat
import yaml
from joblib import Parallel, delayed
from jupyter_client.kernelspec import NoSuchKernel
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]


def chapters() -> list[Path]:
    """The sources of all notebooks in the table of contents, in its order."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    files = [ROOT / chapter["file"] for part in toc["parts"] for chapter in part["chapters"]]
    return [file.with_suffix(".md") for file in files if file.suffix == ".ipynb"]


def execute(source: Path) -> str:
    """Run one chapter and store its notebook. Returns what went wrong, in one sentence with a remedy, or an empty string."""
    name = source.relative_to(ROOT) if source.is_relative_to(ROOT) else source
    try:
        notebook = jupytext.read(source)
    except OSError as error:
        return f"{name} cannot be read ({error.strerror}); name a chapter as book/<part>/<slug>.md"
    except (ValueError, KeyError, yaml.YAMLError) as error:
        return f"{name} is damaged ({str(error).splitlines()[0]}); restore it with git checkout -- {name}"
    if not any(cell.cell_type == "code" for cell in notebook.cells):
        return f"{name} has no cell to run; restore it with git checkout -- {name}"
    for index, cell in enumerate(notebook.cells):
        cell.id = f"cell-{index:03d}"  # jupytext draws random ids
    client = NotebookClient(
        notebook,
        timeout=900,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,  # where a printed text is cut depends on timing
        resources={"metadata": {"path": source.parent}},
        extra_arguments=["--log-level=ERROR"],
    )
    try:
        client.execute()
    except CellExecutionError as error:
        return f"{name}:\n{error}"
    except NoSuchKernel:
        return f"{name}: Jupyter finds no Python kernel; run make book, or pip install ipykernel into this environment"
    except (CellTimeoutError, DeadKernelError) as error:
        reason = str(error).splitlines()[0]
        return f"{name}: the kernel gave up ({reason}); with too little memory, try --jobs 1"
    except OSError as error:
        return (
            f"{name}: no kernel could be started ({error.strerror}); make room on the disk, or set TMPDIR to a folder with room"
        )
    notebook.metadata["language_info"] = {"name": "python"}  # the rest names the machine's Python
    text = nbformat.writes(notebook, version=nbformat.NO_CONVERT).rstrip("\n") + "\n"
    target = source.with_suffix(".ipynb")
    partial = target.with_suffix(f".ipynb.{os.getpid()}.partial")
    try:
        if not target.exists() or target.read_text(encoding="utf-8", errors="replace") != text:
            partial.write_text(text, encoding="utf-8")
            partial.replace(target)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        where = target.relative_to(ROOT) if target.is_relative_to(ROOT) else target
        return f"{where} cannot be written ({error.strerror}); make room, or make its folder writable, and run it again"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapters", nargs="*", type=lambda name: Path(name).resolve().with_suffix(".md"))
    parser.add_argument("--jobs", type=int, default=2, help="chapters at a time")
    arguments = parser.parse_args()
    if arguments.jobs < 1:
        parser.error("--jobs is at least 1")
    os.environ.pop("MPLBACKEND", None)  # a backend without a screen would store no picture
    forked_kernels.use()
    sources = arguments.chapters or chapters()
    ledger = [source for source in sources if source.parent.name == "ledger"]
    failures = []
    with tqdm(total=len(sources), desc="executing chapters", unit="chapter") as bar:
        for batch in ([source for source in sources if source not in ledger], ledger):
            # threads: each chapter has a kernel process of its own
            runs = Parallel(n_jobs=arguments.jobs, backend="threading", return_as="generator_unordered")(
                delayed(execute)(source) for source in batch
            )
            for failure in runs:
                failures += [failure] * bool(failure)
                bar.update()
    print("\n".join(failures), file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
