"""Plots: stacked columns over time, bars, columns. Functions from numbers to shapes, which page.html draws as SVG.

Colours come from the page's style sheet by class name, so that the plots print as they show.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

WIDTH = 720.0
_UNITS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 8.0, 10.0, 26.0


@dataclass(frozen=True, slots=True)
class GridLine:
    """A level of the grid."""

    look: str
    left: float
    y: float
    right: float


@dataclass(frozen=True, slots=True)
class Bar:
    """A column or bar."""

    look: str
    x: float
    y: float
    width: float
    height: float
    radius: float = 0.0


@dataclass(frozen=True, slots=True)
class Label:
    """A label."""

    look: str
    x: float
    y: float
    anchor: str
    text: str


@dataclass(slots=True)
class Plot:
    """Shapes to draw; `label` says what they show, for those who cannot see it."""

    height: float
    label: str
    width: float = WIDTH
    lines: list[GridLine] = field(default_factory=list)
    boxes: list[Bar] = field(default_factory=list)
    texts: list[Label] = field(default_factory=list)

    def box(self, look: str, x: float, y: float, width: float, height: float, radius: float = 0.0) -> None:
        self.boxes.append(Bar(look, round(x, 1), round(y, 1), round(width, 1), round(height, 1), radius))

    def text(self, x: float, y: float, text: str, anchor: str, look: str = "tick") -> None:
        self.texts.append(Label(look, round(x, 1), round(y, 1), anchor, text))

    def grid(self, top: float, tall: float, above: float = 0.0) -> None:
        for i in range(5):
            value = top * i / 4
            y = round(_TOP + above + tall * (1 - i / 4), 1)
            self.lines.append(GridLine("axis" if i == 0 else "grid", _LEFT, y, WIDTH - _RIGHT))
            if value == int(value):
                self.text(_LEFT - 6, y + 3.5, _short(value), "end")


def stacked(series: Sequence[tuple[str, Sequence[float]]], ticks: Sequence[tuple[float, str]], label: str) -> Plot:
    """Columns side by side, each made of the series one above the other: class name and values, from the bottom up.
    Below lie the ticks: share of the width from 0 to 1, and text. `label`: what the plot shows, for those who cannot
    see it."""
    height = 200.0
    count = len(series[0][1])
    most = max((sum(values[i] for _, values in series) for i in range(count)), default=0.0)
    top = _round_up(most)
    inner, tall = WIDTH - _LEFT - _RIGHT, height - _TOP - _BOTTOM
    step = inner / count
    plot = Plot(height, label)
    plot.grid(top, tall)
    for i in range(count):
        y = _TOP + tall
        for name, values in series:
            if values[i]:
                size = values[i] / top * tall
                y -= size
                plot.box(name, _LEFT + i * step + step * 0.08, y, step * 0.84, size)
    for share, text in ticks:
        anchor = "start" if share == 0 else "end" if share > 0.97 else "middle"
        plot.text(_LEFT + share * inner, height - 8, text, anchor)
    return plot


def time_ticks(seconds: float, most: int = 7) -> list[tuple[float, str]]:
    """Ticks for `stacked` below an axis of so many seconds: round steps, all in one unit."""
    size, unit = next((each for each in _UNITS if seconds >= 2 * each[0]), _UNITS[-1])
    length = seconds / size
    power = 10.0 ** math.floor(math.log10(length / most))
    step = next(power * times for times in (1, 2, 5, 10) if power * times * most >= length * 0.999)
    return [(i * step / length, f"{i * step:g} {unit}") for i in range(math.floor(length / step + 0.001) + 1)]


def columns(values: Sequence[float], edges: Sequence[str], classes: Sequence[str], label: str) -> Plot:
    """One column for each value, its number above it; `edges`: what lies between one and the next, one less."""
    height = 190.0
    top = _round_up(max(values, default=0.0))
    inner, tall = WIDTH - _LEFT - _RIGHT, height - _TOP - _BOTTOM - 14
    step = inner / max(len(values), 1)
    plot = Plot(height, label)
    plot.grid(top, tall, above=14)
    for i, value in enumerate(values):
        size = value / top * tall
        x, y = _LEFT + i * step, _TOP + 14 + tall - size
        if value:
            plot.box(classes[i], x + step * 0.14, y, step * 0.72, max(size, 1.0), 1.5)
            plot.text(x + step / 2, y - 4, f"{value:,.0f}", "middle", "value")
        if i < len(edges):
            plot.text(x + step, height - 8, edges[i], "middle")
    return plot


def bars(rows: Sequence[tuple[str, float, str]], label: str) -> Plot:
    """One horizontal bar for each (text, value, class name), the value behind it."""
    each, left = 25.0, 170.0
    height = each * len(rows) + 4
    most = max((value for _, value, _ in rows), default=0.0) or 1.0
    total = sum(value for _, value, _ in rows) or 1.0
    inner = WIDTH - left - 130
    plot = Plot(height, label)
    for i, (text, value, name) in enumerate(rows):
        y = i * each + 2
        size = max(value / most * inner, 1.5)
        plot.text(left - 10, y + 15.5, text, "end", "label")
        plot.box(name, left, y + 3, size, each - 8, 2)
        plot.text(left + size + 8, y + 15.5, f"{value:,.0f}  ({value / total:.1%})", "start", "value")
    return plot


def _round_up(value: float) -> float:
    """The next number that four grid lines divide well."""
    if value <= 4:
        return 4.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((power * step for step in (1, 2, 4, 6, 8, 10) if power * step >= value), power * 10)


def _short(value: float) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= size:
            return f"{value / (1e3 if unit == 'k' else size):g}{unit}"
    return f"{value:g}"
