"""The search page, as a reader asks it: every question finds its place among the first three."""

import re
from urllib.parse import quote_plus

import pytest
from browsing import BUILT, PHONE, WIDE, axe

LEDGER, LIBRARY = "book/ledger/ledger.html#", "book/library/"
#: What is asked, and where the answer stands: one of these places is among the first so many results.
ASKED = [
    # permanent ids and citations with a number
    ("bombari2024/lemma-b.2", 1, [f"{LEDGER}bombari2024-lemma-b-2"]),
    ("jelassi2022/own-linear-phase", 1, [f"{LEDGER}jelassi2022-own-linear-phase"]),
    ("Theorem 3.1 of jelassi2022", 1, [f"{LEDGER}jelassi2022-theorem-3-1"]),
    ("deng2023, Lemma D.4, Part 1", 1, [f"{LEDGER}deng2023-lemma-d-4-1"]),
    ("lemma d.4", 2, [f"{LEDGER}bombari2024-lemma-d-4", f"{LEDGER}jelassi2022-lemma-d-4"]),
    ("Hoeffding", 2, [f"{LEDGER}deng2023-lemma-3-1"]),
    # functions
    ("word_sensitivity", 1, [f"{LIBRARY}sensitivity.html#attention_theory.sensitivity.word.word_sensitivity"]),
    ("tangent_kernel", 1, [f"{LIBRARY}tangent.html#attention_theory.tangent.kernel.tangent_kernel"]),
    ("exponential.competition.share", 1, [f"{LIBRARY}exponential.html#attention_theory.exponential.competition.share"]),
    # symbols and terms of the page of notation
    ("failure probability", 1, ["book/notation.html#symbol"]),
    ("random readouts", 3, ["book/notation.html#symbol"]),
    ("special key", 3, ["book/notation.html#symbol"]),
    # questions in words
    ("softmax temperature", 1, ["book/notation.html#symbol", "book/exponential/one-knob.html#"]),
    ("tangent kernel limit", 3, ["book/exponential/record/training.html#thm-exp-kernel", "book/tangent/closed-form.html#"]),
    ("attention sink", 1, ["book/notation.html#symbol"]),
    ("neural tangent kernel", 3, ["book/notation.html#symbol", "book/tangent/network-and-kernel.html#"]),
    ("how wide must the network be", 3, ["book/tangent/"]),
    ("does attention look at the right patches", 3, ["book/patches/"]),
    ("run on Colab", 3, ["book/running.html"]),
    ("how much degree", 3, ["book/exponential/"]),
]


def results(page):
    page.wait_for_selector("#found > li")
    links = page.locator("#found > li > a").evaluate_all("links => links.map(link => link.pathname + link.hash)")
    return [link.removeprefix("/") for link in links]


@pytest.mark.parametrize(("asked", "rank", "places"), ASKED, ids=[asked for asked, *_ in ASKED])
def test_a_question_finds_its_place(look_at, asked, rank, places):
    found = results(look_at("search.html?q=" + quote_plus(asked)))[:rank]
    assert any(link.startswith(place) for link in found for place in places), found


def test_a_question_from_any_page(visit):
    page = visit("book/intro.html")
    page.keyboard.press("Control+k")
    page.locator("dialog[open] input[type=search]").fill("Theorem 3.1 of jelassi2022")
    page.keyboard.press("Enter")
    assert results(page)[0] == f"{LEDGER}jelassi2022-theorem-3-1"


def test_results_come_while_typing_on_a_page_opened_as_a_file(browser):
    page = browser.new_page()
    page.goto(f"{(BUILT / 'search.html').as_uri()}?q=the+share")
    field = page.locator("article input[type=search]")
    field.fill("word_sensitivity")
    assert "sensitivity.word.word_sensitivity" in page.locator("#found > li").first.inner_text()
    field.fill("xyzzy")
    assert "Nothing has these words" in page.locator(".found-count").inner_text()
    page.close()


def test_excerpts_are_text_with_whole_words_marked(visit):
    words = 0
    for asked in ("patch association", "softmax weights", "rank of the kernel", "n"):
        page = visit(f"search.html?q={asked.replace(' ', '+')}")
        page.wait_for_selector("#found > li")
        for line in page.locator("#found > li > p").all():
            assert not re.search(r"\\[A-Za-z]+|\$|\bpdf\b", line.inner_text()), line.inner_text()
        for piece in page.locator("#found mark").all():
            around = piece.evaluate("m => [m.previousSibling?.data?.at(-1) ?? '', m.nextSibling?.data?.[0] ?? '']")
            assert not any(re.match(r"\w", sign) for sign in around), (piece.inner_text(), around)
            words += 1
    assert words > 50


@pytest.mark.parametrize("look", [WIDE, PHONE], ids=str)
def test_the_words_of_a_search_are_marked_where_it_leads_and_can_be_read(visit, look):
    page = visit("search.html?q=failure+probabilities", look)
    page.locator("#found > li", has=page.locator(".kind:text-is('section')")).first.locator("a").click()
    page.wait_for_selector("article mark")
    assert {mark.lower() for mark in page.locator("article mark").all_inner_texts()} <= {
        "failure", "failures", "probability", "probabilities"
    }  # fmt: skip
    assert "marked" not in page.url and page.locator("mjx-merror").count() == 0
    assert not axe(page)


@pytest.mark.parametrize("mode", ["light", "dark", "auto"])
def test_the_colour_mode_shows_its_sign(visit, mode):
    page = visit("book/reading.html", WIDE)
    button = page.locator(".theme-switch-button").locator("visible=true").first
    for _ in range(3):
        if page.evaluate("document.documentElement.dataset.mode") == mode:
            break
        button.click()
    assert page.evaluate("document.documentElement.dataset.mode") == mode
    shown = [icon.get_attribute("data-mode") for icon in button.locator("i").all() if icon.is_visible()]
    assert shown == [mode]
