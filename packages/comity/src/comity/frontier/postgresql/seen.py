"""The seen set of a shard in PostgreSQL: an index of 64 bits of each URL, keyed by the crawl (as in sqlite/seen.py)."""

import hashlib
from array import array
from typing import Any, Final

PLACES: Final = 1 << 17  # fingerprints held in memory, to spare the database most of what was met before: a megabyte


class Fingerprints:
    """The set of one shard; `db` is the connection that writes."""

    def __init__(self, db: Any, shard: int, key: bytes) -> None:
        self._db = db
        self._shard = shard
        self._key = key
        self.forget()

    def add_unseen(self, urls: list[str]) -> dict[int, int]:
        """Add those not met before, in the transaction that is open: each with the index of the first URL that has it,
        in order."""
        first: dict[int, int] = {}
        if not urls:
            return first
        key, known, last, blake2b = self._key, self._known, PLACES - 1, hashlib.blake2b
        digests = b"".join(
            [blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest() for url in urls]
        )
        for index, fingerprint in enumerate(array("q", digests)):
            if known[fingerprint & last] != fingerprint:
                first.setdefault(fingerprint, index)
        if not first:
            return first
        rows = self._db.execute(
            f"INSERT INTO seen_{self._shard} SELECT unnest(%s::bigint[]), {self._shard} ON CONFLICT DO NOTHING "
            "RETURNING fingerprint",
            (sorted(first),),
        ).fetchall()
        if len(rows) < len(first):
            new = {fingerprint for (fingerprint,) in rows}
            first = {fingerprint: index for fingerprint, index in first.items() if fingerprint in new}
        self._added.extend(first)
        return first

    def committed(self) -> None:
        """What was added is durable."""
        for fingerprint in self._added:
            self._known[fingerprint & PLACES - 1] = fingerprint
        self._added.clear()

    def forget(self) -> None:
        """Hold nothing in memory: the set is another one now."""
        # Each fingerprint has one place, from which the next one of that place drives it out. An empty place holds what
        # belongs to another: 0, and the first one 1.
        self._known = array("q", bytes(8 * PLACES))
        self._known[0] = 1
        self._added: list[int] = []  # since the last commit
