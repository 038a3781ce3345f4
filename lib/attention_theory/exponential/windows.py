"""Separation with any weights: the window of the knob in which F_u tells D1 from D0 (chapter "Separation").

Everything hangs on two numbers of the data set of size a: ``own``, the weight that the special row gives to its own key (the
special query to the special key), and ``block``, the weight that a plain row gives to its own block (X = I only).
"""

# pyright: reportOptionalOperand=false, reportOperatorIssue=false
# b and c are None for cross-attention only, which check_scales has made sure of.
import math
from collections.abc import Callable
from dataclasses import dataclass

from ..attention import Weights
from ..separation import data
from ..separation.exact import separation_probability
from .competition import log_ratio, share, solve_knob
from .families import power, sharp

#: tau = (c + MARGIN) sqrt(ln n) for self-attention; for cross-attention tau itself (deng2023).
MARGIN, TAU = 0.1, 0.9


@dataclass(frozen=True)
class Shares:
    """Weights that decide: of the special key in the special row, and of a plain row's own block."""

    own: float
    block: float


def scores(model: str, log_n: float, a: float, b: float | None = None, c: float | None = None) -> tuple[float, float, float]:
    """Scores of the special row on its own key, on the rest of its block, and on all other keys.

    Raises:
        ValueError: an unknown model, or parameters that do not fit it.
    """
    data.check_model(model)
    data.check_parameters(a=a)
    data.check_scales(model, b, c)
    if model == "cross":
        return (1 + a) * log_n, log_n, log_n
    if model == "self-ones":
        plain = b + c
        return (a + plain) ** 2 * log_n, (a + plain) * plain * log_n, (a + plain) * plain * log_n
    return (a**2 + b**2 + c**2) * log_n, (b**2 + c**2) * log_n, c**2 * log_n


def shares(
    weights: Weights,
    model: str,
    log_n: float,
    a: float,
    b: float | None = None,
    c: float | None = None,
    d: int | None = None,
) -> Shares:
    """The two weights, in logarithms, for any n.

    Args:
        weights: the family.
        model, a, b, c: as in :func:`attention_theory.separation.data.inputs`.
        log_n: ln n.
        d: columns; needed for the block of ``self-identity``, left out it stands for infinitely many blocks.
    """
    special, near, far = scores(model, log_n, a, b, c)
    log_rivals = log_n + math.log1p(-math.exp(-log_n))  # ln(n - 1)
    if model != "self-identity" or d is None:
        return Shares(share(log_ratio(weights, special, far), log_rivals), 0.0)
    blocks = d - 2
    log_t = log_n - math.log(blocks)
    log_near = log_t + math.log1p(-math.exp(-log_t)) if log_t > 1e-12 else -math.inf
    log_far = log_n + math.log1p(-1 / blocks) if blocks > 1 else -math.inf
    to_near, to_far = log_ratio(weights, special, near), log_ratio(weights, special, far)
    own = 1 / (1 + math.exp(min(log_near - to_near, 700)) + math.exp(min(log_far - to_far, 700)))
    block = share(log_ratio(weights, near, far), math.log(blocks - 1)) if blocks > 1 else 1.0
    return Shares(own, block)


def height(weights: Weights, model: str, log_n: float, a: float, b=None, c=None, d: int | None = None) -> float:
    """The highest value of a row over the threshold when the signs that matter are +1 and the others cancel.

    Self-attention: max((a + b) own, b block) - 0.1; cross-attention: 2 own - 0.9. The network fires at such a y iff > 0 (up to
    the share of a block in the special row).
    """
    found = shares(weights, model, log_n, a, b, c, d)
    if model == "cross":
        return 2 * found.own - TAU
    return max((a + b) * found.own, b * found.block) - MARGIN


def _log_n(n: float | None, log_n: float | None) -> float:
    if (n is None) == (log_n is None):
        raise ValueError(f"n = {n}, log_n = {log_n} are not allowed: give exactly one of the two")
    found = math.log(n) if n is not None else log_n
    if not 0 < found < math.inf:  # type: ignore[operator]
        raise ValueError(f"n = {n}, log_n = {log_n} are not allowed: n must be finite and > 1")
    return found  # type: ignore[return-value]


