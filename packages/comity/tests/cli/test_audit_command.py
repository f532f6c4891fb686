"""`comity audit`: URLs and robots.txt files of every kind in, one table out, resumed where it was stopped."""

import csv
import json
import os
import shutil
import socket
import sqlite3
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import pytest
from commands import ALLOW, comity, complaint
from sites import Site

pa = pytest.importorskip("pyarrow")
pytest.importorskip("numpy")

import pyarrow.csv as pa_csv  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

from comity.bulk import part_files, sources, verdicts  # noqa: E402
from comity.bulk.survey import refused  # noqa: E402
from comity.errors import InputError  # noqa: E402
from comity.policy import Policy  # noqa: E402
from comity_robots import parse  # noqa: E402

URLS = ["https://a.example/x", "https://a.example/y", "https://b.example/", "no URL"]
BODY = b"User-agent: *\nDisallow: /x\nUser-agent: GPTBot\nDisallow: /\n"


def written(folder: Path) -> Path:
    """A folder of robots.txt files, each named for its host."""
    (folder / "robots").mkdir()
    (folder / "robots" / "a.example.txt").write_bytes(BODY)
    (folder / "robots" / "b.example.txt").write_bytes(b"")
    return folder / "robots"


def test_urls_are_read_from_every_kind_of_file(tmp_path: Path) -> None:
    table = pa.table({"n": [1, 2, 3, 4], "url": URLS})
    pq.write_table(table, tmp_path / "u.parquet")
    pa_csv.write_csv(table, tmp_path / "u.csv")
    (tmp_path / "u.jsonl").write_text("".join(json.dumps({"url": url}) + "\n" for url in URLS), "utf-8")
    (tmp_path / "u.txt").write_text("# why\n\n" + "\n".join(URLS), "utf-8")
    shutil.copy(tmp_path / "u.csv", tmp_path / "CAPITALS.CSV")
    for name in ("u.parquet", "u.csv", "u.jsonl", "u.txt", "CAPITALS.CSV"):
        found = [batch.to_pylist() for batch in sources.batches(sources.files(str(tmp_path / name)), "url", 3)]
        assert [url for part in found for url in part] == URLS, name
        assert max(map(len, found)) <= 3
    assert len(sources.files(str(tmp_path))) == 5
    assert len(sources.files(str(tmp_path / "u.*"))) == 4
    with pytest.raises(InputError, match="no column 'link'; it has n, url"):
        list(sources.batches(sources.files(str(tmp_path / "u.csv")), "link", 10))
    with pytest.raises(InputError, match="no such file"):
        sources.files(str(tmp_path / "nothing*"))


@pytest.mark.parametrize(
    ("name", "octets", "said"),
    [
        ("u.csv", "url\nhttps://a.example/x\n".encode("utf-16"), "is not UTF-8"),
        ("u.csv", b"url,caf\xe9\nhttps://a.example/x,1\n", "is not UTF-8"),
        ("u.jsonl", b'{"url": "https://a.example/caf\xe9"}\n', "Invalid UTF8"),
        ("u.parquet", b"https://a.example/caf\xe9", "Invalid UTF8"),
    ],
)
def test_urls_that_are_no_utf_8_end_the_audit_with_words(tmp_path: Path, name: str, octets: bytes, said: str) -> None:
    if name == "u.parquet":
        column = pa.array([octets], pa.binary()).view(pa.string())
        pq.write_table(pa.table({"url": column}), tmp_path / name)
    else:
        (tmp_path / name).write_bytes(octets)
    done = comity("audit", name, "--robots", str(written(tmp_path)), "--agents", "GPTBot", "-o", "o.csv", cwd=tmp_path)
    assert done.returncode == 66, done.stderr
    assert complaint(done).startswith(f"comity: {name} ")
    assert said in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
def test_nothing_is_written_through_a_link_that_lies_where_an_audit_writes(tmp_path: Path, ending: str) -> None:
    (tmp_path / "u.txt").write_text("https://a.example/x\n")
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "o.new").symlink_to(tmp_path / "precious")
    command = ("audit", "u.txt", "--robots", str(written(tmp_path)), "--agents", "A", "-o", f"o{ending}")
    done = comity(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "precious").read_text() == "mine"
    assert (tmp_path / f"o{ending}").is_file()
    part = tmp_path / "part-000000-000000.parquet"
    part.with_suffix(".new").symlink_to(tmp_path / "precious")
    assert [*part_files.written(Counting(1), iter([pa.table({"url": ["https://a.example/x"]})]), tmp_path)] == [
        (part, 1)
    ]
    assert (tmp_path / "precious").read_text() == "mine"


