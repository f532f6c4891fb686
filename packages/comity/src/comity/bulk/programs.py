"""The compiled way from rows to outcomes: programs are made of the files that are asked about, once, and kept.

Arrays are numpy's; the compiled modules get typed views of them. Several threads may ask at once.
"""

from threading import Lock
from typing import Any, Final

import numpy as np
from comity_robots.arrays.citing import cite
from comity_robots.arrays.origins import Origins
from comity_robots.arrays.programs import Builder, ProgramTable
from comity_robots.arrays.rows import RowJudge

from comity.bulk import outcomes
from comity.bulk.capture_rules import CaptureRules
from comity.bulk.captures import Captures, buffers_of
from comity.bulk.columns import MIN_ROWS_PER_THREAD, JudgedRows, MapFunction, Pieces, rule_texts
from comity.policy import Policy
from comity_robots.agents import match_name_octets
from comity_robots.arrays.located import NULL
from comity_robots.dialects import Dialect

PROGRAM_COST_ROWS: Final = 100  # what making a program costs, in rows
_NEVER: Final = 2**32 - 1


class Locator:
    """The origins of a table of captures, ready to be looked up. Several threads may ask at once.

    Attributes:
        sizes: by capture, the octets of its origin, after which the path of a URL begins.
    """

    def __init__(self, captures: Captures) -> None:
        self._captures = captures
        offsets, octets = buffers_of(captures.origins)
        self._origins = Origins(octets, offsets)
        self.sizes = np.diff(offsets)[captures.origin_of].astype(np.uint32)

    def locate(self, pieces: Pieces, located: Any, when: Any, run: MapFunction) -> Any:
        """Set the capture of each row, or what stands for it; by capture, how many rows ask about it."""
        captures = self._captures
        each = when is not None and len(when) > 1

        def piece(given: tuple[int, Any]) -> Any:
            first, chunk = given
            asked = np.zeros(len(captures), np.uint32)
            offsets, octets = buffers_of(chunk)
            own = located[first : first + len(chunk)]
            at = when[first : first + len(chunk)] if each else when
            self._origins.locate(octets, offsets, captures.firsts, captures.times, at, own, asked)
            if chunk.null_count:
                own[np.asarray(chunk.is_null())] = NULL
            return asked

        return sum(run(piece, pieces), np.zeros(len(captures), np.uint32))


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
        self._capture_rules, self._policies, self._dialect = capture_rules, policies, dialect
        self._names = [match_name_octets(policy.asked_as, dialect.agent_match) for policy in policies]
        *of_rules, _ = outcomes.of_rules(policies[0], known)
        self._unparsable = capture_rules.whole(outcomes.answered(policies[0], 200, b"<html>"))
        self._rows = RowJudge(len(policies), dialect, tuple(of_rules), tuple(states))
        self.locator = Locator(captures)
        held, starts = (own[capture_rules.source] for own in (captures.held, captures.starts))
        entries, sizes = capture_rules.entries, capture_rules.sizes
        self._table = ProgramTable(captures.buffers, held, starts, sizes, entries, len(policies))
        self._asked = np.zeros(len(captures), np.uint32)
        self._limits = np.where(entries == 0, 1, _NEVER).astype(np.uint32)  # rows that ask, from which on it is made
        self.delays = np.full((len(captures), len(policies)), np.nan)
        self.has_usage = np.zeros(len(captures), np.uint8)
        self._lock = Lock()
        self._builders: list[Builder] = []

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
        normal form become NEEDS_NORMALISING, where not all are `normal`."""
        used = np.zeros(self._made(asked, run, parts), np.uint8)

        def piece(given: tuple[int, Any]) -> None:
            first, chunk = given
            offsets, octets = buffers_of(chunk)
            starts = self.locator.sizes
            self._rows.ask(self._table, octets, offsets, located, starts, codes, cited, first, used, normal)

        list(run(piece, pieces))
        return used

    def judged(self, used: Any) -> JudgedRows:
        """What rows are told of the rules that decided, and of their files."""
        rules = np.flatnonzero(used)
        numbers = np.empty(len(used), np.int32)
        numbers[rules] = np.arange(len(rules), dtype=np.int32)
        with self._lock:  # while it is read, no program is numbered
            octets, entries = cite(rules, self._table)
        ends, lines = np.frombuffer(entries, np.int64).reshape(-1, 2).T
        texts, lines = rule_texts(octets, ends), np.ascontiguousarray(lines)
        return JudgedRows(numbers, texts, lines, self.delays, self.has_usage.view(bool))

    def _made(self, asked: Any, run: MapFunction, parts: int) -> int:
        """Have the programs of what is asked about; how many rules all programs have."""
        with self._lock:
            self._asked[:] = np.minimum(self._asked + asked, _NEVER - 1)
            wanted = np.flatnonzero((self._asked >= self._limits) & (asked > 0))
            if not len(wanted):
                return int(self._table.rules)
            parts = max(1, min(parts, len(wanted) * PROGRAM_COST_ROWS // MIN_ROWS_PER_THREAD))
            while len(self._builders) < parts:
                self._builders.append(Builder(self._names, self._dialect))

            def part(given: tuple[Builder, Any]) -> None:
                builder, own = given
                tables = self.delays, self.has_usage, self._asked, self._limits
                builder.make(self._table, own, *tables, self._unparsable)

            list(run(part, list(zip(self._builders, np.array_split(wanted, parts), strict=False))))
            self._table.number(self._builders)
            return int(self._table.rules)
