"""The URL that a wrapped library sends: libraries spell URLs in ways of their own, and what is sent is what counts."""

from collections.abc import Callable

from comity import urls
from comity.errors import FetchError

ROUNDS = 4


def settled(url: str, sent: Callable[[str], str]) -> str:
    """The URL to decide about and to send: in normal form, and sent by the library as it is.

    Args:
        sent: what the library sends for a URL: the whole URL, with the request target as it goes over the wire.

    Raises:
        InvalidURL
        FetchError: there is none.
    """
    found = urls.normalise(url)
    for _ in range(ROUNDS):
        form = sent(found)
        if form == found:
            return found
        found = urls.normalise(form)
    raise FetchError(f"the library would send {url} as {form}, which cannot be checked against robots.txt", url=url)


def without_empty_query(url: str) -> str:
    """A URL in normal form as libraries send it that leave out a query of no characters."""
    return url[:-1] if url.endswith("?") and url.count("?") == 1 else url
