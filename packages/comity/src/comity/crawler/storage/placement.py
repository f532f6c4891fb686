"""Which shard of a crawl a host belongs to. It stays there for good, so that whoever works the shard keeps the host's
pace without asking anybody.

Where hosts share their pace by address, they are settled first: a name does not say its address, and two lookups of it
need not give the same. So each name has a shard that settles it, the same in every process. URLs of hosts that are not
settled go there as parcels, also its own. It looks the host up, keeps what was found with the commit in which it hands
the URLs on, and they carry it to the shard of that address, which keeps it too. Where no address is found, the name
stands in its place, for good as well.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from comity.domains import registrable
from comity.frontier.committed import FrontierView
from comity.frontier.values import Run
from comity.policy.policy import PaceBy
from comity_pages import urls

_PLACED: Final = "placed {}"  # facts, by number: hosts that a commit settled, and what each shares its pace by


@lru_cache(maxsize=65_536)
def shard_of(host: str, count: int, by: PaceBy = "host") -> int:
    """The shard that a host, or an address, belongs to: the same in every process, version and run.

    `www.example.com` goes where `example.com` goes, since either often leads to the other.
    """
    if count == 1:
        return 0
    key = registrable(host) if by == "domain" else host.removeprefix("www.")
    digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % count


class SettledHosts:
    """What a shard knows of hosts that share their pace by address: what each shares it by."""

    def __init__(self) -> None:
        self._keys: dict[str, str] = {}
        self._new: dict[str, str] = {}
        self._kept = 0  # facts

    def began(self, load_state: Callable[[str], Any]) -> None:
        """Go on with what earlier runs settled."""
        for hosts in _kept(load_state):
            self._keys |= hosts
            self._kept += 1

    def get(self, host: str) -> str | None:
        """The address of a host, or its name where it has none; None if it is not known here."""
        return self._keys.get(host)

    def settle(self, host: str, key: str) -> None:
        """Settle that for good, unless it is."""
        if host not in self._keys:
            self._keys[host] = self._new[host] = key

    def save_state(self) -> dict[str, Any]:
        """What was settled since the last call."""
        if not self._new:
            return {}
        state = {_PLACED.format(self._kept): self._new.copy()}
        self._new.clear()
        self._kept += 1
        return state


@dataclass(frozen=True, slots=True)
class ShardAssignment:
    """One shard among all of its crawl, in a run that works it; None for who only reads. `settled`: hosts that were
    looked up, where they are placed by address."""

    number: int
    count: int
    by: PaceBy = "host"
    run: Run | None = None
    settled: SettledHosts = field(default_factory=SettledHosts)

    @property
    def others(self) -> Iterator[int]:
        return (number for number in range(self.count) if number != self.number)

    def is_settled(self, host: str) -> bool:
        """Whether it is known here what a host is placed by."""
        return self.by != "address" or self.settled.get(host) is not None

    def has_to_settle(self, host: str) -> bool:
        """Whether it is for this shard to settle what a host is placed by, and it has not yet."""
        return self.elsewhere(host) == self.number

    def elsewhere(self, host: str) -> int | None:
        """The shard to which a URL of a host is to go; None where the host belongs to this one. Of a host that is not
        settled, the shard that settles it, which may be this one.
        """
        key = self.settled.get(host) if self.by == "address" else host
        number = shard_of(key or host, self.count, self.by)
        return None if number == self.number and key is not None else number

    def own(self, found: Iterable[str]) -> list[str]:
        """Those of some URLs that this shard is to take up first."""
        return [url for url in found if shard_of(urls.host(url), self.count, self.by) == self.number]


def shard_with(host: str, count: int, by: PaceBy, view_of: Callable[[int], FrontierView | None]) -> int:
    """The number of the shard that a host belongs to, for who only reads. `view_of` opens what a shard keeps; None
    where it has not begun."""
    number = shard_of(host, count, by)
    if by == "address" and (view := view_of(number)) is not None:
        with view:
            number = shard_of(next((hosts[host] for hosts in _kept(view.load_state) if host in hosts), host), count)
    return number


def _kept(load_state: Callable[[str], Any]) -> Iterator[dict[str, str]]:
    number = 0
    while (hosts := load_state(_PLACED.format(number))) is not None:
        yield hosts
        number += 1
