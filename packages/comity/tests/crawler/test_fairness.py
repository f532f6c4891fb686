"""No site holds up the others: long work on the event loop is cut into slices, and slow rules are asked one by one."""

import asyncio
import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from sites import HANGS, Site

from comity import ClientSettings, Crawler, CrawlSettings, Policy, parse
from comity.audit.prove import prove
from comity.crawler.run import discovery, page_reader
from comity.crawler.run.results import ResultBuffer
from comity.frontier.sqlite.store import Frontier
from comity.frontier.values import Batch
from comity.net.loop_slices import LoopSlices
from comity.policy import OriginPolicy, RobotsResult, origin_policy
from comity_robots import Robots
from comity_robots._forms import engine

QUICK = Policy(min_interval=0, allow_addresses=("127.0.0.0/8",))
SITEMAP = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</urlset>'


class Turns:
    """Counts the turns that others have on the event loop beside a crawl."""

    def __init__(self) -> None:
        self.number = 0

    async def crawl(self, folder: Path, *seeds: str, **settings: Any) -> Crawler:
        crawler = Crawler(seeds, folder, policy=QUICK, settings=CrawlSettings(**settings))
        counting = asyncio.create_task(self._count())
        try:
            await asyncio.wait_for(crawler.run(), HANGS)
        finally:
            counting.cancel()
        return crawler

    async def _count(self) -> None:
        while True:
            self.number += 1
            await asyncio.sleep(0)


def records(folder: Path, channel: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"{channel}.jsonl").read_text(encoding="utf-8").splitlines()]


