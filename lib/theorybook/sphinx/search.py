"""The documents that the search page finds: sections, statements, boxes, functions and symbols,
each with its text.

MiniSearch (static/minisearch) searches them in the browser; they are written as a script, which
pages opened as files can load too.
"""

import inspect
import json
import pkgutil
import re
from collections.abc import Iterable, Iterator

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from theorybook import book
from theorybook.plain import plain
from theorybook.sphinx import ledger

#: A document: kind, name, other names, address, outcome, words.
Document = tuple[str, str, list[str], str, str, str]
NOTATION = "book/notation"
#: Nodes that a section's words leave out: code, and what is a document of its own.
ELSEWHERE = (nodes.literal_block, nodes.raw, nodes.image, nodes.Invisible, addnodes.desc)


def _classes(node: nodes.Node) -> list[str]:
    return node["classes"] if isinstance(node, nodes.Element) else []


def words(node: nodes.Node) -> str:
    """The text of a piece of a page: formulas readable, code and outputs left out."""
    if isinstance(node, nodes.Text):
        return node.astext()
    if isinstance(node, nodes.math | nodes.math_block):
        return plain(f"${node.astext()}$")
    named = (
        isinstance(node, addnodes.pending_xref) and node.astext() == node["reftarget"]
    )  # a number that the page has
    if named or isinstance(node, ELSEWHERE) or "cell" in _classes(node):
        return ""
    space = "" if isinstance(node, nodes.TextElement) else " "
    return re.sub(r"\s+", " ", space.join(map(words, node.children)))


def number_symbols(app: Sphinx, doctree: nodes.document) -> None:
    """Give every line of the page of notation an anchor."""
    if app.env.docname == NOTATION:
        for i, row in enumerate(doctree.findall(nodes.row)):
            row["ids"] = [f"symbol-{i}"]


def _titled(node: nodes.Node) -> bool:
    """Whether a node is a section of the page, not the inside of a box or an exercise."""
    return isinstance(node, nodes.section) and isinstance(node[0], nodes.title)


def _depth(node: nodes.Node | None) -> int:
    """Number of sections around a node, itself included: 3 for the letters of one chapter, with
    which that chapter's page begins.
    """
    return 0 if node is None else isinstance(node, nodes.section) + _depth(node.parent)


def _sections(app: Sphinx, page: str) -> Iterator[Document]:
    doctree = app.env.get_doctree(page)
    title = words(app.env.titles[page])
    for section in filter(_titled, doctree.findall(nodes.section)):
        if page == NOTATION and _depth(section) > 2:
            continue
        head, *rest = section.children
        own = " ".join(
            words(child) for child in rest if not _titled(child) and "proof" not in _classes(child)
        )
        top = section.parent is doctree
        name = words(head) if top else f"{words(head)} ({title})"
        kind = "module" if page.startswith("book/library/") else "section"
        yield (
            kind,
            name,
            [words(head)],
            app.builder.get_target_uri(page) + ("" if top else f"#{section['ids'][0]}"),
            "",
            own,
        )
    if page == NOTATION:
        for row in (row for row in doctree.findall(nodes.row) if _depth(row) < 3):
            cells = [words(cell).strip() for cell in row.children]
            name = f"{cells[0]}: {'; '.join(dict.fromkeys(filter(None, cells[1:])))}"
            yield (
                "symbol",
                name,
                cells,
                f"{app.builder.get_target_uri(page)}#{row['ids'][0]}",
                "",
                "",
            )


def _statements() -> Iterator[Document]:
    for entry in ledger.entries().values():
        paper = entry.id.split("/")[0]
        name, address = ledger.short(entry), f"{ledger.PAGE}.html#{ledger.row_anchor(entry.id)}"
        names = [entry.id, name, f"{name} {paper}", entry.id.split("/")[1]]
        lines = [
            f"{what}: {text}" if what else text
            for what, text in (*entry.paragraphs, ("", entry.note))
        ]
        yield (
            "statement",
            f"{name} ({paper})",
            names,
            address,
            entry.outcome,
            plain("\n".join(filter(None, lines))),
        )


def _functions(app: Sphinx) -> Iterator[Document]:
    order = book.pages()  # a name that two modules have is the one's whose page comes first
    objects = app.env.domaindata["py"]["objects"].items()
    for name, thing in sorted(objects, key=lambda item: order.index(item[1].docname)):
        if thing.objtype in ("function", "class", "exception", "method") and not thing.aliased:
            address = f"{app.builder.get_target_uri(thing.docname)}#{thing.node_id}"
            own = name.partition(".")[2]
            yield "function", own, [own.rpartition(".")[2]], address, "", _summary(name)


def _summary(name: str) -> str:
    """The first paragraph of a docstring."""
    return " ".join((inspect.getdoc(pkgutil.resolve_name(name)) or "").split("\n\n")[0].split())


def documents(app: Sphinx, boxes: Iterable[tuple[str, str, str]]) -> Iterator[Document]:
    """All documents that the search page can find.

    Args:
        app: Sphinx, after the build.
        boxes: number, title and address of the boxes on the pages.
    """
    outcomes: dict[str, list[str]] = {}
    for entry in ledger.entries().values():
        if entry.label:
            outcomes.setdefault(f"{ledger.home(entry)}.html#{entry.label}", []).append(
                entry.outcome
            )
    texts = {}
    for page in sorted(app.env.found_docs):
        yield from _sections(app, page)
        for box in app.env.get_doctree(page).findall(lambda node: "proof" in _classes(node)):
            texts[f"{app.builder.get_target_uri(page)}#{box['ids'][0]}"] = " ".join(
                map(words, box.children[1:])
            )
    for number, title, address in boxes:
        weakest = min(
            outcomes.get(address, [""]), key=lambda o: ledger.WEAKEST.index(o) if o else 0
        )
        yield (
            "box",
            f"{number}: {title}" if title else number,
            [number, title],
            address,
            weakest,
            texts.get(address, ""),
        )
    yield from _statements()
    yield from _functions(app)


def script(found: Iterable[Document]) -> str:
    return (
        "window.bookDocuments = "
        f"{json.dumps(list(found), ensure_ascii=False, separators=(',', ':'))};\n"
    )
