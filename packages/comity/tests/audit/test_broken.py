"""What failed in a crawl, and which pages link to it."""

import html
import json
import re
import subprocess
from pathlib import Path

import pytest
from commands import ALLOW, comity
from examples import first_of
from sites import Site

from comity.audit.broken import broken_links


def crawled(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """A crawl into `out`, of which standard error is shown without progress."""
    return comity("crawl", *words, "-o", str(folder / "out"), "--delay", "0", *ALLOW, "--quiet", cwd=folder)


FORMATS = ("jsonl", "jsonl.gz", "warc", "files", "markdown")


@pytest.fixture
def linked(site: Site) -> Site:
    site.link("/", "/a", "/b", "/gone")
    site.link("/a", "/gone?utm_source=x", "/lost")
    site.link("/b")
    return site


@pytest.mark.parametrize("form", first_of(*FORMATS))
def test_a_url_that_failed_is_named_with_the_pages_that_link_to_it(linked: Site, tmp_path: Path, form: str) -> None:
    answer = crawled(tmp_path, linked.url("/"), "--format", form)
    assert answer.returncode == 2
    assert "--ok-if-some-failed makes it 0" in answer.stdout
    assert f"comity report {tmp_path / 'out'} --broken-links" in answer.stdout
    found = {link.url: link for link in broken_links(tmp_path / "out")}
    assert set(found) == {linked.url("/gone"), linked.url("/lost")}
    gone = found[linked.url("/gone")]
    assert (gone.why, gone.status) == ("HTTP status 404", 404)
    pages = [linked.url("/")] if form == "markdown" else [linked.url("/"), linked.url("/a")]  # which keeps no HTML
    assert (sorted(gone.pages), gone.count) == (pages, len(pages))


def test_the_summary_and_the_report_name_them(linked: Site, tmp_path: Path) -> None:
    answer = crawled(tmp_path, linked.url("/"), "--report", str(tmp_path / "r.html"), "--ok-if-some-failed")
    assert answer.returncode == 0
    assert f"  {linked.url('/gone')}  HTTP status 404, linked from {linked.url('/')}\n" in answer.stdout
    page = re.sub("<td [^>]*>", "<td>", html.unescape((tmp_path / "r.html").read_text(encoding="utf-8")))
    assert "Broken links" in page
    row = f'{linked.url("/lost")}</a></td><td>HTTP status 404</td><td><a href="{linked.url("/a")}"'
    assert row in page


def test_the_command_lists_them_and_says_so_by_its_exit_code(linked: Site, tmp_path: Path) -> None:
    crawled(tmp_path, linked.url("/"))
    told = comity("report", "out", "--broken-links", cwd=tmp_path)
    assert (told.returncode, told.stderr) == (2, "2 broken links\n")
    assert f"{linked.url('/lost')}  HTTP status 404\n  linked from {linked.url('/a')}\n" in told.stdout
    rows = [
        json.loads(line)
        for line in comity("report", "out", "--broken-links", "--json", cwd=tmp_path).stdout.splitlines()
    ]
    assert [row["count"] for row in rows] == [2, 1]
    linked.link("/gone")
    linked.link("/lost")
    crawled(tmp_path, "--refresh")
    assert comity("report", "out", "--json", cwd=tmp_path).stderr.startswith("comity: --json goes with --broken-links")
    healed = comity("report", "out", "--broken-links", cwd=tmp_path)
    assert (healed.returncode, healed.stdout) == (0, "")


def test_a_limit_that_ended_a_crawl_says_how_to_go_on(linked: Site, tmp_path: Path) -> None:
    told = crawled(tmp_path, linked.url("/"), "--max-pages", "1").stdout
    again = f"comity crawl -o {tmp_path / 'out'} --resume --delay 0 --allow-address 127.0.0.0/8 --max-pages none"
    assert f"continue: {again}\n" in told
    assert "finished                          the limit of 1 page is reached" in told
