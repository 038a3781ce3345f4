"""Verdicts: the outcome that checks give, shown as a card, stored in the notebook, compared with
the ledger.
"""

import difflib
import html
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from theorybook.checks import METHODS, Check
from theorybook.ledger import Entry, anchor, find_ledger, load_ledger
from theorybook.plain import plain

MIME = "application/vnd.theorybook.verdict+json"
Checks = Check | Sequence[Check]
#: Suffix of an outcome when no ledger was found.
ALONE = ", no ledger here: outcome not compared"


class VerdictError(AssertionError):
    """The evidence does not give the outcome that the ledger declares.

    >>> from theorybook import VerdictError
    >>> issubclass(VerdictError, AssertionError)  # a notebook that raises it fails like a test
    True
    """


@dataclass(frozen=True)
class Verdict:
    """The outcome of the checks on one numbered statement. Shows as a card, prints as one line,
    stores itself as data.

    Attributes:
        claim: ledger id.
        outcome: as in :func:`judge`.
        checks: what was compared.
        remark: one sentence on the card.
        label: anchor of the statement's box on the page, from the ledger.
        code: the function that carries the statement, from the ledger.
        alone: whether there was no ledger to compare the outcome with.

    >>> from theorybook import compare, judge
    >>> judge("a/lemma-1", printed=compare("sum", 1, "==", 1)).outcome
    'holds'
    """

    claim: str
    outcome: str
    checks: tuple[Check, ...]
    remark: str = ""
    label: str | None = None
    code: str | None = None
    alone: bool = False

    @property
    def methods(self) -> list[str]:
        """The methods of the checks, in the order of ``METHODS``."""
        return sorted({check.method for check in self.checks}, key=METHODS.index)

    def __repr__(self) -> str:
        parts = [
            f"Verdict {self.claim}: {self.outcome}{ALONE * self.alone} ({', '.join(self.methods)})"
        ]
        parts += [
            plain(words) for words in (*(check.text for check in self.checks), self.remark) if words
        ]
        return " | ".join(parts)

    def _repr_html_(self) -> str:
        text = "".join(_line(check.text) for check in self.checks)
        remark = _line(self.remark, "<em>{}</em>") if self.remark else ""
        links = []
        if self.label:
            links.append(f'<a href="#{html.escape(self.label)}">statement</a>')
        if self.code:
            links.append(f"<code>{html.escape(self.code)}</code>")
        # Inline style: Colab and JupyterLab do not have the book's style sheet.
        return (
            f'<div class="verdict verdict-{self.outcome}" id="{html.escape(anchor(self.claim))}" '
            'style="border-left:4px solid #808080;padding:2px 10px;margin:4px 0">'
            f"<strong>{self.outcome}</strong>{ALONE * self.alone} "
            f"<code>{html.escape(self.claim)}</code> "
            f"<small>{' · '.join([', '.join(self.methods), *links])}</small>{text}{remark}</div>"
        )

    def data(self) -> dict[str, Any]:
        """The data that a notebook stores."""
        checks = [{"method": c.method, "holds": c.holds, "text": c.text} for c in self.checks]
        return {
            "claim": self.claim,
            "outcome": self.outcome,
            "checks": checks,
            "remark": self.remark,
        }

    def show(self) -> None:
        """Show the card in a notebook; print the line elsewhere."""
        from IPython.core.getipython import get_ipython
        from IPython.display import display

        if get_ipython() is None:
            print(repr(self))
        else:
            display(
                {"text/plain": repr(self), "text/html": self._repr_html_(), MIME: self.data()},
                raw=True,
            )

    def _ipython_display_(self) -> None:
        self.show()


def _line(words: str, shown: str = "{}") -> str:
    """A line of a card, as readable text, since not every notebook renders TeX; the page takes the
    TeX from its attribute.
    """
    tex = f' data-tex="{html.escape(words)}"' if plain(words) != words else ""
    return f"<div{tex}>{shown.format(html.escape(plain(words)))}</div>"