def found_at(turns: Turns, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """In which turn of the loop each URL was found, from now on. A slice takes no time at all."""
    at: list[int] = []
    found = ResultBuffer.found

    def noting(self: ResultBuffer, *args: Any, **named: Any) -> None:
        at.append(turns.number)
        found(self, *args, **named)

    monkeypatch.setattr(ResultBuffer, "found", noting)
    monkeypatch.setattr(discovery, "MAX_SLICE_SECONDS", 0.0)
    return at


@pytest.mark.parametrize("where", ["page", "sitemap", "robots.txt"])
def test_others_have_their_turn_while_many_urls_are_taken_up(
    where: str, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [f"/{number}.xml" for number in range(400)]
    site.link("/", *(paths if where == "page" else ()))
    if where == "sitemap":
        site.set("/sitemap.xml", SITEMAP.format("".join(f"<url><loc>{site.url(path)}</loc></url>" for path in paths)))
    if where == "robots.txt":
        site.set("/robots.txt", "".join(f"Sitemap: {site.url(path)}\n" for path in paths))
    turns = Turns()
    at = found_at(turns, monkeypatch)
    asyncio.run(turns.crawl(tmp_path, site.url("/"), max_depth=1, max_pages=1 if where == "page" else None))
    assert len(at) >= 400
    assert max(map(at.count, at)) <= 2 * discovery.LINKS_PER_CHECK


def test_a_commit_takes_up_what_a_long_sitemap_has_named_so_far(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [f"/{number}" for number in range(500)]
    site.link("/")
    site.set("/sitemap.xml", SITEMAP.format("".join(f"<url><loc>{site.url(path)}</loc></url>" for path in paths)))
    batches: list[int] = []
    commit = Frontier.commit

    def noting(self: Frontier, batch: Batch, *args: Any) -> Any:
        batches.append(len(batch.found))
        return commit(self, batch, *args)

    monkeypatch.setattr(Frontier, "commit", noting)
    monkeypatch.setattr(discovery, "MAX_SLICE_SECONDS", 0.0)
    monkeypatch.setattr(discovery, "MAX_FOUND_URLS", 50)
    monkeypatch.setattr("comity.crawler.run.commits.MAX_COMMIT_URLS", 50)
    crawler = asyncio.run(Turns().crawl(tmp_path, site.url("/")))
    assert sum(batches) >= 500
    assert max(batches) <= 60
    assert crawler.stats.failed == 500, "each of them was asked for"


def rules(number: int) -> str:
    return "User-agent: *\n" + "".join(f"Disallow: /*{each}*a*a*b$\n" for each in range(100, 100 + number))


def test_a_rule_set_that_takes_long_is_known_as_slow_and_asked_once_about_a_url(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers: list[str] = []
    decide = Robots.decide_with_reason

    def noting(robots: Any, url: str, agent: str) -> Any:
        answers.append(url)
        return decide(robots, url, agent)

    monkeypatch.setattr(Robots, "decide_with_reason", noting)
    result = RobotsResult.from_response(
        "http://a.example", "http://a.example/robots.txt", 200, rules(5_000).encode(), policy=QUICK, fetched_at=0.0
    )
    slow = OriginPolicy(QUICK, result)
    long, short = "http://a.example/" + "123a" * 400, "http://a.example/x"
    assert slow.is_slow(long)
    assert not slow.is_slow(short)
    allowed = parse(rules(5_000)).allowed(long, "comity")
    assert slow.allows(long) is allowed
    assert not slow.is_slow(long), "the answer is at hand"
    assert slow.decide(long).may_fetch is allowed
    assert slow.allows(long) is allowed
    assert answers == [long]


def test_others_have_their_turn_while_one_answer_takes_long(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/9{'x' * 300}"
    site.set("/robots.txt", rules(400))
    site.link("/", path)
    site.link(path)
    turns, passed = Turns(), []
    answer = OriginPolicy.answer

    def noting(self: OriginPolicy, url: str) -> Any:
        if self.is_slow(url):
            before, end = turns.number, time.monotonic() + HANGS
            while turns.number < before + 2 and time.monotonic() < end and threading.current_thread() != loops_own:
                time.sleep(0.001)
            passed.append(turns.number - before)
        return answer(self, url)

    loops_own = threading.current_thread()
    monkeypatch.setattr(origin_policy, "MIN_SLOW_STEPS", 100_000)
    monkeypatch.setattr(OriginPolicy, "answer", noting)
    asyncio.run(turns.crawl(tmp_path, site.url("/"), sitemaps=False))
    assert {record["url"] for record in records(tmp_path, "pages")} == {site.url("/"), site.url(path)}
    assert len(passed) == 1
    assert passed[0] >= 2


def test_other_threads_go_on_while_the_compiled_engine_answers_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    if engine() != "compiled":
        pytest.skip("the interpreter itself lets other threads go on")
    robots, url = parse(rules(40_000)), "http://a.example/" + "0123456789a" * 180
    robots.allowed("http://a.example/", "comity")
    ticks, during = 0, 0

    def ask() -> None:
        nonlocal during
        before = ticks
        robots.allowed(url, "comity")
        during = ticks - before

    interval = sys.getswitchinterval()
    sys.setswitchinterval(HANGS)  # from now on a thread gives way only where it says so
    try:
        for _ in range(50):
            asking = threading.Thread(target=ask)
            asking.start()
            while asking.is_alive():
                time.sleep(0.001)
                ticks += 1
            if during:
                break
    finally:
        sys.setswitchinterval(interval)
    assert during > 0


def test_urls_that_rules_take_long_to_answer_about_are_asked_about_when_they_have_their_turn(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = [f"/9{number}{'x' * 300}" for number in range(20)]
    bad = [f"/{100 + number}{'a' * 300}b" for number in range(20)]
    site.set("/robots.txt", rules(400))
    site.link("/", *good, *bad)
    for path in good:
        site.link(path)
    turns, at = Turns(), []
    answer = OriginPolicy.answer

    def noting(self: OriginPolicy, url: str) -> Any:
        if self.is_slow(url):
            at.append((turns.number, url))
        return answer(self, url)

    monkeypatch.setattr(origin_policy, "MIN_SLOW_STEPS", 100_000)
    monkeypatch.setattr(OriginPolicy, "answer", noting)
    crawler = asyncio.run(turns.crawl(tmp_path, site.url("/"), sitemaps=False))
    assert {record["url"] for record in records(tmp_path, "pages")} == {site.url(path) for path in ("/", *good)}
    assert {record["url"] for record in records(tmp_path, "refusals")} == {site.url(path) for path in bad}
    assert not set(bad) & set(site.paths())
    assert crawler.stats.refused == 20
    assert sorted(url for _, url in at) == sorted(site.url(path) for path in (*good, *bad)), "each of them once"
    assert len({turn for turn, _ in at}) == 40, "no two of them in one turn of the loop"
    assert prove(tmp_path).findings == []


def test_a_near_duplicate_is_found_by_what_a_reader_sees_of_it(site: Site, tmp_path: Path) -> None:
    words = " ".join(f"word{number}" for number in range(300))
    site.link("/", "/one", "/two", "/other")
    site.set("/one", f"<title>1</title><style>{'a ' * 500}</style><div>{words}</div>")
    site.set("/two", f"<title>2</title><script>{'b ' * 500}</script>{'<div>' * 500}{words}<p>more")
    site.set("/other", f"<title>1</title><style>{'a ' * 500}</style>" + "".join(f"<p>{n} else" for n in range(300)))
    asyncio.run(Turns().crawl(tmp_path, site.url("/"), sitemaps=False, duplicates="near", concurrency=1))
    marked = {record["url"]: record["duplicate_of"] for record in records(tmp_path, "pages") if record["duplicate"]}
    assert marked == {site.url("/two"): site.url("/one")}


def test_body_memory_is_a_whole_number_of_at_least_a_mebibyte() -> None:
    assert CrawlSettings().body_memory == 32 * 1024 * 1024
    with pytest.raises(Exception, match="body_memory"):
        CrawlSettings(body_memory=1000)
    assert ClientSettings().max_body < CrawlSettings().body_memory


def test_of_large_pages_that_came_together_one_is_read_at_each_turn_of_the_loop(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def at_once(size: int) -> list[int]:
        turns, slices, at = Turns(), LoopSlices(page_reader.LARGE_PAGE_BYTES), []
        counting = asyncio.create_task(turns._count())

        async def one() -> None:
            await slices.take(size + page_reader.SMALL_PAGE_BYTES)
            at.append(turns.number)

        await asyncio.gather(*(one() for _ in range(12)))
        counting.cancel()
        return at

    assert len(set(asyncio.run(at_once(page_reader.LARGE_PAGE_BYTES)))) == 12
    assert 1 < len(set(asyncio.run(at_once(100)))) <= 3, "of small ones a few"

    asked: list[int] = []
    take = LoopSlices.take

    async def noting(self: LoopSlices, size: int) -> None:
        if self._most == page_reader.LARGE_PAGE_BYTES:
            asked.append(size)
        await take(self, size)

    monkeypatch.setattr(LoopSlices, "take", noting)
    site.link("/", "/large")
    site.set("/large", "<p>" + "a" * page_reader.LARGE_PAGE_BYTES)
    asyncio.run(Turns().crawl(tmp_path, site.url("/")))
    assert [size > page_reader.LARGE_PAGE_BYTES for size in asked].count(True) == 1 < len(asked), (
        "the small page comes along"
    )
