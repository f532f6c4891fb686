"""A crawl of several shards and processes: the same pages as one, each host asked by one shard, whatever dies."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from commands import ALLOW, comity, complaint
from sites import HANGS, Site, linked

from comity import Crawler, CrawlSettings, Policy, Response
from comity.audit.prove import prove
from comity.cli.progress import render
from comity.crawler import Expanded
from comity.crawler.cluster.jobs import Job, name_of_process, on_machine
from comity.crawler.cluster.shard import Shard
from comity.crawler.cluster.worker_process import WorkerProcess, files_of
from comity.crawler.cluster.workers import Workers
from comity.crawler.crawler import ChosenPlugins
from comity.crawler.observe.snapshot import HostState, HostStatus, ShardStatus, Snapshot, merged
from comity.crawler.observe.stats import RefusingRule, Stats
from comity.crawler.run.commits import Committer
from comity.crawler.storage import orders
from comity.crawler.storage.crawl import describe_shard
from comity.crawler.storage.folder import FolderCrawl, FolderStorage
from comity.crawler.storage.manifest import CrawlManifest, manifest_of
from comity.crawler.storage.orders import EVERYTHING, Orders, give
from comity.crawler.storage.output_folder import is_same
from comity.crawler.storage.placement import ShardAssignment, shard_of
from comity.errors import InvalidSetting, StorageError
from comity.frontier.messages import AT_ONCE, Parcel, parcels_of
from comity.frontier.sqlite.store import FolderMailboxes, Frontier, pending
from comity.frontier.values import Batch, EntryKind, Found, Message, Run, State, Superseded
from comity.net import ClientSettings

HOSTS = 6
PAGES = 15
QUICK = Policy(min_interval=0, allow_addresses=("127.0.0.0/8",))
GIVEN = ("--delay", "0", *ALLOW)  # for each run
CHANNELS = ("pages", "refusals", "failures", "redirects")


@pytest.fixture
def sites() -> Iterator[list[Site]]:
    """Hosts whose pages lead to each other's."""
    with ExitStack() as stack:
        sites = linked(stack, HOSTS, PAGES)
        for number, site in enumerate(sites):
            other, third = sites[(number + 1) % HOSTS], sites[(number + 2) % HOSTS]
            site.link("/away", "/moved")
            site.set("/moved", status=301, headers={"Location": other.url("/landed")})
            site.link("/landed", "/missing")
            site.link("/0", "/1", "/2", "/away", other.url("/0"), third.url("/private/x"))
        yield sites


def output(folder: Path) -> dict[str, Counter[str]]:
    """The URLs in each channel."""
    found: dict[str, Counter[str]] = {}
    for channel in CHANNELS:
        found[channel] = Counter()
        for part in FolderCrawl(folder).parts:
            lines = (part / f"{channel}.jsonl").read_text(encoding="utf-8").splitlines()
            found[channel].update(json.loads(line)["url"] for line in lines)
    return found


def whole(sites: list[Site], folder: Path) -> dict[str, Counter[str]]:
    """What one crawler in one process makes of the sites."""
    settings = CrawlSettings(scope="any", sitemaps=False)
    asyncio.run(Crawler(sites[0].url("/0"), folder, policy=QUICK, settings=settings).run())
    for site in sites:
        site.seen.clear()
    return output(folder)


def words(sites: list[Site], folder: Path, *more: str) -> list[str]:
    return ["crawl", sites[0].url("/0"), "-o", str(folder), "--scope", "any", *GIVEN, *more]


