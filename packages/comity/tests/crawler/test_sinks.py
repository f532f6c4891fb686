"""What a crawl writes: in every format the same pages, each once, whatever happened in between."""

import asyncio
import json
import os
import random
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from commands import comity, no_room_beyond, stderr
from conftest import missing
from examples import examples, first_of
from hypothesis import example, given
from hypothesis import strategies as st
from killing import crawling, finished, killed, tree
from outputs import READERS, answered
from power_loss import Disk, PowerCut
from sites import Site

from comity import Crawler, InvalidSetting, Policy, StorageError
from comity.crawler import Sink
from comity.crawler.output import lines
from comity.crawler.output import parquet as parquet_output
from comity.crawler.output.formats import EXPORTS, FORMATS, LOGS
from comity.crawler.output.reader import StoredRecord
from comity.crawler.output.runner import SinkRunner, make, read_back
from comity.crawler.output.sink import Channel
from comity.crawler.output.source import Source, SourcePart
from comity.crawler.output.warc import Warc
from comity.frontier.sqlite.store import Frontier

QUICK = Policy(min_interval=0, backoff=0.05, allow_addresses=("127.0.0.0/8",))
NEEDS = {"warc": "warcio", "wacz": "warcio", "parquet": "pyarrow"}
every_format = pytest.mark.parametrize("form", first_of(*FORMATS))
every_log = pytest.mark.parametrize("form", first_of(*LOGS))


@pytest.fixture(autouse=True)
def _libraries(request: pytest.FixtureRequest) -> None:
    if "form" in request.fixturenames:
        need(request.getfixturevalue("form"))


def need(form: str) -> None:
    if form in NEEDS:
        try:
            __import__(NEEDS[form])
        except ModuleNotFoundError:
            missing(NEEDS[form], f"pip install 'comity[{form}]'")


def crawl(folder: Path, *seeds: str, sink: Sink | str | None = None, **choices: Any) -> Crawler:
    crawler = Crawler(seeds, folder, policy=QUICK, settings=choices, plugins={"sink": sink})
    asyncio.run(crawler.run())
    return crawler


async def no_text(request: web.Request) -> web.StreamResponse:
    """A redirect whose header is no UTF-8."""
    assert request.transport is not None
    request.transport.write(b"HTTP/1.1 301 Moved\r\nLocation: /caf\xe9\r\nContent-Length: 0\r\n\r\n")
    request.transport.close()
    return web.Response()


@every_format
def test_every_format_holds_what_the_crawl_met(form: str, site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /no\n")
    site.link("/", "/a", "/A", "/a/", "/a/b", "/a?x=1", "/no", "/gone", "/moved", "/latin", "/a/b/a/b/a/b")
    for path in ("/a", "/A", "/a/", "/a/b", "/a?x=1"):
        site.set(path, f"<title>{path}</title>")
    site.set("/moved", no_text)
    site.set("/latin", "<title>Käse</title>")
    crawl(tmp_path, site.url("/"), sink=form)
    output = READERS[form](tmp_path)
    bodies = {url.removeprefix(site.url("")): body for url, body in output.pages}
    assert len(bodies) == len(output.pages)
    assert set(bodies) == {"/", "/a", "/A", "/a/", "/a/b", "/a?x=1", "/latin"}
    if form != "markdown":
        assert bodies["/a?x=1"] == b"<title>/a?x=1</title>"
        assert bodies["/latin"].decode() == "<title>Käse</title>"
    assert output.refusals == [site.url("/no")]
    assert site.url("/gone") in output.failures
    assert output.redirects == [site.url("/moved")]
    assert output.traps == [site.url("/a/b/a/b/a/b")]
    assert output.robots == [site.url("/robots.txt")]


def add_page(sink: Sink, number: int) -> tuple[str, bytes]:
    url = f"http://example.com/{number}"
    body = random.Random(number).randbytes(300).hex()
    record = {"url": url, "status": 200, "fetched_at": 1_700_000_000.5, "content_type": "text/html", "body": body}
    sink.add("pages", record, answered(url, body.encode()))
    return url, body.encode()


def small(form: str) -> Sink:
    """A sink whose files roll early."""
    return Warc(roll=2000) if form == "warc" else make(form)


@every_log
@pytest.mark.parametrize("final", [False, True])
def test_what_was_committed_is_read_back_without_what_was_written_later(form: str, final: bool, tmp_path: Path) -> None:
    sink, urls = small(form), []
    sink.open(tmp_path, None)
    for numbers in (range(12), range(12, 20)):
        urls += [add_page(sink, number)[0] for number in numbers]
        committed = sink.flush(final=final and numbers.start > 0)
    later = [add_page(sink, number)[0] for number in range(20, 32)]
    sink.flush(final=False)
    sink.close()

    def read(upto: Any) -> list[str]:
        return [stored.record["url"] for stored in read_back(tmp_path, form, upto) if stored.channel == "pages"]

    assert read(json.loads(json.dumps(committed))) == urls
    assert sorted(read(None)) == sorted(urls + later)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 6)),
        st.tuples(st.just("commit"), st.booleans()),
        st.tuples(st.just("cut"), st.integers(0, 12)),
    ),
    max_size=25,
)
IN_A_NEW_FILE = [("add", 6), ("commit", False), ("add", 1), ("cut", 12)]  # one that was never committed


