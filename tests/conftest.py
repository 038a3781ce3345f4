import gc
import subprocess
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"


def commit(folder: Path) -> None:
    """Make a folder a git repository of what it holds."""
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "book"]):
        subprocess.run(["git", *command], cwd=folder, check=True)


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def book() -> Path:
    return BOOK


# what imports and collection make stays until the end: looking through it again and again was a third of a worker's start
gc.set_threshold(100_000, 20, 20)


def pytest_collection_finish():
    gc.freeze()


# timings say nothing on a shared machine; examples are the same in every run
settings.register_profile("book", deadline=None, derandomize=True)
settings.load_profile("book")
