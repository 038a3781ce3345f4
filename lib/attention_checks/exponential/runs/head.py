"""Word sensitivity at the size of a real head, searched from more starts (chapter "Words")::

    python -m attention_checks.exponential.runs.head --out book/data

writes ``word-head.json``. The 24 starts of ``word-lengths`` find less in four of the sixteen cases,
once a seventh.
"""

from typing import Any

from theorybook.sweep import Recording

from attention_checks.exponential.runs.lengths import FAMILIES, SEEDS, run


def points() -> list[dict[str, Any]]:
    """All weights at d = 64, n = 4096."""
    return [
        dict(family=family, knob=knob, n=4096, d=64, seed=seed)
        for seed in SEEDS
        for family, knob in FAMILIES
    ]


RECORDING = Recording("word-head", run, points, settings=dict(starts=96, steps=50), tolerance=2e-2)

if __name__ == "__main__":
    RECORDING.main()
