"""The first key, silenced and forbidden, in both models, compared with an ordinary key::

    IMDB_REVIEWS=... python -m attention_checks.trained.runs.sink --out book/data --jobs 2

writes ``trained-sink-minilm.json`` and ``trained-sink-smollm2.json``, row by row
``trained-sink-rows-minilm.json`` and ``trained-sink-rows-smollm2.json``, and with one layer touched
at a time ``trained-sink-layers-minilm.json`` and ``trained-sink-layers-smollm2.json``.
"""

import itertools
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from attention_theory.trained import sink
from attention_theory.trained.models import MiniLM, Weigh, minilm, softmax
from jaxtyping import Float
from scipy import stats
from theorybook.sweep import Recording, command_line
from theorybook.validation import Bit, Natural, Size
from torch import Tensor

from attention_checks.trained import corpora
from attention_checks.trained.smollm2 import SmolLM2, smollm2

#: For the key in each head, over rows: mean weight, share of rows that give it more than half,
#: share of rows whose best key it is, its value's length over the median length, median ratio of
#: what forbidding and what silencing changes.
STATISTICS = ("weight", "half", "best", "length", "ratio")
Model = Literal["MiniLM", "SmolLM2"]
MODELS: tuple[Model, ...] = ("MiniLM", "SmolLM2")
#: Numbers of tokens of the texts; the row from which on SmolLM2's first key is changed, and the
#: first token whose loss counts.
LENGTHS, FROM, COUNTED = {"MiniLM": (16, 64, 128, 256), "SmolLM2": (256,)}, 32, 64
#: Numbers of tokens of the texts that are read row by row, and of those for which one layer at a
#: time is changed.
BY_ROW, BY_LAYER = 128, {"MiniLM": 128, "SmolLM2": 96}
#: Rows are sorted by what the first key leaves to the others, 1 - w, between these edges.
EDGES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
#: A row reads what a sink of value 0 would leave it, up to this factor.
NEAR = 1.25


def run(model: Model, n: Size, kind: corpora.Kind, draw: Bit, count: Size) -> dict[str, Any]:
    """For each text the effects of silencing and forbidding, and for one draw the means of each
    head.
    """
    torch.set_num_threads(1)
    network = _network(model)
    found = of_texts(network, corpora.drawn(kind, network, n, draw, count))
    heads = found.pop("heads")
    return found | corpora.pictured(kind, draw, heads=heads)


def _network(model: Model) -> MiniLM | SmolLM2:
    return minilm() if model == "MiniLM" else smollm2()


def of_texts(network: MiniLM | SmolLM2, texts: list[list[int]]) -> dict[str, Any]:
    """The results of :func:`minilm_text` or :func:`smollm_text` for each text; ``heads`` (head,
    statistic) are means over texts.
    """
    measure = minilm_text if isinstance(network, MiniLM) else smollm_text
    with torch.no_grad():
        found = [measure(network, text) for text in texts]
    return {name: np.array([each[name] for each, _ in found]) for name in found[0][0]} | {
        "heads": torch.stack([heads for _, heads in found]).mean(0).numpy()
    }


def _watched(key: int, rows: slice) -> tuple[list[Tensor], list[Tensor], Callable]:
    """What to collect, for each layer (heads, statistic) and the ratios of all rows, and the
    function that collects it.
    """
    kept, ratios = [], []

    def watch(layer: int, scores: Tensor, weights: Tensor, values: Tensor) -> None:
        w = weights[:, rows]
        ways = sink.two_ways(w.clamp(max=1 - 1e-6), values, key)
        ratio = ways.forbidden / ways.silenced.clamp(min=1e-12)
        ratios.append(ratio.flatten())
        lengths = values.norm(dim=-1)
        length = lengths[:, key] / lengths.median(1).values
        half, best = ((w[..., key] > 0.5).to(w).mean(1), (w.argmax(-1) == key).to(w).mean(1))
        kept.append(
            torch.stack([w[..., key].mean(1), half, best, length, ratio.median(1).values], -1)
        )

    return kept, ratios, watch


def _summary(heads: Tensor, ratios: list[Tensor]) -> dict[str, float]:
    """Medians over heads and over all rows, and the share of the rows whose best key is the watched
    one.
    """
    length, ratio = heads[:, 3].median(), torch.cat(ratios).median()
    return {"length": float(length), "ratio": float(ratio), "best": float(heads[:, 2].mean())}


def minilm_text(network, text):
    """Cosines of the sentence vector with [CLS] silenced, [CLS], [SEP] or a word forbidden; medians
    over heads and rows.
    """
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
    return found | _summary(heads, ratios), heads


