"""WACZ: a crawl as one file that replay tools open, with the evidence in it."""

import gzip
import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from commands import ALLOW, comity
from sites import Site

from comity.identity import Identity, create

pytest.importorskip("warcio", reason="pip install 'comity[warc]'")


@pytest.fixture
def crawled(tmp_path: Path, site: Site) -> Path:
    site.set("/robots.txt", "User-agent: *\nDisallow: /no\n")
    site.link("/", "/a", "/no", "/missing", "/data")
    site.link("/a")
    site.set("/data", b"\x00\x01", content_type="application/octet-stream")
    done = comity("crawl", site.url("/"), "-o", "out", "--format", "wacz", "--delay", "0", *ALLOW, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "crawl.wacz" in done.stdout
    return tmp_path


def opened(folder: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(folder / "out" / "crawl.wacz") as packed:
        assert packed.testzip() is None
        return {name: packed.read(name) for name in packed.namelist()}


def test_the_packages_own_validation_finds_nothing_wrong(crawled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main = pytest.importorskip("wacz.main").main
    assert main(["validate", "-f", str(crawled / "out" / "crawl.wacz")]) == 0, capsys.readouterr().out
    assert "Validation succeeded" in capsys.readouterr().out
    broken = crawled / "broken.wacz"
    with zipfile.ZipFile(broken, "w") as packed:
        for name, data in opened(crawled).items():
            packed.writestr(name, data.replace(b'"status":200', b'"status":201') if name.startswith("logs") else data)
    assert main(["validate", "-f", str(broken)]) != 0


def test_it_holds_archive_index_pages_and_ledger_with_their_hashes(crawled: Path, site: Site) -> None:
    files = opened(crawled)
    package: dict[str, Any] = json.loads(files["datapackage.json"])
    assert set(files) == {
        "archive/crawl-00001.warc.gz",
        "indexes/index.cdx.gz",
        "indexes/index.idx",
        "pages/pages.jsonl",
        "logs/ledger.jsonl",
        "datapackage.json",
        "datapackage-digest.json",
    }
    for resource in package["resources"]:
        data = files[resource["path"]]
        assert (resource["hash"], resource["bytes"]) == (f"sha256:{hashlib.sha256(data).hexdigest()}", len(data))
    digest = json.loads(files["datapackage-digest.json"])
    assert digest["hash"] == f"sha256:{hashlib.sha256(files['datapackage.json']).hexdigest()}"
    header, *pages = (json.loads(line) for line in files["pages/pages.jsonl"].splitlines())
    assert header["format"] == "json-pages-1.0"
    assert {(page["url"], page.get("title")) for page in pages} == {  # in the order in which they came
        (site.url("/"), "/"),
        (site.url("/a"), "/a"),
        (site.url("/data"), None),
    }
    assert len(pages) == 3
    assert files["logs/ledger.jsonl"] == (crawled / "out" / "ledger.jsonl").read_bytes()
    assert json.loads(files["logs/ledger.jsonl"].splitlines()[-1])["kind"] == "seal"


def test_each_page_is_found_by_the_index_alone(crawled: Path, site: Site) -> None:
    """As replay tools do it: index.idx leads to a block of the index, its line to the record in the archive."""
    from warcio.archiveiterator import ArchiveIterator

    files = opened(crawled)
    meta, *blocks = files["indexes/index.idx"].decode().splitlines()
    assert json.loads(meta.removeprefix("!meta 0 "))["filename"] == "index.cdx.gz"
    lines: list[str] = []
    for block in blocks:
        where = json.loads(block[block.index("{") :])
        member = files["indexes/index.cdx.gz"][where["offset"] : where["offset"] + where["length"]]
        lines += gzip.decompress(member).decode().splitlines()
    assert lines == sorted(lines)
    with zipfile.ZipFile(crawled / "out" / "crawl.wacz") as packed:
        assert packed.getinfo("archive/crawl-00001.warc.gz").compress_type == zipfile.ZIP_STORED
        found = {}
        for line in lines:
            said = json.loads(line[line.index("{") :])
            with packed.open(f"archive/{said['filename']}") as archive:
                archive.seek(int(said["offset"]))
                record = next(iter(ArchiveIterator(archive)))
                found[said["url"]] = record.content_stream().read()
    assert found[site.url("/data")] == b"\x00\x01"
    assert b"<title>/a</title>" in found[site.url("/a")]


def test_a_crawl_that_goes_on_is_packed_anew_and_proved(crawled: Path, site: Site) -> None:
    before = opened(crawled)
    resumed = comity("crawl", "-o", "out", "--refresh", "--delay", "0", *ALLOW, cwd=crawled)
    assert resumed.returncode in (0, 2), resumed.stderr
    after = opened(crawled)
    assert len(after["logs/ledger.jsonl"]) > len(before["logs/ledger.jsonl"])
    proved = comity("prove", "out", cwd=crawled)
    assert proved.returncode == 0, proved.stdout
    assert not list((crawled / "out").glob("*.tmp"))


def test_a_seal_is_packed_with_what_it_seals(crawled: Path) -> None:
    said = Identity(name="ExampleBot", page="https://bot.test/bot/", contact="bot@bot.test", purpose="search")
    create(crawled / "id", said, 1_700_000_000.0)
    sealed = comity("seal", "out", "--identity", "id", cwd=crawled)
    assert sealed.returncode == 0, sealed.stderr
    files = opened(crawled)
    assert files["logs/seal.json"] == (crawled / "out" / "seal.json").read_bytes()
    assert "logs/seal.json" in {each["path"] for each in json.loads(files["datapackage.json"])["resources"]}
