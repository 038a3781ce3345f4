"""The form of every notebook, which nbval does not look at."""

import ast
import contextlib
import functools
import pkgutil
import re

import jupytext
import nbformat
import pytest
import yaml
from conftest import BOOK, ROOT
from theorybook import COMPUTED, MIME, load_ledger, record_of, stored_verdicts
from theorybook.book import files

NOTEBOOKS = sorted(path for path in BOOK.rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text())
ADDRESS = "--branch {branch} {url}".format(**CONFIG["repository"])
# The records and the ledger come with the clone, where the library looks for them, so that a notebook alone has them.
INSTALL = f"""try:
    import attention_theory
except ImportError:
    !git clone -q --depth 1 {ADDRESS} attention-theory || echo "A chapter alone needs git and a network, or a clone beside it."
    %pip install -q ./attention-theory/lib"""

pytestmark = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.relative_to(BOOK).as_posix())


@functools.cache
def code_cells(path):
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def tags(cell):
    return cell.metadata.get("tags", [])


def types(cell):
    return {mime for output in cell.outputs for mime in output.get("data", {})} | {o.name for o in cell.outputs if "name" in o}


def test_source_and_notebook_agree(path):
    source = jupytext.read(path.with_suffix(".md"))
    notebook = nbformat.read(path, as_version=4)
    content = [[(cell.cell_type, cell.source, tags(cell)) for cell in nb.cells] for nb in (source, notebook)]
    assert content[0] == content[1], "run theorybook.tools.execute on it"


def test_every_cell_was_executed_in_order_without_error(path):
    cells = code_cells(path)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert not [output for cell in cells for output in cell.outputs if output.output_type == "error"]
    assert not [output.text for cell in cells for output in cell.outputs if output.get("name") == "stderr"]


def test_every_figure_is_described_and_followed_by_its_numbers(path):
    cells = code_cells(path)
    for cell, following in zip(cells, [*cells[1:], None]):
        if types(cell) & {"image/png", "image/jpeg", "image/svg+xml"}:
            assert "nbval-ignore-output" in tags(cell)
            assert cell.metadata.get("mystnb", {}).get("image", {}).get("alt"), "a figure needs an alt text"
            assert cell.metadata["mystnb"].get("figure", {}).get("caption"), "a figure needs a caption"
            assert following is not None, "a figure needs a table of its numbers after it"
            assert "nbval-ignore-output" not in tags(following)
            assert "text/html" in types(following), "the cell after a figure shows its numbers"


def test_every_captioned_cell_shows_a_picture(path):
    for cell in code_cells(path):
        if "figure" in cell.metadata.get("mystnb", {}):
            assert types(cell) & {"image/png", "image/svg+xml"}, "no picture is stored: run theorybook.tools.execute on it"


def test_a_table_is_shown(path):
    """Tables and pictures that move come out of a cell's last line alone."""
    for cell in code_cells(path):
        if not any(magic in cell.source for magic in ("!git", "%pip")):
            *before, _ = ast.parse(cell.source).body or [None]
            values = [node.value for one in before for node in ast.walk(one) if isinstance(node, ast.Expr)]
            shown = [
                ast.unparse(value) for value in values if re.match(r"(figures\.table|interactive_plot)\(", ast.unparse(value))
            ]
            assert not shown, f"not the last line of its cell, so nobody sees it: {shown[0][:60]}"


def test_what_is_not_compared_decides_nothing(path):
    for cell in code_cells(path):
        if {"nbval-ignore-output", "nbval-skip"} & set(tags(cell)):
            assert "verdict(" not in cell.source and "raises-exception" not in tags(cell)


def test_no_checked_cell_reads_the_clock(path):
    for cell in code_cells(path):
        if "nbval-ignore-output" not in tags(cell):
            assert not re.search(r"perf_counter|\btime\.|timeit|%%?time|datetime", cell.source), cell.source


def test_a_display_begins_after_an_empty_line(path):
    """Else MyST shows its first dollar and sets the rest as inline mathematics."""
    text = re.sub(r"^```.*?^```$", "", path.with_suffix(".md").read_text(encoding="utf-8"), flags=re.M | re.S)
    assert not re.findall(r"\S[^\n]*\n\$\$.*", text)


def test_one_hidden_install_cell(path):
    first, *others = code_cells(path)
    assert first.source == INSTALL, "make url writes the address and the branch"
    assert tags(first) == ["remove-cell"]
    assert not any("pip install" in cell.source for cell in others)


