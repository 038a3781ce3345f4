"""A real word for a real word in MiniLM, and the worst move of one word's embedding::

    IMDB_REVIEWS=... python -m attention_checks.trained.runs.words --out book/data --jobs 2

writes ``trained-words-minilm.json`` and ``trained-words-worst-minilm.json``.
"""

from typing import Any

import numpy as np
import torch
from attention_theory.trained.models import MiniLM, minilm
from jaxtyping import Float
from theorybook.sweep import Recording, command_line
from theorybook.validation import Bit, Natural, Seed, Size
from torch import Tensor

from attention_checks.trained import corpora

LENGTHS = (16, 32, 64, 128, 256)
#: Words of each text that are replaced, one at a time; steps and starts of the ascent.
REPLACED, STEPS, STARTS = 4, 25, 2


def relative_change(
    states: Float[Tensor, "n d"], others: Float[Tensor, "n d"]
) -> Float[Tensor, ""]:
    """The length of the change of all states over the length of all states."""
    return (others - states).norm() / states.norm()


def worst_move(
    model: MiniLM, words: Float[Tensor, "n d"], token: Natural, steps: Size, seed: Seed
) -> tuple[float, Float[Tensor, "d"]]:
    """The largest relative change of all states found when one word embedding moves by at most its
    length, and the move.

    Ascent along the gradient from a random move; a step that gains nothing is taken back and made
    shorter.
    """
    plain, length = model.states(words), words[token].norm()
    generator = torch.Generator().manual_seed(seed)
    first = torch.randn(words.shape[1], generator=generator, dtype=torch.float64).to(words)
    at = (
        torch.zeros(len(words), 1)
        .to(words)
        .index_fill(0, torch.tensor(token, device=words.device), 1)
    )
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


def run(n: Size, kind: corpora.Kind, draw: Bit, count: Size) -> dict[str, Any]:
    """The results of :func:`of_texts` for the words that :func:`new_words` draws."""
    torch.set_num_threads(1)
    network = minilm()
    bodies = corpora.drawn(kind, network, n, draw, count)
    return of_texts(network, bodies, new_words(network, bodies, draw))


def new_words(
    network: MiniLM, bodies: list[list[int]], seed: Seed
) -> list[list[tuple[Natural, Natural]]]:
    """Of each text the places of some words, and for each place the word that is put there.

    The new word is a word of the next text; where a short text has no word, such as a ruler in
    Python's documentation, any of its tokens stand for words.
    """
    generator = torch.Generator().manual_seed(seed)
    found = []
    for body, other in zip(bodies, [*bodies[1:], bodies[0]]):
        order = torch.randperm(len(body), generator=generator).tolist()
        places = [place for place in order if is_word(network, body[place])] or order
        other = [token for token in other if is_word(network, token)] or other
        found.append(
            [(place, _another(other, body[place], generator)) for place in places[:REPLACED]]
        )
    return found


def of_texts(
    network: MiniLM, bodies: list[list[int]], replacements: list[list[tuple[Natural, Natural]]]
) -> dict[str, Any]:
    """For each text the ``change`` of all states, as a mean over the replaced words.

    As means over texts, ``own`` is the change of the word's own state relative to that state,
    ``others`` that of all other states relative to all states. ``layers`` (layer, 3) has the means
    over texts, heads and rows of other tokens of the word's weight and of the total variation of a
    row, and the mean over texts of the largest total variation of a row.
    """
    found: dict[str, list] = {"change": [], "own": [], "others": [], "layers": []}
    with torch.no_grad():
        for body, replaced in zip(bodies, replacements):
            plain, before = _watched(network, body)
            moves = []
            for place, word in replaced:
                states, after = _watched(network, [*body[:place], word, *body[place + 1 :]])
                moves.append((place + 1, states, after))
            found["change"].append(
                np.mean([float(relative_change(plain, states)) for _, states, _ in moves])
            )
            found["own"].append(
                np.mean(
                    [float(relative_change(plain[[at]], states[[at]])) for at, states, _ in moves]
                )
            )
            found["others"].append(np.mean([_others(plain, states, at) for at, states, _ in moves]))
            found["layers"].append(np.mean([_rows(before, after, at) for at, _, after in moves], 0))
    return {
        name: np.array(each) if name == "change" else np.mean(each, 0)
        for name, each in found.items()
    }


