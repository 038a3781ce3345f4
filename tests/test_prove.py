"""Proofs over boxes: true bounds go through, bounds past the true constant fail with the offending box."""

import inspect
import math
import pickle
import typing
from fractions import Fraction
from importlib import import_module
from typing import Any

import flint
import numpy as np
import pytest
import sympy
from attention_checks.tangent import proofs as tangent_proofs
from theorybook import Proof, compare, prove, proved
from theorybook.prove import (
    NotProved,
    conjunction,
    entropy,
    exprel,
    exprel2,
    power,
    prove_by_cases,
    prove_identity,
    prove_le,
    prove_less,
)


def test_a_true_bound_goes_through_and_says_its_range():
    proof = prove_less("x log x > -0.368", lambda x: x * x.log() + flint.arb("0.368"), x=(0.01, 5))
    assert proof.what == "x log x > -0.368" and proof.range == "x in [0.01, 5]" and proof.boxes > 1
    assert str(proof) == f"x log x > -0.368 on x in [0.01, 5]: {proof.boxes} boxes"


def test_two_parameters_and_large_ends():
    proof = prove_less("n^a >= 1", lambda n, a: n**a - flint.arb("0.99"), n=(2, 10**6), a=(0, 3))
    assert proof.range == "n in [2, 10^6], a in [0, 3]"
    assert prove_less("", lambda x: x, x=(1, 1)).boxes == 1  # one point
    assert prove_less("", lambda x: x, x=(1, 1)).range == "x = 1"  # a point is called one
    assert prove_less("", lambda x: x, where={"x": "n**2*log(d)"}, x=(1, 2)).range == "n^2 log(d) in [1, 2]"


def test_past_the_true_constant_a_point_is_named():
    # the minimum of x log x is -1/e = -0.367879..., at x = 0.367879...
    with pytest.raises(NotProved, match=r"violated at x = 0\.36") as failed:
        prove_less("x log x > -0.3678", lambda x: x * x.log() + flint.arb("0.3678"), x=(0.01, 5))
    assert failed.value.violated and abs(float(failed.value.box["x"]) - 0.3679) < 0.02


def test_an_equality_stays_undecided_and_names_the_box():
    with pytest.raises(NotProved, match="undecided on x = ") as failed:
        prove_less("(x - 1/3)^2 > 0", lambda x: (x - flint.arb(1) / 3) ** 2, x=(0, 1))
    assert not failed.value.violated


def test_an_undefined_function_is_not_positive():
    with pytest.raises(NotProved):
        prove_less("1/x > 0", lambda x: 1 / x, x=(0, 1))
    with pytest.raises(NotProved):
        prove_less("log", lambda x: x.log() + 100, x=(-1, 1))


def looked_up(x):
    return {Fraction(1, 2): 3}.get(x, 0)


