"""What the library's routes cost beside the literal ones and beside other tools, side by side in
one run.

    python tools/speed.py [--out book/data] [--runs 3] [--rounds 5] [--jax PYTHON]

A run is a process of its own. In every round each route runs once, with the machine's own limits
between them: a matrix product and a copy. A run's numbers are medians over its rounds of processor
seconds (one thread) and of ratios within a round, so that a busy machine neither counts nor favours
a route; what is reported is the median over the runs, and the least and the most of them, since two
runs differ more than two rounds. Nothing is recorded on a busy machine, unless ``--busy`` is given:
the record has the load. The library's routes are the calls that a reader makes, their checks
included. Before anything is timed the routes must agree in value. A library that is slower than its
bar ends the run with an error. ``PYTHON`` is the interpreter of an environment of its own with jax,
and neural-tangents if that is wanted. (neural-tangents 0.6.5 runs with jax and jaxlib 0.4.23,
tensorflow 2.15.1, tf2jax 0.3.5, numpy below 2 and scipy below 1.12.)
"""

import argparse
import contextlib
import functools
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

import numpy as np
import torch
from attention_checks.separation import chances, panels
from attention_theory import patches, sensitivity, separation, tokens
from attention_theory.device import generator, normal, signs
from attention_theory.separation.data import inputs, threshold
from attention_theory.separation.network import ROUNDING
from attention_theory.tangent import SoftmaxNetwork, tangent_kernel
from theorybook.tools.recorded import write

#: Nothing is recorded above this load a core, the run itself not counted.
BUSY = 0.5
#: A timed call is repeated until it takes so many seconds: the clock and its neighbours disturb it
#: less.
LEAST = 0.02


@dataclass
class Bench:
    """Routes to the same numbers at one size; the first is the library's.

    Attributes:
        topic, n: what is computed, and its size.
        routes: name -> what is timed: it runs, or returns seconds of its own if ``timed``.
        factors: name -> what its seconds are multiplied by, where a route is timed on a part of the
            work.
        flop, bytes: what no way of doing the library's arithmetic can save, for the machine's
            limit; 0 where there is none.
        bars: name -> how many times slower than the library's this route must be at least.
        timed: routes that return seconds.
    """

    topic: str
    n: int
    routes: dict[str, Callable]
    factors: dict[str, float] = field(default_factory=dict)
    flop: float = 0
    bytes: float = 0
    bars: dict[str, float] = field(default_factory=dict)
    timed: tuple[str, ...] = ()


