"""Pages made from the ledger, and what is done to built pages."""

import re

import pytest
from docutils import nodes
from docutils.utils import new_document
from myst_nb.sphinx_ import HideCodeCellNode
from theorybook import Entry, Verdict, compare, judge
from theorybook.book import address, root, version
from theorybook.sphinx import finish, ledger, pages, source
from theorybook.sphinx.typeset import GREEK, typeset
from theorybook.tools import coq


def link(document):
    return f"../../{document}.html"


def pieces():
    return ledger.pieces(link)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("n/delta <= n^-0.3", "<i>n</i>/<i>δ</i> ≤ <i>n</i><sup>−0.3</sup>"),
        ("relative error < 1e-10", "relative error &lt; 10<sup>−10</sup>"),
        ("2.3e-05 >= 1", "2.3 × 10<sup>−5</sup> ≥ 1"),
        ("|<f_exp, s>|", "|⟨<i>f</i><sub>exp</sub>, <i>s</i>⟩|"),
        ("max(z - tau, 0) on D1", "max(<i>z</i> − <i>τ</i>, 0) on <i>D</i><sub>1</sub>"),
        ("e^(p-2) sqrt(d)", "<i>e</i><sup><i>p</i>−2</sup> √(<i>d</i>)"),
        ("Lemma D.4, a word, e.g. two-layer d-dimensional", "Lemma D.4, a word, e.g. two-layer d-dimensional"),
        ("success_counts(5) of deng2023/lemma-d.4", "success_counts(5) of deng2023/lemma-d.4"),
        ("nu^(1/(p-1)), max_s h_j", "<i>ν</i><sup>1/(<i>p</i>−1)</sup>, max<sub><i>s</i></sub> <i>h</i><sub><i>j</i></sub>"),
        ("2f_j - 1, C_-, φ_τ", "2<i>f</i><sub><i>j</i></sub> − 1, <i>C</i><sub>−</sub>, <i>φ</i><sub>τ</sub>"),
        ("[K^-1]_last, |z|_∞", "[<i>K</i><sup>−1</sup>]<sub>last</sub>, |<i>z</i>|<sub>∞</sub>"),
        ("sum_r φ'_j Δw_r", "Σ<sub><i>r</i></sub> <i>φ'</i><sub><i>j</i></sub> Δ<i>w</i><sub><i>r</i></sub>"),
        ("√(n-1)/(1-ε) for d-dimensional", "√(<i>n</i>−1)/(1−ε) for d-dimensional"),
        ("XWXᵀ/√d, e_iᵀ", "XWXᵀ/√<i>d</i>, <i>e</i><sub><i>i</i></sub>ᵀ"),
    ],
)
def test_mathematics_in_plain_text(text, shown):
    assert typeset(text) == shown


def test_no_statement_or_note_loses_a_word_when_it_is_typeset():
    signs = re.compile(r"\b(sqrt|" + "|".join(GREEK) + r")\b")
    for entry in ledger.entries().values():
        for text in (entry.statement, entry.note):
            plain = re.sub(r"<[^>]+>", "", typeset(text))
            assert [word for word in re.findall(r"[A-Za-z]{4,}", signs.sub(" ", text)) if word not in plain] == [], entry.id


def test_a_statement_in_paragraphs_is_shown_in_lines(monkeypatch):
    told = dict(hypotheses="any $n$", constants="$c$ < 1", scope="exact", statement="it is $$x^2 > 0$$")
    entry = Entry("deng2023/own-x", "ours", "lemma", depends=[], chapter=None, method="exact", outcome="false", note="", **told)
    other = Entry("deng2023/own-y", "ours", "lemma", "it is so", [], None, "exact", "holds", "")
    rows = {one.id: one for one in (entry, other)}
    monkeypatch.setattr(ledger, "ledgers", lambda: {"deng2023": rows})
    row = pieces().row(entry)
    lines = re.findall(r'<span class="said tm"><small>(\w+)</small> (.*?)</span>(?=<span class="said|</summary>)', row)
    assert [name for name, _ in lines] == ["Hypotheses", "Claim", "Constants", "Scope"]
    assert lines[1][1] == r'it is <span class="math notranslate nohighlight display">\[x^2 &gt; 0\]</span>'
    assert re.findall(r"<dt>(\w+)</dt>", pieces().erratum(entry)) == ["Hypotheses", "Claim", "Constants", "Scope"]
    assert 'class="said tm"><small>Scope</small> exact' in pieces().own("deng2023")
    assert ledger.clip("words " * 15 + "and $a formula that is long$") == "words " * 15 + "and …"
    assert 'class="said' not in pieces().row(other) and "<small></small>" not in pieces().row(other)


