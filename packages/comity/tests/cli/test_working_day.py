"""A working day of somebody who has read README, docs and --help: a list judged into a table, a crawl in four formats
read by the tools of the trade, stop and resume with limits, a refresh, five fates, a program of twenty lines, schemas.
`pytest -m long -s` on this file prints all of it as commands with what they said.
"""

import csv
import io
import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import ALLOW, comity
from sites import Site

from comity.crawler.output.columns import COLUMNS

pytestmark = pytest.mark.long

FORMATS = ("jsonl", "parquet", "sqlite", "warc")

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


EXPANDER = """
from comity.crawler import Expanded

class Titles:
    def expand(self, response):
        title = response.text.partition("<title>")[2].partition("</title>")[0]
        return Expanded([{"title": title, "letters": len(title), "words": title.split()}])
"""


def run(*words: str, codes: tuple[int, ...] = (0, 2)) -> str:
    told = comity(*words)
    lines = [line if len(line) < 400 else f"{line[:400]} ..." for line in f"{told.stdout}{told.stderr}".splitlines()]
    print(f"$ comity {' '.join(words)}", *(lines if len(lines) < 25 else [*lines[:3], "..."]), sep="\n")
    assert told.returncode in codes, told.stderr
    return told.stdout


def shown(duckdb: Any, query: str) -> list[tuple[Any, ...]]:
    found = duckdb.sql(query)
    print(f"D {query}\n{found}")
    rows: list[tuple[Any, ...]] = found.fetchall()
    return rows


def test_a_working_day(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "titles.py").write_text(EXPANDER)

    table = run("check", "--urls", str(tmp_path / "list"), "--csv", "--purpose", "train-ai", "--exit-zero", *ALLOW)
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [row["answer"] for row in rows] == ["allowed", "disallowed", "allowed"]
    assert rows[2]["train-ai"] == "disallowed"

    how = (*ALLOW, "-q", "--delay", "0", "--agent", "ShopBot/1.0", "--links", "--exclude", "*print=")
    plain = (*how, "--expander", "titles:Titles", "--max-pages", "5", "--max-bytes", "50MB", "--ok-if-some-failed")
    given = (*ALLOW, "-q", "--delay", "0", "--expander", "titles:Titles")  # on each command: they allow, or run code
    for form in FORMATS:
        folder = str(tmp_path / form)
        first = run("crawl", urls[0], *plain, "-o", folder, "--format", form)
        assert "finished" in first
        assert "\nqueued " in first
        assert len(run("pages", folder).splitlines()) == 5
        again = run("crawl", "-o", folder, "--resume", *given)
        assert "\nqueued " in again, "the limit is remembered"
        assert len(run("pages", folder).splitlines()) == 5
        run("crawl", "-o", folder, "--resume", "--max-pages", "none", *given)
    pages = f"'{tmp_path}/parquet/pages/*.parquet'"
    query = f"SELECT status, min(fetched_at)::TIMESTAMP, count(*) FROM {pages} GROUP BY status"
    assert [row[::2] for row in shown(duckdb, query)] == [(200, 22)]
    made = f"'{tmp_path}/parquet/records/*.parquet'"
    assert shown(duckdb, f"SELECT title, letters FROM {made} WHERE url LIKE '%/17'") == [("17", 2)]
    for channel in ("pages", "records", "refusals"):
        names = [row[0] for row in shown(duckdb, f"DESCRIBE SELECT * FROM '{tmp_path}/parquet/{channel}/*.parquet'")]
        assert names == [*COLUMNS[channel], *(["title", "letters"] if channel == "records" else [])]
    frame = pandas.read_parquet(tmp_path / "parquet" / "pages")
    print(f">>> pandas.read_parquet('parquet/pages').dtypes\n{frame.dtypes}")
    assert str(frame["fetched_at"].dtype) == "datetime64[ms, UTC]"
    assert len(pandas.read_parquet(tmp_path / "parquet" / "changes")) == 0, "nothing was written there yet"
    lines = pandas.read_json(tmp_path / "jsonl" / "pages.jsonl", lines=True)
    assert sorted(lines["url"]) == sorted(frame["url"])
    assert "UTC" in str(pandas.to_datetime(lines["fetched_at"]).dtype)
    with sqlite3.connect(tmp_path / "sqlite" / "crawl.sqlite") as db:
        (times,) = db.execute("SELECT count(julianday(fetched_at)) FROM pages").fetchone()
        schema = [row[0] for row in db.execute("SELECT sql FROM sqlite_schema WHERE name IN ('pages', 'records')")]
        print("sqlite> .schema", *schema, sep="\n")
        assert all('"title" TEXT' in table for table in schema)
        (links,) = db.execute('SELECT count(*) FROM links WHERE "from" = ?', (site.url("/"),)).fetchone()
    assert (times, links) == (22, 25)
    with (tmp_path / "warc" / "crawl-00001.warc.gz").open("rb") as file:
        kinds = [record.rec_type for record in warcio.ArchiveIterator(file)]
    assert kinds.count("response") == 22 + 1 + 2, "pages, the failure, and robots.txt in each run that asked"
    index = (tmp_path / "warc" / "crawl-00001.cdxj").read_text().splitlines()
    assert len(index) == kinds.count("response")
    line = next(line for line in index if ")/17 " in line)
    print(f"$ grep ')/17 ' warc/crawl-00001.cdxj\n{line}")
    entry = json.loads(line.split(" ", 2)[2])
    with (tmp_path / "warc" / entry["filename"]).open("rb") as file:
        file.seek(int(entry["offset"]))
        record = next(iter(warcio.ArchiveIterator(file)))
        assert record.rec_headers.get_header("WARC-IP-Address") == "127.0.0.1"
        assert record.content_stream().read() == b"<title>17</title><p>17"

    site.set("/3", "<title>another 3</title>")
    site.set("/4", "", status=410)
    for form in FORMATS:
        refreshed = run("crawl", "-o", str(tmp_path / form), "--refresh", "--json", *given)
        assert (json.loads(refreshed)["changed"], json.loads(refreshed)["gone"]) == (1, 1)
        now = [json.loads(line) for line in run("pages", str(tmp_path / form)).splitlines()]
        assert len(now) == 21
        told = run("why", str(tmp_path / form), site.url("/private/x"), site.url("/private/y"), codes=(66,))
        assert told.count("Disallow: /private/") == 2, (
            "one was met, the other is judged by the robots.txt that is there"
        )
        fates = [
            json.loads(line)["fate"]
            for path in ("/3", "/4", "/private/x", "/missing", "/d/d/d/d/d/d", "/print?print=1")
            for line in run("why", str(tmp_path / form), site.url(path), "--json", codes=(0, 66)).splitlines()
        ]
        assert fates == ["kept", "gone", "refused", "failed", "trapped", "out of scope"], form
        run("prove", str(tmp_path / form))

    (tmp_path / "program.py").write_text(PROGRAM)
    print(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py"), site.url("/")], capture_output=True, text=True, timeout=120
    )
    print(done.stdout, done.stderr)
    assert done.stdout.splitlines()[-1] == "20 pages"
    assert f"refused usage {site.url('/art')}" in done.stdout
    assert f"failed {site.url('/missing')} HTTP status 404 {site.url('/')}" in done.stdout
