"""What a network says between its training points while it is trained (page "Start here", chapter "Training")."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.attention import Weights
from attention_theory.domain import FILLED, Count, Seed
from attention_theory.exponential.kernels import start_network
from attention_theory.tangent.kernel import tangent_kernel


def outputs_while_training(
    weights: Weights,
    x: Float[Tensor, "n d"],
    y: Float[Tensor, "n"],
    seen: Float[Tensor, "k d"],
    m: Count,
    seed: Seed,
    steps: Annotated[Sequence[int], FILLED],
) -> Float[Tensor, "steps k"]:
    """The network's outputs at ``seen`` after these numbers of steps of gradient descent on half the squared error.

    All keys are trained, values fixed; the step size is 1/(m lambda_max) of the kernel at the start, as in
    :func:`attention_theory.exponential.kernels.descend`.

    Args:
        weights: the family.
        x, y: training points of the unit sphere and their labels.
        seen: where the network is asked.
        m: neurons, even.
        seed: of the weights.
        steps: increasing numbers.
    """
    net = start_network(weights, x.shape[1], m, seed).to(x)
    rate = 1 / (m * float(torch.linalg.eigvalsh(tangent_kernel(net, x))[-1]))
    found = []
    for step in range(max(steps) + 1):
        if step in steps:
            found.append(net(seen)[:, 0])
        net = replace(net, W=net.W - rate * net.gradient(x, y[:, None]))
    return torch.stack(found)


def circle(degrees: Float[Tensor, "n"]) -> Float[Tensor, "n 2"]:
    """Points of the unit circle at these angles."""
    angles = torch.deg2rad(degrees)
    return torch.stack((angles.cos(), angles.sin()), dim=1)
