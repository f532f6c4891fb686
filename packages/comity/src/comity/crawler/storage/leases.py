"""Who has which shard of a crawl in PostgreSQL: for how long, and how everybody comes to know that it is over.

A lease is a row that says who has a shard, and how often that was renewed. No wall clock decides when it is over: for
others, once they have seen the renewal unchanged for a whole lease, by a clock of their own that nobody sets; for its
holder, by such a clock too, 85 % of a lease after it last asked for a renewal. So it ends for the holder before it ends
for others, whatever the clocks of the machines and of the database say.

Each new lease of a shard has a token (a fencing token) of two parts: a number that grows, and a random nonce, so that
a database that has lost its last commits, or holds another crawl by now, hands none out twice. A commit is kept only
where its token is still the shard's, and a new lease waits for a commit that is under way. What belongs to a lease, its
part of the output too, is there with the token or not at all.
"""

import threading
import time
from collections.abc import Callable, Collection, Hashable, Mapping
from contextlib import suppress
from typing import Any, Final

from comity.crawler.storage.tables import SERVER
from comity.errors import StorageError
from comity.frontier.postgresql.database import USE, Address, connect, cutting_off, translate_errors
from comity.frontier.values import Run, Superseded
from comity_pages._extras import need

LEASE_MARGIN: Final = 0.85  # of a lease, for which its holder acts: clocks run fast or slow, sending takes time
RENEWALS_PER_LEASE: Final = 5  # in the time of a lease
MAX_RETRY_SECONDS: Final = 1.0  # seconds between two tries to reach the database
_LOCK_WAIT_MILLISECONDS: Final = 2000  # for a commit under the old lease; then it is tried again
_NONCE_BITS: Final = 40  # random bits of a token
NEXT_TOKEN: Final = (
    f"((((token >> {_NONCE_BITS}) + 1) << {_NONCE_BITS}) | floor(random() * {1 << _NONCE_BITS})::bigint)"
)
"""The token of a new lease, as SQL over the row of the one before."""
UNKNOWN_HOLDER: Final = "nobody that is known"
"""Placeholder holder for shards that were free when the server restarted: it may have lost whose they were."""


def now() -> float:
    """Seconds of a clock that nobody sets and that goes on while the machine sleeps, where there is one."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


def number_of(token: int) -> tuple[int, int]:
    """The two parts of a token: the number that grows, and the nonce."""
    return token >> _NONCE_BITS, token & (1 << _NONCE_BITS) - 1


class StaleCounters:
    """Which of some counters were seen unchanged for a whole lease of so many seconds, by our own clock."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._seen: dict[Hashable, tuple[Hashable, float]] = {}  # and since when

    def unchanged(self, counters: Mapping[Any, Hashable], asked: float) -> set[Any]:
        """The keys of those that stand still. `counters`: all that there are, as they are now; those that are missing
        are forgotten. `asked`: when they were asked for, by `now`."""
        at, before = now(), self._seen
        self._seen = {
            key: before[key] if key in before and before[key][0] == value else (value, at)
            for key, value in counters.items()
        }
        return {key for key, (_, since) in self._seen.items() if asked - since >= self.seconds}


