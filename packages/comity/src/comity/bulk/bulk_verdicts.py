"""Verdicts of a policy over many robots.txt files, asked about columns of URLs.

Each answer is what `comity.policy` gives for the URL's normal form and the capture in force. A file is read once, when
the first row asks about it, and its rules are kept. Beside the columns a row takes four octets, and six an agent.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from comity.bulk import columns, outcomes, row_by_row
from comity.bulk.capture_rules import CaptureRules
from comity.bulk.captures import Captures, microseconds, times_of
from comity.bulk.preferences import StatedPreferences
from comity.errors import InvalidSetting, InvalidURL
from comity.policy import Policy
from comity_pages.urls import normalise, origin
from comity_robots.arrays.located import BAD, NEEDS_NORMALISING, NULL, TOO_EARLY, UNKNOWN
from comity_robots.dialects import dialect as dialect_of
from comity_robots.engine.reference import is_merged

if TYPE_CHECKING:
    from comity.bulk.programs import Programs
else:
    try:
        from comity.bulk.programs import Programs
    except ModuleNotFoundError:  # there was no compiler: rows are judged one by one
        Programs = None


def verdicts(
    urls: Any,
    robots: Any,
    agents: str | Sequence[str],
    *,
    at: Any = None,
    policy: Policy | None = None,
    wide: bool = False,
    threads: int | None = None,
) -> Any:
    """May these agents fetch these URLs, what may be done with them, and who said so?

    Args:
        urls: a column of text: a pyarrow array or chunked array of any kind, or what converts to one.
        robots: a table: `origin` (text; a URL of the origin will do), `body` (binary or text), and where they are known
            `status` (whole number; null: there was no answer) and `fetched_at` (timestamp, or Unix seconds). There
            may be several captures of an origin. Or a path, as `comity audit --robots` has it.
        agents: product tokens or User-Agent strings.
        at: the time for which it is asked: a datetime, Unix seconds, or a column with one for each URL. The capture
            then in force decides; None: the last one.
        policy: settings, where RFC 9309's are not meant; its agent does not count.
        wide: one row a URL, with the columns of each agent, `AGENT.verdict` and so on, instead of one row a URL and
            agent, agent after agent.
        threads: how many work at once; None for as many as there are cores.

    Returns:
        A pyarrow.Table: url, agent, verdict, recommendation, may_fetch, line, rule, crawl_delay (seconds),
        usage_search, usage_ai_input, usage_train_ai, usage_use, reason. What is null, or no URL, or of an origin
        without a capture, has a null verdict and a reason.

    Raises:
        InvalidSetting: `urls` is no column of text, `robots` lacks a column, an agent has no name.
        MissingExtra: pyarrow or numpy is not installed.
    """
    return BulkVerdicts(robots, agents, policy=policy).verdicts(urls, at=at, wide=wide, threads=threads)


class BulkVerdicts:
    """Many robots.txt files, ready to be asked about column after column. Arguments: see `verdicts`."""

    def __init__(self, robots: Any, agents: str | Sequence[str], *, policy: Policy | None = None) -> None:
        names = [agents] if isinstance(agents, str) else list(agents)
        if not names:
            raise InvalidSetting("agents: name at least one, such as MyBot")
        if len(set(names)) < len(names):
            raise InvalidSetting("agents: the same one is named twice")
        base = policy or Policy()
        self.agents = names
        self.captures = Captures(robots)
        self._policies = [base.with_changes(agent=name, product_token=None) for name in names]
        self._outcomes = outcomes.Outcomes()
        self._capture_rules = CaptureRules(self.captures, self._policies[0], self._outcomes)
        self._stated = StatedPreferences(self._capture_rules, self._policies)
        self._states = self._without_capture()
        self._programs: Programs | None = None
        dialect = dialect_of(base.dialect)
        if (
            Programs is not None
            and base.mode != "ignore"
            and base.max_crawl_delay is None
            and base.use is None
            and base.robots_charset == "utf-8"
            and is_merged(dialect)
            and all(name.isascii() for name in names)
        ):
            self._programs = Programs(
                self.captures, self._capture_rules, self._policies, dialect, self._outcomes, self._states
            )

    def verdicts(self, urls: Any, *, at: Any = None, wide: bool = False, threads: int | None = None) -> Any:
        """As the function of this name."""
        column = columns.texts(urls)
        when = None if at is None else _when(at, len(column))
        if pa.types.is_dictionary(column.type):
            if when is not None and len(when) > 1:
                column = column.cast(pa.large_string())
            else:
                return self._by_value(column, when, wide=wide, threads=threads)
        return columns.assembled(column, self.agents, self._tables(column, when, threads), wide=wide)

    def _without_capture(self) -> list[int]:
        """Outcomes by what stands for a capture, negated."""
        nothing = self._outcomes.nothing
        found = dict.fromkeys(range(6), 0)
        found |= {-NULL: nothing(outcomes.NULL), -BAD: nothing(outcomes.BAD)}
        found |= {-UNKNOWN: nothing(outcomes.UNKNOWN), -TOO_EARLY: nothing(outcomes.TOO_EARLY)}
        if self._policies[0].mode == "ignore":
            answer = outcomes.whole(self._policies[0], outcomes.answered(self._policies[0], 404, b""))
            found[-UNKNOWN] = found[-TOO_EARLY] = self._outcomes.of(answer)
        return list(found.values())

    def _by_value(self, column: Any, when: Any, *, wide: bool, threads: int | None) -> Any:
        column = column.unify_dictionaries()
        values = column.chunk(0).dictionary if column.num_chunks else pa.array([], pa.string())
        values = pa.concat_arrays([values.cast(pa.large_string()), pa.nulls(1, pa.large_string())])
        indices = [np.asarray(chunk.indices.cast(pa.int64()).fill_null(len(values) - 1)) for chunk in column.chunks]
        rows = pa.array(np.concatenate([np.empty(0, np.int64), *indices]))
        tables = self._tables(pa.chunked_array([values]), when, threads)
        return columns.assembled(column, self.agents, [table.take(rows) for table in tables], wide=wide)

    def _tables(self, column: Any, when: Any, threads: int | None) -> list[Any]:
        rows, parts = len(column), threads or _cores()
        located = np.full(rows, NEEDS_NORMALISING, np.int32)
        codes = np.empty((len(self.agents), rows), np.uint16)
        cited = np.full((len(self.agents), rows), -1, np.int32)
        with ThreadPoolExecutor(parts) as pool:
            run: columns.MapFunction = map if parts == 1 or rows < 2 * columns.MIN_ROWS_PER_THREAD else pool.map
            if self._programs:
                judged = self._by_programs(self._programs, column, located, codes, cited, when, run, parts)
            else:
                judged = self._row_by_row(column, located, codes, cited, when)
            usage = self._stated.of(
                judged.has_usage,
                located,
                codes,
                np.array([each.verdict in ("allowed_explicit", "allowed_implicit") for each in self._outcomes.all]),
                lambda own: [normalise(text or "") for text in _values(column, own)],
            )
            return list(
                run(
                    lambda number: columns.table(
                        codes[number],
                        cited[number],
                        located,
                        judged,
                        number,
                        self._outcomes,
                        None if usage is None else usage[number],
                    ),
                    range(len(self.agents)),
                )
            )

    def _by_programs(
        self,
        programs: Programs,
        column: Any,
        located: Any,
        codes: Any,
        cited: Any,
        when: Any,
        run: columns.MapFunction,
        parts: int,
    ) -> columns.JudgedRows:
        pieces = columns.pieces_of(column.chunks, parts)
        asked = programs.locator.locate(pieces, located, when, run)
        used = programs.ask(pieces, located, asked, codes, cited, run, normal=False, parts=parts)
        odd = np.flatnonzero(located == NEEDS_NORMALISING)
        if len(odd):
            own = np.full(len(odd), NEEDS_NORMALISING, np.int32)
            pieces = columns.pieces_of([pa.array(_normalised(column, odd), pa.large_string())], parts)
            asked = programs.locator.locate(pieces, own, when if when is None or len(when) == 1 else when[odd], run)
            own[own == NEEDS_NORMALISING], own[own == NULL] = UNKNOWN, BAD
            own_codes = np.empty((len(codes), len(odd)), np.uint16)
            own_cited = np.empty((len(cited), len(odd)), np.int32)
            more = programs.ask(pieces, own, asked, own_codes, own_cited, run, normal=True, parts=parts)
            more[: len(used)] |= used
            used, located[odd], codes[:, odd], cited[:, odd] = more, own, own_codes, own_cited
        return programs.judged(used)

    def _row_by_row(self, column: Any, located: Any, codes: Any, cited: Any, when: Any) -> columns.JudgedRows:
        start = 0
        for chunk in column.chunks:
            located[start : start + len(chunk)][np.asarray(chunk.is_null())] = NULL
            start += len(chunk)
        codes[:] = self._states[-NULL]
        odd = np.flatnonzero(located == NEEDS_NORMALISING)
        texts = _normalised(column, odd)
        for row, url in zip(odd.tolist(), texts, strict=True):
            moment = None if when is None else int(when[row % len(when)])  # one for all, or each its own
            located[row] = BAD if url is None else self.captures.in_force(origin(url), moment)
        known = self._capture_rules, self._policies, self._outcomes, self._states
        return row_by_row.judge(*known, odd, [url or "" for url in texts], located, codes, cited)


def _normalised(column: Any, rows: Any) -> list[str | None]:
    """The normal forms of rows; None for one that is no URL."""
    found: list[str | None] = []
    for text in _values(column, rows):
        try:
            found.append(normalise(text or ""))
        except (InvalidURL, TypeError, UnicodeError):
            found.append(None)
    return found


def _values(column: Any, rows: Any) -> list[str | None]:
    """Texts of rows, which ascend; those that are no UTF-8 as None."""
    found: list[str | None] = []
    start = 0
    for chunk in column.chunks:  # one by one: taken from several, Arrow would copy them all
        own = rows[np.searchsorted(rows, start) : np.searchsorted(rows, start + len(chunk))] - start
        start += len(chunk)
        chosen = chunk.take(pa.array(own))
        try:
            found += chosen.to_pylist()
        except UnicodeDecodeError:
            found += map(_decoded, chosen.cast(pa.large_binary()).to_pylist())
    return found


def _decoded(octets: bytes | None) -> str | None:
    try:
        return octets if octets is None else octets.decode()
    except UnicodeDecodeError:
        return None


def _when(at: Any, rows: int) -> Any:
    """Times in microseconds: one, or one a row; a null asks about the time before everything."""
    if isinstance(at, pa.Array | pa.ChunkedArray):
        if len(at) != rows:
            raise InvalidSetting(f"at: {len(at):,} times for {rows:,} URLs")
        column = at if isinstance(at, pa.ChunkedArray) else pa.chunked_array([at])
        return np.ascontiguousarray(times_of(column), np.int64)
    return np.array([microseconds(at)], np.int64)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
