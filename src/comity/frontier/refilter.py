"""URLs that our own settings keep out of the queue, in a run in which these are others.

What scope, policy or the uses that are wanted have set aside is filtered again then, and so is the queue. Everything
that changes rows is part of the transaction that is open.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import astuple, dataclass

from comity.frontier.store import POLICY, USAGE, Store
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
    store: Store, changes: StateChanges, inside: Inside | None, *, policy: bool, usage: bool
) -> tuple[Judged, Judged]:
    """Filter anew what scope, policy and the uses wanted decided: see `rules.DurableFrontier.judge_again`.

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
