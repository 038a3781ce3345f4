"""Token matrices of four kinds: iid, anisotropic, real word vectors, and film reviews as a trained
encoder represents them.

A context is a matrix X (n, d) whose rows, the tokens, have norm sqrt d (bombari2024, Assumption 1).

>>> from attention_theory.tokens import contexts, on_sphere
>>> X = contexts("real", 2, 5, 192, seed=1)
>>> X.shape, on_sphere(X).allclose(X)
(torch.Size([2, 5, 192]), True)
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float
from theorybook.validation import Count, NonNegative, Seed, Size
from torch import Tensor

from attention_theory.device import generator, normal

#: The word vectors that ship with this package; ``attention_checks.word_vectors`` built them.
FILE = Path(__file__).parent / "data" / "words.npz"
#: The kinds that need nothing but this package.
KINDS = ("iid", "anisotropic", "real")
#: Film reviews: encoded by MiniLM (needs ``make models`` and the file ``IMDB_REVIEWS``), or by
#: BERT-Base (needs transformers and, once, a network connection).
REVIEWS = ("layer-0", "layer-0-bert", "bert")
#: The script of bombari2024's authors keeps reviews of fewer than 240 pieces and pads them to 256.
SHORT, PADDED = 240, 256
#: The special pieces of the vocabulary that BERT and MiniLM share.
CLS, SEP, PAD = 101, 102, 0
#: Squared norm of the mean of anisotropic tokens, as a share of d, and the exponent of their
#: covariance's eigenvalues.
MEAN_SHARE = 0.3
SPECTRUM = 1.0


# Norm sqrt d
# --------------------------------------------------------------------------------------------------


def on_sphere(X: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
    """Rows scaled to norm sqrt d (bombari2024, Assumption 1).

    Raises:
        ValueError: a row is zero or not finite, so that it has no direction.
    """
    norms = X.norm(dim=-1, keepdim=True)
    bad = ~(torch.isfinite(norms) & (norms > 0))
    if bool(bad.any()):
        raise ValueError(
            f"{int(bad.sum())} of {norms.numel()} tokens are zero or not finite: they have no "
            "direction"
        )
    return X * (X.shape[-1] ** 0.5 / norms)


def require_on_sphere(X: Float[Tensor, "*batch d"], tolerance: NonNegative = 1e-6) -> None:
    """Raise ValueError unless all tokens are finite and of norm sqrt d.

    Raises:
        ValueError: with the norm found; :func:`on_sphere` rescales the tokens.
    """
    radius = X.shape[-1] ** 0.5
    norms = X.norm(dim=-1).flatten()
    worst = norms[(norms - radius).abs().argmax()].item()
    if abs(worst - radius) > tolerance * radius:
        raise ValueError(
            f"tokens must have norm sqrt(d) = {radius:.6g} (bombari2024, Assumption 1), one has "
            f"{worst:.6g}; "
            "attention_theory.tokens.on_sphere(X) scales them"
        )


# Contexts
# --------------------------------------------------------------------------------------------------


def contexts(kind: str, count: Size, n: Count, d: Count, seed: Seed) -> Float[Tensor, "count n d"]:
    """``count`` contexts of ``n`` tokens in R^d, each of norm sqrt d, float64 on the CPU.

    ``iid``: uniform on the sphere. ``anisotropic``: Gaussian tokens with a shared mean and a
    power-law covariance, scaled to the sphere; the eigenvectors are the coordinate axes and the
    mean is constant over them, which is no loss for feature maps with rotation-invariant weights.
    ``real``: passages of English, see :func:`passages`, each word given by the first d coordinates
    of its vector. ``layer-0``: :func:`reviews` encoded by MiniLM; ``layer-0-bert``: by BERT-Base.
    ``bert``: :func:`imdb` reviews through :func:`bert_contexts`, rows of the input embedding alone.

    Args:
        kind: one of ``iid``, ``anisotropic``, ``real``, ``layer-0``, ``layer-0-bert``, ``bert``.
        count: number of contexts.
        n: tokens in each.
        d: dimension; at most 768 for ``real`` and BERT's kinds, 384 for ``layer-0``.
        seed: of the draw, or of the choice of passages or reviews.

    Raises:
        ValueError: unknown kind, a size below 1, or a dimension or length that the data do not
            have.
        ImportError, FileNotFoundError: a kind of film reviews without its packages or its file.
    """
    if kind == "iid":
        return on_sphere(normal(count, n, d, generator=generator(seed)))
    if kind == "anisotropic":
        eigenvalues = torch.arange(1, d + 1, dtype=torch.float64) ** -SPECTRUM
        scale = (eigenvalues * (d * (1 - MEAN_SHARE) / eigenvalues.sum())).sqrt()
        return on_sphere(normal(count, n, d, generator=generator(seed)) * scale + MEAN_SHARE**0.5)
    if kind == "real":
        return embed(passages(count, n, seed), d)
    if kind in ENCODERS:
        return reviews(count, n, d, seed, ENCODERS[kind]())[0]
    if kind == "bert":
        return bert_contexts(imdb()[0], count, n, d, seed, **bert_base())
    raise ValueError(
        f"tokens of kind {kind!r} are unknown; choose one of {', '.join(KINDS + REVIEWS)}"
    )


# Real words
# --------------------------------------------------------------------------------------------------


@cache
def _shipped() -> dict[str, np.ndarray]:
    with np.load(FILE, allow_pickle=False) as data:
        return dict(data)


def vocabulary() -> list[str]:
    """The words that have a vector, most frequent first."""
    return _shipped()["words"].tolist()


def passages(count: Size, n: Count, seed: Seed) -> list[list[str]]:
    """``count`` different passages of ``n`` words from the text on which the word vectors were
    trained.

    The text has about 48,000 words; rare ones are left out. Passages do not overlap as long as the
    text has ``count * n`` words. Beyond that their starts are spread evenly, and neighbouring
    passages share words at shifted positions.

    Raises:
        ValueError: the text is too short for so many different passages.
    """
    data = _shipped()
    room = len(data["text"]) - n
    stride = min(n, room // max(count - 1, 1)) if room >= 0 else 0
    if stride < 1:
        raise ValueError(
            f"{count} different passages of {n} words do not fit into a text of "
            f"{len(data['text'])} words"
        )
    starts = stride * torch.randperm(room // stride + 1, generator=generator(seed))[:count].numpy()
    return data["words"][data["text"][starts[:, None] + np.arange(n)]].tolist()


def embed(words: Sequence, d: Count) -> Float[Tensor, "*batch d"]:
    """Token vectors of words: the first d coordinates of each word's vector, scaled to norm sqrt d.

    Args:
        words: words, or lists of words of equal length.
        d: dimension, at most 768.

    Raises:
        ValueError: a word without a vector, or ``d`` out of range.
    """
    data = _shipped()
    limit = data["vectors"].shape[1]
    if not 1 <= d <= limit:
        raise ValueError(
            f"word vectors have {limit} coordinates, so d must lie between 1 and {limit}, got {d}"
        )
    index = {word: number for number, word in enumerate(data["words"].tolist())}
    asked = np.asarray(words)
    unknown = sorted(set(asked.ravel().tolist()) - index.keys())
    if unknown:
        shown = ", ".join(map(repr, unknown[:3]))
        raise ValueError(
            f"no vector for {shown}; vocabulary() lists the {len(index)} words that have one"
        )
    rows = np.vectorize(index.__getitem__, otypes=[int])(asked)
    return on_sphere(torch.from_numpy(data["vectors"][rows, :d]).double())


# Film reviews as an encoder reads them
# -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Encoder:
    """The parts of a trained encoder that are used here: its tokeniser and the input of its first
    layer.
    """

    name: str
    #: The token ids of a text, without special tokens.
    pieces: Callable[[str], list[int]]
    #: Token ids (n,) -> (n, features): the sum of word, position and type embedding, after
    #: LayerNorm.
    layer_zero: Callable[[Tensor], Tensor]


@cache
def minilm_encoder(bare: bool = False) -> Encoder:
    """MiniLM-L6, with 384 features, from its wheel.

    Args:
        bare: take the rows of the word embedding alone, without position, type and LayerNorm.

    Raises:
        ImportError: the wheel is not installed.
    """
    from attention_theory.trained.models import minilm

    model = minilm()
    return Encoder(
        "MiniLM",
        cache(model.tokens),
        model.words if bare else lambda ids: model.layer_zero(model.words(ids)),
    )


@cache
def bert_encoder() -> Encoder:
    """BERT-Base, with 768 features, the model of bombari2024.

    Raises:
        ImportError: transformers is not installed.
    """
    base = bert_base()
    tokenizer, model = base["tokenizer"], base["model"].eval()
    with_places = lambda ids: model.embeddings(input_ids=ids[None])[0].detach()
    pieces = cache(lambda text: tokenizer(text, add_special_tokens=False)["input_ids"])
    return Encoder("BERT-Base", pieces, with_places)


#: The kinds of film reviews that come with their sentiment, and their encoders.
ENCODERS: dict[str, Callable[[], Encoder]] = {
    "layer-0": minilm_encoder,
    "layer-0-bert": bert_encoder,
}


def reviews(
    count: Size,
    n: Count,
    d: Count,
    seed: Seed,
    encoder: Encoder,
    texts: Sequence[tuple[str, int]] | None = None,
) -> tuple[Float[Tensor, "count n d"], Float[Tensor, "count"]]:
    """Film reviews prepared as in the scripts of bombari2024's authors, and their sentiment, 1 or
    -1.

    Each review is [CLS], its pieces including any HTML, [SEP], and padding to 256. Reviews of 240
    pieces or more are left out, and so is any review whose first n tokens repeat those of another:
    a file can hold a review twice, and two equal contexts make every kernel singular. The tokens
    are the first d coordinates of the output of layer 0 at the first n positions. So the first
    token, the one that moves in the figures, is always [CLS], and in a long context the last ones
    are padding.

    Args:
        count: number of contexts.
        n: tokens in each, at most 256.
        d: dimension, at most the encoder's.
        seed: of the choice of reviews.
        encoder: :func:`minilm_encoder` or :func:`bert_encoder`.
        texts: texts and labels; the file ``IMDB_REVIEWS`` if not given.

    Raises:
        ValueError: n or d too large, a label other than 1 and -1, or too few short reviews.

    bombari2024, Figures 2 to 7, by the authors' scripts.
    """
    if n > PADDED:
        raise ValueError(
            f"n = {n} is too long: a review is padded to {PADDED} tokens here, so n is at most that"
        )
    if texts is None:
        from attention_theory.trained import texts as files

        texts = files.reviews()
    odd = {label for _, label in texts} - {1, -1}
    if odd:
        raise ValueError(f"labels must be 1 or -1, got {', '.join(map(str, sorted(odd)[:3]))}")
    chosen, labels = [], []
    for number in torch.randperm(len(texts), generator=generator(seed)).tolist():
        text, label = texts[number]
        if len(pieces := encoder.pieces(text)) < SHORT:
            context = [CLS, *pieces, SEP, *[PAD] * (PADDED - 2 - len(pieces))][:n]
            if context not in chosen:
                chosen.append(context)
                labels.append(label)
        if len(chosen) == count:
            break
    else:
        raise ValueError(
            f"{count} different reviews of fewer than {SHORT} pieces are needed, and only "
            f"{len(chosen)} of {len(texts)} are"
        )
    rows = torch.stack([encoder.layer_zero(torch.tensor(ids)) for ids in chosen]).double()
    if d > rows.shape[2]:
        raise ValueError(
            f"tokens of {encoder.name} have {rows.shape[2]} coordinates, so d is at most that, "
            f"got {d}"
        )
    return on_sphere(rows[..., :d]), torch.tensor(labels).double()


# Rows of BERT's input embedding
# --------------------------------------------------------------------------------------


def bert_base(name: str = "google-bert/bert-base-uncased") -> dict[str, Any]:
    """Tokeniser and model of BERT-Base, as keyword arguments of :func:`bert_contexts`.

    Raises:
        ImportError: transformers is not installed.
    """
    try:
        from transformers import AutoModel, AutoTokenizer  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise ImportError(
            "BERT tokens need the package transformers: pip install transformers"
        ) from None
    return {
        "tokenizer": AutoTokenizer.from_pretrained(name),
        "model": AutoModel.from_pretrained(name),
    }


def imdb(name: str = "stanfordnlp/imdb", split: str = "train") -> tuple[list[str], list[int]]:
    """The reviews of the imdb dataset and their labels: -1 negative, +1 positive.

    Raises:
        ImportError: datasets is not installed.
    """
    try:
        from datasets import load_dataset  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise ImportError(
            "the imdb reviews need the package datasets: pip install datasets"
        ) from None
    rows = load_dataset(name, split=split)
    return list(rows["text"]), [2 * label - 1 for label in rows["label"]]


@runtime_checkable
class Embedding(Protocol):
    """The only method of a transformers model that is used here."""

    def get_input_embeddings(self) -> Any: ...


def bert_contexts(
    texts: Iterable[str],
    count: Size,
    n: Count,
    d: Count,
    seed: Seed,
    *,
    tokenizer: Callable[..., Any],
    model: Embedding,
) -> Float[Tensor, "count n d"]:
    """Contexts from texts: the first d coordinates of the embeddings of the first n tokens.

    A token's embedding is its row of the model's input embedding, without position; special tokens
    are left out. These are not the data of bombari2024, which :func:`reviews` has.

    Args:
        texts: at least ``count`` of them must have n tokens.
        count: number of contexts.
        n: tokens in each.
        d: dimension, at most the model's.
        seed: of the choice of texts.
        tokenizer: a transformers tokenizer.
        model: a transformers model, of which the input embedding is used.

    Raises:
        ValueError: too few texts of n tokens, or ``d`` above the model's dimension.
    """
    table = model.get_input_embeddings().weight.detach().double().cpu()
    if not 1 <= d <= table.shape[1]:
        raise ValueError(
            f"this model's tokens have {table.shape[1]} coordinates, so d must lie between 1 and "
            f"{table.shape[1]}, got {d}"
        )
    texts = list(texts)
    chosen = []
    for number in torch.randperm(len(texts), generator=generator(seed)).tolist():
        plain = re.sub(r"<[^>]*>", " ", texts[number])  # reviews contain line breaks as HTML
        ids = tokenizer(plain, add_special_tokens=False, truncation=True, max_length=n)["input_ids"]
        if len(ids) == n:
            chosen.append(ids)
        if len(chosen) == count:
            return on_sphere(table[torch.tensor(chosen)][..., :d])
    raise ValueError(
        f"{count} texts of {n} tokens are needed, and only {len(chosen)} of {len(texts)} are that "
        "long"
    )
