"""What the repository says about itself agrees: the address, the pins, the table of contents."""

import re
import subprocess

import yaml


def test_one_address_everywhere(root):
    url = yaml.safe_load((root / "_config.yml").read_text())["repository"]["url"]
    assert yaml.safe_load((root / "CITATION.cff").read_text())["repository-code"] == url
    tracked = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout.splitlines()
    for name in tracked:
        path = root / name
        if path.suffix in {".md", ".toml", ".cff"} and path.is_file():
            for found in re.findall(r"git\+(https?://[^\s\"#]+)", path.read_text(encoding="utf-8")):
                assert found == url, name


def test_torch_is_pinned_for_the_book_only(root):
    assert "torch==2.13.0\n" in (root / "requirements.txt").read_text()
    assert '"torch>=2.9",' in (root / "lib" / "pyproject.toml").read_text()  # a lower end, which Colab meets


def test_the_table_of_contents_names_files_that_exist(root):
    toc = yaml.safe_load((root / "_toc.yml").read_text())
    for part in toc["parts"]:
        for chapter in part["chapters"]:
            assert (root / chapter["file"]).is_file(), chapter


def test_every_module_is_in_the_reference(root):
    package = root / "lib" / "attention_theory"
    modules = {
        ".".join(("attention_theory", *path.relative_to(package).with_suffix("").parts)) for path in package.rglob("*.py")
    }
    reference = "\n".join(path.read_text() for path in (root / "book" / "library").glob("*.md"))
    assert set(re.findall(r"automodule:: (\S+)", reference)) == {name for name in modules if not name.endswith("__init__")}
