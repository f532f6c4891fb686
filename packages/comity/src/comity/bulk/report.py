"""An audit as one HTML page: who is refused, by how many hosts, for what reasons. Plots are inline SVG."""

from __future__ import annotations

from html import escape
from typing import Final

WIDTH: Final = 860
BAR: Final = 22
COLOURS: Final = ("#b3362b", "#e8a33d", "#3f7f5f")


def bars(title: str, rows: list[tuple[str, list[float]]], legend: list[str]) -> str:
    """Horizontal bars of shares (0 to 1), stacked: a label and one share a colour."""
    height = 60 + BAR * len(rows)
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">',
        f'<text x="0" y="20" font-size="17" font-weight="600">{escape(title)}</text>',
    ]
    for number, name in enumerate(legend):
        x = 200 + 190 * number
        parts.append(f'<rect x="{x}" y="30" width="12" height="12" fill="{COLOURS[number % 3]}"/>')
        parts.append(f'<text x="{x + 18}" y="41" font-size="13">{escape(name)}</text>')
    parts.append(f'<text x="{WIDTH}" y="41" font-size="13" text-anchor="end">{escape(legend[0])}</text>')
    for place, (label, shares) in enumerate(rows):
        y = 54 + BAR * place
        at = 200.0
        parts.append(f'<text x="192" y="{y + 14}" font-size="13" text-anchor="end">{escape(label)}</text>')
        for number, share in enumerate(shares):
            width = share * (WIDTH - 260)
            parts.append(f'<rect x="{at:.1f}" y="{y}" width="{width:.1f}" height="17" fill="{COLOURS[number % 3]}"/>')
            at += width
        parts.append(f'<text x="{WIDTH - 52}" y="{y + 14}" font-size="13">{shares[0]:.1%}</text>')
    return "\n".join([*parts, "</svg>"])


def page(title: str, plots: list[str], tables: list[tuple[str, list[str]]]) -> str:
    """The page."""
    shown = "\n".join(f"<figure>{plot}</figure>" for plot in plots)
    told = "\n".join(f"<h2>{escape(name)}</h2><pre>{escape(chr(10).join(lines))}</pre>" for name, lines in tables)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:900px;margin:2em auto;padding:0 1em;color:#222}"
        "figure{margin:2em 0}svg{width:100%;font-family:inherit}pre{overflow-x:auto}</style>"
        f"<h1>{escape(title)}</h1>{shown}{told}</html>\n"
    )
