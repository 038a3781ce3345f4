"""What arguments may be: one check for all public functions, made from their signatures.

Importing the package puts :func:`checked` around every public function, method and constructor, so that none has to check by
hand what its signature says already. What is checked, at the boundary only (calls inside the library go unchecked):

- types and shapes, from the annotations (jaxtyping with beartype; the same letter is the same size in all arguments of a call);
- numbers and tensors are finite and at most 1e150 (1e12 in float32), tensors are not empty, and all floating tensors of a call
  (those that its object holds included) have one precision, float32 or float64, and one device;
- ranges, from the annotation (``n: Count``, ``delta: OpenChance``, ``m: Annotated[int, Limits(2)]``);
- what comes back: all its numbers are finite, but for results and their fields that are marked ``ANY`` too.

A violation raises :class:`InputError`, both a ValueError and a TypeError, with the argument, the value and the rule. What
depends on several arguments (n a multiple of d - 2) remains with the function. What shows only while computing (a number
overflows, a matrix is singular, memory does not suffice, the result is NaN) becomes an InputError that names the arguments. A
call costs some tens of microseconds.
"""

import contextlib
import dataclasses
import functools
import inspect
import math
import numbers
import re
import sys
import threading
import types
import typing
from collections.abc import Callable, Iterator
from typing import Annotated, Any, ParamSpec, TypeGuard, TypeVar

import numpy as np
from jaxtyping import AbstractArray
from numpy.typing import ArrayLike

if typing.TYPE_CHECKING:
    import torch  # so far only for its names: evidence does without torch

LIBRARY = "attention_theory"
P = ParamSpec("P")
R = TypeVar("R")


class InputError(ValueError, TypeError):
    """An argument that its function does not take: which one, what was given, what is allowed."""


@dataclasses.dataclass(frozen=True, eq=False)
class Limits:
    """Numbers from ``low`` to ``high``; ``open`` names the ends that are excluded: ``low``, ``high``, ``both``."""

    low: float = -math.inf
    high: float = math.inf
    open: str = ""

    def __contains__(self, value: Any) -> bool:
        above = value > self.low if self.open in ("low", "both") else value >= self.low
        return bool(above and (value < self.high if self.open in ("high", "both") else value <= self.high))

    def __str__(self) -> str:
        low = f"{'above' if self.open in ('low', 'both') else 'at least'} {self.low:g}" if self.low > -math.inf else ""
        high = f"{'below' if self.open in ('high', 'both') else 'at most'} {self.high:g}" if self.high < math.inf else ""
        return " and ".join(filter(None, (low, high))) or "any number"


@dataclasses.dataclass(frozen=True)
class Choice:
    """One of these words."""

    words: tuple[str, ...]

    def __contains__(self, value: Any) -> bool:
        return value in self.words

    def __str__(self) -> str:
        return f"one of {', '.join(self.words)}"


class Like:
    """Marks ``Any`` for keywords that a function hands on to these: they are what those take."""

    def __init__(self, *functions: Callable):
        self.functions = functions


#: Marks a parameter, a result or a field of one that may be infinite or NaN, and a tensor of another precision or device.
ANY = Limits()
#: Marks a tensor that may be empty, and a collection that may not.
EMPTY, FILLED = Limits(), Limits()
#: Marks ``Any`` where it is a number of any type with arithmetic: Fraction, Decimal, a ball, a symbol, a tensor.
NUMBER = Limits()

Extended = Annotated[float, ANY]
Arithmetic = Annotated[Any, NUMBER]
Integer = Annotated[int, Limits()]
Natural = Annotated[int, Limits(0)]
Count = Annotated[int, Limits(1)]
Bit = Annotated[int, Limits(0, 1)]
Seed = Annotated[int, Limits(0, 2**63 - 1)]
#: Sizes of what is held in memory or done one by one: a larger one would not end. (Those of formulas have no such limit.)
Size, Steps = Annotated[int, Limits(1, 2**31)], Annotated[int, Limits(0, 2**31)]
Signed = Annotated[float, Limits()]
NonNegative = Annotated[float, Limits(0)]
Positive = Annotated[float, Limits(0, open="low")]
AtLeastOne = Annotated[float, Limits(1)]
Chance = Annotated[float, Limits(0, 1)]
#: A failure probability, a confidence, a share that is neither nothing nor all.
OpenChance = Annotated[float, Limits(0, 1, open="both")]
Cosine = Annotated[float, Limits(-1, 1)]

