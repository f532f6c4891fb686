"""What those who work one crawl in PostgreSQL tell each other, through tables: who takes part, how each shard stands,
pages granted, parts of the output, orders. Nobody else is needed in between, and nobody need see another's files."""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from typing import Any, Final

from comity.crawler.finding.limits import Spent
from comity.crawler.observe.snapshot import ShardStatus
from comity.crawler.observe.stats import Stats
from comity.crawler.storage.board import BoardState, ShardRow, adjusted_quota, seconds_of, unassigned
from comity.crawler.storage.crawl import ShardSummary, StoredCrawl, describe_shard
from comity.crawler.storage.crawl_output import FACTS, CrawlOutput, OutputPart, not_finished
from comity.crawler.storage.leases import NEXT_TOKEN, StaleCounters, check_run, now
from comity.crawler.storage.manifest import LOST_PREFIX, STORE, CrawlManifest, StoreMark, part, stored_in
from comity.crawler.storage.orders import Order, OrderKind, checked_order
from comity.crawler.storage.placement import ShardAssignment
from comity.crawler.storage.stored_config import StoredConfig
from comity.crawler.storage.tables import CONFIRMED
from comity.errors import InputError, StorageError
from comity.frontier.committed import FrontierView
from comity.frontier.durable import no_crawl
from comity.frontier.messages import TAKEN, Parcel
from comity.frontier.postgresql.database import Address, address, connect, cutting_off, is_made, translate_errors
from comity.frontier.postgresql.dialect import PostgresDialect
from comity.frontier.postgresql.store import PostgresView
from comity.frontier.rules import start_refresh
from comity.frontier.tables import ChangedTables
from comity.frontier.values import Run
from comity.net import Clock
from comity_robots.fields import DAY

TIME_SAMPLES: Final = 3  # times that the database is asked for its time
POLL_SECONDS: Final = 0.25  # seconds between two looks at who takes part
MAX_SILENT_SECONDS: Final = 10.0  # seconds that the database may be silent
MAX_STOPPED_SECONDS: Final = 30.0  # of a transaction: a suspended process holds no rows for ever
_ORDERED: Final = ("host", "kind", "seconds", "at")  # columns, as the fields of Order
_SAME: Final = "host = %s AND kind = %s AND seconds IS NOT DISTINCT FROM %s::float8 AND at = %s"
MAX_BULK_SECONDS: Final = DAY  # the same while it does something to all that is in it


@dataclass(frozen=True, slots=True)
class CrawlRow:
    """What holds for the whole crawl: its last run, the pages that are granted to no shard (None without a limit), and
    the rest."""

    run: Run
    manifest: dict[str, Any]
    lease: float
    ended: str | None
    pool: int | None


@dataclass(frozen=True, slots=True)
class PartRow:
    """A part of the output: in which run it began, which folder of whom it is, and how far it is committed: what sink
    and ledger were told.
    """

    shard: int
    token: int
    run: int
    holder: str
    folder: str
    name: str
    sink: Any
    ledger: Any


class StoreOrders:
    """The orders that were given of a crawl; `connected` gives its connection. A StorageError, by every method, as of
    CrawlStore."""

    def __init__(self, connected: Callable[[], AbstractContextManager[Any]]) -> None:
        self._open = connected

    def give(self, order: Order) -> None:
        """Give an order to all who take part."""
        with self._open() as db, db.transaction():
            # One after the other: whoever reads a number must not miss a lower one that is there a moment later.
            db.execute("LOCK TABLE operator_order IN EXCLUSIVE MODE")
            names = ", ".join(_ORDERED)
            db.execute(f"INSERT INTO operator_order ({names}) VALUES (%s, %s, %s, %s)", astuple(order))

    def confirm(self, order: Order, holder: tuple[int, int] | None = None) -> None:
        """Say that an order is carried out from now on. `holder`: of which shard and token who says so is; without
        effect once that is another's."""
        fence = "" if holder is None else " AND EXISTS (SELECT 1 FROM fence WHERE shard = %s AND token = %s)"
        with self._open() as db:
            query = f"UPDATE operator_order SET confirmed = true WHERE NOT confirmed AND {_SAME}{fence}"
            db.execute(query, (*astuple(order), *(holder or ())))

    def is_confirmed(self, order: Order) -> bool:
        """Whether who carries an order out has said so."""
        with self._open() as db:
            query = f"SELECT 1 FROM operator_order WHERE confirmed AND {_SAME}"
            return db.execute(query, astuple(order)).fetchone() is not None

    def since(self, after: int = 0) -> list[tuple[int, Order]]:
        """Orders given since one, by number."""
        with self._open() as db:
            query = f"SELECT id, {', '.join(_ORDERED)} FROM operator_order WHERE id > %s ORDER BY id"
            return [(number, Order(*values)) for number, *values in db.execute(query, (after,)).fetchall()]


