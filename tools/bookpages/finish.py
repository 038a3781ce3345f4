"""What is done to the built pages: verdict cards get mathematics and fold, statements appear in the ledger's folds and as
previews, pictures say their size, and what no page needs is not loaded.

It acts on text and twice gives the same: an unchanged page keeps its file from one build to the next.
"""

import html
import json
import posixpath
import re
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from attention_theory.evidence.words import plain

from .ledger import PLURAL, row_anchor, used_by
from .letters import PAGE as NOTATION
from .letters import symbols, with_letters
from .typeset import typeset

#: Runs of so many cards fold into one line; a card shows so many checks before the rest folds.
LONG_RUN, MOST_CHECKS = 5, 3

CARD = re.compile(
    r'<div class="verdict verdict-(?P<outcome>[\w-]+)" id="(?P<id>[^"]+)" style="[^"]*">'
    r"<strong>[^<]*</strong> <code>(?P<claim>[^<]+)</code> <small>(?P<small>.*?)</small>"
    r"(?P<checks>(?:<div(?: data-tex=\"[^\"]*\")?>(?:(?!</?div).)*</div>)*)</div>",
    re.S,
)
RUN = re.compile(rf'(?:<div class="output text_html">\s*{re.sub(r"[?]P<[a-z]+>", "?:", CARD.pattern)}\s*</div>\s*)+', re.S)

#: Loaded by the theme for nothing here: 1.5 MB of icons (book.css draws the few that are used), a kernel that is switched off.
UNUSED = re.compile(
    r'\s*<script(?: async="async")? src="[^"]*(?:fontawesome|sphinx-thebe)\.js[^"]*"></script>'
    r'|\s*<link [^>]*sphinx-thebe\.css[^>]*>|\s*<script>const THEBE_JS_URL.*?</script>|\s*<meta name="docsearch[^>]*>'
    r'|\s*<meta name="viewport" content="width=device-width, initial-scale=1" ?/>'  # given three times; one is 1.0
)

#: What the theme and Sphinx say to screen readers, and what is right.
ROLES = {
    '<summary aria-label="Toggle hidden content">': "<summary>",
    '<th class="head"><p></p></th>': '<td class="head"></td>',
    ' role="doc-biblioentry"': "",
    ' role="doc-backlink"': "",
    '<div role="list" class="citation-list">': '<div class="citation-list">',
    '<div id="pst-primary-sidebar" class=': '<div id="pst-primary-sidebar" role="complementary" aria-label="Book" class=',
}


def finish_pages(folder: Path, version: str, address: str, keep_previews: bool = True) -> None:
    """Finish all pages of a built book.

    Args:
        folder: the built HTML.
        version: of the book, for citations.
        address: where the book is published, for permanent addresses.
        keep_previews: write the files from which links show what they lead to.
    """
    pages = {
        path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts
    }
    before = {name: path.read_text(encoding="utf-8") for name, path in pages.items()}
    known = symbols(before[NOTATION]) if NOTATION in before else {}
    texts = {name: with_letters(finished(text, name, folder, version, address), name, known) for name, text in before.items()}
    targets = {name: dict(statements(text)) for name, text in texts.items()}
    style = folder / "_static" / "styles" / "pydata-sphinx-theme.css"
    if style.is_file():  # two thousand icons of which book.css draws the ones in use
        style.write_text(re.sub(r"(?<=})\.fa-[^{}@]*\{[^{}]*\}", "", style.read_text(encoding="utf-8")), encoding="utf-8")
    for name, text in texts.items():
        text = with_thumbs(with_boxes(text, targets), name, texts)
        if text != before[name]:
            pages[name].write_text(text, encoding="utf-8")
        if keep_previews:
            write_previews(folder, name, text, targets)


def finished(text: str, name: str, folder: Path, version: str, address: str) -> str:
    """One page with its cards, pictures and head as they should be."""
    root = "../" * name.count("/")
    text = UNUSED.sub("", text)
    text = re.sub(r"<th>\s*</th>", "<td></td>", text)  # the corner of a table is no heading
    for old, new in ROLES.items():
        text = text.replace(old, new)
    text = RUN.sub(lambda run: fold_run(run.group(), root, version, address), text)
    text = with_switch(fold_record(with_chips(fold_checks(name_solutions(text)))))
    text = re.sub(
        r'<p class="cite-this">Cite as <code>([^<]+)</code></p>',
        lambda found: cite(html.unescape(found.group(1)), version, address),
        text,
    )
    if not re.search(r'class="[^"]*\bsd-', text):
        text = re.sub(r"\s*<link [^>]*sphinx-design[^>]*>|\s*<script [^>]*design-tabs\.js[^>]*></script>", "", text)
    text = picture_first(with_room(text))
    if name.startswith("book/library/"):
        text = re.sub(
            r'(<section id="[^"]*">\s*(?:<span id="[^"]*"></span>\s*)*<h2>.*?</h2>)(.*?)(</section>)',
            fold_module,
            text,
            flags=re.S,
        )
    return re.sub(r"<img ([^>]*)>", lambda found: with_size(found, (folder / name).parent), text)


