"""Loaders on tiny files of the published formats, permutations, both attentions, training that survives interruption."""

import gzip
import itertools
import json
import multiprocessing
import os
import pickle
import re
import socket
import sys
import types
from dataclasses import replace

import numpy as np
import pytest
import torch
from attention_checks.patches import flops, loaders, neighbours
from attention_checks.patches.runs import cifar, digits, train_images
from attention_theory.device import generator
from attention_theory.patches import images, similarity, transformer
from attention_theory.patches.images import grid_permutation, permute
from attention_theory.patches.similarity import cosines, locality
from scipy.io import savemat
from theorybook import identity
from theorybook.sweep import command_line

TINY = ["--layers", "1", "--heads", "2", "--dim", "8", "--hidden", "8", "--patch", "8", "--batch", "8", "--warmup", "1"]
SMALL = train_images.Recipe(
    data="svhn", patch=8, layers=1, heads=2, dim=8, hidden=8, batch=8, augment="crop", epochs=2, warmup=1
)


@pytest.fixture
def root(tmp_path):
    """16 training and 8 test images in each of the three formats."""
    source = np.random.default_rng(0)

    def batch(n, classes, key):
        return {b"data": source.integers(0, 256, (n, 3072), np.uint8), key: source.integers(0, classes, n).tolist()}

    ten, hundred = tmp_path / "cifar-10-batches-py", tmp_path / "cifar-100-python"
    ten.mkdir()
    hundred.mkdir()
    for name, n in [*((f"data_batch_{i}", 4) for i in range(1, 6)), ("test_batch", 8)]:
        (ten / name).write_bytes(pickle.dumps(batch(n, 10, b"labels"), protocol=2))
    for name, n in (("train", 16), ("test", 8)):
        (hundred / name).write_bytes(pickle.dumps(batch(n, 100, b"fine_labels"), protocol=2))
    for name, n in (("train", 16), ("test", 8)):
        pixels, labels = source.integers(0, 256, (32, 32, 3, n), np.uint8), source.integers(1, 11, (n, 1), np.uint8)
        savemat(tmp_path / f"{name}_32x32.mat", {"X": pixels, "y": labels})
    return tmp_path


@pytest.mark.parametrize(("name", "train", "classes"), [("cifar10", 20, 10), ("cifar100", 16, 100), ("svhn", 16, 10)])
def test_loaders_read_the_published_formats(root, name, train, classes):
    data = loaders.load_images(name, root)
    assert data.train.shape == (train, 3, 32, 32) and data.test.shape == (8, 3, 32, 32) and data.train.dtype == torch.uint8
    assert data.classes == classes and data.train_labels.min() >= 0 and data.train_labels.max() < classes
    assert (data.side, data.channels) == (32, 3)


def test_pixels_land_where_the_formats_say(root):
    raw = pickle.loads((root / "cifar-100-python" / "train").read_bytes())
    assert loaders.load_cifar(root, 100).train[3, 2, 5, 7] == raw[b"data"][3, 2 * 1024 + 5 * 32 + 7]
    from scipy.io import loadmat

    mat = loadmat(root / "train_32x32.mat")
    data = loaders.load_svhn(root)
    assert data.train[3, 2, 5, 7] == mat["X"][5, 7, 2, 3]
    assert data.train_labels.tolist() == [int(label) % 10 for label in mat["y"].ravel()]


def hundred(change):
    """A CIFAR-100 file of four images, changed."""
    batch = {b"data": np.zeros((4, 3072), np.uint8), b"fine_labels": [0, 99, 5, 7]}
    return pickle.dumps(change(batch), protocol=2)


