"""Records: results that take too long for a chapter, stored with their provenance in one format.

A record is one JSON file, ``book/data/<name>.json``: ``provenance`` (command, function, device,
versions, date), ``settings`` (arguments that all points share) and ``points``, one per line, each
with its arguments, its result and the seconds it took. Numbers are readable and rounded; an array
of more than one dimension or of more than 256 numbers is stored inside by shape, dtype and
compressed bytes (base64). No pickles.

A chapter reads; :class:`theorybook.sweep.Recording` writes, and ``make records-check`` recomputes.

>>> import tempfile
>>> import numpy as np
>>> from theorybook.records import Record, read_record, write_record
>>> folder = tempfile.mkdtemp()
>>> points = [{"n": n, "seed": s} for n in (2, 4) for s in (0, 1)]
>>> results = [{"error": 1 / p["n"], "path": np.arange(3.0)} for p in points]
>>> path = write_record(Record("example", {"command": "none"}, {"d": 8}, points, results), folder)
>>> record = read_record("example", folder)
>>> record.rows[0]
{'n': 2, 'seed': 0, 'error': 0.5, 'path': array([0., 1., 2.])}
>>> record.column("error", n=4)
array([0.25, 0.25])
"""

import base64
import json
import math
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theorybook.ledger import book_folders
from theorybook.validation import NonNegative, Size, to_numpy

#: One-dimensional arrays of at most this length are written as readable numbers.
READABLE = 256
#: Significant digits of the numbers in a record.
DIGITS = 6
#: Relative difference up to which a recomputed number counts as the recorded one: the rounding of
#: six digits.
TOLERANCE = 1e-5
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


class Row(dict):
    """A row of a record. A missing column raises an error that names it, since the record may be
    older than the page that reads it.
    """

    def __missing__(self, key: str) -> Any:
        raise ValueError(
            f"no column is called {key!r}; there are {', '.join(self)}: is the record older than "
            "this page?"
        )


@dataclass(frozen=True)
class Table(Sequence):
    """Rows of a record or a sweep, with the queries that chapters make.

    >>> from theorybook.records import Table
    >>> table = Table([{"n": n, "seed": s, "error": (1 + s) / n} for n in (2, 4) for s in (0, 1)])
    >>> len(table.where(n=(2, 4), seed=1)), table[0], table["n"].tolist()
    (2, {'n': 2, 'seed': 0, 'error': 0.5}, [2, 2, 4, 4])
    >>> table.mean("error", "n"), table.settings("n", "seed")
    (array([0.75 , 0.375]), {'n': (2, 4), 'seed': (0, 1)})
    """

    rows: list[dict[str, Any]]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, key: Any) -> Any:
        """A row by its index, a column by its name."""
        if not isinstance(key, str):
            return self.rows[key]
        if not all(key in row for row in self.rows):
            raise ValueError(f"no column is called {key!r}; there are {', '.join(self.rows[0])}")
        return np.asarray([row[key] for row in self.rows])

    def where(self, **values: Any) -> "Table":
        """The rows that have these values (a tuple allows several).

        Raises:
            ValueError: no row has them.
        """
        allowed = {
            key: value if isinstance(value, tuple) else (value,) for key, value in values.items()
        }
        found = [
            row
            for row in self.rows
            if all(
                key in row and any(_same(row[key], value) for value in some)
                for key, some in allowed.items()
            )
        ]
        if not found:
            raise ValueError(
                f"no row has {values} (a tuple allows several values); the columns are "
                f"{', '.join(self.rows[0] if self.rows else ())}"
            )
        return Table(found)

    def of(self, name: str, **values: Any) -> NDArray[Any]:
        """One column of these rows."""
        return self.where(**values)[name]

    def mean(self, name: str, axis: str, **values: Any) -> NDArray[Any]:
        """The mean of a column at each value of an axis, in order."""
        return np.array(
            [self.of(name, **values, **{axis: value}).mean() for value in np.unique(self[axis])]
        )

    def spread(self, name: str, axis: str, **values: Any) -> NDArray[Any]:
        """The standard deviation of a column at each value of an axis, in order."""
        return np.array(
            [
                self.of(name, **values, **{axis: value}).std(ddof=1)
                for value in np.unique(self[axis])
            ]
        )

    def settings(self, *names: str) -> dict[str, tuple]:
        """The different values of each of these columns, in order."""
        return {name: tuple(np.unique(self[name]).tolist()) for name in names}


