"""Other weights in place of softmax, without retraining (chapter "Replacing softmax in a trained
model").

Each is a weight function of :mod:`attention_theory.trained.models`: scores (heads, queries, keys),
mask, layer -> weights.
"""

import math
from typing import Annotated, Literal

import torch
from scipy.optimize import brentq
from scipy.special import gammaincc
from theorybook.validation import Count, Limits, Natural, NonNegative, Positive
from torch import Tensor

from attention_theory.attention import Weights
from attention_theory.trained.crowd import centred_rows
from attention_theory.trained.models import Weigh

#: The alpha of entmax.
Steepness = Annotated[float, Limits(1, 10, "low")]
#: What is subtracted from the scores of a row before u is applied: nothing, their mean, their
#: maximum.
Shift = Literal["none", "mean", "max"]


def _over_sum(u: Tensor, mask: Tensor) -> Tensor:
    """The values u over their row sum, where the mask allows; a row whose sum is 0 stays a row of
    zeros.
    """
    u = u.masked_fill(~mask, 0)
    total = u.sum(-1, keepdim=True)
    return u / torch.where(total == 0, 1, total)


def _largest(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, -math.inf).amax(-1, keepdim=True)


def _shifted(scores: Tensor, mask: Tensor, shift: Shift) -> Tensor:
    if shift == "mean":
        return centred_rows(scores, mask)
    return scores - _largest(scores, mask) if shift == "max" else scores


def family(weights: Weights, shift: Shift = "none") -> Weigh:
    """Weights u / row sum from one of the book's families, after a shift of each row's scores."""
    return lambda scores, mask, layer: _over_sum(weights(_shifted(scores, mask, shift)), mask)


def sharper(beta: NonNegative) -> Weigh:
    """Softmax with sharpness ``beta``; 0 averages."""
    return lambda scores, mask, layer: torch.softmax(
        (beta * scores).masked_fill(~mask, -math.inf), -1
    )


def hard(scores: Tensor, mask: Tensor, layer: Natural = 0) -> Tensor:
    """All weight on the largest score; equal largest scores share it."""
    return _over_sum((scores == _largest(scores, mask)).to(scores), mask)


def power_of_the_maximum(p: Count) -> Weigh:
    """(1 + (s - max s)/p)^p, cut off at 0: it tends to the exponential as p grows, and gives no
    weight to scores p or more below the best.
    """
    return lambda scores, mask, layer: _over_sum(
        (1 + _shifted(scores, mask, "max") / p).clamp(min=0) ** p, mask
    )


def sparsemax(scores: Tensor, mask: Tensor, layer: Natural = 0) -> Tensor:
    """The point of the simplex that is nearest to the scores: the positive parts of s - tau, tau
    such that they sum to 1.
    """
    low = scores.masked_fill(~mask, -math.inf)
    ordered = low.sort(-1, descending=True).values
    k = torch.arange(1, scores.shape[-1] + 1, dtype=scores.dtype, device=scores.device)
    above = torch.where(ordered.isfinite(), ordered, 0).cumsum(-1) - 1
    size = (ordered.isfinite() & (k * ordered > above)).sum(-1, keepdim=True)
    return (low - above.gather(-1, size - 1) / size).clamp(min=0)


def entmax(alpha: Steepness) -> Weigh:
    """Entmax: the positive parts of (alpha - 1) s - tau to the power 1/(alpha - 1), tau such that
    they sum to 1.

    Softmax is its limit at alpha = 1, sparsemax is alpha = 2. The threshold tau is found by
    bisection.
    """

    def weigh(scores: Tensor, mask: Tensor, layer: int) -> Tensor:
        z = (alpha - 1) * _shifted(scores, mask, "max").masked_fill(~mask, -math.inf)

        def cut(tau: Tensor) -> Tensor:
            return (z - tau).clamp(min=0) ** (1 / (alpha - 1))

        low = torch.full_like(z[..., :1], -1)  # the best key alone has the weight 1 there
        step = 1.0
        while step > torch.finfo(z.dtype).eps:
            step /= 2
            low = torch.where(cut(low + step).sum(-1, keepdim=True) >= 1, low + step, low)
        return _over_sum(cut(low), mask)

    return weigh


def sparsemax_share(gap: NonNegative, rivals: Count) -> float:
    """Sparsemax share of one key whose score lies ``gap`` above that of its equal rivals."""
    return min(1.0, (1 + rivals * gap) / (1 + rivals))


def entmax_share(alpha: Steepness, gap: NonNegative, rivals: Count) -> float:
    """Entmax share of the same key: the root w of w + rivals (w^(alpha - 1) - (alpha - 1)
    gap)_+^(1/(alpha - 1)) = 1.
    """
    power, reach = alpha - 1, (alpha - 1) * gap

    def excess(w: float) -> float:
        return w + rivals * max(0.0, w**power - reach) ** (1 / power) - 1

    return 1.0 if reach >= 1 else brentq(excess, 0, 1, xtol=1e-15)  # type: ignore[return-value]


def entmax_floor(alpha: Steepness, gap: NonNegative) -> float:
    """The entmax share that a key ``gap`` above all rivals keeps, however many there are: ((alpha -
    1) gap)^(1/(alpha - 1)), or 1.
    """
    return min(1.0, (alpha - 1) * gap) ** (1 / (alpha - 1))


def needed_gap(wanted: Annotated[float, Limits(0, 1, "both")], rivals: Positive) -> float:
    """The least gap at which sparsemax gives the wanted share; for softmax it is log(rivals) +
    log(share / (1 - share)).
    """
    return max(0.0, (wanted * (1 + rivals) - 1) / rivals)


def kept_part(degree: Natural, z: NonNegative) -> float:
    """T_p(z) / e^z: the probability that a Poisson variable of mean z is at most p."""
    return float(gammaincc(degree + 1, z))
