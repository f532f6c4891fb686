"""Reads the files named on the command line (`-` is standard input), and lists of URLs in them."""

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from comity.errors import InputError, InvalidSetting, InvalidURL
from comity.url_lists import is_packed_or_markup, pages_in_sitemap
from comity_pages import urls

MAX_WRONG_LINES_SHOWN: Final = 3  # wrong lines of a list
_URL: Final = re.compile(r"https?:/", re.IGNORECASE)
_SITE: Final = re.compile(r"(?:[a-z0-9_-]{1,63}\.){1,20}[a-z][a-z0-9-]{1,62}(?::\d{1,5})?(?:[/?]|\Z)", re.IGNORECASE)


def check_stdin_once(files: Sequence[Path]) -> None:
    """Raise InvalidSetting if two files are both standard input."""
    if [str(file) for file in files].count("-") > 1:
        raise InvalidSetting("standard input ('-') can be read only once", hint="name the other file")


def read(file: Path) -> bytes:
    """Read a file's bytes. Raises InputError if it cannot be read, or is a URL."""
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
    """Read a token from a file; None if no file is given."""
    return None if file is None else read(file).decode("utf-8", "replace").strip()


def named(file: Path) -> str:
    """Return the name of a file for messages."""
    return "standard input" if str(file) == "-" else str(file)


def lines_in(file: Path) -> dict[int, str]:
    """Return the lines of a file by number, without blank lines and lines that begin with #; of a sitemap, the URLs of
    its pages."""
    body = read(file)
    if is_packed_or_markup(body, named(file)):
        return dict(enumerate(pages_in_sitemap(body, named(file)), 1))
    lines = enumerate(body.decode("utf-8-sig", "replace").split("\n"), 1)
    return {number: text for number, line in lines if (text := line.strip()) and not text.startswith("#")}


def urls_in(file: Path) -> list[str]:
    """Read a file with one URL a line. InvalidURL names the first lines that hold none."""
    found, wrong = [], []
    for number, url in lines_in(file).items():
        try:
            found.append(urls.normalise(url))
        except InvalidURL as error:
            wrong.append(f"line {number}: {error}")
    if wrong:
        more = f"; and {len(wrong) - MAX_WRONG_LINES_SHOWN:,} more" if len(wrong) > MAX_WRONG_LINES_SHOWN else ""
        raise InvalidURL(f"{named(file)}: {'; '.join(wrong[:MAX_WRONG_LINES_SHOWN])}{more}")
    return found


def site_url(target: str) -> str | None:
    """Return the URL that an address without scheme stands for, `example.com/a` for instance; None where it is none, or
    names a file that is there. Its last label must be a public suffix, so that no file that is not there is one."""
    if _SITE.match(target) is None or is_file(target) or is_folder(target):
        return None
    from comity.domains import has_public_suffix

    url = f"https://{target}"
    return url if has_public_suffix(urls.host(url)) else None


def is_folder(target: str) -> bool:
    """Whether an argument, which may also be a URL, names a folder."""
    return _is(target, Path.is_dir)


def is_file(target: str) -> bool:
    """Whether an argument, which may also be a URL, names a file."""
    return _is(target, Path.is_file)


def _is(target: str, kind: Callable[[Path], bool]) -> bool:
    try:
        return bool(target) and "://" not in target and kind(Path(target))
    except OSError:  # it is too long for a name, say
        return False
