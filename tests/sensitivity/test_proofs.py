"""Proofs on bombari2024 go through, and each fails past its constant or without a hypothesis."""

import math

import pytest
from attention_checks.sensitivity import printed, proofs
from proving import refuse
from theorybook.prove import NotProved


def test_the_constant_of_the_maximum_is_sharp():
    for c, holds in (("0.39", True), ("0.397", True), ("0.3971", False), ("0.5", False)):
        if holds:
            assert len(proofs.maximum(c)) == 2
        else:
            with pytest.raises(NotProved) as failed:
                proofs.maximum(c)
            assert failed.value.violated
            assert c != "0.3971" or 20 < math.exp(float(failed.value.box["x"])) < 80


@pytest.mark.parametrize(
    "family, part, changes",
    [
        ("maximum", "far", {"x": (9, None)}),
        ("small_balls", "chebyshev", {"r": (1, None)}),
        ("small_balls", "one", {"t": (1.3, 1.3)}),
        ("small_balls", "density", {"t": (0.032, 0.032)}),
        ("retraining", "rayleigh", {"e": (-0.5, None)}),
    ],
)
def test_a_proof_can_fail(monkeypatch, family, part, changes):
    given = (printed.equation_6_5, printed.equation_6_6) if family == "retraining" else ()
    assert refuse(monkeypatch, proofs, family, part, given, **changes).box
