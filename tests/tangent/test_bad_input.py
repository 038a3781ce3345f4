"""Conditions between arguments: refused with what was given and what is allowed."""

import pytest
import torch
from attention_checks.tangent.fits import draw_problems
from attention_checks.tangent.reverse_process import GaussianMixture, reverse_sde, reverse_times
from attention_checks.tangent.runs.descent import aim, descent
from attention_theory.tangent import (
    SoftmaxNetwork,
    fit_guarantee,
    largest_rate,
    limit_kernel,
    ntk_regression,
    smallest_eigenvalue,
    train,
)

NET, UNPAIRED = SoftmaxNetwork.paired(3, 8, seed=0, outputs=2), SoftmaxNetwork.unpaired(3, 8, seed=0, outputs=2)
X, Y, EYE = torch.ones(4, 3).double(), torch.zeros(4, 2).double(), torch.eye(8).double()
SKEW = torch.tensor([[1.0, 0.5], [0.0, 1.0]]).double()
HALVES, TWO = torch.full((2,), 0.5).double(), torch.eye(2).double()
MIXTURE = GaussianMixture(HALVES, TWO, torch.zeros(2, 2, 2).double())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: limit_kernel(torch.tensor([[1.0, 0.0], [0.0, 0.0]]), kind="relu"), "row 1 of x is zero"),
        (lambda: limit_kernel(torch.ones(1, 2), torch.zeros(1, 2), kind="relu"), "row 0 of x2 is zero"),
        (lambda: SoftmaxNetwork.paired(3, 7, seed=0), "m = 7"),
        (lambda: smallest_eigenvalue(SKEW), "symmetric, this one is not"),
        (lambda: train(NET, X, Y, 5, 0.1, at=[]), r"steps = 5, got \[\]"),
        (lambda: train(NET, X, Y, 5, 0.1, at=[-1]), r"steps = 5, got \[-1\]"),
        (lambda: ntk_regression(EYE, Y, 5, 0.1, 8, at=[6]), r"steps = 5, got \[6\]"),
        (lambda: train(NET, X, Y[:, :1], 5, 0.1), r"y must be \(4, 2\) like F\(W, x\), got \(4, 1\)"),
        (lambda: ntk_regression(EYE[:4, :4], Y, 5, 0.1, 8), r"the kernel must be \(8, 8\) for these labels, got \(4, 4\)"),
        (lambda: ntk_regression(SKEW, Y[:2, :1], 5, 0.1, 8), "symmetric"),
        (lambda: largest_rate(torch.zeros(2, 2), 4), "largest eigenvalue must be positive"),
        (lambda: draw_problems(5, 3, 4, [0], closeness=0.1), "n = 5"),
        (lambda: GaussianMixture(torch.tensor([0.5, 0.6]).double(), MIXTURE.means, MIXTURE.covariances), "sum to 1"),
        (lambda: GaussianMixture(torch.tensor([1.5, -0.5]).double(), MIXTURE.means, MIXTURE.covariances), "sum to 1"),
        (lambda: GaussianMixture(HALVES, TWO, torch.stack([SKEW] * 2)), "symmetric and positive"),
        (lambda: GaussianMixture(HALVES, TWO, torch.stack([-TWO] * 2)), "symmetric and positive"),
        (lambda: MIXTURE.posterior_mean(torch.ones(2).double(), X[:3, :2]), "2 times for 3 rows"),
        (lambda: reverse_times(1.0, 2.0, 10), "stop = 2"),
        (lambda: reverse_sde(MIXTURE.score, X[:, :2], torch.ones(2).double(), seed=0), "must decrease"),
        (lambda: reverse_sde(lambda t, x: limit_kernel(x, sigma=-1) @ x, X, torch.tensor([1, 0.5]).double(), 0), "sigma = -1"),
        (lambda: fit_guarantee(NET, X, Y), "norm at most 1"),
        (lambda: fit_guarantee(NET, X / 2, Y[:, :1]), r"y must be \(4, 2\), got \(4, 1\)"),
        (lambda: fit_guarantee(UNPAIRED, X / 2, Y), "paired"),
        (lambda: aim(NET, X, X[0]), "f has 3 entries for 4 inputs and 2 outputs"),
        (lambda: descent(NET, X, X[:, :1]), "y has 1 outputs, the network 2"),
    ],
)
def test_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
