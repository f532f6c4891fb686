"""Everything a site can answer when it is asked for robots.txt, over real sockets, and what follows from it.

The table is printed (`pytest -s`), and docs/http-outcomes.md holds the same one, so that a reader can check it against
RFC 9309, 2.3.1 and Google's documentation.
"""

import asyncio
import contextlib
import itertools
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from aiohttp import web
from sites import HANGS, Site

from comity import AsyncClient, ClientSettings, Policy
from comity.policy import Decision, RobotsResult

DOCUMENT = Path(__file__).parents[4] / "docs" / "http-outcomes.md"
RULES = "User-agent: *\nDisallow: /private/\n"
PRESETS = ("rfc9309", "google", "robotstxt", "f9")
MANY = 7


@contextlib.contextmanager
def tls_site() -> Iterator[int]:
    """A port that speaks TLS with a certificate that nobody vouches for."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    loop_site = Site()
    loop_site.tls = context
    with loop_site:
        yield loop_site.port


def redirecting(site: Site, hops: int, target: str) -> None:
    """robots.txt that is reached after so many hops."""
    places = ["/robots.txt", *(f"/hop{number}" for number in range(1, hops)), target]
    for place, following in itertools.pairwise(places):
        site.set(place, status=301, headers={"Location": following})


async def cut_short(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(RULES.encode())
    assert request.transport is not None
    request.transport.close()
    return response


async def never(_: web.Request) -> web.StreamResponse:
    await asyncio.sleep(5)
    return web.Response()


def scenarios(site: Site, other: Site) -> Iterator[tuple[str, str]]:
    """What the site answers, in words, and the origin to ask; the site is set up when the next one is asked for."""
    own = site.url("")

    def answers(body: str | bytes = RULES, **more: object) -> str:
        site.clear()
        site.set("/robots.txt", body, **more)  # type: ignore[arg-type]
        return own

    yield "200, rules", answers()
    yield "200, empty file", answers("")
    yield "200, rules sent as text/html", answers(content_type="text/html")
    yield (
        "200, HTML instead of a file",
        answers("<!doctype html><title>Welcome</title><p>Hello", content_type="text/html"),
    )
    yield "200, binary", answers(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", content_type="image/png")
    yield "204, no content", answers("", status=204)
    yield "200, connection closed before the end", answers(cut_short)  # type: ignore[arg-type]
    yield "304, though no copy was held", answers("", status=304)
    for hops in range(1, MANY):
        site.clear()
        site.set("/file", RULES)
        redirecting(site, hops, "/file")
        yield f"301, {hops} hop{'s' if hops > 1 else ''}, then rules", own
    site.clear()
    other.set("/robots.txt", RULES)
    redirecting(site, 1, other.url("/robots.txt"))
    yield "301 to another host, then rules", own
    redirecting(site, 1, "/robots.txt")
    yield "301 to itself", own
    redirecting(site, 1, "ftp://example.com/robots.txt")
    yield "301 to what is no web address", own
    for status in (400, 401, 403, 404, 410, 429, 500, 502, 503, 504):
        yield f"{status}", answers("nothing", status=status)
    yield "no answer in time", answers(never)  # type: ignore[arg-type]
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        yield "connection refused", f"http://127.0.0.1:{closed.getsockname()[1]}"
    yield "host unknown to DNS", "http://name.invalid"
    with tls_site() as port:
        yield "certificate that cannot be trusted", f"https://127.0.0.1:{port}"


async def ask(preset: str, origin: str, timeout: float = HANGS) -> tuple[RobotsResult, Decision]:
    policy = Policy.preset(preset, agent="Bot/1", min_interval=0.0, allow_addresses=("127.0.0.0/8",))
    async with AsyncClient(policy, ClientSettings(timeout=timeout)) as client:
        decision = await client.check(origin + "/private/page")
        return client.inspect()[origin], decision


def word(decision: Decision) -> str:
    return "may" if decision.may_fetch else "may not"


# covers: L5, R4, R5, F21, W7, W8
def test_every_outcome_of_asking_for_robots_txt_is_in_the_table(site: Site) -> None:
    rows = []
    with Site("127.0.0.2") as other:
        for answer, origin in scenarios(site, other):
            timeout = 0.4 if answer == "no answer in time" else HANGS
            result, decision = asyncio.run(ask("rfc9309", origin, timeout))
            assert decision.source is not None
            assert decision.source.origin == origin
            presets = [word(asyncio.run(ask(preset, origin, timeout))[1]) for preset in PRESETS[1:]]
            rows.append((answer, result.kind, decision.verdict, word(decision), *presets))
    head = ("the site answers", "outcome", "verdict for /private/page", *PRESETS)
    table = ["| " + " | ".join(row) + " |" for row in (head, ("---",) * len(head), *rows)]
    print("\n" + "\n".join(table))
    documented = [line for line in DOCUMENT.read_text("utf-8").splitlines() if line.startswith("| ")]
    assert documented == table


# covers: R5
def test_a_ruby_gem_s_site_of_401_is_closed_and_of_404_open(site: Site) -> None:
    for status, expected in ((401, False), (403, False), (404, True), (503, True)):
        site.set("/robots.txt", status=status)
        assert asyncio.run(ask("robotstxt", site.url("")))[1].may_fetch is expected


# covers: R4
def test_a_robots_txt_in_its_own_character_set_is_converted_where_the_policy_says_so(site: Site) -> None:
    body = "User-agent: *\nDisallow: /café/\n".encode("latin-1")
    site.set("/robots.txt", body, content_type="text/plain; charset=iso-8859-1")

    def allowed(policy: Policy, path: str) -> bool:
        async def asked() -> bool:
            async with AsyncClient(policy) as client:
                return await client.is_allowed(site.url(path))

        return asyncio.run(asked())

    ours = {"min_interval": 0.0, "allow_addresses": ("127.0.0.0/8",)}
    assert allowed(Policy(**ours), "/caf%C3%A9/")  # type: ignore[arg-type]
    assert not allowed(Policy(**ours, robots_charset="declared"), "/caf%C3%A9/")  # type: ignore[arg-type]
    assert not allowed(Policy(**ours, robots_charset="declared", url_charset="latin-1"), "/caf%E9/")  # type: ignore[arg-type]


def test_a_copy_that_is_still_current_is_not_sent_again(site: Site) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        tag = {"ETag": '"one"', "Cache-Control": "max-age=60"}
        if request.headers.get("If-None-Match") == '"one"':
            return web.Response(status=304, headers=tag)
        return web.Response(text=RULES, headers=tag)

    site.set("/robots.txt", answer)

    async def asked() -> list[Decision]:
        policy = Policy(min_interval=0.0, cache_life=0.0, allow_addresses=("127.0.0.0/8",))
        async with AsyncClient(policy) as client:
            return [await client.check(site.url("/private/page")) for _ in range(3)]

    decisions = asyncio.run(asked())
    assert [seen.headers.get("If-None-Match") for seen in site.seen] == [None, '"one"', '"one"']
    for decision in decisions:
        assert decision.verdict == "disallowed_explicit"
        assert decision.source is not None
        assert decision.source.status == 200
        assert decision.source.sha256 is not None


@pytest.mark.parametrize("preset", ["rfc9309", "google"])
def test_the_last_good_copy_holds_while_robots_txt_is_unreachable(site: Site, preset: str) -> None:
    site.set("/robots.txt", RULES)

    async def asked() -> tuple[Decision, Decision]:
        policy = Policy.preset(
            preset, min_interval=0.0, cache_life=0.0, failure_life=0.0, allow_addresses=("127.0.0.0/8",)
        )
        async with AsyncClient(policy) as client:
            first = await client.check(site.url("/private/page"))
            site.set("/robots.txt", status=503)
            await client.check(site.url("/other"))  # asks again, in vain
            return first, await client.check(site.url("/private/page"))

    before, after = asyncio.run(asked())
    assert after.verdict == before.verdict == "disallowed_explicit"
    assert before.source is not None
    assert after.source is not None
    assert after.source.sha256 == before.source.sha256
    assert after.source.unreachable_since is not None
    assert after.source.error == "HTTP status 503"
