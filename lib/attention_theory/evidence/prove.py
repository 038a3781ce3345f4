"""Proofs by computation: an inequality in a few real parameters, settled for a whole range at once.

All exact. :func:`positive` covers a box by smaller ones, on each of which ball arithmetic (Arb, through python-flint) shows
f > 0. :func:`nonnegative` proves a rational function >= 0 on a box or an unbounded orthant: moved to the corner, it has no
negative coefficient. :func:`same` shows that two expressions are one by algebra; :func:`every` goes through all cases. Each
returns a :class:`Proof` or raises :class:`NotProved` with the box or the point where it stops.

>>> positive("x^2 - 2x + 2 > 0", lambda x: x * x - 2 * x + 2, x=(0, 3)).range
'x in [0, 3]'
>>> print(nonnegative("(n - 1)/n^2 <= 1/4", lambda n: 1 - 4 * (n - 1) / n**2, n=(2, None)))
(n - 1)/n^2 <= 1/4 on n >= 2: 1 coefficient
"""

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

from attention_theory.domain import Signed, Size

Number = Signed | str | Fraction | Decimal
Range = tuple[Number, Number | None]

#: A box narrower than this part of its range is not split further.
FINEST = Fraction(1, 2**50)


@dataclass(frozen=True)
class Proof:
    """What was proved.

    Attributes:
        what: the inequality, in words or symbols.
        range: the parameters that it covers.
        boxes: how many pieces the proof has.
        by: what a piece is: boxes, coefficients, cases.
    """

    what: str
    range: str
    boxes: Size
    by: str = "boxes"

    def __str__(self) -> str:
        one = {"boxes": "box", "identities": "identity"}
        count = f"{self.boxes} {self.by if self.boxes != 1 else one.get(self.by, self.by[:-1])}"
        return f"{self.what} on {self.range}: {count}"


@runtime_checkable
class Term(Protocol):
    """A number, a SymPy expression, or a matrix of them."""

    def __sub__(self, other: Any, /) -> Any: ...

    def __truediv__(self, other: Any, /) -> Any: ...


class NotProved(ArithmeticError):
    """No proof: ``box`` is a point where the statement is certainly violated, or a box that could not be decided."""

    def __init__(self, what: str, box: Mapping[str, Any], violated: bool, why: str = ""):
        self.what, self.box, self.violated = what, dict(box), violated
        found = "violated at" if violated else "undecided on"
        super().__init__(f"{what}: {found} {', '.join(f'{k} = {v}' for k, v in box.items())}{why and f' ({why})'}")


def _exact(x: Number) -> Fraction:
    """A float means the decimal number that is written: 0.1 is 1/10."""
    return Fraction(repr(x)) if isinstance(x, float) else Fraction(x)


def _short(x: Fraction) -> str:
    """10^6 for 1000000, 0.1 for 1/10, 1/3 as it is; a point found by bisection to six digits."""
    if x.denominator == 1:
        digits = str(x)
        zeros = len(digits) - len(digits.rstrip("0"))
        return f"10^{zeros}" if zeros > 2 and digits == "1" + "0" * zeros else digits
    if x.denominator < 1000 and 10**12 % x.denominator:
        return str(x)
    return f"{float(x):.6g}"


def _range(ranges: Mapping[str, Range]) -> str:
    return ", ".join(
        f"{name} >= {_short(_exact(low))}" if high is None else f"{name} in [{_short(_exact(low))}, {_short(_exact(high))}]"
        for name, (low, high) in ranges.items()
    )


def _start(what: str, ranges: Mapping[str, Range], bounded: bool) -> dict[str, tuple[Fraction, Fraction | None]]:
    if not ranges:
        raise ValueError(f"{what}: a proof needs at least one parameter with its range")
    box = {name: (_exact(low), None if high is None else _exact(high)) for name, (low, high) in ranges.items()}
    for name, (low, high) in box.items():
        if high is None and bounded:
            raise ValueError(f"{what}: {name} has no upper end; ball arithmetic needs one")
        if high is not None and low > high:
            raise ValueError(f"{what}: {name} in [{low}, {high}] is empty")
    return box


