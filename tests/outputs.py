"""Responses to give to a sink, and what a sink wrote read back with the format's own reader: each page's URL and body,
each refusal's URL.
"""

import gzip
import hashlib
import json
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from comity import Policy, Response
from comity.gate import Go
from comity.policy import OriginPolicy

_GO = Go("http://a.example/", "a.example", OriginPolicy(Policy(mode="ignore"), None), 0.0)


def answered(url: str, body: bytes, headers: Mapping[str, str] | None = None, *, reason: str = "OK") -> Response:
    """A response that came without a network."""
    return Response(
        url=url,
        status=200,
        headers=headers or {"Content-Type": "text/html", "Content-Length": str(len(body))},
        go=_GO,
        body=body,
        fetched_at=1.5,
        elapsed=0.1,
        reason=reason,
    )


OTHERS = ("refusals", "failures", "redirects", "robots", "traps")


@dataclass(frozen=True)
class Output:
    """What a folder holds: (URL, body) of each page and the URLs of the other channels, repetitions kept."""

    pages: list[tuple[str, bytes]]
    refusals: list[str]
    failures: list[str]
    redirects: list[str]
    robots: list[str]
    traps: list[str]

    @property
    def urls(self) -> list[str]:
        return sorted(url for url, _ in self.pages)


def lines(path: Path) -> list[dict[str, Any]]:
    """What a file of JSON Lines holds, packed or not; nothing where there is none."""
    return [json.loads(line) for line in _read(path).decode().splitlines()] if path.exists() else []


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read(path: Path) -> bytes:
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes())
    if path.suffix == ".zst":
        zstandard = pytest.importorskip("zstandard")
        with path.open("rb") as file:
            return bytes(zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read())
    return path.read_bytes()


def _jsonl(folder: Path, suffix: str = ".jsonl", *, bodies: bool = True) -> Output:
    def urls(channel: str) -> list[str]:
        return [record["url"] for record in lines(folder / f"{channel}{suffix}")]

    pages = [(record["url"], record["body"].encode()) for record in lines(folder / f"pages{suffix}") if bodies]
    return Output(pages, *map(urls, OTHERS))


def _files(folder: Path) -> Output:
    index = {record["file"]: record["url"] for record in lines(folder / "pages.jsonl")}
    assert len(index) == len(lines(folder / "pages.jsonl")), "two pages in one file"
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*~*")}
    assert there == set(index), "the index names exactly the files that are there"
    pages = [(url, (folder / file).read_bytes()) for file, url in index.items()]
    return replace(_jsonl(folder, bodies=False), pages=pages)


def _sqlite(folder: Path) -> Output:
    with sqlite3.connect(folder / "crawl.sqlite") as db:

        def urls(channel: str) -> list[str]:
            return [url for (url,) in db.execute(f"SELECT url FROM {channel} ORDER BY id")]

        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        pages = [(url, body.encode()) for url, body in db.execute("SELECT url, body FROM pages ORDER BY id")]
        output = Output(pages, *map(urls, OTHERS))
    db.close()
    return output


def _parquet(folder: Path) -> Output:
    parquet = pytest.importorskip("pyarrow.parquet")
    assert not list(folder.glob(".export.new")), "something is left over"

    def rows(channel: str) -> list[dict[str, Any]]:
        return [
            row for part in sorted(folder.glob(f"{channel}/*.parquet")) for row in parquet.read_table(part).to_pylist()
        ]

    def urls(channel: str) -> list[str]:
        return [row["url"] for row in rows(channel)]

    pages = [(row["url"], row["body"].encode()) for row in rows("pages")]
    return Output(pages, *map(urls, OTHERS))


def _warc(folder: Path) -> Output:
    archiveiterator = pytest.importorskip("warcio.archiveiterator")
    bodies: dict[str, bytes] = {}
    urls: dict[str, list[str]] = {}
    pages: list[tuple[str, bytes]] = []
    for path in sorted(folder.glob("crawl-*.warc.gz")):
        with path.open("rb") as file:
            lines = path.with_name(path.name.replace(".warc.gz", ".cdxj")).read_bytes().splitlines()
            assert lines == sorted(lines)
            index = {int(entry["offset"]): entry for entry in (json.loads(line.split(b" ", 2)[2]) for line in lines)}
            assert len(index) == len(lines)
            records = archiveiterator.ArchiveIterator(file, check_digests="raise")
            for record in records:
                headers = record.rec_headers
                body = record.content_stream().read()
                if record.rec_type in ("response", "revisit"):
                    entry = index.pop(records.get_record_offset())
                    assert entry["length"] == str(records.get_record_length())
                    assert entry["url"] == headers.get_header("WARC-Target-URI")
                if record.rec_type == "response":
                    bodies[headers.get_header("WARC-Record-ID")] = body
                elif record.rec_type == "metadata":
                    kind = body.decode().splitlines()[0].removeprefix("comity-kind: ")
                    facts = json.loads(body.decode().splitlines()[1].removeprefix("comity-record: "))
                    assert facts["url"] == headers.get_header("WARC-Target-URI")
                    urls.setdefault(kind, []).append(facts["url"])
                    if kind == "page":
                        pages.append((facts["url"], bodies[headers.get_header("WARC-Concurrent-To")]))
            assert not index, "the index names what is not there"
    named = [urls.get(kind, []) for kind in ("refusal", "failure", "redirect", "robots", "trap")]
    return Output(pages, *named)


def _markdown(folder: Path) -> Output:
    """The bodies are Markdown; where the files of it are made, they are those of these pages."""
    pages = lines(folder / "pages.jsonl")
    if (folder / "files").exists():
        made = {path.relative_to(folder).as_posix(): _sha256(path.read_bytes()) for path in folder.rglob("*~*")}
        assert made == {page["file"]: page["file_sha256"] for page in pages}
    texts = [(page["url"], page["markdown"].strip().encode()) for page in pages]
    return replace(_jsonl(folder, bodies=False), pages=texts)


READERS: dict[str, Callable[[Path], Output]] = {
    "jsonl": _jsonl,
    "jsonl.gz": partial(_jsonl, suffix=".jsonl.gz"),
    "jsonl.zst": partial(_jsonl, suffix=".jsonl.zst"),
    "warc": _warc,
    "wacz": _warc,
    "parquet": _parquet,
    "sqlite": _sqlite,
    "files": lambda folder: _files(folder / "files"),
    "markdown": _markdown,
}
