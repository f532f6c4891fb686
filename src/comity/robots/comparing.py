"""Which dialects disagree about a URL, and why."""

from dataclasses import dataclass

from comity.robots.dialects import DIALECTS
from comity.robots.robots import Robots, parse
from comity.robots.values import Match


@dataclass(frozen=True, slots=True)
class Comparison:
    """A URL as every dialect sees it.

    Attributes:
        matches: dialect's name -> its explanation.
    """

    matches: dict[str, Match]

    @property
    def agree(self) -> bool:
        """Whether all give the same verdict."""
        return len({match.allowed for match in self.matches.values()}) == 1

    @property
    def why(self) -> str:
        """One sentence a verdict: who holds it and by which line."""
        parts = []
        for allowed in (True, False):
            reasons: dict[str, list[str]] = {}
            for name, match in self.matches.items():
                if match.allowed is allowed:
                    reasons.setdefault(match.why, []).append(name)
            parts += [f"{', '.join(names)}: {why}" for why, names in reasons.items()]
        return "; ".join(parts)


def compare(robots: Robots, url: str, agent: str) -> Comparison:
    """Ask every named dialect about one URL."""
    return Comparison({name: parse(robots.body, name).explain(url, agent) for name in DIALECTS})
