"""Fixtures of the tests of the built pages: a server, a browser, windows of several looks."""

from functools import partial
from http.server import ThreadingHTTPServer
from threading import Thread

import pytest
from browsing import BUILT, CHROMIUM, WIDE, QuietHandler, Reader
from playwright.sync_api import sync_playwright


@pytest.fixture(scope="module")
def address():
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(BUILT)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="module")
def browser():
    flags = ["no-sandbox", "disable-gpu", "disable-background-networking", "disable-component-update", "disable-sync"]
    flags += ["host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"]  # a gate in Python would switch the cache off
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[f"--{flag}" for flag in flags])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def readers(browser, address):
    """``readers(look, **options)``: the same window for all tests of a worker, which therefore share its cache."""
    found = {}

    def reader(look, **options):
        key = (*look, *options.items())
        if key not in found:
            found[key] = Reader(browser, address, look, **options)
        return found[key]

    yield reader
    for one in found.values():
        one.context.close()


@pytest.fixture
def visit(readers):
    """``visit(name, look)``: a page at one width and theme, in a new tab."""
    used = []

    def open_page(name, look=WIDE, **options):
        used.append(readers(look, **options))
        return used[-1].go(name, used[-1].context.new_page())

    yield open_page
    for reader in used:
        reader.check()


@pytest.fixture
def look_at(readers):
    """``look_at(name, look)``: the same in the tab where nobody moves the mouse or presses a key."""
    used = []

    def open_page(name, look=WIDE):
        used.append(readers(look))
        return used[-1].look_at(name)

    yield open_page
    for reader in used:
        reader.check()