@every_log
@examples(40)
@example(steps=IN_A_NEW_FILE)
@given(steps=STEPS)
def test_a_kill_at_any_moment_leaves_exactly_what_was_committed(form: str, steps: list[tuple[str, int]]) -> None:
    need(form)
    with tempfile.TemporaryDirectory() as top:
        folder, committed = cut_again_and_again(form, Path(top), steps, keeps_all=True)
        assert sorted(READERS[form](folder).pages) == committed


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs Linux")
@every_log
@examples(60)
@example(steps=IN_A_NEW_FILE)
@given(steps=STEPS)
def test_a_power_cut_at_any_moment_leaves_exactly_what_was_committed(form: str, steps: list[tuple[str, int]]) -> None:
    need(form)
    with tempfile.TemporaryDirectory() as top:
        folder, committed = cut_again_and_again(form, Path(top), steps, keeps_all=False)
        assert sorted(READERS[form](folder).pages) == committed


def cut_again_and_again(
    form: str, top: Path, steps: list[tuple[str, int]], *, keeps_all: bool
) -> tuple[Path, list[tuple[str, bytes]]]:
    """Run a sink through the steps; returns its last folder and the pages that it should hold.

    `cut` N: the end comes at the N-th time the disk is asked to keep something during a flush, or right after.

    Args:
        keeps_all: whether the disk also keeps what it was not asked to, as it does where only the process ends.
    """
    folder = top / "0"
    folder.mkdir()
    marker: Any = None
    committed: list[tuple[str, bytes]] = []
    added: list[tuple[str, bytes]] = []
    number = runs = 0
    disk, watching = Disk(folder), pytest.MonkeyPatch()
    disk.watch(watching)
    sink = small(form)
    sink.open(folder, None)
    try:
        for step, value in [*steps, ("commit", 1)]:
            if step == "add":
                for _ in range(value):
                    added.append(add_page(sink, number))
                    number += 1
            elif step == "commit":
                marker = json.loads(json.dumps(sink.flush(final=bool(value))))
                committed, added = committed + added, []
            else:
                disk.watch(watching, value)
                with suppress(PowerCut):
                    sink.flush(final=value % 2 == 0)
                runs += 1
                after = top / str(runs)
                if keeps_all:
                    shutil.copytree(folder, after)
                else:
                    disk.rebuild(after)
                watching.undo()
                disk.close()
                sink.close()
                folder, added = after, []
                disk = Disk(folder)
                disk.watch(watching)
                sink = small(form)
                sink.open(folder, marker)
        sink.flush(final=False)
        sink.close()
    finally:
        watching.undo()
        disk.close()
    return folder, sorted(committed)


