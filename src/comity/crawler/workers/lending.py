"""Turns of hosts that processes lend each other by way of the store: see shard.py, `lend`.

Each is a row that who asks makes and who lends removes. Where who asked has lost its shard, its turn is over.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from comity.crawler.workers.leased import LeasedShard
from comity.frontier.postgresql.crawl import CrawlStore, Turn
from comity.net.needs import GiveBack


class Lending:
    """The turns that concern the shards of one process.

    Args:
        crawlers: those shards, as they come and go.
        run: has the store's thread do something.
        wake: asks for a round soon.
    """

    def __init__(
        self,
        store: CrawlStore,
        crawlers: Mapping[int, LeasedShard],
        run: Callable[..., Awaitable[Any]],
        wake: Callable[[], None],
    ) -> None:
        self._store = store
        self._crawlers = crawlers
        self._run = run
        self._wake = wake
        self._to_do: deque[Callable[[], None]] = deque()  # for the store's thread
        self._wanted: dict[int, asyncio.Future[float | None]] = {}  # turns of other shards' hosts
        self._lending: dict[int, tuple[LeasedShard, asyncio.Task[None]]] = {}  # turns of our hosts that are asked for
        self._lent: dict[int, tuple[LeasedShard, str]] = {}

    def borrow(
        self, asked_by: int, token: int, shard: int, host: str, pace: str | None
    ) -> "tuple[asyncio.Future[float | None], GiveBack]":
        """Ask for the turn of a host of another shard: see `shard.Borrow`."""
        turn: asyncio.Future[float | None] = asyncio.get_running_loop().create_future()
        number: list[int] = []  # once it is known
        over: list[tuple[bool | None, float | None]] = []

        def ask() -> None:
            if over:
                return
            id_ = self._store.ask_turn(asked_by, token, shard, host, pace)
            number.append(id_)
            self._wanted[id_] = turn
            if over:
                self._store.return_turn(id_, *over[0])

        def give_back(good: bool | None, retry_after: float | None) -> None:
            over.append((good, retry_after))
            if number:
                self._wanted.pop(number[0], None)
                self._do(partial(self._store.return_turn, number[0], good, retry_after))

        self._do(ask)
        return turn, give_back

    async def round(self, tokens: Mapping[int, int]) -> None:
        """Carry out what waits, and act on the turns that are there."""

        def work() -> list[Turn]:
            while self._to_do:
                self._to_do[0]()
                self._to_do.popleft()  # only now: where the database is away, it waits
            return self._store.turns(list(tokens))

        for turn in await self._run(work):
            self._see(turn)

    def _see(self, turn: Turn) -> None:
        wanted = self._wanted.get(turn.id)
        if wanted is not None and turn.state == "lent":
            del self._wanted[turn.id]
            if not wanted.done():
                wanted.set_result(turn.seconds)
        crawler = self._crawlers.get(turn.shard)
        if crawler is None or not crawler.shard.has_begun:
            return
        self._leave_out_earlier(turn.id, crawler)
        if turn.state == "returned" or not turn.alive:
            if turn.id in self._lent:
                lender, host = self._lent.pop(turn.id)
                lender.shard.returned(host, turn.good, turn.retry_after)
            elif turn.id in self._lending:
                self._lending.pop(turn.id)[1].cancel()
            elif turn.state != "asked" and turn.seconds is None:  # lent by who had the shard before us
                crawler.shard.has_lent(turn.host, turn.pace)
                crawler.shard.returned(turn.host, turn.good, turn.retry_after)
            self._do(partial(self._store.forget_turn, turn.id))
        elif turn.state == "asked" and turn.id not in self._lending and turn.id not in self._lent:
            self._lending[turn.id] = crawler, asyncio.ensure_future(self._lend(turn, crawler))
        elif turn.state == "lent" and turn.seconds is None and turn.id not in self._lent:  # by who had it before us
            crawler.shard.has_lent(turn.host, turn.pace)
            self._lent[turn.id] = crawler, turn.host

    def _leave_out_earlier(self, id_: int, crawler: LeasedShard) -> None:
        """Forget what an earlier lease of ours on the same shard did about a turn: its gate knows nothing of now."""
        if id_ in self._lent and self._lent[id_][0] is not crawler:
            del self._lent[id_]
        if id_ in self._lending and self._lending[id_][0] is not crawler:
            self._lending.pop(id_)[1].cancel()

    async def _lend(self, turn: Turn, crawler: LeasedShard) -> None:
        try:
            seconds = await crawler.shard.lend(turn.host, turn.pace)
            if seconds is None:
                self._lent[turn.id] = crawler, turn.host
            self._do(partial(self._store.lend_turn, turn.id, crawler.token, seconds))
        finally:
            if turn.id in self._lending and self._lending[turn.id][0] is crawler:
                del self._lending[turn.id]

    def _do(self, work: Callable[[], None]) -> None:
        self._to_do.append(work)
        self._wake()
