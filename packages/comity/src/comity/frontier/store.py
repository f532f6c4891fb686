"""Minimal storage interface of a frontier: a few questions, and changes for many rows at once. Every rule of the
frontier stands in rules.py and refilter.py, over these.

SQLite and PostgreSQL have most of them in the same SQL (tables.py), and each the others in its own (sqlite/store.py,
postgresql/store.py). packages/comity/tests/frontier/in_memory.py is the smallest store: plain dicts, without SQL.
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

LATER: Final = 1 << 40  # beyond every rank; a postponed URL has twice as much added to its own
SCOPE, POLICY, USAGE = range(3)
"""Why a row is set aside. Its state is that in which it waited (scope), or was counted when it was settled."""
Row = tuple[int, int, int, int, str, int, int, int, int, int | None]
"""A URL as it is queued: id, host, rank, prefix, rest, depth, kind, state, hops, source."""
QueueRow = tuple[int, str, int, int, int, int]  # a URL that waits or stands aside: id, URL, depth, kind, host, state
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
    priority = (rank - 2 * LATER if rank >= LATER else rank) >> 1
    return Entry(id_, url, depth, _KINDS[kind], attempts, hops, priority, found_on)


class Committed(Protocol):
    """What is asked of a store: answered as of the last commit, or, by a Store within a transaction, as of now. A
    StorageError says that the store fails."""

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
        self, host: str, *, most: int, but_not: Collection[int] = (), below: int = LATER, kind: EntryKind | None = None
    ) -> list[Entry]:
        """The first URLs of a host's queue, of a kind or of all, by rank and id, without some ids, of ranks under
        `below`: without more, those that are not postponed."""

    def queue_entry(self, host: str, prefix: int, rest: str) -> QueuedURL | None:
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


class Changed(Committed, Protocol):
    """What is changed, in the transaction that is open."""

    def host_ids(self, names: Sequence[str]) -> Mapping[str, int]:
        """The ids of hosts. Those that have none are given the next ones in order, and nothing is counted of them."""

    def add_sources(self, ids: Mapping[str, int]) -> None:
        """Add URLs of what named others, with their ids."""

    def add(self, rows: Sequence[Row], why: int | None = None) -> None:
        """Add URLs, never tried yet, to the queue; or, where it is said why, to what stands aside."""

    def remove(
        self, ids: Sequence[int], why: int | None = None, state: int | None = None
    ) -> Iterable[tuple[int, int, int]]:
        """Take URLs out of the queue; gives id, host and state of those that were there. `why`: they are to stand aside
        for that, in `state`, or where none is given in the one that they are in."""

    def bring_back(self, ids: Sequence[int], state: int | None = None) -> None:
        """Queue again what stands aside; with a state, as never tried and in that."""

    def retry(self, ids: Sequence[int], times: int, *, later: bool = False) -> None:
        """Count so many tries more of what is not postponed; `later`: postpone it, by twice LATER onto its rank."""

    def resume(self, hosts: Sequence[int] | None) -> None:
        """Take that off again: of hosts; or of all, whose tries are forgotten then."""

    def page(self, why: int | None, after: int) -> Sequence[QueueRow]:
        """The next URLs by id, of the queue or of what stands aside for a reason; a few at a time."""

    def count(self, changes: Mapping[int, Sequence[int]]) -> None:
        """Change how many URLs of hosts are in each state, in the order of State."""

    def write_visits(self, batch: Batch, *, again: bool) -> None:
        """Take up what a batch says of visits. `again`: a URL may have been visited before, and what it says takes the
        place of that, at the end; what is only owed leaves it."""

    def begin_refresh(self) -> int:
        """Remember what waits with the visits, and forget what was met; gives the id of the last visit."""

    def keep(self, facts: Mapping[str, str | None]) -> None:
        """Keep facts, as text, by name; None forgets one."""

    def forget(self, start: str) -> None:
        """Forget the facts whose names begin so."""


class Store(Changed, Protocol):
    """What a frontier lies in. `add_unseen` and `exchange` are changes too."""

    def transaction(self) -> AbstractContextManager[None]:
        """A block that is kept as a whole or not at all; what the store cannot do in it is raised as a StorageError."""

    def reload(self) -> None:
        """Hold in memory nothing but what is kept: a transaction has failed, or the seen set is another one."""

    def while_writing(self) -> AbstractContextManager[Any]:
        """A block in which the output is written: what is changed in it need not be done before its end."""

    def add_unseen(self, urls: list[str]) -> dict[int, int]:
        """Add URLs to the seen set; gives the fingerprints that were not in it, each with the index of the first URL
        that has it, in order."""

    def exchange(self, parcels: Mapping[int, tuple[int, str]], delivered: Mapping[int, int]) -> None:
        """Keep parcels, by number with receiver and text; forget those that were taken, by receiver up to which."""
