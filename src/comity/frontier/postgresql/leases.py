"""Who has which shard of a crawl in PostgreSQL: for how long, and how everybody comes to know that it is over.

A lease is a row that says who has a shard until when, by the database's clock. Each new lease of a shard has a higher
token (a fencing token): a commit is kept only where its token is still the shard's, and a new lease waits for a commit
that is under way. A holder counts the time by a clock of its own, which nobody sets and which goes on while the machine
sleeps, from before the moment it asked: so its lease ends for itself before it ends for others, whatever the clocks
of the two machines say.
"""

import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any, Final

from comity._extras import need
from comity.errors import StorageError
from comity.frontier.postgresql.database import USE, Address, connect, cutting_off, explained

MARGIN: Final = 0.85  # of a lease, for which its holder acts on it: clocks run fast or slow, and sending takes time
RENEWALS: Final = 5  # in the time of a lease
LONGEST_PAUSE: Final = 1.0  # seconds between two tries to reach the database
_WAIT: Final = 2000  # milliseconds that a new lease waits for a commit under the old one; then it is tried again


def now() -> float:
    """Seconds of a clock that nobody sets and that goes on while the machine sleeps, where there is one."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class Leases:
    """The leases of one holder.

    Attributes:
        tokens: of the shards that it has, as far as it knows.
        seconds: how long a lease is.

    Args:
        holder: a name that no other has.
    """

    def __init__(self, where: Address, holder: str, seconds: float) -> None:
        self._where = where
        self.holder = holder
        self.seconds = seconds
        self.tokens: dict[int, int] = {}
        self._until: dict[int, float] = {}

    def holds(self, shard: int, token: int) -> bool:
        """Whether a shard is surely ours now, by this token: asked before every request."""
        return self.tokens.get(shard) == token and self._until.get(shard, 0.0) > now()

    def take(self, db: Any, shard: int) -> int | None:
        """Have a shard that nobody has; gives the token, or None where somebody has it or is in a commit."""
        psycopg = need("psycopg", "postgresql", USE)
        with explained(self._where):
            try:
                with db.transaction():
                    db.execute(f"SET LOCAL lock_timeout = {_WAIT}")
                    row = db.execute(
                        "SELECT 1 FROM shard WHERE number = %s AND (holder IS NULL OR expires < clock_timestamp() "
                        "OR holder = %s) FOR UPDATE SKIP LOCKED",
                        (shard, self.holder),
                    ).fetchone()
                    if row is None:
                        return None
                    (token,) = db.execute(
                        "UPDATE fence SET token = token + 1 WHERE shard = %s RETURNING token", (shard,)
                    ).fetchone()
                    asked = now()
                    db.execute(
                        "UPDATE shard SET token = %s, holder = %s, state = 'starting', "
                        "expires = clock_timestamp() + make_interval(secs => %s) WHERE number = %s",
                        (token, self.holder, self.seconds, shard),
                    )
            except psycopg.errors.LockNotAvailable:
                return None
        self.tokens[shard] = token
        self._until[shard] = asked + MARGIN * self.seconds
        return int(token)

    def renew(self, db: Any) -> None:
        """Have all shards for longer; those that are somebody else's by now are forgotten."""
        held = dict(self.tokens)
        if not held:
            return
        asked = now()
        with explained(self._where):
            rows = db.execute(
                "UPDATE shard SET expires = clock_timestamp() + make_interval(secs => %s) "
                "FROM unnest(%s::int[], %s::bigint[]) AS mine (number, token) "
                "WHERE shard.number = mine.number AND shard.token = mine.token AND holder = %s "
                "RETURNING shard.number",
                (self.seconds, list(held), list(held.values()), self.holder),
            ).fetchall()
        kept = {number for (number,) in rows}
        for shard, token in held.items():
            if self.tokens.get(shard) != token:
                continue
            if shard in kept:
                self._until[shard] = asked + MARGIN * self.seconds
            else:
                self.forget(shard)

    def forget(self, shard: int) -> None:
        """Hold a shard no more, whether or not anybody is told."""
        self.tokens.pop(shard, None)
        self._until.pop(shard, None)

    def release(self, db: Any, shards: Collection[int], state: str | None = None) -> None:
        """Let shards go, with nothing under way in them, so that another may have them at once."""
        held = {shard: self.tokens[shard] for shard in shards if shard in self.tokens}
        for shard in held:
            self.forget(shard)
        with explained(self._where):
            db.execute(
                "UPDATE shard SET holder = NULL, expires = NULL, state = coalesce(%s, state) "
                "FROM unnest(%s::int[], %s::bigint[]) AS mine (number, token) "
                "WHERE shard.number = mine.number AND shard.token = mine.token AND holder = %s",
                (state, list(held), list(held.values()), self.holder),
            )


class LeaseKeeper(threading.Thread):
    """Renews leases in a thread and over a connection of its own, so that no work and no disk holds it up.

    Args:
        ended: called in this thread with shard and token where a lease is over; it may be called more than once.
    """

    def __init__(self, leases: Leases, where: Address, ended: Callable[[int, int], None]) -> None:
        super().__init__(name="comity-leases", daemon=True)
        self._leases = leases
        self._where = where
        self._ended = ended
        self._over = threading.Event()
        self._db: Any = None

    def close(self) -> None:
        """End the thread. What is held stays so until it is let go or its time is over."""
        self._over.set()
        self.join()

    def run(self) -> None:
        pause = 0.0
        while not self._over.wait(pause):
            held = dict(self._leases.tokens)
            try:
                if self._db is None:
                    self._db = connect(self._where)
                with cutting_off(self._leases.seconds / RENEWALS, self._db):
                    self._leases.renew(self._db)
                pause = self._leases.seconds / RENEWALS / 2
            except StorageError:
                self._drop()
                pause = min(LONGEST_PAUSE, self._leases.seconds / RENEWALS / 2)
            for shard, token in held.items():
                if not self._leases.holds(shard, token):
                    self._ended(shard, token)
        self._drop()

    def _drop(self) -> None:
        if self._db is not None:
            with suppress(Exception):
                self._db.close()
            self._db = None
