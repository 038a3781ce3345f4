"""Proofs on jelassi2022 go through, and each fails past its constant or without a hypothesis."""

import inspect
from fractions import Fraction

import pytest
import sympy
from attention_checks.patches import printed, proofs
from proving import refuse
from theorybook.prove import NotProved, prove_identity

GIVEN = {
    "sigmoid": (printed.lemma_k_6,),
    "thresholds": (printed.lemma_k_5,),
    "logarithms": (printed.lemma_k_7,),
    "tensor_power": (printed.lemma_k_1,),
    "softmax": (printed.lemma_e_16, printed.lemma_e_16_bound, printed.lemma_e_17),
    "gradients": (printed.lemma_h_1, printed.lemma_h_2),
    "lipschitz": (printed.lemma_e_12,),
}


@pytest.mark.parametrize(
    "family, part, changes",
    [
        ("sigmoid", "lower", {"less": 4.4}),  # 10/2 - log 2 = 4.31
        ("sigmoid", "upper", {"less": 6.5}),
        ("sigmoid", "lower-nine", {"x": (-11, 0)}),
        ("sigmoid", "zero-one", {"u": (0.9, None)}),
        ("thresholds", "upper", {"x": (0, "10.000226944706")}),
        ("thresholds", "upper-sharp", {"y": (0, 1 / Fraction("10.000226944702"))}),
        ("thresholds", "lower", {"y": (0, 1 / Fraction("0.134669810849"))}),
        ("thresholds", "lower-sharp", {"x": (0, "0.134669810853")}),
        ("logarithms", "derivative", {"y": (-0.5, None)}),
        ("tensor_power", "geometric", {"s": (0, 0.7)}),
        ("tensor_power", "telescope", {"less": 1}),
        ("softmax", "ratio", {"less": Fraction(1, 1000)}),
        ("row_sums", "g.4", {"e": (-0.5, None)}),
        ("crowd", r"$1/4", {"x": (8, None)}),
        ("crowd", r"$1/4", {"less": Fraction(1, 2)}),
        ("first_step", "lead", {"C": (1, None)}),
        ("strays", r"$L \le 3 L", {"L": ("0.69", 100)}),  # d = 2
        ("strays", r"$L \le 1 L", {"L": ("6.3", 100)}),  # d = 544
        ("lipschitz", r"$(|\nabla\psi|/p)^2", {"less": 15}),  # at t = 1 the gap is 16 - 2
    ],
)
def test_a_proof_can_fail(monkeypatch, family, part, changes):
    assert refuse(monkeypatch, proofs, family, part, GIVEN.get(family, ()), **changes).box


def test_the_printed_signs_and_factors_fail(monkeypatch):
    def misprinted(what, left, right, **options):
        return prove_identity(what, left, -right if "loss" not in what and "log" in what else right * 2, **options)

    monkeypatch.setattr(proofs, "prove_identity", misprinted)
    for family in ("gradients", "softmax", "row_sums"):
        with pytest.raises(NotProved):
            inspect.unwrap(getattr(proofs, family))(*GIVEN.get(family, ()))


def test_the_first_step_needs_every_term(monkeypatch):
    for what in (r"$g_\gamma$", r"$g_\rho$"):

        def misprinted(said, left, right, what=what, **options):
            return prove_identity(said, left, right * 2 if said == what else right, **options)

        monkeypatch.setattr(proofs, "prove_identity", misprinted)
        with pytest.raises(NotProved):
            inspect.unwrap(proofs.first_step)()


def test_the_activation_needs_its_condition(monkeypatch):
    prove = proofs.prove_le
    monkeypatch.setattr(proofs, "prove_le", lambda what, f, **options: prove(what, f, **options | {"e": (-1, None)}))
    with pytest.raises(NotProved):
        inspect.unwrap(proofs.activation)()


def test_the_ratio_of_logarithms():
    import flint

    for u in (1e-9, 0.3, 1.0):
        assert proofs._log_ratio(flint.arb(u)).overlaps(flint.arb(u).log1p() / u)
    assert float(sympy.log(2)) in [pytest.approx(float(proofs._log_ratio(flint.arb(1)).mid()))]


def test_other_permutations_do_not_keep_the_groups(monkeypatch):
    prove = proofs.prove_by_cases
    monkeypatch.setattr(
        proofs, "prove_by_cases", lambda what, holds, cases, **options: prove(what, holds, [(0, 2, 1, 3)], **options)
    )
    with pytest.raises(NotProved):
        inspect.unwrap(proofs.symmetry)()


def test_the_union_bound_needs_a_probability(monkeypatch):
    refuse(monkeypatch, proofs, "strays", "C = 2, k = 1", q=(-1, 1))
