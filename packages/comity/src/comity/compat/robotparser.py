"""`comity_robots.compat.robotparser`, a replacement for `urllib.robotparser`, with a `read` that fetches politely."""

from typing import TYPE_CHECKING
from urllib.error import URLError

from comity_robots import Dialect
from comity_robots.compat import robotparser
from comity_robots.compat.robotparser import RequestRate

if TYPE_CHECKING:
    from comity import Policy

__all__ = ["RequestRate", "RobotFileParser"]


class RobotFileParser(robotparser.RobotFileParser):
    """One robots.txt: where it is, what it says, when it was read.

    Args:
        url: of the robots.txt itself.
        dialect: how it is read; `draft1996` comes nearest to the standard library.
        policy: agent and allowed addresses for `read`; nothing else of it counts.
    """

    def __init__(self, url: str = "", *, dialect: str | Dialect = "rfc9309", policy: "Policy | None" = None) -> None:
        super().__init__(url, dialect=dialect)
        self.policy = policy

    def read(self) -> None:
        """Fetch the file and parse it; statuses mean what `read_response` says.

        Raises:
            urllib.error.URLError: no answer; an address that is not public is refused so too (`policy` allows more).
            ValueError: the URL is no web address.
        """
        from comity import AddressBlocked, Client, FetchError, Policy, TooManyRedirects

        policy = (self.policy or Policy()).with_changes(mode="ignore", min_interval=0.0)
        try:
            with Client(policy) as client:
                response = client.get(self.url)
        except TooManyRedirects:
            return
        except (AddressBlocked, FetchError) as error:
            raise URLError(str(error)) from error
        self.read_response(response.status, response.body)
