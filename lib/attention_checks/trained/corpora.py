"""The texts that the models read: two draws that share no token, from each of several kinds.

``prose`` is the book's own, at one commit, which no model has seen; ``shuffled`` the same with its
tokens in random order; ``pydoc`` Python's documentation topics and ``imdb`` film reviews, which the
models may have seen.
"""

import functools
import re
import subprocess
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from attention_theory.trained.texts import reviews
from theorybook.validation import Bit, Size

Kind = Literal["prose", "shuffled", "pydoc", "imdb"]
#: The kinds that are read in their own order, and the two draws of each, as points of a recording.
KINDS: tuple[Kind, ...] = ("prose", "pydoc", "imdb")
DRAWS: list[dict[str, Any]] = [dict(kind=kind, draw=draw) for kind in KINDS for draw in (0, 1)]
#: The commit whose pages are the prose.
PROSE = "61bd05ca2d1a6c8d432d1ac9c4e391d5e9c055d6"
#: Two draws of so many texts.
COUNT = 16
#: The draw of which records keep every head, for the pictures of the chapters.
PICTURED = ("prose", 0)


def pictured(kind: Kind, draw: Bit, **heads: Any) -> dict[str, Any]:
    """What a record keeps of every head, in half precision; for draws other than :data:`PICTURED`,
    nothing.
    """
    kept = heads if (kind, draw) == PICTURED else {}
    return {name: np.asarray(each).astype(np.float16) for name, each in kept.items()}


@functools.cache
def document(kind: Kind) -> str:
    """All text of a kind.

    Raises:
        FileNotFoundError: the commit or the file of reviews is missing.
    """
    if kind in ("prose", "shuffled"):
        return "\n\n".join(map(_words, _pages(PROSE)))
    if kind == "pydoc":
        from pydoc_data.topics import topics

        return "\n\n".join(topics[name] for name in sorted(topics))
    return "\n\n".join(text.replace("<br />", "\n") for text, _ in reviews())


def _pages(commit: str) -> list[str]:
    """The sources of the book's pages at a commit."""
    at = Path(__file__).parent

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=at, capture_output=True, text=True)
        if done.returncode:
            raise FileNotFoundError(
                f"commit {commit[:7]} is not here: run git fetch --unshallow in a clone of the book"
            )
        return done.stdout

    names = git("ls-tree", "-r", "--full-tree", "--name-only", commit).split()
    wanted = [
        name for name in names if re.fullmatch(r"book/(?!library|ledger)\w+/[\w-]+\.md", name)
    ]
    return [git("show", f"{commit}:{name}") for name in sorted(wanted)]


def _words(page: str) -> str:
    """The paragraphs of a page that are mostly words, without the marks of MyST."""
    page = re.sub(r"\A---.*?^---", "", page, flags=re.S | re.M)
    page = re.sub(r"^(`{3,}|:{3,}).*?^\1\s*$", "", page, flags=re.S | re.M)
    kept = []
    for block in re.split(r"\n\s*\n", page):
        block = " ".join(block.split())
        formulas = block.count("$") > 4 or "\\" in block
        if len(block) >= 120 and block[0] not in "#|:`$<({-+" and not formulas:
            block = re.sub(r"\{[a-z:-]+\}`([^`<]*)(<[^`]*>)?`", r"\1", block)
            kept.append(re.sub(r"[*`_$]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", block)))
    return "\n\n".join(kept)


def drawn(kind: Kind, model: Any, length: Size, draw: Bit, count: Size = COUNT) -> list[list[int]]:
    """The texts of one draw, as numbers of tokens: windows at random places of disjoint blocks,
    even blocks or odd ones.

    Raises:
        ValueError: the document is too short for 2 x count windows of this length.
    """
    stream = _stream("prose" if kind == "shuffled" else kind, model)
    block = len(stream) // (2 * count)
    if block < length:
        raise ValueError(
            f"{kind} has {len(stream)} tokens, too few for {2 * count} texts of {length}: take less"
        )
    generator = torch.Generator().manual_seed(draw)
    offsets = torch.randint(block - length + 1, (count,), generator=generator).tolist()
    starts = [(2 * k + draw) * block + offset for k, offset in enumerate(offsets)]
    found = [stream[start : start + length] for start in starts]
    if kind == "shuffled":  # the same texts as those of "prose"
        found = [[text[i] for i in torch.randperm(length, generator=generator)] for text in found]
    return found


#: Enough for all windows; tokenising more would only take time.
MOST_CHARACTERS = 600_000


@functools.lru_cache(maxsize=8)
def _stream(kind: Kind, model: Any) -> list[int]:
    return model.tokens(document(kind)[:MOST_CHARACTERS])
