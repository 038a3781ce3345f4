"""Every kind of check can fail, the outcome follows from the checks, and the ledger has the last word."""

from decimal import Decimal
from fractions import Fraction

import nbformat
import numpy as np
import pytest
import theorybook
import torch
import yaml
from nbclient import NotebookClient
from scipy import stats
from theorybook import Check, VerdictError, compare, exponent, identity, interval, judge, verdict

PREDICTED = theorybook.Prediction("p", "x/own-y", "x", "by y", 1.0, 2.0, "nothing", "2026-11-25")
GOOD, BAD = Check("exact", True, "good"), Check("exact", False, "bad")
REFUTING, STANDING = Check("counterexample", False, "refutes"), Check("counterexample", True, "refutes nothing")


@pytest.mark.parametrize(
    ("check", "holds", "words"),
    [
        (compare("x", 2, "==", 2), True, "2 == 2"),
        (compare("x", 2, "==", 3), False, "2 fails == 3"),
        (compare("x", 2, "<=", 2), True, ""),
        (compare("x", 2, "<=", 1), False, "fails <="),
        (compare("x", 2, ">=", 2), True, ""),
        (compare("x", 2, ">=", 3), False, "fails >="),
        (compare("x", 2, "<", 3), True, ""),
        (compare("x", 2, "<", 2), False, "fails <"),
        (compare("x", 2, ">", 1), True, ""),
        (compare("x", 2, ">", 2), False, "fails >"),
        # the element nearest to failure is shown
        (compare("x", [1, 5, 3], "<=", 4), False, "5 fails <= 4 (worst of 3)"),
        (compare("x", torch.tensor([7, 3, 9]), ">=", 2), True, "3 >= 2 (nearest of 3)"),
        # integers and fractions are compared exactly
        (compare("x", 2**60 + 1, "==", 2**60), False, ""),
        (compare("x", Fraction(1, 3), "==", Fraction(1, 3)), True, ""),
        (compare("x", Fraction(1, 3), "==", Fraction(1, 3) + Fraction(1, 10**30)), False, ""),
        # bars from both sides, one for each point
        (compare("x", 0.9, "within", (0.9, 1)), True, ""),
        (compare("x", 1, "within", (0.9, 1)), True, ""),
        (compare("x", 0.89, "within", (0.9, 1)), False, "fails within"),
        (compare("x", 1.01, "within", (0.9, 1)), False, "fails within"),
        (compare("x", [1, 2], "within", ([0, 1.5], [1, 2.5])), True, ""),
        (compare("x", [1, 2], "within", ([0, 2.5], [1, 3])), False, ""),
        # slack is relative, and off by default
        (compare("x", 0.1 + 0.2, "<=", 0.3), False, ""),
        (compare("x", 0.1 + 0.2, "<=", 0.3, slack=1e-12), True, ""),
        (compare("x", 0.301, "<=", 0.3, slack=1e-12), False, ""),
        (compare("x", 0.1 + 0.2, "within", (0, 0.3)), False, ""),
        (compare("x", 0.1 + 0.2, "within", (0, 0.3), slack=1e-12), True, ""),
        # shapes, truth values, complex numbers
        (identity("x", torch.ones(1, 3), torch.ones(2, 1)), True, ""),
        (compare("x", np.ones((2, 3)), "==", torch.ones(1, 3)), True, ""),
        (compare("x", [True, False], "==", [True, False]), True, ""),
        (compare("x", np.array([True, False]), "==", np.array([True, True])), False, ""),
        (identity("x", [1 + 5j], [1.0]), False, ""),
        (identity("x", [1 + 5j], [1 + 5j]), True, ""),
        (identity("x", [2.0, 3.0], [2.0, 3.0 * (1 + 1e-8)]), False, ""),
        (identity("x", [np.nan], [1.0]), False, ""),
        # integers neither wrap around nor lose digits beside a float, and may be larger than one
        (compare("x", np.uint8(3), ">=", np.uint8(5)), False, "3 fails >= 5"),
        (compare("x", torch.tensor([2], dtype=torch.uint8), "within", torch.tensor([5, 9], dtype=torch.uint8)), False, ""),
        (compare("x", 2**53 + 1, "==", 2.0**53), False, ""),
        (compare("x", 10**400, "<", np.inf), True, ""),
        (compare("x", Fraction(1, 10**5000), ">", 0.5), False, "1.00e-5000 fails > 0.5"),
        (identity("x", Fraction(1, 10**400), Fraction(1, 10**500)), False, ""),
        # in a list with a float, too: NumPy would make floats of all
        (compare("x", [2**53 + 1, 0.5], "<=", [2**53, 0.5]), False, "9007199254740993 fails <= 9007199254740992"),
        (compare("x", [2**63, -1], "==", [2**63 + 1, -1]), False, ""),
        (compare("x", [2**53 + 1, 0.5], "within", (0, [2**53, 1])), False, ""),
        # decimals beside floats, and beyond them
        (compare("x", Decimal("0.3"), "<=", 0.2, slack=0.1), False, "0.3 fails <= 0.2"),
        (compare("x", 0.15, "within", (Decimal("0.1"), Decimal("0.2")), slack=1e-9), True, "[0.1, 0.2]"),
        (compare("x", Decimal("1e400"), "<=", Decimal("2e400")), True, "1.00e+400 <= 2.00e+400"),
        # lists of different lengths are not equal, also where NumPy would repeat the one number of one
        (compare("x", [1, 2], "==", [1, 2, 3]), False, "a list of 2 fails == a list of 3"),
        (compare("x", [5], "==", (5, 5)), False, ""),
        (compare("x", [], "==", [5]), False, ""),
        # views and precisions of torch that NumPy does not know
        (identity("x", torch.tensor([1 + 1j]).conj().imag, torch.tensor([-1.0], dtype=torch.bfloat16)), True, ""),
        # an interval says its own confidence
        (interval("x", theorybook.rate_interval(500, 1000), "contains", 0.5), True, "99.9% interval"),
        (interval("x", theorybook.rate_interval(500, 1000), "contains", 0.6), False, ""),
        (interval("x", theorybook.rate_interval(500, 1000), ">=", 0.4), True, ""),
        (interval("x", theorybook.rate_interval(500, 1000), ">=", 0.5), False, ""),
        (interval("x", theorybook.rate_interval(500, 1000), "<=", 0.5), False, ""),
        (interval("x", theorybook.rate_interval(5, 10, confidence=0.95), "contains", 0.5), True, "95% interval"),
        (interval("x", theorybook.Interval(0, 1, 0.9), "contains", 0.5), True, "90% interval"),
    ],
)
def test_checks_hold_and_fail(check, holds, words):
    assert check.holds == holds and words in check.text


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (3, 10), (10, 10), (997, 1000)])
def test_rate_interval_is_scipys_exact_one(successes, trials):
    ci = stats.binomtest(successes, trials).proportion_ci(theorybook.CONFIDENCE, method="exact")
    assert theorybook.rate_interval(successes, trials) == pytest.approx((ci.low, ci.high), rel=1e-12)


