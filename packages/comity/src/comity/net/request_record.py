"""RequestRecord: one request that was sent and what came of it, as evidence. It decides nothing."""

from collections.abc import Mapping
from dataclasses import dataclass

from comity.digests import sha256_of
from comity.errors import ComityError
from comity.gate import FetchRobots, Go
from comity.http_rules import REDIRECTS, retry_delay
from comity.policy import Decision


@dataclass(slots=True, eq=False)
class RequestRecord:
    """One request on the wire, an attempt that failed included. Times are the client's monotonic clock.

    Attributes:
        cause: what permitted the request: Go for content, FetchRobots for a robots.txt, which is asked without asking.
        key: what shares one pace with the request.
        interval: seconds that had to lie between the answer before and `sent`; None where the request takes no part
            in the pacing of its host.
        sent: when the request was handed to the network.
        head: when status and headers had arrived; None where they never did.
        end: when the last byte had arrived or the request was given up.
        body: the decoded body; None where it did not arrive whole, or was handed out in parts.
        sha256: of the body, in hex.
        error: what went wrong, in words.
        location: where a redirect leads, as the server wrote it; not of a robots.txt.
        signed: thumbprint of the key that signed it; None where it was not signed.
        retry_after: seconds that the answer asked us to stay away.
    """

    cause: Go | FetchRobots
    method: str
    url: str
    sent: float
    end: float = 0.0
    head: float | None = None
    status: int | None = None
    body: bytes | None = None
    error: str | None = None
    location: str | None = None
    signed: str | None = None
    retry_after: float | None = None
    _sha256: str | None = None

    @property
    def key(self) -> str:
        return self.cause.key

    @property
    def origin(self) -> str | None:
        """For a robots.txt, the origin that it was asked for; None for everything else."""
        return self.cause.origin if isinstance(self.cause, FetchRobots) else None

    @property
    def decision(self) -> Decision | None:
        """What allowed the request; None for a robots.txt."""
        return self.cause.decision if isinstance(self.cause, Go) else None

    @property
    def interval(self) -> float | None:
        return self.cause.decision.delay if isinstance(self.cause, Go) else self.cause.interval

    def headers_received(self, status: int, headers: Mapping[str, str], now: float, wall: float) -> None:
        """Status and headers have arrived; `wall` is the Unix time then."""
        self.status, self.head = status, now
        if status in REDIRECTS and isinstance(self.cause, Go):
            self.location = headers.get("Location")
        self.retry_after = retry_delay(status, headers, wall)

    @property
    def sha256(self) -> str | None:
        if self._sha256 is None and self.body is not None:
            self._sha256 = sha256_of(self.body)
        return self._sha256

    def finished(
        self,
        now: float,
        *,
        body: bytes | None = None,
        sha256: str | None = None,
        error: BaseException | None = None,
    ) -> None:
        """The last byte has arrived, or nothing more will. `sha256`: of the body, where it is known already."""
        self.end, self.body, self._sha256 = now, body, sha256
        if error is not None:
            self.error = (error.detail if isinstance(error, ComityError) else str(error)) or "cancelled"
