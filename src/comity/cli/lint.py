"""`comity lint` and `comity diff`: files on disk, no request."""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from comity.cli.exits import Exit
from comity.errors import StorageError
from comity.robots import Robots, diff, parse


def read(path: Path, dialect: str) -> Robots:
    """A robots.txt from a file, or from standard input for `-`.

    Raises:
        StorageError: it cannot be read.
    """
    try:
        body = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}") from error
    return parse(body, dialect)


def lint(paths: Sequence[Path], dialect: str, *, as_json: bool) -> Exit:
    """Print the findings of each file; exit code 2 where one is an error."""
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
            print(
                f"{path}:{finding.line}: {finding.severity}: {finding.message} [{finding.code}]  {finding.suggestion}"
            )
        counts = Counter(finding.severity for _, finding in found)
        print(", ".join(f"{counts[severity]} {severity}" for severity in ("error", "warning", "info")), file=sys.stderr)
    return Exit.PARTLY if any(finding.severity == "error" for _, finding in found) else Exit.DONE


def compare(old: Path, new: Path, dialect: str, *, as_json: bool) -> Exit:
    """Print what a change means; exit code 2 where it means anything."""
    changes = diff(read(old, dialect), read(new, dialect))
    if as_json:
        print(json.dumps(asdict(changes), indent=2))
        return Exit.PARTLY if changes else Exit.DONE
    for change in changes.changes:
        verb = "may now fetch" if change.allowed else "may no longer fetch"
        rule = change.after or change.before
        where = f"{'new' if change.after else 'old'} line {rule.line}: {rule.text}" if rule else "no rule"
        print(f"{change.agent} {verb} {change.pattern}  ({where})")
    for agent, (before, after) in changes.delays.items():
        print(f"{agent}: Crawl-delay {_seconds(before)} -> {_seconds(after)}")
    for url in changes.sitemaps_added:
        print(f"sitemap added: {url}")
    for url in changes.sitemaps_removed:
        print(f"sitemap removed: {url}")
    return Exit.PARTLY if changes else Exit.DONE


def _seconds(value: float | None) -> str:
    return "none" if value is None else f"{value:g} s"
