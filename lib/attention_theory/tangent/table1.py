"""Table 1 of cao2024, measured: the smallest width, the number of steps and the largest stable step.

    python -m attention_theory.tangent.table1 book/data/tangent_table1.json [--jobs N]

Writes one file with its provenance; the chapter on Table 1 judges it and recomputes a part.

The analysis, fixed before the run on seeds 16 to 47. An exploratory run (seeds 0 to 15, 3,000 steps, coarser widths),
whose analysis was chosen with its outcome in view, suggested what is tested here; none of its numbers is used.

Runs: n points on the unit sphere of R^d, random signs as labels, one output, paired start, sigma = 1, the rate
m eta lambda_max = 1. A network is *fitted* when |F - Y|^2 <= 0.01 |Y|^2 within 10,000 steps (looked at every step); one
whose loss exceeds 10^6 times the first counts as not fitted. lambda is the smallest eigenvalue of the infinite-width
kernel of the drawn points. Sizes: ``SIZES``, widths: :func:`widths`. Close pairs of points at n = 16, d = 8 vary lambda
alone.

Statistics: the *needed width* of a seed is the smallest width of the grid from which on, at every wider one, its network
is fitted; not fitted at the widest, it counts as twice the widest. The *typical width* is the same with "at least half of
the seeds are fitted". A run that is not fitted counts as 20,000 steps where steps are analysed. Exponents are slopes of
least squares on logarithms over all seeds, with a 99.9% Student interval; "at most 2" means the whole interval.

Tests, for each activation unless said otherwise:

- Row m of the table (printed: n^2 and lambda^-2). (1) needed width in n, at d = 8 and at d = 16: exponent at most 2. lambda
  falls as n grows, so that the table allows more; (2) needed width in 1/lambda on close pairs: exponent at most 2;
  (3) needed width at most n^2 log(n) / lambda^2, every Omega read as 1, for every seed and size with lambda < 1;
  (4) "almost the same number of neurons": typical width of softmax at most twice that of ReLU, and of exp, at every size.
- Row T (printed: n^2 and lambda^-2). (5) steps in 1/lambda on close pairs at m = 2048: exponent at most 2; m = 128 and 512
  are reported beside it (the exploratory run had ReLU above 2 at m = 128 and below at 1024; if that is an effect of finite
  width, ReLU's exponent falls from m = 128 to 2048); (6) steps in n at m = 8n, at d = 8 and d = 16: exponent at most 2;
  (7) steps at most n^2 log(100) / lambda^2 for every run of (5) and (6) with lambda < 1; (8) the same at infinite width,
  exactly, also at the rate lambda / n^2, which is of the order of the table's own.
- own-counting. (9) typical width of softmax at n >= 2d: the smallest even m with d (m - 1) >= n; (10) no softmax network
  with d (m - 1) < n is fitted; (11) typical widths of all three at n >= 4d: between half and twice 2n/d; (12) typical width
  of softmax at every size: at most that of exp and of ReLU.
- own-step, at m = 512, n = 16, d = 8, 1,000 steps. (13) at m eta lambda_max = 1.9 no loss exceeds its start and at least 30
  of 32 are fitted; at 2.1 at least half exceed it; at 4 at most three quarters are fitted.
- Reported without a test: (14) the exponents of (2) with runs of more than 1,000 and 3,000 steps counted as not fitted: if
  the limit on steps makes widths seem to depend on lambda, they fall as the limit rises.
"""

import argparse
import json
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.sweep import provenance, sweep
from attention_theory.tangent.training import ACTIVATIONS, draw_problems, fit

SEEDS = range(16, 48)
STEPS = 10_000
TOLERANCE = 0.01
SIZES = [(16, 4)] + [(n, 8) for n in (8, 16, 24, 32, 48, 64)] + [(n, 16) for n in (16, 32, 64, 96, 128)]
CLOSENESS = (1.0, 0.5, 0.25, 0.125)
SPEEDS = (1.5, 1.9, 2.1, 2.5, 3, 4)


