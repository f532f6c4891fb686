"""Who has which shard of a crawl in PostgreSQL: for how long, and how everybody comes to know that it is over.

A lease is a row that says who has a shard until when, by the database's clock. Each new lease of a shard has a higher
token (a fencing token): a commit is kept only where its token is still the shard's, and a new lease waits for a commit
that is under way. A holder counts the time by a clock of its own, which nobody sets and which goes on while the machine
sleeps, from before the moment it asked: so its lease ends for itself before it ends for others, whatever the clocks
of the two machines say.
"""

import time
from collections.abc import Collection, Mapping
from typing import Any, Final

from comity._extras import need
from comity.frontier.postgresql.database import USE, Address, explained

MARGIN: Final = 0.85  # of a lease, for which its holder acts on it: clocks run fast or slow, and sending takes time
_WAIT: Final = 2000  # milliseconds that a new lease waits for a commit under the old one; then it is tried again


def now() -> float:
    """Seconds of a clock that nobody sets and that goes on while the machine sleeps, where there is one."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class Leases:
    """The leases of one holder. Its methods block, and may be called from one thread at a time.

    Attributes:
        tokens: of the shards that it has, as far as it knows.
        seconds: how long a lease is.

    Args:
        db: a connection of its own, in autocommit.
        holder: a name that no other has.
    """

    def __init__(self, db: Any, where: Address, holder: str) -> None:
        self._db = db
        self._where = where
        self.holder = holder
        self.tokens: dict[int, int] = {}
        self._until: dict[int, float] = {}
        with explained(where):
            self.seconds: float = db.execute("SELECT lease FROM crawl").fetchone()[0]
            db.execute(f"SET lock_timeout = {_WAIT}")

    def holds(self, shard: int) -> bool:
        """Whether a shard is surely ours now: asked before every request."""
        return self._until.get(shard, 0.0) > now()

    def free(self) -> list[int]:
        """The shards that nobody has."""
        with explained(self._where):
            rows = self._db.execute(
                "SELECT number FROM shard WHERE holder IS NULL OR expires < clock_timestamp() ORDER BY number"
            ).fetchall()
        return [number for (number,) in rows]

    def take(self, shard: int) -> int | None:
        """Have a shard that nobody has; gives the token, or None where somebody has it or is in a commit."""
        psycopg = need("psycopg", "postgresql", USE)
        with explained(self._where):
            try:
                with self._db.transaction():
                    row = self._db.execute(
                        "SELECT 1 FROM shard WHERE number = %s AND (holder IS NULL OR expires < clock_timestamp() "
                        "OR holder = %s) FOR UPDATE SKIP LOCKED",
                        (shard, self.holder),
                    ).fetchone()
                    if row is None:
                        return None
                    (token,) = self._db.execute(
                        "UPDATE fence SET token = token + 1 WHERE shard = %s RETURNING token", (shard,)
                    ).fetchone()
                    asked = now()
                    self._db.execute(
                        "UPDATE shard SET token = %s, holder = %s, "
                        "expires = clock_timestamp() + make_interval(secs => %s) WHERE number = %s",
                        (token, self.holder, self.seconds, shard),
                    )
            except psycopg.errors.LockNotAvailable:
                return None
        self.tokens[shard] = token
        self._until[shard] = asked + MARGIN * self.seconds
        return int(token)

    def renew(self, stands: Mapping[int, str | None]) -> list[int]:
        """Have shards for longer; gives those that are somebody else's by now.

        Args:
            stands: the shards, and what is to be kept of how each stands; None for what is kept already.
        """
        if not stands:
            return []
        asked = now()
        tokens = [self.tokens[shard] for shard in stands]
        with explained(self._where):
            rows = self._db.execute(
                "UPDATE shard SET expires = clock_timestamp() + make_interval(secs => %s), "
                "stands = coalesce(new.stands, shard.stands) "
                "FROM unnest(%s::int[], %s::bigint[], %s::text[]) AS new (number, token, stands) "
                "WHERE shard.number = new.number AND shard.token = new.token AND holder = %s RETURNING shard.number",
                (self.seconds, list(stands), tokens, list(stands.values()), self.holder),
            ).fetchall()
        kept = {number for (number,) in rows}
        for shard in kept:
            self._until[shard] = asked + MARGIN * self.seconds
        lost = [shard for shard in stands if shard not in kept]
        for shard in lost:
            self.forget(shard)
        return lost

    def forget(self, shard: int) -> None:
        """Hold a shard no more, whether or not anybody is told."""
        self.tokens.pop(shard, None)
        self._until.pop(shard, None)

    def release(self, shards: Collection[int], stands: Mapping[int, str] | None = None) -> None:
        """Let shards go, with nothing under way in them, so that another may have them at once."""
        held = {shard: self.tokens[shard] for shard in shards if shard in self.tokens}
        for shard in held:
            self.forget(shard)
        words = [None if stands is None else stands.get(shard) for shard in held]
        with explained(self._where):
            self._db.execute(
                "UPDATE shard SET holder = NULL, expires = NULL, stands = coalesce(new.stands, shard.stands) "
                "FROM unnest(%s::int[], %s::bigint[], %s::text[]) AS new (number, token, stands) "
                "WHERE shard.number = new.number AND shard.token = new.token AND holder = %s",
                (list(held), list(held.values()), words, self.holder),
            )