@pytest.mark.long
@every_format
def test_a_crawl_killed_at_random_moments_has_every_page_once(form: str, site: Site, tmp_path: Path) -> None:
    there, command = tree(site, 240), crawling(tmp_path / "out")
    moments = random.Random(form)
    kills = killed(
        command,
        site,
        begin=[site.url("/0"), "--format", form],
        times=6,
        after=lambda: moments.randrange(10, 60),
        linger=lambda: moments.random() * 0.05,
    )
    finished(command)
    assert kills >= 3
    urls = READERS[form](tmp_path / "out").urls
    assert [url for url, times in Counter(urls).items() if times > 1] == []
    assert set(urls) == there


@every_format
@pytest.mark.skipif(os.name == "nt", reason="POSIX limits")
def test_a_full_disk_stops_the_crawl_and_it_goes_on_when_there_is_room(form: str, site: Site, tmp_path: Path) -> None:
    bodies = {f"/{number}": random.Random(number).randbytes(60_000).hex() for number in range(20)}
    site.link("/", *bodies)
    for path, body in bodies.items():
        site.set(path, body, content_type="text/plain")
    if form == "markdown":  # one page is too large for the limit, as one write may be too large for the disk
        site.set("/7", "x" * 900_000, content_type="text/plain")
    words = ["crawl", "-o", str(tmp_path), "--delay", "0.01", "--allow-address", "127.0.0.0/8", "--format", form]
    with no_room_beyond(800 * 1024):
        full = comity(*words, site.url("/"))
    assert full.returncode in (73, 74), full.stderr
    assert str(tmp_path) in full.stderr
    assert len(stderr(full).splitlines()) == 1, full.stderr
    done = comity(*words, "--resume")
    assert done.returncode == 0, done.stderr
    assert READERS[form](tmp_path).urls == sorted([site.url("/"), *(site.url(path) for path in bodies)])


@every_log
def test_output_changed_from_outside_is_noticed(form: str, site: Site, tmp_path: Path) -> None:
    site.link("/")
    crawl(tmp_path, site.url("/"), sink=form)
    for path in tmp_path.iterdir():
        if path.is_file() and path.name != "frontier.sqlite":
            path.unlink()
    with pytest.raises(StorageError, match="another program changed it"):
        crawl(tmp_path)


def test_a_crawl_goes_on_in_the_format_it_was_begun_with(site: Site, tmp_path: Path) -> None:
    site.link("/", "/a")
    site.link("/a")
    crawl(tmp_path, site.url("/"), sink="sqlite", max_pages=1)
    with pytest.raises(StorageError, match="written as sqlite, not as jsonl"):
        crawl(tmp_path, sink="jsonl")
    assert crawl(tmp_path, max_pages=None).format == "sqlite"
    assert len(READERS["sqlite"](tmp_path).pages) == 2
    with pytest.raises(InvalidSetting, match=r"'csv' is neither one of jsonl, .*warc"):
        crawl(tmp_path / "other", site.url("/"), sink="csv")


def test_a_crawl_stopped_before_its_first_commit_keeps_its_format(site: Site, tmp_path: Path) -> None:
    site.link("/")
    with (
        Frontier(tmp_path / "frontier.sqlite") as frontier,
        ThreadPoolExecutor(1) as thread,
        SinkRunner("sqlite", tmp_path, frontier).opened(thread),
    ):
        pass
    with pytest.raises(StorageError, match=r"stopped before it started .*give its URLs"):
        crawl(tmp_path)
    assert crawl(tmp_path, site.url("/")).format == "sqlite"
    assert len(READERS["sqlite"](tmp_path).pages) == 1


