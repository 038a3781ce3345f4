"""What holds for the proofs of every part: they go through, quickly, and an identity with another factor does not."""

import time
from importlib import import_module

import pytest
from attention_theory.evidence.prove import NotProved

LEAST = {"sensitivity": 18, "separation": 105, "tangent": 28, "patches": 24}
TIED, LISTS = ("separation",), ("two_level", "identity_rows")
IDENTITIES = {
    "sensitivity": ["small_balls", "one_token", "retraining", "lengths", "infinite_width"],
    "tangent": ["perturbation", "covariance", "kernel", "descent", "coupling", "network", "series"],
    "patches": ["gradients", "softmax", "row_sums"],
}


def proofs_of(part):
    return import_module(f"attention_theory.{part}.proofs")


@pytest.mark.parametrize("part", LEAST)
def test_everything_is_proved_in_seconds(part):
    start = time.process_time()
    module = proofs_of(part)
    paper = import_module(f"attention_theory.{part}.paper")
    found = module.everything(paper) if part in TIED else module.everything()
    if part in TIED:
        # the bounds of lists are tied where a lemma is judged
        assert all(proof.ties and not proof.untied for name, proof in found.items() if not name.startswith(LISTS))
    assert len(found) >= LEAST[part] and all(proof.boxes for proof in found.values())
    assert time.process_time() - start < 15


@pytest.mark.parametrize(("part", "family"), [(part, family) for part in IDENTITIES for family in IDENTITIES[part]])
def test_an_identity_with_another_factor_fails(monkeypatch, part, family):
    proofs = proofs_of(part)
    prove, refused = proofs.same, []

    def both(what, left, right, shown):
        with pytest.raises(NotProved):
            prove(what, left, 1 if right == 0 else right * 2, shown)
        refused.append(what)
        return prove(what, left, right, shown)

    monkeypatch.setattr(proofs, "same", both)
    getattr(proofs, family)()
    assert refused
