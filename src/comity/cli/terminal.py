"""What the command prints: words of sites, of files and of URLs may not steer the terminal that shows them.

Every line for people goes through here; JSON escapes such characters by itself.
"""

import sys
import unicodedata
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
