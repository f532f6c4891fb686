"""One vocabulary: what the terminal, the commands, the dashboard and the report call the states of URLs and hosts."""

import asyncio
import re
from pathlib import Path

from commands import comity
from sites import Site

from comity import Crawler, Policy
from comity.audit.listing import STATES
from comity.audit.report.page import html, parts
from comity.cli import progress
from comity.crawler import HostState
from comity.crawler.observe import words
from comity.web.dashboard import Dashboard

GLOSSARY = (Path(__file__).parents[4] / "docs/glossary.md").read_text("utf-8")
DEFINED = {each.strip() for row in re.findall(r"^\| ([^|]+) \|", GLOSSARY, re.MULTILINE) for each in row.split(",")}
FORMER = re.compile(r"\b(left in queue|done|waiting(?! for robots\.txt)|fetched(?! at))\b")


def crawled(site: Site, folder: Path) -> Crawler:
    site.set("/robots.txt", "User-agent: *\nDisallow: /no\n")
    site.link("/", "/a", "/no", "/gone")
    site.link("/a")
    crawler = Crawler([site.url("/")], folder, policy=Policy(min_interval=0, allow_addresses=("127.0.0.0/8",)))
    asyncio.run(crawler.run())
    return crawler


def test_the_glossary_defines_each_word_of_a_url_s_state() -> None:
    assert {*words.URL_WORDS, *STATES, words.ANSWERED} <= DEFINED
    assert words.HOST_WORDS.keys() == set(HostState)
    watching = (Path(__file__).parents[4] / "docs/watching.md").read_text("utf-8")
    missing = [word for word in words.HOST_WORDS.values() if f"`{word}`" not in watching]
    assert not missing


def test_terminal_commands_dashboard_and_report_say_the_same_words_of_a_crawl(site: Site, tmp_path: Path) -> None:
    now = crawled(site, tmp_path / "out").snapshot()
    counts = {"kept": 2, "queued": 0, "waiting for robots.txt": 0, "refused": 1, "failed": 1}
    assert tuple(counts) == words.URL_WORDS
    line = progress.line(now).plain
    assert "2 pages" in line
    assert "1 refused  1 failed" in line
    frontier = comity("frontier", str(tmp_path / "out")).stdout
    assert frontier.startswith(", ".join(f"{count} {word}" for word, count in counts.items()) + "\n")
    view = Dashboard(str(tmp_path / "out")).view()
    assert view.queue is not None
    assert view.queue.counts == counts
    live, comity_report = parts(view)["html"], tmp_path / "report.html"
    assert comity("report", str(tmp_path / "out"), "-o", str(comity_report)).returncode == 0
    for page in (live, comity_report.read_text("utf-8")):
        assert all(f"<b>{count}</b><span>{word}</span>" in page for word, count in counts.items())
        heads = re.findall(r"<th scope=\"col\"[^>]*>([^<]+)</th>", page)
        assert [each.capitalize() for each in ("kept", "queued", "refused", "failed")] == [
            each for each in heads if each.lower() in counts
        ]
    text = re.sub(r"<style>.*?</style>|<[^>]+>", " ", html(view))
    for surface in (line, frontier, text):
        assert not FORMER.search(surface), FORMER.search(surface)
