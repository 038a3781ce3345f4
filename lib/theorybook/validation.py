"""Checks of arguments for all public functions, made from their signatures.

Importing the package wraps :func:`checked` around every public function, method and constructor, so
that none has to check by hand what its signature already says. In every call, from outside or
inside the library:

- numbers and words must lie in the range of their annotation: ``n: Count``, ``delta: OpenChance``,
  ``m: Annotated[int, Limits(1, 10)]``, ``model: Literal["cross"]``; so a formula refuses the same
  values inside another function as on its own;
- NumPy's integers and floats become Python's, which do not overflow and which every library takes,
  and an array becomes a list where the annotation asks for one.

At the boundary only (inside the library tensors are not checked again, since reading their values
takes time):

- types and shapes, by beartype and jaxtyping; the same letter is the same size in all arguments of
  a call, and in its object;
- tensors must be dense and hold numbers (no sparse, nested or meta ones);
- numbers and tensors must be finite and at most 1e150 (1e12 in float32), tensors must not be empty,
  and all floating tensors of a call (those that its object holds included) must have one precision,
  float32 or float64, and one device;
- all numbers of the result must be finite, except in results and fields that are marked ``ANY``.

What ``torch.compile`` and ``torch.export`` trace is not checked. Functions compute in the precision
of the given tensors: ``torch.autocast`` ends at the boundary (otherwise a kernel in float32 would
be off by 0.7%, unnoticed), and so does ``torch.set_default_device``: a function's own argument says
where it draws.

A violation raises :class:`InputError`, both a ValueError and a TypeError, with the argument, the
value and the rule. Conditions on several arguments (n a multiple of d - 2) remain with the
function. Failures that show only during the computation (a number overflows, a matrix is singular,
memory does not suffice, the result is NaN) become an InputError that names the arguments. A call
costs some tens of microseconds.
"""

import contextlib
import dataclasses
import functools
import inspect
import itertools
import math
import numbers
import re
import sys
import threading
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Annotated, Any, Literal, ParamSpec, TypeGuard, TypeVar

import numpy as np
from beartype import BeartypeConf
from beartype.door import is_bearable
from jaxtyping import AbstractArray, jaxtyped

if typing.TYPE_CHECKING:
    import torch  # so far only for its names: evidence does without torch

#: The packages whose calls are checked (:func:`install`).
PACKAGES: set[str] = set()
P = ParamSpec("P")
R = TypeVar("R")


class InputError(ValueError, TypeError):
    """An argument that its function does not accept: which one, what was given, what is allowed."""


@dataclasses.dataclass(frozen=True, eq=False)
class Limits:
    """Numbers from ``low`` to ``high``; ``open`` names the ends that are excluded: ``low``,
    ``high``, ``both``.
    """

    low: float = -math.inf
    high: float = math.inf
    open: str = ""

    def __contains__(self, value: Any) -> bool:
        if not isinstance(value, (int, float)) and not isinstance(
            value, numbers.Real
        ):  # the first test is quick
            return True  # limits are for numbers; the type decides about anything else
        above = value > self.low if self.open in ("low", "both") else value >= self.low  # type: ignore[operator]
        return bool(
            above and (value < self.high if self.open in ("high", "both") else value <= self.high)
        )

    def __str__(self) -> str:
        low = (
            f"{'above' if self.open in ('low', 'both') else 'at least'} {self.low:g}"
            if self.low > -math.inf
            else ""
        )
        high = (
            f"{'below' if self.open in ('high', 'both') else 'at most'} {self.high:g}"
            if self.high < math.inf
            else ""
        )
        return " and ".join(filter(None, (low, high))) or "any number"


@dataclasses.dataclass(frozen=True, eq=False)
class Rule:
    """A condition that no type can express, in words and as a function."""

    words: str
    holds: Callable[[Any], bool]

    def __contains__(self, value: Any) -> bool:
        return value is None or self.holds(value)

    def __str__(self) -> str:
        return self.words


