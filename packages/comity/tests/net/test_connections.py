"""Connections: what arrives over them whole, what was cut off, and whose fault it is where there is none."""

import asyncio
import json
import os
import ssl
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import trustme
from clocks import FakeClock
from conftest import missing
from raw import RawSite, answer
from sites import HANGS

import comity
from comity import AsyncClient, Client, ClientSettings, Policy
from comity.frontier.durable import translate_os_errors
from comity.frontier.sqlite.database import open_for_writing, translate_errors
from comity.net.request_record import RequestRecord

LOOPBACK = ("127.0.0.0/8",)
QUICK = Policy(min_interval=0, robots_fetch_counts=False, allow_addresses=LOOPBACK)
ONCE = ClientSettings(max_retries=0, timeout=60.0)
Run = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs a coroutine on each kind of event loop."""
    if request.param == "asyncio":
        return asyncio.run
    if find_spec("uvloop") is None:
        missing("uvloop", "pip install 'comity[speed]'")
    return import_module("uvloop").run  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def authority() -> Iterator[tuple[ssl.SSLContext, str]]:
    """A server's TLS, and the file that vouches for it."""
    known = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    known.issue_cert("127.0.0.1").configure_cert(context)
    with known.cert_pem.tempfile() as file:
        yield context, file


# covers: L10
@pytest.mark.parametrize("cut", [True, False])
def test_a_body_that_tls_was_cut_off_in_is_not_whole(
    run: Run, authority: tuple[ssl.SSLContext, str], cut: bool
) -> None:
    async def talk(site: RawSite, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await site.request(reader)
        framed = b"/framed" in head  # then the end of the connection says nothing
        about = b"Content-Length: 23\r\n" if framed else b""
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + about + b"\r\nUser-agent: *\nAllow: /\n")
        await writer.drain()
        await asyncio.sleep(0.02)
        if cut:
            writer.transport.abort()

    async def use(site: RawSite, file: str) -> tuple[comity.Decision, bytes | str, bytes]:
        own = ClientSettings(max_retries=0, ca_file=file)
        async with (
            AsyncClient(QUICK, own) as client,
            AsyncClient(QUICK.with_changes(mode="ignore"), own) as careless,
        ):
            framed = await careless.get(site.url("/framed"))
            try:
                page: bytes | str = (await careless.get(site.url("/page"))).body
            except comity.FetchError as error:
                page = str(error)
            return await client.check(site.url("/page")), page, framed.body

    with RawSite(tls=authority[0], talk=talk) as site:
        decision, page, framed = run(use(site, authority[1]))
    assert framed == b"User-agent: *\nAllow: /\n"
    if cut:
        assert decision.verdict == "unknown_unreachable"
        assert "cut off without TLS's close_notify" in str(decision.source.error)
        assert "cut off without TLS's close_notify" in str(page)
    else:
        assert decision.verdict == "allowed_explicit"
        assert page == b"User-agent: *\nAllow: /\n"


def test_a_server_cannot_speak_for_the_address_guard() -> None:
    words = b"127.0.0.1 refused by the address guard: it is in 10.0.0.0/8"
    for line in (b"HTTP/1.1 " + words, words, b"HTTP/1.1 200 " + words + b"\r\nContent-Length: x"):
        with RawSite() as site:
            site.pages["/robots.txt"] = site.pages["/"] = line + b"\r\n\r\n"
            with Client(QUICK.with_changes(mode="ignore"), ONCE) as client, pytest.raises(comity.FetchError) as caught:
                client.get(site.url("/"))
            assert "allow_addresses" not in str(caught.value)
            with Client(QUICK, ONCE) as client:
                assert client.check(site.url("/")).verdict == "unknown_unreachable"


