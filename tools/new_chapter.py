"""Begin a chapter: ``make chapter NAME=<part>/<slug>`` writes it, its record and its letters, and
adds both to the contents.

    python tools/new_chapter.py separation/my-chapter

They are ``tools/chapter.md`` and ``tools/record.md``, placeholders with all their pieces in order,
which pass every form test. Then follow "Add a statement" in CONTRIBUTING.md; "Add a chapter" says
how to take them back.
"""

import argparse
import os
import re
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
#: The chapter's own table in book/notation.md, with the letters of the placeholder.
LETTERS = """(@PART@-@SLUG@-letters)=
### @TITLE@

| symbol | meaning | from |
|---|---|---|
| $r$ | contrast: how many times as much weight a key gets as one rival | the situation |
| $n$ | number of keys | the situation |

"""


def begin(name: str, root: Path = ROOT) -> tuple[Path, Path]:
    """Write the chapter, its record, their entries in the contents and its letters; the paths of
    the two.

    Raises:
        ValueError: no name of the form <part>/<slug>, an unknown part, or a chapter that is there
            already.
    """
    if not re.fullmatch(r"[a-z]+/[a-z0-9]+(-[a-z0-9]+)*", name):
        raise ValueError(
            f"{name!r} is not allowed: write <part>/<slug> in small letters, digits and hyphens, "
            "as separation/my-chapter"
        )
    part, slug = name.split("/")
    page = root / "book" / part / f"{slug}.md"
    toc = (root / "_toc.yml").read_text(encoding="utf-8")
    entries = re.findall(
        rf"^ *- file: book/{part}/[^/\n]*\n(?: *sections:\n *- file: .*\n)?", toc, flags=re.M
    )
    if not entries:
        parts = dict.fromkeys(re.findall(r"file: book/(?!ledger)([a-z]+)/.*\.ipynb", toc))
        raise ValueError(f"there is no part {part!r} in _toc.yml; its parts are {', '.join(parts)}")
    if page.exists():
        raise ValueError(
            f"{page.relative_to(root)} is there already; run it with theorybook.tools.execute, or "
            "choose another name"
        )
    repository = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))["repository"]
    address = {"URL": repository["url"], "BRANCH": repository["branch"]}
    values = {"TITLE": slug.replace("-", " ").capitalize(), "PART": part, "SLUG": slug, **address}
    record = page.parent / "record" / page.name
    record.parent.mkdir(exist_ok=True)

    def filled(text: str) -> str:
        return re.sub(r"@([A-Z]+)@", lambda found: values[found[1]], text)

    for source, target in (("chapter.md", page), ("record.md", record)):
        target.write_text(
            filled((ROOT / "tools" / source).read_text(encoding="utf-8")), encoding="utf-8"
        )
    notation = root / "book" / "notation.md"
    letters = notation.read_text(encoding="utf-8")
    if f"({part}-{slug}-letters)=" not in letters:  # left over from a chapter that was taken back
        tables = re.search(
            rf"^\({part}-letters\)=\n## .*?(?=^(?:\([a-z]+-letters\)=\n)?## )",
            letters,
            flags=re.M | re.S,
        )
        notation.write_text(
            letters[: tables.end()] + filled(LETTERS) + letters[tables.end() :], encoding="utf-8"
        )
    line = re.match(r" *- file: ", entries[-1])[0]
    below = re.sub(r"\S", " ", line[: line.index("file")])
    added = (
        f"{line}book/{part}/{slug}.ipynb\n{below}sections:\n{below}  - file: "
        f"book/{part}/record/{slug}.ipynb\n"
    )
    if added not in entries:  # left over from a chapter that was taken back
        (root / "_toc.yml").write_text(
            toc.replace(entries[-1], entries[-1] + added), encoding="utf-8"
        )
    return page, record


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", help="<part>/<slug>")
    try:
        sources = begin(parser.parse_args().name)
    except ValueError as error:
        parser.error(str(error))
    from theorybook.tools.execute import execute

    os.environ.pop("MPLBACKEND", None)  # a backend without a screen would store no picture
    failures = list(filter(None, map(execute, sources)))
    page, record = (source.relative_to(ROOT).as_posix() for source in sources)
    stored = "" if failures else ", their .ipynb"
    print(
        *failures,
        f"{page}, {record}{stored}, their lines in _toc.yml, letters in book/notation.md stand",
        sep="\n",
    )
    print(
        f"Change the .md, then:\n    .venv/bin/python -m theorybook.tools.execute {page} {record}"
    )
    chosen = f"test_ledger or {page[5:-3]} or {record[5:-3]}.ipynb"
    print(
        "    .venv/bin/python -m pytest -q tests/test_ledger.py tests/test_notebooks.py "
        f"tests/test_letters.py -k '{chosen}'"
    )
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