def _is_number(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return False
    return (
        hasattr(value, "__mul__")
        and hasattr(value, "__truediv__")
        and not isinstance(value, complex)
    )


#: Plain numbers and words, which are checked in every call. (Balls, symbols and arrays are left to
#: the function that takes them.)
PLAIN = (int, float, Fraction, str)


def _is_foreign(value: Any) -> bool:
    """Whether a value is a NumPy number that is not also a Python number (NumPy's float64 is
    both).
    """
    return isinstance(value, np.integer | np.floating) and not isinstance(value, float)


def to_python(value: Any) -> Any:
    """NumPy numbers converted to Python's, also inside a list or tuple; any other value
    unchanged.
    """
    if _is_foreign(value):
        return int(value) if isinstance(value, np.integer) else float(value)
    if type(value) in (list, tuple) and any(map(_is_foreign, value)):
        return type(value)(map(to_python, value))
    return value


def _surroundings() -> contextlib.AbstractContextManager[Any]:
    """A context in which torch uses the tensors' precision and the named device, whatever defaults
    the caller has set.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return contextlib.nullcontext()
    cast = any(map(torch.is_autocast_enabled, ("cpu", "cuda")))
    moved = torch._C._len_torch_function_stack() and torch.get_default_device().type != "cpu"
    if not (cast or moved):
        return contextlib.nullcontext()
    off = contextlib.ExitStack()
    for device in ("cpu", "cuda") if cast else ():
        off.enter_context(torch.autocast(device, enabled=False))
    if moved:
        off.enter_context(torch.device("cpu"))
    return off


def _is_array_like(value: Any) -> bool:
    try:
        array = None if is_tensor(value) else np.asarray(value)
    except ValueError:
        return False
    return (
        array is None
        or array.dtype.kind in "biufc"
        or (array.size > 0 and isinstance(array.flat[0], numbers.Number))
    )


#: Marks a parameter, a result or a field of one that may be infinite or NaN, and a tensor of
#: another precision or device.
ANY = "any"
#: Marks a tensor that may be empty, and a collection that may not.
EMPTY, FILLED = "may be empty", "not empty"

Extended = Annotated[float, ANY]
#: A number of any type with arithmetic: Fraction, Decimal, a ball, a symbol, a tensor.
Arithmetic = Annotated[Any, Rule("a number", _is_number)]
#: Anything that NumPy can turn into an array of numbers, fractions included.
Numbers = Annotated[Any, Rule("numbers", _is_array_like)]
Integer = Annotated[int, Limits()]
Natural = Annotated[int, Limits(0)]
Count = Annotated[int, Limits(1)]
Bit = Annotated[int, Limits(0, 1)]
Seed = Annotated[int, Limits(0, 2**63 - 1)]
#: Sizes of what is held in memory or done one by one: for larger ones that would not end. (Sizes in
#: formulas have no such limit.)
Size = Annotated[int, Limits(1, 2**31)]
Steps = Annotated[int, Limits(0, 2**31)]
Signed = Annotated[float, Limits()]
NonNegative = Annotated[float, Limits(0)]
Positive = Annotated[float, Limits(0, open="low")]
AtLeastOne = Annotated[float, Limits(1)]
Chance = Annotated[float, Limits(0, 1)]
#: A failure probability, a confidence, a share: strictly between 0 and 1.
OpenChance = Annotated[float, Limits(0, 1, open="both")]
Cosine = Annotated[float, Limits(-1, 1)]

#: The largest numbers allowed: products of two of them are finite.
LARGE, LARGE_FLOAT32 = 1e150, 1e12
#: Number of forms of calls that are remembered for each function.
FORMS = 1000
_CONF = BeartypeConf(is_pep484_tower=True)


# Values
# --------------------------------------------------------------------------------------------------


def is_tensor(value: Any) -> "TypeGuard[torch.Tensor]":
    """Whether a value is a torch tensor; torch is not imported to find out."""
    return "torch" in sys.modules and isinstance(value, sys.modules["torch"].Tensor)


def _is_dense(value: "torch.Tensor") -> bool:
    return (
        value.layout is sys.modules["torch"].strided and not value.is_meta and not value.is_nested
    )


def to_numpy(values: Any) -> Any:
    """A tensor as an array, whatever its device, precision, view or layout; anything else
    unchanged.

    Raises:
        ValueError: an array with masked entries, which NumPy would use as if they were not.
    """
    if is_tensor(values):
        values = values.detach().cpu().to_dense().resolve_conj().resolve_neg()
        known = not values.is_floating_point() or str(values.dtype) in (
            "torch.float16",
            "torch.float32",
            "torch.float64",
        )
        return values.numpy() if known else values.float().numpy()  # NumPy has no bfloat16
    if np.ma.is_masked(values):
        raise ValueError(
            "masked entries have no value: drop them with .compressed() or give them one with "
            ".filled(...)"
        )
    return values


def _brief(value: Any) -> str:
    """A value in a few words."""
    if is_tensor(value) or isinstance(value, np.ndarray):
        kind = "array" if isinstance(value, np.ndarray) else "tensor"
        return f"a {str(value.dtype).removeprefix('torch.')} {kind} of shape {tuple(value.shape)}"
    try:
        text = repr(value)
    except ValueError:  # Python writes no integer of more than 4,300 digits
        text = f"a number of more than {sys.get_int_max_str_digits()} digits"
    return text if len(text) <= 60 else f"{text[:50]}... ({type(value).__name__})"


def _largest(value: Any) -> float:
    """The largest absolute value among a value's floats, NaN if one is NaN; 0 if there are none."""
    if isinstance(value, float):
        return abs(value)
    if is_tensor(value):
        torch = sys.modules["torch"]
        if not (
            value.is_floating_point() or value.is_complex()
        ) or torch._C._functorch.is_functorch_wrapped_tensor(value):
            return 0.0  # a transformed function may not look at values
        if not value.numel():
            return 0.0
        low, high = torch.aminmax(
            value.detach().abs() if value.is_complex() else value.detach()
        )  # five times as fast as a norm
        return max(-low.item(), high.item())
    if isinstance(value, np.ndarray):
        return float(np.abs(value).max()) if value.dtype.kind in "fc" and value.size else 0.0
    if isinstance(value, list | tuple):
        sizes = [_largest(item) for item in value]
        return math.nan if any(map(math.isnan, sizes)) else max(sizes, default=0.0)
    return 0.0


def is_ours(made: type) -> bool:
    """Whether a class was made in a package whose calls are checked."""
    return (made.__module__ or "").partition(".")[0] in PACKAGES  # SymPy's functions f have none


def finite(result: Any) -> bool:
    """Whether all numbers of a result are finite: a number, a tensor, the contents of lists, dicts
    and our frozen results.
    """
    if is_ours(type(result)) and (dataclasses.is_dataclass(result) or hasattr(result, "_fields")):
        return all(finite(getattr(result, name, None)) for name in _finite_fields(type(result)))
    if isinstance(result, list | tuple | dict):
        return all(map(finite, result.values() if isinstance(result, dict) else result))
    return math.isfinite(_largest(result))


@functools.cache
def _finite_fields(made: type) -> list[str]:
    """The fields of a class of results that must be finite."""
    return [
        name
        for name, hint in typing.get_type_hints(made, include_extras=True).items()
        if _bounded(hint)
    ]


@functools.cache
def _shaped(made: type) -> list[tuple[str, Any]]:
    """The tensors, and tuples of them, that an object of a class of this library (or a frozen one)
    holds: name, annotation.
    """
    if not dataclasses.is_dataclass(made) and not is_ours(made):
        return []
    hints = typing.get_type_hints(inspect.unwrap(made.__init__)) | typing.get_type_hints(made)
    inner = lambda hint: (
        typing.get_args(hint) if typing.get_origin(hint) is tuple else _members(hint)
    )
    return [
        (name, hint)
        for name, hint in hints.items()
        if name != "return" and any(map(_is_shape, inner(hint)))
    ]


def _form(value: Any) -> Any:
    """A key for the type, shape, precision and device of a value; a fresh object, equal to no
    other, if that is too long.
    """
    if isinstance(value, np.ndarray) or is_tensor(value):
        return type(value), value.dtype, value.shape, getattr(value, "device", "")
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and len(value) < 9:
        return type(value), *map(_form, value)
    if isinstance(value, Collection):
        return object()
    return type(value), *[_form(getattr(value, name, None)) for name, _ in _shaped(type(value))]


def _tensors(value: Any, path: str) -> Iterator[tuple[str, "torch.Tensor"]]:
    """The floating tensors that a value holds, by name: itself, those in a list or tuple, a
    dataclass's fields, a parameter.
    """
    if is_tensor(value):
        if value.is_floating_point():
            yield path, value
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value if value and is_tensor(value[0]) else ()):
            yield from _tensors(item, f"{path}[{i}]")
    elif hasattr(value, "named_parameters"):
        yield from [(f"{path}.{name}", item.data) for name, item in value.named_parameters()][:1]
    else:
        for name, _ in _shaped(type(value)):
            yield from _tensors(getattr(value, name, None), f"{path}.{name}")