#: The largest numbers: products of two are finite.
LARGE, LARGE_FLOAT32 = 1e150, 1e12


def _is_tensor(value: Any) -> "TypeGuard[torch.Tensor]":
    return "torch" in sys.modules and isinstance(value, sys.modules["torch"].Tensor)


def _brief(value: Any) -> str:
    """A value in a few words."""
    if _is_tensor(value) or isinstance(value, np.ndarray):
        kind = "array" if isinstance(value, np.ndarray) else "tensor"
        return f"a {str(value.dtype).removeprefix('torch.')} {kind} of shape {tuple(value.shape)}"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:50]}... ({type(value).__name__})"


def _name_of(hint: Any) -> str:
    """An annotation as a reader says it."""
    if isinstance(hint, type) and issubclass(hint, AbstractArray):
        letters = getattr(hint, "dim_str", "")
        kind = hint.__name__.split("[")[0].lower()
        kind = {"float": "floating", "int": "integer"}.get(kind, kind)
        return f"a {kind} {getattr(hint, 'array_type', np.ndarray).__name__.lower()} of shape ({', '.join(letters.split())})"
    if hint is type(None):
        return "None"
    members = _members(hint)
    if any("_NestedSequence" in str(item) for item in members):
        return "numbers"
    if len(members) > 1:
        return " or ".join(map(_name_of, members))
    if NUMBER in _marks(members[0]):
        return "a number"
    hint = _alternatives(members[0])[0]
    return hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else re.sub(r"[a-z_]+\.(?=\w)", "", str(hint))


def _tensors(value: Any, path: str) -> Iterator[tuple[str, "torch.Tensor"]]:
    """The floating tensors that a value holds, by name: itself, those in a list or tuple, a dataclass's fields, a parameter."""
    if _is_tensor(value):
        if value.is_floating_point():
            yield path, value
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value if value and _is_tensor(value[0]) else ()):
            yield from _tensors(item, f"{path}[{i}]")
    elif hasattr(value, "named_parameters"):
        yield from [(f"{path}.{name}", item.data) for name, item in value.named_parameters()][:1]
    elif _is_ours(value):
        for name, _ in _letters(type(value)):
            yield from _tensors(getattr(value, name, None), f"{path}.{name}")


def _is_device(name: str) -> bool:
    try:
        sys.modules["torch"].empty(0, device=name)
    except (RuntimeError, AssertionError, ImportError, NotImplementedError):
        return False
    return True


def _is_ours(value: Any) -> bool:
    """Whether it is an object of a class of this library (or of another one's frozen results)."""
    ours = dataclasses.is_dataclass(value) or type(value).__module__.startswith(LIBRARY)
    return ours and not isinstance(value, type) and hasattr(value, "__dict__")


def _largest(value: Any) -> float:
    """The size of the largest float that a value holds, NaN if one is NaN; 0 for what holds none."""
    if isinstance(value, float):
        return abs(value)
    if _is_tensor(value):
        torch = sys.modules["torch"]
        if not (value.is_floating_point() or value.is_complex()) or torch._C._functorch.is_functorch_wrapped_tensor(value):
            return 0.0  # a transformed function may not look at values
        return torch.linalg.vector_norm(value.detach(), math.inf).item() if value.numel() else 0.0
    if isinstance(value, np.ndarray):
        return float(np.abs(value).max()) if value.dtype.kind in "fc" and value.size else 0.0
    if isinstance(value, list | tuple):
        sizes = [_largest(item) for item in value]
        return math.nan if any(map(math.isnan, sizes)) else max(sizes, default=0.0)
    return 0.0


