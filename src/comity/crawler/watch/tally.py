"""What monitors count beside the statistics: requests by answer, refusals by verdict and by rule, commits by time.

All of it is bounded, whatever sites send: kinds of answers and verdicts are few, rules are counted up to a number.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from comity import urls

ANSWERS: Final = 10  # hundreds of an HTTP status
MOST_RULES: Final = 1000  # counted one by one
MOST_TEXT: Final = 300  # characters of a rule
COMMIT_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds


class Rule(NamedTuple):
    """A rule that refused: a line of a host's robots.txt, or where no line did, the verdict."""

    host: str
    line: int | None
    text: str


OTHERS: Final = Rule("others", None, "")


class Tally:
    """Counts of one crawl over all its runs, except `rules`, which are those of this run.

    Attributes:
        content, robots: requests by the hundred of their status, 0 for no answer.
        refused: URLs by verdict.
        rules: URLs by rule; those of further rules are counted for OTHERS.
    """

    __slots__ = ("content", "refused", "robots", "rules")

    def __init__(self, kept: Sequence[Any] = ()) -> None:
        """The counts of an earlier run, if there was one, go on: `kept` is what `to_list` gave."""
        content, robots, refused = kept or ((), (), {})
        self.content: list[int] = list(content) or [0] * ANSWERS
        self.robots: list[int] = list(robots) or [0] * ANSWERS
        self.refused: Counter[str] = Counter(refused)
        self.rules: dict[tuple[str, int | None, str], int] = {}

    def refusal(self, record: Mapping[str, Any]) -> None:
        """A URL was refused; `record` as it goes to the output."""
        decision = record["decision"]
        verdict, text = decision["verdict"], decision["rule"]
        self.refused[verdict] += 1
        rules = self.rules
        rule: tuple[str, int | None, str]
        rule = (urls.host(record["url"]), decision["line"], (verdict if text is None else text)[:MOST_TEXT])
        before = rules.get(rule)
        if before is None and len(rules) >= MOST_RULES:
            rule = OTHERS
            before = rules.get(rule)
        rules[rule] = 1 + (before or 0)

    def requests(self) -> dict[tuple[str, str], int]:
        """Requests by what was asked for, `content` or `robots`, and the answer: `2xx` and so on, `none` for none."""
        return {
            (purpose, f"{hundred}xx" if hundred else "none"): count
            for purpose, counts in (("content", self.content), ("robots", self.robots))
            for hundred, count in enumerate(counts)
            if count
        }

    def to_list(self, refusals: Sequence[Mapping[str, Any]]) -> list[Any]:
        """What is to be remembered, as JSON can hold it, with refusals that are counted only later."""
        more = Counter(record["decision"]["verdict"] for record in refusals)
        return [self.content, self.robots, self.refused + more]

    def copy(self) -> "Tally":
        """The counts that are remembered, as they are now."""
        return Tally((self.content, self.robots, self.refused))


class Commits:
    """How long commits took: how many up to each of COMMIT_BOUNDS from the one before, or longer; seconds in all."""

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        self.counts = [0] * (len(COMMIT_BOUNDS) + 1)
        self.seconds = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(COMMIT_BOUNDS, seconds)] += 1
        self.seconds += seconds
