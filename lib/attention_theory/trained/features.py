"""What attention with few features can do: shares of different keys (chapter "How many features a cheap layer needs")."""

import math

import torch
from jaxtyping import Float, Int
from scipy.optimize import linear_sum_assignment
from theorybook.validation import Count, Natural, Seed, Size
from torch import Tensor


def feature_weights(
    queries: Float[Tensor, "*heads queries features"], keys: Float[Tensor, "*heads keys features"]
) -> Float[Tensor, "*heads queries keys"]:
    """Weights phi(q).phi(k) over their row sum: what a layer computes without ever forming the table of weights."""
    products = queries @ keys.mT
    return products / products.sum(-1, keepdim=True)


def majority_keys(weights: Float[Tensor, "heads queries keys"]) -> Int[Tensor, "heads"]:
    """The number of different keys that hold more than half of some row, for each head."""
    return (weights > 0.5).any(1).sum(-1)


def total_share(weights: Float[Tensor, "heads queries keys"]) -> Float[Tensor, "heads"]:
    """The largest sum of weights that queries give to keys of their own, no two to one key: so many features are needed."""
    found = []
    for head in weights:
        rows, columns = linear_sum_assignment(head.detach().cpu().numpy(), maximize=True)
        found.append(head[rows, columns].sum())
    return torch.stack(found)


def total_variation(
    weights: Float[Tensor, "*heads queries keys"], others: Float[Tensor, "*heads queries keys"]
) -> Float[Tensor, "*heads queries"]:
    """The share that two rows of weights do not have in common: half the sum of their differences."""
    return (weights - others).abs().sum(-1) / 2


def taylor_features(d: Count, p: Natural) -> int:
    """The number of products of at most p coordinates of d: the features of a polynomial of degree p in q.k."""
    return math.comb(d + p, p)


def short_factors(
    scores: Float[Tensor, "*heads queries keys"], d: Count
) -> tuple[Float[Tensor, "*heads queries d"], Float[Tensor, "*heads keys d"]]:
    """Queries and keys of d coordinates with these scores as products, as short as such queries and keys can be.

    Raises:
        ValueError: scores of another rank.
    """
    left, sizes, right = torch.linalg.svd(scores, full_matrices=False)
    rest = sizes[..., d:].square().sum().sqrt()
    if rest > 1e-3 * sizes.square().sum().sqrt():
        raise ValueError(f"the scores are no products of {d} coordinates: {float(rest):.3g} is left over")
    roots = sizes[..., None, :d].sqrt()
    return left[..., :d] * roots, right.mT[..., :d] * roots


def random_features(x: Float[Tensor, "*rows d"], features: Size, seed: Seed) -> Float[Tensor, "*rows features"]:
    """Performer's positive features exp(w.x - |x|^2/2), w Gaussian: their mean product is exp(q.k).

    They are divided by their largest number, which the weights of :func:`feature_weights` do not see.
    """
    generator = torch.Generator().manual_seed(seed)
    directions = torch.randn(features, x.shape[-1], generator=generator, dtype=torch.float64).to(x)
    exponents = x @ directions.T - x.square().sum(-1, keepdim=True) / 2
    return (exponents - exponents.amax((-2, -1), keepdim=True)).exp()
