"""Another implementation of RFC 9421 (http-message-signatures) verifies ours over HTTP, and we verify its."""

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sites
from aiohttp import web
from sites import Site

import comity
from comity.identity import Identity, KeyLookup, Verdict, create, load
from comity.identity.verifier import VerifyingMiddleware, _Kept
from comity.signatures.folder import signing_key

peer = pytest.importorskip("http_message_signatures")

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey  # noqa: E402
from http_message_signatures import algorithms  # noqa: E402

QUICK = comity.Policy(agent="ExampleBot/1.0", min_interval=0, allow_addresses=("127.0.0.0/8",))
SAID = Identity(name="ExampleBot", page="https://bot.test/", contact="bot@bot.test", purpose="search")
COVERED = ("@authority", "@method", "@path", '"signature-agent";key="sig1"')


class Keys(peer.HTTPSignatureKeyResolver):  # type: ignore[misc]
    def __init__(self, folder: Path) -> None:
        identity, key = signing_key(folder, time.time())
        self.keyid, self.origin = key.public.thumbprint, identity.origin
        self._public = Ed25519PublicKey.from_public_bytes(key.public.x)
        self._private = Ed25519PrivateKey.from_private_bytes(key._key.private_bytes_raw())

    def resolve_public_key(self, key_id: str) -> Ed25519PublicKey:
        assert key_id == self.keyid
        return self._public

    def resolve_private_key(self, key_id: str) -> Ed25519PrivateKey:
        assert key_id == self.keyid
        return self._private


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    create(tmp_path / "id", SAID, time.time())
    return Keys(tmp_path / "id")


class PeerSite:
    """A site that answers only what the other implementation verifies, and lets a test tamper with what arrives."""

    def __init__(self, site: Site, keys: Keys) -> None:
        self._verifier = peer.HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=keys)
        self._site = site
        self.tampered: dict[str, Any] = {}
        site.set("/robots.txt", "")
        site.set("/a?b=1", self._answer)

    async def _answer(self, request: web.Request) -> web.Response:
        message = SimpleNamespace(
            method=self.tampered.get("method", request.method),
            url=self.tampered.get("url", self._site.url(request.path_qs)),
            headers={**request.headers, **self.tampered.get("headers", {})},
        )
        for name, (old, new) in self.tampered.get("replaced", {}).items():
            assert old in message.headers[name]
            message.headers[name] = message.headers[name].replace(old, new, 1)
        try:
            (result,) = self._verifier.verify(message)
        except peer.HTTPMessageSignaturesException as error:
            return web.Response(status=403, text=str(error))
        covered = [name.strip('"') if ";" not in name else name for name in result.covered_components]
        return web.Response(text=" ".join(covered))


@pytest.fixture
def peer_site(site: Site, keys: Keys) -> PeerSite:
    return PeerSite(site, keys)


def test_the_peer_verifies_what_our_client_sends(peer_site: PeerSite, site: Site, tmp_path: Path) -> None:
    with comity.Client(QUICK, comity.ClientSettings(identity=str(tmp_path / "id"))) as client:
        answer = client.get(site.url("/a?b=1"))
    assert (answer.status, answer.text) == (200, " ".join((*COVERED, "@signature-params")))


TAMPERED: dict[str, dict[str, Any]] = {
    "method": {"method": "POST"},
    "authority": {"url": "http://other.example/a?b=1"},
    "path": {"url": "PATH"},
    "Signature-Agent": {"replaced": {"Signature-Agent": ("bot.test", "bat.test")}},
    "created": {"replaced": {"Signature-Input": ("created=1", "created=2")}},
    "expires": {"replaced": {"Signature-Input": ("expires=1", "expires=2")}},
    "keyid": {"replaced": {"Signature-Input": ('keyid="', 'keyid="A')}},
    "nonce": {"replaced": {"Signature-Input": ('nonce="', 'nonce="A')}},
    "tag": {"replaced": {"Signature-Input": ("web-bot-auth", "web-bot-autk")}},
    "components": {"replaced": {"Signature-Input": ('"@path" ', "")}},
    "Signature": {"replaced": {"Signature": ("sig1=:", "sig1=:AAAA")}},
    "label": {"replaced": {"Signature": ("sig1=", "sig2=")}},
}