def test_mean_interval_brackets_the_mean():
    low, high = theorybook.mean_interval(np.random.default_rng(1).normal(3, 1, 400))
    assert low < 3 < high < low + 0.5
    assert theorybook.mean_interval([1.0, 1.0, 1.0]) == (1, 1)


@pytest.mark.parametrize("scale", [1e-300, 1e-110, 1e120])
def test_mean_interval_scales_with_its_samples(scale):
    values = np.array([1, 2, 3, 4, 7.0])
    assert np.allclose(np.array(theorybook.mean_interval(values * scale)) / scale, theorybook.mean_interval(values), rtol=0.02)


def test_exponent_finds_the_power_and_rejects_another():
    x = np.array([1, 2, 4, 8, 16, 32.0])
    y = 3 * x**-0.5 * np.exp(0.01 * np.array([1, -1, 1, -1, 1, -1]))
    assert exponent("decay", x, y, "contains", -0.5).holds
    assert not exponent("decay", x, y, "contains", -1).holds
    assert exponent("decay", x, y, "<=", -0.4).holds


@pytest.mark.parametrize(
    ("x", "y", "power"),
    [
        ([1, 2, 4], [7, 7, 7], 0),
        ([3, 5, 7, 11], [1 / 3, 1 / 5, 1 / 7, 1 / 11], -1),
        ([2, 4, 8, 16, 32], [8, 64, 512, 4096, 32768], 3),
    ],
)
def test_an_exact_power_law_has_its_exponent_but_for_rounding(x, y, power):
    slope, (low, high) = theorybook.power_law(x, y)
    assert low <= power <= high and slope == pytest.approx(power, abs=1e-12)
    assert exponent("growth", x, y, "contains", power).holds and not exponent("growth", x, y, "contains", power + 1e-5).holds


