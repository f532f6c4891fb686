"""Renders our own HTML pages: one look, and every value escaped, whatever a site or a file says. Templates and style
sheets lie in the package; a page holds all it needs and asks nothing of any server."""

import time
from functools import cache
from pathlib import Path
from typing import Any

from minijinja import Environment

from comity.times import format_duration

MAX_SHOWN_CHARACTERS = 500


def render(template: str, **values: Any) -> str:
    """A template of the package, by its path in it, filled in."""
    return _environment().render_template(template, **values)


@cache
def _environment() -> Environment:
    root = Path(__file__).parent
    return Environment(
        loader=lambda name: (root / name).read_text("utf-8"),
        filters={
            "count": lambda number: f"{number:,.0f}",
            "date": date,
            "duration": format_duration,
            "labels": lambda host: host.split("."),
            "short": lambda number: f"{number:,.3g}" if number < 1000 else f"{number:,.0f}",
        },
        auto_escape_callback=lambda _: True,
        finalizer=_printable,
        undefined_behavior="strict",
    )


def date(at: float | None) -> str:
    """A Unix time for people, by ISO 8601 but for the blank."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at)) if at is not None else "?"
    except (ValueError, OverflowError, OSError):
        return "?"


def _printable(value: Any) -> Any:
    """What is put into the page: text without characters that are invisible or turn the direction of writing, cut to
    a length that can be read. The template escapes it; what the template has made itself stays as it is.
    """
    if value is None or hasattr(value, "__html__"):
        return NotImplemented
    text = str(value)[:MAX_SHOWN_CHARACTERS]
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
