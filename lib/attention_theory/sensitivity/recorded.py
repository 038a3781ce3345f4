"""The sweeps behind the figures on word sensitivity, and a command line that records them.

    python -m attention_theory.sensitivity.recorded figure-2-left  > book/data/bombari2024-figure-2-left.json
    python -m attention_theory.sensitivity.recorded figure-2-right > book/data/bombari2024-figure-2-right.json
    python -m attention_theory.sensitivity.recorded figure-3       > book/data/bombari2024-figure-3.json

``--kinds bert`` draws Figure 3 on the paper's own data (it needs transformers, datasets and the network). The chapters
recompute a part of each record and compare.
"""

import argparse
import itertools
import json
import sys
from pathlib import Path

import numpy

from attention_theory import tokens
from attention_theory.sensitivity.attention_features import RandomAttentionFeatures
from attention_theory.sensitivity.random_features import OneTokenFeatures, deep_one_token_in_law, one_token_in_law
from attention_theory.sensitivity.upper_bound import sensitivity_bound
from attention_theory.sensitivity.word import climb
from attention_theory.sweep import provenance, sweep

TRIALS = 10
DIMENSIONS = (192, 384, 768)


def rf_point(n: int, d: int, ratio: float, trial: int, kind: str = "iid") -> dict:
    """S_RF of ReLU features with k = ratio n d, by ascent, in one trial. Its law is the same for all tokens."""
    X = tokens.contexts(kind, 1, n, d, seed=trial)
    view = one_token_in_law(X, 0, round(ratio * n * d), seed=trial)[0]
    moved = OneTokenFeatures(view.rest.float(), view.block.float(), view.x.float(), "relu")  # half the memory to pass over
    return {"n": n, "d": d, "ratio": ratio, "trial": trial, "S": climb(moved, starts=2, steps=16).value}


def drf_point(n: int, d: int, depth: int, trial: int) -> dict:
    """S_DRF at k = nd, by ascent, in one trial."""
    X = tokens.contexts("iid", 1, n, d, seed=trial)[0]
    moved = deep_one_token_in_law(X, 0, n * d, depth, seed=trial)
    return {"n": n, "d": d, "depth": depth, "trial": trial, "S": climb(moved, starts=1, steps=20).value}


def raf_point(kind: str, weights: str, n: int, d: int, trial: int, starts: int = 6, steps: int = 50) -> dict:
    """S_RAF by ascent and its upper bound, in one trial; the mean weight of the moved token before and after."""
    X = tokens.contexts(kind, 1, n, d, seed=trial)[0]
    moved = RandomAttentionFeatures.sample(d, trial, weights).one_token(X, 0)
    found = climb(moved, starts, steps)
    return {
        "kind": kind,
        "weights": weights,
        "n": n,
        "d": d,
        "trial": trial,
        "S": found.value,
        "bound": sensitivity_bound(moved),
        "attention_before": float(moved.unmoved_weight.mean()),
        "attention_after": float(moved.weight((moved.x + found.delta)[None]).mean()),
        "norm": float(moved.norm) / (n * d) ** 0.5,
    }


def grid(**axes) -> list[dict]:
    """All combinations of the values of the named axes."""
    return [dict(zip(axes, values)) for values in itertools.product(*axes.values())]


def points(figure: str, kinds: list[str], trials: int) -> tuple:
    """The function and the grid of a figure."""
    if figure == "figure-2-left":
        paper = grid(n=(10, 20, 40, 80, 160), d=DIMENSIONS, ratio=(1,), trial=range(trials))
        return rf_point, paper + grid(n=(10, 20, 40, 80, 160), d=(192,), ratio=(0.25, 4, 16), trial=range(trials))
    if figure == "figure-2-right":
        return drf_point, grid(n=(10, 20, 40, 80), d=(768,), depth=(2, 4, 8), trial=range(trials))
    axes = {"kind": kinds, "weights": ("softmax", "relu"), "n": (10, 20, 40, 80, 160, 320), "d": DIMENSIONS}
    return raf_point, grid(**axes, trial=range(trials))


def columns(rows: list[dict]) -> dict[str, list]:
    """Rows as columns, numbers to six digits."""
    rounded = [{key: float(f"{x:.6g}") if isinstance(x, float) else x for key, x in row.items()} for row in rows]
    return {key: [row[key] for row in rounded] for key in rounded[0]}


def load(figure: str) -> dict[str, numpy.ndarray]:
    """The columns of a recorded figure: ``data/bombari2024-<figure>.json`` in the current folder or above.

    A notebook opened without the repository computes two trials of every point instead, which takes minutes.
    """
    here = Path.cwd()
    paths = (folder / "data" / f"bombari2024-{figure}.json" for folder in (here, *here.parents))
    found = next((path for path in paths if path.is_file()), None)
    if found:
        data = json.loads(found.read_text(encoding="utf-8"))["columns"]
    else:
        data = columns(sweep(*points(figure, list(tokens.KINDS), trials=2), title=figure))
    return {name: numpy.asarray(values) for name, values in data.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("figure", choices=("figure-2-left", "figure-2-right", "figure-3"))
    parser.add_argument("--kinds", nargs="+", default=list(tokens.KINDS), help="tokens of figure 3: also bert")
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    rows = sweep(*points(arguments.figure, arguments.kinds, arguments.trials), jobs=arguments.jobs, title=arguments.figure)
    origin = {
        "command": "python -m attention_theory.sensitivity.recorded " + " ".join(sys.argv[1:]),
        **provenance(),
        "seed": "the number of the trial",
    }
    print(json.dumps({"provenance": origin, "columns": columns(rows)}))


if __name__ == "__main__":
    main()
