"""A working day of somebody who has read README, docs and --help: a list judged into a table, a crawl in four formats
read by the tools of the trade, stop and resume with limits, a refresh, five fates, a program of twenty lines.
"""

import csv
import io
import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from commands import ALLOW, comity
from sites import Site

pytestmark = pytest.mark.long

PROGRAM = """
import asyncio, collections, sys
import comity

async def main(start):
    agent = "ShopBot/1.0 (+https://example.com/bot)"
    policy = comity.Policy(agent=agent, min_interval=0, allow_addresses=("127.0.0.0/8",))
    crawl = comity.crawl(start, policy=policy, settings={"only_if": ("train-ai=not-disallowed",)})
    words = collections.Counter()
    async for page in crawl:
        words.update(page.text.split())
        print(page.status, page.url, page.title)
    for failure in crawl.failures:
        print("failed", failure["url"], failure["why"], failure["found_on"])
    for refusal in crawl.refusals:
        print("refused", refusal["by"], refusal["url"], refusal["why"])
    print(crawl.summary.pages, "pages")

asyncio.run(main(sys.argv[1]))
"""


def run(*words: str) -> str:
    told = comity(*words)
    print(f"$ comity {' '.join(words)}\n{told.stdout}{told.stderr}", end="")
    assert told.returncode in (0, 2), told.stderr
    return told.stdout


def test_a_working_day(site: Site, tmp_path: Path) -> None:
    duckdb, pandas = pytest.importorskip("duckdb"), pytest.importorskip("pandas")
    warcio = pytest.importorskip("warcio.archiveiterator")
    robots = "User-agent: *\nContent-Usage: /art train-ai=n\nAllow: /\nDisallow: /private/\n"
    site.set("/robots.txt", robots)
    site.link("/", *(f"/{n}" for n in range(20)), "/private/x", "/art", "/missing", "/d/d/d/d/d/d", "/print?print=1")
    for n in range(20):
        site.set(f"/{n}", f"<title>{n}</title><p>{n}")
    site.set("/art", "<title>art</title>")
    urls = [site.url(path) for path in ("/", "/private/x", "/art")]
    (tmp_path / "list").write_text("\n".join(urls))

    table = run("check", "--urls", str(tmp_path / "list"), "--csv", "--purpose", "train-ai", "--exit-zero", *ALLOW)
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [row["answer"] for row in rows] == ["allowed", "disallowed", "allowed"]
    assert rows[2]["train-ai"] == "disallowed"

    how = (*ALLOW, "-q", "--delay", "0", "--agent", "ShopBot/1.0", "--links", "--exclude", "*print=")
    for form in ("jsonl", "parquet", "sqlite", "warc"):
        folder = str(tmp_path / form)
        first = run("crawl", urls[0], *how, "-o", folder, "--format", form, "--max-pages", "5", "--ok-if-some-failed")
        assert "ended because" in first
        assert "still waiting" in first
        run("crawl", "-o", folder, "--resume", "--max-pages", "none", "-q")
    query = (
        f"SELECT status, min(fetched_at)::TIMESTAMP, count(*) FROM '{tmp_path}/parquet/pages/*.parquet' GROUP BY status"
    )
    assert [row[::2] for row in duckdb.sql(query).fetchall()] == [(200, 22)]
    pages = pandas.read_parquet(tmp_path / "parquet" / "pages")
    assert str(pages["fetched_at"].dtype) == "datetime64[ms, UTC]"
    lines = pandas.read_json(tmp_path / "jsonl" / "pages.jsonl", lines=True)
    assert sorted(lines["url"]) == sorted(pages["url"])
    assert "UTC" in str(pandas.to_datetime(lines["fetched_at"]).dtype)
    with sqlite3.connect(tmp_path / "sqlite" / "crawl.sqlite") as db:
        (times,) = db.execute("SELECT count(julianday(fetched_at)) FROM pages").fetchone()
        (links,) = db.execute('SELECT count(*) FROM links WHERE "from" = ?', (site.url("/"),)).fetchone()
    assert (times, links) == (22, 25)
    with (tmp_path / "warc" / "crawl-00001.warc.gz").open("rb") as file:
        kinds = [record.rec_type for record in warcio.ArchiveIterator(file)]
    assert kinds.count("response") == 22 + 1 + 2, "pages, the failure, and robots.txt in each run"

    site.set("/3", "<title>another 3</title>")
    site.set("/4", "", status=410)
    for form in ("jsonl", "parquet", "sqlite", "warc"):
        refreshed = run("crawl", "-o", str(tmp_path / form), "--refresh", "-q", "--json")
        assert (json.loads(refreshed)["changed"], json.loads(refreshed)["gone"]) == (1, 1)
        now = [json.loads(line) for line in run("pages", str(tmp_path / form)).splitlines()]
        assert len(now) == 21
        fates = [
            json.loads(line)["fate"]
            for path in ("/3", "/4", "/private/x", "/missing", "/d/d/d/d/d/d", "/print?print=1")
            for line in run("why", str(tmp_path / form), site.url(path), "--json").splitlines()
        ]
        assert fates == ["kept", "gone", "refused", "failed", "trapped", "out of scope"], form
        run("prove", str(tmp_path / form))

    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py"), site.url("/")], capture_output=True, text=True, timeout=120
    )
    print(done.stdout, done.stderr)
    assert done.stdout.splitlines()[-1] == "20 pages"
    assert f"refused usage {site.url('/art')}" in done.stdout
    assert f"failed {site.url('/missing')} HTTP status 404 {site.url('/')}" in done.stdout
