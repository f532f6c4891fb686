"""Turns of hosts that shards of a crawl in PostgreSQL lend each other, where a shard changes hands meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from typing import Any

import pytest
from postgres import Server
from sites import HANGS
from stores import PostgresStore

from comity.crawler.workers.lending import Lending
from comity.frontier.postgresql.crawl import CrawlStore
from comity.frontier.postgresql.leases import Leases

HOST = "there.example"
LENDER, ASKING = 0, 1


class Shard:
    """What a lease on a shard is asked and told about turns."""

    has_begun = True

    def __init__(self, token: int) -> None:
        self.shard = self
        self.token = token
        self.its_time = asyncio.Event()
        self.said: list[Any] = []

    async def lend(self, host: str, pace: str | None) -> float | None:
        self.said.append("asked")
        await self.its_time.wait()
        return None

    def has_lent(self, host: str, pace: str | None) -> None:
        self.said.append("has lent")

    def returned(self, host: str, good: bool | None, retry_after: float | None) -> None:
        self.said.append(("returned", good, retry_after))


class Leased:
    """Two shards of a crawl, and leases on them."""

    def __init__(self, server: Server) -> None:
        where = PostgresStore(server, shards=2).where
        self.store, self._leases = CrawlStore(where), Leases(where, "a", 600.0)
        self.asking = self.take(ASKING)
        self.crawlers: dict[int, Any] = {}

    def take(self, shard: int) -> int:
        with self.store.open() as db:
            token = self._leases.take(db, shard)
        assert token is not None
        return token

    def begin(self) -> Shard:
        """A new lease on the shard that lends."""
        shard = self.crawlers[LENDER] = Shard(self.take(LENDER))
        return shard

    def states(self) -> list[str]:
        return [turn.state for turn in self.store.turns([LENDER])]

    def lending(self) -> Lending:
        async def run(work: Any) -> Any:
            return work()

        return Lending(self.store, self.crawlers, run, lambda: None)

    @asynccontextmanager
    async def asked(self) -> AsyncIterator[tuple[Lending, Shard, int]]:
        """A turn that a lease has been asked for."""
        lending, shard = self.lending(), self.begin()
        id_ = self.store.ask_turn(ASKING, self.asking, LENDER, HOST, None)
        await lending.round({LENDER: shard.token})
        await asyncio.sleep(0)
        assert shard.said == ["asked"]
        async with asyncio.timeout(HANGS):
            yield lending, shard, id_

    async def lent(self, lending: Lending, shard: Shard) -> None:
        shard.its_time.set()
        while self.states() != ["lent"]:
            await lending.round({LENDER: shard.token})
            await asyncio.sleep(0)


@pytest.fixture
def leased(postgres: Server) -> Iterator[Leased]:
    made = Leased(postgres)
    with closing(made.store):
        yield made


def test_a_turn_is_not_given_by_a_lease_that_is_over(leased: Leased) -> None:
    async def use() -> None:
        async with leased.asked() as (lending, before, _):
            leased.take(LENDER)  # by whomever
            before.its_time.set()
            for _ in range(5):
                await lending.round({LENDER: before.token})
                await asyncio.sleep(0)
            assert leased.states() == ["asked"]

    asyncio.run(use())


def test_a_shard_that_its_process_takes_once_more_gives_the_turn_by_its_new_gate(leased: Leased) -> None:
    async def use() -> None:
        async with leased.asked() as (lending, before, id_):
            after = leased.begin()
            before.its_time.set()
            await leased.lent(lending, after)
            assert after.said == ["asked"]
            leased.store.return_turn(id_, False, 60.0)
            await lending.round({LENDER: after.token})
            assert after.said == ["asked", ("returned", False, 60.0)]
            assert before.said == ["asked"]

    asyncio.run(use())


def test_a_shard_that_its_process_takes_once_more_knows_what_was_lent_before(leased: Leased) -> None:
    async def use() -> None:
        async with leased.asked() as (lending, before, id_):
            await leased.lent(lending, before)
            after = leased.begin()
            await lending.round({LENDER: after.token})
            assert after.said == ["has lent"]
            leased.store.return_turn(id_, True, None)
            await lending.round({LENDER: after.token})
            assert after.said == ["has lent", ("returned", True, None)]

    asyncio.run(use())


def test_what_a_host_answered_in_a_turn_counts_for_who_has_its_shard_next(leased: Leased) -> None:
    async def use() -> None:
        async with leased.asked() as (lending, before, id_):
            await leased.lent(lending, before)
            leased.store.return_turn(id_, False, 60.0)
            after = leased.begin()
            another = leased.lending()  # of another process
            await another.round({LENDER: after.token})
            assert after.said == ["has lent", ("returned", False, 60.0)]
            await another.round({LENDER: after.token})
            assert leased.states() == []

    asyncio.run(use())
