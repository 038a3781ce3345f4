"""Network and kernel regression side by side (cao2024, Theorem F.2): how far apart they are, and
what the bounds say.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from attention_theory.tangent.kernel import tangent_kernel
from attention_theory.tangent.network import SoftmaxNetwork, unit_points
from attention_theory.tangent.training import largest_rate, ntk_regression, train
from jaxtyping import Float
from scipy.optimize import brentq
from theorybook.devices import Device
from theorybook.validation import (
    ANY,
    Count,
    NonNegative,
    Positive,
    Seed,
    Signed,
    Size,
    Steps,
)
from torch import Tensor


def coupling_bound(
    labels: NonNegative, lam: Signed, eps_test: Tensor, eps_H: NonNegative, diagonal: Tensor
) -> Annotated[Tensor, ANY]:
    """|Y| (eps_test + sqrt(k(x, x) / lambda) eps_H) / (lambda - eps_H) at each test row; infinite
    unless eps_H < lambda.

    Bound on |F_ntk - F_nn| (chapter "A wide trained network is a kernel regression"), attained by a
    kernel that jumps.

    Args:
        labels: |Y|_F.
        lam: smallest eigenvalue of H*.
        eps_test: largest change of the test inputs' kernel rows.
        eps_H: largest change |H - H*|_F.
        diagonal: k(x, x) of the test inputs.
    """
    if not eps_H < lam:  # also when lambda is 0 and computed below it
        return torch.full_like(eps_test + diagonal, torch.inf)
    return labels * (eps_test + (diagonal / lam).sqrt() * eps_H) / (lam - eps_H)


@dataclass(frozen=True, eq=False)
class Coupling:
    """Network against kernel regression along one descent, at each test row (output, input).

    ``gap`` is the largest |F_ntk - F_nn| over the recorded steps; ``eps_H`` and ``eps_test`` the
    largest kernel changes; ``diagonal`` is k(x, x) of the test inputs.
    """

    gap: Float[Tensor, " rows"]
    bound: Annotated[Float[Tensor, " rows"], ANY]
    eps_H: float
    eps_test: Float[Tensor, " rows"]
    diagonal: Float[Tensor, " rows"]
    lam: float

    @property
    def applies(self) -> bool:
        """Whether the hypothesis eps_H < lambda holds."""
        return self.eps_H < self.lam


def couple(
    net: SoftmaxNetwork,
    x: Float[Tensor, "n d"],
    y: Float[Tensor, "n outputs"],
    test: Float[Tensor, "t d"],
    rate: NonNegative,
    at: list[int],
    start_subtracted: bool = True,
) -> Coupling:
    """Train the network and its kernel regression at the same rate; compare them at the steps
    ``at``.

    The regression starts at zero, an unpaired network does not. So the network is trained on the
    labels F(W(0), x) + y, and what it has learnt, F(W(t), x) - F(W(0), x), is compared. With
    ``start_subtracted=False`` the labels are y and the outputs are compared as they are, which
    changes nothing from a paired start.
    """
    H, K = tangent_kernel(net, x), tangent_kernel(net, test, x)
    first, first_test = (net(points) * start_subtracted for points in (x, test))
    run = train(net, x, y + first, at[-1], rate, at=at, kernel=False)
    gammas = ntk_regression(H, y, at[-1], rate, net.m, at=at)[1]
    gaps = [
        (now(test) - first_test).T.flatten() - net.m * K @ gamma
        for now, gamma in zip(run.path, gammas)
    ]
    eps_H = max(float((tangent_kernel(now, x) - H).norm()) for now in run.path)
    eps_test = torch.stack(
        [(tangent_kernel(now, test, x) - K).norm(dim=1) for now in run.path]
    ).amax(0)
    lam, diagonal = float(torch.linalg.eigvalsh(H)[0]), tangent_kernel(net, test).diagonal()
    bound = coupling_bound(float(y.norm()), lam, eps_test, eps_H, diagonal)
    return Coupling(torch.stack(gaps).abs().amax(0), bound, eps_H, eps_test, diagonal, lam)


def draw_coupling(
    kind: Literal["paired", "unpaired"],
    m: Count,
    seed: Seed,
    n: Count = 8,
    d: Count = 4,
    sigma: NonNegative = 1.0,
    tests: Size = 20,
    outputs: Size = 1,
    device: Device = "cpu",
    start_subtracted: bool = True,
) -> Coupling:
    """One coupling at random points and labels on the sphere, m eta lambda_max = 1/2, for up to 6
    kappa or 1500 steps.

    Args:
        kind: ``paired`` or ``unpaired`` start.
        m: width.
        seed: of points, labels, test points and network, each from a stream of its own.
        n: training points.
        d: dimension.
        sigma: standard deviation of the first layer.
        tests: test points.
        outputs: number of outputs.
        device: where to compute; all is drawn on the CPU.
        start_subtracted: as in :func:`couple`.
    """
    draws = ((n, d, seed), (n, outputs, 500 + seed), (tests, d, 1000 + seed))
    x, y, test = (unit_points(*draw).to(device) for draw in draws)
    net = getattr(SoftmaxNetwork, kind)(d, m, 2000 + seed, sigma, outputs=outputs).to(device)
    values = torch.linalg.eigvalsh(tangent_kernel(net, x))
    steps = int(min(6 * float(values[-1] / values[0]), 1500))
    at = sorted(set(torch.linspace(0, steps, 16).int().tolist()))
    return couple(net, x, y, test, 0.5 / (net.m * float(values[-1])), at, start_subtracted)


def on_circle(angles: Tensor) -> Float[Tensor, "n 2"]:
    """Points of the unit circle."""
    return torch.stack((angles.cos(), angles.sin()), -1)


def returning_angle(net: SoftmaxNetwork, trained: SoftmaxNetwork, x: Float[Tensor, "1 2"]) -> float:
    """An angle of the circle at which the kernel with the training point x is the same before and
    after training.

    Raises:
        ValueError: there is none between -1.4 and 1.4.
    """
    row = lambda now, angle: tangent_kernel(now, on_circle(x.new_tensor([angle])), x).item()
    change = lambda angle: row(trained, angle) - row(net, angle)
    angles = torch.linspace(-1.4, 1.4, 57).tolist()
    values = [change(angle) for angle in angles]
    k = next((k for k in range(56) if values[k] * values[k + 1] < 0), None)
    if k is None:
        raise ValueError("the kernel's change has one sign between the angles -1.4 and 1.4")
    return brentq(change, angles[k], angles[k + 1])  # pyright: ignore[reportReturnType]


def one_point(
    m: Count,
    steps: Size,
    speed: Positive,
    seed: Seed = 0,
    device: Device = "cpu",
) -> Coupling:
    """Train on one point of the plane; compare at the angle where the kernel comes back, at every
    step.
    """
    x = torch.tensor([[1.0, 0.0]], dtype=torch.float64, device=device)
    y, net = x[:, :1], SoftmaxNetwork.paired(2, m, seed, outputs=1).to(device)
    rate = speed / 2 * largest_rate(tangent_kernel(net, x), m)
    trained = train(net, x, y, steps, rate, kernel=False).net
    angle = x.new_tensor([returning_angle(net, trained, x)])
    return couple(net, x, y, on_circle(angle), rate, list(range(steps + 1)))


def linearised(
    net: SoftmaxNetwork,
    x: Float[Tensor, "n d"],
    y: Float[Tensor, "n outputs"],
    test: Float[Tensor, "t d"],
    steps: Steps,
    rate: NonNegative,
) -> list[tuple[Tensor, Tensor]]:
    """Predictions at x and test of the Taylor expansion around W(0), one parameter a weight, at
    each step of descent.
    """
    outputs = lambda W, points: (
        replace(net, W=W).m * torch.softmax(points @ W, 1) @ net.a.T
    ).T.flatten()
    J, J_test = (torch.func.jacrev(outputs)(net.W, p).flatten(1) for p in (x, test))
    move, history = torch.zeros_like(net.W).flatten(), []
    for _ in range(steps + 1):
        history.append((J @ move, J_test @ move))
        move = move - rate * J.T @ (J @ move - y.T.flatten())
    return history
