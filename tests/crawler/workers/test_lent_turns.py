"""Turns of hosts that one shard of a crawl has another give, for a robots.txt that redirects there."""

import asyncio
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from clocks import FakeClock
from sites import HANGS, Site

from comity import Policy, Postponed
from comity.audit.paces import TOLERANCE, Paces
from comity.audit.prove import prove
from comity.crawler import orders
from comity.crawler.control import Control
from comity.crawler.orders import Order
from comity.crawler.shards import ShardPlace, part, shard_of
from comity.crawler.workers.processes import LentTurns, WorkerProcess
from comity.crawler.workers.shard import ORDERS_REST, Borrow, Shard
from comity.crawler.workers.sharded import ShardedCrawl
from comity.crawler.workers.worker import Word
from comity.net import ClientSettings, Session

POLICY = Policy(min_interval=0.1, allow_addresses=("127.0.0.0/8",))
HERE, THERE = "127.0.0.1", "127.0.0.2"
SHARDS = 3


class Told(WorkerProcess):
    """A worker that is never started; what it is told is kept."""

    def __init__(self, number: int, *shards: int) -> None:
        super().__init__(number, shards, (), lambda worker, word: None, lambda: None)
        self.told: list[Word] = []

    def say(self, word: Any) -> None:
        self.told.append(word)


@contextmanager
def shard(folder: Path, policy: Policy = POLICY, borrow: Borrow | None = None) -> Iterator[Shard]:
    """The shard that has one of two hosts, as it is when its run is made."""
    place = ShardPlace(shard_of(HERE, SHARDS), SHARDS)
    assert place.elsewhere(THERE) is not None
    shard = Shard(
        [f"http://{HERE}/"],
        folder,
        place,
        policy=policy,
        settings={},
        client_settings=ClientSettings(),
        clock=FakeClock(),
        borrow=borrow,
    )
    shard.crawler.folder.mkdir(parents=True)
    with shard.crawler._opened(None):
        yield shard


def test_two_robots_txt_that_redirect_to_each_others_shard_are_both_read(tmp_path: Path) -> None:
    with Site(HERE) as one, Site(THERE) as other:
        asked = set()

        def redirect(to: str) -> Any:
            async def answer(request: web.BaseRequest) -> web.StreamResponse:
                asked.add(to)
                while len(asked) < 2:  # both turns are taken
                    await asyncio.sleep(0.01)
                return web.Response(status=301, headers={"Location": to})

            return answer

        for site, beside in ((one, other), (other, one)):
            site.set("/robots.txt", redirect(beside.url("/theirs.txt")))
            site.set("/theirs.txt", "User-agent: *\nDisallow: /private/\n")
            site.link("/", "/private/x", "/a")
            site.link("/a")
        crawl = ShardedCrawl(
            [one.url("/"), other.url("/")],
            tmp_path,
            shards=SHARDS,
            workers=2,
            policy=POLICY,
            settings={"sitemaps": False},
            client_settings=ClientSettings(timeout=HANGS),  # one waits for the other's worker
        )
        asyncio.run(crawl.run())
        for site in (one, other):
            assert sorted(site.paths()) == ["/", "/a", "/robots.txt", "/theirs.txt"]
            assert min(site.intervals()) >= 0.1
    assert (crawl.stats.pages, crawl.stats.refused) == (4, 2)
    assert prove(tmp_path).findings == []


@pytest.mark.parametrize(
    ("status", "headers", "told"),
    [(200, {}, (True, None)), (503, {"Retry-After": "70"}, (False, 70.0)), (500, {}, (False, None))],
)
def test_ones_own_turn_is_over_before_another_is_asked_for_and_the_answer_is_told(
    status: int, headers: dict[str, str], told: tuple[bool, float | None]
) -> None:
    with Site(HERE) as one, Site(THERE) as other:
        one.set("/robots.txt", status=301, headers={"Location": other.url("/1")})
        other.set("/1", status=301, headers={"Location": other.url("/2")})
        other.set("/2", "", status=status, headers=headers)
        returned: list[tuple[bool | None, float | None]] = []

        async def use() -> None:
            async with Session(POLICY, ClientSettings()) as session:

                async def borrow(host: str) -> Any:
                    assert host == THERE
                    assert not any(each.under_way for each in session.driver.gate.throttles.all.values())
                    assert len(other.paths()) == len(returned), "the turn before is given back"
                    return lambda good, retry_after: returned.append((good, retry_after))

                session.driver.borrow = borrow
                await session.check(one.url("/"))

        asyncio.run(use())
        assert other.paths() == ["/1", "/2"]
    assert returned == [(True, None), told]


