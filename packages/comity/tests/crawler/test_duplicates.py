"""Pages that repeat others are marked: by canonical URL, by content, nearly; the same in one run as in many."""

import asyncio
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from killing import finished, killed
from sites import Site

from comity import Crawler, CrawlSettings, Policy
from comity.crawler.finding import duplicates
from comity.crawler.finding.duplicates import MAX_DISTANCE_BITS, Duplicate, Duplicates, NearTable
from comity.crawler.output.lines import JsonLines
from comity.frontier.state_overlay import StateOverlay

QUICK = Policy(min_interval=0, allow_addresses=("127.0.0.0/8",))
HOST = "http://a.example"
WORDS = [f"word{number}" for number in range(2_000)]


def crawl(folder: Path, *seeds: str, **settings: Any) -> Crawler:
    crawler = Crawler(seeds, folder, policy=QUICK, settings={"sitemaps": False, "concurrency": 1} | settings)
    asyncio.run(crawler.run())
    return crawler


def pages(folder: Path, site: Site) -> dict[str, dict[str, Any]]:
    lines = (folder / "pages.jsonl").read_text(encoding="utf-8").splitlines()
    return {page["url"].removeprefix(site.url("")): page for page in map(json.loads, lines)}


def text(seed: int, size: int = 400) -> list[str]:
    return random.Random(seed).choices(WORDS, k=size)


def test_the_same_octets_again_are_a_duplicate_of_the_first() -> None:
    kept = Duplicates(StateOverlay())
    assert kept.keep(f"{HOST}/1", b"body") is None
    assert kept.keep(f"{HOST}/2", b"body") == Duplicate("content", f"{HOST}/1")
    assert kept.keep(f"{HOST}/3", b"body") == Duplicate("content", f"{HOST}/1")
    assert kept.keep(f"{HOST}/4", b"other") is None
    assert kept.keep(f"{HOST}/5", b"") is None
    assert kept.keep(f"{HOST}/6", b"") is None, "empty pages say nothing"
    assert kept.keep(f"{HOST}/1", b"body") is None, "a page is no duplicate of itself"


def test_a_canonical_page_counts_only_once_it_is_kept() -> None:
    kept = Duplicates(StateOverlay())
    assert kept.keep(f"{HOST}/1?x", b"1", canonical=f"{HOST}/1") is None
    assert kept.keep(f"{HOST}/1", b"2", canonical=f"{HOST}/1") is None
    assert kept.keep(f"{HOST}/1?y", b"3", canonical=f"{HOST}/1") == Duplicate("canonical", f"{HOST}/1")


def test_a_text_that_differs_in_a_few_words_is_near() -> None:
    kept = Duplicates(StateOverlay(), near=True)
    words = text(1, 3_000)
    changed = [*words[:200], "other", *words[201:]]
    assert kept.keep(f"{HOST}/1", b"1", fingerprint=duplicates.simhash(" ".join(words))) is None
    assert kept.keep(f"{HOST}/2", b"2", fingerprint=duplicates.simhash(" ".join(changed))) == Duplicate(
        "near", f"{HOST}/1"
    )
    assert kept.keep(f"{HOST}/3", b"3", fingerprint=duplicates.simhash(" ".join(text(2)))) is None
    assert kept.keep(f"{HOST}/4", b"4", fingerprint=duplicates.simhash("too short to tell")) is None
    assert kept.keep(f"{HOST}/5", b"5", fingerprint=duplicates.simhash("too short to tell")) is None


def test_texts_without_spaces_have_words_too() -> None:
    sentence = "".join(chr(0x4E00 + number * 7) for number in range(200))
    one, two = duplicates.simhash(sentence), duplicates.simhash(sentence[:100] + "字" + sentence[101:])
    assert one is not None
    assert two is not None
    assert (one ^ two).bit_count() <= 12


