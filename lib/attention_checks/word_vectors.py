"""Word vectors from the English that ships with Python: counts, pointwise mutual information,
singular vectors.

``python -m attention_checks.word_vectors`` writes ``data/words.npz``, which
:mod:`attention_theory.tokens` reads. The method is the matrix form of skip-gram with negative
sampling (Levy, Goldberg and Dagan 2015): positive pointwise mutual information of words within five
places of each other, context counts to the power 0.75, truncated singular value decomposition, each
direction weighted by the square root of its singular value.
"""

import argparse
import hashlib
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from attention_theory.tokens import FILE
from scipy import linalg, sparse
from theorybook.validation import Size

DIMENSION = 768
MIN_COUNT = 4
WINDOW = 5
SMOOTHING = 0.75


def paragraphs() -> list[list[str]]:
    """The paragraphs of ``pydoc_data.topics`` as lower-case words, each once (the topics repeat
    each other).
    """
    from pydoc_data.topics import topics

    blocks = (block for name in sorted(topics) for block in re.split(r"\n\s*\n", topics[name]))
    found = (tuple(re.findall(r"[a-z]+(?:'[a-z]+)?", block.lower())) for block in blocks)
    return [list(words) for words in dict.fromkeys(found) if words]


def fingerprint(text: list[list[str]]) -> str:
    """SHA-256 of the paragraphs: two Python versions with the same fingerprint give the same
    vectors.
    """
    return hashlib.sha256("\n".join(" ".join(words) for words in text).encode()).hexdigest()


def cooccurrence(text: list[np.ndarray], size: Size) -> sparse.csr_array:
    """How often two words stand within ``WINDOW`` places of each other in a paragraph: symmetric,
    (size, size).
    """
    rows = [p[:-gap] for p in text for gap in range(1, WINDOW + 1) if len(p) > gap]
    columns = [p[gap:] for p in text for gap in range(1, WINDOW + 1) if len(p) > gap]
    rows, columns = np.concatenate(rows), np.concatenate(columns)
    half = sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=(size, size)).tocsr()
    return half + half.T


def positive_pmi(counts: sparse.csr_array) -> np.ndarray:
    """max(0, log p(w, c) / (p(w) p(c))), with p(c) from the counts to the power ``SMOOTHING``."""
    counts = counts.toarray()
    word = counts.sum(axis=1) / counts.sum()
    context = counts.sum(axis=0) ** SMOOTHING
    context /= context.sum()
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(counts / counts.sum()) - np.log(np.outer(word, context)), 0)


def singular_vectors(matrix: np.ndarray, dimension: Size) -> np.ndarray:
    """U sqrt(S) of the leading singular values; the entry of largest magnitude in each column is
    positive.
    """
    left, values, _ = linalg.svd(matrix, lapack_driver="gesvd")
    left = left[:, :dimension]
    left *= np.sign(left[np.abs(left).argmax(axis=0), np.arange(dimension)])
    return left * np.sqrt(values[:dimension])


def build() -> dict[str, Any]:
    """Everything that ``data/words.npz`` holds.

    ``words``: the words that occur at least ``MIN_COUNT`` times, most frequent first. ``vectors``:
    theirs, (words, 768) float16. ``text``: the paragraphs one after another as word numbers, rarer
    words left out. ``source``: the fingerprint of the paragraphs.
    """
    text = paragraphs()
    counts = Counter(word for words in text for word in words)
    words = sorted(
        (word for word, count in counts.items() if count >= MIN_COUNT),
        key=lambda w: (-counts[w], w),
    )
    index = {word: number for number, word in enumerate(words)}
    numbers = [np.array([index[word] for word in p if word in index], dtype=np.int16) for p in text]
    vectors = singular_vectors(positive_pmi(cooccurrence(numbers, len(words))), DIMENSION)
    return {
        "words": np.array(words),
        "vectors": vectors.astype(np.float16),
        "text": np.concatenate(numbers),
        "source": np.array(fingerprint(text)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Build the word vectors that ship with the library."
    )
    parser.add_argument(
        "--out", type=Path, default=FILE, help="the file to write (default: the package's own)"
    )
    path = parser.parse_args().out
    data = build()
    np.savez_compressed(path, **data)
    print(
        f"{len(data['words'])} words, text of {len(data['text'])} words, "
        f"{path.stat().st_size / 2**20:.2f} MiB"
    )


if __name__ == "__main__":
    main()