def ours(method: str, url: str, headers: dict[str, str], public: Any) -> str:
    """What our verifier says: `verified`, or why not."""
    from comity.signatures import Refused, signatures_of

    try:
        found = signatures_of(method, url, headers)
        if not found:
            return "no signature for web-bot-auth"
        (one,) = found
        if isinstance(one, Refused):
            return str(one)
        one.check(public, time.time())
    except Refused as error:
        return str(error)
    return "verified"


def test_each_field_that_is_tampered_with_once_is_noticed_by_both(
    peer_site: PeerSite, site: Site, tmp_path: Path, keys: Keys
) -> None:
    """Prints the table: `pytest -s -k tampered`."""
    settings = comity.ClientSettings(identity=str(tmp_path / "id"))
    public = load(tmp_path / "id").keys[0].public()
    with comity.Client(QUICK, settings) as client:
        for what, change in TAMPERED.items():
            change = {**change, "url": site.url("/b?b=1")} if change.get("url") == "PATH" else change
            peer_site.tampered = change
            answer = client.get(site.url("/a?b=1"))
            headers = dict(site.seen[-1].headers)
            method, url = change.get("method", "GET"), change.get("url", site.url("/a?b=1"))
            assert ours("GET", site.url("/a?b=1"), headers, public) == "verified"
            for name, (old, new) in change.get("replaced", {}).items():
                headers[name] = headers[name].replace(old, new, 1)
            said = ours(method, url, headers, public)
            print(f"{what:16} peer {answer.status} {answer.text[:60]!r:64} ours: {said}")
            assert answer.status == 403, what
            assert said != "verified", what


class Application:
    """An ASGI application behind our middleware, served over HTTP."""

    def __init__(self, keys: Keys) -> None:
        self.verdicts: list[Verdict] = []
        self._keys = keys

    async def __call__(self, scope: dict[str, Any], _receive: Any, send: Any) -> None:
        verdict: Verdict = scope["web_bot_auth"]
        self.verdicts.append(verdict)
        await send({"type": "http.response.start", "status": 200 if verdict.verified else 403, "headers": []})
        await send({"type": "http.response.body", "body": verdict.why.encode()})


class OneDirectory(KeyLookup):
    """Has the keys of the bot at hand, as if its directory had been fetched."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._public = load(folder).keys[0].public()

    async def _had(self, where: Any) -> Any:
        assert where == ("directory", "https://bot.test/.well-known/http-message-signatures-directory")
        return _Kept({self._public.thumbprint: self._public}, 0)


@pytest.fixture
def served(keys: Keys, tmp_path: Path) -> Iterator[tuple[str, Application]]:
    application, lookup = Application(keys), OneDirectory(tmp_path / "id")
    with sites.served(lambda port: VerifyingMiddleware(application, f"http://127.0.0.1:{port}", lookup)) as port:
        yield f"http://127.0.0.1:{port}", application


@pytest.mark.parametrize("path", ["/a", "/a%7Eb%2Fc?x=1&y=%7e"])
def test_we_verify_what_the_peer_signs(served: tuple[str, Application], keys: Keys, path: str) -> None:
    import datetime

    requests = pytest.importorskip("requests")
    origin, application = served
    signer = peer.HTTPMessageSigner(signature_algorithm=algorithms.ED25519, key_resolver=keys)
    prepared = requests.Request("GET", origin + path).prepare()
    prepared.headers["Signature-Agent"] = f'sig1="{keys.origin}"'
    now = datetime.datetime.now(datetime.UTC)
    signer.sign(
        prepared,
        key_id=keys.keyid,
        created=now,
        expires=now + datetime.timedelta(minutes=1),
        nonce="abc",
        label="sig1",
        tag="web-bot-auth",
        include_alg=True,
        covered_component_ids=COVERED,
    )
    with requests.Session() as session:
        answer = session.send(prepared)
        assert (answer.status_code, answer.text) == (200, application.verdicts[0].why)
        assert application.verdicts[0].covered == ("@authority", "@method", "@path", "signature-agent;key=sig1")
        prepared.url = f"{origin}/other"
        assert session.send(prepared).status_code == 403
    assert [verdict.outcome for verdict in application.verdicts] == ["verified", "invalid"]
