"""What befalls our own store while a crawl runs is no page's failure, and no reason to lose or to repeat anything."""

import asyncio
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from commands import ALLOW, comity
from postgres import Server
from sites import Site, linked
from stores import drop
from test_crawl_in_postgresql import HOSTS, PAGES, QUICK, SHARDS, Crawl, pages, until, wanted

from comity import Policy
from comity.crawler import Crawler
from comity.crawler.cluster import member
from comity.crawler.storage import store as stores
from comity.crawler.storage.board import BoardState
from comity.crawler.storage.orders import FILE
from comity.crawler.storage.store import CrawlStore
from comity.errors import StorageError
from comity.frontier.postgresql import database
from comity.frontier.sqlite.dialect import SqliteDialect
from comity.frontier.state_overlay import BloomFilter


@pytest.fixture
def sites() -> Iterator[list[Site]]:
    with ExitStack() as stack:
        yield linked(stack, HOSTS, PAGES)


def all_pages(folder: Path) -> list[str]:
    return sorted(json.loads(line)["url"] for path in folder.rglob("pages.jsonl") for line in path.open())


@contextmanager
def siblings(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Do something in a thread until the block ends."""
    over = threading.Event()
    thread = threading.Thread(target=work, args=(over,))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.fixture
def asking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page asks the store whether its content is known, as in a run that continues a crawl."""
    monkeypatch.setattr(BloomFilter, "__contains__", lambda *_: True)


@pytest.mark.long
@pytest.mark.usefixtures("asking")
def test_no_page_fails_where_connections_that_read_are_ended_again_and_again(
    postgres: Server, sites: list[Site], tmp_path: Path
) -> None:
    crawl = Crawl(postgres, [site.url("/0") for site in sites])
    crawl.begin(policy=QUICK.with_changes(min_interval=0.2))
    ended = []

    def end_readers(over: threading.Event) -> None:
        with closing(psycopg.connect(postgres.url("x").split("&crawl")[0], autocommit=True)) as db:
            while not over.wait(0.1):
                ended.extend(
                    db.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                        "WHERE query LIKE 'SELECT value FROM fact!_%' ESCAPE '!' "
                        "AND backend_start < clock_timestamp() - interval '1 second' LIMIT 1"  # which was opened again
                    ).fetchall()
                )

    with siblings(end_readers):
        asyncio.run(crawl.member("one", tmp_path / "one").run(lambda _: None))
    assert ended
    assert pages(crawl) == wanted(sites)
    assert not pages(crawl, "failures")
    assert len(crawl.store.parts()) == SHARDS, "the connection is opened again, and nothing else begins anew"
    crawl.store.close()


