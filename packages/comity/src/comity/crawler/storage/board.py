"""The board of a crawl of several shards: who has which, how many pages each may keep, and when the crawl is over. Its
rules are the same wherever it is kept: in the process that started the workers, or in a store. A worker says a few
times a second how its shards stand and what they need, and is answered.

A shard keeps no more pages than it was granted, so the limit is exact over all of them. What it does not need it gives
back, when another asks; what one had whose worker died is granted to who has the shard next.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.finding.limits import Spent
from comity.crawler.observe.snapshot import ShardState, ShardStatus
from comity.crawler.storage.crawl_output import FINISHED
from comity_robots.fields import MIB

MAX_PAGES_GRANTED: Final = 500  # pages granted at once
MIN_BODY_BYTES: Final = 4 * MIB  # bytes of bodies that a shard may hold
_AT_REST: Final = ("resting", "robots", "pages", "ended")


def settings_of_shard(settings: CrawlSettings, shards: int) -> CrawlSettings:
    """The settings of one of several shards, each of which has its part of the memory."""
    memory = min(max(settings.body_memory // shards, MIN_BODY_BYTES), settings.body_memory)
    return replace(settings, body_memory=memory)


@dataclass(frozen=True, slots=True)
class ShardRow:
    """One shard, as everybody sees it.

    Attributes:
        token: of whoever had it last: each time another.
        holder: who has it; None where nobody has.
        renewal: of a lease, how often it was taken and renewed.
        granted: pages that it may keep over all runs; None without a limit.
        now: what its holder said of it last.
    """

    number: int
    token: int = 0
    holder: str | None = None
    renewal: int = 0
    granted: int | None = None
    now: ShardStatus = field(default_factory=lambda: ShardStatus(0))


@dataclass(slots=True)
class Heartbeat:
    """What a worker says of its shards and asks.

    Attributes:
        statuses: by shard its token, and its status.
        quota_requests: shards and tokens of those that ask for more pages.
        returned: shards and tokens, and the pages that they may keep from now on.
        processed: by receiver of ours that has room for more, and sender, the parcel processed last.
        busy: shards that are not to be had now.
        take: whether to take shards.
    """

    statuses: dict[int, tuple[int, ShardStatus]] = field(default_factory=dict)
    quota_requests: list[tuple[int, int]] = field(default_factory=list)
    returned: list[tuple[int, int, int]] = field(default_factory=list)
    processed: dict[int, Mapping[int, int]] = field(default_factory=dict)
    busy: frozenset[int] = frozenset()
    take: bool = True

    @property
    def shares(self) -> list[tuple[int, int, int | None]]:
        """Shards and tokens of those whose part of the limit is to change: as of `adjusted_quota`."""
        return [*self.returned, *((number, token, None) for number, token in self.quota_requests)]


@dataclass(slots=True)
class HeartbeatReply:
    """What a worker is told.

    Attributes:
        granted: by shard of ours the pages that it may keep over all runs.
        lacking: whether others need pages of the limit, and none is left.
        enough: how many shards to keep, where others have fewer than their share and none is free; else None.
        ended: why all shards are to end; None where they are not.
        over: whether all have.
        taken: shards that are ours from now on, and their tokens.
        mail: senders and receivers of ours between which parcels wait.
        delivered: by sender of ours and receiver, the parcel taken last.
    """

    granted: dict[int, int] = field(default_factory=dict)
    lacking: bool = False
    enough: int | None = None
    ended: str | None = None
    over: bool = False
    taken: list[tuple[int, int]] = field(default_factory=list)
    mail: list[tuple[int, int]] = field(default_factory=list)
    delivered: dict[tuple[int, int], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BoardState:
    """All shards at one instant: how many workers there are, the pages that are granted to no shard (None without a
    limit), and the seconds that the crawl took."""

    rows: Sequence[ShardRow]
    members: int
    pool: int | None
    ended: str | None
    seconds: float

    def why_over(self, settings: CrawlSettings) -> str | None:
        """Why all shards are to end: the name of a limit that is reached, or FINISHED, where nothing is left in any of
        them and nothing between them."""
        spent = replace(sum((row.now.spent for row in self.rows), Spent()), seconds=self.seconds)
        if (limit := settings.budget.used_up(spent, 0.0)) is not None:
            # No shard keeps a page more then, but it may still fetch what its pages need.
            return limit if limit != "pages" or settings.requisites == "none" or self._all_rest() else None
        if not self._all_rest():
            return None
        wanted = any(row.now.state == "pages" for row in self.rows)
        if wanted and (self.pool or any(row.now.spare for row in self.rows)):
            return None  # they are on their way
        return FINISHED

    def _all_rest(self) -> bool:
        """Whether no shard does anything, and none has sent what another has not taken.

        What each says was so at one moment of its own. If it did anything later, it had taken something later, which
        somebody had sent before it said how it stood; and then these numbers would not agree. What one says that does
        not know yet how many pages it may keep does not count.
        """
        if not all(row.now.rests and (self.pool is None or row.now.granted == row.granted) for row in self.rows):
            return False
        now = {row.number: row.now for row in self.rows}
        return all(
            now[receiver].taken.get(row.number, 0) == number
            for row in self.rows
            for receiver, number in row.now.sent.items()
        )

    def answer(self, holder: str, asked: Heartbeat) -> HeartbeatReply:
        """What one worker is told of that."""
        ours = {row.number: row for row in self.rows if row.number in asked.statuses}
        reply = HeartbeatReply(ended=self.ended, over=all(row.now.state == "ended" for row in self.rows))
        if self.pool is not None:
            reply.granted = {
                number: row.granted or 0 for number, row in ours.items() if row.token == asked.statuses[number][0]
            }
            reply.lacking = self.pool == 0 and any(row.now.state == "pages" for row in self.rows)
        reply.enough = self._enough() if self.ended is None else None
        reply.mail = [
            (row.number, receiver)
            for row in self.rows
            for receiver, number in row.now.sent.items()
            if receiver in asked.processed and number > asked.processed[receiver].get(row.number, 0)
        ]
        reply.delivered = {
            (sender, row.number): number
            for row in self.rows
            for sender, number in row.now.taken.items()
            if sender in ours
        }
        return reply

    def to_take(self, holder: str, asked: Heartbeat, held: Collection[int]) -> list[ShardRow]:
        """Shards that a worker may take beside those `held`: unheld shards, and shards held by this worker
        whose grant it never received."""
        free = [row for row in self.rows if row.holder in (None, holder) and row.now.state != "ended"]
        return [row for row in free if row.number not in asked.busy and row.number not in held][: self.room(len(held))]

    def room(self, held: int) -> int:
        """How many shards more a worker may take that has some: up to its share, and one more than others once each of
        them has its share. Else who lets one go would take it again before another does.
        """
        share = len(self.rows) // max(self.members, 1)
        most = -(-len(self.rows) // max(self.members, 1)) if self._served(share) >= self.members else share
        return max(most - held, 0)

    def _served(self, share: int) -> int:
        """How many workers have so many shards."""
        if share == 0:
            return self.members
        return sum(number >= share for number in Counter(row.holder for row in self.rows if row.holder).values())

    def _enough(self) -> int | None:
        """How many shards are enough for a worker, where another has fewer and none is free."""
        share = len(self.rows) // max(self.members, 1)
        uneven = all(row.holder for row in self.rows) and self._served(share) < self.members
        return share if uneven else None


def few(concurrency: int) -> int:
    """Pages that a shard at work may keep beyond those under way, under which it is granted more."""
    return min(concurrency, MAX_PAGES_GRANTED // 4)


def needs_quota(now: ShardStatus, concurrency: int) -> bool:
    """Whether a shard is to be granted more pages."""
    return now.state == "pages" or (now.state == "working" and now.spare < few(concurrency))


def releases_quota(now: ShardStatus, concurrency: int) -> bool:
    """Whether a shard gives back pages where others need some and none is left.

    One that has work is about to use them: were it to give back all, nobody would ever keep a page.
    """
    return now.spare > 0 and (now.state in ("resting", "robots") or now.spare > 2 * few(concurrency))


def adjusted_quota(pool: int, granted: int, shards: int, kept: int | None) -> tuple[int, int]:
    """The pool, and the pages that a shard may keep, once its part of the limit has changed. `kept`: of one that gives
    back, how many it may keep from now on; None: it needs more, and is granted a part of the pool."""
    more = min(pool, max(1, min(pool // (2 * shards), MAX_PAGES_GRANTED))) if kept is None else kept - granted
    return pool - more, granted + more


def seconds_of(rows: Iterable[ShardRow], since: Mapping[int, float], earlier: float) -> float:
    """Seconds that a crawl took: as long as the shard that ran longest in this run, and what earlier ones took.
    `since`: by shard the seconds that it had run when this run began."""
    return earlier + max(max(row.now.spent.seconds - since.get(row.number, 0.0), 0.0) for row in rows)


def urls_left(waiting: int, statuses: Iterable[ShardStatus], pending: Mapping[int, int]) -> int:
    """URLs that are left: those that wait, without what was put off and is counted, and those between shards."""
    return max(waiting - sum(now.stats.postponed for now in statuses), 0) + sum(pending.values())


def unassigned(now: ShardStatus) -> ShardStatus:
    """How a shard stands that nobody has: what its worker did nobody does."""
    return now if now.state in _AT_REST else replace(now, state="down", until=0.0, spare=0)


class Board(ABC):
    """The board of a crawl, wherever it is kept: in memory (below), or in a store (in_store.py)."""

    def __init__(self, settings: CrawlSettings) -> None:
        self._settings = settings

    def round(self, holder: str, asked: Heartbeat) -> HeartbeatReply:
        """A worker says how its shards stand, and is answered."""
        self._note(holder, asked.statuses)
        for number, token, kept in asked.shares:
            self._share(holder, number, token, kept)
        state = self.status()
        if state.ended is None and (why := state.why_over(self._settings)) is not None:
            self._end(why)
            state = replace(state, ended=why)
        answer = state.answer(holder, asked)
        if asked.take:
            answer.taken = self._take(state, holder, asked)
        return answer

    @abstractmethod
    def status(self) -> BoardState:
        """All shards as they stand."""

    @abstractmethod
    def release(self, holder: str, number: int, token: int, state: ShardState, now: ShardStatus) -> None:
        """A worker has done with a shard: another may have it at once."""

    @abstractmethod
    def _note(self, holder: str, statuses: Mapping[int, tuple[int, ShardStatus]]) -> None:
        """A worker takes part still, and says how its shards stand: by number the token, and that."""

    @abstractmethod
    def _share(self, holder: str, number: int, token: int, kept: int | None) -> None:
        """The part of the limit that a shard has changes: see `adjusted_quota`."""

    @abstractmethod
    def _end(self, why: str) -> None:
        """All shards are to end."""

    @abstractmethod
    def _take(self, state: BoardState, holder: str, asked: Heartbeat) -> list[tuple[int, int]]:
        """A worker has shards that are free; gives which, and their tokens."""


class BoardInMemory(Board):
    """The board of a crawl in a folder: no I/O, and one thread at a time. `members`: workers that there are to be.
    `most`: pages of the whole crawl; None without a limit. `spent`: by shard what it has taken of the limits in earlier
    runs, which took so many seconds."""

    def __init__(
        self, settings: CrawlSettings, members: int, most: int | None, spent: Mapping[int, Spent], seconds: float
    ) -> None:
        super().__init__(settings)
        self._members = members
        self._earlier = seconds
        self._since = {number: its.seconds for number, its in spent.items()}
        self._pool = None if most is None else max(most - sum(its.pages for its in spent.values()), 0)
        self._rows = {
            number: ShardRow(number, granted=None if most is None else its.pages, now=ShardStatus(number))
            for number, its in spent.items()
        }
        self._ended: str | None = None

    def status(self) -> BoardState:
        rows = list(self._rows.values())
        return BoardState(rows, self._members, self._pool, self._ended, seconds_of(rows, self._since, self._earlier))

    def release(self, holder: str, number: int, token: int, state: ShardState, now: ShardStatus) -> None:
        if self._is(holder, number, token):
            self._set(number, holder=None, now=replace(now, state=state))

    def remove_members(self, holder: str) -> None:
        """A worker is dead: another may have its shards."""
        for row in list(self._rows.values()):
            if row.holder == holder:
                self._set(row.number, holder=None, now=unassigned(row.now))

    def who_has(self, numbers: Collection[int]) -> set[str | None]:
        """The workers that have some shards."""
        return {self._rows[number].holder for number in numbers}

    def _note(self, holder: str, statuses: Mapping[int, tuple[int, ShardStatus]]) -> None:
        for number, (token, now) in statuses.items():
            if self._is(holder, number, token):
                self._set(number, now=now)

    def _share(self, holder: str, number: int, token: int, kept: int | None) -> None:
        if self._is(holder, number, token) and self._pool is not None:
            before = self._rows[number].granted or 0
            self._pool, granted = adjusted_quota(self._pool, before, len(self._rows), kept)
            self._set(number, granted=granted)

    def _end(self, why: str) -> None:
        self._ended = why

    def _take(self, state: BoardState, holder: str, asked: Heartbeat) -> list[tuple[int, int]]:
        held = {row.number for row in state.rows if row.holder == holder}
        taken = []
        for row in state.to_take(holder, asked, held):
            self._set(row.number, holder=holder, token=row.token + 1, now=replace(row.now, state="starting"))
            taken.append((row.number, row.token + 1))
        return taken

    def _is(self, holder: str, number: int, token: int) -> bool:
        row = self._rows[number]
        return row.holder == holder and row.token == token

    def _set(self, number: int, **values: Any) -> None:
        self._rows[number] = replace(self._rows[number], **values)
