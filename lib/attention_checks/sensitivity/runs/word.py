"""Sweeps of word sensitivity: bombari2024, Figures 2 and 3 (recorded), and smaller tables that the chapters compute::

    python -m attention_checks.sensitivity.runs.word --only bombari2024-figure-3 --out book/data

also for ``bombari2024-figure-2-left`` and ``bombari2024-figure-2-right``. Every value found is a lower bound.
``bombari2024-figure-3-layer-0`` draws Figure 3 on the data of the paper, film reviews as layer 0 of a trained encoder reads
them, at the lengths of the authors' script and by :func:`search <attention_theory.sensitivity.word.search>`: MiniLM at d = 192
and 384 (``make models``, the file ``IMDB_REVIEWS``: :func:`attention_theory.tokens.reviews`), and BERT-Base up to d = 768 under
the name ``bombari2024-figure-3-layer-0-bert`` (transformers and the network). The first token of a review, which moves, is the
special piece [CLS]. The chapters recompute a part of each record and compare.
"""

import itertools
import math
from typing import Literal

import numpy as np
import torch
from attention_theory import tokens
from attention_theory.sensitivity.attention_features import OneTokenAttention, RandomAttentionFeatures
from attention_theory.sensitivity.random_features import (
    DeepRandomFeatures,
    OneTokenFeatures,
    deep_one_token_in_law,
    one_token_in_law,
)
from attention_theory.sensitivity.upper_bound import sensitivity_bound
from attention_theory.sensitivity.word import OneToken, WordSensitivity, projected_ascent, search
from theorybook.devices import Device
from theorybook.records import Table, read_record
from theorybook.sweep import Recording, command_line, sweep
from theorybook.validation import Count, Positive, Seed, Size, Steps

TRIALS = 10
DIMENSIONS = (192, 384, 768)
#: Those of the authors' script; the record of the chapter compares them with the printed ones.
REVIEW_LENGTHS = (10, 20, 50, 100, 150, 200, 250)


# Points of the recorded figures ---------------------------------------------------------------------------------------


def rf_point(n: Count, d: Count, ratio: Positive, trial: Seed, kind: str = "iid") -> dict:
    """S_RF of ReLU features with k = ratio n d, by ascent, in one trial. Its law is the same for all tokens."""
    X = tokens.contexts(kind, 1, n, d, seed=trial)
    exact = one_token_in_law(X, 0, round(ratio * n * d), seed=trial)[0]
    view = OneTokenFeatures(exact.rest.float(), exact.block.float(), exact.x.float(), "relu")  # half the memory to pass over
    return {"S": projected_ascent(view, starts=2, steps=16).value}


def drf_point(n: Count, d: Count, depth: Size, trial: Seed) -> dict:
    """S_DRF at k = nd, by ascent, in one trial."""
    X = tokens.contexts("iid", 1, n, d, seed=trial)[0]
    return {"S": projected_ascent(deep_one_token_in_law(X, 0, n * d, depth, seed=trial), starts=1, steps=20).value}


def raf_point(
    kind: str, weights: Literal["softmax", "relu"], n: Count, d: Count, trial: Seed, starts: Size = 6, steps: Steps = 50
) -> dict:
    """S_RAF by ascent and its upper bound, in one trial; the mean weight of the moved token before and after."""
    view = _first_token(kind, weights, n, d, trial)
    return _attention_row(view, projected_ascent(view, starts, steps))


def review_point(kind: str, weights: Literal["softmax", "relu"], n: Count, d: Count, trial: Seed) -> dict:
    """The same by :func:`search <attention_theory.sensitivity.word.search>`, from 24 starts in 100 steps."""
    view = _first_token(kind, weights, n, d, trial)
    return _attention_row(view, search(view, starts=24, steps=100))


def _first_token(kind: str, weights: Literal["softmax", "relu"], n: int, d: int, trial: int) -> OneTokenAttention:
    X = tokens.contexts(kind, 1, n, d, seed=trial)[0]
    return RandomAttentionFeatures.sample(d, trial, weights).one_token(X, 0)


def _attention_row(view: OneTokenAttention, found: WordSensitivity) -> dict:
    n, d = view.others.shape[0] + 1, len(view.x)
    return {
        "S": found.value,
        "bound": sensitivity_bound(view),
        "attention_before": float(view.unmoved_weight.mean()),
        "attention_after": float(view.weight((view.x + found.delta)[None]).mean()),
        "norm": float(view.norm) / (n * d) ** 0.5,
    }


def grid(**axes) -> list[dict]:
    """All combinations of the values of the named axes."""
    return [dict(zip(axes, values)) for values in itertools.product(*axes.values())]


def _rf_points() -> list[dict]:
    paper = grid(n=(10, 20, 40, 80, 160), d=DIMENSIONS, ratio=(1,), trial=range(TRIALS))
    return paper + grid(n=(10, 20, 40, 80, 160), d=(192,), ratio=(0.25, 4, 16), trial=range(TRIALS))


def _raf_points(kinds: tuple[str, ...]) -> list[dict]:
    axes = {"kind": kinds, "weights": ("softmax", "relu"), "n": (10, 20, 40, 80, 160, 320), "d": DIMENSIONS}
    return grid(**axes, trial=range(TRIALS))