BROKEN = {
    "asks for .*getcwd": pickle.dumps(os.getcwd, protocol=2),
    "empty": b"",
    "pointer of Git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
    "web page": b"<!DOCTYPE html><html></html>",
    "still packed": gzip.compress(b"tar"),
    "truncated": hundred(dict)[:200],
    "'fine_labels'": hundred(lambda batch: {b"data": batch[b"data"]}),
    "has no attribute 'items'": hundred(lambda batch: list(batch)),
    "labels from 0 to 100 of 100 classes": hundred(lambda batch: batch | {b"fine_labels": [0, 1, 2, 100]}),
    r"data of shape \(4, 32, 32, 3\)": hundred(lambda batch: batch | {b"data": np.zeros((4, 32, 32, 3), np.uint8)}),
    "0 images": pickle.dumps({b"data": np.zeros((0, 3072), np.uint8), b"fine_labels": []}, protocol=4),
}


@pytest.mark.parametrize("reason", BROKEN)
def test_a_broken_file_is_named_with_its_fault(root, reason):
    """Also where the library calls the loader itself, so that no signature is checked."""
    (path := root / "cifar-100-python" / "train").write_bytes(BROKEN[reason])
    for load in (lambda: loaders.load_cifar(root, 100), lambda: loaders.load_images("cifar100", root)):
        with pytest.raises(ValueError, match=f"^{re.escape(str(path))} is no file of cifar100: .*{reason}.*; get https:"):
            load()


SVHN = {"X": np.zeros((32, 32, 3, 4), np.uint8), "y": np.array([[1], [10], [2], [3]], np.uint8)}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"y": SVHN["y"] + 1}, "labels from 2 to 11, not 1 to 10"),
        ({"X": SVHN["X"].transpose(3, 0, 1, 2)}, r"of shape \(3, 32, 4, 32\)"),
        ({"X": np.zeros(3, np.uint8)}, "axes"),
    ],
)
def test_a_broken_svhn_file_is_named_with_its_fault(root, change, reason):
    path = root / "train_32x32.mat"
    savemat(path, SVHN | change)
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))} is no file of svhn: .*{reason}"):
        loaders.load_svhn(root)


@pytest.mark.parametrize("protocol", range(2, 6))
@pytest.mark.parametrize("keys", [bytes, str])
def test_files_that_were_saved_again_are_read(root, protocol, keys):
    """By another Python: protocol 5 and plain strings as keys; labels may be an array or its numbers."""
    for name, kind in (("train", np.array), ("test", lambda labels: list(np.array(labels)))):
        path = root / "cifar-100-python" / name
        batch = pickle.loads(path.read_bytes())
        batch[b"fine_labels"] = kind(batch[b"fine_labels"])
        found = {key if keys is bytes else key.decode(): value for key, value in batch.items()}
        path.write_bytes(pickle.dumps(found, protocol=protocol))
    data = loaders.load_cifar(root, 100)
    assert torch.equal(data.test.flatten(1), torch.as_tensor(batch[b"data"]))
    assert data.test_labels.tolist() == list(batch[b"fine_labels"]) and data.test_labels.dtype == torch.int64


def test_a_path_may_begin_at_home(root, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(root))
    assert len(loaders.load_cifar("~", 100).train) == 16 and len(loaders.load_svhn("~").train) == 16
    data = loaders.load_svhn("~")
    train_images.train_images(replace(SMALL, epochs=1), data, "~/run")
    assert (root / "run" / "checkpoint.pt").exists()


def test_the_photograph_is_a_square_of_means():
    small, whole = images.load_photograph(32), images.load_photograph(416)
    assert small.shape == (1, 3, 32, 32) and small.dtype == torch.uint8
    assert int(small[0, 1, 2, 3]) == int(whole[0, 1, 26:39, 39:52].double().mean())


def test_digits():
    data = images.load_digits(seed=0)
    assert data.train.shape == (1437, 1, 8, 8) and data.test.shape == (360, 1, 8, 8)
    assert sorted(data.test_labels.unique().tolist()) == list(range(10))
    assert not torch.equal(data.test, images.load_digits(seed=1).test)


