"""The limits of attention with few features: shares of different keys (chapter "How many features a
cheap layer needs").
"""

import torch
from jaxtyping import Float, Int
from scipy.optimize import linear_sum_assignment
from theorybook.validation import to_numpy
from torch import Tensor


def feature_weights(
    queries: Float[Tensor, "*heads queries features"], keys: Float[Tensor, "*heads keys features"]
) -> Float[Tensor, "*heads queries keys"]:
    """Weights phi(q).phi(k) over their row sum, which a layer can apply without ever forming the
    matrix of weights.
    """
    products = queries @ keys.mT
    return products / products.sum(-1, keepdim=True)


def majority_keys(weights: Float[Tensor, "heads queries keys"]) -> Int[Tensor, "heads"]:
    """The number of different keys that hold more than half of some row, for each head."""
    return (weights > 0.5).any(1).sum(-1)


def total_share(weights: Float[Tensor, "heads queries keys"]) -> Float[Tensor, "heads"]:
    """The largest sum of weights when each query is matched to a key of its own: at least this many
    features are needed.
    """
    found = []
    for head in weights:
        rows, columns = linear_sum_assignment(to_numpy(head), maximize=True)
        found.append(head[rows, columns].sum())
    return torch.stack(found)


def total_variation(
    weights: Float[Tensor, "*heads queries keys"], others: Float[Tensor, "*heads queries keys"]
) -> Float[Tensor, "*heads queries"]:
    """The share that two rows of weights do not have in common: half the sum of their absolute
    differences.
    """
    return (weights - others).abs().sum(-1) / 2
