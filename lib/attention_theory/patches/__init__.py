"""Part IV, spatial structure (jelassi2022): images of hidden patch groups, and what positional attention learns of them."""

from attention_theory.patches.distribution import PatchDistribution
from attention_theory.patches.vit import PositionalViT, association, top_c

__all__ = ["PatchDistribution", "PositionalViT", "association", "top_c"]
