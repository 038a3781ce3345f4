"""What transformers learn from Gaussian patches (jelassi2022, Figure 2): twenty seeds of four
settings, and of a fifth, which fixes the diagonal of the scores::

    python -m attention_checks.patches.runs.gaussian_patches --out book/data --jobs 2

writes ``gaussian-patches.json`` and ``gaussian-patches-fixed.json``: errors and associated rows
along the way, and the learnt matrices at the end. A run takes about five seconds of a core.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from attention_theory.patches.vit import association
from jaxtyping import Float
from theorybook.records import read_record
from theorybook.sweep import Recording, command_line
from theorybook.validation import Chance, Count, NonNegative, Seed, Size, Steps
from torch import Tensor

from attention_checks.patches.gaussian_training import Kind, train_gaussian

#: Parametrisation, d, rate of Adam. No seed of the third solves the task; the fourth was chosen
#: after that was seen.
SETTINGS = (("A", 4, 0.05), ("P", 4, 0.05), ("PQK", 4, 0.05), ("PQK", 8, 0.02))
#: As in the first setting, but the scores on the diagonal stay 1 (Simplification 3.1).
FIXED = ("fixed", 4, 0.05)
SEEDS = range(20)
#: Size of a group: the default of train_gaussian.
C = 4


def run(
    kind: Kind,
    d: Count,
    rate: NonNegative,
    seed: Seed,
    steps: Steps,
    N: Count,
    tests: Size,
) -> dict[str, Any]:
    """A run of :func:`train_gaussian`: its course, and ``A`` and ``gram`` at the end in float32."""
    torch.set_num_threads(1)
    found = train_gaussian(kind, seed, d=d, rate=rate, steps=steps, N=N, tests=tests)
    columns = {
        key: getattr(found, key) for key in ("steps", "error", "association_A", "association_gram")
    }
    return columns | {key: getattr(found, key).float().numpy() for key in ("A", "gram")}


def points(settings: Sequence[tuple[str, int, float]] = SETTINGS) -> list[dict[str, Any]]:
    """All settings of all seeds."""
    return [
        {"kind": kind, "d": d, "rate": rate, "seed": seed}
        for seed in SEEDS
        for kind, d, rate in settings
    ]


class Learned(NamedTuple):
    """The recorded end of one run.

    Attributes:
        seed: of the run.
        error: test error at the end.
        rows_A, rows_gram: rows whose largest scores (similarities) are those of their own group,
            counted in the matrices.
        A, gram: the learnt scores and similarities.
        lost: rows associated in the similarities at the best step, where the error was small there
            and not at the end.
    """

    seed: int
    error: float
    rows_A: int
    rows_gram: int
    A: Float[Tensor, "D D"]
    gram: Float[Tensor, "D D"]
    lost: int | None


def learned(
    kind: Kind, d: Count, rate: NonNegative, solved: Chance = 0.05
) -> tuple[list[Learned], list[Learned]]:
    """The recorded runs of one setting that end with a test error of at most ``solved``, and the
    others.
    """
    runs: tuple[list[Learned], list[Learned]] = ([], [])
    record = "gaussian-patches-fixed" if kind == "fixed" else "gaussian-patches"
    for run in read_record(record).where(kind=kind, d=d, rate=rate):
        A, gram = (torch.as_tensor(run[key], dtype=torch.float64) for key in ("A", "gram"))
        D, error = len(A), run["error"]
        groups = torch.arange(D) // C
        by_scores, by_gram = (round(D * association(matrix, groups)) for matrix in (A, gram))
        best = min(range(len(error)), key=error.__getitem__)
        lost = (
            round(D * run["association_gram"][best]) if error[best] <= solved < error[-1] else None
        )
        runs[error[-1] > solved].append(
            Learned(run["seed"], error[-1], by_scores, by_gram, A, gram, lost)
        )
    return runs


SIZES = {"steps": 300, "N": 4000, "tests": 4000}
RECORDINGS = (
    Recording(
        "gaussian-patches",
        run,
        points,
        settings=SIZES,
        tolerance=1e-3,
        # Adam at this rate jumps about: without SIMD some seeds end elsewhere
        chaotic={"kind": "PQK", "rate": 0.05},
    ),
    Recording(
        "gaussian-patches-fixed", run, partial(points, [FIXED]), settings=SIZES, tolerance=1e-3
    ),
)

if __name__ == "__main__":
    command_line(RECORDINGS)
