"""An identity is made, published, checked and rotated; requests signed in its name are verified by the site."""

import asyncio
import gc
import gzip
import json
import socket
import ssl
import stat
import time
import zipfile
from base64 import b64encode
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import trustme
from aiohttp import web
from commands import ALLOW, comity
from sites import HANGS, Site, endless, served

from comity import Client, ClientSettings, Policy
from comity.crawler import Crawler
from comity.errors import InvalidSetting, InvalidURL
from comity.identity import Identity, KeyLookup, create, load, rotate, verifier
from comity.identity.checking import check
from comity.identity.published import CARD, DAY, DIRECTORY_TYPE, beside, card, documents, user_agent
from comity.identity.verifier import MAX_REQUESTS_PER_SITE, VerifyingMiddleware
from comity.signatures import Signer, folder
from comity.signatures.folder import signer
from comity.signatures.keys import decoded
from comity.signatures.verifying import SITEMAP_PATHS

NOW = 1_700_000_000.0
SAID = Identity(
    name="ExampleBot",
    page="https://bot.test/bot/",
    contact="bot@bot.test",
    purpose="search",
    ranges=("192.0.2.0/24",),
)


class Bot:
    """The bot's own site, over TLS, and the settings with which it is reached."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "identity"
        authority = trustme.CA()
        (folder / "ca.pem").write_bytes(authority.cert_pem.bytes())
        self.site = Site()
        self.site.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("bot.test").configure_cert(self.site.tls)
        self.policy = Policy(agent="verifier/1.0", allow_addresses=("127.0.0.0/8",))
        self.settings = ClientSettings(resolve={"bot.test": "127.0.0.1"}, ca_file=str(folder / "ca.pem"))
        self.identity = SAID

    def begin(self, now: float) -> None:
        page = SAID.page.replace("bot.test", f"bot.test:{self.site.port}")
        self.identity = create(self.folder, replace(SAID, page=page), now)
        self.publish(now)

    def publish(self, now: float) -> None:
        self.site.clear()
        for path, text in documents(load(self.folder), now).items():
            kind = DIRECTORY_TYPE if path == SITEMAP_PATHS else "application/json" if path.endswith(".json") else None
            headers = {"Cache-Control": "max-age=600"}
            self.site.set(path.removesuffix("index.html"), text, content_type=kind, headers=headers)

    def lookup(self, now: float = NOW) -> KeyLookup:
        return KeyLookup(self.policy, self.settings, clock=lambda: now)

    def verdict(self, headers: dict[str, str], lookup: KeyLookup | None = None, now: float = NOW):  # type: ignore[no-untyped-def]
        return asyncio.run((lookup or self.lookup(now)).verify("GET", "https://shop.test/a", headers))

    def signed(self, now: float = NOW) -> dict[str, str]:
        return signer(self.folder, now).headers("GET", "https://shop.test/a", now)


@pytest.fixture
def bot(tmp_path: Path) -> Iterator[Bot]:
    made = Bot(tmp_path)
    with made.site:
        made.begin(NOW)
        yield made


def test_an_identity_is_files_of_which_the_key_is_ours_alone(tmp_path: Path) -> None:
    create(tmp_path / "id", SAID, NOW)
    (key,) = (tmp_path / "id" / "keys").iterdir()
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    private = json.loads(key.read_text())["d"]
    public = [path for path in (tmp_path / "id" / "public").rglob("*") if path.is_file()]
    names = {str(path.relative_to(tmp_path / "id" / "public")) for path in public}
    assert names == {SITEMAP_PATHS[1:], "bot/agent-card.json", "bot/client-ranges.json", "bot/index.html"}
    assert not [path for path in public if private in path.read_text()]
    page = (tmp_path / "id" / "public" / "bot" / "index.html").read_text()
    for words in (
        "ExampleBot",
        "search",
        "Crawl-delay",
        'rel="client-ranges"',
        "mailto:bot@bot.test",
        "does not render",
    ):
        assert words in page
    with pytest.raises(InvalidSetting, match="holds an identity already"):
        create(tmp_path / "id", SAID, NOW)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"name": "Example Bot"}, "--name"),
        ({"name": "Bött"}, "--name"),
        ({"page": "http://bot.test/"}, "--page"),
        ({"page": "bot.test"}, "--page"),
        ({"contact": "somebody"}, "--contact"),
        ({"contact": "javascript:alert(1)"}, "--contact"),
        ({"purpose": " "}, "--purpose"),
        ({"ranges": ("192.0.2.1/24",)}, "--range"),
    ],
)
def test_what_cannot_be_published_is_refused_by_name(tmp_path: Path, wrong: dict[str, str], named: str) -> None:
    with pytest.raises(InvalidSetting, match=named):
        create(tmp_path / "id", replace(SAID, **wrong), NOW)  # type: ignore[arg-type]
    assert not (tmp_path / "id").exists()


def test_the_page_shows_what_the_bot_says_and_never_as_markup(tmp_path: Path) -> None:
    create(tmp_path / "id", replace(SAID, purpose="<script>alert(1)</script>"), NOW)
    page = (tmp_path / "id" / "public" / "bot" / "index.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_a_site_verifies_who_sent_a_request_with_keys_from_the_directory(bot: Bot) -> None:
    verdict = bot.verdict(bot.signed())
    assert verdict.verified, verdict
    assert verdict.agent == f"{bot.identity.origin}{SITEMAP_PATHS}"
    assert bot.site.paths() == [SITEMAP_PATHS]


def test_a_directory_is_fetched_once_while_it_is_fresh(bot: Bot) -> None:
    now = NOW
    lookup = KeyLookup(bot.policy, bot.settings, clock=lambda: now)

    async def many() -> None:
        signed = [bot.signed(now) for _ in range(5)]
        verdicts = await asyncio.gather(*(lookup.verify("GET", "https://shop.test/a", each) for each in signed))
        assert all(each.verified for each in verdicts)

    asyncio.run(many())
    assert len(bot.site.seen) == 1
    now = NOW + 601
    asyncio.run(many())
    assert len(bot.site.seen) == 2


def test_a_key_that_another_url_lists_proves_nothing_about_this_one(bot: Bot) -> None:
    """Keys are looked up by the URL that the signature covers (draft, 3.4)."""
    lookup = bot.lookup()
    assert bot.verdict(bot.signed(), lookup).verified
    from comity.signatures.folder import KEYS_FOLDER
    from comity.signatures.keys import SigningKey

    (key,) = (bot.folder / KEYS_FOLDER).iterdir()
    forged = Signer(SigningKey.read(key), "https://bigsearch.test").headers("GET", "https://shop.test/a", NOW)
    verdict = asyncio.run(lookup.verify("GET", "https://shop.test/a", forged))
    assert verdict.outcome == "unverified"
    assert "bigsearch.test" in verdict.why


@pytest.mark.parametrize("status", [301, 404, 500])
def test_an_answer_that_is_no_directory_verifies_nothing(bot: Bot, status: int) -> None:
    bot.site.set(SITEMAP_PATHS, "{}", status=status, headers={"Location": "/other"}, content_type=DIRECTORY_TYPE)
    bot.site.set("/other", json.dumps({"keys": []}), content_type=DIRECTORY_TYPE)
    assert bot.verdict(bot.signed()).outcome == "unverified"
    assert bot.site.paths() == [SITEMAP_PATHS]


@pytest.mark.parametrize(
    ("body", "kind"),
    [("{}", DIRECTORY_TYPE), ("[1]", DIRECTORY_TYPE), ("no", DIRECTORY_TYPE), ('{"keys": []}', "text/html")],
)
def test_a_directory_that_cannot_be_read_verifies_nothing(bot: Bot, body: str, kind: str) -> None:
    bot.site.set(SITEMAP_PATHS, body, content_type=kind)
    assert bot.verdict(bot.signed()).outcome == "unverified"


def test_an_outage_of_the_directory_takes_no_key_away_and_its_absence_does(bot: Bot) -> None:
    now = NOW
    lookup = KeyLookup(bot.policy, bot.settings, clock=lambda: now)
    assert bot.verdict(bot.signed(now), lookup).verified
    bot.site.set(SITEMAP_PATHS, "", status=503)
    now = NOW + 1000
    assert bot.verdict(bot.signed(now), lookup).verified
    bot.site.set(SITEMAP_PATHS, '{"keys": []}', content_type=DIRECTORY_TYPE)
    now = NOW + 2000
    assert bot.verdict(bot.signed(now), lookup).outcome == "unverified"


def test_a_directory_at_a_private_address_is_not_fetched(bot: Bot) -> None:
    lookup = KeyLookup(Policy(agent="verifier/1.0"), bot.settings, clock=lambda: NOW)
    verdict = bot.verdict(bot.signed(), lookup)
    assert verdict.outcome == "unverified"
    assert not bot.site.seen


def test_a_new_key_is_listed_before_it_signs_and_the_old_one_after(bot: Bot) -> None:
    old = signer(bot.folder, NOW).keyid
    new = rotate(bot.folder, NOW).keys[-1].public().thumbprint
    bot.publish(NOW)
    assert signer(bot.folder, NOW + DAY - 1).keyid == old
    assert signer(bot.folder, NOW + DAY).keyid == new
    for now in (NOW, NOW + DAY):
        assert bot.verdict(bot.signed(now), now=now).verified
    listed = json.loads(documents(load(bot.folder), NOW + 9 * DAY)[SITEMAP_PATHS])["keys"]
    assert [key["kid"] for key in listed] == [new]


def test_the_check_finds_all_in_order_and_then_says_what_to_mend(bot: Bot) -> None:
    agent = user_agent(bot.identity)

    def checked(**more: str) -> dict[str, bool | None]:
        found = list(
            check(bot.folder, NOW, agent=more.pop("agent", agent), policy=bot.policy, settings=bot.settings, **more)
        )
        return {each.what: each.holds for each in found}

    assert set(checked(address="192.0.2.7").values()) == {True}
    assert checked(address="198.51.100.1")["address ranges"] is False
    assert checked(agent="other/1.0")["User-Agent"] is False
    bot.site.set("/bot/", "<p>under construction</p>")
    assert checked()["page"] is False
    bot.site.set(SITEMAP_PATHS, '{"keys": []}', content_type=DIRECTORY_TYPE)
    assert checked()["key directory"] is False


def claims(*agents: str, now: float = NOW) -> dict[str, str]:
    """A request that names directories, signed by nobody: whoever wants may send it."""
    labels = [f"s{number}" for number in range(len(agents))]
    covered = [f'{each}=("@authority" "signature-agent";key="{each}")' for each in labels]
    return {
        "Signature-Agent": ", ".join(f"{label}={agent}" for label, agent in zip(labels, agents, strict=True)),
        "Signature-Input": ", ".join(
            f'{each};created={now:.0f};expires={now + 60:.0f};keyid="x";tag="web-bot-auth"' for each in covered
        ),
        "Signature": ", ".join(f"{label}=:AAAA:" for label in labels),
    }


def named(who: Signer, agent: str) -> None:
    """Have a signer name another directory."""
    who._field, who._agent = f"sig1={agent}", f"{who._agent.partition(': ')[0]}: {agent}"


def nothing_listed(bot: Bot, *paths: str) -> None:
    """The bot's site answers like this for each path: a client's document that leads to an empty set."""
    for path in paths:
        card = {"client_id": f"{bot.identity.origin}{path}", "jwks_uri": f"{bot.identity.origin}/keys{path}"}
        bot.site.set(path, json.dumps(card), content_type="application/json")
        bot.site.set(f"/keys{path}", '{"keys": []}', content_type="application/json")


def test_one_request_has_one_url_asked_for_keys_however_many_it_names(bot: Bot) -> None:
    nothing_listed(bot, *(f"/{number}" for number in range(4)))
    origin = bot.identity.origin
    many = claims(*(f'"{origin}/{number}";type=cimd' for number in range(4)))
    assert bot.verdict(many).outcome == "unverified"
    assert bot.site.paths() == ["/0", "/keys/0"]


def test_many_requests_send_few_to_one_site_and_none_that_were_sent_before(bot: Bot) -> None:
    """Whoever sends us requests says whom we ask, so we are not to be the means of a flood (draft, 6.7)."""
    nothing_listed(bot, *(f"/{number}" for number in range(50)))
    origin, now = bot.identity.origin, NOW
    lookup = KeyLookup(bot.policy, bot.settings, clock=lambda: now)

    async def flood(numbers: range) -> None:
        for _ in range(2):
            given = [claims(f'"{origin}/{number}";type=cimd', now=now) for number in numbers]
            await asyncio.gather(*(lookup.verify("GET", "https://shop.test/a", each) for each in given))

    asyncio.run(flood(range(50)))
    assert len(bot.site.seen) == MAX_REQUESTS_PER_SITE
    assert len(set(bot.site.paths())) == MAX_REQUESTS_PER_SITE
    now += 61
    asyncio.run(flood(range(40, 45)))
    assert len(bot.site.seen) == 2 * MAX_REQUESTS_PER_SITE
    now -= 3600  # a clock that was set back blocks nobody
    asyncio.run(flood(range(30, 31)))
    assert len(bot.site.seen) == 2 * MAX_REQUESTS_PER_SITE + 2


def test_no_flood_takes_away_what_is_known(bot: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    now = NOW
    lookup = KeyLookup(bot.policy, bot.settings, clock=lambda: now)
    assert bot.verdict(bot.signed(now), lookup).verified
    monkeypatch.setattr(verifier, "MAX_REQUESTS_PER_MINUTE", 1)
    now += 601  # the directory is stale
    nothing_listed(bot, "/0", "/1")
    for path in ("/0", "/1"):
        said = bot.verdict(claims(f'"{bot.identity.origin}{path}";type=jwks_uri', now=now), lookup)
    assert "could not be fetched: 1 requests for keys were sent within a minute" in said.why
    bot.publish(now)
    assert bot.verdict(bot.signed(now), lookup).verified
    assert bot.site.paths() == [SITEMAP_PATHS], "what is known is asked again, whatever strangers had us ask"
    monkeypatch.setattr(verifier, "MAX_REQUESTS_PER_SITE", 1)
    now += 601
    bot.verdict(claims(f'"{bot.identity.origin}/2";type=jwks_uri', now=now), lookup)
    assert bot.verdict(bot.signed(now), lookup).verified, "and where it cannot be asked, it holds on"


def test_a_directory_that_answers_slowly_holds_a_request_for_one_time_out(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The card comes, and what it leads to does not: the time is that of both."""
    monkeypatch.setattr(verifier, "MAX_FETCH_SECONDS", 0.2)
    nothing_listed(bot, "/0")
    bot.site.set("/keys/0", endless(b'{"keys": ['))
    begun = time.monotonic()
    verdict = bot.verdict(claims(*(f'"{bot.identity.origin}/0";type=cimd' for _ in range(4))))
    assert time.monotonic() - begun < HANGS
    assert "it took longer than 0.2 s" in verdict.why
    assert bot.site.paths() == ["/0", "/keys/0"]


