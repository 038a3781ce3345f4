"""Part I, words: how much one changed word moves a feature map (bombari2024)."""

from attention_theory.sensitivity.attention_features import (
    OneTokenAttention,
    RandomAttentionFeatures,
)
from attention_theory.sensitivity.constructive import least_dimension
from attention_theory.sensitivity.deferred import DeferredGaussian
from attention_theory.sensitivity.infinite_width import (
    arc_cosine,
    infinite_width_change,
    infinite_width_sensitivity,
)
from attention_theory.sensitivity.new_label import (
    Solutions,
    best_moves,
    descend,
    feature_alignment,
    min_norm_interpolator,
    solutions,
)
from attention_theory.sensitivity.random_features import (
    DeepRandomFeatures,
    OneTokenFeatures,
    RandomFeatures,
    he_variance,
    one_token_in_law,
)
from attention_theory.sensitivity.upper_bound import crowd_bound, sensitivity_bound
from attention_theory.sensitivity.word import (
    WordSensitivity,
    evaluations,
    projected_ascent,
    search,
    word_sensitivity,
)
