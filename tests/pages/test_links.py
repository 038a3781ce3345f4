"""Links of the built pages: every internal one has a target, and nothing loads from elsewhere."""

from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest
from conftest import ROOT

BUILT = ROOT / "_build" / "html"
PAGES = sorted(BUILT.rglob("*.html"))
OWN = [page for page in PAGES if not {"_static", "_modules"} & set(page.relative_to(BUILT).parts)]


class Links(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.anchors.update(filter(None, (attributes.get("id"), attributes.get("name"))))
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        loads = tag == "link" and attributes.get("rel") in ("stylesheet", "preload", "icon")
        address = attributes.get("src") or (attributes.get("href") if loads else None)
        if tag in ("script", "img", "link", "iframe") and address:
            self.loaded.append(address)


@pytest.fixture(scope="module")
def parsed():
    return {page: Links(page.read_text(encoding="utf-8")) for page in OWN}


def test_the_book_is_built():
    assert (BUILT / "book" / "intro.html") in PAGES, "run make html first"


def test_internal_links_lead_somewhere(parsed):
    broken = []
    for page, found in parsed.items():
        for link in found.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if not target.exists() or (
                parts.fragment and target in parsed and unquote(parts.fragment) not in parsed[target].anchors
            ):
                broken.append((page.name, link))
    assert not broken


def test_pages_load_nothing_from_elsewhere(parsed):
    remote = {(page.name, address) for page, found in parsed.items() for address in found.loaded if "//" in address}
    assert not remote