def smollm_text(network, text):
    """Nats a token that it costs to silence the first key, to forbid it from row 32 or row 1 on, to
    forbid an ordinary key.
    """
    ids = torch.tensor(text)
    n = len(ids)
    kept, ratios, watch = _watched(0, slice(FROM, n))
    plain, whole = (
        network.losses(ids, watch=watch)[COUNTED - 1 :].mean(),
        torch.ones(n, n, dtype=torch.bool).tril(),
    )
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
    return found | _summary(heads, ratios), heads


def run_rows(model: Model, n: Size, kind: corpora.Kind, draw: Bit, count: Size) -> dict[str, Any]:
    """The results of :func:`rows_of_texts`; ``edges`` for one draw only."""
    torch.set_num_threads(1)
    network = _network(model)
    found = rows_of_texts(network, corpora.drawn(kind, network, n, draw, count))
    edges = found.pop("edges")
    return found | ({"edges": edges} if (kind, draw) == corpora.PICTURED else {})


def rows_of_texts(network: MiniLM | SmolLM2, texts: list[list[int]]) -> dict[str, Any]:
    """For rows that give the first key more than half of their weight: what they read, over (1 -
    w)|m|, which a sink of value 0 would leave them.

    For each text the median of that ratio over the rows of all heads (``read``), the part of the
    rows where it lies within a factor of 1.25 of 1 (``near``), and the part of all rows that give
    the first key more than half (``half``). ``edges`` has, of the rows of all texts between two of
    the EDGES, the median of what they read over |m| and their part of all rows.
    """
    found: dict[str, list[float]] = {"read": [], "near": [], "half": []}
    pooled = []
    with torch.no_grad():
        for text in texts:
            left, read = row_reads(network, text)
            sunk = left < 0.5
            ratio = read[sunk] / left[sunk]
            found["read"].append(float(ratio.median()))
            found["near"].append(float(((ratio < NEAR) & (ratio > 1 / NEAR)).to(ratio).mean()))
            found["half"].append(float(sunk.to(left).mean()))
            pooled.append(torch.stack([left, read]))
    edges = _between(torch.cat(pooled, 1))
    return {name: np.array(each) for name, each in found.items()} | {"edges": edges}


def row_reads(
    network: MiniLM | SmolLM2, text: list[int]
) -> tuple[Float[Tensor, "rows"], Float[Tensor, "rows"]]:
    """For the rows of all heads: 1 - w, which the first key leaves to the others, and the length of
    what is read over |m|.
    """
    ids, rows = _ids(network, text)
    left, read = [], []

    def watch(layer: int, scores: Tensor, weights: Tensor, values: Tensor) -> None:
        others = weights[:, rows, 1:].sum(-1)  # not 1 - w, which rounding spoils where w is near 1
        reads = weights[:, rows] @ values
        without = (weights[:, rows, 1:] @ values[:, 1:]) / others[..., None]
        left.append(others.flatten())
        read.append((reads.norm(dim=-1) / without.norm(dim=-1)).flatten())

    network(ids, watch=watch)
    return torch.cat(left), torch.cat(read)


def _ids(network: MiniLM | SmolLM2, text: list[int]) -> tuple[Tensor, slice]:
    """What the network reads, and the rows that count: MiniLM's words, SmolLM2's from row 32 on."""
    if isinstance(network, MiniLM):
        return network.framed(text), slice(1, len(text) + 1)
    return torch.tensor(text), slice(FROM, len(text))


def _between(rows: Tensor) -> np.ndarray:
    """(edge, 2): median of what is read over |m|, and part of all rows."""
    left, read = rows
    found = []
    for low, high in itertools.pairwise(EDGES):
        inside = (left >= low) & (left < high)
        found.append(
            [float(read[inside].median()) if inside.any() else 0.0, float(inside.to(left).mean())]
        )
    return np.array(found)


def run_layers(model: Model, n: Size, kind: corpora.Kind, draw: Bit, count: Size) -> dict[str, Any]:
    """The first key touched in one layer at a time: see :func:`minilm_layers`,
    :func:`smollm_layers`.
    """
    torch.set_num_threads(1)
    network = _network(model)
    with torch.no_grad():
        bodies = corpora.drawn(kind, network, n, draw, count)
        return (
            minilm_layers(network, bodies)
            if isinstance(network, MiniLM)
            else smollm_layers(network, bodies)
        )


