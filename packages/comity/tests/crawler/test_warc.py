"""WARC files: what the standard asks for, and what the programs that read archives make of them."""

import asyncio
import gzip
import io
import json
import shutil
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from commands import ALLOW, comity
from conftest import missing
from hypothesis import given
from hypothesis import strategies as st
from outputs import answered
from sites import HANGS, Site

from comity import ClientSettings, Crawler, Policy
from comity.crawler.output import cdxj, warc
from comity.errors import InvalidURL
from comity.policy import RobotsResult
from comity_pages import urls

pytest.importorskip("warcio", reason="pip install 'comity[warc]'")

from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from comity.crawler.output.warc import Warc

QUICK = Policy(min_interval=0, allow_addresses=("127.0.0.0/8",))


class Record:
    """One record, read by warcio."""

    def __init__(self, record: Any) -> None:
        self.kind: str = record.rec_type
        self.fields: dict[str, str] = dict(record.rec_headers.headers)
        self.http = record.http_headers
        self.body: bytes = record.content_stream().read()

    @property
    def url(self) -> str:
        return self.fields.get("WARC-Target-URI", "")

    @property
    def id(self) -> str:
        return self.fields["WARC-Record-ID"]

    @property
    def facts(self) -> Any:
        """What a metadata record of ours says."""
        return json.loads(self.body.decode().splitlines()[1].removeprefix("comity-record: "))


def read(folder: Path) -> list[Record]:
    records = []
    for path in sorted(folder.glob("*.warc.gz")):
        with path.open("rb") as file:
            records += [Record(record) for record in ArchiveIterator(file, check_digests="raise")]
    return records


def the(records: list[Record], kind: str, url: str) -> Record:
    (record,) = [record for record in records if record.kind == kind and record.url == url]
    return record


