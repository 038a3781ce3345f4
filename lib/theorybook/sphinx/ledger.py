"""The ledger's pages: rows with filters, the graph, the errata, the book's own results; each row is
a Sphinx object.

Everything is made from the YAML files and from the verdicts stored in the notebooks, at the time of
the build, so that no page can disagree with them.
"""

import importlib
import inspect
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from docutils import nodes
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup
from sphinx.addnodes import pending_xref
from sphinx.domains import Domain, ObjType
from sphinx.roles import XRefRole
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

from theorybook import (
    COMPUTED,
    METHODS,
    OUTCOMES,
    Entry,
    anchor,
    book,
    load_ledger,
    record_of,
    stored_verdicts,
)
from theorybook.ledger import REASONS
from theorybook.sphinx.typeset import typeset
from theorybook.tools.coq import line_of

PAGE = "book/ledger/ledger"
WEAKEST = (
    "planned",
    "false",
    "missed",
    "corrected",
    "empty",
    "open",
    "asymptotic",
    "imported",
    "holds-in-regime",
    "reproduced",
    "held",
    "holds",
)
#: Outcomes after a number.
PLURAL = {
    "holds": "hold",
    "holds-in-regime": "hold in a stated range",
    "false": "fail",
    "held": "predictions held",
    "missed": "predictions missed",
}
#: Marks before a card's line, for readers who do not see its colour.
SIGNS = {
    "holds": "✓",
    "holds-in-regime": "✓",
    "reproduced": "✓",
    "corrected": "✎",
    "false": "✗",
    "empty": "∅",
    "open": "?",
    "held": "✓",
    "missed": "✗",
}
#: Number of checks that a card shows before the rest folds.
MOST_CHECKS = 3
Link = Callable[[str], str]  # document name -> its address, seen from the page at hand
PIECES = Environment(
    loader=FileSystemLoader(Path(__file__).with_name("templates")),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)


def pieces(link: Link) -> Any:
    """The macros of ``templates/pieces.html``, for one page: they use the names of this module."""
    return PIECES.get_template("pieces.html").make_module(globals() | {"link": link})


def files() -> dict[str, Path]:
    """Paper -> the file of its ledger."""
    return {paper: book.root() / "book" / "ledger" / f"{paper}.yml" for paper in book.ledgers()}


@lru_cache(maxsize=1)
def _read(changed: tuple[tuple[Path, int], ...]) -> dict[str, dict[str, Entry]]:
    return {path.stem: load_ledger(path) for path, _ in changed}


def ledgers() -> dict[str, dict[str, Entry]]:
    """Paper -> its rows, in the book's order."""
    return _read(tuple((path, path.stat().st_mtime_ns) for path in files().values()))


def entries() -> dict[str, Entry]:
    """All rows by id."""
    return {id: entry for rows in ledgers().values() for id, entry in rows.items()}


def row_anchor(claim: str) -> str:
    """Anchor of a statement's row: ``doe2026/lemma-4.2-2`` -> ``doe2026-lemma-4-2-2``."""
    return anchor(claim).removeprefix("verdict-")


def short(entry: Entry) -> str:
    """The name that a reader knows: as printed or, for an own statement, from its id."""
    return (
        entry.printed
        if entry.printed != "ours"
        else "Own: " + entry.id.split("/own-")[-1].replace("-", " ")
    )


def used_by() -> dict[str, list[str]]:
    """Row -> the rows whose proofs use it."""
    users = defaultdict(list)
    for entry in entries().values():
        for use in entry.depends:
            users[use].append(entry.id)
    return users


@lru_cache(maxsize=64)
def _stored(notebook: Path, _changed: int) -> dict[str, dict[str, Any]]:
    return {verdict["claim"]: verdict for verdict in stored_verdicts(notebook)}


def verdicts_of(page: str) -> dict[str, dict[str, Any]]:
    """Claim -> the verdict that a page's notebook stores: its outcome, checks and remark."""
    notebook = book.root() / f"{page}.ipynb"
    return _stored(notebook, notebook.stat().st_mtime_ns) if notebook.is_file() else {}


def record(chapter: str) -> str:
    """The page with a chapter's verdicts: ``book/separation/record/threshold``."""
    return f"book/{record_of(chapter, book.root() / 'book')}"


def stored(entry: Entry) -> dict[str, Any]:
    """The verdict that the record of the row's chapter stored; empty without one."""
    return verdicts_of(record(entry.chapter)).get(entry.id, {}) if entry.chapter else {}


