"""How far apart the rows of MiniLM's heads are, and what is left of the model when its attention
sees positions alone::

    IMDB_REVIEWS=... python -m attention_checks.trained.runs.position --out book/data --jobs 2

writes ``trained-position-minilm.json``.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from attention_theory.trained import position
from attention_theory.trained.features import total_variation
from attention_theory.trained.models import MiniLM, minilm
from jaxtyping import Float
from theorybook.sweep import Recording, command_line
from theorybook.validation import Bit, Integer, Size
from torch import Tensor

from attention_checks.trained import corpora

LENGTHS = (16, 64, 128)
#: For each head: the largest total variation between two rows; the bounds on it from the scores of
#: pairs of rows and from those within a row; what the head leaves of the diameter of its values;
#: the mean total variation between rows and their mean over other texts; the mean weight on the
#: previous token, on itself and on the next.
STATISTICS = (
    "variation",
    "spread_bound",
    "range_bound",
    "diameter",
    "from_position",
    "previous",
    "itself",
    "next",
)


def largest_spread(scores: Float[Tensor, "*heads queries keys"]) -> Float[Tensor, "*heads"]:
    """The largest range of the differences between two rows of scores."""
    above = torch.stack(
        [(scores - row[..., None, :]).amax(-1) for row in scores.unbind(-2)], -1
    )  # of row i over row j
    return (above + above.mT).amax((-2, -1))


def frozen(
    weights: Float[Tensor, "layers heads n n"], layers: list[int]
) -> Callable[[Tensor, Tensor, int], Tensor]:
    """A weight function with the given weights, whatever the text, in these layers and softmax in
    the others.
    """
    return lambda scores, mask, layer: (
        weights[layer] if layer in layers else torch.softmax(scores, -1)
    )


def mean_weight_at(
    weights: Float[Tensor, "*heads n n"], offset: Integer
) -> Float[Tensor, "*heads"]:
    """The mean weight on the key that stands so many places to the right (left where negative),
    over the rows that have one.
    """
    if abs(offset) >= weights.shape[-1]:
        raise ValueError(
            f"no row has a key {abs(offset)} places away: there are {weights.shape[-1]} tokens"
        )
    return weights.diagonal(offset, -2, -1).mean(-1)


def run(n: Size, kind: corpora.Kind, draw: Bit, count: Size) -> dict[str, Any]:
    """The results of :func:`of_texts`; ``heads`` for one draw only."""
    torch.set_num_threads(1)
    network = minilm()
    found = of_texts(network, corpora.drawn(kind, network, n, draw, count))
    heads = found.pop("heads")
    return found | corpora.pictured(kind, draw, heads=heads)


def of_texts(network: MiniLM, texts: list[list[int]]) -> dict[str, Any]:
    """For each text cosines of the sentence vector with attention frozen to positions, and a median
    over heads. All texts have the same length.

    The positional mean of a text's weights is that over the other texts. ``frozen`` has all layers
    frozen, ``average`` uniform weights in all; ``layers`` (layer) has one layer frozen, as a mean
    over texts. ``variation`` is the median over heads of the largest total variation. ``heads``
    (head, statistic) are means over texts.
    """
    ids = [network.framed(text) for text in texts]
    every = list(range(network.layers))
    with torch.no_grad():
        weights, statistics = zip(*(_watched(network, text) for text in ids))
        total = torch.stack(weights).sum(0)
        rows, found = [], {"frozen": [], "layers": [], "average": []}
        for text, own, measured in zip(ids, weights, statistics):
            mean = (total - own) / (len(texts) - 1)
            apart = total_variation(own, mean).mean(-1).flatten()
            rows.append(torch.stack([*measured[:4], apart, *measured[4:]], -1))
            plain = network.embed(text)

            def cosine(kept: torch.Tensor, layers: list[int], text=text, plain=plain) -> float:
                return float(plain @ network.embed(text, weigh=frozen(kept, layers)))

            found["frozen"].append(cosine(mean, every))
            found["layers"].append([cosine(mean, [layer]) for layer in every])
            found["average"].append(cosine(torch.full_like(mean, 1 / len(text)), every))
    heads = torch.stack(rows)  # text, head, statistic
    result: dict[str, Any] = {name: np.array(each) for name, each in found.items()}
    return result | {
        "layers": result["layers"].mean(0),
        "variation": heads[..., 0].median(1).values.numpy(),
        "heads": heads.mean(0).numpy(),
    }


def _watched(network, ids):
    """All weights (layer, head, query, key), and each statistic but one (head)."""
    kept, seen = [], []

    def watch(layer, scores, weights, values):
        kept.append(weights)
        within = (scores.amax(-1) - scores.amin(-1)).amax(-1)
        places = [mean_weight_at(weights, offset) for offset in (-1, 0, 1)]
        bounds = [torch.tanh(largest_spread(scores) / 4), torch.tanh(within / 2)]
        left = position.diameter(weights @ values) / position.diameter(values)
        seen.append(torch.stack([position.largest_variation(weights), *bounds, left, *places]))

    network(ids, watch=watch)
    return torch.stack(kept), torch.cat(seen, -1)


RECORDING = Recording(
    "trained-position-minilm",
    run,
    # all texts at the length that is asked; the other lengths are for the pictures
    [dict(n=n, kind=corpora.PICTURED[0], draw=corpora.PICTURED[1]) for n in LENGTHS[:-1]]
    + [dict(n=LENGTHS[-1]) | draw for draw in corpora.DRAWS],
    settings=dict(count=corpora.COUNT),
    tolerance=2e-2,
    digits=4,
    shipped=False,  # recomputed by name, where the models are installed
)

if __name__ == "__main__":
    command_line([RECORDING])
