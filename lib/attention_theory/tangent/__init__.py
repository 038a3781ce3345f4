"""Part III, the tangent kernel of softmax networks (cao2024)."""

from attention_theory.tangent.bounds import FitGuarantee, fit_guarantee, kernel_change_bound
from attention_theory.tangent.kernel import limit_kernel, smallest_eigenvalue, tangent_kernel
from attention_theory.tangent.network import SoftmaxNetwork

__all__ = [
    "FitGuarantee",
    "SoftmaxNetwork",
    "fit_guarantee",
    "kernel_change_bound",
    "limit_kernel",
    "smallest_eigenvalue",
    "tangent_kernel",
]
