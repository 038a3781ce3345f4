"""The printed book: outline, page numbers, references that lead into the file."""

import pdf
from pypdf import PdfReader


def test_pages_join_with_outline_numbers_and_working_references(tmp_path):
    names = ["book/intro.html", "book/reading.html", "book/ledger/graph.html"]
    pdf.book(names, tmp_path / "book.pdf")
    printed = PdfReader(tmp_path / "book.pdf")
    titles = [entry.title for entry in printed.outline if not isinstance(entry, list)]
    assert any("How to read a verdict" in title for title in titles)
    assert printed.pages[1].extract_text().rstrip().endswith("2") or "2" in printed.pages[1].extract_text().split()
    inside, outside = 0, []
    for page in printed.pages:
        for note in page.get("/Annots", []):
            note = note.get_object()
            inside += "/Dest" in note
            if "/A" in note:
                outside.append(str(note["/A"].get("/URI", "")))
    assert inside > 5 and not [uri for uri in outside if "127.0.0.1" in uri]


def test_every_page_of_the_book_is_printed():
    assert pdf.pages()[0] == "book/intro.html" and "book/ledger/ledger.html" in pdf.pages()
    assert all((pdf.BUILT / name).is_file() for name in pdf.pages())