LABEL = re.compile(r"^\(([\w-]+)\)=|^\s*:?(?:label|name):\s*([\w-]+)\s*$", re.M)


@lru_cache(maxsize=64)
def _labels(source: Path, _changed: int) -> set[str]:
    return {target or label for target, label in LABEL.findall(source.read_text(encoding="utf-8"))}


def home(entry: Entry) -> str:
    """The page that has the label of a row: its chapter, or that chapter's record."""
    source = book.root() / f"{record(entry.chapter)}.md"
    in_record = source.is_file() and entry.label in _labels(source, source.stat().st_mtime_ns)
    return record(entry.chapter) if in_record else f"book/{entry.chapter}"


# Pieces of pages
# --------------------------------------------------------------------------------------------------


def link_to(address: str, words: str | Markup) -> Markup:
    return Markup('<a href="{}">{}</a>').format(address, words)


def formula(claim: str) -> str | None:
    """The function that computes a statement as its paper prints it: its own, or that of the whole
    statement.
    """
    paper, name = claim.split("/")
    if not (home := book.ledgers()[paper].get("printed")):
        return None
    module = importlib.import_module(home)
    pieces = re.split(r"[-.]", name)
    names = ("_".join(pieces[:k]) for k in range(len(pieces), 1, -1))
    found = next((each for each in names if inspect.isfunction(getattr(module, each, None))), None)
    return found and f"{home}.{found}"


@lru_cache(maxsize=1)
def reference() -> dict[str, str]:
    """Module -> the page of the library's reference that documents it."""
    found = {}
    for page in sorted((book.root() / "book" / "library").glob("*.md")):
        modules = re.findall(r"automodule:: (\S+)", page.read_text(encoding="utf-8"))
        found |= dict.fromkeys(modules, f"book/library/{page.stem}")
    return found


def _function(code: str, words: str, link: Link) -> Markup:
    parts = code.split(".")
    module = next(
        (name for k in range(len(parts), 0, -1) if (name := ".".join(parts[:k])) in reference()), ""
    )
    return link_to(f"{link(reference()[module])}#{code}", words) if module else Markup.escape(words)


def _code(code: str, link: Link) -> Markup:
    return _function(code, Markup("<code>{}</code>").format(code), link)


def _theorem(theorem: str) -> Markup:
    """A theorem that Coq checks, linked to its statement in the repository."""
    file = theorem.partition(":")[0]
    address = "{url}/blob/{branch}/".format(**book.repository()) + f"{file}#L{line_of(theorem)}"
    return link_to(address, Markup("Coq: <code>{}</code>").format(theorem))


def _erratum(entry: Entry, link: Link) -> list[Markup]:
    wrong = entry.outcome in ("corrected", "false")
    address = f"{link('book/ledger/errata')}#erratum-{row_anchor(entry.id)}"
    return [link_to(address, "erratum")] if wrong and "book/ledger/errata" in book.pages() else []


def places(entry: Entry, link: Link, erratum: bool = True) -> list[Markup]:
    """Links to a row's verdict, box, erratum, printed formula and functions."""
    printed = formula(entry.id)
    found = []
    if entry.chapter and entry.outcome in COMPUTED:
        address = f"{link(record(entry.chapter))}#{anchor(entry.id)}"
        found.append(Markup("{} in <em>{}</em>").format(link_to(address, "verdict"), entry.chapter))
    if entry.chapter and entry.label:
        found.append(link_to(f"{link(home(entry))}#{entry.label}", "statement"))
    if erratum:
        found += _erratum(entry, link)
    if printed:
        found.append(_function(printed, "formula", link))
    if entry.code and entry.code != printed:
        found.append(_code(entry.code, link))
    if entry.proof:
        found.append(_function(entry.proof, "proof", link))
    return found + [_theorem(theorem) for theorem in entry.coq]


def reasons(entry: Entry, link: Link) -> list[Markup]:
    """One line for each hypothesis of a row, with why it is there; where it is needed, a link to
    the case without it.
    """
    found = []
    for one in entry.reasons:
        kind, reason = next((kind, one[kind]) for kind in REASONS if kind in one)
        why = typeset(reason)
        if kind == "needed":
            in_test = reason.startswith("tests/")
            file = "{url}/blob/{branch}/".format(**book.repository()) + reason.partition("::")[0]
            address = file if in_test else f"{link(record(entry.chapter))}#{anchor(entry.id)}"
            why = link_to(address, "without it the claim fails")
        lead = {
            "needed": "needed, ",
            "convenience": "for convenience: ",
            "open": "open whether it is needed: ",
        }[kind]
        found.append(Markup("<em>{}</em>: {}{}.").format(typeset(one["hypothesis"]), lead, why))
    return found


