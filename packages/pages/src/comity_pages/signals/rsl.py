"""RSL 1.0: where a site's licence terms are: `License:` in robots.txt, `Link` headers, HTML links.

A licence is reported with its source; following the link, and what the terms are worth, is the caller's business.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

from comity_pages import urls
from comity_pages.signals.link_header import parse_link_headers, relation_types
from comity_robots.usage.statements import MAX_LICENCES, Licence, Origin, located

MEDIA_TYPE: Final = "application/rsl+xml"
MAX_CHARS: Final = 16_384  # characters read of one Link header


def from_link_header(value: str, url: str | None = None) -> Iterator[Licence]:
    """The licences of one `Link` header (RFC 8288): those with rel=license and RSL's media type."""
    for link in parse_link_headers([value[:MAX_CHARS]]):
        # A link with an anchor is about something other than this page (RFC 8288, 3.2).
        if "license" in link.rel and _is_rsl(link.parameters.get("type", "")) and not link.parameters.get("anchor"):
            yield _licence(link.reference, url, "header", "Link")


def from_links(links: Iterable[tuple[str, str, str]], url: str | None = None) -> tuple[Licence, ...]:
    """The licences among a page's links, given as rel, type and href, such as `Page.license_links`."""
    found: list[Licence] = []
    for rel, media_type, href in links:
        if "license" in relation_types(rel) and _is_rsl(media_type) and len(found) < MAX_LICENCES:
            found.append(_licence(href, url, "link", "license"))
    return tuple(found)


def _is_rsl(media_type: str) -> bool:
    return media_type.partition(";")[0].strip().lower() == MEDIA_TYPE


def _licence(target: str, base: str | None, origin: Origin, name: str) -> Licence:
    url, note = located(target, None if base is None else partial(urls.join, base))
    return Licence(url, "rsl", origin, name, note=note)
