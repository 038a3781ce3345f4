"""What holds for the proofs of every part: they go through, quickly, and an identity with another factor does not."""

import time
from importlib import import_module

import pytest
from proving import everything
from theorybook import stored_verdicts
from theorybook.prove import NotProved

LEAST = {"sensitivity": 18, "separation": 37, "tangent": 28, "patches": 24}

#: Proofs on which no verdict rests by itself.
UNSAID = {"patches": {"gradients/loss"}}


def proofs_of(part):
    return import_module(f"attention_checks.{part}.proofs")


def forget(proofs):
    """Empty the caches of its functions."""
    for function in vars(proofs).values():
        while function is not None:
            getattr(function, "cache_clear", lambda: None)()
            function = getattr(function, "__wrapped__", None)


@pytest.mark.parametrize("part", LEAST)
def test_everything_is_proved_in_seconds(part):
    """Seconds, not minutes: 3 to 7 s of processor time where nothing else runs; 60 s leave room for a slow machine."""
    start = time.process_time()
    found = everything(proofs_of(part), part)
    assert all(proof.ties and not proof.untied for proof in found.values())
    assert len(found) >= LEAST[part] and all(proof.boxes for proof in found.values())
    assert time.process_time() - start < 60


@pytest.mark.parametrize("part", LEAST)
def test_what_is_proved_is_what_verdicts_say(part, book):
    """With its range and constants: a proof for less, or from other hypotheses, is another statement."""
    stored = "\n".join(
        check["text"] for path in book.rglob("*.ipynb") for verdict in stored_verdicts(path) for check in verdict["checks"]
    )
    found = everything(proofs_of(part), part).items()
    unsaid = {name for name, proof in found if f"{proof.what} on {proof.range}: " not in stored}
    assert unsaid == UNSAID.get(part, set())


@pytest.mark.parametrize("part", LEAST)
def test_an_identity_with_another_factor_fails(monkeypatch, part):
    proofs = proofs_of(part)
    prove, refused = proofs.prove_identity, []

    def both(what, left, right, *shown, **options):
        with pytest.raises(NotProved):
            prove(what, left, right * 2, *shown, **options)
        refused.append(what)
        return prove(what, left, right, *shown, **options)

    monkeypatch.setattr(proofs, "prove_identity", both)
    forget(proofs)
    everything(proofs_of(part), part)
    assert len(refused) >= 3
