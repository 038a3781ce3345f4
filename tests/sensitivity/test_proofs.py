"""Proofs on bombari2024 go through, and each fails past its constant or without a hypothesis."""

import math
import time

import pytest
from attention_theory.evidence.prove import NotProved
from attention_theory.sensitivity import proofs
from proving import refuse


def test_everything_is_proved_in_a_few_seconds():
    start = time.perf_counter()
    found = proofs.everything()
    assert len(found) >= 18 and all(proof.boxes for proof in found.values())
    assert time.perf_counter() - start < 15


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
    assert refuse(monkeypatch, proofs, family, part, **changes).box


@pytest.mark.parametrize("family", ["small_balls", "one_token", "retraining", "lengths", "infinite_width"])
def test_an_identity_with_another_factor_fails(monkeypatch, family):
    prove = proofs.same
    for left_out in range(6):
        seen = []

        def changed(what, left, right, shown, number=left_out, seen=seen):
            seen.append(what)
            return prove(what, left, 2 * right if len(seen) == number + 1 else right, shown)

        with monkeypatch.context() as patch:
            patch.setattr(proofs, "same", changed)
            try:
                getattr(proofs, family)()
            except NotProved:
                continue
            assert len(seen) <= left_out, seen[left_out]
