"""What the command prints: words of sites, of files and of URLs may not steer the terminal that shows them.

Every line for people goes through here; JSON escapes such characters by itself.
"""

import io
import os
import sys
import unicodedata
from contextlib import suppress
from typing import Any, Final

import click

STDOUT: Final = "standard output"  # as the file of an error of it
INSTEAD: Final = "\N{REPLACEMENT CHARACTER}"
# Not printable by Python's measure, and yet harmless: joiners, which scripts need, and the soft hyphen.
_HARMLESS: Final = frozenset("\u200c\u200d\xad")


def safe(text: str, *, lines: bool = False) -> str:
    """A text without what a terminal obeys: control characters, what turns the direction of writing, invisible tags.

    Args:
        lines: it is several lines, whose ends and tabs stay.
    """
    if text.isprintable():
        return text
    return "".join(char if _is_shown(char) or (lines and char in "\n\t") else INSTEAD for char in text)


def _is_shown(char: str) -> bool:
    return char.isprintable() or char in _HARMLESS or unicodedata.category(char) == "Zs"


def say(text: str) -> None:
    """One line on standard output."""
    print(safe(text))


def tell(text: str) -> None:
    """One line on standard error."""
    print(safe(text), file=sys.stderr)


def complain(message: str) -> None:
    """One line on standard error that begins with the command's name."""
    click.echo(f"comity: {safe(' '.join(message.split()))}", err=True)


class _Stdout(io.FileIO):
    """Standard output, whose errors say that they are its own."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = STDOUT
            raise


def take_streams() -> None:
    """See that there are three standard streams, that standard output takes any text, whatever the locale, and that an
    error of it can be told from others.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:  # closed by who started us (`>&-`): what is opened next would take its number
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_RDWR), number)
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")
    old = sys.stdout
    raw = getattr(old.buffer, "raw", old.buffer) if isinstance(old, io.TextIOWrapper) else None
    if old is sys.__stdout__ and isinstance(old, io.TextIOWrapper) and isinstance(raw, io.FileIO):
        own: Any = _Stdout(raw.fileno(), "w", closefd=False)
        sys.stdout = io.TextIOWrapper(
            own if raw is old.buffer else io.BufferedWriter(own),  # unbuffered by `python -u`
            old.encoding,
            old.errors,
            line_buffering=old.line_buffering,
            write_through=old.write_through,
        )


def warned(message: Warning | str, *_: object, **__: object) -> None:
    """A warning as one line, for `warnings.showwarning`."""
    complain(str(message).removeprefix("comity: "))
