"""What the weights of a row are divided by, and the thresholds of a layer that does not divide
(chapter "Why divide by the sum?").
"""

import math
from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float
from theorybook.validation import Positive
from torch import Tensor

from attention_theory.exponential.windows import SIZES

#: What the weights of a row are divided by: their sum, the number of keys, the largest of them,
#: nothing.
Over = Literal["sum", "count", "largest", "nothing"]


def divided(raw: Float[Tensor, "*rows keys"], over: Over) -> Float[Tensor, "*rows keys"]:
    """The values u of each row, divided by their sum, their number, the largest of them, or 1."""
    if over == "sum":
        return raw / raw.sum(-1, keepdim=True)
    if over == "largest":
        return raw / raw.amax(-1, keepdim=True)
    return raw / raw.shape[-1] if over == "count" else raw


@dataclass(frozen=True)
class Thresholds:
    """Logarithms of the thresholds of a layer that does not divide, in units of sqrt(log n)."""

    alarm: float
    silent: float
    fires: float


def thresholds(beta: Positive, log_n: Positive) -> Thresholds:
    """The thresholds between which a layer without division separates D1 from D0, for X all ones,
    the paper's sizes and u = exp(beta z).

    Below ``alarm`` D0 fires with probability at least 1 - (7/8)^m, from ``silent`` on never; below
    ``fires`` D1 fires with probability at least 1 - (7/8)^m.
    """
    a0, a1, b, c = (SIZES[name] for name in ("a0", "a1", "b", "c"))
    usual, small, large = b + c, a0 + b + c, a1 + b + c
    return Thresholds(
        math.log(c - b) + (1 + beta * usual**2) * log_n,
        math.log(small) + (1 + beta * small**2) * log_n,
        math.log(large) + beta * large**2 * log_n,
    )
