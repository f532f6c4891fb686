"""`comity lint` and `comity diff`: files on disk, no request."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from comity.cli import input_files
from comity.cli.exits import Exit
from comity.cli.terminal import say, tell
from comity.robots import Robots, diff, parse


def read(path: Path, dialect: str) -> Robots:
    """A robots.txt from a file, or from standard input for `-`.

    Raises:
        InputError: it cannot be read.
    """
    return parse(input_files.read(path), dialect)


def lint(paths: Sequence[Path], dialect: str, *, as_json: bool) -> Exit:
    """Print the findings of each file; exit code 2 where one is an error."""
    input_files.check_once(paths)
    found = [(path, finding) for path in paths for finding in read(path, dialect).lint()]
    if as_json:
        print(
            json.dumps(
                [{"file": str(path), "severity": finding.severity, **asdict(finding)} for path, finding in found],
                indent=2,
            )
        )
    else:
        for path, finding in found:
            changes = " (changes verdicts)" if finding.changes else ""
            said = f"{finding.severity}: {finding.message} [{finding.code}]  {finding.suggestion}{changes}"
            say(f"{path}:{finding.line}: {said}")
        counts = Counter(finding.severity for _, finding in found)
        tell(", ".join(f"{counts[severity]} {severity}" for severity in ("error", "warning", "info")))
    return Exit.PARTLY if any(finding.severity == "error" for _, finding in found) else Exit.DONE


def compare(old: Path, new: Path, dialect: str, *, as_json: bool) -> Exit:
    """Print what a change means; exit code 2 where it means anything."""
    input_files.check_once((old, new))
    changes = diff(read(old, dialect), read(new, dialect))
    if as_json:
        print(json.dumps(asdict(changes), indent=2, default=str))
        return Exit.PARTLY if changes else Exit.DONE
    for change in changes.changes:
        verb = "may now fetch" if change.allowed else "may no longer fetch"
        rule = change.after or change.before
        where = f"{'new' if change.after else 'old'} line {rule.line}: {rule.text}" if rule else "no rule"
        say(f"{change.agent} {verb} {change.pattern}  ({where})")
    for agent, (before, after) in changes.delays.items():
        say(f"{agent}: Crawl-delay {_seconds(before)} -> {_seconds(after)}")
    for name, differing in (("Request-rate", changes.rates), ("Visit-time", changes.hours)):
        for agent, (was, now) in differing.items():
            say(f"{agent}: {name} {was or 'none'} -> {now or 'none'}")
    for agent, (lines, lines_now) in changes.usage.items():
        say(f"{agent}: preferences {'; '.join(lines) or 'none'} -> {'; '.join(lines_now) or 'none'}")
    for name, what in (("licences", "licence"), ("parameters", "Clean-param"), ("sitemaps", "sitemap")):
        for how in ("added", "removed"):
            for value in getattr(changes, f"{name}_{how}"):
                say(f"{what} {how}: {value}")
    return Exit.PARTLY if changes else Exit.DONE


def _seconds(value: float | None) -> str:
    return "none" if value is None else f"{value:,.10g} s"