@pytest.mark.parametrize(
    ("arguments", "outcome"),
    [
        ({"printed": GOOD}, "holds"),
        ({"printed": [GOOD, GOOD], "regime": "n >= 100"}, "holds-in-regime"),
        ({"printed": GOOD, "empty": GOOD}, "empty"),
        ({"printed": BAD, "corrected": GOOD}, "corrected"),
        ({"printed": [GOOD, BAD]}, "false"),
        ({"printed": BAD, "corrected": BAD}, "unsettled"),
        ({"printed": GOOD, "corrected": GOOD}, "unsettled"),
        ({"printed": GOOD, "empty": BAD}, "unsettled"),
        ({"printed": BAD, "empty": GOOD}, "unsettled"),
        ({"printed": GOOD, "settings": GOOD}, "reproduced"),
        ({"printed": GOOD, "settings": GOOD, "regime": "digits"}, "reproduced"),
        ({"printed": BAD, "settings": GOOD}, "false"),
        ({"printed": GOOD, "settings": BAD}, "unsettled"),
        ({"printed": BAD, "settings": BAD}, "unsettled"),
        ({"printed": GOOD, "settings": GOOD, "empty": GOOD}, "unsettled"),
        ({"printed": [BAD, REFUTING], "corrected": GOOD}, "corrected"),
        ({"printed": [BAD, STANDING], "corrected": GOOD}, "unsettled"),
        ({"printed": [BAD, STANDING]}, "unsettled"),
        ({"printed": [GOOD, STANDING]}, "holds"),
    ],
)
def test_the_outcome_follows_from_the_checks(arguments, outcome):
    assert judge("paper/lemma-1", **arguments).outcome == outcome


ROW = dict(
    id="paper/lemma-1", printed="Lemma 1", kind="lemma", statement="s", depends=[], chapter="part/01", method="exact", note=""
)


def ledger_file(folder, **fields):
    """A ledger with one row."""
    (folder / "ledger").mkdir(exist_ok=True)
    path = folder / "ledger" / "paper.yml"
    path.write_text(yaml.safe_dump([ROW | fields]))
    return path


@pytest.mark.parametrize(
    ("declared", "given", "shown", "other"),
    [
        ("holds", {}, "holds", "declares 'holds', the checks give 'false'"),
        ("open", {}, "open", "declares 'open', the checks give 'false'"),
        ("open", {"regime": "n >= 100"}, "open", "declares 'open', the checks give 'false'"),
        ("planned", {}, "", "planned"),
    ],
)
def test_the_ledger_has_the_last_word(declared, given, shown, other, tmp_path, monkeypatch, capsys):
    ledger_file(tmp_path, outcome=declared)
    (tmp_path / "part").mkdir()
    monkeypatch.chdir(tmp_path / "part")
    if shown:
        assert verdict("paper/lemma-1", printed=GOOD, **given).outcome == shown
        assert capsys.readouterr().out.startswith(f"Verdict paper/lemma-1: {shown} (exact) | good")
    with pytest.raises(VerdictError, match=other):
        verdict("paper/lemma-1", printed=BAD)
    with pytest.raises(VerdictError, match=r"lemma-2 is not in paper\.yml: did you mean paper/lemma-1"):
        verdict("paper/lemma-2", printed=GOOD)


