"""Gradient descent on samples: the realistic problem (E) of jelassi2022, and transfer to another
feature.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from theorybook.devices import Device
from theorybook.validation import Count, NonNegative, Positive, Seed, Signed, Size
from torch import Tensor

from attention_theory.device import generator, normal
from attention_theory.patches.distribution import PatchDistribution
from attention_theory.patches.vit import PositionalViT, association

#: Offsets to the seed for test points and for the start, whose streams no run uses for training
#: points.
TEST_SEED, START_SEED = 1_000_003, 2_000_003


@dataclass(frozen=True, eq=False)
class SampleTrajectory:
    """Course of gradient descent: one row per recorded step, the start included.

    >>> from attention_theory.patches import PatchDistribution, train_vit
    >>> world = PatchDistribution(D=8, C=2, d=4, q=0.25, sigma=0.1)
    >>> path = train_vit(world, 50, steps=40, seed=0)
    >>> path.steps, path.A.shape
    ([0, 20, 40], torch.Size([3, 8, 8]))
    >>> (path.loss.diff() < 0).all().item()
    True
    """

    distribution: PatchDistribution
    steps: list[int]
    A: Float[Tensor, "records D D"]
    v: Float[Tensor, "records d"]
    loss: Float[Tensor, "records"]
    error: Float[Tensor, "records"]
    model: PositionalViT

    @property
    def association(self) -> Float[Tensor, "records"]:
        """Fraction of the positions whose Top_C is their group (jelassi2022, Definition 2.2)."""
        return torch.tensor(
            [association(A, self.distribution.groups) for A in self.A], dtype=torch.float64
        )

    @property
    def alpha(self) -> Float[Tensor, "records"]:
        """Component <v, w> of the value vector along the feature."""
        return self.v @ self.distribution.w.to(self.v)

    @property
    def orthogonal(self) -> Float[Tensor, "records"]:
        """Norm of the component of v orthogonal to the feature (epsilon_v in jelassi2022, Appendix
        E).
        """
        return (self.v - self.alpha[:, None] * self.distribution.w.to(self.v)).norm(dim=1)

    @property
    def alignment(self) -> Float[Tensor, "records"]:
        """Cosine of the angle between v and the feature w."""
        return self.alpha / self.v.norm(dim=1)


def missed(signs: Float[Tensor, "N"], F: Float[Tensor, "N"]) -> float:
    """Fraction of points on which the output F does not have this sign; an output or a sign of 0
    counts as a miss.
    """
    return float((signs.to(F) * F <= 0).double().mean())


def error_rate(
    model: PositionalViT, distribution: PatchDistribution, N: Count, seed: Seed
) -> float:
    """Fraction of N fresh points with y F(X) <= 0.

    >>> import torch
    >>> from attention_theory.patches import PatchDistribution, PositionalViT, error_rate
    >>> world = PatchDistribution(D=8, C=2, d=3, q=0.0, sigma=0.1)
    >>> averages = PositionalViT(torch.zeros(8, 8).double(), world.w)
    >>> error_rate(averages, world, 100, seed=0)  # no other patch carries a sign
    0.0
    """
    X, y = distribution.sample(N, seed + TEST_SEED)
    return missed(y, model(X.to(model.v)))


def train_vit(
    distribution: PatchDistribution,
    N: Count,
    steps: Size = 600,
    *,
    seed: Seed,
    rate_A: NonNegative = 10.0,
    rate_v: NonNegative = 1e-3,
    p: Count = 3,
    nu: NonNegative = 1e-3,
    beta: Signed = 1.0,
    omega: NonNegative = 1e-3,
    temperature: Positive | None = 1.0,
    A: Float[Tensor, "D D"] | None = None,
    v: Float[Tensor, "d"] | None = None,
    every: Size = 20,
    tests: Size = 2000,
    device: Device = "cpu",
) -> SampleTrajectory:
    """Full-batch gradient descent on N samples (jelassi2022, problem (E) with Parametrization 3.1,
    realistic case).

    The diagonal of A keeps its value. The paper uses one rate for A and v and divides the scores by
    sqrt(d) (``temperature=None``); the defaults let A move within hundreds of steps.

    Args:
        distribution: where training and test points come from.
        N: number of training points.
        steps: number of gradient steps.
        seed: of the training points; the start uses seed + START_SEED, the test points seed +
            TEST_SEED.
        rate_A, rate_v: learning rates; ``rate_A=0`` leaves the attention unchanged (fine-tuning).
        p, nu, temperature: as in :class:`PositionalViT`.
        beta: diagonal of A at the start; its other entries and v have standard deviation ``omega``.
        A, v: another start, for example attention learned before.
        every: number of steps between records; the last step is always recorded.
        tests: number of fresh points behind each test error.
        device: where to compute.

    Raises:
        ValueError: as in :class:`PatchDistribution` and :class:`PositionalViT`.

    >>> from attention_theory.patches import PatchDistribution, train_vit
    >>> world = PatchDistribution(D=8, C=2, d=4, q=0.25, sigma=0.1)
    >>> path = train_vit(world, 50, steps=40, seed=0)
    >>> path.loss[-1].item() < path.loss[0].item()
    True
    """
    D, d = distribution.D, distribution.d
    source = generator(seed + START_SEED)
    start = omega * normal(D, D, generator=source)
    start.fill_diagonal_(beta)
    value = omega * normal(d, generator=source)
    A = (start if A is None else A.clone()).to(device)
    v = (value if v is None else v.clone()).to(device)
    X, y = (tensor.to(device) for tensor in distribution.sample(N, seed))
    X_test, y_test = (tensor.to(device) for tensor in distribution.sample(tests, seed + TEST_SEED))
    recorded = []
    for step in range(steps + 1):
        model = PositionalViT(A, v, p, nu, temperature)
        if step % every == 0 or step == steps:
            error = (y_test * model(X_test) <= 0).double().mean()
            recorded.append((step, A.clone(), v.clone(), model.loss(X, y), error))
        if step < steps:
            dA, dv = model.gradients(X, y)
            dA.fill_diagonal_(0)
            A, v = A - rate_A * dA, v - rate_v * dv
    at, As, vs, losses, errors = zip(*recorded)
    As, vs, losses, errors = (torch.stack(column).cpu() for column in (As, vs, losses, errors))
    return SampleTrajectory(
        distribution,
        list(at),
        As,
        vs,
        losses,
        errors,
        PositionalViT(A.cpu(), v.cpu(), p, nu, temperature),
    )
