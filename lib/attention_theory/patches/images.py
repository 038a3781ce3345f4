"""Real images and permutations of their patches; the digits come with scikit-learn."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
from jaxtyping import Float, Int, Num, UInt8
from theorybook.validation import Count, Limits, Seed, Size
from torch import Tensor

from attention_theory.device import generator


@dataclass(frozen=True)
class Images:
    """A classification task: square images with values 0 to 255 and their labels.

    Raises:
        ValueError: images that are not square or of two sizes, labels that are not one for each
            image from 0 to classes - 1.
    """

    train: UInt8[Tensor, "train channels side side"]
    train_labels: Int[Tensor, "train"]
    test: UInt8[Tensor, "test channels side side"]
    test_labels: Int[Tensor, "test"]
    classes: Size

    def __post_init__(self) -> None:
        for name, pixels, labels in (
            ("train", self.train, self.train_labels),
            ("test", self.test, self.test_labels),
        ):
            check_labelled(f"the {name} images", pixels, labels, self.classes)
        if self.train.shape[1:] != self.test.shape[1:]:
            raise ValueError(
                f"train images of shape {(*self.train.shape[1:],)}, test images of "
                f"{(*self.test.shape[1:],)}"
            )

    @property
    def side(self) -> int:
        """Pixels along an edge."""
        return self.train.shape[-1]

    @property
    def channels(self) -> int:
        """Colour channels."""
        return self.train.shape[1]


def check_labelled(where: str, pixels: Tensor, labels: Tensor, classes: Count) -> None:
    """Raise ValueError unless these are square images of bytes, each with a label from 0 to classes
    - 1.
    """
    fault = None
    if pixels.dtype != torch.uint8 or pixels.ndim != 4 or pixels.shape[2] != pixels.shape[3]:
        fault = (
            f"{str(pixels.dtype).removeprefix('torch.')} of shape {(*pixels.shape,)}, not "
            "uint8 (n, channels, side, side)"
        )
    elif labels.shape != pixels.shape[:1] or not pixels.numel():
        fault = (
            f"{len(pixels)} images of shape {(*pixels.shape[1:],)} with labels of shape "
            f"{(*labels.shape,)}"
        )
    elif labels.is_floating_point() or labels.is_complex() or labels.dtype == torch.bool:
        fault = f"labels of type {str(labels.dtype).removeprefix('torch.')}, not integers"
    elif not 0 <= int(labels.min()) <= int(labels.max()) < classes:
        fault = (
            f"labels from {int(labels.min())} to {int(labels.max())} of {classes} classes, "
            f"which are 0 to {classes - 1}"
        )
    if fault:
        raise ValueError(f"{where}: {fault}")


def load_digits(seed: Seed = 0, test: Size = 360) -> Images:
    """scikit-learn's 1797 digits, 8 x 8 grey values, split at random into training and test
    images.

    Raises:
        ImportError: scikit-learn is not installed.
        ValueError: ``test`` leaves no training images.
    """
    try:
        from sklearn.datasets import load_digits as load
    except ImportError:
        raise ImportError("the digits come with scikit-learn: pip install scikit-learn") from None
    bunch: Any = load()
    if not 0 < test < len(bunch.target):
        raise ValueError(
            f"test = {test} of {len(bunch.target)} digits; choose between 1 and "
            f"{len(bunch.target) - 1}"
        )
    order = torch.randperm(len(bunch.target), generator=generator(seed))
    pixels = torch.as_tensor(np.minimum(bunch.images * 16, 255).astype(np.uint8))[order, None]
    labels = torch.as_tensor(bunch.target)[order].long()
    return Images(pixels[test:], labels[test:], pixels[:test], labels[:test], 10)


def load_photograph(side: Annotated[int, Limits(1, 416)] = 32) -> UInt8[Tensor, "1 3 side side"]:
    """scikit-learn's photograph of a flower, cropped to a square and reduced by averaging.

    Raises:
        ImportError: scikit-learn is not installed.
    """
    try:
        from sklearn.datasets import load_sample_image
    except ImportError:
        raise ImportError(
            "the photograph comes with scikit-learn: pip install scikit-learn"
        ) from None
    pixels = torch.tensor(load_sample_image("flower.jpg")[:416, 112:528]).permute(2, 0, 1)[None]
    return torch.nn.functional.adaptive_avg_pool2d(pixels.double(), side).to(torch.uint8)


def tiles_along(side: Size, size: Size) -> int:
    """Number of squares of this size along an edge of an image.

    Raises:
        ValueError: the size does not divide the side, so that pixels would be dropped.
    """
    if size < 1 or side % size:
        raise ValueError(
            f"squares of {size} x {size} pixels do not tile an image of side {side}: the size "
            "must divide it"
        )
    return side // size


def grid_permutation(side: Size, s: Count, seed: Seed) -> Int[Tensor, "pixels"]:
    """A permutation of the pixels that moves whole s x s squares of a side x side image
    (jelassi2022, Section 6).

    Entry i is the index of the original pixel that moves to position i of the permuted image, both
    in reading order.

    Raises:
        ValueError: s does not divide side.
    """
    squares = tiles_along(side, s)
    order = torch.randperm(squares**2, generator=generator(seed))
    places = (
        torch.arange(side**2)
        .reshape(squares, s, squares, s)
        .transpose(1, 2)
        .reshape(squares**2, s, s)
    )
    return places[order].reshape(squares, squares, s, s).transpose(1, 2).reshape(-1)


def permute(
    pixels: Num[Tensor, "n channels side side"], order: Int[Tensor, "pixels"]
) -> Num[Tensor, "n channels side side"]:
    """Each image with its pixels rearranged by :func:`grid_permutation`."""
    return pixels.flatten(2)[..., order].reshape(pixels.shape)


def patches_of(
    pixels: Float[Tensor, "n channels side side"], patch: Size
) -> Float[Tensor, "n D features"]:
    """Square patches in reading order, each flattened.

    Raises:
        ValueError: the patch size does not divide the side.
    """
    tiles_along(pixels.shape[-1], patch)
    return torch.nn.functional.unfold(pixels, patch, stride=patch).transpose(1, 2)
