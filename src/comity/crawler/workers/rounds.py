"""What a process of a stored crawl says to the store and asks of it, five times a second, in a thread of its own."""

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from comity.crawler.workers.board import LARGEST
from comity.crawler.workers.worker import AT_ONCE
from comity.frontier.messages import Parcel
from comity.frontier.postgresql.crawl import CrawlStore, Row, StoredCrawl
from comity.frontier.postgresql.leases import Leases
from comity.frontier.values import Run


@dataclass(slots=True)
class RoundRequest:
    """What is to be asked of the store in one round, and said to it.

    Attributes:
        stands: how shards of ours stand: token, state, and the rest as text.
        needy: shards and tokens of those that are to be granted more pages.
        given_back: shards and tokens, and the pages that they may keep from now on.
        after: by sender and receiver, the parcel taken up last, of receivers that are ours and have room.
        acknowledge: whether to see what others have taken of ours.
        at_work: shards of ours, also those that are about to be let go.
        take: whether to take shards.
    """

    stands: dict[int, tuple[int, str, str]] = field(default_factory=dict)
    needy: list[tuple[int, int]] = field(default_factory=list)
    given_back: list[tuple[int, int, int]] = field(default_factory=list)
    after: dict[tuple[int, int], int] = field(default_factory=dict)
    acknowledge: bool = False
    at_work: frozenset[int] = frozenset()
    take: bool = True


@dataclass(slots=True)
class RoundAnswer:
    """What the store said in one round.

    Attributes:
        members: how many processes take part.
        delivered: by sender and receiver, the parcel taken last.
        taken: a shard that is ours from now on, and its token.
    """

    crawl: StoredCrawl
    rows: list[Row]
    members: int
    orders: list[tuple[int, str]] = field(default_factory=list)
    parcels: list[tuple[int, Parcel]] = field(default_factory=list)
    delivered: dict[tuple[int, int], int] = field(default_factory=dict)
    taken: tuple[int, int] | None = None


class Rounds:
    """Blocks; one thread at a time.

    Args:
        run: the one that the process belongs to.
        folder: of this machine, where its parts of the output lie.
    """

    def __init__(self, store: CrawlStore, leases: Leases, run: Run, folder: Path) -> None:
        self._store = store
        self._leases = leases
        self._run = run
        self._folder = str(folder.absolute())

    def round(self, order: int, asked: RoundRequest) -> RoundAnswer:
        """Say and ask. `order`: the last order that was read.

        Raises:
            Superseded: the run is not the crawl's any more.
        """
        store, leases = self._store, self._leases
        members = store.here(self._run, leases.holder, self._folder)
        store.say(asked.stands)
        for shard, token, granted in asked.given_back:
            store.give_back(shard, token, granted)
        for shard, token in asked.needy:
            store.grant(shard, token, LARGEST)
        with store.one_instant():  # pages of the limit are on their way between the two
            look = RoundAnswer(store.crawl(), store.rows(), members)
        look.orders = store.orders(order)
        if asked.after:
            look.parcels = store.parcels({receiver for _, receiver in asked.after}, asked.after, AT_ONCE * 4)
        if asked.acknowledge:
            look.delivered = store.taken_of(list(leases.tokens))
        if asked.take:
            look.taken = self._take(look, asked.at_work)
        return look

    def _take(self, look: RoundAnswer, at_work: Collection[int]) -> tuple[int, int] | None:
        """Have one more shard, where one is free and it is our turn."""
        share = -(-len(look.rows) // max(look.members, 1))
        held = len(self._leases.tokens)
        for row in look.rows:
            if row.state == "ended" or row.number in at_work:
                continue
            if row.holder not in (None, self._leases.holder) or row.number in self._leases.tokens:
                continue
            if held >= share:
                return None
            with self._store.open() as db:
                token = self._leases.take(db, row.number, None if row.holder else (row.token, row.renewal))
            if token is not None:
                return row.number, token
        return None