@pytest.fixture
def archive(site: Site, tmp_path: Path) -> Path:
    """An archive of a small site."""

    async def odd(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.write(
            b"HTTP/1.1 200 Quite Fine\r\nX-Odd: caf\xe9\r\nX-Two: 1\r\nx-two: 2\r\nContent-Length: 2\r\n\r\nhi"
        )
        request.transport.close()
        return web.Response()

    site.set("/robots.txt", "User-agent: *\nDisallow: /no\n")
    site.link("/", "/page?q=1", "/no", "/gone", "/moved", "/zip", "/odd")
    site.set("/page?q=1", "<title>1</title>")
    site.set("/moved", status=301, headers={"Location": "/page?q=1"})
    site.set("/zip", gzip.compress(b"<title>z</title>"), headers={"Content-Encoding": "gzip"})
    site.set("/odd", odd)
    asyncio.run(Crawler([site.url("/")], tmp_path, policy=QUICK, plugins={"sink": "warc"}).run())
    return tmp_path


def test_a_page_is_a_response_with_its_request_and_its_decision(archive: Path, site: Site) -> None:
    records = read(archive)
    url = site.url("/page?q=1")
    response, request, metadata = (the(records, kind, url) for kind in ("response", "request", "metadata"))
    assert response.body == b"<title>1</title>"
    assert response.http.get_statuscode() == "200"
    assert (request.http.protocol, request.http.statusline) == ("GET", "/page?q=1 HTTP/1.1")
    assert request.http.get_header("User-Agent") == QUICK.agent
    assert request.http.get_header("Host") == f"127.0.0.1:{site.port}"
    assert request.fields["WARC-Concurrent-To"] == metadata.fields["WARC-Concurrent-To"] == response.id
    assert metadata.facts["decision"]["verdict"] == "allowed_implicit"
    assert len({record.id for record in records}) == len(records)
    robots = the(records, "response", site.url("/robots.txt"))
    assert b"Disallow: /no" in robots.body
    about = the(records, "metadata", site.url("/robots.txt"))
    assert about.facts["sha256"] == metadata.facts["decision"]["robots_sha256"]


def test_refusals_failures_and_redirects_are_archived_too(archive: Path, site: Site) -> None:
    records = read(archive)
    assert the(records, "metadata", site.url("/no")).facts["decision"]["line"] == 2
    assert [record.kind for record in records if record.url == site.url("/no")] == ["metadata"]
    assert the(records, "response", site.url("/gone")).http.get_statuscode() == "404"
    assert the(records, "response", site.url("/gone")).body == b"not here"
    assert the(records, "response", site.url("/moved")).http.get_header("Location") == "/page?q=1"


def test_the_index_beside_the_archive_is_the_one_that_standard_tools_make(
    archive: Path, site: Site, tmp_path_factory: pytest.TempPathFactory
) -> None:
    # covers: pages, redirects, failures and robots.txt of a first run, a resumed one and a refresh
    policy = Policy(agent="Other/1.0", min_interval=0, allow_addresses=("127.0.0.0/8",))
    site.set("/late/", "<title>late</title>", headers={"Content-Type": "text/html;charset=utf-8"})
    asyncio.run(Crawler([site.url("/late/")], archive, policy=policy).run())
    site.set("/late/", "<title>later</title>")
    asyncio.run(Crawler((), archive, policy=policy, refresh=True).run())
    made = tmp_path_factory.mktemp("index") / "index.cdxj"
    run("cdxj-indexer", "--sort", "-o", str(made), str(archive / "crawl-00001.warc.gz"))
    assert (archive / "crawl-00001.cdxj").read_text() == made.read_text()
    assert f"127:{site.port})/late " in made.read_text()


def test_a_place_in_the_index_is_a_record_with_the_address_that_it_came_from(archive: Path, site: Site) -> None:
    lines = (archive / "crawl-00001.cdxj").read_bytes().splitlines()
    assert lines == sorted(lines)
    found = {}
    for line in lines:
        key, time, said = line.decode().split(" ", 2)
        entry = json.loads(said)
        assert key.startswith(f"1,0,0,127:{site.port})/")
        data = (archive / entry["filename"]).read_bytes()
        member = data[int(entry["offset"]) : int(entry["offset"]) + int(entry["length"])]
        (record,) = (Record(each) for each in ArchiveIterator(io.BytesIO(member), check_digests="raise"))
        assert (record.kind, record.url) == ("response", entry["url"])
        assert record.http.get_statuscode() == entry["status"]
        assert record.fields["WARC-Payload-Digest"] == entry["digest"]
        assert record.fields["WARC-Date"].translate({ord(sign): None for sign in "-:TZ"})[:14] == time
        assert record.fields["WARC-IP-Address"] == "127.0.0.1"
        found[entry["url"].removeprefix(site.url(""))] = entry.get("mime")
    assert found == {
        "/": "text/html",
        "/page?q=1": "text/html",
        "/gone": "text/plain",
        "/moved": "text/html",
        "/zip": "text/html",
        "/odd": None,
        "/robots.txt": "text/plain",
    }


def test_an_index_of_more_lines_than_are_sorted_at_once_is_sorted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cdxj, "_SORTED_AT_ONCE", 1000)
    index = cdxj.Index(tmp_path / "crawl-00001.warc.gz")
    for number in range(50):
        url = f"http://example.com/{number * 37 % 50}"
        index.add(url, "2026-11-22T06:38:12.123Z", mime=None, status="200", digest=None, length=1, offset=number)
    index.flush()
    index.sort()
    index.close()
    lines = (tmp_path / "crawl-00001.cdxj").read_text().splitlines()
    assert lines == sorted(lines)
    assert len(lines) == 50
    assert lines[0].startswith('com,example)/0 20261122063812 {"url": "http://example.com/0", "status": "200"')


URL_PARTS = st.text(st.sampled_from("aB9/.%2fFcé ?&=;()+'~#:@wsid-_"), max_size=30)


