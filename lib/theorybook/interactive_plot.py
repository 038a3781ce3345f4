"""Interactive plots: curves or bars for every value of a parameter, with sliders that work without
a kernel.

The values are computed once, in the cell, and stored in the output as rounded numbers next to an
SVG and a small script. So a slider works on the static page, in JupyterLab and in Colab alike, by
mouse, touch and keyboard; where scripts do not run, the picture stays at its first position. The
text form holds the same rounded numbers, so that nbval compares what is seen.
"""

import html
import itertools
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from theorybook.figures import COLORS, GREY
from theorybook.plain import as_written, off_the_edge, power_of_ten, raised
from theorybook.validation import Signed, Size, to_numpy

WIDTH, HEIGHT = 420, 250
LEFT, RIGHT, TOP, BOTTOM = 52, 8, 8, 42
#: Curves differ in their dashes too, for readers who cannot tell the colours apart.
DASHES = ("", "6 3", "2 3", "8 3 2 3", "12 4", "4 4")

# at() is Axis.place, draw() is _path and shown() is _shown: the three that must agree with
# Python's.
SCRIPT = """
for (const root of document.querySelectorAll("figure.movable:not([data-ready])")) {
  root.dataset.ready = "";
  const { x, curves, marks, axes, sliders, says } = JSON.parse(root.dataset.movable);
  const find = (selector) => [...root.querySelectorAll(selector)];
  const at = (v, [low, high, log, from, to]) =>
    (from + (to - from) * (log ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low))).toFixed(1);
  const draw = (row, [kind, left, right]) => {
    let path = "", pen = false;
    row.forEach((y, i) => {
      if (y === null) path += "";
      else if (kind === "bar") {
        const foot = at(axes[1][0], axes[1]);
        path += `M${at(i + left, axes[0])},${foot}V${at(y, axes[1])}H${at(i + right, axes[0])}V${foot}Z`;
      } else if (kind === "square") {
        const half = right * Math.sqrt(y), x0 = (+at(i, axes[0]) - half).toFixed(1), side = (2 * half).toFixed(1);
        path += `M${x0},${(left - half).toFixed(1)}h${side}v${side}H${x0}Z`;
      } else path += `${pen && kind === "line" ? "L" : "M"}${at(x[i], axes[0])},${at(y, axes[1])}${kind === "dot" ? "h0" : ""}`;
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
  const ranges = find("input"), [output] = find("output"), paths = find("path[data-curve]"), rows = find("tbody tr");
  const row = ([steps, rows]) => rows[ranges.reduce((k, range, i) => k + steps[i] * Number(range.value), 0)];
  const move = () => {
    curves.map(row).forEach((values, c) => {
      paths[c].setAttribute("d", draw(values, marks[c]));
      rows.forEach((line, i) => (line.cells[c + 1].textContent = shown(values[i])));
    });
    ranges.forEach((range, i) => {
      const [name, values] = sliders[i], value = values[Number(range.value)];
      range.setAttribute("aria-valuetext", `${name} = ${value}`);
      find(".movable-value")[i].textContent = value;
    });
    output.textContent = row(says);
  };
  ranges.forEach((range) => range.addEventListener("input", move));
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

    def place(self, value: Signed) -> float:
        """The pixel coordinate of a value."""
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + (self.end - self.start) * share

    def ticks(self) -> dict[float, str]:
        """Values with a label: decades on a logarithmic axis that has two of them, else steps of 1,
        2 or 5.
        """
        if self.log:
            first, last = (
                math.ceil(math.log10(self.low) - 1e-9),
                math.floor(math.log10(self.high) + 1e-9),
            )
            if last - first >= 1:
                return {
                    10.0**k: f"10{raised(str(k))}"
                    for k in range(first, last + 1, 1 + (last - first) // 6)
                }
            steps = [m * 10.0**k for k in range(first - 2, last + 2) for m in (1, 2, 3, 5)]
            return {v: f"{v:g}" for v in steps if self.low <= v <= self.high}
        raw = (self.high - self.low) / 5
        unit = 10.0 ** math.floor(math.log10(raw))
        step = next(m * unit for m in (1, 2, 5, 10) if m * unit >= raw * (1 - 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return {i * step: f"{i * step:.6g}" for i in range(first, last + 1)}


@dataclass(frozen=True)
class Slider:
    """A parameter with a slider: its name, its values as shown, and the index of the one shown
    first.
    """

    name: str
    values: list[str]
    start: int


@dataclass(frozen=True)
class Rows:
    """Rows selected by the sliders: moving slider i by one moves on by ``steps[i]`` rows (0: no
    effect).
    """

    steps: list[int]
    rows: list[Any]

    def at(self, position: Sequence[int]) -> Any:
        """The row at these slider positions."""
        return self.rows[sum(step * k for step, k in zip(self.steps, position))]


@dataclass(frozen=True)
class InteractivePlot:
    """The result of :func:`interactive_plot`: displayed as the picture with its sliders, printed as
    the rounded numbers.

    Attributes:
        x: positions, rounded; words for a bar chart.
        curves: name -> rows of rounded values; None where there is no point.
        sliders: one or two.
        captions: the sentences.
        axes: horizontal and vertical.
        labels: of the two axes.
        points: names of the curves drawn as dots.
        alt: what the picture shows.
        hinton: the curves are the rows of a matrix, drawn as squares.
    """

    x: list[float] | list[str]
    curves: dict[str, Rows]
    sliders: tuple[Slider, ...]
    captions: Rows
    axes: tuple[Axis, Axis]
    labels: tuple[str, str]
    points: tuple[str, ...]
    alt: str
    hinton: bool = False

    @property
    def start(self) -> list[int]:
        """The slider positions shown first."""
        return [slider.start for slider in self.sliders]

    def __repr__(self) -> str:
        lines = [f"{self.labels[0] or 'x'}: {_numbers(self.x)}"]
        for position in itertools.product(*(range(len(slider.values)) for slider in self.sliders)):
            # a row that a slider does not touch is printed once
            new = {
                name: curve.at(position)
                for name, curve in self.curves.items()
                if len(self.sliders) == 1
                or not any(k for k, step in zip(position, curve.steps) if not step)
            }
            said = self.captions.at(position)
            if new or said:
                where = ", ".join(
                    f"{s.name} = {s.values[k]}" for s, k in zip(self.sliders, position)
                )
                lines += [f"{where}: {said}" if said else f"{where}:"]
                lines += [f"    {name}: {_numbers(row)}" for name, row in new.items()]
        return "\n".join(lines)

    @property
    def _words(self) -> list[str] | None:
        return [str(word) for word in self.x] if isinstance(self.x[0], str) else None

    def _marks(self) -> list[tuple[str, float, float]]:
        """How each curve is drawn: a line, dots, bars from left to right of each word, squares
        (height of the row, scale).
        """
        if self.hinton:
            high = (HEIGHT - BOTTOM - TOP) / len(self.curves)
            scale = round(0.47 * high / math.sqrt(self.axes[1].high), 4)
            return [
                ("square", round(TOP + high * (i + 0.5), 1), scale) for i in range(len(self.curves))
            ]
        bars = [name for name in self.curves if self._words and name not in self.points]
        wide = 0.8 / max(len(bars), 1)
        edges = {
            name: (round(-0.4 + wide * i, 4), round(-0.4 + wide * (i + 1), 4))
            for i, name in enumerate(bars)
        }
        return [
            ("bar", *edges[name])
            if name in edges
            else ("dot" if name in self.points else "line", 0, 0)
            for name in self.curves
        ]

    def _repr_html_(self) -> str:
        data = {
            "x": list(range(len(self.x))) if self._words else [_short(v) for v in self.x],  # type: ignore[arg-type]
            "curves": [
                [c.steps, [[_short(v) for v in row] for row in c.rows]]
                for c in self.curves.values()
            ],
            "marks": self._marks(),
            "axes": [
                [_short(a.low), _short(a.high), int(a.log), a.start, a.end] for a in self.axes
            ],
            "sliders": [[slider.name, slider.values] for slider in self.sliders],
            "says": [self.captions.steps, self.captions.rows],
        }
        packed = html.escape(json.dumps(data, ensure_ascii=False, separators=(",", ":")))
        key = "movable-" + sha256((packed + self.alt).encode()).hexdigest()[:8]
        # Inline style: Colab and JupyterLab do not have the book's style sheet.
        return (
            f'<figure class="movable" id="{key}" data-movable="{packed}" style="margin:0.5em '
            '0;max-width:36rem">'
            f"{''.join(self._control(key, i) for i in range(len(self.sliders)))}{self._svg()}{self._legend()}"
            f'<output for="{" ".join(self._name(key, i) for i in range(len(self.sliders)))}" '
            f'style="display:block;min-height:1.5em">{html.escape(self.captions.at(self.start))}</output>'
            f"{self._table()}</figure><script>{SCRIPT}</script>"
        )

    @staticmethod
    def _name(key: str, i: int) -> str:
        return f"{key}-range{i or ''}"

    def _control(self, key: str, i: int) -> str:
        slider, identity = self.sliders[i], self._name(key, i)
        shown, name = html.escape(slider.values[slider.start]), html.escape(slider.name)
        return (
            f'<label for="{identity}" style="display:block">{name} = <strong '
            f'class="movable-value">{shown}</strong></label>'
            f'<input type="range" id="{identity}" min="0" max="{len(slider.values) - 1}" step="1" '
            f'value="{slider.start}" '
            f'aria-valuetext="{name} = {shown}" autocomplete="off" '
            'style="width:100%;min-height:2em;touch-action:pan-y">'
        )

    def _svg(self) -> str:
        across, up = self.axes
        grid, text = [], []
        for value, label in (
            dict(enumerate(self._words)) if self._words else across.ticks()
        ).items():
            place = across.place(value)
            grid += [] if self._words else [f"M{place:.1f},{TOP}V{HEIGHT - BOTTOM}"]
            text.append(
                f'<text x="{place:.1f}" y="{HEIGHT - BOTTOM + 15}" '
                f'text-anchor="middle">{html.escape(label)}</text>'
            )
        for name, (_, place, _) in zip(self.curves, self._marks() if self.hinton else ()):
            text.append(
                f'<text x="{LEFT - 5}" y="{place + 4:.1f}" text-anchor="end">{html.escape(name)}</text>'
            )
        for value, label in ({} if self.hinton else up.ticks()).items():
            place = up.place(value)
            grid.append(f"M{LEFT},{place:.1f}H{WIDTH - RIGHT}")
            text.append(
                f'<text x="{LEFT - 5}" y="{place + 4:.1f}" text-anchor="end">{label}</text>'
            )
        middle = (TOP + HEIGHT - BOTTOM) / 2
        text.append(
            f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" '
            f'text-anchor="middle">{html.escape(self.labels[0])}</text>'
            f'<text transform="translate(11 {middle}) rotate(-90)" text-anchor="middle">{html.escape(self.labels[1])}</text>'
        )
        curves = [
            f'<path data-curve="{c}" d="{self._path(name, mark)}" {self._paint(c, mark[0])}/>'
            for c, (name, mark) in enumerate(zip(self.curves, self._marks()))
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
        """The curves clipped to the axes, with room for the dots on them."""
        x, y, width, height = LEFT - 4, TOP - 4, WIDTH - LEFT - RIGHT + 8, HEIGHT - TOP - BOTTOM + 8
        size = f'x="{x}" y="{y}" width="{width}" height="{height}"'
        return f'<svg {size} viewBox="{x} {y} {width} {height}">{curves}</svg>'

    def _path(self, name: str, mark: tuple[str, float, float]) -> str:
        path, pen = "", False
        (across, up), (kind, left, right) = self.axes, mark
        for i, y in enumerate(self.curves[name].at(self.start)):
            if y is not None and kind == "bar":
                foot, edges = (
                    f"{up.place(up.low):.1f}",
                    [f"{across.place(i + edge):.1f}" for edge in (left, right)],
                )
                path += f"M{edges[0]},{foot}V{up.place(y):.1f}H{edges[1]}V{foot}Z"
            elif y is not None and kind == "square":
                half = right * math.sqrt(y)
                x, side = f"{round(across.place(i), 1) - half:.1f}", f"{2 * half:.1f}"
                path += f"M{x},{left - half:.1f}h{side}v{side}H{x}Z"
            elif y is not None:
                letter = "L" if pen and kind == "line" else "M"
                x = i if self._words else self.x[i]
                path += f"{letter}{across.place(x):.1f},{up.place(y):.1f}{'h0' * (kind == 'dot')}"  # type: ignore[arg-type]
            pen = y is not None
        return path

    def _paint(self, c: int, kind: str) -> str:
        colour = COLORS[0 if self.hinton else c % len(COLORS)]
        if kind in ("bar", "square"):
            return f'fill="{colour}" fill-opacity=".85"'
        dash = (
            f' stroke-dasharray="{DASHES[c % len(DASHES)]}"'
            if DASHES[c % len(DASHES)] and kind == "line"
            else ""
        )
        width, cap = (6, "round") if kind == "dot" else (2, "butt")
        return f'fill="none" stroke="{colour}" stroke-width="{width}" stroke-linecap="{cap}" stroke-linejoin="round"{dash}'

    def _legend(self) -> str:
        if self.hinton:
            return ""
        items = []
        for c, (name, (kind, _, _)) in enumerate(zip(self.curves, self._marks())):
            line = {"line": "M0,6H26", "dot": "M13,6h0", "bar": "M8,1H18V11H8Z"}[kind]
            key = f'<svg width="26" height="12" aria-hidden="true"><path d="{line}" {self._paint(c, kind)}/></svg>'
            items.append(
                f'<span style="margin-right:1.2em;white-space:nowrap">{key} {html.escape(name)}</span>'
            )
        return f'<div style="padding-left:1em">{" ".join(items)}</div>'

    def _table(self) -> str:
        head = "".join(
            f'<th scope="col">{html.escape(name)}</th>'
            for name in (self.labels[0] or "x", *self.curves)
        )
        rows = []
        for i, x in enumerate(self.x):
            values = (curve.at(self.start)[i] for curve in self.curves.values())
            cells = "".join(f"<td>{'' if y is None else _shown(y)}</td>" for y in (x, *values))
            rows.append(f"<tr>{cells}</tr>")
        return (
            '<details><summary>Numbers</summary><div tabindex="0" role="group" aria-label="Numbers of the picture" '
            'style="max-height:20em;overflow:auto">'
            f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div></details>"
        )


def _shown(value: float | str) -> str:
    """A number of the table: 10⁶ and 6.02 × 10⁻⁵ instead of 1e+06 and 6.02e-05."""
    if isinstance(value, str):
        return html.escape(value)
    front, power = np.format_float_scientific(value, trim="-").split("e")
    if -5 < int(power) < 6:
        return np.format_float_positional(value, trim="-")
    return power_of_ten(front, power)


def _numbers(row: Sequence[float | str | None]) -> str:
    return " ".join(
        "-" if value is None else value if isinstance(value, str) else f"{value:g}" for value in row
    )


def _short(value: float | None) -> float | int | None:
    """An integer where it is one: 2 instead of 2.0."""
    return value if value is None or value != int(value) else int(value)


def interactive_plot(
    x: Sequence[float] | Sequence[str],
    curves: Mapping[str, Any],
    parameter: tuple[str, Sequence] | Sequence[tuple[str, Sequence]],
    *,
    alt: str,
    xlabel: str = "",
    ylabel: str = "",
    log: str = "",
    ylim: tuple[float, float] | None = None,
    points: Sequence[str] = (),
    captions: Sequence[Any] | None = None,
    start: Any = None,
    digits: Size = 3,
    hinton: bool = False,
) -> InteractivePlot:
    """A picture of curves, or of bars, with a slider for one parameter or two, for the last line of
    a cell.

    Args:
        x: the (k,) horizontal positions; or words, each with bars above it that begin at the lower
            end of ``ylim``.
        curves: name -> (p, k) values, a row for each value of the parameter, or (k,) for a curve
            that does not change; with two parameters (p, r, k), where 1 in place of p or r means
            that the curve does not depend on that parameter. ``nan`` leaves a gap.
        parameter: name and its p values (numbers or words), for example ``("n", [10, 100, 1000])``;
            or two such pairs.
        alt: one sentence for readers who do not see the picture: what it shows and what happens
            when it is moved.
        xlabel: horizontal label. All words are plain text; Unicode does for most symbols (τ, √n),
            and 10^-3 becomes 10⁻³.
        ylabel: vertical label.
        log: the logarithmic axes: ``""``, ``"x"``, ``"y"`` or ``"xy"``.
        ylim: vertical limits; all values by default. The axes are the same for all slider positions.
        points: names of curves that are drawn as dots.
        captions: a sentence for each value (for two parameters p lists of r), read out and shown
            below the picture.
        start: the value shown first, for two parameters a pair; the middle value by default.
        digits: significant digits that are kept, of the largest value on a linear vertical axis and
            of each value on a logarithmic one. Round well inside the uncertainty: the cell is
            compared exactly on other machines.
        hinton: the curves are the rows of a matrix, from above, with words at ``x``; an entry is a
            square of that area.

    Raises:
        ValueError: sizes that do not fit, fewer than two positions or parameter values, values that
            are infinite or not positive on a logarithmic axis, an unknown name, or no ``alt``.

    Example:
        >>> from theorybook.interactive_plot import interactive_plot
        >>> interactive_plot(
        ...     x=[1, 2, 4], curves={"x^p": [[1, 2, 4], [1, 4, 16]], "bound": [16, 16, 16]},
        ...     parameter=("p", [1, 2]),
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
    pairs = [parameter] if isinstance(parameter[0], str) else list(parameter)
    starts = [start] if len(pairs) == 1 else start or [None] * len(pairs)
    sliders = []
    for (name, given), first in zip(pairs, starts):
        values = [_label(value) for value in given]
        if twice := [value for value, count in Counter(values).items() if count > 1]:
            raise ValueError(f"two values of {name} read {twice[0]}; give them as words")
        sliders.append(
            Slider(
                _label(name),
                values,
                len(values) // 2 if first is None else _index(name, values, first),
            )
        )
    counts = tuple(len(slider.values) for slider in sliders)
    words = [_label(value) for value in x] if len(x) and isinstance(x[0], str) else None
    across = (
        np.arange(len(x), dtype=float) if words else np.asarray(x, dtype=float) + 0.0
    )  # no -0.0
    if across.ndim != 1 or across.size < 2 or min(counts) < 2:
        raise ValueError(
            f"x has shape {across.shape} and "
            f"{', '.join(f'{s.name} {len(s.values)}' for s in sliders)} values; a picture that "
            "moves needs two of each"
        )
    if log not in ("", "x", "y", "xy") or (words and "x" in log):
        raise ValueError(
            f"log = {log!r} is not possible; choose '', 'x', 'y' or 'xy', and with words at x '' or "
            "'y'"
        )
    if not alt:
        raise ValueError(
            "a picture needs an alt text: what it shows, and what happens when it is moved"
        )
    if not curves:
        raise ValueError("no curve was given")
    names = " and ".join(slider.name for slider in sliders)
    full, points = {}, [_label(curve) for curve in points]
    for key, rows in ((_label(curve), rows) for curve, rows in curves.items()):
        table = np.asarray(to_numpy(rows))
        if table.dtype.kind == "c":
            raise ValueError(f"{key} is complex; draw its parts")
        table = table.astype(float)
        table = table.reshape((1,) * len(counts) + table.shape) if table.ndim == 1 else table
        if table.shape[-1:] != across.shape or len(table.shape) != len(counts) + 1:
            raise ValueError(
                f"{key} has shape {table.shape}; {names} and x need {counts + across.shape}"
            )
        if any(size not in (1, count) for size, count in zip(table.shape, counts)):
            raise ValueError(
                f"{key} has shape {table.shape}; {names} and x need {counts + across.shape}"
            )
        if key in full:
            raise ValueError(f"two curves are called {key}")
        full[key] = table
    if unknown := set(points) - set(full):
        raise ValueError(
            f"points names {sorted(unknown)}, which are not curves; there are {list(full)}"
        )
    sentences = (
        np.asarray(captions, dtype=object)
        if captions is not None
        else np.full((1,) * len(counts), "", dtype=object)
    )
    if captions is not None and sentences.shape != counts:
        shapes = (" x ".join(map(str, shape)) for shape in (sentences.shape, counts))
        raise ValueError("captions: {} sentences for {} values of {}".format(*shapes, names))
    seen = np.concatenate([table.ravel() for table in full.values()])
    if not np.isfinite(across).all() or np.isinf(seen).any() or np.isnan(seen).all():
        raise ValueError(
            "positions are finite, and values finite or nan (a gap), not all of them nan"
        )
    for axis, numbers in (("x", across), ("y", np.append(seen[~np.isnan(seen)], ylim or ()))):
        if axis in log and numbers.min() <= 0:
            raise ValueError(
                f"the smallest {axis} is {numbers.min():g}; a logarithmic axis needs positive "
                "numbers"
            )
    if hinton and (not words or log or np.nanmin(seen) < 0):
        raise ValueError(
            "a Hinton diagram shows a matrix of numbers >= 0, with words at x and without a "
            "logarithmic axis"
        )
    size = np.abs(seen[(seen != 0) & ~np.isnan(seen)])
    if size.size and not 1e-300 < (size.min() if "y" in log else size.max()) <= size.max() < 1e150:
        raise ValueError("values lie between 1e-300 and 1e150 in size; draw their logarithms")
    if ylim and not ylim[0] <= ylim[1]:
        raise ValueError(f"ylim = {ylim} is upside down")
    decimals = (
        None
        if "y" in log
        else digits - 1 - math.floor(math.log10(float(np.nanmax(np.abs(seen))) or 1))
    )
    rounded = {
        key: Rows(
            _steps(table.shape[:-1]),
            [[_round(v, digits, decimals) for v in row] for row in table.reshape(-1, len(x))],
        )
        for key, table in full.items()
    }
    kept = [float(f"{v:.6g}") for v in across]
    if len(set(kept)) < len({f"{v:.12g}" for v in across}):
        raise ValueError(
            "some positions are the same number to six digits; subtract the first of them"
        )
    heights = [v for curve in rounded.values() for row in curve.rows for v in row if v is not None]
    ends = (-0.5, len(words) - 0.5) if words else (min(kept), max(kept))
    return InteractivePlot(
        words or kept,
        rounded,
        tuple(sliders),
        Rows(_steps(sentences.shape), [_label(said) for said in sentences.ravel()]),
        (
            _axis(*ends, "x" in log, LEFT, WIDTH - RIGHT),
            _axis(*(ylim or (min(heights), max(heights))), "y" in log, HEIGHT - BOTTOM, TOP),
        ),
        (_label(xlabel), _label(ylabel)),
        tuple(points),
        alt,
        hinton,
    )


def _steps(shape: tuple[int, ...]) -> list[int]:
    """The number of rows by which each slider moves on; 0 for an axis of size 1, which does not
    follow its slider.
    """
    return [0 if size == 1 else math.prod(shape[i + 1 :]) for i, size in enumerate(shape)]


def _label(value: Any) -> str:
    """A label, or a number as one, as a person would write it."""
    return as_written(value if isinstance(value, str) else f"{float(value):g}")


def _index(name: str, values: list[str], start: Any) -> int:
    if _label(start) not in values:
        raise ValueError(
            f"start = {start!r} is not a value of {name}; there are {', '.join(values)}"
        )
    return values.index(_label(start))


def _round(value: float, digits: int, decimals: int | None) -> float | None:
    if math.isnan(value):
        return None
    value = off_the_edge(value)
    return (
        float(f"{value:.{digits}g}") if decimals is None else round(float(value), decimals)
    ) + 0.0  # no -0.0


def _axis(low: float, high: float, log: bool, start: float, end: float) -> Axis:
    if low == high:  # a flat picture
        room = max(0.5, abs(low) * 1e-6)
        low, high = (low / 2, high * 2) if log else (low - room, high + room)
    return Axis(low, high, log, start, end)
