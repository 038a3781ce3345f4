"""Examples of right calls, one or a few for each public function: noted while the tests and the
chapters run.

    PYTHONPATH=tools python -m pytest -p examples tests/tangent     # notes in _build/examples/
    python tools/examples.py book                                   # notes while the chapters'
    cells run python tools/examples.py                                        # how many there are

``tools/fuzz.py`` spoils them, ``tests/devices`` sends them to another device. What is noted is the
call at the boundary (see ``theorybook.validation``): the function's name and a copy of its
arguments, at most three kinds of calls for each function.
"""

import contextlib
import io
import os
import pickle
import pkgutil
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import cloudpickle
import nbformat

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "_build" / "examples"
LARGEST = 300_000
KINDS = 3


class Example(NamedTuple):
    """A call: module, qualified name, arguments."""

    module: str
    name: str
    arguments: tuple
    keywords: dict[str, Any]

    @property
    def function(self) -> Callable:
        """The public function, method or class that was called."""
        found = pkgutil.resolve_name(f"{self.module}:{self.name.removesuffix('.__init__')}")
        return getattr(found, "__func__", found)  # of a class method, which is noted with its class

    @property
    def call(self) -> tuple[Callable, tuple]:
        """What to call, and with which positional arguments."""
        if self.name.endswith(".__init__"):
            return self.function, self.arguments[1:]
        return self.function, self.arguments


_notes: dict[tuple[str, str], dict[str, bytes]] = defaultdict(dict)


def _kind(value: Any) -> str:
    shape = getattr(value, "ndim", "")
    return f"{type(value).__name__}{shape}"


def pytest_configure(config: Any) -> None:
    """Begin to take notes."""
    from theorybook import validation

    compute = validation.Checks.computed

    def noting(self: Any, arguments: tuple, keywords: dict[str, Any]) -> Any:
        name = self.function.__module__, self.function.__qualname__
        made = arguments[1:] if name[1].endswith(".__init__") else arguments
        kind = " ".join(map(_kind, made)) + "".join(
            f" {key}:{_kind(value)}" for key, value in sorted(keywords.items())
        )
        data = b""
        ours = name[0].partition(".")[0] in validation.PACKAGES and "<locals>" not in name[1]
        if ours and kind not in _notes[name] and len(_notes[name]) < KINDS:
            with contextlib.suppress(
                Exception
            ):  # a call with something that cannot be copied is no example
                data = cloudpickle.dumps(
                    ((None, *made) if name[1].endswith(".__init__") else arguments, keywords)
                )
        result = compute(self, arguments, keywords)  # a call that raises is none either
        if 0 < len(data) <= LARGEST:
            _notes[name][kind] = data
        return result

    validation.Checks.computed = noting


def pytest_unconfigure(config: Any) -> None:
    """Write the notes of this process."""
    if _notes:
        FOLDER.mkdir(parents=True, exist_ok=True)
        (FOLDER / f"{os.getpid()}.pickle").write_bytes(pickle.dumps(dict(_notes)))


def load() -> list[Example]:
    """All examples, in the order of their names; those of functions that are gone are left out."""
    merged: dict[tuple[str, str], dict[str, bytes]] = defaultdict(dict)
    for path in sorted(FOLDER.glob("*.pickle")):
        for name, notes in pickle.loads(path.read_bytes()).items():
            merged[name] |= notes
    found = []
    for (module, name), notes in sorted(merged.items()):
        for data in [notes[kind] for kind in sorted(notes)][:KINDS]:
            try:
                arguments, keywords = pickle.loads(data)
                example = Example(module, name, arguments, keywords)
                _ = example.call
            except (ImportError, AttributeError, TypeError):
                continue
            found.append(example)
    return found


def run_chapters() -> None:
    """Run the cells of all notebooks in this process."""
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    for path in sorted((ROOT / "book").rglob("*.ipynb")):
        os.chdir(path.parent)
        namespace: dict[str, Any] = {"__name__": "__chapter__"}
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code" and "pip install" not in cell.source:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(cell.source, str(path), "exec"), namespace)
        plt.close("all")


if __name__ == "__main__":
    if sys.argv[1:] == ["book"]:
        pytest_configure(None)
        run_chapters()
        pytest_unconfigure(None)
    examples = load()
    print(
        f"{len(examples)} calls of {len({(e.module, e.name) for e in examples})} functions in "
        f"{FOLDER}"
    )
