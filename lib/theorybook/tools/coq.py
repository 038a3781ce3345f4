"""Have Coq check the theorems that the rows of the ledger name, and say on which axioms each of
them rests.

    python -m theorybook.tools.coq

A row names a theorem as ``proofs/Share.v:share_contrast``: a file below the book's folder, compiled
here in ``_build``, and a name in it. If one rests on anything but the axioms of Coq's real numbers,
so also on something admitted, all are refused.
"""

import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from theorybook import book, load_ledger

#: The axioms of the real numbers in Coq's standard library, with the classical logic that their
#: theorems use.
REALS = {
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
}


def theorems() -> dict[str, list[str]]:
    """``<file>:<theorem>`` -> the rows that name it."""
    found = defaultdict(list)
    for path in sorted((book.root() / "book" / "ledger").glob("*.yml")):
        for entry in load_ledger(path).values():
            for theorem in entry.coq:
                found[theorem].append(entry.id)
    return found


def line_of(theorem: str) -> int:
    """The line on which a theorem is stated.

    Raises:
        ValueError: the file does not state it.
    """
    file, _, name = theorem.partition(":")
    text = (book.root() / file).read_text(encoding="utf-8")
    if not (found := re.search(rf"^ *Theorem {re.escape(name)}\b", text, flags=re.M)):
        raise ValueError(f"{file} states no Theorem {name}")
    return text.count("\n", 0, found.start()) + 1


def coqc(file: Path) -> str:
    """Compile a file, leaving the result next to it, and return what Coq prints.

    Raises:
        ValueError: Coq refuses it; the message has Coq's output.
    """
    run = subprocess.run(["coqc", "-q", file.name], cwd=file.parent, capture_output=True, text=True)
    if run.returncode:
        raise ValueError(f"{file.name}: Coq refuses it\n{run.stdout}{run.stderr}")
    return run.stdout


def axioms(folder: Path, names: Iterable[str]) -> set[str]:
    """The axioms on which theorems of files compiled in a folder rest, taken together, by one
    search through their proofs.
    """
    called = [
        f"{Path(file).stem}.{theorem}"
        for file, _, theorem in (name.partition(":") for name in names)
    ]
    lines = [
        f"Require {module}." for module in dict.fromkeys(name.partition(".")[0] for name in called)
    ]
    lines += [
        f"Definition all := ({', '.join('@' + name for name in called)}).",
        "Print Assumptions all.",
    ]
    question = folder / "all_theorems.v"
    question.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return set(re.findall(r"^([\w.']+)\s*:", coqc(question).removeprefix("Axioms:\n"), flags=re.M))


def check(folder: Path, jobs: int = 2) -> None:
    """Compile the files in a new folder and print the theorems with their rows, and the axioms of
    all.

    Raises:
        ValueError: Coq refuses a file, or a theorem rests on other axioms.
    """
    named = theorems()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    files = [
        Path(shutil.copy(book.root() / file, folder))
        for file in sorted({name.partition(":")[0] for name in named})
    ]
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(coqc, files))
    used = axioms(folder, named)
    if foreign := used - REALS:
        raise ValueError(f"the theorems rest on other axioms: {', '.join(sorted(foreign))}")
    print(*(f"{', '.join(rows)}: {theorem}" for theorem, rows in named.items()), sep="\n")
    print(
        f"Coq checked {len(named)} theorems. Their axioms are those of its real numbers: "
        f"{', '.join(sorted(used))}."
    )


if __name__ == "__main__":
    try:
        check(book.root() / "_build" / "proofs")
    except ValueError as error:
        sys.exit(str(error))