# Annotations
# --------------------------------------------------------------------------------------------------


def _is_shape(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, AbstractArray)


def _marks(hint: Any) -> tuple:
    return getattr(hint, "__metadata__", ())


def _members(hint: Any) -> list[Any]:
    """Union members without their ``Annotated`` metadata; any other type yields itself."""
    inner = typing.get_args(hint)[0] if typing.get_origin(hint) is Annotated else hint
    if typing.get_origin(inner) in (types.UnionType, typing.Union):
        return [item for member in typing.get_args(inner) for item in _members(member)]
    return [inner]


def _bounded(hint: Any) -> bool:
    """Whether values of this annotation must be finite: not if it is marked ``ANY``, is ``Any``, or
    a collection of those.
    """
    return hint is not Any and ANY not in _marks(hint) and all(map(_bounded, typing.get_args(hint)))


def _name_of(hint: Any) -> str:
    """The name of a member of an annotation, for messages."""
    if _is_shape(hint):
        kind = hint.__name__.split("[")[0].lower()
        kind = {"float": "floating", "int": "integer"}.get(kind, kind)
        return (
            f"a {kind} {hint.array_type.__name__.lower()} of shape "
            f"({', '.join(hint.dim_str.split())})"
        )
    if typing.get_origin(hint) is Literal:
        return f"one of {', '.join(map(str, typing.get_args(hint)))}"
    if hint is type(None):
        return "None"
    return (
        hint.__name__
        if isinstance(hint, type) and not typing.get_args(hint)
        else re.sub(r"[a-z_]+\.(?=\w)", "", str(hint))
    )