def card(verdict: dict[str, Any], link: Link, beside: bool = False) -> Markup:
    """A verdict, as a notebook stores it, with links to everything about it: below its cell, or
    next to its statement's box.
    """
    claim, entry = verdict["claim"], entries()[verdict["claim"]]
    row = f"{link(PAGE)}#{row_anchor(claim)}"
    links = [link_to(row, "ledger"), *_erratum(entry, link)]
    if users := used_by().get(claim):
        links.append(link_to(row, f"used by {len(users)}"))
    if beside:
        links.insert(
            0,
            link_to(f"{link(record(entry.chapter))}#{anchor(claim)}", "the cell that computed it"),
        )
    elif entry.label:
        links.append(link_to(f"{link(home(entry))}#{entry.label}", "statement"))
    if entry.code:
        links.append(_code(entry.code, link))
    if entry.proof:
        links.append(_function(entry.proof, "proof", link))
    links += map(_theorem, entry.coq)
    lines = [typeset(check["text"]) for check in verdict["checks"]]
    if verdict["remark"]:
        lines.append(Markup("<em>{}</em>").format(typeset(verdict["remark"])))
    lines += reasons(entry, link) if beside else []
    methods = ", ".join(sorted({check["method"] for check in verdict["checks"]}, key=METHODS.index))
    by_coq = ", checked by Coq" if entry.coq else ""
    methods = f"proof on the page{by_coq}; machine: {methods}" if entry.seen else methods
    return pieces(link).card(claim, verdict["outcome"], methods, lines, links)


def tally(outcomes: Iterable[str]) -> str:
    """``40 hold, 3 corrected``."""
    found = Counter(outcomes)
    return ", ".join(
        f"{found[one]}\N{NO-BREAK SPACE}{PLURAL.get(one, one)}" for one in OUTCOMES if found[one]
    )


# Filters and totals
# --------------------------------------------------------------------------------------------------


def _value(entry: Entry, field: str) -> str:
    """The value of a row's field as the filters use it."""
    return str(int(entry.printed == "ours")) if field == "own" else getattr(entry, field) or "none"


def choices() -> dict[str, list[str]]:
    """Filter -> the values that some row has."""
    found = {
        name: {_value(entry, name) for entry in entries().values()}
        for name in ("outcome", "method", "kind")
    }
    known = {"outcome": OUTCOMES, "method": (*METHODS, "none"), "kind": sorted(found["kind"])}
    return {"paper": list(ledgers())} | {
        name: [v for v in values if v in found[name]] for name, values in known.items()
    }