def _least(family: Callable[[float], Weights], model, n, a1, b, c, d, log_n, start) -> float:
    log_n = _log_n(n, log_n)
    gain = 2.0 if model == "cross" else a1 + b
    bar = TAU if model == "cross" else MARGIN
    if not gain > bar:
        return math.inf  # even full attention stays below the threshold
    if not scores(model, log_n, a1, b, c)[0] > scores(model, log_n, a1, b, c)[2]:
        return math.inf
    return solve_knob(lambda knob: gain * shares(family(knob), model, log_n, a1, b, c, d).own - bar, start)


def least_sharpness(
    model: str,
    n: float | None,
    a1: float,
    b: float | None = None,
    c: float | None = None,
    d: int | None = None,
    log_n: float | None = None,
) -> float:
    """The sharpness from which F_u fires on D1: the special key gets the share 0.1 / (a1 + b), for cross-attention 0.45.

    At that share a row reaches tau when y_1 = y_* = y_d = 1 and the other signs cancel. With X = 1 and for cross-attention
    it is log((n - 1) share / (1 - share)) over the gap of the scores.

    Args:
        model: one of ``separation.MODELS``.
        n: rows; or None and
        log_n: ln n.
        a1, b, c: sizes of D1.
        d: columns; matters for ``self-identity``, where None stands for infinitely many blocks.

    Returns:
        beta; ``inf`` where no sharpness is enough.

    Raises:
        ValueError: an unknown model, parameters that do not fit, n <= 1.
    """
    return _least(sharp, model, n, a1, b, c, d, log_n, 1e-9)


def least_degree(
    model: str,
    n: float | None,
    a1: float,
    b: float | None = None,
    c: float | None = None,
    d: int | None = None,
    log_n: float | None = None,
) -> int:
    """The least degree p of u(z) = z^p from which F_u fires on D1, by the same share as :func:`least_sharpness`.

    With X = 1 the least integer p >= log((n - 1) share / (1 - share)) / log((a1 + b + c) / (b + c)).

    Raises:
        ValueError: as :func:`least_sharpness`; or no degree is enough.
    """
    found = _least(power, model, n, a1, b, c, d, log_n, 1.0)
    if found == math.inf:
        raise ValueError(f"no degree is enough: with a1 = {a1}, b = {b} a row stays below tau, or its own key scores no higher")
    return math.ceil(found - 1e-9)


def _greatest(family: Callable[[float], Weights], model, n, d, a0, b, c, log_n, start) -> float:
    log_n = _log_n(n, log_n)
    gain = 2.0 if model == "cross" else a0 + b
    bar = TAU if model == "cross" else MARGIN
    if not gain > bar or (a0 == 0 and not (model == "self-identity" and b > bar)):
        return math.inf
    return solve_knob(lambda knob: height(family(knob), model, log_n, a0, b, c, d), start)


def greatest_sharpness(
    model: str,
    n: float | None,
    d: int,
    a0: float,
    b: float | None = None,
    c: float | None = None,
    log_n: float | None = None,
) -> float:
    """The sharpness from which D0 fires too: its own special key wins, or (X = I) a row's own block.

    Args and Raises: as in :func:`least_sharpness`.
    """
    return _greatest(sharp, model, n, d, a0, b, c, log_n, 1e-9)


def greatest_degree(
    model: str,
    n: float | None,
    d: int,
    a0: float,
    b: float | None = None,
    c: float | None = None,
    log_n: float | None = None,
) -> float:
    """The same for u(z) = z^p; a real number, ``inf`` where D0 never fires."""
    return _greatest(power, model, n, d, a0, b, c, log_n, 1.0)


@dataclass(frozen=True)
class Bounds:
    """Bounds of the theorem on the probability that F_u is positive on D1 and 0 on D0."""

    lower: float
    upper: float


