import shutil
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def book() -> Path:
    return BOOK


# timings say nothing on a shared machine; examples are the same in every run
settings.register_profile("book", deadline=None, derandomize=True)
settings.load_profile("book")
