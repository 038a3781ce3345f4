"""TeX as readable text."""

import pytest
from theorybook.plain import plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no mathematics, 2 $ and more", "no mathematics, 2 $ and more"),
        (r"$a_{2r-1} \le \sqrt{\log n}$ for all $r$", "a_(2r-1) ≤ √(log n) for all r"),
        (r"$\partial F / \partial w_r$", "∂F / ∂w_r"),
        (r"$p = \frac1{1 + (n-1) n^{-a}}$", "p = 1/(1 + (n-1) n^(-a))"),
        (r"$\frac{\|X^\top\delta\|^2}{2}$", "(‖Xᵀδ‖^2)/2"),
        (r"$\mathcal{D}_1$, $\Gamma \ge \Omega(\lambda_0)/D$", "D_1, Γ ≥ Ω(λ_0)/D"),
        (r"$\left(\frac{a}{b}\right)^{C^{p}}$", "(a/b)^(C^p)"),
    ],
)
def test_formulas_are_readable_in_a_line(text, shown):
    assert plain(text) == shown
