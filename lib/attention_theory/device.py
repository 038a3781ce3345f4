"""The device to compute on, and random numbers that are the same on every device."""

import contextlib
from collections.abc import Iterator

import torch
from jaxtyping import Float
from theorybook.validation import Seed, Steps
from torch import Tensor


def best_device() -> torch.device:
    """The first GPU if there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def generator(seed: Seed) -> torch.Generator:
    """A CPU generator with this seed. Draw from it in float64 and move the result: GPUs have other
    random streams.
    """
    return torch.Generator("cpu").manual_seed(seed)


def signs(*shape: Steps, generator: torch.Generator) -> Tensor:
    """Independent fair signs -1.0 and +1.0, float64 on the CPU."""
    return torch.randint(0, 2, shape, generator=generator).to(torch.float64).mul_(2).sub_(1)


def normal(*shape: Steps, generator: torch.Generator) -> Tensor:
    """Independent standard normal numbers, float64 on the CPU."""
    return torch.randn(shape, generator=generator, dtype=torch.float64)


@contextlib.contextmanager
def gradients() -> Iterator[None]:
    """Compute gradients in this block, even where the caller has switched them off with
    ``torch.no_grad``.

    Raises:
        ValueError: inside ``torch.inference_mode``, whose tensors never have gradients.
    """
    if torch.is_inference_mode_enabled():
        raise ValueError(
            "gradients are computed here, and torch.inference_mode() allows none: take "
            "torch.no_grad()"
        )
    with torch.enable_grad():
        yield


def least_squares(
    A: Float[Tensor, "rows columns"], b: Float[Tensor, "rows"]
) -> Float[Tensor, "columns"]:
    """The minimum-norm least-squares solution x of A x = b, at any rank."""
    if A.device.type == "cpu":  # GPUs have no LAPACK driver for deficient rank
        return torch.linalg.lstsq(A, b[:, None], driver="gelsd").solution[:, 0]
    return torch.linalg.pinv(A) @ b