def test_no_path_of_a_machine(path):
    for text in (path.read_text(encoding="utf-8"), path.with_suffix(".md").read_text(encoding="utf-8")):
        assert not re.search(r"(?<![\w.:/])/(home|root|work|tmp|usr|opt|Users)/|[A-Z]:\\\\", text)


def test_it_is_in_the_table_of_contents(path):
    name = path.relative_to(ROOT).as_posix()
    assert name in [file.as_posix() for file in files(ROOT)]
    if is_record(path):
        toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
        below = {c["file"]: c.get("sections", []) for part in toc["parts"] for c in part["chapters"]}
        assert name in [entry["file"] for entry in below[f"book/{chapter_of(path)}.ipynb"]], "a record stands below its chapter"


# The form of the evidence ---------------------------------------------------------------------------------------------

#: Folded cells with the verdicts of all parts of one lemma; they are as long as they need be.
CHECK_TABLE = "table-of-checks"
FOLDED = {"hide-input", "hide-cell", "remove-cell", "remove-input"}
LONGEST, WIDEST = 40, 92
STATEMENTS = ("theorem", "lemma", "proposition", "corollary", "conjecture")


def boxes(path):
    """Label -> kind of every statement box of a chapter."""
    text = path.with_suffix(".md").read_text(encoding="utf-8")
    found = re.findall(r"^:::+\{prf:(\w+)\}[^\n]*\n((?::[\w-]+:.*\n)*)", text, flags=re.M)
    return {re.search(r":label:\s*(\S+)", options).group(1): kind for kind, options in found if ":label:" in options}


@functools.cache
def ledger_rows():
    return [row for file in sorted((BOOK / "ledger").glob("*.yml")) for row in load_ledger(file).values()]


def is_record(path):
    return path.parent.name == "record"


def chapter_of(path):
    """The chapter of a notebook, as rows name it: ``separation/threshold`` for itself and for its record."""
    return path.relative_to(BOOK).with_suffix("").as_posix().replace("/record/", "/")


def verdicts_of(path):
    """The notebook that holds the verdicts of a chapter."""
    return BOOK / f"{record_of(chapter_of(path), BOOK)}.ipynb"


def rows_of(path):
    """The ledger's rows of a notebook's chapter."""
    return [row for row in ledger_rows() if row.chapter == chapter_of(path)]


def functions(source):
    """The functions that a cell or module defines; cells with IPython's magics define none."""
    try:
        return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    except SyntaxError:
        return []


def first_after_imports(source):
    """The line after the imports with which a cell begins: nobody reads them in a row."""
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return 0
    return max((one.end_lineno for one in body if isinstance(one, ast.Import | ast.ImportFrom)), default=0)


def test_no_cell_is_too_long_or_too_wide(path):
    for cell in code_cells(path):
        if CHECK_TABLE not in tags(cell) and "remove-cell" not in tags(cell):
            lines = cell.source.splitlines()
            code = lines[first_after_imports(cell.source) :]
            assert len(code) <= LONGEST, f"{len(code)} lines, more than {LONGEST}: {lines[0]}"
            for line in lines:
                assert len(line) <= WIDEST, f"{len(line)} columns, more than {WIDEST}: {line}"


def test_every_boxed_statement_has_a_verdict_in_sight(path):
    shown = set()
    for cell in code_cells(verdicts_of(path)):
        if not {"hide-cell", "hide-output", "remove-cell", "remove-output"} & set(tags(cell)):
            shown |= {out["data"][MIME]["claim"] for out in cell.outputs if MIME in out.get("data", {})}
    judged = {row.label for row in rows_of(path) if row.id in shown}
    alone = {label for label, kind in boxes(path).items() if kind in STATEMENTS} - judged
    assert not alone, f"no row of this chapter with label {', '.join(sorted(alone))} has a verdict in sight"


def test_every_verdict_names_its_box_and_its_code(path):
    if is_record(path):
        pytest.skip("with its chapter")
    text = "".join(page.with_suffix(".md").read_text(encoding="utf-8") for page in {path, verdicts_of(path)})
    for row in rows_of(path):
        if row.outcome in COMPUTED:
            named = rf"(:label:|:name:|name:)\s*{re.escape(row.label or '?')}\s*$|^\({re.escape(row.label or '?')}\)="
            assert re.search(named, text, flags=re.M), f"{row.id}: {path.stem} has no label {row.label}"
            assert is_there(row.code), f"{row.id}: there is no {row.code}, as its row's code says"


