"""Audits and crawls on a real Ray on this machine: the same results as without, whatever dies.

Run by `make test-engines`, which installs Ray.
"""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from commands import ALLOW, comity, complaint
from postgres import Server
from ray_nodes import another_node, head_alone
from sites import HANGS, Site
from stores import drop
from test_shards import GIVEN, QUICK, output, sites, stop_by_terminal, whole, words

from comity._ray import joined
from comity.audit.prove import prove
from comity.bulk import part_files, runners, sources
from comity.crawler import Crawler
from comity.crawler.cluster.on_ray import RayWorker, ray_starter
from comity.crawler.cluster.workers import Workers
from comity.crawler.output.reader import read_lines
from comity.crawler.storage.folder import FolderCrawl
from comity.crawler.storage.store import CrawlStore
from comity.errors import ComityError, EngineFailed
from comity.frontier.postgresql import database
from comity.policy import Policy

pytestmark = pytest.mark.long
__all__ = ["sites"]

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """One Ray for all tests: its start is most of what they take."""
    pytest.importorskip("ray", reason="ray is not installed: make test-engines")
    with joined("a test", processors=4) as ray:
        yield ray


@pytest.fixture
def asked(tmp_path: Path) -> list[str]:
    """The words of an audit of 1,000 URLs in ten row groups and 20 in a file of text."""
    urls = [f"https://{'ab'[number % 2]}.example/{'xyz'[number % 3]}/{number}" for number in range(1000)]
    (tmp_path / "urls").mkdir()
    pq.write_table(pa.table({"url": urls}), tmp_path / "urls" / "1.parquet", row_group_size=100)
    (tmp_path / "urls" / "2.txt").write_text("\n".join(urls[:20]), "utf-8")
    robots = tmp_path / "robots"
    robots.mkdir()
    (robots / "a.example.txt").write_bytes(b"User-agent: *\nDisallow: /x\n")
    (robots / "b.example.txt").write_bytes(b"User-agent: GPTBot\nDisallow: /\n")
    return ["audit", "urls", "--robots", "robots", "--agents", "MyBot,GPTBot", "--dialects", "google"]


def test_an_audit_by_ray_gives_what_one_without_gives(ray: Any, asked: list[str], tmp_path: Path) -> None:
    alone = comity(*asked, "-o", "alone.parquet", "--json", cwd=tmp_path)
    assert alone.returncode == 0, alone.stderr
    spread_out = comity(*asked, "-o", "spread.parquet", "--json", "--engine", "ray", cwd=tmp_path)
    assert spread_out.returncode == 0, spread_out.stderr
    assert json.loads(spread_out.stdout) == json.loads(alone.stdout)
    assert pq.read_table(tmp_path / "spread.parquet").equals(pq.read_table(tmp_path / "alone.parquet"))
    assert "1,020 URLs, " in spread_out.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone.parquet", "robots", "spread.parquet", "urls"]


def test_ray_judges_each_piece_once_and_goes_on_where_another_engine_was_stopped(
    ray: Any, asked: list[str], tmp_path: Path
) -> None:
    pieces = list(sources.pieces(sources.files(str(tmp_path / "urls")), 200))
    assert [piece.groups for piece in pieces] == [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9), None]
    table = sources.robots(str(tmp_path / "robots"))
    judge = part_files.Judge(table, ["MyBot"], Policy(), None, [])
    folder = tmp_path / "parts"
    folder.mkdir()
    begun = runners.locally(judge, pieces, "url", 200, folder)
    first = [next(begun)[0] for _ in range(2)]
    before = [path.stat().st_ino for path in first]
    again = part_files.Judge(table, ["MyBot"], Policy(), None, [])
    done = sorted(runners.on_ray(ray, again, pieces, "url", 200, folder), key=lambda each: each[0])
    assert [size for _, size, _ in done] == [200, 200, 200, 200, 200, 20]
    assert [path.stat().st_ino for path in first] == before
    part_files.joined([path for path, _, _ in done], tmp_path / "out.parquet")
    urls = [url for batch in sources.batches(pieces, "url", 200) for url in batch.to_pylist()]
    assert pq.read_table(tmp_path / "out.parquet")["url"].to_pylist() == urls


