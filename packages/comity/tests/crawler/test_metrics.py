"""Metrics: scraped over HTTP while a crawl runs, read with Prometheus's own parser, put beside the output files."""

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from aiohttp import web
from commands import ALLOW, comity, complaint
from examples import first_of
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from sites import HANGS, Site

from comity import Policy
from comity.cli.metrics import parse_address, serving
from comity.crawler import Crawler, CrawlSettings, HostState
from comity.crawler.observe import stats
from comity.crawler.observe.metrics import collector
from comity.crawler.run import results
from comity.crawler.storage.folder import FolderCrawl
from comity.errors import InvalidSetting
from comity.policy.decision import RECOMMENDATION

QUICK = Policy(agent="TestBot/1.0", min_interval=0.01, allow_addresses=("127.0.0.0/8",))
Values = dict[str, float]


def parsed(text: str) -> Values:
    """Samples by name and labels as they stand in the text."""
    values = {}
    for family in text_string_to_metric_families(text):
        assert family.documentation, family.name
        assert family.type != "unknown", family.name
        for sample in family.samples:
            labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
            values[f"{sample.name}{{{labels}}}" if labels else sample.name] = float(sample.value)
    return values


def scraped(url: str) -> Values:
    with urllib.request.urlopen(url, timeout=HANGS) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain")
        return parsed(answer.read().decode())


def measured(crawler: Crawler) -> Values:
    registry = CollectorRegistry()
    registry.register(collector(crawler))  # type: ignore[arg-type]
    return parsed(generate_latest(registry).decode())


def site_of(site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /no\n")
    site.link("/", *(f"/{number}" for number in range(8)), "/no/1", "/no/2", "/gone", "/moved")
    site.set("/moved", status=302, headers={"Location": "/0"})
    for number in range(8):
        site.link(f"/{number}")


def lines(folder: Path, channel: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / f"{channel}.jsonl").read_text().splitlines()]


def test_a_count_of_pages_is_declared_by_a_field_of_their_records(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "COUNTED_PAGES", (*stats.COUNTED_PAGES, ("unpaid", "noindex")))
    site.set("/", '<meta name="robots" content="noindex"><a href="/same">1</a><a href="/lost">2</a>')
    site.set("/same", '<meta name="robots" content="noindex"><a href="/same">1</a><a href="/lost">2</a>')
    site.set("/lost", "<title>404 Not Found</title><h1>Page not found</h1><p>The page you asked for was not found.</p>")
    crawler = Crawler([site.url("/")], tmp_path, policy=QUICK)
    counts = asyncio.run(crawler.run())
    records = lines(tmp_path, "pages")
    assert {name for _, name in stats.COUNTED_PAGES} <= records[0].keys()
    for name, field in (*stats.COUNTED_PAGES, ("unpaid", "noindex")):
        assert getattr(counts, name) == sum(record[field] not in (None, False) for record in records), name
    assert (counts.pages, counts.unpaid, counts.duplicates, counts.soft_404) == (3, 2, 1, 1)


def agrees(values: Values, folder: Path) -> None:
    """Whether metrics at the end of a crawl say what its files say."""
    pages, requests = lines(folder, "pages"), [each for each in lines(folder, "ledger") if each["kind"] == "request"]
    assert values["comity_pages_total"] == len(pages)
    assert values["comity_bytes_total"] == sum(int(str(page["bytes"])) for page in pages)
    assert total(values, "comity_pages_by_type_total") == len(pages)
    assert values["comity_page_depth_bucket{le=0}"] == sum(page["depth"] == 0 for page in pages)
    assert values["comity_page_depth_bucket{le=+Inf}"] == len(pages)
    assert values["comity_duplicates_total"] == sum(page["duplicate"] is not None for page in pages)
    assert values["comity_failures_total"] == len(lines(folder, "failures"))
    assert values["comity_redirects_total"] == len(lines(folder, "redirects"))
    assert values["comity_traps_total"] == len(lines(folder, "traps"))
    assert total(values, "comity_refusals_total") == len(lines(folder, "refusals"))
    assert total(values, "comity_requests_total") == len(requests)
    robots = sum(each["purpose"] == "robots" for each in requests)
    assert values["comity_requests_total{answer=2xx,purpose=robots}"] == robots
    missing = sum(each["status"] == 404 for each in requests)
    assert values["comity_requests_total{answer=4xx,purpose=content}"] == missing


def total(values: Values, name: str) -> float:
    return sum(value for sample, value in values.items() if sample.startswith(f"{name}{{"))


