"""The ledger's pages: rows that filters act on, the graph, the errata, the book's own results; each row a Sphinx object.

Everything is made from the YAML files and from the verdicts stored in the notebooks, at the time of the build, so that no
page can disagree with them.
"""

import html
import importlib
import inspect
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from attention_theory.evidence import COMPUTED, METHODS, OUTCOMES, Entry, anchor, load_ledger, stored_verdicts
from attention_theory.evidence.verdicts import source_page
from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.domains import Domain, ObjType
from sphinx.roles import XRefRole
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

from .typeset import typeset

FOLDER = Path(__file__).resolve().parents[2] / "book"
PAGE = "book/ledger/ledger"
#: The ledgers in the book's order, with their names on pages.
PAPERS = {
    "bombari2024": "Part I: words",
    "deng2023": "Part II: softmax against linear",
    "cao2024": "Part III: training",
    "jelassi2022": "Part IV: space",
    "exponential": "Part V: how much of the exponential",
}
WEAKEST = ("planned", "false", "corrected", "empty", "open", "asymptotic", "imported", "holds-in-regime", "reproduced", "holds")
#: Outcomes after a number.
PLURAL = {"holds": "hold", "holds-in-regime": "hold in a stated range", "false": "fail"}
Link = Callable[[str], str]  # document name -> its address, seen from the page at hand


@lru_cache(maxsize=1)
def _read(_changed: tuple) -> dict[str, dict[str, Entry]]:
    return {paper: load_ledger(FOLDER / "ledger" / f"{paper}.yml") for paper in PAPERS if _file(paper).is_file()}


def _file(paper: str) -> Path:
    return FOLDER / "ledger" / f"{paper}.yml"


def ledgers() -> dict[str, dict[str, Entry]]:
    """Paper -> its rows, in the book's order."""
    return _read(tuple(_file(paper).stat().st_mtime_ns for paper in PAPERS if _file(paper).is_file()))


def entries() -> dict[str, Entry]:
    """All rows by id."""
    return {id: entry for rows in ledgers().values() for id, entry in rows.items()}


def row_anchor(claim: str) -> str:
    """Anchor of a statement's row, ready for an attribute: ``deng2023/lemma-4.2-2`` -> ``deng2023-lemma-4-2-2``."""
    return html.escape(anchor(claim).removeprefix("verdict-"))


def short(entry: Entry) -> str:
    """The name that a reader knows: as printed, or of an own statement what its id says."""
    return entry.printed if entry.printed != "ours" else "Own: " + entry.id.split("/own-")[-1].replace("-", " ")


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


def stored(entry: Entry) -> dict[str, Any]:
    """The verdict that the row's chapter stored: its checks and remark; empty without one."""
    notebook = FOLDER / f"{entry.chapter}.ipynb"
    return _stored(notebook, notebook.stat().st_mtime_ns).get(entry.id, {}) if notebook.is_file() else {}


# Pieces of pages -------------------------------------------------------------------------------------------------------


def badge(outcome: str) -> str:
    return f'<span class="outcome outcome-{outcome}">{outcome}</span>'


def row_link(claim: str, link: Link) -> str:
    entry = entries()[claim]
    return f'<a href="{link(PAGE)}#{row_anchor(claim)}">{html.escape(short(entry))}</a>'


def _list(claims: Iterable[str], link: Link, most: int = 12) -> str:
    """Links to all of them, many in a fold."""
    links = [row_link(claim, link) for claim in claims]
    rest = f"<details><summary>and {len(links) - most} more</summary>{', '.join(links[most:])}</details>"
    return ", ".join(links[:most]) + (f" {rest}" if len(links) > most else "")


#: Where the formulas of a paper stand as printed: the part of the library.
PARTS = {"bombari2024": "sensitivity", "deng2023": "separation", "cao2024": "tangent", "jelassi2022": "patches"}


def formula(claim: str) -> str | None:
    """The function that is a statement as its paper prints it, below ``attention_theory``; its own or that of the whole."""
    paper, name = claim.split("/")
    if paper not in PARTS:
        return None
    module = importlib.import_module(f"attention_theory.{PARTS[paper]}.paper")
    pieces = re.split(r"[-.]", name)
    names = ("_".join(pieces[:k]) for k in range(len(pieces), 1, -1))
    found = next((each for each in names if inspect.isfunction(getattr(module, each, None))), None)
    return found and f"{PARTS[paper]}.paper.{found}"


