"""RSL 1.0: where a site's licence terms are: `License:` in robots.txt, `Link` headers, HTML links.

A licence is reported with its source; following the link, and what the terms are worth, is the caller's business.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from comity.signals.usage.statements import Licence, Origin

MEDIA_TYPE: Final = "application/rsl+xml"
MAX_LICENCES: Final = 64
"""Licences kept of one place."""
MAX_URL: Final = 2_083
"""Characters kept of one licence's URL."""
MAX_CHARS: Final = 16_384
"""Characters read of one Link header."""

_TARGET: Final = re.compile(r"[\s,]*<([^<>]*)>")
_PARAMETER: Final = re.compile(r'\s*;\s*([^\s=;,"]+)(?:\s*=\s*("(?:[^"\\]|\\.)*"|[^\s;,"]*))?')
_NEXT: Final = re.compile(r"[;,]")


def is_absolute(url: str) -> bool:
    """Whether the URL carries its own scheme and host."""
    return url[:8].lower().startswith(("http://", "https://"))


def from_link_header(value: str, url: str | None = None) -> Iterator[Licence]:
    """The licences of one `Link` header (RFC 8288): those with rel=license and RSL's media type."""
    for target, parameters in _links(value[:MAX_CHARS]):
        relations = parameters.get("rel", "").lower().split()
        if "license" in relations and _is_rsl(parameters.get("type", "")):
            yield _licence(target, url, "header", "Link")


def from_links(links: Iterable[tuple[str, str, str]], url: str | None = None) -> tuple[Licence, ...]:
    """The licences among a page's `<link>` elements, given as rel, type and href."""
    found: list[Licence] = []
    for rel, media_type, href in links:
        if "license" in rel.lower().split() and _is_rsl(media_type) and len(found) < MAX_LICENCES:
            found.append(_licence(href, url, "link", "license"))
    return tuple(found)


def _is_rsl(media_type: str) -> bool:
    return media_type.partition(";")[0].strip().lower() == MEDIA_TYPE


def _licence(target: str, base: str | None, origin: Origin, name: str) -> Licence:
    target = target.strip()[:MAX_URL]
    if base is not None and not is_absolute(target):
        from comity import urls

        target = urls.join(base, target) or target
    note = "" if is_absolute(target) else "not an absolute URL"
    return Licence(target, "rsl", origin, name, note=note)


def _links(value: str) -> Iterator[tuple[str, dict[str, str]]]:
    position = 0
    while found := _TARGET.match(value, position):
        position = found.end()
        parameters: dict[str, str] = {}
        while position < len(value) and value[position : position + 1] != ",":
            if parameter := _PARAMETER.match(value, position):
                text = parameter[2] or ""
                if text.startswith('"'):
                    text = re.sub(r"\\(.)", r"\1", text[1:-1])
                parameters.setdefault(parameter[1].lower(), text)  # the first one counts (RFC 8288, 3.3)
                position = parameter.end()
            else:
                skip = _NEXT.search(value, position + 1)
                position = skip.start() if skip else len(value)
        yield found[1], parameters
