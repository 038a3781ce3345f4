"""The ledger tells the truth: each computed outcome is backed by a stored verdict, each verdict names an entry."""

import ast
import pkgutil
import re
from graphlib import TopologicalSorter

import pytest
import yaml
from mutation import statements_behind
from theorybook import COMPUTED, load_ledger, record_of, stored_verdicts
from theorybook.sphinx import ledger
from theorybook.tools import coq, statements

PAPERS = tuple(ledger.ledgers())


@pytest.fixture(scope="module")
def entries(book):
    return {id: entry for paper in PAPERS for id, entry in load_ledger(book / "ledger" / f"{paper}.yml").items()}


@pytest.fixture(scope="module")
def verdicts(book):
    """claim -> [(chapter, verdict), ...] over all notebooks."""
    found = {}
    for path in sorted(book.rglob("*.ipynb")):
        if ".ipynb_checkpoints" not in path.parts:
            for verdict in stored_verdicts(path):
                chapter = path.relative_to(book).with_suffix("").as_posix()
                found.setdefault(verdict["claim"], []).append((chapter, verdict))
    return found


def test_there_is_no_other_ledger(book):
    assert {path.stem for path in (book / "ledger").glob("*.yml")} == set(PAPERS)


def test_dependencies_exist_and_have_no_cycle(entries):
    for entry in entries.values():
        unknown = set(entry.depends) - set(entries)
        assert not unknown, f"{entry.id} depends on {', '.join(sorted(unknown))}, which no row has"
    TopologicalSorter({id: entry.depends for id, entry in entries.items()}).prepare()
    # nor between numbered statements, which the graph draws
    TopologicalSorter(
        {
            statement: {
                ledger.statement_of(d) for e in entries.values() if ledger.statement_of(e.id) == statement for d in e.depends
            }
            - {statement}
            for statement in map(ledger.statement_of, entries)
        }
    ).prepare()


def test_every_computed_outcome_has_its_verdict(entries, verdicts, book):
    missing = []
    for entry in entries.values():
        if entry.outcome in COMPUTED:
            backing = [v for page, v in verdicts.get(entry.id, []) if page == record_of(entry.chapter, book)]
            methods = sorted({check["method"] for v in backing for check in v["checks"]})
            if not backing or any(v["outcome"] != entry.outcome for v in backing):
                missing.append(f"{entry.id}: the record of {entry.chapter} stores no verdict {entry.outcome!r} on it")
            elif (entry.seen or entry.method) not in methods:
                missing.append(f"{entry.id}: its row says {entry.rests_on}, its checks {', '.join(methods)}")
    assert not missing, "\n".join(missing)


def test_every_verdict_names_an_entry_with_its_outcome(entries, verdicts):
    for claim, found in verdicts.items():
        assert claim in entries, f"{found[0][0]} has a verdict on {claim}, which no row has"
        for chapter, verdict in found:
            assert verdict["outcome"] == entries[claim].outcome, (claim, chapter)


def test_few_statements_go_without_a_verdict(entries):
    waved = [entry.id for entry in entries.values() if entry.outcome in ("imported", "asymptotic")]
    assert len(waved) <= 0.1 * len(entries), waved


def test_an_own_statement_without_a_proof_is_open(entries):
    for entry in entries.values():
        if entry.printed == "ours":
            assert (entry.kind in ("conjecture", "observation")) == (entry.outcome == "open"), entry.id
            assert (entry.outcome == "open") or not re.search(r"(no|No) proof[).]", entry.statement + entry.scope), entry.id
        else:
            assert entry.outcome != "open", entry.id


#: Own statements whose page proves a part; what decides the claim is computed.
COMPUTED_CLAIMS = {"exponential/own-reading": "chances at nine sizes", "cao2024/own-contradiction": "numbers of the constants"}


