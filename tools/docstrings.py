"""Sphinx extension for the library's reference: |x| is a norm in docstrings, and constants stay with the source."""

import re


def escape_bars(app, what, name, obj, options, lines):
    # code between double backquotes stays as it is
    lines[:] = ["".join(part if part.startswith("``") else part.replace("|", r"\|") for part in re.split(r"(``.*?``)", line)) for line in lines]


def skip_constants(app, what, name, obj, skip, options):
    return skip or (what == "module" and not callable(obj))


def setup(app):
    app.connect("autodoc-skip-member", skip_constants)
    app.connect("autodoc-process-docstring", escape_bars)
    return {"parallel_read_safe": True}
