"""Lemmas that are lists of parts: which entries a part speaks of, and what is said when it holds or fails."""

import itertools
import math

import pytest
import torch
from attention_checks.separation import chances, parts, printed
from attention_checks.separation.parts import Part
from theorybook import Proof

#: (model, n, d, query, key), with several rows in a block, with one, and with one block column.
SHAPES = [
    ("cross", 6, 4, 1, 5),
    ("cross", 8, 5, 7, 6),
    ("cross", 3, 2, 0, 1),
    ("self-ones", 6, 5, 4, 4),
    ("self-identity", 8, 6, 0, 0),
    ("self-ones", 3, 5, 2, 2),
    ("self-ones", 2, 3, 1, 1),
]


def labelled(model, n, d, query, key):
    """A layer whose entries all differ, so that the entries that come back tell their places."""
    columns = d - 1 if model == "cross" else d - 2
    u = torch.arange(n * n, dtype=torch.float64).reshape(n, n)
    features = torch.arange(n * d, dtype=torch.float64).reshape(n, d)
    sizes = (1.0, None, None) if model == "cross" else (1.0, 0.2, 0.8)
    return parts.Layer(model, "linear", n, d, n // columns, *sizes, query, key, u, u + 1000, features)


def places(s, part):
    """(row, column) of the entries that a part speaks of, in words of the class's docstring."""
    columns = s.d - 1 if s.model == "cross" else s.d - 2
    rows = {
        "j2": lambda j: j == s.query,
        "j3": lambda j: j == s.key,
        "not j2": lambda j: j != s.query,
        "not j3": lambda j: j != s.key,
        "any": lambda j: True,
    }[part.rows]
    if part.matrix == "c":
        home = 1 + s.key % columns
        keep = {
            "first": lambda j, i: i == 0,
            "blocks": lambda j, i: i in range(1, columns + 1),
            "block of j3": lambda j, i: i == home,
            "other blocks": lambda j, i: i in range(1, columns + 1) and i != home,
            "last": lambda j, i: i == s.d - 1,
        }[part.columns]
    else:
        keep = {
            "j3": lambda j, k: k == s.key,
            "not j3": lambda j, k: k != s.key,
            "own block": lambda j, k: j % columns == k % columns and (j, k) != (s.query, s.key),
            "not own block": lambda j, k: j % columns != k % columns,
            "any": lambda j, k: True,
        }[part.columns]
    width = s.d if part.matrix == "c" else s.n
    return [(j, i) for j in range(s.n) for i in range(width) if rows(j) and keep(j, i)]


ROWS = ("j2", "j3", "not j2", "not j3", "any")
KEYS = ("j3", "not j3", "own block", "not own block", "any")
FEATURES = ("first", "blocks", "block of j3", "other blocks", "last")


@pytest.mark.parametrize("shape", SHAPES)
def test_entries_are_those_that_the_words_name(shape):
    s = labelled(*shape)
    for matrix, rows, columns in [*itertools.product("uf", ROWS, KEYS), *itertools.product("c", ROWS, FEATURES)]:
        part = Part(matrix, rows, columns, "==", 1)
        source = {"u": s.u, "f": s.f, "c": s.features}[matrix]
        assert s.entries(part).tolist() == [float(source[place]) for place in places(s, part)], part
        # with counting: how many of a row's are that large; a value that is equal up to rounding is
        bar = float(source.median())
        for level, least in ((bar, bar), (bar * (1 + 5e-10), bar), (bar * (1 + 2e-9), bar + 1), (0.0, 0.0)):
            counted = part._replace(counting=level)
            there = places(s, part._replace(columns=columns))
            chosen = sorted({j for j, _ in places(s, Part("u", rows, "any", "==", 1))})
            expected = [sum(row == j and float(source[row, i]) >= least for row, i in there) for j in chosen]
            assert s.entries(counted).tolist() == expected, counted


def test_layers_are_all_sizes_with_all_values_of_a():
    found = parts.layers("self-ones", "linear", [(6, 5, 0.3, 0.7), (8, 4, 0.2, 0.8)], (1.0, 1.5))
    assert [(s.n, s.d, s.b, s.c, s.a) for s in found] == [
        *((6, 5, 0.3, 0.7, a) for a in (1.0, 1.5)),
        *((8, 4, 0.2, 0.8, a) for a in (1.0, 1.5)),
    ]
    found = parts.layers("cross", "softmax", [(6, 4, 1, 5), (4, 3, 0, 0)], (2.0,))
    assert [(s.n, s.d, s.query, s.key, s.a, s.b) for s in found] == [(6, 4, 1, 5, 2.0, None), (4, 3, 0, 0, 2.0, None)]
    assert [str(s) for s in found] == ["n = 6, d = 4, a = 2, j2 ≠ j3", "n = 4, d = 3, a = 2, j2 = j3"]
    moved = parts.printed_with(found, 0.5)
    assert [s.a for s in moved] == [0.5, 0.5] and all(torch.equal(s.u, t.u) for s, t in zip(found, moved))
    assert str(moved[0]) == "n = 6, d = 4, a = 2 in the data, 0.5 in the lemma, j2 ≠ j3"


def test_ratios_are_least_and_largest_entry_over_value():
    small, large = labelled("cross", 3, 2, 0, 1), labelled("cross", 6, 4, 1, 5)

    def lemma(s):
        return {
            "quotient": Part("c", "j2", "blocks", "<=", 2.0 * s.n),
            "several": [
                Part("u", "not j2", "not own block", "==", 5.0),  # none where there is one block column
                Part("u", "any", "j3", ">=", 4.0, counting=3.0),
            ],
            "nothing": Part("u", "not j2", "not own block", "==", 5.0),
        }

    # row 0 of [[0, 1], [2, 3], [4, 5]] without its first column; row 1 of 6 rows of 4 without its first
    assert parts.ratios(lemma, "quotient", [small, large]) == [
        (small, [("<=", 1 / 6, 1 / 6)]),
        (large, [("<=", 5 / 12, 7 / 12)]),
    ]
    # columns 1 and 5 of the scores: 1, 4, 7, and 5, 11, ..., 35; the number at least 3 in each row, less 4, plus 1
    far = [6 * j + k for j in range(6) for k in range(6) if j != 1 and j % 3 != k % 3]
    assert parts.ratios(lemma, "several", [small, large]) == [
        (small, [(">=", 0 - 4 + 1, 1 - 4 + 1)]),
        (large, [("==", min(far) / 5, max(far) / 5), (">=", 1 - 4 + 1, 1 - 4 + 1)]),
    ]
    assert [s for s, _ in parts.ratios(lemma, "nothing", [small, large])] == [large]


def rows_of(values, n=4, a=1.0, d=2):
    """A layer of cross-attention whose scores of the special query are these."""
    s = labelled("cross", n, d, 0, 0)
    u = torch.ones(n, n, dtype=torch.float64)
    u[0] = torch.tensor(values, dtype=torch.float64)
    return parts.Layer(s.model, s.weights, n, d, s.t, a, None, None, 0, 0, u, u / 8, s.features)


def one_line(relation, value=1.0):
    return lambda s: {"1": Part("u", "j2", "any", relation, value)}


def test_the_counterexample_is_the_smallest_layer():
    fine, bad = rows_of([1.0, 0.5, 0.5, 0.5]), [1.25, 0.5, 0.5, 0.5]
    sizes = [(4, 1.0, 3), (4, 2.0, 2), (3, 2.0, 3), (3, 3.0, 2), (3, 2.5, 2)]
    layers = [rows_of(bad[:n], n, a, d) if d <= n else fine for n, a, d in sizes]
    check = parts.counterexample("as printed", one_line("<="), "1", layers)
    assert check.method == "counterexample" and not check.holds
    assert check.text == "as printed, n = 3, d = 2, a = 2.5, j2 = j3: entry / printed value: 1.25 fails <= 1"
    assert parts.counterexample("as printed", one_line("<="), "1", [fine]) is None
    # the smallest that breaks it, not the smallest
    check = parts.counterexample("as printed", one_line("<="), "1", [rows_of(bad), rows_of([1.0, 0.5, 0.5], 3)])
    assert "n = 4" in check.text


@pytest.mark.parametrize(
    ("relation", "values", "said"),
    [
        ("<=", [0.5, 1.0234], "1.02 fails <= 1"),
        ("<=", [0.5, 1.0012345], "1.0012 fails <= 1"),
        (">=", [0.98765, 3], "0.988 fails >= 1"),
        (">=", [0.9987612, 3], "0.99876 fails >= 1"),
        ("==", [0.25, 3], "0.25 fails == 1"),  # the farther one, as a factor
        ("==", [0.5, 3], "3 fails == 1"),
        ("==", [1, 1 - 1e-5], "0.99999 fails == 1"),
    ],
)
def test_the_counterexample_names_the_entry_that_fails(relation, values, said):
    check = parts.counterexample("as printed", one_line(relation, 2.0), "1", [rows_of([2 * x for x in values], 2)])
    assert check.text.endswith(f"entry / printed value: {said}")


@pytest.mark.parametrize("relation", ["<=", ">=", "=="])
def test_rounding_is_no_counterexample(relation):
    slips = {"<=": 1 + 5e-10, ">=": 1 - 5e-10, "==": 1 + 5e-10}
    assert parts.counterexample("", one_line(relation), "1", [rows_of([1.0, slips[relation]], 2)]) is None
    factor = 2 - slips[relation] if relation == "<=" else slips[relation]
    assert parts.counterexample("", one_line(relation), "1", [rows_of([1.0, factor], 2)]) is None


@pytest.mark.parametrize(
    ("relation", "first", "second", "floor", "right"),
    [
        ("==", 1, 1 + 1e-12, 0.5, True),
        ("==", 1, 1 + 1e-9, 0.5, False),
        ("==", 1, 0.9, 0.5, False),
        ("<=", 0.1, 0.6, 0.5, True),
        ("<=", 0.6, 0.1, 0.7, False),  # not reached
        ("<=", 0.6, 1.01, 0.5, False),
        ("<=", 0.6, 1 + 5e-10, 0.5, True),
        ("<=", 0, 1e-9, 0, True),
        (">=", 5, 1.5, 0.5, True),
        (">=", 1.5, 5, 0.8, False),  # not reached
        (">=", 1.5, 0.99, 0.5, False),
        (">=", 1.5, 1 - 5e-10, 0.5, True),
        (">=", 1e9, 1e8, 0, True),
    ],
)
def test_a_part_holds_from_both_sides(relation, first, second, floor, right):
    layers = [rows_of([3.0 * first] * 2, 2), rows_of([3.0 * second] * 2, 2)]
    checks = parts.holds("as meant", one_line(relation, 3.0), "1", layers, floor)
    assert [check.holds for check in checks] == [right]
    assert checks[0].text.startswith("as meant: ")


def proof_of(name):
    """A proof with a tie that holds, whatever the layers."""
    return lambda layers, lines: Proof(name, "all sizes", 1, ties=(("left side", 1, True),))


PROOFS = {name: proof_of(name) for name in ("x.1-a", "x.1-a-more", "x.1-ab", "u", "first", "last")}


def proved_by(checks):
    return [name for check in checks for name in PROOFS if check.text.startswith(f"for all sizes: {name} on ")]


def test_a_verdict_takes_the_printed_form_where_it_holds():
    def lemma(s):
        return {"a": Part("f", "j2", "any", "<=", 1.0), "b": [Part("u", "j2", "any", "==", 8.0)]}

    found = parts.verdict_arguments("x.1", lemma, [rows_of([8.0, 8.0], 2)], proofs=PROOFS)
    assert list(found) == ["a", "b"] and all(list(arguments) == ["printed"] for arguments in found.values())
    first, *proofs = found["a"]["printed"]
    assert first.holds and first.text.startswith("as printed: largest entry / bound: 1 ")
    assert proved_by(proofs) == ["x.1-a", "x.1-a-more"]
    assert proved_by(found["b"]["printed"]) == ["u"]  # all parts about scores
    # a floor for all parts, and one for a single part
    loose = [rows_of([4.0, 4.0], 2)]
    for options, right in (
        ({}, True),
        ({"floor": 0.6}, False),
        ({"floor": 0.6, "floors": {"a": 0.4}}, True),
        ({"floors": {"a": 0.6}}, False),
        ({"floors": {"b": 0.6}}, True),
    ):
        assert parts.verdict_arguments("x.1", lemma, loose, **options)["a"]["printed"][0].holds == right, options


def test_a_verdict_shows_the_counterexample_and_the_corrected_form():
    def lemma(s):
        return {"a": Part("u", "j2", "any", "<=", 1.0), "b": Part("c", "not j2", "first", ">=", 1.5)}

    def meant(s):
        return {"a": Part("u", "j2", "any", "<=", float(s.n))}

    found = parts.verdict_arguments("x.1", lemma, [rows_of([2.0, 2.0], 2)], meant=meant, floor=0, proofs=PROOFS)
    assert list(found["a"]) == ["printed", "corrected"]
    assert found["a"]["printed"].text.endswith("2 fails <= 1") and found["a"]["printed"].text.startswith("as printed, n = 2")
    corrected = found["a"]["corrected"]
    assert all(check.holds for check in corrected) and corrected[0].text.startswith("as meant: ")
    assert proved_by(corrected) == ["x.1-a", "x.1-a-more", "u"]
    # a part without a correction that holds: the features' first column
    assert [check.text.split(":")[0] for check in found["b"]["printed"]] == ["as printed", "for all sizes"]
    assert proved_by(found["b"]["printed"]) == ["first"]
    # a correction where the print holds as well, though by far: both are shown
    found = parts.verdict_arguments("x.1", lemma, [rows_of([0.001, 0.001], 2)], meant=meant, floor=0)
    assert [check.text.split(":")[0] for check in found["a"]["printed"]] == ["as printed", "as meant"]
    assert all(check.holds for check in found["a"]["printed"])


def test_a_verdict_keeps_what_a_lemma_says_it_speaks_of_apart():
    lemma = one_line("<=", 2.0)
    inside, outside = [rows_of([2.0, 2.0], 2)], [rows_of([3.0, 3.0], 2)]
    found = parts.verdict_arguments("x.1", lemma, inside, printed_on=outside)["1"]
    assert found["printed"].text.endswith("value: 1.5 fails <= 1")
    assert [check.text.split(":")[0] for check in found["corrected"]] == ["as meant"]
    # a part with another slip besides fails on the data that are meant as well
    wider = lambda s: {"1": Part("u", "j2", "any", "<=", 4.0)}
    found = parts.verdict_arguments("x.1", one_line("<=", 1.0), inside, printed_on=outside, meant=wider)["1"]
    assert [check.text.split(", n = ")[0] for check in found["printed"]] == ["as printed", "as printed, on the data meant"]
    # and where both hold, both are named, the print without a floor
    found = parts.verdict_arguments("x.1", lemma, inside, printed_on=[rows_of([0.01, 0.01], 2)])["1"]
    assert [(check.text.split(":")[0], check.holds) for check in found["printed"]] == [("as printed", True), ("as meant", True)]


def test_rows_other_than_j3_include_j2_where_the_printed_bound_fails():
    """Lemmas F.7 and F.11, last part: not with one block column, and not with j2 = j3."""
    for lemma, weights, part, a in ((printed.lemma_f_7, "softmax", "5", 0.05), (printed.lemma_f_11, "linear", "4", 1.2)):
        fails = lambda *sizes: parts.counterexample("", lemma, part, parts.layers("cross", weights, [sizes], [a]))
        assert fails(4, 3, 0, 1) and fails(2, 3, 0, 1)  # (n, d, j2, j3)
        assert not fails(4, 2, 0, 1) and not fails(4, 3, 0, 0)


def test_the_bound_of_d_3_5_needs_the_literal_4b():
    """With j1 != j3 Part 4b of Lemma D.2 holds where the block column of j3 breaks Part 5 of Lemma D.3."""
    layer = parts.layer("self-ones", "softmax", 2, 4, 0.7, 0.1, 0.9)
    meant = lambda s: {"4b": Part("f", "not j3", "not j3", "<=", 1 / s.n)}
    assert parts.counterexample("", meant, "4b", [layer]) is None
    assert parts.counterexample("", printed.lemma_d_3, "5", [layer])


def test_the_shares_of_lemma_e_3_depend_on_the_matrix():
    """Part 1 at a1 = 0.7: false for the identity, true for all ones, which the lemma before it prints."""
    sizes = [(n, n + 2, 0.7, 0.1, 0.9) for n in (50, 200, 1000)]
    assert all(chances.special_row("self-identity", *x)[1] < 0.1 for x in sizes)
    assert all(chances.special_row("self-ones", *x)[1] == 0.25 for x in sizes)


def test_a_mark_below_one_at_the_badge_a_tenth():
    """Detection with identity scores: one in eight at d = 3 for any mark, none in the end for a smaller badge."""
    share = lambda n, d, a1, b: chances.special_row("self-identity", n, d, a1, b, math.sqrt(1 - b * b))[1]
    assert [share(n, 3, a1, 0.1) for n in (10**3, 10**6) for a1 in (0.5, 0.7)] == [1 / 8] * 4
    assert share(10**300, 22, 0.99, 0.1) < 1 / 8 and share(10**300, 3, 0.7, 0.09) == 0


def test_a_quiet_row_of_cross_attention_is_quieter_than_delta_over_n():
    """Lemmas F.4 to F.16 print Pr = 1 - delta/poly(n): with poly(n) = n it is more, so >= is meant."""
    loud = chances.class_alarms("cross", "softmax", 264, 67, 0.05, tau=0.5)
    assert all(2 * p * 264 < 0.02 for p in loud)  # delta = 1; both signs


def test_where_lemma_e_2_fails_for_all_ones():
    """Parts 4 and 5 as printed: from some n on if a1 > b^2; Part 4 never if not, Part 5 not with many rows a block."""
    fails = lambda part, n, d, a1, b: parts.counterexample(
        "", printed.lemma_e_2, part, [parts.layer("self-ones", "softmax", n, d, a1, b, 1 - b)]
    )
    for part in "45":
        assert fails(part, 40, 42, 1.0, 0.5) and fails(part, 80, 42, 1.0, 0.5)
        assert not fails(part, 2, 4, 0.7, 0.9) and not fails(part, 400, 402, 0.7, 0.9)
    assert not fails("5", 400, 4, 1.0, 0.5) and not fails("5", 40, 3, 1.0, 0.5)