def test_a_proof_on_the_page_is_the_method_of_its_row(entries, book):
    """One rule: what holds by a proof that people read has the method proof, and ``seen`` is what the machine saw of it."""
    pages = {path: path.read_text(encoding="utf-8") for path in book.glob("*/**/*.md")}
    for entry in entries.values():
        if entry.outcome != "holds" or entry.id in COMPUTED_CLAIMS:
            assert not entry.seen, entry.id
            continue
        chapter, record = entry.chapter, record_of(entry.chapter, book)
        page = "\n# ".join(pages.get(book / f"{name}.md", "") for name in dict.fromkeys((chapter, record)))
        box = re.search(rf":label: {re.escape(entry.label or '-')}\n.*?\n:::\n(.*?)(?=\n#|\n:::+\{{prf|\Z)", page, flags=re.S)
        proof = entry.printed == "ours" and box and re.search(r"^\*Proof[.,]", box[1], flags=re.M)
        assert bool(entry.seen) == bool(proof or re.search("[Pp]roof on the page|[Pp]roved on the page", entry.note)), entry.id


def test_a_proof_by_the_machine_names_its_function(entries, book):
    """Each row with the method proof has one of ``seen`` and ``proof``, and its verdict reads from the function it names."""
    for entry in entries.values():
        assert bool(entry.seen) + bool(entry.proof) == (entry.method == "proof"), entry.id
        if entry.proof:
            package, name = entry.proof.rsplit(".", 1)
            assert package.startswith("attention_checks.") and package.endswith(".proofs"), entry.id
            assert callable(pkgutil.resolve_name(entry.proof)), entry.id
            behind = ast.Module(statements_behind(record_of(entry.chapter, book), entry.id), [])
            called = {ast.unparse(node) for node in ast.walk(behind) if isinstance(node, ast.Attribute)}
            assert f"proofs.{name}" in called, f"{entry.id}: its verdict does not come to {entry.proof}"


def test_a_proof_that_coq_checks_is_there_and_names_its_row(entries, root):
    """Every ``Theorem`` of ``proofs`` stands below a comment that begins with its row, and that row names it."""
    named = {(entry.id, theorem) for entry in entries.values() for theorem in entry.coq}
    assert all(coq.line_of(theorem) for _, theorem in named)
    stated = set()
    for file in sorted((root / "proofs").glob("*.v")):
        text = file.read_text(encoding="utf-8")
        found = re.findall(r"\(\* (\w+/own-[\w-]+\w)[^*]*\*\)\n *Theorem (\w+)", text)
        assert len(found) == text.count("Theorem "), file
        stated |= {(id, f"proofs/{file.name}:{name}") for id, name in found}
    assert named == stated


def test_each_hypothesis_of_an_own_statement_has_its_reason(entries, verdicts, root):
    """It stands in the row in these words; a needed one names a test that is there, or how a check of its verdict begins."""
    for entry in entries.values():
        # what trained models do is no theorem, and has no hypotheses
        assert bool(entry.reasons) == (entry.printed == "ours" and entry.method != "measured"), entry.id
        checks = [check["text"] for _, verdict in verdicts.get(entry.id, []) for check in verdict["checks"] if check["holds"]]
        for one in entry.reasons:
            assert one["hypothesis"] in f"{entry.hypotheses} {entry.statement}", (entry.id, one["hypothesis"])
            needed = one.get("needed", "")
            file, _, name = needed.partition("::")
            if needed.startswith("tests/"):
                functions = {
                    node.name for node in ast.parse((root / file).read_text(encoding="utf-8")).body if hasattr(node, "name")
                }
                assert name in functions, (entry.id, needed)
            else:
                assert any(text.startswith(needed) for text in checks), (entry.id, needed)


def test_code_that_a_row_names_is_there(entries):
    """A dotted name in the words of a row leads somewhere; a file may be one of the authors of the paper."""
    for entry in entries.values():
        words = " ".join([*(text for _, text in entry.paragraphs), entry.note])
        for name in re.findall(r"(?<![\w-])[a-z_]{3,}(?:\.[A-Za-z_]\w*)+", words):
            if not name.endswith(".py"):
                pkgutil.resolve_name(name)


def test_rows_say_what_their_boxes_say():
    differ = [id for rows in statements.differing().values() for id in rows]
    assert not differ, f"other words than in their boxes: {', '.join(differ)}; run make statements"


