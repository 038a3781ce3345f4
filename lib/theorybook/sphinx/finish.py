"""Changes to the built pages: pictures get their size, statements appear in the ledger's folds and
as previews, and files that no page needs are not loaded.

The changes act on text and are idempotent: an unchanged page keeps its file from one build to the
next.
"""

import html
import json
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from sphinx.util.images import get_image_size

from theorybook.plain import plain
from theorybook.sphinx.letters import PAGE as NOTATION
from theorybook.sphinx.letters import symbols, with_letters

#: Files that the theme loads without need: 1.5 MB of icons (book.css draws the few that are used),
#: a kernel that is switched off.
UNUSED = re.compile(
    r'\s*<script(?: async="async")? src="[^"]*(?:fontawesome|sphinx-thebe)\.js[^"]*"></script>'
    r"|\s*<link [^>]*sphinx-thebe\.css[^>]*>|\s*<script>const THEBE_JS_URL.*?</script>|\s*<meta "
    r'name="docsearch[^>]*>'
    # given three times; one is 1.0
    r'|\s*<meta name="viewport" content="width=device-width, initial-scale=1" ?/>'
)

#: What the theme and Sphinx tell screen readers, and the corrections.
ROLES = {
    '<th class="head"><p></p></th>': '<td class="head"></td>',
    ' role="doc-biblioentry"': "",
    ' role="doc-backlink"': "",
    '<div role="list" class="citation-list">': '<div class="citation-list">',
    ('<summary><span class="toctree-toggle"'): (
        '<summary aria-label="Pages below"><span class="toctree-toggle"'
    ),
    ('<div id="pst-primary-sidebar" class='): (
        '<div id="pst-primary-sidebar" role="complementary" aria-label="Book" class='
    ),
}


def finish_pages(folder: Path) -> None:
    """Finish all pages of a built book, and write the files with the previews that links show."""
    pages = {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*.html"))
        if "_static" not in path.parts
    }
    before = {name: path.read_text(encoding="utf-8") for name, path in pages.items()}
    known = symbols(before.get(NOTATION, ""))
    texts = {
        name: with_letters(finished(text, (folder / name).parent), name, known)
        for name, text in before.items()
    }
    targets = {name: dict(statements(text)) for name, text in texts.items()}
    style = (
        folder / "_static" / "styles" / "pydata-sphinx-theme.css"
    )  # two thousand icons; book.css draws the ones in use
    style.write_text(
        re.sub(r"(?<=})\.fa-[^{}@]*\{[^{}]*\}", "", style.read_text(encoding="utf-8")),
        encoding="utf-8",
    )
    for name, text in texts.items():
        text = with_boxes(text, targets)
        if text != before[name]:
            pages[name].write_text(text, encoding="utf-8")
        write_previews(folder, name, text, targets)


def finished(text: str, here: Path) -> str:
    """One page with its head, roles and pictures as they should be; ``here``: its folder."""
    text = UNUSED.sub("", text)
    text = re.sub(r"<th>\s*</th>", "<td></td>", text)  # the corner of a table is no heading
    for old, new in ROLES.items():
        text = text.replace(old, new)
    text = with_folded_parts(text)
    if not re.search(r'class="[^"]*\bsd-', text):
        text = re.sub(
            r"\s*<link [^>]*sphinx-design[^>]*>|\s*<script [^>]*design-tabs\.js[^>]*></script>",
            "",
            text,
        )
    return re.sub(r"<img ([^>]*)>", lambda found: with_size(found, here), with_switch(text))


PART = re.compile(
    r'<p aria-level="2" class="caption" role="heading"><span '
    r'class="caption-text">(.*?)</span></p>\s*(?=<ul class="nav)'
)


def with_folded_parts(text: str) -> str:
    """The sidebar with its parts folded, except the first and the one that the page belongs to."""
    first = found = PART.search(text)
    while found:
        pages = element(text, found.end())
        shown = " open" if found is first or "current" in pages else ""
        part = f'<details class="part"{shown}><summary class="caption">{found[1]}</summary>{pages}</details>'
        text = text[: found.start()] + part + text[found.end() + len(pages) :]
        found = PART.search(text)
    return text


SWITCH = (
    '<button class="btn btn-sm reading-switch pst-js-only" type="button" role="switch" aria-checked="false" '
    'aria-label="Verify: open all checks"><span>Read</span><span>Verify</span></button>'
)


def with_switch(text: str) -> str:
    """A page with the switch between Read and Verify before its other buttons."""
    bar = '<div class="article-header-buttons">'
    return text if SWITCH in text else text.replace(bar, bar + SWITCH, 1)


