"""A crawl goes on: with the limits, the scope and the policy it was begun with, but for what is given anew."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from clocks import FakeClock
from commands import ALLOW, comity, complaint
from examples import first_of
from growth import grows_in_proportion
from sites import Site

import comity as package
from comity import Crawler, CrawlSettings, InvalidSetting, Policy
from comity.audit.prove import prove
from comity.crawler.run.commits import Committer
from comity.crawler.run.waits import Waits
from comity.crawler.storage import orders
from comity.crawler.storage.folder import FolderStorage, WaitJournalFile
from comity.net import ClientSettings, Session

LOCAL = ("127.0.0.0/8",)
QUICK = Policy(min_interval=0, allow_addresses=LOCAL)


def crawl(
    folder: Path,
    *seeds: str,
    policy: Policy = QUICK,
    clock: FakeClock | None = None,
    refresh: bool = False,
    **settings: Any,
) -> Crawler:
    crawler = Crawler(
        seeds,
        FolderStorage(folder, clock=clock),
        policy=policy,
        settings={"sitemaps": False, **settings},
        refresh=refresh,
    )
    asyncio.run(crawler.run())
    return crawler


def paths(folder: Path, site: Site, channel: str = "pages") -> list[str]:
    lines = (folder / f"{channel}.jsonl").read_text(encoding="utf-8").splitlines()
    return sorted(json.loads(line)["url"].removeprefix(site.url("")) for line in lines)


def two_areas(site: Site) -> None:
    """A site with three private, three public and three old pages."""
    names = [f"/{area}/{number}" for area in ("private", "public", "old") for number in range(3)]
    site.link("/", *names)
    for name in names:
        site.link(name, "/")


def test_an_exclusion_of_the_beginning_holds_whatever_is_said_when_the_crawl_goes_on(
    site: Site, tmp_path: Path
) -> None:
    two_areas(site)
    crawl(tmp_path, site.url("/"), exclude=("/private/",), max_pages=1)
    crawl(tmp_path, exclude=("/old/",), max_pages=2)
    went_on = crawl(tmp_path, include=("/p",), max_pages=None)
    assert paths(tmp_path, site) == ["/", "/public/0", "/public/1", "/public/2"]
    assert went_on.settings.exclude == ("/private/", "/old/")
    assert not [path for path in site.paths() if path.startswith(("/private", "/old"))]
    assert went_on.end.left == 0, "what stands aside is no longer left by a limit"
    assert went_on.stats.outside == 6


def test_what_a_wider_scope_covers_again_comes_back_into_the_queue(site: Site, tmp_path: Path) -> None:
    two_areas(site)
    crawl(tmp_path, site.url("/"), max_pages=1)
    narrow = crawl(tmp_path, exclude=("/private/", "/old/"), max_pages=None)
    assert paths(tmp_path, site) == ["/", "/public/0", "/public/1", "/public/2"]
    assert narrow.stats.outside == 6
    wide = crawl(tmp_path, exclude=())
    assert len(paths(tmp_path, site)) == 10
    assert wide.stats.outside == 0
    assert prove(tmp_path).findings == []


def test_breadth_and_depth_are_those_of_the_beginning_until_others_are_given(site: Site, tmp_path: Path) -> None:
    for depth in range(6):
        site.link(f"/{depth}", f"/{depth + 1}", f"/x{depth}")
        site.link(f"/x{depth}")
    crawl(tmp_path, site.url("/0"), scope="domain", max_depth=2, max_pages=1)
    went_on = crawl(tmp_path, exclude=("/x",), max_pages=None)
    assert (went_on.settings.scope, went_on.settings.max_depth) == ("domain", 2)
    assert paths(tmp_path, site) == ["/0", "/1", "/2"]


def test_a_depth_that_is_given_judges_what_waits(site: Site, tmp_path: Path) -> None:
    site.link("/", "/a")
    site.link("/a", *(f"/b{number}" for number in range(5)))
    for number in range(5):
        site.link(f"/b{number}")
    crawl(tmp_path, site.url("/"), max_pages=2)
    assert crawl(tmp_path, max_depth=1, max_pages=None).stats.outside == 5
    assert paths(tmp_path, site) == ["/", "/a"]
    crawl(tmp_path, max_depth=None)
    assert len(paths(tmp_path, site)) == 7


def test_limits_are_remembered_and_changed_only_when_given(site: Site, tmp_path: Path) -> None:
    site.link("/", *(f"/{number}" for number in range(9)))
    for number in range(9):
        site.link(f"/{number}")
    crawl(tmp_path, site.url("/"), max_pages=3)
    assert crawl(tmp_path).stats.pages == 3
    assert crawl(tmp_path, max_depth=3).stats.pages == 3

    async def without_a_word() -> int:
        return len([page async for page in package.crawl(folder=tmp_path, policy=QUICK)])

    assert asyncio.run(without_a_word()) == 0
    as_object = Crawler((), tmp_path, policy=QUICK, settings=CrawlSettings(max_pages=5))
    assert (as_object.settings.max_pages, as_object.settings.max_depth) == (5, 3)
    assert crawl(tmp_path, max_pages=None).stats.pages == 10


def test_limits_hold_for_a_refresh_and_what_a_machine_can_bear_for_one_run(site: Site, tmp_path: Path) -> None:
    site.link("/")
    crawl(tmp_path, site.url("/"), max_pages=3, concurrency=2, trust_lastmod=False)
    refreshed = crawl(tmp_path, refresh=True).settings
    assert (refreshed.max_pages, refreshed.concurrency, refreshed.trust_lastmod) == (3, 16, True)


def test_a_setting_that_there_is_not_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="max_page: not a setting of a crawl"):
        Crawler(["http://a.example/"], tmp_path, settings={"max_page": 3})
    with pytest.raises(InvalidSetting, match="max_pages: 0 is not a whole number of at least 1"):
        package.crawl("http://a.example/", settings={"max_pages": 0})
    with pytest.raises(InvalidSetting, match=r"agent: not a setting of a crawl.*policy=comity\.Policy\(agent="):
        package.crawl("http://a.example/", settings={"agent": "A/1.0"})


@pytest.mark.parametrize(
    ("field", "where"),
    [
        ("agent", r"write policy=comity\.Policy\(agent=\.\.\.\)"),
        ("concurrency", r"write settings=comity\.CrawlSettings\(concurrency=\.\.\.\)"),
        ("timeout", r"write client_settings=comity\.ClientSettings\(timeout=\.\.\.\)"),
        ("timeuot", "nor is it one of CrawlSettings or Policy or ClientSettings"),
        ("sink", r"write Crawler\(\.\.\., plugins={'sink': \.\.\.}\)"),
        ("on_page", r"write Crawler\(\.\.\.\)\.run\(on_page=\.\.\.\)"),
    ],
)
def test_a_field_in_a_wrong_place_is_named_with_its_place(field: str, where: str, tmp_path: Path) -> None:
    for call in (package.crawl, Crawler):
        with pytest.raises(TypeError, match=f"^{field} is no argument of a crawl: {where}$"):
            call("http://a.example/", folder=tmp_path, **{field: 1})  # type: ignore[operator]


def test_a_field_of_a_policy_given_to_a_page_crawler_is_named_with_its_place() -> None:
    with pytest.raises(TypeError, match=r"^agent is no argument of PageCrawler: write policy=comity\.Policy\(agent="):
        asyncio.run(package.crawl_pages([], agent="A/1.0"))  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^max_pages is no argument of crawl_page, which fetches one page"):
        asyncio.run(package.crawl_page("http://a.example/", max_pages=1))  # type: ignore[call-arg]


def test_the_command_remembers_limits_and_shows_them(site: Site, tmp_path: Path) -> None:
    two_areas(site)
    words = ["crawl", "-o", str(tmp_path / "out"), "--delay", "0", "--allow-address", "127.0.0.0/8"]
    begun = comity(*words, site.url("/"), "--max-pages", "2", "--exclude", "/private/", "--json")
    assert json.loads(begun.stdout)["limits"] == {"max_pages": 2, "exclude": ["/private/"]}
    resumed = comity(*words, "--resume", "--json")
    assert json.loads(resumed.stdout)["pages"] == 2
    assert "comity: keeping the earlier options: --max-pages 2 --exclude /private/" in resumed.stderr
    more = comity(*words, "--resume", "--max-pages", "none", "--exclude", "/old/", "--json")
    assert more.returncode == 0, more.stderr
    assert "keeping the earlier options: --exclude /private/\n" in more.stderr
    assert paths(tmp_path / "out", site) == ["/", "/public/0", "/public/1", "/public/2"]
    lifted = comity(*words, "--resume", "--exclude", "none", "--json")
    assert json.loads(lifted.stdout)["pages"] == 7, "what waited; what was left out when it was found is not known"
    assert complaint(comity(*words, "--resume", "--max-pages", "many")).endswith("(try: comity crawl --help)")


def test_an_address_that_was_forgotten_is_no_outage_of_the_site(site: Site, tmp_path: Path, clock: FakeClock) -> None:
    site.link("/", "/a")
    site.link("/a")
    forgot = Policy(min_interval=0)
    first = crawl(tmp_path, site.url("/"), policy=forgot, clock=clock)
    assert (first.stats.refused, first.stats.postponed, site.paths()) == (1, 0, [])
    same = crawl(tmp_path, policy=forgot.with_changes(min_interval=0.5), clock=clock)
    assert (same.stats.refused, same.stats.postponed) == (1, 0), "the pace decides nothing"
    allowed = crawl(tmp_path, policy=QUICK, clock=clock)
    assert (allowed.stats.pages, allowed.stats.postponed, allowed.stats.refused) == (2, 0, 0)
    assert prove(tmp_path).findings == []


def test_the_command_asks_at_once_when_an_address_is_allowed_that_was_not(site: Site, tmp_path: Path) -> None:
    with Site("127.0.0.2") as elsewhere:
        site.link("/")
        elsewhere.link("/")
        words = ["crawl", "-o", str(tmp_path / "out"), "--delay", "0"]
        refused = comity(*words, site.url("/"), elsewhere.url("/"), "--allow-address", "127.0.0.2/32")
        assert refused.returncode == 0
        assert comity(*words, "--resume", "--allow-address", "127.0.0.0/8").returncode == 0
        records = (tmp_path / "out" / "pages.jsonl").read_text(encoding="utf-8").splitlines()
        assert {json.loads(record)["url"] for record in records} == {site.url("/"), elsewhere.url("/")}


def test_what_the_policy_refused_is_judged_anew_when_it_changes(site: Site, tmp_path: Path, clock: FakeClock) -> None:
    site.set("/robots.txt", "User-agent: *\nCrawl-delay: 30\nDisallow: /no\n")
    site.link("/", "/a", "/no")
    site.link("/a")
    hurried = QUICK.with_changes(max_crawl_delay=10)
    first = crawl(tmp_path, site.url("/"), site.url("/b"), policy=hurried, clock=clock)
    assert (first.stats.refused, first.stats.pages) == (2, 0)
    assert crawl(tmp_path, policy=hurried, clock=clock).stats.refused == 2
    patient = crawl(tmp_path, policy=hurried.with_changes(max_crawl_delay=60), clock=clock)
    assert (patient.stats.pages, patient.stats.refused, patient.stats.failed) == (2, 1, 1)
    assert set(site.paths()) == {"/robots.txt", "/", "/a", "/b"}
    assert prove(tmp_path).findings == []


def test_a_page_that_the_address_guard_refused_is_no_failure_once_it_is_let_through(
    site: Site, tmp_path: Path, clock: FakeClock
) -> None:
    site.link("/")
    blind = Policy(mode="ignore", min_interval=0)
    assert crawl(tmp_path, site.url("/"), policy=blind, clock=clock).stats.failed == 1
    let = crawl(tmp_path, policy=blind.with_changes(allow_addresses=LOCAL), clock=clock)
    assert (let.stats.pages, let.stats.failed) == (1, 0)
    assert prove(tmp_path).findings == []


class Asked:
    """Notes when a site is asked, on the crawl's own clock, and answers."""

    def __init__(self, clock: FakeClock, *answers: web.Response) -> None:
        self.times: list[float] = []
        self._clock = clock
        self._answers = [*answers]

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        self.times.append(self._clock.now)
        return self._answers.pop(0) if self._answers else web.Response(text="<p>", content_type="text/html")


