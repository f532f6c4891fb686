"""How much a crawl may take: pages, bytes and seconds, in all and from each host.

It counts what it is told and says whether there is room. Nothing under way is thrown away when bytes or seconds are
used up; the number of pages is kept exactly. Time is an argument.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

MAX_HOSTS = 20_000  # counted in memory


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

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(*(getattr(self, name) + getattr(other, name) for name in COUNTED))

    def listed(self, now: float) -> list[Any]:
        """As it is remembered."""
        return [round(self.seconds_at(now), 3) if name == "seconds" else getattr(self, name) for name in COUNTED]


COUNTED: Final = tuple(Spent.__dataclass_fields__)[:-1]
GRANTED: Final = "granted"  # the name of the pages that one of several workers may keep


class Budget:
    """Limits, by the name of what Spent counts; None, or none of that name, where there is none."""

    def __init__(self, *, pages: int | None = None, seconds: float | None = None, **others: float | None) -> None:
        self.pages, self.seconds = pages, seconds
        limits = {"pages": pages, **others, "seconds": seconds}
        self._limits = {name: limit for name, limit in limits.items() if limit is not None}

    @classmethod
    def of(cls, settings: Any, each: str = "") -> "Budget":
        """Those that settings have: `max_` before the name, and `each` after it."""
        return cls(**{name: getattr(settings, f"max_{name}{each}", None) for name in COUNTED})

    def __bool__(self) -> bool:
        return bool(self._limits)

    def used_up(self, spent: Spent, now: float, *, under_way: int = 0) -> str | None:
        """The name of the limit that nothing more may be started for, or None. Each request under way may still become
        a page."""
        for name, limit in self._limits.items():
            taken = spent.seconds_at(now) if name == "seconds" else getattr(spent, name)
            if taken + (under_way if name == "pages" else 0) >= limit:
                return name
        return None

    def in_words(self, name: str) -> str:
        """That a limit is used up, for people."""
        if name == GRANTED:
            return "all granted pages are used"
        if (limit := self._limits.get(name)) is None:  # of who had others
            return f"the limit of {name} is reached"
        shown = f"{limit:g}" if isinstance(limit, float) else limit
        return f"the limit of {shown} {name if limit != 1 else name[:-1]} is reached"


class Quota:
    """What a crawl and each of its hosts may still take.

    Attributes:
        spent: what was taken so far, in all.

    Args:
        load_state: gives back what `save_state` gave under a name in an earlier run, or None. Of hosts only those that
            come up in this run are held in memory, and only where they have limits of their own.
        granted: gives how many pages are granted, where several share the limit; None where they do not.
    """

    def __init__(
        self,
        total: Budget,
        each: Budget,
        load_state: Callable[[str], Any],
        granted: Callable[[], int | None] = lambda: None,
    ) -> None:
        self._total = total
        self._each = each
        self._granted = granted
        self._by_host = bool(each)  # asked at every step
        self._load_state = load_state
        self.spent = self._loaded("spent")
        self._hosts: dict[str, Spent] = {}
        self._changed: set[str] = set()

    def started(self, host: str, now: float, *, lists: bool = False) -> None:
        """A request to a host begins; `lists`: for a sitemap or a feed."""
        self.spent.lists += lists
        if self.spent.since is None:
            self.spent.since = now
        if self._by_host:
            spent = self._of(host)
            if spent.since is None:
                spent.since = now
            spent.lists += lists
            self._changed.add(host)

    def kept(self, host: str, size: int) -> None:
        """A page of a host was kept; `size` in bytes."""
        self.spent.pages += 1
        self.spent.bytes += size
        if self._by_host:
            spent = self._of(host)
            spent.pages += 1
            spent.bytes += size
            self._changed.add(host)

    def used_up(self, now: float, *, under_way: int = 0) -> str | None:
        """The name of the limit that nothing more may be started for anywhere, or None."""
        if not self._is_granted(under_way):
            return GRANTED
        return self._total.used_up(self.spent, now, under_way=under_way)

    def used_up_on(self, host: str, now: float, *, under_way: int = 0) -> str | None:
        """The name of the limit that nothing more may be started for on a host, or None."""
        return self._each.used_up(self._of(host), now, under_way=under_way) if self._by_host else None

    def has_room(self, host: str) -> bool:
        """Whether one more page may be kept."""
        return (
            self._is_granted(0)
            and not _full(self._total, self.spent)
            and not (self._by_host and _full(self._each, self._of(host)))
        )

    def _is_granted(self, under_way: int) -> bool:
        granted = self._granted()
        return granted is None or self.spent.pages + under_way < granted

    def room(self, host: str) -> int | None:
        """How many pages more may be kept of a host; None without a limit."""
        limits = self._limits(host)
        return max(min(limit - spent.pages for limit, spent in limits), 0) if limits else None

    def lists_left(self, host: str) -> int | None:
        """How many sitemaps and feeds more may be asked for: no more than pages may be kept; None without a limit."""
        limits = self._limits(host)
        return max(min(limit - spent.lists for limit, spent in limits), 0) if limits else None

    def _limits(self, host: str) -> Sequence[tuple[int, Spent]]:
        if self._total.pages is None and self._each.pages is None:
            return ()
        limits = [] if self._total.pages is None else [(self._total.pages, self.spent)]
        if self._each.pages is not None:
            limits.append((self._each.pages, self._of(host)))
        return limits

    def deadline(self) -> float | None:
        """When the seconds of the whole crawl end."""
        if self._total.seconds is None or self.spent.since is None:
            return None
        return self.spent.since + self._total.seconds - self.spent.seconds

    def save_state(self, now: float) -> dict[str, Any]:
        """What changed since the last call, by name, to be remembered with what it is about."""
        state = {_name(host): self._hosts[host].listed(now) for host in self._changed}
        self._changed.clear()
        if len(self._hosts) > MAX_HOSTS and self._each.seconds is None:  # seconds of this run are known here alone
            self._hosts.clear()  # the others are remembered too
        state["spent"] = self.spent.listed(now)
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
