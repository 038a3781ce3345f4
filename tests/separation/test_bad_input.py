"""Every bad input raises ValueError with the offending value. (Runs without the shape checker.)"""

import math

import pytest
import torch
from attention_theory import separation

GOOD = dict(model="self-identity", n=20, d=6, a0=0.01, a1=1.2, b=0.2, c=0.8)
CROSS = dict(model="cross", n=20, d=6, a0=0.01, a1=1.2)
BAD = [
    (GOOD, dict(model="other"), "'other'"),
    (GOOD, dict(n=21), "n = 21"),
    (GOOD, dict(n=0), "n = 0"),
    (GOOD, dict(n=-4), "n = -4"),
    (GOOD, dict(d=2), "d = 2"),
    (GOOD, dict(d=2.5), "d = 2.5"),
    (GOOD, dict(a0=-0.1), "a0 = -0.1"),
    (GOOD, dict(a1=math.nan), "a1 = nan"),
    (GOOD, dict(a1=math.inf), "a1 = inf"),
    (GOOD, dict(b=-1), "b = -1"),
    (GOOD, dict(c=math.inf), "c = inf"),
    (GOOD, dict(b=None), "b = None"),
    (GOOD, dict(b=0, c=0), "b = c = 0"),
    (CROSS, dict(d=1), "d = 1"),
    (CROSS, dict(n=21), "n = 21"),
    (CROSS, dict(b=0.2), "b = 0.2"),
]
FUNCTIONS = {
    "success_counts": lambda **k: separation.success_counts(**k),
    "enumerated_counts": lambda **k: separation.enumerated_counts(**k),
    "success_probability": lambda **k: separation.success_probability(**k, m=3),
    "success_rate": lambda **k: separation.success_rate(**k, m=3, trials=2, seed=0),
}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("good, change, shown", BAD)
def test_counts_and_rates(function, good, change, shown):
    FUNCTIONS[function](**good)
    with pytest.raises(ValueError) as error:
        FUNCTIONS[function](**(good | change))
    assert shown in str(error.value)


@pytest.mark.parametrize("m", [0, -1, 1.5])
def test_m(m):
    with pytest.raises(ValueError, match=f"m = {m}"):
        separation.success_probability(**GOOD, m=m)
    with pytest.raises(ValueError, match=f"m = {m}"):
        separation.success_rate(**GOOD, m=m, trials=3, seed=0)


def test_trials():
    with pytest.raises(ValueError, match="trials = 0"):
        separation.success_rate(**GOOD, m=3, trials=0, seed=0)


def test_exactly_one_size():
    point = {key: value for key, value in GOOD.items() if key != "n"} | {"m": 3}
    with pytest.raises(ValueError, match="exactly one"):
        separation.success_probability(**point)
    with pytest.raises(ValueError, match="exactly one"):
        separation.success_probability(**point, n=20, log_n=3.0)
    for log_n in (0, -1, math.nan, math.inf, 1.0):  # e^1 < d - 2 = 4
        with pytest.raises(ValueError, match=f"log_n = {log_n}"):
            separation.success_probability(**point, log_n=log_n)


def test_data():
    with pytest.raises(ValueError, match="n = 13 is not divisible by d - 2 = 4"):
        separation.self_attention_data(13, 6, 1, 0.2, 0.8)
    with pytest.raises(ValueError, match="n = 13 is not divisible by d - 1 = 5"):
        separation.cross_attention_data(13, 6, 1)
    with pytest.raises(ValueError, match="special = 12"):
        separation.self_attention_data(12, 6, 1, 0.2, 0.8, special=12)
    with pytest.raises(ValueError, match="query = -1"):
        separation.cross_attention_data(15, 6, 1, query=-1)
    with pytest.raises(ValueError, match="key = 15"):
        separation.cross_attention_data(15, 6, 1, key=15)
    with pytest.raises(ValueError, match="a = -1"):
        separation.cross_attention_data(15, 6, -1)


def test_network():
    A, _, X = separation.inputs("self-ones", 12, 6, 1, 0.2, 0.8)
    with pytest.raises(ValueError, match="'relu'"):
        separation.attention_features(A, A, A, X, "relu")
    with pytest.raises(ValueError, match=r"\(5, 5\)"):
        separation.attention_features(A, A, A, X[:5, :5], "softmax")
    with pytest.raises(ValueError, match="sums to 0"):
        separation.attention_features(A, A, A, torch.zeros_like(X), "linear")
    y = torch.ones(5, 3, dtype=torch.float64)
    with pytest.raises(ValueError, match=r"\(5, 3\)"):
        separation.readout(A, y, 0.5)
    with pytest.raises(ValueError, match="y = .* is not allowed: not empty"):
        separation.readout(A, torch.ones(6, 0, dtype=torch.float64), 0.5)
    with pytest.raises(ValueError, match="tau = nan"):
        separation.readout(A, torch.ones(6, 2, dtype=torch.float64), math.nan)
    with pytest.raises(ValueError, match="d = 25"):
        separation.enumerated_counts("cross", 24, 25, 0.1, 1)


def test_panels():
    for arguments, shown in ((("6a",), "6a"), (("4a", "up"), "up"), (("7d", "floor", "m"), "m")):
        with pytest.raises(ValueError, match=shown):
            separation.panel(*arguments)
