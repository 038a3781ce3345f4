"""Proofs by computation: a statement in a few real parameters, settled for a whole range at once,
and tied to what it is about.

Every proof is exact. :func:`prove_less` covers a box by smaller ones, on each of which ball
arithmetic (Arb, through python-flint) shows left < right. :func:`prove_le` proves left <= right for
rational functions on a box or an unbounded orthant: after a shift to the corner, the difference has
no negative coefficient. :func:`prove_identity` shows by algebra that two expressions are equal;
:func:`prove_by_cases` goes through all cases. Each returns a :class:`Proof` or raises
:class:`NotProved` with the box or the point where it fails.

A proof is about algebra. :meth:`Proof.crosschecked` compares both sides of what was proved with the
layer and the printed formula at drawn points inside the range; only a crosschecked proof makes a
check (:func:`theorybook.proved`).

>>> from theorybook.prove import prove_le, prove_less
>>> prove_less("x^2 - 2x + 2 > 0", lambda x: (0, x * x - 2 * x + 2), x=(0, 3)).range
'x in [0, 3]'
>>> sides = lambda n: (4 * (n - 1) / n**2, 1)
>>> print(prove_le("(n - 1)/n^2 <= 1/4", sides, where={"n": "d - 2"}, n=(2, None)))
(n - 1)/n^2 <= 1/4 on d - 2 >= 2: 1 coefficient
"""

import functools
import itertools
import math
import operator
import types
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from theorybook.validation import Arithmetic, Signed, Size, to_numpy, to_python

Number = Signed | str | Fraction | Decimal
Range = tuple[Number, Number | None]

#: Limits of the search: boxes tried, and halvings in a row.
MOST_BOXES, MOST_HALVINGS = 20_000, 12
#: A box narrower than this fraction of its range is not split further.
FINEST = Fraction(1, 2**50)
#: A box narrower than this fraction of its range is also tried at its corners, for a point where
#: the statement is false.
COARSE = Fraction(1, 2**8)
#: Relative difference up to which two computations of one number agree.
ROUNDING = 1e-9
#: A point this close to an end, relative to 1 plus the end's size, counts as lying at it; the second
#: number is for ends that were rounded outward (0.693 for log 2).
AT_END, AT_ROUNDED_END = 1e-9, 1e-3


@dataclass(frozen=True)
class Proof:
    """A proved statement.

    Attributes:
        what: the statement, in words or symbols.
        range: the parameters that it covers, from the box itself.
        boxes: number of pieces of the proof.
        by: what the pieces are: boxes, coefficients, identities, cases.
        sides: the two sides at a point, given by its letters; raises :class:`NotProved` outside the
            box.
        ties: the crosschecks: what was compared with the layer or the printed formula, in how many
            comparisons (a side at a point is one), and whether they agree.

    >>> from theorybook.prove import prove_le
    >>> proof = prove_le("2 x <= 1 + x^2", lambda x: (2 * x, 1 + x**2), x=(0, None))
    >>> proof.range
    'x >= 0'
    >>> proof.at({'x': 3.0})
    (6.0, 10.0)
    """

    what: str
    range: str
    boxes: Size
    by: str = "boxes"
    sides: "_Sides | None" = field(default=None, repr=False, compare=False)
    ties: tuple[tuple[str, int, bool], ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        one = {"boxes": "box", "identities": "identity"}
        count = f"{self.boxes} {self.by if self.boxes != 1 else one.get(self.by, self.by[:-1])}"
        return f"{self.what} on {self.range}: {count}{_said(self.ties)}"

    def crosschecked(
        self,
        at: Iterable[Any],
        left: Any = None,
        right: Any = None,
        *,
        rounded: Collection[str] = (),
        inside: Mapping[str, str] | None = None,
    ) -> "Proof":
        """The same proof, with its sides compared with other computations at drawn points.

        Args:
            at: the points, each by its letters or with them as its attributes, inside the range.
                Both ends of each range must have a point, so that a range narrower or wider than
                the quantity's own is noticed.
            left, right: the quantity that a side of the statement stands for: a number or an array
                for each point, a function of the letters (of the object, where a point is one) that
                gives it, or one number for all.
            rounded: parameters whose ends are decimals, rounded outward from a number that the
                points reach: log 2 in [0.693, 0.6932].
            inside: ends that no point can reach, with the reason: ``{"v = 0": "n = oo"}``.

        Raises:
            NotProved: a point lies outside of what was proved.
            ValueError: no point at an end of a range, or ``inside`` names one that has a point.
        """
        points = list(at)
        if not points or (left is None and right is None):
            raise ValueError(f"{self.what}: a tie needs points and what one of the sides is there")
        letters = [point if isinstance(point, Mapping) else vars(point) for point in points]
        found, pairs = self, [self.at(each) for each in letters]
        loose = self.sides.loose_ends(letters, rounded) if self.sides else []
        if missing := [end for end in loose if end not in (inside or {})]:
            raise ValueError(
                f"{self.what}: no point lies at {', '.join(missing)}; add it, or say in inside why "
                "no point can reach it"
            )
        if needless := [end for end in inside or {} if end not in loose]:
            raise ValueError(
                f"{self.what}: inside names {', '.join(needless)}, which is not an end without a point"
            )
        for name, column, side in zip(("left", "right"), zip(*pairs), (left, right)):
            if side is not None:
                values = _at_points(side, points)
                if len(values) != len(points):
                    raise ValueError(
                        f"{self.what}: {len(points)} points, but {len(values)} values of the "
                        f"{name} side"
                    )
                found = found.crosschecked_values(f"{name} side", column, values)
        return found

    def at(self, letters: Mapping[str, Any]) -> tuple[Any, Any]:
        """Both sides at a point, given by its letters.

        Raises:
            NotProved: the point lies outside of what was proved.
            ValueError: a proof by cases, which has no sides, or a point without the letters of the
                range.
        """
        if self.sides is None:
            raise ValueError(f"{self.what}: cases have no sides")
        return self.sides(letters)

    @property
    def untied(self) -> list[str]:
        """The crosschecks that fail."""
        return [what for what, _, holds in self.ties if not holds]

    def crosschecked_values(self, what: str, found: Any, expected: Any) -> "Proof":
        """The same proof with one more crosscheck: two computations of the same quantity, compared
        number by number.

        Args:
            what: what is compared.
            found, expected: a number or an array for each point.

        Raises:
            ValueError: anything but numbers, sizes that do not fit, or nothing to compare.
        """
        try:
            pairs = [
                (np.ravel(_floats(x)), np.ravel(_floats(y)))
                for x, y in zip(found, expected, strict=True)
            ]
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{self.what}: {what}: needs a number or an array for each point on both sides "
                f"({error})"
            ) from error
        if not pairs or any(x.shape != y.shape or not x.size for x, y in pairs):
            raise ValueError(f"{self.what}: {what}: sizes that do not fit, or nothing to compare")
        finite = all(np.isfinite(y).all() for _, y in pairs)  # equal infinities prove nothing
        holds = finite and all(
            np.allclose(x, y, rtol=ROUNDING, atol=ROUNDING * np.abs(y).max()) for x, y in pairs
        )
        return replace(self, ties=(*self.ties, (what, len(pairs), holds)))


