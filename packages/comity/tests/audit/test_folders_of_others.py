"""A crawl folder may be anybody's: it never says where to connect, what to run or what to allow, and is only read."""

import asyncio
import json
import os
import re
import shlex
import socket
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest
from commands import ALLOW, comity, process
from sites import Site

from comity import Crawler, Policy
from comity.audit.prove import prove
from comity.crawler.storage.open_crawl import open_crawl
from comity.errors import InvalidSetting, StorageError
from comity.frontier.sqlite.database import open_finished


@pytest.fixture
def listener() -> Iterator[tuple[int, list[object]]]:
    """A port, and who connected to it."""
    met: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, whom = listening.accept()
                    met.append(whom)
                    connection.close()

        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1], met


@pytest.mark.parametrize(
    "words",
    [
        ("report", "DIR"),
        ("report", "DIR", "--broken-links"),
        ("why", "DIR", "https://a.example/"),
        ("prove", "DIR"),
        ("pages", "DIR"),
        ("changes", "DIR"),
        ("inspect", "DIR"),
        ("frontier", "DIR"),
        ("frontier", "stop", "DIR", "a.example"),
        ("frontier", "end", "DIR"),
        ("serve", "DIR", "--port", "0"),
        ("crawl", "--resume", "-o", "DIR"),
        ("crawl", "--refresh", "-o", "DIR"),
        ("prove", "DIR/shard-000-000001-0123456789"),
    ],
    ids=" ".join,
)
def test_no_command_connects_to_the_database_that_a_folder_names(
    words: tuple[str, ...], listener: tuple[int, list[object]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, met = listener
    monkeypatch.setenv("PGPASSWORD", "the user's own")
    url = f"postgresql://somebody@127.0.0.1:{port}/crawls"
    (tmp_path / "shard-000-000001-0123456789").mkdir()
    (tmp_path / "store.json").write_text(json.dumps({"format": 1, "store": url, "crawl": "c", "url": url}))
    told = comity(*(word.replace("DIR", str(tmp_path)) for word in words))
    assert told.returncode not in (0, 2)
    assert not met
    assert f"127.0.0.1:{port}/crawls" in told.stderr, told
    assert "--store" in told.stderr


def test_no_function_connects_to_the_database_that_a_folder_names(
    listener: tuple[int, list[object]], tmp_path: Path
) -> None:
    port, met = listener
    url = f"postgresql://somebody@127.0.0.1:{port}/crawls"
    (tmp_path / "store.json").write_text(json.dumps({"format": 1, "store": url, "crawl": "c", "url": url}))
    for read in (prove, open_crawl):
        with pytest.raises(InvalidSetting, match=r"does not decide where to connect .*--store postgresql://somebody@"):
            read(tmp_path)
    assert not met


QUICK = Policy(agent="TheirBot/1.0", min_interval=0, allow_addresses=("127.0.0.0/8",))


@pytest.fixture
def theirs(site: Site, tmp_path: Path) -> Path:
    """A crawl that stopped at a limit of one page, and the module of a plug-in beside it."""
    site.set("/robots.txt", "User-agent: *\nDisallow: /secret\n")
    site.link("/", "/a", "/secret")
    site.link("/a")
    asyncio.run(Crawler(site.url("/"), tmp_path / "out", policy=QUICK, settings={"max_pages": 1}).run())
    (tmp_path / "evil.py").write_text("open('ran', 'w').close()\n\n\nclass Run:\n    pass\n")
    del site.seen[:]
    return tmp_path


def changed(folder: Path, fact: str, **values: Any) -> None:
    """Write into what a crawl remembers."""
    with closing(sqlite3.connect(folder / "out" / "frontier.sqlite")) as db:
        found = db.execute("SELECT value FROM fact WHERE key = ?", (fact,)).fetchone()
        kept = {**json.loads(found[0]), **values}
        db.execute("REPLACE INTO fact VALUES (?, ?)", (fact, json.dumps(kept)))
        db.commit()


RIGHTS = [
    ("policy", {"allow_addresses": ["0.0.0.0/0"]}, "--allow-address 0.0.0.0/0"),
    ("policy", {"allow_hosts": ["localhost"]}, "COMITY_ALLOW_HOSTS=localhost"),
    ("policy", {"mode": "ignore"}, "--no-robots"),
    ("policy", {"mode": "report_only"}, "COMITY_MODE=report_only"),
    ("policy", {"min_interval": 0.0}, "--delay 0"),
    ("policy", {"honour": []}, "COMITY_HONOUR=none"),
    ("policy", {"on_unreachable": "allow"}, "COMITY_ON_UNREACHABLE=allow"),
    ("policy", {"dialect": "google"}, "--dialect google"),
    ("settings", {"follow_nofollow": True}, "--follow-nofollow"),
    ("settings", {"render": True}, "--render"),
    ("plugins", {"expander": "evil:Run"}, "--expander evil:Run"),
    ("plugins", {"source": "evil:Run"}, "--source evil:Run"),
    ("sink", {"name": "evil:Run"}, "--sink evil:Run"),
]


@pytest.mark.parametrize(("fact", "values", "typed"), RIGHTS, ids=[row[2] for row in RIGHTS])
@pytest.mark.parametrize("again", ["--resume", "--refresh"])
def test_a_folder_gives_no_right_and_runs_no_code(
    theirs: Path, site: Site, again: str, fact: str, values: dict[str, Any], typed: str
) -> None:
    changed(theirs, "policy", min_interval=1.0, allow_addresses=[])
    changed(theirs, fact, **values)
    told = comity("crawl", "-o", "out", again, "--agent", "Mine/1.0", cwd=theirs)
    assert told.returncode == 64
    assert not site.seen
    assert not (theirs / "ran").exists()
    assert f"begun with {typed}, which no folder can allow by itself" in told.stderr, told
    command = f"comity crawl -o out {again} --agent Mine/1.0"
    whole = f"{typed} {command}" if typed.startswith("COMITY_") else f"{command} {typed}"
    assert f"type: {whole})" in told.stderr
    with pytest.raises(InvalidSetting, match=f"begun with {next(iter(values)) if fact != 'sink' else 'sink'}="):
        Crawler((), theirs / "out", refresh=again == "--refresh")
    assert not (theirs / "ran").exists()


def test_all_rights_are_given_again_by_the_command_that_the_error_names(theirs: Path, site: Site) -> None:
    given = ("crawl", "-o", "out", "--resume", "--max-pages", "none")
    refused = comity(*given, cwd=theirs)
    command = refused.stderr.partition("type: comity ")[2].removesuffix(")\n")
    assert command == f"{' '.join(given)} --delay 0 --allow-address 127.0.0.0/8"
    told = comity(*command.split(), cwd=theirs)
    assert told.returncode == 0, told
    assert "resuming with the earlier settings: TheirBot/1.0" in told.stderr
    assert "/a" in site.paths()
    assert "/secret" not in site.paths()


@pytest.mark.parametrize("rights", [(), ("--no-robots",)], ids=["as usual", "more allowed"])
def test_the_command_that_a_summary_names_goes_on_with_the_crawl(
    site: Site, tmp_path: Path, rights: tuple[str, ...]
) -> None:
    site.link("/", "/a")
    site.link("/a")
    given = ("-o", "my crawl", "--delay", "0", *ALLOW, *rights)
    told = comity("crawl", site.url("/"), *given, "--max-pages", "1", cwd=tmp_path)
    (command,) = re.findall(r"continue: comity (.*)", told.stdout)
    told = comity(*shlex.split(command), cwd=tmp_path)
    assert told.returncode == 0, told
    assert site.paths().count("/a") == 1


def test_what_the_operator_states_holds_instead_of_what_a_folder_allows(theirs: Path, site: Site) -> None:
    changed(theirs, "policy", mode="ignore")
    stated = {"COMITY_MODE": "respect", "COMITY_DELAY": "0.01", "COMITY_ALLOW_ADDRESSES": "127.0.0.1/32"}
    told = comity(
        "crawl", "-o", "out", "--resume", "--max-pages", "none", cwd=theirs, environment={"PATH": "", **stated}
    )
    assert told.returncode == 0, told
    assert "/a" in site.paths()
    assert "/secret" not in site.paths()


def test_what_a_folder_makes_stricter_is_taken_over_and_printed(theirs: Path, site: Site) -> None:
    changed(theirs, "policy", on_unavailable="disallow_401_403", max_backoff=600.0)
    told = comity("crawl", "-o", "out", "--resume", "--delay", "0", *ALLOW, cwd=theirs)
    assert "on_unavailable disallow_401_403" in told.stderr, told
    assert "max_backoff 10m" in told.stderr
    assert "keeping the earlier options: --max-pages 1" in told.stderr


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
def test_a_shard_that_is_a_link_is_neither_read_nor_written_to(site: Site, tmp_path: Path) -> None:
    site.link("/")
    given = ("-o", "out", "--delay", "0", *ALLOW)
    assert comity("crawl", site.url("/"), *given, "--shards", "2", cwd=tmp_path).returncode == 0
    shard = (tmp_path / "out" / "shard-001").rename(tmp_path / "elsewhere")
    (tmp_path / "out" / "shard-001").symlink_to(shard)
    before = {path: path.read_bytes() for path in shard.iterdir() if path.is_file()}
    for words in (("crawl", *given, "--resume"), ("crawl", *given, "--refresh"), ("pages", "out"), ("prove", "out")):
        told = comity(*words, cwd=tmp_path)
        assert told.returncode == 73, told
        assert "shard-001 is a link" in told.stderr
    assert {path: path.read_bytes() for path in shard.iterdir() if path.is_file()} == before


@pytest.mark.long
def test_a_shard_runs_no_code_that_its_folder_names(site: Site, tmp_path: Path) -> None:
    site.link("/", "/a")
    site.link("/a")
    given = ("-o", "out", "--delay", "0", *ALLOW)
    first = comity("crawl", site.url("/"), *given, "--shards", "2", "--max-pages", "1", cwd=tmp_path)
    assert first.returncode == 0, first
    (tmp_path / "evil.py").write_text("open('ran', 'w').close()\n\n\nclass Run:\n    pass\n")
    for path in (tmp_path / "out").glob("shard-*/frontier.sqlite"):
        with closing(sqlite3.connect(path)) as db:
            db.execute("REPLACE INTO fact VALUES ('plugins', ?)", (json.dumps({"expander": "evil:Run"}),))
            db.commit()
    told = process("crawl", *given, "--resume", "--max-pages", "none", cwd=tmp_path)
    assert told.returncode != 0
    assert "'evil:Run', which is to be given again" in told.stderr, told
    assert not (tmp_path / "ran").exists()
    manifest = json.loads((tmp_path / "out" / "crawl.json").read_text())
    (tmp_path / "out" / "crawl.json").write_text(json.dumps(manifest | {"expander": "evil:Run"}))
    told = process("crawl", *given, "--resume", cwd=tmp_path)
    assert "begun with --expander evil:Run, which no folder can allow by itself" in told.stderr, told
    assert not (tmp_path / "ran").exists()


def test_what_a_crawl_remembers_that_is_no_such_thing_is_said(theirs: Path) -> None:
    for fact, value in (("policy", [1]), ("settings", [1]), ("plugins", [1]), ("sink", 5), ("refresh", "x")):
        with closing(sqlite3.connect(theirs / "out" / "frontier.sqlite")) as db:
            (before,) = db.execute("SELECT value FROM fact WHERE key = ?", (fact,)).fetchone() or ("{}",)
            db.execute("REPLACE INTO fact VALUES (?, ?)", (fact, json.dumps(value)))
            db.commit()
            told = comity("crawl", "-o", "out", "--resume", "--delay", "0", *ALLOW, cwd=theirs)
            assert told.returncode in (64, 73), (fact, told)
            assert "Traceback" not in told.stderr
            db.execute("REPLACE INTO fact VALUES (?, ?)", (fact, before))
            db.commit()


@pytest.mark.parametrize("name", ["frontier.sqlite", "crawl.json"])
def test_what_another_version_made_is_refused_by_its_format_and_left_as_it_is(theirs: Path, name: str) -> None:
    out = theirs / "out"
    if name == "crawl.json":
        (out / name).write_text(json.dumps({"format": 5}))
    else:
        with closing(sqlite3.connect(out / name)) as db:
            db.execute("PRAGMA user_version = 5")
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    go_on = ("-o", "out", "--delay", "0", *ALLOW)
    for words in (("frontier", "out"), ("why", "out", "http://127.0.0.1/"), ("crawl", "--resume", *go_on)):
        told = comity(*words, cwd=theirs)
        assert told.returncode == 73, told
        assert "was created by another version of comity" in told.stderr
        assert "it has format 5, and comity " in told.stderr
        assert "Traceback" not in told.stderr
    for words in (("crawl", "--refresh", *go_on), ("crawl", "http://127.0.0.1:9/", *go_on)):
        assert comity(*words, cwd=theirs).returncode == 73
    assert {path: path.read_bytes() for path in before} == before


def _view(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "frontier.sqlite")) as db:
        db.executescript(
            "ALTER TABLE fact RENAME TO kept; CREATE VIEW fact AS WITH RECURSIVE r(n) AS "
            "(SELECT 1 UNION ALL SELECT n + 1 FROM r) "
            "SELECT key, value FROM kept UNION ALL SELECT 'x', n FROM r WHERE n < 0"
        )


def _trigger(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "frontier.sqlite")) as db:
        db.executescript("CREATE TRIGGER t AFTER INSERT ON fact BEGIN DELETE FROM host; END")