def crashed(folder: Path, url: str, policy: Policy, clock: FakeClock, *, when: Callable[[], bool]) -> None:
    """A crawl that is cut off before its first commit after `when`."""

    async def crash() -> None:
        crawler = Crawler([url], FolderStorage(folder, clock=clock), policy=policy, settings={"sitemaps": False})
        running = asyncio.ensure_future(crawler.run())
        while not when():
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.01)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(crash())


class Still(FakeClock):
    """A clock on which time passes only where a test says so: no commit's turn comes."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.Event().wait()


@pytest.mark.parametrize("status", [429, 503])
def test_a_wait_that_a_site_asked_for_outlives_a_crash_in_the_next_instant(
    site: Site, tmp_path: Path, status: int
) -> None:
    clock = Still()
    asked = Asked(clock, web.Response(status=status, headers={"Retry-After": "20"}))
    site.set("/", asked)
    crashed(tmp_path, site.url("/"), QUICK, clock, when=lambda: bool(asked.times))
    later = FakeClock(clock.now + 1)
    asked._clock = later
    assert crawl(tmp_path, clock=later).stats.pages == 1
    first, second = asked.times
    assert second - first >= 20


@pytest.mark.parametrize("crashes", [True, False])
def test_an_order_that_is_lifted_between_two_runs_takes_no_wait_away_that_a_site_asked_for(
    site: Site, tmp_path: Path, crashes: bool
) -> None:
    clock = Still() if crashes else FakeClock()
    asked = Asked(clock, web.Response(status=503, headers={"Retry-After": "60"}))
    site.set("/", asked)
    if crashes:
        crashed(tmp_path, site.url("/"), QUICK, clock, when=lambda: bool(asked.times))
    else:
        assert crawl(tmp_path, site.url("/"), clock=clock, longest_wait=10).end.left == 1
    orders.give(tmp_path, "127.0.0.1", "slow", 5)
    orders.give(tmp_path, "127.0.0.1", "go")
    asked._clock = FakeClock(clock.now + 1)
    assert crawl(tmp_path, clock=asked._clock, longest_wait=None).stats.pages == 1
    first, second = asked.times
    assert second - first >= 60


def test_an_order_that_is_lifted_between_two_runs_holds_nobody_back_in_the_second(
    site: Site, tmp_path: Path, clock: FakeClock
) -> None:
    asked = Asked(clock)
    site.set("/", asked)
    orders.give(tmp_path, "127.0.0.1", "slow", 3000)
    assert crawl(tmp_path, site.url("/"), clock=clock, longest_wait=10).end.left == 1, "its robots.txt was asked for"
    orders.give(tmp_path, "127.0.0.1", "go")
    before = clock.now
    assert crawl(tmp_path, clock=clock).stats.pages == 1
    assert asked.times[0] < before + 3000 - 1


def test_an_interval_learnt_just_now_outlives_a_crash(site: Site, tmp_path: Path) -> None:
    clock = Still()
    rules = Asked(clock, *(web.Response(text="User-agent: *\nCrawl-delay: 30\n") for _ in range(2)))
    site.set("/robots.txt", rules)
    site.link("/")
    crashed(tmp_path, site.url("/"), QUICK, clock, when=lambda: bool(rules.times))
    later = FakeClock(clock.now + 1)
    rules._clock = later
    assert crawl(tmp_path, clock=later).stats.pages == 1
    first, second = rules.times
    assert second - first >= 30


@pytest.mark.parametrize("between", first_of("a crash", "nothing", "a stop"))
def test_a_wait_outlives_a_crash_though_the_runs_after_it_are_to_leave_less_between_requests(
    site: Site, tmp_path: Path, between: str
) -> None:
    """It was not longer than the interval of the run that heard it, so nothing but that interval was written down."""
    clock = Still()
    asked = Asked(clock, web.Response(status=429, headers={"Retry-After": "40"}))
    site.set("/", asked)
    slow = QUICK.with_changes(min_interval=60, robots_fetch_counts=False)
    crashed(tmp_path, site.url("/"), slow, clock, when=lambda: bool(asked.times))
    if between != "nothing":
        asyncio.run(_begun(tmp_path, Still(clock.now + 1), stops=between == "a stop"))
    asked._clock = FakeClock(clock.now + 2)
    assert crawl(tmp_path, clock=asked._clock).stats.pages == 1
    first, second = asked.times
    assert second - first >= 40
    assert prove(tmp_path).holds


async def _begun(folder: Path, clock: FakeClock, *, stops: bool) -> None:
    """A run that has begun, and was stopped or cut off before its first request."""
    begun = asyncio.Event()
    crawler = Crawler([], FolderStorage(folder, clock=clock), policy=QUICK)
    running = asyncio.ensure_future(crawler.run(on_begin=lambda: crawler.stop() if stops else begun.set()))
    if not stops:
        await begun.wait()
        running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def test_what_the_operator_ordered_is_kept_to_after_a_crash_with_a_request_under_way(
    site: Site, tmp_path: Path
) -> None:
    clock = Still()
    rules = Asked(clock)
    site.set("/robots.txt", rules)
    site.link("/")
    orders.give(tmp_path, "127.0.0.1", "slow", 100)
    crashed(tmp_path, site.url("/"), QUICK, clock, when=lambda: bool(rules.times))
    (tmp_path / "frontier.waits").write_bytes(b"")  # as if it had been cut off before the answer
    rules._clock = FakeClock(clock.now + 1)
    assert crawl(tmp_path, clock=rules._clock).stats.pages == 1
    first, second = rules.times
    assert second - first >= 100


def test_what_was_heard_is_written_once_and_gone_when_it_is_committed(
    site: Site, tmp_path: Path, clock: FakeClock
) -> None:
    asked = Asked(clock, web.Response(status=503, headers={"Retry-After": "20"}))
    site.set("/", asked)
    crawl(tmp_path, site.url("/"), clock=clock)
    journal = tmp_path / "frontier.waits"
    assert journal.read_bytes() == b""
    host = site.url("/").split("/")[2].partition(":")[0]
    journal.write_text(f'["{host}", {clock.wall() + 50}, 50.0, 0.0, 50.0]\n["{host}", 17', encoding="ascii")
    site.set("/again", asked)
    begun = clock.now
    assert crawl(tmp_path, site.url("/again"), clock=clock).stats.pages == 2
    assert asked.times[-1] - begun >= 50, "and a line that was cut short does no harm"


def test_an_interval_that_commits_know_no_more_is_written_down_when_it_is_met_again(
    tmp_path: Path, clock: FakeClock
) -> None:
    """A host that was long not asked is forgotten, and then no commit has its interval."""
    session, journal = Session(QUICK, ClientSettings(), clock=clock), WaitJournalFile(tmp_path / "waits")
    throttles = session.driver.gate.throttles

    def asked(waits: Waits, host: str = "a.test") -> None:
        throttle = throttles.of(host)
        throttle.interval = 30
        throttle.started(clock.now)
        throttle.answered(clock.now)
        waits.after_request(host)

    def forgotten() -> None:
        clock.now += 3600
        throttles.sweep(clock.now)

    committed: dict[str, Any] = {}
    with closing(journal):
        waits = Waits(journal, session, clock, lambda _, default: default)
        asked(waits)
        assert len(journal.lines()) == 1
        committed |= waits.save_state()
        waits.committed()
        asked(waits)
        assert journal.lines() == [], "the commit has it"
        forgotten()
        committed |= waits.save_state()
        asked(waits)  # while that commit is under way
        waits.committed()
        for number in range(100):
            asked(waits, f"{number}.test")
        assert len(journal.lines()) == 101
        forgotten()
        after = waits.save_state()
        waits.committed()
        assert after["intervals"] == waits._remembered == waits._written_down == {}, "nothing grows with all hosts met"
        asked(waits)
        assert len(journal.lines()) == 1
        committed |= after
    clock.now += 1
    later = Session(QUICK, ClientSettings(), clock=clock)
    with closing(WaitJournalFile(tmp_path / "waits")) as journal:
        Waits(journal, later, clock, lambda name, default: committed.get(name, default))
        assert later.driver.ready_at("a.test") >= clock.now + 29


_OPENS = """
import runpy, sqlite3, sys
real = sqlite3.connect
def connect(path, *words, **more):
    if "frontier." in str(path):
        print("opened", path, file=sys.stderr)
    return real(path, *words, **more)
