"""Read and Verify, cards, citations, and what a reader finds about a statement, as the reader does it."""

import re
from itertools import pairwise
from urllib.parse import urlencode

import pytest
from browsing import PHONE, WIDE, axe

CHAPTER, RECORD = "book/separation/threshold.html", "book/separation/record/threshold.html"
CHECKS = "details.checks, details.verdict, details.verdicts"
OPEN = f"[...document.querySelectorAll('{CHECKS}')].map(fold => fold.open)"


@pytest.mark.parametrize("look", [WIDE, PHONE], ids=str)
def test_the_switch_opens_all_checks_and_is_remembered(browser, address, look):
    context = browser.new_context(viewport={"width": look[0], "height": 900}, color_scheme=look[1])
    page = context.new_page()
    page.goto(f"{address}/{RECORD}")
    switch = page.get_by_role("switch", name="Verify")
    assert switch.is_visible() and switch.get_attribute("aria-checked") == "false"
    assert not any(page.evaluate(OPEN))
    line = page.locator("article .verdict.shown > summary >> visible=true").first
    assert line.bounding_box()["height"] <= (26 if look[0] > 1000 else 80)
    assert re.match(r"[✓✎✗∅?] \w", line.inner_text())
    line.click()  # one opens alone
    assert page.locator("article .verdict.shown[open] .about >> visible=true").count() == 1
    switch.click()
    assert all(page.evaluate(OPEN)) and switch.get_attribute("aria-checked") == "true"
    assert not axe(page)
    page.goto(f"{address}/{CHAPTER}")
    assert all(page.evaluate(OPEN)) and page.get_by_role("switch").get_attribute("aria-checked") == "true"
    page.get_by_role("switch").click()
    page.goto(f"{address}/{CHAPTER}")
    assert not any(page.evaluate(OPEN))
    context.close()


def test_the_kept_choice_is_there_before_the_first_paint(browser, address):
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.add_init_script(
        """localStorage.setItem("reading", "verify");
        window.closed = 0;
        const look = () => {
          window.closed += document.querySelectorAll("details:is(.checks, .verdict):not([open])").length;
          requestAnimationFrame(look);
        };
        requestAnimationFrame(look);"""
    )
    page.goto(f"{address}/{CHAPTER}")
    assert page.evaluate("document.documentElement.classList.contains('verify')") and page.evaluate("window.closed") == 0
    context.close()


def test_without_a_script_checks_are_plain_folds(browser, address):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/{CHAPTER}")
    assert page.locator(".reading-switch").is_hidden()
    page.locator("article .verdict.shown > summary >> visible=true").first.click()
    assert page.locator("article .verdict.shown .tm >> visible=true").count() == 1
    context.close()


def test_a_card_beside_a_statement_leads_to_the_cell_that_computed_it(visit):
    page = visit(CHAPTER)
    card = page.locator(".proof#prop-sep-exponent + .verdict")
    card.locator("summary").first.click()
    card.get_by_role("link", name="the cell that computed it").click()
    page.wait_for_url(f"**/{RECORD}#verdict-deng2023-own-norm-exponent")
    page.wait_for_function("document.querySelector('#verdict-deng2023-own-norm-exponent').open")
    page.locator("#verdict-deng2023-own-norm-exponent .about").get_by_role("link", name="statement").click()
    page.wait_for_url(f"**/{CHAPTER}#prop-sep-exponent")


@pytest.mark.parametrize("label", ["lem-sep-averages", "verdict-deng2023-lemma-3-1", "tab-sep-threshold-slips"])
def test_an_old_address_of_what_is_in_the_record_leads_there(visit, label):
    page = visit(f"{CHAPTER}#{label}")
    page.wait_for_url(f"**/{RECORD}#{label}")
    page.locator(f"#{label}").first.wait_for(state="attached")


def test_from_chapter_to_chapter_past_the_records(visit):
    page = visit(CHAPTER)
    assert page.locator(".prev-next-footer .right-next").get_attribute("href") == "self-attention-ones.html"
    page = visit("book/separation/self-attention-ones.html")
    assert page.locator(".prev-next-footer .left-prev").get_attribute("href") == "threshold.html"


