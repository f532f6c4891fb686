"""A shard's folder that was lost, or replaced by an older copy of it, is noticed before anything goes on from there."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from commands import ALLOW, comity
from examples import first_of
from postgres import Server
from sites import HANGS, Site, linked
from stores import drop

from comity import CrawlSettings
from comity.crawler.cluster.in_folder import FolderCoordination
from comity.crawler.storage.manifest import manifest_of, part
from comity.frontier.postgresql import database

SHARDS = 4
GIVEN = (*ALLOW, "--delay", "0.05")  # for each run
WORDS = (*GIVEN, "--scope", "any", "-q", "--workers", "2", "--shards", str(SHARDS))


@pytest.fixture
def sites() -> Iterator[list[Site]]:
    with ExitStack() as stack:
        yield linked(stack, 6, 20)


def killed(seeds: list[str], folder: Path, sites: list[Site], copies: Path) -> None:
    """Crawl, copy the shards soon, and kill the crawl some time later."""
    process = subprocess.Popen([sys.executable, "-m", "comity", "crawl", *seeds, *WORDS, "-o", str(folder)])
    try:
        for requests, then in ((20, lambda: shutil.copytree(folder, copies)), (70, lambda: time.sleep(1.0))):
            deadline = time.monotonic() + HANGS
            while sum(len(site.seen) for site in sites) < requests or len([*folder.glob("*/ledger.jsonl")]) < SHARDS:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            process.send_signal(signal.SIGSTOP)
            then()
            process.send_signal(signal.SIGCONT)
            time.sleep(1.0)  # so that it leaves word of how far it is
    finally:
        process.kill()
        process.wait()
    while comity("prove", str(folder)).returncode == 3:  # its workers have not noticed yet
        assert time.monotonic() < deadline + HANGS
        time.sleep(0.1)


@pytest.mark.parametrize("what", first_of("is an older copy", "is lost"))
@pytest.mark.parametrize("stopped", first_of(False, True))
def test_a_crawl_does_not_go_on_where_a_shard_is_not_what_was_written_last(
    sites: list[Site], tmp_path: Path, what: str, stopped: bool
) -> None:
    folder, copies = tmp_path / "out", tmp_path / "copies"
    seeds = [site.url("/0") for site in sites]
    if stopped:
        assert comity("crawl", *seeds, *WORDS, "--max-pages", "30", "-o", str(folder)).returncode == 0
        shutil.copytree(folder, copies)
        assert comity("crawl", "--resume", *GIVEN, "--max-pages", "90", "-q", "-o", str(folder)).returncode == 0
    else:
        killed(seeds, folder, sites, copies)
    whole = tmp_path / "whole"
    shutil.copytree(folder, whole)
    for number in range(SHARDS):
        shutil.rmtree(folder / part(number))
        if what != "is lost":
            shutil.copytree(copies / part(number), folder / part(number))
        refused = comity("crawl", "--resume", *GIVEN, "-q", "-o", str(folder))
        assert refused.returncode == 73, refused
        assert part(number) in refused.stderr
        assert comity("prove", str(folder)).returncode == 1
        shutil.rmtree(folder)
        shutil.copytree(whole, folder)
    done = comity("crawl", "--resume", *GIVEN, "--workers", "1", "--max-pages", "500", "-q", "-o", str(folder))
    assert done.returncode == 0, done
    assert comity("prove", str(folder)).returncode == 0


@pytest.mark.long
def test_nor_does_one_in_a_store_whose_part_of_the_output_is_lost(
    postgres: Server, sites: list[Site], tmp_path: Path
) -> None:
    url = postgres.url(f"lost_{os.getpid()}_{time.monotonic_ns()}")
    words = [*WORDS, "--workers", "1", "--store", url, "-o", str(tmp_path / "out")]
    assert comity("crawl", sites[0].url("/0"), *words, "--max-pages", "30").returncode == 0
    lost = next(path.parent for path in (tmp_path / "out").rglob("pages.jsonl") if path.stat().st_size)
    lost.rename(tmp_path / "elsewhere")
    refused = comity("crawl", *words, "--resume", "--max-pages", "60")
    assert f"{lost} is missing, and " in refused.stderr, refused
    with closing(database.connect(database.address(url))) as db:
        left = db.execute(f"SELECT count(*) FROM {database.address(url).schema}.member").fetchone()
    assert left == (0,), "who was refused leaves nothing behind that whoever tries again has to wait for"
    (tmp_path / "elsewhere").rename(lost)
    (lost / "ledger.jsonl").rename(tmp_path / "ledger")
    refused = comity("crawl", *words, "--resume", "--max-pages", "60")
    assert "has 0 bytes" in refused.stderr, refused
    (tmp_path / "ledger").rename(lost / "ledger.jsonl")
    assert comity("crawl", *words, "--resume", "--max-pages", "60").returncode == 0
    with closing(database.connect(database.address(url))) as db:
        drop(db, database.address(url))


@pytest.mark.long
def test_a_run_that_goes_on_opens_each_shard_at_most_twice_before_it_begins(
    sites: list[Site], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert comity("crawl", sites[0].url("/0"), *WORDS, "--max-pages", "4", "-o", str(tmp_path)).returncode == 0
    opened: list[str] = []
    connect = sqlite3.connect

    def counted(path: Any, *options: Any, **named: Any) -> sqlite3.Connection:
        opened.append(str(path))
        return connect(path, *options, **named)

    monkeypatch.setattr(sqlite3, "connect", counted)
    manifest = manifest_of(tmp_path)
    assert manifest is not None
    with closing(FolderCoordination(tmp_path, manifest, CrawlSettings(), 2, refresh=False)) as begun:
        assert begun.earlier == 4
    for number in range(SHARDS):
        assert len([each for each in opened if part(number) in each]) <= 2, opened
