"""URLs by WHATWG rules (ada-url)."""

import ada_url

from comity.errors import InvalidURL


def normalise(url: str) -> str:
    try:
        parsed = ada_url.URL(url)
    except (ValueError, TypeError, UnicodeError):
        parsed = None
    if parsed is None or parsed.protocol not in ("http:", "https:") or not parsed.hostname:
        raise InvalidURL(
            f"{url!r} is not an absolute http or https URL", url=str(url), hint="write for example https://example.com/"
        )
    parsed.hash = ""
    parsed.username = parsed.password = ""
    return str(parsed.href)


def join(base: str, reference: str) -> str | None:
    try:
        return normalise(ada_url.join_url(base, reference))
    except (ValueError, UnicodeError):
        return None


def origin(url: str) -> str:
    end = url.find("/", url.find("://") + 3)
    return normalise(url if end < 0 else url[:end]).rstrip("/")


def host(url: str) -> str:
    return str(ada_url.URL(url).hostname)
