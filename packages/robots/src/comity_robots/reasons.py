"""Why a rule decides, in one plain sentence: what every decision about a fetch says."""

from comity_robots.errors import truncate
from comity_robots.values import Rule

MAX_QUOTED_CHARACTERS = 300  # of a line or path in a sentence


def why(rule: Rule | None, has_group: bool, path: str, agent: str, always: bool) -> str:
    if len(path) > MAX_QUOTED_CHARACTERS:
        path = quoted(path)
    if always:
        return "robots.txt itself may always be fetched"
    if rule is None:
        if not has_group:
            return f"no group of the file applies to {agent}, so everything is allowed"
        return f"no rule for {agent} matches {path}, so it is allowed"
    if not rule.pattern:
        return f"line {rule.line}, {quoted(rule.text)!r}, has no path, so it disallows nothing"
    return f"line {rule.line}, {quoted(rule.text)!r}, {'allows' if rule.allow else 'disallows'} {path}"


def quoted(text: str) -> str:
    """Words of a site as a sentence quotes them."""
    return truncate(text, MAX_QUOTED_CHARACTERS)