def test_what_holds_no_more_has_nobody_asked(bot: Bot) -> None:
    verdict = bot.verdict(bot.signed(), now=NOW + 61)
    assert (verdict.outcome, verdict.why) == ("invalid", "the signature has expired")
    assert not bot.site.seen


def test_a_set_with_another_query_is_another_signer(bot: Bot) -> None:
    """`jwks?tenant=evil` is what a tenant wrote; `jwks` is not."""
    keys = json.dumps({"keys": [key.public().jwk() for key in bot.identity.keys]})
    bot.site.set("/jwks?tenant=a", keys, content_type="application/json")
    bot.site.set("/jwks", '{"keys": []}', content_type="application/json")
    lookup = bot.lookup()
    for path, agent in (("/jwks?tenant=a", f"{bot.identity.origin}/jwks?tenant=a"), ("/jwks", None)):
        who = signer(bot.folder, NOW)
        named(who, f'"{bot.identity.origin}{path}";type=jwks_uri')
        assert bot.verdict(who.headers("GET", "https://shop.test/a", NOW), lookup).agent == agent


def test_what_a_url_lists_under_one_name_is_not_taken_for_another_name_s(bot: Bot) -> None:
    """A set of keys is no client's document, and what is not served as a directory is none, whoever asked first."""
    keys = json.dumps({"keys": [key.public().jwk() for key in bot.identity.keys]})
    lookup = bot.lookup()
    bot.site.set("/jwks", keys, content_type="application/json")
    bot.site.set(SITEMAP_PATHS, keys, content_type="text/html")
    said = []
    for path, kind in (("/jwks", "jwks_uri"), ("/jwks", "cimd"), (SITEMAP_PATHS, "jwks_uri")):
        who = signer(bot.folder, NOW)
        named(who, f'"{bot.identity.origin}{path}";type={kind}')
        said.append(bot.verdict(who.headers("GET", "https://shop.test/a", NOW), lookup).outcome)
    assert said == ["verified", "unverified", "invalid"]
    assert bot.verdict(bot.signed(), lookup).outcome == "unverified"


