"""What the operator orders of a host holds while the crawl runs and after it, and the ledger says since when."""

import asyncio
import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from clocks import FakeClock
from commands import ALLOW, comity, complaint
from examples import first_of
from sites import HANGS, Site

from comity import Crawler, Policy
from comity.audit.paces import Paces
from comity.audit.prove import prove
from comity.crawler.storage import crawl as stored_crawl
from comity.crawler.storage import orders
from comity.crawler.storage.folder import FolderStorage, read_status
from comity.errors import InvalidSetting, InvalidURL

LOCAL = ("127.0.0.0/8",)


def chain(site: Site, pages: int) -> None:
    """Pages that lead one to the next."""
    for number in range(pages):
        site.link(f"/{number}", f"/{number + 1}")
    site.link(f"/{pages}")


def crawler(
    folder: Path,
    *seeds: str,
    interval: float = 0.0,
    clock: FakeClock | None = None,
    **more: Any,
) -> Crawler:
    policy = Policy(min_interval=interval, allow_addresses=LOCAL)
    return Crawler(seeds, FolderStorage(folder, clock=clock), policy=policy, settings={"sitemaps": False, **more})


def ledger(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "ledger.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a_host_that_is_slowed_down_keeps_the_interval_from_then_on(
    site: Site, tmp_path: Path, clock: FakeClock
) -> None:
    chain(site, 400)
    at: list[float] = []

    def page(_: object) -> None:
        at.append(clock.now)
        if len(at) == 3:
            orders.give(tmp_path, "127.0.0.1", "slow", 30)
        if len(at) > 3 and at[-1] - at[-4] >= 90:
            crawl.stop()

    crawl = crawler(tmp_path, site.url("/0"), interval=1.0, clock=clock)
    asyncio.run(crawl.run(on_page=page))
    assert crawl.stopped, "it was never slowed down"
    records = ledger(tmp_path)
    (order,) = (record for record in records if record["kind"] == "order")
    assert (order["host"], order["pace"], order["order"], order["seconds"]) == ("127.0.0.1", "127.0.0.1", "slow", 30)
    kept = [each["kept"] for each in records if each["kind"] == "request" and each["sent"] > order["at"]]
    assert len(kept) >= 3
    assert min(kept) >= 30
    assert prove(tmp_path).findings == []

    resumed = crawler(tmp_path, interval=1.0, clock=clock)
    asyncio.run(resumed.run(on_page=lambda _: resumed.stop()))
    first, *later = (each for each in ledger(tmp_path)[len(records) :] if each["kind"] == "request")
    assert first["sent"] >= clock.wall() - clock.now + at[-1] + 30 - 1e-3, "an order holds in later runs too"
    assert all(each["kept"] >= 30 for each in later)
    assert prove(tmp_path).findings == []


def test_a_host_that_is_stopped_is_asked_for_nothing_until_it_may_go_on(site: Site, tmp_path: Path) -> None:
    with Site("127.0.0.2") as other:
        ordered = asyncio.Event()

        async def slow(request: web.Request) -> web.Response:
            """The other host's second page arrives once the order was heeded."""
            await ordered.wait()
            return web.Response(text='<a href="/2">2</a>', content_type="text/html")

        chain(site, 3)
        other.link("/0", "/1")
        other.set("/1", slow)
        other.link("/2")

        async def endless(request: web.Request) -> web.Response:
            number = int(request.path[2:])
            return web.Response(text=f'<a href="/e{number + 1}">x</a>', content_type="text/html")

        for number in range(5000):
            site.set(f"/e{number}", endless)

        def page(_: object) -> None:
            if crawl.stats.pages == 3:
                orders.give(tmp_path, "127.0.0.1", "stop")

        crawl = crawler(tmp_path, site.url("/e0"), other.url("/0"), interval=0.01)
        assert crawl._local is not None
        heed = crawl._local.collector.ordered

        def heeded(host: str, words: str) -> None:
            heed(host, words)
            other._loop.call_soon_threadsafe(ordered.set)

        crawl._local.collector.ordered = heeded  # type: ignore[method-assign]
        asyncio.run(crawl.run(on_page=page))
        assert not crawl.stopped
        assert crawl.end.left == 1
        assert crawl.end.deferred == "127.0.0.1 was stopped by the operator"
        (order,) = (record for record in ledger(tmp_path) if record["kind"] == "order")
        late = [
            each
            for each in ledger(tmp_path)
            if each["kind"] == "request" and each["host"] == "127.0.0.1" and each["sent"] > order["at"]
        ]
        assert late == []
        assert "/2" in other.paths()
        assert prove(tmp_path).findings == []

        before = len(site.seen)
        asyncio.run(crawler(tmp_path).run())
        assert len(site.seen) == before, "the order holds in the next run"

        assert comity("frontier", "go", str(tmp_path), site.url("/e0")).returncode == 0
        going = crawler(tmp_path)
        asyncio.run(going.run(on_page=lambda _: going.stop()))
        assert len(site.seen) > before
        assert prove(tmp_path).findings == []


