"""Evidence: computed verdicts on numbered statements, and the ledger that says what they should be.

A chapter measures something, compares it with what a statement predicts (a :class:`Check`), and hands the comparison to
:func:`verdict`. The outcome follows from the checks; nobody types it. Next to a ledger (``ledger/<citation>.yml`` in
the current folder or above) a verdict that differs from the declared outcome raises.

>>> check = compare("attention on the special key", 0.97, ">=", 0.5)
>>> judge("deng2023/lemma-d.2-3a", printed=check)
Verdict deng2023/lemma-d.2-3a: holds (exact) | attention on the special key: 0.97 >= 0.5
"""

import html
import json
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from IPython.core.getipython import get_ipython
from IPython.display import display
from numpy.typing import ArrayLike
from scipy import special, stats

MIME = "application/vnd.attention-theory.verdict+json"
CONFIDENCE = 0.999
METHODS = ("identity", "exact", "interval", "exponent", "counterexample", "evaluation")
#: Outcomes of a verdict, and those that the ledger declares without one.
COMPUTED = ("holds", "holds-in-regime", "corrected", "false", "empty")
UNCOMPUTED = ("imported", "asymptotic", "planned")
RELATIONS: dict[str, Callable] = {
    "==": operator.eq,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


class VerdictError(AssertionError):
    """The evidence does not give the outcome that the ledger declares."""


# Checks --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Check:
    """One comparison of something measured with something predicted."""

    method: str
    holds: bool
    text: str

    def __str__(self) -> str:
        return f"{self.method}: {self.text}"


def number(value: Any, digits: int = 3) -> str:
    """Stable short text of a number: integers and fractions in full, others to ``digits`` significant digits."""
    if isinstance(value, (bool, np.bool_, str)):
        return str(value)
    if isinstance(value, (int, np.integer, Fraction)):
        return str(value)
    value = float(value)
    if value == 0:
        return "0"  # also for -0.0
    return f"{value:.{digits}g}"


def _flat(values: Any) -> np.ndarray:
    """Numbers as a flat array; integers and fractions keep their exact type."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    return np.asarray(values).ravel()


def compare(
    what: str, measured: Any, relation: str, predicted: Any, *, method: str = "exact", slack: float = 0.0, digits: int = 3
) -> Check:
    """Compare numbers without sampling: integers, fractions, enumerations, closed forms.

    Args:
        what: the measured quantity, in words.
        measured: a number or an array; every element must satisfy the relation. The element nearest to failure is shown.
        relation: one of ``==``, ``<=``, ``>=``, ``<``, ``>``.
        predicted: a number or an array that broadcasts against ``measured``.
        method: ``exact``, or ``evaluation`` (constants put into numbers) or ``counterexample`` (``what`` says which).
        slack: relative allowance for rounding, for inequalities that are tight in exact arithmetic.
        digits: significant digits shown; keep them inside the uncertainty.

    Raises:
        ValueError: unknown relation or method, nothing to compare, or a measured value that is not a number.
    """
    if relation not in RELATIONS:
        raise ValueError(f"relation {relation!r} is unknown; choose one of {', '.join(RELATIONS)}")
    if method not in METHODS:
        raise ValueError(f"method {method!r} is unknown; choose one of {', '.join(METHODS)}")
    left, right = np.broadcast_arrays(_flat(measured), _flat(predicted))
    if left.size == 0:
        raise ValueError(f"{what}: nothing was measured, so nothing can be compared")
    if any(value != value for value in (*left, *right)):
        raise ValueError(f"{what}: not a number among the values")
    allowance = [slack * abs(b) if slack else 0 for b in right]
    signed = {"<=": -1, "<": -1, ">=": 1, ">": 1}.get(relation)
    if signed is None:
        margins = [a - abs(x - y) for x, y, a in zip(left, right, allowance)]
        holds = all(m >= 0 for m in margins)
    else:
        margins = [signed * (x - y) + a for x, y, a in zip(left, right, allowance)]
        holds = all(RELATIONS[">=" if "=" in relation else ">"](m, 0) for m in margins)
    worst = min(range(left.size), key=lambda i: margins[i])
    count = f" (nearest of {left.size})" if left.size > 1 else ""
    shown = relation if holds else f"fails {relation}"
    return Check(method, bool(holds), f"{what}: {number(left[worst], digits)} {shown} {number(right[worst], digits)}{count}")


def identity(what: str, measured: Any, expected: Any, tolerance: float = 1e-10) -> Check:
    """Two computations of the same thing agree to rounding.

    The error is the largest difference over the largest expected magnitude. The text names the tolerance it stays
    below, since the error itself changes with the machine.
    """
    left, right = _flat(measured).astype(float), _flat(expected).astype(float)
    if left.shape != right.shape:
        raise ValueError(f"{what}: {left.size} values against {right.size}")
    if left.size == 0:
        raise ValueError(f"{what}: nothing was measured, so nothing can be compared")
    error = float(np.abs(left - right).max() / max(float(np.abs(right).max()), np.finfo(float).tiny))
    holds = error < tolerance  # False for nan
    return Check("identity", holds, f"{what}: relative error {'<' if holds else 'not <'} {tolerance:.0e}")


def rate_interval(successes: int, trials: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Clopper-Pearson interval of a success probability."""
    # stats.binomtest would compute a p-value first, hundreds of times slower than the interval
    successes, failures = int(successes), int(trials) - int(successes)
    if min(successes, failures) < 0 or successes + failures == 0:
        raise ValueError(f"{successes} successes in {trials} trials are not possible")
    tail = (1 - confidence) / 2
    low = special.betaincinv(successes, failures + 1, tail) if successes else 0.0
    high = special.betainccinv(successes + 1, failures, tail) if failures else 1.0
    return float(low), float(high)


def interval(what: str, estimate: tuple[float, float], relation: str, predicted: float, digits: int = 3) -> Check:
    """Compare a confidence interval with a prediction.

    ``relation`` is ``contains`` (the prediction lies inside), ``>=`` or ``<=`` (the whole interval lies on that side).
    Get the interval from :func:`rate_interval` or :func:`mean_interval`.
    """
    low, high = map(float, estimate)
    tests = {"contains": low <= predicted <= high, ">=": low >= predicted, "<=": high <= predicted}
    if relation not in tests:
        raise ValueError(f"relation {relation!r} is unknown; choose one of {', '.join(tests)}")
    holds = tests[relation]
    shown = relation if holds else f"fails {relation}"
    ci = f"[{number(low, digits)}, {number(high, digits)}]"
    return Check("interval", bool(holds), f"{what}: {CONFIDENCE:.1%} interval {ci} {shown} {number(predicted, digits)}")


def mean_interval(samples: ArrayLike, confidence: float = CONFIDENCE, seed: int = 0) -> tuple[float, float]:
    """Bootstrap (BCa) interval of a mean."""
    values = _flat(samples).astype(float)
    ci = stats.bootstrap((values,), np.mean, confidence_level=confidence, rng=np.random.default_rng(seed)).confidence_interval
    return float(ci.low), float(ci.high)


def power_law(x: ArrayLike, y: ArrayLike, confidence: float = CONFIDENCE) -> tuple[float, float, float]:
    """Exponent of ``y ~ x^exponent`` by least squares on logarithms: (exponent, low, high), Student's t interval."""
    x, y = np.log(_flat(x).astype(float)), np.log(_flat(y).astype(float))
    if x.size < 3:
        raise ValueError(f"a fitted exponent needs at least 3 points, got {x.size}")
    fit = stats.linregress(x, y)
    half = stats.t.ppf((1 + confidence) / 2, x.size - 2) * fit.stderr
    return float(fit.slope), float(fit.slope - half), float(fit.slope + half)


def exponent(what: str, x: ArrayLike, y: ArrayLike, relation: str, predicted: float, digits: int = 2) -> Check:
    """Compare a fitted power law with a predicted exponent, through the interval of :func:`power_law`."""
    slope, low, high = power_law(x, y)
    check = interval(what, (low, high), relation, predicted, digits)
    return Check("exponent", check.holds, check.text.replace(what, f"{what}: fitted exponent {number(slope, digits)}", 1))


# Verdicts ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """The outcome of the checks on one numbered statement. Shows as a card, prints as one line, stores itself as data."""

    claim: str
    outcome: str
    checks: tuple[Check, ...]
    remark: str = ""
    _shown: list = field(default_factory=list, repr=False, compare=False)

    @property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(check.method for check in self.checks))

    def __repr__(self) -> str:
        parts = [f"Verdict {self.claim}: {self.outcome} ({', '.join(self.methods)})"]
        parts += [check.text for check in self.checks] + [self.remark] * bool(self.remark)
        return " | ".join(parts)

    def _repr_html_(self) -> str:
        text = "".join(f"<div>{html.escape(check.text)}</div>" for check in self.checks)
        remark = f"<div><em>{html.escape(self.remark)}</em></div>" if self.remark else ""
        # Inline style: Colab and JupyterLab do not have the book's style sheet.
        return (
            f'<div class="verdict verdict-{self.outcome}" id="{anchor(self.claim)}" '
            'style="border-left:4px solid #808080;padding:2px 10px;margin:4px 0">'
            f"<strong>{self.outcome}</strong> <code>{html.escape(self.claim)}</code> "
            f"<small>{', '.join(self.methods)}</small>{text}{remark}</div>"
        )

    def data(self) -> dict[str, Any]:
        """What the notebook stores."""
        checks = [{"method": c.method, "holds": c.holds, "text": c.text} for c in self.checks]
        return {"claim": self.claim, "outcome": self.outcome, "checks": checks, "remark": self.remark}

    def _ipython_display_(self) -> None:
        # verdict() has shown it already when the cell ends with that call
        if not self._shown:
            self._shown.append(True)
            display({"text/plain": repr(self), "text/html": self._repr_html_(), MIME: self.data()}, raw=True)


