"""SmolLM2 copies random tokens; both models read texts at other sharpnesses, MiniLM beyond the
length of its training::

    IMDB_REVIEWS=... python -m attention_checks.trained.runs.copying --out book/data --jobs 2

writes ``trained-copying-smollm2.json``, ``trained-copying-weights-smollm2.json``,
``trained-sharpness-smollm2.json`` and ``trained-length-minilm.json``.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from attention_theory.exponential import truncated
from attention_theory.trained import replacing, texts
from attention_theory.trained.models import MiniLM, Weigh, minilm, softmax
from jaxtyping import Bool, Float, Int
from theorybook.sweep import Recording, command_line
from theorybook.validation import Bit, Numbers, Positive, Size
from torch import Tensor

from attention_checks.trained import corpora
from attention_checks.trained.runs.replacing import WEIGHTS
from attention_checks.trained.smollm2 import SmolLM2, smollm2

#: The range of the random tokens, and how many of them are written twice. The head is chosen at the
#: first of these lengths.
WORDS, HALVES = (1000, 40_000), (64, 128, 256, 512)
#: At this half the Taylor sum takes the place of softmax.
REPLACED, DEGREE = 128, 16
#: Weights that replace softmax in the copying task.
COPIED = ("T8 mean", "power 16", "relu", "sparsemax")
#: Sharpnesses of all rows; the first tokens of each band of places, and the end of the last one.
BETAS, BANDS = (0.7, 0.85, 1.0, 1.15), (16, 32, 64, 128, 256)
#: Row t is scaled by log t / log of this.
UNSCALED = 128
#: MiniLM's training was limited to 128 tokens, says its model card: texts of that length and four
#: times as long, with their two special tokens; sharpnesses of all rows, the fifth the growth by
#: log n; and the number of tokens in the middle of a text.
SPANS, SHARPNESSES, MIDDLE = (
    (126, 510),
    (0.7, 0.85, 1.0, 1.15, math.log(510) / math.log(UNSCALED), 1.5),
    64,
)


@dataclass(frozen=True)
class KeyStatistics:
    """For one key in each row: its share, and its log contrast, the amount by which its score
    exceeds the level of the other keys.
    """

    share: Float[Tensor, "heads queries"]
    contrast: Float[Tensor, "heads queries"]


def key_statistics(
    scores: Float[Tensor, "heads queries keys"],
    mask: Bool[Tensor, "queries keys"],
    keys: Int[Tensor, "queries"],
) -> KeyStatistics:
    """Share and log contrast of the key that each row names, under softmax.

    Raises:
        ValueError: a row does not see its key, or no other one.
    """
    if not bool(mask.gather(1, keys[:, None]).all()) or int(mask.sum(-1).min()) < 2:
        raise ValueError(
            "each row needs its key among the keys that it sees, and at least one other"
        )
    at = keys[None, :, None].expand(len(scores), -1, 1)
    allowed = scores.masked_fill(~mask, -math.inf)
    own, others = (
        allowed.gather(2, at)[..., 0],
        torch.logsumexp(allowed.scatter(2, at, -math.inf), -1),
    )
    return KeyStatistics(
        torch.sigmoid(own - others), own - others + torch.log(mask.sum(-1).to(scores) - 1)
    )


def lowest(betas: Sequence[float], losses: Numbers) -> Positive:
    """The minimum of a curve of losses, by the parabola in log beta through the least point and its
    neighbours.

    Raises:
        ValueError: fewer than three points.
    """
    y = np.asarray(losses, dtype=float)
    if len(y) != len(betas) or len(y) < 3:
        raise ValueError(
            f"needs at least three sharpnesses and as many losses, got {len(betas)} and {len(y)}"
        )
    at = min(max(int(y.argmin()), 1), len(y) - 2)
    x = np.log(betas[at - 1 : at + 2])
    a, b, _ = np.polyfit(x, y[at - 1 : at + 2], 2)
    return (
        math.exp(float(np.clip(-b / (2 * a), math.log(betas[0]), math.log(betas[-1]))))
        if a > 0
        else betas[int(y.argmin())]
    )


def copies(draw: Bit, count: Size) -> dict[str, Any]:
    """The results of :func:`copies_of_texts` on random tokens; ``heads`` for the first draw."""
    torch.set_num_threads(1)
    found = copies_of_texts(smollm2(), _random_tokens(draw, count))
    heads = found.pop("heads")
    return found | ({"heads": heads.astype(np.float16)} if draw == 0 else {})


def _random_tokens(draw: int, count: int) -> Int[Tensor, "texts tokens"]:
    generator = torch.Generator().manual_seed(draw)
    return torch.randint(*WORDS, (count, max(HALVES)), generator=generator)


def copies_of_texts(
    network: SmolLM2,
    texts: Int[Tensor, "texts tokens"],
    halves: tuple[int, ...] = HALVES,
    replaced: Size = REPLACED,
) -> dict[str, Any]:
    """For each text and half: median contrast and share of the right key in the chosen head, and
    the loss.

    The head is chosen once, at the first half. The right key of a token in the second copy is the
    one after its first place. Rows and losses are those of the second half of the second copy.
    ``taylor`` is what the Taylor sum of degree 16 costs at the half ``replaced``, ``heads`` are the
    contrasts of all heads as means over texts, ``keys`` the mean numbers of keys of the rows.
    """
    contrast, share, losses, costs = [], [], [], []
    with torch.no_grad():
        for text in texts:
            seen = [_copied(network, text[:half]) for half in halves]
            contrast.append(torch.stack([each[0] for each in seen]))
            share.append(torch.stack([each[1] for each in seen]))
            losses.append([each[2] for each in seen])
            ids = text[:replaced].repeat(2)
            taylor = network.losses(ids, weigh=replacing.family(truncated(DEGREE), "mean"))
            costs.append(float(_late(taylor, replaced)) - losses[-1][halves.index(replaced)])
    contrasts, shares = torch.stack(contrast), torch.stack(share)  # text, half, head
    best = int(shares[:, 0].mean(0).argmax())
    return {
        "head": [best // network.heads, best % network.heads],
        "keys": [float((_rows(half) + 1).float().mean()) for half in halves],
        "contrast": contrasts[..., best].numpy(),
        "share": shares[..., best].numpy(),
        "losses": np.array(losses),
        "taylor": np.array(costs),
        "heads": contrasts.mean(0).numpy(),
    }


def copies_under(draw: Bit, count: Size) -> dict[str, Any]:
    """The results of :func:`copying_costs` on the texts of :func:`copies`."""
    torch.set_num_threads(1)
    return copying_costs(smollm2(), _random_tokens(draw, count)[:, :REPLACED])


def copying_costs(
    network: SmolLM2, texts: Int[Tensor, "texts tokens"]
) -> dict[str, Float[np.ndarray, "texts"]]:
    """For each text that is written twice, and each of COPIED, what it costs in nats a token when
    it takes the place of softmax.

    Losses are those of the second half of the second copy.
    """
    costs = []
    with torch.no_grad():
        for text in texts:
            ids = text.repeat(2)
            plain, *others = [
                _late_loss(network, ids, weigh)
                for weigh in (softmax, *(WEIGHTS[name] for name in COPIED))
            ]
            costs.append([other - plain for other in others])
    return dict(zip(COPIED, np.array(costs).T))


def _late_loss(network: SmolLM2, ids: Tensor, weigh: Weigh) -> float:
    start = len(ids) * 3 // 4
    return float(
        F.cross_entropy(network.logits(network(ids, weigh=weigh)[start:-1]), ids[start + 1 :])
    )


def _rows(half: int) -> Tensor:
    return torch.arange(half + half // 2, 2 * half - 1, max(1, half // 64))


def _late(losses: Tensor, half: int) -> Tensor:
    return losses[half + half // 2 :].mean()


def _copied(network: SmolLM2, once: Tensor) -> tuple[Tensor, Tensor, float]:
    """For every head: median contrast and share of the right key; and the loss."""
    half, ids = len(once), once.repeat(2)
    rows, kept = _rows(half), []
    mask = torch.ones(len(ids), len(ids), dtype=torch.bool).tril()[rows]

    def watch(layer: int, scores: Tensor, weights: Tensor, values: Tensor) -> None:
        found = key_statistics(scores[:, rows], mask, rows - half + 1)
        kept.append(torch.stack([found.contrast.median(1).values, found.share.median(1).values]))

    loss = float(_late(network.losses(ids, watch=watch), half))
    contrast, share = torch.cat(kept, 1)
    return contrast, share, loss


def sharpness(kind: corpora.Kind, draw: Bit, count: Size) -> dict[str, Any]:
    """The results of :func:`sharpness_of_texts`."""
    torch.set_num_threads(1)
    network = smollm2()
    return sharpness_of_texts(network, corpora.drawn(kind, network, BANDS[-1], draw, count))


def sharpness_of_texts(network: SmolLM2, texts: list[list[int]]) -> dict[str, Any]:
    """For each text the sharpness of least loss in each band, and what scaling by log t costs; mean
    losses by sharpness.
    """
    found = []
    with torch.no_grad():
        for text in texts:
            ids = torch.tensor(text)
            found.append(
                torch.stack(
                    [
                        *(network.losses(ids, weigh=replacing.sharper(beta)) for beta in BETAS),
                        _scaled(network, ids),
                    ]
                )
            )
    losses = torch.stack(found).double()  # text, sharpness, token after the first
    bands = torch.stack(
        [losses[..., low - 1 : high - 1].mean(-1) for low, high in itertools.pairwise(BANDS)], -1
    )
    late = losses[..., BANDS[0] - 1 :].mean(-1)
    return {
        "best": np.array(
            [
                [lowest(BETAS, text[:-1, band]) for band in range(len(BANDS) - 1)]
                for text in bands.numpy()
            ]
        ),
        "scaled": (late[:, -1] - late[:, BETAS.index(1.0)]).numpy(),
        "curves": bands.mean(0).numpy(),
    }


def _scaled(network: SmolLM2, ids: Tensor) -> Tensor:
    """Losses when the scores of row t, which sees t keys, are scaled by log t / log 128."""
    factor = torch.arange(1, len(ids) + 1).log()[:, None] / math.log(UNSCALED)
    return network.losses(
        ids, weigh=lambda scores, mask, layer: replacing.sharper(1)(factor * scores, mask, layer)
    )


def margins(n: Size, kind: corpora.Kind, draw: Bit, count: Size) -> dict[str, Any]:
    """The results of :func:`margins_of_texts`."""
    torch.set_num_threads(1)
    network = minilm()
    return margins_of_texts(network, corpora.drawn(kind, network, n, draw, count))


def margins_of_texts(
    network: MiniLM, texts: list[list[int]], middle: Size = MIDDLE
) -> dict[str, Any]:
    """How much nearer a text is to its own middle tokens than to those of the other texts: the mean
    over texts at each sharpness. All texts have the same length.

    ``scaled`` is, for each text, the margin at the growth by log n less that at sharpness 1.
    Middles are read at sharpness 1.
    """
    cut = (len(texts[0]) - middle) // 2
    with torch.no_grad():
        middles = torch.stack(
            [network.embed(network.framed(text[cut : cut + middle])) for text in texts]
        )
        wholes = [
            torch.stack(
                [
                    network.embed(network.framed(text), weigh=replacing.sharper(beta))
                    for text in texts
                ]
            )
            for beta in SHARPNESSES
        ]
    found_margins = torch.stack([own_margins(each @ middles.T) for each in wholes]).double()
    grown, plain = found_margins[-2], found_margins[SHARPNESSES.index(1.0)]
    return {"curve": found_margins.mean(1).numpy(), "scaled": (grown - plain).numpy()}


def own_margins(near: Float[Tensor, "texts texts"]) -> Float[Tensor, "texts"]:
    """The diagonal less the mean of the rest of each row."""
    own = near.diagonal()
    return own - (near.sum(1) - own) / (len(near) - 1)


RECORDINGS = [
    Recording(
        "trained-copying-smollm2",
        copies,
        [dict(draw=draw) for draw in (0, 1)],
        settings=dict(count=corpora.COUNT),
        tolerance=2e-2,
        digits=4,
        shipped=False,  # recomputed by name, where the models are installed
    ),
    Recording(
        "trained-copying-weights-smollm2",
        copies_under,
        [dict(draw=draw) for draw in (0, 1)],
        settings=dict(count=corpora.COUNT),
        tolerance=2e-2,
        digits=4,
        shipped=False,
    ),
    Recording(
        "trained-sharpness-smollm2",
        sharpness,
        corpora.DRAWS,
        settings=dict(count=corpora.COUNT),
        tolerance=2e-2,
        digits=4,
        shipped=False,
    ),
    Recording(
        "trained-length-minilm",
        margins,
        [dict(n=n) | draw for n in SPANS for draw in corpora.DRAWS],
        settings=dict(count=corpora.COUNT),
        tolerance=2e-2,
        digits=4,
        shipped=False,
    ),
]

if __name__ == "__main__":
    command_line(RECORDINGS)