# Cards -----------------------------------------------------------------------------------------------------------------


def fold_run(run: str, root: str, version: str, address: str) -> str:
    """Cards that follow one another; a long run folds behind a line that counts their outcomes."""
    outcomes = Counter(found.group("outcome") for found in CARD.finditer(run))
    cards = CARD.sub(lambda found: card(found, root, version, address), run)
    if outcomes.total() < LONG_RUN:
        return cards
    line = ", ".join(f"{count} {PLURAL.get(outcome, outcome)}" for outcome, count in outcomes.most_common())
    return f'<details class="verdicts"><summary>{outcomes.total()} verdicts: {line}</summary>{cards}</details>'


#: In front of a card's line, for those who see no colours.
SIGNS = {"holds": "✓", "holds-in-regime": "✓", "reproduced": "✓", "corrected": "✎", "false": "✗", "empty": "∅", "open": "?"}


def card(found: re.Match, root: str, version: str, address: str) -> str:
    """A verdict as one line that opens: mathematics instead of ASCII, links to all about it, long lists of checks folded."""
    claim = html.unescape(found["claim"])
    outcome = found["outcome"]
    lines = re.findall(r'<div(?: data-tex="([^"]*)")?>(.*?)</div>', found["checks"], re.S)
    shown = [f"<div>{_line(tex, line)}</div>" for tex, line in lines]
    if len(shown) > MOST_CHECKS + 1:
        rest = len(shown) - MOST_CHECKS
        folded = f"<details><summary>{rest} more lines</summary>{''.join(shown[MOST_CHECKS:])}</details>"
        shown = [*shown[:MOST_CHECKS], folded]
    methods, *links = found["small"].split(" · ")
    links = [f'<a href="{root}{address}">{name}</a>' for name, address in about(claim, outcome)] + links
    return (
        f'<details class="verdict shown verdict-{outcome}" id="{found["id"]}"><summary><span aria-hidden="true">'
        f"{SIGNS.get(outcome, '')}</span> <strong>{outcome}</strong> <code>{found['claim']}</code> <small>{methods}</small>"
        f'</summary><p class="about">{" · ".join(links)}</p><div class="tm">{"".join(shown)}</div>'
        f"{cite(claim, version, address)}</details>"
    )


def about(claim: str, outcome: str) -> list[tuple[str, str]]:
    """What stands elsewhere about a statement: name and address of its row, its erratum, what uses it."""
    anchor, users = row_anchor(claim), used_by().get(claim, [])
    row = f"book/ledger/ledger.html#{anchor}"
    found = [("ledger", row)]
    if outcome in ("corrected", "false"):
        found.append(("erratum", f"book/ledger/errata.html#erratum-{anchor}"))
    return found + [(f"used by {len(users)}", row)] * bool(users)


def _line(tex: str, line: str) -> str:
    remark = re.fullmatch(r"<em>(.*)</em>", line, re.S)
    words = typeset(html.unescape(tex or (remark[1] if remark else line)))
    return f"<em>{words}</em>" if remark else words


def cite(claim: str, version: str, address: str) -> str:
    """What to write to cite a statement: the book, its version, the statement's permanent address; book.js adds BibTeX."""
    place, name = f"{address}/book/ledger/ledger.html#{row_anchor(claim)}", html.escape(claim)
    return (
        f'<details class="cite" data-claim="{name}" data-version="{version}"><summary>cite</summary><p class="cite-address">'
        f"The attention-theory authors, <em>Why softmax attention works</em>, version {version}, "
        f"statement {name}, <code>{place}</code></p></details>"
    )


# Read and Verify -------------------------------------------------------------------------------------------------------

#: A cell with a verdict that is no longer stays in sight in Read.
LONGEST_READ = 12
#: Cells whose code folds in Read, whatever their length.
FOLDED_TAGS = ("tag_further-evidence", "tag_table-of-checks")
SWITCH = (
    '<button class="btn btn-sm reading-switch pst-js-only" type="button" role="switch" aria-checked="false" '
    'aria-label="Verify: open all checks"><span>Read</span><span>Verify</span></button>'
)