def _function(code: str, name: str, link: Link) -> str:
    document, _, place = source_page(code).removeprefix("../library/").partition(".html#")
    return f'<a href="{html.escape(link("book/library/" + document))}#{html.escape(place)}">{name}</a>'


def _places(entry: Entry, link: Link, erratum: bool = True) -> str:
    """Where a row's verdict, box, erratum, printed formula and function stand."""
    places = []
    if entry.chapter:
        page = html.escape(link(f"book/{entry.chapter}"))
        if entry.outcome in COMPUTED:
            places.append(
                f'<a href="{page}#{html.escape(anchor(entry.id))}">verdict</a> in <em>{html.escape(entry.chapter)}</em>'
            )
        if entry.label:
            places.append(f'<a href="{page}#{html.escape(entry.label)}">statement</a>')
    if erratum and entry.outcome in ("corrected", "false"):
        places.append(f'<a href="{link("book/ledger/errata")}#erratum-{row_anchor(entry.id)}">erratum</a>')
    printed = formula(entry.id)
    if printed:
        places.append(_function(printed, "formula", link))
    if entry.code and entry.code != printed:
        places.append(_function(entry.code, f"<code>{html.escape(entry.code)}</code>", link))
    return " · ".join(places)


def said(entry: Entry) -> str:
    """What a statement says: in one line, or each paragraph of its box in a line that begins with its name."""
    if not entry.hypotheses:
        return f'<span class="tm">{typeset(entry.statement)}</span>'
    lines = (f"<small>{name}</small> {typeset(text)}" for name, text in entry.paragraphs)
    return "".join(f'<span class="said tm">{line}</span>' for line in lines)


def _box(entry: Entry) -> str:
    """Where the box of a statement goes, if its words are not said already."""
    place = html.escape(f"book/{entry.chapter}#{entry.label}")
    return f'<div class="ledger-box" data-box="{place}"></div>' if entry.label and not entry.hypotheses else ""


def row(entry: Entry, link: Link) -> str:
    """One statement: a fold with its name, outcome and words; inside, its box, evidence, neighbours and address."""
    inside = [_box(entry)]
    if entry.note:
        inside.append(f'<p class="ledger-note tm">{typeset(entry.note)}</p>')
    if places := _places(entry, link):
        inside.append(f"<p>{places}</p>")
    neighbours = [f"Uses {_list(entry.depends, link)}."] if entry.depends else []
    if users := used_by().get(entry.id):
        neighbours.append(f'<span class="users">Used by {_list(users, link)}.</span>')
    if neighbours:
        graph = f'<a href="{link("book/ledger/graph")}?statement={row_anchor(statement_of(entry.id))}">In the graph</a>'
        inside.append(f"<div>{' '.join(neighbours)} {graph}</div>")
    inside.append(cite(entry.id))
    return (
        f'<details class="ledger-row" id="{row_anchor(entry.id)}" data-paper="{entry.id.split("/")[0]}" '
        f'data-outcome="{entry.outcome}" data-method="{entry.method or "none"}" data-kind="{html.escape(entry.kind)}" '
        f'data-own="{int(entry.printed == "ours")}"><summary><strong>{html.escape(short(entry))}</strong> '
        f"{badge(entry.outcome)} <small>{entry.method or ''}</small> {said(entry)}"
        f'</summary><div class="ledger-more">{"".join(inside)}</div></details>'
    )


def cite(claim: str) -> str:
    """The permanent address of a row, written by the page, which knows where it stands and in which version."""
    return f'<p class="cite-this">Cite as <code>{html.escape(claim)}</code></p>'


def summary_line(rows: Iterable[Entry]) -> str:
    """``43 statements: 40 hold, 3 corrected``."""
    count = Counter(entry.outcome for entry in rows)
    parts = [f"{count[outcome]}\N{NO-BREAK SPACE}{PLURAL.get(outcome, outcome)}" for outcome in OUTCOMES if count[outcome]]
    return f"{count.total()} statement{'s' * (count.total() != 1)}: {', '.join(parts)}"


def paper_rows(paper: str, link: Link) -> str:
    rows = ledgers()[paper].values()
    body = "".join(row(entry, link) for entry in rows)
    return (
        f'<details class="ledger-paper" id="ledger-{paper}" data-paper="{paper}">'
        f"<summary>{summary_line(rows)}</summary>{body}</details>"
    )