def is_word(network: MiniLM, token: Natural) -> bool:
    """Whether a token is a word, or the beginning of one: letters, and no mark that it goes on with
    the one before.
    """
    return network.tokenizer.id_to_token(token).isalpha()


def _another(body: list[int], word: int, generator: torch.Generator) -> int:
    """A random token of a text that is not the given one."""
    choice = [token for token in body if token != word]
    return choice[int(torch.randint(len(choice), (), generator=generator))]


def _others(plain, states, at):
    change = (states - plain).norm(dim=1)
    change[at] = 0
    return float(change.norm() / plain.norm())


def _watched(network, body):
    kept = []
    return network(
        network.framed(body), watch=lambda layer, scores, weights, values: kept.append(weights)
    ), kept


def _rows(before, after, at):
    """The (layer, 3) statistics ``layers`` of :func:`of_texts`."""
    found = []
    for old, new in zip(before, after):
        rows = [row for row in range(old.shape[1]) if row != at]
        apart = (new - old)[:, rows].abs().sum(-1) / 2
        found.append([float(old[:, rows, at].mean()), float(apart.mean()), float(apart.max())])
    return found


def run_worst(n: Size, kind: corpora.Kind, draw: Bit, count: Size) -> dict[str, Any]:
    """The results of :func:`worst_of_texts`."""
    torch.set_num_threads(1)
    network = minilm()
    return worst_of_texts(network, corpora.drawn(kind, network, n, draw, count))


def worst_of_texts(network: MiniLM, bodies: list[list[int]]) -> dict[str, Any]:
    """For each text the worst ``change`` of all states found when the embedding of the middle word
    moves by at most its length.

    ``random`` is the mean change of random moves of that length, ``held`` the mean weight that rows
    of other tokens give to the moved token, before and after, as a mean over texts (layer, 2).
    """
    found: dict[str, list] = {"change": [], "random": [], "held": []}
    for body in bodies:
        at = len(body) // 2 + 1
        tokens = network.words(network.framed(body))
        tries = [worst_move(network, tokens, at, STEPS, seed) for seed in range(STARTS)]
        found["change"].append(max(change for change, _ in tries))
        found["random"].append(
            np.mean([worst_move(network, tokens, at, 1, seed)[0] for seed in range(STARTS)])
        )
        move = max(tries, key=lambda each: each[0])[1]
        moved = tokens.clone()
        moved[at] += move
        with torch.no_grad():
            found["held"].append(
                np.stack([_held(network, each, at) for each in (tokens, moved)], -1)
            )
    return {
        name: np.mean(each, 0) if name == "held" else np.array(each) for name, each in found.items()
    }


def _held(network, tokens, at):
    kept = []
    network.states(tokens, watch=lambda layer, scores, weights, values: kept.append(weights))
    rows = [row for row in range(len(tokens)) if row != at]
    return [float(weights[:, rows, at].mean()) for weights in kept]


POINTS = [dict(n=n) | draw for n in LENGTHS for draw in corpora.DRAWS]
WORST_POINTS = [
    point for point in POINTS if point["n"] == 64
]  # the ascent takes long: where a prediction is asked


def _recording(name: str, function: Any, points: list[dict[str, Any]]) -> Recording:
    return Recording(
        name,
        function,
        points,
        settings=dict(count=corpora.COUNT),
        tolerance=2e-2,
        digits=4,
        shipped=False,  # recomputed by name, where the models are installed
    )


RECORDINGS = [
    _recording("trained-words-minilm", run, POINTS),
    _recording("trained-words-worst-minilm", run_worst, WORST_POINTS),
]

if __name__ == "__main__":
    command_line(RECORDINGS)
