"""The library's API reference: bars of norms |x| are escaped, constants left out, and functions
name their statements.
"""

import re
from collections import defaultdict

from theorybook.sphinx import ledger


def escape_bars(app, what, name, obj, options, lines):
    example = False
    for i, line in enumerate(lines):
        # examples, to the blank line that ends them, and code between double backquotes stay as
        # they are
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not example:
            parts = re.split(r"(``.*?``)", line)
            lines[i] = "".join(part if part.startswith("``") else _plain(part) for part in parts)


def _plain(words: str) -> str:
    """Text escaped so that Sphinx does not take a norm, or a name that ends in an underscore, for
    markup.
    """
    return re.sub(r"(?<![\w`])(\w+)_(?![\w`_])", r"\1\\_", words.replace("|", r"\|"))


def skip_constants(app, what, name, obj, skip, options):
    return skip or (what == "module" and not callable(obj))


def carried() -> dict[str, list]:
    """Function -> the ledger rows that it carries or proves."""
    found = defaultdict(list)
    for entry in ledger.entries().values():
        for function in dict.fromkeys(filter(None, (entry.code, entry.proof))):
            found[function].append(entry)
    return found


def name_statements(app, what, name, obj, options, lines):
    """Add below a function the statements that it carries and the chapters that check them."""
    rows = carried().get(name, [])
    if rows:
        statements = ", ".join(f":ledger:row:`{row.id}` ({row.outcome})" for row in rows)
        chapters = ", ".join(
            f":doc:`/{page}`"
            for page in sorted({ledger.record(row.chapter) for row in rows if row.chapter})
        )
        lines += [
            "",
            f"*Carries* {statements}" + (f"; *checked in* {chapters}" if chapters else ""),
            "",
        ]