def test_a_box_becomes_the_words_of_its_row():
    box = """({cite}`deng2023`, Lemma 1.)

*Hypotheses.* As in the [text](page.md#x), with *any* $*x*$, {cite}`deng2023`
or {prf:ref}`these <thm-x>`.

*Claim.* It's so:

$$x = 1$$ (eq-x)

- for `all`.
"""
    for fence in (":::", "```"):
        assert statements.BOX.search(f"{fence}{{prf:lemma}} Title\n:label: l\n{box}{fence}\n")[4] == box
    found = statements.said(box)
    assert found == {
        "hypotheses": "As in the text, with any $*x*$, deng2023 or these.",
        "statement": "It's so: $$x = 1$$ • for all.",
        "constants": "",
        "scope": "",
    }
    row = '- id: a/b\n  kind: lemma\n  statement: >-\n    old: "x",\n\n    more\n  constants: old\n  depends: []\n'
    new = yaml.safe_load(statements.written(row, found))[0]
    assert list(new) == ["id", "kind", "hypotheses", "statement", "depends"]
    assert new["statement"] == found["statement"] and new["hypotheses"] == found["hypotheses"]


def test_whose_proof_names_hoeffding_depends_on_his_lemma(entries, book):
    """The trial case of "all that uses it": boxes whose proof names him, and own rows whose note does."""
    lemmas = {"deng2023/lemma-3.1", "cao2024/lemma-a.9"}
    named = 0
    for path in book.rglob("*.md"):
        for box in re.split(r"^:label: ", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
            label, _, after = box.partition("\n")
            # beside the box there may stand cells, and what is to be seen in them
            beside = re.sub(r"^```\{code-cell\}.*?^```$", "", after.partition("\n:::\n")[2], flags=re.M | re.S)
            proof = re.search(r"^\*Proof\.\*(.*?)\\square", beside.partition("\n## ")[0], flags=re.M | re.S)
            rows = [entry for entry in entries.values() if entry.label == label]
            if proof and "Hoeffding" in proof[1] and rows and all(row.printed == "ours" for row in rows):
                named += 1
                assert any(lemmas & set(row.depends) for row in rows), label
    noted = [entry for entry in entries.values() if entry.printed == "ours" and re.search(r"\([^)]*Hoeffding", entry.note)]
    assert all(lemmas & set(entry.depends) for entry in noted if "Proof" in entry.note) and named >= 3


#: How a table of a page begins that says what became of a row -> the outcomes that this may stand for.
FATES = {
    "hold": {"holds"}, "proved": {"holds"}, "sharp": {"holds"}, "open": {"open"}, "observed": {"open"}, "empty": {"empty"},
    "corrected": {"corrected"}, "false": {"false"}, "reproduced": {"reproduced"},
    "held": {"held"}, "missed": {"missed"},
}  # fmt: skip


def test_tables_of_fates_say_what_the_rows_say(book, entries):
    """Lines whose first column is references; "holds" alone is no regime: that is "holds in", "where", "for" or the like."""
    outcomes = {}
    for row in entries.values():
        outcomes.setdefault(row.label, set()).add(row.outcome)
    seen = 0
    for path in sorted(book.rglob("*.md")):
        for first, fate in re.findall(r"^\| (.*?) \| (.*?) \|.*\|$", path.read_text(encoding="utf-8"), flags=re.M):
            labels = re.findall(r"\{prf:ref\}`(?:[^`<]*<)?([\w-]+)>?`", first)
            allowed = next((found for word, found in FATES.items() if fate.startswith(word)), None)
            if allowed and labels and not re.sub(r"\{prf:ref\}`[^`]*`|[,; ]|and", "", first):
                if re.match(r"holds? (?:in|where|for|on|with|at|wide)", fate):
                    allowed = allowed | {"holds-in-regime"}
                assert set().union(*(outcomes.get(label, set()) for label in labels)) <= allowed, (
                    f"{path.name}: {first}: {fate}"
                )
                seen += 1
    assert seen > 30


def test_an_order_that_only_runs_show_is_a_regime(entries):
    """An O, an Omega or a probability that is judged by draws alone holds only if the note says whose proof it rests on."""
    order = re.compile(r"[ΩΘ]|\bO\(|\bo\(|\\Omega|\\Theta|high probability|probability at least")
    for row in entries.values():
        if row.outcome == "holds" and row.method in ("draws", "exponent", "interval") and order.search(row.statement):
            assert re.search("proof|inequality", row.note, flags=re.I), row.id
