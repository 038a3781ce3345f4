"""Other weights in place of softmax in both models, without retraining::

    IMDB_REVIEWS=... python -m attention_checks.trained.runs.replacing --out book/data --jobs 2

writes ``trained-replacing-minilm.json`` and ``trained-replacing-smollm2.json``.
"""

import math
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import torch
from attention_theory.exponential import relu_power, truncated
from attention_theory.trained import replacing
from attention_theory.trained.crowd import centred_rows
from attention_theory.trained.models import MiniLM, Weigh, minilm
from jaxtyping import Float
from theorybook.sweep import Recording, command_line
from theorybook.validation import Bit, Size
from torch import Tensor

from attention_checks.trained import corpora
from attention_checks.trained.smollm2 import SmolLM2, smollm2

DEGREES = (2, 4, 8, 16)
#: What takes the place of softmax; each keeps the division by the row's sum.
WEIGHTS: dict[str, Weigh] = (
    {f"T{p} mean": replacing.family(truncated(p), "mean") for p in DEGREES}
    | {f"T{p} raw": replacing.family(truncated(p)) for p in DEGREES}
    | {f"power {p}": replacing.power_of_the_maximum(p) for p in (1, 4, 16)}
    | {
        "relu": replacing.family(relu_power(1)),
        "sparsemax": replacing.sparsemax,
        "entmax": replacing.entmax(1.5),
    }
    | {"hard": replacing.hard, "average": replacing.sharper(0)}
)
#: The weights for SmolLM2 and for texts from ``LONG`` tokens on, whose passes take long.
LONG = 256
FEW = ("T8 mean", "T16 mean", "T8 raw", "power 16", "sparsemax", "entmax")
#: Weights whose distance from softmax's, at the scores of the pass with softmax, is kept for each
#: head.
COMPARED = ("T2 mean", "T4 mean", "T8 mean", "T16 mean", "entmax", "sparsemax")
#: Numbers of tokens; at the first one a record has heads, too.
SIZES = {"MiniLM": (128, 510), "SmolLM2": (256,)}
#: The first token whose loss counts, and the length at which the constants of undivided heads are
#: fitted.
COUNTED, FITTED = 64, 64


def run(
    model: Literal["MiniLM", "SmolLM2"], n: Size, kind: corpora.Kind, draw: Bit, count: Size
) -> dict[str, Any]:
    """For each text and each of the weights, the cosine of the sentence vector with softmax's, or
    the nats a token it costs.

    MiniLM also without any division: exp over a constant for each head, the mean log-sum-exp of the
    draw's rows at 64 tokens. For one draw ``heads`` has the :func:`head_distances` of each head, as
    means over its rows.
    """
    torch.set_num_threads(1)
    network = minilm() if model == "MiniLM" else smollm2()
    found = corpora.drawn(kind, network, n, draw, count)
    with torch.no_grad():
        result = (
            costs(network, found)
            if isinstance(network, SmolLM2)
            else cosines(network, found, WEIGHTS if n < LONG else FEW)
        )
        if (kind, draw) == corpora.PICTURED and n == SIZES[model][0]:
            result["heads"] = head_distances(network, found).numpy().astype(np.float16)
    return result


def undivided(constants: Tensor) -> Weigh:
    """exp(s) over a constant for each layer and head, as if no row divided by its own sum; at most
    e^40.
    """
    return lambda scores, mask, layer: (
        (scores - constants[layer][:, None, None]).clamp(max=40).exp() * mask
    )


def cosines(
    network: MiniLM, texts: list[list[int]], names: Iterable[str], fitted: Size = FITTED
) -> dict[str, Float[np.ndarray, "texts"]]:
    """For each text and each of the named WEIGHTS, the cosine of the sentence vector with
    softmax's.

    ``undivided`` has the constants that are fitted on the first tokens of the texts.
    """
    constants = fitted_constants(network, [text[:fitted] for text in texts])
    weights = {name: WEIGHTS[name] for name in names} | {"undivided": undivided(constants)}
    plain = [network.embed(network.framed(text)) for text in texts]
    return {
        name: np.array(
            [
                float(network.embed(network.framed(text), weigh=weigh) @ e)
                for text, e in zip(texts, plain)
            ]
        )
        for name, weigh in weights.items()
    }


def costs(network: SmolLM2, texts: list[list[int]]) -> dict[str, Float[np.ndarray, "texts"]]:
    """Nats a token that each of the few weights costs."""

    def losses(**options: Any) -> np.ndarray:
        return np.array(
            [
                float(network.losses(torch.tensor(ids), **options)[COUNTED - 1 :].mean())
                for ids in texts
            ]
        )

    plain = losses()
    return {name: losses(weigh=WEIGHTS[name]) - plain for name in FEW}


def head_distances(network: MiniLM | SmolLM2, bodies: list[list[int]]) -> torch.Tensor:
    """For each head: how far the best score of a row lies above the row's mean, and how much weight
    each of COMPARED moves.

    These are means over the rows, for SmolLM2 over the rows of the tokens whose loss counts. The
    weight that moves is half the sum of absolute differences from softmax's weights, at the scores
    that the model has with softmax.
    """
    total = torch.zeros(network.layers, network.heads, 1 + len(COMPARED))
    whole = isinstance(network, MiniLM)
    first = 0 if whole else COUNTED - 1
    for body in bodies:
        ids = network.framed(body) if whole else torch.tensor(body)
        allowed = torch.ones(len(ids), len(ids), dtype=torch.bool)
        mask = (allowed if whole else allowed.tril())[first:]

        def watch(
            layer: int, scores: torch.Tensor, weights: torch.Tensor, values: torch.Tensor, mask=mask
        ) -> None:
            some = scores[:, first:]
            above = centred_rows(some, mask).masked_fill(~mask, -math.inf).amax(-1)
            moved = [
                (WEIGHTS[name](some, mask, layer) - weights[:, first:]).abs().sum(-1) / 2
                for name in COMPARED
            ]
            total[layer] += torch.stack([above, *moved], -1).mean(1)

        network(ids, watch=watch)
    return (total / len(bodies)).flatten(0, 1)


def fitted_constants(network: MiniLM, bodies: list[list[int]]) -> torch.Tensor:
    """For each layer and head the mean of log-sum-exp over the rows of some texts."""
    seen: list[list[torch.Tensor]] = [[] for _ in range(network.layers)]
    for body in bodies:
        network(
            network.framed(body),
            watch=lambda layer, scores, *_: seen[layer].append(torch.logsumexp(scores, -1).mean(1)),
        )
    return torch.stack([torch.stack(each).mean(0) for each in seen])


RECORDINGS = [
    Recording(
        f"trained-replacing-{model.lower()}",
        run,
        [dict(n=n) | draw for n in sizes for draw in corpora.DRAWS],
        settings=dict(model=model, count=corpora.COUNT),
        tolerance=2e-2,
        digits=4,
        shipped=False,  # recomputed by name, where the models are installed
    )
    for model, sizes in SIZES.items()
]

if __name__ == "__main__":
    command_line(RECORDINGS)
