"""The data sets of deng2023, their attention parameter X = QK^T, and the threshold tau of the
readout.

Three models, by the names used everywhere in this part:

``self-ones``      self-attention with X all ones (appendix D, Figure 5)
``self-identity``  self-attention with X = I (appendix E, Figure 4)
``cross``          cross-attention with X = I (appendix F, Figure 7)
"""

import math
from typing import Any, Literal, get_args

import torch
from jaxtyping import Float
from theorybook.devices import Device
from theorybook.validation import Arithmetic, Count, Natural, NonNegative
from torch import Tensor

Model = Literal["self-ones", "self-identity", "cross"]
MODELS: tuple[Model, ...] = get_args(Model)
#: A size of the self-attention data; None for cross-attention, which does not have it.
Scale = NonNegative | None


def check_columns(model: Model, d: Count) -> int:
    """The number of block columns, d - 2 for self-attention and d - 1 for cross-attention.

    Raises:
        ValueError: no room for a block column.
    """
    taken = 1 if model == "cross" else 2
    if d <= taken:
        raise ValueError(
            f"d = {d} is not allowed: the {model} data need an integer d >= {taken + 1}, for one "
            "block column"
        )
    return int(d) - taken


def check_sizes(model: Model, n: Count, d: Count) -> int:
    """The number t of identity blocks in n = (d-2) t for self-attention and n = (d-1) t for
    cross-attention.

    Raises:
        ValueError: no room for a block column, n < 2 (then ln n = 0), or n not divisible.
    """
    columns = check_columns(model, d)
    if n < 2:
        raise ValueError(
            f"n = {n} is not allowed: the data need an integer n >= 2, since every entry scales "
            "with ln n"
        )
    if n % columns:
        taken = int(d) - columns
        raise ValueError(
            f"n = {n} is not divisible by d - {taken} = {columns}: the data stack identity "
            f"blocks, n = (d-{taken}) t"
        )
    return int(n) // columns


def check_scales(model: Model, b: Scale, c: Scale) -> None:
    """Raise ValueError unless b and c fit the model: both given and not both zero for
    self-attention, neither given for cross.
    """
    if model == "cross":
        if b is not None or c is not None:
            raise ValueError(
                f"b = {b}, c = {c} are not allowed: the cross-attention data have no such "
                "parameters"
            )
        return
    if b is None or c is None:
        raise ValueError(f"b = {b}, c = {c} are not allowed: the self-attention data need both")
    if b == 0 and c == 0:
        raise ValueError(
            "b = c = 0 is not allowed: linear attention would divide by row sums that are 0"
        )


def _check_index(name: str, index: int, n: int) -> None:
    if not 0 <= index < n:
        raise ValueError(
            f"{name} = {index} is not allowed: it is a row, counted from 0 to n - 1 = {n - 1}"
        )


def self_attention_data(
    n: Count,
    d: Count,
    a: NonNegative,
    b: NonNegative,
    c: NonNegative,
    special: Natural = 0,
    device: Device = "cpu",
) -> Float[Tensor, "n d"]:
    """The self-attention input A = A1 = A2 = A3 of size ``a`` (deng2023, Definitions 6.1 and D.1).

    First column: ``a`` at the special row, else 0. Columns 2 to d-1: identity blocks times ``b``,
    stacked. Last column: ``c``. All entries are multiplied by sqrt(ln n). The data set D0 has
    a = a0, D1 has a = a1 > a0.

    Args:
        n, d: rows and columns, n = (d-2) t with an integer t.
        a, b, c: sizes >= 0.
        special: the row j3, counted from 0.

    Raises:
        ValueError: sizes that do not fit, or parameters that are negative or not finite.

    >>> from attention_theory.separation import self_attention_data
    >>> A = self_attention_data(8, 4, a=1.0, b=0.2, c=0.8)
    >>> A.shape
    torch.Size([8, 4])
    >>> (A[:, 0] != 0).sum().item()  # only the special row is marked
    1
    """
    t = check_sizes("self-ones", n, d)
    check_scales("self-ones", b, c)
    _check_index("special", special, n)
    A = torch.zeros(n, d, dtype=torch.float64, device=device)
    A[special, 0] = a
    A[:, 1:-1] = b * torch.eye(d - 2, dtype=torch.float64, device=device).repeat(t, 1)
    A[:, -1] = c
    return A * math.sqrt(math.log(n))