OVERLAP, PLAIN, WHOLE = "balls that overlap are compared", "it becomes a plain number", "it is rounded to a whole number"


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: (3 if 0.4 < x < 0.45 else 0, 1), OVERLAP),  # 3 < 1 in the middle
        (lambda x: (3 if x == 0.5 else 0, 1), OVERLAP),
        (lambda x: (0 if x != 0.5 else 3, 1), OVERLAP),
        (lambda x: (0 if x - 0.5 else 3, 1), OVERLAP),
        (lambda x: (3 if not x else 0, 1), OVERLAP),
        (lambda x: (3 if x in (0.25, 0.5) else 0, 1), OVERLAP),
        (lambda x: (max(x, 0.5), x + 0.9), OVERLAP),
        (lambda x: (sorted([0.3, x])[0], 0.2), OVERLAP),
        (lambda x: (3 if prove.monotone(lambda end: end.exp(), x) > 1.6 else 0, 1), OVERLAP),
        (lambda x: (3 if exprel(x) > 1.3 else 0, 1), OVERLAP),
        (lambda x: (3 if power(x, 2) > 0.3 else 0, 1), OVERLAP),
        (lambda x: (3 if 2**x > 1.3 else 0, 1), OVERLAP),
        (lambda x: (3 if (1 - Fraction(1, 3) * x).exp() > 2 else 0, 1), OVERLAP),
        (lambda x: (3 if x.max(0.25) > 0.5 else 0, 1), OVERLAP),
        (lambda x: (np.maximum(x, 0.5), x + 0.9), OVERLAP),
        (lambda x: (math.exp(x), 2.7), PLAIN),  # false at x = 1
        (lambda x: (float(2 * x.exp()), 6), PLAIN),
        (lambda x: (int(x), 0.9), PLAIN),
        (lambda x: (len(range(x)), 0.9), PLAIN),
        (lambda x: (np.float64(x), 0.9), PLAIN),
        (lambda x: (round(x), 0.9), WHOLE),
        (lambda x: (math.floor(x), 0.9), WHOLE),
        (lambda x: (math.ceil(x), 0.9), WHOLE),
        (lambda x: (math.trunc(x), 0.9), WHOLE),
        (lambda x: (x // 1, 0.9), WHOLE),
        (lambda x: (x % 1, 0.9), WHOLE),
        (lambda x: (looked_up(x), 1), "it is looked up"),
        (lambda x: (x.mid(), 0.9), "answers for a ball as a whole"),
        (lambda x: (x.upper() - x, 0.9), "answers for a ball as a whole"),
        (lambda x: (0 if x.is_exact() else 3, 1), "answers for a ball as a whole"),
        (lambda x: (3 if flint.arb(x) > 0.5 else 0, 1), "cannot be computed with balls"),
        (lambda x: (3 if flint.arb(1).union(x) > 0.5 else 0, 1), "cannot be computed with balls"),
        (lambda x: (x.expp(), 1), "cannot be computed with balls .*expp"),
        (lambda x: (x, "3"), "f gives '3'; it must give the numbers left and right"),
        (lambda x: x < 2, "f gives True; it must give the numbers left and right"),
        (lambda x: None, "f gives None; it must give"),
        (lambda x: (x, 2, 3), "f gives 3 sides, left and right are two"),
    ],
)
def test_what_loses_a_ball_is_refused(f, message):
    """A comparison would decide for a whole box, and a float stands for its middle only: both would prove what is false."""
    with pytest.raises(ValueError, match=message):
        prove_less("", f, x=(0, 1))


def test_a_branch_in_the_middle_of_a_range_is_found_on_whatever_box_it_lies():
    """The square of 1/1000 needs a thousand boxes; only the smallest of them reach the branch."""

    def hidden(x):
        square = (x - flint.arb("0.7071")) ** 2 + flint.arb("1e-6")
        return (3 if square < 2e-6 and x.exp() > 2.028 else 0), square

    with pytest.raises(ValueError, match=OVERLAP):
        prove_less("", hidden, x=(0, 1))
    with pytest.raises(ValueError, match=OVERLAP):  # the last box of many
        prove_less("", lambda x: (0, x - flint.arb("0.999") if x < 0.9999 else (x - 1) ** 2 + 1e-9), x=(0.9991, 1))
    decided = lambda x: (x.max(0.5) if x < 2 else 9, 2)
    assert prove_less("", decided, x=(0, 1)).boxes == 1  # on the whole box


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (0, 1 / x),
        lambda x: (0, x ** flint.arb(-0.5)),
        lambda x: (0, x.lgamma()),
        lambda x: (0, x.gamma()),
        lambda x: (x.log(), 1),
        lambda x: (x, math.inf),
        lambda x: (x, flint.arb("inf")),
        lambda x: (-1 / x, 0),
        lambda x: (0, x / x),
        lambda x: (0, math.nan),
    ],
)
@pytest.mark.parametrize("ends", [(0, 1), (0, 0)])
def test_where_a_side_has_no_finite_value_nothing_is_proved(f, ends):
    with pytest.raises(NotProved) as failed:
        prove_less("", f, x=ends)
    assert "has no finite value" in str(failed.value) or "violated" in str(failed.value)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: (2 if x == Fraction(1, 2) else 0, 1), "it is compared"),
        (lambda x: (0 if x else 2, 1), "it is compared"),
        (lambda x: (max(x, 0), 2), "it is compared"),
        (lambda x: (abs(x), 2), "it is compared"),
        (lambda x: (float(x), 2), "it becomes a plain number"),
        (lambda x: (math.floor(x), 2), "it is rounded"),
        (lambda x: (looked_up(x), 1), "it is looked up"),
        (lambda x: (x**0.5, 2), "whole powers only"),
        (lambda x: (x**x, 2), "whole powers only"),
        (lambda x: (x.exp(), 3), "cannot be computed with fractions of polynomials"),
        (lambda x: (x, math.inf), "is not finite"),
        (lambda x: (x * math.nan, 1), "which is not a fraction"),
        (lambda x: x < 2, "it is compared"),
        (lambda x: [x, 2], "it must give the numbers left and right"),
    ],
)
def test_fractions_of_polynomials_are_neither_compared_nor_rounded(f, message):
    with pytest.raises(ValueError, match=message):
        prove_le("", f, x=(0, 1))


