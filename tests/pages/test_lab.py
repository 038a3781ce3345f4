"""JupyterLab as ``make lab`` starts it, in a browser: a chapter is readable, and saved as it was; a change is saved alone."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BOOK, ROOT, commit

#: One whose outputs hold no picture, whose bytes other machines draw otherwise; and one that is only changed.
RUN, CHANGED = "exponential/one-knob", "separation/threshold"


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A repository with the book's settings and two of its chapters."""
    folder = tmp_path_factory.mktemp("lab") / "clone"
    for name in ("tools", "book/ledger"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints"))
    for name in (*(f"book/{chapter}{end}" for chapter in (RUN, CHANGED) for end in (".md", ".ipynb")), ".gitignore"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    commit(folder)
    return folder


@pytest.fixture(scope="module")
def server(copy):
    """Address of the server; the command is the Makefile's, the settings are none but the book's."""
    command = re.search(r"^\t\$\(BIN\)/(jupyter lab .*)$", (ROOT / "Makefile").read_text(), re.M).group(1).split()
    command += ["--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0", "--IdentityProvider.token="]
    home = {name: str(copy.parent / name.lower()) for name in ("HOME", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR")}
    process = subprocess.Popen(
        [Path(sys.executable).parent / command[0], *command[1:]],
        cwd=copy,
        env=os.environ | home,
        stderr=subprocess.PIPE,
        text=True,
    )
    said = []
    for line in process.stderr:
        said.append(line)
        if found := re.search(r"(http://127\.0\.0\.1:\d+)/lab", line):
            break
    else:
        pytest.fail("".join(said))
    process.stderr.close()
    yield found.group(1)
    process.terminate()
    process.wait()


class Lab:
    """A chapter, opened as a reader does."""

    def __init__(self, browser, server, chapter):
        self.page = browser.new_page(viewport={"width": 1280, "height": 20_000})  # cells out of sight are not drawn
        self.page.set_default_timeout(240_000)  # on a busy machine too
        self.refused = []
        self.page.on("response", lambda answer: self.refused.append(answer.url) if answer.status >= 400 else None)
        self.page.goto(f"{server}/lab/workspaces/{chapter.split('/')[0]}/tree/{chapter}.ipynb")
        ready = """async ([server, path]) => (await (await fetch(`${server}/api/sessions`)).json()).some((session) =>
            session.path === path && session.kernel.execution_state === "idle" && session.kernel.connections)"""
        self.page.wait_for_function(ready, arg=[server, f"{chapter}.ipynb"], polling=200)
        self.page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for()

    def read(self, until):
        """The text of its cells, once all are drawn and nothing in it is a directive or a role as it is typed."""
        cells = "[...document.querySelectorAll('.jp-MarkdownCell')].map((cell) => cell.innerText).join('\\n')"
        drawn = "(until) => { const text = %s; return text.includes(until) && !/:::|:label:|\\{[a-z:]+\\}`/.test(text) }"
        self.page.wait_for_function(drawn % cells, arg=until)
        return self.page.evaluate(cells)

    def run_all(self, cells):
        for item in ("Run", "Run All Cells"):
            self.page.get_by_role("menuitem", name=item, exact=True).click()
        done = self.page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]")
        done.filter(has_text=f"Executed {cells} cells").wait_for()

    def save(self):
        with self.page.expect_response(lambda a: a.request.method == "PUT" and "/api/contents/" in a.url) as answer:
            self.page.keyboard.press("Control+s")
        assert answer.value.ok, answer.value.text()
        assert not self.page.locator(".jp-Dialog").all_inner_texts()
        assert not self.refused


@pytest.fixture
def lab(browser, server):
    opened = []

    def look(chapter):
        opened.append(Lab(browser, server, chapter))
        return opened[-1]

    yield look
    for one in opened:
        one.page.close()


def git(copy, *arguments):
    return subprocess.run(["git", *arguments], cwd=copy, capture_output=True, text=True, check=True).stdout


def test_a_chapter_is_readable_runs_and_is_saved_as_it_was(copy, lab):
    chapter = lab(RUN)
    source = (BOOK / RUN).with_suffix(".md").read_text()
    exercises = source.count("{exercise}")
    text = chapter.read(until=f"Exercise {exercises}\n")
    assert len(re.findall(r"^Exercise \d+$", text, re.M)) == exercises > 0
    for kind, title in re.findall(r"\{prf:(\w+)\} (.*)", source):
        assert re.search(rf"^{kind} \d+ \({re.escape(title)}\)", text, re.I | re.M), title
    chapter.run_all(source.count("{code-cell}"))
    chapter.save()
    assert git(copy, "status", "--porcelain") == ""


def test_a_changed_cell_is_saved_alone(copy, lab):
    chapter = lab(CHANGED)
    chapter.page.locator(".jp-CodeCell .cm-content").filter(has_text="figures.use_style()").first.click()
    chapter.page.keyboard.press("Control+End")
    chapter.page.keyboard.type("\nchanged = True")
    chapter.save()
    difference = git(copy, "diff", "-U0", "--", f"book/{CHANGED}.*")
    changed = [line for line in difference.splitlines() if re.match(r"[+-](?![+-])", line)]
    cell = (BOOK / CHANGED).with_suffix(".md").read_text().partition("figures.use_style()")[2].partition("\n```")[0]
    last = json.dumps(cell.splitlines()[-1]).removesuffix('"')
    assert changed == [f'-    {last}"', f'+    {last}\\n",', '+    "changed = True"', "+changed = True"]
