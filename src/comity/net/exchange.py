"""Exchange: one request that was sent and what came of it, as evidence. It decides nothing."""

from dataclasses import dataclass

from comity.policy import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request on the wire, an attempt that failed included. Times are the client's monotonic clock.

    Attributes:
        origin: for a robots.txt, the origin that it was asked for; None for everything else.
        decision: what allowed the request; None for a robots.txt, which is asked without asking.
        paced: whether the request waited for its host's turn; a redirect of a robots.txt does not.
        sent: when the request was handed to the network.
        head: when status and headers had arrived; None where they never did.
        end: when the last byte had arrived or the request was given up.
        body: the decoded body; None where it did not arrive whole.
        retry_after: seconds that a 429 or 503 asked us to stay away.
    """

    url: str
    method: str
    origin: str | None
    decision: Decision | None
    paced: bool
    sent: float
    head: float | None
    end: float
    status: int | None
    body: bytes | None
    error: str | None
    retry_after: float | None
