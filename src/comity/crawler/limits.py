"""How much a crawl may take: pages, bytes and seconds, in all and from each host, and bodies held in memory at a time.

It counts what it is told and says whether there is room. Nothing under way is thrown away when bytes or seconds are
used up; the number of pages is kept exactly. Time is an argument.

A body of moderate size always has room in memory. A larger one is read on while there is room, or where it is the
oldest of them: so none is too large to pass, and beyond the limit there are never more than the moderate ones, the
first parts of others and a single large one. Where sites begin large bodies and hold back their ends, large bodies wait
for one another; pages of moderate size pass them by, and none holds its place longer than its request may last.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits; None where there is none."""

    pages: int | None = None
    bytes: int | None = None
    seconds: float | None = None

    def __bool__(self) -> bool:
        return not (self.pages is None and self.bytes is None and self.seconds is None)

    def used_up(self, spent: "Spent", now: float, *, under_way: int = 0) -> str | None:
        """Why nothing more may be started, or None. Each request under way may still become a page."""
        if self.pages is not None and spent.pages + under_way >= self.pages:
            return f"the limit of {self.pages} page{'s' * (self.pages != 1)} is reached"
        if self.bytes is not None and spent.bytes >= self.bytes:
            return f"the limit of {self.bytes} bytes is reached"
        if self.seconds is not None and spent.seconds_at(now) >= self.seconds:
            return f"the limit of {self.seconds:g} seconds is reached"
        return None


@dataclass(slots=True)
class Spent:
    """What was taken so far, over all runs.

    Attributes:
        seconds: of earlier runs.
        lists: sitemaps and feeds asked for.
        since: when the first request of this run was started; None before it.
    """

    pages: int = 0
    bytes: int = 0
    seconds: float = 0.0
    lists: int = 0
    since: float | None = None

    def seconds_at(self, now: float) -> float:
        return self.seconds + (now - self.since if self.since is not None else 0.0)


class Quota:
    """What a crawl and each of its hosts may still take.

    Args:
        load_state: gives back what `save_state` gave under a name in an earlier run, or None. Of hosts only those that
            come up in this run are held in memory, and only where they have limits of their own.
    """

    def __init__(self, total: Budget, each: Budget, load_state: Callable[[str], Any]) -> None:
        self._total = total
        self._each = each
        self._by_host = bool(each)  # asked at every step
        self._load_state = load_state
        self._all = self._loaded("spent")
        self._hosts: dict[str, Spent] = {}
        self._changed: set[str] = set()

    def started(self, host: str, now: float, *, lists: bool = False) -> None:
        """A request to a host begins; `lists`: for a sitemap or a feed."""
        self._all.lists += lists
        if self._all.since is None:
            self._all.since = now
        if self._by_host:
            spent = self._of(host)
            if spent.since is None:
                spent.since = now
            spent.lists += lists
            self._changed.add(host)

    def kept(self, host: str, size: int) -> None:
        """A page of a host was kept; `size` in bytes."""
        self._all.pages += 1
        self._all.bytes += size
        if self._by_host:
            spent = self._of(host)
            spent.pages += 1
            spent.bytes += size
            self._changed.add(host)

    def used_up(self, now: float, *, under_way: int = 0) -> str | None:
        """Why nothing more may be started anywhere, or None."""
        return self._total.used_up(self._all, now, under_way=under_way)

    def used_up_on(self, host: str, now: float, *, under_way: int = 0) -> str | None:
        """Why nothing more may be started on a host, or None."""
        return self._each.used_up(self._of(host), now, under_way=under_way) if self._by_host else None

    def has_room(self, host: str) -> bool:
        """Whether one more page may be kept."""
        return not _full(self._total, self._all) and not (self._by_host and _full(self._each, self._of(host)))

    def room(self, host: str) -> int | None:
        """How many pages more may be kept of a host; None without a limit."""
        rooms = [limit - spent.pages for limit, spent in self._limits(host)]
        return max(min(rooms), 0) if rooms else None

    def lists_left(self, host: str) -> int | None:
        """How many sitemaps and feeds more may be asked for: no more than pages may be kept; None without a limit."""
        left = [limit - spent.lists for limit, spent in self._limits(host)]
        return max(min(left), 0) if left else None

    def _limits(self, host: str) -> list[tuple[int, Spent]]:
        limits = [] if self._total.pages is None else [(self._total.pages, self._all)]
        if self._each.pages is not None:
            limits.append((self._each.pages, self._of(host)))
        return limits

    def deadline(self) -> float | None:
        """When the seconds of the whole crawl end."""
        if self._total.seconds is None or self._all.since is None:
            return None
        return self._all.since + self._total.seconds - self._all.seconds

    def save_state(self, now: float) -> dict[str, Any]:
        """What changed since the last call, by name, to be remembered with what it is about."""
        state = {_name(host): _listed(self._hosts[host], now) for host in self._changed}
        self._changed.clear()
        state["spent"] = _listed(self._all, now)
        return state

    def _of(self, host: str) -> Spent:
        spent = self._hosts.get(host)
        if spent is None:
            spent = self._hosts[host] = self._loaded(_name(host))
        return spent

    def _loaded(self, name: str) -> Spent:
        values = self._load_state(name)
        return Spent(*values) if values else Spent()