def test_a_proof_lays_a_lent_turn_beside_the_lenders_own_requests(tmp_path: Path) -> None:
    with Site(HERE) as one, Site(THERE) as other:
        one.set("/robots.txt", status=301, headers={"Location": other.url("/theirs.txt")})
        other.set("/robots.txt", "User-agent: *\nDisallow: /private/\n")
        other.set("/theirs.txt", "", status=503, headers={"Retry-After": "1"})
        for page in range(4):
            other.link(f"/{page}", f"/{page + 1}")
        other.link("/4")
        one.link("/")
        crawl = ShardedCrawl(
            [one.url("/"), other.url("/0")],
            tmp_path,
            shards=SHARDS,
            workers=2,
            policy=POLICY,
            settings={"sitemaps": False},
        )
        asyncio.run(crawl.run())
        assert "/theirs.txt" in other.paths()
    assert prove(tmp_path).findings == []
    ledger = tmp_path / part(shard_of(THERE, SHARDS)) / "ledger.jsonl"
    records = [json.loads(line) for line in ledger.read_text().splitlines()]
    (lent,) = (record for record in records if record["kind"] == "lent")
    assert (lent["host"], lent["pace"], lent["interval"], lent["retry_after"]) == (THERE, THERE, 0.1, 1.0)
    following = [each["sent"] for each in records if each["kind"] == "request" and each["sent"] > lent["at"]]
    assert all(sent >= lent["at"] + 1.0 - TOLERANCE for sent in following)


@pytest.mark.parametrize(
    ("second", "third", "found"),
    [
        ({}, {}, []),
        ({"sent": 10.4}, {}, ["it was sent 0.400 s after the previous answer of a.example, not 1 s"]),
        ({"interval": 0.5}, {}, ["it says interval 0.5, the policy says at least 1 s"]),
        ({}, {"sent": 12.9}, ["it was sent 0.900 s after the previous answer of a.example, not 1 s"]),
        ({"sent": None}, {"sent": 12.9}, ["it was sent 0.900 s after the previous answer of a.example, not 1 s"]),
        ({"retry_after": 5.0}, {}, ["it was sent 2.000 s before the time that Retry-After named"]),
        ({"sent": None, "retry_after": 5.0}, {}, ["it was sent 2.000 s before the time that Retry-After named"]),
    ],
)
def test_a_proof_finds_what_was_sent_too_early_before_or_after_a_lent_turn(
    second: dict[str, Any], third: dict[str, Any], found: list[str]
) -> None:
    paces, policy = Paces(), Policy(min_interval=1)
    about = {"host": "a.example", "pace": "a.example", "interval": 1.0, "retry_after": None}
    request = about | {"head": None, "kept": None, "purpose": "content", "error": None}
    told = [
        *paces.check(1, request | {"sent": 9.0, "end": 10.0}, policy),
        *paces.lent(2, about | {"sent": 11.0, "at": 12.0} | second, policy),
        *paces.check(3, request | {"sent": 15.0, "end": 15.5} | third, policy),
    ]
    assert told == found


def test_a_turn_that_comes_too_late_is_not_waited_for(tmp_path: Path) -> None:
    with shard(tmp_path) as crawler:
        gate = crawler.running.client.driver.gate
        gate.throttles.restore_delays({HERE: 3000.0}, 1000.0)
        assert asyncio.run(crawler.lend(HERE)) == 3000.0
        gate.stopped.add(HERE)
        assert asyncio.run(crawler.lend(HERE)) == math.inf
        gate.stopped.clear()
        del gate.throttles.all[HERE]
        gate.throttles.of(HERE).not_before(1500.0)
        assert asyncio.run(crawler.lend(HERE)) is None
        assert gate.throttles.of(HERE).under_way == 1


@pytest.mark.parametrize("seconds", [3000.0, math.inf])
def test_a_url_whose_robots_txt_needs_a_turn_that_is_not_given_is_put_off(tmp_path: Path, seconds: float) -> None:
    returned = []

    async def use() -> None:
        turn: asyncio.Future[float | None] = asyncio.get_running_loop().create_future()
        turn.set_result(seconds)
        given = (turn, lambda *answer: returned.append(answer))
        with shard(tmp_path, borrow=lambda shard, host, pace: given) as crawler:
            crawler.running.client.driver.gate.stopped |= {THERE} if seconds == math.inf else set()
            with pytest.raises(Postponed) as caught:
                await crawler.borrow(THERE)
        assert caught.value.seconds == seconds

    asyncio.run(use())
    assert returned == [(None, None)]