def filters() -> str:
    """The form above the rows; book.js reads it and writes it into the page's address."""
    everything = list(entries().values())
    choices = {
        "paper": list(ledgers()),
        "outcome": [o for o in OUTCOMES if any(e.outcome == o for e in everything)],
        "method": [m for m in (*METHODS, "none") if any((e.method or "none") == m for e in everything)],
        "kind": sorted({e.kind for e in everything}),
    }
    fields = [
        f'<label>{name}<select name="{name}"><option value="">all</option>'
        + "".join(f'<option value="{value}">{value}</option>' for value in values)
        + "</select></label>"
        for name, values in choices.items()
    ]
    return (
        '<form class="ledger-filters" role="search" aria-label="Filter the ledger">'
        '<label class="wide">text<input type="search" name="q" autocomplete="off" placeholder="Lemma D.4, own, sqrt(n), …">'
        f'</label>{"".join(fields)}<label><span>ours only</span><input type="checkbox" name="own" value="1"></label>'
        '<button type="reset">Show all</button><output aria-live="polite"></output></form>'
    )


def _table(rows: list[list[str]], headers: list[str], name: str) -> str:
    head = "".join(f'<th scope="col">{cell}</th>' for cell in headers)
    body = "".join(
        f'<tr><th scope="row">{first}</th>' + "".join(f"<td>{cell}</td>" for cell in rest) + "</tr>" for first, *rest in rows
    )
    return (
        f'<div class="scrolls"><table class="ledger-table" aria-label="{name}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _selection(link: Link, text: str, **chosen: str) -> str:
    """A number that links to the rows it counts."""
    query = "&amp;".join(f"{key}={value}" for key, value in chosen.items() if value)
    return f'<a href="{link(PAGE)}?{query}">{text}</a>' if text != "0" else "0"


def _counted(field: str, values: Iterable[str], name: str, link: Link) -> str:
    papers = ledgers()
    rows = []
    for value in values:
        counts = {paper: sum((getattr(e, field) or "none") == value for e in own.values()) for paper, own in papers.items()}
        if sum(counts.values()):
            cells = [_selection(link, str(count), paper=paper, **{field: value}) for paper, count in counts.items()]
            rows.append([value, *cells, _selection(link, str(sum(counts.values())), **{field: value})])
    rows.append(["all", *(str(len(own)) for own in papers.values()), str(len(entries()))])
    ours = [sum(e.printed == "ours" for e in own.values()) for own in papers.values()]
    rows.append(["of these ours", *(_selection(link, str(n), paper=p, own="1") for p, n in zip(papers, ours)), str(sum(ours))])
    return _table(rows, [field, *papers, "all"], name)


def totals(link: Link) -> str:
    """Rows by outcome and paper."""
    return _counted("outcome", OUTCOMES, "Statements by outcome and paper", link)


def methods(link: Link) -> str:
    """Rows by the strongest method behind their outcome."""
    return _counted("method", (*METHODS, "none"), "Statements by method and paper", link)


# The graph -------------------------------------------------------------------------------------------------------------


def statement_of(claim: str) -> str:
    """The numbered statement that a claim is a part of: ``deng2023/lemma-4.2-2`` -> ``deng2023/lemma-4.2``."""
    paper, name = claim.split("/")
    kind, *rest = name.split("-")
    return f"{paper}/{name}" if kind == "own" or not rest else f"{paper}/{kind}-{rest[0]}"


def numbered(paper: str) -> tuple[dict[str, list[Entry]], dict[str, list[str]]]:
    """Numbered statement -> its parts, and -> the statements its proof uses; those without a link are left out."""
    parts: dict[str, list[Entry]] = defaultdict(list)
    for entry in ledgers()[paper].values():
        parts[statement_of(entry.id)].append(entry)
    uses = {
        name: sorted({statement_of(use) for entry in group for use in entry.depends} & set(parts) - {name})
        for name, group in parts.items()
    }
    joined = {name for name, needed in uses.items() if needed} | {use for needed in uses.values() for use in needed}
    return {name: parts[name] for name in parts if name in joined}, {name: uses[name] for name in uses if name in joined}


def graph(paper: str, link: Link) -> str:
    """The statements of a paper in bands, what is used above what uses it; every one a link; book.js draws the lines."""
    parts, uses = numbered(paper)
    depth: dict[str, int] = {}
    for name in TopologicalSorter(uses).static_order():
        depth[name] = 1 + max((depth[use] for use in uses[name]), default=-1)
    users = {name: [other for other in uses if name in uses[other]] for name in uses}
    bands = []
    for level in range(1 + max(depth.values(), default=-1)):
        items = []
        for name in (name for name in parts if depth[name] == level):  # the paper's order keeps most lines short
            group = parts[name]
            outcome = min((entry.outcome for entry in group), key=WEAKEST.index)
            words = [outcome, f"uses {len(uses[name])}, used by {len(users[name])}"]
            items.append(
                f'<li><a class="node outcome-{outcome}" id="graph-{row_anchor(name)}" '
                f'href="{link(PAGE)}#{row_anchor(group[0].id)}" aria-description="{"; ".join(words)}" '
                f'data-uses="{" ".join("graph-" + row_anchor(use) for use in uses[name])}">'
                f"{html.escape(_node_name(name, group))}</a></li>"
            )
        bands.append(f"<li><ul>{''.join(items)}</ul></li>")
    return (
        f'<div class="graph"><svg aria-hidden="true"></svg>'
        f'<ol aria-label="Statements of {paper} by depth of proof">{"".join(bands)}</ol></div>'
    )


def _node_name(name: str, group: list[Entry]) -> str:
    printed = group[0].printed
    if printed == "ours":
        return name.split("/own-")[-1].replace("-", " ")
    return printed.split(",")[0].split(" (")[0]


# Errata and own results -------------------------------------------------------------------------------------------------


def severity(entry: Entry) -> str:
    """How much a wrong print matters, decided by what kind of statement it is and whether a correction was found."""
    if entry.outcome == "false":
        return "fails"
    return {"theorem": "main", "corollary": "main", "proposition": "main", "assumption": "main", "hypothesis": "main"}.get(
        entry.kind,
        "slip" if entry.kind in ("definition", "equation", "figure", "table", "remark", "parametrization") else "step",
    )


SEVERITIES = {
    "fails": "Printed form fails, and no correction is known here",
    "main": "Theorems and assumptions that need a correction",
    "step": "Steps of proofs: lemmas, claims and facts",
    "slip": "Definitions, equations and figures",
}


def erratum(entry: Entry, link: Link) -> str:
    """One wrong print: what is printed, the counterexample, what holds instead, who uses it."""
    verdict = stored(entry)
    checks = verdict.get("checks", [])
    parts = [(name or "Statement", f'<span class="tm">{typeset(text)}</span>') for name, text in entry.paragraphs]
    fails = [check["text"] for check in checks if not check["holds"]]
    holds = [check["text"] for check in checks if check["holds"]]
    if fails:
        parts.append(("As printed", "<br>".join(f'<span class="tm">{typeset(text)}</span>' for text in fails[:2])))
    if holds and entry.outcome == "corrected":
        parts.append(("Corrected", "<br>".join(f'<span class="tm">{typeset(text)}</span>' for text in holds[:2])))
    if entry.note or verdict.get("remark"):
        words = " ".join(filter(None, [entry.note, verdict.get("remark", "")]))
        parts.append(("What is true", f'<span class="tm">{typeset(words)}</span>'))
    users = used_by().get(entry.id, [])
    sound = [user for user in users if entries()[user].outcome in ("holds", "holds-in-regime", "reproduced")]
    if users:
        parts.append(("Survives", f"{len(sound)} of the {len(users)} statements that use it hold: {_list(users, link, 6)}"))
    listed = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in parts)
    return (
        f'<details class="erratum" id="erratum-{row_anchor(entry.id)}"><summary><strong>{html.escape(short(entry))}</strong> '
        f"{badge(entry.outcome)} <small>{entry.id.split('/')[0]}</small> "
        f'<span class="tm">{typeset(_clip(entry.note or entry.statement))}</span></summary>'
        f"<dl>{listed}</dl><p>{row_link(entry.id, link)} in the ledger · {_places(entry, link, erratum=False)}</p></details>"
    )


