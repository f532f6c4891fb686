"""What a frontier needs of what keeps it: a few questions, and changes for many rows at once. Any store that has these
will do; every rule of the frontier stands in rules.py, tables.py, refilter.py and visits.py, over them.

SQLite and PostgreSQL have most of them in the same SQL (tables.py), each the others in its own (queue.py,
postgresql/queue.py). tests/frontier/in_memory.py is the smallest: plain dicts, without SQL.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol

from comity.frontier.values import Batch, Entry, EntryKind, Found, HostCounts, Listed, ListedTable, QueuedURL, Visit

try:
    import orjson
except ImportError:
    orjson = None  # type: ignore[assignment]

LATER: Final = 1 << 40
"""Beyond every rank; a postponed URL has twice as much added to its own."""
SCOPE, POLICY, USAGE = range(3)
"""Why a row is set aside. Its state is that in which it waited (scope), or was counted when it was settled."""
Row = tuple[int, int, int, int, str, int, int, int, int, int | None]
"""A URL as it is queued: id, host, rank, prefix, rest, depth, kind, state, hops, source."""
_KINDS: Final = tuple(EntryKind)
_PREFIXES: Final = ("", "https://", "http://")


def quick(value: Any) -> str:
    """A plain value as JSON, by orjson where it is installed (extra `speed`) and knows the value: for who reads it as
    JSON, and not by its characters. Numbers in it must be finite.
    """
    if orjson is not None:
        try:
            return orjson.dumps(value).decode()
        except TypeError:  # surrogates, keys that are no text, numbers beyond 64 bits
            pass
    return json.dumps(value)


def rank(found: Found) -> int:
    """The place in its host's queue: by priority, then sitemaps before pages. Ids settle the rest."""
    return found.priority * 2 + (found.kind is not EntryKind.SITEMAP)


def split(found: Found) -> tuple[int, str]:
    """A URL without what its host says already: which prefix stood before, and the rest."""
    for number, scheme in enumerate(_PREFIXES[1:], 1):
        if found.url.startswith(prefix := scheme + found.host):
            return number, found.url[len(prefix) :]
    return 0, found.url  # with a user name, for example


def entry_of(host: str, row: Sequence[Any]) -> Entry:
    """An entry of the queue from rank, id, prefix, rest, depth, kind, attempts, hops and found_on."""
    rank, id_, prefix, rest, depth, kind, attempts, hops, found_on = row
    url = (_PREFIXES[prefix] + host if prefix else "") + rest
    return Entry(id_, url, depth, _KINDS[kind], attempts, hops, _priority(rank), found_on)


def _priority(rank: int) -> int:
    return (rank - 2 * LATER if rank >= LATER else rank) >> 1


class Committed(Protocol):
    """What is asked of a store: answered as of the last commit, or, by a Store within a transaction, as of now.

    Raises:
        StorageError: by every method, where the store fails.
    """

    def explained(self) -> AbstractContextManager[None]:
        """Turns the store's own errors into a StorageError that says what to do."""

    def counts(self) -> Sequence[int]:
        """How many URLs are in each state, in the order of State."""

    def hosts(self, after: int) -> Sequence[tuple[int, str]]:
        """Id and name of the next hosts that have URLs waiting, by id; a few at a time, none after the last."""

    def busiest(self, most: int) -> list[HostCounts]:
        """The hosts with most URLs waiting; those with none come last."""

    def host_counts(self, name: str) -> HostCounts | None:
        """One host, or None where it was never met."""

    def fact(self, name: str) -> str | None:
        """What is kept by a name, as text."""

    def facts(self, start: str) -> dict[str, str]:
        """What is kept by names that begin so."""

    def queue(
        self, host: str, most: int, *, but_not: Collection[int], below: int, kind: EntryKind | None
    ) -> list[Entry]:
        """The first URLs of a host's queue, of a kind or of all, by rank and id, without some ids, of ranks under
        `below`."""

    def stands(self, host: str, prefix: int, rest: str) -> QueuedURL | None:
        """How a URL waits, or stands aside."""

    def listed(self, table: ListedTable, sought: str, *, after: int, most: int, looks: int) -> Listed:
        """The URLs of one table, as far as they contain a text.

        Args:
            sought: in lower case; capitals in a URL count as small letters.
            after: id of the row after which to begin; 0 for the first.
            most: URLs that are given, and `looks` rows that are looked at, whatever they hold.
        """

    def visit(self, url: str) -> Visit | None:
        """The last visit of a URL. Asked in a refresh only."""

    def visits(self, after: int, last: int, *, known: bool) -> Sequence[tuple[int, Visit]]:
        """The next visits by id, up to the id `last`: of pages, or of URLs that have given none yet; a few at a time.
        What a sitemap stated of them need not be there."""

    def unasked(self, last: int) -> int:
        """How many pages wait of which there is a visit up to the id `last`."""


