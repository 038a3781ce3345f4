"""A full vision transformer, whose scores come from the tokens or from the positions alone."""

import torch
from jaxtyping import Float
from theorybook.validation import NonNegative, Seed, Size
from torch import Tensor, nn

from attention_theory.attention import attention_weights
from attention_theory.device import generator
from attention_theory.patches.images import patches_of, tiles_along

ATTENTION = ("vanilla", "positional")


class SelfAttention(nn.Module):
    """Multi-head attention; queries and keys are computed from the tokens, or from the positional
    encodings.
    """

    def __init__(self, dim: Size, heads: Size):
        super().__init__()
        if heads < 1 or dim % heads:
            raise ValueError(f"dimension {dim} does not split into {heads} heads")
        self.dim, self.heads = dim, heads
        self.query, self.key, self.value, self.out = (nn.Linear(dim, dim) for _ in range(4))

    def forward(self, tokens: Float[Tensor, "*batch D dim"], source: Float[Tensor, "*lead D dim"]):
        """The attention output; queries and keys come from ``source``: the tokens, or (1, D, dim)
        positions.
        """

        def split(x):
            return x.unflatten(-1, (self.heads, -1)).transpose(-3, -2)

        q, k, v = split(self.query(source)), split(self.key(source)), split(self.value(tokens))
        weights = attention_weights(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5)
        return self.out((weights @ v).transpose(-3, -2).flatten(-2))


class Block(nn.Module):
    """Attention and a two-layer network, each preceded by a layer norm and bypassed by a skip
    connection.
    """

    def __init__(self, dim: Size, heads: Size, hidden: Size):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = SelfAttention(dim, heads)
        self.mlp = nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, dim))

    def forward(
        self,
        tokens: Float[Tensor, "*batch D dim"],
        positions: Float[Tensor, "*lead D dim"] | None = None,
    ):
        normed = self.norm1(tokens)
        tokens = tokens + self.attention(normed, normed if positions is None else positions)
        return tokens + self.mlp(self.norm2(tokens))


class VisionTransformer(nn.Module):
    """Patches, L blocks of attention, mean pooling, a linear classifier (jelassi2022, Section 6 and
    Appendix A.1).

    ``vanilla`` adds the positional encodings to the tokens once (Definition 3.1); ``positional``
    never does, and every layer's scores are those of the encodings alone, (P W_Q)(P W_K)^T
    (Definition 3.2).

    Args:
        side: pixels along an edge of the image.
        channels: colour channels.
        classes: outputs.
        patch: pixels along an edge of a patch, a divisor of ``side``.
        layers, heads, dim, hidden: sizes of the network; the paper's are 7, 12, 384, 384.
        attention: ``vanilla`` or ``positional``.
        position_scale: standard deviation of the positional encodings at the start.
        seed: of the initial parameters.

    Raises:
        ValueError: unknown attention, or sizes that do not divide.
    """

    def __init__(
        self,
        side: Size,
        channels: Size,
        classes: Size,
        *,
        patch: Size,
        layers: Size = 7,
        heads: Size = 12,
        dim: Size = 384,
        hidden: Size = 384,
        attention: str = "vanilla",
        position_scale: NonNegative = 1.0,
        seed: Seed = 0,
    ):
        super().__init__()
        if attention not in ATTENTION:
            raise ValueError(
                f"attention {attention!r} is unknown; choose one of {', '.join(ATTENTION)}"
            )
        D = tiles_along(side, patch) ** 2
        self.patch, self.attention = patch, attention
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.embed = nn.Linear(channels * patch**2, dim)
            self.blocks = nn.ModuleList(Block(dim, heads, hidden) for _ in range(layers))
            self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, classes)
        start = torch.randn(D, dim, generator=generator(seed), dtype=torch.float64)
        self.positions = nn.Parameter((position_scale * start).to(torch.get_default_dtype()))

    def forward(self, pixels: Float[Tensor, "n channels side side"]) -> Float[Tensor, "n classes"]:
        """Class scores."""
        tokens = self.embed(patches_of(pixels, self.patch))
        positions = self.positions[None] if self.attention == "positional" else None
        if positions is None:
            tokens = tokens + self.positions
        for block in self.blocks:
            tokens = block(tokens, positions)
        return self.head(self.norm(tokens).mean(1))

    def similarity(self) -> Float[Tensor, "D D"]:
        """P^T P in the paper's notation: inner products of the positional encodings."""
        P = self.positions.detach().double()
        return P @ P.T