def test_a_float_is_the_decimal_that_is_written():
    tenth = lambda x: (x / 10, 0.1 * x)
    assert prove_le("", tenth, x=(0, None)).boxes == 1
    with pytest.raises(NotProved):  # equal, though the binary 0.1 is larger
        prove_less("", tenth, x=(1, 2))
    assert prove_identity("", 0.1, sympy.Rational(1, 10)).boxes == 1


def test_the_number_of_boxes_is_bounded(monkeypatch):
    monkeypatch.setattr(prove, "MOST_BOXES", 5)
    with pytest.raises(NotProved, match=r"after \d boxes"):
        prove_less("", lambda x: (x - flint.arb("0.3")) ** 2 + flint.arb("1e-9"), x=(0, 1))


@pytest.mark.parametrize("prove", [prove_less, prove_le])
def test_ranges_are_checked(prove):
    with pytest.raises(ValueError, match="empty"):
        prove("", lambda x: x, x=(2, 1))
    with pytest.raises(ValueError, match="at least one"):
        prove("", lambda: 1)


def test_ball_arithmetic_needs_an_upper_end():
    with pytest.raises(ValueError, match="no upper end"):
        prove_less("", lambda x: x, x=(1, None))


def test_coefficients_prove_on_all_sizes():
    proof = prove_le("(n - 1)/n^2 <= 1/4", lambda n: 1 - 4 * (n - 1) / n**2, n=(2, None))
    assert proof.range == "n >= 2" and proof.by == "coefficients"
    for low, shown in (("1e-400", "1e-400"), (Fraction(1, 3000), "0.000333334")):  # no rounding outward
        assert prove_le("", lambda x: x, x=(low, 1)).range == f"x in [{shown}, 1]"
    assert prove_le("", lambda x: x, x=(0, None)).crosschecked([{"x": math.inf}], right=[math.inf]).untied
    weight = prove_le("weight", lambda n, z: z / n - z / (z + n - 1), n=(2, None), z=(1, None))
    assert weight.range == "n >= 2, z >= 1"


@pytest.mark.parametrize(
    "f, ranges, at",
    [
        (lambda n: Fraction(24, 25) - 4 * (n - 1) / n**2, {"n": (2, None)}, "n = 2"),  # past the constant
        (lambda n, z: z / n - z / (z + n - 1), {"n": (2, None), "z": (0.5, None)}, "z = 0.5"),  # without z >= 1
        (lambda x: 1 - x, {"x": (0, None)}, "x = "),  # wrong far out
        (lambda x: x * (1 - x) - Fraction(1, 4) - Fraction(1, 10**6), {"x": (0, 1)}, "x = "),
    ],
)
def test_coefficients_fail_with_the_point(f, ranges, at):
    with pytest.raises(NotProved, match=f"violated at .*{at}") as failed:
        prove_le("", f, **ranges)
    assert failed.value.violated


def test_coefficients_on_a_box_with_halving_and_strictly():
    assert prove_le("", lambda x: x**2 - x + Fraction(26, 100), strict=True, x=(0, 1)).boxes > 3
    assert prove_le("", lambda x: x * (1 - x), x=(0, 1)).boxes == 1
    for f in (lambda x: x * (1 - x), lambda x: 1 - x, lambda x: x):
        with pytest.raises(NotProved):
            prove_le("", f, strict=True, x=(0, 1))
    with pytest.raises(NotProved, match="undecided"):  # touches 0 at a point that no halving meets
        prove_le("", lambda x: (x - Fraction(1, 3)) ** 2 - Fraction(1, 10**12), x=(0, 1))