def test_few_unrelated_texts_are_near_and_most_small_changes_are() -> None:
    prints = [duplicates.simhash(" ".join(text(seed))) for seed in range(400)]
    table = NearTable()
    for fingerprint in prints:
        assert fingerprint is not None
        assert table.find(fingerprint) is None
        table.add(fingerprint)
    found = 0
    for seed in range(400):
        words = text(seed)
        words[seed % 400] = "changed"
        fingerprint = duplicates.simhash(" ".join(words))
        assert fingerprint is not None
        found += table.find(fingerprint) == prints[seed]
    assert found > 300


@given(st.lists(st.integers(0, 2**64 - 1), max_size=20), st.integers(0, 2**64 - 1), st.sets(st.integers(0, 63)))
def test_the_table_finds_exactly_what_is_near(held: list[int], asked: int, flipped: set[int]) -> None:
    near = asked
    for bit in sorted(flipped)[: MAX_DISTANCE_BITS + 1]:
        near ^= 1 << bit
    table = NearTable([*held, near])
    distances = [(asked ^ other).bit_count() for other in (*held, near)]
    found = table.find(asked)
    assert (found is not None) == (min(distances) <= MAX_DISTANCE_BITS)
    if found is not None:
        assert (asked ^ found).bit_count() == min(distances)


@given(st.text(max_size=300), st.text(max_size=300))
def test_whatever_a_page_holds_its_fingerprint_is_the_same_each_time(one: str, two: str) -> None:
    octets = f"<p>{one}<script>{two}".encode("utf-8", "replace")
    words = duplicates.text_of(octets)
    assert duplicates.simhash(words) == duplicates.simhash(words)
    assert duplicates.simhash(one + two) == duplicates.simhash(one + two)


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=70))
def test_the_majority_of_each_bit_is_counted_exactly(numbers: list[int]) -> None:
    counts = [sum(number >> bit & 1 for number in numbers) for bit in range(64)]
    expected = sum(1 << bit for bit, count in enumerate(counts) if 2 * count > len(numbers))
    assert duplicates._majority(numbers) == expected


PAGES = st.tuples(st.integers(0, 12), st.integers(0, 4), st.none() | st.integers(0, 12), st.integers(0, 3))


@examples(60)
@given(st.lists(PAGES, max_size=25, unique_by=lambda page: page[0]), st.sets(st.integers(0, 25)), st.integers(1, 3))
def test_a_crawl_in_pieces_marks_what_a_crawl_in_one_does(
    found: list[tuple[int, int, int | None, int]], breaks: set[int], chunk: int
) -> None:
    """The run ends at each break, and only what was committed is known in the next one."""

    def marks(stop_at: set[int]) -> list[Duplicate | None]:
        facts: dict[str, Any] = {}
        unsaved = StateOverlay(facts.get)
        kept = Duplicates(unsaved, near=True)
        marked = []
        for number, (url, body, canonical, words) in enumerate(found):
            if number in stop_at:
                kept.keep(f"{HOST}/lost", b"lost", fingerprint=duplicates.simhash(" ".join(text(99))))  # not committed
                unsaved = StateOverlay(facts.get)
                kept = Duplicates(unsaved, near=True)
            marked.append(
                kept.keep(
                    f"{HOST}/{url}",
                    b"%d" % body,
                    canonical=None if canonical is None else f"{HOST}/{canonical}",
                    fingerprint=duplicates.simhash(" ".join(text(words, 60))),
                )
            )
            facts |= json.loads(json.dumps(unsaved.take()))
        return marked

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicates, "CHUNK", chunk)
        assert marks(breaks) == marks(set())


def test_memory_and_time_are_bounded_where_all_fingerprints_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "MAX_FINGERPRINTS", 5_000)
    table = NearTable(number << 40 for number in range(6_000))
    assert len(table) == 5_000
    assert max(map(len, table._blocks.values())) == duplicates.MAX_FINGERPRINTS_PER_BLOCK


