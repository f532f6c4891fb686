"""The frontier of one shard in PostgreSQL: the same as queue.Frontier, in as few statements.

A commit begins by asking, in its own transaction, whether the shard is still ours (leases.py), and the commit before is
still there: the row with the token stays locked until the end, so that nobody else can have the shard before all of the
commit is there, or nothing. A database that has lost commits, because another server took the place of the first, is so
found out: who has the shard next goes on from what is there, and cuts the files back to it.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Any, Final, Self

from comity.errors import StorageError
from comity.frontier import messages
from comity.frontier.database import LATER, rank, split
from comity.frontier.later import Inside, Judged, Visits, judge
from comity.frontier.postgresql import later
from comity.frontier.postgresql.database import Address, connect, cut_off, explained
from comity.frontier.postgresql.seen import Fingerprints
from comity.frontier.postgresql.view import CommittedTables, ShardTables
from comity.frontier.tables import POLICY, CommittedFrontier, StateChanges
from comity.frontier.values import Batch, Entry, EntryKind, Found, State

_MOST_HOST_IDS: Final = 1 << 16
_NEXT_ID: Final = "next_id"
_NEXT_SOURCE: Final = "next_source"
_STATES: Final = ("unasked", "queued", "done", "refused", "failed")


class Displaced(StorageError):
    """The shard is another process's by now, or the database has lost commits: nothing of the commit was kept."""