def is_there(code):
    """Whether ``package.module.function`` or ``package.module.Class.method`` is there."""
    with contextlib.suppress(ModuleNotFoundError, AttributeError):
        return pkgutil.resolve_name(code) is not None
    return False


def test_every_printed_source_is_that_of_the_function_today(path):
    names = {}
    for cell in code_cells(path):
        try:
            body = ast.parse(cell.source).body
        except SyntaxError:  # a magic
            continue
        for node in body:
            shorthand = isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute)
            if shorthand or isinstance(node, ast.Import | ast.ImportFrom):
                with contextlib.suppress(NameError):  # of what only running the chapter gives
                    exec(compile(ast.Module([node], []), path.name, "exec"), names)
            elif isinstance(node, ast.Expr) and ast.unparse(node).startswith("formula("):
                source = repr(eval(compile(ast.Expression(node.value), path.name, "eval"), names))
                printed = [output.data.get("text/plain") for output in cell.outputs if "data" in output]
                assert source in printed, f"run theorybook.tools.execute on it: {cell.source}"


@functools.cache
def defined(path):
    """Functions of a module or notebook: (syntax tree as text, name)."""
    sources = [path.read_text(encoding="utf-8")] if path.suffix == ".py" else [c.source for c in code_cells(path)]
    return [(ast.dump(node), node.name) for source in sources for node in functions(source)]


def test_no_function_stands_in_two_places(path):
    """But a record repeats the set-up of its chapter that it needs."""
    others = [*sorted((ROOT / "lib").rglob("*.py")), *(p for p in NOTEBOOKS if chapter_of(p) != chapter_of(path))]
    elsewhere = {tree: other.name for other in others for tree, _ in defined(other)}
    for tree, name in defined(path):
        assert tree not in elsewhere, f"{name} stands in {elsewhere[tree]} too"


# The form of a chapter that is told (CONTRIBUTING.md, "A chapter") -------------------------------------------------------

#: Of a visible cell beside a statement: lines. Of a page: words of prose a visible line of code, pictures.
LINES, WORDS, PICTURES = 12, 10, 3


def told(path):
    """The text of a chapter."""
    name = path.relative_to(BOOK).with_suffix("").as_posix()
    if is_record(path) or "/" not in name or name.startswith("ledger/"):
        pytest.skip("not a chapter")
    return path.with_suffix(".md").read_text(encoding="utf-8")


def visible(path):
    return [cell for cell in code_cells(path) if not FOLDED & set(tags(cell))]


def lines(cell):
    return [line for line in cell.source.splitlines() if line.strip()]


def every_call(cell):
    try:
        return [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Call)]
    except SyntaxError:  # a magic
        return []


def test_a_chapter_tells_and_its_record_checks(path):
    told(path)
    judging = {"compare", "identity", "interval", "exponent", "proved", "measured", "verdict", "judge"}
    for cell in code_cells(path):
        found = {getattr(call.func, "id", getattr(call.func, "attr", "")) for call in every_call(cell)} & judging
        assert not found, f"{', '.join(found)} in the cell that begins {lines(cell)[0]!r}: checks stand in the record"
        assert not any(MIME in out.get("data", {}) for out in cell.outputs)
    assert f"](record/{path.stem})" in path.with_suffix(".md").read_text(encoding="utf-8").partition("\n## The record\n")[2]
    assert verdicts_of(path) != path, f"there is no book/{path.parent.name}/record/{path.stem}.md"


def test_a_record_shows_verdicts_and_folds_its_code(path):
    if not is_record(path):
        pytest.skip("not a record")
    assert not visible(path)
    labels = set(boxes(BOOK / f"{chapter_of(path)}.ipynb")) & {row.label for row in rows_of(path)}
    text = path.with_suffix(".md").read_text(encoding="utf-8")
    lost = [label for label in sorted(labels) if f"`{label}`" not in text]
    assert not lost, f"no link back to {', '.join(lost)}"


