"""The first key, silenced and forbidden, in both models, beside an ordinary key::

    IMDB_REVIEWS=... python -m attention_checks.trained.runs.sink --out book/data --jobs 2

writes ``trained-sink-minilm.json`` and ``trained-sink-smollm2.json``.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import torch
from attention_theory.trained import sink
from attention_theory.trained.models import minilm
from theorybook.sweep import Recording, command_line
from theorybook.validation import Bit, Size
from torch import Tensor

from attention_checks.trained import corpora
from attention_checks.trained.smollm2 import smollm2

#: Of the key in each head, over rows: mean weight, share of rows that give it more than half, of rows whose best key it is, its
#: value's length over the median one, median ratio of the two ways.
STATISTICS = ("weight", "half", "best", "length", "ratio")
#: Tokens of the texts; the first row from which SmolLM2's first key is touched, and the first token whose loss counts.
Model = Literal["MiniLM", "SmolLM2"]
MODELS: tuple[Model, ...] = ("MiniLM", "SmolLM2")
LENGTHS, FROM, COUNTED = {"MiniLM": (16, 64, 128, 256), "SmolLM2": (256,)}, 32, 64


def run(model: Literal["MiniLM", "SmolLM2"], n: Size, kind: corpora.Kind, draw: Bit, count: Size) -> dict[str, Any]:
    """For each text what the ways do, and for one draw the means of each head: see :func:`minilm_text`, :func:`smollm_text`."""
    torch.set_num_threads(1)
    network, measure = (minilm(), minilm_text) if model == "MiniLM" else (smollm2(), smollm_text)
    with torch.no_grad():
        found = [measure(network, text) for text in corpora.drawn(kind, network, n, draw, count)]
    result: dict[str, Any] = {name: np.array([each[name] for each, _ in found]) for name in found[0][0]}
    heads = torch.stack([heads for _, heads in found]).mean(0).numpy().astype(np.float16)
    return result | ({"heads": heads} if (kind, draw) == corpora.PICTURED else {})


def _watched(key: int, rows: slice) -> tuple[list[Tensor], list[Tensor], Callable]:
    """What to watch: per layer (heads, statistic) and the ratios of all rows."""
    kept, ratios = [], []

    def watch(layer: int, scores: Tensor, weights: Tensor, values: Tensor) -> None:
        w = weights[:, rows]
        ways = sink.two_ways(w.clamp(max=1 - 1e-6), values, key)
        ratio = ways.forbidden / ways.silenced.clamp(min=1e-12)
        ratios.append(ratio.flatten())
        lengths = values.norm(dim=-1)
        length = lengths[:, key] / lengths.median(1).values
        half, best = (w[..., key] > 0.5).float().mean(1), (w.argmax(-1) == key).float().mean(1)
        kept.append(torch.stack([w[..., key].mean(1), half, best, length, ratio.median(1).values], -1))

    return kept, ratios, watch


def _summary(heads: Tensor, ratios: list[Tensor]) -> dict[str, float]:
    length, ratio = heads[:, 3].median(), torch.cat(ratios).median()
    return {"length": float(length), "ratio": float(ratio), "best": float(heads[:, 2].mean())}


def minilm_text(network, text):
    """Cosines of the sentence vector with [CLS] silenced, [CLS], [SEP] or a word forbidden; medians over heads and rows."""
    ids = network.framed(text)
    n = len(ids)
    kept, ratios, watch = _watched(0, slice(1, n - 1))
    plain, whole = network.embed(ids, watch=watch), torch.ones(n, n, dtype=torch.bool)
    heads = torch.cat(kept)

    def cosine(**options: Any) -> float:
        return float(plain @ network.embed(ids, **options))

    found = {
        "silenced": cosine(weigh=sink.silencing(0)),
        "forbidden": cosine(mask=sink.forbidding(whole, 0)),
        "end": cosine(mask=sink.forbidding(whole, n - 1)),
        "word": cosine(mask=sink.forbidding(whole, n // 2)),
    }
    medians = {
        "length": float(heads[:, 3].median()),
        "ratio": float(torch.cat(ratios).median()),
        "best": float(heads[:, 2].mean()),
    }
    return found | medians, heads


def smollm_text(network, text):
    """Nats a token that it costs to silence the first key, to forbid it from row 32 or row 1 on, to forbid an ordinary key."""
    ids = torch.tensor(text)
    n = len(ids)
    kept, ratios, watch = _watched(0, slice(FROM, n))
    plain, whole = network.losses(ids, watch=watch)[COUNTED - 1 :].mean(), torch.ones(n, n, dtype=torch.bool).tril()
    heads = torch.cat(kept)

    def cost(**options: Any) -> float:
        return float(network.losses(ids, **options)[COUNTED - 1 :].mean() - plain)

    found = {
        "silenced": cost(weigh=sink.silencing(0, FROM)),
        "forbidden": cost(mask=sink.forbidding(whole, 0, FROM)),
        "early": cost(mask=sink.forbidding(whole, 0, 1)),
        "word": cost(mask=sink.forbidding(whole, FROM // 2, FROM)),
        "plain": float(plain),
    }
    medians = {
        "length": float(heads[:, 3].median()),
        "ratio": float(torch.cat(ratios).median()),
        "best": float(heads[:, 2].mean()),
    }
    return found | medians, heads


def points(model: Model) -> list[dict[str, Any]]:
    """Its lengths, on three kinds of text, two draws each."""
    return [dict(n=n) | draw for n in LENGTHS[model] for draw in corpora.DRAWS]


RECORDINGS = [
    Recording(
        f"trained-sink-{model.lower()}",
        run,
        points(model),
        settings=dict(model=model, count=corpora.COUNT),
        tolerance=2e-2,
        digits=4,
        shipped=False,  # recomputed by name, where the models are installed
    )
    for model in MODELS
]

if __name__ == "__main__":
    command_line(RECORDINGS)