class CrawlStore:
    """One crawl, reached by one connection, which is made anew after it broke. Its methods block; one thread at a time.
    A StorageError, by every method: Unreachable where the database is not there now. `orders`: what was ordered."""

    def __init__(self, where: Address) -> None:
        self.where = where
        self._db: Any = None
        self._still: StaleCounters | None = None  # leases of shards, and beats of members
        self.orders = StoreOrders(self.open)

    def close(self) -> None:
        if self._db is not None:
            with suppress(Exception):
                self._db.close()
            self._db = None

    @contextmanager
    def open(self, patience: float = MAX_SILENT_SECONDS) -> Iterator[Any]:
        """The connection; one that broke is dropped."""
        try:
            if self._db is None:
                self._db = connect(self.where, stopped=MAX_STOPPED_SECONDS)
            with translate_errors(self.where), cutting_off(patience, self._db):
                yield self._db
        except StorageError:
            self.close()
            raise

    # The whole crawl

    def crawl(self) -> CrawlRow:
        """What holds for it now; an InputError where there is none."""
        with self.open() as db:
            if not is_made(db, self.where):
                raise no_crawl(self.where, "give the URLs to start one from")
            id_, run, manifest, *others = db.execute(
                "SELECT id, run, manifest, lease, ended, pool FROM crawl"
            ).fetchone()
        return CrawlRow(Run(id_, run), json.loads(manifest), *others)

    def time(self) -> float:
        """The database's, Unix."""
        with self.open() as db:
            return float(db.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()[0])

    def begin_run(
        self,
        manifest: Mapping[str, Any],
        pages: int | None,
        *,
        after: Run | None = None,
        command: tuple[str, str] | None = None,
        forget: Iterable[str] = (),
        save: Callable[[int], dict[str, Any]] | None = None,
    ) -> Run:
        """Begin another run, which is given: what is left is shared out anew. Where somebody has worked on it who has
        not said that he ended, it is first seen for a whole lease whether he still does.

        Args:
            pages: limit of the whole crawl.
            after: the run that was the last when `manifest` was made of what it left.
            command: name and folder of what begins it, which takes part from then on: see `heartbeat`.
            forget, save: begin a refresh, of all shards at once: see `DurableFrontier.start_refresh`.

        Raises:
            StorageError: somebody works on it; or it has not ended, and cannot be refreshed.
        """
        with _locked_at_rest(self, MAX_SILENT_SECONDS if save is None else MAX_BULK_SECONDS) as db:
            db.execute(f"ALTER TABLE operator_order ADD COLUMN IF NOT EXISTS {CONFIRMED}")
            id_, before, ended = db.execute("SELECT id, run, ended FROM crawl").fetchone()
            if after is not None and after != Run(id_, before):
                raise _in_use(self)
            if save is not None:
                states = dict(db.execute("SELECT number, state FROM shard").fetchall())
                if ended is None or {*states.values()} != {"ended"}:
                    raise not_finished(self.where)
                for number in states:
                    start_refresh(ChangedTables(PostgresDialect(db, self.where, number)), forget, save)
                db.execute("UPDATE shard SET stands = NULL")
            kept = {
                shard: Spent(*json.loads(value)).pages
                for shard, value in db.execute("SELECT shard, value FROM fact WHERE key = 'spent'").fetchall()
            }
            db.execute(f"UPDATE fence SET token = {NEXT_TOKEN}, commits = 0")  # no earlier run keeps anything more
            db.execute(
                "UPDATE shard SET token = fence.token, holder = NULL, state = NULL, granted = NULL "
                "FROM fence WHERE fence.shard = number"
            )
            db.execute("DELETE FROM member")
            if command is not None:
                db.execute("INSERT INTO member (name, folder, works) VALUES (%s, %s, false)", command)
            pool = None
            if pages is not None:
                pool = max(pages - sum(kept.values()), 0)
                db.execute("UPDATE shard SET granted = 0")
                for shard, number in kept.items():
                    db.execute("UPDATE shard SET granted = %s WHERE number = %s", (number, shard))
            (run,) = db.execute(
                "UPDATE crawl SET ended = NULL, run = run + 1, manifest = %s, pool = %s RETURNING run",
                (json.dumps(manifest), pool),
            ).fetchone()
        return Run(id_, run)

    def is_running(self) -> bool:
        """Whether somebody works on it: it takes a whole lease to see that one does no more who has not said so."""
        attendance = _LivenessCheck()
        while True:
            asked = now()
            with self.open() as db:
                there = attendance.somebody(db, asked)
            if there is not None:
                return there
            time.sleep(POLL_SECONDS)

    def end(self, run: Run, why: str) -> None:
        """A run is over; the first to say so says why."""
        with self.open() as db:
            db.execute(
                "UPDATE crawl SET ended = %s WHERE ended IS NULL AND (id, run) = (%s, %s)", (why, run.crawl, run.number)
            )

    # Who takes part

    def heartbeat(self, run: Run, name: str, folder: str, *, works: bool = True) -> None:
        """Say that somebody takes part still: a process that works shards, or a command that has begun such.
        Superseded: the run is not the crawl's any more."""
        with self.open() as db, db.transaction():
            check_run(db, self.where, run)
            db.execute(
                "INSERT INTO member (name, folder, works) VALUES (%s, %s, %s) "
                "ON CONFLICT (name) DO UPDATE SET beat = member.beat + 1",
                (name, folder, works),
            )

    def remove_members(self, *names: str) -> None:
        """Some take part no more, and do nothing more in any shard: others may have theirs at once, each by a token of
        its own, which waits for a commit that is under way."""
        with self.open() as db, db.transaction():
            db.execute("DELETE FROM member WHERE name = ANY(%s)", (list(names),))
            db.execute("UPDATE shard SET holder = NULL WHERE holder = ANY(%s)", (list(names),))

    # Shards

    def status(self) -> BoardState:
        """All shards as they stand. That a lease is over, or a worker gone, is seen by who looks again and again."""
        asked = now()
        with self.open() as db:
            # One statement, and so one instant: pages of the limit are on their way between pool and shards.
            found = db.execute(
                "SELECT lease, ended, pool, number, token, holder, renewal, granted, state, stands "
                "FROM crawl, shard ORDER BY number"
            ).fetchall()
            counters: dict[Any, Any] = dict(db.execute("SELECT name, beat FROM member WHERE works").fetchall())
        lease, ended, pool = found[0][:3]
        members = len(counters)
        counters |= {number: (token, renewal) for _, _, _, number, token, _, renewal, *_ in found}
        self._still = self._still or StaleCounters(lease)
        over = self._still.unchanged(counters, asked)
        rows = []
        for *_, number, token, holder, renewal, granted, state, text in found:
            holder = None if number in over else holder
            stands = replace(_status_from_json(number, granted, text), state=state or "starting")
            rows.append(
                ShardRow(number, token, holder, renewal, granted, stands if holder is not None else unassigned(stands))
            )
        members -= sum(isinstance(key, str) for key in over)
        return BoardState(rows, members, pool, ended, seconds_of(rows, {}, 0.0))

    def report_status(self, stands: Mapping[int, tuple[int, ShardStatus]], state: str | None = None) -> None:
        """Say how shards stand: by number the token, and that; `state`: in another than it says."""
        if stands:
            texts = [json.dumps(asdict(replace(now, until=round(now.until, 1)))) for _, now in stands.values()]
            with self.open() as db:
                db.execute(
                    "UPDATE shard SET state = new.state, stands = new.stands "
                    "FROM unnest(%s::int[], %s::bigint[], %s::text[], %s::text[]) "
                    "AS new (number, token, state, stands) "
                    "WHERE shard.number = new.number AND shard.token = new.token",
                    (
                        list(stands),
                        [token for token, _ in stands.values()],
                        [state or now.state for _, now in stands.values()],
                        texts,
                    ),
                )

    def adjust_quota(self, shard: int, token: int, kept: int | None = None) -> int | None:
        """Grant a shard more pages, or take back those that it does not need: see `board.adjusted_quota`. Returns how
        many it may keep then; None where there is no limit, or the shard is another's."""
        with self.open() as db, db.transaction():
            pool, shards = db.execute(
                "SELECT pool, (SELECT count(*) FROM shard) FROM crawl FOR NO KEY UPDATE"
            ).fetchone()
            row = db.execute(
                "SELECT granted FROM shard WHERE number = %s AND token = %s FOR UPDATE", (shard, token)
            ).fetchone()
            if pool is None or row is None:
                return None
            pool, granted = adjusted_quota(pool, row[0], shards, kept)
            db.execute("UPDATE shard SET granted = %s WHERE number = %s", (granted, shard))
            db.execute("UPDATE crawl SET pool = %s", (pool,))
        return granted

    # Parts of the output

    def end_part(self, shard: int, token: int, sink: Any) -> None:
        """Note how far a part is committed of which nobody writes more."""
        text = json.dumps(sink)
        with self.open() as db, db.transaction():
            db.execute("SELECT 1 FROM fence WHERE shard = %s FOR UPDATE", (shard,))  # no lease begins meanwhile
            db.execute("UPDATE part SET sink = %s WHERE shard = %s AND token = %s", (text, shard, token))
            db.execute(
                f"UPDATE fact_{shard} SET value = %s WHERE key = 'sink' "
                "AND (SELECT max(token) FROM part WHERE shard = %s) = %s",
                (text, shard, token),
            )

    def parts(self) -> list[PartRow]:
        """All parts of the output, on whatever machine."""
        with self.open() as db:
            rows = db.execute(
                "SELECT shard, token, run, holder, folder, name, sink, ledger FROM part ORDER BY 1, 2"
            ).fetchall()
            facts = db.execute("SELECT shard, key, value FROM fact WHERE key IN ('sink', 'ledger')").fetchall()
        now = {(shard, key): value for shard, key, value in facts}
        newest = {row[0]: row[1] for row in rows}
        found = []
        for shard, token, run, holder, folder, name, *kept in rows:
            texts = kept if token != newest[shard] else [now.get((shard, key)) for key in ("sink", "ledger")]
            found.append(
                PartRow(shard, token, run, holder, folder, name, *(text and json.loads(text) for text in texts))
            )
        return found

    def state(self, key: str) -> dict[int, Any]:
        """What each shard remembers by that name, by number; of one that does not, nothing."""
        with self.open() as db:
            rows = db.execute("SELECT shard, value FROM fact WHERE key = %s", (key,)).fetchall()
        return {shard: json.loads(text) for shard, text in rows}

    # Messages

    def parcels(self) -> list[tuple[int, Parcel]]:
        """All that were sent and are not forgotten: sender and parcel, of each sender the oldest first."""
        with self.open() as db:
            rows = db.execute("SELECT sender, id, receiver, messages FROM parcel ORDER BY id").fetchall()
        return [(sender, Parcel(*row)) for sender, *row in rows]

    def pending(self) -> dict[int, int]:
        """How many messages each shard has sent that have not been taken."""
        with self.open() as db:
            found = db.execute(
                "SELECT sender, sum(json_array_length(messages::json))::bigint FROM parcel "
                "LEFT JOIN fact ON fact.shard = receiver AND fact.key = %s "
                "WHERE id > coalesce((fact.value::json ->> sender::text)::bigint, 0) GROUP BY sender",
                (TAKEN,),
            ).fetchall()
        return dict(found)


