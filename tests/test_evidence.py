"""Every kind of check can fail, the outcome follows from the checks, and the ledger has the last word."""

from fractions import Fraction

import numpy as np
import pytest
import torch
from attention_theory import evidence
from attention_theory.attention import attention_weights
from attention_theory.evidence import Check, VerdictError, compare, exponent, identity, interval, judge, verdict
from scipy import stats

GOOD, BAD = Check("exact", True, "good"), Check("exact", False, "bad")
REFUTING, STANDING = Check("counterexample", False, "refutes"), Check("counterexample", True, "refutes nothing")


@pytest.mark.parametrize(
    ("relation", "right", "wrong"),
    [("==", 2, 3), ("<=", 2, 1), (">=", 2, 3), ("<", 3, 2), (">", 1, 2)],
)
def test_compare_holds_and_fails(relation, right, wrong):
    assert compare("x", 2, relation, right).holds
    failing = compare("x", 2, relation, wrong)
    assert not failing.holds
    assert f"fails {relation}" in failing.text


def test_compare_shows_the_element_nearest_to_failure():
    check = compare("x", [1, 5, 3], "<=", 4)
    assert not check.holds
    assert "5 fails <= 4 (nearest of 3)" in check.text
    assert "3 >= 2 (nearest of 3)" in compare("x", torch.tensor([7, 3, 9]), ">=", 2).text


def test_compare_is_exact_on_integers_and_fractions():
    assert not compare("count", 2**60 + 1, "==", 2**60).holds  # equal as floats
    assert compare("p", Fraction(1, 3), "==", Fraction(1, 3)).holds
    assert not compare("p", Fraction(1, 3), "==", Fraction(1, 3) + Fraction(1, 10**30)).holds


@pytest.mark.parametrize(("value", "holds"), [(0.9, True), (1, True), (0.95, True), (0.89, False), (1.01, False)])
def test_two_sided_bars(value, holds):
    check = compare("x", value, "within", (0.9, 1))
    assert check.holds == holds
    assert ("fails within" in check.text) != holds


def test_two_sided_bars_follow_each_point_and_allow_rounding():
    assert compare("x", [1, 2], "within", ([0, 1.5], [1, 2.5])).holds
    assert not compare("x", [1, 2], "within", ([0, 2.5], [1, 3])).holds
    assert not compare("x", 0.1 + 0.2, "within", (0, 0.3)).holds
    assert compare("x", 0.1 + 0.2, "within", (0, 0.3), slack=1e-12).holds


def test_shapes_count():
    row, column = torch.ones(1, 3), torch.ones(2, 1)
    assert identity("x", row, column).holds
    assert compare("x", np.ones((2, 3)), "==", row).holds


def test_truth_values_are_compared_as_numbers():
    assert compare("x", [True, False], "==", [True, False]).holds
    assert not compare("x", np.array([True, False]), "==", np.array([True, True])).holds


def test_complex_numbers_are_compared_as_such():
    assert not identity("x", [1 + 5j], [1.0]).holds
    assert identity("x", [1 + 5j], [1 + 5j]).holds


def test_an_interval_says_its_own_confidence():
    assert "99.9% interval" in interval("x", evidence.rate_interval(5, 10), "contains", 0.5).text
    assert "95% interval" in interval("x", evidence.rate_interval(5, 10, confidence=0.95), "contains", 0.5).text
    assert "90% interval" in interval("x", evidence.Interval(0, 1, 0.9), "contains", 0.5).text
    low, high = evidence.Interval(0, 1)
    assert (low, high) == (0, 1)


def test_equal_samples_have_a_mean():
    assert evidence.mean_interval([1.0, 1.0, 1.0]) == (1, 1)


def test_compare_slack_is_relative_and_off_by_default():
    tight = 0.1 + 0.2
    assert not compare("x", tight, "<=", 0.3).holds
    assert compare("x", tight, "<=", 0.3, slack=1e-12).holds
    assert not compare("x", 0.301, "<=", 0.3, slack=1e-12).holds


def test_identity_notices_a_wrong_implementation():
    scores = torch.randn(5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    expected = torch.exp(scores) / torch.exp(scores).sum(-1, keepdim=True)
    assert identity("weights", attention_weights(scores), expected).holds
    assert not identity("weights", attention_weights(scores, "linear"), expected).holds
    assert not identity("weights", attention_weights(-scores), expected).holds
    assert not identity("weights", attention_weights(scores) * (1 + 1e-8), expected).holds
    assert not identity("weights", expected * np.nan, expected).holds


def test_interval_contains_the_truth_and_excludes_a_wrong_one():
    estimate = evidence.rate_interval(500, 1000)
    assert interval("rate", estimate, "contains", 0.5).holds
    assert not interval("rate", estimate, "contains", 0.6).holds
    assert interval("rate", estimate, ">=", 0.4).holds
    assert not interval("rate", estimate, ">=", 0.5).holds
    assert not interval("rate", estimate, "<=", 0.5).holds


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (3, 10), (10, 10), (997, 1000)])
def test_rate_interval_is_scipys_exact_one(successes, trials):
    ci = stats.binomtest(successes, trials).proportion_ci(evidence.CONFIDENCE, method="exact")
    assert evidence.rate_interval(successes, trials) == pytest.approx((ci.low, ci.high), rel=1e-12)


def test_rate_interval_covers_at_its_level():
    # exact coverage at one p: the binomial mass of the counts whose interval contains it
    trials, p = 30, 0.37
    covered = [
        k for k in range(trials + 1) if evidence.rate_interval(k, trials)[0] <= p <= evidence.rate_interval(k, trials)[1]
    ]
    assert stats.binom.pmf(covered, trials, p).sum() >= evidence.CONFIDENCE