class _Argument:
    """What one argument may be, according to its annotation."""

    def __init__(self, hint: Any):
        self.hint, self.kinds, self.seen = hint, _members(hint), {}
        inner = (
            typing.get_args(hint)
            if typing.get_origin(hint) in (types.UnionType, typing.Union)
            else ()
        )
        self.marks = [mark for item in (hint, *inner) for mark in _marks(item)]
        self.rules = [mark for mark in self.marks if isinstance(mark, Limits | Rule)]
        self.any, self.empty, self.filled = (mark in self.marks for mark in (ANY, EMPTY, FILLED))
        self.collects = any(
            (typing.get_origin(kind) or kind) in (Iterable, Sequence, list) for kind in self.kinds
        )
        # to Python a bool is an int and a string a sequence; where another int or sequence is meant,
        # that is a mistake
        self.truth = any(kind in (bool, object, Any) for kind in self.kinds)
        self.words = any(
            kind in (str, bytes, object) or typing.get_origin(kind) is Literal
            for kind in self.kinds
        )

    def fits(self, value: Any) -> bool:
        """Whether a value has the type and shape; inside a jaxtyping context, which binds the
        letters of shapes to sizes.
        """
        if (isinstance(value, bool) and not self.truth) or (
            isinstance(value, str | bytes) and not self.words
        ):
            return False
        return is_bearable(value, self.hint, conf=_CONF)

    def allows(self, value: Any) -> bool:
        """Whether a plain number or word of the right type has no :meth:`fault`, quickly."""
        if isinstance(value, float) and not self.any and not -LARGE <= value <= LARGE:
            return False
        return all(value in rule for rule in self.rules)

    def fault(self, value: Any) -> tuple[str, str] | None:
        """What is wrong with a value of the right type and shape, and the rule for it; None if
        nothing is.
        """
        if not self.any:
            largest, single = (
                _largest(value),
                is_tensor(value) and str(value.dtype) == "torch.float32",
            )
            if not math.isfinite(largest):
                return "" if isinstance(value, float) else " with NaN or infinity", "finite"
            if largest > (limit := LARGE_FLOAT32 if single else LARGE):
                return "", f"numbers up to {limit:g}, the products of which are finite"
            if not self.empty and is_tensor(value) and value.numel() == 0:
                return "", "not empty"
            if self.filled and hasattr(value, "__len__") and not len(value):
                return "", "not empty"
        return next((("", str(rule)) for rule in self.rules if value not in rule), None)

    def python(self, value: Any) -> Any:
        """The value with Python's numbers, and an array as a list where the annotation asks for
        one.
        """
        return (
            value.tolist() if self.collects and isinstance(value, np.ndarray) else to_python(value)
        )

    @property
    def plain(self) -> bool:
        """Whether the argument may be a number with a range, or one of a few words."""
        words = any(typing.get_origin(kind) is Literal for kind in self.kinds)
        return words or (bool(self.rules) and any(kind in (int, float) for kind in self.kinds))

    def takes(self, value: Any) -> bool:
        """Like :meth:`fits` for plain numbers and words, cached by type and word."""
        kind = value if isinstance(value, str) else type(value)
        if kind not in self.seen:
            self.seen[kind] = self.fits(value)
        return self.seen[kind]

    def __str__(self) -> str:
        if Any in self.kinds and self.rules:
            return str(self.rules[0])
        return " or ".join(map(_name_of, self.kinds))


