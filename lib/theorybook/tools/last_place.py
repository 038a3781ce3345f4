"""Randomise the last place of every inexact floating-point result, a stronger form of the effect of
another processor.

``perturb(seed)`` acts on this process from then on, on torch through a dispatch mode and on NumPy's
module-level reductions, products, transcendental functions and ``numpy.linalg``. A result moves up
or down by one unit in the last place, or stays. Integers and fractions with few binary digits stay,
since they are exact on every machine, and so do results that only move numbers around. Not reached:
NumPy's operators (``a @ b``), and worker processes.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

#: Precision -> integers of its size, and the bits of the mantissa that are zero in a fraction of
#: few digits.
BITS = {np.dtype(np.float64): (np.int64, 2**21 - 1), np.dtype(np.float32): (np.int32, 2**10 - 1)}

#: torch's operations that only copy or select numbers; views and random draws are marked by torch
#: itself.
MOVES = """
    abs alias amax amin arange as_strided bucketize cat ceil clamp clamp_max clamp_min clone
    constant_pad_nd copy cummax cummin diag_embed diagonal_copy empty empty_like empty_strided
    eye fill flip floor full full_like gather index index_fill index_put index_select isin
    kthvalue lift lift_fresh linalg_diagonal masked_fill masked_scatter masked_select max
    maximum median min minimum mode nan_to_num nanmedian neg new_empty new_empty_strided
    new_full new_ones new_zeros nonzero ones ones_like relu repeat resize roll round scatter
    searchsorted select_backward select_scatter set sgn sign slice_backward slice_scatter sort
    stack take threshold topk tril triu trunc unfold_backward unique_consecutive unique_dim
    where zero zeros zeros_like _efficientzerotensor _index_put_impl _pin_memory _reshape_alias
    _reshape_copy _to_copy _unique2 _unsafe_index _unsafe_view
"""

#: NumPy's functions that compute. Its mean, var and std, and the methods of arrays, use the sum of
#: ``numpy._core._methods``.
COMPUTING = """
    arccos arcsin arctan arctan2 average convolve cos cosh cumprod cumsum dot einsum exp expm1
    inner log log10 log1p log2 matmul nansum power prod quantile sin sinh sum tan tanh tensordot
    trapezoid vdot
"""
LINALG = """
    cholesky cond det eig eigh eigvals eigvalsh inv lstsq matrix_norm matrix_power multi_dot
    norm pinv qr slogdet solve svd svdvals vector_norm
"""


#: Steps of -1, 0 and 1 unit for each precision, drawn once: an array takes a stretch of them.
STEPS = {
    integers: np.random.default_rng(0).integers(-1, 2, 2**20, integers)
    for integers in (np.int64, np.int32)
}


def shift(values: np.ndarray, source: np.random.Generator) -> None:
    """Move each inexact number of an array by -1, 0 or 1 unit in its last place."""
    integers, low = BITS[values.dtype]
    bits = values.view(integers)
    # infinity and NaN are among those of few digits
    inexact = (bits & low != 0) & (values != np.rint(values))
    if inexact.any():
        steps = STEPS[integers]
        start = int(source.random() * steps.size)
        here = steps[start : start + values.size]
        if here.size < values.size:
            here = np.take(steps, np.arange(start, start + values.size), mode="wrap")
        bits += here.reshape(values.shape) * inexact


class LastPlace(TorchDispatchMode):
    """A dispatch mode that shifts torch's results while it is active."""

    def __init__(self, source: np.random.Generator) -> None:
        super().__init__()
        self.source = source

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if not computes(func):
            return out
        return (
            self.shifted(out)
            if isinstance(out, torch.Tensor)
            else tree_map_only(torch.Tensor, self.shifted, out)
        )

    def shifted(self, tensor: torch.Tensor) -> torch.Tensor:
        plain = (
            type(tensor) is torch.Tensor
            and tensor.layout == torch.strided
            and tensor.device.type == "cpu"
        )
        if (
            plain
            and tensor.dtype in (torch.float64, torch.float32)
            and tensor.numel()
            and not tensor.is_neg()
        ):
            shift(tensor.detach().numpy(), self.source)
        return tensor


@functools.cache
def computes(func: Any) -> bool:
    """Whether a result of this operation of torch may be rounded."""
    name = func.overloadpacket.__name__
    drawn = torch.Tag.nondeterministic_seeded in func.tags
    return func.namespace == "aten" and not (
        func.is_view or drawn or {name, name.removesuffix("_")} & set(MOVES.split())
    )


def computing(function: Callable, source: np.random.Generator) -> Callable:
    """A NumPy function with its results shifted."""

    def shifted(value: Any) -> Any:
        if isinstance(value, tuple):
            parts = map(shifted, value)
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        if (
            type(value) in (np.ndarray, np.float64, np.float32)
            and value.dtype in BITS
            and value.size
        ):
            array = np.array(value)
            shift(array, source)
            return array if isinstance(value, np.ndarray) else array[()]
        return value

    @functools.wraps(function)
    def wrapper(*args, out=None, **kwargs):
        if out is None:
            return shifted(function(*args, **kwargs))
        return function(*args, out=out, **kwargs)

    return wrapper


def perturb(seed: int) -> None:
    """Shift the inexact results of torch and NumPy in this process from now on."""
    LastPlace(np.random.default_rng([seed, 0])).__enter__()
    source = np.random.default_rng([seed, 1])
    methods = np._core._methods  # what the methods of arrays call  # pyright: ignore[reportAttributeAccessIssue]
    places = [(np, COMPUTING), (np.linalg, LINALG), (methods, "umr_sum umr_prod")]
    for module, names in places:
        for name in names.split():
            setattr(module, name, computing(getattr(module, name), source))