def fold_checks(text: str) -> str:
    """The code of checks behind a line that the switch opens: of tagged cells, and of verdicts with more than twelve lines."""
    out, last = [], 0
    for found in re.finditer(CELL, text):
        cell = element(text, found.start())
        judged = 'class="verdict shown' in cell
        tagged = any(tag in found.group() for tag in FOLDED_TAGS)
        code = re.search(r'<div class="cell_input docutils container">', cell)
        if code is None or 'class="checks' in cell or not (judged or tagged):
            continue
        hidden = re.search(r'<details class="(admonition hide above-(?:input|code|output))">', cell)
        if hidden:
            whole = " whole" if "tag_hide-cell" in found.group() else ""
            new = cell.replace(hidden[1], f"checks{whole} {hidden[1]}", 1)
        else:
            source = element(cell, code.start())
            lines = re.search(r"<pre>(.*?)</pre>", source, re.S)[1].strip().count("\n") + 1
            if lines <= LONGEST_READ and not tagged:
                continue
            new = cell.replace(source, f'<details class="checks"><summary>Code of the check</summary>{source}</details>', 1)
        out += [text[last : found.start()], new]
        last = found.start() + len(cell)
    return "".join(out) + text[last:]


def fold_record(text: str) -> str:
    """The record of a chapter, behind a line that says what is in it: who reads goes from the meaning to the exercises."""
    start = text.find('<section id="the-record">')
    if start < 0 or '<details class="record"' in text:
        return text
    section = element(text, start)
    head, body = section.removesuffix("</section>").split("</h2>", 1)
    count = body.count('<details class="verdict shown')
    line = "Statement by statement: what became of it, slips, further evidence"
    line += f" ({count} verdict{'s' * (count > 1)})" * bool(count)
    folded = f'{head}</h2>\n<details class="record"><summary>{line}</summary>{body}</details></section>'
    return text.replace(section, folded, 1)


def with_chips(text: str) -> str:
    """The short name of hidden code, which stands below its output while somebody reads (book.css)."""

    def named(found: re.Match) -> str:
        code = element(text, found.start())
        first = re.search(r"<pre>(?:<span></span>)?\s*<span class=\"(\w+)\">", code)
        name = "code of the checks" if "checks" in found[2] else "imports" if first and first[1] == "kn" else "code"
        return f'{found.group()}<span class="chip">{name}</span>'

    cell = r'<div class="cell [^"]*tag_hide-input[^"]*"[^>]*>(.(?!<div class="cell ))*?'
    return re.sub(
        cell + r'<details class="([^"]*)hide above-input">\s*<summary>(?!<span class="chip")', named, text, flags=re.S
    )


def name_solutions(text: str) -> str:
    """The folded cell after an exercise says that it is the solution, after a solution in words that it is its code."""
    after = {"exercise": "Solution", "solution": "Code of the solution"}
    name = ""

    def told(found: re.Match) -> str:
        nonlocal name
        name = name if found["shown"] else after.get(found["kind"], "")
        return name if found["shown"] and name else found.group()

    marks = r'<div class="(?P<kind>exercise|solution) [^"]*"|<h[1-6][ >]|(?P<shown>(?:Show|Hide) code cell (?:content|source))'
    return re.sub(marks, told, text)


def with_switch(text: str) -> str:
    """The switch between reading and verifying, before the other buttons of a page."""
    bar = '<div class="article-header-buttons">'
    return text if SWITCH in text else text.replace(bar, bar + SWITCH, 1)


def fold_module(found: re.Match) -> str:
    """A module of the reference behind a line that names what is in it."""
    head, body, end = found.groups()
    start = body.find('<dl class="py ')
    if start < 0 or '<details class="module"' in body:
        return found.group()
    top = re.findall(r'<dl class="py (?:function|class|exception)">\s*<dt [^>]*id="attention_theory\.([\w.]+)"', body)
    listed = ", ".join(f"<code>{name.rpartition('.')[2]}</code>" for name in top)
    folded = f'<details class="module"><summary>{listed}</summary>{body[start:]}</details>'
    return head + body[:start] + folded + end


# Pictures --------------------------------------------------------------------------------------------------------------

CELL = r'<div class="cell [^"]*docutils container"[^>]*>'