#: What an ascent finds depends on rounding by less than this; the rest does not.
_FOUND = {"": 1e-4, "S": 5e-2, "attention_after": 5e-2}
RECORDINGS = [
    Recording("bombari2024-figure-2-left", rf_point, _rf_points, tolerance=1e-3),
    Recording(
        "bombari2024-figure-2-right",
        drf_point,
        grid(n=(10, 20, 40, 80), d=(768,), depth=(2, 4, 8), trial=range(TRIALS)),
        tolerance=1e-3,
    ),
    Recording("bombari2024-figure-3", raf_point, lambda: _raf_points(tokens.KINDS), tolerance=_FOUND),
    *(
        Recording(  # recomputed by name, where the file of reviews and the models are
            f"bombari2024-figure-3-{kind}",
            review_point,
            grid(trial=range(2), kind=(kind,), weights=("softmax", "relu"), n=REVIEW_LENGTHS, d=dimensions),
            tolerance=_FOUND,
            shipped=False,
        )
        for kind, dimensions in (("layer-0", DIMENSIONS[:2]), ("layer-0-bert", DIMENSIONS))
    ),
]


def load(figure: str) -> Table:
    """The rows of a recorded figure, ``figure-2-left``, ``figure-2-right``, ``figure-3`` or ``figure-3-layer-0``."""
    return read_record(f"bombari2024-{figure}").rows


def recompute(figure: str, column: str = "S", **chosen) -> tuple[np.ndarray, np.ndarray]:
    """A column at the points with these values (a tuple allows several): computed now, and as recorded."""
    recording = next(r for r in RECORDINGS if r.name == f"bombari2024-{figure}")
    wanted = [p for p in recording.grid() if all(p[key] in np.atleast_1d(values) for key, values in chosen.items())]
    record = load(figure)
    now = sweep(recording.compute, [{"point": point} for point in wanted])
    return np.array([found[column] for found in now]), np.array([record.of(column, **point)[0] for point in wanted])


# Smaller tables --------------------------------------------------------------------------------------------------------


def supremum_in_the_plane(view: OneToken, rays: Size = 360, lengths: Size = 31) -> float:
    """The word sensitivity of one token of dimension 2, over a grid on the disc of all moves."""
    angles = torch.linspace(0, 2 * math.pi, rays + 1, dtype=view.x.dtype)[:-1].to(view.x.device)
    sizes = math.sqrt(2) * torch.linspace(0, 1, lengths, dtype=view.x.dtype).to(view.x.device)
    disc = torch.stack([torch.outer(sizes, f(angles)).flatten() for f in (torch.cos, torch.sin)], dim=1)
    return float(view.change(disc).max().sqrt() / view.norm)


def rf_certified(n: Count, d: Count, k: Count, seed: Seed, steps: Steps = 40, device: Device = "cpu") -> dict:
    """Real tokens: the largest possible change, certified, relative to |phi(X)| (``U``), and what the ascent finds (``S``)."""
    view = one_token_in_law(tokens.contexts("real", 1, n, d, seed=seed).to(device), 0, k, seed=seed)[0]
    change = view.certificate()
    return {"n": n, "k": k, "change": change, "U": change / float(view.norm), "S": projected_ascent(view, 2, steps).value}


def deep_layers(n: Count, d: Count, depth: Size, seed: Seed, kind: str, device: Device = "cpu") -> list[dict]:
    """Deep random features at k = nd: what the best move found changes at layers 1, 2, 4, ..., and the operator norms.

    Returns:
        A row for each of these layers: ``C1`` the largest operator norm of all matrices, ``gap`` = | |phi_l| - sqrt k |,
        ``change`` of the features at the move, ``S`` the change relative to |phi_l(X)|.
    """
    deep = DeepRandomFeatures.sample(n, d, n * d, depth, seed).to(device)
    X = tokens.contexts(kind, 1, n, d, seed)[0].to(device)
    C1 = max(float(torch.linalg.matrix_norm(V, ord=2)) for V in deep.V)
    move = projected_ascent(deep.one_token(X, 0), starts=3, steps=40).delta
    before, after = deep.layers(X), deep.layers(torch.cat([X[:1] + move, X[1:]]))
    rows = []
    for layer in (2**j for j in range(depth.bit_length())):
        change, norm = float((after[layer - 1] - before[layer - 1]).norm()), float(before[layer - 1].norm())
        gap = abs(norm - math.sqrt(n * d))
        rows.append({"n": n, "d": d, "layer": layer, "C1": C1, "gap": gap, "change": change, "S": change / norm})
    return rows


def drf_search_share(n: Count, d: Count, depth: Size, seed: Seed, device: Device = "cpu") -> float:
    """What the search of :func:`drf_point` finds (1 start, 20 steps), over what 6 starts and 60 steps find."""
    X = tokens.contexts("iid", 1, n, d, seed=seed)[0].to(device)
    view = DeepRandomFeatures.sample(n, d, n * d, depth, seed).to(device).one_token(X, 0)
    return projected_ascent(view, 1, 20).value / projected_ascent(view, 6, 60).value


if __name__ == "__main__":
    command_line(RECORDINGS)
