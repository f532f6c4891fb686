"""`comity audit`: which agents may fetch which of many URLs, by robots.txt files at hand or fetched politely."""

import hashlib
import json
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from comity import urls
from comity._extras import need
from comity.bulk import Rulings, sources
from comity.bulk.report import bars, page
from comity.bulk.survey import AGENTS, Survey, survey
from comity.cli.exits import Exit
from comity.cli.terminal import say, tell
from comity.configuration import Configuration
from comity.errors import ComityError, InputError, InvalidSetting, StorageError
from comity.robots import diff, parse

ROWS: Final = 1_000_000
SHOWN: Final = 10


def audit(
    target: str | None,
    robots: str | None,
    agents: Sequence[str],
    output: Path | None,
    configuration: Configuration,
    *,
    column: str,
    at: str | None,
    changes: bool,
    report: Path | None,
    rows: int = ROWS,
) -> Exit:
    """Judge the URLs of files, write a table, print a summary; without URLs survey the robots.txt files themselves."""
    need("pyarrow", "bulk", "comity audit")
    agents = tuple(agents) or AGENTS
    if target is None and robots is None:
        raise InvalidSetting("audit: name files with URLs, or files of robots.txt by --robots")
    given = sources.files(target) if target is not None else []
    table = sources.robots(robots) if robots is not None else _fetched(given, column, configuration)
    if changes:
        return _changes(table, agents)
    if target is None:
        return _surveyed(table, agents, report)
    if output is None:
        raise InvalidSetting("audit: name the file to write by -o, such as out.parquet")
    moment = None if at is None else _time(at)
    rulings = Rulings(table, list(agents), policy=configuration.policy)
    identity = [str(path) for path in given] + [str(path.stat().st_mtime_ns) for path in given]
    identity += [*agents, str(at), column, str(rows), _digest(table)]
    counts = _judged(rulings, given, column, moment, output, identity, rows)
    lines = _summary(counts, agents)
    for line in lines:
        say(line)
    if report is not None:
        _write(report, page("Who may fetch what", _plots(counts, agents), [("Summary", lines)]))
        say(f"report in {report}")
    return Exit.DONE


def _judged(
    rulings: Rulings, given: list[Path], column: str, at: float | None, output: Path, identity: list[str], rows: int
) -> Counter[tuple[str, ...]]:
    """Write the verdicts, part by part, so that a run that was stopped goes on; counts of what was written."""
    import pyarrow.parquet as pq

    parts = output.with_name(output.name + ".parts")
    try:
        parts.mkdir(parents=True, exist_ok=True)
        note = parts / "audit.json"
        if note.exists() and json.loads(note.read_text("utf-8")) != identity:
            raise InputError(f"{parts} holds parts of another audit", hint="remove it, or choose another name by -o")
        note.write_text(json.dumps(identity), "utf-8")
        counts: Counter[tuple[str, ...]] = Counter()
        done, started, names = 0, time.monotonic(), []
        for number, batch in enumerate(sources.batches(given, column, rows)):
            part = parts / f"part-{number:06}.parquet"
            names.append(part)
            if not part.exists():
                fresh = part.with_suffix(".new")
                pq.write_table(rulings.verdicts(batch, at=at), fresh)
                fresh.rename(part)
            counts.update(_counted(pq.read_table(part, columns=["url", "agent", "verdict", "may_fetch", "reason"])))
            done += len(batch)
            tell(f"{done:,} URLs, {done / (time.monotonic() - started):,.0f} a second")
        whole = output.with_suffix(".new")
        writer = None
        for part in names:
            source = pq.ParquetFile(part)
            writer = writer or pq.ParquetWriter(whole, source.schema_arrow)
            for group in range(source.num_row_groups):
                writer.write_table(source.read_row_group(group))
        if writer is None:
            raise InputError("the files hold no URL")
        writer.close()
        whole.rename(output)
        for each in [*names, note]:
            each.unlink()
        parts.rmdir()
    except OSError as error:
        raise StorageError(f"{output} cannot be written: {error.strerror}") from error
    say(f"{done:,} URLs in {output}")
    return counts


