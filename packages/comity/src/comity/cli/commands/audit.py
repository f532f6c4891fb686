"""`comity audit`: which agents may fetch which of many URLs, by robots.txt files at hand or fetched politely."""

import json
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from comity._ray import joined
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
    refuse,
    split_agents,
)
from comity.cli.robots_files import note_agents
from comity.cli.terminal import count_noun, print_err, print_out
from comity.errors import InputError, InvalidSetting
from comity.frontier.durable import write_named
from comity_pages._extras import need
from comity_robots.agent_table import PURPOSES, asked_agents, names_for
from comity_robots.as_json import jsonable

if TYPE_CHECKING:
    from comity.bulk.runners import JudgedPart
    from comity.bulk.summary import Counts

ROWS: Final = 1_000_000


@command("Check URLs")
@argument("target", "[URLS]")
@option("--robots", "ROBOTS", "A robots.txt for all, or many: a folder, Parquet, a cache, WARC files.")
@option(
    "-A --agent --agents agents", "A,B,...", "The agents to check for.",
    multiple=True, callback=split_agents, otherwise="well-known AI and search agents",
)  # fmt: skip
@option("--agents-for", PURPOSES, "The well-known agents with this purpose, too.", multiple=True)
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
@option("--all every", None, "Without URLS: also list the agents that no site blocks.")
@PRESET
@DIALECT
@CONFIG
@ALLOW_ADDRESS
def audit(
    target: str | None,
    robots: str | None,
    agents: tuple[str, ...],
    agents_for: tuple[str, ...],
    output: Path | None,
    column: str,
    at: str | None,
    changes: bool,
    wide: bool,
    keep_parts: bool,
    engine: str,
    address: str | None,
    report: Path | None,
    every: bool,
    dialects: str | None,
    as_json: bool,
    **options: Any,
) -> Exit:
    """Check the URLs in large files, for many agents.

    URLS: Parquet, CSV, JSON lines or text, a folder or a glob; its columns are kept. Without URLS it counts what the
    files of --robots say. A run that was stopped continues when it is repeated.
    """
    need("pyarrow", "bulk", "comity audit")
    from comity.bulk import fetching, part_files, runners, sources, summary  # late: for help nobody needs the extra
    from comity.bulk.outcomes import BAD

    configuration, names, others = loaded(**options), _agents(agents, agents_for), _listed(dialects)
    if target is None and robots is None:
        raise InvalidSetting("name files with URLs, or files of robots.txt by --robots")
    if target is not None and not changes and output is None:
        raise InvalidSetting("name the file to write by -o, such as out.parquet")
    if output is not None and not changes and target is not None:
        _check_name(output, keep_parts=keep_parts)
    if target is None or changes:
        why = "is about answers for URLs: name files with URLs, without --changes"
        refuse(why, "output", "at", "dialects", "wide", "keep_parts", "column", "engine", "address")
    if changes:
        refuse("has no effect with --changes", "report")
        if target is not None:
            raise InvalidSetting("--changes compares the captures in --robots: leave out URLS")
    if robots is None:
        refuse("chooses among captures: name them by --robots", "at")
    if wide and keep_parts:
        raise InvalidSetting("--wide joins the parts: leave out --parts")
    moment = None if at is None else _time(at)
    note_agents(agents)
    given = sources.files(target) if target is not None else []
    if target is not None:
        refuse("is about --robots without URLS", "every")
    read = {path.resolve() for path in (*given, *([] if robots is None else [Path(robots)]))}
    for path in (output, report):
        if path is not None and path.resolve() in read:
            raise InvalidSetting(f"{path} is one of the files that are read", hint="choose another name")

    def origins_of_all() -> list[str]:
        print_err(f"{robots} stands for every host; in a folder a file stands for the host that it is named after")
        return fetching.origins_in(given, column, ROWS)

    if robots is not None:
        table = sources.robots(
            robots, siblings=target is not None, origins=origins_of_all if target is not None else None
        )
    else:
        origins = fetching.origins_in(given, column, ROWS)
        print_err(f"fetching the robots.txt of {len(origins):,} origins")
        table = fetching.fetched(origins, configuration.policy, configuration.client)
    if at is not None and ("fetched_at" not in table.column_names or table["fetched_at"].null_count == len(table)):
        raise InvalidSetting(f"--at chooses among captures, and {robots} does not say when any was made")
    if address is not None and engine != "ray":
        raise InvalidSetting("--address names a Ray cluster: add --engine ray")
    if changes:
        return _changes(table, names, as_json=as_json)
    if output is None or target is None:
        return _surveyed(table, names, report, every=every, as_json=as_json)
    identity = [str(path) for path in given] + [str(path.stat().st_mtime_ns) for path in given]
    identity += [*names, *others, str(at), column, str(ROWS), sources.digest(table)]
    judge = part_files.Judge(table, list(names), configuration.policy, moment, list(others), column)
    pieces = list(sources.pieces(given, ROWS))
    with ExitStack() as stack:
        ray = stack.enter_context(joined("--engine ray", address)) if engine == "ray" else None
        parts = part_files.parts_for(output, identity, keep=keep_parts, column=column, wide=wide)
        folder = stack.enter_context(parts)
        given_all = judge, pieces, column, ROWS, folder
        found = runners.locally(*given_all) if ray is None else runners.on_ray(ray, *given_all)
        stack.enter_context(closing(found))
        counts = _counted(found)
    if counts[("reason", names[0], BAD)] == counts[("urls",)] > 0:
        raise InputError(f"none of the {counts[('urls',)]:,} rows of {target} is a URL", hint=BAD)
    lines = summary.lines(counts, names)
    if robots is not None and Path(robots).is_dir():
        print_err(
            "a file of --robots stands for http and https of its host, and for www. where that has no file of its own"
        )
    head = f"{count_noun(counts[('urls',)], 'URL')}, {count_noun(len(names), 'agent')} in {output}"
    for line in [json.dumps(summary.nested(counts))] if as_json else [head, *lines]:
        print_out(line)
    if report is not None:
        _write(report, summary.report(counts, names))
    return Exit.DONE


