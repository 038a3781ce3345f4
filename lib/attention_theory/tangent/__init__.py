"""Part III, the tangent kernel of softmax networks (cao2024)."""

from attention_theory.tangent.kernel import limit_kernel, smallest_eigenvalue, tangent_kernel
from attention_theory.tangent.network import SoftmaxNetwork

__all__ = ["SoftmaxNetwork", "limit_kernel", "smallest_eigenvalue", "tangent_kernel"]
