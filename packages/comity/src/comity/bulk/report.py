"""An audit as one HTML page, in the look of a crawl's report: who is refused by how many sites, and what sites state
about training, search and answers by AI."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from comity.templates import render

_LOOKS: Final = ("k5xx", "k4xx", "k2xx")


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table of the page. `rows`: what a row is about, its cells, and shares (0 to 1) of its bar; `keys`: what the
    colours of bars say."""

    id: str
    heading: str
    head: Sequence[str]
    rows: Sequence[tuple[str, Sequence[str], Sequence[float]]]
    keys: Sequence[str] = ()
    note: str = ""


def share(count: int, of: int) -> str:
    """A count and its share."""
    return f"{count:,} ({count / max(of, 1):.1%})"


def page(title: str, verdict: str, lead: str, tiles: Sequence[tuple[str, str]], tables: Iterable[ReportTable]) -> str:
    """The page."""
    drawn = [
        (each, [(words, cells, _bar(shares)) for words, cells, shares in each.rows]) for each in tables if each.rows
    ]
    keys = {each.id: list(zip(_LOOKS, each.keys, strict=False)) for each, _ in drawn}
    shown = {"title": f"comity: {title}", "name": title, "verdict": verdict, "lead": lead, "tiles": tiles}
    return render("bulk/report.html", live=False, tables=drawn, keys=keys, **shown) + "\n"


def _bar(shares: Sequence[float]) -> list[tuple[str, float, float]]:
    """The parts of a bar: class name, position and width as shares of a hundred."""
    parts, at = [], 0.0
    for look, size in zip(_LOOKS, shares, strict=False):
        parts.append((look, round(100 * at, 2), round(100 * size, 2)))
        at += size
    return parts