def with_size(found: re.Match, here: Path) -> str:
    """A picture that loads when it comes near, with its size, so that the page does not jump."""
    attributes = found[1].rstrip("/ ")
    source = re.search(r'src="([^"]+\.png)"', attributes)
    size = source and "loading=" not in attributes and get_image_size(here / unquote(source[1]))
    if not size:
        return found[0]
    known = "" if "width=" in attributes else ' width="{}" height="{}"'.format(*size)
    return f'<img {attributes}{known} loading="lazy">'


# Boxes and previews
# --------------------------------------------------------------------------------------------------


def element(text: str, start: int) -> str:
    """The element that begins at ``start``, up to the end of its closing tag."""
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
    r'|<dt class="sig[^"]*" id="(?P<code>[\w.]+)"'
)


def statements(text: str) -> Iterator[tuple[str, str]]:
    """Anchor -> HTML of what a link to it shows: boxes, equations, citations, rows of the ledger,
    functions.
    """
    for found in STATEMENT.finditer(text):
        piece = element(text, found.start())
        if found["row"]:
            summary = re.search(r"<summary>(.*?)</summary>", piece, re.S)[1]
            note = re.search(r'<p class="ledger-note.*?</p>', piece, re.S)
            piece = f"<div>{summary}</div>{note.group() if note else ''}"
        elif found["code"]:
            after = re.match(r"\s*<dd>\s*(<p>.*?</p>)", text[found.start() + len(piece) :], re.S)
            piece = (
                f"<div>{re.sub(r'<a .*', '', piece, flags=re.S)}</div>{after[1] if after else ''}"
            )
            piece = re.sub(r"</?d[td][^>]*>", "", piece)
        yield found[found.lastgroup], alone(piece)


def alone(piece: str) -> str:
    """HTML that can be used on another page: no ids, no links, no buttons."""
    piece = re.sub(r'<a class="headerlink".*?</a>', "", piece, flags=re.S)
    return re.sub(r' id="[^"]*"|</?a\b[^>]*>', "", piece)


def numbered_boxes(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Number, title and address of every box on the pages:
    ``("Theorem 10.3", "Two means", "book/...#thm-...")``.
    """
    head = r'<p class="admonition-title"><span class="caption-number">([^<]+)</span>(.*?)</p>'
    box = rf'<div class="proof [^"]*" id="([^"]+)">\s*{head}'
    for path in sorted((folder / "book").rglob("*.html")):
        page = path.relative_to(folder).as_posix()
        for label, number, title in re.findall(box, path.read_text(encoding="utf-8"), re.S):
            words = re.sub(r"\\[()]", "$", html.unescape(re.sub(r"<[^>]+>", "", title))).strip()
            yield (
                number.strip(),
                plain(words.removeprefix("(").removesuffix(")")),
                f"{page}#{label}",
            )


def with_boxes(text: str, targets: dict[str, dict[str, str]]) -> str:
    """The ledger's folds with the boxes of their statements from the chapters, kept in templates
    until they are opened.
    """

    def box(found: re.Match) -> str:
        page, _, label = found[1].partition("#")
        piece = targets.get(f"{page}.html", {}).get(label)
        return f'<template class="box">{piece}</template>' if piece else ""

    return re.sub(r'<div class="ledger-box" data-box="([^"]+)"[^>]*></div>', box, text)


def write_previews(folder: Path, name: str, text: str, targets: dict[str, dict[str, str]]) -> None:
    """Write ``_static/previews/<page>.js``: what a page's links show when hovered or focused."""
    shown = {}
    main = text[text.find("<article") : text.rfind("</article>")]
    for link in sorted(set(re.findall(r'<a [^>]*href="([^"]*#[^"]+)"', main))):
        page, _, label = unquote(link).partition("#")
        page = page.partition("?")[0]
        if "//" not in page:
            target = (
                posixpath.normpath(posixpath.join(posixpath.dirname(name), page)) if page else name
            )
            if piece := targets.get(target, {}).get(label):
                shown[link] = piece
    path = folder / "_static" / "previews" / (name.removesuffix(".html").replace("/", "-") + ".js")
    path.parent.mkdir(exist_ok=True)
    words = f"window.bookPreviews = {json.dumps(shown, ensure_ascii=False, indent=0)};\n"
    if not path.is_file() or path.read_text(encoding="utf-8") != words:
        path.write_text(words, encoding="utf-8")
