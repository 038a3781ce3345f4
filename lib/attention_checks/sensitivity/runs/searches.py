"""The search for word sensitivity beside that of bombari2024's authors, at equal cost (recorded)::

    python -m attention_checks.sensitivity.runs.searches --out book/data

writes ``word-searches.json``. Their script (github.com/simone-bombari/attention-sensitivity,
``sensitivity.py``) takes one start, near the token, and for attention 50 n steps of ten times the
gradient of |phi(X^i(delta)) - phi(X)| / sqrt(nd), each followed by a projection. It is written anew
here from that description, with three differences. Their ball of radius sqrt(d) is centred at the
start, x + 0.1 noise, so that a move may be longer than (3.4) allows: here it is centred at x. They
report the last place: here the best one counts, which is never less. And where nothing changes yet,
their loss has no gradient: here the search stays there.
"""

import math
from typing import Any, Literal

import numpy as np
from attention_theory import tokens
from attention_theory.device import generator, normal
from attention_theory.sensitivity.attention_features import (
    OneTokenAttention,
    RandomAttentionFeatures,
)
from attention_theory.sensitivity.word import evaluations, search
from jaxtyping import Float
from theorybook.sweep import Recording
from theorybook.validation import Count, Seed, Size, Steps

#: The authors' multiple of the gradient, and their steps per token.
RATE, STEPS = 10.0, 50


def authors_search(view: OneTokenAttention, steps: Steps, seed: Seed) -> float:
    """The largest relative change along one ascent whose steps are a fixed multiple of the
    gradient.
    """
    evaluate, radius = Change(view), math.sqrt(len(view.x))
    delta = 0.1 * normal(1, len(view.x), generator=generator(3 * 2**30 + seed))[0].numpy()
    largest = 0.0
    for _ in range(steps):
        square, gradient = evaluate(delta)
        largest = max(largest, square)
        if square > 0:  # the gradient of the root
            delta = delta + RATE * gradient / (2 * math.sqrt(square * evaluate.size))
            delta = delta * min(1, radius / float(np.linalg.norm(delta)))
    return math.sqrt(max(largest, evaluate(delta)[0])) / float(view.norm)


class Change:
    """|phi(X^i(delta)) - phi(X)|^2 and its gradient, written out for NumPy: many times as fast as
    differentiating.
    """

    def __init__(self, view: OneTokenAttention):
        self.relu, self.root = view.weights.family == "relu_power", math.sqrt(len(view.x))
        self.x, self.W, self.others, self.K, self.Z, self.before, M, self.own_before = (
            part.cpu().double().numpy()
            for part in (
                view.x,
                view.W,
                view.others,
                view.K,
                view.Z,
                view.unmoved_weight,
                view.M,
                view.unmoved_own,
            )
        )
        self.gap = self.x - M
        self.gap_square = (self.gap**2).sum(axis=1)
        self.images, self.size = (
            self.others @ self.W.T / self.root,
            view.others.numel() + len(view.x),
        )

    def __call__(self, delta: Float[np.ndarray, "d"]) -> tuple[float, np.ndarray]:
        moved, square, along = self.x + delta, delta @ delta, self.gap @ delta
        # the other rows: (1 - p) M + p (x + delta)
        p, slope = self._shares(self.K @ moved)
        rise = p - self.before
        change = p @ p * square + 2 * (p * rise) @ along + rise**2 @ self.gap_square
        by_p = 2 * p * square + 2 * (p + rise) * along + 2 * rise * self.gap_square
        gradient = 2 * (p @ p) * delta + 2 * (p * rise) @ self.gap + (slope * by_p) @ self.K
        # the moved row itself
        images, back = self.W @ moved / self.root, moved @ self.W / self.root
        weights, slope = self._row(np.append(self.images @ moved, moved @ images))
        away = weights[:-1] @ self.others + weights[-1] * moved - self.own_before
        by_weight = 2 * np.append(self.others @ away, moved @ away)
        by_score = slope * (by_weight - weights @ by_weight)
        own = by_score[:-1] @ self.images + by_score[-1] * (images + back)
        return float(change + away @ away), gradient + 2 * weights[-1] * away + own

    def _shares(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The weights that the other rows give to the moved token, and their derivatives with
        respect to the scores.
        """
        if not self.relu:
            p = 1 / (1 + np.exp(np.clip(self.Z - scores, -700, 700)))
            return p, p * (1 - p)
        total = np.maximum(scores, 0) + self.Z
        total = np.where(total > 0, total, 1)
        return np.maximum(scores, 0) / total, (scores > 0) * self.Z / total**2

    def _row(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The weights of the moved token's own row, and the factor of each score in the chain
        rule.
        """
        if not self.relu:
            weights = np.exp(scores - scores.max())
            weights = weights / weights.sum()
            return weights, weights
        positive = np.maximum(scores, 0)
        total = positive.sum() or 1.0
        return positive / total, (scores > 0) / total


def run(
    kind: str, weights: Literal["softmax", "relu"], n: Count, d: Count, seed: Seed
) -> dict[str, Any]:
    """What both searches find in one context.

    Returns:
        ``theirs``; ``ours`` with as many starts as their number of evaluations allows in 200 steps;
        ``cost`` and ``equal``, the evaluations of both.
    """
    view = RandomAttentionFeatures.sample(d, seed, weights).one_token(
        tokens.contexts(kind, 1, n, d, seed)[0], 0
    )
    steps = STEPS * n
    starts: Size = max(count for count in range(1, 2 * n) if evaluations(count) <= steps)
    return {
        "theirs": authors_search(view, steps, seed),
        "ours": search(view, starts).value,
        "cost": steps + 1,
        "equal": evaluations(starts),
    }


def points() -> list[dict[str, Any]]:
    """132 contexts at the first three lengths of the authors' script: three kinds of tokens, both
    weights.

    The rounds and step lengths of the search were chosen on the seeds below 10; these are others.
    """
    return [
        dict(kind=kind, weights=weights, n=n, d=192, seed=seed)
        for n, seeds in ((10, 10), (20, 8), (50, 4))
        for seed in range(100, 100 + seeds)
        for kind in ("iid", "anisotropic", "real")
        for weights in ("softmax", "relu")
    ]


RECORDING = Recording(
    "word-searches", run, points, tolerance={"": 1e-3, "ours": 2e-2, "theirs": 2e-2}
)

if __name__ == "__main__":
    RECORDING.main()