@pytest.mark.parametrize(
    "f, ranges",
    [
        (lambda x: 1 / (x - 1) ** 3, {"x": (0, 2)}),
        (lambda x: 1 / (x - 1) ** 2, {"x": (0, 2)}),
        (lambda x: 1 / x, {"x": (0, None)}),
        (lambda x: x**-1, {"x": (0, None)}),
        (lambda x: (x**2 - 1) / (x - 1), {"x": (0, 2)}),  # a factor that cancels
        (lambda x: x / x, {"x": (0, 2)}),
    ],
)
@pytest.mark.parametrize("strict", [True, False])
def test_a_pole_inside_is_not_proved(f, ranges, strict):
    with pytest.raises(NotProved, match=r"x = [01]( \(divided by 0\))?$") as failed:
        prove_le("", f, strict=strict, **ranges)
    assert failed.value.violated


def test_an_end_that_does_not_belong_to_the_range_is_not_shown():
    quotient = lambda a, e: ((a + e) ** 2 - a**2) / e
    assert prove_le("", quotient, strict=True, opened=("e",), a=(0, None), e=(0, None)).range == "a >= 0, e > 0"
    with pytest.raises(NotProved, match=r"violated at a = -0.5, e = 0\.001"):
        prove_le("", quotient, opened=("e",), a=(-0.5, None), e=(0, None))


def test_a_factor_that_cancels_is_left_out_of_the_range():
    z, x = sympy.Symbol("z"), sympy.Symbol("x", positive=True)
    with pytest.raises(NotProved, match=r"divisor = z - 1 \(may be 0\)"):
        prove_identity("", (z**2 - 1) / (z - 1), z + 1)
    assert prove_identity("", (z**2 - 1) / (z - 1), z + 1, nonzero=[z - 1]).range == "all z, z - 1 != 0"
    assert prove_identity("", (x**2 - 1) / (x + 1), x - 1).range == "all x > 0"


z, POSITIVE = sympy.Symbol("z"), sympy.Symbol("x", positive=True)


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        (sympy.gamma(z + 1), z * sympy.gamma(z), "gamma = gamma.* poles at arguments <= 0"),
        (sympy.log(z**2) - sympy.log(z**2) + sympy.log(z), sympy.log(z), r"divisor = z \(may be 0\)"),
        (sympy.tan(z), sympy.sin(z) / sympy.cos(z), r"divisor = cos\(z\) \(may be 0\)"),
        (sympy.cot(z) * sympy.sin(z), sympy.cos(z), r"divisor = sin\(z\) \(may be 0\)"),
        (z ** sympy.Symbol("a", real=True), z ** sympy.Symbol("a", real=True), "may be 0"),
        ((z**2 - 1) / (z - 1), z + 1, r"divisor = z - 1 \(may be 0\)"),
        (1 / (sympy.sin(1) ** 2 + sympy.cos(1) ** 2 - 1), 1 / (sympy.sin(1) ** 2 + sympy.cos(1) ** 2 - 1), "may be 0"),
        (sympy.zoo, sympy.zoo, "has no finite value"),
        (sympy.nan, sympy.nan, "has no finite value"),
        (sympy.oo + z, sympy.oo, "has no finite value"),
        (sympy.sqrt(z**2), z, "violated at z = -3/7"),
        (sympy.Abs(z), z, "violated at z = -3/7"),
        (z, z + sympy.Rational(1, 10**12), "violated at z = 3/7"),
        (sympy.exp(60 * z) * sympy.exp(60 * z), sympy.exp(120 * z) * (1 + sympy.Rational(1, 10**10)), "violated"),
    ],
)
def test_an_identity_that_fails_or_has_a_pole_somewhere_is_not_proved(left, right, message):
    with pytest.raises(NotProved, match=message):
        prove_identity("", left, right)


