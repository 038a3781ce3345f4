"""What several tests of the tangent kernel compute term by term."""

import math

import torch
from attention_checks.tangent import printed


def descend(net, x, y, steps, rate):
    """W at each step, by Claim 3.4."""
    path = [net.W]
    for _ in range(steps):
        path.append(path[-1] - rate * printed.claim_3_4(path[-1], net.a, x, y))
    return path


def limit(x, x2=None):
    """The limit kernel x.x' exp(x.x')."""
    x2 = x if x2 is None else x2
    return torch.tensor([[float(p @ q) * math.exp(float(p @ q)) for q in x2] for p in x], dtype=torch.float64)