@pytest.mark.parametrize(("side", "s"), [(8, 1), (8, 2), (8, 8), (32, 4)])
def test_squares_move_whole(side, s):
    order = grid_permutation(side, s, 0)
    assert sorted(order.tolist()) == list(range(side**2))
    picture = torch.arange(side**2).reshape(side, side)
    moved = picture.flatten()[order].reshape(side, side)
    square = moved[:s, :s]
    assert torch.equal(square - square[0, 0], picture[:s, :s]) and square[0, 0] % s == 0
    pixels = torch.randint(0, 255, (2, 3, side, side), dtype=torch.uint8)
    assert torch.equal(permute(permute(pixels, order), torch.argsort(order)), pixels)


@pytest.mark.parametrize("attention", transformer.ATTENTION)
def test_permuted_encodings_undo_permuted_images(attention):
    network = transformer.VisionTransformer(8, 1, 10, patch=2, layers=2, heads=2, dim=8, hidden=8, attention=attention).double()
    pixels = images.load_digits().test[:20]

    def gap(order_of_patches):
        other = transformer.VisionTransformer(
            8, 1, 10, patch=2, layers=2, heads=2, dim=8, hidden=8, attention=attention
        ).double()
        other.positions.data = network.positions.data[order_of_patches]
        moved = permute(pixels, grid_permutation(8, 4, 3)).double()
        return identity("outputs", other(moved).detach(), network(pixels.double()).detach()).holds

    order = train_images.patch_permutation(8, 4, 2, 3)
    assert gap(order)
    assert not gap(torch.arange(16))
    assert not gap(torch.argsort(order)) or torch.equal(order, torch.argsort(order))


def test_positional_scores_do_not_see_the_image():
    layer = transformer.SelfAttention(8, 2).double()
    tokens, positions = torch.randn(2, 5, 8, dtype=torch.float64), torch.randn(1, 5, 8, dtype=torch.float64)
    both = layer(tokens, positions)
    assert torch.allclose(layer(2 * tokens, positions) - both, both - layer(0 * tokens, positions))  # affine in the tokens
    assert not torch.allclose(
        layer(2 * tokens, 2 * tokens) - layer(tokens, tokens), layer(tokens, tokens) - layer(0 * tokens, 0 * tokens)
    )


def test_a_block_adds_attention_and_network_to_its_tokens():
    block = transformer.Block(8, 2, 16).double()
    tokens, positions = torch.randn(2, 3, 5, 8, dtype=torch.float64, generator=generator(1))
    for source in (None, positions):
        seen = block.norm1(tokens)
        between = tokens + block.attention(seen, seen if source is None else source)
        assert torch.equal(block(tokens, source), between + block.mlp(block.norm2(between)))


