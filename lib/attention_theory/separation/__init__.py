"""Part II of the book: softmax attention against linear attention (deng2023).

:mod:`data` defines the data sets and the threshold, :mod:`network` runs the networks as defined,
:mod:`exact` computes the probability of success without sampling.
"""

from attention_theory.separation.data import (
    MODELS,
    cross_attention_data,
    inputs,
    self_attention_data,
    threshold,
)
from attention_theory.separation.exact import (
    failures,
    row_classes,
    success_counts,
    success_probability,
)
from attention_theory.separation.network import (
    NETWORKS,
    Rate,
    SuccessCounts,
    attention_features,
    enumerated_counts,
    readout,
    sign_vectors,
    success_rate,
)
