"""Networks that are trained on points of a circle (page "Start here", chapter "Training")."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import torch
from attention_theory.attention import Weights
from attention_theory.exponential.kernels import start_network
from attention_theory.tangent.kernel import tangent_kernel
from attention_theory.tangent.network import SoftmaxNetwork
from attention_theory.tangent.training import largest_rate, train
from jaxtyping import Float
from theorybook.validation import FILLED, Count, Seed, Size
from torch import Tensor

from attention_checks.tangent.runs.coupling import on_circle


def circle(n: Count) -> Float[Tensor, "n 2"]:
    """Equally spaced points of the unit circle, from angle 0 on."""
    return on_circle(2 * math.pi * torch.arange(n, dtype=torch.float64) / n)


def alternating(n: Count) -> Float[Tensor, "n"]:
    """The labels 1, -1, 1, -1, ... ."""
    return 1 - 2.0 * (torch.arange(n, dtype=torch.float64) % 2)


def _start(
    weights: Weights, x: Float[Tensor, "n d"], m: int, seed: int
) -> tuple[SoftmaxNetwork, float]:
    """The network before the first step, and the rate 1/(m lambda_max) of its kernel."""
    net = start_network(weights, x.shape[1], m, seed).to(x)
    return net, largest_rate(tangent_kernel(net, x), m) / 2


def outputs_while_training(
    weights: Weights,
    x: Float[Tensor, "n d"],
    y: Float[Tensor, "n"],
    seen: Float[Tensor, "k d"],
    m: Count,
    seed: Seed,
    steps: Annotated[Sequence[int], FILLED],
) -> Float[Tensor, "steps k"]:
    """The network's outputs at ``seen`` after these numbers of steps of gradient descent on half
    the squared error.

    All keys are trained, values fixed; the step size is 1/(m lambda_max) of the kernel at the
    start, as in
    :func:`attention_checks.exponential.exact_kernels.descend`.

    Args:
        weights: the family.
        x, y: training points of the unit sphere and their labels.
        seen: where the network is asked.
        m: neurons, even.
        seed: of the weights.
        steps: increasing numbers.
    """
    net, rate = _start(weights, x, m, seed)
    run = train(net, x, y[:, None], max(steps), rate, at=steps, kernel=False)
    return torch.stack([net(seen)[:, 0] for net in run.path])


def steps_to_fit(weights: Weights, n: Count, m: Count, seed: Seed, most: Size = 10_000) -> int:
    """Steps of descent until the mean squared error on the alternating labels of n points of the
    circle is at most a quarter.

    Raises:
        ValueError: it is still larger after ``most`` steps.
    """
    x, y = circle(n), alternating(n)
    net, rate = _start(weights, x, m, seed)
    for step in range(most + 1):
        if (net(x)[:, 0] - y).square().mean() <= 0.25:
            return step
        net = replace(net, W=net.W - rate * net.gradient(x, y[:, None]))
    raise ValueError(f"{weights} does not fit {n} alternating labels within {most} steps")
