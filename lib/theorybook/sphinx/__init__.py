"""The Sphinx extension of a book of verdicts: ledger pages, statements as objects, finished
pages.
"""

import gc
import inspect
import os
import pkgutil
import sys
from pathlib import Path

from myst_nb.sphinx_ import HideCodeCellNode

from theorybook import book
from theorybook.book import address, clone, repository, version
from theorybook.sphinx import docstrings, ledger, pages, search
from theorybook.sphinx.finish import finish_pages, numbered_boxes

#: Pages whose content comes from other pages: always written again.
GATHERED = (
    "book/ledger/ledger",
    "book/ledger/errata",
    "book/ledger/graph",
    "book/ledger/own",
    "book/found",
    "book/intro",
)


def source(domain: str, info: dict[str, str]) -> str | None:
    """URL of the lines of a function or class in the repository; None for objects without source,
    such as fields.
    """
    try:
        thing = inspect.unwrap(pkgutil.resolve_name("{module}:{fullname}".format(**info)))
        path = Path(inspect.getsourcefile(thing)).relative_to(clone())
        lines, first = inspect.getsourcelines(thing)
    except (AttributeError, TypeError, OSError, ValueError):
        return None
    return (
        "{url}/blob/{branch}/".format(**repository())
        + f"{path.as_posix()}#L{first}-L{first + len(lines) - 1}"
    )


def _configure(app, config):
    config.templates_path.append(str(Path(__file__).with_name("templates")))
    config.html_static_path.insert(0, str(Path(__file__).with_name("static")))
    config.html_additional_pages = {
        "search": "search.html",
        "404": "404.html",
    } | config.html_additional_pages
    by_book_js = {"startup": {"typeset": False}}  # book.js typesets visible formulas first
    config.mathjax3_config = (config.mathjax3_config or {}) | by_book_js
    config.suppress_warnings.append(
        "mystnb.unknown_mime_type"
    )  # verdicts are stored as data beside their card
    config.project = config.html_title or config.project
    config.version = config.release = version()
    config.linkcode_resolve = source
    config.html_context["address"] = address()
    config.html_theme_options["extra_footer"] = (
        f"Version {version()}. Every number on these pages was computed by them."
    )


def _own_search(app):
    """Switch off Sphinx's index: the search page has its own, over sections and statements."""
    app.builder.search = False


def _show_hidden_code(app):
    """Replace myst-nb's way of showing hidden code, which must be registered first."""
    app.add_node(HideCodeCellNode, override=True, html=(pages.visit_hidden, pages.depart_hidden))


def _pass_records(app, page, template, context, doctree):
    """Make the buttons at the foot of a page lead from chapter to chapter, past records."""
    for button, way in (("prev", 1), ("next", 2)):
        beyond = app.builder.relations.get(page, (None, None, None))[way]
        if beyond and pages.is_record(beyond):
            beyond = app.builder.relations[beyond][way]
            title = beyond and app.builder.render_partial(app.env.titles[beyond])["title"]
            context[button] = beyond and {
                "link": app.builder.get_relative_uri(page, beyond),
                "title": title,
            }


def _outdated(app, env, added, changed, removed):
    return [name for name in GATHERED if name in env.found_docs]


def _write_side_by_side(app, env):
    app.parallel = (
        os.cpu_count() or 1
    )  # reading is serial: sphinx_proof cannot merge what two processes read


def _finish(app, exception):
    if exception is None and app.builder.format == "html":
        folder = Path(app.outdir)
        found = search.documents(app, numbered_boxes(folder))
        (folder / "_static" / "documents.js").write_text(search.script(found), encoding="utf-8")
        finish_pages(folder)


def setup(app):
    book.use(Path(app.srcdir))
    app.add_config_value("theorybook", {}, "env")
    # garbage collections over all pages' trees, which live until the end, took 40% of a build
    gc.disable()
    sys.path.append(str(book.root() / "book"))  # as for a kernel that runs a page there
    for extension in (
        "sphinx_proof",
        "sphinx_exercise",
        "sphinx.ext.autodoc",
        "sphinx.ext.linkcode",
    ):
        app.setup_extension(extension)
    app.add_css_file("book.css", priority=800)  # after the themes
    app.add_js_file("book.js", priority=800)
    app.add_domain(ledger.LedgerDomain)
    app.add_directive("ledger", ledger.LedgerDirective)
    app.add_directive("finding", pages.Finding)
    app.connect("config-inited", _configure)
    app.connect("autodoc-skip-member", docstrings.skip_constants)
    app.connect("autodoc-process-docstring", docstrings.escape_bars)
    app.connect("autodoc-process-docstring", docstrings.name_statements)
    app.connect("builder-inited", _own_search)
    app.connect("doctree-read", search.number_symbols)
    app.connect("doctree-read", pages.note_record)
    app.connect("html-page-context", _pass_records)
    for tag in (pages.Tag, pages.Thumb):
        app.add_node(tag, html=(pages.visit_tag, pages.depart_tag))
    app.connect("builder-inited", _show_hidden_code)
    app.connect("doctree-resolved", pages.prepare)
    app.connect("env-get-outdated", _outdated)
    app.connect("env-updated", _write_side_by_side)
    app.connect("build-finished", _finish)
    return {"parallel_read_safe": True, "version": version()}
