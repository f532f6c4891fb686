"""The request for a robots.txt of a wrapped library: its headers, its limits, what is read of its answer."""

import time
from collections.abc import AsyncIterable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from comity.errors import FetchError
from comity.net.decoding import ACCEPTED, decoder_for
from comity.net.response import Response
from comity.policy import Policy
from comity_pages import urls
from comity_pages.urls import Url

LONGEST: Final = 1024 * 1024  # bytes of robots.txt that are read (RFC 9309, 2.5: at least 500 KiB)
REUSABLE: Final = ("basic ", "bearer ", "license ")
"""Schemes whose credentials hold for more than one URL (RFC 7617, RFC 6750, RSL)."""
MAX_RATIO: Final = 1000.0  # decoded bytes for one received; LONGEST is the limit that counts


def asked_with(
    policy: Policy, url: Url, conditions: Mapping[str, str], cause: str, authorization: str | None
) -> dict[str, str]:
    """The headers of a wrapped library's request for a robots.txt: only codings that are undone here, within bounds.

    Args:
        cause, authorization: URL and Authorization of the request that needs it. What opens the page opens the
            robots.txt of its origin too; no other origin is told, and no other header goes with it.
    """
    headers = {"User-Agent": policy.agent, "Accept": "*/*", "Accept-Encoding": ACCEPTED, **conditions}
    if authorization and authorization.lower().startswith(REUSABLE) and url.origin == urls.origin(cause):
        headers["Authorization"] = authorization
    return headers


@contextmanager
def no_answer(url: str, *errors: type[Exception]) -> Iterator[None]:
    """In the block, these errors of a wrapped library mean that no answer came."""
    try:
        yield
    except errors as error:
        raise FetchError(str(error) or type(error).__name__, url=url) from error


class RobotsBody:
    """The start of a robots.txt as it comes in through a wrapped library; RFC 9309, 2.5, lets the rest be ignored.

    Args:
        headers: of the answer, names in any case.

    Raises:
        FetchError: it is in a content coding that was not asked for, or damaged.
    """

    def __init__(self, url: str, status: int, headers: Mapping[str, str]) -> None:
        codings = [value for name, value in headers.items() if name.lower() == "content-encoding"]
        read = 200 <= status < 300  # no other body is looked at
        self._decoder = decoder_for(codings, url, MAX_RATIO) if read else None
        self._content = bytearray()
        self._received = 0

    @property
    def full(self) -> bool:
        """Whether no more is wanted."""
        return max(self._received, len(self._content)) >= LONGEST

    def take(self, part: bytes) -> None:
        """A part of it, as it was sent."""
        self._received += len(part)
        room = LONGEST - len(self._content)
        self._content += part[:room] if self._decoder is None else b"".join(self._decoder.feed(part, room))[:room]

    def end(self) -> bytes:
        """All that is wanted has come."""
        if self._decoder is not None and not self.full:
            self._decoder.close()
        return bytes(self._content)


def read_answer(url: str, status: int, headers: Mapping[str, str], parts: Iterable[bytes], deadline: float) -> Response:
    """The answer of a wrapped library whose body comes in parts, undecoded. Errors as for RobotsBody.

    Raises:
        TimeoutError: they come so slowly that they are given up.
    """
    body = RobotsBody(url, status, headers)
    for part in parts:
        body.take(part)
        if body.full:
            break
        if time.monotonic() > deadline:
            raise TimeoutError
    return Response(url=url, status=status, headers=headers, body=body.end(), truncated=body.full)


async def read_answer_async(url: str, status: int, headers: Mapping[str, str], parts: AsyncIterable[bytes]) -> Response:
    """The same; the deadline is kept further up."""
    body = RobotsBody(url, status, headers)
    async for part in parts:
        body.take(part)
        if body.full:
            break
    return Response(url=url, status=status, headers=headers, body=body.end(), truncated=body.full)
