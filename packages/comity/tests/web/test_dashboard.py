"""The dashboard of a crawl, finished and running, in a real browser."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
import pytest
from commands import ALLOW, comity, process
from pages import Page
from postgres import Server
from sites import HANGS, Site

from comity import Crawler, Policy
from comity.errors import InputError
from comity.web import app


@pytest.fixture
def crawled(site: Site, tmp_path: Path) -> Path:
    site.set("/robots.txt", "User-agent: *\nDisallow: /private\n")
    site.link("/", "/a", "/private/b", "/gone", "/<img src=x onerror=alert(1)>")
    site.set("/a", "<title><script>alert(1)</script></title>a")
    crawler = Crawler(
        [site.url("/")], tmp_path / "out", policy=Policy(min_interval=0, allow_addresses=("127.0.0.0/8",))
    )
    with ThreadPoolExecutor(1) as thread:  # the browser's loop runs in this one
        assert thread.submit(asyncio.run, crawler.run()).result().failed == 2
    return tmp_path / "out"


@pytest.fixture
def board(crawled: Path, chromium: Any) -> Iterator[Any]:
    with Page(place=str(crawled)) as page:
        context = chromium.new_context(viewport={"width": 1280, "height": 900})
        tab = context.new_page()
        wrong: list[str] = []
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
        tab.goto(f"{page.url}/dashboard.html")
        tab.wait_for_selector("html[data-ready]")
        yield tab
        context.close()
        assert not wrong


def test_it_shows_hosts_refusals_failures_and_the_proof(board: Any, site: Site) -> None:
    assert "127.0.0.1" in board.inner_text("#hosts")
    board.wait_for_selector("#rules >> text=Disallow: /private")
    assert site.url("/private/b") in board.inner_text("#refusals")
    assert "line 2: Disallow: /private" in board.inner_text("#refusals")
    board.wait_for_selector("#reasons >> text=404")
    assert "0\t1" in board.inner_text("#depths")
    assert "text/html" in board.inner_text("#types")
    board.locator("#prove").click()
    board.wait_for_selector("#proof.yes >> text=proved")


def test_its_urls_are_listed_and_found_by_state_and_by_a_part(board: Any, site: Site) -> None:
    board.wait_for_selector("#urls >> text=refused")
    shown = board.inner_text("#urls")
    assert "trapped" not in shown
    assert all(
        site.url(path) in shown for path in ("/", "/a", "/private/b", "/gone", "/%3Cimg%20src=x%20onerror=alert(1)%3E")
    )
    assert "no more" in board.inner_text("#looked")
    board.select_option("#which", "failed")
    board.wait_for_selector("#looked >> text=2 shown")
    board.fill("#search", "no such thing")
    board.wait_for_selector("#looked >> text=0 shown")
    board.fill("#search", "GONE")
    board.wait_for_selector("#looked >> text=1 shown")
    assert site.url("/gone") in board.inner_text("#urls")
    board.fill("#search", "")
    board.select_option("#which", "")
    board.wait_for_selector("#looked >> text=5 shown")
    board.get_by_role("button", name="URLs that failed: HTTP status 404").click()
    board.wait_for_selector("#looked >> text=2 shown")


@pytest.mark.long
def test_a_url_s_row_opens_why_and_a_failure_s_the_pages_that_link_to_it(board: Any, site: Site) -> None:
    board.get_by_role("button", name=site.url("/private/b")).press("Enter")
    board.wait_for_selector("#urls .why >> text=found on")
    assert "line 2, 'Disallow: /private', disallows /private/b" in board.inner_text("#urls .why")
    board.get_by_role("button", name=site.url("/private/b")).press("Enter")
    assert board.locator("#urls .why").count() == 0
    board.get_by_role("button", name=site.url("/gone")).click()
    board.wait_for_selector("#urls .why >> text=Pages that link to it")
    assert site.url("/") in board.inner_text("#urls .why ul")


@pytest.mark.long
def test_a_whole_url_is_looked_up_where_the_crawl_never_met_it(board: Any, site: Site) -> None:
    board.fill("#search", site.url("/private/never"))
    board.keyboard.press("Enter")
    board.wait_for_selector("#told >> text=not found")
    assert "robots.txt" in board.inner_text("#told")


@pytest.mark.long
def test_more_urls_than_one_page_holds_are_shown_on_demand(site: Site, tmp_path: Path, chromium: Any) -> None:
    site.link("/", *(f"/{number}" for number in range(70)))
    assert process("crawl", site.url("/"), "-o", "out", "--delay", "0", *ALLOW, cwd=tmp_path).returncode == 2
    with Page(place=str(tmp_path / "out")) as page:
        tab = chromium.new_page()
        tab.goto(f"{page.url}/dashboard.html")
        tab.wait_for_selector("#looked >> text=50 shown")
        tab.click("#more")
        tab.wait_for_selector("#looked >> text=71 shown")
        assert not tab.is_visible("#more")
        tab.close()


def test_an_order_is_given_after_a_confirmation_and_kept(board: Any, crawled: Path) -> None:
    board.get_by_role("button", name="slow 127.0.0.1").click()
    board.get_by_role("button", name="Leave it").click()
    board.get_by_role("button", name="slow 127.0.0.1").click()
    board.fill("#seconds", "7")
    board.get_by_role("button", name="Give the order").click()
    board.wait_for_selector("#said >> text=from the next run on")
    from comity.crawler.storage.open_crawl import open_crawl

    order = open_crawl(crawled).last_order("127.0.0.1")
    assert order is not None
    assert order.seconds == 7.0


@pytest.mark.long
def test_nobody_is_left_out(board: Any) -> None:
    from axe_playwright_python.sync_playwright import Axe

    board.wait_for_selector("#rules >> text=Disallow: /private")
    board.get_by_role("button", name="/gone").click()
    board.wait_for_selector("#urls .why >> text=Pages that link to it")
    for colours in ("light", "dark"):
        for width in (1280, 390):
            board.emulate_media(color_scheme=colours)
            board.set_viewport_size({"width": width, "height": 900})
            found = Axe().run(board)
            assert found.violations_count == 0, f"{colours} {width}: {found.response['violations']}"
            assert board.evaluate("document.documentElement.scrollWidth") <= width


def test_a_running_crawl_is_watched(site: Site, tmp_path: Path, chromium: Any) -> None:
    site.link("/", *(f"/{number}" for number in range(200)))
    for number in range(200):
        site.set(f"/{number}", "page")
    crawling = subprocess.Popen(
        [sys.executable, "-m", "comity", "crawl", site.url("/"), "-o", str(tmp_path / "out"), "--delay", "0.1", *ALLOW],
        stderr=subprocess.DEVNULL,
    )
    try:
        while not (tmp_path / "out" / "frontier.sqlite").exists() or len(site.seen) < 5:
            time.sleep(0.05)
        with Page(place=str(tmp_path / "out")) as page:
            tab = chromium.new_page()
            tab.goto(f"{page.url}/dashboard.html")
            tab.wait_for_selector("#state >> text=running")
            tab.wait_for_selector("#rate canvas")
            width = tab.viewport_size["width"]
            assert tab.evaluate("document.documentElement.scrollWidth") <= width  # what was there makes room for it
            tab.close()
    finally:
        crawling.terminate()
        crawling.wait()


@pytest.mark.long
def test_a_crawl_serves_its_own_dashboard(site: Site, tmp_path: Path, chromium: Any) -> None:
    site.link("/", *(f"/{number}" for number in range(200)))
    for number in range(200):
        site.set(f"/{number}", "page")
    command = [sys.executable, "-m", "comity", "crawl", site.url("/"), "-o", str(tmp_path / "out"), "--delay", "0.1"]
    crawling = subprocess.Popen([*command, "-q", "--dashboard", "0", *ALLOW], stderr=subprocess.PIPE, text=True)
    try:
        assert crawling.stderr is not None
        told = crawling.stderr.readline()
        assert "dashboard at http://127.0.0.1:" in told
        tab = chromium.new_page()
        tab.goto(told.split()[-1])
        tab.wait_for_selector("#state >> text=running")
        tab.wait_for_selector("#rate canvas")
        tab.get_by_role("button", name="End the crawl").click()
        tab.get_by_role("button", name="Leave it").click()
        tab.get_by_role("button", name="End the crawl").click()
        tab.get_by_role("button", name="Give the order").click()
        assert crawling.wait() == 130  # an open page keeps no crawl from ending
        assert "Traceback" not in crawling.stderr.read()
        assert '"order":"end"' in (tmp_path / "out" / "ledger.jsonl").read_text(encoding="utf-8").replace(" ", "")
        tab.close()
    finally:
        crawling.kill()
        crawling.wait()


def test_beyond_loopback_page_events_and_orders_are_for_those_with_the_token(
    crawled: Path, tmp_path: Path, chromium: Any
) -> None:
    (tmp_path / "token").write_text("a-token-of-some-length\n", encoding="ascii")
    command = [sys.executable, "-m", "comity", "serve", str(crawled), "--host", "0.0.0.0", "--port", "0"]
    serving = subprocess.Popen([*command, "--token-file", str(tmp_path / "token")], stderr=subprocess.PIPE, text=True)
    try:
        assert serving.stderr is not None
        port = serving.stderr.readline().partition("0.0.0.0:")[2].partition("/")[0]
        url = f"http://127.0.0.2:{port}"  # an address of this machine that was not named
        context = chromium.new_context()
        tab = context.new_page()
        for path in ("/", "/dashboard.html", "/api/agents", "/api/crawl/events", "/?token=another-token-of-length"):
            answer = tab.goto(f"{url}{path}")
            assert answer.status == 401
            assert "127.0.0.1" not in answer.text()
        assert tab.request.post(f"{url}/api/crawl/order", data={"host": "127.0.0.1", "kind": "stop"}).status == 401
        tab.goto(f"{url}/dashboard.html?token=a-token-of-some-length")
        assert tab.url == f"{url}/dashboard.html"
        tab.wait_for_selector("html[data-ready=yes]")
        tab.get_by_role("button", name="stop 127.0.0.1").click()
        tab.get_by_role("button", name="Give the order").click()
        tab.wait_for_selector("#said >> text=from the next run on")
        assert '"order": "stop"' in (crawled / "orders.jsonl").read_text(encoding="utf-8")
        context.close()
    finally:
        serving.terminate()
        serving.wait()


def test_an_order_for_a_host_that_the_crawl_has_not_met_says_so(crawled: Path) -> None:
    from comity.web.dashboard import Dashboard

    board = Dashboard(str(crawled))
    assert board.order("nobody.example", "stop")["met"] is False
    assert board.order("127.0.0.1", "slow", "3")["met"] is True


@pytest.mark.long
def test_a_crawl_that_is_deleted_while_it_is_watched_is_missed_and_found_again(
    board: Any, crawled: Path, tmp_path: Path
) -> None:
    crawled.rename(tmp_path / "elsewhere")
    board.wait_for_selector("#state >> text=cannot be read")
    assert "no crawl in" in board.inner_text("#error")
    board.get_by_role("button", name="/gone").click()
    board.wait_for_selector("#urls .why >> text=no crawl in")
    board.select_option("#which", "failed")
    board.wait_for_selector("#looked >> text=no crawl in")
    board.get_by_role("button", name="slow 127.0.0.1").click()
    board.get_by_role("button", name="Give the order").click()
    board.wait_for_selector("#said >> text=no crawl in")
    (tmp_path / "elsewhere").rename(crawled)
    board.wait_for_selector("#state >> text=not running")
    assert board.inner_text("#error") == ""
    board.select_option("#which", "")
    board.wait_for_selector("#looked >> text=5 shown")


def test_pages_that_are_open_together_share_what_was_seen(crawled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from comity.web.dashboard import Dashboard

    board, looks = Dashboard(str(crawled)), []
    monkeypatch.setattr(board, "now", lambda: (looks.append(1), {})[1])

    for _ in range(5):
        assert board._look()[1] == {}
    assert len(looks) == 1


@pytest.mark.long
def test_pages_that_watch_a_crawl_are_so_many_and_leave_room_for_questions(
    crawled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "MAX_WATCHERS", 3)
    with Page(place=str(crawled)) as page, httpx.Client(timeout=HANGS) as client, ExitStack() as stack:
        events = f"{page.url}/api/crawl/events"
        for _ in range(3):
            assert stack.enter_context(client.stream("GET", events)).status_code == 200
        assert client.get(events).status_code == 503
        assert client.post(f"{page.url}/api/crawl/now", json={}).status_code == 200
        stack.close()
        deadline = time.monotonic() + HANGS
        while True:  # a place that is left is free again
            with client.stream("GET", events) as again:
                if again.status_code == 200 or time.monotonic() > deadline:
                    break
        assert again.status_code == 200


def test_a_server_that_fails_is_not_said_to_be_silent(board: Any) -> None:
    board.route("**/api/crawl/urls", lambda route: route.fulfill(status=500, content_type="text/plain", body="oh"))
    board.select_option("#which", "failed")
    board.wait_for_selector("#looked >> text=comity serve failed (status 500)")


@pytest.mark.long
def test_a_store_that_goes_away_is_said_and_found_again(
    postgres: Server, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from comity.errors import StorageError
    from comity.frontier.postgresql import database
    from comity.web.dashboard import Dashboard

    site.link("/", "/a")
    url = postgres.url(f"watched_{os.getpid()}")
    done = process("crawl", site.url("/"), "-o", "out", "--delay", "0", "--store", url, *ALLOW, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    board = Dashboard(url)
    assert board.now()["counts"]["failed"] == 1
    assert board.figures()["requests"] >= 2
    assert board.fate(site.url("/a"))["fate"] == "failed"
    assert board.linking(site.url("/a")) == {"pages": [site.url("/")], "all": True}
    assert board.proof()["holds"] is True
    assert board.order("127.0.0.1", "slow", "3")["met"] is True
    psycopg = pytest.importorskip("psycopg")
    with monkeypatch.context() as away:
        away.setattr(psycopg, "connect", mock.Mock(side_effect=psycopg.OperationalError("refused")))
        for ask in (board.now, board.urls, lambda: board.fate(site.url("/a")), board.proof):
            with pytest.raises(StorageError, match="cannot be reached"):
                ask()
        assert "cannot be reached" in board._look()[1]["error"]
    assert [each["state"] for each in board.urls()["urls"]] == ["fetched", "failed"]
    with psycopg.connect(database.address(url).conninfo, autocommit=True) as db:
        db.execute(f"DROP SCHEMA {database.address(url).schema} CASCADE")
    with pytest.raises(InputError, match="no crawl in"):
        board.urls()


def test_where_there_is_no_crawl_that_is_said(tmp_path: Path) -> None:
    assert comity("serve", str(tmp_path), "--port", "0").returncode == 66
