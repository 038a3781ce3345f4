"""Proofs on deng2023 go through, each fails past its constant or without a hypothesis, and the forms are the network's."""

from fractions import Fraction

import pytest
from attention_checks.separation import printed, proofs
from attention_theory import separation
from proving import refuse
from theorybook.prove import NotProved

BOUNDS = proofs.two_level_bounds() | proofs.identity_bounds()


@pytest.mark.parametrize("part", BOUNDS)
def test_a_bound_cannot_be_tightened(part):
    bound = BOUNDS[part]
    with pytest.raises(NotProved) as failed:
        # another column is below 1/2, and below 1/3
        bound.proof(Fraction({"<": 65, "<=": 99, ">=": 101}[bound.relation], 100))
    assert failed.value.violated and failed.value.box


@pytest.mark.parametrize("part", BOUNDS)
def test_a_bound_needs_its_hypothesis(part):
    # a < 0, where the powers of n are below 1; in two places something else is needed
    bound, half = BOUNDS[part], (0.5, None)
    free = {"e.1-3b", "e.2-2b", "e.1-4b"}  # these hold for q or B below 1 too, but not for t below 1
    wider = {name: half for name in ("r", "x", "q", "B", "t") if name in bound.ranges}
    assert wider or part in free
    with pytest.raises(NotProved) as failed:
        bound._replace(ranges=bound.ranges | wider).proof()
    assert failed.value.violated


GIVEN = {
    "detection": (printed.theorem_6_2,),
    "quiet": (printed.lemma_3_1,),
    "quiet_cross": (printed.lemma_3_1,),
    "share_cross": (printed.THEOREM_F_5, printed.lemma_3_1),
    "regression": (printed.lemma_3_1, printed.lemma_4_1),
    "cap": (printed.theorem_6_2, printed.THEOREM_F_5),
    "identity_block": (printed.theorem_6_2,),
}


@pytest.mark.parametrize(
    "family, part, changes",
    [
        ("detection", "ones", {"a": (0.1, None)}),
        ("detection", "identity", {"a": (0.1, None)}),
        ("detection", "m", {"C": (7.48, 7.48)}),
        ("detection", "weight", {"less": Fraction(1, 1000)}),
        ("detection", "weight", {"x": (0.99, None)}),
        ("detection", "quarter", {"b": (0, 0.7)}),
        ("detection", "quarter", {"a": (0.9, None)}),
        ("detection", "quarter-high", {"b": (0.5, 1)}),
        ("detection", "quarter-high", {"x": (0.4, None)}),
        ("detection", "quarter-below-low", {"less": 0.02}),
        ("detection", "quarter-below-high", {"less": 0.02}),
        ("detection", "quarter-identity", {"b": (0, 0.41)}),
        ("detection", "quarter-identity", {"x": (0.9, None)}),
        ("detection", "ones-others", {"x": (0.1, None)}),
        ("quiet", "(a + b) w < 0.0022, softmax", {"v": (0, "0.934")}),
        ("quiet", "(a + b) w <= 0.0022, linear", {"x": (0.4, None)}),
        ("quiet", "row", {"e": (0, 0.026)}),
        ("quiet", "row", {"z": (0, 1.5)}),
        ("quiet", "row", {"y": (0, 1.9)}),
        ("quiet", "network", {"e": (0, 0.009)}),
        ("quiet", "network", {"z": (0, 0.3)}),
        ("quiet", "other-rows", {"e": (0, 0.03)}),
        ("quiet", "identity", {"b": (0, 0.22)}),
        ("quiet", "identity", {"r": (0, 0.35)}),
        ("quiet", "identity-network", {"e": (0, 0.05)}),
        ("quiet", "identity-network", {"r": (0, 0.06)}),
        ("quiet", "identity-network", {"z": (0, 0.3)}),
        ("quiet", "log(b^2/c^2)/log n", {"s": (0.5, 0.9999)}),
        ("quiet_cross", "row", {"p": (0, 0.033)}),
        ("quiet_cross", "row", {"z": (0, 0.6)}),
        ("quiet_cross", "network", {"p": (0, 0.09)}),
        ("quiet_cross", "network", {"y": (0, 1.5)}),
        ("quiet_cross", "j3's column - another", {"less": Fraction(1, 1000)}),
        ("share_cross", "fires", {"x": (0.99, None)}),
        ("share_cross", "m", {"C": (5.3, 5.3)}),
        ("share_cross", "exp(-(0.2 k", {"k": (40, None)}),
        ("regression", "linear-0", {"r": (1, 1.41)}),
        ("regression", "linear-1", {"less": Fraction(1, 20)}),
        ("regression", "linear-1", {"s": (0.8, 1.4)}),
        ("regression", "hoeffding", {"L": (2.7, None)}),
        ("regression", "norm-0.1", {"v": (0, 1.1)}),
        ("regression", "empty", {"x": (0.69, 23.3)}),
        ("regression", "spike", {"less": Fraction(1, 80)}),
        ("regression", "spike", {"v": (0, 0.9)}),
        ("regression", "|f_exp|^2 2 log", {"z": (0, "0.3")}),
        ("regression", "linear-35", {"n": (20, None)}),
        ("regression", "spike-35", {"v": (0, 0.54)}),
        ("cap", "row j3 of linear on D0 fires too, y_1 = -1, y_* = 1", {"e": (-0.05, None)}),
        ("cap", "row j3 of linear on D0 fires too, y_1 = -1, y_* = -1", {"r": (0.5, None)}),
        ("cap", "row j3 of softmax on D0 fires too, y_1 = -1, y_* = 1", {"e": (-0.05, None)}),
        ("cap", "the uniform row", {"r": (0.5, None)}),
        ("identity_block", "b (block", {"x": (-0.01, None)}),
        ("higher", "1 - n/r", {"less": Fraction(1, 1000)}),
        ("higher", "w <= r/n", {"less": Fraction(1, 1000)}),
        ("linear_separates", "ones", {"a": (-0.6, None)}),
        ("linear_separates", "identity", {"c": (0, None)}),
        ("linear_separates", "value on D0 < value on D1, cross", {"t": (1, None)}),
        ("no_such_data", "$b^2 + c^2", {"b": (0, None)}),
    ],
)
def test_a_proof_can_fail(monkeypatch, family, part, changes):
    assert refuse(monkeypatch, proofs, family, part, GIVEN.get(family, ()), **changes).box


def test_the_cap_against_exact_counts():
    for model, sizes in (("self-ones", (0.01, 1.2, 0.2, 0.8)), ("cross", (0.01, 3))):
        for d in (3, 4, 5, 6, 9):
            for t in (1, 2, 5, 40):
                n = t * (d - (1 if model == "cross" else 2))
                if n >= 2:
                    counts = separation.success_counts(model, n, d, *sizes)
                    assert counts.ok - counts.ok_and_quiet <= counts.total // 4
