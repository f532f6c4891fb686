"""What a change of a robots.txt means: which agents gained or lost which paths. Text that means the same is no change.

Every pattern of either file stands for the paths it matches; for each a path is tried that no longer pattern matches
by accident. For files without wildcards this finds every change; with wildcards, every change that a pattern's own
paths show.
"""

from dataclasses import dataclass

from comity.robots.agents import token
from comity.robots.robots import Robots
from comity.robots.values import Rule

_FRESH = "\x01"  # occurs in no pattern people write


@dataclass(frozen=True, slots=True)
class Change:
    """Paths that an agent gained or lost.

    Attributes:
        agent: product token; `*` stands for every agent that neither file names.
        pattern: the pattern whose paths changed.
        allowed: the verdict now; it was the other before.
        before, after: the rules that decided and decide; None where none does.
    """

    agent: str
    pattern: str
    allowed: bool
    before: Rule | None
    after: Rule | None


@dataclass(frozen=True, slots=True)
class Diff:
    """What changed in meaning.

    Attributes:
        changes: paths gained or lost, agent by agent.
        delays: agent -> Crawl-delay before and now, where they differ.
        sitemaps_added, sitemaps_removed: Sitemap records.
    """

    changes: tuple[Change, ...]
    delays: dict[str, tuple[float | None, float | None]]
    sitemaps_added: tuple[str, ...]
    sitemaps_removed: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.changes or self.delays or self.sitemaps_added or self.sitemaps_removed)


def diff(old: Robots, new: Robots) -> Diff:
    """Compare two files by meaning, each in its own dialect."""
    agents = {
        token(agent).lower(): token(agent) for robots in (old, new) for group in robots.groups for agent in group.agents
    }
    agents = {"*": "*"} | {name: shown for name, shown in agents.items() if name and "*" not in name}
    changes: list[Change] = []
    delays: dict[str, tuple[float | None, float | None]] = {}
    patterns = list(
        dict.fromkeys(
            rule.pattern for robots in (old, new) for group in robots.groups for rule in group.rules if rule.pattern
        )
    )
    for name, agent in agents.items():
        ask = agent if name != "*" else "\x01nobody"
        if old.crawl_delay(ask) != new.crawl_delay(ask):
            delays[agent] = (old.crawl_delay(ask), new.crawl_delay(ask))
        for pattern in ["/", *patterns]:
            path = _witness(pattern, old, new, ask)
            if path is not None:
                before, after = old.explain(path, ask), new.explain(path, ask)
                change = Change(agent, pattern, after.allowed, before.rule, after.rule)
                if (agent, before.rule, after.rule) not in [(c.agent, c.before, c.after) for c in changes]:
                    changes.append(change)
    return Diff(
        tuple(changes),
        delays,
        tuple(url for url in new.sitemaps if url not in old.sitemaps),
        tuple(url for url in old.sitemaps if url not in new.sitemaps),
    )


def _witness(pattern: str, old: Robots, new: Robots, agent: str) -> str | None:
    """A path of a pattern about which the two files disagree."""
    if not pattern.startswith(("/", "*")):
        return None
    anchored = pattern.endswith("$")
    stem = "/" + (pattern[:-1] if anchored else pattern).lstrip("/")
    for filling in ("", _FRESH):
        path = stem.replace("*", filling)
        for candidate in (path,) if anchored else (path, path + _FRESH):
            if old.allowed(candidate, agent) != new.allowed(candidate, agent):
                return candidate
    return None
