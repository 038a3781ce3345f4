"""The check of arguments that every public function carries."""

import dataclasses
import functools
import importlib
import inspect
import math
import pickle
import pkgutil
import re
import types
import typing
from collections.abc import Iterable
from fractions import Fraction
from typing import Annotated, Any, Literal, NamedTuple

import attention_checks
import attention_theory
import numpy as np
import pytest
import theorybook
import torch
from attention_checks.separation import printed
from attention_checks.separation.runs import thresholds
from attention_theory import sensitivity, separation, tangent, tokens
from attention_theory.attention import attention
from jaxtyping import Float, Int
from theorybook import mean_interval
from theorybook.validation import (
    ANY,
    EMPTY,
    FILLED,
    Arithmetic,
    Count,
    Extended,
    InputError,
    Limits,
    NonNegative,
    Numbers,
    checked,
    recheck_callback,
    unchecked,
)
from torch import Tensor

PACKAGES = (theorybook, attention_theory, attention_checks)
FOUND = [m.name for p in PACKAGES for m in pkgutil.walk_packages(p.__path__, f"{p.__name__}.")]
MODULES = [importlib.import_module(name) for name in FOUND if name.split(".")[1] not in ("sphinx", "tools")]
ONES = torch.ones(3, 2, dtype=torch.float64)


@checked
def product(
    X: Float[Tensor, "n d"],
    y: Float[Tensor, "d m"] | None = None,
    sigma: NonNegative = 1.0,
    n: Count | None = None,
    kind: str = "x",
    index: Int[Tensor, "n"] | None = None,  # noqa: F821
    batch: Float[Tensor, "*batch 2"] | None = None,
    many: Annotated[Float[Tensor, "N"] | None, EMPTY] = None,  # noqa: F821
    bound: Annotated[float, ANY] = 1.0,
    other: Any | None = None,
    number: Arithmetic | None = None,
    items: Annotated[list[int] | None, FILLED] = None,
    word: Literal["this", "that"] = "this",
    samples: Numbers = (),
    tensors: tuple[Tensor, ...] = (),
    net: torch.nn.Module | None = None,
) -> float:
    """All kinds of parameters."""
    return sigma


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"y": ONES.T},
        {"sigma": 0},
        {"sigma": np.float64(2)},
        {"n": 5},
        {"n": np.int64(5)},
        {"sigma": np.int64(2)},
        {"other": ONES.float()},
        {"index": torch.arange(3)},
        {"batch": torch.ones(2, dtype=torch.float64)},
        {"batch": torch.ones(5, 4, 2, dtype=torch.float64)},
        {"many": ONES[:0, 0]},
        {"bound": float("inf")},
        {"number": None},
        {"number": Fraction(1, 3)},
        {"number": np.float32(0.5)},
        {"items": [1]},
        {"word": "that"},
        {"samples": [Fraction(1, 3)]},
        {"samples": np.arange(3)},
        {"tensors": (ONES,)},
    ],
)
def test_what_fits_passes(given):
    assert product(ONES, **given) == given.get("sigma", 1.0)


def test_numbers_of_numpy_become_those_of_python():
    @checked
    def kinds(
        n: Count, sigma: NonNegative, items: list[int], number: Arithmetic, at: Iterable[int] | None = None, *more: Count
    ):
        """What arrived."""
        return [type(value) for value in (n, sigma, items[0], number, *more)], at

    one = np.int64(1)
    found, at = kinds(one, np.float32(0.5), [one], np.float32(0.5), np.arange(3), one)
    assert found == [int, float, int, float, int] and at == [0, 1, 2]
    assert checked(lambda: kinds(one, one, [1], 1.5))()[0] == [int, int, int, float]  # inside another call, too
    for wrong in (True, np.bool_(True), 1.0, np.float64(1)):
        with pytest.raises(InputError, match=re.escape(f"n = {wrong!r} is not allowed: int")):
            kinds(wrong, 1.0, [1], 1)


