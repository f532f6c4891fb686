"""JSON Lines packed while they are written: whole after a crash, and read by every command as if they were not."""

import gzip
from pathlib import Path

import pytest
from commands import ALLOW, comity
from outputs import READERS
from sites import Site

from comity.crawler.output.packed import PackedFile, gzip_lines, gzip_packer, zstd_lines
from comity.crawler.output.reader import read_lines

PACKED = {"gzip": (gzip_lines, ".jsonl.gz"), "zstd": (zstd_lines, ".jsonl.zst")}
each = pytest.mark.parametrize("way", PACKED)


def record(number: int) -> dict[str, object]:
    return {"url": f"https://example.org/{number}", "why": "a text that is said again and again " * 100}


@each
def test_what_a_crash_left_behind_a_commit_is_cut_off_and_what_was_committed_is_whole(way: str, tmp_path: Path) -> None:
    kind, suffix = PACKED[way]
    sink = kind()
    sink.open(tmp_path, None)
    for number in range(20):
        sink.add("failures", record(number))
        marker = sink.flush(final=False)
    sink.close()
    path = tmp_path / f"failures{suffix}"
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: len(whole) // 30])  # the first octets of what would have been the next commit

    lines = list(read_lines(path))
    assert [line.record["url"] for line in lines if line.problem is None][:20] == [record(n)["url"] for n in range(20)]
    assert lines[-1].problem is not None

    sink = kind()
    sink.open(tmp_path, marker)
    sink.add("failures", record(20))
    sink.flush(final=True)
    sink.close()
    lines = list(read_lines(path))
    assert [line.record for line in lines] == [record(number) for number in range(21)]
    assert {line.problem for line in lines} == {None}


def test_any_gzip_reads_what_many_commits_wrote(tmp_path: Path) -> None:
    file = PackedFile(tmp_path / "lines.gz", 0, gzip_packer)
    for number in range(5):
        file.add(b"%d\n" % number)
        file.flush()
    file.close()
    assert gzip.decompress((tmp_path / "lines.gz").read_bytes()) == b"0\n1\n2\n3\n4\n"


@each
def test_an_output_that_lacks_its_end_is_told_as_damaged(way: str, tmp_path: Path) -> None:
    kind, suffix = PACKED[way]
    sink = kind()
    sink.open(tmp_path, None)
    sink.add("failures", record(0))
    sink.flush(final=True)
    sink.close()
    path = tmp_path / f"failures{suffix}"
    path.write_bytes(path.read_bytes()[:-3])
    problems = [line.problem for line in read_lines(path)]
    assert problems[-1] is not None
    assert "cannot be unpacked" in problems[-1]


@each
def test_the_command_packs_its_output_and_the_others_read_it(way: str, site: Site, tmp_path: Path) -> None:
    site.link("/", "/a", "/gone")
    site.link("/a")
    folder = str(tmp_path / "out")
    ran = comity("crawl", site.url("/"), "-o", folder, *ALLOW, "--compress", way, "--delay", "0", "--ok-if-some-failed")
    assert ran.returncode == 0, ran.stderr
    suffix = PACKED[way][1]
    output = READERS[suffix[1:]](Path(folder))
    assert output.urls == [site.url("/"), site.url("/a")]
    assert comity("prove", folder).returncode == 0
    assert site.url("/a") in comity("pages", folder).stdout
    assert "404" in comity("why", folder, site.url("/gone")).stdout
    assert comity("report", folder, "-o", str(tmp_path / "report.html")).returncode == 0
    assert "404" in (tmp_path / "report.html").read_text()


def test_packing_is_for_json_lines_alone(tmp_path: Path) -> None:
    ran = comity("crawl", "https://example.org/", "-o", str(tmp_path / "out"), "--format", "warc", "--compress", "gzip")
    assert ran.returncode != 0
    assert "--compress packs JSON Lines" in ran.stderr