def _same(cell: Any, value: Any) -> bool:
    """Whether a cell has a value; arrays are compared as a whole."""
    if isinstance(cell, np.ndarray) or isinstance(value, np.ndarray):
        return np.array_equal(cell, value)
    return cell is value or bool(cell == value)


@dataclass(frozen=True, eq=False)
class Record:
    """Points, their results, and their provenance.

    Attributes:
        name: name of the file, without ``.json``.
        provenance: command, function, device, versions, date.
        settings: arguments that all points share.
        points: the arguments of each point.
        results: the result of each point: a dict, a list of dicts (rows), or a number; dataclasses
            come back as dicts.
        seconds: how long each point took; empty if not measured.
    """

    name: str
    provenance: dict[str, Any]
    settings: dict[str, Any]
    points: list[dict[str, Any]]
    results: list[Any]
    seconds: tuple[float, ...] = ()

    def __post_init__(self):
        if len(self.points) != len(self.results) or len(self.seconds) not in (0, len(self.points)):
            raise ValueError(
                f"record {self.name!r}: {len(self.points)} points, but {len(self.results)} results"
            )

    @property
    def rows(self) -> Table:
        """Arguments and result of each point as one row; a list of rows gives several rows, and a
        number a column ``value``.
        """
        found = []
        for point, result in zip(self.points, self.results):
            for row in result if isinstance(result, list) else [result]:
                found.append(Row(point | (row if isinstance(row, dict) else {"value": row})))
        return Table(found)

    @property
    def long(self) -> Table:
        """Like :attr:`rows`, exploding columns: one row for each entry."""
        found = []
        for point, result in zip(self.points, self.results):
            single = {key: value for key, value in point.items() if np.ndim(value) == 0}
            found += [
                Row(single | dict(zip(result, cells)))
                for cells in zip(*result.values(), strict=True)
            ]
        return Table(found)

    def where(self, **values: Any) -> Table:
        """The rows that have these values: :meth:`Table.where`."""
        return self.rows.where(**values)

    def column(self, key: str, **values: Any) -> NDArray[Any]:
        """One column of the rows that have these values."""
        return self.rows.of(key, **values)


def encoded(value: Any, digits: Size = DIGITS) -> Any:
    """A value in a form that JSON can hold; :func:`decoded` is the inverse, up to rounding and the
    names of dataclasses.

    Raises:
        TypeError: an object that a record cannot hold.
    """
    if isinstance(value, int) and value.bit_length() > _BITS:
        raise TypeError(
            f"a record cannot hold an integer of {value.bit_length()} bits; return its logarithm, "
            "or hex() of it"
        )
    if isinstance(value, bool | str | int | None):
        return value
    if isinstance(value, np.bool_ | np.integer):
        return value.item()
    if isinstance(value, float | np.floating):
        return (
            _rounded(float(value), digits) if math.isfinite(value) else {"float": str(float(value))}
        )
    value = to_numpy(value)
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            return encoded(value[()], digits)
        return _encoded_array(value, digits)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: encoded(getattr(value, field.name), digits) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(value, Mapping):
        if _MARKS & set(value):
            raise TypeError(
                f"a record cannot hold a field named {sorted(_MARKS & set(value))[0]!r}; choose "
                "another name"
            )
        if len(names := {str(key) for key in value}) < len(value):
            raise TypeError(
                f"a record cannot hold {len(value)} keys that read as {len(names)} names; choose "
                "others"
            )
        return {str(key): encoded(item, digits) for key, item in value.items()}
    if isinstance(value, list | tuple | range):
        return [encoded(item, digits) for item in value]
    raise TypeError(
        f"a record cannot hold {value!r}; return numbers, text, arrays, lists, dicts or "
        "dataclasses of them"
    )


