"""Whether a deferred Gaussian matrix has the right law: power iteration, in which each query is the
last answer.
"""

import numpy as np
import torch
from attention_theory.device import generator, normal
from attention_theory.sensitivity.deferred import DeferredGaussian
from theorybook.validation import Size, Steps


def power_iteration(times, transpose_times, columns: Size, steps: Steps = 3) -> float:
    """|A v| after some steps of v -> A^T A v / |A^T A v| from the vector of ones."""
    v = torch.ones(1, columns, dtype=torch.float64)
    for _ in range(steps):
        v = transpose_times(times(v))
        v = v / v.norm()
    return float(times(v).norm())


def power_iterations(
    trials: Size, rows: Size = 4, columns: Size = 3
) -> tuple[np.ndarray, np.ndarray]:
    """The result on so many deferred matrices, and on as many that were drawn beforehand."""
    deferred, drawn = [], []
    for seed in range(trials):
        A = DeferredGaussian(rows, columns, 1.0, generator(1000 + seed))
        deferred.append(power_iteration(A.times, A.transpose_times, columns))
        B = normal(rows, columns, generator=generator(2**20 + seed))
        drawn.append(power_iteration(lambda v: v @ B.T, lambda u: u @ B, columns))
    return np.array(deferred), np.array(drawn)
