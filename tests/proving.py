"""Proofs that must fail: run a family of proofs with one of its statements tightened, or with wider ranges."""

import pytest
from attention_theory.evidence.prove import NotProved, Proof


def refuse(monkeypatch, module, family, part, less=0, **wider):
    """The statement of ``part`` fails when ``less`` is taken from its f, or when ``wider`` replaces its ranges.

    Args:
        module: a ``proofs`` module, whose ``positive`` and ``nonnegative`` are watched.
        family: the name of its function; it returns {part: Proof}, or one Proof (then ``part`` is empty).
        part: the key whose proof is changed.

    Returns: the :class:`NotProved`.
    """
    found = getattr(module, family)()
    proof = found if isinstance(found, Proof) else found[part]

    def changed(prove):
        def run(what, f, **options):
            shown, ranges = options.get("shown"), {k: v for k, v in options.items() if isinstance(v, tuple)}
            if what == proof.what and shown in (None, proof.range):
                assert set(wider) <= set(ranges), (wider, ranges)
                return prove(what, lambda **x: f(**x) - less, **options | wider)
            return prove(what, f, **options)

        return run

    with monkeypatch.context() as patch:
        for name in ("positive", "nonnegative"):
            patch.setattr(module, name, changed(getattr(module, name)))
        with pytest.raises((NotProved, ZeroDivisionError)) as failed:
            getattr(module, family)()
    return failed.value