class Store(Committed, Protocol):
    """What is changed; all from `meet` on in the transaction that is open."""

    def transaction(self) -> AbstractContextManager[None]:
        """A block that is kept as a whole or not at all."""

    def recall(self) -> None:
        """Hold in memory nothing but what is kept: a transaction may have failed."""

    def tidy(self) -> None:
        """Do what is best done before a transaction."""

    def while_writing(self) -> AbstractContextManager[Any]:
        """A block in which the output is written: what is changed in it need not be done before its end."""

    def committed(self, met: Collection[int]) -> None:
        """Fingerprints were added, and that is durable."""

    def meet(self, urls: list[str]) -> dict[int, int]:
        """Add the fingerprints of URLs that were not met before, each with the index of the first that has it, in
        order."""

    def host_ids(self, names: Sequence[str]) -> Mapping[str, int]:
        """The ids of those hosts that have one."""

    def last_host(self) -> int:
        """The highest id of a host."""

    def add_hosts(self, ids: Mapping[str, int]) -> None:
        """Add hosts, of which nothing is counted yet; `add_sources` what named URLs."""

    def add_sources(self, ids: Mapping[str, int]) -> None: ...

    def count(self, changes: Mapping[int, Sequence[int]]) -> None:
        """Change how many URLs of hosts are in each state, in the order of State."""

    def add(self, rows: Sequence[Row]) -> None:
        """Add URLs to the queue, never tried yet; `add_aside` to what stands aside."""

    def add_aside(self, rows: Sequence[Row], why: int) -> None: ...

    def set_aside(self, ids: Sequence[int], state: int, why: int) -> None:
        """Add a copy of queued rows to what stands aside, in another state; what stands there already stays."""

    def remove(self, ids: list[int]) -> Iterable[tuple[int, int, int]]:
        """Take URLs out of the queue; gives id, host and state of those that were there."""

    def retry(self, ids: Sequence[int], times: int) -> None:
        """Count so many tries more."""

    def postpone(self, ids: Sequence[int]) -> None:
        """Count a try more, and put twice LATER onto the rank, where that is not so yet."""

    def resume(self, hosts: Sequence[int] | None) -> None:
        """Take that off again: of hosts; or of all, whose tries are forgotten then."""

    def bring_back(self, why: int, state: int) -> Mapping[tuple[int, int], int]:
        """Queue what stands aside for a reason, in a state and never tried; gives by host and former state how many
        these were."""

    def page(self, aside: bool, after: int) -> Sequence[tuple[int, str, int, int, int, int]]:
        """The next rows by id, of what stands aside for the scope or of the queue: id, URL, depth, kind, host, state;
        a few at a time."""

    def move(self, ids: Sequence[int], *, aside: bool) -> None:
        """Move rows out of the queue to what stands aside for the scope, or back."""

    def write_visits(self, batch: Batch) -> None:
        """Take up what a batch says of visits."""

    def begin_refresh(self) -> int:
        """Remember what waits with the visits, and forget what was met; gives the id of the last visit."""

    def forget(self, patterns: Iterable[str]) -> None:
        """Forget facts by name; `*` stands for anything."""

    def keep(self, facts: Mapping[str, str]) -> None:
        """Keep facts, as text; `drop` forgets some."""

    def drop(self, names: list[str]) -> None: ...

    def send(self, parcels: Iterable[tuple[int, int, str]]) -> None:
        """Keep parcels: number, receiver and text."""

    def forget_parcels(self, delivered: Mapping[int, int]) -> None:
        """Forget what was taken, by receiver up to which parcel."""
