"""An export holds all that a crawl has committed, whenever it is made and wherever it goes, or it is not there."""

import asyncio
import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from commands import ALLOW, comity
from examples import first_of
from outputs import READERS
from sites import Site

from comity import Crawler, InvalidSetting, Policy, StorageError
from comity.crawler.output import targets
from comity.crawler.output.formats import EXPORTS
from comity.crawler.storage.export import export
from comity.crawler.storage.open_crawl import open_output
from comity.errors import InputError

QUICK = Policy(min_interval=0, allow_addresses=("127.0.0.0/8",))
NEEDS = {"wacz": "warcio", "parquet": "pyarrow"}


@pytest.fixture
def crawled(site: Site, tmp_path: Path) -> Path:
    """A crawl of three pages, one of them in Latin-1, a refusal and a failure."""
    site.set("/robots.txt", "User-agent: *\nDisallow: /no\n")
    site.link("/", "/a", "/latin", "/no", "/gone")
    site.link("/a")
    site.set("/latin", "<title>Käse</title>".encode("latin-1"), content_type="text/html; charset=latin-1")
    crawl(tmp_path / "out", site.url("/"))
    return tmp_path / "out"


def crawl(folder: Path, *seeds: str, sink: Any = None, workers: int = 1, **choices: Any) -> Crawler:
    crawler = Crawler(seeds, folder, policy=QUICK, settings=choices, plugins={"sink": sink}, workers=workers)
    asyncio.run(crawler.run())
    return crawler


def urls(path: Path, table: str = "pages") -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        return sorted(url for (url,) in db.execute(f"SELECT url FROM {table}"))


def exported(folder: Path, to: str, where: Path, **how: Any) -> dict[str, Any]:
    return export(open_output(folder), to, str(where), **how)


@pytest.mark.parametrize("log", first_of("warc", "jsonl", "jsonl.gz", "jsonl.zst"))
def test_an_export_of_any_log_is_what_the_format_of_that_name_writes(log: str, site: Site, tmp_path: Path) -> None:
    pytest.importorskip({"warc": "warcio", "jsonl.zst": "zstandard"}.get(log, "json"))
    site.link("/", "/latin", "/data", "/gone")
    site.set("/latin", "<title>Käse</title>".encode("latin-1"), content_type="text/html; charset=latin-1")
    site.set("/data", b"\0\1", content_type="application/octet-stream")
    crawl(tmp_path / "log", site.url("/"), sink=log)
    for to in ("files", "sqlite"):
        assert exported(tmp_path / "log", to, tmp_path / to / EXPORTS[to].place)["complete"]
    files = READERS["files"](tmp_path / "files")
    served = dict(files.pages)
    if log == "warc":  # the others keep texts in UTF-8
        assert served[site.url("/latin")] == "<title>Käse</title>".encode("latin-1")
    assert served[site.url("/data")] == b"\0\1"
    with closing(sqlite3.connect(tmp_path / "sqlite" / "crawl.sqlite")) as db:
        assert db.execute("SELECT body FROM pages WHERE url LIKE '%latin'").fetchall() == [("<title>Käse</title>",)]
        assert db.execute("SELECT body_bytes FROM pages WHERE url LIKE '%data'").fetchall() == [(b"\0\1",)]
    assert urls(tmp_path / "sqlite" / "crawl.sqlite") == files.urls
    assert files.failures == [site.url("/gone")]


def test_bytes_that_the_log_does_not_have_are_said_not_to_be_as_served(site: Site, tmp_path: Path) -> None:
    site.set("/", b"caf\xe9", content_type="text/html; charset=latin-1")
    crawl(tmp_path / "log", site.url("/"))
    exported(tmp_path / "log", "files", tmp_path / "files")
    (page,) = (json.loads(line) for line in (tmp_path / "files" / "pages.jsonl").read_text().splitlines())
    assert page["as_served"] is False
    crawl(tmp_path / "exact", site.url("/"), sink="files")
    assert READERS["files"](tmp_path / "exact").pages == [(site.url("/"), b"caf\xe9")]


