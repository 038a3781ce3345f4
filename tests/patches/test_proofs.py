"""Proofs on jelassi2022 go through, and each fails past its constant or without a hypothesis."""

import pytest
import sympy
from attention_theory.evidence.prove import NotProved, same
from attention_theory.patches import proofs
from proving import refuse


@pytest.mark.parametrize(
    "family, part, changes",
    [
        ("sigmoid", "lower", {"less": 4.4}),  # 10/2 - log 2 = 4.31
        ("sigmoid", "upper", {"less": 6.5}),
        ("sigmoid", "lower-nine", {"x": (-11, 0)}),
        ("sigmoid", "zero-one", {"u": (0.9, None)}),
        ("thresholds", "upper", {"x": (0, "10.000226944706")}),
        ("thresholds", "upper-sharp", {"x": ("10.000226944702", 20)}),
        ("thresholds", "lower", {"x": ("0.134669810849", 1)}),
        ("thresholds", "lower-sharp", {"x": (0, "0.134669810853")}),
        ("logarithms", "derivative", {"y": (-0.5, None)}),
        ("tensor_power", "geometric", {"s": (0, 0.51)}),
        ("tensor_power", "telescope", {"less": 1}),
        ("softmax", "ratio", {"E": (0.9, None)}),
        ("row_sums", "g.4", {"e": (-0.5, None)}),
        ("strays", "three", {"L": ("0.69", "2.47")}),  # d = 2
        ("strays", "one", {"L": ("6.3", "7.39")}),  # d = 544
        ("lipschitz", "", {"less": 0.9}),  # at t = 1 the gap is 1 - 1/8
    ],
)
def test_a_proof_can_fail(monkeypatch, family, part, changes):
    assert refuse(monkeypatch, proofs, family, part, **changes).box


def test_the_printed_signs_and_factors_fail(monkeypatch):
    def misprinted(what, left, right, shown):
        return same(what, left, -right if "loss" not in what and "log" in what else right * 2, shown)

    monkeypatch.setattr(proofs, "same", misprinted)
    for family in (proofs.gradients, proofs.softmax, proofs.row_sums):
        with pytest.raises(NotProved):
            family()


def test_the_activation_needs_its_condition(monkeypatch):
    prove = proofs.nonnegative
    monkeypatch.setattr(proofs, "nonnegative", lambda what, f, **options: prove(what, f, **options | {"e": (-1, None)}))
    with pytest.raises(NotProved):
        proofs.activation()


def test_the_ratio_of_logarithms():
    import flint

    for u in (1e-9, 0.3, 1.0):
        assert proofs._log_ratio(flint.arb(u)).overlaps(flint.arb(u).log1p() / u)
    assert float(sympy.log(2)) in [pytest.approx(float(proofs._log_ratio(flint.arb(1)).mid()))]


def test_other_permutations_do_not_keep_the_groups(monkeypatch):
    prove = proofs.every
    monkeypatch.setattr(proofs, "every", lambda what, holds, cases, shown: prove(what, holds, [(0, 2, 1, 3)], shown))
    with pytest.raises(NotProved):
        proofs.symmetry()


def test_the_union_bound_needs_a_probability(monkeypatch):
    prove = proofs.nonnegative
    monkeypatch.setattr(proofs, "nonnegative", lambda what, f, **options: prove(what, f, **options | {"q": (-1, 1)}))
    with pytest.raises(NotProved):
        proofs.strays()
