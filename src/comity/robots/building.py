"""Writing a robots.txt: from plain values to text that means them. Refuses what could not be read back."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from comity.errors import InvalidSetting
from comity.robots.dialects import Dialect
from comity.robots.robots import Robots, parse


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupText:
    """A group to write.

    Attributes:
        agents: product tokens, or `*`.
        rules: (allow, pattern) in the order in which they are written; without any, all is allowed.
        crawl_delay: seconds, or None for no such line.
    """

    agents: Sequence[str]
    rules: Sequence[tuple[bool, str]] = ()
    crawl_delay: float | None = None


def build(
    groups: Iterable[GroupText],
    *,
    sitemaps: Iterable[str] = (),
    comment: str = "",
    dialect: str | Dialect = "rfc9309",
) -> Robots:
    """A new robots.txt.

    Args:
        sitemaps: absolute URLs.
        comment: put at the top, line by line.

    Raises:
        InvalidSetting: an agent, a pattern or a URL could not be read back as what it is meant to be.
    """
    parts = []
    if comment:
        parts.append("".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines()))
    parts.extend(_group_text(group) for group in groups)
    named = [_sitemap_line(url) for url in sitemaps]
    if named:
        parts.append("".join(named))
    return parse("\n".join(parts), dialect)


def rule_line(allow: bool, pattern: str) -> str:
    """An Allow or Disallow line without its end.

    Raises:
        InvalidSetting: the pattern does not begin with `/` or `*`, or holds what ends a line or begins a comment.
    """
    if pattern and not pattern.startswith(("/", "*")):
        raise InvalidSetting(f"pattern: {pattern!r} matches nothing; begin it with '/'")
    if _breaks(pattern) or pattern != pattern.strip():
        raise InvalidSetting(f"pattern: {pattern!r} cannot be written; percent-encode '#', white space and line ends")
    return f"{'Allow' if allow else 'Disallow'}: {pattern}".rstrip()


def agent_line(agent: str) -> str:
    """A User-agent line without its end.

    Raises:
        InvalidSetting: it is empty or would be read as something else.
    """
    if not agent.strip() or agent != agent.strip() or _breaks(agent) or "/" in agent:
        raise InvalidSetting(f"agent: {agent!r} is not a product token; write for example 'MyBot' or '*'")
    return f"User-agent: {agent}"


def _group_text(group: GroupText) -> str:
    if not group.agents:
        raise InvalidSetting("agents: a group needs at least one; '*' stands for all")
    lines = [agent_line(agent) for agent in group.agents]
    if group.crawl_delay is not None:
        if not 0 <= group.crawl_delay < float("inf"):
            raise InvalidSetting(f"crawl_delay: {group.crawl_delay!r} is not a number of seconds")
        lines.append(f"Crawl-delay: {group.crawl_delay:.15g}")
    # Without any rule a group would run into the next one; an empty Disallow forbids nothing (RFC 9309, 2.2.2).
    lines.extend(rule_line(allow, pattern) for allow, pattern in group.rules or ((False, ""),))
    return "".join(f"{line}\n" for line in lines)


def _sitemap_line(url: str) -> str:
    if not url.startswith(("http://", "https://")) or _breaks(url) or url != url.strip():
        raise InvalidSetting(f"sitemap: {url!r} is not an absolute URL")
    return f"Sitemap: {url}\n"


def _breaks(text: str) -> bool:
    return any(char in text for char in "#\r\n\0")
