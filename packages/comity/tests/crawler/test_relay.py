"""A robots.txt that redirects to a host of another shard: that shard asks for it, and answers by parcel."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web
from clocks import FakeClock
from commands import comity
from sites import HANGS, Site

from comity import Policy, Postponed
from comity.audit.prove import prove
from comity.crawler import Crawler
from comity.crawler.cluster.workers import Workers
from comity.crawler.run.control import Control
from comity.crawler.run.relay import ORDER_GRACE_SECONDS, QUESTION_FACT, RobotsRelay
from comity.crawler.storage import orders
from comity.crawler.storage.manifest import part
from comity.crawler.storage.placement import ShardAssignment, shard_of
from comity.errors import AddressBlocked, FetchError
from comity.frontier.sqlite.store import View
from comity.frontier.state_overlay import StateOverlay
from comity.frontier.values import Message, Run
from comity.net import ClientSettings, Session
from comity.net.response import Response
from comity.net.turns import Hooks, Relay

POLICY = Policy(min_interval=0.1, allow_addresses=("127.0.0.0/8",))
HERE, THERE = "127.0.0.1", "127.0.0.2"
SHARDS = 3
HOME, AWAY = shard_of(HERE, SHARDS), shard_of(THERE, SHARDS)
WANTED = Relay(f"http://{HERE}", f"http://{THERE}/theirs.txt", {"If-None-Match": "1"})

assert HOME != AWAY


class Shard:
    """One shard, as far as it relays; the messages that it sent."""

    def __init__(self, number: int, *, run: int = 1, earlier: dict[str, Any] | None = None) -> None:
        self.run = run
        self.sent: list[tuple[int, Message]] = []
        self.control = Control(FakeClock())
        self.facts = StateOverlay()
        self.session = Session(POLICY, ClientSettings(), clock=FakeClock())
        self.scheduler = SimpleNamespace(tasks=set())
        self.relayed: list[Any] = []
        place = ShardAssignment(number, SHARDS, run=Run("crawl", run))

        book: Any = SimpleNamespace(facts=self.facts, message=lambda shard, message: self.sent.append((shard, message)))
        ledger: Any = SimpleNamespace(relayed=lambda *about: self.relayed.append(about))
        scheduler: Any = self.scheduler
        self.relay = RobotsRelay(place, self.session, scheduler, book, ledger, self.control, earlier or {})

    async def told(self) -> dict[str, Any]:
        """What it has sent to others, once there is something."""
        async with asyncio.timeout(HANGS):
            while not self.sent:
                await asyncio.sleep(0)
        about = dict(self.sent.pop()[1].about or {})
        assert about.pop("run") == self.run
        return about

    async def asks(self, answer: dict[str, Any]) -> Response | Exception | None:
        """What comes of asking another shard, which answers so."""
        asking = asyncio.ensure_future(self.relay.ask(WANTED))
        assert (await self.told())["ask"] == WANTED.conditions
        self.relay.arrived(message({"put_off": 9.0}, run=self.run - 1))
        self.relay.arrived(message(answer, run=self.run))
        return await asking


def message(told: dict[str, Any], *, run: int) -> Message:
    return Message(WANTED.url, found_on=WANTED.origin, about={**told, "run": run})


def asked(*, run: int = 1) -> Message:
    """The question as the shard that has the other host gets it."""
    return message({"ask": {}, "for": HOME}, run=run)


def crawl_of(folder: Path, *sites: Site, **settings: Any) -> Crawler:
    return Crawler(
        [site.url("/") for site in sites],
        folder,
        policy=POLICY,
        settings={"sitemaps": False, **settings},
        client_settings=ClientSettings(timeout=HANGS),
        workers=Workers(2, shards=SHARDS),
    )


def ledger(folder: Path, shard: int) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / part(shard) / "ledger.jsonl").read_text().splitlines()]


@pytest.mark.long
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
        crawl = crawl_of(tmp_path, one, other)
        asyncio.run(crawl.run())
        for site in (one, other):
            assert sorted(site.paths()) == ["/", "/a", "/robots.txt", "/theirs.txt"]
            assert min(site.intervals()) >= 0.1
    assert (crawl.stats.pages, crawl.stats.refused) == (4, 2)
    assert prove(tmp_path).findings == []


@pytest.mark.long
@pytest.mark.parametrize("killed", [HOME, AWAY])
def test_a_shard_that_is_killed_while_it_asks_or_is_asked_delays_the_answer_and_loses_nothing(
    tmp_path: Path, killed: int
) -> None:
    with Site(HERE) as one, Site(THERE) as other:
        crawl = crawl_of(tmp_path, one)
        times = []

        async def answer(request: web.BaseRequest) -> web.StreamResponse:
            times.append(1)
            if len(times) == 1:
                while not taken(tmp_path):  # its parcel is forgotten from then on
                    await asyncio.sleep(0.05)
                os.kill(crawl._crawl.running.coordination.now[killed].worker, signal.SIGKILL)  # type: ignore[union-attr]
            return web.Response(text="User-agent: *\nDisallow: /private/\n")

        one.set("/robots.txt", status=301, headers={"Location": other.url("/theirs.txt")})
        other.set("/theirs.txt", answer)
        one.link("/", "/private/x", "/a")
        one.link("/a")
        asyncio.run(crawl.run())
        assert len(times) >= (2 if killed == AWAY else 1)
        assert other.paths() == ["/theirs.txt"] * len(times)
        assert {"/", "/a"} < set(one.paths()) == {"/", "/a", "/robots.txt"}
    assert (crawl.stats.pages, crawl.stats.refused) == (2, 1)
    assert prove(tmp_path).findings == []


@pytest.mark.long
@pytest.mark.parametrize("answered", [True, False], ids=["after the answer", "before it"])
def test_a_crawl_killed_in_the_middle_of_a_relay_is_gone_on_with(tmp_path: Path, answered: bool) -> None:
    """All processes die at once, with the question committed by the shard that is asked."""
    with Site(HERE) as one, Site(THERE) as other:
        killed: list[float] = []
        processes: list[subprocess.Popen[bytes]] = []

        async def answer(request: web.BaseRequest) -> web.StreamResponse:
            body = web.Response(text="User-agent: *\nDisallow: /private/\n")
            if killed:
                return body
            while not taken(tmp_path):
                await asyncio.sleep(0.05)
            if answered:
                await body.prepare(request)
                await body.write_eof()
                await asyncio.sleep(0.02)
            killed.append(time.monotonic())  # before: whoever waits for the processes goes on at once
            os.killpg(processes[0].pid, signal.SIGKILL)
            return body

        one.set("/robots.txt", status=301, headers={"Location": other.url("/theirs.txt")})
        other.set("/theirs.txt", answer)
        other.link("/")
        one.link("/", "/private/x", "/a")
        one.link("/a")
        options = ["crawl", "-o", str(tmp_path), "--workers", "2", "--delay", "0.1", "--allow-address", "127.0.0.0/8"]
        begin = [sys.executable, "-m", "comity", *options, "--shards", str(SHARDS), one.url("/"), other.url("/")]
        processes.append(subprocess.Popen(begin, stderr=subprocess.DEVNULL, start_new_session=True))
        assert processes[0].wait(HANGS) == -signal.SIGKILL
        assert killed
        assert comity(*options, "--resume").returncode == 0
        asked = Counter(path for path in one.paths() if "sitemap" not in path)
        assert asked == {"/": 1, "/a": 1, "/robots.txt": 2}
        assert other.paths().count("/theirs.txt") == 2
        assert min([*one.intervals(), *other.intervals()]) >= 0.1
    urls = [record["url"] for number in range(SHARDS) for record in pages(tmp_path, number)]
    assert sorted(urls) == sorted([one.url("/"), one.url("/a"), other.url("/")])
    proof = prove(tmp_path)
    assert (proof.findings, proof.runs) == ([], 2)


def pages(folder: Path, shard: int) -> list[dict[str, Any]]:
    path = folder / part(shard) / "pages.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def taken(folder: Path) -> bool:
    """Whether the shard that is asked has committed that it was."""
    with View(folder / part(AWAY) / "frontier.sqlite") as view:
        return bool(view._committed.facts(QUESTION_FACT))


@pytest.mark.parametrize("status", [200, 404, 500])
def test_ones_own_turn_is_over_before_another_is_asked_and_the_answer_is_in_force(status: int) -> None:
    with Site(HERE) as one:
        one.set("/robots.txt", status=301, headers={"Location": "http://there.example/1"})
        passed: list[str] = []

        async def use() -> None:
            async with Session(POLICY, ClientSettings(), hooks=Hooks(relay=lambda wanted: relay(wanted))) as session:

                async def relay(wanted: Relay) -> Response:
                    assert not any(each.under_way for each in session.driver.gate.throttles.all.values())
                    passed.append(wanted.url)
                    if len(passed) == 1:
                        return Response(url=wanted.url, status=302, headers={"Location": "/2"}, body=b"")
                    return Response(url=wanted.url, status=status, headers={}, body=b"User-agent: *\nDisallow: /x")

                decision = await session.check(one.url("/x"))
                assert decision.may_fetch is (status == 404)
                (result,) = session.driver.gate.robots.results().values()
                assert (result.url, result.status) == ("http://there.example/2", status)

        asyncio.run(use())
        assert passed == ["http://there.example/1", "http://there.example/2"]
        assert one.paths() == ["/robots.txt"]


def test_the_request_is_in_the_ledger_of_who_sent_it_and_a_proof_finds_where_it_is_not(tmp_path: Path) -> None:
    with Site(HERE) as one, Site(THERE) as other:
        one.set("/robots.txt", status=301, headers={"Location": other.url("/theirs.txt")})
        other.set("/robots.txt", "User-agent: *\nDisallow: /private/\n")
        other.set("/theirs.txt", "", status=503, headers={"Retry-After": "1"})
        for page in range(4):
            other.link(f"/{page}", f"/{page + 1}")
        other.link("/", "/0")
        other.link("/4")
        one.link("/")
        asyncio.run(crawl_of(tmp_path, one, other).run())
        url = other.url("/theirs.txt")
    assert prove(tmp_path).findings == []
    (relayed,) = (record for record in ledger(tmp_path, HOME) if record["kind"] == "relayed")
    assert (relayed["url"], relayed["status"], relayed["shard"]) == (url, 503, AWAY)
    requests = [record for record in ledger(tmp_path, AWAY) if record["kind"] == "request"]
    (sent,) = (record for record in requests if record["url"] == url)
    assert (sent["host"], sent["purpose"], sent["retry_after"]) == (THERE, "robots", 1.0)
    assert all(each["sent"] >= sent["head"] + 1.0 - 0.001 for each in requests if each["sent"] > sent["sent"])
    path = tmp_path / part(AWAY) / "ledger.jsonl"
    path.write_bytes(path.read_bytes().replace(b"/theirs.txt", b"/others.txt"))
    found = [finding.what for finding in prove(tmp_path).findings]
    assert f"{part(HOME)} was told what {url} answered, and no shard's ledger has that request" in found


@pytest.mark.parametrize(("put_off", "seconds"), [(3000.0, 3000.0), (None, ORDER_GRACE_SECONDS)])
def test_a_url_whose_robots_txt_lies_with_a_host_that_may_not_be_asked_now_is_put_off(
    put_off: float | None, seconds: float
) -> None:
    """A host that only its own shard takes for stopped is asked for again soon: both will know of the order."""

    async def use() -> None:
        shard = Shard(HOME)
        with pytest.raises(Postponed) as caught:
            await shard.asks({"put_off": put_off})
        assert caught.value.seconds == seconds

    asyncio.run(use())


@pytest.mark.parametrize("stopped", [True, False])
def test_nobody_is_asked_about_a_host_that_is_stopped_nor_once_the_crawl_ends(stopped: bool) -> None:
    async def use() -> None:
        shard = Shard(HOME)
        shard.session.driver.gate.stopped |= {THERE} if stopped else set()
        shard.control.ending = not stopped
        with pytest.raises(Postponed, match="stopped by the operator" if stopped else "the crawl ends"):
            await shard.relay.ask(WANTED)
        assert shard.sent == []
        assert await shard.relay.ask(Relay(f"http://{THERE}", f"http://{HERE}/", {})) is None, "it is ours to ask"

    asyncio.run(use())


def test_what_was_answered_comes_back_as_it_was_sent() -> None:
    async def use() -> None:
        for outcome in (
            Response(url=WANTED.url, status=200, headers={"etag": "1"}, body=b"\xff\x00", truncated=True, address=HERE),
            FetchError("no"),
            AddressBlocked("x"),
        ):
            there, here = Shard(AWAY), Shard(HOME)
            there.session.relayed_robots = lambda asked, outcome=outcome: done(outcome)  # type: ignore
            there.relay.arrived(asked())
            told = await there.told()
            found = await here.asks(json.loads(json.dumps(told)))
            assert type(found) is type(outcome)
            is_answer = isinstance(outcome, Response) and isinstance(found, Response)
            assert found.__getstate__() == outcome.__getstate__() if is_answer else str(found) == str(outcome)
            assert here.relayed == [(WANTED.origin, WANTED.url, AWAY, found)]

    asyncio.run(use())


async def done(value: Any) -> Any:
    return value


@pytest.mark.parametrize(
    ("prepare", "put_off"),
    [
        (lambda gate: gate.throttles.restore_delays({THERE: 3000.0}, 1000.0), 3000.0),
        (lambda gate: gate.stopped.add(THERE), None),
    ],
)
def test_who_is_asked_about_a_host_that_is_to_be_left_alone_says_for_how_long(
    prepare: Callable[[Any], None], put_off: float | None
) -> None:
    async def use() -> None:
        shard = Shard(AWAY)
        prepare(shard.session.driver.gate)
        shard.relay.arrived(asked())
        assert await shard.told() == {"put_off": put_off}
        await shard.session.close()

    asyncio.run(use())


@pytest.mark.parametrize("run", [1, 2])
def test_a_question_is_remembered_until_it_is_answered_and_no_longer_than_its_run(run: int) -> None:
    async def use() -> None:
        before = Shard(AWAY)
        before.session.relayed_robots = lambda asked: asyncio.sleep(HANGS)  # type: ignore
        before.relay.arrived(asked())
        kept = before.facts.take()
        assert list(kept) == [QUESTION_FACT + WANTED.origin]
        (task,) = before.scheduler.tasks
        task.cancel()
        after = Shard(AWAY, run=run, earlier=kept)
        after.session.relayed_robots = lambda asked: done(FetchError("refused"))  # type: ignore
        after.relay.resume()
        if run == 1:
            assert await after.told() == {"error": "refused"}
        assert after.facts.take() == {QUESTION_FACT + WANTED.origin: None}
        assert after.sent == []

    asyncio.run(use())


def test_what_was_asked_or_answered_in_an_earlier_run_counts_no_more() -> None:
    """It may have waited for days until the crawl was continued."""

    async def use() -> None:
        here, there = Shard(HOME, run=2), Shard(AWAY, run=2)
        outcome = await here.asks({"error": "of this run"})  # one of the run before comes first
        assert str(outcome) == "of this run"
        there.relay.arrived(asked(run=1))
        assert (there.scheduler.tasks, there.facts.take(), there.sent) == (set(), {}, [])

    asyncio.run(use())


def test_a_shard_that_is_to_stop_sends_nothing_for_others_and_leaves_the_question_to_its_next_holder() -> None:
    async def use() -> None:
        shard = Shard(AWAY)
        shard.control.stop()
        shard.relay.arrived(asked())
        assert (shard.scheduler.tasks, shard.sent) == (set(), [])
        after = Shard(AWAY, earlier=shard.facts.take())
        after.session.relayed_robots = lambda asked: done(FetchError("refused"))  # type: ignore
        after.relay.resume()
        assert await after.told() == {"error": "refused"}

    asyncio.run(use())


def test_an_answer_that_defeats_who_is_asked_does_not_end_the_crawl() -> None:
    async def use() -> None:
        async def fail(asked: Relay) -> Response:
            raise ValueError("not foreseen")

        shard = Shard(AWAY)
        shard.session.relayed_robots = fail  # type: ignore
        shard.relay.arrived(asked())
        assert await shard.told() == {"error": "not foreseen"}
        await asyncio.gather(*shard.scheduler.tasks)
        assert shard.control.broken is None

    asyncio.run(use())


@pytest.mark.long
def test_an_order_to_stop_a_host_holds_in_all_shards_and_one_to_go_on_lifts_it(tmp_path: Path) -> None:
    with Site(HERE) as one, Site(THERE) as other:
        one.set("/robots.txt", status=301, headers={"Location": other.url("/1")})
        other.set("/1", "")
        one.link("/")
        orders.give(tmp_path, THERE, "stop")
        crawl = crawl_of(tmp_path, one)
        asyncio.run(crawl.run())
        assert one.paths() == ["/robots.txt"]
        assert other.paths() == []
        assert crawl.end.left == 1
        orders.give(tmp_path, THERE, "go")
        crawl = Crawler([], tmp_path, policy=POLICY, workers=2)
        asyncio.run(crawl.run())
        assert other.paths() == ["/1"]
        assert crawl.stats.pages == 1
    assert prove(tmp_path).findings == []
