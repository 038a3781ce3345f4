"""Both models with two layers and random weights, on which the measurements of trained models are
checked row by row.
"""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from attention_theory.trained.models import MiniLM, Weigh, softmax
from jaxtyping import Float, Int
from theorybook.checks import Check, identity
from theorybook.validation import Count, Natural, Numbers, Positive
from torch import Tensor

from attention_checks.trained.smollm2 import SmolLM2


class SmallMiniLM(MiniLM):
    """Two layers of two heads, 8 features, 20 words."""

    layers, heads, features, longest = 2, 2, 8, 16
    CLS, SEP = 18, 19


class Letters:
    """A tokenizer of twelve letters, and of eight ends of words."""

    def id_to_token(self, token: Natural) -> str:
        return "abcdefghijkl"[token] if token < 12 else f"##{token}"


class SmallSmolLM2(SmolLM2):
    """Two layers of four heads (two for keys and values), 16 features, 20 words."""

    layers, heads, features, longest, key_heads = 2, 4, 16, 256, 2


def _drawn(shapes: dict[str, tuple[int, ...]]) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return {
        name: torch.randn(shape, generator=generator, dtype=torch.float64) / 2
        for name, shape in shapes.items()
    }


def small_minilm(sharpness: Positive = 1.0) -> SmallMiniLM:
    """MiniLM's arithmetic on random weights, with all scores times the sharpness; its tokens are
    the numbers 0 to 19.
    """
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
    w = _drawn(shapes)
    return SmallMiniLM(w | {k: v * sharpness for k, v in w.items() if "query" in k}, Letters())


def small_smollm2(sharpness: Positive = 1.0, layers: Count = 2) -> SmallSmolLM2:
    """SmolLM2's arithmetic on random weights, with all scores times the sharpness; its tokens are
    the numbers 0 to 19.
    """
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
    for k in range(layers):
        shapes |= {f"blk.{k}.{name}.weight": shape for name, shape in layer.items()}
    w = _drawn(shapes)
    model = SmallSmolLM2(w | {k: v * sharpness for k, v in w.items() if "attn_q" in k}, None)
    model.layers = layers
    return model


def kept_alike(
    what: str,
    found: Mapping[str, Numbers],
    expected: Mapping[str, Numbers],
    tolerance: Positive = 1e-10,
) -> Check:
    """A check that all numbers of a record agree with other computations, relative to the largest
    number of each name.

    Raises:
        ValueError: the names differ.
    """
    if found.keys() != expected.keys():
        raise ValueError(f"{what}: {sorted(found)} cannot be compared with {sorted(expected)}")
    sides: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for name, numbers in expected.items():
        size = np.abs(np.asarray(numbers, dtype=float)).max() or 1
        for side, each in zip(sides, (found[name], numbers)):
            side.append(np.asarray(each, dtype=float).ravel() / size)
    left, right = map(np.concatenate, sides)
    return identity(what, left, right, tolerance)


def row_by_row(
    network: MiniLM | SmolLM2, weights_of: Callable[[Tensor, Natural, Natural], Tensor]
) -> Weigh:
    """A weight function that goes through the rows.

    ``weights_of`` takes the scores (head, key) that a row sees, and the numbers of its layer and
    of the row.
    """

    def weigh(scores: Tensor, mask: Tensor, layer: int) -> Tensor:
        found = torch.zeros_like(scores)
        for row in range(scores.shape[1]):
            seen = row + 1 if isinstance(network, SmolLM2) else scores.shape[2]
            found[:, row, :seen] = weights_of(scores[:, row, :seen], layer, row)
        return found

    return weigh


def heads_of(
    network: MiniLM | SmolLM2, ids: Int[Tensor, "n"]
) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Scores, weights and values of each head in turn."""
    found: list[tuple[Tensor, Tensor, Tensor]] = []
    network(ids, watch=lambda layer, *tables: found.extend(zip(*tables)))
    return found


def sentence(network: MiniLM, ids: Int[Tensor, "n"], weigh: Weigh = softmax) -> Float[Tensor, "d"]:
    """The sum of the states divided by its length."""
    total = network(ids, weigh).sum(0)
    return total / (total @ total).sqrt()


def late_loss(
    network: SmolLM2, ids: Int[Tensor, "n"], first: Count, weigh: Weigh = softmax
) -> float:
    """Mean loss in nats over the tokens from number ``first`` on."""
    chances = network.logits(network(ids, weigh)).softmax(1)
    return -sum(float(chances[t - 1, ids[t]].log()) for t in range(first, len(ids))) / (
        len(ids) - first
    )