class _LivenessCheck:
    """Whether somebody takes part, of those who have not said that they do no more."""

    def __init__(self) -> None:
        self._before: dict[Any, Any] = {}
        self._still: StaleCounters | None = None

    def somebody(self, db: Any, asked: float) -> bool | None:
        """Whether somebody does; None where that cannot be said yet. `asked`: as of `StaleCounters.unchanged`."""
        there: dict[Any, Any] = dict(db.execute("SELECT name, beat FROM member").fetchall())
        held = db.execute("SELECT number, token, renewal FROM shard WHERE holder IS NOT NULL").fetchall()
        there |= {number: (token, renewal) for number, token, renewal in held}
        first = self._still is None
        if self._still is None:
            self._still = StaleCounters(*db.execute("SELECT lease FROM crawl").fetchone())
        renewed = not first and any(self._before.get(key) != value for key, value in there.items())
        self._before = there
        if len(self._still.unchanged(there, asked)) == len(there):
            return False
        return True if renewed else None


@contextmanager
def _locked_at_rest(store: CrawlStore, patience: float) -> Iterator[Any]:
    """A transaction in which nobody works on the crawl, and nobody can begin to; a StorageError where somebody does."""
    attendance = _LivenessCheck()
    while True:
        asked = now()
        with store.open(patience) as db, db.transaction():
            db.execute("SELECT 1 FROM crawl FOR UPDATE")
            if (there := attendance.somebody(db, asked)) is False:
                yield db
                return
        if there:
            raise _in_use(store)
        time.sleep(POLL_SECONDS)


