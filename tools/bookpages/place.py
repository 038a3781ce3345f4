"""Where the book stands: its folder, its version, its repository and the address at which it is published."""

import tomllib
from functools import cache
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
#: Where the notebooks lie that the pages show; a build says which folder that is.
NOTEBOOKS = ROOT


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
