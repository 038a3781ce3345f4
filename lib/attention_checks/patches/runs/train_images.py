r"""Train a vision transformer on images, with vanilla or positional attention (jelassi2022, Section
6, Appendix A.1)::

    python -m attention_checks.patches.runs.train_images --data cifar100 --root data --patch 2 --shuffle 4 \\
        --attention positional --seed 0 --out runs/shuffle4-0
    torchrun --nproc-per-node 4 -m attention_checks.patches.runs.train_images --data svhn --root data --out runs/svhn-0

The defaults are the paper's small-scale setting. ``--out`` receives ``checkpoint.pt`` after every
epoch and ``record.json`` at the end; the same command after an interruption continues from the last
finished epoch and ends at the same numbers.
"""

import argparse
import json
import math
import os
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from attention_theory.device import generator
from attention_theory.patches.images import Images, grid_permutation, permute, tiles_along
from attention_theory.patches.transformer import VisionTransformer
from jaxtyping import Float, Int
from theorybook.devices import Device
from theorybook.sweep import provenance
from theorybook.validation import (
    Chance,
    Count,
    Natural,
    NonNegative,
    Positive,
    Seed,
    Size,
    Steps,
    recheck_callback,
)
from torch import Tensor, nn
from tqdm import tqdm

from attention_checks.patches.loaders import load_images

#: The permutation of a shuffled data set is the same for every seed of the training.
SHUFFLE_SEED = 2022


@dataclass(frozen=True)
class Recipe:
    """What is trained and how. The defaults are Appendix A.1's small-scale column; batch counts all
    GPUs together.

    ``weight_decay`` is the value in the code that the paper names; the optimiser is AdamW.
    ``shuffle`` is the side s of the squares that are permuted, 0 for plain images.
    """

    data: str = "cifar10"
    patch: Size = 4
    shuffle: Natural = 0
    attention: str = "vanilla"
    layers: Size = 7
    heads: Size = 12
    dim: Size = 384
    hidden: Size = 384
    position_scale: NonNegative = 1.0
    epochs: Size = 200
    warmup: Steps = 5
    batch: Size = 128
    rate: NonNegative = 1e-3
    rate_min: NonNegative = 1e-5
    weight_decay: NonNegative = 5e-5
    smoothing: Chance = 0.1
    augment: str = "auto"
    seed: Seed = 0

    def __post_init__(self):
        if self.augment not in ("none", "crop", "auto"):
            raise ValueError(
                f"augment {self.augment!r} is unknown; choose none, crop (and flip) or auto "
                "(AutoAugment)"
            )
        if not 0 < self.rate_min <= self.rate < math.inf:
            raise ValueError(f"rates {self.rate_min} and {self.rate}: choose 0 < rate_min <= rate")

    def model(self, images: Images) -> VisionTransformer:
        """The network at its start."""
        sizes = {
            name: getattr(self, name) for name in ("patch", "layers", "heads", "dim", "hidden")
        }
        start = {name: getattr(self, name) for name in ("attention", "position_scale", "seed")}
        return VisionTransformer(images.side, images.channels, images.classes, **sizes, **start)

    def rate_at(self, epoch: Natural) -> float:
        """Learning rate of an epoch, from 0: linear warm-up, then a cosine down to ``rate_min``."""
        if epoch < self.warmup:
            return self.rate * (epoch + 1) / self.warmup
        done = (epoch - self.warmup) / max(1, self.epochs - self.warmup)
        return self.rate_min + (self.rate - self.rate_min) * (1 + math.cos(math.pi * done)) / 2


def normalise(pixels: Tensor, mean: Tensor, std: Tensor) -> Tensor:
    """Values 0 to 255 to zero mean and unit variance of each channel over the training images."""
    return (pixels.to(mean) - mean[:, None, None]) / std[:, None, None]