def test_a_host_that_only_its_own_shard_still_takes_for_stopped_is_asked_for_again_soon(tmp_path: Path) -> None:
    async def use() -> None:
        turn: asyncio.Future[float | None] = asyncio.get_running_loop().create_future()
        turn.set_result(math.inf)
        given = (turn, lambda *answer: None)
        with shard(tmp_path, borrow=lambda shard, host, pace: given) as crawler:
            with pytest.raises(Postponed) as caught:
                await crawler.borrow(THERE)
        assert caught.value.seconds == ORDERS_REST

    asyncio.run(use())


def test_a_host_whose_robots_txt_leads_to_a_stopped_one_of_another_shard_goes_on_with_it(tmp_path: Path) -> None:
    with shard(tmp_path) as crawler:
        run = crawler.running
        host = run.scheduler.hosts._add(HERE)
        run.order(Order(THERE, "stop"))
        host.held_by, host.not_before = "stopped", math.inf
        run.order(Order(THERE, "go"))
        assert host.not_before == 0.0


@pytest.mark.parametrize("end", [Control.end, Control.stop])
def test_a_shard_that_ends_asks_for_no_turn(tmp_path: Path, end: Any) -> None:
    asked: list[str] = []

    def borrow(shard: int, host: str, pace: str | None) -> Any:
        asked.append(host)
        raise AssertionError(host)

    with shard(tmp_path, borrow=borrow) as crawler:
        end(crawler.control)
        with pytest.raises(Postponed, match="the crawl ends"):
            asyncio.run(crawler.borrow(THERE))
    assert asked == []


def test_who_asks_a_worker_that_has_ended_for_a_turn_is_told_so() -> None:
    asking, owner = Told(0, 0, 2), Told(1, 1)
    turns = LentTurns([asking, owner])
    turns.pass_on(asking, ("turn", (0, 1), 1, THERE))
    turns.pass_on(asking, ("turn", (0, 2), 1, THERE))
    turns.pass_on(owner, ("lent", (0, 1), None))
    owner.ended = True
    turns.ended(owner)
    assert asking.told == [("lent", (0, 1), None), ("lent", (0, 2), 0.0)]
    asking.told.clear()
    turns.pass_on(asking, ("turn", (0, 3), 1, THERE))
    assert asking.told == [("lent", (0, 3), 0.0)]


def test_a_worker_that_is_started_again_is_told_which_turns_its_predecessor_has_lent() -> None:
    asking, owner = Told(0, 0, 2), Told(1, 1)
    turns = LentTurns([asking, owner])
    for number, seconds in enumerate((None, 3000.0, None)):
        turns.pass_on(asking, ("turn", (0, number), 1, THERE))
        turns.pass_on(owner, ("lent", (0, number), seconds))
    turns.pass_on(asking, ("turn", (0, 3), 1, THERE))
    turns.pass_on(asking, ("returned", (0, 2), True, None))
    assert owner.told[-1] == ("returned", (0, 2), True, None)
    owner.told.clear()
    turns.begun(owner)
    assert owner.told == [("held", (0, 0), 1, THERE), ("turn", (0, 3), 1, THERE)]
    turns.died(asking)
    assert owner.told[2:] == [("returned", (0, 0), None, None), ("returned", (0, 3), None, None)]


def test_an_order_to_stop_a_host_holds_in_all_shards(tmp_path: Path) -> None:
    policy = POLICY.with_changes(robots_fetch_counts=False)
    with shard(tmp_path / "alone", policy) as crawler:
        for order, stopped in (("stop", {THERE}), ("slow", {THERE}), ("go", set())):
            crawler.running.order(Order(THERE, order, 5.0))  # type: ignore[arg-type]
            assert crawler.running.client.driver.gate.stopped == stopped
    with Site(HERE) as one, Site(THERE) as other:
        one.set("/robots.txt", status=301, headers={"Location": other.url("/1")})
        other.set("/1", "")
        one.link("/")
        folder = tmp_path / "crawl"
        folder.mkdir()
        orders.give(folder, THERE, "stop")
        crawl = ShardedCrawl([one.url("/")], folder, shards=SHARDS, policy=policy, settings={"sitemaps": False})
        asyncio.run(crawl.run())
        assert one.paths() == ["/robots.txt"]
        assert other.paths() == []
    assert crawl.end.left == 1
    assert prove(folder).findings == []
