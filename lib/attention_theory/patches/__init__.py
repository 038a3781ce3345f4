"""Part IV: spatial structure (jelassi2022). Images with hidden groups of patches, and what
positional attention learns about them.
"""

from attention_theory.patches.distribution import PatchDistribution
from attention_theory.patches.errors import (
    block_disagreement,
    block_error,
    label_noise_floor,
    linear_error,
)
from attention_theory.patches.population import (
    Population,
    ReducedViT,
    Trajectory,
    every_point,
    population_descent,
    three_values,
)
from attention_theory.patches.training import (
    SampleTrajectory,
    error_rate,
    train_vit,
)
from attention_theory.patches.vit import PositionalViT, association