sqlite3.connect = connect
runpy.run_module("comity", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize(("words", "most"), [(("crawl", "--resume", "-q", "--max-pages", "none"), 4), (("why",), 2)])
def test_what_lies_in_a_folder_is_opened_once(site: Site, tmp_path: Path, words: tuple[str, ...], most: int) -> None:
    site.link("/", "/1", "/2")
    for path in ("/1", "/2"):
        site.link(path)
    asyncio.run(Crawler(site.url("/"), tmp_path, policy=QUICK, settings=CrawlSettings(max_pages=2)).run())
    command, *options = words
    where = ["-o", str(tmp_path), "--delay", "0", *ALLOW] if command == "crawl" else [str(tmp_path), site.url("/")]
    done = subprocess.run(
        [sys.executable, "-c", _OPENS, command, *options, *where], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    opened = [line for line in done.stderr.splitlines() if line.startswith("opened ")]
    assert 0 < len(opened) <= most, opened


def test_a_program_that_fails_when_the_crawl_begins_ends_it_and_nothing_of_it_stays_under_way(
    site: Site, tmp_path: Path
) -> None:
    def fail() -> None:
        raise RuntimeError("the program's own")

    async def use() -> None:
        with pytest.raises(RuntimeError, match="the program's own"):
            await Crawler(site.url("/"), tmp_path, policy=QUICK).run(on_begin=fail)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(use())
    assert site.paths() == []


def test_a_crawl_that_was_killed_before_its_first_commit_keeps_its_scope(site: Site, tmp_path: Path) -> None:
    two_areas(site)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Committer, "commit", killed)
        with pytest.raises(KeyboardInterrupt):
            crawl(tmp_path, site.url("/"))
    assert site.seen == []
    crawl(tmp_path)
    assert len(paths(tmp_path, site)) == 10
    assert prove(tmp_path).findings == []


def test_a_scope_that_becomes_another_lies_around_all_seeds(site: Site, tmp_path: Path) -> None:
    for area in ("a", "b"):
        site.link(f"/{area}/", f"/{area}/1", "/c/")
        site.link(f"/{area}/1", f"/{area}/2")
        site.link(f"/{area}/2")
    crawl(tmp_path, site.url("/a/"), site.url("/b/"), scope="host", max_pages=2)
    crawl(tmp_path, scope="prefix", max_pages=None)
    assert paths(tmp_path, site) == sorted(f"/{area}/{page}" for area in ("a", "b") for page in ("", "1", "2"))


@pytest.mark.long
def test_seeds_that_are_given_again_are_looked_up_in_linear_time(site: Site, tmp_path: Path) -> None:
    """10,000 took 4 s and 40,000 took 31 s, in which nothing else was done and no signal was obeyed."""
    folders = iter(range(100))

    def prepared(size: int) -> Callable[[], object]:
        seeds, folder = [site.url(f"/{number}") for number in range(size)], tmp_path / str(next(folders))
        one = CrawlSettings(max_pages=1)
        asyncio.run(Crawler(seeds, folder, policy=QUICK, settings=one).run())
        return lambda: asyncio.run(Crawler(seeds, folder, policy=QUICK, settings=one).run())

    grows_in_proportion(prepared, 6_000)
