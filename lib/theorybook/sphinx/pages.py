"""Changes to a page before it is written: verdicts become cards, in a record below their cells and
in its chapter next to their statements; code of checks and modules folds; the picture comes first,
and thumbnails appear next to findings.
"""

import html
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby
from typing import Any

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective
from sphinx_exercise.nodes import is_exercise_enumerable_node, is_exercise_node, is_solution_node

from theorybook import book
from theorybook.sphinx import ledger

#: A run of at least this many cards folds into one line.
LONG_RUN = 5
#: A visible cell with a verdict folds in Read if it has more lines than this.
LONGEST_READ = 12
CARD = '<details class="verdict shown'


class Tag(nodes.Element):
    """An HTML element that docutils has no name for, with its ``opening`` and ``closing`` tags as
    written.
    """


def visit_tag(self, node):
    self.body.append(node["opening"])


def depart_tag(self, node):
    self.body.append(node["closing"])


def fold(kind: str, line: str, *pieces: nodes.Node) -> None:
    """Fold neighbouring nodes behind a line that opens them."""
    parent, place = pieces[0].parent, pieces[0].parent.index(pieces[0])
    opening = f'<details class="{kind}"><summary>{line}</summary>'
    for piece in pieces:
        parent.remove(piece)
    parent.insert(place, Tag("", *pieces, opening=opening, closing="</details>\n"))


def prepare(app, doctree: nodes.document, page: str) -> None:
    """Apply all changes to one page."""
    if app.builder.format != "html":
        return
    cells = [
        node for node in doctree.findall(nodes.container) if node.get("nb_element") == "cell_code"
    ]
    link = partial(app.builder.get_relative_uri, page)
    name_solutions(doctree)
    for cell in cells:
        show_cards(cell, page, link)
        fold_checks(cell, is_record(page))
    picture_first(cells)
    if (record := record_below(page)) is not None:
        put_cards(doctree, page, record, link)
        point_to_record(doctree, app.env.get_doctree(record), record, link)
    if page.startswith("book/library/"):
        for section in list(doctree.findall(nodes.section)):
            fold_module(section)
    for thumb in list(doctree.findall(Thumb)):
        if picture := picture_of(app.env, *thumb["picture"]):
            thumb += picture
        else:
            thumb.parent.remove(thumb)


# Cells
# --------------------------------------------------------------------------------------------------


def part_of(cell: nodes.Element, kind: str) -> nodes.Element | None:
    """The code of a cell, ``source``, or its ``output``."""
    return next(
        (
            node
            for node in cell.findall(nodes.container)
            if node.get("nb_element") == f"cell_code_{kind}"
        ),
        None,
    )


def claim_of(node: nodes.Node) -> str:
    """The claim of a verdict as a notebook shows it; empty for any other node."""
    found = isinstance(node, nodes.raw) and re.match(
        r'<div class="verdict .*?<code>([^<]+)</code>', node.astext(), re.S
    )
    return html.unescape(found[1]) if found else ""


def card_of(verdict: dict[str, Any], link: ledger.Link, **options: Any) -> nodes.raw:
    card = nodes.raw("", "", format="html", **options)
    card += nodes.Text(ledger.card(verdict, link, beside=not options))
    return card


def fold_run(cards: list[nodes.Node], verdicts: list[dict[str, Any]]) -> None:
    """Fold a long run of cards behind a line that counts their outcomes."""
    if len(cards) >= LONG_RUN:
        fold("verdicts", counted(verdicts), *cards)


def counted(verdicts: Iterable[dict[str, Any]]) -> str:
    """``5 verdicts: 4 hold, 1 corrected``."""
    outcomes = [verdict["outcome"] for verdict in verdicts]
    return f"{len(outcomes)} verdict{'s' * (len(outcomes) != 1)}: {ledger.tally(outcomes)}"