def test_an_error_of_a_task_is_told_in_one_line(ray: Any, asked: list[str], tmp_path: Path) -> None:
    (tmp_path / "urls" / "3.csv").write_text("link\nhttps://a.example/\n", "utf-8")
    refused = comity(*asked, "-o", "out.parquet", "--engine", "ray", cwd=tmp_path)
    assert refused.returncode == 66
    assert "3.csv: no column 'url'; it has link" in refused.stderr.splitlines()[-1]
    assert "Traceback" not in refused.stderr


def test_actors_that_are_killed_or_stand_still_are_replaced_and_nothing_is_lost_or_there_twice(
    ray: Any, sites: list[Site], tmp_path: Path
) -> None:
    wanted = whole(sites, tmp_path / "one")
    folder = tmp_path / "many"

    async def run() -> tuple[list[int], bool]:
        crawl = Crawler(
            [sites[0].url("/0")],
            folder,
            policy=QUICK.with_changes(min_interval=0.02),
            settings={"scope": "any", "sitemaps": False},
            workers=Workers(2, shards=4, start=ray_starter(ray)),
        )
        struck: list[int] = []

        async def strike() -> None:
            for enough, blow in ((15, signal.SIGKILL), (40, signal.SIGSTOP)):
                while sum(len(site.seen) for site in sites) < enough:
                    await asyncio.sleep(0.01)
                worker = crawl.processes[len(struck)]
                assert isinstance(worker.process, RayWorker)
                assert worker.process.pid is not None
                os.kill(worker.process.pid, blow)
                struck.append(worker.process.pid)
                if blow == signal.SIGSTOP:
                    worker.kill()  # as one that was silent for too long

        striking = asyncio.ensure_future(strike())
        await crawl.run()
        await striking
        return struck, FolderCrawl(folder).is_running()

    struck, running = asyncio.run(run())
    assert len(struck) == 2
    assert not running
    assert output(folder) == wanted
    assert prove(folder).findings == []


def test_ctrl_c_ends_the_actors_and_what_is_left_waits(ray: Any, sites: list[Site], tmp_path: Path) -> None:
    wanted = whole(sites, tmp_path / "one")
    folder = tmp_path / "many"
    address = ray.get_runtime_context().gcs_address
    stop_by_terminal(sites, folder, "--engine", "ray", "--address", address)
    again = comity("crawl", "-o", str(folder), *GIVEN, "--resume", "--workers", "1", "--engine", "ray")
    assert again.returncode == 2, again.stderr
    assert output(folder) == wanted
    assert prove(folder).findings == []


