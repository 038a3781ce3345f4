"""Execute chapters: each MyST ``.md`` is run in a fresh kernel and written beside itself as ``.ipynb``.

    python tools/execute.py [--jobs N] [chapter.md ...]

Without arguments: every chapter of ``_toc.yml``; those in ``book/ledger`` last, since they read the others. A run that
changes nothing writes nothing; a failing or interrupted one leaves the notebook as it was.
"""

import argparse
import sys
from pathlib import Path

import jupytext
import nbformat
import yaml
from joblib import Parallel, delayed
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]


def chapters() -> list[Path]:
    """The sources of all notebooks in the table of contents, in its order."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    files = [ROOT / chapter["file"] for part in toc["parts"] for chapter in part["chapters"]]
    return [file.with_suffix(".md") for file in files if file.suffix == ".ipynb"]


def execute(source: Path) -> str:
    """Run one chapter and store its notebook. Returns what went wrong, or an empty string."""
    notebook = jupytext.read(source)
    for index, cell in enumerate(notebook.cells):
        cell.id = f"cell-{index:03d}"  # jupytext draws random ids
    client = NotebookClient(
        notebook,
        timeout=900,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": source.parent}},
        extra_arguments=["--log-level=ERROR"],
    )
    try:
        client.execute()
    except CellExecutionError as error:
        return f"{source.relative_to(ROOT)}:\n{error}"
    notebook.metadata["language_info"] = {"name": "python"}  # the rest names the machine's Python
    text = nbformat.writes(notebook, version=nbformat.NO_CONVERT).rstrip("\n") + "\n"
    target = source.with_suffix(".ipynb")
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        partial = target.with_suffix(".ipynb.partial")
        partial.write_text(text, encoding="utf-8")
        partial.replace(target)
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapters", nargs="*", type=lambda name: Path(name).resolve().with_suffix(".md"))
    parser.add_argument("--jobs", type=int, default=2, help="chapters at a time")
    arguments = parser.parse_args()
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
