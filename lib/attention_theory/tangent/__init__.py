"""Part III, the tangent kernel of softmax networks (cao2024)."""

from attention_theory.tangent.network import SoftmaxNetwork

__all__ = ["SoftmaxNetwork"]