def _in_use(store: CrawlStore) -> StorageError:
    return StorageError(f"{store.where} is being crawled by another command", hint="to take part, use --join")


def _status_from_json(number: int, granted: int | None, text: str | None) -> ShardStatus:
    """How a shard stands by what was said of it last."""
    if text is None:
        return ShardStatus(number, granted=granted)
    try:
        values = json.loads(text)
        values["stats"], values["spent"] = Stats(**values["stats"]), Spent(**values["spent"])
        for name in ("sent", "taken"):
            values[name] = {int(shard): last for shard, last in values[name].items()}
        return ShardStatus(**values)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StorageError(f"shard {number}: another version of comity works on this crawl") from error


class StoreClock(Clock):
    """Wall time as the database has it, so that what one machine writes down another can wait for, and all ledgers of a
    crawl have one time. It runs on the monotonic clock from when the database was asked, so two processes' clocks
    differ by what its answers took. `at`: the database's time, Unix, just now. `asked`: when it was asked for it, by
    the monotonic clock."""

    def __init__(self, at: float, asked: float | None = None) -> None:
        now = time.monotonic()
        self.within: float = 0.0 if asked is None else (now - asked) / 2
        self._offset = at - now + self.within

    @classmethod
    def of(cls, store: CrawlStore) -> "StoreClock":
        """The clock of a store, by the quickest of some answers. Blocks; its connection should be there already."""
        clocks = []
        for _ in range(TIME_SAMPLES):
            asked = time.monotonic()
            clocks.append(cls(store.time(), asked))
        return min(clocks, key=lambda clock: clock.within)

    def wall(self) -> float:
        return time.monotonic() + self._offset

    def walls(self) -> tuple[float, ...]:
        """The database's clock, and this machine's: a wait is over once it is by both."""
        return self.wall(), time.time()


