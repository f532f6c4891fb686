"""A response as programs know them from httpx and requests, and many of them at once."""

import asyncio
import base64
import copy
import json
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest
from sites import Site

import comity
from comity import AsyncClient, Client, ClientSettings, Policy
from comity.crawler.output.records import CrawledPage
from comity.crawler.run.page_reader import read_meta, read_response
from comity.errors import PaymentOffer
from comity.net import Response
from comity.payment import bad_status
from comity_pages.signals import encodings

QUICK = Policy(min_interval=0, allow_addresses=("127.0.0.0/8",))


def _get(site: Site, body: bytes, content_type: str) -> Response:
    site.set("/a", body, content_type=content_type)
    with Client(QUICK) as client:
        return client.get(site.url("/a"))


def test_a_response_has_the_names_that_httpx_and_requests_have(site: Site) -> None:
    site.set("/a", '{"key": "wert"}', content_type="application/json")
    with Client(QUICK) as client:
        response = client.get(site.url("/a"))
        missing = client.get(site.url("/missing"))
    assert (response.status_code, response.content) == (response.status, response.body) == (200, b'{"key": "wert"}')
    assert response.json() == {"key": "wert"}
    assert response.json(object_pairs_hook=list) == [("key", "wert")]
    assert response.raise_for_status() is response
    assert response.history == ()
    with pytest.raises(comity.BadStatus, match="404 Not Found") as caught:
        missing.raise_for_status()
    assert (caught.value.status, caught.value.url) == (404, site.url("/missing"))
    assert isinstance(caught.value, comity.FetchError)


def test_no_password_is_in_what_is_printed_of_a_response_or_of_settings(site: Site) -> None:
    site.set("/a", "x")
    own = ClientSettings(auth={site.url(""): ("me", "secret")}, headers={"X-Key": "secret"}, params={"key": "secret"})
    with Client(Policy(min_interval=0, allow_addresses=("127.0.0.0/8",)), own) as client:
        response = client.head(site.url("/a"))
        assert response.request_headers["Authorization"].startswith("Basic ")
        assert "Basic " not in repr(response)
    for settings in (own, ClientSettings(proxy="http://me:secret@proxy.test:3128")):
        assert "secret" not in repr(settings)


def test_what_is_no_json_is_said_with_its_url(site: Site) -> None:
    for body in (b"<html>", b"", b"\xff\xfe\xfd", b"[" * 200_000):
        response = _get(site, body, "text/html")
        with pytest.raises(comity.InvalidJSON, match=r"/a is not JSON, it is text/html") as caught:
            response.json()
        assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        ("Grüße".encode(), "text/plain", "Grüße"),
        ("Grüße".encode("latin-1"), "text/plain", "Grüße"),
        ("Grüße".encode("latin-1"), "text/plain; charset=ISO-8859-1", "Grüße"),
        ("日本①".encode("cp932"), "text/plain; charset=shift_jis", "日本①"),
        ("สวัสดี".encode("cp874"), "text/html; charset=windows-874", "สวัสดี"),
        ("<meta charset=koi8-r>Привет".encode("koi8-r"), "text/html", "<meta charset=koi8-r>Привет"),
        ("<meta charset=koi8-r>ü".encode(), "text/plain", "<meta charset=koi8-r>ü"),
        ('<?xml version="1.0" encoding="koi8-r"?>П'.encode("koi8-r"), "application/rss+xml", None),
        ("﻿x".encode(), "text/plain; charset=koi8-r", "x"),
        ('{"a": "ü"}'.encode(), "application/json; charset=iso-8859-1", '{"a": "ü"}'),
        ('{"a": "ü"}'.encode("latin-1"), "application/json; charset=iso-8859-1", '{"a": "ü"}'),
        (b"a\xffb", "text/plain; charset=utf-8", "a�b"),
        (b"", "text/plain", ""),
    ],
)
def test_text_is_read_in_the_encoding_that_the_body_is_in(site: Site, body: bytes, kind: str, text: str | None) -> None:
    response = _get(site, body, kind)
    assert response.text == ('<?xml version="1.0" encoding="koi8-r"?>П' if text is None else text)
    if "json" in kind:
        assert response.json() == {"a": "ü"}