# Calls
# --------------------------------------------------------------------------------------------------

#: Messages of C code about numbers and sizes that it cannot compute with; other errors are bugs of
#: ours.
_BEYOND = re.compile(
    r"overflow|allocate|maximum (supported|allowed) |too big|math domain error|different "
    r"signs|ASSERT FAILED.*LinearAlgebra",
    re.IGNORECASE,
)


def _beyond(error: Exception) -> bool:
    """Whether an error means that the arguments are too large or too small to compute with, not
    that our code is wrong.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    package = trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] if trace else ""
    ours = is_ours(type(error))  # NotProved has its own message
    if ours or package not in (
        *PACKAGES,
        "torch",
        "numpy",
        "scipy",
    ):  # an error of the reader's own function keeps its message
        return False
    # torch's LinAlgError and its out-of-memory error are RuntimeErrors
    kinds = ArithmeticError | MemoryError | np.linalg.LinAlgError
    return (
        isinstance(error, kinds)
        or type(error).__name__ == "_LinAlgError"
        or bool(_BEYOND.search(str(error)))
    )


def _sizes(wrong: _Argument, shapes: list[tuple[Any, Any]]) -> str:
    """The sizes that other shapes and their values give to the letters of an annotation, in
    words.
    """
    sizes = {}
    for hint, value in shapes:
        if _is_shape(hint) and hasattr(
            value, "shape"
        ):  # from the last letter, as far as there is no star
            letters = itertools.takewhile(
                lambda letter: letter[0] not in "*.", reversed(hint.dim_str.split())
            )
            sizes = dict(zip(letters, reversed(value.shape))) | sizes
    letters = [letter for kind in wrong.kinds if _is_shape(kind) for letter in kind.dim_str.split()]
    known = ", ".join(
        f"{letter} = {sizes[letter]}" for letter in dict.fromkeys(letters) if letter in sizes
    )
    return f", where {known}" if known else ""


class Checks:
    """The checks of one function, made at its first call. Types and shapes are checked once for
    each form of call.
    """

    def __init__(self, function: Callable):
        self.function = function
        parameters = inspect.signature(function).parameters.values()
        self.positional = [
            p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        self.several = next((p.name for p in parameters if p.kind == p.VAR_POSITIONAL), "")
        self.method = self.positional[:1] == ["self"] and function.__name__ != "__init__"
        hints = typing.get_type_hints(function, include_extras=True)
        self.finite = _bounded(hints.pop("return", None))
        # an argument that may be anything has no description
        self.known = {
            name: found
            for name, hint in hints.items()
            if (found := _Argument(hint)).rules or Any not in found.kinds
        }
        self.accepted: set[tuple] = set()
        places = {name: place for place, name in enumerate(self.positional)}
        self.plain = [
            (places.get(name, sys.maxsize), name, known)
            for name, known in self.known.items()
            if known.plain
        ]
        self.rest = next(
            (self.known.get(p.name) for p in parameters if p.kind == p.VAR_KEYWORD), None
        )

    def numbers(self, arguments: tuple, keywords: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """The arguments of a call inside the library, with Python's numbers; InputError unless each
        is in its range.
        """
        for place, name, known in self.plain:
            if place < len(arguments):
                value = arguments[place]
            elif name in keywords:
                value = keywords[name]
            else:
                continue
            if _is_foreign(value):
                value = to_python(value)
                if place < len(arguments):
                    arguments = (*arguments[:place], value, *arguments[place + 1 :])
                else:
                    keywords = keywords | {name: value}
            if isinstance(value, PLAIN):
                if not known.takes(value):
                    self.refuse(name, _brief(value), str(known))
                if not known.allows(value):
                    fault = known.fault(value)
                    self.refuse(name, _brief(value), fault[1] if fault else str(known))
        return arguments, keywords

    def of(self, name: str) -> _Argument | None:
        """The description of an argument, by its name."""
        return self.known.get(name, None if name in self.positional else self.rest)

    def converted(self, arguments: tuple, keywords: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """The arguments of a call, with Python's numbers wherever their annotation takes a
        number.
        """
        named = itertools.zip_longest(
            self.positional[: len(arguments)], arguments, fillvalue=self.several
        )
        values = [
            known.python(value) if (known := self.of(name)) else value for name, value in named
        ]
        words = {
            name: known.python(value) if (known := self.of(name)) else value
            for name, value in keywords.items()
        }
        return tuple(values), words

    def __call__(self, arguments: tuple, keywords: dict[str, Any]) -> None:
        """Raise InputError unless all arguments have their type and shape, are finite, and lie in
        their range.
        """
        values = [*zip(self.positional, arguments), *keywords.items()]
        if self.several:
            values += [(self.several, value) for value in arguments[len(self.positional) :]]
        for name, value in values:
            if is_tensor(value) and self.of(name) and not _is_dense(value):
                kind = (
                    "nested"
                    if value.is_nested
                    else "meta"
                    if value.is_meta
                    else str(value.layout).removeprefix("torch.")
                )
                self.refuse(name, f"a {kind} tensor", "a dense one that holds numbers")
        form = tuple([(name, _form(value)) for name, value in values])
        if new := form not in self.accepted:
            self.typed(values)
        for name, value in values:
            if value is not None and (known := self.of(name)) and (fault := known.fault(value)):
                self.refuse(name, _brief(value) + fault[0], fault[1])
        if new:
            self.alike(values)
            if len(self.accepted) == FORMS:
                self.accepted.clear()
            self.accepted.add(form)

    def typed(self, values: list[tuple[str, Any]]) -> None:
        """Raise InputError unless all arguments have their type and shape."""
        holder = values[0][1] if self.method else None
        held = [(hint, getattr(holder, name, None)) for name, hint in _shaped(type(holder))]
        with jaxtyped("context"):
            for hint, value in held:
                is_bearable(value, hint, conf=_CONF)
            for i, (name, value) in enumerate(values):
                known = self.of(name)
                if known and not known.fits(value):
                    before = held + [
                        (kind, value)
                        for name, value in values[:i]
                        for kind in getattr(self.of(name), "kinds", ())
                    ]
                    self.refuse(name, _brief(value), f"{known}{_sizes(known, before)}")

    def alike(self, values: list[tuple[str, Any]]) -> None:
        """Raise InputError unless all floating tensors have one precision, float32 or float64, and
        one device.
        """
        # an object under construction holds nothing yet
        of = {
            name
            for name, _ in values
            if (self.method if name == "self" else (known := self.of(name)) and not known.any)
        }
        found = [item for name, value in values if name in of for item in _tensors(value, name)]
        for name, tensor in found[:1]:
            if str(tensor.dtype) not in ("torch.float32", "torch.float64"):
                self.refuse(name, _brief(tensor), "only float32 and float64 are supported")
        for name, tensor in found[1:]:
            first, other = found[0]
            for what, a, b in (
                ("precision", other.dtype, tensor.dtype),
                ("device", other.device, tensor.device),
            ):
                if a != b:
                    text = (
                        f"{str(b).removeprefix('torch.')}, but {first} is "
                        f"{str(a).removeprefix('torch.')}"
                    )
                    self.refuse(name, text, f"all tensors of a call have one {what}")

    def computed(self, arguments: tuple, keywords: dict[str, Any]) -> Any:
        """The function's result; InputError where it cannot be computed."""
        try:
            result, error = self.function(*arguments, **keywords), None
            if not self.finite or finite(result):
                return result
            reason = "the result is not finite"
        except (ArithmeticError, MemoryError, RuntimeError, TypeError, ValueError) as found:
            if isinstance(found, InputError) or not _beyond(found):
                raise
            error, reason = found, str(found).splitlines()[0]
        values = dict(zip(self.positional, arguments)) | keywords
        values.pop("self", None)
        if not values:
            raise InputError(f"{self.function.__qualname__}: computing failed: {reason}") from error
        self.refuse(
            ", ".join(values),
            ", ".join(map(_brief, values.values())),
            f"computing failed: {reason}",
            error,
        )

    def refuse(
        self, name: str, value: str, rule: str, cause: Exception | None = None
    ) -> typing.NoReturn:
        """Raise InputError."""
        raise InputError(
            f"{self.function.__qualname__}: {name} = {value} is not allowed: {rule}"
        ) from cause


