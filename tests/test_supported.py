"""Which machines the environment is built on; README and the page "Running the book" name the same ones."""

import platform
import sys

import pytest
from conftest import BOOK, ROOT
from supported import PYTHONS, SYSTEMS, refusal

PYTHON = "needs Python 3.11 to 3.14, and this is {}: choose one with make PYTHON=python3.11"
SYSTEM = "and this is {}: open it on Binder or Colab"


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        (("CPython", (3, 11), "Linux", "x86_64"), ""),
        (("CPython", (3, 14), "Linux", "aarch64"), ""),
        (("CPython", (3, 12), "Darwin", "arm64", "14.6"), ""),
        (("CPython", (3, 12), "Darwin", "arm64", "26.0"), ""),
        (("CPython", (3, 10), "Linux", "x86_64"), PYTHON.format("CPython 3.10")),
        (("CPython", (3, 15), "Linux", "x86_64"), PYTHON.format("CPython 3.15")),
        (("PyPy", (3, 11), "Linux", "x86_64"), PYTHON.format("PyPy 3.11")),
        (("CPython", (3, 12), "Darwin", "x86_64", "14.6"), SYSTEM.format("Darwin 14.6 on x86_64")),
        (("CPython", (3, 12), "Darwin", "arm64", "13.7"), SYSTEM.format("Darwin 13.7 on arm64")),
        (("CPython", (3, 12), "Windows", "AMD64"), SYSTEM.format("Windows on AMD64")),
        (("CPython", (3, 12), "Linux", "ppc64le"), SYSTEM.format("Linux on ppc64le")),
    ],
)
def test_a_machine_is_taken_or_refused_in_one_sentence(machine, said):
    found = refusal(*machine)
    assert bool(found) == bool(said) and said in found and "\n" not in found


def test_this_machine_is_taken_and_the_documents_say_the_same():
    assert not refusal("CPython", sys.version_info, platform.system(), platform.machine(), platform.mac_ver()[0])
    for page in (ROOT / "README.md", BOOK / "running.md"):
        text = " ".join(page.read_text(encoding="utf-8").split())
        assert f"Python {PYTHONS}" in text and SYSTEMS in text, page.name