def test_an_identity_says_for_which_numbers_it_is_proved():
    n = sympy.Symbol("n", integer=True, positive=True)
    below, least = sympy.Symbol("y", negative=True), sympy.Symbol("w", nonnegative=True)
    for proof, covered in (
        (prove_identity("", sympy.sqrt(below**2), -below), "all y < 0"),
        (prove_identity("", sympy.sqrt(least**2), least), "all w >= 0"),
        (prove_identity("", sympy.cos(2 * sympy.pi * n) + n, 1 + n), "all n > 0, n integer"),
        (prove_identity("", below + POSITIVE + z, z + below + POSITIVE), "all x, y, z, x > 0, y < 0"),
        (prove_identity("", sympy.gamma(POSITIVE + 1), POSITIVE * sympy.gamma(POSITIVE)), "all x > 0"),
        (prove_identity("", sympy.tan(z) * sympy.cos(z), sympy.sin(z), nonzero=[sympy.cos(z)]), "all z, cos(z) != 0"),
        (prove_identity("", sympy.exp(100 * z) ** 2, sympy.exp(200 * z)), "all z"),
    ):
        assert proof.range == covered
    with pytest.raises(NotProved, match="outside of what was proved, y <= 0"):
        prove_identity("", sympy.sqrt(below**2), -below).at({"y": 1.0})


@pytest.mark.parametrize(
    ("side", "message"),
    [
        (sympy.Integral(z, (z, 0, 1)), r"\(Integral\): evaluate it first"),
        (sympy.Sum(z, (z, 0, 3)), r"\(Sum\): evaluate it first"),
        (sympy.Derivative(sympy.sin(z), z), r"\(Derivative\): evaluate it first"),
        (sympy.Piecewise((z, z > 0), (0, True)), "an identity for each piece"),
        (sympy.floor(z), r"\(floor\): the prover does not know where that has a value"),
        (sympy.Function("f")(z), "the prover does not know where that has a value"),
        (0.1 * z, "it is rounded; write a fraction"),
        (sympy.Symbol("A", commutative=False), "not a commuting number"),
        (sympy.MatrixSymbol("A", 2, 2), "write the matrix with its entries"),
        (sympy.Max(z, 0), r"\(Max\): the prover does not know"),
        (True, "left is True; it must be an expression"),
        (math.nan, "left = nan is not allowed: finite"),
        (flint.arb(1), "it is rounded; write a fraction"),
    ],
)
def test_a_side_that_the_prover_cannot_read_is_named(side, message):
    with pytest.raises(ValueError, match=message):
        prove_identity("", side, side)


def test_a_case_where_a_side_is_not_defined_is_not_proved():
    with pytest.raises(NotProved, match=r"undecided on case = \(0,\) \(division by zero\)"):
        prove_by_cases("1/n > 0", lambda n: 1 / n > 0, range(3))


@pytest.mark.parametrize("answer", [float("nan"), 1, "yes", None, flint.arb(1)])
def test_an_answer_is_true_or_false(answer):
    with pytest.raises(ValueError, match="is not an answer; True or False is"):
        prove_by_cases("", lambda n: answer, range(3))
    assert prove_by_cases("", lambda n: np.bool_(True), range(3), name="n").range == "n = 0, ..., 2"


def test_a_proof_is_tied_to_what_it_is_about():
    proof = prove_le("w <= 1/n", lambda n, z: (1 / (n + z), 1 / n), where={"n": "d**2", "z": "b"}, n=(1, None), z=(0, None))
    at = [{"d": d, "b": b} for d in (1, 3) for b in (0, 2.5)]
    w, bar = [1 / (x["d"] ** 2 + x["b"]) for x in at], [x["d"] ** -2 for x in at]
    assert not proof.ties and not proof.crosschecked(at, w, bar).untied
    assert proof.crosschecked(at, w, bar).ties == (("left side", 4, True), ("right side", 4, True))
    for left, right, which in (([2 * x for x in w], bar, "left"), (w, [-x for x in bar], "right"), (w[::-1], bar, "left")):
        wrong = proof.crosschecked(at, left, right)
        assert wrong.untied == [f"{which} side"] and not proved("", wrong).holds
        assert f"{which} side: NOT that of the layer" in str(wrong)
    with pytest.raises(NotProved, match="outside of what was proved, d\\^2 >= 1"):
        proof.crosschecked([{"d": 0.5, "b": 0}], [1.0])
    for what in ({"left": w[:2]}, {}):
        with pytest.raises(ValueError):
            proof.crosschecked(at, **what)
    one = prove_less("", lambda x: (x, x + 1), x=(0, 1)).crosschecked([{"x": 0}, {"x": 1}], [0, 1])
    assert not conjunction("", one, proof).ties and len(conjunction("", one, one).ties) == 2
    x = sympy.Symbol("x")
    matrix = prove_identity("", sympy.Matrix([x, 2 * x]), sympy.Matrix([x, x + x])).crosschecked([{"x": 3.0}], [[3.0, 6.0]])
    assert not matrix.untied and prove_by_cases("", bool, [True]).crosschecked_values("counts", [1], [2]).untied == ["counts"]


