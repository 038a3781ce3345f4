"""Both models with two layers and drawn weights: what measures trained models is checked on
them.
"""

import torch
from attention_theory.trained.models import MiniLM
from torch import Tensor

from attention_checks.trained.smollm2 import SmolLM2


class SmallMiniLM(MiniLM):
    """Two layers of two heads, 8 features, 20 words."""

    layers, heads, features, longest = 2, 2, 8, 16
    CLS, SEP = 18, 19


class SmallSmolLM2(SmolLM2):
    """Two layers of four heads (two for keys and values), 16 features, 20 words."""

    layers, heads, features, longest, key_heads = 2, 4, 16, 16, 2


def _drawn(shapes: dict[str, tuple[int, ...]]) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return {
        name: torch.randn(shape, generator=generator, dtype=torch.float64) / 2
        for name, shape in shapes.items()
    }


def small_minilm() -> SmallMiniLM:
    """MiniLM's arithmetic on drawn weights; its tokens are the numbers 0 to 19."""
    kinds = ("word", "token_type", "position")
    shapes: dict[str, tuple[int, ...]] = {
        f"embeddings.{what}_embeddings.weight": (20, 8) for what in kinds
    }
    parts = [f"attention.{part}" for part in ("self.query", "self.key", "self.value")]
    norms = ["embeddings"]
    for at in ("encoder.layer.0", "encoder.layer.1"):
        for name in (*parts, "attention.output.dense"):
            shapes |= {f"{at}.{name}.weight": (8, 8), f"{at}.{name}.bias": (8,)}
        shapes |= {
            f"{at}.intermediate.dense.weight": (32, 8),
            f"{at}.intermediate.dense.bias": (32,),
            f"{at}.output.dense.weight": (8, 32),
            f"{at}.output.dense.bias": (8,),
        }
        norms += [f"{at}.attention.output", f"{at}.output"]
    shapes |= {f"{name}.LayerNorm.{what}": (8,) for name in norms for what in ("weight", "bias")}
    return SmallMiniLM(_drawn(shapes), None)


def small_smollm2() -> SmallSmolLM2:
    """SmolLM2's arithmetic on drawn weights; its tokens are the numbers 0 to 19."""
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (20, 16),
        "output_norm.weight": (16,),
    }
    layer = {
        "attn_q": (16, 16),
        "attn_k": (8, 16),
        "attn_v": (8, 16),
        "attn_output": (16, 16),
        "ffn_gate": (32, 16),
        "ffn_up": (32, 16),
        "ffn_down": (16, 32),
        "attn_norm": (16,),
        "ffn_norm": (16,),
    }
    for k in range(2):
        shapes |= {f"blk.{k}.{name}.weight": shape for name, shape in layer.items()}
    return SmallSmolLM2(_drawn(shapes), None)
