"""``{record} <name>``: a record of ``book/data`` as a table, with the command that made it, when and on what."""

from pathlib import Path

from attention_theory.evidence.records import read_record
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

DATA = Path(__file__).resolve().parents[2] / "book" / "data"


def table(name: str) -> str:
    """The record's rows as a table of Markdown, the sums of its columns of integers below more than one row, and its origin."""
    record = read_record(name, DATA)
    rows, origin = record.rows, record.provenance
    lines = [list(rows[0]), ["---"] * len(rows[0]), *([*row.values()] for row in rows)]
    if len(rows) > 1:
        sums = [sum(column) if all(isinstance(x, int) for x in column) else "" for column in zip(*lines[2:])]
        lines.append(["all", *sums[1:]])
    settings = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in record.settings.items())
    versions = ", ".join(f"{key} {value}" for key, value in origin.get("versions", {}).items())
    words = f"`{origin['command']}` ({settings}), {origin.get('date', '')}, {origin.get('device', '')}, {versions}."
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + f"\n\n{words}\n"


class RecordTable(SphinxDirective):
    """The table of one record, made when the page is built."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        self.env.note_dependency(str(DATA / f"{name}.json"))
        found = nodes.container(classes=["record-table"])
        self.state.nested_parse(StringList(table(name).splitlines(), source=f"{name}.json"), self.content_offset, found)
        return [found]