#: Keys that mark something other than a dict of results.
_MARKS = {"float", "array"}
#: Integers of more bits have more than the 4,300 digits that Python reads.
_BITS = 14_000


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def _encoded_array(value: np.ndarray, digits: int) -> dict[str, Any]:
    if value.dtype.kind not in "biufc":
        raise TypeError(f"a record holds arrays of numbers, not of {value.dtype}")
    if value.dtype.char in "gG":  # long doubles, which other machines lack
        value = value.astype(float if value.dtype.char == "g" else complex)
    head = {"array": str(value.dtype), "shape": list(value.shape)}
    if value.ndim == 1 and value.size <= READABLE and value.dtype.kind != "c":
        return head | {"values": [encoded(item, digits) for item in value.tolist()]}
    little = np.ascontiguousarray(value).astype(value.dtype.newbyteorder("<"))
    return head | {"zlib": base64.b64encode(zlib.compress(little.tobytes(), 9)).decode("ascii")}


def decoded(value: Any) -> Any:
    """The value that :func:`encoded` encoded."""
    if isinstance(value, list):
        return [decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "float" in value:
        return float(value["float"])
    if "array" in value:
        dtype = np.dtype(value["array"])
        if "values" in value:
            return np.array(decoded(value["values"]), dtype).reshape(value["shape"])
        data = zlib.decompress(base64.b64decode(value["zlib"], validate=True))
        return np.frombuffer(data, dtype.newbyteorder("<")).astype(dtype).reshape(value["shape"])
    return {key: decoded(item) for key, item in value.items()}


def write_record(record: Record, folder: str | Path, digits: Size = DIGITS) -> Path:
    """Write ``<folder>/<name>.json`` atomically, following a link, and return its path.

    Raises:
        ValueError: a name that is not a file name.
        TypeError: a result that a record cannot hold.
        OSError: the folder cannot be written.
    """
    if not _NAME.fullmatch(record.name):
        raise ValueError(f"record name {record.name!r} is not a plain file name")
    head = {"provenance": encoded(record.provenance, 17), "settings": encoded(record.settings, 17)}
    lines = []
    for i, (point, result) in enumerate(zip(record.points, record.results)):
        line = {"point": encoded(point, 17)}
        if record.seconds:
            line["seconds"] = _rounded(record.seconds[i], 2)
        whole = line | {"result": encoded(result, digits)}
        lines.append(json.dumps(whole, ensure_ascii=False, allow_nan=False, separators=(",", ":")))
    text = ",\n".join(
        f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in head.items()
    )
    text = "{\n" + text + ',\n"points": [\n' + ",\n".join(lines) + "\n]\n}\n"
    path = Path(folder) / f"{record.name}.json"
    target = path.resolve()
    partial = target.with_suffix(".json.tmp")
    try:
        # a path on the command line may hold bytes that are not text; JSON escapes these as Python
        # does
        partial.write_text(text, encoding="utf-8", errors="backslashreplace")
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    return path


def find_record(name: str, folder: str | Path | None = None) -> Path:
    """``data/<name>.json`` in the nearest of :func:`theorybook.ledger.book_folders`, or in
    ``folder``.

    Raises:
        ValueError: a name that is not a file name.
        FileNotFoundError: there is no such file.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"record name {name!r} is not a plain file name")
    for place in (
        [Path(folder)] if folder is not None else [base / "data" for base in book_folders()]
    ):
        if (place / f"{name}.json").is_file():
            return place / f"{name}.json"
    where = folder if folder is not None else f"data/ of {Path.cwd()} or above"
    raise FileNotFoundError(
        f"{name}.json is not in {where}; open the chapter inside a clone of the book (or clone it "
        f"beside), restore the file with git checkout -- book/data/{name}.json, or record it anew "
        "with the command in its provenance --out book/data"
    )


def read_record(name: str, folder: str | Path | None = None) -> Record:
    """Read the record that :func:`find_record` finds.

    Raises:
        FileNotFoundError: there is no such record.
        ValueError: the file is damaged.
    """
    path = find_record(name, folder)
    try:
        data = json.loads(
            path.read_text(encoding="utf-8-sig")
        )  # Windows editors may begin a file with a byte order mark
        lines = data["points"]
        return Record(
            name,
            decoded(data["provenance"]),
            decoded(data["settings"]),
            [dict(decoded(line["point"])) for line in lines],
            [decoded(line["result"]) for line in lines],
            tuple(line["seconds"] for line in lines) if lines and "seconds" in lines[0] else (),
        )
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError, zlib.error) as error:
        reason = f"{type(error).__name__}: {error}"
        raise ValueError(
            f"{path}: not a readable record; restore it with git checkout -- {path.name} ({reason})"
        ) from None


def differences(
    recorded: Any,
    computed: Any,
    tolerance: NonNegative | Mapping[str, float] = TOLERANCE,
    path: str = "",
) -> Iterator[str]:
    """Sentences that say where a recomputed result differs from the recorded one; none if they
    agree.

    Args:
        recorded, computed: results, both as read from a record.
        tolerance: relative difference allowed between floats (of arrays: of the largest difference,
            over the largest number). A mapping gives it for each field by name, and for the others
            under ``""``. Integers, text and shapes must agree exactly, unless their field is named.
        path: place of these results in the whole, for the sentences.
    """
    name = re.sub(r"\[\d+\]$", "", path).rpartition(".")[2]
    named = isinstance(tolerance, Mapping) and name in tolerance
    allowed = (
        (tolerance.get(name, tolerance.get("", TOLERANCE)))
        if isinstance(tolerance, Mapping)
        else tolerance
    )
    if (
        isinstance(recorded, dict)
        and isinstance(computed, dict)
        and recorded.keys() == computed.keys()
    ):
        for key in recorded:
            yield from differences(
                recorded[key], computed[key], tolerance, f"{path}.{key}" if path else key
            )
    elif (
        isinstance(recorded, list) and isinstance(computed, list) and len(recorded) == len(computed)
    ):
        for i, (left, right) in enumerate(zip(recorded, computed)):
            yield from differences(left, right, tolerance, f"{path}[{i}]")
    elif all(map(_is_number, (recorded, computed))) or all(
        isinstance(side, np.ndarray) for side in (recorded, computed)
    ):
        left, right = np.asarray(recorded), np.asarray(computed)
        if left.shape != right.shape:
            yield f"{path}: shape {left.shape} recorded, {right.shape} computed"
            return
        exact = not named and left.dtype.kind not in "fc" and right.dtype.kind not in "fc"
        # integers are compared as integers: as floats, neighbours beyond 2^53 would be equal
        errors, scale = (
            ((left != right).ravel().astype(float), 1.0) if exact else _errors(left, right)
        )
        if errors.size and allowed < math.inf and errors.max() > (0 if exact else allowed * scale):
            worst = int(errors.argmax())
            shown = f"{left.ravel()[worst]} recorded, {right.ravel()[worst]} computed"
            yield f"{path}: {shown} (relative difference allowed: {0 if exact else allowed:g})"
    elif not (named and allowed == math.inf) and (
        type(recorded) is not type(computed) or recorded != computed
    ):
        yield f"{path}: {str(recorded)[:80]} recorded, {str(computed)[:80]} computed"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _errors(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, float]:
    """Difference of each pair, infinite where one is not finite and the other is different; and the
    largest number.
    """
    left, right = left.astype(complex).ravel(), right.astype(complex).ravel()
    finite = np.isfinite(left) & np.isfinite(right)
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    errors = np.full(left.shape, math.inf)
    errors[finite] = np.abs(left[finite] - right[finite])
    errors[same] = 0
    return errors, float(np.abs(np.concatenate([left[finite], right[finite]])).max(initial=0))
