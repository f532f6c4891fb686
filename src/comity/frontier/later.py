"""What a later run may take up: URLs that our own settings keep out of the queue, and the pages visited before.

URLs set aside because of the scope, the policy or the uses that are wanted wait until a run in which these are others
judges them again. Of each page visited the last visit is kept for a refresh: it is appended when its page is committed,
and replaced by a row at the end when the page is visited again. So ids are in the order of the visits, and a refresh
has before it the rows up to the last id that was there when it began.

Everything that changes rows is part of the transaction that is open.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from typing import Final

from comity.frontier.store import POLICY, USAGE, Committed, Store
from comity.frontier.values import EntryKind, State, Visit

_EVERY: Final = (1 << 63) - 1  # beyond the id of any visit

Inside = Callable[[str, int, EntryKind], bool]
"""Whether a URL, found so many links from the start, belongs to the crawl."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of judging again: URLs that left the queue, and those that came back; of the latter how many had been
    counted as refused and failed."""

    left: int = 0
    back: int = 0
    refused: int = 0
    failed: int = 0

    def __add__(self, other: "Judged") -> "Judged":
        return Judged(*map(sum, zip(astuple(self), astuple(other), strict=True)))


class StateChanges(Counter[tuple[int, int]]):
    """Changes of how many URLs of a host are in a state: by the host's id and the state."""

    def of(self, state: State) -> int:
        """Of all hosts together."""
        return sum(change for (_, of), change in self.items() if of == state)

    def by_host(self) -> dict[int, list[int]]:
        """By the host's id, the change of each state."""
        hosts: dict[int, list[int]] = {}
        for (host, state), change in self.items():
            hosts.setdefault(host, [0] * len(State))[state] += change
        return hosts


def judge(
    store: Store, changes: StateChanges, inside: Inside | None, *, policy: bool, usage: bool
) -> tuple[Judged, Judged]:
    """Judge anew what scope, policy and the uses wanted decided: see `rules.DurableFrontier.judge_again`.

    Returns:
        What came of policy and uses, and of the scope.
    """
    back = Judged()
    if policy:  # what the old one set aside is queued again, and so is what was postponed
        back += _bring_back(store, POLICY, changes)
        store.resume(None)
    if usage:
        back += _bring_back(store, USAGE, changes)
    if inside is None:
        return back, Judged()
    found = _move(store, inside, changes, aside=False)
    left = _move(store, lambda *url: not inside(*url), changes, aside=True)
    return back, Judged(left=left, back=found)


def _bring_back(store: Store, why: int, changes: StateChanges) -> Judged:
    counts: Counter[int] = Counter()
    for (host, state), number in store.bring_back(why, State.UNASKED).items():
        changes[host, state] -= number
        changes[host, State.UNASKED] += number
        counts[state] += number
    return Judged(back=counts.total(), refused=counts[State.REFUSED], failed=counts[State.FAILED])


def _move(store: Store, wanted: Inside, changes: StateChanges, *, aside: bool) -> int:
    """Move the rows that are wanted out of the queue, or back; gives how many there were."""
    last = moved = 0
    while rows := store.page(not aside, last):
        last = rows[-1][0]
        chosen = [
            (id_, host, state) for id_, url, depth, kind, host, state in rows if wanted(url, depth, EntryKind(kind))
        ]
        if chosen:
            store.move([id_ for id_, _, _ in chosen], aside=aside)
        for _, host, state in chosen:
            changes[host, state] += -1 if aside else 1
        moved += len(chosen)
    return moved


class Visits:
    """What is known of pages visited, as of the last commit."""

    def __init__(self, committed: Committed) -> None:
        self._committed = committed

    def any(self) -> bool:
        """Whether there is anything to ask for again."""
        return any(self._committed.visits(0, _EVERY, known=known) for known in (True, False))

    def of(self, url: str) -> Visit | None:
        """The last visit of a URL. Asked in a refresh only."""
        return self._committed.visit(url)

    def until(self, last: int) -> Iterator[Visit]:
        """The last visits of what has not been visited since the row `last` was the newest, longest ago first.

        Pages that are known and URLs that have given no page yet take turns, as long as there are both: so a limit
        leaves neither without its share.
        """
        streams = deque((self._until(last, known=True), self._until(last, known=False)))
        while streams:
            stream = streams.popleft()
            if (found := next(stream, None)) is not None:
                yield found
                streams.append(stream)

    def unasked(self, last: int) -> int:
        """How many pages that are known wait still, of those that `until` gives."""
        return self._committed.unasked(last)

    def _until(self, last: int, *, known: bool) -> Iterator[Visit]:
        at = 0
        while found := self._committed.visits(at, last, known=known):
            yield from (visit for _, visit in found)
            at = found[-1][0]
