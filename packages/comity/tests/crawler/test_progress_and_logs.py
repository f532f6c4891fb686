"""What people see of a running crawl: the picture, the line, the log; and the snapshot that they are made of."""

import asyncio
import json
import logging
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from aiohttp import web
from clocks import FakeClock
from commands import ALLOW, comity, complaint, stderr
from examples import first_of
from rich.text import Text
from sites import HANGS, Site

from comity import ClientSettings, Policy
from comity.cli import progress
from comity.cli.logs import LineFormatter
from comity.crawler import Crawler, CrawlSettings, HostState, HostStatus, Snapshot, Stats
from comity.crawler.observe.snapshot import take
from comity.crawler.observe.stats import MAX_RULES, OTHERS, RefusingRule, RequestCounters, StatsCollector, shown
from comity.crawler.run.hosts import Host, status_of
from comity.crawler.storage.folder import FolderStorage
from comity.times import short_duration

QUICK = Policy(agent="TestBot/1.0", min_interval=0.01, allow_addresses=("127.0.0.0/8",))
HOSTILE = "[red]x[/] \x1b[31m\x9b2J\u202egnp.exe\u2066\r\nnext\u2028line\x00\x7f\udc80z\u0336\u0336\u0336"


def host(name: str = "www.example.com", state: HostState = HostState.INTERVAL, **more: object) -> HostStatus:
    values: dict[str, object] = {"wait": 0.4, "interval": 1.0, "queued": 17, "more": True, "under_way": 0}
    return HostStatus(name, state, **(values | more))  # type: ignore[arg-type]


def picture_of(hosts: int, *, rules: int = 0, name: str = "www{}.example.com", text: str = "Disallow: /") -> Snapshot:
    return Snapshot(
        phase="running",
        stats=Stats(pages=123_456, refused=99_999, failed=77, found=9_999_999, body_bytes=10**11),
        seconds=100_000.0,
        pages_per_second=1234.5,
        under_way=3,
        states={HostState.INTERVAL: hosts, HostState.DRAINED: 5},
        hosts=tuple(host(name.format(number)) for number in range(min(hosts, progress.MAX_HOSTS))),
        rules=tuple((RefusingRule(name.format(number), number, text), 10 - number) for number in range(rules)),
        other_rules=0,
    )


def lines_of(text: Text) -> list[str]:
    return text.plain.split("\n")


# The picture


@pytest.mark.parametrize(
    ("name", "text"),
    [("h{}.example", "Disallow: /x"), ("a" * 200 + "{}", "Disallow: /" + "y" * 300), ("日本" * 60, "🕷" * 90)],
    ids=["short", "long", "wide"],
)
def test_the_picture_fits_any_terminal_and_never_takes_more_than_16_lines(name: str, text: str) -> None:
    for hosts, rules in product((0, 1, 40), (0, 3)):
        now = picture_of(hosts, rules=rules, name=name, text=text)
        for width, height in product((10, 20, 36, 38, 60, 69, 70, 80, 120, 400), (1, 2, 5, 8, 10, 16, 24, 100)):
            lines = lines_of(progress.render(now, width, height))
            assert len(lines) <= min(16, height)
            assert all(Text(line).cell_len <= width for line in lines), lines


def test_the_picture_says_of_each_host_what_it_waits_for() -> None:
    now = picture_of(1, rules=1)
    lines = lines_of(progress.render(now, 80))
    assert lines[0] == "27h46m  123,456 pages 1,234/s  99,999 refused  77 failed  9,999,999 URLs  100..."
    assert lines[2].split() == ["host", "state", "next", "interval", "queued", "active"]
    assert lines[3].split() == ["www0.example.com", "interval", "0.4", "s", "1.0", "s", "17+"]
    assert lines[4] == "6 hosts: 5 finished, 1 interval"
    assert lines[7].split() == ["10", "www0.example.com", "line", "0", "Disallow:", "/"]


def test_a_crawl_without_hosts_is_one_line() -> None:
    assert len(lines_of(progress.render(picture_of(0), 80))) == 1


def test_a_low_window_shows_hosts_rather_than_rules() -> None:
    picture = progress.render(picture_of(40, rules=3), 80, 9)
    assert "www4.example.com" in picture.plain
    assert "Disallow" not in picture.plain


def test_the_end_of_a_long_host_is_shown_for_it_says_whose_host_it_is() -> None:
    now = picture_of(1, name="www.bank.example." + "a" * 80 + ".evil.example")
    assert re.search(r"^\.\.a+\.evil\.example ", progress.render(now, 80).plain, re.MULTILINE)