class ShownVerdict(Verdict):
    """A verdict that :func:`verdict` has already shown: as the last line of a cell it is not shown
    again.
    """

    def _ipython_display_(self) -> None:
        """Show nothing: the verdict was shown already."""


def judge(
    claim: str,
    *,
    printed: Checks,
    corrected: Checks | None = None,
    empty: Checks | None = None,
    settings: Checks | None = None,
    regime: str = "",
    remark: str = "",
) -> Verdict:
    """The outcome that the checks give, not compared with any ledger.

    Args:
        claim: ledger id, for example ``doe2026/lemma-4.2-2``.
        printed: checks of the statement as the paper prints it; for a figure or table, of the
            features that its row names.
        corrected: checks of the corrected statement, for one that fails as printed.
        empty: checks that its hypotheses or constants exclude every size that can be run.
        settings: for a figure or table, checks that the run has the printed settings.
        regime: the range of parameters in which the checks of ``printed`` were made, when it is not
            the printed one; for a figure the data, when they are not the printed ones.
        remark: one sentence for the card.

    ===================  ==================================================================
    ``holds``            ``printed`` holds
    ``holds-in-regime``  ``printed`` holds, and ``regime`` says where
    ``reproduced``       ``settings`` and ``printed`` hold
    ``empty``            ``printed`` and ``empty`` hold
    ``corrected``        ``printed`` fails and ``corrected`` holds
    ``false``            ``printed`` fails and there is no correction
    ``held``             all checks hold, and some of them were ``measured``
    ``missed``           only checks that were ``measured`` fail
    ``unsettled``        anything else; no ledger may declare it
    ===================  ==================================================================

    Where ``printed`` fails, each of its counterexamples must: one that holds refutes nothing, and
    gives ``unsettled``.

    Raises:
        ValueError: a group without a check, or something that is not a check.

    >>> from theorybook import compare, judge
    >>> wrong = compare("n = 2: sum", 3, "<=", 2, method="counterexample")
    >>> right = compare("sum", 3, "<=", 3)
    >>> judge("a/lemma-1", printed=wrong, corrected=right).outcome
    'corrected'
    """
    groups = [_group(claim, checks) for checks in (printed, corrected, empty, settings)]
    hold = [all(check.holds for check in group) for group in groups]
    some = [bool(group) for group in groups]
    outcome = _outcome(hold, some, bool(regime))
    if any(check.method == "measured" for check in sum(groups, ())):
        outcome = _fate(groups, some)
    if not hold[0] and any(check.holds and check.method == "counterexample" for check in groups[0]):
        outcome = "unsettled"
    remark = "; ".join(filter(None, [regime and f"regime: {regime}", remark]))
    return Verdict(claim, outcome, sum(groups, ()), remark)


def _group(claim: str, checks: Checks | None) -> tuple[Check, ...]:
    if checks is None:
        return ()
    group = (checks,) if isinstance(checks, Check) else tuple(checks)
    if not group:
        raise ValueError(
            f"{claim}: a verdict needs a check in every group that it is given, got {checks!r}"
        )
    return group


def _outcome(hold: list[bool], some: list[bool], regime: bool) -> str:
    """The table of :func:`judge`; the groups are printed, corrected, empty, settings."""
    match hold[0], some[1:]:
        case _, [_, _, True] if not hold[3] or some[1] or some[2]:
            return "unsettled"  # other settings than the printed ones
        case True, [False, False, True]:
            return "reproduced"
        case True, [False, False, False]:
            return "holds-in-regime" if regime else "holds"
        case True, [False, True, False] if hold[2]:
            return "empty"
        case False, [True, False, False] if hold[1]:
            return "corrected"
        case False, [False, False, _]:
            return "false"
    return "unsettled"


