"""The report of a crawl: what it says, and that it agrees with the summary and with itself."""

import asyncio
import json
import re
from dataclasses import fields
from pathlib import Path

import pytest
from clocks import FakeClock
from commands import comity, complaint
from examples import first_of
from sites import Site

from comity import ClientSettings, Crawler, CrawlSettings, Policy
from comity.audit.report import plots, write
from comity.audit.report.figures import BINS, WIDTHS, Figures, Gathering, Timeline, gather
from comity.crawler.storage.folder import FolderStorage
from comity.frontier.sqlite.database import lock

QUICK = Policy(agent="TestBot/1.0", min_interval=0.01, backoff=0.05, allow_addresses=("127.0.0.0/8",))


def crawl(folder: Path, *seeds: str, clock: FakeClock | None = None, refresh: bool = False) -> Crawler:
    settings, client = CrawlSettings(sitemaps=False, retries=1), ClientSettings(jitter=False)
    crawler = Crawler(
        seeds,
        FolderStorage(folder, clock=clock),
        policy=QUICK,
        settings=settings,
        client_settings=client,
        refresh=refresh,
    )
    asyncio.run(crawler.run())
    return crawler


def text_of(folder: Path) -> str:
    target = folder.parent / "report.html"
    write(folder, target)
    return target.read_text()


