"""A crawl never waits for who reads what it says: a terminal that hangs, a supervisor that was stopped."""

import asyncio
import io
import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from commands import ALLOW
from examples import first_of
from postgres import Server
from sites import HANGS, Site
from stores import drop

from comity.crawler.cluster.jobs import pack, read_message, read_messages
from comity.crawler.storage import leases, tables
from comity.crawler.storage.store import CrawlStore
from comity.frontier.postgresql import database

PAGES = 4000


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + HANGS
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert holds()


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "comity", "crawl", *ALLOW, "--scope", "any", "--delay", "0.05", *words]


@pytest.fixture
def site(site: Site) -> Site:
    """A chain of pages, one found on the other."""
    for number in range(PAGES):
        site.link(f"/{number}", f"/{number + 1}")
    return site


@pytest.mark.parametrize("more", first_of("", "-vv", "--workers 2 -v"))
def test_a_terminal_that_nobody_reads_stops_no_crawl_and_ctrl_c_ends_it(site: Site, tmp_path: Path, more: str) -> None:
    ours, theirs = pty.openpty()
    os.set_blocking(theirs, False)  # to fill it: from now on nothing more fits in
    with suppress(BlockingIOError):
        while True:
            os.write(theirs, b"x" * 512)
    os.set_blocking(theirs, True)
    crawling = subprocess.Popen(
        command(site.url("/0"), "-o", str(tmp_path / "out"), *more.split()),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env=os.environ | {"TERM": "xterm-256color"},
    )
    os.close(theirs)
    try:
        until(lambda: len(site.seen) > 60 or crawling.poll() is not None)
        assert crawling.poll() is None
        crawling.send_signal(signal.SIGINT)
        assert crawling.wait(HANGS) == 130
    finally:
        crawling.kill()
        crawling.wait()
        os.close(ours)
    kept = [json.loads(line)["url"] for path in tmp_path.rglob("pages.jsonl") for line in path.open()]
    assert len(kept) == len(set(kept)) >= 50


@pytest.mark.long
@pytest.mark.waits
@pytest.mark.parametrize("stored", [False, True])
def test_workers_go_on_while_the_command_that_started_them_is_stopped(
    site: Site, tmp_path: Path, postgres: Server, stored: bool
) -> None:
    words = ["-q", "--workers", "2", "-o", str(tmp_path / "out")]
    url = postgres.url(f"stopped_{os.getpid()}_{time.monotonic_ns()}")
    crawling = subprocess.Popen(command(site.url("/0"), *words, *(("--store", url) if stored else ())))
    try:
        until(lambda: len(site.seen) > 5 or crawling.poll() is not None)
        crawling.send_signal(signal.SIGSTOP)
        before = len(site.seen)
        fill = 65536 // 200  # reports of a few hundred octets, five a second and worker, fill a pipe in about a minute
        until(lambda: len(site.seen) > before + 100 + fill)
        crawling.send_signal(signal.SIGCONT)
        crawling.send_signal(signal.SIGINT)
        assert crawling.wait(HANGS) == 130
    finally:
        crawling.kill()
        crawling.wait()
    kept = [json.loads(line)["url"] for path in tmp_path.rglob("pages.jsonl") for line in path.open()]
    assert len(kept) == len(set(kept)) >= before + 100


@pytest.mark.long
def test_a_lease_is_not_renewed_for_work_that_stands_still(postgres: Server) -> None:
    where = database.address(postgres.url(f"still_{os.getpid()}_{time.monotonic_ns()}"))
    store = CrawlStore(where)
    with store.open() as db:
        tables.make(db, where, 1, {}, lease=1.0)
        mine, works, over = leases.Leases(where, "mine", 1.0), [True], []
        token = mine.take(db, 0)
        assert token is not None

        def renewals() -> int:
            return int(db.execute("SELECT renewal FROM shard").fetchone()[0])

        keeper = leases.LeaseKeeper(mine, where, lambda *lost: over.append(lost), lambda: works[0])
        keeper.start()
        before = renewals()
        until(lambda: renewals() > before + 5)
        assert mine.holds(0, token)
        works[0] = False
        until(lambda: over)
        assert not mine.holds(0, token)
        before = renewals()
        time.sleep(0.5)  # should it be renewed, here is the time for it
        assert renewals() == before
        keeper.close()
        drop(db, where)
    store.close()


@pytest.mark.parametrize("kept", [0, 3, 4, 9])
def test_a_word_that_is_cut_off_in_a_pipe_is_none(kept: int) -> None:
    """The other side died while it wrote."""
    whole = pack(("stop", 1))
    pipe = io.BytesIO(whole + whole[:kept])
    assert read_message(pipe) == ("stop", 1)
    with pytest.raises(EOFError):
        read_message(pipe)

    async def heard() -> list[Any]:
        stream = asyncio.StreamReader()
        stream.feed_data(whole + whole[:kept])
        stream.feed_eof()
        return [message async for message in read_messages(stream)]

    assert asyncio.run(heard()) == [("stop", 1)]
