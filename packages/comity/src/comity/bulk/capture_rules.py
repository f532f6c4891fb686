"""What each capture says before any URL is known: rules to be read, or one outcome for every URL.

While a site is unreachable its last good copy stands in, as the policy says. What a status means is decided by
`comity.policy`.
"""

from typing import Any

import numpy as np

from comity.bulk import outcomes
from comity.bulk.captures import Captures
from comity.policy import Policy, stale_if_error


class CaptureRules:
    """What holds by each capture.

    Attributes:
        entries: 0 where rules are read, else the answer for every URL, as `entry` gives it.
        source: the capture whose body is read: its own, or the last good one.
        sizes: octets of that body, -1 where none is read.
    """

    def __init__(self, captures: Captures, policy: Policy, known: outcomes.Outcomes) -> None:
        self._policy, self._known, self._captures = policy, known, captures
        self.entries = np.zeros(len(captures), np.int64)
        self.source = np.arange(len(captures))
        bodyless = entry(known.nothing(outcomes.NO_BODY))
        unanswered: list[int] = []  # statuses that leave a site unreachable
        for status in np.unique(captures.statuses).tolist():
            result = outcomes.answered(policy, None if status < 0 else int(status), b"")
            if result.kind == "unreachable":
                unanswered.append(status)
            if not result.has_file or policy.mode == "ignore":
                self.entries[captures.statuses == status] = self.whole(result)
            else:
                self.entries[(captures.statuses == status) & (captures.sizes < 0)] = bodyless
        if policy.mode != "ignore":
            self._stand_in(unanswered)
        self.sizes = np.where(self.entries == 0, np.maximum(captures.sizes[self.source], 0), -1)

    def body(self, capture: int) -> bytes:
        """The octets that are read for a capture."""
        return self._captures.body(int(self.source[capture]))

    def whole(self, result: Any) -> int:
        """The entry of a result without rules. Where all is blocked, the site's robots.txt may be fetched all the same
        (RFC 9309, 2.2.2)."""
        answer = outcomes.whole(self._policy, result)
        code = self._known.of(answer)
        if answer.may_fetch:
            return entry(code)
        return entry(code, self._known.of(outcomes.whole(self._policy, result, f"{outcomes.HERE}/robots.txt")))

    def _stand_in(self, unanswered: list[int]) -> None:
        captures = self._captures
        unreachable = np.isin(captures.statuses, unanswered)
        several = np.diff(captures.firsts) > 1
        concerned = np.unique(captures.origin_of[unreachable]) if len(captures) else np.empty(0, np.int64)
        for number in concerned[several[concerned]].tolist():
            before, good = None, -1
            for capture in range(int(captures.firsts[number]), int(captures.firsts[number + 1])):
                status = int(captures.statuses[capture])
                body = captures.body(capture) if 200 <= status < 300 and captures.sizes[capture] >= 0 else b""
                moment = max(captures.times[capture] / 1e6, 0.0)
                now = stale_if_error(
                    self._policy, before, outcomes.answered(self._policy, None if status < 0 else status, body, moment)
                )
                if now.kind == "read" and now.unreachable_since is None:
                    good = capture
                elif now.kind == "read":
                    self.entries[capture], self.source[capture] = 0, good
                elif now.kind == "unreachable":
                    self.entries[capture] = self.whole(now)
                before = now


def entry(code: int, itself: int | None = None) -> int:
    """An outcome for every URL but robots.txt, and the one for robots.txt itself, as one odd number."""
    return (code if itself is None else itself) << 33 | code << 1 | 1


def outcome_of(entry: int, itself: bool) -> int:
    """The outcome in an entry."""
    return entry >> (33 if itself else 1) & 0xFFFF