def test_a_host_whose_robots_txt_leads_to_a_stopped_one_goes_on_together_with_it(site: Site, tmp_path: Path) -> None:
    with Site("127.0.0.2") as other:
        site.set("/robots.txt", status=302, headers={"Location": other.url("/robots.txt")})
        other.set("/robots.txt", "")
        site.link("/")
        held_back = threading.Event()

        async def endless(request: web.Request) -> web.Response:
            number = int(request.path[2:])
            return web.Response(text=f'<a href="/e{number + 1}">x</a>', content_type="text/html")

        with Site("127.0.0.3") as busy:
            for number in range(5000):
                busy.set(f"/e{number}", endless)
            orders.give(tmp_path, "127.0.0.2", "stop")

            def page(_: object) -> None:
                assert crawl.running is not None
                held = [host for host in crawl.running.scheduler.hosts.all() if host.held_by == "stopped"]
                if held and not held_back.is_set():
                    held_back.set()
                    orders.give(tmp_path, "127.0.0.2", "go")
                if "/" in site.paths():
                    crawl.stop()

            crawl = crawler(tmp_path, site.url("/"), busy.url("/e0"), interval=0.01)
            asyncio.run(crawl.run(on_page=page))
        assert held_back.is_set(), "nothing was held back"
        assert "/" in site.paths()


def test_an_order_that_is_lifted_holds_nobody_back_any_more(site: Site, tmp_path: Path) -> None:
    async def endless(request: web.Request) -> web.Response:
        number = int(request.path[1:])
        return web.Response(text=f'<a href="/{number + 1}">x</a>', content_type="text/html")

    for number in range(20_000):
        site.set(f"/{number}", endless)
    began = threading.Event()
    crawl = crawler(tmp_path, site.url("/0"))
    running = threading.Thread(target=lambda: asyncio.run(crawl.run(on_page=lambda _: began.set())))
    running.start()

    def waits() -> bool:
        return any(host.wait > 100 for host in crawl.snapshot().hosts)

    try:
        assert began.wait(HANGS)
        said = comity("frontier", "slow", str(tmp_path), "127.0.0.1", "3000")
        assert said.stdout == "at least 3000 s between requests to 127.0.0.1, effective now\n"
        pause = threading.Event()
        for _ in range(HANGS * 20):
            if waits():
                break
            pause.wait(0.05)
        assert waits()
        before = len(site.seen)
        comity("frontier", "go", str(tmp_path), "127.0.0.1")
        for _ in range(HANGS * 20):
            if len(site.seen) > before:
                break
            pause.wait(0.05)
        assert len(site.seen) > before
    finally:
        crawl.stop()
        running.join(HANGS)
    assert prove(tmp_path).findings == []


def test_a_proof_finds_what_was_sent_in_spite_of_an_order() -> None:
    def request(sent: float) -> dict[str, Any]:
        about = {"host": "a.example", "pace": "a.example", "interval": 1.0, "kept": None, "retry_after": None}
        return {**about, "sent": sent, "head": sent, "end": sent, "purpose": "content", "error": None}

    def order(kind: str, at: float, seconds: float | None = None) -> dict[str, Any]:
        return {"host": "a.example", "pace": "a.example", "order": kind, "seconds": seconds, "at": at}

    paces, policy = Paces(), Policy()
    assert list(paces.check(1, request(100.0), policy)) == []
    assert paces.orders.add(order("slow", 100.0, 30.0)) is None
    assert list(paces.check(2, request(120.0), policy)) == [
        "it was sent 20.000 s after the previous answer of a.example, not 30 s"
    ]
    assert paces.orders.add(order("go", 120.0)) is None
    assert list(paces.check(3, request(122.0), policy)) == []
    assert paces.orders.add(order("stop", 122.0)) is None
    assert list(paces.check(4, request(124.0), policy)) == ["it was sent after the order to stop a.example"]
    assert paces.orders.add(order("hop", 122.0)) == "its order 'hop' does not exist"


