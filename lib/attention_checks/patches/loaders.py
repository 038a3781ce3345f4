"""CIFAR-10, CIFAR-100 and SVHN from their published files, checked as they are read; the digits of
scikit-learn.
"""

import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from attention_theory.patches.images import Images, check_labelled, load_digits
from scipy.io import loadmat
from theorybook.validation import Seed
from torch import Tensor

#: Where the published files are; the loaders read the unpacked ones and download nothing.
SOURCES = {
    "cifar10": "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
    "cifar100": "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz",
    "svhn": "http://ufldl.stanford.edu/housenumbers/train_32x32.mat and test_32x32.mat",
}
#: First bytes of files that were saved in place of the data.
INSTEAD = {
    b"": "it is empty",
    b"version https://git-lfs": "it is a pointer of Git LFS, not the file (git lfs pull brings it)",
    b"<": "it is a web page, not the file",
    b"\x1f\x8b": "it is still packed",
}


class _Arrays(pickle.Unpickler):
    """Unpickles lists, dictionaries, NumPy arrays and numbers, and nothing that runs code."""

    allowed = {("numpy", "ndarray"), ("numpy", "dtype"), ("_codecs", "encode")} | {
        (f"numpy.{core}.{module}", name)
        for core in ("core", "_core")
        for module, name in (
            ("multiarray", "_reconstruct"),
            ("multiarray", "scalar"),
            ("numeric", "_frombuffer"),
        )
    }

    def find_class(self, module, name):
        if (module, name) not in self.allowed:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return super().find_class(module, name)


def load_cifar(root: str | Path, classes: Literal[10, 100] = 10) -> Images:
    """CIFAR-10 or CIFAR-100 (fine labels) from the unpacked Python version of its archive.

    Args:
        root: folder that holds ``cifar-10-batches-py`` or ``cifar-100-python``.
        classes: 10 or 100.

    Raises:
        ValueError: a file that is no CIFAR batch.
        FileNotFoundError: the files are not there; the message says where to get them.
    """
    folder, parts, last, key = {
        10: (
            "cifar-10-batches-py",
            [f"data_batch_{i}" for i in range(1, 6)],
            "test_batch",
            "labels",
        ),
        100: ("cifar-100-python", ["train"], "test", "fine_labels"),
    }[classes]

    def unpickled(content: bytes) -> tuple[np.ndarray, np.ndarray]:
        batch = _Arrays(io.BytesIO(content), encoding="bytes").load()
        batch = {
            name if isinstance(name, str) else name.decode(): value for name, value in batch.items()
        }
        pixels = np.asarray(batch["data"])
        if pixels.ndim != 2 or pixels.shape[1] != 3 * 32 * 32:
            raise ValueError(f"data of shape {pixels.shape}, not (images, 3072)")
        return pixels.reshape(len(pixels), 3, 32, 32), np.asarray(batch[key])

    def read(file: str) -> tuple[Tensor, Tensor]:
        return _read(Path(root) / folder / file, f"cifar{classes}", unpickled, classes)

    pixels, labels = (torch.cat(columns) for columns in zip(*map(read, parts)))
    return Images(pixels, labels, *read(last), classes)


def load_svhn(root: str | Path) -> Images:
    """Street view house numbers, cropped digits, from ``train_32x32.mat`` and ``test_32x32.mat`` in
    ``root``.

    Raises:
        ValueError: a file that is not one of these.
        FileNotFoundError: the files are not there; the message says where to get them.
    """

    def unpacked(content: bytes) -> tuple[np.ndarray, np.ndarray]:
        found = loadmat(io.BytesIO(content))
        labels = found["y"].ravel()
        if not set(np.unique(labels)) <= set(range(1, 11)):
            raise ValueError(f"labels from {labels.min()} to {labels.max()}, not 1 to 10")
        # (side, side, channels, images); the digit 0 carries the label 10
        return np.ascontiguousarray(found["X"].transpose(3, 2, 0, 1)), labels.astype(np.int64) % 10

    def read(file: str) -> tuple[Tensor, Tensor]:
        return _read(Path(root) / file, "svhn", unpacked, 10)

    return Images(*read("train_32x32.mat"), *read("test_32x32.mat"), 10)


def _read(
    path: Path, name: str, unpacked: Callable[[bytes], tuple[np.ndarray, np.ndarray]], classes: int
) -> tuple[Tensor, Tensor]:
    """Images and labels of one published file; a ValueError with its path where it does not hold
    them.
    """
    path = path.expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; get {SOURCES[name]} and unpack it there")
    content = path.read_bytes()
    try:
        pixels, labels = (torch.as_tensor(part) for part in unpacked(content))
        check_labelled("it holds", pixels, labels, classes)
    except (
        Exception
    ) as error:  # what a broken file does to its reader has no limits: errors of any kind
        known = (
            words
            for start, words in INSTEAD.items()
            if (content.startswith(start) if start else not content)
        )
        reason = next(known, str(error).splitlines()[0] if str(error) else type(error).__name__)
        raise ValueError(f"{path} is no file of {name}: {reason}; get {SOURCES[name]}") from error
    return pixels, labels.long()


def load_images(name: str, root: str | Path = "data", seed: Seed = 0) -> Images:
    """``digits``, ``cifar10``, ``cifar100`` or ``svhn``; ``root`` holds the files of the last
    three.
    """
    loaders = {
        "digits": lambda: load_digits(seed),
        "cifar10": lambda: load_cifar(root, 10),
        "cifar100": lambda: load_cifar(root, 100),
        "svhn": lambda: load_svhn(root),
    }
    if name not in loaders:
        raise ValueError(f"data {name!r} are unknown; choose one of {', '.join(loaders)}")
    return loaders[name]()
