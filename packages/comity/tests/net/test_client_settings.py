"""What a client does beside asking: retries, time-outs, limits, headers, streams, and what it keeps for later."""

import asyncio
import gzip
import itertools
import json
import math
import multiprocessing
import os
import pickle
import sqlite3
import ssl
import stat
import threading
import time
import zlib
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiohttp import web
from clocks import FakeClock
from commands import comity as command
from multidict import CIMultiDict
from sites import HANGS, Site, endless

import comity
from comity import AsyncClient, Client, ClientSettings, CrawlSettings, InvalidSetting, Policy
from comity.identity import Identity, create
from comity.net.client_settings import APPLICATION_ID
from comity.net.http_cache import HttpCache
from comity.policy import RobotsResult

LOOPBACK = ("127.0.0.0/8",)
QUICK = Policy(min_interval=0.0, backoff=0.01, allow_addresses=LOOPBACK)


def statuses(site: Site, path: str, *answers: int, headers: dict[str, str] | None = None) -> None:
    """Serve one status after the other; the last one stays."""
    left = list(answers)

    async def answer(_: web.Request) -> web.StreamResponse:
        status = left.pop(0) if len(left) > 1 else left[0]
        return web.Response(status=status, headers=headers if status != 200 else None, text="body")

    site.set(path, answer)


# Retries and waiting


# covers: L13
@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_may_pass_is_tried_again(site: Site, status: int) -> None:
    statuses(site, "/a", status, status, 200)
    with Client(QUICK) as client:
        assert client.get(site.url("/a")).status == 200
        assert site.paths().count("/a") == 3


# covers: L13
def test_what_does_not_pass_comes_back_as_it_is(site: Site) -> None:
    for path, status in (("/gone", 404), ("/broken", 500), ("/busy", 503)):
        statuses(site, path, status)
    with Client(QUICK, ClientSettings(max_retries=1)) as client:
        assert client.get(site.url("/gone")).status == 404
        assert client.get(site.url("/broken")).status == 500
        assert client.head(site.url("/busy")).status == 503
    assert [site.paths().count(path) for path in ("/gone", "/broken", "/busy")] == [1, 1, 2]


# covers: L13
def test_retry_after_is_waited_for(site: Site) -> None:
    statuses(site, "/a", 503, 200, headers={"Retry-After": "1"})
    with Client(QUICK) as client:
        assert client.get(site.url("/a")).status == 200
    times = [seen.time for seen in site.seen if seen.path == "/a"]
    assert times[1] - times[0] >= 1.0


# covers: L13
def test_a_connection_that_is_dropped_is_tried_again_at_the_hosts_pace(site: Site) -> None:
    calls = []

    async def drop(request: web.Request) -> web.StreamResponse:
        calls.append(time.monotonic())
        if len(calls) < 3:
            assert request.transport is not None
            request.transport.abort()
        return web.Response(text="here")

    site.set("/a", drop)
    with Client(Policy(min_interval=0.1, backoff=0.0, allow_addresses=LOOPBACK)) as client:
        assert client.get(site.url("/a")).body == b"here"
    assert all(later - earlier >= 0.1 for earlier, later in itertools.pairwise(calls))


def test_a_wait_that_is_too_long_is_an_error_and_not_a_hang(site: Site) -> None:
    statuses(site, "/a", 503, headers={"Retry-After": "3600"})
    with Client(QUICK, ClientSettings(max_wait=2.0)) as client:
        assert client.get(site.url("/a")).status == 503, "trying again would mean waiting for an hour"
        with pytest.raises(comity.Postponed, match=r"another 60 minutes") as caught:
            client.get(site.url("/b"))
        assert 3500 < caught.value.seconds <= 3600


# covers: L12
def test_an_open_circuit_sends_nothing(site: Site, clock: FakeClock) -> None:
    statuses(site, "/a", 500)
    policy = QUICK.with_changes(breaker_failures=3, breaker_recovery=30.0, backoff=0.0)
    with Client(policy, clock=clock) as client:
        for _ in range(3):
            assert client.get(site.url("/a")).status == 500
        asked = len(site.seen)
        with pytest.raises(comity.CircuitOpen):
            client.get(site.url("/a"))
        assert len(site.seen) == asked
        clock.now += 31
        statuses(site, "/a", 200)
        assert client.get(site.url("/a")).status == 200
        assert client.get(site.url("/a")).status == 200


# Time-outs and limits


@pytest.mark.parametrize(
    ("settings", "where"),
    [
        ({"timeout": 0.3}, "body"),
        ({"timeout": 0.3}, "head"),
        ({"head_timeout": 0.3}, "head"),
        ({"connect_timeout": 0.3, "read_timeout": 0.3}, "body"),
        ({"connect_timeout": 0.3, "read_timeout": 0.3}, "head"),
    ],
)
def test_an_answer_that_does_not_come_in_time_is_an_error(site: Site, settings: dict[str, Any], where: str) -> None:
    async def slow(request: web.Request) -> web.StreamResponse:
        if where == "head":
            await asyncio.sleep(2 * HANGS)
        response = web.StreamResponse(headers={"Content-Length": "10"})
        await response.prepare(request)
        await response.write(b"x")
        await asyncio.sleep(2 * HANGS)
        return response

    site.set("/slow", slow)
    own = ClientSettings(max_retries=0, robots_timeout=HANGS, **settings)
    with Client(QUICK, own) as client, pytest.raises(comity.Timeout):
        client.get(site.url("/slow"))


# covers: L14
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"timeout": 0}, "timeout"),
        ({"timeout": -1}, "timeout"),
        ({"timeout": "3"}, "timeout: '3' is not a number of seconds"),
        ({"max_body": "50MB"}, "max_body: '50MB' is not a whole number of bytes"),
        ({"nameservers": "x"}, "nameservers: 'x' is not an IP address"),
        ({"nameservers": "1.1.1.1:0"}, "nameservers: '1.1.1.1:0' is not"),
        ({"nameservers": ("1.1.1.1", "dns.example:53")}, "nameservers: 'dns.example:53' is not"),
        ({"nameservers": ("[::1",)}, r"nameservers: '\[::1' is not"),
        ({"cache": __file__}, r"cache: .*test_client_settings\.py is not a cache of comity"),
        ({"cache": "/"}, "cache: / is a folder"),
        ({"connect_timeout": 1}, "read_timeout: connect_timeout and read_timeout are set together"),
        ({"read_timeout": 1}, "connect_timeout: connect_timeout and read_timeout are set together"),
        (
            {"connect_timeout": 1, "read_timeout": 31},
            "read_timeout: 31 s are never reached, because timeout ends .* 30 s",
        ),
        ({"head_timeout": 3, "timeout": 2}, "head_timeout: 3 s are never reached"),
        ({"max_retries": -1}, "max_retries"),
        ({"max_ratio": 0}, "max_ratio"),
        ({"content_types": "html"}, "content_types: 'html' is not a media type"),
        ({"proxy": "proxy.example"}, "proxy"),
        ({"auth": {"https://a.example": ("a:b", "c")}}, "auth"),
        ({"ca_file": "/nope"}, "ca_file: /nope cannot be read: No such file"),
        ({"ca_file": "a\0b"}, r"ca_file: 'a\\x00b' is not a path"),
        ({"cache": "\ud800"}, r"cache: '\\ud800' is not a path"),
        ({"ca_file": __file__}, "holds no certificate in PEM form"),
        ({"resolve": {"a.example": "b.example"}}, "resolve: 'b.example', for a.example, is not an IP address"),
        ({"resolve": {"http://a.example": "1.1.1.1"}}, "is not a host name"),
        ({"resolve": {"a.example:80": "1.1.1.1"}}, "is not a host name"),
        ({"resolve": {"": "1.1.1.1"}}, "is not a host name"),
        ({"headers": {"Authorization": "Basic x"}}, "would be sent to every host"),
        ({"headers": {"Cookie": "a=b"}}, "would be sent to every host"),
        ({"headers": {"X y": "z"}}, "headers: 'X y'"),
        ({"headers": {"User-Agent": "Googlebot"}}, "headers: User-Agent cannot be set: Policy.agent says who sends it"),
        ({"headers": {"Host": "evil.example"}}, "headers: Host cannot be set"),
        ({"headers": {"X": "a\r\nY: b"}}, "headers: 'X'"),
        ({"cache_pages": True}, "cache_pages"),
        ({"verify_tls": "no"}, "verify_tls"),
    ],
)
def test_wrong_settings_are_refused_by_name(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidSetting, match=message):
        ClientSettings(**wrong)


