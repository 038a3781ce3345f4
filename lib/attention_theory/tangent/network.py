"""The two-layer softmax network of cao2024, with one query per input and the neurons as keys; only
the keys are trained.
"""

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from theorybook.devices import Where
from theorybook.validation import Count, NonNegative, Positive, Seed, Size
from torch import Tensor

from attention_theory.attention import attention_weights
from attention_theory.device import generator, normal, signs


def unit_points(n: Count, d: Count, seed: Seed) -> Float[Tensor, "n d"]:
    """Independent points, uniform on the unit sphere of R^d (for d = 1: fair signs).

    >>> from attention_theory.tangent import unit_points
    >>> unit_points(4, 3, seed=1).norm(dim=1).round(decimals=6).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    x = normal(n, d, generator=generator(seed))
    return x / x.norm(dim=1, keepdim=True)


@dataclass(frozen=True, eq=False)
class SoftmaxNetwork:
    """F(W, x)_l = m <a_l, softmax(W^T x)> (cao2024, eq. 1): attention of the query x to m neurons,
    times m.

    Column r of ``W``, w_r, is the key of neuron r; column r of ``a`` is its value. Only ``W`` is
    trained.

    Args:
        W: (d, m), first layer.
        a: (outputs, m), second layer.

    >>> from attention_theory.tangent import SoftmaxNetwork, unit_points
    >>> net = SoftmaxNetwork.paired(3, 100, seed=0, outputs=1)
    >>> net(unit_points(2, 3, seed=1)).abs().max().item() < 1e-12  # pairs start at 0
    True
    """

    W: Float[Tensor, "d m"]
    a: Float[Tensor, "outputs m"]

    @classmethod
    def paired(
        cls, d: Count, m: Count, seed: Seed, sigma: Positive = 1.0, outputs: Size | None = None
    ) -> "SoftmaxNetwork":
        """Symmetric initialisation (cao2024, Definition 3.7): neurons in pairs with w_2r = w_2r-1
        and a_2r = -a_2r-1.

        The network is then exactly zero. Draws w from N(0, sigma^2 I) and a from fair signs.

        Args:
            d: input dimension.
            m: number of neurons, even.
            seed: of the CPU generator.
            sigma: standard deviation of the first layer.
            outputs: output dimension, d when left out.

        Raises:
            ValueError: m is odd.
        """
        if m % 2:
            raise ValueError(f"paired initialisation takes an even number of neurons, got m = {m}")
        half = cls.unpaired(d, m // 2, seed, sigma, outputs)
        a = torch.stack((half.a, -half.a), dim=-1).flatten(1)
        return cls(half.W.repeat_interleave(2, dim=1), a)

    @classmethod
    def unpaired(
        cls, d: Count, m: Count, seed: Seed, sigma: Positive = 1.0, outputs: Size | None = None
    ) -> "SoftmaxNetwork":
        """All neurons independent: w from N(0, sigma^2 I), a from fair signs. Arguments as in
        :meth:`paired`.
        """
        random = generator(seed)
        return cls(sigma * normal(d, m, generator=random), signs(outputs or d, m, generator=random))

    @property
    def m(self) -> int:
        """Number of neurons."""
        return self.W.shape[1]

    @property
    def outputs(self) -> int:
        """Output dimension."""
        return self.a.shape[0]

    @property
    def is_paired(self) -> bool:
        """Whether the weights have exactly the form that :meth:`paired` draws. Training destroys
        it.
        """
        if self.m % 2 or not torch.equal(self.W[:, 0], self.W[:, 1]):
            return False

        def paired(W, a):
            return (
                torch.equal(W[:, ::2], W[:, 1::2])
                and torch.equal(a[:, ::2], -a[:, 1::2])
                and bool((a.abs() == 1).all())
            )

        return all(
            map(paired, self.W.split(4096, dim=1), self.a.split(4096, dim=1))
        )  # in parts: stops early and needs little memory

    def to(self, target: Where) -> "SoftmaxNetwork":
        """The same network on another device or in another dtype; a tensor stands for its device
        and dtype.
        """
        return replace(self, W=self.W.to(target), a=self.a.to(target))

    def moved(self, direction: Float[Tensor, "d m"], R: NonNegative) -> "SoftmaxNetwork":
        """The network moved along ``direction``, scaled so that the neuron that moves farthest
        moves by R.

        Raises:
            ValueError: the direction is zero.
        """
        longest = direction.norm(dim=0).max()
        if not longest > 0:
            raise ValueError("a direction of length 0 cannot be scaled")
        return replace(self, W=self.W + R / longest * direction)

    def check(self, x: Tensor, name: str = "x") -> None:
        """Raise ValueError unless ``x`` is an (n, d) batch."""
        if x.ndim != 2 or x.shape[1] != self.W.shape[0]:
            raise ValueError(
                f"{name} must be (n, {self.W.shape[0]}), one input per row, got {tuple(x.shape)}"
            )

    def weights(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n m"]:
        """The weights S; row i is softmax(W^T x_i)."""
        return self.score_derivative(x)[0]

    def score_derivative(
        self, x: Float[Tensor, "n d"]
    ) -> tuple[Float[Tensor, "n m"], Float[Tensor, "n m"]]:
        """The weights u(score) over the row sum of u, and the derivatives u'(score) over the same
        sum; for u = exp the two are equal.
        """
        S = attention_weights(x @ self.W, "softmax")
        return S, S

    def slopes(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "outputs n m"]:
        """P_lir = sqrt(m) S_ir (a_lr - <a_l, S_i>): dF_l / dw_r at x_i is sqrt(m) P_lir x_i, and H
        = P P^T times x x^T.
        """
        S, rise = self.score_derivative(x)
        return math.sqrt(self.m) * rise * (self.a[:, None] - (self.a @ S.T)[..., None])

    def __call__(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n outputs"]:
        """F(W, x_i) for every row x_i. For x = 0, which is allowed, it is the plain sum of the a_r.

        Raises:
            ValueError: x is not (n, d).
        """
        self.check(x)
        return self.m * (self.weights(x) @ self.a.T)

    def gradient(
        self, x: Float[Tensor, "n d"], y: Float[Tensor, "n outputs"]
    ) -> Float[Tensor, "d m"]:
        """Gradient in W of the loss sum |F(W, x_i) - y_i|^2 / 2 (cao2024, Definition 3.2 and Claim
        3.4).

        Column r is m sum_{i,l} (F_li - y_li) (a_lr - <a_l, S_i>) S_ir x_i.

        Raises:
            ValueError: x is not (n, d), or y is not (n, outputs).
        """
        self.check(x)
        if y.shape != (len(x), self.outputs):
            raise ValueError(
                f"y must be ({len(x)}, {self.outputs}) like F(W, x), got {tuple(y.shape)}"
            )
        S, rise = self.score_derivative(x)
        mean = S @ self.a.T  # <a_l, S_i>
        error = self.m * mean - y
        return self.m * x.T @ ((error @ self.a - (error * mean).sum(1, keepdim=True)) * rise)