def _clip(text: str, most: int = 110) -> str:
    """The first words of a text; a formula stays whole."""
    ends = [found.end() for found in re.finditer(r"(?:\$+[^$]*\$+|[^\s$])+\s*", text)]
    return text if len(text) <= most else text[: max(filter(most.__ge__, ends), default=ends[0])].rstrip() + " …"


def errata(level: str, link: Link) -> str:
    """The wrong prints of one severity, the most used first."""
    found = [e for e in entries().values() if e.outcome in ("corrected", "false") and severity(e) == level]
    found.sort(key=lambda entry: -len(used_by().get(entry.id, [])))
    body = "".join(erratum(entry, link) for entry in found)
    return f'<p>{len(found)} statement{"s" * (len(found) != 1)}.</p><div class="errata">{body}</div>'


def own_results(paper: str, link: Link) -> str:
    """The book's own statements of one part, with their boxes."""
    own = [entry for entry in ledgers().get(paper, {}).values() if entry.printed == "ours"]
    return f'<div class="own-results">{"".join(_own(entry, link) for entry in own)}</div>'


def _own(entry: Entry, link: Link) -> str:
    note = f'<p class="ledger-note tm">{typeset(entry.note)}</p>' if entry.note else ""
    return (
        f'<details class="own" id="own-{row_anchor(entry.id)}"><summary><strong>{html.escape(short(entry)[5:])}</strong> '
        f"{badge(entry.outcome)} <small>{entry.method or ''}</small> {said(entry)}"
        f"</summary>{_box(entry)}{note}<p>{row_link(entry.id, link)} in the ledger · {_places(entry, link)}</p></details>"
    )


