"""Keys that hold majorities, shares of different keys, and attention from few features against
MiniLM's heads::

    IMDB_REVIEWS=... python -m attention_checks.trained.runs.features --out book/data --jobs 2

writes ``trained-features-minilm.json``.
"""

import math
from typing import Any

import torch
from attention_theory.exponential import truncated
from attention_theory.trained import features, replacing
from attention_theory.trained.models import MiniLM, minilm
from jaxtyping import Float
from theorybook.sweep import Recording, command_line
from theorybook.validation import Bit, Count, Seed, Size
from torch import Tensor

from attention_checks.trained import corpora

LENGTHS = (32, 128, 510)
#: For each head: the number of different keys with a majority, and the largest sum of the shares of
#: different keys.
STATISTICS = ("majorities", "share")
#: Attention from few features, at APPROXIMATED tokens: random features by their number, Taylor sums
#: by their degree.
RANDOM, DEGREES, APPROXIMATED = (32, 128, 512, 2048), (2, 4), 128


def short_factors(
    scores: Float[Tensor, "*heads queries keys"], d: Count
) -> tuple[Float[Tensor, "*heads queries d"], Float[Tensor, "*heads keys d"]]:
    """Queries and keys of d coordinates with these scores as products, as short as such queries and
    keys can be.

    Raises:
        ValueError: scores of another rank.
    """
    left, sizes, right = torch.linalg.svd(scores, full_matrices=False)
    rest = sizes[..., d:].square().sum().sqrt()
    if rest > 1e-3 * sizes.square().sum().sqrt():
        raise ValueError(
            f"the scores are no products of {d} coordinates: {float(rest):.3g} is left over"
        )
    roots = sizes[..., None, :d].sqrt()
    return left[..., :d] * roots, right.mT[..., :d] * roots


def random_features(
    x: Float[Tensor, "*rows d"], features: Size, seed: Seed
) -> Float[Tensor, "*rows features"]:
    """Performer's positive features exp(w.x - |x|^2/2), w Gaussian: their mean product is exp(q.k).

    They are divided by their largest number, which does not change the weights that
    :func:`attention_theory.trained.features.feature_weights` makes of them.
    """
    generator = torch.Generator().manual_seed(seed)
    directions = torch.randn(features, x.shape[-1], generator=generator, dtype=torch.float64).to(x)
    exponents = x @ directions.T - x.square().sum(-1, keepdim=True) / 2
    return (exponents - exponents.amax((-2, -1), keepdim=True)).exp()


def run(n: Size, kind: corpora.Kind, draw: Bit, count: Size) -> dict[str, Any]:
    """The results of :func:`of_texts`, at 128 tokens with those of :func:`errors_of_texts`; in one
    draw also for every head.
    """
    torch.set_num_threads(1)
    network, few = minilm(), n == APPROXIMATED
    texts = corpora.drawn(kind, network, n, draw, count)
    # a second of work for each text of 510 tokens, for pictures alone
    found = of_texts(network, texts, assigned=few or (kind, draw) == corpora.PICTURED)
    heads = {"heads": found.pop("heads")}
    if few:
        found |= errors_of_texts(network, texts)
        heads |= {"far": found.pop("far")}
    return found | corpora.pictured(kind, draw, **heads)


def of_texts(network: MiniLM, texts: list[list[int]], assigned: bool = True) -> dict[str, Any]:
    """For each text the largest number of majority keys over heads, and the number of heads with
    more of them than a query has coordinates.

    ``heads`` (head, statistic) are means over texts; unless ``assigned``, without the sum of shares.
    """
    statistics = []
    with torch.no_grad():
        for text in texts:
            seen = []

            def watch(layer, scores, weights, values, seen=seen):
                majorities = features.majority_keys(weights)
                share = (
                    features.total_share(weights)
                    if assigned
                    else torch.full_like(majorities, math.nan, dtype=weights.dtype)
                )
                seen.append(torch.stack([majorities, share], -1))

            network(network.framed(text), watch=watch)
            statistics.append(torch.cat(seen))
    heads = torch.stack(statistics)  # text, head, statistic
    majorities = heads[..., 0]
    return {
        "largest": majorities.amax(1).numpy(),
        "over": (majorities > network.features // network.heads).sum(1).numpy(),
        "heads": heads.mean(0).numpy(),
    }


def errors_of_texts(network: MiniLM, texts: list[list[int]]) -> dict[str, Any]:
    """How far each head's rows are from those made of few features, random features first. All
    texts have the same length.

    That is a mean over rows of the total variation. ``far`` (head, method) is its mean over texts,
    ``errors`` (method) the mean over texts of its median over heads. ``excess`` is by how much the
    theorem's bound exceeds it where it does so most, which must not be positive.
    """
    far, bounds = [], []
    with torch.no_grad():
        for text in texts:
            seen, shares, ids = [], [], network.framed(text)

            def watch(layer, scores, weights, values, seen=seen, shares=shares):
                width = network.features // network.heads
                seen.append(_errors(scores.double(), weights.double(), width))
                shares.append(features.total_share(weights))

            network(ids, watch=watch)
            far.append(torch.cat(seen))
            bounds.append((torch.cat(shares)[:, None] - torch.tensor(RANDOM)) / len(ids))
    errors = torch.stack(far)  # text, head, method
    return {
        "errors": errors.median(1).values.mean(0).numpy(),
        "excess": float((torch.stack(bounds) - errors[..., : len(RANDOM)]).max()),
        "far": errors.mean(0).numpy(),
    }


def _errors(scores: torch.Tensor, weights: torch.Tensor, width: int) -> torch.Tensor:
    """(head, method): how far rows from few features are from the head's, on average over rows."""
    mask = torch.ones(scores.shape[1:], dtype=torch.bool)
    centred = scores - scores.mean(-1, keepdim=True)
    q, k = short_factors(centred, width)
    few = [features.feature_weights(*(random_features(x, D, 0) for x in (q, k))) for D in RANDOM]
    few += [replacing.family(truncated(p), "mean")(scores, mask, 0) for p in DEGREES]
    return torch.stack([features.total_variation(weights, each).mean(1) for each in few], -1)


RECORDING = Recording(
    "trained-features-minilm",
    run,
    [dict(n=LENGTHS[0], kind=corpora.PICTURED[0], draw=corpora.PICTURED[1])]  # for the pictures
    + [dict(n=n) | draw for n in LENGTHS[1:] for draw in corpora.DRAWS],
    settings=dict(count=corpora.COUNT),
    tolerance=2e-2,
    digits=4,
    shipped=False,  # recomputed by name, where the models are installed
)

if __name__ == "__main__":
    command_line([RECORDING])