class _State(threading.local):
    """Whether this thread is inside a checked call, and whether nothing is checked at all."""

    inside = off = False


_state = _State()


@contextlib.contextmanager
def unchecked() -> Iterator[None]:
    """In this block nothing is checked: for timing, and for a loop that calls a small function a
    million times.
    """
    before, _state.off = _state.off, True
    try:
        yield
    finally:
        _state.off = before


def recheck_callback(function: Callable[P, R]) -> Callable[P, R]:
    """The reader's own function, to be called inside a checked call: what it calls is checked as
    anywhere else.
    """

    def called(*arguments: P.args, **keywords: P.kwargs) -> R:
        before, _state.inside = _state.inside, False
        try:
            return function(*arguments, **keywords)
        finally:
            _state.inside = before

    return called


def _is_traced() -> bool:
    """Whether ``torch.compile`` or ``torch.export`` follows this call: it sees no values, and no
    state of ours.
    """
    return "torch" in sys.modules and sys.modules["torch"].compiler.is_compiling()


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """The function with a check that refuses arguments its signature does not allow; inside another
    call, only of numbers and words.

    >>> from theorybook.validation import NonNegative, checked
    >>> @checked
    ... def scaled(x: float, sigma: NonNegative) -> float:
    ...     return x * sigma
    ...
    >>> scaled(2.0, -1.0)
    Traceback (most recent call last):
    theorybook.validation.InputError: scaled: sigma = -1.0 is not allowed: at least 0
    """
    checks: list[Checks] = []

    @functools.wraps(function)
    def boundary(*arguments: P.args, **keywords: P.kwargs) -> R:
        if _state.off or _is_traced():
            return function(*arguments, **keywords)
        if not checks:
            checks.append(Checks(function))
        if _state.inside:
            if checks[0].plain:
                arguments, keywords = checks[0].numbers(arguments, keywords)  # type: ignore[assignment]
            return function(*arguments, **keywords)
        _state.inside = True
        try:
            arguments, keywords = checks[0].converted(arguments, keywords)  # type: ignore[assignment]
            checks[0](arguments, keywords)
            with _surroundings():
                return checks[0].computed(arguments, keywords)
        finally:
            _state.inside = False

    for name in ("cache_clear", "cache_info"):
        if hasattr(function, name):
            setattr(boundary, name, getattr(function, name))
    boundary.__dict__["__checked__"] = True
    return boundary