def _bounded(hint: Any) -> bool:
    """Whether what has this annotation is finite: not if it is marked ``ANY``, is ``Any``, or a collection of those."""
    return hint is not Any and ANY not in _marks(hint) and all(map(_bounded, typing.get_args(hint)))


@functools.cache
def _finite_fields(made: type) -> list[str]:
    """The fields of a class of results that are finite."""
    return [name for name, hint in typing.get_type_hints(made, include_extras=True).items() if _bounded(hint)]


def finite(result: Any) -> bool:
    """Whether all numbers of a result are finite: a number, a tensor, what lists, dicts and our frozen results hold."""
    if type(result).__module__.startswith(LIBRARY) and (dataclasses.is_dataclass(result) or hasattr(result, "_fields")):
        return all(finite(getattr(result, name, None)) for name in _finite_fields(type(result)))
    if isinstance(result, list | tuple | dict):
        return all(map(finite, result.values() if isinstance(result, dict) else result))
    return math.isfinite(_largest(result))


class _Shape:
    """An array annotation of jaxtyping; what :func:`isinstance` of it says, with the sizes of one call and ten times faster."""

    def __init__(self, hint: Any):
        self.kind, self.dtypes = hint.array_type, frozenset(hint.dtypes)
        self.letters = hint.dim_str.split()
        self.star = next((i for i, letter in enumerate(self.letters) if letter[0] == "*" or letter == "..."), None)

    def sizes(self, value: Any, known: dict[str, Any]) -> dict[str, Any] | None:
        """The sizes of all letters known by now, None if the value does not fit them."""
        if not isinstance(value, self.kind) or str(value.dtype).rpartition(".")[2] not in self.dtypes:
            return None
        shape, letters = tuple(value.shape), self.letters
        if self.star is not None:
            rest = len(letters) - self.star - 1
            if len(shape) < len(letters) - 1:
                return None
            shape = (*shape[: self.star], shape[self.star : len(shape) - rest], *shape[len(shape) - rest :])
        if len(shape) != len(letters):
            return None
        found = dict(known)
        for letter, size in zip(letters, shape):
            expected = int(letter) if letter.isdigit() else found.get(letter, size)
            if expected != size:
                return None
            if letter[0] not in "_." and not letter.isdigit():
                found[letter] = size
        return found


def _array_like(value: Any) -> bool:
    """Whether NumPy makes an array of numbers (fractions too) of it."""
    try:
        array = None if _is_tensor(value) else np.asarray(value)
    except ValueError:
        return False
    return array is None or array.dtype.kind in "biufc" or (array.size > 0 and isinstance(array.flat[0], numbers.Number))


def _is_number(value: Any) -> bool:
    """Whether it has arithmetic and is neither a collection nor complex."""
    if isinstance(value, np.ndarray | np.generic):
        return isinstance(value, float)  # NumPy's other scalars have no exp, and no type that makes one of a word
    return hasattr(value, "__mul__") and hasattr(value, "__truediv__") and not isinstance(value, complex)


def _members(hint: Any) -> list[Any]:
    """The members of a union, with their marks; anything else is its own only one."""
    inner = typing.get_args(hint)[0] if typing.get_origin(hint) is Annotated else hint
    if typing.get_origin(inner) in (types.UnionType, typing.Union):
        return [item for member in typing.get_args(inner) for item in _members(member)]
    return [hint]


def _alternatives(hint: Any) -> list[Any]:
    """The same without marks."""
    return [typing.get_args(item)[0] if typing.get_origin(item) is Annotated else item for item in _members(hint)]