def test_numpy_integers_count_in_public_functions():
    size = {"n": np.int64(200), "b": 0.5, "c": np.float32(0.1)}
    args = "self-identity", np.int64(12), np.int64(30), np.int64(0), np.int64(2)
    assert separation.success_probability(*args, **size) == separation.success_probability(
        "self-identity", 12, 30, 0, 2, n=200, b=0.5, c=float(np.float32(0.1))
    )
    assert separation.exact.separation_probability("softmax", *args, **size) >= 0
    sample = sensitivity.RandomAttentionFeatures.sample
    assert torch.equal(sample(np.int64(16), np.int64(1)).W, sample(16, 1).W)
    assert tokens.embed(np.array(["list", "the"]), np.int64(8)).shape == (2, 8)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"X": None}, r"product: X = None is not allowed: a floating tensor of shape \(n, d\)"),
        ({"X": ONES.numpy()}, r"X = a float64 array of shape \(3, 2\)"),
        ({"X": ONES[0]}, r"X = a float64 tensor of shape \(2,\) is not allowed: a floating tensor of shape \(n, d\)"),
        ({"X": ONES.long()}, "X = a int64 tensor"),
        ({"X": ONES.half()}, "X = a float16 tensor .* float32 and float64"),
        ({"X": ONES / 0}, "X = a float64 tensor .* with NaN or infinity is not allowed: finite"),
        ({"X": ONES[:0]}, r"X = a float64 tensor of shape \(0, 2\) is not allowed: not empty"),
        ({"X": ONES.to_sparse()}, "X = a sparse_coo tensor is not allowed: a dense one that holds numbers"),
        ({"X": torch.nested.nested_tensor([ONES[0]])}, "X = a nested tensor"),
        ({"y": ONES}, r"y = .* \(3, 2\) is not allowed: a floating tensor of shape \(d, m\) or None, where d = 2"),
        ({"y": ONES.T.float()}, "y = float32, but X is float64 is not allowed: all tensors of a call have one precision"),
        ({"sigma": -1}, "sigma = -1 is not allowed: at least 0"),
        ({"sigma": float("nan")}, "sigma = nan is not allowed: finite"),
        ({"sigma": "1"}, "sigma = '1' is not allowed: float"),
        ({"sigma": torch.tensor(1.0)}, "sigma = a float32 tensor"),
        ({"n": 0}, "n = 0 is not allowed: at least 1"),
        ({"n": 2.0}, "n = 2.0 is not allowed: int or None"),
        ({"n": True}, "n = True"),
        ({"kind": 3}, "kind = 3 is not allowed: str"),
        ({"index": torch.arange(2)}, "index = .* where n = 3"),
        ({"batch": torch.ones(3, dtype=torch.float64)}, r"\(\*batch, 2\)"),
        ({"number": "3"}, "number = '3' is not allowed: a number"),
        ({"number": float("inf")}, "number = inf is not allowed: finite"),
        ({"items": []}, r"items = \[\] is not allowed: not empty"),
        ({"word": "other"}, "word = 'other' is not allowed: one of this, that"),
        ({"samples": "ab"}, "samples = 'ab' is not allowed: numbers"),
        ({"samples": [[1], [1, 2]]}, "samples = .* is not allowed: numbers"),
        ({"samples": np.array([1, np.nan])}, "samples = .* with NaN or infinity is not allowed: finite"),
        ({"sigma": 1e200}, "sigma = 1e.200 is not allowed: numbers up to 1e.150"),
        ({"tensors": (ONES, ONES.float())}, r"tensors\[1\] = float32, but X is float64"),
        ({"net": torch.nn.Linear(2, 2)}, "net.weight = float32, but X is float64"),
    ],
)
def test_what_does_not_is_named(given, message):
    for kind in (ValueError, TypeError):
        with pytest.raises(kind, match=message):
            product(**({"X": ONES} | given))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sigma": -1.0}, "product: sigma = -1.0 is not allowed: at least 0"),
        ({"word": "other"}, "product: word = 'other' is not allowed: one of this, that"),
    ],
)
def test_numbers_and_words_are_checked_whoever_calls(given, message):
    def call():
        return product(ONES, **given)

    for function in (call, checked(call), checked(lambda: checked(call)())):
        with pytest.raises(InputError, match=message):
            function()
    with unchecked():
        call()