def test_each_hypothesis_is_shown_with_its_reason(monkeypatch):
    reasons = [
        {"hypothesis": "$u > 0$", "needed": "tests/test_hypotheses.py::test_share_needs_positive_weights"},
        {"hypothesis": "$n$ even", "needed": "n = 3: the sum"},
        {"hypothesis": "any $c$", "convenience": "else the bound is $2c$"},
        {"hypothesis": "$d > 1$", "open": "the proof uses it"},
    ]
    entry = Entry("deng2023/own-x", "ours", "lemma", "so", [], "separation/threshold", "exact", "holds", "", reasons=reasons)
    monkeypatch.setattr(ledger, "ledgers", lambda: {"deng2023": {entry.id: entry}})
    row = pieces().row(entry)
    test, check, convenience, unknown = re.findall(r'<li class="tm">(.*?)</li>', row)
    assert "needed" in test and "/blob/main/tests/test_hypotheses.py" in test
    assert "book/separation/record/threshold" in check and "#verdict-deng2023-own-x" in check
    assert "for convenience: else the bound is" in convenience and "href" not in convenience
    assert "open whether it is needed: the proof uses it." in unknown


@pytest.mark.parametrize("paper", list(ledger.ledgers()))
def test_every_statement_is_a_row_with_its_anchor_and_every_dependency_in_the_graph(paper):
    rows, page = ledger.ledgers()[paper].values(), pieces().rows(paper)
    assert re.findall(r'class="ledger-row" id="([^"]*)"', page) == [ledger.row_anchor(row.id) for row in rows]
    pairs = {(ledger.statement_of(e.id), ledger.statement_of(d)) for e in rows for d in e.depends if d.startswith(paper)}
    named = re.findall(r'data-uses="([^"]*)"', pieces().graph(paper))
    assert sum(len(names.split()) for names in named) == len({(a, b) for a, b in pairs if a != b})
    assert pieces().own(paper).count('class="own"') == sum(row.printed == "ours" for row in rows)


def test_every_wrong_print_is_an_erratum_once():
    levels = ("fails", "main", "step", "slip")
    listed = [anchor for level in levels for anchor in re.findall(r'id="erratum-([^"]+)"', pieces().errata(level))]
    wrong = [ledger.row_anchor(e.id) for e in ledger.entries().values() if e.outcome in ("corrected", "false")]
    assert sorted(listed) == sorted(wrong)


def test_totals_and_headline_count_every_statement():
    rows = ledger.entries()
    assert f"<td>{len(rows)}</td>" in pieces().totals() and f"<td>{len(rows)}</td>" in pieces().methods()
    numbers = [int(n) for n in re.findall(r"\d+", pieces().headline())]
    assert numbers[0] == len(rows) == numbers[1] + numbers[2]
    assert numbers[0] == numbers[3] + sum(numbers[5:])


def test_every_field_of_a_row_is_escaped_where_it_becomes_html(monkeypatch):
    bad = 'x"><b>&'
    entry = Entry(f"deng2023/{bad}", "ours", bad, bad, [], bad, "exact", "corrected", bad, bad, bad)
    monkeypatch.setattr(ledger, "ledgers", lambda: {"deng2023": {entry.id: entry}})
    verdict = Verdict(bad, "holds", (compare(bad, 1, "<=", 2),), bad, bad, bad)
    card = ledger.card(verdict.data() | {"claim": entry.id}, link)
    for piece in (pieces().row(entry), pieces().erratum(entry), pieces().own("deng2023"), card, verdict._repr_html_()):
        assert "<b>" not in piece and 'x">' not in piece