def anchor(claim: str) -> str:
    """The page anchor of a claim's verdict: ``deng2023/lemma-4.2-2`` -> ``verdict-deng2023-lemma-4-2-2``."""
    return "verdict-" + claim.replace("/", "-").replace(".", "-")


def judge(
    claim: str,
    *,
    printed: Check | Sequence[Check],
    corrected: Check | Sequence[Check] | None = None,
    empty: Check | Sequence[Check] | None = None,
    regime: str = "",
    remark: str = "",
) -> Verdict:
    """The outcome that the checks give, compared with nothing.

    Args:
        claim: ledger id, for example ``deng2023/lemma-4.2-2``.
        printed: checks of the statement as the paper prints it.
        corrected: checks of the corrected statement, for one that fails as printed.
        empty: checks that its hypotheses or constants exclude every size that can be run.
        regime: the range of parameters in which the checks of ``printed`` were made, when it is not the printed one.
        remark: one sentence that stands on the card.

    ===================  ==================================================================
    ``holds``            ``printed`` holds
    ``holds-in-regime``  ``printed`` holds, and ``regime`` says where
    ``empty``            ``printed`` and ``empty`` hold
    ``corrected``        ``printed`` fails and ``corrected`` holds
    ``false``            ``printed`` fails and there is no correction
    ``unsettled``        anything else; no ledger may declare it
    ===================  ==================================================================
    """

    def group(checks):
        if checks is None:
            return ()
        return (checks,) if isinstance(checks, Check) else tuple(checks)

    printed, corrected, empty = group(printed), group(corrected), group(empty)
    if not printed:
        raise ValueError(f"{claim}: a verdict needs a check of the printed statement")
    holds = all(check.holds for check in printed)
    if holds and corrected:
        outcome = "unsettled"  # a correction of something that does not fail
    elif holds and empty:
        outcome = "empty" if all(check.holds for check in empty) else "unsettled"
    elif holds:
        outcome = "holds-in-regime" if regime else "holds"
    elif corrected:
        outcome = "corrected" if all(check.holds for check in corrected) else "unsettled"
    else:
        outcome = "unsettled" if empty else "false"
    remark = "; ".join(filter(None, [regime and f"regime: {regime}", remark]))
    return Verdict(claim, outcome, printed + corrected + empty, remark)


