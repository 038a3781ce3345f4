"""Throw odd inputs at every public function and sort what happens.

    python tools/fuzz.py [--cases 10000] [--seed 0] [--out book/data] [--only tangent]

Right calls come from ``tools/examples.py`` (run ``make fuzz``, which notes them first); each case
spoils one argument: wrong type, shape or precision, NaN, infinities, empty, huge, negative, arrays
and lists for tensors, tensors that require gradients. Every case runs in a process with a limit of
five seconds of one core and of memory. The printed formulas (``printed.py``) are left out: pages
show them as they stand, right or wrong. So is a noted call that raises now, or takes over a second
itself.

=============
=======================================================================================================
refused        InputError, or a ValueError or TypeError (or FileNotFoundError, ImportError) that the
library itself raised answered       a finite result; where the spoiled call must give the right
one's numbers (gradients required, other memory
               layout, float32), it does
not finite     NaN or infinity where the right call has none, and where no annotation (``ANY``)
announces it wrong          other numbers than the right call's where they must agree error inside
any other exception hang, memory   over the limits
=============
=======================================================================================================
"""

import argparse
import contextlib
import copy
import dataclasses
import inspect
import math
import multiprocessing
import os
import random
import resource
import sys
import tempfile
import time
import traceback
import typing
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch
from theorybook.validation import ANY, PACKAGES, InputError

sys.path.insert(0, str(Path(__file__).parent))  # not there with PYTHONSAFEPATH=1
from theorybook.tools.recorded import write

import examples

RIGHT, SECONDS, MEMORY = 1.0, 5.0, 6 * 2**30
#: Spoilers of a floating tensor, by name; those in AGREE must give the right call's result.
TENSORS: dict[str, Callable[[torch.Tensor], Any]] = {
    "list": lambda x: x.tolist(),
    "NumPy array": lambda x: x.detach().numpy(),
    "integers": lambda x: x.detach().long(),
    "float16": lambda x: x.half(),
    "one float32": lambda x: x.float(),
    "complex": lambda x: x.to(torch.complex128),
    "a NaN": lambda x: _with(x, math.nan),
    "an infinity": lambda x: _with(x, math.inf),
    "all infinite": lambda x: torch.full_like(x, -math.inf),
    "empty": lambda x: x[:0] if x.ndim else x.reshape(1)[:0],
    "one axis more": lambda x: x[None],
    "one axis less": lambda x: x.flatten() if x.ndim != 1 else x.sum(),
    "one column less": lambda x: x[..., :-1] if x.ndim else x,
    "one row more": lambda x: torch.cat([x, x[:1]]) if x.ndim else x,
    "zeros": torch.zeros_like,
    "negative": lambda x: -x.abs(),
    "huge": lambda x: x * 1e300,
    "tiny": lambda x: x * 1e-300,
    "constant": torch.ones_like,
    "requires a gradient": lambda x: x.detach().clone().requires_grad_(),
    "other memory layout": lambda x: (
        x.mT.contiguous().mT if x.ndim > 1 else x.repeat_interleave(2)[::2] if x.ndim else x
    ),
}
#: Another layout adds in another order; an ascent of a hundred steps makes 1e-8 of that.
AGREE = {"requires a gradient": 1e-9, "other memory layout": 1e-6, "all float32": 2e-2}
INTEGERS = (
    0,
    -1,
    -(2**40),
    2**40,
    10**30,
    1.5,
    math.nan,
    math.inf,
    "3",
    None,
    True,
    [1],
    torch.tensor(3),
    np.float64(2.5),
)
FLOATS = (
    0.0,
    -1.0,
    math.nan,
    math.inf,
    -math.inf,
    1e300,
    1e-300,
    -1e300,
    "0.1",
    None,
    [0.5],
    1j,
    True,
    np.float32(0.5),
)
OTHERS = (None, "", "unknown", 3, [], {}, math.nan, b"x")


