"""What is decided of all shards of a crawl together, in a folder or in a store: who is granted pages of the limit, who
gives some back, and when the crawl is over.

A shard keeps no more pages than it was granted, so the limit is exact over all of them. What it does not need it gives
back, when another asks; what one had whose worker died comes back too, but for the pages that it has committed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.limits import Spent
from comity.crawler.recrawl import FINISHED
from comity.crawler.snapshot import ShardNow
from comity.frontier import View

_NONE: Final[Mapping[str, int]] = {"number": 0}
LARGEST: Final = 500  # pages granted at once
LEAST_MEMORY: Final = 4 * 1024 * 1024  # bytes of bodies that a shard may hold


def settings_of_shard(settings: CrawlSettings, shards: int) -> dict[str, Any]:
    """The settings of one of several shards, each of which has its part of the memory."""
    memory = min(max(settings.body_memory // shards, LEAST_MEMORY), settings.body_memory)
    its = replace(settings, body_memory=memory)
    return {name: getattr(its, name) for name in CrawlSettings.__dataclass_fields__}


def few(concurrency: int) -> int:
    """Pages that a shard at work may keep beyond those under way, under which it is granted more."""
    return min(concurrency, LARGEST // 4)


def is_needy(now: ShardNow, concurrency: int) -> bool:
    """Whether a shard is to be granted more pages."""
    return now.state == "pages" or (now.state == "working" and now.spare < few(concurrency))


def gives_back(now: ShardNow, concurrency: int) -> bool:
    """Whether a shard gives back pages where others need some and none is left.

    One that has work is about to use them: were it to give back all, nobody would ever keep a page.
    """
    return now.spare > 0 and (now.state in ("resting", "robots") or now.spare > 2 * few(concurrency))


def taken(shards: Mapping[int, ShardNow], seconds: float) -> Spent:
    """What all shards have taken of the limits. `seconds`: that the crawl took."""
    spent = Spent(seconds=seconds)
    spent.pages = sum(now.kept for now in shards.values())
    spent.bytes = sum(now.bytes for now in shards.values())
    return spent


def over(
    shards: Mapping[int, ShardNow], settings: CrawlSettings, spent: Spent, granted: Mapping[int, int], *, free: bool
) -> str | None:
    """Why all shards are to end: a limit is reached, or nothing is left in any of them and nothing between them.

    Args:
        granted: by shard the pages that it may keep, over all runs, where they are limited.
        free: whether there are pages that no shard may keep yet.
    """
    limit = settings.budget.used_up(spent, 0.0)
    if limit is not None:
        return limit
    if not all_at_rest(shards, granted):
        return None
    if any(now.state == "pages" for now in shards.values()) and (free or any(now.spare for now in shards.values())):
        return None  # they are on their way
    return FINISHED


def all_at_rest(shards: Mapping[int, ShardNow], granted: Mapping[int, int]) -> bool:
    """Whether no shard does anything, and none has sent what another has not taken.

    What each says was so at one moment of its own. If it did anything later, it had taken something later, which
    somebody had sent before it said how it stood; and then these numbers would not agree. What one says that does not
    know yet how many pages it may keep does not count.
    """
    if not all(now.rests and now.granted == granted.get(number, now.granted) for number, now in shards.items()):
        return False
    return all(
        shards[receiver].taken.get(sender, 0) == number
        for sender, now in shards.items()
        for receiver, number in now.sent.items()
    )


def spent_by(path: Path, *, refresh: int) -> Spent:
    """What a shard has taken of the limits as it committed last, by its database; no process works it.

    Args:
        refresh: the number of the refresh that the crawl is in; one that the shard has not begun begins with nothing.
    """
    if (view := View.begun(path)) is None:
        return Spent()
    with view:
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

    def share_out(self, shards: Mapping[int, ShardNow], concurrency: int) -> Iterator[tuple[int, tuple[str, Any]]]:
        """What to say to which shard: more is granted where some is needed, and where nothing is left, some asked
        back."""
        needy = [
            now
            for number, now in shards.items()
            if now.granted == self.granted[number] and number not in self.asked_back and is_needy(now, concurrency)
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