@pytest.mark.parametrize("body", ["[" * 60_000, '{"keys": [' + "1" * 60_000 + "]}", '{"keys": [{"x": ' + "[" * 50_000])
def test_a_directory_that_is_nested_without_end_is_none(bot: Bot, body: str) -> None:
    bot.site.set(SITEMAP_PATHS, body, content_type=DIRECTORY_TYPE)
    assert bot.verdict(bot.signed()).outcome == "unverified"


def test_credentials_and_a_cache_of_the_settings_stay_out_of_what_strangers_name(bot: Bot, tmp_path: Path) -> None:
    settings = replace(
        bot.settings, auth={bot.identity.origin: ("me", "secret")}, cache=str(tmp_path / "cache"), cache_pages=True
    )
    lookup = KeyLookup(bot.policy, settings, clock=lambda: NOW)
    assert bot.verdict(bot.signed(), lookup).verified
    assert "Authorization" not in bot.site.seen[0].headers
    assert not (tmp_path / "cache").exists()


def asking(statuses: list[int], bot: Bot, lookup: KeyLookup, origin: str):  # type: ignore[no-untyped-def]
    """Answers 403 and asks for a signature, unless a request is signed by the bot."""

    async def answer(request: web.Request) -> web.Response:
        verdict = await lookup.verify(request.method, f"{origin}{request.path_qs}", dict(request.headers))
        statuses.append(200 if verdict.verified else 403)
        if verdict.verified:
            return web.Response(text="for those who say who they are")
        asked = 'sig1=("@authority");tag="web-bot-auth"'
        return web.Response(status=403, headers={"Accept-Signature": asked}, text=verdict.why)

    return answer


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("sign", "statuses"), [("always", [200, 200]), ("when_asked", [403, 200, 200]), ("never", [403, 403])]
)
def test_a_site_that_answers_only_signed_requests_is_read(
    bot: Bot, site: Site, tmp_path: Path, sign: str, statuses: list[int], streamed: bool
) -> None:
    import time

    bot.folder = tmp_path / "now"
    bot.begin(time.time())
    site.set("/robots.txt", "")
    seen: list[int] = []
    lookup = KeyLookup(bot.policy, bot.settings)
    for path in ("/a", "/b"):
        site.set(path, asking(seen, bot, lookup, site.url("")))
    policy = Policy(agent=user_agent(bot.identity), allow_addresses=("127.0.0.0/8",), min_interval=0.05)
    with Client(policy, ClientSettings(identity=str(bot.folder), sign=sign)) as client:  # type: ignore[arg-type]
        answered = []
        for path in ("/a", "/b"):
            with client.stream(site.url(path)) if streamed else nullcontext(client.get(site.url(path))) as answer:
                answered.append(answer.status)
    assert seen == statuses
    assert answered == statuses[-2:]
    assert min(site.intervals()) >= 0.05
    signed = [request for request in site.seen if "Signature" in request.headers]
    assert len({request.headers["Signature"] for request in signed}) == len(signed)
    if sign == "always":
        assert site.seen[0].path == "/robots.txt"
        assert "Signature" in site.seen[0].headers


