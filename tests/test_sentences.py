"""What readers quote: a number in a sentence stands in an output of its page, or of a page that the sentence links to."""

import functools
import html
import math
import re

import nbformat
import pytest
from conftest import BOOK, ROOT
from theorybook import COMPUTED, load_ledger, record_of

PARTS = ("sensitivity", "separation", "tangent", "patches", "exponential", "trained")
TOLD = [p.relative_to(BOOK).with_suffix("").as_posix() for part in PARTS for p in sorted((BOOK / part).rglob("*.md"))]
TOLD = ["intro", "found", "start", *TOLD]
#: Digits with TeX's or English thousands and a fraction; an exponent, or times a power of ten; or a power of ten alone.
NUMBER = re.compile(
    r"(?<![\w.])(?:10\^\{?(?P<alone>-?\d+)\}?|(?P<digits>\d+(?:(?:\{,\}|,)\d{3})*(?:\.\d+)?|\.\d+)"
    r"(?:e(?P<e>[+-]?\d+)|\s*(?:\\cdot|\\times|[·×])\s*10\^\{?(?P<power>-?\d+)\}?)?)"
)
#: Names that hold digits: roles, addresses, code, numbered statements.
NAMES = re.compile(
    r"\{[\w:]+\}`[^`]*`|\]\([^)]*\)|`[^`]*`|^:[\w-]+:.*$|^\([\w-]+\)="
    r"|\b(?:Theorem|Lemma|Proposition|Definition|Corollary|Table|Figure|Section|Remark|Equation|Claim|Part|Appendix)s?"
    r" [A-Z\d][\w.]*(?:(?:,| to| and|-) [A-Z\d][\w.]*)*"
    r"|\b[Ii]nequality \(\d+\)",
    flags=re.M,
)


def numbers(text):
    """(value, places after the point that are given) of every number, without its sign."""
    for found in NUMBER.finditer(text):
        digits = re.sub(r"\{,\}|,", "", found["digits"] or "1")
        power = int(found["alone"] or found["e"] or found["power"] or 0)
        yield float(f"{digits}e{power}"), len(digits.partition(".")[2]) - power


@functools.cache
def cells(page):
    """Those of a chapter and of its record, from either."""
    chapter = page.replace("/record/", "/")
    notebooks = [BOOK / f"{name}.ipynb" for name in dict.fromkeys((chapter, record_of(chapter, BOOK)))]
    found = [cell for path in notebooks if path.is_file() for cell in nbformat.read(path, as_version=4).cells]
    return [cell for cell in found if cell.cell_type == "code"]


@functools.cache
def printed(page):
    """All numbers in what the cells of a page print and draw."""
    outputs = [output for cell in cells(page) for output in cell.outputs]
    texts = [str(output.get("text", "")) for output in outputs]
    texts += [str(data) for output in outputs for kind, data in output.get("data", {}).items() if "image" not in kind]
    return {found for text in texts for found in numbers(html.unescape(re.sub(r"<(?!script)[^>]+>", " ", text)))}


@functools.cache
def set_by_hand(page):
    """The numbers in the code of a page: its settings."""
    return {value for cell in cells(page) for value, _ in numbers(re.sub(r"(?<=\d)_(?=\d)", "", cell.source))}


def stands(value, places, page):
    """As it is, or with more places that round to it."""
    return any(other == value or (more > places and math.isclose(round(other, places), value)) for other, more in printed(page))


@functools.cache
def page_of():
    """Label -> page."""
    return {
        label: path.relative_to(BOOK).with_suffix("").as_posix()
        for path in BOOK.rglob("*.md")
        for labels in re.findall(r":label: (\S+)|^\(([\w-]+)\)=", path.read_text(encoding="utf-8"), flags=re.M)
        for label in labels
        if label
    }


def captions(name):
    """What stands below the pictures of a page, and what says of each picture in words."""
    for cell in cells(name):
        told = cell.metadata.get("mystnb", {})
        yield from filter(None, (told.get("figure", {}).get("caption"), told.get("image", {}).get("alt")))


def paragraphs(name):
    """(text, pages that it leads to), without code."""
    path = BOOK / f"{name}.md"
    text = re.sub(r"\A---.*?^---$|^```\{code-cell\}.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    for block in re.split(r"\n\s*\n|\n(?=\d+\. |```|\|)", text):
        links = re.findall(r"\{prf:ref\}`(?:[^`<]*<)?([\w-]+)>?`|\]\(([^)#]+)\)|```\{finding\} (\S+)", block)
        pages = [page_of().get(label) or (page or finding).removesuffix(".ipynb") for label, page, finding in links]
        own = (path.parent / page for page in pages)
        near = [p.resolve().relative_to(BOOK).as_posix() for p in own if BOOK in p.resolve().parents]
        yield re.sub(r"^\d+\. |^```\{finding\}.*$", "", block, flags=re.M), [name, *pages, *near]


@pytest.mark.parametrize("name", TOLD)
def test_every_number_in_a_sentence_was_computed(name):
    """Of a paragraph or a caption, of two digits or more; what the page's own code sets may be named, too."""
    lost = []
    for words, pages in [*paragraphs(name), *((caption, [name]) for caption in captions(name))]:
        for value, places in numbers(NAMES.sub(" ", words)):
            digits = f"{value:g}".replace(".", "").lstrip("0")
            if len(digits) > 1 and value not in set_by_hand(name) and not any(stands(value, places, p) for p in pages):
                lost.append(f"{value:g} in {' '.join(words.split())[:100]!r}")
    assert not lost, f"in no output of {name} or of a page that the sentence links to:\n" + "\n".join(lost)


#: What names a row, an equation or a year in the words of a row.
ROW_NAMES = re.compile(r"\b[a-z]+(?:-[\w.]+)+|\(?\b[A-F]\.\d+(?:-\d)?\b|\b(?:19|20)\d\d\b")
LEDGER = {id: row for path in sorted((BOOK / "ledger").glob("*.yml")) for id, row in load_ledger(path).items()}


@functools.cache
def in_tests(part):
    """The numbers in the code of a part's tests."""
    sources = (path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests" / part).glob("*.py")))
    return {value for source in sources for value, _ in numbers(re.sub(r"(?<=\d)_(?=\d)", "", source))}


def test_every_number_in_the_words_of_a_row_was_computed():
    """In its note and scope: by its chapter, that of a row it depends on, or, where a test is named, by its part's tests."""
    lost = []
    for row in (row for row in LEDGER.values() if row.outcome in COMPUTED):
        pages = {page for page in (row.chapter, *(LEDGER[id].chapter for id in row.depends)) if page}
        words = ROW_NAMES.sub(" ", NAMES.sub(" ", f"{row.note} {row.scope}"))
        settings = set_by_hand(row.chapter) | (in_tests(row.chapter.partition("/")[0]) if "test" in words else set())
        for value, places in numbers(re.sub(r"10\^(?=\{?\d)", "", words)):
            digits = f"{value:g}".replace(".", "").lstrip("0")
            if len(digits) > 1 and value not in settings and not any(stands(value, places, page) for page in pages):
                lost.append(f"{row.id}: {value:g}")
    assert not lost, "in no output of the row's chapter:\n" + "\n".join(lost)
