"""What a refusal asks for: payment, or a licence. It is read and reported; nothing is ever paid.

Sources: Cloudflare's pay per crawl (402 with `crawler-price`), and RSL's Crawler Authorization Protocol (401 or 402
with `WWW-Authenticate: License`).
"""

import re
from collections.abc import Iterable
from functools import partial
from typing import Final

from comity.errors import BadStatus, PaymentRequired
from comity_pages import urls
from comity_pages.signals import rsl
from comity_robots.usage.statements import is_absolute, located

MAX_HEADER_CHARACTERS: Final = 4096
"""Characters read of one header."""
_PRICE: Final = re.compile(r"(?:([A-Za-z]{3})\s+)?(\d{1,12}(?:\.\d{1,12})?)(?:\s+([A-Za-z]{3}))?")
_QUOTED: Final = re.compile(r'"[^"]*"')
_CHALLENGE: Final = re.compile(r"(?:^|,)\s*license(?=\s|$)", re.IGNORECASE)
_PARAMETER: Final = re.compile(r'\s*+(?:,\s*+)?+([\w-]++)\s*+=\s*+(?:"([^"]*)"|([^\s,"]+))')
_OF_LICENCE: Final = ("license", "license_uri", "error_uri")


def bad_status(url: str, status: int, headers: Iterable[tuple[str, str]], *, reason: str = "") -> BadStatus:
    """Return the error for an answer of status 400 or more: PaymentRequired for a 402, and a 401 that wants a licence.

    Args:
        headers: names in any case; one may repeat.
        reason: the rest of the status line.
    """
    named = f" {reason:.60}" if reason and reason.isprintable() else ""
    what = f"{url} returned HTTP status {status}{named}"
    if status not in (401, 402):
        return BadStatus(what, url=url, status=status)
    price = currency = licence = None
    licensed = False
    for name, value in headers:
        match name.lower():
            case "crawler-price" if price is None and (
                found := _PRICE.fullmatch(value[:MAX_HEADER_CHARACTERS].strip())
            ):
                price, currency = found[2], (found[1] or found[3] or "").upper() or None
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
    costs = f", {price} {currency or ''}".rstrip() if price else ""
    terms = f" (licence: {licence})" if licence else ""
    return PaymentRequired(
        f"{url} {asks}{costs} (HTTP status {status}){terms}",
        url=url,
        status=status,
        price=price,
        currency=currency,
        licence=licence,
        hint="comity never pays; write to the site",
    )


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
