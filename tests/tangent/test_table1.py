"""The record of Table 1 is what its module computes, and its statistics are what its docstring says."""

import math
import random

import numpy as np
import pytest
import torch
from attention_checks.tangent.fits import Problems, draw_problems, gram
from attention_checks.tangent.runs import table1
from attention_theory.tangent import limit_kernel
from conftest import BOOK
from theorybook.records import Record, read_record


@pytest.mark.parametrize(("n", "d"), table1.SIZES)
def test_widths_are_even_and_reach_from_below_the_parameter_count_to_8n(n, d):
    widths, enough = table1.widths(n, d), table1.enough_parameters(n, d)
    assert all(m % 2 == 0 and m > 0 for m in widths) and widths == sorted(set(widths))
    assert d * (enough - 1) >= n > d * (enough - 3)
    assert widths[0] == max(enough - 2, 2) and enough in widths and widths[-1] == 8 * n


@pytest.mark.parametrize("kind", ["softmax", "exp", "relu"])
def test_a_recorded_point_is_recomputed(kind):
    row = read_record("cao2024-table-1", BOOK / "data").where(kind=kind, n=32, d=8, m=256)[0]
    found = table1.run(kind, 32, 8, 256, limit=300)
    assert found["steps"] == pytest.approx(row["steps"], abs=1)
    assert found["condition"] == pytest.approx(row["condition"], rel=1e-3)


def test_needed_and_typical_width_ask_for_every_wider_one():
    rows = [{"m": 8, "steps": [5, 7, -1, 3]}, {"m": 2, "steps": [9, -1, -1, 4]}, {"m": 4, "steps": [-1, 20, -1, 4]}]
    assert table1.needed_widths(rows) == [8, 4, 16, 2]
    assert table1.needed_widths(rows, steps=10) == [8, 8, 16, 2]
    assert table1.typical_width(rows) == 2
    assert table1.typical_width([{"m": 8, "steps": [-1, 3, -1]}, {"m": 4, "steps": [3, 3, 3]}]) == 16


@pytest.mark.parametrize("kind", ["softmax", "exp", "relu"])
def test_limit_kernel_is_the_limit_of_the_gram_matrix(kind):
    problems = draw_problems(6, 4, 200_000, [1])
    found, limit = gram(kind, problems) / 200_000, limit_kernel(problems.x, kind=kind)
    assert (found - limit).norm() < 0.1 * limit.norm()
    torch.testing.assert_close(limit[0], limit_kernel(problems.x[0], kind=kind))


def test_steps_at_infinite_width_are_the_first_that_reach_the_tolerance():
    steps = table1.enough_steps("softmax", 16, 8)
    problems = draw_problems(16, 8, 2, table1.SEEDS)
    values, vectors = torch.linalg.eigh(limit_kernel(problems.x)[0])
    share = (vectors.T @ problems.y[0]).square() / 16
    left = lambda t: float((share * (1 - values / values[-1]) ** (2 * t)).sum())
    assert left(float(steps[0])) <= 0.01 < left(float(steps[0]) - 1)


@pytest.mark.parametrize(("n", "d", "m", "expected"), [(10, 2, 4, 6), (9, 3, 2, 3), (5, 3, 4, 5), (12, 2, 6, 10)])
def test_the_jacobians_rank_is_the_number_of_free_parameters(n, d, m, expected):
    """Min(n, d (m - 1)): a common shift of all neurons changes nothing."""
    assert table1.jacobian_rank(n, d, m) == table1.jacobian_rank(n, d, m, 7) == expected


def test_dead_inputs_have_no_positive_score():
    W = torch.tensor([[[1.0, 1.0, -1.0, -1.0], [0.0, 0.0, 1.0, 1.0]]])
    x = torch.tensor([[[0.0, -1.0], [1.0, 0.0], [-1.0, -1.0], [0.0, 2.0], [0.0, 0.0]]])  # scores x_1 and x_2 - x_1, twice
    problems = Problems(x, torch.ones(1, 5), W, torch.tensor([[[1.0, -1.0, 1.0, -1.0]]]))
    assert table1.dead_inputs(problems).tolist() == [[True, False, True, False, True]]


def test_counts_of_a_row():
    row = {"steps": [-1, 0, 5, 7], "peak": [1.0, 1.001, 3.0, 0.5]}
    assert (table1.fitted(row), table1.rises(row), table1.steps_of(row)) == (3, 2, [20_000, 0, 5, 7])


def made_up():
    """Three widths at every size and closeness with random outcomes, and rows of the sweep over the step size."""
    draw = random.Random(0)
    points = [dict(kind="exp", n=n, d=d, m=m) for n, d in table1.SIZES for m in (8 * n, 2, n)]
    points += [dict(kind="exp", n=16, d=8, m=m, closeness=c) for c in table1.CLOSENESS for m in (2, 2048, 128)]
    points += [dict(kind="exp", n=16, d=8, m=512, speed=s, limit=1_000) for s in (1.0, 2.5)]
    outcome = lambda: (
        draw.choice([-1, 0, 1, draw.randint(1, 10_000), draw.randint(1, 10_000)]),
        draw.choice([math.inf, 3.5, 80]),
    )
    results = [dict(zip(("steps", "condition"), map(list, zip(*(outcome() for _ in range(32)))))) for _ in points]
    rows = [{"closeness": None, "speed": 1.0, **p, **r} for p, r in zip(points, results)]
    return table1.Table1(Record("made up", {}, {}, points, results)), rows


