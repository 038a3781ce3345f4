"""Part I, words: how much one changed word moves a feature map (bombari2024)."""

from attention_theory.sensitivity.attention_features import OneTokenAttention, RandomAttentionFeatures
from attention_theory.sensitivity.context import to_sphere
from attention_theory.sensitivity.random_features import OneTokenFeatures, RandomFeatures, one_token_in_law
from attention_theory.sensitivity.word import WordSensitivity, climb, word_sensitivity

__all__ = [
    "OneTokenAttention",
    "OneTokenFeatures",
    "RandomAttentionFeatures",
    "RandomFeatures",
    "WordSensitivity",
    "climb",
    "one_token_in_law",
    "to_sphere",
    "word_sensitivity",
]