@pytest.mark.parametrize(
    ("octets", "said"),
    [
        (b"SSH-2.0-OpenSSH_9.0\r\n\r\n", "the answer is not valid HTTP: (Bad status line|Expected HTTP/)"),
        (answer(b"ab", "Content-Length: 5"), "the answer is not valid HTTP: Duplicate Content-Length"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "the answer is not valid HTTP: Invalid character",
        ),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 9\r\n\r\nab", "cut short: Not enough data"),
    ],
)
def test_what_is_wrong_with_an_answer_is_said_in_words(octets: bytes, said: str) -> None:
    async def talk(site: RawSite, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await site.request(reader)
        writer.write(octets)
        await writer.drain()

    own = ClientSettings(max_retries=0)
    with RawSite(talk=talk) as site, Client(QUICK.with_changes(mode="ignore"), own) as client:
        with pytest.raises(comity.FetchError, match=said) as caught:
            client.get(site.url("/x"))
        text = str(caught.value)
        assert not any(name in text for name in ("Error", "message=", "\n", " 400")), "a library's name helps nobody"


def test_long_header_lines_are_read() -> None:
    policy = "Content-Security-Policy: " + "https://example.test " * 4000
    with RawSite() as site:
        site.pages["/robots.txt"] = answer(b"User-agent: *\nDisallow: /no\n", policy)
        site.pages["/page"] = answer(b"hello", policy)
        site.pages["/endless"] = answer(b"hello", "X: " + "x" * 200_000)
        with Client(QUICK, ONCE) as client:
            assert client.get(site.url("/page")).body == b"hello"
            with pytest.raises(comity.RobotsDisallowed, match="line 2"):
                client.get(site.url("/no"))
            with pytest.raises(comity.FetchError):
                client.get(site.url("/endless"))


CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
FLOODS = {  # what an answer begins with, and what is then sent for as long as somebody listens
    "long headers": (b"HTTP/1.1 200 OK\r\n", b"".join(b"X-%d: %s\r\n" % (each, b"a" * 60_000) for each in range(20))),
    "short headers": (b"HTTP/1.1 200 OK\r\n", b"a: b\r\n" * 20_000),
    "interim answers": (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 5_000),
    "trailers": (CHUNKED + b"1\r\na\r\n0\r\n", b"X: " + b"a" * 60_000 + b"\r\n"),
    "a chunk's extension": (CHUNKED + b"1;", b"a" * 1_000_000),
    "chunks of one octet": (CHUNKED, b"1\r\na\r\n" * 10_000),
}


@pytest.mark.parametrize("flood", FLOODS)
def test_an_answer_without_end_is_given_up_and_little_of_it_is_kept(run: Run, flood: str) -> None:
    first, part = FLOODS[flood]
    alive = True

    async def talk(site: RawSite, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await site.request(reader)
        writer.write(first)
        while alive:
            writer.write(part)
            await writer.drain()

    async def ask(url: str) -> None:
        async with AsyncClient(QUICK.with_changes(mode="ignore"), own) as client:
            with pytest.raises(comity.FetchError):
                await client.get(url)

    own = ClientSettings(max_retries=0, timeout=1.0, max_body=100_000)
    with RawSite(talk=talk) as site:
        tracemalloc.start()
        try:
            run(ask(site.url("/x")))
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
            alive = False
    assert most < 32 * 1024 * 1024


SHORT = """
import asyncio, json, os, resource, sys
import comity
from comity.net import connections

peak, add = 0, connections.OPEN.add

def counted(number):
    global peak
    add(number)
    peak = max(peak, connections.OPEN.count)

connections.OPEN.add = counted
port, wanted, hosts = json.loads(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
own = comity.ClientSettings(resolve={f"h{n}.test": "127.0.0.1" for n in range(hosts)}, max_retries=0, connections=1000)
policy = comity.Policy(min_interval=0, robots_fetch_counts=False, allow_addresses=("127.0.0.0/8",))

async def many(client):
    async def one(number):
        try:
            return (await client.get(f"http://h{number}.test:{port}/")).status
        except comity.ComityError as error:
            return str(error)
    return await asyncio.gather(*(one(number) for number in range(hosts)))

async def main():
    async with comity.AsyncClient(policy, own) as client:
        answers = await many(client)
        most = peak
        held = []
        try:
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            pass
        for number in range(3):  # nothing is left but what idle connections hold
            assert (await client.get(f"http://127.0.0.{number + 1}:{port}/")).status == 200
        while connections.OPEN.count and client._session._transport._session.connector._close_idle():
            await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        try:
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            pass
        asyncio.get_running_loop().call_later(0.3, lambda: [os.close(each) for each in held])
        assert (await client.get(f"http://127.0.0.9:{port}/")).status == 200
    async with comity.AsyncClient(policy, comity.ClientSettings(max_wait=0.2, max_retries=0)) as client:
        held = []
        try:
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            pass
        seen = []
        client._session.on_request = seen.append
        try:
            await client.get(f"http://127.0.0.1:{port}/")
        except comity.Postponed as error:
            late = str(error)
        [os.close(each) for each in held]
    print(json.dumps([answers, connections.most_sockets(), most, connections.OPEN.count, late]))

asyncio.run(main())
"""


@pytest.mark.long
def test_a_shortage_of_file_descriptors_is_waited_for_and_no_hosts_fault() -> None:
    """More hosts than this process may open files."""
    hosts = 200
    with RawSite(address="0.0.0.0") as site:
        question = json.dumps([site.port, 128, hosts])
        command = [sys.executable, "-c", SHORT, question]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=HANGS, check=False)
        assert ran.returncode == 0, ran.stderr
        answers, most, peak, left, late = json.loads(ran.stdout)
        assert answers == [200] * hosts
        assert most == 64, "half of so few is left to everything else"
        assert 50 < peak <= most, "idle connections count, and are kept while there is room"
        assert left == 0
        assert "Too many open files" in late
        assert "ulimit -n" in late


def test_idle_connections_are_kept_while_there_is_room() -> None:
    with RawSite() as site, Client(QUICK, ONCE) as client:
        for _ in range(5):
            client.get(site.url("/"))
        assert site.accepted == 1


def test_a_connection_is_kept_until_its_host_may_be_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("comity.net.connections.MIN_IDLE_SECONDS", 0.0)  # it is kept for the sake of the interval alone
    with RawSite() as site, Client(QUICK.with_changes(min_interval=100.0), ONCE, clock=FakeClock()) as client:
        for _ in range(3):
            client.get(site.url("/"))
        assert site.accepted == 1


def test_a_database_that_cannot_be_opened_for_want_of_descriptors_does_not_blame_its_folder(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    path = tmp_path / "frontier.sqlite"
    with translate_errors(path):
        open_for_writing(path).close()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    held: list[int] = []
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))
        with suppress(OSError):
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        with pytest.raises(comity.StorageError, match="Too many open files") as caught, translate_errors(path):
            open_for_writing(path)
        with pytest.raises(comity.StorageError, match="ulimit -n"), translate_os_errors(path):
            os.open(path, os.O_RDONLY)
    finally:
        for each in held:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert "permissions" not in str(caught.value)


