"""Every letter of a story is in the page of notation, with the place that introduces it; every chapter begins with its own."""

import re
import string

import pytest
from conftest import ROOT
from theorybook.book import files
from theorybook.sphinx import letters

PARTS = ("sensitivity", "separation", "tangent", "patches", "exponential", "trained")
CHAPTERS = [
    path.with_suffix("").relative_to("book").as_posix()
    for path in files(ROOT)
    if path.parent.name in PARTS and path.parent.parent.name == "book"
]
GREEK = r"""alpha beta gamma delta epsilon varepsilon zeta eta theta kappa lambda mu nu xi pi rho varrho sigma tau upsilon phi
    varphi chi psi omega Gamma Delta Theta Lambda Xi Phi Psi Omega"""
#: Said once for all parts, at the top of the page: what is neither a letter of a part nor of one page.
EVERYWHERE = {*"egijklrEIOPo", *(rf"\{name}" for name in ("Omega", "Theta", "omega", "pi"))}
ALPHABET = {*string.ascii_letters, *("\\" + name for name in GREEK.split())}
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$(.+?)\$", re.S)
ROW = re.compile(r"^\| (.+?) \| .+ \| \{prf:ref\}`(.+?)` \|$", re.M)
#: A row of a chapter's own table says in which box or under which heading the letter begins.
OWN = re.compile(r"^\| (\$.+?) \| .+ \| (.+?) \|$", re.M)


def prose(text):
    return re.sub(r"```.*?```", "", re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.S), flags=re.S)


def formulas(text):
    return [display or inline for display, inline in FORMULA.findall(text)]


def told(page):
    """What a chapter says before its record, without proofs, whose letters they introduce themselves."""
    story = re.split(r"^## The record$", prose((ROOT / "book" / f"{page}.md").read_text(encoding="utf-8")), flags=re.M)[0]
    return re.sub(r"\*Proof.*?(?:\$\\square\$|□|(?=^:::|^#))", "", story, flags=re.S | re.M)


def section(name):
    page = (ROOT / "book" / "notation.md").read_text(encoding="utf-8")
    return page.partition(f"\n({name}-letters)=")[2].split("\n(")[0].split("\n## Words")[0]


def own_rows(page):
    """The rows of a chapter's own table: its symbols, and the box or heading where they begin."""
    return [(formulas(cell), place) for cell, place in OWN.findall(section(page.replace("/", "-")))]


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


def test_a_row_has_three_cells_and_a_table_its_chapter():
    page = (ROOT / "book" / "notation.md").read_text(encoding="utf-8").partition("\n## Words")[0]
    assert [line for line in page.splitlines() if line.startswith("|") and line.count("|") != 4] == []
    named = [*PARTS, *(chapter.replace("/", "-") for chapter in CHAPTERS)]
    assert sorted(re.findall(r"^\((.*)-letters\)=$", page, flags=re.M)) == sorted(named)


@pytest.mark.parametrize("part", PARTS)
def test_a_symbol_comes_from_the_box_that_is_named(part, boxes):
    symbols = listed(part)
    assert symbols
    missing = {
        tex: label
        for tex, label in symbols.items()
        if not any(letters.stands_in(tex, formula) for formula in formulas(boxes[label]))
    }
    assert not missing


@pytest.mark.parametrize("page", CHAPTERS)
def test_the_letters_of_a_page_are_those_of_its_story(page):
    told_in = formulas(told(page))
    own = [symbol for symbols, _ in own_rows(page) for symbol in symbols]
    assert sorted(own) == sorted(set(own)), "two meanings"
    used = {letter for tex in told_in for letter in letters.letters_in(tex)} & ALPHABET
    known = {letter for tex in (*listed(page.partition("/")[0]), *own) for letter in letters.letters_in(tex)}
    assert sorted(used - known - EVERYWHERE) == [], "not listed"
    assert [tex for tex in own if not any(letters.stands_in(tex, formula) for formula in told_in)] == [], "listed in vain"


@pytest.mark.parametrize("page", CHAPTERS)
def test_a_letter_of_a_page_begins_where_its_row_says(page, boxes):
    opening, *pieces = re.split(r"^##+ (.*)$", told(page), flags=re.M)
    places = {"the situation": opening, **dict(zip(pieces[::2], pieces[1::2]))}
    places |= {f"{{prf:ref}}`{label}`": box for label, box in boxes.items()}
    assert [
        (symbols, place)
        for symbols, place in own_rows(page)
        if not any(letters.stands_in(tex, formula) for tex in symbols for formula in formulas(places.get(place, "")))
    ] == []


@pytest.mark.parametrize("page", CHAPTERS)
def test_the_table_of_a_chapter_has_its_title(page):
    title = re.search(r"^# (.*)$", prose((ROOT / "book" / f"{page}.md").read_text(encoding="utf-8")), re.M)[1]
    assert re.match(r"\n### (.*)\n", section(page.replace("/", "-")))[1] == title


NOTATION = """<section id="x"><span id="tangent-letters"></span><h2>Part III</h2><table><tbody>
<tr class="row-even" id="symbol-1"><td><p><span class="math notranslate">\\(n\\)</span></p></td><td><p>points</p></td>
<td><p><a href="tangent/a.html#b">B</a></p></td></tr>
<tr class="row-odd"><td><p><span class="math notranslate">\\(\\lambda\\)</span></p></td><td><p>smallest</p></td></tr>
<tr class="row-odd"><td><p><span class="math notranslate">\\(H^*\\)</span></p></td>
<td><p>start</p></td></tr></tbody></table>
<section id="y"><span id="tangent-score-letters"></span><h3>Name</h3><table><tbody>
<tr class="row-even"><td><p><span class="math notranslate">\\(\\lambda\\)</span></p></td><td><p>eigenvalue</p></td></tr>
</tbody></table></section></section>"""


@pytest.mark.parametrize(
    "story, lines",
    [
        (["n + 1"], ["points"]),
        ([r"\nu + H"], []),
        ([r"\lambda", "n"], ["eigenvalue", "points"]),
        (["n", r"n\lambda"], ["points", "eigenvalue"]),
        (["H^*"], ["start"]),
        (
            ["H^*", '</span><div class="math" id="b">\n<span class="eqno">(1)<a title="n">#</a></span>\\[n\\]</div><span>'],
            ["start", "points"],
        ),
        (['</span><details class="verdict"><span class="math">n</span></details><span>', "H^*"], ["start"]),
        (["</span></p><p><em>Proof.</em> <span class='math'>n</span></p><section><p><span>", "H^*"], ["start"]),
        ([r"\min"], []),
    ],
)
def test_a_chapter_begins_with_the_letters_that_it_uses(story, lines):
    said = "".join(f'<span class="math notranslate">\\({formula}\\)</span>' for formula in story)
    page = f'<h1>Name</h1><article><h1>Name</h1><p>{said}</p><h2 id="the-record"></h2><span class="math">H^*</span></article>'
    known = letters.symbols(NOTATION)
    finished = letters.with_letters(page, "book/tangent/score.html", known)
    fold = letters.FOLD.search(finished)
    assert re.findall("points|smallest|eigenvalue|start", fold[0] if fold else "") == lines
    if "points" in lines:
        assert '<article><h1>Name</h1>\n<details class="letters">' in finished
        assert 'href="../tangent/a.html#b"' in finished and "symbol-1" not in finished
    assert letters.with_letters(finished, "book/tangent/score.html", known) == finished
    assert letters.with_letters(page, "book/tangent/record/score.html", known) == page
    assert letters.with_letters(page, "book/start.html", known) == page