# covers: L14
def test_settings_are_frozen_all_the_way_down_and_can_be_hashed_and_sent_to_other_processes() -> None:
    given = {"From": "me@example.org"}
    settings = ClientSettings(headers=given, auth={"https://a.example": ("name", "word")})
    given["From"] = "another"
    assert settings.headers == {"From": "me@example.org"}
    for change in (lambda: settings.headers.update(X="y"), settings.auth.clear, lambda: settings.resolve.pop("a", "")):  # type: ignore[attr-defined]
        with pytest.raises(TypeError, match="frozen"):
            change()
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert len({settings, replace(settings), ClientSettings()}) == 2


# covers: L14
def test_a_request_may_have_no_limit_and_then_read_time_outs_of_any_length(site: Site) -> None:
    site.set("/page", "here")
    for settings in (ClientSettings(timeout=None), ClientSettings(timeout=None, connect_timeout=90, read_timeout=90)):
        with Client(QUICK, settings) as client:
            assert client.get(site.url("/page")).body == b"here"
            with client.stream(site.url("/page")) as answer:
                assert b"".join(answer.chunks()) == b"here"


def test_settings_that_name_files_take_paths_too(tmp_path: Path) -> None:
    import trustme

    file = tmp_path / "ca.pem"
    trustme.CA().cert_pem.write_to_path(str(file))
    folder = tmp_path / "x"
    settings = ClientSettings(ca_file=file, cache=folder, identity=folder)  # type: ignore[arg-type]
    assert (settings.ca_file, settings.cache, settings.identity) == (str(file), str(folder), str(folder))
    assert CrawlSettings(render_browser=file).render_browser == str(file)  # type: ignore[arg-type]
    with pytest.raises(InvalidSetting, match=r"ca_file: .* is not text"):
        ClientSettings(ca_file=b"x")  # type: ignore[arg-type]


def test_nameservers_are_addresses_with_or_without_a_port() -> None:
    given = ("1.1.1.1", "1.1.1.1:5353", "::1", "[::1]:53", "[::1]", "fe80::1%eth0")
    assert ClientSettings(nameservers=given).nameservers == given