def test_an_end_is_tied_by_a_point_or_by_a_reason():
    logs = prove_less("", lambda h: h, where={"h": "log(a)"}, h=(0.693, 0.6932))
    assert not logs.crosschecked([{"a": 2}], right=[math.log(2)], rounded=("h",)).untied
    for ends in ((0.69, 0.6932), (0.693, 0.7), (0.693, 1)):  # a wider range is another constant
        wider = prove_less("", lambda h: h, where={"h": "log(a)"}, h=ends)
        with pytest.raises(ValueError, match="no point lies at"):
            wider.crosschecked([{"a": 2}], right=[math.log(2)], rounded=("h",))
    with pytest.raises(NotProved, match="outside of what was proved"):
        prove_less("", lambda h: h, where={"h": "log(a)"}, h=(0.6932, 0.7)).crosschecked([{"a": 2}], right=[math.log(2)])
    line, at = prove_less("", lambda v: v + 1, v=(0, 1)), [{"v": 1.0}]
    assert not line.crosschecked(at, right=[2], inside={"v = 0": "n = oo"}).untied
    for needless in ("v = 1", "w = 0"):
        with pytest.raises(ValueError, match=f"inside names {needless}, which is not an end without a point"):
            line.crosschecked(at, right=[2], inside={"v = 0": "n = oo", needless: "why"})


@pytest.mark.parametrize(
    ("proof", "ends"),
    [
        (prove_le("", lambda x: x * (1 - x), x=(0, 1)), "x = 0, x = 1"),
        (prove_less("", lambda y: y + 3, where={"y": "2 * x"}, y=(-2, 0.5)), "y = -2, y = 0.5"),
        (prove_le("", lambda x: x, opened=("x",), x=(0, 1)), "x = 1"),
    ],
)
def test_a_tie_reaches_both_ends_of_every_range(proof, ends):
    """Else nothing notices that the proof covers another range than the layer has."""
    right = [proof.at({"x": x})[1] for x in (0.1, 0.2)]
    with pytest.raises(ValueError, match=f"no point lies at {ends}; add it"):
        proof.crosschecked([{"x": 0.1}, {"x": 0.2}], right=right)
    assert not proof.crosschecked([{"x": 0.1}, {"x": 0.2}], right=right, inside=dict.fromkeys(ends.split(", "), "why")).untied


