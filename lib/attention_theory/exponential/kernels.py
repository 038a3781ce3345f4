"""Networks with any u in place of exp: the limit kernel, its rank, what can be fitted at all (chapter "Training").

The network of cao2024 with weights u: F(x) = m sum_r a_r u(<w_r, x>) / sum_r u(<w_r, x>), neurons in pairs with a_2r = -a_2r-1.
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
from theorybook.validation import FILLED, Count, Extended, Limits, Natural, NonNegative, Positive, Seed, Steps
from torch import Tensor

from attention_theory.attention import NAMED, Weights, attention_weights
from attention_theory.device import generator, gradients
from attention_theory.tangent.kernel import angles, eigenvalues, tangent_kernel, unit_rows
from attention_theory.tangent.network import SoftmaxNetwork
from attention_theory.tangent.training import train

#: Gauss-Legendre nodes for the kernel of a ReLU power, whose integrand is a trigonometric polynomial on an arc.
NODES = 64


def taylor_mean(degree: Annotated[int, Limits(0, 10_000)], variance: Fraction | NonNegative) -> Fraction | float:
    """E T_degree(sigma g) for g ~ N(0, 1): sum_i variance^i / (2^i i!) over 2 i <= degree. Exact for a Fraction."""
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


def kernel_coefficients(weights: Weights, variance: Fraction | NonNegative = Fraction(1)) -> list[Any]:
    """alpha_1, ..., alpha_p of the limit kernel sum_k alpha_k (x.x')^k on the sphere, for a polynomial u, exactly.

    alpha_k = c_(k-1)^2 / E[u]^2 with the Hermite coefficients c_k = sigma^k E[u^(k+1)(sigma g)] / sqrt(k!) of u'(sigma g).

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
        moments = [math.perm(degree, k + 1) * _even_moment(degree - k - 1, variance) for k in range(degree)]
        mean = _even_moment(degree, variance)
    return [variance**k * moment**2 / (math.factorial(k) * mean**2) for k, moment in enumerate(moments)]


def _polynomial_degree(weights: Weights) -> int:
    if weights.family not in ("truncated", "power") or weights.knob != int(weights.knob):
        raise ValueError(f"{weights} is no polynomial; choose truncated(degree) or power(degree)")
    if weights.knob % 2:
        raise ValueError(f"{weights}: the mean of an odd power vanishes, and the network divides by it; take an even degree")
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
    """c_0, ..., c_(count-1) of u'(sigma g) (or of u) in orthonormal Hermite polynomials, by Gauss-Hermite quadrature.

    The independent computation beside :func:`kernel_coefficients`; for smooth u, any function of torch.
    """
    nodes, masses = (torch.from_numpy(part) for part in special.roots_hermitenorm(max(80, 2 * count)))
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


def limit_kernel_with(weights: Weights, x: Float[Tensor, "n d"], sigma: Positive = 1.0) -> Float[Tensor, "n n"]:
    """The limit of the paired network's tangent kernel, (x_i.x_j) E[u'(w.x_i) u'(w.x_j)] / (E[u(w.x_i)] E[u(w.x_j)]).

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
        raise ValueError(f"{weights}: the kernel is a function of x.x' on the unit sphere only; give rows of length 1")
    gram = gram.clamp(-1, 1)
    if weights.family == "relu_power":
        return _relu_kernel(x, weights.knob, sigma)
    total = torch.zeros_like(gram)
    for coefficient in reversed(kernel_coefficients(weights, Fraction(sigma) ** 2)):
        total = gram * (float(coefficient) + total)
    return total


def smooth_limit_kernel(
    u: Weights | Callable[[Tensor], Tensor], x: Float[Tensor, "n d"], terms: Annotated[int, Limits(1, 1000)] = 60
) -> Float[Tensor, "n n"]:
    """The limit kernel of any smooth u at points of the unit sphere, sigma = 1, from this many Hermite coefficients."""
    gram, total = (x @ x.T).clamp(-1, 1), x.new_zeros(len(x), len(x))
    for c in reversed((hermite_coefficients(u, terms) / hermite_coefficients(u, 1, slope=False)).square().tolist()):
        total = gram * (c + total)
    return total


def pair_rank(even: Extended, odd: Extended, pairs: Count, d: Count) -> int:
    """Rank of the limit kernel at pairs of opposite points in general position on S^(d-1), from the degrees of u's parts.

    min(k, h(even)) + min(k, h(odd)), where h(p) = C(p + d - 1, d - 1) counts the monomials of degree p, and h(0) = 0.

    Args:
        even, odd: degree of the even and of the odd part of u; 0 for a constant, infinite if the part is no polynomial.
        pairs: k; 2 k points.
    """

    def seen(degree: float) -> float:
        return degree if degree in (0, math.inf) else math.comb(int(degree) + d - 1, d - 1)

    return int(min(pairs, seen(even)) + min(pairs, seen(odd)))


def circle_eigenvalues(n: Count, sharpness: Positive) -> Float[Tensor, "half"]:
    """Eigenvalues of softmax's limit kernel at n equally spaced points of the circle, wave number 0, ..., n // 2 (sigma = 1).

    n b (I'_j(b) + sum_i I'_(in-j)(b) + I'_(in+j)(b)), b = sharpness^2, with the modified Bessel functions: the kernel is
    b cos t exp(b cos t) at angle t, and e^(b cos t) = sum_j I_j(b) e^(ijt). At even n the last one belongs to labels that
    alternate.
    """
    b, turns = sharpness**2, range(1, 2 + math.ceil(40 * max(1, sharpness) / n))
    waves = ([j, *(k * n + s * j for k in turns for s in (-1, 1))] for j in range(n // 2 + 1))
    return torch.tensor([n * b * math.fsum(special.ivp(k, b) for k in wave) for wave in waves], dtype=torch.float64)


def unseen_weight(degree: Natural, sharpness: NonNegative) -> float:
    """sum_(k > p) b^k / (k - 1)!, b = sharpness^2: what of softmax's limit kernel the powers up to p leave on its diagonal.

    At more than ``seen_dimension(p, d)`` points n times this bounds the smallest eigenvalue from above.
    """
    b = sharpness**2
    return b * float(special.gammainc(degree, b)) * math.exp(b) if degree else b * math.exp(b)


def _relu_kernel(x: Tensor, degree: float, sigma: float) -> Tensor:
    """The kernel rho p^2 E[relu(g)^q relu(g')^q] / E[relu(g)^p]^2 / sigma^2 with q = p - 1, in polar coordinates."""
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
    """Dimension of the polynomials that a network of this degree can see on the sphere S^(d-1): it bounds the kernel's rank.

    C(p + d - 1, d - 1) + C(p + d - 2, d - 1), all polynomials of degree <= p; for degree 1 only the d linear ones.

    >>> from attention_theory.exponential import seen_dimension
    >>> seen_dimension(1, 5)
    5
    """
    if degree == 1:
        return d
    return math.comb(degree + d - 1, d - 1) + math.comb(degree + d - 2, d - 1)


def least_fitting_degree(n: Annotated[int, Limits(1, 10**9)], d: Annotated[int, Limits(2)]) -> int:
    """The least even degree whose :func:`seen_dimension` reaches n: below it the tangent kernel of n points is singular.

    (With d = 1 two points are all there is.)
    """
    degree = 2
    while seen_dimension(degree, d) < n:
        degree += 2
    return degree


def fittable_share(n: Annotated[int, Limits(1, 10**5)], dimension: Natural) -> Fraction:
    """Share of the 2^n labellings by signs of n points in general position that a linear space of this dimension reaches.

    2^(1-n) sum_(k < dimension) C(n - 1, k): all for n <= dimension, half at n = 2 dimension (Cover 1965).
    """
    return Fraction(2 * sum(math.comb(n - 1, k) for k in range(min(dimension, n))), 2**n)


def monomials(degree: Annotated[int, Limits(1, 100)], x: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
    """All monomials of this degree and of the one below, at each point: on the sphere a basis of the polynomials up to it."""
    factors = [list(combinations_with_replacement(range(x.shape[1]), k)) for k in (degree - 1, degree)]
    return torch.cat([x[:, torch.tensor(c, dtype=torch.long, device=x.device)].prod(dim=2) for c in factors], dim=1)


def forbidden_labels(degree: Count, x: Float[Tensor, "n d"]) -> Float[Tensor, "n"]:
    """Labels +-1 that no network of this degree fits even in sign, at any width: for n > R points.

    R is the dimension of the polynomials up to the degree on the sphere (for degree 1 the constants count: u = 1 + z).

    The signs of a vector c with sum_i c_i N(x_i) = 0 for all polynomials N of the degree, over one point more than they have
    dimensions: sign N = sign c would make every term >= 0. All other points, and those where c vanishes, get +1.

    Raises:
        ValueError: n <= R, where every labelling of points in general position can be fitted.
    """
    features = monomials(degree, x)
    n, seen = features.shape
    if n <= seen:
        raise ValueError(f"n = {n} points are at most the {seen} dimensions of degree {degree}: no labels are forbidden")
    few = seen + 1  # points in general position have one such vector, up to its length and sign
    c = torch.linalg.svd(features[:few]).U[:, -1]
    return torch.cat([1 - 2 * (c * c[0].sign() < 0).to(x), x.new_ones(n - few)])


def reachable(features: Float[Tensor, "n k"], y: Float[Tensor, "n"]) -> bool:
    """Whether a vector of the features' span has these signs, by a linear programme."""
    from scipy.optimize import linprog

    A = (-y[:, None] * features).detach().cpu().numpy()
    return linprog(np.zeros(A.shape[1]), A_ub=A, b_ub=-np.ones(len(A)), bounds=(None, None)).status == 0


def reachable_labellings(features: Float[Tensor, "n k"]) -> int:
    """How many of the 2^n labellings by signs some vector of the features' span has; one and its opposite go together."""
    labels = (torch.tensor((1, *rest)).to(features) for rest in product((1.0, -1.0), repeat=len(features) - 1))
    return 2 * sum(reachable(features, y) for y in labels)


def smallest(kernel: Float[Tensor, "n n"]) -> Extended:
    """The smallest eigenvalue; nan where it cannot be told from 0 (below 1e-11 of the largest)."""
    values = eigenvalues(kernel)
    return float(values[0]) if values[0] > 1e-11 * values[-1] else math.nan


def exact_rank(rows: list[list[Fraction]]) -> int:
    """Rank of a matrix of fractions, exactly, by python-flint."""
    import flint

    return flint.fmpq_mat([[flint.fmpq(v.numerator, v.denominator) for v in row] for row in rows]).rank()


def rational_points(n: Count, d: Count, seed: Seed) -> list[list[Fraction]]:
    """Points of S^(d-1) with rational coordinates: stereographic images of random points of a grid."""
    random = generator(seed)
    grid = torch.randint(-40, 41, (n, d - 1), generator=random).tolist()
    points = []
    for row in grid:
        t = [Fraction(value, 17) for value in row]
        size = sum(value**2 for value in t)
        points.append([2 * value / (size + 1) for value in t] + [(size - 1) / (size + 1)])
    return points


def exact_limit_kernel(weights: Weights, points: list[list[Fraction]]) -> list[list[Any]]:
    """The limit kernel of a polynomial u at rational points of the sphere, with sigma = 1, in fractions."""
    coefficients = kernel_coefficients(weights)
    gram = [[sum(a * b for a, b in zip(p, q)) for q in points] for p in points]
    return [[sum(c * rho ** (k + 1) for k, c in enumerate(coefficients)) for rho in row] for row in gram]


def exact_width_kernel(
    weights: Weights, points: Annotated[list[list[Fraction]], FILLED], m: Count, seed: Seed
) -> list[list[Any]]:
    """The tangent kernel of m paired neurons with rational weights, up to the factors 1 / sum u of its rows and columns."""
    degree = _polynomial_degree(weights)
    d = len(points[0])
    keys = (torch.randint(-30, 31, (m // 2, d), generator=generator(seed))).tolist()

    def slope(z: Fraction) -> Fraction:
        if weights.family == "power":
            return degree * z ** (degree - 1)
        return sum((z**k / math.factorial(k) for k in range(degree)), Fraction(0))

    features = [[slope(sum((Fraction(w, 10) * v for w, v in zip(key, p)), Fraction(0))) for key in keys] for p in points]
    gram = [[sum(a * b for a, b in zip(p, q)) for q in points] for p in points]
    return [
        [rho * sum(a * b for a, b in zip(left, right)) for rho, right in zip(row, features)]
        for row, left in zip(gram, features)
    ]


# Descent -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Fit:
    """What descent did: recorded steps, |F - Y|^2 / |Y|^2 at them, the same and its floor for the kernel frozen at the start,
    signs that are right, rank of that kernel.
    """

    steps: list[int]
    loss: list[float]
    frozen: list[float]
    floor: float
    right: int
    rank: Natural


@dataclass(frozen=True, eq=False)
class WeightedNetwork(SoftmaxNetwork):
    """The network of Part III with u(score) over its row sum in place of the softmax."""

    family: Weights = NAMED["softmax"]

    def score_derivative(self, x: Float[Tensor, "n d"]) -> tuple[Float[Tensor, "n m"], Float[Tensor, "n m"]]:
        """The weights u(score) and the rises u'(score), over the row sum of u."""
        score = x @ self.W
        S = attention_weights(score, self.family)
        if self.family.family == "sharp":  # the hard maximum is constant between ties, where it jumps
            return S, 0 * S if self.family.knob == math.inf else self.family.knob * S
        return S, self.family.slope(score) / self.family(score).sum(dim=1, keepdim=True)


def start_network(weights: Weights, d: Count, m: Count, seed: Seed, sigma: Positive = 1.0) -> WeightedNetwork:
    """Paired weights and one output: w from N(0, sigma^2), each twice, with signs a that cancel.

    Raises:
        ValueError: an odd m.
    """
    return replace(WeightedNetwork.paired(d, m, seed, sigma, outputs=1), family=weights)  # type: ignore[return-value]


def standard_error(net: WeightedNetwork, x: Float[Tensor, "n d"]) -> Float[Tensor, "n n"]:
    """Of each entry of the tangent kernel at the start, an average over independent pairs of neurons: the delta method.

    With v = u / E u and s = u' / E u an entry is rho E[s s'] / (E v E v'), and a pair adds s s' - E[s s'] (v + v' - 1).
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
    weights: Weights, x: Float[Tensor, "n d"], y: Float[Tensor, "n"], m: Count, seed: Seed, steps: Steps, speed: Positive = 1.0
) -> Fit:
    """Gradient descent on half the squared error, all keys trained, values fixed; step size speed / (m lambda_max).

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