def test_without_a_ledger_only_unsettled_raises_and_the_line_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    found = verdict("paper/lemma-1", printed=BAD)
    assert found.outcome == "false"
    assert capsys.readouterr().out == "Verdict paper/lemma-1: false, no ledger here: outcome not compared (exact) | bad\n"
    assert "<strong>false</strong>, no ledger here: outcome not compared" in found._repr_html_()
    with pytest.raises(VerdictError):
        verdict("paper/lemma-1", printed=BAD, corrected=BAD)


@pytest.mark.parametrize("here", ["attention-theory/book/part", "attention-theory", "attention-theory/tools", "."])
def test_a_ledger_that_is_missing_in_the_book_is_an_error(tmp_path, monkeypatch, here):
    root = tmp_path / "attention-theory"
    for folder in (root / "book" / "part", root / "tools"):
        folder.mkdir(parents=True)
    (root / "_toc.yml").write_text("root: x")
    monkeypatch.chdir(tmp_path / here)
    with pytest.raises(FileNotFoundError, match=r"book/ledger/paper\.yml is missing.*git checkout"):
        verdict("paper/lemma-1", printed=GOOD)
    path = ledger_file(root / "book", outcome="holds")
    assert not verdict("paper/lemma-1", printed=GOOD).alone
    path.write_text("- {id: [unclosed")
    with pytest.raises(ValueError, match=r"paper\.yml: not readable as YAML; correct it .* or restore it"):
        verdict("paper/lemma-1", printed=GOOD)


def test_the_card_links_to_its_statement_and_names_its_code(tmp_path, monkeypatch):
    ledger_file(tmp_path, outcome="holds", label="lem-x", code="sums.mean")
    monkeypatch.chdir(tmp_path)
    card = verdict("paper/lemma-1", printed=GOOD)._repr_html_()
    assert 'href="#lem-x"' in card
    assert "<code>sums.mean</code>" in card


def test_a_notebook_shows_a_verdict_once_and_stores_it(tmp_path):
    source = (
        "from theorybook import compare, verdict\n"
        "verdict('paper/lemma-1', printed=compare('x', 1, '<', 2))\n"
        "verdict('paper/lemma-2', printed=compare('<y>', 1, '<', 2))"
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}}).execute()
    path = tmp_path / "one.ipynb"
    nbformat.write(notebook, path)
    stored = theorybook.stored_verdicts(path)
    assert [(v["claim"], v["outcome"]) for v in stored] == [("paper/lemma-1", "holds"), ("paper/lemma-2", "holds")]
    assert "&lt;y&gt;" in notebook.cells[0].outputs[1]["data"]["text/html"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"outcome": "proven"}, "unknown outcome 'proven'"),
        ({"method": "vote"}, "unknown method 'vote'"),
        ({"seen": "exact"}, "goes with the method proof"),
        ({"method": "proof", "seen": "vote"}, "seen is one of"),
        ({"proof": "proofs.squares"}, "proof goes with the method proof"),
        ({"method": "proof", "seen": "exact", "proof": "proofs.squares"}, "not with seen"),
        ({"method": "proof", "coq": ["proofs/A.v:mean"]}, "coq is a list of <file>:<theorem>, and goes with seen"),
        ({"method": "proof", "seen": "exact", "coq": "proofs/A.v:mean"}, "coq is a list of <file>:<theorem>"),
        ({"method": "proof", "seen": "exact", "coq": ["proofs/A.v"]}, "coq is a list of <file>:<theorem>"),
        ({"reasons": {"n > 1": "needed"}}, "reasons is a list"),
        ({"reasons": [{"hypothesis": "n > 1"}]}, "one of needed, convenience, open"),
        ({"reasons": [{"hypothesis": "n > 1", "needed": "a test", "open": "or not"}]}, "one of needed, convenience, open"),
        ({"chapter": None}, "needs a chapter"),
        ({"outcome": "imported"}, "needs a reason"),
        ({"id": "other/lemma-1"}, "must begin with paper/"),
        ({"extra": 1}, "lemma-1 has unknown fields: extra"),
        ({"depends": "paper/lemma-0"}, r"depends = 'paper/lemma-0' is not list\[str\]; a text may need quotes"),
        ({"statement": 2.1}, "statement = 2.1 is not text"),
    ],
)
def test_a_malformed_ledger_is_refused(tmp_path, fields, message):
    path = ledger_file(tmp_path, **{"outcome": "holds"} | fields)
    with pytest.raises(ValueError, match=message):
        theorybook.load_ledger(path)
    path.write_text(path.read_text().replace("note:", "#"))
    with pytest.raises(ValueError, match="lacks: note"):
        theorybook.load_ledger(path)


