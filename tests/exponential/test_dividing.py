"""What dividing does, against literal computations and counts."""

import itertools

import pytest
import torch
from attention_checks.exponential import without_division
from attention_theory import tokens
from attention_theory.exponential import dividing, population_descent_with, sharp
from attention_theory.sensitivity.attention_features import RandomAttentionFeatures


def test_four_ways_to_divide():
    raw = torch.tensor([[4.0, 2.0, 2.0]], dtype=torch.float64)
    found = {over: dividing.divided(raw, over)[0].tolist() for over in ("sum", "count", "largest", "nothing")}
    assert found == {"sum": [0.5, 0.25, 0.25], "count": [4 / 3, 2 / 3, 2 / 3], "largest": [1, 0.5, 0.5], "nothing": [4, 2, 2]}


@pytest.mark.parametrize("n", [1, 2, 4])
def test_retrieval_counts_all_patterns(n):
    for u in (lambda s: s * s, lambda s: max(s, 0) ** 3, lambda s: 2 ** ((s + 3) // 2)):
        scores = [sum(signs) for signs in itertools.product((1, -1), repeat=3)]
        cases = list(itertools.product(scores, repeat=n - 1))
        counted = sum(sum(map(u, case)) < u(3) for case in cases) / len(cases)
        assert without_division.retrieval_probability(u, 3, n) == pytest.approx(counted, abs=1e-12)


def test_aligned_changes_are_those_of_the_moved_context():
    X, W = tokens.contexts("iid", 1, 5, 4, seed=2)[0], RandomAttentionFeatures.sample(4, 1).W
    found = without_division.aligned_change(sharp(1), "nothing", X, W, token=1)
    key = X[3] @ W
    moved = X.clone()
    moved[1] += 2 * key / key.norm()
    before, after = (torch.exp(x @ W @ x.T / 2) @ x for x in (X, moved))
    assert float(found[2]) == pytest.approx(float((after - before).norm() / before.norm()))


def test_groups_divided_by_the_sum_are_those_of_the_chapter_on_space():
    ours = without_division.groups_descent(sharp(1), "sum", 6, 2, 0.25, steps=30)
    theirs = population_descent_with(sharp(1), 6, 2, 0.25, steps=30)
    assert ours.error == pytest.approx(theirs.error.tolist(), abs=1e-12)
    assert ours.ratio == pytest.approx(torch.exp(theirs.gamma - theirs.rho).tolist(), rel=1e-9)