@pytest.mark.parametrize("sign", ["always", "when_asked"])
def test_the_nonce_that_a_site_asks_for_is_signed_once(bot: Bot, site: Site, sign: str) -> None:
    """RFC 9421, 5: whoever hands out a nonce of its own need not remember those of others."""

    async def answer(request: web.Request) -> web.Response:
        if 'nonce="fresh=="' in request.headers.get("Signature-Input", ""):
            return web.Response(text="welcome")
        asked = 'other=();tag="payments", sig1=("@authority");tag="web-bot-auth";nonce="fresh=="'
        return web.Response(status=403, headers={"Accept-Signature": asked})

    site.set("/a", answer)
    policy = Policy(agent="ExampleBot/1.0", allow_addresses=("127.0.0.0/8",), min_interval=0)
    settings = ClientSettings(identity=str(bot.folder), sign=sign)  # type: ignore[arg-type]
    with Client(policy, settings) as client:
        assert client.get(site.url("/a")).text == "welcome"
        assert client.get(site.url("/a")).status == 403, "it is asked for again, and is not sent for ever"
    assert site.paths().count("/a") == 3


@pytest.mark.parametrize("asked", ['sig1=("@authority");tag="payments"', "((", ""])
def test_what_asks_for_no_signature_of_this_kind_gets_none(bot: Bot, site: Site, asked: str) -> None:
    site.set("/a", status=403, headers={"Accept-Signature": asked})
    policy = Policy(agent="ExampleBot/1.0", allow_addresses=("127.0.0.0/8",), min_interval=0)
    with Client(policy, ClientSettings(identity=str(bot.folder), sign="when_asked")) as client:
        assert client.get(site.url("/a")).status == 403
    assert not any("Signature" in seen.headers for seen in site.seen)


