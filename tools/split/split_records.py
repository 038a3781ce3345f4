"""Throw-away: tell each chapter's record apart from its story.

    cd <worktree>; .venv/bin/python tools/split/split_records.py [part/slug ...]      # writes book/<part>/<slug>.md, record/<slug>.md, _toc.yml
    cd <worktree>; .venv/bin/python tools/split/split_records.py --compare [ref]      # after execution: verdicts and outputs, before and after

Before: the notebooks of git's ref (HEAD). Overrides by hand: tools/split/split_overrides.py
"""
import ast, collections, html, importlib.util, json, re, subprocess, sys
from pathlib import Path

ROOT = Path.cwd()
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "lib")]
import yaml
import mutation
from mutation import names_set_in, root

BOOK = ROOT / "book"
RECORDS = {"patches/lemmas-from-samples", "patches/lemmas-in-expectation", "sensitivity/attention-proof", "sensitivity/paper-sizes"}
CHECKS = {"measured", "compare", "identity", "interval", "exponent", "proved", "verdict", "judge"}
MIMES = ("application/vnd.attention-theory.verdict+json", "application/vnd.theorybook.verdict+json")
LONGEST = 40
CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```[ \t]*$\n?", re.M | re.S)
report = collections.defaultdict(list)

spec = importlib.util.spec_from_file_location("split_overrides", "tools/split/split_overrides.py")
over = importlib.util.module_from_spec(spec); spec.loader.exec_module(over)


def git_show(path, ref="HEAD"):
    done = subprocess.run(["git", "show", f"{ref}:{path}"], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


# ---- cells ------------------------------------------------------------------------------------------------------------
class Cell:
    def __init__(self, head, source, tags, section, box, outputs):
        self.head, self.source, self.tags, self.section, self.box = head, source, tags, section, box
        self.outputs = outputs
        self.statements = []  # of Statement

    @property
    def visible(self):
        return not {"hide-input", "hide-cell", "remove-cell", "remove-input"} & self.tags

    @property
    def claims(self):
        return [o["data"][m]["claim"] for o in self.outputs for m in MIMES if m in o.get("data", {})]

    @property
    def shows(self):
        return bool(self.outputs)


class Statement:
    """Source lines with the comments before it."""

    def __init__(self, cell, text, node):
        self.cell, self.text, self.node = cell, text, node


def statements_of(cell, source):
    tree = ast.parse(source)
    lines, found, start = source.split("\n"), [], 0
    for node in tree.body:
        first = min([node.lineno] + [d.lineno for d in getattr(node, "decorator_list", [])]) - 1
        text = "\n".join(lines[start : node.end_lineno]).strip("\n")
        # a comment at the end of the line is in it
        found.append(Statement(cell, text, ast.parse(text).body[0]))
        start = node.end_lineno
    rest = "\n".join(lines[start:]).strip("\n")
    if rest and found:
        found[-1].text += "\n" + rest
    return found


def parse(name, ref):
    text = git_show(f"book/{name}.md", ref)
    notebook = json.loads(git_show(f"book/{name}.ipynb", ref))
    executed = [c for c in notebook["cells"] if c["cell_type"] == "code"]
    pieces, last, k, section, box = [], 0, 0, "", None
    for found in CELL.finditer(text):
        pieces.append(text[last : found.start()])
        body = found[1]
        if body.startswith("---\n"):
            head, _, source = body[4:].partition("\n---\n")
            options = yaml.safe_load(head); tags = set(options.get("tags", []))
            head = f"---\n{head}\n---\n"
        else:
            head = ""
            while (m := re.match(r":[\w-]+:[^\n]*\n", body)):
                head += m[0]; body = body[m.end():]
            tags = set(re.findall(r"[\w-]+", (re.search(r":tags: \[(.*)\]", head) or [None, ""])[1]))
            source = body.removeprefix("\n")
        section, box = context(pieces[-1], section, box)
        source = source.rstrip("\n")
        stored = "".join(executed[k]["source"]) if isinstance(executed[k]["source"], list) else executed[k]["source"]
        assert stored == source, (name, k, stored[:80], source[:80])
        pieces.append(Cell(head, source, tags, section, box, executed[k]["outputs"]))
        k, last = k + 1, found.end()
    pieces.append(text[last:])
    return pieces


def context(text, section, box):
    for m in re.finditer(r"^## (.*)$|^:::+\{prf:(\w+)\}[^\n]*\n:label: (\S+)", text, flags=re.M):
        if m[1]:
            section, box = m[1], None
        elif m[2] not in ("proof", "example"):
            box = m[3]
    return section, box


# ---- checks taken out --------------------------------------------------------------------------------------------------
def uses(node, names):
    """Whether it takes one of the names from earlier statements, or calls evidence.judge and its kin."""
    if isinstance(node, ast.Starred):
        node = node.value
    statement = node if isinstance(node, ast.stmt) else ast.Expr(node)
    one = mutation.flow(statement)
    return bool((one.takes | one.later) & names) or any(
        isinstance(n, ast.Attribute) and n.attr in CHECKS and isinstance(n.value, ast.Name) and n.value.id in ("evidence", "theorybook")
        for n in ast.walk(node)
    )


MODULES = set()  # imported names: what is done to them is no change


def binds(node):
    return mutation.flow(node).binds - MODULES


def strip(statement, tainted, log):
    """The text of a statement without its checks ('' if nothing is left); what only they bind is tainted."""
    text = _strip(statement.text, ast.parse(statement.text).body[0], tainted, log)
    return text


def _strip(text, node, tainted, log):
    lines = text.split("\n")
    edits = []  # (first line, last line, new text or None), 0-based inclusive

    def visit(node):
        """True if all of it goes."""
        body_fields = [f for f in ("body", "orelse", "finalbody") if isinstance(getattr(node, f, None), list)]
        compound = isinstance(node, (ast.For, ast.While, ast.If, ast.With, ast.Try))
        if not uses(node, tainted):
            if not compound and not isinstance(node, (ast.Expr, ast.FunctionDef)):
                tainted.difference_update(mutation.flow(node).sets - CHECKS)
            elif isinstance(node, ast.FunctionDef):
                tainted.discard(node.name)
            return False
        if compound:
            header = [getattr(node, f) for f in ("iter", "test") if hasattr(node, f)] + [i.context_expr for i in getattr(node, "items", [])]
            if any(uses(h, tainted) for h in header):
                tainted.update(binds(node)); return True
            if isinstance(node, ast.For):
                tainted.difference_update(names_set_in(node.target))
            gone = 0; total = 0
            for f in body_fields:
                for one in getattr(node, f):
                    total += 1
                    if visit(one):
                        gone += 1; edits.append((first_line(one), one.end_lineno - 1, None))
            if f == "orelse" and gone and node.orelse and all(False for _ in ()):
                pass
            left = [one for one in node.body if not e_in(edits, one)]
            plain = gone and isinstance(node, ast.For) and all(
                isinstance(one, ast.Assign) and all(isinstance(target, (ast.Name, ast.Tuple)) for target in one.targets) for one in left
            )  # what is left only prepared the checks
            if gone == total or not left or plain:
                # nothing left of the main body
                return True
            return False
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name) and node.value.func.id == "print":
            call = node.value
            kept = [a for a in call.args if not uses(a, tainted)]
            segments = [ast.get_source_segment(text, a) for a in kept]
            if not kept or all(isinstance(a, ast.Constant) for a in kept):
                return True
            if isinstance(kept[-1], (ast.Constant, ast.JoinedStr)) and kept[-1] is not call.args[-1]:
                segments[-1] = re.sub(r'\\n("|\')$', r"\1", segments[-1])
            for k in call.keywords:
                if not (k.arg == "sep" and len(kept) == 1) and not uses(k.value, tainted):
                    segments.append(ast.get_source_segment(text, k))
            indent = " " * node.col_offset
            edits.append((node.lineno - 1, node.end_lineno - 1, f"{indent}print({', '.join(segments)})"))
            return False
        tainted.update(binds(node))
        if isinstance(node, ast.FunctionDef):
            tainted.add(node.name)
        return True

    def first_line(node):
        first = min([node.lineno] + [d.lineno for d in getattr(node, "decorator_list", [])]) - 1
        while first > 0 and lines[first - 1].strip().startswith("#"):
            first -= 1
        return first

    def e_in(edits, node):
        return any(new is None and a <= node.lineno - 1 and node.end_lineno - 1 <= b for a, b, new in edits)

    if visit(node):
        return ""
    if not edits:
        return text
    for a, b, new in sorted(edits, reverse=True):
        lines[a : b + 1] = [] if new is None else [new]
    return "\n".join(lines).strip("\n")


# ---- data flow -----------------------------------------------------------------------------------------------------------
def flow_of(s):
    """A table or picture that is shown changes nothing."""
    one = mutation.flow(s.node)
    for loop in ast.walk(s.node):  # a loop inside that fills what it goes through
        if isinstance(loop, ast.For) and loop is not s.node and names_set_in(loop.target) & mutation.filled(loop):
            one = one._replace(binds=one.binds | mutation.flow(ast.Expr(loop.iter)).takes)
    shown = set() if is_import(s) else {"figures", "plt"}
    return one._replace(binds=one.binds - shown, sets=one.sets - shown)


GENERATORS = re.compile(r"\b(generator|Generator|default_rng|iter)\(")


def flows_of(statements):
    """Like mutation.flow, with draws: who is given a generator changes it."""
    draws, found = set(), []
    for s in statements:
        one = flow_of(s)
        found.append(one._replace(binds=one.binds | (one.takes & draws)))
        if isinstance(s.node, ast.Assign) and GENERATORS.search(s.text):
            value = s.node.value
            called = isinstance(value, ast.Call) and GENERATORS.search(ast.unparse(value.func) + "(")
            names = set().union(*map(names_set_in, s.node.targets))
            if called or (isinstance(value, ast.Tuple) and any(isinstance(v, ast.Call) and GENERATORS.search(ast.unparse(v.func) + "(") for v in value.elts)):
                draws |= names
    return found


def values_taken(node):
    """Names that are taken otherwise than to be called right there."""
    called = {id(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)}
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and id(n) not in called}


def needed(goals, statements, flows):
    """The goals and what they read, directly or through others; a function reads its globals where it is used."""
    import builtins
    lasting = set(dir(builtins)).union(*(f.sets for f, s in zip(flows, statements) if is_import(s)))
    carry, makes, takes = {}, set(), []  # name -> globals of functions in its value; names of what makes functions
    for s, one in zip(statements, flows):
        reached, new = set(one.takes | one.later), set(one.takes | one.later)
        while new:
            new = set().union(*(carry.get(n, set()) for n in new)) - reached
            reached |= new
        # at its definition a function reads nothing, what calls it does
        takes.append(one.takes - one.later | set().union(*(reached for _ in [0] if not isinstance(s.node, ast.FunctionDef))) if not isinstance(s.node, ast.FunctionDef) else one.takes - one.later)
        held = set(one.later)
        values = values_taken(s.node)
        for n in one.takes:
            if n in values or n in makes:
                held |= carry.get(n, set())
        nested = isinstance(s.node, ast.FunctionDef) and any(isinstance(x, (ast.Lambda, ast.FunctionDef, ast.ClassDef)) for x in ast.walk(s.node) if x is not s.node)
        for n in one.binds:
            if isinstance(s.node, ast.Assign) and n in one.sets or isinstance(s.node, ast.FunctionDef):
                carry[n] = set(held)
            else:
                carry[n] = carry.get(n, set()) | held
            if nested or isinstance(s.node, ast.ClassDef):
                makes.add(n)
    goals = set(map(id, goals))
    found, want = [], set()
    for s, one, read in zip(reversed(statements), reversed(flows), reversed(takes)):
        b = one.binds - lasting if isinstance(s.node, ast.For) else one.binds
        if id(s) in goals or b & want:
            found.insert(0, s)
            want = want - one.sets | read
    return found


# ---- writing --------------------------------------------------------------------------------------------------------------
def cell_text(head, source):
    between = "" if head.startswith("---") else "\n" if head else ""
    return f"```{{code-cell}} ipython3\n{head}{between}{source}\n```\n"


def join(statements):
    """Sources of statements, with the empty lines that ruff wants around functions (ruff format does the rest)."""
    out = ""
    for i, s in enumerate(statements):
        block = isinstance(s.node, (ast.FunctionDef, ast.ClassDef))
        before = i and isinstance(statements[i - 1].node, (ast.FunctionDef, ast.ClassDef))
        out += ("\n" * (3 if block or before else 1) if i else "") + s.text
    return out


def is_import(s):
    return isinstance(s.node, (ast.Import, ast.ImportFrom))


def pruned(s, want):
    """An import with only the names that are wanted; None without any."""
    names = [a for a in s.node.names if (a.asname or a.name.split(".")[0]) in want]
    if not names:
        return None
    said = ", ".join(a.name + (f" as {a.asname}" if a.asname else "") for a in names)
    text = f"from {s.node.module} import {said}" if isinstance(s.node, ast.ImportFrom) else f"import {said}"
    return Statement(s.cell, text, ast.parse(text).body[0])


def wanted(statements):
    return set().union(*(mutation.flow(s.node).takes | mutation.flow(s.node).later for s in statements if not is_import(s)))


class Writer:
    """Cells in order; set-up that was left behind comes before the first cell that needs it."""

    def __init__(self):
        self.pending = []

    def before(self, cell_statements):
        """Of the pending, those that must stand before these: what they need, what touches the same names, and all of the cells of these."""
        chosen = set()
        while True:
            now = [*(s for s in self.pending if id(s) in chosen), *cell_statements]
            more = set(chosen)
            for i, s in enumerate(self.pending):
                f = flow_of(s)
                after = [*(o for o in self.pending[i + 1 :] if id(o) in more), *cell_statements]
                others = [flow_of(o) for o in after]
                touched = set().union(*(o.takes | o.later | o.binds for o in others)) if others else set()
                bound = set().union(*(o.binds for o in others)) if others else set()
                if f.binds & touched or (f.takes | f.later) & bound or any(o.cell is s.cell for o in self.pending if id(o) in more):
                    more.add(id(s))
            if more == chosen:
                break
            chosen = more
        found = [s for s in self.pending if id(s) in chosen]
        self.pending = [s for s in self.pending if id(s) not in chosen]
        return found


def setup_cells(statements):
    """Hidden cells of at most forty lines."""
    cells, now = [], []
    for s in statements:
        if now and (join(now + [s])).count("\n") + 1 > LONGEST - 4:
            cells.append(now); now = []
        now.append(s)
    return cells + [now] if now else cells


HIDE = ":tags: [hide-input]\n"


def emit(out, writer, cell, statements, head, hidden, table=False):
    """A cell, with what must stand before it."""
    first = writer.before(statements)
    together = first + statements
    if first and hidden and (table or join(together).count("\n") + 1 <= LONGEST - 2) and not head.startswith("---"):
        out.append(cell_text(head, join(together)))
        return
    for group in setup_cells(first):
        out.append(cell_text(HIDE, join(group)))
    out.append(cell_text(head, join(statements) if [s.text for s in statements] != [s.text for s in cell.statements] else cell.source))


# ---- a chapter ---------------------------------------------------------------------------------------------------------------
def split(name, ref):
    part, slug = name.split("/")
    pieces = parse(name, ref)
    cells = [p for p in pieces if isinstance(p, Cell)]
    install, cells = cells[0], cells[1:]
    assert "pip install" in install.source
    replaced = {key: value for (where, key), value in over.CELLS.items() if where == name}
    used = set()
    everything = []
    for c in cells:
        c.statements = statements_of(c, c.source)
        everything += c.statements
    imports = next(c for c in cells if any(is_import(s) for s in c.statements))
    record_cells = [c for c in cells if c.section == "The record"]

    # which cells hold checks
    MODULES.clear()
    MODULES.update(*(mutation.flow(s.node).sets for s in everything if is_import(s)))
    tainted = set()
    for s in everything:
        if isinstance(s.node, ast.ImportFrom):
            tainted |= {a.asname or a.name for a in s.node.names if a.name in CHECKS}
    chapter_text = {}  # id(statement) -> text in the chapter
    for c in cells:
        c.touched = False
        key = next((k for k in replaced if c.source.startswith(k) or k in [line.strip() for line in c.source.split("\n")] or k in c.source.split("\n")), None)
        for s in c.statements:
            if is_import(s):
                chapter_text[id(s)] = s.text; continue
            text = strip(s, tainted, None)
            if text != s.text:
                c.touched = True
            chapter_text[id(s)] = text
        c.override = None
        if key is not None:
            used.add(key); c.override = replaced[key]
        formula = re.search(r"^formula\(", c.source, flags=re.M) and "remove" not in c.head
        c.kind = (
            "imports" if c is imports else
            "record" if c in record_cells or {"further-evidence", "table-of-checks"} & c.tags else
            "record" if formula and not c.visible and re.search(r"\b(paper|printed)\.", c.source) else
            "checked" if c.touched or c.override is not None else "story"
        )
    for key in set(replaced) - used:
        report["override not used"].append(f"{name}: {key}")

    # the chapter --------------------------------------------------------------------------------------------------------
    story, goals = [], []
    kept_cells, kept_tables = {}, set()
    for c in cells:
        own = []
        if c.override is not None:
            own = statements_of(c, c.override) if c.override else []
        else:
            for s in c.statements:
                text = chapter_text[id(s)]
                if text:
                    own.append(s if text == s.text else Statement(c, text, ast.parse(text).body[0]))
        kept_cells[id(c)] = own
        story += own
        if c.kind == "story":
            goals += own if c.visible or c.shows else []
        elif c.kind == "checked":
            outputs = [s for s in own if prints(s)]
            if c.override is not None:
                goals += own
            elif outputs or (own and c.shows and own[-1].node is not None and isinstance(own[-1].node, ast.Expr)):
                goals += [s for s in own if prints(s) or isinstance(s.node, ast.Expr)]
            elif c.visible or c.section == "Exercises":
                report["nothing printed is left"].append(f"{name} [{c.section}]\n{c.source}")
        elif c.kind == "imports":
            goals += [s for s in own if isinstance(s.node, ast.Expr)]
        elif c.kind == "record":
            told = [s for s in own if any(where == name and words in s.text for where, words in over.KEEP)]
            goals += told
            kept_tables.update(s.text for s in told)
    flows = flows_of(story)
    keep = set(map(id, needed(goals, story, flows)))
    goal_ids = set(map(id, goals))
    missing = names_missing(story, keep)

    # its text
    out, writer, where = [], Writer(), {}
    wants = wanted([s for s in story if id(s) in keep])
    i = 0
    before_record = True
    record_pieces, record_label = [], ""
    section, box = "", None
    for p in pieces:
        if isinstance(p, str):
            if section == "The record" and not re.search(r"^## ", p, flags=re.M):
                record_pieces.append(p); continue
            if re.search(r"^(\([\w-]+\)=\n)?## The record\n", p, flags=re.M):
                head, mark, tail = re.split(r"(^(?:\([\w-]+\)=\n)?## The record\n)", p, maxsplit=1, flags=re.M)
                out.append(head)
                record_label = mark
                out.append(pointer(name, slug))
                nxt = re.search(r"^(\([\w-]+\)=\n)?## ", tail, flags=re.M)
                if nxt:
                    record_pieces.append(tail[: nxt.start()]); out.append(tail[nxt.start():])
                else:
                    record_pieces.append(tail)
            elif section == "The record":
                nxt = re.search(r"^(\([\w-]+\)=\n)?## ", p, flags=re.M)
                record_pieces.append(p[: nxt.start()]); out.append("\n" + p[nxt.start():])
            else:
                out.append(p)
            section, box = context(p, section, box)
            continue
        c = p
        if c is install:
            out.append(cell_text(c.head, c.source)); continue
        if section == "The record":
            record_pieces.append(c)
        own = [s for s in kept_cells[id(c)] if id(s) in keep]
        if c is imports:
            import_at = len(out)
            out.append("")
            continue
        if not own:
            continue
        own = [pruned(s, wants) if is_import(s) else s for s in own]
        if not any(id(s) in goal_ids for s in own):
            writer.pending += own
            continue
        if c.kind == "record":
            first = [s for s in own if id(s) not in goal_ids]
            writer.pending += first
            emit(out, writer, c, [s for s in own if id(s) in goal_ids], HIDE, True)
            continue
        hidden = not c.visible
        whole = c.kind == "story"
        emit(out, writer, c, own, c.head, hidden)
    left = set(map(id, writer.pending))
    wants = wanted([s for s in story if id(s) in keep and id(s) not in left])
    kept = [pruned(s, wants) if is_import(s) else s for s in own_imports(imports, keep - left, wants)]
    out[import_at] = cell_text(imports.head, join([s for s in kept if s]))
    chapter = tidy("".join(spaced(out)))

    for old, new in over.TEXT.get(name, ()):
        if old not in chapter:
            report["text not found"].append(f"{name}: {old[:60]}")
        chapter = chapter.replace(old, new)
    # the record ----------------------------------------------------------------------------------------------------------
    rgoals = []
    verdict_cells = [c for c in cells if c.kind == "record"]
    checks_needed = []
    for c in cells:
        if c.kind == "record":
            rgoals += [s for s in c.statements if s.text not in kept_tables]
        elif c.kind == "imports":
            pass
        elif c.touched and c.claims:
            rgoals += [s for s in c.statements if "verdict(" in s.text]
    rflows = flows_of(everything)
    rkeep_all = needed(rgoals, everything, rflows)
    rkeep = set(map(id, rkeep_all))
    # checks that are only printed
    for c in cells:
        if c.kind == "checked" and c.section != "Exercises":
            for s in c.statements:
                if id(s) not in rkeep and chapter_text[id(s)] != s.text and any(f"{k}(" in s.text for k in CHECKS):
                    rgoals.append(s); report["printed check kept in the record"].append(f"{name} [{c.section}]: {s.text[:100]}")
    rkeep_all = needed(rgoals, everything, rflows)
    rkeep = set(map(id, rkeep_all))
    rgoal_ids = set(map(id, rgoals))
    rwants = wanted([s for s in everything if id(s) in rkeep])
    rwriter, rout = Writer(), []
    title = re.search(r"^# (.*)$", pieces[0], flags=re.M)[1]
    front = pieces[0][: pieces[0].index("\n# ") + 1]
    rout.append(front + f"# {title}: the record\n\n")
    rout.append(cell_text(install.head, install.source))
    rout.append(over.OPENING.get(name) or opening(title, slug))
    import_at = len(rout)
    rout.append("")
    # what became of the statements: the text before the first cell or heading
    first = record_pieces[0] if record_pieces and isinstance(record_pieces[0], str) else ""
    cut = re.search(r"^(\([\w-]+\)=\n)?### |^:::+\{prf:", first, flags=re.M)
    fates, rest = (first[: cut.start()], first[cut.start():]) if cut else (first, "")
    label = record_label.partition("## ")[0]
    fates = re.sub(r"\b(on|of) this page\b", r"in the chapter", fates)
    rout.append(f"\n{label}## What became of the statements\n{relink(fates, part)}")
    if label and "|" not in fates:
        report["no table of fates"].append(name)
    section = box = None
    said, linked = None, set()
    on_page = set(re.findall(r"^:::+\{prf:\w+\}[^\n]*\n:label: (\S+)", chapter, flags=re.M))
    rows = ledger_rows()

    def labels(cell):
        """The chapter's boxes that the verdicts of a cell are about."""
        found = [rows[claim] for claim in cell.claims if claim in rows]
        return [label for label in found if label in on_page]

    for c in cells:
        if c is imports or c.section == "The record":
            continue
        own = [s for s in c.statements if id(s) in rkeep]
        if not own:
            continue
        own = [pruned(s, rwants) if is_import(s) else s for s in own]
        printing = c.kind != "record" and any(id(s) in rgoal_ids for s in own)
        if c.kind != "record" and not printing:
            rwriter.pending += own; continue
        if c.section != section:
            section, said = c.section, None
            rout.append(f"\n## {relink(section, part)}\n\n" if section else "\n## By hand\n\n")
        back = [label for label in dict.fromkeys([*([c.box] if c.box != said else []), *labels(c)]) if label and label not in linked]
        if back:
            said = c.box
            linked.update(back)
            rout.append(f"\nThe checks of {listed(back)}:\n\n")
        head = HIDE if c.kind != "record" else re.sub(r"(, )?further-evidence", "", c.head)
        if "hide-input" not in head and "hide-cell" not in head:
            head = HIDE
        emit(rout, rwriter, c, own, head, True, "table-of-checks" in head)
    if rest:
        rout.append("\n" + relink(promote(rest), part))
    elif record_pieces[1:] and isinstance(record_pieces[1], Cell):
        rout.append("\n## Further evidence\n\n")
    told = "".join(p for p in record_pieces if isinstance(p, str))
    for p in record_pieces[1:]:
        if isinstance(p, str):
            rout.append(relink(promote(p), part))
        else:
            back = [label for label in dict.fromkeys(labels(p)) if label not in linked and f"`{label}`" not in told]
            if back:
                linked.update(back)
                rout.append(f"\nThe checks of {listed(back)}:\n\n")
            own = [pruned(s, rwants) if is_import(s) else s for s in p.statements if id(s) in rkeep]
            head = re.sub(r"(, )?further-evidence", "", p.head)
            if p.visible:
                head = HIDE
            emit(rout, rwriter, p, own, head, True, "table-of-checks" in head)
    left = set(map(id, rwriter.pending))
    rwants = wanted([s for s in everything if id(s) in rkeep and id(s) not in left])
    kept = [pruned(s, rwants) if is_import(s) else s for s in record_imports(imports, rkeep - left, rwants, everything)]
    rout[import_at] = cell_text(HIDE, join([s for s in kept if s]))
    record = tidy("".join(spaced(rout)))
    pieces = re.split(r"(^```\{code-cell\}.*?^```[ \t]*$\n?)", record, flags=re.M | re.S)
    pieces[0::2] = [re.sub(r"(\{prf:ref\}`[^`]*`),? in the record\b", r"\1", piece) for piece in pieces[0::2]]
    return chapter, "".join(pieces)


