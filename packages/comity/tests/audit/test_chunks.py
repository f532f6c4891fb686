"""The chunks of a crawl for a search by meaning, and what a refresh makes of them: new, changed and gone, by id."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from commands import comity
from sites import Site

from comity import Crawler, InvalidSetting, Policy, StorageError
from comity.audit.chunks import export_chunks
from comity.crawler.storage.open_crawl import open_output

QUICK = Policy(min_interval=0, allow_addresses=("127.0.0.0/8",), purposes=("train-ai",))

LINKS = "".join(f"<p><a href=/{each}>{each} about {each}</a></p>" for each in "abc")


def page(site: Site, path: str, text: str, *, menu: str = "Menu", links: str = "", head: str = "") -> None:
    words = " and ".join([text] * 20)
    site.set(
        path, f"<title>T</title>{head}<nav>{menu}</nav><main><h1>Lamps</h1><p>{words}.</p><h2>Oil</h2>{links}</main>"
    )


@pytest.fixture
def crawled(site: Site, tmp_path: Path) -> Path:
    site.set("/robots.txt", "User-agent: *\nContent-Usage: train-ai=n\n")
    page(site, "/", "first", links=LINKS)
    for path in ("/a", "/b", "/c"):
        page(site, path, f"words of {path}")
    asyncio.run(Crawler([site.url("/")], tmp_path / "out", policy=QUICK).run())
    return tmp_path / "out"


def chunks(folder: Path, *, changed: bool = False) -> list[dict[str, Any]]:
    where = folder.parent / "chunks.jsonl"
    export_chunks(open_output(folder), str(where), tokens=512, changed=changed)
    return [json.loads(line) for line in where.read_text("utf-8").splitlines()]


def test_a_chunk_says_where_it_stands_and_what_may_be_done_with_it(crawled: Path, site: Site) -> None:
    found = chunks(crawled)
    first = next(each for each in found if each["page"] == site.url("/a"))
    assert first["url"].startswith(f"{site.url('/a')}#:~:text=")
    assert (first["headings"][0], first["title"], first["refresh"], first["change"]) == ("Lamps", "T", 0, None)
    assert json.loads(first["usage"]) == {"train-ai": "disallowed"}
    assert first["verdict"] == "allowed_implicit"
    assert len({each["id"] for each in found}) == len(found) >= 4
    table = pytest.importorskip("pyarrow.parquet")
    done = comity("export", str(crawled), "--to", "chunks", "-o", str(crawled.parent / "chunks.parquet"))
    assert done.returncode == 0, done.stderr
    assert table.read_table(crawled.parent / "chunks.parquet").to_pylist() == found


def test_changed_gives_what_is_new_or_gone_or_has_other_words_or_rights_and_nothing_for_a_menu(
    crawled: Path, site: Site
) -> None:
    before = {each["id"]: each for each in chunks(crawled)}
    assert chunks(crawled, changed=True) == []
    page(site, "/a", "other words")
    page(site, "/b", "words of /b", menu="Another menu, of more words")
    page(site, "/", "first", links=LINKS, head="<link rel=license href=https://example.org/by>")
    site.set("/c", status=404)
    asyncio.run(Crawler((), crawled, policy=QUICK, refresh=True).run())
    found = chunks(crawled, changed=True)
    assert chunks(crawled, changed=True) == found, "the same once more, as long as the crawl has not gone on"
    changes = {(each["change"], before[each["id"]]["page"]) for each in found}
    assert changes == {("changed", site.url("/a")), ("changed", site.url("/")), ("gone", site.url("/c"))}
    assert all(each["refresh"] == 1 for each in found if each["change"] == "changed")


def test_a_page_of_links_is_marked_as_an_index(site: Site, tmp_path: Path) -> None:
    links = "".join(f"<li><a href=/{number}>Page number {number} of the list</a>" for number in range(30))
    site.set("/", f"<main><h1>All</h1><ul>{links}</ul></main>")
    asyncio.run(Crawler([site.url("/")], tmp_path / "out", policy=QUICK).run())
    assert {each["index"] for each in chunks(tmp_path / "out")} == {True}


def test_after_an_export_that_broke_off_what_changed_is_not_known(crawled: Path) -> None:
    chunks(crawled)
    manifest = crawled.parent / "chunks.jsonl.export.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"complete": False}))
    with pytest.raises(StorageError, match="the last export broke off"):
        chunks(crawled, changed=True)
    with pytest.raises(InvalidSetting, match=r"let the name end with .parquet or .jsonl"):
        export_chunks(open_output(crawled), "chunks", tokens=512, changed=False)