FOREIGN = {
    "jsonl": ("pages.jsonl", "robots.jsonl", "changes.jsonl", "ledger.jsonl"),
    "jsonl.gz": ("pages.jsonl.gz", "robots.jsonl.gz", "ledger.jsonl"),
    "jsonl.zst": ("pages.jsonl.zst", "changes.jsonl.zst", "ledger.jsonl"),
    "warc": ("crawl-00001.warc.gz", "crawl-00007.warc.gz", "ledger.jsonl"),
    "wacz": ("crawl-00001.warc.gz", "crawl.wacz", "ledger.jsonl"),
    "parquet": ("pages/00001.parquet", "traps.jsonl"),
    "sqlite": ("crawl.sqlite", "crawl.sqlite.export.json"),
    "files": ("pages.jsonl", "files/thesis.txt"),
    "markdown": ("pages.jsonl", "files/thesis.txt"),
}


@every_format
def test_no_file_that_is_not_the_crawls_own_is_written_over(form: str, site: Site, tmp_path: Path) -> None:
    site.link("/")
    for number, name in enumerate(FOREIGN[form]):
        folder = tmp_path / str(number)
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text("precious")
        for _ in range(2):
            with pytest.raises(StorageError, match=f"{name.partition('/')[0]} already exists.*another folder"):
                crawl(folder, site.url("/"), sink=form)
            assert (folder / name).read_text() == "precious"
            assert not list(folder.glob("frontier*"))
        (folder / name).rename(tmp_path / "moved")
        assert crawl(folder, site.url("/"), sink=form).stats.pages == 1
    assert crawl(folder, sink=form).stats.pages == 1


def test_files_of_nobodys_format_and_empty_ones_are_no_hindrance(site: Site, tmp_path: Path) -> None:
    site.link("/")
    (tmp_path / "pages.jsonl").touch()
    (tmp_path / "notes.txt").write_text("precious")
    (tmp_path / "crawl.sqlite").write_text("precious")
    assert crawl(tmp_path, site.url("/")).stats.pages == 1
    assert (tmp_path / "notes.txt").read_text() == (tmp_path / "crawl.sqlite").read_text() == "precious"


def exported(form: str, folder: Path, *records: tuple[Channel, dict[str, Any]], **given: Any) -> None:
    """What an export makes of some records, as `--format` names it."""

    def read_back(*, channels: Sequence[Channel]) -> Iterator[StoredRecord]:
        for number, (channel, record) in enumerate(records, 1):
            if channel in channels:
                yield StoredRecord(channel, "log", number, dict(record))

    export = EXPORTS[form]
    part = SourcePart(folder, "", "jsonl", {}, 0, {}, read_back)
    folder.mkdir(exist_ok=True)
    export.writer(form)(Source("title", [part], **given), folder / (export.place or "made"))
    for path in folder.glob("made/*"):
        path.rename(folder / path.name)


@pytest.mark.parametrize("form", ["parquet", "sqlite"])
def test_a_record_that_fits_no_column_is_kept_all_the_same(form: str, tmp_path: Path) -> None:
    odd = {
        "url": "http://a.example/\udce9",
        "status": "odd",
        "fetched_at": None,
        "new": [1, {"a": None}],
        "body": "b\0",
    }
    exported(form, tmp_path, ("pages", odd), ("records", {"url": "http://a.example/", "record": {"price": 3.5}}))
    (page,), (record,) = rows(form, tmp_path, "pages"), rows(form, tmp_path, "records")
    assert page["url"] == "http://a.example/\ufffd"
    assert (page["status"], page["body"]) == (None, "b\0")
    assert json.loads(page["more"]) == {"status": "odd", "new": [1, {"a": None}]}
    assert json.loads(record["record"]) == {"price": 3.5}
    assert record["price"] == 3.5


MADE: list[Any] = [
    {"name": "pen", "price": 3, "sizes": [1, 2], "new": True, "url": "https://shop.example/", "note": None},
    {"name": "ink", "price": 2.5, "Price": 9, "stock": 4, 'a "b" c': "c"},
    {"name": "cap", "stock": "many", "new": False, "deep": {"a": 1}, "big": 2**70},
    ["no", "fields"],
]


