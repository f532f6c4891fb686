"""The smallest store that a frontier may lie in: plain dicts, gone with the process. It proves that the interface is
one (comity/frontier/store.py), and another store may start from it.
"""

import json
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from comity.errors import StorageError
from comity.frontier.committed import FrontierView
from comity.frontier.rules import DurableFrontier
from comity.frontier.store import LATER, POLICY, SCOPE, USAGE, Row, entry_of
from comity.frontier.values import Batch, Entry, EntryKind, HostCounts, Listed, ListedTable, QueuedURL, State, Visit

PREFIXES = ("", "https://", "http://")
WHY: Any = {None: None, SCOPE: "scope", POLICY: "policy", USAGE: "usage"}


@dataclass
class Queued:
    """A URL that waits, or stands aside for a reason."""

    host: int
    rank: int
    prefix: int
    rest: str
    depth: int
    kind: int
    state: int
    hops: int
    source: int | None
    attempts: int = 0
    why: int | None = None


@dataclass
class Tables:
    """All that is kept."""

    hosts: dict[str, int] = field(default_factory=dict)
    counts: dict[int, list[int]] = field(default_factory=dict)
    waiting: dict[int, Queued] = field(default_factory=dict)
    aside: dict[int, Queued] = field(default_factory=dict)
    sources: dict[int, str] = field(default_factory=dict)
    met: dict[str, int] = field(default_factory=dict)
    visits: dict[str, tuple[int, Visit]] = field(default_factory=dict)
    visited: int = 0
    facts: dict[str, str] = field(default_factory=dict)
    parcels: dict[int, tuple[int, str]] = field(default_factory=dict)