def auto_augment(data: str):
    """AutoAugment with the policy found for the data, from torchvision."""
    try:
        from torchvision.transforms.v2 import AutoAugment, AutoAugmentPolicy  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise ImportError(
            "--augment auto needs torchvision: pip install torchvision, or choose --augment crop"
        ) from None
    return AutoAugment(AutoAugmentPolicy.SVHN if data == "svhn" else AutoAugmentPolicy.CIFAR10)


def augmented(
    pixels: Tensor,
    kind: str,
    source: torch.Generator,
    data: str = "cifar10",
    share: slice = slice(None),
) -> Tensor:
    """Random crops (an eighth of the side as padding) and flips; ``auto`` puts AutoAugment's policy
    for the data after them.

    House numbers are not flipped. What is random is drawn for the whole batch, so that it does not
    depend on the ``share`` of it that is wanted.
    """
    if kind == "none":
        return pixels[share]
    n, side, device = len(pixels), pixels.shape[-1], pixels.device
    padding = side // 8
    corner = torch.randint(0, 2 * padding + 1, (2, n), generator=source)[:, share].to(device)
    flip = (
        torch.randint(0, 2, (n, 1, 1, 1), generator=source)[share].to(device).bool()
        if data != "svhn"
        else None
    )
    seeds = torch.randint(2**31, (n,), generator=source)[share].tolist() if kind == "auto" else []
    crops = (
        nn.functional.pad(pixels[share], [padding] * 4).unfold(2, side, 1).unfold(3, side, 1)
    )  # all of them, as a view
    pixels = crops[torch.arange(len(crops), device=device), :, corner[0], corner[1]]
    if flip is not None:
        pixels = torch.where(flip, pixels.flip(-1), pixels)
    if kind == "auto":
        policy, moved = auto_augment(data), []
        with torch.random.fork_rng(devices=[]):
            for seed, image in zip(seeds, pixels.cpu()):
                torch.manual_seed(seed)
                moved.append(policy(image))
        pixels = torch.stack(moved).to(device)
    return pixels


