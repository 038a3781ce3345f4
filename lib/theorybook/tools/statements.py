"""Copy the boxes of the chapters into the ledger: a box is the source of the row that belongs to
it.

A row whose ``label`` no other row has takes its ``hypotheses``, ``statement``, ``constants`` and
``scope`` from the paragraphs *Hypotheses.*, *Claim.*, *Constants.* and *Scope.* of that box, if it
has the first two.

    python -m theorybook.tools.statements
"""

import re
from collections import Counter
from functools import cache
from pathlib import Path

from theorybook import Entry, book, load_ledger, record_of

#: Field of a row -> the word with which its paragraph in the box begins, in the order in which both
#: are written.
PARAGRAPHS = {
    "hypotheses": "Hypotheses",
    "statement": "Claim",
    "constants": "Constants",
    "scope": "Scope",
}
BOX = re.compile(
    r"^(:{3,}|`{3,})\{prf:\w+\}([^\n]*)\n((?::[\w-]+:[^\n]*\n)*)(.*?)^\1[ \t]*$", re.M | re.S
)


@cache
def titles() -> dict[str, str]:
    """Label -> title of every box of the book."""
    found = (
        match
        for path in sorted((book.root() / "book").rglob("*.md"))
        for match in BOX.finditer(path.read_text(encoding="utf-8"))
    )
    named = {label[1]: box[2] for box in found if (label := re.search(r":label:\s*(\S+)", box[3]))}
    return {
        label: re.sub(r"\{[\w:]+\}`([^`]*)`", r"\1", title).strip()
        for label, title in named.items()
    }


def words(markdown: str) -> str:
    """One line of text with TeX between dollars: no roles, no emphasis, no labels of equations."""

    def role(found: re.Match) -> str:
        said, _, target = found[1].removesuffix(">").partition("<")
        name = titles().get(said, "")
        return said.strip() if target or not name else f"“{name}”"

    pieces = re.split(r"(\$\$.*?\$\$|\$[^$]+\$)", markdown, flags=re.S)
    for i in range(0, len(pieces), 2):
        text = re.sub(r"\{[\w:]+\}`([^`]*)`", role, pieces[i])
        text = (
            re.sub(r"^\s*\([\w-]+\)(?=\s|$)", "", text)
            if i and pieces[i - 1].startswith("$$")
            else text
        )  # its label
        text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"^[-*] ", "• ", text, flags=re.M))
        pieces[i] = re.sub(r"(\*\*|\*|`)(?=\S)(.+?)(?<=\S)\1", r"\2", text, flags=re.S)
    return re.sub(r"\s+", " ", "".join(pieces)).strip()


def said(box: str) -> dict[str, str]:
    """Field -> text of the paragraphs of a box; empty for one without hypotheses and claim."""
    pieces = re.split(r"^\*([A-Z]\w*)\.\*", box, flags=re.M)
    parts = dict(zip(pieces[1::2], map(words, pieces[2::2])))
    complete = parts.get("Hypotheses") and parts.get("Claim")
    return {field: parts.get(name, "") for field, name in PARAGRAPHS.items()} if complete else {}


def of_boxes(rows: list[Entry]) -> dict[str, dict[str, str]]:
    """Row -> its fields as its box states them, for rows with a box of their own that has them."""
    shared = Counter(row.label for row in rows)
    found = {}
    for row in rows:
        if not row.chapter or not row.label or shared[row.label] > 1:
            continue
        folder = book.root() / "book"
        for page in {row.chapter, record_of(row.chapter, folder)}:
            for box in BOX.finditer((folder / f"{page}.md").read_text(encoding="utf-8")):
                if re.search(rf":label:\s*{re.escape(row.label)}\s*$", box[3], re.M) and (
                    fields := said(box[4])
                ):
                    found[row.id] = fields
    return found


def differing() -> dict[Path, dict[str, dict[str, str]]]:
    """File of the ledger -> its rows that differ from their boxes, with the boxes' fields."""
    ledger = {
        path: load_ledger(path) for path in sorted((book.root() / "book" / "ledger").glob("*.yml"))
    }
    boxes = of_boxes([row for rows in ledger.values() for row in rows.values()])
    rows = {id: row for part in ledger.values() for id, row in part.items()}
    other = {
        id: box
        for id, box in boxes.items()
        if any(getattr(rows[id], name) != text for name, text in box.items())
    }
    return {path: {id: other[id] for id in rows if id in other} for path, rows in ledger.items()}


def written(row: str, fields: dict[str, str]) -> str:
    """The text of a row with these fields in place of its ``statement``."""
    lines = [
        f"  {field}: '{text.replace(chr(39), 2 * chr(39))}'\n"
        for field, text in fields.items()
        if text
    ]
    one = r"^  {}:.*\n(?:   .*\n|\n(?=   ))*"  # with the lines that continue it
    row = re.sub(
        "|".join(one.format(field) for field in fields if field != "statement"), "", row, flags=re.M
    )
    return re.sub(one.format("statement"), lambda _: "".join(lines), row, count=1, flags=re.M)


if __name__ == "__main__":
    for path, rows in differing().items():
        pieces = re.split(r"(?m)^(?=- id: )", path.read_text(encoding="utf-8"))
        ids = [piece.partition("\n")[0].removeprefix("- id:").strip(" '\"") for piece in pieces]
        path.write_text(
            "".join(written(p, rows[id]) if id in rows else p for id, p in zip(ids, pieces)),
            encoding="utf-8",
        )
        print(*(f"{id}: as its box" for id in rows), sep="\n", end="\n" if rows else "")