def test_nothing_from_a_site_steers_the_terminal() -> None:
    picture = progress.render(picture_of(3, rules=3, name=HOSTILE, text=HOSTILE), 400)
    assert all(char.isprintable() or char == "\n" for char in picture.plain)
    assert len(lines_of(picture)) == 1 + 1 + 1 + 3 + 1 + 1 + 1 + 3
    assert "[red]x[/] \\x1b[31m\\x9b2J\\u202egnp" in picture.plain, "markup is text"
    assert "\u0336" not in picture.plain


def test_what_is_shown_is_one_bounded_line() -> None:
    assert shown("plain") == "plain"
    assert shown("Äpfel, 日本") == "Äpfel, 日本"
    assert shown(HOSTILE).isprintable()
    assert len(shown("x" * 10**6)) == 200


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (59.9, "59 s"),
        (61, "1m01s"),
        (5999, "99m59s"),
        (6000, "1h40m"),
        (359_999, "99h59m"),
        (360_000, "4d04h"),
        (10**7, "115d17h"),
    ],
)
def test_durations_are_short(seconds: float, words: str) -> None:
    assert short_duration(seconds) == words
    assert len(words) <= 7


# The snapshot


def crawler(
    seeds: list[str],
    folder: Path,
    clock: FakeClock | None = None,
    *,
    policy: Policy = QUICK,
    **settings: object,
) -> Crawler:
    client = ClientSettings(jitter=False)
    limits = CrawlSettings(**settings)  # type: ignore[arg-type]
    return Crawler(seeds, FolderStorage(folder, clock=clock), policy=policy, settings=limits, client_settings=client)


class Looking(FakeClock):
    """Looks at the hosts of a crawl whenever it waits for something."""

    def __init__(self) -> None:
        super().__init__()
        self.crawl: Crawler | None = None
        self.seen: list[HostStatus] = []

    async def sleep(self, seconds: float) -> None:
        assert self.crawl is not None
        self.seen += self.crawl.snapshot().hosts
        await super().sleep(seconds)


def site_of(site: Site, *, pages: int = 5) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /no\nDisallow: /never\n")
    site.link("/", *(f"/{number}" for number in range(pages)), "/no/1", "/no/2", "/never", "/gone")
    for number in range(pages):
        site.link(f"/{number}")


def lines(folder: Path, channel: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / f"{channel}.jsonl").read_text().splitlines()]


def test_a_snapshot_may_be_asked_for_before_while_and_after(tmp_path: Path, site: Site) -> None:
    site_of(site)
    crawl = crawler([site.url("/")], tmp_path)
    before = crawl.snapshot()
    assert (before.phase, before.seconds, before.hosts, before.pages_per_second) == ("new", 0.0, (), 0.0)
    seen: list[Snapshot] = []
    crawl = crawler([site.url("/")], tmp_path)
    asyncio.run(crawl.run(on_page=lambda _: seen.append(crawl.snapshot())))
    assert [now.phase for now in seen] == ["running"] * 6
    after = crawl.snapshot()
    assert after.phase == "ended"
    assert after.stats.pages == len(lines(tmp_path, "pages")) == 6
    assert after.states == {HostState.DRAINED: 1}
    assert after.hosts == ()
    assert after.seconds == crawl.snapshot().seconds, "time stands still after the end"
    with pytest.raises(AttributeError):
        after.seconds = 3.0  # type: ignore[misc]
    after.stats.pages = 0
    assert crawl.stats.pages == 6, "a snapshot is a copy"


def test_a_snapshot_counts_refusals_by_rule_and_requests_by_answer(tmp_path: Path, site: Site) -> None:
    site_of(site)
    crawl = crawler([site.url("/"), site.url("/no/3")], tmp_path, sitemaps=False)
    asyncio.run(crawl.run())
    now = crawl.snapshot()
    name = "127.0.0.1"
    assert now.rules == ((RefusingRule(name, 2, "Disallow: /no"), 3), (RefusingRule(name, 3, "Disallow: /never"), 1))
    assert now.refused == {"disallowed_explicit": 4}
    assert now.requests == {("robots", "2xx"): 1, ("content", "2xx"): 6, ("content", "4xx"): 1}
    assert sum(now.requests.values()) == len(site.seen)
    assert {state.name: count for state, count in now.urls.items()} == {
        "UNASKED": 0,
        "QUEUED": 0,
        "DONE": 6,
        "REFUSED": 4,
        "FAILED": 1,
    }
    assert crawl.snapshot(rules=1, hosts=0).rules == now.rules[:1]


