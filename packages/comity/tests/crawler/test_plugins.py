"""Plug-ins: matched by shape, loaded by name, their faults told in words and never at the crawl's expense."""

import asyncio
import csv
import inspect
import json
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import attrs
import pydantic
import pytest
from commands import ALLOW, comity, process
from examples import first_of
from sites import HANGS, Site

from comity import Crawler, CrawlSettings, Expander, InvalidSetting, Policy, Response, Sink, Source, StorageError
from comity.audit.prove import prove
from comity.crawler import Expanded
from comity.crawler.output.plugins import load
from comity.errors import FetchError, MissingExtra, PluginError
from comity.frontier.sqlite.store import Frontier
from comity_robots.fields import MIB

EXAMPLES = Path(__file__).parents[4] / "examples"
QUICK = Policy(min_interval=0, allow_addresses=("127.0.0.0/8",))


def crawl(folder: Path, *seeds: str, settings: Any = None, **plugins: Any) -> Crawler:
    crawler = Crawler(seeds, folder, policy=QUICK, settings=settings, plugins=plugins)  # type: ignore[arg-type]
    asyncio.run(crawler.run())
    return crawler


def pages(folder: Path, channel: str = "pages") -> list[Any]:
    return [json.loads(line) for line in (folder / f"{channel}.jsonl").read_text().splitlines()]


def paths(folder: Path, site: Site, channel: str = "pages") -> list[str]:
    return sorted(record["url"].removeprefix(site.url("")) for record in pages(folder, channel))


