"""Part III, the tangent kernel of softmax networks (cao2024)."""

from attention_theory.tangent.bounds import FitGuarantee, fit_guarantee, kernel_change_bound
from attention_theory.tangent.diffusion import (
    GaussianMixture,
    reverse_sde,
    reverse_times,
    score_from_mean,
    sliced_wasserstein,
)
from attention_theory.tangent.kernel import limit_kernel, smallest_eigenvalue, tangent_kernel
from attention_theory.tangent.network import SoftmaxNetwork
from attention_theory.tangent.training import draw_problems, fit, largest_rate, loss_terms, ntk_regression, train

__all__ = [
    "FitGuarantee",
    "GaussianMixture",
    "SoftmaxNetwork",
    "draw_problems",
    "fit",
    "fit_guarantee",
    "kernel_change_bound",
    "largest_rate",
    "limit_kernel",
    "loss_terms",
    "ntk_regression",
    "reverse_sde",
    "reverse_times",
    "score_from_mean",
    "sliced_wasserstein",
    "smallest_eigenvalue",
    "tangent_kernel",
    "train",
]
