"""What is done to a page before it is written: verdicts become cards; code of checks, the record and modules fold; the picture
comes first, and small copies of pictures stand beside findings.
"""

import html
import re
from functools import partial
from itertools import groupby

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective
from sphinx_exercise.nodes import is_exercise_enumerable_node, is_exercise_node, is_solution_node

from theorybook.sphinx import ledger

#: Runs of so many cards fold into one line.
LONG_RUN = 5
#: A visible cell with a verdict that has more lines folds in Read; one with these tags does whatever its length.
LONGEST_READ = 12
FOLDED_TAGS = {"tag_further-evidence", "tag_table-of-checks"}
CARD = '<details class="verdict shown'


class Tag(nodes.Element):
    """An element of HTML that docutils has no name for; its ``opening`` and ``closing`` as they are written."""


def visit_tag(self, node):
    self.body.append(node["opening"])


def depart_tag(self, node):
    self.body.append(node["closing"])


def fold(kind: str, line: str, *pieces: nodes.Node) -> None:
    """Put neighbours behind a line that opens them."""
    parent, place = pieces[0].parent, pieces[0].parent.index(pieces[0])
    opening = f'<details class="{kind}"><summary>{line}</summary>'
    for piece in pieces:
        parent.remove(piece)
    parent.insert(place, Tag("", *pieces, opening=opening, closing="</details>\n"))


def prepare(app, doctree: nodes.document, page: str) -> None:
    """All of it, for one page."""
    if app.builder.format != "html":
        return
    cells = [node for node in doctree.findall(nodes.container) if node.get("nb_element") == "cell_code"]
    name_solutions(doctree)
    for cell in cells:
        show_cards(cell, page, partial(app.builder.get_relative_uri, page))
        fold_checks(cell)
    picture_first(cells)
    for section in list(doctree.findall(nodes.section)):
        if "the-record" in section["ids"]:
            fold_record(section)
        elif page.startswith("book/library/"):
            fold_module(section)
    for thumb in list(doctree.findall(Thumb)):
        if picture := picture_of(app.env, *thumb["picture"]):
            thumb += picture
        else:
            thumb.parent.remove(thumb)


# Cells -----------------------------------------------------------------------------------------------------------------


def part_of(cell: nodes.Element, kind: str) -> nodes.Element | None:
    """The code of a cell, ``source``, or its ``output``."""
    return next((node for node in cell.findall(nodes.container) if node.get("nb_element") == f"cell_code_{kind}"), None)


def claim_of(node: nodes.Node) -> str:
    """The claim of a verdict as a notebook shows it; empty for all else."""
    found = isinstance(node, nodes.raw) and re.match(r'<div class="verdict .*?<code>([^<]+)</code>', node.astext(), re.S)
    return html.unescape(found[1]) if found else ""


def show_cards(cell: nodes.Element, page: str, link: ledger.Link) -> None:
    """Verdicts as cards; a long run of them folds behind a line that counts their outcomes."""
    known = ledger.verdicts_of(page)
    for judged, run in groupby(list(part_of(cell, "output") or ()), lambda node: bool(claim_of(node))):
        if judged:
            shown = {nodes.raw("", "", format="html", classes=node["classes"]): (node, known[claim_of(node)]) for node in run}
            for card, (node, verdict) in shown.items():
                card += nodes.Text(ledger.card(verdict, link))
                node.replace_self(card)
            if len(shown) >= LONG_RUN:
                outcomes = ledger.tally(verdict["outcome"] for _, verdict in shown.values())
                fold("verdicts", f"{len(shown)} verdicts: {outcomes}", *shown)


def fold_checks(cell: nodes.Element) -> None:
    """The code of checks behind a line that the switch opens: of tagged cells, and of verdicts with more than twelve lines.

    Other hidden code has a short name, which stands below its output while somebody reads (book.css).
    """
    code, tagged = part_of(cell, "source"), FOLDED_TAGS & set(cell["classes"])
    if code is None:
        return
    checks = tagged or any(CARD in node.astext() for node in cell.findall(nodes.raw))
    if isinstance(hidden := code.parent, HideCodeCellNode):
        whole = "tag_hide-cell" in cell["classes"]
        hidden["kind"] = ("checks whole " if whole else "checks ") if checks else ""
        if "tag_hide-input" in cell["classes"]:
            imports = re.match(r"\s*(import|from)\b", code.astext())
            hidden["chip"] = "code of the checks" if checks else "imports" if imports else "code"
    elif tagged or (checks and code.astext().strip().count("\n") >= LONGEST_READ):
        fold("checks", "Code of the check", code)