def _full(budget: Budget, spent: Spent) -> bool:
    return budget.pages is not None and spent.pages >= budget.pages


def _name(host: str) -> str:
    return f"spent {host}"


def _listed(spent: Spent, now: float) -> list[float]:
    return [spent.pages, spent.bytes, round(spent.seconds_at(now), 3), spent.lists]


MODERATE: Final = 256 * 1024  # bytes


class Memory:
    """The bytes of bodies that one crawl holds, on one event loop.

    Attributes:
        held: bytes of bodies held.
        kept: those of them that wait to be written.
        most_held: the most that there ever were.

    Args:
        limit: bytes of bodies to be held at a time.
        requests: under way at the same time at most; bodies of moderate size take half of the limit.
        wake: called when a body finds no room: what waits should then be written.
    """

    def __init__(self, limit: int, requests: int, wake: Callable[[], None]) -> None:
        self.limit = limit
        self.held = self.kept = self.most_held = 0
        self._moderate = min(MODERATE, limit // (2 * requests))
        self._wake = wake
        self._large: dict[Claim, None] = {}  # bodies of more than moderate size, in the order that they became so
        self._waiting: dict[Claim, asyncio.Future[None]] = {}

    @property
    def is_short(self) -> bool:
        """Whether a body waits for room."""
        return bool(self._waiting)

    def claim(self) -> "Claim":
        """The octets of a body that is still to come."""
        return Claim(self)

    def keep(self, octets: int) -> None:
        """So many octets wait to be written."""
        self.kept += octets
        self._add(octets)

    def written(self, octets: int) -> None:
        """So many octets wait no more."""
        self.kept -= octets
        self._give_back(octets)

    def _add(self, octets: int) -> None:
        self.held += octets
        self.most_held = max(self.most_held, self.held)

    def _give_back(self, octets: int) -> None:
        self.held -= octets
        self._go_on()

    def _go_on(self) -> None:
        """Have the next of those that wait read on, if it may. One at a time: each may take what room there is."""
        for claim in self._large if self._waiting else ():
            future = self._waiting.get(claim)
            if future is not None and not future.done():  # done: it was given up
                if self._has_room(claim):
                    del self._waiting[claim]
                    future.set_result(None)
                return

    def _took(self, claim: "Claim", octets: int) -> bool:
        self._add(octets)
        if claim.octets <= self._moderate:
            return True
        self._large[claim] = None
        self._go_on()
        return self._has_room(claim)

    def _has_room(self, claim: "Claim") -> bool:
        """Whether a large body may be read on."""
        if self.held < self.limit:
            return True
        # What waits to be written is gone soon. Bodies that wait for each other are not.
        return next(iter(self._large)) is claim and self.kept < self.limit // 2

    async def _room(self, claim: "Claim") -> None:
        future = self._waiting[claim] = asyncio.get_running_loop().create_future()
        self._wake()
        try:
            await future
        finally:
            self._waiting.pop(claim, None)


class Claim:
    """The octets of one body that arrives, as the client counts them (see net.Room)."""

    __slots__ = ("_memory", "octets")

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.octets = 0

    def took(self, octets: int) -> bool:
        """So many more octets have come; whether more may be read at once."""
        self.octets += octets
        return self._memory._took(self, octets)

    async def more(self) -> None:
        """Come back when more may be read."""
        await self._memory._room(self)

    def release(self) -> None:
        """The body is held no more, or is counted among those that wait to be written."""
        self._memory._large.pop(self, None)
        octets, self.octets = self.octets, 0
        self._memory._give_back(octets)
