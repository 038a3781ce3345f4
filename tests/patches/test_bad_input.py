"""Conditions between arguments: refused with what was given and what is allowed."""

import pytest
import torch
from attention_checks.patches import flops, loaders
from attention_checks.patches.runs import lemmas, train_images, worlds
from attention_theory import patches
from attention_theory.patches import gaussian, similarity, transformer
from attention_theory.patches import images as pictures
from theorybook import validation

square = torch.zeros(4, 4).double()
world = patches.PatchDistribution(4, 2, 3, 0.5, 0.1)
FOUR = torch.zeros(4, 1, 8, 8, dtype=torch.uint8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: patches.PatchDistribution(10, 4, 3, 0.5, 0.1), "D = 10 .* C = 4"),
        (lambda: patches.PatchDistribution(8, 4, 1, 0.5, 0.1), "d = 1 leaves no direction"),
        (lambda: patches.PatchDistribution(8, 4, 3, 0.5, 0.1, groups=[0, 0, 1, 1]), "4 labels for D = 8"),
        (lambda: patches.PatchDistribution(4, 2, 3, 0.5, 0.1, groups=[0, 0, 0, 1]), r"sizes \[3, 1\]"),
        (lambda: patches.PatchDistribution(4, 2, 3, 0.5, 0.1, w=torch.ones(3)), "norm 1"),
        (lambda: patches.PatchDistribution(4, 2, 3, 0.5, 0.1, w=torch.ones(2)), r"shape \(3,\)"),
        (lambda: patches.PositionalViT(square, square[0], p=4), "p = 4"),
        (lambda: patches.PositionalViT(square, square[0], p=1), "p = 1"),
        (lambda: worlds.top_c(square, 5), "C = 5"),
        (lambda: patches.association(square, [0, 1, 1]), "3 labels for D = 4"),
        (lambda: patches.association(square, [0, 1, 1, 1]), r"sizes \[1, 3\]"),
        (lambda: patches.linear_error(10, 4, 0.5), "D = 10"),
        (lambda: patches.block_error(8, 4, 0.5, p=2), "p = 2"),
        (lambda: patches.label_noise_floor(8, 3, 0.5), "C = 3"),
        (lambda: patches.population_descent(8, 3, 0.5), "C = 3"),
        (lambda: patches.population_descent(8, 4, 0.5, p=2), "p = 2"),
        (lambda: patches.Population(64, 4, 0.5), "multisets"),
        (lambda: patches.Population(600, 300, 0.5), "counts in all"),
        (lambda: patches.every_point(8, 3, 0.5), "C = 3"),
        (lambda: patches.every_point(40, 2, 0.5), "40 . 3.38 data points"),
        (lambda: patches.Population(10**9, 2, 0.5), "the exact sums are for at most 100 000"),
        (lambda: patches.three_values(5, 2, 1.0, 0.0, 0.0), "D = 5"),
        (lambda: patches.train_vit(world, 5, steps=0, seed=0), "steps = 0"),
        (lambda: patches.train_vit(world, 5, seed=0, p=2), "p = 2"),
        (lambda: lemmas.power_sequence(1e-300, 2, 1.0, 1.0, 9.0), "steps away or more: take a larger z"),
        (lambda: gaussian.convolution_label(torch.zeros(2, 4, 3), 3), "D = 4 .* C = 3"),
        (lambda: pictures.grid_permutation(8, 3, 0), "squares of 3 x 3"),
        (lambda: train_images.patch_permutation(8, 2, 4, 0), "torn apart"),
        (lambda: train_images.patch_permutation(32, 5, 5, 0), "squares of 5 x 5 pixels do not tile an image of side 32"),
        (lambda: pictures.patches_of(torch.zeros(2, 3, 32, 32), 5), "squares of 5 x 5 pixels do not tile an image of side 32"),
        (lambda: flops.forward_flops(32, 3, 10, 5, 7, 12, 384, 384), "squares of 5 x 5"),
        (lambda: loaders.load_images("mnist"), "'mnist' .* digits, cifar10"),
        (lambda: similarity.locality(torch.eye(5)), "D = 5"),
        (lambda: transformer.VisionTransformer(8, 1, 10, patch=3), "squares of 3 x 3"),
        (lambda: transformer.VisionTransformer(8, 1, 10, patch=2, dim=10, heads=4), "10 does not split into 4"),
        (lambda: transformer.VisionTransformer(8, 1, 10, patch=2, attention="linear"), "'linear'"),
        (lambda: train_images.Recipe(augment="mixup"), "'mixup'"),
        (lambda: train_images.Recipe(rate=1e-6), "rate_min"),
    ],
)
def test_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("name", ["cifar10", "cifar100", "svhn"])
def test_missing_files_say_where_to_get_them(tmp_path, name):
    with pytest.raises(FileNotFoundError, match="is missing; get http"):
        loaders.load_images(name, tmp_path)


@pytest.mark.parametrize("wrong", ["--data svhn --root nowhere", "--data digits --patch 3", "--augment x"])
def test_the_command_line_refuses_in_one_sentence(tmp_path, capsys, wrong):
    with pytest.raises(SystemExit):
        train_images.main([*wrong.split(), "--out", str(tmp_path)])
    assert len(capsys.readouterr().err.strip().splitlines()[-1]) > 20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train_labels": torch.tensor([0, 1, 2, 3])}, "the train images: labels from 0 to 3 of 3 classes"),
        ({"test_labels": torch.tensor([0, 1, 2, -100])}, "the test images: labels from -100 to 2"),
        ({"test_labels": torch.tensor([0, 1, 2])}, r"4 images of shape \(1, 8, 8\) with labels of shape \(3,\)"),
        ({"test_labels": torch.zeros(4)}, "labels of type float32"),
        ({"train": FOUR.float()}, "float32 of shape"),
        ({"train": FOUR[..., :7]}, r"shape \(4, 1, 8, 7\)"),
        (
            {"test": torch.zeros(4, 3, 8, 8, dtype=torch.uint8)},
            r"train images of shape \(1, 8, 8\), test images of \(3, 8, 8\)",
        ),
    ],
)
def test_images_check_what_they_are_made_of(change, message):
    """Also inside a checked call, where signatures are not looked at."""
    labels = torch.tensor([0, 1, 2, 0])
    fine = {"train": FOUR, "train_labels": labels, "test": FOUR, "test_labels": labels, "classes": 3}
    pictures.Images(**fine)
    with validation.unchecked(), pytest.raises(ValueError, match=message):
        pictures.Images(**fine | change)
