"""Proofs on cao2024 go through, and each fails past its constant, without a hypothesis, or with the misprint put back."""

import time

import pytest
from attention_theory.evidence.prove import NotProved
from attention_theory.tangent import proofs
from proving import refuse


def test_everything_is_proved_in_a_few_seconds():
    start = time.perf_counter()
    found = proofs.everything()
    assert len(found) >= 28 and all(proof.boxes for proof in found.values())
    assert time.perf_counter() - start < 10


@pytest.mark.parametrize(
    "family, part, changes",
    [
        ("series", "a.5", {"less": 1}),
        ("series", "a.6", {"x": (-0.1, 1.3)}),
        ("series", "a.7", {"p": (-0.1, 1)}),
        ("series", "a.8", {"x": (-0.05, 0.05)}),
        ("perturbation", "6", {"z": (-0.02, 1.3)}),
        ("perturbation", "7", {"less": 0.4}),
        ("perturbation", "12", {"x": (0.68, 1000)}),
        ("kernel", "speed", {"p": (0, 1.2)}),
        ("kernel", "linear", {"less": 0.3}),
        ("kernel", "B", {"B": (0.34, 1000)}),
        ("descent", "d.1", {"B": (0.7, 1000)}),
        ("descent", "d.2", {"B": (0.2, 1000)}),
        ("descent", "e.2-width-below", {"B": (0.4, 1000)}),
        ("descent", "e.6", {"B": (-0.3, 1000)}),
        ("descent", "e.7", {"B": (-0.1, 1000)}),
    ],
)
def test_a_proof_can_fail(monkeypatch, family, part, changes):
    assert refuse(monkeypatch, proofs, family, part, **changes).box


@pytest.mark.parametrize("family", ["perturbation", "covariance", "kernel", "descent", "coupling", "network", "series"])
def test_an_identity_with_another_factor_fails(monkeypatch, family):
    prove = proofs.same
    for left_out in range(6):
        seen = []

        def changed(what, left, right, shown, number=left_out, seen=seen):
            seen.append(what)
            wrong = 1 if right == 0 else right * 2
            return prove(what, left, wrong if len(seen) == number + 1 else right, shown)

        with monkeypatch.context() as patch:
            patch.setattr(proofs, "same", changed)
            try:
                getattr(proofs, family)()
            except NotProved:
                continue
            assert len(seen) <= left_out, seen[left_out]
