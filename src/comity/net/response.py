"""Responses as they came, with the decision that allowed them."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

from multidict import CIMultiDictProxy

from comity.gate import Go
from comity.net.transport import Answer
from comity.policy import Decision

REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(slots=True, kw_only=True, eq=False)
class Head:
    """What is known when the head of an answer has arrived.

    Attributes:
        url: the URL that answered.
        redirects: the URLs passed on the way to it, oldest first.
        headers: case-insensitive; the first value where a header repeats (`all_headers` has them all).
        go: the gate's permission; `decision` puts it into words.
        fetched_at: Unix time in seconds when the head of the answer arrived.
        reason, http_version: the rest of the status line as received; "" and "1.1" for a copy kept from earlier.
        request_headers: what was sent, in its order; empty for a copy kept from earlier.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    go: Go
    fetched_at: float
    redirects: tuple[str, ...] = ()
    reason: str = ""
    http_version: str = "1.1"
    request_headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def decision(self) -> Decision:
        """Why this URL could be fetched."""
        return self.go.decision

    @property
    def all_headers(self) -> tuple[tuple[str, str], ...]:
        """Every header in the order received."""
        return tuple(self.headers.items())

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def content_type(self) -> str:
        """The media type in lower case, without parameters."""
        return self.headers.get("Content-Type", "").partition(";")[0].strip().lower()

    @property
    def location(self) -> str | None:
        """Where a redirect leads, as the server wrote it; None where this is no redirect."""
        return self.headers.get("Location") if self.status in REDIRECTS else None

    def header_values(self, name: str) -> list[str]:
        """All values of a header that may repeat."""
        if isinstance(self.headers, CIMultiDictProxy):
            return self.headers.getall(name, [])
        return [value for each, value in self.headers.items() if each.lower() == name.lower()]


@dataclass(slots=True, kw_only=True, eq=False)
class Response(Head):
    """One HTTP response, its body read and decoded from any content coding.

    Attributes:
        elapsed: seconds from sending to the last byte.
        from_cache: whether the body is a copy that the server confirmed, or that was still fresh.
    """

    body: bytes
    elapsed: float
    from_cache: bool = False


class StreamedResponse(Head):
    """A response whose body is still to come: `async for part in response.chunks()`."""

    _answer: Answer
    _limit: int

    def chunks(self) -> AsyncIterator[bytes]:
        """The decoded body in parts as they arrive.

        Raises:
            TooLarge, Timeout, FetchError
        """
        return self._answer.chunks(self._limit)
