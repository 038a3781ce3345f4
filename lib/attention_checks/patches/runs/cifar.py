"""CIFAR-10 behind the chapter on real images: shuffled squares, both attentions, a convolutional
network, transfer::

    CIFAR10=data python -m attention_checks.patches.runs.cifar --out book/data

writes ``cifar10.json`` and ``cifar10-fine.json``, ``-transfer.json`` and ``-likeness.json``:
accuracies, and what the positional encodings have learned. The environment variable ``CIFAR10``
names the folder that holds ``cifar-10-batches-py``, the unpacked Python version of the public
archive (torchvision unpacks the same). The networks and the data are small parts of the paper's, so
that all of it takes some ten minutes of one core; for the paper's sizes see
:mod:`attention_checks.patches.runs.train_images`.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Literal

import numpy as np
import torch
from attention_theory.device import generator
from attention_theory.patches.images import Images
from attention_theory.patches.similarity import cosines, likeness, locality
from attention_theory.patches.transformer import VisionTransformer
from jaxtyping import Float, Int, UInt8
from theorybook.sweep import Recording, command_line
from theorybook.validation import Natural, Seed, Size
from torch import Tensor, nn

from attention_checks.patches.loaders import load_cifar
from attention_checks.patches.neighbours import by_displacement, chance_level, local_share
from attention_checks.patches.runs.train_images import Recipe, inverted, train_images

SIDE, CLASSES = 32, 10
ATTENTIONS = ("vanilla", "positional")
#: Images of a class that are used, of the 5000 and 1000 that CIFAR-10 has.
TRAIN, TEST = 250, 200
#: Sides of the permuted squares; those of side 32 are the plain images.
SHUFFLES = (2, 16, 32)
#: The transfer: images of each new class, and epochs on them.
FEW, FEW_EPOCHS = 20, 30
#: What is kept of a trained network for new classes.
Kept = Literal["nothing", "encodings", "attention", "attention of shuffled places"]
KEPT: tuple[Kept, ...] = ("nothing", "encodings", "attention", "attention of shuffled places")


@cache
def cifar(train: Size = TRAIN, test: Size = TEST) -> Images:
    """The first images of each class of CIFAR-10, from the folder that the environment variable
    ``CIFAR10`` names.

    Raises:
        FileNotFoundError: no published files are there.
        ValueError: a file is truncated or is not one of the published ones, or a class has too few
            images.
    """
    return of_classes(load_cifar(os.environ.get("CIFAR10", "data")), range(CLASSES), train, test)


def of_classes(
    images: Images, classes: Sequence[int], train: Size, test: Size, draw: Seed | None = None
) -> Images:
    """The first images of each of these classes, renumbered from 0; with a ``draw`` the training
    images are random ones.

    Raises:
        ValueError: a class has too few images.
    """
    source = None if draw is None else generator(draw)

    def some(
        pixels: UInt8[Tensor, "n channels side side"],
        labels: Int[Tensor, "n"],
        wanted: Size,
        at_random: bool,
    ) -> tuple[Tensor, Tensor]:
        chosen = []
        for c in classes:
            places = torch.where(labels == c)[0]
            if len(places) < wanted:
                raise ValueError(f"class {c} has {len(places)} images, {wanted} are asked for")
            chosen.append(
                places[torch.randperm(len(places), generator=source)] if at_random else places
            )
        index = torch.cat([places[:wanted] for places in chosen])
        return pixels[index], torch.arange(len(classes)).repeat_interleave(wanted)

    drawn = some(images.train, images.train_labels, train, source is not None)
    return Images(*drawn, *some(images.test, images.test_labels, test, False), len(classes))


def cifar_recipe(attention: str, patch: Size, shuffle: Natural, seed: Seed, epochs: Size) -> Recipe:
    """A small transformer and its training: as in the paper, except for the sizes, the rate, the
    small initial encodings, and crops (and flips) as the only augmentation.
    """
    return Recipe(
        data="cifar10",
        patch=patch,
        shuffle=shuffle,
        attention=attention,
        layers=2,
        heads=4,
        dim=32,
        hidden=32,
        position_scale=0.02,
        epochs=epochs,
        warmup=1,
        batch=32,
        rate=2e-3,
        rate_min=1e-4,
        augment="crop",
        seed=seed,
    )


def convolutional(seed: Seed, channels: Size = 8) -> nn.Sequential:
    """Four 3 x 3 convolutions with batch normalisation, three of them followed by pooling: a small
    VGG.
    """

    def layer(before: int, after: int) -> tuple[nn.Module, ...]:
        return nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU()

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(
            *(*layer(3, channels), nn.MaxPool2d(2)),
            *(*layer(channels, 2 * channels), nn.MaxPool2d(2)),
            *(*layer(2 * channels, 4 * channels), nn.MaxPool2d(2)),
            *(*layer(4 * channels, 4 * channels), nn.AdaptiveAvgPool2d(1)),
            *(nn.Flatten(), nn.Linear(4 * channels, CLASSES)),
        )


def run(
    network: str, patch: Size, shuffle: Natural, seed: Seed, epochs: Size, train: Size, test: Size
) -> dict[str, Any]:
    """One training run: its test accuracy and, for a transformer, what its positional encodings
    have learned.

    Args:
        network: ``vanilla``, ``positional`` or ``convolution``.
        patch, shuffle: sides of a patch and of the permuted squares.
        seed: of the weights and the batches.
        epochs: of the training.
        train, test: images of a class.
    """
    torch.set_num_threads(1)
    recipe = cifar_recipe(
        "vanilla" if network == "convolution" else network, patch, shuffle, seed, epochs
    )
    start = convolutional(seed) if network == "convolution" else None
    trained, history = train_images(recipe, cifar(train, test), network=start, every=epochs)
    found: dict[str, Any] = {"accuracy": history[-1]["accuracy"], "loss": history[-1]["loss"]}
    if not isinstance(trained, VisionTransformer):
        return found
    seen = trained.similarity()
    restored = inverted(seen, SIDE, patch, shuffle)
    found |= {"locality_seen": locality(seen), "local_share_seen": local_share(seen)}
    found |= {
        "locality": locality(restored),
        "local_share": local_share(restored),
        "chance": chance_level(restored),
    }
    found["displacements"] = by_displacement(restored).numpy().astype(np.float16)
    return found | (
        {"cosines": stored(cosines(restored))} if len(seen) <= 64 else {}
    )  # more would fill the record


def stored(matrix: Float[Tensor, "D D"]) -> np.ndarray:
    """The entries above the diagonal, in hundredths."""
    i, j = np.triu_indices(len(matrix), 1)
    return (100 * matrix.numpy()[i, j]).round().astype(np.int8)


def restored(upper: np.ndarray) -> Float[Tensor, "D D"]:
    """The symmetric matrix with ones on its diagonal whose upper part was :func:`stored`."""
    D = round((1 + (1 + 8 * len(upper)) ** 0.5) / 2)
    matrix = torch.eye(D, dtype=torch.float64)
    i, j = np.triu_indices(D, 1)
    matrix[i, j] = matrix[j, i] = torch.as_tensor(upper / 100)
    return matrix


def transfer(
    kept: Kept, seed: Seed, epochs: Size, train: Size, test: Size, few: Size, few_epochs: Size
) -> dict[str, float]:
    """Accuracy on five classes learned from few images, with parts of a network that has learned
    the other five.

    What is kept stays as it is, everything else starts anew: the positional encodings, or the whole
    attention (encodings, queries and keys of all layers), or the attention with its places
    shuffled. The seed draws classes, images and weights.
    """
    torch.set_num_threads(1)
    classes = torch.randperm(CLASSES, generator=generator(seed)).tolist()
    recipe = cifar_recipe("positional", 4, 0, seed, epochs)
    new = of_classes(cifar(train, test), classes[5:], few, test, draw=seed)
    network = replace(recipe, seed=seed + 1000).model(new)
    if kept != "nothing":
        old = pretrained(seed, epochs, train, test)
        parts = ("positions",) if kept == "encodings" else ("positions", ".query.", ".key.")
        values = {name: value for name, value in old.items() if any(part in name for part in parts)}
        if kept == "attention of shuffled places":
            values["positions"] = old["positions"][
                torch.randperm(len(old["positions"]), generator=generator(seed + 2000))
            ]
        network.load_state_dict(values, strict=False)
        for name, parameter in network.named_parameters():
            parameter.requires_grad_(name not in values)
    later = replace(recipe, seed=seed + 1000, epochs=few_epochs, batch=20, warmup=5)
    _, history = train_images(later, new, network=network, every=few_epochs)
    return {"accuracy": history[-1]["accuracy"], "loss": history[-1]["loss"]}


@cache
def pretrained(seed: Seed, epochs: Size, train: Size, test: Size) -> dict[str, Tensor]:
    """The parameters of positional attention after training on five classes that the seed draws."""
    classes = torch.randperm(CLASSES, generator=generator(seed)).tolist()
    recipe = cifar_recipe("positional", 4, 0, seed, epochs)
    network, _ = train_images(
        recipe, of_classes(cifar(train, test), classes[:5], train, test), every=epochs
    )
    return network.state_dict()


def patch_likeness(patch: Size, train: Size, test: Size) -> dict[str, np.ndarray]:
    """Correlations of the mean brightness of two patches over the training images, in
    hundredths.
    """
    return {"likeness": stored(likeness(cifar(train, test).train, patch))}


def points() -> list[dict[str, Any]]:
    """Every kind of run with each of its seeds; transformers go seed by seed, so that an
    interrupted run leaves complete seeds.

    Plain and shuffled transformers have different seeds: by prop-patches-equivariance their results
    are draws from the same distribution.
    """
    found: list[dict[str, Any]] = []
    for seed in range(3):
        found += [dict(network=network, patch=4, shuffle=32, seed=seed) for network in ATTENTIONS]
        found += [
            dict(network=network, patch=4, shuffle=4, seed=seed + 3) for network in ATTENTIONS
        ]
    return found + [
        dict(network="convolution", patch=1, shuffle=s, seed=seed)
        for s in SHUFFLES
        for seed in range(5)
    ]


SIZES = {"train": TRAIN, "test": TEST}
#: Float32 sums in another order lead each training elsewhere within its scatter over seeds.
TRAINED = {"": 2e-1, "cosines": float("inf"), "displacements": float("inf")}
RECORDINGS = [
    Recording(
        "cifar10-likeness",
        patch_likeness,
        [{"patch": 4}],
        settings=SIZES,
        tolerance=1e-2,
        shipped=False,
    ),
    Recording(
        "cifar10",
        run,
        points,
        settings=SIZES | {"epochs": 4},
        tolerance=TRAINED,
        digits=4,
        shipped=False,
    ),
    # 256 patches cost ten times as much as 64, so these networks see fewer images
    Recording(
        "cifar10-fine",
        run,
        [dict(network="vanilla", patch=2, shuffle=2, seed=seed) for seed in range(3)],
        settings={"train": 100, "test": TEST, "epochs": 5},
        tolerance=TRAINED,
        digits=4,
        shipped=False,
    ),
    Recording(
        "cifar10-transfer",
        transfer,
        [{"kept": kept, "seed": seed} for seed in range(10) for kept in KEPT],
        settings=SIZES | {"epochs": 6, "few": FEW, "few_epochs": FEW_EPOCHS},
        tolerance=TRAINED,
        digits=4,
        shipped=False,
    ),
]

if __name__ == "__main__":
    command_line(RECORDINGS)
