"""A key silenced and forbidden: the two ways against softmax computed anew."""

import pytest
import torch
from attention_checks.trained.runs import sink as runs
from attention_theory.trained import sink
from attention_theory.trained.models import softmax


def drawn(heads=2, n=5, d=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    scores = 2 * torch.randn(heads, n, n, generator=generator, dtype=torch.float64)
    return scores, torch.randn(heads, n, d, generator=generator, dtype=torch.float64), torch.ones(n, n, dtype=torch.bool)


@pytest.mark.parametrize("key", [0, 3])
def test_the_two_ways_are_what_the_layer_does(key):
    scores, values, mask = drawn()
    weights = softmax(scores, mask)
    found, plain = sink.two_ways(weights, values, key), weights @ values
    silenced = sink.silencing(key)(scores, mask, 0) @ values
    forbidden = softmax(scores, sink.forbidding(mask, key)) @ values
    assert torch.allclose(found.silenced, (plain - silenced).norm(dim=-1))
    assert torch.allclose(found.forbidden, (plain - forbidden).norm(dim=-1))


def test_rows_before_the_first_one_stay():
    scores, _, mask = drawn()
    plain = softmax(scores, mask)
    assert torch.equal(sink.silencing(0, 2)(scores, mask, 0)[:, :2], plain[:, :2])
    assert torch.allclose(softmax(scores, sink.forbidding(mask, 0, 2))[:, :2], plain[:, :2])
    assert float(sink.silencing(0, 2)(scores, mask, 0)[:, 2:, 0].abs().max()) == 0


def test_no_row_reads_less_than_its_values_allow_without_a_sink():
    """Values beyond a plane at the distance r from 0: no row is shorter than r, at any sharpness."""
    for seed in range(20):
        scores, values, mask = drawn(seed=seed)
        values = values + torch.tensor([3.0, 0, 0], dtype=torch.float64)
        least = float(values[..., 0].min())  # all values lie beyond this plane
        for sharpness in (0.0, 1.0, 50.0):
            assert float((softmax(sharpness * scores, mask) @ values).norm(dim=-1).min()) >= least - 1e-12


def test_what_has_no_meaning_is_refused():
    with pytest.raises(ValueError, match="key 2 is not among 2"):
        sink.two_ways(torch.tensor([[0.5, 0.5]]), torch.ones(2, 1), 2)
    with pytest.raises(ValueError, match="has the whole weight of a row"):
        sink.two_ways(torch.tensor([[1.0, 0.0]]), torch.ones(2, 1), 0)


class Plain:
    """A model whose token k costs k nats, one more if weights are changed, and one more for each place that a mask forbids."""

    def losses(self, ids, watch=None, weigh=None, mask=None):
        n = len(ids)
        whole = torch.ones(n, n, dtype=torch.bool).tril()
        if watch:
            watch(0, torch.zeros(1, n, n), (whole / whole.sum(1, keepdim=True))[None], torch.ones(1, n, 2))
        return torch.arange(1, n) + float(weigh is not None) + float(0 if mask is None else (whole & ~mask).sum())


def test_what_a_text_of_smollm_costs():
    found, heads = runs.smollm_text(Plain(), list(range(70)))
    counted = range(runs.COUNTED, 70)
    expected = {"plain": sum(counted) / len(counted), "silenced": 1, "forbidden": 70 - runs.FROM, "early": 69}
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert found["word"] == pytest.approx(70 - runs.FROM) and heads[0, 0] == pytest.approx(
        sum(1 / n for n in range(runs.FROM + 1, 71)) / (70 - runs.FROM)
    )