def _agents(named: tuple[str, ...], purposes: Iterable[str]) -> tuple[str, ...]:
    every = (*named, *(name for purpose in purposes for name in names_for(purpose)))
    return tuple(dict.fromkeys(every)) or asked_agents()


def _listed(words: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (words or "").split(",") if name.strip())


def _check_name(output: Path, *, keep_parts: bool) -> None:
    from comity.bulk import part_files

    if keep_parts and output.suffix in part_files.FORMATS and output.suffix != ".parquet":
        raise InvalidSetting(f"-o: {output}: --parts are Parquet files", hint="name a folder, or leave out --parts")
    if not keep_parts and output.suffix not in part_files.FORMATS:
        formats = ", ".join(part_files.FORMATS)
        raise InvalidSetting(f"-o: {output} does not say what to write", hint=f"let the name end with one of {formats}")
    if output.is_dir() and not keep_parts:
        raise InvalidSetting(f"-o: {output} is a folder", hint="name a file")


def _counted(judged: "Iterable[JudgedPart]") -> "Counts":
    counts: Counts = Counter()
    started = time.monotonic()
    for _, size, own in judged:
        counts.update(own)
        counts[("urls",)] += size
        done = counts[("urls",)]
        print_err(f"{count_noun(done, 'URL')}, {done / (time.monotonic() - started):,.0f} per second")
    return counts


def _surveyed(table: Any, agents: tuple[str, ...], report: Path | None, *, every: bool, as_json: bool) -> Exit:
    from comity.bulk.survey import survey

    found = survey(table, agents)
    lines = found.lines(every=every)
    for line in [json.dumps(jsonable(found))] if as_json else lines:
        print_out(line)
    if report is not None:
        _write(report, found.page())
    return Exit.DONE


def _changes(table: Any, agents: Sequence[str], *, as_json: bool) -> Exit:
    from comity.bulk import history

    count = 0
    for origin, seen, change in history.changes(table, agents):
        count += 1
        verb = "gained" if change.allowed else "lost"
        rule = change.after or change.before
        if as_json:
            record = {"origin": origin, "seen": seen, "agent": change.agent, "change": verb, "pattern": change.pattern}
            print_out(json.dumps(record | ({"line": rule.line, "rule": rule.text} if rule else {})))
            continue
        line = f" ({'now' if change.after else 'before'}, line {rule.line}: {rule.text})" if rule else ""
        print_out(f"{f'{seen} ' if seen else ''}{origin}  {change.agent} {verb} {change.pattern}{line}")
    print_err(f"{count:,} changes")
    return Exit.DONE


def _time(text: str) -> float:
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidSetting(f"--at: {text!r} is not a time: write 2026-05-01 or 2026-05-01T12:00:00Z") from None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def _write(path: Path, text: str) -> None:
    write_named(path, text.encode("utf-8"))
    print_err(f"report in {path}")