def seconds(function: Callable, calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        function()
    return (time.process_time() - start) / calls


def measured(bench: Bench, rounds: int) -> list[dict]:
    """A row for each route: seconds, how many times slower than the library's, share of the
    limit.
    """
    square, long = (
        normal(768, 768, generator=generator(0)),
        torch.zeros(8_000_000, dtype=torch.float64),
    )
    limits = {"gemm": lambda: square @ square, "copy": long.clone}
    for function in bench.routes.values():
        function()
    calls = {
        name: max(1, int(LEAST / seconds(f, 1))) for name, f in (limits | bench.routes).items()
    }
    found = {name: [] for name in limits | bench.routes}
    for _ in range(rounds):
        for name, function in (limits | bench.routes).items():
            own = name in bench.timed
            found[name].append(
                (function() if own else seconds(function, calls[name])) * bench.factors.get(name, 1)
            )
    first = found[next(iter(bench.routes))]
    least = [
        max(bench.flop * g / (2 * 768**3), bench.bytes * c / (2 * 64e6))
        for g, c in zip(found["gemm"], found["copy"])
    ]
    rows = []
    for name in bench.routes:
        row = {
            "seconds": median(found[name]),
            "ratio": median(a / b for a, b in zip(found[name], first)),
        }
        rows.append(row | {"limit": median(a / b for a, b in zip(least, found[name]))})
    return rows


def over_runs(rows: list[dict]) -> dict[str, float]:
    """The medians of what several runs found for one route, and the least and most of their
    ratios.
    """
    ratios = [row["ratio"] for row in rows]
    return {key: median(row[key] for row in rows) for key in rows[0]} | {
        "low": min(ratios),
        "high": max(ratios),
    }


def processor() -> str:
    """Its name, as far as the machine gives one."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def agree(values: dict[str, torch.Tensor], tolerance: float = 1e-8) -> None:
    """Raise AssertionError unless all values are the first one's."""
    first, *others = values.values()
    for other in others:
        torch.testing.assert_close(other, first, rtol=tolerance, atol=tolerance)


# Part III
# --------------------------------------------------------------------------------------------------

JAX = """
import importlib.metadata, json, os, sys, time
if hasattr(os, "sched_setaffinity"):  # its flags alone do not keep it to one thread
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
import jax, numpy
jax.config.update("jax_enable_x64", True)
versions = {name: importlib.metadata.version(name) for name in ("jax", "jaxlib")}
try:
    import neural_tangents
    versions["neural-tangents"] = importlib.metadata.version("neural-tangents")
except ImportError:
    pass
print(json.dumps(versions), flush=True)
def product(W, a, x):
    S = jax.nn.softmax(x @ W, axis=1)
    P = (S * (a[:, None] - (a @ S.T)[..., None])).reshape(-1, a.shape[1])
    return a.shape[1] * P @ P.T * jax.numpy.tile(x @ x.T, 2 * a.shape[:1])
def made(route, W, a, x):
    if route == "product":
        kernel = jax.jit(product)
        return (lambda: kernel(W, a, x)), numpy.asarray
    function = lambda W, x: a.shape[1] * jax.nn.softmax(x @ W, axis=1) @ a.T
    kernel = neural_tangents.empirical_ntk_fn(function, (), vmap_axes=0, implementation=int(route))
    kernel = jax.jit(kernel, static_argnums=1)
    rows = lambda k: numpy.transpose(k, (2, 0, 3, 1)).reshape(a.shape[0] * len(x), -1)
    return (lambda: kernel(x, None, W)), lambda k: rows(k) / a.shape[1]
runs = {}
for line in sys.stdin:
    file, route, calls = line.split()
    if (file, route) not in runs:
        arrays = numpy.load(file)
        runs[file, route], matrix = made(route, *(jax.numpy.array(arrays[name]) for name in "Wax"))
        numpy.save(file + route, matrix(runs[file, route]()))
    run, start = runs[file, route], time.process_time()
    for _ in range(int(calls)):
        run().block_until_ready()
    print((time.process_time() - start) / int(calls), flush=True)
"""
#: In that process, by the page's name; all but the first by neural-tangents.
ROUTES = {"jax, one product": "product"}
ROUTES |= {
    f"neural-tangents, {name}": str(i)
    for i, name in enumerate(("contraction", "products", "structured"), 1)
}


@functools.cache
def waiting(python: str) -> tuple[subprocess.Popen, dict[str, str]]:
    """A process with jax, which times what it is told, and the versions that it has."""
    one = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"}
    pipe = subprocess.PIPE
    command = [python, "-c", JAX]
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=os.environ | one)
    answer = process.stdout.readline()
    if not answer:
        raise RuntimeError(f"{python} has no jax")
    return process, json.loads(answer)


def ask(python: str, file: Path, route: str, calls: int = 20) -> float:
    """Processor seconds of one kernel by this route; the first time its value is written beside the
    file.
    """
    process, _ = waiting(python)
    print(file, route, calls, file=process.stdin, flush=True)
    answer = process.stdout.readline()
    if not answer:
        raise RuntimeError(f"{python} failed at {route}")
    return float(answer)


def tangent(n: int, python: str | None = None, d: int = 8, m: int = 1024) -> Bench:
    """The tangent kernel of a softmax network against the Gram matrix of its Jacobian."""
    bench = kernel_of(SoftmaxNetwork.unpaired(d, m, 0), n, python)
    bench.bars |= {"torch.func": 3 * (n >= 64), "torch, one product": 1 * (n >= 64)}
    return bench


def small(n: int, paired: bool = False, d: int = 8, m: int = 64) -> Bench:
    """The kernel of a small network with one output: there fixed costs are most of the library's
    time.
    """
    bench = kernel_of(
        (SoftmaxNetwork.paired if paired else SoftmaxNetwork.unpaired)(d, m, 0, outputs=1), n
    )
    return replace(bench, topic="small, paired" if paired else "small")


def kernel_of(net: SoftmaxNetwork, n: int, python: str | None = None) -> Bench:
    """Routes to the tangent kernel of a network at n inputs."""
    (d, m), outputs = net.W.shape, len(net.a)
    x = normal(n, d, generator=generator(0)) / d**0.5

    def by_torch():
        function = torch.func.jacrev(lambda W, x: m * torch.softmax(x @ W, 0) @ net.a.T)
        jacobian = (
            torch.func.vmap(function, (None, 0))(net.W, x).transpose(0, 1).flatten(0, 1).flatten(1)
        )
        return jacobian @ jacobian.T / m

    def one_product():
        S = torch.softmax(x @ net.W, 1)
        P = (m**0.5 * S * (net.a[:, None] - (net.a @ S.T)[..., None])).flatten(0, 1)
        return P @ P.T * (x @ x.T).repeat(outputs, outputs)

    routes = {
        "library": lambda: tangent_kernel(net, x),
        "torch.func": by_torch,
        "torch, one product": one_product,
    }
    values = {name: route() for name, route in routes.items()}
    timed = ()
    if python:
        file = Path(tempfile.mkdtemp()) / "net.npz"
        np.savez(file, W=net.W, a=net.a, x=x)
        timed = tuple(
            name
            for name in ROUTES
            if "neural-tangents" in waiting(python)[1] or "neural" not in name
        )
        for name in timed:
            routes[name] = functools.partial(ask, python, file, ROUTES[name])
            routes[name]()
            values[name] = torch.from_numpy(np.load(f"{file}{ROUTES[name]}.npy"))
    agree(values)
    return Bench("tangent", n, routes, flop=(n * outputs) ** 2 * m, timed=timed)


