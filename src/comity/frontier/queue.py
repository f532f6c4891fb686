"""The frontier itself: what waits of each host, in its order, and how far the crawl has come.

Changes are handed in as batches. A batch is one transaction together with the lengths that the output files have
reached, so that after a crash files and frontier are brought back to the same instant (see sinks/). What is settled
leaves the queue; that it was met is remembered in seen.py, how many there were in its host's counts.

A batch goes to SQLite in few statements, each for many rows: it works on them without the interpreter, beside the
crawl, where a statement for each row would have the two threads stop each other at every row.
"""

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, Self

from comity.frontier import database, later, messages
from comity.frontier.database import explained, lock, open_for_reading, open_for_writing
from comity.frontier.seen import Seen
from comity.frontier.tables import CommittedFrontier, FrontierTables, StateChanges
from comity.frontier.values import Batch, Entry, EntryKind, Found, State

_MOST_ROWS = 64  # of one statement: SQLite takes 999 values everywhere
_MOST_HOST_IDS = 1 << 16  # ids of hosts held in memory
_KEY = "fingerprint_key"
_NEXT_ID = "next_id"
_CLEAR = (
    "DELETE FROM waiting",
    "DELETE FROM aside",
    "DELETE FROM source",
    "DELETE FROM fresh",
    "DELETE FROM sorted_run",
    "UPDATE host SET unasked = 0, queued = 0, done = 0, refused = 0, failed = 0",
)


