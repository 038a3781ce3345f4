"""z3 shares no code with our prover: it proves each inequality of fractions that ours proves, and refutes what ours refutes."""

from fractions import Fraction
from importlib import import_module

import pytest
import z3
from proving import everything
from test_proofs import forget
from theorybook.prove import NotProved, prove_le

#: So many inequalities each part has at least.
INEQUALITIES = {"sensitivity": 3, "separation": 49, "tangent": 14, "patches": 50, "exponential": 15}


def violated(f, ranges, *, strict=False, opened=()):
    """z3's answer to "is left > right (left >= right, if strict) somewhere on the range?"; unsat is a proof."""
    solver, x = z3.Solver(), {name: z3.Real(name) for name in ranges}
    solver.set("timeout", 60_000)
    for name, (low, high) in ranges.items():
        solver.add(x[name] > low if name in opened else x[name] >= low, True if high is None else x[name] <= high)
    left, right = f(**x)
    solver.add(left >= right if strict else left > right)
    return solver.check()


@pytest.mark.parametrize("part", INEQUALITIES)
def test_both_provers_agree(monkeypatch, part):
    """Each inequality is handed over as a proof calls it, and once more with its right side below the left one at a point."""
    proofs, proved = import_module(f"attention_checks.{part}.proofs"), []

    def both(what, f, *, strict=False, opened=(), where=None, **ranges):
        # a float means the decimal number that is written
        ends = {name: [x if x is None else Fraction(str(x)) for x in pair] for name, pair in ranges.items()}
        inside = {name: low + 1 if high is None else (low + high) / 2 for name, (low, high) in ends.items()}

        def sides(less=0, **x):
            found = f(**x)
            left, right = found if isinstance(found, tuple) else (0, found)
            return left, right - less

        def false(**x):
            left, right = sides(**inside)
            return sides(Fraction(101, 100) * (right - left) + Fraction(1, 10**6), **x)

        options = {"strict": strict, "opened": opened}
        assert violated(sides, ends, **options) == z3.unsat, what
        assert violated(false, ends, **options) == z3.sat, what
        with pytest.raises(NotProved):
            prove_le(what, false, **options, **ranges)
        proved.append(what)
        return prove_le(what, f, where=where, **options, **ranges)

    monkeypatch.setattr(proofs, "prove_le", both)
    forget(proofs)
    if part == "exponential":
        # from degree 12 on z3 finds no answer within a minute
        proofs.truncation_order(6), proofs.fixed_degree_fails(2), proofs.linear_reads()
    else:
        everything(proofs, part)
    forget(proofs)
    assert len(proved) >= INEQUALITIES[part]