def test_orders_that_make_no_sense_are_refused_and_damage_is_passed_over(tmp_path: Path, site: Site) -> None:
    for seconds in (0, -1, float("nan"), 90_000):
        with pytest.raises(InvalidSetting):
            orders.give(tmp_path, "a.example", "slow", seconds)
    with pytest.raises(InvalidURL):
        orders.give(tmp_path, "a b", "stop")
    orders.give(tmp_path, "A.example", "stop")
    with (tmp_path / orders.FILE).open("ab") as file:
        file.write(b'{"host": "x\nnothing\n{"host": "b.example", "order": "slow", "seconds": "x"}\n[1]\n{"host": "cut')
    orders.give(tmp_path, "c.example", "go")
    found = orders.Orders(tmp_path)
    assert [(each.host, each.order) for each in found.new()] == [("a.example", "stop"), ("c.example", "go")]
    assert list(found.new()) == []
    orders.give(tmp_path, "d.example", "slow", 2.5)
    assert [(each.host, each.seconds) for each in found.new()] == [("d.example", 2.5)]

    nothing = comity("frontier", "stop", str(tmp_path), "a.example")
    assert nothing.returncode == 66
    assert "no crawl in" in complaint(nothing)
    wrong = comity("frontier", "slow", str(tmp_path), "a.example")
    assert wrong.returncode == 64
    assert "(try: comity frontier slow --help)" in complaint(wrong)


def test_a_crawl_is_ended_by_an_order_and_goes_on_later(site: Site, tmp_path: Path) -> None:
    chain(site, 20)
    ended = crawler(tmp_path, site.url("/0"), interval=0.1)
    given: list[orders.Order] = []

    def end() -> None:
        if not given:
            given.append(orders.give(tmp_path, orders.EVERYTHING, "end"))

    stats = asyncio.run(ended.run(on_page=lambda _: end()))
    assert ended.stopped
    assert 0 < stats.pages < 21
    told = [(each["order"], each["host"]) for each in ledger(tmp_path) if each["kind"] == "order"]
    assert told == [("end", "*")]
    later = crawler(tmp_path)
    assert asyncio.run(later.run()).pages == 21, "an order of an earlier run ended this one"
    assert not later.stopped
    assert prove(tmp_path).findings == []


def test_a_crawl_that_is_ordered_to_end_while_it_begins_ends_before_it_asks_for_anything(
    site: Site, tmp_path: Path
) -> None:
    chain(site, 3)
    asyncio.run(crawler(tmp_path, site.url("/0"), max_pages=1).run())
    before = len(site.seen)
    beginning = crawler(tmp_path, max_pages=None)
    orders.give(tmp_path, orders.EVERYTHING, "end")
    assert asyncio.run(beginning.run()).pages == 1
    assert beginning.stopped
    assert len(site.seen) == before
    assert [each["order"] for each in ledger(tmp_path) if each["kind"] == "order"] == ["end"]
    assert asyncio.run(crawler(tmp_path).run()).pages == 4
    assert prove(tmp_path).findings == []


def test_a_crawl_that_does_not_run_cannot_be_ended(site: Site, tmp_path: Path) -> None:
    chain(site, 1)
    asyncio.run(crawler(tmp_path, site.url("/0")).run())
    done = comity("frontier", "end", str(tmp_path))
    assert done.returncode == 64
    assert "is not running" in complaint(done)
    assert not (tmp_path / orders.FILE).exists()


