"""Checks: one comparison of something measured with something predicted, by a named method."""

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from theorybook.intervals import CONFIDENCE, Interval, power_law
from theorybook.plain import off_the_edge, plain
from theorybook.prove import Proof
from theorybook.validation import (
    NonNegative,
    Numbers,
    OpenChance,
    Signed,
    Size,
    to_numpy,
    to_python,
)

#: In the order in which cards name them. Only a proof covers all cases; the order of the others is
#: no ranking.
METHODS = (
    "proof",  # covers all cases of the stated range
    "identity",  # two computations agree to rounding
    "exact",  # no random draw: integers, rationals, enumeration, closed form
    "draws",  # every one of N seeded random instances satisfies it
    "interval",  # Monte Carlo with a confidence interval
    "exponent",  # a fitted power law with its interval
    "counterexample",  # the smallest one found
    "evaluation",  # constants put into numbers
    "measured",  # what a theorem predicted for trained models, against an interval over texts
)
#: Methods that :func:`compare` accepts; the others have functions of their own. (``proof`` is here
#: for proofs by exact algebra.)
COMPARED = ("proof", "exact", "draws", "interval", "counterexample", "evaluation")
RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


@dataclass(frozen=True)
class Check:
    """One comparison of something measured with something predicted.

    Attributes:
        method: one of ``METHODS``.
        holds: whether it came out as predicted.
        text: what was compared, in words; what stands between dollars is TeX on the page and
            readable text in a line.

    >>> from theorybook import compare
    >>> check = compare("largest row sum", 1.5, "<=", 2)
    >>> check.holds
    True
    >>> check.text
    'largest row sum: 1.5 <= 2'
    """

    method: str
    holds: bool
    text: str

    def __str__(self) -> str:
        return f"{self.method}: {plain(self.text)}"


def number(value: Any, digits: Size = 3) -> str:
    """Stable short text of a number: integers and fractions in full (to 4,300 digits), others to
    ``digits`` significant ones.

    >>> from theorybook import number
    >>> number(2 / 3)
    '0.667'
    >>> number(1234567)
    '1234567'
    """
    if isinstance(value, bool | np.bool_ | str):
        return str(value)
    if isinstance(value, Decimal) and value.is_finite() and not 1e-300 < abs(value) < 1e300:
        return f"{value:.{digits - 1}e}" if value else "0"  # no float
    if isinstance(value, int | np.integer | Fraction):
        try:
            return str(value)
        except ValueError:  # Python writes no integer of more than 4,300 digits
            return (
                f"{Decimal(int(value.numerator)) / Decimal(int(value.denominator)):.{digits - 1}e}"
            )
    value = float(value)
    if value == 0:
        return "0"  # also for -0.0
    return f"{off_the_edge(value) if digits < 12 else value:.{digits}g}"


def _read(values: Any) -> Any:
    """Values with tensors converted to arrays, at any depth: NumPy cannot read tensors on a GPU or
    with a gradient.
    """
    return (
        [_read(item) for item in values] if isinstance(values, list | tuple) else to_numpy(values)
    )


def _array(what: str, values: Any) -> np.ndarray:
    """Numbers as an array of their shape; integers and fractions keep their exact type."""
    values = _read(values)
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{what}: {values!r} has rows of different lengths") from None
    if array.dtype.kind == "b":
        array = array.astype(int)  # NumPy does not subtract booleans
    if isinstance(values, list) and array.dtype.kind == "f" and (abs(array) >= 2**53).any():
        array = np.asarray(values, dtype=object)  # as floats, neighbouring integers would be equal
    exact = array.dtype.kind == "O" and all(map(_is_number, array.ravel()))
    if not exact and array.dtype.kind not in "biufc":
        raise ValueError(f"{what}: {values!r} is not made of numbers")
    return array


def _is_number(value: Any) -> bool:
    """Whether an object is a number, even one too large for a float, and not a symbolic formula."""
    try:
        float(value)
    except OverflowError:
        return True
    except (TypeError, ValueError):
        return False
    return hasattr(value, "__float__")