def test_tensors_are_looked_at_once():
    assert checked(lambda: product(ONES.long()))() == 1.0
    with pytest.raises(InputError):
        product(ONES.long())


def test_a_printed_formula_refuses_the_same_by_itself_and_inside_a_call():
    for C, refused in ((0.2, False), (-1.0, True)):
        direct = functools.partial(printed.lemma_4_1, C=C, part=1)
        for call in (
            lambda direct=direct: direct(200, 0.01),
            lambda direct=direct: thresholds.averages(0, "linear", direct, [200], [0.01]),
        ):
            if refused:
                with pytest.raises(InputError, match="lemma_4_1: C = -1.0 is not allowed"):
                    call()
            else:
                call()


def test_autocast_ends_at_the_boundary():
    net, x = tangent.SoftmaxNetwork.paired(5, 1000, 1).to(torch.float32), tangent.unit_points(10, 5, 1).float()
    expected = tangent.tangent_kernel(net, x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (x @ x.T).dtype == torch.bfloat16
        assert torch.equal(tangent.tangent_kernel(net, x), expected)
        assert (x @ x.T).dtype == torch.bfloat16


def test_the_default_device_ends_at_the_boundary():
    expected = tokens.contexts("iid", 1, 3, 4, 0)
    with torch.device("meta"):
        assert torch.equal(tokens.contexts("iid", 1, 3, 4, 0), expected) and torch.ones(1).is_meta


def test_without_arguments_none_is_named():
    @checked
    def give() -> float:
        """Not a number."""
        return math.nan

    with pytest.raises(InputError, match="give: computing failed: the result is not finite$"):
        give()


def test_what_a_function_of_the_readers_calls_is_checked():
    @checked
    def ask(reader: Any) -> float:
        """Call what the reader gave."""
        return recheck_callback(reader)()

    with pytest.raises(InputError, match="sigma = -1.0"):
        ask(lambda: product(ONES, sigma=-1.0))


class Pair(NamedTuple):
    """A result with a field that may be infinite."""

    first: float
    second: Extended


Pair.__module__ = "attention_theory.pair"


@pytest.mark.parametrize(
    ("hint", "result", "finite"),
    [
        (float, math.nan, False),
        (Tensor, ONES / 0, False),
        (dict[str, list[float]], {"a": [1.0, math.inf]}, False),
        (Pair, Pair(math.inf, 1.0), False),
        (Pair, Pair(1.0, math.inf), True),
        (Extended, math.nan, True),
        (list[Any], [math.nan], True),
        (Fraction, Fraction(1, 3), True),
    ],
)
def test_what_comes_back_is_finite_unless_it_is_marked(hint, result, finite):
    def give(n: int):
        """The result."""
        return result

    give.__annotations__["return"] = hint
    if finite:
        assert checked(give)(3) is result
    else:
        with pytest.raises(InputError, match="n = 3 is not allowed: computing failed: the result is not finite"):
            checked(give)(3)


def test_errors_of_c_name_the_arguments_and_those_of_python_keep_their_words():
    def give(x: float):
        """Compute in C."""
        return math.lgamma(x)

    def say(x: float):
        """Raise."""
        raise ValueError("x is odd")

    give.__globals__["__name__"], name = "attention_theory.give", __name__
    try:
        with pytest.raises(InputError, match="x = -1.0 is not allowed: computing failed: math domain error"):
            checked(give)(-1.0)
        with pytest.raises(ValueError, match="^x is odd$"):
            checked(say)(1.0)
    finally:
        give.__globals__["__name__"] = name


def test_an_error_ends_the_call():
    @checked
    def fails(d: Count) -> None:
        """Raise."""
        raise KeyError

    with pytest.raises(KeyError):
        fails(1)
    with pytest.raises(InputError):
        fails(0)


def test_objects_are_checked_when_made_and_held_tensors_count():
    @dataclasses.dataclass(frozen=True)
    class Map:
        """A matrix."""

        A: Float[Tensor, "n d"]

        def __call__(self, x: Float[Tensor, "d"]) -> Tensor:  # noqa: F821
            return self.A @ x

    Map.__init__ = checked(Map.__init__)
    Map.__call__ = checked(Map.__call__)
    with pytest.raises(InputError, match="A = None"):
        Map(None)
    with pytest.raises(InputError, match=r"x = float32, but self.A is float64"):
        Map(ONES)(torch.ones(2))


def test_transformed_functions_are_let_through():
    @checked
    def square(x: Float[Tensor, "d"]) -> Tensor:  # noqa: F821
        """x^2."""
        return x.square()

    assert torch.equal(torch.func.vmap(torch.func.jacrev(square))(ONES), torch.diag_embed(2 * ONES))


def test_compiled_and_exported_functions_are_let_through():
    x = torch.eye(3, dtype=torch.float64)

    class Kernel(torch.nn.Module):
        def forward(self, x):
            return attention(x @ x.T, x, "softmax")

    expected = Kernel()(x)
    assert torch.allclose(torch.compile(Kernel(), fullgraph=True, backend="eager")(x), expected)
    assert torch.allclose(torch.export.export(Kernel(), (x,)).module()(x), expected)


def test_ranges_say_what_they_are():
    assert str(Limits(0, 1, "both")) == "above 0 and below 1" and 0 not in Limits(0, 1, "both") and 1 in Limits(0, 1, "low")
    assert str(Limits(1)) == "at least 1" and str(Limits()) == "any number" and float("nan") not in Limits(0)


def public():
    """Every public name of a module: (its module, itself, what stands there)."""
    for module in MODULES:
        for name, thing in vars(module).items():
            if not name.startswith("_") and getattr(thing, "__module__", None) == module.__name__:
                yield module.__name__, name, thing


def test_all_public_functions_are_checked_and_their_annotations_can_be_read():
    count = 0
    for module, name, thing in public():
        if (inspect.isfunction(thing) or hasattr(thing, "cache_info")) and not module.endswith("validation"):
            assert hasattr(thing, "__checked__"), (module, name)
            typing.get_type_hints(inspect.unwrap(thing), include_extras=True)
            count += 1
    assert count > 150


def test_wrapped_functions_stay_what_they_are():
    assert inspect.unwrap(mean_interval) is not mean_interval and pickle.loads(pickle.dumps(mean_interval)) is mean_interval
    assert list(inspect.signature(mean_interval).parameters) == ["samples", "confidence", "seed", "resamples"]


def numeric_parameters():
    """Every number that a public function or method takes: where, and its annotation without `None` and other alternatives."""
    for module, name, thing in public():
        functions = {name: thing}
        if inspect.isclass(thing):
            methods = {key: getattr(value, "__func__", value) for key, value in vars(thing).items() if key[0] != "_"}
            functions = {f"{name}.{key}": value for key, value in methods.items()}
        for name, function in functions.items():
            if callable(function) and hasattr(function, "__checked__"):
                hints = typing.get_type_hints(inspect.unwrap(function), include_extras=True)
                hints.pop("return", None)
                yield from (((module, name, key), hint) for key, hint in hints.items())


def test_every_number_has_a_range():
    bare, count = [], 0
    for where, hint in numeric_parameters():
        members = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
        bare += [where for member in members if member in (int, float)]
        count += any(getattr(member, "__origin__", None) in (int, float) for member in members)
    assert not bare and count > 1000