def test_history_tells_what_each_redirect_answered(site: Site) -> None:
    site.set("/1", "moved", status=301, headers={"Location": "/2", "X-Hop": "one"})
    site.set("/2", status=307, headers={"Location": "/3"})
    site.set("/3", "here")
    with Client(QUICK) as client:
        response = client.get(site.url("/1"))
    assert [(hop.url, hop.status_code) for hop in response.history] == [(site.url("/1"), 301), (site.url("/2"), 307)]
    assert response.history[0].headers["x-hop"] == "one"
    assert response.history[1].redirects == (site.url("/1"),)
    assert response.redirects == tuple(hop.url for hop in response.history)


def test_a_body_that_was_not_kept_is_no_empty_one(site: Site) -> None:
    site.set("/1", "moved", status=301, headers={"Location": "/2"})
    site.set("/2", "here")
    with Client(QUICK) as client:
        hop = client.get(site.url("/1")).history[0]
        with client.stream(site.url("/2")) as stream:
            heads = (hop, pickle.loads(pickle.dumps(hop)), stream, stream.head_only())
            for head in heads:
                for name in ("body", "content", "text", "sha256"):
                    with pytest.raises(AttributeError, match="was not kept"):
                        getattr(head, name)
            assert b"".join(stream.chunks()) == b"here"
        assert client.head(site.url("/2")).body == b""


@pytest.mark.parametrize(
    "label",
    [
        *("windows-874", "x-mac-cyrillic", "iso-8859-8-i", "x-user-defined", "iso-2022-kr", "shift_jis", "euc-kr"),
        *("big5", "gbk", "utf-16le", "macintosh", "ibm866", "windows-1252", "koi8-u", "utf-8"),
    ],
)
def test_the_encoding_of_a_page_is_one_that_python_has(site: Site, label: str) -> None:
    response = _get(site, b"<title>x</title>" + bytes(range(1, 256)), f"text/html; charset={label}")
    read = read_response(response)
    page = CrawledPage.of(response, read, read_meta(response, read, agent="x"))
    assert page.body.decode(page.encoding, "replace").encode("utf-8", "replace").decode() == page.text
    assert (response.encoding, response.text) == (page.encoding, page.text)


def test_an_encoding_is_read_as_browsers_read_it() -> None:
    for octets, label, text in (
        ("①～".encode("cp932"), "shift_jis", "①～"),
        ("똠".encode("cp949"), "euc-kr", "똠"),
        ("Ж".encode("mac-cyrillic"), "x-mac-cyrillic", "Ж"),
        ("ש".encode("iso-8859-8"), "iso-8859-8-i", "ש"),
    ):
        assert octets.decode(encodings.python_codec(label)) == text


# Copies


