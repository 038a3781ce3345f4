"""Every page in Chromium without a network: it renders whole, says no error, moves nothing, and axe-core finds nothing.

``AXE=all`` looks at every page in light and dark, wide and on a phone; otherwise axe-core sees each page in one of the four.
"""

import json
import os
import re
from statistics import median

import pytest
from browsing import BUILT, CHROMIUM, LOOKS, PAGES, PHONE, WIDE, axe
from conftest import ROOT


def test_there_are_pages_and_a_browser():
    assert CHROMIUM and "book/intro.html" in PAGES


SOLUTIONS = """boxes => boxes.map((box) => {
  const fold = "details, .solution.dropdown", titles = [];
  let next = box;
  while ((next = next.nextElementSibling) && !next.matches(".exercise, section")) {
    const found = next.matches(fold) ? next : next.querySelector(fold);
    if (found) titles.push(found.querySelector(".admonition-title, summary").innerText.trim());
  }
  return [box.id, titles];
})"""
#: Sources among the outputs that are cut, when all is unfolded.
CUT_SOURCES = """() => {
  const folds = document.querySelectorAll("main details:not([open]):has(.cell_output pre)");
  for (const fold of folds) fold.open = true;
  const cut = [...document.querySelectorAll(".cell_output pre")].filter(box => box.scrollWidth > box.clientWidth + 2);
  const words = cut.map(box => box.innerText.slice(0, 80));
  for (const fold of folds) fold.open = false;
  return words;
}"""


def is_in_order(page, width):
    """One look at a page: all is set, nothing sticks out."""
    assert page.locator("h1:visible").first.inner_text()
    assert page.locator("mjx-merror").count() == 0
    # every piece of TeX became MathJax output
    raw = "[...document.querySelectorAll('main .math:not(.preview *)')].filter(box => !box.querySelector('mjx-container'))"
    in_view = "box => box.checkVisibility() && box.getBoundingClientRect().top < innerHeight"  # the ledger sets what is near
    page.wait_for_function(f"!{raw}.some({in_view})")
    # the page itself does not scroll sideways, and is not endless
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")
    assert page.evaluate("document.documentElement.scrollHeight") < (
        33_000 if width > 1000 else 60_000
    )  # all our statements, each with its hypotheses, start, rates and when a prediction held: 32,007, and 56,500 on a phone
    if width > 1000:  # on a phone long formulas may scroll
        formulas = "[...document.querySelectorAll('mjx-container[display=true]')]"
        assert page.evaluate(formulas + ".every(formula => formula.scrollWidth <= formula.clientWidth + 2)")
    # what is cut off shows so, and can be reached with the keyboard
    hidden = "[...document.querySelectorAll('main :is(pre, mjx-container[display=true], table)')]"
    hidden += ".filter(box => box.checkVisibility() && box.scrollWidth > box.clientWidth + 2)"
    hidden += ".filter(box => getComputedStyle(box).overflowX != 'visible')"
    page.wait_for_function(hidden + ".every(box => box.classList.contains('cut') && box.tabIndex === 0)")


@pytest.fixture(scope="module")
def weights():
    """Bytes of each page and all that it loads, what the cache had counts, too; the median is a light one's."""
    found = []
    yield found
    assert not found or median(found) < 2_000_000


BYTES = "performance.getEntries().reduce((sum, entry) => sum + (entry.encodedBodySize ?? 0), 0)"


@pytest.mark.parametrize("name", PAGES)
def test_page(visit, look_at, weights, name):
    """Loaded in one of the four looks; then the window gets the other width and theme, as when a phone is turned at dusk."""
    turn = PAGES.index(name) % 4
    look, other = LOOKS[turn], LOOKS[turn ^ 1]
    page = look_at(name, look)
    weights.append(page.evaluate(BYTES))
    is_in_order(page, look[0])
    assert page.evaluate("[...document.images].every(image => image.naturalWidth > 0 || image.loading === 'lazy')")
    assert page.evaluate("window.shifted") < 0.05
    for exercise, titles in page.locator("article .exercise").evaluate_all(SOLUTIONS):
        assert any(title.startswith("Solution") for title in titles), (exercise, titles)
        assert not any("code cell" in title for title in titles), (exercise, titles)
    assert page.evaluate(CUT_SOURCES) == []
    page.set_viewport_size({"width": other[0], "height": 900})
    page.emulate_media(color_scheme=other[1])
    page.wait_for_function(f"document.documentElement.dataset.theme === '{other[1]}'")
    is_in_order(page, other[0])
    if os.environ.get("AXE") == "all":
        assert not [found for each in LOOKS if (found := axe(visit(name, each)))]
    else:
        assert not axe(page)


@pytest.mark.parametrize("style", ["color: #aaa", "background: #666"])
def test_pale_words_are_found_among_words_that_look_like_others(visit, style):
    page = visit("book/reading.html", LOOKS[0])
    assert not axe(page)
    page.evaluate(f"""() => {{
        const words = document.querySelector("article section > p").cloneNode(true);
        words.style = "{style}";
        document.querySelector("article section").append(words);
    }}""")
    assert [name for name, *_ in axe(page)] == ["color-contrast"]


