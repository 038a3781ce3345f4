"""How many samples patch association takes: the trajectories behind the chapter on learning from
samples::

    python -m attention_checks.patches.runs.sample_sizes --out book/data --jobs 2

writes ``sample-sizes.json``: for each number of samples and each seed the test error, the
association and the alignment along the way.
"""

from typing import Any

import numpy as np
from attention_theory.patches.distribution import PatchDistribution
from attention_theory.patches.training import train_vit
from theorybook.devices import Device
from theorybook.sweep import Recording
from theorybook.validation import Count, Seed, recheck_callback

#: D, C, d, q, sigma of the data, and the descent.
WORLD = {"D": 16, "C": 4, "d": 16, "q": 0.5, "sigma": 0.25}
DESCENT = {"steps": 300, "rate_v": 3e-3, "rate_A": 10.0, "every": 10, "tests": 10_000}
SIZES = (4000, 1000, 200, 50)  # longest first, so that no process is left with one at the end


def run(N: Count, seed: Seed, device: Device = "cpu", **settings: Any) -> dict[str, np.ndarray]:
    """One training: test error, association and alignment at each recorded step, rounded to four
    digits.
    """
    world = {key: settings.pop(key) for key in WORLD if key in settings}
    images = recheck_callback(PatchDistribution)(**(WORLD | world))
    path = recheck_callback(train_vit)(images, N, seed=seed, device=device, **(DESCENT | settings))
    columns = {"error": path.error, "association": path.association, "alignment": path.alignment}
    return {name: column.numpy().round(4) for name, column in columns.items()}


#: One misjudged point of the test, or one row of sixteen, may differ on another machine.
RECORDING = Recording(
    "sample-sizes",
    run,
    [{"N": N, "seed": seed} for N in SIZES for seed in range(20)],
    settings=WORLD | DESCENT,
    tolerance={"error": 0.05, "association": 0.1, "alignment": 1e-3},
)

if __name__ == "__main__":
    RECORDING.main()