def test_a_refusal_comes_back_from_a_worker_with_its_point_and_notes():
    refusal = NotProved("x < 1", {"x": 1}, violated=True, why="by a corner")
    refusal.add_note("at the point 3")
    found = pickle.loads(pickle.dumps(refusal))
    assert (str(found), found.box, found.violated, found.__notes__) == (str(refusal), {"x": 1}, True, ["at the point 3"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: prove.letters(u="x"), "u = 'x' is not a list of numbers"),
        (lambda: prove.letters(u=3), "u = 3 is not a list of numbers"),
        (lambda: prove.letters(u=np.eye(2)), "is not a list of numbers"),
        (lambda: prove_identity("square", sympy.Symbol("x"), None), "square: right is None"),
        (lambda: prove_identity("a", sympy.Symbol("a"), sympy.Symbol("a", positive=True)), "two symbols have one name"),
        (lambda: prove_le("f", lambda x: x, x=(0, None)).at({"y": 1}), "a point gives y, but the range is x >= 0"),
        # (-2)^2 is not 0, and -x log x has no value below 0
        (lambda: prove_less("", lambda x: (power(x, 2), 1), x=(-2, -1)), r"does not lie in \[0, 1\]"),
        (lambda: prove_less("", lambda p: (power(0.5, p), 3), p=(-2, -1)), "is not positive"),
        (lambda: prove_less("", lambda x: (entropy(x), 1), x=(-1, 0)), r"does not lie in \[0, 1/e\]"),
        *(
            (
                lambda found=found, expected=expected: prove_identity("one", 1, 1).crosschecked_values("f", found, expected),
                "one: f: ",
            )
            for found, expected in (
                ([1.0], "unknown"),
                ([1.0], "x"),
                ([1.0], ""),
                ([], ""),
                ([1.0], 3),
                ([1.0], None),
                ([1.0], ["x"]),
            )
        ),
    ],
)
def test_an_odd_call_is_refused_with_what_is_asked_for(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_family_of_proofs_says_what_it_takes():
    """No argument of a public function of a ``proofs`` module may be anything."""
    for part in ("sensitivity", "separation", "tangent", "patches", "exponential"):
        module = import_module(f"attention_checks.{part}.proofs")
        for name, family in vars(module).items():
            if inspect.isfunction(family) and family.__module__ == module.__name__ and not name.startswith("_"):
                hints = typing.get_type_hints(inspect.unwrap(family), include_extras=True) | {"return": None}
                assert Any not in hints.values(), (part, name)
    for wrong in (lambda: tangent_proofs.network({}), lambda: tangent_proofs.kernel(3, 3), lambda: tangent_proofs.series(3)):
        with pytest.raises(ValueError, match="is not allowed: (Callable|module)"):
            wrong()


def test_identities_and_cases():
    x, y = sympy.symbols("x y", positive=True)
    assert prove_identity("square", (x + y) ** 2, x**2 + 2 * x * y + y**2, nonzero=()).boxes == 1
    with pytest.raises(NotProved, match="violated at x = "):
        prove_identity("square", (x + y) ** 2, x**2 + y**2)
    assert str(prove_by_cases("n^2 >= n", lambda n: n * n >= n, range(5), name="n")) == "n^2 >= n on n = 0, ..., 4: 5 cases"
    with pytest.raises(NotProved, match="case = "):
        prove_by_cases("n^2 > n", lambda n: n * n > n, range(5))
    with pytest.raises(ValueError, match="no case"):
        prove_by_cases("", bool, [])


def test_series_helpers_enclose():
    for f, values in ((exprel, (1.0, 1.718281828459045)), (exprel2, (0.5, 0.718281828459045))):
        image = f(flint.arb(0).union(flint.arb(1)))
        assert all(image.contains(flint.arb(value, 1e-12)) for value in values) and image.rad() < 0.5


def test_logarithms_and_powers_enclose_at_zero():
    ball = flint.arb(0).union(flint.arb("0.2"))
    for x in (1e-9, 0.05, 0.2):
        assert entropy(ball).contains(flint.arb(-x) * flint.arb(x).log())
        assert power(ball, flint.arb(1).union(flint.arb(2))).contains(flint.arb(x) ** flint.arb("1.5"))
    assert entropy(ball).upper() < 0.33 and power(ball, flint.arb(1)).upper() < 0.21
    with pytest.raises(ValueError, match="1/e"):
        entropy(flint.arb("0.4"))


def test_a_check_wants_a_proof():
    loose = Proof("f > 0", "x in [0, 1]", 1)
    proof = loose.crosschecked_values("f", [1.0], [1.0])
    check = proved("positive", proof)
    assert check.method == "proof" and check.holds
    assert check.text == "positive: f > 0 on x in [0, 1]: 1 box, tied by 1 comparison"
    with pytest.raises(ValueError, match=r"\['f > 0'\] is not compared with the layer"):
        proved("positive", proof, loose)
    assert proved("two", proof, proof).text.count(";") == 1
    assert conjunction("both", proof, proof).boxes == 2
    for wrong, message in (
        ((), r"positive: needs proofs of theorybook.prove, got \(\)"),
        (("text",), "proofs = 'text' is not allowed: Proof"),
        ((compare("", 1, "==", 1),), r"proofs = Check\(.*\) is not allowed: Proof"),
    ):
        with pytest.raises(ValueError, match=message):
            proved("positive", *wrong)
    with pytest.raises(ValueError):
        conjunction("")
