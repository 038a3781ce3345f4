"""Word sensitivity from both sides: bounds of each context beside what was found (chapter
"Words")::

    python -m attention_checks.exponential.runs.sides --out book/data --jobs 2

writes ``word-sides.json``.
"""

from typing import Any

import torch
from attention_theory import tokens
from attention_theory.attention import Weights
from attention_theory.sensitivity.attention_features import (
    OneTokenAttention,
    RandomAttentionFeatures,
)
from attention_theory.sensitivity.word import search
from theorybook.sweep import Recording
from theorybook.validation import Count, NonNegative, Seed, Size, Steps

from attention_checks.exponential.runs.lengths import DIMENSIONS, FAMILIES
from attention_checks.exponential.sensitivity_bounds import from_above, from_below, three_parts

#: Tokens a dimension at the sizes of ``word-lengths``, whose searches are used; and sizes drawn
#: after the bars were fixed.
RATIOS, LARGER = (0.125, 0.5, 2, 8, 32), ((32, 256), (512, 256), (2048, 256))


def run(
    family: str, knob: NonNegative, n: Count, d: Count, seed: Seed, steps: Steps, starts: Size
) -> dict[str, Any]:
    """Lower and upper bounds in a context of ``word-lengths``; at the larger sizes also a search
    (elsewhere its starting moves alone).
    """
    torch.set_num_threads(1)
    X = tokens.contexts("iid", 1, n, d, seed=100 + seed)[0]
    view = OneTokenAttention(
        Weights(family, knob), RandomAttentionFeatures.sample(d, seed).to(X).W, X
    )
    found, bound = search(view, starts, steps, seed).value, three_parts(view).bound
    return dict(below=from_below(view), found=found, above=from_above(view), bound=bound)


def points() -> list[dict[str, Any]]:
    """All weights at the sizes of ``word-lengths`` up to 32 tokens a dimension, and at the larger
    ones.
    """
    sizes = [(round(ratio * d), d, 0) for d in DIMENSIONS for ratio in RATIOS] + [
        (n, d, 50) for n, d in LARGER
    ]
    return [
        dict(family=family, knob=knob, n=n, d=d, seed=0, steps=steps)
        for n, d, steps in sizes
        for family, knob in FAMILIES
    ]


RECORDING = Recording("word-sides", run, points, settings=dict(starts=24), tolerance=2e-2)

if __name__ == "__main__":
    RECORDING.main()
