"""Sphinx extension for the library's reference: |x| is a norm in docstrings, and constants stay with the source."""

import re


def escape_bars(app, what, name, obj, options, lines):
    example = False
    for i, line in enumerate(lines):
        # examples, to the blank line that ends them, and code between double backquotes stay as they are
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not example:
            parts = re.split(r"(``.*?``)", line)
            lines[i] = "".join(part if part.startswith("``") else part.replace("|", r"\|") for part in parts)


def skip_constants(app, what, name, obj, skip, options):
    return skip or (what == "module" and not callable(obj))


def setup(app):
    app.connect("autodoc-skip-member", skip_constants)
    app.connect("autodoc-process-docstring", escape_bars)
    return {"parallel_read_safe": True}