def furnish(site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /no\n")
    site.link("/", "/a", "/no", "/gone", "/fails")
    site.set("/a", "one", headers={"ETag": '"1"'})
    site.set("/fails", "x", status=500)


def test_the_report_counts_as_the_summary_does_and_says_where_it_counts_requests(tmp_path: Path, site: Site) -> None:
    furnish(site)
    stats = crawl(tmp_path / "crawl", site.url("/")).stats
    assert (stats.pages, stats.refused, stats.failed) == (2, 1, 2)
    text = text_of(tmp_path / "crawl")
    for said in (
        "<b>2</b><span>kept</span>",
        "<b>1</b><span>refused</span>",
        "<b>2</b><span>failed</span>",
        "6 to 1 host</dd>",
        "HTTP status 404: 1 URL",
        "HTTP status 500: 1 URL",
        "finished; proved: 6 requests, none disallowed, none early</h2>",
    ):
        assert said in text
    assert "unchanged" not in text


def test_requests_and_refusals_are_the_same_live_and_from_the_ledger(tmp_path: Path, site: Site) -> None:
    furnish(site)
    live = crawl(tmp_path / "crawl", site.url("/")).snapshot()
    found = gather(tmp_path / "crawl")
    assert (found.tally.requests(), found.tally.refused) == (live.requests, live.refused)
    assert tuple(found.tally.rules.items()) == live.rules
    assert (found.requests, found.refused, found.fetched) == (len(site.seen), 1, 2)


def test_without_the_files_beside_it_the_ledger_is_reported_by_itself(tmp_path: Path, site: Site) -> None:
    furnish(site)
    crawl(tmp_path / "crawl", site.url("/"))
    for name in ("frontier.sqlite", "failures.jsonl"):
        (tmp_path / "crawl" / name).unlink()
    text = text_of(tmp_path / "crawl")
    assert "<b>2</b><span>pages and sitemaps fetched</span>" in text
    assert "HTTP status 500: 2 requests" in text


@pytest.mark.parametrize("junk", first_of(b"SQLite format 3\0" + b"\xff" * 5000, b"junk" * 500, b""))
def test_damage_to_the_files_beside_the_ledger_is_survived(tmp_path: Path, site: Site, junk: bytes) -> None:
    furnish(site)
    crawl(tmp_path / "crawl", site.url("/"))
    for name in ("frontier.sqlite", "failures.jsonl"):
        (tmp_path / "crawl" / name).write_bytes(junk)
    assert "pages and sitemaps fetched" in text_of(tmp_path / "crawl")


def test_a_refresh_is_reported_by_what_changed_and_304_is_no_redirect(
    tmp_path: Path, site: Site, clock: FakeClock
) -> None:
    furnish(site)
    crawl(tmp_path / "crawl", site.url("/"), clock=clock)
    clock.now += 100
    site.set("/a", "", status=304)
    assert crawl(tmp_path / "crawl", clock=clock, refresh=True).stats.unchanged == 2
    text = text_of(tmp_path / "crawl")
    assert "<b>2</b><span>unchanged</span>" in text
    assert "not modified (304)" in text
    assert "redirect (3xx)" not in text
    assert "<span>failed</span><small>in the last refresh</small>" in text
    assert "<span>requests sent</span><small>in all runs</small>" in text


def test_a_host_whose_robots_txt_is_unreachable_is_reported_with_the_reason(tmp_path: Path, site: Site) -> None:
    site.set("/robots.txt", "", status=503)
    crawl(tmp_path / "crawl", site.url("/"))
    text = text_of(tmp_path / "crawl")
    assert "127.0.0.1: robots.txt unreachable (HTTP status 503), so nothing is requested there." in text


def test_a_damaged_ledger_is_reported_as_such(tmp_path: Path, site: Site) -> None:
    furnish(site)
    folder = tmp_path / "crawl"
    crawl(folder, site.url("/"))
    assert "ledger is damaged" not in text_of(folder)
    ledger = (folder / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    record = json.loads(ledger[4])
    del record["kind"]
    ledger[2:5] = [b"<script>\n", ledger[3], json.dumps(record).encode() + b"\n"]
    (folder / "ledger.jsonl").write_bytes(b"".join(ledger))
    said = comity("report", str(folder), "-o", str(tmp_path / "out.html"))
    words = "the ledger is damaged at record 3 (the line is not JSON); 2 records in all cannot be understood"
    assert said.returncode == 0
    assert words in complaint(said)
    assert words[1:] in (tmp_path / "out.html").read_text()


def test_a_crawl_that_runs_is_reported_as_running(tmp_path: Path, site: Site) -> None:
    furnish(site)
    folder = tmp_path / "crawl"
    crawl(folder, site.url("/"))
    whole = (folder / "ledger.jsonl").read_bytes()
    half = whole[: whole.rindex(b'{"at"') + 20]  # the last record is being written
    (folder / "ledger.jsonl").write_bytes(half)
    held = lock(folder / "frontier.sqlite")
    try:
        text = text_of(folder)
        assert 'role="status">running</span>' in text
        assert "Running for " in text
        assert "damaged" not in text
    finally:
        held.close()
    text = text_of(folder)
    assert "Cut off at " in text
    assert "(the line is cut short)" in text


@pytest.mark.parametrize(
    ("seconds", "labels"),
    [
        (3.0, "0 s, 0.5 s, 1 s, 1.5 s, 2 s, 2.5 s, 3 s"),
        (12.75, "0 s, 2 s, 4 s, 6 s, 8 s, 10 s, 12 s"),
        (100.0, "0 s, 20 s, 40 s, 60 s, 80 s, 100 s"),
        (600.0, "0 min, 2 min, 4 min, 6 min, 8 min, 10 min"),
        (7_300.0, "0 h, 0.5 h, 1 h, 1.5 h, 2 h"),
        (30 * 86_400.0, "0 d, 5 d, 10 d, 15 d, 20 d, 25 d, 30 d"),
    ],
)
def test_the_axis_of_time_has_round_steps_in_one_unit(seconds: float, labels: str) -> None:
    ticks = plots.time_ticks(seconds)
    assert ", ".join(text for _, text in ticks) == labels
    assert all(0 <= share <= 1.001 for share, _ in ticks)


def test_columns_get_wider_with_the_crawl_and_lose_no_request() -> None:
    line = Timeline()
    for second in range(100_000):
        line.add(1000.0 + second, "2xx")
    assert sum(line.bins["2xx"]) == 100_000
    assert line.width in WIDTHS
    assert len(line.bins["2xx"]) == BINS
    line.add(1e11, "304")
    assert sum(map(sum, line.bins.values())) == 100_001


def test_what_a_site_or_a_file_says_is_text_in_the_report(tmp_path: Path, site: Site) -> None:
    furnish(site)
    folder = tmp_path / "crawl"
    crawl(folder, site.url("/"))
    hostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{ 7777 * 7777 }}{% raw %}\u202e\x00"
    lines = []
    for line in (folder / "ledger.jsonl").read_text().splitlines():
        record = json.loads(line)
        for name in ("agent", "version", "host", "rule", "error", "hash", "verdict"):
            if isinstance(record.get(name), str):
                record[name] = hostile + record[name]
        if "seeds" in record:
            record["seeds"] = [hostile] * 5
        if record["kind"] == "robots":
            record |= {"outcome": "unreachable", "origin": f"http://{hostile}.example"}
        lines.append(json.dumps(record))
    (folder / "ledger.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "failures.jsonl").write_text(json.dumps({"url": "u", "why": hostile}) + "\n")
    text = text_of(folder)
    assert text.count("&lt;script&gt;alert(1)") >= 6
    assert "{{ 7777 * 7777 }}" in text
    assert "onerror" in text
    for never in ("<script", "<img", "\u202e", "\x00", "60481729"):
        assert never not in text.partition("</style>")[2]
    assert re.findall(
        r"<(?!/?(?:h[123]|p|span|div|b|section|table|thead|tbody|tr|t[dh]|code|wbr|footer|svg|rect|text|ul|li|dl|dt|dd|"
        r"small|br|main|body|html|header|figure|figcaption|details|summary|meter|a)\b)",
        text.partition("</style>")[2],
    ) == ["<"], "the end of the head"


def figures_of(gathering: Gathering) -> dict[str, object]:
    figures = gathering.read()
    return {each.name: getattr(figures, each.name) for each in fields(Figures)} | {"timeline": vars(figures.timeline)}


def test_figures_that_grow_with_a_crawl_are_those_of_one_that_is_read_at_the_end(tmp_path: Path, site: Site) -> None:
    furnish(site)
    crawl(folder := tmp_path / "crawl", site.url("/"))
    wanted = figures_of(Gathering(folder))
    ledger = folder / "ledger.jsonl"
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(b"".join(lines[:3]) + lines[3][:20])
    growing = Gathering(folder)
    assert growing.read().requests == 1
    ledger.write_bytes(b"".join(lines[:-2]))  # what was cut short is read anew
    growing.read()
    ledger.write_bytes(b"".join(lines))
    assert figures_of(growing) == wanted
    assert figures_of(growing) == wanted


def test_figures_of_a_ledger_that_was_cut_back_are_read_from_its_beginning(tmp_path: Path, site: Site) -> None:
    furnish(site)
    crawl(folder := tmp_path / "crawl", site.url("/"))
    (growing := Gathering(folder)).read()
    ledger = folder / "ledger.jsonl"
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(b"".join(lines[:-3]))
    assert figures_of(growing) == figures_of(Gathering(folder))
    ledger.write_bytes(b"".join(lines[:-3]) + lines[-3].replace(b'"kind"', b'"Kind"') + b"".join(lines[-2:]))
    assert growing.read().damaged == 1


def test_reading_that_may_take_no_time_goes_on_where_it_stopped(tmp_path: Path, site: Site) -> None:
    site.link("/", *(f"/{number}" for number in range(120)))
    crawl(folder := tmp_path / "crawl", site.url("/"))
    growing = Gathering(folder)
    seen = []
    while not seen or growing.behind:
        seen.append(growing.read(0.0).requests)
    assert len(seen) > 2
    assert seen == sorted(set(seen))
    assert figures_of(growing) == figures_of(Gathering(folder))