def test_print_is_read_with_the_verdicts(visit):
    page = visit(RECORD)
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("article .verdict.shown .tm >> visible=true").count() > 0
    assert page.locator("article details.checks:not(.whole) .cell_input >> visible=true").count() == 0


@pytest.mark.parametrize("look", [WIDE, PHONE], ids=str)
def test_from_a_card_to_everything_about_its_statement(visit, look):
    page = visit(f"{RECORD}#verdict-deng2023-lemma-3-1", look)
    card = page.locator("#verdict-deng2023-lemma-3-1")
    page.wait_for_function("document.querySelector('#verdict-deng2023-lemma-3-1').open")
    count = int(re.search(r"used by (\d+)", card.locator(".about").inner_text())[1])
    card.locator(".about a", has_text="used by").click()
    page.wait_for_url("**/ledger.html#deng2023-lemma-3-1")
    row = page.locator("#deng2023-lemma-3-1")
    page.wait_for_selector("#deng2023-lemma-3-1[open] .through")
    users = row.locator(".users a").evaluate_all("links => links.map(link => link.hash)")
    assert len(users) == len(set(users)) == count > 25
    for own in ("threshold-range", "identity-quiet", "cross-dimension", "identity-block"):
        assert f"#deng2023-own-{own}" in users
    assert "#exponential-own-window" in users
    more = int(re.search(r"\d+", row.locator(".through > summary").inner_text())[0])
    assert row.locator(".through a").count() == more > 5
    for words in ("verdict", "statement", "formula"):
        link = row.get_by_role("link", name=words, exact=True)
        assert link.is_visible()
    row.get_by_role("link", name="formula", exact=True).click()
    page.wait_for_url("**#attention_checks.separation.printed.lemma_3_1")


def test_a_wrong_print_leads_to_its_erratum(visit):
    page = visit("book/ledger/ledger.html#jelassi2022-theorem-3-1")
    page.locator("#jelassi2022-theorem-3-1").get_by_role("link", name="erratum").click()
    page.wait_for_url("**/errata.html#erratum-jelassi2022-theorem-3-1")
    page.locator("#erratum-jelassi2022-theorem-3-1 dl").wait_for()


@pytest.mark.parametrize("look", [WIDE, PHONE], ids=str)
def test_a_statement_reads_in_lines_wherever_it_stands(visit, look):
    place = "book/ledger/{}.html#{}bombari2024-own-crowd"
    for page, lines in [
        (visit(place.format("ledger", ""), look), "#bombari2024-own-crowd .said"),
        (visit(place.format("own", "own-"), look), "#own-bombari2024-own-crowd .said"),
    ]:
        page.locator(lines).first.locator("mjx-container").first.wait_for()
        shown = page.locator(lines)
        assert [line.split()[0] for line in shown.all_inner_texts()] == ["Hypotheses", "Claim", "Scope"]
        # all at once: what is set above may move them
        boxes = shown.evaluate_all("lines => lines.map(line => line.getBoundingClientRect().toJSON())")
        assert all(a["bottom"] <= b["top"] + 1 for a, b in pairwise(boxes))
        assert page.locator(f"{lines} mjx-container").count() > 10 and not page.locator("mjx-merror").count()
        assert not any("$" in line or "\\" in line for line in shown.all_inner_texts())
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_filter_finds_a_formula_as_it_is_typed(visit):
    for typed in ("sqrt(d)", "√d", "own-crowd", "any token"):
        page = visit(f"book/ledger/ledger.html?{urlencode({'q': typed})}")
        page.locator("#bombari2024-own-crowd .said").first.wait_for()
        assert page.locator(".ledger-row[hidden]").count() > 300


def test_a_link_to_a_row_and_a_search_show_its_lines(visit):
    page = visit("book/sensitivity/attention-is-sensitive.html#verdict-bombari2024-own-crowd")
    page.locator("#verdict-bombari2024-own-crowd .about a", has_text="ledger").hover()
    page.locator("#preview .said mjx-container").first.wait_for()
    assert [line.split()[0] for line in page.locator("#preview .said").all_inner_texts()] == ["Hypotheses", "Claim", "Scope"]
    page = visit("search.html?q=bombari2024/own-crowd")
    words = page.locator("#found > li").first.locator("p")
    words.wait_for()
    assert words.inner_text().startswith("Hypotheses: Softmax or ReLU weights")