def _generated(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "frontier.sqlite")) as db:
        db.executescript("ALTER TABLE source ADD COLUMN x TEXT GENERATED ALWAYS AS (printf('%*c', 1000000000, 'x'))")


def _checks(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "frontier.sqlite")) as db:
        (made,) = db.execute("SELECT sql FROM sqlite_schema WHERE name = 'fact'").fetchone()
        check = "value TEXT NOT NULL CHECK (length(printf('%*c', 1000000000, 'x')) > 0)"
        db.execute("PRAGMA writable_schema = ON")
        db.execute(
            "UPDATE sqlite_schema SET sql = ? WHERE name = 'fact'", (made.replace("value TEXT NOT NULL", check),)
        )
        db.commit()


def _pipe(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return change


def _link(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).rename(folder.parent / "elsewhere")
        (folder / name).symlink_to(folder.parent / "elsewhere")

    return change


@pytest.mark.skipif(os.name != "posix", reason="there are no such files elsewhere")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_view, ("why", "out", "https://a.example/")),
        (_view, ("frontier", "out")),
        (_trigger, ("frontier", "stop", "out", "127.0.0.1")),
        (_generated, ("frontier", "out")),
        (_checks, ("frontier", "out")),
        (_checks, ("crawl", "-o", "out", "--resume", "--delay", "0", *ALLOW)),
        (_trigger, ("crawl", "-o", "out", "--resume", "--delay", "0", *ALLOW)),
        (_pipe("frontier.sqlite"), ("frontier", "out")),
        (_pipe("frontier.lock"), ("prove", "out")),
        (_pipe("frontier.sqlite-wal"), ("prove", "out")),
        (_pipe("pages.jsonl"), ("pages", "out")),
        (_pipe("ledger.jsonl"), ("report", "out")),
        (_pipe("crawl.json"), ("prove", "out")),
        (_pipe("store.json"), ("prove", "out")),
        (_pipe("orders.jsonl"), ("frontier", "stop", "out", "127.0.0.1")),
        (_pipe("seal.json"), ("prove", "out")),
        (_link("pages.jsonl"), ("pages", "out")),
        (_link("ledger.jsonl"), ("crawl", "-o", "out", "--resume", "--delay", "0", *ALLOW)),
        (_link("frontier.sqlite"), ("frontier", "out")),
    ],
    ids=lambda value: value[0] + str(len(value)) if isinstance(value, tuple) else value.__qualname__,
)
def test_what_no_crawl_wrote_is_neither_waited_for_nor_followed(
    theirs: Path, change: Callable[[Path], None], words: tuple[str, ...]
) -> None:
    change(theirs / "out")
    told = comity(*words, cwd=theirs)
    assert told.returncode != 0
    assert "Traceback" not in told.stderr, told
    said = f"{told.stdout}{told.stderr}"
    assert re.search("not a regular file|was not written by a crawl|cannot be read, or is damaged", said), told


