"""A picture that the reader moves: curves for every value of a parameter, and a slider that works without a kernel.

The values are computed once, in the cell, and travel with the output as rounded numbers beside an SVG and a small script. So
the slider moves on the static page, in JupyterLab and in Colab alike, by mouse, touch and keyboard; where scripts do not run
the picture stands at its first position. The text form holds the same rounded numbers, so that nbval compares what is seen.
"""

import html
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from attention_theory.figures import COLORS, GREY

WIDTH, HEIGHT = 420, 250
LEFT, RIGHT, TOP, BOTTOM = 52, 8, 8, 42
#: Curves differ in their dashes too, for readers who do not tell the colours apart.
DASHES = ("", "6 3", "2 3", "8 3 2 3", "12 4", "4 4")

# at() is Axis.place, draw() is _path and shown() is _shown: the three that must agree with Python's.
SCRIPT = """
for (const root of document.querySelectorAll("figure.movable:not([data-ready])")) {
  root.dataset.ready = "";
  const { x, curves, dots, axes, name, values, says } = JSON.parse(root.dataset.movable);
  const find = (selector) => [...root.querySelectorAll(selector)];
  const at = (v, [low, high, log, from, to]) =>
    (from + (to - from) * (log ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low))).toFixed(1);
  const draw = (row, dot) => {
    let path = "", pen = false;
    row.forEach((y, i) => {
      if (y !== null) path += `${pen && !dot ? "L" : "M"}${at(x[i], axes[0])},${at(y, axes[1])}${dot ? "h0" : ""}`;
      pen = y !== null;
    });
    return path;
  };
  const shown = (v) => {
    if (v === null) return "";
    const [front, power] = v.toExponential().split("e");
    if (power > -5 && power < 6) return `${v}`;
    const raised = [...`${+power}`].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("");
    return `${front === "1" ? "" : front + " × "}10${raised}`;
  };
  const [range] = find("input"), [output] = find("output"), paths = find("path[data-curve]"), rows = find("tbody tr");
  range.addEventListener("input", () => {
    const k = Number(range.value);
    paths.forEach((path, c) => path.setAttribute("d", draw(curves[c][k], dots[c])));
    rows.forEach((row, i) => curves.forEach((curve, c) => (row.cells[c + 1].textContent = shown(curve[k][i]))));
    range.setAttribute("aria-valuetext", `${name} = ${values[k]}`);
    find(".movable-value")[0].textContent = values[k];
    output.textContent = says[k];
  });
}
"""


