"""Figures that read well on light and dark pages, and the small tables that carry their numbers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from cycler import cycler
from numpy.typing import NDArray
from tabulate import tabulate

from theorybook.plain import as_written, off_the_edge

#: Colours of text and axes, and of guide lines.
INK, GREY = "#24292F", "#808080"
#: Colours of Okabe and Ito, without black and yellow: colour-blind readers can tell them apart, on
#: white and on black.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9")


def use_style() -> None:
    """Set matplotlib's defaults for the book: lines and colours as in its interactive plots, dark
    text on white.

    On a dark page ``book.css`` turns light into dark and keeps the hues. The reader's own
    ``matplotlibrc`` is reset first: if it asked for LaTeX, for example, no label could be drawn
    without LaTeX.
    """
    style: dict[Any, Any] = {
        "figure.facecolor": "white",
        "savefig.facecolor": "white",
        "legend.framealpha": 0,
        "figure.dpi": 144,
        "figure.figsize": (6.4, 3.4),
        "figure.constrained_layout.use": True,
        "axes.prop_cycle": cycler(color=COLORS),
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": "medium",
        "lines.linewidth": 2,
    }
    style |= dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "axes.titlecolor"), INK
    )
    style |= dict.fromkeys(("xtick.color", "ytick.color", "legend.labelcolor"), INK)
    plt.rcdefaults()
    plt.rcParams.update(style)


@dataclass(frozen=True)
class ShownTable:
    """A small table that a notebook shows as HTML and stores as text, so that nbval compares its
    numbers.
    """

    rows: list[list[str]]
    headers: list[str]

    def __repr__(self) -> str:
        return tabulate(self.rows, self.headers, disable_numparse=True)

    def _repr_html_(self) -> str:
        rows = [[as_written(cell) for cell in row] for row in self.rows]
        shown = tabulate(
            rows,
            [as_written(header) for header in self.headers],
            tablefmt="html",
            disable_numparse=True,
        )
        return re.sub(r"10\^(-?\d+\.\d+)", r"10<sup>\1</sup>", shown)


def table(
    columns: dict[str, Sequence | NDArray[Any]], formats: dict[str, str] | str = ".3g"
) -> ShownTable:
    """Table from named columns of equal length.

    Args:
        columns: header -> values. Text and integers are unchanged, other numbers are rounded.
        formats: format of the numbers, one for all or by header. Round well inside the uncertainty:
            the cell is compared exactly on other machines.

    Raises:
        ValueError: the columns differ in length.
    """
    lengths = {header: len(values) for header, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"columns differ in length: {lengths}")

    def cell(header, value):
        if isinstance(value, str | int | np.integer | np.bool_):
            return str(value)
        shown = format(
            off_the_edge(float(value)),
            formats if isinstance(formats, str) else formats.get(header, ".3g"),
        )
        # no sign for a zero: from which side a number was rounded to it differs between machines
        return re.sub(r"^-(?=[0.]+(e[+-]\d+|%)?$)", "", shown)

    rows = [
        [cell(header, value) for header, value in zip(columns, row)]
        for row in zip(*columns.values())
    ]
    return ShownTable(rows, list(columns))
