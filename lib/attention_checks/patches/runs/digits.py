"""The digits experiments behind the chapter on real images: both attentions and a convolutional
network, permuted pixels::

    python -m attention_checks.patches.runs.digits --out book/data --jobs 2

writes ``digits.json``: the test accuracy of each run, for transformers the locality of their
positional encodings, and of some of them all similarities. A run takes some ten seconds of a core.
"""

from typing import Any

import numpy as np
import torch
from attention_theory.patches.images import load_digits
from attention_theory.patches.similarity import locality
from theorybook.sweep import Recording
from theorybook.validation import Natural, NonNegative, Seed, Size
from torch import nn

from attention_checks.patches.neighbours import local_share
from attention_checks.patches.runs.train_images import Recipe, inverted, train_images

#: What the chapter checks was fixed on a pilot: seeds 0 to 4, 25 epochs.
SEEDS = range(10, 20)
EPOCHS = 60
#: Standard deviation of the positional encodings at the start.
SMALL = 0.02
#: Side of the permuted squares; those of side 8 are the plain images.
SHUFFLES = (1, 2, 4, 8)


def digits_recipe(
    attention: str,
    patch: Size,
    seed: Seed,
    epochs: Size = EPOCHS,
    position_scale: NonNegative = SMALL,
    shuffle: Natural = 0,
) -> Recipe:
    """A small network for 8 x 8 digits: the same for both attentions."""
    return Recipe(
        data="digits",
        patch=patch,
        shuffle=shuffle,
        attention=attention,
        layers=2,
        heads=4,
        dim=32,
        hidden=32,
        position_scale=position_scale,
        epochs=epochs,
        warmup=2,
        batch=64,
        rate=2e-3,
        augment="none",
        seed=seed,
    )


def convolutional(seed: Seed, channels: Size = 32) -> nn.Sequential:
    """Three 3 x 3 convolutions, two of them followed by pooling: as local as a network on 8 x 8
    pixels gets.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(
            *(nn.Conv2d(1, channels, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1)),
            *(nn.Flatten(), nn.Linear(channels, 10)),
        )


def run(
    network: str,
    patch: Size,
    shuffle: Natural,
    seed: Seed,
    epochs: Size,
    position_scale: NonNegative | None = SMALL,
    keep: bool = False,
) -> dict[str, Any]:
    """One training run: its test accuracy and, for a transformer, what its positional encodings
    have learned.

    ``locality`` and ``local_share`` are measured after the permutation of the patches has been
    inverted, ``locality_seen`` and ``local_share_seen`` on the grid that the network saw.

    Args:
        network: ``vanilla``, ``positional`` or ``convolution``.
        patch, shuffle: sides of a patch and of the permuted squares.
        seed: of the split, the weights and the batches.
        epochs: of the training.
        position_scale: standard deviation of the encodings at the start; a convolutional network
            has none.
        keep: return the similarities of the encodings too, as the network saw them, in float16.
    """
    torch.set_num_threads(1)
    attention = "vanilla" if network == "convolution" else network
    recipe = digits_recipe(attention, patch, seed, epochs, position_scale or SMALL, shuffle)
    start = convolutional(seed) if network == "convolution" else None
    trained, history = train_images(recipe, load_digits(seed), network=start)
    found: dict[str, Any] = {"accuracy": history[-1]["accuracy"]}
    if start is not None:
        return found
    seen = trained.similarity()  # pyright: ignore[reportCallIssue]  # a method, which torch's stubs take for a tensor
    restored = inverted(seen, 8, patch, shuffle)
    found |= {"locality_seen": locality(seen), "local_share_seen": local_share(seen)}
    found |= {"locality": locality(restored), "local_share": local_share(restored)}
    return found | ({"similarity": seen.numpy().astype(np.float16)} if keep else {})


def points() -> list[dict[str, Any]]:
    """Every kind of run, each with every seed."""
    attentions = ("vanilla", "positional")
    kinds = [(network, 1, s, SMALL) for network in attentions for s in (1, 8)]
    kinds += [(network, 2, s, SMALL) for network in attentions for s in SHUFFLES[1:]]
    kinds += [("convolution", 1, s, None) for s in SHUFFLES] + [
        (network, 1, 8, 1.0) for network in attentions
    ]
    keys = ("network", "patch", "shuffle", "position_scale", "seed")
    found: list[dict[str, Any]] = [
        dict(zip(keys, (*kind, seed))) for kind in kinds for seed in SEEDS
    ]
    return [point | {"keep": kept(**point)} for point in found]


def kept(
    network: str, patch: Size, shuffle: Natural, position_scale: NonNegative | None, seed: Seed
) -> bool:
    """Whether the similarities of a run are stored: for one-pixel patches and small initial
    encodings, on plain images every seed, on permuted ones the first.
    """
    ours = network != "convolution" and patch == 1 and position_scale == SMALL
    return ours and (shuffle == 8 or (shuffle == 1 and seed == SEEDS[0]))


#: Four digits were recorded; float16 keeps three digits of a similarity.
RECORDING = Recording("digits", run, points, settings={"epochs": EPOCHS}, tolerance=2e-3)

if __name__ == "__main__":
    RECORDING.main()
