"""Attention: scores -> weights -> values, the core that every part shares.

>>> import torch
>>> from attention_theory.attention import Weights, attention_weights
>>> scores = torch.tensor([[2.0, 2.0], [1.0, 3.0]])
>>> attention_weights(scores, "linear")
tensor([[0.5000, 0.5000],
        [0.2500, 0.7500]])
>>> attention_weights(scores, Weights("power", 2))
tensor([[0.5000, 0.5000],
        [0.1000, 0.9000]])
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from theorybook.validation import Arithmetic, Extended
from torch import Tensor

FAMILIES = ("sharp", "truncated", "power", "relu_power")
#: Up to this degree the alternating sum of a truncated exponential at negative scores loses two
#: digits at most.
SHORT_SUM = 10
#: Up to this degree it loses eight digits, which float64 can spare if the result is float32.
SINGLE_SUM = 32


def _taylor(scores: Any, degree: int) -> Any:
    """sum_(k <= degree) z^k / k!, free of cancellation even where z is negative and the degree is
    high.
    """
    if degree > SHORT_SUM and isinstance(scores, (int, float)):
        return float(_taylor(torch.tensor(float(scores), dtype=torch.float64), degree))
    if degree > SHORT_SUM and isinstance(scores, Tensor):
        if scores.dtype == torch.float32 and degree <= SINGLE_SUM:
            return _horner(scores.double(), degree).float()
        return torch.where(
            scores < 0,
            _taylor_at_minus(-scores.clamp(max=0), degree),
            _horner(scores.clamp(min=0), degree),
        )
    return _horner(scores, degree)


def _horner(z: Any, degree: int) -> Any:
    total = 0 * z + 1
    for k in range(degree, 0, -1):
        total = 1 + z * total / k
    return total


def _taylor_at_minus(x: Tensor, degree: int) -> Tensor:
    """The Taylor sum at -x <= 0 from its remainder: e^-x + (-1)^p x^(p + 1) / p! J_p, J_p = int_0^1
    (1 - s)^p e^(-x s) ds.

    The recursion J_p = (1 - p J_(p - 1)) / x is stable upwards where x > p; elsewhere it runs
    downwards, from any start far above p.
    """
    large, small = x.clamp(min=degree), x.clamp(max=degree)
    up = -torch.expm1(-large) / large
    for k in range(1, degree + 1):
        up = (1 - k * up) / large
    start, left = degree, 1.0  # how much of the start's error is left at the degree
    while left > 1e-18:
        start += 1
        left *= degree / start
    down = 1 / (start + 1 + small)
    for k in range(start, degree, -1):
        down = (1 - small * down) / k
    power = x
    for k in range(1, degree + 1):
        power = power * (x / k)
    return torch.exp(-x) + (-1) ** degree * power * torch.where(x > degree, up, down)


@dataclass(frozen=True)
class Weights:
    """Attention weights u(score) / (row sum of u(scores)), with u from a one-parameter family.

    ===============  =========================  ============================================
    family           u(z)                       knob
    ===============  =========================  ============================================
    ``sharp``        exp(knob z)                sharpness >= 0: 0 averages, 1 is softmax,
                                                infinity takes the largest score (equal ones
                                                share)
    ``truncated``    sum_(k <= knob) z^k / k!   even degree >= 2: u is positive everywhere
    ``power``        z^knob                     degree >= 1: 1 is linear attention
    ``relu_power``   max(z, 0)^knob             degree >= 1: 1 is ReLU attention
    ===============  =========================  ============================================

    An instance is u itself: it can be called on tensors, floats, and any number type with
    arithmetic and ``exp`` (Decimal, balls). A degree of ``power`` need not be an integer where all
    scores are positive.

    Raises:
        ValueError: an unknown family, or a knob outside the range of the family.

    >>> from attention_theory.exponential import sharp
    >>> import torch
    >>> weights, total = sharp(0).normalised(torch.tensor([3.0, 1.0]).double())
    >>> weights.tolist()  # sharpness 0 averages
    [0.5, 0.5]
    """

    family: str
    knob: Extended  # may be infinite

    def __post_init__(self):
        family, knob = self.family, self.knob
        if family not in FAMILIES:
            raise ValueError(f"family {family!r} is unknown; choose one of {', '.join(FAMILIES)}")
        if knob != knob:
            raise ValueError(f"{family}: the knob is not a number")
        if family == "sharp" and knob < 0:
            raise ValueError(
                f"sharpness beta = {knob} is not allowed: it must be >= 0, or small scores would "
                "win"
            )
        if family != "sharp" and not 1 <= knob < math.inf:
            raise ValueError(
                f"degree {knob} of {family} is not allowed: it must be a finite number >= 1"
            )
        if family == "truncated" and knob % 2:
            raise ValueError(
                f"degree {knob} of the truncated exponential is not allowed: only even degrees "
                "have a positive minimum, "
                "others are negative somewhere and a row may sum to 0"
            )

    def __str__(self) -> str:
        return f"{self.family}({self.knob:g})"

    def _knob(self, like: Any) -> Any:
        """The knob in the number type of ``like``, so that a Decimal or a ball gets the decimal as
        it is written.
        """
        if isinstance(like, (int, float, Tensor)):
            return self.knob
        return type(like)(repr(float(self.knob)))

    def __call__(self, scores: Arithmetic, exp: Callable | None = None) -> Any:
        """u(scores), element by element.

        Args:
            scores: a tensor, or a number of any type.
            exp: the exponential to use for numbers; ``scores.exp()`` when left out.

        Raises:
            ValueError: infinite sharpness, whose u is not a function of one score.
        """
        if self.family == "sharp":
            if self.knob == math.inf:
                raise ValueError("the hard maximum has no u: its weights depend on the whole row")
            if isinstance(scores, (int, float)):
                return math.exp(self.knob * scores)
            product = self._knob(scores) * scores
            return product.exp() if exp is None else exp(product)
        if self.family == "truncated":
            return _taylor(scores, int(self.knob))
        degree = int(self.knob) if self.knob == int(self.knob) else self._knob(scores)
        if self.family == "relu_power":
            scores = torch.relu(scores) if isinstance(scores, Tensor) else max(scores, 0 * scores)
        return scores**degree

    def slope(self, scores: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        """The derivative u'(scores); for the ReLU itself it is 0 at 0.

        Raises:
            ValueError: infinite sharpness.
        """
        if self.family == "sharp":
            return self.knob * self(scores)
        if self.family == "truncated":  # T_p' = T_(p-1)
            return _taylor(scores, int(self.knob) - 1)
        degree = int(self.knob) if self.knob == int(self.knob) else self.knob
        if self.family == "power":
            return degree * scores ** (degree - 1)
        return (scores > 0) * (degree * torch.relu(scores) ** (degree - 1))

    def normalised(
        self, scores: Float[Tensor, "*batch keys"]
    ) -> tuple[Float[Tensor, "*batch keys"], Tensor]:
        """Weights of each row, and a mask of the rows that sum to zero (left as rows of zeros)."""
        if self.family == "sharp":
            if self.knob == math.inf:
                raised = (scores == scores.amax(dim=-1, keepdim=True)).to(scores)
                total = raised.sum(dim=-1, keepdim=True)
                return raised / total, total == 0
            weights = torch.softmax(self.knob * scores, dim=-1)
            return weights, torch.zeros_like(weights[..., :1], dtype=torch.bool)
        if (
            self.family != "truncated" and scores.shape[-1]
        ):  # the weights of powers do not depend on the scale of a row: this one keeps them finite
            largest = scores.abs().amax(dim=-1, keepdim=True)
            scores = scores / torch.where(largest == 0, 1, largest)
        raised = self(scores)
        total = raised.sum(dim=-1, keepdim=True)
        empty = total == 0
        return raised / torch.where(empty, 1, total), empty


#: The papers' weights as members of the families. (``Weights("relu_power", 1)`` refuses a row
#: without a positive score, ``"relu"`` does not.)
NAMED = {
    "softmax": Weights("sharp", 1),
    "linear": Weights("power", 1),
    "relu": Weights("relu_power", 1),
}


def as_weights(kind: "str | Weights") -> Weights:
    """The :class:`Weights` that a name stands for.

    Raises:
        ValueError: an unknown name.
    """
    if isinstance(kind, Weights):
        return kind
    if kind not in NAMED:
        raise ValueError(
            f"weights {kind!r} are unknown; choose one of {', '.join(NAMED)}, or give Weights"
        )
    return NAMED[kind]


def attention_weights(
    scores: Float[Tensor, "*batch keys"], kind: "str | Weights" = "softmax"
) -> Float[Tensor, "*batch keys"]:
    """Weights from scores, each row divided by its sum.

    ``softmax`` exponentiates the scores, ``linear`` takes them as they are (deng2023, Definition
    3.2), ``relu`` keeps their positive part (bombari2024, the ReLU-RAF map). A row without a
    positive score has no ReLU weights (0/0): it becomes a row of zeros, so that its query attends
    to nothing. Other families are :class:`Weights`.

    Args:
        scores: (..., queries, keys).
        kind: one of ``softmax``, ``linear``, ``relu``, or :class:`Weights`.

    Raises:
        ValueError: unknown ``kind``; or a row of ``linear`` weights, or of :class:`Weights`, sums
            to zero or is not finite, which leaves its weights undefined.
    """
    if kind == "softmax":
        return torch.softmax(scores, dim=-1)
    if kind == "linear":
        total = scores.sum(dim=-1, keepdim=True)
        if bool((total == 0).any()):
            raise ValueError(
                "linear attention divides by the row sums of the scores, and a row sums to 0"
            )
        return scores / total
    if kind == "relu":
        positive = torch.relu(scores)
        total = positive.sum(dim=-1, keepdim=True)
        return positive / torch.where(total == 0, 1, total)
    family = as_weights(kind)
    weights, empty = family.normalised(scores)
    if bool(empty.any()):
        raise ValueError(
            f"{family}: a row of weights sums to 0, so that it cannot be divided by its sum"
        )
    if not bool(weights.isfinite().all()):
        raise ValueError(
            f"{family}: a row of weights is not finite (scores too large, or negative for a "
            "fractional power)"
        )
    return weights


def attention(
    scores: Float[Tensor, "*batch queries keys"],
    values: Float[Tensor, "*batch keys features"],
    kind: "str | Weights" = "softmax",
) -> Float[Tensor, "*batch queries features"]:
    """Attention output: each row is the average of the rows of ``values`` under its weights.

    Args:
        scores: (..., queries, keys).
        values: (..., keys, features).
        kind: as in :func:`attention_weights`.
    """
    return attention_weights(scores, kind) @ values


#: Number of scores held at a time where each is needed only once.
SCORES = 2**20


def blocks(queries: Float[Tensor, "queries d"], keys: Float[Tensor, "keys d"]) -> list[slice]:
    """Slices of the queries, each with at most 2^20 scores on the keys, or with a single query."""
    size = max(1, SCORES // max(1, len(keys)))
    return [slice(start, start + size) for start in range(0, len(queries), size)]


def attend(
    queries: Float[Tensor, "queries d"],
    keys: Float[Tensor, "keys d"],
    values: Float[Tensor, "keys features"],
    kind: "str | Weights" = "softmax",
) -> Float[Tensor, "queries features"]:
    """:func:`attention` with the scores <query, key>, computed in blocks so that they are never all
    in memory.

    Args:
        queries, keys, values: one per row.
        kind: as in :func:`attention_weights`.
    """
    out = values.new_empty(len(queries), values.shape[1])
    for rows in blocks(queries, keys):
        out[rows] = attention(queries[rows] @ keys.T, values, kind)
    return out