def separation_bounds(
    weights: Weights,
    model: str,
    d: int,
    m: int,
    a0: float,
    a1: float,
    b: float | None = None,
    c: float | None = None,
    n: float | None = None,
    log_n: float | None = None,
) -> Bounds:
    """The theorem of chapter "Separation", for any u >= 0 that grows and whose ratios u(lz)/u(z), l > 1, do not fall in z.

    For a data set of size a, with kappa = 0.1, s = own and g = block:

    - self-attention fires with probability at least 1 - (7/8)^m if (a + 2b) s > kappa + b or 2 b g > kappa + b, and at most
      m exp(-(d - 2) kappa^2 / (8 b^2)) if (a + b) s + b g <= kappa / 2;
    - cross-attention at least 1 - (3/4)^m if 3 s > 1.9, and at most m exp(-(d - 1) 0.9^2 / 8) if 2 s <= 0.45.
    """
    log_n = _log_n(n, log_n)
    if model == "cross":
        miss, noise = 0.75**m, m * math.exp(-(d - 1) * TAU**2 / 8)
    else:
        miss, noise = 0.875**m, m * math.exp(-(d - 2) * MARGIN**2 / (8 * b**2)) if b else 0.0

    def fires(a: float) -> bool:
        found = shares(weights, model, log_n, a, b, c, d)
        if model == "cross":
            return 3 * found.own > 1 + TAU
        return (a + 2 * b) * found.own > MARGIN + b or 2 * b * found.block > MARGIN + b

    def silent(a: float) -> bool:
        found = shares(weights, model, log_n, a, b, c, d)
        if model == "cross":
            return 2 * found.own <= TAU / 2
        return (a + b) * found.own + b * found.block <= MARGIN / 2

    lower = 1 - miss - noise if fires(a1) and silent(a0) else 0.0
    upper = min(noise if silent(a1) else 1.0, miss if fires(a0) else 1.0, 1.0)
    return Bounds(max(lower, 0.0), upper)


def crossing(
    family: Callable[[float], Weights],
    model: str,
    d: int,
    m: int,
    a0: float,
    a1: float,
    b: float | None = None,
    c: float | None = None,
    n: int | None = None,
    log_n: float | None = None,
    low: float = 1e-3,
    high: float = 1e3,
    rising: bool = True,
    level: float | None = None,
    steps: int = 40,
) -> float:
    """Where the exact probability crosses half of its limit 1 - (3/4)^m, by bisection in log(knob) between low and high.

    Args:
        family: :func:`sharp` or :func:`power`, whose knob may be any real number here.
        model, d, m, a0, a1, b, c, n, log_n: as in :func:`separation_probability`.
        low, high: ends; the probability must lie on different sides of the level there.
        rising: the probability rises between them (at the lower edge of the window), else it falls.
        level: another level.
        steps: halvings.

    Raises:
        ValueError: it does not cross between low and high.
    """
    level = (1 - 0.75**m) / 2 if level is None else level

    def beyond(knob: float) -> bool:
        found = separation_probability(family(knob), model, d, m, a0, a1, b, c, n, log_n)
        return (found >= level) == rising

    if beyond(low) or not beyond(high):
        raise ValueError(f"the probability does not cross {level:.3g} between {low} and {high}")
    for _ in range(steps):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return high


def paper_sizes(log_n: float, delta: float = 0.01) -> dict[str, int]:
    """Columns d = 10 log(n / delta) and signs m = 9 log(n / delta), rounded up: sizes of the order that deng2023 asks for."""
    size = log_n - math.log(delta)
    return dict(d=math.ceil(10 * size), m=math.ceil(9 * size))


def closing(kind: str, a0: float, a1: float, b: float, c: float, low: float = 1.0, high: float = 1e4) -> float:
    """X = I, d = 10 log(n / 0.01): the log10 of the n at which the least and the greatest knob meet, and no knob is left.

    Args:
        kind: ``sharp`` or ``power``.
        a0, a1, b, c: sizes of the data, b > 0.1.
        low, high: where to look, in log10 n.
    """
    family = {"sharp": sharp, "power": power}[kind]

    def room(digits: float) -> float:
        log_n = digits * math.log(10)
        d = paper_sizes(log_n)["d"]
        start = 1e-9 if kind == "sharp" else 1.0
        top = _greatest(family, "self-identity", None, d, a0, b, c, log_n, start)
        return math.log(_least(family, "self-identity", None, a1, b, c, d, log_n, start) / top)

    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if room(middle) > 0 else (middle, high)
    return high


def best_probability(family: Callable[[float], Weights], knobs: list[float], model: str, log_n: float, **sizes) -> float:
    """The largest exact probability over a list of knobs, with d and m of :func:`paper_sizes`."""
    return max(separation_probability(family(k), model, **paper_sizes(log_n), **sizes, log_n=log_n) for k in knobs)
