"""Real images: scikit-learn's digits, CIFAR-10, CIFAR-100 and SVHN from their published files, and permutations of them."""

import io
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Int, Num, UInt8
from scipy.io import loadmat
from theorybook.validation import Count, Seed, Size
from torch import Tensor

from attention_theory.device import generator

#: Where the published files are; the loaders read the unpacked ones and download nothing.
SOURCES = {
    "cifar10": "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
    "cifar100": "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz",
    "svhn": "http://ufldl.stanford.edu/housenumbers/train_32x32.mat and test_32x32.mat",
}


@dataclass(frozen=True)
class Images:
    """A classification task: square images with values 0 to 255 and their labels."""

    train: UInt8[Tensor, "train channels side side"]
    train_labels: Int[Tensor, "train"]
    test: UInt8[Tensor, "test channels side side"]
    test_labels: Int[Tensor, "test"]
    classes: Size

    @property
    def side(self) -> int:
        """Pixels along an edge."""
        return self.train.shape[-1]

    @property
    def channels(self) -> int:
        """Colour channels."""
        return self.train.shape[1]


class _Arrays(pickle.Unpickler):
    """Unpickles lists, dictionaries and NumPy arrays, and nothing that runs code."""

    allowed = {("numpy", "ndarray"), ("numpy", "dtype"), ("_codecs", "encode")} | {
        (module, "_reconstruct") for module in ("numpy.core.multiarray", "numpy._core.multiarray")
    }

    def find_class(self, module, name):
        if (module, name) not in self.allowed:
            raise ValueError(f"the file asks for {module}.{name}: this is no CIFAR batch")
        return super().find_class(module, name)


def load_digits(seed: Seed = 0, test: Size = 360) -> Images:
    """scikit-learn's 1797 digits, 8 x 8 grey values, split at random into training and test images."""
    try:
        from sklearn.datasets import load_digits as load
    except ImportError:
        raise ImportError("the digits come with scikit-learn: pip install scikit-learn") from None
    bunch: Any = load()
    if not 0 < test < len(bunch.target):
        raise ValueError(f"test = {test} of {len(bunch.target)} digits; choose between 1 and {len(bunch.target) - 1}")
    order = torch.randperm(len(bunch.target), generator=generator(seed))
    pixels = torch.as_tensor(np.minimum(bunch.images * 16, 255).astype(np.uint8))[order, None]
    labels = torch.as_tensor(bunch.target)[order].long()
    return Images(pixels[test:], labels[test:], pixels[:test], labels[:test], 10)


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
        10: ("cifar-10-batches-py", [f"data_batch_{i}" for i in range(1, 6)], "test_batch", b"labels"),
        100: ("cifar-100-python", ["train"], "test", b"fine_labels"),
    }[classes]

    def read(file):
        path = Path(root) / folder / file
        batch = _Arrays(io.BytesIO(_bytes(path, f"cifar{classes}")), encoding="bytes").load()
        if not isinstance(batch, dict) or b"data" not in batch or key not in batch:
            raise ValueError(f"{path} has no data and {key.decode()}: this is no CIFAR batch")
        return np.asarray(batch[b"data"], np.uint8).reshape(-1, 3, 32, 32), np.asarray(batch[key], np.int64)

    pixels, labels = (np.concatenate(columns) for columns in zip(*map(read, parts)))
    found = pixels, labels, *read(last)
    pixels, labels, test, test_labels = map(torch.as_tensor, found)
    return Images(pixels, labels, test, test_labels, classes)


def load_svhn(root: str | Path) -> Images:
    """Street view house numbers, cropped digits, from ``train_32x32.mat`` and ``test_32x32.mat`` in ``root``.

    Raises:
        FileNotFoundError: the files are not there; the message says where to get them.
    """

    def read(file):
        content = loadmat(io.BytesIO(_bytes(Path(root) / file, "svhn")))
        # (side, side, channels, images); the digit 0 carries the label 10
        pixels = np.ascontiguousarray(content["X"].transpose(3, 2, 0, 1))
        return torch.as_tensor(pixels), torch.as_tensor(content["y"].ravel().astype(np.int64) % 10)

    return Images(*read("train_32x32.mat"), *read("test_32x32.mat"), 10)


def _bytes(path: Path, name: str) -> bytes:
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; get {SOURCES[name]} and unpack it there")
    return path.read_bytes()


def load_images(name: str, root: str | Path = "data", seed: Seed = 0) -> Images:
    """``digits``, ``cifar10``, ``cifar100`` or ``svhn``; ``root`` holds the files of the last three."""
    loaders = {
        "digits": lambda: load_digits(seed),
        "cifar10": lambda: load_cifar(root, 10),
        "cifar100": lambda: load_cifar(root, 100),
        "svhn": lambda: load_svhn(root),
    }
    if name not in loaders:
        raise ValueError(f"data {name!r} are unknown; choose one of {', '.join(loaders)}")
    return loaders[name]()


def grid_permutation(side: Size, s: Count, seed: Seed) -> Int[Tensor, "pixels"]:
    """A permutation of the pixels that moves whole s x s squares of a side x side image (jelassi2022, Section 6).

    Entry i names the pixel of the original that stands at place i of the permuted image, both in reading order.

    Raises:
        ValueError: s does not divide side.
    """
    if s < 1 or side % s:
        raise ValueError(f"squares of s = {s} do not tile an image of side {side}: s must divide it")
    squares = side // s
    order = torch.randperm(squares**2, generator=generator(seed))
    places = torch.arange(side**2).reshape(squares, s, squares, s).transpose(1, 2).reshape(squares**2, s, s)
    return places[order].reshape(squares, squares, s, s).transpose(1, 2).reshape(-1)


def permute(pixels: Num[Tensor, "n channels side side"], order: Int[Tensor, "pixels"]) -> Num[Tensor, "n channels side side"]:
    """Each image with its pixels rearranged by :func:`grid_permutation`."""
    return pixels.flatten(2)[..., order].reshape(pixels.shape)


def patch_permutation(side: Size, s: Count, patch: Size, seed: Seed) -> Int[Tensor, "patches"]:
    """How :func:`grid_permutation` moves patches: entry i names the patch of the original that stands at place i.

    Raises:
        ValueError: the patch size does not divide s, so that patches are torn apart.
    """
    if s % patch:
        raise ValueError(f"patches of {patch} pixels are torn apart by squares of s = {s}: the patch size must divide s")
    return grid_permutation(side // patch, s // patch, seed)


def patches_of(pixels: Float[Tensor, "n channels side side"], patch: Size) -> Float[Tensor, "n D features"]:
    """Square patches in reading order, each flattened."""
    return torch.nn.functional.unfold(pixels, patch, stride=patch).transpose(1, 2)
