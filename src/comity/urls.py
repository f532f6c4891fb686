"""URLs by the rules that browsers apply (WHATWG): one normal form, joining, origins. Pure; ada-url does the parsing.

The normal form removes what makes no difference to a server (case of scheme and host, default port, dot segments,
the fragment, international host names as punycode, credentials) and keeps what may make one (trailing slash, empty
query, case and encoding of path and query, order of parameters).
"""

import ada_url

from comity.errors import InvalidURL

_SCHEMES = ("http:", "https:")


def normalise(url: str) -> str:
    """The normal form of an absolute http or https URL.

    Raises:
        InvalidURL: it is none, or has no host.
    """
    normal = _normal(url, None) if isinstance(url, str) else None
    if normal is None:
        raise InvalidURL(f"{url!r} is not a web address", url=str(url), hint=f"write it whole: {_suggestion(url)}")
    return normal


def join(base: str, reference: str) -> str | None:
    """A reference found at `base`, as a whole URL in normal form; None where it is no web address.

    Args:
        base: a URL in normal form.
    """
    return _normal(reference, base)


def origin(url: str) -> str:
    """The serialised origin of a URL in normal form: `scheme://host`, with the port where it is not the default.

    Raises:
        InvalidURL: the URL is not in normal form; see `normalise`.
    """
    end = url.find("/", 8)
    if end < 0 or not url.startswith(("http://", "https://")):
        return origin(normalise(url))
    return url[:end]


def host(url: str) -> str:
    """The host of a URL in normal form, without the port.

    Raises:
        InvalidURL: the URL is not in normal form; see `normalise`.
    """
    authority = origin(url).partition("://")[2]
    if authority.endswith("]"):
        return authority
    head, colon, port = authority.rpartition(":")
    return head if colon and port.isdigit() else authority


def _normal(url: str, base: str | None) -> str | None:
    try:
        parsed = ada_url.URL(url, base) if base is not None else ada_url.URL(url)
    except (ValueError, UnicodeError):
        return None
    if parsed.protocol not in _SCHEMES or not parsed.hostname:
        return None
    if parsed.username or parsed.password:
        parsed.username = parsed.password = ""
    if "#" in parsed.href:
        parsed.hash = ""
    return str(parsed.href)


def _suggestion(url: object) -> str:
    text = str(url).strip()
    plain = bool(text) and "://" not in text and ":" not in text and not text.startswith(("/", "."))
    return f"https://{text}" if plain else "https://example.com/"
