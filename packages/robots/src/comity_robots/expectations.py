"""Who may fetch what, as somebody wants it: one expectation a line, AGENT, `yes` or `not`, PATH or URL.

`#` begins a comment, `;` ends an expectation, and `*` is any agent that the robots.txt does not name.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from comity_robots.agents import NOBODY
from comity_robots.robots import Robots
from comity_robots.values import Rule

_ANSWERS: Final = {"yes": True, "no": False, "not": False}
_COMMENT: Final = re.compile(r"(?:^|\s)#.*")


class NoExpectation(ValueError):
    """A line is not an expectation.

    Attributes:
        line: its number, from 1; `text`: what it says.
    """

    def __init__(self, line: int, text: str) -> None:
        super().__init__(f"{text[:200]!r} is not an expectation")
        self.line = line
        self.text = text


@dataclass(frozen=True, slots=True)
class Expectation:
    """Whether an agent may fetch a path, as somebody wants it.

    Attributes:
        line: of the text, from 1.
    """

    line: int
    agent: str
    path: str
    allowed: bool

    def answer(self, robots: Robots, url: str) -> tuple[bool, Rule | None, str]:
        """The verdict, the rule that decides and one sentence; `url` is what `path` stands for. Raises InvalidURL."""
        allowed, rule, _, why = robots.decide_with_reason(url, NOBODY if self.agent == "*" else self.agent)
        return allowed, rule, why.replace(NOBODY, "everybody")


def read(text: str) -> Iterator[Expectation]:
    """The expectations of a text, line by line. Raises NoExpectation: a line is none."""
    for number, line in enumerate(text.split("\n"), 1):
        for part in re.split(r";(?:\s|\Z)", _COMMENT.sub("", line)):
            words = part.split()
            if not words:
                continue
            # The first answer ends the name: two expectations that nothing separates are none.
            said = next((place for place, word in enumerate(words) if place and word.lower() in _ANSWERS), 0)
            if not said or said != len(words) - 2:
                raise NoExpectation(number, part.strip())
            yield Expectation(number, " ".join(words[:said]), words[-1], _ANSWERS[words[said].lower()])