def _with(x: torch.Tensor, value: float) -> torch.Tensor:
    x = x.detach().clone()
    x.view(-1)[x.numel() // 2] = value
    return x


def spoiled(value: Any) -> Iterator[tuple[str, Any]]:
    """Odd values in place of this one, and what is odd about each."""
    if isinstance(value, torch.Tensor) and value.is_floating_point() and value.numel():
        yield from ((name, lambda f=f: f(value)) for name, f in TENSORS.items())
        yield from ((f"{odd!r}", lambda odd=odd: odd) for odd in (None, "x", 3.0))
    elif isinstance(value, bool | str) or not isinstance(value, int | float):
        yield from (
            (f"{odd!r}", lambda odd=odd: odd)
            for odd in OTHERS
            if type(odd) is not type(value) or odd != value
        )
    else:
        odds = INTEGERS if isinstance(value, int) else FLOATS
        yield from ((f"{odd!r}", lambda odd=odd: odd) for odd in odds)


def cases(found: list[examples.Example]) -> Iterator[tuple[int, str | int, str]]:
    """Number of the example, position or name of the argument, what is done to it."""
    for i, example in enumerate(found):
        _, arguments = example.call
        bound = (
            not example.name.endswith(".__init__") and "." in example.name
        )  # a method: leave its object alone
        for place, value in [*enumerate(arguments)][bound:] + [*example.keywords.items()]:
            yield from ((i, place, name) for name, _ in spoiled(value))
        # what a right call leaves on disk would be found by the next
        if not any(isinstance(value, Path) for value in (*arguments, *example.keywords.values())):
            yield (i, "all", "all float32")


def announced(example: examples.Example) -> bool:
    """Whether its result, or a field of it, may be infinite or NaN by its annotation."""
    function = inspect.unwrap(example.function)
    hint = (
        function
        if isinstance(function, type)
        else typing.get_type_hints(function, include_extras=True).get("return")
    )
    fields = (
        typing.get_type_hints(hint, include_extras=True).values() if isinstance(hint, type) else ()
    )
    return any(ANY in getattr(item, "__metadata__", ()) for item in (hint, *fields))


def numbers(value: Any) -> list[float]:
    """All numbers that a result holds, in order."""
    if isinstance(value, torch.Tensor):
        value = value.detach()
        return (
            value.double().flatten().tolist()
            if not value.is_complex()
            else torch.view_as_real(value).flatten().tolist()
        )
    if isinstance(value, np.ndarray):
        return value.astype(float).ravel().tolist() if value.dtype.kind in "biuf" else []
    if isinstance(value, bool | int | float | np.number) and not isinstance(
        value, complex | np.complexfloating
    ):
        return (
            [float(value)]
            if abs(value) < 1e308
            else [math.copysign(1e308, value)]
            if math.isfinite(value)
            else [value]
        )
    if isinstance(value, list | tuple):
        return [x for item in value for x in numbers(item)]
    if isinstance(value, dict):
        return [x for item in value.values() for x in numbers(item)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [x for item in vars(value).values() for x in numbers(item)]
    return []


def single(value: Any) -> Any:
    """The same in float32."""
    if isinstance(value, torch.Tensor) and value.dtype == torch.float64:
        return value.float()
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(map(single, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        moved = copy.copy(value)
        for key, item in vars(value).items():
            object.__setattr__(moved, key, single(item))
        return moved
    return value


def called(example: examples.Example, place: str | int = "", name: str = "") -> tuple[str, Any]:
    """``answered`` and the result of the call, with one argument spoiled if a place is named; or
    what else happens, and why.
    """
    function, arguments = copy.deepcopy(example.call)
    given: dict[Any, Any] = dict(enumerate(arguments)) | copy.deepcopy(example.keywords)
    if place == "all":
        given = {key: single(value) for key, value in given.items()}
    elif name:
        given[place] = dict(spoiled(given[place]))[name]()
    positional = [given.pop(i) for i in range(len(arguments))]
    try:
        with (
            open(os.devnull, "w") as null,
            contextlib.redirect_stdout(null),
            contextlib.redirect_stderr(null),
        ):
            result = function(*positional, **given)
            return "answered", [next(result, None)] if hasattr(result, "__next__") else result
    except InputError:
        return "refused", ""
    except (Exception, SystemExit) as error:
        said = f"{type(error).__name__}: {str(error)[:100]}"
        if isinstance(error, MemoryError) or "allocate memory" in said:
            return "memory", said
        frame = traceback.extract_tb(error.__traceback__)[-1]
        ours = any(f"/{package}/" in frame.filename for package in PACKAGES) and "raise" in (
            frame.line or ""
        ) + "raise" * (frame.name == "refuse")
        ours = ours and isinstance(error, ValueError | TypeError | OSError | ImportError)
        # NotProved, VerdictError say what is not so; the system's sentence names the file
        ours = (
            ours
            or type(error).__module__.partition(".")[0] in PACKAGES
            or bool(getattr(error, "filename", None))
        )
        return ("refused", "") if ours else ("error inside", said)


def outcome(
    example: examples.Example, place: str | int, name: str, rights: dict[int, list[float]]
) -> tuple[str, str]:
    """What happens, and where or what; ``rights`` keeps the right calls' numbers."""
    if name in AGREE and id(example) not in rights:
        rights[id(example)] = numbers(called(example)[1])
    kind, result = called(example, place, name)
    if kind != "answered":
        return kind, result
    found = numbers(result)
    if name not in AGREE:
        value = example.keywords[place] if isinstance(place, str) else example.call[1][place]
        allowed = numbers(
            dict(spoiled(value))[name]()
        )  # an infinite number that is allowed may be held
        finite = all(math.isfinite(x) or x in allowed for x in found) or announced(example)
        return ("answered" if finite else "not finite"), ""
    right = rights[id(example)]
    if len(found) != len(right):
        return "wrong", f"{len(found)} numbers, right are {len(right)}"
    scale = max((abs(x) for x in right if math.isfinite(x)), default=0.0)
    far = max((abs(x - y) for x, y in zip(found, right) if math.isfinite(y)), default=0.0)
    return (
        ("answered", "")
        if far <= AGREE[name] * scale + 1e-12
        else ("wrong", f"off by {far:.2g} of {scale:.2g}")
    )


def right(example: examples.Example) -> tuple[str, str]:
    """Whether the noted call is a right one: it does not raise."""
    kind, result = called(example)
    if kind != "answered":
        return "no right call", result
    return "answered", "" if all(map(math.isfinite, numbers(result))) else "not finite"


def _work(found: list[examples.Example], pipe: Any) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    torch.set_num_threads(1)
    os.chdir(tempfile.mkdtemp())  # what a function may write, it writes there
    rights: dict[int, list[float]] = {}
    while True:
        i, place, name = pipe.recv()
        try:
            answer = right(found[i]) if place == "right" else outcome(found[i], place, name, rights)
        except BaseException as error:
            answer = "unusable", f"{type(error).__name__}: {str(error)[:80]}"
        pipe.send(answer)


class Worker:
    """A process that does one case at a time and is killed when it does not answer."""

    def __init__(self, found: list[examples.Example]):
        self.found, self.process = found, None

    def __call__(self, case: tuple[int, str | int, str], seconds: float) -> tuple[str, str]:
        """The outcome of a case."""
        if self.process is None:
            context = multiprocessing.get_context("fork")
            self.pipe, other = context.Pipe()
            self.process = context.Process(target=_work, args=(self.found, other), daemon=True)
            self.process.start()
            other.close()
        self.pipe.send(case)
        with contextlib.suppress(EOFError):
            used, began = psutil.Process(self.process.pid), time.monotonic()
            before = sum(used.cpu_times()[:2])
            while not self.pipe.poll(0.2):
                # on a busy machine a case waits for its turn, which is no hang; one that waits for
                # ever is
                if (
                    sum(used.cpu_times()[:2]) - before > seconds
                    or time.monotonic() - began > 12 * seconds
                ):
                    break
            else:
                return self.pipe.recv()
            self.process.kill()
            self.process = None
            return "hang", f"over {seconds:g} s"
        self.process = None
        return "memory", "the process died"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--cases", type=int, default=10_000, help="how many are drawn (default 10000)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="functions whose name holds this")
    parser.add_argument("--out", help="folder for fuzz.json, the record")
    given = parser.parse_args()
    if given.cases < 1:
        parser.error("--cases is at least 1")
    skip = (
        "sweep.",
        "train_images.main",
        ".formula",
        ".paper.",
        "evidence.records.",
        "movable.",
        "figures.",
    )
    found = [
        e
        for e in examples.load()
        if given.only in f"{e.module}.{e.name}" and not any(s in f"{e.module}." for s in skip)
    ]
    every = list(cases(found))
    draw = random.Random(given.seed)
    chosen = draw.sample(every, min(given.cases, len(every)))
    functions: set[tuple[str, str]] = set()
    print(f"{len(every)} cases of {len(found)} calls, {len(chosen)} drawn", flush=True)
    worker = Worker(found)
    table: dict[str, Counter] = defaultdict(Counter)
    answer: dict[int, tuple[str, str]] = {}
    left_out: Counter = Counter()
    for i, place, name in chosen:
        if i not in answer:
            answer[i] = worker((i, "right", ""), RIGHT)
        if answer[i][0] != "answered":
            left_out[f"{found[i].module[17:]}.{found[i].name}: {answer[i][1]}"] += 1
            continue
        kind, detail = worker((i, place, name), SECONDS)
        if kind == "not finite" and answer[i][1] == "not finite":
            kind = "answered"  # as the right call
        if kind == "unusable":  # the argument cannot be spoiled in this way
            left_out[f"{found[i].module[17:]}.{found[i].name}: {detail}"] += 1
            continue
        part = found[i].module.split(".")[1]
        table[part][kind] += 1
        functions.add((found[i].module, found[i].name))
        if kind not in ("refused", "answered"):
            print(
                f"{kind}: {found[i].module[17:]}.{found[i].name}({place} = {name}): {detail}",
                flush=True,
            )
    kinds = ["refused", "answered", "not finite", "wrong", "error inside", "hang", "memory"]
    total = table["all"] = sum(table.values(), Counter())
    print("part".ljust(14), *(kind.rjust(12) for kind in kinds))
    for part, counts in sorted(table.items(), key=lambda item: (item[0] == "all", item[0])):
        print(part.ljust(14), *(str(counts[kind]).rjust(12) for kind in kinds))
    print(
        f"left out, {left_out.total()} cases without a right call or a way to spoil it:",
        *left_out,
        sep="\n  ",
    )
    if given.out:
        parts = sorted(table.keys() - {"all"})
        results = [{kind: table[part][kind] for kind in kinds} for part in parts]
        settings = {
            "cases": total.total(),
            "functions": len(functions),
            "seed": given.seed,
            "seconds": SECONDS,
        }
        write("fuzz", settings, [{"part": part} for part in parts], results, given.out)
    return bool(total.keys() - {"refused", "answered"})


if __name__ == "__main__":
    sys.exit(main())
