"""Every letter of a part is in the page of notation, with the box that introduces it; every chapter begins with its own."""

import re
import string
from collections import Counter

import pytest
from conftest import ROOT
from theorybook.sphinx import letters

PARTS = ("sensitivity", "separation", "tangent", "patches", "exponential")
GREEK = r"""alpha beta gamma delta epsilon varepsilon zeta eta theta kappa lambda mu nu xi pi rho varrho sigma tau upsilon phi
    varphi chi psi omega Gamma Delta Theta Lambda Xi Phi Psi Omega"""
#: Said once for all parts, at the top of the page: what is neither a letter of a part nor of one page.
EVERYWHERE = {*"egijklrEINOPo", *(rf"\{name}" for name in ("Omega", "Theta", "omega", "pi"))}
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$(.+?)\$", re.S)
ROW = re.compile(r"^\| (.+?) \| .+ \| \{prf:ref\}`(.+?)` \|$", re.M)


def prose(text):
    return re.sub(r"```.*?```", "", re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.S), flags=re.S)


def formulas(text):
    return [display or inline for display, inline in FORMULA.findall(text)]


def section(part):
    page = (ROOT / "book" / "notation.md").read_text(encoding="utf-8")
    return page.split(f"({part}-letters)=")[1].split("\n(")[0].split("## Words")[0]


def listed(part):
    """Symbol -> label of the box that introduces it."""
    return {tex: label for cell, label in ROW.findall(section(part)) for tex in formulas(cell)}


@pytest.fixture(scope="module")
def boxes():
    """Label -> text of the box."""
    found = {}
    for path in (ROOT / "book").rglob("*.md"):
        for box in re.findall(r"^:::\{prf:\w+\}.*?^:::$", path.read_text(encoding="utf-8"), re.S | re.M):
            if label := re.search(r"^:label: (\S+)", box, re.M):
                found[label[1]] = box
    return found


@pytest.mark.parametrize("part", PARTS)
def test_a_symbol_comes_from_the_box_that_is_named(part, boxes):
    symbols = listed(part)
    assert len(symbols) > 15
    missing = {
        tex: label
        for tex, label in symbols.items()
        if not any(letters.stands_in(tex, formula) for formula in formulas(boxes[label]))
    }
    assert not missing


@pytest.mark.parametrize("part", PARTS)
def test_letters_of_many_pages_are_listed(part):
    own = set(formulas(section(part).split("Different on each page")[1]))
    known = {letter for tex in listed(part) for letter in letters.letters_in(tex)} | own | EVERYWHERE
    alphabet = {"\\" + name for name in GREEK.split()} | set(string.ascii_letters)
    pages = Counter()
    for path in (ROOT / "book" / part).glob("*.md"):
        used = {letter for tex in formulas(prose(path.read_text(encoding="utf-8"))) for letter in letters.letters_in(tex)}
        pages.update(used & alphabet - known)
    assert not {letter: count for letter, count in pages.items() if count > 2}


NOTATION = """<section id="x"><span id="tangent-letters"></span><h2>Part III</h2><table><tbody>
<tr class="row-even" id="symbol-1"><td><p><span class="math notranslate">\\(n\\)</span></p></td><td><p>points</p></td>
<td><p><a href="tangent/a.html#b">B</a></p></td></tr>
<tr class="row-odd"><td><p><span class="math notranslate">\\(\\lambda\\)</span></p></td><td><p>eigenvalue</p></td></tr>
<tr class="row-odd"><td><p><span class="math notranslate">\\(H^*\\)</span></p></td>
<td><p>start</p></td></tr></tbody></table></section>"""


@pytest.mark.parametrize(
    "formula, lines",
    [("n + 1", ["points"]), (r"\nu + H", []), (r"\lambda n", ["points", "eigenvalue"]), ("H^*", ["start"]), (r"\min", [])],
)
def test_a_chapter_begins_with_the_letters_that_it_uses(formula, lines):
    page = f'<h1>Name</h1><article><h1>Name</h1><p><span class="math notranslate">\\({formula}\\)</span></p></article>'
    known = letters.symbols(NOTATION)
    finished = letters.with_letters(page, "book/tangent/score.html", known)
    fold = letters.FOLD.search(finished)
    assert re.findall("points|eigenvalue|start", fold[0] if fold else "") == lines
    if "points" in lines:
        assert '<article><h1>Name</h1>\n<details class="letters">' in finished
        assert 'href="../tangent/a.html#b"' in finished and "symbol-1" not in finished
    assert letters.with_letters(finished, "book/tangent/score.html", known) == finished
    assert letters.with_letters(page, "book/start.html", known) == page
