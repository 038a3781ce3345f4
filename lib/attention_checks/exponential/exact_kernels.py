"""Kernels of networks with any u in exact fractions, labels that no width fits, and gradient
descent compared with its kernel at the start.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import torch
from attention_theory.attention import Weights
from attention_theory.device import generator
from attention_theory.exponential.kernels import (
    WeightedNetwork,
    kernel_coefficients,
    monomials,
    start_network,
)
from attention_theory.tangent.kernel import eigenvalues, tangent_kernel
from attention_theory.tangent.training import train
from jaxtyping import Float
from scipy import special
from theorybook.validation import (
    FILLED,
    Count,
    Extended,
    Limits,
    Natural,
    NonNegative,
    Positive,
    Seed,
    Steps,
)
from torch import Tensor


def unseen_weight(degree: Natural, sharpness: NonNegative) -> float:
    """The part of the diagonal of softmax's limit kernel that comes from powers above p: sum_(k >
    p) b^k / (k - 1)!, b = sharpness^2.

    For n > ``seen_dimension(p, d)`` points, n times this is an upper bound on the smallest
    eigenvalue.
    """
    b = sharpness**2
    return b * float(special.gammainc(degree, b)) * math.exp(b) if degree else b * math.exp(b)


def fittable_share(n: Annotated[int, Limits(1, 10**5)], dimension: Natural) -> Fraction:
    """Share of the 2^n sign labellings of n points in general position that a linear space of this
    dimension realises.

    2^(1-n) sum_(k < dimension) C(n - 1, k): all for n <= dimension, half at n = 2 dimension (Cover
    1965).
    """
    return Fraction(2 * sum(math.comb(n - 1, k) for k in range(min(dimension, n))), 2**n)


def forbidden_labels(degree: Count, x: Float[Tensor, "n d"]) -> Float[Tensor, "n"]:
    """Labels +-1 at n > R points that no network of this degree fits, even in sign, at any width.

    R is the dimension of the polynomials up to the degree on the sphere (for degree 1 the constants
    count: u = 1 + z).

    The signs of a vector c with sum_i c_i N(x_i) = 0 for all polynomials N of the degree, over R +
    1 of the points: sign N = sign c would make every term >= 0. All other points, and those where c
    vanishes, get +1.

    Raises:
        ValueError: n <= R, where every labelling of points in general position can be fitted.
    """
    features = monomials(degree, x)
    n, seen = features.shape
    if n <= seen:
        raise ValueError(
            f"n = {n} points are at most the {seen} dimensions of degree {degree}: no labels are "
            "forbidden"
        )
    few = seen + 1  # points in general position have one such vector, up to its length and sign
    c = torch.linalg.svd(features[:few]).U[:, -1]
    return torch.cat([1 - 2 * (c * c[0].sign() < 0).to(x), x.new_ones(n - few)])


def smallest(kernel: Float[Tensor, "n n"]) -> Extended:
    """The smallest eigenvalue; nan where it cannot be told from 0 (below 1e-11 of the largest)."""
    values = eigenvalues(kernel)
    return float(values[0]) if values[0] > 1e-11 * values[-1] else math.nan


def rational_points(n: Count, d: Count, seed: Seed) -> list[list[Fraction]]:
    """Points of S^(d-1) with rational coordinates: stereographic images of random points of a
    grid.
    """
    random = generator(seed)
    grid = torch.randint(-40, 41, (n, d - 1), generator=random).tolist()
    points = []
    for row in grid:
        t = [Fraction(value, 17) for value in row]
        size = sum(value**2 for value in t)
        points.append([2 * value / (size + 1) for value in t] + [(size - 1) / (size + 1)])
    return points


def exact_limit_kernel(weights: Weights, points: list[list[Fraction]]) -> list[list[Any]]:
    """The limit kernel of a polynomial u at rational points of the sphere, with sigma = 1, in
    fractions.
    """
    coefficients = kernel_coefficients(weights)
    gram = [[sum(a * b for a, b in zip(p, q)) for q in points] for p in points]
    return [
        [sum(c * rho ** (k + 1) for k, c in enumerate(coefficients)) for rho in row] for row in gram
    ]


def exact_width_kernel(
    weights: Weights, points: Annotated[list[list[Fraction]], FILLED], m: Count, seed: Seed
) -> list[list[Any]]:
    """The tangent kernel of m paired neurons with rational weights, up to the factors 1 / sum u of
    its rows and columns.
    """
    degree, d = len(kernel_coefficients(weights)), len(points[0])
    keys = (torch.randint(-30, 31, (m // 2, d), generator=generator(seed))).tolist()

    def slope(z: Fraction) -> Fraction:
        if weights.family == "power":
            return degree * z ** (degree - 1)
        return sum((z**k / math.factorial(k) for k in range(degree)), Fraction(0))

    features = [
        [slope(sum((Fraction(w, 10) * v for w, v in zip(key, p)), Fraction(0))) for key in keys]
        for p in points
    ]
    gram = [[sum(a * b for a, b in zip(p, q)) for q in points] for p in points]
    return [
        [rho * sum(a * b for a, b in zip(left, right)) for rho, right in zip(row, features)]
        for row, left in zip(gram, features)
    ]


@dataclass(frozen=True, eq=False)
class Fit:
    """Result of a descent: the recorded steps and |F - Y|^2 / |Y|^2 at them, the same loss and its
    floor for the kernel frozen at the start, the number of correct signs, and the rank of that
    kernel.
    """

    steps: list[int]
    loss: list[float]
    frozen: list[float]
    floor: float
    right: int
    rank: Natural


def standard_error(net: WeightedNetwork, x: Float[Tensor, "n d"]) -> Float[Tensor, "n n"]:
    """Standard error of each entry of the tangent kernel at the start, an average over independent
    pairs of neurons, by the delta method.

    With v = u / E u and s = u' / E u an entry is rho E[s s'] / (E v E v'), and a pair adds s s' -
    E[s s'] (v + v' - 1).
    """
    weights, z = net.family, x @ net.W[:, ::2]
    mean = weights(z).mean(dim=1, keepdim=True)
    v, s = weights(z) / mean, weights.slope(z) / mean

    def product_mean(p: Tensor, q: Tensor) -> Tensor:
        return p @ q.T / z.shape[1]

    ss, vv, across = product_mean(s, s), product_mean(v, v), product_mean(s * v, s)
    square = vv.diagonal()[:, None] + vv.diagonal() + 2 * vv - 3  # E (v + v' - 1)^2
    variance = product_mean(s**2, s**2) - 2 * ss * (across + across.T - ss) + ss**2 * square
    return (x @ x.T).abs() * (variance / z.shape[1]).sqrt()


def descend(
    weights: Weights,
    x: Float[Tensor, "n d"],
    y: Float[Tensor, "n"],
    m: Count,
    seed: Seed,
    steps: Steps,
    speed: Positive = 1.0,
) -> Fit:
    """Gradient descent on half the squared error, all keys trained, values fixed; step size speed /
    (m lambda_max).

    Args:
        weights: the family.
        x, y: points of the unit sphere and labels.
        m: neurons, even.
        seed: of the weights.
        steps: number of steps; about ten of them, spaced by factors, are recorded.
        speed: up to 2 the linearised network converges.

    Returns:
        the losses; ``floor`` is the part of |y|^2 outside the range of the kernel at the start.
    """
    net = start_network(weights, x.shape[1], m, seed).to(x)
    values, vectors = torch.linalg.eigh(tangent_kernel(net, x))
    seen = values > 1e-10 * values[-1]
    parts = (vectors.T @ y).square() / y.square().sum()
    at = sorted({0, steps} | {round(steps ** (k / 10)) for k in range(1, 10)})
    frozen = [float(parts @ (1 - speed * values * seen / values[-1]) ** (2 * step)) for step in at]
    rate = speed / (m * float(values[-1]))
    run = train(net, x, y[:, None], steps, rate, at, kernel=False)
    losses = [2 * loss / float(y.square().sum()) for loss in run.losses]
    right = int((torch.sign(run.net(x)[:, 0]) == torch.sign(y)).sum())
    return Fit(at, losses, frozen, float(parts[~seen].sum()), right, int(seen.sum()))
