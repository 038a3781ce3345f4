"""Sweeps of word sensitivity: bombari2024, Figures 2 and 3 (recorded), and smaller tables that the
chapters compute::

    python -m attention_checks.sensitivity.runs.word --only bombari2024-figure-3 --out book/data

also for ``bombari2024-figure-2-left`` and ``bombari2024-figure-2-right``. Each value is what
:func:`search <attention_theory.sensitivity.word.search>` finds, so a lower bound. The lengths n are
those of the authors' scripts (the records of the chapters compare them with the printed ones) and
some others, and the first token moves, as there. ``bombari2024-figure-3-layer-0`` draws Figure
3 on the paper's data, film reviews as layer 0 of a trained encoder reads them: MiniLM's at d = 192
and 384 (``make models`` and the file ``IMDB_REVIEWS``: :func:`attention_theory.tokens.reviews`),
and ``bombari2024-figure-3-layer-0-bert`` BERT-Base's up to d = 768, which needs transformers and
the network. In reviews the first token is the special piece [CLS]. The chapters recompute a part of
each record and compare.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from attention_theory import tokens
from attention_theory.sensitivity.attention_features import RandomAttentionFeatures
from attention_theory.sensitivity.context import weights_generator
from attention_theory.sensitivity.deferred import Apply, DeferredGaussian
from attention_theory.sensitivity.random_features import (
    DeepRandomFeatures,
    OneTokenFeatures,
    he_variance,
    one_token_in_law,
)
from attention_theory.sensitivity.upper_bound import sensitivity_bound
from attention_theory.sensitivity.word import OneToken, search
from jaxtyping import Float
from theorybook.devices import Device
from theorybook.records import Table, read_record
from theorybook.sweep import Recording, command_line, sweep
from theorybook.validation import Count, Natural, Positive, Seed, Size, Steps
from torch import Tensor

DIMENSIONS = (192, 384, 768)
#: The lengths of the authors' scripts; the records of the chapters compare them with the printed
#: ones.
AUTHORS_N = {
    "RF": range(90, 151, 10),
    "DRF": range(50, 81, 10),
    "RAF": (10, 20, 50, 100, 150, 200, 250),
}
#: Additional lengths: doubled ones for the slopes of random features, shallow and deep, and one for
#: attention.
DOUBLED, DEEP_DOUBLED, LONG = (10, 20, 40, 80, 160), (10, 20, 40, 80), 320


def deep_one_token_in_law(
    X: Float[Tensor, "n d"], token: Natural, k: Count, depth: Size, seed: Seed
) -> OneTokenFeatures:
    """Deep ReLU random features as a function of one token, equal in law to drawing all matrices.

    The first layer is that of :func:`one_token_in_law`; the later matrices are
    :class:`DeferredGaussian`. For widths k at which a k x k matrix does not fit into memory.

    Args:
        X: context (n, d), tokens of norm sqrt(d).
        token: the row that moves.
        k: number of features in every layer.
        depth: number of layers.
        seed: of the CPU generators.

    Raises:
        ValueError: tokens off the sphere, or no such token.

    >>> from attention_checks.sensitivity.runs.word import deep_one_token_in_law
    >>> from attention_theory.tokens import contexts
    >>> X = contexts("iid", 1, 100, 64, seed=0)[0]
    >>> deep = deep_one_token_in_law(X, token=0, k=100_000, depth=3, seed=0)
    >>> deep.features(-X[:1]).shape  # without matrices of 100,000 x 100,000
    torch.Size([1, 100000])
    """
    beta = he_variance("relu")
    shallow = one_token_in_law(X[None], token, k, seed)[0]
    draw = weights_generator(seed + 2**20)
    matrices = [DeferredGaussian(k, k, math.sqrt(beta / k), draw) for _ in range(depth - 1)]
    later = [lambda h, A=A: Apply.apply(h, A) for A in matrices]
    return OneTokenFeatures(
        math.sqrt(beta) * shallow.rest, math.sqrt(beta) * shallow.block, X[token], "relu", later
    )


# Points of the recorded figures
# ---------------------------------------------------------------------------------------


def rf_point(n: Count, d: Count, ratio: Positive, trial: Seed, kind: str = "iid") -> dict:
    """S_RF of ReLU features with k = ratio n d, by search, in one trial. Its law is the same for
    all tokens.
    """
    X = tokens.contexts(kind, 1, n, d, seed=trial)
    exact = one_token_in_law(X, 0, round(ratio * n * d), seed=trial)[0]
    view = OneTokenFeatures(
        exact.rest.float(), exact.block.float(), exact.x.float(), "relu"
    )  # half the memory to pass over
    return {"S": search(view, starts=6, steps=40).value}


def drf_point(n: Count, d: Count, depth: Size, trial: Seed) -> dict:
    """S_DRF at k = nd, by search, in one trial. Its law is the same for all tokens."""
    X = tokens.contexts("iid", 1, n, d, seed=trial)[0]
    return {
        "S": search(deep_one_token_in_law(X, 0, n * d, depth, seed=trial), starts=4, steps=30).value
    }


def raf_point(
    kind: str,
    weights: Literal["softmax", "relu"],
    n: Count,
    d: Count,
    trial: Seed,
    starts: Size = 24,
    steps: Steps = 100,
) -> dict:
    """S_RAF by search and its upper bound, in one trial; the mean weight of the moved token before
    and after.
    """
    X = tokens.contexts(kind, 1, n, d, seed=trial)[0]
    view = RandomAttentionFeatures.sample(d, trial, weights).one_token(X, 0)
    found = search(view, starts, steps)
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
    paper = grid(trial=range(2), n=sorted({*DOUBLED, *AUTHORS_N["RF"]}), d=DIMENSIONS, ratio=(1,))
    return paper + grid(trial=range(2), n=DOUBLED, d=(192,), ratio=(0.25, 4, 16))


def _raf_points(
    kinds: tuple[str, ...], lengths: Sequence[int], dimensions: tuple[int, ...] = DIMENSIONS
) -> list[dict]:
    return grid(trial=range(10), kind=kinds, weights=("softmax", "relu"), n=lengths, d=dimensions)


#: What a search finds depends on rounding by less than this; the rest does not.
_FOUND = {"": 1e-4, "S": 5e-2, "attention_after": 5e-2}
RECORDINGS = [
    Recording("bombari2024-figure-2-left", rf_point, _rf_points, tolerance=1e-3),
    Recording(
        "bombari2024-figure-2-right",
        drf_point,
        grid(
            trial=range(2), n=sorted({*DEEP_DOUBLED, *AUTHORS_N["DRF"]}), d=(768,), depth=(2, 4, 8)
        ),
        tolerance=1e-3,
    ),
    Recording(
        "bombari2024-figure-3",
        raf_point,
        lambda: _raf_points(tokens.KINDS, (*AUTHORS_N["RAF"], LONG)),
        tolerance=_FOUND,
    ),
    *(
        Recording(  # recomputed by name, where the file of reviews and the models are
            f"bombari2024-figure-3-{kind}",
            raf_point,
            _raf_points((kind,), AUTHORS_N["RAF"], dimensions),
            tolerance=_FOUND,
            shipped=False,
        )
        for kind, dimensions in (("layer-0", DIMENSIONS[:2]), ("layer-0-bert", DIMENSIONS))
    ),
]


def load(figure: str) -> Table:
    """The rows of a recorded figure, ``figure-2-left``, ``figure-2-right``, ``figure-3`` or
    ``figure-3-layer-0``.
    """
    return read_record(f"bombari2024-{figure}").rows


def recompute(figure: str, column: str = "S", **chosen) -> tuple[np.ndarray, np.ndarray]:
    """A column at the points with these values (a tuple allows several): computed now, and as
    recorded.
    """
    recording = next(r for r in RECORDINGS if r.name == f"bombari2024-{figure}")
    wanted = [
        p
        for p in recording.grid()
        if all(p[key] in np.atleast_1d(values) for key, values in chosen.items())
    ]
    record = load(figure)
    now = sweep(recording.compute, [{"point": point} for point in wanted])
    return np.array([found[column] for found in now]), np.array(
        [record.of(column, **point)[0] for point in wanted]
    )


# Smaller tables
# --------------------------------------------------------------------------------------------------


def supremum_in_the_plane(view: OneToken, rays: Size = 360, lengths: Size = 31) -> float:
    """The word sensitivity of one token of dimension 2, over a grid on the disc of all moves."""
    angles = torch.linspace(0, 2 * math.pi, rays + 1, dtype=view.x.dtype)[:-1].to(view.x.device)
    sizes = math.sqrt(2) * torch.linspace(0, 1, lengths, dtype=view.x.dtype).to(view.x.device)
    disc = torch.stack(
        [torch.outer(sizes, f(angles)).flatten() for f in (torch.cos, torch.sin)], dim=1
    )
    return float(view.change(disc).max().sqrt() / view.norm)


def rf_certified(
    n: Count, d: Count, k: Count, seed: Seed, steps: Steps = 40, device: Device = "cpu"
) -> dict:
    """Real tokens: the largest possible change, certified, relative to |phi(X)| (``U``), and what a
    search finds (``S``).
    """
    view = one_token_in_law(
        tokens.contexts("real", 1, n, d, seed=seed).to(device), 0, k, seed=seed
    )[0]
    change = view.certificate()
    return {
        "n": n,
        "k": k,
        "change": change,
        "U": change / float(view.norm),
        "S": search(view, 6, steps).value,
    }


def deep_layers(
    n: Count, d: Count, depth: Size, seed: Seed, kind: str, device: Device = "cpu"
) -> list[dict]:
    """Deep random features at k = nd: what the best move found changes at layers 1, 2, 4, ..., and
    the operator norms.

    Returns:
        A row for each of these layers: ``C1`` the largest operator norm of all matrices, ``gap`` =
        | |phi_l| - sqrt k |, ``change`` of the features at the move, ``S`` the change relative to
        |phi_l(X)|.
    """
    deep = DeepRandomFeatures.sample(n, d, n * d, depth, seed).to(device)
    X = tokens.contexts(kind, 1, n, d, seed)[0].to(device)
    C1 = max(float(torch.linalg.matrix_norm(V, ord=2)) for V in deep.V)
    move = search(deep.one_token(X, 0), starts=6, steps=60).delta
    before, after = deep.layers(X), deep.layers(torch.cat([X[:1] + move, X[1:]]))
    rows = []
    for layer in (2**j for j in range(depth.bit_length())):
        change, norm = (
            float((after[layer - 1] - before[layer - 1]).norm()),
            float(before[layer - 1].norm()),
        )
        gap = abs(norm - math.sqrt(n * d))
        rows.append(
            {
                "n": n,
                "d": d,
                "layer": layer,
                "C1": C1,
                "gap": gap,
                "change": change,
                "S": change / norm,
            }
        )
    return rows


def drf_search_share(n: Count, d: Count, depth: Size, seed: Seed, device: Device = "cpu") -> float:
    """The value that the search of :func:`drf_point` finds (4 starts, 30 steps), over the value
    found by 12 starts and 120 steps.
    """
    X = tokens.contexts("iid", 1, n, d, seed=seed)[0].to(device)
    view = DeepRandomFeatures.sample(n, d, n * d, depth, seed).to(device).one_token(X, 0)
    return search(view, 4, 30).value / search(view, 12, 120).value


if __name__ == "__main__":
    command_line(RECORDINGS)
