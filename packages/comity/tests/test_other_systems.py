"""What Windows, macOS or another way to start Python has not is taken away: each part works without it, or says so."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from comity.cli.crawling import _folder
from comity.cli.process import on_signal
from comity.crawler.cluster import on_ray
from comity.crawler.cluster.worker_process import children
from comity.crawler.output.cdxj import Index
from comity.crawler.rendering.browser import _temporary
from comity.crawler.storage.orders import Orders, give
from comity.crawler.storage.stored_config import StoredConfig
from comity.errors import InvalidSetting

LACKING = """
import sys
class Finder:
    def find_spec(self, name, *rest):
        if name in {"fcntl", "resource", "pwd", "grp", "termios", "tty", "uvloop"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Finder())
import asyncio, os
for name in ("fork", "forkpty", "pread", "pwrite", "sched_getaffinity", "getuid", "geteuid", "killpg", "sysconf"):
    if hasattr(os, name):
        delattr(os, name)
def refused(*given):
    raise NotImplementedError
asyncio.unix_events._UnixSelectorEventLoop.add_signal_handler = refused
from comity.cli import main
main()
"""


def test_a_crawl_needs_nothing_that_windows_has_not(tmp_path: Path) -> None:
    words = ["crawl", "--demo", "--max-pages", "5", "-o", "out", "--format", "warc"]
    ran = subprocess.run(
        [sys.executable, "-c", LACKING, *words], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
    )
    assert ran.returncode in (0, 2), ran.stderr
    assert "Traceback" not in ran.stderr
    proved = subprocess.run(
        [sys.executable, "-c", LACKING, "prove", "out"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert proved.returncode == 0, proved.stderr


def test_an_order_is_given_without_pread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pread", raising=False)
    give(tmp_path, "a.example", "stop")
    with (tmp_path / "orders.jsonl").open("ab") as file:
        file.write(b'{"cut short')
    give(tmp_path, "b.example", "go")
    assert [order.host for order in Orders(tmp_path).new()] == ["a.example", "b.example"]
    assert b"\r" not in (tmp_path / "orders.jsonl").read_bytes()


@pytest.fixture
def windows_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files as Windows has them: none that is open is replaced, and a rename replaces nothing."""
    opened = Path("/proc/self/fd")
    if not opened.is_dir():
        pytest.skip("which files are open is not told here")
    really, renamed = Path.replace, Path.rename

    def replace(self: Path, target: Path) -> Path:
        held = {str(each.readlink()) for each in opened.iterdir() if each.is_symlink()}
        assert not held & {str(self.resolve()), str(Path(target).resolve())}, f"{self} is open"
        return really(self, target)

    def rename(self: Path, target: Path) -> Path:
        assert not Path(target).exists(), f"{target} is there"
        return renamed(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    monkeypatch.setattr(Path, "rename", rename)


@pytest.mark.usefixtures("windows_files")
def test_an_index_is_closed_before_it_takes_its_name(tmp_path: Path) -> None:
    index = Index(tmp_path / "crawl-00000.warc.gz")
    index.add(
        "http://a.example/", "2026-01-01T00:00:00Z", mime="text/html", status="200", digest=None, length=1, offset=0
    )
    index.flush()
    index.sort()
    index.sort()
    index.close()
    assert (tmp_path / "crawl-00000.cdxj").read_bytes().startswith(b"example,a)/")


@pytest.mark.usefixtures("windows_files")
def test_a_file_of_verdicts_replaces_an_older_one(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    from comity.bulk.part_files import joined

    part, output = tmp_path / "part-0.parquet", tmp_path / "out.csv"
    pq.write_table(pa.table({"url": ["http://a.example/"]}), part)
    output.write_text("of the last run")
    joined([part], output)
    assert output.read_text() == "url\nhttp://a.example/\n"


@pytest.mark.parametrize("seed", ["http://[::1]:8080/", "http://[2001:db8::7]/", "https://example.com/a?b=c"])
def test_a_folder_has_a_name_that_windows_allows(seed: str) -> None:
    name = _folder(None, [seed], None, StoredConfig()).name
    assert not re.search(r'[<>:"/\\|?*\[\]\x00-\x1f]', name), name


def test_ctrl_c_is_heard_where_the_loop_takes_no_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    async def told() -> None:
        loop = asyncio.get_running_loop()

        def refused(*_: object) -> None:
            raise NotImplementedError

        monkeypatch.setattr(loop, "add_signal_handler", refused)
        heard = asyncio.Event()
        on_signal(loop, signal.SIGINT, heard.set)
        signal.raise_signal(signal.SIGINT)
        await asyncio.wait_for(heard.wait(), 60)

    before = signal.getsignal(signal.SIGINT)
    try:
        asyncio.run(told())
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_browser_keeps_its_files_in_our_folder_by_every_name_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEMP", "C:/Temp")
    monkeypatch.delenv("TMP", raising=False)
    with _temporary(str(tmp_path)):
        assert {os.environ[name] for name in ("TMPDIR", "TEMP", "TMP")} == {str(tmp_path)}
    assert os.environ["TEMP"] == "C:/Temp"
    assert "TMP" not in os.environ
    assert Path(tempfile.gettempdir()).is_dir()


def test_a_crawl_on_ray_says_that_it_does_not_run_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_ray.os, "name", "nt")
    with pytest.raises(InvalidSetting, match="does not run on Windows"):
        on_ray.ray_starter(None)


def test_a_frozen_program_does_not_start_itself_as_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    with pytest.raises(InvalidSetting, match="frozen"):
        children((sys.executable, "-m", "comity", "worker"))
    assert children(("/usr/bin/comity", "worker")) is not None  # another program that was named


@pytest.mark.parametrize("words", [["--help"], ["identity", "--help"], ["crawl", "--help"]])
def test_help_is_whole_without_docstrings(words: list[str]) -> None:
    def told(*flags: str) -> str:
        ran = subprocess.run(
            [sys.executable, *flags, "-m", "comity", *words], capture_output=True, text=True, check=True, timeout=300
        )
        return ran.stdout

    assert told("-OO") == told()


def test_a_verdict_is_the_same_without_docstrings_and_assertions(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text("User-agent: *\nDisallow: /private\n")
    words = ["-m", "comity", "check", "--robots", "robots.txt", "--json", "https://example.com/private/1"]
    said = [
        subprocess.run([sys.executable, *flags, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
        for flags in ([], ["-OO"])
    ]
    assert said[0].returncode == said[1].returncode == 2
    first, second = (json.loads(each.stdout)["decision"] for each in said)
    assert (first["verdict"], first["line"], first["rule"]) == (second["verdict"], second["line"], second["rule"])
