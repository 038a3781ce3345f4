"""Attention: scores -> weights -> values, the core that every part shares.

>>> import torch
>>> scores = torch.tensor([[2.0, 2.0], [1.0, 3.0]])
>>> attention_weights(scores, "linear")
tensor([[0.5000, 0.5000],
        [0.2500, 0.7500]])
"""

import torch
from jaxtyping import Float
from torch import Tensor

KINDS = ("softmax", "linear", "relu")


def attention_weights(scores: Float[Tensor, "*batch queries keys"], kind: str = "softmax") -> Float[Tensor, "*batch queries keys"]:
    """Weights from scores, each row divided by its sum.

    ``softmax`` exponentiates the scores, ``linear`` takes them as they are (deng2023, Definition 3.2), ``relu`` keeps
    their positive part (bombari2024, the ReLU-RAF map). A row without a positive score has no ReLU weights (0/0): it
    becomes a row of zeros, so that its query attends to nothing.

    Args:
        scores: (..., queries, keys).
        kind: one of ``softmax``, ``linear``, ``relu``.

    Raises:
        ValueError: unknown ``kind``; or a row of ``linear`` scores sums to zero, which leaves its weights undefined.
    """
    if kind == "softmax":
        return torch.softmax(scores, dim=-1)
    if kind == "linear":
        total = scores.sum(dim=-1, keepdim=True)
        if bool((total == 0).any()):
            raise ValueError("linear attention divides by the row sums of the scores, and a row sums to 0")
        return scores / total
    if kind == "relu":
        positive = torch.relu(scores)
        total = positive.sum(dim=-1, keepdim=True)
        return positive / torch.where(total == 0, 1, total)
    raise ValueError(f"weights {kind!r} are unknown; choose one of {', '.join(KINDS)}")


def attention(
    scores: Float[Tensor, "*batch queries keys"], values: Float[Tensor, "*batch keys features"], kind: str = "softmax"
) -> Float[Tensor, "*batch queries features"]:
    """Attention output: each row averages the rows of ``values`` with its weights.

    Args:
        scores: (..., queries, keys).
        values: (..., keys, features).
        kind: as in :func:`attention_weights`.
    """
    return attention_weights(scores, kind) @ values
