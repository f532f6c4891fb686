"""The compiled way from rows to outcomes: programs are made of the files that are asked about, once, and kept.

Arrays are numpy's; the compiled modules get their addresses. Several threads may ask at once.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, Final, NamedTuple

from comity_robots.arrays.citing import cite
from comity_robots.arrays.programs import Builder
from comity_robots.arrays.rows import RowJudge

from comity.bulk import outcomes
from comity.bulk.capture_rules import CaptureRules
from comity.bulk.captures import Captures, offsets_of
from comity.bulk.columns import JudgedRows, rule_texts
from comity.bulk.location import Locator
from comity.bulk.pieces import A_THREAD, MapFunction, Pieces
from comity.policy import Policy
from comity_robots.agents import called_as
from comity_robots.dialects import Dialect

A_FILE: Final = 100  # what making a program costs, in rows
_NEVER: Final = 2**32 - 1


class _Numbering(NamedTuple):
    """The addresses of programs, the number of each one's first rule, and how many rules there are. Replaced as a
    whole, so any thread may read it."""

    addresses: Any
    firsts: Any
    rules: int


class Programs:
    """The programs of a table of captures, for some agents."""

    def __init__(
        self,
        captures: Captures,
        capture_rules: CaptureRules,
        policies: list[Policy],
        dialect: Dialect,
        known: outcomes.Outcomes,
        states: list[int],
    ) -> None:
        import numpy as np

        self._capture_rules, self._policies, self._dialect = capture_rules, policies, dialect
        self._names = [called_as(policy.asked_as, dialect.agent_match) for policy in policies]
        *of_rules, _ = outcomes.of_rules(policies[0], known)
        self._unparsable = capture_rules.whole(outcomes.answered(policies[0], 200, b"<html>"))
        self._rows = RowJudge(len(policies), dialect, tuple(of_rules), tuple(states))
        self.locator = Locator(captures)
        self._entries = np.repeat(capture_rules.entries[:, None], len(policies), axis=1)
        self._asked = np.zeros(len(captures), np.uint32)
        self._limits = np.full(len(captures), _NEVER, np.uint32)
        self.delays = np.full((len(captures), len(policies)), np.nan)
        self.has_usage = np.zeros(len(captures), bool)
        self._lock = Lock()
        self._builders: list[Builder] = []
        self._numbering = _Numbering(np.empty(0, np.int64), np.empty(0, np.int64), 0)

    def ask(
        self,
        pieces: Pieces,
        located: Any,
        asked: Any,
        codes: Any,
        cited: Any,
        run: MapFunction,
        *,
        normal: bool,
        parts: int,
    ) -> Any:
        """Set outcome and rule of each row and agent; by rule, whether it decided. Rows whose path is not plainly in
        normal form become ODD, where not all are `normal`."""
        import numpy as np

        used = np.zeros(self._made(asked, run, parts), np.uint8)

        def piece(given: tuple[int, Any]) -> None:
            first, chunk = given
            offsets, data = offsets_of(chunk)
            self._rows.ask(
                data,
                offsets.ctypes.data,
                len(chunk),
                located.ctypes.data + 4 * first,
                self._entries.ctypes.data,
                self.locator.sizes.ctypes.data,
                len(self.locator.sizes),
                codes.ctypes.data + 2 * first,
                cited.ctypes.data + 4 * first,
                len(located),
                used.ctypes.data,
                normal,
            )

        list(run(piece, pieces))
        return used

    def judged(self, used: Any) -> JudgedRows:
        """What rows are told of the rules that decided, and of their files."""
        import numpy as np

        rules = np.flatnonzero(used)
        numbers = np.empty(len(used), np.int32)
        numbers[rules] = np.arange(len(rules), dtype=np.int32)
        addresses, firsts, _ = self._numbering
        owners = addresses[np.searchsorted(firsts, rules, "right") - 1] if len(rules) else rules
        octets, entries = cite(
            rules.ctypes.data, owners.ctypes.data, len(rules), self._capture_rules.bodies.ctypes.data
        )
        ends, lines = np.frombuffer(entries, np.int64).reshape(-1, 2).T
        return JudgedRows(numbers, rule_texts(octets, ends), np.ascontiguousarray(lines), self.delays, self.has_usage)

    def _made(self, asked: Any, run: MapFunction, parts: int) -> int:
        """Have the programs of what is asked about; how many rules all programs have."""
        import numpy as np

        with self._lock:
            self._asked[:] = np.minimum(self._asked + asked, _NEVER - 1)
            fresh = (self._entries[:, 0] == 0) | (self._asked >= self._limits)
            wanted = np.flatnonzero(fresh & (asked > 0))
            if not len(wanted):
                return self._numbering.rules
            parts = max(1, min(parts, len(wanted) * A_FILE // A_THREAD))
            while len(self._builders) < parts:
                self._builders.append(Builder(self._names, self._dialect))

            def part(given: tuple[Builder, Any]) -> None:
                builder, own = given
                builder.make(
                    self._capture_rules.bodies.ctypes.data,
                    own.ctypes.data,
                    len(own),
                    self._entries.ctypes.data,
                    self.delays.ctypes.data,
                    self.has_usage.ctypes.data,
                    self._asked.ctypes.data,
                    self._limits.ctypes.data,
                    self._unparsable,
                )

            list(run(part, list(zip(self._builders, np.array_split(wanted, parts), strict=False))))
            return self._numbered()

    def _numbered(self) -> int:
        import numpy as np

        addresses, known, rules = self._numbering
        count = sum(builder.made for builder in self._builders)
        fresh, firsts = np.empty(count, np.int64), np.empty(count, np.int64)
        start = 0
        for builder in self._builders:
            own = 8 * start
            start += builder.made
            rules = builder.numbered(rules, fresh.ctypes.data + own, firsts.ctypes.data + own)
        self._numbering = _Numbering(np.append(addresses, fresh), np.append(known, firsts), rules)
        return rules
