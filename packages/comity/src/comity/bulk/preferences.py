"""Stated preferences of rows: what the file in force states about the use of what the agent gets.

Few files state any, and most of these for all paths alike; what they state is asked of `comity_robots` once a file.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from comity.bulk.capture_rules import CaptureRules
from comity.bulk.columns import PREFERENCES, USAGE
from comity.policy import Policy
from comity_robots import parse
from comity_robots.robots_usage import for_agent

_NOT_ASKED: Final = -1
_BY_PATH: Final = -2
UNKNOWN: Final = PREFERENCES.index("unknown")


class StatedPreferences:
    """What files state, by agent, capture and purpose, as places in PREFERENCES."""

    def __init__(self, capture_rules: CaptureRules, policies: list[Policy]) -> None:
        self._capture_rules, self._policies = capture_rules, policies
        self._places = np.full((len(policies), len(capture_rules.source), len(USAGE)), _NOT_ASKED, np.int8)

    def of(self, has: Any, located: Any, codes: Any, free: Any, url_of: Callable[[Any], list[str]]) -> Any:
        """By agent and purpose what is stated for each row; None where no file that is asked about states anything.

        Args:
            has: by capture, whether its file states anything.
            located: by row, the capture.
            codes, free: by agent and row the outcome, and by outcome whether the agent may have it by the file's rules;
                preferences for other rows are unknown.
            url_of: gives the normal forms of rows.
        """
        if not has.any():
            return None
        rows = np.flatnonzero(np.append(has, False)[np.maximum(located, -1)])
        if not len(rows):
            return None
        owners = located[rows]
        for capture in np.unique(owners).tolist():
            if self._places[0, capture, 0] == _NOT_ASKED:
                self._ask(capture)
        found = np.full((len(self._policies), len(USAGE), len(located)), UNKNOWN, np.int8)
        for number, policy in enumerate(self._policies):
            own = free[codes[number][rows]]
            found[number][:, rows[own]] = self._places[number][owners[own]].T
            odd = np.flatnonzero(found[number][0] == _BY_PATH)
            if not len(odd):
                continue
            odd = odd[np.argsort(located[odd], kind="stable")]
            for own in np.split(odd, np.flatnonzero(np.diff(located[odd])) + 1):
                capture = int(located[own[0]])
                stated = for_agent(parse(self._capture_rules.body(capture), policy.dialect), policy.asked_as)
                for row, url in zip(own.tolist(), url_of(own), strict=True):
                    found[number][:, row] = _of_url(stated, url)
        return found

    def _ask(self, capture: int) -> None:
        robots = parse(self._capture_rules.body(capture), self._policies[0].dialect)
        for number, policy in enumerate(self._policies):
            stated = for_agent(robots, policy.asked_as)
            self._places[number, capture] = _BY_PATH if stated.by_path else _of_url(stated, "/")


def _of_url(stated: Any, url: str) -> list[int]:
    answer = stated.for_url(url, crawlable=True)
    return [PREFERENCES.index(answer.preference(purpose)) for purpose in USAGE]