# As a reader -----------------------------------------------------------------------------------------------------------


def chapter_with(text):
    return next(name for name in PAGES if text in (BUILT / name).read_text(encoding="utf-8"))


def test_launch_and_download_buttons(visit):
    page = visit(next(name for name in PAGES if (ROOT / name).with_suffix(".ipynb").is_file()))
    links = page.eval_on_selector_all("a", "links => links.map(link => link.href)")
    assert any("mybinder.org" in link for link in links)
    assert any("colab.research.google.com" in link for link in links)
    assert any(link.endswith(".ipynb") for link in links)


def test_verdict_cards_link_to_their_rows(visit):
    page = visit(chapter_with('class="verdict shown'))
    page.evaluate("document.querySelectorAll('main details').forEach(fold => (fold.open = true))")
    link = page.locator(".verdict > .about > a[href*='ledger.html#']").first
    row = link.get_attribute("href").split("#")[1]
    link.click()
    page.wait_for_url("**/ledger.html#*")
    assert page.locator(f"details.ledger-row#{row}").is_visible()


def test_cite_this(visit):
    page = visit(chapter_with('class="verdict shown'))
    page.evaluate("document.querySelectorAll('main :is(.verdicts, .verdict)').forEach(fold => (fold.open = true))")
    page.locator("details.cite > summary").first.click()
    cited = page.locator(".cite-address").first
    assert cited.is_visible() and re.search(r"version \d+\.\d+\.\d+, statement \S+, https://\S+#\S+", cited.inner_text())


def test_filters_work_and_stand_in_the_address(visit):
    page = visit("book/ledger/ledger.html")
    page.select_option("select[name=outcome]", "false")
    shown = page.locator(".ledger-row:not([hidden])")
    assert shown.count() == page.locator(".ledger-row[data-outcome=false]").count() > 0
    assert page.url.endswith("?outcome=false")
    again = visit("book/ledger/ledger.html?paper=jelassi2022&q=theorem+3.1")
    assert again.locator(".ledger-row#jelassi2022-theorem-3-1").is_visible()
    assert "corrected" in again.locator("#jelassi2022-theorem-3-1 > summary").inner_text()
    assert not again.locator("#deng2023-equation-1").is_visible()
    again.locator("button[type=reset]").click()
    again.wait_for_function("location.search === ''")


def test_a_row_opens_with_the_keyboard_and_shows_its_box(visit):
    name = "book/ledger/ledger.html"
    row = re.search(r'<details class="ledger-row" id="([^"]+)"(?:(?!</details>).)*?<template', (BUILT / name).read_text(), re.S)
    if row is None:
        pytest.skip("no row names its box yet")
    page = visit(f"{name}#{row[1]}")
    page.locator(f"#{row[1]} > summary").focus()
    if not page.evaluate(f"document.getElementById('{row[1]}').open"):
        page.keyboard.press("Enter")
    page.wait_for_selector(f"#{row[1]} .proof")


def test_the_graph_is_whole_in_the_window_and_shows_a_subgraph(visit):
    for look in (WIDE, PHONE):
        page = visit("book/ledger/graph.html", look)
        boxes = page.locator(".node").evaluate_all(
            "nodes => nodes.map(node => node.getBoundingClientRect()).map(r => [r.left, r.right])"
        )
        assert all(left >= 0 and right <= look[0] for left, right in boxes)
    assert page.locator("svg[role=img] a").count() == 0
    node = page.locator(".node:not([data-uses=''])").first
    node.focus()
    assert page.locator(".graph path.near").count() > 0
    only = visit("book/ledger/graph.html?statement=" + node.get_attribute("id").removeprefix("graph-"))
    button = only.locator(".graph button").first
    assert "Show all" in button.inner_text()
    few = only.locator(".node:visible").count()
    button.click()
    assert only.locator(".node:visible").count() > few


def test_previews_by_mouse_and_keyboard(visit):
    page = visit("book/intro.html")
    link = page.locator("article a[href*='#thm-']").first
    link.hover()
    page.wait_for_selector(".preview:not([hidden]) .proof")
    page.keyboard.press("Escape")
    assert page.locator(".preview").is_hidden()
    page.mouse.move(1, 1)
    page.keyboard.press("Tab")
    link.focus()
    page.wait_for_selector(".preview:not([hidden])")
    assert link.get_attribute("aria-describedby") == "preview"
    graph = visit("book/ledger/graph.html")
    graph.locator(".node").first.hover()
    graph.wait_for_selector(".preview:not([hidden]) .outcome")


def test_statements_are_in_the_inventory():
    from sphinx.util.inventory import InventoryFile

    with (BUILT / "objects.inv").open("rb") as file:
        rows = InventoryFile.load(file, "", lambda base, page: page)["ledger:row"]
    assert "Lemma D.4" in rows["bombari2024/lemma-d.4"][3]