# Cards and folds --------------------------------------------------------------------------------------------------------


def card(claim, *checks, **remark):
    return ledger.card(judge(claim, printed=checks or compare("x", 3, "<=", 2), **remark).data(), link)


def test_a_card_has_mathematics_and_leads_to_all_about_its_statement():
    shown = card("deng2023/lemma-3.1", compare(r"n^0, $\sqrt{d} < 1$", 3, "<=", 2), remark="for tau < 1")
    assert r"<i>n</i><sup>0</sup>, " in shown and r">\(\sqrt{d} &lt; 1\)</span>: 3 fails ≤ 2" in shown
    assert "<em>for <i>τ</i> &lt; 1</em>" in shown
    row, users = "../../book/ledger/ledger.html#deng2023-lemma-3-1", len(ledger.used_by()["deng2023/lemma-3.1"])
    assert f'<a href="{row}">ledger</a>' in shown and f'<a href="{row}">used by {users}</a>' in shown and users > 25
    assert "errata.html" not in shown
    assert '"../../book/ledger/errata.html#erratum-jelassi2022-theorem-3-1">erratum</a>' in card("jelassi2022/theorem-3.1")
    assert f"version {version()}" in shown and f"{address()}/book/ledger/ledger.html#deng2023-lemma-3-1" in shown
    assert shown.count("<div") == shown.count("</div>") and shown.count("<details") == shown.count("</details>")


def test_a_row_that_coq_checks_says_so_and_leads_to_its_theorems():
    row, theorem = "exponential/own-share", "proofs/Share.v:share_contrast"
    assert ledger.entries()[row].rests_on == "proof on the page, checked by Coq, machine: proof"
    shown = card(row)
    assert "proof on the page, checked by Coq; machine: " in shown
    assert f'/proofs/Share.v#L{coq.line_of(theorem)}">Coq: <code>{theorem}</code></a>' in shown


def test_a_long_list_of_checks_folds_inside_its_card():
    found = [card("deng2023/lemma-3.1", *[compare(f"case {i}", 1, "<=", 2) for i in range(count)]) for count in (4, 9)]
    assert "more lines" not in found[0] and "<summary>6 more lines</summary>" in found[1]


def cell(source, *outputs, tags=(), hidden=False):
    """A cell as myst-nb gives it to Sphinx."""
    code = nodes.container("", nodes.literal_block("", source), nb_element="cell_code_source")
    if hidden:
        code = HideCodeCellNode("", code, prompt_show="Show", prompt_hide="Hide")
    shown = [nodes.container("", *outputs, nb_element="cell_code_output")] * bool(outputs)
    return nodes.container("", code, *shown, nb_element="cell_code", classes=[f"tag_{tag}" for tag in tags])


def stored():
    return nodes.raw("", judge("deng2023/lemma-3.1", printed=compare("x", 1, "<=", 2))._repr_html_(), format="html")


def page(*cells, in_record=False):
    doctree = new_document("")
    doctree += cells
    for one in cells:
        pages.show_cards(one, ledger.record(ledger.entries()["deng2023/lemma-3.1"].chapter), link)
        pages.fold_checks(one, in_record)
    return doctree


def folds(doctree):
    return [
        re.sub(r'<details class="(.*?)"><summary>(.*?)</summary>', r"\1: \2", tag["opening"])
        for tag in doctree.findall(pages.Tag)
    ]


def test_code_of_checks_folds_where_it_is_long_or_in_a_record():
    assert folds(page(cell("x\n" * 13, stored()))) == ["checks: Code of the check"]
    assert not folds(page(cell("x\n" * 12, stored()))) and not folds(page(cell("x\n" * 13)))
    hidden = dict(tags=["hide-input"], hidden=True)
    found = page(cell("import x", **hidden), cell("x", **hidden), cell("x", stored(), **hidden), cell("import x", hidden=True))
    assert not folds(found)
    told = [(node.get("chip"), node.get("kind")) for node in found.findall(HideCodeCellNode)]
    assert told == [("imports", ""), ("code", ""), ("code of the checks", "checks "), (None, "")]
    found = page(cell("import x", **hidden), cell("x", **hidden), in_record=True)
    told = [(node.get("chip"), node.get("kind")) for node in found.findall(HideCodeCellNode)]
    assert told == [("imports", "checks "), ("code of the checks", "checks ")]