def positive(
    what: str, f: Callable[..., Any], *, most: Size = 20_000, shown: str | None = None, precision: Size = 53, **ranges: Range
) -> Proof:
    """Prove f > 0 on a closed box, by bisection in ball arithmetic.

    Args:
        what: the inequality, for the reader.
        f: takes the parameters by name as ``flint.arb`` balls and returns one. Where it is 0 on the border of the box, divide
            by what vanishes first (:func:`exprel`).
        most: so many boxes are tried.
        shown: the range as the reader knows it, where the parameters are others (log n for n).
        precision: bits.
        ranges: (low, high) of each parameter, both ends included.

    Raises:
        NotProved: at some point f <= 0 for certain, or a box stays undecided.
        ValueError: a range that is empty or unbounded.
    """
    import flint

    def ball(low: Fraction, high: Fraction) -> "flint.arb":
        ends = [flint.arb(flint.fmpq(x.numerator, x.denominator)) for x in (low, high)]
        return ends[0] if low == high else ends[0].union(ends[1])

    whole: dict[str, Any] = _start(what, ranges, bounded=True)
    width = {name: high - low for name, (low, high) in whole.items()}
    todo, boxes, tried = [whole], 0, 0
    with flint.ctx.workprec(precision):
        while todo:
            box = todo.pop()
            tried += 1
            if f(**{name: ball(*ends) for name, ends in box.items()}) > 0:
                boxes += 1
                continue
            middle = {name: (low + high) / 2 for name, (low, high) in box.items()}
            if f(**{name: ball(x, x) for name, x in middle.items()}) <= 0:
                raise NotProved(what, {name: _short(x) for name, x in middle.items()}, violated=True)
            widths = {name: (high - low) / width[name] for name, (low, high) in box.items() if high > low}
            widest = max(widths, key=widths.__getitem__, default=None)
            if widest is None or widths[widest] < FINEST or tried > most:
                found = {name: f"[{float(low)!r}, {float(high)!r}]" for name, (low, high) in box.items()}
                raise NotProved(what, found, violated=False, why=f"after {tried} boxes")
            low, high = box[widest]
            todo += [box | {widest: (middle[widest], high)}, box | {widest: (low, middle[widest])}]
    return Proof(what, shown or _range(ranges), boxes)


def nonnegative(
    what: str, f: Callable[..., Any], *, strict: bool = False, depth: Size = 12, shown: str | None = None, **ranges: Range
) -> Proof:
    """Prove that a rational function is >= 0 (> 0) on a box or orthant, by the signs of its coefficients.

    With x = low + s, or (low + high s)/(1 + s) where there is an upper end, s >= 0 covers the range; a fraction of polynomials
    in s with coefficients >= 0 is >= 0 there. Ranges for which that fails are halved.

    Args:
        f: takes the parameters by name, as elements of a field of rational functions, and uses + - * / and whole powers only.
        strict: > 0, also at the ends that belong to the range.
        depth: so many halvings in a row.
        ranges: (low, high), or (low, None) for all numbers from low on.

    Raises:
        NotProved: with a point at which f < 0 (<= 0), or the range where a negative coefficient stays.
    """
    from sympy import QQ
    from sympy.polys.fields import field

    names = list(ranges)
    variables = field(",".join(names), QQ)[1:]
    todo: list[tuple[dict[str, Any], int]] = [(_start(what, ranges, bounded=False), 0)]
    pieces = 0
    while todo:
        box, halvings = todo.pop()
        inside = {}
        for (name, (low, high)), s in zip(box.items(), variables):
            low = QQ(low.numerator, low.denominator)
            inside[name] = low + s if high is None else (low + QQ(high.numerator, high.denominator) * s) / (1 + s)
        value = f(**inside)
        value = variables[0] * 0 + value  # a constant too
        coefficients = _coefficients(value, [high is not None for _, high in box.values()], strict)
        if coefficients is not None:
            pieces += coefficients
            continue
        for point in _points(box):
            try:
                exact = f(**point)
            except ZeroDivisionError:
                continue
            if exact < 0 or (strict and exact == 0):
                raise NotProved(what, {name: _short(x) for name, x in point.items()}, violated=True)
        if halvings >= depth:
            raise NotProved(
                what, {n: f"[{low}, {'oo' if high is None else high}]" for n, (low, high) in box.items()}, violated=False
            )
        name = names[halvings % len(names)]
        low, high = box[name]
        middle = 2 * abs(low) + 1 if high is None else (low + high) / 2
        todo += [(box | {name: (middle, high)}, halvings + 1), (box | {name: (low, middle)}, halvings + 1)]
    return Proof(what, shown or _range(ranges), pieces, "coefficients")


