"""Host names: looked up once however many ask, remembered for a while, and never at another host's expense."""

import asyncio
import errno
import os
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from sites import HANGS, Site

from comity import AsyncClient, ClientSettings, ComityError, FetchError, Policy
from comity.crawler.run.hosts import MAX_HOSTS
from comity.net import names as module
from comity.net.deadlines import Deadline
from comity.net.names import Names

REAL = socket.getaddrinfo
OPEN = Policy(mode="ignore", min_interval=0, allow_addresses=("127.0.0.0/8",))


class System:
    """The system's resolver, with a name server that says nothing of `dead...` until it is told to."""

    def __init__(self) -> None:
        self.answers = threading.Event()
        self.asked: Counter[str] = Counter()
        self.code = socket.EAI_AGAIN

    def getaddrinfo(self, host: str, port: Any, *args: Any, **options: Any) -> Any:
        self.asked[host] += 1
        if ".." in host:
            return REAL(host, port)
        if host.startswith("dead"):
            self.answers.wait(HANGS)
            raise socket.gaierror(self.code, "no answer")
        return REAL("127.0.0.1", port, type=socket.SOCK_STREAM)


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> Iterator[System]:
    system = System()
    monkeypatch.setattr(socket, "getaddrinfo", system.getaddrinfo)
    yield system
    system.answers.set()


# covers: L10
def test_dead_names_make_no_other_host_unreachable(site: Site, system: System) -> None:
    site.set("/", "here")

    async def use() -> list[int]:
        async with AsyncClient(OPEN, ClientSettings(max_retries=0, connections=200)) as client:
            dead = [asyncio.ensure_future(client.get(f"http://dead{number}.example/")) for number in range(60)]
            while len(system.asked) < 60:
                await asyncio.sleep(0.01)
            well = [client.get(f"http://well{number}.example:{site.port}/") for number in range(10)]
            statuses = [response.status for response in await asyncio.gather(*well)]
            system.answers.set()
            for failed in await asyncio.gather(*dead, return_exceptions=True):
                assert isinstance(failed, FetchError), failed
                assert "no such host" in str(failed)
                assert failed.hint == "a typo, or no network?"
            return statuses

    assert asyncio.run(use()) == [200] * 10


