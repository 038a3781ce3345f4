"""Many small fitting problems at a time: which networks fit their labels, and after how many steps."""

from dataclasses import dataclass
from typing import Annotated

import torch
from attention_theory.tangent.kernel import Activation
from attention_theory.tangent.training import Problems, respond
from jaxtyping import Float, Int
from theorybook.validation import ANY, Count, Positive, Steps
from torch import Tensor


def gram(kind: Activation, problems: Problems) -> Float[Tensor, "b n n"]:
    """Gram matrices of the gradients at the start."""
    slopes = respond(kind, problems.x @ problems.W, problems.a)[1]
    return (slopes @ slopes.mT) * (problems.x @ problems.x.mT)


@dataclass(frozen=True, eq=False)
class Fits:
    """What became of each problem, one entry per seed.

    ``steps`` until it was fitted, -1 when it was not; ``condition`` of the initial Gram matrix, infinite when that is
    singular to rounding; ``peak``, the largest loss seen before it was fitted, over the first.
    """

    steps: Int[Tensor, " b"]
    condition: Annotated[Float[Tensor, " b"], ANY]
    peak: Float[Tensor, " b"]


def fit(
    kind: Activation,
    problems: Problems,
    speed: Positive = 1.0,
    tolerance: Positive = 0.01,
    steps: Steps = 10_000,
    every: Count = 10,
) -> Fits:
    """Gradient descent on every problem until |F - Y|^2 <= tolerance |Y|^2.

    Args:
        kind: one of ``softmax``, ``exp``, ``relu``.
        problems: from :func:`attention_theory.tangent.training.draw_problems`.
        speed: the step size times the largest eigenvalue of the initial Jacobian's Gram matrix (m eta lambda_max).
        tolerance: relative squared error at which a network counts as fitted.
        steps: the most steps.
        every: how often the loss is looked at.

    >>> from attention_checks.tangent.fits import fit
    >>> from attention_theory.tangent import draw_problems
    >>> fits = fit("softmax", draw_problems(4, 3, 200, seeds=[0, 1]), tolerance=0.1)
    >>> (fits.steps < 10_000).all().item()  # both networks fit their labels
    True
    """
    x, y, W, a = problems.x, problems.y, problems.W, problems.a
    values = torch.linalg.eigvalsh(gram(kind, problems))
    largest, smallest = values[:, -1], values[:, 0]
    condition = torch.where(smallest > 1e-12 * largest, largest / smallest, float("inf"))
    rate = (speed / largest)[:, None, None]
    taken, peak = torch.full((len(x),), -1, device=x.device), torch.zeros(len(x), dtype=x.dtype, device=x.device)
    left = torch.arange(len(x), device=x.device)  # neither fitted nor diverged
    for step in range(steps + 1):
        outputs, derivatives = respond(kind, x @ W, a)
        error = outputs - y
        if step % every == 0:
            relative = error.square().sum(1) / y.square().sum(1)
            peak[left] = torch.maximum(peak[left], relative)
            fitted = relative <= tolerance
            taken[left[fitted]] = step
            going = ~fitted & (relative < 1e6)
            if not bool(going.all()):
                left = left[going]
                if not len(left):
                    break
                x, y, W, a, rate = (part[going] for part in (x, y, W, a, rate))
                error, derivatives = error[going], derivatives[going]
        W = W - rate * (x.mT @ (error[..., None] * derivatives))
    return Fits(taken, condition, peak)
