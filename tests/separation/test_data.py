"""The data sets satisfy every printed clause, and the literal network is the formula."""

import math

import pytest
import torch
from attention_theory import separation
from attention_theory.device import generator, normal, signs
from hypothesis import given, settings
from hypothesis import strategies as st

L = lambda n: math.sqrt(math.log(n))


def test_self_attention_data_is_definition_d1():
    n, d, a, b, c = 12, 6, 0.7, 0.3, 0.5
    A = separation.self_attention_data(n, d, a, b, c, special=5) / L(n)
    assert A.dtype == torch.float64
    assert A[:, 0].tolist() == pytest.approx([a if row == 5 else 0 for row in range(n)])
    for row in range(n):
        assert A[row, 1:-1].tolist() == pytest.approx([b if row % 4 == column else 0 for column in range(4)])
    assert A[:, -1].tolist() == pytest.approx([c] * n)


def test_cross_attention_data_is_definition_f1():
    n, d, a = 12, 5, 1.5
    A1, A2 = separation.cross_attention_data(n, d, a, query=3, key=7)
    assert (A1 / math.log(n))[:, 0].tolist() == pytest.approx([a if row == 3 else 0 for row in range(n)])
    assert (A1 / math.log(n))[:, 1:].flatten().tolist() == pytest.approx([1] * (n * (d - 1)))
    assert A2[:, 0].tolist() == [1 if row == 7 else 0 for row in range(n)]
    assert torch.equal(A2[:, 1:], torch.eye(4, dtype=torch.float64).repeat(3, 1))


@pytest.mark.parametrize("model", separation.MODELS)
def test_inputs_and_threshold(model):
    scales = () if model == "cross" else (0.2, 0.8)
    A1, A2, X = separation.inputs(model, 60, 5, 1.2, *scales)
    assert torch.equal(X, torch.ones(5, 5) if model == "self-ones" else torch.eye(5))
    assert torch.equal(A1, A2) == (model != "cross")
    tau = separation.threshold(model, L(60), None if model == "cross" else 0.8)
    assert tau == (0.9 if model == "cross" else pytest.approx(0.9 * L(60)))


@given(st.integers(2, 6), st.integers(2, 4), st.integers(0, 10**6), st.sampled_from(["softmax", "linear"]))
@settings(max_examples=30, deadline=None)
def test_three_forms_of_attention_agree(n, d, seed, weights):
    """Definitions C.1 and C.4 (Kronecker), Claims C.3 and C.5 (rows), and a loop over single weights."""
    gen = generator(seed)
    A1, A2, A3 = (normal(n, d, generator=gen).abs() for _ in range(3))
    X = normal(d, d, generator=gen).abs() + 0.1
    rows = separation.attention_features(A1, A2, A3, X, weights)
    assert torch.allclose(rows, separation.kronecker_features(A1, A2, A3, X, weights), atol=1e-12)
    raw = [[float(A1[i] @ X @ A2[j]) for j in range(n)] for i in range(n)]
    if weights == "softmax":
        raw = [[math.exp(x) for x in row] for row in raw]
    expected = [[sum(raw[i][j] * float(A3[j, k]) for j in range(n)) / sum(raw[i]) for k in range(d)] for i in range(n)]
    assert torch.allclose(rows, torch.tensor(expected, dtype=torch.float64), rtol=1e-9)


def test_readout_is_the_double_sum():
    gen = generator(3)
    features, y, tau = normal(5, 3, generator=gen), signs(3, 4, generator=gen), 0.4
    expected = sum(max(float(features[j] @ y[:, i]) - tau, 0) for j in range(5) for i in range(4))
    assert separation.readout(features, y, tau) == pytest.approx(expected)
    assert separation.readout(features, y, 100.0) == 0.0


def test_panels_have_the_printed_grids():
    sizes = {name: len(separation.panel(name).points) for name in separation.panels.NAMES}
    assert sizes["3a"] == 191 and sizes["3b"] == 100
    assert [sizes["4" + x] for x in "abcdef"] == [sizes["5" + x] for x in "abcdef"] == [81, 6, 80, 81, 80, 81]
    assert [sizes["7" + x] for x in "abcde"] == [81, 10, 80, 81, 90]
    assert separation.panel("4d").values[-1] == 2.98 and separation.panel("4f").values[::40] == (0.5, 0.7, 0.9)
    assert {point["m"] for x in "abdef" for point in separation.panel("4" + x).points} == {15}
    assert {point["m"] for point in separation.panel("7a").points} == {9, 10, 11}
    assert {point["m"] for point in separation.panel("7a", rounding="ceil").points} == {10, 11, 12}
    assert (separation.panel("7d").points[0]["n"], separation.panel("7d", keep="d").points[0]["n"]) == (200, 198)
    for name in separation.panels.NAMES[2:]:
        for keep in ("n", "d"):
            for point in separation.panel(name, keep=keep).points:
                separation.data.check_sizes(point["model"], point["n"], point["d"])
