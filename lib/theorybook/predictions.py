"""Predictions: what a theorem says about trained models, fixed and committed before anything is
measured.

A file of predictions is a YAML list. ``commit`` is the commit that introduced a prediction; it is
filled in after that commit, and a test asks git whether the prediction was the same there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np

from theorybook.checks import Check, number
from theorybook.intervals import mean_interval
from theorybook.ledger import book_folders, read_rows
from theorybook.validation import ANY, Numbers, Size

#: Ten times the usual number, so that a mean near an end of its predicted range is decided by the
#: texts and hardly by the resampling.
RESAMPLES = 99_999


@dataclass(frozen=True)
class Prediction:
    """A prediction about trained models.

    Attributes:
        id: its name.
        theorem: the ledger id of the statement that makes it, or the label of a statement in its
            chapter.
        measures: the number measured on each text, in words.
        why: how the prediction follows from the theorem.
        low, high: the predicted range of its mean over texts; infinite where the theorem bounds one
            side only.
        known: what trials had shown when this was written.
        date: when it was written.
        commit: the commit that introduced it.

    >>> from theorybook import Prediction
    >>> said = ("sink", "Theorem 1", "share of the first key", "it is a sink")
    >>> prediction = Prediction(*said, low=0.5, high=1, known="nothing", date="2026-01-01")
    >>> prediction.low, prediction.high
    (0.5, 1)
    """

    id: str
    theorem: str
    measures: str
    why: str
    low: Annotated[float, ANY]
    high: Annotated[float, ANY]
    known: str
    date: str
    commit: str = ""

    def __post_init__(self):
        if not self.low < self.high:
            raise ValueError(f"{self.id}: the range from {self.low} to {self.high} is empty")


def load_predictions(
    path: str | Path | None = None, part: str = "trained"
) -> dict[str, Prediction]:
    """The predictions of a file by id; without a path, those of the part's ``predictions.yml`` in
    the book.

    Raises:
        FileNotFoundError: there is no such file here.
        ValueError: not YAML, unknown or missing fields, a repeated id, an empty range.

    >>> import pathlib, tempfile
    >>> from theorybook import load_predictions
    >>> path = pathlib.Path(tempfile.mkdtemp(), "predictions.yml")
    >>> size = path.write_text("[]")
    >>> load_predictions(path)
    {}
    """
    if path is None:
        places = (folder / part / "predictions.yml" for folder in book_folders())
        path = next((place for place in places if place.is_file()), None)
        if path is None:
            raise FileNotFoundError(
                f"{part}/predictions.yml is not here: open the chapter in a clone of the book"
            )
    path = Path(path)
    found: dict[str, Prediction] = {}
    for row in read_rows(path, Prediction):
        if row["id"] in found:
            raise ValueError(f"{path.name}: the prediction {row['id']} occurs twice")
        found[row["id"]] = Prediction(
            **row | {"low": float(row["low"]), "high": float(row["high"]), "date": str(row["date"])}
        )
    return found


def measured(prediction: Prediction, draws: Sequence[Numbers], digits: Size = 3) -> Check:
    """Compare a prediction about trained models with measurements on texts.

    It is *held* if, in every draw of texts, the whole 99.9% interval of the mean over texts lies in
    the predicted range; an interval that extends beyond an end of the range counts as missed. The
    interval is a BCa bootstrap over the texts (not over rows or heads, which depend on each other)
    with 99,999 resamples and a fixed seed.

    Args:
        prediction: fixed before the run (:func:`load_predictions`).
        draws: for each draw of texts, one number per text.
        digits: significant digits shown.

    Raises:
        ValueError: no draw, or a draw with fewer than two texts.

    >>> from theorybook import Prediction, measured
    >>> said = ("sink", "Theorem 1", "share of the first key", "it is a sink")
    >>> prediction = Prediction(*said, low=0.5, high=1, known="nothing", date="2026-01-01")
    >>> measured(prediction, [[0.7, 0.7, 0.7]]).holds
    True
    """
    if not len(draws):
        raise ValueError(f"{prediction.id}: nothing was measured, so nothing can be compared")
    found = [mean_interval(texts, resamples=RESAMPLES) for texts in draws]
    low, high = prediction.low, prediction.high
    holds = all(low <= each.low and each.high <= high for each in found)
    seen = ", ".join(f"[{number(each.low, digits)}, {number(each.high, digits)}]" for each in found)
    sizes = sorted({np.size(each) for each in draws})
    texts = f"{len(draws)} draws of {' or '.join(map(str, sizes))} texts"
    return Check(
        "measured",
        holds,
        f"{prediction.measures}: predicted [{number(low, digits)}, {number(high, digits)}] on "
        f"{prediction.date} in "
        f"{prediction.commit[:7] or 'a commit to come'}; 99.9% intervals in {texts} {seen}: "
        f"{'held' if holds else 'missed'}",
    )