def ledger_rows():
    """Claim -> label."""
    found = {}
    for path in sorted((BOOK / "ledger").glob("*.yml")):
        for row in yaml.load(path.read_text(), Loader=yaml.CSafeLoader):
            found[row["id"]] = row.get("label")
    return found


def listed(labels):
    refs = [f"{{prf:ref}}`{label}`" for label in labels]
    return " and ".join(filter(None, (", ".join(refs[:-1]), refs[-1])))


def prints(s):
    return any(isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in ("print", "formula") for n in ast.walk(s.node)) or (
        isinstance(s.node, ast.Expr) and re.match(r"(figures\.table|movable|interactive_plot|plt\.show)\(", s.text.lstrip("# \n")) is not None
    ) or "plt.show()" in s.text


def own_imports(cell, keep, wants):
    return [s for s in cell.statements if is_import(s) or id(s) in keep]


def record_imports(cell, keep, wants, everything):
    found = []
    for s in cell.statements:
        if is_import(s) or id(s) in keep:
            found.append(s)
        elif isinstance(s.node, ast.Expr) and "use_style" in s.text:
            found.append(s)
            wants.add("figures")
        elif isinstance(s.node, ast.Expr) and "use_style" not in s.text and not prints(s):
            found.append(s)
            wants |= mutation.flow(s.node).takes
    return found