def _pair(what: str, left: Any, right: Any) -> tuple[np.ndarray, np.ndarray]:
    """Both sides, broadcast against each other as NumPy does, without NaN."""
    left, right = _array(what, left), _array(what, right)
    try:
        left, right = np.broadcast_arrays(left, right)
    except ValueError:
        raise ValueError(
            f"{what}: shapes {left.shape} and {right.shape} do not fit each other"
        ) from None
    if left.size == 0:
        raise ValueError(f"{what}: nothing was measured, so nothing can be compared")
    return left, right


def _ordered(what: str, *sides: np.ndarray) -> Iterator[list[Any]]:
    """The values of each side as Python numbers, whose integers neither wrap around nor lose digits
    next to a float; ValueError for NaN.
    """
    for side in sides:
        if side.dtype.kind == "c":
            raise ValueError(
                f"{what}: complex numbers have no order; compare their parts, or use identity"
            )
        values = [to_python(value) for value in side.ravel().tolist()]
        if any(value != value for value in values):
            raise ValueError(f"{what}: not a number among the values")
        yield values


def _rational(x: Any) -> Any:
    """A finite Decimal as a fraction, since Python cannot mix Decimals with floats."""
    return Fraction(x) if isinstance(x, Decimal) and x.is_finite() else x


def _minus(x: Any, y: Any) -> Any:
    """The difference x - y, exact even where one is a float and the other too large to be one."""
    x, y = _rational(x), _rational(y)
    exact = isinstance(x, int | Fraction), isinstance(y, int | Fraction)
    if any(exact) and float in (type(x), type(y)) and max(abs(x), abs(y)) > 2**53:
        return -y if abs(y) == math.inf else x if abs(x) == math.inf else Fraction(x) - Fraction(y)
    return x - y


def compare(
    what: str,
    measured: Any,
    relation: str,
    predicted: Any,
    *,
    method: str = "exact",
    slack: NonNegative = 0.0,
    digits: Size = 3,
) -> Check:
    """Compare measured numbers with predicted ones.

    Args:
        what: the measured quantity, in words.
        measured: a number or an array; every element must satisfy the relation. The element closest
            to failure is shown. Two lists of different lengths are not equal.
        relation: one of ``==``, ``<=``, ``>=``, ``<``, ``>``, or ``within``.
        predicted: a number or an array that broadcasts against ``measured``; for ``within`` a pair
            (low, high) of them, both ends included.
        method: ``exact`` (no random draw), ``draws`` (seeded random instances), ``proof`` (exact
            algebra that covers the stated range), ``evaluation`` (constants put into numbers),
            ``counterexample`` (``what`` says which), or ``interval`` (a count of intervals).
        slack: relative allowance for rounding, for bars that are tight in exact arithmetic.
        digits: significant digits shown; keep them inside the uncertainty.

    Raises:
        ValueError: unknown relation or method, shapes that do not fit, nothing to compare, or a
            value that is not a number.

    >>> from theorybook import compare
    >>> compare("largest row sum", [0.5, 1.5], "<=", 2).text
    'largest row sum: 1.5 <= 2 (nearest of 2)'
    >>> compare("largest row sum", [0.5, 2.5], "<=", 2).holds
    False
    """
    if relation != "within" and relation not in RELATIONS:
        raise ValueError(
            f"relation {relation!r} is unknown; choose one of {', '.join(RELATIONS)}, within"
        )
    if method not in COMPARED:
        raise ValueError(f"method {method!r} is unknown; choose one of {', '.join(COMPARED)}")
    if relation == "within":
        return _within(what, measured, predicted, method, slack, digits)
    sizes = [len(side) for side in (measured, predicted) if isinstance(side, list | tuple)]
    if relation == "==" and len(set(sizes)) == 2:
        text = f"{what}: a list of {sizes[0]} fails == a list of {sizes[1]}"
        return Check(method, False, text)
    left, right = _ordered(what, *_pair(what, measured, predicted))
    allowance = [slack * abs(_rational(b)) if slack else 0 for b in right]
    sign = {"<=": -1, "<": -1, ">=": 1, ">": 1}.get(relation)
    if sign is None:
        margins = [
            0 if x == y else a - abs(_minus(x, y)) for x, y, a in zip(left, right, allowance)
        ]
    else:
        margins = [
            a if x == y else sign * _minus(x, y) + a for x, y, a in zip(left, right, allowance)
        ]
    reaches = operator.ge if "=" in relation else operator.gt
    holds = all(reaches(margin, 0) for margin in margins)
    worst = min(range(len(left)), key=lambda i: margins[i])
    shown = relation if holds else f"fails {relation}"
    text = (
        f"{what}: {number(left[worst], digits)} {shown} "
        f"{number(right[worst], digits)}{_of(len(left), holds)}"
    )
    return Check(method, bool(holds), text)


