"""Proofs that must fail: run a family of proofs with one of its statements tightened, or with wider ranges."""

import contextlib
import inspect

import pytest
from attention_theory.evidence.prove import NotProved


class Refused(Exception):
    """Ends a family of proofs once one was refused."""


def refuse(monkeypatch, module, family, part, given=(), less=0, violated=True, **wider):
    """The statement of ``part`` fails when ``less`` is taken from its right side, or when ``wider`` replaces its ranges.

    Args:
        module: a ``proofs`` module, whose ``positive`` and ``nonnegative`` are watched.
        family: the name of its function, called with ``given``; it returns {part: Proof}, or one Proof.
        part: the key whose proof is changed, or for a step of it how its statement begins.
        violated: the refusal names a point where the statement is false (else it may be undecided).

    Returns: the :class:`NotProved`.
    """
    call, refused = getattr(module, family), []
    found, call = call(*given), inspect.unwrap(call)
    wanted = found[part] if isinstance(found, dict) and part in found else found if not part else None

    def meant(proof):
        return (proof.what, proof.range) == (wanted.what, wanted.range) if wanted else proof.what.startswith(part)

    def changed(prove):
        def run(said, f, **options):
            proof = prove(said, f, **options)
            if refused or not meant(proof):
                return proof
            assert set(wider) <= set(options), (wider, options)

            def sides(**x):
                pair = f(**x)
                left, right = pair if isinstance(pair, tuple) else (0, pair)
                return left, right - less

            with pytest.raises(NotProved) as failed:
                prove(said, sides, **options | wider)
            refused.append(failed.value)
            raise Refused

        return run

    with monkeypatch.context() as patch:
        for name in ("positive", "nonnegative"):
            patch.setattr(module, name, changed(getattr(module, name)))
        with contextlib.suppress(Refused):
            call(*given)
    assert refused, f"{family} proves nothing that is {part!r}"
    assert refused[0].violated or not violated, refused[0]
    return refused[0]
