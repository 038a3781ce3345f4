"""Other weights in place of softmax in both models, without retraining::

    IMDB_REVIEWS=... python -m attention_checks.trained.runs.replacing --out book/data --jobs 2

writes ``trained-replacing-minilm.json`` and ``trained-replacing-smollm2.json``.
"""

from typing import Any, Literal

import numpy as np
import torch
from attention_theory.exponential import relu_power, truncated
from attention_theory.trained import replacing, texts
from attention_theory.trained.models import MiniLM, SmolLM2, Weigh, minilm, smollm2
from theorybook.sweep import Recording, command_line
from theorybook.validation import Bit, Size

DEGREES = (2, 4, 8, 16)
#: What takes the place of softmax; each keeps the division by the row's sum.
WEIGHTS: dict[str, Weigh] = (
    {f"T{p} mean": replacing.family(truncated(p), "mean") for p in DEGREES}
    | {f"T{p} raw": replacing.family(truncated(p)) for p in DEGREES}
    | {f"power {p}": replacing.power_of_the_maximum(p) for p in (1, 4, 16)}
    | {"relu": replacing.family(relu_power(1)), "sparsemax": replacing.sparsemax}
    | {"hard": replacing.hard, "average": replacing.sharper(0)}
)
#: Of SmolLM2 and of texts from 256 tokens on, whose passes are long.
LONG = 256
FEW = ("T8 mean", "T16 mean", "T8 raw", "power 16", "sparsemax")
#: The first token whose loss counts, and the length at which the constants of undivided heads are fitted.
COUNTED, FITTED = 64, 64


def run(model: Literal["MiniLM", "SmolLM2"], n: Size, kind: texts.Kind, draw: Bit, count: Size) -> dict[str, Any]:
    """For each text and each of the weights, the cosine of the sentence vector with softmax's, or the nats a token it costs.

    MiniLM also without any division: exp over a constant for each head, the mean log-sum-exp of the draw's rows at 64 tokens.
    """
    torch.set_num_threads(1)
    network = minilm() if model == "MiniLM" else smollm2()
    found = texts.drawn(kind, network, n, draw, count)
    with torch.no_grad():
        if isinstance(network, SmolLM2):
            costs = [_costs(network, torch.tensor(text)) for text in found]
            return {name: np.array([each[name] for each in costs]) for name in FEW}
        weights = WEIGHTS if n < LONG else {name: WEIGHTS[name] for name in FEW}
        weights = weights | {"undivided": replacing.undivided(fitted_constants(network, [text[:FITTED] for text in found]))}
        plain = [network.embed(network.framed(text)) for text in found]
        return {
            name: np.array([float(network.embed(network.framed(text), weigh=weigh) @ e) for text, e in zip(found, plain)])
            for name, weigh in weights.items()
        }


def fitted_constants(network: MiniLM, bodies: list[list[int]]) -> torch.Tensor:
    """For each layer and head the mean of log-sum-exp over the rows of some texts."""
    seen: list[list[torch.Tensor]] = [[] for _ in range(network.layers)]
    for body in bodies:
        network(network.framed(body), watch=lambda layer, scores, *_: seen[layer].append(torch.logsumexp(scores, -1).mean(1)))
    return torch.stack([torch.stack(each).mean(0) for each in seen])


def _costs(network: SmolLM2, ids: torch.Tensor) -> dict[str, float]:
    """Nats a token that each of the few weights costs."""
    plain = network.losses(ids)
    return {name: float((network.losses(ids, weigh=WEIGHTS[name]) - plain)[COUNTED - 1 :].mean()) for name in FEW}


SIZES = {"MiniLM": (128, 510), "SmolLM2": (256,)}
RECORDINGS = [
    Recording(
        f"trained-replacing-{model.lower()}",
        run,
        [dict(n=n, kind=kind, draw=draw) for n in sizes for kind in ("prose", "pydoc", "imdb") for draw in (0, 1)],
        settings=dict(model=model, count=texts.COUNT),
        tolerance=2e-2,
        digits=4,
        shipped=False,  # recomputed by name, where the models are installed
    )
    for model, sizes in SIZES.items()
]

if __name__ == "__main__":
    command_line(RECORDINGS)