class PostgresFrontier(CommittedFrontier):
    """One shard of a crawl, for who holds it. See `queue.Frontier`, whose every method it has.

    Args:
        token: that of the lease (see leases.py).
        patience: seconds that a transaction may stand still before the database ends it, so that a process that was
            stopped in the middle of one does not keep the shard from the next.

    Raises:
        StorageError: the crawl is not there or cannot be reached.
        Displaced: the shard is not ours.
    """

    def __init__(self, where: Address, shard: int, token: int, *, patience: float = 30.0) -> None:
        self._where = where
        self._shard = shard
        self._token = token
        self._host_ids: dict[str, int] = {}
        self._saved: dict[str, str] = {}  # facts as they were committed last, to write only what changed
        self._stale = False
        self.totals: dict[State, int] = {}
        with explained(where), ExitStack() as stack:
            self._db = stack.enter_context(closing(connect(where)))
            self._db.execute(f"SET idle_in_transaction_session_timeout = {int(patience * 1000)}")
            self._tables = self._committed = stack.enter_context(closing(CommittedTables(where, shard)))
            row = self._db.execute(
                "SELECT commits FROM fence WHERE (shard, token) = (%s, %s)", (shard, token)
            ).fetchone()
            self._commits: int = 0 if row is None else row[0]  # under this token
            with self._transaction():
                key: bytes = self._db.execute("SELECT fingerprint_key FROM crawl").fetchone()[0]
            self._seen = Fingerprints(self._db, shard, key)
            self._reload()
            self.sent = messages.numbers(self.load_state(messages.SENT))
            self.taken = messages.numbers(self.load_state(messages.TAKEN))
            self._sent_chain: dict[int, str] = messages.numbers(self.load_state(messages.SENT_CHAIN))
            self.visits = Visits(self._tables)
            self._open = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with explained(self._where):
            self._open.close()

    def abandon(self) -> None:
        """Have nothing wait for the database any longer: from any thread. What is under way raises Unreachable."""
        cut_off(self._db)
        self._committed.abandon()

    def commit(
        self, batch: Batch, write: Callable[[int, list[dict[str, Any]]], dict[str, Any]]
    ) -> dict[str, list[tuple[int, Found]]]:
        """As `queue.Frontier.commit`.

        Raises:
            Displaced: the shard is another's by now.
            Unreachable: the connection broke; whether all was kept or nothing is to be seen after the next opening.
        """
        with explained(self._where):
            if self._stale:
                self._reload()
            self._stale = True
            with self._transaction():
                state_changes = StateChanges()
                later.set_aside(self._db, self._shard, batch)
                self._settle(batch.settled, state_changes)
                self._put_off(batch)
                new, met, queued = self._take_up(batch.found, state_changes)
                with self._db.pipeline():  # the database works on it while the output is written
                    self._count(state_changes)
                    later.write_visits(self._db, self._shard, batch, indexed=self._refreshes is not None)
                    exchanged: dict[str, dict[int, Any]] = {}
                    if batch.exchanges:
                        exchanged, more = self._exchange(batch)
                        met += more
                    refusals = [found.refusal for found in new if found.refusal is not None]
                    state = write(len(new), refusals) | {_NEXT_ID: self._next_id, _NEXT_SOURCE: self._next_source}
                    saved = self._save_state(state | exchanged)
            self._stale = False
            self._saved.update(saved)
            self._seen.committed(met)
            if exchanged:
                self.sent, self.taken = exchanged[messages.SENT], exchanged[messages.TAKEN]
                self._sent_chain = exchanged[messages.SENT_CHAIN]
            self.totals = {state: self.totals[state] + state_changes.of(state) for state in State}
            return queued

    def begin_again(self, *, forget: Iterable[str], save: Callable[[int], dict[str, Any]]) -> None:
        """As `queue.Frontier.begin_again`."""
        with explained(self._where):
            self._stale = True
            with self._transaction():
                last = later.begin_refresh(self._db, self._shard)
                later.forget(self._db, self._shard, forget)
                self._saved.clear()
                self._save_state(save(last))
            self._reload()
            self._stale = False

    def judge_again(
        self,
        inside: Inside | None,
        *,
        policy: bool,
        usage: bool,
        save: Callable[[Judged, Judged], dict[str, Any]],
    ) -> None:
        """As `queue.Frontier.judge_again`."""
        with explained(self._where):
            self._stale = True
            with self._transaction():
                state_changes = StateChanges()
                tables = ShardTables(self._db, self._where, self._shard)
                judged = judge(tables, state_changes, inside, policy=policy, usage=usage)
                self._count(state_changes)
                self._save_state(save(*judged))
            self._reload()
            self._stale = False

    def waiting(self, host: str, *, but_not: Collection[int], most: int, kind: EntryKind | None = None) -> list[Entry]:
        """As `queue.Frontier.waiting`."""
        return self._tables.queue(host, most, but_not=but_not, below=LATER, kind=kind)

    def save_state(self, key: str, value: Any) -> None:
        """Keep a fact about the run, as JSON; None forgets it."""
        with explained(self._where), self._transaction():
            self._saved.pop(key, None)
            self._save_state({key: value})

    def load_states(self, start: str) -> dict[str, Any]:
        """What is saved whose names begin with `start`, by name."""
        rows = self._tables.rows(f"SELECT key, value FROM fact_{self._shard} WHERE starts_with(key, ?)", (start,))
        return {key: json.loads(value) for key, value in rows}

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """A transaction that is nothing unless the shard is ours to its end."""
        try:
            cursor = self._db.execute(
                f"BEGIN; UPDATE fence SET commits = commits + 1 "
                f"WHERE (shard, token, commits) = ({self._shard}, {self._token}, {self._commits})"
            )
            cursor.nextset()
            if cursor.rowcount == 0:
                raise Displaced(
                    f"shard {self._shard} of the crawl in {self._where} is in use by another crawl",
                    hint="wait for it, or take part with --join",
                )
            yield
            self._db.execute("COMMIT")
            self._commits += 1
        except BaseException:
            with suppress(Exception):  # it may be that there is no connection any more, and then nothing to roll back
                self._db.rollback()
            raise

    def _reload(self) -> None:
        self._seen.forget()
        self._host_ids.clear()
        self._saved.clear()
        self._next_id: int = self.load_state(_NEXT_ID, 1)
        self._next_source: int = self.load_state(_NEXT_SOURCE, 1)
        # An index is made for the first refresh; a first crawl visits a URL once.
        visited = f"{self._where.schema}.visited_{self._shard}"
        self._refreshes = self._tables.rows("SELECT to_regclass(?)", (visited,))[0][0]
        self.totals = self.counts()

    def _settle(self, settled: list[tuple[State, int]], state_changes: StateChanges) -> None:
        states = {id_: state for state, id_ in settled}
        if not states:
            return
        for id_, host, before in self._db.execute(
            f"DELETE FROM waiting_{self._shard} WHERE id = ANY(%s) RETURNING id, host, state", (list(states),)
        ):  # what was settled before is not there
            state_changes[host, before] -= 1
            state_changes[host, states[id_]] += 1

    def _put_off(self, batch: Batch) -> None:
        """Count tries, put URLs off, and have hosts' put-off URLs come up again."""
        queue = f"waiting_{self._shard}"
        for id_, times in Counter(batch.retried).items():
            self._db.execute(f"UPDATE {queue} SET attempts = attempts + %s WHERE id = %s", (times, id_))
        if batch.postponed:
            self._db.execute(
                f"UPDATE {queue} SET rank = rank + %s, attempts = attempts + 1 WHERE id = ANY(%s) AND rank < %s",
                (2 * LATER, batch.postponed, LATER),
            )
        if batch.resumed:
            self._db.execute(
                f"UPDATE {queue} SET rank = rank - %s WHERE rank >= %s AND host = ANY(ARRAY("
                f"SELECT id FROM host_{self._shard} WHERE name = ANY(%s)))",
                (2 * LATER, LATER, batch.resumed),
            )

    def _take_up(
        self, found: list[Found], state_changes: StateChanges
    ) -> tuple[list[Found], list[int], dict[str, list[tuple[int, Found]]]]:
        """Those that are new, and their fingerprints; what of them waits goes into the queue, and is given by host."""
        fingerprints = self._seen.take_up([each.url for each in found])
        new = [found[index] for index in fingerprints.values()]
        self._learn_hosts(each.host for each in new)
        sources = self._sources(new)
        rows: list[str] = []
        refused: list[str] = []
        queued: dict[str, list[tuple[int, Found]]] = {}
        ids, number, shard = self._host_ids, self._next_id, self._shard
        for each in new:
            host = ids[each.host]
            state_changes[host, each.state] += 1
            if each.stays:
                prefix, rest = split(each)
                source = r"\N" if each.found_on is None else sources[each.found_on]
                row = (
                    f"{shard}\t{number}\t{host}\t{rank(each)}\t{prefix}\t{_text(rest)}\t{each.depth}\t{each.kind:d}\t"
                    f"{each.state:d}\t{each.hops}\t0\t{source}"
                )
                (refused if each.by_policy else rows).append(row)
                if not each.by_policy:
                    queued.setdefault(each.host, []).append((number, each))
                number += 1
        self._next_id = number
        self._copy(f"waiting_{shard} ({ShardTables.columns})", rows)
        self._copy(f"aside_{shard} ({ShardTables.columns}, why)", [f"{row}\t{POLICY}" for row in refused])
        return new, list(fingerprints), queued

    def _learn_hosts(self, names: Iterable[str]) -> None:
        """Have the ids of hosts in memory; they are made in the order of the names."""
        ids = self._host_ids
        unknown = [name for name in dict.fromkeys(names) if name not in ids]
        if not unknown:
            return
        table = f"host_{self._shard}"
        if len(ids) >= _MOST_HOST_IDS:
            unknown = list(dict.fromkeys((*unknown, *names)))
            ids.clear()
        query = f"SELECT name, id FROM {table} WHERE name = ANY(%s)"
        ids.update(self._db.execute(query, (unknown,)).fetchall())
        if made := [name for name in unknown if name not in ids]:
            (last,) = self._db.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchone()
            numbers = {name: number for number, name in enumerate(made, last + 1)}
            self._db.execute(
                f"INSERT INTO {table} (shard, id, name) SELECT {self._shard}, * FROM unnest(%s::int[], %s::text[])",
                (list(numbers.values()), list(numbers)),
            )
            ids.update(numbers)

    def _sources(self, new: list[Found]) -> dict[str, int]:
        """The ids, new ones, of what named the URLs that are to be kept."""
        named = dict.fromkeys(each.found_on for each in new if each.found_on is not None and each.stays)
        ids = {url: number for number, url in enumerate(named, self._next_source)}
        self._next_source += len(ids)
        self._copy(
            f"source_{self._shard} (shard, id, url)",
            [f"{self._shard}\t{number}\t{_text(url)}" for url, number in ids.items()],
        )
        return ids

    def _exchange(self, batch: Batch) -> tuple[dict[str, dict[int, Any]], list[int]]:
        """Send what concerns other shards, each URL once; gives what is to be saved, and fingerprints."""
        urls = [each for each in batch.messages if each[1].settles]
        fingerprints = self._seen.take_up([message.url for _, message in urls])
        new = [urls[index] for index in fingerprints.values()]
        texts = messages.parcels_of(batch.messages, new)
        made = {shard: number for number, shard in enumerate(texts, max(self.sent.values(), default=0) + 1)}
        for shard, text in texts.items():
            self._db.execute(
                "INSERT INTO parcel (sender, id, receiver, messages) VALUES (%s, %s, %s, %s)",
                (self._shard, made[shard], shard, text),
            )
        for shard, number in batch.delivered.items():  # what is known to be taken may be lost since
            self._db.execute(
                "DELETE FROM parcel WHERE sender = %s AND receiver = %s AND id <= %s AND id <= "
                f"(SELECT (value::json ->> %s)::bigint FROM fact_{shard} WHERE key = %s)",
                (self._shard, shard, number, str(self._shard), messages.TAKEN),
            )
        exchanged = {
            messages.SENT: self.sent | made,
            messages.SENT_CHAIN: messages.chains(self._sent_chain, texts),
            messages.TAKEN: self.taken | batch.taken,
        }
        return exchanged, list(fingerprints)

    def _copy(self, table: str, rows: list[str]) -> None:
        if rows:
            with self._db.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
                copy.write("\n".join(rows) + "\n")

    def _count(self, state_changes: StateChanges) -> None:
        hosts = state_changes.by_host()
        if not hosts:
            return
        changes = [list(column) for column in zip(*hosts.values(), strict=True)]
        sums = ", ".join(f"{name} = host.{name} + more.{name}" for name in _STATES)
        self._db.execute(
            f"UPDATE host_{self._shard} AS host SET {sums} FROM unnest(%s::int[], {', '.join(['%s::int[]'] * 5)}) "
            f"AS more (id, {', '.join(_STATES)}) WHERE host.id = more.id",
            (list(hosts), *changes),
        )

    def _save_state(self, state: Mapping[str, Any]) -> dict[str, str]:
        """Save facts, those that are not what they were; gives them as text."""
        values = {key: json.dumps(value) for key, value in state.items() if value is not None}
        changed = {key: text for key, text in values.items() if self._saved.get(key) != text}
        table = f"fact_{self._shard}"
        if changed:
            self._db.execute(
                f"INSERT INTO {table} SELECT {self._shard}, * FROM unnest(%s::text[], %s::text[]) "
                "ON CONFLICT (md5(key)) DO UPDATE SET value = excluded.value",
                (list(changed), list(changed.values())),
            )
        if gone := [key for key, value in state.items() if value is None]:
            self._db.execute(f"DELETE FROM {table} WHERE key = ANY(%s)", (gone,))
            for key in gone:
                self._saved.pop(key, None)
        return changed


def _text(value: str) -> str:
    """As COPY takes it."""
    if "\\" in value:
        value = value.replace("\\", r"\\")
    if not value.isprintable():
        value = value.replace("\t", r"\t").replace("\n", r"\n").replace("\r", r"\r")
    return value
