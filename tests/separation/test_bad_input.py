"""Conditions between arguments: refused with what was given and what is allowed."""

import pytest
from attention_checks.separation import chances, panels, parts
from attention_theory import separation
from attention_theory.separation import data, regression

POINT = dict(model="self-identity", n=20, d=6, a0=0.01, a1=1.2, b=0.2, c=0.8)
CROSS = dict(model="cross", n=20, d=6, a0=0.01, a1=1.2)
A, _, X = separation.inputs("self-ones", 12, 6, 1, 0.2, 0.8)


@pytest.mark.parametrize(
    "count",
    [
        separation.success_counts,
        separation.enumerated_counts,
        lambda **point: separation.success_probability(**point, m=3),
        lambda **point: separation.success_rate(**point, m=3, trials=2, seed=0),
    ],
)
@pytest.mark.parametrize(
    ("point", "message"),
    [
        (POINT | dict(n=21), "n = 21 is not divisible by d - 2 = 4"),
        (POINT | dict(d=2), "d = 2 is not allowed"),
        (POINT | dict(b=None), "b = None, c = 0.8 are not allowed"),
        (POINT | dict(b=0, c=0), "b = c = 0 is not allowed"),
        (CROSS | dict(d=1), "d = 1 is not allowed"),
        (CROSS | dict(n=21), "n = 21 is not divisible by d - 1 = 5"),
        (CROSS | dict(b=0.2), "have no such parameters"),
    ],
)
def test_points(count, point, message):
    with pytest.raises(ValueError, match=message):
        count(**point)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: separation.success_probability(**POINT, m=3, log_n=3.0), "give exactly one"),
        (lambda: separation.success_probability(**POINT | dict(n=None), m=3, log_n=1.0), "log_n = 1.0 is not allowed"),
        (lambda: separation.self_attention_data(12, 6, 1, 0.2, 0.8, special=12), "special = 12 is not allowed"),
        (lambda: separation.cross_attention_data(15, 6, 1, key=15), "key = 15 is not allowed"),
        (lambda: separation.attention_features(A, A, A, X, "relu"), "'relu' are unknown"),
        (lambda: separation.enumerated_counts("cross", 24, 25, 0.1, 1), "d = 25 is not allowed"),
        (lambda: data.threshold("self-ones", 1.0), "c = None is not allowed"),
        (lambda: panels.panel("6a"), "panel '6a' is unknown"),
        (lambda: panels.panel("4a", "up"), "rounding = 'up' is not allowed: one of floor, nearest, ceil"),
        (lambda: panels.panel("7d", "floor", "m"), "keep = 'm' is not allowed: one of n, d"),
        (lambda: panels.as_printed(panels.panel("4a"), {}), "and models are needed"),
        (lambda: parts.ratios(lambda _: {"a": []}, "b", [parts.layer("cross", "softmax", 3, 4, 1.0)]), "no part 'b', but a"),
        (lambda: chances.enumerated_alarm(parts.layer("cross", "softmax", 3, 4, 1.0), 3), "rows are -3 to 2"),
        (lambda: chances.enumerated_alarm(parts.layer("cross", "softmax", 3, 4, 1.0), -4), "rows are -3 to 2"),
        (lambda: regression.regression_scores(1, 0), "scores scale with log n"),
        (lambda: regression.regression_scores(5, 0, 5), "high = 5 is not allowed"),
    ],
)
def test_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