def test_a_canonical_url_is_recorded_and_crawled(site: Site, tmp_path: Path) -> None:
    site.link("/", "/a?view=print", "/b?x", "/b")
    site.set("/a?view=print", '<link rel=canonical href="/a">print')
    site.set("/a", '<link rel=canonical href="/a">a')
    site.set("/b", "b")
    site.set("/b?x", '<link rel=canonical href="/b">bx')
    crawler = crawl(tmp_path, site.url("/"))
    found = pages(tmp_path, site)
    assert set(found) == {"/", "/a?view=print", "/a", "/b", "/b?x"}
    assert found["/a?view=print"]["canonical"] == site.url("/a")
    assert found["/a?view=print"]["duplicate"] is None, "what it repeats had not been kept yet"
    assert found["/b?x"]["duplicate_of"] is None
    assert crawler.stats.duplicates == 0
    crawl(tmp_path, site.url("/late"))
    site.set("/late2", '<link rel=canonical href="/a">late')
    crawler = crawl(tmp_path, site.url("/late2"))
    late = pages(tmp_path, site)["/late2"]
    assert (late["duplicate"], late["duplicate_of"]) == ("canonical", site.url("/a"))
    assert crawler.stats.duplicates == 1


def test_duplicates_are_marked_across_a_resume_and_kept(site: Site, tmp_path: Path) -> None:
    body = "<p>" + " ".join(text(5))
    site.link("/", "/1", "/2", "/3")
    site.set("/1", body)
    site.set("/2", body)
    site.set("/3", body.replace(" ", "\n", 1) + " more")
    crawl(tmp_path, site.url("/"), duplicates="near", max_pages=2)
    crawl(tmp_path, max_pages=None)
    found = pages(tmp_path, site)
    assert [found[path]["duplicate"] for path in ("/", "/1", "/2", "/3")] == [None, None, "content", "near"]
    assert found["/3"]["duplicate_of"] == site.url("/1")
    assert crawl(tmp_path / "off", site.url("/"), duplicates="off").stats.duplicates == 0


@pytest.mark.long
def test_a_killed_crawl_marks_and_counts_as_if_it_had_not_been_killed(site: Site, tmp_path: Path) -> None:
    count, contents = 160, 40

    async def page(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(0.01)
        number = int(request.path[1:])
        links = "".join(f'<a href="/{target}">x</a>' for target in range(count)) if number == 0 else ""
        return web.Response(text=f"<title>{number % contents}</title>{links}", content_type="text/html")

    for number in range(count):
        site.set(f"/{number}", page)
    folder = tmp_path / "out"
    command = [sys.executable, "-m", "comity", "crawl", "-o", str(folder), "--delay", "0", "--concurrency", "4"]
    command += ["--allow-address", "127.0.0.0/8", "--max-pages-per-host", "150"]
    kills = killed(command, site, begin=[site.url("/0")], times=5, after=lambda: 25)
    finished(command)
    assert kills >= 3
    found = pages(folder, site)
    lines = (folder / "pages.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(found) == 150, "the limit is exact over all runs"
    originals: dict[str, str] = {}
    for line in map(json.loads, lines):  # in the order kept
        first = originals.setdefault(line["sha256"], line["url"])
        assert line["duplicate_of"] == (None if first == line["url"] else first)
    assert len(originals) <= contents + 1


def test_a_slow_disk_lets_no_duplicate_slip_through(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("comity.crawler.run.commits.MAX_COMMIT_URLS", 2)

    class Slow(JsonLines):
        def flush(self, *, final: bool) -> dict[str, int]:
            time.sleep(0.1)
            return super().flush(final=final)

    async def page(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(0.02)
        return web.Response(text="<title>the same</title>", content_type="text/html")

    site.link("/", *(f"/{number}" for number in range(30)))
    for number in range(30):
        site.set(f"/{number}", page)
    policy = Policy(min_interval=0, allow_addresses=("127.0.0.0/8",))
    settings = CrawlSettings(concurrency=1, sitemaps=False)
    asyncio.run(Crawler([site.url("/")], tmp_path, policy=policy, settings=settings, plugins={"sink": Slow()}).run())
    found = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text("utf-8").splitlines()]
    assert len(found) == 31
    assert sum(page["duplicate"] == "content" for page in found) == 29