def test_visible_code_stands_beside_every_statement(path):
    text = told(path).partition("\n## The record")[0]
    cells = re.findall(r"^```\{code-cell\}[^\n]*\n(.*?)^```", text, flags=re.M | re.S)
    seen = [cell for cell in cells if not any(tag in cell.partition("\n\n")[0] for tag in FOLDED)]
    starts = list(re.finditer(rf"^:::+\{{prf:({'|'.join(STATEMENTS)})\}}[^\n]*\n:label: (\S+)", text, flags=re.M))
    for start, following in zip(starts, [*starts[1:], None]):
        beside = text[start.end() : following.start() if following else len(text)].partition("\n## ")[0]
        code = [cell.partition("\n\n")[2] if cell.startswith(":") else cell for cell in seen if cell in beside]
        assert code, f"{start[2]}: no visible cell stands beside it"
        shortest = min(sum(bool(line.strip()) for line in cell.splitlines()) for cell in code)
        assert shortest <= LINES, f"{start[2]}: {shortest} lines stand beside it, more than {LINES}"
        parts = [part for part in ("*Hypotheses.*", "*Claim.*") if part not in beside]
        assert not parts, f"{start[2]}: {', '.join(parts)} are missing"


def test_it_has_an_example_and_a_record_before_its_exercises(path):
    text = told(path)
    order = ["\n:::{prf:example}", "\n## The record\n", "\n:::{exercise}"]
    places = [text.find(what) for what in order]
    assert min(places) >= 0 and places == sorted(places), f"a chapter has, in this order, {', '.join(map(str.strip, order))}"


def test_every_exercise_has_a_solution(path):
    text = told(path)
    exercises = re.findall(r"^:::+\{exercise\}[^\n]*\n:label: (\S+)", text, flags=re.M)
    for number, after in enumerate(re.split(r"^:::+\{exercise\}", text, flags=re.M)[1:]):
        assert re.search(r"^:::+\{(solution\}|dropdown\} Solution)", after, flags=re.M), f"{exercises[number]} has no Solution"


#: What is mathematics in TeX, in letters and signs: an index, a power, a root.
BARE = re.compile(r"\w_\w|\^|\bsqrt\b")


def test_cards_print_their_mathematics_as_mathematics(path):
    for verdict in stored_verdicts(path):
        checks = [check for check in verdict["checks"] if check["method"] != "measured"]  # a prediction stays as committed
        words = [check["text"].rpartition(": ")[0] for check in checks]
        words = [re.sub(r" on [^:;]*(?=[:;]|$)", "", text) for text in words]  # the range of a proof is made from its box
        for text in (*words, verdict["remark"]):
            found = BARE.search(re.sub(r"\$[^$]*\$", "", text))
            assert not found, f"{verdict['claim']}: {found and found[0]} stands outside of dollars in {text!r}"


def test_a_record_says_what_it_is(path):
    if not is_record(path):
        pytest.skip("not a record")
    text = path.with_suffix(".md").read_text(encoding="utf-8")
    after = text.partition("\n# ")[2].partition("\n```\n")[2]  # the title, the cell that installs
    first = after.strip().partition("\n\n")[0]
    assert re.search(r"\brecord\b", first), f"the first paragraph says that it is a record: {first}"
    assert re.search(r"\]\([\w./-]+\)", first), "the first paragraph says by links which chapters are read first"


def test_it_has_pictures(path):
    """Of side statements they stand in the record, and two of three in the chapter."""
    told(path)
    shown = [pictures(path), pictures(verdicts_of(path))]
    assert shown[0] >= PICTURES - 1 and sum(shown) >= PICTURES, f"{shown[0]} pictures and {shown[1]} in the record"


def pictures(path):
    return sum(
        bool({"image/png", "image/svg+xml"} & set(data)) or 'class="movable"' in "".join(data.get("text/html", ""))
        for cell in code_cells(path)
        for data in (output.get("data", {}) for output in cell.outputs)
    )


def prose(text):
    """Words outside code, mathematics, front matter and options of directives."""
    text = re.sub(r"\A---.*?^---$|^(`{3,}).*?^\1|\$\$.*?\$\$", " ", text, flags=re.M | re.S)
    text = re.sub(r"^:[\w-]+:.*$|^:::.*$|\$[^$]*\$|\{[\w:]+\}`[^`]*`|`[^`]*`|\]\([^)]*\)", " ", text, flags=re.M)
    return re.findall(r"[A-Za-z][\w'’-]*", text)


def test_more_prose_than_code(path):
    words, code = len(prose(told(path))), sum(len(lines(cell)) for cell in visible(path))
    assert words >= WORDS * code, f"{words} words for {code} visible lines of code, fewer than {WORDS} a line"
