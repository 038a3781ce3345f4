"""Begin a chapter: ``make chapter NAME=<part>/<slug>`` writes it and its record, which pass every form test, and adds both to the
contents.

    python tools/new_chapter.py separation/my-chapter

They are ``tools/chapter.md`` and ``tools/record.md``, placeholders with all their pieces in order. Then follow "Add a statement" in
CONTRIBUTING.md; "Add a chapter" says how to take them back.
"""

import argparse
import os
import re
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]


def begin(name: str, root: Path = ROOT) -> tuple[Path, Path]:
    """Write the chapter, its record and their entries in the contents; the paths of the two.

    Raises:
        ValueError: no name of the form <part>/<slug>, an unknown part, or a chapter that is there already.
    """
    if not re.fullmatch(r"[a-z]+/[a-z0-9]+(-[a-z0-9]+)*", name):
        raise ValueError(
            f"{name!r} is not allowed: write <part>/<slug> in small letters, digits and hyphens, as separation/my-chapter"
        )
    part, slug = name.split("/")
    page = root / "book" / part / f"{slug}.md"
    toc = (root / "_toc.yml").read_text(encoding="utf-8")
    entries = re.findall(rf"^.*file: book/{part}/.*$\n", toc, flags=re.M)
    if not entries:
        parts = dict.fromkeys(re.findall(r"file: book/(?!ledger)([a-z]+)/.*\.ipynb", toc))
        raise ValueError(f"there is no part {part!r} in _toc.yml; its parts are {', '.join(parts)}")
    if page.exists():
        raise ValueError(
            f"{page.relative_to(root)} is there already; run it with theorybook.tools.execute, or choose another name"
        )
    repository = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))["repository"]
    text = (ROOT / "tools" / "chapter.md").read_text(encoding="utf-8")
    address = {"URL": repository["url"], "BRANCH": repository["branch"]}
    for name, value in {"TITLE": slug.replace("-", " ").capitalize(), "PART": part, "SLUG": slug, **address}.items():
        text = text.replace(f"@{name}@", value)
    page.write_text(text, encoding="utf-8")
    last = entries[-1]
    added = re.sub(r"file: \S+", f"file: book/{part}/{slug}.ipynb", last)
    if added not in entries:  # left over from a chapter that was taken back
        (root / "_toc.yml").write_text(toc.replace(last, last + added), encoding="utf-8")
    return page


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", help="<part>/<slug>")
    try:
        page = begin(parser.parse_args().name)
    except ValueError as error:
        parser.error(str(error))
    from theorybook.tools.execute import execute

    os.environ.pop("MPLBACKEND", None)  # a backend without a screen would store no picture
    failure, name = execute(page), page.relative_to(ROOT).as_posix()
    print(
        f"{failure}\n{name} is written, its .ipynb is not" if failure else f"{name}, its .ipynb and its line in _toc.yml stand"
    )
    print(f"Change the .md, then:\n    .venv/bin/python -m theorybook.tools.execute {name}")
    print(
        f"    .venv/bin/python -m pytest -q tests/test_ledger.py tests/test_notebooks.py -k 'test_ledger or {name[5:-3]}.ipynb'"
    )
    return bool(failure)


if __name__ == "__main__":
    sys.exit(main())
