"""A response as it came, with the decision that allowed it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from comity.policy import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """One HTTP response, its body read and decoded from any content coding.

    Attributes:
        url: the URL that answered.
        redirects: the URLs passed on the way to it, oldest first.
        headers: case-insensitive; the first value where a header repeats (`all_headers` has them all).
        decision: why this URL could be fetched.
        fetched_at: Unix time in seconds when the head of the answer arrived.
        elapsed: seconds from sending to the last byte.
        reason, http_version: the rest of the status line as received.
        request_headers: what was sent.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    all_headers: tuple[tuple[str, str], ...]
    body: bytes
    decision: Decision
    fetched_at: float
    elapsed: float
    redirects: tuple[str, ...] = ()
    reason: str = ""
    http_version: str = "1.1"
    request_headers: Mapping[str, str] = field(default_factory=dict)

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
        return self.headers.get("Location") if self.status in (301, 302, 303, 307, 308) else None
