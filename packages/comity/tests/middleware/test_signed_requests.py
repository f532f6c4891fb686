"""Every wrapped library signs what it sends, robots.txt and each hop of a redirect for its own authority."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from examples import first_of
from libraries import ALL, IDENTITY, Fetch
from sites import Seen, Site

import comity
from comity.identity import Identity, create, load
from comity.signatures import Refused, signatures_of
from comity.signatures.verifying import Signed

QUICK = comity.Policy(agent="MyBot/1.0", min_interval=0, robots_fetch_counts=False, allow_addresses=("127.0.0.0/8",))
SAID = Identity(name="ExampleBot", page="https://bot.test/bot/", contact="bot@bot.test", purpose="search")
ASKING = {"Accept-Signature": 'sig1=("@authority");tag="web-bot-auth"'}


@pytest.fixture(params=first_of(*ALL, now=7))
def fetch(request: pytest.FixtureRequest) -> Fetch:
    return ALL[request.param]


@pytest.fixture
def signing(tmp_path: Path) -> Iterator[dict[str, Any]]:
    create(tmp_path / "id", SAID, 1_700_000_000.0)
    IDENTITY.update(identity=str(tmp_path / "id"))
    yield IDENTITY
    IDENTITY.clear()


def verified(seen: Seen, site: Site, identity: str) -> bool:
    """Whether exactly one signature of ours is on a request, as it arrived."""
    found: list[Signed | Refused] = signatures_of(seen.method, site.url(seen.path), seen.headers)
    if not found:
        return False
    (one,) = found
    assert not isinstance(one, Refused), one
    one.check(load(Path(identity)).keys[0].public(), one.created)
    return True


def test_each_hop_is_signed_for_its_own_authority(fetch: Fetch, site: Site, signing: dict[str, Any]) -> None:
    with Site("127.0.0.2") as other:
        site.set("/robots.txt", "User-agent: *\nAllow: /\n")
        site.set("/redirect", status=302, headers={"Location": other.url("/there?b=1&a=2")})
        other.set("/there?b=1&a=2", "there")
        assert fetch(QUICK, [site.url("/redirect")], False) == [200]
        for each in (site, other):
            assert each.paths()[0] == "/robots.txt"
            assert all(verified(seen, each, signing["identity"]) for seen in each.seen), each.seen
        assert len({seen.headers["Signature"] for each in (site, other) for seen in each.seen}) == 4


@pytest.mark.parametrize("library", [name for name in ALL if "Playwright" not in name])  # a browser repeats nothing
def test_a_site_that_asks_for_a_signature_has_one_and_no_other_site_has(
    library: str, site: Site, signing: dict[str, Any]
) -> None:
    signing["sign"] = "when_asked"

    async def asking(request: web.Request) -> web.Response:
        if "Signature" in request.headers:
            return web.Response(status=302, headers={"Location": other.url("/there")})
        return web.Response(status=403, headers=ASKING)

    with Site("127.0.0.2") as other:
        site.set("/redirect", asking)
        other.set("/there", "there")
        assert ALL[library](QUICK, [site.url("/redirect")], False) == [200]
        first, signed = (seen for seen in site.seen if seen.path == "/redirect")
        assert not verified(first, site, signing["identity"])
        assert verified(signed, site, signing["identity"])
        assert not [seen for seen in other.seen if "Signature" in seen.headers or "Signature-Agent" in seen.headers]


def test_a_wrapper_whose_identity_is_not_there_says_so(tmp_path: Path) -> None:
    from comity.middleware.aiohttp import ComityMiddleware

    with pytest.raises(comity.InvalidSetting, match="comity identity new"):
        ComityMiddleware(QUICK, identity=str(tmp_path))


def test_an_adapter_that_signs_is_copied_and_pickled_without_its_key(signing: dict[str, Any]) -> None:
    pytest.importorskip("requests")
    import json
    import pickle

    from comity.middleware.requests import ComityAdapter

    pickled = pickle.dumps(ComityAdapter(QUICK, identity=signing["identity"]))
    (key,) = (Path(signing["identity"]) / "keys").iterdir()
    assert json.loads(key.read_text())["d"].encode() not in pickled
    headers: dict[str, str] = {}
    pickle.loads(pickled)._sending.sign(headers, "GET", "http://a.example/")
    assert set(headers) == {"Signature", "Signature-Input", "Signature-Agent"}
