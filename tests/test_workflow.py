"""What goes wrong around the book is one sentence with file and remedy, and what was there stays as it was."""

import os
import shutil
import subprocess
import sys
import time

import pytest
import repository_url
from conftest import ROOT, commit
from theorybook import book
from theorybook.tools import execute

CHAPTER = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# A chapter

```{code-cell} ipython3
print(1 + 1)
```
"""


@pytest.fixture
def chapter(tmp_path):
    folder = tmp_path / "a folder, ümläut"
    folder.mkdir()
    (folder / "one.md").write_text(CHAPTER, encoding="utf-8")
    return folder / "one.md"


def test_a_chapter_is_run_and_stored_and_a_second_run_writes_nothing(chapter):
    assert execute.execute(chapter) == ""
    stored = chapter.with_suffix(".ipynb")
    assert '"2\\n"' in stored.read_text()
    before = stored.stat().st_mtime_ns
    assert execute.execute(chapter) == "" and stored.stat().st_mtime_ns == before
    assert sorted(path.name for path in chapter.parent.iterdir()) == ["one.ipynb", "one.md"]


def test_a_damaged_notebook_is_written_anew(chapter):
    chapter.with_suffix(".ipynb").write_bytes(b"\xff\xfe{not json")
    assert execute.execute(chapter) == "" and '"2\\n"' in chapter.with_suffix(".ipynb").read_text()


def test_a_failing_chapter_leaves_its_notebook_as_it_was(chapter):
    chapter.with_suffix(".ipynb").write_text("as it was")
    chapter.write_text(CHAPTER.replace("print(1 + 1)", "1 / 0"))
    assert "ZeroDivisionError" in execute.execute(chapter)
    assert chapter.with_suffix(".ipynb").read_text() == "as it was"
    shutil.move(chapter.with_suffix(".ipynb"), chapter.with_suffix(".elsewhere"))
    chapter.with_suffix(".ipynb").symlink_to(chapter.with_suffix(".elsewhere"))
    chapter.write_text(CHAPTER.replace("print(1 + 1)", ":tags: [raises-exception]\n1 / 0"))
    assert execute.execute(chapter) == "" and chapter.with_suffix(".ipynb").is_symlink()
    assert "ZeroDivisionError" in chapter.with_suffix(".elsewhere").read_text()


def test_a_chapter_that_the_contents_hide_is_named(chapter):
    contents = chapter.parent / "_toc.yml"
    for entry, error, message in (
        ("file: one", SystemExit, "one has cells to run; write one.ipynb"),
        ("glob: '*'", ValueError, "instead of glob: "),
    ):
        contents.write_text(f"root: intro\nsubtrees: [entries: [{entry}]]\n")
        with pytest.raises(error, match=message):
            execute.chapters(chapter.parent)


def test_an_address_is_where_pages_are_published(monkeypatch):
    for name, html, address in (
        ("sums.git", {}, "Doe.github.io/sums"),
        ("doe.github.io", {}, "Doe.github.io"),
        ("sums", {"baseurl": "https://sums.example/"}, "sums.example"),
    ):
        monkeypatch.setattr(book, "config", lambda: {"repository": {"url": f"https://github.com/Doe/{name}"}, "html": html})
        assert book.address() == f"https://{address}"


FIGURE = """import matplotlib.pyplot as plt
from theorybook import figures
figures.use_style()
plt.plot([0, 1])
plt.xlabel({})"""


def test_a_figure_that_cannot_be_drawn_is_a_failure(chapter):
    chapter.write_text(CHAPTER.replace("print(1 + 1)", FIGURE.format(r"r'$\frac{1}$'")))
    told = execute.execute(chapter)
    assert "ValueError" in told and "plt.xlabel" in told and not chapter.with_suffix(".ipynb").exists()


def test_a_matplotlibrc_of_the_readers_changes_nothing(chapter):
    chapter.write_text(CHAPTER.replace("print(1 + 1)", FIGURE.format("'a'")))
    assert execute.execute(chapter) == ""
    ordinary = chapter.with_suffix(".ipynb").read_text()
    (chapter.parent / "matplotlibrc").write_text("text.usetex: True\nfont.size: 30\nlines.linestyle: :\n")
    assert execute.execute(chapter) == "" and chapter.with_suffix(".ipynb").read_text() == ordinary


TOOLKIT = [["-m", f"theorybook.tools.{tool}"] for tool in ("execute", "jitter", "build", "records_check")]


@pytest.mark.parametrize(
    "tool", [*TOOLKIT, *([f"tools/{tool}.py"] for tool in ("lint", "matrix", "mutants", "fuzz", "speed", "pdf"))]
)
def test_tools_find_one_another_without_pythons_help(tool):
    command = [sys.executable, *tool, "--help"]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONSAFEPATH": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_kernels_are_forked_without_pythons_help_too(chapter):
    chapter.write_text(
        CHAPTER.replace("1 + 1", "open(f'/proc/{__import__(\"os\").getppid()}/cmdline').read().count('fork_server')")
    )
    command, own = [sys.executable, "-m", "theorybook.tools.execute", chapter], os.environ | {"PYTHONSAFEPATH": "1"}
    assert subprocess.run(command, cwd=ROOT, env=own, stderr=subprocess.DEVNULL).returncode == 0
    assert sys.platform != "linux" or '"1\\n"' in chapter.with_suffix(".ipynb").read_text()


def test_pip_installs_into_the_environment_whatever_its_configuration():
    assert "--no-user" in (ROOT / "Makefile").read_text().partition("\nPIP :=")[2].partition("\n")[0]


@pytest.mark.parametrize("text", ["", "---\njupytext: [\n---\n"])
def test_a_damaged_chapter_is_named(chapter, text):
    chapter.write_text(text)
    told = execute.execute(chapter)
    assert "one.md" in told and "git checkout" in told and len(told.splitlines()) == 1


def test_a_missing_chapter_is_named(chapter):
    assert "cannot be read (No such file or directory); name a chapter" in execute.execute(chapter.with_name("two.md"))


def test_a_folder_that_cannot_be_written_is_named(chapter, monkeypatch):
    def refuse(self, *arguments, **keywords):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(chapter), "write_text", refuse)
    told = execute.execute(chapter)
    assert "one.ipynb cannot be written (No space left on device); make room" in told
    assert [path.name for path in chapter.parent.iterdir()] == ["one.md"]


def test_two_runs_at_once_agree(chapter):
    code = "import sys, pathlib; from theorybook.tools import execute; "
    code += f"sys.exit(bool(execute.execute(pathlib.Path({str(chapter)!r}))))"
    runs = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    assert [run.wait(120) for run in runs] == [0, 0]
    assert '"2\\n"' in chapter.with_suffix(".ipynb").read_text()


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/a-b/c.d",
        "https://github.com/a-b/c.d.git",
        "https://github.com/a-b/c.d/",
        "http://www.github.com/a-b/c.d",
        "https://token@github.com/a-b/c.d.git",
        "git@github.com:a-b/c.d.git",
        "ssh://git@github.com/a-b/c.d.git",
        "ssh://git@github.com:22/a-b/c.d",
    ],
)
def test_an_address_is_written_as_its_page(url):
    assert repository_url.page(url) == "https://github.com/a-b/c.d"


@pytest.mark.parametrize(
    "url", ["https://gitlab.com/a/b", "git@gitlab.com:a/b.git", "https://github.com/a", "https://evil-github.com/a/b", "", None]
)
def test_an_address_elsewhere_is_refused_in_a_sentence(url):
    with pytest.raises(ValueError, match="write https://github.com/<owner>/<name>; Colab"):
        repository_url.page(url)


def test_the_address_tool_writes_address_and_branch(tmp_path):
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "repository_url.py", tmp_path / "tools")
    old = "https://github.com/a/b"
    (tmp_path / "_config.yml").write_text("repository:\n  url: git@github.com:new/name.git # here\n  branch: trunk\n")
    (tmp_path / "CITATION.cff").write_text(f"repository-code: {old}\n")
    (tmp_path / "one.md").write_text(f"!git clone -q --depth 1 --branch main {old} b || echo\n!git clone {old} b\n[b]({old})\n")
    (tmp_path / "test.yml").write_text("if: github.ref == 'refs/heads/main'\n")
    commit(tmp_path)
    for _ in range(2):  # a second time nothing changes
        subprocess.run([sys.executable, "tools/repository_url.py"], cwd=tmp_path, check=True, capture_output=True)
        new = "https://github.com/new/name"
        wanted = f"!git clone -q --depth 1 --branch trunk {new} b || echo\n!git clone --branch trunk {new} b\n[b]({new})\n"
        assert (tmp_path / "one.md").read_text() == wanted
        assert (tmp_path / "test.yml").read_text() == "if: github.ref == 'refs/heads/trunk'\n"
        assert (tmp_path / "_config.yml").read_text() == f"repository:\n  url: {new} # here\n  branch: trunk\n"


def test_without_git_the_address_tool_says_so(tmp_path):
    shutil.copytree(ROOT / "tools", tmp_path / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("_config.yml", "CITATION.cff"):
        shutil.copy(ROOT / name, tmp_path)
    done = subprocess.run(
        [sys.executable, "tools/repository_url.py"], cwd=tmp_path, env={"PATH": ""}, capture_output=True, text=True
    )
    assert done.returncode == 1 and "install git" in done.stderr and "Traceback" not in done.stderr


def running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition):
    deadline = time.monotonic() + 120
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks for processes in /proc")
def test_workers_end_with_their_launcher(tmp_path):
    worker = tmp_path / "worker-of-this-test.py"
    worker.write_text(
        "import os, time\nfrom attention_checks.patches.runs.train_images import end_with_launcher\n"
        f"end_with_launcher(0.1)\nopen({str(tmp_path)!r} + f'/{{os.getpid()}}', 'w').close()\ntime.sleep(600)\n"
    )
    code = "import subprocess, sys\n"
    code += f"runs = [subprocess.Popen([sys.executable, {str(worker)!r}]) for _ in range(2)]\nruns[0].wait()"
    launcher = subprocess.Popen([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(ROOT / "lib")})
    workers = lambda: [path.name for path in tmp_path.iterdir() if path.name.isdigit()]
    assert wait_for(lambda: len(workers()) == 2) and all(map(running, workers()))
    launcher.kill()
    launcher.wait()
    assert wait_for(lambda: not any(map(running, workers())))
