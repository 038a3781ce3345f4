"""Film reviews, read from the file that the environment variable ``IMDB_REVIEWS`` names.

Gzipped lines of JSON with a "text" and a "label", 1 for a good review and -1 or 0 for a bad one; no
text enters the repository.
"""

import functools
import gzip
import json
import os
import zlib
from pathlib import Path


def reviews() -> list[tuple[str, int]]:
    """The film reviews as written, with HTML, and their sentiment: 1 for a good one, -1 for a bad
    one.

    Raises:
        FileNotFoundError: the file of reviews is not here.
        ValueError: the file is truncated, or a line of it is not a review with a label.
    """
    return _reviews(Path(os.environ.get("IMDB_REVIEWS", "imdb-3000.jsonl.gz")))


@functools.cache
def _reviews(path: Path) -> list[tuple[str, int]]:
    if not path.is_file():
        raise FileNotFoundError(
            f"no reviews at {path}: set IMDB_REVIEWS to a gzipped file of JSON lines with text "
            "and label"
        )
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise ValueError(f"{path} is cut, or holds no gzipped lines of JSON: {error}") from None
    for number, row in enumerate(rows, 1):
        row = row if isinstance(row, dict) else {}
        if not isinstance(row.get("text"), str) or row.get("label") not in (1, 0, -1):
            raise ValueError(
                f"{path}, line {number}: a review has a text and a label 1, 0 or -1, got label "
                f"{row.get('label')!r}"
            )
    return [(row["text"], 1 if row["label"] == 1 else -1) for row in rows]
