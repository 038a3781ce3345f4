"""The forward process of diffusion, and the score computed from an estimate of the clean point.

The forward process is dx = -x/2 dt + dB (cao2024, eq. 3 with g = 1; another g only changes the
clock). So x(t) = alpha x(0) + sqrt(h) z with alpha = exp(-t/2), h = 1 - exp(-t) and standard normal
z.
"""

import torch
from jaxtyping import Float
from theorybook.validation import NonNegative
from torch import Tensor


def signal_and_noise(t: NonNegative | Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """The factors alpha and h, each of shape (n, 1) or (1, 1), for one time per row of x or a
    single time.

    Raises:
        ValueError: a number of times other than 1 and n, or a negative time.
    """
    t = torch.as_tensor(t, dtype=x.dtype, device=x.device).reshape(-1, 1)
    if len(t) not in (1, len(x)):
        raise ValueError(
            f"t must be one time or one per row of x, got {len(t)} times for {len(x)} rows"
        )
    if not bool((t >= 0).all()):
        raise ValueError(f"times must be 0 or more, got {float(t.min())}")
    return torch.exp(-t / 2), -torch.expm1(-t)


def score_from_mean(
    t: NonNegative | Tensor, x: Float[Tensor, "n d"], mean: Float[Tensor, "n d"]
) -> Float[Tensor, "n d"]:
    """The score (alpha mean - x) / h that belongs to an estimate of E[x(0) | x(t) = x] (Tweedie's
    formula).

    >>> import torch
    >>> from attention_theory.tangent import score_from_mean
    >>> x = torch.tensor([[1.0]]).double()
    >>> round(score_from_mean(1.0, x, mean=x).item(), 3)  # alpha = e^(-1/2), h = 1 - e^(-1)
    -0.622
    """
    alpha, h = signal_and_noise(t, x)
    return (alpha * mean - x) / h
