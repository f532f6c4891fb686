"""The clients against real servers: robots.txt first, at every hop, and no address that is not public."""

import asyncio
import socket
import time
from typing import Any

import pytest
from aiohttp import web
from clocks import FakeClock
from sites import HANGS, Site

import comity
from comity import AsyncClient, Client, ClientSettings, Policy, crawl
from comity.errors import InvalidSetting
from comity.net.session import ClientClosed

LOOPBACK = ("127.0.0.0/8",)
QUICK = Policy(min_interval=0, allow_addresses=LOOPBACK)


# covers: L1, W8
def test_a_disallowed_url_raises_and_sends_nothing(site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /private\n")
    with Client(QUICK) as client, pytest.raises(comity.RobotsDisallowed) as caught:
        client.get(site.url("/private/x"))
    assert site.paths() == ["/robots.txt"]
    assert caught.value.url == site.url("/private/x")
    assert caught.value.decision.rule.line == 2
    assert "Disallow: /private" in str(caught.value)
    assert "comity/" in str(caught.value)


# covers: L2, L15
def test_both_clients_ask_for_robots_txt_once(site: Site) -> None:
    site.set("/a", "hello")

    async def use_async() -> list[int]:
        async with AsyncClient(QUICK) as client:
            answers = await asyncio.gather(*(client.get(site.url("/a")) for _ in range(20)))
            return [answer.status for answer in answers]

    assert asyncio.run(use_async()) == [200] * 20
    assert site.paths().count("/robots.txt") == 1
    with Client(QUICK) as client:
        assert [client.get(site.url("/a")).body for _ in range(3)] == [b"hello"] * 3
    assert site.paths().count("/robots.txt") == 2


def test_a_call_that_waits_for_its_turn_while_the_client_is_closed_sends_nothing(site: Site, clock: FakeClock) -> None:
    told: list[object] = []

    async def use() -> int:
        client = AsyncClient(Policy(min_interval=5, allow_addresses=LOOPBACK), clock=clock)
        await client.get(site.url("/a"))
        client._session.on_request = told.append
        slept = len(clock.slept)
        waiting = asyncio.ensure_future(client.get(site.url("/b")))
        while len(clock.slept) == slept:
            await asyncio.sleep(0)
        await client.close()
        with pytest.raises(RuntimeError, match="the client is closed"):
            await waiting
        return client._session.driver.gate.throttles.of("127.0.0.1").under_way

    assert asyncio.run(use()) == 0, "its turn is given back"
    assert told == [], "nobody is told of a request that was not sent"
    assert site.paths() == ["/robots.txt", "/a"]


# covers: L6, Y4
def test_the_delay_is_kept_by_the_servers_own_clock(site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nCrawl-delay: 0.15\n")

    async def use() -> None:
        async with AsyncClient(Policy(min_interval=0.05, allow_addresses=LOOPBACK)) as client:
            await asyncio.gather(*(client.get(site.url(f"/{number}")) for number in range(4)))

    asyncio.run(use())
    first, *others = site.intervals()
    assert first >= 0.05, "after robots.txt our own interval, for no other was known"
    assert all(interval >= 0.15 for interval in others)


def test_a_long_delay_is_waited_for_without_waiting(site: Site, clock: FakeClock) -> None:
    site.set("/robots.txt", "User-agent: *\nCrawl-delay: 3600\n")

    async def use() -> None:
        async with AsyncClient(Policy(allow_addresses=LOOPBACK), ClientSettings(max_wait=None), clock=clock) as client:
            for number in range(3):
                await client.get(site.url(f"/{number}"))

    started = time.monotonic()
    asyncio.run(use())
    assert time.monotonic() - started < HANGS
    assert clock.now >= 1_000 + 2 * 3600


# covers: W2
def test_each_redirect_hop_is_decided_anew(site: Site) -> None:
    with Site("127.0.0.2") as other:
        other.set("/robots.txt", "User-agent: *\nDisallow: /closed\n")
        other.set("/open", "here")
        site.set("/to-open", status=302, headers={"Location": other.url("/open")})
        site.set("/to-closed", status=301, headers={"Location": other.url("/closed")})
        with Client(QUICK) as client:
            answer = client.get(site.url("/to-open"))
            assert (answer.url, answer.redirects) == (other.url("/open"), (site.url("/to-open"),))
            with pytest.raises(comity.RobotsDisallowed):
                client.get(site.url("/to-closed"))
        assert "/closed" not in other.paths()


@pytest.mark.parametrize("target", ["/loop", "file:///etc/passwd", "javascript:alert(1)", "http://"])
def test_a_redirect_that_leads_nowhere_is_an_error(site: Site, target: str) -> None:
    site.set("/loop", status=302, headers={"Location": target})
    with Client(QUICK) as client, pytest.raises(comity.TooManyRedirects):
        client.get(site.url("/loop"))


def test_a_redirect_that_is_not_followed_says_why(site: Site) -> None:
    site.set("/self", status=302, headers={"Location": "/self"})
    site.set("/a", status=302, headers={"Location": "/b"})
    site.set("/b", status=302, headers={"Location": "/c"})
    site.set("/out", status=302, headers={"Location": "file:///etc/passwd"})
    with Client(QUICK, comity.ClientSettings(max_redirects=1)) as client:
        for path, why in (
            ("/self", "in a loop"),
            ("/a", "more than the limit of 1 redirects"),
            ("/out", "which cannot be fetched"),
        ):
            with pytest.raises(comity.TooManyRedirects, match=why):
                client.get(site.url(path))


# covers: R5
@pytest.mark.parametrize(("hops", "verdict"), [(5, "disallowed_explicit"), (6, "allowed_implicit")])
def test_robots_txt_is_followed_over_five_redirects(site: Site, hops: int, verdict: str) -> None:
    site.set("/robots.txt", status=301, headers={"Location": "/hop1"})
    for hop in range(1, hops):
        site.set(f"/hop{hop}", status=301, headers={"Location": f"/hop{hop + 1}"})
    site.set(f"/hop{hops}", "User-agent: *\nDisallow: /", content_type="text/plain")
    with Client(QUICK) as client:
        assert client.check(site.url("/x")).verdict == verdict


# covers: W7
def test_a_host_that_does_not_answer_is_unreachable() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/"
    with Client(QUICK) as client:
        assert client.check(url).verdict == "unknown_unreachable"
        with pytest.raises(comity.RobotsUnreachable):
            client.get(url)


# covers: L9
def test_robots_txt_has_a_time_out_of_its_own(site: Site) -> None:
    async def slow(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(2 * HANGS)
        return web.Response()

    site.set("/robots.txt", slow)
    with Client(QUICK, ClientSettings(timeout=HANGS, robots_timeout=0.1)) as client:
        decision = client.check(site.url("/"))
        assert decision.verdict == "unknown_unreachable"
        assert "0.1 s" in decision.why


# covers: W15
@pytest.mark.parametrize("host", ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "localhost"])
def test_loopback_is_refused_in_every_disguise_unless_allowed(site: Site, host: str) -> None:
    with Client(Policy(min_interval=0, mode="ignore")) as client, pytest.raises(comity.AddressBlocked, match="allow"):
        client.get(f"http://{host}:{site.port}/")
    assert site.seen == []


# covers: W15
def test_a_name_that_resolves_to_a_private_address_is_refused_for_robots_txt_too(site: Site) -> None:
    settings = ClientSettings(resolve={"innocent.example": "127.0.0.1"})
    with Client(Policy(min_interval=0), settings) as client:
        decision = client.check(f"http://innocent.example:{site.port}/")
    assert not decision.may_fetch
    assert site.seen == []


def test_a_body_over_the_limit_is_not_read_to_its_end(site: Site) -> None:
    site.set("/big", b"x" * 100_000)
    with Client(QUICK, ClientSettings(max_body=10_000)) as client, pytest.raises(comity.TooLarge):
        client.get(site.url("/big"))


def test_a_bomb_is_stopped_at_the_limit(site: Site) -> None:
    import zlib

    packer = zlib.compressobj(wbits=31)
    bomb = b"".join(packer.compress(bytes(1024 * 1024)) for _ in range(200)) + packer.flush()
    site.set("/bomb", bomb, headers={"Content-Encoding": "gzip"})
    with Client(QUICK, ClientSettings(max_body=1_000_000)) as client, pytest.raises(comity.ComityError):
        client.get(site.url("/bomb"))


@pytest.mark.parametrize(
    "url", ["example.com", "ftp://example.com/", "http://", "mailto:a@example.com", "", "http://[::1"]
)
def test_what_is_no_web_address_is_refused_by_name(url: str) -> None:
    with Client(QUICK) as client, pytest.raises(comity.InvalidURL):
        client.get(url)


# covers: F14, F19, Y8
def test_what_was_learned_can_be_inspected_without_io(site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nCrawl-delay: 2\nSitemap: https://example.com/s.xml\n")
    with Client(QUICK) as client:
        assert client.crawl_delay(site.url("/")) is None
        assert client.is_allowed(site.url("/"))
        assert client.crawl_delay(site.url("/")) == 2.0
        (result,) = client.inspect().values()
        assert result.robots.sitemaps == ("https://example.com/s.xml",)
        client.clear_cache()
        assert client.is_allowed(site.url("/"))
    assert site.paths() == ["/robots.txt", "/robots.txt"]


def test_one_question_and_one_page_need_no_client_and_keep_the_pace_together(site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /no\nCrawl-delay: 0.2\n")
    site.set("/a", "<title>A</title><p>Hello there.")
    own = {"agent": "MyBot/1.0", "allow_addresses": ("127.0.0.0/8",), "min_interval": 0}
    assert comity.check(site.url("/no"), **own).verdict == "disallowed_explicit"
    assert comity.fetch(site.url("/a"), QUICK.with_changes(**own)).markdown == "Hello there.\n"
    assert comity.check(site.url("/a"), **own).may_fetch
    with pytest.raises(comity.RobotsDisallowed):
        comity.fetch(site.url("/no"), **own)
    assert site.paths().count("/robots.txt") == 1
    assert min(site.intervals()) >= 0.2
    with pytest.raises(TypeError, match="timeout"):
        comity.check(site.url("/a"), timeout=3)


@pytest.mark.parametrize("status", [404, 500])
def test_a_site_without_a_file_is_inspected_as_one_without_groups(status: int, site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /\n", status=status)
    with Client(QUICK) as client:
        client.check(site.url("/"))
        (result,) = client.inspect().values()
    assert (result.has_file, result.robots.groups, result.robots.sitemaps) == (False, (), ())


def test_a_hopeless_delay_of_one_port_leaves_the_other_ports_of_its_host_as_they_are(site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nAllow: /\n")
    policy = Policy(min_interval=1.0, allow_addresses=("127.0.0.0/8",))
    with Site() as hopeless, Client(policy, ClientSettings(max_wait=20.0), clock=FakeClock()) as client:
        hopeless.set("/robots.txt", "User-agent: *\nCrawl-delay: 1e308\n")
        assert client.get(site.url("/a")).status == 404
        decision = client.check(hopeless.url("/a"))
        assert decision.recommendation == "not_recommended"
        with pytest.raises(comity.Postponed, match=r"another over a thousand years"):
            client.get(hopeless.url("/a"))
        assert client.get(site.url("/b")).status == 404
    assert hopeless.paths() == ["/robots.txt"]


def test_an_async_client_goes_on_in_another_event_loop(site: Site) -> None:
    client = AsyncClient(QUICK, ClientSettings(max_retries=0))

    async def get(path: str) -> int:
        return (await client.get(site.url(path))).status

    async def broken_off() -> None:
        asked = asyncio.create_task(get("/slow"))
        while "/slow" not in site.paths():
            await asyncio.sleep(0.01)
        asked.cancel()
        await asyncio.wait([asked])

    async def slow(_: web.Request) -> web.Response:
        await asyncio.sleep(HANGS)
        return web.Response()

    site.set("/slow", slow)
    assert [asyncio.run(get(path)) for path in ("/a", "/b")] == [404, 404]
    asyncio.run(broken_off())
    assert asyncio.run(get("/c")) == 404
    assert len(client.inspect()) == 1
    client.clear_cache()
    kept = asyncio.new_event_loop()
    try:
        assert kept.run_until_complete(get("/d")) == 404
        assert asyncio.run(get("/e")) == 404
        assert kept.run_until_complete(get("/f")) == 404, "a loop that was left may be taken up again"
    finally:
        kept.close()
    asyncio.run(client.close())
    assert site.paths() == ["/robots.txt", "/a", "/b", "/slow", "/c", "/robots.txt", "/d", "/e", "/f"]


def test_two_event_loops_do_not_use_an_async_client_at_a_time(site: Site) -> None:
    client = AsyncClient(QUICK)

    async def first() -> None:
        await client.get(site.url("/a"))

        def second() -> None:
            asyncio.run(client.get(site.url("/b")))  # type: ignore[arg-type]

        with pytest.raises(RuntimeError, match="another event loop"):
            await asyncio.to_thread(second)
        assert (await client.get(site.url("/c"))).status == 404
        await client.close()

    asyncio.run(first())
    assert site.paths() == ["/robots.txt", "/a", "/c"]


def test_clients_that_share_their_pace_keep_one_to_each_host(site: Site) -> None:
    policy = Policy(agent="MyBot/1.0", min_interval=0.1, allow_addresses=("127.0.0.0/8",))

    async def session() -> None:
        async with AsyncClient(policy) as one, AsyncClient(policy, pace_with=one) as two:
            await asyncio.gather(*(client.get(site.url(f"/{n}")) for n in range(2) for client in (one, two)))

    asyncio.run(session())
    assert len(site.seen) == 6
    assert min(site.intervals()) >= 0.1


def test_what_cannot_be_sent_of_one_call_is_refused_in_words(site: Site) -> None:
    with Client(QUICK) as client:
        wrong: dict[str, Any]
        for wrong in ({"headers": {"a": 5}}, {"params": {"a": None}}, {"params": {"a": ["b", "c"]}}):
            with pytest.raises(InvalidSetting, match=f"{next(iter(wrong))}: 'a' is "):
                client.get(site.url("/"), **wrong)
        for wrong in ({"headers": 5}, {"headers": [("a", "b")]}, {"params": "a=b"}):
            with pytest.raises(TypeError, match="expected a mapping of text to text"):
                client.get(site.url("/"), **wrong)
        assert site.seen == []
        assert client.get(site.url("/"), params={"a": 5}).url == site.url("/?a=5")  # type: ignore[dict-item]
    for seeds in (None, 5):
        with pytest.raises(TypeError, match="seeds: expected a URL or several"):
            list(crawl(seeds))  # type: ignore[arg-type]


def test_a_body_that_is_under_way_when_the_client_is_closed_ends_there_and_is_not_tried_again() -> None:
    asked: list[bytes] = []
    begun = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readline():
            asked.append(head)
            while (await reader.readline()).strip():
                pass
            if b"robots.txt" in head:
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                continue
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\nbegun")
            await writer.drain()
            begun.set()
        writer.close()

    async def use() -> None:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/endless"
            client = AsyncClient(QUICK, ClientSettings(timeout=600))
            call = asyncio.create_task(client.get(url))
            await begun.wait()
            await asyncio.sleep(0.2)  # until the head was read and the body is waited for
            await client.close()
            with pytest.raises(ClientClosed):
                await asyncio.wait_for(call, HANGS)

    asyncio.run(use())
    assert len(asked) == 2


def test_calls_that_wait_for_their_turn_when_the_client_is_closed_end_there_and_nothing_is_learned_of_that() -> None:
    asked: list[bytes] = []
    begun = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readline():
            asked.append(head)
            while (await reader.readline()).strip():
                pass
            if len(asked) > 1:  # the first robots.txt is never answered
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            begun.set()
        writer.close()

    async def closed_while(client: AsyncClient, *paths: str) -> None:
        calls = [asyncio.create_task(client.get(path)) for path in paths]
        await begun.wait()
        await asyncio.sleep(0.2)  # until each of them waits
        await client.close()
        for call in calls:
            with pytest.raises(ClientClosed):
                await asyncio.wait_for(call, HANGS)
            assert not call.cancelled()

    async def use() -> None:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            site = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            policy = Policy(min_interval=600, robots_fetch_counts=False, allow_addresses=LOOPBACK)
            client = AsyncClient(policy, ClientSettings(timeout=600))
            await closed_while(client, f"{site}/1", f"{site}/2")  # one waits for robots.txt, one for the other's answer
            assert not client.inspect()
            async with client:
                await asyncio.wait_for(client.get(f"{site}/3"), HANGS)
                await closed_while(client, f"{site}/4", f"{site}/5")  # both wait for their turn

    asyncio.run(use())
    assert len(asked) == 3