def test_each_hop_of_a_redirect_is_signed_for_its_own_authority(bot: Bot, site: Site) -> None:
    with Site("127.0.0.2") as other:
        site.set("/a", status=302, headers={"Location": other.url("/b")})
        other.set("/b", "there")
        policy = Policy(agent="ExampleBot/1.0", allow_addresses=("127.0.0.0/8",), min_interval=0)
        with Client(policy, ClientSettings(identity=str(bot.folder))) as client:
            client.get(site.url("/a"))
        for server, path in ((site, "/a"), (other, "/b")):
            (request,) = [seen for seen in server.seen if seen.path == path]
            from comity.signatures import signatures_of

            (found,) = signatures_of("GET", server.url(path), request.headers)
            key = signer(bot.folder, NOW)
            found.check(load(bot.folder).keys[0].public(), found.created)  # type: ignore[union-attr]
            assert key.keyid == found.keyid  # type: ignore[union-attr]


def test_an_application_learns_who_asks_by_the_middleware(bot: Bot) -> None:
    seen = []

    async def app(scope: dict[str, object], _receive: object, _send: object) -> None:
        seen.append(scope.get("web_bot_auth"))

    wrapped = VerifyingMiddleware(app, "https://shop.test", bot.lookup())
    headers = [(name.lower().encode(), value.encode()) for name, value in bot.signed().items()]
    scope = {"type": "http", "method": "GET", "path": "/a", "raw_path": b"/a", "query_string": b"", "headers": headers}

    async def calls() -> None:
        await wrapped(scope, None, None)
        await wrapped({**scope, "path": "/b", "raw_path": b"/b"}, None, None)
        await wrapped({"type": "lifespan"}, None, None)

    asyncio.run(calls())
    assert [verdict and verdict.outcome for verdict in seen] == ["verified", "invalid", None]


