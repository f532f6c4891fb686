"""Who takes part in a crawl in a store is told in words what is not possible, and nothing is ignored in silence."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import psycopg
import pytest
from commands import ALLOW, comity
from conftest import missing
from postgres import Server, free_port
from sites import HANGS, Site
from stores import drop
from test_crawl_in_postgresql import Crawl

from comity.audit.prove import prove
from comity.cli.exits import Exit, code_of
from comity.crawler.storage import crawl as stored_crawl
from comity.crawler.storage.store import CrawlRow, CrawlStore
from comity.errors import StorageError
from comity.frontier.postgresql import database
from comity.frontier.values import Unreachable


@pytest.fixture
def url(postgres: Server, site: Site, tmp_path: Path) -> Iterator[str]:
    """A crawl that has ended."""
    site.link("/")
    crawl = Crawl(postgres, [site.url("/")])
    crawl.begin()
    asyncio.run(crawl.member("one", tmp_path / "out").run(lambda _: None))
    crawl.store.close()
    yield crawl.url
    with closing(database.connect(crawl.store.where)) as db:
        drop(db, crawl.store.where)


def test_an_option_that_was_settled_when_the_crawl_began_is_refused(url: str, tmp_path: Path) -> None:
    for words in (("--delay", "3"), ("--max-pages", "5"), ("--lease", "9s"), ALLOW, ("--no-robots",)):
        refused = comity("crawl", "--store", url, "--join", "-q", *words, "-o", str(tmp_path / "other"))
        assert refused.returncode == 64, refused
        assert f"leave out {words[0]}" in refused.stderr
    assert (
        comity("crawl", "--store", url, "--join", "-q", "--concurrency", "9", "-o", str(tmp_path / "x")).returncode == 0
    )


def test_a_manifest_of_another_version_is_told_in_words(url: str, tmp_path: Path) -> None:
    where = database.address(url)
    with closing(database.connect(where)) as db:
        (manifest,) = db.execute("SELECT manifest FROM crawl").fetchone()
        newer = json.dumps({**json.loads(manifest), "of_a_later_version": 1})
        db.execute("UPDATE crawl SET manifest = %s", (newer,))
        for words in (("crawl", "--join", "-o", str(tmp_path / "x")), ("crawl", "--resume"), ("frontier",)):
            refused = comity(*words, "--store", url)
            assert "was created by another version of comity" in refused.stderr, refused
            assert "Traceback" not in refused.stderr


def test_tables_of_another_version_are_told_in_words(url: str, tmp_path: Path) -> None:
    with closing(database.connect(database.address(url))) as db:
        db.execute("UPDATE frontier SET format = %s", (database.FORMAT - 1,))
        for words in (("crawl", "--join", "-o", str(tmp_path / "x")), ("crawl", "--resume"), ("frontier",)):
            refused = comity(*words, "--store", url)
            assert "was created by another version of comity" in refused.stderr, refused
            assert "Traceback" not in refused.stderr


def test_who_has_no_rights_is_told_so(url: str, tmp_path: Path) -> None:
    with closing(database.connect(database.address(url))) as db:
        db.execute("DROP ROLE IF EXISTS nobody_here")
        db.execute("CREATE ROLE nobody_here LOGIN")
    refused = comity("crawl", "--store", url.replace("comity@", "nobody_here@"), "--join", "-o", str(tmp_path / "x"))
    assert "permission denied" in refused.stderr, refused
    assert "Traceback" not in refused.stderr


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="names of files are octets there")
def test_a_folder_whose_name_is_no_utf_8_is_refused_where_a_store_is_to_know_it(
    url: str, site: Site, tmp_path: Path
) -> None:
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/o\xff")
    refused = comity("crawl", "--store", url, "--join", "-o", folder)
    assert refused.returncode == 64, refused
    assert "is not UTF-8" in refused.stderr
    for more in ((), ("--workers", "2")):
        done = comity("crawl", site.url("/"), *ALLOW, "--delay", "0", *more, "-o", f"{folder}{len(more)}")
        assert done.returncode == 0, done
        assert comity("prove", f"{folder}{len(more)}").returncode == 0


@pytest.mark.long
@pytest.mark.parametrize(("mode", "code"), [("transaction", 73), ("session", 0)])
def test_a_pool_that_keeps_no_session_is_refused(
    postgres: Server, site: Site, tmp_path: Path, mode: str, code: int
) -> None:
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        missing("pgbouncer", "apt-get install pgbouncer")
    assert program is not None
    port = free_port()
    (tmp_path / "users").write_text('"comity" ""\n')
    (tmp_path / "bouncer.ini").write_text(
        f"[databases]\npostgres = host={postgres.socket} port={postgres.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
        f"listen_port = {port}\nunix_socket_dir =\nauth_type = any\nauth_file = {tmp_path}/users\n"
        f"pool_mode = {mode}\nlogfile = {tmp_path}/log\n"
    )
    (tmp_path / "bouncer.ini").write_text(
        (tmp_path / "bouncer.ini").read_text().replace(f"port={postgres.port}\n", f"port={postgres.port} user=comity\n")
    )
    as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
    for path in (tmp_path, *tmp_path.parents):
        if as_user and path != Path("/") and path.stat().st_uid == 0:
            path.chmod(path.stat().st_mode | 0o055)
    if as_user:
        shutil.chown(tmp_path, "postgres")
    site.link("/")
    pool = subprocess.Popen([*as_user, program, "-q", str(tmp_path / "bouncer.ini")])
    try:
        url = postgres.url(f"pooled_{os.getpid()}_{mode}", port=port)
        deadline = time.monotonic() + HANGS
        while time.monotonic() < deadline:
            try:
                psycopg.connect(database.address(url).conninfo).close()
                break
            except psycopg.OperationalError:
                assert pool.poll() is None
                time.sleep(0.05)
        words = [*ALLOW, "--delay", "0", "-q", "--store", url, "-o", str(tmp_path / "out")]
        done = comity("crawl", site.url("/"), *words)
        assert done.returncode == code, done
        assert ("pool_mode = session" in done.stderr) is bool(code)
    finally:
        pool.terminate()
        pool.wait()


@pytest.mark.long
def test_an_order_in_a_store_is_confirmed_by_the_process_that_carries_it_out(
    postgres: Server, site: Site, tmp_path: Path
) -> None:
    for number in range(200):
        site.link(f"/{number}", f"/{number + 1}")
    site.link("/200")
    url, out = postgres.url(f"confirmed_{os.getpid()}_{time.monotonic_ns()}"), tmp_path / "out"
    words = [sys.executable, "-m", "comity", "crawl", "-q", "--store", url, "-o", str(out), "--lease", "60"]
    crawling = subprocess.Popen([*words, site.url("/0"), "--delay", "0.1", "--workers", "1", *ALLOW])
    at = ("--store", url, site.address)
    store = CrawlStore(database.address(url))
    try:
        worker, deadline = 0, time.monotonic() + HANGS
        while not (worker and len(site.seen) > 3):
            assert crawling.poll() is None
            assert time.monotonic() < deadline
            with suppress(StorageError):  # it has not begun
                worker = max((row.now.worker for row in store.status().rows if row.holder and row.now.kept), default=0)
            time.sleep(0.05)
        os.kill(worker, signal.SIGSTOP)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stored_crawl, "MAX_CONFIRM_SECONDS", 0.5)
            unheard = comity("frontier", "slow", *at, "3s")
        assert unheard.returncode == 3, unheard
        assert "has not confirmed the order" in unheard.stderr
        os.kill(worker, signal.SIGCONT)
        lifted = comity("frontier", "go", *at)
        assert lifted.stdout.endswith("lifted, effective now\n"), lifted
        assert comity("frontier", "end", "--store", url).returncode == 0
        assert crawling.wait(HANGS) == 130
        with store.open() as db:
            rows = db.execute("SELECT kind, confirmed FROM operator_order ORDER BY id").fetchall()
        assert rows == [("slow", True), ("go", True), ("end", True)]
        assert prove(out, store=url).findings == []
        with store.open() as db:  # as if it had been given while the crawl ran, and nobody had read it
            db.execute("UPDATE operator_order SET kind = 'stop' WHERE kind = 'slow'")
        (finding,) = prove(out, store=url).findings
        assert "did not carry out the order 'stop'" in finding.what
        with store.open() as db:  # as a crawl has it that an earlier version began
            db.execute("DELETE FROM operator_order")
            db.execute("ALTER TABLE operator_order DROP COLUMN confirmed")
        resumed = comity("crawl", "-q", "--store", url, "-o", str(out), "--resume", "--delay", "0", *ALLOW)
        assert resumed.returncode == 0, resumed
    finally:
        crawling.kill()
        crawling.wait()
        with store.open() as db:
            drop(db, database.address(url))
        store.close()


@pytest.mark.long
def test_an_order_ends_a_crawl_in_a_store_and_a_later_run_goes_on(postgres: Server, site: Site, tmp_path: Path) -> None:
    for number in range(30):
        site.link(f"/{number}", f"/{number + 1}")
    site.link("/30")
    url, out = postgres.url(f"ended_{os.getpid()}_{time.monotonic_ns()}"), tmp_path / "out"
    words = [sys.executable, "-m", "comity", "crawl", "-q", "--store", url, "-o", str(out)]
    crawling = subprocess.Popen([*words, site.url("/0"), "--delay", "0.3", "--workers", "2", *ALLOW])
    try:
        while len(site.seen) < 3 and crawling.poll() is None:
            time.sleep(0.05)
        ordered = comity("frontier", "end", "--store", url)
        assert ordered.returncode == 0, ordered
        assert crawling.wait(HANGS) == 130
        told = [line for path in out.rglob("ledger.jsonl") for line in path.read_text(encoding="utf-8").splitlines()]
        assert any(each.get("order") == "end" for each in map(json.loads, told))
        assert "/30" not in site.paths()
        resumed = comity("crawl", "-q", "--store", url, "-o", str(out), "--resume", "--delay", "0", *ALLOW)
        assert resumed.returncode == 0, resumed
        assert "/30" in site.paths(), "an order of an earlier run ended this one"
    finally:
        crawling.kill()
        crawling.wait()
        with closing(database.connect(database.address(url))) as db:
            drop(db, database.address(url))


@pytest.mark.long
def test_who_joins_while_the_database_is_silent_waits_for_it(url: str, postgres: Server, tmp_path: Path) -> None:
    away = postgres.url(url.partition("crawl=")[2], port=free_port())
    words = ["crawl", "--join", "-q", "-o", str(tmp_path / "other"), "--store", away]
    joins = subprocess.Popen([sys.executable, "-m", "comity", *words], stderr=subprocess.PIPE, text=True)
    try:
        assert joins.stderr is not None
        said = joins.stderr.readline()
        assert "cannot be reached" in said
        assert said.rstrip().endswith("; waiting for it")
        joins.send_signal(signal.SIGINT)
        joins.wait(HANGS)
        assert joins.returncode == 130
    finally:
        joins.kill()
    refused = comity("crawl", "--resume", "-q", "-o", str(tmp_path / "x"), "--store", words[-1])
    assert refused.returncode == 73, refused


@pytest.mark.long
def test_who_joins_takes_part_once_the_database_answers(url: str, tmp_path: Path) -> None:
    answers, asked = CrawlStore.crawl, []

    def silent_at_first(store: CrawlStore) -> CrawlRow:
        asked.append(True)
        if len(asked) < 3:
            raise Unreachable("it cannot be reached: no answer")
        return answers(store)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CrawlStore, "crawl", silent_at_first)
        patch.setattr("comity.crawler.cluster.in_store.MAX_RETRY_SECONDS", 0.01)
        joined = comity("crawl", "--join", "-q", "-o", str(tmp_path / "other"), "--store", url)
    assert joined.returncode == 0, joined
    assert joined.stderr.count("; waiting for it") == 1


def test_who_is_not_let_in_does_not_wait(url: str, tmp_path: Path) -> None:
    for changed in (url.replace("comity@", "nobody_known@"), url.replace("/postgres?", "/no_such_database?")):
        if changed != url:
            refused = comity("crawl", "--join", "-q", "-o", str(tmp_path / "other"), "--store", changed)
            assert refused.returncode in (66, 73), refused


def test_a_full_disk_of_the_database_has_the_exit_code_of_a_full_disk() -> None:
    where = database.address("postgresql://comity@db.example/crawls")
    with pytest.raises(StorageError, match="no room left in postgresql") as caught:
        with database.translate_errors(where):
            raise psycopg.errors.DiskFull("could not extend file")
    assert code_of(caught.value) is Exit.NO_ROOM
