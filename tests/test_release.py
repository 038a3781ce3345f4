"""What is cited, archived and put into images agrees with the library and the pins."""

import json
import re
import tomllib

import colab
import numpy as np
import yaml
from conftest import ROOT
from theorybook.sphinx import address, version

PINS = dict(line.split("==") for line in (ROOT / "requirements.txt").read_text().splitlines() if re.match(r"[\w-]+==", line))
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


def test_one_version_everywhere():
    library = tomllib.loads((ROOT / "lib" / "pyproject.toml").read_text())["project"]["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    archive = json.loads((ROOT / ".zenodo.json").read_text())
    assert library == citation["version"] == archive["version"] == version()


def test_the_archive_knows_what_zenodo_asks_for():
    archive = json.loads((ROOT / ".zenodo.json").read_text())
    assert {"title", "description", "upload_type", "license", "creators", "keywords"} <= set(archive)
    assert all("name" in creator for creator in archive["creators"])


def test_permanent_addresses_follow_the_repository():
    url = yaml.safe_load((ROOT / "_config.yml").read_text())["repository"]["url"]
    assert address() == "https://{}.github.io/{}".format(*url.split("/")[-2:])
    assert json.loads((ROOT / ".zenodo.json").read_text())["related_identifiers"][0]["identifier"] == url


def test_everybody_installs_the_locked_set():
    make, image = (ROOT / "Makefile").read_text(), (ROOT / "binder" / "Dockerfile").read_text()
    for recipe in (make, image):
        recipe = "\n".join(line for line in recipe.splitlines() if "models.txt" not in line)  # which few readers install
        installs = re.findall(r"^(?:RUN pip install|\t\$\(PIP\)) (.*)$", recipe, re.M)
        assert len(installs) == len(re.findall(r"pip install(?! -q)|\t\$\(PIP\)", recipe)) == 3
        assert "--no-deps --require-hashes -r requirements.lock" in installs[0]
        assert "grep '^torch=='" in installs[1] and "--no-deps --no-build-isolation" in installs[2]
    needed = tomllib.loads((ROOT / "lib" / "pyproject.toml").read_text())["project"]["dependencies"]
    locked = set(re.findall(r"^([\w.-]+)==", LOCK, re.M)) | {"torch"}
    # with what torch needs on a CPU and what builds ./lib
    assert {re.split(">", name)[0].lower() for name in needed} | {"setuptools", "jinja2", "fsspec", "filelock"} <= locked


def test_workflows_run_what_is_pinned_with_few_rights():
    for path in (ROOT / ".github" / "workflows").iterdir():
        workflow = yaml.safe_load(path.read_text())
        assert workflow["permissions"] == {"contents": "read"}
        for name, job in workflow["jobs"].items():
            assert job["runs-on"] == "ubuntu-24.04"
            assert ("permissions" in job) == (name == "deploy") == ("needs" in job)
            for step in job["steps"]:
                assert re.search(r"@[0-9a-f]{40}$", step.get("uses", f"@{0:040}")), step
                if step.get("uses", "").startswith("actions/checkout"):
                    assert step["with"]["persist-credentials"] is False
                if "pip install" in step.get("run", ""):
                    assert all("==" in word for word in step["run"].split("-q ")[1].split())


def test_colab_has_other_versions_than_ours():
    for package in colab.PACKAGES:
        name, given = package.split("==")
        assert PINS[name] != given


def test_colab_runs_a_chapter_of_each_part():
    parts = {path.parent.name for path in (ROOT / "book").glob("*/*.ipynb")} - {"ledger"}
    assert {chapter.split("/")[0] for chapter in colab.CHAPTERS} == parts


def test_the_lock_has_the_pins_and_a_hash_for_everything():
    packages = re.findall(r"^([\w.-]+)==(\S+)[^\n]*\\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", LOCK, re.M)
    assert len(packages) == len(re.findall(r"^[^#\s]", LOCK, re.M)) > len(PINS)
    versions = {name: version for name, version, _ in packages}
    assert {name: versions.get(name) for name in PINS if name != "torch"} == {n: v for n, v in PINS.items() if n != "torch"}
    assert "torch" not in versions and "://" not in LOCK  # torch is chosen for the machine; no host is written down


def test_data_files_hold_no_pickles():
    for path in [*(ROOT / "book" / "data").iterdir(), *(ROOT / "lib" / "attention_theory" / "data").iterdir()]:
        assert path.suffix in {".json", ".npz", ".md"}, path
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                assert all(arrays[name].dtype != object for name in arrays.files)
