"""What the shards of a folder have sent each other, read from their databases (see frontier/messages.py)."""

import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from comity.frontier.messages import AT_ONCE, TAKEN, Parcel, numbers
from comity.frontier.sqlite.database import explained, open_for_reading

_PARCELS: Final = "SELECT id, shard, messages FROM parcel WHERE id > ? AND shard = ? ORDER BY id LIMIT ?"


class Neighbours:
    """The shards of a folder, as far as their parcels go: see Post.

    Args:
        path_of: the database of a shard.
    """

    def __init__(self, path_of: Callable[[int], Path]) -> None:
        self._path_of = path_of
        self._open: dict[int, sqlite3.Connection] = {}

    async def parcels(self, receiver: int, after: Mapping[int, int]) -> list[tuple[int, Parcel]]:
        found = []
        for sender, last in after.items():
            with explained(path := self._path_of(sender)):
                if sender not in self._open:
                    self._open[sender] = open_for_reading(path)
                rows = self._open[sender].execute(_PARCELS, (last, receiver, AT_ONCE)).fetchall()
            found += [(sender, Parcel(*row)) for row in rows]
        return found

    def close(self) -> None:
        for db in self._open.values():
            db.close()


def pending(paths: Mapping[int, Path]) -> dict[int, int]:
    """How many messages each shard has sent that have not been taken.

    Args:
        paths: by shard, its database.

    Raises:
        StorageError: one cannot be read.
    """
    taken: dict[int, dict[int, int]] = {}  # by receiver
    for receiver, path in paths.items():
        with explained(path), closing(open_for_reading(path)) as db:
            row = db.execute("SELECT value FROM fact WHERE key = ?", (TAKEN,)).fetchone()
        taken[receiver] = numbers(json.loads(row[0]) if row else None)
    found = {}
    for sender, path in paths.items():
        with explained(path), closing(open_for_reading(path)) as db:
            rows = db.execute("SELECT id, shard, json_array_length(messages) FROM parcel").fetchall()
        found[sender] = sum(count for number, shard, count in rows if number > taken.get(shard, {}).get(sender, 0))
    return found
