"""How the kinds of tokens differ: what they share, and how many directions they fill (recorded)::

    python -m attention_checks.sensitivity.runs.token_kinds --out book/data

writes ``token-kinds.json`` in seconds; it needs ``make models`` and the file ``IMDB_REVIEWS``.
``layer-0`` and ``rows`` are the same reviews as MiniLM reads them: the output of its layer 0, and
the bare rows of its word embedding.
"""

import torch
from attention_theory import tokens
from jaxtyping import Float
from theorybook.sweep import Recording
from theorybook.validation import Count, Seed, Size
from torch import Tensor

KINDS = (*tokens.KINDS, "layer-0", "rows")


def contexts(kind: str, count: Size, n: Count, d: Count, seed: Seed) -> Float[Tensor, "count n d"]:
    """As :func:`attention_theory.tokens.contexts`; ``rows`` are the reviews of ``layer-0`` by the
    word embedding alone.
    """
    if kind == "rows":
        return tokens.reviews(count, n, d, seed, tokens.minilm_encoder(bare=True))[0]
    return tokens.contexts(kind, count, n, d, seed)


def run(kind: str, count: Size, n: Count, d: Count, seed: Seed) -> dict[str, float]:
    """Statistics of all tokens, and of those of one context.

    Returns:
        ``mean``: squared norm of the mean token, over d. ``cosine``: of two places of one context.
        ``directions``: (sum of the covariance's eigenvalues)^2 / sum of their squares. ``same``:
        pairs of places of a context with the same token. ``first``: cosine of the first tokens of
        two contexts. ``row``: cosine of a token with its row of the word embedding.
    """
    X = contexts(kind, count, n, d, seed)
    flat, cosines = X.flatten(0, 1), X @ X.mT / d
    apart = cosines[:, ~torch.eye(n, dtype=torch.bool)]
    spectrum = torch.linalg.eigvalsh(torch.cov(flat.T))
    first = (X[:, 0] @ X[:, 0].T / d)[~torch.eye(count, dtype=torch.bool)]
    rows = contexts("rows", count, n, d, seed) if kind == "layer-0" else X
    return {
        "mean": float(flat.mean(dim=0).square().sum() / d),
        "cosine": float(apart.mean()),
        "directions": float(spectrum.sum() ** 2 / spectrum.square().sum()),
        "same": float((apart > 1 - 1e-6).double().mean()),
        "first": float(first.mean()),
        "row": float((X * rows).sum(dim=2).mean() / d),
    }


RECORDING = Recording(
    "token-kinds",
    run,
    [dict(kind=kind, seed=0) for kind in KINDS],
    settings={"count": 100, "n": 120, "d": 384},
    tolerance=1e-3,
    shipped=False,  # recomputed by name, where the models and the reviews are
)

if __name__ == "__main__":
    RECORDING.main()