@pytest.mark.parametrize("form", ["parquet", "sqlite"])
def test_the_flat_fields_of_an_expander_are_columns_whenever_they_turn_up(form: str, tmp_path: Path) -> None:
    exported(form, tmp_path, *(("records", {"url": "http://a.example/", "record": made}) for made in MADE))
    found = rows(form, tmp_path, "records")
    names = ("name", "price", "new", "stock", 'a "b" c', "big")
    assert [
        tuple(row[name] if name != "stock" else row[name] and str(row[name]) for name in names) for row in found
    ] == [
        ("pen", 3.0, True, None, None, None),
        ("ink", 2.5, None, "4", "c", None),
        ("cap", None, False, "many", None, str(2**70)),
        (None, None, None, None, None, None),
    ]
    assert [json.loads(row["record"]) for row in found] == MADE, "each is there whole"
    assert not {"sizes", "deep", "Price", "note"} & set(found[0])


def test_pandas_reads_a_column_of_an_expander_from_all_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = pytest.importorskip("pandas")
    need("parquet")
    monkeypatch.setattr(parquet_output, "MAX_PART_BYTES", 4000)
    monkeypatch.setattr(parquet_output, "MAX_GROUP_BYTES", 1200)
    made = [{"n": number, "text": "x" * 200, **({"late": f"{number}"} if number > 40 else {})} for number in range(60)]
    records = ({"url": f"http://a.example/{each['n']}", "record": each} for each in made)
    exported("parquet", tmp_path, *(("records", record) for record in records))
    assert len(list(tmp_path.glob("records/*.parquet"))) > 3
    frame = pandas.read_parquet(tmp_path / "records")
    assert list(frame["n"]) == list(range(60))
    assert [each for each in frame["late"] if isinstance(each, str)] == [f"{number}" for number in range(41, 60)]


@pytest.mark.parametrize("form", ["parquet", "sqlite"])
def test_a_record_of_very_many_fields_has_columns_for_a_hundred(form: str, tmp_path: Path) -> None:
    made = {f"field {number}": number for number in range(1000)}
    exported(form, tmp_path, ("records", {"url": "http://a.example/", "record": made}))
    (row,) = rows(form, tmp_path, "records")
    assert sum(name.startswith("field ") for name in row) == 100
    assert json.loads(row["record"]) == made


def rows(form: str, folder: Path, channel: str) -> list[dict[str, Any]]:
    if form == "parquet":
        import pyarrow.parquet

        found: list[dict[str, Any]] = pyarrow.parquet.read_table(folder / channel).to_pylist()
        return found
    with closing(sqlite3.connect(folder / "crawl.sqlite")) as db:
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute(f"SELECT * FROM {channel}")]


def test_json_lines_are_utf_8_whatever_a_header_held(site: Site, tmp_path: Path) -> None:
    site.set("/", no_text)
    crawl(tmp_path, site.url("/"))
    (redirect,) = (tmp_path / "redirects.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(redirect)["location"] == "/caf\udce9"


@given(
    st.dictionaries(
        st.text(),
        st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text() | st.lists(st.text()) | st.just(0.1),
    )
)
@example({"header": "\udce9", "title": 'Grüße "\u2028\x00\x7f/\\'})
@example({"bytes": 2**64})
def test_json_lines_are_the_same_whoever_writes_them(record: dict[str, Any]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        fast = lines.line(record, "pages")
        patch.setattr(lines, "orjson", None)
        assert fast == lines.line(record, "pages")


@given(st.dictionaries(st.sampled_from(["url", "title", "body_of"]), st.text()), st.text(st.characters(codec="utf-8")))
@example({"title": "\udce9"}, 'Grüße "\u2028\x00\x7f/\\')
@example({"title": "\\ud"}, "Grüße")
def test_a_text_in_utf_8_makes_the_same_line_as_the_text(record: dict[str, Any], text: str) -> None:
    plain = lines.line({"url": "", **record, "body": text}, "pages")
    assert lines.line({"url": "", **record, "body": text.encode()}, "pages") == plain