class StoreCrawl(StoredCrawl):
    """A crawl in PostgreSQL, whoever works on it. `held`: folders that hold parts of its output, and what marks them;
    without, those of this machine are found. An InputError: there is none, or a folder holds parts of another."""

    def __init__(self, url: str, held: Mapping[Path, StoreMark] | None = None) -> None:
        self._url, self._store, self._held = url, CrawlStore(address(url)), held or {}
        where = self._store.where
        with closing(self._store):
            crawl = self._store.crawl()
        for folder in [folder for folder, mark in self._held.items() if mark.crawl != crawl.run.crawl]:
            raise InputError(
                f"{folder} holds parts of another crawl than the one that is now in {where}",
                hint="name folders of one crawl, and by --store URL its store",
            )
        self._manifest = CrawlManifest.read(crawl.manifest, where)
        super().__init__(str(where), self._manifest.shards, self._manifest.by)

    def view(self, number: int) -> FrontierView | None:
        return PostgresView(self._store.where, number)

    def config(self, view: FrontierView | None = None) -> StoredConfig:
        return StoredConfig.from_manifest(self._manifest)

    def output(self) -> CrawlOutput:
        with closing(self._store):
            crawl, rows = self._store.crawl(), self._store.parts()
            states = {row.now.state for row in self._store.status().rows}
            facts = {name: self._store.state(name) for name in FACTS}
            parcels, given = self._store.parcels(), self._store.orders.since()
        folders = list(self._held)
        if not folders:
            here = dict.fromkeys(Path(row.folder) for row in rows)
            folders = [each for each in here if (mark := stored_in(each)) is not None and mark.crawl == crawl.run.crawl]
        shards: list[list[OutputPart]] = [[] for _ in range(self.shards)]
        rows = [row for row in rows if row.ledger is not None]  # of the others nothing was committed
        last = {row.shard: row.token for row in rows}
        for row in rows:
            newest = row.token == last[row.shard]  # rows come by shard and token
            path = next((folder / row.name for folder in folders if (folder / row.name).is_dir()), None)
            shards[row.shard].append(
                OutputPart(
                    path or Path(row.folder) / row.name,
                    row.name,
                    ShardAssignment(row.shard, self.shards, self._by),
                    None if path else f"it is not here; {row.holder.partition(':')[0]} has it in {row.folder}",
                    followed=not newest,
                    kept={
                        **({name: its.get(row.shard) for name, its in facts.items()} if newest else {}),
                        "ledger": row.ledger,
                        "sink": row.sink,
                        "parcels": [parcel for sender, parcel in parcels if sender == row.shard],
                    },
                    run=row.run,
                )
            )
        return CrawlOutput(
            self.name,
            shards,
            STORE,
            self.is_running,
            self._url,
            crawl.run,
            self._manifest.policy,
            over=crawl.ended is not None and states == {"ended"},
            orders=[order for _, order in given],
            lost=[path for folder in folders for path in folder.glob(f"{LOST_PREFIX}*") if path.is_dir()],
        )

    def status(self) -> list[ShardSummary]:
        found = []
        with closing(self._store):
            pending, rows = self._store.pending(), self._store.status().rows
            with self._store.open() as db:
                waiting = dict(db.execute("SELECT shard, sum(unasked + queued)::bigint FROM host GROUP BY shard"))
        for row in rows:
            words = "nobody has it" if row.holder is None and row.now.state != "ended" else describe_shard(row.now)
            whose = "" if row.holder is None else f", on {row.holder.partition(':')[0]}"
            left = waiting.get(row.number, 0), pending.get(row.number, 0)
            found.append(ShardSummary(part(row.number), row.now.stats.pages, *left, f"{words}{whose}"))
        return found

    def is_running(self) -> bool:
        with closing(self._store):
            return self._store.is_running()

    def give(self, host: str, kind: OrderKind, seconds: float | None) -> Order:
        order = checked_order(host, kind, seconds)
        with closing(self._store):
            order = replace(order, at=round(self._store.time(), 3))  # by the clock of all who take part
            self._store.orders.give(order)
        return order

    def orders(self) -> tuple[list[Order], float]:
        with closing(self._store):
            return [order for _, order in self._store.orders.since()], self._store.time() - time.time()

    def is_confirmed(self, order: Order) -> bool:
        return self._store.orders.is_confirmed(order)

    def confirms(self, order: Order) -> bool:
        with closing(self._store):
            return super().confirms(order)