def _fate(groups: Sequence[tuple[Check, ...]], some: list[bool]) -> str:
    """The outcome of a prediction: held or missed; if any other check fails, that is a mistake."""
    others = [check.holds for check in groups[0] if check.method != "measured"]
    if any(some[1:]) or not all(others):
        return "unsettled"
    return "held" if all(check.holds for check in groups[0]) else "missed"


def verdict(
    claim: str,
    *,
    printed: Checks,
    corrected: Checks | None = None,
    empty: Checks | None = None,
    settings: Checks | None = None,
    regime: str = "",
    remark: str = "",
) -> Verdict:
    """Judge a numbered statement by its checks, compare the outcome with the ledger, and show the
    verdict.

    Takes the arguments of :func:`judge`. Where the ledger says ``open``, for a statement without a
    proof, checks that hold give ``open``.

    Raises:
        VerdictError: the outcome is ``unsettled`` or not the one that the ledger declares, or the
            ledger lacks the claim. Without the book (no ledger in
            :func:`theorybook.ledger.book_folders`) only ``unsettled`` raises, and the verdict says
            that its outcome was not compared.
        FileNotFoundError: the book was found but its ledger was not.

    >>> import os, tempfile
    >>> from theorybook import compare, verdict
    >>> here = os.getcwd()
    >>> os.chdir(tempfile.mkdtemp())  # a folder without a ledger
    >>> found = verdict("doe2026/lemma-1", printed=compare("1 + 1", 1 + 1, "==", 2))
    Verdict doe2026/lemma-1: holds, no ledger here: outcome not compared (exact) | 1 + 1: 2 == 2
    >>> os.chdir(here)
    >>> found.outcome
    'holds'
    """
    found = judge(
        claim,
        printed=printed,
        corrected=corrected,
        empty=empty,
        settings=settings,
        regime=regime,
        remark=remark,
    )
    entry = declared(claim)
    expected = entry.outcome if entry else None
    outcome = (
        "open"
        if expected == "open" and found.outcome in ("holds", "holds-in-regime")
        else found.outcome
    )
    if outcome == "unsettled" or expected not in (None, outcome):
        raise VerdictError(
            f"{claim}: the ledger declares {expected!r}, the checks give "
            f"{found.outcome!r}\n{found!r}"
        )
    places = (entry.label, entry.code) if entry else (None, None)
    shown = ShownVerdict(claim, outcome, found.checks, found.remark, *places, alone=entry is None)
    shown.show()
    return shown


def declared(claim: str) -> Entry | None:
    """The ledger's row for a claim; None for a notebook opened alone, without a ledger.

    Raises:
        VerdictError: the ledger lacks the claim.
    """
    path = find_ledger(claim)
    if path is None:
        return None
    entries = _entries(path, path.stat().st_mtime_ns)
    if claim not in entries:
        near = difflib.get_close_matches(claim, entries, n=1)
        raise VerdictError(
            f"{claim} is not in {path.name}: "
            f"{f'did you mean {near[0]}?' if near else 'it needs a row there'}"
        )
    return entries[claim]


@lru_cache(maxsize=8)
def _entries(path: Path, _changed: int) -> dict[str, Entry]:
    """A ledger, read again only when its file has changed."""
    return load_ledger(path)


def stored_verdicts(notebook: str | Path) -> list[dict[str, Any]]:
    """The verdicts stored in an executed notebook, in order, as :meth:`Verdict.data` wrote them.

    Raises:
        ValueError: the file is not a notebook.

    >>> import pathlib, tempfile
    >>> from theorybook import stored_verdicts
    >>> path = pathlib.Path(tempfile.mkdtemp(), "empty.ipynb")
    >>> size = path.write_text('{"cells": []}')
    >>> stored_verdicts(path)
    []
    """
    try:
        cells = json.loads(Path(notebook).read_text(encoding="utf-8-sig"))["cells"]
        outputs = (output for cell in cells for output in cell.get("outputs", []))
        return [output["data"][MIME] for output in outputs if MIME in output.get("data", {})]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(
            f"{notebook}: not a readable notebook; write it again with theorybook.tools.execute"
        ) from None