def picture_first(text: str) -> str:
    """A chapter opens with its picture: the imports fold, and the code of the first picture stands below it."""
    first = re.search(CELL, text)
    if first is None or '<details class="imports">' in text:
        return text
    imports = element(text, first.start())
    if "cell_output" not in imports and "<details" not in imports and re.search(r'class="kn">(?:import|from)<', imports):
        folded = f'<details class="imports"><summary>Imports</summary>{imports}</details>'
        text = text.replace(imports, folded, 1)
    for found in re.finditer(CELL, text):
        cell = element(text, found.start())
        start = cell.find('<div class="cell_output')
        if start > 0 and re.search(r'<figure class="movable"|<img ', cell[start:]):
            inside = cell[len(found.group()) : start]
            output = element(cell, start)
            rest = cell[start + len(output) :]
            return text.replace(cell, f"{found.group()}{output}{inside}{rest}", 1)
    return text


def with_size(found: re.Match, here: Path) -> str:
    """A picture that loads when it is near, with its size, so that the page does not jump when it comes."""
    attributes = found.group(1)
    source = re.search(r'src="([^"]+\.png)"', attributes)
    if source is None or "loading=" in attributes:
        return found.group()
    path = here / unquote(source[1])
    if not path.is_file():
        return found.group()
    size = "" if "width=" in attributes else ' width="{}" height="{}"'.format(*_png_size(path))
    closing = " /" if attributes.rstrip().endswith("/") else ""
    return f'<img {attributes.rstrip().rstrip("/").rstrip()}{size} loading="lazy"{closing}>'


def _png_size(path: Path) -> tuple[int, int]:
    with path.open("rb") as file:
        return struct.unpack(">II", file.read(24)[16:])


def with_thumbs(text: str, name: str, texts: dict[str, str]) -> str:
    """Links to chapters filled with a small copy of their picture; without one, or without the page, with nothing."""

    def thumb(found: re.Match) -> str:
        page, _, figure = found[2].partition("#")
        other = texts.get(f"{page}.html", "")
        start = other.find(f'id="{figure}"') if figure else 0
        image = re.search(r'<img [^>]*src="[^"]*_images/[^>]*>', other[max(start, 0) :])
        if image is None:
            return ""
        source = re.search(r'src="([^"]+)"', image.group())[1]
        alt = re.search(r'alt="([^"]*)"', image.group())
        path = posixpath.relpath(posixpath.join(page, "..", source), posixpath.dirname(name))
        size = "".join(re.findall(r' (?:width|height)="[^"]*"', image.group()))
        return f'{found[1]}><img src="{path}" alt="{alt[1] if alt else ""}"{size} loading="lazy"></a>'

    return re.sub(r'(<a class="thumb[^>]*?) data-figure="([^"]+)"></a>', thumb, text)


# Formulas --------------------------------------------------------------------------------------------------------------

_FONT = (
    r"\\(?:mathrm|mathcal|mathbf|mathbb|text|operatorname\*?|left|right|[bB]igg?[lrm]?|boldsymbol|tfrac|hat|tilde|bar)(?![a-z])"
)
_SCRIPT = r"[_^](?:\{(?:[^{}]|\{[^{}]*\})*\}|\\[A-Za-z]+|.)"
_GLYPH = r"\\[A-Za-z]+|[^\s{}_^\\]"
#: Relations and names of functions.
_WIDE = (
    r"[=<>+]|\\(?:[lg]eq?|approx|sim|to|in|times|ll|gg|equiv|ne|mapsto|infty|pm|subset|propto|otimes"
    r"|log|exp|max|min|Pr|tanh|sin|cos|det)"
)


def em(tex: str) -> float:
    """About how wide MathJax sets an inline formula, in em: most of the book's within 0.3."""
    tex = re.sub(_FONT, "", tex.strip().removeprefix(r"\(").removesuffix(r"\)"))
    small = re.findall(_GLYPH, " ".join(re.findall(_SCRIPT, tex)))
    glyphs = re.findall(_GLYPH, re.sub(_SCRIPT, " ", tex))
    wide = sum(bool(re.fullmatch(_WIDE, glyph)) for glyph in glyphs)
    return 0.46 * len(small) + 1.5 * wide + 0.7 * (len(glyphs) - wide)


def with_room(text: str) -> str:
    """Formulas that keep the room they will take, so that the page does not jump when MathJax has set them."""

    def inline(found: re.Match) -> str:
        return f'<span class="math notranslate nohighlight" style="--w:{em(html.unescape(found[1])):.1f}em">{found[1]}</span>'

    def display(found: re.Match) -> str:
        tag, more, tex = found.groups()
        tall = bool(re.search(r"\\d?frac|\\sum|\\prod|\\Big", tex))
        height = 4.2 + 1.2 * tex.count(r"\\") + 1.5 * tall
        return f'<{tag} class="math notranslate nohighlight{more} style="--h:{height:.1f}em">{tex}</{tag}>'

    text = re.sub(r'<span class="math notranslate nohighlight">([^<]*)</span>', inline, text)
    return re.sub(
        r'<(div|span) class="math notranslate nohighlight((?: display)?"(?: id="[^"]*")?)>'
        r'((?:<span class="eqno">.*?</span>)?[^<]*)</\1>',
        display,
        text,
    )