class Leases:
    """The leases of one holder, by a name that no other has, in a run. `tokens`: of the shards that it has, as far as
    it knows. `part` gives folder and name of the part of the output that begins with a lease, by shard and token."""

    def __init__(
        self,
        where: Address,
        holder: str,
        seconds: float,
        *,
        run: Run | None = None,
        part: Callable[[int, int], tuple[str, str]] | None = None,
    ) -> None:
        self._where = where
        self._run = run
        self._part = part
        self.holder = holder
        self.seconds = seconds
        self.tokens: dict[int, int] = {}
        self._until: dict[int, float] = {}

    def holds(self, shard: int, token: int) -> bool:
        """Whether a shard is surely ours now, by this token: asked before every request."""
        return self.tokens.get(shard) == token and self._until.get(shard, 0.0) > now()

    def take(self, db: Any, shard: int, over: tuple[int, int] | None = None) -> int | None:
        """Have a shard that nobody has; gives the token, or None where somebody has it or is in a commit. `over`: token
        and renewal that were seen to stand still: that lease is over. Superseded: our run is not the crawl's any more.
        """
        psycopg = need("psycopg", "postgresql", USE)
        with translate_errors(self._where):
            try:
                with db.transaction():
                    db.execute(f"SET LOCAL lock_timeout = {_LOCK_WAIT_MILLISECONDS}")
                    if not self._can_take(db):
                        return None
                    row = db.execute(
                        "SELECT 1 FROM shard WHERE number = %s AND (holder IS NULL OR holder = %s "
                        "OR (token, renewal) = (%s, %s)) FOR UPDATE SKIP LOCKED",
                        (shard, self.holder, *(over or (None, None))),
                    ).fetchone()
                    if row is None:
                        return None
                    (token,) = db.execute(
                        f"UPDATE fence SET token = {NEXT_TOKEN}, commits = 0 WHERE shard = %s RETURNING token", (shard,)
                    ).fetchone()
                    asked = now()  # nobody sees the lease before it is committed
                    db.execute(
                        "UPDATE shard SET token = %s, holder = %s, state = 'starting', renewal = renewal + 1 "
                        "WHERE number = %s",
                        (token, self.holder, shard),
                    )
                    if self._part is not None:
                        _begin_part(db, shard, token, self.holder, *self._part(shard, token))
            except psycopg.errors.LockNotAvailable:
                return None
        self.tokens[shard] = token
        self._until[shard] = asked + LEASE_MARGIN * self.seconds
        return int(token)

    def _can_take(self, db: Any) -> bool:
        """Whether our run is the crawl's still, and no other server has come in the place of the one before."""
        if self._run is not None:
            check_run(db, self._where, self._run)
        if db.execute(f"UPDATE crawl SET server = {SERVER} WHERE server <> {SERVER}").rowcount == 0:
            return True
        # Whoever has a shard of which the database has lost that says so within a lease, or has it no more.
        db.execute("UPDATE shard SET holder = %s, renewal = renewal + 1 WHERE holder IS NULL", (UNKNOWN_HOLDER,))
        return False

    def renew(self, db: Any) -> None:
        """Have all shards for longer; those that are somebody else's by now are forgotten."""
        held = dict(self.tokens)
        if not held:
            return
        asked = now()
        with translate_errors(self._where):
            rows = db.execute(
                "UPDATE shard SET renewal = renewal + 1 FROM unnest(%s::int[], %s::bigint[]) AS mine (number, token) "
                "WHERE shard.number = mine.number AND shard.token = mine.token AND holder = %s "
                "RETURNING shard.number",
                (list(held), list(held.values()), self.holder),
            ).fetchall()
        kept = {number for (number,) in rows}
        for shard, token in held.items():
            if self.tokens.get(shard) != token:
                continue
            if shard in kept:
                self._until[shard] = asked + LEASE_MARGIN * self.seconds
            else:
                self.forget(shard)

    def forget(self, shard: int) -> None:
        """Hold a shard no more, whether or not anybody is told."""
        self.tokens.pop(shard, None)
        self._until.pop(shard, None)

    def release(self, db: Any, shards: Collection[int]) -> None:
        """Let shards go, with nothing under way in them, so that another may have them at once."""
        held = {shard: self.tokens[shard] for shard in shards if shard in self.tokens}
        for shard in held:
            self.forget(shard)
        with translate_errors(self._where):
            db.execute(
                "UPDATE shard SET holder = NULL FROM unnest(%s::int[], %s::bigint[]) AS mine (number, token) "
                "WHERE shard.number = mine.number AND shard.token = mine.token AND holder = %s",
                (list(held), list(held.values()), self.holder),
            )


def check_run(db: Any, where: Address, run: Run) -> None:
    """See that a run is the crawl's still, until the end of the transaction that is open; else Superseded."""
    row = db.execute("SELECT id, run FROM crawl FOR KEY SHARE").fetchone()
    if row is None or row[0] != run.crawl:
        raise Superseded(f"another crawl has begun in {where}: this one is over", hint="take part with --join")
    if row[1] != run.number:
        raise Superseded(
            f"run {row[1]} of the crawl in {where} has begun, with its own limits and policy, and this is run "
            f"{run.number}: it takes and writes nothing more",
            hint="take part with --join",
        )


def _begin_part(db: Any, shard: int, token: int, holder: str, folder: str, name: str) -> None:
    """Have a shard's output begin a new part, and note how far the one before is committed."""
    db.execute(
        f"UPDATE part SET sink = (SELECT value FROM fact_{shard} WHERE key = 'sink'), "
        f"ledger = (SELECT value FROM fact_{shard} WHERE key = 'ledger') "
        "WHERE shard = %s AND token = (SELECT max(token) FROM part WHERE shard = %s)",
        (shard, shard),
    )
    db.execute(f"DELETE FROM fact_{shard} WHERE key IN ('sink', 'ledger')")
    db.execute(
        "INSERT INTO part SELECT %s, %s, run, %s, %s, %s FROM crawl",  # the run that is under way, whoever writes
        (shard, token, holder, folder, name),
    )


class LeaseKeeper(threading.Thread):
    """Renews leases in a thread and over a connection of its own, so that no single wait holds it up; but only as long
    as the work goes on, which it asks before each renewal: a lease that nobody works under is left to others. `ended`
    is called in this thread with shard and token where a lease is over; it may be called more than once."""

    def __init__(
        self, leases: Leases, where: Address, ended: Callable[[int, int], None], works: Callable[[], bool]
    ) -> None:
        super().__init__(name="comity-leases", daemon=True)
        self._leases = leases
        self._where = where
        self._ended = ended
        self._works = works
        self._over = threading.Event()
        self._db: Any = None

    def close(self) -> None:
        """End the thread. What is held stays so until it is let go or its time is over."""
        self._over.set()
        if self.ident is not None:  # else it has not begun
            self.join()

    def run(self) -> None:
        pause = 0.0
        while not self._over.wait(pause):
            held = dict(self._leases.tokens)
            try:
                if self._db is None:
                    self._db = connect(self._where)
                if self._works():
                    with cutting_off(self._leases.seconds / RENEWALS_PER_LEASE, self._db):
                        self._leases.renew(self._db)
                pause = self._leases.seconds / RENEWALS_PER_LEASE / 2
            except StorageError:
                self._drop()
                pause = min(MAX_RETRY_SECONDS, self._leases.seconds / RENEWALS_PER_LEASE / 2)
            for shard, token in held.items():
                if not self._leases.holds(shard, token):
                    self._ended(shard, token)
        self._drop()

    def _drop(self) -> None:
        if self._db is not None:
            with suppress(Exception):
                self._db.close()
            self._db = None
