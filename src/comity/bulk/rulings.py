"""Rulings: what a policy makes of many robots.txt files, asked about columns of URLs.

Each answer is that of `comity.policy` for the URL's normal form and the capture in force. Rows are sorted by capture,
so that their order does not matter and each file is read once; memory is that of the columns and about 40 octets a row.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from comity.bulk import columns, outcomes, plain
from comity.bulk._judging import BAD, COMPILED, NULL, ODD, TOO_EARLY, UNKNOWN, Judging, Origins, by_capture
from comity.bulk.captures import Captures, microseconds, offsets_of, times_of
from comity.errors import InvalidSetting, InvalidURL
from comity.policy import Policy, stale_if_error
from comity.robots._first import chooses
from comity.robots.dialects import dialect as dialect_of
from comity.robots.parsed import _called
from comity.urls import normalise, origin, path_and_query

MOST_ROWS: Final = 1 << 30  # of one call to the compiled part
MOST_OUTCOMES: Final = 60_000


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
            may be several captures of an origin.
        agents: product tokens or User-Agent strings.
        at: the time for which it is asked: a datetime, Unix seconds, or a column with one for each URL. The capture
            then in force decides; None: the last one.
        policy: other settings than those of RFC 9309; its agent does not count.
        wide: one row a URL, with the columns of each agent, `AGENT.verdict` and so on, instead of one row a URL and
            agent, agent after agent.
        threads: how many work at once; None for as many as there are cores.

    Returns:
        A pyarrow.Table: url, agent, verdict, recommendation, may_fetch, line, rule, crawl_delay (seconds),
        usage_search, usage_ai_input, usage_train_ai, reason. What is null, or no URL, or of an origin without a
        capture, has a null verdict and a reason.

    Raises:
        InvalidSetting: `urls` is no column of text, `robots` lacks a column, an agent has no name.
        MissingExtra: pyarrow or numpy is not installed.
    """
    return Rulings(robots, agents, policy=policy).verdicts(urls, at=at, wide=wide, threads=threads)