@functools.cache
def _letters(made: type) -> list[tuple[str, _Shape]]:
    """The tensors, and tuples of them, that the constructor of a class takes, by name, and their shapes."""
    hints = typing.get_type_hints(inspect.unwrap(made.__init__)) | typing.get_type_hints(made)
    first = {name: _alternatives(hint)[0] for name, hint in hints.items() if name != "return"}
    first |= {name: typing.get_args(hint)[0] for name, hint in first.items() if typing.get_origin(hint) is tuple}
    return [(name, _Shape(hint)) for name, hint in first.items() if isinstance(hint, type) and issubclass(hint, AbstractArray)]


def _held(value: Any) -> dict[str, Any]:
    """What an object's tensors say of the letters in its methods' arguments."""
    sizes: dict[str, Any] = {}
    for name, shape in _letters(type(value)):
        sizes = shape.sizes(getattr(value, name, None), sizes) or sizes
    return sizes


#: What C code says of numbers and sizes that it cannot compute with; other errors are faults of ours.
_BEYOND = re.compile(
    r"overflow|allocate|maximum (supported|allowed) |too big|math domain error|different signs|ASSERT FAILED.*LinearAlgebra",
    re.IGNORECASE,
)


def _beyond(error: Exception) -> bool:
    """Whether it is the arguments' size, not their form or our code, that cannot be computed with."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    package = trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] if trace else ""
    ours = type(error).__module__.startswith(LIBRARY)  # NotProved says what it has to say
    if ours or package not in (LIBRARY, "torch", "numpy", "scipy"):  # the reader's own function fails in its own words
        return False
    # torch's LinAlgError, and its way of saying that memory does not suffice, are RuntimeErrors
    kinds = ArithmeticError | MemoryError | np.linalg.LinAlgError
    return isinstance(error, kinds) or type(error).__name__ == "_LinAlgError" or bool(_BEYOND.search(str(error)))


def _marks(hint: Any) -> tuple:
    return getattr(hint, "__metadata__", ())


class _Rules:
    """The checks of one function, made when it is called first."""

    def __init__(self, function: Callable):
        self.function = function
        parameters = inspect.signature(function).parameters.values()
        self.positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self.method = self.positional[:1] == ["self"] and function.__name__ != "__init__"
        self.several = next((p.name for p in parameters if p.kind == p.VAR_POSITIONAL), None)
        hints = typing.get_type_hints(function, include_extras=True)
        self.hints, self.ranges, self.kinds = {}, {}, {}
        self.finite = _bounded(hints.get("return"))
        self.rest = None  # what all keywords without a parameter of their own are
        for p in parameters:
            handed = next((mark for mark in _marks(hints.get(p.name)) if isinstance(mark, Like)), None)
            if handed is not None:
                for function in handed.functions:
                    for name, hint in _Rules(inspect.unwrap(function)).hints.items():
                        self.learn(name, hints.get(name, hint))
            # of what may be anything, nothing is known
            elif p.name in hints and not any(item is Any for item in _members(hints[p.name])):
                if p.kind == p.VAR_KEYWORD:
                    self.rest = hints[p.name]
                else:
                    self.learn(p.name, hints[p.name])

    def learn(self, name: str, hint: Any) -> None:
        """What an argument of this name and annotation may be."""
        self.hints[name] = hint
        self.ranges[name] = self._range(name, hint)
        members = _alternatives(hint)
        # numpy's ArrayLike, a union or (NumPy 2.5) one name, and what else the union has
        if any(item is ArrayLike or "_NestedSequence" in str(item) for item in members):
            self.kinds[name] = [
                _array_like,
                *(self._kind(item) for item in members if item.__module__.startswith(LIBRARY)),
            ]
        else:
            self.kinds[name] = [self._kind(item) for item in _members(hint)]

    @staticmethod
    def _range(name: str, hint: Any) -> Limits | Choice | None:
        marks = [mark for item in (hint, *_members(hint)) for mark in _marks(item) if isinstance(mark, Limits | Choice)]
        return marks[0] if marks else None

    @staticmethod
    def _kind(hint: Any) -> Any:
        """A shape, a tuple of classes, or a test by beartype, for what is neither."""
        if NUMBER in _marks(hint):
            return _is_number
        hint = _alternatives(hint)[0]
        if isinstance(hint, type) and issubclass(hint, AbstractArray):
            return _Shape(hint)
        if hint in (int, float):
            return (int, np.integer, float) if hint is float else (int, np.integer)
        if isinstance(hint, type) and not typing.get_args(hint):
            return (hint,)
        from beartype import BeartypeConf
        from beartype.door import is_bearable

        conf = BeartypeConf(is_pep484_tower=True)
        # a string is a sequence to beartype, and a word where several are meant is a mistake
        return lambda value: not isinstance(value, str | bytes) and is_bearable(value, hint, conf=conf)

    def computed(self, arguments: tuple, keywords: dict[str, Any]) -> Any:
        """What the function makes of its arguments; InputError where that cannot be computed."""
        try:
            result = self.function(*arguments, **keywords)
        except (ArithmeticError, MemoryError, RuntimeError, TypeError, ValueError) as error:
            if isinstance(error, InputError) or not _beyond(error):
                raise
            self.refuse(*self.given(arguments, keywords), f"computing failed: {str(error).splitlines()[0]}", error)
        if self.finite and not finite(result):
            self.refuse(*self.given(arguments, keywords), "computing failed: the result is not finite")
        return result

    def given(self, arguments: tuple, keywords: dict[str, Any]) -> tuple[str, str]:
        """Names and values of the arguments, briefly."""
        values = dict(zip(self.positional, arguments)) | keywords
        values.pop("self", None)
        return ", ".join(values), ", ".join(map(_brief, values.values()))

    def __call__(self, arguments: tuple, keywords: dict[str, Any]) -> None:
        values = [*zip(self.positional, arguments), *keywords.items()]
        if self.several is not None:
            values += [(self.several, value) for value in arguments[len(self.positional) :]]
        sizes = _held(arguments[0]) if self.method and _is_ours(arguments[0]) else {}
        for name, value in values:
            if self.rest is not None and name not in self.hints and name not in self.positional:
                self.learn(name, self.rest)
            if name in self.hints:
                sizes = self.check(name, value, sizes)
        # an object in the making holds nothing yet
        known = {name for name in self.hints if self.ranges[name] is not ANY} | ({"self"} if self.method else set())
        found = [item for name, value in values if name in known for item in _tensors(value, name)]
        for name, tensor in found[:1]:
            if str(tensor.dtype) not in ("torch.float32", "torch.float64"):
                self.refuse(name, _brief(tensor), "computed with are float32 and float64")
        for name, tensor in found[1:]:
            first, other = found[0]
            for what, a, b in (("precision", other.dtype, tensor.dtype), ("device", other.device, tensor.device)):
                if a != b:
                    text = f"{str(b).removeprefix('torch.')}, but {first} is {str(a).removeprefix('torch.')}"
                    self.refuse(name, text, f"all tensors of a call have one {what}")

    def check(self, name: str, value: Any, sizes: dict[str, Any]) -> dict[str, Any]:
        """Raise InputError unless the value has its type and shape, is finite, and lies in its range; the sizes known then."""
        found = self.fitting(name, value, sizes)
        limits = self.ranges[name]
        if found is None:
            letters = [letter for item in _alternatives(self.hints[name]) for letter in getattr(item, "dim_str", "").split()]
            known = ", ".join(f"{letter} = {sizes[letter]}" for letter in dict.fromkeys(letters) if sizes.get(letter, ()) != ())
            self.refuse(name, _brief(value), _name_of(self.hints[name]) + (f", where {known}" if known else ""))
        if isinstance(value, str) and "torch.device" in str(self.hints[name]) and not _is_device(value):
            self.refuse(name, _brief(value), "a device of this machine, such as cpu or cuda:0")
        if limits is ANY:
            return found
        largest, short = _largest(value), _is_tensor(value) and str(value.dtype) == "torch.float32"
        if not math.isfinite(largest):
            self.refuse(name, _brief(value) if isinstance(value, float) else f"{_brief(value)} with NaN or infinity", "finite")
        if largest > (LARGE_FLOAT32 if short else LARGE):
            self.refuse(
                name, _brief(value), f"numbers up to {LARGE_FLOAT32 if short else LARGE:g}, the products of which are finite"
            )
        if limits is not EMPTY and _is_tensor(value) and value.numel() == 0:
            self.refuse(name, _brief(value), "not empty")
        if limits is FILLED and hasattr(value, "__len__") and not len(value):
            self.refuse(name, _brief(value), "not empty")
        ranged = str if isinstance(limits, Choice) else numbers.Real
        if limits is not None and isinstance(value, ranged) and value not in limits:
            self.refuse(name, _brief(value), str(limits))
        return found

    def fitting(self, name: str, value: Any, sizes: dict[str, Any]) -> dict[str, Any] | None:
        """The sizes known after a value that has its type and shape; None if it has not."""
        for kind in self.kinds[name]:
            if isinstance(kind, _Shape):
                found = kind.sizes(value, sizes)
                if found is not None:
                    return found
            elif isinstance(kind, tuple):
                if isinstance(value, kind) and (type(value) is not bool or bool in kind or object in kind):
                    return sizes
            elif kind(value):
                return sizes
        return None

    def refuse(self, name: str, value: str, rule: str, cause: Exception | None = None) -> typing.NoReturn:
        raise InputError(f"{self.function.__qualname__}: {name} = {value} is not allowed: {rule}") from cause


_state = threading.local()


@contextlib.contextmanager
def unchecked() -> Iterator[None]:
    """In this block nothing is checked: for timing, and for a loop that calls a small function a million times."""
    before = getattr(_state, "inside", False)
    _state.inside = True
    try:
        yield
    finally:
        _state.inside = before


def outside(function: Callable[P, R]) -> Callable[P, R]:
    """The reader's own function, to be called inside a checked call: what it calls is checked as anywhere else."""

    def called(*arguments: P.args, **keywords: P.kwargs) -> R:
        before, _state.inside = getattr(_state, "inside", False), False
        try:
            return function(*arguments, **keywords)
        finally:
            _state.inside = before

    return called


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which now refuses arguments that its signature does not allow. Inside another checked call it is as before.

    >>> @checked
    ... def scaled(x: float, sigma: NonNegative) -> float:
    ...     return x * sigma
    >>> scaled(2.0, -1.0)
    Traceback (most recent call last):
    attention_theory.domain.InputError: scaled: sigma = -1.0 is not allowed: at least 0
    """
    rules: list[_Rules] = []

    @functools.wraps(function)
    def boundary(*arguments: P.args, **keywords: P.kwargs) -> R:
        if getattr(_state, "inside", False):
            return function(*arguments, **keywords)
        _state.inside = True
        try:
            if not rules:
                rules.append(_Rules(function))
            rules[0](arguments, keywords)
            return rules[0].computed(arguments, keywords)
        finally:
            _state.inside = False

    for name in ("cache_clear", "cache_info"):
        if hasattr(function, name):
            setattr(boundary, name, getattr(function, name))
    boundary.__dict__["__checked__"] = True
    return boundary


def check_module(module: types.ModuleType) -> None:
    """Put :func:`checked` around the public functions of a module and around the methods and constructors of its classes."""
    for name, thing in list(vars(module).items()):
        if name.startswith("_") or getattr(thing, "__module__", None) != module.__name__ or hasattr(thing, "__checked__"):
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
    """Finds the modules of a package as the others do, and checks them when they have run."""

    def __init__(self, package: str):
        self.package = package

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if not name.startswith(self.package + ".") or name == __name__:
            return None
        others = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module
            spec.loader.exec_module = lambda module: (run(module), check_module(module))[0]
        return spec


def install(package: str) -> None:
    """From now on, what is imported from this package is checked."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if getattr(finder, "package", None) != package]
    sys.meta_path.insert(0, _Finder(package))
