"""Pages made from the ledger, and what is done to built pages."""

import re

import pytest
from attention_theory.evidence import Entry, Verdict, compare, judge
from bookpages import finish, ledger
from bookpages.typeset import typeset


def link(document):
    return f"../../{document}.html"


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
    for entry in ledger.entries().values():
        for text in (entry.statement, entry.note):
            words = re.findall(
                r"[A-Za-z]{4,}", re.sub(r"\b(sqrt|" + "|".join(map(re.escape, ledger_greek())) + r")\b", " ", text)
            )
            plain = re.sub(r"<[^>]+>", "", typeset(text))
            assert [word for word in words if word not in plain] == [], entry.id


def ledger_greek():
    from bookpages.typeset import GREEK

    return GREEK


def test_a_statement_in_paragraphs_is_shown_in_lines(monkeypatch):
    told = dict(hypotheses="any $n$", constants="$c$ < 1", scope="exact", statement="it is $$x^2 > 0$$")
    entry = Entry("deng2023/own-x", "ours", "lemma", depends=[], chapter=None, method="exact", outcome="false", note="", **told)
    monkeypatch.setattr(ledger, "entries", lambda: {entry.id: entry})
    lines = re.findall(
        r'<span class="said tm"><small>(\w+)</small> (.*?)</span>(?=<span class="said|</summary>)', ledger.row(entry, link)
    )
    assert [name for name, _ in lines] == ["Hypotheses", "Claim", "Constants", "Scope"]
    assert lines[1][1] == r'it is <span class="math notranslate nohighlight display">\[x^2 &gt; 0\]</span>'
    assert re.findall(r"<dt>(\w+)</dt>", ledger.erratum(entry, link)) == ["Hypotheses", "Claim", "Constants", "Scope"]
    assert 'class="said tm"><small>Scope</small> exact' in ledger._own(entry, link)
    assert ledger._clip("words " * 15 + "and $a formula that is long$") == "words " * 15 + "and …"

    other = Entry("deng2023/own-y", "ours", "lemma", "it is so", [], None, "exact", "holds", "")
    assert 'class="said' not in ledger.row(other, link) and "<small></small>" not in ledger.row(other, link)


@pytest.mark.parametrize("paper", list(ledger.ledgers()))
def test_every_statement_is_a_row_with_its_anchor(paper):
    page = ledger.paper_rows(paper, link)
    for claim in ledger.ledgers()[paper]:
        assert f'id="{ledger.row_anchor(claim)}"' in page
    assert page.count('class="ledger-row"') == len(ledger.ledgers()[paper])


@pytest.mark.parametrize("paper", list(ledger.ledgers()))
def test_the_graph_shows_every_dependency(paper):
    rows = ledger.ledgers()[paper].values()
    pairs = {(ledger.statement_of(e.id), ledger.statement_of(d)) for e in rows for d in e.depends if d.startswith(paper)}
    named = re.findall(r'data-uses="([^"]*)"', ledger.graph(paper, link))
    assert sum(len(names.split()) for names in named) == len({(a, b) for a, b in pairs if a != b})


def test_every_wrong_print_is_an_erratum_once():
    listed = [
        anchor for level in ledger.SEVERITIES for anchor in re.findall(r'id="erratum-([^"]+)"', ledger.errata(level, link))
    ]
    wrong = [ledger.row_anchor(e.id) for e in ledger.entries().values() if e.outcome in ("corrected", "false")]
    assert sorted(listed) == sorted(wrong)


def test_every_own_statement_is_listed():
    listed = sum(ledger.own_results(paper, link).count('class="own"') for paper in ledger.ledgers())
    assert listed == sum(entry.printed == "ours" for entry in ledger.entries().values())


def test_totals_and_headline_count_every_statement():
    rows = ledger.entries()
    assert f"<td>{len(rows)}</td>" in ledger.totals(link) and f"<td>{len(rows)}</td>" in ledger.methods(link)
    numbers = [int(n) for n in re.findall(r"\d+", ledger.headline())]
    assert numbers[0] == len(rows) == numbers[1] + numbers[2]
    assert numbers[0] == numbers[3] + sum(numbers[5:])


def test_every_statement_is_an_object_for_search():
    names = [name for name, *_ in ledger.LedgerDomain.get_objects(None)]
    assert names == list(ledger.entries())


# Cards ------------------------------------------------------------------------------------------------------------------