class Frontier(CommittedFrontier):
    """Opens, or makes, the frontier of a crawl folder. One process at a time writes; others may read (tables.View).

    `commit` may run in a thread of its own, one at a time; meanwhile what is asked is answered from the last commit.

    Args:
        path: the database; the lock and the folder of fingerprints lie beside it under its name.

    Attributes:
        visits: what is known of pages visited, as of the last commit.
        totals: how many URLs were in each state when it was opened or last committed; may be read from any thread.
        sent, taken: by shard the last parcel for it, and of it, as last committed (see messages.py).

    Raises:
        StorageError: the file cannot be opened, is damaged, or another crawl uses it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._host_ids: dict[str, int] = {}
        self._stale = False  # a commit failed: what memory holds may not be what the disk holds
        with explained(path), ExitStack() as stack:
            stack.enter_context(closing(lock(path)))
            self._db = stack.enter_context(closing(open_for_writing(path)))
            self._reader = stack.enter_context(closing(open_for_reading(path)))
            self._tables = FrontierTables(self._reader, path)
            key = self.load_state(_KEY)
            if key is None:
                key = os.urandom(16).hex()
                self._save_state({_KEY: key})
            self._seen = stack.enter_context(closing(Seen(self._db, path.with_suffix(".seen"), bytes.fromhex(key))))
            self._next_id: int = self.load_state(_NEXT_ID, 1)
            self.sent = messages.numbers(self.load_state(messages.SENT))
            self.taken = messages.numbers(self.load_state(messages.TAKEN))
            self._sent_chain: dict[int, str] = messages.numbers(self.load_state(messages.SENT_CHAIN))
            self.visits = later.Visits(self._tables)
            self.totals = self.counts()
            self._open = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with explained(self._path):  # a full disk can refuse even this; the journal is replayed on resume
            self._open.close()

    def commit(
        self, batch: Batch, write: Callable[[int, list[dict[str, Any]]], dict[str, Any]]
    ) -> dict[str, list[tuple[int, Found]]]:
        """Apply a batch, all of it or, where an error is raised, nothing.

        Args:
            write: is given the number of URLs that turned out to be new and the refusals among them, makes all
                output durable and returns what to save in the same transaction (None forgets one), the lengths of
                the output files above all.

        Returns:
            What was added to the queue, by host, in the order found: ids, and what was found.

        Raises:
            StorageError: the disk is full or fails; the batch can be handed in again, now or after a restart.
        """
        with explained(self._path):
            if self._stale:
                self._reload()
            self._stale = True
            self._seen.tidy()
            with self._transaction():
                state_changes = StateChanges()
                later.set_aside(self._db, batch)
                self._settle(batch.settled, state_changes)
                self._db.executemany(
                    "UPDATE waiting SET attempts = attempts + 1 WHERE id = ?", [(id_,) for id_ in batch.retried]
                )
                self._db.executemany(
                    "UPDATE waiting SET rank = rank + ?, attempts = attempts + 1 WHERE id = ? AND rank < ?",
                    [(2 * database.LATER, id_, database.LATER) for id_ in batch.postponed],
                )
                self._db.executemany(
                    "UPDATE waiting SET rank = rank - ? "
                    "WHERE host = (SELECT id FROM host WHERE name = ?) AND rank >= ?",
                    [(2 * database.LATER, host, database.LATER) for host in batch.resumed],
                )
                new, queued = self._take_up(batch.found, state_changes)
                self._count(state_changes)
                later.write_visits(self._db, batch)
                refusals = [found.refusal for found in new if found.refusal is not None]
                state = self._exchange(batch) if batch.exchanges else {}
                self._save_state(write(len(new), refusals) | {_NEXT_ID: self._next_id} | state)
            self._stale = False
            if state:
                self.sent, self.taken = state[messages.SENT], state[messages.TAKEN]
                self._sent_chain = state[messages.SENT_CHAIN]
            self.totals = {state: self.totals[state] + state_changes.of(state) for state in State}
            return queued

    def begin_again(self, *, forget: Iterable[str], save: Callable[[int], dict[str, Any]]) -> None:
        """Forget which URLs were met and what waits, but not which pages were visited: all or nothing.

        What waits is remembered with the visits, as something that is yet to be visited.

        Args:
            forget: patterns (GLOB) of names of what is saved.
            save: is given the id of the last visit and returns what to save in the same transaction.
        """
        with explained(self._path):
            self._stale = True
            with self._transaction():
                last = later.begin_refresh(self._db)
                for statement in _CLEAR:
                    self._db.execute(statement)
                self._db.executemany("DELETE FROM run WHERE key GLOB ?", [(pattern,) for pattern in forget])
                self._save_state(save(last))
            self._reload()
            self._stale = False

    def judge_again(
        self,
        inside: later.Inside | None,
        *,
        policy: bool,
        usage: bool,
        save: Callable[[later.Judged, later.Judged], dict[str, Any]],
    ) -> None:
        """Judge anew what scope, policy and the uses wanted decided, for they have changed: all or nothing.

        Args:
            inside: says whether a URL belongs to the crawl; None where the scope is the same.
            policy: whether the policy is another one. What it had refused, or put off, waits again.
            usage: whether other uses are wanted. What was refused because of them waits again.
            save: is given what came of policy and uses, and of the scope, and returns what to save in the same
                transaction.
        """
        with explained(self._path):
            self._stale = True
            with self._transaction():
                state_changes = StateChanges()
                judged = later.judge(
                    FrontierTables(self._db, self._path), state_changes, inside, policy=policy, usage=usage
                )
                self._count(state_changes)
                self._save_state(save(*judged))
            self._reload()
            self._stale = False

    def waiting(self, host: str, *, but_not: Collection[int], most: int, kind: EntryKind | None = None) -> list[Entry]:
        """URLs of a host, of a kind or of all, that wait for their turn, by priority, then sitemaps first, then in the
        order found."""
        return self._tables.queue(host, most, but_not=but_not, below=database.LATER, kind=kind)

    def save_state(self, key: str, value: Any) -> None:
        """Keep a fact about the run, as JSON; None forgets it."""
        with explained(self._path):
            self._save_state({key: value})

    def load_states(self, start: str) -> dict[str, Any]:
        """What is saved whose names begin with `start`, by name."""
        rows = self._tables.rows("SELECT key, value FROM run WHERE key >= ? AND key < ?", (start, f"{start}\U0010ffff"))
        return {key: json.loads(value) for key, value in rows}

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def _reload(self) -> None:
        self._host_ids.clear()
        self._next_id = self.load_state(_NEXT_ID, 1)
        self._seen.reload()
        self.totals = self.counts()

    def _settle(self, settled: list[tuple[State, int]], state_changes: StateChanges) -> None:
        states = {id_: state for state, id_ in settled}
        if not states:
            return
        ids = json.dumps(list(states))
        (rows,) = self._db.execute(
            "SELECT json_group_array(json_array(id, host, state)) FROM waiting "
            "WHERE id IN (SELECT value FROM json_each(?))",
            (ids,),
        ).fetchone()
        for id_, host, before in json.loads(rows):  # what was settled before is not there
            state_changes[host, before] -= 1
            state_changes[host, states[id_]] += 1
        self._db.execute("DELETE FROM waiting WHERE id IN (SELECT value FROM json_each(?))", (ids,))

    def _take_up(
        self, found: list[Found], state_changes: StateChanges
    ) -> tuple[list[Found], dict[str, list[tuple[int, Found]]]]:
        """Those that are new; what of them waits goes into the queue, and is given with its ids by host."""
        fingerprints = self._seen.unknown([each.url for each in found])
        new = [found[index] for index in fingerprints.values()]
        rows: list[tuple[Any, ...]] = []
        others: list[tuple[Any, ...]] = []
        queued: dict[str, list[tuple[int, Found]]] = {}
        sources = self._sources(new)
        for each in new:
            host = self._host_ids.get(each.host) or self._host_id(each.host)
            state_changes[host, each.state] += 1
            if each.stays:
                if not each.by_policy:
                    queued.setdefault(each.host, []).append((self._next_id, each))
                (others if each.by_policy else rows).append(
                    (
                        self._next_id,
                        host,
                        database.rank(each),
                        *database.split(each),
                        each.depth,
                        each.kind,
                        each.state,
                        each.hops,
                        None if each.found_on is None else sources[each.found_on],
                    )
                )
                self._next_id += 1
        self._insert(rows)
        if others:
            later.add_refused(self._db, others)
        self._seen.add(fingerprints)
        return new, queued

    def _exchange(self, batch: Batch) -> dict[str, dict[int, Any]]:
        """Send what concerns other shards, each URL once; gives what is to be saved."""
        fingerprints = self._seen.unknown([message.url for _, message in batch.messages if message.settles])
        urls = [each for each in batch.messages if each[1].settles]
        new = [urls[index] for index in fingerprints.values()]
        texts = messages.parcels_of(batch.messages, new)
        made = messages.send(self._db, texts)
        self._seen.add(fingerprints)
        messages.forget(self._db, batch.delivered)
        return {
            messages.SENT: self.sent | made,
            messages.SENT_CHAIN: messages.chains(self._sent_chain, texts),
            messages.TAKEN: self.taken | batch.taken,
        }

    def _insert(self, rows: list[tuple[Any, ...]]) -> None:
        """Add rows to `waiting`, many to a statement; of which there are few, so that SQLite has each at hand."""
        start, many = 0, _MOST_ROWS
        while start < len(rows):
            while many > len(rows) - start:
                many //= 2
            values = ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?)"] * many)
            self._db.execute(
                f"INSERT INTO waiting VALUES {values}", list(chain.from_iterable(rows[start : start + many]))
            )
            start += many

    def _sources(self, new: list[Found]) -> dict[str, int]:
        """The ids, new ones, of what named the URLs that are to be kept."""
        named = dict.fromkeys(each.found_on for each in new if each.found_on is not None and each.stays)
        if not named:
            return {}
        (last,) = self._db.execute("SELECT coalesce(max(id), 0) FROM source").fetchone()
        ids = {url: number for number, url in enumerate(named, last + 1)}
        rows = json.dumps([[number, url] for url, number in ids.items()])
        self._db.execute(
            "INSERT INTO source SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?)",
            (rows,),
        )
        return ids

    def _host_id(self, name: str) -> int:
        row = self._db.execute("SELECT id FROM host WHERE name = ?", (name,)).fetchone()
        id_: int | None = row[0] if row else self._db.execute("INSERT INTO host (name) VALUES (?)", (name,)).lastrowid
        assert id_ is not None
        if len(self._host_ids) >= _MOST_HOST_IDS:
            self._host_ids.clear()
        self._host_ids[name] = id_
        return id_

    def _count(self, state_changes: StateChanges) -> None:
        alike: dict[tuple[int, ...], list[int]] = {}  # of most hosts the same number of URLs was settled and found
        for host, changes in sorted(state_changes.by_host().items()):
            alike.setdefault(tuple(changes), []).append(host)
        self._db.executemany(
            "UPDATE host SET unasked = unasked + ?, queued = queued + ?, done = done + ?, refused = refused + ?, "
            "failed = failed + ? WHERE id IN (SELECT value FROM json_each(?))",
            [(*changes, json.dumps(hosts)) for changes, hosts in alike.items()],
        )

    def _save_state(self, state: Mapping[str, Any]) -> None:
        values = json.dumps({key: json.dumps(value) for key, value in state.items() if value is not None})
        self._db.execute("INSERT OR REPLACE INTO run SELECT key, value FROM json_each(?)", (values,))
        if gone := [key for key, value in state.items() if value is None]:
            self._db.execute("DELETE FROM run WHERE key IN (SELECT value FROM json_each(?))", (json.dumps(gone),))
