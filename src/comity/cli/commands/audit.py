"""`comity audit`: which agents may fetch which of many URLs, by robots.txt files at hand or fetched politely."""

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from comity import client, urls
from comity._extras import need
from comity._ray import joined
from comity.bulk import part_files, runners, sources, summary
from comity.bulk.captures import Captures
from comity.bulk.report import bars, page
from comity.bulk.survey import AGENTS, Survey, survey
from comity.cli.exits import Exit
from comity.cli.options import (
    ALLOW_ADDRESS,
    CONFIG,
    DIALECT,
    ENGINE,
    JSON,
    PATH,
    PRESET,
    argument,
    command,
    loaded,
    option,
)
from comity.cli.terminal import counted, say, tell
from comity.errors import ComityError, InputError, InvalidSetting
from comity.frontier.durable import writing_to
from comity.robots import diff, parse

if TYPE_CHECKING:
    from comity.configuration import Configuration

ROWS: Final = 1_000_000


@command("Check URLs")
@argument("target", "[URLS]")
@option("--robots", "ROBOTS", "robots.txt files: Parquet, a client's cache, WARC files or a folder.")
@option("--agents", "A,B,...", "The agents to check for.", otherwise="well-known AI and search agents")
@option("-o --output", "FILE", "The file to write: .parquet, .csv or .jsonl.", type=PATH)
@option("--column", "NAME", "The column that holds the URLs.", default="url")
@option("--dialects", "A,B,...", "Count the answers that these dialects would change.")
@JSON
@option("--at", "TIME", "Use the robots.txt captured last before TIME, such as 2026-05-01.")
@option("--changes", None, "Show what each agent gained or lost between captures.")
@option("--wide", None, "Write one row per URL, with columns for each agent.")
@option("--parts keep_parts", None, "Write a folder of several files, and do not join them.")
@ENGINE
@option("--report", "FILE", "Write a report as HTML.", type=PATH)
@PRESET
@DIALECT
@CONFIG
@ALLOW_ADDRESS
def audit(
    target: str | None,
    robots: str | None,
    agents: str | None,
    output: Path | None,
    column: str,
    at: str | None,
    changes: bool,
    wide: bool,
    keep_parts: bool,
    engine: str,
    address: str | None,
    report: Path | None,
    dialects: str | None,
    as_json: bool,
    **options: Any,
) -> Exit:
    """Check the URLs in large files, for many agents.

    URLS: Parquet, CSV, JSON lines or text, a folder or a glob; its columns are kept. Without URLS it counts what the
    files of --robots say. A run that was stopped continues when it is repeated.
    """
    need("pyarrow", "bulk", "comity audit")
    configuration, names, others = loaded(**options), _listed(agents) or AGENTS, _listed(dialects)
    if target is None and robots is None:
        raise InvalidSetting("name files with URLs, or files of robots.txt by --robots")
    if target is not None and not changes and output is None:
        raise InvalidSetting("name the file to write by -o, such as out.parquet")
    if output is not None and not changes and target is not None:
        _check_name(output, keep_parts=keep_parts)
    if wide and keep_parts:
        raise InvalidSetting("--wide joins the parts: leave out --parts")
    moment = None if at is None else _time(at)
    given = sources.files(target) if target is not None else []
    siblings = target is not None and not changes
    table = sources.robots(robots, siblings=siblings) if robots is not None else _fetched(given, column, configuration)
    if address is not None and engine != "ray":
        raise InvalidSetting("--address names a Ray cluster: add --engine ray")
    if changes:
        return _changes(table, names, as_json=as_json)
    if output is None or target is None:
        return _surveyed(table, names, report, as_json=as_json)
    identity = [str(path) for path in given] + [str(path.stat().st_mtime_ns) for path in given]
    identity += [*names, *others, str(at), column, str(ROWS), _digest(table)]
    judge = part_files.Judge(table, list(names), configuration.policy, moment, list(others), column)
    pieces = list(sources.pieces(given, ROWS))
    with ExitStack() as stack:
        ray = stack.enter_context(joined("--engine ray", address)) if engine == "ray" else None
        folder = stack.enter_context(_folder(output, identity, keep_parts, column=column, wide=wide))
        given_all = judge, pieces, column, ROWS, folder
        found = runners.locally(*given_all) if ray is None else runners.on_ray(ray, *given_all)
        stack.enter_context(closing(found))
        counts = _counted(found)
    lines = summary.lines(counts, names)
    if robots is not None and Path(robots).is_dir():
        tell("a file of --robots stands for http and https of its host, and for www. where that has no file of its own")
    if as_json:
        say(json.dumps(summary.nested(counts)))
    else:
        for line in [f"{counted(counts[('urls',)], 'URL')}, {counted(len(names), 'agent')} in {output}", *lines]:
            say(line)
    if report is not None:
        _write(report, page("Who may fetch what", summary.plots(counts, names), [("Summary", lines)]))
        tell(f"report in {report}")
    return Exit.DONE


def _listed(words: str | None) -> tuple[str, ...]:
    """The names in a list with commas."""
    return tuple(name.strip() for name in (words or "").split(",") if name.strip())


