"""Audits and crawls on a real Ray on this machine: the same results as without, whatever dies.

Run by `make test-engines`, which installs Ray.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import comity, complaint
from sites import HANGS, Site
from test_shards import QUICK, output, sites, stop_by_terminal, whole, words

from comity._ray import joined
from comity.audit.prove import prove
from comity.bulk import parts, sources, spread
from comity.crawler.shards import is_running
from comity.crawler.workers.on_ray import Placed, placing
from comity.crawler.workers.sharded import ShardedCrawl
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
    judge = parts.Judge(table, ["MyBot"], Policy(), None, [])
    folder = tmp_path / "parts"
    folder.mkdir()
    begun = spread.locally(judge, pieces, "url", 200, folder)
    first = [next(begun)[0] for _ in range(2)]
    before = [path.stat().st_ino for path in first]
    again = parts.Judge(table, ["MyBot"], Policy(), None, [])
    done = sorted(spread.on_ray(ray, again, pieces, "url", 200, folder), key=lambda each: each[0])
    assert [size for _, size, _ in done] == [200, 200, 200, 200, 200, 20]
    assert [path.stat().st_ino for path in first] == before
    parts.joined([path for path, _, _ in done], tmp_path / "out.parquet")
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
        crawl = ShardedCrawl(
            [sites[0].url("/0")],
            folder,
            shards=4,
            workers=2,
            policy=QUICK.with_changes(min_interval=0.02),
            settings={"scope": "any", "sitemaps": False},
            start=placing(ray),
        )
        struck: list[int] = []

        async def strike() -> None:
            for enough, blow in ((15, signal.SIGKILL), (40, signal.SIGSTOP)):
                while sum(len(site.seen) for site in sites) < enough:
                    await asyncio.sleep(0.01)
                worker = crawl._processes[len(struck)]
                assert isinstance(worker.process, Placed)
                assert worker.process.pid is not None
                os.kill(worker.process.pid, blow)
                struck.append(worker.process.pid)
                if blow == signal.SIGSTOP:
                    worker.kill()  # as one that was silent for too long

        striking = asyncio.ensure_future(strike())
        await crawl.run()
        await striking
        return struck, is_running(folder)

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
    again = comity("crawl", "-o", str(folder), "--resume", "--workers", "1", "--engine", "ray")
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
    while is_running(folder) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(folder)
    refused = comity("crawl", sites[0].url("/0"), "-o", str(folder))
    assert "already contains a crawl" in complaint(refused)
    done = comity("crawl", "-o", str(folder), "--resume", "--workers", "2", "--engine", "ray", "--quiet")
    assert done.returncode == 2, done.stderr
    assert prove(folder).findings == []