def chosen_rows(field: str, values: Iterable[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """The rows of a table of totals: name, and the chosen values."""
    yield from ((value, {field: value}) for value in values if count({field: value}))
    yield from (("all", {}), ("of these ours", {"own": "1"}))


def count(chosen: dict[str, str], paper: str = "") -> int:
    """How many rows of a paper, or of all, have the chosen values."""
    rows = (ledgers()[paper] if paper else entries()).values()
    return sum(
        all(_value(entry, field) == value for field, value in chosen.items()) for entry in rows
    )


def in_numbers() -> str:
    """The ledger in numbers, as a sentence."""
    found = Counter(entry.outcome for entry in entries().values())
    ours = count({"own": "1"})
    hold = found["holds"] + found["holds-in-regime"] + found["reproduced"]
    return (
        f"{found.total()} statements, {found.total() - ours} of the papers and {ours} our own: "
        f"{hold} hold or were reproduced "
        f"({found['holds-in-regime']} of them in a stated range), {found['corrected']} hold after "
        "a correction, "
        f"{found['false']} fail without one known here, {found['empty']} are true but speak of no "
        "size that can be run, "
        f"{found['open']} of our own are open: their checks hold and there is no proof, "
        f"{found['held']} predictions about trained models held and {found['missed']} were missed"
        f"{', {} wait for their run'.format(found['planned']) if found['planned'] else ''}, "
        f"{found['imported'] + found['asymptotic']} are quoted unchecked."
    )


# The graph
# --------------------------------------------------------------------------------------------------


def statement_of(claim: str) -> str:
    """The numbered statement to which a claim belongs: ``doe2026/lemma-4.2-2`` ->
    ``doe2026/lemma-4.2``.
    """
    paper, name = claim.split("/")
    kind, *rest = name.split("-")
    return f"{paper}/{name}" if kind == "own" or not rest else f"{paper}/{kind}-{rest[0]}"


def bands(paper: str) -> list[list[dict[str, Any]]]:
    """The numbered statements of a paper that use or are used, by depth of proof, each with its
    name and neighbours.
    """
    parts: dict[str, list[Entry]] = defaultdict(list)
    for entry in ledgers()[paper].values():
        parts[statement_of(entry.id)].append(entry)
    uses = {
        name: sorted(
            {statement_of(use) for entry in group for use in entry.depends} & set(parts) - {name}
        )
        for name, group in parts.items()
    }
    users = Counter(use for needed in uses.values() for use in needed)
    depth: dict[str, int] = {}
    for name in TopologicalSorter(uses).static_order():
        depth[name] = 1 + max((depth[use] for use in uses[name]), default=-1)
    found: list[list[dict[str, Any]]] = [[] for _ in range(1 + max(depth.values(), default=-1))]
    for name, (first, *rest) in parts.items():  # the paper's order keeps most lines short
        if uses[name] or users[name]:
            outcome = min((entry.outcome for entry in (first, *rest)), key=WEAKEST.index)
            words = short(first).removeprefix("Own: ").split(",")[0].split(" (")[0]
            node = {"name": name, "first": first.id, "words": words, "outcome": outcome}
            found[depth[name]].append(node | {"uses": uses[name], "users": users[name]})
    return found


# Errata
# --------------------------------------------------------------------------------------------------

MAIN = ("theorem", "corollary", "proposition", "assumption", "hypothesis")
SLIPS = ("definition", "equation", "figure", "table", "remark", "parametrization")


def severity(entry: Entry) -> str:
    """How much a wrong print matters: whether no correction is known, or the kind of statement."""
    if entry.outcome == "false":
        return "fails"
    return "main" if entry.kind in MAIN else "slip" if entry.kind in SLIPS else "step"


def wrong_prints(level: str) -> list[Entry]:
    """The wrong prints of one severity, the most used first."""
    found = [
        e
        for e in entries().values()
        if e.outcome in ("corrected", "false") and severity(e) == level
    ]
    return sorted(found, key=lambda entry: -len(used_by().get(entry.id, [])))


def sound(claims: Iterable[str]) -> list[str]:
    """The statements that hold."""
    return [
        claim
        for claim in claims
        if entries()[claim].outcome in ("holds", "holds-in-regime", "reproduced")
    ]


def clip(text: str, most: int = 110) -> str:
    """The first words of a text; a formula stays whole."""
    ends = [found.end() for found in re.finditer(r"(?:\$+[^$]*\$+|[^\s$])+\s*", text)]
    return (
        text
        if len(text) <= most
        else text[: max(filter(most.__ge__, ends), default=ends[0])].rstrip() + " …"
    )


# Sphinx
# --------------------------------------------------------------------------------------------------


class LedgerDirective(SphinxDirective):
    """``{ledger} <piece> [<argument>]``: a piece of HTML made from the ledger."""

    required_arguments = 1
    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        name, *argument = self.arguments
        for path in files().values():
            self.env.note_dependency(str(path))
        macros = pieces(partial(self.env.app.builder.get_relative_uri, self.env.docname))
        return [nodes.raw("", getattr(macros, name)(*argument), format="html")]


class LedgerDomain(Domain):
    """Every row as an object that the search box, ``objects.inv`` and
    ``{ledger:row}`doe2026/lemma-d.4``` can find.
    """

    name = "ledger"
    label = "Ledger"
    object_types = {"row": ObjType("statement", "row")}
    roles = {"row": XRefRole()}

    def get_objects(self) -> Iterator[tuple[str, str, str, str, str, int]]:
        for entry in entries().values():
            paper = entry.id.split("/")[0]
            yield entry.id, f"{short(entry)} ({paper})", "row", PAGE, row_anchor(entry.id), 1

    def resolve_xref(self, env, fromdocname, builder, typ, target, node: pending_xref, contnode):
        entry = entries().get(target)
        if entry is None:
            return None
        if not node.get("refexplicit"):
            contnode = nodes.inline("", short(entry))
        return make_refnode(builder, fromdocname, PAGE, row_anchor(target), contnode, target)

    def resolve_any_xref(self, env, fromdocname, builder, target, node, contnode):
        found = self.resolve_xref(env, fromdocname, builder, "row", target, node, contnode)
        return [("ledger:row", found)] if found is not None else []

    def merge_domaindata(self, docnames, otherdata):
        """Nothing to merge: the rows are read from files, not kept in the environment."""