# Part I
# --------------------------------------------------------------------------------------------------


def word(n: int, d: int = 192, moves: int = 6) -> Bench:
    """One token of a context moved in six ways: change of the attention features and its
    gradient.
    """
    X = tokens.contexts("iid", 1, n, d, seed=0)[0]
    features = sensitivity.RandomAttentionFeatures.sample(d, 1)
    view, before = features.one_token(X, 0), features(X)
    deltas = 0.9 * tokens.on_sphere(normal(moves, d, generator=generator(2)))

    def literal(deltas):
        contexts = X.expand(moves, n, d).clone()
        contexts[:, 0] += deltas
        return (
            ((torch.softmax(features.scores(contexts), dim=-1) @ contexts) - before)
            .square()
            .sum(dim=(1, 2))
        )

    def with_gradient(change):
        moved = deltas.clone().requires_grad_(True)
        value = change(moved)
        return torch.cat(
            [value[:, None], torch.autograd.grad(value.sum(), moved)[0]], dim=1
        ).detach()

    routes = {
        "library": lambda: with_gradient(view.change),
        "autograd": lambda: with_gradient(literal),
    }
    agree({name: route() for name, route in routes.items()})
    # keys and averages of the other tokens meet each move once, and its gradient once
    return Bench(
        "word",
        n,
        routes,
        flop=8 * moves * n * d,
        bytes=16 * n * d,
        bars={"autograd": 5 * (n >= 160)},
    )


# Part II
# --------------------------------------------------------------------------------------------------


def success(n: int, trials: int = 100, batches: int = 5) -> Bench:
    """The probability that softmax attention succeeds where linear attention fails, on the setting
    of Figure 4a.
    """
    point = next(point for point in panels.panel("4a").points if point["n"] >= n)
    model, d, m, n = point["model"], point["d"], point["m"], point["n"]
    sizes = {
        which: inputs(model, n, d, point[f"a{which}"], point["b"], point["c"]) for which in (1, 0)
    }
    A, X = torch.stack([sizes[1][0], sizes[0][0]]), sizes[1][2]
    tau = threshold(model, np.log(n) ** 0.5, point["c"])

    def by_sdpa(batches=batches):
        """Attention of all four networks once, then batches of trials in which every row is read
        out.
        """
        softmax = torch.nn.functional.scaled_dot_product_attention(
            (A @ X)[:, None], A[:, None], A[:, None], scale=1.0
        )
        scores = A @ X @ A.mT
        features = torch.cat([softmax[:, 0], (scores / scores.sum(-1, keepdim=True)) @ A])
        gen, successes = generator(0), 0
        for _ in range(batches):
            y = signs(d, trials * m, generator=gen)
            fires = (
                torch.stack([(rows @ y).amax(0) > tau + ROUNDING for rows in features])
                .view(4, trials, m)
                .any(2)
            )
            successes += int((fires[0] & ~fires[1:].any(0)).sum())
        return successes

    exact = separation.success_probability(**point)
    needed = int(exact * (1 - exact) * 1e6)  # trials whose standard error is 1e-3
    rate = separation.success_rate(**point, trials=needed, seed=0)
    assert rate.interval[0] <= exact <= rate.interval[1]
    assert by_sdpa(1) == separation.success_rate(**point, trials=trials, seed=0).successes
    routes = {
        "library": lambda: separation.success_probability(**point),
        "sampled, to 0.001": lambda: separation.success_rate(**point, trials=needed, seed=0),
        "scaled_dot_product, to 0.001": by_sdpa,
        "literal, to 0.001": lambda: chances.literal_success(**point, seed=0),
    }
    factors = {
        "scaled_dot_product, to 0.001": needed / (trials * batches),
        "literal, to 0.001": needed,
    }
    return Bench("success", n, routes, factors, bars=dict.fromkeys(list(routes)[1:], 10))


# Part IV
# --------------------------------------------------------------------------------------------------