def test_responses_and_pages_can_be_pickled_and_copied(site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /private\n")
    site.set("/old", status=302, headers={"Location": "/a"})
    site.set("/a", "<title>here</title>", headers={"Set-Cookie": "a=1"})
    with Client(QUICK) as client:
        response = client.get(site.url("/old"))
        with pytest.raises(comity.RobotsDisallowed) as caught:
            client.get(site.url("/private"))
    page = CrawledPage.of(response, read_response(response), read_meta(response, None, agent="x"))
    for copied in (pickle.loads(pickle.dumps(response)), copy.deepcopy(response)):
        assert (copied.text, copied.status, copied.headers["set-cookie"]) == ("<title>here</title>", 200, "a=1")
        assert copied.decision == response.decision
        assert copied.history[0].status == 302
        assert copied.header_values("set-cookie") == ["a=1"]
    assert pickle.loads(pickle.dumps(page)) == page
    error = pickle.loads(pickle.dumps(caught.value))
    assert str(error) == str(caught.value)
    assert (error.url, error.decision, error.hint) == (caught.value.url, caught.value.decision, caught.value.hint)


def _every_error() -> list[comity.ComityError]:
    kinds = {kind for kind in vars(comity.errors).values() if isinstance(kind, type)}
    more = {
        "RobotsDisallowed": {"url": "u", "decision": "d"},
        "RobotsUnreachable": {"url": "u", "decision": "d"},
        "BadStatus": {"url": "u", "status": 404},
        "PaymentRequired": {"url": "u", "price": "1", "currency": "EUR", "licence": "l"},
        "UnwantedType": {"url": "u"},
        "NoCandidate": {"url": "u", "considered": (1,)},
        "Postponed": {"url": "u", "seconds": 1.0},
        "OutOfHours": {"url": "u", "seconds": 1.0},
        "CircuitOpen": {"url": "u", "seconds": 1.0},
    }
    errors = sorted((kind for kind in kinds if issubclass(kind, comity.ComityError)), key=lambda kind: kind.__name__)
    return [kind("what happened", hint="do this", **more.get(kind.__name__, {})) for kind in errors]


@pytest.mark.parametrize("error", _every_error(), ids=lambda error: type(error).__name__)
def test_an_error_passes_from_one_process_to_another(error: comity.ComityError) -> None:
    for copied in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(copied) is type(error)
        assert str(copied) == str(error) == "what happened (do this)"
        assert vars(copied) == vars(error)


# Many


def _list(site: Site) -> list[str]:
    site.set("/robots.txt", "User-agent: *\nDisallow: /private\n")
    for name in "abc":
        site.set(f"/{name}", name)
    return [*(site.url(f"/{name}") for name in ("a", "private", "b", "missing", "c", "a")), "mailto:nobody"]


def test_many_urls_are_fetched_and_failures_are_values(site: Site) -> None:
    given = _list(site)
    told: list[tuple[int, int]] = []
    with Client(QUICK) as client:
        got = list(client.get_many(iter(given), progress=lambda *counts: told.append(counts)))
    assert told == [(number, 7) for number in range(1, 8)]
    assert sorted(url for url, _ in got) == sorted(given)
    for url, result in got:
        match result:
            case comity.RobotsDisallowed():
                assert url == site.url("/private")
            case comity.InvalidURL():
                assert url == "mailto:nobody"
            case comity.ComityError():
                pytest.fail(str(result))
            case _:
                assert result.status == (404 if url == site.url("/missing") else 200)

    async def use() -> list[str]:
        told.clear()
        async with AsyncClient(QUICK) as client:
            return [url async for url, _ in client.get_many(given, progress=lambda *counts: told.append(counts))]

    assert sorted(asyncio.run(use())) == sorted(given)
    assert told == [(number, 7) for number in range(1, 8)]


def test_answers_come_in_the_order_of_their_arrival(site: Site) -> None:
    """A host that lets us wait holds up no other."""
    site.set("/robots.txt", "User-agent: *\nCrawl-delay: 0.5\n")
    with Site("127.0.0.2") as other, Client(QUICK) as client:
        given = [site.url("/1"), site.url("/2"), other.url("/1"), other.url("/2")]
        arrived = [url for url, _ in client.get_many(given)]
    assert arrived[-1].startswith(site.url())
    assert {other.url("/1"), other.url("/2")} < set(arrived[:-1])


def test_a_long_list_for_one_host_is_not_postponed_for_its_own_length(site: Site) -> None:
    """`max_wait` bounds the wait for one turn, not for those before it in the list."""
    policy = Policy(min_interval=0.1, allow_addresses=("127.0.0.0/8",))
    with Client(policy, ClientSettings(max_wait=1)) as client:
        results = [result for _, result in client.get_many([site.url(f"/{number}") for number in range(12)])]
    assert [type(result) for result in results] == [Response] * 12


def test_a_loop_over_many_that_is_left_asks_for_nothing_more(site: Site) -> None:
    with Client(Policy(min_interval=0.01, allow_addresses=("127.0.0.0/8",))) as client:
        for _ in client.get_many(site.url(f"/{number}") for number in range(1000)):
            break
        asked = len(site.seen)
        assert client.get(site.url("/again")).status == 404
        assert len(site.seen) <= asked + 3


def test_many_is_told_at_once_of_what_is_wrong_with_the_call(site: Site) -> None:
    with Client(QUICK) as client:
        with pytest.raises(comity.InvalidSetting, match="User-Agent"):
            next(client.get_many([site.url("/")], headers={"User-Agent": "other"}))
        with pytest.raises(TypeError):
            list(client.get_many([None]))  # type: ignore[list-item]
        assert list(client.get_many([])) == []
        assert [url for url, _ in client.get_many(site.url("/a"))] == [site.url("/a")]


def test_many_can_be_asked_for_by_many_threads(site: Site) -> None:
    given = _list(site)
    with Client(QUICK) as client, ThreadPoolExecutor(4) as threads:
        lists = [threads.submit(lambda: list(client.get_many(given))) for _ in range(4)]
        assert [len(each.result(60)) for each in lists] == [7] * 4


@pytest.mark.parametrize(
    ("status", "headers", "stated"),
    [
        (402, {}, (None, None, None)),
        (402, {"crawler-price": "USD 0.01"}, ("0.01", "USD", None)),
        (402, {"Crawler-Price": "12 eur"}, ("12", "EUR", None)),
        (402, {"crawler-price": "0.5"}, ("0.5", None, None)),
        (402, {"crawler-price": "cheap"}, (None, None, None)),
        (402, {"WWW-Authenticate": "License"}, (None, None, None)),
        (
            401,
            {"WWW-Authenticate": 'Basic realm="a, b", License error="x", error_uri="https://t.example/terms"'},
            (None, None, "https://t.example/terms"),
        ),
        (401, {"WWW-Authenticate": "license license=/terms.xml"}, (None, None, "/terms.xml")),
        (
            402,
            {"Link": '</rsl.xml>; rel="license"; type="application/rsl+xml"', "crawler-price": "USD 1"},
            ("1", "USD", "/rsl.xml"),
        ),
        (402, {"WWW-Authenticate": 'License error_uri="javascript:x"'}, (None, None, None)),
    ],
)
def test_a_site_that_asks_for_payment_or_a_licence_is_an_error_of_its_own(
    site: Site, status: int, headers: dict[str, str], stated: tuple[str | None, ...]
) -> None:
    site.set("/a", "pay", status=status, headers=headers)
    with Client(QUICK) as client:
        answer = client.get(site.url("/a"))
    with pytest.raises(comity.PaymentRequired, match=r"requires (payment|a licence)") as caught:
        answer.raise_for_status()
    price, currency, licence = stated
    where = site.url(licence) if licence and licence.startswith("/") else licence
    assert (caught.value.price, caught.value.currency, caught.value.licence) == (price, currency, where)
    assert isinstance(caught.value, comity.BadStatus)
    assert pickle.loads(pickle.dumps(caught.value)).price == price
    assert len(site.seen) == 2, "it is not asked again, and nothing is paid"


X402 = {
    "x402Version": 2,
    "accepts": [
        {"scheme": "exact", "network": "eip155:8453", "amount": "10000", "asset": "0x83", "payTo": "0x20"}
        | {"maxTimeoutSeconds": 60, "extra": {"name": "USDC", "version": "2"}},
        {"scheme": "upto", "network": "solana:5e", "amount": "7", "asset": "EPj"},
        {"scheme": "exact", "amount": 1.5},
        "cheap",
    ],
}
V1 = {
    "x402Version": 1,
    "accepts": [{"scheme": "exact", "network": "base", "maxAmountRequired": "1000", "amount": None, "payTo": "0x1"}],
}


def in_base64(terms: object) -> str:
    return base64.b64encode(json.dumps(terms).encode()).decode()


@pytest.mark.parametrize(
    ("headers", "body", "stated"),
    [
        ({"PAYMENT-REQUIRED": in_base64(X402)}, "{}", (2, "10000", "eip155:8453")),
        ({}, json.dumps(V1), (1, "1000", "base")),
        (
            {"PAYMENT-REQUIRED": base64.urlsafe_b64encode(json.dumps(V1).encode()).decode().rstrip("=")},
            "",
            (1, "1000", "base"),
        ),
        ({}, "\ufeff" + json.dumps(V1), (1, "1000", "base")),
        ({}, json.dumps({**V1, "accepts": [{**V1["accepts"][0], "amount": 20, "payTo": 1}]}), (1, "20", "base")),
        (
            {},
            json.dumps({**V1, "accepts": [{**V1["accepts"][0], "amount": True}, {"scheme": "a", "amount": -2}]}),
            (0, None, None),
        ),
        ({}, json.dumps({**V1, "x402Version": 3}), (0, None, None)),
        ({"PAYMENT-REQUIRED": "no base64"}, json.dumps(V1), (1, "1000", "base")),
        ({}, json.dumps({**V1, "accepts": 3}), (0, None, None)),
        ({}, "{" + '"a":[' * 30_000, (0, None, None)),
        ({}, json.dumps({**V1, "error": "x" * 70_000}), (0, None, None)),
        ({}, json.dumps({"accepts": V1["accepts"]}), (0, None, None)),
    ],
)
def test_what_an_x402_answer_accepts_is_read_and_never_paid(
    site: Site, headers: dict[str, str], body: str, stated: tuple[object, ...]
) -> None:
    site.set("/a", body, status=402, headers=headers)
    with Client(QUICK) as client, pytest.raises(comity.PaymentRequired) as caught:
        client.get(site.url("/a")).raise_for_status()
    with Client(QUICK) as client, client.stream(site.url("/a")) as stream, pytest.raises(comity.PaymentRequired):
        stream.raise_for_status()
    error = caught.value
    assert (len(error.offers), error.price, error.network) == stated
    if len(error.offers) == 2:
        assert (error.scheme, error.currency, error.payee) == ("exact", "USDC", "0x20")
        assert error.offers[1] == PaymentOffer("upto", "7", "EPj", "solana:5e", None)
        assert "10000 of the smallest unit of USDC on eip155:8453 (x402), or 1 more offer (HTTP" in str(error)
    assert site.paths().count("/a") == 2, "nothing is paid"


def test_two_prices_of_one_answer_are_told_apart() -> None:
    headers = [
        ("crawler-price", "USD 0.01"),
        ("payment-required", base64.b64encode(json.dumps(X402).encode()).decode()),
    ]
    error = bad_status("https://a.example/", 402, headers)
    assert isinstance(error, comity.PaymentRequired)
    assert (error.price, error.currency, error.scheme, error.network, error.payee) == ("0.01", "USD", None, None, None)
    assert [each.price for each in error.offers] == ["10000", "7"]
    assert error.costs == "0.01 USD, or 10000 of the smallest unit of USDC on eip155:8453 (x402), or 1 more offer"


@pytest.mark.parametrize("challenge", ['Basic realm="License"', "Licensed x=y", 'Bearer scope="a, License b"'])
def test_a_password_that_is_wanted_is_no_payment(site: Site, challenge: str) -> None:
    site.set("/a", status=401, headers={"WWW-Authenticate": challenge})
    with Client(QUICK) as client, pytest.raises(comity.BadStatus) as caught:
        client.get(site.url("/a")).raise_for_status()
    assert not isinstance(caught.value, comity.PaymentRequired)
