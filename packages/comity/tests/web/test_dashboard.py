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
from pages import Page, check_for_all
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


def test_a_crawl_that_ended_is_judged_first_and_offers_no_orders(board: Any, site: Site) -> None:
    board.wait_for_selector("#verdict-title >> text=finished; proved: 7 requests, none disallowed, none early")
    assert board.title() == "comity: out, finished"
    assert "404: 2 URLs" in board.inner_text("#attention")
    assert site.url("/gone") in board.inner_text("#attention")
    assert "127.0.0.1\tfinished" in board.inner_text("#hosts")
    assert board.locator("#hosts select, #end:visible").count() == 0
    evidence = board.inner_text("#evidence")
    assert "Disallow: /private" in evidence
    assert "text/html" in evidence
    board.get_by_text("Latest refusals").click()
    assert f"{site.url('/private/b')}\tline 2: Disallow: /private" in board.inner_text("#evidence")


def test_charts_are_from_the_ledger_from_zero_and_a_table_too(board: Any) -> None:
    assert board.get_attribute("#answers svg.bars", "aria-label").startswith(
        "3 answered (2xx), 4 not there (4xx); each"
    )
    assert board.locator("#answers .bars rect.k2xx").count() >= 1
    assert board.inner_text("#answers .levels").split()[-1] == "0"
    board.locator("#pace summary").click()
    assert "pages a second" in board.inner_text("#pace table")


def test_its_urls_are_listed_and_found_by_state_and_by_a_part(board: Any, site: Site) -> None:
    board.wait_for_selector("#listed >> text=refused")
    shown = board.inner_text("#listed")
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
    assert site.url("/gone") in board.inner_text("#listed")
    board.fill("#search", "")
    board.select_option("#which", "")
    board.wait_for_selector("#looked >> text=5 shown")
    board.get_by_role("button", name="URLs that failed: HTTP status 404").click()
    board.wait_for_selector("#looked >> text=2 shown")


@pytest.mark.long
def test_a_url_s_row_opens_why_and_a_failure_s_the_pages_that_link_to_it(board: Any, site: Site) -> None:
    board.get_by_role("button", name=site.url("/private/b")).press("Enter")
    board.wait_for_selector("#listed .why >> text=found on")
    assert "line 2, 'Disallow: /private', disallows /private/b" in board.inner_text("#listed .why")
    board.get_by_role("button", name=site.url("/private/b")).press("Enter")
    assert board.locator("#listed .why").count() == 0
    board.get_by_role("button", name=site.url("/gone")).click()
    board.wait_for_selector("#listed .why >> text=Pages that link to it")
    assert site.url("/") in board.inner_text("#listed .why ul")


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


@pytest.mark.long
def test_nobody_is_left_out(board: Any, site: Site) -> None:
    board.wait_for_selector("#verdict-title >> text=proved")
    board.get_by_role("button", name=site.url("/gone")).click()
    board.wait_for_selector("#listed .why >> text=Pages that link to it")
    check_for_all(board)


@pytest.fixture
def running(site: Site, tmp_path: Path) -> Iterator[Any]:
    """A crawl that runs with its own dashboard, and the page's URL."""
    site.link("/", *(f"/{number}" for number in range(200)))
    for number in range(200):
        site.set(f"/{number}", "page")
    command = [sys.executable, "-m", "comity", "crawl", site.url("/"), "-o", str(tmp_path / "out"), "--delay", "0.5"]
    crawling = subprocess.Popen([*command, "-q", "--dashboard", "0", *ALLOW], stderr=subprocess.PIPE, text=True)
    try:
        assert crawling.stderr is not None
        told = crawling.stderr.readline()
        assert "dashboard at http://127.0.0.1:" in told
        yield crawling, told.split()[-1]
    finally:
        crawling.kill()
        crawling.wait()


def test_a_crawl_that_runs_is_watched_takes_orders_and_says_when_it_has_ended(
    running: Any, tmp_path: Path, chromium: Any
) -> None:
    crawling, url = running
    tab = chromium.new_page()
    tab.goto(url)
    tab.wait_for_selector("#verdict-title >> text=/^Running for .*/s")
    tab.wait_for_selector("#pace .bars rect")
    assert tab.evaluate("document.documentElement.scrollWidth") <= tab.viewport_size["width"]
    order = tab.get_by_label("Order for 127.0.0.1")
    order.select_option("slow")
    tab.get_by_role("button", name="Leave it").click()
    assert order.input_value() == ""
    order.select_option("slow")
    tab.fill("#seconds", "2")
    tab.get_by_role("button", name="Give the order").click()
    tab.wait_for_selector("#said >> text=effective now")
    tab.locator("#urls-title").click()
    tab.wait_for_selector("#attention >> text=at least 2 s between requests to 127.0.0.1")
    assert tab.get_by_label("Order for 127.0.0.1").locator("option").first.inner_text() == "at least 2 s"
    tab.get_by_role("button", name="End the crawl").click()
    tab.get_by_role("button", name="Leave it").click()
    tab.get_by_role("button", name="End the crawl").click()
    tab.get_by_role("button", name="Give the order").click()
    assert crawling.wait() == 130  # an open page keeps no crawl from ending
    tab.wait_for_selector("#verdict-title >> text=/^Ended .* stopped; proved/")
    assert f"Open it again with comity serve {tmp_path / 'out'}" in tab.inner_text("#verdict")
    assert tab.locator("select.order:visible, #end:visible").count() == 0
    assert "connection lost" not in tab.inner_text("body")
    assert "Traceback" not in crawling.stderr.read()
    assert '"order":"end"' in (tmp_path / "out" / "ledger.jsonl").read_text(encoding="utf-8").replace(" ", "")
    tab.close()


