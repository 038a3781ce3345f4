"""Strict comparison of every notebook's outputs in many environments; the number that differ, in
each.

    python tools/matrix.py [--out book/data] [--only "no SIMD"] [--jobs 2] [chapter.ipynb ...]

Rows are environments: this one, and a virtual environment each for the oldest versions that the
library claims to support, for the newest, and for every other Python from 3.11 to 3.14 that is at
hand (built in ``_build/matrix``). Columns are kernels (as compiled for this processor, or without
SIMD) and threads (one, two): all four here, the first and the last elsewhere; and here the chapters
that compute on the best device at hand run on a pretended one. Every number in the table is to be
zero. An environment that cannot be built is named and left out. ``--only`` with ``--out`` replaces
those rows of the record. Rows are recorded as they end.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "_build" / "matrix"
#: The oldest versions that lib/pyproject.toml names.
OLDEST = (
    "torch==2.9.0",
    "numpy==2.0.2",
    "scipy==1.16.3",
    "matplotlib==3.10.0",
    "scikit-learn==1.6.1",
)
NEWEST = ("torch", "numpy", "scipy", "matplotlib", "scikit-learn")
#: What comparing needs besides the library.
TOOLS = ("nbval", "ipykernel", "ipywidgets", "jupytext", "pytest", "pytest-xdist")
#: Threads that spin while they wait for one another stop a machine with more threads than cores.
TWO = {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}
VARIANTS = {
    "as compiled, 1 thread": {"OMP_NUM_THREADS": "1"},
    "as compiled, 2 threads": TWO,
    "no SIMD, 1 thread": {"OMP_NUM_THREADS": "1", "ATEN_CPU_CAPABILITY": "default"},
    "no SIMD, 2 threads": TWO | {"ATEN_CPU_CAPABILITY": "default"},
}
#: Elsewhere: both kernels and both numbers of threads, not every pair of them.
ELSEWHERE = ("as compiled, 1 thread", "no SIMD, 2 threads")
#: Whole chapters on a device that is none (see tests/devices/pretended.py).
PRETENDED = {"pretended device, by chapter": {"OMP_NUM_THREADS": "1", "DEVICES": "all"}}


def environments() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Name -> interpreter and the versions asked for; none for the environment at hand."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {"this environment": (sys.executable, ())}
    found["oldest versions"] = (getattr(sys, "_base_executable", sys.executable), OLDEST)
    found["newest versions"] = (getattr(sys, "_base_executable", sys.executable), NEWEST)
    for minor in range(11, 15):
        path = shutil.which(f"python3.{minor}")
        works = (
            path and not subprocess.run([path, "--version"], capture_output=True).returncode
        )  # pyenv's may only name one
        if works and minor != sys.version_info.minor:
            found[f"Python 3.{minor}, newest versions"] = (path, NEWEST)
    return found


def built(name: str, interpreter: str, versions: tuple[str, ...]) -> str | None:
    """The interpreter of an environment, built if it is not there; None if it cannot be."""
    if not versions:
        return interpreter
    folder = FOLDER / name.replace(" ", "-")
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        commands = (
            [interpreter, "-m", "venv", "--clear", str(folder)],
            [
                str(python),
                "-m",
                "pip",
                "install",
                "--no-user",
                "-q",
                *versions,
                *TOOLS,
                str(ROOT / "lib"),
            ],
        )
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                print(
                    f"{name} cannot be built: {done.stderr.strip().splitlines()[-1:]}",
                    file=sys.stderr,
                )
                return None
        (folder / "ready").touch()
    return str(python)


def versions_of(python: str) -> str:
    """The versions that an environment has."""
    shown = (
        "f'Python {platform.python_version()}, torch {torch.__version__}, NumPy "
        "{numpy.__version__}'"
    )
    command = [python, "-c", f"import platform, numpy, torch; print({shown})"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def differing(
    python: str, variables: dict[str, str], tests: list[str], jobs: int
) -> tuple[int, int]:
    """How many cells differ from their stored outputs, and how many were compared; on the pretended
    device chapters.
    """
    command = [
        python,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-n",
        str(jobs),
        "--dist",
        "loadscope",
        *tests,
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "lib")} | variables
    environment.pop("MPLBACKEND", None)
    lines = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True
    ).stdout.splitlines()
    print(
        *(line for line in lines if line.startswith(("FAILED", "ERROR"))),
        sep="\n",
        end="",
        flush=True,
    )
    counts = {
        kind: int(count)
        for count, kind in re.findall(r"(\d+) (passed|failed|error)", "".join(lines[-1:]))
    }
    wrong = counts.get("failed", 0) + counts.get("error", 0)
    return (wrong, wrong + counts.get("passed", 0)) if counts else (-1, 0)


def record(
    points: list[dict[str, str]], results: list[dict[str, int]], folder: str, afresh: bool
) -> None:
    """Write what there is so far; unless ``afresh``, behind the rows of the earlier record that are
    not among these.
    """
    from theorybook.records import read_record
    from theorybook.tools.recorded import write

    if Path(folder, "matrix.json").exists() and not afresh:
        earlier = read_record("matrix", folder)
        kept = [i for i, point in enumerate(earlier.points) if point not in points]
        points, results = (
            [earlier.points[i] for i in kept] + points,
            [earlier.results[i] for i in kept] + results,
        )
    write("matrix", {"oldest": list(OLDEST)}, points, results, folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapters", nargs="*", default=["book"], help="notebooks (default: all)")
    parser.add_argument(
        "--only", default="", help="a regular expression for 'environment, variant'"
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", help="folder for matrix.json, the record")
    given = parser.parse_args()
    points, results = [], []
    for name, (interpreter, versions) in environments().items():
        variants = ELSEWHERE if versions else VARIANTS | PRETENDED
        wanted = [variant for variant in variants if re.search(given.only, f"{name}, {variant}")]
        python = built(name, interpreter, versions) if wanted else None
        for variant in wanted if python else ():
            on_chapters = ["--nbval", "--nbval-current-env", *given.chapters]
            tests = (
                ["tests/devices/test_chapters.py", "-k", "same_digits"]
                if variant in PRETENDED
                else on_chapters
            )
            wrong, compared = differing(python, (VARIANTS | PRETENDED)[variant], tests, given.jobs)
            print(f"{name}, {variant}: {wrong} of {compared} cells differ", flush=True)
            points.append(
                {"environment": name, "versions": versions_of(python), "variant": variant}
            )
            results.append({"differ": wrong, "compared": compared})
            if given.out:
                record(points, results, given.out, afresh=not given.only)
    return int(any(result["differ"] for result in results))


if __name__ == "__main__":
    sys.exit(main())
