"""How far apart rows can be: bounds against the best of all rows, and what a layer leaves of a diameter."""

import itertools
import math

import pytest
import torch
from attention_checks.trained import exact
from attention_checks.trained.runs.position import _watched, frozen, largest_spread, mean_weight_at
from attention_theory.trained import position
from attention_theory.trained.features import total_variation


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_the_ratio_bound_is_the_largest_over_all_rows(n):
    """Rows with two values, 1 and r, are the corners of all rows whose weights have ratios up to r."""
    for r in (1.0, 1.5, 3.0, 20.0):
        u = torch.tensor(list(itertools.product((1.0, r), repeat=n)), dtype=torch.float64)
        found = position.largest_variation(u / u.sum(1, keepdim=True))
        assert math.isclose(float(found), exact.ratio_bound(r, n), abs_tol=1e-12)
    assert math.isclose(exact.ratio_bound(3.0, 4), 2 / 4)


def test_no_rows_are_further_apart_than_their_scores_allow():
    for seed, scale in itertools.product(range(10), (0.1, 1.0, 5.0)):
        scores = scale * drawn(3, 6, 5, seed=seed)
        found = position.largest_variation(torch.softmax(scores, -1))
        spread, within = largest_spread(scores), (scores.amax(-1) - scores.amin(-1)).amax(-1)
        for head in range(3):
            bound = position.range_bound(float(spread[head]))
            assert float(found[head]) <= bound + 1e-12 <= math.tanh(float(within[head]) / 2) + 2e-12


@pytest.mark.parametrize("n", [2, 3, 7])
def test_the_range_bound_is_attained_at_every_number_of_keys(n):
    for spread in (0.1, 2.0, 9.0):
        scores = torch.full((2, n), 0.0, dtype=torch.float64)
        scores[:, 0] = torch.tensor([spread / 2, -spread / 2], dtype=torch.float64) + math.log(n - 1)
        assert math.isclose(float(position.largest_variation(torch.softmax(scores, -1))), position.range_bound(spread))


def test_a_layer_leaves_at_most_the_variation_of_its_rows():
    for seed in range(20):
        weights, values = torch.softmax(2 * drawn(4, 6, 5, seed=seed), -1), drawn(4, 5, 3, seed=seed + 50)
        left = position.diameter(weights @ values) / position.diameter(values)
        assert bool((left <= position.largest_variation(weights) + 1e-12).all())


def test_some_values_are_left_as_far_apart_as_that():
    weights = torch.softmax(2 * drawn(6, 5), -1)
    sides = torch.tensor(list(itertools.product((0.0, 1.0), repeat=5)), dtype=torch.float64)[1:-1, :, None]
    left = position.diameter(weights @ sides) / position.diameter(sides)
    assert math.isclose(float(left.max()), float(position.largest_variation(weights)))


def test_a_residual_connection_keeps_the_diameter():
    """x + W x with W the mean: the mean is added to every token, so the distances stay."""
    x = drawn(5, 2)
    assert math.isclose(float(position.diameter(x + x.mean(0))), float(position.diameter(x)))


def test_the_nearest_key_keeps_its_share_at_every_length():
    for slope, width, n in itertools.product((0.1, 0.5, 2.0), (0.0, 1.0, 3.0), (1, 2, 10, 3000)):
        contents = torch.full((n,), width, dtype=torch.float64)
        contents[0] = 0
        share = float(torch.softmax(position.sloped_scores(contents, slope), -1)[0])
        assert share >= position.nearest_share(slope, width) - 1e-12
    assert math.isclose(share, position.nearest_share(2.0, 3.0))
    assert math.isclose(position.nearest_share(0.7), 1 - math.exp(-0.7))


def test_without_a_slope_the_nearest_key_keeps_1_of_n():
    for n in (2, 50):
        assert math.isclose(float(torch.softmax(position.sloped_scores(torch.zeros(n).double(), 0.0), -1)[0]), 1 / n)


def test_frozen_layers_do_not_see_their_scores():
    weights = torch.softmax(drawn(2, 3, 4, 4), -1)
    weigh, mask = frozen(weights, [1]), torch.ones(4, 4, dtype=torch.bool)
    assert torch.equal(weigh(drawn(3, 4, 4), mask, 1), weights[1])
    assert torch.allclose(weigh(weights[0].log(), mask, 0), weights[0])


def test_the_share_of_a_place_is_a_mean_over_a_diagonal():
    weights = torch.arange(9.0).view(1, 3, 3)
    assert [float(mean_weight_at(weights, k)) for k in (-1, 0, 1)] == [5.0, 4.0, 3.0]
    with pytest.raises(ValueError, match="3 places away: there are 3 tokens"):
        mean_weight_at(weights, -3)
    assert float(total_variation(weights, weights).sum()) == 0


def test_what_is_watched_of_each_head():
    """Two layers alike: the variation of the rows, its two bounds, the diameter that is left, three places; head by head."""
    scores, values = drawn(2, 4, 4), drawn(2, 4, 3, seed=1)
    weights = torch.softmax(scores, -1)
    kept, seen = _watched(lambda ids, watch: [watch(layer, scores, weights, values) for layer in range(2)], None)
    assert torch.equal(kept, torch.stack([weights, weights])) and torch.equal(seen[:, :2], seen[:, 2:])
    for head in range(2):
        w, s = weights[head], scores[head]
        rows = list(itertools.combinations(range(4), 2))
        variation = max(float(abs(w[i] - w[j]).sum()) / 2 for i, j in rows)
        within = max(float(row.max() - row.min()) for row in s)
        between = max(float((s[i] - s[j]).max() - (s[i] - s[j]).min()) for i, j in rows)
        left = torch.cdist(w @ values[head], w @ values[head]).max() / torch.cdist(values[head], values[head]).max()
        places = [float(w.diagonal(k).mean()) for k in (-1, 0, 1)]
        expected = [variation, math.tanh(between / 4), math.tanh(within / 2), float(left), *places]
        assert seen[:, head].tolist() == pytest.approx(expected)
