"""What a crawl asked one host, and when: the answer to a complaint."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import comity
from sites import Site

from comity import Policy, times
from comity.audit.asked import Account, Selection, asked
from comity.audit.prove import prove
from comity.audit.report.figures import gather
from comity.crawler import Crawler, CrawlSettings
from comity.errors import InputError, InvalidSetting


@pytest.fixture
def crawled(site: Site, tmp_path: Path) -> Iterator[Path]:
    site.set("/robots.txt", "User-agent: *\nAllow: /a\nDisallow: /no\n")
    site.set("/a", "one")
    policy = Policy(agent="TestBot/1.0", min_interval=0.01, allow_addresses=("127.0.0.0/8",))
    settings = CrawlSettings(sitemaps=False, retries=0, scope="any")
    with Site("127.0.0.2") as other:
        site.link("/", "/a", "/no", other.url("/"))
        asyncio.run(Crawler(site.url("/"), tmp_path / "out", policy=policy, settings=settings).run())
        yield tmp_path / "out"


def test_every_request_and_refusal_of_a_host_is_told_with_time_interval_and_rule(crawled: Path, site: Site) -> None:
    host = Selection.of(site.url("/"), None, None)
    assert host is not None
    rows = list(asked(crawled, host))
    assert [(row.kind, row.url, row.by) for row in rows] == [
        ("request", site.url("/robots.txt"), "which holds the rules"),
        ("request", site.url("/"), "no rule of robots.txt matches"),
        ("refusal", site.url("/no"), "robots.txt line 3: Disallow: /no"),
        ("request", site.url("/a"), "robots.txt line 2: Allow: /a"),
    ]
    account = Account()
    for row in rows:
        account.add(row)
        assert row.agent == "TestBot/1.0"
        assert row.kind == "refusal" or row.interval == 0.01
    assert (account.requests, account.refusals) == (3, 1)
    assert account.closest is not None
    assert account.closest[0] >= account.closest[1] == 0.01


def test_only_the_time_named_is_told_and_a_date_includes_its_day(crawled: Path, site: Site) -> None:
    first, *_, last = asked(crawled, Selection())
    day, moment = first.at[:10], times.parse_iso(last.at)
    assert list(asked(crawled, Selection.of(None, last.at, None) or Selection()))[-1].at == last.at
    with pytest.raises(InputError, match=rf"in that time .* asked nothing .*between {first.at} and {last.at}"):
        list(asked(crawled, Selection(since=moment + 0.001)))
    between = times.parse_iso(first.at) + 0.001
    assert not list(asked(crawled, Selection(since=between, until=between + 0.001))), "none then, which is an answer"
    chosen = Selection.of(None, day, last.at[:10])
    assert chosen is not None
    assert len(list(asked(crawled, chosen))) == len(list(asked(crawled, Selection())))
    assert chosen.until % 86400 == 0
    assert chosen.until > moment
    east = Selection.of(None, "2026-11-24T14:30+01:00", None)
    assert east is not None
    assert east.since == times.parse_iso("2026-11-24T13:30:00Z")


@pytest.mark.parametrize(("since", "until"), [("tuesday", None), (None, "25:00"), ("2026-11-25", "2026-11-24")])
def test_a_time_that_is_none_is_refused(since: str | None, until: str | None) -> None:
    with pytest.raises(InvalidSetting):
        Selection.of(None, since, until)


def test_a_host_that_the_crawl_never_met_is_said_to_be_none_of_it(crawled: Path) -> None:
    with pytest.raises(InputError, match=r"nobody\.example: this crawl never asked"):
        list(asked(crawled, Selection("nobody.example")))


def test_a_report_and_a_proof_of_one_host_leave_out_the_others(crawled: Path, site: Site) -> None:
    host = Selection.of(site.url("/"), None, None)
    assert host is not None
    figures = gather(crawled, chosen=host)
    assert (list(figures.hosts), figures.requests, figures.refused) == ([host.host], 3, 1)
    ledger = crawled / "ledger.jsonl"
    lines = ledger.read_text().splitlines(keepends=True)
    changed = [
        line.replace('"interval":0.01', '"interval":0.02') if '"url":"' + site.url("/a") in line else line
        for line in lines
    ]
    ledger.write_text("".join(changed))
    assert any("interval" in finding.what for finding in prove(crawled, host=host.host).findings)
    elsewhere = prove(crawled, host="127.0.0.2")
    assert elsewhere.elsewhere > 0
    assert not any("interval" in finding.what for finding in elsewhere.findings)


def test_the_commands_answer_a_complaint(crawled: Path, site: Site) -> None:
    told = comity("report", str(crawled), "--host", site.url("/"), "--json")
    assert [json.loads(line)["kind"] for line in told.stdout.splitlines()].count("request") == 3
    assert "3 requests, 1 not sent because of a rule; shortest interval" in told.stderr
    refused = comity("report", str(crawled), "--host", "nobody.example")
    assert (refused.returncode, refused.stdout) == (66, "")
    assert refused.stderr.startswith("comity: nobody.example: this crawl never asked that host anything")
    told = comity("prove", str(crawled), "--host", site.url("/"))
    assert (told.returncode, "this host  3 requests" in told.stdout) == (0, True)