def enough_parameters(n: int, d: int) -> int:
    """The smallest even m with d (m - 1) >= n."""
    return 2 * -(-(n + d) // (2 * d))


def widths(n: int, d: int) -> list[int]:
    """Even widths: the last below the parameter count, closely up to 4n/d, then a few up to 8n."""
    first = enough_parameters(n, d)
    fine = {2 * round(n / d * factor / 2) for factor in (1.25, 1.5, 1.75, 2, 2.5, 3, 4, 8, 32)}
    return sorted(m for m in fine | {first - 2, first, first + 2, 8 * n} if first - 2 <= m and m > 0)


def point(kind: str, n: int, d: int, m: int, closeness: float | None = None, speed: float = 1.0, steps: int = STEPS) -> dict:
    """Runs of one activation at one size and width, by seed: steps, initial condition numbers, largest relative loss."""
    torch.set_num_threads(1)
    found = fit(kind, draw_problems(n, d, m, SEEDS, closeness), speed, TOLERANCE, steps, every=1)
    return {
        "kind": kind, "n": n, "d": d, "m": m, "closeness": closeness, "speed": speed,
        "steps": found.steps.tolist(),
        "condition": [round(value, 1) if value < float("inf") else None for value in found.condition.tolist()],
        "peak": [round(value, 3) if value < 1e6 else None for value in found.peak.tolist()],
    }


def points() -> dict[str, list[dict]]:
    """The sweeps: width over n and d; width and steps over the smallest eigenvalue; stability over the step size."""
    return {
        "width": [dict(kind=k, n=n, d=d, m=m) for k in ACTIVATIONS for n, d in SIZES for m in widths(n, d)],
        "closeness": [
            dict(kind=k, n=16, d=8, m=m, closeness=c)
            for k in ACTIVATIONS for c in CLOSENESS for m in (2, 4, 6, 8, 10, 12, 16, 32, 64, 128, 512, 2048)
        ],
        "speed": [dict(kind=k, n=16, d=8, m=512, speed=s, steps=1_000) for k in ACTIVATIONS for s in SPEEDS],
    }


def needed_widths(rows: Iterable[dict], steps: int = STEPS) -> list[int]:
    """For each seed, the smallest width from which on its network is always fitted; twice the widest when it never is.

    Args:
        rows: one row for each width of one activation and size.
        steps: runs that took more count as not fitted.
    """
    rows = sorted(rows, key=lambda row: row["m"], reverse=True)
    needed = [2 * rows[0]["m"]] * len(rows[0]["steps"])
    for seed in range(len(needed)):
        for row in rows:
            if not 0 <= row["steps"][seed] <= steps:
                break
            needed[seed] = row["m"]
    return needed


def typical_width(rows: Iterable[dict]) -> int:
    """The smallest width from which on at least half of the seeds are fitted; twice the widest when there is none."""
    rows = sorted(rows, key=lambda row: row["m"], reverse=True)
    typical = 2 * rows[0]["m"]
    for row in rows:
        if 2 * sum(step >= 0 for step in row["steps"]) < len(row["steps"]):
            break
        typical = row["m"]
    return typical


def infinite_width(kind: str, x: Float[Tensor, "b n d"]) -> Float[Tensor, "b n n"]:
    """The infinite-width tangent kernel of each activation at points of norm 1, with sigma = 1."""
    gram = (x @ x.mT).clamp(-1, 1)
    if kind == "softmax":
        return gram * gram.exp()
    if kind == "exp":
        return gram * (1 + gram).exp()
    if kind == "relu":
        return gram * (torch.pi - gram.arccos()) / (2 * torch.pi)
    raise ValueError(f"activation {kind!r} is unknown; choose one of {', '.join(ACTIVATIONS)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    found = {name: sweep(point, rows, jobs=arguments.jobs, title=name) for name, rows in points().items()}
    origin = {
        "command": shlex.join(["python", "-m", "attention_theory.tangent.table1", *sys.argv[1:]]),
        **provenance(),
        "seeds": f"{SEEDS[0]} to {SEEDS[-1]}",
        "tolerance": TOLERANCE,
        "steps": STEPS,
    }
    # one row to a line: the file stays readable and its changes small
    body = ",\n".join(
        f"{json.dumps(name)}: [\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]" for name, rows in found.items()
    )
    arguments.target.write_text(f'{{"provenance": {json.dumps(origin)},\n{body}}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