def needed(rows, seed, limit=10_000):
    """The smallest width from which on all are fitted, twice the widest otherwise, one width after another."""
    fitted = {row["m"]: 0 <= row["steps"][seed] <= limit for row in rows}
    return min((m for m in fitted if all(fitted[wider] for wider in fitted if wider >= m)), default=2 * max(fitted))


def test_the_table_takes_the_rows_it_says():
    table, rows = made_up()
    steps = lambda row: [s if s >= 0 else 20_000 for s in row["steps"]]
    at = lambda n, d, c=None: [r for r in rows if (r["n"], r["d"], r["closeness"], "limit" in r) == (n, d, c, False)]
    widest = lambda n, d, c=None: max(at(n, d, c), key=lambda row: row["m"])
    assert [row["m"] for row in table.rows("exp", 32, 16)] == [2, 32, 256]
    with pytest.raises(ValueError, match="no row has {'kind': 'relu', 'n': 32"):
        table.rows("relu", 32, 16)
    assert [row["m"] for row in table.rows("exp", 16, 8)] == [2, 16, 128]
    for speed in (1.0, 2.5):
        assert [row["steps"] for row in table.rows("exp", 16, 8, speed=speed)] == [
            row["steps"] for row in rows if "limit" in row and row["speed"] == speed
        ]
    for n, d in table1.SIZES:
        first = [min((r["m"] for r in at(n, d) if r["steps"][seed] >= 0), default=16 * n) for seed in range(32)]
        assert table.first_fitted("exp", n, d) == first
    fitted = [
        (k, s)
        for row in rows
        if "limit" not in row and row["m"] == 8 * row["n"]
        for k, s in zip(row["condition"], row["steps"])
    ]
    assert sorted(zip(*table.by_condition("exp"))) == sorted((k, s) for k, s in fitted if s > 0 and k != math.inf)
    sizes = [(n, 16) for n in (16, 32, 64, 96, 128)]
    expected = [(n, needed(at(n, d), seed)) for n, d in sizes for seed in range(32)]
    assert list(zip(*table.needed_in_n("exp", 16))) == expected
    assert list(zip(*table.steps_in_n("exp", 16))) == [(n, s) for n, d in sizes for s in steps(widest(n, d))]
    places = [(n, d, None) for n, d in table1.SIZES] + [(16, 8, c) for c in (1.0, 0.5, 0.25, 0.125)]
    assert table.wide_runs("exp") == [(*place, steps(widest(*place))) for place in places]


def smallest(n, d, closeness=None):
    """Of the limit kernel x.x exp(x.x) of each seed's points."""
    found = []
    for seed in table1.SEEDS:
        x = draw_problems(n, d, 2, [seed], closeness).x[0].numpy()
        found.append(np.linalg.eigvalsh(x @ x.T * np.exp(x @ x.T))[0])
    return found


@pytest.mark.parametrize("slow", [False, True])
def test_exact_steps_on_close_pairs(slow):
    inverse, steps = table1.exact_on_pairs("softmax", slow)
    assert inverse.tolist() == pytest.approx([1 / lam for c in table1.CLOSENESS for lam in smallest(16, 8, c)], rel=1e-6)
    k = 0
    for closeness in table1.CLOSENESS:
        for seed in table1.SEEDS:
            problems = draw_problems(16, 8, 2, [seed], closeness)
            x, y = problems.x[0].numpy(), problems.y[0].numpy()
            values, vectors = np.linalg.eigh(x @ x.T * np.exp(x @ x.T))
            rate = values[0] / 16**2 if slow else 1 / values[-1]
            left = lambda t, s=(vectors.T @ y) ** 2 / 16, v=rate * values: (s * (1 - v.clip(max=1)) ** (2 * t)).sum()
            t, slack = float(steps[k]), 1e-7 * float(steps[k])  # of the eigenvalues' rounding
            assert left(t + slack) <= 0.01 < left(t - 1 - slack)
            k += 1
    assert k == len(steps)


def test_shares_are_in_units_of_n_and_lambda_squared():
    runs = [(2, 2, None, list(range(1, 33))), (2, 4, 0.5, list(range(40, 72)))]
    expected = [
        value * lam**2 / (n**3 + 1) for n, d, c, values in runs for value, lam in zip(values, smallest(n, d, c)) if lam < 1
    ]
    assert table1.shares("softmax", runs, lambda n: n**3 + 1) == pytest.approx(expected) and 0 < len(expected) < 64
