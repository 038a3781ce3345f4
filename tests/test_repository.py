"""What the repository says about itself agrees: the address, the pins, the table of contents."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
import repository_url
import yaml
from theorybook.book import files


def tracked(root):
    """The files of the repository; in a folder that is none the test is skipped with a sentence."""
    try:
        listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("git is not installed: install it to look through the files of the repository")
    if listed.returncode or not listed.stdout:
        pytest.skip("this folder is not a git repository: clone it to look through its files")
    return listed.stdout.splitlines()


def test_one_address_everywhere(root):
    url = yaml.safe_load((root / "_config.yml").read_text())["repository"]["url"]
    assert yaml.safe_load((root / "CITATION.cff").read_text())["repository-code"] == url == repository_url.page(url)
    for name in tracked(root):
        path = root / name
        if path.suffix in {".md", ".toml", ".cff"} and path.is_file():
            for found in re.findall(r"git\+(https?://[^\s\"#]+)", path.read_text(encoding="utf-8")):
                assert found == url, name


def test_one_branch_everywhere(root):
    branch = yaml.safe_load((root / "_config.yml").read_text())["repository"]["branch"]
    workflows = "".join(path.read_text() for path in (root / ".github" / "workflows").glob("*.yml"))
    assert set(re.findall(r"refs/heads/([^'\s]+)", workflows)) == {branch}


def test_torch_is_pinned_for_the_book_only(root):
    assert "torch==2.13.0\n" in (root / "requirements.txt").read_text()
    assert '"torch>=2.9",' in (root / "lib" / "pyproject.toml").read_text()  # a lower end, which Colab meets


def test_the_table_of_contents_names_every_page_and_no_other(root):
    listed = {Path(file).with_suffix("") for file in files(root)}
    assert listed == {path.relative_to(root).with_suffix("") for path in (root / "book").rglob("*.md")}


def test_every_module_is_in_the_reference(root):
    packages = ("theorybook", "attention_theory", "attention_checks")
    paths = [path.relative_to(root / "lib") for package in packages for path in (root / "lib" / package).rglob("*.py")]
    modules = {".".join(path.with_suffix("").parts) for path in paths if path.parts[1] not in ("sphinx", "tools")}
    reference = "\n".join(path.read_text() for path in (root / "book" / "library").glob("*.md"))
    assert set(re.findall(r"automodule:: (\S+)", reference)) == {name for name in modules if not name.endswith("__init__")}


def test_the_build_can_tell_labels_and_links_apart(root):
    pages = {path: path.read_text(encoding="utf-8") for path in sorted((root / "book").rglob("*.md"))}
    labels = Counter(label for text in pages.values() for label in re.findall(r"^:label: (\S+)", text, flags=re.M))
    assert not [label for label, count in labels.items() if count > 1]
    modules = {path.stem for path in (root / "lib").rglob("*.py")}
    for path, text in pages.items():
        for name in re.findall(r"\]\((\w+)\)", text):
            assert name not in modules, f"{path.name}: {name} is a page and a module; write {name}.ipynb"


def test_every_reference_has_its_label(root):
    """As the build says after minutes: references to boxes, exercises and places of the book by their labels."""
    pages = [path.read_text(encoding="utf-8") for path in (root / "book").rglob("*.md")]
    given = r"^(?:\((\S+)\)=|:label: (\S+)|\s+name: (\S+))$"
    labels = {name for page in pages for found in re.findall(given, page, re.M) for name in found}
    asked = r"\]\(#([^)\s]+)\)|\{(?:prf:ref|ref|numref|eq)\}`(?:[^`<]*<)?([^`>]+)>?`"
    lost = {name for page in pages for found in re.findall(asked, page) for name in found if name and name not in labels}
    assert not lost