def _at_points(side: Any, points: list[Any]) -> list[Any]:
    """The values given to :meth:`Proof.crosschecked` for one side, point by point."""
    if callable(side):
        return [side(**point) if isinstance(point, Mapping) else side(point) for point in points]
    return [side] * len(points) if isinstance(side, int | float) else list(side)


def _said(ties: tuple[tuple[str, int, bool], ...]) -> str:
    if not ties:
        return ""
    failed = [what for what, _, holds in ties if not holds]
    pairs = sum(pairs for _, pairs, _ in ties)
    return (
        f", {', '.join(failed)}: NOT that of the layer"
        if failed
        else f", tied by {pairs} comparison{'s' if pairs > 1 else ''}"
    )


class NotProved(ArithmeticError):
    """No proof: ``box`` is a point where the statement is certainly violated, or a box that could
    not be decided.

    >>> from theorybook.prove import prove_less
    >>> prove_less("x < 1", lambda x: (x, 1), x=(0, 2))
    Traceback (most recent call last):
        ...
    theorybook.prove.NotProved: x < 1: violated at x = 1
    """

    def __init__(self, what: str, box: Mapping[str, Any], violated: bool, why: str = ""):
        self.what, self.box, self.violated, self.why = what, dict(box), violated, why
        found = "violated at" if violated else "undecided on"
        super().__init__(
            f"{what}: {found} "
            f"{', '.join(f'{k} = {v}' for k, v in box.items())}{why and f' ({why})'}"
        )

    def __reduce__(self):
        """Keep all arguments when a worker of a sweep sends the exception; Python would rebuild it
        from its message alone.
        """
        return type(self), (self.what, self.box, self.violated, self.why), self.__dict__


def _floats(x: Any) -> Any:
    """Tensors, SymPy and flint numbers as floats."""
    return np.asarray([float(v) for v in np.ravel(np.asarray(to_numpy(x), dtype=object))])


def _exact(x: Number) -> Fraction:
    """A number as a fraction; a float stands for the decimal that is written: 0.1 is 1/10."""
    return Fraction(repr(float(x))) if isinstance(x, float) else Fraction(x)


def _short(x: Fraction) -> str:
    """A fraction as text: 10^6 for 1000000, 0.1 for 1/10, 1/3 as it is; a point found by bisection
    to six digits.
    """
    if x and not Fraction(1, 10**300) < abs(x) < 10**300:  # no float
        return f"{Decimal(x.numerator) / Decimal(x.denominator):.6g}"
    if x.denominator == 1:
        digits = str(x)
        zeros = len(digits) - len(digits.rstrip("0"))
        return f"10^{zeros}" if zeros > 2 and digits == "1" + "0" * zeros else digits
    if x.denominator < 1000 and 10**12 % x.denominator:
        return str(x)
    return f"{float(x):.15g}" if 10**12 % x.denominator == 0 else f"{float(x):.6g}"


def _end(x: Fraction, inward: int) -> str:
    """An end of a range in six digits, rounded so that it claims nothing that was not proved."""
    shown = _short(x)
    if shown.startswith("10^") or (Fraction(shown) - x) * inward >= 0:
        return shown
    rounded = Context(prec=6, rounding=ROUND_CEILING if inward > 0 else ROUND_FLOOR)
    return f"{rounded.divide(Decimal(x.numerator), Decimal(x.denominator)):g}"


def _range(
    box: Mapping[str, tuple[Any, Any]],
    where: Mapping[str, str],
    opened: Iterable[str] = (),
) -> str:
    """The box in the paper's letters; a point is written as one."""

    def line(name: str, low: Any, high: Fraction | None) -> str:
        letters = _letters(name, where)
        if low == -math.inf:
            return f"all {letters}" if high is None else f"{letters} <= {_short(high)}"
        if low == high:
            return f"{letters} = {_short(low)}"
        sign = ">" if name in opened else ">="
        first = _end(low, 1)
        return (
            f"{letters} {sign} {first}"
            if high is None
            else f"{letters} in [{first}, {_end(high, -1)}]"
        )

    return ", ".join(line(name, *ends) for name, ends in box.items())


def _letters(name: str, where: Mapping[str, str]) -> str:
    return where.get(name, name).replace("**", "^").replace("*", " ")


