"""The bounds of the theorem on separation against the exact probability, in random settings
(chapter "Separation").
"""

import random
from dataclasses import dataclass
from typing import Any

from attention_theory.attention import Weights
from attention_theory.exponential.families import power, relu_power, sharp, truncated
from attention_theory.exponential.windows import DataSet, lower_edge, upper_edge
from attention_theory.separation.exact import separation_probability
from theorybook.validation import Count, Seed, Size


@dataclass(frozen=True)
class Bounds:
    """Bounds of the theorem on the probability that F_u is positive on D1 and 0 on D0."""

    lower: float
    upper: float


def separation_bounds(weights: Weights, D1: DataSet, D0: DataSet, m: Count) -> Bounds:
    """The theorem of chapter "Separation", for any u >= 0 that grows and whose ratios u(lz)/u(z), l
    > 1, do not fall in z.
    """
    lower = D1.fires_at_least(weights, m) - D0.fires_at_most(weights, m)
    upper = min(D1.fires_at_most(weights, m), 1 - D0.fires_at_least(weights, m))
    return Bounds(max(lower, 0.0), upper)


@dataclass(frozen=True)
class Search:
    """The largest amount by which an exact probability left its bounds, and the number of settings
    whose bounds exclude a tenth.

    The first is rounded to 14 decimals: what is smaller comes from arithmetic and differs between
    machines.
    """

    beyond: float
    told: int


def beyond_bounds(trials: Size = 300, seed: Seed = 1) -> Search:
    """Compare exact probabilities with their bounds for random models, sizes and families; every
    second knob lies within a fifth of an edge, where the bounds are tight.
    """
    draw, beyond, told = random.Random(seed), [], 0
    for trial in range(trials):
        model = draw.choice(("self-ones", "self-identity", "cross"))
        case: dict[str, Any] = dict(
            d=draw.randint(30, 400), a0=draw.uniform(0, 0.3), a1=draw.uniform(0.2, 2)
        )
        case |= {} if model == "cross" else dict(b=draw.uniform(0.02, 0.5), c=draw.uniform(0.2, 1))
        case |= dict(m=draw.randint(1, 60), log_n=draw.uniform(6, 60))
        kind = draw.choice((sharp, power, truncated, relu_power))
        knob = draw.uniform(0, 3) if kind is sharp else draw.uniform(2, 80)
        key = 10 ** draw.uniform(0, 6) if model == "self-ones" and trial % 4 < 2 else 0.0
        found = {
            a: DataSet(model, case["log_n"], case[a], case.get("b"), case.get("c"), case["d"], key)
            for a in ("a1", "a0")
        }
        if trial % 2:
            which, edge = draw.choice((("a1", lower_edge), ("a0", upper_edge)))
            near = edge(sharp if kind is sharp else power, found[which]) * draw.uniform(0.8, 1.2)
            knob = near if near < 200 else knob
        weights = sharp(knob) if kind is sharp else kind(2 * max(1, round(knob / 2)))
        p = separation_probability(weights, model, **case, key=key)
        bounds = separation_bounds(weights, found["a1"], found["a0"], case["m"])
        beyond.append(max(bounds.lower - p, p - bounds.upper))
        told += bounds.lower > 0.1 or bounds.upper < 0.9
    return Search(round(max(0.0, *beyond), 14), told)