def visit_hidden(self, node):
    """Hidden code as myst-nb shows it, with its short name, and without a label that says less than the line."""
    chip = f'<span class="chip">{node["chip"]}</span>' if "chip" in node.attributes else ""
    shown, hidden = (html.escape(node[prompt]) for prompt in ("prompt_show", "prompt_hide"))
    self.body.append(
        f'<details class="{node.get("kind", "")}admonition hide {" ".join(node["classes"])}">\n<summary>{chip}\n'
        f'<p class="collapsed admonition-title">{shown}</p>\n<p class="expanded admonition-title">{hidden}</p>\n</summary>\n'
    )


def depart_hidden(self, node):
    self.body.append("</details>\n")


def name_solutions(doctree: nodes.document) -> None:
    """The hidden cell after an exercise says that it is the solution, after a solution in words that it is its code."""
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


# Folds -----------------------------------------------------------------------------------------------------------------


def fold_record(section: nodes.section) -> None:
    """The record of a chapter, behind a line that says what is in it: who reads goes from the meaning to the exercises."""
    count = sum(node.astext().startswith(CARD) for node in section.findall(nodes.raw))
    line = "Statement by statement: what became of it, slips, further evidence"
    line += f" ({count} verdict{'s' * (count > 1)})" * bool(count)
    fold("record", line, *section[section.first_child_matching_class(nodes.title) + 1 :])


def fold_module(section: nodes.section) -> None:
    """A module of the reference behind a line that names what is in it."""
    described = [child for child in section if isinstance(child, addnodes.desc)]
    top = [one[0]["ids"][0] for one in described if one["objtype"] in ("function", "class", "exception")]
    if top:
        line = ", ".join(f"<code>{name.rpartition('.')[2]}</code>" for name in top)
        fold("module", line, *section[section.index(described[0]) :])


# Pictures --------------------------------------------------------------------------------------------------------------


def picture_first(cells: list[nodes.Element]) -> None:
    """A chapter opens with its picture: the imports fold, and the code of the first picture stands below it."""
    bare = cells and len(cells[0]) == 1 and not isinstance(cells[0][0], HideCodeCellNode)
    if bare and re.search(r"^(import|from) ", cells[0].astext(), re.M):
        fold("imports", "Imports", cells[0])
    for cell in cells:
        output = part_of(cell, "output")
        interactive_plot = output and any('<figure class="movable"' in node.astext() for node in output.findall(nodes.raw))
        if interactive_plot or (output and next(output.findall(nodes.image), None)):
            output.parent.remove(output)
            cell.insert(0, output)
            return


class Thumb(Tag):
    """A link that holds a small copy of another page's picture."""


def picture_of(env, page: str, figure: str) -> nodes.image | None:
    """A copy of a page's picture, the first one if none is named; nothing without one."""
    after = not figure
    for node in env.get_doctree(page).findall(nodes.Element):
        after = after or figure in node["ids"]
        if after and isinstance(node, nodes.image):
            return nodes.image(**{key: node[key] for key in ("uri", "alt", "candidates") if key in node})
    return None


class Finding(SphinxDirective):
    """``{finding} <page>[#<figure>] [large]``: words beside a small picture, the first one of the page if none is named."""

    required_arguments = 1
    optional_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        page, _, figure = f"book/{self.arguments[0]}".partition("#")
        target = self.env.app.builder.get_relative_uri(self.env.docname, page) + (f"#{figure}" if figure else "")
        thumb = Thumb(opening=f'<a class="thumb" href="{target}">', closing="</a>", picture=(page, figure))
        words = nodes.container(classes=["finding-words"])
        self.state.nested_parse(self.content, self.content_offset, words)
        return [nodes.container("", thumb, words, classes=["finding", *self.arguments[1:]])]
