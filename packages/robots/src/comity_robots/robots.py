"""`parse`, and Robots: a parsed robots.txt with all that can be asked of it."""

from typing import TYPE_CHECKING

from comity_robots.dialects import Dialect
from comity_robots.dialects import dialect as dialect_of
from comity_robots.errors import InvalidSetting
from comity_robots.octets import octets
from comity_robots.parsed import MAX_AGENTS_KEPT, Parsed

if TYPE_CHECKING:
    from comity_robots.explain import Match
    from comity_robots.lint import Finding
    from comity_robots.robots_usage import RobotsUsage
    from comity_robots.usage import Usage


def parse(body: bytes | str, dialect: str | Dialect = "rfc9309", *, max_bytes: int | None = None) -> "Robots":
    """Read a robots.txt. Never fails, whatever the content.

    Args:
        body: the file; text is taken as UTF-8.
        dialect: how it is read; see `Dialect`.
        max_bytes: octets that are parsed, instead of the dialect's limit; the rest is kept but ignored
            (RFC 9309, 2.5), and `truncated` says so.

    Raises:
        InvalidSetting: there is no such dialect, or `max_bytes` is negative.
        TypeError: the body is neither octets nor text.
    """
    if max_bytes is not None and max_bytes < 0:
        raise InvalidSetting(f"max_bytes: {max_bytes} is less than 0; leave it out for the dialect's limit")
    return Robots(octets(body), dialect_of(dialect), max_bytes)


class Robots(Parsed):
    """A parsed robots.txt; made by `parse`.

    Attributes:
        body: the file as it came.
        dialect: how it is read.
    """

    __slots__ = ("_usages",)

    def __init__(self, body: bytes, dialect: Dialect, max_bytes: int | None = None) -> None:
        super().__init__(body, dialect, max_bytes)
        self._usages: dict[str, RobotsUsage] = {}

    def explain(self, url: str, agent: str) -> "Match":
        """Why `agent` may fetch `url`, or not: the rule that decides, its line, and the rules that it overrides."""
        from comity_robots.explain import explain

        return explain(self, url, agent)

    def usage(self, url: str, agent: str) -> "Usage":
        """How the file says that the content of a URL may be used: each statement with its line."""
        from comity_robots.robots_usage import for_agent

        crawlable = self.allowed(url, agent)  # it says what is wrong with the question
        stated = self._usages.get(agent)
        if stated is None:
            if len(self._usages) >= MAX_AGENTS_KEPT:
                self._usages.clear()
            stated = self._usages[agent] = for_agent(self, agent)
        return stated.for_url(url, crawlable=crawlable)

    def lint(self) -> "tuple[Finding, ...]":
        """What is wrong, useless or surprising in the file, with line, severity and a suggested fix."""
        from comity_robots.lint import lint

        return lint(self)
