"""The digits experiments behind the chapter on real images: both attentions and a convolutional network, permuted pixels.

    python -m attention_theory.patches.digits --out book/data --jobs 2

writes ``digits_attention.json``, a row for each run, and ``digits_positions.npz``, the positional similarities of
networks with patches of one pixel: of every seed on plain digits, of the first one on permuted digits. Minutes on two cores.
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from torch import nn

from attention_theory.patches.images import (
    grid_permutation,
    load_digits,
    local_share,
    locality,
    patch_permutation,
)
from attention_theory.patches.train_images import SHUFFLE_SEED, Recipe, train_images
from attention_theory.sweep import provenance, sweep

#: What the chapter checks was fixed on a pilot: seeds 0 to 4, 25 epochs.
SEEDS = range(10, 20)
EPOCHS = 60
#: Standard deviation of the positional encodings at the start.
SMALL = 0.02
#: Side of the permuted squares; those of side 8 are the plain images.
SHUFFLES = (1, 2, 4, 8)
#: Fields of a recipe that differ between the runs.
ROW = ("attention", "patch", "seed", "shuffle", "position_scale")


def digits_recipe(
    attention: str, patch: int, seed: int, epochs: int = EPOCHS, position_scale: float = SMALL, shuffle: int = 0
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


def convolutional(seed: int, channels: int = 32) -> nn.Sequential:
    """Three 3 x 3 convolutions, two of them followed by pooling: as local as a network on 8 x 8 pixels gets."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(
            *(nn.Conv2d(1, channels, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1)),
            *(nn.Flatten(), nn.Linear(channels, 10)),
        )


def run(
    network: str, patch: int, shuffle: int, seed: int, epochs: int = EPOCHS, position_scale: float = SMALL
) -> tuple[dict, np.ndarray | None]:
    """One training: its row, and the positional similarities of a transformer.

    ``locality`` and ``local_share`` are measured after the permutation of the patches has been inverted, ``locality_seen``
    and ``local_share_seen`` on the grid that the network saw.
    """
    torch.set_num_threads(1)
    recipe = digits_recipe("vanilla" if network == "convolution" else network, patch, seed, epochs, position_scale, shuffle)
    start = convolutional(seed) if network == "convolution" else None
    trained, history = train_images(recipe, load_digits(seed), network=start)
    row = {"network": network, "patch": patch, "shuffle": shuffle, "seed": seed, "accuracy": history[-1]["accuracy"]}
    if network == "convolution":
        return row, None
    seen = trained.similarity()
    undone = torch.argsort(patch_permutation(8, shuffle, patch, SHUFFLE_SEED))
    restored = seen[undone][:, undone]
    row |= {"position_scale": position_scale, "locality_seen": locality(seen), "local_share_seen": local_share(seen)}
    row |= {"locality": locality(restored), "local_share": local_share(restored)}
    return row, seen.numpy().astype(np.float16)


def main(arguments: list[str] | None = None) -> None:
    """Command line; see the top of the module."""
    parser = argparse.ArgumentParser(prog="digits", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the two files")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--seeds", type=int, nargs=2, default=(SEEDS.start, SEEDS.stop), help="first, and one after the last")
    given = parser.parse_args(arguments)
    seeds = range(*given.seeds)
    if not seeds or given.epochs < 1:
        parser.error("choose at least one seed and one epoch")
    kinds = [(network, 1, (1, 8)) for network in ("vanilla", "positional")]
    kinds += [(network, 2, SHUFFLES[1:]) for network in ("vanilla", "positional")] + [("convolution", 1, SHUFFLES)]
    points = [(network, patch, s, seed, SMALL) for network, patch, shuffles in kinds for s in shuffles for seed in seeds]
    points += [(network, 1, 8, seed, 1.0) for network in ("vanilla", "positional") for seed in seeds]
    keys = ("network", "patch", "shuffle", "seed", "position_scale")
    named = [dict(zip(keys, point), epochs=given.epochs) for point in points]
    rows, similarities = zip(*sweep(run, named, jobs=given.jobs, title="digits"))
    rounded = [{key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()} for row in rows]
    command = f"python -m attention_theory.patches.digits --epochs {given.epochs} --seeds {seeds.start} {seeds.stop}"
    recipe = {k: v for k, v in asdict(digits_recipe("vanilla", 1, 0, given.epochs)).items() if k not in ROW}
    record = {"command": command, **provenance("cpu"), "shuffle_seed": SHUFFLE_SEED, "recipe": recipe, "runs": rounded}
    text = json.dumps(record, indent=1).replace("\n   ", " ").replace("\n  }", "}")
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "digits_attention.json").write_text(text + "\n", encoding="utf-8")
    stacked = {
        f"{network}_{s}": np.stack([m for m, point in zip(similarities, points) if point[:3] == (network, 1, s) and point[4] == SMALL])
        for network in ("vanilla", "positional")
        for s in (8, 1)
    }
    kept = stacked | {name: stack[:1] for name, stack in stacked.items() if name.endswith("_1")}
    np.savez_compressed(given.out / "digits_positions.npz", order=grid_permutation(8, 1, SHUFFLE_SEED).numpy(), **kept)


if __name__ == "__main__":
    main()