def test_actors_end_with_the_process_that_had_them_placed(ray: Any, sites: list[Site], tmp_path: Path) -> None:
    folder = tmp_path / "many"
    address = ray.get_runtime_context().gcs_address
    given = words(sites, folder, "--workers", "2", "--engine", "ray", "--address", address)
    given[given.index("--delay") + 1] = "0.05"
    crawl = subprocess.Popen([sys.executable, "-m", "comity", *given], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + HANGS
    while sum(len(site.seen) for site in sites) < 25 and time.monotonic() < deadline:
        time.sleep(0.01)
    crawl.kill()
    crawl.wait()
    while FolderCrawl(folder).is_running() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not FolderCrawl(folder).is_running()
    refused = comity("crawl", sites[0].url("/0"), "-o", str(folder))
    assert "already contains a crawl" in complaint(refused)
    done = comity("crawl", "-o", str(folder), *GIVEN, "--resume", "--workers", "2", "--engine", "ray", "--quiet")
    assert done.returncode == 2, done.stderr
    assert prove(folder).findings == []


def test_no_file_of_the_current_folder_is_run_by_an_actor(ray: Any, sites: list[Site], tmp_path: Path) -> None:
    for name in ("ada_url", "selectolax", "orjson", "copy", "uvloop"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'run')!r}, 'a').write({name!r})\n")
    address = ray.get_runtime_context().gcs_address
    given = words(
        sites, tmp_path / "out", "--workers", "2", "--engine", "ray", "--address", address, "--max-pages", "3"
    )
    done = comity(*given, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("client", [False, True])
def test_a_crawl_whose_cluster_loses_its_head_ends_in_words_and_goes_on_without_it(
    sites: list[Site], tmp_path: Path, client: bool
) -> None:
    pytest.importorskip("ray", reason="ray is not installed: make test-engines")
    if client:
        pytest.importorskip("grpc", reason="ray[client] is not installed")
    wanted = whole(sites, tmp_path / "one")
    folder = tmp_path / "many"
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as short:  # sockets have short names
        with head_alone(3, Path(short)) as (direct, by_client, head):
            given = words(
                sites, folder, "--workers", "2", "--engine", "ray", "--address", by_client if client else direct
            )
            given[given.index("--delay") + 1] = "0.2"
            command = [sys.executable, "-m", "comity", *given, "--quiet"]
            with started(*command, RAY_AUTH_MODE="disabled") as crawl:
                until(lambda: sum(len(site.seen) for site in sites) > 25, crawl)
                for pid in head:
                    os.kill(pid, signal.SIGKILL)
                _, error = crawl.communicate(timeout=HANGS)
    assert "Traceback" not in error
    assert re.search(r"^comity: the head of the Ray cluster at \S+ is gone \(what was written is safe", error, re.M), (
        error
    )
    assert crawl.returncode == 1
    assert not FolderCrawl(folder).is_running()
    done = comity("crawl", "-o", str(folder), *GIVEN, "--resume", "--workers", "2", "--quiet")
    assert done.returncode == 2, done.stderr
    assert output(folder) == wanted
    assert prove(folder).findings == []


@pytest.fixture
def url(postgres: Server) -> Iterator[str]:
    """The address of a crawl in a store."""
    url = postgres.url(f"ray_{os.getpid()}_{time.monotonic_ns()}")
    yield url
    where = database.address(url)
    with closing(database.connect(where)) as db:
        drop(db, where)


def until(holds: Callable[[], Any], *processes: "subprocess.Popen[Any]") -> None:
    """Wait for something, or until one of the processes has ended that are to bring it about."""
    deadline = time.monotonic() + HANGS
    while not holds() and time.monotonic() < deadline and all(each.poll() is None for each in processes):
        time.sleep(0.02)


def holders(store: CrawlStore) -> set[str]:
    """The processes that have the shards of a crawl, those that have some."""
    with suppress(ComityError):  # it is about to be begun
        return {row.holder for row in store.status().rows if row.holder is not None}
    return set()


def stored_pages(folder: Path) -> Counter[str]:
    """The pages in all parts in a folder and below."""
    return Counter(line.record["url"] for path in folder.rglob("pages.jsonl") for line in read_lines(path))


def test_actors_join_a_crawl_in_a_store_and_leave_it_while_it_runs_and_one_that_is_killed_is_replaced(
    ray: Any, sites: list[Site], url: str, tmp_path: Path
) -> None:
    wanted = whole(sites, tmp_path / "one")["pages"]
    address = ray.get_runtime_context().gcs_address
    command = [sys.executable, "-m", "comity", "crawl", "--store", url, "--json"]
    on_ray = ["--engine", "ray", "--address", address, "--workers", "1"]
    begin = [*(site.url("/0") for site in sites), "--scope", "any", "--shards", "4", "--lease", "3s", *ALLOW]
    slow = ["--delay", "20"]  # so that it is not over before all this has happened
    store = CrawlStore(database.address(url))
    with closing(store), started(*command, *on_ray, "-o", str(tmp_path / "a"), *begin, *slow) as first:
        until(lambda: holders(store), first)
        with started(*command, *on_ray, "-o", str(tmp_path / "b"), "--join") as second:
            until(lambda: len(holders(store)) == 2 and workers_of(first, store), first, second)
            ((killed, pid),) = workers_of(first, store)
            os.kill(pid, signal.SIGKILL)
            until(lambda: len(holders(store) - {killed}) == 2, first, second)
            second.send_signal(signal.SIGINT)
            said, error = second.communicate(timeout=HANGS)
            assert second.returncode == 130, error
            assert json.loads(said)["left"] > 0
        until(lambda: len(holders(store)) == 1 and all(row.holder for row in store.status().rows), first)
        assert first.poll() is None, "the others go on"
        first.send_signal(signal.SIGINT)
        said, error = first.communicate(timeout=HANGS)
        assert first.returncode == 130, error
        assert json.loads(said)["left"] > 0, "nothing but the summary on standard output, whatever Ray tells"
    assert all(min(site.intervals(), default=20) > 19.9 for site in sites)
    again = comity(*command[3:], *on_ray, "-o", str(tmp_path / "b"), "--resume", "--delay", "0", *ALLOW)
    assert json.loads(again.stdout)["ended"] == "the queue is empty", again.stderr
    assert stored_pages(tmp_path / "a") + stored_pages(tmp_path / "b") == wanted


def workers_of(command: "subprocess.Popen[str]", store: CrawlStore) -> set[tuple[str, int]]:
    """What a command's workers that have shards are called, and their processes, once these have said so."""
    rows = [
        row for row in store.status().rows if row.holder is not None and row.holder.split(":")[1] == str(command.pid)
    ]
    said = [(row.holder, row.now.worker) for row in rows]
    return {(holder, pid) for holder, pid in said if holder is not None and pid}


@contextmanager
def started(*command: str, **environment: str) -> Iterator["subprocess.Popen[str]"]:
    """A command, which is ended if it has not ended by itself."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | environment
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def test_workers_that_wait_for_room_begin_when_the_cluster_grows_and_a_machine_of_it_that_dies_loses_nothing(
    ray: Any, sites: list[Site], url: str, tmp_path: Path
) -> None:
    wanted = whole(sites, tmp_path / "one")["pages"]
    folder = tmp_path / "many"
    told: list[str] = []

    def on_another_machine() -> None:  # what it is called and that nobody holds its folder are all that is different
        import platform

        from comity.crawler.storage import output_folder

        platform.node = lambda: "far.example"
        output_folder.MAX_LOCK_SECONDS = 0

    class Busy:  # has processors, and does nothing with them
        def ready(self) -> None:
            """It has them."""

    async def run() -> set[str]:
        busy = ray.remote(Busy).options(num_cpus=4).remote()
        await busy.ready.remote()
        crawl = Crawler(
            [sites[0].url("/0")],
            folder,
            policy=QUICK.with_changes(min_interval=0.5),
            settings={"scope": "any", "sitemaps": False},
            workers=Workers(
                2,
                shards=4,
                start=ray_starter(ray, prepare=on_another_machine, anywhere=True),
                lease=3.0,
                on_notice=told.append,
                store=url,
            ),
        )
        crawling = asyncio.ensure_future(crawl.run())
        store = CrawlStore(database.address(url))

        async def meanwhile(holds: Callable[[], Any]) -> None:
            async with asyncio.timeout(HANGS):
                while not holds() and not crawling.done():
                    await asyncio.sleep(0.05)

        await meanwhile(lambda: told)
        assert told == ["2 of 2 workers wait until Ray has a processor free for them"]
        assert not any(site.seen for site in sites)
        growing = another_node(ray)
        node = await asyncio.to_thread(growing.__enter__)
        try:
            await meanwhile(lambda: sum(len(site.seen) for site in sites) > 2 * len(sites))
            os.kill(node.raylet, signal.SIGKILL)
            ray.kill(busy)
            await crawling
            return {part.holder for part in store.parts()}
        finally:
            store.close()
            await asyncio.to_thread(growing.__exit__, None, None, None)

    had_shards = asyncio.run(run())
    assert len(had_shards) > 1, "others took the shards of the machine that died"
    assert all(holder.startswith("far.example:") for holder in had_shards)
    assert f"a worker runs on far.example: its part of the output is in {folder} there" in told
    assert stored_pages(folder) == wanted
    assert all(min(site.intervals()) > 0.49 for site in sites)


def test_a_worker_that_cannot_begin_where_it_is_placed_is_told_of(
    ray: Any, site: Site, url: str, tmp_path: Path
) -> None:
    def lacking() -> None:
        raise ModuleNotFoundError("No module named 'comity'")

    crawl = Crawler(
        [site.url("/")],
        tmp_path / "out",
        policy=QUICK,
        workers=Workers(1, shards=2, start=ray_starter(ray, prepare=lacking), store=url),
    )
    with pytest.raises(EngineFailed, match=r"cannot begin where Ray placed it: .*No module named 'comity'"):
        asyncio.run(crawl.run())
