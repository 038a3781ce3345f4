"""Pages of the ledger: totals, one row per statement, and the graph of dependencies, as HTML and SVG."""

import html
from collections import Counter, defaultdict
from collections.abc import Iterable
from graphlib import TopologicalSorter

from IPython.display import HTML

from attention_theory.evidence import COMPUTED, UNCOMPUTED, Entry, anchor
from attention_theory.figures import Table

OUTCOMES = COMPUTED + UNCOMPUTED


def totals(ledgers: dict[str, dict[str, Entry]]) -> Table:
    """Statements by outcome: a row for each outcome, a column for each paper, and the share that are the book's own."""
    counts = {paper: Counter(entry.outcome for entry in entries.values()) for paper, entries in ledgers.items()}
    counts["all"] = sum(counts.values(), Counter())
    rows = [[outcome, *(str(count[outcome]) for count in counts.values())] for outcome in OUTCOMES]
    rows.append(["total", *(str(count.total()) for count in counts.values())])
    own = [sum(entry.printed == "ours" for entry in entries.values()) for entries in ledgers.values()]
    rows.append(["of these ours", *map(str, own), str(sum(own))])
    return Table(rows, ["outcome", *counts])


def row_anchor(claim: str) -> str:
    """Anchor of a statement's row: ``deng2023/lemma-4.2-2`` -> ``deng2023-lemma-4-2-2``."""
    return anchor(claim).removeprefix("verdict-")


def _chapter_link(entry: Entry) -> str:
    if not entry.chapter:
        return ""
    name = html.escape(entry.chapter)
    if entry.outcome not in COMPUTED:
        return name
    return f'<a href="../{name}.html#{anchor(entry.id)}">{name}</a>'


def rows(entries: Iterable[Entry]) -> HTML:
    """Table of statements: name, statement, outcome, method, chapter, what the proof uses, note."""
    head = "".join(f"<th>{title}</th>" for title in ("Statement", "Outcome", "Method", "Chapter", "Uses"))
    body = []
    for entry in entries:
        uses = ", ".join(f'<a href="ledger.html#{row_anchor(use)}">{use.split("/")[1]}</a>' for use in entry.depends)
        note = f'<div class="ledger-note">{html.escape(entry.note)}</div>' if entry.note else ""
        body.append(
            f'<tr id="{row_anchor(entry.id)}"><td><strong>{html.escape(entry.printed)}</strong> '
            f"<code>{entry.id}</code><div>{html.escape(entry.statement)}</div>{note}</td>"
            f'<td><span class="outcome outcome-{entry.outcome}">{entry.outcome}</span></td>'
            f"<td>{entry.method or ''}</td><td>{_chapter_link(entry)}</td><td>{uses}</td></tr>"
        )
    table = f'<table class="ledger"><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table>'
    return HTML(f'<div class="ledger-scroll">{table}</div>')


def statement_of(claim: str) -> str:
    """The numbered statement that a claim is a part of: ``deng2023/lemma-4.2-2`` -> ``deng2023/lemma-4.2``."""
    paper, name = claim.split("/")
    kind, *rest = name.split("-")
    return f"{paper}/{name}" if kind == "own" or not rest else f"{paper}/{kind}-{rest[0]}"


def dependency_graph(entries: Iterable[Entry]) -> HTML:
    """Graph of a paper's numbered statements, parts merged: a column for each depth of proof, every node a link to its row.

    Statements that neither use nor serve another one are left out. A node's colour is the outcome of its weakest part.
    """
    parts: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        parts[statement_of(entry.id)].append(entry)
    uses = {
        name: sorted({statement_of(use) for entry in group for use in entry.depends} - {name}) for name, group in parts.items()
    }
    joined = {name for name, needed in uses.items() if needed} | {use for needed in uses.values() for use in needed}
    if not joined:
        return HTML("")
    depth: dict[str, int] = {}
    for name in TopologicalSorter({name: uses[name] for name in uses if name in joined}).static_order():
        depth[name] = 1 + max((depth[use] for use in uses[name]), default=-1)

    columns: dict[int, list[str]] = defaultdict(list)
    for name in uses:  # the paper's order keeps most edges short
        if name in joined:
            columns[depth[name]].append(name)
    width, step = 190, 22
    height = step * max(map(len, columns.values()))
    place = {
        name: (12 + width * column, step // 2 + i * height / len(names) + (height / len(names) - step) / 2)
        for column, names in columns.items()
        for i, name in enumerate(names)
    }
    weakest = ("planned", "false", "corrected", "empty", "asymptotic", "imported", "holds-in-regime", "holds")
    edges = [
        f'<path d="M{place[use][0]:.0f},{place[use][1]:.0f} C{place[use][0] + 90:.0f},{place[use][1]:.0f} '
        f'{place[name][0] - 90:.0f},{place[name][1]:.0f} {place[name][0]:.0f},{place[name][1]:.0f}"/>'
        for name in place
        for use in uses[name]
    ]
    nodes = []
    for name, (x, y) in place.items():
        group = parts[name]
        outcome = min((entry.outcome for entry in group), key=weakest.index)
        title = html.escape(f"{group[0].printed}: {group[0].statement}")
        nodes.append(
            f'<a href="#{row_anchor(group[0].id)}" class="outcome-{outcome}"><title>{title}</title>'
            f'<circle cx="{x:.0f}" cy="{y:.0f}" r="6"/><text x="{x + 10:.0f}" y="{y + 4:.0f}">{name.split("/")[1]}</text></a>'
        )
    size = f'viewBox="0 0 {width * len(columns)} {height:.0f}" width="{width * len(columns)}" height="{height:.0f}"'
    svg = f'<svg class="ledger-graph" {size} role="img" aria-label="dependencies">{"".join(edges)}{"".join(nodes)}</svg>'
    return HTML(f'<div class="ledger-scroll">{svg}</div>')