def test_at_the_end_metrics_say_what_the_files_say(tmp_path: Path, site: Site) -> None:
    site_of(site)
    crawler = Crawler([site.url("/")], tmp_path, policy=QUICK)
    assert measured(crawler)["comity_running"] == 0, "it can be scraped before it begins"
    asyncio.run(crawler.run())
    values = measured(crawler)
    agrees(values, tmp_path)
    assert values["comity_running"] == values["comity_requests_under_way"] == 0
    assert values["comity_wait_seconds_total"] == pytest.approx(crawler.stats.waited)
    assert values["comity_hosts{state=drained}"] == 1
    assert total(values, "comity_hosts") == 1
    assert {state for state in HostState if f"comity_hosts{{state={state}}}" in values} == set(HostState)
    assert values["comity_urls{state=refused}"] == 2
    assert total(values, "comity_urls") == crawler.stats.found
    assert values["comity_commit_seconds_bucket{le=+Inf}"] == values["comity_commit_seconds_count"] >= 3
    assert values["comity_commit_seconds_sum"] > 0


def test_counters_go_on_when_a_crawl_is_resumed(tmp_path: Path, site: Site) -> None:
    site_of(site)
    first = Crawler([site.url("/")], tmp_path, policy=QUICK, settings={"max_pages": 4})
    asyncio.run(first.run())
    before = measured(first)
    assert before["comity_urls{state=queued}"] > 0
    agrees(before | {"comity_requests_total{answer=4xx,purpose=content}": _missing(tmp_path)}, tmp_path)
    second = Crawler([], tmp_path, policy=QUICK, settings={"max_pages": None})
    asyncio.run(second.run())
    after = measured(second)
    agrees(after, tmp_path)
    assert after["comity_pages_total"] == 9
    for name, value in before.items():
        if "_total" in name:
            assert after[name] >= value, name


def _missing(folder: Path) -> float:
    return sum(each.get("status") == 404 for each in lines(folder, "ledger") if each["kind"] == "request")