def test_bibtex_and_address_are_copied(visit):
    page = visit("book/ledger/ledger.html#bombari2024-lemma-b-2")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    row = page.locator("#bombari2024-lemma-b-2")
    summary = row.locator("details.cite > summary")
    assert summary.bounding_box()["height"] >= 24
    summary.click()
    row.get_by_role("button", name="Copy BibTeX").click()
    row.get_by_role("button", name="Copied").wait_for()
    bibtex = page.evaluate("navigator.clipboard.readText()")
    assert bibtex.startswith("@misc{attention-theory:bombari2024:lemma-b.2,") and bibtex.count("{") == bibtex.count("}")
    row.get_by_role("button", name="Copy address").click()
    page.wait_for_function("navigator.clipboard.readText().then(text => /^https.*#bombari2024-lemma-b-2$/.test(text))")


def test_a_wrong_place_in_the_address_gets_one_sentence(visit):
    page = visit("book/reading.html#thm-nowhere")
    said = page.get_by_role("alert")
    assert "This page has no place called “thm-nowhere”." in said.inner_text()
    page.evaluate("location.hash = '#outcomes'")
    page.wait_for_function("!document.querySelector('.no-such-place')")
    said = visit("book/ledger/ledger.html#bombari2024-lemma-b-222").get_by_role("alert")
    said.get_by_role("link").click()
    said = visit("book/reading.html#100%-sure").get_by_role("alert")
    assert "This page has no place called “100%-sure”." in said.inner_text()


@pytest.mark.parametrize("look", [WIDE, PHONE], ids=str)
def test_what_an_address_asks_for_in_vain_gets_one_sentence(visit, look):
    page = visit("book/ledger/graph.html?statement=deng2023-lemma-9-9", look)
    assert "No graph has a statement called “deng2023-lemma-9-9”" in page.get_by_role("alert").inner_text()
    assert page.locator(".node >> visible=true").count() > 100 and not axe(page)
    assert not visit("book/ledger/graph.html?statement=deng2023-lemma-4-2", look).get_by_role("alert").count()
    assert not visit("book/ledger/graph.html", look).get_by_role("alert").count()
    page = visit("book/ledger/ledger.html?outcome=wrong", look)
    assert "No row of the ledger has the outcome “wrong”" in page.get_by_role("alert").inner_text()
    assert "outcome" not in page.url and page.locator(".ledger-row[hidden]").count() == 0
    page = visit("404.html", look)
    assert page.get_by_role("alert").inner_text().startswith("This book has no page at this address.") and not axe(page)


TOLD = "book/sensitivity/attention-is-sensitive.html"
BARS = "article .cell.tag_hide-input > details > summary p >> visible=true"
CHIPS = "article .cell.tag_hide-input .chip >> visible=true"


@pytest.mark.parametrize("look", [WIDE, PHONE], ids=str)
def test_who_reads_sees_numbers_before_code(browser, address, look):
    context = browser.new_context(viewport={"width": look[0], "height": 900}, color_scheme=look[1])
    page = context.new_page()
    page.goto(f"{address}/{TOLD}")
    assert page.locator(BARS).count() == 0
    chips = page.locator(CHIPS).all()
    assert [chip.inner_text() for chip in chips[:2]] == ["imports", "code"]
    boxes = [chip.bounding_box() for chip in chips]
    assert all(24 <= box["height"] < 30 and box["width"] < 160 for box in boxes)
    before = page.locator("article > section > p").first.bounding_box()
    table = page.locator("article table").first.bounding_box()
    assert table["y"] - before["y"] - before["height"] < 90  # one chip between
    page.locator("article .tag_hide-input .cell_input").nth(1).wait_for(state="hidden")
    chips[1].click()
    page.locator("article .tag_hide-input .cell_input").nth(1).wait_for(state="visible")
    assert not axe(page) and page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("switch").click()
    assert page.locator(CHIPS).count() == 0 and page.locator(BARS).count() == len(chips)
    context.close()


def test_hidden_code_without_a_script_and_in_print(browser, address):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/{TOLD}")
    page.locator(CHIPS).first.click()
    page.locator("article .tag_hide-input .cell_input").first.wait_for(state="visible")
    page.emulate_media(media="print")
    assert page.locator(CHIPS).count() == 0 and page.locator(BARS).count() > 3
    context.close()
