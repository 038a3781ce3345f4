"""The grid of bombari2024, Figures 4 to 7, recorded: d = 768, up to 1300 training samples, three
kinds of tokens::

    python -m attention_checks.sensitivity.runs.new_label --only bombari2024-figures-4-7 --out book/data

takes ten minutes of a core, ``bombari2024-figures-4-7-large`` (N = 700 and 1300) as long and 3 GB.
The same names with ``-layer-0`` and ``-layer-0-large`` run the film reviews of the paper as a
trained encoder's layer 0 reads them, with their sentiment as labels, at d = 384, one of the paper's
widths (``make models`` and the file ``IMDB_REVIEWS``:
:func:`attention_theory.tokens.reviews`). The same with ``-layer-0-bert`` is the paper's own width
and encoder, and needs transformers and the network. On the other tokens labels are fair signs. No
kind moves another token than the first, which in reviews is the special piece [CLS].

Each point draws contexts, labels and a map, trains, and looks for the worst moves of the first
token. The errors are evaluated from the parameters theta_f and theta_r on the literal features of
the moved context, apart from the search. Runs of one point with different N share their draw: the
first N contexts train, the last one is X.
"""

from typing import Annotated, Any, Literal

import numpy as np
import torch
from attention_theory import tokens
from attention_theory.device import generator, signs
from attention_theory.sensitivity.attention_features import RandomAttentionFeatures
from attention_theory.sensitivity.new_label import LOSSES, best_moves, solutions
from attention_theory.sensitivity.random_features import OneTokenFeatures, one_token_in_law
from attention_theory.sensitivity.word import OneToken
from jaxtyping import Float
from theorybook.devices import Device
from theorybook.records import Table, read_record
from theorybook.sweep import Recording, command_line
from theorybook.validation import ANY, FILLED, Count, Seed, Size, Steps
from torch import Tensor

Map = Literal["RF", "RAF", "ReLU-RAF"]
#: The paper's embedding dimension.
D = 768
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
#: Starts and steps of the search: few for RF, whose features respond almost linearly to a move.
SEARCH = {"RF": {"starts": 2, "steps": 50}} | {
    map: {"starts": 4, "steps": 150} for map in ("RAF", "ReLU-RAF")
}


def figures_4_to_7(
    map: Map,
    kind: str,
    n: Count,
    sizes: list[int],
    trial: Seed,
    d: Count = D,
    device: Device = "cpu",
) -> Annotated[dict[str, list | np.ndarray], ANY]:
    """One point of the grid: the numbers of samples N of :data:`GRID` that are among ``sizes``. See
    :func:`run`.
    """
    losses = next(losses for name, length, losses in GRID if (name, length) == (map, n))
    return run(map, kind, n, d, {N: losses[N] for N in sizes}, trial, None, device, **SEARCH[map])


def gradient_descent(
    Phi: Float[Tensor, "N p"],
    labels: Float[Tensor, "N"],
    theta: Float[Tensor, "p"],
    steps: Steps = 20_000,
) -> Float[Tensor, "p"]:
    """Plain descent on the quadratic loss from ``theta``, at half the rate from which on it
    diverges.

    It ends at :func:`attention_theory.sensitivity.min_norm_interpolator`.
    """
    rate = 1 / torch.linalg.matrix_norm(Phi, 2) ** 2
    for _ in range(steps):
        theta = theta - rate * Phi.T @ (Phi @ theta - labels)
    return theta


def labelled_contexts(
    kind: str, count: Size, n: Count, d: Count, seed: Seed
) -> tuple[Float[Tensor, "count n d"], Float[Tensor, "count"]]:
    """Contexts and their labels: for film reviews their sentiment, for other tokens fair signs."""
    if kind in tokens.ENCODERS:
        return tokens.reviews(count, n, d, seed, tokens.ENCODERS[kind]())
    return tokens.contexts(kind, count, n, d, seed), signs(
        count, generator=generator(10_000 + seed)
    )


def attention_map(map: Map, d: Count, seed: Seed) -> RandomAttentionFeatures:
    """The map of this name, ``RAF`` or ``ReLU-RAF``."""
    return RandomAttentionFeatures.sample(d, seed, "relu" if map == "ReLU-RAF" else "softmax")


def mapped(
    contexts: Float[Tensor, "N n d"], map: Map, seed: Seed, k: Count | None = None
) -> tuple[Float[Tensor, "N p"], OneToken]:
    """Features of contexts under random weights, and of the last one as a function of its first
    token.

    Args:
        contexts: tokens of norm sqrt(d).
        map: ``RF`` (ReLU features in law), ``RAF`` or ``ReLU-RAF``.
        seed: of the weights.
        k: number of random features, nd if not given.
    """
    if map == "RF":
        ones = one_token_in_law(contexts, 0, k or contexts[0].numel(), seed)
        return torch.relu(
            torch.stack([one.rest for one in ones]) + contexts[:, 0] @ ones[-1].block.T
        ), ones[-1]
    raf = attention_map(map, contexts.shape[2], seed).to(contexts)
    Phi = torch.empty_like(
        contexts
    )  # filled one by one: at N = 1300 a list beside it is another gigabyte
    for row, X in zip(Phi, contexts):
        row[:] = raf(X)
    return Phi.flatten(1), raf.one_token(contexts[-1].clone(), 0)