def show_cards(cell: nodes.Element, page: str, link: ledger.Link) -> None:
    """Show the verdicts among the outputs of a cell as cards."""
    known = ledger.verdicts_of(page)
    for judged, run in groupby(
        list(part_of(cell, "output") or ()), lambda node: bool(claim_of(node))
    ):
        if judged:
            cards, verdicts = [], []
            for node in run:
                verdicts.append(known[claim_of(node)])
                cards.append(card_of(verdicts[-1], link, classes=node["classes"]))
                node.replace_self(cards[-1])
            fold_run(cards, verdicts)


def fold_checks(cell: nodes.Element, in_record: bool) -> None:
    """Fold the code of checks behind a line that the switch opens: in a record all hidden code,
    elsewhere that of verdicts.

    Other hidden code has a short name, which Read shows below its output (book.css).
    """
    code = part_of(cell, "source")
    if code is None:
        return
    judged = any(CARD in node.astext() for node in cell.findall(nodes.raw))
    checks = judged or in_record
    if isinstance(hidden := code.parent, HideCodeCellNode):
        whole = "tag_hide-cell" in cell["classes"]
        hidden["kind"] = ("checks whole " if whole else "checks ") if checks else ""
        if "tag_hide-input" in cell["classes"]:
            imports = re.match(r"\s*(import|from)\b", code.astext())
            hidden["chip"] = "imports" if imports else "code of the checks" if checks else "code"
    elif judged and code.astext().strip().count("\n") >= LONGEST_READ:
        fold("checks", "Code of the check", code)


def visit_hidden(self, node):
    """Open hidden code as myst-nb does, with its short name and without the label that says less
    than the line.
    """
    chip = f'<span class="chip">{node["chip"]}</span>' if "chip" in node.attributes else ""
    shown, hidden = (html.escape(node[prompt]) for prompt in ("prompt_show", "prompt_hide"))
    self.body.append(
        f'<details class="{node.get("kind", "")}admonition hide '
        f'{" ".join(node["classes"])}">\n<summary>{chip}\n'
        f'<p class="collapsed admonition-title">{shown}</p>\n<p class="expanded '
        f'admonition-title">{hidden}</p>\n</summary>\n'
    )


def depart_hidden(self, node):
    self.body.append("</details>\n")


def name_solutions(doctree: nodes.document) -> None:
    """Label the hidden cell after an exercise as its solution, and the one after a solution in
    words as its code.
    """
    name = ""
    for node in doctree.findall():
        if is_exercise_node(node) or is_exercise_enumerable_node(node):
            name = "Solution"
        elif is_solution_node(node):
            name = "Code of the solution"
        elif isinstance(node, nodes.title) and isinstance(node.parent, nodes.section):
            name = ""
        elif isinstance(node, HideCodeCellNode) and name:
            node["prompt_show"] = node["prompt_hide"] = name


# A chapter and its record
# ------------------------------------------------------------------------------------------------


def is_record(page: str) -> bool:
    return "/record/" in page


def record_below(page: str) -> str | None:
    """The record of a chapter; None for any other page."""
    record = ledger.record(page.removeprefix("book/"))
    return record if record != page and (book.root() / f"{record}.md").is_file() else None


def note_record(app, doctree: nodes.document) -> None:
    """Make a chapter, which shows what its record stores, be read again when that has changed."""
    if (record := record_below(app.env.docname)) is not None:
        app.env.note_dependency(str(book.root() / f"{record}.ipynb"))


def put_cards(doctree: nodes.document, page: str, record: str, link: ledger.Link) -> None:
    """Insert the cards of a statement's rows after its box, figure or table on a chapter's page."""
    verdicts, beside = ledger.verdicts_of(record), defaultdict(list)
    for entry in ledger.entries().values():
        if f"book/{entry.chapter}" == page and entry.id in verdicts and ledger.home(entry) == page:
            beside[entry.label].append(verdicts[entry.id])
    for node in list(doctree.findall(nodes.Element)):
        found = [verdict for label in node["ids"] for verdict in beside.get(label, ())]
        if found and not isinstance(node, nodes.section | nodes.target):
            while node.parent.get("nb_element"):  # a figure is an output of its cell
                node = node.parent
            cards = [card_of(verdict, link) for verdict in found]
            node.parent.insert(node.parent.index(node) + 1, cards)
            fold_run(cards, found)