def _start(
    what: str, ranges: Mapping[str, Range], bounded: bool
) -> dict[str, tuple[Fraction, Fraction | None]]:
    if not ranges:
        raise ValueError(f"{what}: a proof needs at least one parameter with its range")
    box = {
        name: (_exact(low), None if high is None else _exact(high))
        for name, (low, high) in ranges.items()
    }
    for name, (low, high) in box.items():
        if high is None and bounded:
            raise ValueError(f"{what}: {name} has no upper end; ball arithmetic needs one")
        if high is not None and low > high:
            raise ValueError(f"{what}: {name} in [{low}, {high}] is empty")
    return box


def _pair(sides: Any) -> tuple[Any, ...]:
    return sides if isinstance(sides, tuple) else (0, sides)


def _asked(
    what: str, f: Callable[..., Any], values: Mapping[str, Any], kind: str
) -> tuple[Any, Any]:
    """Both sides that ``f`` gives for parameters of this kind; ValueError with one sentence if it
    cannot.
    """
    try:
        sides = _pair(f(**values))
    except _Lost as lost:
        raise ValueError(f"{what}: where f takes {kind}, {lost}") from None
    except (AttributeError, TypeError) as error:
        raise ValueError(f"{what}: f cannot be computed with {kind} ({error})") from error
    for side in sides:
        if isinstance(side, bool | np.bool_ | np.ndarray | str) or not hasattr(side, "__truediv__"):
            raise ValueError(
                f"{what}: f gives {side!r}; it must give the numbers left and right, or right alone"
            )
    if len(sides) != 2:
        raise ValueError(f"{what}: f gives {len(sides)} sides, left and right are two")
    return sides