def cell(count):
    cards = [judge("deng2023/lemma-d.4", printed=compare(f"n^{i}", 1, "<=", 2), remark="for tau < 1") for i in range(count)]
    return "".join(f'<div class="output text_html">{card._repr_html_()}</div>\n' for card in cards)


def finished(page):
    return finish.finished(page, "book/separation/threshold.html", ledger.FOLDER, "1.2.3", "https://book.example")


def test_a_card_has_mathematics_its_row_and_its_citation():
    page = finished(cell(1))
    assert "<i>n</i><sup>0</sup>: 1 ≤ 2" in page and "<em>for <i>τ</i> &lt; 1</em>" in page
    assert (
        "<code>deng2023/lemma-d.4</code>" in page
        and '<a href="../../book/ledger/ledger.html#deng2023-lemma-d-4">ledger</a>' in page
    )
    assert "version 1.2.3" in page and "https://book.example/book/ledger/ledger.html#deng2023-lemma-d-4" in page
    assert page.count("<div") == page.count("</div>")


def test_a_card_leads_to_its_erratum_and_its_users():
    card = judge("deng2023/lemma-3.1", printed=compare("x", 3, "<=", 2))._repr_html_()
    page = finished(f'<div class="output text_html">{card}</div>')
    assert '<a href="../../book/ledger/errata.html#erratum-deng2023-lemma-3-1">erratum</a>' in page
    users = len(ledger.used_by()["deng2023/lemma-3.1"])
    assert f'<a href="../../book/ledger/ledger.html#deng2023-lemma-3-1">used by {users}</a>' in page and users > 25


def test_tex_between_dollars_is_tex_on_the_page_and_text_in_the_line():
    verdict = judge("p/x", printed=compare(r"$\gamma_{2r-1} < \sqrt{d}$, each row", 1, "<=", 2), remark="$x^2$ & so")
    assert "γ_(2r-1) < √(d), each row: 1 <= 2 | x^2 & so" in repr(verdict)
    assert str(verdict.checks[0]) == "exact: γ_(2r-1) < √(d), each row: 1 <= 2"
    page = finished(f'<div class="output text_html">{verdict._repr_html_()}</div>')
    assert r'<span class="math notranslate nohighlight" style="--w:' in page
    assert r"\(\gamma_{2r-1} &lt; \sqrt{d}\)</span>, each row: 1 ≤ 2" in page and r"\(x^2\)</span> &amp; so</em>" in page


def test_every_field_of_a_row_is_escaped_where_it_becomes_html(monkeypatch):
    bad = 'x"><b>&'
    entry = Entry(f"deng2023/{bad}", bad, bad, bad, [], bad, "exact", "corrected", bad, bad, bad)
    monkeypatch.setattr(ledger, "entries", lambda: {entry.id: entry})
    for piece in (ledger.row(entry, link), ledger.erratum(entry, link), ledger._own(entry, link)):
        assert "<b>" not in piece and 'x">' not in piece
    shown = Verdict(bad, "holds", (compare(bad, 1, "<=", 2),), bad, bad, bad)._repr_html_()
    assert "<b>" not in shown and 'x">' not in shown


def code(lines, tag=""):
    source = "\n".join(f'<span class="n">x{i}</span>' for i in range(lines))
    output = "" if "further" in tag else cell(1)
    code = f'<div class="cell_input docutils container"><div><pre><span></span>{source}\n</pre></div></div>'
    shown = f'<div class="cell_output docutils container">{output}</div>'
    return f'<div class="cell {tag}docutils container">\n{code}\n{shown}</div>'


def test_code_of_checks_folds_where_it_is_long_or_tagged():
    assert '<details class="checks"><summary>Code of the check</summary>' in finished(code(13))
    assert '<details class="checks"' not in finished(code(12))
    assert '<details class="checks">' in finished(code(3, "tag_further-evidence "))
    hidden = code(3, "tag_hide-input ").replace(
        "<pre>", '<details class="admonition hide above-input"><summary>s</summary><pre>'
    )
    assert '<details class="checks admonition hide above-input">' in finished(hidden.replace("</pre>", "</pre></details>"))
    page = finished(code(13))
    assert finished(page) == page and page.count("<details") == page.count("</details>")