def names_missing(story, keep):
    return set()


def pointer(name, slug):
    return over.POINTER.format(slug=slug)


def opening(title, slug):
    return f"\nThe record of the chapter [{title}](../{slug}), for readers who doubt one of its statements: every verdict with the checks behind it, side lemmas, and what became of each statement of the paper. The chapter itself tells what the statements mean; read it first.\n\n"


def promote(text):
    return re.sub(r"^###", "##", text, flags=re.M)


def relink(text, part):
    def other(m):
        target = m[2]
        path, _, anchor = target.partition("#")
        if re.match(r"\w+:", target) or not path:
            return m[0]
        here = BOOK / part / path
        if here.exists() or here.with_suffix(".md").exists() or (BOOK / part / f"{path}.md").exists():
            return f"{m[1]}../{target})"
        return m[0]
    text = re.sub(r"(\]\()([^)\s]+)\)", other, text)
    return re.sub(r"(\{doc\}`[^`<]*<)([^>`]+)>", r"\1../\2>", text)


def spaced(pieces):
    """An empty line between a cell and what follows."""
    for p in pieces:
        yield p if p.endswith("\n\n") or not p.startswith("```{code-cell}") else p
        if p.startswith("```{code-cell}"):
            yield "\n"


def tidy(text):
    text = re.sub(r"\n{3,}(?=```\{code-cell\})", "\n\n", text)
    # outside of cells at most one empty line
    parts = re.split(r"(^```\{code-cell\}.*?^```[ \t]*$\n?)", text, flags=re.M | re.S)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"\n{3,}", "\n\n", parts[i])
        if i:
            parts[i] = "\n" + parts[i].lstrip("\n")
    return "".join(parts).rstrip("\n") + "\n"


