"""What the command prints: words of sites, of files and of URLs may not steer the terminal that shows them.

Every line for people goes through here; JSON escapes such characters by itself.
"""

import io
import os
import sys
import unicodedata
from contextlib import suppress
from typing import Final

import click

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


def take_streams() -> None:
    """See that there are three standard streams, and that standard output takes any text, whatever the locale."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:  # closed by who started us (`>&-`): what is opened next would take its number
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_RDWR), number)
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def warned(message: Warning | str, *_: object, **__: object) -> None:
    """A warning as one line, for `warnings.showwarning`."""
    complain(str(message).removeprefix("comity: "))
