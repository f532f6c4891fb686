"""The files that a bot publishes: key directory, agent card, address ranges, and a page for people.

They lie in the folder `public` of the identity as they lie on the site; all are made anew from `identity.json`.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Final

from comity.errors import InvalidSetting, InvalidURL
from comity.files import write_anew
from comity.signatures.folder import IDENTITY_FILE, Identity, load, make_key, save
from comity.signatures.verifying import SITEMAP_PATHS
from comity_pages import urls
from comity_pages.urls import Url
from comity_robots.agents import product_token
from comity_robots.fields import DAY

CARD: Final = "agent-card.json"
RANGES: Final = "client-ranges.json"
DIRECTORY_TYPE: Final = "application/http-message-signatures-directory+json"
BEGINS_AFTER: Final = DAY  # seconds after which a new key signs: verifiers keep a directory for a day at most
LISTED_AFTER: Final = 7 * DAY  # seconds that an old key stays in the directory once another signs


def create(folder: Path, identity: Identity, now: float) -> Identity:
    """Make an identity: its key and all files that it publishes.

    Raises:
        InvalidSetting: there is one already, or what it says of itself cannot be published.
        OSError
    """
    checked = _checked(identity)
    if (folder / IDENTITY_FILE).exists():
        raise InvalidSetting(f"{folder} holds an identity already", hint="comity identity rotate gives it a new key")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    made = replace(checked, keys=(make_key(folder, signs_from=now),))
    save(folder, made)
    publish(folder, made, now)
    return made


def rotate(folder: Path, now: float) -> Identity:
    """Publish a new key beside the old one, which signs for another day and is listed for a week after that.

    Raises:
        InvalidSetting: there is no identity in that folder.
        OSError
    """
    identity = load(folder)
    begins = now + BEGINS_AFTER
    kept = tuple(
        replace(key, until=begins + LISTED_AFTER) if key.until is None else key for key in identity.listed(now)
    )
    rotated = replace(identity, keys=(*kept, make_key(folder, signs_from=begins if kept else now)))
    save(folder, rotated)
    publish(folder, rotated, now)
    return rotated


def publish(folder: Path, identity: Identity, now: float) -> list[Path]:
    """Write the files to publish; gives their paths. Raises OSError."""
    public = folder / "public"
    written = []
    for path, text in documents(identity, now).items():
        file = public / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        write_anew(file, text.encode("utf-8"))
        written.append(file)
    return written


def documents(identity: Identity, now: float) -> Mapping[str, str]:
    """Return the text of each file by the path at which it is published."""
    path = Url(identity.page).path_and_query
    folder = path.rpartition("/")[0]
    return {
        SITEMAP_PATHS: _json(directory(identity, now)),
        f"{folder}/{CARD}": _json(card(identity)),
        f"{folder}/{RANGES}": _json(ranges(identity, now)),
        f"{path}index.html" if path.endswith("/") else path: page(identity),
    }


def beside(identity: Identity, name: str) -> str:
    """Return the URL of a file that lies in the folder of the page."""
    return f"{identity.page.rpartition('/')[0]}/{name}"


def directory(identity: Identity, now: float) -> dict[str, Any]:
    """Return the key directory (draft-ietf-webbotauth-httpsig-protocol, 4.1)."""
    return {"keys": [key.public().jwk() for key in identity.listed(now)]}


def card(identity: Identity) -> dict[str, Any]:
    """Return the agent card (draft-meunier-webbotauth-registry, 3)."""
    return {
        "client_id": beside(identity, CARD),
        "client_name": identity.name,
        "client_uri": identity.page,
        "contacts": [_contact(identity)],
        "jwks_uri": f"{identity.origin}{SITEMAP_PATHS}",
        "web_bot_auth": {
            "expected-user-agent": user_agent(identity),
            "rfc9309-product-token": identity.name,
            "rfc9309-compliance": True,
            "trigger": "crawler",
            "purpose": identity.purpose,
            "rate-control": "Crawl-delay in robots.txt; 429 and 503 with Retry-After",
            **({"ips_uri": beside(identity, RANGES)} if identity.ranges else {}),
        },
    }


def ranges(identity: Identity, now: float) -> dict[str, Any]:
    """Return the networks that requests come from, in JAFAR's form (draft-illyes-aipref-jafar)."""
    networks = [ip_network(each) for each in identity.ranges]
    return {
        "creationTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)),
        "prefixes": [{f"ipv{network.version}Prefix": str(network)} for network in networks],
    }


def user_agent(identity: Identity) -> str:
    """Return how the bot names itself in requests."""
    return f"{identity.name}/1.0 (+{identity.page})"


def page(identity: Identity) -> str:
    """Return the page for people."""
    from minijinja import Environment  # late: few runs write pages

    template = files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    values = identity.to_dict() | {
        "origin": identity.origin,
        "agent": user_agent(identity),
        "contact_url": _contact(identity),
        "directory": f"{identity.origin}{SITEMAP_PATHS}",
        "ranges_url": RANGES,
        "card_url": CARD,
    }
    text: str = Environment().render_str(template, "page.html", **values)
    return text


def _contact(identity: Identity) -> str:
    return identity.contact if ":" in identity.contact else f"mailto:{identity.contact}"


def _checked(identity: Identity) -> Identity:
    """Raises InvalidSetting: what the bot says of itself cannot be published."""
    if product_token(identity.name) != identity.name or not identity.name.isascii() or " " in identity.name:
        raise InvalidSetting(
            f"--name: {identity.name!r} is not a product token", hint="letters, digits, - and _, such as ExampleBot"
        )
    try:
        url = urls.normalise(identity.page)
    except InvalidURL as error:
        raise InvalidSetting(f"--page: {error}") from None
    if not url.startswith("https://") or "?" in url or "#" in url:
        raise InvalidSetting(f"--page: {identity.page!r} is not an https URL without query")
    if not identity.contact.strip() or not identity.purpose.strip():
        raise InvalidSetting("--contact and --purpose: people who read the page need both")
    if "@" not in identity.contact and ":" not in identity.contact:
        raise InvalidSetting(f"--contact: {identity.contact!r} is neither an e-mail address nor a URL")
    if ":" in identity.contact and identity.contact.partition(":")[0].lower() not in ("mailto", "https", "http", "tel"):
        raise InvalidSetting(f"--contact: {identity.contact!r} is neither an e-mail address nor a web address")
    try:
        networks = tuple(str(ip_network(each)) for each in identity.ranges)
    except ValueError as error:
        raise InvalidSetting(f"--range: {error}") from None
    return replace(identity, page=url, ranges=networks)


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
