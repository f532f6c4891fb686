"""Which shard a host belongs to where hosts share their pace by address: settled once, by a lookup, for good.

A name does not say its address, and two lookups of it need not give the same. So each name has a shard that settles
it, the same in every process. URLs of hosts that are not settled go there as parcels, also its own. It looks the host
up, keeps what was found with the commit in which it hands the URLs on, and they carry it to the shard of that address,
which keeps it too. Where no address is found, the name stands in its place, for good as well.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from comity import urls
from comity.crawler.sharding.shards import CrawlManifest, PlacedBy, ShardPlace, shard_of
from comity.frontier import Message, Run
from comity.frontier.committed import FrontierView

_PLACED: Final = "placed {}"
"""Facts, by number: hosts that a commit settled, and what each shares its pace by."""


def place_in(manifest: CrawlManifest, number: int) -> ShardPlace:
    """The place of one shard of a crawl."""
    run = Run(manifest.crawl, manifest.run)
    if manifest.by == "address":
        return PlaceByAddress(number, manifest.shards, run=run)
    return ShardPlace(number, manifest.shards, manifest.by, run)


@dataclass(slots=True)
class PlaceByAddress(ShardPlace):
    """See ShardPlace; here a host belongs where the address belongs that was looked up for it."""

    by: PlacedBy = "address"
    _keys: dict[str, str] = field(default_factory=dict)
    _new: dict[str, str] = field(default_factory=dict)
    _kept: int = 0

    def began(self, load_state: Callable[[str], Any]) -> None:
        """Go on with what earlier runs settled."""
        for hosts in _settled(load_state):
            self._keys |= hosts
            self._kept += 1

    def elsewhere(self, host: str) -> int | None:
        """As of Place; this shard's own number where it is for it to settle the host, and it has not yet."""
        key = self._keys.get(host)
        number = shard_of(key or host, self.count)
        return None if key is not None and number == self.number else number

    def key(self, host: str) -> str | None:
        """What a host shares its pace by: its address, or its name where it has none; None if it is not known here."""
        return self._keys.get(host)

    def addressed(self, message: Message, host: str) -> Message:
        """As of Place: what the host was found to share its pace by. Where that is not known here, the URL may come
        back from the shard that settles it, so it does not count as met.
        """
        pace = self._keys.get(host)
        return replace(message, pace=pace, unplaced=pace is None)

    def has_to_settle(self, host: str) -> bool:
        """As of ShardPlace."""
        return self.elsewhere(host) == self.number

    def settle(self, host: str, key: str) -> None:
        """As of ShardPlace."""
        if host not in self._keys:
            self._keys[host] = self._new[host] = key

    def own(self, found: Iterable[str]) -> list[str]:
        """Those of some URLs that this shard is to take up first."""
        return [url for url in found if shard_of(urls.host(url), self.count) == self.number]

    def save_state(self) -> dict[str, Any]:
        """What was settled since the last call."""
        if not self._new:
            return {}
        state = {_PLACED.format(self._kept): self._new.copy()}
        self._new.clear()
        self._kept += 1
        return state


def _settled(load_state: Callable[[str], Any]) -> Iterator[dict[str, str]]:
    number = 0
    while (hosts := load_state(_PLACED.format(number))) is not None:
        yield hosts
        number += 1


def shard_with(host: str, manifest: CrawlManifest, view_of: Callable[[int], FrontierView | None]) -> int:
    """The number of the shard that a host belongs to.

    Args:
        view_of: opens what a shard keeps; None where it has not begun.
    """
    number = shard_of(host, manifest.shards, manifest.by)
    if manifest.by == "address" and (view := view_of(number)) is not None:
        with view:
            key = next((hosts[host] for hosts in _settled(view.load_state) if host in hosts), host)
        number = shard_of(key, manifest.shards)
    return number
