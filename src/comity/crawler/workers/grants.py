"""The limit on pages, shared out among the shards of a crawl so that it is exact over all of them.

A shard keeps no more pages than it was granted. What it does not need it gives back, when another asks; what one had
whose worker died comes back too, but for the pages that it has committed.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from comity.crawler.limits import Spent
from comity.crawler.snapshot import ShardNow
from comity.frontier import View, has_begun

_NONE: Final[Mapping[str, int]] = {"number": 0}
LARGEST: Final = 500  # pages granted at once


def spent_by(path: Path, *, refresh: int) -> Spent:
    """What a shard has taken of the limits as it committed last, by its database; no process works it.

    Args:
        refresh: the number of the refresh that the crawl is in; one that the shard has not begun begins with nothing.
    """
    if not has_begun(path):
        return Spent()
    with View(path) as view:
        refreshed, values = (view.load_state("refresh") or _NONE)["number"], view.load_state("spent")
    return Spent(*values) if values and refreshed == refresh else Spent()


class Grants:
    """What no shard may keep yet, and up to how many pages each may, over all runs.

    Attributes:
        pool: pages that are granted to nobody.
        granted: by shard.
        asked_back: shards that were asked to give back what they do not need, and have not answered yet.

    Args:
        most: pages of the whole crawl.
        kept: by shard, in earlier runs.
    """

    def __init__(self, most: int, kept: Mapping[int, int]) -> None:
        self.pool = most - sum(kept.values())
        first = max(self.pool, 0) // (2 * len(kept))
        self.pool -= first * len(kept)
        self.granted = {number: pages + first for number, pages in kept.items()}
        self.asked_back: set[int] = set()

    def gave(self, number: int, granted: int) -> None:
        """A shard may keep so many pages from now on, and no more: the rest is free."""
        self.pool += self.granted[number] - granted
        self.granted[number] = granted
        self.asked_back.discard(number)

    def share_out(self, shards: Mapping[int, ShardNow], *, few: int) -> Iterator[tuple[int, tuple[str, Any]]]:
        """What to say to which shard: more is granted where some is needed, and where nothing is left, some asked back.

        Args:
            few: pages that a shard at work may keep beyond those under way, under which it is granted more.
        """
        few = min(few, LARGEST // 4)
        needy = [
            now
            for number, now in shards.items()
            if now.granted == self.granted[number]
            and number not in self.asked_back
            and (now.state == "pages" or (now.state == "working" and now.spare < few))
        ]
        for now in needy:
            if self.pool <= 0:
                break
            pages = max(1, min(self.pool // (2 * len(self.granted)), LARGEST))
            self.pool -= pages
            self.granted[now.number] += pages
            yield now.number, ("grant", {now.number: self.granted[now.number]})
        if self.pool <= 0 and not self.asked_back and any(now.state == "pages" for now in needy):
            richest = max(shards.values(), key=lambda now: (now.state not in ("pages", "down"), now.spare))
            if richest.spare > 0 and richest.state not in ("pages", "down"):
                self.asked_back.add(richest.number)
                yield richest.number, ("give back", richest.number)