def test_locality_sees_the_grid():
    place = torch.stack((torch.arange(64) // 8, torch.arange(64) % 8), 1).double()
    local = torch.exp(-(torch.cdist(place, place) ** 2) / 4)
    assert locality(local) > 0.5 and neighbours.local_share(local) == 1
    shuffled = torch.randperm(64, generator=torch.Generator().manual_seed(0))
    assert abs(locality(local[shuffled][:, shuffled])) < 0.2 and neighbours.local_share(local[shuffled][:, shuffled]) < 0.7
    assert torch.allclose(cosines(local).diagonal(), torch.ones(64, dtype=torch.float64))


def test_flops_count_the_products():
    count = flops.forward_flops(8, 1, 10, 4, 1, 1, 6, 12)
    D, dim = 4, 6
    assert count == 2 * D * 16 * dim + 8 * D * dim * dim + 4 * D * D * dim + 4 * D * dim * 12 + 2 * dim * 10
    assert flops.forward_flops(8, 1, 10, 4, 1, 1, 6, 12, "positional") == count - 4 * D * dim * dim - 2 * D * D * dim


def test_the_rate_warms_up_and_falls():
    recipe = train_images.Recipe(epochs=20, warmup=4)
    rates = [recipe.rate_at(epoch) for epoch in range(20)]
    assert rates[:4] == pytest.approx([2.5e-4, 5e-4, 7.5e-4, 1e-3]) and rates[4] == pytest.approx(1e-3)
    assert all(a > b for a, b in itertools.pairwise(rates[4:])) and rates[-1] >= 1e-5


def test_crops_and_flips_keep_pixels():
    pixels = torch.arange(1, 65, dtype=torch.uint8).reshape(1, 1, 8, 8).repeat(50, 1, 1, 1)
    out = train_images.augmented(pixels, "crop", torch.Generator().manual_seed(0))
    assert out.shape == pixels.shape and len(out.unique(dim=0)) > 10
    middle = out[:, 0, 3, 3:5].long()
    assert set((middle[:, 1] - middle[:, 0]).tolist()) == {1, -1}  # some are flipped, some not


def test_a_crop_is_a_window_of_the_padded_image():
    pixels = torch.randint(1, 256, (40, 2, 16, 16), generator=generator(1), dtype=torch.uint8)
    padded = torch.zeros(40, 2, 20, 20, dtype=torch.uint8)
    padded[:, :, 2:18, 2:18] = pixels
    corners = set()
    for image, crop in zip(padded, train_images.augmented(pixels, "crop", generator(2), "svhn")):
        places = [(i, j) for i in range(5) for j in range(5) if torch.equal(image[:, i : i + 16, j : j + 16], crop)]
        assert len(places) == 1
        corners.add(places[0])
    assert {i for i, _ in corners} == {j for _, j in corners} == set(range(5)) and any(i != j for i, j in corners)


def test_the_policy_follows_the_crop_with_seeds_of_the_epoch(monkeypatch):
    """A stand-in for torchvision's policy that adds noise of the global generator, which stays as it was."""
    pixels = torch.randint(0, 128, (5, 1, 8, 8), generator=generator(1), dtype=torch.uint8)
    monkeypatch.setattr(train_images, "auto_augment", lambda data: lambda image: image + torch.randint(0, 128, (8, 8)))
    before = torch.get_rng_state()
    found = train_images.augmented(pixels, "auto", source := generator(2))
    assert torch.equal(torch.get_rng_state(), before)
    crops = train_images.augmented(pixels, "crop", other := generator(2))
    seeds = torch.randint(2147483648, (5,), generator=other).tolist()
    noise = torch.stack([torch.randint(0, 128, (8, 8), generator=generator(seed)) for seed in seeds])
    assert torch.equal(found, crops + noise[:, None])
    assert torch.equal(torch.rand(3, generator=source), torch.rand(3, generator=other))


@pytest.mark.parametrize("data", ["svhn", "cifar10", "cifar100"])
def test_the_policy_is_that_of_the_data(monkeypatch, data):
    module = types.ModuleType("torchvision.transforms.v2")
    module.AutoAugment = lambda policy: ("policy", policy)
    module.AutoAugmentPolicy = types.SimpleNamespace(SVHN="svhn", CIFAR10="cifar", IMAGENET="imagenet")
    for name in ("torchvision", "torchvision.transforms"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, "torchvision.transforms.v2", module)
    assert train_images.auto_augment(data) == ("policy", data[:5] if data != "svhn" else data)


def smoothed_loss(outputs, labels, smoothing):
    """Mean cross-entropy against the label with 1 - smoothing, and smoothing spread evenly over all classes."""
    logs = outputs - torch.log(torch.exp(outputs).sum(1, keepdim=True))
    losses = [-(1 - smoothing) * row[y] - smoothing * row.mean() for row, y in zip(logs, labels.tolist())]
    return float(torch.stack(losses).mean())


def standing(**settings):
    """A recipe whose rate is too small to move anything: all epochs see the start."""
    small = {"patch": 4, "layers": 1, "heads": 2, "dim": 8, "hidden": 8, "augment": "none", "warmup": 1}
    return train_images.Recipe(data="digits", rate=1e-30, rate_min=1e-30, weight_decay=0.0, **small | settings)


def outputs_at_the_start(recipe, data, pixels):
    """The network on pixels scaled by the mean and the spread of the training images."""
    train = data.train.double()
    scaled = (pixels.double() - train.mean((0, 2, 3))[:, None, None]) / train.std((0, 2, 3))[:, None, None]
    return recipe.model(data).double()(scaled).detach()


def test_an_epoch_is_noted_as_its_mean_loss_and_accuracy():
    whole = images.load_digits(0)
    data = replace(whole, train=whole.train[:40], train_labels=whole.train_labels[:40])
    recipe = standing(batch=10, epochs=2)
    history = train_images.train_images(recipe, data)[1]
    right = (outputs_at_the_start(recipe, data, data.test).argmax(1) == data.test_labels).double().mean()
    assert [row["epoch"] for row in history] == [1, 2]
    for row in history:
        start = outputs_at_the_start(recipe, data, data.train)
        assert row["loss"] == pytest.approx(smoothed_loss(start, data.train_labels, 0.1), rel=1e-5)
        assert row["accuracy"] == pytest.approx(float(right), abs=1e-9)


@pytest.mark.parametrize(("batch", "seen"), [(1000, 1000), (800, 800), (3000, 1437), (1437, 1437), (64, 1408)])
def test_the_loss_of_an_epoch_is_the_mean_over_the_images_seen(batch, seen):
    """The last incomplete batch is not trained on and does not count; a batch may be larger than the data."""
    data = images.load_digits(0)
    recipe = standing(batch=batch, epochs=1)
    (row,) = train_images.train_images(recipe, data)[1]
    order = torch.randperm(1437, generator=generator(recipe.seed * 100_003))[:seen]
    start = outputs_at_the_start(recipe, data, data.train[order])
    assert row["loss"] == pytest.approx(smoothed_loss(start, data.train_labels[order], 0.1), rel=1e-5)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is broken; remove it"),
        (b"half a checkpoint", "is broken; remove it"),
        (lambda saved: {}, "is broken; remove it"),
        (lambda saved: {"recipe": saved["recipe"], "history": []}, "is not a checkpoint of this command"),
        (lambda saved: saved | {"history": [{"epoch": 2}]}, "is not a checkpoint of this command"),
        (lambda saved: saved | {"network": {}}, "does not fit the network"),
        (lambda saved: saved | {"optimizer": {}}, "does not fit the network"),
    ],
)
def test_a_broken_checkpoint_is_named_before_the_first_epoch(root, tmp_path, content, message):
    data = loaders.load_images("svhn", root)
    path = tmp_path / "checkpoint.pt"
    train_images.train_images(SMALL, data, tmp_path, stop_after=1)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        torch.save(content(torch.load(path, weights_only=True)), path)
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))} {message}"):
        train_images.train_images(SMALL, data, tmp_path)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("--epochs 0", "epochs = 0 is not allowed: at least 1"),
        ("--batch 0", "batch = 0 is not allowed"),
        ("--smoothing 1.5", "smoothing = 1.5 is not allowed"),
        ("--device tpu", "device 'tpu' is not on this machine"),
        ("--device cuda:99", "device 'cuda:99' is not on this machine"),
        ("--out {file}", "nothing can be written in {file}"),
        ("--out {file}/below", "nothing can be written in {file}/below"),
        ("--out /proc/no", "nothing can be written in /proc/no"),
        ("--out {broken}", "{broken}/checkpoint.pt is broken"),
    ],
)
def test_the_command_refuses_before_it_trains(tmp_path, capsys, monkeypatch, wrong, message):
    monkeypatch.setattr(train_images, "train_images", None)
    (file := tmp_path / "file").write_text("")
    (broken := tmp_path / "broken").mkdir()
    (broken / "checkpoint.pt").write_bytes(b"half")
    places = {"file": file, "broken": broken}
    with pytest.raises(SystemExit):
        arguments = ["--data", "digits", "--out", str(tmp_path / "out"), *TINY, "--augment", "none"]
        train_images.main([*arguments, *wrong.format(**places).split()])
    assert message.format(**places) in capsys.readouterr().err


