"""Attention, sweeps, tables, random numbers."""

import math

import joblib
import numpy as np
import pytest
import torch
from attention_theory import device, patches
from attention_theory.attention import attention, attention_weights
from attention_theory.tangent import limit_kernel
from theorybook import figures
from theorybook.formula import formula
from theorybook.sweep import sweep


def test_relu_row_without_a_positive_score_attends_to_nothing():
    weights = attention_weights(torch.tensor([[-1.0, -2.0], [1.0, -1.0]], requires_grad=True), "relu")
    assert weights.tolist() == [[0.0, 0.0], [1.0, 0.0]]
    weights.sum().backward()  # and has a finite gradient


def test_softmax_survives_large_scores():
    assert attention_weights(torch.tensor([[1e4, 0.0]])).tolist() == [[1.0, 0.0]]


def test_attention_averages_values():
    values = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    assert attention(torch.tensor([[3.0, -1.0]]), values, "linear").tolist() == [[1.5, -0.5]]


def test_random_numbers_are_seeded_and_float64():
    first, second = (device.normal(2, 3, generator=device.generator(7)) for _ in range(2))
    assert torch.equal(first, second) and first.dtype == torch.float64
    signs = device.signs(1000, generator=device.generator(1))
    assert set(signs.tolist()) == {-1.0, 1.0} and abs(signs.mean()) < 0.2


@pytest.mark.parametrize("backend", ["sequential", "threading", "loky"])
def test_sweep_keeps_order_on_any_backend(backend):
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert sweep(pow, [{"base": b, "exp": 2} for b in range(5)]) == [0, 1, 4, 9, 16]


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_the_readers_function_calls_is_checked_for_every_number_of_jobs(jobs):
    with pytest.raises(ValueError, match="sigma = -1 is not allowed"):
        sweep(limit_kernel, [{"x": torch.eye(2, dtype=torch.float64), "sigma": sigma} for sigma in (1, -1)], jobs)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has such a device")
def test_a_device_that_is_not_there_is_named():
    images = patches.PatchDistribution(8, 2, 4, 0.2, 0.3)
    with pytest.raises(ValueError, match="'cuda' is not allowed: a device of this machine"):
        patches.train_vit(images, 4, 1, seed=0, device="cuda")


def test_table_rounds_numbers_and_keeps_integers_and_text():
    table = figures.table({"n": np.array([123456, 7]), "rate": [0.12345, 2.0], "name": ["a", "b"]}, {"rate": ".2f"})
    assert table.rows == [["123456", "0.12", "a"], ["7", "2.00", "b"]]
    assert "0.12" in repr(table) and "<table>" in table._repr_html_()


def test_a_formula_may_hold_a_fence_and_needs_a_name():
    def fenced(): return "```"  # fmt: skip

    assert formula(fenced)._repr_markdown_().startswith("````python\ndef fenced")
    with pytest.raises(TypeError, match="no source that begins with def"):
        formula(lambda: 0)
    exec("def typed(): pass", shell := {})
    with pytest.raises(TypeError, match="typed .* has no source in a file or a notebook's cell"):
        formula(shell["typed"])


def test_a_zero_in_a_table_has_no_sign():
    values = [-1e-17, -0.004, 0.0, -0.006, -math.inf]
    assert [row[0] for row in figures.table({"a": values}, ".2f").rows] == ["0.00", "0.00", "0.00", "-0.01", "-inf"]
    assert figures.table({"a": [-0.0]}).rows == [["0"]]
    assert figures.table({"a": [-1e-20]}).rows == [["-1e-20"]]