def moved(old: nodes.document, new: nodes.document) -> Iterator[str]:
    """The anchors of a record that its chapter lacks."""
    own = {anchor for node in old.findall(nodes.Element) for anchor in node["ids"]}
    for node in new.findall(nodes.Element):
        yield from (
            anchor
            for anchor in node["ids"]
            if anchor not in own and not re.fullmatch(r"id\d+", anchor)
        )


def point_to_record(
    doctree: nodes.document, other: nodes.document, record: str, link: ledger.Link
) -> None:
    """Count the record's verdicts in the section on the record, and redirect anchors that moved
    from this page to it (book.js follows them).
    """
    section = next(node for node in doctree.findall(nodes.section) if "the-record" in node["ids"])
    verdicts = ledger.verdicts_of(record)
    shown = "".join(node.astext() for node in doctree.findall(nodes.raw))
    claims = (anchor for anchor in map(ledger.anchor, verdicts) if f'id="{anchor}"' not in shown)
    links = [
        f'<a class="moved" id="{a}" href="{link(record)}#{a}">In the record</a>'
        for a in (*moved(doctree, other), *claims)
    ]
    paragraph = next(section.findall(nodes.paragraph))
    paragraph += nodes.Text(f" It holds {counted(verdicts.values())}.")
    section += nodes.raw("", f'<div class="moved-anchors">{"".join(links)}</div>', format="html")


# Folds
# --------------------------------------------------------------------------------------------------


def fold_module(section: nodes.section) -> None:
    """Fold a module of the reference behind a line that names its contents."""
    described = [child for child in section if isinstance(child, addnodes.desc)]
    top = [
        one[0]["ids"][0]
        for one in described
        if one["objtype"] in ("function", "class", "exception")
    ]
    if top:
        line = ", ".join(f"<code>{name.rpartition('.')[2]}</code>" for name in top)
        fold("module", line, *section[section.index(described[0]) :])


# Pictures
# --------------------------------------------------------------------------------------------------


def picture_first(cells: list[nodes.Element]) -> None:
    """Open a chapter with its picture: fold the imports, and put the code of the first picture
    below it.
    """
    bare = cells and len(cells[0]) == 1 and not isinstance(cells[0][0], HideCodeCellNode)
    if bare and re.search(r"^(import|from) ", cells[0].astext(), re.M):
        fold("imports", "Imports", cells[0])
    for cell in cells:
        output = part_of(cell, "output")
        interactive_plot = output and any(
            '<figure class="movable"' in node.astext() for node in output.findall(nodes.raw)
        )
        if interactive_plot or (output and next(output.findall(nodes.image), None)):
            output.parent.remove(output)
            cell.insert(0, output)
            return


class Thumb(Tag):
    """A link that holds a thumbnail of another page's picture."""


def picture_of(env, page: str, figure: str) -> nodes.image | None:
    """A copy of a page's picture, the first one if none is named; None if there is none."""
    after = not figure
    for node in env.get_doctree(page).findall(nodes.Element):
        after = after or figure in node["ids"]
        if after and isinstance(node, nodes.image):
            return nodes.image(
                **{key: node[key] for key in ("uri", "alt", "candidates") if key in node}
            )
    return None


class Finding(SphinxDirective):
    """``{finding} <page>[#<figure>] [large]``: words next to a thumbnail, of the first picture of
    the page if none is named.
    """

    required_arguments = 1
    optional_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        page, _, figure = f"book/{self.arguments[0]}".partition("#")
        target = self.env.app.builder.get_relative_uri(self.env.docname, page) + (
            f"#{figure}" if figure else ""
        )
        thumb = Thumb(
            opening=f'<a class="thumb" href="{target}">', closing="</a>", picture=(page, figure)
        )
        words = nodes.container(classes=["finding-words"])
        self.state.nested_parse(self.content, self.content_offset, words)
        return [nodes.container("", thumb, words, classes=["finding", *self.arguments[1:]])]
