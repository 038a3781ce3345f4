"""All proofs of a part, and proofs that must fail: one of their statements tightened, or with wider ranges."""

import contextlib
import inspect
from importlib import import_module

import pytest
from theorybook.prove import NotProved

#: What a family of proofs calls a printed formula that it is given, if not by its name in ``printed``.
PRINTED = {
    "tau": "theorem_6_2",
    "hoeffding": "lemma_3_1",
    "level": "THEOREM_F_5",
    "printed": "equation_d_42",
    "after": "moved",
}


def everything(module, part):
    """Every proof of a ``proofs`` module, under ``family`` or ``family/part``."""
    formulas, found = import_module(f"attention_checks.{part}.printed"), {}
    for name, family in vars(module).items():
        own = inspect.isfunction(inspect.unwrap(family)) and family.__module__ == module.__name__ and not name.startswith("_")
        signature = inspect.signature(family) if own else None
        if not signature or signature.return_annotation not in (module.Proof, dict[str, module.Proof]):
            continue
        printed = [x for x, p in signature.parameters.items() if p.default is p.empty]
        if "on" in printed:  # tied to the layers that a chapter brings
            continue
        given = [formulas if x == "paper" else getattr(formulas, PRINTED.get(x, x)) for x in printed]
        proofs = family(*given)
        found |= {f"{name}/{key}": x for key, x in proofs.items()} if isinstance(proofs, dict) else {name: proofs}
    return found


class Refused(Exception):
    """Ends a family of proofs once one was refused."""


def refuse(monkeypatch, module, family, part, given=(), less=0, violated=True, **wider):
    """The statement of ``part`` fails when ``less`` is taken from its right side, or when ``wider`` replaces its ranges.

    Args:
        module: a ``proofs`` module, whose ``prove_less`` and ``prove_le`` are watched.
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
        for name in ("prove_less", "prove_le"):
            patch.setattr(module, name, changed(getattr(module, name)))
        with contextlib.suppress(Refused):
            call(*given)
    assert refused, f"{family} proves nothing that is {part!r}"
    assert refused[0].violated or not violated, refused[0]
    return refused[0]