class Rulings:
    """Many robots.txt files, ready to be asked about column after column. Arguments are those of `verdicts`."""

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
        self._dialect = dialect_of(base.dialect)
        self._outcomes = outcomes.Outcomes()
        self._fast = (
            bool(COMPILED)
            and base.mode != "ignore"
            and base.max_crawl_delay is None
            and base.robots_charset == "utf-8"
            and chooses(self._dialect)
            and all(name.isascii() for name in names)
        )
        self._ignored = base.mode == "ignore"
        self._special = self._specials()
        self._whole, self._bodies = self._sorted_out()
        self._origins = self._looked_up() if COMPILED else None

    def verdicts(self, urls: Any, *, at: Any = None, wide: bool = False, threads: int | None = None) -> Any:
        """As the function of this name."""
        import pyarrow as pa

        column = columns.texts(urls)
        when = None if at is None else _when(at, len(column))
        if pa.types.is_dictionary(column.type):
            if when is not None and len(when) > 1:
                column = column.cast(pa.large_string())
            else:
                return self._by_value(column, when, wide=wide, threads=threads)
        parts = [
            self._part(column.slice(start, MOST_ROWS), _slice(when, start), threads)
            for start in range(0, max(len(column), 1), MOST_ROWS)
        ]
        tables = [pa.concat_tables([part[agent] for part in parts]) for agent in range(len(self.agents))]
        return self._assembled(column, tables, wide=wide)

    def _by_value(self, column: Any, when: Any, *, wide: bool, threads: int | None) -> Any:
        """A dictionary column is judged value by value."""
        import numpy as np
        import pyarrow as pa

        column = column.unify_dictionaries()
        values = column.chunk(0).dictionary if column.num_chunks else pa.array([], pa.string())
        values = pa.concat_arrays([values.cast(pa.large_string()), pa.nulls(1, pa.large_string())])
        indices = [np.asarray(chunk.indices.cast(pa.int64()).fill_null(len(values) - 1)) for chunk in column.chunks]
        rows = pa.array(np.concatenate([np.empty(0, np.int64), *indices]))
        parts = self._part(pa.chunked_array([values]), when, threads)
        return self._assembled(column, [table.take(rows) for table in parts], wide=wide)

    def _assembled(self, column: Any, tables: list[Any], *, wide: bool) -> Any:
        import numpy as np
        import pyarrow as pa

        if wide:
            found = {"url": column}
            for name, table in zip(self.agents, tables, strict=True):
                found |= {f"{name}.{own}": table[own] for own in table.column_names}
            return pa.table(found)
        names = pa.array(self.agents)
        agents = [
            pa.DictionaryArray.from_arrays(pa.array(np.full(len(column), number, np.int16)), names)
            for number in range(len(tables))
        ]
        every = pa.concat_tables(tables)
        url = pa.chunked_array([chunk for _ in tables for chunk in column.chunks], column.type)
        return pa.table(
            {"url": url, "agent": pa.chunked_array(agents), **{name: every[name] for name in every.column_names}}
        )

    # One column

    def _part(self, column: Any, when: Any, threads: int | None) -> list[Any]:
        """A table for each agent."""
        import numpy as np
        import pyarrow as pa

        rows = len(column)
        chunks = [chunk for chunk in column.chunks if len(chunk)]
        located = self._located(chunks, rows, when)
        owners, normal, into = self._normalised(column, located, when)
        located[owners] = into
        beside = np.flatnonzero(into >= 0)
        every = np.concatenate([located.copy(), into[beside]]).astype(np.int32)
        every[owners] = BAD  # these rows are judged by their normal form, which stands at the end
        counts = np.bincount(every[every >= 0], minlength=len(self.captures)).astype(np.int64)
        begins = np.append(0, np.cumsum(counts)[:-1]) if len(counts) else counts
        begins = np.ascontiguousarray(begins, np.int64)
        order = np.empty(int(counts.sum()), np.uint32)
        if COMPILED:
            by_capture(every.ctypes.data, len(every), begins.ctypes.data, order.ctypes.data)
        else:
            order[:] = np.flatnonzero(every >= 0)[np.argsort(every[every >= 0], kind="stable")]
            begins += counts
        tail = pa.array([normal[number] for number in beside.tolist()], pa.large_string())
        texts = _Texts(chunks, tail, np.ascontiguousarray(owners[beside]), rows)
        known = np.where(located >= 0, located, 0)
        agents = len(self.agents)
        codes = np.empty((agents, rows), np.uint16)
        for number in range(agents):
            own = self._whole[number][known].astype(np.uint16) if len(self.captures) else np.zeros(rows, np.uint16)
            for state, code in self._special.items():
                own[located == state] = code
            codes[number] = own
        cited = np.full((agents, rows), -1, np.int32)
        delays = np.full((len(self.captures), agents), np.nan)
        flags = np.zeros(len(self.captures), np.uint8)
        if self._fast:
            lines, rules = self._judged(texts, begins, order, codes, cited, delays, flags, rows, threads)
        else:
            lines, rules = plain.judge(self, texts, begins, order, codes, cited, delays, flags)
        self._robots_txt_itself(texts, begins, order, codes)
        usage = plain.usage(self, texts, begins, order, codes, flags, rows)
        plain.odd_delays(self, delays, flags)
        tables = []
        for number in range(agents):
            asked = columns.outcome_columns(codes[number], self._outcomes)
            found = {name: asked[name] for name in ("verdict", "recommendation", "may_fetch")}
            found |= columns.rule_columns(cited[number], rules, lines)
            found["crawl_delay"] = _delay_column(delays[:, number], known, located, rows)
            missing = asked["verdict"].is_null().to_numpy(zero_copy_only=False)
            for place, name in enumerate(columns.USAGE.values()):
                own = usage[number][place] if usage is not None else np.full(rows, 2, np.int8)
                found[name] = columns.words(own, list(columns.PREFERENCES), missing if missing.any() else None)
            tables.append(pa.table({**found, "reason": asked["reason"]}))
        return tables

    def _located(self, chunks: list[Any], rows: int, when: Any) -> Any:
        """The capture of each row, or what stands for it."""
        import numpy as np

        located = np.full(rows, ODD, np.int32)
        start = 0
        for chunk in chunks:
            if self._origins is not None:
                offsets, data = offsets_of(chunk)
                times = self.captures.times
                single = when is None or len(when) == 1
                self._origins.locate(
                    data,
                    offsets.ctypes.data,
                    len(chunk),
                    self.captures.firsts.ctypes.data,
                    times.ctypes.data,
                    0 if when is None else when.ctypes.data + (0 if single else 8 * start),
                    0 if single else 1,
                    located.ctypes.data + 4 * start,
                )
            if chunk.null_count:
                located[start : start + len(chunk)][chunk.is_null().to_numpy(zero_copy_only=False)] = NULL
            start += len(chunk)
        return located

    def _normalised(self, column: Any, located: Any, when: Any) -> tuple[Any, list[str], Any]:
        """Rows that are not in normal form, or not plainly: which, their normal form, and their capture."""
        import numpy as np
        import pyarrow as pa

        owners = np.flatnonzero(located == ODD)
        normal: list[str] = []
        into = np.empty(len(owners), np.int32)
        single = when is None or len(when) == 1
        moment = None if when is None else int(when[0]) if single else 0
        for place, (row, text) in enumerate(zip(owners.tolist(), _values(column, pa.array(owners)), strict=True)):
            try:
                url = normalise(text or "")
            except (InvalidURL, TypeError, UnicodeError):
                url, into[place] = "", BAD
            else:
                at = moment if single else int(when[row])
                into[place] = self.captures.in_force(origin(url), at)
            normal.append(url)
        return owners, normal, into

    def _judged(
        self,
        texts: _Texts,
        begins: Any,
        order: Any,
        codes: Any,
        cited: Any,
        delays: Any,
        flags: Any,
        rows: int,
        threads: int | None,
    ) -> tuple[Any, Any]:
        """Have the compiled part judge; the lines and texts of the rules that decided."""
        import numpy as np

        names, by_letters = [], False
        for policy in self._policies:
            called, by_letters = _called(policy.asked_as, self._dialect.agent_match == "letters")
            names.append(called)
        chunks = texts.chunks()
        count = len(self.captures)
        workers = min(threads or _cores(), 1 + len(order) // 20_000)
        # A capture costs about as much as a hundred rows.
        work = np.cumsum(np.diff(begins, prepend=0) + np.where(np.diff(begins, prepend=0) > 0, 100, 0))
        total = int(work[-1]) if count else 0
        cuts = [int(np.searchsorted(work, total * part // workers)) for part in range(1, workers)]
        spans = list(zip([0, *cuts], [*cuts, count], strict=True))

        def part(span: tuple[int, int]) -> Judging:
            judging = Judging(names, by_letters, self._dialect)
            judging.judge(
                chunks.ctypes.data,
                begins.ctypes.data,
                order.ctypes.data,
                span[0],
                span[1],
                self._bodies.ctypes.data,
                codes.ctypes.data,
                cited.ctypes.data,
                delays.ctypes.data,
                flags.ctypes.data,
                rows,
                self._meanings,
            )
            return judging

        if workers == 1:
            done = [part(spans[0])]
        else:
            with ThreadPoolExecutor(workers) as pool:
                done = list(pool.map(part, spans))
        base, offset, ends, lines, octets = 0, 0, [], [], []
        for judging, (low, high) in zip(done, spans, strict=True):
            entries = np.frombuffer(judging.entries, np.int64).reshape(-1, 2)
            if base and high > low:
                own = texts.rows_of(order[begins[low - 1] if low else 0 : begins[high - 1]])
                for number in range(len(self.agents)):
                    places = cited[number][own]
                    cited[number][own] = np.where(places >= 0, places + base, -1)
            ends.append(entries[:, 0] + offset)
            lines.append(entries[:, 1])
            octets.append(judging.cited)
            base += len(entries)
            offset += len(octets[-1])
        return np.concatenate(lines), columns.rule_texts(b"".join(octets), np.concatenate(ends))

    def _robots_txt_itself(self, texts: _Texts, begins: Any, order: Any, codes: Any) -> None:
        """Where everything is blocked, a site's robots.txt may be fetched all the same (RFC 9309, 2.2.2)."""
        import numpy as np

        unparsable = self._meanings[6]
        if not self._fast or self._outcomes.all[unparsable].may_fetch:  # where each row has had its own answer, or yes
            unparsable = -1
        for number, policy in enumerate(self._policies):
            blocked = self._blocked[number].copy()
            if unparsable >= 0:
                ends = plain.spans(begins)
                first = [texts.rows_of(order[low : low + 1])[0] for _, low, _ in ends]
                for (capture, _, _), row in zip(ends, first, strict=True):
                    blocked[capture] |= codes[number][row] == unparsable
            for capture in np.flatnonzero(blocked).tolist():
                low, high = int(begins[capture - 1]) if capture else 0, int(begins[capture])
                for row, url in texts.of(order[low:high]) if high > low else ():
                    if url.endswith("/robots.txt") and path_and_query(url) == "/robots.txt":
                        result = self._results.get(capture) or outcomes.answered(policy, 200, b"<html>")
                        codes[number][row] = self._outcomes.of(outcomes.whole(policy, result, url))

    # What is known before any URL is

    def _specials(self) -> dict[int, int]:
        nothing = self._outcomes.nothing
        states = {NULL: nothing(outcomes.NULL), BAD: nothing(outcomes.BAD)}
        if self._ignored:
            answer = outcomes.whole(self._policies[0], outcomes.answered(self._policies[0], 404, b""))
            return {**states, UNKNOWN: self._outcomes.of(answer), TOO_EARLY: self._outcomes.of(answer)}
        return {**states, UNKNOWN: nothing(outcomes.UNKNOWN), TOO_EARLY: nothing(outcomes.TOO_EARLY)}

    def _sorted_out(self) -> tuple[list[Any], Any]:
        """By agent and capture the outcome of every URL where no rule is read, 0 elsewhere; and the files to read."""
        import numpy as np

        captures = self.captures
        self._meanings = outcomes.of_rules(self._policies[0], self._outcomes)
        bodies = np.zeros((len(captures), 3), np.int64)
        found = [np.zeros(len(captures), np.uint16) for _ in self.agents]
        self._blocked = [np.zeros(len(captures), bool) for _ in self.agents]
        self._results: dict[int, Any] = {}
        self.read = np.zeros(len(captures), bool)  # whether rules are read
        sizes = np.array([len(text) for text in self.captures.numbers], np.int64)
        stands, late = self._standing()
        self.stands = stands
        bodyless = self._outcomes.nothing(outcomes.NO_BODY)
        for status in np.unique(captures.statuses).tolist():
            own = np.flatnonzero(captures.statuses == status)
            result = outcomes.answered(self._policies[0], None if status < 0 else int(status), b"")
            if result.robots is not None and not self._ignored:
                good = own[captures.sizes[own] >= 0]
                self.read[good] = True
                for numbers in found:
                    numbers[own[captures.sizes[own] < 0]] = bodyless
                continue
            for number, policy in enumerate(self._policies):
                answer = outcomes.whole(policy, result)
                found[number][own] = self._outcomes.of(answer)
                if not answer.may_fetch:
                    self._blocked[number][own] = True
            self._results |= dict.fromkeys(own.tolist(), result) if any(each.any() for each in self._blocked) else {}
        for capture, result in late.items():
            for number, policy in enumerate(self._policies):
                answer = outcomes.whole(policy, result)
                found[number][capture] = self._outcomes.of(answer)
                self._blocked[number][capture] = not answer.may_fetch
            self._results[capture] = result
        for capture in stands:
            self.read[capture] = True
            for numbers in self._blocked:
                numbers[capture] = False
        source = np.arange(len(captures))
        for capture, earlier in stands.items():
            source[capture] = earlier
        self.source = source
        bodies[:, 0] = np.where(self.read, np.maximum(captures.addresses[source], 1), 0)
        bodies[:, 1] = np.maximum(captures.sizes[source], 0)
        bodies[:, 2] = sizes[captures.origin_of] if len(captures) else 0
        return found, bodies

    def _standing(self) -> tuple[dict[int, int], dict[int, Any]]:
        """While a site is unreachable its last good copy stands in, as the policy says: which capture for which, and
        what those mean that none stands in for."""
        import numpy as np

        captures, policy = self.captures, self._policies[0]
        stands: dict[int, int] = {}
        late: dict[int, Any] = {}
        if self._ignored:
            return stands, late
        unreachable = (captures.statuses < 0) | (captures.statuses >= 500) | (captures.statuses == 429)
        unreachable |= (captures.statuses < 200) | (captures.statuses == 304)
        several = np.diff(captures.firsts) > 1
        for number in np.unique(captures.origin_of[unreachable]).tolist() if len(captures) else ():
            if not several[number]:
                continue
            before, good = None, -1
            for capture in range(int(captures.firsts[number]), int(captures.firsts[number + 1])):
                status = int(captures.statuses[capture])
                body = captures.body(capture) if 200 <= status < 300 and captures.sizes[capture] >= 0 else b""
                moment = max(captures.times[capture] / 1e6, 0.0)
                now = stale_if_error(
                    policy, before, outcomes.answered(policy, None if status < 0 else status, body, moment)
                )
                if now.kind == "read" and now.unreachable_since is None:
                    good = capture
                elif now.kind == "read":
                    stands[capture] = good
                elif now.kind == "unreachable":
                    late[capture] = now
                before = now
        return stands, late

    def _looked_up(self) -> Origins:
        offsets, data = offsets_of(self.captures.origins)
        self._kept = offsets
        return Origins(data, offsets.ctypes.data, len(self.captures.origins))


class _Texts:
    """The URLs of a column by row number, those that were normalised behind the others."""

    def __init__(self, chunks: list[Any], tail: Any, owners: Any, rows: int) -> None:
        self._chunks, self._tail, self._owners, self._rows = chunks, tail, owners, rows
        self._kept: list[Any] = []

    def chunks(self) -> Any:
        """The compiled part's table of chunks."""
        import numpy as np

        table, start = [], 0
        for chunk in [*self._chunks, self._tail]:
            offsets, data = offsets_of(chunk)
            self._kept.append(offsets)
            table.append((data, offsets.ctypes.data, start, start + len(chunk), self._owners.ctypes.data))
            start += len(chunk)
        return np.array(table, np.int64)

    def rows_of(self, places: Any) -> Any:
        """The rows that places in the order stand for."""
        import numpy as np

        rows = places.astype(np.int64)
        beyond = rows >= self._rows
        if beyond.any():
            rows[beyond] = self._owners[rows[beyond] - self._rows]
        return rows

    def of(self, places: Any) -> list[tuple[int, str]]:
        """Row and URL in normal form for each place."""
        import pyarrow as pa

        column = pa.chunked_array([*self._chunks, self._tail], pa.large_string())
        texts = column.take(pa.array(places.astype("int64"))).to_pylist()
        return list(zip(self.rows_of(places).tolist(), map(normalise, texts), strict=True))


def _values(column: Any, rows: Any) -> list[str | None]:
    """Texts of a column; those that are no UTF-8 as None."""
    import pyarrow as pa

    chosen = column.take(rows)
    try:
        return list(chosen.to_pylist())
    except UnicodeDecodeError:
        found: list[str | None] = []
        for each in chosen.cast(pa.large_binary()).to_pylist():
            try:
                found.append(each.decode())
            except UnicodeDecodeError:
                found.append(None)
        return found


def _when(at: Any, rows: int) -> Any:
    """Times in microseconds: one, or one a row; a null asks about the time before everything."""
    import numpy as np
    import pyarrow as pa

    if isinstance(at, pa.Array | pa.ChunkedArray):
        if len(at) != rows:
            raise InvalidSetting(f"at: {len(at):,} times for {rows:,} URLs")
        column = at if isinstance(at, pa.ChunkedArray) else pa.chunked_array([at])
        return np.ascontiguousarray(times_of(column), np.int64)
    return np.array([microseconds(at)], np.int64)


def _slice(when: Any, start: int) -> Any:
    return when if when is None or len(when) == 1 else when[start : start + MOST_ROWS]


def _delay_column(delays: Any, known: Any, located: Any, rows: int) -> Any:
    import numpy as np
    import pyarrow as pa

    if not len(delays) or np.isnan(delays).all():
        return pa.nulls(rows, pa.float64())
    found = delays[known]
    return pa.array(found, mask=np.isnan(found) | (located < 0))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
