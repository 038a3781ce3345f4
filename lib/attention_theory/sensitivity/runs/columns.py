"""Results by columns, with what chapters ask of them."""

from typing import Annotated

import numpy as np

from attention_theory.domain import ANY
from attention_theory.evidence.records import read_record


class Columns(dict):
    """Named columns of equal length: one row for each run."""

    @classmethod
    def read(cls, *names: str) -> Annotated["Columns", ANY]:
        """The points of records and their results; a result of several rows repeats its point.

        Raises:
            FileNotFoundError: there is no such record.
            ValueError: it is damaged.
        """
        parts = []
        for record in map(read_record, names):
            for point, result in zip(record.points, record.results):
                rows = max(np.size(value) for value in result.values())
                single = {key: value for key, value in point.items() if np.ndim(value) == 0}
                parts.append({key: np.broadcast_to(value, rows) for key, value in (single | result).items()})
        return cls({key: np.concatenate([part[key] for part in parts]) for key in parts[0]})

    def __missing__(self, name: str):
        raise ValueError(f"no column is called {name!r}; there are {', '.join(self)}")

    def where(self, **fixed) -> Annotated["Columns", ANY]:
        """The runs that have these values (a tuple allows several)."""
        keep = np.ones(len(next(iter(self.values()))), dtype=bool)
        for key, value in fixed.items():
            keep &= np.isin(self[key], value)
        return Columns({name: column[keep] for name, column in self.items()})

    def of(self, name: str, **fixed) -> Annotated[np.ndarray, ANY]:
        """One column of these runs."""
        return self.where(**fixed)[name]

    def mean(self, name: str, axis: str, **fixed) -> np.ndarray:
        """The mean of a column at each value of an axis, in order."""
        return np.array([self.of(name, **fixed, **{axis: value}).mean() for value in np.unique(self[axis])])

    def spread(self, name: str, axis: str, **fixed) -> np.ndarray:
        """Its standard deviation."""
        return np.array([self.of(name, **fixed, **{axis: value}).std(ddof=1) for value in np.unique(self[axis])])

    def settings(self, *names: str) -> dict[str, tuple]:
        """The values that a run went through, in order."""
        return {name: tuple(np.unique(self[name]).tolist()) for name in names}