@dataclass(frozen=True)
class _Sides:
    """Both sides at a point given by its letters, through the change of variables that the card
    shows.
    """

    what: str
    f: Callable[..., Any]
    box: Mapping[str, tuple[Any, Any]]
    where: Mapping[str, str]
    number: Callable
    opened: tuple[str, ...] = ()

    def point(self, letters: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters of the box at a point given by its letters."""
        known = {"log": math.log, "exp": math.exp, "sqrt": math.sqrt, **letters}
        try:
            return {
                name: eval(_compiled(self.where[name]), {"__builtins__": {}}, known)
                if name in self.where
                else known[name]
                for name in self.box
            }
        except (KeyError, NameError) as error:
            raise ValueError(
                f"{self.what}: a point gives {', '.join(letters)}, but the range is "
                f"{_range(self.box, self.where)}"
            ) from error

    def __call__(self, letters: Mapping[str, Any]) -> tuple[Any, Any]:
        point = self.point(letters)
        for name, (low, high) in self.box.items():
            slack = AT_END * (1 + abs(point[name]))
            if point[name] < low - slack or (high is not None and point[name] > high + slack):
                raise NotProved(
                    self.what,
                    {name: point[name]},
                    violated=True,
                    why=f"outside of what was proved, {_range(self.box, self.where)}",
                )
        return _pair(self.f(**{name: self.number(x) for name, x in point.items()}))

    def loose_ends(self, at: Iterable[Mapping[str, Any]], rounded: Collection[str]) -> list[str]:
        """The ends of ranges at which none of the points lies."""
        points = [self.point(letters) for letters in at]
        ends = [
            (name, end, AT_ROUNDED_END if name in rounded else AT_END)
            for name, (low, high) in self.box.items()
            if high is not None and -math.inf < low < high
            for end in ((high,) if name in self.opened else (low, high))
        ]
        return [
            f"{name} = {_short(end)}"
            for name, end, near in ends
            if all(abs(point[name] - end) > near * (1 + abs(end)) for point in points)
        ]


@functools.cache
def _compiled(text: str) -> types.CodeType:
    return compile(text, "<where>", "eval")


class _Lost(Exception):
    """An operation on something that stands for many numbers at once, with no answer that is right
    for all of them.
    """


def _refused(why: str) -> Callable:
    def refuse(self: Any, *_: Any) -> Any:
        raise _Lost(why)

    return refuse


class _Many:
    """An object that stands for all numbers of a range at once and never becomes one of them."""

    __slots__ = ()
    __float__ = __int__ = __index__ = __complex__ = _refused(
        "it becomes a plain number (float, int, math, numpy), which is one of its values alone; "
        "use its own functions, as x.exp()"
    )
    __round__ = __floor__ = __ceil__ = __trunc__ = __floordiv__ = __mod__ = __divmod__ = _refused(
        "it is rounded to a whole number, which jumps; split the range where it does"
    )
    __hash__ = _refused(  # type: ignore[assignment]
        "it is looked up (dict, set, cache), which finds one of its values alone"
    )


def _compared(name: str, opposite: str) -> Callable:
    def compare(self: "_WatchedBall", other: Any) -> bool:
        other = _bare(other)
        if getattr(operator, name)(self.ball, other):
            return True
        if getattr(operator, opposite)(self.ball, other):
            return False
        raise _Lost(
            "two balls that overlap are compared (if, min, max, ==), which decides for one of "
            "their values alone; use their .min, .max, or split the range"
        )

    return compare


def _computed(name: str, *, swapped: bool = False) -> Callable:
    operation = getattr(operator, name)

    def compute(self: "_WatchedBall", other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # NumPy goes through its entries
        pair = self.ball, _bare(other)
        return _watched(operation(*(pair[::-1] if swapped else pair)))

    return compute


class _WatchedBall(_Many):
    """A ball that cannot lose its width unnoticed: what :func:`prove_less` passes to its function
    for a parameter.

    It has the arithmetic and the functions of ``flint.arb``. Whatever would treat it as one of its
    values (a comparison that is not decided on the whole ball, float, int, round, a middle, a
    lookup, a constructor) is refused. ``ball`` is the unwatched ball.
    """

    __slots__ = ("ball",)

    def __init__(self, ball: Any):
        self.ball = ball

    def __repr__(self) -> str:
        return f"ball {self.ball}"

    def __bool__(self) -> bool:
        return self != 0

    def __neg__(self) -> "_WatchedBall":
        return _WatchedBall(-self.ball)

    def __pos__(self) -> "_WatchedBall":
        return self

    def __abs__(self) -> "_WatchedBall":
        return _WatchedBall(abs(self.ball))

    def __getattr__(self, name: str) -> Callable:
        if name.startswith("_") or name in self.__slots__:
            raise AttributeError(name)
        method = getattr(self.ball, name)

        def call(*arguments: Any) -> Any:
            if name not in _TAKEN_APART:
                found = method(*map(_bare, arguments))
                if type(found) is type(self.ball) or isinstance(found, tuple):
                    return _watched(found)
            raise _Lost(f".{name}() answers for a ball as a whole, not for each number in it")

        return call

    __hash__ = _Many.__hash__
    __lt__, __ge__ = _compared("lt", "ge"), _compared("ge", "lt")
    __le__, __gt__ = _compared("le", "gt"), _compared("gt", "le")
    __eq__, __ne__ = _compared("eq", "ne"), _compared("ne", "eq")  # type: ignore[assignment]
    __add__, __radd__ = _computed("add"), _computed("add", swapped=True)
    __sub__, __rsub__ = _computed("sub"), _computed("sub", swapped=True)
    __mul__, __rmul__ = _computed("mul"), _computed("mul", swapped=True)
    __truediv__, __rtruediv__ = _computed("truediv"), _computed("truediv", swapped=True)
    __pow__, __rpow__ = _computed("pow"), _computed("pow", swapped=True)


#: Methods of a ball that give another ball, but not one around the value at each of its numbers.
_TAKEN_APART = ("mid", "rad", "lower", "upper", "abs_lower", "abs_upper", "intersection")


def _watched(x: Any) -> Any:
    """A ball, or a tuple of balls, watched."""
    return tuple(map(_watched, x)) if isinstance(x, tuple) else _WatchedBall(x)


def _bare(x: Any) -> Any:
    """A ball without its watch, and an exact number as a ball (a float is the decimal that is
    written); anything else unchanged.
    """
    kind = type(x)
    if kind is _WatchedBall:
        return x.ball
    if kind is int or kind.__name__ == "arb":  # most are, and this is the inner loop
        return x
    x = to_python(x)
    exact = isinstance(x, Fraction | Decimal) or (isinstance(x, float) and math.isfinite(x))
    return ball(x) if exact else x


def as_ball(x: Any) -> Any:
    """A number as a ball; one that :func:`prove_less` watches stays watched."""
    import flint

    if x is None or isinstance(x, str):  # which flint would read as 0, and as decimals
        raise TypeError(f"{x!r} is not a number")
    return x if isinstance(x, _WatchedBall) else flint.arb(x)


def _like(inputs: tuple, found: Any) -> Any:
    """A ball computed from these inputs, watched if one of them is."""
    return _WatchedBall(found) if any(isinstance(x, _WatchedBall) for x in inputs) else found


def prove_less(
    what: str, f: Callable[..., Any], *, where: Mapping[str, str] | None = None, **ranges: Range
) -> Proof:
    """Prove left < right on a closed box, by bisection in ball arithmetic.

    On each box both sides are enclosed, and the enclosures must be finite: where a side has a pole,
    or no value, nothing is proved. The balls are watched on every box (``_WatchedBall``), so that
    no ``if``, ``max``, ``float``, ``round`` or lookup of a parameter can decide for a whole box by
    one of its numbers. Not watched are constants that ``f`` makes itself, and the claim that a
    function given to :func:`monotone` is monotone.

    Args:
        what: the inequality, for the reader.
        f: takes the parameters by name as balls with the functions of ``flint.arb`` and returns
            (left, right), or right alone where left is 0. Where they are equal on the border of the
            box, divide by what vanishes first (:func:`exprel`).
        where: a parameter in the paper's letters, as a Python expression: ``{"x": "log(n)"}``.
        ranges: (low, high) of each parameter, both ends included.

    Raises:
        NotProved: at some point left >= right certainly holds, or a side has no finite value, or a
            box remains undecided.
        ValueError: a range that is empty or unbounded; or ``f`` treats a ball as one of its
            numbers.
    """
    import flint

    def enclosed(low: Fraction, high: Fraction) -> "flint.arb":
        return ball(low) if low == high else ball(low).union(ball(high))

    def gap(box: dict[str, Any]) -> "flint.arb":
        sides = _asked(what, f, {name: _WatchedBall(x) for name, x in box.items()}, "balls")
        left, right = map(_bare, sides)
        return flint.arb(right - left)

    where = where or {}
    whole: dict[str, Any] = _start(what, ranges, bounded=True)
    width = {name: high - low for name, (low, high) in whole.items()}
    todo, boxes, tried = [whole], 0, 0
    with flint.ctx.workprec(53):
        while todo:
            box = todo.pop()
            tried += 1
            found = gap({name: enclosed(*ends) for name, ends in box.items()})
            if found > 0 and found.is_finite():
                boxes += 1
                continue
            middle = {name: (low + high) / 2 for name, (low, high) in box.items()}
            widths = {
                name: (high - low) / width[name] for name, (low, high) in box.items() if high > low
            }
            widest = max(widths, key=widths.__getitem__, default=None)
            points = [middle]
            if widest is None or tried == 1 or widths[widest] < COARSE:
                points += [dict(zip(box, corner)) for corner in itertools.product(*box.values())]
            for point in points:
                found = gap({name: ball(x) for name, x in point.items()})
                if found <= 0 or not found.is_finite():
                    violated = found.is_finite()
                    why = "" if violated else "a side has no finite value there"
                    shown = {name: _short(x) for name, x in point.items()}
                    raise NotProved(what, shown, violated, why)
            if widest is None or widths[widest] < FINEST or tried > MOST_BOXES:
                shown = {
                    name: f"[{float(low)!r}, {float(high)!r}]" for name, (low, high) in box.items()
                }
                raise NotProved(what, shown, violated=False, why=f"after {tried} boxes")
            low, high = box[widest]
            todo += [box | {widest: (middle[widest], high)}, box | {widest: (low, middle[widest])}]
    return Proof(what, _range(whole, where), boxes, sides=_Sides(what, f, whole, where, flint.arb))


class _Seen(_Many):
    """An element of a field of rational functions that records its divisors, so that no factor
    cancels unnoticed.
    """

    __hash__ = _Many.__hash__
    __bool__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __abs__ = _refused(  # type: ignore
        "it is compared (if, min, max, abs, ==), which decides for one of its values alone; split "
        "the range"
    )

    def __init__(self, value: Any, divisors: list[Any]):
        self.value, self.divisors = value, divisors

    def _with(self, value: Any) -> "_Seen":
        return _Seen(value, self.divisors)

    def _by(self, divisor: Any) -> None:
        if hasattr(divisor, "numer") and hasattr(divisor, "field") and divisor not in self.divisors:
            self.divisors.append(divisor)

    def __add__(self, other: Any) -> "_Seen":
        return self._with(self.value + _plain(other))

    def __sub__(self, other: Any) -> "_Seen":
        return self._with(self.value - _plain(other))

    def __rsub__(self, other: Any) -> "_Seen":
        return self._with(-self.value + _plain(other))

    def __mul__(self, other: Any) -> "_Seen":
        return self._with(self.value * _plain(other))

    def __neg__(self) -> "_Seen":
        return self._with(-self.value)

    def __truediv__(self, other: Any) -> "_Seen":
        self._by(_plain(other))
        return self._with(self.value / _plain(other))

    def __rtruediv__(self, other: Any) -> "_Seen":
        self._by(self.value)
        return self._with(self.value**-1 * _plain(other))

    def __pow__(self, power: Any) -> "_Seen":
        if not isinstance(to_python(power), int):
            raise _Lost(f"it is raised to the power {power}; whole powers only")
        if power < 0:
            self._by(self.value)
        return self._with(self.value**power)

    __radd__, __rmul__ = __add__, __mul__


def _plain(x: Any) -> Any:
    from sympy import QQ

    x = x.value if isinstance(x, _Seen) else to_python(x)
    if isinstance(x, float | Decimal) and not math.isfinite(x):
        raise _Lost(f"it meets {x}, which is not a fraction")
    x = _exact(x) if isinstance(x, float | Decimal) else x
    return QQ(x.numerator, x.denominator) if isinstance(x, Fraction) else x


def prove_le(
    what: str,
    f: Callable[..., Any],
    *,
    strict: bool = False,
    where: Mapping[str, str] | None = None,
    opened: tuple[str, ...] = (),
    **ranges: Range,
) -> Proof:
    """Prove left <= right (left < right) for rational functions on a box or orthant, by the signs
    of coefficients.

    With x = low + s, or (low + high s)/(1 + s) where there is an upper end, s >= 0 covers the
    range; a fraction of polynomials in s with coefficients >= 0 is >= 0 there. Ranges for which
    that fails are halved. Every divisor in the computation must have one sign on the whole range,
    so that there is no pole and no factor cancels that could be 0.

    Args:
        f: takes the parameters by name, as elements of a field of rational functions, uses + - * /
            and whole powers only, and returns (left, right), or right alone where left is 0.
        strict: left < right, also at the ends that belong to the range.
        where: as in :func:`prove_less`.
        opened: parameters whose lower end does not belong to the range.
        ranges: (low, high), or (low, None) for all numbers from low on.

    Raises:
        NotProved: with a point at which left > right (>=) or a side is not defined, or the range
            that remains undecided.
    """
    from sympy import QQ
    from sympy.polys.fields import field as rational

    where, names = where or {}, list(ranges)
    whole = _start(what, ranges, bounded=False)
    fractions, *variables = rational(",".join(names), QQ)

    def sides(values: dict[str, _Seen]) -> list[Any]:
        pair = _asked(what, f, values, "fractions of polynomials")
        try:
            return [_plain(side) for side in pair]
        except _Lost as lost:
            raise ValueError(f"{what}: a side is not finite, {lost}") from None

    todo: list[tuple[dict[str, Any], int]] = [(whole, 0)]
    pieces = 0
    while todo:
        box, halvings = todo.pop()
        inside, divisors = {}, []
        for (name, (low, high)), s in zip(box.items(), variables):
            low = QQ(low.numerator, low.denominator)
            x = (
                low + s
                if high is None
                else (low + QQ(high.numerator, high.denominator) * s) / (1 + s)
            )
            inside[name] = _Seen(x, divisors)
        left, right = sides(inside)
        bounded = [high is not None for _, high in box.values()]
        at_start = [name in opened and box[name][0] == whole[name][0] for name in names]

        def signed(value: Any, strict: bool) -> int | None:
            if not hasattr(value, "field"):
                value = fractions.ground_new(QQ.convert(value))
            return _coefficients(value, bounded, strict, at_start)

        coefficients = signed(right - left, strict)
        if coefficients is not None and all(signed(g, True) or signed(-g, True) for g in divisors):
            pieces += coefficients
            continue
        for point in _points(box):
            # points just inside an end that does not belong to the range
            point |= {
                name: whole[name][0] + Fraction(1, 1000)
                for name in opened
                if point[name] == whole[name][0]
            }
            shown_point = {name: _short(x) for name, x in point.items()}
            constants = {
                name: _Seen(QQ(x.numerator, x.denominator), []) for name, x in point.items()
            }
            try:
                left, right = sides(constants)
            except ZeroDivisionError:
                raise NotProved(what, shown_point, violated=True, why="divided by 0") from None
            if right < left or (strict and right == left):
                raise NotProved(what, shown_point, violated=True)
        if halvings >= MOST_HALVINGS:
            raise NotProved(
                what,
                {n: f"[{low}, {'oo' if high is None else high}]" for n, (low, high) in box.items()},
                violated=False,
            )
        name = names[halvings % len(names)]
        low, high = box[name]
        middle = 2 * abs(low) + 1 if high is None else (low + high) / 2
        todo += [
            (box | {name: (middle, high)}, halvings + 1),
            (box | {name: (low, middle)}, halvings + 1),
        ]
    return Proof(
        what,
        _range(whole, where, opened),
        pieces,
        "coefficients",
        _Sides(what, f, whole, where, float, opened),
    )


def _coefficients(value: Any, bounded: list[bool], strict: bool, opened: list[bool]) -> int | None:
    """The number of coefficients of the numerator if none is negative (and, if strict, those at the
    corners are positive); else None.
    """
    above, below = value.numer, value.denom
    if below.LC < 0:
        above, below = -above, -below
    if any(c < 0 for c in below.values()) or any(c < 0 for c in above.values()):
        return None
    if strict:
        top, bottom = [
            [max(powers) for powers in zip(*p)] if p else [0] * len(bounded) for p in (above, below)
        ]
        if any(b > t for t, b, closed in zip(top, bottom, bounded) if closed):
            return None
        # at an open end any power of the distance from it is positive
        ends = [
            (None,) if start else (0, high) if closed else (0,)
            for high, closed, start in zip(top, bounded, opened)
        ]
        found = {
            tuple(None if start else k for k, start in zip(powers, opened))
            for powers, c in above.items()
            if c > 0
        }
        if not found.issuperset(itertools.product(*ends)):
            return None
    return max(len(above), 1)


def _points(box: dict[str, Any]) -> Iterable[dict[str, Fraction]]:
    """Corners and midpoints of a box; for a range without an upper end its lower end and three
    larger numbers.
    """
    lines = [
        [low, low + 1, 2 * abs(low) + 10, 1000 * (abs(low) + 1)]
        if high is None
        else [low, (low + high) / 2, high]
        for low, high in box.values()
    ]
    for point in itertools.product(*lines):
        yield dict(zip(box, point))


def prove_identity(
    what: str,
    left: Arithmetic,
    right: Arithmetic,
    *,
    nonzero: Iterable[Any] = (),
    sizes: str = "",
    where: Mapping[str, str] | None = None,
) -> Proof:
    """Prove that two SymPy expressions, numbers, or matrices of them are equal for all values of
    their symbols, by algebra.

    "All values" are those that the assumptions on a symbol allow, and the card names them. At each
    of them both sides must have a value: divisors and arguments of a logarithm must be known not to
    be 0, tan and cot must have no pole, gamma a positive argument. (What SymPy cancels while an
    expression is written, as x/x, is not seen.)

    Args:
        nonzero: what must not be 0 but is for some values; the card excludes these values.
        sizes: if the symbols are for one size only, which one, and why the others follow.
        where: what a symbol is in the letters of :meth:`Proof.crosschecked`, if they differ.

    Raises:
        NotProved: with a point where they differ, what remains of the difference, or the part of a
            side that may have no value.
        ValueError: a side with anything but numbers, symbols and functions that are known here.
    """
    import sympy

    left, right = _entries(what, "left", left), _entries(what, "right", right)
    if left.shape != right.shape or not len(left):
        raise ValueError(
            f"{what}: sizes {left.shape} and {right.shape}; both sides need the same entries, and "
            "at least one"
        )
    symbols = sorted({*left.free_symbols, *right.free_symbols}, key=str)
    if len(set(map(str, symbols))) < len(symbols):
        raise ValueError(
            f"{what}: two symbols have one name and other assumptions, among "
            f"{', '.join(map(str, symbols))}"
        )
    left_out = [sympy.sympify(x) for x in nonzero]
    parts = dict.fromkeys(
        node for entry in (*left, *right) for node in sympy.preorder_traversal(entry)
    )
    asked = [x for node in parts for x in _must_not_vanish(what, node)]
    # a false identity fails at almost every point, where algebra would take long
    for point in _sample_points(what, symbols):
        if _differ(symbols, point, left, right):
            shown = {str(symbol): str(x) for symbol, x in zip(symbols, point)}
            raise NotProved(what, shown, violated=True)
    for entry in left - right:
        entry = sympy.cancel(sympy.together(sympy.expand(entry)))
        if entry != 0 and sympy.simplify(entry) != 0:
            raise NotProved(what, {"left - right": str(entry)[:80]}, violated=False)
    known = {factor for x in left_out for factor in _factors(x)}
    for factor in (factor for x in asked for factor in _factors(x)):
        if not _is_nonzero(factor) and factor not in known and -factor not in known:
            raise NotProved(what, {"divisor": str(factor)[:80]}, violated=False, why="may be 0")
    letters = {symbol: _letters(str(symbol), where or {}) for symbol in symbols}
    covered = _covered(letters) + "".join(
        f", {str(x).replace('**', '^').replace('*', ' ')} != 0" for x in left_out
    )
    box = {
        str(symbol): (
            Fraction(0) if symbol.is_nonnegative else -math.inf,
            Fraction(0) if symbol.is_nonpositive else None,
        )
        for symbol in symbols
    }
    both = sympy.lambdify(symbols, (left, right), "numpy")
    sides = _Sides(what, lambda **x: both(*x.values()), box, where or {}, float)
    if sizes:
        covered += f" ({sizes})"
    return Proof(what, covered, len(left), "identities", sides)


#: SymPy's functions that have a value at every complex number, and those that have one at every
#: real number.
ENTIRE = ("exp", "sin", "cos", "sinh", "cosh", "erf", "erfc", "Abs", "re", "im", "conjugate")
REAL = ("tanh", "sech", "atan", "asinh", "sign", "Max", "Min")
#: Other parts of an expression, and what to write for the prover instead.
INSTEAD = {
    "Float": "it is rounded; write a fraction, as Rational('0.1')",
    "Piecewise": "prove an identity for each piece, with its assumptions on the symbols",
    "MatrixElement": "write the matrix with its entries",
} | dict.fromkeys(
    ("Integral", "Sum", "Product", "Derivative", "Limit", "Subs"),
    "evaluate it first, with .doit()",
)


def _entries(what: str, name: str, side: Any) -> Any:
    """A side as a matrix of SymPy expressions; a float is the decimal number that is written."""
    import sympy

    side = to_python(side)
    if side is None or isinstance(side, bool):
        raise ValueError(
            f"{what}: {name} is {side}; it must be an expression, a number or a matrix of them"
        )
    try:
        if isinstance(side, float | Decimal):
            exact = _exact(side)
            side = sympy.Rational(exact.numerator, exact.denominator)
        entries = sympy.Matrix([side])
    except (TypeError, ValueError, OverflowError) as error:  # SympifyError is a ValueError
        raise ValueError(
            f"{what}: {name} = {side!r} is not an expression, a number or a matrix of them"
        ) from error
    for entry in entries:
        if not (isinstance(entry, sympy.Expr) and entry.is_commutative):
            raise ValueError(f"{what}: {name} holds {entry}, which is not a commuting number")
        if entry.has(sympy.zoo, sympy.nan, sympy.oo, -sympy.oo):
            raise NotProved(
                what, {name: str(entry)[:80]}, violated=False, why="it has no finite value"
            )
    return entries


def _must_not_vanish(what: str, node: Any) -> list[Any]:
    """The expressions that must not be 0 for this part of an expression to have a value wherever
    its own parts have one.
    """
    import sympy

    name = type(node).__name__
    if node.is_Symbol or node.is_Add or node.is_Mul or name in ENTIRE:
        return []
    if node.is_Rational or node.is_NumberSymbol or node is sympy.I:
        return []
    if name in REAL and all(x.is_real for x in node.args):
        return []
    if node.is_Pow:
        return [] if node.exp.is_nonnegative else [node.base]
    if name == "log":
        return [node.args[0]]
    if name in ("tan", "sec", "cot", "csc", "coth", "csch"):
        below = {"tan": sympy.cos, "sec": sympy.cos, "cot": sympy.sin, "csc": sympy.sin}
        return [below.get(name, sympy.sinh)(node.args[0])]
    if name in ("gamma", "loggamma", "factorial"):
        start = node.args[0] + int(name == "factorial")
        if start.is_positive:
            return []
        raise NotProved(
            what, {name: str(node)[:80]}, violated=False, why="it has poles at arguments <= 0"
        )
    advice = INSTEAD.get(name, "the prover does not know where that has a value")
    raise ValueError(f"{what}: {str(node)[:80]} ({name}): {advice}")


def _sample_points(what: str, symbols: list[Any]) -> list[list[Any]]:
    """Two points, one in positive and one in negative numbers where the assumptions allow them."""
    import sympy

    def allowed(symbol: Any, x: Any) -> bool:
        return all(getattr(x, f"is_{k}") in (v, None) for k, v in symbol.assumptions0.items())

    def coordinate(k: int, symbol: Any, sign: int) -> Any:
        near = sympy.Rational(2 * k + 3, k + 7)
        positive = [near, *(sympy.Integer(k + step) for step in (2, 3, 4, 5, 6))]
        negative = [-x for x in positive]
        first, second = (positive, negative) if sign > 0 else (negative, positive)
        others = [sympy.Integer(0), sympy.sqrt(k + 2), sympy.I * near, near + sympy.I]
        found = next((x for x in (*first, *second, *others) if allowed(symbol, x)), None)
        if found is None:
            raise ValueError(f"{what}: no number was found that fits the assumptions on {symbol}")
        return found

    return [[coordinate(k, x, sign) for k, x in enumerate(symbols)] for sign in (1, -1)]


def _differ(symbols: list[Any], point: list[Any], left: Any, right: Any) -> bool:
    """Whether two matrices differ at a point, in 50 digits."""
    import mpmath
    import sympy

    with mpmath.workdps(50):
        numbers = [mpmath.mpmathify(x.evalf(50)) for x in point]
        both = sympy.lambdify(symbols, [*left, *right], "mpmath")
        try:
            values = both(*numbers)
        except ZeroDivisionError:  # an excluded point, or a pole, which is found later
            return False
        pairs = zip(values[: len(left)], values[len(left) :])
        return any(abs(x - y) > mpmath.mpf(10) ** -25 * (1 + abs(x) + abs(y)) for x, y in pairs)


def _covered(letters: Mapping[Any, str]) -> str:
    """The values of the symbols that a proof covers, from their assumptions."""
    if not letters:
        return "numbers"
    signs: dict[str, list[str]] = {}
    for symbol, name in letters.items():
        fact = next((x for x in ("positive", "negative") if getattr(symbol, f"is_{x}")), None)
        weak = next((x for x in ("nonnegative", "nonpositive") if getattr(symbol, f"is_{x}")), "")
        words = {"positive": "> 0", "negative": "< 0", "nonnegative": ">= 0", "nonpositive": "<= 0"}
        if sign := words.get(fact or weak, "!= 0" if symbol.is_zero is False else ""):
            signs.setdefault(sign, []).append(name)
    covered = f"all {', '.join(letters.values())}"
    if len(signs) == 1 and len(next(iter(signs.values()))) == len(letters):
        covered += f" {next(iter(signs))}"
    else:
        covered += "".join(f", {', '.join(names)} {sign}" for sign, names in signs.items())
    said = {"positive", "negative", "nonnegative", "nonpositive", "nonzero", "zero"}
    said |= {"real", "complex", "finite", "commutative"}
    for symbol, name in letters.items():
        given = symbol._assumptions_orig
        words = [f"{'' if holds else 'not '}{fact}" for fact, holds in given.items()]
        words = [
            word
            for word in words
            if word.removeprefix("not ").removeprefix("extended_") not in said
        ]
        covered += f", {name} {' and '.join(words)}" if words else ""
    return covered


def _is_nonzero(x: Any) -> bool:
    """Whether a factor is certainly not 0."""
    return x.is_zero is False or bool(not x.free_symbols and abs(x.evalf(30)) > 1e-20)


def _factors(x: Any) -> list[Any]:
    import sympy

    if not x.free_symbols:
        return [x]
    return [base for base, _ in sympy.factor_list(sympy.numer(sympy.together(x)))[1]]


def prove_by_cases(
    what: str,
    holds: Callable[..., bool | np.bool_],
    cases: Iterable[Any],
    *,
    name: str = "case",
    argued: str = "",
) -> Proof:
    """Prove a statement by going through all its cases; ``holds`` decides each in exact arithmetic.

    Args:
        holds: True or False (of Python or of NumPy) for a case; anything else is refused.
        name: the letter, or letters, of a case.
        argued: what an argument adds to the cases, and where to find it.

    Raises:
        NotProved: the first case that fails.
        ValueError: no case, or an answer that is not a bool.
    """
    cases = [case if isinstance(case, tuple) else (case,) for case in cases]
    if not cases:
        raise ValueError(f"{what}: no case was given")
    for case in cases:
        try:
            answer = holds(*case)
        except ZeroDivisionError as error:
            raise NotProved(what, {"case": case}, violated=False, why=str(error)) from error
        if not isinstance(answer, bool | np.bool_):
            raise ValueError(f"{what}: {answer!r} at {case} is not an answer; True or False is")
        if not answer:
            raise NotProved(what, {"case": case}, violated=True)
    first, last = (", ".join(map(str, case)) for case in (cases[0], cases[-1]))
    covered = (
        f"{name} = {first}"
        + f", ..., {last}" * (len(cases) > 1)
        + (argued and f", beyond by argument: {argued}")
    )
    return Proof(what, covered, len(cases), "cases")


def conjunction(what: str, *proofs: Proof) -> Proof:
    """One statement proved in several steps or piece by piece; it is crosschecked if every step
    is.

    Raises:
        ValueError: no proof was given.
    """
    if not proofs:
        raise ValueError(f"{what}: no proof was given")
    by = {proof.by for proof in proofs}
    ranges = " and ".join(dict.fromkeys(proof.range for proof in proofs))
    ties = (
        tuple(tie for proof in proofs for tie in proof.ties)
        if all(proof.ties for proof in proofs)
        else ()
    )
    return Proof(
        what,
        ranges,
        sum(proof.boxes for proof in proofs),
        by.pop() if len(by) == 1 else "pieces",
        ties=ties,
    )


def letters(**vectors: Any) -> dict[str, float]:
    """A point of :meth:`Proof.crosschecked` from vectors: ``S=[.1, .9]`` as S1 and S2.

    Raises:
        ValueError: anything but a list or array of numbers.
    """
    for name, values in vectors.items():
        if (
            isinstance(values, str)
            or not hasattr(values, "__iter__")
            or getattr(values, "ndim", 1) != 1
        ):
            raise ValueError(f"{name} = {values!r} is not a list of numbers")
    return {
        f"{name}{i + 1}": float(x) for name, values in vectors.items() for i, x in enumerate(values)
    }


def ball(x: Number) -> Any:
    """A ball around an exact number: ``ball("0.1")`` and ``ball(0.1)`` contain 1/10."""
    import flint

    x = _exact(x)
    return flint.arb(flint.fmpq(x.numerator, x.denominator))


def monotone(f: Callable[[Any], Any], x: Any) -> Any:
    """A monotone function of a ball, enclosed by its values at the ends."""
    import flint

    whole = flint.arb(_bare(x))
    low, high = f(whole.lower()), f(whole.upper())
    return _like((x, low, high), _bare(low).union(_bare(high)))


def _within(name: str, x: Any, high: float, shown: str = "1") -> Any:
    """A bare ball that lies between 0 and ``high``, up to the rounding of its ends."""
    import flint

    x = flint.arb(_bare(x))
    if not (x.lower() > -ROUNDING and x.upper() < high + ROUNDING):
        raise ValueError(f"{name} = {x} does not lie in [0, {shown}]")
    return x


def exprel(x: Any) -> Any:
    """(e^x - 1)/x of a ball, which may contain 0: 1F1(1, 2, x), increasing."""
    return monotone(lambda end: end.hypgeom_1f1(1, 2), x)


def exprel2(x: Any) -> Any:
    """(e^x - 1 - x)/x^2 of a ball, which may contain 0: 1F1(1, 3, x)/2, increasing."""
    return monotone(lambda end: end.hypgeom_1f1(1, 3) / 2, x)


def entropy(x: Any) -> Any:
    """-x log x of a ball in [0, 1/e], which may contain 0: increasing there."""
    import flint

    inside = _within("x", x, 0.3678, "1/e")
    found = monotone(lambda end: -end * end.log() if end > 0 else flint.arb(0), inside)
    return _like((x,), found)


def power(x: Any, p: Any) -> Any:
    """x^p of balls, x in [0, 1] and p > 0: monotone in both, so that its corners enclose it.

    Raises:
        ValueError: x is not in [0, 1], or p is not positive.
    """
    import flint

    base, exponent = _within("x", x, 1), flint.arb(_bare(p))
    if not exponent.lower() > 0:
        raise ValueError(f"p = {p} is not positive")
    low, high = base.lower(), base.upper()
    least = low ** exponent.upper() if low > 0 else flint.arb(0)
    most = high ** exponent.lower() if high > 0 else flint.arb(0)
    return _like((x, p), least.union(most))