HOSTS = ("www.example.com", "www2.Example.com:8080", "w.example:443", "127.0.0.1", "[::1]:1", "www.", "me:pw@a.example")
SESSIONS = ("", f"&JSESSIONID={'a' * 32}&", f"sid={'0' * 32}", "cfid=1&cftoken=2&x", f"/({'a' * 24})/x.aspx")


@given(host=st.sampled_from(HOSTS), path=URL_PARTS, query=st.none() | URL_PARTS, session=st.sampled_from(SESSIONS))
def test_the_keys_of_an_index_are_those_of_the_internet_archives_library(
    host: str, path: str, query: str | None, session: str
) -> None:
    library = pytest.importorskip("surt", reason="pip install surt")
    text = f"https://{host}/{path}{session}" + ("" if query is None else f"?{query}{session}")
    try:
        url = urls.normalise(text)
    except InvalidURL:
        return
    assert cdxj.surt(url) == library.surt(url)


def test_raw_bodies_are_the_octets_that_came_and_are_proved(site: Site, tmp_path: Path) -> None:
    """Of what came without a content coding they are the same in any case."""
    coded = {"/zip": gzip.compress(b"<a href=/deep>z</a>", 9), "/deflated": zlib.compress(b"<p>d</p>")}
    site.link("/", *coded)
    site.set("/zip", coded["/zip"], headers={"Content-Encoding": "gzip"})
    site.set("/deflated", coded["/deflated"], headers={"Content-Encoding": "deflate"})
    site.set("/deep", "deep")
    for again in ((), ("--refresh",)):
        words = ("crawl", *([] if again else [site.url("/")]), *again, "-o", "out", "--delay", "0", *ALLOW)
        done = comity(*words, "--raw", *([] if again else ["--format", "warc"]), cwd=tmp_path)
        assert done.returncode in (0, 2), done.stderr
    records = []
    with (tmp_path / "out" / "crawl-00001.warc.gz").open("rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            if record.rec_type == "response":
                path = record.rec_headers["WARC-Target-URI"].removeprefix(site.url(""))
                records.append((path, record.http_headers["Content-Encoding"], record.raw_stream.read()))
    for path, coding in (("/zip", "gzip"), ("/deflated", "deflate")):
        assert records.count((path, coding, coded[path])) == 2  # packed anew it might be other octets
    assert records.count(("/deep", None, b"deep")) == 1
    proved = comity("prove", "out", cwd=tmp_path)
    assert proved.returncode == 0, proved.stdout
    assert "bodies" not in proved.stdout


def test_headers_are_kept_as_received_and_none_belies_the_body(archive: Path, site: Site) -> None:
    zipped = the(read(archive), "response", site.url("/zip"))
    assert zipped.body == b"<title>z</title>"
    assert zipped.http.get_header("Content-Length") == str(len(zipped.body))
    assert zipped.http.get_header("Content-Encoding") is None
    assert zipped.http.get_header("X-Crawler-Content-Encoding") == "gzip"
    raw = gzip.decompress((archive / "crawl-00001.warc.gz").read_bytes())
    assert b"HTTP/1.1 200 Quite Fine\r\nX-Odd: caf\xe9\r\nX-Two: 1\r\nx-two: 2\r\n" in raw


def test_each_file_begins_with_a_warcinfo_and_each_record_is_a_gzip_member(tmp_path: Path) -> None:
    sink = Warc(roll=1500)
    sink.open(tmp_path, None)
    for number in range(9):
        url = f"http://example.com/{number}"
        sink.add("pages", {"url": url, "fetched_at": 1.5}, answered(url, b"x" * 500))
        sink.flush(final=False)
    sink.close()
    files = sorted(tmp_path.glob("*.warc.gz"))
    assert len(files) > 2
    for path in files:
        with path.open("rb") as file:
            archive = ArchiveIterator(file)
            first = Record(next(archive))
            offsets = [archive.get_record_offset() for _ in archive]
        assert first.kind == "warcinfo"
        assert first.fields["WARC-Filename"] == path.name
        assert b"software: comity/" in first.body
        data = path.read_bytes()
        for offset in offsets:
            assert gzip.GzipFile(fileobj=io.BytesIO(data[offset:])).readline() == b"WARC/1.1\r\n"
    assert next(record.fields["WARC-Date"] for record in read(tmp_path) if record.kind == "response") == (
        "1970-01-01T00:00:01.500Z"
    )


def test_a_robots_txt_without_answer_or_without_body_is_told_as_it_was(tmp_path: Path) -> None:
    sink = Warc()
    sink.open(tmp_path, None)
    dead = RobotsResult.unreachable(
        "http://a.example", "http://a.example/robots.txt", "no connection", fetched_at=1.0, policy=QUICK
    )
    none = RobotsResult.from_response(
        "http://b.example",
        "http://b.example/robots.txt",
        404,
        b"<p>not found",
        fetched_at=1.0,
        policy=QUICK,
    )
    for result in (dead, none):
        sink.add("robots", {"url": result.url, "error": result.error, "status": result.status}, result)
    sink.flush(final=True)
    sink.close()
    records = read(tmp_path)
    assert [record.kind for record in records if record.url == dead.url] == ["metadata"]
    assert the(records, "metadata", dead.url).facts["error"] == "no connection"
    kept = the(records, "response", none.url)
    assert kept.http.statusline == "404 Not Found"
    assert kept.fields["WARC-Truncated"] == "unspecified", "the body of a 404 is not kept"


@pytest.mark.parametrize(
    ("status", "length", "coded", "truncated"),
    [
        (200, 100, False, None),
        (200, 600_000, False, "length"),
        (200, 600_000, True, "length"),
        (200, 512_000, True, None),
        (404, 100, False, "unspecified"),
        (404, 100, True, "unspecified"),
        (404, 0, False, None),
        (503, 100, True, "unspecified"),
    ],
)
def test_a_robots_txt_that_is_not_there_whole_is_no_whole_record(
    site: Site, tmp_path: Path, status: int, length: int, coded: bool, truncated: str | None
) -> None:
    """ISO 28500, 5.13, whatever the answer says of its length."""
    body = (b"# comment\n" * length)[:length]
    headers = {"Content-Encoding": "gzip"} if coded else {}
    site.set("/robots.txt", gzip.compress(body) if coded else body, status=status, headers=headers)
    settings = ClientSettings(max_robots_body=512_000, cache=str(tmp_path / "cache"))
    for run in ("first", "from the cache"):
        folder = tmp_path / run
        asyncio.run(
            Crawler([site.url("/")], folder, policy=QUICK, client_settings=settings, plugins={"sink": "warc"}).run()
        )
        kept = the(read(folder), "response", site.url("/robots.txt"))
        assert kept.fields.get("WARC-Truncated") == truncated
        assert len(kept.body) == (min(length, 512_000) if status == 200 else 0)


def test_a_record_that_unpacks_to_more_than_any_page_is_given_up(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = [stored for stored in warc.read_back(archive) if stored.channel == "pages"]
    assert whole
    largest = max(len(stored.record["body_bytes"]) for stored in whole)
    monkeypatch.setattr(warc, "MAX_RECORD_BYTES", largest - 1)
    *_, last = warc.read_back(archive)
    assert "it cannot be read: ValueError: a record has more than" in (last.problem or "")


RESPONSE = b"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: https://h.example/\r\nContent-Length: %d\r\n"


@pytest.mark.parametrize(
    ("before", "again"),
    [
        (b"", b"a"),
        (RESPONSE + b"X-A: ", b"a"),
        (RESPONSE, b"X-A: b\r\n"),
        (RESPONSE + b"\r\nHTTP/1.1 200 OK\r\n", b"X-A: b\r\n"),
        (RESPONSE + b"\r\nHTTP/1.1 200 OK\r\nX-A: ", b"a"),
    ],
)
def test_a_head_that_unpacks_to_more_than_any_head_is_given_up(
    tmp_path: Path, before: bytes, again: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warc, "MAX_HEAD_BYTES", 100_000)
    size = 3 * warc.MAX_HEAD_BYTES
    head = before % size if b"%d" in before else before
    (tmp_path / "crawl-00001.warc.gz").write_bytes(gzip.compress(head + again * (size // len(again)), 1))
    (found,) = warc.read_back(tmp_path)
    assert "the head of a record has more than 100,000 bytes" in (found.problem or "")


def test_no_credentials_are_archived(site: Site, tmp_path: Path) -> None:
    site.set("/", "<title>private</title>")
    settings = ClientSettings(
        auth={site.url("/"): ("me", "secret")}, headers={"X-Api-Key": "secret", "From": "me@test"}
    )
    asyncio.run(
        Crawler([site.url("/")], tmp_path, policy=QUICK, client_settings=settings, plugins={"sink": "warc"}).run()
    )
    assert site.seen[-1].headers["Authorization"].startswith("Basic ")
    assert site.seen[-1].headers["X-Api-Key"] == "secret"
    request = the(read(tmp_path), "request", site.url("/"))
    assert request.http.get_header("From") == "me@test"
    assert request.http.get_header("User-Agent") == QUICK.agent
    for name in ("Authorization", "X-Api-Key"):
        assert request.http.get_header(name) is None


def test_what_had_no_answer_refers_to_none_and_records_refer_to_their_page(tmp_path: Path) -> None:
    sink = Warc()
    sink.open(tmp_path, None)
    url = "http://a.example/robots.txt"
    sink.add("pages", {"url": url}, answered(url, b"x"))
    sink.add("records", {"url": url, "record": {"price": 1}})
    dead = RobotsResult.unreachable("http://a.example", url, "no connection", fetched_at=1.0, policy=QUICK)
    sink.add("robots", {"url": url}, dead)
    sink.flush(final=True)
    sink.close()
    (page, *about) = [record for record in read(tmp_path) if record.url == url]
    assert [record.fields.get("WARC-Concurrent-To") for record in about] == [page.id, page.id, None]


def test_a_header_cannot_add_lines_to_the_archive(tmp_path: Path) -> None:
    sink = Warc()
    sink.open(tmp_path, None)
    url = "http://a.example/"
    sink.add(
        "pages",
        {"url": url, "title": "a\r\nb: c"},
        answered(url, b"x", {"X": "1\r\nX-Forged: 2\r\n\r\nno"}, reason="O\nK"),
    )
    sink.flush(final=True)
    sink.close()
    records = read(tmp_path)
    kept = the(records, "response", url)
    assert kept.http.get_header("X-Forged") is None
    assert kept.body == b"x"
    assert the(records, "metadata", url).facts["title"] == "a\r\nb: c"


def run(program: str, *words: str) -> str:
    path = Path(sys.executable).parent / program
    found = str(path) if path.exists() else shutil.which(program)
    if found is None:
        missing(program, f"pip install {program}")
    assert found is not None
    done = subprocess.run([found, *words], capture_output=True, text=True, check=False, timeout=HANGS)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_warcio_finds_nothing_wrong(archive: Path) -> None:
    said = run("warcio", "check", "-v", str(archive / "crawl-00001.warc.gz"))
    assert said.count("digest pass") == len(read(archive))
    assert "digest failed" not in said


def test_fastwarc_reads_the_same_records(archive: Path) -> None:
    warc = pytest.importorskip("fastwarc.warc")
    with (archive / "crawl-00001.warc.gz").open("rb") as file:
        found = [record.record_id for record in warc.ArchiveIterator(file, func_filter=warc.has_block_digest)]
        file.seek(0)
        assert all(record.verify_block_digest() for record in warc.ArchiveIterator(file, parse_http=False))
    assert [f"<{id_.strip('<>')}>" for id_ in found] == [record.id for record in read(archive)]