def check_module(module: types.ModuleType) -> None:
    """Wrap :func:`checked` around the public functions of a module and the methods and constructors
    of its classes.
    """
    for name, thing in list(vars(module).items()):
        if (
            name.startswith("_")
            or getattr(thing, "__module__", None) != module.__name__
            or hasattr(thing, "__checked__")
        ):
            continue
        if inspect.isfunction(thing) or hasattr(thing, "cache_info"):
            setattr(module, name, checked(thing))
        elif inspect.isclass(thing) and not issubclass(thing, BaseException | tuple):
            for key, method in list(vars(thing).items()):
                if key.startswith("_") and key not in ("__init__", "__call__"):
                    continue
                if inspect.isfunction(method):
                    setattr(thing, key, checked(method))
                elif isinstance(method, classmethod | staticmethod):
                    setattr(thing, key, type(method)(checked(method.__func__)))


class _Finder:
    """An import finder that adds the checks to a package's modules once they are loaded."""

    def __init__(self, package: str, but: Collection[str]):
        self.package, self.but = package, but

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        package, _, module = name.partition(".")
        if package != self.package or not module or module.split(".")[0] in self.but:
            return None
        others = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module
            spec.loader.exec_module = lambda module: (run(module), check_module(module))[0]
        return spec


def install(package: str, but: Collection[str] = ()) -> None:
    """Check all calls into modules of this package imported from now on; ``but`` names modules that
    readers do not call.
    """
    sys.meta_path[:] = [
        finder for finder in sys.meta_path if getattr(finder, "package", None) != package
    ]
    PACKAGES.add(package)
    sys.meta_path.insert(0, _Finder(package, but))
