"""Proofs on cao2024 go through, and each fails past its constant, without a hypothesis, or with the misprint put back."""

import pytest
from attention_checks.tangent import printed, proofs
from proving import refuse

GIVEN = {
    "series": (printed,),
    "perturbation": (printed.lemma_b_1,),
    "kernel": (printed.lemma_5_1, printed.theorem_4_2),
    "descent": (printed,),
}


@pytest.mark.parametrize(
    "family, part, changes",
    [
        ("series", "a.5", {"less": 1}),
        ("series", "a.6", {"x": (-0.1, 1.3)}),
        ("series", "a.7", {"p": (-0.1, 1)}),
        ("series", "a.8", {"x": (-0.05, 0.05)}),
        ("perturbation", "6", {"z": (-0.02, 1.3)}),
        ("perturbation", "7", {"less": 0.4}),
        ("perturbation", "12", {"x": (0.68, None)}),
        ("kernel", "speed", {"p": (0, 1.2)}),
        ("kernel", "linear", {"less": 0.3}),
        ("kernel", "B", {"B": (0.34, None)}),
        ("descent", "d.1", {"B": (0.7, None)}),
        ("descent", "d.2", {"B": (0.2, None)}),
        ("descent", "e.2-width-below", {"B": (0.4, None)}),
        ("descent", "e.6", {"B": (-0.4, None)}),
        ("descent", "e.7", {"B": (-0.1, None)}),
    ],
)
def test_a_proof_can_fail(monkeypatch, family, part, changes):
    assert refuse(monkeypatch, proofs, family, part, GIVEN[family], **changes).box