def _check_name(output: Path, *, keep_parts: bool) -> None:
    """See before anything is judged that the output's name says what can be written."""
    if keep_parts and output.suffix in part_files.FORMATS and output.suffix != ".parquet":
        raise InvalidSetting(f"-o: {output}: --parts are Parquet files", hint="name a folder, or leave out --parts")
    if not keep_parts and output.suffix not in part_files.FORMATS:
        formats = ", ".join(part_files.FORMATS)
        raise InvalidSetting(f"-o: {output} does not say what to write", hint=f"let the name end with one of {formats}")


def _noted(note: Path) -> Any:
    """What parts were made from; None where it was not written to its end."""
    try:
        return json.loads(note.read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return None


@contextmanager
def _folder(output: Path, identity: list[str], keep_parts: bool, **how: Any) -> Iterator[Path]:
    """Where parts are written, so that a run that was stopped goes on; at the end they become the output."""
    if output.is_dir() and not keep_parts:
        raise InvalidSetting(f"-o: {output} is a folder", hint="name a file")
    folder = output.with_name(output.name + ".parts")
    if keep_parts and output.exists():
        raise InputError(f"{output} is there already", hint="remove it, or choose another name by -o")
    with writing_to(output):
        folder.mkdir(parents=True, exist_ok=True)
        note = folder / "audit.json"
        if any(folder.glob("part-*")) and _noted(note) != identity:
            raise InputError(f"{folder} holds parts of another audit", hint="remove it, or choose another name by -o")
        note.write_text(json.dumps(identity), "utf-8")
        yield folder
        if keep_parts:
            note.unlink()
            folder.rename(output)
            return
        names = sorted(folder.glob("part-*.parquet"))
        part_files.joined(names, output, **how)
        for each in [*names, note]:
            each.unlink()
        folder.rmdir()


def _counted(judged: Iterable[runners.JudgedPart]) -> summary.Counts:
    """Counts of what is written, part by part."""
    counts: summary.Counts = Counter()
    started = time.monotonic()
    for _, size, own in judged:
        counts.update(own)
        counts[("urls",)] += size
        done = counts[("urls",)]
        tell(f"{done:,} URLs, {done / (time.monotonic() - started):,.0f} per second")
    return counts


def _surveyed(table: Any, agents: tuple[str, ...], report: Path | None, *, as_json: bool) -> Exit:
    found = survey(table, agents)
    lines = found.lines()
    for line in [json.dumps(asdict(found))] if as_json else lines:
        say(line)
    if report is not None:
        _write(report, page(f"What {found.hosts:,} robots.txt files say", survey_plots(found), [("Survey", lines)]))
        tell(f"report in {report}")
    return Exit.DONE


def survey_plots(found: Survey) -> list[str]:
    """Who is refused by how many hosts, and who says what by which standard."""
    hosts = max(found.hosts, 1)
    ranked = sorted(found.refused.items(), key=lambda item: -item[1]["blocked"])
    refused = [(agent, [counts[how] / hosts for how in ("blocked", "partly", "open")]) for agent, counts in ranked]
    says = [(name, [count / hosts]) for name, count in found.says.most_common()]
    return [
        bars("Share of hosts that block each agent", refused, ["blocked", "partly", "open"]),
        bars("What robots.txt files say, share of hosts", says, ["hosts"]),
    ]


def _changes(table: Any, agents: Sequence[str], *, as_json: bool) -> Exit:
    """What each agent gained or lost between the captures of an origin, by meaning, with the lines."""
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
                    if as_json:
                        told_as = {"origin": origin, "seen": when.strip() or None, "agent": change.agent}
                        by = {"line": rule.line, "rule": rule.text} if rule else {}
                        say(json.dumps({**told_as, "change": verb, "pattern": change.pattern, **by}))
                    else:
                        line = (
                            f" ({'now' if change.after else 'before'}, line {rule.line}: {rule.text})" if rule else ""
                        )
                        say(f"{when}{origin}  {change.agent} {verb} {change.pattern}{line}")
                    told += 1
    tell(f"{told:,} changes")
    return Exit.DONE


def _fetched(given: list[Path], column: str, configuration: "Configuration") -> Any:
    """The robots.txt of every origin, asked for politely."""
    import pyarrow as pa

    origins: dict[str, None] = {}
    for batch in sources.batches(given, column, ROWS):
        for text in batch.to_pylist():
            with suppress(ComityError, TypeError, AttributeError):
                origins.setdefault(urls.origin(text))
    tell(f"fetching the robots.txt of {len(origins):,} origins")
    with client.Client(configuration.policy, configuration.client) as asking, ThreadPoolExecutor(32) as pool:
        list(pool.map(lambda origin: asking.check(f"{origin}/"), origins))
        results = asking.inspect()
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
        raise InvalidSetting(f"--at: {text!r} is not a time: write 2026-05-01 or 2026-05-01T12:00:00Z") from None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def _write(path: Path, text: str) -> None:
    with writing_to(path):
        path.write_text(text, "utf-8")