def test_the_time_in_the_queue_counts_for_no_time_out(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LOOKUPS", 2)

    async def use() -> tuple[str, ...]:
        names = Names({}, ())
        dead = [asyncio.ensure_future(names.addresses(f"dead{number}.example")) for number in range(2)]
        while len(system.asked) < 2:
            await asyncio.sleep(0.01)
        asyncio.get_running_loop().call_later(1.5, system.answers.set)
        with Deadline(1.0):
            found = await names.addresses("well.example")
        await asyncio.gather(*dead, return_exceptions=True)
        await names.close()
        return found

    assert asyncio.run(use()) == ("127.0.0.1",)


def test_a_lookup_that_has_begun_counts_for_the_time_out(system: System) -> None:
    async def use() -> None:
        names = Names({}, ())
        with pytest.raises(TimeoutError):
            with Deadline(0.05):
                await names.addresses("dead.example")
        await names.close()

    asyncio.run(use())


def test_a_name_is_looked_up_once_and_what_came_is_remembered(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    async def use() -> None:
        names = Names({}, ())
        for _ in range(2):
            found = await asyncio.gather(*(names.addresses("well.example") for _ in range(50)))
            assert set(found) == {("127.0.0.1",)}
        system.answers.set()
        for host, code, remembered in (("dead1", socket.EAI_NONAME, True), ("dead2", socket.EAI_AGAIN, False)):
            monkeypatch.setattr(module, "FAILED_LIFE_SECONDS", 0.0)
            system.code = code
            for _ in range(2):
                failed = await asyncio.gather(*(names.addresses(host) for _ in range(50)), return_exceptions=True)
                assert {type(error) for error in failed} == {socket.gaierror}
            assert system.asked[host] == (1 if remembered else 2), "a failure that may pass is looked into again"
        assert system.asked["well.example"] == 1

    asyncio.run(use())


def test_what_is_no_host_name_is_not_found(system: System) -> None:
    async def use() -> None:
        names = Names({}, ())
        with pytest.raises(OSError, match="not a host name"):
            await names.addresses("a..b")
        assert await names.addresses("127.0.0.1") == ("127.0.0.1",)
        assert await names.addresses("::1") == ("::1",)
        assert not system.asked["127.0.0.1"]
        for policy in (OPEN, OPEN.with_changes(pace_by="address", mode="respect")):
            async with AsyncClient(policy, ClientSettings(max_retries=0)) as client:
                with pytest.raises(ComityError, match="no such host"):
                    await client.get("http://a..b/")

    asyncio.run(use())


def test_names_of_the_operators_own_come_in_any_spelling() -> None:
    async def use() -> None:
        own = ClientSettings(resolve={"Bücher.Example.": "10.0.0.1", "plain.example": "::0:1"}).resolve
        names = Names(own, ())
        assert await names.addresses("xn--bcher-kva.example") == ("10.0.0.1",)
        assert await names.addresses("plain.example.") == ("::1",)

    asyncio.run(use())


class NameServer(asyncio.DatagramProtocol):
    """A name server on loopback: `gone...` does not exist, anything else is 127.0.0.1 for so many seconds."""

    def __init__(self, ttl: int) -> None:
        self.ttl = ttl
        self.asked: Counter[str] = Counter()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, peer: Any) -> None:
        at, labels = 12, []
        while size := data[at]:
            labels.append(data[at + 1 : at + 1 + size].decode())
            at += size + 1
        question, kind = data[12 : at + 5], data[at + 2]
        gone = labels[0].startswith("gone")
        count = 0 if gone or kind != 1 else 1
        if kind == 1:
            self.asked[".".join(labels)] += 1
        flags = b"\x81\x83" if gone else b"\x81\x80"
        answer = b"\xc0\x0c\0\x01\0\x01" + self.ttl.to_bytes(4, "big") + b"\0\x04\x7f\0\0\x01"
        head = data[:2] + flags + b"\0\x01\0" + bytes([count]) + b"\0\0\0\0"
        self.transport.sendto(head + question + answer * count, peer)


@pytest.mark.parametrize(("ttl", "lookups"), [(300, 1), (0, 2)])
def test_an_answer_of_the_operators_name_server_holds_for_its_time_to_live(ttl: int, lookups: int) -> None:
    async def use() -> None:
        loop = asyncio.get_running_loop()
        transport, server = await loop.create_datagram_endpoint(lambda: NameServer(ttl), local_addr=("127.0.0.1", 0))
        names = Names({}, (f"127.0.0.1:{transport.get_extra_info('sockname')[1]}",))
        for _ in range(2):
            found = await asyncio.gather(*(names.addresses("well.example") for _ in range(50)))
            assert set(found) == {("127.0.0.1",)}
            failed = await asyncio.gather(*(names.addresses("gone.example") for _ in range(50)), return_exceptions=True)
            assert {type(error) for error in failed} == {socket.gaierror}
        assert server.asked == {"well.example": lookups, "gone.example": 1}, "one lookup for all who ask at a time"
        await names.close()
        transport.close()

    asyncio.run(use())


def test_an_answer_that_cannot_be_read_costs_no_other_name_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SLOW_LOOKUP_SECONDS", HANGS)

    class Damaging(NameServer):
        def datagram_received(self, data: bytes, peer: Any) -> None:
            if b"damaged" in data:
                self.transport.sendto(b"no", peer)
            else:
                super().datagram_received(data, peer)

    async def use() -> None:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(lambda: Damaging(300), local_addr=("127.0.0.1", 0))
        names = Names({}, (f"127.0.0.1:{transport.get_extra_info('sockname')[1]}",))
        hosts = ["damaged.example", *(f"well{number}.example" for number in range(20))]
        damaged, *well = await asyncio.gather(*map(names.addresses, hosts), return_exceptions=True)
        assert isinstance(damaged, socket.gaierror)
        assert set(well) == {("127.0.0.1",)}
        with pytest.raises(socket.gaierror) as caught:
            await names.addresses("a..b")
        assert caught.value.errno == socket.EAI_NONAME, "what can be no name is not asked about again"
        await names.close()
        transport.close()

    asyncio.run(use())


@pytest.mark.long
def test_names_of_all_hosts_that_a_crawl_takes_in_turn_are_remembered() -> None:
    async def use() -> None:
        async def found(host: str) -> tuple[str, ...]:
            asked[host] += 1
            return ("127.0.0.1",)

        asked: Counter[str] = Counter()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "in_thread", found)
            names = Names({}, ())
            for _ in range(2):
                for number in range(MAX_HOSTS):
                    await names.addresses(f"host{number}.example")
        assert set(asked.values()) == {1}

    asyncio.run(use())