def train_images(
    recipe: Recipe,
    images: Images,
    out: str | Path | None = None,
    *,
    device: Device = "cpu",
    rank: Natural = 0,
    world: Size = 1,
    stop_after: Size | None = None,
    network: nn.Module | None = None,
    every: Size = 1,
) -> tuple[nn.Module, list[dict]]:
    """Train, and return the network and a row for each epoch: its loss, and where it was tested the
    test accuracy.

    Args:
        recipe: see :class:`Recipe`.
        images: the data, not permuted: ``recipe.shuffle`` does that, after the augmentation, which
            knows unscrambled images.
        out: folder of the checkpoint; an existing one of the same recipe is continued.
        device: of this process.
        rank, world: this process among those that ``torchrun`` started (their process group is set
            up by the caller).
        stop_after: leave after so many epochs, as an interruption would.
        network: another network than the recipe's, for example a convolutional one.
        every: test after every so many epochs, and after the last.

    Raises:
        ValueError: nothing can be written in ``out``, or its checkpoint is broken or belongs to
            another recipe.
    """
    size = min(recipe.batch, len(images.train_labels))
    if size % world:
        raise ValueError(f"a batch of {size} does not split over {world} processes")
    saved = saved_state(recipe, out, device)
    network = (recipe.model(images) if network is None else network).to(device)
    model = nn.parallel.DistributedDataParallel(network) if world > 1 else network
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=recipe.rate, betas=(0.9, 0.999), weight_decay=recipe.weight_decay
    )
    checkpoint = None if out is None else checkpoint_in(out)
    history: list[dict] = []
    if saved is not None:
        try:
            network.load_state_dict(saved["network"])
            optimizer.load_state_dict(saved["optimizer"])
        except (RuntimeError, ValueError, KeyError) as error:
            raise ValueError(
                f"{checkpoint} does not fit the network; choose another folder or remove it "
                f"({error})"
            ) from error
        history = saved["history"]

    order = grid_permutation(images.side, recipe.shuffle or images.side, SHUFFLE_SEED)
    images = replace(images, test=permute(images.test, order))
    pixels, labels = images.train.to(device), images.train_labels.to(device)
    scaled = permute(images.train, order).to(next(network.parameters()).dtype)
    mean, std = (value.to(device) for value in (scaled.mean((0, 2, 3)), scaled.std((0, 2, 3))))
    epochs = range(
        len(history),
        recipe.epochs if stop_after is None else min(recipe.epochs, len(history) + stop_after),
    )
    for epoch in tqdm(
        epochs,
        initial=len(history),
        total=recipe.epochs,
        unit="epoch",
        disable=True if rank else None,
    ):
        for group in optimizer.param_groups:
            group["lr"] = recipe.rate_at(epoch)
        # All randomness of an epoch follows from (seed, epoch): an interrupted run needs no saved
        # generator.
        source = generator(recipe.seed * 100_003 + epoch)
        batches = torch.randperm(len(labels), generator=source).to(device).split(recipe.batch)
        total = torch.zeros(
            (), dtype=torch.float64, device=device
        )  # read once an epoch: each reading waits for a GPU
        model.train()
        # a last incomplete batch is left out: every process must see equally many
        batches = batches[: len(labels) // size]
        for batch in batches:
            share = slice(rank, None, world)
            x = permute(augmented(pixels[batch], recipe.augment, source, recipe.data, share), order)
            loss = nn.functional.cross_entropy(
                model(normalise(x, mean, std)),
                labels[batch][share],
                label_smoothing=recipe.smoothing,
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach().double() / len(batches)  # batches of one size
        tested = (epoch + 1) % every == 0 or epoch + 1 == recipe.epochs
        correct = _correct(network, images, mean, std, device, rank, world) if tested else 0
        if world > 1:
            sums = torch.stack([total / world, total.new_tensor(correct)])
            torch.distributed.all_reduce(sums)
            total, correct = sums[0], sums[1].item()
        accuracy = {"accuracy": correct / len(images.test_labels)} if tested else {}
        history.append({"epoch": epoch + 1, "loss": total.item(), **accuracy})
        if checkpoint is not None and rank == 0:
            state = {
                "recipe": asdict(recipe),
                "network": network.state_dict(),
                "optimizer": optimizer.state_dict(),
                "history": history,
            }
            torch.save(state, checkpoint.with_suffix(".partial"))
            os.replace(checkpoint.with_suffix(".partial"), checkpoint)
    return network, history


def patch_permutation(side: Size, s: Count, patch: Size, seed: Seed) -> Int[Tensor, "patches"]:
    """How :func:`attention_theory.patches.images.grid_permutation` moves patches: entry i names the patch of the original that
    stands at place i.

    Raises:
        ValueError: s does not divide side, or the patch size does not divide s, so that patches are
            torn apart.
    """
    tiles_along(side, s)
    if s % patch:
        raise ValueError(
            f"patches of {patch} pixels are torn apart by squares of s = {s}: the patch size must "
            "divide s"
        )
    return grid_permutation(side // patch, s // patch, seed)


def inverted(
    similarity: Float[Tensor, "D D"], side: Size, patch: Size, shuffle: Natural
) -> Float[Tensor, "D D"]:
    """Similarities of a network trained on shuffled images, with the permutation of its patches
    undone.
    """
    undone = torch.argsort(patch_permutation(side, shuffle, patch, SHUFFLE_SEED)).to(
        similarity.device
    )
    return similarity[undone][:, undone]


def checkpoint_in(out: str | Path) -> Path:
    """The checkpoint's path in a folder, ``~`` expanded."""
    return Path(out).expanduser() / "checkpoint.pt"


def saved_state(
    recipe: Recipe, out: str | Path | None, device: Device = "cpu"
) -> dict[str, Any] | None:
    """What the checkpoint in the folder ``out`` holds, None if there is none. The folder is made
    and written to, as a trial.

    Raises:
        ValueError: nothing can be written there, or the checkpoint is broken or belongs to another
            recipe.
    """
    if out is None:
        return None
    checkpoint = checkpoint_in(out)
    try:
        checkpoint.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=checkpoint.parent):
            pass
    except OSError as error:
        raise ValueError(f"nothing can be written in {checkpoint.parent}: {error}") from error
    if not checkpoint.exists():
        return None
    try:
        saved = torch.load(checkpoint, map_location=device, weights_only=True)
        found, epochs = saved["recipe"], [row["epoch"] for row in saved["history"]]
        whole = {"network", "optimizer"} <= saved.keys() and epochs == list(
            range(1, len(epochs) + 1)
        )
    except (
        Exception
    ) as error:  # what a broken file does to its reader has no limits: errors of any kind
        raise ValueError(
            f"{checkpoint} is broken; remove it to start anew ({type(error).__name__}: {error})"
        ) from error
    if not whole:
        raise ValueError(
            f"{checkpoint} is not a checkpoint of this command; choose another folder or remove it"
        )
    if found != asdict(recipe):
        raise ValueError(
            f"{checkpoint} belongs to another recipe; choose another folder or remove it"
        )
    return saved


def device_named(name: str | None) -> torch.device:
    """The device that this process computes on: with ``cuda`` and with None the GPU of its local
    rank, if there is one.

    Raises:
        ValueError: no device of this machine.
    """
    if name is None:
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        if device.type == "cuda" and device.index is None:
            device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ValueError(
            f"device {name!r} is not on this machine: {str(error).splitlines()[0]}"
        ) from error
    return device


@torch.no_grad()
def _correct(network, images, mean, std, device, rank, world) -> int:
    """How many of this process's share of the test images are classified correctly."""
    network.eval()
    share = zip(images.test[rank::world].split(512), images.test_labels[rank::world].split(512))
    return sum(
        int((network(normalise(x.to(device), mean, std)).argmax(1).cpu() == y).sum())
        for x, y in share
    )


def end_with_launcher(seconds: Positive = 0.5) -> None:
    """Let this process end when the one that started it does: a killed ``torchrun`` leaves no
    worker that writes on.
    """
    launcher = os.getppid()

    def watch() -> None:
        while os.getppid() == launcher:
            time.sleep(seconds)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def main(arguments: list[str] | None = None) -> dict:
    """Command line; see the top of the module."""
    parser = argparse.ArgumentParser(
        prog="train_images", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--root", default="data", help="folder that holds the unpacked files")
    parser.add_argument("--out", required=True, help="folder for the checkpoint and the record")
    parser.add_argument(
        "--device", default=None, help="cpu or cuda; default: a GPU if there is one"
    )
    for field, default in asdict(Recipe()).items():
        parser.add_argument(
            "--" + field.replace("_", "-"),
            type=type(default),
            default=default,
            help="default %(default)s",
        )
    given = vars(parser.parse_args(arguments))
    root, out, device = (given.pop(key) for key in ("root", "out", "device"))
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    try:
        recipe, device = (
            recheck_callback(Recipe)(**given),
            device_named(device),
        )  # the command line is checked as any reader's call
        saved_state(recipe, out)
        images = load_images(recipe.data, root, recipe.seed)
        recipe.model(images)
        grid_permutation(images.side, recipe.shuffle or images.side, SHUFFLE_SEED)
        if recipe.augment == "auto":
            auto_augment(recipe.data)
    except (ValueError, FileNotFoundError, ImportError) as error:
        parser.error(str(error))
    if device.type == "cuda":
        torch.cuda.set_device(device)
    if world > 1:
        end_with_launcher()
        torch.distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        _, history = train_images(recipe, images, out, device=device, rank=rank, world=world)
    finally:
        if world > 1:
            torch.distributed.destroy_process_group()
    record = {
        "recipe": asdict(recipe),
        "processes": world,
        **provenance(device),
        "history": history,
    }
    if rank == 0:
        checkpoint_in(out).with_name("record.json").write_text(
            json.dumps(record, indent=1) + "\n", encoding="utf-8"
        )
        print(f"test accuracy after {recipe.epochs} epochs: {history[-1]['accuracy']:.4f}")
    return record


if __name__ == "__main__":
    main()
