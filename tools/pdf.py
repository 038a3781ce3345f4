"""The whole book as one PDF, ``_build/attention-theory.pdf``: outline, page numbers, working
references.

    python tools/pdf.py [--out FILE] [page ...]

Chromium prints each page of the built book once MathJax is done; the files are joined, and links
between pages lead to the place in the joined file.
"""

import argparse
import re
import shutil
import sys
from io import BytesIO
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from playwright.sync_api import Page, sync_playwright
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, FloatObject, NameObject, NullObject, TextStringObject
from theorybook.book import address as published
from theorybook.book import pages as contents
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
BUILT = ROOT / "_build" / "html"
#: Where the browser finds the built pages: no server is asked.
HERE = "http://book"
PAPER = {
    "format": "A4",
    "margin": {"top": "16mm", "bottom": "18mm", "left": "15mm", "right": "15mm"},
    "scale": 0.86,
}


def pages() -> list[str]:
    """All pages in the book's order, the landing page first."""
    return [f"{page}.html" for page in contents()]


def referenced(names: list[str]) -> dict[str, set[str]]:
    """Page -> its anchors that some page of the list links to."""
    wanted: dict[str, set[str]] = {name: set() for name in names}
    for name in names:
        for link in re.findall(
            r'<a [^>]*href="([^"]+)"', (BUILT / name).read_text(encoding="utf-8")
        ):
            target, _, anchor = unquote(urljoin(name, link)).partition("#")
            if target.partition("?")[0] in wanted and anchor:
                wanted[target.partition("?")[0]].add(anchor)
    return wanted


#: Chromium writes a destination for an anchor only where the same page links to it: so it gets
#: links that nobody sees.
LINKS = """anchors => {
  const box = document.createElement("div");
  box.setAttribute("aria-hidden", "true");
  box.style = "font-size:1px;line-height:1px;color:transparent";
  for (const anchor of anchors)
    if (document.getElementById(anchor)) {
      const link = document.createElement("a");
      link.href = "#" + anchor;
      link.textContent = ".";
      box.append(link);
    }
  document.querySelector("article").append(box);
  for (const image of document.images) image.loading = "eager";
}"""


def printed(page: Page, address: str, anchors: set[str]) -> PdfReader:
    """One page as a PDF of its own."""
    page.goto(address, wait_until="load")
    page.evaluate(
        "dispatchEvent(new Event('beforeprint'))"
    )  # formulas that are set when they come into view
    page.wait_for_function("!document.querySelector('.unset')")
    page.evaluate(LINKS, sorted(anchors))
    page.wait_for_function("[...document.images].every(image => image.complete)")
    headings = page.evaluate(
        "[...document.querySelectorAll('h1, h2, h3, h4')].map(heading => heading.innerText)"
    )
    reader = PdfReader(BytesIO(page.pdf(**PAPER, tagged=True, outline=True, print_background=True)))
    spell_outline(reader, headings)
    return reader


def spell_outline(reader: PdfReader, headings: list[str]) -> None:
    """Give the entries the spaces that Chromium drops where a heading goes on in a second line."""
    spelled = {
        re.sub(r"\s", "", text).rstrip("#"): " ".join(text.split()).rstrip("#") for text in headings
    }
    entries = [reader.trailer["/Root"].get("/Outlines", {})]
    for entry in entries:
        entry = entry.get_object() if hasattr(entry, "get_object") else entry
        if found := spelled.get(re.sub(r"\s", "", str(entry.get("/Title", "")))):
            entry[NameObject("/Title")] = TextStringObject(found)
        entries += [entry[key] for key in ("/First", "/Next") if key in entry]


def numbers(page: Page, count: int) -> PdfReader:
    """Empty pages with their numbers at the foot."""
    sheets = "".join(
        f'<div style="height:296mm;page-break-after:always;position:relative"><p>{k}</p></div>'
        for k in range(1, count + 1)
    )
    style = (
        "@page{margin:0;size:A4}body{margin:0}p{position:absolute;bottom:2mm;width:100%;"
        "text-align:center;font:9pt sans-serif}"
    )
    page.set_content(f"<style>{style}</style>{sheets}")
    return PdfReader(BytesIO(page.pdf(prefer_css_page_size=True)))


def joined(parts: dict[str, PdfReader]) -> PdfWriter:
    """One document: each part with its outline, every link to one of the parts leading into it."""
    writer, places, first = PdfWriter(), {}, {}
    for name, reader in parts.items():
        first[name] = len(writer.pages)
        for anchor, place in reader.named_destinations.items():
            page = reader.get_destination_page_number(place)
            places[name, anchor.lstrip("/")] = (first[name] + page, float(place.top or 0))
        writer.append(reader, import_outline=True)
    starts = sorted((start, name) for name, start in first.items())
    for index, page in enumerate(writer.pages):
        here = [name for start, name in starts if start <= index][-1]
        for note in page.get("/Annots", []):
            retarget(note.get_object(), here, writer, places, first)
    return writer


def retarget(note, here: str, writer: PdfWriter, places: dict, first: dict) -> None:
    """Make a link to a page of the book a link into this file."""
    if "/Dest" in note and isinstance(note["/Dest"], str):
        uri, target, anchor = "", here, str(note["/Dest"]).lstrip("/")
    else:
        uri = str(note.get("/A", {}).get("/URI", ""))
        if not uri.startswith(HERE + "/"):
            return
        target, _, anchor = unquote(uri[len(HERE) + 1 :]).partition("#")
        target = target.partition("?")[0]
    if target not in first:  # not printed: leads to where the book is published
        note["/A"][NameObject("/URI")] = TextStringObject(f"{published()}/{uri[len(HERE) + 1 :]}")
        return
    index, top = places.get((target, anchor), (first[target], 0))
    place = [
        NameObject("/XYZ"),
        NullObject(),
        FloatObject(top) if top else NullObject(),
        NullObject(),
    ]
    note.pop("/A", None)
    note[NameObject("/Dest")] = ArrayObject([writer.pages[index].indirect_reference, *place])


def book(names: list[str], out: Path) -> None:
    """Print and join pages of the built book.

    Raises:
        FileNotFoundError: a page is not built, or there is no Chromium.
    """
    chromium = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if chromium is None:
        raise FileNotFoundError(
            "printing needs Chromium: install it with your system's package manager"
        )
    wanted = referenced(names)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(color_scheme="light")
        page.route(
            f"{HERE}/**",
            lambda route: route.fulfill(path=BUILT / unquote(urlsplit(route.request.url).path)[1:]),
        )
        parts = {
            name: printed(page, f"{HERE}/{name}", wanted[name])
            for name in tqdm(names, desc="printing", unit="page")
        }
        writer = joined(parts)
        for sheet, number in zip(writer.pages, numbers(page, len(writer.pages)).pages):
            sheet.merge_page(number)
            sheet.compress_content_streams()
        browser.close()
    writer.add_metadata(
        {"/Title": "Why softmax attention works", "/Author": "The attention-theory authors"}
    )
    writer.compress_identical_objects()
    partial_file = out.with_suffix(".partial")
    writer.write(partial_file)
    partial_file.replace(out)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "pages", nargs="*", help="addresses below _build/html; all pages if none is given"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "_build" / "attention-theory.pdf")
    arguments = parser.parse_args()
    try:
        book(arguments.pages or pages(), arguments.out)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"The book: {arguments.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