def run(
    map: Map,
    kind: str,
    n: Count,
    d: Count,
    losses: Annotated[dict[int, list], FILLED],
    trial: Seed,
    pool: Size | None = None,
    device: Device = "cpu",
    **search: Size,
) -> Annotated[dict[str, list | np.ndarray], ANY]:
    """One draw of contexts, labels and map, and the worst moves for each number of training
    samples.

    Args:
        map: as in :func:`mapped`.
        kind: of the tokens.
        n: tokens in a context.
        d: token dimension.
        losses: number of training samples -> the losses of :func:`best_moves`.
        trial: seed of all draws.
        pool: number of contexts drawn apart from X, of which the first ones are used; the largest N
            if not given. A recorded run with a smaller N is repeated with the pool of the record.
        device: what is drawn goes there.
        search: ``starts`` and ``steps`` of :func:`best_moves`.

    Returns:
        Columns with two rows (one for each solution) for every N and loss: ``gamma``, ``error``,
        ``alignment``, ``residual``; ``ceiling`` is the right-hand side of (6.10) or (6.15) at the
        move found; ``sensitivity`` an upper bound on S_RF (NaN for attention); ``smallest`` (over
        |phi(X)|^2) and ``condition`` belong to the Gram matrix of all samples.
    """
    most, pool = max(losses), pool or max(losses)
    contexts, labels = labelled_contexts(kind, pool + 1, n, d, trial)
    if most < pool:
        used = torch.tensor([*range(most), pool])
        contexts, labels = contexts[used], labels[used]
    contexts, labels = contexts.to(device), labels.to(device)
    X = contexts[-1].clone()
    Phi, one = mapped(contexts, map, trial)
    sensitivity = (
        one.certificate() / float(one.norm) if isinstance(one, OneTokenFeatures) else float("nan")
    )

    def literal(deltas: Tensor) -> Tensor:
        """The features of the moved contexts; for attention from whole contexts, not from the
        one-token view that the search uses.
        """
        if isinstance(one, OneTokenFeatures):
            return one.features(deltas)
        raf = attention_map(map, d, trial).to(X)
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
        for solution, theta, scale in (
            ("fine", theta_f, phi.norm()),
            ("again", theta_r, model.smallest**0.5),
        ):
            error = (moved @ theta + label).square()
            for j, (loss, penalty) in enumerate(wanted):
                rows.append(
                    {
                        "N": N,
                        "solution": solution,
                        "loss": loss,
                        "penalty": penalty,
                        "gamma": float(found["shift"][j].abs()),
                        "error": float(error[j]),
                        "alignment": float(found["alignment-" + solution][j]),
                        "residual": abs(model.residual),
                        "ceiling": float(change[j] / scale),
                        "sensitivity": sensitivity,
                        "smallest": model.smallest / float(phi.square().sum()),
                        "condition": model.condition,
                    }
                )
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return {
        name: values if name in SETTINGS else np.array(values) for name, values in columns.items()
    }


#: Columns that say which run it is; the others are measured.
SETTINGS = ("N", "solution", "loss", "penalty")


def _points(sizes: tuple[int, ...], kinds: tuple[str, ...], trials: int) -> list[dict]:
    found = []
    for trial in range(trials):
        for map, n, losses in GRID:
            used = [N for N in losses if N in sizes]
            found += [
                {"map": map, "kind": kind, "n": n, "sizes": used, "trial": trial}
                for kind in kinds
                if used
            ]
    return found


