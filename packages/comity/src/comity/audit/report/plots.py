"""Charts: columns over time, each made of parts one above the other, from zero. Functions from numbers to shares of a
hundred, which chart.html draws as SVG and as a table; the style sheet gives the colours by class name."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

_UNITS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))
MAX_TABLE_ROWS = 24


@dataclass(frozen=True, slots=True)
class Bar:
    """A part of a column; position and size as shares of a hundred."""

    look: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Chart:
    """What is drawn. `label` says what it shows, for those who cannot see it; `levels` stand at the left, from the top
    down; `rows` are the same as a table: when, and a number for each series."""

    label: str
    bars: list[Bar]
    levels: tuple[str, ...]
    ticks: list[tuple[float, str]]
    names: list[str]
    rows: list[tuple[str, list[str]]]
    columns: int


def stacked(series: Sequence[tuple[str, str, Sequence[float]]], width: float, label: str, least: int = 12) -> Chart:
    """Columns of the series one above the other, from the bottom up: class name, words and values, one for each
    `width` seconds. `least`: columns at least."""
    used = max((i + 1 for *_, values in series for i, value in enumerate(values) if value), default=1)
    count = min(max(used, least), max(len(values) for *_, values in series))
    top = _round_up(max((sum(values[i] for *_, values in series) for i in range(count)), default=0.0))
    bars = []
    for i in range(count):
        below = 0.0
        for look, _, values in series:
            if values[i]:
                size = 100 * values[i] / top
                x, y = 100 * (i + 0.08) / count, 100 - below - size
                bars.append(Bar(look, round(x, 3), round(y, 3), round(84 / count, 3), round(size, 3)))
                below += size
    merged = math.ceil(used / MAX_TABLE_ROWS)
    rows = [
        (_after(i * width), [f"{sum(values[i : i + merged]):,.4g}" for *_, values in series])
        for i in range(0, used, merged)
    ]
    levels = (_short(top), _short(top / 2), "0")
    return Chart(label, bars, levels, time_ticks(count * width), [words for _, words, _ in series], rows, count)


def time_ticks(seconds: float, most: int = 7) -> list[tuple[float, str]]:
    """Ticks below an axis of so many seconds: share of the width from 0 to 1, and text; round steps, all in one
    unit."""
    size, unit = next((each for each in _UNITS if seconds >= 2 * each[0]), _UNITS[-1])
    length = seconds / size
    power = 10.0 ** math.floor(math.log10(length / most))
    step = next(power * times for times in (1, 2, 5, 10) if power * times * most >= length * 0.999)
    return [(i * step / length, f"{i * step:g} {unit}") for i in range(math.floor(length / step + 0.001) + 1)]


def _after(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes // 60)}:{int(minutes % 60):02}:{rest:05.2f}".removesuffix(".00")


def _round_up(value: float) -> float:
    """The next number that two grid lines divide well."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((power * step for step in (1, 2, 4, 6, 8, 10) if power * step >= value), power * 10)


def _short(value: float) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= size:
            return f"{value / (1e3 if unit == 'k' else size):g}{unit}"
    return f"{value:g}"
