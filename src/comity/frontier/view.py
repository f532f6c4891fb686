"""What is in a frontier, for those who look on: read-only, beside the crawl that writes it or when that is over."""

import json
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from comity.errors import InputError
from comity.frontier import reading
from comity.frontier.database import explained, open_for_reading
from comity.frontier.values import Entry, State


@dataclass(frozen=True, slots=True)
class HostCounts:
    """How many URLs of a host wait, and what became of the others."""

    host: str
    waiting: int
    done: int
    refused: int
    failed: int


_COLUMNS = "name, unasked + queued, done, refused, failed"


def has_begun(path: Path) -> bool:
    """Whether there is a crawl in a frontier: not where it ended before it was written down what to start from.

    Raises:
        StorageError: it cannot be read.
    """
    if not path.exists():
        return False
    with explained(path), closing(open_for_reading(path)) as db:
        made = db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'run'").fetchone()
        return made is not None and db.execute("SELECT 1 FROM run WHERE key = 'seeds'").fetchone() is not None


class View:
    """The frontier of a crawl folder as it was committed last when the view was opened.

    Raises:
        StorageError: there is none, or it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        if not path.exists():
            raise InputError(f"{path.parent} holds no crawl", hint="name the folder given to comity crawl -o")
        with explained(path):
            self._db = open_for_reading(path)
            try:
                self._db.execute("BEGIN")
                self.counts()  # the first question settles which instant all answers are of
            except BaseException:
                self._db.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with explained(self._path), closing(self._db):
            self._db.execute("ROLLBACK")

    def counts(self) -> dict[State, int]:
        """How many URLs are in each state."""
        with explained(self._path):
            return reading.counts(self._db)

    def busiest(self, most: int) -> list[HostCounts]:
        """The hosts with most URLs waiting; those with none come last."""
        with explained(self._path):
            rows = self._db.execute(
                f"SELECT {_COLUMNS} FROM host ORDER BY unasked + queued DESC, id LIMIT ?", (most,)
            ).fetchall()
        return [HostCounts(*row) for row in rows]

    def host(self, name: str) -> HostCounts | None:
        """One host, or None where the crawl has not met it."""
        with explained(self._path):
            row = self._db.execute(f"SELECT {_COLUMNS} FROM host WHERE name = ?", (name,)).fetchone()
        return HostCounts(*row) if row else None

    def recall(self, key: str) -> Any:
        """A fact that the crawl remembers, or None."""
        with explained(self._path):
            row = self._db.execute("SELECT value FROM run WHERE key = ?", (key,)).fetchone()
        return json.loads(row[0]) if row else None

    def waiting(self, host: str, most: int) -> list[Entry]:
        """The next URLs of a host, in the order they have their turn."""
        with explained(self._path):
            return reading.waiting(self._db, host, most)
