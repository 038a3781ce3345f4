"""What counts as a word."""

from attention_checks.trained.runs.words import is_word
from attention_theory.trained.models import MiniLM


def test_a_word_has_letters_and_no_mark_before_it():
    class Tokenizer:
        def id_to_token(self, number):
            return ("word", "##ing", ",", "12")[number]

    model = MiniLM({}, Tokenizer())
    assert [is_word(model, k) for k in range(4)] == [True, False, False, False]
