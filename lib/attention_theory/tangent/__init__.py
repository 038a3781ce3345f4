"""Part III: the tangent kernel of softmax networks (cao2024)."""

from attention_theory.tangent.bounds import (
    change_factor,
    fit_guarantee,
    kernel_change_bound,
    sufficient_width,
)
from attention_theory.tangent.diffusion import score_from_mean
from attention_theory.tangent.kernel import (
    error_constant,
    limit_kernel,
    rank,
    rank_bound,
    smallest_eigenvalue,
    tangent_kernel,
)
from attention_theory.tangent.network import SoftmaxNetwork, unit_points
from attention_theory.tangent.training import largest_rate, ntk_regression, train