def test_an_export_of_a_crawl_that_runs_holds_the_pages_that_are_committed(site: Site, tmp_path: Path) -> None:
    site.link("/", *(f"/{number}" for number in range(4)))
    for number in range(4):
        site.link(f"/{number}")
    told: list[str] = []
    found: list[tuple[set[str], set[str]]] = []

    def on_page(page: Any) -> None:
        told.append(page.url)
        exported(tmp_path / "log", "sqlite", tmp_path / "x.sqlite")
        found.append((set(told), set(urls(tmp_path / "x.sqlite"))))

    asyncio.run(Crawler([site.url("/")], tmp_path / "log", policy=QUICK).run(on_page=on_page))
    assert all(said <= held for said, held in found)
    assert len(urls(tmp_path / "x.sqlite")) == 5


def test_an_export_is_repeated_without_harm_and_follows_the_crawl(site: Site, tmp_path: Path) -> None:
    site.link("/", "/a")
    site.link("/a")
    crawl(tmp_path / "log", site.url("/"), max_pages=1)
    where = tmp_path / "x.sqlite"
    first = exported(tmp_path / "log", "sqlite", where)
    made = where.stat().st_ino
    assert exported(tmp_path / "log", "sqlite", where) == first
    assert where.stat().st_ino == made, "nothing is new"
    crawl(tmp_path / "log", max_pages=None)
    exported(tmp_path / "log", "sqlite", where)
    assert len(urls(where)) == 2
    where.unlink()
    exported(tmp_path / "log", "sqlite", where)
    assert len(urls(where)) == 2, "what was removed is made again"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "x.sqlite", "x.sqlite.export.json"]


