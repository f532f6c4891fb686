"""What a refusal asks for: payment, or a licence. It is read and reported; nothing is ever paid.

Sources: Cloudflare's pay per crawl (402 with `crawler-price`), RSL's Crawler Authorization Protocol (401 or 402 with
`WWW-Authenticate: License`), and x402, versions 1 (JSON in the body) and 2 (the header `PAYMENT-REQUIRED`).
"""

import json
import re
from base64 import b64decode
from codecs import BOM_UTF8
from collections.abc import Iterable
from functools import partial
from typing import Final

from comity.errors import BadStatus, PaymentOffer, PaymentRequired, costs_in_words
from comity_pages import urls
from comity_pages.signals import rsl
from comity_robots.usage.statements import is_absolute, located

MAX_HEADER_CHARACTERS: Final = 4096  # characters read of one header
MAX_TERMS_BYTES: Final = 65_536  # of a body or header that states x402 terms; a larger one is not read
MAX_OFFERS: Final = 16
_MAX_WORD_CHARACTERS: Final = 200
_PRICE: Final = re.compile(r"(?:([A-Za-z]{3})\s+)?(\d{1,12}(?:\.\d{1,12})?)(?:\s+([A-Za-z]{3}))?")
_QUOTED: Final = re.compile(r'"[^"]*"')
_CHALLENGE: Final = re.compile(r"(?:^|,)\s*license(?=\s|$)", re.IGNORECASE)
_PARAMETER: Final = re.compile(r'\s*+(?:,\s*+)?+([\w-]++)\s*+=\s*+(?:"([^"]*)"|([^\s,"]+))')
_URL_SAFE: Final = str.maketrans("-_", "+/")
_OF_LICENCE: Final = ("license", "license_uri", "error_uri")


def bad_status(
    url: str, status: int, headers: Iterable[tuple[str, str]], *, reason: str = "", body: bytes = b""
) -> BadStatus:
    """Return the error for an answer of status 400 or more: PaymentRequired for a 402, and a 401 that wants a licence.

    Args:
        headers: names in any case; one may repeat.
        reason: the rest of the status line.
        body: of the answer, as far as it was read.
    """
    named = f" {reason:.60}" if reason and reason.isprintable() else ""
    what = f"{url} returned HTTP status {status}{named}"
    if status not in (401, 402):
        return BadStatus(what, url=url, status=status)
    price = currency = licence = None
    offers = _offers(body) if status == 402 else ()
    licensed = False
    for name, value in headers:
        match name.lower():
            case "crawler-price" if price is None and (
                found := _PRICE.fullmatch(value[:MAX_HEADER_CHARACTERS].strip())
            ):
                price, currency = found[2], (found[1] or found[3] or "").upper() or None
            case "payment-required" if status == 402 and (stated := _offers(_decoded(value))):
                offers = stated
            case "link" if licence is None:
                licence = next((each.url for each in rsl.from_link_header(value, url) if is_absolute(each.url)), None)
            case "www-authenticate" if challenge := _CHALLENGE.search(
                _QUOTED.sub(_blank, value[:MAX_HEADER_CHARACTERS])
            ):
                licensed = True
                licence = licence or _licence(value[challenge.end() : MAX_HEADER_CHARACTERS], url)
    if status == 401 and not licensed:
        return BadStatus(what, url=url, status=status)
    asks = "requires payment" if status == 402 else "requires a licence"
    terms = f" (licence: {licence})" if licence else ""
    costs = costs_in_words(price, currency, offers)
    return PaymentRequired(
        f"{url} {asks}{', ' if costs else ''}{costs} (HTTP status {status}){terms}",
        url=url,
        status=status,
        price=price,
        currency=currency,
        licence=licence,
        offers=offers,
        hint="comity never pays; write to the site",
    )


def _offers(terms: bytes) -> tuple[PaymentOffer, ...]:
    """Return the offers of an x402 `PaymentRequired` object; none where the text is something else."""
    if len(terms) > MAX_TERMS_BYTES or terms.removeprefix(BOM_UTF8).lstrip()[:1] != b"{":
        return ()
    try:
        stated = json.loads(terms)
    except (ValueError, RecursionError):
        return ()
    accepted = stated.get("accepts") if stated.get("x402Version") in (1, 2) else None
    found = (_offer(each) for each in accepted[:MAX_OFFERS]) if isinstance(accepted, list) else ()
    return tuple(offer for offer in found if offer is not None)


def _offer(stated: object) -> PaymentOffer | None:
    if not isinstance(stated, dict):
        return None
    extra = stated.get("extra")
    scheme, network, payee, asset = (_word(stated.get(name)) for name in ("scheme", "network", "payTo", "asset"))
    amounts = (stated.get(name) for name in ("amount", "maxAmountRequired"))
    price = next((str(each) for each in amounts if isinstance(each, str | int)), "")
    if scheme is None or not re.fullmatch(r"[0-9]{1,78}", price):  # at most 2**256
        return None
    named = _word(extra.get("name")) if isinstance(extra, dict) else None
    return PaymentOffer(scheme, price, named or asset, network, payee)


def _word(value: object) -> str | None:
    return value if isinstance(value, str) and value.isprintable() and 0 < len(value) <= _MAX_WORD_CHARACTERS else None


def _decoded(value: str) -> bytes:
    """Return the octets of base64 in either alphabet, padded or not; none where it is something else."""
    digits = value[: 2 * MAX_TERMS_BYTES].strip().rstrip("=").translate(_URL_SAFE)
    try:
        return b64decode(digits + "=" * (-len(digits) % 4), validate=True)
    except ValueError:
        return b""


def _blank(quoted: re.Match[str]) -> str:
    return "-" * len(quoted[0])


def _licence(challenge: str, url: str) -> str | None:
    """Return the licence that the parameters of a `License` challenge name."""
    named: dict[str, str] = {}
    position = 0
    while (parameter := _PARAMETER.match(challenge, position)) is not None:
        named.setdefault(parameter[1].lower(), parameter[2] or parameter[3] or "")
        position = parameter.end()
    places = (located(named[name], partial(urls.join, url))[0] for name in _OF_LICENCE if name in named)
    return next((place for place in places if is_absolute(place)), None)
