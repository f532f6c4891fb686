"""What a crawl writes: in every format the same pages, each once, whatever happened in between."""

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from conftest import missing
from hypothesis import example, given, settings
from hypothesis import strategies as st
from outputs import READERS
from sites import Site

from comity import Crawler, CrawlSettings, Policy, Response
from comity.crawl import Sink
from comity.crawl.sinks.guarded import FORMATS, make
from comity.policy import decide

QUICK = Policy(min_interval=0, allow_addresses=("127.0.0.0/8",))
NEEDS = {"warc": "warcio", "parquet": "pyarrow"}
every_format = pytest.mark.parametrize("form", FORMATS)


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
    crawler = Crawler(seeds, folder, policy=QUICK, settings=CrawlSettings(**choices), sink=sink)
    asyncio.run(crawler.run())
    return crawler


# covers: Y3
@every_format
def test_every_format_holds_what_the_crawl_met(form: str, site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /no\n")
    site.link("/", "/a", "/A", "/a/", "/a/b", "/a?x=1", "/no", "/gone", "/moved", "/latin")
    for path in ("/a", "/A", "/a/", "/a/b", "/a?x=1"):
        site.set(path, f"<title>{path}</title>")
    site.set("/moved", status=301, headers={"Location": "/caf\udcc3\udca9"})
    site.set("/latin", "<title>Käse</title>")
    crawl(tmp_path, site.url("/"), sink=form)
    output = READERS[form](tmp_path)
    bodies = {url.removeprefix(site.url("")): body for url, body in output.pages}
    assert len(bodies) == len(output.pages)
    assert set(bodies) == {"/", "/a", "/A", "/a/", "/a/b", "/a?x=1", "/latin"}
    assert bodies["/a?x=1"] == b"<title>/a?x=1</title>"
    assert bodies["/latin"].decode() == "<title>Käse</title>"
    assert output.refusals == [site.url("/no")]
    assert site.url("/gone") in output.failures
    assert output.redirects == [site.url("/moved")]
    assert output.robots == [site.url("/robots.txt")]


def answer(url: str, body: bytes) -> Response:
    headers = (("Content-Type", "text/html"), ("Content-Length", str(len(body))))
    return Response(
        url=url,
        status=200,
        headers=dict(headers),
        all_headers=headers,
        body=body,
        decision=decide(QUICK, url, None),
        fetched_at=1_700_000_000.5,
        elapsed=0.1,
    )


def add_page(sink: Sink, number: int) -> None:
    url = f"http://example.com/{number}"
    body = random.Random(number).randbytes(300).hex()
    record = {"url": url, "status": 200, "fetched_at": 1_700_000_000.5, "content_type": "text/html", "body": body}
    sink.add("pages", record, answer(url, body.encode()))


SMALL: dict[str, dict[str, int]] = {"warc": {"roll": 2000}, "parquet": {"roll": 2000}}


def small(form: str) -> Sink:
    """A sink whose files roll early."""
    return type(make(form))(**SMALL.get(form, {}))


class PowerCut(BaseException):
    """Stops a sink where it stands."""


@every_format
@settings(max_examples=40, deadline=None)
@example(steps=[("add", 6), ("commit", False), ("add", 1), ("cut", 12)])  # in a file that was never committed
@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("add"), st.integers(1, 6)),
            st.tuples(st.just("commit"), st.booleans()),
            st.tuples(st.just("cut"), st.integers(0, 12)),
        ),
        max_size=25,
    )
)
def test_a_cut_at_any_moment_leaves_exactly_what_was_committed(form: str, steps: list[tuple[str, int]]) -> None:
    """`cut` N: power fails at the N-th time the disk is asked to keep something during a flush, or right after."""
    need(form)
    with tempfile.TemporaryDirectory() as top:
        runs = 0
        folder = Path(top) / "0"
        folder.mkdir()
        sink = small(form)
        sink.open(folder, None)
        marker: Any = None
        committed, added, number = [], [], 0
        for step, value in [*steps, ("commit", True)]:
            if step == "add":
                for _ in range(value):
                    add_page(sink, number)
                    added.append(f"http://example.com/{number}")
                    number += 1
            elif step == "commit":
                marker = sink.flush(final=bool(value))
                committed, added = committed + added, []
            else:
                with pytest.MonkeyPatch.context() as patch:
                    cut_at(patch, value)
                    try:
                        sink.flush(final=value % 2 == 0)
                    except PowerCut:
                        pass
                runs += 1
                after = Path(top) / str(runs)
                shutil.copytree(folder, after)  # the files as they were at that moment
                sink.close()
                folder, sink, added = after, small(form), []
                sink.open(folder, marker)
        sink.flush(final=False)
        sink.close()
        assert READERS[form](folder).urls == sorted(committed)


def cut_at(patch: pytest.MonkeyPatch, number: int) -> None:
    real, calls = os.fsync, 0

    def fsync(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls > number:
            raise PowerCut
        real(descriptor)

    patch.setattr(os, "fsync", fsync)


# covers: Y3
@every_format
def test_a_crawl_killed_at_random_moments_has_every_page_once(form: str, site: Site, tmp_path: Path) -> None:
    count = 240

    async def page(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(0.01)
        number = int(request.path[1:])
        links = "".join(f'<a href="/{target}">x</a>' for target in (number * 2 + 1, number * 2 + 2) if target < count)
        return web.Response(text=f"<title>{number}</title>{links}", content_type="text/html")

    for number in range(count):
        site.set(f"/{number}", page)
    command = [sys.executable, "-m", "comity", "crawl", "-o", str(tmp_path / "out"), "--delay", "0"]
    command += ["--allow-address", "127.0.0.0/8", "--concurrency", "4"]
    moments = random.Random(form)
    kills = 0
    for attempt in range(6):
        words = ["--resume"] if attempt else [site.url("/0"), "--format", form]
        process = subprocess.Popen([*command, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        before, more = len(site.seen), moments.randrange(10, 60)
        deadline = time.monotonic() + 20
        while len(site.seen) < before + more and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.002)
        time.sleep(moments.random() * 0.05)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.wait()
    done = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert kills >= 3
    urls = READERS[form](tmp_path / "out").urls
    assert [url for url, times in Counter(urls).items() if times > 1] == []
    assert set(urls) == {site.url(f"/{number}") for number in range(count)}
