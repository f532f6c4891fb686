"""What came of asking for a robots.txt: one value for every HTTP outcome.

RFC 9309, 2.3.1 knows four: the file was read, it is unavailable (4xx), it is unreachable (5xx, 429, network), or its
body holds nothing that can be parsed. This module sorts; it never decides what follows (see decision.py).
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from comity.robots import Robots, parse

Kind = Literal["read", "unavailable", "unreachable", "unparsable"]


@dataclass(frozen=True, kw_only=True)
class RobotsResult:
    """The answer to one request for robots.txt, as it will be judged and as evidence.

    Attributes:
        origin: serialised origin the file governs, even where a redirect led elsewhere (RFC 9309, 2.3.1.2).
        url: address that finally answered.
        status: HTTP status, or None where there was no answer.
        error: what went wrong, for people, or None.
        fetched_at: Unix time in seconds.
        redirects: addresses passed on the way.
        headers: response headers, names in lower case.
    """

    origin: str
    url: str
    kind: Kind
    fetched_at: float
    status: int | None = None
    error: str | None = None
    body: bytes = b""
    redirects: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    robots: Robots | None = None

    @cached_property
    def sha256(self) -> str | None:
        """SHA-256 of the body in hex; None where no file was read."""
        return hashlib.sha256(self.body).hexdigest() if self.status and 200 <= self.status < 300 else None

    @classmethod
    def from_response(
        cls,
        origin: str,
        url: str,
        status: int,
        body: bytes,
        *,
        fetched_at: float,
        dialect: str,
        headers: Mapping[str, str] | None = None,
        redirects: tuple[str, ...] = (),
        error: str | None = None,
    ) -> "RobotsResult":
        """Sort an HTTP response by RFC 9309, 2.3.1; a redirect that was not followed to its end is unavailable."""
        robots = None
        kind: Kind
        if 200 <= status < 300:
            robots = parse(body, dialect)
            kind = "read" if robots.parsable else "unparsable"
        elif status == 429 or status >= 500:
            kind = "unreachable"
        else:
            kind = "unavailable"
        return cls(
            origin=origin,
            url=url,
            kind=kind,
            fetched_at=fetched_at,
            status=status,
            error=error,
            body=body if robots is not None else b"",
            redirects=redirects,
            headers=dict(headers or {}),
            robots=robots,
        )

    @classmethod
    def unreachable(
        cls, origin: str, url: str, error: str, *, fetched_at: float, redirects: tuple[str, ...] = ()
    ) -> "RobotsResult":
        """No answer: DNS, connection, TLS, time-out, a body cut short."""
        return cls(origin=origin, url=url, kind="unreachable", fetched_at=fetched_at, error=error, redirects=redirects)
