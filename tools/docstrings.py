"""Sphinx extension: in docstrings |x| is a norm, not a reStructuredText substitution."""

import re


def escape_bars(app, what, name, obj, options, lines):
    # code between double backquotes stays as it is
    lines[:] = ["".join(part if part.startswith("``") else part.replace("|", r"\|") for part in re.split(r"(``.*?``)", line)) for line in lines]


def setup(app):
    app.connect("autodoc-process-docstring", escape_bars)
    return {"parallel_read_safe": True}
