"""One changed word, a new label: linear models on features, fine-tuned or re-trained (bombari2024,
Section 6).

A model f(X) = phi(X)·theta is trained on N samples; a further sample (X, y) arrives, and the model
is asked for the label -y at X with one token moved. Features are passed as arrays: Phi (N, p) for
the N samples, phi (p,) for X, moved (batch, p) for X with one token moved.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

import torch
from jaxtyping import Float
from theorybook.validation import EMPTY, Seed, Signed, Size, Steps
from torch import Tensor

from attention_theory.device import gradients, least_squares, normal
from attention_theory.sensitivity.attention_features import OneTokenAttention
from attention_theory.sensitivity.context import starts_generator
from attention_theory.sensitivity.word import OneToken

Loss = Literal[
    "alignment-fine", "alignment-again", "error-fine", "error-again", "target-fine", "target-again"
]
LOSSES: tuple[Loss, ...] = get_args(Loss)


# From the features
# --------------------------------------------------------------------------------------------------


def min_norm_interpolator(
    Phi: Float[Tensor, "N p"], labels: Float[Tensor, "N"], theta_0: Float[Tensor, "p"] | None = None
) -> Float[Tensor, "p"]:
    """theta* = theta_0 + Phi^+ (labels - Phi theta_0), the limit of gradient descent on the
    quadratic loss.

    The pseudo-inverse is applied through the singular values of Phi, so that nearly repeated
    samples do no harm; the Gram matrix would square their condition number.

    Args:
        Phi: features of the samples (N, p).
        labels: (N,).
        theta_0: where gradient descent starts; 0 if not given.

    Raises:
        ValueError: sizes that do not fit, entries that are not finite, or samples so nearly
            dependent that the answer is lost in their precision (those that repeat exactly are
            fine).

    bombari2024, (6.3).

    >>> import torch
    >>> from attention_theory.sensitivity import min_norm_interpolator
    >>> Phi, labels = torch.tensor([[2.0, 0.0]]).double(), torch.tensor([1.0]).double()
    >>> min_norm_interpolator(Phi, labels).tolist()  # one sample, two features
    [0.5, 0.0]
    """
    _check_independent(Phi)
    theta_0 = torch.zeros_like(Phi[0]) if theta_0 is None else theta_0
    return theta_0 + least_squares(Phi, labels - Phi @ theta_0)


def feature_alignment(
    Phi: Annotated[Float[Tensor, "N p"], EMPTY],
    phi: Float[Tensor, "p"],
    moved: Float[Tensor, "batch p"],
) -> Float[Tensor, "batch"]:
    """F(X, X^i(delta)) = phi(X^i(delta))·r / |r|^2, with r the component of phi(X) orthogonal to
    the training features.

    If ``Phi`` has no rows, this is the alignment of fine-tuning, phi(X^i(delta))·phi(X) /
    |phi(X)|^2.

    Args:
        Phi: features of the training samples (N, p).
        phi: features of X (p,).
        moved: features of X with one token moved (batch, p).

    Raises:
        ValueError: phi(X) lies in the span of the training features, where the alignment is 0/0;
            or as in :func:`min_norm_interpolator`.

    bombari2024, (6.14).

    >>> import torch
    >>> from attention_theory.sensitivity import feature_alignment
    >>> seen, phi = torch.tensor([[1.0, 0.0]]).double(), torch.tensor([3.0, 2.0]).double()
    >>> feature_alignment(seen, phi, torch.tensor([[0.0, -2.0]]).double()).tolist()  # r = (0, 2)
    [-1.0]
    """
    _check_independent(Phi)
    rest = phi
    for _ in range(2 * bool(len(Phi))):  # the second pass removes what rounding left in the span
        rest = rest - Phi.T @ least_squares(Phi.T, rest)
    if not float(rest.norm()) > torch.finfo(phi.dtype).eps ** 0.6 * float(phi.norm()):
        raise ValueError(
            "the features of X lie in the span of the training features, where the alignment is 0/0"
        )
    return moved @ rest / rest.square().sum()


def _check_independent(Phi: Tensor) -> None:
    """Raise ValueError if training features are dependent up to rounding; samples that repeat
    exactly are allowed.
    """
    least = 1e3 * torch.finfo(Phi.dtype).eps
    for rows in (lambda: Phi, lambda: torch.unique(Phi, dim=0)):
        values = torch.linalg.svdvals(rows())
        if not len(values) or bool(values[-1] > least * values[0]):
            return
    raise ValueError(
        f"the samples are so nearly dependent that {Phi.dtype} loses the answer: the smallest "
        "singular value of their features "
        f"is {float(values[-1] / values[0]):.1e} of the largest, and {least:.1e} is allowed; take "
        "float64, or leave one out"
    )


# All moves of one token at once
# --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Solutions:
    """Three directions in feature space that determine both trained models at every move.

    theta_f = theta + residual * fine_tuned and theta_r = theta + residual * retrained: (6.9) and
    (6.13) in vector form. So a move needs three inner products, whatever N is.

    >>> import torch
    >>> from attention_theory.sensitivity import solutions
    >>> Phi = torch.eye(3)[:2].double()
    >>> both = solutions(Phi, torch.tensor([1.0, -1.0]).double(), torch.ones(3).double(), label=1)
    >>> both.retrained.tolist(), both.residual  # the part of phi orthogonal to both samples
    ([0.0, 0.0, 1.0], 1.0)
    """

    theta: Float[Tensor, "p"]  #: theta*
    fine_tuned: Float[Tensor, "p"]  #: phi / |phi|^2
    retrained: Float[Tensor, "p"]  #: r / |r|^2, r the part of phi(X) orthogonal to the samples
    label: float
    before: float  #: f(X, theta*)
    smallest: float  #: smallest eigenvalue of the Gram matrix of all N + 1 samples
    condition: float  #: its condition number

    @property
    def residual(self) -> float:
        """The residual y - f(X, theta*) of the new sample."""
        return self.label - self.before

    def measure(
        self, one: OneToken, deltas: Float[Tensor, "batch d"]
    ) -> dict[str, Float[Tensor, "batch"]]:
        """For each move: the change of the output under ``theta*`` and under ``theta_r``, the two
        alignments and the two errors.

        Raises:
            ValueError: moves of another dimension than the token's.
        """
        if deltas.shape[1] != len(one.x):
            raise ValueError(f"moves have {len(one.x)} coordinates here, got {tuple(deltas.shape)}")
        moved = one.readout(deltas, torch.stack([self.theta, self.fine_tuned, self.retrained]))
        before, fine, again = moved.unbind(1)
        return {
            "shift": before - self.before,
            "shift-again": before - self.before + (again - 1) * self.residual,
            "alignment-fine": fine,
            "alignment-again": again,
            "error-fine": (before + fine * self.residual + self.label).square(),
            "error-again": (before + again * self.residual + self.label).square(),
        }


def solutions(
    Phi: Float[Tensor, "N p"],
    labels: Float[Tensor, "N"],
    phi: Float[Tensor, "p"],
    label: Signed,
    gram: Float[Tensor, "M M"] | None = None,
) -> Solutions:
    """Solve for both trained models (from theta_0 = 0) through the Gram matrix, with N^2 p
    operations and no p x p matrix.

    Args:
        Phi: features of the training samples (N, p).
        labels: their labels (N,).
        phi: features of X (p,).
        label: of X, -1 or 1.
        gram: Gram matrix of the N samples and X, in this order, if already computed.

    Raises:
        ValueError: as in :func:`min_norm_interpolator`; a label that is not a sign; or the Gram
            matrix has a condition number above 1e10, in single precision 8e3 (samples nearly
            repeat, or N + 1 > p), where its inverse has lost the answer: use
            :func:`min_norm_interpolator` and :func:`feature_alignment`.

    >>> import torch
    >>> from attention_theory.sensitivity import solutions
    >>> Phi = torch.eye(3)[:2].double()
    >>> both = solutions(Phi, torch.tensor([1.0, -1.0]).double(), torch.ones(3).double(), label=1)
    >>> both.theta.tolist()  # fits both samples
    [1.0, -1.0, 0.0]
    """
    if label not in (-1, 1):
        raise ValueError(
            f"the label of X must be -1 or 1, so that -label is the other one, got {label}"
        )
    if gram is None:
        joint = torch.cat([Phi, phi[None]])
        gram = joint @ joint.T
    K, cross = gram[:-1, :-1], gram[:-1, -1]
    values = torch.linalg.eigvalsh(gram)
    if not float(values[0]) > max(1e-10, 1e3 * torch.finfo(gram.dtype).eps) * float(values[-1]):
        raise ValueError(
            f"the Gram matrix of the {len(gram)} samples has smallest eigenvalue "
            f"{float(values[0]):.1e} and largest "
            f"{float(values[-1]):.1e}: its inverse is lost to rounding; use min_norm_interpolator "
            "and feature_alignment"
        )
    factor = torch.linalg.cholesky(K)
    coefficients = torch.cholesky_solve(torch.stack([labels, cross], dim=1), factor)
    theta, along = Phi.T @ coefficients[:, 0], Phi.T @ coefficients[:, 1]
    rest = phi - along
    return Solutions(
        theta,
        phi / phi.square().sum(),
        rest / rest.square().sum(),
        float(label),
        float(phi @ theta),
        float(values[0]),
        float(values[-1] / values[0]),
    )


def best_moves(
    model: Solutions,
    one: OneToken,
    losses: Sequence[tuple[Loss, float]],
    starts: Size = 4,
    steps: Steps = 150,
    seed: Seed = 0,
) -> Float[Tensor, "losses d"]:
    """For each loss, the move with |delta| <= sqrt(d) at which :func:`descend` finds the smallest
    value.

    Args:
        model: from :func:`solutions`.
        one: the feature map as a function of the move of one token.
        losses: pairs of a name and a penalty p. ``alignment-fine`` and ``alignment-again`` are
            (6.16), (alignment + 1)^2; ``error-fine`` and ``error-again`` are (6.7). ``target-fine``
            and ``target-again`` are ours: the error that the alignment leaves when the shift is 0,
            so that they aim at the alignment 1 - 2 y / residual instead of -1. p times the squared
            shift is added, as in (F.3) to (F.5).
        starts: first the even move of attention features, or the token itself and its opposite for
            random features; then random directions. The best result is returned.
        steps: of the descent.
        seed: of the random starts.

    >>> import torch
    >>> from attention_theory.sensitivity import RandomFeatures, best_moves, solutions
    >>> from attention_theory.tokens import contexts
    >>> X = contexts("iid", 4, 5, 8, seed=0)
    >>> map = RandomFeatures.sample(5, 8, k=64, seed=0)
    >>> phi = torch.stack([map(x) for x in X])
    >>> model = solutions(phi[1:], torch.tensor([1.0, -1.0, 1.0]).double(), phi[0], label=1)
    >>> moves = best_moves(model, map.one_token(X[0], 0), [("error-fine", 0.0)], steps=20)
    >>> bool(moves.norm() <= 8**0.5 + 1e-9)
    True
    """
    chosen = (
        torch.tensor([LOSSES.index(name) for name, _ in losses])
        .to(one.x.device)
        .repeat_interleave(starts)
    )
    penalty = torch.tensor([p for _, p in losses]).to(one.x).repeat_interleave(starts)

    def objective(deltas):
        found = model.measure(one, deltas)
        alignments = [found["alignment-fine"], found["alignment-again"]]
        columns = [(alignment + 1).square() for alignment in alignments]
        columns += [found["error-fine"], found["error-again"]]
        columns += [
            (2 + (alignment - 1) * model.residual * model.label).square()
            for alignment in alignments
        ]
        return torch.stack(columns).gather(0, chosen[None])[0] + penalty * found["shift"].square()

    d = len(one.x)
    lead = one.starts()[:1] if isinstance(one, OneTokenAttention) else torch.stack([one.x, -one.x])
    first = torch.cat([lead, normal(starts, d, generator=starts_generator(seed)).to(one.x)])[
        :starts
    ]
    first = first * (d**0.5 / first.norm(dim=1, keepdim=True))
    delta, value = descend(objective, first.repeat(len(losses), 1), steps)
    best = value.unflatten(0, (-1, starts)).argmin(dim=1)
    return delta.unflatten(0, (-1, starts))[torch.arange(len(losses)).to(best.device), best]


def descend(
    objective: Callable[[Tensor], Tensor], delta: Float[Tensor, "starts d"], steps: Steps
) -> tuple[Float[Tensor, "starts d"], Float[Tensor, "starts"]]:
    """Projected gradient descent over |delta| <= sqrt(d): the best move on each path, and its
    objective.

    The penalties create narrow valleys, where plain gradient steps crawl. So the descent uses
    momentum, with a step length that falls from sqrt(d)/10 to 0 (Adam with one second moment per
    move instead of one per coordinate, which makes it independent of the basis).

    Args:
        objective: moves (starts, d) -> (starts,), each entry a function of its own move.
        delta: where to start.
        steps: number of steps.

    >>> import torch
    >>> from attention_theory.sensitivity import descend
    >>> far = torch.tensor([9.0, 0.0]).double()  # the ball has the radius sqrt(2)
    >>> start = torch.zeros(1, 2).double()
    >>> move, value = descend(lambda delta: (delta - far).norm(dim=1), start, steps=200)
    >>> move.round(decimals=2).tolist()
    [[1.41, 0.0]]
    """
    radius = delta.shape[1] ** 0.5
    mean, square = torch.zeros_like(delta), torch.zeros_like(delta[:, :1])
    best, lowest = delta, torch.full_like(delta[:, 0], torch.inf)
    for step in range(steps + 1):
        with gradients():
            delta = delta.detach().requires_grad_(True)
            value = objective(delta)
            (gradient,) = torch.autograd.grad(value.sum(), delta)
        delta, value = delta.detach(), value.detach()
        better = value < lowest
        best, lowest = torch.where(better[:, None], delta, best), torch.where(better, value, lowest)
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.99 * square + 0.01 * gradient.square().sum(dim=1, keepdim=True)
        mean_now, square_now = mean / (1 - 0.9 ** (step + 1)), square / (1 - 0.99 ** (step + 1))
        length = 0.1 * radius * (1 - step / max(steps, 1))
        delta = delta - length * mean_now / torch.where(square_now == 0, 1, square_now).sqrt()
        delta = delta * (radius / delta.norm(dim=1, keepdim=True)).clamp(max=1)
    return best, lowest