def articles(site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /drafts/\n")
    site.set("/", '<nav><a href="/1">one</a></nav><footer><a href="/imprint">imprint</a></footer>')
    site.set("/1", '<article><h1>One, "first"</h1><p class=author>Ann</p><a href="/2">next</a></article>')
    site.set("/2", '<article><h2>Two</h2>Käse</article><article><h2>Three</h2><a href="/drafts/4">4</a></article>')
    site.set("/imprint", "<p>us")


# covers: L16
def test_the_worked_examples_do_what_they_say(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    articles(site)
    crawl(tmp_path, site.url("/"), expander="articles:Articles", sink="table:Table")
    with (tmp_path / "records.csv").open(encoding="utf-8", newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: row["title"])
    assert [(row["title"], row["author"]) for row in rows] == [('One, "first"', "Ann"), ("Three", ""), ("Two", "")]
    assert {row["url"].removeprefix(site.url("")) for row in rows} == {"/1", "/2"}
    assert "/imprint" not in site.paths(), "the expander chose the links"
    assert "/drafts/4" not in site.paths(), "an expander cannot allow what robots.txt forbids"


def test_the_example_of_a_sink_goes_back_to_what_was_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    marker: Any = None
    for number in range(6):
        table = load("table:Table", "sink")
        table.open(tmp_path, marker)
        assert table.flush(final=False)["bytes"] == (marker["bytes"] if marker else 0)
        table.add("records", {"url": f"http://a.example/{number}", "record": {"title": "committed"}})
        marker = json.loads(json.dumps(table.flush(final=False)))
        table.add("records", {"url": f"http://a.example/{number}", "record": {"title": "lost"}})
        table.flush(final=False)
        table.close()
    table = load("table:Table", "sink")
    table.open(tmp_path, marker)
    table.close()
    with (tmp_path / "records.csv").open(encoding="utf-8", newline="") as file:
        rows = [(row["url"], row["title"]) for row in csv.DictReader(file)]
    assert rows == [(f"http://a.example/{number}", "committed") for number in range(6)]


# covers: L16
def test_the_command_loads_plugins_from_the_current_folder(site: Site, tmp_path: Path) -> None:
    articles(site)
    words = ["-o", str(tmp_path / "out"), "--delay", "0.01", *ALLOW]
    plugins = ["--expander", "articles:Articles", "--sink", "table:Table"]
    begun = process(
        "crawl",
        site.url("/"),
        *words,
        "--max-pages",
        "2",
        *plugins,
        cwd=EXAMPLES,
    )
    assert begun.returncode == 0, begun.stderr
    done = process("crawl", "--resume", "--max-pages", "none", *words, *plugins, cwd=EXAMPLES)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "out" / "records.csv").read_text().splitlines()
    assert len(lines) == 1 + 3
    other = comity("crawl", "--resume", *words, *plugins[:2], "--format", "warc", cwd=EXAMPLES)
    assert other.returncode == 73
    assert "table:Table" in other.stderr


@pytest.mark.parametrize("start", first_of("-m comity", "-I -m comity", "-P -c 'from comity.cli import main; main()'"))
@pytest.mark.parametrize("plugin", first_of(True, False))
def test_no_file_of_the_current_folder_is_run_but_a_plugin_that_is_named(
    plugin: bool, start: str, site: Site, tmp_path: Path
) -> None:
    articles(site)
    shutil.copy(EXAMPLES / "articles.py", tmp_path)
    installed = ["copy", "aiohttp", "selectolax", "signal", "sqlite3"]
    for name in installed if plugin else [*installed, "orjson", "uvloop"]:
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit({name!r} + ' of the current folder is run')")
    words = ("crawl", site.url("/"), "-o", "out", "--delay", "0.01", "--shards", "2", "--json", *ALLOW)
    more = ("--expander", "articles:Articles") if plugin else ()
    ended = subprocess.run(
        [sys.executable, *shlex.split(start), *words, *more],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=HANGS,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["pages"] == (3 if plugin else 4)


class Few:
    """A source."""

    def __init__(self, *urls: str) -> None:
        self._urls = urls

    def urls(self) -> Iterator[str]:
        yield from self._urls


class Later(Few):
    """A source that waits between URLs."""

    async def urls(self) -> AsyncIterator[str]:  # type: ignore[override]
        for url in self._urls:
            await asyncio.sleep(0.05)
            yield url


@pytest.mark.parametrize("kind", [Few, Later])
def test_a_source_says_where_to_start(kind: type[Few], site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /no\n")
    site.link("/a", "/b")
    site.link("/b")
    site.link("/c")
    crawl(tmp_path, source=kind(site.url("/a"), "nonsense", site.url("/no"), site.url("/c")))
    assert paths(tmp_path, site) == ["/a", "/b", "/c"]
    assert paths(tmp_path, site, "refusals") == ["/no"]
    assert [failure["url"] for failure in pages(tmp_path, "failures")] == ["nonsense"]


def test_a_source_without_end_is_read_only_as_far_as_it_is_wanted(site: Site, tmp_path: Path) -> None:
    class Endless:
        read = 0

        def urls(self) -> Iterator[str]:
            while True:
                yield site.url(f"/?{self.read}")
                self.read += 1

    for number in range(100):
        site.link(f"/?{number}")
    source = Endless()
    crawler = crawl(tmp_path, source=source, settings=CrawlSettings(max_pages=20))
    assert crawler.stats.pages == 20
    assert source.read < 100_000


def test_a_source_that_fails_stops_the_crawl_and_it_can_be_resumed(site: Site, tmp_path: Path) -> None:
    class Broken:
        def urls(self) -> Iterator[str]:
            yield site.url("/a")
            raise OSError("the list is gone")

    site.link("/a")
    site.link("/b")
    with pytest.raises(PluginError, match=r"Broken failed: OSError: the list is gone"):
        crawl(tmp_path, source=Broken())
    assert json.loads((tmp_path / "ledger.jsonl").read_text().splitlines()[-1])["ended"] == "stopped"
    assert prove(tmp_path).holds
    crawl(tmp_path, source=Few(site.url("/a"), site.url("/b")))
    assert paths(tmp_path, site) == ["/a", "/b"]


def test_an_expander_that_fails_costs_that_page_only(site: Site, tmp_path: Path) -> None:
    class Picky:
        def expand(self, response: Response) -> Expanded:
            if b"strange" in response.body:
                raise KeyError("price")
            if b"object" in response.body:
                return Expanded([{"it": object()}])
            if b"list" in response.body:
                return []  # type: ignore[return-value]
            return Expanded([{"size": len(response.body)}])

    site.link("/", "/strange", "/fine", "/object", "/list")
    for path in ("/strange", "/fine", "/object", "/list"):
        site.link(path)
    site.set("/", "".join(f'<a href="/{code}">x</a>' for code in "1234"))
    for code, body in zip("1234", ("strange", "fine", "object", "list"), strict=True):
        site.set(f"/{code}", body)
    crawl(tmp_path, site.url("/"), expander=Picky())
    assert paths(tmp_path, site) == ["/", "/2"]
    failures = {failure["url"][-1]: failure["why"] for failure in pages(tmp_path, "failures")}
    assert "KeyError: 'price'" in failures["1"]
    assert "not JSON serializable" in failures["3"]
    assert "gave list, not comity.crawler.Expanded" in failures["4"]
    assert [made["record"] for made in pages(tmp_path, "records") if made["url"].endswith("2")] == [{"size": 4}]


class Size(Enum):
    LARGE = "large"


@dataclass(frozen=True, slots=True)
class Offer:
    price: Decimal
    seen: datetime


@dataclass
class Article:
    title: str
    size: Size
    offers: list[Offer]


@attrs.define
class Attributed:
    title: str
    offer: Offer


class Model(pydantic.BaseModel):
    title: str
    seen: datetime


class Row(NamedTuple):
    title: str
    number: int


SEEN = datetime(2026, 5, 1, tzinfo=UTC)


# covers: L16
@pytest.mark.parametrize(
    ("record", "written"),
    [
        (
            Article("a", Size.LARGE, [Offer(Decimal("9.90"), SEEN)]),
            {"title": "a", "size": "large", "offers": [{"price": "9.90", "seen": "2026-05-01T00:00:00+00:00"}]},
        ),
        (
            Attributed("b", Offer(Decimal(1), SEEN)),
            {"title": "b", "offer": {"price": "1", "seen": "2026-05-01T00:00:00+00:00"}},
        ),
        (Model(title="c", seen=SEEN), {"title": "c", "seen": "2026-05-01T00:00:00Z"}),
        (Row("d", 4), {"title": "d", "number": 4}),
        (
            {"in": Row("e", 5), "of": Model(title="c", seen=SEEN)},
            {"in": ["e", 5], "of": {"title": "c", "seen": "2026-05-01T00:00:00Z"}},
        ),
    ],
)
def test_an_expander_may_give_typed_records(record: Any, written: Any, site: Site, tmp_path: Path) -> None:
    class Typed:
        def expand(self, _: Response) -> Expanded:
            return Expanded([record])

    site.link("/")
    crawl(tmp_path, site.url("/"), expander=Typed())
    assert [made["record"] for made in pages(tmp_path, "records")] == [written]


@pytest.mark.parametrize("url", [None, 5, b"http://x.example/"])
def test_a_source_that_names_no_text_is_named_with_what_it_gave(url: Any, tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=rf"Few failed: .*{re.escape(repr(url))}, which is .* and not a URL"):
        crawl(tmp_path, source=Few(url))


def test_an_expander_that_gives_what_nobody_can_use_is_named_in_the_failure(site: Site, tmp_path: Path) -> None:
    def leave() -> Iterator[Mapping[str, Any]]:
        yield {"it": 1}
        raise SystemExit(0)

    made: dict[str, Any] = {
        "none": lambda: Expanded(urls=["/a", None]),  # type: ignore[list-item]
        "number": lambda: Expanded(urls=[7]),  # type: ignore[list-item]
        "text": lambda: Expanded(urls="/a"),
        "nan": lambda: Expanded([{"it": float("nan")}]),
        "exit": lambda: Expanded(leave()),  # type: ignore[arg-type]
        "fine": lambda: Expanded(iter([{"it": 1}])),  # type: ignore[arg-type]
    }

    class Mixed:
        def expand(self, response: Response) -> Expanded:
            name = response.url.rpartition("/")[2]
            return made[name]() if name else Expanded()

    site.link("/", *(f"/{name}" for name in made))
    for name in made:
        site.link(f"/{name}")
    crawl(tmp_path, site.url("/"), expander=Mixed())
    assert paths(tmp_path, site) == ["/", "/fine"]
    assert [made["record"] for made in pages(tmp_path, "records")] == [{"it": 1}]
    failures = {failure["url"].rpartition("/")[2]: failure["why"] for failure in pages(tmp_path, "failures")}
    assert set(failures) == {"none", "number", "text", "nan", "exit"}
    assert all("the expander" in why and "Mixed failed on" in why for why in failures.values())
    assert "None, which is a NoneType and not a URL" in failures["none"]
    assert "SystemExit" in failures["exit"]


def test_the_urls_that_an_expander_names_stand_for_all_that_the_page_names(site: Site, tmp_path: Path) -> None:
    class Chooses:
        def expand(self, response: Response) -> Expanded:
            return Expanded(urls=["chosen", "mailto:a@b.example"] if response.url == site.url("/") else ())

    feed = '<link rel=alternate type=application/rss+xml href="/feed">'
    site.set("/", f'<link rel=canonical href="/canonical">{feed}<a href="/link">x</a>')
    site.set("/chosen", '<a href="/link">x</a>')
    crawl(tmp_path, site.url("/"), expander=Chooses(), settings=CrawlSettings(sitemaps=False))
    assert [path for path in site.paths() if path != "/robots.txt"] == ["/", "/chosen"]


def test_a_source_is_crawled_as_far_as_the_scope_reaches_around_it(site: Site, tmp_path: Path) -> None:
    for path in ("/a/", "/b/"):
        site.link(path, "/a/1", "/b/1", "/c/1")
    for path in ("/a/1", "/b/1", "/c/1"):
        site.link(path)
    settings = CrawlSettings(scope="prefix", sitemaps=False, max_pages=1)
    source = Few(site.url("/a/"), site.url("/b/"))
    crawl(tmp_path, source=source, settings=settings)
    crawl(tmp_path, source=source, settings={"max_pages": None})
    assert paths(tmp_path, site) == ["/a/", "/a/1", "/b/", "/b/1"]


class Memory:
    """A sink that keeps pages in a list, as far as they are committed."""

    def __init__(self, kept: list[str], *, broken_at: str = "", pending: int = 0) -> None:
        self.kept, self.broken_at, self.pending = kept, broken_at, pending

    def open(self, folder: Path, committed: Any) -> None:
        self._break("open")
        del self.kept[committed or 0 :]

    def add(self, channel: str, record: Mapping[str, Any], answer: object = None) -> None:
        if channel == "pages":
            self._break(record["url"][-2:])
            self.kept.append(record["url"])

    def flush(self, *, final: bool) -> int:
        if self.kept:
            self._break("flush")
        return len(self.kept)

    def close(self) -> None:
        self._break("close")

    def _break(self, where: str) -> None:
        if where == self.broken_at:
            raise ValueError("no more")


def test_a_sink_cannot_pass_its_own_failure_off_as_the_page_s(site: Site, tmp_path: Path) -> None:
    class Uploads(Memory):
        def _break(self, where: str) -> None:
            if where == self.broken_at:
                raise FetchError("the archive is down")

    site.link("/", "/7")
    site.link("/7")
    with pytest.raises(StorageError, match="FetchError: the archive is down"):
        crawl(tmp_path, site.url("/"), sink=Uploads([], broken_at="/7"))


@pytest.mark.parametrize("where", ["open", "/7", "flush", "close"])
def test_a_sink_that_fails_stops_the_crawl_which_can_be_resumed(where: str, site: Site, tmp_path: Path) -> None:
    site.link("/", *(f"/{number}" for number in range(9)))
    for number in range(9):
        site.link(f"/{number}")
    kept: list[str] = []
    with pytest.raises(StorageError, match=r"sink test_plugins:Memory could not .* ValueError: no more .*--resume"):
        crawl(tmp_path, site.url("/"), sink=Memory(kept, broken_at=where))
    crawl(tmp_path, site.url("/"), sink=Memory(kept))
    assert sorted(kept) == sorted(site.url(path) for path in ("/", *(f"/{number}" for number in range(9))))


def test_a_sink_that_fails_is_an_error_of_a_plug_in_for_the_command(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.link("/")
    monkeypatch.setattr(sys.modules[__name__], "broken", Memory([], broken_at="flush"), raising=False)
    words = ("crawl", site.url("/"), "-o", str(tmp_path / "out"), *ALLOW)
    answer = comity(*words, "--delay", "0.01", "--sink", f"{__name__}:broken")
    assert (answer.returncode, "ValueError: no more" in answer.stderr) == (1, True)


def test_a_sink_lives_in_one_thread_so_that_it_may_hold_what_belongs_to_one(site: Site, tmp_path: Path) -> None:
    site.link("/", "/a", "/b")
    site.link("/a")

    class Table:
        """The obvious sink: one connection of sqlite3, which no other thread may touch."""

        def __init__(self) -> None:
            self.threads: set[int] = set()

        @property
        def pending(self) -> int:
            self.threads.add(threading.get_ident())
            return self._db.total_changes * 0

        def open(self, folder: Path, committed: Any) -> None:
            self.threads.add(threading.get_ident())
            self._db = sqlite3.connect(folder / "table.sqlite")
            self._db.execute("CREATE TABLE IF NOT EXISTS page (url)")
            self._db.execute("DELETE FROM page WHERE rowid > ?", (committed or 0,))

        def add(self, channel: str, record: Mapping[str, Any], answer: object = None) -> None:
            if channel == "pages":
                self._db.execute("INSERT INTO page VALUES (?)", (record["url"],))

        def flush(self, *, final: bool) -> int:
            self._db.commit()
            return int(self._db.execute("SELECT count(*) FROM page").fetchone()[0])

        def close(self) -> None:
            self.threads.add(threading.get_ident())
            self._db.close()

    table = Table()
    crawl(tmp_path, site.url("/"), sink=table, settings=CrawlSettings(max_pages=1))
    crawl(tmp_path, site.url("/"), sink=table, settings=CrawlSettings(max_pages=2))
    assert threading.get_ident() not in table.threads
    with sqlite3.connect(tmp_path / "table.sqlite") as db:
        assert db.execute("SELECT url FROM page").fetchall() == [(site.url("/"),), (site.url("/a"),)]


def test_no_request_is_started_while_a_sink_holds_too_much(site: Site, tmp_path: Path) -> None:
    site.link("/", "/a")  # a link has its turn once its page is committed
    site.link("/a", "/b")
    site.link("/b")

    class Slow(Memory):
        def add(self, channel: str, record: Mapping[str, Any], answer: object = None) -> None:
            super().add(channel, record, answer)
            if channel == "pages":
                self.pending = MIB
                threading.Timer(0.3, setattr, (self, "pending", 0)).start()

    kept: list[str] = []
    crawl(tmp_path, site.url("/"), sink=Slow(kept), settings=CrawlSettings(sitemaps=False, body_memory=MIB))
    assert len(kept) == 3
    assert min(site.intervals()[-2:]) > 0.28


def test_a_plugin_that_cannot_be_used_is_told_apart_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(
        "class Empty: pass\n"
        "class Near:\n"
        "    pending = 0\n"
        "    def open(self, folder): pass\n"
        "    def add(self, channel, record, answer=None): pass\n"
        "    def flush(self, *, final): pass\n"
        "class Asks:\n"
        "    def __init__(self, host): pass\n"
        "nothing = None\n"
    )
    (tmp_path / "imports.py").write_text("import not_to_be_found\n")
    (tmp_path / "wrong.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name, words in {
        "mine": "not of the form MODULE:NAME",
        "mine:": "not of the form MODULE:NAME",
        "absent:Sink": "there is no module absent",
        "mine.inner:Sink": "there is no module mine.inner",
        "imports:Sink": "imports not_to_be_found",
        "wrong:Sink": "ZeroDivisionError",
        "mine:Other": "there is no Other in mine (it defines Empty, Near, Asks)",
        "mine:Asks": "host",
        "mine:nothing": "the method open is missing",
        "mine:Empty": "the method flush is missing",
        "mine:Near": "open cannot be called as open(folder, committed); the method close is missing",
    }.items():
        with pytest.raises(InvalidSetting) as error:
            load(name, "sink")
        assert words in str(error.value), name
    assert "mine" in sys.modules
    answer = comity("crawl", "http://127.0.0.1:9/", "-o", str(tmp_path / "out"), "--sink", "absent:Sink")
    assert answer.returncode == 64
    assert "there is no module absent" in answer.stderr


@pytest.mark.parametrize("form", ["warc", "parquet"])
def test_a_format_whose_library_is_missing_names_the_extra(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in ("warcio", "pyarrow")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(MissingExtra, match=rf"pip install 'comity\[{form}\]'"):
        crawl(tmp_path, "http://127.0.0.1:9/", sink=form)


def test_what_cannot_be_loaded_leaves_no_folder_behind(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "playwright", None)
    monkeypatch.setitem(sys.modules, "playwright.async_api", None)
    folder = tmp_path / "out"
    wrong: list[dict[str, Any]] = [
        {"sink": "nowhere:Sink"},
        {"sink": "csv"},
        {"source": "nowhere:Source"},
        {"expander": "nowhere:Expander"},
        {"settings": CrawlSettings(render=True)},
    ]
    for choice in wrong:
        with pytest.raises((InvalidSetting, MissingExtra)):
            crawl(folder, site.url("/"), **choice)
        assert not folder.exists()
    with pytest.raises(StorageError, match=r"no crawl in .* to continue"):
        crawl(folder)
    assert not folder.exists()


def test_a_folder_whose_crawl_never_began_takes_a_new_one(site: Site, tmp_path: Path) -> None:
    site.link("/")
    Frontier(tmp_path / "frontier.sqlite").__exit__()
    words = ("crawl", "-q", "--delay", "0", *ALLOW, "-o", str(tmp_path))
    resumed = comity(*words, "--resume")
    assert (resumed.returncode, "was stopped before it started" in resumed.stderr) == (73, True)
    assert comity(*words, site.url("/")).returncode == 0
    again = comity(*words, site.url("/"))
    assert (again.returncode, "already contains a crawl" in again.stderr) == (73, True)


def test_the_signatures_on_the_page_are_those_of_plug_ins() -> None:
    page = (Path(__file__).parents[4] / "docs" / "output.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"Their signatures:\n```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)
    for kind in (Source, Expander, Sink):
        mine = names[f"My{kind.__name__}"]
        for name, method in vars(kind).items():
            if inspect.isfunction(method) and not name.startswith("_"):
                shown, real = (inspect.signature(each).parameters for each in (getattr(mine, name), method))
                assert list(shown) == list(real)
        assert isinstance(mine(), kind)
