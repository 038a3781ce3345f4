"""Token matrices: on the sphere, reproducible, and real where they say so."""

import gzip
import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from attention_checks import word_vectors
from attention_theory import tokens
from attention_theory.device import generator, normal
from attention_theory.trained import models, texts, wheels


@pytest.mark.parametrize("kind", tokens.KINDS)
@pytest.mark.parametrize("d", [192, 768])
def test_contexts_lie_on_the_sphere_and_repeat(kind, d):
    X = tokens.contexts(kind, 3, 7, d, seed=4)
    assert X.shape == (3, 7, d) and X.dtype == torch.float64
    tokens.require_on_sphere(X)
    assert torch.equal(X, tokens.contexts(kind, 3, 7, d, seed=4))
    assert not torch.equal(X, tokens.contexts(kind, 3, 7, d, seed=5))


def test_kinds_differ_as_they_should():
    X = {kind: tokens.contexts(kind, 20, 50, 384, 0).flatten(0, 1) for kind in tokens.KINDS}
    mean = {kind: float(rows.mean(0).norm()) / 384**0.5 for kind, rows in X.items()}
    assert mean["iid"] < 0.05
    assert mean["anisotropic"] ** 2 == pytest.approx(tokens.MEAN_SHARE, abs=0.05)
    assert 0.1 < mean["real"] < mean["anisotropic"]


def test_anisotropic_spectrum_is_a_power_law():
    X = tokens.contexts("anisotropic", 100, 100, 192, 1).flatten(0, 1)
    variance = X.var(dim=0)
    slope = np.polyfit(np.log(np.arange(1, 193)), np.log(variance.numpy()), 1)[0]
    assert slope == pytest.approx(-tokens.SPECTRUM, abs=0.1)


def test_passages_are_words_in_their_order():
    data = np.load(tokens.FILE)
    text = " ".join(data["words"][data["text"]])
    words = tokens.passages(5, 12, seed=2)
    assert all(" ".join(passage) in text for passage in words)
    X = tokens.contexts("real", 5, 12, 384, seed=2)
    assert torch.equal(X, tokens.embed(words, 384))


def test_passages_do_not_overlap_while_there_is_text():
    data = np.load(tokens.FILE)
    fit = (len(data["text"]) - 40) // 40
    starts = {tuple(p) for p in tokens.passages(fit, 40, 0)}
    assert len(starts) > 0.99 * fit  # a few passages of the reference repeat word for word
    assert len(tokens.passages(1301, 120, 0)) == 1301


def test_neighbours_of_a_word_are_related():
    words = tokens.vocabulary()
    X = tokens.embed(words, 384)
    nearest = (X @ X[words.index("tuple")]).argsort(descending=True)[1:9]
    assert "list" in [words[i] for i in nearest.tolist()]


def test_script_reproduces_the_shipped_vectors():
    shipped = dict(np.load(tokens.FILE))
    if word_vectors.fingerprint(word_vectors.paragraphs()) != str(shipped["source"]):
        pytest.skip("this Python ships another text")
    built = word_vectors.build()
    assert built["words"].tolist() == shipped["words"].tolist()
    assert np.array_equal(built["text"], shipped["text"])
    new, old = built["vectors"].astype(float), shipped["vectors"].astype(float)
    signs = np.sign((new * old).sum(axis=0))
    assert np.abs(new * signs - old).max() < 2e-3  # float16 holds three digits, entries are below 4


def test_data_file_is_small_and_half_precision():
    assert tokens.FILE.stat().st_size < 3 * 2**20
    assert np.load(tokens.FILE)["vectors"].dtype == np.float16


def test_on_sphere_of_a_batch():
    X = torch.randn(2, 3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(tokens.on_sphere(X).norm(dim=-1), torch.full((2, 3), 5**0.5, dtype=torch.float64))


# Film reviews


WORDS = tokens.Encoder("Words", lambda text: [len(word) for word in text.split()], lambda ids: torch.eye(300)[ids] + 0.5)


def test_reviews_keep_special_tokens_and_padding():
    films = [("a bb<br /> ccc", 1), ("dddd " * 240, -1), ("dddd " * 239, -1), ("eeeee", -1)]  # the second is too long
    found, labels = tokens.reviews(3, 6, 290, 4, WORDS, films)
    order = [i for i in torch.randperm(4, generator=generator(4)).tolist() if i != 1]
    assert labels.tolist() == [films[i][1] for i in order]
    ids = {0: [101, 1, 5, 2, 3, 102], 2: [101, 4, 4, 4, 4, 4], 3: [101, 5, 102, 0, 0, 0]}
    expected = tokens.on_sphere((torch.eye(300)[torch.tensor([ids[i] for i in order])] + 0.5)[..., :290].double())
    torch.testing.assert_close(found, expected)
    padding = tokens.on_sphere(torch.eye(300)[0].double() + 0.5)
    torch.testing.assert_close(tokens.reviews(3, 256, 300, 4, WORDS, films)[0][:, -1], padding.expand(3, 300))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((1, 257, 4, 0, WORDS, [("a", 1)]), "^n = 257 is too long: a review is padded to 256 tokens"),
        ((1, 3, 301, 0, WORDS, [("a", 1)]), "^tokens of Words have 300 coordinates"),
        ((1, 3, 4, 0, WORDS, [("a", 0)]), "^labels must be 1 or -1, got 0$"),
        ((2, 3, 4, 0, WORDS, [("a", 1), ("b " * 240, 1)]), "^2 different reviews .* needed, and only 1 of 2"),
        ((2, 3, 4, 0, WORDS, [("a bb", 1), ("a bb ccc", 1)]), "^2 different reviews .* needed, and only 1 of 2"),
    ],
)
def test_reviews_that_do_not_fit_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        tokens.reviews(*given)


