"""The rules of a frontier that is written to, once for every store: what a commit does, in which order, and what of it
counts from then on.

Changes are handed in as batches. A batch is one transaction together with the lengths that the output files have
reached, so that after a crash files and frontier are brought back to the same instant. What is settled leaves the
queue; that it was met is remembered by a fingerprint, how many there were in its host's counts. What a store has to do
is in store.py; a batch goes to it in few statements, each for many rows.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final, Self

from comity.frontier import messages
from comity.frontier.committed import CommittedFrontier, Visits
from comity.frontier.refilter import Inside, Judged, StateChanges, refilter
from comity.frontier.store import POLICY, USAGE, Changed, Committed, Row, Store, quick, rank, split
from comity.frontier.values import Batch, Found, State

NEXT_ID: Final = "next_id"
NEXT_SOURCE: Final = "next_source"
VISITED_AGAIN: Final = "visited_again"  # the fact that says that a refresh has begun: until then, a URL is visited once
_MAX_HOST_IDS: Final = 1 << 16  # ids of hosts held in memory

ByHost = dict[str, list[tuple[int, Found]]]
"""By host, what a commit added to its queue, in the order found: ids, and what was found."""


@dataclass(slots=True)
class Commit:
    """What a batch comes to, while it is made durable.

    Attributes:
        new: URLs among those found that were new.
        refusals: the records of those of them that are refused.
        queued: see ByHost.
        facts: what is to be saved in the same transaction, by name (None forgets one): the lengths of the output files
            above all.
    """

    new: int
    refusals: list[dict[str, Any]]
    queued: ByHost
    facts: dict[str, Any] = field(default_factory=dict)


class DurableFrontier(CommittedFrontier):
    """A frontier for who works it. `commit` may run in a thread of its own, one at a time; meanwhile what is asked is
    answered from the last commit. A StorageError, by every method, says that the store fails.

    Attributes:
        visits: what is known of pages visited, as of the last commit.
        waiting: gives URLs of a host that wait for their turn, as of Committed.queue.
        totals: how many URLs were in each state when it was opened or last committed; may be read from any thread.
        sent, taken: by shard the last parcel for it, and of it, as last committed (see messages.py).

    Args:
        store: that which is written; `committed` answers meanwhile as of the last commit.
        opened: what is closed with the frontier.
    """

    def __init__(self, store: Store, committed: Committed, opened: ExitStack) -> None:
        super().__init__(committed)
        self._store = store
        self._host_ids: dict[str, int] = {}
        self.totals: dict[State, int] = {}
        self._stale = False  # a commit failed: what memory holds may not be what the store holds
        self._reload()
        self.sent = messages.numbers(self.load_state(messages.SENT))
        self.taken = messages.numbers(self.load_state(messages.TAKEN))
        self._sent_chain: dict[int, str] = messages.numbers(self.load_state(messages.SENT_CHAIN))
        self.visits = Visits(committed)
        self.waiting = committed.queue
        self._open = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @contextmanager
    def commit(self, batch: Batch) -> Iterator[Commit]:
        """Apply a batch, all of it or, where an error is raised, in the block too, nothing: then it can be handed in
        again, after a restart too. In the block all output is made durable, and what is to be saved with it is put into
        `Commit.facts`."""
        with self._transaction():
            changes = StateChanges()
            self._settle(batch, changes)
            self._put_off(batch)
            new, queued = self._take_up(batch.found, batch.again, changes)
            with self._store.while_writing():
                if changes:
                    self._store.count(changes.by_host())
                self._store.write_visits(batch, again=self._visits_again)
                exchanged = self._exchange(batch) if batch.exchanges else {}
                refusals = [found.refusal for found in new if found.refusal is not None]
                commit = Commit(len(new), refusals, queued)
                yield commit
                ids = {NEXT_ID: self._next_id, NEXT_SOURCE: self._next_source}
                _save(self._store, commit.facts | ids | exchanged)
        if exchanged:
            self.sent, self.taken = exchanged[messages.SENT], exchanged[messages.TAKEN]
            self._sent_chain = exchanged[messages.SENT_CHAIN]
        self.totals = {state: self.totals[state] + changes.of(state) for state in State}

    @contextmanager
    def _transaction(self, *, anew: bool = False) -> Iterator[None]:
        """A transaction of the store. `anew`: what memory holds is something else after it."""
        if self._stale:
            self._reload()
        self._stale = True
        with self._store.transaction():
            yield
        if anew:
            self._reload()
        self._stale = False

    def start_refresh(self, *, forget: Iterable[str], save: Callable[[int], dict[str, Any]]) -> None:
        """Forget which URLs were met and what waits, but not which pages were visited: all or nothing. What waits is
        remembered with the visits, as something that is yet to be visited. `forget`, `save`: see `start_refresh` below.
        """
        with self._transaction(anew=True):
            start_refresh(self._store, forget, save)

    def refilter(
        self, inside: Inside | None, *, policy: bool, usage: bool, save: Callable[[Judged, Judged], dict[str, Any]]
    ) -> None:
        """Re-evaluate queued and excluded URLs after scope, policy or usage settings changed: all or nothing.

        Args:
            inside: says whether a URL belongs to the crawl; None where the scope is the same.
            policy: whether the policy is another one. What it had refused, or put off, waits again.
            usage: whether other uses are wanted. What was refused because of them waits again.
            save: is given what came of policy and uses, and of the scope, and returns what to save in the same
                transaction.
        """
        with self._transaction(anew=True):
            changes = StateChanges()
            judged = refilter(self._store, changes, inside, policy=policy, usage=usage)
            if changes:
                self._store.count(changes.by_host())
            _save(self._store, save(*judged))

    def save_state(self, key: str, value: Any) -> None:
        """Keep a fact about the run, as JSON; None forgets it."""
        with self._transaction():
            _save(self._store, {key: value})

    def _reload(self) -> None:
        self._host_ids.clear()
        self._store.reload()
        self._next_id: int = self.load_state(NEXT_ID, 1)
        self._next_source: int = self.load_state(NEXT_SOURCE, 1)
        self._visits_again: bool = self.load_state(VISITED_AGAIN, False)
        self.totals = self.counts()

    def _settle(self, batch: Batch, changes: StateChanges) -> None:
        """What was settled leaves the queue; what our own settings refuse stands aside."""
        states = {id_: state for state, id_ in batch.settled}
        aside: dict[tuple[int | None, State | None], list[int]] = {}
        for state, id_ in batch.by_policy:
            aside.setdefault((POLICY, state), []).append(id_)
        if batch.by_usage:
            aside[USAGE, State.REFUSED] = batch.by_usage
        kept = set(chain.from_iterable(aside.values()))
        aside[None, None] = [id_ for id_ in states if id_ not in kept]
        for (why, state_aside), ids in aside.items():
            for id_, host, before in self._store.remove(ids, why, state_aside) if ids else ():
                changes[host, before] -= 1  # what was settled before is not there
                changes[host, states[id_]] += 1

    def _put_off(self, batch: Batch) -> None:
        """Count tries, put URLs off, and have hosts' put-off URLs come up again."""
        by_times: dict[int, list[int]] = {}
        for id_, times in Counter(batch.retried).items():
            by_times.setdefault(times, []).append(id_)
        for times, ids in by_times.items():
            self._store.retry(ids, times)
        if batch.postponed:
            self._store.retry(batch.postponed, 1, later=True)
        if batch.resumed:
            self._store.resume([self._host_ids[name] for name in self._with_ids(batch.resumed)])

    def _take_up(self, found: list[Found], again: list[Found], changes: StateChanges) -> tuple[list[Found], ByHost]:
        """Those that are new, or to have a turn again; what of them waits goes into the queue, and is given by host."""
        fingerprints = self._store.add_unseen([each.url for each in found])
        new = [found[index] for index in fingerprints.values()] + again
        self._with_ids([each.host for each in new])
        named = dict.fromkeys(each.found_on for each in new if each.found_on is not None and each.stays)
        sources = {url: number for number, url in enumerate(named, self._next_source)}
        if sources:
            self._next_source += len(sources)
            self._store.add_sources(sources)
        rows: list[Row] = []
        refused: list[Row] = []
        queued: ByHost = {}
        ids, number = self._host_ids, self._next_id
        for each in new:
            host = ids[each.host]
            changes[host, each.state] += 1
            if each.stays:
                source = None if each.found_on is None else sources[each.found_on]
                row = number, host, rank(each), *split(each), each.depth, each.kind, each.state, each.hops, source
                (refused if each.by_policy else rows).append(row)
                if not each.by_policy:
                    queued.setdefault(each.host, []).append((number, each))
                number += 1
        self._next_id = number
        if rows:
            self._store.add(rows)
        if refused:
            self._store.add(refused, POLICY)
        return new, queued

    def _with_ids(self, names: Iterable[str]) -> list[str]:
        """Names of hosts, whose ids are in memory then; they are made in the order of the names."""
        wanted = list(dict.fromkeys(names))
        ids = self._host_ids
        unknown = [name for name in wanted if name not in ids]
        if unknown:
            if len(ids) >= _MAX_HOST_IDS:
                unknown = wanted
                ids.clear()
            ids.update(self._store.host_ids(unknown))
        return wanted

    def _exchange(self, batch: Batch) -> dict[str, dict[int, Any]]:
        """Send what concerns other shards, each URL once; gives what is to be saved."""
        urls = [each for each in batch.messages if each[1].settles]
        new = self._store.add_unseen([message.url for _, message in urls]).values()
        texts = messages.parcels_of(batch.messages, [urls[index] for index in new])
        made = {shard: number for number, shard in enumerate(texts, max(self.sent.values(), default=0) + 1)}
        self._store.exchange({made[shard]: (shard, text) for shard, text in texts.items()}, batch.delivered)
        return {
            messages.SENT: self.sent | made,
            messages.SENT_CHAIN: messages.chains(self._sent_chain, texts),
            messages.TAKEN: self.taken | batch.taken,
        }


def start_refresh(store: Changed, forget: Iterable[str], save: Callable[[int], dict[str, Any]]) -> None:
    """Begin a refresh, in the transaction that is open. `forget`: names of what is saved; one that ends with `*` stands
    for all that begin so. `save` is given the id of the last visit and returns what to save in the same transaction."""
    facts = save(store.begin_refresh())
    names = list(forget)
    for name in names:
        if name.endswith("*"):
            store.forget(name[:-1])
    _save(store, {name: None for name in names if not name.endswith("*")} | facts | {VISITED_AGAIN: True})


def _save(store: Changed, facts: Mapping[str, Any]) -> None:
    store.keep(  # texts and counts, of which there are some for each page, need no encoder made for them
        {name: value if value is None else _as_text(value) for name, value in facts.items()}
    )


def _as_text(value: Any) -> str:
    return quick(value) if type(value) in (str, int) else json.dumps(value)