def begun(site: Site, folder: Path, *more: str, interval: str = "0.05") -> subprocess.Popen[str]:
    """A crawl by the command, some pages of which were fetched."""
    words = ["crawl", site.url("/0"), "-o", str(folder), "--delay", interval, "-q", *ALLOW, *more]
    crawl = subprocess.Popen([sys.executable, "-m", "comity", *words], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + HANGS
    while len(site.seen) < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    return crawl


@pytest.mark.parametrize(
    ("becomes", "workers"),
    first_of(("moved", 1), ("removed", 1), ("replaced", 2), ("moved", 2), ("removed", 2), ("replaced", 1), now=1),
)
def test_a_crawl_whose_folder_is_gone_ends_at_once_in_words(
    becomes: str, workers: int, site: Site, tmp_path: Path
) -> None:
    chain(site, 1000)
    folder, other = tmp_path / "a", tmp_path / "b"
    crawl = begun(site, folder, "--workers", str(workers))
    while workers > 1 and (len(told := read_status(folder)) < 4 or any("start" in row["words"] for row in told)):
        assert crawl.poll() is None
        time.sleep(0.01)
    if becomes == "removed":
        while folder.exists():  # what is written meanwhile may be in the way
            shutil.rmtree(folder, ignore_errors=True)
    else:
        folder.rename(other)
    if becomes == "replaced":
        folder.mkdir()
    sent = len(site.seen)
    _, said = crawl.communicate(timeout=HANGS)
    assert crawl.returncode == 73, said
    assert "was moved, removed or replaced while this crawl wrote to it" in said
    assert len(site.seen) <= sent + 1, "that was under way"
    assert [path.name for path in folder.rglob("*")] == []
    if becomes == "moved":
        assert (
            comity(
                "crawl", "-o", str(other), "--resume", "--max-pages", "10", "-q", "--delay", "0.05", *ALLOW
            ).returncode
            == 0
        )
        assert prove(other).findings == []


def test_an_order_is_confirmed_by_the_crawl_that_carries_it_out(site: Site, tmp_path: Path) -> None:
    chain(site, 1000)
    folder = tmp_path / "crawl"
    crawl = begun(site, folder)
    try:
        crawl.send_signal(signal.SIGSTOP)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stored_crawl, "MAX_CONFIRM_SECONDS", 0.2)
            unheard = comity("frontier", "slow", str(folder), site.address, "3s")
        assert unheard.returncode == 3
        assert "has not confirmed the order" in complaint(unheard)
        crawl.send_signal(signal.SIGCONT)
        assert comity("frontier", "go", str(folder), site.address).stdout.endswith("lifted, effective now\n")
        assert comity("frontier", "end", str(folder)).returncode == 0
        _, said = crawl.communicate(timeout=HANGS)
        assert crawl.returncode == 130, said
    finally:
        crawl.kill()
    assert prove(folder).findings == []
    given = [json.loads(line) for line in (folder / "orders.jsonl").read_text("ascii").splitlines()]
    assert [line["order"] for line in given if "order" in line] == ["slow", "go", "end"]
    assert [line["confirmed"]["order"] for line in given if "confirmed" in line] == ["slow", "go", "end"]


@pytest.mark.parametrize("kind", first_of("stop", "slow", "end"))
def test_a_proof_finds_an_order_that_a_run_did_not_carry_out(kind: str, site: Site, tmp_path: Path) -> None:
    chain(site, 30)
    asyncio.run(crawler(tmp_path, site.url("/0"), interval=0.1).run())
    assert prove(tmp_path).findings == []
    began = ledger(tmp_path)[0]["at"]
    other = {"host": "other.example", "order": "stop", "seconds": None, "at": began + 0.1}
    late = {"host": "127.0.0.1", "order": "stop", "seconds": None, "at": began + 1000}
    (tmp_path / "orders.jsonl").write_text("".join(json.dumps(each) + "\n" for each in (other, late)))
    assert prove(tmp_path).findings == []
    host, seconds = "*" if kind == "end" else "127.0.0.1", 9.0 if kind == "slow" else None
    order = {"host": host, "order": kind, "seconds": seconds, "at": began + 0.1}
    (tmp_path / "orders.jsonl").write_text(json.dumps(order) + "\n")
    (finding,) = prove(tmp_path).findings
    assert finding.file == "orders.jsonl"
    assert f"run 1 did not carry out the order '{kind}'" in finding.what