@pytest.mark.parametrize("look", [WIDE, PHONE], ids=str)
def test_pictures_open_large_by_mouse_keyboard_and_touch(visit, look):
    page = visit(chapter_with('<figure class="align-default"'), look, has_touch=True)
    button, dialog = page.locator("button.enlarge").first, page.locator("dialog.enlarged")
    button.scroll_into_view_if_needed()
    small = button.locator("img").bounding_box()["width"]
    button.focus()
    for open_it in (lambda: page.keyboard.press("Enter"), button.tap, button.click):
        open_it()
        page.wait_for_function("document.querySelector('.enlarged[open] img')?.clientWidth")
        large = dialog.locator("img").bounding_box()
        assert large["width"] > 1.2 * small and dialog.get_attribute("aria-label") == button.locator("img").get_attribute("alt")
        frame = dialog.bounding_box()
        assert frame["x"] >= 0 and frame["x"] + frame["width"] <= look[0]
        page.keyboard.press("ArrowRight")  # a picture wider than a phone scrolls
        page.wait_for_function("!(d => d.scrollWidth > d.clientWidth && !d.scrollLeft)(document.querySelector('.enlarged'))")
        page.keyboard.press("Escape")
        assert not dialog.is_visible()
        assert page.evaluate("document.activeElement.className") == "enlarge"
    button.click()
    page.wait_for_selector(".enlarged[open] img")
    assert not axe(page)
    dialog.locator("button").click()
    assert not dialog.is_visible()


MOVABLE = """
from theorybook.interactive_plot import interactive_plot
rows = [[1, 2, 3], [3, 2, 1], [1, 1, 1]]
picture = interactive_plot([1, 2, 3], {"a": rows}, ("p", [10, 20, 30]), alt="a", captions=["up", "down", "flat"], start=10)
"""


@pytest.mark.parametrize("look", [WIDE, PHONE], ids=str)
def test_movable_by_mouse_keyboard_and_touch(visit, look):
    names = {}
    exec(MOVABLE, names)
    page = visit("book/notation.html", look, has_touch=True)
    page.evaluate(
        """html => {
        const box = document.createElement("div");
        box.innerHTML = html;
        document.querySelector("article").prepend(box);
        const script = document.createElement("script");
        script.textContent = box.querySelector("script").textContent;
        document.body.append(script);
    }""",
        names["picture"]._repr_html_(),
    )
    figure = page.locator("figure.movable")
    path, slider, says = figure.locator("path[data-curve]"), figure.locator("input[type=range]"), figure.locator("output")
    drawn = {path.get_attribute("d")}
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert says.inner_text() == "down" and slider.get_attribute("aria-valuetext") == "p = 20"
    drawn.add(path.get_attribute("d"))
    place = slider.bounding_box()
    page.mouse.click(place["x"] + place["width"] - 4, place["y"] + place["height"] / 2)
    assert says.inner_text() == "flat"
    drawn.add(path.get_attribute("d"))
    page.touchscreen.tap(place["x"] + 4, place["y"] + place["height"] / 2)
    assert says.inner_text() == "up" and len(drawn) == 3 and path.get_attribute("d") in drawn
    assert not axe(page)


def test_a_page_prints_with_its_folds_open(visit, tmp_path):
    page = visit("book/reading.html")
    page.pdf(path=tmp_path / "page.pdf", tagged=True, outline=True)
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


def test_statements_script_and_previews_are_reproducible():
    for path in (BUILT / "_static" / "previews").glob("*.js"):
        words = path.read_text(encoding="utf-8")
        json.loads(words.removeprefix("window.bookPreviews = ").removesuffix(";\n"))
        assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-", path.name)


def test_a_wide_formula_of_a_line_scrolls_on_a_phone(visit):
    page = visit("book/separation/threshold.html", PHONE)
    wide = "[...document.querySelectorAll('article span.math')].filter(box => box.checkVisibility())"
    wide += ".filter(box => box.querySelector('mjx-math')?.offsetWidth > box.clientWidth + 2)"
    page.wait_for_function(f"{wide}.length && {wide}.every(box => box.classList.contains('cut') && box.tabIndex === 0)")


def test_a_formula_of_a_line_does_not_push_the_next_line_down(visit):
    page = visit("book/separation/self-attention-ones.html", PHONE)
    height = "box => box.clientHeight / parseFloat(getComputedStyle(box).lineHeight)"
    lines = page.locator("article section > p:has(span.math)").evaluate_all(f"boxes => boxes.map({height})")
    assert lines and all(abs(n - round(n)) < 0.05 for n in lines)


def test_the_table_below_a_movable_picture_has_powers_of_ten(visit):
    page = visit("book/exponential/record/training.html")
    page.evaluate("document.querySelectorAll('.movable details').forEach(fold => (fold.open = true))")
    slider, table = page.locator(".movable input").last, page.locator(".movable table").last
    for key in ("Home", "ArrowRight", "End"):
        slider.press(key)
        assert not re.search(r"\de[-+]?\d", table.inner_text()) and "10⁻" in table.inner_text()
