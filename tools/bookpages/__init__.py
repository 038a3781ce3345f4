"""The book's own Sphinx extension: pages made from the ledger, statements as objects, and what is done to finished pages."""

import gc
import importlib
import inspect
import os
import tomllib
from functools import cache
from pathlib import Path

import yaml

from . import docstrings, ledger, search
from .finish import finish_pages, numbered_boxes

ROOT = Path(__file__).resolve().parents[2]
#: Pages that show what stands in others: always written again.
GATHERED = ("book/ledger/ledger", "book/ledger/errata", "book/ledger/graph", "book/ledger/own", "book/found", "book/intro")


def version() -> str:
    """Of the library, which is the book's."""
    return tomllib.loads((ROOT / "lib" / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


@cache
def repository() -> dict[str, str]:
    """``url`` and ``branch`` of the repository."""
    return yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["repository"]


def address() -> str:
    """Where the book is published: GitHub's pages of the repository."""
    owner, name = repository()["url"].rstrip("/").split("/")[-2:]
    return f"https://{owner}.github.io/{name}"


def source(domain: str, info: dict[str, str]) -> str | None:
    """Where the lines of a function or class stand in the repository; None for what has none, such as a field."""
    thing = importlib.import_module(info["module"])
    try:
        for name in info["fullname"].split("."):
            thing = getattr(thing, name)
        thing = inspect.unwrap(thing)
        path = Path(inspect.getsourcefile(thing)).relative_to(ROOT)
        lines, first = inspect.getsourcelines(thing)
    except (AttributeError, TypeError, OSError, ValueError):
        return None
    return "{url}/blob/{branch}/".format(**repository()) + f"{path.as_posix()}#L{first}-L{first + len(lines) - 1}"


def _configure(app, config):
    config.project = config.html_title or config.project
    config.version = config.release = version()
    config.linkcode_resolve = source
    config.html_context["address"] = address()
    config.html_theme_options["extra_footer"] = f"Version {version()}. Every number on these pages was computed by them."


def _own_search(app):
    """No index of Sphinx's: the search page has its own, over sections and statements."""
    app.builder.search = False


def _outdated(app, env, added, changed, removed):
    return [name for name in GATHERED if name in env.found_docs]


def _write_side_by_side(app, env):
    app.parallel = os.cpu_count() or 1  # reading is serial: sphinx_proof cannot merge what two processes read


def _finish(app, exception):
    if exception is None and app.builder.format == "html":
        folder = Path(app.outdir)
        found = search.documents(app, numbered_boxes(folder))
        (folder / "_static" / "documents.js").write_text(search.script(found), encoding="utf-8")
        finish_pages(folder, version(), address())


def setup(app):
    gc.disable()  # collections over all pages' trees, which stay until the end, were two fifths of a build
    app.setup_extension("sphinx.ext.linkcode")
    app.add_domain(ledger.LedgerDomain)
    app.add_directive("ledger", ledger.LedgerDirective)
    app.add_directive("finding", ledger.Finding)
    app.connect("config-inited", _configure)
    app.connect("autodoc-skip-member", docstrings.skip_constants)
    app.connect("autodoc-process-docstring", docstrings.escape_bars)
    app.connect("autodoc-process-docstring", docstrings.name_statements)
    app.connect("builder-inited", _own_search)
    app.connect("doctree-read", search.number_symbols)
    app.connect("env-get-outdated", _outdated)
    app.connect("env-updated", _write_side_by_side)
    app.connect("build-finished", _finish)
    return {"parallel_read_safe": True, "version": version()}