def test_however_many_rules_refuse_a_bounded_number_is_counted_one_by_one() -> None:
    tally = RequestCounters()
    for number in range(3 * MAX_RULES):
        decision = {"verdict": "disallowed_explicit", "line": number, "rule": f"Disallow: /{'x' * 10_000}{number}"}
        tally.refusal(f"h{number}.example", decision)
    assert len(tally.rules) == MAX_RULES + 1
    assert tally.rules[OTHERS] == 2 * MAX_RULES
    assert tally.refused == {"disallowed_explicit": 3 * MAX_RULES}
    assert max(len(text) for _, _, text in tally.rules) <= 300


@pytest.mark.parametrize(
    ("status", "headers", "policy", "state", "wait"),
    [
        (200, {}, QUICK.with_changes(min_interval=5.0), HostState.INTERVAL, 5.0),
        (503, {"Retry-After": "40"}, QUICK, HostState.RETRY_AFTER, 40.0),
        (500, {}, QUICK.with_changes(backoff=30.0), HostState.BACK_OFF, 30.0),
        (500, {}, QUICK.with_changes(breaker_failures=1, breaker_recovery=70.0), HostState.CIRCUIT_OPEN, 70.0),
    ],
    ids=["interval", "retry-after", "back-off", "circuit"],
)
def test_a_snapshot_says_what_a_host_waits_for_and_for_how_long(
    tmp_path: Path,
    site: Site,
    status: int,
    headers: dict[str, str],
    policy: Policy,
    state: HostState,
    wait: float,
) -> None:
    site.set("/robots.txt", "")
    site.link("/", "/a", "/b")
    for path in ("/a", "/b"):
        site.set(path, "x", status=status, headers=headers)
    clock = Looking()
    crawl = clock.crawl = crawler([site.url("/")], tmp_path, clock, policy=policy, sitemaps=False)
    asyncio.run(crawl.run())
    seen = clock.seen
    waiting = [each for each in seen if each.state is state]
    assert waiting, {each.state for each in seen}
    assert any(each.wait == pytest.approx(wait, rel=0.5) for each in waiting), [each.wait for each in waiting]
    assert all(each.interval >= policy.min_interval for each in waiting)
    assert {each.name for each in seen} == {"127.0.0.1"}


@pytest.mark.parametrize(("path", "state"), [("/robots.txt", HostState.ROBOTS), ("/", HostState.FETCHING)])
def test_a_snapshot_says_what_is_under_way(tmp_path: Path, site: Site, path: str, state: HostState) -> None:
    seen: list[Snapshot] = []

    async def answer(_: web.Request) -> web.StreamResponse:
        seen.append(crawl.snapshot())  # from the site's own thread
        return web.Response(text="")

    site.set("/robots.txt", "")
    site.set("/", "")
    site.set(path, answer)
    crawl = crawler([site.url("/")], tmp_path, sitemaps=False)
    asyncio.run(crawl.run())
    (now,) = seen
    (host,) = now.hosts
    assert (host.state, host.wait, host.under_way, now.under_way) == (state, 0.0, 1, 1)
    assert now.states == {state: 1}


def test_a_host_whose_robots_txt_is_unreachable_is_not_called_done(
    tmp_path: Path, site: Site, clock: FakeClock
) -> None:
    site.set("/robots.txt", "", status=500)
    for urls in ([site.url("/")], []):  # and so when it is resumed
        crawl = crawler(urls, tmp_path, clock)
        asyncio.run(crawl.run())
        now = crawl.snapshot()
        assert now.states == {HostState.UNREACHABLE: 1}
        (host,) = now.hosts
        assert (host.state, host.queued) == (HostState.UNREACHABLE, 0)
        assert host.wait > 0
        lines = lines_of(progress.render(now, 80))
        assert lines[3].split()[:2] == ["127.0.0.1", "unreachable"]
        assert lines[4] == "1 host: 1 robots.txt unreachable"
    clock.now += QUICK.failure_life + 1
    site.set("/robots.txt", "")
    site.link("/")
    crawl = crawler([], tmp_path, clock)
    asyncio.run(crawl.run())
    assert crawl.snapshot().states == {HostState.DRAINED: 1}