def cross_attention_data(
    n: Count, d: Count, a: NonNegative, query: Natural = 0, key: Natural = 0, device: Device = "cpu"
) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n d"]]:
    """The cross-attention inputs (A1, A2 = A3) of size ``a`` (deng2023, Definition F.1).

    A1 is ln n everywhere except in the first column, which is ``a`` ln n in row ``query`` and 0
    elsewhere. A2 has a 1 in row ``key`` of the first column and stacked identity blocks in columns
    2 to d (the printed "2 to d-1" cannot hold them).

    Args:
        n, d: rows and columns, n = (d-1) t with an integer t.
        a: size >= 0.
        query, key: the rows j2 and j3, counted from 0.

    Raises:
        ValueError: sizes that do not fit, or parameters that are negative or not finite.

    >>> from attention_theory.separation import cross_attention_data
    >>> A1, A2 = cross_attention_data(4, 3, a=2.0)
    >>> A2.shape
    torch.Size([4, 3])
    >>> int((A2 != 0).sum())
    5
    """
    t = check_sizes("cross", n, d)
    _check_index("query", query, n)
    _check_index("key", key, n)
    A1 = torch.ones(n, d, dtype=torch.float64, device=device)
    A1[:, 0] = 0
    A1[query, 0] = a
    A2 = torch.zeros(n, d, dtype=torch.float64, device=device)
    A2[key, 0] = 1
    A2[:, 1:] = torch.eye(d - 1, dtype=torch.float64, device=device).repeat(t, 1)
    return A1 * math.log(n), A2


def inputs(
    model: Model,
    n: Count,
    d: Count,
    a: NonNegative,
    b: Scale = None,
    c: Scale = None,
    device: Device = "cpu",
) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n d"], Float[Tensor, "d d"]]:
    """(A1, A2, X) of a model: its data with the special rows at index 0, and its parameter X =
    QK^T. Always A3 = A2, V = I.

    >>> from attention_theory.separation import inputs
    >>> A1, A2, X = inputs("self-ones", 4, 4, a=1.0, b=0.2, c=0.8)
    >>> X.tolist()[0]
    [1.0, 1.0, 1.0, 1.0]
    >>> A1.shape
    torch.Size([4, 4])
    """
    check_sizes(model, n, d)
    check_scales(model, b, c)
    eye = torch.eye(d, dtype=torch.float64, device=device)
    if b is None or c is None:
        return *cross_attention_data(n, d, a, device=device), eye
    A = self_attention_data(n, d, a, b, c, device=device)
    return A, A, torch.ones_like(eye) if model == "self-ones" else eye


def threshold(
    model: Model, scale: Arithmetic, c: Arithmetic | None = None, level: Arithmetic | None = None
) -> Any:
    """The threshold tau of the readout: (c + 0.1) sqrt(ln n) for self-attention, 0.9 for
    cross-attention (deng2023, Theorems 6.2 and F.5).

    The only definition of tau, for floats, Decimals and balls.

    Args:
        model: one of ``MODELS``.
        scale: sqrt(ln n).
        c: as in :func:`self_attention_data`; None for ``cross``.
        level: replaces the paper's 0.1 (for cross-attention, its 0.9).

    Raises:
        ValueError: no c for self-attention.

    >>> from attention_theory.separation import threshold
    >>> round(threshold("self-ones", 2.0, 0.8), 6)  # (0.8 + 0.1) * 2
    1.8
    """
    number = type(scale)
    if model == "cross":
        return number("0.9") if level is None else level
    if c is None:
        raise ValueError(f"c = None is not allowed: tau of the {model} data depends on it")
    return (c + (number("0.1") if level is None else level)) * scale