@pytest.mark.parametrize(
    ("columns", "holds"),
    [
        ("id INTEGER PRIMARY KEY AUTOINCREMENT, n INTEGER NOT NULL DEFAULT 0", True),
        ('a TEXT NOT NULL, "price (EUR)" REAL, PRIMARY KEY (a)', True),
        ("a TEXT DEFAULT (printf('%*c', 1000000000, 'x'))", False),
        ("a TEXT CHECK (a LIKE '%a%a%a%a%a%a%a%a%a%b')", False),
        ("a TEXT, CHECK (hex(zeroblob(500000000)) > '')", False),
        ('a TEXT, [x"] TEXT CHECK (length(a) > 0), "y" TEXT', False),
        ('a TEXT, `x"` TEXT CHECK (length(a) > 0), "y" TEXT', False),
        ('a TEXT DEFAULT \'"\' CHECK (length(a) > 0), "y" TEXT', False),
        ('a TEXT /* " */ CHECK (length(a) > 0), "y" TEXT', False),
        ('a TEXT -- "\n CHECK (length(a) > 0), "y" TEXT', False),
        ("a TEXT, b TEXT AS (a || a)", False),
        ("a TEXT, b TEXT GENERATED ALWAYS AS (a || a) STORED", False),
    ],
)
def test_tables_of_a_folder_have_no_expressions(tmp_path: Path, columns: str, holds: bool) -> None:
    """SQLite evaluates those of CHECK and DEFAULT when something is written, however long that takes."""
    path = tmp_path / "x.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"CREATE TABLE x ({columns})")
        db.commit()
    with nullcontext() if holds else pytest.raises(StorageError, match="the table 'x' in it was not written by"):
        open_finished(path).close()


@pytest.mark.skipif(os.name != "posix", reason="there are no such links elsewhere")
@pytest.mark.parametrize("name", ["seal.json", "orders.jsonl", "frontier.waits", "failures.jsonl", "seal.json.new"])
def test_nothing_is_written_through_a_link(theirs: Path, name: str) -> None:
    precious = theirs / "precious"
    precious.write_text("precious")
    (theirs / "out" / name).unlink(missing_ok=True)
    (theirs / "out" / name).symlink_to(precious)
    about = ("--name", "B", "--page", "https://b.example/", "--contact", "a@b.example", "--purpose", "search")
    assert comity("identity", "new", "bot", *about, cwd=theirs).returncode == 0
    told = [
        comity("frontier", "stop", "out", "127.0.0.1", cwd=theirs),
        comity("seal", "out", "--identity", "bot", cwd=theirs),
        comity("crawl", "-o", "out", "--resume", "--delay", "0", *ALLOW, cwd=theirs),
    ]
    assert precious.read_text() == "precious"
    assert not any("Traceback" in each.stderr for each in told), told
    if "seal" in name:
        assert told[1].returncode == 0, told
        assert not (theirs / "out" / "seal.json").is_symlink()