def test_robots_files_are_read_from_a_cache_and_from_warc_files(tmp_path: Path) -> None:
    folder = tmp_path / "q#1?a=%20"  # signs that mean something in SQLite's URIs
    folder.mkdir()
    with closing(sqlite3.connect(folder / "cache.sqlite")) as database, database:
        database.execute("CREATE TABLE robots (origin TEXT, record TEXT, body BLOB)")
        record = json.dumps({"status": 200, "fetched_at": 86_400.0})
        database.execute("INSERT INTO robots VALUES ('https://a.example', ?, ?)", (record, BODY))
    table = sources.robots(str(folder / "cache.sqlite"))
    assert [each.name for each in tmp_path.iterdir()] == [folder.name]
    assert table.to_pylist() == [
        {"origin": "https://a.example", "status": 200, "body": BODY, "fetched_at": datetime(1970, 1, 2, tzinfo=UTC)}
    ]
    pytest.importorskip("fastwarc")
    warc = pytest.importorskip("warcio.warcwriter")
    from io import BytesIO

    from warcio.statusandheaders import StatusAndHeaders

    with (tmp_path / "robots.warc.gz").open("wb") as file:
        writer = warc.WARCWriter(file, gzip=True)
        for path, body in (("/robots.txt", BODY), ("/other", b"no")):
            headers = StatusAndHeaders("200 OK", [("Content-Type", "text/plain")], protocol="HTTP/1.1")
            url = f"https://a.example{path}"
            writer.write_record(writer.create_warc_record(url, "response", BytesIO(body), http_headers=headers))
    (row,) = sources.robots(str(tmp_path / "robots.warc.gz")).to_pylist()
    assert (row["origin"], row["status"], row["body"]) == ("https://a.example", 200, BODY)


