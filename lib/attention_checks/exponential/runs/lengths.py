"""Word sensitivity at many lengths and dimensions, for many weights (chapter "Words")::

    python -m attention_checks.exponential.runs.lengths --out book/data --jobs 2

writes ``word-lengths.json``.
"""

from typing import Any

import torch
from attention_theory import tokens
from attention_theory.attention import Weights
from attention_theory.exponential.words import averaging_sensitivity, word_sensitivity_with
from attention_theory.sensitivity.attention_features import (
    OneTokenAttention,
    RandomAttentionFeatures,
)
from theorybook.sweep import Recording
from theorybook.validation import Count, NonNegative, Seed, Size, Steps

from attention_checks.exponential.sensitivity_bounds import three_parts

#: Tokens a dimension.
RATIOS = (0.125, 0.5, 2, 8, 32, 100)
DIMENSIONS = (32, 64, 128)
FAMILIES = (
    *(("sharp", beta) for beta in (0.5, 1, 1.5, 2)),
    *(("truncated", degree) for degree in (2, 4, 8)),
    ("relu_power", 1),
)
SEEDS = (0, 1)


def run(
    family: str, knob: NonNegative, n: Count, d: Count, seed: Seed, starts: Size, steps: Steps
) -> dict[str, Any]:
    """The sensitivity found by search, the size |phi|/sqrt(nd), the bound in three parts, and the
    sensitivity of averaging.
    """
    torch.set_num_threads(1)
    weights, X = Weights(family, knob), tokens.contexts("iid", 1, n, d, seed=100 + seed)[0]
    found = word_sensitivity_with(weights, X, 0, seed, starts, steps)
    W = RandomAttentionFeatures.sample(d, seed).to(X).W
    bound = three_parts(OneTokenAttention(weights, W, X)).bound
    return dict(found=found.value, size=found.size, bound=bound, averaging=averaging_sensitivity(X))


def points() -> list[dict[str, Any]]:
    """All weights at all sizes; d = 64 with n = 4096 is searched from more starts in ``head``."""
    sizes = [(round(ratio * d), d) for d in DIMENSIONS for ratio in RATIOS]
    return [
        dict(family=family, knob=knob, n=n, d=d, seed=seed)
        for seed in SEEDS
        for n, d in sizes
        for family, knob in FAMILIES
    ]


RECORDING = Recording(
    "word-lengths", run, points, settings=dict(starts=24, steps=50), tolerance=2e-2
)

if __name__ == "__main__":
    RECORDING.main()