def _coefficients(value: Any, bounded: list[bool], strict: bool) -> int | None:
    """How many coefficients the numerator has, if none is negative (and, strictly, those at the corners are positive)."""
    above, below = value.numer, value.denom
    if below.LC < 0:
        above, below = -above, -below
    if any(c < 0 for c in below.values()) or any(c < 0 for c in above.values()):
        return None
    if strict:
        top, bottom = [[max(powers) for powers in zip(*p)] if p else [0] * len(bounded) for p in (above, below)]
        ends = [(0, high) if closed else (0,) for high, closed in zip(top, bounded)]
        if any(b > t for t, b, closed in zip(top, bottom, bounded) if closed) or any(
            above.get(corner, 0) <= 0 for corner in itertools.product(*ends)
        ):
            return None
    return max(len(above), 1)


def _points(box: dict[str, Any]) -> Iterable[dict[str, Fraction]]:
    """Corners and middles; from an open end on three numbers farther out."""
    lines = [
        [low, low + 1, 2 * abs(low) + 10, 1000 * (abs(low) + 1)] if high is None else [low, (low + high) / 2, high]
        for low, high in box.values()
    ]
    for point in itertools.product(*lines):
        yield dict(zip(box, point))


def same(what: str, left: Term, right: Term, shown: str) -> Proof:
    """Prove that two SymPy expressions (or matrices of them) are equal for all values of their symbols, by algebra.

    Args:
        shown: the sizes and values that the identity covers, in words; where the symbols stand at a small size only, the
            caller's docstring argues for all.

    Raises:
        NotProved: a point where they differ, or what is left of the difference.
    """
    import sympy

    left, right = sympy.Matrix([left]), sympy.Matrix([right])
    if left.shape != right.shape or not len(left):
        raise ValueError(f"{what}: sizes {left.shape} and {right.shape}; both sides need the same entries, and at least one")
    rest = left - right
    symbols = sorted(rest.free_symbols, key=str)
    point = {str(symbol): (2 * k + 3) / (k + 7) for k, symbol in enumerate(symbols)}
    for entry in rest:
        # what is wrong differs at almost every point, and algebra would look for long
        if abs(sympy.lambdify(symbols, entry, "mpmath")(*point.values())) > 1e-9:
            raise NotProved(what, point, violated=True)
        entry = sympy.cancel(sympy.together(sympy.expand(entry)))
        if entry != 0 and sympy.simplify(entry) != 0:
            raise NotProved(what, {"left - right": str(entry)[:80]}, violated=True)
    return Proof(what, shown, len(rest), "identities")


def every(what: str, holds: Callable[..., bool], cases: Iterable[Any], shown: str) -> Proof:
    """Prove a statement by going through all its cases; ``holds`` decides each in exact arithmetic.

    Raises:
        NotProved: the first case that fails.
        ValueError: no case.
    """
    count = 0
    for case in cases:
        case = case if isinstance(case, tuple) else (case,)
        if not holds(*case):
            raise NotProved(what, {"case": case}, violated=True)
        count += 1
    if not count:
        raise ValueError(f"{what}: no case was given")
    return Proof(what, shown, count, "cases")


def joined(what: str, shown: str, *proofs: Proof) -> Proof:
    """One statement proved on pieces that cover ``shown`` together, or by several steps."""
    if not proofs:
        raise ValueError(f"{what}: no proof was given")
    by = {proof.by for proof in proofs}
    return Proof(what, shown, sum(proof.boxes for proof in proofs), by.pop() if len(by) == 1 else "pieces")


def least(*values: Any) -> Any:
    """A ball that is > 0 only if all of them are: the first that is not certainly positive, else the last."""
    return next((value for value in values if not value > 0), values[-1])


def exprel(x: Any) -> Any:
    """(e^x - 1)/x of a ball, which may contain 0: 1F1(1, 2, x), increasing, so that its ends enclose it."""
    return _increasing(x, lambda end: end.hypgeom_1f1(1, 2))


def exprel2(x: Any) -> Any:
    """(e^x - 1 - x)/x^2 of a ball, which may contain 0: 1F1(1, 3, x)/2, increasing, so that its ends enclose it."""
    return _increasing(x, lambda end: end.hypgeom_1f1(1, 3) / 2)


def _increasing(x: Any, f: Callable[[Any], Any]) -> Any:
    import flint

    x = flint.arb(x)
    return f(x.lower()).union(f(x.upper()))
