"""Keys that hold majorities, shares of different keys, and attention from few features against
MiniLM's heads::

    IMDB_REVIEWS=... python -m attention_checks.trained.runs.features --out book/data --jobs 2

writes ``trained-features-minilm.json``.
"""

import math
from typing import Any

import numpy as np
import torch
from attention_theory.exponential import truncated
from attention_theory.trained import features, replacing
from attention_theory.trained.models import minilm
from jaxtyping import Float
from theorybook.sweep import Recording, command_line
from theorybook.validation import Bit, Count, Seed, Size
from torch import Tensor

from attention_checks.trained import corpora

LENGTHS = (32, 128, 510)
#: Of a head: different keys with a majority, and the largest sum of the shares of different keys.
STATISTICS = ("majorities", "share")
#: Attention from few features, at APPROXIMATED tokens: random features by their number, Taylor sums
#: by their degree.
RANDOM, DEGREES, APPROXIMATED = (32, 128, 512, 2048), (2, 4), 128
WIDTH = 32


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
    """For each text the largest number of majority keys over heads, and the number of heads with
    more than 32 of them.

    At 128 tokens ``errors`` (method) is the mean over texts of the median over heads of the mean
    total variation between a head's rows and those from few features, random ones first; ``excess``
    is by how much the theorem's bound exceeds that error where it does so most, which must not be
    positive. For one draw ``heads`` (head, statistic) and ``far`` (head, method) keep the means
    over texts.
    """
    torch.set_num_threads(1)
    network, pictured = minilm(), (kind, draw) == corpora.PICTURED
    assigned = (
        pictured or n == APPROXIMATED
    )  # a second of work for each text of 510 tokens, for pictures alone
    statistics, far = [], []
    with torch.no_grad():
        for text in corpora.drawn(kind, network, n, draw, count):
            seen, errors = [], []

            def watch(layer, scores, weights, values, seen=seen, errors=errors):
                majorities = features.majority_keys(weights)
                share = (
                    features.total_share(weights)
                    if assigned
                    else torch.full_like(majorities, math.nan, dtype=weights.dtype)
                )
                seen.append(torch.stack([majorities, share], -1))
                if n == APPROXIMATED:
                    errors.append(_errors(scores.double(), weights.double()))

            network(network.framed(text), watch=watch)
            statistics.append(torch.cat(seen))
            far.append(torch.cat(errors) if errors else None)
    heads = torch.stack(statistics)  # text, head, statistic
    majorities = heads[..., 0]
    found: dict[str, Any] = {
        "largest": majorities.amax(1).numpy(),
        "over": (majorities > WIDTH).sum(1).numpy(),
    }
    if n == APPROXIMATED:
        errors = torch.stack([each for each in far if each is not None])
        bound = (heads[..., 1, None] - torch.tensor(RANDOM)) / (n + 2)
        found["errors"] = errors.median(1).values.mean(0).numpy()
        found["excess"] = float((bound - errors[..., : len(RANDOM)]).max())
        if pictured:
            found["far"] = errors.mean(0).numpy().astype(np.float16)
    return found | ({"heads": heads.mean(0).numpy().astype(np.float16)} if pictured else {})


def _errors(scores: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """(head, method): how far rows from few features are from the head's, on average over rows."""
    mask = torch.ones(scores.shape[1:], dtype=torch.bool)
    centred = scores - scores.mean(-1, keepdim=True)
    q, k = short_factors(centred, WIDTH)
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