def test_cuda_without_an_index_is_the_gpu_of_the_local_rank(monkeypatch):
    monkeypatch.setattr(torch, "empty", lambda *size, device: device)  # as on a machine that has it
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert train_images.device_named("cuda") == torch.device("cuda", 3) != train_images.device_named("cuda:1")
    monkeypatch.delenv("LOCAL_RANK")
    assert train_images.device_named("cuda") == torch.device("cuda", 0) and train_images.device_named("cpu").type == "cpu"


def test_missing_torchvision_is_said_at_once(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torchvision", None)
    with pytest.raises(SystemExit):
        train_images.main(["--data", "digits", "--out", str(tmp_path), "--augment", "auto"])
    assert "pip install torchvision" in capsys.readouterr().err


def test_squares_are_permuted_after_the_augmentation(root):
    """So a transformer cannot notice them, crops and flips included."""
    data = loaders.load_images("cifar10", root)
    histories = []
    for shuffle in (0, 16):
        recipe = replace(SMALL, data="cifar10", patch=16, shuffle=shuffle)
        network = recipe.model(data).double()
        if shuffle:
            network.positions.data = network.positions.data[
                train_images.patch_permutation(32, 16, 16, train_images.SHUFFLE_SEED)
            ]
        torch.set_default_dtype(torch.float64)
        try:
            histories.append(train_images.train_images(recipe, data, network=network)[1])
        finally:
            torch.set_default_dtype(torch.float32)
    assert histories[0][-1]["loss"] == pytest.approx(histories[1][-1]["loss"], rel=1e-9)


def test_an_interrupted_run_ends_at_the_same_numbers(tmp_path, root):
    data = loaders.load_images("svhn", root)
    recipe = replace(SMALL, epochs=4)
    network, whole = train_images.train_images(recipe, data)
    train_images.train_images(recipe, data, tmp_path / "run", stop_after=2)
    saved = (tmp_path / "run" / "checkpoint.pt").stat().st_size
    again, resumed = train_images.train_images(recipe, data, tmp_path / "run")
    assert saved and resumed == whole
    assert all(torch.equal(a, b) for a, b in zip(network.state_dict().values(), again.state_dict().values()))
    with pytest.raises(ValueError, match="another recipe"):
        train_images.train_images(replace(SMALL, epochs=5), data, tmp_path / "run")


def test_a_failed_save_leaves_the_last_checkpoint(tmp_path, root, monkeypatch):
    data = loaders.load_images("svhn", root)
    train_images.train_images(SMALL, data, tmp_path, stop_after=1)
    before = (tmp_path / "checkpoint.pt").read_bytes()

    def broken(state, path):
        path.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(torch, "save", broken)
    with pytest.raises(KeyboardInterrupt):
        train_images.train_images(SMALL, data, tmp_path)
    assert (tmp_path / "checkpoint.pt").read_bytes() == before


@pytest.mark.parametrize("attention", transformer.ATTENTION)
def test_the_command_trains_and_records(root, tmp_path, attention, capsys):
    out = tmp_path / attention
    arguments = ["--data", "cifar100", "--root", str(root), "--out", str(out), "--epochs", "2", "--device", "cpu"]
    record = train_images.main([*arguments, "--attention", attention, "--shuffle", "16", "--augment", "crop", *TINY])
    assert json.loads((out / "record.json").read_text()) == record
    assert len(record["history"]) == 2 and record["recipe"]["shuffle"] == 16 and record["device"].startswith("CPU")
    assert "test accuracy after 2 epochs" in capsys.readouterr().out


def alone(rank, address, arguments):
    """One of two processes, as torchrun starts them."""
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": str(address)}
    train_images.main(arguments)


@pytest.mark.parametrize("augment", ["none", "crop", "auto"])
def test_two_processes_train_as_one(root, tmp_path, augment):
    """Gradients are averaged and each draws what one process would, so the losses are those of one process."""
    if augment == "auto":
        pytest.importorskip("torchvision")
    base = ["--data", "cifar10", "--root", str(root), "--epochs", "2", "--device", "cpu", "--augment", augment, *TINY]
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    start = multiprocessing.get_context("fork").Process  # forked: they need not import torch
    two = [start(target=alone, args=(rank, port, [*base, "--out", str(tmp_path / "two")])) for rank in range(2)]
    for process in two:
        process.start()
    one = train_images.main([*base, "--out", str(tmp_path / "one")])
    for process in two:
        process.join(60)
    assert [process.exitcode for process in two] == [0, 0]
    two = json.loads((tmp_path / "two" / "record.json").read_text())
    assert two["processes"] == 2
    for a, b in zip(one["history"], two["history"]):
        assert a["loss"] == pytest.approx(b["loss"], rel=1e-4) and a["accuracy"] == pytest.approx(b["accuracy"])


def test_the_digits_sweep_keeps_what_it_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(digits, "load_digits", lambda seed: images.load_digits(seed, test=1700))
    some = [p for p in digits.points() if p["seed"] == 10 and p["patch"] == 1 and p["shuffle"] == 8]
    record = digits.RECORDING.record(tmp_path, some, epochs=1)
    assert {point["network"] for point in record.points} == {"vanilla", "positional", "convolution"}
    shapes = [result["similarity"].shape for result in record.results if "similarity" in result]
    assert shapes == [(64, 64)] * 2
    kept = next(result for result in record.results if "similarity" in result)
    assert locality(torch.as_tensor(kept["similarity"]).double()) == pytest.approx(kept["locality"], abs=2e-3)


CUT = {"epochs": 1, "train": 1, "test": 1}


@pytest.fixture
def few_images(root, monkeypatch):
    """Two training and two test images of each class, where ``CIFAR10`` says; nothing is remembered from other files."""
    monkeypatch.setenv("CIFAR10", str(root))
    for name in [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]:
        path = root / "cifar-10-batches-py" / name
        labels = list(range(10)) * (2 if name == "test_batch" else 1)
        pixels = np.random.default_rng(len(labels)).integers(0, 256, (len(labels), 3072), np.uint8)
        path.write_bytes(pickle.dumps({b"data": pixels, b"labels": labels}, protocol=2))
    for remembered in (cifar.cifar, cifar.pretrained):
        remembered.cache_clear()
    yield root
    for remembered in (cifar.cifar, cifar.pretrained):
        remembered.cache_clear()


@pytest.mark.parametrize(
    "point",
    [
        dict(network="vanilla", patch=4, shuffle=32, seed=0),
        dict(network="positional", patch=4, shuffle=4, seed=0),
        dict(network="convolution", patch=1, shuffle=2, seed=0),
    ],
)
def test_a_run_on_cifar_keeps_what_it_measured(few_images, point):
    found = cifar.run(**point, **CUT)
    assert 0 <= found["accuracy"] <= 1
    if point["network"] == "convolution":
        assert set(found) == {"accuracy", "loss"}
    else:
        undone = cifar.restored(found["cosines"])
        adjacent = (similarity.places(64)[:, None] - similarity.places(64)).abs().sum(2)
        lead = undone[adjacent == 1].mean() - undone[adjacent > 1].mean()
        assert float(lead) == pytest.approx(found["locality"], abs=5e-3)


def test_what_is_kept_for_new_classes_stays(few_images, monkeypatch):
    trained = {}
    original = cifar.train_images

    def watched(recipe, data, **given):
        start = {k: v.clone() for k, v in (given.get("network") or recipe.model(data)).state_dict().items()}
        network, history = original(recipe, data, **given)
        trained.update(start=start, end=network.state_dict(), classes=data.classes)
        return network, history

    monkeypatch.setattr(cifar, "train_images", watched)
    old = cifar.pretrained(0, 1, 1, 1)
    sizes = dict(seed=0, few=1, few_epochs=8, **CUT)
    moved = {}
    for kept in cifar.KEPT:
        cifar.transfer(kept, **sizes)
        assert trained["classes"] == 5
        moved[kept] = {k for k in old if not torch.equal(trained["start"][k], trained["end"][k])}
        if kept in ("encodings", "attention"):
            assert torch.equal(trained["end"]["positions"], old["positions"])
        if kept == "attention of shuffled places":
            rows = {tuple(row) for row in old["positions"].tolist()}
            assert {tuple(row) for row in trained["end"]["positions"].tolist()} == rows
            assert not torch.equal(trained["end"]["positions"], old["positions"])
    attention = {"positions"} | {k for k in old if ".query." in k or ".key." in k}
    assert moved["nothing"] & attention and "positions" not in moved["encodings"]
    assert not moved["attention"] & attention and "embed.weight" in moved["attention"]


def test_a_class_with_too_few_images_is_named(few_images):
    with pytest.raises(ValueError, match="class 0 has 5 images, 6 are asked for"):
        cifar.cifar(6, 1)


@pytest.mark.parametrize(("damage", "words"), [(None, "is missing; get http"), (b"\x80\x02}", "is no file of cifar10")])
def test_missing_data_end_the_recording_in_one_sentence(few_images, tmp_path, capsys, damage, words):
    path = few_images / "cifar-10-batches-py" / "data_batch_3"
    path.unlink() if damage is None else path.write_bytes(damage)
    with pytest.raises(SystemExit):
        command_line(cifar.RECORDINGS, ["--out", str(tmp_path / "out"), "--points", "1", "--only", "cifar10"])
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert str(path) in said and words in said
    assert not (tmp_path / "out" / "cifar10.json").exists()


def test_inverting_the_permutation_brings_the_grid_back():
    seen = torch.randn(64, 64, generator=generator(0))
    order = train_images.patch_permutation(8, 1, 1, train_images.SHUFFLE_SEED)
    assert torch.equal(train_images.inverted(seen[order][:, order], 8, 1, 1), seen)


def test_similarity_of_a_grid():
    place = similarity.places(64).double()
    near = torch.exp(-(torch.cdist(place, place) ** 2) / 4)
    means = neighbours.by_displacement(near, reach=2)
    assert means.argmax() == 12 and torch.allclose(means, means.flip(0)) and torch.allclose(means, means.T)
    assert neighbours.touching_share(near) == 1
    assert neighbours.chance_level(near, draws=50) < locality(near)
    shuffled = torch.randperm(64, generator=generator(1))
    assert neighbours.touching_share(near[shuffled][:, shuffled]) < 0.5


def test_what_encodings_follow_tells_nearness_from_likeness():
    data = images.load_digits(0).train
    place = similarity.places(64).double()
    pixels = data.double().flatten(1)
    by_nearness = similarity.what_is_followed(similarity.pairs(torch.exp(-torch.cdist(place, place)), data))
    alike = torch.corrcoef(pixels.T).nan_to_num() + torch.eye(64)
    by_likeness = similarity.what_is_followed(similarity.pairs(alike, data))
    assert by_nearness.nearness > by_nearness.likeness + 0.3
    assert by_likeness.likeness > by_likeness.nearness
    assert by_nearness.at_equal_likeness > 0.5 * by_nearness.locality
    assert by_likeness.at_equal_likeness < 0.5 * by_likeness.locality