def _counted(table: Any) -> Counter[tuple[str, ...]]:
    """How many rows there are by agent and verdict, agent and reason, and refused ones by agent and host."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found: Counter[tuple[str, ...]] = Counter()
    for what in ("verdict", "reason"):
        plain = pa.table({"agent": table["agent"].cast(pa.string()), what: table[what].cast(pa.string())})
        for row in plain.group_by(["agent", what]).aggregate([([], "count_all")]).to_pylist():
            found[(what, row["agent"], row[what] or "none")] += row["count_all"]
    origin = pc.extract_regex(table["url"].cast(pa.string()), r"^(?P<origin>[a-zA-Z]+://[^/?#]*)")
    plain = pa.table(
        {
            "agent": table["agent"].cast(pa.string()),
            "host": pc.struct_field(origin, "origin"),
            "refused": pc.invert(table["may_fetch"]).cast(pa.int64()),
        }
    )
    for row in plain.group_by(["agent", "host"]).aggregate([("refused", "sum")]).to_pylist():
        if row["host"] and row["refused_sum"]:
            found[("host", row["agent"], row["host"])] += row["refused_sum"]
    return found


def _summary(counts: Counter[tuple[str, ...]], agents: Sequence[str]) -> list[str]:
    lines = []
    for agent in agents:
        own = {key[2]: count for key, count in counts.items() if key[:2] == ("verdict", agent)}
        total = sum(own.values()) or 1
        told = ", ".join(f"{name} {count:,} ({count / total:.1%})" for name, count in sorted(own.items()))
        lines.append(f"{agent:20} {told}")
    for what, title in (("reason", "reasons"), ("host", "hosts that refuse most URLs")):
        ranked = Counter[str]()
        for key, count in counts.items():
            if key[0] == what:
                ranked[key[2]] += count
        lines += ["", f"{title}:", *(f"{count:12,}  {name}" for name, count in ranked.most_common(SHOWN))]
    return lines


def _plots(counts: Counter[tuple[str, ...]], agents: Sequence[str]) -> list[str]:
    rows = []
    for agent in agents:
        own = Counter({key[2]: count for key, count in counts.items() if key[:2] == ("verdict", agent)})
        total = sum(own.values()) or 1
        refused = own["disallowed_explicit"] / total
        unknown = (own["unknown_unreachable"] + own["none"]) / total
        rows.append((agent, [refused, unknown, 1 - refused - unknown]))
    rows.sort(key=lambda row: -row[1][0])
    return [bars("Share of the URLs that each agent may fetch", rows, ["disallowed", "not known", "allowed"])]


def _surveyed(table: Any, agents: tuple[str, ...], report: Path | None) -> Exit:
    found = survey(table, agents)
    lines = found.lines()
    for line in lines:
        say(line)
    if report is not None:
        _write(report, page(f"What {found.hosts:,} robots.txt files say", survey_plots(found), [("Survey", lines)]))
        say(f"report in {report}")
    return Exit.DONE


def survey_plots(found: Survey) -> list[str]:
    """Who is refused by how many hosts, and who says what by which standard."""
    hosts = max(found.hosts, 1)
    ranked = sorted(found.refused.items(), key=lambda item: -item[1]["wholly"])
    refused = [(agent, [counts[how] / hosts for how in ("wholly", "partly", "not at all")]) for agent, counts in ranked]
    says = [(name, [count / hosts]) for name, count in found.says.most_common()]
    return [
        bars("Share of hosts that refuse each agent", refused, ["wholly", "partly", "not at all"]),
        bars("What robots.txt files say, share of hosts", says, ["hosts"]),
    ]


def _changes(table: Any, agents: Sequence[str]) -> Exit:
    """What each agent gained or lost between the captures of an origin, by meaning, with the lines."""
    from comity.bulk.captures import Captures

    captures, told = Captures(table), 0
    wanted = {agent.lower() for agent in agents} | {"*"}
    for origin, number in captures.numbers.items():
        for old, new in pairwise(range(int(captures.firsts[number]), int(captures.firsts[number + 1]))):
            if not all(200 <= captures.statuses[each] < 300 and captures.sizes[each] >= 0 for each in (old, new)):
                continue
            when = ""
            if captures.times[new] > 0:
                when = f"{datetime.fromtimestamp(captures.times[new] / 1e6, UTC):%Y-%m-%d} "
            for change in diff(parse(captures.body(old)), parse(captures.body(new))).changes:
                if change.agent.lower() in wanted:
                    verb = "gained" if change.allowed else "lost"
                    rule = change.after or change.before
                    line = f" ({'new' if change.after else 'old'} line {rule.line}: {rule.text})" if rule else ""
                    say(f"{when}{origin}  {change.agent} {verb} {change.pattern}{line}")
                    told += 1
    say(f"{told:,} changes")
    return Exit.DONE


def _fetched(given: list[Path], column: str, configuration: Configuration) -> Any:
    """The robots.txt of every origin, asked for politely."""
    import pyarrow as pa

    from comity.net import Client

    origins: dict[str, None] = {}
    for batch in sources.batches(given, column, ROWS):
        for text in batch.to_pylist():
            with suppress(ComityError, TypeError, AttributeError):
                origins.setdefault(urls.origin(urls.normalise(text)))
    tell(f"asking {len(origins):,} origins for their robots.txt")
    with Client(configuration.policy, configuration.client) as client, ThreadPoolExecutor(32) as pool:
        list(pool.map(lambda origin: client.check(f"{origin}/"), origins))
        results = client.inspect()
    rows = [
        {"origin": origin, "status": result.status, "body": result.body, "fetched_at": result.fetched_at}
        for origin, result in results.items()
    ]
    names = {"origin": pa.string(), "status": pa.int32(), "body": pa.binary(), "fetched_at": pa.float64()}
    return pa.Table.from_pylist(rows, schema=pa.schema(list(names.items())))


def _digest(table: Any) -> str:
    """What tells one table of robots.txt files from another."""
    found = hashlib.sha256()
    for column in table.columns:
        for chunk in column.chunks:
            for buffer in chunk.buffers():
                found.update(buffer or b"")
    return found.hexdigest()


def _time(text: str) -> float:
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidSetting(f"--at: {text!r} is no time; write 2026-05-01 or 2026-05-01T12:00:00Z") from None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}") from error
