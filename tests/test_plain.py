"""TeX as readable text."""

import pytest
from theorybook.plain import as_written, plain


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


@pytest.mark.parametrize(
    ("printed", "written"),
    [
        ("5.5e+03 of 2.65e+10", "5,500 of 2.65 × 10¹⁰"),
        ("below 1e-12, 2.6e-05%, 4e-06.", "below 10⁻¹², 2.6 × 10⁻⁵%, 4 × 10⁻⁶."),
        ("T_4 at 10^12, T_0=0.05", "T₄ at 10¹², T₀=0.05"),
        ("λ^-2, (f - y)^2, S^2", "λ⁻², (f - y)², S²"),
        ("attention_theory, exp_4, n^-0.3", "attention_theory, exp_4, n^-0.3"),  # names, and what has no small sign
    ],
)
def test_numbers_as_people_write_them(printed, written):
    assert as_written(printed) == written