def stop_by_terminal(sites: list[Site], folder: Path, *more: str) -> None:
    """Begin a crawl by the command, and end it by Ctrl-C while much of it is left."""
    given = words(sites, folder, "--workers", "2", "--json", *more)
    given[given.index("--delay") + 1] = "0.05"
    crawl = subprocess.Popen(
        [sys.executable, "-m", "comity", *given], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    deadline = time.monotonic() + HANGS
    while sum(len(site.seen) for site in sites) < 25 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(crawl.pid, signal.SIGINT)  # as a terminal does
    out, error = crawl.communicate(timeout=HANGS)
    assert crawl.returncode == 130, error
    assert json.loads(out)["left"] > 0
    assert prove(folder).findings == []


@pytest.mark.long
def test_a_shard_s_folder_from_before_is_found_out(sites: list[Site], tmp_path: Path) -> None:
    folder, early = tmp_path / "crawl", tmp_path / "early"
    comity(*words(sites, folder, "--workers", "2", "--max-pages", "20"))
    assert prove(folder).findings == []
    shutil.copytree(folder, early)
    comity("crawl", "--resume", "-o", str(folder), *GIVEN, "--max-pages", "none", "--workers", "2")
    proof = prove(folder)
    assert (proof.findings, proof.runs) == ([], 2)
    for name in [part.name for part in FolderCrawl(folder).parts]:
        (folder / name).rename(tmp_path / "kept")
        shutil.copytree(early / name, folder / name)
        said = [each.what for each in prove(folder).findings]
        assert "its last run is 1, and the crawl ended in run 2" in said
        assert any("is an older copy: its ledger has" in what for what in said)
        shutil.rmtree(folder / name)
        (tmp_path / "kept").rename(folder / name)
    assert prove(folder).findings == []


def shard_of_crawl(
    folder: Path, place: ShardAssignment, manifest: CrawlManifest, *, orders: int = 0, **settings: Any
) -> Shard:
    """One shard as a worker of a crawl in a folder makes it."""
    job = Job(folder, "worker", manifest, QUICK, CrawlSettings(**settings), ClientSettings(), orders=orders)
    storage = FolderStorage(folder / f"shard-{place.number:03}", Orders(folder, orders))
    return Shard(job, place, 1, storage, [], lambda: None)


@pytest.mark.long
def test_each_seed_stands_once_in_the_ledgers_of_all_shards_and_runs(sites: list[Site], tmp_path: Path) -> None:
    folder, seeds = tmp_path / "crawl", [site.url(f"/seed/{number}") for site in sites for number in range(3)]

    def run(most: int | None, seeds: list[str]) -> Crawler:
        settings = {"max_pages": most, "sitemaps": False}
        crawl = Crawler(seeds, folder, policy=QUICK, settings=settings, workers=Workers(1, shards=4))
        asyncio.run(crawl.run())
        return crawl

    for site in sites:
        for number in range(4):
            site.link(f"/seed/{number}", "/0")
    run(5, seeds)
    run(9, [])
    run(None, [more := sites[0].url("/seed/3")])
    ledgers = [(part / "ledger.jsonl").read_text("utf-8") for part in FolderCrawl(folder).parts]
    lines = [line for ledger in ledgers for line in ledger.splitlines()]
    stated = [seed for line in lines if (record := json.loads(line))["kind"] == "run" for seed in record["seeds"]]
    assert sorted(stated) == sorted([*seeds, more])
    for number, part in enumerate(FolderCrawl(folder).parts):  # and a shard takes over no more than its own
        with Frontier(part / "frontier.sqlite") as frontier:
            assert sorted(frontier.load_state("seeds")) == sorted(ShardAssignment(number, 4).own([*seeds, more]))
            assert len(frontier.load_state("scope")["given"]) == HOSTS
    assert output(folder)["pages"].keys() >= {
        *seeds,
        more,
        *(site.url(f"/{n}") for site in sites for n in range(PAGES)),
    }
    assert prove(folder).findings == []


def test_a_worker_that_takes_over_a_shard_may_be_silent_for_longer() -> None:
    killed = []

    class Silent:
        pid, is_child, is_placed, returncode = 1, True, True, None
        kill = staticmethod(lambda: killed.append(True))

    worker = WorkerProcess(0, lambda job: None, lambda *_: None, lambda: None)  # type: ignore[arg-type, return-value]
    worker.process, worker.begun = Silent(), True  # type: ignore[assignment]
    for _ in range(5):
        worker.watch(1.0, 2.0, takes_over=True)
    assert not killed
    worker.watch(1.0, 2.0)
    assert killed


def test_a_worker_of_an_earlier_run_takes_no_shard(sites: list[Site], tmp_path: Path) -> None:
    manifest = CrawlManifest(2, seeds=[sites[0].url("/0")], crawl="c", run=2)
    manifest.write(tmp_path)
    for place, said in (
        (ShardAssignment(0, 2, run=Run("c", 1)), "run 2 of the crawl in .* has begun, and this is run 1"),
        (ShardAssignment(0, 2, run=Run("other", 2)), "is a shard of another crawl"),
    ):
        with pytest.raises(Superseded, match=said):
            asyncio.run(shard_of_crawl(tmp_path, place, manifest).run())
    assert not any(site.seen for site in sites)


def asked_once(sites: list[Site]) -> None:
    """Each host was asked for its robots.txt once."""
    assert [site.paths().count("/robots.txt") for site in sites] == [1] * len(sites)


def test_a_crawl_of_several_processes_finds_what_one_finds(sites: list[Site], tmp_path: Path) -> None:
    wanted = whole(sites, tmp_path / "one")
    folder = tmp_path / "many"
    done = comity(*words(sites, folder, "--workers", "2", "--shards", "5", "--json"))
    assert done.returncode == 2, done.stderr  # the pages that are missing
    told = json.loads(done.stdout)
    assert output(folder) == wanted
    assert max(wanted["pages"].values()) == 1
    assert told["pages"] == wanted["pages"].total() == HOSTS * (PAGES + 2)
    assert told["ended"] == "the queue is empty"
    assert told["left"] == 0
    asked_once(sites)
    assert [part.name for part in FolderCrawl(folder).parts] == [f"shard-{number:03}" for number in range(5)]

    assert [*folder.rglob("*-wal"), *folder.rglob("*-shm")] == []

    proof = prove(folder)
    assert proof.findings == []
    assert proof.hosts == HOSTS
    assert proof.requests == sum(len(site.seen) for site in sites)
    assert comity("prove", str(folder), "--hash", proof.hash).returncode == 0
    assert comity("prove", str(folder), "--hash", "0" * 64).returncode == 1
    assert len(comity("pages", str(folder)).stdout.splitlines()) == told["pages"]
    (fate,) = map(json.loads, comity("why", str(folder), sites[3].url("/landed"), "--json").stdout.splitlines())
    assert (fate["fate"], fate["found_on"]) == ("kept", sites[2].url("/moved"))
    shown = json.loads(comity("frontier", str(folder), "--json").stdout)
    assert shown["counts"]["queued"] == 0
    assert {each["state"] for each in shown["shards"]} == {"finished"}
    assert {each["to_others"] for each in shown["shards"]} == {0}
    assert sum(each["pages"] for each in shown["shards"]) == told["pages"]
    report = comity("report", str(folder), "-o", str(tmp_path / "report.html"))
    assert report.returncode == 0, report.stderr

    # a refresh of all shards
    for site in sites:
        site.seen.clear()
    sites[4].link("/3", "/new")
    sites[4].link("/new")
    again = comity("crawl", "-o", str(folder), *GIVEN, "--refresh", "--workers", "1", "--json")
    assert again.returncode == 2, again.stderr
    told = json.loads(again.stdout)
    assert (told["new"], told["changed"], told["gone"]) == (1, 1, 0)
    assert told["unchanged"] == wanted["pages"].total() - 1
    assert prove(folder).findings == []


@pytest.mark.long
def test_a_limit_on_pages_is_exact_over_all_shards_and_the_crawl_goes_on_from_there(
    sites: list[Site], tmp_path: Path
) -> None:
    wanted = whole(sites, tmp_path / "one")
    folder = tmp_path / "many"
    for most, workers in ((7, "2"), (30, "1")):
        again = () if most == 7 else ("--resume",)
        given = words(sites, folder) if most == 7 else ["crawl", "-o", str(folder), *GIVEN]
        done = comity(*given, *again, "--workers", workers, "--max-pages", str(most), "--json")
        assert done.returncode in (0, 2), done.stderr
        told = json.loads(done.stdout)
        assert (told["pages"], told["ended"]) == (most, f"the limit of {most} pages is reached")
        assert output(folder)["pages"].total() == most
    done = comity("crawl", "-o", str(folder), *GIVEN, "--resume", "--workers", "1", "--max-pages", "none", "--json")
    assert done.returncode == 2, done.stderr
    assert output(folder) == wanted
    assert prove(folder).findings == []


@pytest.mark.long
def test_workers_that_are_killed_are_started_again_and_nothing_is_lost(sites: list[Site], tmp_path: Path) -> None:
    wanted = whole(sites, tmp_path / "one")
    folder = tmp_path / "many"

    async def run() -> list[int]:
        crawl = Crawler(
            [sites[0].url("/0")],
            folder,
            policy=QUICK.with_changes(min_interval=0.02),
            settings={"scope": "any", "sitemaps": False},
            workers=Workers(2, shards=4),
        )
        killed = []

        async def kill() -> None:
            for enough in (15, 40, 70):
                while sum(len(site.seen) for site in sites) < enough:
                    await asyncio.sleep(0.01)
                process = crawl.processes[len(killed) % 2].process
                if process is not None and process.returncode is None:
                    process.kill()
                    killed.append(process.pid)

        killing = asyncio.ensure_future(kill())
        await crawl.run()
        killing.cancel()
        return killed

    assert len(asyncio.run(run())) == 3
    assert output(folder) == wanted
    assert prove(folder).findings == []


@pytest.mark.long
def test_a_crawl_whose_first_process_is_killed_goes_on_where_it_was(sites: list[Site], tmp_path: Path) -> None:
    wanted = whole(sites, tmp_path / "one")
    folder = tmp_path / "many"
    given = words(sites, folder, "--workers", "2")
    given[given.index("--delay") + 1] = "0.02"
    crawl = subprocess.Popen([sys.executable, "-m", "comity", *given], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + HANGS
    while sum(len(site.seen) for site in sites) < 25 and time.monotonic() < deadline:
        time.sleep(0.01)
    crawl.kill()
    crawl.wait()
    while FolderCrawl(folder).is_running() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not FolderCrawl(folder).is_running(), "its workers end with it"
    refused = comity("crawl", sites[0].url("/0"), "-o", str(folder))
    assert "already contains a crawl" in complaint(refused)
    done = comity("crawl", "-o", str(folder), *GIVEN, "--resume", "--workers", "2")
    assert done.returncode == 2, done.stderr
    assert output(folder) == wanted
    assert prove(folder).findings == []


@pytest.mark.long
def test_a_robots_txt_of_another_shards_host_is_asked_for_in_the_turn_that_this_one_gives(tmp_path: Path) -> None:
    with Site("127.0.0.1") as one, Site("127.0.0.2") as other:
        for site in (one, other):
            for page in range(6):
                site.link(f"/{page}", f"/{page + 1}", "/private/x")
            site.link("/6")
        assert shard_of("127.0.0.1", 3) != shard_of("127.0.0.2", 3)
        other.set("/robots.txt", "User-agent: *\nDisallow: /private/\n")
        one.set("/robots.txt", status=301, headers={"Location": other.url("/robots-of-one.txt")})
        other.set("/robots-of-one.txt", "User-agent: *\nDisallow: /private/\nDisallow: /6\n")
        crawl = Crawler(
            [one.url("/0"), other.url("/0")],
            tmp_path,
            policy=QUICK.with_changes(min_interval=0.3),
            settings={"sitemaps": False},
            workers=Workers(2, shards=3),
        )
        asyncio.run(crawl.run())
        assert sorted(one.paths()) == ["/0", "/1", "/2", "/3", "/4", "/5", "/robots.txt"]
        assert sorted(other.paths()) == [*(f"/{page}" for page in range(7)), "/robots-of-one.txt", "/robots.txt"]
        assert min(other.intervals()) >= 0.3
        assert crawl.stats.refused == 3
    assert prove(tmp_path).findings == []


@pytest.mark.long
def test_an_order_reaches_the_shard_that_has_the_host(sites: list[Site], tmp_path: Path) -> None:
    folder = tmp_path / "many"
    assert comity(*words(sites, folder, "--workers", "1", "--shards", "2", "--max-pages", "5")).returncode == 0
    said = comity("frontier", "stop", str(folder), sites[1].url("/"))
    assert said.stdout == "no more requests to 127.0.0.2, effective from the next run on: the crawl is not running\n"
    before = len(sites[1].seen)
    again = ("crawl", "-o", str(folder), *GIVEN, "--resume", "--workers", "1", "--json")
    told = json.loads(comity(*again, "--max-pages", "none").stdout)
    assert len(sites[1].seen) == before
    assert told["left"] > 0
    assert told["ended"] == "127.0.0.2 was stopped by the operator"
    alone = comity("crawl", "-o", str(folder / "shard-000"), "--resume", *GIVEN)
    assert alone.returncode == 73
    assert "holds one shard of a crawl (name the folder above it)" in complaint(alone)
    assert comity("frontier", "go", str(folder), "127.0.0.2").returncode == 0
    told = json.loads(comity(*again).stdout)
    assert (told["left"], told["pages"]) == (0, HOSTS * (PAGES + 2))
    assert prove(folder).findings == []


@pytest.mark.long
def test_an_order_ends_all_shards_and_a_later_run_goes_on(sites: list[Site], tmp_path: Path) -> None:
    folder = tmp_path / "many"

    async def run(*, end: bool) -> Crawler:
        crawl = Crawler(
            [site.url("/0") for site in sites],
            folder,
            policy=QUICK.with_changes(min_interval=0.3 if end else 0.0),
            settings={"scope": "any", "sitemaps": False},
            client_settings=ClientSettings(timeout=HANGS),
            workers=Workers(2, shards=3),
        )
        running = asyncio.ensure_future(crawl.run())
        if end:
            while not all(site.seen for site in sites):
                await asyncio.sleep(0.01)
            told = await asyncio.to_thread(comity, "frontier", "end", str(folder))
            assert told.returncode == 0, told
        await running
        return crawl

    crawl = asyncio.run(run(end=True))
    assert crawl.stopped
    assert crawl.end.left > 0
    for number in range(3):
        ledger = (folder / f"shard-{number:03}" / "ledger.jsonl").read_text(encoding="utf-8").splitlines()
        kinds = [(each["kind"], each.get("order") or each.get("ended")) for each in map(json.loads, ledger)]
        assert ("order", "end") in kinds
        assert kinds[-1] == ("seal", "stopped")
    again = asyncio.run(run(end=False))
    assert not again.stopped
    assert again.end.left == 0
    assert prove(folder).findings == []


@pytest.mark.long
def test_orders_about_hosts_of_any_shard_hold_while_the_crawl_runs(sites: list[Site], tmp_path: Path) -> None:
    wanted = whole(sites, tmp_path / "one")
    folder, stopped = tmp_path / "many", (sites[2], sites[4])
    assert len({shard_of(site.address, 5) for site in stopped}) == 2

    async def once_it_goes_on(_: web.BaseRequest) -> web.Response:
        while not all(site.seen for site in stopped):  # so the crawl cannot end before
            await asyncio.sleep(0.01)
        return web.Response(text="<title>last</title>", content_type="text/html")

    sites[0].set(f"/{PAGES - 1}", once_it_goes_on)

    async def run() -> list[str]:
        crawl = Crawler(
            [site.url("/0") for site in sites],
            folder,
            policy=QUICK,
            settings={"scope": "any", "sitemaps": False},
            client_settings=ClientSettings(timeout=HANGS),
            workers=Workers(2, shards=5),
        )
        folder.mkdir()
        for site in stopped:
            orders.give(folder, site.address, "stop")
        running = asyncio.ensure_future(crawl.run())
        while f"/{PAGES - 1}" not in sites[0].paths() and not running.done():
            await asyncio.sleep(0.01)
        assert not any(site.seen for site in stopped)
        said = [comity("frontier", "go", str(folder), site.url("/")).stdout for site in stopped]
        await running
        return said

    assert asyncio.run(run()) == [f"orders for {site.address} lifted, effective now\n" for site in stopped]
    assert output(folder)["pages"] == wanted["pages"]
    for site in stopped:
        ledger = folder / f"shard-{shard_of(site.address, 5):03}" / "ledger.jsonl"
        records = map(json.loads, ledger.read_text(encoding="utf-8").splitlines())
        told = [each["order"] for each in records if each["kind"] == "order" and each["host"] == site.address]
        assert told == ["stop", "go"]
    assert prove(folder).findings == []


@pytest.mark.long
def test_ctrl_c_ends_all_workers_and_what_is_left_waits(sites: list[Site], tmp_path: Path) -> None:
    wanted = whole(sites, tmp_path / "one")
    folder = tmp_path / "many"
    stop_by_terminal(sites, folder)
    assert {each["state"] for each in json.loads(comity("frontier", str(folder), "--json").stdout)["shards"]} == {
        "stopped"
    }
    assert comity("crawl", "-o", str(folder), *GIVEN, "--resume", "--workers", "1").returncode == 2
    assert output(folder) == wanted
    assert prove(folder).findings == []


def test_a_worker_that_cannot_be_started_is_given_up_with_an_error(tmp_path: Path) -> None:
    crawl = Crawler(["http://127.0.0.1/"], tmp_path, policy=QUICK, workers=Workers(2, command=("false",)))
    with pytest.raises(StorageError, match=r"worker [01] died 5 times without keeping a page \(exit code 1\)"):
        asyncio.run(crawl.run())
    assert not FolderCrawl(tmp_path).is_running()


DIES = """
import sys
from pathlib import Path
from comity.crawler.observe.snapshot import ShardStatus
from comity.crawler.observe.stats import Stats
from comity.crawler.storage.board import Heartbeat
from comity.crawler.cluster.pipe import Pipe
from comity.errors import StorageError
pipe, starts = Pipe(), Path(sys.argv[1])
pipe.job()
starts.write_text(starts.read_text() + "x" if starts.exists() else "x")
count = len(starts.read_text())
if count > 20:
    pipe.send("failed", StorageError("it was started for ever"))
pipe.send("round", Heartbeat())
pipe.send("round", Heartbeat({0: (count, ShardStatus(0, state="working", stats=Stats(pages=count)))}))
pipe.close()
"""


@pytest.mark.long
def test_pages_that_a_worker_told_of_and_did_not_commit_do_not_keep_it_alive(tmp_path: Path) -> None:
    command = (sys.executable, "-c", DIES, str(tmp_path / "starts"))
    crawl = Crawler(
        ["http://127.0.0.1/"], tmp_path / "out", policy=QUICK, workers=Workers(1, shards=2, command=command)
    )
    with pytest.raises(StorageError, match=r"worker 0 died 5 times without keeping a page"):
        asyncio.run(crawl.run())


DEADLY = """
import os
import time

from comity.crawler import Expanded

class Deadly:
    def expand(self, response):
        if response.url.endswith("/deadly"):
            time.sleep(1)  # the other worker keeps pages meanwhile
            os._exit(1)
        return Expanded()
"""


@pytest.mark.long
def test_a_page_that_kills_each_worker_that_fetches_it_ends_the_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who comes next begins a run in the ledger, and another worker keeps pages: neither is its progress."""
    (tmp_path / "deadly.py").write_text(DEADLY, encoding="ascii")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    here, there = (
        next(f"127.0.0.{n}" for n in range(1, 9) if shard_of(f"127.0.0.{n}", 2) == shard) for shard in (0, 1)
    )
    with Site(here) as deadly, Site(there) as other:
        deadly.link("/", "/deadly")
        deadly.link("/deadly")
        for number in range(2000):
            other.link(f"/{number}", f"/{number + 1}")
        crawl = Crawler(
            [deadly.url("/"), other.url("/0")],
            tmp_path / "out",
            policy=QUICK.with_changes(min_interval=0.05),
            settings={"sitemaps": False, "scope": "any"},
            workers=Workers(2, shards=2),
            plugins={"expander": "deadly:Deadly"},
        )

        async def run() -> None:
            async with asyncio.timeout(HANGS):
                await crawl.run()

        with pytest.raises(StorageError, match=r"worker [01] died 5 times without keeping a page \(exit code 1\)"):
            asyncio.run(run())
    assert 1 < crawl.stats.pages < 2000


def test_a_plug_in_that_is_not_there_leaves_nothing_behind(tmp_path: Path) -> None:
    for kind in ("sink", "expander"):
        given: ChosenPlugins = {kind: "not_there:X"}  # type: ignore[misc]
        with pytest.raises(InvalidSetting, match="there is no module not_there"):
            asyncio.run(Crawler(["http://127.0.0.1/"], tmp_path / "out", workers=2, plugins=given).run())
        assert not (tmp_path / "out").exists()


def test_what_workers_cannot_be_given_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    class Configured:
        def expand(self, response: Response) -> Expanded:
            return Expanded()

    with pytest.raises(InvalidSetting, match="workers make it by its name"):
        Crawler(["http://127.0.0.1/"], tmp_path / "out", workers=2, plugins={"expander": Configured()})
    crawl = Crawler(["http://127.0.0.1/"], tmp_path / "out", workers=2)
    with pytest.raises(InvalidSetting, match="a crawl in one process"):
        asyncio.run(crawl.run(on_record=lambda channel, record: None))
    with pytest.raises(InvalidSetting, match="join: name the store"):  # a folder gives no rights
        Crawler([], tmp_path / "out", workers=Workers(how="join"))
    assert not (tmp_path / "out").exists()


def test_an_error_that_ends_one_shard_of_several_is_told_in_one_line(sites: list[Site], tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    (folder / "shard-001").write_text("in the way", encoding="ascii")
    refused = comity(*words(sites, folder, "--workers", "1", "--shards", "4", "--quiet"))
    assert refused.returncode == 73
    assert "shard-001" in complaint(refused)


INTERRUPTED = """
import os, runpy, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "comity.cli":
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGTERM)

sys.meta_path.insert(0, Finder())
sys.argv = ["comity", "worker"]
runpy.run_module("comity", run_name="__main__")
"""


def test_ctrl_c_does_not_end_a_worker_that_is_only_starting() -> None:
    worker = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], input=b"", capture_output=True, timeout=HANGS, check=False
    )
    assert (worker.returncode, worker.stderr) == (1, b""), "it ends because nobody gives it a job"


def test_what_cannot_be_cut_into_shards_is_refused_in_one_line(tmp_path: Path, site: Site) -> None:
    site.link("/")
    where = ("-o", str(tmp_path / "a"))
    for more, said in (
        (("--workers", "4", "--shards", "3"), "3 are too few for 4 workers"),
        (("--workers", "2", "--render"), "pages cannot be rendered over several shards"),
        (("--workers", "2", "--source", "here:source"), "leave out --workers"),
    ):
        refused = comity("crawl", site.url("/"), *where, *more)
        assert refused.returncode == 64
        assert said in complaint(refused)
        assert not (tmp_path / "a").exists()
    assert comity("crawl", site.url("/"), *where, "--delay", "0", *ALLOW).returncode == 0
    late = comity("crawl", *where, *GIVEN, "--resume", "--workers", "2")
    assert late.returncode == 64
    assert "was begun without shards" in complaint(late)
    CrawlManifest(4, seeds=[site.url("/")]).write(tmp_path)
    for more, said in (
        (("--workers", "5"), "has 4 shards, so no more can work on it"),
        (("--shards", "8"), "was begun with 4, which cannot be changed"),
    ):
        refused = comity("crawl", "-o", str(tmp_path), "--resume", *more)
        assert refused.returncode == 64
        assert said in complaint(refused)
    (tmp_path / "crawl.json").write_text('{"format": 1, "shards": 99999}', encoding="ascii")
    damaged = comity("prove", str(tmp_path))
    assert damaged.returncode == 73
    assert "is damaged" in complaint(damaged)


@pytest.mark.long
def test_too_few_files_for_so_many_shards_are_told_before_anything_is_there(sites: list[Site], tmp_path: Path) -> None:
    given = [sys.executable, "-m", "comity", *words(sites, tmp_path / "a", "--workers", "2", "--shards", "16")]
    enough = files_of(8, 16, 50)

    def run(most: int) -> subprocess.CompletedProcess[str]:
        limit = f"import os, resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, ({most}, {most})); "
        limited = [sys.executable, "-c", f"{limit}os.execv(sys.argv[1], sys.argv[1:])", *given]
        return subprocess.run(limited, capture_output=True, text=True, timeout=HANGS, check=False)

    refused = run(enough - 1)
    assert refused.returncode == 64
    assert f"a worker that has 8 of 16 and 50 connections has up to {enough} files open" in complaint(refused)
    assert not (tmp_path / "a").exists()
    done = run(enough)
    assert done.returncode == 2, done.stderr
    assert output(tmp_path / "a")["pages"].total() == HOSTS * (PAGES + 2)


AHEAD = """
import runpy, sys, time
from pathlib import Path
starts = Path(sys.argv[1])
count = len(starts.read_text()) if starts.exists() else 0
starts.write_text("x" * (count + 1))
if count % 2 == 0:
    time.time = lambda real=time.time: real() + 3600.0
sys.argv = ["comity", "worker"]
runpy.run_module("comity", run_name="__main__")
"""


@pytest.mark.long
def test_hosts_keep_their_interval_where_the_clock_of_one_worker_is_ahead(sites: list[Site], tmp_path: Path) -> None:
    # By an hour, so that however long this takes no time of one process is that of another.
    wanted = whole(sites, tmp_path / "one")
    folder, interval = tmp_path / "many", 0.1

    async def run() -> None:
        crawl = Crawler(
            [sites[0].url("/0")],
            folder,
            policy=QUICK.with_changes(min_interval=interval),
            settings={"scope": "any", "sitemaps": False},
            workers=Workers(2, shards=4, command=(sys.executable, "-c", AHEAD, str(tmp_path / "starts"))),
        )
        running = asyncio.ensure_future(crawl.run())
        for number, enough in enumerate((20, 50)):
            while sum(len(site.seen) for site in sites) < enough and not running.done():
                await asyncio.sleep(0.01)
            if (process := crawl.processes[number].process) is not None and process.returncode is None:
                process.kill()  # who comes next has another clock
        await running

    asyncio.run(run())
    assert output(folder) == wanted
    assert min(min(site.intervals()) for site in sites) >= interval
    assert prove(folder).findings == []


HANGING = """
import sys, time
from pathlib import Path
from comity.crawler.cluster.pipe import Pipe
Path(sys.argv[1]).open("a").write("x")
pipe = Pipe()
pipe.job()
pipe.send("begun")
time.sleep(1000)
"""


def test_a_worker_that_hangs_is_not_started_again_where_the_crawl_is_to_stop(site: Site, tmp_path: Path) -> None:
    starts = tmp_path / "starts"

    async def run() -> None:
        command = sys.executable, "-c", HANGING, str(starts)
        crawl = Crawler([site.url("/")], tmp_path / "crawl", workers=Workers(1, shards=2, command=command, stalled=0.5))
        running = asyncio.ensure_future(crawl.run())
        while not (crawl.processes and crawl.processes[0].begun):
            await asyncio.sleep(0.01)
        crawl.stop()
        await running
        assert crawl.stopped

    asyncio.run(run())
    assert starts.read_text() == "x"


def test_a_host_belongs_to_one_shard_for_good() -> None:
    hosts = ("example.com", "www.example.com", "shop.example.com", "example.org", "127.0.0.1", "[::1]")
    assert [shard_of(host, 16) for host in hosts] == [6, 6, 15, 5, 12, 14]
    assert len({shard_of(host, 16, "domain") for host in hosts[:3]}) == 1
    assert {shard_of(host, 1) for host in hosts} == {0}
    spread = Counter(shard_of(f"host{number}.example", 8) for number in range(8000))
    assert min(spread.values()) > 800
    place = ShardAssignment(6, 16)
    assert place.elsewhere("example.com") is None
    assert place.elsewhere("example.org") == 5
    assert place.own(["http://example.com/", "http://example.org/"]) == ["http://example.com/"]


def test_the_picture_says_what_shards_wait_for_and_where_hosts_of_all_stand() -> None:
    def part(name: str, queued: int) -> Snapshot:
        host = HostStatus(name, HostState.INTERVAL, 1.0, 2.0, queued, False, 0)
        rule = RefusingRule(name, 3, "Disallow: /")
        return Snapshot("running", Stats(pages=1), 5.0, 2.0, 1, {HostState.INTERVAL: 1}, (host,), ((rule, queued),), 1)

    shards = (
        ShardStatus(0, state="working"),
        ShardStatus(1, state="turn", until=42.4, host="b.example", why="retry_after"),
        ShardStatus(2, state="resting"),
        ShardStatus(3, state="working"),
    )
    now = merged(
        [part("a.example", 3), part("b.example", 9)],
        phase="running",
        stats=Stats(pages=7),
        seconds=9.0,
        pages_per_second=4.0,
        shards=shards,
        most_hosts=8,
        most_rules=1,
    )
    assert (now.pages_per_second, now.under_way, now.other_rules) == (4.0, 2, 5)
    assert [host.name for host in now.hosts] == ["b.example", "a.example"]
    lines = render(now, 120).plain.splitlines()
    assert lines[0].startswith("9 s  7 pages 4.0/s")
    assert "4 shards: 2 fetching, 1 waiting for a turn, 1 with nothing left (longest 42 s, for b.example)" in lines
    assert describe_shard(shards[1]) == "waiting 42 s for b.example (Retry-After)"
    assert len(render(now, 120, height=6).plain.splitlines()) <= 6


def message(number: int, **more: Any) -> tuple[int, Message]:
    return 1, Message(f"http://b.example/{number}", 2, EntryKind.PAGE, 1, "http://a.example/", **more)


@pytest.mark.long
def test_the_pace_is_told_though_nobody_asks_for_hosts_or_rules_and_the_time_stays_known(
    sites: list[Site], tmp_path: Path
) -> None:
    crawler = Crawler([site.url("/0") for site in sites], tmp_path / "out", policy=QUICK, workers=2)

    async def run() -> list[float]:
        crawling = asyncio.ensure_future(crawler.run())
        paces = []
        while not crawling.done():
            paces.append(crawler.snapshot(hosts=0, rules=0).pages_per_second)
            await asyncio.sleep(0.05)
        await crawling
        return [*paces, crawler.snapshot(hosts=0, rules=0).pages_per_second]

    assert max(asyncio.run(run())) > 0
    assert json.loads((tmp_path / "out" / "crawl.json").read_text("utf-8"))["seconds"] > 0


def test_a_worker_is_known_by_its_name_wherever_it_runs() -> None:
    """Containers give the same numbers to their processes."""
    name = name_of_process(1)
    assert is_same(on_machine(name, "elsewhere"), name)
    assert not is_same(name_of_process(1), name)


def test_messages_between_shards_are_taken_once_whatever_fails(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    paths = {number: tmp_path / name / "frontier.sqlite" for number, name in enumerate("ab")}
    path = paths[0]
    with Frontier(path) as sender, Frontier(paths[1]) as receiver:

        def commit(frontier: Frontier, batch: Batch) -> None:
            with frontier.commit(batch):
                pass

        batch = Batch(messages=[message(1), message(2), message(1)])
        with pytest.raises(OSError, match="No space"), sender.commit(batch):
            raise OSError(28, "No space left on device")
        assert pending(paths) == {0: 0, 1: 0}
        commit(sender, batch)
        commit(sender, Batch(messages=[message(2), message(3)]))  # 2 was sent before
        commit(sender, Batch(messages=[message(3)]))
        neighbours = FolderMailboxes(paths.__getitem__)

        def waiting(after: int, shard: int = 1) -> list[Parcel]:
            return [parcel for _, parcel in asyncio.run(neighbours.parcels(shard, {0: after}))]

        parcels = waiting(0)
        assert pending(paths) == {0: 3, 1: 0}
        assert [[each.url[-1] for each in parcel.messages] for parcel in parcels[:2]] == [["1", "2"], ["3"]]
        assert parcels[0].messages[0] == message(1)[1]
        assert waiting(0, shard=2) == []

        found = [
            Found(each.url, "b.example", each.depth, each.kind, State.UNASKED, each.hops)
            for parcel in parcels
            for each in parcel.messages
        ]
        taking = Batch(found=found, taken={0: parcels[-1].number})
        with pytest.raises(OSError, match="No space"), receiver.commit(taking):
            raise OSError(28, "No space left on device")
        assert receiver.taken == {}
        commit(receiver, taking)
        commit(receiver, taking)  # again, as after a crash at the worst moment
        assert receiver.taken == {0: parcels[-1].number} == {0: sender.sent[1]}
        assert receiver.counts()[State.UNASKED] == 3
        assert pending(paths) == {0: 0, 1: 0}, "what was taken is not pending, though it is not forgotten yet"

        commit(sender, Batch(delivered={1: receiver.taken[0]}))
        assert waiting(0) == []
        commit(sender, Batch(messages=[message(4)]))
        (last,) = waiting(receiver.taken[0])
        assert last.number > parcels[-1].number
        neighbours.close()
    with Frontier(path) as sender:
        assert sender.sent == {1: last.number}


def test_what_comes_after_a_run_was_sealed_waits_for_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []
    with Site() as site:
        site.set("/robots.txt", "User-agent: *\nDisallow: /private/\n")
        site.link("/")
        place = ShardAssignment(shard_of("127.0.0.1", 2), 2)
        (sender,) = place.others
        parcel = Parcel(1, place.number, *parcels_of([], [(place.number, Message(site.url("/private/x"), 1))]).values())

        commit = Committer.commit

        async def committing(self: Committer, *, final: bool = False) -> None:
            """Another shard's message comes while its last commit is made; it ends once it has nothing to do."""
            await commit(self, final=final)
            if final:
                taken.append(shard.mailbox.take_in(sender, parcel))
            elif not shard.control.ending and shard.crawl.stats.pages == 1:
                shard.control.end()

        monkeypatch.setattr(Committer, "commit", committing)
        shard = shard_of_crawl(tmp_path, place, CrawlManifest(2, seeds=[site.url("/")]), sitemaps=False)
        asyncio.run(shard.run())
    assert prove(tmp_path / f"shard-{place.number:03}").findings == [], "the seal is the last record"
    assert taken == [False]


@pytest.mark.parametrize("begun", ["after", "before"])
def test_an_order_to_end_that_is_given_before_a_shard_has_begun_is_in_its_ledger(tmp_path: Path, begun: str) -> None:
    """The command had begun: who gave the order was told that the crawl ends. One for an earlier run is not."""
    with Site() as site:
        site.link("/")
        place = ShardAssignment(shard_of("127.0.0.1", 2), 2)
        orders = Orders(tmp_path).mark
        give(tmp_path, EVERYTHING, "end")
        manifest = CrawlManifest(2, seeds=[site.url("/")])
        mark = orders if begun == "before" else Orders(tmp_path).mark
        shard = shard_of_crawl(tmp_path, place, manifest, orders=mark, sitemaps=False)
        shard.control.end()
        asyncio.run(shard.run())
    records = map(json.loads, (tmp_path / f"shard-{place.number:03}" / "ledger.jsonl").read_text("ascii").splitlines())
    told = [record["order"] for record in records if record["kind"] == "order"]
    assert told == (["end"] if begun == "before" else [])
    assert prove(tmp_path / f"shard-{place.number:03}").findings == []


def test_parcels_are_read_of_those_who_say_that_they_sent_some_and_no_more_at_once_than_is_good(tmp_path: Path) -> None:
    with ExitStack() as stack:
        frontiers = []
        for number in range(2):
            (tmp_path / f"shard-{number:03}").mkdir()
            frontiers.append(stack.enter_context(Frontier(tmp_path / f"shard-{number:03}" / "frontier.sqlite")))
        neighbours = FolderMailboxes(lambda number: tmp_path / f"shard-{number:03}" / "frontier.sqlite")
        stack.callback(neighbours.close)

        def read(after: Mapping[int, int]) -> list[tuple[int, int]]:
            return [(sender, parcel.number) for sender, parcel in asyncio.run(neighbours.parcels(1, after))]

        for number in range(AT_ONCE + 2):
            with frontiers[0].commit(Batch(messages=[message(number)])):
                pass
        assert read({}) == [], "nobody says that there are any"
        assert read({0: 0}) == [(0, number) for number in range(1, AT_ONCE + 1)]
        assert read({0: AT_ONCE}) == [(0, AT_ONCE + 1), (0, AT_ONCE + 2)]


def test_a_proof_finds_a_host_that_was_asked_by_two_shards(sites: list[Site], tmp_path: Path) -> None:
    folder = tmp_path / "many"
    CrawlManifest(2, seeds=[sites[0].url("/0")]).write(tmp_path)
    asyncio.run(
        Crawler(
            sites[0].url("/0"), tmp_path / "shard-000", policy=QUICK, settings=CrawlSettings(max_pages=30, scope="any")
        ).run()
    )
    proof = prove(tmp_path)
    assert not folder.exists()
    assert "shard-001: it is missing" in [str(finding) for finding in proof.findings]
    assert any("belongs to shard-001, so nobody keeps its pace here" in finding.what for finding in proof.findings)
    assert manifest_of(tmp_path) is not None