def test_mean_interval_brackets_the_mean():
    samples = np.random.default_rng(1).normal(3, 1, 400)
    low, high = evidence.mean_interval(samples)
    assert low < 3 < high
    assert high - low < 0.5


def test_exponent_finds_the_power_and_rejects_another():
    x = np.array([1, 2, 4, 8, 16, 32.0])
    y = 3 * x**-0.5 * np.exp(0.01 * np.array([1, -1, 1, -1, 1, -1]))
    assert exponent("decay", x, y, "contains", -0.5).holds
    assert not exponent("decay", x, y, "contains", -1).holds
    assert exponent("decay", x, y, "<=", -0.4).holds


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


def ledger_file(folder, outcome):
    (folder / "ledger").mkdir()
    (folder / "ledger" / "paper.yml").write_text(
        "- {id: paper/lemma-1, printed: Lemma 1, kind: lemma, statement: s, depends: [], chapter: part/01, method: exact, "
        f"outcome: {outcome}, note: ''}}\n"
    )


def test_verdict_raises_when_the_ledger_disagrees(tmp_path, monkeypatch, capsys):
    ledger_file(tmp_path, "holds")
    inside = tmp_path / "part"
    inside.mkdir()
    monkeypatch.chdir(inside)
    assert verdict("paper/lemma-1", printed=GOOD).outcome == "holds"
    assert capsys.readouterr().out == "Verdict paper/lemma-1: holds (exact) | good\n"
    with pytest.raises(VerdictError, match="declares 'holds', the checks give 'false'"):
        verdict("paper/lemma-1", printed=BAD)
    with pytest.raises(VerdictError, match=r"lemma-2 is not in paper\.yml: is paper/lemma-1 meant"):
        verdict("paper/lemma-2", printed=GOOD)


def test_a_row_without_a_proof_shows_open_where_its_checks_hold(tmp_path, monkeypatch, capsys):
    ledger_file(tmp_path, "open")
    monkeypatch.chdir(tmp_path)
    for regime in ("", "n >= 100"):
        assert verdict("paper/lemma-1", printed=GOOD, regime=regime).outcome == "open"
        assert capsys.readouterr().out.startswith("Verdict paper/lemma-1: open (exact) | good")
    with pytest.raises(VerdictError, match="declares 'open', the checks give 'false'"):
        verdict("paper/lemma-1", printed=BAD)


def test_planned_statements_cannot_be_given_a_verdict_silently(tmp_path, monkeypatch):
    ledger_file(tmp_path, "planned")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(VerdictError, match="planned"):
        verdict("paper/lemma-1", printed=GOOD)


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
    ledger_file(root / "book", "holds")
    assert not verdict("paper/lemma-1", printed=GOOD).alone
    (root / "book" / "ledger" / "paper.yml").write_text("- {id: [unclosed")
    with pytest.raises(ValueError, match=r"paper\.yml: not a readable ledger; mend it .* or restore it"):
        verdict("paper/lemma-1", printed=GOOD)


def test_the_card_links_to_statement_and_code(tmp_path, monkeypatch):
    ledger_file(tmp_path, "holds")
    path = tmp_path / "ledger" / "paper.yml"
    path.write_text(path.read_text().replace("note:", "label: lem-x, code: attention.attention_weights, note:"))
    monkeypatch.chdir(tmp_path)
    card = verdict("paper/lemma-1", printed=GOOD)._repr_html_()
    assert 'href="#lem-x"' in card
    assert "shared.html#attention_theory.attention.attention_weights" in card


def test_a_notebook_shows_a_verdict_once_and_stores_it(tmp_path):
    import nbformat
    from nbclient import NotebookClient

    source = (
        "from attention_theory.evidence import compare, verdict\n"
        "verdict('paper/lemma-1', printed=compare('x', 1, '<', 2))\n"
        "verdict('paper/lemma-2', printed=compare('<y>', 1, '<', 2))"
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}}).execute()
    path = tmp_path / "one.ipynb"
    nbformat.write(notebook, path)
    stored = evidence.stored_verdicts(path)
    assert [(v["claim"], v["outcome"]) for v in stored] == [("paper/lemma-1", "holds"), ("paper/lemma-2", "holds")]
    assert "&lt;y&gt;" in notebook.cells[0].outputs[1]["data"]["text/html"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("outcome: proven", "unknown outcome 'proven'"),
        ("method: vote", "unknown method 'vote'"),
        ("chapter: null", "needs a chapter"),
        ("outcome: imported", "needs a reason"),
        ("id: other/lemma-1", "must begin with paper/"),
        ("extra: 1", "lemma-1 has unknown fields: extra"),
        ("depends: paper/lemma-0", "depends is a list of ids, got 'paper/lemma-0'"),
    ],
)
def test_a_malformed_ledger_is_refused(tmp_path, change, message):
    import yaml

    row = dict(
        id="paper/lemma-1", printed="Lemma 1", kind="lemma", statement="s", depends=[], chapter="part/01", method="exact",
        outcome="holds", note="",
    )  # fmt: skip
    row |= yaml.safe_load(change)
    path = tmp_path / "paper.yml"
    path.write_text(yaml.safe_dump([row]))
    with pytest.raises(ValueError, match=message):
        evidence.load_ledger(path)
    del row["note"]
    path.write_text(yaml.safe_dump([row]))
    with pytest.raises(ValueError, match="lacks: note"):
        evidence.load_ledger(path)
