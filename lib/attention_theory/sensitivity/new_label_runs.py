"""The full grid of bombari2024, Figures 4 to 7, recorded: d = 768, up to 1300 training samples, three kinds of tokens.

``python -m attention_theory.sensitivity.new_label_runs --out new-label.csv`` takes about an hour and 5 GB on two
cores. Each run draws contexts, labels (fair signs) and a map, trains, and looks for the worst moves of the first token.
The errors are evaluated from the parameters theta_f and theta_r on the literal features of the moved context, apart
from the search. Runs with different N share their draw: the first N contexts train, the last one is X.
"""

import argparse
import csv
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

import torch
from torch import Tensor

from attention_theory import tokens
from attention_theory.device import generator, signs
from attention_theory.sensitivity.attention_features import RandomAttentionFeatures
from attention_theory.sensitivity.new_label import LOSSES, best_moves, new_label
from attention_theory.sensitivity.random_features import one_token_in_law

COLUMNS = (
    "map kind n N trial solution loss penalty gamma error alignment residual ceiling sensitivity smallest condition"
).split()
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


def run(
    map: str, kind: str, n: int, d: int, losses: dict[int, list], trial: int, k: int | None = None, **search: int
) -> list[dict]:
    """One draw of contexts, labels and map, and the worst moves for each number of training samples.

    Args:
        map: ``RF``, ``RAF`` or ``ReLU-RAF``.
        kind: of the tokens.
        n: tokens in a context.
        d: token dimension.
        losses: number of training samples -> the losses of :func:`best_moves`.
        trial: seed of all draws.
        k: number of random features; n d if not given.
        search: ``starts`` and ``steps`` of :func:`best_moves`.

    Returns:
        Two rows (one for each solution) for every N and loss, with the columns ``COLUMNS``: ``ceiling`` is the
        right-hand side of (6.10) or (6.15) at the move found, ``sensitivity`` an upper bound on S_RF (none for
        attention), ``smallest`` (over |phi(X)|^2) and ``condition`` belong to the Gram matrix of all samples.
    """
    most = max(losses)
    contexts = tokens.contexts(kind, most + 1, n, d, seed=trial)
    labels = signs(most + 1, generator=generator(10_000 + trial))
    sensitivity = ""
    if map == "RF":
        ones = one_token_in_law(contexts, 0, k or n * d, seed=trial)
        one = ones[-1]
        Phi = one.activation(torch.stack([o.rest for o in ones]) + contexts[:, 0] @ one.block.T)
        sensitivity = float(torch.linalg.eigvalsh(one.block.T @ one.block)[-1].sqrt() * d**0.5 / one.norm)
        literal = one.features
    else:
        raf = RandomAttentionFeatures.sample(d, seed=trial, weights="relu" if map == "ReLU-RAF" else "softmax")
        Phi = torch.stack([raf(X).flatten() for X in contexts])
        X = contexts[-1]
        one = raf.one_token(X, 0)

        def literal(deltas: Tensor) -> Tensor:
            return torch.stack([raf(torch.cat([X[:1] + delta, X[1:]])).flatten() for delta in deltas])

    del contexts
    Gram = Phi @ Phi.T
    phi, label = Phi[-1], float(labels[-1])
    rows = []
    for N, wanted in losses.items():
        keep = torch.tensor([*range(N), most])
        gram = Gram[keep][:, keep]
        model = new_label(Phi[:N], labels[:N], phi, label, gram)
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
    parser = argparse.ArgumentParser(description="Record the grid of Figures 4 to 7 of bombari2024.")
    parser.add_argument("--out", type=Path, required=True, help="CSV file to write")
    parser.add_argument("--kinds", nargs="+", default=list(tokens.KINDS), help="token kinds; bert is the paper's data")
    parser.add_argument("--trials", type=int, default=4)
    parser.add_argument("--d", type=int, default=768)
    arguments = parser.parse_args()
    header = {
        "command": "python -m attention_theory.sensitivity.new_label_runs " + " ".join(sys.argv[1:]),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "device": f"CPU ({platform.machine()})",
        "versions": f"Python {platform.python_version()}, torch {torch.__version__}",
        "seed": f"the trial, 0 to {arguments.trials - 1}; labels 10000 + trial",
    }
    rows = []
    for trial in range(arguments.trials):
        for map, n, losses in GRID:
            for kind in arguments.kinds:
                search = {"starts": 2, "steps": 50} if map == "RF" else {"starts": 4, "steps": 150}
                rows += run(map, kind, n, arguments.d, losses, trial, **search)
                print(trial, map, n, kind, datetime.now(UTC).strftime("%H:%M:%S"), flush=True)
                write(arguments.out, header, rows)


def write(path: Path, header: dict[str, str], rows: list[dict]) -> None:
    """The rows as CSV below the provenance, at once or not at all."""
    partial = path.with_suffix(".partial")
    with partial.open("w", newline="", encoding="utf-8") as file:
        file.writelines(f"# {key}: {value}\n" for key, value in header.items())
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows({c: f"{v:.4g}" if isinstance(v, float) else v for c, v in row.items()} for row in rows)
    partial.replace(path)


def read(path: Path) -> list[dict]:
    """The rows of a recorded file; numbers as numbers."""
    lines = [line for line in Path(path).read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    text = {"map", "kind", "solution", "loss"}
    return [
        {c: v if c in text else int(v) if c in ("n", "N", "trial") else float(v or "nan") for c, v in row.items()}
        for row in csv.DictReader(lines)
    ]


if __name__ == "__main__":
    main()