def population(
    D: int, C: int = 4, q: float = 0.25, steps: int = 30, N: int = 4096, seeds: int = 24
) -> Bench:
    """Descent on the population loss of attention over patches, enumerated against fresh samples in
    every step.
    """

    def sampled(seed=0):
        world = patches.PatchDistribution(D, C, 1, q, 0.0)
        A, v = (
            patches.three_values(D, C, 1.0, 0.0, 0.0),
            torch.tensor([1e-3**0.5], dtype=torch.float64),
        )
        for step in range(steps):
            dA, dv = patches.PositionalViT(A, v, temperature=1.0).gradients(
                *world.sample(N, seed * steps + step)
            )
            A, v = A - 10 * (dA - dA.diagonal().diag()), v - 1e-3 * dv
        same = world.groups[:, None] == world.groups
        return float(A[same & ~torch.eye(D, dtype=torch.bool)].mean())

    def enumerated():
        return patches.population_descent(D, C, q, steps=steps)

    exact = float(enumerated().gamma[-1])
    error = np.sqrt(np.mean([(sampled(seed) / exact - 1) ** 2 for seed in range(seeds)]))
    assert error < 0.1
    routes = {"library": enumerated, "sampled, to 0.001": sampled}
    # the error of sampling falls like 1/sqrt(N)
    return Bench(
        "population",
        D,
        routes,
        {"sampled, to 0.001": (error / 1e-3) ** 2},
        bars={"sampled, to 0.001": 1},
    )


TOPICS = {
    "tangent": (tangent, (8, 32, 64)),
    "small": (small, (4,)),
    "small, paired": (functools.partial(small, paired=True), (4,)),
    "word": (word, (20, 80, 320, 1280)),
    "success": (success, (200, 500, 1000)),
    "population": (population, (8, 16)),
}


def busy(own: float = 0) -> bool:
    """Whether the machine does more than this run, whose own load is ``own``."""
    return os.getloadavg()[0] > BUSY * (os.cpu_count() or 1) + own


def once(
    rounds: int, python: str | None = None
) -> list[tuple[str, int, dict[str, dict], list[str]]]:
    """One run: of each case its topic and size, a row for each route, and the routes that are below
    their bar.
    """
    torch.set_num_threads(1)
    found = []
    for topic, (bench, sizes) in TOPICS.items():
        for n in sizes:
            case = bench(n, **{"python": python} if topic == "tangent" else {})
            rows = dict(zip(case.routes, measured(case, rounds)))
            slow = [name for name, row in rows.items() if row["ratio"] < case.bars.get(name, 0)]
            found.append((topic, case.n, rows, slow))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3, help="processes one after the other")
    parser.add_argument("--rounds", type=int, default=5, help="in each of them")
    parser.add_argument(
        "--jax",
        metavar="PYTHON",
        help="interpreter of an environment that has it, and neural-tangents if wanted",
    )
    parser.add_argument(
        "--out", help="folder for speed.json, the record; refused on a busy machine"
    )
    parser.add_argument("--busy", action="store_true", help="record on a busy machine all the same")
    parser.add_argument("--once", action="store_true", help="one run, as JSON; for the tool itself")
    given = parser.parse_args()
    if given.once:
        print(json.dumps(once(given.rounds, given.jax)))
        return 0
    load = os.getloadavg()[0]
    if given.out and busy() and not given.busy:
        parser.error(
            f"load {load:.1f} on {os.cpu_count()} cores: times are recorded on a quiet machine only"
        )
    command = [
        sys.executable,
        __file__,
        "--once",
        "--rounds",
        str(given.rounds),
        *(["--jax", given.jax] if given.jax else []),
    ]
    runs = []
    for run in range(given.runs):
        answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        runs.append(json.loads(answer.splitlines()[-1]))
        print(f"run {run + 1} of {given.runs}", flush=True)
    points, results, slow = [], [], []
    for case in zip(*runs):
        topic, n, rows, _ = case[0]
        for route in rows:
            row = over_runs([found[route] for *_, found, _ in case])
            print(
                f"{topic}, n = {n}, {route}: {row['seconds']:.1g} s, {row['ratio']:.1g} times ours",
                flush=True,
            )
            points.append({"topic": topic, "n": n, "route": route})
            results.append(row)
            if all(route in below for *_, below in case):
                slow.append(
                    f"{topic}, n = {n}: {route} takes only {row['ratio']:.1g} times the library's "
                    "time"
                )
    if given.out:
        if busy(own=1) and not given.busy:
            parser.error(
                f"the load rose to {os.getloadavg()[0]:.1f} while times were taken; nothing is "
                "recorded"
            )
        settings = {
            "processor": processor(),
            "runs": given.runs,
            "rounds": given.rounds,
            "threads": 1,
        }
        settings |= {"cores": os.cpu_count(), "load": [load, os.getloadavg()[0]]}
        versions = waiting(given.jax)[1] if given.jax else {}
        sys.argv = [{given.jax: "PYTHON"}.get(word, word) for word in sys.argv]
        write("speed", settings, points, results, given.out, digits=3, versions=versions)
    print("\n".join(slow), file=sys.stderr)
    return int(bool(slow))


if __name__ == "__main__":
    sys.exit(main())
