"""What the change of one token does to the rows that read it, and to all states (chapter "Words in a trained model")."""

import torch
from jaxtyping import Float
from theorybook.validation import Natural, Seed, Size
from torch import Tensor

from attention_theory.trained.models import MiniLM


def row_move(
    weights: Float[Tensor, "*rows"],
    new_weights: Float[Tensor, "*rows"],
    value: Float[Tensor, "d"],
    new_value: Float[Tensor, "d"],
    others: Float[Tensor, "*rows d"],
) -> Float[Tensor, "*rows d"]:
    """By how much rows move when one key changes: w'(v' - m) - w(v - m), m what the other keys give.

    Args:
        weights: of the key in each row, before.
        new_weights: after.
        value: of the key, before.
        new_value: after.
        others: the mean value of the other keys in each row, which the change leaves.
    """
    return new_weights[..., None] * (new_value - others) - weights[..., None] * (value - others)


def relative_change(states: Float[Tensor, "n d"], others: Float[Tensor, "n d"]) -> Float[Tensor, ""]:
    """The length of the change of all states over the length of all states."""
    return (others - states).norm() / states.norm()


def worst_move(
    model: MiniLM, words: Float[Tensor, "n d"], token: Natural, steps: Size, seed: Seed
) -> tuple[float, Float[Tensor, "d"]]:
    """The largest relative change of all states found when one word embedding moves by at most its length, and the move.

    Ascent along the gradient from a random move; a step that gains nothing is taken back and made shorter.
    """
    plain, length = model.states(words), words[token].norm()
    generator = torch.Generator().manual_seed(seed)
    first = torch.randn(words.shape[1], generator=generator, dtype=torch.float64).to(words)
    at = torch.zeros(len(words), 1).to(words).index_fill(0, torch.tensor(token, device=words.device), 1)
    best, move, gradient, step = -1.0, first, torch.zeros_like(first), length
    tried = first * length / first.norm()
    for _ in range(steps):
        free = tried.detach().requires_grad_()
        with torch.enable_grad():
            change = relative_change(plain, model.states(words + at * free))
            slope = torch.autograd.grad(change, free)[0]
        value = float(change.detach())
        if value > best:
            best, move, gradient, step = value, tried, slope, 1.3 * step
        else:
            step = 0.4 * step
        tried = move + step * gradient / gradient.norm()
        tried = tried * (length / tried.norm()).clamp(max=1)
    return best, move
