"""URLs that a crawl is given in a file: one a line."""

from pathlib import Path
from typing import Final

from comity import urls
from comity.cli import given
from comity.cli.given import named
from comity.errors import InvalidURL

MOST_NAMED: Final = 3  # wrong lines


def read(file: Path) -> list[str]:
    """The URLs of a file, or of standard input for `-`; empty lines, and those that begin with #, are skipped.

    Raises:
        InvalidURL: lines hold no URL; the first of them are named.
        InputError: the file cannot be read.
    """
    name, data = named(file), given.read(file)
    found, wrong = [], []
    for number, line in enumerate(data.decode("utf-8-sig", "replace").split("\n"), 1):
        url = line.strip()
        if not url or url.startswith("#"):
            continue
        try:
            found.append(urls.normalise(url))
        except InvalidURL as error:
            wrong.append(f"line {number}: {error}")
    if wrong:
        more = f"; and {len(wrong) - MOST_NAMED:,} more" if len(wrong) > MOST_NAMED else ""
        raise InvalidURL(f"{name}: {'; '.join(wrong[:MOST_NAMED])}{more}")
    return found