def test_counters_are_those_of_the_files_after_a_kill_too(tmp_path: Path, site: Site) -> None:
    site_of(site)
    words = ["crawl", site.url("/"), "-o", str(tmp_path / "out"), "--delay", "0.2", *ALLOW]
    process = subprocess.Popen([sys.executable, "-m", "comity", *words], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + HANGS
    while len(site.seen) < 6 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    process.wait()
    crawler = Crawler([], tmp_path / "out", policy=QUICK)
    asyncio.run(crawler.run())
    agrees(measured(crawler), tmp_path / "out")


def test_a_refresh_counts_from_zero_and_says_what_changed(tmp_path: Path, site: Site) -> None:
    site_of(site)
    asyncio.run(Crawler([site.url("/")], tmp_path, policy=QUICK).run())
    site.link("/3", "/new")
    site.link("/new")
    site.set("/4", status=410)
    crawler = Crawler([], tmp_path, policy=QUICK, refresh=True)
    asyncio.run(crawler.run())
    values = measured(crawler)
    assert {name: values[f"comity_changes_total{{change={name}}}"] for name in ("new", "changed", "gone")} == {
        "new": 1,
        "changed": 1,
        "gone": 1,
    }
    assert values["comity_changes_total{change=unchanged}"] == crawler.stats.unchanged == 7
    assert values["comity_pages_total"] == 2
    assert values["comity_refusals_total{verdict=disallowed_explicit}"] == crawler.stats.refused == 2
    assert total(values, "comity_urls") == crawler.stats.found
    last = max(index for index, each in enumerate(lines(tmp_path, "ledger")) if each["kind"] == "run")
    sent = [each for each in lines(tmp_path, "ledger")[last:] if each["kind"] == "request"]
    assert total(values, "comity_requests_total") == len(sent)


def test_no_label_holds_what_a_site_sent_and_there_are_few_of_them(tmp_path: Path, site: Site) -> None:
    rules = "".join(f"Disallow: /r{number}%22\n" for number in range(300))
    site.set("/robots.txt", f"User-agent: *\n{rules}")
    site.link("/", *(f"/r{number}%22" for number in range(300)), *(f"/s{status}" for status in range(200, 1000, 7)))
    for status in range(200, 1000, 7):
        site.set(f"/s{status}", "x", status=status)
    policy = QUICK.with_changes(min_interval=0.0, backoff=0.0)
    crawler = Crawler([site.url("/")], tmp_path, policy=policy, settings=CrawlSettings(retries=0))
    asyncio.run(crawler.run())
    values = measured(crawler)
    assert len(values) < 90
    assert total(values, "comity_refusals_total") == len(lines(tmp_path, "refusals")) == 300
    for name in values:
        if verdict := re.search(r"verdict=(.*)}", name):
            assert verdict[1] in RECOMMENDATION
        if answer := re.search(r"answer=([^,}]*)", name):
            assert answer[1] in {"none", *(f"{number}xx" for number in range(1, 10))}


@pytest.mark.parametrize("workers", first_of(1, 2))
def test_a_crawl_is_scraped_over_http_while_it_runs(workers: int, tmp_path: Path, site: Site) -> None:
    site_of(site)
    looked = threading.Event()

    async def last(_: web.Request) -> web.StreamResponse:
        await asyncio.to_thread(looked.wait, HANGS)
        return web.Response(text="x")

    site.set("/7", last)
    folder = tmp_path / "out"
    words = ["crawl", site.url("/"), "-o", str(folder), "--delay", "0.01", "--metrics", "0", "--concurrency", "1"]
    words += ["--workers", str(workers)]
    process = subprocess.Popen(
        [sys.executable, "-m", "comity", *words, *ALLOW], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    said = process.stderr.readline()
    found = re.fullmatch(r"comity: metrics at (http://127\.0\.0\.1:\d+/metrics)\n", said)
    assert found, said
    deadline = time.monotonic() + HANGS
    values = scraped(found[1])
    # Both once the words of all workers have come: they come one after the other.
    wanted = ("comity_requests_under_way", "comity_hosts{state=fetching}")
    while any(values.get(each) != 1 for each in wanted) or "/7" not in site.paths() or not values["comity_pages_total"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
        values = scraped(found[1])
    looked.set()
    process.communicate(timeout=HANGS)
    assert process.returncode == 2, "a page failed"
    assert values["comity_running"] == 1
    assert values["comity_requests_under_way"] == 1
    assert values["comity_hosts{state=fetching}"] == 1
    written = sum(len(lines(part, "pages")) for part in FolderCrawl(folder).parts if (part / "pages.jsonl").exists())
    assert 1 <= values["comity_pages_total"] < written
    if sys.platform == "linux":
        assert values["process_resident_memory_bytes"] > 1e6
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(found[1], timeout=HANGS)


def test_a_page_whose_name_leads_to_this_machine_reads_no_metrics(tmp_path: Path) -> None:
    """DNS rebinding: it names itself."""
    with serving(Crawler([], tmp_path / "out", policy=QUICK), "0") as url:
        assert scraped(url)
        for host, status in (("evil.example", 421), ("localhost:x.evil.example", 421), ("localhost:9464", 200)):
            request = urllib.request.Request(url, headers={"Host": host})
            try:
                answered = urllib.request.urlopen(request, timeout=HANGS).status
            except urllib.error.HTTPError as error:
                answered = error.code
            assert answered == status, host


def test_a_port_in_use_is_said_and_nothing_is_begun(tmp_path: Path, site: Site) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        words = ["crawl", site.url("/"), "-o", str(tmp_path / "out"), "--metrics", str(port), *ALLOW]
        answer = comity(*words)
    assert answer.returncode == 64
    assert f"metrics: {port} cannot be listened on" in complaint(answer)
    assert not (tmp_path / "out").exists()
    assert site.seen == []


@pytest.mark.parametrize(
    ("text", "address", "port"),
    [("9464", "127.0.0.1", 9464), ("0.0.0.0:1", "0.0.0.0", 1), ("[::1]:65535", "::1", 65535), ("::1:80", "::1", 80)],
)
def test_only_this_machine_is_served_unless_an_address_is_named(text: str, address: str, port: int) -> None:
    assert parse_address(text) == (address, port)


@pytest.mark.parametrize(
    "text", ["", ":", ":9464", "65536", "-1", "x", "x:9464", "127.0.0.1:", "127.0.0.1", "٣", "1e3"]
)
def test_what_is_no_address_and_port_is_said(text: str) -> None:
    with pytest.raises(InvalidSetting, match="ADDRESS"):
        parse_address(text)


def test_without_the_library_the_extra_is_named(tmp_path: Path) -> None:
    code = (
        "import sys\nsys.modules['prometheus_client'] = None\n"
        "from comity.cli import main\n"
        f"sys.argv = ['comity', 'crawl', 'http://127.0.0.1:9/', '-o', {str(tmp_path / 'out')!r}, '--metrics', '0']\n"
        "main()"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ)
    assert answer.returncode == 64
    assert "pip install 'comity[metrics]'" in complaint(answer)
    assert not (tmp_path / "out").exists()


def test_the_library_is_not_imported_without_need(tmp_path: Path, site: Site) -> None:
    code = (
        "import sys\nfrom comity.cli import main\n"
        f"sys.argv = ['comity', 'crawl', {site.url('/')!r}, '-o', {str(tmp_path / 'out')!r}, "
        "'--allow-address', '127.0.0.0/8']\n"
        "try:\n    main()\nfinally:\n    assert 'prometheus_client' not in sys.modules\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "AssertionError" not in answer.stderr