def _of(size: int, holds: bool) -> str:
    """Words for which of several numbers is shown: the one nearest to failure, or the one that
    fails by most.
    """
    return f" ({'nearest' if holds else 'worst'} of {size})" if size > 1 else ""


def _within(what: str, measured: Any, bars: Any, method: str, slack: float, digits: int) -> Check:
    """Compare measured numbers with a lower and an upper bar each."""
    try:
        low, high = bars
    except (TypeError, ValueError):
        raise ValueError(f"{what}: within takes a pair (low, high), got {bars!r}") from None
    (_, low), (values, high) = _pair(what, measured, low), _pair(what, measured, high)
    values, low, high = _ordered(what, *np.broadcast_arrays(values, low, high))
    if any(a > b for a, b in zip(low, high)):
        raise ValueError(f"{what}: the lower bar exceeds the upper one")
    margins = [
        min(_minus(x, a) + slack * abs(_rational(a)), _minus(b, x) + slack * abs(_rational(b)))
        if slack
        else min(_minus(x, a), _minus(b, x))
        for x, a, b in zip(values, low, high)
    ]
    worst = min(range(len(values)), key=lambda i: margins[i])
    holds = margins[worst] >= 0
    bar = f"[{number(low[worst], digits)}, {number(high[worst], digits)}]"
    shown = "within" if holds else "fails within"
    return Check(
        method,
        bool(holds),
        f"{what}: {number(values[worst], digits)} {shown} {bar}{_of(len(values), holds)}",
    )


def identity(what: str, measured: Any, expected: Any, tolerance: NonNegative = 1e-10) -> Check:
    """Compare two computations of the same thing, which must agree to rounding.

    The error is the largest difference over the largest expected magnitude. The text names the
    tolerance it stays below, since the error itself changes with the machine. Complex numbers are
    compared as such.

    Raises:
        ValueError: shapes that do not fit, nothing to compare, or a tolerance that is not between 0
            and 1.

    >>> from theorybook import identity
    >>> identity("two ways to a third", 1 / 3, 2 / 6).holds
    True
    >>> identity("off by a thousandth", 1.0, 1.001).holds
    False
    """
    tolerance = float(tolerance)
    if not 0 < tolerance < 1:
        raise ValueError(
            f"{what}: tolerance = {tolerance} is not allowed: it lies strictly between 0 and 1"
        )
    left, right = _pair(what, measured, expected)
    if (
        left.dtype.kind == right.dtype.kind == "O"
    ):  # exact numbers may be too large or small for floats
        left, right = (side.ravel() / (np.max(np.abs(right)) or 1) for side in (left, right))
    kind = complex if "c" in left.dtype.kind + right.dtype.kind else float
    left, right = left.astype(kind), right.astype(kind)
    error = float(
        np.abs(left - right).max() / max(float(np.abs(right).max()), np.finfo(float).tiny)
    )
    holds = error < tolerance  # False for nan
    return Check(
        "identity", holds, f"{what}: relative error {'<' if holds else 'not <'} {tolerance:.0e}"
    )


