"""Part IV, spatial structure (jelassi2022): images of hidden patch groups, and what positional attention learns of them."""

from attention_theory.patches.distribution import PatchDistribution
from attention_theory.patches.errors import block_error, label_noise_floor, linear_error
from attention_theory.patches.population import Population, Trajectory, every_point, population_descent, three_values
from attention_theory.patches.vit import PositionalViT, association, top_c

__all__ = [
    "PatchDistribution",
    "Population",
    "PositionalViT",
    "Trajectory",
    "association",
    "block_error",
    "every_point",
    "label_noise_floor",
    "linear_error",
    "population_descent",
    "three_values",
    "top_c",
]