async def verdict_of(scope: dict[str, Any], _receive: object, send: Any) -> None:
    """An application that answers with the verdict, and with the path that it would serve."""
    verdict = scope["web_bot_auth"]
    said = f"{verdict.outcome} {scope['path']}; {verdict.why}".encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": said})


def sent(port: int, target: str, headers: dict[str, str]) -> str:
    """The body of the answer to a request with exactly this target."""
    fields = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with socket.create_connection(("127.0.0.1", port), 60) as asking:
        asking.sendall(f"GET {target} HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n{fields}\r\n".encode())
        return asking.makefile("rb").read().partition(b"\r\n\r\n")[2].split(b"\r\n")[1].decode()


@pytest.mark.parametrize(
    ("signed", "target"),
    [
        ("https://evil.test/x", "@evil.test/../x"),
        ("https://evil.test/x", "@evil.test/x"),
        ("https://shop.test.evil.test/x", ".evil.test/x"),
        ("https://shop.test:8443/x", ":8443/x"),
        ("https://evil.test/x", "https://evil.test/x"),
        ("https://shop.test/x", "https://shop.test/x"),
        ("https://shop.test/*", "*"),
        ("https://shop.test/", "*"),
        ("https://evil.test/x", "//evil.test/x"),
        ("https://evil.test/x", "\\\\evil.test/x"),
        ("https://evil.test/x", "/x"),
        ("https://shop.test/b", "/a/../b"),
        ("https://shop.test/b", "/a/%2e%2e/b"),
        ("https://shop.test/b", "/./b"),
        ("https://shop.test/b", "//b"),
        ("https://shop.test/b", "/%62"),
        ("https://shop.test/b", "/b#/admin"),
        ("https://shop.test/b", "\\b"),
        ("https://shop.test/a/b", "/a\\b"),
        ("https://shop.test/a/b", "/a%2Fb"),
    ],
)
def test_a_signature_holds_for_its_authority_and_its_path_as_they_were_sent_and_no_other(
    bot: Bot, signed: str, target: str
) -> None:
    """RFC 9421, 2.2.3 and 2.2.6: what the application answers is what was signed, octet for octet."""
    headers = signer(bot.folder, NOW).headers("GET", signed, NOW)
    with served(lambda _: VerifyingMiddleware(verdict_of, "https://shop.test", bot.lookup())) as port:
        said = sent(port, target, headers)
        assert said.startswith("invalid "), said
        assert sent(port, target, {}).startswith("unverified "), "who signs nothing is not said to have done wrong"


@pytest.mark.parametrize("target", ["/b", "/a/../b", "/a/%2e%2e/b", "//b", "/a%2Fb|c[1]", "/b?x=1", "/@evil.test/"])
def test_a_path_that_was_signed_as_it_was_sent_verifies(bot: Bot, target: str) -> None:
    headers = signer(bot.folder, NOW).headers("GET", f"https://shop.test{target}", NOW)
    with served(lambda _: VerifyingMiddleware(verdict_of, "HTTPS://Shop.test:443/", bot.lookup())) as port:
        assert sent(port, target, headers).startswith("verified ")


