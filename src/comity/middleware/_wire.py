"""What a wrapped library sends: the URL, which libraries spell in ways of their own, and the signature."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from comity.errors import FetchError
from comity.urls import Url

ROUNDS = 4
FIELDS = ("Signature", "Signature-Input", "Signature-Agent")
Sign = Literal["always", "when_asked", "never"]


class RequestSigning:
    """Signs what a wrapper sends, each hop of a redirect anew; nothing where it has no identity. A copy reads the key
    again.

    Args:
        identity, sign: as of `ClientSettings`.

    Raises:
        InvalidSetting: the folder holds no identity, or its key cannot be used.
    """

    def __init__(self, identity: str | Path | None, sign: Sign) -> None:
        self._given = identity, sign
        self._signing: Any = None
        if identity is not None and sign != "never":
            from comity.signatures.folder import Signing  # late: few programs sign

            self._signing = Signing(Path(identity), time.time(), always=sign == "always")

    def __reduce__(self) -> tuple[Any, ...]:
        return RequestSigning, self._given

    def __call__(self, headers: Any, method: str, url: str) -> None:
        """Put the signature into a request's headers, in the place of that of the hop before."""
        if self._signing is not None:
            for name in FIELDS:
                headers.pop(name, None)
            headers.update(self._signing.headers(method, url, time.time()))

    def again(self, method: str, url: str, status: int, headers: Mapping[str, Any]) -> bool:
        """Whether an answer asks for a signature, so that the request is to be sent once more."""
        return self._signing is not None and method in ("GET", "HEAD") and self._signing.asked(url, status, headers)


def settled(url: str, sent: Callable[[Url], str]) -> Url:
    """The URL to decide about and to send, which is sent by the library as it is.

    Args:
        sent: what the library sends for a URL: the whole URL, with the request target as it goes over the wire.

    Raises:
        InvalidURL
        FetchError: there is none.
    """
    found = Url(url)
    for _ in range(ROUNDS):
        form = sent(found)
        if form == found:
            return found
        found = Url(form)
    raise FetchError(f"the library would send {url} as {form}, which cannot be checked against robots.txt", url=url)


def without_empty_query(url: str) -> str:
    """A URL as libraries send it that leave out a query of no characters."""
    return url[:-1] if url.endswith("?") and url.count("?") == 1 else url
