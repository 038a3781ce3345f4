"""The networks as defined: attention and readout, evaluated by Monte Carlo and by enumeration.

Everything here forms the n x n attention of the definitions. :mod:`exact` computes the same numbers
without it.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from theorybook import rate_interval
from theorybook.devices import Device
from theorybook.validation import Count, NonNegative, Seed, Signed, Size
from torch import Tensor

from attention_theory.attention import Weights, attend
from attention_theory.device import generator, signs
from attention_theory.separation import data
from attention_theory.separation.data import Model, Scale

WEIGHTS = ("softmax", "linear")
#: The four outputs in the event E_success, as (weights, data set). The first must fire, the others
#: must stay quiet.
NETWORKS = (("softmax", 1), ("linear", 1), ("softmax", 0), ("linear", 0))
#: Numbers held at once by the batched routes: 64 MiB of float64.
BATCH = 2**23
#: A value this close to tau equals it: some settings have exact ties, which rounding (about 1e-15)
#: would decide.
ROUNDING = 1e-12


def _check_few(d: int) -> None:
    if d > 24:
        raise ValueError(
            f"d = {d} is not allowed: enumerating 2^d sign vectors is limited to d <= 24"
        )


def sign_vectors(d: Count) -> Float[Tensor, "vectors d"]:
    """All 2^d sign vectors, one per row.

    Raises:
        ValueError: d > 24.

    >>> from attention_theory.separation import sign_vectors
    >>> sign_vectors(2).tolist()
    [[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]
    """
    _check_few(d)
    return _vectors(torch.arange(2**d), d)


def _vectors(codes: Tensor, d: int) -> Tensor:
    """The sign vectors whose bits are these codes."""
    return ((codes[:, None] >> torch.arange(d, device=codes.device)) & 1).to(torch.float64) * 2 - 1


def attention_features(
    A1: Float[Tensor, "n d"],
    A2: Float[Tensor, "k d"],
    A3: Float[Tensor, "k d"],
    X: Float[Tensor, "d d"],
    weights: str | Weights,
) -> Float[Tensor, "n d"]:
    """Rows c_{j0} of one attention layer with V = I: weights from the scores A1 X A2^T, applied to
    A3.

    deng2023, Definitions C.1 and C.4 in the form of Claims C.3 and C.5. For self-attention pass A
    three times.

    Args:
        A1: (n, d) queries.
        A2, A3: (k, d) keys and values.
        X: (d, d), the product QK^T.
        weights: ``softmax`` (f_exp), ``linear`` (f_lin), or Weights.

    Raises:
        ValueError: unknown weights, shapes that do not fit, or a row of linear scores that sums to
            0.

    >>> import torch
    >>> from attention_theory.separation import attention_features
    >>> A, zero = torch.eye(2).double(), torch.zeros(2, 2).double()
    >>> attention_features(A, A, A, zero, "softmax").tolist()  # equal scores average the rows
    [[0.5, 0.5], [0.5, 0.5]]
    """
    if not isinstance(weights, Weights) and weights not in WEIGHTS:
        raise ValueError(
            f"weights {weights!r} are unknown here; choose one of {', '.join(WEIGHTS)}"
        )
    return attend(A1 @ X, A2, A3, weights)


def readout(features: Float[Tensor, "n d"], y: Float[Tensor, "d m"], tau: Signed) -> float:
    """F = phi(sum over rows j and signs l of phi_tau(<c_j, y_l>)) with phi_tau(z) = max(z - tau, 0)
    (deng2023, Definition C.6).

    Args:
        features: (n, d), rows c_j.
        y: (d, m), columns y_l. (Definition C.6 prints n x m, which cannot be multiplied.)
        tau: the threshold.

    Raises:
        ValueError: shapes that do not fit, m < 1, or a threshold that is not finite.

    >>> import torch
    >>> from attention_theory.separation import readout
    >>> features, y = torch.tensor([[1.0, 0.5]]).double(), torch.tensor([[1.0], [1.0]]).double()
    >>> readout(features, y, 0.9)  # 1.5 is above 0.9
    0.6
    """
    return torch.relu(torch.relu(features @ y - tau).sum()).item()


def _four(
    model: Model, n: int, d: int, a0: float, a1: float, b: Scale, c: Scale, device: Device = "cpu"
):
    """The inputs (A1, A2, X) of the four networks in the order of NETWORKS, with their weights."""
    inputs = [data.inputs(model, n, d, a, b, c, device) for a in (a0, a1)]
    return [(*inputs[which], weights) for weights, which in NETWORKS]


def _tau(model: Model, n: int, c: Scale, level: float | None = None) -> float:
    return data.threshold(model, math.sqrt(math.log(n)), None if c is None else float(c), level)


def _distinct(rows: Float[Tensor, "n d"]) -> Float[Tensor, "k d"]:
    """The distinct rows, compared bit by bit. (torch.unique(rows, dim=0) is slower than the
    attention itself.)
    """
    keys = rows.cpu().contiguous().numpy().view(f"V{8 * rows.shape[1]}").ravel()
    return rows[torch.from_numpy(np.unique(keys, return_index=True)[1]).to(rows.device)]


# Monte Carlo
# --------------------------------------------------------------------------------------------------


class Rate(NamedTuple):
    """Successes among trials, with the 99.9% Clopper-Pearson interval of the success probability.

    >>> from attention_theory.separation import success_rate
    >>> rate = success_rate("cross", 6, 3, 20, a0=0.01, a1=1.2, trials=50, seed=0)
    >>> rate.successes, [round(end, 2) for end in rate.interval]
    (2, [0.0, 0.22])
    """

    successes: int
    trials: int
    interval: tuple[float, float]


def success_rate(
    model: Model,
    n: Count,
    d: Count,
    m: Count,
    a0: NonNegative,
    a1: NonNegative,
    b: Scale = None,
    c: Scale = None,
    *,
    trials: Size,
    seed: Seed,
    shared_signs: bool = True,
    device: Device = "cpu",
) -> Rate:
    """Frequency of E_success over random signs, with one evaluation of attention per network and
    all trials in one product.

    E_success (deng2023, section 7): F_exp(D1) > 0, F_lin(D1) = 0, F_exp(D0) = 0, F_lin(D0) = 0.

    Args:
        model: one of ``MODELS``.
        n, d: rows and columns of the data.
        m: number of sign vectors y_l.
        a0, a1, b, c: sizes of the data; no b and c for ``cross``.
        trials, seed: independent draws of y, and their seed.
        shared_signs: whether the four networks read out with the same y or each with its own.

    Raises:
        ValueError: sizes that do not fit, parameters that are negative or not finite, m < 1 or
            trials < 1.

    >>> from attention_theory.separation import success_rate
    >>> rate = success_rate("cross", 6, 3, 5, a0=0.01, a1=1.2, trials=100, seed=0)
    >>> rate.trials
    100
    >>> rate.interval[0] <= rate.successes / 100 <= rate.interval[1]
    True
    """
    # equal queries have equal features
    networks, tau = _four(model, n, d, a0, a1, b, c, device), _tau(model, n, c)
    features = [
        attention_features(_distinct(A1), A2, A2, X, weights) for A1, A2, X, weights in networks
    ]
    gen = generator(seed)
    chunk = max(1, BATCH // (m * max(d, *(len(rows) for rows in features))))
    successes = 0
    for start in range(0, trials, chunk):
        count = min(chunk, trials - start)
        draws = [
            signs(d, count * m, generator=gen).to(device) for _ in range(1 if shared_signs else 4)
        ]
        draws *= 4 // len(draws)
        fires = [
            ((rows @ y).amax(0) > tau + ROUNDING).view(count, m).any(1)
            for rows, y in zip(features, draws)
        ]
        successes += int((fires[0] & ~fires[1] & ~fires[2] & ~fires[3]).sum())
    return Rate(successes, trials, rate_interval(successes, trials))


# Enumeration
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SuccessCounts:
    """Counts among the 2^d sign vectors, by which networks fire.

    Attributes:
        ok: no false alarm: F_lin(D1), F_exp(D0) and F_lin(D0) stay at 0.
        ok_and_quiet: no false alarm, and F_exp(D1) stays at 0 too.
        total: 2^d.
        quiet: for each network of ``NETWORKS`` alone, the vectors that leave it at 0.
        margin: the smallest distance of a value <c_j, y> from tau among the cases that decide these
            integers.

    >>> from attention_theory.separation import enumerated_counts
    >>> enumerated_counts("cross", 6, 3, a0=0.01, a1=1.2).total  # all 2^3 sign vectors
    8
    """

    ok: int
    ok_and_quiet: int
    total: int
    quiet: tuple[int, ...]
    margin: float


def enumerated_counts(
    model: Model,
    n: Count,
    d: Count,
    a0: NonNegative,
    a1: NonNegative,
    b: Scale = None,
    c: Scale = None,
    device: Device = "cpu",
    level: Signed | None = None,
) -> SuccessCounts:
    """The counts by brute force: all 2^d sign vectors through the attention of the definitions.
    ``margin`` is over all rows and vectors.

    ``level`` is that of :func:`data.threshold`.

    Raises:
        ValueError: sizes that do not fit, parameters that are negative or not finite, or d > 24.

    >>> from attention_theory.separation import enumerated_counts, success_counts
    >>> setting = dict(model="cross", n=6, d=3, a0=0.01, a1=1.2)
    >>> enumerated_counts(**setting).ok == success_counts(**setting).ok
    True
    """
    _check_few(d)
    networks, tau = _four(model, n, d, a0, a1, b, c, device), _tau(model, n, c, level)
    features = [attention_features(A1, A2, A2, X, weights) for A1, A2, X, weights in networks]
    chunk = max(1, BATCH // max(n, d))
    ok = ok_and_quiet = 0
    quiet, margin = [0, 0, 0, 0], math.inf
    for start in range(0, 2**d, chunk):
        codes = torch.arange(start, min(start + chunk, 2**d), device=device)
        y = _vectors(codes, d).T.contiguous()
        values = [rows @ y for rows in features]
        still = [(value <= tau + ROUNDING).all(0) for value in values]
        margin = min(margin, *(float((value - tau).abs().min()) for value in values))
        calm = still[1] & still[2] & still[3]
        ok += int(calm.sum())
        ok_and_quiet += int((calm & still[0]).sum())
        quiet = [count + int(s.sum()) for count, s in zip(quiet, still)]
    return SuccessCounts(ok, ok_and_quiet, 2**d, tuple(quiet), margin)