def test_a_server_that_hands_over_no_raw_path_leaves_what_stands_in_paths(bot: Bot) -> None:
    seen = []

    async def app(scope: dict[str, Any], _receive: object, _send: object) -> None:
        seen.append(scope["web_bot_auth"].outcome)

    wrapped = VerifyingMiddleware(app, "https://shop.test", bot.lookup())
    for signed, path in (("/a:b%20c", "/a:b c"), ("/b", "/a/../b")):
        given = signer(bot.folder, NOW).headers("GET", f"https://shop.test{signed}", NOW)
        headers = [(name.lower().encode(), value.encode()) for name, value in given.items()]
        asyncio.run(wrapped({"type": "http", "method": "GET", "path": path, "headers": headers}, None, None))
    assert seen == ["verified", "invalid"]


def test_a_middleware_for_no_origin_is_refused_at_once() -> None:
    with pytest.raises(InvalidURL):
        VerifyingMiddleware(verdict_of, "shop.test")


def test_the_command_makes_rotates_and_verifies(tmp_path: Path, bot: Bot) -> None:
    made = comity(
        *("identity", "new", "id", "--name", "ExampleBot", "--page", "https://bot.test/", "--contact", "a@bot.test"),
        *("--purpose", "search"),
        cwd=tmp_path,
    )
    assert made.returncode == 0, made.stderr
    assert "publish" in made.stdout
    again = comity(*made.args[1:], cwd=tmp_path)
    assert again.returncode == 64
    assert "holds an identity already" in again.stderr
    assert "signs from" in comity("identity", "rotate", "id", cwd=tmp_path).stdout
    (tmp_path / "request").write_text("Host: shop.test\n")
    unsigned = comity("identity", "verify", "https://shop.test/a", "--headers", "request", cwd=tmp_path)
    assert (unsigned.returncode, unsigned.stdout) == (3, "unverified: the request carries no Web Bot Auth signature\n")
    (tmp_path / "request").write_text("\n".join(f"{name}: {value}" for name, value in bot.signed().items()))
    old = comity("identity", "verify", "https://shop.test/b", "--headers", "request", cwd=tmp_path)
    assert (old.returncode, old.stdout) == (2, "invalid: the signature has expired\n")  # its directory is not asked
    nowhere = comity("identity", "verify", "shop.test/a", "--headers", "request", cwd=tmp_path)
    assert (nowhere.returncode, "did you mean https://shop.test/a?" in nowhere.stderr) == (64, True)