def test_who_gives_up_or_waits_in_vain_takes_nothing_from_the_others(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_LOOKUPS", 1)

    async def use() -> None:
        names = Names({}, ())
        dead = asyncio.ensure_future(names.addresses("dead.example"))  # takes the only place
        queued = [asyncio.ensure_future(names.addresses("well.example")) for _ in range(3)]
        while not system.asked["dead.example"]:
            await asyncio.sleep(0.01)
        queued[0].cancel()
        system.answers.set()
        assert await asyncio.gather(*queued[1:]) == [("127.0.0.1",)] * 2
        assert queued[0].cancelled()
        with pytest.raises(socket.gaierror):
            await dead
        await names.close()

    asyncio.run(use())


def test_closing_ends_every_wait_for_a_name(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LOOKUPS", 1)

    async def use() -> None:
        names = Names({}, ())
        waiting = [asyncio.ensure_future(names.addresses(host)) for host in ("dead.example", "well.example") * 2]
        while not system.asked["dead.example"]:
            await asyncio.sleep(0.01)
        await names.close()
        ended = await asyncio.gather(*waiting, return_exceptions=True)
        assert {type(error) for error in ended} == {asyncio.CancelledError}

    asyncio.run(use())


def test_a_silent_name_server_holds_up_no_other_name_and_a_lookup_is_one_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LOOKUPS", 1)
    monkeypatch.setattr(module, "SLOW_LOOKUP_SECONDS", 0.05)

    class Silent(NameServer):
        def datagram_received(self, data: bytes, peer: Any) -> None:
            if b"dead" not in data:
                super().datagram_received(data, peer)

    async def use() -> None:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(lambda: Silent(300), local_addr=("127.0.0.1", 0))
        names = Names({}, (f"127.0.0.1:{transport.get_extra_info('sockname')[1]}",))
        before = len(asyncio.all_tasks())
        dead = [asyncio.ensure_future(names.addresses("dead.example")) for _ in range(20)]
        assert await names.addresses("well.example") == ("127.0.0.1",), "the place of the other was given up"
        assert len(asyncio.all_tasks()) <= before + len(dead) + 1, "one of the lookup that is under way"
        await names.close()
        ended = await asyncio.gather(*dead, return_exceptions=True)
        assert {type(error) for error in ended} <= {asyncio.CancelledError, socket.gaierror}
        transport.close()

    asyncio.run(use())


@pytest.mark.parametrize("short", ["threads", "files"])
def test_a_name_that_lacks_a_thread_or_a_file_to_be_looked_up_is_waited_for(
    short: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no name that does not exist, and for `pace_by` no host without an address."""
    tries = []
    start, look_up = threading.Thread.start, socket.getaddrinfo

    def lacks() -> bool:
        tries.append(True)
        return len(tries) % 3 != 0

    def started(thread: threading.Thread) -> None:
        if thread.name == "comity-lookup" and lacks():
            raise RuntimeError("can't start new thread")
        start(thread)

    def looked_up(host: Any, *rest: Any, **more: Any) -> Any:
        if host == "localhost" and lacks():
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return look_up(host, *rest, **more)

    def opened(path: Any, *rest: Any, **more: Any) -> int:
        if path == os.devnull:
            raise OSError(errno.EMFILE, "Too many open files")
        return os_open(path, *rest, **more)

    os_open = os.open
    if short == "threads":
        monkeypatch.setattr(threading.Thread, "start", started)
    else:
        monkeypatch.setattr(socket, "getaddrinfo", looked_up)
        monkeypatch.setattr("comity.net.names.os.open", opened)
    monkeypatch.setattr("comity.net.transport.MAX_PAUSE_SECONDS", 0.01)

    async def run() -> None:
        policy = Policy(min_interval=0, allow_addresses=("127.0.0.0/8", "::1/128"), pace_by="address")
        with Site() as site:
            site.set("/", b"here")
            async with AsyncClient(policy, ClientSettings(max_retries=0)) as client:
                assert (await client.get(f"http://localhost:{site.port}/")).body == b"here"
                assert client._session.driver.gate.pace_of("localhost") in ("127.0.0.1", "::1")
        assert len(tries) >= 3

    asyncio.run(run())
