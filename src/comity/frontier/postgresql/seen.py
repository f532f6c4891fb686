"""Which URLs a shard has met, in PostgreSQL: an index of 64 bits of each, keyed by the crawl (see frontier/seen.py)."""

import hashlib
from array import array
from typing import Any, Final

MOST_KNOWN: Final = 1 << 17
"""Fingerprints held in memory, to spare the database most of what was met before."""


class Fingerprints:
    """The set of one shard.

    Args:
        db: the connection that writes.
    """

    def __init__(self, db: Any, shard: int, key: bytes) -> None:
        self._db = db
        self._shard = shard
        self._key = key
        self._known: set[int] = set()

    def take_up(self, urls: list[str]) -> dict[int, int]:
        """Add those not met before, in the transaction that is open: each with the index of the first URL that has it,
        in order."""
        first: dict[int, int] = {}
        if not urls:
            return first
        key, known, blake2b = self._key, self._known, hashlib.blake2b
        digests = b"".join(
            [blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest() for url in urls]
        )
        for index, fingerprint in enumerate(array("q", digests)):
            if fingerprint not in known:
                first.setdefault(fingerprint, index)
        if not first:
            return first
        rows = self._db.execute(
            f"INSERT INTO seen_{self._shard} SELECT unnest(%s::bigint[]), {self._shard} ON CONFLICT DO NOTHING "
            "RETURNING fingerprint",
            (sorted(first),),
        ).fetchall()
        if len(rows) == len(first):
            return first
        new = {fingerprint for (fingerprint,) in rows}
        return {fingerprint: index for fingerprint, index in first.items() if fingerprint in new}

    def committed(self, fingerprints: list[int]) -> None:
        """These were added, and that is durable."""
        if len(self._known) + len(fingerprints) > MOST_KNOWN:
            self._known.clear()
        self._known.update(fingerprints)

    def forget(self) -> None:
        """Hold nothing in memory: the set is another one now."""
        self._known.clear()