class InMemory:
    """What is asked: see Committed."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def counts(self) -> list[int]:
        return [sum(its[state] for its in self.tables.counts.values()) for state in State]

    def hosts(self, after: int) -> list[tuple[int, str]]:
        return [
            (id_, name) for name, id_ in self.tables.hosts.items() if id_ > after and sum(self.tables.counts[id_][:2])
        ]

    def busiest(self, most: int) -> list[HostCounts]:
        found = [counts for name in self.tables.hosts if (counts := self.host_counts(name)) is not None]
        return sorted(found, key=lambda each: -each.waiting)[:most]

    def host_counts(self, name: str) -> HostCounts | None:
        if (its := self.tables.counts.get(self.tables.hosts.get(name, 0))) is None:
            return None
        return HostCounts(name, its[0] + its[1], *its[2:])

    def fact(self, name: str) -> str | None:
        return self.tables.facts.get(name)

    def facts(self, start: str) -> dict[str, str]:
        return {name: text for name, text in self.tables.facts.items() if name.startswith(start)}

    def queue(
        self, host: str, *, most: int, but_not: Collection[int] = (), below: int = LATER, kind: EntryKind | None = None
    ) -> list[Entry]:
        number = self.tables.hosts.get(host)
        found = sorted(
            (each.rank, id_)
            for id_, each in self.tables.waiting.items()
            if each.host == number and each.rank < below and kind in (None, each.kind) and id_ not in but_not
        )
        return [self._entry(host, id_) for _, id_ in found[:most]]

    def queue_entry(self, host: str, prefix: int, rest: str) -> QueuedURL | None:
        place = self.tables.hosts.get(host), prefix, rest
        for each in (*self.tables.waiting.values(), *self.tables.aside.values()):
            if (each.host, each.prefix, each.rest) == place:
                return self._standing(each)
        return None

    def listed(self, table: ListedTable, sought: str, *, after: int, most: int, looks: int) -> Listed:
        rows: dict[int, Any] = dict(self.tables.visits.values())
        if table != "visit":
            rows = self.tables.waiting if table == "waiting" else self.tables.aside
        found: list[tuple[int, str, Any]] = []
        looked = sorted(id_ for id_ in rows if id_ > after)[:looks]
        for count, id_ in enumerate(looked, 1):
            its = rows[id_]
            url = its.url if table == "visit" else self._url(its)
            if sought in url.lower() and (its.digest is not None if table == "visit" else its.why in (None, SCOPE)):
                found.append((id_, url, its if table == "visit" else self._standing(its)))
            if len(found) == most:
                return Listed(found, id_, count)
        return Listed(found, looked[-1] if len(looked) == looks else None, len(looked))

    def visit(self, url: str) -> Visit | None:
        return self.tables.visits.get(url, (0, None))[1]

    def visits(self, after: int, last: int, *, known: bool) -> list[tuple[int, Visit]]:
        return [
            (id_, visit)
            for id_, visit in self.tables.visits.values()
            if after < id_ <= last and (visit.digest is not None) == known
        ]

    def unasked(self, last: int) -> int:
        known = {visit.url for _, visit in self.visits(0, last, known=True)}
        return sum(each.kind == EntryKind.PAGE and self._url(each) in known for each in self.tables.waiting.values())

    def _standing(self, its: Queued) -> QueuedURL:
        found_on = self.tables.sources.get(its.source or 0)
        return QueuedURL(State(its.state), its.rank >= LATER, WHY[its.why], its.depth, its.attempts, found_on)

    def _entry(self, host: str, id_: int) -> Entry:
        its = self.tables.waiting[id_]
        found_on = self.tables.sources.get(its.source or 0)
        return entry_of(
            host, (its.rank, id_, its.prefix, its.rest, its.depth, its.kind, its.attempts, its.hops, found_on)
        )

    def _url(self, its: Queued) -> str:
        host = next(name for name, id_ in self.tables.hosts.items() if id_ == its.host)
        return (PREFIXES[its.prefix] + host if its.prefix else "") + its.rest


class MemoryTables(InMemory):
    """What is changed: see Store. `last` answers as of the last commit.

    Args:
        tables: as they were committed last.
    """

    def __init__(self, tables: Tables) -> None:
        super().__init__(deepcopy(tables))
        self.last = InMemory(tables)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        before = deepcopy(self.tables)
        try:
            yield
        except BaseException:
            self.tables = before
            raise
        vars(self.last.tables).update(vars(deepcopy(self.tables)))

    def reload(self) -> None:
        pass

    def while_writing(self) -> AbstractContextManager[None]:
        return nullcontext()

    def add_unseen(self, urls: list[str]) -> dict[int, int]:
        found = {}
        for index, url in enumerate(urls):
            if url not in self.tables.met:
                number = self.tables.met[url] = len(self.tables.met)
                found[number] = index
        return found

    def host_ids(self, names: Sequence[str]) -> dict[str, int]:
        for name in names:
            self.tables.counts.setdefault(
                self.tables.hosts.setdefault(name, len(self.tables.hosts) + 1), [0] * len(State)
            )
        return {name: self.tables.hosts[name] for name in names}

    def add_sources(self, ids: Mapping[str, int]) -> None:
        self.tables.sources |= {id_: url for url, id_ in ids.items()}

    def count(self, changes: Mapping[int, Sequence[int]]) -> None:
        for id_, its in changes.items():
            self.tables.counts[id_] = [one + other for one, other in zip(self.tables.counts[id_], its, strict=True)]

    def add(self, rows: Sequence[Row], why: int | None = None) -> None:
        table = self.tables.waiting if why is None else self.tables.aside
        table |= {row[0]: Queued(*row[1:], why=why) for row in rows}

    def remove(
        self, ids: Sequence[int], why: int | None = None, state: int | None = None
    ) -> list[tuple[int, int, int]]:
        gone = {id_: self.tables.waiting.pop(id_) for id_ in ids if id_ in self.tables.waiting}
        if why is not None:
            for id_, its in gone.items():
                self.tables.aside[id_] = replace(its, why=why, state=its.state if state is None else state)
        return [(id_, its.host, its.state) for id_, its in gone.items()]

    def bring_back(self, ids: Sequence[int], state: int | None = None) -> None:
        for id_ in ids:
            its = replace(self.tables.aside.pop(id_), why=None)
            self.tables.waiting[id_] = its if state is None else replace(its, state=state, attempts=0)

    def retry(self, ids: Sequence[int], times: int, *, later: bool = False) -> None:
        for id_ in ids:
            its = self.tables.waiting.get(id_)
            if its is not None and its.rank < LATER:
                its.rank += 2 * LATER * later
                its.attempts += times

    def resume(self, hosts: Sequence[int] | None) -> None:
        for its in self.tables.waiting.values():
            if its.rank >= LATER and (hosts is None or its.host in hosts):
                its.rank -= 2 * LATER
                its.attempts = 0 if hosts is None else its.attempts

    def page(self, why: int | None, after: int) -> list[tuple[int, str, int, int, int, int]]:
        rows = self.tables.waiting if why is None else self.tables.aside
        return [
            (id_, self._url(its), its.depth, its.kind, its.host, its.state)
            for id_, its in sorted(rows.items())
            if id_ > after and its.why == why
        ]

    def write_visits(self, batch: Batch, *, again: bool) -> None:
        for visit in batch.visits:
            self.tables.visits.pop(visit.url, None)
            self._visit(visit)
        for url, depth, found_on in batch.owed:
            if url not in self.tables.visits:
                self._visit(Visit(url, depth, found_on=found_on))
        for url in batch.gone:
            self.tables.visits.pop(url, None)
        for stated, url in batch.stated:
            if url in self.tables.visits:
                id_, visit = self.tables.visits[url]
                self.tables.visits[url] = id_, replace(visit, stated=stated)

    def _visit(self, visit: Visit) -> None:
        self.tables.visited += 1
        self.tables.visits[visit.url] = self.tables.visited, visit

    def begin_refresh(self) -> int:
        its = self.tables
        its.visits = {url: (id_, replace(visit, stated=None)) for url, (id_, visit) in its.visits.items()}
        for each in (*its.waiting.values(), *its.aside.values()):
            if each.kind == EntryKind.PAGE and (url := self._url(each)) not in its.visits:
                self._visit(Visit(url, each.depth, found_on=its.sources.get(each.source or 0)))
        for table in (its.waiting, its.aside, its.sources, its.met):
            table.clear()
        its.counts = {id_: [0] * len(State) for id_ in its.counts}
        return its.visited

    def keep(self, facts: Mapping[str, str | None]) -> None:
        assert all(text is None or json.loads(text) is not None for text in facts.values())
        self.tables.facts = {name: text for name, text in (self.tables.facts | facts).items() if text is not None}

    def forget(self, start: str) -> None:
        self.tables.facts = {name: text for name, text in self.tables.facts.items() if not name.startswith(start)}

    def exchange(self, parcels: Mapping[int, tuple[int, str]], delivered: Mapping[int, int]) -> None:
        kept = (self.tables.parcels | parcels).items()
        self.tables.parcels = {n: each for n, each in kept if n > delivered.get(each[0], 0)}


class MemoryStore:
    """Where one crawl lies: what is written outlives the frontier, and not the process."""

    def __init__(self) -> None:
        self.tables = Tables()
        self.lock = threading.Lock()

    def open(self) -> DurableFrontier:
        if not self.lock.acquire(blocking=False):
            raise StorageError("the store is in use by another crawl")
        with ExitStack() as stack:
            stack.callback(self.lock.release)
            store = MemoryTables(self.tables)
            return DurableFrontier(store, store.last, stack)

    def view(self) -> FrontierView:
        return FrontierView(InMemory(deepcopy(self.tables)), nullcontext())