@dataclass(frozen=True)
class Axis:
    """One axis: limits, whether it is logarithmic, and the pixels between which it runs."""

    low: float
    high: float
    log: bool
    start: float
    end: float

    def place(self, value: float) -> float:
        """The pixel of a value."""
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + (self.end - self.start) * share

    def ticks(self) -> dict[float, str]:
        """Values with a label: decades on a logarithmic axis that has two of them, else steps of 1, 2 or 5."""
        if self.log:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            if last - first >= 1:
                return {10.0**k: f"10{_raised(k)}" for k in range(first, last + 1, 1 + (last - first) // 6)}
            steps = [m * 10.0**k for k in range(first - 2, last + 2) for m in (1, 2, 3, 5)]
            return {v: f"{v:g}" for v in steps if self.low <= v <= self.high}
        raw = (self.high - self.low) / 5
        unit = 10.0 ** math.floor(math.log10(raw))
        step = next(m * unit for m in (1, 2, 5, 10) if m * unit >= raw * (1 - 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return {i * step: f"{i * step:.6g}" for i in range(first, last + 1)}


def _raised(k: int | str) -> str:
    return str(k).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


@dataclass(frozen=True)
class Movable:
    """What :func:`movable` returns: shows as the picture with its slider, prints as the rounded numbers.

    Attributes:
        x: positions, rounded.
        curves: name -> a row of rounded values for each value of the parameter; None where there is no point.
        name: the parameter.
        values: its values, as shown.
        start: index of the value shown first.
        says: a sentence for each value.
        axes: horizontal and vertical.
        labels: of the two axes.
        points: names of the curves drawn as dots.
        alt: what the picture shows.
    """

    x: list[float]
    curves: dict[str, list[list[float | None]]]
    name: str
    values: list[str]
    start: int
    says: list[str]
    axes: tuple[Axis, Axis]
    labels: tuple[str, str]
    points: tuple[str, ...]
    alt: str

    def __repr__(self) -> str:
        lines = [f"{self.labels[0] or 'x'}: {_numbers(self.x)}"]
        for k, value in enumerate(self.values):
            lines += [f"{self.name} = {value}: {self.says[k]}"] if self.says[k] else [f"{self.name} = {value}:"]
            lines += [f"    {curve}: {_numbers(rows[k])}" for curve, rows in self.curves.items()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        data = {
            "x": [_short(v) for v in self.x],
            "curves": [[[_short(v) for v in row] for row in rows] for rows in self.curves.values()],
            "dots": [int(curve in self.points) for curve in self.curves],
            "axes": [[_short(a.low), _short(a.high), int(a.log), a.start, a.end] for a in self.axes],
            "name": self.name,
            "values": self.values,
            "says": self.says,
        }
        packed = html.escape(json.dumps(data, ensure_ascii=False, separators=(",", ":")))
        key = "movable-" + sha256((packed + self.alt).encode()).hexdigest()[:8]
        # Inline style: Colab and JupyterLab do not have the book's style sheet.
        return (
            f'<figure class="movable" id="{key}" data-movable="{packed}" style="margin:0.5em 0;max-width:36rem">'
            f"{self._control(key)}{self._svg()}{self._legend()}"
            f'<output for="{key}-range" style="display:block;min-height:1.5em">{html.escape(self.says[self.start])}</output>'
            f"{self._table()}</figure><script>{SCRIPT}</script>"
        )

    def _control(self, key: str) -> str:
        shown, name = html.escape(self.values[self.start]), html.escape(self.name)
        return (
            f'<label for="{key}-range" style="display:block">{name} = <strong class="movable-value">{shown}</strong></label>'
            f'<input type="range" id="{key}-range" min="0" max="{len(self.values) - 1}" step="1" value="{self.start}" '
            f'aria-valuetext="{name} = {shown}" autocomplete="off" style="width:100%;min-height:2em;touch-action:pan-y">'
        )

    def _svg(self) -> str:
        across, up = self.axes
        grid, text = [], []
        for value, label in across.ticks().items():
            place = across.place(value)
            grid.append(f"M{place:.1f},{TOP}V{HEIGHT - BOTTOM}")
            text.append(f'<text x="{place:.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle">{label}</text>')
        for value, label in up.ticks().items():
            place = up.place(value)
            grid.append(f"M{LEFT},{place:.1f}H{WIDTH - RIGHT}")
            text.append(f'<text x="{LEFT - 5}" y="{place + 4:.1f}" text-anchor="end">{label}</text>')
        middle = (TOP + HEIGHT - BOTTOM) / 2
        text.append(
            f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{html.escape(self.labels[0])}</text>'
            f'<text transform="translate(11 {middle}) rotate(-90)" text-anchor="middle">{html.escape(self.labels[1])}</text>'
        )
        curves = [
            f'<path data-curve="{c}" d="{self._path(name)}" {self._stroke(c, name)}/>' for c, name in enumerate(self.curves)
        ]
        return (
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(self.alt)}" '
            'style="display:block;width:100%;height:auto;overflow:visible" font-size="12" fill="currentColor">'
            f'<path d="{"".join(grid)}" stroke="{GREY}" stroke-opacity=".3" fill="none"/>'
            f'<path d="M{LEFT},{TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" stroke="{GREY}" fill="none"/>'
            f"{''.join(text)}{self._clipped(''.join(curves))}</svg>"
        )

    @staticmethod
    def _clipped(curves: str) -> str:
        """What leaves the axes is cut, with room for the dots on them."""
        x, y, width, height = LEFT - 4, TOP - 4, WIDTH - LEFT - RIGHT + 8, HEIGHT - TOP - BOTTOM + 8
        size = f'x="{x}" y="{y}" width="{width}" height="{height}"'
        return f'<svg {size} viewBox="{x} {y} {width} {height}">{curves}</svg>'

    def _path(self, name: str) -> str:
        path, pen = "", False
        dot = name in self.points
        for x, y in zip(self.x, self.curves[name][self.start]):
            if y is not None:
                letter = "L" if pen and not dot else "M"
                path += f"{letter}{self.axes[0].place(x):.1f},{self.axes[1].place(y):.1f}{'h0' * dot}"
            pen = y is not None
        return path

    def _stroke(self, c: int, name: str) -> str:
        dot = name in self.points
        dash = f' stroke-dasharray="{DASHES[c % len(DASHES)]}"' if DASHES[c % len(DASHES)] and not dot else ""
        width, cap = (6, "round") if dot else (2, "butt")
        colour = COLORS[c % len(COLORS)]
        return f'fill="none" stroke="{colour}" stroke-width="{width}" stroke-linecap="{cap}" stroke-linejoin="round"{dash}'

    def _legend(self) -> str:
        items = []
        for c, name in enumerate(self.curves):
            line = "M13,6h0" if name in self.points else "M0,6H26"
            key = f'<svg width="26" height="12" aria-hidden="true"><path d="{line}" {self._stroke(c, name)}/></svg>'
            items.append(f'<span style="margin-right:1.2em;white-space:nowrap">{key} {html.escape(name)}</span>')
        return f'<div style="padding-left:1em">{" ".join(items)}</div>'

    def _table(self) -> str:
        head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in (self.labels[0] or "x", *self.curves))
        rows = []
        for i, x in enumerate(self.x):
            values = (curve[self.start][i] for curve in self.curves.values())
            cells = "".join(f"<td>{'' if y is None else _shown(y)}</td>" for y in (x, *values))
            rows.append(f"<tr>{cells}</tr>")
        return (
            '<details><summary>Numbers</summary><div tabindex="0" role="group" aria-label="Numbers of the picture" '
            'style="max-height:20em;overflow:auto">'
            f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div></details>"
        )


def _shown(value: float) -> str:
    """A number of the table: 10⁶ and 6.02 × 10⁻⁵ instead of 1e+06 and 6.02e-05."""
    front, power = np.format_float_scientific(value, trim="-").split("e")
    if -5 < int(power) < 6:
        return np.format_float_positional(value, trim="-")
    return f"{'' if front == '1' else front + ' × '}10{_raised(int(power))}"


def _numbers(row: Sequence[float | None]) -> str:
    return " ".join("-" if value is None else f"{value:g}" for value in row)


def _short(value: float | None) -> float | int | None:
    """An integer where it is one: 2 instead of 2.0."""
    return value if value is None or value != int(value) else int(value)


def movable(
    x: Sequence[float],
    curves: Mapping[str, Any],
    parameter: tuple[str, Sequence],
    *,
    alt: str,
    xlabel: str = "",
    ylabel: str = "",
    log: str = "",
    ylim: tuple[float, float] | None = None,
    points: Sequence[str] = (),
    says: Sequence[str] | None = None,
    start: Any = None,
    digits: int = 3,
) -> Movable:
    """A picture of curves with a slider for one parameter, for the last line of a cell.

    Args:
        x: the (k,) horizontal positions.
        curves: name -> (p, k) values, a row for each value of the parameter, or (k,) for a curve that stays. ``nan``
            leaves a gap.
        parameter: name and its p values (numbers or words), for example ``("n", [10, 100, 1000])``.
        alt: one sentence for readers who do not see the picture: what it shows and what happens when it is moved.
        xlabel: horizontal label. All words are plain text; Unicode does for most symbols (τ, √n), and 10^-3 becomes 10⁻³.
        ylabel: vertical label.
        log: the logarithmic axes: ``""``, ``"x"``, ``"y"`` or ``"xy"``.
        ylim: vertical limits; all values by default. The axes stay when the picture moves.
        points: names of curves that are drawn as dots.
        says: a sentence for each value, read out and shown below the picture: the number that matters.
        start: the value shown first; the middle one by default.
        digits: significant digits that are kept, of the largest value on a linear vertical axis and of each value on a
            logarithmic one. Round well inside the uncertainty: the cell is compared exactly on other machines.

    Raises:
        ValueError: sizes that do not fit, fewer than two positions or parameter values, values that are infinite or not
            positive on a logarithmic axis, an unknown name, or no ``alt``.

    Example:
        >>> movable(
        ...     x=[1, 2, 4], curves={"x^p": [[1, 2, 4], [1, 4, 16]], "bound": [16, 16, 16]}, parameter=("p", [1, 2]),
        ...     xlabel="x", alt="The power x^p stays below 16.", start=1,
        ... )
        x: 1 2 4
        p = 1:
            x^p: 1 2 4
            bound: 16 16 16
        p = 2:
            x^p: 1 4 16
            bound: 16 16 16
    """
    name, given = parameter
    values = [_word(value) for value in given]
    across = np.asarray(x, dtype=float) + 0.0  # no -0.0
    if across.ndim != 1 or across.size < 2 or len(values) < 2:
        raise ValueError(f"x has shape {across.shape} and {name} {len(values)} values; a picture that moves needs two of each")
    if log not in ("", "x", "y", "xy"):
        raise ValueError(f"log = {log!r} is unknown; choose '', 'x', 'y' or 'xy'")
    if not alt:
        raise ValueError("a picture needs an alt text: what it shows, and what happens when it is moved")
    if not curves:
        raise ValueError("no curve was given")
    shape = (len(values), across.size)
    full, points = {}, [_word(curve) for curve in points]
    for key, rows in ((_word(curve), rows) for curve, rows in curves.items()):
        table = np.asarray(rows, dtype=float)
        if table.shape not in (shape, shape[1:]):
            raise ValueError(f"{key} has shape {table.shape}; {name} and x need {shape}, or {shape[1:]} for a curve that stays")
        full[key] = np.broadcast_to(table, shape)
    if unknown := set(points) - set(full):
        raise ValueError(f"points names {sorted(unknown)}, which are no curves; there are {list(full)}")
    if says is not None and len(says) != len(values):
        raise ValueError(f"says has {len(says)} sentences for {len(values)} values of {name}")
    first = len(values) // 2 if start is None else _index(name, values, start)
    stack = np.stack(list(full.values()))
    if not np.isfinite(across).all() or np.isinf(stack).any() or np.isnan(stack).all():
        raise ValueError("positions are finite, and values finite or nan (a gap), not all of them nan")
    for axis, numbers in (("x", across), ("y", np.append(stack[~np.isnan(stack)], ylim or ()))):
        if axis in log and numbers.min() <= 0:
            raise ValueError(f"the smallest {axis} is {numbers.min():g}; a logarithmic axis needs positive numbers")
    decimals = None if "y" in log else digits - 1 - math.floor(math.log10(float(np.nanmax(np.abs(stack))) or 1))
    rounded = {key: [[_round(v, digits, decimals) for v in row] for row in rows] for key, rows in full.items()}
    seen = [v for rows in rounded.values() for row in rows for v in row if v is not None]
    kept = [float(f"{v:.6g}") for v in across]
    return Movable(
        kept,
        rounded,
        name,
        values,
        first,
        list(says) if says is not None else [""] * len(values),
        (
            _axis(min(kept), max(kept), "x" in log, LEFT, WIDTH - RIGHT),
            _axis(*(ylim or (min(seen), max(seen))), "y" in log, HEIGHT - BOTTOM, TOP),
        ),
        (_word(xlabel), _word(ylabel)),
        tuple(points),
        alt,
    )


def _word(value: Any) -> str:
    """A label; powers such as 10^12 get raised figures."""
    text = value if isinstance(value, str) else f"{float(value):g}"
    return re.sub(r"\^(-?\d+)", lambda power: _raised(power[1]), text)


def _index(name: str, values: list[str], start: Any) -> int:
    if _word(start) not in values:
        raise ValueError(f"start = {start!r} is no value of {name}; there are {', '.join(values)}")
    return values.index(_word(start))


def _round(value: float, digits: int, decimals: int | None) -> float | None:
    if math.isnan(value):
        return None
    return (float(f"{value:.{digits}g}") if decimals is None else round(float(value), decimals)) + 0.0  # no -0.0


def _axis(low: float, high: float, log: bool, start: float, end: float) -> Axis:
    if low == high:  # a flat picture
        low, high = (low / 2, high * 2) if log else (low - 0.5, high + 0.5)
    return Axis(low, high, log, start, end)
