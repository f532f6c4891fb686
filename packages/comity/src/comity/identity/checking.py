"""`comity identity check`: is what a bot says of itself published, and does it agree?"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from ipaddress import ip_address, ip_network
from pathlib import Path

from comity import client
from comity.errors import ComityError
from comity.identity.published import CARD, RANGES, beside, user_agent
from comity.identity.verifier import directory_of
from comity.net import ClientSettings, Response
from comity.policy import Policy
from comity.signatures.folder import Identity, load, signer
from comity.signatures.verifying import SITEMAP_PATHS


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        holds: whether it is as it should be; None where it could not be looked at.
        what: what was looked at, in a few words.
        said: what was found, and what to do where it does not hold.
    """

    holds: bool | None
    what: str
    said: str


def check(
    folder: Path,
    now: float,
    *,
    agent: str,
    policy: Policy | None = None,
    settings: ClientSettings | None = None,
    address: str | None = None,
) -> Iterator[Finding]:
    """Fetch what is published, as a site would; the findings come as they are made.

    Args:
        agent: the User-Agent that requests carry.
        address: one that our requests come from; None: the ranges are not compared.

    Raises:
        InvalidSetting: there is no identity in the folder, or its key cannot be used.
    """
    identity = load(folder)
    keyid = signer(folder, now).keyid
    policy = (policy or Policy(agent=agent)).with_changes(mode="ignore", min_interval=0.0)
    yield _named(identity, agent)
    with client.Client(policy, replace(settings or ClientSettings(), max_retries=0)) as asking:
        for look in (_directory, _page, _card, _ranges):
            yield from look(identity, asking.get, keyid, address)


Get = Callable[[str], Response]


def _named(identity: Identity, agent: str) -> Finding:
    what = "User-Agent"
    missing = [part for part in (identity.name, identity.page) if part.lower() not in agent.lower()]
    if not missing:
        return Finding(True, what, agent)
    return Finding(False, what, f"{agent} does not name {' and '.join(missing)}: set agent to {user_agent(identity)!r}")


def _directory(identity: Identity, get: Get, keyid: str, _: str | None) -> Iterator[Finding]:
    what, url = "key directory", f"{identity.origin}{SITEMAP_PATHS}"
    try:
        response = get(url)
        if response.url != url:
            raise ValueError("it redirects, and verifiers do not follow")
        keys = directory_of(response)
    except (ComityError, ValueError) as error:
        yield Finding(False, what, f"{url}: {error}")
        return
    if keyid in keys:
        yield Finding(True, what, f"{url} lists the key that signs, {keyid}")
    else:
        yield Finding(False, what, f"{url} does not list the key that signs, {keyid}: publish the folder again")


def _page(identity: Identity, get: Get, _keyid: str, _: str | None) -> Iterator[Finding]:
    what = "page"
    response, wrong = _had(identity.page, get)
    if response is None:
        yield Finding(False, what, wrong)
    elif identity.name.lower() not in response.text.lower():
        yield Finding(False, what, f"{identity.page} does not name {identity.name}, the product token")
    elif identity.ranges and "client-ranges" not in response.text + response.headers.get("Link", ""):
        yield Finding(False, what, f'{identity.page} does not link the ranges (<link rel="client-ranges" ...>)')
    else:
        yield Finding(True, what, f"{identity.page} names {identity.name}")


def _card(identity: Identity, get: Get, _keyid: str, _: str | None) -> Iterator[Finding]:
    url = beside(identity, CARD)
    response, wrong = _had(url, get)
    try:
        card = {} if response is None else response.json()
        wrong = wrong or ("" if card.get("client_id") == url else f"client_id is not {url}")
    except (ComityError, AttributeError):
        wrong = "it is not JSON"
    yield Finding(not wrong, "agent card", wrong or url)


def _ranges(identity: Identity, get: Get, _keyid: str, address: str | None) -> Iterator[Finding]:
    what, url = "address ranges", beside(identity, RANGES)
    if not identity.ranges:
        yield Finding(None, what, "none are stated: comity identity new --range CIDR")
        return
    response, wrong = _had(url, get)
    if response is None:
        yield Finding(False, what, wrong)
        return
    try:
        networks = {ip_network(text) for each in response.json()["prefixes"] for text in each.values()}
    except (ComityError, KeyError, TypeError, AttributeError, ValueError):
        yield Finding(False, what, f"{url} is not a list of prefixes: publish the folder again")
        return
    if networks != {ip_network(each) for each in identity.ranges}:
        yield Finding(False, what, f"{url} lists other networks: publish the folder again")
    elif address is None:
        yield Finding(None, what, f"{url} is right; whether it covers your address was not checked: --address IP")
    else:
        ours = ip_address(address)
        covered = any(ours in network for network in networks)
        yield Finding(covered, what, f"{address} is {'' if covered else 'not '}in {url}")


def _had(url: str, get: Get) -> tuple[Response | None, str]:
    """Return an answer of 200, or what is wrong."""
    try:
        response = get(url)
    except ComityError as error:
        return None, str(error)
    return (response, "") if response.status == 200 else (None, f"{url} answered {response.status}")
