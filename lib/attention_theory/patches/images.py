"""Real images: scikit-learn's digits, CIFAR-10, CIFAR-100 and SVHN from their published files, and permutations of them."""

import io
import pickle
from collections.abc import Callable
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
    """A classification task: square images with values 0 to 255 and their labels.

    Raises:
        ValueError: images that are not square or of two sizes, labels that are not one for each image from 0 to classes - 1.
    """

    train: UInt8[Tensor, "train channels side side"]
    train_labels: Int[Tensor, "train"]
    test: UInt8[Tensor, "test channels side side"]
    test_labels: Int[Tensor, "test"]
    classes: Size

    def __post_init__(self) -> None:
        for name, pixels, labels in (("train", self.train, self.train_labels), ("test", self.test, self.test_labels)):
            check_labelled(f"the {name} images", pixels, labels, self.classes)
        if self.train.shape[1:] != self.test.shape[1:]:
            raise ValueError(f"train images of shape {(*self.train.shape[1:],)}, test images of {(*self.test.shape[1:],)}")

    @property
    def side(self) -> int:
        """Pixels along an edge."""
        return self.train.shape[-1]

    @property
    def channels(self) -> int:
        """Colour channels."""
        return self.train.shape[1]


def check_labelled(where: str, pixels: Tensor, labels: Tensor, classes: Count) -> None:
    """Raise ValueError unless these are square images of bytes, each with a label from 0 to classes - 1."""
    fault = None
    if pixels.dtype != torch.uint8 or pixels.ndim != 4 or pixels.shape[2] != pixels.shape[3]:
        fault = f"{str(pixels.dtype).removeprefix('torch.')} of shape {(*pixels.shape,)}, not uint8 (n, channels, side, side)"
    elif labels.shape != pixels.shape[:1] or not pixels.numel():
        fault = f"{len(pixels)} images of shape {(*pixels.shape[1:],)} with labels of shape {(*labels.shape,)}"
    elif labels.is_floating_point() or labels.is_complex() or labels.dtype == torch.bool:
        fault = f"labels of type {str(labels.dtype).removeprefix('torch.')}, not integers"
    elif not 0 <= int(labels.min()) <= int(labels.max()) < classes:
        fault = f"labels from {int(labels.min())} to {int(labels.max())} of {classes} classes, which are 0 to {classes - 1}"
    if fault:
        raise ValueError(f"{where}: {fault}")


class _Arrays(pickle.Unpickler):
    """Unpickles lists, dictionaries, NumPy arrays and numbers, and nothing that runs code."""

    allowed = {("numpy", "ndarray"), ("numpy", "dtype"), ("_codecs", "encode")} | {
        (f"numpy.{core}.{module}", name)
        for core in ("core", "_core")
        for module, name in (("multiarray", "_reconstruct"), ("multiarray", "scalar"), ("numeric", "_frombuffer"))
    }

    def find_class(self, module, name):
        if (module, name) not in self.allowed:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
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
        10: ("cifar-10-batches-py", [f"data_batch_{i}" for i in range(1, 6)], "test_batch", "labels"),
        100: ("cifar-100-python", ["train"], "test", "fine_labels"),
    }[classes]

    def unpickled(content: bytes) -> tuple[np.ndarray, np.ndarray]:
        batch = _Arrays(io.BytesIO(content), encoding="bytes").load()
        batch = {name if isinstance(name, str) else name.decode(): value for name, value in batch.items()}
        pixels = np.asarray(batch["data"])
        if pixels.ndim != 2 or pixels.shape[1] != 3 * 32 * 32:
            raise ValueError(f"data of shape {pixels.shape}, not (images, 3072)")
        return pixels.reshape(len(pixels), 3, 32, 32), np.asarray(batch[key])

    def read(file: str) -> tuple[Tensor, Tensor]:
        return _read(Path(root) / folder / file, f"cifar{classes}", unpickled, classes)

    pixels, labels = (torch.cat(columns) for columns in zip(*map(read, parts)))
    return Images(pixels, labels, *read(last), classes)


def load_svhn(root: str | Path) -> Images:
    """Street view house numbers, cropped digits, from ``train_32x32.mat`` and ``test_32x32.mat`` in ``root``.

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


#: How files begin that were saved in place of the data.
INSTEAD = {
    b"": "it is empty",
    b"version https://git-lfs": "it is a pointer of Git LFS, not the file (git lfs pull brings it)",
    b"<": "it is a web page, not the file",
    b"\x1f\x8b": "it is still packed",
}


def _read(
    path: Path, name: str, unpacked: Callable[[bytes], tuple[np.ndarray, np.ndarray]], classes: int
) -> tuple[Tensor, Tensor]:
    """Images and labels of one published file; a ValueError with its path where it does not hold them."""
    path = path.expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; get {SOURCES[name]} and unpack it there")
    content = path.read_bytes()
    try:
        pixels, labels = (torch.as_tensor(part) for part in unpacked(content))
        check_labelled("it holds", pixels, labels, classes)
    except Exception as error:  # what a broken file does to its reader has no limits: errors of any kind
        known = (words for start, words in INSTEAD.items() if (content.startswith(start) if start else not content))
        reason = next(known, str(error).splitlines()[0] if str(error) else type(error).__name__)
        raise ValueError(f"{path} is no file of {name}: {reason}; get {SOURCES[name]}") from error
    return pixels, labels.long()


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


def tiles_along(side: Size, size: Size) -> int:
    """How many squares of this size fit along an edge of an image.

    Raises:
        ValueError: the size does not divide the side, so that pixels would be dropped.
    """
    if size < 1 or side % size:
        raise ValueError(f"squares of {size} x {size} pixels do not tile an image of side {side}: the size must divide it")
    return side // size


def grid_permutation(side: Size, s: Count, seed: Seed) -> Int[Tensor, "pixels"]:
    """A permutation of the pixels that moves whole s x s squares of a side x side image (jelassi2022, Section 6).

    Entry i names the pixel of the original that stands at place i of the permuted image, both in reading order.

    Raises:
        ValueError: s does not divide side.
    """
    squares = tiles_along(side, s)
    order = torch.randperm(squares**2, generator=generator(seed))
    places = torch.arange(side**2).reshape(squares, s, squares, s).transpose(1, 2).reshape(squares**2, s, s)
    return places[order].reshape(squares, squares, s, s).transpose(1, 2).reshape(-1)


def permute(pixels: Num[Tensor, "n channels side side"], order: Int[Tensor, "pixels"]) -> Num[Tensor, "n channels side side"]:
    """Each image with its pixels rearranged by :func:`grid_permutation`."""
    return pixels.flatten(2)[..., order].reshape(pixels.shape)


def patch_permutation(side: Size, s: Count, patch: Size, seed: Seed) -> Int[Tensor, "patches"]:
    """How :func:`grid_permutation` moves patches: entry i names the patch of the original that stands at place i.

    Raises:
        ValueError: s does not divide side, or the patch size does not divide s, so that patches are torn apart.
    """
    tiles_along(side, s)
    if s % patch:
        raise ValueError(f"patches of {patch} pixels are torn apart by squares of s = {s}: the patch size must divide s")
    return grid_permutation(side // patch, s // patch, seed)


def patches_of(pixels: Float[Tensor, "n channels side side"], patch: Size) -> Float[Tensor, "n D features"]:
    """Square patches in reading order, each flattened.

    Raises:
        ValueError: the patch size does not divide the side.
    """
    tiles_along(pixels.shape[-1], patch)
    return torch.nn.functional.unfold(pixels, patch, stride=patch).transpose(1, 2)
