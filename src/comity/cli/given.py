"""Files that a command is given to read, `-` for standard input."""

import re
import sys
from pathlib import Path
from typing import Final

from comity.errors import InputError

_URL: Final = re.compile(r"https?:/", re.IGNORECASE)


def read(file: Path) -> bytes:
    """The octets of a file.

    Raises:
        InputError: it cannot be read, or is a URL.
    """
    try:
        return sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        if _URL.match(str(file)):
            url = re.sub(r":/+", "://", str(file), count=1)
            raise InputError(
                f"{url} is a URL, and this reads files", hint=f"curl -s {url} gives one to standard input, which is '-'"
            ) from None
        raise InputError(f"{named(file)} cannot be read: {error.strerror}") from error


def named(file: Path) -> str:
    """What a file is called in a sentence."""
    return "standard input" if str(file) == "-" else str(file)
