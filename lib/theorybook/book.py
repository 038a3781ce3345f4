"""A book's folder, the settings in its ``_config.yml``, its version and its published address.

The section ``theorybook`` below ``sphinx: config`` of ``_config.yml`` holds what this toolkit needs
to know of a book::

    theorybook:
      pyproject: lib/pyproject.toml  # where the version stands; without a library of its own, version: "1.0"
      recordings: [doe_checks]  # packages in which records are made, if any are
      tables: [costs]  # files of book/data that come from elsewhere
      ledgers:  # file in book/ledger -> its name on pages, and the module of its formulas as printed, if it has one
        doe2026: { name: "Part I: sums", printed: doe_checks.printed }
"""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import yaml

#: Keys under which entries of ``_toc.yml`` hold further entries.
BELOW = ("parts", "chapters", "sections", "subtrees", "entries")
_folder: list[Path] = []


def use(folder: Path) -> None:
    """Work on the book in this folder from now on."""
    _folder[:] = [folder]
    config.cache_clear()


def root() -> Path:
    """The folder of the book: the one that Sphinx builds, or the nearest at or above the current
    one that has a ``_config.yml``.

    Raises:
        FileNotFoundError: there is no such folder.
    """
    if not _folder:
        here = Path.cwd()
        found = next(
            (folder for folder in (here, *here.parents) if (folder / "_config.yml").is_file()), None
        )
        if found is None:
            raise FileNotFoundError(
                f"{here}: no _config.yml here or above; run this in the folder of a book"
            )
        _folder.append(found)
    return _folder[0]


@cache
def config() -> dict[str, Any]:
    """The contents of ``_config.yml``."""
    return yaml.safe_load((root() / "_config.yml").read_text(encoding="utf-8"))


def settings() -> dict[str, Any]:
    """The section of ``_config.yml`` for this toolkit."""
    return config().get("sphinx", {}).get("config", {}).get("theorybook", {})


def files(folder: Path) -> list[Path]:
    """The files that ``_toc.yml`` in this folder lists, in its order.

    Raises:
        ValueError: it has a ``glob``.
    """
    toc = yaml.safe_load((folder / "_toc.yml").read_text(encoding="utf-8"))
    found, rest = [], [{"file": toc["root"], **toc}]
    while rest:
        entry = rest.pop(0)
        if "glob" in entry:
            raise ValueError(
                f"{folder / '_toc.yml'}: name each file instead of glob: {entry['glob']}"
            )
        found += [Path(entry["file"])] if "file" in entry else []
        rest = [*(below for kind in BELOW for below in entry.get(kind, [])), *rest]
    return found


def pages() -> list[str]:
    """The pages in the book's order, without suffix."""
    return [str(file.with_suffix("")) for file in files(root())]


def ledgers() -> dict[str, dict[str, str]]:
    """Ledger -> its ``name`` on pages and its module of ``printed`` formulas, in the book's
    order.
    """
    return settings().get("ledgers", {})


def clone() -> Path:
    """The folder of the repository: pages may be built from a copy of the book in which its library
    is a link.
    """
    pyproject = settings().get("pyproject", "_config.yml")
    return (root() / pyproject).resolve().parents[len(Path(pyproject).parts) - 1]


def version() -> str:
    """The version of the book: that of its library or, without one, its setting ``version``."""
    if "pyproject" not in settings():
        return str(settings().get("version", "0"))
    return tomllib.loads((root() / settings()["pyproject"]).read_text(encoding="utf-8"))["project"][
        "version"
    ]


def repository() -> dict[str, str]:
    """``url`` and ``branch`` of the repository."""
    return config()["repository"]


def address() -> str:
    """The address of the published book: ``baseurl`` below ``html`` of ``_config.yml``, or GitHub's
    pages of the repository.
    """
    owner, name = repository()["url"].rstrip("/").removesuffix(".git").split("/")[-2:]
    own = f"{owner}.github.io".lower() == name.lower()  # the pages of the owner
    return config().get("html", {}).get("baseurl", "").rstrip(
        "/"
    ) or f"https://{owner}.github.io" + f"/{name}" * (not own)