def test_what_yaml_would_drop_and_what_one_anchor_would_hide_is_refused(tmp_path):
    path = ledger_file(tmp_path, outcome="holds")
    row = path.read_text()
    twice = row.replace("lemma-1", "lemma-1.2") + row.replace("lemma-1", "lemma-1-2")
    for text, message in ((row + "  outcome: open\n", "outcome occurs twice"), (twice, "that of paper/lemma-1.2 too")):
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            theorybook.load_ledger(path)


@pytest.mark.parametrize(
    ("draws", "fate"),
    [
        ([[1.4, 1.5, 1.6]], "held"),
        ([[1.4, 1.5, 1.6], [1.2, 1.3, 1.4]], "held"),
        ([[1.4, 1.5, 1.6], [2.2, 2.3, 2.4]], "missed"),  # on one of two draws
        ([[0.9, 1.3, 1.5]], "missed"),  # the interval reaches over the end
    ],
)
def test_a_prediction_is_held_if_every_interval_lies_in_its_range(draws, fate):
    found = judge("a/b", printed=theorybook.measured(PREDICTED, draws))
    assert found.outcome == fate and fate in found.checks[0].text and found.methods == ["measured"]


def test_a_failure_beside_a_measurement_is_a_mistake_and_not_a_miss():
    held, missed = (theorybook.measured(PREDICTED, [draw]) for draw in ([1.4, 1.5], [3.0, 3.1]))
    assert judge("a/b", printed=[GOOD, held]).outcome == "held"
    assert judge("a/b", printed=[GOOD, missed]).outcome == "missed"
    for checks in ({"printed": [BAD, held]}, {"printed": [BAD, missed]}, {"printed": held, "corrected": GOOD}):
        assert judge("a/b", **checks).outcome == "unsettled"
    with pytest.raises(ValueError, match="nothing was measured"):
        theorybook.measured(PREDICTED, [])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text + text, "occurs twice"),
        (lambda text: text.replace("high: .inf", "high: 0"), "is empty"),
        (lambda text: text.replace("why", "because"), "lacks: why"),
        (lambda text: text + "  more: 1\n", "unknown fields: more"),
        (lambda text: "a: 1", "a list of mappings"),
        (lambda text: "[", "not readable as YAML"),
    ],
)
def test_a_spoilt_file_of_predictions_is_refused(change, words, tmp_path):
    fields = "theorem: x/own-y\n  measures: x\n  why: by y\n  low: 1\n  high: .inf\n  known: nothing\n  date: 2026-11-25\n"
    path = tmp_path / "predictions.yml"
    path.write_text(f"- id: p\n  {fields}")
    assert theorybook.load_predictions(path)["p"].high == float("inf")
    path.write_text(change(path.read_text()))
    with pytest.raises(ValueError, match=words):
        theorybook.load_predictions(path)
