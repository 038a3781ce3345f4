"""A changed key moves a row as the formula says, and what counts as a word."""

import pytest
import torch
from attention_checks.trained.runs.words import is_word
from attention_theory.trained import words
from attention_theory.trained.features import total_variation
from attention_theory.trained.models import MiniLM


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("key", [0, 4])
def test_a_changed_key_moves_a_row_as_the_formula_says(key):
    scores, values, rest = 2 * drawn(6, 5), drawn(5, 3), [k for k in range(5) if k != key]
    new_scores, new_values = scores.clone(), values.clone()
    new_scores[:, key], new_values[key] = drawn(6, seed=1), drawn(3, seed=2)
    w, new = torch.softmax(scores, -1), torch.softmax(new_scores, -1)
    others = torch.softmax(scores[:, rest], -1) @ values[rest]
    found = words.row_move(w[:, key], new[:, key], values[key], new_values[key], others)
    assert torch.allclose(found, new @ new_values - w @ values)
    assert torch.allclose(total_variation(w, new), (new - w)[:, key].abs())


def test_a_word_has_letters_and_no_mark_before_it():
    class Tokenizer:
        def id_to_token(self, number):
            return ("word", "##ing", ",", "12")[number]

    model = MiniLM({}, Tokenizer())
    assert [is_word(model, k) for k in range(4)] == [True, False, False, False]
