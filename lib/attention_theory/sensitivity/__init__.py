"""Part I, words: how much one changed word moves a feature map (bombari2024)."""

from attention_theory.sensitivity.attention_features import OneTokenAttention, RandomAttentionFeatures
from attention_theory.sensitivity.deferred import DeferredGaussian
from attention_theory.sensitivity.infinite_width import arc_cosine, infinite_width_change, infinite_width_sensitivity
from attention_theory.sensitivity.random_features import (
    DeepRandomFeatures,
    OneTokenDeep,
    OneTokenFeatures,
    RandomFeatures,
    deep_one_token_in_law,
    he_variance,
    one_token_in_law,
)
from attention_theory.sensitivity.upper_bound import sensitivity_bound
from attention_theory.sensitivity.word import WordSensitivity, climb, word_sensitivity

__all__ = [
    "DeepRandomFeatures",
    "DeferredGaussian",
    "OneTokenAttention",
    "OneTokenDeep",
    "OneTokenFeatures",
    "RandomAttentionFeatures",
    "RandomFeatures",
    "WordSensitivity",
    "arc_cosine",
    "climb",
    "deep_one_token_in_law",
    "he_variance",
    "infinite_width_change",
    "infinite_width_sensitivity",
    "one_token_in_law",
    "sensitivity_bound",
    "word_sensitivity",
]