def verdict(claim: str, **evidence: Any) -> Verdict:
    """State what was found on a numbered statement: judge it, show it, and compare it with the ledger.

    Takes the arguments of :func:`judge`.

    Raises:
        VerdictError: the outcome is ``unsettled`` or not the one that the ledger declares, or the ledger lacks the claim.
            Without a ledger at hand (a notebook opened alone) only ``unsettled`` raises.
    """
    found = judge(claim, **evidence)
    path = find_ledger(claim)
    declared = None
    if path is not None:
        entries = load_ledger(path)
        if claim not in entries:
            raise VerdictError(f"{claim} is not in {path.name}")
        declared = entries[claim].outcome
    if found.outcome == "unsettled" or declared not in (None, found.outcome):
        raise VerdictError(f"{claim}: the ledger declares {declared!r}, the checks give {found.outcome!r}\n{found!r}")
    if get_ipython() is None:
        print(repr(found))
    else:
        found._ipython_display_()
    return found


# Ledger --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """One numbered statement or figure of a paper."""

    id: str
    printed: str
    kind: str
    statement: str
    depends: list[str]
    chapter: str | None
    method: str | None
    outcome: str
    note: str


def load_ledger(path: str | Path) -> dict[str, Entry]:
    """Read and check ``<citation>.yml``: a list of mappings with the fields of :class:`Entry`.

    Raises:
        ValueError: unknown or missing fields, a repeated id, an id of another paper, an unknown outcome or method; an
            outcome that stands without a verdict but without a reason in ``note``; a computed one without a chapter.
    """
    path = Path(path)
    entries: dict[str, Entry] = {}
    for row in yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        try:
            entry = Entry(**row)
        except TypeError as error:
            raise ValueError(f"{path.name}: {row.get('id', row)}: {error}") from None
        problems = {
            "the id repeats": entry.id in entries,
            f"the id must begin with {path.stem}/": not entry.id.startswith(path.stem + "/"),
            f"unknown outcome {entry.outcome!r}": entry.outcome not in COMPUTED + UNCOMPUTED,
            f"unknown method {entry.method!r}": entry.method not in METHODS and (entry.method or entry.outcome in COMPUTED),
            "a computed outcome needs a chapter": entry.outcome in COMPUTED and not entry.chapter,
            "this outcome needs a reason in note": entry.outcome in ("imported", "asymptotic") and not entry.note,
        }
        for problem, present in problems.items():
            if present:
                raise ValueError(f"{path.name}: {entry.id}: {problem}")
        entries[entry.id] = entry
    return entries


def find_ledger(claim: str) -> Path | None:
    """The nearest ``ledger/<citation>.yml`` in the current folder or above it."""
    name = claim.split("/")[0] + ".yml"
    here = Path.cwd()
    candidates = (folder / "ledger" / name for folder in (here, *here.parents))
    return next((path for path in candidates if path.is_file()), None)


def stored_verdicts(notebook: str | Path) -> list[dict[str, Any]]:
    """The verdicts stored in an executed notebook, in order, as :meth:`Verdict.data` wrote them."""
    cells = json.loads(Path(notebook).read_text(encoding="utf-8"))["cells"]
    outputs = (output for cell in cells for output in cell.get("outputs", []))
    return [output["data"][MIME] for output in outputs if MIME in output.get("data", {})]