def test_hidden_code_has_a_short_name():
    def hidden(tag, kind):
        code = f'<div class="cell_input docutils container"><pre><span></span><span class="{kind}">x</span></pre></div>'
        fold = f'<details class="admonition hide above-input">\n<summary>Show</summary>{code}</details>'
        return f'<div class="cell tag_hide-{tag} docutils container" id="x">\n{fold}</div>'

    page = hidden("input", "kn") + hidden("input", "n") + hidden("cell", "n") + hidden("input tag_further-evidence", "n")
    assert re.findall(r'<summary>(?:<span class="chip">(.*?)</span>)?Show', finished(page)) == [
        "imports", "code", "", "code of the checks"
    ]  # fmt: skip
    assert finished(finished(page)) == finished(page)


def test_the_fold_after_an_exercise_is_named_for_what_it_is():
    fold = "<summary>Show code cell content</summary><summary>Hide code cell content</summary>"
    boxes = '<div class="exercise admonition">?</div>', '<div class="solution dropdown admonition">!</div>', "<h2>Next</h2>"
    page = fold + "".join(box + fold for box in boxes)
    named = re.findall("<summary>(.*?)</summary>", finished(page))
    shown = ["Show code cell content", "Hide code cell content"]
    assert named == [*shown, *2 * ["Solution"], *2 * ["Code of the solution"], *shown]
    assert finished(finished(page)) == finished(page)


def test_a_long_run_of_cards_folds_into_one_line():
    page = finished("<p>before</p>" + cell(6) + "<p>after</p>" + cell(2))
    assert page.count('<details class="verdicts"><summary>6 verdicts: 6 hold</summary>') == 1
    assert page.count('class="verdict shown') == 8 and page.count("<details") == page.count("</details>")


def test_a_long_list_of_checks_folds_inside_its_card():
    checks = [compare(f"case {i}", 1, "<=", 2) for i in range(9)]
    page = finished(f'<div class="output text_html">{judge("p/x", printed=checks)._repr_html_()}</div>')
    assert "<summary>6 more lines</summary>" in page


def test_finishing_twice_changes_nothing():
    once = finished(cell(6) + '<summary aria-label="Toggle hidden content">x</summary>')
    assert finished(once) == once


def test_an_element_ends_where_its_own_tag_ends():
    text = '<p><div class="proof x" id="a"><div>in</div></div><div>after</div>'
    assert dict(finish.statements(text)) == {"a": '<div class="proof x"><div>in</div></div>'}


def test_a_module_of_the_reference_folds_behind_the_names_in_it():
    names = '<dl class="py function"><dt class="sig" id="attention_theory.separation.exact.row_classes"></dt></dl>'
    page = f'<section id="module-x"><span id="x"></span><h2>exact</h2><p>Words.</p>{names}</section>'
    once = finish.finished(page, "book/library/separation.html", ledger.FOLDER, "1.2.3", "https://book.example")
    assert '<p>Words.</p><details class="module"><summary><code>row_classes</code></summary><dl' in once
    assert finish.finished(once, "book/library/separation.html", ledger.FOLDER, "1.2.3", "https://book.example") == once


def test_a_page_opens_with_its_picture():
    def cell(source, output=""):
        shown = f'<div class="cell_output docutils container"><p>{output}</p></div>\n' if output else ""
        return f'<div class="cell docutils container">\n<div class="cell_input"><pre>{source}</pre></div>\n{shown}</div>'

    code = '<span class="n">draw</span>'
    page = (
        cell('<span class="kn">import</span>') + cell(code, "numbers") + cell(code, '<img src="a.png">') + cell(code, "<img >")
    )
    opened = finish.picture_first(page)
    assert opened.startswith('<details class="imports"><summary>Imports</summary><div class="cell')
    assert opened.index('<img src="a.png">') < opened.index("draw", opened.index("numbers"))
    assert opened.endswith(cell(code, "<img >"))
    assert finish.picture_first(opened) == opened
    assert finish.picture_first("<p>no cell</p>") == "<p>no cell</p>"


def test_every_function_of_the_reference_leads_to_its_lines():
    from bookpages import ROOT, source

    place = source("py", {"module": "attention_theory.separation.data", "fullname": "cross_attention_data"})
    path, first, last = re.search(r"/blob/\w+/(\S+)#L(\d+)-L(\d+)", place).groups()
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()[int(first) - 1 : int(last)]
    assert any(line.startswith("def cross_attention_data(") for line in lines) and lines[-1].strip().startswith("return")
    assert source("py", {"module": "attention_theory.movable", "fullname": "Movable.x"}) is None  # a field has no lines