@pytest.mark.long
def test_nor_is_anybody_by_a_crawl_that_runs_nor_by_a_report(running: Any, tmp_path: Path, chromium: Any) -> None:
    (tmp_path / "robots.txt").write_text("User-agent: *\nDisallow: /a\nContent-Signal: ai-train=no\n")
    tab = chromium.new_page()
    tab.goto(running[1])
    tab.wait_for_selector("#pace .bars rect")
    check_for_all(tab)
    reports = (("report", str(tmp_path / "out"), "-o"), ("audit", "--robots", str(tmp_path / "robots.txt"), "--report"))
    for command in reports:
        assert comity(*command, str(tmp_path / "report.html")).returncode == 0
        tab.goto((tmp_path / "report.html").as_uri())
        check_for_all(tab)
    tab.close()


@pytest.mark.long
def test_a_crawl_that_is_killed_is_not_said_to_run_any_more(running: Any, chromium: Any) -> None:
    crawling, url = running
    tab = chromium.new_page()
    tab.goto(url)
    tab.wait_for_selector("#pace .bars rect")
    crawling.kill()
    tab.wait_for_selector("#state >> text=not updated")
    assert tab.inner_text("#verdict-title").startswith("Last seen running for ")
    assert "Open it again with: comity serve" in tab.inner_text("#error")
    assert tab.locator("select.order:visible, #end:visible").count() == 0
    tab.close()


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
        tab.wait_for_selector("#verdict-title >> text=finished")
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
    board: Any, crawled: Path, tmp_path: Path, site: Site
) -> None:
    board.wait_for_selector("#verdict-title >> text=proved")
    crawled.rename(tmp_path / "elsewhere")
    board.wait_for_selector("#state >> text=cannot be read")
    assert "no crawl in" in board.inner_text("#error")
    board.get_by_role("button", name=site.url("/gone")).click()
    board.wait_for_selector("#listed .why >> text=no crawl in")
    board.select_option("#which", "failed")
    board.wait_for_selector("#looked >> text=no crawl in")
    (tmp_path / "elsewhere").rename(crawled)
    board.wait_for_selector("#state >> text=finished")
    assert board.inner_text("#error") == ""
    board.select_option("#which", "")
    board.wait_for_selector("#looked >> text=5 shown")


def test_pages_that_are_open_together_share_what_was_seen(crawled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from comity.web.dashboard import Dashboard

    board, looks = Dashboard(str(crawled)), []
    view = board.view
    monkeypatch.setattr(board, "view", lambda: (looks.append(1), view())[1])

    first = board._look()
    for _ in range(5):
        assert board._look() is first
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
        assert client.post(f"{page.url}/api/crawl/urls", json={}).status_code == 200
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
    from comity.audit.prove import Proof
    from comity.errors import StorageError
    from comity.frontier.postgresql import database
    from comity.web.dashboard import Dashboard

    site.link("/", "/a")
    url = postgres.url(f"watched_{os.getpid()}")
    done = process("crawl", site.url("/"), "-o", "out", "--delay", "0", "--store", url, *ALLOW, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    board = Dashboard(url)
    seen = board.view()
    assert seen.queue is not None
    assert seen.queue.counts["failed"] == 1
    assert seen.figures.requests >= 2
    assert board.fate(site.url("/a"))["fate"] == "failed"
    assert board.linking(site.url("/a")) == {"pages": [site.url("/")], "all": True}
    while not isinstance(seen.proof, Proof):
        seen = board.view()
    assert seen.proof.holds
    assert board.order("127.0.0.1", "slow", "3")["met"] is True
    psycopg = pytest.importorskip("psycopg")
    with monkeypatch.context() as away:
        away.setattr(psycopg, "connect", mock.Mock(side_effect=psycopg.OperationalError("refused")))
        for ask in (board.view, board.urls, lambda: board.fate(site.url("/a"))):
            with pytest.raises(StorageError, match="cannot be reached"):
                ask()
        assert "cannot be reached" in board._look()[1]["error"]
    assert [each["state"] for each in board.urls()["urls"]] == ["kept", "failed"]
    with psycopg.connect(database.address(url).conninfo, autocommit=True) as db:
        db.execute(f"DROP SCHEMA {database.address(url).schema} CASCADE")
    with pytest.raises(InputError, match="no crawl in"):
        board.urls()


def test_where_there_is_no_crawl_that_is_said(tmp_path: Path) -> None:
    assert comity("serve", str(tmp_path), "--port", "0").returncode == 66