@pytest.mark.parametrize("kind", ["text", "another program's database", "a header cut short"])
def test_a_file_that_is_not_ours_is_never_touched(site: Site, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "mine"
    settings = ClientSettings(cache=str(path))  # before it was there
    if kind == "another program's database":
        with sqlite3.connect(path) as other:
            other.execute("CREATE TABLE mine (x)")
        other.close()
    else:
        path.write_bytes(b"#!/bin/sh\necho hello\n" if kind == "text" else b"SQLite format 3\0")
    content = path.read_bytes()
    with pytest.raises(InvalidSetting, match="cache: "):
        ClientSettings(cache=str(path))
    with pytest.warns(RuntimeWarning, match="it is not a cache of comity.*continuing without"):
        with Client(QUICK, settings) as client:
            assert client.check(site.url("/")).may_fetch
    assert [each.name for each in tmp_path.iterdir()] == ["mine"]
    assert path.read_bytes() == content


def test_what_is_kept_for_the_life_of_one_client_is_kept_no_longer_by_others(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", status=503)
    settings, clock = ClientSettings(cache=str(tmp_path / "cache")), FakeClock()
    lasting = QUICK.with_changes(failure_life=math.inf)
    for policy, asked in ((lasting, 1), (lasting, 1), (QUICK, 1), (QUICK, 2)):
        with Client(policy, settings, clock=clock) as client:
            assert not client.check(site.url("/")).may_fetch
        assert len(site.seen) == asked
        if policy is QUICK:
            clock.now += QUICK.failure_life + 1


def test_bombs_are_stopped_by_ratio_and_by_size(site: Site) -> None:
    bomb = gzip.compress(bytes(50_000_000))
    site.set("/gzip", bomb, headers={"Content-Encoding": "gzip"})
    site.set("/deflate", zlib.compress(bytes(50_000_000)), headers={"Content-Encoding": "deflate"})
    site.set("/twice", gzip.compress(bomb), headers={"Content-Encoding": "gzip, gzip"})
    site.set("/brotli", b"\x00", headers={"Content-Encoding": "br"})
    with Client(QUICK, ClientSettings(max_ratio=100.0, max_retries=0)) as client:
        for path in ("/gzip", "/deflate", "/twice"):
            with pytest.raises(comity.TooLarge, match="max_ratio"):
                client.get(site.url(path))
        with pytest.raises(comity.FetchError, match="which was not requested"):
            client.get(site.url("/brotli"))
    with Client(QUICK, ClientSettings(max_ratio=1e9, max_body=1_000_000)) as client:
        with pytest.raises(comity.TooLarge, match="max_body"):
            client.get(site.url("/gzip"))


@pytest.mark.parametrize(
    ("coding", "packed"),
    [
        ("gzip", gzip.compress(b"hello " * 1000)),
        ("x-gzip", gzip.compress(b"hello " * 1000)),
        ("deflate", zlib.compress(b"hello " * 1000)),
        ("deflate", zlib.compress(b"hello " * 1000, wbits=-15)),
        ("identity", b"hello " * 1000),
    ],
)
def test_codings_in_use_are_undone(site: Site, coding: str, packed: bytes) -> None:
    site.set("/a", packed, headers={"Content-Encoding": coding})
    with Client(QUICK) as client:
        assert client.get(site.url("/a")).body == b"hello " * 1000


def test_a_packed_body_that_is_cut_short_or_damaged_is_an_error(site: Site) -> None:
    packed = gzip.compress(bytes(range(256)) * 1000)
    site.set("/cut", packed[:-20], headers={"Content-Encoding": "gzip"})
    site.set("/damaged", packed[:20] + b"nonsense" * 9, headers={"Content-Encoding": "gzip"})
    site.set("/changed", packed[:-8] + bytes(8), headers={"Content-Encoding": "gzip"})
    with Client(QUICK, ClientSettings(max_retries=0)) as client:
        for path, message in (("/cut", "ends too soon"), ("/damaged", "is damaged"), ("/changed", "is damaged")):
            with pytest.raises(comity.FetchError, match=message):
                client.get(site.url(path))


def test_headers_without_end_are_refused(site: Site) -> None:
    async def flood(request: web.Request) -> web.StreamResponse:
        return web.Response(headers={f"X-{number}": "x" * 1000 for number in range(500)})

    site.set("/flood", flood)
    with Client(QUICK, ClientSettings(max_retries=0)) as client, pytest.raises(comity.FetchError):
        client.get(site.url("/flood"))


# covers: W15
def test_only_wanted_content_types_are_read(site: Site) -> None:
    site.set("/page", "<p>")
    site.set("/video", b"x" * 100, content_type="video/mp4")
    site.set("/error", b"x", status=404, content_type="video/mp4")
    with Client(QUICK, ClientSettings(content_types=("text/*", "application/json"))) as client:
        assert client.get(site.url("/page")).ok
        assert client.get(site.url("/error")).status == 404
        with pytest.raises(comity.UnwantedType, match="video/mp4"):
            client.get(site.url("/video"))


# What is sent


# covers: L14
def test_headers_parameters_and_agent_are_sent(site: Site) -> None:
    site.set("/a?lang=en&q=x+y", "here")
    settings = ClientSettings(headers={"From": "me@example.org"}, params={"lang": "en"})
    with Client(QUICK.with_changes(agent="MyBot/1.0"), settings) as client:
        answer = client.get(site.url("/a#top"), params={"q": "x y"}, headers={"X-One": "1"})
    assert answer.ok
    sent = site.seen[-1].headers
    assert (sent["User-Agent"], sent["From"], sent["X-One"]) == ("MyBot/1.0", "me@example.org", "1")
    assert "From" in site.seen[0].headers, "robots.txt is asked for by the same visitor"


# covers: L8
def test_rules_see_the_parameters_that_are_added(site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /search?q=\n")
    with Client(QUICK) as client, pytest.raises(comity.RobotsDisallowed):
        client.get(site.url("/search"), params={"q": "x"})


# covers: L14
def test_credentials_and_cookies_stay_with_their_origin(site: Site) -> None:
    with Site("127.0.0.2") as other:
        site.set("/to", status=302, headers={"Location": other.url("/there"), "Set-Cookie": "session=1"})
        site.set("/back", status=302, headers={"Location": "/here"})
        settings = ClientSettings(auth={site.url("/"): ("me", "secret")})
        with Client(QUICK, settings) as client:
            client.get(site.url("/to"), headers={"Cookie": "a=b", "X-Api-Key": "k", "Accept-Language": "de"})
            client.get(site.url("/back"), headers={"Cookie": "a=b"})
        first, there = site.seen[1].headers, other.seen[-1].headers
        assert first["Authorization"].startswith("Basic ")
        assert first["Cookie"] == "a=b"
        assert "Authorization" not in there
        assert "Cookie" not in there
        assert "X-Api-Key" not in there
        assert there["Accept-Language"] == "de"
        assert site.seen[-1].path == "/here"
        assert site.seen[-1].headers["Cookie"] == "a=b", "only what the caller sent, and no cookie of the site's own"
        assert not any("session" in seen.headers.get("Cookie", "") for seen in site.seen)


def test_a_licence_is_shown_to_the_origin_it_was_issued_for_and_to_no_other(site: Site, tmp_path: Path) -> None:
    async def licensed(request: web.Request) -> web.StreamResponse:
        if request.headers.get("Authorization") == "License tok-1":
            return web.Response(status=302, headers={"Location": other.url("/there")})
        return web.Response(status=401, headers={"WWW-Authenticate": "License"})

    with Site("127.0.0.2") as other:
        site.set("/a", licensed)
        other.set("/there", "free")
        settings = ClientSettings(licences={site.url("/"): "tok-1"}, cache=str(tmp_path / "c"), cache_pages=True)
        with Client(QUICK, settings) as client:
            assert client.get(site.url("/a")).text == "free"
        assert {seen.headers["Authorization"] for seen in site.seen} == {"License tok-1"}
        assert not any("Authorization" in seen.headers for seen in other.seen)
        with Client(QUICK) as client, pytest.raises(comity.PaymentRequired, match="requires a licence"):
            client.get(site.url("/a")).raise_for_status()
        assert b"tok-1" not in (tmp_path / "c").read_bytes()
    for wrong in ({"licences": {"https://a.example": "two words"}}, {"licences": {"no": "t"}}):
        with pytest.raises(InvalidSetting, match="licences"):
            ClientSettings(**wrong)
    with pytest.raises(InvalidSetting, match="not both"):
        ClientSettings(licences={"https://a.example": "t"}, auth={"https://a.example/": ("n", "p")})


def test_headers_for_one_origin_go_there_alone_and_are_shown_nowhere(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expires = int(time.time()) + 3 * 86_400
    key = {
        "Signature": "sig1=:c2VjcmV0:",
        "Signature-Input": f'sig1=("@authority");expires={expires}',
        "X-Shop": "psst",
    }
    ours = Identity(name="MyBot", page="https://bot.test/", contact="a@bot.test", purpose="search")
    create(tmp_path / "bot", ours, time.time() - 60)
    with Site("127.0.0.2") as other:
        site.set("/a", status=302, headers={"Location": other.url("/there")})
        other.set("/there", "free")
        settings = ClientSettings(
            origin_headers={site.url("/"): key | {"Expires": "2999-01-31"}},
            identity=str(tmp_path / "bot"),
            cache=str(tmp_path / "c"),
            cache_pages=True,
        )
        with (
            pytest.warns(RuntimeWarning, match=r"origin_headers: those for .* expire on"),
            Client(QUICK, settings) as client,
        ):
            answer = client.get(site.url("/a"))
        for seen in site.seen:
            assert {name: seen.headers[name] for name in key} == key
            assert "Expires" not in seen.headers
            assert "Signature-Agent" not in seen.headers, "two signatures would contradict each other"
        for seen in other.seen:
            assert "X-Shop" not in seen.headers
            assert "Signature-Agent" in seen.headers
    shown = repr(settings) + str(answer.history[0].request_headers) + (tmp_path / "c").read_bytes().decode("latin-1")
    monkeypatch.setenv("COMITY_ORIGIN_HEADERS", json.dumps({site.url("/"): key}))
    monkeypatch.setenv("COMITY_CONFIG", "")
    shown += command("settings").stdout + command("settings", "--json").stdout
    assert not [value for value in key.values() if value in shown]
    hash(settings)
    for wrong in (
        {"no": key},
        {"https://a.example": {"Host": "b"}},
        {"https://a.example": {"X-Key": "1", "x-key": "2"}},
        *({"https://a.example": {"Expires": never}} for never in ("soon", "0001-01-01T00:00:00+14:00")),
    ):
        with pytest.raises(InvalidSetting, match="origin_headers"):
            ClientSettings(origin_headers=wrong)
    given = {"https://a.example": {"Authorization": "Bearer x"}}
    with pytest.raises(InvalidSetting, match="either"):
        ClientSettings(origin_headers=given, auth={"https://a.example": ("n", "p")})


@pytest.mark.parametrize(
    "named",
    [
        "https://a.example/shop", "https://*.a.example", "https://me:psst@a.example/", "https://a.example/?", "https://@a.example",
        "https://a.example#x",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("field", "value"), [("auth", ("n", "p")), ("licences", "t"), ("origin_headers", {"X-Key": "1"})]
)
def test_what_goes_to_one_origin_is_given_by_an_origin(field: str, value: object, named: str) -> None:
    with pytest.raises(InvalidSetting, match=rf"{field}: .* is not an origin") as caught:
        ClientSettings(**{field: {named: value}})
    assert "psst" not in str(caught.value)
    with pytest.raises(InvalidSetting, match=f"{field}: https://a.example is there twice"):
        ClientSettings(**{field: {"https://a.example": value, "HTTPS://A.example:443/": value}})
    for shown in (given := ClientSettings(**{field: {"https://a.example/": value}}), pickle.loads(pickle.dumps(given))):
        assert str(getattr(shown, field)) == "{'https://a.example': '***'}"
        assert str(asdict(shown)[field]) == "{'https://a.example': '***'}"


@pytest.mark.parametrize("expires", ['="1798761600"', "=soon", "", "=-1", "=1798761600.5", "=?1"])
def test_an_expiry_that_cannot_be_read_is_no_setting(expires: str) -> None:
    stated = f'sig1=("@authority");created=1;expires{expires};keyid="a;expires=1",sig2=();expires=1798761600'
    with pytest.raises(InvalidSetting, match="expires of Signature-Input is not a number of seconds"):
        ClientSettings(origin_headers={"https://a.example": {"Signature-Input": stated}})
    good = stated.replace(f"expires{expires}", "expires=1798761601 ", 1)
    settings = ClientSettings(origin_headers={"https://a.example": {"Signature-Input": good}})
    assert len([*settings.expiring(1798761600 - 86_400.0)]) == 1


def test_credentials_go_with_the_robots_txt_of_their_origin_and_nowhere_else(site: Site, tmp_path: Path) -> None:
    async def guarded(request: web.Request) -> web.StreamResponse:
        if "Authorization" not in request.headers:
            return web.Response(status=401)
        return web.Response(status=302, headers={"Location": other.url("/rules.txt")})

    with Site("127.0.0.2") as other:
        site.set("/robots.txt", guarded)
        other.set("/rules.txt", "User-agent: *\nDisallow: /private\n")
        auth = {site.url("/"): ("me", "secret"), other.url("/"): ("other", "secret")}
        cache = str(tmp_path / "cache")
        with Client(QUICK, ClientSettings(cache=cache)) as client:
            assert client.check(site.url("/private")).may_fetch, "without credentials it is unavailable"
        with Client(QUICK, ClientSettings(auth=auth, cache=cache)) as client:
            with pytest.raises(comity.RobotsDisallowed):
                client.get(site.url("/private"))
        assert site.paths() == ["/robots.txt"] * 2
        assert site.seen[1].headers["Authorization"].startswith("Basic ")
        assert other.paths() == ["/rules.txt"]
        assert "Authorization" not in other.seen[0].headers, "what it answers governs the other origin"
        with Client(QUICK, ClientSettings(cache=cache)) as client:
            assert client.check(site.url("/private")).may_fetch, "what credentials opened is kept for nobody else"


def test_a_proxy_is_used(site: Site) -> None:
    site.set("/robots.txt", "")
    with Client(QUICK, ClientSettings(proxy=site.url("/"))) as client:
        assert client.get("http://elsewhere.example/page").address is None, "whom the proxy asked is not known"
    assert [seen.headers["Host"] for seen in site.seen] == ["elsewhere.example"] * 2


# covers: L10
def test_a_certificate_nobody_vouches_for_is_accepted_where_that_was_said() -> None:
    import ssl

    import trustme

    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    site = Site()
    site.tls = context
    with site, authority.cert_pem.tempfile() as file:
        site.set("/robots.txt", "User-agent: *\nDisallow: /no\n")
        url = f"https://127.0.0.1:{site.port}/no"
        for settings in (ClientSettings(verify_tls=False), ClientSettings(ca_file=file)):
            with Client(QUICK, settings) as client:
                assert client.check(url).verdict == "disallowed_explicit"
        with Client(QUICK) as client:
            assert client.check(url).verdict == "unknown_unreachable"


# Streams


# covers: L15
def test_a_body_can_be_read_while_it_arrives(site: Site) -> None:
    arrived = []
    first = threading.Event()

    async def parts(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for number in range(3):
            await response.write(b"%d" % number * 1000)
            await asyncio.to_thread(first.wait, HANGS)  # nothing more comes before the first part was read
        return response

    site.set("/parts", parts)
    site.set("/to", status=301, headers={"Location": "/parts"})

    async def read() -> bytes:
        async with AsyncClient(QUICK) as client, client.stream(site.url("/to")) as response:
            assert response.status == 200
            assert response.redirects == (site.url("/to"),)
            async for part in response.chunks():
                arrived.append(part)
                first.set()
            return b"".join(arrived)

    assert asyncio.run(read()) == b"0" * 1000 + b"1" * 1000 + b"2" * 1000
    assert len(arrived) > 1
    with Client(QUICK) as client, client.stream(site.url("/parts")) as response:
        assert response.head.ok
        assert b"".join(response.chunks()) == b"0" * 1000 + b"1" * 1000 + b"2" * 1000


def test_a_stream_is_bounded_and_can_be_left(site: Site) -> None:
    site.set("/big", b"x" * 3_000_000)
    with Client(QUICK, ClientSettings(max_body=2_500_000)) as client:
        with client.stream(site.url("/big")) as response:
            assert next(response.chunks())
        with client.stream(site.url("/big")) as response, pytest.raises(comity.TooLarge):
            list(response.chunks())
        site.set("/robots.txt", "User-agent: *\nDisallow: /\n")
        client.clear_cache()
        with pytest.raises(comity.RobotsDisallowed), client.stream(site.url("/big")):
            pass


# Who waits


def test_callers_of_one_host_are_served_in_the_order_they_came(site: Site) -> None:
    policy = Policy(min_interval=0.02, allow_addresses=LOOPBACK)

    async def use() -> None:
        async with AsyncClient(policy) as client:
            await client.check(site.url("/"))
            await asyncio.gather(*(client.get(site.url(f"/{number}")) for number in range(10)))

    asyncio.run(use())
    assert site.paths()[1:] == [f"/{number}" for number in range(10)]


# covers: L7
def test_a_refused_url_waits_for_nobody(site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /no\nCrawl-delay: 30\n")

    async def use() -> float:
        async with AsyncClient(Policy(allow_addresses=LOOPBACK)) as client:
            await client.check(site.url("/"))
            waiting = asyncio.ensure_future(client.get(site.url("/yes")))
            await asyncio.sleep(0.05)
            started = time.monotonic()
            with pytest.raises(comity.RobotsDisallowed):
                await client.get(site.url("/no"))
            waiting.cancel()
            return time.monotonic() - started

    assert asyncio.run(use()) < 20


# The file for later runs and other processes


def test_a_later_run_does_not_ask_for_robots_txt_again(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /no\n", headers={"ETag": '"1"'})
    settings = ClientSettings(cache=str(tmp_path / "deep" / "cache.sqlite"))
    for _ in range(3):
        with Client(QUICK, settings) as client:
            decision = client.check(site.url("/no"))
            assert decision.verdict == "disallowed_explicit"
            assert decision.rule is not None
            assert decision.rule.line == 2
    assert site.paths() == ["/robots.txt"]
    with Client(QUICK.with_changes(cache_life=0.0), settings) as client:
        client.check(site.url("/no"))
    assert site.seen[-1].headers["If-None-Match"] == '"1"'
    with Client(QUICK, settings) as client:
        client.clear_cache()
        client.check(site.url("/no"))
    assert len(site.seen) == 3


def lax_and_strict(folder: Path, port: int) -> dict[str, tuple[Policy, dict[str, Any], Policy, dict[str, Any]]]:
    """What a lax and a strict client differ in: policy and settings of each."""
    named = {"resolve": {"bank.test": "127.0.0.1"}}
    proxied = {"proxy": f"http://127.0.0.1:{port}"}
    trusting = {**named, "ca_file": str(folder / "ca.pem")}
    nowhere = {"resolve": {"bank.test": "127.0.0.9"}}
    return {
        "addresses": (QUICK, named, QUICK.with_changes(allow_addresses=()), named),
        "hosts": (QUICK.with_changes(allow_addresses=(), allow_hosts=("bank.test",)), named, Policy(), named),
        "names": (QUICK, named, QUICK, nowhere),
        "certificates": (QUICK, {**named, "verify_tls": False}, QUICK, named),
        "authority": (QUICK, trusting, QUICK, named),
        "proxy": (QUICK, proxied, QUICK, nowhere),
        "headers": (QUICK, {**named, "headers": {"X-Key": "a"}}, QUICK, {**named, "headers": {"X-Key": "b"}}),
    }


@pytest.mark.parametrize("differing", ["addresses", "hosts", "names", "certificates", "authority", "proxy", "headers"])
def test_a_strict_client_is_given_nothing_that_a_lax_one_let_in(tmp_path: Path, differing: str) -> None:
    """Neither a page nor a robots.txt that came from where, or as whom, it would not have asked itself."""
    authority = trustme.CA()
    (tmp_path / "ca.pem").write_bytes(authority.cert_pem.bytes())
    site, secure = Site(), differing in ("certificates", "authority")
    if secure:
        site.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("bank.test").configure_cert(site.tls)
    kept: dict[str, Any] = {"cache": str(tmp_path / "kept" / "cache"), "cache_pages": True, "max_retries": 0}
    with site:
        url = f"{'https' if secure else 'http'}://bank.test:{site.port}/page"
        for path in ("/robots.txt", "/page"):
            text = "User-agent: *\nDisallow: /no\n"
            for asked in (path, url.removesuffix("/page") + path):
                site.set(asked, text, headers={"Cache-Control": "max-age=86400"})
        lax, lax_settings, strict, strict_settings = lax_and_strict(tmp_path, site.port)[differing]
        with Client(lax, ClientSettings(**kept, **lax_settings)) as client:
            assert client.get(url).text
        with Client(lax, ClientSettings(**kept, **lax_settings)) as client:
            assert client.get(url).from_cache, "what another one like it let in is given to it"
    with Client(strict, ClientSettings(**kept, **strict_settings)) as client:
        assert client.check(url).verdict == "unknown_unreachable"
        with pytest.raises((comity.FetchError, comity.AddressBlocked, comity.RobotsUnreachable)):
            client.get(url)


def test_what_one_client_takes_is_not_given_to_another_that_refuses_it(site: Site, tmp_path: Path) -> None:
    site.set("/page", "text " * 1_000, headers={"Cache-Control": "max-age=86400"})
    kept: dict[str, Any] = {"cache": str(tmp_path / "cache"), "cache_pages": True}
    with Client(QUICK, ClientSettings(**kept)) as client:
        assert client.get(site.url("/page")).text
    for strict, error in (
        ({"max_body": 1_000}, comity.TooLarge),
        ({"content_types": ("application/pdf",)}, comity.UnwantedType),
    ):
        with Client(QUICK, ClientSettings(**kept, **strict)) as client, pytest.raises(error):
            client.get(site.url("/page"))
    assert site.paths().count("/robots.txt") == 1, "which these settings are not about"


def test_the_file_and_its_folder_are_for_their_owner_alone(site: Site, tmp_path: Path) -> None:
    path = tmp_path / "kept" / "cache"
    before = os.umask(0)
    try:
        for _ in range(2):
            with Client(QUICK, ClientSettings(cache=str(path))) as client:
                client.check(site.url("/"))
                modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}
                assert modes == dict.fromkeys(("cache", "cache-wal", "cache-shm"), 0o600)
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
            path.chmod(0o644)  # as an earlier version made it
    finally:
        os.umask(before)


def test_what_an_earlier_version_kept_is_forgotten_since_it_does_not_say_how_it_was_fetched(
    site: Site, tmp_path: Path
) -> None:
    path = tmp_path / "cache"
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute("PRAGMA user_version = 1")
        db.execute("CREATE TABLE robots (origin TEXT PRIMARY KEY, record TEXT NOT NULL, body BLOB NOT NULL)")
        db.execute("CREATE TABLE page (url TEXT PRIMARY KEY, body BLOB NOT NULL)")
        db.execute("INSERT INTO robots VALUES ('http://a.test', '{}', '')")
    db.close()
    for _ in range(2):
        with Client(QUICK, ClientSettings(cache=str(path), cache_pages=True)) as client:
            client.check(site.url("/"))
    assert site.paths() == ["/robots.txt"]
    assert not list(tmp_path.glob("*damaged*"))


def test_a_kept_copy_that_is_no_longer_fresh_decides_only_while_the_site_is_down(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /no\n")
    settings = ClientSettings(cache=str(tmp_path / "cache.sqlite"))
    policy = QUICK.with_changes(cache_life=0.0, failure_life=0.0)
    with Client(policy, settings) as client:
        client.check(site.url("/no"))
    site.set("/robots.txt", status=503)
    with Client(policy, settings) as client:
        down = client.check(site.url("/no"))
        assert down.verdict == "disallowed_explicit"
        assert down.source is not None
        assert down.source.unreachable_since is not None
        assert client.check(site.url("/yes")).may_fetch
    site.set("/robots.txt", "")
    with Client(policy, settings) as client:
        assert client.check(site.url("/no")).may_fetch


@pytest.mark.parametrize("content", [b"SQLite format 3\0" + b"\xff" * 52 + b"cmty" + b"\xff" * 5000, b""])
def test_a_damaged_file_is_set_aside_and_begun_anew(site: Site, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "cache.sqlite"
    path.write_bytes(content)
    settings = ClientSettings(cache=str(path))
    if content:
        with pytest.warns(RuntimeWarning, match=r"cache\.sqlite was damaged .* kept as cache\.sqlite\.damaged-1"):
            with Client(QUICK, settings) as client:
                client.check(site.url("/"))
        assert path.with_name("cache.sqlite.damaged-1").read_bytes() == content
    for _ in range(2):
        with Client(QUICK, settings) as client:
            client.check(site.url("/"))
    assert site.paths() == ["/robots.txt"]


@pytest.mark.filterwarnings("ignore:comity")
def test_a_file_that_is_damaged_while_it_is_open_is_set_aside_too(site: Site, tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    with Client(QUICK, ClientSettings(cache=str(path))) as client:
        client.check(site.url("/"))
        with sqlite3.connect(path) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        path.write_bytes(b"x" * path.stat().st_size)
        with Site("127.0.0.2") as second:
            assert client.check(second.url("/")).may_fetch


def test_a_file_that_cannot_be_written_is_done_without(site: Site, tmp_path: Path) -> None:
    settings = ClientSettings(cache=str(tmp_path / "folder"))
    (tmp_path / "folder").mkdir()
    with pytest.warns(RuntimeWarning, match="continuing without"):
        with Client(QUICK, settings) as client:
            assert client.check(site.url("/")).may_fetch


def _many(path: str, url: str, count: int) -> None:
    settings = ClientSettings(cache=path)
    for _ in range(count):
        with Client(QUICK, settings) as client:
            assert client.check(url).verdict == "disallowed_explicit"


def test_many_processes_share_the_file(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /no\n")
    path = str(tmp_path / "cache.sqlite")
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_many, args=(path, site.url("/no"), 5)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(HANGS)
    assert [process.exitcode for process in processes] == [0] * 2
    assert 1 <= len(site.seen) <= 2, "each process at most once, and only if all began at the same moment"


def test_pages_are_asked_for_on_condition_that_they_changed(site: Site, tmp_path: Path) -> None:
    async def page(request: web.Request) -> web.StreamResponse:
        headers = {"ETag": '"v1"', "X-Count": str(len(site.seen))}
        if request.headers.get("If-None-Match") == '"v1"':
            return web.Response(status=304, headers=headers)
        return web.Response(body=b"content", headers=headers)

    site.set("/page", page)
    site.set("/fresh", "fresh", headers={"Cache-Control": "max-age=600"})
    site.set("/private", "never", headers={"Cache-Control": "no-store", "ETag": '"2"'})
    settings = ClientSettings(cache=str(tmp_path / "cache.sqlite"), cache_pages=True)
    answers = []
    for _ in range(2):
        with Client(QUICK, settings) as client:
            answers.append([client.get(site.url(path)) for path in ("/page", "/fresh", "/private")])
    assert [answer.body for answer in answers[1]] == [b"content", b"fresh", b"never"]
    assert [answer.from_cache for answer in answers[1]] == [True, True, False]
    assert answers[1][0].status == 200
    assert answers[1][0].headers["X-Count"] != answers[0][0].headers["X-Count"]
    assert site.paths() == ["/robots.txt", "/page", "/fresh", "/private", "/page", "/private"]
    site.set("/robots.txt", "User-agent: *\nDisallow: /fresh\n")
    with Client(QUICK, settings) as client:
        client.clear_cache()
        with pytest.raises(comity.RobotsDisallowed):
            client.get(site.url("/fresh"))


# What a hostile reader found


def test_a_probe_that_fails_opens_the_circuit_again_and_a_healthy_host_closes_it(site: Site, clock: FakeClock) -> None:
    statuses(site, "/p", 503)
    policy = QUICK.with_changes(breaker_failures=1, breaker_recovery=20.0, backoff=0.0)
    with Client(policy, clock=clock) as client:
        assert client.get(site.url("/p")).status == 503
        clock.now += 21
        assert client.get(site.url("/p")).status == 503, "the probe, which is not tried again"
        with pytest.raises(comity.CircuitOpen):
            client.get(site.url("/p"))
        clock.now += 21
        statuses(site, "/p", 200)
        assert client.get(site.url("/p")).status == 200
        assert client.get(site.url("/p")).status == 200


def test_a_stream_that_fails_counts_for_the_circuit(site: Site, clock: FakeClock) -> None:
    async def drop(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    site.set("/boom", drop)
    policy = QUICK.with_changes(breaker_failures=2, breaker_recovery=20.0, backoff=0.0)
    with Client(policy, clock=clock) as client:
        for _ in range(2):
            with pytest.raises(comity.FetchError), client.stream(site.url("/boom")):
                pass
        with pytest.raises(comity.CircuitOpen), client.stream(site.url("/boom")):
            pass
        clock.now += 21
        with pytest.raises(comity.FetchError), client.stream(site.url("/boom")):
            pass
        clock.now += 21
        site.set("/well", "here")
        assert client.get(site.url("/well")).ok


def test_what_was_meant_for_one_caller_is_kept_for_nobody(site: Site, tmp_path: Path) -> None:
    async def mine(request: web.Request) -> web.StreamResponse:
        who = request.headers.get("Cookie") or request.headers.get("Authorization") or "nobody"
        return web.Response(text=f"for {who}", headers={"Cache-Control": "max-age=600"})

    site.set("/me", mine)
    site.set("/private", "x", headers={"Cache-Control": "private, max-age=600"})
    cache: dict[str, Any] = {"cache": str(tmp_path / "cache"), "cache_pages": True}
    with Client(QUICK, ClientSettings(**cache, auth={site.url("/"): ("me", "secret")})) as client:
        client.get(site.url("/me"))
    with Client(QUICK, ClientSettings(**cache)) as client:
        client.get(site.url("/me"), headers={"Cookie": "session=alice"})
        first, again = client.get(site.url("/me")), client.get(site.url("/me"))
        assert (first.body, first.address) == (b"for nobody", "127.0.0.1")
        assert (again.from_cache, again.address) == (True, None)
        client.get(site.url("/private"))
        assert not client.get(site.url("/private")).from_cache


REPEATED = {
    "no-store first": [("Cache-Control", "no-store, private"), ("Cache-Control", "max-age=600")],
    "no-store last": [("Cache-Control", "max-age=600"), ("Cache-Control", "no-store")],
    "private": [("Cache-Control", "private"), ("cache-control", "max-age=600")],
    "vary first": [("Cache-Control", "max-age=600"), ("Vary", "Cookie"), ("Vary", "Accept-Encoding")],
    "vary last": [("Cache-Control", "max-age=600"), ("Vary", "Accept-Encoding"), ("Vary", "*")],
}


@pytest.mark.parametrize("headers", REPEATED.values(), ids=REPEATED)
def test_what_a_repeated_header_forbids_is_kept_for_nobody(
    site: Site, tmp_path: Path, headers: list[tuple[str, str]]
) -> None:
    async def mine(_: web.Request) -> web.StreamResponse:
        return web.Response(text=f"secret {len(site.seen)}", headers=CIMultiDict(headers))

    site.set("/me", mine)
    settings = ClientSettings(cache=str(tmp_path / "cache"), cache_pages=True)
    bodies = []
    for _ in range(2):
        with Client(QUICK, settings) as client:
            bodies.append(client.get(site.url("/me")).body)
    assert bodies[0] != bodies[1]
    assert site.paths().count("/me") == 2


def test_repeated_headers_say_how_long_robots_txt_is_kept(site: Site) -> None:
    async def robots(_: web.Request) -> web.StreamResponse:
        headers = CIMultiDict([("Cache-Control", "max-age=600"), ("Cache-Control", "no-store")])
        return web.Response(text="", headers=headers)

    site.set("/robots.txt", robots)
    with Client(QUICK) as client:
        source = client.check(site.url("/")).source
        assert source is not None
        assert source.expires_at - source.fetched_at == 60


@pytest.mark.parametrize("status", [304, 200])
def test_a_page_that_has_become_private_is_forgotten(site: Site, tmp_path: Path, status: int) -> None:
    said = {"ETag": '"1"'}

    async def page(request: web.Request) -> web.StreamResponse:
        asked = "If-None-Match" in request.headers
        return web.Response(
            status=status if asked else 200, body=None if status == 304 and asked else b"x", headers=said
        )

    site.set("/page", page)
    settings = ClientSettings(cache=str(tmp_path / "cache"), cache_pages=True)
    with Client(QUICK, settings) as client:
        client.get(site.url("/page"))
        said["Cache-Control"] = "private"
        assert client.get(site.url("/page")).body == b"x"
        client.get(site.url("/page"))
    assert ["If-None-Match" in seen.headers for seen in site.seen[1:]] == [False, True, False]


def test_a_page_kept_while_the_clock_was_ahead_is_asked_for_when_it_is_set_back(site: Site, tmp_path: Path) -> None:
    site.set("/page", "page", headers={"Cache-Control": "max-age=86400"})
    settings = ClientSettings(cache=str(tmp_path / "cache"), cache_pages=True)
    for start in (2e6, 1e6, 1e6):  # seconds: the wall clock goes by it
        with Client(QUICK, settings, clock=FakeClock(start)) as client:
            client.get(site.url("/page"))
    assert site.paths().count("/page") == 2, "kept by a clock that was right, it is fresh"


@pytest.mark.parametrize("times", [{"timeout": 2}, {"timeout": 30, "connect_timeout": 5, "read_timeout": 2}])
def test_a_stream_that_falls_silent_ends_with_an_error(site: Site, times: dict[str, Any]) -> None:
    site.set("/silent", endless(b"abc"))
    own = ClientSettings(robots_timeout=HANGS, **times)
    with Client(QUICK, own) as client, client.stream(site.url("/silent")) as response:
        parts = response.chunks()
        assert next(parts) == b"abc"
        with pytest.raises(comity.Timeout, match="/silent"):
            next(parts)


@pytest.mark.long
@pytest.mark.waits
def test_a_stream_that_goes_on_slowly_is_read_to_its_end(site: Site) -> None:
    site.set("/slow", Bodies(parts=1100))  # of 11 s
    own = ClientSettings(timeout=10, robots_timeout=HANGS)
    with Client(QUICK, own) as client, client.stream(site.url("/slow")) as response:
        assert b"".join(response.chunks()) == b"part" * 1100


def test_a_copy_of_robots_txt_decides_for_a_day_at_most(site: Site) -> None:
    clock = FakeClock()
    site.set("/robots.txt", "User-agent: *\nCrawl-delay: 864000\n", headers={"Cache-Control": "max-age=60"})
    policy = Policy(min_interval=0.0, allow_addresses=LOOPBACK)

    async def use() -> None:
        async with AsyncClient(policy, clock=clock) as client:
            with pytest.raises(comity.Postponed):
                await client.get(site.url("/secret"))
            site.set("/robots.txt", "User-agent: *\nDisallow: /secret\n")
            clock.now += 11 * 86_400
            with pytest.raises(comity.RobotsDisallowed):
                await client.get(site.url("/secret"))

    asyncio.run(use())
    assert site.paths() == ["/robots.txt", "/robots.txt"]


def test_gzip_members_follow_one_another(site: Site) -> None:
    body = gzip.compress(b"User-agent: *\n") + gzip.compress(b"Disallow: /secret\n") + bytes(7)
    site.set("/robots.txt", body, headers={"Content-Encoding": "gzip"})
    with Client(QUICK) as client:
        assert not client.is_allowed(site.url("/secret"))


def test_a_client_that_is_closed_leaves_no_thread_waiting(site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nCrawl-delay: 30\n")
    ended: list[BaseException] = []

    def get() -> None:
        try:
            client.get(site.url("/b"))
        except BaseException as error:
            ended.append(error)

    client = Client(QUICK.with_changes(robots_fetch_counts=False))
    with client:
        client.get(site.url("/a"))
        thread = threading.Thread(target=get, daemon=True)
        thread.start()
        time.sleep(0.3)
    thread.join(HANGS)
    assert [str(error) for error in ended] == ["the client was closed during the call"]
    with pytest.raises(RuntimeError, match="the client is closed"):
        client.get(site.url("/a"))


def test_a_client_can_be_opened_again_and_a_call_to_a_closed_one_spoils_nothing(site: Site) -> None:
    site.set("/a", "here")

    async def use() -> None:
        client = AsyncClient(Policy(min_interval=0.05, allow_addresses=LOOPBACK))
        for _ in range(2):
            async with client:
                assert (await asyncio.wait_for(client.get(site.url("/a")), HANGS)).ok
            with pytest.raises(RuntimeError, match="the client is closed"):
                await client.get(site.url("/a"))

    asyncio.run(use())
    with Client(QUICK) as client, pytest.raises(RuntimeError, match="open already"), client:
        pass


@pytest.mark.parametrize(
    "change",
    [
        {"origin": "http://other.example"},
        {"headers": []},
        {"status": 10**400},
        {"status": "200"},
        {"fetched_at": "soon"},
        {"redirects": None},
    ],
)
def test_a_damaged_row_is_no_row(site: Site, tmp_path: Path, change: dict[str, Any]) -> None:
    settings = ClientSettings(cache=str(tmp_path / "cache"), cache_pages=True)
    site.set("/a", "here", headers={"ETag": '"1"'})
    with Client(QUICK, settings) as client:
        client.get(site.url("/a"))
    with sqlite3.connect(tmp_path / "cache") as db:
        (record,) = db.execute("SELECT record FROM robots").fetchone()
        db.execute("UPDATE robots SET record = ?", (json.dumps({**json.loads(record), **change}),))
        db.execute("UPDATE page SET headers = '[[', fresh_until = 'soon'")
    with Client(QUICK, settings) as client:
        assert client.get(site.url("/a")).ok


def test_a_robots_txt_that_redirects_keeps_the_pace_of_each_host(site: Site) -> None:
    for place, target in (("/robots.txt", "/1"), ("/1", "/2"), ("/2", "/3")):
        site.set(place, status=301, headers={"Location": target})
    site.set("/3", "User-agent: *\nDisallow: /no\n")
    site.set("/a", "here")
    with Client(Policy(min_interval=0.1, allow_addresses=LOOPBACK)) as client:
        assert client.get(site.url("/a")).ok
        assert not client.is_allowed(site.url("/no"))
    assert site.paths() == ["/robots.txt", "/1", "/2", "/3", "/a"]
    assert min(site.intervals()) >= 0.1


def test_many_hosts_whose_robots_txt_lies_on_one_host_come_there_one_by_one(site: Site) -> None:
    site.set("/shared.txt", "")
    with Site("127.0.0.2") as other:
        other.set("/robots.txt", status=301, headers={"Location": site.url("/shared.txt")})
        names = {f"h{number}.example": "127.0.0.2" for number in range(8)}

        async def use() -> None:
            policy = Policy(min_interval=0.05, allow_addresses=LOOPBACK)
            async with AsyncClient(policy, ClientSettings(resolve=names)) as client:
                await asyncio.gather(*(client.check(f"http://{name}:{other.port}/") for name in names))

        asyncio.run(use())
    assert site.paths() == ["/shared.txt"] * 8
    assert min(site.intervals()) >= 0.05


def test_a_robots_txt_that_redirects_to_names_of_one_address_keeps_its_pace(site: Site) -> None:
    names = {f"{name}.example": "127.0.0.1" for name in "abc"}
    site.set("/robots.txt", status=301, headers={"Location": f"http://b.example:{site.port}/2"})
    site.set("/2", status=302, headers={"Location": f"http://c.example:{site.port}/3"})
    site.set("/3", "User-agent: *\nDisallow: /no\n")
    policy = Policy(min_interval=0.1, pace_by="address", allow_addresses=LOOPBACK)
    with Client(policy, ClientSettings(resolve=names)) as client:
        assert not client.is_allowed(f"http://a.example:{site.port}/no")
    assert site.paths() == ["/robots.txt", "/2", "/3"]
    assert min(site.intervals()) >= 0.1


@pytest.mark.parametrize("pace_by", ["host", "domain", "address"])
def test_a_name_that_dns_cannot_hold_is_an_error_in_words(pace_by: Any) -> None:
    with Client(Policy(min_interval=0, pace_by=pace_by)) as client, pytest.raises(comity.ComityError, match=r"a\.\.b"):
        client.get("http://a..b/")


def test_a_host_name_with_its_last_dot_is_the_same_server(site: Site) -> None:
    with Client(Policy(min_interval=0.1, allow_addresses=LOOPBACK)) as client:
        for host in ("localhost", "localhost.", "LOCALHOST."):
            client.get(f"http://{host}:{site.port}/")
    assert site.paths() == ["/robots.txt", "/", "/", "/"]
    assert min(site.intervals()) >= 0.1


class Bodies:
    """Counts the answers whose body is on its way; each takes its time, one part after the other."""

    def __init__(self, parts: int = 5) -> None:
        self.open = self.most = 0
        self._parts = parts

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            for _ in range(self._parts):
                await response.write(b"part")
                await asyncio.sleep(0.01)
            await response.write_eof()
        finally:
            self.open -= 1
        return response


def test_slow_bodies_of_a_host_with_an_interval_do_not_pile_up(site: Site) -> None:
    bodies = Bodies()
    for number in range(6):
        site.set(f"/{number}", bodies)

    async def use() -> None:
        async with AsyncClient(Policy(min_interval=0.001, allow_addresses=LOOPBACK)) as client:
            await asyncio.gather(*(client.get(site.url(f"/{number}")) for number in range(6)))

    asyncio.run(use())
    assert bodies.most == 1


def test_of_a_host_with_an_interval_eight_streams_may_be_open(site: Site) -> None:
    bodies = Bodies(parts=20)
    for number in range(12):
        site.set(f"/{number}", bodies)

    async def read(client: AsyncClient, number: int) -> bytes:
        async with client.stream(site.url(f"/{number}")) as response:
            return b"".join([part async for part in response.chunks()])

    async def use() -> None:
        async with AsyncClient(Policy(min_interval=0.001, allow_addresses=LOOPBACK)) as client:
            assert await asyncio.gather(*(read(client, number) for number in range(12))) == [b"part" * 20] * 12

    asyncio.run(use())
    assert 1 < bodies.most <= 8


def test_who_reads_a_stream_may_ask_for_what_it_names(site: Site) -> None:
    site.set("/list", "/1 /2")
    site.set("/1", "one")
    site.set("/2", "two")
    with (
        Client(Policy(min_interval=0.001, allow_addresses=LOOPBACK), ClientSettings(max_wait=10)) as client,
        client.stream(site.url("/list")) as listed,
    ):
        names = b"".join(listed.chunks()).decode().split()
        assert [client.get(site.url(name)).body for name in names] == [b"one", b"two"]


def test_a_body_that_is_given_up_leaves_the_turn_to_the_next(site: Site) -> None:
    site.set("/endless", endless(b"part"))
    site.set("/other", "here")

    async def use() -> None:
        policy = Policy(min_interval=0.001, allow_addresses=LOOPBACK)
        async with AsyncClient(policy, ClientSettings(max_wait=20)) as client:
            await client.check(site.url("/"))
            reading = asyncio.ensure_future(client.get(site.url("/endless")))
            while "/endless" not in site.paths():
                await asyncio.sleep(0.01)
            waiting = asyncio.ensure_future(client.get(site.url("/other")))
            await asyncio.sleep(0.1)
            assert "/other" not in site.paths()
            reading.cancel()
            assert (await waiting).body == b"here"

    asyncio.run(use())


def test_max_wait_holds_for_waiting_on_others_too(site: Site) -> None:
    async def slow(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(2 * HANGS)
        return web.Response()

    site.set("/slow", slow)

    async def use() -> float:
        policy = Policy(min_interval=0.01, allow_addresses=LOOPBACK)
        async with AsyncClient(policy, ClientSettings(max_wait=0.3)) as client:
            await client.check(site.url("/"))
            waiting = asyncio.ensure_future(client.get(site.url("/slow")))
            await asyncio.sleep(0.1)
            started = time.monotonic()
            with pytest.raises(comity.Postponed, match="could not be sent within"):
                await client.get(site.url("/other"))
            waiting.cancel()
            return time.monotonic() - started

    assert asyncio.run(use()) < HANGS


def test_another_process_s_new_file_is_not_set_aside(site: Site, tmp_path: Path) -> None:
    path = tmp_path / "cache"
    ours = HttpCache(path)
    path.rename(tmp_path / "gone")
    theirs = HttpCache(path)
    policy = Policy()
    theirs.keep_robots(RobotsResult.unreachable("http://a", "http://a/robots.txt", "x", policy=policy, fetched_at=0.0))
    ours._set_aside(sqlite3.DatabaseError("malformed"))
    assert ours.robots("http://a", policy) is not None
    assert sorted(each.name for each in tmp_path.iterdir() if "damaged" in each.name) == []
    ours.close()
    theirs.close()


def test_a_fresh_page_from_the_file_waits_for_no_turn(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "User-agent: *\nCrawl-delay: 30\n")
    site.set("/a", "here", headers={"Cache-Control": "max-age=600"})
    settings = ClientSettings(cache=str(tmp_path / "cache"), cache_pages=True)
    with Client(QUICK.with_changes(robots_fetch_counts=False), settings) as client:
        client.get(site.url("/a"))
        started = time.monotonic()
        assert client.get(site.url("/a")).from_cache
        assert time.monotonic() - started < 20
