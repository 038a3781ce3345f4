"""Many small fitting problems at a time, with softmax, exp or ReLU neurons: which networks fit, and
after how many steps.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import torch
from attention_theory.device import generator, normal, signs
from attention_theory.tangent.kernel import Activation
from attention_theory.tangent.network import SoftmaxNetwork
from jaxtyping import Float, Int
from theorybook.validation import ANY, Count, Positive, Steps
from torch import Tensor


def respond(
    kind: Activation, scores: Float[Tensor, "*batch n m"], a: Float[Tensor, "*batch 1 m"]
) -> tuple[Float[Tensor, "*batch n"], Float[Tensor, "*batch n m"]]:
    """Outputs of single-output networks, and their derivatives by the scores <w_r, x_i>.

    ``softmax`` is m <a, softmax(scores)>; ``exp`` and ``relu`` are sum_r a_r exp(score_r) and sum_r
    a_r relu(score_r). At this common scale the Gram matrix of the Jacobian grows like m for all
    three.
    """
    m = scores.shape[-1]
    if kind == "softmax":
        S = torch.softmax(scores, dim=-1)
        mean = (S * a).sum(-1, keepdim=True)
        return m * mean.squeeze(-1), m * S * (a - mean)
    if kind == "exp":
        powers = scores.exp()
        return (powers * a).sum(-1), powers * a
    return (scores.relu() * a).sum(-1), (scores > 0) * a


@dataclass(frozen=True, eq=False)
class Problems:
    """Independent fitting problems of one size, with a paired network for each."""

    x: Float[Tensor, "b n d"]
    y: Float[Tensor, "b n"]
    W: Float[Tensor, "b d m"]
    a: Float[Tensor, "b 1 m"]


def draw_problems(
    n: Count, d: Count, m: Count, seeds: Iterable[int], closeness: Positive | None = None
) -> Problems:
    """Points on the unit sphere with fair signs as labels, and paired networks with sigma = 1.

    Args:
        n: points, even when ``closeness`` is given.
        d: dimension.
        m: neurons, even.
        seeds: one problem each; the data do not depend on m.
        closeness: when given, the second half of the points repeats the first, moved by a vector of
            this length and put back on the sphere; the smallest eigenvalue of the kernel falls as
            its square.

    Raises:
        ValueError: odd m, or odd n with closeness.

    >>> from attention_checks.tangent.fits import draw_problems
    >>> problems = draw_problems(4, 3, 10, seeds=[0, 1])
    >>> problems.x.shape, problems.y.shape, problems.W.shape
    (torch.Size([2, 4, 3]), torch.Size([2, 4]), torch.Size([2, 3, 10]))
    """
    if m % 2 or (closeness is not None and n % 2):
        raise ValueError(
            f"m must be even, and n too when points come in close pairs, got n = {n}, m = {m}"
        )
    parts = []
    for seed in seeds:
        random = generator(seed)
        x = normal(n, d, generator=random)
        x = x / x.norm(dim=1, keepdim=True)
        if closeness is not None:
            move = normal(n // 2, d, generator=random)
            near = x[: n // 2] + closeness * move / move.norm(dim=1, keepdim=True)
            x = torch.cat((x[: n // 2], near / near.norm(dim=1, keepdim=True)))
        y = signs(n, generator=random)
        net = SoftmaxNetwork.paired(d, m, seed=10_000 + seed, outputs=1)
        parts.append((x, y, net.W, net.a))
    if not parts:
        raise ValueError("a problem needs a seed")
    return Problems(*(torch.stack(part) for part in zip(*parts)))


def gram(kind: Activation, problems: Problems) -> Float[Tensor, "b n n"]:
    """Gram matrices of the gradients at the start."""
    slopes = respond(kind, problems.x @ problems.W, problems.a)[1]
    return (slopes @ slopes.mT) * (problems.x @ problems.x.mT)


@dataclass(frozen=True, eq=False)
class Fits:
    """What became of each problem, one entry per seed.

    ``steps`` until it was fitted, -1 when it was not; ``condition`` of the initial Gram matrix,
    infinite when that is singular to rounding; ``peak``, the largest loss seen before it was
    fitted, over the first.
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
        problems: from :func:`draw_problems`.
        speed: the step size times the largest eigenvalue of the initial Jacobian's Gram matrix (m
            eta lambda_max).
        tolerance: relative squared error at which a network counts as fitted.
        steps: the most steps.
        every: how often the loss is looked at.

    >>> from attention_checks.tangent.fits import draw_problems, fit
    >>> fits = fit("softmax", draw_problems(4, 3, 200, seeds=[0, 1]), tolerance=0.1)
    >>> (fits.steps < 10_000).all().item()  # both networks fit their labels
    True
    """
    x, y, W, a = problems.x, problems.y, problems.W, problems.a
    values = torch.linalg.eigvalsh(gram(kind, problems))
    largest, smallest = values[:, -1], values[:, 0]
    condition = torch.where(smallest > 1e-12 * largest, largest / smallest, float("inf"))
    rate = (speed / largest)[:, None, None]
    taken, peak = (
        torch.full((len(x),), -1, device=x.device),
        torch.zeros(len(x), dtype=x.dtype, device=x.device),
    )
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