# Boxes and previews ----------------------------------------------------------------------------------------------------


def element(text: str, start: int) -> str:
    """The element that begins at ``start``, to the tag that closes it."""
    tag = re.match(r"<(\w+)", text[start:])[1]
    depth = 0
    for found in re.finditer(rf"<(/?){tag}\b", text[start:]):
        depth += -1 if found[1] else 1
        if not depth:
            return text[start : text.index(">", start + found.start()) + 1]
    return text[start:]


STATEMENT = re.compile(
    r'<div class="proof [^"]*" id="(?P<box>[^"]+)"|<div class="math[^"]*" id="(?P<equation>equation-[^"]+)"'
    r'|<div class="citation" id="(?P<citation>[^"]+)"|<details class="ledger-row" id="(?P<row>[^"]+)"'
    r'|<dt class="sig[^"]*" id="(?P<code>attention_theory[^"]+)"'
)


def statements(text: str) -> Iterator[tuple[str, str]]:
    """Anchor -> HTML of what a link to it shows: boxes, equations, citations, rows of the ledger, functions."""
    for found in STATEMENT.finditer(text):
        piece = element(text, found.start())
        if found["row"]:
            summary = re.search(r"<summary>(.*?)</summary>", piece, re.S)[1]
            note = re.search(r'<p class="ledger-note.*?</p>', piece, re.S)
            piece = f"<div>{summary}</div>{note.group() if note else ''}"
        elif found["code"]:
            after = re.match(r"\s*<dd>\s*(<p>.*?</p>)", text[found.start() + len(piece) :], re.S)
            piece = f"<div>{re.sub(r'<a .*', '', piece, flags=re.S)}</div>{after[1] if after else ''}"
            piece = re.sub(r"</?d[td][^>]*>", "", piece)
        yield found[found.lastgroup], alone(piece)


def alone(piece: str) -> str:
    """HTML that can stand on another page: no ids, no links, no buttons."""
    piece = re.sub(r'<a class="headerlink".*?</a>', "", piece, flags=re.S)
    return re.sub(r' id="[^"]*"|</?a\b[^>]*>', "", piece)


def numbered_boxes(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Number, title and address of every box on the pages: ``("Theorem 10.3", "Cross-attention", "book/...#thm-...")``."""
    head = r'<p class="admonition-title"><span class="caption-number">([^<]+)</span>(.*?)</p>'
    box = rf'<div class="proof [^"]*" id="([^"]+)">\s*{head}'
    for path in sorted((folder / "book").rglob("*.html")):
        page = path.relative_to(folder).as_posix()
        for label, number, title in re.findall(box, path.read_text(encoding="utf-8"), re.S):
            words = re.sub(r"\\[()]", "$", html.unescape(re.sub(r"<[^>]+>", "", title))).strip()
            yield number.strip(), plain(words.removeprefix("(").removesuffix(")")), f"{page}#{label}"


def with_boxes(text: str, targets: dict[str, dict[str, str]]) -> str:
    """The ledger's folds, with the boxes of their statements from the chapters, kept in templates until they are opened."""

    def box(found: re.Match) -> str:
        page, _, label = found[1].partition("#")
        piece = targets.get(f"{page}.html", {}).get(label)
        return f'<template class="box">{piece}</template>' if piece else ""

    return re.sub(r'<div class="ledger-box" data-box="([^"]+)"[^>]*></div>', box, text)


def write_previews(folder: Path, name: str, text: str, targets: dict[str, dict[str, str]]) -> None:
    """``_static/previews/<page>.js``: what the links of a page show when they are hovered or focused."""
    shown = {}
    main = text[text.find("<article") : text.rfind("</article>")]
    for link in sorted(set(re.findall(r'<a [^>]*href="([^"]*#[^"]+)"', main))):
        page, _, label = unquote(link).partition("#")
        page = page.partition("?")[0]
        if "//" not in page:
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), page)) if page else name
            if piece := targets.get(target, {}).get(label):
                shown[link] = piece
    path = folder / "_static" / "previews" / (name.removesuffix(".html").replace("/", "-") + ".js")
    path.parent.mkdir(exist_ok=True)
    words = f"window.bookPreviews = {json.dumps(shown, ensure_ascii=False, indent=0)};\n"
    if not path.is_file() or path.read_text(encoding="utf-8") != words:
        path.write_text(words, encoding="utf-8")