def in_layer(number: Natural, weigh: Weigh) -> Weigh:
    """A weight function that applies the given one in one layer and softmax in all others."""
    return lambda scores, mask, layer: (weigh if layer == number else softmax)(scores, mask, layer)


def without_key(key: Natural, first_row: Natural = 0) -> Weigh:
    """Softmax over the other keys, from a row on."""
    return lambda scores, mask, layer: softmax(scores, sink.forbidding(mask, key, first_row))


def minilm_layers(network: MiniLM, bodies: list[list[int]]) -> dict[str, Any]:
    """For each text in how many layers forbidding [CLS] there alone turns the sentence vector
    further than silencing it.

    ``silenced`` and ``forbidden`` are, for each layer, the mean cosines with the untouched sentence
    vector.
    """
    found = []
    for body in bodies:
        ids = network.framed(body)
        plain = network.embed(ids)
        ways = (sink.silencing(0), without_key(0))
        found.append(
            [
                [
                    float(plain @ network.embed(ids, weigh=in_layer(k, way)))
                    for k in range(network.layers)
                ]
                for way in ways
            ]
        )
    silenced, forbidden = np.array(found).transpose(1, 0, 2)  # text, layer
    further = (forbidden < silenced).sum(1).astype(float)
    return {"further": further, "silenced": silenced.mean(0), "forbidden": forbidden.mean(0)}


def smollm_layers(network: SmolLM2, bodies: list[list[int]]) -> dict[str, Any]:
    """For each text the rank correlation, over layers, of -log(1 - w) with what it costs to forbid
    the first key there alone.

    ``cost`` and ``held`` are the two for each layer, as means over texts; -log(1 - w) is a mean
    over rows and heads.
    """
    costs, held = [], []
    for body in bodies:
        ids, mask, kept = (
            torch.tensor(body),
            torch.ones(len(body), len(body), dtype=torch.bool).tril(),
            [],
        )

        def watch(layer: int, scores: Tensor, weights: Tensor, values: Tensor, kept=kept) -> None:
            kept.append(float(-weights[:, FROM:, 1:].sum(-1).log().mean()))

        states = [network.w["token_embd.weight"][ids]]
        for number in range(network.layers):
            states.append(network.layer(states[-1], number, softmax, mask, watch))
        plain = _late_loss(network, states[-1], ids)
        costs.append(
            [_touched(network, states[k], ids, k, mask) - plain for k in range(network.layers)]
        )
        held.append(kept)
    rank = [stats.spearmanr(each, axis=1)[0] for each in zip(held, costs)]
    return {"rank": np.array(rank), "cost": np.mean(costs, 0), "held": np.mean(held, 0)}


def _touched(network: SmolLM2, x: Tensor, ids: Tensor, number: int, mask: Tensor) -> float:
    """The loss when the first key is forbidden in this layer alone, from the states before it."""
    for layer in range(number, network.layers):
        x = network.layer(x, layer, in_layer(number, without_key(0, FROM)), mask)
    return _late_loss(network, x, ids)


def _late_loss(network: SmolLM2, x: Tensor, ids: Tensor) -> float:
    late = network.normalised(x)[COUNTED - 1 : -1]
    return float(F.cross_entropy(network.logits(late), ids[COUNTED:]))


def points(model: Model) -> list[dict[str, Any]]:
    """The model's lengths, on three kinds of text, two draws each."""
    return [dict(n=n) | draw for n in LENGTHS[model] for draw in corpora.DRAWS]


def _recording(name: str, function: Any, model: Model, points: list[dict[str, Any]]) -> Recording:
    return Recording(
        f"{name}-{model.lower()}",
        function,
        points,
        settings=dict(model=model, count=corpora.COUNT),
        tolerance=2e-2,
        digits=4,
        shipped=False,  # recomputed by name, where the models are installed
    )


#: One layer at a time takes SmolLM2 thirty passes a text: prose alone.
LAYER_DRAWS = {
    "MiniLM": corpora.DRAWS,
    "SmolLM2": [each for each in corpora.DRAWS if each["kind"] == "prose"],
}
RECORDINGS = [
    *(_recording("trained-sink", run, model, points(model)) for model in MODELS),
    *(
        _recording(
            "trained-sink-rows", run_rows, model, [dict(n=BY_ROW) | each for each in corpora.DRAWS]
        )
        for model in MODELS
    ),
    *(
        _recording(
            "trained-sink-layers",
            run_layers,
            model,
            [dict(n=BY_LAYER[model]) | each for each in LAYER_DRAWS[model]],
        )
        for model in MODELS
    ),
]

if __name__ == "__main__":
    command_line(RECORDINGS)