#: What a descent finds depends on rounding by less than this, over the largest of a column.
_FOUND = {"": 2e-2, "smallest": 1e-3, "condition": 1e-3}
RECORDINGS = [
    Recording(
        "bombari2024-figures-4-7" + name,
        figures_4_to_7,
        lambda sizes=sizes, kinds=kinds, trials=trials: _points(sizes, kinds, trials),
        settings={"d": d},
        tolerance=_FOUND,
        digits=4,
        shipped=kinds
        == tokens.KINDS,  # reviews are recomputed by name, where their file and the models are
    )
    for name, d, sizes, kinds, trials in (
        ("", D, (100, 400), tokens.KINDS, 10),
        ("-large", D, (700, 1300), tokens.KINDS, 2),
        ("-layer-0", D // 2, (100, 400), ("layer-0",), 4),
        ("-layer-0-large", D // 2, (700, 1300), ("layer-0",), 2),
        ("-layer-0-bert", D, (100, 400), ("layer-0-bert",), 10),
    )
]


def load() -> Table:
    """The recorded runs on the three kinds of tokens."""
    return _read("", "-large")


def _read(*parts: str) -> Table:
    return Table(
        [row for part in parts for row in read_record(f"bombari2024-figures-4-7{part}").long]
    )


def load_reviews() -> Table:
    """The recorded runs on film reviews: four trials at N = 100 and 400, two at 700 and 1300."""
    return _read("-layer-0", "-layer-0-large")


def line(runs: Table) -> np.ndarray:
    """(2 - gamma)^2, and 0 where gamma exceeds 2: what Figure 4 draws as its dashed line."""
    return np.clip(2 - runs["gamma"], 0, None) ** 2


def below(runs: Table) -> np.ndarray:
    """Which runs are clearly below the line, by 0.05."""
    return runs["error"] < line(runs) - 0.05


def turned_at_once(runs: Table) -> np.ndarray:
    """Which runs have an error below 1, hence the sign of -y, at gamma below 0.1."""
    return (runs["error"] < 1) & (runs["gamma"] < 0.1)


#: What the text and the captions of Figures 4 to 7 say, as ranges of the numbers of
#: :func:`features`. Fixed before reviews ran: that of N = 700 and 1300 before these sizes did.
EXPECTED = {
    "4 RF: largest distance below the line": (0.0, 0.5),
    "4 RF: the same over the slack of the proof": (0.0, 1.0),
    "4 RAF: share of circles below, N = 100": (0.2, 1.0),
    "4 RAF: share of triangles below, N = 100": (0.7, 1.0),
    "4 RAF: share of circles below, N = 700, 1300": (0.2, 1.0),
    "4 ReLU-RAF over RAF: depth of circles, n = 120": (0.0, 1.0),
    "5: share of crosses below, p = 1 minus p = 0": (0.0, 1.0),
    "5: share with γ and error below 0.2, p = 0.01, 0.1": (0.0, 0.2),
    "6: median γ of circles, p = 1 over p = 0": (0.0, 0.5),
    "7: share with the smaller error by the matching loss": (0.5, 1.0),
}


def _swapped(found: Table) -> list[dict[str, Any]]:
    """The runs of each solution with the alignment loss of the other one."""
    other = {"fine": "alignment-again", "again": "alignment-fine"}
    return [row for row in found if row["loss"] == other[row["solution"]]]


def features(found: Table) -> dict[str, float]:
    """The numbers of :data:`EXPECTED` in runs of one kind of tokens; circles, crosses and triangles
    are the pages.
    """

    def runs(aim: str, penalty: float, **fixed: Any) -> Table:
        """The runs of both solutions, each with its own loss."""
        rows = found.where(penalty=penalty, **fixed)
        return Table([row for row in rows if row["loss"] == f"{aim}-{row['solution']}"])

    def share(rows: Table) -> float:
        return float(below(rows).mean())

    def depth(map: Map) -> float:
        rows = runs("alignment", 0.0, map=map, n=120)
        return float(np.clip(line(rows) - rows["error"], 0, None).mean())

    rf = found.where(map="RF")
    missing = line(rf) - rf["error"]
    smallest = np.where(rf["solution"] == "again", rf["smallest"], 1)
    slack = 4 * rf["sensitivity"] * np.abs(rf["residual"]) / np.sqrt(smallest)
    small = [
        (rows["gamma"] < 0.2) & (rows["error"] < 0.2)
        for rows in (runs("error", p, N=400) for p in (0.01, 0.1))
    ]
    gamma = [np.median(runs("alignment", p, N=400)["gamma"]) for p in (1.0, 0.0)]
    own, swapped = (
        Table(
            sorted(rows, key=lambda row: [row[key] for key in ("map", "kind", "trial", "solution")])
        )
        for rows in (
            runs("alignment", 0.0, n=120, N=400),
            _swapped(found.where(penalty=0.0, n=120, N=400)),
        )
    )
    values = (
        missing.max(),
        (missing / slack).max(),
        share(runs("alignment", 0.0, map="RAF", N=100)),
        share(runs("target", 1.0, map="RAF", N=100)),
        share(runs("alignment", 0.0, map="RAF", N=(700, 1300))),
        depth("ReLU-RAF") / depth("RAF"),
        share(runs("error", 1.0, N=400)) - share(runs("error", 0.0, N=400)),
        np.concatenate(small).mean(),
        gamma[0] / gamma[1],
        (own["error"] < swapped["error"]).mean(),
    )
    return {name: float(value) for name, value in zip(EXPECTED, values)}


if __name__ == "__main__":
    command_line(RECORDINGS)