def test_the_command_writes_a_table_a_summary_and_a_report(tmp_path: Path) -> None:
    (tmp_path / "u.txt").write_text("\n".join(URLS), "utf-8")
    robots = written(tmp_path)
    words = ("audit", "u.txt", "--robots", str(robots), "--agents", "MyBot,GPTBot", "-o", "out.parquet")
    run = comity(*words, "--report", "r.html", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.num_rows == 8
    assert table["may_fetch"].to_pylist() == [False, True, True, None, False, False, True, None]
    assert "disallowed by a rule 2 (50.0%)" in run.stdout
    assert "https://a.example" in run.stdout
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "4 URLs, 2 agents: GPTBot may not fetch 2 (50.0%)" in page
    assert "default-src 'none'" in page
    assert "allowed_implicit" not in page
    assert not (tmp_path / "out.parquet.parts").exists()
    assert "name the file to write" in comity(*words[:-2], cwd=tmp_path).stderr


@pytest.mark.parametrize("urls", [(), ("u.txt", "-o", "out.csv")], ids=["survey", "summary"])
def test_the_counts_come_as_json_with_a_report_beside_it(urls: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "u.txt").write_text("\n".join(URLS), "utf-8")
    body = b"User-agent: *\nDisallow: /x\nCrawl-delay: 2\nContent-Usage: train-ai=n\nDisallow:/a /b\nfoo\n"
    written(tmp_path).joinpath("b.example.txt").write_bytes(body)
    words = ("audit", *urls, "--robots", "robots", "--agents", "MyBot,GPTBot", "--json", "--report", "r.html")
    run = comity(*words, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    if urls:
        assert found["verdict"]["GPTBot"] == {"allowed_implicit": 1, "disallowed_explicit": 2, "none": 1}
    else:
        assert found["refused"] == {"MyBot": {"partly": 2}, "GPTBot": {"blocked": 1, "partly": 1}}
        assert found["reserves"]["train-ai"] == {"disallowed": 1}
        assert (found["hosts"], found["says"]["Crawl-delay"], found["delays"]) == (2, 1, [2.0])
    assert "GPTBot" in (tmp_path / "r.html").read_text("utf-8")


def test_the_name_of_the_output_says_what_is_written(tmp_path: Path) -> None:
    (tmp_path / "u.txt").write_text("\n".join([*URLS, "=1+1"]), "utf-8")
    words = ("audit", "u.txt", "--robots", str(written(tmp_path)), "--agents", "MyBot", "-o")
    for name in ("out.parquet", "out.csv", "out.jsonl"):
        assert comity(*words, name, cwd=tmp_path).returncode == 0
    rows = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()] == rows
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert table[-1]["url"] == "'=1+1", "no spreadsheet takes it for a formula"
    rows[-1]["url"] = "'=1+1"
    assert table == [{name: "" if value is None else str(value) for name, value in row.items()} for row in rows]


@pytest.mark.parametrize("words", [("out.xlsx",), ("out",), ("out.csv", "--parts"), ("out.csv.gz",)])
def test_a_name_that_says_nothing_that_can_be_written_is_refused_before_anything_is_judged(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "u.txt").write_text("\n".join(URLS), "utf-8")
    run = comity("audit", "u.txt", "--robots", str(written(tmp_path)), "--agents", "MyBot", "-o", *words, cwd=tmp_path)
    assert run.returncode == 64
    assert words[0] in complaint(run)
    assert not list(tmp_path.glob("out*"))


def test_the_summary_counts_by_agent_reason_host_purpose_and_dialect_and_is_json_too(tmp_path: Path) -> None:
    folder = tmp_path / "robots"
    folder.mkdir()
    (folder / "a.example.txt").write_bytes(b"User-agent: *\nDisallow: /x\nContent-Signal: search=no\n")
    (folder / "b.example.txt").write_bytes(b"User-agent: *\nDisallow: /X*y\nDisalow: /z\n")
    asked = ["https://a.example/x", "https://a.example/y", "https://b.example/z", "no URL"]
    (tmp_path / "u.txt").write_text("\n".join(asked), "utf-8")
    words = ("audit", "u.txt", "--robots", "robots", "--agents", "MyBot", "-o", "out.parquet", "--dialects", "google")
    told = json.loads(comity(*words, "--json", cwd=tmp_path).stdout)
    assert told["urls"] == 4
    assert told["verdict"] == {"MyBot": {"allowed_implicit": 2, "disallowed_explicit": 1, "none": 1}}
    assert told["reason"]["MyBot"]["a rule disallows it"] == 1
    assert told["host"] == {"MyBot": {"https://a.example": 1}}
    assert told["purpose"]["search"]["MyBot"] == {"disallowed": 1, "none": 1, "unknown": 2}
    assert told["dialect"] == {"google": {"MyBot": 1}}  # which forgives a misspelt Disallow
    out = comity(*words, cwd=tmp_path).stdout
    assert "1  google, MyBot" in out
    assert "search               disallowed 1, no answer 1, unknown 2" in out
    assert "4 URLs, 1 agent in out.parquet" in out
    both = comity("audit", "u.txt", "--robots", "robots", "--agents", "A,B", "-o", "both.parquet", cwd=tmp_path).stdout
    assert "stated preferences, 2 agents together:" in both
    assert "reasons, 2 agents together:" in both


def test_the_capture_in_force_at_a_time_decides(tmp_path: Path) -> None:
    table = pa.table(
        {
            "origin": ["https://a.example"] * 2,
            "body": pa.array([b"User-agent: *\nDisallow: /x\n", b""], pa.binary()),
            "fetched_at": [86_400 * 365, 86_400 * 366],
        }
    )
    pq.write_table(table, tmp_path / "robots.parquet")
    (tmp_path / "u.txt").write_text(URLS[0], "utf-8")
    words = ("audit", "u.txt", "--robots", "robots.parquet", "--agents", "MyBot", "-o", "out.parquet")
    for words_of_time, wanted in (
        ((), True),
        (("--at", "1971-01-01T12:00:00Z"), False),
        (("--at", "1970-06-01"), None),
    ):
        run = comity(*words, *words_of_time, cwd=tmp_path)
        assert run.returncode == 0, run.stderr
        assert pq.read_table(tmp_path / "out.parquet")["may_fetch"].to_pylist() == [wanted]
    run = comity(*words, "--at", "yesterday", cwd=tmp_path)
    assert run.returncode == 64
    assert "'yesterday' is not a time: write 2026-05-01" in run.stderr


def test_parts_can_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_text("\n".join(URLS), "utf-8")
    (tmp_path / "2.txt").write_text(URLS[0], "utf-8")
    words = ("audit", "?.txt", "--robots", str(written(tmp_path)), "--agents", "MyBot", "-o", "out", "--parts")
    run = comity(*words, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    names = ["part-000000-000000.parquet", "part-000001-000000.parquet"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == names
    assert pq.read_table(tmp_path / "out")["url"].to_pylist() == [*URLS, URLS[0]]
    again = comity(*words, cwd=tmp_path)
    assert again.returncode == 66
    assert complaint(again) == "comity: out is there already (remove it, or choose another name by -o)"


def test_row_groups_are_read_together_until_they_are_many(tmp_path: Path) -> None:
    pq.write_table(pa.table({"url": [f"https://a.example/{number}" for number in range(10)]}), tmp_path / "u.parquet")
    pq.write_table(pa.table({"url": ["https://a.example/"] * 10}), tmp_path / "v.parquet", row_group_size=3)
    (tmp_path / "w.txt").write_text("https://b.example/", "utf-8")
    pieces = list(sources.pieces(sources.files(str(tmp_path)), 6))
    assert [(piece.path.name, piece.groups) for piece in pieces] == [
        ("u.parquet", (0,)),
        ("v.parquet", (0, 1)),
        ("v.parquet", (2, 3)),
        ("w.txt", None),
    ]
    assert [len(batch) for batch in sources.batches(pieces, "url", 6)] == [6, 4, 6, 4, 1]
    (tmp_path / "x.parquet").write_bytes(b"no Parquet")
    with pytest.raises(InputError, match=r"x\.parquet cannot be read"):
        list(sources.pieces([tmp_path / "x.parquet"], 6))


@pytest.mark.parametrize("words", [("--at", "2026-05-01"), ("--dialects", "google"), ("--wide",), ("--parts",)])
def test_an_option_about_urls_is_not_ignored_where_none_are_given(words: tuple[str, ...], tmp_path: Path) -> None:
    run = comity("audit", "--robots", str(written(tmp_path)), *words, cwd=tmp_path)
    assert run.returncode == 64
    assert f"{words[0]} is about answers for URLs" in run.stderr


def test_ray_that_is_missing_or_not_there_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "u.txt").write_text(URLS[0], "utf-8")
    audit = ("audit", "u.txt", "--robots", str(written(tmp_path)), "-o", "out.parquet")
    for words in (audit, ("crawl", "https://a.example/", "-o", "out")):
        monkeypatch.setitem(sys.modules, "ray", None)  # and what is imported meanwhile stays
        run = comity(*words, "--engine", "ray", cwd=tmp_path)
        assert run.returncode == 64
        assert complaint(run) == ("comity: --engine ray needs ray, which is not installed (pip install 'comity[ray]')")
        run = comity(*words, "--address", "127.0.0.1:6379", cwd=tmp_path)
        assert run.returncode == 64
        assert complaint(run) == "comity: --address names a Ray cluster: add --engine ray"
        ray = mock.Mock(**{"is_initialized.return_value": False})
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # and nobody listens
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            monkeypatch.setitem(sys.modules, "ray", ray)
            run = comity(*words, "--engine", "ray", "--address", address, cwd=tmp_path)
        assert run.returncode == 1
        assert f"Ray cannot be joined at {address}: Connection refused" in complaint(run)
        assert not list(tmp_path.glob("out*"))


def test_without_robots_files_every_origin_is_asked(tmp_path: Path) -> None:
    with Site() as site:
        site.set("/robots.txt", "User-agent: *\nDisallow: /x\n")
        asked = [site.url("/x"), site.url("/y"), site.url("/x?again"), "no URL"]
        (tmp_path / "u.txt").write_text("\n".join(asked), "utf-8")
        run = comity("audit", "u.txt", "--agents", "MyBot", "-o", "out.parquet", *ALLOW, cwd=tmp_path)
        assert run.returncode == 0, run.stderr
        assert "fetching the robots.txt of 1 origins" in run.stderr
        assert pq.read_table(tmp_path / "out.parquet")["may_fetch"].to_pylist() == [False, True, False, None]
        assert site.paths() == ["/robots.txt"]


class Counting(part_files.Judge):
    """Counts what it judges, and stops as a process that is killed does."""

    def __init__(self, stop_after: int) -> None:
        table = pa.table({"origin": ["https://a.example"], "body": [BODY]})
        super().__init__(table, ["MyBot"], Policy(), None, [])
        self.left, self.judged = stop_after, 0

    def __call__(self, batch: object, part: Path) -> None:
        if not self.left:
            raise KeyboardInterrupt
        super().__call__(batch, part)
        self.left, self.judged = self.left - 1, self.judged + 1


def test_a_run_that_was_stopped_judges_only_what_is_left(tmp_path: Path) -> None:
    batches = [pa.table({"url": [f"https://a.example/x{number}", URLS[1]]}) for number in range(4)]
    with pytest.raises(KeyboardInterrupt):
        list(part_files.written(Counting(2), iter(batches), tmp_path))
    (tmp_path / "part-000000-000002.new").write_bytes(b"half")
    again = Counting(9)
    done = list(part_files.written(again, iter(batches), tmp_path))
    assert again.judged == 2
    assert [size for _, size in done] == [2, 2, 2, 2]
    part_files.joined([part for part, _ in done], tmp_path / "out.parquet")
    table = pq.read_table(tmp_path / "out.parquet")
    assert table["url"].to_pylist() == [url for batch in batches for url in batch["url"].to_pylist()]
    assert table["may_fetch"].to_pylist() == [False, True] * 4


def test_parts_of_another_audit_are_not_mixed_in(tmp_path: Path) -> None:
    (tmp_path / "u.txt").write_text("\n".join(URLS), "utf-8")
    robots = written(tmp_path)
    parts = tmp_path / "out.parquet.parts"
    parts.mkdir()
    (parts / "part-00000.parquet").touch()
    (parts / "audit.json").write_text('["another"]', "utf-8")
    run = comity("audit", "u.txt", "--robots", str(robots), "-o", "out.parquet", cwd=tmp_path)
    assert run.returncode == 66
    assert "parts of another audit" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("note", ['["another"]', '["cut off'])
def test_an_audit_that_made_no_part_is_in_nobodys_way(tmp_path: Path, note: str) -> None:
    (tmp_path / "u.txt").write_text("\n".join(URLS), "utf-8")
    (tmp_path / "out.parquet.parts").mkdir()
    (tmp_path / "out.parquet.parts" / "audit.json").write_text(note, "utf-8")
    run = comity("audit", "u.txt", "--robots", str(written(tmp_path)), "-o", "out.parquet", cwd=tmp_path)
    assert run.returncode == 0, run
    assert sorted(each.name for each in tmp_path.glob("out*")) == ["out.parquet"]


def test_changes_name_what_was_gained_and_lost_with_the_line(tmp_path: Path) -> None:
    table = pa.table(
        {
            "origin": ["https://a.example"] * 2,
            "status": [200, 200],
            "body": pa.array([b"User-agent: *\nDisallow: /x\n", b"User-agent: *\nDisallow: /y\n"], pa.binary()),
            "fetched_at": [86_400 * 365, 86_400 * 366],
        }
    )
    pq.write_table(table, tmp_path / "robots.parquet")
    out = comity("audit", "--robots", "robots.parquet", "--changes", cwd=tmp_path).stdout
    assert "1971-01-02 https://a.example  * gained /x (before, line 2: Disallow: /x)" in out
    assert "* lost /y (now, line 2: Disallow: /y)" in out


@pytest.mark.parametrize(
    ("body", "how"),
    [
        ("User-agent: *\nDisallow: /", "blocked"),
        ("User-agent: *\nDisallow: /\nAllow: /open", "partly"),
        ("User-agent: *\nDisallow: /x", "partly"),
        ("User-agent: *\nDisallow:", "open"),
        ("User-agent: GPTBot\nDisallow: /", "open"),
        ("", "open"),
        ("User-agent: *\nDisallow: /\nAllow: /", "open"),
    ],
)
def test_a_host_refuses_an_agent_wholly_partly_or_not_at_all(body: str, how: str) -> None:
    assert refused(parse(body), "MyBot") == how


def test_without_urls_the_files_themselves_are_counted(tmp_path: Path) -> None:
    out = comity("audit", "--robots", str(written(tmp_path)), "--agents", "GPTBot,MyBot", cwd=tmp_path).stdout
    assert "2 hosts" in out
    assert "GPTBot                      1 (50.0%)" in out
    assert out.splitlines()[2].split() == ["agent", "blocked", "partly", "allowed"]


def test_the_columns_of_the_input_are_kept(tmp_path: Path) -> None:
    rows = [{"id": 7, "link": URLS[0], "reason": "mine"}, {"id": 8, "link": URLS[2], "reason": None}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "u.parquet")
    pa_csv.write_csv(pa.Table.from_pylist(rows), tmp_path / "u.csv")
    words = ("--column", "link", "--robots", str(written(tmp_path)), "--agents", "MyBot,GPTBot")
    for name in ("u.parquet", "u.csv"):
        run = comity("audit", name, *words, "-o", f"{name}.jsonl", cwd=tmp_path)
        assert run.returncode == 0, run.stderr
        found = [json.loads(line) for line in (tmp_path / f"{name}.jsonl").read_text("utf-8").splitlines()]
        assert [(row["id"], row["link"], row["input_reason"] or None, row["agent"]) for row in found] == [
            (7, URLS[0], "mine", "MyBot"),
            (8, URLS[2], None, "MyBot"),
            (7, URLS[0], "mine", "GPTBot"),
            (8, URLS[2], None, "GPTBot"),
        ]
    assert comity("audit", "u.parquet", *words, "-o", "wide.csv", "--wide", cwd=tmp_path).returncode == 0
    with (tmp_path / "wide.csv").open(encoding="utf-8", newline="") as file:
        wide = list(csv.DictReader(file))
    assert [(row["link"], row["id"], row["MyBot.may_fetch"], row["GPTBot.may_fetch"]) for row in wide] == [
        (URLS[0], "7", "False", "False"),
        (URLS[2], "8", "True", "True"),
    ]
    refused = comity("audit", "u.parquet", *words, "-o", "parts", "--wide", "--parts", cwd=tmp_path)
    assert (refused.returncode, "leave out --parts" in refused.stderr) == (64, True)


def test_a_file_of_a_folder_stands_for_both_schemes_and_www_and_hosts_without_one_are_listed(tmp_path: Path) -> None:
    folder = written(tmp_path)
    (folder / "www.b.example.txt").write_bytes(b"User-agent: *\nDisallow: /\n")
    urls = [
        "http://a.example/x", "https://www.a.example/x", "http://www.a.example/y", "https://b.example/",
        "http://www.b.example/", "https://sub.a.example/", "https://sub.a.example/2",
    ]  # fmt: skip
    (tmp_path / "u.txt").write_text("\n".join(urls), "utf-8")
    run = comity("audit", "u.txt", "--robots", "robots", "--agents", "MyBot", "-o", "out.parquet", cwd=tmp_path)
    assert "for www. where that has no file of its own" in run.stderr
    answers = [False, False, True, True, False, None, None]
    assert pq.read_table(tmp_path / "out.parquet")["may_fetch"].to_pylist() == answers
    assert "hosts without a robots.txt: 1, by URLs (--json lists all):\n           2  https://sub.a.ex" in run.stdout
    assert verdicts(urls, folder, "MyBot")["may_fetch"].to_pylist() == answers, "Python reads the same folder"
    assert sources.robots(str(folder)).num_rows == 3, "a survey counts each file once"


def test_the_summary_shows_no_password_and_counts_a_host_once_however_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "u.txt").write_text("http://me:s3cret@a.example/x\nhttp://A.example:80/x\n")
    answer = comity("audit", "u.txt", "--robots", str(written(tmp_path)), "-o", "o.csv", "--agents", "A", cwd=tmp_path)
    assert answer.returncode == 0
    assert "s3cret" not in answer.stdout + answer.stderr
    assert "           2  http://a.example\n" in answer.stdout


def test_no_cell_of_a_csv_is_a_formula_to_a_spreadsheet_its_head_included(tmp_path: Path) -> None:
    (tmp_path / "urls.csv").write_text("url,=note\nhttps://a.example/,=1+1\nhttps://a.example/x,@SUM(1)\n")
    (tmp_path / "robots").mkdir()
    (tmp_path / "robots" / "a.example.txt").write_text("User-agent: *\nDisallow: /x\n")
    for more in ((), ("--wide",)):
        told = comity(
            "audit", "urls.csv", "--robots", "robots", "--agents", "=1+1,-2", "-o", "out.csv", *more, cwd=tmp_path
        )
        assert told.returncode == 0, told
        with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
            cells = [each for row in csv.reader(file) for each in row]
        assert "'=note" in cells
        assert [each for each in cells if each.startswith(("=", "+", "-", "@"))] == []
        (tmp_path / "out.csv").unlink()


def test_the_columns_of_a_survey_stand_below_each_other_whatever_agents_are_called(tmp_path: Path) -> None:
    (tmp_path / "robots").mkdir()
    (tmp_path / "robots" / "a.example.txt").write_text("User-agent: *\nDisallow: /\n")
    long = "an-agent-with-a-name-of-forty-letters-bot"
    told = comity("audit", "--robots", "robots", "--agents", f"{long},GPTBot", cwd=tmp_path).stdout
    head, *rows = (line for line in told.splitlines() if line.startswith(("agent", long, "GPTBot")))
    assert len(rows) == 2
    assert {len(line) for line in (head, *rows)} == {len(head)}