def test_hosts_that_cannot_be_reached_leave_half_the_places_to_the_others() -> None:
    clock = FakeClock()
    collector = StatsCollector(clock)
    hosts = [Host(f"h{number}", drained=number < 20) for number in range(30)]
    collector.unreachable = {host.name: {f"http://{host.name}": clock.wall() + 60} for host in hosts[:20]}
    now = take(
        collector,
        lambda at: [status_of(host, collector, at) for host in hosts],
        "running",
        0,
        most_hosts=8,
        most_rules=0,
    )
    assert [host.state is HostState.UNREACHABLE for host in now.hosts] == [True] * 4 + [False] * 4
    assert now.hosts[0].wait == pytest.approx(60)


def test_the_interval_shown_is_the_one_asked_for_whatever_the_back_off(tmp_path: Path, site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nCrawl-delay: 2\n")
    site.set("/", "x", status=500)
    clock = Looking()
    policy = QUICK.with_changes(backoff=30.0)
    crawl = clock.crawl = crawler([site.url("/")], tmp_path, clock, policy=policy, sitemaps=False)
    asyncio.run(crawl.run())
    backing_off = [each for each in clock.seen if each.state is HostState.BACK_OFF]
    assert backing_off
    assert {each.interval for each in backing_off} == {2.0}


def test_a_snapshot_knows_visiting_hours_and_limits(tmp_path: Path, site: Site) -> None:
    clock = Looking()
    hour = int(clock.wall() % 86_400 // 3_600)
    site.set("/robots.txt", f"User-agent: *\nVisit-time: {(hour + 2) % 24:02}00-{(hour + 3) % 24:02}00\n")
    site.link("/")
    policy = QUICK.with_changes(honour=("crawl-delay", "visit-time"))
    crawl = clock.crawl = crawler([site.url("/")], tmp_path / "hours", clock, policy=policy, longest_wait=None)
    asyncio.run(crawl.run())
    assert HostState.VISITING_HOURS in {each.state for each in clock.seen}
    site.clear()
    site_of(site)
    limited = crawler([site.url("/")], tmp_path / "limit", max_pages_per_host=2)
    asyncio.run(limited.run())
    assert limited.snapshot().states == {HostState.LIMIT: 1}


def test_the_pace_is_that_of_the_last_ten_seconds(tmp_path: Path, site: Site, clock: FakeClock) -> None:
    site_of(site, pages=40)
    paces: list[float] = []
    policy = QUICK.with_changes(min_interval=0.5)
    crawl = crawler([site.url("/")], tmp_path, clock, policy=policy, sitemaps=False)
    asyncio.run(crawl.run(on_page=lambda _: paces.append(crawl.snapshot().pages_per_second)))
    assert paces[-1] == pytest.approx(2.0, rel=0.2)


# The command


def crawl_words(site: Site, folder: Path, *more: str, delay: str = "0.01") -> list[str]:
    return ["crawl", site.url("/"), "-o", str(folder), "--delay", delay, *ALLOW, *more]


def test_without_a_terminal_nothing_but_the_summary_and_the_lines_appears(tmp_path: Path, site: Site) -> None:
    site_of(site)
    answer = comity(*crawl_words(site, tmp_path / "out"))
    assert stderr(answer) == "", "a short crawl says nothing before its summary"
    quiet = comity(*crawl_words(site, tmp_path / "quiet", "--quiet"))
    assert (quiet.returncode, quiet.stderr) == (2, "")
    assert quiet.stdout.startswith("pages ")


def test_json_has_standard_output_to_itself(tmp_path: Path, site: Site) -> None:
    site_of(site)
    answer = comity(*crawl_words(site, tmp_path / "out", "--json", "-v", "--metrics", "0"))
    assert json.loads(answer.stdout)["pages"] == 6
    assert "failed http" in answer.stderr


@pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals")
@pytest.mark.parametrize(
    ("environment", "moves", "coloured"),
    first_of(
        ({"TERM": "xterm-256color"}, True, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, False, False),
    ),
    ids=["xterm", "NO_COLOR", "dumb"],
)
def test_on_a_terminal_the_picture_moves_and_leaves_nothing_behind(
    tmp_path: Path, site: Site, environment: dict[str, str], moves: bool, coloured: bool
) -> None:
    site_of(site, pages=6)
    site.link("/5", "/last")
    shown = threading.Event()  # the last page is held back until the picture has moved

    async def last(_: web.Request) -> web.StreamResponse:
        await asyncio.to_thread(shown.wait, HANGS)
        return web.Response(text="last")

    site.set("/last", last)

    def look(said: str) -> None:
        if not moves or ("\x1b[1A" in said and "Disallow: /no" in said.rpartition("\x1b[1A")[2]):
            shown.set()

    said = on_terminal(crawl_words(site, tmp_path / "out", "-v"), environment | {"COLUMNS": "80", "LINES": "24"}, look)
    assert ("\x1b[1A" in said) is moves, "the cursor goes up"
    assert bool(re.search(r"\x1b\[[0-9;]*3[1-7]m", said)) is coloured
    assert ("active" in said) is moves
    drawn = [line for line in said.splitlines() if " refused http" not in line]
    assert any("Disallow: /no" in line for line in drawn) is moves
    assert "failed http" in said, "the log stands above the picture"
    if moves:
        assert said.count("\x1b[?25l") == said.count("\x1b[?25h") == 1, "the cursor is back"


def on_terminal(words: list[str], environment: dict[str, str], look: Callable[[str], None]) -> str:
    """What a command writes to a terminal on its standard error; `look` is given all of it whenever more comes."""
    import pty

    ours, theirs = pty.openpty()
    kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "comity", *words], stdout=subprocess.DEVNULL, stderr=theirs, env=kept | environment
    )
    os.close(theirs)
    said = b""
    deadline = time.monotonic() + HANGS
    while time.monotonic() < deadline:
        if select.select([ours], [], [], 0.2)[0]:
            try:
                data = os.read(ours, 65536)
            except OSError:
                break
            if not data:
                break
            said += data
        look(said.decode(errors="replace"))
        if select.select([ours], [], [], 0)[0]:
            continue
        if process.poll() is not None:
            break
    os.close(ours)
    process.wait(HANGS)
    return said.decode()


