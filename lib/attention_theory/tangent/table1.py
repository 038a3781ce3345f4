"""Table 1 of cao2024, measured: the smallest width, the number of steps and the largest stable step.

    python -m attention_theory.tangent.table1 book/data/tangent_table1.json [--jobs N]

Writes one file with its provenance; the chapter on gradient descent plots it and recomputes a part.
"""

import argparse
import datetime
import json
import platform
import shlex
import sys
from pathlib import Path

import numpy as np
import scipy
import torch

from attention_theory.sweep import sweep
from attention_theory.tangent.training import ACTIVATIONS, draw_problems, fit

SEEDS = 16
STEPS = 3_000
TOLERANCE = 0.01


def widths(n: int, d: int) -> list[int]:
    """Even widths around the counting bounds n/d and 2n/d, and one far above them."""
    fine = {2 * round(n / d * factor / 2) for factor in (0.8, 1, 1.2, 1.5, 2, 3, 4)}
    return sorted(m for m in fine if m >= 2) + [8 * n]


def point(kind: str, n: int, d: int, m: int, closeness: float | None = None, speed: float = 1.0, steps: int = STEPS) -> dict:
    """Runs of one activation at one size and width, by seed: steps, initial condition numbers, largest relative loss."""
    torch.set_num_threads(1)
    found = fit(kind, draw_problems(n, d, m, range(SEEDS), closeness), speed, TOLERANCE, steps)
    return {
        "kind": kind, "n": n, "d": d, "m": m, "closeness": closeness, "speed": speed,
        "steps": found.steps.tolist(),
        "condition": [round(value, 1) if value < float("inf") else None for value in found.condition.tolist()],
        "peak": [round(value, 3) if value < 1e6 else None for value in found.peak.tolist()],
    }  # fmt: skip


def points() -> dict[str, list[dict]]:
    """The sweeps: width over n and d; width and steps over the smallest eigenvalue; stability over the step size."""
    sizes = [(n, 8) for n in (8, 16, 32, 64)] + [(n, 16) for n in (16, 32, 64, 128)] + [(16, 4)]
    close = [1.0, 0.5, 0.25, 0.125]
    speeds = [1, 1.5, 1.9, 2.1, 2.5, 3, 4]
    return {
        "width": [dict(kind=k, n=n, d=d, m=m) for k in ACTIVATIONS for n, d in sizes for m in widths(n, d)],
        "closeness": [
            dict(kind=k, n=16, d=8, m=m, closeness=c) for k in ACTIVATIONS for c in close for m in widths(16, 8)
        ],
        "speed": [
            dict(kind=k, n=16, d=8, m=m, speed=s, steps=500)
            for k in ACTIVATIONS for m in (8, 32, 128, 512) for s in speeds
        ],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    found = {name: sweep(point, rows, jobs=arguments.jobs, title=name) for name, rows in points().items()}
    provenance = {
        "command": shlex.join(["python", "-m", "attention_theory.tangent.table1", *sys.argv[1:]]),
        "device": "cpu",
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__, "scipy": scipy.__version__},
        "date": datetime.date.today().isoformat(),
        "seeds": f"0 to {SEEDS - 1}",
        "tolerance": TOLERANCE,
        "steps": STEPS,
    }  # fmt: skip
    # one row to a line: the file stays readable and its changes small
    body = ",\n".join(
        f"{json.dumps(name)}: [\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]" for name, rows in found.items()
    )
    arguments.target.write_text(f'{{"provenance": {json.dumps(provenance)},\n{body}}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