@pytest.mark.parametrize("to", first_of(*EXPORTS))
def test_an_export_that_breaks_off_anywhere_is_complete_or_says_that_it_is_not(
    to: str, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(NEEDS.get(to, "json"))
    site.link("/", "/a")
    site.link("/a")
    crawl(tmp_path / "log", site.url("/"), sink=EXPORTS[to].log, max_pages=1)
    place = tmp_path / "made" / "crawl.wacz" if to == "wacz" else tmp_path / "made" / EXPORTS[to].place
    manifest = place.with_name(f"{place.name}.export.json") if EXPORTS[to].is_file else place / "export.json"
    before = exported(tmp_path / "log", to, place)
    crawl(tmp_path / "log", max_pages=None)
    steps, number = 0, 0

    def once(real: Any) -> Any:
        def step(*given: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps == number:
                raise KeyboardInterrupt  # as a kill does it: nothing more is done
            return real(*given)

        return step

    for name in ("write", "take", "remove"):
        monkeypatch.setattr(targets.Folder, name, once(getattr(targets.Folder, name)))
    while True:
        number, steps = number + 1, 0
        try:
            after = exported(tmp_path / "log", to, place)
        except KeyboardInterrupt:
            said = json.loads(manifest.read_text())
            assert said == before or said["complete"] is False
            continue
        break
    assert number > 3
    assert after["complete"]
    there = {path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()} - {"export.json"}
    assert not place.is_dir() or there == set(after["files"])


def test_what_is_no_export_of_the_same_crawl_is_left_alone(crawled: Path, site: Site, tmp_path: Path) -> None:
    (tmp_path / "mine.sqlite").write_text("precious")
    with pytest.raises(StorageError, match=r"mine.sqlite already exists there.*another place"):
        exported(crawled, "sqlite", tmp_path / "mine.sqlite")
    assert (tmp_path / "mine.sqlite").read_text() == "precious"
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "pages.jsonl").write_text("precious")
    with pytest.raises(StorageError, match=r"pages.jsonl already exists there"):
        exported(crawled, "jsonl", tmp_path / "lines")
    crawl(tmp_path / "other", site.url("/a"))
    exported(tmp_path / "other", "sqlite", tmp_path / "other.sqlite")
    with pytest.raises(StorageError, match="an export of another crawl or format"):
        exported(crawled, "sqlite", tmp_path / "other.sqlite")
    assert urls(tmp_path / "other.sqlite") == [site.url("/a")]


def test_a_log_that_is_damaged_or_cut_is_not_exported_and_the_earlier_export_stays(
    crawled: Path, tmp_path: Path
) -> None:
    where = tmp_path / "x.sqlite"
    exported(crawled, "sqlite", where)
    pages = crawled / "pages.jsonl"
    whole = pages.read_bytes()
    where.with_name("x.sqlite.export.json").write_text(
        json.dumps(json.loads(where.with_name("x.sqlite.export.json").read_text()) | {"since": 9})
    )  # so that it is made again
    for damaged, words in (
        (whole.replace(b"<title>/a", b"<title>/b"), "its body was changed"),
        (whole.splitlines(keepends=True)[0], "of the 3 pages that were written"),
        (whole[:-20], "cut short"),
        (None, "it is missing"),
    ):
        pages.unlink(missing_ok=True)
        if damaged is not None:
            pages.write_bytes(damaged)
        with pytest.raises(StorageError, match=words):
            exported(crawled, "sqlite", where)
        assert len(urls(where)) == 3


def test_since_a_refresh_only_its_records_are_exported(crawled: Path, site: Site, tmp_path: Path) -> None:
    site.set("/a", "<title>other</title>")
    asyncio.run(Crawler((), crawled, policy=QUICK, refresh=True).run())
    exported(crawled, "sqlite", tmp_path / "all.sqlite")
    exported(crawled, "sqlite", tmp_path / "new.sqlite", since=1)
    assert len(urls(tmp_path / "all.sqlite")) == 4
    assert urls(tmp_path / "new.sqlite") == [site.url("/a")]
    assert len(urls(tmp_path / "new.sqlite", "changes")) >= 3
    with pytest.raises(InputError, match="has no refresh 2: its last is 1"):
        exported(crawled, "sqlite", tmp_path / "none.sqlite", since=2)


def test_a_wacz_needs_a_log_of_warc_and_files_need_the_pages_as_served(crawled: Path, site: Site) -> None:
    with pytest.raises(InvalidSetting, match="wacz is made of a whole log in warc, and that is in jsonl"):
        exported(crawled, "wacz", crawled / "x.wacz")
    crawl(crawled / "markdown", site.url("/"), sink="markdown")
    with pytest.raises(InvalidSetting, match="does not keep the pages as they were served"):
        exported(crawled / "markdown", "files", crawled / "files")


def test_an_export_to_what_fsspec_reaches_is_complete_and_follows_the_crawl(crawled: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    where = f"memory://{crawled.parent.name}/made"
    for _ in range(2):
        export(open_output(crawled), "files", where)
    manifest = json.loads(fsspec.filesystem("memory").cat_file(f"{where}/export.json"))
    there = {path.partition("/made/")[2] for path in fsspec.filesystem("memory").find(where)}
    assert manifest["complete"]
    assert there == {*manifest["files"], "export.json"}
    with pytest.raises(InputError, match="nowhere://"):
        export(open_output(crawled), "files", "nowhere://x")


@pytest.mark.long
def test_a_wacz_of_several_shards_has_the_archives_of_all(site: Site, tmp_path: Path) -> None:
    pytest.importorskip("warcio")
    site.link("/", "/a")
    site.link("/a")
    crawl(tmp_path / "log", site.url("/"), sink="wacz", workers=2)
    with zipfile.ZipFile(tmp_path / "log" / "crawl.wacz") as packed:
        names = [name for name in packed.namelist() if name.startswith("archive/")]
        pages = packed.read("pages/pages.jsonl").decode()
    assert len(names) == len(set(names)) > 1
    assert site.url("/a") in pages
    assert comity("export", str(tmp_path / "log"), "--to", "sqlite", "-o", str(tmp_path / "x.sqlite")).returncode == 0
    assert len(urls(tmp_path / "x.sqlite")) == 2, "one file for all shards"


def test_the_command_says_what_it_wrote_and_a_stopped_crawl_has_its_export(crawled: Path, site: Site) -> None:
    done = comity("export", str(crawled), "--to", "sqlite", "-o", str(crawled / "x.sqlite"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 file, ")
    wrong = comity("export", str(crawled), "--to", "wacz", "-o", str(crawled / "x.wacz"))
    assert wrong.returncode == 64
    assert wrong.stderr.startswith("comity: to: wacz is made of a whole log in warc")
    crawler = Crawler([site.url("/")], crawled / "stopped", policy=QUICK, plugins={"sink": "sqlite"})
    asyncio.run(crawler.run(on_page=lambda _: crawler.stop()))
    assert crawler.stopped
    assert urls(crawled / "stopped" / "crawl.sqlite")
    (crawled / "stopped" / "crawl.sqlite.export.json").unlink()  # so that it is nobody's
    failed = comity("crawl", "-o", str(crawled / "stopped"), "--resume", "-q", "--delay", "0", *ALLOW)
    assert failed.returncode not in (0, 2), "exit 0 means that the export is there"
    assert "comity export" in failed.stderr