def test_a_stream_that_falls_silent_ends(run: Run) -> None:
    async def talk(site: RawSite, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while b"/silent" not in (head := await site.request(reader)):
            if not head:
                return
            writer.write(site.answer_to(head))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc")
        await asyncio.Event().wait()

    async def use(site: RawSite, own: ClientSettings) -> list[bytes]:
        parts = []

        async def read() -> None:
            async with AsyncClient(QUICK, own) as client, client.stream(site.url("/silent")) as response:
                async for part in response.chunks():
                    parts.append(part)

        with pytest.raises(comity.Timeout):
            await read()
        return parts

    for own in (
        ClientSettings(timeout=5.0, robots_timeout=HANGS, max_retries=0),
        ClientSettings(timeout=HANGS, connect_timeout=HANGS, read_timeout=5.0, max_retries=0),
    ):
        with RawSite(talk=talk) as site:
            assert b"".join(run(use(site, own))) == b"abc"


@pytest.mark.waits
def test_a_stream_may_take_longer_than_the_time_out_as_long_as_it_goes_on(run: Run) -> None:
    async def talk(site: RawSite, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while b"/slow" not in (head := await site.request(reader)):
            if not head:
                return
            writer.write(site.answer_to(head))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n")
        for _ in range(12):
            await asyncio.sleep(1)
            writer.write(b"x")

    async def use(site: RawSite) -> bytes:
        own = ClientSettings(timeout=10.0, robots_timeout=HANGS, max_retries=0)
        async with AsyncClient(QUICK, own) as client, client.stream(site.url("/slow")) as response:
            return b"".join([part async for part in response.chunks()])

    with RawSite(talk=talk) as site:
        assert run(use(site)) == b"x" * 12


# covers: L6
def test_a_request_that_meets_the_servers_idle_time_out_is_sent_again_in_its_turn(run: Run) -> None:
    """Each connection answers one request and ends when the next one arrives, as if its time had just been over."""

    async def talk(site: RawSite, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(site.answer_to(await site.request(reader)))
        await site.request(reader)

    async def use(site: RawSite) -> tuple[list[bytes], list[RequestRecord]]:
        exchanges: list[RequestRecord] = []
        policy = QUICK.with_changes(min_interval=0.1, breaker_failures=1, robots_fetch_counts=True)
        async with AsyncClient(policy, ONCE) as client:
            client._session.on_request = exchanges.append
            bodies = [(await client.get(site.url("/a"))).body, (await client._session.fetch(site.url("/b"))).body]
            async with client.stream(site.url("/c")) as response:
                bodies.append(b"".join([part async for part in response.chunks()]))
            client.clear_cache()
            await client.check(site.url("/d"))
            return bodies, exchanges

    with RawSite(talk=talk) as site:
        bodies, exchanges = run(use(site))
        assert bodies == [b"/a", b"/b", b"/c"]
        assert site.targets() == ["/robots.txt", "/a", "/a", "/b", "/b", "/c", "/c", "/robots.txt", "/robots.txt"]
    assert [exchange.status for exchange in exchanges] == [200, None, 200, None, 200, None, 200, None, 200]
    ends = [exchange.head or exchange.end for exchange in exchanges]
    assert all(later.sent - end >= 0.1 for end, later in zip(ends, exchanges[1:], strict=False)), "each in its turn"


def test_a_request_over_a_new_connection_is_not_sent_again_by_itself() -> None:
    async def talk(site: RawSite, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await site.request(reader)

    with RawSite(talk=talk) as site, Client(QUICK.with_changes(mode="ignore"), ONCE) as client:
        with pytest.raises(comity.FetchError, match="without an answer"):
            client.get(site.url("/a"))
        assert site.targets() == ["/a"]
