"""A notebook with verdicts of each part as Colab runs it: alone in an empty folder, in an
environment with only what Colab has.

    python tools/colab.py [notebook ...]

Makes an environment with torch, numpy, scipy, matplotlib, scikit-learn and ipykernel of other
versions than the book's, points the chapter's install cell at a local clone, runs it, restarts,
runs it again, and compares both times: the verdicts are the stored ones, judged against the ledger,
and nothing that was installed before was replaced.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import nbformat
import yaml
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from theorybook import MIME
from theorybook.verdicts import ALONE

ROOT = Path(__file__).resolve().parents[1]
#: Those that read recorded runs, in the parts that have some.
CHAPTERS = (
    "sensitivity/record/paper-sizes",
    "separation/record/threshold",
    "tangent/record/widths-and-steps",
)
CHAPTERS += ("patches/record/real-images", "exponential/record/one-knob", "trained/record/crowd")
#: Of other versions than in requirements.txt; a test says so.
PACKAGES = (
    "numpy==2.3.5",
    "scipy==1.16.3",
    "matplotlib==3.10.8",
    "scikit-learn==1.7.2",
    "ipykernel==6.31.0",
    "torch==2.12.0",
)


def environment(folder: Path) -> Path:
    """A fresh environment with what Colab has. Returns its Python."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--no-user", "-q", *PACKAGES], check=True)
    return python


def installed(python: Path) -> dict[str, str]:
    """Package -> version."""
    done = subprocess.run(
        [python, "-m", "pip", "list", "--format=json"], check=True, capture_output=True, text=True
    )
    return {package["name"].lower(): package["version"] for package in json.loads(done.stdout)}


def found(notebook: nbformat.NotebookNode) -> list[tuple[str, str]]:
    """Claim and outcome of each verdict in an executed notebook, as far as they were compared with
    a ledger.
    """
    data = [
        output["data"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if MIME in output.get("data", {})
    ]
    return [
        (shown[MIME]["claim"], shown[MIME]["outcome"] + ALONE * (ALONE in shown["text/plain"]))
        for shown in data
    ]


def run(
    chapter: str, folder: Path, clone: str, kernel: str = "colab", cells: int | None = None
) -> list[str]:
    """Run a chapter (its first ``cells``) alone in a folder, restart, run it again. Returns what
    differs from the stored.
    """
    notebook = nbformat.read(ROOT / "book" / f"{chapter}.ipynb", as_version=4)
    notebook.cells = notebook.cells[:cells]
    stored = found(notebook)
    repository = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["repository"]
    for cell in notebook.cells:
        cell.source = cell.source.replace("--branch {branch} {url}".format(**repository), clone)
    folder.mkdir()
    problems = []
    for when in ("first", "after a restart"):
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs = []
        try:
            NotebookClient(
                notebook, timeout=900, kernel_name=kernel, resources={"metadata": {"path": folder}}
            ).execute()
        except CellExecutionError as error:
            problems.append(f"{chapter}, {when}: {error.ename}: {error.evalue}")
            continue
        if not stored or found(notebook) != stored:
            differing = sorted(set(found(notebook)) ^ set(stored))[:5]
            problems.append(
                f"{chapter}, {when}: {len(found(notebook))} verdicts, {len(stored)} stored; "
                f"differing: {differing}"
            )
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapters", nargs="*", default=CHAPTERS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = environment(folder / "env")
        try:
            subprocess.run(
                ["git", "clone", "-q", "--no-hardlinks", str(ROOT), str(folder / "clone")],
                check=True,
            )
        except (FileNotFoundError, subprocess.CalledProcessError):
            sys.exit(
                "this folder cannot be cloned: install git, and run this in a clone of the "
                "repository"
            )
        kernel = folder / "jupyter" / "kernels" / "colab"
        kernel.mkdir(parents=True)
        argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        bare = {
            "PYTHONPATH": "",
            "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
            "GIT_ALLOW_PROTOCOL": "file",
        }
        kernel.joinpath("kernel.json").write_text(
            json.dumps({"argv": argv, "display_name": "colab", "language": "python", "env": bare})
        )
        os.environ["JUPYTER_PATH"] = str(folder / "jupyter")
        before, after, problems = installed(python), {}, []
        for number, chapter in enumerate(arguments.chapters):
            new = run(chapter, folder / f"empty-{number}", (folder / "clone").as_uri())
            print(f"{chapter}: {'differs' if new else 'as stored, twice'}", flush=True)
            problems += new
            after = installed(python)
            # the next chapter is alone again: it finds no library, and clones
            subprocess.run(
                [python, "-m", "pip", "uninstall", "-q", "-y", "attention-theory"], check=True
            )
        problems += [
            f"{p} {v} became {after.get(p)}" for p, v in before.items() if after.get(p) != v
        ]
        print("new:", ", ".join(sorted(set(after) - set(before))))
    print("\n".join(problems), file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
