"""URLs in one normal form: what WHATWG's URL standard makes of them, without fragment and without credentials.

It decides which texts are the same http or https URL and what a reference on a page points to; it never resolves a
name and never contacts anything. ada-url is the judge of every URL; docs/urls.md lists what the normal form removes
and what it keeps.
"""

from __future__ import annotations

from ada_url import URL

from comity.errors import InvalidURL

_SCHEMES = ("http://", "https://")
_SCHEME_MARKS = str.maketrans("", "", "+-.")


def _scalars(text: str) -> str:
    """The text as the standard receives it: a lone surrogate is U+FFFD (Web IDL, USVString)."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _judge(reference: str, base: str | None) -> str | None:
    """The normal form by ada-url, None where there is none."""
    try:
        href = URL(_scalars(reference), None if base is None else _scalars(base)).href
    except ValueError:
        return None
    if not href.startswith(_SCHEMES):
        return None
    mark = href.find("#")
    if mark >= 0:
        href = href[:mark]
    start = href.index("//") + 2
    at = href.rfind("@", start, href.index("/", start))
    return href if at < 0 else href[:start] + href[at + 1 :]


def normalise(url: str) -> str:
    """The normal form of an absolute http or https URL (WHATWG URL, 4.4; fragment and userinfo removed).

    Raises:
        InvalidURL: the text is not an absolute http or https URL with a valid host.
    """
    href = _judge(url, None)
    if href is None:
        raise _invalid(url)
    return href


def join(base: str, reference: str) -> str | None:
    """The normal form of what `reference` points to on a page at `base` (a URL in normal form).

    None where that is not http or https, or is no valid URL at all.
    """
    return _judge(reference, base)


def origin(url: str) -> str:
    """`scheme://host[:port]`, without the scheme's default port (WHATWG URL, 4.7).

    Raises:
        InvalidURL: as `normalise`.
    """
    href = normalise(url)
    return href[: href.index("/", 8)]


def host(url: str) -> str:
    """The host, lower case, without port; an IPv6 address keeps its brackets.

    Raises:
        InvalidURL: as `normalise`.
    """
    authority = origin(url).partition("://")[2]
    return authority[: authority.index("]") + 1] if authority.startswith("[") else authority.partition(":")[0]


def path_and_query(url: str) -> str:
    """What follows the origin in the normal form: `/path` or `/path?query`; the text robots.txt rules are matched with.

    Raises:
        InvalidURL: as `normalise`.
    """
    href = normalise(url)
    return href[href.index("/", 8) :]


def is_http(url: str) -> bool:
    """True where the text is an absolute http or https URL with a valid host: where `normalise` would not raise."""
    return _judge(url, None) is not None


def _invalid(url: str) -> InvalidURL:
    text = url if len(url) <= 200 else url[:200] + "..."
    scheme, colon, _ = url.strip().partition(":")
    named = bool(colon) and scheme.isascii() and scheme.translate(_SCHEME_MARKS).isalnum()
    if not url.strip():
        what = "an empty text is no URL"
    elif not named:
        what = f"{text!r} is not absolute: it has no scheme"
    elif scheme.lower() not in ("http", "https"):
        what = f"{text!r} is not http or https"
    else:
        what = f"{text!r} has no valid host or port"
    bare = (
        text.strip() if not named and text.strip(" /.") and not text.strip().startswith(("/", ".")) else "example.com/"
    )
    return InvalidURL(what, url=url, hint=f"write it whole: https://{bare}")
