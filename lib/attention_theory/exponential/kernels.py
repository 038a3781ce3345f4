"""Networks with any u in place of exp: the limit kernel, its rank, and which labels can be fitted
at all (chapter "Training").

The network of cao2024 with weights u: F(x) = m sum_r a_r u(<w_r, x>) / sum_r u(<w_r, x>), neurons
in pairs with a_2r = -a_2r-1.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Annotated, Any

import numpy as np
import torch
from jaxtyping import Float
from scipy import special
from theorybook.validation import Count, Extended, Limits, NonNegative, Positive, Seed, to_numpy
from torch import Tensor

from attention_theory.attention import NAMED, Weights, attention_weights
from attention_theory.device import gradients
from attention_theory.tangent.kernel import angles, unit_rows
from attention_theory.tangent.network import SoftmaxNetwork

#: Gauss-Legendre nodes for the kernel of a ReLU power, whose integrand is a trigonometric
#: polynomial on an arc.
NODES = 64


def taylor_mean(
    degree: Annotated[int, Limits(0, 10_000)], variance: Fraction | NonNegative
) -> Fraction | float:
    """E T_degree(sigma g) for g ~ N(0, 1): sum_i variance^i / (2^i i!) over 2 i <= degree. Exact
    for a Fraction.
    """
    half, total = variance / 2, 1 + 0 * variance
    if isinstance(half, Fraction):  # over one denominator: fractions would be reduced in every step
        power = total = scale = 1
        for i in range(1, degree // 2 + 1):
            power, step = power * half.numerator, i * half.denominator
            total, scale = total * step + power, scale * step
        return Fraction(total, scale)
    for i in range(degree // 2, 0, -1):
        total = 1 + total * half / i
    return total


def kernel_coefficients(
    weights: Weights, variance: Fraction | NonNegative = Fraction(1)
) -> list[Any]:
    """alpha_1, ..., alpha_p of the limit kernel sum_k alpha_k (x.x')^k on the sphere, for a
    polynomial u, exactly.

    alpha_k = c_(k-1)^2 / E[u]^2 with the Hermite coefficients c_k = sigma^k E[u^(k+1)(sigma g)] /
    sqrt(k!) of u'(sigma g).

    Args:
        weights: ``truncated``, or ``power`` of even degree (of odd degree E[u] = 0).
        variance: sigma^2.

    Raises:
        ValueError: another family, or an odd power.
    """
    degree = _polynomial_degree(weights)
    if weights.family == "truncated":
        moments = [taylor_mean(degree - 1 - k, variance) for k in range(degree)]
        mean = taylor_mean(degree, variance)
    else:  # u^(k+1) = p (p-1) ... (p-k) z^(p-k-1), and E z^2i = (2i - 1)!! sigma^2i
        moments = [
            math.perm(degree, k + 1) * _even_moment(degree - k - 1, variance) for k in range(degree)
        ]
        mean = _even_moment(degree, variance)
    return [
        variance**k * moment**2 / (math.factorial(k) * mean**2) for k, moment in enumerate(moments)
    ]


def _polynomial_degree(weights: Weights) -> int:
    if weights.family not in ("truncated", "power") or weights.knob != int(weights.knob):
        raise ValueError(
            f"{weights} is not a polynomial; choose truncated(degree) or power(degree)"
        )
    if weights.knob % 2:
        raise ValueError(
            f"{weights}: the mean of an odd power vanishes, and the network divides by it; take "
            "an even degree"
        )
    return int(weights.knob)


def _even_moment(power: int, variance):
    if power % 2:
        return 0 * variance
    return math.prod(range(1, power, 2)) * variance ** (power // 2)


def hermite_coefficients(
    u: Weights | Callable[[Tensor], Tensor],
    count: Annotated[int, Limits(1, 1000)],
    sigma: NonNegative = 1.0,
    slope: bool = True,
) -> Float[Tensor, "count"]:
    """c_0, ..., c_(count-1) of u'(sigma g) (or of u) in orthonormal Hermite polynomials, by
    Gauss-Hermite quadrature.

    An independent check of :func:`kernel_coefficients`, for any smooth function u of tensors.
    """
    nodes, masses = (
        torch.from_numpy(part) for part in special.roots_hermitenorm(max(80, 2 * count))
    )
    if slope:
        with gradients():
            scores = (sigma * nodes).requires_grad_()
            (function,) = torch.autograd.grad(u(scores).sum(), scores)
    else:
        function = u(sigma * nodes)
    before, now = torch.zeros_like(nodes), (masses / math.sqrt(2 * math.pi)).sqrt()
    other = function * now
    found = []
    for k in range(count):  # polynomials times the root of the density: neither overflows
        found.append(now @ other)
        before, now = now, (nodes * now - math.sqrt(k) * before) / math.sqrt(k + 1)
    return torch.stack(found)


def limit_kernel_with(
    weights: Weights, x: Float[Tensor, "n d"], sigma: Positive = 1.0
) -> Float[Tensor, "n n"]:
    """The limit of the paired network's tangent kernel, (x_i.x_j) E[u'(w.x_i) u'(w.x_j)] /
    (E[u(w.x_i)] E[u(w.x_j)]).

    Args:
        weights: ``sharp``, ``truncated``, ``power`` of even degree, ``relu_power``.
        x: (n, d) inputs; on the unit sphere for all but ``sharp``.
        sigma: standard deviation of the first layer.

    Raises:
        ValueError: odd powers, infinite sharpness, inputs that are not of length 1.

    >>> import torch
    >>> from attention_theory.exponential import limit_kernel_with, sharp
    >>> x = torch.eye(2).double()
    >>> limit_kernel_with(sharp(1), x).round(decimals=6).diag().tolist()
    [2.718282, 2.718282]
    """
    gram = x @ x.T
    if weights.family == "sharp":
        if weights.knob == math.inf:
            raise ValueError("the hard maximum has no slope, and so no tangent kernel")
        return weights.knob**2 * gram * torch.exp((weights.knob * sigma) ** 2 * gram)
    if not torch.allclose(gram.diagonal(), torch.ones_like(gram.diagonal()), atol=1e-9):
        raise ValueError(
            f"{weights}: the kernel is a function of x.x' on the unit sphere only; give rows of "
            "length 1"
        )
    gram = gram.clamp(-1, 1)
    if weights.family == "relu_power":
        return _relu_kernel(x, weights.knob, sigma)
    total = torch.zeros_like(gram)
    for coefficient in reversed(kernel_coefficients(weights, Fraction(sigma) ** 2)):
        total = gram * (float(coefficient) + total)
    return total


def smooth_limit_kernel(
    u: Weights | Callable[[Tensor], Tensor],
    x: Float[Tensor, "n d"],
    terms: Annotated[int, Limits(1, 1000)] = 60,
) -> Float[Tensor, "n n"]:
    """The limit kernel of any smooth u at points of the unit sphere, for sigma = 1, from ``terms``
    Hermite coefficients.
    """
    gram, total = (x @ x.T).clamp(-1, 1), x.new_zeros(len(x), len(x))
    for c in reversed(
        (hermite_coefficients(u, terms) / hermite_coefficients(u, 1, slope=False)).square().tolist()
    ):
        total = gram * (c + total)
    return total


def pair_rank(even: Extended, odd: Extended, pairs: Count, d: Count) -> int:
    """Rank of the limit kernel at pairs of opposite points in general position on S^(d-1), from the
    degrees of the even and odd parts of u.

    min(k, h(even)) + min(k, h(odd)), where h(p) = C(p + d - 1, d - 1) counts the monomials of
    degree p, and h(0) = 0.

    Args:
        even, odd: degree of the even and of the odd part of u; 0 for a constant, infinite if the
            part is not a polynomial.
        pairs: k, the number of pairs, for 2 k points.
    """

    def seen(degree: float) -> float:
        return degree if degree in (0, math.inf) else math.comb(int(degree) + d - 1, d - 1)

    return int(min(pairs, seen(even)) + min(pairs, seen(odd)))


def circle_eigenvalues(n: Count, sharpness: Positive) -> Float[Tensor, "half"]:
    """Eigenvalues of softmax's limit kernel at n equally spaced points of the circle, wave number
    0, ..., n // 2 (sigma = 1).

    n b (I'_j(b) + sum_i I'_(in-j)(b) + I'_(in+j)(b)), b = sharpness^2, with modified Bessel
    functions: the kernel is b cos t exp(b cos t) at angle t, and e^(b cos t) = sum_j I_j(b)
    e^(ijt). At even n the last one belongs to labels that alternate.
    """
    b, turns = sharpness**2, range(1, 2 + math.ceil(40 * max(1, sharpness) / n))
    waves = ([j, *(k * n + s * j for k in turns for s in (-1, 1))] for j in range(n // 2 + 1))
    return torch.tensor(
        [n * b * math.fsum(special.ivp(k, b) for k in wave) for wave in waves], dtype=torch.float64
    )


def _relu_kernel(x: Tensor, degree: float, sigma: float) -> Tensor:
    """The kernel rho p^2 E[relu(g)^q relu(g')^q] / E[relu(g)^p]^2 / sigma^2 with q = p - 1, by
    integration in polar coordinates.
    """
    q = degree - 1
    radial = 2**q * math.gamma(q + 1) / (2 * math.pi)
    mean = 2 ** (degree / 2 - 1) * math.gamma((degree + 1) / 2) / math.sqrt(math.pi)
    nodes, masses = np.polynomial.legendre.leggauss(NODES)
    u = unit_rows(x)
    theta = angles(u, u)
    half = (math.pi - theta) / 2  # the arc where both cosines are positive, centred at theta / 2
    total = torch.zeros_like(theta)
    for node, mass in zip(nodes, masses):
        angle = theta / 2 + half * node
        total += mass * (torch.cos(angle).clamp(min=0) * torch.cos(angle - theta).clamp(min=0)) ** q
    return u @ u.T * degree**2 * radial * half * total / (mean * sigma) ** 2


def seen_dimension(degree: Count, d: Count) -> int:
    """Dimension of the space of polynomials that a network of this degree can see on the sphere
    S^(d-1): a bound on the rank of the kernel.

    C(p + d - 1, d - 1) + C(p + d - 2, d - 1), all polynomials of degree <= p; for degree 1 only the
    d linear ones.

    >>> from attention_theory.exponential import seen_dimension
    >>> seen_dimension(1, 5)
    5
    """
    if degree == 1:
        return d
    return math.comb(degree + d - 1, d - 1) + math.comb(degree + d - 2, d - 1)


def least_fitting_degree(n: Annotated[int, Limits(1, 10**9)], d: Annotated[int, Limits(2)]) -> int:
    """The least even degree whose :func:`seen_dimension` reaches n: below it the tangent kernel of
    n points is singular.

    (d = 1 is excluded, where the sphere has only two points.)
    """
    degree = 2
    while seen_dimension(degree, d) < n:
        degree += 2
    return degree


def monomials(
    degree: Annotated[int, Limits(1, 100)], x: Float[Tensor, "n d"]
) -> Float[Tensor, "n k"]:
    """All monomials of this degree and of the degree below, at each point: on the sphere a basis of
    the polynomials up to this degree.
    """
    factors = [
        list(combinations_with_replacement(range(x.shape[1]), k)) for k in (degree - 1, degree)
    ]
    return torch.cat(
        [x[:, torch.tensor(c, dtype=torch.long, device=x.device)].prod(dim=2) for c in factors],
        dim=1,
    )


def reachable(features: Float[Tensor, "n k"], y: Float[Tensor, "n"]) -> bool:
    """Whether some vector in the span of the features has these signs, by a linear programme."""
    from scipy.optimize import linprog

    A = to_numpy(-y[:, None] * features)
    return (
        linprog(np.zeros(A.shape[1]), A_ub=A, b_ub=-np.ones(len(A)), bounds=(None, None)).status
        == 0
    )


def reachable_labellings(features: Float[Tensor, "n k"]) -> int:
    """Number of the 2^n sign labellings that some vector in the span of the features has; each
    counts together with its opposite.
    """
    labels = (
        torch.tensor((1, *rest)).to(features)
        for rest in product((1.0, -1.0), repeat=len(features) - 1)
    )
    return 2 * sum(reachable(features, y) for y in labels)


def exact_rank(rows: list[list[Fraction]]) -> int:
    """Rank of a matrix of fractions, exactly, by python-flint."""
    import flint

    return flint.fmpq_mat(
        [[flint.fmpq(v.numerator, v.denominator) for v in row] for row in rows]
    ).rank()


# Descent
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class WeightedNetwork(SoftmaxNetwork):
    """The network of Part III with u(score) / row sum in place of the softmax."""

    family: Weights = NAMED["softmax"]

    def score_derivative(
        self, x: Float[Tensor, "n d"]
    ) -> tuple[Float[Tensor, "n m"], Float[Tensor, "n m"]]:
        """The weights u(score) and the derivatives u'(score), both over the row sum of u."""
        score = x @ self.W
        S = attention_weights(score, self.family)
        if (
            self.family.family == "sharp"
        ):  # the hard maximum is constant between ties, where it jumps
            return S, 0 * S if self.family.knob == math.inf else self.family.knob * S
        return S, self.family.slope(score) / self.family(score).sum(dim=1, keepdim=True)


def start_network(
    weights: Weights, d: Count, m: Count, seed: Seed, sigma: Positive = 1.0
) -> WeightedNetwork:
    """A network with paired weights and one output: each w, from N(0, sigma^2), occurs twice, with
    signs a that cancel.

    Raises:
        ValueError: an odd m.
    """
    return replace(WeightedNetwork.paired(d, m, seed, sigma, outputs=1), family=weights)  # type: ignore[return-value]
