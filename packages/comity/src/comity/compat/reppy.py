"""reppy's class and method names with a `fetch` that is polite; all else is `comity_robots.compat.reppy`.

HTTP statuses mean what they meant in reppy.
"""

from typing import TYPE_CHECKING

import comity
from comity_robots import Dialect
from comity_robots.compat import reppy
from comity_robots.compat.reppy import MAX_AGE_SECONDS, Agent

if TYPE_CHECKING:
    from comity import Policy

__all__ = ["Agent", "AllowAll", "AllowNone", "Robots"]


class Robots(reppy.Robots):
    """A parsed robots.txt; made by `Robots.parse` or `Robots.fetch`. Arguments: see `comity_robots.compat.reppy`."""

    @classmethod
    def fetch(
        cls,
        url: str,
        *,
        life: float = MAX_AGE_SECONDS,
        dialect: str | Dialect = "rfc9309",
        policy: "Policy | None" = None,
    ) -> "Robots":
        """Fetch a robots.txt: 401 and 403 disallow everything, other 4xx allow everything.

        Args:
            url: of the robots.txt; see `robots_url`.
            life: seconds that the answer counts as fresh.
            policy: agent and allowed addresses; nothing else of it counts.

        Raises:
            InvalidURL, AddressBlocked, FetchError: no answer, or one that says nothing, such as 503.
        """
        policy = (policy or comity.Policy()).with_changes(mode="ignore", min_interval=0.0)
        with comity.Client(policy) as client:
            response = client.get(url)
        expires = response.fetched_at + life
        if response.ok:
            return cls(url, response.body, expires, dialect=dialect)
        if response.status in (401, 403):
            return AllowNone(url, expires)
        if 400 <= response.status < 500:
            return AllowAll(url, expires)
        raise comity.FetchError(
            f"{url} returned HTTP status {response.status}",
            url=url,
            hint="ask again later; until then fetch nothing",
        )


class AllowNone(reppy.AllowNone, Robots):
    """Nothing may be fetched, but the robots.txt itself (RFC 9309, 2.2.2)."""


class AllowAll(reppy.AllowAll, Robots):
    """Everything may be fetched."""