def test_files_of_reviews_are_read_whole_or_refused(tmp_path, monkeypatch):
    def read(name, content):
        (tmp_path / name).write_bytes(content)
        monkeypatch.setenv("IMDB_REVIEWS", str(tmp_path / name))
        return texts.reviews()

    monkeypatch.setenv("IMDB_REVIEWS", str(tmp_path / "none"))
    with pytest.raises(FileNotFoundError, match=f"^no reviews at {tmp_path / 'none'}: set IMDB_REVIEWS"):
        texts.reviews()
    lines = [{"text": "good<br />", "label": 1}, {"text": "bad", "label": 0}, {"text": "worse", "label": -1}]
    whole = gzip.compress("\n".join(map(json.dumps, lines)).encode())
    assert read("whole", whole) == [("good<br />", 1), ("bad", -1), ("worse", -1)]
    for name, broken in {"cut": whole[:-12], "page": b"<html>not found</html>", "words": gzip.compress(b"not JSON")}.items():
        with pytest.raises(ValueError, match=f"^{tmp_path / name} is cut, or holds no gzipped lines of JSON: "):
            read(name, broken)
    for number, line in enumerate(({"text": "good", "label": 7}, {"label": 1}, ["good", 1])):
        with pytest.raises(ValueError, match="line 1: a review has a text and a label 1, 0 or -1, got label"):
            read(str(number), gzip.compress(json.dumps(line).encode()))


@pytest.mark.skipif(not wheels.installed(), reason="needs the models: make models")
def test_layer_zero_of_minilm_is_word_place_and_type_normalised():
    encoder = tokens.minilm_encoder()
    model = models.minilm()
    found = tokens.reviews(1, 5, 384, 0, encoder, [("A fine film.", 1)])[0][0]
    ids = [101, *model.tokens("A fine film."), 102][:5]
    x = sum(model.w[f"embeddings.{part}_embeddings.weight"][rows] for part, rows in
            (("word", ids), ("position", range(5)), ("token_type", [0] * 5)))  # fmt: skip
    x = (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True, correction=0) + 1e-12)
    x = x * model.w["embeddings.LayerNorm.weight"] + model.w["embeddings.LayerNorm.bias"]
    torch.testing.assert_close(found, tokens.on_sphere(x.double()), rtol=1e-5, atol=1e-5)


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ImportError, match="^BERT tokens need the package transformers: pip install transformers$"):
        tokens.bert_base()
    with pytest.raises(ImportError, match="^the imdb reviews need the package datasets: pip install datasets$"):
        tokens.contexts("bert", 1, 2, 3, 0)


def test_bert_contexts_are_the_first_tokens_of_the_texts_that_are_long_enough():
    table = normal(7, 5, generator=generator(0)).float()

    def tokenizer(text, add_special_tokens, truncation, max_length):  # one word, one token: its length
        assert not add_special_tokens and truncation
        return {"input_ids": [len(word) for word in text.split()][:max_length]}

    model = SimpleNamespace(get_input_embeddings=lambda: SimpleNamespace(weight=table))
    texts = ["a bb ccc", "a<br />bb dddd eeeee", "aa bbb", "ffffff a ff fff"]
    rows = {0: [1, 2, 3], 1: [1, 2, 4], 3: [6, 1, 2]}  # the third text is too short
    found = tokens.bert_contexts(texts, 3, 3, 4, seed=2, tokenizer=tokenizer, model=model)
    order = [i for i in torch.randperm(4, generator=generator(2)).tolist() if i != 2]
    expected = torch.stack([table[rows[i], :4].double() for i in order])
    torch.testing.assert_close(found, expected * (2 / expected.norm(dim=-1, keepdim=True)))
    assert torch.equal(tokens.bert_contexts(texts, 1, 3, 4, seed=2, tokenizer=tokenizer, model=model), found[:1])
    assert tokens.bert_contexts(texts, 2, 2, 5, seed=2, tokenizer=tokenizer, model=model).shape == (2, 2, 5)
    assert tokens.bert_contexts(texts, 2, 3, 1, seed=2, tokenizer=tokenizer, model=model).shape == (2, 3, 1)
    with pytest.raises(ValueError, match="5 coordinates"):
        tokens.bert_contexts(texts, 1, 3, 6, seed=2, tokenizer=tokenizer, model=model)
    with pytest.raises(ValueError, match="4 texts of 3 tokens are needed, and only 3 of 4"):
        tokens.bert_contexts(texts, 4, 3, 4, seed=2, tokenizer=tokenizer, model=model)


def test_imdb_labels_are_signs(monkeypatch):
    rows = {"text": ["good", "bad"], "label": [1, 0]}
    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=lambda name, split: rows))
    assert tokens.imdb() == (["good", "bad"], [1, -1])