def test_cards_of_a_record_stand_beside_the_statements_of_its_chapter():
    claim, entry = "deng2023/own-norm-exponent", ledger.entries()["deng2023/own-norm-exponent"]
    chapter, record = f"book/{entry.chapter}", ledger.record(entry.chapter)
    assert (pages.record_below(chapter), pages.record_below(record), pages.record_below("book/intro")) == (record, None, None)
    before, box, after = nodes.paragraph(), nodes.admonition(ids=[entry.label], classes=["proof"]), nodes.paragraph()
    doctree = new_document("")
    doctree += nodes.section("", nodes.title(), before, box, after, ids=["x"])
    doctree += nodes.section("", nodes.title(), nodes.paragraph(), ids=["the-record"])
    pages.put_cards(doctree, chapter, record, link)
    card = doctree[0][3]
    assert doctree[0][4] is after and f'id="{ledger.anchor(claim)}"' in card.astext()
    assert f'<a href="../../{record}.html#{ledger.anchor(claim)}">the cell that computed it</a>' in card.astext()
    other = new_document("")
    other += nodes.section("", nodes.title(), nodes.section(ids=["lem-moved"]), ids=["x"])
    pages.point_to_record(doctree, other, record, link)
    anchors = re.findall(r'class="moved" id="([^"]+)" href="../../([^"]+)"', doctree[1][-1].astext())
    assert ("lem-moved", f"{record}.html#lem-moved") in anchors and "x" not in dict(anchors)
    assert ledger.anchor("deng2023/lemma-3.1") in dict(anchors) and ledger.anchor(claim) not in dict(anchors)
    assert f"It holds {len(ledger.verdicts_of(record))} verdicts: " in doctree[1].astext()


def test_a_long_run_of_cards_folds_into_one_line():
    found = page(
        cell("x", *(stored() for _ in range(6)), nodes.raw("", "<p>between</p>", format="html"), *(stored(), stored()))
    )
    assert folds(found) == ["verdicts: 6 verdicts: 6\N{NO-BREAK SPACE}hold in a stated range"]
    assert sum(node.astext().startswith(pages.CARD) for node in found.findall(nodes.raw)) == 8


def test_a_page_opens_with_its_picture():
    cells = [
        cell("import x"),
        cell("draw", nodes.paragraph("", "numbers")),
        cell("draw", nodes.image()),
        cell("draw", nodes.image()),
    ]
    doctree = page(*cells)
    pages.picture_first(cells)
    assert folds(doctree) == ["imports: Imports"] and doctree[0][0] is cells[0]
    assert [pages.part_of(one, "output") is one[0] for one in cells] == [False, False, True, False]


def test_an_element_ends_where_its_own_tag_ends():
    text = '<p><div class="proof x" id="a"><div>in</div></div><div>after</div>'
    assert dict(finish.statements(text)) == {"a": '<div class="proof x"><div>in</div></div>'}


def test_finishing_twice_changes_nothing():
    page = '<div class="article-header-buttons"></div><table><th> </th></table><img src="screenshot.png" />'
    once = finish.finished(page, root() / "book" / "_static")
    assert 'role="switch"' in once and re.search(r'<img src="screenshot.png" width="\d+" height="\d+" loading="lazy">', once)
    assert finish.finished(once, root() / "book" / "_static") == once


def test_every_function_of_the_reference_leads_to_its_lines():
    place = source("py", {"module": "attention_theory.separation.data", "fullname": "cross_attention_data"})
    path, first, last = re.search(r"/blob/\w+/(\S+)#L(\d+)-L(\d+)", place).groups()
    lines = (root() / path).read_text(encoding="utf-8").splitlines()[int(first) - 1 : int(last)]
    assert any(line.startswith("def cross_attention_data(") for line in lines) and lines[-1].strip().startswith("return")
    field = {"module": "theorybook.interactive_plot", "fullname": "InteractivePlot.x"}
    assert source("py", field) is None  # it has no lines