def toc(names):
    path = ROOT / "_toc.yml"
    text = path.read_text()
    for name in names:
        part, slug = name.split("/")
        line = f"      - file: book/{name}.ipynb\n"
        nested = f"        sections:\n          - file: book/{part}/record/{slug}.ipynb\n"
        if line + nested not in text:
            assert line in text, name
            text = text.replace(line, line + nested)
    path.write_text(text)


def chapters():
    found = yaml.safe_load((ROOT / "_toc.yml").read_text())
    names = [c["file"] for p in found["parts"] for c in p["chapters"]]
    names = [n.removeprefix("book/").removesuffix(".ipynb") for n in names if n.endswith(".ipynb")]
    return [n for n in names if "/" in n and not n.startswith("ledger/") and n not in RECORDS]


# ---- before and after -----------------------------------------------------------------------------------------------------------
def verdicts(cells):
    data = [o["data"][m] for c in cells for o in c.get("outputs", []) for m in MIMES if m in o.get("data", {})]
    return [(v["claim"], v["outcome"], tuple(c["text"] for c in v["checks"]), tuple(c["method"] for c in v["checks"]), v["remark"]) for v in data]


def texts(cell):
    found = []
    for o in cell.get("outputs", []):
        data = o.get("data", {})
        if any(m in data for m in MIMES) or any(k.startswith("image/") for k in data):
            continue
        found.append(str(o.get("text", "")) + json.dumps({k: v for k, v in data.items()}, sort_keys=True))
    return found