def interval(
    what: str, estimate: Interval, relation: str, predicted: Signed, digits: Size = 3
) -> Check:
    """Compare a confidence interval with a prediction.

    Args:
        what: the estimated quantity, in words.
        estimate: from :func:`rate_interval`, :func:`mean_interval` or :func:`power_law`.
        relation: ``contains`` (the prediction lies inside), ``>=`` or ``<=`` (the whole interval
            lies on that side).
        predicted: the number.
        digits: significant digits shown.

    Raises:
        ValueError: unknown relation, not an :class:`Interval`, or a NaN.

    >>> from theorybook import interval, rate_interval
    >>> interval("a fair coin", rate_interval(52, 100), "contains", 0.5).holds
    True
    """
    return _interval("interval", what, estimate, relation, predicted, digits)


def _interval(
    method: str, what: str, estimate: Interval, relation: str, predicted: float, digits: int
) -> Check:
    low, high = estimate
    if any(value != value for value in (low, high, predicted)):
        raise ValueError(f"{what}: not a number among the values")
    tests = {"contains": low <= predicted <= high, ">=": low >= predicted, "<=": high <= predicted}
    if relation not in tests:
        raise ValueError(f"relation {relation!r} is unknown; choose one of {', '.join(tests)}")
    shown = relation if tests[relation] else f"fails {relation}"
    ci = (
        f"{100 * estimate.confidence:.12g}% interval [{number(low, digits)}, "
        f"{number(high, digits)}]"
    )
    return Check(method, bool(tests[relation]), f"{what}: {ci} {shown} {number(predicted, digits)}")


def exponent(
    what: str,
    x: Numbers,
    y: Numbers,
    relation: str,
    predicted: Signed,
    *,
    confidence: OpenChance = CONFIDENCE,
    digits: Size = 2,
) -> Check:
    """Compare a fitted power law with a predicted exponent, through the interval of
    :func:`power_law`.

    >>> from theorybook import exponent
    >>> x = [1, 2, 4, 8]
    >>> exponent("growth of x²", x, [t**2 for t in x], ">=", 1.9).holds
    True
    """
    slope, estimate = power_law(x, y, confidence)
    return _interval(
        "exponent",
        f"{what}: fitted exponent {number(slope, digits)}",
        estimate,
        relation,
        predicted,
        digits,
    )


def proved(what: str, *proofs: Proof) -> Check:
    """A check of a statement proved by :mod:`theorybook.prove` (a proof that fails raises there).

    It holds if every crosscheck of the proofs, with the layer or with the printed formula, agrees.

    Args:
        what: the statement, in words.
        proofs: its proof, or one for each of its parts, each crosschecked
            (:meth:`~theorybook.prove.Proof.crosschecked`).

    Raises:
        ValueError: no proof, a proof without a crosscheck, or something that is not a
            :class:`~theorybook.prove.Proof`.

    >>> from theorybook import proved
    >>> from theorybook.prove import prove_le
    >>> proof = prove_le("2 x <= 1 + x^2", lambda x: (2 * x, 1 + x**2), x=(0, None))
    >>> tied = proof.crosschecked([{"x": 3.0}], left=lambda x: x + x)
    >>> proved("all x >= 0", tied).holds
    True
    """
    if not proofs or not all(isinstance(proof, Proof) for proof in proofs):
        raise ValueError(f"{what}: needs proofs of theorybook.prove, got {proofs!r}")
    if loose := [proof.what for proof in proofs if not proof.ties]:
        raise ValueError(
            f"{what}: {loose} is not compared with the layer or the printed formula; use "
            "Proof.crosschecked"
        )
    return Check(
        "proof", not any(proof.untied for proof in proofs), f"{what}: {'; '.join(map(str, proofs))}"
    )
