"""Files that a command is given to read, `-` for standard input; also lists of URLs in them."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from comity.errors import InputError, InvalidSetting, InvalidURL
from comity_pages import urls

MOST_NAMED: Final = 3  # wrong lines of a list
_URL: Final = re.compile(r"https?:/", re.IGNORECASE)


def check_once(files: Sequence[Path]) -> None:
    """See that standard input is not to be read twice; else an InvalidSetting."""
    if [str(file) for file in files].count("-") > 1:
        raise InvalidSetting("standard input ('-') can be read only once", hint="name the other file")


def read(file: Path) -> bytes:
    """The octets of a file; an InputError says that it cannot be read, or is a URL."""
    try:
        return sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        if _URL.match(str(file)):
            url = re.sub(r":/+", "://", str(file), count=1)
            raise InputError(
                f"{url} is a URL, and this reads files", hint=f"curl -s {url} gives one to standard input, which is '-'"
            ) from None
        raise InputError(f"{named(file)} cannot be read: {error.strerror}") from error


def token_in(file: Path | None) -> str | None:
    """The token in a file; None without one."""
    return None if file is None else read(file).decode("utf-8", "replace").strip()


def named(file: Path) -> str:
    """What a file is called in a sentence."""
    return "standard input" if str(file) == "-" else str(file)


def lines_in(file: Path) -> dict[int, str]:
    """The lines of a file, or of standard input for `-`, by number, without empty ones and those that begin with #."""
    lines = enumerate(read(file).decode("utf-8-sig", "replace").split("\n"), 1)
    return {number: text for number, line in lines if (text := line.strip()) and not text.startswith("#")}


def urls_in(file: Path) -> list[str]:
    """The URLs of a file, one on each of `lines_in`; InvalidURL names the first lines that hold none."""
    found, wrong = [], []
    for number, url in lines_in(file).items():
        try:
            found.append(urls.normalise(url))
        except InvalidURL as error:
            wrong.append(f"line {number}: {error}")
    if wrong:
        more = f"; and {len(wrong) - MOST_NAMED:,} more" if len(wrong) > MOST_NAMED else ""
        raise InvalidURL(f"{named(file)}: {'; '.join(wrong[:MOST_NAMED])}{more}")
    return found


def is_folder(target: str) -> bool:
    """Whether a word of the command line names a folder, where a URL may stand too."""
    try:
        return bool(target) and "://" not in target and Path(target).is_dir()
    except OSError:  # it is too long for a name, say
        return False