def headline() -> str:
    """The ledger in numbers, as a sentence."""
    rows = list(entries().values())
    count = Counter(entry.outcome for entry in rows)
    ours = sum(entry.printed == "ours" for entry in rows)
    hold = count["holds"] + count["holds-in-regime"] + count["reproduced"]
    return (
        f"{len(rows)} statements, {len(rows) - ours} of the papers and {ours} our own: {hold} hold or were reproduced "
        f"({count['holds-in-regime']} of them in a stated range), {count['corrected']} hold after a correction, "
        f"{count['false']} fail without one known here, {count['empty']} are true but speak of no size that can be run, "
        f"{count['open']} of our own are open: their checks hold and there is no proof, "
        f"{count['imported'] + count['asymptotic']} are quoted unchecked."
    )


# Sphinx ----------------------------------------------------------------------------------------------------------------


class LedgerDirective(SphinxDirective):
    """``{ledger} <piece> [<argument>]``: a piece of HTML made from the ledger."""

    required_arguments = 1
    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        piece, *argument = self.arguments
        for paper in PAPERS:
            if _file(paper).is_file():
                self.env.note_dependency(str(_file(paper)))

        def link(document: str) -> str:
            return self.env.app.builder.get_relative_uri(self.env.docname, document)

        pieces: dict[str, Callable[..., str]] = {
            "filters": lambda: filters(),
            "rows": lambda paper: paper_rows(paper, link),
            "totals": lambda: totals(link),
            "methods": lambda: methods(link),
            "graph": lambda paper: graph(paper, link),
            "errata": lambda level: errata(level, link),
            "own": lambda paper: own_results(paper, link),
            "headline": lambda: f"<p>{headline()}</p>",
        }
        if piece not in pieces:
            raise self.error(f"ledger: no piece {piece}; choose one of {', '.join(pieces)}")
        if argument and piece in ("rows", "graph", "own") and argument[0] not in ledgers():
            return []  # a part whose ledger is not written yet
        return [nodes.raw("", pieces[piece](*argument), format="html")]


class Finding(SphinxDirective):
    """``{finding} <page>[#<figure>] [large]``: words beside a small picture, the first one of the page if none is named."""

    required_arguments = 1
    optional_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        page, _, figure = self.arguments[0].partition("#")
        target = self.env.app.builder.get_relative_uri(self.env.docname, f"book/{page}") + (f"#{figure}" if figure else "")
        thumb = f'<a class="thumb" href="{target}" data-figure="book/{page}#{figure}"></a>'
        container = nodes.container(classes=["finding", *self.arguments[1:]])
        words = nodes.container(classes=["finding-words"])
        self.state.nested_parse(self.content, self.content_offset, words)
        container += [nodes.raw("", thumb, format="html"), words]
        return [container]


class LedgerDomain(Domain):
    """Every row is an object: the search box, ``objects.inv`` and ``{ledger:row}`deng2023/lemma-d.4``` know it."""

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
        """The rows stand in files, not in the environment."""