def test_a_client_whose_identity_is_not_there_says_so_and_leaves_nothing_open(
    tmp_path: Path, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    policy = Policy(allow_addresses=("127.0.0.0/8",))
    with (
        pytest.raises(InvalidSetting, match="comity identity new"),
        Client(policy, ClientSettings(identity=str(tmp_path))) as client,
    ):
        client.get(site.url("/"))
    assert not site.seen
    gc.collect()
    assert "Unclosed" not in caplog.text


@pytest.mark.parametrize(
    ("text", "words"), [("[3]", r"damaged: \[3\] is not"), ('{"name": "a"}', "page is missing"), ("{", "damaged")]
)
def test_a_damaged_identity_is_refused_with_what_is_wrong(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "identity.json").write_text(text)
    with pytest.raises(InvalidSetting, match=words):
        folder.load(tmp_path)


def test_the_practices_for_crawlers_are_listed_with_what_keeps_them(tmp_path: Path) -> None:
    plain = comity("inspect", "--self", cwd=tmp_path).stdout.splitlines()
    assert plain[0].split(None, 1) == ["yes", "obeys robots.txt            mode respect, rfc9309"]
    assert [line.split()[0] for line in plain].count("no") == 5
    create(tmp_path / "id", SAID, NOW)
    settings = {
        "COMITY_AGENT": user_agent(SAID),
        "COMITY_IDENTITY": "id",
        "COMITY_CACHE": "c",
        "COMITY_CACHE_PAGES": "yes",
    }
    told = comity("inspect", "--self", "--json", cwd=tmp_path, environment=settings)
    assert all(each["kept"] for each in json.loads(told.stdout)), told.stdout
    careless = settings | {
        "COMITY_MODE": "ignore",
        "COMITY_BACKOFF": "0",
        "COMITY_MIN_INTERVAL": "0",
        "COMITY_SIGN": "never",
    }
    lines = comity("inspect", "--self", cwd=tmp_path, environment=careless).stdout.splitlines()
    lost = {line[5:33].strip() for line in lines if line.startswith("no")}
    assert lost == {"obeys robots.txt", "goes slowly", "backs off", "proves who it is"}
    assert comity("inspect", cwd=tmp_path).returncode == 64


def test_a_crawl_is_signed_in_the_name_of_the_identity_that_is_named(tmp_path: Path, site: Site) -> None:
    create(tmp_path / "id", SAID, NOW)
    site.link("/", "/a")
    site.set("/a", "a")
    done = comity("crawl", site.url("/"), "-o", "out", "--identity", "id", "--delay", "0", *ALLOW, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(site.seen) >= 3
    assert all(SAID.origin in seen.headers["Signature-Agent"] for seen in site.seen)
    keyid = load(tmp_path / "id").keys[0].public().thumbprint
    records = [json.loads(line) for line in (tmp_path / "out" / "ledger.jsonl").read_text().splitlines()]
    sent = [record for record in records if record["kind"] == "request"]
    assert len(sent) == len(site.seen)
    assert {record["signed"] for record in sent} == {keyid}
    assert comity("prove", "out", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({}, "lists"),
        ({"client_id": "https://bot.test/another"}, "its client_id is not its URL"),
        ({"jwks": {"keys": []}}, "either jwks or jwks_uri"),
        ({"jwks_uri": "http://bot.test/"}, "its jwks_uri is not an https URL"),
    ],
)
def test_a_client_s_metadata_document_leads_to_its_keys(bot: Bot, changed: dict[str, Any], why: str) -> None:
    where = beside(bot.identity, CARD)
    bot.site.set(urlsplit(where).path, json.dumps(card(bot.identity) | changed), content_type="application/json")
    who = signer(bot.folder, NOW)
    named(who, f'"{where}";type=cimd')
    verdict = bot.verdict(who.headers("GET", "https://shop.test/a", NOW))
    assert (verdict.verified, verdict.agent) == ((True, where) if not changed else (False, None)), verdict
    assert why in verdict.why


@pytest.mark.parametrize("form", ["jsonl", "wacz"])
def test_no_file_that_a_signed_crawl_writes_has_a_key(tmp_path: Path, site: Site, form: str) -> None:
    pytest.importorskip("warcio")
    create(tmp_path / "id", SAID, NOW)
    site.set("/robots.txt", "")
    site.link("/", "/a")
    words = ("--identity", "id", "--delay", "0", "-vv", "--log", "log", "--report", "r.html", "--format", form, *ALLOW)
    told = comity("crawl", site.url("/"), "-o", "out", *words, cwd=tmp_path)
    (key,) = (tmp_path / "id" / "keys").iterdir()
    text = json.loads(key.read_text())["d"]
    raw = decoded(text)
    secrets = [text.encode(), raw, raw.hex().encode(), b64encode(raw).rstrip(b"=")]
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path != key]
    assert (tmp_path / "log") in files
    for path in files:
        data = path.read_bytes()
        if path.suffix == ".gz":
            data += gzip.decompress(data)
        elif path.suffix == ".wacz":
            with zipfile.ZipFile(path) as packed:
                data = b"".join(packed.read(name) for name in packed.namelist())
        assert not [secret for secret in secrets if secret in data], path
    assert text not in told.stdout + told.stderr


def test_a_key_that_cannot_be_used_any_more_ends_a_crawl_and_fails_no_page(
    tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "RELOAD_SECONDS", 0.0)  # so that each request is signed by what lies there now
    create(tmp_path / "id", SAID, time.time())
    (key,) = (tmp_path / "id" / "keys").iterdir()
    site.link("/", *(f"/{number}" for number in range(9)))

    async def answer(request: web.Request) -> web.Response:
        key.chmod(0o644)
        return web.Response(text=f"page {request.path}")

    for number in range(9):
        site.set(f"/{number}", answer)
    quick = Policy(agent="ExampleBot/1.0", min_interval=0, allow_addresses=("127.0.0.0/8",))
    crawler = Crawler(
        [site.url("/")], tmp_path / "out", policy=quick, client_settings=ClientSettings(identity=str(tmp_path / "id"))
    )
    with pytest.raises(InvalidSetting, match="can be read by others"):
        asyncio.run(crawler.run())
    key.chmod(0o600)
    assert not (tmp_path / "out" / "failures.jsonl").read_text()
    again = Crawler([], tmp_path / "out", policy=quick)
    assert asyncio.run(again.run()).pages == 10
    assert not (tmp_path / "out" / "failures.jsonl").read_text()