def compare_all(names, ref):
    bad = 0
    total = [0, 0]
    for name in names:
        part, slug = name.split("/")
        before = json.loads(git_show(f"book/{name}.ipynb", ref))["cells"]
        chapter = json.loads((BOOK / f"{name}.ipynb").read_text())["cells"]
        record = json.loads((BOOK / part / "record" / f"{slug}.ipynb").read_text())["cells"]
        old, new = collections.Counter(verdicts(before)), collections.Counter(verdicts(record))
        total[0] += old.total(); total[1] += new.total()
        if verdicts(chapter):
            print(f"{name}: the chapter has verdicts"); bad += 1
        for v in old - new: print(f"{name}: LOST {v}"); bad += 1
        for v in new - old: print(f"{name}: NEW {v}"); bad += 1
        known = collections.defaultdict(list)
        for c in before:
            if c["cell_type"] == "code":
                known["".join(c["source"])].append(texts(c))
        for where, cells in (("chapter", chapter), ("record", record)):
            for c in cells:
                src = "".join(c["source"])
                if c["cell_type"] == "code" and src in known and texts(c) not in known[src]:
                    print(f"{name} {where}: another output of {src[:70]!r}"); bad += 1
    print(f"verdicts before {total[0]}, after {total[1]}; {bad} differences")
    return bad


def main():
    args = sys.argv[1:]
    ref = next((a.partition("=")[2] for a in args if a.startswith("--ref=")), "HEAD")
    names = [a for a in args if not a.startswith("--")] or chapters()
    if "--compare" in args:
        sys.exit(bool(compare_all(names, ref)))
    for name in names:
        part, slug = name.split("/")
        chapter, record = split(name, ref)
        (BOOK / f"{name}.md").write_text(chapter)
        folder = BOOK / part / "record"; folder.mkdir(exist_ok=True)
        (folder / f"{slug}.md").write_text(record)
    toc(names)
    subprocess.run([sys.executable, "tools/lint.py", "--fix", *[f"book/{n}.md" for n in names], *[f"book/{n.replace('/', '/record/')}.md" for n in names]])
    for what, found in report.items():
        print(f"== {what}: {len(found)}")
        for one in found: print("  ", one)


if __name__ == "__main__":
    main()