def test_while_it_stops_the_picture_says_so(tmp_path: Path, site: Site) -> None:
    site_of(site)
    seen: list[str] = []

    def stop(_: object) -> None:
        crawl.stop()
        seen.append(progress.line(crawl.snapshot()).plain)

    crawl = crawler([site.url("/")], tmp_path)
    asyncio.run(crawl.run(on_page=stop))
    assert "stopping, " in seen[0]


def test_ctrl_c_twice_stops_at_once(tmp_path: Path, site: Site) -> None:
    async def never(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(2 * HANGS)
        return web.Response()

    site.set("/robots.txt", "")
    site.set("/", never)
    process = subprocess.Popen(
        [sys.executable, "-m", "comity", *crawl_words(site, tmp_path / "out")], stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + HANGS
    while "/" not in site.paths() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    while "Ctrl-C again" not in process.stderr.readline():
        pass
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=HANGS)
    assert process.returncode == 130
    assert time.monotonic() - begun < HANGS


# The log


def test_a_crawl_logs_what_an_operator_wants_to_know(
    tmp_path: Path, site: Site, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "comity")
    site_of(site)
    site.link("/", "/busy", "/gone")
    site.set("/busy", "x", status=503, headers={"Retry-After": "40"})
    asyncio.run(crawler([site.url("/")], tmp_path, clock, sitemaps=False, retries=0).run())
    said = "\n".join(f"{record.levelname} {record.getMessage()}" for record in caplog.records)
    name = f"127.0.0.1:{site.port}"
    for expected in (
        "the crawl begins",
        f"INFO http://{name}/robots.txt: read (HTTP status 200)",
        "WARNING 127.0.0.1: HTTP status 503; waiting 40.0 s (Retry-After)",
        f"INFO failed http://{name}/gone: HTTP status 404",
        "the crawl ends: finished; 1 pages, 0 refused, 2 failed, 3 URLs known",
    ):
        assert expected in said
    assert "DEBUG" not in said
    caplog.clear()
    asyncio.run(crawler([], tmp_path, clock).run())
    assert "resumed: 1 pages" in caplog.text


def test_an_unreachable_robots_txt_and_an_open_circuit_are_warnings(
    tmp_path: Path, site: Site, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    site.set("/robots.txt", "", status=500)
    asyncio.run(crawler([site.url("/")], tmp_path / "1", clock).run())
    assert "robots.txt: unreachable (HTTP status 500)" in caplog.text
    caplog.clear()
    site.set("/robots.txt", "")
    site.link("/", "/a", "/b")
    for path in ("/a", "/b"):
        site.set(path, status=500)
    policy = QUICK.with_changes(breaker_failures=1, breaker_recovery=70.0)
    asyncio.run(crawler([site.url("/")], tmp_path / "2", clock, policy=policy).run())
    assert re.search(r"WARNING .* waiting \d\d\.\d s \(circuit open\)", caplog.text)


@pytest.mark.parametrize(("interval", "why"), [(1.0, "back-off"), (5.0, "interval")])
def test_the_log_names_the_back_off_where_it_is_no_longer_than_the_interval_too(
    tmp_path: Path, site: Site, clock: FakeClock, caplog: pytest.LogCaptureFixture, interval: float, why: str
) -> None:
    site.set("/robots.txt", "")
    site.set("/", "x", status=500)
    policy = QUICK.with_changes(min_interval=interval, backoff=1.0)
    asyncio.run(crawler([site.url("/")], tmp_path, clock, policy=policy, sitemaps=False, retries=0).run())
    assert re.search(rf"HTTP status 500; waiting {interval:.1f} s \({why}\)", caplog.text), caplog.text


def test_quiet_is_the_default(tmp_path: Path, site: Site, clock: FakeClock, capfd: pytest.CaptureFixture[str]) -> None:
    site.set("/robots.txt", "", status=500)
    asyncio.run(crawler([site.url("/")], tmp_path, clock).run())
    assert capfd.readouterr() == ("", "")


def test_nothing_a_site_sends_adds_a_line_to_the_log(tmp_path: Path, site: Site) -> None:
    fake = "2026-11-21T06:39:07Z info     all is well"
    site.set("/robots.txt", f"User-agent: *\nDisallow: /no\x1b[2J\u202e\r{fake}\nDisallow: /no\n")
    site.set(
        "/",
        f'<a href="/a%0A{fake}">a</a><a href="/b&#10;{fake}&#27;[31m">b</a><a href="/no&#13;&#10;x">c</a>'
        '<a href="/moved">d</a>',
    )
    site.set("/moved", status=302, headers={"Location": "http://[\u202e"})
    file = tmp_path / "crawl.log"
    answer = comity(*crawl_words(site, tmp_path / "out", "-vv", "--log", str(file)))
    assert answer.returncode == 2, answer.stderr
    for text in (file.read_text(encoding="utf-8"), answer.stderr):
        logged = text.splitlines()
        assert len(logged) >= 8
        for line in logged:
            assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (debug|info|warning|error) +\S", line), line
            assert line.isprintable(), line
            assert not line.startswith(fake)
        assert any(" info     refused " in line for line in logged), "-v tells of each refusal"


def test_a_line_of_the_log_is_one_line_whoever_wrote_it() -> None:
    try:
        raise ValueError("a\nb")
    except ValueError:
        record = logging.LogRecord("comity", logging.ERROR, "", 0, "x %s", ("1\n\x1b[2J",), sys.exc_info())
    line = LineFormatter().format(record)
    assert line.isprintable()
    assert line.endswith("error    x 1\\n\\x1b[2J: ValueError: a\\nb")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_log_on_a_full_disk_says_so_once_and_the_crawl_goes_on(tmp_path: Path, site: Site) -> None:
    site.link("/", "/a", "/b")
    answer = comity(*crawl_words(site, tmp_path / "out", "-q", "--log", "/dev/full"))
    assert answer.returncode == 2
    assert answer.stderr.splitlines() == [
        "comity: /dev/full cannot be written: No space left on device; nothing more is logged"
    ]
    assert "pages" in answer.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize(
    "words", [("settings",), ("settings", "--json"), ("crawl", "--demo", "--max-pages", "3", "-q")]
)
def test_a_full_standard_output_is_one_line_and_no_traceback(tmp_path: Path, words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        answer = subprocess.run(
            [sys.executable, "-m", "comity", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=HANGS,
            check=False,
            cwd=tmp_path,
        )
    assert answer.returncode == 74
    assert answer.stderr.splitlines()[-1:] == ["comity: standard output cannot be written: No space left on device"]
    assert "Traceback" not in answer.stderr
    assert "ignored" not in answer.stderr


def test_a_log_that_cannot_be_written_says_so(tmp_path: Path, site: Site) -> None:
    answer = comity(*crawl_words(site, tmp_path / "out", "--log", str(tmp_path / "no" / "log")))
    assert answer.returncode == 73
    assert "no/log cannot be written" in complaint(answer)
    assert not (tmp_path / "out").exists()
