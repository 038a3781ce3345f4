"""The tool that makes mutants draws as many as it was asked for, of every kind of place, and knows which tests reach each."""

import ast

import mutants
import mutation
import pytest
from mutants import Mutant, drawn_from_rows

MODULE = """
LIMIT, STEPS = 3, 5
#: with a type
SHARE: float = 0.25


def inner(x, beta=1.0):
    return beta * x


class Sizes:
    n: int = 7

    def twice(self):
        return 2 * self.n


def outer(x):
    return inner(x) + LIMIT


def far(x):
    return outer(x)
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A library of one part, with one module, and its proofs in another package."""
    for package, name in (("attention_theory", "sums"), ("attention_checks", "proofs")):
        folder = tmp_path / package / "part"
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
        (folder / f"{name}.py").write_text(MODULE)
    monkeypatch.setattr(mutants, "LIB", tmp_path)
    monkeypatch.setattr(mutants, "PARTS", ("part",))
    cached = (mutants.uses, mutants.reached_from, mutants._tree, mutants._names)
    for function in cached:
        function.cache_clear()
    yield tmp_path
    for function in cached:
        function.cache_clear()


def test_every_place_is_changed_as_it_is_told(package):
    """Defaults, constants and fields among them."""
    path = package / "attention_theory" / "part" / "sums.py"
    found = mutants.mutants(path)
    places = {("LIMIT", "3"), ("LIMIT", "5"), ("SHARE", "0.25"), ("inner", "1.0"), ("Sizes", "7"), ("Sizes.twice", "2")}
    assert places <= {(mutant.function, mutant.old) for mutant in found}
    for mutant in found:
        before, after = ast.parse(MODULE), ast.parse(mutants.mutated(path, mutant.site))
        assert ast.dump(before) != ast.dump(after) and mutant.new in ast.unparse(after)


@pytest.mark.parametrize("sample", [7, 0])
@pytest.mark.parametrize("proofs", [False, True], ids=["rows", "proofs"])
def test_as_many_are_drawn_as_asked(sample, proofs, package, monkeypatch):
    modules = ("attention_theory.part.sums", "attention_checks.part.proofs")
    reached = {f"{module}.{name}" for module in modules for name in ("inner", "outer", "LIMIT", "Sizes")}
    monkeypatch.setattr(
        mutants, "claims_by_proof" if proofs else "claims_by_reach", lambda: {name: ["a/b"] for name in reached}
    )
    places, chosen = drawn_from_rows(sample, 0, proofs)
    assert len(set(chosen)) == (sample or places["part"]) and places["part"] > 7
    assert not proofs or {mutant.module for mutant in chosen} == {"attention_checks.part.proofs"}


@pytest.mark.parametrize(
    ("line", "function", "tests"),
    [
        (8, "inner", ["inner"]),  # in the body
        (7, "inner", ["inner"]),  # a default
        (2, "LIMIT", ["outer"]),  # of what uses it, the nearest: far only comes through outer
        (12, "Sizes", ["twice"]),  # a field
        (4, "SHARE", []),  # nobody uses it
    ],
)
def test_tests_of_a_place_are_those_that_reach_it(line, function, tests, package):
    lines = {
        "attention_theory.part.sums": {
            "8": ["inner"],
            "15": ["twice"],
            "19": ["slow", "outer"],
            "23": ["far"],
            "7": ["importer"],
        }
    }
    seconds = {"inner": 1.0, "twice": 1.0, "outer": 2.0, "slow": 90.0, "far": 0.1, "importer": 0.1}
    assert mutants.tests_of(Mutant("attention_theory.part.sums", function, line, "", "", 0), lines, seconds) == tests


CELL = """
cases = [n for n in range(9) if n > 2]
verdict(
    "a/b",
    printed=[
        compare("size", sizes, "within", (2, 3)),
        compare("sum", *(sums, "<=", 5)),
        compare("zero", zeros, "within", (-1, 1)),
        interval("rate", estimate, "contains", 1 / 2),
        exponent("growth", x, y, ">=", 1.5),
        identity("twice", once, twice),
    ],
)
"""


def test_what_a_cell_claims_is_changed_where_a_verdict_can_tell():
    found = [(place.kind, place.old, place.new) for place in mutants._cell_sites(ast.parse(CELL).body)]
    assert sorted(found) == [
        ("bar", ">= 1.5", "(1.5) + 0.5"),
        ("bar", "contains 1 / 2", "0.5 * (1 / 2)"),
        ("bar", "contains 1 / 2", "2 * (1 / 2)"),
        ("bar", "within (2, 3)", "tuple(0.5 * np.asarray(end) for end in (2, 3))"),
        ("bar", "within (2, 3)", "tuple(2 * np.asarray(end) for end in (2, 3))"),
        ("hypothesis", "for n in range(9) if n > 2", "no condition"),
    ]


@pytest.mark.parametrize("claim", ["exponential/own-escape", "deng2023/lemma-e.3-1"])
def test_each_change_of_a_cell_is_one_and_is_taken_back(claim):
    row = next(row for row in mutants.judged_rows() if row.id == claim)
    sites = [mutant.site for mutant in mutants.places_of(row)["bar"]]
    sources = {mutants.changed_cells(claim, site) for site in sites}
    before = ast.unparse(ast.Module(mutation.statements_behind(mutation.chapter_of(claim), claim), []))
    assert len(sources) == len(sites) > 1 and all(before not in source for source in sources)
