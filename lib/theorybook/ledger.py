"""The ledger: what is declared about every numbered statement, one YAML file for each paper."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, get_type_hints

from beartype.door import is_bearable

from theorybook.checks import METHODS

#: Outcomes of a verdict, and those that the ledger declares without one.
COMPUTED = (
    "holds",
    "holds-in-regime",
    "corrected",
    "reproduced",
    "false",
    "empty",
    "open",
    "held",
    "missed",
)
UNCOMPUTED = ("imported", "asymptotic", "planned")
OUTCOMES = COMPUTED + UNCOMPUTED
#: Why a hypothesis is there.
REASONS = ("needed", "convenience", "open")


@dataclass(frozen=True)
class Entry:
    """One numbered statement or figure of a paper.

    Attributes:
        id: ``<citation>/<kind>-<number>[-<part>]``, or ``<citation>/own-<name>`` for a statement of
            the book's own.
        printed: its name in the paper; ``ours`` for own statements.
        kind: theorem, lemma, definition, equation, figure, ...
        statement: what it claims, in our words, with every hypothesis that is not in
            ``hypotheses``; for a figure, which printed settings and which features. TeX is between
            dollars.
        hypotheses, constants, scope: what it assumes, the numbers in the claim, and how far it
            reaches, where these are stated separately; taken from its box
            (``theorybook.tools.statements``), if it has one of its own.
        reasons: for an own statement each hypothesis with the reason why it is there: ``needed``,
            the test or the check of its verdict in which it alone is dropped and the claim fails;
            ``convenience``, what holds without it; or ``open``, what is not known.
        depends: ids that its proof uses.
        chapter: ``<part>/<slug>``, whose record has its verdict.
        label: label of its box, figure or table, on the chapter's page or in the record.
        code: the function that carries it, as a full path: ``doe_sums.means.harmonic``.
        method: what the statement rests on; a side check may have a stronger one.
        seen: for a proof on the page, which people read, the method by which the machine checked
            it; the method is ``proof``.
        coq: the theorems of the proof that Coq checks, as ``proofs/Share.v:share_contrast``; the
            method is ``proof``.
        proof: for a proof by the machine, the function that gives it, as a full path; the first
            one, if there are several.
        outcome: what its verdict must give.
        note: what else a reader should know; the reason, where there is no verdict.

    >>> from theorybook import Entry
    >>> row = dict(id="a/lemma-1", printed="Lemma 1", kind="lemma", statement="x² >= 0.")
    >>> row |= dict(depends=[], chapter="a/squares", method="proof", seen="exact", outcome="holds")
    >>> entry = Entry(**row, note="")
    >>> entry.rests_on
    'proof on the page, machine: exact'
    """

    id: str
    printed: str
    kind: str
    statement: str
    depends: list[str]
    chapter: str | None
    method: str | None
    outcome: str
    note: str
    seen: str | None = None
    proof: str | None = None
    coq: Sequence[str] = ()
    label: str | None = None
    code: str | None = None
    hypotheses: str = ""
    constants: str = ""
    scope: str = ""
    # a sequence of dictionaries; a file may hold anything, and load_ledger says so
    reasons: Any = ()

    @property
    def rests_on(self) -> str:
        """The method as pages show it; a proof on the page also says what the machine checked."""
        page = "proof on the page, checked by Coq" if self.coq else "proof on the page"
        return f"{page}, machine: {self.seen}" if self.seen else self.method or ""

    @property
    def paragraphs(self) -> list[tuple[str, str]]:
        """The statement's paragraphs for pages: name (empty for a statement in one piece) and text
        of each.
        """
        claim = "Claim" if self.hypotheses else ""
        found = [
            ("Hypotheses", self.hypotheses),
            (claim, self.statement),
            ("Constants", self.constants),
            ("Scope", self.scope),
        ]
        return [(name, text) for name, text in found if text]


def _loader() -> type:
    """YAML's safe loader, which here refuses two fields of the same name instead of keeping the
    last.
    """
    import yaml  # here, so that the mathematics imports without it

    quick: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(quick):
        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            names = Counter(key.value for key, _ in node.value if isinstance(key.value, str))
            if twice := [name for name, count in names.items() if count > 1]:
                raise yaml.YAMLError(f"line {node.start_mark.line + 1}: {twice[0]} occurs twice")
            return super().construct_mapping(node, deep)

    return Loader


def read_rows(path: Path, kind: type) -> list[dict[str, Any]]:
    """The rows of a YAML file, each with all required fields of a dataclass and no unknown ones.

    Raises:
        ValueError: not YAML, not a list of mappings, or a row with unknown or missing fields.
    """
    import yaml  # here, so that the mathematics imports without it

    try:
        rows = yaml.load(path.read_text(encoding="utf-8"), Loader=_loader())
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(
            f"{path}: not readable as YAML; correct it (a text with ': ' or ' #' in it needs "
            "quotes), or restore it with git "
            f"checkout ({reason})"
        ) from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError(f"{path}: a list of mappings is expected; restore it with git checkout")
    names = {field.name: field.default is MISSING for field in fields(kind)}
    for row in rows:
        missing = [name for name, needed in names.items() if needed and name not in row]
        unknown = [str(name) for name in row if name not in names]
        for what, wrong in (("lacks", missing), ("has unknown fields", unknown)):
            if wrong:
                raise ValueError(f"{path.name}: {row.get('id', row)} {what}: {', '.join(wrong)}")
    return rows


def _has_reasons(listed: Any) -> bool:
    kinds = [{"hypothesis", kind} for kind in REASONS]
    return isinstance(listed, list | tuple) and all(
        isinstance(one, dict) and set(one) in kinds for one in listed
    )


def load_ledger(path: str | Path) -> dict[str, Entry]:
    """Read and check ``<citation>.yml``: a list of mappings with the fields of :class:`Entry`.

    Raises:
        ValueError: not YAML, unknown or missing fields, a repeated id, an id of another paper, an
            unknown outcome or method; an outcome without a verdict and without a reason in
            ``note``; a computed one without a chapter.

    >>> import pathlib, tempfile
    >>> from theorybook import load_ledger
    >>> path = pathlib.Path(tempfile.mkdtemp(), "a.yml")
    >>> size = path.write_text("[]")
    >>> load_ledger(path)
    {}
    """
    path, hints = Path(path), get_type_hints(Entry)
    entries: dict[str, Entry] = {}
    anchors: dict[str, str] = {}
    for row in read_rows(path, Entry):
        for name, value in row.items():
            kind = "text" if hints[name] is str else hints[name]
            # YAML reads no, 1.2 and 2026-11-26 as something else; sequences have a sentence of
            # their own below
            if kind in ("text", str | None, list[str]) and not is_bearable(value, hints[name]):
                raise ValueError(
                    f"{path.name}: {row['id']}: {name} = {value!r} is not {kind}; a text may need "
                    "quotes"
                )
        entry = Entry(**row)
        problems = {
            "the id repeats": entry.id in entries,
            (
                f"its anchor {anchor(entry.id)} is that of "
                f"{anchors.setdefault(anchor(entry.id), entry.id)} too"
            ): entry.id not in (*entries, anchors[anchor(entry.id)]),
            f"the id must begin with {path.stem}/": not entry.id.startswith(path.stem + "/"),
            f"unknown outcome {entry.outcome!r}, not one of {', '.join(OUTCOMES)}": entry.outcome
            not in OUTCOMES,
            f"unknown method {entry.method!r}, not one of {', '.join(METHODS)}": entry.method
            not in METHODS
            and (entry.method or entry.outcome in COMPUTED),
            f"seen is one of {', '.join(METHODS)}, and goes with the method proof": bool(entry.seen)
            and (entry.seen not in METHODS or entry.method != "proof"),
            (
                "proof goes with the method proof, and not with seen, which is for proofs on the "
                "page"
            ): bool(entry.proof) and (entry.method != "proof" or bool(entry.seen)),
            "coq is a list of <file>:<theorem>, and goes with seen, for proofs on the page": bool(
                entry.coq
            )
            and (
                isinstance(entry.coq, str)
                or not all(name.count(":") == 1 for name in entry.coq)
                or not entry.seen
            ),
            (
                f"reasons is a list, each of a hypothesis and one of {', '.join(REASONS)}"
            ): not _has_reasons(entry.reasons),
            "a computed outcome needs a chapter": entry.outcome in COMPUTED and not entry.chapter,
            "this outcome needs a reason in note": entry.outcome in ("imported", "asymptotic")
            and not entry.note,
        }
        for problem, present in problems.items():
            if present:
                raise ValueError(f"{path.name}: {entry.id}: {problem}")
        entries[entry.id] = entry
    return entries


def record_of(chapter: str, book: Path) -> str:
    """The page that holds a chapter's verdicts: its record, ``<part>/record/<slug>``, or the
    chapter if it has none.

    >>> from pathlib import Path
    >>> from theorybook import record_of
    >>> record_of("means/sums", Path("book"))  # there is no book/means/record/sums.md
    'means/sums'
    """
    part, _, slug = chapter.rpartition("/")
    record = f"{part}/record/{slug}"
    return record if (book / f"{record}.md").is_file() else chapter


def book_folders() -> Iterator[Path]:
    """The folders that may hold ``ledger`` and ``data``: in a clone next to the notebook (Colab),
    the current folder, and those above it.
    """
    here = Path.cwd()
    clones = {toc.parent for toc in here.glob("*/_toc.yml")} | {
        ledger.parents[1] for ledger in here.glob("*/book/ledger")
    }
    yield from (clone / "book" for clone in sorted(clones))
    for folder in (here, *here.parents):
        yield folder / "book"
        yield folder


def anchor(claim: str) -> str:
    """The page anchor of a claim's verdict: ``doe2026/lemma-4.2-2`` ->
    ``verdict-doe2026-lemma-4-2-2``.

    >>> from theorybook import anchor
    >>> anchor("doe2026/lemma-4.2-2")
    'verdict-doe2026-lemma-4-2-2'
    """
    return "verdict-" + claim.replace("/", "-").replace(".", "-")


def find_ledger(claim: str) -> Path | None:
    """``ledger/<citation>.yml`` in the nearest of :func:`book_folders`; None for a notebook opened
    without the book.

    Raises:
        FileNotFoundError: the book was found (by its ``_toc.yml``), but the file is missing.

    >>> import os, pathlib, tempfile
    >>> from theorybook import find_ledger
    >>> here, ledger = os.getcwd(), pathlib.Path(tempfile.mkdtemp(), "ledger", "doe2026.yml")
    >>> ledger.parent.mkdir()
    >>> size = ledger.write_text("[]")
    >>> os.chdir(ledger.parents[1])
    >>> find_ledger("doe2026/lemma-1").name
    'doe2026.yml'
    >>> os.chdir(here)
    """
    name = claim.split("/")[0] + ".yml"
    for folder in book_folders():
        path = folder / "ledger" / name
        if path.is_file():
            return path
        if folder.name == "book" and (folder.parent / "_toc.yml").is_file():
            raise FileNotFoundError(
                f"{path} is missing, so {claim} cannot be judged; write the id as "
                "<citation>/<name>, or restore the file "
                "with git checkout"
            )
    return None
