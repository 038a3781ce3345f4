"""Images made of patches that carry one feature in hidden groups (jelassi2022, Definition 2.1 and
Assumption 1).
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from theorybook.validation import Chance, Count, NonNegative, Seed
from torch import Tensor

from attention_theory.device import generator, normal

#: Integer labels of the patches: equal in a group.
Labels = Tensor | Sequence[int]


class PatchDistribution:
    """D patches of dimension d in L = D / C hidden groups (jelassi2022, Assumption 1).

    A label y = +-1 puts y w into every patch of one random group. Every patch of the other groups
    carries delta w, delta = +1 or -1 with probability q / 2 each, else 0. All patches get Gaussian
    noise orthogonal to w.

    Args:
        D: number of patches.
        C: size of a group, a divisor of D.
        d: dimension of a patch, at least 2 so that there is room for noise (1 if sigma is 0).
        q: probability that a patch outside the signal group carries the feature.
        sigma: standard deviation of the noise in each direction orthogonal to w.
        groups: (D,) integer labels, each used exactly C times; default 0 ... 0 1 ... 1 and so on.
        w: (d,) feature of norm 1; default the first unit vector, which makes <w, X_j> exact in
            floating point.

    Raises:
        ValueError: sizes that do not fit, q outside [0, 1], a negative sigma, labels or a feature
            of the wrong form.

    >>> from attention_theory.patches import PatchDistribution
    >>> world = PatchDistribution(D=6, C=2, d=3, q=0.5, sigma=0.1)
    >>> X, y = world.sample(4, seed=0)
    >>> X.shape
    torch.Size([4, 6, 3])
    >>> (world.label(X) == y).all().item()  # three groups, one of which carries the label
    True
    """

    def __init__(
        self,
        D: Count,
        C: Count,
        d: Count,
        q: Chance,
        sigma: NonNegative,
        groups: Labels | None = None,
        w: Tensor | Sequence[float] | None = None,
    ):
        if D % C:
            raise ValueError(
                f"D = {D} patches do not fall into groups of C = {C}: C must be a positive "
                "divisor of D"
            )
        if d == 1 and sigma > 0:
            raise ValueError(
                f"d = {d} leaves no direction orthogonal to the feature for noise; choose d >= 2, "
                "or sigma = 0"
            )
        self.D, self.C, self.d, self.q, self.sigma, self.L = D, C, d, q, sigma, D // C
        self.groups = torch.arange(D) // C if groups is None else check_groups(groups, D, C)
        w = torch.eye(1, d)[0] if w is None else w
        self.w = torch.as_tensor(w, dtype=torch.float64, device=self.groups.device)
        if self.w.shape != (d,) or not abs(float(self.w.norm()) - 1) < 1e-9:
            raise ValueError(
                f"w needs shape ({d},) and norm 1, got shape {tuple(self.w.shape)}, norm "
                f"{float(self.w.norm())}"
            )

    def coefficients(self, N: Count, seed: Seed) -> tuple[Float[Tensor, "N D"], Float[Tensor, "N"]]:
        """The coefficient <w, X_j> of the feature in each patch, and the labels: (N, D) in {-1, 0,
        1} and (N,).

        The same draw as in :meth:`sample` with this seed, without its noise.
        """
        return self._draw(N, generator(seed))

    def sample(self, N: Count, seed: Seed) -> tuple[Float[Tensor, "N D d"], Float[Tensor, "N"]]:
        """N independent data points: patches (N, D, d) and labels (N,) in {-1, 1}, float64, on the
        device of the groups.
        """
        source = generator(seed)
        feature, y = self._draw(N, source)
        X = feature[..., None] * self.w
        if self.sigma:
            noise = self.sigma * normal(N, self.D, self.d, generator=source).to(feature)
            X = X + (
                noise - (noise @ self.w)[..., None] * self.w
            )  # so that rounding cannot move <w, X_j>
        return X, y

    def _draw(self, N, source):
        y = torch.randint(0, 2, (N,), generator=source).to(torch.float64) * 2 - 1
        chosen = torch.randint(0, self.L, (N,), generator=source)
        uniform = torch.rand(N, self.D, generator=source, dtype=torch.float64)
        y, chosen, uniform = (drawn.to(self.groups.device) for drawn in (y, chosen, uniform))
        signal = self.groups.unique()[chosen]
        delta = (uniform < self.q / 2).to(torch.float64) - (uniform > 1 - self.q / 2).to(
            torch.float64
        )
        return torch.where(self.groups == signal[:, None], y[:, None], delta), y

    def group_sums(self, X: Float[Tensor, "N D d"]) -> Float[Tensor, "N L"]:
        """Sum of <w, X_j> over each group: (N, L), groups in increasing order of their labels.

        Raises:
            ValueError: X of another shape.
        """
        if X.shape[1:] != (self.D, self.d):
            raise ValueError(f"X must be (N, D, d) = (N, {self.D}, {self.d}), got {tuple(X.shape)}")
        labels = self.groups.unique()
        member = (self.groups[:, None] == labels).to(X)
        return X @ self.w.to(X) @ member

    def label(self, X: Float[Tensor, "N D d"], threshold: NonNegative = 0.9) -> Float[Tensor, "N"]:
        """Sign of the labelling function f*(X), the sum of Threshold(group sum) over all groups:
        (N,) in {-1, 0, 1}.

        Threshold(z) = z if abs(z) > threshold * C and 0 otherwise (jelassi2022, Assumption 1). A
        pure signal group has the sum C, so with this strict inequality a threshold of 1 would drop
        it; 0.9 keeps it and, for C <= 10, nothing else. The label is 0 when no group passes, or
        when groups of both signs cancel.

        Raises:
            ValueError: X of another shape or not finite, a threshold that is not finite or
                negative.
        """
        sums = self.group_sums(
            X
        ).round()  # they are integers; a sum on the threshold must not pass by rounding
        return torch.where(sums.abs() > threshold * self.C, sums, 0).sum(1).sign()


def check_groups(
    groups: Labels, D: Count | None = None, C: Count | None = None
) -> Int[Tensor, "D"]:
    """Group labels as an integer tensor; every label must be used equally often (C times, where C
    is given).

    Raises:
        ValueError: anything but a vector of integers, another number of labels, or groups of
            different sizes.
    """
    groups = torch.as_tensor(groups)
    if groups.ndim != 1 or groups.is_floating_point() or groups.is_complex():
        raise ValueError(
            f"groups are integer labels, one for each patch; got shape {tuple(groups.shape)}, "
            f"{groups.dtype}"
        )
    if D is not None and len(groups) != D:
        raise ValueError(f"groups has {len(groups)} labels for D = {D} patches")
    sizes = groups.unique(return_counts=True)[1]
    if len(sizes) == 0 or (sizes != (sizes[0] if C is None else C)).any():
        raise ValueError(
            f"groups of sizes {sizes.tolist()}; all must have "
            f"{'one size' if C is None else f'C = {C} patches'}"
        )
    return groups
