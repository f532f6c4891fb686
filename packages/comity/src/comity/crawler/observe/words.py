"""What becomes of a URL, and what a host does or waits for: each has one name, which the terminal, the commands, the
dashboard and the report print. docs/glossary.md says what the names mean."""

from collections.abc import Mapping
from typing import Final

from comity.policy.decision import UNREACHABLE

QUEUED, KEPT, REFUSED, FAILED, SKIPPED = "queued", "kept", "refused", "failed", "skipped"
NO_ROBOTS: Final = "waiting for robots.txt"
URL_WORDS: Final[tuple[str, ...]] = (KEPT, QUEUED, NO_ROBOTS, REFUSED, FAILED)
"""What becomes of the URLs of a crawl, in the order in which they are counted."""
ANSWERED: Final = "answered"  # kept pages, redirects and sitemaps together
WAITS: Final = {
    "interval": "interval",
    "retry_after": "Retry-After",
    "back_off": "back-off",
    "circuit_open": "circuit open",
    "visiting_hours": "visiting hours",
    "stopped": "stopped",
}
HOST_WORDS: Final[Mapping[str, str]] = {
    "robots": "robots.txt",
    "fetching": "fetching",
    "ready": "ready",
    **WAITS,
    "limit": "limit reached",
    "unreachable": UNREACHABLE,
    "drained": "finished",
}
"""By `HostState`."""
