"""A crawl folder may be anybody's: it never says where to connect, what to run or what to allow, and is only read."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from commands import comity

from comity.audit.prove import prove
from comity.crawler.places.crawl_at import crawl_at
from comity.errors import InvalidSetting


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
    for read in (prove, crawl_at):
        with pytest.raises(InvalidSetting, match=r"does not decide where to connect .*--store postgresql://somebody@"):
            read(tmp_path)
    assert not met
