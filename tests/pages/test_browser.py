"""Every page in Chromium without a network: math renders, no request leaves the machine, no error, nothing cut off."""

import shutil
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from conftest import ROOT
from playwright.sync_api import sync_playwright

BUILT = ROOT / "_build" / "html"
#: The theme declares its Thebe address twice; Thebe itself is off.
NOT_OURS = ("THEBE_JS_URL",)
PAGES = sorted(path.relative_to(BUILT).as_posix() for path in (BUILT / "book").rglob("*.html"))
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def address():
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(BUILT)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield browser
        browser.close()


@pytest.fixture(params=[(1280, "light"), (390, "dark")], ids=["wide-light", "phone-dark"])
def visit(request, browser, address):
    """Open a page at one width and theme: the page, the requests that wanted to leave, and the console's errors."""
    width, scheme = request.param
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    left, errors = [], []

    def gate(route):
        if route.request.url.startswith((address, "data:", "blob:")):
            route.continue_()
        else:
            left.append(route.request.url)
            route.abort()

    context.route("**/*", gate)

    def go(name):
        page = context.new_page()
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{address}/{name}", wait_until="load")
        page.evaluate("window.MathJax && MathJax.startup.promise")
        return page, left, errors

    yield go
    context.close()


def test_there_are_pages_and_a_browser():
    assert CHROMIUM and "book/intro.html" in PAGES


@pytest.mark.parametrize("name", PAGES)
def test_page(visit, name):
    page, left, errors = visit(name)
    assert page.locator("h1").first.inner_text()
    assert page.locator("mjx-merror").count() == 0
    # every piece of TeX became MathJax output
    assert page.locator(".math").count() == 0 or page.locator("mjx-container").count() > 0
    # the page itself does not scroll sideways
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")
    if page.viewport_size["width"] > 1000:  # on a phone long formulas may scroll
        formulas = "[...document.querySelectorAll('mjx-container[display=true]')]"
        assert page.evaluate(formulas + ".every(formula => formula.scrollWidth <= formula.clientWidth + 2)")
    assert page.evaluate("[...document.querySelectorAll('main img')].every(image => image.naturalWidth > 0)")
    assert not left
    assert not [error for error in errors if not any(known in error for known in NOT_OURS)]


def test_launch_and_download_buttons(visit, request):
    chapters = [name for name in PAGES if (ROOT / name).with_suffix(".ipynb").is_file()]
    page, *_ = visit(chapters[0])
    links = page.eval_on_selector_all("a", "links => links.map(link => link.href)")
    assert any("mybinder.org" in link for link in links)
    assert any("colab.research.google.com" in link for link in links)
    assert any(link.endswith(".ipynb") for link in links)


def test_verdict_cards_link_to_their_rows(visit):
    chapters = [name for name in PAGES if 'class="verdict ' in (BUILT / name).read_text(encoding="utf-8")]
    page, *_ = visit(chapters[0])
    link = page.locator(".verdict a").first
    row = link.get_attribute("href").split("#")[1]
    link.click()
    page.wait_for_url("**/ledger.html#*")
    assert page.locator(f"tr#{row}").count() == 1
