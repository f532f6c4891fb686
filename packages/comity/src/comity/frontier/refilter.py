"""URLs that our own settings keep out of the queue, in a run in which these are others: what scope, policy or the uses
that are wanted have set aside is filtered again then, and so is the queue, in the transaction that is open."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass

from comity.frontier.store import POLICY, SCOPE, USAGE, Changed, QueueRow
from comity.frontier.values import EntryKind, State

Inside = Callable[[str, int, EntryKind], bool]
"""Whether a URL, found so many links from the start, belongs to the crawl."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of filtering again: URLs that left the queue, and those that came back; of the latter how many had been
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


def refilter(
    store: Changed, changes: StateChanges, inside: Inside | None, *, policy: bool, usage: bool
) -> tuple[Judged, Judged]:
    """Re-evaluate queued and excluded URLs after scope, policy or usage settings changed (see
    `rules.DurableFrontier.refilter`); gives what came of policy and uses, and of the scope."""
    back = Judged()
    if policy:  # what the old one set aside is queued again, and so is what was postponed
        back += _bring_back(store, POLICY, changes)
        store.resume(None)
    if usage:
        back += _bring_back(store, USAGE, changes)
    if inside is None:
        return back, Judged()
    found = left = 0
    for rows in _pages(store, SCOPE):
        if chosen := [row for row in rows if inside(*row[1:3], EntryKind(row[3]))]:
            store.bring_back([row[0] for row in chosen])
            found += len(chosen)
            changes.update((host, state) for *_, host, state in chosen)
    for rows in _pages(store, None):
        if chosen := [row for row in rows if not inside(*row[1:3], EntryKind(row[3]))]:
            store.remove([row[0] for row in chosen], SCOPE)
            left += len(chosen)
            changes.subtract((host, state) for *_, host, state in chosen)
    return back, Judged(left=left, back=found)


def _bring_back(store: Changed, why: int, changes: StateChanges) -> Judged:
    counts: Counter[int] = Counter()
    for rows in _pages(store, why):
        store.bring_back([row[0] for row in rows], State.UNASKED)
        for *_, host, state in rows:
            changes[host, state] -= 1
            changes[host, State.UNASKED] += 1
            counts[state] += 1
    return Judged(back=counts.total(), refused=counts[State.REFUSED], failed=counts[State.FAILED])


def _pages(store: Changed, why: int | None) -> Iterator[Sequence[QueueRow]]:
    """All rows of the queue, or of what stands aside for a reason, some at a time."""
    last = 0
    while rows := store.page(why, last):
        last = rows[-1][0]
        yield rows
