"""How answers and pages are shown to people: one line, and a table where a notebook shows them."""

from collections.abc import Iterable
from typing import ClassVar

from comity_robots.errors import truncate

MAX_TEXT_CHARACTERS = 100  # of a text from a site


class ReprMixin:
    """What `repr` gives in one line, and a notebook as a table."""

    __slots__ = ()
    _asked: ClassVar[str | None] = None  # the field that is the answer, of one that is yes or no

    def _line(self) -> str:
        raise NotImplementedError

    def _rows(self) -> Iterable[tuple[str, object]]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._line()}>"

    def __bool__(self) -> bool:
        """Raise TypeError for an answer that is yes or no: it would be taken for that, and be true for both."""
        if (asked := self._asked) is not None:
            raise TypeError(f"whether a {type(self).__name__} is true is not defined: ask .{asked}, or `is not None`")
        return True

    def _repr_html_(self) -> str:
        return table(self._rows())


def table(rows: Iterable[tuple[str, object]]) -> str:
    """Names and values as HTML, without those that are None or empty; all text is escaped."""
    from html import escape  # late: few ask for a table, and it brings all names of characters

    cells = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(str(value))}</td></tr>'
        for name, value in rows
        if value not in (None, "", ())
    )
    return f"<table>{cells}</table>"


def short(text: str, max_characters: int = MAX_TEXT_CHARACTERS) -> str:
    """A text from a site in one line of at most so many characters."""
    text = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return text if len(text) <= max_characters else truncate(text, max_characters - 3, "...")