@pytest.mark.usefixtures("asking")
def test_a_frontier_that_cannot_be_read_ends_the_run_and_no_page_fails(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [f"/{number}" for number in range(20)]
    site.link("/", *paths)
    for path in paths:
        site.link(path)
    policy = Policy(min_interval=0, allow_addresses=("127.0.0.0/8",))
    rows = SqliteDialect.rows

    def damaged(dialect: SqliteDialect, query: str, values: Any = ()) -> Any:
        if len(site.seen) > 10 and "content " in str(values):
            raise StorageError("disk I/O error")
        return rows(dialect, query, values)

    monkeypatch.setattr(SqliteDialect, "rows", damaged)
    with pytest.raises(StorageError, match="disk I/O error"):
        asyncio.run(Crawler([site.url("/")], tmp_path, policy=policy).run())
    monkeypatch.undo()
    asyncio.run(Crawler([], tmp_path, policy=policy).run())
    assert all_pages(tmp_path) == sorted(site.url(path) for path in ("/", *paths))
    assert not (tmp_path / "failures.jsonl").exists() or not (tmp_path / "failures.jsonl").read_text()


def test_orders_that_cannot_be_read_are_not_taken_for_none(site: Site, tmp_path: Path) -> None:
    site.link("/")
    (tmp_path / FILE).symlink_to(FILE)  # which leads nowhere: the system gives an error, and it is there
    with pytest.raises(StorageError, match=FILE):
        asyncio.run(Crawler([site.url("/")], tmp_path, policy=QUICK).run())


def test_a_worker_that_begins_while_the_database_is_away_waits_for_it(
    postgres: Server, sites: list[Site], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = Crawl(postgres, [site.url("/0") for site in sites])
    crawl.begin()
    away = database.address(postgres.url(crawl.store.where.name, port=1))
    connect = stores.connect
    monkeypatch.setattr(stores, "connect", lambda _, **options: connect(away, **options))

    async def work() -> None:
        working = asyncio.ensure_future(crawl.member("one", tmp_path / "one").run(lambda _: None))
        await until(lambda: crawl.said("one notice") or working.done())
        assert not working.done(), working.exception()
        assert "cannot be reached" in crawl.said("one notice")[0][0]
        monkeypatch.undo()
        await working

    asyncio.run(work())
    assert crawl.said("one notice")[-1][0].endswith("is back")
    assert pages(crawl) == wanted(sites)
    crawl.store.close()


@pytest.mark.long
def test_a_database_that_may_only_be_read_for_a_while_is_waited_for(
    postgres: Server, sites: list[Site], tmp_path: Path
) -> None:
    crawl = Crawl(postgres, [site.url("/0") for site in sites])
    crawl.begin(policy=QUICK.with_changes(min_interval=0.1))

    def set_to(value: str) -> None:
        with closing(psycopg.connect(postgres.url("x").split("&crawl")[0], autocommit=True)) as db:
            db.execute(f"ALTER SYSTEM SET default_transaction_read_only = {value}")
            db.execute("SELECT pg_reload_conf()")

    async def work() -> None:
        working = asyncio.ensure_future(crawl.member("one", tmp_path / "one").run(lambda _: None))
        await until(lambda: sum(len(site.seen) for site in sites) > 2 * HOSTS)
        set_to("on")
        try:
            await until(lambda: crawl.said("one notice") or working.done())
            assert not working.done(), working.exception()
            assert "cannot be written now" in crawl.said("one notice")[0][0]
        finally:
            set_to("off")
        await working

    asyncio.run(work())
    assert pages(crawl) == wanted(sites)
    crawl.store.close()


@pytest.mark.parametrize(("code", "begun"), [("54000", 1), ("57014", 8)])
def test_what_never_passes_ends_the_process_in_words_after_few_tries(
    postgres: Server, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, begun: int
) -> None:
    monkeypatch.setattr(member, "MAX_RESTART_SECONDS", 0.1, raising=False)
    site.link("/0")
    crawl = Crawl(postgres, [site.url("/0")])
    crawl.begin()
    with crawl.store.open() as db:
        db.execute(
            "CREATE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION 'it never passes' USING ERRCODE = '{code}'; END $$"
        )
        for shard in range(crawl.manifest.shards):
            db.execute(f"CREATE TRIGGER fails BEFORE INSERT ON visit_{shard} EXECUTE FUNCTION fails()")
    with pytest.raises(StorageError, match="it never passes"):
        asyncio.run(crawl.member("one", tmp_path / "one").run(lambda _: None))
    assert max(Counter(part.shard for part in crawl.store.parts()).values()) == begun
    assert not any(row.holder for row in crawl.store.status().rows)
    crawl.store.close()


def test_names_that_a_site_makes_as_long_as_it_likes_stop_no_crawl(
    postgres: Server, site: Site, tmp_path: Path
) -> None:
    name = os.urandom(3000).hex()
    site.link("/0", f"http://{name}.example/", *(f"/{name}?a=1&b={n}&c{n}=1" for n in range(300)))
    crawl = Crawl(postgres, [site.url("/0")])
    crawl.begin(max_url_length=None)
    asyncio.run(crawl.member("one", tmp_path / "one").run(lambda _: None))
    assert pages(crawl) == Counter([site.url("/0")])
    with crawl.store.open() as db:
        assert db.execute("SELECT count(*) FROM host WHERE length(name) > 5000").fetchone() == (1,)
        assert db.execute("SELECT count(*) FROM fact WHERE length(key) > 5000").fetchone() != (0,)
    crawl.store.close()


def test_a_database_without_an_encoding_of_its_own_will_do(postgres: Server, site: Site, tmp_path: Path) -> None:
    site.link("/", "/%C3%A4")
    site.link("/%C3%A4")
    name = f"ascii_{os.getpid()}"
    with closing(psycopg.connect(postgres.url("x").split("&crawl")[0], autocommit=True)) as db:
        db.execute(f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' TEMPLATE template0")
    url = postgres.url("one").replace("/postgres?", f"/{name}?")
    words = ["-q", "--json", "-o", str(tmp_path / "o\u00e4")]
    done = comity("crawl", site.url("/"), *ALLOW, "--delay", "0", "--store", url, *words)
    assert (done.returncode, json.loads(done.stdout)["pages"]) == (0, 2), done
    assert comity("frontier", "--store", url).returncode == 0
    assert comity("prove", str(tmp_path / "o\u00e4"), "--store", url).returncode == 0


def test_pages_that_are_given_back_while_a_process_looks_are_not_lost_to_the_limit(postgres: Server) -> None:
    crawl = Crawl(postgres, [])
    crawl.begin(max_pages=10)
    store, other = crawl.store, CrawlStore(crawl.store.where)
    with closing(store), closing(other), store.open() as db:
        db.execute("UPDATE shard SET granted = 5, token = 1 WHERE number = 0")
        db.execute("UPDATE crawl SET pool = 5")
        over = threading.Event()

        def give_back_and_be_granted() -> None:
            while not over.is_set():
                other.adjust_quota(0, 1, 2)
                other.adjust_quota(0, 1)

        giving = threading.Thread(target=give_back_and_be_granted)
        giving.start()
        looks: list[BoardState] = []
        try:
            while len(looks) < 100 or len({look.pool for look in looks}) == 1:
                looks.append(store.status())
        finally:
            over.set()
            giving.join()
        assert {(look.pool or 0) + (look.rows[0].granted or 0) for look in looks} == {10}
        drop(db, store.where)
