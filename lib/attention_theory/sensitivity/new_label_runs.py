"""The grid of bombari2024, Figures 4 to 7, recorded: d = 768, up to 1300 training samples, three kinds of tokens.

    python -m attention_theory.sensitivity.new_label_runs --out book/data/bombari2024-figures-4-7.json
    python -m attention_theory.sensitivity.new_label_runs --sizes 700 1300 --trials 2 --out (the same with -large.json)

The first takes ten minutes of a core, the second as long and 3 GB. ``--kinds bert`` is the paper's own data (it needs
transformers, datasets and the network). Each run draws contexts, labels (fair signs) and a map, trains, and looks for
the worst moves of the first token. The errors are evaluated from the parameters theta_f and theta_r on the literal
features of the moved context, apart from the search. Runs of one command with different N share their draw: the first N
contexts train, the last one is X.
"""

import argparse
import json
import sys
from pathlib import Path

import torch
from torch import Tensor

from attention_theory import tokens
from attention_theory.device import generator, signs
from attention_theory.sensitivity.attention_features import RandomAttentionFeatures
from attention_theory.sensitivity.new_label import LOSSES, best_moves, solutions
from attention_theory.sensitivity.random_features import one_token_in_law
from attention_theory.sweep import provenance

COLUMNS = tuple(
    "map kind n N trial solution loss penalty "
    "gamma error alignment residual ceiling sensitivity smallest condition".split()
)
#: Figures 4 and 7: the paper's losses without a penalty, and ours. Figures 5 and 6: all penalties.
PLAIN = [(loss, 0.0) for loss in LOSSES[:4]] + [(loss, 1.0) for loss in LOSSES[4:]]
PENALISED = PLAIN + [(loss, p) for loss in LOSSES[:4] for p in (1.0, 0.1, 0.01)]
#: (map, n, {N: losses}).
GRID = (
    ("RAF", 40, {100: PLAIN, 400: PENALISED, 700: PLAIN, 1300: PLAIN}),
    ("ReLU-RAF", 40, {400: PENALISED}),
    ("RF", 40, {100: PLAIN, 700: PLAIN, 1300: PLAIN}),
    ("RAF", 120, {100: PLAIN, 400: PENALISED, 700: PLAIN, 1300: PLAIN}),
    ("ReLU-RAF", 120, {100: PLAIN, 400: PENALISED, 700: PLAIN, 1300: PLAIN}),
)
#: Starts and steps of the search: features that do not attend answer almost linearly to a move.
SEARCH = {"RF": {"starts": 2, "steps": 50}} | {map: {"starts": 4, "steps": 150} for map in ("RAF", "ReLU-RAF")}


def run(
    map: str, kind: str, n: int, d: int, losses: dict[int, list], trial: int, pool: int | None = None, **search: int
) -> list[dict]:
    """One draw of contexts, labels and map, and the worst moves for each number of training samples.

    Args:
        map: ``RF``, ``RAF`` or ``ReLU-RAF``.
        kind: of the tokens.
        n: tokens in a context.
        d: token dimension.
        losses: number of training samples -> the losses of :func:`best_moves`.
        trial: seed of all draws.
        pool: number of contexts drawn apart from X, of which the first ones are used; the largest N if not given. A
            recorded run with a smaller N is repeated with the pool of the record.
        search: ``starts`` and ``steps`` of :func:`best_moves`.

    Returns:
        Two rows (one for each solution) for every N and loss, with the columns ``COLUMNS``: ``ceiling`` is the
        right-hand side of (6.10) or (6.15) at the move found, ``sensitivity`` an upper bound on S_RF (none for
        attention), ``smallest`` (over |phi(X)|^2) and ``condition`` belong to the Gram matrix of all samples.
    """
    most, pool = max(losses), pool or max(losses)
    contexts = tokens.contexts(kind, pool + 1, n, d, seed=trial)
    labels = signs(pool + 1, generator=generator(10_000 + trial))
    if most < pool:
        used = torch.tensor([*range(most), pool])
        contexts, labels = contexts[used], labels[used]
    sensitivity = None
    if map == "RF":
        ones = one_token_in_law(contexts, 0, n * d, seed=trial)
        one = ones[-1]
        Phi = one.activation(torch.stack([o.rest for o in ones]) + contexts[:, 0] @ one.block.T)
        sensitivity = float(torch.linalg.eigvalsh(one.block.T @ one.block)[-1].sqrt() * d**0.5 / one.norm)
        literal = one.features
    else:
        raf = RandomAttentionFeatures.sample(d, seed=trial, weights="relu" if map == "ReLU-RAF" else "softmax")
        X = contexts[-1].clone()
        one = raf.one_token(X, 0)
        Phi = contexts.flatten(1)
        for row, context in zip(Phi, contexts):
            row[:] = raf(context).flatten()  # in place: at N = 1300 a second copy is a gigabyte

        def literal(deltas: Tensor) -> Tensor:
            return torch.stack([raf(torch.cat([X[:1] + delta, X[1:]])).flatten() for delta in deltas])

    del contexts
    Gram = Phi @ Phi.T
    phi, label = Phi[-1], float(labels[-1])
    rows = []
    for N, wanted in losses.items():
        keep = torch.tensor([*range(N), most])
        gram = Gram[keep][:, keep]
        model = solutions(Phi[:N], labels[:N], phi, label, gram)
        deltas = best_moves(model, one, wanted, seed=trial, **search)
        moved = literal(deltas)
        theta_f = model.theta + phi * (label - phi @ model.theta) / phi.square().sum()
        weights = torch.linalg.solve(gram, labels[keep])
        theta_r = Phi[:N].T @ weights[:-1] + phi * weights[-1]
        found = model.measure(one, deltas)
        change = (moved - phi).norm(dim=1)
        for solution, theta, scale in (("fine", theta_f, phi.norm()), ("again", theta_r, model.smallest**0.5)):
            error = (moved @ theta + label).square()
            for j, (loss, penalty) in enumerate(wanted):
                values = (float(found["shift"][j].abs()), float(error[j]), float(found["alignment-" + solution][j]))
                rest = (abs(model.residual), float(change[j] / scale), sensitivity)
                gram_values = (model.smallest / float(phi.square().sum()), model.condition)
                row = (map, kind, n, N, trial, solution, loss, penalty, *values, *rest, *gram_values)
                rows.append(dict(zip(COLUMNS, row, strict=True)))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write, complete after every trial")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 400], help="N: of 100, 400, 700, 1300")
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--kinds", nargs="+", default=list(tokens.KINDS), help="tokens: also bert")
    arguments = parser.parse_args()
    origin = {
        "command": "python -m attention_theory.sensitivity.new_label_runs " + " ".join(sys.argv[1:]),
        **provenance(),
        "seed": "the number of the trial; 10000 + trial for the labels",
    }
    rows = []
    for trial in range(arguments.trials):
        for map, n, losses in GRID:
            losses = {N: wanted for N, wanted in losses.items() if N in arguments.sizes}
            for kind in arguments.kinds if losses else ():
                rows += run(map, kind, n, 768, losses, trial, **SEARCH[map])
                print(f"trial {trial}: {map}, n = {n}, {kind} tokens", flush=True)
        columns = {key: [_short(row[key]) for row in rows] for key in COLUMNS}
        origin["trials"] = trial + 1
        partial = arguments.out.with_suffix(".partial")
        partial.write_text(json.dumps({"provenance": origin, "columns": columns}, separators=(",", ":")), encoding="utf-8")
        partial.replace(arguments.out)


def _short(value):
    return float(f"{value:.4g}") if isinstance(value, float) else value


if __name__ == "__main__":
    main()
